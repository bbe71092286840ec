/* The commands, and how each is described to the server. One line of the table in emq.c is all that a new one needs. */
#ifndef EMQ_COMMANDS_H
#define EMQ_COMMANDS_H

#include "emq.h"

#define EMQ_KEYS_MAX 8
#define EMQ_ARGS_MAX 12

/* A key's name in the documentation, and what is done to it. The name NULL ends the list. */
struct emq_key_spec {
    const char *name;
    uint64_t flags;
};

struct emq_spec {
    const char *command;       /* EMQ.<NAME> */
    const char *name;          /* the transition's */
    RedisModuleCmdFunc run;
    int (*body)(struct emq_cmd *cmd);
    const char *flags;
    struct emq_key_spec keys[EMQ_KEYS_MAX + 1];
    const char *args;          /* as the transition declares them: "id payload [max_attempts]" */
    const char *keys_told;     /* likewise; they are all needed here, but the refusal is the script's */
    int least, most, step;     /* how many arguments; most 0: any number, in whole groups of `step` beyond `least` */
    const char *summary;
    bool blocks;               /* BLOCK and a number of ms may follow when all other arguments are given */
    int base_at;               /* the place of the base among keys and arguments, set at load; -1: it has none */
};

int emq_keys_of(const struct emq_spec *spec);
int emq_find_base(const struct emq_spec *spec);
/* Whether a call may begin: then its base is known. False: it was answered. */
bool emq_is_sound(struct emq_cmd *cmd);
/* rights.c: whether the caller may use all keys of the queue. False: it was answered. */
bool emq_may_use_queue(struct emq_cmd *cmd);

int emq_enqueue(struct emq_cmd *cmd);
int emq_genqueue(struct emq_cmd *cmd);
int emq_claim(struct emq_cmd *cmd);
int emq_gclaim(struct emq_cmd *cmd);
int emq_gwclaim(struct emq_cmd *cmd);
int emq_gbclaim(struct emq_cmd *cmd);
int emq_claim_many(struct emq_cmd *cmd);
int emq_take(struct emq_cmd *cmd);
int emq_wake(struct emq_cmd *cmd);
int emq_complete(struct emq_cmd *cmd);
int emq_retry(struct emq_cmd *cmd);
int emq_release(struct emq_cmd *cmd);
int emq_extend(struct emq_cmd *cmd);
int emq_enqueue_many(struct emq_cmd *cmd);
int emq_complete_many(struct emq_cmd *cmd);
int emq_extend_many(struct emq_cmd *cmd);
int emq_promote(struct emq_cmd *cmd);
int emq_reap(struct emq_cmd *cmd);

/* block.c: registers the setting echomq.blocking, where the server has settings of modules. False: it was refused. */
bool emq_load_blocking(RedisModuleCtx *ctx);

/* complete.c: the key of a job's result. Without a handle when the command has opened it as something else. */
struct emq_key *emq_open_result(struct emq_cmd *cmd, const struct emq_key *row);
/* What is kept of a job beside its row, in place of whatever was kept there before. */
void emq_keep_result(struct emq_cmd *cmd, struct emq_key *kept, RedisModuleString *attempts, RedisModuleString *result,
                     long long keep_ms);

#endif
