/* One EMQ.TAKE: what it plans (take.c), what it writes and says (take_write.c), and how it waits (block.c).
 *
 * A take goes through take_begin, take_read, take_look, take_park, take_write, take_reply and take_end, in this order; one
 * that was answered on the way, or that writes nothing, leaves out what is between that and take_end. */
#ifndef EMQ_TAKE_H
#define EMQ_TAKE_H

#include "heads.h"
#include "parking.h"

#define NOBODY UINT32_MAX
/* Lanes are opened by the chunk, so that a long ring costs nothing to a take that ends at its first lane. */
#define STALL_CHUNK 16
#define STALL_CHUNKS (EMQ_WINDOW_MAX / STALL_CHUNK + 1)

/* The places of its keys and arguments. */
enum {
    TAKE_RING,
    TAKE_PENDING,
    TAKE_ACTIVE,
    TAKE_META,
    TAKE_WAKE,
    TAKE_DEAD,
    TAKE_BASE,
    TAKE_LEASE,
    TAKE_SIZE,
    TAKE_WORTH,
    TAKE_WATCHER,
    TAKE_PARK,
    TAKE_BLOCK, /* the word */
    TAKE_BLOCK_MS
};

/* The fields of rota. */
enum { FLAT, TURN, LEFT, FIELDS };

struct take;

/* A lane, or the flat set, as rota.c sees it, and what it is here. */
struct take_stall {
    struct emq_stall is;
    struct take *take;
    struct emq_key *set;
    RedisModuleString *group; /* NULL: the flat set */
    struct emq_ready slot[2];
    RedisModuleCallReply *ids; /* of the run: places ids_at to ids_upto */
    long long ids_at, ids_upto, width;
    long long runs_from;  /* places from here on are the run's; -1: there is none */
    uint32_t first, last; /* what leaves its set, as places of `leaving` */
    bool walks;           /* its iterator is in use */
    bool owed;            /* `fresh_next` said that it owes its next place */
};

struct leaving {
    RedisModuleString *id;
    uint32_t next;
};

struct take {
    struct emq_cmd *cmd;
    long long lease_ms, most, offered;
    long long block_ms, waited_ms; /* block_ms 0: BLOCK was not asked for; else the reply ends with waited_ms */
    bool has_waited;
    struct emq_text worth, watcher;
    struct emq_key *ring, *pending, *active, *wake; /* ring and pending: only when there is room */
    struct emq_key *kept, *owing, *weights, *watch; /* kept: the rota */
    long long ceiling, seats, room;                 /* ceiling 0: there is none */
    long long ring_left, flat_left, damaged;        /* for the next take */
    RedisModuleString *told[FIELDS], *fields[FIELDS];
    struct emq_parking parking;
    struct take_stall *stalls[STALL_CHUNKS]; /* in the order in which they were met: see take_stall_at */
    uint32_t met, served, leaves;
    struct emq_lane flat_lane;
    struct take_stall flat;
    struct emq_rota rota;
    struct emq_ready jobs[EMQ_WALK_MAX];
    struct leaving leaving[EMQ_ROWS_MAX];
    struct emq_odds odds;
};

/* The stall of a lane that was met. */
static inline struct take_stall *take_stall_at(const struct take *take, uint32_t number) {
    return &take->stalls[number / STALL_CHUNK][number % STALL_CHUNK];
}

void take_begin(struct take *take, struct emq_cmd *cmd);
bool take_read(struct take *take); /* the arguments. False: refused, and answered */
/* Reads and plans; nothing is written. */
enum take_sight { TAKE_REFUSED, TAKE_PAUSED, TAKE_PLANNED } take_look(struct take *take); /* TAKE_REFUSED: answered */
bool take_park(struct take *take); /* what is due, and who watches. False: refused, and answered */
bool take_may_write(struct take *take); /* the gate; take_park ends with it. False: refused, and answered */
void take_write(struct take *take);
int take_reply(struct take *take);
int take_reply_paused(struct take *take);
void take_end(struct take *take);

/* With room and ceiling left as they are, a further take would find something. Right before take_write and after it. */
bool take_is_more(const struct take *take);
RedisModuleString *take_field(struct take *take, int field);
/* block.c: BLOCK was asked for. Plans, writes and answers, or lets the caller wait. */
void take_or_wait(struct take *take);

#endif
