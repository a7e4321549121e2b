/* Merging memprof profiles. The result equals a simple model block by block, in any order and grouping if the fields
   allow it. It can be written as a profile again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "memprof.h"

/* The simple model: call stacks as text, blocks in a list. */
typedef struct plain_block {
    char key[6 * 100];
    uint64_t value[28], counters[64];
} plain_block;

typedef struct plain {
    plain_block *blocks;
    size_t n;
    uint32_t fields;
} plain;

static void plain_key(const hd_memprof_raw *r, uint32_t stack, char *key, size_t size) {
    size_t at = 0;
    *key = 0;
    for (uint32_t k = r->first[stack]; k < r->first[stack + 1]; k++) {
        const hd_memprof_segment *s = NULL;
        uint64_t pc = r->pc[k];
        for (uint32_t i = 0; i < r->segment_count; i++)
            if (pc >= r->segments[i].start && pc < r->segments[i].end) s = &r->segments[i];
        if (!s) {
            at += (size_t)snprintf(key + at, size - at, "?+%" PRIx64 " ", pc);
            continue;
        }
        /* build ids in these tests have no zero byte before their end */
        for (uint32_t i = 0; i < s->build_id_size && s->build_id[i]; i++)
            at += (size_t)snprintf(key + at, size - at, "%02x", s->build_id[i]);
        if (!s->build_id_size) at += (size_t)snprintf(key + at, size - at, "[%" PRIx64 "]", s->end - s->start);
        if (!s->build_id_size && r->version < 3) at += (size_t)snprintf(key + at, size - at, "@%" PRIx64, s->offset);
        at += (size_t)snprintf(key + at, size - at, "+%" PRIx64 " ", r->version < 3 ? pc - s->start + s->offset : pc - s->offset);
    }
    assert_true(at < size - 1);
}

static void plain_add(plain *p, const hd_memprof_raw *r) {
    static const uint8_t sums[] = { 1, 2, 5, 10, 20, 23 }, least[] = { 3, 6, 11, 21, 24 }, most[] = { 4, 7, 12, 22, 25 };
    p->fields &= r->fields;
    for (uint32_t i = 0; i < r->block_count; i++) {
        const hd_memprof_block *b = &r->blocks[i];
        plain_block *to = NULL;
        char key[sizeof to->key];
        uint64_t n = r->version > 3 ? b->value[26] : 0;
        plain_key(r, b->stack, key, sizeof key);
        for (size_t k = 0; k < p->n; k++)
            if (!strcmp(p->blocks[k].key, key)) to = &p->blocks[k];
        if (!to) {
            p->blocks = (plain_block *)realloc(p->blocks, (p->n + 1) * sizeof *p->blocks);
            to = &p->blocks[p->n++];
            memset(to, 0, sizeof *to);
            strcpy(to->key, key);
            memcpy(to->value, b->value, sizeof to->value);
            to->value[26] = 0;
        } else {
            to->value[16] += b->value[8] < to->value[9];
            to->value[17] += b->value[13] == to->value[13];
            to->value[18] += b->value[14] == to->value[14];
            to->value[8] = b->value[8];
            to->value[9] = b->value[9];
            to->value[13] = b->value[13];
            to->value[14] = b->value[14];
            for (size_t f = 0; f < sizeof sums; f++) {
                uint64_t *v = &to->value[sums[f]], more = b->value[sums[f]];
                *v = more > UINT64_MAX - *v ? UINT64_MAX : *v + more;
            }
            for (size_t f = 0; f < sizeof least; f++)
                if (b->value[least[f]] < to->value[least[f]]) to->value[least[f]] = b->value[least[f]];
            for (size_t f = 0; f < sizeof most; f++)
                if (b->value[most[f]] > to->value[most[f]]) to->value[most[f]] = b->value[most[f]];
        }
        if (n > to->value[26]) to->value[26] = n;
        to->value[27] = 0;
        for (uint64_t k = 0; k < n; k++) to->counters[k] += hd_memprof_counter(r, b->histogram + k);
    }
}

static void plain_compare(const plain *p, const hd_memprof_raw *r, bool ordered) {
    assert_int_equal(r->fields, p->fields);
    assert_int_equal(r->block_count, p->n);
    for (uint32_t i = 0; i < r->block_count; i++) {
        const hd_memprof_block *b = &r->blocks[i];
        const plain_block *want = NULL;
        char key[sizeof want->key];
        plain_key(r, b->stack, key, sizeof key);
        for (size_t k = 0; k < p->n; k++)
            if (!strcmp(p->blocks[k].key, key)) want = &p->blocks[k];
        if (!want) fail_msg("no stack %s", key);
        for (uint32_t f = 1; f < 28; f++) {
            uint64_t v = p->fields >> f & 1 ? want->value[f] : 0;
            if (!ordered && (f == 8 || f == 9 || (f >= 13 && f <= 19))) continue;
            if (b->value[f] != v) fail_msg("%s of %s: %" PRIu64 ", not %" PRIu64, hd_memprof_field_name(f), key, b->value[f], v);
        }
        for (uint64_t k = 0; k < b->value[26]; k++) assert_int_equal(r->counters[b->histogram + k], want->counters[k]);
    }
}

