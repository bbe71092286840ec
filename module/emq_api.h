/* The functions and numbers of the server's module API that this module uses, declared from the API's documentation.
 *
 * The server hands a module one function, GetApi, which finds all others by name; a module keeps them as pointers.
 * EMQ_API_NEEDED is the list of what must be there (Redis 7.0 has it all), EMQ_API_WELCOME of what may be missing and is
 * NULL then. To use a further function, add it to one of the lists: nothing else has to change. */
#ifndef EMQ_API_H
#define EMQ_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleCallReply RedisModuleCallReply;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef struct RedisModuleUser RedisModuleUser;
typedef int (*RedisModuleCmdFunc)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#define REDISMODULE_OK 0
#define REDISMODULE_ERR 1
#define REDISMODULE_APIVER_1 1

#define REDISMODULE_READ (1 << 0)
#define REDISMODULE_WRITE (1 << 1)
/* Hints for looking whether a key is there at all. Servers that do not know them look it up in the ordinary way. */
#define REDISMODULE_OPEN_KEY_NOTOUCH (1 << 16)
#define REDISMODULE_OPEN_KEY_NONOTIFY (1 << 17)
#define REDISMODULE_OPEN_KEY_NOSTATS (1 << 18)

#define REDISMODULE_KEYTYPE_EMPTY 0
#define REDISMODULE_KEYTYPE_STRING 1
#define REDISMODULE_KEYTYPE_LIST 2
#define REDISMODULE_KEYTYPE_HASH 3
#define REDISMODULE_KEYTYPE_SET 4
#define REDISMODULE_KEYTYPE_ZSET 5

#define REDISMODULE_LIST_HEAD 0
#define REDISMODULE_LIST_TAIL 1
#define REDISMODULE_HASH_NONE 0
#define REDISMODULE_HASH_DELETE ((RedisModuleString *)(long)1)
#define REDISMODULE_ZADD_NOP (1 << 4)
#define REDISMODULE_ZADD_ADDED (1 << 2)
#define REDISMODULE_NEGATIVE_INFINITE (-1.0 / 0.0)
#define REDISMODULE_POSITIVE_INFINITE (1.0 / 0.0)
#define REDISMODULE_NO_EXPIRE (-1)

#define REDISMODULE_NOTIFY_GENERIC (1 << 2)
#define REDISMODULE_NOTIFY_STRING (1 << 3)
#define REDISMODULE_NOTIFY_LIST (1 << 4)
#define REDISMODULE_NOTIFY_HASH (1 << 6)
#define REDISMODULE_NOTIFY_ZSET (1 << 7)

#define REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED (1 << 1)

/* A client that must not wait: what GetContextFlags says of it. */
#define REDISMODULE_CTX_FLAGS_LUA (1 << 0)
#define REDISMODULE_CTX_FLAGS_MULTI (1 << 1)
#define REDISMODULE_CTX_FLAGS_DENY_BLOCKING (1 << 21)

#define REDISMODULE_CONFIG_DEFAULT 0
typedef int (*RedisModuleConfigGetBoolFunc)(const char *name, void *privdata);
typedef int (*RedisModuleConfigSetBoolFunc)(const char *name, int val, void *privdata, RedisModuleString **err);
typedef int (*RedisModuleConfigApplyFunc)(RedisModuleCtx *ctx, void *privdata, RedisModuleString **err);

/* How COMMAND INFO, COMMAND DOCS and the access lists learn about a command: SetCommandInfo. */
#define REDISMODULE_CMD_KEY_RO (1ULL << 0)
#define REDISMODULE_CMD_KEY_RW (1ULL << 1)
#define REDISMODULE_CMD_KEY_OW (1ULL << 2)
#define REDISMODULE_CMD_KEY_RM (1ULL << 3)
#define REDISMODULE_CMD_KEY_ACCESS (1ULL << 4)
#define REDISMODULE_CMD_KEY_UPDATE (1ULL << 5)
#define REDISMODULE_CMD_KEY_INSERT (1ULL << 6)
#define REDISMODULE_CMD_KEY_DELETE (1ULL << 7)
#define REDISMODULE_CMD_KEY_NOT_KEY (1ULL << 8)
#define REDISMODULE_CMD_ARG_NONE 0
#define REDISMODULE_CMD_ARG_OPTIONAL (1 << 0)
#define REDISMODULE_CMD_ARG_MULTIPLE (1 << 1)

