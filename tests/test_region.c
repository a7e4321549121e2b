/* threads. Recorders in a region: another process, here another mapping of the memory, sees exactly the recorder's
   own figures. Tests kinds, forks, modules and lifetimes. With any bytes in the region, a view ends within its
   bounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "private.h"
#include "long.h"
#include "faults.h"

#define BYTES ((uint64_t)64 << 20)

static uint8_t *region, *seen;   /* one memory, mapped by the recorder and by an observer */
static hd_recorder *rec;
static uint32_t now;

static int setup(void **state) {
    int fd = (int)syscall(SYS_memfd_create, "region", 0);
    (void)state;
    if (fd < 0 || ftruncate(fd, (off_t)BYTES)) return -1;
    region = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    rec = NULL;
    return hd_region_init(region, BYTES, NULL);
}

static int teardown(void **state) {
    (void)state;
    hd_recorder_free(rec);
    munmap(region, BYTES);
    munmap(seen, BYTES);
    return 0;
}

/* An empty region of this size. */
static void begin_again(uint64_t bytes) {
    memset(region, 0, hd_region_used(region, BYTES));
    assert_int_equal(hd_region_init(region, bytes, NULL), HD_OK);
}

static uint32_t clock_of(void *user) {
    (void)user;
    return now;
}

static void create(const hd_recorder_desc *with) {
    hd_recorder_desc desc = with ? *with : (hd_recorder_desc){ .name = "test", .start_us = 7 };
    hd_error err;
    desc.region = region;
    desc.region_bytes = BYTES;
    rec = hd_recorder_create(&desc, &err);
    if (!rec) fail_msg("%s", err.message);
}

static void *at(uint64_t i) { return (void *)(uintptr_t)(i * 32); }

/* A profile as sorted text: "/outer/inner Type bytes blocks". */
static char *text_of(hd_profile *p) {
    hd_axis paths = hd_profile_axis(p, 0), types = hd_profile_axis(p, 1);
    hd_rows cells = hd_profile_cells(p);
    size_t room = 64 + cells.count * 2048u;
    char *text = calloc(1, room), *end = text;
    for (uint32_t i = 0; i < cells.count; i++) {
        hd_str name[HD_MAX_FRAMES];
        int depth = 0;
        for (uint32_t n = cells.node[2 * i]; n; n = paths.parent[n]) name[depth++] = paths.node_name[n];
        while (depth--) end += sprintf(end, "/%.*s", (int)name[depth].len, name[depth].data);
        end += sprintf(end, " %.*s %llu %llu\n", (int)types.node_name[cells.node[2 * i + 1]].len,
                       types.node_name[cells.node[2 * i + 1]].data, (unsigned long long)cells.amount[i].bytes,
                       (unsigned long long)cells.amount[i].blocks);
    }
    hd_profile_free(p);
    return text;
}

static char *own_text(hd_heap_kind kind) {
    hd_snapshot_options options = { .kind = kind };
    hd_profile *p;
    assert_int_equal(hd_recorder_snapshot(rec, &options, &p, NULL), HD_OK);
    return text_of(p);
}

static char *seen_text(uint32_t number, hd_heap_kind kind) {
    hd_snapshot_options options = { .kind = kind };
    hd_profile *p;
    hd_error err;
    if (hd_recorder_view_snapshot(seen, BYTES, number, &options, &p, &err)) fail_msg("%s", err.message);
    return text_of(p);
}

static void assert_seen(uint32_t number, hd_heap_kind kind, const char *expected) {
    char *text = seen_text(number, kind);
    assert_string_equal(text, expected);
    free(text);
}

static hd_recorded recorded(uint32_t number) {
    hd_recorded r;
    assert_int_equal(hd_recorder_view(seen, BYTES, number, &r, NULL), HD_OK);
    return r;
}

static void each_kind_is_seen(void **state) {
    (void)state;
    create(NULL);
    assert_int_equal(hd_region_count(seen, BYTES), 1);
    hd_record_alloc(rec, at(1), 100, "A");
    hd_record_alloc(rec, at(2), 50, "B");
    hd_record_free(rec, at(2));                    /* temporary; the peak of 150 bytes was before it */
    hd_record_alloc(rec, at(3), 10, "A");
    hd_record_free(rec, at(1));
    hd_record_alloc(rec, at(4), 1, "C");
    assert_seen(0, HD_HEAP_LIVE, " A 10 1\n C 1 1\n");
    assert_seen(0, HD_HEAP_PEAK, " A 100 1\n B 50 1\n");
    assert_seen(0, HD_HEAP_TOTAL, " A 110 2\n B 50 1\n C 1 1\n");
    assert_seen(0, HD_HEAP_TEMPORARY, " B 50 1\n");
    hd_recorded r = recorded(0);
    assert_string_equal(r.name, "test");
    assert_int_equal(r.start_us, 7);
    assert_int_equal(r.pid, getpid());
    assert_int_equal(r.parent, HD_NONE);
    assert_int_equal(r.under_way, 0);
    assert_int_equal(r.counters.live_bytes, 11);
    assert_int_equal(r.counters.live_blocks, 2);
    assert_int_equal(r.counters.peak_bytes, 150);
    assert_int_equal(r.counters.total_bytes, 161);
    assert_int_equal(r.counters.total_blocks, 4);
    assert_false(r.ended);
    hd_recorder_free(rec);
    rec = NULL;
    assert_true(recorded(0).ended);
    assert_seen(0, HD_HEAP_LIVE, " A 10 1\n C 1 1\n");
}

/* heaptrack's definition for one thread: freed before the next allocation. */
static void a_block_is_temporary_when_it_goes_before_the_next_comes(void **state) {
    hd_resize resize;
    (void)state;
    create(NULL);
    hd_record_alloc(rec, at(1), 8, "T");
    hd_record_alloc(rec, at(2), 8, "T");
    hd_record_free(rec, at(1));                    /* not the last allocation */
    hd_record_free(rec, at(2));                    /* still the last */
    hd_record_alloc(rec, at(3), 8, "U");
    hd_record_resize(rec, at(3), &resize);         /* a failed realloc: the block is live, and still the last */
    hd_record_not_resized(rec, &resize);
    hd_record_resize(rec, at(3), &resize);
    hd_record_resized(rec, &resize, at(4), 16, "U");
    assert_seen(0, HD_HEAP_TEMPORARY, " T 8 1\n U 8 1\n");
    assert_seen(0, HD_HEAP_LIVE, " U 16 1\n");
    assert_seen(0, HD_HEAP_TOTAL, " T 16 2\n U 24 2\n");
}

