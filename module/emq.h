/* What all commands of the module share. Read this first.
 *
 * A command has one shape (see complete.c for one that has everything):
 *
 *   1. parse    arguments in their one spelling: emq_argument, emq_optional. A bad one is answered, nothing is done
 *   2. look     open what the command depends on, in the order in which the script judges it; answer early
 *   3. gate     emq_may_write: the memory for what follows is there
 *   4. write    only emq_z..., emq_h..., emq_l..., emq_delete, which cannot fail after the looks, replicate themselves as
 *               the core command of that name, tell keyspace listeners, and touch WATCH
 *   5. close    emq_close_lanes, when a lane, the flat set or a lease under a ceiling was changed
 *   6. reply
 *
 * Reading and judging come before the first write, so a refusal changes nothing. Nobody frees: keys, strings and lanes
 * belong to the running command and end with it. The native key API is used for everything it has (sets have none:
 * emq_is_member and emq_srem ask the server), since it costs a third of RedisModule_Call, and nothing of it can be renamed away.
 *
 * To add a command: a function `int emq_<name>(struct emq_cmd *)` in the file of its family, its declaration in
 * commands.h, and one entry of the table in emq.c. The key order is that of the script's KEYS followed by its ARGV, and
 * all keys must be given: a call with fewer is the script's (there is nothing in a command that tells keys from
 * arguments).
 *
 * A key is opened once in a command however often it is named, and for one type: emq_open finds it again. Whoever names
 * one key for two types is answered WRONGTYPE. So no two handles ever write to the same key.
 *
 * Memory: what the module itself asks for may be lacking (memory.c). Then a command is refused at its gate. Strings and
 * values come from the server's allocator, which ends the process when the machine has no memory left, as for each of its
 * own commands. */
#ifndef EMQ_H
#define EMQ_H

#include <stdbool.h>

#include "bag.h"
#include "emq_api.h"
#include "lanes.h"
#include "parse.h"

#define EMQ_WALK_MAX 1000
#define EMQ_AT_ONCE 100 /* lanes of which one command tells */

/* ---- texts --------------------------------------------------------------------------------------------------------*/

/* Field names and values that are written often, made once at load. */
enum emq_word {
    EMQ_ATTEMPTS,
    EMQ_STATE,
    EMQ_PAYLOAD,
    EMQ_GROUP,
    EMQ_MAX_ATTEMPTS,
    EMQ_UNSPENT,
    EMQ_PARENT,
    EMQ_PARENT_QUEUE,
    EMQ_PARENT_POLICY,
    EMQ_CLAIMED_AT,
    EMQ_LAST_ERROR,
    EMQ_DIED_AT,
    EMQ_COMPLETED_AT,
    EMQ_RESULT,
    EMQ_COUNT,
    EMQ_CONCURRENCY,
    EMQ_PAUSED_FIELD,
    EMQ_PENDING,
    EMQ_ACTIVE,
    EMQ_SCHEDULED,
    EMQ_DEAD,
    EMQ_ZERO,
    EMQ_ONE,
    EMQ_EMPTY,
    EMQ_WORDS
};
extern RedisModuleString *emq_words[EMQ_WORDS];

struct emq_text emq_text_of(const RedisModuleString *string);
struct emq_text emq_literal(const char *text);
bool emq_same(const RedisModuleString *one, const RedisModuleString *other);
bool emq_says(const RedisModuleString *string, const char *text);

/* ---- trouble ------------------------------------------------------------------------------------------------------*/

/* Why something must not be written, with what the sentence needs. Plain data: nothing is owned. */
struct emq_trouble {
    enum {
        EMQ_SOUND = 0,
        EMQ_WRONG_TYPE, /* key */
        EMQ_MISCOUNTED, /* field of key */
        EMQ_NO_NUMBER,  /* key */
        EMQ_BROKEN_ROW  /* key is the id */
    } fault;
    struct emq_text key, field;
};

/* ---- keys ---------------------------------------------------------------------------------------------------------*/

enum emq_kind { EMQ_STRING = 1, EMQ_LIST, EMQ_HASH, EMQ_SET, EMQ_ZSET }; /* the server's numbers */