/* Merges the profiles; the result is written and read back. */
static hd_memprof *merge(const hd_memprof_raw *const *raws, size_t n) {
    hd_memprof_merger *x = hd_memprof_merger_create(&(hd_options){ .lenient = true }, NULL);
    hd_memprof *doc;
    hd_dump *again;
    hd_error err;
    hd_buffer out = { 0 };
    for (size_t i = 0; i < n; i++)
        if (hd_memprof_merger_add(x, raws[i], &err)) fail_msg("%s", err.message);
    if (hd_memprof_merger_finish(x, &doc, &err)) fail_msg("%s", err.message);
    hd_memprof_merger_free(x);
    assert_int_equal(hd_memprof_part_count(doc), 1);
    if (hd_memprof_write(doc, &(hd_options){ .lenient = true }, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    if (mp_read(hd_in_memory(out.data, out.size), NULL, &again, &err)) fail_msg("%s", err.message);
    hd_dump_free(again);
    hd_buffer_free(&out);
    return doc;
}

static void equals_the_plain_model(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int round = 0; round < 400; round++) {
        enum { MOST = 6 };
        uint32_t n = 1 + mp_below(&seed, MOST), old = mp_below(&seed, 2);
        mp_model m[MOST];
        const hd_memprof_raw *raw[MOST], *shuffled[MOST];
        plain p = { NULL, 0, 0xffffffe };
        for (uint32_t i = 0; i < n; i++) {
            mp_random(&m[i], &seed, old ? 1 + mp_below(&seed, 2) : 3 + mp_below(&seed, 3), mp_below(&seed, 40) << 12);
            raw[i] = shuffled[i] = &m[i].raw;
            plain_add(&p, raw[i]);
        }
        hd_memprof *all = merge(raw, n);
        plain_compare(&p, hd_memprof_part(all, 0), true);
        assert_int_equal(hd_memprof_part(all, 0)->version < 3, old);

        for (uint32_t i = n; i-- > 1;) { /* another order: equal stacks have equal addresses */
            uint32_t k = mp_below(&seed, i + 1);
            const hd_memprof_raw *swap = shuffled[i];
            shuffled[i] = shuffled[k];
            shuffled[k] = swap;
        }
        hd_memprof *other = merge(shuffled, n);
        const hd_memprof_raw *a = hd_memprof_part(all, 0), *b = hd_memprof_part(other, 0);
        plain_compare(&p, b, false);
        assert_int_equal(a->segment_count, b->segment_count);
        if (a->segment_count) assert_memory_equal(a->segments, b->segments, a->segment_count * sizeof *a->segments);
        assert_memory_equal(a->first, b->first, (a->stack_count + 1) * sizeof *a->first);
        if (a->first[a->stack_count]) assert_memory_equal(a->pc, b->pc, a->first[a->stack_count] * sizeof *a->pc);
        hd_memprof_free(other);

        uint32_t cut = mp_below(&seed, n + 1); /* in two groups */
        hd_memprof *left = merge(raw, cut), *right = merge(raw + cut, n - cut);
        const hd_memprof_raw *both[2] = { hd_memprof_part(left, 0), hd_memprof_part(right, 0) };
        if (cut && cut < n) {
            other = merge(both, 2);
            plain_compare(&p, hd_memprof_part(other, 0), false);
            hd_memprof_free(other);
        }
        hd_memprof_free(left);
        hd_memprof_free(right);
        hd_memprof_free(all);
        for (uint32_t i = 0; i < n; i++) mp_close(&m[i]);
        free(p.blocks);
    }
}

/* A block for each address of one binary, at its link address. */
static void simple(mp_model *m, uint32_t blocks) {
    mp_open(m, 4, 1, blocks, blocks, 4 * blocks, 100);
    m->segments[0].start = 0x401000;
    m->segments[0].end = 0x500000;
    m->segments[0].build_id_size = 2;
    m->segments[0].build_id[0] = m->segments[0].build_id[1] = 7;
    for (uint32_t i = 0; i < blocks; i++) {
        m->stack_id[i] = 100 + i;
        m->pc[i] = 0x402000 + 16 * i;
        m->first[i + 1] = i + 1;
        m->blocks[i].stack = i;
    }
}

static hd_memprof *merge_two(const mp_model *a, const mp_model *b) {
    const hd_memprof_raw *both[2] = { &a->raw, &b->raw };
    return merge(both, 2);
}

/* Contexts A -> B and C -> B stay separate; A -> B of two processes is one context. */
static void contexts_are_distinguished_by_their_callers(void **state) {
    (void)state;
    enum { A = 0x401100, B = 0x402200, C = 0x403300 };
    mp_model m, n;
    simple(&m, 2);
    simple(&n, 1);
    m.first[1] = 2;
    m.first[2] = 4;
    m.pc[0] = m.pc[2] = n.pc[0] = B;
    m.pc[1] = n.pc[1] = A;
    m.pc[3] = C;
    n.first[1] = 2;
    n.stack_id[0] = 5;
    m.blocks[0].value[HD_MEMPROF_ALLOC_COUNT] = 1;
    m.blocks[1].value[HD_MEMPROF_ALLOC_COUNT] = 10;
    n.blocks[0].value[HD_MEMPROF_ALLOC_COUNT] = 100;
    hd_memprof *doc = merge_two(&m, &n);
    const hd_memprof_raw *r = hd_memprof_part(doc, 0);
    assert_int_equal(r->version, 4);
    assert_int_equal(r->block_count, 2);
    assert_int_equal(r->stack_count, 2);
    assert_int_equal(r->stack_id[0], 1);
    assert_int_equal(r->stack_id[1], 2);
    assert_int_equal(r->pc[0], B);
    assert_int_equal(r->pc[1], A);
    assert_int_equal(r->pc[2], B);
    assert_int_equal(r->pc[3], C);
    assert_int_equal(r->blocks[0].value[HD_MEMPROF_ALLOC_COUNT], 101);
    assert_int_equal(r->blocks[1].value[HD_MEMPROF_ALLOC_COUNT], 10);
    assert_int_equal(r->segment_count, 1);
    assert_int_equal(r->segments[0].start, 0x401000);
    assert_int_equal(r->segments[0].end, 0x500000);
    assert_int_equal(r->segments[0].build_id_size, 2);
    hd_memprof_free(doc);
    mp_close(&m);
    mp_close(&n);
}

/* LLVM orders stacks by a hash of their ids, and would join two stacks with one id. */
static void stacks_in_their_order_keep_ids_that_differ(void **state) {
    (void)state;
    for (int is_same = 0; is_same < 2; is_same++) {
        hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
        hd_memprof *doc;
        mp_model m, n;
        simple(&m, 2);
        simple(&n, 2);
        m.stack_id[0] = 900;
        m.stack_id[1] = 800;
        n.stack_id[0] = 42; /* the id of a stack of m, which came first */
        n.stack_id[1] = is_same ? 900 : 700;
        n.pc[1] = 0x403000;
        hd_memprof_merger_keep_order(x);
        assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
        assert_int_equal(hd_memprof_merger_add(x, &n.raw, NULL), HD_OK);
        assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK);
        const hd_memprof_raw *r = hd_memprof_part(doc, 0);
        assert_int_equal(r->stack_count, 3);
        assert_int_equal(r->stack_id[0], is_same ? 1 : 900);
        assert_int_equal(r->stack_id[1], is_same ? 2 : 800);
        assert_int_equal(r->stack_id[2], is_same ? 3 : 700);
        hd_memprof_free(doc);
        hd_memprof_merger_free(x);
        mp_close(&m);
        mp_close(&n);
    }
}

