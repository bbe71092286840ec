/* EMQ.GCLAIM, EMQ.GWCLAIM, EMQ.GBCLAIM: one turn of one lane. The script's twins are gclaim.lua, gwclaim.lua, gbclaim.lua,
 * shared/one_turn.lua, serve_heads.lua and sort_out.lua.
 *
 * First a plan, in which nothing is taken; then one block of writes. Entries that cannot be served are dropped and the
 * next is tried; a damaged lane goes to the tail. At most 100 entries and 1000 rows. */
#include "commands.h"

#define ENTRIES_MAX 100

struct served {
    struct emq_key *row;
    RedisModuleString *id, *payload, *group;
    long long made;
};

/* An id that is neither served nor a ghost. */
struct odd {
    struct emq_key *row; /* NULL: broken */
    RedisModuleString *id, *group;
    struct emq_looked *home;
    struct emq_trouble trouble;
    bool is_misplaced, goes_home;
};

struct turn {
    struct served jobs[EMQ_WALK_MAX];
    struct odd odd[EMQ_WALK_MAX];
    struct {
        struct emq_looked *lane;
        RedisModuleString *id;
    } leaving[EMQ_WALK_MAX];
    struct emq_looked *tail[ENTRIES_MAX];
    uint32_t served, strange, leaves, backs;
    long long length, passed, reads;
    enum { ONE, WEIGHT, CAP } share;
    long long cap;
    struct emq_key *ring, *weights, *dead;
};

static long long least(long long one, long long other) { return one < other ? one : other; }

static long long share_of(struct emq_cmd *cmd, struct turn *turn, struct emq_looked *lane) {
    long long share = 1;
    if (turn->share == CAP) return turn->cap;
    if (turn->share == WEIGHT && !emq_counts(emq_hget(cmd, turn->weights, lane->group), 1, &share)) share = 1;
    return share > 1 ? share : 1;
}

/* True: a job of this lane, which is served. What is more than a ghost is kept for later. */
static bool judge(struct emq_cmd *cmd, struct turn *turn, struct emq_looked *lane, RedisModuleString *id) {
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    RedisModuleString *attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (attempts == NULL && !row->wrong) return false;
    struct odd odd = {.row = row->wrong ? NULL : row, .id = id};
    if (!row->wrong) {
        long long made;
        odd.group = emq_hget(cmd, row, emq_words[EMQ_GROUP]);
        odd.is_misplaced = !emq_same(odd.group, lane->group);
        if (!odd.is_misplaced && emq_counts(attempts, 0, &made)) {
            turn->jobs[turn->served++] = (struct served){
                row, id, emq_hget(cmd, row, emq_words[EMQ_PAYLOAD]), lane->group, made};
            return true;
        }
    }
    turn->odd[turn->strange++] = odd;
    return false;
}

