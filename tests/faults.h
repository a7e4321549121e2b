/* Injected failures, shared by the tests. Include after heapdump.h.

       hd__faults f = {0};                      // counts, tracks, fails nothing
       f.fail_at = 3;                           // the third allocation from now fails, once
       options.allocator = hd__faults_allocator(&f);
       assert_int_equal(f.live, 0);             // bytes that are still allocated: leaks

       HD__EACH_FAULT(f)                        // a loop that fails the 1st, 2nd, ... until none does
           { ...the call, its checks; leave with `break` or `return` only when a check failed... }

       hd__write_faults w = {0};                // an output that keeps the written bytes
       w.fail_at = 2;                           // the second write fails, and so do all later writes
       hd_out out = hd__faults_out(&w);
       hd__write_faults_free(&w);

       hd__reads r = { .data = data, .size = size, .chunk = 1 };  // an input byte by byte
       hd_in in = hd__faults_in(&r);

   Freeing never fails and is not counted. Shrinking and growing both count as an allocation. `misuse` becomes
   a sentence (else it is NULL) if a block is freed or resized with a wrong old_size or address. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* hd__arr_push, hd__arr_len and similar macros need these names, which the implementation undefines at its end. */
#define stbds_array_header hd__stbds_array_header
#undef stbds_arrmaybegrow
#define stbds_arrmaybegrow(a, n) ((void)0)

typedef struct hd__faults {
    uint64_t fail_at;        /* which allocation fails, counted from 1; 0: none */
    bool keep_failing;       /* later allocations fail, too */
    uint64_t count;          /* requested allocations */
    uint64_t failed;         /* refused allocations */
    size_t live, peak, largest; /* bytes: now, at the peak, and in the largest request */
    size_t blocks;           /* blocks now */
    size_t cap;              /* refuses an allocation if `live` would exceed this; 0: no cap */
    const char *misuse;
} hd__faults;

/* Precedes every block. It has 16 bytes, to keep the alignment of malloc. */
typedef struct hd__faults_head {
    uint64_t mark, size;
} hd__faults_head;

#define HD__FAULTS_MARK UINT64_C(0x6661756c74732e68)

HD_UNUSED static void *hd__faults_allocate(void *user, void *block, size_t old_size, size_t size) {
    hd__faults *f = (hd__faults *)user;
    hd__faults_head *head = block ? (hd__faults_head *)block - 1 : NULL;
    if (head && head->mark != HD__FAULTS_MARK) {
        f->misuse = "a block that this allocator did not give";
        return NULL;
    }
    if (head ? head->size != old_size : old_size != 0) f->misuse = "old_size is not the block's size";
    if (!size) {
        if (!head) return NULL;
        f->live -= (size_t)head->size;
        f->blocks--;
        head->mark = 0;
        memset(block, 0xdd, (size_t)head->size);
        free(head);
        return NULL;
    }
    if (size > f->largest) f->largest = size;
    f->count++;
    if ((f->fail_at && (f->keep_failing ? f->count >= f->fail_at : f->count == f->fail_at)) ||
        (f->cap && (size > f->cap || f->live - (head ? (size_t)head->size : 0) > f->cap - size)) ||
        size > SIZE_MAX - sizeof *head) {
        f->failed++;
        return NULL;
    }
    /* Always use a new address, and fill new memory with rubbish, so that no test passes by luck. */
    hd__faults_head *fresh = (hd__faults_head *)malloc(sizeof *fresh + size);
    if (!fresh) return NULL;
    fresh->mark = HD__FAULTS_MARK;
    fresh->size = size;
    memset(fresh + 1, 0xcd, size < 65536 ? size : 65536);
    if (head) {
        memcpy(fresh + 1, head + 1, size < head->size ? size : (size_t)head->size);
        f->live -= (size_t)head->size;
        head->mark = 0;
        free(head);
    } else {
        f->blocks++;
    }
    f->live += size;
    if (f->live > f->peak) f->peak = f->live;
    return fresh + 1;
}

