/* EMQ.REAP: jobs whose lease lapsed become ready again, or die at their cap. The script's twins are reap.lua and
 * shared/take_back.lua.
 *
 * Only what has no attempt left dies: a job that kills its workers ends at its cap. Ghosts are dropped and not written
 * to. Ids with a broken row go to dead, and so does a job whose numbers, lane or parent are damaged; its group's count is
 * lowered all the same, when that is sound. */
#include <limits.h>

#include "batch.h"
#include "commands.h"

struct lapsed {
    struct emq_key *row;
    RedisModuleString *id, *attempts;
    struct emq_looked *lane;
    struct emq_trouble trouble;
    struct emq_parent *parent; /* NULL: none, or it does not die */
    bool dies, ignored;
};

struct reaping {
    RedisModuleString *leaving[EMQ_BATCH_MAX], *recovered[EMQ_BATCH_MAX], *dead[EMQ_BATCH_MAX], *ghosts[EMQ_BATCH_MAX];
    RedisModuleString *flat[EMQ_BATCH_MAX];
    struct emq_joiner joiners[EMQ_BATCH_MAX];
    struct lapsed jobs[EMQ_BATCH_MAX];
    struct emq_parent parents[EMQ_BATCH_MAX];
    uint32_t leaves, recoveries, deads, ghostly, count, over, flats, joins;
    long long cap;
};

static void judge_job(struct emq_cmd *cmd, struct reaping *reaping, struct lapsed *job) {
    bool spent = false;
    job->trouble = emq_look_spent(cmd, job->row, job->attempts, reaping->cap, &spent);
    RedisModuleString *group = emq_hget(cmd, job->row, emq_words[EMQ_GROUP]);
    job->lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    if (job->lane != NULL && job->trouble.fault == EMQ_SOUND) job->trouble = job->lane->trouble;
    if (spent && job->trouble.fault == EMQ_SOUND) {
        RedisModuleString *over = emq_hget(cmd, job->row, emq_words[EMQ_PARENT]);
        if (over != NULL) {
            RedisModuleString *queue = emq_hget(cmd, job->row, emq_words[EMQ_PARENT_QUEUE]);
            job->ignored = emq_says(emq_hget(cmd, job->row, emq_words[EMQ_PARENT_POLICY]), "id");
            job->parent = &reaping->parents[reaping->over++];
            job->trouble = emq_look_parent(cmd, over, queue, job->parent);
        }
    }
    job->dies = spent || job->trouble.fault != EMQ_SOUND;
}

static void judge(struct emq_cmd *cmd, struct reaping *reaping, RedisModuleString *id) {
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    if (row->wrong) {
        reaping->dead[reaping->deads++] = id;
        return;
    }
    RedisModuleString *attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (attempts == NULL) {
        reaping->ghosts[reaping->ghostly++] = id;
        return;
    }
    struct lapsed *job = &reaping->jobs[reaping->count++];
    *job = (struct lapsed){.row = row, .id = id, .attempts = attempts};
    judge_job(cmd, reaping, job);
    if (job->dies) {
        reaping->dead[reaping->deads++] = id;
    } else {
        reaping->recovered[reaping->recoveries++] = id;
        if (job->lane == NULL) {
            reaping->flat[reaping->flats++] = id;
        } else {
            reaping->joiners[reaping->joins++] = (struct emq_joiner){job->lane, id};
        }
    }
}

static void bury(struct emq_cmd *cmd, struct lapsed *job) {
    struct emq_text parts[] = {emq_literal("lease lapsed on attempt "), emq_text_of(job->attempts),
                               emq_literal(", and no attempt is left")};
    RedisModuleString *reason = emq_join(cmd, parts, 3, "", 0);
    RedisModuleString *pairs[] = {emq_words[EMQ_LAST_ERROR], reason,
                                  emq_words[EMQ_STATE],      emq_words[EMQ_DEAD],
                                  emq_words[EMQ_DIED_AT],    emq_instant(cmd, emq_now(cmd))};
    emq_hset(cmd, job->row, pairs, sizeof pairs / sizeof *pairs);
    if (job->parent != NULL) emq_child_died(cmd, job->parent, job->id, job->ignored, reason);
}