typedef enum {
    REDISMODULE_KSPEC_BS_INVALID = 0,
    REDISMODULE_KSPEC_BS_UNKNOWN,
    REDISMODULE_KSPEC_BS_INDEX,
    REDISMODULE_KSPEC_BS_KEYWORD
} RedisModuleKeySpecBeginSearchType;

typedef enum {
    REDISMODULE_KSPEC_FK_OMITTED = 0,
    REDISMODULE_KSPEC_FK_UNKNOWN,
    REDISMODULE_KSPEC_FK_RANGE,
    REDISMODULE_KSPEC_FK_KEYNUM
} RedisModuleKeySpecFindKeysType;

typedef enum {
    REDISMODULE_ARG_TYPE_STRING,
    REDISMODULE_ARG_TYPE_INTEGER,
    REDISMODULE_ARG_TYPE_DOUBLE,
    REDISMODULE_ARG_TYPE_KEY,
    REDISMODULE_ARG_TYPE_PATTERN,
    REDISMODULE_ARG_TYPE_UNIX_TIME,
    REDISMODULE_ARG_TYPE_PURE_TOKEN,
    REDISMODULE_ARG_TYPE_ONEOF,
    REDISMODULE_ARG_TYPE_BLOCK
} RedisModuleCommandArgType;

typedef struct {
    const char *since;
    const char *changes;
} RedisModuleCommandHistoryEntry;

typedef struct {
    const char *notes;
    uint64_t flags;
    RedisModuleKeySpecBeginSearchType begin_search_type;
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom;
        } keyword;
    } bs;
    RedisModuleKeySpecFindKeysType find_keys_type;
    union {
        struct {
            int lastkey;
            int keystep;
            int limit;
        } range;
        struct {
            int keynumidx;
            int firstkey;
            int keystep;
        } keynum;
    } fk;
} RedisModuleCommandKeySpec;

typedef struct RedisModuleCommandArg {
    const char *name;
    RedisModuleCommandArgType type;
    int key_spec_index;
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    struct RedisModuleCommandArg *subargs;
    const char *display_text;
} RedisModuleCommandArg;

typedef struct {
    int version;
    size_t sizeof_historyentry;
    size_t sizeof_keyspec;
    size_t sizeof_arg;
} RedisModuleCommandInfoVersion;

typedef struct {
    const RedisModuleCommandInfoVersion *version;
    const char *summary;
    const char *complexity;
    const char *since;
    RedisModuleCommandHistoryEntry *history;
    const char *tips;
    int arity;
    RedisModuleCommandKeySpec *key_specs;
    RedisModuleCommandArg *args;
} RedisModuleCommandInfo;

