/* The register: what it says is checked against a model, its tables against their invariants, its
   memory against what the OS gave. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* Every mapping the register has, so that leaks, figures and failures are exact. */
static struct { void *at; size_t size; } test_maps[1024];
static size_t test_map_count;
static uint64_t test_mapped, test_map_calls, test_map_fail_at;

static void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
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

static int test_munmap(void *at, size_t size) {
    for (size_t i = 0; i < test_map_count; i++)
        if (test_maps[i].at == at && test_maps[i].size == size) {
            test_maps[i] = test_maps[--test_map_count];
            test_mapped -= size;
            return munmap(at, size);
        }
    fail_msg("unmapped what was not mapped: %zu bytes", size);
    return -1;
}

#define mmap test_mmap
#define munmap test_munmap
#define HEAPDUMP_STATIC
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#undef mmap
#undef munmap
#include "faults.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Bytes that the OS really holds for the register. */
static uint64_t really_resident(void) {
    uint64_t pages = 0;
    unsigned char *in_core = malloc(1 << 20);
    assert_non_null(in_core);
    for (size_t i = 0; i < test_map_count; i++) {
        size_t n = test_maps[i].size / HD__PAGE;
        assert_true(n <= 1 << 20);
        assert_int_equal(mincore(test_maps[i].at, test_maps[i].size, in_core), 0);
        for (size_t j = 0; j < n; j++) pages += in_core[j] & 1;
    }
    free(in_core);
    return pages * HD__PAGE;
}

/* Every entry has its tag, stands at its home or in a group behind that, and was counted by all groups
   that it went past. */
static void check_table(const hd_register *reg, uint32_t number) {
    const hd__slots *t = reg->table[number];
    uint32_t count = 0, *passed = calloc(t->groups, sizeof *passed);
    assert_non_null(passed);
    assert_true(t->groups <= HD__GROUPS_MAX && t->number == number && t->depth <= reg->bits);
    for (uint32_t i = 0; i < t->groups * HD__GROUP; i++) {
        uint64_t key = hd__slots_at(t, 0)[i].key;
        uint32_t group = i / HD__GROUP, home = hd__home(hd__homes(t->groups), key);
        uint8_t tag = hd__tags_at(t, group)[i % HD__GROUP];
        if (!key != !tag) fail_msg("slot %u: key and tag do not agree", i);
        if (!key) continue;
        if (tag != hd__tag(key)) fail_msg("slot %u: the tag of another key", i);
        if (home > group) fail_msg("slot %u: before its home %u", i, home);
        if (hd__route_table(hd__route_of(reg, key)) != t) fail_msg("slot %u: the directory leads elsewhere", i);
        for (; home < group; home++) passed[home]++;
        count++;
    }
    for (uint32_t g = 0; g < t->groups; g++) {
        uint8_t told = hd__tags_at(t, g)[HD__PASSED];
        if (told < 255 && told != passed[g]) fail_msg("group %u: %u went past, %u are told", g, passed[g], told);
    }
    assert_int_equal(count, t->count);
    free(passed);
}