/* The later block was allocated before the earlier one was freed, on the same CPU. The histograms have 3 and 2
   counters. */
static void fields_merge_by_their_rules(void **state) {
    (void)state;
    static const uint64_t first[28] = { 0, 2, 50, 5, 45, 300, 100, 200, 10, 20, 30, 5, 25, 1, 2, 1, 3, 1, 1, 9,
                                        70, 10, 60, 700, 100, 600, 3, 0xdead };
    static const uint64_t later[28] = { 0, 1, 7, 7, 7, 50, 50, 50, 19, 40, 21, 21, 21, 1, 3, 1, 4, 5, 6, 8,
                                        14, 14, 14, 800, 800, 800, 2, 0xbeef };
    static const uint64_t merged[28] = { 0, 3, 57, 5, 45, 350, 50, 200, 19, 40, 51, 5, 25, 1, 3, 1, 4, 2, 1, 9,
                                         84, 10, 60, 1500, 100, 800, 3, 0 };
    mp_model m, n;
    simple(&m, 1);
    simple(&n, 1);
    memcpy(m.blocks[0].value, first, sizeof first);
    memcpy(n.blocks[0].value, later, sizeof later);
    m.counters[0] = 1;
    m.counters[1] = 2;
    m.counters[2] = UINT64_MAX - 1;
    n.counters[0] = 10;
    n.counters[1] = 20;
    hd_memprof *doc = merge_two(&m, &n);
    const hd_memprof_raw *r = hd_memprof_part(doc, 0);
    for (uint32_t f = 1; f < 28; f++)
        if (r->blocks[0].value[f] != merged[f]) fail_msg("%s: %" PRIu64, hd_memprof_field_name(f), r->blocks[0].value[f]);
    assert_int_equal(r->counters[0], 11);
    assert_int_equal(r->counters[1], 22);
    assert_int_equal(r->counters[2], UINT64_MAX - 1);
    hd_memprof_free(doc);
    n.blocks[0].value[8] = 20;   /* an equal time is not earlier */
    doc = merge_two(&m, &n);
    assert_int_equal(hd_memprof_part(doc, 0)->blocks[0].value[HD_MEMPROF_NUM_LIFETIME_OVERLAPS], 3);
    hd_memprof_free(doc);
    n.blocks[0].value[HD_MEMPROF_TOTAL_SIZE] = UINT64_MAX - 299; /* sums end */
    n.blocks[0].value[26] = 4;
    n.counters[2] = 2;
    doc = merge_two(&m, &n);
    r = hd_memprof_part(doc, 0);
    assert_true(r->blocks[0].value[HD_MEMPROF_TOTAL_SIZE] == UINT64_MAX);
    assert_int_equal(r->blocks[0].value[26], 4);
    assert_true(r->counters[2] == UINT64_MAX);
    assert_int_equal(r->counters[3], 0);
    hd_memprof_free(doc);
    for (int counters = 0; counters < 2; counters++) { /* strictly */
        hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
        hd_error err;
        if (counters) n.blocks[0].value[HD_MEMPROF_TOTAL_SIZE] = 1;
        assert_int_equal(hd_memprof_merger_add(x, &m.raw, &err), HD_OK);
        assert_int_equal(hd_memprof_merger_add(x, &n.raw, &err), HD_OVERFLOW);
        assert_string_equal(err.message, counters ? "call stack 0: the sum of AccessHistogram does not fit in 64 bits"
                                                  : "call stack 0: the sum of TotalSize does not fit in 64 bits");
        hd_memprof_merger_free(x);
    }
    mp_close(&m);
    mp_close(&n);
}

