/* EMQ.CLAIM: lease the oldest ready job of the flat set. The script's twin is claim.lua.
 *
 * The heads are looked at before anything is taken. Ghosts are passed over and dropped; a job with a group goes home to
 * its lane. At most 1000 heads. The row gets one field more than by the script, `claimed_at`. */
#include "commands.h"

struct misplaced {
    struct emq_key *row;
    RedisModuleString *id;
    struct emq_looked *lane;
    RedisModuleString *group;
};

struct walk {
    RedisModuleString *ids[EMQ_WALK_MAX];
    struct misplaced misplaced[EMQ_WALK_MAX];
    uint32_t walked, astray;
    struct emq_key *row; /* of the job to serve, or NULL: its id is the last of ids */
    RedisModuleString *payload;
    long long made;
};

static struct emq_trouble judge(struct emq_cmd *cmd, struct walk *walk, RedisModuleString *id) {
    struct emq_trouble trouble = {EMQ_SOUND, {"", 0}, {"", 0}};
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    if (row->wrong) return emq_broken_row(id);
    walk->ids[walk->walked++] = id;
    static const enum emq_word fields[3] = {EMQ_ATTEMPTS, EMQ_GROUP, EMQ_PAYLOAD};
    RedisModuleString *values[3];
    emq_hget_three(cmd, row, fields, values);
    RedisModuleString *attempts = values[0], *group = values[1];
    if (attempts == NULL) return trouble;
    if (group != NULL) {
        walk->misplaced[walk->astray++] = (struct misplaced){row, id, NULL, group};
        return trouble;
    }
    if (!emq_counts(attempts, 0, &walk->made)) return emq_miscounted(row, EMQ_ATTEMPTS);
    walk->row = row;
    walk->payload = values[2];
    return trouble;
}

static struct emq_trouble look(struct emq_cmd *cmd, struct walk *walk, struct emq_key *pending) {
    struct emq_trouble trouble = {EMQ_SOUND, {"", 0}, {"", 0}};
    if (emq_length(pending) == 0) return trouble;
    RedisModule_ZsetFirstInScoreRange(pending->open, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    while (walk->walked < EMQ_WALK_MAX && walk->row == NULL && !RedisModule_ZsetRangeEndReached(pending->open)) {
        double score;
        RedisModuleString *id = emq_own(cmd, RedisModule_ZsetRangeCurrentElement(pending->open, &score));
        trouble = judge(cmd, walk, id);
        if (trouble.fault != EMQ_SOUND) break;
        RedisModule_ZsetRangeNext(pending->open);
    }
    RedisModule_ZsetRangeStop(pending->open);
    return trouble;
}

static int answer(struct emq_cmd *cmd, struct walk *walk) {
    if (walk->row == NULL) return RedisModule_ReplyWithArray(cmd->ctx, 0);
    RedisModule_ReplyWithArray(cmd->ctx, 3);
    RedisModule_ReplyWithString(cmd->ctx, walk->ids[walk->walked - 1]);
    if (walk->payload != NULL) {
        RedisModule_ReplyWithString(cmd->ctx, walk->payload);
    } else {
        RedisModule_ReplyWithNull(cmd->ctx);
    }
    return RedisModule_ReplyWithLongLong(cmd->ctx, walk->made + 1);
}

int emq_claim(struct emq_cmd *cmd) {
    enum { PENDING, ACTIVE, BASE, LEASE };
    struct walk walk;
    walk.walked = walk.astray = 0;
    walk.row = NULL;
    walk.payload = NULL;
    long long lease_ms;
    if (!emq_argument(cmd, LEASE, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, true);
    if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
    struct emq_trouble trouble = look(cmd, &walk, pending);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    for (uint32_t i = 0; i < walk.astray; i++) {
        walk.misplaced[i].lane = emq_look_lane(cmd, walk.misplaced[i].group);
        if (walk.misplaced[i].lane->is.troubled) return emq_reply_trouble(cmd, walk.misplaced[i].lane->trouble);
    }
    if (!emq_may_write(cmd, 4)) return REDISMODULE_OK;

    for (uint32_t i = 0; i < walk.walked; i++) emq_zrem(cmd, pending, walk.ids[i]);
    for (uint32_t i = 0; i < walk.astray; i++) {
        struct misplaced *job = &walk.misplaced[i];
        emq_make_ready(cmd, job->row, job->id, job->lane);
    }
    if (walk.astray > 0) emq_close_lanes(cmd);
    if (walk.row != NULL) emq_lease(cmd, walk.row, active, walk.ids[walk.walked - 1], walk.made + 1, lease_ms);
    return answer(cmd, &walk);
}
