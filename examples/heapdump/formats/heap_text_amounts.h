/* Types of the reader of heap profiles as text, and amounts estimated from samples. */
#ifndef HEAPDUMP_HEAP_TEXT_AMOUNTS_H
#define HEAPDUMP_HEAP_TEXT_AMOUNTS_H

#include "heap_text_symbols.h"
#include "room.h"

#include <math.h>

enum {
    HEAP_TEXT_VARIABLES = 16,    /* variables for parts of paths */
    HEAP_TEXT_PATH = 512,        /* of a longer path only the file name stays: names are linear in the input */
    HEAP_TEXT_LOW = 0x20000000,  /* objects that begin below are linked at their address */
    HEAP_TEXT_FULL = 1000000     /* bytes: gperftools may have cut a longer file */
};

/* A mapped object, or a part of it. */
typedef struct heap_text_map {
    uint64_t start, end;
    uint64_t offset;             /* in the file; after heap_text_place, where its address 0 is */
    size_t path, length;         /* in names */
} heap_text_map;

/* A variable for paths: its name, followed by its value, in names. */
typedef struct heap_text_variable {
    size_t at, name, length;     /* bytes of the name, and of the value */
} heap_text_variable;

/* A frame that Go names, in names. */
typedef struct heap_text_name {
    size_t at, length;
} heap_text_name;

enum { LIVE, TOTAL, HEAPS };

/* A frame. Its caller has a lower number. */
typedef struct heap_text_call {
    uint64_t address;
    uint32_t caller;             /* 0: no caller */
    uint32_t node;               /* in the profile being made; HD_NONE: not needed */
} heap_text_call;

/* The estimated amount of a stack. Stacks share most of their frames, which get names when all mappings are known. */
typedef struct heap_text_held {
    uint64_t offset, line;
    hd_amount amount;
    uint32_t call;
} heap_text_held;

typedef struct heap_text {
    hd_lines lines;
    uint64_t period;             /* bytes per sample; 0: not sampled */
    bool is_jemalloc, is_go, is_exact;
    const char *allocator;
    text_symbols symbols;
    char binary[256];            /* the program of the symbols */
    bool differs;                /* the total of a stack differs from its live amount */
    bool has_header, has_maps;
    hd_amount header[HEAPS], sum[HEAPS]; /* by the first line; by all stacks */
    double rest[HEAPS][2];       /* fractions of blocks and bytes that rounding took away */
    hd_profile *profile[HEAPS];
    heap_text_held *held[HEAPS];
    size_t held_count[HEAPS], held_room[HEAPS];
    /* The stack being read. */
    bool has_stack, kept[HEAPS]; /* kept: its numbers are well-formed */
    uint64_t offset, line;       /* where it is */
    hd_amount amount[HEAPS];
    uint64_t *stack;             /* innermost first */
    size_t depth, stack_room;
    heap_text_call *calls;
    size_t call_count, call_room;
    uint64_t *slots;             /* upper half of a hash, and number, of a call; 0: free */
    size_t slot_count;           /* a power of two */
    uint64_t factor[3];          /* odd, of the hash; random, so that no input can aim at it */
    heap_text_name *named;       /* Go's names, innermost first */
    size_t named_count, named_room;
    /* Objects. */
    room_text names;            /* paths of objects; before these, Go's names of a stack */
    heap_text_map *maps;
    size_t map_count, map_room;
    heap_text_variable variables[HEAP_TEXT_VARIABLES];
    size_t variable_count;
    char path[HEAP_TEXT_PATH];   /* of the last object, with variables expanded */
    char name[HEAP_TEXT_PATH + 32]; /* of the last frame */
} heap_text;

/* A number as an integer, rounded down; 2^128 - 1 at most. */
static hd_u128 heap_text_u128(double v) {
    const double two64 = 18446744073709551616.0;
    hd_u128 n = { UINT64_MAX, UINT64_MAX };
    if (v < 1) v = 0;
    if (v >= two64 * two64) return n;
    n.hi = (uint64_t)(v / two64);
    n.lo = (uint64_t)(v - (double)n.hi * two64);
    return n;
}

/* Rounds to an integer. jeprof adds up fractions, so *rest carries the rounding error on. pprof truncates. */
static uint64_t heap_text_whole(double v, double *rest) {
    uint64_t whole;
    if (!rest) return (uint64_t)v;
    v += *rest;
    whole = v < 0.5 ? 0 : (uint64_t)(v + 0.5);
    *rest = v - (double)whole;
    return whole;
}

/* Scales sampled blocks to an estimate of all blocks. False: more than 64 bits. */
static bool heap_text_estimate(heap_text *t, int heap, hd_amount *a) {
    double *rest = t->is_jemalloc ? t->rest[heap] : NULL, size, chance, blocks, bytes;
    if (t->period <= 1) return true;
    if (!a->blocks || !a->bytes) return a->blocks = a->bytes = 0, true;
    size = (double)a->bytes / (double)a->blocks;
    chance = 1 - exp(-size / (double)t->period);
    if (chance <= 0) return false;
    blocks = (double)a->blocks * (1 / chance);
    bytes = (double)a->bytes * (1 / chance);
    if (blocks >= 1.8e19 || bytes >= 1.8e19) return false;
    a->variance = heap_text_u128((double)a->bytes * size * (1 - chance) / (chance * chance));
    a->blocks = heap_text_whole(blocks, rest);
    a->bytes = heap_text_whole(bytes, rest ? rest + 1 : NULL);
    return true;
}

/* "1: 57", after spaces. Counts may be negative if a program's own counter overflowed. gperftools counts no block if
   only a part of a mapping is left. Samples with bytes but no blocks cannot be scaled. */
static const char *heap_text_pair(heap_text *t, hd_amount *a) {
    hd_lines *l = &t->lines;
    const char *wrong;
    memset(a, 0, sizeof *a);
    hd_lines_skip_spaces(l);
    wrong = hd_lines_number(l, 10, &a->blocks);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of blocks that is not negative" : wrong;
    if (!hd_lines_take(l, ":")) return "':' after the number of blocks";
    hd_lines_skip_spaces(l);
    wrong = hd_lines_number(l, 10, &a->bytes);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of bytes that is not negative" : wrong;
    if (a->bytes && !a->blocks && t->period > 1) return "the bytes of 0 blocks to be 0, and a space";
    return NULL;
}

/* "1: 57 [2: 114]" of a stack or a heap. A negative pair is reported and left out; another fault drops both pairs. */
static hd_status heap_text_pairs(heap_text *t, hd_amount amount[HEAPS]) {
    hd_lines *l = &t->lines;
    t->kept[LIVE] = t->kept[TOTAL] = false;
    for (int i = LIVE; i < HEAPS; i++) {
        const char *wrong = heap_text_pair(t, &amount[i]);
        bool negative = wrong && l->at < l->end && *l->at == '-';
        hd_status status = wrong ? hd_lines_wrong(l, wrong) : HD_OK;
        if (status) return status;
        t->kept[i] = !wrong;
        while (negative && l->at < l->end && *l->at != (i == LIVE ? '[' : ']')) l->at++;
        hd_lines_skip_spaces(l);
        if ((!wrong || negative) && hd_lines_take(l, i == LIVE ? "[" : "]")) continue;
        t->kept[LIVE] = t->kept[TOTAL] = false;
        if (wrong) return HD_OK;
        return hd_lines_wrong(l, i == LIVE ? "'[' after the live amount" : "']' after the allocated amount");
    }
    return HD_OK;
}

#endif
