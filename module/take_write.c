/* What EMQ.TAKE writes when all is planned, and its reply. See take.c. */
#include <string.h>

#include "batch.h"
#include "take.h"

RedisModuleString *take_field(struct take *take, int field) {
    static const char *const names[FIELDS] = {[FLAT] = "flat", [TURN] = "turn", [LEFT] = "left"};
    if (take->fields[field] == NULL) {
        take->fields[field] = emq_own(take->cmd, RedisModule_CreateString(NULL, names[field], strlen(names[field])));
    }
    return take->fields[field];
}

static void leave_set(struct take *take, struct take_stall *stall) {
    RedisModuleString *ids[EMQ_BATCH_MAX];
    uint32_t count = 0;
    for (uint32_t i = stall->first; i != NOBODY; i = take->leaving[i].next) {
        if (count == EMQ_BATCH_MAX) {
            emq_zrem_all(take->cmd, stall->set, ids, count);
            count = 0;
        }
        ids[count++] = take->leaving[i].id;
    }
    if (count > 0) emq_zrem_all(take->cmd, stall->set, ids, count);
}

static struct take_stall *stall_of(struct emq_stall *stall) { return stall->line.who; }

/* A single lane comes back to where it stands. */
static void turn_ring(struct take *take) {
    struct emq_rota *rota = &take->rota;
    RedisModuleString *back[EMQ_WINDOW_MAX + 1];
    if (rota->passed == 0 || (rota->length == 1 && rota->tail_count == 1)) return;
    emq_lpop(take->cmd, take->ring, rota->passed);
    for (uint32_t i = 0; i < rota->tail_count; i++) back[i] = stall_of(rota->tail[i])->group;
    emq_rpush_all(take->cmd, take->ring, back, rota->tail_count);
}

/* Sets have no functions of their own in the API, so the server's commands write them. These may take the key away, and
 * no handle may be left then that points into it. */
static void change_set(struct take *take, const char *command, RedisModuleString **members, size_t count) {
    struct emq_key *set = take->owing;
    if (count == 0) return;
    if (set->open != NULL) RedisModule_CloseKey(set->open);
    RedisModuleCallReply *reply = RedisModule_Call(take->cmd->ctx, command, "!sv", set->name, members, count);
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    set->open = RedisModule_OpenKey(take->cmd->ctx, set->name, REDISMODULE_READ);
}

/* Who owes its next place to a fresh job: each whose answer is not what it was. The flat set comes last. */
static void keep_owing(struct take *take) {
    RedisModuleString *owing[EMQ_WINDOW_MAX + 1], *free[EMQ_WINDOW_MAX + 1];
    size_t owe = 0, owe_not = 0;
    for (uint32_t i = 0; i <= take->met; i++) {
        struct take_stall *stall = i < take->met ? take_stall_at(take, i) : &take->flat;
        bool owes = stall->is.line.owes && stall->is.lane->depth > 0;
        if (owes == stall->owed || stall->is.lane->troubled) continue;
        RedisModuleString *name = stall->group != NULL ? stall->group : emq_words[EMQ_EMPTY];
        if (owes) {
            owing[owe++] = name;
        } else {
            free[owe_not++] = name;
        }
    }
    change_set(take, "SADD", owing, owe);
    change_set(take, "SREM", free, owe_not);
}

/* Where the rota stands, as far as the ring does not say it. The place of the flat set is kept while jobs wait there, also
 * when the ring is empty: a lane that enters then stands behind it. A queue without lanes has none. */
static void keep_rota(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    struct emq_rota *rota = &take->rota;
    struct emq_stall *cut = rota->unfinished;
    bool has_place = take->flat_lane.depth > 0 && (rota->length > 0 || take->told[FLAT] != NULL);
    RedisModuleString *says[FIELDS] = {
        [FLAT] = has_place ? emq_number(cmd, rota->ahead) : NULL,
        [TURN] = cut != NULL ? stall_of(cut)->group : NULL,
        [LEFT] = cut != NULL ? emq_number(cmd, rota->share) : NULL,
    };
    for (int field = 0; field < FIELDS; field++) {
        if (says[field] != NULL && !emq_same(says[field], take->told[field])) {
            RedisModuleString *pair[] = {take_field(take, field), says[field]};
            emq_hset(cmd, take->kept, pair, 2);
        } else if (says[field] == NULL && take->told[field] != NULL) {
            emq_hdel(cmd, take->kept, take_field(take, field));
        }
    }
}

