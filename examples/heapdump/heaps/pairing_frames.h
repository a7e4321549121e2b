/* Gives one name to functions of two builds, although object names or source paths differ. */
#ifndef HEAPDUMP_PAIRING_FRAMES_H
#define HEAPDUMP_PAIRING_FRAMES_H

#include "heaps.h"

typedef struct frame_pairs frame_pairs;

/* A heap whose functions have their names in other files. */
typedef struct renamed_heap {
    hd_heap heap;
    bool made;                   /* false: `heap` is the given one */
    const repeats *again;        /* input: its repeats, or NULL; they are renamed, too */
    repeats own;                 /* to be freed */
} renamed_heap;

/* `compares`: main programs are compared, also with different names. Otherwise, programs with two names are one only
   if they have the same sources. */
frame_pairs *frame_pairs_create(bool compares);
void frame_pairs_free(frame_pairs *p);
/* Renames functions in heaps of one file to their names in earlier files. `dump` may be NULL.
   Objects pair by base name, else by build id, else as each file's main program. Source paths of one object pair if
   they differ only in a prefix. Two names of one file never become one. A sum of breakdowns stays as it is, because
   a copy would lose its bounds.
   O(names log names). */
hd_status frame_pairs_take(frame_pairs *p, const hd_dump *dump, const hd_heap *const *heaps, size_t count,
                           renamed_heap *out, hd_error *err);
void renamed_heap_free(renamed_heap *h);

/* pairing_paths.c: sets to[i] to the known path that path i of `here` becomes; on entry, to[i] is i. `object` is the
   object of a path's functions; 0: unknown, HD_NONE: several. Returns true if at least half of the paths pair, and
   `main` together with others of its directory, as in two builds of one program. */
bool pair_paths(const hd_str *names, uint32_t count, const bool *here, const bool *known, const uint32_t *object,
                uint32_t main, uint32_t *to);

#endif
