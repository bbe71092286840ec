/* What follows from the moves of a command, written once at the end of its writes: what lanes.c decides for each lane, and
 * the wake-ups. The script's twin is shared/close_lanes.lua.
 *
 * Each key that all lanes share is written for many of them by one command. */
#include "batch.h"

/* The lanes in the order in which they were looked at. NULL: the command has not to write for this one. */
static struct emq_looked *closing_lane(struct emq_cmd *cmd, uint32_t number) {
    struct emq_looked *lane = emq_bag_at(&cmd->lanes, number);
    return lane->closes ? lane : NULL;
}

static void write_counts(struct emq_cmd *cmd) {
    RedisModuleString *pairs[2 * EMQ_AT_ONCE], *landed[EMQ_AT_ONCE];
    size_t flying = 0, ended = 0;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = closing_lane(cmd, i);
        int what = lane != NULL ? (int)emq_close(&lane->is).count : EMQ_COUNT_KEEP;
        if (what == EMQ_COUNT_SET) {
            pairs[flying++] = lane->group;
            pairs[flying++] = emq_number(cmd, lane->is.act);
        } else if (what == EMQ_COUNT_DROP) {
            landed[ended++] = lane->group;
        }
        bool is_last = i + 1 == cmd->lanes.count;
        if (flying > 0 && (is_last || flying == 2 * EMQ_AT_ONCE)) {
            emq_hset(cmd, emq_at(cmd, EMQ_AT_GACTIVE), pairs, flying);
            flying = 0;
        }
        if (ended > 0 && (is_last || ended == EMQ_AT_ONCE)) {
            emq_hdel_all(cmd, emq_at(cmd, EMQ_AT_GACTIVE), landed, ended);
            ended = 0;
        }
    }
}

/* Returns how many enter the ring. */
static long long write_ring(struct emq_cmd *cmd) {
    RedisModuleString *entering[EMQ_AT_ONCE];
    size_t gathered = 0;
    long long entered = 0;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = closing_lane(cmd, i);
        int what = lane != NULL ? (int)emq_close(&lane->is).ring : EMQ_RING_KEEP;
        if (what == EMQ_RING_LEAVE) emq_lrem_last(cmd, emq_at(cmd, EMQ_AT_RING), lane->group);
        if (what == EMQ_RING_ENTER) {
            entering[gathered++] = lane->group;
            entered++;
        }
        if (gathered > 0 && (i + 1 == cmd->lanes.count || gathered == EMQ_AT_ONCE)) {
            emq_rpush_all(cmd, emq_at(cmd, EMQ_AT_RING), entering, gathered);
            gathered = 0;
        }
    }
    return entered;
}

static void write_registry(struct emq_cmd *cmd) {
    RedisModuleString *born[EMQ_AT_ONCE];
    uint32_t gathered = 0;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = closing_lane(cmd, i);
        int what = lane != NULL ? (int)emq_close(&lane->is).live : EMQ_LIVE_KEEP;
        if (what == EMQ_LIVE_ENTER) born[gathered++] = lane->group;
        if (what == EMQ_LIVE_DROP && !emq_at(cmd, EMQ_AT_LANES)->wrong) {
            emq_zrem(cmd, emq_at(cmd, EMQ_AT_LANES), lane->group);
            if (emq_length(emq_at(cmd, EMQ_AT_FRESH_NEXT)) > 0) emq_srem(cmd, emq_at(cmd, EMQ_AT_FRESH_NEXT), lane->group);
        }
        if (gathered > 0 && (i + 1 == cmd->lanes.count || gathered == EMQ_AT_ONCE)) {
            emq_zadd_all(cmd, emq_at(cmd, EMQ_AT_LANES), 0, born, gathered);
            gathered = 0;
        }
    }
}

static long long worth_of_lanes(struct emq_cmd *cmd) {
    long long worth = 0;
    for (uint32_t i = 0; i < cmd->lanes.count; i++) {
        struct emq_looked *lane = closing_lane(cmd, i);
        if (lane != NULL) worth += emq_close(&lane->is).worth;
    }
    return worth;
}

static void leave_tokens(struct emq_cmd *cmd, long long entered, long long worth) {
    struct emq_key *wake = emq_at(cmd, EMQ_AT_WAKE);
    RedisModuleString *tokens[EMQ_WAKES_MAX + 1];
    size_t count = 0;
    if (wake->wrong) return;
    struct emq_waking waking = emq_wakes(emq_length(wake), entered, worth);
    while (count < (size_t)waking.ones) tokens[count++] = emq_words[EMQ_ONE];
    if (waking.rest > 0) tokens[count++] = emq_number(cmd, waking.rest);
    if (count > 0) emq_lpush_all(cmd, wake, tokens, count);
    if (waking.cut) emq_ltrim(cmd, wake, EMQ_WAKES_MAX);
}

void emq_close_lanes(struct emq_cmd *cmd) {
    if (cmd->lanes.count == 0 && cmd->joined_flat == 0 && !cmd->has_ceiling) return;
    long long worth = cmd->joined_flat + worth_of_lanes(cmd);
    write_counts(cmd);
    long long entered = write_ring(cmd);
    write_registry(cmd);
    /* Seats that have become free under the ceiling, if there is something to serve. */
    long long seats = cmd->has_ceiling ? cmd->room + cmd->ended : 0;
    if (seats > cmd->ended) seats = cmd->ended;
    if (seats > worth &&
        (emq_length(emq_at(cmd, EMQ_AT_PENDING)) > 0 || emq_length(emq_at(cmd, EMQ_AT_RING)) > 0)) {
        worth = seats;
    }
    if (entered > 0 || worth > 0) leave_tokens(cmd, entered, worth);
}
