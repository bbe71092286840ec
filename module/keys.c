/* Opening keys once, in the right mode, and reading them. Nothing here writes. See emq.h.
 *
 * A key that is going to be written is opened for it at once, since a second look-up costs more than the handle. Opening
 * does not touch WATCH: the module asks the server to leave that to write.c, so a refusal touches nobody. */
#include <string.h>

#include "emq.h"

static const struct {
    const char *suffix;
    enum emq_kind kind;
    bool writes;
} PLACES[EMQ_PLACES] = {
    [EMQ_AT_RING] = {"ring", EMQ_LIST, true},
    [EMQ_AT_LANES] = {"lanes", EMQ_ZSET, true},
    [EMQ_AT_GACTIVE] = {"gactive", EMQ_HASH, true},
    [EMQ_AT_GLIMIT] = {"glimit", EMQ_HASH, false},
    [EMQ_AT_PAUSED] = {"paused", EMQ_SET, false},
    [EMQ_AT_WAKE] = {"wake", EMQ_LIST, true},
    [EMQ_AT_META] = {"meta", EMQ_HASH, false},
    [EMQ_AT_FRESH_NEXT] = {"fresh_next", EMQ_SET, false},
    [EMQ_AT_PENDING] = {"pending", EMQ_ZSET, true},
    [EMQ_AT_DEAD] = {"dead", EMQ_ZSET, true},
    [EMQ_AT_OUTBOX] = {"flow:outbox", EMQ_LIST, true},
    [EMQ_AT_COMPLETED] = {"metrics:completed", EMQ_HASH, true},
    [EMQ_AT_FAILED] = {"metrics:failed", EMQ_HASH, true},
};

static void open_now(struct emq_cmd *cmd, struct emq_key *key, bool writes) {
    key->writable = writes;
    key->open = RedisModule_OpenKey(cmd->ctx, key->name, writes ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ);
    int type = key->open == NULL ? REDISMODULE_KEYTYPE_EMPTY : RedisModule_KeyType(key->open);
    key->wrong = type != REDISMODULE_KEYTYPE_EMPTY && type != (int)key->kind;
}

static struct emq_key *again(struct emq_cmd *cmd, struct emq_key *key, enum emq_kind kind, bool writes);

/* Takes the name over when `owns` says so. */
static struct emq_key *open_new(struct emq_cmd *cmd, RedisModuleString *name, struct emq_text text, bool owns,
                                enum emq_kind kind, bool writes) {
    struct emq_key *key = emq_bag_add(&cmd->keys, text, emq_try_alloc, RedisModule_Free);
    if (key == NULL) {
        if (owns) RedisModule_FreeString(NULL, name);
        return emq_no_key(cmd, kind);
    }
    key->name = name;
    key->owns_name = owns;
    key->kind = kind;
    open_now(cmd, key, writes);
    return key;
}

/* A key that was opened before: for writing, if need be; and one named for another type is wrong for whoever asks. */
static struct emq_key *again(struct emq_cmd *cmd, struct emq_key *key, enum emq_kind kind, bool writes) {
    if (key->kind != kind) {
        /* Whoever looks for the name finds the first. Without a handle: two would write past each other. */
        struct emq_key *other = emq_bag_add(&cmd->keys, key->named.name, emq_try_alloc, RedisModule_Free);
        if (other == NULL) return emq_no_key(cmd, kind);
        *other = (struct emq_key){.named = other->named, .name = key->name, .kind = kind, .wrong = true};
        return other;
    }
    if (writes && !key->writable) {
        if (key->open != NULL) RedisModule_CloseKey(key->open);
        open_now(cmd, key, true);
    }
    return key;
}

static struct emq_key *open_named(struct emq_cmd *cmd, RedisModuleString *name, struct emq_text text,
                                  enum emq_kind kind, bool writes) {
    struct emq_key *key = emq_bag_find(&cmd->keys, text);
    return key != NULL ? again(cmd, key, kind, writes) : open_new(cmd, name, text, false, kind, writes);
}

struct emq_key *emq_open(struct emq_cmd *cmd, RedisModuleString *name, enum emq_kind kind, bool writes) {
    return open_named(cmd, name, emq_text_of(name), kind, writes);
}

struct emq_key *emq_open_given(struct emq_cmd *cmd, int place, enum emq_kind kind, bool writes) {
    return open_named(cmd, cmd->argv[place], emq_said(cmd, place), kind, writes);
}

