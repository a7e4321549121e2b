/* threads. Compares the recorder's figures and snapshots with models, and checks its locks for deadlocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts the memory that the recorder requests from the OS, and lets one request fail. */
static uint64_t test_mapped, test_map_calls, test_map_fail_at;

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *p;
    if (__atomic_add_fetch(&test_map_calls, 1, __ATOMIC_RELAXED) == test_map_fail_at) return MAP_FAILED;
    p = mmap(at, size, protection, flags, fd, offset);
    if (p != MAP_FAILED && !(flags & MAP_FIXED)) __atomic_add_fetch(&test_mapped, size, __ATOMIC_RELAXED);
    return p;
}

int test_munmap(void *at, size_t size) {
    __atomic_sub_fetch(&test_mapped, size, __ATOMIC_RELAXED);
    return munmap(at, size);
}

/* Locks that detect a thread that waits for itself. A signal can arrive in a lock, and a thread can be paused after
   one. */
static __thread struct {
    pthread_mutex_t *held[128];
    unsigned n, most, deadlocks;
    unsigned raise_at;           /* number of the lock in which a signal arrives, counted from now; 0: none */
    bool pause;                  /* after the next unlock */
} test_locks;
static sem_t test_paused, test_go_on;

int test_lock(pthread_mutex_t *mutex) {
    bool again = false;
    for (unsigned i = 0; i < test_locks.n; i++) again |= test_locks.held[i] == mutex;
    if (again) test_locks.deadlocks++;
    else pthread_mutex_lock(mutex);
    assert_true(test_locks.n < sizeof test_locks.held / sizeof *test_locks.held);
    test_locks.held[test_locks.n++] = again ? NULL : mutex;
    if (test_locks.n > test_locks.most) test_locks.most = test_locks.n;
    if (test_locks.raise_at && !--test_locks.raise_at) raise(SIGUSR1);
    return 0;
}

int test_unlock(pthread_mutex_t *mutex) {
    if (test_locks.held[--test_locks.n]) pthread_mutex_unlock(mutex);
    if (test_locks.pause) {
        test_locks.pause = false;
        sem_post(&test_paused);
        sem_wait(&test_go_on);
    }
    return 0;
}

bool test_alone; /* if true, a single thread takes no locks, and its peaks are exact */
#include "private.h"
#include "faults.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static hd_category any = { .name = "any" };
static hd_recorder *rec;

static int setup(void **state) {
    (void)state;
    hd_tracker_stop();
    memset(&test_locks, 0, sizeof test_locks);
    test_alone = true;
    test_map_calls = test_map_fail_at = test_mapped = 0;
    rec = NULL;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hd_recorder_free(rec);
    if (hd_tracker_running()) return -1;
    return test_mapped || test_locks.n || test_locks.deadlocks ? -1 : 0;
}

static void create(const hd_recorder_desc *desc) {
    hd_error err;
    rec = hd_recorder_create(desc, &err);
    if (!rec) fail_msg("%s", err.message);
}

/* The address of block i; 0 has NULL. */
static void *at(uint64_t i) { return (void *)(uintptr_t)(i * 32); }

static void assert_stats(hd_recorder_counters expected) {
    hd_recorder_counters stats;
    hd_recorder_stats(rec, &stats);
    assert_int_equal(stats.live_bytes, expected.live_bytes);
    assert_int_equal(stats.live_blocks, expected.live_blocks);
    if (HD__FIGURE_ALONE()) assert_int_equal(stats.peak_bytes, expected.peak_bytes);
    else assert_in_range(stats.peak_bytes + 16 * 4096, expected.peak_bytes, expected.peak_bytes + 16 * 4096);
    assert_int_equal(stats.total_bytes, expected.total_bytes);
    assert_int_equal(stats.total_blocks, expected.total_blocks);
    assert_int_equal(stats.replaced, expected.replaced);
    assert_int_equal(stats.unknown_frees, expected.unknown_frees);
    assert_int_equal(stats.ignored, expected.ignored);
    assert_int_equal(stats.lost, expected.lost);
    assert_int_equal(hd_recorder_live_bytes(rec), expected.live_bytes);
    assert_int_equal(hd_recorder_peak_bytes(rec), stats.peak_bytes);
    assert_in_range(stats.memory.resident, 1, stats.memory.reserved);
}

/* Live blocks by "/outer/inner Type". */
typedef struct row { char name[96]; uint64_t bytes, blocks; } row;

static int by_name(const void *a, const void *b) { return strcmp(((const row *)a)->name, ((const row *)b)->name); }

/* Sorted rows as text, with equal names added up. Frees the rows. */
static char *text_of(row *rows, size_t n) {
    char *text = calloc(n + 1, 160), *end = text;
    qsort(rows, n, sizeof *rows, by_name);
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = rows[i].bytes, blocks = rows[i].blocks;
        while (i + 1 < n && !by_name(&rows[i], &rows[i + 1])) bytes += rows[++i].bytes, blocks += rows[i].blocks;
        end += sprintf(end, "%s %llu %llu\n", rows[i].name, (unsigned long long)bytes, (unsigned long long)blocks);
    }
    free(rows);
    return text;
}

static void put(char *path, hd_str name) {
    memmove(path + name.len + 1, path, strlen(path) + 1);
    memcpy(path + 1, name.data, name.len);
    *path = '/';
}

static char *text_of_profile(const hd_profile *profile) {
    hd_rows cells = hd_profile_cells(profile);
    hd_axis backtrace = hd_profile_axis(profile, HD_AXIS_BACKTRACE), types = hd_profile_axis(profile, HD_AXIS_TYPE);
    row *rows = calloc(cells.count + 1, sizeof *rows);
    assert_int_equal(hd_profile_axis_count(profile), 2);
    for (uint32_t i = 0; i < cells.count; i++) {
        char path[64] = "";
        hd_str type = types.node_name[cells.node[2 * i + 1]];
        for (uint32_t node = cells.node[2 * i]; node; node = backtrace.parent[node]) put(path, backtrace.node_name[node]);
        assert_int_equal(types.parent[cells.node[2 * i + 1]], 0);
        snprintf(rows[i].name, sizeof rows[i].name, "%s %.*s", path, (int)type.len, type.data);
        rows[i].bytes = cells.amount[i].bytes;
        rows[i].blocks = cells.amount[i].blocks;
        for (uint32_t j = 0; j < i; j++) /* no two cells have the same nodes */
            if (!memcmp(&cells.node[2 * i], &cells.node[2 * j], 8)) fail_msg("cells %u and %u are one", i, j);
    }
    return text_of(rows, cells.count);
}

static void assert_snapshot(const hd_snapshot_options *options, const char *expected) {
    hd_profile *profile;
    char *text;
    assert_int_equal(hd_recorder_snapshot(rec, options, &profile, NULL), HD_OK);
    text = text_of_profile(profile);
    assert_string_equal(text, expected);
    free(text);
    hd_profile_free(profile);
}

/* ---- one thread */

static void recording_follows_the_documents_flow(void **state) {
    (void)state;
    create(NULL);
    assert_true(hd_tracker_running());
    assert_snapshot(NULL, "");
    {
        HD_SCOPE("any", "BrMain");
        assert_true(hd_record_alloc(rec, at(1), 100, "T"));
        {
            HD_SCOPE("any", "Init");
            assert_true(hd_record_alloc(rec, at(2), 20, "T"));
            assert_true(hd_record_alloc(rec, at(3), 5, "T"));
            assert_true(hd_record_alloc(rec, at(4), 7, "V"));
            assert_true(hd_record_alloc(rec, at(5), 64, NULL));
        }
    }
    assert_true(hd_record_alloc(rec, at(6), 8, NULL));
    assert_snapshot(NULL, " [unknown] 8 1\n/BrMain T 100 1\n/BrMain/Init T 25 2\n/BrMain/Init V 7 1\n"
                          "/BrMain/Init [unknown] 64 1\n");
    assert_true(hd_record_set_type(rec, at(5), "V"));
    assert_true(hd_record_set_type(rec, at(4), NULL));
    assert_true(hd_record_free(rec, at(1)));
    assert_true(hd_record_free(rec, at(6)));
    assert_snapshot(NULL, "/BrMain/Init T 25 2\n/BrMain/Init V 64 1\n/BrMain/Init [unknown] 7 1\n");
    assert_stats((hd_recorder_counters){ .live_bytes = 96, .live_blocks = 4, .peak_bytes = 204, .total_bytes = 204,
                                      .total_blocks = 6 });
}