/* In another process another library is at the same place; one binary cannot move. */
static void modules_get_out_of_each_others_way(void **state) {
    (void)state;
    mp_model m, n;
    mp_open(&m, 4, 2, 2, 2, 2, 0);
    mp_open(&n, 4, 2, 3, 3, 3, 0);
    for (int k = 0; k < 2; k++) {
        mp_model *x = k ? &n : &m;
        x->segments[0].start = 0x401000;
        x->segments[0].end = 0x402000;
        x->segments[0].build_id_size = x->segments[1].build_id_size = 1;
        x->segments[0].build_id[0] = 9;
        x->segments[1].start = 0x7f0000001000;
        x->segments[1].end = 0x7f0000009000;
        x->segments[1].offset = 0x7f0000000000;
        x->segments[1].build_id[0] = (uint8_t)(k + 1); /* another library at the same place */
        for (uint32_t i = 0; i < x->raw.stack_count; i++) {
            x->stack_id[i] = i;
            x->first[i + 1] = i + 1;
            x->blocks[i].stack = i;
            x->blocks[i].value[1] = 1;
        }
        x->pc[0] = 0x401888;
        x->pc[1] = 0x7f0000001234;
    }
    n.pc[2] = 0x1800;            /* in no segment: where the library would be moved to */
    hd_memprof *doc = merge_two(&m, &n);
    const hd_memprof_raw *r = hd_memprof_part(doc, 0);
    assert_int_equal(r->block_count, 4);
    assert_int_equal(r->segment_count, 3);
    assert_int_equal(r->segments[0].start, 0x2000);
    assert_int_equal(r->segments[0].end, 0xa000);
    assert_int_equal(r->segments[0].offset, 0x1000);
    assert_int_equal(r->segments[0].build_id[0], 2);
    assert_int_equal(r->segments[1].start, 0x401000);
    assert_int_equal(r->segments[1].offset, 0);
    assert_int_equal(r->segments[2].start, 0x7f0000001000);
    assert_int_equal(r->segments[2].build_id[0], 1);
    assert_int_equal(r->pc[0], 0x7f0000001234);
    assert_int_equal(r->pc[1], 0x2234);
    assert_int_equal(r->pc[2], 0x401888);
    assert_int_equal(r->pc[3], 0x1800);
    hd_memprof_free(doc);
    m.segments[1].start = UINT64_MAX - 100; /* the top of the address space is usable, but one segment exceeds it */
    m.segments[1].end = UINT64_MAX;
    m.segments[1].offset = 0;
    hd_memprof_free(merge_two(&m, &n));
    m.segments[1].start = 0x500000;
    n.segments[1].start = 0x500000;
    n.segments[1].end = UINT64_MAX;
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    hd_error err;
    assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_add(x, &n.raw, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_finish(x, &doc, &err), HD_UNSUPPORTED);
    assert_non_null(strstr(err.message, "address space"));
    hd_memprof_merger_free(x);
    mp_close(&m);
    mp_close(&n);
}

/* Without build ids, in version 2: two files of one size, with different parts mapped. */
static void segments_without_build_ids_are_distinguished(void **state) {
    (void)state;
    mp_model m, n;
    for (int same = 0; same < 2; same++) {
        simple(&m, 1);
        simple(&n, 1);
        m.raw.version = n.raw.version = 2;
        m.raw.fields = n.raw.fields = hd_memprof_version_fields(2);
        m.segments[0].build_id_size = n.segments[0].build_id_size = 0;
        m.segments[0].build_id[0] = m.segments[0].build_id[1] = n.segments[0].build_id[0] = n.segments[0].build_id[1] = 0;
        m.segments[0].offset = 0x2000;
        n.segments[0].offset = same ? 0x2000 : 0x1000;
        n.pc[0] = m.pc[0] + m.segments[0].offset - n.segments[0].offset; /* the same offset in the file */
        hd_memprof *doc = merge_two(&m, &n);
        assert_int_equal(hd_memprof_part(doc, 0)->version, 2);
        assert_int_equal(hd_memprof_part(doc, 0)->block_count, same ? 1 : 2);
        assert_int_equal(hd_memprof_part(doc, 0)->segment_count, same ? 1 : 2);
        hd_memprof_free(doc);
        mp_close(&m);
        mp_close(&n);
    }
}

static void incompatible_profiles_are_reported(void **state) {
    (void)state;
    mp_model m, old;
    hd_memprof *doc;
    hd_error err;
    mp_sample(&m, 3);
    mp_sample(&old, 2);
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK); /* empty */
    assert_int_equal(hd_memprof_part(doc, 0)->version, 4);
    assert_int_equal(hd_memprof_part(doc, 0)->block_count, 0);
    hd_memprof_free(doc);
    assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_add(x, &old.raw, &err), HD_UNSUPPORTED);
    assert_non_null(strstr(err.message, "cannot add a profile of version 2 to profiles of later versions"));
    old.blocks[0].stack = 2;
    old.raw.version = 3;
    assert_int_equal(hd_memprof_merger_add(x, &old.raw, &err), HD_INVALID);
    old.raw.version = 0;
    assert_int_equal(hd_memprof_merger_add(x, &old.raw, &err), HD_INVALID);
    assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK); /* neither profile was added */
    assert_int_equal(hd_memprof_part(doc, 0)->version, 3);
    assert_int_equal(hd_memprof_part(doc, 0)->blocks[1].value[1] + hd_memprof_part(doc, 0)->blocks[0].value[1], 1 + 1001 + 2001);
    hd_memprof_free(doc);
    hd_memprof_merger_free(x);
    hd_memprof_merger_free(NULL);
    mp_close(&m);
    mp_close(&old);
}

static bool never(void *user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return false;
}

static hd_memprof *sum_of(mp_model *m, int n, bool in_order, bool takes) {
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    hd_memprof *doc, *more;
    hd_error err;
    if (in_order) hd_memprof_merger_keep_order(x);
    for (int i = 0; i < n; i++) assert_int_equal(hd_memprof_merger_add(x, &m[i].raw, NULL), HD_OK);
    assert_int_equal((takes ? hd_memprof_merger_take : hd_memprof_merger_finish)(x, &doc, &err), HD_OK);
    if (takes && n) {
        assert_int_equal(hd_memprof_merger_add(x, &m[0].raw, &err), HD_INVALID);
        assert_non_null(strstr(err.message, "was taken"));
        assert_int_equal(hd_memprof_merger_take(x, &more, NULL), HD_INVALID);
        assert_int_equal(hd_memprof_merger_finish(x, &more, NULL), HD_INVALID);
    }
    hd_memprof_merger_free(x);
    return doc;
}

