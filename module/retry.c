/* EMQ.RETRY: the holder of a job reports that the attempt failed. The script's twin is retry.lua. */
#include "commands.h"

struct ending {
    struct emq_key *row, *set, *metrics;
    RedisModuleString *id, *reason;
    long long delay_ms, count;
    bool dies;
};

static void move(struct emq_cmd *cmd, struct ending *ending) {
    RedisModuleString *pairs[6] = {emq_words[EMQ_LAST_ERROR], ending->reason, emq_words[EMQ_STATE],
                                   emq_words[ending->dies ? EMQ_DEAD : EMQ_SCHEDULED]};
    size_t count = 4;
    if (ending->dies) {
        pairs[count++] = emq_words[EMQ_DIED_AT];
        pairs[count++] = emq_instant(cmd, emq_now(cmd));
    }
    emq_hset(cmd, ending->row, pairs, count);
    emq_zadd(cmd, ending->set, ending->dies ? 0 : emq_now(cmd) + ending->delay_ms, ending->id);
    if (ending->dies) emq_hincr(cmd, ending->metrics, emq_words[EMQ_COUNT], ending->count, 1);
}

int emq_retry(struct emq_cmd *cmd) {
    enum { ACTIVE, SCHEDULE, DEAD, JOB, ID, TOKEN, DELAY, CAP, REASON, BASE };
    RedisModuleString *id = cmd->argv[ID];
    struct ending ending = {.id = id, .reason = cmd->argv[REASON]};
    long long cap;
    struct emq_key *row = ending.row = emq_open_given(cmd, JOB, EMQ_HASH, true);
    if (row->wrong) return emq_reply_trouble(cmd, emq_broken_row(id));
    RedisModuleString *attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (attempts == NULL) return emq_reply_error(cmd, "EMQSTALE job gone");
    if (!emq_holds(attempts, cmd->argv[TOKEN])) return emq_reply_stale(cmd);
    if (!emq_argument(cmd, DELAY, "delay_ms", 0, EMQ_WHOLE_MAX, &ending.delay_ms)) return REDISMODULE_OK;
    if (!emq_argument(cmd, CAP, "max_attempts", 0, EMQ_WHOLE_MAX, &cap)) return REDISMODULE_OK;

    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    struct emq_trouble trouble = {EMQ_SOUND, {"", 0}, {"", 0}};
    ending.dies = cap == 0;
    if (!ending.dies) trouble = emq_look_spent(cmd, row, attempts, cap, &ending.dies);
    ending.set = emq_open(cmd, cmd->argv[ending.dies ? DEAD : SCHEDULE], EMQ_ZSET, true);
    if (trouble.fault == EMQ_SOUND) {
        if (ending.set->wrong) return emq_reply_trouble(cmd, emq_wrong(ending.set));
        if (ending.dies) {
            ending.metrics = emq_at(cmd, EMQ_AT_FAILED);
            trouble = emq_look_counter(cmd, ending.metrics, emq_words[EMQ_COUNT], &ending.count);
        }
    }
    if (trouble.fault == EMQ_SOUND) trouble = emq_look_ceiling(cmd, active);

    RedisModuleString *group = emq_hget(cmd, row, emq_words[EMQ_GROUP]);
    struct emq_looked *lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    if (lane != NULL && lane->is.troubled) return emq_reply_trouble(cmd, lane->trouble);
    struct emq_parent parent = {0};
    RedisModuleString *over = ending.dies ? emq_hget(cmd, row, emq_words[EMQ_PARENT]) : NULL;
    bool ignored = over != NULL && emq_says(emq_hget(cmd, row, emq_words[EMQ_PARENT_POLICY]), "id");
    if (over != NULL && trouble.fault == EMQ_SOUND) {
        trouble = emq_look_parent(cmd, over, emq_hget(cmd, row, emq_words[EMQ_PARENT_QUEUE]), &parent);
    }
    if (!emq_may_settle(cmd, active, id, lane, trouble)) return REDISMODULE_OK;
    if (!emq_may_write(cmd, 24)) return REDISMODULE_OK;

    /* The last look and the first write at once. */
    if (!emq_leave_active(cmd, active, id, lane)) return emq_reply_not_held(cmd, lane);
    move(cmd, &ending);
    emq_child_died(cmd, &parent, id, ignored, ending.reason);
    emq_close_lanes(cmd);
    const char *word = ending.dies ? "dead" : "scheduled";
    return RedisModule_ReplyWithStringBuffer(cmd->ctx, word, ending.dies ? 4 : 9);
}
