/* What becomes of the ids at the head of a ready set when a claim of many walks them: shared/judge_head.lua,
 * sort_out.lua, lease_jobs.lua. Judging comes before taking, so that a refusal consumes nothing. */
#ifndef EMQ_HEADS_H
#define EMQ_HEADS_H

#include "emq.h"
#include "manners.h"
#include "rota.h"

#define EMQ_ROWS_MAX EMQ_WINDOW_MAX /* rows that a claim may read */

/* A job that can be served. */
struct emq_ready {
    struct emq_key *row;
    RedisModuleString *id, *payload; /* payload NULL: none */
    RedisModuleString *name;         /* the group as replies tell it */
    long long made;
};

/* An id that is neither served nor a ghost. */
struct emq_odd {
    struct emq_key *row; /* NULL: broken */
    RedisModuleString *id, *group;
    struct emq_looked *home;
    struct emq_trouble trouble;
    bool is_misplaced, goes_home;
};

struct emq_odds {
    uint32_t count, homes;
    struct emq_odd at[EMQ_ROWS_MAX];
};

/* `group` NULL: the flat set. What is more than a ghost and not served is added to `odds`. */
enum emq_head emq_judge_head(struct emq_cmd *cmd, RedisModuleString *id, RedisModuleString *group,
                             struct emq_ready *job, struct emq_odds *odds);
/* Where the odd ones go. Trouble is the reply; before the first write. */
struct emq_trouble emq_sort_out(struct emq_cmd *cmd, struct emq_odds *odds);
/* How many strings the writes of a claim make, at most. */
size_t emq_strings_for(uint32_t served, const struct emq_odds *odds);
/* Writes it, when all have left the set. */
void emq_send_off(struct emq_cmd *cmd, struct emq_odds *odds);
void emq_lease_all(struct emq_cmd *cmd, struct emq_key *active, struct emq_ready *jobs, uint32_t count,
                   long long lease_ms);
/* The ceiling of the queue, 0 when there is none. `meta` is a hash, or absent. */
long long emq_ceiling(struct emq_cmd *cmd, struct emq_key *meta);

void emq_tell_broken(struct emq_cmd *cmd, const struct emq_odds *odds); /* the ids that went to dead, as an array */
void emq_tell_ready(struct emq_cmd *cmd, const struct emq_ready *job, bool names_lane);

#endif
