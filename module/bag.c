/* See bag.h. An item's number says where it is: chunk k holds the 16 << k items from number (16 << k) - 16 on. */
#include "bag.h"

#include <string.h>

static uint32_t hash_of(struct emq_text text) {
    const uint64_t odd = 0x9E3779B97F4A7C15ULL;
    uint64_t hash = text.len * odd, word;
    const char *at = text.at;
    size_t left = text.len;
    for (; left >= 8; at += 8, left -= 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, at, left);
    hash = (hash ^ word) * odd;
    /* Ids follow each other: without this their slots do as well, and a search walks past dozens. */
    hash ^= hash >> 32;
    hash *= odd;
    return (uint32_t)(hash >> 32);
}

void emq_bag_open(struct emq_bag *bag, size_t item, void *first) {
    bag->item = item;
    bag->count = bag->slots = 0;
    bag->table = NULL;
    bag->lengths = 0;
    bag->chunks = 1;
    bag->chunk[0] = first;
}

void emq_bag_close(struct emq_bag *bag, void (*release)(void *block)) {
    for (uint32_t k = 1; k < bag->chunks; k++) release(bag->chunk[k]);
    if (bag->table != NULL) release(bag->table);
}

static uint32_t chunk_of(uint32_t number) {
    uint32_t k = 0;
    for (uint32_t past = (number + EMQ_BAG_FIRST) / EMQ_BAG_FIRST; past > 1; past /= 2) k++;
    return k;
}

void *emq_bag_far(const struct emq_bag *bag, uint32_t number) {
    uint32_t k = chunk_of(number);
    size_t place = number + EMQ_BAG_FIRST - ((size_t)EMQ_BAG_FIRST << k);
    return bag->chunk[k] + place * bag->item;
}

/* Names of one length tend to differ at their end: the keys of jobs begin alike. */
static int is_called(const struct emq_named *named, struct emq_text name) {
    if (named->name.len != name.len) return 0;
    return name.len == 0 ||
           (named->name.at[name.len - 1] == name.at[name.len - 1] && memcmp(named->name.at, name.at, name.len) == 0);
}

static uint64_t length_bit(struct emq_text name) { return 1ULL << (name.len % 64); }

void *emq_bag_find(const struct emq_bag *bag, struct emq_text name) {
    if ((bag->lengths & length_bit(name)) == 0) return NULL;
    if (bag->table == NULL) {
        for (uint32_t i = 0; i < bag->count; i++) {
            struct emq_named *named = emq_bag_at(bag, i);
            if (is_called(named, name)) return named;
        }
        return NULL;
    }
    uint32_t hash = hash_of(name);
    for (uint32_t slot = hash & (bag->slots - 1); bag->table[slot] != 0; slot = (slot + 1) & (bag->slots - 1)) {
        struct emq_named *named = emq_bag_at(bag, bag->table[slot] - 1);
        if (named->hash == hash && is_called(named, name)) return named;
    }
    return NULL;
}

static void enter(struct emq_bag *bag, uint32_t number) {
    const struct emq_named *named = emq_bag_at(bag, number);
    uint32_t slot = named->hash & (bag->slots - 1);
    while (bag->table[slot] != 0) slot = (slot + 1) & (bag->slots - 1);
    bag->table[slot] = number + 1;
}

/* A table for so many items; few have none. */
static bool widen(struct emq_bag *bag, uint32_t count, emq_alloc alloc, void (*release)(void *)) {
    uint32_t slots = bag->slots ? bag->slots : EMQ_BAG_FIRST * 4;
    if (count <= EMQ_BAG_FIRST || count * 2 <= bag->slots) return true;
    while (count * 2 > slots) slots *= 2;
    uint32_t *table = alloc(slots * sizeof *table);
    if (table == NULL) return false;
    for (uint32_t i = 0; bag->table == NULL && i < bag->count; i++) {
        struct emq_named *named = emq_bag_at(bag, i);
        named->hash = hash_of(named->name);
    }
    if (bag->table != NULL) release(bag->table);
    bag->table = memset(table, 0, slots * sizeof *table);
    bag->slots = slots;
    for (uint32_t i = 0; i < bag->count; i++) enter(bag, i);
    return true;
}

bool emq_bag_reserve(struct emq_bag *bag, uint32_t more, emq_alloc alloc, void (*release)(void *)) {
    if (more == 0 || bag->count + more <= EMQ_BAG_FIRST) return true;
    for (uint32_t last = chunk_of(bag->count + more - 1); bag->chunks <= last; bag->chunks++) {
        if (bag->chunks == EMQ_BAG_CHUNKS) return false;
        char *chunk = alloc(((size_t)EMQ_BAG_FIRST << bag->chunks) * bag->item);
        if (chunk == NULL) return false;
        bag->chunk[bag->chunks] = chunk;
    }
    return widen(bag, bag->count + more, alloc, release);
}

void *emq_bag_add(struct emq_bag *bag, struct emq_text name, emq_alloc alloc, void (*release)(void *)) {
    if (!emq_bag_reserve(bag, 1, alloc, release)) return NULL;
    struct emq_named *named = emq_bag_at(bag, bag->count);
    named->name = name;
    bag->lengths |= length_bit(name);
    if (bag->table != NULL) {
        named->hash = hash_of(name);
        enter(bag, bag->count);
    }
    bag->count++;
    return named;
}
