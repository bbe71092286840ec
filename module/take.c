/* EMQ.TAKE: lease jobs for a worker's free slots, lanes and flat set in turn. The script's twin is take.lua.
 *
 * Everything is read and planned first; one block of writes follows (take_write.c). What is decided is decided in
 * rota.c, manners.c and parking.c; here are the eyes that these look with. */
#include "take.h"

#include <string.h>

#include "commands.h"

#define WEIGHT_MAX 1000 /* of a turn, and of what is left of one, whatever another program wrote */

static long long least(long long one, long long other) { return one < other ? one : other; }

/* ---- the eyes of manners.c ----------------------------------------------------------------------------------------*/

/* Whoever walks in order has the set's iterator; whoever begins in the middle asks the server, which finds it by rank. */
static RedisModuleString *id_in_order(struct take_stall *stall) {
    RedisModuleKey *set = stall->set->open;
    double score;
    if (set == NULL) return NULL;
    if (!stall->walks) {
        stall->walks = true;
        RedisModule_ZsetFirstInScoreRange(set, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    } else {
        RedisModule_ZsetRangeNext(set);
    }
    if (RedisModule_ZsetRangeEndReached(set)) return NULL;
    return emq_own(stall->take->cmd, RedisModule_ZsetRangeCurrentElement(set, &score));
}

static RedisModuleCallReply *ids_from(struct take_stall *stall, long long first, long long last) {
    return RedisModule_Call(stall->take->cmd->ctx, "ZRANGE", "!sll", stall->set->name, first, last);
}

static RedisModuleString *id_of_reply(struct take_stall *stall, RedisModuleCallReply *ids, long long place) {
    if (ids == NULL || RedisModule_CallReplyType(ids) != REDISMODULE_REPLY_ARRAY) return NULL;
    RedisModuleCallReply *id = RedisModule_CallReplyArrayElement(ids, (size_t)place);
    return id == NULL ? NULL : emq_own(stall->take->cmd, RedisModule_CreateStringFromCallReply(id));
}

static bool is_read(const struct take_stall *stall, long long place) {
    return stall->ids != NULL && place >= stall->ids_at && place < stall->ids_upto;
}

static RedisModuleString *id_of_run(struct take_stall *stall, long long place) {
    enum { WIDEST = 500 };
    if (!is_read(stall, place)) {
        if (stall->ids != NULL) RedisModule_FreeCallReply(stall->ids);
        stall->width = stall->width == 0 ? EMQ_NEAR : least(2 * stall->width, WIDEST);
        stall->ids_at = place;
        stall->ids_upto = place + stall->width;
        stall->ids = ids_from(stall, place, stall->ids_upto - 1);
    }
    return id_of_reply(stall, stall->ids, place - stall->ids_at);
}

static enum emq_head look(void *who, long long place, int slot) {
    struct take_stall *stall = who;
    struct take *take = stall->take;
    if (stall->is.line.began >= 0 && place >= stall->is.line.began) stall->runs_from = stall->is.line.began;
    bool of_run = stall->runs_from >= 0 && place >= stall->runs_from;
    RedisModuleString *id = of_run ? id_of_run(stall, place) : id_in_order(stall);
    struct emq_ready *found = &stall->slot[slot];
    found->id = id;
    if (id == NULL) return EMQ_HEAD_NONE;
    return emq_judge_head(take->cmd, id, stall->group, found, &take->odds);
}

static bool is_fresh(void *who, long long place) {
    struct take_stall *stall = who;
    struct emq_cmd *cmd = stall->take->cmd;
    RedisModuleString *id;
    /* The first look of a search is at the next job: those that are looked at one by one are read with it. */
    if (stall->ids == NULL || is_read(stall, place)) {
        id = id_of_run(stall, place);
    } else {
        RedisModuleCallReply *one = ids_from(stall, place, place);
        id = id_of_reply(stall, one, 0);
        if (one != NULL) RedisModule_FreeCallReply(one);
    }
    if (id == NULL) return true;
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    long long made, handed_back;
    if (!emq_counts(emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]), 0, &made)) made = 0;
    if (!emq_counts(emq_hget(cmd, row, emq_words[EMQ_UNSPENT]), 0, &handed_back)) handed_back = 0;
    return made <= handed_back;
}

