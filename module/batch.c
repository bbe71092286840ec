/* Batches: their arguments, what they read, and what they write for many jobs at once. See batch.h. */
#include "batch.h"

#include <stdio.h>

#include "commands.h"

bool emq_batch_count(struct emq_cmd *cmd, int before, int width, uint32_t *count) {
    *count = (uint32_t)((cmd->argc - before) / width);
    if (*count <= EMQ_BATCH_MAX) return true;
    char text[120];
    snprintf(text, sizeof text, "ERR %s takes at most %d jobs", cmd->spec->name, EMQ_BATCH_MAX);
    emq_reply_error(cmd, text);
    return false;
}

bool emq_limit(struct emq_cmd *cmd, int place, uint32_t *most) {
    long long limit = EMQ_SLICE;
    if (emq_is_given(cmd, place) && !emq_argument(cmd, place, "limit", 1, EMQ_WHOLE_MAX, &limit)) return false;
    *most = (uint32_t)(limit < EMQ_BATCH_MAX ? limit : EMQ_BATCH_MAX);
    return true;
}

struct emq_key *emq_batch_row(struct emq_cmd *cmd, int place, bool writes, bool *again) {
    uint32_t opened = cmd->keys.count;
    struct emq_key *row = emq_open_below(cmd, "job:", emq_said(cmd, place), "", EMQ_HASH, writes);
    *again = cmd->keys.count == opened;
    return row;
}

uint32_t emq_due(struct emq_cmd *cmd, struct emq_key *set, long long upto, uint32_t most, RedisModuleString **ids) {
    uint32_t count = 0;
    if (emq_length(set) == 0) return 0;
    RedisModule_ZsetFirstInScoreRange(set->open, REDISMODULE_NEGATIVE_INFINITE, (double)upto, 0, 0);
    while (count < most && !RedisModule_ZsetRangeEndReached(set->open)) {
        double score;
        ids[count++] = emq_own(cmd, RedisModule_ZsetRangeCurrentElement(set->open, &score));
        RedisModule_ZsetRangeNext(set->open);
    }
    RedisModule_ZsetRangeStop(set->open);
    return count;
}

void emq_set_aside(struct emq_cmd *cmd, struct emq_key *row, struct emq_trouble trouble) {
    RedisModuleString *pairs[] = {emq_words[EMQ_LAST_ERROR], emq_trouble_text(cmd, trouble),
                                  emq_words[EMQ_STATE],      emq_words[EMQ_DEAD],
                                  emq_words[EMQ_DIED_AT],    emq_instant(cmd, emq_now(cmd))};
    emq_hset(cmd, row, pairs, sizeof pairs / sizeof *pairs);
}

static void tell_zset(struct emq_cmd *cmd, struct emq_key *key, const char *event) {
    RedisModule_SignalModifiedKey(cmd->ctx, key->name);
    RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_ZSET, event, key->name);
}

uint32_t emq_zadd_all(struct emq_cmd *cmd, struct emq_key *key, long long score, RedisModuleString **ids,
                      uint32_t count) {
    RedisModuleString *pairs[2 * EMQ_BATCH_MAX];
    RedisModuleString *told_score = score == 0 ? emq_words[EMQ_ZERO] : NULL;
    size_t told = 0;
    uint32_t fresh = 0;
    if (key->wrong || key->open == NULL) return 0; /* as in write.c */
    for (uint32_t i = 0; i < count; i++) {
        int what = 0;
        RedisModule_ZsetAdd(key->open, (double)score, ids[i], &what);
        if (what & REDISMODULE_ZADD_NOP) continue;
        fresh += (what & REDISMODULE_ZADD_ADDED) != 0;
        if (told_score == NULL) told_score = emq_instant(cmd, score);
        pairs[told++] = told_score;
        pairs[told++] = ids[i];
    }
    if (told == 0) return 0;
    RedisModule_Replicate(cmd->ctx, "ZADD", "sv", key->name, pairs, told);
    tell_zset(cmd, key, "zadd");
    return fresh;
}

/* A lane's jobs are put side by side: `joins` is first how many there are, then where the next one goes. */
void emq_put_in_lanes(struct emq_cmd *cmd, const struct emq_joiner *jobs, uint32_t count) {
    RedisModuleString *ids[EMQ_BATCH_MAX];
    uint32_t from = 0;
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) jobs[i].lane->joins++;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = emq_bag_at(&cmd->lanes, i);
        uint32_t joins = lane->joins;
        lane->joins = from;
        from += joins;
    }
    for (uint32_t i = 0; i < count; i++) ids[jobs[i].lane->joins++] = jobs[i].id;
    from = 0;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = emq_bag_at(&cmd->lanes, i);
        if (lane->joins > from) lane->is.depth += emq_zadd_all(cmd, lane->set, 0, ids + from, lane->joins - from);
        from = lane->joins;
        lane->joins = 0;
    }
}

void emq_zrem_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **ids, uint32_t count) {
    RedisModuleString *gone[EMQ_BATCH_MAX];
    size_t told = 0;
    if (key->wrong || key->open == NULL) return;
    for (uint32_t i = 0; i < count; i++) {
        int deleted = 0;
        if (RedisModule_ZsetRem(key->open, ids[i], &deleted) == REDISMODULE_OK && deleted) gone[told++] = ids[i];
    }
    if (told == 0) return;
    RedisModule_Replicate(cmd->ctx, "ZREM", "sv", key->name, gone, told);
    tell_zset(cmd, key, "zrem");
    if (RedisModule_KeyType(key->open) == REDISMODULE_KEYTYPE_EMPTY) {
        RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_GENERIC, "del", key->name);
    }
}

void emq_delete_jobs(struct emq_cmd *cmd, struct emq_key **rows, uint32_t count) {
    RedisModuleString *gone[EMQ_BATCH_MAX];
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) {
        RedisModule_DeleteKey(rows[i]->open);
        gone[i] = rows[i]->name;
        RedisModule_SignalModifiedKey(cmd->ctx, rows[i]->name);
        RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_GENERIC, "del", rows[i]->name);
    }
    RedisModule_Replicate(cmd->ctx, "DEL", "v", gone, (size_t)count);
    for (uint32_t i = 0; i < count; i++) emq_delete_job(cmd, rows[i]); /* what hangs on it: the row is gone */
}

int emq_reply_ids(struct emq_cmd *cmd, RedisModuleString **ids, uint32_t count) {
    RedisModule_ReplyWithArray(cmd->ctx, (long)count);
    for (uint32_t i = 0; i < count; i++) RedisModule_ReplyWithString(cmd->ctx, ids[i]);
    return REDISMODULE_OK;
}
