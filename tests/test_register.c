/* The register: its answers are compared with a model, its structures with their invariants, its memory with the
   requests to the OS. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Every mapping of the register, so that leaks, figures and failures are exact. */
static struct { void *at; size_t size; } test_maps[8192];
static size_t test_map_count;
static uint64_t test_mapped, test_map_calls, test_map_fail_at;

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *p;
    if (++test_map_calls == test_map_fail_at) return MAP_FAILED;
    p = mmap(at, size, protection, flags, fd, offset);
    if (p == MAP_FAILED || flags & MAP_FIXED) return p;
    assert_true(test_map_count < sizeof test_maps / sizeof *test_maps);
    test_maps[test_map_count].at = p;
    test_maps[test_map_count++].size = size;
    test_mapped += size;
    return p;
}

int test_munmap(void *at, size_t size) {
    for (size_t i = 0; i < test_map_count; i++)
        if (test_maps[i].at == at && test_maps[i].size == size) {
            test_maps[i] = test_maps[--test_map_count];
            test_mapped -= size;
            return munmap(at, size);
        }
    fail_msg("unmapped memory that was not mapped: %zu bytes", size);
    return -1;
}

/* The page size of the OS; giving back a part of a page gives back the whole page. */
static long test_os_page;         /* 0: the real size */
long test_sysconf(int name);
long test_sysconf(int name) { return name == _SC_PAGESIZE && test_os_page ? test_os_page : sysconf(name); }

/* Giving back pages can fail like mapping them. */
int test_madvise(void *at, size_t size, int advice);
int test_madvise(void *at, size_t size, int advice) {
    if (advice == MADV_DONTNEED) assert_int_equal(((uintptr_t)at | size) % (uintptr_t)test_sysconf(_SC_PAGESIZE), 0);
    return ++test_map_calls == test_map_fail_at ? -1 : madvise(at, size, advice);
}

#include "long.h"
#include "private.h"
#include "faults.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Nothing is given back to an OS with larger pages. */
static bool gives_back(void) { return sysconf(_SC_PAGESIZE) == HD__PAGES_UNIT; }

/* Bytes that are really resident for the register. */
static uint64_t really_resident(void) {
    uint64_t pages = 0;
    unsigned char *in_core = malloc(1 << 20);
    assert_non_null(in_core);
    for (size_t i = 0; i < test_map_count; i++) {
        size_t n = test_maps[i].size / HD__PAGES_UNIT;
        assert_true(n <= 1 << 20);
        assert_int_equal(mincore(test_maps[i].at, test_maps[i].size, in_core), 0);
        for (size_t j = 0; j < n; j++) pages += in_core[j] & 1;
    }
    free(in_core);
    return pages * HD__PAGES_UNIT;
}

/* The result of a walk: pieces of each grade, and the contents of buckets. */
typedef struct walked {
    uint32_t pieces[HD__GRADE_COUNT];
    uint64_t count, empty;
} walked;

/* Each free slot is in the free list exactly once. */
static void check_free(const hd_register *reg, const hd__bucket *b, bool in_use[256], uint32_t count) {
    uint32_t capacity = reg->shape[hd__grade_of(b->head)].capacity;
    for (uint32_t next = hd__crowd_of(b)->free; next; next = *hd__slot_at(reg->shape, b, next - 1, hd__bucket_kind_of(b)), count++) {
        assert_true(next <= capacity && !in_use[next - 1]);
        in_use[next - 1] = true;
    }
    assert_int_equal(count, capacity);
}

static void check_bucket(const hd_register *reg, const hd__bucket *b, uint64_t key, walked *w) {
    const hd__bucket_shape *shape = &reg->shape[hd__grade_of(b->head)];
    uint32_t at = 0, slot, count = 0, timed = b->head & HD__BUCKET_TIMED, kind = hd__bucket_kind_of(b);
    bool seen[256] = { false }, in_use[256] = { false };
    uint8_t tag;
    assert_true(hd__grade_of(b->head) < 2 * HD__BUCKET_STEPS);
    assert_int_equal(b->head & ~(uint64_t)HD__GRADE_MASK, key);
    assert_true(shape->slots_at + (uintptr_t)shape->capacity * (8 + 4 * timed) <= reg->of[hd__grade_of(b->head)].size);
    for (; hd__bucket_next(b, &at, &slot, &tag); count++) {
        assert_true(slot < shape->capacity && !seen[tag] && !in_use[slot]);
        seen[tag] = in_use[slot] = true;
        assert_int_equal(hd__bucket_search(b, key | tag, kind), slot);
    }
    assert_int_equal(count, hd__bucket_count(reg->shape, b));
    assert_true(count > shape->capacity / 3u || hd__grade_of(b->head) < 2 || !count);
    if (hd__bucket_kind_is(kind, HD__BUCKET_SOME) || hd__bucket_kind_is(kind, HD__BUCKET_MANY)) check_free(reg, b, in_use, count);
    /* the list of empty buckets has it */
    assert_true(count || *hd__bucket_empty_at((hd_register *)(uintptr_t)reg, key) == key + 1);
    w->empty += !count;
    w->count += count;
    w->pieces[hd__grade_of(b->head)]++;
}

static void check_leaf(const hd_register *reg, const hd__leaf *leaf, uint64_t key, walked *w) {
    unsigned buckets = 0;
    assert_int_equal(leaf->head, key | HD__GRADE_LEAF);
    w->pieces[HD__GRADE_LEAF]++;
    for (uint64_t i = 0; i < 1u << HD__LEAF_BITS; i++)
        if (leaf->bucket[i]) check_bucket(reg, leaf->bucket[i], key | i << HD__BUCKET_PLACE_BITS, w), buckets++;
    assert_true(buckets > 0);
}

/* Pages hold as many pieces and holes as the grade counts, and few holes. */
static uint64_t check_grade(const hd__grade *of, uint32_t pieces) {
    uint64_t pages = 0, room = 0;
    uint32_t holes = 0;
    for (const hd__hole *h = of->hole, *later = NULL; h; later = h, h = h->next, holes++) {
        assert_int_equal(h->head, HD__GRADE_HOLE);
        assert_ptr_equal(h->later, later);
    }
    for (uint8_t *page = of->top; page; page = hd__register_foot(page)->below, pages++)
        room += page == of->top ? of->used : hd__grade_pieces(of);
    assert_int_equal(of->pieces, pieces);
    assert_int_equal(of->holes, holes);
    assert_int_equal(room, pieces + holes);
    assert_true(holes <= pieces / 12 && (!pages || of->used));
    return pages;
}

/* A recent leaf outside of its present entry is where a smaller table had its entry. */
static void check_old_entry(const hd_register *reg, uint64_t key, uint32_t at) {
    uint32_t index = hd__recent_index(reg, key), mask = reg->recent_mask;
    assert_ptr_not_equal(reg->recent, reg->first_recent);
    while (mask >= HD__RECENT_FIRST && (index & mask) != at) mask /= 2;
    assert_int_equal(index & mask, at);
}

