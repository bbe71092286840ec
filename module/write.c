/* Every write of the module. Each function changes one key, replicates that as the core command of its name, tells
 * keyspace listeners what that command would, and touches WATCH. The caller has looked at the key's type before, and the
 * key is open for writing. See emq.h.
 *
 * Of the formats of RedisModule_Replicate `s` is the cheapest: nothing is made and nothing grows. So what is written often
 * is told as strings, which the command owns or emq_words has. */
#include <string.h>

#include "emq.h"

/* No command writes to such a key, since it has looked. Should one do, then nothing happens, here or on a replica. */
static bool is_closed(const struct emq_key *key) { return key->wrong || key->open == NULL; }

static void tell(struct emq_cmd *cmd, struct emq_key *key, int kind, const char *event) {
    RedisModule_SignalModifiedKey(cmd->ctx, key->name);
    RedisModule_NotifyKeyspaceEvent(cmd->ctx, kind, event, key->name);
}

/* The server takes a key away with its last element. */
static void tell_less(struct emq_cmd *cmd, struct emq_key *key, int kind, const char *event) {
    tell(cmd, key, kind, event);
    if (RedisModule_KeyType(key->open) == REDISMODULE_KEYTYPE_EMPTY) {
        RedisModule_NotifyKeyspaceEvent(cmd->ctx, REDISMODULE_NOTIFY_GENERIC, "del", key->name);
    }
}

bool emq_zadd(struct emq_cmd *cmd, struct emq_key *key, long long score, RedisModuleString *member) {
    int told = 0;
    if (is_closed(key) || RedisModule_ZsetAdd(key->open, (double)score, member, &told) != REDISMODULE_OK) return false;
    if (told & REDISMODULE_ZADD_NOP) return false;
    RedisModule_Replicate(cmd->ctx, "ZADD", "sss", key->name, score == 0 ? emq_words[EMQ_ZERO] : emq_instant(cmd, score),
                          member);
    tell(cmd, key, REDISMODULE_NOTIFY_ZSET, "zadd");
    return (told & REDISMODULE_ZADD_ADDED) != 0;
}

bool emq_zrem(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member) {
    int deleted = 0;
    if (is_closed(key) || RedisModule_ZsetRem(key->open, member, &deleted) != REDISMODULE_OK || !deleted) return false;
    RedisModule_Replicate(cmd->ctx, "ZREM", "ss", key->name, member);
    tell_less(cmd, key, REDISMODULE_NOTIFY_ZSET, "zrem");
    return true;
}

/* One call for three pairs at once: each costs the server some bookkeeping of the key. */
void emq_hset(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **pairs, size_t count) {
    if (is_closed(key)) return;
    RedisModuleString **p = pairs;
    size_t left = count;
    for (; left >= 6; p += 6, left -= 6) {
        RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, p[0], p[1], p[2], p[3], p[4], p[5], NULL);
    }
    if (left >= 4) {
        RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, p[0], p[1], p[2], p[3], NULL);
    } else if (left >= 2) {
        RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, p[0], p[1], NULL);
    }
    if (count == 6) {
        RedisModule_Replicate(cmd->ctx, "HSET", "sssssss", key->name, pairs[0], pairs[1], pairs[2], pairs[3], pairs[4],
                              pairs[5]);
    } else if (count == 2) {
        RedisModule_Replicate(cmd->ctx, "HSET", "sss", key->name, pairs[0], pairs[1]);
    } else {
        RedisModule_Replicate(cmd->ctx, "HSET", "sv", key->name, pairs, count);
    }
    tell(cmd, key, REDISMODULE_NOTIFY_HASH, "hset");
}

/* Told as the sum: a field that expires on its own does so no more when it is set, and would go on when it is raised. */
void emq_hincr(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field, long long from, long long by) {
    if (is_closed(key)) return;
    RedisModuleString *sum = emq_number(cmd, from + by);
    RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, field, sum, NULL);
    RedisModule_Replicate(cmd->ctx, "HSET", "sss", key->name, field, sum);
    tell(cmd, key, REDISMODULE_NOTIFY_HASH, "hincrby");
}

bool emq_hsetnx(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field, RedisModuleString *value) {
    if (is_closed(key) || emq_hget(cmd, key, field) != NULL) return false;
    RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, field, value, NULL);
    RedisModule_Replicate(cmd->ctx, "HSET", "sss", key->name, field, value);
    tell(cmd, key, REDISMODULE_NOTIFY_HASH, "hset");
    return true;
}

