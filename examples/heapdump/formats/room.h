/* Shared by readers of lines (hd_lines): growing lists in memory of the reader's allocator, profiles to fill, and the
   error for a text that ends too early. */
#ifndef HEAPDUMP_ROOM_H
#define HEAPDUMP_ROOM_H

#include <stdio.h>
#include <string.h>

#include "../../../heapdump.h"

/* Grows a list for `more` items after `count`, to at least twice its capacity. `list` is the address of its pointer.
   Out of memory, it reports the error and returns false. */
HD_UNUSED static bool room_grow(hd_lines *l, void *list, size_t count, size_t more, size_t *capacity, size_t size) {
    hd_allocator allocator = l->reporter->options.allocator;
    size_t wanted = *capacity;
    void *grown;
    if (more <= wanted - count) return true;
    wanted = wanted < 16 ? 16 : 2 * wanted;
    if (wanted < count + more) wanted = count + more;
    memcpy(&grown, list, sizeof grown);
    grown = allocator.allocate(allocator.user, grown, *capacity * size, wanted * size);
    if (!grown) {
        memset(l->err, 0, sizeof *l->err);
        l->err->status = HD_OUT_OF_MEMORY;
        l->err->offset = hd_window_offset(l->window);
        snprintf(l->err->message, sizeof l->err->message, "no memory for %zu bytes", wanted * size);
        return false;
    }
    memcpy(list, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
#define ROOM(l, list, count, more, room) room_grow(l, &(list), count, more, &(room), sizeof *(list))

/* Kept texts, one after the other in one block. */
typedef struct room_text {
    char *data;
    size_t size, room;
} room_text;

/* Appends a text. Out of memory, it reports the error and returns false. */
HD_UNUSED static bool room_keep(hd_lines *l, room_text *t, const char *data, size_t n) {
    if (!ROOM(l, t->data, t->size, n + !n, t->room)) return false;
    memcpy(t->data + t->size, data, n);
    t->size += n;
    return true;
}

HD_UNUSED static hd_status room_full(hd_lines *l, const char *what) {
    hd_error found = hd_lines_error(l, HD_LIMIT, "");
    snprintf(found.message, sizeof found.message, "more than 2^32 - 3 %s", what);
    *l->err = found;
    return HD_LIMIT;
}

HD_UNUSED static void room_free(hd_lines *l, void *items, size_t capacity, size_t size) {
    hd_allocator allocator = l->reporter->options.allocator;
    if (items) allocator.allocate(allocator.user, items, capacity * size, 0);
}

/* Creates a profile of call stacks. Out of memory, it reports the error and returns NULL. */
HD_UNUSED static hd_profile *room_profile(const hd_options *options, hd_error *err) {
    hd_profile_desc desc = HD_ZERO;
    desc.axis_count = 1;
    desc.allocator = options->allocator;
    desc.limits = options->limits;
    return hd_profile_create(&desc, err);
}

/* The error for an input that ends too early, after its last line. */
HD_UNUSED static hd_error room_ended(const hd_lines *l, const char *expected) {
    hd_error found = hd_lines_error(l, HD_MALFORMED, "");
    snprintf(found.message, sizeof found.message, "%s expected, and the input ends", expected);
    return found;
}

#endif