static void leave(void *who, int slot, bool served) {
    struct take_stall *stall = who;
    struct take *take = stall->take;
    struct emq_ready *job = &stall->slot[slot];
    if (served && take->served < EMQ_WALK_MAX) take->jobs[take->served++] = *job;
    if (job->id == NULL || take->leaves == EMQ_ROWS_MAX) return;
    take->leaving[take->leaves] = (struct leaving){job->id, NOBODY};
    if (stall->first == NOBODY) {
        stall->first = take->leaves;
    } else {
        take->leaving[stall->last].next = take->leaves;
    }
    stall->last = take->leaves++;
}

static const struct emq_sight SIGHT = {look, is_fresh, leave};

/* ---- the stalls of rota.c -----------------------------------------------------------------------------------------*/

static void open_stall(struct take *take, struct take_stall *stall, struct emq_lane *lane, struct emq_key *set,
                       RedisModuleString *group, bool owes) {
    stall->is = (struct emq_stall){.lane = lane, .weight = 1, .is_flat = group == NULL};
    emq_line_up(&stall->is.line, &SIGHT, stall, lane->depth, owes);
    stall->take = take;
    stall->set = set;
    stall->group = group;
    stall->owed = owes;
    stall->walks = false;
    stall->runs_from = -1;
    stall->ids = NULL;
    stall->ids_at = stall->ids_upto = stall->width = 0;
    stall->first = stall->last = NOBODY;
}

static struct emq_stall *step(void *who, long long place) {
    struct take *take = who;
    struct emq_cmd *cmd = take->cmd;
    RedisModuleString *group = emq_own(cmd, RedisModule_ListGet(take->ring->open, (long)place));
    if (group == NULL) return NULL;
    struct emq_looked *lane = emq_meet_lane(cmd, group);
    if (lane->met) return NULL;
    lane->met = true;
    if (take->met % STALL_CHUNK == 0) {
        struct take_stall *chunk = emq_try_alloc(STALL_CHUNK * sizeof *chunk);
        if (chunk == NULL) {
            emq_starve(cmd);
            return NULL;
        }
        take->stalls[take->met / STALL_CHUNK] = chunk;
    }
    struct take_stall *stall = take_stall_at(take, take->met++);
    open_stall(take, stall, &lane->is, lane->set, lane->group, emq_is_member(cmd, take->owing, group));
    long long weight;
    if (emq_counts(emq_hget(cmd, take->weights, group), 1, &weight) && weight > 1) {
        stall->is.weight = least(weight, WEIGHT_MAX);
    }
    stall->is.resumes = take->told[TURN] != NULL && emq_same(group, take->told[TURN]);
    return &stall->is;
}

/* ---- planning -----------------------------------------------------------------------------------------------------*/

/* Where the rota stands is told by the ring, and by three fields as far as that does not say it. */
static struct emq_trouble look_rota(struct take *take, struct emq_rota *rota) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    if (emq_is_absent(take->kept) && emq_is_absent(take->owing)) return sound;
    if (take->kept->wrong) return emq_wrong(take->kept);
    if (take->owing->wrong) return emq_wrong(take->owing);
    for (int field = 0; field < FIELDS; field++) {
        take->told[field] = emq_hget(cmd, take->kept, take_field(take, field));
    }
    long long number;
    if (take->told[FLAT] != NULL && emq_counts(take->told[FLAT], 0, &number) && number >= 0) {
        rota->flat_at = least(number, rota->length);
    }
    bool goes_on = take->told[TURN] != NULL && take->told[LEFT] != NULL && emq_counts(take->told[LEFT], 0, &number);
    rota->resumed = goes_on && number >= 1 ? least(number, WEIGHT_MAX) : 0;
    return sound;
}

static struct emq_trouble plan(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    struct emq_text none = {"", 0};
    long long room = take->room, reads = room + EMQ_SPARE;
    take->kept = emq_open_below(cmd, "rota", none, "", EMQ_HASH, true);
    take->owing = emq_open_below(cmd, "fresh_next", none, "", EMQ_SET, false);
    if (take->ring->wrong) return emq_wrong(take->ring);
    if (take->pending->wrong) return emq_wrong(take->pending);
    struct emq_rota *rota = &take->rota;
    emq_rota_begin(rota, step, take, &take->flat.is, emq_length(take->ring), room);
    struct emq_trouble trouble = look_rota(take, rota);
    if (trouble.fault != EMQ_SOUND) return trouble;
    take->flat_lane = (struct emq_lane){.depth = emq_length(take->pending)};
    bool owes = emq_is_member(cmd, take->owing, emq_words[EMQ_EMPTY]);
    open_stall(take, &take->flat, &take->flat_lane, take->pending, NULL, owes);
    if (rota->length > 0) take->weights = emq_open_below(cmd, "gweight", none, "", EMQ_HASH, false);
    emq_go_round(rota, &reads);
    take->ring_left = rota->length - rota->passed + rota->tail_count;
    take->flat_left = take->flat_lane.depth;
    take->damaged = rota->damaged;
    return take->odds.count > 0 ? emq_sort_out(cmd, &take->odds) : sound;
}

