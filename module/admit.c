/* EMQ.ENQUEUE and EMQ.GENQUEUE: admission of one job. The script's twins are enqueue.lua, genqueue.lua, shared/admit.lua.
 *
 * Policy, then existence, then write. A row without `attempts` is no job and is replaced (docs/wire.md, rule 2). */
#include <stdio.h>
#include <string.h>

#include "commands.h"

static int reply_kind(struct emq_cmd *cmd, struct emq_text id) {
    char text[256];
    int told = (int)(id.len < 160 ? id.len : 160);
    snprintf(text, sizeof text, "EMQKIND %.*s does not begin with JOB", told, id.at);
    return emq_reply_error(cmd, text);
}

/* True: the job may be admitted, and *cap is its own cap or 0. Else the answer was given. */
static bool may_admit(struct emq_cmd *cmd, struct emq_key *row, RedisModuleString *id, int cap_at, long long *cap) {
    struct emq_text text = emq_text_of(id);
    *cap = 0;
    if (text.len < 3 || memcmp(text.at, "JOB", 3) != 0) {
        reply_kind(cmd, text);
        return false;
    }
    if (row->wrong) {
        emq_reply_trouble(cmd, emq_broken_row(id));
        return false;
    }
    if (!emq_is_absent(row) && emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]) != NULL) {
        emq_reply_number(cmd, 0);
        return false;
    }
    return !emq_is_given(cmd, cap_at) || emq_argument(cmd, cap_at, "max_attempts", 1, EMQ_CAP_MAX, cap);
}

static void admit(struct emq_cmd *cmd, struct emq_key *row, RedisModuleString *payload, RedisModuleString *group,
                  long long cap) {
    /* The payload first: a long one makes the server choose the row's other form, which is cheapest while it is empty. */
    RedisModuleString *pairs[10] = {emq_words[EMQ_PAYLOAD], payload,
                                    emq_words[EMQ_STATE],    emq_words[EMQ_PENDING],
                                    emq_words[EMQ_ATTEMPTS], emq_words[EMQ_ZERO]};
    size_t count = 6;
    if (group != NULL) {
        pairs[count++] = emq_words[EMQ_GROUP];
        pairs[count++] = group;
    }
    if (cap > 0) {
        pairs[count++] = emq_words[EMQ_MAX_ATTEMPTS];
        pairs[count++] = emq_number(cmd, cap);
    }
    emq_delete(cmd, row); /* a skeleton */
    emq_hset(cmd, row, pairs, count);
}

int emq_enqueue(struct emq_cmd *cmd) {
    enum { JOB, PENDING, WAKE, ID, PAYLOAD, CAP };
    RedisModuleString *id = cmd->argv[ID];
    long long cap;
    struct emq_key *row = emq_open_given(cmd, JOB, EMQ_HASH, true);
    if (!may_admit(cmd, row, id, CAP, &cap)) return REDISMODULE_OK;
    struct emq_key *wake = emq_open_given(cmd, WAKE, EMQ_LIST, true);
    struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, true);
    if (wake->wrong) return emq_reply_trouble(cmd, emq_wrong(wake));
    if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
    if (!emq_may_write(cmd, 2)) return REDISMODULE_OK;

    bool nobody_woken = emq_length(wake) == 0;
    emq_zadd(cmd, pending, 0, id);
    admit(cmd, row, cmd->argv[PAYLOAD], NULL, cap);
    if (nobody_woken) emq_lpush(cmd, wake, emq_words[EMQ_ONE]);
    return emq_reply_number(cmd, 1);
}

int emq_genqueue(struct emq_cmd *cmd) {
    enum { JOB, LANE, RING, PAUSED, GLIMIT, GACTIVE, WAKE, LANES, ID, PAYLOAD, GROUP, CAP };
    RedisModuleString *id = cmd->argv[ID];
    long long cap;
    struct emq_key *row = emq_open_given(cmd, JOB, EMQ_HASH, true);
    if (!may_admit(cmd, row, id, CAP, &cap)) return REDISMODULE_OK;
    struct emq_looked *lane = emq_look_lane(cmd, cmd->argv[GROUP]);
    if (lane->is.troubled) return emq_reply_trouble(cmd, lane->trouble);
    if (!emq_may_write(cmd, 4)) return REDISMODULE_OK;

    emq_put_in_lane(cmd, lane, id);
    admit(cmd, row, cmd->argv[PAYLOAD], cmd->argv[GROUP], cap);
    emq_close_lanes(cmd);
    return emq_reply_number(cmd, 1);
}