static void odd_calls_are_counted_and_harmless(void **state) {
    (void)state;
    create(NULL);
    assert_false(hd_record_alloc(rec, NULL, 8, NULL));
    assert_false(hd_record_free(rec, NULL));
    assert_false(hd_record_set_type(rec, NULL, "T"));
    assert_stats((hd_recorder_counters){ .live_bytes = 0 });
    assert_false(hd_record_free(rec, at(1)));
    assert_false(hd_record_set_type(rec, at(1), "T"));
    assert_stats((hd_recorder_counters){ .unknown_frees = 1 });
    assert_true(hd_record_alloc(rec, at(1), 0, "T"));
    assert_snapshot(NULL, " T 0 1\n");
    assert_true(hd_record_alloc(rec, at(1), 10, "U"));
    assert_true(hd_record_alloc(rec, at(1), 4, NULL));
    assert_snapshot(NULL, " [unknown] 4 1\n");
    assert_stats((hd_recorder_counters){ .live_bytes = 4, .live_blocks = 1, .peak_bytes = 10, .total_bytes = 14,
                                      .total_blocks = 3, .replaced = 2, .unknown_frees = 1 });
    hd_recorder_free(NULL);
}

static void a_suspended_thread_records_nothing(void **state) {
    (void)state;
    create(NULL);
    hd_record_alloc(rec, at(1), 10, NULL);
    assert_true(hd_record_suspend());
    assert_false(hd_record_suspend());
    for (int i = 0; i < 2; i++) {
        assert_false(hd_record_alloc(rec, at(2), 10, NULL));
        assert_false(hd_record_free(rec, at(1)));
        assert_false(hd_record_set_type(rec, at(1), "T"));
        hd_record_resume();
    }
    assert_true(hd_record_alloc(rec, at(3), 1, NULL));
    assert_snapshot(NULL, " [unknown] 11 2\n");
    assert_stats((hd_recorder_counters){ .live_bytes = 11, .live_blocks = 2, .peak_bytes = 11, .total_bytes = 11,
                                      .total_blocks = 2, .ignored = 6 });
}

/* glibc declares calls such as dlerror as leaf, but they call back through malloc. */
void comes_back(void);
void comes_back(void) { hd_record_alloc(rec, at(2), 10, NULL); }
#ifdef __GNUC__
void leaf(void) __asm__("comes_back") __attribute__((leaf, nothrow));
#else
#define leaf comes_back
#endif

static void a_suspended_thread_records_nothing_in_leaf_calls(void **state) {
    (void)state;
    create(NULL);
    hd_record_suspend();
    leaf();
    hd_record_resume();
    assert_stats((hd_recorder_counters){ .ignored = 1 });
}

/* Callbacks that use the recorder, as callbacks that call malloc would. */
typedef struct callbacks {
    unsigned unwound, freed;
    uint32_t now, lifetime;
    hd_allocation last;
} callbacks;

static void keep_visited(void *user, const hd_allocation *live) { *(hd_allocation *)user = *live; }

static void use_recorder(void) {
    hd_resize resize;
    assert_int_equal(test_locks.n, 0);
    assert_false(hd_record_alloc(rec, at(10), 1, "inner"));
    assert_false(hd_record_free(rec, at(1)));
    assert_false(hd_record_set_type(rec, at(1), "inner"));
    hd_record_resize(rec, at(10), &resize);
}

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    callbacks *c = user;
    if (c) c->unwound++;
    if (c) use_recorder();
    assert_true(capacity >= 2);
    pcs[0] = (const void *)0x1f;
    pcs[1] = (const void *)0x20;
    return 2;
}

static uint32_t clock_now(void *user) {
    use_recorder();
    return ((callbacks *)user)->now;
}

static void on_free(void *user, const hd_allocation *freed, uint32_t lifetime) {
    callbacks *c = user;
    use_recorder();
    c->freed++;
    c->last = *freed;
    c->lifetime = lifetime;
}

static void a_block_whose_realloc_failed_was_not_freed(void **state) {
    callbacks c = { 0, 0, 0, 0, { 0, 0, 0, 0 } };
    hd_recorder_desc desc = { .on_free = on_free, .user = &c };
    hd_resize resize;
    (void)state;
    create(&desc);
    hd_record_alloc(rec, at(1), 10, "T");
    hd_record_resize(rec, at(1), &resize);
    hd_record_not_resized(rec, &resize);
    assert_int_equal(c.freed, 0);
    hd_record_resize(rec, at(1), &resize);
    hd_record_resized(rec, &resize, NULL, 0, NULL);
    assert_int_equal(c.freed, 1);
    assert_int_equal(c.last.size, 10);
    assert_string_equal(hd_contexts_frame(hd_recorder_contexts(rec), c.last.context).value, "T");
    assert_stats((hd_recorder_counters){ .peak_bytes = 10, .total_bytes = 10, .total_blocks = 1, .ignored = 4 });
}

/* With one thread and with several: a block during realloc counts with its old size, then with its new one. */
static void a_block_that_is_resized_counts_all_the_time(void **state) {
    callbacks c = { 0, 0, 0, 0, { 0, 0, 0, 0 } };
    hd_recorder_desc desc = { .on_free = on_free, .user = &c };
    hd_resize resize, none;
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        test_alone = alone;
        c.freed = 0;
        create(&desc);
        hd_record_alloc(rec, at(1), 10, "T");
        hd_record_resize(rec, at(1), &resize);
        assert_snapshot(NULL, " T 10 1\n");
        hd_record_not_resized(rec, &resize);
        assert_snapshot(NULL, " T 10 1\n");
        for (uint64_t i = 1; i < 3; i++) {         /* moved, and in place */
            hd_record_resize(rec, at(i), &resize);
            assert_snapshot(NULL, i == 1 ? " T 10 1\n" : " T 30 1\n");
            assert_true(hd_record_resized(rec, &resize, at(2), i == 1 ? 30 : 20, "T"));
            assert_snapshot(NULL, i == 1 ? " T 30 1\n" : " T 20 1\n");
        }
        assert_int_equal(c.freed, 2);
        assert_int_equal(c.last.size, 30);
        hd_record_resize(rec, NULL, &none);        /* realloc used as malloc */
        assert_true(hd_record_resized(rec, &none, at(1), 7, "T"));
        hd_record_resize(rec, at(2), &resize);     /* realloc used as free */
        hd_record_resized(rec, &resize, NULL, 0, NULL);
        assert_snapshot(NULL, " T 7 1\n");
        assert_true(hd_record_free(rec, at(1)));
        assert_int_equal(c.freed, 4);
        assert_stats((hd_recorder_counters){ .peak_bytes = 30, .total_bytes = 67, .total_blocks = 4, .ignored = 16 });
        test_alone = false;
        hd_recorder_free(rec);
        rec = NULL;
    }
}