/* The peak by context, compared with a copy of the live bytes at every new maximum. */
static void the_peak_is_exact_with_one_thread(void **state) {
    enum { TYPES = 7, BLOCKS = 60 };
    static const char *const type[TYPES] = { "a", "b", "c", "d", "e", "f", "g" };
    (void)state;
    create(NULL);
    for (unsigned seed = 1; seed <= 200; seed++) {
        uint64_t size[BLOCKS] = { 0 }, live[TYPES] = { 0 }, peak[TYPES] = { 0 }, sum = 0, most = 0;
        unsigned random = seed;
        hd_recorder_free(rec);
        begin_again(BYTES);
        create(NULL);
        for (int i = 0; i < 400; i++) {
            unsigned b = (random = random * 1103515245 + 12345) >> 16;
            unsigned t = b % TYPES, k = b / TYPES % BLOCKS;
            t = k % TYPES;
            if (size[k]) {
                hd_record_free(rec, at(k + 1));
                live[t] -= size[k], sum -= size[k], size[k] = 0;
            } else {
                size[k] = 1 + b % 1000;
                hd_record_alloc(rec, at(k + 1), size[k], type[t]);
                live[t] += size[k], sum += size[k];
            }
            if (sum > most) most = sum, memcpy(peak, live, sizeof live);
        }
        hd_snapshot_options options = { .kind = HD_HEAP_PEAK };
        hd_profile *p;
        assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL), HD_OK);
        assert_int_equal(hd_profile_bytes(p), most);
        for (int t = 0; t < TYPES; t++) {
            uint32_t node = hd_axis_child(hd_profile_axis(p, 1), 0, hd_cstr(type[t]));
            uint64_t bytes = 0;
            hd_rows cells = hd_profile_cells(p);
            for (uint32_t i = 0; i < cells.count; i++)
                if (cells.node[2 * i + 1] == node) bytes += cells.amount[i].bytes;
            if (bytes != peak[t]) fail_msg("seed %u, %s: %llu, not %llu", seed, type[t], (unsigned long long)bytes,
                                           (unsigned long long)peak[t]);
        }
        hd_profile_free(p);
    }
}

static void *wait_until_unlocked(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* With several threads, the peak by context is exact except for bytes that shards have not reported. Sizes are small,
   so most bytes are pending, in entries that sites share. */
static void the_peak_has_pending_bytes(void **state) {
    enum { TYPES = 150, BLOCKS = 40000, SLACK = 2 * 16 * 4096 };
    static char type[TYPES][8];
    static uint16_t size[BLOCKS];
    static uint64_t live[TYPES], peak[TYPES], found[TYPES];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    uint64_t sum = 0, most = 0, off = 0;
    unsigned random = 1;
    (void)state;
    for (int t = 0; t < TYPES; t++) snprintf(type[t], sizeof type[t], "t%d", t);
    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&other, NULL, wait_until_unlocked, &lock), 0);
    create(NULL);
    for (unsigned i = 0; i < 4 * BLOCKS; i++) {
        unsigned b = (random = random * 1103515245 + 12345) >> 8, k = b % BLOCKS, t = k * k % TYPES % (1 + k % TYPES);
        bool falls = i > 2 * BLOCKS;
        if (size[k] && (falls || b % 8 == 0)) {
            hd_record_free(rec, at(k + 1));
            live[t] -= size[k], sum -= size[k], size[k] = 0;
        } else if (!size[k] && !falls) {
            size[k] = (uint16_t)(1 + b % 200);
            hd_record_alloc(rec, at(k + 1), size[k], type[t]);
            live[t] += size[k], sum += size[k];
        }
        if (sum > most) most = sum, memcpy(peak, live, sizeof live);
    }
    hd_snapshot_options options = { .kind = HD_HEAP_PEAK };
    hd_profile *p;
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL), HD_OK);
    assert_true(most > 20 * SLACK);
    assert_in_range(hd_profile_bytes(p) + SLACK, most, most + 2 * SLACK);
    hd_rows cells = hd_profile_cells(p);
    for (int t = 0; t < TYPES; t++) {
        uint32_t node = hd_axis_child(hd_profile_axis(p, 1), 0, hd_cstr(type[t]));
        for (uint32_t i = 0; i < cells.count; i++)
            if (cells.node[2 * i + 1] == node) found[t] += cells.amount[i].bytes;
        off += found[t] > peak[t] ? found[t] - peak[t] : peak[t] - found[t];
    }
    assert_in_range(off, 0, 2 * SLACK);
    hd_profile_free(p);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
}

/* Several threads, and more contexts than a shard can keep pending. */
enum { THREADS = 6, EACH = 30000, NAMES = 300 };
static char names[NAMES][8];

static void *churn(void *argument) {
    uint64_t base = (uint64_t)(uintptr_t)argument * 1000000;
    unsigned random = (unsigned)base + 1;
    for (unsigned i = 0; i < EACH; i++) {
        unsigned b = (random = random * 1103515245 + 12345) >> 8;
        /* changes the types of earlier blocks */
        if (i % 5 == 4) hd_record_set_type(rec, at(base + 1 + b % 5000), names[b / 5 % NAMES]);
        else if (b % 3) hd_record_alloc(rec, at(base + 1 + b % 5000), 1 + b % 999, names[b % NAMES]);
        else hd_record_free(rec, at(base + 1 + b % 5000));
    }
    return NULL;
}

static void add_live(void *user, const hd_allocation *live) {
    uint64_t (*sums)[2] = user;
    hd_frame f = hd_contexts_frame(hd_recorder_contexts(rec), live->context);
    size_t i = (size_t)((const char *)f.value - names[0]) / sizeof names[0];
    sums[i][0] += live->size;
    sums[i][1]++;
}

/* The counters, compared with the blocks. */
static void threads_leave_exact_figures(void **state) {
    static uint64_t sums[NAMES][2];
    pthread_t thread[THREADS];
    hd_profile *p;
    (void)state;
    for (int i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "t%d", i);
    create(NULL);
    for (uintptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, churn, (void *)t);
    for (int i = 0; i < 20; i++) {                 /* views during the recording */
        if (!hd_recorder_view_snapshot(seen, BYTES, 0, NULL, &p, NULL)) hd_profile_free(p);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    memset(sums, 0, sizeof sums);
    hd_recorder_visit(rec, add_live, sums);
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, NULL, &p, NULL), HD_OK);
    hd_rows cells = hd_profile_cells(p);
    hd_axis types = hd_profile_axis(p, 1);
    for (uint32_t i = 0; i < cells.count; i++) {
        int t = atoi(types.node_name[cells.node[2 * i + 1]].data + 1);
        assert_int_equal(cells.amount[i].bytes, sums[t][0]);
        assert_int_equal(cells.amount[i].blocks, sums[t][1]);
        sums[t][0] = sums[t][1] = 0;
    }
    for (int t = 0; t < NAMES; t++) assert_int_equal(sums[t][1], 0);
    hd_recorded r = recorded(0);
    assert_int_equal(r.counters.live_bytes, hd_profile_bytes(p));
    assert_int_equal(r.counters.live_blocks, hd_profile_blocks(p));
    hd_profile_free(p);
    hd_snapshot_options options = { .kind = HD_HEAP_TOTAL };
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL), HD_OK);
    assert_int_equal(hd_profile_bytes(p), r.counters.total_bytes);
    assert_int_equal(hd_profile_blocks(p), r.counters.total_blocks);
    hd_profile_free(p);
    char *own = own_text(HD_HEAP_LIVE), *other = seen_text(0, HD_HEAP_LIVE);
    assert_string_equal(own, other);
    free(own), free(other);
}

