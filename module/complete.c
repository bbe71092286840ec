/* EMQ.COMPLETE: the holder of a job reports that it is done. The script's twin is complete.lua.
 *
 * A right token is not enough: the job is leased, or ready again after a lapse and claimed by nobody since. */
#include "commands.h"

struct emq_key *emq_open_result(struct emq_cmd *cmd, const struct emq_key *row) {
    struct emq_text parts[] = {row->named.name, emq_literal(":result")};
    return emq_open(cmd, emq_join(cmd, parts, 2, "", 0), EMQ_HASH, true);
}

void emq_keep_result(struct emq_cmd *cmd, struct emq_key *kept, RedisModuleString *attempts, RedisModuleString *result,
                     long long keep_ms) {
    RedisModuleString *pairs[] = {emq_words[EMQ_RESULT],       result,
                                  emq_words[EMQ_ATTEMPTS],     attempts,
                                  emq_words[EMQ_COMPLETED_AT], emq_instant(cmd, emq_now(cmd))};
    emq_delete(cmd, kept);
    kept->wrong = false;
    emq_hset(cmd, kept, pairs, 6);
    emq_expire(cmd, kept, keep_ms);
}

int emq_complete(struct emq_cmd *cmd) {
    enum { ACTIVE, JOB, ID, TOKEN, BASE, KEEP, RESULT };
    RedisModuleString *id = cmd->argv[ID];
    long long keep_ms = 0, count;
    struct emq_key *row = emq_open_given(cmd, JOB, EMQ_HASH, true);
    if (row->wrong) return emq_reply_trouble(cmd, emq_broken_row(id));
    static const enum emq_word fields[3] = {EMQ_ATTEMPTS, EMQ_GROUP, EMQ_PARENT};
    RedisModuleString *values[3];
    emq_hget_three(cmd, row, fields, values);
    RedisModuleString *attempts = values[0], *group = values[1], *over = values[2];
    if (attempts == NULL) return emq_reply_number(cmd, 0);
    if (!emq_holds(attempts, cmd->argv[TOKEN])) return emq_reply_stale(cmd);
    if (emq_is_given(cmd, KEEP) && !emq_argument(cmd, KEEP, "result_ttl_ms", 0, EMQ_WHOLE_MAX, &keep_ms)) {
        return REDISMODULE_OK;
    }
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    struct emq_key *metrics = emq_at(cmd, EMQ_AT_COMPLETED);
    struct emq_trouble trouble = emq_look_counter(cmd, metrics, emq_words[EMQ_COUNT], &count);
    if (trouble.fault == EMQ_SOUND) trouble = emq_look_ceiling(cmd, active);

    struct emq_looked *lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    if (lane != NULL && lane->is.troubled) return emq_reply_trouble(cmd, lane->trouble);
    struct emq_parent parent = {0};
    if (over != NULL && trouble.fault == EMQ_SOUND) {
        trouble = emq_look_parent(cmd, over, emq_hget(cmd, row, emq_words[EMQ_PARENT_QUEUE]), &parent);
    }
    if (!emq_may_settle(cmd, active, id, lane, trouble)) return REDISMODULE_OK;
    struct emq_key *kept = keep_ms > 0 ? emq_open_result(cmd, row) : NULL;
    /* What is there of another type is replaced; a key that this command has for something else is not. */
    if (kept != NULL && kept->open == NULL) return emq_reply_trouble(cmd, emq_wrong(kept));
    if (!emq_may_write(cmd, 16)) return REDISMODULE_OK;

    /* The last look and the first write at once. */
    if (!emq_leave_active(cmd, active, id, lane)) return emq_reply_not_held(cmd, lane);
    RedisModuleString *result = emq_is_given(cmd, RESULT) ? cmd->argv[RESULT] : NULL;
    emq_delete_job(cmd, row);
    if (kept != NULL) emq_keep_result(cmd, kept, attempts, result != NULL ? result : emq_words[EMQ_EMPTY], keep_ms);
    emq_hincr(cmd, metrics, emq_words[EMQ_COUNT], count, 1);
    emq_child_completed(cmd, &parent, id, result != NULL ? result : id);
    emq_close_lanes(cmd);
    return emq_reply_number(cmd, 1);
}