/* The allocator may give the old address to another thread before the realloc returns. */
static void an_address_is_given_out_again_while_its_block_is_resized(void **state) {
    hd_resize resize[300], other;
    (void)state;
    test_alone = false;
    create(NULL);
    hd_record_alloc(rec, at(1), 10, "A");
    hd_record_resize(rec, at(1), &resize[0]);
    hd_record_alloc(rec, at(1), 5, "B");           /* another thread's block */
    assert_snapshot(NULL, " A 10 1\n B 5 1\n");
    hd_record_resize(rec, at(1), &other);          /* that thread also reallocates it */
    hd_record_alloc(rec, at(1), 2, "C");           /* and a third thread gets the address */
    assert_snapshot(NULL, " A 10 1\n B 5 1\n C 2 1\n");
    assert_true(hd_record_resized(rec, &other, at(3), 6, "B"));
    assert_true(hd_record_resized(rec, &resize[0], at(2), 20, "A"));
    assert_snapshot(NULL, " A 20 1\n B 6 1\n C 2 1\n");
    hd_record_resize(rec, at(2), &resize[0]);
    assert_false(hd_record_free(rec, at(2)));      /* a free by another thread: its block was not recorded */
    assert_snapshot(NULL, " A 20 1\n B 6 1\n C 2 1\n");
    hd_record_not_resized(rec, &resize[0]);
    assert_true(hd_record_free(rec, at(2)) && hd_record_free(rec, at(3)) && hd_record_free(rec, at(1)));
    assert_stats((hd_recorder_counters){ .peak_bytes = 28, .total_bytes = 43, .total_blocks = 5, .unknown_frees = 1 });
    for (uint64_t i = 0; i < COUNT(resize); i++) { /* more reallocs of one shard than its first table holds */
        hd_record_alloc(rec, at(i + 1), 1, NULL);
        hd_record_resize(rec, at(i + 1), &resize[i]);
    }
    for (uint64_t i = 0; i < COUNT(resize); i++) assert_true(hd_record_resized(rec, &resize[i], at(i + 1001), 2, NULL));
    assert_snapshot(NULL, " [unknown] 600 300\n");
    for (uint64_t i = 0; i < COUNT(resize); i++) assert_true(hd_record_free(rec, at(i + 1001)));
    assert_snapshot(NULL, "");
}

/* The OS gives no memory for a place: the block leaves the register meanwhile. */
static void a_resize_without_a_place_removes_no_other_block(void **state) {
    hd_recorder_desc desc = { .shards = 1 };
    hd_resize resize;
    (void)state;
    test_alone = false;
    create(&desc);
    hd_record_alloc(rec, at(1), 10, "A");
    test_map_fail_at = test_map_calls + 1;
    hd_record_resize(rec, at(1), &resize);
    assert_int_equal(resize.place, HD_NONE);
    hd_record_alloc(rec, at(1), 5, "B");           /* another thread's */
    assert_true(hd_record_resized(rec, &resize, at(2), 20, "A"));
    assert_snapshot(NULL, " A 20 1\n B 5 1\n");
    test_map_fail_at = test_map_calls + 1;
    hd_record_resize(rec, at(2), &resize);
    hd_record_not_resized(rec, &resize);
    assert_snapshot(NULL, " A 20 1\n B 5 1\n");
    assert_stats((hd_recorder_counters){ .live_bytes = 25, .live_blocks = 2, .peak_bytes = 25, .total_bytes = 35,
                                      .total_blocks = 3 });
    assert_true(hd_record_free(rec, at(1)) && hd_record_free(rec, at(2)));
    assert_snapshot(NULL, "");
}

static void callbacks_get_what_they_should_and_may_use_the_recorder(void **state) {
    callbacks c = { 0, 0, UINT32_MAX - 1, 0, { 0, 0, 0, 0 } };
    hd_recorder_desc desc = {
        .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = &c },
        .on_free = on_free, .clock = clock_now, .user = &c
    };
    hd_frame frame;
    (void)state;
    create(&desc);
    assert_true(hd_record_alloc(rec, at(1), 10, "T"));
    c.now = 5; /* the clock wrapped around */
    assert_true(hd_record_free(rec, at(1)));
    assert_int_equal(c.freed, 1);
    assert_int_equal(c.lifetime, 7);
    assert_int_equal(c.last.address, (uintptr_t)at(1));
    assert_int_equal(c.last.size, 10);
    assert_int_equal(c.last.time, UINT32_MAX - 1);
    frame = hd_contexts_frame(hd_recorder_contexts(rec), c.last.context);
    assert_int_equal(frame.kind, HD_FRAME_TYPE);
    assert_string_equal(frame.value, "T");
    frame = hd_contexts_frame(hd_recorder_contexts(rec), frame.parent);
    assert_int_equal(frame.kind, HD_FRAME_PC);
    assert_int_equal((uintptr_t)frame.value, 0x1f);
    assert_true(hd_record_alloc(rec, at(2), 20, "U"));
    c.now = 9;
    assert_true(hd_record_alloc(rec, at(2), 30, NULL));
    assert_int_equal(c.freed, 2);
    assert_string_equal(hd_contexts_frame(hd_recorder_contexts(rec), c.last.context).value, "U");
    assert_int_equal(c.lifetime, 4);
    assert_int_equal(c.last.size, 20);
    assert_int_equal(c.unwound, 3);
    assert_false(hd_record_free(rec, at(7)));
    assert_int_equal(c.freed, 2);
    /* three snapshots, three allocation times, and two frees, each with a clock reading and a callback */
    assert_stats((hd_recorder_counters){ .live_bytes = 30, .live_blocks = 1, .peak_bytes = 30, .total_bytes = 60,
                                      .total_blocks = 3, .replaced = 1, .unknown_frees = 1,
                                      .ignored = 4 * (3 + 3 + 2 + 2) });
}

/* Random calls against a model, for few shards and many. */
typedef struct block { bool live; char path[64]; const char *type; uint64_t size; } block;

static void random_recordings_give_exact_figures_and_snapshots(void **state) {
    static const uint32_t shards[] = { 1, 0, 256 };
    static const char twin[] = "Same"; /* an equal name at another address is the same type */
    static const char *const types[] = { "T", "U", "Same", twin, NULL }, *const names[] = { "a", "b", "c" };
    enum { BLOCKS = 1000, DEEP = 6 };
    (void)state;
    for (size_t s = 0; s < COUNT(shards); s++) {
        hd_recorder_desc desc = { .shards = shards[s] };
        hd_recorder_counters sum = { .live_bytes = 0 };
        block *blocks = calloc(BLOCKS, sizeof *blocks);
        hd_scope open[DEEP];
        char path[64] = "";
        unsigned depth = 0;
        uint64_t random = s;
        create(&desc);
        for (uint32_t step = 1; step <= 30000; step++) {
            uint64_t i = hd__test_below(&random, BLOCKS), size = hd__test_below(&random, 1000);
            block *b = &blocks[i];
            const char *type = types[hd__test_below(&random, COUNT(types))];
            switch (hd__test_below(&random, 8)) {
            case 0:
                if (depth == DEEP) break;
                open[depth++] = hd_scope_begin(&any, names[i % 3]);
                strcat(strcat(path, "/"), names[i % 3]);
                break;
            case 1:
                if (!depth) break;
                hd_scope_end(&open[--depth]);
                *strrchr(path, '/') = 0;
                break;
            case 2:
                assert_int_equal(hd_record_set_type(rec, at(i + 1), type), b->live);
                b->type = type;
                break;
            case 3: case 4: case 5: /* sometimes over a block with a missed free */
                if (b->live && i % 8) break;
                assert_true(hd_record_alloc(rec, at(i + 1), size, type));
                sum.live_bytes += size - (b->live ? b->size : 0);
                sum.live_blocks += !b->live;
                sum.replaced += b->live;
                sum.total_bytes += size;
                sum.total_blocks++;
                b->live = true;
                b->type = type;
                b->size = size;
                strcpy(b->path, path);
                break;
            default:
                assert_int_equal(hd_record_free(rec, at(i + 1)), b->live);
                sum.unknown_frees += !b->live;
                sum.live_bytes -= b->live ? b->size : 0;
                sum.live_blocks -= b->live;
                b->live = false;
            }
            if (sum.live_bytes > sum.peak_bytes) sum.peak_bytes = sum.live_bytes;
            assert_int_equal(hd_recorder_live_bytes(rec), sum.live_bytes);
            assert_int_equal(hd_recorder_peak_bytes(rec), sum.peak_bytes);
            if (step % 10000 == 0) {
                hd_recorder_counters stats;
                row *rows = calloc(BLOCKS, sizeof *rows);
                char *text;
                size_t n = 0;
                for (block *l = blocks; l < blocks + BLOCKS; l++) {
                    if (!l->live) continue;
                    snprintf(rows[n].name, sizeof rows[n].name, "%s %s", l->path, l->type ? l->type : "[unknown]");
                    rows[n].bytes = l->size;
                    rows[n++].blocks = 1;
                }
                text = text_of(rows, n);
                assert_snapshot(NULL, text);
                free(text);
                assert_stats(sum);
                hd_recorder_stats(rec, &stats);
                assert_int_equal(stats.memory.reserved, test_mapped);
            }
        }
        free(blocks);
        hd_recorder_free(rec);
        rec = NULL;
    }
}

