/* Heaps that say who allocated: those of a file that are chosen and worked on, and those that are written. */
#ifndef HEAPDUMP_HEAPS_H
#define HEAPDUMP_HEAPS_H

#include "cli.h"
#include "recursion.h"
#include "symbols.h"

/* The chosen heaps of one file. */
typedef struct chosen {
    const char *file;
    hd_dump *dump;
    bool borrowed;               /* the dump is freed by another */
    hd_heap *heaps;
    bool *made;                  /* by an operation: released with the rest */
    repeats *again;              /* by heap: frames that recursion repeats; the list is empty where all are told */
    size_t count;
    symbols names;               /* of frames that are addresses, where --binary gives none */
    size_t hidden;               /* frames that are left out, of all heaps */
    size_t earlier;              /* heaps of earlier dumps, left out */
    size_t other_kinds;          /* heaps of other kinds than live, left out */
} chosen;

/* What a heap holds in all. */
typedef struct totals {
    uint64_t bytes, blocks, error; /* error: the standard one of the bytes */
    uint32_t rows;
} totals;

/* heaps.c */
bool selected(const arguments *a, const hd_heap *heap);
void chosen_free(chosen *c);
int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c);
int choose_again(const arguments *a, const chosen *from, chosen *c);
int choose(const arguments *a, const char *file, chosen *c);
void json_amount(hd_json *j, const char *bytes, const char *blocks, const char *error,
                 const hd_amount *amount);
uint32_t axis_in(const arguments *a, const hd_heap *heap);
uint32_t axis_in_both(const arguments *a, const hd_heap *before, const hd_heap *after);
hd_tree_options tree_options(const arguments *a);
int compare_texts(const char *x, const char *y);
bool same_text(const char *x, const char *y);
int compare_numbers(uint64_t x, uint64_t y);
int compare_heaps(const hd_heap *x, const hd_heap *y, bool by_name);
bool has_bounds(const hd_heap *heap);
bool same_start(const hd_heap *x, const hd_heap *y);
bool same_process(const hd_heap *x, const hd_heap *y);
int by_process_and_time(const void *a, const void *b);
int by_pid(const void *a, const void *b);
const hd_heap **sorted_heaps(const hd_heap *heaps, size_t count, const bool *marked,
                             int (*order)(const void *, const void *), size_t *n);
void mark_picked(const chosen *c, const char *id, bool last, bool *picked);
totals totals_of(const hd_heap *heap);
bool has_unknown_error(const hd_heap *heap);

/* ahead.c: reads files in order on other processors, while the caller works on those before. */
typedef struct ahead ahead;
ahead *ahead_start(const arguments *a); /* NULL, which all take: there is no other processor, or one file */
hd_dump *ahead_take(ahead *h, int i);   /* of each file in turn; NULL: the caller has to read it */
void ahead_stop(ahead *h);

/* pairing.c: by heap of x, the heap of y that it is compared with, or NO_MATE. */
enum { NO_MATE = -1 };
void find_mates(const arguments *a, const chosen *x, const bool *in_x, const chosen *y, const bool *in_y,
                ptrdiff_t *mate, bool *left);

/* resident_told.c: where resident bytes go, by what a file's scalars say of it. */
/* Writes that of a process in a dump, as lines of text. False: the file says nothing. */
bool resident_text(FILE *out, const hd_dump *dump, uint64_t pid, const char *id);
/* That of all that the arguments choose; of each process the last, but with --all. */
void resident_info(FILE *out, const hd_dump *dump, const arguments *a);
/* Whether these tell parts, not just a sum as Chromium does; and what resident_info tells of those that do. */
bool has_resident(const hd_dump *dump);
bool is_resident(const hd_scalar *s);

/* info.c: how many scalars say more than the sizes of heaps. */
size_t scalars_beside(const hd_dump *dump);

/* beside.c: the heap without axes that neither are stacks or types nor are asked for by --by; *made is false where it
   has no others. */
hd_status without_labels(const arguments *a, const hd_heap *heap, hd_heap *out, bool *made, hd_error *err);

/* drop_frames.c: the profile of a heap without what its dump says is to be dropped (pprof); NULL: that is nothing.
   How many frames that is, is added to *hidden. */
hd_status without_drop_frames(const hd_dump *dump, const hd_heap *heap, size_t *hidden, hd_profile **out,
                              hd_error *err);

/* located.c: the profile with functions for frames of which the dump tells addresses in objects; NULL: it has
   none. */
hd_status name_places(symbols *names, const hd_dump *dump, const hd_profile *profile,
                      hd_profile **out, hd_error *err);

/* named.c */
hd_status name_profile(const arguments *a, symbols *names, const hd_profile *profile, hd_profile **out,
                       hd_error *err);

/* convert.c */
int condense(const hd_heap *from, size_t n, const arguments *a, symbols *names, hd_heap **heaps,
             size_t *count);
void condensed_free(hd_heap *heaps, size_t count);
int write_heaps(const arguments *a, const hd_chrome_dumps *what, const hd_places *places, const char *path,
                bool is_default);
int write_condensed(const arguments *a, const hd_chrome_dumps *what, const hd_places *places, size_t scalars,
                    size_t facts);
hd_places *places_create(const arguments *a);
int places_add(hd_places *places, const char *file, const hd_dump *dump);
int check_to(const arguments *a);

#endif
