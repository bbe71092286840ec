/* The policy of the module without a server: random worlds, run under the sanitizers by test_fuzz_policy.py.
 *
 * What is asked is what holds of any input: numbers have one spelling, counts stay within their bounds, a walk serves no
 * more than its room and each job once, and a bag finds what was put in. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bag.h"
#include "lanes.h"
#include "parking.h"
#include "parse.h"
#include "rota.h"

static unsigned long long seed;

static long long below(long long most) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (long long)((seed >> 33) % (unsigned long long)most);
}

/* ---- parse.c ---------------------------------------------------------------------------------------------------- */

static void try_numbers(void) {
    static const char bytes[] = "0123456789+-. ex\0\n\xff";
    char text[24], spelled[24];
    size_t len = (size_t)below(22);
    for (size_t i = 0; i < len; i++) text[i] = bytes[below(below(2) ? 10 : (long long)sizeof bytes)];
    char *exact = malloc(len + !len); /* exactly as long, so that a byte read too many is told */
    assert(exact != NULL);
    memcpy(exact, text, len);
    long long number = 77;
    if (emq_counted(exact, len, &number)) {
        assert((size_t)snprintf(spelled, sizeof spelled, "%lld", number) == len && memcmp(spelled, exact, len) == 0);
    } else {
        assert(number == 77);
    }
    number = 77;
    if (emq_whole(exact, len, 1, EMQ_WHOLE_MAX, &number)) {
        assert(number >= 1 && number <= EMQ_WHOLE_MAX);
        assert((size_t)snprintf(spelled, sizeof spelled, "%lld", number) == len && memcmp(spelled, exact, len) == 0);
    } else {
        assert(number == 77);
    }
    struct emq_text odd = {exact, len}, me = {"me", 2};
    emq_park(below(2) ? 5e3 : 1.0 / 0.0, 1000, 1 + below(3600000), me, odd);
    assert(emq_hand_on(odd, below(1000), below(100000)) >= 0);
    emq_is_watch_of(odd, me);
    free(exact);
}

/* ---- lanes.c ---------------------------------------------------------------------------------------------------- */

static long long odd_number(void) {
    static const long long odd[] = {0, 1, 2, -1, 1000, 999999999999999, -99999999999999};
    return odd[below(7)];
}

static void try_lane(void) {
    struct emq_lane lane = {.depth = below(5), .act = odd_number(), .limit = odd_number()};
    lane.act_known = below(2), lane.limited = below(2), lane.parked = below(2), lane.troubled = below(4) == 0;
    lane.could = emq_servable(&lane);
    lane.stands = lane.could > 0;
    assert(emq_servable(&lane) >= 0 && emq_servable(&lane) <= lane.depth);
    assert(emq_serviceable(&lane) == (emq_servable(&lane) > 0));
    emq_fly(&lane, below(2) ? -1 : below(1000));
    struct emq_closing closing = emq_close(&lane);
    assert(closing.worth >= 0);
    long long lying = below(80), entered = below(2000), worth = below(100000);
    struct emq_waking waking = emq_wakes(lying, entered, worth);
    assert(waking.ones >= 0 && waking.rest >= 0 && waking.ones + (waking.rest > 0) <= EMQ_WAKES_MAX);
    assert(waking.rest <= EMQ_WORTH_MAX);
    assert(waking.cut == (lying + waking.ones + (waking.rest > 0) > EMQ_WAKES_MAX && waking.ones + waking.rest > 0));
}

/* ---- rota.c and manners.c --------------------------------------------------------------------------------------- */

#define LANES_MAX 1300
#define JOBS_MAX 40

struct world_lane {
    struct emq_stall stall;
    struct emq_lane lane;
    enum emq_head head[JOBS_MAX];
    bool left[JOBS_MAX], met;
    long long slot[2];
};

static struct world_lane lanes[LANES_MAX + 1];
static int entries[LANES_MAX];
static long long served;

static enum emq_head look(void *who, long long place, int slot) {
    struct world_lane *lane = who;
    assert(place >= 0 && place < lane->stall.line.size && (slot == 0 || slot == 1));
    lane->slot[slot] = place;
    return lane->head[place % JOBS_MAX];
}

static bool is_fresh(void *who, long long place) {
    struct world_lane *lane = who;
    assert(place >= 0 && place < lane->stall.line.size);
    return lane->head[place % JOBS_MAX] != EMQ_HEAD_TRIED;
}

