/* What the commands share that judge many jobs and write once: docs/wire.md, rule 3.
 *
 * Each job of a batch is judged on its own, and all of them before the first write. What is written for many at once is
 * replicated as one core command, as the scripts do it. */
#ifndef EMQ_BATCH_H
#define EMQ_BATCH_H

#include "emq.h"

#define EMQ_BATCH_MAX 1000
#define EMQ_SLICE 100 /* how many ids promote and reap move unless told */

/* How many groups of `width` arguments follow the first `before`. False: more than a batch may have, and it was told. */
bool emq_batch_count(struct emq_cmd *cmd, int before, int width, uint32_t *count);
/* How many ids a call may touch: from 1 on, more than 1000 is lowered to it. False: it has replied. */
bool emq_limit(struct emq_cmd *cmd, int place, uint32_t *most);
/* The row of the id at a place of the call. *again: a row of that name was opened before in this command. */
struct emq_key *emq_batch_row(struct emq_cmd *cmd, int place, bool writes, bool *again);
/* The first ids of a set up to that score, at most `most`; returns how many. */
uint32_t emq_due(struct emq_cmd *cmd, struct emq_key *set, long long upto, uint32_t most, RedisModuleString **ids);
/* Writes into the row of a job that goes to dead why it cannot be served. It is no death of the job's own. */
void emq_set_aside(struct emq_cmd *cmd, struct emq_key *row, struct emq_trouble trouble);

/* As their namesakes of write.c, for at most EMQ_BATCH_MAX members. Returns how many are new. */
uint32_t emq_zadd_all(struct emq_cmd *cmd, struct emq_key *key, long long score, RedisModuleString **ids,
                      uint32_t count);
void emq_zrem_all(struct emq_cmd *cmd, struct emq_key *key, RedisModuleString **ids, uint32_t count);
/* Puts jobs into their lanes, which are sound, each lane by one command. At most EMQ_BATCH_MAX. */
struct emq_joiner {
    struct emq_looked *lane;
    RedisModuleString *id;
};
void emq_put_in_lanes(struct emq_cmd *cmd, const struct emq_joiner *jobs, uint32_t count);
/* The rows are there, and each is given once. All that hangs on them goes as well (rule 8). */
void emq_delete_jobs(struct emq_cmd *cmd, struct emq_key **rows, uint32_t count);

int emq_reply_ids(struct emq_cmd *cmd, RedisModuleString **ids, uint32_t count); /* one array, also within a reply */

#endif