bool take_is_more(const struct take *take) {
    return take->flat_left + take->ring_left > take->damaged && !(take->ceiling > 0 && take->served >= take->seats);
}

static double first_score(struct emq_key *set) {
    double score = REDISMODULE_POSITIVE_INFINITE;
    if (emq_length(set) == 0) return score;
    RedisModule_ZsetFirstInScoreRange(set->open, REDISMODULE_NEGATIVE_INFINITE, REDISMODULE_POSITIVE_INFINITE, 0, 0);
    if (!RedisModule_ZsetRangeEndReached(set->open)) {
        RedisModule_FreeString(NULL, RedisModule_ZsetRangeCurrentElement(set->open, &score));
    }
    RedisModule_ZsetRangeStop(set->open);
    return score;
}

static struct emq_trouble look_parking(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    struct emq_text watch = {"", 0}, none = {"", 0};
    struct emq_key *schedule = emq_open_below(cmd, "schedule", none, "", EMQ_ZSET, false);
    if (schedule->wrong) return emq_wrong(schedule);
    double due = first_score(schedule), lapse = first_score(take->active);
    if (lapse < due) due = lapse;
    if (take->served > 0 && (double)(emq_now(cmd) + take->lease_ms) < due) due = (double)(emq_now(cmd) + take->lease_ms);
    if (take->watcher.len > 0) {
        take->watch = emq_open_below(cmd, "watch", none, "", EMQ_STRING, true);
        if (take->watch->wrong) return emq_wrong(take->watch);
        if (!emq_is_absent(take->watch)) {
            watch.at = RedisModule_StringDMA(take->watch->open, &watch.len, REDISMODULE_READ);
            if (watch.at == NULL) watch = none;
        }
    }
    take->parking = emq_park(due, emq_now(cmd), take->offered, take->watcher, watch);
    return sound;
}

/* ---- the command --------------------------------------------------------------------------------------------------*/

static bool read_watcher(struct take *take) {
    enum { LONGEST = 64 };
    if (!emq_is_given(take->cmd, TAKE_WATCHER)) return true;
    take->watcher = emq_said(take->cmd, TAKE_WATCHER);
    bool is_name = take->watcher.len <= LONGEST;
    for (size_t i = 0; is_name && i < take->watcher.len; i++) {
        is_name = take->watcher.at[i] >= '!' && take->watcher.at[i] <= '~';
    }
    if (!is_name) {
        emq_reply_error(take->cmd, "ERR watcher must be 1 to 64 printable ASCII characters without spaces");
    }
    return is_name;
}

static bool read_numbers(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    enum { HOUR_MS = 3600000 };
    return emq_argument(cmd, TAKE_LEASE, "lease_ms", 1, EMQ_WHOLE_MAX, &take->lease_ms) &&
           (!emq_is_given(cmd, TAKE_SIZE) ||
            emq_argument(cmd, TAKE_SIZE, "size", 1, EMQ_WHOLE_MAX, &take->most)) &&
           (!emq_is_given(cmd, TAKE_PARK) ||
            emq_argument(cmd, TAKE_PARK, "park_ms", 1, HOUR_MS, &take->offered)) &&
           (TAKE_BLOCK >= cmd->argc || emq_argument(cmd, TAKE_BLOCK_MS, "BLOCK", 1, HOUR_MS, &take->block_ms));
}

bool take_read(struct take *take) {
    if (!read_numbers(take)) return false;
    take->most = least(take->most, EMQ_ROOM_MAX);
    if (emq_is_given(take->cmd, TAKE_WORTH)) take->worth = emq_said(take->cmd, TAKE_WORTH);
    return read_watcher(take);
}

