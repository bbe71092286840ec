/* Which job of a lane is served next: retries keep their manners (docs/wire.md, take, 4; shared/serve_lane.lua).
 *
 * A lane serves in mint order. But after a job that was tried before, the next place is a fresh job's. Two fingers on one
 * set: one at the oldest waiting job, one behind the fresh jobs that were served out of order. No module header: places
 * are numbers from 0, and what lies at a place is asked of a `struct emq_sight`. */
#ifndef EMQ_MANNERS_H
#define EMQ_MANNERS_H

#include <stdbool.h>

#define EMQ_NEAR 50 /* how many jobs behind the oldest are looked at one by one */

enum emq_head {
    EMQ_HEAD_NONE,  /* no job of this lane: it leaves the lane unserved */
    EMQ_HEAD_FRESH, /* none of its attempts counts */
    EMQ_HEAD_TRIED
};

/* Two jobs can have been looked at and still wait. So a look says where to keep what it finds: in slot 0 or 1. */
struct emq_sight {
    enum emq_head (*look)(void *who, long long place, int slot);
    bool (*is_fresh)(void *who, long long place); /* for the search; what is no job is fresh */
    void (*leave)(void *who, int slot, bool served);
};

struct emq_line {
    const struct emq_sight *sight;
    void *who;
    long long size, waiting;
    long long oldest;
    long long began, run; /* where the run of fresh jobs began, -1: there is none; and the place behind it */
    bool owes;            /* the next place is a fresh job's */
    bool searched, running;
    bool held;            /* the oldest was looked at: it is tried, and waits */
    bool ended;           /* likewise the one at `run` */
    int slot;             /* of the oldest; the run has the other */
};

void emq_line_up(struct emq_line *line, const struct emq_sight *sight, void *who, long long size, bool owes);
/* Serves up to `most` jobs within the rows that may still be read; returns how many. */
long long emq_line_serve(struct emq_line *line, long long most, long long *reads);

#endif
