/* EMQ.WAKE: a worker that parks no more passes on the wake-up it may have got. The script's twin is wake.lua. */
#include "commands.h"
#include "parking.h"

/* Whether the watch is this caller's, which gives it up. */
static bool watches(struct emq_key *key, struct emq_text watcher) {
    struct emq_text watch = {"", 0};
    if (key == NULL || emq_is_absent(key)) return false;
    watch.at = RedisModule_StringDMA(key->open, &watch.len, REDISMODULE_READ);
    return watch.at != NULL && emq_is_watch_of(watch, watcher);
}

int emq_wake(struct emq_cmd *cmd) {
    enum { WAKE, RING, PENDING, BASE, WORTH, WATCHER };
    const struct emq_text none = {"", 0};
    long long share;
    struct emq_key *watch = NULL;
    if (!emq_argument(cmd, WORTH, "worth", 1, EMQ_WHOLE_MAX, &share)) return REDISMODULE_OK;
    if (share > EMQ_WORTH_MAX) share = EMQ_WORTH_MAX;
    if (emq_is_given(cmd, WATCHER)) {
        watch = emq_open_below(cmd, "watch", none, "", EMQ_STRING, true);
        if (watch->wrong) return emq_reply_trouble(cmd, emq_wrong(watch));
    }
    struct emq_key *wake = emq_open_given(cmd, WAKE, EMQ_LIST, true);
    struct emq_key *ring = emq_open_given(cmd, RING, EMQ_LIST, false);
    if (wake->wrong) return emq_reply_trouble(cmd, emq_wrong(wake));
    if (ring->wrong) return emq_reply_trouble(cmd, emq_wrong(ring));
    bool idle = emq_length(wake) == 0, is_servable = emq_length(ring) > 0;
    if (!is_servable) {
        struct emq_key *pending = emq_open_given(cmd, PENDING, EMQ_ZSET, false);
        if (pending->wrong) return emq_reply_trouble(cmd, emq_wrong(pending));
        is_servable = emq_length(pending) > 0;
    }
    bool gives_up = watch != NULL && watches(watch, emq_said(cmd, WATCHER));
    if (gives_up && idle && !is_servable) {
        struct emq_key *schedule = emq_open_below(cmd, "schedule", none, "", EMQ_ZSET, false);
        struct emq_key *active = emq_open_below(cmd, "active", none, "", EMQ_ZSET, false);
        if (schedule->wrong) return emq_reply_trouble(cmd, emq_wrong(schedule));
        if (active->wrong) return emq_reply_trouble(cmd, emq_wrong(active));
        is_servable = emq_length(schedule) + emq_length(active) > 0;
        share = 1;
    }
    if (!emq_may_write(cmd, 1)) return REDISMODULE_OK;

    if (gives_up) emq_delete(cmd, watch);
    if (!idle || !is_servable) return emq_reply_number(cmd, 0);
    emq_lpush(cmd, wake, emq_number(cmd, share));
    return emq_reply_number(cmd, 1);
}