void emq_hdel_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **fields, size_t count) {
    RedisModuleString *gone[EMQ_AT_ONCE];
    size_t told = 0;
    if (is_closed(key)) return;
    for (size_t i = 0; i < count && i < EMQ_AT_ONCE; i++) {
        if (RedisModule_HashSet(key->open, REDISMODULE_HASH_NONE, fields[i], REDISMODULE_HASH_DELETE, NULL) < 1) continue;
        gone[told++] = fields[i];
    }
    if (told == 0) return;
    if (told == 1) {
        RedisModule_Replicate(cmd->ctx, "HDEL", "ss", key->name, gone[0]);
    } else {
        RedisModule_Replicate(cmd->ctx, "HDEL", "sv", key->name, gone, told);
    }
    tell_less(cmd, key, REDISMODULE_NOTIFY_HASH, "hdel");
}

void emq_hdel(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field) {
    emq_hdel_all(cmd, key, &field, 1);
}

/* The API has nothing for sets, so the server's own command does it. That may take the key away under a handle: it is
 * closed before, and opened anew. */
void emq_srem(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member) {
    if (is_closed(key)) return;
    RedisModule_CloseKey(key->open);
    RedisModuleCallReply *reply = RedisModule_Call(cmd->ctx, "SREM", "!ss", key->name, member);
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    key->open = RedisModule_OpenKey(cmd->ctx, key->name, REDISMODULE_READ);
}

static void push_all(struct emq_cmd *cmd, struct emq_key *key, int where, RedisModuleString **values, size_t count) {
    const char *command = where == REDISMODULE_LIST_HEAD ? "LPUSH" : "RPUSH";
    if (is_closed(key) || count == 0) return;
    for (size_t i = 0; i < count; i++) RedisModule_ListPush(key->open, where, values[i]);
    if (count == 1) {
        RedisModule_Replicate(cmd->ctx, command, "ss", key->name, values[0]);
    } else {
        RedisModule_Replicate(cmd->ctx, command, "sv", key->name, values, count);
    }
    tell(cmd, key, REDISMODULE_NOTIFY_LIST, where == REDISMODULE_LIST_HEAD ? "lpush" : "rpush");
}

void emq_lpush_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **values, size_t count) {
    push_all(cmd, key, REDISMODULE_LIST_HEAD, values, count);
}

void emq_rpush_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **values, size_t count) {
    push_all(cmd, key, REDISMODULE_LIST_TAIL, values, count);
}

void emq_lpush(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value) { emq_lpush_all(cmd, key, &value, 1); }
void emq_rpush(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value) { emq_rpush_all(cmd, key, &value, 1); }

void emq_lpop(struct emq_cmd *cmd, struct emq_key *key, long long count) {
    long long popped = 0;
    if (is_closed(key)) return;
    for (RedisModuleString *value; popped < count; popped++) {
        if ((value = RedisModule_ListPop(key->open, REDISMODULE_LIST_HEAD)) == NULL) break;
        RedisModule_FreeString(NULL, value);
    }
    if (popped == 0) return;
    RedisModule_Replicate(cmd->ctx, "LPOP", "ss", key->name, emq_number(cmd, popped));
    tell_less(cmd, key, REDISMODULE_NOTIFY_LIST, "lpop");
}

/* From the tail, where a lane stands that was served last. */
void emq_lrem_last(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value) {
    long length = (long)emq_length(key);
    for (long back = 1; back <= length; back++) {
        RedisModuleString *entry = RedisModule_ListGet(key->open, -back);
        bool is = emq_same(entry, value);
        if (entry != NULL) RedisModule_FreeString(NULL, entry);
        if (!is) continue;
        RedisModule_ListDelete(key->open, -back);
        RedisModule_Replicate(cmd->ctx, "LREM", "scs", key->name, "-1", value);
        tell_less(cmd, key, REDISMODULE_NOTIFY_LIST, "lrem");
        return;
    }
}

void emq_ltrim(struct emq_cmd *cmd, struct emq_key *key, long long most) {
    bool cut = false;
    while (emq_length(key) > most) {
        RedisModuleString *value = RedisModule_ListPop(key->open, REDISMODULE_LIST_TAIL);
        if (value == NULL) break;
        RedisModule_FreeString(NULL, value);
        cut = true;
    }
    if (!cut) return;
    RedisModule_Replicate(cmd->ctx, "LTRIM", "scl", key->name, "0", most - 1);
    tell(cmd, key, REDISMODULE_NOTIFY_LIST, "ltrim");
}

