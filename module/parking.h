/* How long a worker may park, who watches meanwhile, and what is left of the worth that woke one (docs/wire.md, take, 7
 * and 8). No module header. */
#ifndef EMQ_PARKING_H
#define EMQ_PARKING_H

#include <stdbool.h>
#include <stddef.h>

#include "bag.h"

struct emq_parking {
    bool due;
    long long wait_ms;
    bool watches; /* the caller is to watch until `until_ms` */
    bool begins;  /* and did not watch until then before */
    long long until_ms;
};

/* `next` is when something is due or lapses next, infinity when nothing ever does; `watcher` is empty for a caller without
 * a name; `watch` is what the key of that name says. */
struct emq_parking emq_park(double next, long long now_ms, long long offered, struct emq_text watcher,
                            struct emq_text watch);
/* Whether a watch is this watcher's: its text begins with the name and a space. */
bool emq_is_watch_of(struct emq_text watch, struct emq_text watcher);
/* What is to be handed on by a caller that got so many jobs, and knows of so many that are left. 0: nothing. */
long long emq_hand_on(struct emq_text worth, long long got, long long left);

#endif