static void write_jobs(struct take *take) {
    struct emq_cmd *cmd = take->cmd;
    /* Some servers end the transaction of a caller that waits with each command of the server's: then here, and not between
     * a job's leaving its lane and its lease. */
    keep_owing(take);
    for (uint32_t i = 0; i < take->met; i++) leave_set(take, take_stall_at(take, i));
    leave_set(take, &take->flat);
    turn_ring(take);
    keep_rota(take);
    emq_lease_all(cmd, take->active, take->jobs, take->served, take->lease_ms);
    emq_send_off(cmd, &take->odds);
    emq_close_lanes(cmd);
    /* What goes home may have been served to nobody yet: then there is more than was planned. */
    if (take->odds.homes > 0) {
        take->ring_left = emq_length(take->ring);
        take->flat_left = emq_length(take->pending);
    }
}

/* How many jobs are known to be left: one for each entry of the ring, and what lanes that had a turn could serve on. */
static long long known_left(const struct take *take) {
    long long left = take->flat_left + take->ring_left;
    for (uint32_t i = 0; i < take->met; i++) {
        const struct emq_stall *stall = &take_stall_at(take, i)->is;
        if (stall->served > 0 && emq_serviceable(stall->lane)) left += emq_servable(stall->lane) - 1;
    }
    return left;
}

/* Two tokens: two woken workers that do the same wake four, so that a flood needs no list as long as itself. A token that
 * lies there says that nobody is parked; but not while the server goes from one who waits to the next, and has not come
 * yet to those for whom it lies there. */
static void hand_on(struct take *take) {
    long long most = take->has_waited ? EMQ_WAKES_MAX - 2 : 0;
    if (take->worth.len == 0 || emq_length(take->wake) > most) return;
    long long rest = emq_hand_on(take->worth, take->served, known_left(take)), lesser = rest / 2;
    if (rest > 0) emq_lpush(take->cmd, take->wake, emq_number(take->cmd, rest - lesser));
    if (lesser > 0) emq_lpush(take->cmd, take->wake, emq_number(take->cmd, lesser));
}

static void write_watch(struct take *take) {
    enum { GRACE_MS = 1000 };
    struct emq_cmd *cmd = take->cmd;
    struct emq_text until = emq_text_of(emq_number(cmd, take->parking.until_ms)), parts[] = {take->watcher, until};
    RedisModuleString *text = emq_join(cmd, parts, 2, " ", 1);
    RedisModule_StringSet(take->watch->open, text);
    RedisModule_SetAbsExpire(take->watch->open, take->parking.until_ms + GRACE_MS);
    RedisModule_Replicate(cmd->ctx, "SET", "sscl", take->watch->name, text, "PXAT", take->parking.until_ms + GRACE_MS);
    RedisModule_SignalModifiedKey(cmd->ctx, take->watch->name);
    RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_STRING, "set", take->watch->name);
    RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_GENERIC, "expire", take->watch->name);
}

int take_reply(struct take *take) {
    RedisModuleCtx *ctx = take->cmd->ctx;
    bool more = take_is_more(take);
    const char *word = take->room <= 0 ? "full" : take->served > 0 ? "taken" : "empty";
    RedisModule_ReplyWithArray(ctx, take->block_ms > 0 ? 7 : 6);
    RedisModule_ReplyWithStringBuffer(ctx, word, strlen(word));
    RedisModule_ReplyWithLongLong(ctx, more);
    RedisModule_ReplyWithLongLong(ctx, more ? 0 : take->parking.due);
    RedisModule_ReplyWithLongLong(ctx, more ? 0 : take->parking.wait_ms);
    emq_tell_broken(take->cmd, &take->odds);
    RedisModule_ReplyWithArray(ctx, (long)take->served);
    for (uint32_t i = 0; i < take->served; i++) emq_tell_ready(take->cmd, &take->jobs[i], true);
    if (take->block_ms > 0) RedisModule_ReplyWithLongLong(ctx, take->waited_ms);
    return REDISMODULE_OK;
}

int take_reply_paused(struct take *take) {
    if (take->block_ms == 0) return emq_reply_word(take->cmd, "paused");
    RedisModule_ReplyWithArray(take->cmd->ctx, 2);
    RedisModule_ReplyWithStringBuffer(take->cmd->ctx, "paused", strlen("paused"));
    return RedisModule_ReplyWithLongLong(take->cmd->ctx, take->waited_ms);
}

void take_write(struct take *take) {
    if (take->room > 0) write_jobs(take);
    if (take_is_more(take)) {
        hand_on(take);
    } else {
        emq_delete(take->cmd, take->wake);
        if (take->parking.watches) write_watch(take);
    }
}