struct emq_key {
    struct emq_named named;
    RedisModuleString *name;
    RedisModuleKey *open; /* NULL: absent, and opened for reading */
    enum emq_kind kind;
    bool owns_name, writable;
    bool wrong; /* another type: neither read nor write it */
};

/* The keys of a queue that many commands need, below its base. */
enum emq_place {
    EMQ_AT_RING,
    EMQ_AT_LANES,
    EMQ_AT_GACTIVE,
    EMQ_AT_GLIMIT,
    EMQ_AT_PAUSED,
    EMQ_AT_WAKE,
    EMQ_AT_META,
    EMQ_AT_FRESH_NEXT,
    EMQ_AT_PENDING,
    EMQ_AT_DEAD,
    EMQ_AT_OUTBOX,
    EMQ_AT_COMPLETED,
    EMQ_AT_FAILED,
    EMQ_PLACES
};

/* ---- lanes --------------------------------------------------------------------------------------------------------*/

struct emq_looked {
    struct emq_named named; /* the group */
    struct emq_lane is;
    RedisModuleString *group;
    struct emq_key *set;
    struct emq_trouble trouble;
    bool closes; /* emq_close_lanes writes for it */
    bool met;    /* a claim has come by it on the ring */
    uint32_t joins; /* emq_put_in_lanes sorts by it; else 0 */
};

/* ---- the running command ------------------------------------------------------------------------------------------*/

struct emq_spec;

#define EMQ_TEXTS 16
#ifndef EMQ_OWNED_FIRST
#define EMQ_OWNED_FIRST 64
#endif

struct emq_cmd {
    RedisModuleCtx *ctx;
    const struct emq_spec *spec;
    RedisModuleString **argv; /* the keys and arguments, without the command's name */
    int argc;
    struct emq_text base;
    long long now_ms; /* 0: not asked yet */
    struct emq_key *place[EMQ_PLACES];
    /* What the moves add up to for emq_close_lanes (shared/tally.lua). */
    long long joined_flat, ended;
    long long room;   /* what the queue's ceiling left before; below 0 when more are in flight */
    bool has_ceiling; /* room is known */
    bool starved;     /* the machine gave no memory: nothing is written, and the answer says so */
    bool writes;      /* from the gate on */
    struct emq_bag keys, lanes;
    RedisModuleString **owned;
    uint32_t owned_count, owned_room;
    struct emq_key first_keys[EMQ_BAG_FIRST];
    struct emq_looked first_lanes[EMQ_BAG_FIRST];
    RedisModuleString *first_owned[EMQ_OWNED_FIRST];
    struct emq_key no_key;
    struct emq_looked no_lane;
    struct emq_text texts[EMQ_TEXTS]; /* see emq_said */
};

/* What a key or an argument says. The first are asked for once, since each is looked at several times. */
static inline struct emq_text emq_said(const struct emq_cmd *cmd, int place) {
    return place < EMQ_TEXTS ? cmd->texts[place] : emq_text_of(cmd->argv[place]);
}

void emq_begin(struct emq_cmd *cmd, RedisModuleCtx *ctx, const struct emq_spec *spec, RedisModuleString **argv,
               int argc);
void emq_end(struct emq_cmd *cmd);

/* Server time in whole Unix ms, the same throughout a command: what TIME says in a script. */
long long emq_now(struct emq_cmd *cmd);
/* Gives a string to the command, which frees it at its end. NULL is passed on. Go on with what it returns. */
RedisModuleString *emq_own(struct emq_cmd *cmd, RedisModuleString *string);
/* As a text that is copied or told. Not for a key's own value: the commonest ones are shared. */
RedisModuleString *emq_number(struct emq_cmd *cmd, long long number);
RedisModuleString *emq_join(struct emq_cmd *cmd, const struct emq_text *parts, size_t count, const char *between,
                            size_t between_len);

/* ---- kept.c: what outlives a command, lent to it -------------------------------------------------------------------*/

RedisModuleString *emq_instant(struct emq_cmd *cmd, long long ms);
RedisModuleString *emq_name_at(struct emq_cmd *cmd, enum emq_place place, const char *suffix);

