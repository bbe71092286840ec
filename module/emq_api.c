/* Fetches the functions of the module API by name. See emq_api.h. */
#include "emq_api.h"

#include <string.h>

#define EMQ_API_DEFINE(result, name, parameters) result(*RedisModule_##name) parameters;
EMQ_API_NEEDED(EMQ_API_DEFINE)
EMQ_API_WELCOME(EMQ_API_DEFINE)
int (*ValkeyModule_ACLCheckKeyPrefixPermissions)(RedisModuleUser *user, const char *prefix, size_t len,
                                                 unsigned int flags);
#undef EMQ_API_DEFINE

const char *emq_api_fetch(RedisModuleCtx *ctx) {
    int (*get_api)(const char *name, void *target);
    /* Documented: the first word of the context is the address of GetApi. */
    memcpy(&get_api, ctx, sizeof get_api);
#define EMQ_API_FETCH(result, name, parameters)                                                                        \
    if (get_api("RedisModule_" #name, (void *)&RedisModule_##name) != REDISMODULE_OK) return #name;
    EMQ_API_NEEDED(EMQ_API_FETCH)
#undef EMQ_API_FETCH
#define EMQ_API_TRY(result, name, parameters)                                                                          \
    if (get_api("RedisModule_" #name, (void *)&RedisModule_##name) != REDISMODULE_OK) RedisModule_##name = NULL;
    EMQ_API_WELCOME(EMQ_API_TRY)
#undef EMQ_API_TRY
    if (get_api("ValkeyModule_ACLCheckKeyPrefixPermissions", (void *)&ValkeyModule_ACLCheckKeyPrefixPermissions) !=
        REDISMODULE_OK) {
        ValkeyModule_ACLCheckKeyPrefixPermissions = NULL;
    }
    return NULL;
}
