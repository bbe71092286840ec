/* Strings that one command after the other would make and free: kept, and lent to each.
 *
 * Commands come in runs: for one queue, and within one turn of the server's loop, which is one instant. Who borrows a
 * string counts as one of its owners until its command ends, so it does not matter when the next takes its place. */
#include <string.h>

#include "emq.h"

static RedisModuleString *lend(struct emq_cmd *cmd, RedisModuleString *string) {
    RedisModule_RetainString(NULL, string);
    return emq_own(cmd, string);
}

/* ---- instants ------------------------------------------------------------------------------------------------------*/

RedisModuleString *emq_instant(struct emq_cmd *cmd, long long ms) {
    /* Now, and when a lease ends. */
    static struct {
        long long ms;
        RedisModuleString *text;
    } last[2];
    static int older;
    for (int i = 0; i < 2; i++) {
        if (last[i].text != NULL && last[i].ms == ms) return lend(cmd, last[i].text);
    }
    if (last[older].text != NULL) RedisModule_FreeString(NULL, last[older].text);
    last[older].ms = ms;
    last[older].text = RedisModule_CreateStringFromLongLong(NULL, ms);
    RedisModuleString *text = last[older].text;
    older = !older;
    return lend(cmd, text);
}

/* ---- names of a queue's keys ---------------------------------------------------------------------------------------*/

struct queue {
    char base[128]; /* a longer one is not kept */
    size_t len;     /* 0: nobody's yet */
    RedisModuleString *names[EMQ_PLACES];
};

static struct queue *queue_of(struct emq_text base) {
    static struct queue queues[16];
    /* A base ends in "}:", so this is the last byte of the queue's name. */
    struct queue *queue = &queues[base.len > 2 ? (unsigned char)base.at[base.len - 3] % 16 : 0];
    if (base.len == 0 || base.len > sizeof queue->base) return NULL;
    if (queue->len == base.len && memcmp(queue->base, base.at, base.len) == 0) return queue;
    for (int i = 0; i < EMQ_PLACES; i++) {
        if (queue->names[i] != NULL) RedisModule_FreeString(NULL, queue->names[i]);
        queue->names[i] = NULL;
    }
    memcpy(queue->base, base.at, base.len);
    queue->len = base.len;
    return queue;
}

RedisModuleString *emq_name_at(struct emq_cmd *cmd, enum emq_place place, const char *suffix) {
    struct queue *queue = queue_of(cmd->base);
    struct emq_text parts[] = {cmd->base, emq_literal(suffix)};
    if (queue == NULL) return emq_join(cmd, parts, 2, "", 0);
    if (queue->names[place] == NULL) {
        RedisModuleString *name = emq_join(cmd, parts, 2, "", 0);
        if (cmd->starved) return name; /* it may be no name */
        RedisModule_RetainString(NULL, name);
        queue->names[place] = name;
        return name;
    }
    return lend(cmd, queue->names[place]);
}