/* ---- memory.c ---------------------------------------------------------------------------------------------------- */

void *emq_try_alloc(size_t bytes);
void emq_starve(struct emq_cmd *cmd); /* there was no memory */
/* What is found where the machine gave no memory for a key or a lane: of another type, and damaged. */
struct emq_key *emq_no_key(struct emq_cmd *cmd, enum emq_kind kind);
struct emq_looked *emq_no_lane(struct emq_cmd *cmd);
/* True: memory was lacking, and that was answered. The functions of reply.c see to it by themselves. */
bool emq_is_starved(struct emq_cmd *cmd);
/* The gate before the first write: afterwards so many strings can be made, and one for each lane that was looked at.
 * False: the answer was given. */
bool emq_may_write(struct emq_cmd *cmd, size_t strings);

/* ---- keys.c: opening and reading; nothing is written --------------------------------------------------------------*/

struct emq_key *emq_open(struct emq_cmd *cmd, RedisModuleString *name, enum emq_kind kind, bool writes);
struct emq_key *emq_open_given(struct emq_cmd *cmd, int place, enum emq_kind kind, bool writes); /* a key of the call */
struct emq_key *emq_open_below(struct emq_cmd *cmd, const char *infix, struct emq_text name, const char *suffix,
                               enum emq_kind kind, bool writes); /* base, infix, name, suffix */
struct emq_key *emq_at(struct emq_cmd *cmd, enum emq_place place);
struct emq_trouble emq_wrong(const struct emq_key *key); /* EMQ_SOUND when the type is right, or the key is absent */
bool emq_is_absent(const struct emq_key *key);
long long emq_length(const struct emq_key *key); /* of a list, hash, set or zset; 0 when absent or wrong */
RedisModuleString *emq_hget(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field);
/* Three fields in one call; NULL for each that is absent. */
void emq_hget_three(struct emq_cmd *cmd, struct emq_key *key, const enum emq_word fields[3],
                    RedisModuleString *values[3]);
bool emq_zscore(struct emq_key *key, RedisModuleString *member, double *score);
bool emq_is_member(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member); /* of a set */
/* A counter of a hash before it is raised: 0 when absent. Trouble when raising it would fail. */
struct emq_trouble emq_look_counter(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field,
                                    long long *number);

/* ---- write.c ------------------------------------------------------------------------------------------------------*/

bool emq_zadd(struct emq_cmd *cmd, struct emq_key *key, long long score, RedisModuleString *member); /* true: new */
bool emq_zrem(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member);                  /* true: was there */
void emq_hset(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **pairs, size_t count);    /* fields and values */
void emq_hincr(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field, long long from, long long by);
bool emq_hsetnx(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field, RedisModuleString *value);
void emq_hdel(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *field);
void emq_hdel_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **fields, size_t count); /* at most EMQ_AT_ONCE */
void emq_srem(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *member); /* the key is open for reading */
void emq_lpush(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value);
void emq_rpush(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value);
void emq_lpush_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **values, size_t count);
void emq_rpush_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **values, size_t count);
void emq_lpop(struct emq_cmd *cmd, struct emq_key *key, long long count);
void emq_lrem_last(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString *value);
void emq_ltrim(struct emq_cmd *cmd, struct emq_key *key, long long most);
void emq_decr(struct emq_cmd *cmd, struct emq_key *key, long long from);
void emq_delete(struct emq_cmd *cmd, struct emq_key *key);
void emq_expire(struct emq_cmd *cmd, struct emq_key *key, long long after_ms);
void emq_delete_job(struct emq_cmd *cmd, struct emq_key *row); /* with all that hangs on it (rule 8) */

/* ---- rows.c -------------------------------------------------------------------------------------------------------*/

struct emq_key *emq_row_of(struct emq_cmd *cmd, struct emq_text id); /* base, "job:", id */
struct emq_trouble emq_broken_row(RedisModuleString *id);
bool emq_counts(const RedisModuleString *text, long long absent, long long *number); /* NULL counts as `absent` */
struct emq_trouble emq_miscounted(const struct emq_key *key, enum emq_word field);
/* Whether a token is the current one, by its bytes (rule 4). */
bool emq_holds(const RedisModuleString *attempts, const RedisModuleString *token);
/* Whether no attempt is left (rule 5). cap 0 or more. */
struct emq_trouble emq_look_spent(struct emq_cmd *cmd, struct emq_key *row, const RedisModuleString *attempts,
                                  long long cap, bool *spent);
