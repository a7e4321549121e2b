/* threads. Blocks that move from one call stack to another while a snapshot reads the region: each block is in the
   heap once, or the snapshot reports as many operations as it may lack or repeat blocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "private.h"
#include "long.h"

#define BYTES ((uint64_t)64 << 20)

#if defined(__SANITIZE_THREAD__)
enum { ROUNDS = 50 };
#else
enum { ROUNDS = 300 };
#endif
enum { SIZE = 100, FILLERS = 500, NAMES = 1024, FAR = (15 << 20) / 32 };

static uint8_t *region;
static hd_recorder *rec;
static char names[NAMES][8];
static bool over;                /* the thread ends */
static unsigned moves_left, moved;
static bool spins;               /* the thread waits a little after each move */

static int setup(void **state) {
    (void)state;
    region = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "f%u", i);
    over = false;
    moved = 0;
    return hd_region_init(region, BYTES, NULL);
}

static int teardown(void **state) {
    (void)state;
    hd_recorder_free(rec);
    rec = NULL;
    return munmap(region, BYTES);
}

static uint32_t clock_of(void *user) {
    (void)user;
    return 1;
}

static void create(bool ages) {
    hd_recorder_desc desc = { .region = region, .region_bytes = BYTES, .ages = ages, .clock = clock_of };
    rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
}

static void *at(uint64_t i) { return (void *)(uintptr_t)(i * 32); }

static void resize(uint64_t from, uint64_t to, size_t size, const char *type) {
    hd_resize r;
    hd_record_resize(rec, at(from), &r);
    hd_record_resized(rec, &r, at(to), size, type);
}

/* Each allocation of a snapshot moves the block to a call stack that is new. */
static void *move_and_allocate(void *user, void *block, size_t old_size, size_t size) {
    char type[16];
    (void)user, (void)old_size;
    if (!size) return free(block), NULL;
    if (moves_left && rec) {
        moves_left--;
        snprintf(type, sizeof type, "new%u", ++moved);
        resize(1, 1, SIZE, type);
    }
    return realloc(block, size);
}

/* Takes a snapshot, and returns its blocks. */
static uint64_t blocks_of(hd_allocator allocator, hd_heap_kind kind, uint32_t *under_way) {
    hd_snapshot_options options = { .options = { .allocator = allocator }, .kind = kind, .under_way = under_way };
    hd_profile *p;
    hd_error err;
    uint64_t blocks;
    if (hd_recorder_view_snapshot(region, BYTES, 0, &options, &p, &err)) fail_msg("%s", err.message);
    blocks = hd_profile_blocks(p);
    hd_profile_free(p);
    return blocks;
}

static uint64_t blocks_in(uint64_t readable, uint32_t *under_way) {
    hd_snapshot_options options = { .under_way = under_way };
    hd_profile *p;
    uint64_t blocks;
    assert_int_equal(hd_recorder_view_snapshot(region, readable, 0, &options, &p, NULL), HD_OK);
    blocks = hd_profile_blocks(p);
    hd_profile_free(p);
    return blocks;
}

static void a_block_moves_to_new_call_stacks(void **state) {
    const hd_allocator moving = { move_and_allocate, NULL };
    (void)state;
    for (int ages = 0; ages < 2; ages++) {
        teardown(state);
        setup(state);
        create(ages);
        hd_record_alloc(rec, at(1), SIZE, "first");
        for (unsigned n = 1; n < 12; n++) {
            uint32_t under_way = 0;
            moves_left = n;
            assert_int_equal(blocks_of(moving, HD_HEAP_LIVE, &under_way), 1);
            assert_int_equal(under_way, 0);
        }
        assert_true(moved > 20);
    }
}

/* The readable part of the region ends before the new call stacks, as if it had grown meanwhile. */
static void a_block_moves_behind_the_readable_part(void **state) {
    (void)state;
    for (int ages = 0; ages < 2; ages++) {
        uint64_t readable, blocks;
        uint32_t under_way = 0;
        teardown(state);
        setup(state);
        create(ages);
        hd_record_alloc(rec, at(1), SIZE, "first");
        readable = hd_region_used(region, BYTES);
        for (unsigned i = 0; i < 1023; i++) resize(1, 1, SIZE, names[i]);
        assert_int_equal(blocks_in(readable, &under_way), 1);
        assert_int_equal(under_way, 0);
        resize(1, 1, SIZE, names[1023]);           /* in the second segment of sites */
        blocks = blocks_in(readable, &under_way);
        assert_int_equal(blocks, 0);
        assert_int_equal(under_way, 1);
        assert_int_equal(blocks_in(BYTES, &under_way), 1);
        assert_int_equal(under_way, 0);
    }
}

static void new_call_stacks_are_limited_by_memory(void **state) {
    hd_snapshot_options options = { .options = { .allocator = { move_and_allocate, NULL } } };
    hd_status status = HD_OUT_OF_MEMORY;
    hd_profile *p;
    (void)state;
    create(false);
    hd_record_alloc(rec, at(1), SIZE, "first");
    for (unsigned most = 1; status; most++) {
        options.options.limits.max_memory = most * 64;
        moves_left = 5;
        status = hd_recorder_view_snapshot(region, BYTES, 0, &options, &p, NULL);
        if (status) assert_int_equal(status, HD_LIMIT);
        else hd_profile_free(p);
    }
}