/* A child starts with empty figures, in contexts that it shares with its parent and in its own. */
static int be_child(int generation) {
    HD_SCOPE("any", "child");
    if (!hd_record_free(rec, at(1))) return 1;     /* the parent's block */
    if (!hd_record_alloc(rec, at(100), 7, "Kid")) return 2;
    if (!hd_record_alloc(rec, at(101), 1, "Kid") || !hd_record_free(rec, at(101))) return 3;
    hd_recorder_counters stats;
    hd_recorder_stats(rec, &stats);
    if (stats.live_bytes != 7 || stats.live_blocks != 1) return 4;
    if (stats.inherited_bytes != (generation ? 27 : 20) || stats.inherited_blocks != (generation ? 2 : 1)) return 5;
    return 0;
}

static void children_begin_records_of_their_own(void **state) {
    int status, grandchild;
    (void)state;
    create(NULL);
    {
        HD_SCOPE("any", "parent");
        hd_record_alloc(rec, at(1), 10, "Old");
        hd_record_alloc(rec, at(2), 20, "Old");
    }
    hd_recorder_fork_prepare(rec);
    pid_t child = fork();
    if (!child) {
        if (!hd_recorder_fork_child(rec)) _exit(99);
        status = be_child(0);
        if (status) _exit(status);
        if (!hd_record_alloc(rec, at(1), 10, "Old")) _exit(6);
        hd_recorder_fork_prepare(rec);
        if (!fork()) {
            if (!hd_recorder_fork_child(rec)) _exit(99);
            hd_record_free(rec, at(100));          /* its parent's block */
            hd_record_alloc(rec, at(100), 1, "Kid");
            hd_record_free(rec, at(100));
            _exit(0);
        }
        hd_recorder_fork_parent(rec);
        wait(&grandchild);
        _exit(grandchild ? 50 : 0);
    }
    hd_recorder_fork_parent(rec);
    {
        HD_SCOPE("any", "parent");
        HD_SCOPE("any", "later");                  /* a context that the child lacks */
        hd_record_alloc(rec, at(3), 1, "New");
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hd_region_count(seen, BYTES), 3);
    assert_seen(0, HD_HEAP_LIVE, "/parent Old 30 2\n/parent/later New 1 1\n");
    assert_seen(1, HD_HEAP_LIVE, "/child Kid 7 1\n Old 10 1\n");
    assert_seen(1, HD_HEAP_TEMPORARY, "/child Kid 1 1\n");
    assert_seen(2, HD_HEAP_TEMPORARY, " Kid 1 1\n");
    assert_int_equal(recorded(1).parent, 0);
    assert_int_equal(recorded(2).parent, 1);
    assert_int_equal(recorded(1).pid, child);
    assert_int_equal(recorded(1).counters.inherited_bytes, 20);
    assert_int_equal(recorded(2).counters.inherited_bytes, 20 + 10);
    assert_int_equal(recorded(2).counters.live_blocks, 0);
    assert_string_equal(recorded(2).name, "test");
}

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    const uintptr_t *stack = user;
    size_t n = 0;
    for (; stack[n] && n < capacity; n++) pcs[n] = (const void *)stack[n];
    return n;
}

static void count_modules(void *user, const hd_module *m, bool loaded) {
    unsigned *n = user;
    n[loaded]++;
    if (hd_str_equal(m->path, hd_cstr("/lib/b.so"))) {
        assert_int_equal(m->build_id_size, 3);
        assert_memory_equal(m->build_id, "\1\2\3", 3);
    }
}

static void program_counters_are_named_by_modules(void **state) {
    uintptr_t stack[4] = { 0x2011, 0x1101, 0 };
    hd_module program = { 0x1000, 0x2000, 0x800, hd_cstr("/bin/program"), { 0 }, 0, false };
    hd_module cxx = { 0x2000, 0x2100, 0x2000, hd_cstr("/lib/c++.so"), { 0 }, 0, true };
    hd_module b = { 0x5000, 0x6000, 0x5000, hd_cstr("/lib/b.so"), { 1, 2, 3 }, 3, false };
    unsigned n[2] = { 0, 0 };
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = stack } });
    assert_true(hd_recorder_add_module(rec, &program));
    assert_true(hd_recorder_add_module(rec, &cxx));
    hd_record_alloc(rec, at(1), 1, NULL);
    stack[0] = 0x5011;
    hd_record_alloc(rec, at(2), 2, NULL);          /* in no known module */
    assert_true(hd_recorder_add_module(rec, &b));
    stack[0] = 0x5021;
    hd_record_alloc(rec, at(3), 4, NULL);
    hd_recorder_remove_module(rec, 0x5000);
    b.path = hd_cstr("/lib/other.so");
    assert_true(hd_recorder_add_module(rec, &b));  /* at the place of b */
    stack[0] = 0x5031;
    hd_record_alloc(rec, at(4), 8, NULL);
    assert_seen(0, HD_HEAP_LIVE, "//bin/program+0x900//lib/c++.so+0x10 program 1 1\n"
                                 "//bin/program+0x900//lib/b.so+0x10 b.so 2 1\n"
                                 "//bin/program+0x900//lib/b.so+0x20 b.so 4 1\n"
                                 "//bin/program+0x900//lib/other.so+0x30 other.so 8 1\n");
    assert_int_equal(hd_recorder_view_modules(seen, BYTES, 0, count_modules, n, NULL), HD_OK);
    assert_int_equal(n[0], 1);
    assert_int_equal(n[1], 3);
}