/* ---- creation, sharing, running out */

static void recorders_join_a_running_tracker_and_share_its_contexts(void **state) {
    hd_contexts *contexts = hd_contexts_create(NULL), *others = hd_contexts_create(NULL);
    hd_tracker_desc tracker = { .contexts = contexts };
    hd_recorder_desc same = { .tracker = tracker }, other = { .tracker = { .contexts = others } };
    hd_recorder *second;
    hd_allocation a, b;
    hd_error err;
    (void)state;
    assert_int_equal(hd_tracker_start(&tracker, NULL), HD_OK);
    create(NULL);
    second = hd_recorder_create(&same, NULL);
    assert_non_null(second);
    assert_null(hd_recorder_create(&other, &err));
    assert_int_equal(err.status, HD_INVALID);
    assert_ptr_equal(hd_recorder_contexts(rec), contexts);
    assert_ptr_equal(hd_recorder_contexts(second), contexts);
    {
        HD_SCOPE("any", "a");
        hd_record_alloc(rec, at(1), 1, "T");
        hd_record_alloc(second, at(1), 2, "T");
    }
    hd_recorder_visit(rec, keep_visited, &a);
    hd_recorder_visit(second, keep_visited, &b);
    assert_true(a.context != 0 && a.context == b.context && a.size == 1 && b.size == 2);
    hd_recorder_free(second);
    hd_recorder_free(rec);
    assert_true(hd_tracker_running());
    hd_tracker_stop();
    create(&other); /* starts the tracker with contexts that the tracker does not own */
    assert_true(hd_tracker_running());
    hd_recorder_free(rec);
    rec = NULL;
    assert_false(hd_tracker_running());
    assert_int_equal(hd_contexts_count(others), 1);
    hd_contexts_free(contexts);
    hd_contexts_free(others);
}

static void creating_says_what_is_wrong_and_leaves_nothing(void **state) {
    static const uint32_t wrong[] = { 3, 255, 257, 512, UINT32_MAX }, right[] = { 1, 2, 256 };
    (void)state;
    for (size_t i = 0; i < COUNT(wrong) + 2; i++) {
        hd_recorder_desc desc = { .shards = i < COUNT(wrong) ? wrong[i] : 0 };
        hd_error err;
        memset(&err, 0, sizeof err);
        if (i == COUNT(wrong)) desc.tracker.capture = HD_CAPTURE_NATIVE_STACK; /* without an unwinder */
        if (i == COUNT(wrong) + 1) desc.tracker.max_frames = HD_MAX_FRAMES + 1;
        assert_null(hd_recorder_create(&desc, &err));
        assert_int_equal(err.status, HD_INVALID);
        assert_false(hd_tracker_running());
        assert_int_equal(test_mapped, 0);
    }
    for (size_t i = 0; i < COUNT(right); i++) {
        hd_recorder_desc desc = { .shards = right[i] };
        create(&desc);
        hd_recorder_free(rec);
        rec = NULL;
    }
}

static void creating_fails_whole_when_the_os_gives_no_memory(void **state) {
    (void)state;
    for (test_map_fail_at = 1; !rec; test_map_fail_at++) {
        hd_error err;
        memset(&err, 0, sizeof err);
        test_map_calls = 0;
        rec = hd_recorder_create(NULL, &err);
        assert_int_equal(err.status, rec ? HD_OK : HD_OUT_OF_MEMORY);
        assert_int_equal(hd_tracker_running(), rec != NULL);
        if (!rec) assert_int_equal(test_mapped, 0);
    }
    assert_int_equal(test_map_calls, 1 + 16 + 3 + 1); /* the recorder, shards, contexts, view data */
}

static void allocations_without_memory_to_record_them_are_counted_as_lost(void **state) {
    hd_recorder_desc desc = { .shards = 1 };
    uint64_t lost = 0;
    (void)state;
    create(&desc);
    for (uint64_t i = 1; i <= 100000; i++) {
        test_map_fail_at = test_map_calls + 1; /* every request fails once, and succeeds when repeated */
        if (hd_record_alloc(rec, at(i), 1, "T")) continue;
        lost++;
        assert_true(hd_record_alloc(rec, at(i), 1, "T"));
    }
    assert_in_range(lost, 1, 20);
    assert_stats((hd_recorder_counters){ .live_bytes = 100000, .live_blocks = 100000, .peak_bytes = 100000,
                                      .total_bytes = 100000, .total_blocks = 100000, .lost = lost });
}

/* With several threads, shards report live bytes in large portions. */
static void a_peak_of_threads_has_the_block_whose_free_ends_it(void **state) {
    static const hd_snapshot_options at_peak = { .kind = HD_HEAP_PEAK };
    hd_profile *profile;
    uint64_t large = 500000000;
    (void)state;
    test_alone = false;
    create(NULL);
    for (uint64_t i = 1; i <= 100; i++) hd_record_alloc(rec, at(i), 10000, "Small");
    for (int times = 0; times < 3; times++) {
        hd_record_alloc(rec, at(200), (size_t)large, "Large");
        hd_record_set_type(rec, at(200), "Other");
        hd_record_free(rec, at(200));
        for (uint64_t i = 1; i <= 50; i++) hd_record_free(rec, at(i));
        assert_int_equal(hd_recorder_peak_bytes(rec), large + 100 * 10000);
        assert_int_equal(hd_recorder_snapshot(rec, &at_peak, &profile, NULL), HD_OK);
        assert_int_equal(hd_profile_bytes(profile), large + 100 * 10000);
        assert_int_equal(hd_profile_blocks(profile), 101);
        hd_profile_free(profile);
        for (uint64_t i = 1; i <= 50; i++) hd_record_alloc(rec, at(i), 10000, "Small");
        large += 1000000;
    }
}

/* ---- snapshots */

/* n blocks with 27 paths and four types. */
static void record_some(uint64_t n) {
    static const char *const names[] = { "a", "b", "c" }, *const types[] = { "T", "U", "V", NULL };
    for (uint64_t i = 0; i < n; i++) {
        hd_scope outer = hd_scope_begin(&any, names[i % 3]), middle = hd_scope_begin(&any, names[i / 3 % 3]);
        hd_scope inner = hd_scope_begin(&any, names[i / 9 % 3]);
        hd_record_alloc(rec, at(i + 1), i, types[i % 4]);
        hd_scope_end(&inner);
        hd_scope_end(&middle);
        hd_scope_end(&outer);
    }
}

static hd_str pc_name(void *user, const void *pc, char *buffer, size_t capacity) {
    ++*(unsigned *)user;
    assert_true(capacity >= 64);
    strcpy(buffer, (uintptr_t)pc == 0x20 ? "main" : "work");
    return hd_cstr(buffer);
}

static hd_str type_name(void *user, const hd_contexts *contexts, uint32_t context, char *buffer, size_t capacity) {
    ++*(unsigned *)user;
    assert_ptr_equal(contexts, hd_recorder_contexts(rec));
    assert_int_equal((uintptr_t)hd_contexts_frame(contexts, context).value, 0x1f);
    assert_true(capacity >= 64);
    (void)buffer;
    return hd_cstr("guessed");
}

