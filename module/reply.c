/* Replies and arguments. An error text is made safe for the wire here: what keys and ids hold may be any bytes. */
#include <stdio.h>
#include <string.h>

#include "emq.h"

int emq_reply_number(struct emq_cmd *cmd, long long number) {
    return emq_is_starved(cmd) ? REDISMODULE_OK : RedisModule_ReplyWithLongLong(cmd->ctx, number);
}

int emq_reply_word(struct emq_cmd *cmd, const char *word) {
    if (emq_is_starved(cmd)) return REDISMODULE_OK;
    RedisModule_ReplyWithArray(cmd->ctx, 1);
    return RedisModule_ReplyWithStringBuffer(cmd->ctx, word, strlen(word));
}

/* The longest text that is told of a key or an id: an error is for a person. */
#define EMQ_TOLD_MAX 512

int emq_reply_error(struct emq_cmd *cmd, const char *text) {
    if (cmd->starved) text = "OOM the machine gave no memory for the command, and nothing is changed";
    char safe[4 * EMQ_TOLD_MAX];
    size_t len = 0;
    for (; text[len] != '\0' && len + 1 < sizeof safe; len++) {
        safe[len] = text[len] == '\r' || text[len] == '\n' ? ' ' : text[len];
    }
    safe[len] = '\0';
    return RedisModule_ReplyWithError(cmd->ctx, safe);
}

static size_t spell(struct emq_trouble trouble, char *text, size_t room) {
    int key = (int)(trouble.key.len < EMQ_TOLD_MAX ? trouble.key.len : EMQ_TOLD_MAX);
    int field = (int)(trouble.field.len < EMQ_TOLD_MAX ? trouble.field.len : EMQ_TOLD_MAX);
    int len = 0;
    switch (trouble.fault) {
    case EMQ_WRONG_TYPE:
        len = snprintf(text, room, "WRONGTYPE the key %.*s holds a value of another type", key, trouble.key.at);
        break;
    case EMQ_MISCOUNTED:
        len = snprintf(text, room, "ERR the field %.*s of %.*s is not a whole number", field, trouble.field.at, key,
                       trouble.key.at);
        break;
    case EMQ_NO_NUMBER:
        len = snprintf(text, room, "ERR %.*s is not a whole number", key, trouble.key.at);
        break;
    case EMQ_BROKEN_ROW:
        len = snprintf(text, room, "WRONGTYPE the row of %.*s is not a hash", key, trouble.key.at);
        break;
    case EMQ_SOUND:
        break;
    }
    return len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

int emq_reply_trouble(struct emq_cmd *cmd, struct emq_trouble trouble) {
    char text[3 * EMQ_TOLD_MAX] = "";
    spell(trouble, text, sizeof text);
    return emq_reply_error(cmd, text);
}

RedisModuleString *emq_trouble_text(struct emq_cmd *cmd, struct emq_trouble trouble) {
    char text[3 * EMQ_TOLD_MAX] = "";
    size_t len = spell(trouble, text, sizeof text);
    return emq_own(cmd, RedisModule_CreateString(NULL, text, len));
}

int emq_reply_stale(struct emq_cmd *cmd) {
    return emq_reply_error(cmd, "EMQSTALE the token is not the current one, or the job is not leased");
}

int emq_reply_refusal(struct emq_cmd *cmd, struct emq_trouble trouble, struct emq_key *active, RedisModuleString *id,
                      struct emq_looked *lane) {
    struct emq_key *ready = lane != NULL ? lane->set : emq_at(cmd, EMQ_AT_PENDING);
    double score;
    if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
    if (emq_zscore(active, id, &score)) return emq_reply_trouble(cmd, trouble);
    if (ready->wrong) return emq_reply_trouble(cmd, emq_wrong(ready));
    return emq_zscore(ready, id, &score) ? emq_reply_trouble(cmd, trouble) : emq_reply_stale(cmd);
}

int emq_reply_not_held(struct emq_cmd *cmd, struct emq_looked *lane) {
    /* A set that cannot be read may hold the job. */
    if (lane == NULL && emq_at(cmd, EMQ_AT_PENDING)->wrong) {
        return emq_reply_trouble(cmd, emq_wrong(emq_at(cmd, EMQ_AT_PENDING)));
    }
    return emq_reply_stale(cmd);
}

/* Whether a holder may settle a job whose row, numbers, lane and parent were judged: what `trouble` says, and whether the
 * leases can be read. False: the answer was given. */
bool emq_may_settle(struct emq_cmd *cmd, struct emq_key *active, RedisModuleString *id, struct emq_looked *lane,
                    struct emq_trouble trouble) {
    if (trouble.fault != EMQ_SOUND) {
        emq_reply_refusal(cmd, trouble, active, id, lane);
        return false;
    }
    if (active->wrong) {
        emq_reply_trouble(cmd, emq_wrong(active));
        return false;
    }
    return true;
}

bool emq_argument(struct emq_cmd *cmd, int place, const char *name, long long least, long long most, long long *number) {
    struct emq_text text = emq_said(cmd, place);
    if (emq_whole(text.at, text.len, least, most, number)) return true;
    char refusal[160];
    snprintf(refusal, sizeof refusal, "ERR %s must be a whole number from %lld to %lld", name, least, most);
    emq_reply_error(cmd, refusal);
    return false;
}

bool emq_is_given(const struct emq_cmd *cmd, int place) {
    return place < cmd->argc && emq_said(cmd, place).len > 0;
}
