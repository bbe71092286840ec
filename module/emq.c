/* The module: load, and one table of commands. See emq.h for how a command is made.
 *
 * EMQ.<NAME> is the transition of that name: the same keys, arguments, replies and whole state as its script, several
 * times cheaper. Native keys only, no type of its own: it can be unloaded with jobs in every state. What it writes is
 * replicated and logged as core commands, so neither a replica nor a replayed log needs it. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

#define RO (REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS)
#define RW (REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_UPDATE)
#define NOT (REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_NOT_KEY) /* the base: it says the slot, and is no key */

#define EMQ_COMMANDS(X)                                                                                                \
    X("EMQ.ENQUEUE", enqueue, "write deny-oom fast", 2, 3, 0,                                                          \
      KEYS({"job", RW}, {"pending", RW}, {"wake", RW}), "job pending [wake]", "id payload [max_attempts]",             \
      "Admits one job that is ready to run.")                                                                          \
    X("EMQ.GENQUEUE", genqueue, "write deny-oom fast", 3, 4, 0,                                                        \
      KEYS({"job", RW}, {"lane", RW}, {"ring", RW}, {"paused", RO}, {"glimit", RO}, {"gactive", RW}, {"wake", RW},     \
           {"lanes", RW}),                                                                                             \
      "job lane ring paused glimit gactive wake [lanes]", "id payload group [max_attempts]",                           \
      "Admits one job that is ready to run into a lane.")                                                              \
    X("EMQ.CLAIM", claim, "write fast", 1, 1, 0, KEYS({"pending", RW}, {"active", RW}, {"base", NOT}),                 \
      "pending active base", "lease_ms", "Leases the oldest ready job of the flat set.")                               \
    X("EMQ.GCLAIM", gclaim, "write fast", 2, 2, 0, KEYS({"ring", RW}, {"active", RW}, {"meta", RO}),                   \
      "ring active [meta]", "base lease_ms", "Leases the oldest job of the lane whose turn it is.")                    \
    X("EMQ.GWCLAIM", gwclaim, "write", 2, 2, 0, KEYS({"ring", RW}, {"active", RW}, {"meta", RO}),                      \
      "ring active [meta]", "base lease_ms", "Leases as many jobs of the lane whose turn it is as its weight says.")   \
    X("EMQ.GBCLAIM", gbclaim, "write", 2, 3, 0, KEYS({"ring", RW}, {"active", RW}, {"meta", RO}),                      \
      "ring active [meta]", "base lease_ms [cap]", "Leases many jobs of the lane whose turn it is.")                   \
    X("EMQ.CLAIM_MANY", claim_many, "write", 2, 2, 0,                                                                  \
      KEYS({"pending", RW}, {"active", RW}, {"meta", RO}, {"dead", RW}, {"base", NOT}),                                \
      "pending active meta dead base", "lease_ms size", "Leases the oldest ready jobs of the flat set.")               \
    X("EMQ.TAKE", take, "write blocking", 2, 5, 0,                                                                              \
      KEYS({"ring", RW}, {"pending", RW}, {"active", RW}, {"meta", RO}, {"wake", RW}, {"dead", RW}, {"base", NOT}),    \
      "ring pending active meta wake dead base", "lease_ms size [worth] [watcher] [park_ms]",                          \
      "Leases jobs for a worker's free slots, lanes and flat set in turn.")                                            \
    X("EMQ.WAKE", wake, "write fast", 1, 2, 0,                                                                         \
      KEYS({"wake", RW}, {"ring", RO}, {"pending", RO}, {"base", NOT}), "wake ring pending base",                      \
      "worth [watcher]", "Passes on the wake-up that a worker may have got which parks no more.")                      \
    X("EMQ.COMPLETE", complete, "write fast", 3, 5, 0, KEYS({"active", RW}, {"job", RW}), "active job",                \
      "id token base [result_ttl_ms] [result]", "Ends a job that its holder has done.")                                \
    X("EMQ.RETRY", retry, "write fast", 6, 6, 0,                                                                       \
      KEYS({"active", RW}, {"schedule", RW}, {"dead", RW}, {"job", RW}), "active schedule dead job",                   \
      "id token delay_ms max_attempts reason base", "Schedules a job whose attempt failed again, or buries it.")       \
    X("EMQ.RELEASE", release, "write fast", 2, 2, 0, KEYS({"active", RW}, {"job", RW}, {"base", NOT}),                 \
      "active job base", "id token", "Hands a job back, and the attempt is not spent.")                                \
    X("EMQ.EXTEND", extend, "write fast", 3, 3, 0, KEYS({"active", RW}, {"job", RO}), "active job",                    \
      "id token lease_ms", "Moves the lease of a job forward that the caller holds.")                                  \
    X("EMQ.ENQUEUE_MANY", enqueue_many, "write deny-oom", 0, 0, 4, KEYS({"pending", RW}, {"base", NOT}),               \
      "pending base", "{id payload max_attempts group}", "Admits many jobs that are ready to run.")                    \
    X("EMQ.COMPLETE_MANY", complete_many, "write", 0, 0, 4, KEYS({"active", RW}, {"base", NOT}), "active base",        \
      "{id token result_ttl_ms result}", "Ends many jobs that their holders have done, each on its own.")              \
    X("EMQ.EXTEND_MANY", extend_many, "write", 2, 0, 2, KEYS({"active", RW}), "active",                                \
      "base lease_ms {id token}", "Moves the leases of many jobs forward, to one deadline.")                           \
    X("EMQ.PROMOTE", promote, "write", 1, 2, 0, KEYS({"schedule", RW}, {"pending", RW}), "schedule pending",           \
      "base [limit]", "Makes due jobs ready.")                                                                         \
    X("EMQ.REAP", reap, "write", 1, 4, 0, KEYS({"active", RW}, {"pending", RW}), "active pending",                     \
      "base [limit] [max_attempts] [naming]", "Takes back jobs whose lease lapsed.")