static void taking_and_finishing_give_the_same(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int turn = 0; turn < 80; turn++) {
        mp_model m[3];
        int n = turn % 4;
        for (int i = 0; i < n; i++) mp_random(&m[i], &seed, 4, (uint64_t)(turn % 3) * (uint64_t)i << 12);
        hd_memprof *doc[2] = { sum_of(m, n, turn & 8, false), sum_of(m, n, turn & 8, true) };
        const hd_memprof_raw *a = hd_memprof_part(doc[0], 0), *b = hd_memprof_part(doc[1], 0);
        assert_int_equal(a->version, b->version);
        assert_int_equal(a->fields, b->fields);
        assert_int_equal(a->segment_count, b->segment_count);
        assert_int_equal(a->block_count, b->block_count);
        assert_int_equal(a->stack_count, b->stack_count);
        assert_memory_equal(a->first, b->first, (a->stack_count + 1) * sizeof *a->first);
        if (a->stack_count) assert_memory_equal(a->pc, b->pc, a->first[a->stack_count] * sizeof *a->pc);
        for (uint32_t i = 0; i < a->stack_count; i++) assert_int_equal(a->stack_id[i], b->stack_id[i]);
        for (uint32_t i = 0; i < a->block_count; i++) {
            const hd_memprof_block *p = &a->blocks[i], *q = &b->blocks[i];
            assert_int_equal(p->stack, q->stack);
            assert_int_equal(p->histogram, q->histogram);
            assert_memory_equal(p->value, q->value, sizeof p->value);
            for (uint64_t k = 0; k < p->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]; k++)
                assert_int_equal(hd_memprof_counter(a, p->histogram + k), hd_memprof_counter(b, q->histogram + k));
        }
        hd_memprof_free(doc[0]);
        hd_memprof_free(doc[1]);
        for (int i = 0; i < n; i++) mp_close(&m[i]);
    }
}

static void written(const hd_memprof *doc, hd_buffer *out) {
    assert_int_equal(hd_memprof_write(doc, &(hd_options){ .lenient = true }, hd_out_memory(out), NULL), HD_OK);
}

static void blocks_given_by_a_reader_equal_the_shown_ones(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (int turn = 0; turn < 120; turn++) {
        mp_bytes file = { 0 };
        hd_memprof_reader *reader;
        hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL), *y = hd_memprof_merger_create(NULL, NULL);
        const hd_memprof_raw *raw;
        hd_dump *whole;
        hd_memprof *doc[2];
        hd_buffer out[2] = { { 0 }, { 0 } };
        int n = 1 + turn % 3, count = 0;
        for (int i = 0; i < n; i++) {
            mp_model m;
            mp_random(&m, &seed, turn % 5 ? 3 + (uint32_t)(turn + i) % 3 : 1 + (uint32_t)i % 2, (uint64_t)i << 12);
            mp_write(&file, &m.raw);
            mp_close(&m);
        }
        if (turn & 1) hd_memprof_merger_keep_order(x), hd_memprof_merger_keep_order(y);
        assert_int_equal(hd_memprof_open(hd_in_memory(file.data, file.size), NULL, &reader, NULL), HD_OK);
        while (!hd_memprof_next(reader, &raw, NULL) && raw) {
            assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_OK);
            assert_int_equal(raw->block_count, 0);
            assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_INVALID); /* each once */
            count++;
        }
        /* at the end the reader has no profile */
        assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_INVALID);
        hd_memprof_close(reader);
        assert_int_equal(count, n);
        assert_int_equal(mp_read(hd_in_memory(file.data, file.size), NULL, &whole, NULL), HD_OK);
        for (size_t i = 0; i < hd_memprof_part_count(hd_dump_memprof(whole)); i++)
            assert_int_equal(hd_memprof_merger_add(y, hd_memprof_part(hd_dump_memprof(whole), i), NULL), HD_OK);
        assert_int_equal((turn & 2 ? hd_memprof_merger_take : hd_memprof_merger_finish)(x, &doc[0], NULL), HD_OK);
        assert_int_equal(hd_memprof_merger_finish(y, &doc[1], NULL), HD_OK);
        for (int i = 0; i < 2; i++) written(doc[i], &out[i]);
        assert_int_equal(out[0].size, out[1].size);
        assert_memory_equal(out[0].data, out[1].data, out[0].size);
        for (int i = 0; i < 2; i++) hd_buffer_free(&out[i]), hd_memprof_free(doc[i]);
        hd_dump_free(whole);
        hd_memprof_merger_free(x);
        hd_memprof_merger_free(y);
        free(file.data);
    }
}

