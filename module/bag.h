/* A growing bag of things with names: keys that a command opened, lanes that it looked at.
 *
 * Items never move, so pointers to them stay right. The first 16 are the caller's own memory, usually on the stack; each
 * further chunk is twice as large as the one before. Finding is a walk over the names up to there, a table beyond: a
 * command for one job hashes nothing. No module header. */
#ifndef EMQ_BAG_H
#define EMQ_BAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef EMQ_BAG_FIRST
#define EMQ_BAG_FIRST 16
#endif
#define EMQ_BAG_CHUNKS 24

struct emq_text {
    const char *at;
    size_t len;
};

/* Stands first in each item. The bytes belong to whoever made the item and live as long as the bag. */
struct emq_named {
    struct emq_text name;
    uint32_t hash; /* of a bag that has a table */
};

struct emq_bag {
    size_t item; /* bytes of one */
    uint32_t count;
    uint32_t slots; /* of the table, a power of two; 0: none yet */
    uint32_t *table; /* number of an item + 1 */
    uint64_t lengths; /* bit n: a name of n bytes, or of n more than a multiple of 64, was added */
    uint32_t chunks; /* so many are there */
    char *chunk[EMQ_BAG_CHUNKS];
};

typedef void *(*emq_alloc)(size_t bytes); /* NULL: there is no memory */

void emq_bag_open(struct emq_bag *bag, size_t item, void *first);
void emq_bag_close(struct emq_bag *bag, void (*release)(void *block));
void *emq_bag_far(const struct emq_bag *bag, uint32_t number);

static inline void *emq_bag_at(const struct emq_bag *bag, uint32_t number) {
    return number < EMQ_BAG_FIRST ? bag->chunk[0] + number * bag->item : emq_bag_far(bag, number);
}

void *emq_bag_find(const struct emq_bag *bag, struct emq_text name); /* the first of that name, or NULL */
/* Sees to it that so many more items can be added without memory. False: there is none, and no item is lost. */
bool emq_bag_reserve(struct emq_bag *bag, uint32_t more, emq_alloc alloc, void (*release)(void *));
/* Returns a new item with its name set and all else as the memory had it; NULL: there is no memory. */
void *emq_bag_add(struct emq_bag *bag, struct emq_text name, emq_alloc alloc, void (*release)(void *));

#endif
