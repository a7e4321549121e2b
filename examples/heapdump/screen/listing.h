/* Trees of heaps, and of two heaps that are compared, as lines for people. */
#ifndef HEAPDUMP_LISTING_H
#define HEAPDUMP_LISTING_H

#include "answer.h"
#include "frames.h"
#include "recursion.h"
#include "terminal.h"

/* A row of a tree. Shown with it, on one line, are rows that fold: each the only child of the one before, and with
   exactly its figures (hd_tree_row). */
typedef struct listing_line {
    hd_str *names;               /* frames that lead here from the row above, outermost first; or types */
    uint32_t name_count;
    uint64_t *times;             /* by name: how often recursion repeats it; NULL: never */
    uint64_t path;               /* the number of the frames that lead here, where some are repeated */
    hd_str *values;              /* along further axes that differ from the row above, too: "type: T" */
    uint32_t value_count;
    hd_amount amount[2];         /* of one heap: [0] */
    uint32_t depth, axis;
    uint32_t route;              /* the axis that the row above is broken down along; axis: of the names */
    unsigned flags;              /* HD_DIFF_ */
    uint64_t more[2];            /* bytes that it may hold besides, of a merged heap; by side of two */
    uint32_t entry;              /* HD_NONE: <other> */
    bool folds;                  /* as in hd_tree_row */
    uint32_t parent, next;       /* lines; next: the row that is shown behind it, HD_NONE: none */
    uint32_t head;               /* the line that it is part of */
    uint32_t indent;
} listing_line;

typedef struct listing {
    listing_line *lines;
    uint32_t *path;              /* the last line of each depth */
    uint32_t count, shown;       /* shown: of these, how many are not part of another */
    uint32_t listed;             /* rows that a budget had */
    bool compares;               /* two heaps */
    bool whole;                  /* no names are left out */
    const char *by;              /* the axis whose values may be among the frames; NULL: none */
} listing;

/* The tree of a heap, or with `after` of what changed. With `rows`, as much as fits into so many lines. `folds`:
   recursion is told once, unless all frames are asked for. */
hd_status listing_make(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows, bool folds,
                       const hd_options *options, listing *l, hd_error *err);
/* along.c: a heap by the values of an axis other than the first, with call stacks below them, as one axis:
   "age: 1 s", main. hd_heap_release frees it. A heap that lists no cells has no stacks then. */
hd_status heap_along(const hd_heap *heap, uint32_t axis, const hd_options *options, hd_heap *out, hd_error *err);
/* Whether a tree is of that: a budget of entries, or of `lines`, is spent along an axis other than the first. */
bool is_along(const arguments *a, uint32_t axis, bool lines);
/* The value in such a name, of length 0 in others. */
hd_str value_along(hd_str name, const char *axis);

/* listing.c */
/* Puts a line behind the last, in preorder; or an <other> with the figures of `from`. */
listing_line *listing_push(listing *l, const listing_line *from);
void listing_push_other(listing *l, const listing_line *from);
hd_str copied_name(hd_str s);
/* Whether it is a value of --by, which has its line: the names of frames might displace it. */
bool listing_is_value(const listing *l, const listing_line *x);
/* along.c: "age: 1 s" of an axis and a value. */
hd_str value_with_key(const char *axis, hd_str value);
/* nest.c: replaces `some` by the same entries of `all` and the forks above them. */
void listing_nest(const listing *all, listing *some);
static inline uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* listing.c */
void listing_free(listing *l);
/* Frames as frames_shown has them; after listing_repeat. */
void listing_shorten(listing *l);
/* Has it tell how often recursion repeats frames of its heap, or of one of two. */
void listing_repeat(listing *l, const repeats *again);
/* order.c: sorts siblings by the printed figures or names; after listing_shorten. */
void listing_sort(listing *l, hd_order order);
/* put.c */
void listing_put(FILE *out, const arguments *a, const screen *s, const listing *l, const hd_heap *heap,
                 const hd_heap *after);
/* Columns in front of the names of a heap without estimates. */
int listing_figures(const arguments *a, const screen *s, const listing *l);

/* How much more a line may hold, within brackets that are open or not yet; and what that means, at the end. */
void put_besides(FILE *out, const arguments *a, uint64_t more, bool open);
void put_besides_legend(FILE *out, const screen *s, bool compares);

/* left_out.c: what a listing leaves out, and how to see it. */
/* A heap, or two that are compared: what it holds, or by how much they differ. */
typedef struct sized_heap {
    uint64_t bytes;
    size_t number;
} sized_heap;

/* How many heaps are shown: all, in the order in which they are; or of many those that one screen has room for, and
   the largest are first then. */
size_t largest_first(const arguments *a, const screen *s, sized_heap *heaps, size_t count);

/* A line that tells of the heaps that are not shown, if any. */
void put_smaller(FILE *out, const arguments *a, const screen *s, const char *what, const sized_heap *heaps,
                 size_t shown, size_t count);

void put_left_out(FILE *out, const screen *s, size_t hidden, size_t other_kinds, size_t earlier);
/* After the list, which it ends. */
void json_left_out(answer *to, size_t hidden, size_t other_kinds, size_t earlier);

/* put.c */
/* What a heap is of; with `after` what else the one is that it is compared with. In so many columns; 0: any
   number. */
void put_label_within(FILE *out, const hd_heap *heap, const hd_heap *after, int columns);
/* A standard error as a share of what it is of. */
void put_error(FILE *out, const hd_amount *amount);

#endif