/* Every piece is at the place of its key, and no piece is lost. */
static void check_tables(const hd_register *reg) {
    walked w;
    uint64_t spans = 0, pages = 0, spares = 0, away = 0;
    memset(&w, 0, sizeof w);
    for (uint32_t i = 0; i <= hd__span_mask(reg); i++) {
        const hd__span *span = reg->table[i].span;
        uint64_t number = reg->table[i].number;
        unsigned leaves = 0;
        if (!span) continue;
        assert_ptr_equal(hd__span_of(reg, number << HD__SPAN_SHIFT), span);
        assert_int_equal(span->head, number << HD__SPAN_SHIFT | HD__GRADE_SPAN);
        for (uint64_t k = 0; k < 1u << HD__SPAN_BITS; k++) {
            if (!span->leaf[k]) continue;
            check_leaf(reg, span->leaf[k], number << HD__SPAN_SHIFT | k << (HD__BUCKET_PLACE_BITS + HD__LEAF_BITS), &w);
            leaves++;
        }
        assert_true(leaves > 0);
        w.pieces[HD__GRADE_SPAN]++;
        spans++;
    }
    assert_int_equal(reg->recent == reg->first_recent, reg->recent_mask + 1 == HD__RECENT_FIRST);
    for (uint32_t i = 0; i <= reg->recent_mask; i++) {
        uint64_t key = reg->recent[i].number << (HD__BUCKET_PLACE_BITS + HD__LEAF_BITS);
        if (!reg->recent[i].leaf) continue;
        if (hd__recent_index(reg, key) == i) assert_ptr_equal(hd__leaf_far(reg, key), reg->recent[i].leaf);
        else check_old_entry(reg, key, i);
    }
    assert_int_equal(spans, reg->spans);
    assert_int_equal(w.count, reg->count);
    assert_true(w.empty <= 1u << HD__BUCKET_EMPTY_BITS);
    for (unsigned i = 0; i < HD__GRADE_COUNT; i++) pages += check_grade(&reg->of[i], w.pieces[i]);
    for (uint8_t *page = reg->spare; page; page = hd__register_foot(page)->below) spares++;
    for (uint32_t i = 0; i < reg->batches; i++)
        for (unsigned k = 0; k < HD__BATCH_PAGES; k++) away += hd__batch_at(reg, i)->away >> k & 1;
    assert_int_equal(pages, reg->pages);
    assert_int_equal(spares, reg->spares);
    assert_int_equal(pages + spares + away, (uint64_t)reg->batches * HD__BATCH_PAGES);
}

static void check_memory(const hd_register *reg) {
    hd_memory memory = hd_register_memory(reg);
    assert_int_equal(memory.reserved, test_mapped);
    assert_in_range(memory.resident, really_resident(), memory.reserved);
}

static hd_allocation allocation_of(uint64_t address, uint64_t size, uint32_t context, uint32_t time) {
    hd_allocation a = { address, size, context, time };
    return a;
}

static void assert_same(const hd_allocation *a, const hd_allocation *b) {
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->context, b->context);
    assert_int_equal(a->time, b->time);
}

/* The model: possible addresses, and the allocation at each (address 0: none). An allocation's time is the number of
   its address, so that an iteration can find it. */
typedef struct model {
    uint32_t n;
    uint64_t *address;
    hd_allocation *live;
    uint8_t *seen;
    uint64_t count, refused;
    uint64_t random;
} model;

static model model_create(uint32_t n, uint64_t seed) {
    model m = { n, calloc(n, sizeof *m.address), calloc(n, sizeof *m.live), calloc(n, 1), 0, 0, seed };
    assert_true(m.address && m.live && m.seen);
    return m;
}

static void model_free(model *m) {
    free(m->address);
    free(m->live);
    free(m->seen);
}

/* One of eight sizes may exceed 2 GiB. */
static uint64_t model_size(model *m) {
    uint64_t size = hd__test_random(&m->random);
    return size % 8 ? size & 0x7fffffff : size;
}

static void model_insert(model *m, hd_register *reg, uint32_t i) {
    hd_allocation a = allocation_of(m->address[i], model_size(m), (uint32_t)hd__test_random(&m->random), i);
    hd_allocation replaced = allocation_of(77, 77, 77, 77), none = replaced;
    hd_status status = hd_register_insert(reg, &a, &replaced);
    if (status) {
        assert_int_equal(status, HD_OUT_OF_MEMORY);
        /* Replacing needs no memory, except when a size first exceeds 2 GiB. */
        assert_true(!m->live[i].address || (a.size >= HD__VAST && m->live[i].size < HD__VAST));
        assert_same(&replaced, &none);
        m->refused++;
        return;
    }
    if (m->live[i].address) assert_same(&replaced, &m->live[i]);
    else assert_int_equal(replaced.address, 0);
    m->count += !m->live[i].address;
    m->live[i] = a;
}

static void model_remove(model *m, hd_register *reg, uint32_t i) {
    hd_allocation removed = allocation_of(1, 2, 3, 4), untouched = removed;
    assert_int_equal(hd_register_remove(reg, m->address[i], &removed), m->live[i].address != 0);
    assert_same(&removed, m->live[i].address ? &m->live[i] : &untouched);
    m->count -= m->live[i].address != 0;
    m->live[i].address = 0;
}

static void model_find(model *m, hd_register *reg, uint32_t i) {
    hd_allocation found = allocation_of(1, 2, 3, 4), untouched = found;
    uint32_t context = (uint32_t)hd__test_random(&m->random);
    assert_int_equal(hd_register_find(reg, m->address[i], &found), m->live[i].address != 0);
    assert_same(&found, m->live[i].address ? &m->live[i] : &untouched);
    assert_int_equal(hd_register_set_context(reg, m->address[i], context), m->live[i].address != 0);
    m->live[i].context = context;
}

/* One random operation; about `inserts` of four insert. */
static void model_step(model *m, hd_register *reg, unsigned inserts) {
    uint32_t i = (uint32_t)hd__test_below(&m->random, m->n);
    unsigned what = (unsigned)hd__test_below(&m->random, 5);
    if (what == 4) model_find(m, reg, i);
    else if (what < inserts) model_insert(m, reg, i);
    else model_remove(m, reg, i);
    assert_int_equal(hd_register_count(reg), m->count);
}

/* Finds everything that the model has, and an iteration meets each block exactly once. */
static void model_check(model *m, hd_register *reg) {
    hd_cursor cursor = { 0, 0 };
    hd_allocation a;
    uint64_t count = 0;
    memset(m->seen, 0, m->n);
    for (; hd_register_next(reg, &cursor, &a); count++) {
        assert_true(a.time < m->n);
        assert_same(&a, &m->live[a.time]);
        assert_int_equal(m->seen[a.time]++, 0);
    }
    assert_int_equal(count, m->count);
    assert_false(hd_register_next(reg, &cursor, &a));
    for (uint32_t i = 0; i < m->n; i++)
        if (m->live[i].address) assert_true(hd_register_find(reg, m->address[i], NULL));
    check_tables(reg);
}

/* Remains of a failed test must not disturb the next test. */
static int setup(void **state) {
    (void)state;
    while (test_map_count) test_munmap(test_maps[0].at, test_maps[0].size);
    test_map_calls = test_map_fail_at = 0;
    test_os_page = 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (test_mapped) print_error("%llu bytes are still mapped\n", (unsigned long long)test_mapped);
    return test_mapped ? -1 : 0;
}

