/* EMQ.PROMOTE: make due jobs ready. The script's twin is promote.lua.
 *
 * Each job goes to its own place. Ghosts are dropped and not written to; ids with a broken row go to dead, and so does a
 * job whose lane is damaged. */
#include "batch.h"
#include "commands.h"

struct ready {
    struct emq_key *row;
    struct emq_looked *lane;
    RedisModuleString *id;
};

struct slice {
    RedisModuleString *due[EMQ_BATCH_MAX], *flat[EMQ_BATCH_MAX], *dead[EMQ_BATCH_MAX];
    struct ready ready[EMQ_BATCH_MAX], damaged[EMQ_BATCH_MAX];
    struct emq_joiner joiners[EMQ_BATCH_MAX];
    uint32_t dues, flats, joins, deads, readies, damages;
};

static void judge(struct emq_cmd *cmd, struct slice *slice, RedisModuleString *id) {
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    if (row->wrong) {
        slice->dead[slice->deads++] = id;
        return;
    }
    if (emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]) == NULL) return;
    RedisModuleString *group = emq_hget(cmd, row, emq_words[EMQ_GROUP]);
    struct ready job = {row, group != NULL ? emq_look_lane(cmd, group) : NULL, id};
    if (job.lane != NULL && job.lane->is.troubled) {
        slice->dead[slice->deads++] = id;
        slice->damaged[slice->damages++] = job;
        return;
    }
    if (job.lane == NULL) {
        slice->flat[slice->flats++] = id;
    } else {
        slice->joiners[slice->joins++] = (struct emq_joiner){job.lane, id};
    }
    slice->ready[slice->readies++] = job;
}

static void move(struct emq_cmd *cmd, struct slice *slice, struct emq_key *schedule, struct emq_key *pending) {
    RedisModuleString *pairs[] = {emq_words[EMQ_STATE], emq_words[EMQ_PENDING]};
    emq_zrem_all(cmd, schedule, slice->due, slice->dues);
    emq_zadd_all(cmd, pending, 0, slice->flat, slice->flats);
    cmd->joined_flat = slice->flats;
    emq_put_in_lanes(cmd, slice->joiners, slice->joins);
    for (uint32_t i = 0; i < slice->readies; i++) emq_hset(cmd, slice->ready[i].row, pairs, 2);
    if (slice->deads > 0) emq_zadd_all(cmd, emq_at(cmd, EMQ_AT_DEAD), 0, slice->dead, slice->deads);
    for (uint32_t i = 0; i < slice->damages; i++) {
        emq_set_aside(cmd, slice->damaged[i].row, slice->damaged[i].lane->trouble);
    }
    emq_close_lanes(cmd);
}

int emq_promote(struct emq_cmd *cmd) {
    enum { SCHEDULE, PENDING, BASE, LIMIT };
    struct slice slice;
    uint32_t most;
    slice.flats = slice.joins = slice.deads = slice.readies = slice.damages = 0;
    if (!emq_limit(cmd, LIMIT, &most)) return REDISMODULE_OK;
    struct emq_key *schedule = emq_open_given(cmd, SCHEDULE, EMQ_ZSET, true);
    if (schedule->wrong) return emq_reply_trouble(cmd, emq_wrong(schedule));
    slice.dues = emq_due(cmd, schedule, emq_now(cmd), most, slice.due);
    if (slice.dues == 0) return emq_reply_number(cmd, 0);
    for (uint32_t i = 0; i < slice.dues; i++) judge(cmd, &slice, slice.due[i]);
    struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, true);
    if (slice.flats > 0 && pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
    if (slice.deads > 0 && emq_at(cmd, EMQ_AT_DEAD)->wrong) {
        return emq_reply_trouble(cmd, emq_wrong(emq_at(cmd, EMQ_AT_DEAD)));
    }
    if (!emq_may_write(cmd, 2 * (size_t)slice.damages + 4)) return REDISMODULE_OK;

    move(cmd, &slice, schedule, pending);
    return emq_reply_number(cmd, slice.dues);
}
