/* EMQ.COMPLETE_MANY: many holders' completions in one step. The script's twin is complete_many.lua.
 *
 * Each is judged on its own: what is damaged stops its own job only, and a counter that is damaged is not raised. All rows
 * are opened before the first job is judged, so an id that comes twice is told from one that is another's parent. */
#include "batch.h"
#include "commands.h"

enum { ACTIVE, BASE, JOBS, TOKEN = 1, KEEP, RESULT, WIDTH };

enum answer { COMPLETED, GONE, STALE, BROKEN };

struct ending {
    struct emq_key *row, *kept; /* kept NULL: no result is kept */
    struct emq_looked *lane;
    RedisModuleString **job, *attempts;
    struct emq_parent *parent; /* NULL: it has none */
    long long keep_ms;
    bool again, leased;
    enum answer answer;
};

struct batch {
    struct ending all[EMQ_BATCH_MAX];
    struct emq_parent parents[EMQ_BATCH_MAX];
    RedisModuleString *leases[EMQ_BATCH_MAX];
    struct emq_key *rows[EMQ_BATCH_MAX]; /* of the completed */
    uint32_t count, over, leased, completed;
    struct emq_key *active;
};

static bool was_completed(const struct batch *batch, uint32_t place) {
    const struct emq_key *row = batch->all[place].row;
    if (!batch->all[place].again) return false;
    for (uint32_t i = 0; i < place; i++) {
        if (batch->all[i].row == row && batch->all[i].answer == COMPLETED) return true;
    }
    return false;
}

static bool is_ready(struct emq_cmd *cmd, const struct ending *ending) {
    double score;
    return emq_zscore(ending->lane != NULL ? ending->lane->set : emq_at(cmd, EMQ_AT_PENDING), *ending->job, &score);
}

static enum answer judge(struct emq_cmd *cmd, struct batch *batch, uint32_t place) {
    struct ending *ending = &batch->all[place];
    struct emq_key *row = ending->row;
    double score;
    if (row->wrong) return BROKEN;
    ending->attempts = emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]);
    if (ending->attempts == NULL || was_completed(batch, place)) return GONE;
    if (!emq_holds(ending->attempts, ending->job[TOKEN])) return STALE;
    RedisModuleString *group = emq_hget(cmd, row, emq_words[EMQ_GROUP]);
    ending->lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    if (ending->lane != NULL && ending->lane->is.troubled) return BROKEN;
    ending->leased = emq_zscore(batch->active, *ending->job, &score);
    if (!ending->leased && !is_ready(cmd, ending)) return STALE;
    RedisModuleString *over = emq_hget(cmd, row, emq_words[EMQ_PARENT]);
    if (over == NULL) return COMPLETED;
    ending->parent = &batch->parents[batch->over++];
    RedisModuleString *queue = emq_hget(cmd, row, emq_words[EMQ_PARENT_QUEUE]);
    return emq_look_parent(cmd, over, queue, ending->parent).fault == EMQ_SOUND ? COMPLETED : BROKEN;
}

static void leave(struct emq_cmd *cmd, struct ending *ending) {
    if (ending->leased) {
        if (ending->lane != NULL) emq_fly(&ending->lane->is, -1);
    } else if (ending->lane != NULL) {
        emq_take_from_lane(cmd, ending->lane, *ending->job);
    } else {
        emq_zrem(cmd, emq_at(cmd, EMQ_AT_PENDING), *ending->job);
    }
}

static void tell(struct emq_cmd *cmd, struct ending *ending) {
    RedisModuleString *id = *ending->job, *result = ending->job[RESULT];
    if (ending->parent != NULL) {
        emq_child_completed(cmd, ending->parent, id, emq_text_of(result).len > 0 ? result : id);
    }
    if (ending->kept != NULL) emq_keep_result(cmd, ending->kept, ending->attempts, result, ending->keep_ms);
}

static void retire(struct emq_cmd *cmd, struct batch *batch) {
    emq_zrem_all(cmd, batch->active, batch->leases, batch->leased);
    cmd->ended = batch->leased;
    emq_delete_jobs(cmd, batch->rows, batch->completed);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->all[i].answer == COMPLETED) leave(cmd, &batch->all[i]);
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->all[i].answer == COMPLETED) tell(cmd, &batch->all[i]);
    }
}

/* False: the answer was given. */
static bool look(struct emq_cmd *cmd, struct batch *batch) {
    for (uint32_t place = 0; place < batch->count; place++) {
        struct ending *ending = &batch->all[place];
        *ending = (struct ending){.job = cmd->argv + JOBS + (size_t)place * WIDTH};
        ending->row = emq_batch_row(cmd, JOBS + (int)place * WIDTH, true, &ending->again);
    }
    for (uint32_t place = 0; place < batch->count; place++) {
        struct ending *ending = &batch->all[place];
        int at = JOBS + (int)place * WIDTH + KEEP;
        if (emq_is_given(cmd, at) && !emq_argument(cmd, at, "result_ttl_ms", 0, EMQ_WHOLE_MAX, &ending->keep_ms)) {
            return false;
        }
        ending->answer = judge(cmd, batch, place);
        if (ending->answer == COMPLETED && ending->keep_ms > 0) {
            ending->kept = emq_open_result(cmd, ending->row);
            if (ending->kept->open == NULL) ending->answer = BROKEN; /* the command has that key as something else */
        }
        if (ending->answer != COMPLETED) continue;
        batch->rows[batch->completed++] = ending->row;
        if (ending->leased) batch->leases[batch->leased++] = *ending->job;
    }
    return true;
}

static int answer(struct emq_cmd *cmd, const struct batch *batch) {
    static const struct emq_text words[] = {
        [COMPLETED] = {"completed", 9}, [GONE] = {"gone", 4}, [STALE] = {"stale", 5}, [BROKEN] = {"broken", 6}};
    RedisModule_ReplyWithArray(cmd->ctx, (long)batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct emq_text word = words[batch->all[i].answer];
        RedisModule_ReplyWithStringBuffer(cmd->ctx, word.at, word.len);
    }
    return REDISMODULE_OK;
}

int emq_complete_many(struct emq_cmd *cmd) {
    struct batch batch;
    long long counted;
    batch.over = batch.leased = batch.completed = 0;
    if (!emq_batch_count(cmd, JOBS, WIDTH, &batch.count)) return REDISMODULE_OK;
    struct emq_key *active = batch.active = emq_open_given(cmd, ACTIVE, EMQ_ZSET, true);
    struct emq_key *metrics = emq_at(cmd, EMQ_AT_COMPLETED), *pending = emq_at(cmd, EMQ_AT_PENDING);
    struct emq_trouble uncounted = emq_look_counter(cmd, metrics, emq_words[EMQ_COUNT], &counted);
    if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
    /* Whether the wake-ups of a ceiling can be written stops no batch; leases that cannot be read do. */
    struct emq_trouble ceiling = emq_look_ceiling(cmd, active);
    if (active->wrong && (batch.count > 0 || ceiling.fault != EMQ_SOUND)) return emq_reply_trouble(cmd, emq_wrong(active));
    if (!look(cmd, &batch)) return REDISMODULE_OK;
    if (!emq_may_write(cmd, 8 * (size_t)batch.over + 2 * (size_t)batch.completed + 8)) return REDISMODULE_OK;
    if (batch.completed == 0) return answer(cmd, &batch);

    retire(cmd, &batch);
    if (uncounted.fault == EMQ_SOUND) emq_hincr(cmd, metrics, emq_words[EMQ_COUNT], counted, batch.completed);
    emq_close_lanes(cmd);
    return answer(cmd, &batch);
}