static void put_all_back(struct emq_cmd *cmd, struct reaping *reaping) {
    RedisModuleString *pairs[] = {emq_words[EMQ_STATE], emq_words[EMQ_PENDING]};
    if (reaping->flats > 0) emq_zadd_all(cmd, emq_at(cmd, EMQ_AT_PENDING), 0, reaping->flat, reaping->flats);
    cmd->joined_flat = reaping->flats;
    emq_put_in_lanes(cmd, reaping->joiners, reaping->joins);
    for (uint32_t i = 0; i < reaping->count; i++) {
        if (!reaping->jobs[i].dies) emq_hset(cmd, reaping->jobs[i].row, pairs, 2);
    }
}

/* Returns how many deaths count. */
static long long move(struct emq_cmd *cmd, struct reaping *reaping, struct emq_key *active) {
    long long deaths = 0;
    emq_zrem_all(cmd, active, reaping->leaving, reaping->leaves);
    if (reaping->deads > 0) emq_zadd_all(cmd, emq_at(cmd, EMQ_AT_DEAD), 0, reaping->dead, reaping->deads);
    bool at_once = reaping->over == 0; /* else a parent that a death moves may be one of these: each in its turn */
    if (at_once) put_all_back(cmd, reaping);
    for (uint32_t i = 0; i < reaping->count; i++) {
        struct lapsed *job = &reaping->jobs[i];
        if (job->lane != NULL) emq_fly(&job->lane->is, -1);
        if (job->trouble.fault != EMQ_SOUND) {
            emq_set_aside(cmd, job->row, job->trouble);
        } else if (job->dies) {
            bury(cmd, job);
            deaths++;
        } else if (!at_once) {
            emq_make_ready(cmd, job->row, job->id, job->lane);
        }
    }
    cmd->ended = reaping->leaves;
    return deaths;
}

static int answer(struct emq_cmd *cmd, struct reaping *reaping, bool by_name) {
    if (!by_name) return emq_reply_number(cmd, reaping->leaves);
    RedisModule_ReplyWithArray(cmd->ctx, 5);
    RedisModule_ReplyWithStringBuffer(cmd->ctx, "reaped", 6);
    emq_reply_number(cmd, reaping->leaves);
    emq_reply_ids(cmd, reaping->recovered, reaping->recoveries);
    emq_reply_ids(cmd, reaping->dead, reaping->deads);
    return emq_reply_ids(cmd, reaping->ghosts, reaping->ghostly);
}

int emq_reap(struct emq_cmd *cmd) {
    enum { ACTIVE, PENDING, BASE, LIMIT, CAP, NAMING };
    struct reaping reaping;
    struct emq_trouble uncounted = {EMQ_SOUND, {"", 0}, {"", 0}};
    long long counted = 0;
    uint32_t most;
    reaping.recoveries = reaping.deads = reaping.ghostly = reaping.count = reaping.over = reaping.flats = reaping.joins = 0;
    reaping.cap = LLONG_MAX; /* as many attempts as it needs */
    if (!emq_limit(cmd, LIMIT, &most)) return REDISMODULE_OK;
    if (emq_is_given(cmd, CAP) && !emq_argument(cmd, CAP, "max_attempts", 0, EMQ_WHOLE_MAX, &reaping.cap)) {
        return REDISMODULE_OK;
    }
    struct emq_key *active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    reaping.leaves = emq_due(cmd, active, emq_now(cmd), most, reaping.leaving);
    for (uint32_t i = 0; i < reaping.leaves; i++) judge(cmd, &reaping, reaping.leaving[i]);
    if (reaping.flats > 0 && emq_at(cmd, EMQ_AT_PENDING)->wrong) {
        return emq_reply_trouble(cmd, emq_wrong(emq_at(cmd, EMQ_AT_PENDING)));
    }
    if (reaping.deads > 0) {
        if (emq_at(cmd, EMQ_AT_DEAD)->wrong) return emq_reply_trouble(cmd, emq_wrong(emq_at(cmd, EMQ_AT_DEAD)));
        uncounted = emq_look_counter(cmd, emq_at(cmd, EMQ_AT_FAILED), emq_words[EMQ_COUNT], &counted);
    }
    emq_look_ceiling(cmd, active); /* whether its wake-ups can be written stops no batch */
    if (!emq_may_write(cmd, 12 * (size_t)reaping.deads + 8)) return REDISMODULE_OK;

    long long deaths = move(cmd, &reaping, active);
    if (deaths > 0 && uncounted.fault == EMQ_SOUND) {
        emq_hincr(cmd, emq_at(cmd, EMQ_AT_FAILED), emq_words[EMQ_COUNT], counted, deaths);
    }
    emq_close_lanes(cmd);
    return answer(cmd, &reaping, cmd->argc > NAMING && emq_says(cmd->argv[NAMING], "ids"));
}