static void frames_and_types_are_named_by_the_callbacks(void **state) {
    hd_recorder_desc desc = { .tracker = { .capture = HD_CAPTURE_MIXED_STACK, .unwind = unwind } };
    hd_snapshot_options options;
    unsigned asked = 0;
    (void)state;
    create(&desc);
    hd_record_alloc(rec, at(1), 1, NULL);
    hd_record_alloc(rec, at(2), 2, "T");
    {
        HD_SCOPE("any", "a");
        hd_record_alloc(rec, at(3), 4, "T");
    }
    assert_snapshot(NULL, "/0x20/0x1f T 2 1\n/0x20/0x1f [unknown] 1 1\n/a/0x20/0x1f T 4 1\n");
    memset(&options, 0, sizeof options);
    options.user = &asked;
    options.pc_name = pc_name;
    assert_snapshot(&options, "/a/main/work T 4 1\n/main/work T 2 1\n/main/work [unknown] 1 1\n");
    assert_int_equal(asked, 4);
    options.pc_name = NULL;
    options.type_name = type_name;
    assert_snapshot(&options, "/0x20/0x1f T 2 1\n/0x20/0x1f guessed 1 1\n/a/0x20/0x1f T 4 1\n");
    assert_int_equal(asked, 5);
}

static void a_cut_stack_is_named_so(void **state) {
    hd_recorder_desc desc = { .tracker = { .max_frames = 1 } };
    (void)state;
    create(&desc);
    HD_SCOPE("any", "a");
    HD_SCOPE("any", "b");
    hd_record_alloc(rec, at(1), 1, "T");
    assert_snapshot(NULL, "/a/<truncated> T 1 1\n");
}

