/* Whose turn it is: one walk along the rota (docs/wire.md, take, 2 and 3; shared/go_round.lua).
 *
 * The rota is the ring with the flat set among its lanes. Whoever has its turn serves as much as its weight, its limit and
 * the caller's room allow, and goes to the tail. No module header: a lane is a `struct emq_stall`, which the caller opens
 * when its entry of the ring comes. Nothing is written: the outcome says what is to be. */
#ifndef EMQ_ROTA_H
#define EMQ_ROTA_H

#include <stddef.h>
#include <stdint.h>

#include "lanes.h"
#include "manners.h"

#define EMQ_ROOM_MAX 1000
#define EMQ_SPARE 100 /* entries of the ring, and rows, that a walk may look at beyond its room */
#define EMQ_WINDOW_MAX (EMQ_ROOM_MAX + EMQ_SPARE)
/* Each turn that ends serves one job at least, and each damaged lane goes to the tail once. */
#define EMQ_BACK_MAX (EMQ_ROOM_MAX + EMQ_WINDOW_MAX + 2)

/* A lane, or the flat set, at its turns. */
struct emq_stall {
    struct emq_lane *lane; /* of the flat set too: one without a limit */
    struct emq_line line;
    long long weight;
    long long left; /* what is left of a turn that was cut short; 0: it begins anew */
    long long served;
    bool is_flat;
    bool resumes; /* it is the lane whose turn the take before could not end, if it is still the head */
};

/* Opens the stall of the ring's entry at this place, from 0 on; NULL: one that was opened before. */
typedef struct emq_stall *(*emq_step)(void *who, long long place);

struct emq_rota {
    emq_step step;
    void *who;
    struct emq_stall *flat;
    long long length, window; /* entries of the ring, and how many are looked at */
    long long flat_at;        /* how many entries are ahead of the flat set; -1: it is not in front */
    long long resumed;        /* what is left of the turn that the take before could not end */
    long long room;
    /* The outcome. */
    long long passed;  /* entries that leave the head of the ring */
    long long damaged; /* lanes that were met and are */
    long long ahead;   /* how many entries are then ahead of the flat set, if jobs wait there */
    struct emq_stall *unfinished; /* whose turn was cut short, or NULL */
    long long share;              /* and what is left of it */
    uint32_t tail_count, back_from, back_to;
    struct emq_stall *tail[EMQ_WINDOW_MAX + 1]; /* what comes back to the ring, in order */
    struct emq_stall *back[EMQ_BACK_MAX];
};

/* Sets all that is not the outcome, which emq_go_round makes. `flat_at` below 0: nobody said it. */
void emq_rota_begin(struct emq_rota *rota, emq_step step, void *who, struct emq_stall *flat, long long length,
                    long long room);
void emq_go_round(struct emq_rota *rota, long long *reads);

#endif
