/* EMQ.EXTEND and EMQ.RELEASE: the holder keeps a job, or hands it back. The script's twins are extend.lua, release.lua. */
#include "commands.h"

int emq_extend(struct emq_cmd *cmd) {
    enum { ACTIVE, JOB, ID, TOKEN, LEASE };
    RedisModuleString *id = cmd->argv[ID];
    long long lease_ms;
    double score;
    if (!emq_argument(cmd, LEASE, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    struct emq_key *row = emq_open_given(cmd, JOB, EMQ_HASH, false);
    if (row->wrong) return emq_reply_trouble(cmd, emq_broken_row(id));
    RedisModuleString *attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (attempts == NULL) return emq_reply_number(cmd, -1);
    if (!emq_holds(attempts, cmd->argv[TOKEN])) return emq_reply_stale(cmd);
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    /* Never creates a lease: a job that was reaped or scheduled would stand in two places. */
    if (!emq_zscore(active, id, &score)) return emq_reply_stale(cmd);
    if (!emq_may_write(cmd, 1)) return REDISMODULE_OK;
    emq_zadd(cmd, active, emq_now(cmd) + lease_ms, id);
    return emq_reply_number(cmd, 1);
}

int emq_release(struct emq_cmd *cmd) {
    enum { ACTIVE, JOB, BASE, ID, TOKEN };
    RedisModuleString *id = cmd->argv[ID];
    long long handed_back;
    double score;
    struct emq_looked *lane;
    struct emq_key *row = emq_open_given(cmd, JOB, EMQ_HASH, true);
    if (row->wrong) return emq_reply_trouble(cmd, emq_broken_row(id));
    RedisModuleString *attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (attempts == NULL) return emq_reply_word(cmd, "gone");
    if (!emq_holds(attempts, cmd->argv[TOKEN])) return emq_reply_word(cmd, "stale");
    if (!emq_counts(emq_hget(cmd, row, emq_words[EMQ_UNSPENT]), 0, &handed_back)) {
        return emq_reply_trouble(cmd, emq_miscounted(row, EMQ_UNSPENT));
    }
    struct emq_trouble trouble = emq_look_place(cmd, emq_hget(cmd, row, emq_words[EMQ_GROUP]), &lane);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    trouble = emq_look_ceiling(cmd, active);
    if (trouble.fault == EMQ_SOUND) trouble = emq_wrong(active);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);
    if (!emq_zscore(active, id, &score)) return emq_reply_word(cmd, "stale");
    if (!emq_may_write(cmd, 4)) return REDISMODULE_OK;

    emq_leave_active(cmd, active, id, lane);
    RedisModuleString *pairs[] = {emq_words[EMQ_UNSPENT], emq_number(cmd, handed_back + 1)};
    emq_hset(cmd, row, pairs, 2);
    emq_make_ready(cmd, row, id, lane);
    emq_close_lanes(cmd);
    return emq_reply_word(cmd, "released");
}