static void profiles_that_cannot_be_taken_are_copied_or_refused(void **state) {
    (void)state;
    hd__faults f = { 0 }, g = { 0 };
    hd_options counted = { .allocator = hd__faults_allocator(&f) }, others = { .allocator = hd__faults_allocator(&g) };
    hd_memprof_merger *x = hd_memprof_merger_create(&counted, NULL);
    hd_memprof_reader *reader;
    const hd_memprof_raw *raw;
    hd_memprof *doc;
    hd_error err;
    mp_bytes file = { 0 };
    mp_model m, empty;
    mp_sample(&m, 4);
    mp_write(&file, &m.raw);
    assert_int_equal(hd_memprof_open(hd_in_memory(file.data, file.size), &others, &reader, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_INVALID); /* the reader has no profile yet */
    assert_int_equal(hd_memprof_next(reader, &raw, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_OK); /* from another allocator */
    assert_int_equal(raw->block_count, 0);
    assert_int_equal(hd_memprof_merger_take(x, &doc, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(doc, 0)->block_count, 2); /* two of three blocks have one stack */
    hd_memprof_free(doc);
    hd_memprof_merger_free(x);
    assert_int_equal(f.live, 0);

    x = hd_memprof_merger_create(&others, NULL);
    mp_open(&empty, 1, 0, 0, 0, 0, 0);
    assert_int_equal(hd_memprof_merger_add(x, &empty.raw, NULL), HD_OK);
    hd_memprof_close(reader);
    assert_int_equal(hd_memprof_open(hd_in_memory(file.data, file.size), &others, &reader, NULL), HD_OK);
    assert_int_equal(hd_memprof_next(reader, &raw, NULL), HD_OK);
    uint64_t before = hd_memprof_merger_memory(x);
    /* another version: the profile is gone */
    assert_int_equal(hd_memprof_merger_add_taken(x, reader, &err), HD_UNSUPPORTED);
    assert_int_equal(hd_memprof_merger_memory(x), before);
    assert_int_equal(raw->block_count, 0);
    assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(doc, 0)->block_count, 0);
    hd_memprof_free(doc);
    hd_memprof_merger_free(x);
    hd_memprof_close(reader);
    assert_int_equal(g.live, 0);
    mp_close(&m);
    mp_close(&empty);
    free(file.data);
}

static void after_an_error_there_is_nothing_to_take(void **state) {
    (void)state;
    mp_bytes file = { 0 };
    mp_model m;
    mp_sample(&m, 4);
    mp_write(&file, &m.raw);
    for (size_t size = 24; size < file.size; size += 8) {
        hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
        hd_memprof_reader *reader;
        const hd_memprof_raw *raw;
        assert_int_equal(hd_memprof_open(hd_in_memory(file.data, size), NULL, &reader, NULL), HD_OK);
        assert_int_equal(hd_memprof_next(reader, &raw, NULL), HD_MALFORMED);
        assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_INVALID);
        hd_memprof_close(reader);
        hd_memprof_merger_free(x);
    }
    mp_close(&m);
    free(file.data);
}

/* NULL is valid for columns without elements. */
static void a_profile_of_nothing_is_added(void **state) {
    (void)state;
    const hd_memprof_raw none = { .version = 4, .fields = hd_memprof_version_fields(4) };
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    hd_memprof *doc;
    assert_int_equal(hd_memprof_merger_add(x, &none, NULL), HD_OK);
    assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(doc, 0)->block_count, 0);
    hd_memprof_free(doc);
    hd_memprof_merger_free(x);
}

/* The memory of a taken profile moves to the merger, which keeps only the part that sums need. */
static void memory_changes_hands(void **state) {
    (void)state;
    enum { BLOCKS = 5000 };
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    for (uint32_t stacks = 1; stacks <= BLOCKS; stacks += BLOCKS - 1) {
        hd_memprof_merger *x = hd_memprof_merger_create(&options, NULL);
        hd_memprof_reader *reader;
        const hd_memprof_raw *raw;
        hd_memprof *doc;
        mp_bytes file = { 0 };
        mp_model m;
        mp_open(&m, 3, 0, BLOCKS, stacks, stacks, 0);
        for (uint32_t i = 0; i < stacks; i++) m.first[i + 1] = i + 1, m.pc[i] = i, m.stack_id[i] = i;
        for (uint32_t i = 0; i < BLOCKS; i++) m.blocks[i].stack = i % stacks;
        mp_write(&file, &m.raw);
        assert_int_equal(hd_memprof_open(hd_in_memory(file.data, file.size), &options, &reader, NULL), HD_OK);
        assert_int_equal(hd_memprof_next(reader, &raw, NULL), HD_OK);
        assert_int_equal(hd_memprof_merger_add_taken(x, reader, NULL), HD_OK);
        hd_memprof_close(reader);
        assert_int_equal(f.live, hd_memprof_merger_memory(x));
        if (stacks == 1) assert_true(hd_memprof_merger_memory(x) < 16384);
        assert_int_equal(hd_memprof_merger_take(x, &doc, NULL), HD_OK);
        hd_memprof_merger_free(x);
        hd_memprof_free(doc);
        assert_int_equal(f.live, 0);
        mp_close(&m);
        free(file.data);
    }
}

static void tables_of_large_profiles_are_given_back(void **state) {
    (void)state;
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    mp_model m;
    uint64_t memory;
    mp_open(&m, 3, 0, 1, 1, 4000, 0);
    m.first[1] = 4000;
    for (uint32_t i = 0; i < 4000; i++) m.pc[i] = i;
    assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
    memory = hd_memprof_merger_memory(x);
    mp_close(&m);
    mp_sample(&m, 3);
    assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
    assert_true(hd_memprof_merger_memory(x) + 100000 < memory);
    mp_close(&m);
    hd_memprof_merger_free(x);
}

/* Each module has one address in the result. Stacks of one module come before stacks of the other, whichever came
   first. */
static void stacks_come_out_module_by_module(void **state) {
    static const uint64_t pcs[] = { 0x10010, 0x20020, 0x10020, 0x20010, 7 };
    static const uint64_t sorted[] = { 0x20010, 0x20020, 0x10010, 0x10020, 7 };
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        mp_model m;
        hd_memprof *doc;
        mp_open(&m, 3, 2, 5, 5, 5, 0);
        for (uint32_t i = 0; i < 2; i++) {
            m.segments[i].start = m.segments[i].offset = 0x10000 * (i + 1);
            m.segments[i].end = m.segments[i].start + 0x1000;
            m.segments[i].build_id_size = 20;
            m.segments[i].build_id[0] = (uint8_t)(2 - i);
        }
        for (uint32_t i = 0; i < 5; i++) {
            m.pc[i] = pcs[turn ? 4 - i : i];
            m.first[i + 1] = i + 1;
            m.stack_id[i] = m.blocks[i].stack = i;
        }
        doc = sum_of(&m, 1, false, false);
        assert_memory_equal(hd_memprof_part(doc, 0)->pc, sorted, sizeof sorted);
        hd_memprof_free(doc);
        mp_close(&m);
    }
}

