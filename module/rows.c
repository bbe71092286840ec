/* Rows of jobs: what their fields mean. See docs/wire.md, rules 2 to 5. */
#include <string.h>

#include "emq.h"

struct emq_key *emq_row_of(struct emq_cmd *cmd, struct emq_text id) {
    return emq_open_below(cmd, "job:", id, "", EMQ_HASH, true);
}

struct emq_trouble emq_broken_row(RedisModuleString *id) {
    return (struct emq_trouble){EMQ_BROKEN_ROW, emq_text_of(id), {"", 0}};
}

bool emq_counts(const RedisModuleString *text, long long absent, long long *number) {
    *number = absent;
    if (text == NULL) return true;
    struct emq_text bytes = emq_text_of(text);
    return emq_counted(bytes.at, bytes.len, number);
}

struct emq_trouble emq_miscounted(const struct emq_key *key, enum emq_word field) {
    return (struct emq_trouble){EMQ_MISCOUNTED, key->named.name, emq_text_of(emq_words[field])};
}

bool emq_holds(const RedisModuleString *attempts, const RedisModuleString *token) {
    return emq_same(attempts, token) && !emq_says(token, "0");
}

struct emq_trouble emq_look_spent(struct emq_cmd *cmd, struct emq_key *row, const RedisModuleString *attempts,
                                  long long cap, bool *spent) {
    long long made, handed_back, own;
    RedisModuleString *own_cap = emq_hget(cmd, row, emq_words[EMQ_MAX_ATTEMPTS]);
    if (!emq_counts(attempts, 0, &made)) return emq_miscounted(row, EMQ_ATTEMPTS);
    if (!emq_counts(emq_hget(cmd, row, emq_words[EMQ_UNSPENT]), 0, &handed_back)) {
        return emq_miscounted(row, EMQ_UNSPENT);
    }
    if (!emq_counts(own_cap, 0, &own)) return emq_miscounted(row, EMQ_MAX_ATTEMPTS);
    *spent = made - handed_back >= (own_cap != NULL ? own : cap);
    return (struct emq_trouble){EMQ_SOUND, {"", 0}, {"", 0}};
}

/* The row's `claimed_at` is the module's own: other speakers may ignore it. */
void emq_lease(struct emq_cmd *cmd, struct emq_key *row, struct emq_key *active, RedisModuleString *id, long long token,
               long long lease_ms) {
    RedisModuleString *pairs[] = {emq_words[EMQ_ATTEMPTS],   emq_number(cmd, token),
                                  emq_words[EMQ_STATE],      emq_words[EMQ_ACTIVE],
                                  emq_words[EMQ_CLAIMED_AT], emq_instant(cmd, emq_now(cmd))};
    emq_hset(cmd, row, pairs, sizeof pairs / sizeof *pairs);
    emq_zadd(cmd, active, emq_now(cmd) + lease_ms, id);
}
