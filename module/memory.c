/* What a command needs of the machine's memory beyond its own, and what happens where there is none.
 *
 * Strings and values are the server's, which ends the process as for each command of its own. All else may be refused:
 * then the command is `starved`. What it looks at from there on is nothing (the key and the lane that are no ones), and
 * its answer is a refusal, whatever it would have said. emq_may_write stands before the first write, and sees to it that
 * what follows needs no memory. */
#include <stdlib.h>
#include <string.h>

#include "emq.h"

#ifdef EMQ_STARVE
/* For the fuzzer: one in so many is refused, as the environment says. */
static bool is_refused(void) {
    static long one_in = -1;
    static uint32_t dice = 1;
    if (one_in < 0) one_in = getenv("EMQ_STARVE_ONE_IN") == NULL ? 0 : atol(getenv("EMQ_STARVE_ONE_IN"));
    dice = dice * 1664525u + 1013904223u;
    return one_in > 0 && (dice >> 8) % (uint32_t)one_in == 0;
}
#else
static bool is_refused(void) { return false; }
#endif

void *emq_try_alloc(size_t bytes) {
    if (is_refused()) return NULL;
    return RedisModule_TryAlloc != NULL ? RedisModule_TryAlloc(bytes) : RedisModule_Alloc(bytes);
}

void emq_starve(struct emq_cmd *cmd) {
#ifdef EMQ_STARVE
    if (cmd->writes) abort(); /* the gate was to see to it */
#endif
    cmd->starved = !cmd->writes;
}

struct emq_key *emq_no_key(struct emq_cmd *cmd, enum emq_kind kind) {
    emq_starve(cmd);
    cmd->no_key = (struct emq_key){.named = {{"", 0}, 0}, .name = emq_words[EMQ_EMPTY], .kind = kind, .wrong = true};
    return &cmd->no_key;
}

struct emq_looked *emq_no_lane(struct emq_cmd *cmd) {
    cmd->no_lane = (struct emq_looked){.group = emq_words[EMQ_EMPTY],
                                       .set = emq_no_key(cmd, EMQ_ZSET),
                                       .is = {.troubled = true, .closed = true},
                                       .trouble = {EMQ_WRONG_TYPE, {"", 0}, {"", 0}},
                                       .met = true};
    return &cmd->no_lane;
}

/* Room for so many strings more. */
static bool own_more(struct emq_cmd *cmd, uint32_t more) {
    uint32_t room = cmd->owned_room;
    if (cmd->owned_count + more <= room) return true;
#ifdef EMQ_STARVE
    room = cmd->owned_count + more; /* so that a gate which reserves too little is seen */
#endif
    while (room < cmd->owned_count + more) room *= 2;
    RedisModuleString **wider = emq_try_alloc(room * sizeof *wider);
    if (wider == NULL) return false;
    memcpy(wider, cmd->owned, cmd->owned_count * sizeof *wider);
    if (cmd->owned != cmd->first_owned) RedisModule_Free(cmd->owned);
    cmd->owned = wider;
    cmd->owned_room = room;
    return true;
}

RedisModuleString *emq_own(struct emq_cmd *cmd, RedisModuleString *string) {
    if (string == NULL) return NULL;
    if (!own_more(cmd, 1)) {
        emq_starve(cmd);
        if (!cmd->starved) return string;
        RedisModule_FreeString(NULL, string);
        return emq_words[EMQ_EMPTY];
    }
    cmd->owned[cmd->owned_count++] = string;
    return string;
}

bool emq_is_starved(struct emq_cmd *cmd) {
    if (cmd->starved) emq_reply_error(cmd, "");
    return cmd->starved;
}

/* Of the keys that many commands need these may be opened between the writes. */
enum { LATE_KEYS = 5 };

bool emq_may_write(struct emq_cmd *cmd, size_t strings) {
    if (!emq_bag_reserve(&cmd->keys, LATE_KEYS, emq_try_alloc, RedisModule_Free) ||
        !own_more(cmd, (uint32_t)strings + cmd->lanes.count + LATE_KEYS)) {
        emq_starve(cmd);
    }
    if (emq_is_starved(cmd)) return false;
    cmd->writes = true;
    return true;
}
