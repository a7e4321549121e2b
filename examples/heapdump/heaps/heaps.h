/* Profiles and breakdowns of a file: selecting, transforming, showing and writing them. */
#ifndef HEAPDUMP_HEAPS_H
#define HEAPDUMP_HEAPS_H

#include "../screen/screen.h"
#include "../symbols/symbols.h"
#include "../formats/formats.h"
#include "suspects.h"

/* The chosen heaps of one file. */
typedef struct chosen {
    const char *file;
    hd_dump *dump;
    bool borrowed;               /* another `chosen` frees the dump */
    hd_heap *heaps;
    bool *made;                  /* by heap: made by an operation, released with the rest */
    repeats *again;              /* by heap: folded recursive frames; the list is empty if nothing is folded */
    size_t *hidden;              /* by heap: its hidden frames */
    size_t count;
    symbols names;               /* of frames that are addresses, unless --binary names them */
    size_t earlier;              /* heaps of earlier dumps, left out */
    size_t other_kinds;          /* heaps of other kinds than live, left out */
    unsigned left_kinds;         /* these kinds, as 1 << hd_heap_kind */
} chosen;

/* heaps.c */
bool selected(const heap_options *h, const hd_heap *heap);
void chosen_free(chosen *c);
int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c);
int choose_again(const arguments *a, const heap_options *which, const chosen *from, chosen *c);
int choose(const arguments *a, const char *file, chosen *c);
/* Whether a pattern matches a name on its axis of the heap, apart from the root. */
bool matches_any(const pattern *p, const hd_heap *heap);
/* At the end of a command: reports each of --keep, --drop and --root that no name of its heaps matched. */
void heaps_tell_unmatched(const arguments *a);
int choose_quietly(const arguments *a, const char *file, chosen *c);
void json_amount(hd_json *j, const char *bytes, const char *blocks, const char *error,
                 const hd_amount *amount);
void mark_picked(const chosen *c, const char *id, bool last, bool *picked);

/* Whether a recording writes the file now. main sets it, since a later floor implements it. */
extern bool (*heaps_recorded_now)(const char *file);
/* no_heap.c: reports that no heap of the file fits the options, and the values that would fit. */
void tell_no_heap(const heap_options *which, const char *file, const hd_dump *dump);

/* ahead.c: reads files in order on other processors, while the caller works on earlier ones. */
typedef struct ahead ahead;
ahead *ahead_start(const arguments *a); /* NULL, which all accept: only one processor or one file */
hd_dump *ahead_take(ahead *h, int i);   /* for each file in order; NULL: the caller reads the file */
void ahead_stop(ahead *h);

/* pairing.c: by heap of x, its counterpart in y, or NO_MATE. `left` marks picked heaps of y without counterpart. */
enum { NO_MATE = -1 };
void find_mates(const arguments *a, const chosen *x, const bool *in_x, const chosen *y, const bool *in_y,
                ptrdiff_t *mate, bool *left);

/* resident_parts.c: parts of the resident memory of a process. */
enum {
    RESIDENT_BLOCKS,             /* live recorded blocks */
    RESIDENT_ALLOCATOR,          /* the rest of mappings with such blocks */
    RESIDENT_STACKS,             /* of threads */
    RESIDENT_FILES,              /* mapped files, also programs and libraries with their zero-initialized data */
    RESIDENT_ANONYMOUS,          /* other anonymous mappings: the program's own mmap */
    RESIDENT_RECORDER,           /* memory of the recorder */
    RESIDENT_UNEXPLAINED,
    RESIDENT_PARTS
};

/* "live_blocks", in the names of scalars; "live blocks (recorded)", for people. */
extern const char *const resident_names[RESIDENT_PARTS];
extern const char *const resident_words[RESIDENT_PARTS];

/* resident_print.c: resident memory by part, from the scalars of a file. */
/* Prints the parts for each process that the arguments choose: in its last dump, with --all in every dump. */
void resident_info(FILE *out, const hd_dump *dump, const arguments *a);
/* Whether the scalars have parts (Chromium writes only a sum), and whether resident_info prints a scalar. */
bool has_resident(const hd_dump *dump);
bool is_resident(const hd_scalar *s);

/* info.c: the number of scalars that do not repeat the size of a heap. */
size_t other_scalars(const hd_dump *dump);

/* without_labels.c: the heap with only its stacks, its types and the axis of --by; *made is false if the heap stays
   as it is. */
hd_status without_labels(const arguments *a, const hd_heap *heap, hd_heap *out, bool *made, hd_error *err);

/* drop_frames.c: the profile of a heap without the frames that its dump asks to drop (pprof); NULL if it drops no
   frame. Adds the number of dropped frames to *hidden. */
hd_status without_drop_frames(const hd_dump *dump, const hd_heap *heap, size_t *hidden, hd_profile **out,
                              hd_error *err);
/* The profile without the backtrace nodes that are marked in `cut`. Their bytes go to the parent. */
hd_status without_nodes(const hd_profile *from, const bool *cut, hd_profile **out, hd_error *err);

/* located.c: the profile with functions for frames that the dump places at addresses in objects; NULL if no frame
   has an address. */
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

/* rows.c: the rows format that a file name asks for; CSV for NULL. */
const char *rows_named_by(const char *path);

/* dominated.c */
/* Reports the first given option that only profiles have: WRONG_USAGE. */
int check_graph_options(const arguments *a);
int dominate(const char *file, const hd_graph *graph, hd_dominators **dominators);
int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap);

/* Applies --metric, --by and --binary to MemProf profiles. main sets it, since a later floor implements it. */
extern hd_status (*heaps_view)(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                               hd_error *err);

/* merge.c: writes the format of --to, or else of the output's name. */
int merge_heaps(const arguments *given);

/* diff.c: `after` may be NULL, or the same as `before`. Both dumps are freed. */
int diff_heaps(const arguments *given, hd_dump *before, hd_dump *after);

/* info.c: prints heaps, scalars and facts of a file; as JSON, as members of the open object. */
int info_heaps_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a);
int info_heaps_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a);
/* Prints the facts of the format about the whole file. */
int info_facts_text(FILE *out, const char *file, const hd_dump *dump);

/* suspects.c */
int suspects_of_heaps(const arguments *a, const chosen *c, int count, answer *r, proposal *next);

/* The commands of this floor. */
void check_defaults(arguments *a);
int run_check(const arguments *a);
int run_rows(const arguments *a);
int run_hidden(const arguments *a); /* --frames hidden */
void top_defaults(arguments *a);
/* A regular expression that matches the beginning of a function's name. To be freed. */
char *function_pattern(hd_str name);
int run_top(const arguments *a);
void tree_defaults(arguments *a);
int run_tree(const arguments *a);
int run_validate(const arguments *a);

#endif