/* Each table is sound, and found through as many directory entries as it should be. */
static void check_tables(const hd_register *reg) {
    uint64_t count = 0, entries = 0;
    for (uint32_t i = 0; i < reg->tables; i++) {
        check_table(reg, i);
        count += reg->table[i]->count;
        entries += (uint64_t)1 << (reg->bits - reg->table[i]->depth);
    }
    assert_int_equal(count, reg->count);
    for (uint64_t i = 0; i < (uint64_t)1 << reg->bits;) {
        bool unused = hd__route_unused(reg->directory[i]);
        const hd__slots *table = unused ? NULL : hd__route_table(reg->directory[i]);
        uint32_t depth = table ? table->depth : (uint32_t)reg->directory[i];
        uint64_t end = i + ((uint64_t)1 << (reg->bits - depth));
        hd__route route = table ? hd__route_to(table) : depth;
        if (!table) entries += end - i;
        for (; i < end; i++) assert_int_equal(reg->directory[i], route);
    }
    assert_int_equal(entries, (uint64_t)1 << reg->bits);
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

/* The model: addresses that may occur, and what is at each (address 0: nothing). An allocation's
   time is the number of its address, so that iterating finds its way back. */
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

static void model_insert(model *m, hd_register *reg, uint32_t i) {
    hd_allocation a = allocation_of(m->address[i], hd__test_random(&m->random),
                                    (uint32_t)hd__test_random(&m->random), i);
    hd_allocation replaced = allocation_of(77, 77, 77, 77), none = replaced;
    hd_status status = hd_register_insert(reg, &a, &replaced);
    if (status) {
        assert_int_equal(status, HD_OUT_OF_MEMORY);
        assert_int_equal(m->live[i].address, 0); /* replacing needs no memory */
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

/* One operation at random; of four, about `inserts` insert. */
static void model_step(model *m, hd_register *reg, unsigned inserts) {
    uint32_t i = (uint32_t)hd__test_below(&m->random, m->n);
    unsigned what = (unsigned)hd__test_below(&m->random, 5);
    if (what == 4) model_find(m, reg, i);
    else if (what < inserts) model_insert(m, reg, i);
    else model_remove(m, reg, i);
    assert_int_equal(hd_register_count(reg), m->count);
}

/* Everything the model has is found, and iterating meets each exactly once. */
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

/* What a test that failed left behind is not the next one's fault. */
static int setup(void **state) {
    (void)state;
    while (test_map_count) test_munmap(test_maps[0].at, test_maps[0].size);
    test_map_calls = test_map_fail_at = 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (test_mapped) print_error("%llu bytes are still mapped\n", (unsigned long long)test_mapped);
    return test_mapped ? -1 : 0;
}

static void an_address_hashes_to_its_own_key_and_back(void **state) {
    uint64_t random = 1;
    (void)state;
    assert_int_equal(hd__key_of(0), 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t x = i < 100 ? (uint64_t)i : i < 200 ? 0 - (uint64_t)(i - 99) : hd__test_random(&random);
        assert_int_equal(hd__address_of(hd__key_of(x)), x);
        assert_int_equal(hd__key_of(hd__address_of(x)), x);
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
    for (int round = 0; round < 2; round++) { /* before there is a table, and after */
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
        assert_true(reg->tables > 1);
        hd_register_clear(reg);
        assert_int_equal(hd_register_count(reg), 0);
        assert_false(hd_register_find(reg, 16, NULL));
        assert_int_equal(test_mapped, empty);
        check_memory(reg);
    }
    hd_register_free(reg);
}

/* Few addresses: every operation is followed by a look at every slot. */
static void small_tables_are_sound_after_every_operation(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(seed < 4 ? 300 : 1500, seed);
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = 16 * ((uint64_t)i + 1) << 2 * seed;
        for (uint32_t step = 0; step < 4 * m.n; step++) {
            model_step(&m, reg, step / m.n % 2 ? 1 : 3); /* fill, drain, fill, drain */
            check_tables(reg);
        }
        model_check(&m, reg);
        assert_int_equal(m.refused, 0);
        hd_register_free(reg);
        model_free(&m);
    }
}

/* 300,000 at a time at addresses as allocators give them out. */
static void large_tables_agree_with_the_model(void **state) {
    static const struct { uint64_t first, step; } progression[] = {
        { 16, 16 }, { 0x7f0000000000, 4096 }, { 1 << 21, 1 << 21 }, { 0 - (uint64_t)16, 0 - (uint64_t)16 },
        { 1, 1 }, { (uint64_t)1 << 63, (uint64_t)1 << 40 }
    };
    (void)state;
    for (size_t p = 0; p < COUNT(progression); p++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(400000, p);
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = progression[p].first + i * progression[p].step;
        for (uint32_t i = 0; i < 300000; i++) model_insert(&m, reg, i);
        for (uint32_t step = 0; step < 400000; step++) {
            model_step(&m, reg, step < 200000 ? 3 : 1); /* holding 300,000, then draining */
            if (step % 100000 == 0) check_tables(reg);
            if (step == 199999) assert_in_range(m.count, 290000, 310000);
        }
        model_check(&m, reg);
        check_memory(reg);
        assert_int_equal(m.refused, 0);
        hd_register_free(reg);
        model_free(&m);
    }
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
            assert_in_range(memory.resident / i, 28, 39);
        }
        check_memory(reg);
        check_tables(reg);
        if (!round) reserved = test_mapped;
        assert_true(reserved <= 72 * 1000000);
        for (uint64_t i = 1; i <= 1000000; i++)
            assert_true(hd_register_remove(reg, 0x555500000000 + 48 * i, NULL));
        check_memory(reg);
        check_tables(reg);
        assert_int_equal(test_mapped, reserved); /* address space is kept, and not more of it each round */
        assert_true(hd_register_memory(reg).resident <= reserved / 200);
    }
    hd_register_free(reg);
}

/* Keys as an enemy would choose them; m->address holds them. Either all goes well, or the register
   says that it is out of memory and keeps what it has. */
static void check_enemy(model *m, uint32_t steps, uint32_t check_every) {
    hd_register *reg = hd_register_create(NULL);
    for (uint32_t i = 0; i < m->n; i++) m->address[i] = hd__address_of(m->address[i]);
    for (uint32_t step = 0; step < steps; step++) {
        model_step(m, reg, step / (m->n / 2) % 3 == 2 ? 1 : 3);
        if (step % check_every == 0) check_tables(reg);
    }
    model_check(m, reg);
    for (uint32_t i = 0; i < m->n; i++) model_insert(m, reg, i);
    model_check(m, reg);
    for (uint32_t i = 0; i < m->n; i++) model_remove(m, reg, i);
    model_check(m, reg);
    assert_int_equal(hd_register_count(reg), 0);
    hd_register_free(reg);
}

static void keys_that_share_20_leading_bits_find_room(void **state) {
    hd_register *reg = hd_register_create(NULL);
    model m = model_create(200000, 20);
    (void)state;
    for (uint32_t i = 0; i < m.n; i++) {
        m.address[i] = hd__address_of((uint64_t)0xabcde << 44 | hd__test_random(&m.random) >> 20);
        model_insert(&m, reg, i);
        assert_int_equal(m.refused, 0);
    }
    model_check(&m, reg);
    for (uint32_t i = 0; i < m.n; i++) model_remove(&m, reg, i);
    model_check(&m, reg);
    hd_register_free(reg);
    model_free(&m);
}

static void keys_that_share_a_home_stay_correct(void **state) {
    (void)state;
    for (uint64_t at = 0; at < 4; at++) {
        model m = model_create(1000, at);
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = (at << 62) + ((uint64_t)1 << 61) + ((at << 28) + i);
        check_enemy(&m, 4000, 1);
        assert_int_equal(m.refused, 0);
        model_free(&m);
    }
}

/* All at the last home of a table, which has little room behind it. */
static void keys_at_the_end_of_a_table_stay_correct(void **state) {
    model m = model_create(200, 3);
    (void)state;
    for (uint32_t i = 0; i < m.n; i++) m.address[i] = UINT32_MAX - i;
    check_enemy(&m, 400, 100); /* the directory becomes as large as it may */
    model_free(&m);
}

static void a_full_home_does_not_keep_others_out(void **state) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation a = allocation_of(0, 1, 1, 1);
    uint32_t held = 0;
    (void)state;
    for (uint64_t key = 1; key < 256; key++) {
        a.address = hd__address_of(UINT32_MAX - key);
        held += hd_register_insert(reg, &a, NULL) == HD_OK;
    }
    assert_in_range(held, 20, 255);
    assert_int_equal(hd_register_count(reg), held);
    for (uint64_t i = 1; i <= 300000; i++) {
        a.address = 4096 * i;
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    assert_int_equal(hd_register_count(reg), held + 300000);
    for (uint64_t key = 1; key < 256; key++) held -= hd_register_remove(reg, hd__address_of(UINT32_MAX - key), NULL);
    assert_int_equal(held, 0);
    hd_register_free(reg);
}

/* Clumps of keys in an otherwise empty table, at its front and at its end too, where little room lies
   behind them. */
static void clumps_survive_shrinking_and_growing(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint64_t base[8], clumps = 1 + seed % 8;
        model m = model_create(900, seed);
        for (uint64_t i = 0; i < clumps; i++) base[i] = hd__test_random(&m.random);
        if (seed % 3 == 0) base[0] = (seed << 40) + UINT32_MAX - 1000; /* at the end */
        if (seed % 3 == 1) base[0] = (seed << 40);                     /* at the front */
        for (uint32_t i = 0; i < m.n; i++) m.address[i] = base[hd__test_below(&m.random, clumps)] + i;
        check_enemy(&m, 6 * m.n, m.n / 20);
        model_free(&m);
    }
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

/* Each request to the OS fails once, giving back pages included. */
static void no_failing_request_loses_or_leaks_anything(void **state) {
    uint64_t calls = UINT64_MAX, refused = 0;
    (void)state;
    for (uint64_t fail_at = 1; fail_at <= calls; fail_at++) {
        hd_register *reg = hd_register_create(NULL);
        model m = model_create(60000, fail_at);
        test_map_calls = 0;
        test_map_fail_at = fail_at;
        for (uint32_t i = 0; i < m.n; i++) {
            m.address[i] = 32 * (i + 1);
            model_insert(&m, reg, i);
            assert_int_equal(hd_register_memory(reg).reserved, test_mapped);
        }
        check_tables(reg);
        for (uint32_t i = 0; i < m.n; i++)
            if (i % 64) model_remove(&m, reg, i);
        model_check(&m, reg);
        if (test_map_calls < fail_at) calls = 0; /* the fault was never reached: all are done */
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

/* The OS gives nothing more for long: the table takes what it has room for, then says so. */
static void an_os_out_of_memory_keeps_what_is_registered(void **state) {
    hd_register *reg = hd_register_create(NULL);
    model m = model_create(100000, 5);
    (void)state;
    for (uint32_t i = 0; i < m.n; i++) {
        m.address[i] = 16 * (i + 1);
        if (i >= 1000) test_map_fail_at = test_map_calls + 1;
        model_insert(&m, reg, i);
    }
    assert_in_range(m.count, HD__GROUPS_MAX * HD__GROUP / 100 * 95, HD__GROUPS_MAX * HD__GROUP);
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
        TEST(an_address_hashes_to_its_own_key_and_back),
        TEST(an_empty_register_finds_nothing),
        TEST(address_0_is_invalid_everywhere),
        TEST(every_field_comes_back_whatever_its_value),
        TEST(inserting_again_replaces_and_tells_the_old_one),
        TEST(clearing_gives_the_memory_back_and_starts_afresh),
        TEST(small_tables_are_sound_after_every_operation),
        TEST(large_tables_agree_with_the_model),
        TEST(a_million_costs_what_the_room_says_and_leaves_almost_nothing),
        TEST(keys_that_share_20_leading_bits_find_room),
        TEST(keys_that_share_a_home_stay_correct),
        TEST(keys_at_the_end_of_a_table_stay_correct),
        TEST(a_full_home_does_not_keep_others_out),
        TEST(clumps_survive_shrinking_and_growing),
        TEST(creating_says_when_the_os_gives_no_memory),
        TEST(no_failing_request_loses_or_leaks_anything),
        TEST(an_os_out_of_memory_keeps_what_is_registered),
    };
    /* Huge pages, where they are always on, would count for more than what was touched. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    return cmocka_run_group_tests_name("register", tests, NULL, NULL);
}
