/* Frames of two files that are the same function under names of two builds. */
#ifndef HEAPDUMP_PAIRING_FRAMES_H
#define HEAPDUMP_PAIRING_FRAMES_H

#include "heaps.h"

typedef struct frame_pairs frame_pairs;

/* A heap with the names that its functions have in other files. */
typedef struct renamed_heap {
    hd_heap heap;
    bool made;                   /* false: it is the heap that was given */
    const repeats *again;        /* given: its repeats, or NULL; they are renamed, too */
    repeats own;                 /* to be freed */
} renamed_heap;

/* `compares`: heaps are compared, and so are their main programs, whatever their names. Otherwise programs with two
   names are one only if their sources are. */
frame_pairs *frame_pairs_create(bool compares);
void frame_pairs_free(frame_pairs *p);
/* Takes heaps of one file, whose dump may be NULL, and renames their functions as the files taken before call them.
   Objects pair by base name, else by build id, else as each file's main program; source paths of one object by the
   prefix that differs. Two names of one file never become one. A sum of breakdowns stays as it is: a copy would lose
   its bounds.
   O(names log names). */
hd_status frame_pairs_take(frame_pairs *p, const hd_dump *dump, const hd_heap *const *heaps, size_t count,
                           renamed_heap *out, hd_error *err);
void renamed_heap_free(renamed_heap *h);

/* pairing_paths.c: what paths of `here` become, by number, so that they are of `known`; to[i] is i on entry.
   `object` is that of a path's functions; 0: unknown, HD_NONE: several. True: most paths are paired, and `main`
   together with others of its directory, as in two builds of one program. */
bool pair_paths(const hd_str *names, uint32_t count, const bool *here, const bool *known, const uint32_t *object,
                uint32_t main, uint32_t *to);

#endif
