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

frame_pairs *frame_pairs_create(void);
void frame_pairs_free(frame_pairs *p);
/* Takes heaps of one file, whose dump may be NULL, and renames their functions as the files taken before call them.
   Objects pair by base name, else by build id, else as each file's main program; source paths by the prefix that
   differs. Two names of one file never become one. A sum of breakdowns stays as it is: a copy would lose its bounds.
   O(names log names). */
hd_status frame_pairs_take(frame_pairs *p, const hd_dump *dump, const hd_heap *const *heaps, size_t count,
                           renamed_heap *out, hd_error *err);
void renamed_heap_free(renamed_heap *h);

/* pairing_paths.c: what paths of `here` become, by number, so that they are of `known`; to[i] is i on entry. */
void pair_paths(const hd_str *names, uint32_t count, const bool *here, const bool *known, uint32_t *to);

#endif