static void transparent_modules_lie_in_others(void **state) {
    uintptr_t stack[4] = { 0x2011, 0x1101, 0 };
    hd_module program = { 0x1000, 0x2000, 0x800, hd_cstr("/bin/program"), { 0 }, 0, false };
    hd_module cxx = { 0x2000, 0x4000, 0x2000, hd_cstr("/lib/c++.so"), { 0 }, 0, false };
    hd_module inside = { 0x2100, 0x2200, 0x2000, hd_cstr("/lib/c++.so"), { 0 }, 0, true };
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = stack } });
    assert_true(hd_recorder_add_module(rec, &program));
    assert_true(hd_recorder_add_module(rec, &cxx));
    assert_true(hd_recorder_add_module(rec, &inside));
    for (uintptr_t i = 0; i < 3; i++) {
        stack[0] = 0x2011 + i * 0x100;
        hd_record_alloc(rec, at(1 + i), 1, NULL);
    }
    assert_seen(0, HD_HEAP_LIVE, "//bin/program+0x900//lib/c++.so+0x10 c++.so 1 1\n"
                                 "//bin/program+0x900//lib/c++.so+0x110 program 1 1\n"
                                 "//bin/program+0x900//lib/c++.so+0x210 c++.so 1 1\n");
}

/* 500 libraries are loaded at 7 places. Each frame is named by the library that was loaded at the time of its
   call. */
static void modules_are_found_by_address_and_time(void **state) {
    enum { PLACES = 7, TIMES = 500 };
    static char path[TIMES][16], want[TIMES][64];
    uintptr_t stack[2] = { 0, 0 };
    uint64_t loaded[PLACES] = { 0 };
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = stack } });
    for (unsigned i = 0; i < TIMES; i++) {
        unsigned place = i * 5 % PLACES;
        uint64_t start = 0x10000 + 0x1000 * place + 16 * (i % 3);
        hd_module m = { start, start + 0x800, start, { path[i], 0 }, { 0 }, 0, false };
        m.path.len = (size_t)snprintf(path[i], sizeof path[i], "/lib/%u.so", i);
        if (loaded[place]) hd_recorder_remove_module(rec, loaded[place]);
        loaded[place] = start;
        assert_true(hd_recorder_add_module(rec, &m));
        stack[0] = start + 0x101 + i;
        hd_record_alloc(rec, at(i + 1), i + 1, NULL);
        snprintf(want[i], sizeof want[i], "/%s+0x%x %u.so %u 1\n", path[i], 0x100 + i, i, i + 1);
    }
    hd_profile *p;
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, NULL, &p, NULL), HD_OK);
    char *text = text_of(p);
    for (unsigned i = 0; i < TIMES; i++)
        if (!strstr(text, want[i])) fail_msg("%s", want[i]);
    free(text);
}

/* Modules come and go at 64 places, as plugins do. A list of loaded modules gives the expected name of each frame. */
static void modules_are_found_among_many(void **state) {
    enum { PLACES = 64, STEPS = 2000 };
    static struct { char name[32], want[64]; } loaded[PLACES], step[STEPS];
    uintptr_t stack[2] = { 0, 0 };
    uint64_t random = 1;
    size_t found = 0;
    hd_snapshot_options options = { .kind = HD_HEAP_LIVE };
    hd_profile *p;
    hd_axis paths;
    memset(loaded, 0, sizeof loaded);
    memset(step, 0, sizeof step);
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = stack } });
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t place, offset;
        random = random * 6364136223846793005u + 1442695040888963407u;
        place = (random >> 33) % PLACES, offset = i; /* no address repeats */
        if (random >> 62) {
            hd_module m = { 0x10000 * (place + 1), 0x10000 * (place + 1) + 0x800, 0x10000 * (place + 1),
                            { NULL, 0 }, { 0 }, 0, false };
            if (*loaded[place].name) hd_recorder_remove_module(rec, (uintptr_t)m.start);
            snprintf(loaded[place].name, sizeof loaded[place].name, "/lib/%u.so", i);
            m.path = hd_cstr(loaded[place].name);
            if (random >> 61 & 1) assert_true(hd_recorder_add_module(rec, &m));
            else *loaded[place].name = 0;
        }
        stack[0] = (uintptr_t)(0x10000 * (place + 1) + offset + 1);
        if (!*loaded[place].name) continue; /* the place may get the name of the next module */
        snprintf(step[i].want, 64, "%s+0x%llx", loaded[place].name, (unsigned long long)offset);
        hd_record_alloc(rec, at(1 + i), 1, NULL);
    }
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL), HD_OK);
    paths = hd_profile_axis(p, 0);
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t n = 1;
        if (!*step[i].want) continue;
        while (n < paths.node_count && !hd_str_equal(paths.node_name[n], hd_cstr(step[i].want))) n++;
        if (n == paths.node_count) fail_msg("step %u: no frame is %s", i, step[i].want);
        found++;
    }
    assert_true(found > 500);
    hd_profile_free(p);
}

static size_t unwind_a_new_module(void *user, const void **pcs, size_t capacity) {
    hd_module late = { 0x7000, 0x8000, 0x7000, hd_cstr("/lib/late.so"), { 0 }, 0, false };
    (void)user, (void)capacity;
    assert_true(hd_recorder_add_module(rec, &late));
    pcs[0] = (const void *)(uintptr_t)0x7011;
    return 1;
}

static void unwinders_report_modules(void **state) {
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind_a_new_module } });
    hd_record_alloc(rec, at(1), 8, NULL);
    assert_seen(0, HD_HEAP_LIVE, "//lib/late.so+0x10 late.so 8 1\n");
}

static void notes_are_the_callers(void **state) {
    hd_recorded r;
    (void)state;
    create(NULL);
    for (uint32_t i = 0; i < 9; i++) hd_recorder_note(rec, i, 10 + i);
    hd_recorder_note(rec, 7, 1);
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(r.notes[i], 10 + i + (i == 7));
}

/* Pages as sorted text. */
enum { PAGES = 512 };
static uint64_t page[PAGES];
static size_t page_count;

static void take_page(void *user, uint64_t address) {
    (void)user;
    assert_true(page_count < PAGES);
    page[page_count++] = address;
}

static int by_address(const void *a, const void *b) {
    return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : 1;
}

