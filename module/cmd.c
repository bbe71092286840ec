/* The running command: what it owns, its clock, and the strings it makes. See emq.h. */
#include <string.h>

#include "emq.h"

RedisModuleString *emq_words[EMQ_WORDS];

void emq_begin(struct emq_cmd *cmd, RedisModuleCtx *ctx, const struct emq_spec *spec, RedisModuleString **argv,
               int argc) {
    cmd->ctx = ctx;
    cmd->spec = spec;
    cmd->argv = argv;
    cmd->argc = argc;
    for (int i = 0; i < argc && i < EMQ_TEXTS; i++) cmd->texts[i] = emq_text_of(argv[i]);
    cmd->base = (struct emq_text){"", 0};
    cmd->now_ms = 0;
    cmd->joined_flat = cmd->ended = cmd->room = 0;
    cmd->has_ceiling = cmd->starved = cmd->writes = false;
    memset(cmd->place, 0, sizeof cmd->place);
    emq_bag_open(&cmd->keys, sizeof(struct emq_key), cmd->first_keys);
    emq_bag_open(&cmd->lanes, sizeof(struct emq_looked), cmd->first_lanes);
    cmd->owned = cmd->first_owned;
    cmd->owned_count = 0;
    cmd->owned_room = sizeof cmd->first_owned / sizeof *cmd->first_owned;
}

void emq_end(struct emq_cmd *cmd) {
    for (uint32_t i = 0; i < cmd->keys.count; i++) {
        struct emq_key *key = emq_bag_at(&cmd->keys, i);
        if (key->open != NULL) RedisModule_CloseKey(key->open);
        if (key->owns_name) RedisModule_FreeString(NULL, key->name);
    }
    for (uint32_t i = 0; i < cmd->owned_count; i++) RedisModule_FreeString(NULL, cmd->owned[i]);
    if (cmd->owned != cmd->first_owned) RedisModule_Free(cmd->owned);
    emq_bag_close(&cmd->keys, RedisModule_Free);
    emq_bag_close(&cmd->lanes, RedisModule_Free);
}

long long emq_now(struct emq_cmd *cmd) {
    if (cmd->now_ms == 0) {
        /* Servers without the cached clock ask the machine in TIME as well. */
        cmd->now_ms = RedisModule_CachedMicroseconds != NULL ? RedisModule_CachedMicroseconds() / 1000
                                                             : RedisModule_Milliseconds();
    }
    return cmd->now_ms;
}

RedisModuleString *emq_number(struct emq_cmd *cmd, long long number) {
    if (number == 0 || number == 1) return emq_words[number == 0 ? EMQ_ZERO : EMQ_ONE];
    return emq_own(cmd, RedisModule_CreateStringFromLongLong(NULL, number));
}

/* Grows as the server's own strings do. */
static RedisModuleString *join_long(struct emq_cmd *cmd, const struct emq_text *parts, size_t count, const char *between,
                                    size_t between_len) {
    RedisModuleString *joined = RedisModule_CreateString(NULL, parts[0].at, parts[0].len);
    for (size_t i = 1; i < count; i++) {
        if (between_len > 0) RedisModule_StringAppendBuffer(NULL, joined, between, between_len);
        RedisModule_StringAppendBuffer(NULL, joined, parts[i].at, parts[i].len);
    }
    return emq_own(cmd, joined);
}

RedisModuleString *emq_join(struct emq_cmd *cmd, const struct emq_text *parts, size_t count, const char *between,
                            size_t between_len) {
    char small[256], *end = small;
    small[0] = '\0';
    size_t len = between_len * (count - 1);
    for (size_t i = 0; i < count; i++) len += parts[i].len;
    if (len > sizeof small) return join_long(cmd, parts, count, between, between_len);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            memcpy(end, between, between_len);
            end += between_len;
        }
        memcpy(end, parts[i].at, parts[i].len);
        end += parts[i].len;
    }
    return emq_own(cmd, RedisModule_CreateString(NULL, small, len));
}

struct emq_text emq_text_of(const RedisModuleString *string) {
    struct emq_text text;
    text.at = RedisModule_StringPtrLen(string, &text.len);
    return text;
}

struct emq_text emq_literal(const char *text) { return (struct emq_text){text, strlen(text)}; }

bool emq_same(const RedisModuleString *one, const RedisModuleString *other) {
    if (one == NULL || other == NULL) return one == other;
    struct emq_text a = emq_text_of(one), b = emq_text_of(other);
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

bool emq_says(const RedisModuleString *string, const char *text) {
    if (string == NULL) return false;
    struct emq_text a = emq_text_of(string);
    return a.len == strlen(text) && memcmp(a.at, text, a.len) == 0;
}
