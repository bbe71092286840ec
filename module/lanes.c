/* The policy of lanes. Each function is a fragment of transitions/shared of the same meaning. */
#include "lanes.h"

static long long least(long long one, long long other) { return one < other ? one : other; }

/* How many jobs could be served now: those that wait, as far as seats are free below the limit. */
long long emq_servable(const struct emq_lane *lane) {
    if (lane->parked) return 0;
    if (!lane->limited) return lane->depth;
    long long seats = least(lane->depth, lane->limit - lane->act);
    return seats > 0 ? seats : 0;
}

/* Whether the lane may be served: not empty, not parked, below its limit (rule 10). */
bool emq_serviceable(const struct emq_lane *lane) {
    return lane->depth > 0 && !lane->parked && !(lane->limited && lane->act >= lane->limit);
}

/* So many more jobs of the lane are in flight. The count never falls below 0; what another program made less is raised
 * from there. One that is no number is left as it is. */
void emq_fly(struct emq_lane *lane, long long more) {
    if (!lane->act_known) return;
    lane->act += more;
    if (more < 0 && lane->act < 0) lane->act = 0;
    lane->flown = true;
}

/* What follows from the moves of a command. Of a damaged lane only what is sound is written. */
struct emq_closing emq_close(const struct emq_lane *lane) {
    struct emq_closing closing = {EMQ_COUNT_KEEP, EMQ_RING_KEEP, EMQ_LIVE_KEEP, 0};
    if (lane->flown) closing.count = lane->act > 0 ? EMQ_COUNT_SET : EMQ_COUNT_DROP;
    if (lane->troubled) {
        if (lane->left && lane->depth == 0 && !lane->ringless) closing.ring = EMQ_RING_LEAVE;
    } else {
        long long can = emq_servable(lane);
        if (can > lane->could) closing.worth = can - lane->could;
        if (can > 0 && !lane->stands) closing.ring = EMQ_RING_ENTER;
        if (can == 0 && lane->stands) closing.ring = EMQ_RING_LEAVE;
    }
    bool lives = lane->depth > 0 || lane->act > 0;
    if (lives != lane->live && lane->act_known && !lane->closed) closing.live = lives ? EMQ_LIVE_ENTER : EMQ_LIVE_DROP;
    return closing;
}

/* One token for each lane that entered the ring; what these do not cover is one more, if none lay there before. */
struct emq_waking emq_wakes(long long lying, long long entered, long long worth) {
    struct emq_waking waking = {0, 0, false};
    if ((entered <= 0 && worth <= 0) || (lying > 0 && entered == 0)) return waking;
    waking.ones = least(entered, EMQ_WAKES_MAX);
    if (lying == 0 && worth > waking.ones) {
        waking.ones = least(entered, EMQ_WAKES_MAX - 1);
        waking.rest = least(worth - waking.ones, EMQ_WORTH_MAX);
    }
    waking.cut = lying + waking.ones + (waking.rest ? 1 : 0) > EMQ_WAKES_MAX;
    return waking;
}
