/* Flow parents: what telling one needs, and telling it, once. The script's twins are shared/look_parent.lua,
 * child_completed.lua, child_died.lua and child_settled.lua (docs/wire.md, rule 9). */
#include <string.h>

#include "emq.h"

static struct emq_text own_queue(const struct emq_cmd *cmd) {
    /* The base is `emq:{name}:`. */
    return (struct emq_text){cmd->base.at + 5, cmd->base.len - 7};
}

static bool is_own(const struct emq_cmd *cmd, const RedisModuleString *queue) {
    struct emq_text own = own_queue(cmd), told = emq_text_of(queue);
    return own.len == told.len && memcmp(own.at, told.at, own.len) == 0;
}

/* The number that the parent's `:dependencies` is; 0 when it is absent. False: it is none. */
static bool outstanding(struct emq_key *key, long long *number) {
    *number = 0;
    if (emq_is_absent(key)) return true;
    size_t len = 0;
    const char *text = RedisModule_StringDMA(key->open, &len, REDISMODULE_READ);
    return text != NULL && emq_counted(text, len, number);
}

static struct emq_trouble trouble_of(struct emq_cmd *cmd, struct emq_parent *found) {
    long long number;
    const struct emq_key *keys[] = {found->processed, found->failed, found->unsuccessful, found->dependencies};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i]->wrong) return emq_wrong(keys[i]);
    }
    if (!outstanding(found->dependencies, &number)) {
        return (struct emq_trouble){EMQ_NO_NUMBER, found->dependencies->named.name, {"", 0}};
    }
    const enum emq_place places[] = {EMQ_AT_PENDING, EMQ_AT_DEAD, EMQ_AT_OUTBOX};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (emq_at(cmd, places[i])->wrong) return emq_wrong(emq_at(cmd, places[i]));
    }
    return found->lane != NULL ? found->lane->trouble : emq_wrong(found->row);
}

struct emq_trouble emq_look_parent(struct emq_cmd *cmd, RedisModuleString *parent, RedisModuleString *queue,
                                   struct emq_parent *found) {
    memset(found, 0, sizeof *found);
    struct emq_trouble sound = {EMQ_SOUND, {"", 0}, {"", 0}};
    if (queue != NULL && !is_own(cmd, queue)) {
        *found = (struct emq_parent){.exists = true, .id = parent, .queue = queue};
        return emq_wrong(emq_at(cmd, EMQ_AT_OUTBOX));
    }
    struct emq_text id = emq_text_of(parent);
    struct emq_key *row = emq_row_of(cmd, id);
    /* A row that is gone, a skeleton or broken is no parent and is not written to. */
    if (row->wrong || emq_hget(cmd, row, emq_words[EMQ_ATTEMPTS]) == NULL) return sound;
    RedisModuleString *group = emq_hget(cmd, row, emq_words[EMQ_GROUP]);
    found->exists = true;
    found->id = parent;
    found->row = row;
    found->lane = group != NULL ? emq_look_lane(cmd, group) : NULL;
    found->parent = emq_hget(cmd, row, emq_words[EMQ_PARENT]);
    found->parent_queue = emq_hget(cmd, row, emq_words[EMQ_PARENT_QUEUE]);
    found->ignores = emq_says(emq_hget(cmd, row, emq_words[EMQ_PARENT_POLICY]), "id");
    found->processed = emq_open_below(cmd, "job:", id, ":processed", EMQ_HASH, true);
    found->failed = emq_open_below(cmd, "job:", id, ":failed", EMQ_HASH, true);
    found->unsuccessful = emq_open_below(cmd, "job:", id, ":unsuccessful", EMQ_HASH, true);
    found->dependencies = emq_open_below(cmd, "job:", id, ":dependencies", EMQ_STRING, true);
    return trouble_of(cmd, found);
}

/* One child is outstanding no more. Only a held parent is released, into its own place. */
static void child_settled(struct emq_cmd *cmd, struct emq_parent *parent) {
    long long left = 0;
    if (!outstanding(parent->dependencies, &left)) return;
    emq_decr(cmd, parent->dependencies, left);
    if (left - 1 > 0) return;
    if (emq_says(emq_hget(cmd, parent->row, emq_words[EMQ_STATE]), "awaiting_children")) {
        emq_make_ready(cmd, parent->row, parent->id, parent->lane);
    }
}

void emq_child_completed(struct emq_cmd *cmd, struct emq_parent *parent, RedisModuleString *id,
                         RedisModuleString *result) {
    if (!parent->exists) return;
    if (parent->queue != NULL) {
        struct emq_text parts[] = {emq_text_of(parent->queue), emq_text_of(parent->id), emq_text_of(id),
                                   emq_text_of(result)};
        emq_rpush(cmd, emq_at(cmd, EMQ_AT_OUTBOX), emq_join(cmd, parts, 4, "\0", 1));
        return;
    }
    /* The job may have been its own parent, or a batch has completed the parent: it must not come back. */
    if (emq_hget(cmd, parent->row, emq_words[EMQ_ATTEMPTS]) == NULL) return;
    if (emq_hsetnx(cmd, parent->processed, id, result) && emq_hget(cmd, parent->unsuccessful, id) == NULL) {
        child_settled(cmd, parent);
    }
}

static void push_failure(struct emq_cmd *cmd, struct emq_text queue, RedisModuleString *parent, RedisModuleString *child,
                         bool ignored, RedisModuleString *reason) {
    struct emq_text parts[] = {{"", 0},
                               emq_literal("fail"),
                               queue,
                               emq_text_of(parent),
                               emq_text_of(child),
                               emq_literal(ignored ? "id" : "fp"),
                               emq_text_of(reason)};
    emq_rpush(cmd, emq_at(cmd, EMQ_AT_OUTBOX), emq_join(cmd, parts, 7, "\0", 1));
}

/* The failure of a parent goes up one hop in the command that kills it, and only when that command does. */
void emq_child_died(struct emq_cmd *cmd, struct emq_parent *parent, RedisModuleString *id, bool ignored,
                    RedisModuleString *reason) {
    if (!parent->exists) return;
    if (parent->queue != NULL) {
        push_failure(cmd, emq_text_of(parent->queue), parent->id, id, ignored, reason);
        return;
    }
    if (ignored) {
        if (emq_hsetnx(cmd, parent->unsuccessful, id, reason)) child_settled(cmd, parent);
        return;
    }
    if (!emq_hsetnx(cmd, parent->failed, id, reason)) return;
    RedisModuleString *state = emq_hget(cmd, parent->row, emq_words[EMQ_STATE]);
    if (!emq_says(state, "awaiting_children") && !emq_says(state, "pending")) return;
    /* Other speakers release a parent with a group into the flat set, so that one is left as well. */
    emq_zrem(cmd, emq_at(cmd, EMQ_AT_PENDING), parent->id);
    if (parent->lane != NULL) emq_take_from_lane(cmd, parent->lane, parent->id);
    RedisModuleString *pairs[] = {emq_words[EMQ_STATE], emq_words[EMQ_DEAD], emq_words[EMQ_DIED_AT],
                                  emq_instant(cmd, emq_now(cmd))};
    emq_hset(cmd, parent->row, pairs, 4);
    emq_zadd(cmd, emq_at(cmd, EMQ_AT_DEAD), 0, parent->id);
    if (parent->parent == NULL) return;
    struct emq_text queue = parent->parent_queue != NULL ? emq_text_of(parent->parent_queue) : own_queue(cmd);
    push_failure(cmd, queue, parent->parent, parent->id, parent->ignores, reason);
}