static void assert_pages(uint32_t number, size_t count, const uint64_t *expected) {
    page_count = 0;
    assert_int_equal(hd_recorder_view_block_pages(seen, BYTES, number, take_page, NULL, NULL), HD_OK);
    qsort(page, page_count, sizeof *page, by_address);
    assert_int_equal(page_count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(page[i], expected[i]);
}

static void *in_page(uint64_t n, uint64_t offset) { return (void *)(uintptr_t)(n * 4096 + offset); }

static void pages_with_blocks_are_seen(void **state) {
    static const uint64_t some[] = { 5 * 4096, 9 * 4096, 0x700000000000 };
    (void)state;
    create(NULL);
    assert_pages(0, 0, NULL);
    hd_record_alloc(rec, in_page(5, 16), 100000, "A");
    hd_record_alloc(rec, in_page(5, 4080), 1, "A");
    hd_record_alloc(rec, in_page(9, 8), 1, "A");   /* no multiple of 16 */
    hd_record_alloc(rec, (void *)(uintptr_t)0x700000000000, 1, "A");
    assert_pages(0, 3, some);
    hd_record_free(rec, in_page(5, 16));
    assert_pages(0, 3, some);
}

/* An empty page stays listed until others become empty: up to 16 pages of each of 16 shards. */
static void pages_without_blocks_go(void **state) {
    (void)state;
    create(NULL);
    for (uint64_t i = 0; i < 2000; i++) hd_record_alloc(rec, in_page(40 * i + 1, 0), 1, "A");
    for (uint64_t i = 0; i < 2000; i++) hd_record_free(rec, in_page(40 * i + 1, 0));
    page_count = 0;
    assert_int_equal(hd_recorder_view_block_pages(seen, BYTES, 0, take_page, NULL, NULL), HD_OK);
    assert_in_range(page_count, 1, 256);
    hd_record_alloc(rec, in_page(7777777, 0), 1, "A"); /* reuses a row */
    page_count = 0;
    assert_int_equal(hd_recorder_view_block_pages(seen, BYTES, 0, take_page, NULL, NULL), HD_OK);
    qsort(page, page_count, sizeof *page, by_address);
    assert_int_equal(page[page_count - 1], (uint64_t)7777777 * 4096);
    assert_int_equal(hd_recorder_view_block_pages(seen, BYTES, 1, take_page, NULL, NULL), HD_INVALID);
}

static void pages_of_a_child(void **state) {
    static const uint64_t of_parent[] = { 4096, 3 * 4096 }, of_both[] = { 4096, 4096, 2 * 4096, 3 * 4096 };
    int status;
    (void)state;
    create(NULL);
    hd_record_alloc(rec, in_page(1, 0), 10, "A");
    hd_recorder_fork_prepare(rec);
    pid_t child = fork();
    if (!child) {
        if (!hd_recorder_fork_child(rec)) _exit(9);
        hd_record_alloc(rec, in_page(2, 0), 10, "A");  /* in a page where the parent has listed pages */
        _exit(0);
    }
    hd_recorder_fork_parent(rec);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hd_record_alloc(rec, in_page(3, 0), 10, "A");
    assert_pages(0, 2, of_parent);
    page_count = 0;
    assert_int_equal(hd_recorder_view_block_pages(seen, BYTES, 1, take_page, NULL, NULL), HD_OK);
    qsort(page, page_count, sizeof *page, by_address);
    assert_int_equal(page_count, 4);               /* its own row has everything that its register has */
    for (size_t i = 0; i < 4; i++) assert_int_equal(page[i], of_both[i]);
}

static void take_stat(void *user, const hd_allocator_stat *s) {
    char *text = user;
    sprintf(text + strlen(text), "%s %s %s %llu\n", s->allocator, s->name, s->units ? s->units : "-",
            (unsigned long long)s->value);
}

static void an_allocator_reports_its_values(void **state) {
    static hd_allocator_stat many[HD_ALLOCATOR_STATS + 1];
    static char called[HD_ALLOCATOR_STATS + 1][8];
    hd_allocator_stat some[] = { { "malloc/arenas", "size", "bytes", 100 }, { "malloc/arenas", "free", "bytes", 7 },
                                 { "malloc/classes/64", "count", NULL, 3 } };
    char text[2048] = "", long_name[400];
    (void)state;
    assert_false(hd_recorder_allocator_stats(NULL, some, 3));
    create(NULL);
    assert_true(hd_recorder_allocator_stats(rec, some, 3));
    some[1].value = 8;
    assert_true(hd_recorder_allocator_stats(rec, some + 1, 1));
    memset(long_name, 'x', sizeof long_name);
    long_name[399] = 0;
    some[0].allocator = some[0].name = some[0].units = long_name;
    assert_true(hd_recorder_allocator_stats(rec, some, 1));
    assert_true(hd_recorder_allocator_stats(rec, some, 1));
    long_name[255] = 0;
    assert_int_equal(hd_recorder_view_allocator_stats(seen, BYTES, 0, take_stat, text, NULL), HD_OK);
    char expected[2048];
    snprintf(expected, sizeof expected, "malloc/arenas size bytes 100\nmalloc/arenas free bytes 8\n"
             "malloc/classes/64 count - 3\n%s %s %s 100\n", long_name, long_name, long_name);
    assert_string_equal(text, expected);
    for (unsigned i = 0; i <= HD_ALLOCATOR_STATS; i++) {
        snprintf(called[i], sizeof called[i], "c%u", i);
        many[i] = (hd_allocator_stat){ "malloc", called[i], NULL, i };
    }
    assert_true(hd_recorder_allocator_stats(rec, many, HD_ALLOCATOR_STATS - 4));
    assert_false(hd_recorder_allocator_stats(rec, many, HD_ALLOCATOR_STATS));
    assert_int_equal(hd_recorder_view_allocator_stats(seen, BYTES, 1, take_stat, text, NULL), HD_INVALID);
}

static void the_tail_of_a_region_can_go(void **state) {
    static char many[20000][8];
    uint64_t used, left;
    hd_recorded r;
    (void)state;
    assert_int_equal(hd_recorder_region_bytes(NULL, 1 << 20), 0);
    create(NULL);
    used = hd_region_used(region, BYTES);
    assert_int_equal(hd_recorder_region_bytes(rec, BYTES * 2), BYTES);
    left = hd_recorder_region_bytes(rec, used + 300001);
    assert_true(left <= used + 300001 && left > used + 300001 - 4096 && left % 4096 == 0);
    mprotect(region + left, BYTES - left, PROT_NONE);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(many[i], sizeof many[i], "n%u", i);
        hd_record_alloc(rec, at(i + 1), 1, many[i]);
    }
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
    assert_true(r.counters.lost > 0 && r.counters.live_blocks > 0);
    assert_int_equal(hd_recorder_region_bytes(rec, 0), hd_region_used(region, left));
    mprotect(region + left, BYTES - left, PROT_READ | PROT_WRITE);
}

/* Another process may write any value to the used size. The recorder then frees no memory in use, and uses none
   twice. */
static void the_used_size_may_be_false(void **state) {
    static char many[5000][8];
    const uint64_t lie = 4096;
    uint64_t used;
    hd_recorded r;
    (void)state;
    create(NULL);
    hd_record_alloc(rec, at(1), 100, "before");
    used = hd_region_used(region, BYTES);
    memcpy(region + 16, &lie, sizeof lie);
    assert_int_equal(hd_region_used(region, BYTES), lie);
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(many[i], sizeof many[i], "n%u", i);
        hd_record_alloc(rec, at(i + 2), 1, many[i]);
    }
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
    assert_int_equal(r.counters.live_bytes, 5100);
    assert_true(hd_region_used(region, BYTES) > used);
    used = hd_region_used(region, BYTES);
    memcpy(region + 16, &lie, sizeof lie);
    assert_int_equal(hd_recorder_region_bytes(rec, 0), used);
}