/* X(result, name, parameters) */
#define EMQ_API_NEEDED(X)                                                                                              \
    X(void *, Alloc, (size_t bytes))                                                                                   \
    X(void, Free, (void *block))                                                                                       \
    X(int, IsModuleNameBusy, (const char *name))                                                                       \
    X(void, SetModuleAttribs, (RedisModuleCtx *ctx, const char *name, int ver, int apiver))                            \
    X(void, SetModuleOptions, (RedisModuleCtx *ctx, int options))                                                      \
    X(int, CreateCommand,                                                                                              \
      (RedisModuleCtx *ctx, const char *name, RedisModuleCmdFunc cmdfunc, const char *strflags, int firstkey,          \
       int lastkey, int keystep))                                                                                      \
    X(RedisModuleCommand *, GetCommand, (RedisModuleCtx *ctx, const char *name))                                       \
    X(int, SetCommandInfo, (RedisModuleCommand *command, const RedisModuleCommandInfo *info))                          \
    X(void, Log, (RedisModuleCtx *ctx, const char *level, const char *fmt, ...))                                       \
    X(long long, Milliseconds, (void))                                                                                 \
    X(RedisModuleString *, CreateString, (RedisModuleCtx *ctx, const char *ptr, size_t len))                           \
    X(RedisModuleString *, CreateStringFromLongLong, (RedisModuleCtx *ctx, long long number))                          \
    X(void, RetainString, (RedisModuleCtx *ctx, RedisModuleString *str))                                               \
    X(void, FreeString, (RedisModuleCtx *ctx, RedisModuleString *str))                                                 \
    X(int, StringAppendBuffer, (RedisModuleCtx *ctx, RedisModuleString *str, const char *buf, size_t len))             \
    X(const char *, StringPtrLen, (const RedisModuleString *str, size_t *len))                                         \
    X(RedisModuleKey *, OpenKey, (RedisModuleCtx *ctx, RedisModuleString *name, int mode))                             \
    X(void, CloseKey, (RedisModuleKey *key))                                                                           \
    X(int, KeyType, (RedisModuleKey *key))                                                                             \
    X(size_t, ValueLength, (RedisModuleKey *key))                                                                      \
    X(int, DeleteKey, (RedisModuleKey *key))                                                                           \
    X(long long, GetAbsExpire, (RedisModuleKey *key))                                                                  \
    X(int, SetAbsExpire, (RedisModuleKey *key, long long at_ms))                                                       \
    X(int, HashGet, (RedisModuleKey *key, int flags, ...))                                                             \
    X(int, HashSet, (RedisModuleKey *key, int flags, ...))                                                             \
    X(int, ZsetAdd, (RedisModuleKey *key, double score, RedisModuleString *ele, int *flagsptr))                        \
    X(int, ZsetRem, (RedisModuleKey *key, RedisModuleString *ele, int *deleted))                                       \
    X(int, ZsetScore, (RedisModuleKey *key, RedisModuleString *ele, double *score))                                    \
    X(int, ZsetFirstInScoreRange, (RedisModuleKey *key, double min, double max, int minex, int maxex))                 \
    X(RedisModuleString *, ZsetRangeCurrentElement, (RedisModuleKey *key, double *score))                              \
    X(int, ZsetRangeNext, (RedisModuleKey *key))                                                                       \
    X(int, ZsetRangeEndReached, (RedisModuleKey *key))                                                                 \
    X(void, ZsetRangeStop, (RedisModuleKey *key))                                                                      \
    X(int, ListPush, (RedisModuleKey *key, int where, RedisModuleString *ele))                                         \
    X(RedisModuleString *, ListPop, (RedisModuleKey *key, int where))                                                  \
    X(RedisModuleString *, ListGet, (RedisModuleKey *key, long index))                                                 \
    X(int, ListDelete, (RedisModuleKey *key, long index))                                                              \
    X(char *, StringDMA, (RedisModuleKey *key, size_t *len, int mode))                                                 \
    X(int, StringSet, (RedisModuleKey *key, RedisModuleString *str))                                                   \
    X(RedisModuleCallReply *, Call, (RedisModuleCtx *ctx, const char *cmdname, const char *fmt, ...))                  \
    X(void, FreeCallReply, (RedisModuleCallReply *reply))                                                              \
    X(int, CallReplyType, (RedisModuleCallReply *reply))                                                               \
    X(long long, CallReplyInteger, (RedisModuleCallReply *reply))                                                      \
    X(RedisModuleString *, CreateStringFromCallReply, (RedisModuleCallReply *reply))                                   \
    X(size_t, CallReplyLength, (RedisModuleCallReply *reply))                                                          \
    X(RedisModuleCallReply *, CallReplyArrayElement, (RedisModuleCallReply *reply, size_t place))                      \
    X(int, Replicate, (RedisModuleCtx *ctx, const char *cmdname, const char *fmt, ...))                                \
    X(int, SignalModifiedKey, (RedisModuleCtx *ctx, RedisModuleString *keyname))                                       \
    X(int, NotifyKeyspaceEvent, (RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key))            \
    X(int, GetContextFlags, (RedisModuleCtx *ctx))                                                                     \
    X(int, KeyExists, (RedisModuleCtx *ctx, RedisModuleString *name))                                                  \
    X(RedisModuleBlockedClient *, BlockClientOnKeys,                                                                   \
      (RedisModuleCtx *ctx, RedisModuleCmdFunc reply_callback, RedisModuleCmdFunc timeout_callback,                    \
       void (*free_privdata)(RedisModuleCtx *ctx, void *privdata), long long timeout_ms, RedisModuleString **keys,     \
       int numkeys, void *privdata))                                                                                   \
    X(void *, GetBlockedClientPrivateData, (RedisModuleCtx *ctx))                                                      \
    X(void, SignalKeyAsReady, (RedisModuleCtx *ctx, RedisModuleString *key))                                           \
    X(unsigned long long, GetClientId, (RedisModuleCtx *ctx))                                                          \
    X(RedisModuleString *, GetClientUserNameById, (RedisModuleCtx *ctx, uint64_t id))                                  \
    X(RedisModuleString *, GetCurrentUserName, (RedisModuleCtx *ctx))                                                  \
    X(RedisModuleUser *, GetModuleUserFromUserName, (RedisModuleString *name))                                         \
    X(void, FreeModuleUser, (RedisModuleUser *user))                                                                   \
    X(int, ACLCheckKeyPermissions, (RedisModuleUser *user, RedisModuleString *key, int flags))                         \
    X(int, ReplyWithError, (RedisModuleCtx *ctx, const char *err))                                                     \
    X(int, ReplyWithLongLong, (RedisModuleCtx *ctx, long long number))                                                 \
    X(int, ReplyWithArray, (RedisModuleCtx *ctx, long len))                                                            \
    X(int, ReplyWithNull, (RedisModuleCtx *ctx))                                                                       \
    X(int, ReplyWithString, (RedisModuleCtx *ctx, RedisModuleString *str))                                             \
    X(int, ReplyWithStringBuffer, (RedisModuleCtx *ctx, const char *buf, size_t len))