static void a_snapshot_without_memory_fails_whole(void **state) {
    hd_snapshot_options options;
    hd__faults f;
    uint64_t rounds = 0;
    (void)state;
    create(NULL);
    record_some(300);
    memset(&options, 0, sizeof options);
    memset(&f, 0, sizeof f);
    options.options.allocator = hd__faults_allocator(&f);
    HD__EACH_FAULT(f) {
        hd_profile *profile = (hd_profile *)&f;
        hd_error err;
        hd_status status;
        memset(&err, 0, sizeof err);
        status = hd_recorder_snapshot(rec, &options, &profile, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        if (status) assert_ptr_equal(profile, &f);
        else hd_profile_free(profile);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
        rounds++;
    }
    assert_true(rounds > 20);
    assert_int_equal(hd_recorder_live_bytes(rec), 300 * 299 / 2);
}

static void add_visited(void *user, const hd_allocation *live) {
    uint64_t *sum = user;
    sum[0]++;
    sum[1] += live->size;
    sum[2] += live->address;
}

static void a_visit_sees_each_live_block_once(void **state) {
    static char blocks[100];
    uint64_t sum[3] = { 0, 0, 0 }, expected = 0;
    (void)state;
    create(NULL);
    hd_recorder_visit(rec, add_visited, sum);
    assert_int_equal(sum[0], 0);
    for (size_t i = 0; i < 100; i++) assert_true(hd_record_alloc(rec, blocks + i, 7 * i, NULL));
    for (size_t i = 0; i < 100; i += 3) assert_true(hd_record_free(rec, blocks + i));
    for (size_t i = 0; i < 100; i++) expected += i % 3 ? (uint64_t)(uintptr_t)(blocks + i) : 0;
    hd_recorder_visit(rec, add_visited, sum);
    assert_int_equal(sum[0], 66);
    assert_int_equal(sum[1], 7 * (99 * 100 / 2 - 33 * 34 / 2 * 3));
    assert_int_equal(sum[2], expected);
    assert_true(hd_record_free(rec, blocks + 1));  /* no shard is left locked */
}

static void a_visit_sees_blocks_whose_address_was_given_out_again(void **state) {
    uint64_t sum[3] = { 0, 0, 0 };
    hd_resize resize;
    (void)state;
    test_alone = false;
    create(NULL);
    hd_record_alloc(rec, at(1), 10, "A");
    hd_record_resize(rec, at(1), &resize);
    hd_record_alloc(rec, at(1), 5, "B");           /* another thread's, during the realloc */
    hd_recorder_visit(rec, add_visited, sum);
    assert_true(sum[0] == 2 && sum[1] == 15);
    hd_record_not_resized(rec, &resize);
}

static void a_snapshot_stays_within_its_limits(void **state) {
    hd_snapshot_options options;
    hd__faults f;
    uint64_t refused = 0;
    (void)state;
    create(NULL);
    record_some(300);
    for (uint64_t limit = 64;; limit += limit / 16) {
        hd_profile *profile;
        hd_error err;
        hd_status status;
        memset(&f, 0, sizeof f);
        memset(&err, 0, sizeof err);
        memset(&options, 0, sizeof options);
        options.options.allocator = hd__faults_allocator(&f);
        options.options.limits.max_memory = limit;
        status = hd_recorder_snapshot(rec, &options, &profile, &err);
        assert_int_equal(status, err.status);
        assert_true(f.peak <= limit);
        if (status == HD_OK) {
            hd_profile_free(profile);
            break;
        }
        assert_int_equal(status, HD_LIMIT);
        assert_int_equal(f.live, 0);
        refused++;
    }
    assert_true(refused > 20);
    memset(&options, 0, sizeof options);
    for (uint64_t records = 1; records < 110; records++) { /* 27 paths of 4 types, 39 nodes */
        hd_profile *profile;
        hd_status status;
        options.options.limits.max_records = records;
        status = hd_recorder_snapshot(rec, &options, &profile, NULL);
        assert_int_equal(status, records < 108 ? HD_LIMIT : HD_OK);
        if (!status) hd_profile_free(profile);
    }
}

/* `user`: number of calls before it cancels; the next element gets the last `done`. */
static bool progress(void *user, uint64_t done, uint64_t total) {
    uint64_t *left = user;
    assert_true(done <= total && done >= left[1]);
    left[1] = done;
    return left[0]-- > 0;
}

static void a_snapshot_stops_when_progress_says_so(void **state) {
    hd_snapshot_options options;
    hd__faults f;
    (void)state;
    create(NULL);
    record_some(10);
    for (uint32_t i = 1, child; i <= 10000; i++)
        hd_contexts_child(hd_recorder_contexts(rec), 0, HD_FRAME_PC, (void *)(uintptr_t)i, &child);
    memset(&f, 0, sizeof f);
    memset(&options, 0, sizeof options);
    options.options.allocator = hd__faults_allocator(&f);
    options.options.progress = progress;
    for (uint64_t calls = 0;; calls++) {
        uint64_t left[2] = { calls, 0 };
        hd_profile *profile = NULL;
        hd_error err;
        hd_status status;
        options.options.progress_user = left;
        status = hd_recorder_snapshot(rec, &options, &profile, &err);
        if (!status) {
            assert_true(calls >= 3);
            hd_profile_free(profile);
            break;
        }
        assert_int_equal(status, HD_CANCELLED);
        assert_int_equal(err.status, HD_CANCELLED);
        assert_null(profile);
        assert_int_equal(f.live, 0);
    }
    assert_int_equal(f.live, 0);
}

/* An allocator: during its n-th request another thread records new types. */
static char new_types[500][8];
static void *record_new_types(void *argument) {
    for (uint64_t i = 0; i < COUNT(new_types); i++) {
        sprintf(new_types[i], "%u", (unsigned)i);
        hd_record_alloc(rec, at(1000 + i), 1, new_types[i]);
    }
    return argument;
}

static void *allocate_meanwhile(void *user, void *memory, size_t old_size, size_t size) {
    unsigned *left = user;
    pthread_t other;
    (void)old_size;
    if (size && *left && !--*left) {
        assert_int_equal(pthread_create(&other, NULL, record_new_types, NULL), 0);
        pthread_join(other, NULL);
    }
    if (size) return realloc(memory, size);
    free(memory);
    return NULL;
}

static void contexts_made_during_a_snapshot_do_not_disturb_it(void **state) {
    uint64_t whole = 0;
    (void)state;
    for (unsigned n = 1;; n++) {
        hd_snapshot_options options;
        hd_profile *profile;
        hd_rows cells;
        unsigned left = n;
        uint64_t blocks = 0;
        create(NULL);
        record_some(10);
        memset(&options, 0, sizeof options);
        options.options.allocator.allocate = allocate_meanwhile;
        options.options.allocator.user = &left;
        assert_int_equal(hd_recorder_snapshot(rec, &options, &profile, NULL), HD_OK);
        cells = hd_profile_cells(profile);
        for (uint32_t i = 0; i < cells.count; i++) blocks += cells.amount[i].blocks;
        hd_profile_free(profile);
        hd_recorder_free(rec);
        rec = NULL;
        if (left) break;
        whole += blocks == 10 + COUNT(new_types);
        if (blocks != 10 && blocks != 10 + COUNT(new_types)) fail_msg("request %u: part of it", n);
    }
    assert_true(whole > 3);
}

static void sums_that_pass_64_bits_are_an_overflow(void **state) {
    hd_profile *profile;
    (void)state;
    create(NULL);
    hd_record_alloc(rec, at(1), SIZE_MAX / 2, "T");
    hd_record_alloc(rec, at(2), SIZE_MAX / 2, "T");
    assert_snapshot(NULL, " T 18446744073709551614 2\n");
    for (int i = 0; i < 2; i++) { /* in another cell, then in the same */
        hd_record_alloc(rec, at(3), 100, i ? "T" : "U");
        assert_int_equal(hd_recorder_snapshot(rec, NULL, &profile, NULL), HD_OVERFLOW);
    }
}

/* ---- signals, forks, threads */

static void handler(int signal_number) {
    hd_scope scope = hd_scope_begin(&any, "handler");
    (void)signal_number;
    hd_record_alloc(rec, at(1000), 1, "handled");
    hd_record_free(rec, at(1000));
    hd_scope_end(&scope);
}

static void a_recording_becomes_a_file_that_is_read_back(void **state) {
    char path[] = "/tmp/heapdump-test-XXXXXX.json";
    hd_error err = { 0 };
    hd_dump *dump;
    hd_recorder *recorder = hd_recorder_create(NULL, NULL);
    int fd = mkstemps(path, 5);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    {
        HD_SCOPE("test", "Load");
        hd_record_alloc(recorder, (void *)4096, 100, "Texture");
        hd_record_alloc(recorder, (void *)8192, 20, "Mesh");
    }
    hd_record_free(recorder, (void *)8192);
    assert_int_equal(hd_recorder_write(recorder, path, NULL, &err), HD_OK);
    assert_int_equal(hd_read_file(path, NULL, &dump, &err), HD_OK);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    assert_int_equal(hd_dump_heap(dump, 0)->pid, getpid());
    const hd_profile *p = hd_dump_heap(dump, 0)->profile;
    assert_int_equal(hd_profile_bytes(p), 100);
    assert_int_equal(hd_profile_blocks(p), 1);
    assert_int_equal(hd_axis_child(hd_profile_axis(p, HD_AXIS_TYPE), 0, hd_cstr("Mesh")), HD_NONE);
    assert_int_not_equal(hd_axis_child(hd_profile_axis(p, HD_AXIS_TYPE), 0, hd_cstr("Texture")), HD_NONE);
    hd_dump_free(dump);
    assert_int_equal(hd_recorder_write(recorder, "no/such/directory", NULL, &err), HD_IO);
    assert_non_null(strstr(err.message, "no/such/directory"));
    assert_int_equal(hd_recorder_write(recorder, "/dev/full", NULL, &err), HD_IO);
    assert_non_null(strstr(err.message, strerror(ENOSPC)));
    assert_int_equal(hd_recorder_write(NULL, path, NULL, &err), HD_INVALID);
    unlink(path);
    hd_recorder_free(recorder);
}

/* A handler that allocates runs inside each lock of each call in turn. */
static void a_signal_inside_a_lock_waits_for_nothing(void **state) {
    (void)state;
    test_alone = false;
    signal(SIGUSR1, handler);
    for (int call = 0; call < 6; call++)
        for (unsigned lock = 1;; lock++) {
            hd_recorder_counters stats;
            hd_profile *profile;
            create(NULL); /* no context is known yet */
            test_locks.raise_at = lock;
            hd_record_alloc(rec, at(1), 1, "T");
            if (call == 1) hd_record_free(rec, at(1));
            if (call == 2) hd_record_set_type(rec, at(1), "U");
            if (call == 3) hd_recorder_stats(rec, &stats);
            if (call == 4 && !hd_recorder_snapshot(rec, NULL, &profile, NULL)) hd_profile_free(profile);
            if (call == 5) hd_recorder_fork_prepare(rec);
            if (call == 5) hd_recorder_fork_parent(rec);
            if (test_locks.deadlocks) fail_msg("call %d, lock %u: a signal handler waits for ever", call, lock);
            assert_int_equal(test_locks.n, 0);
            assert_int_equal(hd_recorder_live_bytes(rec), call != 1);
            hd_recorder_free(rec);
            rec = NULL;
            if (test_locks.raise_at) {
                assert_true(lock > 1);
                test_locks.raise_at = 0;
                break;
            }
        }
}

/* A fork takes the locks of one recorder, then the locks of the next. No other call holds two locks, so no thread
   waits in the opposite order. */
static void two_recorders_can_fork_together(void **state) {
    hd_recorder *second;
    hd_recorder_counters stats;
    hd_profile *profile;
    (void)state;
    test_alone = false;
    create(NULL);
    second = hd_recorder_create(NULL, NULL);
    record_some(30);
    assert_true(hd_record_set_type(rec, at(1), "late"));
    hd_record_alloc(rec, at(1), 1, "again");
    hd_record_free(rec, at(1));
    hd_recorder_stats(rec, &stats);
    assert_int_equal(hd_recorder_snapshot(rec, NULL, &profile, NULL), HD_OK);
    hd_profile_free(profile);
    assert_int_equal(test_locks.most, 1);
    hd_recorder_fork_prepare(second); /* pthread_atfork: the last registered recorder prepares first */
    hd_recorder_fork_prepare(rec);
    hd_recorder_fork_parent(rec);
    hd_recorder_fork_parent(second);
    assert_true(hd_record_alloc(rec, at(1), 1, "T"));
    assert_true(hd_record_alloc(second, at(1), 1, "U"));
    hd_recorder_free(second);
}

/* Runs in a child: returns 0 if the recorder's figures agree with each other and with its next calls. */
static int check_child(void) {
    hd_recorder_counters before, stats;
    hd_profile *profile;
    hd_rows cells;
    hd_recorder_stats(rec, &before);
    {
        HD_SCOPE("any", "child");
        for (uint64_t i = 1; i <= 100; i++)
            if (!hd_record_alloc(rec, at(1000000 + i), i, "child")) return 1;
    }
    for (uint64_t i = 1; i <= 50; i++)
        if (!hd_record_free(rec, at(1000000 + i))) return 2;
    hd_recorder_stats(rec, &stats);
    if (stats.live_blocks != before.live_blocks + 50 || stats.ignored != before.ignored) return 3;
    if (hd_recorder_snapshot(rec, NULL, &profile, NULL)) return 4;
    cells = hd_profile_cells(profile);
    for (uint32_t i = 0; i < cells.count; i++) stats.live_bytes -= cells.amount[i].bytes, stats.live_blocks -= cells.amount[i].blocks;
    hd_profile_free(profile);
    return stats.live_bytes ? 5 : stats.live_blocks ? 6 : 0;
}

/* The result of check_child in a child; -1 if the child ended otherwise. */
static int fork_and_check(void) {
    int status;
    pid_t child;
    hd_recorder_fork_prepare(rec);
    child = fork();
    if (!child) {
        hd_recorder_fork_child(rec);
        _exit(check_child());
    }
    hd_recorder_fork_parent(rec);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Memory for sites is mapped while another thread asks for its size: a test for ThreadSanitizer. */
static void figures_may_be_asked_for_while_memory_is_made(void **state) {
    hd_recorder_counters c = { 0 };
    pthread_t other;
    (void)state;
    for (int i = 0; i < 20; i++) {
        create(NULL);
        assert_int_equal(pthread_create(&other, NULL, record_new_types, NULL), 0);
        do hd_recorder_stats(rec, &c);
        while (c.total_blocks < COUNT(new_types));
        pthread_join(other, NULL);
        hd_recorder_stats(rec, &c);
        assert_int_equal(c.live_blocks, COUNT(new_types));
        hd_recorder_free(rec);
        rec = NULL;
    }
}

static uint32_t stop;
static void *record_until_stopped(void *argument) {
    uint64_t n = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        HD_SCOPE("any", "other");
        hd_record_alloc(rec, at(1 + n % 64), 8, "other");
        if (n++ % 2) hd_record_free(rec, at(1 + n * 7 % 64));
    }
    return argument;
}

#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN skip() /* ThreadSanitizer cannot follow a process with several threads into a child */
#else
#define SKIP_UNDER_TSAN
#endif

static void child_and_parent_go_on_while_another_thread_records(void **state) {
    pthread_t other;
    uint64_t live = 0;
    int result = 0;
    (void)state;
    SKIP_UNDER_TSAN;
    create(NULL);
    stop = 0;
    assert_int_equal(pthread_create(&other, NULL, record_until_stopped, NULL), 0);
    for (uint64_t i = 1; i <= 100 && !result; i++) {
        hd_record_alloc(rec, at(1000 + i), i, "mine");
        if (i % 3 == 0) hd_record_free(rec, at(1000 + i));
        result = fork_and_check();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    assert_int_equal(result, 0);
    for (uint64_t i = 1; i <= 64; i++) hd_record_free(rec, at(i));
    for (uint64_t i = 1; i <= 100; i++) live += i % 3 ? i : 0;
    assert_int_equal(hd_recorder_live_bytes(rec), live);
}

static void *record_and_pause(void *free_it) {
    test_locks.pause = !free_it;
    hd_record_alloc(rec, at(1), 8, NULL);
    test_locks.pause = free_it != NULL;
    if (free_it) hd_record_free(rec, at(1));
    return NULL;
}

/* Another thread is just past a lock when the process forks; in the child that thread does not run. */
static void a_child_is_whole_wherever_other_threads_are(void **state) {
    static int free_it;
    (void)state;
    SKIP_UNDER_TSAN;
    sem_init(&test_paused, 0, 0);
    sem_init(&test_go_on, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        int result;
        create(NULL);
        assert_int_equal(pthread_create(&other, NULL, record_and_pause, i ? &free_it : NULL), 0);
        sem_wait(&test_paused);
        result = fork_and_check();
        sem_post(&test_go_on);
        pthread_join(other, NULL);
        assert_int_equal(result, 0);
        assert_int_equal(hd_recorder_live_bytes(rec), i ? 0 : 8);
        hd_recorder_free(rec);
        rec = NULL;
    }
}

/* Two blocks with a realloc that never ends. */
static void *resize_for_ever(void *resize) {
    hd_record_alloc(rec, at(3), 3, "C");
    hd_record_resize(rec, at(3), resize);
    hd_record_alloc(rec, at(4), 4, "D");
    hd_record_resize(rec, at(4), (hd_resize *)resize + 1);
    return NULL;
}

/* Ends the forking thread's reallocs in a child. Returns 0 if only their blocks leave the register. */
static int end_resizes(hd_resize *mine) {
    hd_recorder_counters before, after;
    hd_recorder_stats(rec, &before);
    if (!hd_record_resized(rec, &mine[0], at(10), 100, "A")) return 1;
    hd_record_not_resized(rec, &mine[1]);
    hd_recorder_stats(rec, &after);
    if (after.inherited_bytes != before.inherited_bytes - 10 || after.live_bytes != 100) return 2;
    for (uint64_t i = 1; i <= 2; i++)              /* the other thread's block, and the block of the failed realloc */
        if (!hd_record_free(rec, at(i))) return 3;
    if (!hd_record_free(rec, at(10))) return 4;
    for (uint64_t i = 3; i <= 4; i++) {            /* no realloc of another thread protects these addresses */
        if (!hd_record_alloc(rec, at(i), 1, NULL) || !hd_record_free(rec, at(i))) return 5;
    }
    hd_recorder_stats(rec, &after);
    return after.unknown_frees != before.unknown_frees || after.live_bytes || after.live_blocks ? 6 : 0;
}

/* A signal handler inside realloc forks, and the realloc ends in parent and child. */
static void a_fork_inside_a_realloc_keeps_the_reallocs_of_its_thread(void **state) {
    hd_recorder_desc desc = { .shards = 1 };
    hd_resize mine[2], others[2];
    int status;
    (void)state;
    SKIP_UNDER_TSAN;
    for (int first = 0; first < 2; first++) {      /* the places of the other thread come before, then after */
        pthread_t other;
        pid_t child;
        test_alone = false;
        create(&desc);
        if (first) assert_int_equal(pthread_create(&other, NULL, resize_for_ever, others), 0);
        if (first) pthread_join(other, NULL);
        hd_record_alloc(rec, at(1), 10, "A");
        hd_record_alloc(rec, at(2), 20, "A");
        for (uint64_t i = 0; i < 2; i++) hd_record_resize(rec, at(i + 1), &mine[i]);
        hd_record_alloc(rec, at(1), 5, "B");       /* another thread's block */
        if (!first) assert_int_equal(pthread_create(&other, NULL, resize_for_ever, others), 0);
        if (!first) pthread_join(other, NULL);
        hd_recorder_fork_prepare(rec);
        child = fork();
        if (!child) {
            hd_recorder_fork_child(rec);
            _exit(end_resizes(mine));
        }
        hd_recorder_fork_parent(rec);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(hd_record_resized(rec, &mine[0], at(10), 100, "A"));
        hd_record_not_resized(rec, &mine[1]);
        for (int i = 0; i < 2; i++) hd_record_not_resized(rec, &others[i]);
        assert_snapshot(NULL, " A 120 2\n B 5 1\n C 3 1\n D 4 1\n");
        hd_recorder_free(rec);
        rec = NULL;
    }
}

/* Any thread may take a block from a slot and free it. Thread 0 also takes snapshots. */
enum { THREADS = 8, SLOTS = 512 };
typedef struct shared_block { uint64_t size; } shared_block;
static shared_block *slots[SLOTS];
static uint64_t allocated, failures;

static void *record_at_random(void *argument) {
    static const char *const types[] = { "T", "U", "V", NULL };
    uint64_t random = (uintptr_t)argument, made = 0, bad = 0;
    for (int i = 0; i < 20000; i++) {
        hd_scope scope = hd_scope_begin(&any, types[i % 3]), inner = hd_scope_begin(&any, types[i / 3 % 3]);
        shared_block *fresh = NULL, *old;
        if (hd__test_below(&random, 2)) {
            uint64_t size = sizeof *fresh + hd__test_below(&random, 100);
            fresh = malloc(size);
            fresh->size = size;
            bad += !hd_record_alloc(rec, fresh, size, types[i % 4]);
            if (i % 16 == 0) bad += !hd_record_set_type(rec, fresh, "late");
            made++;
        }
        old = __atomic_exchange_n(&slots[hd__test_below(&random, SLOTS)], fresh, __ATOMIC_ACQ_REL);
        if (old) bad += !hd_record_free(rec, old);
        free(old);
        hd_scope_end(&inner);
        hd_scope_end(&scope);
        if (!argument && i % 200 == 0) {
            hd_recorder_counters stats;
            hd_profile *profile;
            hd_recorder_stats(rec, &stats);
            bad += stats.peak_bytes > (uint64_t)108 * (SLOTS + THREADS) || stats.ignored || stats.lost;
            bad += hd_recorder_snapshot(rec, NULL, &profile, NULL) != HD_OK;
            hd_profile_free(profile);
        }
    }
    __atomic_add_fetch(&allocated, made, __ATOMIC_RELAXED);
    __atomic_add_fetch(&failures, bad + hd_tracker_depth(), __ATOMIC_RELAXED);
    return NULL;
}

static void eight_threads_leave_exact_figures(void **state) {
    pthread_t threads[THREADS];
    hd_recorder_counters expected, stats;
    hd_profile *profile;
    hd_rows cells;
    uint64_t bytes = 0, blocks = 0;
    (void)state;
    create(NULL);
    memset(&expected, 0, sizeof expected);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_at_random, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    for (int i = 0; i < SLOTS; i++)
        if (slots[i]) expected.live_bytes += slots[i]->size, expected.live_blocks++;
    hd_recorder_stats(rec, &stats);
    expected.total_blocks = allocated;
    expected.total_bytes = stats.total_bytes; /* the threads did not count these two */
    expected.peak_bytes = stats.peak_bytes;
    assert_stats(expected);
    assert_in_range(stats.peak_bytes, stats.live_bytes, stats.total_bytes);
    assert_int_equal(hd_recorder_snapshot(rec, NULL, &profile, NULL), HD_OK);
    cells = hd_profile_cells(profile);
    for (uint32_t i = 0; i < cells.count; i++) bytes += cells.amount[i].bytes, blocks += cells.amount[i].blocks;
    hd_profile_free(profile);
    assert_int_equal(bytes, expected.live_bytes);
    assert_int_equal(blocks, expected.live_blocks);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i]) assert_true(hd_record_free(rec, slots[i]));
        free(slots[i]);
        slots[i] = NULL;
    }
    assert_int_equal(hd_recorder_live_bytes(rec), 0);
}