static bool is_over(void) { return __atomic_load_n(&over, __ATOMIC_ACQUIRE); }

static void wait_a_little(void) {
    for (volatile unsigned i = 0; spins && i < 400; i++) {}
}

/* Moves the block between two call stacks, which a reader passes at different times. */
static void *change_types(void *user) {
    (void)user;
    for (unsigned i = 0; !is_over(); i++, wait_a_little()) hd_record_set_type(rec, at(1), i & 1 ? "first" : "last");
    return NULL;
}

static void *resize_elsewhere(void *user) {
    (void)user;
    for (unsigned i = 0; !is_over(); i++, wait_a_little()) resize(1, 1, SIZE, i & 1 ? "first" : "last");
    return NULL;
}

static void *resize_in_place(void *user) {
    (void)user;
    for (; !is_over(); wait_a_little()) resize(1, 1, SIZE, "first");
    return NULL;
}

/* From one shard to another, which a reader passes at different times. */
static void *resize_far(void *user) {
    (void)user;
    for (unsigned i = 0; !is_over(); i++, wait_a_little()) resize(i & 1 ? FAR : 1, i & 1 ? 1 : FAR, SIZE, "first");
    return NULL;
}

/* The same for rows of blocks: the first block of a shard takes a chunk of rows. */
static void a_block_moves_to_unreadable_rows(void **state) {
    uint64_t readable;
    uint32_t under_way = 0;
    (void)state;
    create(true);
    hd_record_alloc(rec, at(1), SIZE, "first");
    readable = hd_region_used(region, BYTES);
    resize(1, FAR, SIZE, "first");
    assert_int_equal(blocks_in(readable, &under_way), 0);
    assert_int_equal(under_way, 1);
    assert_int_equal(blocks_in(BYTES, &under_way), 1);
    assert_int_equal(under_way, 0);
}

/* Takes snapshots while a thread moves one block. Each has all blocks, or reports the moves. */
static void assert_once(void **state, void *(*work)(void *user), hd_heap_kind kind, bool ages) {
    const unsigned most = (unsigned)long_or_short(2 * ROUNDS, spins ? ROUNDS : ROUNDS / 5);
    const hd_allocator none = { NULL, NULL };
    uint64_t all = FILLERS + 2, blocks = all, off = 0;
    uint32_t under_way = 0;
    unsigned exact = 0;
    pthread_t thread;
    teardown(state);
    setup(state);
    create(ages);
    hd_record_alloc(rec, at(1), SIZE, "first");
    for (unsigned i = 0; i < FILLERS; i++) hd_record_alloc(rec, at(1000 + i), SIZE, names[i]);
    hd_record_alloc(rec, at(2), SIZE, "last");
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    for (unsigned i = 0; i < most && off <= under_way; i++) {
        blocks = blocks_of(none, kind, &under_way);
        off = blocks > all ? blocks - all : all - blocks;
        exact += !under_way;
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    if (off > under_way) fail_msg("%d blocks for %d, %u under way", (int)blocks, (int)all, under_way);
    if (spins && !exact) fail_msg("none of %u snapshots was exact", most); /* how many are depends on the scheduler */
}

/* Without a pause after each move, snapshots may report operations. */
static void assert_always_once(void **state, void *(*work)(void *user), hd_heap_kind kind, bool ages) {
    spins = true;
    assert_once(state, work, kind, ages);
    spins = false;
    assert_once(state, work, kind, ages);
}

static void a_block_changes_its_type(void **state) {
    assert_always_once(state, change_types, HD_HEAP_LIVE, false);
    assert_always_once(state, change_types, HD_HEAP_TOTAL, false);
}
static void a_block_changes_its_type_with_ages(void **state) {
    assert_always_once(state, change_types, HD_HEAP_LIVE, true);
}
static void a_block_moves_to_another_call_stack(void **state) {
    assert_always_once(state, resize_elsewhere, HD_HEAP_LIVE, false);
}
static void a_block_moves_to_another_call_stack_with_ages(void **state) {
    assert_always_once(state, resize_elsewhere, HD_HEAP_LIVE, true);
}
static void a_block_is_resized_in_place(void **state) {
    assert_always_once(state, resize_in_place, HD_HEAP_LIVE, false);
    assert_always_once(state, resize_in_place, HD_HEAP_LIVE, true);
}
static void a_block_moves_far_away(void **state) {
    assert_always_once(state, resize_far, HD_HEAP_LIVE, false);
    assert_always_once(state, resize_far, HD_HEAP_LIVE, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_moves_to_new_call_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_moves_behind_the_readable_part, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_moves_to_unreadable_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(new_call_stacks_are_limited_by_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_changes_its_type, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_changes_its_type_with_ages, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_moves_to_another_call_stack, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_moves_to_another_call_stack_with_ages, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_is_resized_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_moves_far_away, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