/* A string that is a counter. Setting it would take its expiry away, which DECR does not. */
void emq_decr(struct emq_cmd *cmd, struct emq_key *key, long long from) {
    if (is_closed(key)) return;
    long long expiry = RedisModule_GetAbsExpire(key->open);
    RedisModule_StringSet(key->open, emq_own(cmd, RedisModule_CreateStringFromLongLong(NULL, from - 1)));
    if (expiry != REDISMODULE_NO_EXPIRE) RedisModule_SetAbsExpire(key->open, expiry);
    RedisModule_Replicate(cmd->ctx, "DECR", "s", key->name);
    tell(cmd, key, REDISMODULE_NOTIFY_STRING, "incrby");
}

void emq_delete(struct emq_cmd *cmd, struct emq_key *key) {
    if (key->open == NULL || RedisModule_KeyType(key->open) == REDISMODULE_KEYTYPE_EMPTY) return;
    if (key->kind == EMQ_LIST) {
        /* A handle that has read a list keeps its place there. Some servers fall over that when the list is deleted. */
        RedisModule_CloseKey(key->open);
        key->open = RedisModule_OpenKey(cmd->ctx, key->name, REDISMODULE_READ | REDISMODULE_WRITE);
    }
    RedisModule_DeleteKey(key->open);
    RedisModule_Replicate(cmd->ctx, "DEL", "s", key->name);
    tell(cmd, key, REDISMODULE_NOTIFY_GENERIC, "del");
}

void emq_expire(struct emq_cmd *cmd, struct emq_key *key, long long after_ms) {
    long long at_ms = emq_now(cmd) + after_ms;
    if (is_closed(key) || RedisModule_SetAbsExpire(key->open, at_ms) != REDISMODULE_OK) return;
    RedisModule_Replicate(cmd->ctx, "PEXPIREAT", "sl", key->name, at_ms);
    tell(cmd, key, REDISMODULE_NOTIFY_GENERIC, "expire");
}

/* Deletes a key of any type that nobody else has to do with, if it is there. */
static void delete_by_name(struct emq_cmd *cmd, struct emq_text name) {
    struct emq_key *known = emq_bag_find(&cmd->keys, name);
    if (known != NULL) {
        struct emq_key *key = emq_open(cmd, known->name, known->kind, true);
        emq_delete(cmd, key);
        key->wrong = false;
        return;
    }
    const int quietly = REDISMODULE_OPEN_KEY_NOTOUCH | REDISMODULE_OPEN_KEY_NONOTIFY | REDISMODULE_OPEN_KEY_NOSTATS;
    RedisModuleString *string = RedisModule_CreateString(NULL, name.at, name.len);
    RedisModuleKey *found = RedisModule_OpenKey(cmd->ctx, string, REDISMODULE_READ | quietly);
    if (found != NULL) {
        RedisModule_CloseKey(found);
        found = RedisModule_OpenKey(cmd->ctx, string, REDISMODULE_READ | REDISMODULE_WRITE);
        struct emq_key key = {.name = string, .open = found, .writable = true};
        emq_delete(cmd, &key);
        RedisModule_CloseKey(found);
    }
    RedisModule_FreeString(NULL, string);
}

void emq_delete_job(struct emq_cmd *cmd, struct emq_key *row) {
    static const char *const hangers[] = {":logs",      ":lock",   ":dependencies",
                                          ":processed", ":failed", ":unsuccessful"};
    enum { LONGEST = 16 };
    char small[256];
    struct emq_text name = row->named.name;
    emq_delete(cmd, row);
    for (size_t i = 0; name.len + LONGEST > sizeof small && i < sizeof hangers / sizeof *hangers; i++) {
        RedisModuleString *whole = RedisModule_CreateString(NULL, name.at, name.len);
        RedisModule_StringAppendBuffer(NULL, whole, hangers[i], strlen(hangers[i]));
        delete_by_name(cmd, emq_text_of(whole));
        RedisModule_FreeString(NULL, whole);
    }
    if (name.len + LONGEST > sizeof small) return;
    memcpy(small, name.at, name.len);
    for (size_t i = 0; i < sizeof hangers / sizeof *hangers; i++) {
        size_t len = strlen(hangers[i]);
        memcpy(small + name.len, hangers[i], len);
        delete_by_name(cmd, (struct emq_text){small, name.len + len});
    }
}
