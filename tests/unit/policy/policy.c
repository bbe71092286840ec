/* The policy files of the module on plain numbers, for the test beside this file. A job is a mark: `f` a fresh one, `r`
 * one that was tried, `x` no job of this lane. Lane 0 is the flat set. */
#include <stdlib.h>
#include <string.h>

#include "parking.h"
#include "rota.h"

struct plain {
    struct emq_stall is;
    struct emq_lane lane;
    const char *marks;
    long long slot[2];
    int number, met;
    struct town *town;
};

struct town {
    struct plain *lanes;
    const int *ring;
    long long count, *starts; /* lane and place of each job, in order */
};

static enum emq_head look(void *who, long long place, int slot) {
    struct plain *lane = who;
    lane->slot[slot] = place;
    return lane->marks[place] == 'f' ? EMQ_HEAD_FRESH : lane->marks[place] == 'r' ? EMQ_HEAD_TRIED : EMQ_HEAD_NONE;
}

static bool is_fresh(void *who, long long place) { return ((struct plain *)who)->marks[place] != 'r'; }

static void leave(void *who, int slot, bool served) {
    struct plain *lane = who;
    struct town *town = lane->town;
    if (!served) return;
    town->starts[2 * town->count] = lane->number;
    town->starts[2 * town->count++ + 1] = lane->slot[slot];
}

static const struct emq_sight SIGHT = {look, is_fresh, leave};

static struct emq_stall *step(void *who, long long place) {
    struct town *town = who;
    struct plain *lane = &town->lanes[town->ring[place]];
    if (lane->met) return NULL;
    lane->met = 1;
    return &lane->is;
}

struct policy_lane {
    const char *marks;
    long long weight, limit, act; /* limit 0: none */
    int parked, damaged, owes, resumes;
};

/* `told` is {flat_at, resumed, room, reads}. Fills `starts`, `ring_after`, `owes_after`, and `outcome` with {jobs, entries
 * of the ring, flat's place, damaged, unfinished lane or 0, what is left of its turn, reads left}. */
void policy_walk(int count, const struct policy_lane *given, int length, const int *ring, const long long *told,
                 long long *starts, int *ring_after, int *owes_after, long long *outcome);
void policy_walk(int count, const struct policy_lane *given, int length, const int *ring, const long long *told,
                 long long *starts, int *ring_after, int *owes_after, long long *outcome) {
    struct plain *lanes = calloc((size_t)count, sizeof *lanes);
    struct town town = {lanes, ring, 0, starts};
    struct emq_rota *rota = malloc(sizeof *rota);
    long long reads = told[3], after = 0;
    memset(rota, 0x5a, sizeof *rota);
    for (int i = 0; i < count; i++) {
        long long depth = (long long)strlen(given[i].marks);
        lanes[i].marks = given[i].marks;
        lanes[i].number = i;
        lanes[i].town = &town;
        lanes[i].lane = (struct emq_lane){.depth = depth, .act = given[i].act, .limit = given[i].limit,
                                          .act_known = true, .limited = given[i].limit > 0,
                                          .parked = given[i].parked, .troubled = given[i].damaged};
        lanes[i].is = (struct emq_stall){.lane = &lanes[i].lane, .weight = given[i].weight, .is_flat = i == 0,
                                         .resumes = given[i].resumes};
        emq_line_up(&lanes[i].is.line, &SIGHT, &lanes[i], depth, given[i].owes);
    }
    emq_rota_begin(rota, step, &town, &lanes[0].is, length, told[2]);
    if (told[0] >= 0) rota->flat_at = told[0];
    rota->resumed = told[1];
    emq_go_round(rota, &reads);
    for (long long i = rota->passed; i < length; i++) ring_after[after++] = ring[i];
    for (uint32_t i = 0; i < rota->tail_count; i++) ring_after[after++] = ((struct plain *)rota->tail[i]->line.who)->number;
    for (int i = 0; i < count; i++) owes_after[i] = lanes[i].is.line.owes && lanes[i].lane.depth > 0;
    struct emq_stall *cut = rota->unfinished;
    long long found[] = {town.count, after, lanes[0].lane.depth > 0 ? rota->ahead : -1, rota->damaged,
                         cut != NULL ? ((struct plain *)cut->line.who)->number : 0, cut != NULL ? rota->share : 0, reads};
    memcpy(outcome, found, sizeof found);
    free(rota);
    free(lanes);
}

long long policy_hand_on(const char *worth, size_t len, long long got, long long left);
long long policy_hand_on(const char *worth, size_t len, long long got, long long left) {
    return emq_hand_on((struct emq_text){worth, len}, got, left);
}

void policy_park(double next, long long now_ms, long long offered, const char *watcher, size_t watcher_len,
                 const char *watch, size_t watch_len, long long *outcome);
void policy_park(double next, long long now_ms, long long offered, const char *watcher, size_t watcher_len,
                 const char *watch, size_t watch_len, long long *outcome) {
    struct emq_parking found = emq_park(next, now_ms, offered, (struct emq_text){watcher, watcher_len},
                                        (struct emq_text){watch, watch_len});
    outcome[0] = found.due;
    outcome[1] = found.wait_ms;
    outcome[2] = found.watches ? found.until_ms : 0;
}