static void an_address_has_its_own_key_and_back(void **state) {
    uint64_t random = 1;
    (void)state;
    assert_int_equal(hd__register_key_of(0), 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t x = i < 100 ? (uint64_t)i : i < 200 ? 0 - (uint64_t)(i - 99) : hd__test_random(&random);
        assert_int_equal(hd__register_address_of(hd__register_key_of(x)), x);
        assert_int_equal(hd__register_key_of(hd__register_address_of(x)), x);
    }
}

static void an_empty_register_finds_nothing(void **state) {
    hd_register *reg = hd_register_create(NULL);
    hd_cursor cursor = { 0, 0 };
    hd_allocation a;
    (void)state;
    assert_int_equal(hd_register_count(reg), 0);
    assert_false(hd_register_find(reg, 16, &a));
    assert_false(hd_register_remove(reg, 16, &a));
    assert_false(hd_register_set_context(reg, 16, 1));
    assert_false(hd_register_next(reg, &cursor, &a));
    hd_register_clear(reg);
    check_memory(reg);
    hd_register_free(reg);
    hd_register_free(NULL);
}

static void address_0_is_invalid_everywhere(void **state) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation zero = allocation_of(0, 8, 0, 0), one = allocation_of(1, 8, 0, 0), replaced = one;
    (void)state;
    for (int round = 0; round < 2; round++) { /* before and after there is a table */
        uint64_t mapped = test_mapped;
        assert_int_equal(hd_register_insert(reg, &zero, &replaced), HD_INVALID);
        assert_same(&replaced, &one);
        assert_false(hd_register_find(reg, 0, NULL));
        assert_false(hd_register_remove(reg, 0, NULL));
        assert_false(hd_register_set_context(reg, 0, 1));
        assert_int_equal(hd_register_count(reg), round);
        assert_int_equal(test_mapped, mapped);
        assert_int_equal(hd_register_insert(reg, &one, NULL), HD_OK);
    }
    for (uint32_t n = 1; n < 256; n++) { /* in the page of address 0, with all kinds of buckets */
        hd_allocation a = allocation_of(16 * n, 8, 1, 0);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        assert_int_equal(hd_register_insert(reg, &zero, NULL), HD_INVALID);
        assert_false(hd_register_find(reg, 0, NULL));
        assert_false(hd_register_remove(reg, 0, NULL));
        assert_false(hd_register_set_context(reg, 0, 1));
        assert_int_equal(hd_register_count(reg), n + 1);
    }
    check_tables(reg);
    hd_register_free(reg);
}

static void every_field_comes_back_whatever_its_value(void **state) {
    static const uint64_t values[] = { 0, 1, 2, 0x7fffffff, 0xffffffff, (uint64_t)1 << 32,
                                       (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX };
    hd_register *reg = hd_register_create(NULL);
    hd_allocation found;
    (void)state;
    for (size_t i = 1; i < COUNT(values); i++) {
        hd_allocation a = allocation_of(values[i], values[COUNT(values) - 1 - i], (uint32_t)values[i],
                                        (uint32_t)~values[i]);
        assert_int_equal(hd_register_insert(reg, &a, &found), HD_OK);
        assert_int_equal(found.address, 0);
    }
    assert_int_equal(hd_register_count(reg), COUNT(values) - 1);
    for (size_t i = 1; i < COUNT(values); i++) {
        hd_allocation a = allocation_of(values[i], values[COUNT(values) - 1 - i], (uint32_t)values[i],
                                        (uint32_t)~values[i]);
        assert_true(hd_register_find(reg, values[i], &found));
        assert_same(&found, &a);
    }
    hd_register_free(reg);
}

static void inserting_again_replaces_and_tells_the_old_one(void **state) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation first = allocation_of(64, 10, 1, 2), second = allocation_of(64, 0, 3, 4), got;
    (void)state;
    hd_register_insert(reg, &first, NULL);
    assert_int_equal(hd_register_insert(reg, &second, &got), HD_OK);
    assert_same(&got, &first);
    assert_int_equal(hd_register_insert(reg, &first, NULL), HD_OK);
    assert_int_equal(hd_register_count(reg), 1);
    assert_true(hd_register_set_context(reg, 64, 9));
    first.context = 9;
    assert_true(hd_register_remove(reg, 64, &got));
    assert_same(&got, &first);
    assert_false(hd_register_remove(reg, 64, NULL));
    hd_register_insert(reg, &second, NULL);
    got = first;
    /* the old allocation replaces the new one in `got` */
    assert_int_equal(hd_register_insert(reg, &got, &got), HD_OK);
    assert_same(&got, &second);
    assert_true(hd_register_find(reg, 64, &got));
    assert_same(&got, &first);
    hd_register_free(reg);
}

static void clearing_gives_the_memory_back_and_starts_afresh(void **state) {
    hd_register *reg = hd_register_create(NULL);
    uint64_t empty = test_mapped;
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= 100000; i++) {
            hd_allocation a = allocation_of(16 * i, i, 0, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        assert_true(reg->pages > 1);
        hd_register_clear(reg);
        assert_int_equal(hd_register_count(reg), 0);
        assert_false(hd_register_find(reg, 16, NULL));
        assert_int_equal(test_mapped, empty);
        check_memory(reg);
    }
    hd_register_free(reg);
}

/* Few addresses: checks every slot after every operation. */
static void small_tables_are_sound_after_every_operation(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(seed < 4 ? 300 : 1500, seed);
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = 16 * ((uint64_t)i + 1) << 2 * seed;
        for (uint32_t step = 0; step < 4 * m.n; step++) {
            model_step(&m, reg, step / m.n % 2 ? 1 : 3); /* fill, drain, fill, drain */
            if (step % (uint32_t)long_or_short(1, 5) == 0) check_tables(reg);
        }
        model_check(&m, reg);
        assert_int_equal(m.refused, 0);
        hd_register_free(reg);
        model_free(&m);
    }
}

/* 300,000 blocks at a time, at addresses as allocators give them; fewer if each is far from all others. */
static void large_tables_agree_with_the_model(void **state) {
    static const struct { uint64_t first, step; uint32_t n; } progression[] = {
        { 16, 16, 400000 }, { 0x7f0000000000, 4096, 400000 }, { 1 << 21, 1 << 21, 40000 },
        { 0 - (uint64_t)16, 0 - (uint64_t)16, 400000 }, { 1, 1, 400000 }, { (uint64_t)1 << 63, (uint64_t)1 << 40, 40000 }
    };
    (void)state;
    for (size_t p = 0; p < COUNT(progression); p++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(progression[p].n / (uint32_t)long_or_short(1, 4), p);
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = progression[p].first + i * progression[p].step;
        for (uint32_t i = 0; i < m.n / 4 * 3; i++) model_insert(&m, reg, i);
        for (uint32_t step = 0; step < m.n; step++) {
            model_step(&m, reg, step < m.n / 2 ? 3 : 1); /* holds its size, then drains */
            if (step % (m.n / 4) == 0) check_tables(reg);
            if (step == m.n / 2 - 1) assert_in_range(m.count, m.n / 40 * 29, m.n / 40 * 31);
        }
        model_check(&m, reg);
        check_memory(reg);
        assert_int_equal(m.refused, 0);
        hd_register_free(reg);
        model_free(&m);
    }
}

