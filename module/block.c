/* EMQ.TAKE … BLOCK: a caller that finds nothing waits on the server (docs/wire.md, "EMQ.TAKE … BLOCK").
 *
 * It waits for the keys pending, ring and wake. The server calls look_again for it whenever one of them comes into being,
 * for all who wait in the order in which they came, until it answers. What happens there is a take of its own: its
 * effects are one transaction, and its clock is read anew. Nobody waits while wake has a token: a take that finds nothing
 * deletes it, and one that finds a paused queue takes the token off. So each token brings the key into being. */
#include <string.h>

#include "commands.h"
#include "take.h"

/* `echomq.blocking`: whether callers may wait from now on. */
static int is_allowed = 1;

/* Told in place of for how long it waited. */
#define EMQ_MAY_NOT_WAIT (-1)

/* What is kept of a caller while it waits. Its arguments are kept by the server. */
struct waiting {
    const struct emq_spec *spec;
    long long since_ms;
};

/* For spans alone: it does not jump with the wall clock. */
static long long clock_ms(void) {
    if (RedisModule_MonotonicMicroseconds == NULL) return RedisModule_Milliseconds();
    return (long long)(RedisModule_MonotonicMicroseconds() / 1000);
}

static bool may_wait(RedisModuleCtx *ctx) {
    const int forbid = REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
    return is_allowed && (RedisModule_GetContextFlags(ctx) & forbid) == 0;
}

static long long waited_ms(RedisModuleCtx *ctx) {
    const struct waiting *waiting = RedisModule_GetBlockedClientPrivateData(ctx);
    long long waited = clock_ms() - waiting->since_ms;
    return waited > 0 ? waited : 0;
}

/* Jobs or broken ids: something that only this caller can be told. */
static bool has_found(const struct take *take) { return take->served > 0 || take->odds.count > take->odds.homes; }

/* Whoever else waits is looked at again: no token tells of these jobs, or fewer than there are jobs. */
static void call_others(struct take *take) {
    if (!take_is_more(take)) return;
    RedisModule_SignalKeyAsReady(take->cmd->ctx, take->cmd->argv[TAKE_PENDING]);
    RedisModule_SignalKeyAsReady(take->cmd->ctx, take->cmd->argv[TAKE_RING]);
}

static void write_and_reply(struct take *take) {
    take_write(take);
    call_others(take);
    take_reply(take);
}

/* ---- looking again ------------------------------------------------------------------------------------------------*/

/* As if it had been parked on the list. Only an error leaves the token where it lies. */
static void answer_paused(struct take *take, struct emq_key *wake) {
    if (!emq_may_write(take->cmd, 1)) return;
    emq_lpop(take->cmd, wake, 1);
    take_reply_paused(take);
}

/* With a token: answered with whatever there is. */
static void answer_woken(struct take *take, struct emq_key *wake) {
    RedisModuleString *token = emq_own(take->cmd, RedisModule_ListGet(wake->open, 0));
    if (token != NULL) take->worth = emq_text_of(token);
    enum take_sight sight = take_look(take);
    if (sight == TAKE_PAUSED) answer_paused(take, wake);
    if (sight != TAKE_PLANNED || !take_park(take)) return;
    emq_lpop(take->cmd, wake, 1);
    write_and_reply(take);
}

/* Whether something would leave its place, though nobody is served: ghosts, misplaced jobs, stale entries of the ring. It
 * must go: a key that stays does not come into being again. */
static bool clears(const struct take *take) {
    return take->room > 0 && (take->leaves > 0 || take->rota.tail_count < take->rota.passed);
}

/* Without a token: false when there is nothing for this caller, which waits on. */
static bool answer_found(struct take *take) {
    take->worth = (struct emq_text){"", 0};
    enum take_sight sight = take_look(take);
    if (sight != TAKE_PLANNED) return sight == TAKE_REFUSED || emq_is_starved(take->cmd);
    if (has_found(take) || take_is_more(take)) {
        if (take_park(take)) write_and_reply(take);
        return true;
    }
    if (!clears(take)) return emq_is_starved(take->cmd);
    if (!take_may_write(take)) return true;
    take_write(take);
    if (!take_is_more(take)) return false;
    take_reply(take);
    return true;
}

static bool answer_again(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_key *wake = emq_open_given(cmd, TAKE_WAKE, EMQ_LIST, true);
    if (wake->wrong) {
        emq_reply_trouble(cmd, emq_wrong(wake));
        return true;
    }
    if (emq_length(wake) == 0) return answer_found(take);
    answer_woken(take, wake);
    return true;
}

/* Many may wait, and the first may have taken everything. */
static bool is_nothing_there(RedisModuleCtx *ctx, RedisModuleString **keys) {
    return !RedisModule_KeyExists(ctx, keys[TAKE_PENDING]) && !RedisModule_KeyExists(ctx, keys[TAKE_RING]) &&
           !RedisModule_KeyExists(ctx, keys[TAKE_WAKE]);
}

/* Somebody who waits on may have cleared something, or met a key whose time is over. Servers that have no clock of the
 * command's own do not tell replicas of that then, and fall over it when somebody is looked after again. They tell them
 * after a command of their own, if that may be told. */
static int wait_on(RedisModuleCtx *ctx) {
    if (RedisModule_CachedMicroseconds != NULL) return REDISMODULE_ERR;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "PING", "!");
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    return REDISMODULE_ERR;
}

