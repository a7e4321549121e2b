/* The compiler's hints for MemProf profiles, for the commands that list, compare and judge them. */
#ifndef HEAPDUMP_MEMPROF_HINTS_H
#define HEAPDUMP_MEMPROF_HINTS_H

#include "memprof.h"

/* A context of an allocation. It is a block of the index as a raw profile, where call stacks are numbers of
   locations. */
typedef struct index_context {
    uint32_t block;
    uint32_t depth;              /* locations that distinguish it from contexts of other heat; 0: all have one heat;
                                    more than its length: nothing distinguishes it */
    hd_memprof_heat heat, hint;  /* by its own numbers; by the compiler, among all contexts */
    hd_memprof_heat stack_heat;  /* the heat that the compiler uses for its call stack */
    bool is_kept;                /* the compiler keeps its mark; without a mark, a context is not cold */
    bool is_more;                /* another block has the same context: files of LLVM may repeat a context */
    uint64_t bytes;
} index_context;

/* Allocations at one place of a function. To the compiler, they are one call of an allocator. */
typedef struct index_site {
    size_t first, count;         /* blocks of contexts */
    size_t contexts;             /* contexts without repetitions */
    hd_memprof_location at;
    uint64_t bytes, function_bytes;
    bool is_mixed;               /* its contexts have several hints */
} index_site;

/* A mark: the hint for contexts that share their first frames. */
typedef struct index_mark {
    size_t first, end;           /* contexts */
    uint32_t depth;              /* frames */
    hd_memprof_heat hint;
    bool is_forced;              /* no frames distinguish these contexts of several heats */
} index_mark;

/* Contexts of several heats that share frames. The contexts of each caller are marked in order. */
typedef struct index_level {
    size_t first, next, end;     /* contexts; next: the next to be marked */
    size_t from;                 /* the first mark of these contexts */
    uint32_t shared, depth;      /* shared frames: on entry, and after single callers were followed */
    bool has_callers;            /* two or more */
} index_level;

typedef struct index_hints {
    const hd_memprof_index *index;
    const hd_memprof_raw *raw;
    uint32_t clang;              /* release */
    bool uses_hot;
    uint64_t *ids;               /* the compiler's id of each location */
    index_mark *marks;           /* of the current allocation */
    size_t mark_count;
    index_level *levels;         /* nested: each has more frames than the one before */
    size_t level_count;
    index_names names;
    hd_memprof_thresholds thresholds;
    index_context *contexts;
    size_t count, site_count;
    index_site *sites;
    uint64_t bytes[HD_MEMPROF_HEAT_UNKNOWN + 1]; /* by hint */
    uint32_t each[HD_MEMPROF_HEAT_UNKNOWN + 1];  /* contexts */
} index_hints;

typedef struct hints {
    index_source source;
    hd_memprof *flat;            /* the source as a raw profile; numbers of blocks and stacks refer to it */
    index_hints made;
} hints;

/* hints.c */
const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth);
uint32_t index_length(const index_hints *h, uint32_t block);
int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y);
int index_function_order(const void *a, const void *b);
/* Orders contexts by place, then by callers as the compiler walks them; 0: the same context. */
int index_callers_order(const index_hints *h, const index_context *x, const index_context *y);
int index_stack_order(const void *a, const void *b, void *hints);
int index_size_order(const void *a, const void *b);
/* The compiler's id of the location at a depth. */
uint64_t index_id(const index_hints *h, uint32_t block, uint32_t depth);
const char *index_verdict(const index_hints *h, const index_site *site);
void index_put_shown(FILE *out, index_hints *h, uint64_t guid);
double index_density(const uint64_t *value);
double index_lifetime(const uint64_t *value);
/* The thresholds for cold and hot. */
void index_limits(const arguments *a, double limits[3]);
/* `unites`: merges blocks of one context, which the compiler sees separately. */
int hints_open(const arguments *a, index_source from, bool unites, hints *x);
void hints_close(hints *x);

/* hints_list.c */
void index_limits_json(hd_json *j, const arguments *a, const index_hints *h);
void index_place_json(hd_json *j, index_hints *h, const hd_memprof_location *l);

/* A hint and the callers to which it applies: the frames of a mark. */
typedef struct hints_key {
    uint64_t hash;
    uint32_t depth;
    hd_memprof_heat hint;
    bool met;                    /* effect.c: the later run has such a context */
    const index_context *context; /* a context with these frames */
} hints_key;

typedef struct hints_keys {
    const index_hints *h;
    hints_key *keys;
    size_t count;
    size_t *of;                  /* by context: its key */
} hints_keys;

/* hint_keys.c */
void hints_keys_make(hints_keys *k, const index_hints *h);
void hints_keys_free(hints_keys *k);
/* The hint for a context of `of`, made for the same clang release as the keys; NULL: no hint. */
hints_key *hints_look_up(const hints_keys *k, const index_hints *of, uint32_t block);

/* hints_diff.c */
int hints_diff(const arguments *a);

/* effect.c */
int hints_effect(const arguments *a);

#endif