/* One entry function for each command, since the server tells a command by its function alone. */
static int run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int number);

#define KEYS(...) {__VA_ARGS__}
#define EMQ_NUMBER(command, name, ...) N_##name,
enum { EMQ_COMMANDS(EMQ_NUMBER) COMMANDS };
#define EMQ_ENTRY(command, name, ...)                                                                                  \
    static int enter_##name(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {                                 \
        return run(ctx, argv, argc, N_##name);                                                                         \
    }
EMQ_COMMANDS(EMQ_ENTRY)
#define EMQ_SPEC(command_, name_, flags_, least_, most_, step_, keys_, told_, args_, summary_)                         \
    {.command = command_,                                                                                              \
     .name = #name_,                                                                                                   \
     .run = enter_##name_,                                                                                             \
     .body = emq_##name_,                                                                                              \
     .flags = flags_,                                                                                                  \
     .keys = keys_,                                                                                                    \
     .args = args_,                                                                                                    \
     .keys_told = told_,                                                                                               \
     .least = least_,                                                                                                  \
     .most = most_,                                                                                                    \
     .step = step_,                                                                                                    \
     .summary = summary_,                                                                                              \
     .blocks = N_##name_ == N_take},
static struct emq_spec SPECS[COMMANDS] = {EMQ_COMMANDS(EMQ_SPEC)};

static int run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int number) {
    const struct emq_spec *spec = &SPECS[number];
    struct emq_cmd cmd;
    emq_begin(&cmd, ctx, spec, argv + 1, argc - 1);
    if (emq_is_sound(&cmd)) spec->body(&cmd);
    emq_end(&cmd);
    return REDISMODULE_OK;
}

/* ---- what COMMAND INFO, COMMAND DOCS and the access lists are told -------------------------------------------------*/

/* Words of "id payload [max_attempts]" as arguments; `text` is cut at its spaces. Returns how many. */
static int cut_args(char *text, RedisModuleCommandArg *args, int room) {
    int count = 0;
    for (char *word = strtok(text, " "); word != NULL && count < room; word = strtok(NULL, " ")) {
        RedisModuleCommandArg arg = {.name = word, .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1};
        size_t len = strlen(word);
        if (word[0] == '[' || word[0] == '{') {
            arg.flags = word[0] == '[' ? REDISMODULE_CMD_ARG_OPTIONAL : REDISMODULE_CMD_ARG_MULTIPLE;
            arg.name = word + 1;
            len--;
        }
        if (arg.name[len - 1] == ']' || arg.name[len - 1] == '}') word[strlen(word) - 1] = '\0';
        args[count++] = arg;
    }
    return count;
}

static int describe(RedisModuleCtx *ctx, const struct emq_spec *spec) {
    static const RedisModuleCommandInfoVersion version = {1, sizeof(RedisModuleCommandHistoryEntry),
                                                          sizeof(RedisModuleCommandKeySpec),
                                                          sizeof(RedisModuleCommandArg)};
    RedisModuleCommandKeySpec keys[EMQ_KEYS_MAX + 1] = {{0}};
    RedisModuleCommandArg args[EMQ_KEYS_MAX + EMQ_ARGS_MAX + 2] = {{0}};
    char words[160];
    int count = emq_keys_of(spec);
    for (int i = 0; i < count; i++) {
        keys[i] = (RedisModuleCommandKeySpec){.flags = spec->keys[i].flags,
                                              .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
                                              .bs.index.pos = i + 1,
                                              .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
                                              .fk.range = {0, 1, 0}};
        args[i] = (RedisModuleCommandArg){
            .name = spec->keys[i].name, .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = i};
    }
    snprintf(words, sizeof words, "%s", spec->args);
    count += cut_args(words, args + count, EMQ_ARGS_MAX);
    if (spec->blocks) {
        args[count] = (RedisModuleCommandArg){.name = "block_ms",
                                              .type = REDISMODULE_ARG_TYPE_INTEGER,
                                              .key_spec_index = -1,
                                              .token = "BLOCK",
                                              .flags = REDISMODULE_CMD_ARG_OPTIONAL};
    }
    /* Any arity passes the server, so that a wrong one is told in the words of the script. */
    RedisModuleCommandInfo info = {.version = &version,
                                   .summary = spec->summary,
                                   .complexity = "O(log N) in the jobs of the sets it touches",
                                   .since = "1.0.0",
                                   .arity = -1,
                                   .key_specs = keys,
                                   .args = args};
    RedisModuleCommand *command = RedisModule_GetCommand(ctx, spec->command);
    return command == NULL ? REDISMODULE_ERR : RedisModule_SetCommandInfo(command, &info);
}