static struct emq_trouble look_around(struct take *take, bool *paused) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_key *meta = emq_open_given(cmd, TAKE_META, EMQ_HASH, false);
    struct emq_trouble trouble = emq_wrong(meta);
    *paused = trouble.fault == EMQ_SOUND && emq_hget(cmd, meta, emq_words[EMQ_PAUSED_FIELD]) != NULL;
    if (*paused) return trouble;
    take->active = emq_open_given(cmd, TAKE_ACTIVE, EMQ_ZSET, true);
    take->wake = emq_open_given(cmd, TAKE_WAKE, EMQ_LIST, true);
    if (trouble.fault == EMQ_SOUND) trouble = emq_wrong(take->active);
    if (trouble.fault == EMQ_SOUND) trouble = emq_wrong(take->wake);
    if (trouble.fault == EMQ_SOUND) {
        take->ceiling = emq_ceiling(cmd, meta);
        take->seats = take->ceiling - emq_length(take->active);
        take->room = take->ceiling > 0 ? least(take->most, take->seats) : take->most;
    }
    if (trouble.fault == EMQ_SOUND && take->room > 0) {
        take->ring = emq_open_given(cmd, TAKE_RING, EMQ_LIST, true);
        take->pending = emq_open_given(cmd, TAKE_PENDING, EMQ_ZSET, true);
        trouble = plan(take);
    }
    return trouble;
}

static void end_stall(struct take_stall *stall) {
    if (stall->walks) RedisModule_ZsetRangeStop(stall->set->open);
    if (stall->ids != NULL) RedisModule_FreeCallReply(stall->ids);
    stall->walks = false;
    stall->ids = NULL;
}

enum take_sight take_look(struct take *take) {
    bool paused;
    struct emq_trouble trouble = look_around(take, &paused);
    for (uint32_t i = 0; i < take->met; i++) end_stall(take_stall_at(take, i));
    end_stall(&take->flat);
    if (emq_is_starved(take->cmd)) return TAKE_REFUSED;
    if (paused) return TAKE_PAUSED;
    if (trouble.fault == EMQ_SOUND) return TAKE_PLANNED;
    emq_reply_trouble(take->cmd, trouble);
    return TAKE_REFUSED;
}

bool take_may_write(struct take *take) {
    enum { ROTA_WATCH_AND_TOKENS = 16 };
    return emq_may_write(take->cmd, emq_strings_for(take->served, &take->odds) + ROTA_WATCH_AND_TOKENS);
}

bool take_park(struct take *take) {
    struct emq_trouble trouble = {EMQ_SOUND, {"", 0}, {"", 0}};
    if (take->served < take->most && !take_is_more(take)) trouble = look_parking(take);
    if (trouble.fault != EMQ_SOUND) emq_reply_trouble(take->cmd, trouble);
    return trouble.fault == EMQ_SOUND && take_may_write(take);
}

/* Only what is read before it is written: a take is large, and most of it is never touched. */
void take_begin(struct take *take, struct emq_cmd *cmd) {
    const struct emq_text none = {"", 0};
    take->cmd = cmd;
    take->most = 1;
    take->offered = 1000;
    take->block_ms = take->waited_ms = 0;
    take->has_waited = false;
    take->worth = take->watcher = none;
    take->room = take->ring_left = take->flat_left = take->damaged = 0;
    take->parking = (struct emq_parking){false, 0, false, false, 0};
    take->watch = NULL;
    take->flat.walks = false;
    take->flat.ids = NULL;
    take->met = take->served = take->leaves = 0;
    take->odds.count = take->odds.homes = 0;
    memset(take->told, 0, sizeof take->told);
    memset(take->fields, 0, sizeof take->fields);
}

void take_end(struct take *take) {
    for (uint32_t i = 0; i < take->met; i += STALL_CHUNK) RedisModule_Free(take->stalls[i / STALL_CHUNK]);
}

static void take_at_once(struct take *take) {
    enum take_sight sight = take_look(take);
    if (sight == TAKE_PAUSED) take_reply_paused(take);
    if (sight != TAKE_PLANNED || !take_park(take)) return;
    take_write(take);
    take_reply(take);
}

int emq_take(struct emq_cmd *cmd) {
    struct take take;
    take_begin(&take, cmd);
    if (!take_read(&take)) return REDISMODULE_OK;
    if (take.block_ms > 0) {
        take_or_wait(&take);
    } else {
        take_at_once(&take);
    }
    take_end(&take);
    return REDISMODULE_OK;
}