#define EMQ_API_WELCOME(X)                                                                                             \
    X(void *, TryAlloc, (size_t bytes))                                                                                \
    X(long long, CachedMicroseconds, (void))                                                                           \
    X(uint64_t, MonotonicMicroseconds, (void))                                                                         \
    X(int, RegisterBoolConfig,                                                                                         \
      (RedisModuleCtx *ctx, const char *name, int default_val, unsigned int flags, RedisModuleConfigGetBoolFunc getfn, \
       RedisModuleConfigSetBoolFunc setfn, RedisModuleConfigApplyFunc applyfn, void *privdata))                        \
    X(int, LoadConfigs, (RedisModuleCtx *ctx))

#define REDISMODULE_REPLY_INTEGER 2
#define REDISMODULE_REPLY_ARRAY 3

#define EMQ_API_DECLARE(result, name, parameters) extern result(*RedisModule_##name) parameters;
EMQ_API_NEEDED(EMQ_API_DECLARE)
EMQ_API_WELCOME(EMQ_API_DECLARE)
/* Another server has a function of this name with other parameters, so it is asked for by its full one. */
extern int (*ValkeyModule_ACLCheckKeyPrefixPermissions)(RedisModuleUser *user, const char *prefix, size_t len,
                                                        unsigned int flags);
#undef EMQ_API_DECLARE

/* Fills the pointers from the context that the server calls the load function with. Returns the name of the first
 * function that the server lacks, or NULL when all are there. */
const char *emq_api_fetch(RedisModuleCtx *ctx);

#endif