/* 3,000 stacks of the same address, each one frame shorter than the previous one. The sort compares as many frames as
   the longest stack has, but must not recurse as deep. */
static void *sort_a_comb(void *unused) {
    enum { STACKS = 3000 };
    mp_model m;
    hd_memprof *doc;
    (void)unused;
    mp_open(&m, 3, 0, STACKS, STACKS, STACKS * STACKS / 2, 0);
    for (uint32_t i = 0; i < STACKS; i++) {
        m.first[i + 1] = m.first[i] + STACKS - 1 - i;
        m.stack_id[i] = i;
        m.blocks[i].stack = i;
    }
    doc = sum_of(&m, 1, false, true);
    for (uint32_t i = 0; i < STACKS; i++) assert_int_equal(hd_memprof_part(doc, 0)->first[i + 1], i * (i + 1) / 2);
    hd_memprof_free(doc);
    mp_close(&m);
    return NULL;
}

static void sorting_takes_little_of_the_stack(void **state) {
    pthread_attr_t attr;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 160 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, sort_a_comb, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
}

/* Stacks of few addresses that differ only in their ends. Each comes once, shorter before longer, in order of
   addresses. */
static void stacks_come_out_frame_by_frame(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int turn = 0; turn < 20; turn++) {
        enum { STACKS = 800, DEPTH = 12 };
        mp_model m;
        uint32_t kept = 0;
        hd_memprof *doc;
        mp_open(&m, 4, 0, STACKS, STACKS, STACKS * DEPTH, 0);
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t at = m.first[i], n = mp_below(&seed, DEPTH + 1);
            for (uint32_t k = 0; k < n; k++) m.pc[at + k] = k < (uint32_t)turn / 2 ? 7 : 1 + mp_below(&seed, 1 + (uint32_t)turn);
            m.first[i + 1] = at + n;
            m.stack_id[i] = i;
            m.blocks[i].stack = i;
            m.blocks[i].value[HD_MEMPROF_ALLOC_COUNT] = 1;
        }
        doc = sum_of(&m, 1, false, turn & 1);
        const hd_memprof_raw *r = hd_memprof_part(doc, 0);
        for (uint32_t i = 0; i < r->stack_count; i++) {
            uint32_t n = r->first[i + 1] - r->first[i], before = i ? r->first[i] - r->first[i - 1] : 0, k = 0;
            const uint64_t *a = i ? r->pc + r->first[i - 1] : NULL, *b = r->pc + r->first[i];
            while (i && k < n && k < before && a[k] == b[k]) k++;
            if (i && !(k < n && (k == before || a[k] < b[k]))) fail_msg("turn %d: stack %u is not behind the one before", turn, i);
            for (uint32_t j = 0; j < STACKS; j++)
                if (m.first[j + 1] - m.first[j] == n && !memcmp(m.pc + m.first[j], b, n * sizeof *b)) kept++;
        }
        assert_int_equal(kept, STACKS);
        uint64_t blocks = 0;
        for (uint32_t i = 0; i < r->block_count; i++) blocks += r->blocks[i].value[HD_MEMPROF_ALLOC_COUNT];
        assert_int_equal(blocks, STACKS);
        hd_memprof_free(doc);
        mp_close(&m);
    }
}

/* Every allocation fails in turn, also the reader's. */
static void fails_while_it_takes(void) {
    uint64_t seed = 3;
    mp_bytes file = { 0 };
    hd__faults f = { 0 };
    for (int i = 0; i < 3; i++) {
        mp_model m;
        mp_random(&m, &seed, 4, (uint64_t)i << 12);
        mp_write(&file, &m.raw);
        mp_close(&m);
    }
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_error err = { 0 };
        hd_memprof *doc;
        hd_memprof_reader *reader = NULL;
        const hd_memprof_raw *raw = NULL;
        hd_memprof_merger *x = hd_memprof_merger_create(&options, &err);
        hd_status status = x ? hd_memprof_open(hd_in_memory(file.data, file.size), &options, &reader, &err) : err.status;
        for (int i = 0; i < 3 && !status; i++) {
            status = hd_memprof_next(reader, &raw, &err);
            if (!status) status = hd_memprof_merger_add_taken(x, reader, &err);
        }
        if (!status) status = hd_memprof_merger_take(x, &doc, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) hd_memprof_free(doc);
        hd_memprof_close(reader);
        hd_memprof_merger_free(x);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    free(file.data);
}

/* Every allocation fails in turn. */
static void fails_as_told(bool takes) {
    uint64_t seed = 3;
    mp_model m[3];
    hd__faults f = { 0 };
    for (int i = 0; i < 3; i++) mp_random(&m[i], &seed, 4, (uint64_t)i << 12);
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_error err = { 0 };
        hd_memprof *doc;
        hd_memprof_merger *x = hd_memprof_merger_create(&options, &err);
        hd_status status = x ? HD_OK : err.status;
        if (x && takes) hd_memprof_merger_keep_order(x);
        for (int i = 0; i < 3 && !status; i++) status = hd_memprof_merger_add(x, &m[i].raw, &err);
        if (x && status) assert_int_equal(hd_memprof_merger_add(x, &m[0].raw, NULL), HD_OUT_OF_MEMORY); /* it sticks */
        if (x && status) assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OUT_OF_MEMORY);
        if (!status) status = (takes ? hd_memprof_merger_take : hd_memprof_merger_finish)(x, &doc, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        if (!status) hd_memprof_free(doc);
        hd_memprof_merger_free(x);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    for (int i = 0; i < 3; i++) mp_close(&m[i]);
}

