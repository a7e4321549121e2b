/* What the compiler makes of MemProf profiles, for the commands that tell it, compare it, and judge it. */
#ifndef HEAPDUMP_MEMPROF_HINTS_H
#define HEAPDUMP_MEMPROF_HINTS_H

#include "memprof.h"

/* A context of an allocation: a block of the index as a raw profile, where call stacks are numbers of
   locations. */
typedef struct index_context {
    uint32_t block;
    uint32_t depth;              /* locations that tell it from those of other heat; 0: there are none of
                                    other heat; more than it has: it is not told apart */
    hd_memprof_heat heat, hint;  /* by its numbers; what the compiler makes of it among the others */
    hd_memprof_heat stack_heat;  /* what the compiler takes its call stack for */
    bool is_kept;                /* the compiler marks it; what it does not is not cold */
    bool is_more;                /* of a context that another block is of: files of LLVM may have several */
    uint64_t bytes;
} index_context;

/* Allocations at one place of one function: what the compiler sees as a call of an allocator. */
typedef struct index_site {
    size_t first, count;         /* blocks of contexts */
    size_t contexts;             /* of them, each once */
    hd_memprof_location at;
    uint64_t bytes, function_bytes;
    bool is_mixed;               /* contexts of several hints */
} index_site;

/* A mark: contexts that share their first frames, and what the compiler is told of them. */
typedef struct index_mark {
    size_t first, end;           /* contexts */
    uint32_t depth;              /* frames */
    hd_memprof_heat hint;
    bool is_forced;              /* contexts of several heats that frames do not tell apart */
} index_mark;

/* Contexts that share frames, of several heats, of which those of each caller are marked in turn. */
typedef struct index_level {
    size_t first, next, end;     /* contexts; the next to be marked */
    size_t from;                 /* their first mark */
    uint32_t shared, depth;      /* frames that they share with what led here, and in all */
    bool has_callers;            /* two or more */
} index_level;

typedef struct index_hints {
    const hd_memprof_index *index;
    const hd_memprof_raw *raw;
    uint32_t clang;              /* release */
    bool uses_hot;
    uint64_t *ids;               /* what it calls each location */
    index_mark *marks;           /* of the allocation at hand */
    size_t mark_count;
    index_level *levels;         /* one inside the other: each has more frames */
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
    hd_memprof *flat;            /* the source as a raw profile, of which numbers of blocks and stacks are */
    index_hints made;
} hints;

/* hints.c */
const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth);
uint32_t index_length(const index_hints *h, uint32_t block);
int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y);
int index_function_order(const void *a, const void *b);
/* Of contexts; by place, then by callers as the compiler goes through them; 0: one context. */
int index_callers_order(const index_hints *h, const index_context *x, const index_context *y);
int index_stack_order(const void *a, const void *b, void *hints);
int index_size_order(const void *a, const void *b);
/* What the compiler calls the location at a depth. */
uint64_t index_id(const index_hints *h, uint32_t block, uint32_t depth);
const char *index_verdict(const index_hints *h, const index_site *site);
void index_put_shown(FILE *out, index_hints *h, uint64_t guid);
double index_density(const uint64_t *value);
double index_lifetime(const uint64_t *value);
/* By which numbers something is cold or hot. */
void index_limits(const arguments *a, double limits[3]);
/* `unites`: blocks of one context become one, which the compiler sees apart. */
int hints_open(const arguments *a, index_source from, bool unites, hints *x);
void hints_close(hints *x);

/* hints_list.c */
void index_limits_json(hd_json *j, const arguments *a, const index_hints *h);
void index_place_json(hd_json *j, index_hints *h, const hd_memprof_location *l);

/* The callers that hints are for: frames that a mark has. */
typedef struct hints_key {
    uint64_t hash;
    uint32_t depth;
    hd_memprof_heat hint;
    bool met;                    /* for who looks them up */
    const index_context *context; /* one that has them */
} hints_key;

typedef struct hints_keys {
    const index_hints *h;
    hints_key *keys;
    size_t count;
    size_t *of;                  /* by context: its key */
} hints_keys;

/* told.c */
void hints_keys_make(hints_keys *k, const index_hints *h);
void hints_keys_free(hints_keys *k);
/* What the compiler is told of a context of `of`, whose release is that of the keys; NULL: nothing. */
hints_key *hints_told(const hints_keys *k, const index_hints *of, uint32_t block);

/* hints_diff.c */
int hints_diff(const arguments *a);

/* effect.c */
int hints_effect(const arguments *a);

#endif