/* Threads end with open scopes, and record in the destructors of their keys. */
static pthread_key_t key;
static void record_at_exit(void *depth) {
    hd_record_alloc(rec, at(2), 2, "exit");
    hd_record_free(rec, at(1));
    *(uint32_t *)depth = hd_tracker_depth();
}

static void *end_in_a_scope(void *depth) {
    if (hd_tracker_depth()) return &key;
    hd_scope_begin(&any, "left");
    hd_record_alloc(rec, at(1), 1, "T");
    pthread_setspecific(key, depth);
    return NULL;
}

static void threads_may_end_anywhere(void **state) {
    (void)state;
    create(NULL);
    assert_int_equal(pthread_key_create(&key, record_at_exit), 0);
    for (int i = 0; i < 3; i++) { /* a thread may get the stack of the previous one */
        pthread_t thread;
        uint32_t depth = 0;
        void *failed;
        assert_int_equal(pthread_create(&thread, NULL, end_in_a_scope, &depth), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
        assert_int_equal(depth, 1);
        assert_snapshot(NULL, "/left exit 2 1\n");
        assert_true(hd_record_free(rec, at(2)));
    }
    pthread_key_delete(key);
    assert_stats((hd_recorder_counters){ .peak_bytes = 3, .total_bytes = 9, .total_blocks = 6 });
}

/* A recorder's numbers belong to its own contexts, whichever contexts the tracker uses later. */
static void a_tracker_restarted_with_other_contexts_does_no_harm(void **state) {
    hd_contexts *first = hd_contexts_create(NULL), *second = hd_contexts_create(NULL);
    hd_tracker_desc tracker = { .contexts = first };
    (void)state;
    assert_int_equal(hd_tracker_start(&tracker, NULL), HD_OK);
    create(NULL);
    hd_tracker_stop();
    tracker.contexts = second;
    for (uint32_t i = 1, child; i <= 100; i++) hd_contexts_child(second, 0, HD_FRAME_PC, (void *)(uintptr_t)i, &child);
    assert_int_equal(hd_tracker_start(&tracker, NULL), HD_OK);
    {
        HD_SCOPE("any", "a");
        assert_true(hd_record_alloc(rec, at(1), 1, NULL));
    }
    hd_tracker_stop();
    assert_true(hd_record_alloc(rec, at(2), 2, NULL));
    assert_snapshot(NULL, " [unknown] 3 2\n");
    hd_contexts_free(first);
    hd_contexts_free(second);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Reading returns the kind and the name of the process as written. */
static void kinds_and_names_of_recordings_are_read_back(void **state) {
    char path[] = "/tmp/heapdump-test-XXXXXX.json";
    hd_error err = { 0 };
    int fd = mkstemps(path, 5);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (int named = 0; named < 2; named++) {
        hd_recorder *engine = hd_recorder_create(&(hd_recorder_desc){ .name = named ? "engine" : NULL }, NULL);
        hd_record_alloc(engine, (void *)8192, 20, "Mesh");
        hd_record_alloc(engine, (void *)4096, 100, "Texture");
        hd_record_free(engine, (void *)4096);
        for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) {
            hd_dump *dump;
            hd_profile *own;
            hd_snapshot_options o = { .kind = (hd_heap_kind)kind };
            assert_int_equal(hd_recorder_snapshot(engine, &o, &own, NULL), HD_OK);
            assert_int_equal(hd_recorder_write(engine, path, &o, &err), HD_OK);
            assert_int_equal(hd_read_file(path, NULL, &dump, &err), HD_OK);
            const hd_heap *heap = hd_dump_heap(dump, 0);
            assert_int_equal(hd_dump_heap_count(dump), 1);
            assert_int_equal(heap->kind, kind);
            assert_int_equal(hd_profile_bytes(heap->profile), hd_profile_bytes(own));
            hd_profile_free(own);
            assert_string_equal(heap->allocator, "malloc");
            if (named) assert_string_equal(heap->process, "engine");
            else assert_null(heap->process);
            hd_dump_free(dump);
        }
        hd_recorder_free(engine);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(recording_follows_the_documents_flow),
        TEST(odd_calls_are_counted_and_harmless),
        TEST(a_suspended_thread_records_nothing),
        TEST(a_suspended_thread_records_nothing_in_leaf_calls),
        TEST(a_block_whose_realloc_failed_was_not_freed),
        TEST(a_block_that_is_resized_counts_all_the_time),
        TEST(an_address_is_given_out_again_while_its_block_is_resized),
        TEST(callbacks_get_what_they_should_and_may_use_the_recorder),
        TEST(random_recordings_give_exact_figures_and_snapshots),
        TEST(recorders_join_a_running_tracker_and_share_its_contexts),
        TEST(creating_says_what_is_wrong_and_leaves_nothing),
        TEST(creating_fails_whole_when_the_os_gives_no_memory),
        TEST(allocations_without_memory_to_record_them_are_counted_as_lost),
        TEST(frames_and_types_are_named_by_the_callbacks),
        TEST(a_cut_stack_is_named_so),
        TEST(a_snapshot_without_memory_fails_whole),
        TEST(a_visit_sees_each_live_block_once),
        TEST(a_visit_sees_blocks_whose_address_was_given_out_again),
        TEST(a_resize_without_a_place_removes_no_other_block),
        TEST(a_fork_inside_a_realloc_keeps_the_reallocs_of_its_thread),
        TEST(a_snapshot_stays_within_its_limits),
        TEST(a_snapshot_stops_when_progress_says_so),
        TEST(contexts_made_during_a_snapshot_do_not_disturb_it),
        TEST(sums_that_pass_64_bits_are_an_overflow),
        cmocka_unit_test(a_recording_becomes_a_file_that_is_read_back),
        cmocka_unit_test(kinds_and_names_of_recordings_are_read_back),
        TEST(a_signal_inside_a_lock_waits_for_nothing),
        TEST(two_recorders_can_fork_together),
        TEST(figures_may_be_asked_for_while_memory_is_made),
        TEST(child_and_parent_go_on_while_another_thread_records),
        TEST(a_child_is_whole_wherever_other_threads_are),
        TEST(eight_threads_leave_exact_figures),
        TEST(a_peak_of_threads_has_the_block_whose_free_ends_it),
        TEST(threads_may_end_anywhere),
        TEST(a_tracker_restarted_with_other_contexts_does_no_harm),
    };
    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
