/* The bag with an allocator that has nothing to give at its n-th call, for the test beside this file. */
#include <stdlib.h>
#include <string.h>

#include "bag.h"

struct thing {
    struct emq_named named;
    int number;
};

static long calls, refuse_at, held;

static void *give(size_t bytes) {
    if (++calls == refuse_at) return NULL;
    held++;
    return malloc(bytes);
}

static void take_back(void *block) {
    held--;
    free(block);
}

static struct emq_text name_of(const char *names, int number) { return (struct emq_text){names + 8 * number, 8}; }

/* Whether exactly the first `count` names are found, each at its own item. */
static int is_whole(const struct emq_bag *bag, const char *names, int count, int all) {
    if (bag->count != (uint32_t)count) return 0;
    for (int i = 0; i < all; i++) {
        struct thing *found = emq_bag_find(bag, name_of(names, i));
        if (i < count ? found == NULL || found->number != i || found != emq_bag_at(bag, (uint32_t)i) : found != NULL) return 0;
    }
    return 1;
}

/* Adds `all` things; before each, and after each `step`, room for `step` more is asked for. What is refused is asked for
 * again. Returns how often memory was asked for; below 0: a promise was broken. */
long bag_fill(int all, int step, long at);
long bag_fill(int all, int step, long at) {
    static struct thing first[EMQ_BAG_FIRST];
    struct emq_bag bag;
    char *names = malloc(8 * (size_t)all + 1);
    long broken = 0;
    calls = held = 0;
    refuse_at = at;
    for (int i = 0; i < all; i++) memcpy(names + 8 * i, (char[8]){'n', 'a', 'm', 'e', (char)(i >> 14), (char)(i >> 7 & 127), (char)(i & 127), '.'}, 8);
    emq_bag_open(&bag, sizeof(struct thing), first);
    for (int i = 0; i < all;) {
        int is_safe = step > 0 && i % step == 0 && emq_bag_reserve(&bag, (uint32_t)step, give, take_back);
        long asked = calls;
        for (int upto = i + (is_safe ? step : 1); i < upto && i < all;) {
            struct thing *thing = emq_bag_add(&bag, name_of(names, i), give, take_back);
            if (thing != NULL) thing->number = i++;
            if (thing == NULL && (is_safe || !is_whole(&bag, names, i, all))) broken = -1;
            if (broken) upto = all = i;
        }
        if (is_safe && calls != asked) broken = -2;
    }
    if (!broken && !is_whole(&bag, names, all, all)) broken = -3;
    emq_bag_close(&bag, take_back);
    free(names);
    return broken ? broken : held != 0 ? -4 : calls;
}