/* ---- load ----------------------------------------------------------------------------------------------------------*/

static void make_words(void) {
    static const char *const texts[EMQ_WORDS] = {
        [EMQ_ATTEMPTS] = "attempts",
        [EMQ_STATE] = "state",
        [EMQ_PAYLOAD] = "payload",
        [EMQ_GROUP] = "group",
        [EMQ_MAX_ATTEMPTS] = "max_attempts",
        [EMQ_UNSPENT] = "unspent",
        [EMQ_PARENT] = "parent",
        [EMQ_PARENT_QUEUE] = "parent_queue",
        [EMQ_PARENT_POLICY] = "parent_policy",
        [EMQ_CLAIMED_AT] = "claimed_at",
        [EMQ_LAST_ERROR] = "last_error",
        [EMQ_DIED_AT] = "died_at",
        [EMQ_COMPLETED_AT] = "completed_at",
        [EMQ_RESULT] = "result",
        [EMQ_COUNT] = "count",
        [EMQ_CONCURRENCY] = "concurrency",
        [EMQ_PAUSED_FIELD] = "paused",
        [EMQ_PENDING] = "pending",
        [EMQ_ACTIVE] = "active",
        [EMQ_SCHEDULED] = "scheduled",
        [EMQ_DEAD] = "dead",
        [EMQ_ZERO] = "0",
        [EMQ_ONE] = "1",
        [EMQ_EMPTY] = "",
    };
    for (int i = 0; i < EMQ_WORDS; i++) emq_words[i] = RedisModule_CreateString(NULL, texts[i], strlen(texts[i]));
}

/* The commands that effects are replicated as, and SISMEMBER. A server that has renamed one would tell its replicas
 * nothing, so the module does not load there. */
static const char *missing_command(RedisModuleCtx *ctx) {
    static const char *const needed[] = {"ZADD", "ZREM",  "HSET", "HDEL", "LPUSH",     "RPUSH",  "LPOP",      "LREM",
                                         "LTRIM", "DECR", "DEL",  "SET",  "PEXPIREAT", "SADD",   "SREM",      "SISMEMBER",
                                         "ZRANGE"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        RedisModuleCallReply *reply = RedisModule_Call(ctx, "COMMAND", "cc", "INFO", needed[i]);
        if (reply == NULL) return "COMMAND";
        /* An unknown command is told as a null in place of its description. */
        RedisModuleCallReply *told = RedisModule_CallReplyArrayElement(reply, 0);
        bool there = told != NULL && RedisModule_CallReplyType(told) == REDISMODULE_REPLY_ARRAY;
        RedisModule_FreeCallReply(reply);
        if (!there) return needed[i];
    }
    return NULL;
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (emq_api_fetch(ctx) != NULL || RedisModule_IsModuleNameBusy("echomq")) return REDISMODULE_ERR;
    RedisModule_SetModuleAttribs(ctx, "echomq", 1, REDISMODULE_APIVER_1);
    if (argc > 0) {
        RedisModule_Log(ctx, "warning", "the module takes no arguments");
        return REDISMODULE_ERR;
    }
    const char *missing = missing_command(ctx);
    if (missing != NULL) {
        RedisModule_Log(ctx, "warning", "the command %s is renamed or absent, so effects could not be replicated", missing);
        return REDISMODULE_ERR;
    }
    RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
    make_words();
    for (int i = 0; i < COMMANDS; i++) {
        SPECS[i].base_at = emq_find_base(&SPECS[i]);
        if (RedisModule_CreateCommand(ctx, SPECS[i].command, SPECS[i].run, SPECS[i].flags, 1, emq_keys_of(&SPECS[i]), 1) !=
                REDISMODULE_OK ||
            describe(ctx, &SPECS[i]) != REDISMODULE_OK) {
            return REDISMODULE_ERR;
        }
    }
    return emq_load_blocking(ctx) ? REDISMODULE_OK : REDISMODULE_ERR;
}
