/* Whether the caller may use a whole queue.
 *
 * The server asks the access list for the keys that a command declares. What the module opens beside them is asked for
 * here, at once: who may read and write every key of the queue is served, anybody else is sent to the scripts, in which
 * the server asks for each key. A caller without a user is another module, of which the server asks no rights either. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

enum { BOTH = REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_UPDATE };

/* Older servers fall over a context without a user when they are asked for its name. A connected client has one. In a
 * script, and in a call by another module, a command that is sent as the user tells whether there is one. */
static bool has_user(RedisModuleCtx *ctx) {
    RedisModuleString *name = RedisModule_GetClientUserNameById(ctx, RedisModule_GetClientId(ctx));
    if (name != NULL) {
        RedisModule_FreeString(NULL, name);
        return true;
    }
    errno = 0;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "PING", "!C");
    bool has = reply != NULL || errno != ENOTSUP;
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    return has;
}

/* Without a question about prefixes: whether the user may use a key that only a pattern for all keys of the queue names. */
static bool may_use_any(struct emq_cmd *cmd, RedisModuleUser *user) {
    struct emq_text parts[] = {cmd->base, emq_literal("*")};
    return RedisModule_ACLCheckKeyPermissions(user, emq_join(cmd, parts, 2, "", 0), BOTH) == REDISMODULE_OK;
}

static bool may_use(struct emq_cmd *cmd, RedisModuleString *name) {
    RedisModuleUser *user = RedisModule_GetModuleUserFromUserName(name);
    if (user == NULL) return false;
    bool may = ValkeyModule_ACLCheckKeyPrefixPermissions != NULL
                   ? ValkeyModule_ACLCheckKeyPrefixPermissions(user, cmd->base.at, cmd->base.len, BOTH) == REDISMODULE_OK
                   : may_use_any(cmd, user);
    RedisModule_FreeModuleUser(user);
    return may;
}

/* These two open nothing that they do not declare. */
static bool opens_more(const struct emq_spec *spec) { return spec->body != emq_enqueue && spec->body != emq_extend; }

bool emq_may_use_queue(struct emq_cmd *cmd) {
    if (!opens_more(cmd->spec)) return true;
    bool is_safe = ValkeyModule_ACLCheckKeyPrefixPermissions != NULL; /* a server that has this answers NULL */
    RedisModuleString *name = is_safe || has_user(cmd->ctx) ? RedisModule_GetCurrentUserName(cmd->ctx) : NULL;
    if (name == NULL) return true;
    bool may = may_use(cmd, name);
    RedisModule_FreeString(NULL, name);
    if (may) return true;
    char text[160];
    /* The connector goes on by the script when it is told that the user may not run a command. */
    snprintf(text, sizeof text, "NOPERM this user has no permissions to run %s, which needs all keys of the queue",
             cmd->spec->command);
    emq_reply_error(cmd, text);
    return false;
}