static long long serve_heads(struct emq_cmd *cmd, struct turn *turn, struct emq_looked *lane, long long most) {
    long long served = 0;
    RedisModuleKey *set = lane->set->open;
    RedisModule_ZsetFirstInScoreRange(set, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    while (served < most && turn->reads > 0 && !RedisModule_ZsetRangeEndReached(set)) {
        double score;
        RedisModuleString *id = emq_own(cmd, RedisModule_ZsetRangeCurrentElement(set, &score));
        if (judge(cmd, turn, lane, id)) served++;
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

/* Where the ids go that are no jobs of the set they stand in. Trouble is the reply. */
static struct emq_trouble sort_out(struct emq_cmd *cmd, struct turn *turn) {
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    bool any_dead = false;
    for (uint32_t i = 0; i < turn->strange; i++) {
        struct odd *odd = &turn->odd[i];
        if (odd->is_misplaced) {
            struct emq_trouble trouble = emq_look_place(cmd, odd->group, &odd->home);
            if (trouble.fault != EMQ_SOUND && odd->group == NULL) return trouble;
            odd->trouble = trouble;
        } else if (odd->row != NULL) {
            odd->trouble = emq_miscounted(odd->row, EMQ_ATTEMPTS);
        }
        odd->goes_home = odd->is_misplaced && odd->trouble.fault == EMQ_SOUND;
        any_dead = any_dead || !odd->goes_home;
    }
    if (!any_dead) return sound;
    turn->dead = emq_at(cmd, EMQ_AT_DEAD);
    return emq_wrong(turn->dead);
}

static void turn_ring(struct emq_cmd *cmd, struct turn *turn) {
    if (turn->passed == 0 || (turn->length == 1 && turn->backs == 1)) return;
    emq_lpop(cmd, turn->ring, turn->passed);
    for (uint32_t i = 0; i < turn->backs; i++) emq_rpush(cmd, turn->ring, turn->tail[i]->group);
}

static void send_off(struct emq_cmd *cmd, struct turn *turn) {
    for (uint32_t i = 0; i < turn->strange; i++) {
        struct odd *odd = &turn->odd[i];
        if (odd->goes_home) continue;
        emq_zadd(cmd, turn->dead, 0, odd->id);
        if (odd->trouble.fault == EMQ_SOUND) continue;
        RedisModuleString *pairs[] = {emq_words[EMQ_LAST_ERROR], emq_trouble_text(cmd, odd->trouble),
                                      emq_words[EMQ_STATE],      emq_words[EMQ_DEAD],
                                      emq_words[EMQ_DIED_AT],    emq_number(cmd, emq_now(cmd))};
        emq_hset(cmd, odd->row, pairs, 6);
    }
    for (uint32_t i = 0; i < turn->strange; i++) {
        struct odd *odd = &turn->odd[i];
        if (odd->goes_home) emq_make_ready(cmd, odd->row, odd->id, odd->home);
    }
}

static void tell_job(struct emq_cmd *cmd, const struct served *job) {
    RedisModule_ReplyWithArray(cmd->ctx, 4);
    RedisModule_ReplyWithString(cmd->ctx, job->id);
    if (job->payload != NULL) {
        RedisModule_ReplyWithString(cmd->ctx, job->payload);
    } else {
        RedisModule_ReplyWithNull(cmd->ctx);
    }
    RedisModule_ReplyWithLongLong(cmd->ctx, job->made + 1);
    RedisModule_ReplyWithString(cmd->ctx, job->group);
}

static int take_turn(struct emq_cmd *cmd, struct turn *turn, long long lease_ms) {
    enum { RING, ACTIVE, META, BASE };
    cmd->base = emq_text_of(cmd->argv[BASE]);
    struct emq_key *meta = emq_open(cmd, cmd->argv[META], EMQ_HASH, false);
    if (meta->wrong) return emq_reply_trouble(cmd, emq_wrong(meta));
    if (emq_hget(cmd, meta, emq_words[EMQ_PAUSED_FIELD]) != NULL) return emq_reply_word(cmd, "paused");
    struct emq_key *active = emq_open(cmd, cmd->argv[ACTIVE], EMQ_ZSET, true);
    turn->ring = emq_open(cmd, cmd->argv[RING], EMQ_LIST, true);
    if (turn->ring->wrong) return emq_reply_trouble(cmd, emq_wrong(turn->ring));
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    turn->length = emq_length(turn->ring);
    if (turn->share == WEIGHT) {
        turn->weights = emq_open_below(cmd, "gweight", (struct emq_text){"", 0}, "", EMQ_HASH, false);
    }
    plan(cmd, turn);
    struct emq_trouble trouble = sort_out(cmd, turn);
    if (trouble.fault != EMQ_SOUND) return emq_reply_trouble(cmd, trouble);

    for (uint32_t i = 0; i < turn->leaves; i++) emq_zrem(cmd, turn->leaving[i].lane->set, turn->leaving[i].id);
    turn_ring(cmd, turn);
    for (uint32_t i = 0; i < turn->served; i++) {
        struct served *job = &turn->jobs[i];
        emq_lease(cmd, job->row, active, job->id, job->made + 1, lease_ms);
    }
    send_off(cmd, turn);
    emq_close_lanes(cmd);
    if (turn->share == ONE) {
        if (turn->served == 0) return RedisModule_ReplyWithArray(cmd->ctx, 0);
        tell_job(cmd, &turn->jobs[0]);
        return REDISMODULE_OK;
    }
    RedisModule_ReplyWithArray(cmd->ctx, (long)turn->served);
    for (uint32_t i = 0; i < turn->served; i++) tell_job(cmd, &turn->jobs[i]);
    return REDISMODULE_OK;
}

/* A turn is large, and most of it is never touched: only what is read before it is written is set here. */
static void begin(struct turn *turn) {
    turn->served = turn->strange = turn->leaves = turn->backs = 0;
    turn->length = turn->passed = turn->cap = 0;
    turn->reads = EMQ_WALK_MAX;
    turn->share = ONE;
    turn->ring = turn->weights = turn->dead = NULL;
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
