/* Trees of one heap, or of two compared heaps, as lines for people. */
#ifndef HEAPDUMP_LISTING_H
#define HEAPDUMP_LISTING_H

#include "answer.h"
#include "frames.h"
#include "recursion.h"
#include "terminal.h"

/* A row of a tree. Rows that fold share its printed line: each is the only child of the one before, with exactly the
   same figures (hd_tree_row). */
typedef struct listing_line {
    hd_str *names;               /* frames from the row above to this one, outermost first; or types */
    uint32_t name_count;
    uint64_t *times;             /* by name: number of repetitions by recursion; NULL: none */
    uint64_t path;               /* number of the path to this row, if frames are repeated (longer_path) */
    hd_str *values;              /* values of further axes that differ from the row above: "type: T" */
    uint32_t value_count;
    hd_amount amount[2];         /* for one heap: [0] */
    uint32_t depth, axis;
    uint32_t route;              /* the axis along which the row above is broken down; `axis` is the axis of the names
                                    */
    unsigned flags;              /* HD_DIFF_ */
    uint64_t more[2];            /* bytes that it may hold in addition, in a merged heap; by side if two are compared
                                    */
    uint32_t entry;              /* HD_NONE: <other> */
    bool folds;                  /* as in hd_tree_row */
    uint32_t parent, next;       /* lines; next: the row that follows on the same printed line, HD_NONE: none */
    uint32_t head;               /* the first row of its printed line */
    uint32_t indent;
} listing_line;

typedef struct listing {
    listing_line *lines;
    uint32_t *path;              /* the last line at each depth */
    uint32_t count, shown;       /* shown: number of printed lines */
    uint32_t listed;             /* rows within the budget */
    bool compares;               /* two heaps are compared */
    bool whole;                  /* no names are omitted */
    const char *by;              /* the axis with values among the frames; NULL: none */
} listing;

/* Makes the tree of a heap, or with `after` of the changes. With `rows`, it has as much as fits into that many lines.
   `folds`: recursion is folded, unless all frames are requested. */
hd_status listing_make(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows, bool folds,
                       const hd_options *options, listing *l, hd_error *err);
/* along.c: makes a heap whose first axis has the values of another axis, with call stacks below them: "age: 1 s",
   main. hd_heap_release frees it. If the heap has no cells, the call stacks are missing. */
hd_status heap_along(const hd_heap *heap, uint32_t axis, const hd_options *options, hd_heap *out, hd_error *err);
/* Whether a tree needs heap_along: a budget of entries, or of `lines`, is spent along an axis other than the first.
   */
bool is_along(const arguments *a, uint32_t axis, bool lines);
/* The value in a name of heap_along; of length 0 for other names. */
hd_str value_along(hd_str name, const char *axis);

/* listing.c */
/* Append a line in preorder, or an <other> with the figures of `from`. */
listing_line *listing_push(listing *l, const listing_line *from);
void listing_push_other(listing *l, const listing_line *from);
hd_str copied_name(hd_str s);
/* Whether the line is a value of --by, which gets a line of its own since names of frames could displace it. */
bool listing_is_value(const listing *l, const listing_line *x);
/* along.c: "age: 1 s" from an axis and a value. */
hd_str value_with_key(const char *axis, hd_str value);
/* nest.c: replaces `some` by the same entries of `all`, with the forks above them. */
void listing_nest(const listing *all, listing *some);
static inline uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* listing.c */
void listing_free(listing *l);
/* Shortens frames by frames_shown. Call it after listing_repeat. */
void listing_shorten(listing *l);
/* Adds the number of repetitions by recursion, for its heap or one of two. */
void listing_repeat(listing *l, const repeats *again);
/* order.c: sorts siblings by the printed figures or names. Call it after listing_shorten. */
void listing_sort(listing *l, hd_order order);
/* put.c */
void listing_put(FILE *out, const arguments *a, const screen *s, const listing *l, const hd_heap *heap,
                 const hd_heap *after);
/* Width of the columns before the names, for a heap without estimates. */
int listing_figures(const arguments *a, const screen *s, const listing *l);

/* Print the bytes that a line may hold in addition, in brackets that are `open` or not; and their legend, at the end.
   */
void put_besides(FILE *out, const arguments *a, uint64_t more, bool open);
void put_besides_legend(FILE *out, const screen *s, bool compares);

/* left_out.c: omitted parts of a listing, and the option that shows them. */
/* A heap with its size, or two compared heaps with their difference. */
typedef struct sized_heap {
    uint64_t bytes;
    size_t number;
} sized_heap;

/* The number of heaps to show: all, in their order; or, if there are many, as fits one screen. Then the largest heaps
   come first. */
size_t largest_first(const arguments *a, const screen *s, sized_heap *heaps, size_t count);

/* Prints a line about the heaps that are not shown, if any. */
void put_smaller(FILE *out, const arguments *a, const screen *s, const char *what, const sized_heap *heaps,
                 size_t shown, size_t count);

/* `kinds` of these heaps: bits 1 << hd_heap_kind. */
void put_left_out(FILE *out, const screen *s, size_t hidden, size_t other_kinds, unsigned kinds, size_t earlier);
/* Ends the list of the answer, and writes the omitted parts after it. */
void json_left_out(answer *to, size_t hidden, size_t other_kinds, size_t earlier);

/* put.c */
/* Prints the label of a heap, with `after` also the different parts of the other label, in at most `columns` columns;
   0: any number. */
void put_label_within(FILE *out, const hd_heap *heap, const hd_heap *after, int columns);
/* Prints a standard error as a share of the amount. */
void put_error(FILE *out, const hd_amount *amount);

#endif