static void leave(void *who, int slot, bool is_served) {
    struct world_lane *lane = who;
    assert(!lane->left[lane->slot[slot]]);
    lane->left[lane->slot[slot]] = true;
    served += is_served;
}

static const struct emq_sight SIGHT = {look, is_fresh, leave};

static void open_lane(struct world_lane *lane, bool is_flat) {
    memset(lane, 0, sizeof *lane);
    lane->lane = (struct emq_lane){.depth = below(3) ? below(JOBS_MAX) : below(2), .act = below(3), .act_known = true};
    if (!is_flat) {
        lane->lane.limited = below(3) == 0, lane->lane.limit = below(6) - 1, lane->lane.parked = below(10) == 0;
        lane->lane.troubled = below(15) == 0;
    }
    for (int i = 0; i < JOBS_MAX; i++) lane->head[i] = (enum emq_head)below(3);
    lane->stall = (struct emq_stall){.lane = &lane->lane, .weight = 1, .is_flat = is_flat};
    if (below(3) == 0) lane->stall.weight = below(2) ? 1 + below(5) : 999999999999999;
    lane->stall.resumes = below(5) == 0;
    emq_line_up(&lane->stall.line, &SIGHT, lane, lane->lane.depth, below(2));
}

static struct emq_stall *step(void *who, long long place) {
    (void)who;
    struct world_lane *lane = &lanes[entries[place]];
    if (lane->met) return NULL;
    open_lane(lane, false);
    lane->met = true;
    return &lane->stall;
}

static void try_rota(void) {
    static struct emq_rota rota;
    long long length = below(20) == 0 ? below(LANES_MAX) : below(8);
    for (int i = 0; i < LANES_MAX; i++) lanes[i].met = false, entries[i] = (int)below(length + 1);
    open_lane(&lanes[LANES_MAX], true);
    long long room = below(10) == 0 ? EMQ_ROOM_MAX : 1 + below(20), reads = room + EMQ_SPARE;
    emq_rota_begin(&rota, step, NULL, &lanes[LANES_MAX].stall, length, room);
    rota.flat_at = below(length + 1);
    rota.resumed = below(4);
    served = 0;
    emq_go_round(&rota, &reads);
    assert(served >= 0 && served <= room && served == room - rota.room && reads >= 0);
    assert(rota.passed >= 0 && rota.passed <= length && rota.tail_count <= rota.passed);
    assert(rota.ahead >= -1 && rota.share >= 0);
}

/* ---- bag.c, and an allocator that keeps count -------------------------------------------------------------------- */

static long blocks;

static void *count_up(size_t bytes) {
    void *block = malloc(bytes);
    assert(block != NULL && bytes > 0);
    blocks++;
    memset(block, 0xA5, bytes); /* nobody may count on zeros */
    return block;
}

static void count_down(void *block) {
    blocks--;
    free(block);
}

struct thing {
    struct emq_named named;
    int number;
};

static void try_bag(void) {
    static char names[6000][8];
    struct thing first[EMQ_BAG_FIRST], *known[6000];
    struct emq_bag bag;
    int count = (int)(below(10) ? below(60) : below(6000));
    emq_bag_open(&bag, sizeof(struct thing), first);
    for (int i = 0; i < count; i++) {
        int len = snprintf(names[i], sizeof names[i], "%x", (unsigned)i);
        struct emq_text name = {names[i], (size_t)len};
        assert(emq_bag_find(&bag, name) == NULL);
        known[i] = emq_bag_add(&bag, name, count_up, count_down);
        known[i]->number = i;
    }
    for (int i = 0; i < count; i++) {
        assert(known[i]->number == i && emq_bag_at(&bag, (uint32_t)i) == (void *)known[i]);
        struct emq_named *found = emq_bag_find(&bag, known[i]->named.name);
        assert(found == (void *)known[i]);
    }
    for (int i = 0; i < count; i += 7) {
        struct emq_named *second = emq_bag_add(&bag, known[i]->named.name, count_up, count_down);
        assert(second != (void *)known[i] && emq_bag_find(&bag, second->name) == (void *)known[i]);
    }
    emq_bag_close(&bag, count_down);
    assert(blocks == 0);
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 20; k++) try_numbers(), try_lane();
        try_rota();
        if (i % 20 == 0) try_bag();
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
