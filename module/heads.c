/* See heads.h. */
#include "heads.h"

#include "batch.h"

enum emq_head emq_judge_head(struct emq_cmd *cmd, RedisModuleString *id, RedisModuleString *group,
                             struct emq_ready *job, struct emq_odds *odds) {
    struct emq_key *row = emq_row_of(cmd, emq_text_of(id));
    RedisModuleString *attempts = NULL, *payload = NULL, *home = NULL, *unspent = NULL;
    long long made, handed_back;
    if (!row->wrong && row->open != NULL) {
        RedisModule_HashGet(row->open, REDISMODULE_HASH_NONE, emq_words[EMQ_ATTEMPTS], &attempts,
                            emq_words[EMQ_PAYLOAD], &payload, emq_words[EMQ_GROUP], &home, emq_words[EMQ_UNSPENT],
                            &unspent, NULL);
        attempts = emq_own(cmd, attempts);
        payload = emq_own(cmd, payload);
        home = emq_own(cmd, home);
        unspent = emq_own(cmd, unspent);
    }
    if (attempts == NULL && !row->wrong) return EMQ_HEAD_NONE;
    bool is_misplaced = !row->wrong && !emq_same(home, group);
    if (!row->wrong && !is_misplaced && emq_counts(attempts, 0, &made)) {
        *job = (struct emq_ready){row, id, payload, group != NULL ? group : emq_words[EMQ_EMPTY], made};
        if (!emq_counts(unspent, 0, &handed_back)) handed_back = 0;
        return made <= handed_back ? EMQ_HEAD_FRESH : EMQ_HEAD_TRIED;
    }
    if (odds->count < EMQ_ROWS_MAX) {
        odds->at[odds->count++] =
            (struct emq_odd){.row = row->wrong ? NULL : row, .id = id, .group = home, .is_misplaced = is_misplaced};
    }
    return EMQ_HEAD_NONE;
}

struct emq_trouble emq_sort_out(struct emq_cmd *cmd, struct emq_odds *odds) {
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    for (uint32_t i = 0; i < odds->count; i++) {
        struct emq_odd *odd = &odds->at[i];
        if (odd->is_misplaced) {
            odd->trouble = emq_look_place(cmd, odd->group, &odd->home);
            if (odd->trouble.fault != EMQ_SOUND && odd->group == NULL) return odd->trouble;
        } else if (odd->row != NULL) {
            odd->trouble = emq_miscounted(odd->row, EMQ_ATTEMPTS);
        }
        odd->goes_home = odd->is_misplaced && odd->trouble.fault == EMQ_SOUND;
        odds->homes += odd->goes_home;
    }
    return odds->homes == odds->count ? sound : emq_wrong(emq_at(cmd, EMQ_AT_DEAD));
}

size_t emq_strings_for(uint32_t served, const struct emq_odds *odds) { return (size_t)served + 2 * odds->count + 8; }

void emq_send_off(struct emq_cmd *cmd, struct emq_odds *odds) {
    for (uint32_t i = 0; i < odds->count; i++) {
        struct emq_odd *odd = &odds->at[i];
        if (odd->goes_home) continue;
        emq_zadd(cmd, emq_at(cmd, EMQ_AT_DEAD), 0, odd->id);
        if (odd->trouble.fault != EMQ_SOUND) emq_set_aside(cmd, odd->row, odd->trouble);
    }
    for (uint32_t i = 0; i < odds->count; i++) {
        struct emq_odd *odd = &odds->at[i];
        if (odd->goes_home) emq_make_ready(cmd, odd->row, odd->id, odd->home);
    }
}

/* The row's `claimed_at` is the module's own: other speakers may ignore it. */
static void lease_row(struct emq_cmd *cmd, struct emq_key *row, RedisModuleString *token, RedisModuleString *claimed) {
    RedisModuleString *state = emq_words[EMQ_STATE], *active = emq_words[EMQ_ACTIVE];
    RedisModule_HashSet(row->open, REDISMODULE_HASH_NONE, emq_words[EMQ_ATTEMPTS], token, state, active,
                        emq_words[EMQ_CLAIMED_AT], claimed, NULL);
    RedisModule_Replicate(cmd->ctx, "HSET", "sssssss", row->name, emq_words[EMQ_ATTEMPTS], token, state, active,
                          emq_words[EMQ_CLAIMED_AT], claimed);
    RedisModule_SignalModifiedKey(cmd->ctx, row->name);
    RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_HASH, "hset", row->name);
}

void emq_lease_all(struct emq_cmd *cmd, struct emq_key *active, struct emq_ready *jobs, uint32_t count,
                   long long lease_ms) {
    if (count == 0) return;
    RedisModuleString *ids[EMQ_WALK_MAX], *claimed = emq_instant(cmd, emq_now(cmd)), *token = emq_words[EMQ_ONE];
    long long told = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (jobs[i].made + 1 != told) {
            told = jobs[i].made + 1;
            token = emq_number(cmd, told);
        }
        lease_row(cmd, jobs[i].row, token, claimed);
        ids[i] = jobs[i].id;
    }
    emq_zadd_all(cmd, active, emq_now(cmd) + lease_ms, ids, count);
}

long long emq_ceiling(struct emq_cmd *cmd, struct emq_key *meta) {
    long long most;
    RedisModuleString *text = emq_hget(cmd, meta, emq_words[EMQ_CONCURRENCY]);
    return text != NULL && emq_counts(text, 0, &most) && most >= 1 ? most : 0;
}

void emq_tell_broken(struct emq_cmd *cmd, const struct emq_odds *odds) {
    RedisModule_ReplyWithArray(cmd->ctx, (long)(odds->count - odds->homes));
    for (uint32_t i = 0; i < odds->count; i++) {
        if (!odds->at[i].goes_home) RedisModule_ReplyWithString(cmd->ctx, odds->at[i].id);
    }
}

void emq_tell_ready(struct emq_cmd *cmd, const struct emq_ready *job, bool names_lane) {
    RedisModule_ReplyWithArray(cmd->ctx, names_lane ? 4 : 3);
    RedisModule_ReplyWithString(cmd->ctx, job->id);
    if (job->payload != NULL) {
        RedisModule_ReplyWithString(cmd->ctx, job->payload);
    } else {
        RedisModule_ReplyWithNull(cmd->ctx);
    }
    RedisModule_ReplyWithLongLong(cmd->ctx, job->made + 1);
    if (names_lane) RedisModule_ReplyWithString(cmd->ctx, job->name);
}