static void faults_are_passed_up(void **state) {
    (void)state;
    uint64_t seed = 3;
    mp_model m[3];
    hd__faults f = { 0 };
    fails_as_told(false);
    fails_as_told(true);
    fails_while_it_takes();
    for (int i = 0; i < 3; i++) mp_random(&m[i], &seed, 4, (uint64_t)i << 12);
    f.fail_at = 0;
    for (uint64_t memory = 100; memory < 20000; memory += 300) {
        hd_options options = { .allocator = hd__faults_allocator(&f), .limits.max_memory = memory };
        hd_memprof_merger *x = hd_memprof_merger_create(&options, NULL);
        hd_memprof *doc;
        hd_status status = x ? hd_memprof_merger_add(x, &m[0].raw, NULL) : HD_LIMIT;
        if (!status) status = hd_memprof_merger_finish(x, &doc, NULL);
        assert_true(status == HD_LIMIT || !status);
        if (!status) hd_memprof_free(doc);
        hd_memprof_merger_free(x);
        assert_int_equal(f.live, 0);
    }
    hd_memprof_merger *x = hd_memprof_merger_create(&(hd_options){ .limits.max_records = 1 }, NULL);
    mp_model sample;
    mp_sample(&sample, 4);
    assert_int_equal(hd_memprof_merger_add(x, &sample.raw, NULL), HD_LIMIT);
    hd_memprof_merger_free(x);
    x = hd_memprof_merger_create(&(hd_options){ .progress = never }, NULL);
    assert_int_equal(hd_memprof_merger_add(x, &sample.raw, NULL), HD_CANCELLED);
    hd_memprof_merger_free(x);
    mp_close(&sample);
    for (int i = 0; i < 3; i++) mp_close(&m[i]);
}

static void memory_follows_distinct_stacks(void **state) {
    (void)state;
    hd_memprof_merger *x = hd_memprof_merger_create(NULL, NULL);
    uint64_t memory = 0;
    for (uint32_t process = 0; process < 50; process++) {
        mp_model m;
        mp_process(&m, process, 1000, 1000, 4); /* libraries are at other addresses in each process */
        assert_int_equal(hd_memprof_merger_add(x, &m.raw, NULL), HD_OK);
        mp_close(&m);
        if (!process) memory = hd_memprof_merger_memory(x);
        assert_int_equal(hd_memprof_merger_memory(x), memory);
    }
    hd_memprof *doc;
    assert_int_equal(hd_memprof_merger_finish(x, &doc, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(doc, 0)->block_count, 1000);
    assert_int_equal(hd_memprof_part(doc, 0)->segment_count, 12);
    hd_memprof_free(doc);
    hd_memprof_merger_free(x);
}

/* Three processes in each order and grouping: the fields of the sums that differ are listed in
   test_memprof_builder.c. */
static void only_these_fields_depend_on_the_order(void **state) {
    static const uint8_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    uint64_t seed = 5;
    uint32_t differ = 0;
    (void)state;
    for (int round = 0; round < 50; round++) {
        mp_model m[3];
        hd_memprof *sum[12];
        for (int i = 0; i < 3; i++) {
            simple(&m[i], 1);
            for (uint32_t f = 1; f < 26; f++) m[i].blocks[0].value[f] = mp_below(&seed, 8);
            m[i].blocks[0].value[26] = mp_below(&seed, 4);
            for (int k = 0; k < 3; k++) m[i].counters[k] = mp_below(&seed, 8);
        }
        for (int i = 0; i < 12; i++) {
            const uint8_t *o = orders[i / 2];
            hd_memprof *two = i & 1 ? merge_two(&m[o[1]], &m[o[2]]) : merge_two(&m[o[0]], &m[o[1]]);
            const hd_memprof_raw *all[2] = { hd_memprof_part(two, 0), &m[o[i & 1 ? 0 : 2]].raw }, *swap = all[0];
            if (i & 1) all[0] = all[1], all[1] = swap;
            sum[i] = merge(all, 2);
            const hd_memprof_raw *x = hd_memprof_part(*sum, 0), *y = hd_memprof_part(sum[i], 0);
            for (uint32_t f = 1; f < 28; f++) differ |= (uint32_t)(x->blocks[0].value[f] != y->blocks[0].value[f]) << f;
            for (uint64_t k = 0; k < x->counter_count; k++) assert_int_equal(x->counters[k], y->counters[k]);
            hd_memprof_free(two);
        }
        for (int i = 0; i < 12; i++) hd_memprof_free(sum[i]);
        for (int i = 0; i < 3; i++) mp_close(&m[i]);
    }
    assert_int_equal(differ, 1u << 8 | 1u << 9 | 0x7fu << 13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_plain_model),
        cmocka_unit_test(contexts_are_distinguished_by_their_callers),
        cmocka_unit_test(stacks_in_their_order_keep_ids_that_differ),
        cmocka_unit_test(fields_merge_by_their_rules),
        cmocka_unit_test(only_these_fields_depend_on_the_order),
        cmocka_unit_test(modules_get_out_of_each_others_way),
        cmocka_unit_test(segments_without_build_ids_are_distinguished),
        cmocka_unit_test(incompatible_profiles_are_reported),
        cmocka_unit_test(taking_and_finishing_give_the_same),
        cmocka_unit_test(blocks_given_by_a_reader_equal_the_shown_ones),
        cmocka_unit_test(profiles_that_cannot_be_taken_are_copied_or_refused),
        cmocka_unit_test(after_an_error_there_is_nothing_to_take),
        cmocka_unit_test(a_profile_of_nothing_is_added),
        cmocka_unit_test(memory_changes_hands),
        cmocka_unit_test(tables_of_large_profiles_are_given_back),
        cmocka_unit_test(stacks_come_out_frame_by_frame),
        cmocka_unit_test(stacks_come_out_module_by_module),
        cmocka_unit_test(sorting_takes_little_of_the_stack),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(memory_follows_distinct_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