/* The server calls it with the caller's own words and database. REDISMODULE_ERR: the caller waits on. */
static int look_again(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct waiting *waiting = RedisModule_GetBlockedClientPrivateData(ctx);
    if (is_nothing_there(ctx, argv + 1)) return wait_on(ctx);
    struct emq_cmd cmd;
    struct take take;
    emq_begin(&cmd, ctx, waiting->spec, argv + 1, argc - 1);
    take_begin(&take, &cmd);
    take.waited_ms = waited_ms(ctx);
    take.has_waited = true;
    /* The caller's rights may be less than when it came. */
    bool is_answered = !emq_is_sound(&cmd) || !take_read(&take) || answer_again(&take);
    take_end(&take);
    emq_end(&cmd);
    return is_answered ? REDISMODULE_OK : wait_on(ctx);
}

static bool is_paused(struct emq_cmd *cmd) {
    struct emq_key *meta = emq_open(cmd, cmd->argv[TAKE_META], EMQ_HASH, false);
    return !meta->wrong && emq_hget(cmd, meta, emq_words[EMQ_PAUSED_FIELD]) != NULL;
}

static void reply_over(RedisModuleCtx *ctx, bool paused) {
    const char *word = paused ? "paused" : "empty";
    RedisModule_ReplyWithArray(ctx, paused ? 2 : 7);
    RedisModule_ReplyWithStringBuffer(ctx, word, strlen(word));
    for (int i = 0; i < 3 && !paused; i++) RedisModule_ReplyWithLongLong(ctx, 0);
    for (int i = 0; i < 2 && !paused; i++) RedisModule_ReplyWithArray(ctx, 0);
    RedisModule_ReplyWithLongLong(ctx, waited_ms(ctx));
}

/* It only reads: what is written here would not be replicated as one transaction. */
static int time_is_over(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct waiting *waiting = RedisModule_GetBlockedClientPrivateData(ctx);
    struct emq_cmd cmd;
    emq_begin(&cmd, ctx, waiting->spec, argv + 1, argc - 1);
    if (emq_is_sound(&cmd)) reply_over(ctx, is_paused(&cmd));
    emq_end(&cmd);
    return REDISMODULE_OK;
}

/* ---- the first look -----------------------------------------------------------------------------------------------*/

static void forget(RedisModuleCtx *ctx, void *waiting) {
    (void)ctx;
    RedisModule_Free(waiting);
}

/* False: there is no memory for it, and the caller has to be answered. */
static bool wait(struct take *take, long long for_ms) {
    struct emq_cmd *cmd = take->cmd;
    RedisModuleString *keys[] = {cmd->argv[TAKE_PENDING], cmd->argv[TAKE_RING], cmd->argv[TAKE_WAKE]};
    struct waiting *waiting = emq_try_alloc(sizeof *waiting);
    if (waiting == NULL) {
        take->waited_ms = EMQ_MAY_NOT_WAIT;
        return false;
    }
    *waiting = (struct waiting){cmd->spec, clock_ms()};
    RedisModule_BlockClientOnKeys(cmd->ctx, look_again, time_is_over, forget, for_ms, keys, 3, waiting);
    return true;
}

/* A token that lies in a paused queue is taken off: while it lies there, no other one brings the key into being. */
static void wait_for_resume(struct take *take) {
    struct emq_key *wake = emq_open(take->cmd, take->cmd->argv[TAKE_WAKE], EMQ_LIST, true);
    if (wake->wrong) {
        emq_reply_trouble(take->cmd, emq_wrong(wake));
    } else if (emq_length(wake) > 0) {
        answer_paused(take, wake);
    } else if (!wait(take, take->block_ms)) {
        take_reply_paused(take);
    }
}

/* Whoever begins to watch is told until when: it may have to act at that instant, and the server would be late. */
void take_or_wait(struct take *take) {
    bool may = may_wait(take->cmd->ctx);
    enum take_sight sight = take_look(take);
    if (sight == TAKE_REFUSED || emq_is_starved(take->cmd)) return;
    if (!may) take->waited_ms = EMQ_MAY_NOT_WAIT;
    if (sight == TAKE_PAUSED && may) wait_for_resume(take);
    if (sight == TAKE_PAUSED && !may) take_reply_paused(take);
    if (sight != TAKE_PLANNED || !take_park(take)) return;
    bool has_answer = has_found(take) || take->parking.due;
    take_write(take);
    has_answer = has_answer || take_is_more(take); /* also of what went home */
    if (has_answer) take->waited_ms = 0;
    long long for_ms = take->parking.wait_ms < take->block_ms ? take->parking.wait_ms : take->block_ms;
    if (!may || has_answer || take->parking.begins || !wait(take, for_ms)) {
        call_others(take);
        take_reply(take);
    }
}

/* ---- the setting --------------------------------------------------------------------------------------------------*/

static int told(const char *name, void *privdata) {
    (void)name;
    (void)privdata;
    return is_allowed;
}

static int set(const char *name, int value, void *privdata, RedisModuleString **error) {
    (void)name;
    (void)privdata;
    (void)error;
    is_allowed = value;
    return REDISMODULE_OK;
}

bool emq_load_blocking(RedisModuleCtx *ctx) {
    if (RedisModule_RegisterBoolConfig == NULL || RedisModule_LoadConfigs == NULL) return true;
    return RedisModule_RegisterBoolConfig(ctx, "blocking", 1, REDISMODULE_CONFIG_DEFAULT, told, set, NULL, NULL) ==
               REDISMODULE_OK &&
           RedisModule_LoadConfigs(ctx) == REDISMODULE_OK;
}