static void keep_lifetimes(void *user, const hd_lifetimes *l, const uint64_t *pcs, size_t n) {
    hd_lifetimes *to = user;
    assert_int_equal(n, 1);
    to[pcs[0] - 0x10] = *l;
}

static void lifetimes_are_reported_for_freed_and_live_blocks(void **state) {
    uintptr_t stack[2] = { 0x10, 0 };
    hd_lifetimes of[2] = { { 0 } };
    (void)state;
    create(&(hd_recorder_desc){ .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind, .user = stack },
                                .clock = clock_of, .lifetimes = true });
    now = 100;
    hd_record_alloc(rec, at(1), 10, NULL);
    hd_record_alloc(rec, at(2), 30, NULL);
    now = 105;
    hd_record_free(rec, at(1));
    now = 120;
    hd_record_free(rec, at(2));
    stack[0] = 0x11;
    now = 130;
    hd_record_alloc(rec, at(3), 5, NULL);          /* in the row of a freed block */
    now = 140;
    assert_int_equal(hd_recorder_view_lifetimes(seen, BYTES, 0, 150, NULL, keep_lifetimes, of, NULL), HD_OK);
    assert_memory_equal(&of[0], (&(hd_lifetimes){ 2, 40, 10, 30, 25, 5, 20, 1, 100, 120 }), sizeof *of);
    assert_memory_equal(&of[1], (&(hd_lifetimes){ 1, 5, 5, 5, 20, 20, 20, 0, 130, 150 }), sizeof *of);
    hd_recorder_free(rec);
    hd_tracker_stop();
    begin_again(BYTES);
    create(NULL);
    assert_int_equal(hd_recorder_view_lifetimes(seen, BYTES, 0, 0, NULL, keep_lifetimes, of, NULL), HD_UNSUPPORTED);
}

static void faults_are_reported(void **state) {
    hd_recorder_desc desc = { .region = region, .region_bytes = BYTES };
    hd_recorded r;
    hd_error err;
    (void)state;
    assert_int_equal(hd_region_init(region + 8, BYTES - 4096, &err), HD_INVALID);
    assert_int_equal(hd_region_init(region, 65535, &err), HD_INVALID);
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, &err), HD_INVALID);
    create(NULL);
    assert_null(hd_recorder_create(&desc, &err));  /* another recorder shows these contexts already */
    assert_string_equal(err.message, "these contexts are another recorder's in a region");
    hd_recorder_free(rec);
    rec = NULL;
    memset(region, 0, 4096);
    assert_null(hd_recorder_create(&desc, &err));
    assert_string_equal(err.message, "a region that hd_region_init made expected");
    assert_int_equal(hd_region_count(seen, BYTES), 0);
    assert_int_equal(hd_region_used(seen, BYTES), 0);
    desc.region = NULL;
    desc.lifetimes = true;
    assert_null(hd_recorder_create(&desc, &err));
    assert_string_equal(err.message, "lifetimes need a region and a clock, and no samples");
}

/* A full region: blocks that do not fit are counted, but not recorded. */
static void a_full_region_loses_blocks_and_nothing_else(void **state) {
    static char many[20000][8];
    uint64_t lost = 0;
    (void)state;
    create(&(hd_recorder_desc){ .name = "full" });
    hd_recorder_free(rec);
    begin_again(512 << 10);
    hd_recorder_desc desc = { .region = region, .region_bytes = 512 << 10 };
    rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(many[i], sizeof many[i], "n%u", i);
        lost += !hd_record_alloc(rec, at(i + 1), 1, many[i]);
    }
    hd_recorded r;
    assert_int_equal(hd_recorder_view(seen, 512 << 10, 0, &r, NULL), HD_OK);
    assert_int_equal(r.counters.lost, lost);
    assert_int_equal(r.counters.live_blocks, 20000 - lost);
    assert_true(region[512 << 10] == 0 && !memcmp(region + (512 << 10), region + (512 << 10) + 1, 65536));
}

static uint64_t mapped, may_map;

/* Enough may be mapped already: contexts and the recorder both ask for it. */
static uint64_t map_more(void *user, uint64_t bytes) {
    assert_ptr_equal(user, &mapped);
    while (mapped < bytes && mapped + 65536 <= may_map) mapped += 65536;
    mprotect(region, mapped, PROT_READ | PROT_WRITE);
    return mapped;
}

static uint32_t looks, most_under_way, least_waited = UINT32_MAX;

/* Takes a snapshot from inside the recorder: the operation in progress does not end meanwhile. */
static uint64_t look_and_map_more(void *user, uint64_t bytes) {
    uint32_t under_way = UINT32_MAX, waited;
    hd_snapshot_options options = { .under_way = &under_way, .ended = looks % 2 == 0 };
    struct timespec from, to;
    hd_profile *p;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (looks < 12 && !hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL)) {
        hd_profile_free(p);
        clock_gettime(CLOCK_MONOTONIC, &to);
        waited = (uint32_t)((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
        if (under_way > most_under_way) most_under_way = under_way;
        if (under_way && !options.ended && waited < least_waited) least_waited = waited;
        looks++;
    }
    return map_more(user, bytes);
}

/* As in a stopped process. A snapshot waits again for each operation, even if earlier waits failed. */
static void a_snapshot_counts_operations_that_do_not_end(void **state) {
    static char many[60][8];
    hd_recorder_desc desc = { .region = region, .region_more = look_and_map_more, .user = &mapped, .blocks = true };
    uint32_t under_way = UINT32_MAX;
    hd_snapshot_options options = { .under_way = &under_way };
    hd_profile *p;
    (void)state;
    may_map = BYTES;
    desc.region_bytes = mapped = 65536;
    desc.shards = 64;
    rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(many[i], sizeof many[i], "n%u", i);
        hd_record_alloc(rec, (void *)(uintptr_t)((i + 1) << 20), 1, many[i]); /* the first of a shard */
    }
    assert_true(looks >= 8);
    assert_int_equal(most_under_way, 1);
    assert_true(least_waited >= 50 && least_waited < 10000);
    assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, &options, &p, NULL), HD_OK);
    hd_profile_free(p);
    assert_int_equal(under_way, 0);
}

