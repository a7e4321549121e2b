/* Heaps that say who allocated: those of a file that are chosen and worked on, and those that are written. */
#ifndef HEAPDUMP_HEAPS_H
#define HEAPDUMP_HEAPS_H

#include "../screen/screen.h"
#include "../symbols/symbols.h"
#include "../formats/formats.h"

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

/* heaps.c */
bool selected(const heap_options *h, const hd_heap *heap);
void chosen_free(chosen *c);
int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c);
int choose_again(const arguments *a, const heap_options *which, const chosen *from, chosen *c);
int choose(const arguments *a, const char *file, chosen *c);
int choose_quietly(const arguments *a, const char *file, chosen *c);
void json_amount(hd_json *j, const char *bytes, const char *blocks, const char *error,
                 const hd_amount *amount);
void mark_picked(const chosen *c, const char *id, bool last, bool *picked);

/* ahead.c: reads files in order on other processors, while the caller works on those before. */
typedef struct ahead ahead;
ahead *ahead_start(const arguments *a); /* NULL, which all take: there is no other processor, or one file */
hd_dump *ahead_take(ahead *h, int i);   /* of each file in turn; NULL: the caller has to read it */
void ahead_stop(ahead *h);

/* pairing.c: by heap of x, the heap of y that it is compared with, or NO_MATE. */
enum { NO_MATE = -1 };
void find_mates(const arguments *a, const chosen *x, const bool *in_x, const chosen *y, const bool *in_y,
                ptrdiff_t *mate, bool *left);

/* resident_parts.c: parts of a program that resident bytes are in. */
enum {
    RESIDENT_BLOCKS,             /* that live and are recorded */
    RESIDENT_ALLOCATOR,          /* the rest of maps that hold such blocks */
    RESIDENT_STACKS,             /* of threads */
    RESIDENT_FILES,              /* mapped files, programs and libraries among them, with what these begin as zeros */
    RESIDENT_ANONYMOUS,          /* other anonymous maps: those of the program's own */
    RESIDENT_RECORDER,           /* what recording takes */
    RESIDENT_UNEXPLAINED,
    RESIDENT_PARTS
};

/* "live_blocks", as in the names of scalars; "live blocks (recorded)", as people read it. */
extern const char *const resident_names[RESIDENT_PARTS];
extern const char *const resident_words[RESIDENT_PARTS];

/* resident_told.c: where resident bytes go, by what a file's scalars say of it. */
/* Writes that of all that the arguments choose; of each process the last, but with --all. */
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
/* The profile without the nodes of its backtrace that are cut, by their numbers. Their bytes go to the parent. */
hd_status without_nodes(const hd_profile *from, const bool *cut, hd_profile **out, hd_error *err);

/* located.c: the profile with functions for frames of which the dump tells addresses in objects; NULL: it has
   none. */
hd_status name_places(symbols *names, const hd_dump *dump, const hd_profile *profile,
                      hd_profile **out, hd_error *err);

/* named.c */
hd_status name_profile(const arguments *a, symbols *names, const hd_profile *profile, hd_profile **out,
                       hd_error *err);

/* convert.c */
int condense(const hd_heap *from, size_t n, const output_options *to, const cut_options *cut, symbols *names,
             hd_heap **heaps, size_t *count);
void condensed_free(hd_heap *heaps, size_t count);
int write_heaps(const output_options *to, const hd_chrome_dumps *what, const hd_places *places, const char *path,
                bool is_default);
int write_condensed(const output_options *to, const cut_options *cut, const hd_chrome_dumps *what,
                    const hd_places *places, size_t scalars, size_t facts);
hd_places *places_create(const output_options *to);
int places_add(hd_places *places, const char *file, const hd_dump *dump);
int check_to(const arguments *a);
int convert_heaps(const arguments *a);
void tell_lost_of_graph(const arguments *a, const hd_dump *dump, const hd_format *format);

/* rows.c: the format of rows that the name of a file asks for; NULL asks for CSV. */
const char *rows_named_by(const char *path);

/* dominated.c */
int dominate(const char *file, const hd_graph *graph, hd_dominators **dominators);
int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap);

/* Of MemProf profiles, what --metric, --by and --binary ask for. Set by main, as floors above know these. */
extern hd_status (*heaps_view)(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                               hd_error *err);

/* merge.c: with --to, or what the name of the output says in its place. */
int merge_heaps(const arguments *given);

/* diff.c: `after` may be NULL, or the same as `before`. Both dumps are freed. */
int diff_heaps(const arguments *given, hd_dump *before, hd_dump *after);

/* info.c: heaps, scalars and facts of a file; members of an object that is open. */
int info_heaps_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a);
int info_heaps_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a);
/* What the format says beside heaps and objects. */
int info_facts_text(FILE *out, const char *file, const hd_dump *dump);

/* suspects.c */
int suspects_of_heaps(const arguments *a, const chosen *c, int count, answer *r);

/* The commands of this floor. */
void check_defaults(arguments *a);
int run_check(const arguments *a);
int run_rows(const arguments *a);
int run_hidden(const arguments *a); /* --frames hidden */
void top_defaults(arguments *a);
int run_top(const arguments *a);
void tree_defaults(arguments *a);
int run_tree(const arguments *a);
int run_validate(const arguments *a);

/* The rest of the face. */
#include "suspects.h"

#endif
