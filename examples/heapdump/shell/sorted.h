/* Binary search in sorted lists. */
#ifndef HEAPDUMP_SORTED_H
#define HEAPDUMP_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of items before `key`, in the order of `compare`, a function as for bsearch. */
static inline size_t items_before(const void *key, const void *items, size_t count, size_t size,
                                  int (*compare)(const void *, const void *)) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare((const char *)items + middle * size, key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The number of items whose key is less than `key`; the key of an item of `size` bytes begins at byte key_at. */
static inline size_t keys_below(const void *items, size_t count, size_t size, size_t key_at, uint64_t key) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t found;
        memcpy(&found, (const char *)items + middle * size + key_at, sizeof found);
        if (found < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The same for keys that are `key` or less. */
static inline size_t keys_up_to(const void *items, size_t count, size_t size, size_t key_at, uint64_t key) {
    return key == UINT64_MAX ? count : keys_below(items, count, size, key_at, key + 1);
}

#define KEYS_BELOW(list, count, member, key) \
    keys_below(list, count, sizeof *(list), offsetof(__typeof__(*(list)), member), key)
#define KEYS_UP_TO(list, count, member, key) \
    keys_up_to(list, count, sizeof *(list), offsetof(__typeof__(*(list)), member), key)

#endif
