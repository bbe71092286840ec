/* Lanes: reading what the bookkeeping of a group needs, and moving jobs. What follows from the moves is written at the
 * end: see lane_close.c.
 *
 * The same steps as shared/look_lane.lua, look_lanes.lua, make_ready.lua and leave_active.lua. Unlike there the keys that all lanes share stay open, so that many lanes cost nothing but their own set. */
#include "emq.h"

static struct emq_trouble first_of(struct emq_trouble one, struct emq_trouble other) {
    return one.fault != EMQ_SOUND ? one : other;
}

static struct emq_looked *remember(struct emq_cmd *cmd, RedisModuleString *group) {
    struct emq_text name = emq_text_of(group);
    struct emq_looked *lane = emq_bag_add(&cmd->lanes, name, emq_try_alloc, RedisModule_Free);
    if (lane == NULL) return NULL;
    lane->is = (struct emq_lane){0};
    lane->group = group;
    lane->closes = true;
    lane->met = false;
    lane->joins = 0;
    lane->set = emq_open_below(cmd, "g:", name, ":pending", EMQ_ZSET, true);
    return lane;
}

/* What both ways of looking read. The order of the troubles is that of the script. */
static void read_lane(struct emq_cmd *cmd, struct emq_looked *lane) {
    struct emq_key *limits = emq_at(cmd, EMQ_AT_GLIMIT), *parking = emq_at(cmd, EMQ_AT_PAUSED);
    struct emq_lane *is = &lane->is;
    lane->trouble = emq_look_counter(cmd, emq_at(cmd, EMQ_AT_GACTIVE), lane->group, &is->act);
    is->act_known = lane->trouble.fault == EMQ_SOUND;
    RedisModuleString *limit = emq_hget(cmd, limits, lane->group);
    is->limited = limit != NULL && emq_counts(limit, 0, &is->limit);
    is->parked = emq_is_member(cmd, parking, lane->group);
    is->depth = emq_length(lane->set);
    is->closed = lane->set->wrong;
    lane->trouble = first_of(lane->trouble, emq_wrong(limits));
    lane->trouble = first_of(lane->trouble, emq_wrong(parking));
    lane->trouble = first_of(lane->trouble, emq_wrong(lane->set));
}

static struct emq_looked *known(struct emq_cmd *cmd, RedisModuleString *group) {
    return emq_bag_find(&cmd->lanes, emq_text_of(group));
}

struct emq_looked *emq_look_lane(struct emq_cmd *cmd, RedisModuleString *group) {
    struct emq_looked *lane = known(cmd, group);
    if (lane != NULL) return lane;
    lane = remember(cmd, group);
    if (lane == NULL) return emq_no_lane(cmd);
    read_lane(cmd, lane);
    struct emq_lane *is = &lane->is;
    is->ringless = emq_at(cmd, EMQ_AT_RING)->wrong;
    lane->trouble = first_of(lane->trouble, emq_wrong(emq_at(cmd, EMQ_AT_RING)));
    lane->trouble = first_of(lane->trouble, emq_wrong(emq_at(cmd, EMQ_AT_WAKE)));
    lane->trouble = first_of(lane->trouble, emq_wrong(emq_at(cmd, EMQ_AT_LANES)));
    is->troubled = lane->trouble.fault != EMQ_SOUND;
    is->live = is->depth > 0 || is->act > 0;
    is->could = emq_servable(is);
    is->stands = is->could > 0;
    return lane;
}

/* The caller has found the ring to be a list, and takes the entry off it. `lanes` itself says whether the lane is live,
 * so that those which other speakers filled are entered there. A damaged one is not closed. */
struct emq_looked *emq_meet_lane(struct emq_cmd *cmd, RedisModuleString *group) {
    struct emq_looked *lane = known(cmd, group);
    if (lane != NULL) return lane;
    lane = remember(cmd, group);
    if (lane == NULL) return emq_no_lane(cmd);
    read_lane(cmd, lane);
    struct emq_lane *is = &lane->is;
    double score;
    lane->trouble = first_of(lane->trouble, emq_wrong(emq_at(cmd, EMQ_AT_WAKE)));
    lane->trouble = first_of(lane->trouble, emq_wrong(emq_at(cmd, EMQ_AT_LANES)));
    is->troubled = lane->trouble.fault != EMQ_SOUND;
    is->live = emq_zscore(emq_at(cmd, EMQ_AT_LANES), group, &score);
    is->could = emq_servable(is);
    lane->closes = !is->troubled;
    return lane;
}

/* Where emq_make_ready is going to put a job. `group` NULL: the flat set, and *lane is NULL. */
struct emq_trouble emq_look_place(struct emq_cmd *cmd, RedisModuleString *group, struct emq_looked **lane) {
    *lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    if (group != NULL) return (*lane)->trouble;
    return first_of(emq_wrong(emq_at(cmd, EMQ_AT_PENDING)), emq_wrong(emq_at(cmd, EMQ_AT_WAKE)));
}

/* How much room the queue's ceiling leaves before leases end. With one, those that end are seats somebody may wait for. */
struct emq_trouble emq_look_ceiling(struct emq_cmd *cmd, struct emq_key *active) {
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    long long most;
    RedisModuleString *text = emq_hget(cmd, emq_at(cmd, EMQ_AT_META), emq_words[EMQ_CONCURRENCY]);
    if (text == NULL || !emq_counts(text, 0, &most) || most < 1) return sound;
    if (active->wrong) return emq_wrong(active);
    cmd->room = most - emq_length(active);
    cmd->has_ceiling = true;
    return emq_wrong(emq_at(cmd, EMQ_AT_WAKE));
}

void emq_put_in_lane(struct emq_cmd *cmd, struct emq_looked *lane, RedisModuleString *id) {
    if (emq_zadd(cmd, lane->set, 0, id)) lane->is.depth++;
}

bool emq_take_from_lane(struct emq_cmd *cmd, struct emq_looked *lane, RedisModuleString *id) {
    if (lane->is.closed || !emq_zrem(cmd, lane->set, id)) return false;
    lane->is.depth--;
    lane->is.left = true;
    return true;
}

/* Puts a job into its own ready set (rule 7). The row is a job's. `lane` NULL: the flat set. */
void emq_make_ready(struct emq_cmd *cmd, struct emq_key *row, RedisModuleString *id, struct emq_looked *lane) {
    if (lane != NULL) {
        emq_put_in_lane(cmd, lane, id);
    } else {
        emq_zadd(cmd, emq_at(cmd, EMQ_AT_PENDING), 0, id);
        cmd->joined_flat++;
    }
    RedisModuleString *pairs[] = {emq_words[EMQ_STATE], emq_words[EMQ_PENDING]};
    emq_hset(cmd, row, pairs, 2);
}

/* Step L of protocol 0. False: the job is neither leased nor ready, and nothing was written. The caller has judged the
 * types of active and, for an ungrouped job, of pending. */
bool emq_leave_active(struct emq_cmd *cmd, struct emq_key *active, RedisModuleString *id, struct emq_looked *lane) {
    if (emq_zrem(cmd, active, id)) {
        cmd->ended++;
        if (lane != NULL) emq_fly(&lane->is, -1);
        return true;
    }
    return lane != NULL ? emq_take_from_lane(cmd, lane, id) : emq_zrem(cmd, emq_at(cmd, EMQ_AT_PENDING), id);
}