/* Arrays of batches: each is twice as long as the previous one, and arrays never move. */
static void batches_are_found_by_their_numbers(void **state) {
    const uint32_t page = HD__PAGES_UNIT / (uint32_t)sizeof(hd__batch);
    static hd__batch first[HD__PAGES_UNIT], second[2 * HD__PAGES_UNIT], third[4 * HD__PAGES_UNIT];
    hd_register reg = { .batch = { first, second, third } };
    (void)state;
    assert_ptr_equal(hd__batch_at(&reg, 0), first);
    assert_ptr_equal(hd__batch_at(&reg, page - 1), first + page - 1);
    assert_ptr_equal(hd__batch_at(&reg, page), second);
    assert_ptr_equal(hd__batch_at(&reg, 3 * page - 1), second + 2 * page - 1);
    assert_ptr_equal(hd__batch_at(&reg, 3 * page), third);
    assert_ptr_equal(hd__batch_at(&reg, 7 * page - 1), third + 4 * page - 1);
    assert_null(hd__batch_at(&reg, 7 * page)); /* that array does not exist yet */
    assert_int_equal(hd__batch_arrays(&reg), 3);
}

static void a_million_costs_what_the_room_says_and_leaves_almost_nothing(void **state) {
    hd_register *reg = hd_register_create(NULL);
    uint64_t reserved = 0;
    (void)state;
    for (int round = 0; round < 2; round++) {
        hd_memory memory;
        for (uint64_t i = 1; i <= 1000000; i++) {
            hd_allocation a = allocation_of(0x555500000000 + 48 * i, 48, 1, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
            if (i % 100000) continue;
            memory = hd_register_memory(reg);
            assert_in_range(memory.resident / i, 9, 14);
        }
        check_memory(reg);
        check_tables(reg);
        if (!round) reserved = test_mapped;
        assert_true(reserved <= 15 * 1000000);
        for (uint64_t i = 1; i <= 1000000; i++)
            assert_true(hd_register_remove(reg, 0x555500000000 + 48 * i, NULL));
        check_memory(reg);
        check_tables(reg);
        assert_int_equal(test_mapped, reserved); /* the address space is kept, and does not grow each round */
        if (gives_back()) assert_true(hd_register_memory(reg).resident <= reserved / 200);
    }
    hd_register_free(reg);
}

/* Tests addresses that an attacker would choose, in m->address. */
static void check_enemy(model *m, uint32_t steps, uint32_t check_every) {
    hd_register *reg = hd_register_create(NULL);
    for (uint32_t step = 0; step < steps; step++) {
        model_step(m, reg, step / (m->n / 2) % 3 == 2 ? 1 : 3);
        if (step % check_every == 0) check_tables(reg);
    }
    model_check(m, reg);
    for (uint32_t i = 0; i < m->n; i++) model_insert(m, reg, i);
    model_check(m, reg);
    for (uint32_t i = 0; i < m->n; i++) model_remove(m, reg, i);
    model_check(m, reg);
    check_memory(reg);
    assert_int_equal(hd_register_count(reg), 0);
    assert_int_equal(m->refused, 0);
    hd_register_free(reg);
}

static void addresses_anywhere_find_room(void **state) {
    model m = model_create(20000, 20);
    (void)state;
    for (uint32_t i = 0; i < m.n; i++) m.address[i] = hd__test_random(&m.random);
    check_enemy(&m, 4 * m.n, m.n);
    model_free(&m);
}

/* Half of them collide at the end of the table, and continue at its start. */
static void spans_that_share_a_home_stay_correct(void **state) {
    model m = model_create(600, 21);
    (void)state;
    for (uint32_t i = 0; i < m.n;) {
        uint64_t number = hd__test_random(&m.random) >> (HD__SPAN_SHIFT + 4);
        uint64_t home = number * 0x9e3779b97f4a7c15u >> 54;
        if (home != (i % 2 ? 1023 : 511)) continue;
        m.address[i++] = hd__register_address_of(number << HD__SPAN_SHIFT | 77);
    }
    check_enemy(&m, 12 * m.n, 10);
    model_free(&m);
}

/* All places of a page are used, with times or without. */
static void full_pages_stay_correct(void **state) {
    (void)state;
    for (unsigned timed = 0; timed < 3; timed++) {
        hd_register *reg = hd_register_create(NULL);
        for (int round = 0; round < 2; round++) {
            for (uint64_t i = 1; i <= 1024; i++) {
                hd_allocation a = allocation_of(16 * i, i, 1, timed == 1), replaced;
                assert_int_equal(hd_register_insert(reg, &a, &replaced), HD_OK);
                assert_int_equal(replaced.address, round ? a.address : 0);
            }
            check_tables(reg);
        }
        for (uint64_t i = 1; i <= 1024; i++) {  /* the first block with a time in a full page */
            hd_allocation a = allocation_of(16 * i, 2 * i, 2, 9), replaced;
            assert_int_equal(hd_register_insert(reg, &a, &replaced), HD_OK);
            assert_int_equal(replaced.size, i);
            assert_int_equal(replaced.time, timed == 1);
        }
        assert_int_equal(hd_register_count(reg), 1024);
        for (uint64_t i = 1; i <= 1024; i++) {
            hd_allocation removed;
            assert_true(hd_register_remove(reg, 16 * i, &removed));
            assert_int_equal(removed.size, 2 * i);
            assert_int_equal(removed.time, 9);
        }
        check_tables(reg);
        hd_register_free(reg);
    }
}

/* The number of slots of each size of bucket, and its kind. */
static void buckets_have_their_numbers_of_slots(void **state) {
    static const uint16_t untimed[HD__BUCKET_STEPS] = { 2, 4, 5, 9, 13, 16, 16, 16, 18, 24, 32, 38, 54, 66, 82, 108,
                                                 22, 29, 38, 50, 66, 92, 134, 218, 256 };
    static const uint16_t timed[HD__BUCKET_STEPS] = { 1, 2, 4, 6, 8, 11, 13, 16, 12, 16, 21, 25, 36, 44, 54, 72,
                                               14, 19, 25, 33, 44, 61, 89, 145, 256 };
    hd_register *reg = hd_register_create(NULL);
    (void)state;
    for (uint32_t i = 0; i < 2 * HD__BUCKET_STEPS; i++) {
        hd__bucket b = { i, 0, 0, { 0 } };
        assert_int_equal(reg->shape[i].capacity, (i & 1 ? timed : untimed)[i / 2]);
        assert_true(reg->shape[i].slots_at % 4 == 0 && reg->of[i].size % 8 == 0);
        assert_int_equal(hd__bucket_kind_of(&b), (i < 16 ? HD__BUCKET_FEW : i < 32 ? HD__BUCKET_SOME : i < 48 ? HD__BUCKET_MANY : HD__BUCKET_ALL) | (i & 1));
    }
    hd_register_free(reg);
}

/* Fills and empties a page in random order, and checks each block. `changes` counts how often a bucket of one kind
   became another kind: [4 * first + second]. One of `rare` blocks may lie next to another block's place; the others
   lie apart, as in most mallocs. With `rare` 1, blocks lie anywhere. */
static void fill_a_page(uint32_t timed, uint32_t rare, unsigned changes[16]) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation live[256], got;
    uint64_t random = 7 + timed, page = 0x7000, count = 0;
    uint32_t kind = HD__BUCKET_FEW, now;
    memset(live, 0, sizeof live);
    for (uint32_t step = 1; step <= 60000; step++) {
        unsigned i = (unsigned)hd__test_below(&random, 256), fill = step / 4000 % 2;
        if (live[i ^ 1].address && hd__test_below(&random, rare)) i ^= 1;
        hd_allocation a = allocation_of(page + 16 * i, step, ~step, timed ? step : 0);
        if (hd__test_below(&random, 512) < (fill ? 500u : 1u)) {
            assert_int_equal(hd_register_insert(reg, &a, &got), HD_OK);
            if (live[i].address) assert_same(&got, &live[i]);
            else assert_int_equal(got.address, 0);
            count += !live[i].address;
            live[i] = a;
        } else {
            assert_int_equal(hd_register_remove(reg, a.address, &got), live[i].address != 0);
            if (live[i].address) assert_same(&got, &live[i]);
            count -= live[i].address != 0;
            live[i].address = 0;
        }
        assert_int_equal(hd_register_count(reg), count);
        if (count) {
            now = hd__bucket_kind_of(hd__bucket_of(reg, hd__register_key_of(page)));
            assert_int_equal(now & HD__BUCKET_TIMED, timed);
            changes[kind / 16 * 4 + now / 16]++;
            kind = now;
        }
        if (step % 97) continue;
        check_tables(reg);
        for (i = 0; i < 256; i++) {
            assert_int_equal(hd_register_find(reg, page + 16 * i, &got), live[i].address != 0);
            if (live[i].address) assert_same(&got, &live[i]);
        }
    }
    hd_register_free(reg);
}