HD_UNUSED static hd_allocator hd__faults_allocator(hd__faults *f) {
    hd_allocator a;
    a.allocate = hd__faults_allocate;
    a.user = f;
    return a;
}

/* Prepares the next fault. Returns false, which ends the loop, if the last round ended before its fault. */
HD_UNUSED static bool hd__faults_next(hd__faults *f, bool *first) {
    if (!*first && f->count < f->fail_at) return false;
    f->fail_at = *first ? 1 : f->fail_at + 1;
    f->count = f->failed = 0; /* live and blocks keep their values: a leak stays visible */
    f->peak = f->largest = 0;
    *first = false;
    return true;
}

/* Runs the next block with the 1st, 2nd, ... allocation failing. In the last run nothing fails (f.failed == 0). */
#define HD__EACH_FAULT(f) for (bool hd__first = true; hd__faults_next(&(f), &hd__first);)

typedef struct hd__write_faults {
    uint64_t fail_at;        /* number of the first write that fails, from 1; 0: none fails */
    hd_status status;        /* status of a failed write; HD_OK means HD_IO */
    uint64_t count, after;   /* writes; writes after the first failure, which no caller should make */
    uint8_t *data;           /* bytes of the successful writes */
    size_t size, capacity;
} hd__write_faults;

HD_UNUSED static hd_status hd__faults_write(void *user, const void *data, size_t size) {
    hd__write_faults *w = (hd__write_faults *)user;
    w->count++;
    if (w->fail_at && w->count >= w->fail_at) {
        if (w->count > w->fail_at) w->after++;
        return w->status ? w->status : HD_IO;
    }
    if (size > w->capacity - w->size) {
        size_t capacity = (w->size + size) * 2;
        uint8_t *grown = (uint8_t *)realloc(w->data, capacity);
        if (!grown) return HD_OUT_OF_MEMORY;
        w->data = grown;
        w->capacity = capacity;
    }
    if (size) memcpy(w->data + w->size, data, size);
    w->size += size;
    return HD_OK;
}

HD_UNUSED static hd_out hd__faults_out(hd__write_faults *w) { return hd_out_callback(hd__faults_write, w); }

HD_UNUSED static void hd__write_faults_free(hd__write_faults *w) {
    free(w->data);
    memset(w, 0, sizeof *w);
}

typedef struct hd__reads {
    const void *data;
    size_t size;
    size_t at;               /* offset of the next byte; start with 0 */
    size_t chunk;            /* most bytes per read; 0: no limit */
    uint64_t fail_at;        /* number of the first read that fails, from 1; 0: none fails */
    uint64_t count;
    uint64_t repeat;         /* start again at `from` this many times before the end */
    size_t from, until;      /* the repeated bytes: [from, until) */
} hd__reads;

HD_UNUSED static int64_t hd__faults_read(void *user, void *buffer, size_t capacity) {
    hd__reads *r = (hd__reads *)user;
    r->count++;
    if (r->fail_at && r->count >= r->fail_at) return -1;
    if (r->repeat && r->at >= r->until) {
        r->at = r->from;
        r->repeat--;
    }
    size_t n = (r->repeat ? r->until : r->size) - r->at;
    if (r->chunk && n > r->chunk) n = r->chunk;
    if (n > capacity) n = capacity;
    if (n) memcpy(buffer, (const char *)r->data + r->at, n);
    r->at += n;
    return (int64_t)n;
}

HD_UNUSED static hd_in hd__faults_in(hd__reads *r) { return hd_in_callback(hd__faults_read, r); }

/* Seeded random numbers (splitmix64), equal on all systems. */
HD_UNUSED static uint64_t hd__test_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 0 to n - 1. */
HD_UNUSED static uint64_t hd__test_below(uint64_t *state, uint64_t n) { return hd__test_random(state) % n; }

#endif