/* Also in a forked child, which has its parent's mapped part. */
static void a_region_is_mapped_as_it_is_needed(void **state) {
    static char many[20000][8];
    hd_recorder_desc desc = { .region = region, .region_more = map_more, .user = &mapped };
    hd_recorded r;
    (void)state;
    for (int enough = 1; enough >= 0; enough--) {
        begin_again(BYTES);
        desc.region_bytes = mapped = 65536;
        may_map = enough ? BYTES : 14 << 16; /* when a child has no space */
        mprotect(region + mapped, BYTES - mapped, PROT_NONE);
        rec = hd_recorder_create(&desc, NULL);
        assert_non_null(rec);
        for (unsigned i = 0; i < 20000; i++) {
            snprintf(many[i], sizeof many[i], "n%u", i);
            hd_record_alloc(rec, at(i + 1), 1, many[i]);
        }
        assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
        assert_int_equal(r.counters.live_blocks + r.counters.lost, 20000);
        assert_int_equal(r.counters.lost == 0, enough);
        assert_true(hd_region_used(seen, BYTES) <= mapped && mapped <= may_map);
        hd_recorder_fork_prepare(rec);
        assert_int_equal(hd_recorder_fork_child(rec), enough);
        mprotect(region, BYTES, PROT_READ | PROT_WRITE);
        hd_recorder_free(rec);
        rec = NULL;
    }
}

/* ---- hostile regions */

static void look_at_all(const void *memory, uint64_t bytes) {
    hd_recorded r;
    hd_pages *pages;
    unsigned n[2];
    uint32_t count = hd_region_count(memory, bytes);
    for (uint32_t i = 0; i < count && i < 8; i++) {
        if (hd_recorder_view(memory, bytes, i, &r, NULL)) continue;
        for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) {
            hd_snapshot_options options = { .kind = (hd_heap_kind)kind };
            hd_profile *p;
            options.options.limits.max_records = 100000;
            options.options.limits.max_memory = 64 << 20;
            if (!hd_recorder_view_snapshot(memory, bytes, i, &options, &p, NULL)) hd_profile_free(p);
        }
        hd_recorder_view_modules(memory, bytes, i, count_modules, n, NULL);
        hd_recorder_view_lifetimes(memory, bytes, i, 0, &(hd_options){ .limits = { .max_memory = 64 << 20 } },
                                   (void (*)(void *, const hd_lifetimes *, const uint64_t *, size_t))NULL, NULL, NULL);
        if (!hd_recorder_view_pages(memory, bytes, i, &(hd_pages_options){ .options.limits.max_memory = 64 << 20 },
                                    &pages, NULL))
            hd_pages_free(pages);
    }
}

/* Copies a small region to the end of mapped memory, and changes each of its words in turn. */
static void every_word_may_be_anything(void **state) {
    static const uint64_t words[] = { 0, 1, 7, 8, 4096, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 40, 0xffffffff,
                                      0x0001000000010000 };
    enum { SMALL = 1 << 20 };
    (void)state;
    hd_recorder_desc desc = { .region = region, .region_bytes = SMALL, .name = "small",
                              .blocks = true };
    assert_int_equal(hd_region_init(region, SMALL, NULL), HD_OK);
    rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
    {
        HD_SCOPE("any", "one");
        HD_SCOPE("any", "two");
        for (uint64_t i = 1; i < 20; i++) hd_record_alloc(rec, at(i), i, "T");
    }
    hd_module m = { 0x1000, 0x2000, 0, hd_cstr("/bin/program"), { 1 }, 1, false };
    hd_recorder_add_module(rec, &m);
    uint64_t used = hd_region_used(seen, SMALL);
    uint8_t *copy = mmap(NULL, SMALL + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(copy + SMALL, 4096, PROT_NONE), 0);
    memcpy(copy, seen, SMALL);
    look_at_all(copy, SMALL);
    for (uint64_t i = 0; i + 8 <= used; i += 8) {
        uint64_t was;
        memcpy(&was, copy + i, 8);
        if (!was && i > 16384 && i % 1024) continue; /* in empty memory only every 128th word */
        size_t step = (size_t)long_or_short(1, 5);
        for (size_t w = i / 8 % step; w < sizeof words / sizeof *words; w += step) {
            memcpy(copy + i, &words[w], 8);
            look_at_all(copy, SMALL);
        }
        memcpy(copy + i, &was, 8);
    }
    munmap(copy, SMALL + 4096);
}

static void count_page(void *user, uint64_t address) {
    (void)address;
    ++*(uint64_t *)user;
}

/* Each record names the previous one as its parent, and columns lead to the same rows repeatedly. A view reads no
   more than the size of the region. */
static void parents_do_not_multiply_reading(void **state) {
    enum { SMALL = 2 << 20, PARENTS = 20, APART = 1 << 14, ROWS_AT = 1 << 20 };
    uint64_t calls, one = 0;
    (void)state;
    hd_recorder_desc desc = { .region = region, .region_bytes = SMALL, .shards = 1 };
    assert_int_equal(hd_region_init(region, SMALL, NULL), HD_OK);
    rec = hd_recorder_create(&desc, NULL);
    hd__region *all = (hd__region *)(void *)region;
    uint64_t *records = (uint64_t *)(void *)(region + all->records.segment[0]);
    hd__shown_record *first = (hd__shown_record *)(void *)(region + records[0]);
    memset(region + ROWS_AT, 0xff, SMALL - ROWS_AT - PARENTS * APART);
    for (unsigned k = 0; k < 6; k++) first->pages.segment[k] = first->modules.segment[k] = ROWS_AT;
    first->pages.count = 1 << 15;
    first->modules.count = 1 << 12;
    for (uint32_t i = 1; i < PARENTS; i++) {
        records[i] = SMALL - (uint64_t)i * APART;
        memcpy(region + records[i], first, hd__recorder_record_size(1));
        hd__shown_record *r = (hd__shown_record *)(void *)(region + records[i]);
        r->number = i;
        r->parent = i - 1;
        r->modules_before = 1 << 12;
    }
    all->records.count = PARENTS;
    assert_int_equal(hd_recorder_view_block_pages(seen, SMALL, 0, count_page, &one, NULL), HD_OK);
    assert_in_range(one, 1 << 15, SMALL / sizeof(hd__shown_pages) * 32);
    calls = 0;
    assert_int_equal(hd_recorder_view_block_pages(seen, SMALL, PARENTS - 1, count_page, &calls, NULL), HD_OK);
    assert_in_range(calls, one + 1, SMALL / sizeof(hd__shown_pages) * 32);
    unsigned modules[2] = { 0, 0 };
    hd_recorder_view_modules(seen, SMALL, PARENTS - 1, count_modules, modules, NULL);
    assert_in_range(modules[0] + modules[1], 1 << 12, SMALL / sizeof(hd__shown_module));
    memset(first->pages.segment, 0, sizeof first->pages.segment);
}

/* Several entries that lead to one record, and more records than the region can hold. The bytes of a record are the
   bytes of its rows. */
