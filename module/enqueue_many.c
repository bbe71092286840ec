/* EMQ.ENQUEUE_MANY: admit many jobs that are ready to run, all in one step. The script's twin is enqueue_many.lua.
 *
 * One id of another kind, one broken row and one damaged lane refuse them all. */
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "commands.h"

enum { PENDING, BASE, JOBS, PAYLOAD = 1, CAP, GROUP, WIDTH };

struct newcomer {
    struct emq_key *row;
    struct emq_looked *lane;
    RedisModuleString **job;
};

struct admission {
    struct newcomer fresh[EMQ_BATCH_MAX];
    RedisModuleString *flat[EMQ_BATCH_MAX];
    struct emq_joiner joiners[EMQ_BATCH_MAX];
    bool answers[EMQ_BATCH_MAX];
    uint32_t count, news, flats, joins;
};

static void reply_kind(struct emq_cmd *cmd, struct emq_text id) {
    char text[256];
    int told = (int)(id.len < 160 ? id.len : 160);
    snprintf(text, sizeof text, "EMQKIND %.*s is no job id", told, id.at);
    emq_reply_error(cmd, text);
}

/* False: the answer was given. */
static bool judge(struct emq_cmd *cmd, struct admission *all, uint32_t place) {
    int at = JOBS + (int)place * WIDTH;
    RedisModuleString **job = cmd->argv + at;
    struct emq_text id = emq_said(cmd, at);
    long long cap;
    bool again;
    if (id.len < 3 || memcmp(id.at, "JOB", 3) != 0) {
        reply_kind(cmd, id);
        return false;
    }
    if (emq_is_given(cmd, at + CAP) && !emq_argument(cmd, at + CAP, "max_attempts", 1, EMQ_CAP_MAX, &cap)) return false;
    struct emq_key *row = emq_batch_row(cmd, at, true, &again);
    if (row->wrong) {
        emq_reply_trouble(cmd, emq_broken_row(*job));
        return false;
    }
    /* Only jobs of this batch have had their rows opened. */
    all->answers[place] = !again && (emq_is_absent(row) || emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]) == NULL);
    if (!all->answers[place]) return true;
    struct newcomer newcomer = {row, emq_is_given(cmd, at + GROUP) ? emq_look_lane(cmd, job[GROUP]) : NULL, job};
    if (newcomer.lane != NULL && newcomer.lane->is.troubled) {
        emq_reply_trouble(cmd, newcomer.lane->trouble);
        return false;
    }
    if (newcomer.lane == NULL) {
        all->flat[all->flats++] = *job;
    } else {
        all->joiners[all->joins++] = (struct emq_joiner){newcomer.lane, *job};
    }
    all->fresh[all->news++] = newcomer;
    return true;
}

static void admit(struct emq_cmd *cmd, struct newcomer *newcomer) {
    /* The payload first: a long one makes the server choose the row's other form, which is cheapest while it is empty. */
    RedisModuleString **job = newcomer->job;
    RedisModuleString *pairs[10] = {emq_words[EMQ_PAYLOAD],  job[PAYLOAD],
                                    emq_words[EMQ_STATE],    emq_words[EMQ_PENDING],
                                    emq_words[EMQ_ATTEMPTS], emq_words[EMQ_ZERO]};
    size_t count = 6;
    if (newcomer->lane != NULL) {
        pairs[count++] = emq_words[EMQ_GROUP];
        pairs[count++] = job[GROUP];
    }
    if (emq_text_of(job[CAP]).len > 0) {
        pairs[count++] = emq_words[EMQ_MAX_ATTEMPTS];
        pairs[count++] = job[CAP];
    }
    emq_delete(cmd, newcomer->row); /* a skeleton */
    emq_hset(cmd, newcomer->row, pairs, count);
}

int emq_enqueue_many(struct emq_cmd *cmd) {
    struct admission all;
    all.news = all.flats = all.joins = 0;
    if (!emq_batch_count(cmd, JOBS, WIDTH, &all.count)) return REDISMODULE_OK;
    for (uint32_t place = 0; place < all.count; place++) {
        if (!judge(cmd, &all, place)) return REDISMODULE_OK;
    }
    struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, true);
    if (all.flats > 0) {
        if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
        struct emq_key *wake = emq_at(cmd, EMQ_AT_WAKE);
        if (wake->wrong) return emq_reply_trouble(cmd, emq_wrong(wake));
    }
    if (!emq_may_write(cmd, 4)) return REDISMODULE_OK;

    emq_zadd_all(cmd, pending, 0, all.flat, all.flats);
    cmd->joined_flat = all.flats;
    emq_put_in_lanes(cmd, all.joiners, all.joins);
    for (uint32_t i = 0; i < all.news; i++) admit(cmd, &all.fresh[i]);
    emq_close_lanes(cmd);
    RedisModule_ReplyWithArray(cmd->ctx, (long)all.count);
    for (uint32_t place = 0; place < all.count; place++) emq_reply_number(cmd, all.answers[place]);
    return REDISMODULE_OK;
}