void emq_lease(struct emq_cmd *cmd, struct emq_key *row, struct emq_key *active, RedisModuleString *id, long long token,
               long long lease_ms);

/* ---- lane_io.c ----------------------------------------------------------------------------------------------------*/

struct emq_looked *emq_look_lane(struct emq_cmd *cmd, RedisModuleString *group);
struct emq_looked *emq_meet_lane(struct emq_cmd *cmd, RedisModuleString *group); /* on the ring, for claims */
struct emq_trouble emq_look_place(struct emq_cmd *cmd, RedisModuleString *group, struct emq_looked **lane);
struct emq_trouble emq_look_ceiling(struct emq_cmd *cmd, struct emq_key *active);
void emq_put_in_lane(struct emq_cmd *cmd, struct emq_looked *lane, RedisModuleString *id);
bool emq_take_from_lane(struct emq_cmd *cmd, struct emq_looked *lane, RedisModuleString *id);
void emq_make_ready(struct emq_cmd *cmd, struct emq_key *row, RedisModuleString *id, struct emq_looked *lane);
bool emq_leave_active(struct emq_cmd *cmd, struct emq_key *active, RedisModuleString *id, struct emq_looked *lane);
void emq_close_lanes(struct emq_cmd *cmd);

/* ---- parents.c: flow parents --------------------------------------------------------------------------------------*/

struct emq_parent {
    bool exists;
    RedisModuleString *id;
    RedisModuleString *queue; /* another queue; NULL: this one */
    struct emq_key *row, *processed, *failed, *unsuccessful, *dependencies;
    struct emq_looked *lane;
    RedisModuleString *parent, *parent_queue;
    bool ignores; /* its own policy towards its parent is `id` */
};

struct emq_trouble emq_look_parent(struct emq_cmd *cmd, RedisModuleString *parent, RedisModuleString *queue,
                                   struct emq_parent *found);
void emq_child_completed(struct emq_cmd *cmd, struct emq_parent *parent, RedisModuleString *id,
                         RedisModuleString *result);
void emq_child_died(struct emq_cmd *cmd, struct emq_parent *parent, RedisModuleString *id, bool ignored,
                    RedisModuleString *reason);

/* ---- reply.c: each ends the command, so `return emq_reply_...` ------------------------------------------------------*/

int emq_reply_number(struct emq_cmd *cmd, long long number);
int emq_reply_word(struct emq_cmd *cmd, const char *word); /* [word] */
int emq_reply_error(struct emq_cmd *cmd, const char *text);
int emq_reply_trouble(struct emq_cmd *cmd, struct emq_trouble trouble);
int emq_reply_stale(struct emq_cmd *cmd);
/* To a holder of the right token when emq_leave_active has found the job nowhere. `lane` NULL: it is of the flat set. */
int emq_reply_not_held(struct emq_cmd *cmd, struct emq_looked *lane);
/* The reply to a holder whose settling some damage forbids: whoever does not hold the job is told that first. */
int emq_reply_refusal(struct emq_cmd *cmd, struct emq_trouble trouble, struct emq_key *active, RedisModuleString *id,
                      struct emq_looked *lane);
/* False when the answer was given: `trouble`, or a set that the job may stand in is of another type. */
bool emq_may_settle(struct emq_cmd *cmd, struct emq_key *active, RedisModuleString *id, struct emq_looked *lane,
                    struct emq_trouble trouble);
RedisModuleString *emq_trouble_text(struct emq_cmd *cmd, struct emq_trouble trouble);

/* Arguments. Each returns true when the number is there; else it has replied, and the caller returns. */
bool emq_argument(struct emq_cmd *cmd, int place, const char *name, long long least, long long most, long long *number);
bool emq_is_given(const struct emq_cmd *cmd, int place); /* not left out, and not empty */

#endif