static void records_are_counted_by_their_bytes(void **state) {
    enum { SMALL = 1 << 20 };
    hd_recorded r;
    (void)state;
    hd_recorder_desc desc = { .region = region, .region_bytes = SMALL, .shards = 1, .blocks = true };
    assert_int_equal(hd_region_init(region, SMALL, NULL), HD_OK);
    rec = hd_recorder_create(&desc, NULL);
    assert_int_equal(hd_recorder_view(seen, SMALL, 0, &r, NULL), HD_OK);
    uint64_t none = r.bytes;
    for (unsigned i = 1; i <= 10; i++) hd_record_alloc(rec, at(i), 1, "T");
    assert_int_equal(hd_recorder_view(seen, SMALL, 0, &r, NULL), HD_OK);
    assert_in_range(r.bytes - none, 10 * sizeof(hd__shown_block), 2000);
    hd__region *all = (hd__region *)(void *)region;
    uint64_t *records = (uint64_t *)(void *)(region + all->records.segment[0]);
    for (unsigned i = 1; i < 1000; i++) records[i] = records[0];
    all->records.count = UINT64_MAX;
    assert_in_range(hd_region_count(seen, SMALL), 1, SMALL / sizeof(hd__shown_record));
    assert_int_equal(hd_recorder_view(seen, SMALL, 0, &r, NULL), HD_OK);
    for (uint32_t i = 1; i < 1000; i++) assert_int_equal(hd_recorder_view(seen, SMALL, i, &r, NULL), HD_INVALID);
}

static void a_forged_row_of_a_full_region_leads_nowhere(void **state) {
    enum { SMALL = 1 << 20, LEAVES = 1024 };
    (void)state;
    hd_recorder_desc desc = { .region = region, .region_bytes = SMALL, .shards = 1 };
    assert_int_equal(hd_region_init(region, SMALL, NULL), HD_OK);
    rec = hd_recorder_create(&desc, NULL);
    hd_register *reg = rec->shard[0].reg;
    hd_allocation a = { 0, 1, 1, 0 };
    for (uint64_t i = 1; i <= LEAVES + 8; i++) {
        if (i > LEAVES) ((hd__region *)(void *)region)->used = SMALL; /* it says */
        a.address = i << 17 | 64;
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    assert_int_equal(rec->pages.rows.count, LEAVES);
    for (uint64_t i = 1; i <= 200; i++) assert_true(hd_register_remove(reg, i << 17 | 64, NULL));
    assert_true(reg->free_row > 0);
    hd__figure_set(&hd__register_page_row(&rec->pages, reg->free_row)->number, LEAVES + 1);
    for (uint64_t i = 2001; i <= 2008; i++) {
        a.address = i << 17 | 64;
        assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
    }
    assert_int_equal(rec->pages.rows.count, LEAVES);
}

static volatile bool stop_writing;

static void *write_at_random(void *unused) {
    unsigned random = 1;
    (void)unused;
    while (!stop_writing) {
        random = random * 1103515245 + 12345;
        uint64_t where = (random >> 8) % (1 << 18) & ~(uint64_t)7;
        __atomic_store_n((uint64_t *)(void *)(seen + 64 + where), random * (uint64_t)0x100000001, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* A hostile process writes into the region: the recorder continues, and writes nowhere else. ThreadSanitizer would
   report that race, so it skips the test. */
static void a_hostile_process_falsifies_figures_only(void **state) {
    pthread_t writer;
    (void)state;
    create(NULL);
    for (int i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "t%d", i);
    stop_writing = false;
    pthread_create(&writer, NULL, write_at_random, NULL);
    for (unsigned i = 0; i < 200000; i++) {
        if (i % 3) hd_record_alloc(rec, at(1 + i % 5000), i % 999, names[i % NAMES]);
        else hd_record_free(rec, at(1 + i % 5000));
    }
    for (int i = 0; i < 50; i++) look_at_all(seen, BYTES);
    stop_writing = true;
    pthread_join(writer, NULL);
    /* the register is private: it still has exactly the blocks that were not freed */
    unsigned live = 0;
    for (unsigned i = 0; i < 5000; i++) live += hd_record_free(rec, at(1 + i));
    assert_in_range(live, 3000, 5000);
}

/* Killed at any time: the recording is complete, except for the last call of its thread. */
static void a_killed_process_leaves_its_recording(void **state) {
    (void)state;
    struct { volatile uint64_t blocks; } *tally = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned round = 0; round < (unsigned)long_or_short(100, 12); round++) {
        begin_again(BYTES);
        tally->blocks = 0;
        pid_t child = fork();
        if (!child) {
            create(NULL);
            for (uint64_t i = 1;; i++) {
                hd_record_alloc(rec, at(i), 10, "T");
                tally->blocks = i;
            }
        }
        while (tally->blocks < 100 + round * 37) sched_yield();
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        hd_profile *p;
        assert_int_equal(hd_recorder_view_snapshot(seen, BYTES, 0, NULL, &p, NULL), HD_OK);
        assert_in_range(hd_profile_blocks(p), tally->blocks, tally->blocks + 1);
        assert_in_range(hd_profile_bytes(p), tally->blocks * 10, tally->blocks * 10 + 10);
        hd_profile_free(p);
    }
    munmap(tally, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_kind_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_is_temporary_when_it_goes_before_the_next_comes, setup, teardown),
        cmocka_unit_test_setup_teardown(the_peak_is_exact_with_one_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(the_peak_has_pending_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(children_begin_records_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(program_counters_are_named_by_modules, setup, teardown),
        cmocka_unit_test_setup_teardown(transparent_modules_lie_in_others, setup, teardown),
        cmocka_unit_test_setup_teardown(modules_are_found_by_address_and_time, setup, teardown),
        cmocka_unit_test_setup_teardown(modules_are_found_among_many, setup, teardown),
        cmocka_unit_test_setup_teardown(unwinders_report_modules, setup, teardown),
        cmocka_unit_test_setup_teardown(notes_are_the_callers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_used_size_may_be_false, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_with_blocks_are_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_without_blocks_go, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_of_a_child, setup, teardown),
        cmocka_unit_test_setup_teardown(an_allocator_reports_its_values, setup, teardown),
        cmocka_unit_test_setup_teardown(the_tail_of_a_region_can_go, setup, teardown),
        cmocka_unit_test_setup_teardown(lifetimes_are_reported_for_freed_and_live_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_region_loses_blocks_and_nothing_else, setup, teardown),
        cmocka_unit_test_setup_teardown(a_snapshot_counts_operations_that_do_not_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_region_is_mapped_as_it_is_needed, setup, teardown),
        cmocka_unit_test_setup_teardown(every_word_may_be_anything, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_leave_exact_figures, setup, teardown),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test_setup_teardown(a_killed_process_leaves_its_recording, setup, teardown),
        cmocka_unit_test_setup_teardown(parents_do_not_multiply_reading, setup, teardown),
        cmocka_unit_test_setup_teardown(records_are_counted_by_their_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_forged_row_of_a_full_region_leads_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hostile_process_falsifies_figures_only, setup, teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