static void a_page_has_buckets_of_all_kinds(void **state) {
    enum { FEW, SOME, MANY, ALL };
    (void)state;
    for (uint32_t timed = 0; timed < 2; timed++) {
        unsigned anywhere[16] = { 0 }, apart[16] = { 0 };
        fill_a_page(timed, 1, anywhere);
        assert_true(anywhere[4 * FEW + MANY] && anywhere[4 * MANY + ALL] && anywhere[4 * ALL + MANY] && anywhere[4 * MANY + FEW]);
        fill_a_page(timed, 2000, apart);
        assert_true(apart[4 * FEW + SOME] && apart[4 * SOME + MANY] && apart[4 * SOME + FEW]);
        assert_true(apart[4 * MANY + SOME]);
    }
}

/* Two places share a byte of an index, in buckets of all sizes. The second block gives the bucket an index with one
   byte per place, and nothing is lost. */
static void neighbouring_places_are_distinguished(void **state) {
    (void)state;
    for (uint32_t timed = 0; timed < 2; timed++)
        for (uint64_t n = 1; n <= 128; n++)
            for (uint64_t odd = 0; odd < 4; odd++) { /* 2 and 3: the neighbour always has a time */
                hd_register *reg = hd_register_create(NULL);
                uint64_t first = 0x7000 + 16 * (odd & 1), beside = 0x7010 - 16 * (odd & 1) + 32 * (n / 2);
                hd_allocation a, got;
                for (uint64_t i = 0; i < n; i++) {
                    a = allocation_of(first + 32 * i, i + 1, 5, timed * 9);
                    assert_int_equal(hd_register_insert(reg, &a, &got), HD_OK);
                    assert_int_equal(got.address, 0);
                }
                assert_false(hd_register_find(reg, beside, NULL));
                assert_false(hd_register_set_context(reg, beside, 1));
                assert_false(hd_register_remove(reg, beside, NULL));
                check_tables(reg);
                a = allocation_of(beside, 1000, 6, odd < 2 ? timed * 9 : 8);
                assert_int_equal(hd_register_insert(reg, &a, &got), HD_OK);
                assert_int_equal(got.address, 0);
                check_tables(reg);
                assert_int_equal(hd_register_count(reg), n + 1);
                assert_true(hd_register_remove(reg, beside, &got));
                assert_same(&got, &a);
                for (uint64_t i = 0; i < n; i++) {
                    assert_true(hd_register_remove(reg, first + 32 * i, &got));
                    assert_int_equal(got.size, i + 1);
                    assert_int_equal(got.time, timed * 9);
                    check_tables(reg);
                }
                hd_register_free(reg);
            }
}

/* A page that was full has 85 blocks left, with no direct neighbours. With times these are too many for
   HD__BUCKET_SOME. */
