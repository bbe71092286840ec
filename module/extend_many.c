/* EMQ.EXTEND_MANY: move the leases of many jobs forward, to one deadline. The script's twin is extend_many.lua. */
#include "batch.h"
#include "commands.h"

enum { ACTIVE, BASE, LEASE, JOBS, TOKEN = 1, WIDTH };

int emq_extend_many(struct emq_cmd *cmd) {
    RedisModuleString *refused[EMQ_BATCH_MAX], *kept[EMQ_BATCH_MAX];
    uint32_t count, refusals = 0, keeps = 0;
    long long lease_ms;
    if (!emq_argument(cmd, LEASE, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    if (!emq_batch_count(cmd, JOBS, WIDTH, &count)) return REDISMODULE_OK;
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    for (uint32_t place = 0; place < count; place++) {
        int at = JOBS + (int)place * WIDTH;
        RedisModuleString **job = cmd->argv + at;
        bool again, holds;
        double score;
        struct emq_key *row = emq_batch_row(cmd, at, false, &again);
        holds = emq_holds(emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]), job[TOKEN]);
        if (holds && active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
        /* Never creates a lease: a job that was reaped or scheduled would stand in two places. */
        if (holds && emq_zscore(active, *job, &score)) {
            kept[keeps++] = *job;
        } else {
            refused[refusals++] = *job;
        }
    }
    if (!emq_may_write(cmd, 1)) return REDISMODULE_OK;
    emq_zadd_all(cmd, active, emq_now(cmd) + lease_ms, kept, keeps);
    return emq_reply_ids(cmd, refused, refusals);
}
