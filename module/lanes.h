/* The policy of lanes and wake-ups, as pure functions over plain numbers (docs/wire.md, rules 10 to 12).
 *
 * No module header, so that it is tested without a server and compared with the model's answers. lane_io.c reads and
 * writes what this decides. */
#ifndef EMQ_LANES_H
#define EMQ_LANES_H

#include <stdbool.h>
#include <stddef.h>

#define EMQ_WAKES_MAX 64
#define EMQ_WORTH_MAX 1000

/* What the bookkeeping of one group is known to be. As in shared/look_lane.lua. */
struct emq_lane {
    long long depth;  /* ids that wait; moves change it */
    long long act;    /* jobs in flight; 0 when it is no number: see act_known */
    long long limit;  /* see limited */
    long long could;  /* how many could be served when it was looked at */
    bool act_known;   /* the counter is sound */
    bool limited;     /* there is a limit; one that is no number limits nothing */
    bool parked;      /* the group stands in `paused` */
    bool stands;      /* it is on the ring, as far as this command knows */
    bool live;        /* it is in `lanes`, as far as this command knows */
    bool flown;       /* act was changed */
    bool left;        /* an id was taken out of the lane */
    bool closed;      /* the lane is of another type */
    bool ringless;    /* the ring is of another type */
    bool troubled;    /* one of its keys is damaged */
};

/* What is to be written for a lane at the end of a command. */
struct emq_closing {
    enum { EMQ_COUNT_KEEP, EMQ_COUNT_SET, EMQ_COUNT_DROP } count;
    enum { EMQ_RING_KEEP, EMQ_RING_ENTER, EMQ_RING_LEAVE } ring;
    enum { EMQ_LIVE_KEEP, EMQ_LIVE_ENTER, EMQ_LIVE_DROP } live;
    long long worth; /* jobs it can serve more than before */
};

/* Which wake-ups to leave: `ones` tokens "1", then one of worth `rest` unless that is 0; then cut the list to 64. */
struct emq_waking {
    long long ones, rest;
    bool cut;
};

long long emq_servable(const struct emq_lane *lane);
bool emq_serviceable(const struct emq_lane *lane);
void emq_fly(struct emq_lane *lane, long long more);
struct emq_closing emq_close(const struct emq_lane *lane);
struct emq_waking emq_wakes(long long lying, long long entered, long long worth);

#endif
