/* For the fuzzer's server alone: servers open modules with RTLD_DEEPBIND, which the sanitizers cannot live with. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlopen(const char *path, int flags) {
    void *(*next)(const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return next(path, flags & ~RTLD_DEEPBIND);
}
