/* EMQ.GCLAIM, EMQ.GWCLAIM, EMQ.GBCLAIM: one turn of one lane. The script's twins are gclaim.lua, gwclaim.lua, gbclaim.lua,
 * shared/one_turn.lua, serve_heads.lua and sort_out.lua.
 *
 * First a plan, in which nothing is taken; then one block of writes. Entries that cannot be served are dropped and the
 * next is tried; a damaged lane goes to the tail. At most 100 entries and 1000 rows. */
#include "commands.h"
#include "heads.h"

#define ENTRIES_MAX 100

struct turn {
    struct emq_ready jobs[EMQ_WALK_MAX];
    struct emq_odds odds;
    struct {
        struct emq_looked *lane;
        RedisModuleString *id;
    } leaving[EMQ_WALK_MAX];
    struct emq_looked *tail[ENTRIES_MAX];
    uint32_t served, leaves, backs;
    long long length, passed, reads;
    enum { ONE, WEIGHT, CAP } share;
    long long cap;
    struct emq_key *ring, *weights;
};

static long long least(long long one, long long other) { return one < other ? one : other; }

static long long share_of(struct emq_cmd *cmd, struct turn *turn, struct emq_looked *lane) {
    long long share = 1;
    if (turn->share == CAP) return turn->cap;
    if (turn->share == WEIGHT && !emq_counts(emq_hget(cmd, turn->weights, lane->group), 1, &share)) share = 1;
    return share > 1 ? share : 1;
}

static long long serve_heads(struct emq_cmd *cmd, struct turn *turn, struct emq_looked *lane, long long most) {
    long long served = 0;
    RedisModuleKey *set = lane->set->open;
    RedisModule_ZsetFirstInScoreRange(set, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    while (served < most && turn->reads > 0 && !RedisModule_ZsetRangeEndReached(set)) {
        double score;
        RedisModuleString *id = emq_own(cmd, RedisModule_ZsetRangeCurrentElement(set, &score));
        if (emq_judge_head(cmd, id, lane->group, &turn->jobs[turn->served], &turn->odds) != EMQ_HEAD_NONE) {
            turn->served++;
            served++;
        }
        turn->leaving[turn->leaves].lane = lane;
        turn->leaving[turn->leaves++].id = id;
        turn->reads--;
        lane->is.depth--;
        RedisModule_ZsetRangeNext(set);
    }
    RedisModule_ZsetRangeStop(set);
    return served;
}

static void plan(struct emq_cmd *cmd, struct turn *turn) {
    long long window = least(turn->length, ENTRIES_MAX);
    while (turn->served == 0 && turn->reads > 0 && turn->passed < window) {
        RedisModuleString *group = emq_own(cmd, RedisModule_ListGet(turn->ring->open, (long)turn->passed));
        if (group == NULL) break;
        turn->passed++;
        struct emq_looked *lane = emq_meet_lane(cmd, group);
        if (lane->met) continue;
        lane->met = true;
        if (lane->is.troubled) {
            turn->tail[turn->backs++] = lane;
        } else if (emq_serviceable(&lane->is)) {
            long long seats = lane->is.limited ? lane->is.limit - lane->is.act : EMQ_WALK_MAX;
            long long share = least(least(share_of(cmd, turn, lane), seats), EMQ_WALK_MAX);
            long long served = serve_heads(cmd, turn, lane, share);
            if (served > 0) emq_fly(&lane->is, served);
            lane->is.stands = emq_serviceable(&lane->is);
            if (lane->is.stands && served > 0) {
                turn->tail[turn->backs++] = lane;
            } else if (lane->is.stands) {
                turn->passed--; /* all rows that may be read were no jobs: the next call goes on with this lane */
            }
        }
    }
}

static void turn_ring(struct emq_cmd *cmd, struct turn *turn) {
    if (turn->passed == 0 || (turn->length == 1 && turn->backs == 1)) return;
    emq_lpop(cmd, turn->ring, turn->passed);
    for (uint32_t i = 0; i < turn->backs; i++) emq_rpush(cmd, turn->ring, turn->tail[i]->group);
}

static int take_turn(struct emq_cmd *cmd, struct turn *turn, long long lease_ms) {
    enum { RING, ACTIVE, META, BASE };
    struct emq_key *meta = emq_open_given(cmd, META, EMQ_HASH, false);
    if (meta->wrong) return emq_reply_trouble(cmd, emq_wrong(meta));
    if (emq_hget(cmd, meta, emq_words[EMQ_PAUSED_FIELD]) != NULL) return emq_reply_word(cmd, "paused");
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    turn->ring = emq_open_given(cmd, RING, EMQ_LIST, true);
    if (turn->ring->wrong) return emq_reply_trouble(cmd, emq_wrong(turn->ring));
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    turn->length = emq_length(turn->ring);
    if (turn->share == WEIGHT) {
        turn->weights = emq_open_below(cmd, "gweight", (struct emq_text){"", 0}, "", EMQ_HASH, false);
    }
    plan(cmd, turn);
    struct emq_trouble trouble = emq_sort_out(cmd, &turn->odds);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);
    if (!emq_may_write(cmd, emq_strings_for(turn->served, &turn->odds))) return REDISMODULE_OK;

    for (uint32_t i = 0; i < turn->leaves; i++) emq_zrem(cmd, turn->leaving[i].lane->set, turn->leaving[i].id);
    turn_ring(cmd, turn);
    emq_lease_all(cmd, active, turn->jobs, turn->served, lease_ms);
    emq_send_off(cmd, &turn->odds);
    emq_close_lanes(cmd);
    if (turn->share == ONE) {
        if (turn->served == 0) return RedisModule_ReplyWithArray(cmd->ctx, 0);
        emq_tell_ready(cmd, &turn->jobs[0], true);
        return REDISMODULE_OK;
    }
    RedisModule_ReplyWithArray(cmd->ctx, (long)turn->served);
    for (uint32_t i = 0; i < turn->served; i++) emq_tell_ready(cmd, &turn->jobs[i], true);
    return REDISMODULE_OK;
}

