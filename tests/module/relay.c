/* Another module, for tests: RELAY calls a command as modules do, in nobody's name. */
#include "emq_api.h"

static RedisModuleCallReply *(*call)(RedisModuleCtx *ctx, const char *name, const char *fmt, ...);
static int (*reply_with)(RedisModuleCtx *ctx, RedisModuleCallReply *reply);
static int (*reply_error)(RedisModuleCtx *ctx, const char *text);
static const char *(*text_of)(const RedisModuleString *string, size_t *len);

static int relay(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    RedisModuleCallReply *reply = call(ctx, text_of(argv[1], 0), "vE", argv + 2, (size_t)argc - 2);
    return reply != 0 ? reply_with(ctx, reply) : reply_error(ctx, "ERR no reply");
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    int (*get)(const char *name, void *target) = *(int (**)(const char *, void *))ctx;
    void (*name)(RedisModuleCtx * ctx, const char *name, int ver, int apiver);
    int (*create)(RedisModuleCtx *ctx, const char *name, RedisModuleCmdFunc run, const char *flags, int, int, int);
    (void)argv, (void)argc;
    get("RedisModule_Call", &call);
    get("RedisModule_ReplyWithCallReply", &reply_with);
    get("RedisModule_ReplyWithError", &reply_error);
    get("RedisModule_StringPtrLen", &text_of);
    get("RedisModule_SetModuleAttribs", &name);
    get("RedisModule_CreateCommand", &create);
    name(ctx, "relay", 1, REDISMODULE_APIVER_1);
    return create(ctx, "RELAY", relay, "write", 0, 0, 0);
}