/* The string that a name of many bytes is made in stands for the key if that is new. */
static struct emq_key *open_long(struct emq_cmd *cmd, const struct emq_text parts[4], enum emq_kind kind, bool writes) {
    RedisModuleString *whole = RedisModule_CreateString(NULL, parts[0].at, parts[0].len);
    for (int i = 1; i < 4; i++) RedisModule_StringAppendBuffer(NULL, whole, parts[i].at, parts[i].len);
    struct emq_key *key = emq_bag_find(&cmd->keys, emq_text_of(whole));
    if (key == NULL) return open_new(cmd, whole, emq_text_of(whole), true, kind, writes);
    RedisModule_FreeString(NULL, whole);
    return again(cmd, key, kind, writes);
}

struct emq_key *emq_open_below(struct emq_cmd *cmd, const char *infix, struct emq_text name, const char *suffix,
                               enum emq_kind kind, bool writes) {
    char small[256], *end = small;
    const struct emq_text parts[4] = {cmd->base, emq_literal(infix), name, emq_literal(suffix)};
    struct emq_text text = {small, parts[0].len + parts[1].len + parts[2].len + parts[3].len};
    if (text.len > sizeof small) return open_long(cmd, parts, kind, writes);
    for (int i = 0; i < 4; end += parts[i++].len) memcpy(end, parts[i].at, parts[i].len);
    struct emq_key *key = emq_bag_find(&cmd->keys, text);
    if (key != NULL) return again(cmd, key, kind, writes);
    RedisModuleString *whole = RedisModule_CreateString(NULL, text.at, text.len);
    return open_new(cmd, whole, emq_text_of(whole), true, kind, writes);
}

struct emq_key *emq_at(struct emq_cmd *cmd, enum emq_place place) {
    if (cmd->place[place] == NULL) {
        RedisModuleString *name = emq_name_at(cmd, place, PLACES[place].suffix);
        cmd->place[place] = emq_open(cmd, name, PLACES[place].kind, PLACES[place].writes);
    }
    return cmd->place[place];
}

struct emq_trouble emq_wrong(const struct emq_key *key) {
    struct emq_trouble trouble = {EMQ_SOUND, key->named.name, {"", 0}};
    if (key->wrong) trouble.fault = EMQ_WRONG_TYPE;
    return trouble;
}

bool emq_is_absent(const struct emq_key *key) {
    return !key->wrong && (key->open == NULL || RedisModule_KeyType(key->open) == REDISMODULE_KEYTYPE_EMPTY);
}

long long emq_length(const struct emq_key *key) {
    return key->wrong || key->open == NULL ? 0 : (long long)RedisModule_ValueLength(key->open);
}

RedisModuleString *emq_hget(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field) {
    if (key->wrong || key->open == NULL) return NULL;
    RedisModuleString *value = NULL;
    RedisModule_HashGet(key->open, REDISMODULE_HASH_NONE, field, &value, NULL);
    return emq_own(cmd, value);
}

void emq_hget_three(struct emq_cmd *cmd, struct emq_key *key, const enum emq_word fields[3],
                    RedisModuleString *values[3]) {
    values[0] = values[1] = values[2] = NULL;
    if (key->wrong || key->open == NULL) return;
    RedisModule_HashGet(key->open, REDISMODULE_HASH_NONE, emq_words[fields[0]], &values[0], emq_words[fields[1]],
                        &values[1], emq_words[fields[2]], &values[2], NULL);
    for (int i = 0; i < 3; i++) values[i] = emq_own(cmd, values[i]);
}

bool emq_zscore(struct emq_key *key, RedisModuleString *member, double *score) {
    return !key->wrong && key->open != NULL && RedisModule_ZsetScore(key->open, member, score) == REDISMODULE_OK;
}

bool emq_is_member(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member) {
    if (emq_length(key) == 0) return false;
    /* Replicated like each call of the module: on some servers one that is not takes along what waits to be told. */
    RedisModuleCallReply *reply = RedisModule_Call(cmd->ctx, "SISMEMBER", "!ss", key->name, member);
    if (reply == NULL) return false;
    bool is =
        RedisModule_CallReplyType(reply) == REDISMODULE_REPLY_INTEGER && RedisModule_CallReplyInteger(reply) == 1;
    RedisModule_FreeCallReply(reply);
    return is;
}

struct emq_trouble emq_look_counter(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field,
                                    long long *number) {
    struct emq_trouble trouble = emq_wrong(key);
    *number = 0;
    if (trouble.fault == EMQ_SOUND && !emq_counts(emq_hget(cmd, key, field), 0, number)) {
        trouble.fault = EMQ_MISCOUNTED;
        trouble.field = emq_text_of(field);
    }
    return trouble;
}