/* A turn is large, and most of it is never touched: only what is read before it is written is set here. */
static void begin(struct turn *turn) {
    turn->served = turn->odds.count = turn->odds.homes = turn->leaves = turn->backs = 0;
    turn->length = turn->passed = turn->cap = 0;
    turn->reads = EMQ_WALK_MAX;
    turn->share = ONE;
    turn->ring = turn->weights = NULL;
}

enum { LEASE_AT = 4, CAP_AT = 5 };

int emq_gclaim(struct emq_cmd *cmd) {
    struct turn turn;
    long long lease_ms;
    begin(&turn);
    if (!emq_argument(cmd, LEASE_AT, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    return take_turn(cmd, &turn, lease_ms);
}

int emq_gwclaim(struct emq_cmd *cmd) {
    struct turn turn;
    long long lease_ms;
    begin(&turn);
    turn.share = WEIGHT;
    if (!emq_argument(cmd, LEASE_AT, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    return take_turn(cmd, &turn, lease_ms);
}

int emq_gbclaim(struct emq_cmd *cmd) {
    struct turn turn;
    long long lease_ms;
    begin(&turn);
    turn.share = CAP;
    turn.cap = 100;
    if (!emq_argument(cmd, LEASE_AT, "lease_ms", 1, EMQ_WHOLE_MAX, &lease_ms)) return REDISMODULE_OK;
    if (emq_is_given(cmd, CAP_AT) && !emq_argument(cmd, CAP_AT, "cap", 1, EMQ_WHOLE_MAX, &turn.cap)) {
        return REDISMODULE_OK;
    }
    return take_turn(cmd, &turn, lease_ms);
}