static void a_full_page_thins_out(void **state) {
    (void)state;
    for (uint32_t timed = 0; timed < 2; timed++) {
        hd_register *reg = hd_register_create(NULL);
        uint64_t page = 0x7000, left = 85;
        hd_allocation got;
        for (uint64_t i = 0; i < 256; i++) {
            hd_allocation a = allocation_of(page + 16 * i, i + 1, 5, timed * 9);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        assert_int_equal(hd__bucket_kind_of(hd__bucket_of(reg, hd__register_key_of(page))), HD__BUCKET_ALL | timed);
        for (uint64_t i = 0; i < 256; i++)
            if (i % 2 || i / 2 >= left) assert_true(hd_register_remove(reg, page + 16 * i, NULL));
        assert_int_equal(hd__bucket_kind_of(hd__bucket_of(reg, hd__register_key_of(page))), timed ? HD__BUCKET_MANY | HD__BUCKET_TIMED : HD__BUCKET_SOME);
        check_tables(reg);
        for (uint64_t i = 0; i < left; i++) {
            assert_true(hd_register_find(reg, page + 32 * i, &got));
            assert_int_equal(got.size, 2 * i + 1);
            assert_int_equal(got.time, timed * 9);
        }
        hd_register_free(reg);
    }
}

/* Blocks of one size at a malloc's distances, 11 to 51 per page. */
static void blocks_of_one_size_cost_at_most_20_bytes(void **state) {
    enum { N = 300000 };
    (void)state;
    for (uint64_t apart = 80; apart <= 368; apart += 16) {
        hd_register *reg = hd_register_create(NULL);
        for (uint64_t i = 1; i <= N; i++) {
            hd_allocation a = allocation_of(apart * i, apart - 8, 1, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        assert_in_range(hd_register_memory(reg).resident / N, 9, 19);
        hd_register_free(reg);
    }
}

/* A block gets a time, and the OS has no memory for a larger bucket: nothing changes. */
static void blocks_that_cannot_be_replaced_stay(void **state) {
    static const unsigned counts[] = { 2, 16, 17, 18, 50, 108, 218, 256 };
    (void)state;
    for (unsigned k = 0; k < COUNT(counts); k++) {
        uint64_t apart = counts[k] <= 128 && counts[k] != 50 ? 32 : 16;
        hd_register *reg = hd_register_create(NULL);
        hd_allocation got, none = allocation_of(7, 7, 7, 7);
        uint64_t others = 0, refused = 0, beside = 0;
        for (uint64_t i = 0; i < counts[k]; i++) {
            hd_allocation a = allocation_of(0x7000 + apart * i, i + 1, 5, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        test_map_fail_at = 1;
        for (;; others++) {      /* until all pages are used */
            hd_allocation a = allocation_of(0x70000000 + (others << 12), 1, 1, 1);
            test_map_calls = 0;
            if (hd_register_insert(reg, &a, NULL)) break;
        }
        for (uint64_t i = 0; i < counts[k]; i++) {
            hd_allocation a = allocation_of(0x7000 + apart * i, i % 2 ? HD__VAST + i : 3, 6, i % 4 < 3 ? 9 : 0);
            hd_status status;
            test_map_calls = 0;
            got = none;
            status = hd_register_insert(reg, &a, &got);
            if (i % 4 < 2 && status) refused++;
            if (!status) continue; /* it fitted into a hole, or needed none */
            assert_int_equal(status, HD_OUT_OF_MEMORY);
            assert_same(&got, &none);
            assert_true(hd_register_find(reg, a.address, &got));
            assert_int_equal(got.size, i + 1);
            assert_int_equal(reg->vast_count, 0);
        }
        for (uint64_t i = 0; apart == 32 && i < counts[k]; i++) { /* a neighbour in the same byte of the index */
            hd_allocation a = allocation_of(0x7010 + 32 * i, 1, 6, 0);
            uint64_t count = hd_register_count(reg);
            test_map_calls = 0;
            got = none;
            if (!hd_register_insert(reg, &a, &got)) break; /* it fitted into a hole */
            beside++;
            assert_same(&got, &none);
            assert_false(hd_register_find(reg, a.address, NULL));
            assert_true(hd_register_find(reg, a.address - 16, NULL));
            assert_int_equal(hd_register_count(reg), count);
        }
        test_map_fail_at = 0;
        assert_true(refused);
        assert_true(beside || counts[k] == 2 || apart == 16);
        check_tables(reg);
        hd_register_free(reg);
    }
}

/* Blocks of 2 GiB and more are replaced by blocks with times: their bucket moves, and slots get new numbers. */
static void blocks_replaced_while_their_bucket_moves_are_returned(void **state) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation got, was[6];
    (void)state;
    for (uint64_t i = 1; i < 6; i++) {
        was[i] = allocation_of(0x7000 + 16 * i, HD__VAST + i, (uint32_t)i, 0);
        assert_int_equal(hd_register_insert(reg, &was[i], NULL), HD_OK);
    }
    assert_true(hd_register_remove(reg, was[1].address, NULL));
    for (uint64_t i = 2; i < 6; i++) {
        hd_allocation a = allocation_of(was[i].address, HD__VAST + 10 * i, 10 * (uint32_t)i, 7);
        assert_int_equal(hd_register_insert(reg, &a, &got), HD_OK);
        assert_same(&got, &was[i]);
        assert_true(hd_register_find(reg, a.address, &got));
        assert_same(&got, &a);
    }
    assert_int_equal(reg->vast_count, 4);
    check_tables(reg);
    hd_register_free(reg);
}

/* Blocks with and without times, on the same pages. */
static void times_are_kept_where_there_are_any(void **state) {
    hd_register *reg = hd_register_create(NULL);
    uint64_t random = 3;
    static uint32_t time_of[4096];
    (void)state;
    for (uint32_t step = 0; step < 100000; step++) {
        uint32_t i = (uint32_t)hd__test_below(&random, 4095) + 1;
        hd_allocation a = allocation_of(16 * (uint64_t)i, i, i, hd__test_below(&random, 40) ? 0 : step), got;
        if (step % 3 == 2) {
            if (hd_register_remove(reg, a.address, &got)) assert_int_equal(got.time, time_of[i]);
        } else {
            assert_int_equal(hd_register_insert(reg, &a, &got), HD_OK);
            if (got.address) assert_int_equal(got.time, time_of[i]);
            time_of[i] = a.time;
        }
    }
    check_tables(reg);
    hd_register_free(reg);
}

static void sizes_of_2_gib_and_more_come_and_go(void **state) {
    static const uint64_t sizes[] = { 1, HD__VAST - 1, HD__VAST, UINT32_MAX, UINT64_MAX, 5 };
    hd_register *reg = hd_register_create(NULL);
    uint64_t empty = test_mapped;
    (void)state;
    for (uint64_t round = 0; round < 2 * COUNT(sizes); round++) {
        for (uint64_t i = 1; i <= 3000; i++) {
            hd_allocation a = allocation_of(48 * i, sizes[(i + round) % COUNT(sizes)], 1, 0), replaced;
            assert_int_equal(hd_register_insert(reg, &a, &replaced), HD_OK);
            if (round) assert_int_equal(replaced.size, sizes[(i + round - 1) % COUNT(sizes)]);
        }
        assert_int_equal(reg->vast_count, 1500);
        assert_true(reg->vast_used <= 3000);
        check_memory(reg);
    }
    for (uint64_t i = 1; i <= 3000; i++) assert_true(hd_register_remove(reg, 48 * i, NULL));
    assert_null(reg->vast);
    hd_register_clear(reg);
    assert_int_equal(test_mapped, empty);
    hd_register_free(reg);
}

/* Clusters of addresses, at multiples of 16 and others. */
static void clumps_come_and_go(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint64_t base[8], clumps = 1 + seed % 8, step = (uint64_t)1 << seed % 6;
        model m = model_create(900, seed);
        for (uint64_t i = 0; i < clumps; i++) base[i] = hd__test_random(&m.random) >> seed % 20;
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = base[hd__test_below(&m.random, clumps)] + (i + 1) * step;
        check_enemy(&m, 6 * m.n, m.n / 20);
        model_free(&m);
    }
}

/* Nine tenths of a million blocks, placed as by a malloc, are freed at random. */
static void memory_freed_at_random_is_given_back(void **state) {
    enum { N = 1000000 };
    hd_register *reg = hd_register_create(NULL);
    uint32_t *order = malloc(N * sizeof *order);
    uint64_t random = 9, peak;
    (void)state;
    assert_non_null(order);
    for (uint32_t i = 0; i < N; i++) {
        hd_allocation a = allocation_of(0x7f0000000000 + 16 * (hd__test_below(&random, 13) + 13 * (uint64_t)i), 200, 1, 0);
        uint32_t other = (uint32_t)hd__test_below(&random, i + 1);
        order[i] = order[other];
        order[other] = (uint32_t)(a.address >> 4 & UINT32_MAX);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    peak = hd_register_memory(reg).resident;
    assert_in_range(peak / N, 10, 20);
    for (uint32_t i = 0; i < N / 10 * 9; i++)
        assert_true(hd_register_remove(reg, 0x7f0000000000 + 16 * (uint64_t)order[i], NULL));
    if (gives_back()) assert_true(hd_register_memory(reg).resident <= peak / 3);
    check_memory(reg);
    check_tables(reg);
    free(order);
    hd_register_free(reg);
}

static void pages_of_the_os_that_are_larger_stay_whole(void **state) {
    hd_register *reg;
    hd_allocation found;
    (void)state;
    test_os_page = 65536;
    reg = hd_register_create(NULL);
    for (uint64_t i = 1; i <= 100000; i++) {
        hd_allocation a = allocation_of(0x7f0000000000 + 64 * i, i, (uint32_t)i, 0);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    for (uint64_t i = 1; i <= 100000; i++)
        if (i % 1000) assert_true(hd_register_remove(reg, 0x7f0000000000 + 64 * i, NULL));
    for (uint64_t i = 1000; i <= 100000; i += 1000) {
        assert_true(hd_register_find(reg, 0x7f0000000000 + 64 * i, &found));
        assert_int_equal(found.size, i);
        assert_true(hd_register_remove(reg, 0x7f0000000000 + 64 * i, NULL));
    }
    check_memory(reg);
    check_tables(reg);
    hd_register_free(reg);
}

/* Pages that were kept during high use are given back when use is low. */
static void memory_freed_far_apart_is_given_back(void **state) {
    enum { N = 40000 };
    hd_register *reg = hd_register_create(NULL);
    (void)state;
    for (uint64_t i = 1; i <= N; i++) {
        hd_allocation a = allocation_of(i << 14, 200, 1, 0);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    for (uint64_t i = 1; i <= N; i++) assert_true(hd_register_remove(reg, i << 14, NULL));
    assert_true(reg->spares <= HD__REGISTER_SPARE);
    check_memory(reg);
    check_tables(reg);
    hd_register_free(reg);
}

/* Also the leaves of a single shard of a recorder. */
static void leaves_next_to_each_other_have_entries_of_their_own(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 16; shards *= 16) {
        hd_register *reg = hd_register_create(NULL);
        uint64_t n = 0, recent = 0;
        for (uint64_t i = 1 << 16; n < 8192; i++) {
            hd_allocation a = allocation_of(i << 17, 1, 1, 0);
            if (hd__shard_of(shards, a.address) != 3 % shards) continue;
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
            n++;
        }
        assert_int_equal(reg->recent_mask + 1, n);
        for (uint64_t i = 1 << 16; recent < n; i++) {
            hd_allocation a = allocation_of((i << 17) + 16, 1, 1, 0);
            if (hd__shard_of(shards, a.address) != 3 % shards) continue;
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
            recent++;
        }
        recent = 0;
        for (uint32_t i = 0; i <= reg->recent_mask; i++) {
            uint64_t key = reg->recent[i].number << (HD__BUCKET_PLACE_BITS + HD__LEAF_BITS);
            recent += reg->recent[i].leaf && hd__recent_index(reg, key) == i;
        }
        assert_int_equal(recent, n);
        check_tables(reg);
        hd_register_free(reg);
    }
}

/* A register with two leaves that share an entry: each call for one leaf finds the other there. */
typedef struct shared_entry {
    hd_register *reg;
    uint64_t near, far;          /* addresses in these leaves */
} shared_entry;

static bool is_recent(const shared_entry *e, uint64_t address) {
    return hd__leaf_recent(e->reg, hd__register_key_of(address)) != NULL;
}

/* Makes the far leaf the recent one. */
static void turn_away(const shared_entry *e) {
    hd_allocation far = allocation_of(e->far, 8, 1, 0);
    hd_register_insert(e->reg, &far, NULL);
    assert_true(is_recent(e, e->far) && !is_recent(e, e->near));
    check_tables(e->reg);
}

static void try_far_calls(const shared_entry *e, uint64_t size, uint32_t time) {
    hd_allocation was = allocation_of(e->near, size, 7, time), a = was, now = allocation_of(e->near, size + 1, 9, time);
    uint64_t count = hd_register_count(e->reg);
    turn_away(e);
    assert_int_equal(hd_register_insert(e->reg, &a, &a), HD_OK);
    assert_int_equal(a.address, 0);
    assert_true(is_recent(e, e->near));
    turn_away(e);
    assert_true(hd_register_find(e->reg, e->near, &a));
    assert_same(&a, &was);
    assert_false(is_recent(e, e->near));           /* a lookup changes nothing */
    a = now;
    assert_int_equal(hd_register_insert(e->reg, &a, &a), HD_OK);
    assert_same(&a, &was);
    assert_true(is_recent(e, e->near));
    turn_away(e);
    assert_false(hd_register_remove(e->reg, e->near + 1600 * 16, &a)); /* another page of that leaf */
    assert_false(hd_register_remove(e->reg, e->near - 16, &a));
    assert_same(&a, &was);
    turn_away(e);
    assert_true(hd_register_remove(e->reg, e->near, &a));
    assert_same(&a, &now);
    turn_away(e);
    assert_false(hd_register_remove(e->reg, e->near, &a));
    assert_int_equal(hd_register_count(e->reg), count);
}

static void two_leaves_take_turns_in_an_entry(void **state) {
    enum { LEAF = 4096 << HD__LEAF_BITS, NEAR = 8 * LEAF };
    (void)state;
    for (uint32_t others = 1; others < 250; others += 31)
        for (uint32_t time = 0; time < 2; time++) {
            shared_entry e = { hd_register_create(NULL), NEAR + 16, NEAR + LEAF };
            uint32_t entry = hd__recent_index(e.reg, hd__register_key_of(NEAR));
            hd_allocation far;
            while (hd__recent_index(e.reg, hd__register_key_of(e.far)) != entry) e.far += LEAF;
            far = allocation_of(e.far, 8, 1, 0);
            hd_register_insert(e.reg, &far, NULL);
            for (uint32_t i = 0; i < others; i++) {
                hd_allocation a = allocation_of(NEAR + 32 + 16 * i, 8, 1, 0);
                hd_register_insert(e.reg, &a, NULL);
            }
            try_far_calls(&e, 8, time);
            try_far_calls(&e, (uint64_t)3 << 30, time);
            hd_register_free(e.reg);
        }
}

/* More leaves than the table of recent leaves can ever have entries. After it is cleared, the OS refuses larger
   tables several times. */
static void recent_leaves_have_a_limit(void **state) {
    hd_register *reg = hd_register_create(NULL);
    (void)state;
    for (uint64_t i = 1; i <= 70000; i++) {
        hd_allocation a = allocation_of(i << 17, i, 1, 0);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    assert_int_equal(reg->recent_mask + 1, HD__RECENT_MOST);
    check_memory(reg);
    check_tables(reg);
    hd_register_clear(reg);
    check_memory(reg);
    for (uint64_t i = 1; i <= 1000; i++) {
        hd_allocation a = allocation_of(i << 17, i, 1, 0);
        /* leaves fit, but a larger table is refused */
        test_map_fail_at = i > 500 && i <= 520 ? test_map_calls + 1 : 0;
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        assert_int_equal(reg->recent_mask + 1, i <= 520 ? 512 : 1024);
    }
    check_memory(reg);
    check_tables(reg);
    hd_register_free(reg);
}

/* Enough leaves that lookups would need the table of spans, if the table of recent leaves did not grow. */
static void recent_leaves_have_room_for_all(void **state) {
    enum { N = 10000 };
    hd_register *reg = hd_register_create(NULL);
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= N; i++) {
            hd_allocation a = allocation_of(i << 17, i, 1, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
            assert_true(i <= reg->recent_mask + 1);
            if (i % 1000 == 0) check_memory(reg);
        }
        assert_int_equal(reg->recent_mask + 1, 32 * HD__RECENT_FIRST); /* the smallest power of two above N */
        for (uint64_t i = 1; i <= N; i++) {
            hd_allocation a = allocation_of((i << 17) + 64, i, 1, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        /* all at once */
        for (uint64_t i = 1; i <= N; i++) assert_non_null(hd__leaf_recent(reg, hd__register_key_of(i << 17)));
        check_tables(reg);
        for (uint64_t i = 1; i <= N; i++) {
            assert_true(hd_register_remove(reg, i << 17, NULL));
            assert_true(hd_register_remove(reg, (i << 17) + 64, NULL));
            if (i % 1000 == 0) check_memory(reg), check_tables(reg);
        }
        assert_ptr_equal(reg->recent, reg->first_recent);
    }
    hd_register_free(reg);
    assert_int_equal(test_mapped, 0);
}

/* Large and aligned blocks of mallocs: their memory is not allocated again each time. */
static void blocks_a_power_of_two_apart_may_take_turns(void **state) {
    (void)state;
    for (unsigned shift = 12; shift < 40; shift++) {
        hd_register *reg = hd_register_create(NULL);
        for (unsigned i = 0; i < 6; i++) {
            hd_allocation a = allocation_of(0x600000000010 + ((uint64_t)(i % 2) << shift), 100, 1, 0);
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
            assert_true(hd_register_remove(reg, a.address, NULL));
            assert_int_equal(reg->of[0].pieces, i ? 2 : 1);
        }
        check_tables(reg);
        hd_register_free(reg);
    }
}

/* Each block is the only one in 16 MiB: a walk skips empty parts, and nothing else. */
static void blocks_far_apart_are_walked_once_each(void **state) {
    const uint64_t n = 45000, apart = (uint64_t)1 << 24;
    hd_register *reg = hd_register_create(NULL);
    bool *seen = calloc(n + 1, 1);
    hd_cursor cursor = { 0, 0 };
    hd_allocation a;
    uint64_t count = 0;
    (void)state;
    for (uint64_t i = 1; i <= n; i++) {
        a = allocation_of(apart * i, 1, 1, 0);
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    for (; hd_register_next(reg, &cursor, &a); count++) {
        assert_true(a.address % apart == 0 && a.address / apart <= n && !seen[a.address / apart]);
        seen[a.address / apart] = true;
    }
    assert_int_equal(count, n);
    free(seen);
    hd_register_free(reg);
}

static void creating_says_when_the_os_gives_no_memory(void **state) {
    hd_error err;
    (void)state;
    memset(&err, 0, sizeof err);
    test_map_fail_at = test_map_calls + 1;
    assert_null(hd_register_create(&err));
    assert_int_equal(err.status, HD_OUT_OF_MEMORY);
    assert_true(strlen(err.message) > 0);
}

/* For n blocks, `apart` bytes from each other: each request to the OS fails once, also giving back pages. */
static void check_each_failing_request(uint32_t n, uint64_t apart) {
    uint64_t calls = UINT64_MAX, refused = 0;
    for (uint64_t fail_at = 1; fail_at <= calls; fail_at++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(n, fail_at);
        test_map_calls = 0;
        test_map_fail_at = fail_at;
        for (uint32_t i = 0; i < m.n; i++) {
            m.address[i] = apart * (i + 1);
            model_insert(&m, reg, i);
            assert_int_equal(hd_register_memory(reg).reserved, test_mapped);
        }
        check_tables(reg);
        for (uint32_t i = 0; i < m.n; i++)
            if (i % 64) model_remove(&m, reg, i);
        model_check(&m, reg);
        if (test_map_calls < fail_at) calls = 0; /* the fault was never reached: finished */
        test_map_fail_at = 0;
        for (uint32_t i = 0; i < m.n; i++) model_insert(&m, reg, i);
        assert_int_equal(hd_register_count(reg), m.n);
        model_check(&m, reg);
        refused += m.refused;
        hd_register_free(reg);
        assert_int_equal(test_mapped, 0);
        model_free(&m);
    }
    assert_true(refused > 0);
}

static void no_failing_request_loses_or_leaks_anything(void **state) {
    (void)state;
    check_each_failing_request(20000, 32);
    check_each_failing_request(6000, 16);
    /* a leaf each: the table of recent leaves is allocated, and grows three times */
    check_each_failing_request(2600, 1 << 17);
}

/* The OS gives no memory for a long time: the register fills its memory, then refuses. */
static void an_os_out_of_memory_keeps_what_is_registered(void **state) {
    hd_register *reg = hd_register_create(NULL);
    model m = model_create(100000, 5);
    (void)state;
    for (uint32_t i = 0; i < m.n; i++) {
        m.address[i] = 16 * (i + 1);
        if (i >= 1000) test_map_fail_at = test_map_calls + 1;
        model_insert(&m, reg, i);
    }
    assert_in_range(m.count, 5000, 20000);
    assert_int_equal(m.count + m.refused, m.n);
    model_check(&m, reg);
    test_map_fail_at = 0;
    for (uint32_t i = 0; i < m.n; i++) model_insert(&m, reg, i);
    assert_int_equal(m.count, m.n);
    model_check(&m, reg);
    hd_register_free(reg);
    model_free(&m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_address_has_its_own_key_and_back),
        TEST(an_empty_register_finds_nothing),
        TEST(address_0_is_invalid_everywhere),
        TEST(every_field_comes_back_whatever_its_value),
        TEST(inserting_again_replaces_and_tells_the_old_one),
        TEST(clearing_gives_the_memory_back_and_starts_afresh),
        TEST(small_tables_are_sound_after_every_operation),
        TEST(large_tables_agree_with_the_model),
        TEST(batches_are_found_by_their_numbers),
        TEST(a_million_costs_what_the_room_says_and_leaves_almost_nothing),
        TEST(addresses_anywhere_find_room),
        TEST(spans_that_share_a_home_stay_correct),
        TEST(full_pages_stay_correct),
        TEST(buckets_have_their_numbers_of_slots),
        TEST(a_page_has_buckets_of_all_kinds),
        TEST(neighbouring_places_are_distinguished),
        TEST(a_full_page_thins_out),
        TEST(blocks_of_one_size_cost_at_most_20_bytes),
        TEST(blocks_that_cannot_be_replaced_stay),
        TEST(blocks_replaced_while_their_bucket_moves_are_returned),
        TEST(times_are_kept_where_there_are_any),
        TEST(sizes_of_2_gib_and_more_come_and_go),
        TEST(clumps_come_and_go),
        TEST(memory_freed_at_random_is_given_back),
        TEST(memory_freed_far_apart_is_given_back),
        TEST(leaves_next_to_each_other_have_entries_of_their_own),
        TEST(two_leaves_take_turns_in_an_entry),
        TEST(recent_leaves_have_a_limit),
        TEST(recent_leaves_have_room_for_all),
        TEST(blocks_a_power_of_two_apart_may_take_turns),
        TEST(blocks_far_apart_are_walked_once_each),
        TEST(pages_of_the_os_that_are_larger_stay_whole),
        TEST(creating_says_when_the_os_gives_no_memory),
        TEST(no_failing_request_loses_or_leaks_anything),
        TEST(an_os_out_of_memory_keeps_what_is_registered),
    };
    /* Huge pages, where they are always enabled, would make untouched memory resident. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    return cmocka_run_group_tests_name("register", tests, NULL, NULL);
}
