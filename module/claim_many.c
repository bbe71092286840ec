/* EMQ.CLAIM_MANY: lease the oldest ready jobs of the flat set on one common deadline. The script's twin is
 * claim_many.lua. A hundred heads more than asked for are looked at, so that ghosts do not make the set seem empty. */
#include <string.h>

#include "batch.h"
#include "commands.h"
#include "heads.h"

static long long least(long long one, long long other) { return one < other ? one : other; }

struct claim {
    uint32_t served, walked;
    struct emq_ready jobs[EMQ_WALK_MAX];
    RedisModuleString *ids[EMQ_ROWS_MAX];
    struct emq_odds odds;
};

static void plan(struct emq_cmd *cmd, struct claim *claim, struct emq_key *pending, long long room, long long heads) {
    if (room <= 0 || emq_length(pending) == 0) return;
    RedisModule_ZsetFirstInScoreRange(pending->open, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    while (claim->served < room && claim->walked < heads && !RedisModule_ZsetRangeEndReached(pending->open)) {
        double score;
        RedisModuleString *id = emq_own(cmd, RedisModule_ZsetRangeCurrentElement(pending->open, &score));
        claim->ids[claim->walked++] = id;
        if (emq_judge_head(cmd, id, NULL, &claim->jobs[claim->served], &claim->odds) != EMQ_HEAD_NONE) claim->served++;
        RedisModule_ZsetRangeNext(pending->open);
    }
    RedisModule_ZsetRangeStop(pending->open);
}

static void reply(struct emq_cmd *cmd, const struct claim *claim, const struct emq_key *pending) {
    const char *word = claim->served > 0 ? "claimed" : "empty";
    RedisModule_ReplyWithArray(cmd->ctx, 4);
    RedisModule_ReplyWithStringBuffer(cmd->ctx, word, strlen(word));
    RedisModule_ReplyWithLongLong(cmd->ctx, emq_length(pending));
    emq_tell_broken(cmd, &claim->odds);
    RedisModule_ReplyWithArray(cmd->ctx, (long)claim->served);
    for (uint32_t i = 0; i < claim->served; i++) emq_tell_ready(cmd, &claim->jobs[i], false);
}

int emq_claim_many(struct emq_cmd *cmd) {
    enum { PENDING, ACTIVE, META, DEAD, BASE, LEASE, SIZE };
    struct claim claim;
    claim.served = claim.walked = claim.odds.count = claim.odds.homes = 0;
    long long lease_ms, most = 1;
    if (!emq_argument(cmd, LEASE, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    if (emq_is_given(cmd, SIZE) && !emq_argument(cmd, SIZE, "size", 1, EMQ_WHOLE_MAX, &most)) return REDISMODULE_OK;
    most = least(most, EMQ_ROOM_MAX);
    struct emq_key *meta = emq_open_given(cmd, META, EMQ_HASH, false);
    if (meta->wrong) return emq_reply_trouble(cmd, emq_wrong(meta));
    if (emq_hget(cmd, meta, emq_words[EMQ_PAUSED_FIELD]) != NULL) return emq_reply_word(cmd, "paused");
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, true);
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
    long long ceiling = emq_ceiling(cmd, meta);
    long long room = ceiling > 0 ? least(most, ceiling - emq_length(active)) : most;
    plan(cmd, &claim, pending, room, most + EMQ_SPARE);
    struct emq_trouble trouble = emq_sort_out(cmd, &claim.odds);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);
    if (!emq_may_write(cmd, emq_strings_for(claim.served, &claim.odds))) return REDISMODULE_OK;

    uint32_t first = claim.walked < EMQ_BATCH_MAX ? claim.walked : EMQ_BATCH_MAX;
    emq_zrem_all(cmd, pending, claim.ids, first);
    emq_zrem_all(cmd, pending, claim.ids + first, claim.walked - first);
    emq_lease_all(cmd, active, claim.jobs, claim.served, lease_ms);
    if (claim.odds.count > 0) {
        emq_send_off(cmd, &claim.odds);
        emq_close_lanes(cmd);
    }
    reply(cmd, &claim, pending);
    return REDISMODULE_OK;
}
