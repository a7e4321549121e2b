/* threads. Ages of live blocks, and the threads that allocated them: exact cells of both axes, by a clock that the
   test sets. Tests the own process, a region seen from outside, samples, forks, and damage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "private.h"

#define BYTES ((uint64_t)16 << 20)

static uint8_t *region, *seen;   /* one memory, mapped by the recorder and by an observer */
static hd_recorder *rec;
static uint32_t now;
static unsigned asked;           /* number of calls of the clock */

static int setup(void **state) {
    int fd = (int)syscall(SYS_memfd_create, "region", 0);
    (void)state;
    if (fd < 0 || ftruncate(fd, (off_t)BYTES)) return -1;
    region = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    rec = NULL;
    now = asked = 0;
    return hd_region_init(region, BYTES, NULL);
}

static int teardown(void **state) {
    (void)state;
    hd_recorder_free(rec);
    munmap(region, BYTES);
    munmap(seen, BYTES);
    return 0;
}

static uint32_t clock_of(void *user) {
    (void)user;
    asked++;
    return now;
}

static void create(bool shared, hd_recorder_desc desc) {
    hd_error err;
    if (shared) desc.region = region, desc.region_bytes = BYTES;
    desc.clock = clock_of;
    rec = hd_recorder_create(&desc, &err);
    if (!rec) fail_msg("%s", err.message);
}

static void *at(uint64_t i) { return (void *)(uintptr_t)(i * 32); }

static char *put_path(char *end, hd_axis axis, uint32_t node) {
    hd_str name[8];
    int depth = 0;
    for (uint32_t n = node; n; n = axis.parent[n]) name[depth++] = axis.node_name[n];
    if (!depth) return end + sprintf(end, "-");
    while (depth--) end += sprintf(end, "/%.*s", (int)name[depth].len, name[depth].data);
    return end;
}

/* A profile as sorted lines "stack type thread age bytes blocks", without the axes that it lacks. */
static const char *text_of(hd_profile *p) {
    static char text[8192];
    char lines[64][128], *end;
    uint32_t axes = hd_profile_axis_count(p);
    hd_rows cells = hd_profile_cells(p);
    assert_true(cells.count <= 64);
    for (uint32_t i = 0; i < cells.count; i++) {
        end = lines[i];
        for (uint32_t a = 0; a < axes; a++) {
            end = put_path(end, hd_profile_axis(p, a), cells.node[i * axes + a]);
            *end++ = ' ';
        }
        sprintf(end, "%llu %llu\n", (unsigned long long)cells.amount[i].bytes,
                (unsigned long long)cells.amount[i].blocks);
    }
    qsort(lines, cells.count, sizeof *lines, (int (*)(const void *, const void *))strcmp);
    *text = 0;
    for (uint32_t i = 0; i < cells.count; i++) strcat(text, lines[i]);
    hd_profile_free(p);
    return text;
}

static hd_profile *snapshot(hd_heap_kind kind, uint32_t when) {
    hd_snapshot_options options = { .kind = kind, .now = when };
    hd_profile *p;
    assert_int_equal(hd_recorder_snapshot(rec, &options, &p, NULL), HD_OK);
    return p;
}

static hd_profile *view(uint32_t number, hd_heap_kind kind, uint32_t when) {
    hd_snapshot_options options = { .kind = kind, .now = when };
    hd_profile *p;
    hd_error err;
    if (hd_recorder_view_snapshot(seen, BYTES, number, &options, &p, &err)) fail_msg("%s", err.message);
    return p;
}

static void classes_have_bounds_and_names(void **state) {
    static const struct { uint64_t from; const char *name; } classes[HD_AGES] = {
        { 0, "under 10 ms" }, { 10, "10 ms to 100 ms" }, { 100, "100 ms to 1 s" }, { 1000, "1 s to 10 s" },
        { 10000, "10 s to 1 min" }, { 60000, "1 min to 10 min" }, { 600000, "10 min to 1 h" },
        { 3600000, "1 h to 10 h" }, { 36000000, "10 h to 1 day" }, { 86400000, "1 day to 10 days" },
        { 864000000, "10 days or more" } };
    (void)state;
    for (uint32_t i = 0; i < HD_AGES; i++) {
        assert_int_equal(hd_age_class(classes[i].from), i);
        if (i) assert_int_equal(hd_age_class(classes[i].from - 1), i - 1);
        assert_string_equal(hd_age_name(i), classes[i].name);
    }
    assert_int_equal(hd_age_class(UINT64_MAX), HD_AGES - 1);
    assert_string_equal(hd_age_name(99), "10 days or more");
}

/* Records at 0, 500, 59,000 and 60,000 ms. One block is freed, the realloc of one fails, one gets its type later. */
static void record_some(void) {
    hd_resize resize;
    hd_record_alloc(rec, at(1), 100, "Old");
    hd_record_alloc(rec, at(2), 7, "Old");
    now = 500;
    hd_record_alloc(rec, at(3), 11, "Old");
    hd_record_alloc(rec, at(4), 13, "Gone");
    now = 59000;
    assert_true(hd_record_free(rec, at(4)));
    hd_record_alloc(rec, at(5), 17, NULL);         /* reuses the row of the freed block */
    assert_true(hd_record_set_type(rec, at(5), "Late"));
    hd_record_resize(rec, at(2), &resize);
    hd_record_not_resized(rec, &resize);           /* keeps its age */
    now = 60000;
    hd_record_alloc(rec, at(6), 19, "Old");
}

static const char *const some_at_a_minute =
    "- /Late /1 s to 10 s 17 1\n- /Old /1 min to 10 min 107 2\n- /Old /10 s to 1 min 11 1\n- /Old /under 10 ms 19 1\n";

static void live_blocks_have_ages(void **state) {
    bool shared = *(bool *)*state;
    create(shared, (hd_recorder_desc){ .ages = true });
    record_some();
    assert_string_equal(text_of(snapshot(HD_HEAP_LIVE, 0)), some_at_a_minute);
    now = 10 * 60000;
    assert_string_equal(text_of(snapshot(HD_HEAP_LIVE, 60000)), some_at_a_minute);
    assert_string_equal(text_of(snapshot(HD_HEAP_LIVE, 0)),
                        "- /Late /1 min to 10 min 17 1\n- /Old /1 min to 10 min 30 2\n- /Old /10 min to 1 h 107 2\n");
    assert_string_equal(text_of(snapshot(HD_HEAP_TOTAL, 0)), "- /Gone 13 1\n- /Late 17 1\n- /Old 137 4\n");
    assert_string_equal(text_of(snapshot(HD_HEAP_PEAK, 0)), "- /Late 17 1\n- /Old 137 4\n");
}

static void others_see_the_same(void **state) {
    hd_recorded r;
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true });
    record_some();
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 60000)), some_at_a_minute);
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 0)), some_at_a_minute); /* as of the time of the last block */
    assert_string_equal(text_of(view(0, HD_HEAP_TOTAL, 0)), "- /Gone 13 1\n- /Late 17 1\n- /Old 137 4\n");
    /* a block allocated after the time was read is new, not 49 days old */
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 59990)),
                        "- /Late /100 ms to 1 s 17 1\n- /Old /10 s to 1 min 118 3\n- /Old /under 10 ms 19 1\n");
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
    assert_true(r.ages);
    assert_false(r.threads);
    assert_int_equal(hd_recorder_view_lifetimes(seen, BYTES, 0, 0, NULL, NULL, NULL, NULL), HD_UNSUPPORTED);
}

static void a_clock_may_begin_anew(void **state) {
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true });
    now = UINT32_MAX - 499;
    hd_record_alloc(rec, at(1), 10, "Before");
    now = 500;
    hd_record_alloc(rec, at(2), 20, "After");
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 0)), "- /After /under 10 ms 20 1\n- /Before /1 s to 10 s 10 1\n");
}

/* Sampled blocks represent other blocks of their age. The sums equal the sums without the age axis. */
static void samples_have_ages(void **state) {
    hd_rows cells;
    uint64_t bytes[2] = { 0 }, blocks = 0;
    hd_recorder_counters stats;
    hd_profile *p;
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true, .sample_bytes = 64, .sample_seed = 5 });
    for (unsigned i = 1; i <= 5000; i++) {
        now = i <= 4000 ? 0 : 2000;
        hd_record_alloc(rec, at(i), 16 + i % 100, "T");
    }
    for (unsigned i = 1; i <= 500; i++) hd_record_free(rec, at(i * 3));
    hd_recorder_stats(rec, &stats);
    p = view(0, HD_HEAP_LIVE, 2000);
    cells = hd_profile_cells(p);
    assert_int_equal(cells.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        hd_axis ages = hd_profile_axis(p, 2);
        bool young = hd_str_equal(ages.node_name[cells.node[i * 3 + 2]], hd_cstr("under 10 ms"));
        bytes[young] += cells.amount[i].bytes;
        blocks += cells.amount[i].blocks;
        assert_true(cells.amount[i].variance.lo > 0);
    }
    assert_int_equal(bytes[0] + bytes[1], stats.live_bytes);
    assert_true(bytes[1] > 50000 && bytes[1] < 80000); /* the true value is 65,500, with a deviation of 4,000 */
    assert_true(blocks > 4200 && blocks < 4800);
    hd_profile_free(p);
}

/* A trace has two axes, so a snapshot for it asks for two_axes. */
static void a_trace_goes_without(void **state) {
    char path[64];
    hd_snapshot_options options = { .two_axes = true, .now = 60000 };
    hd_profile *p;
    hd_dump *dump;
    hd_error err;
    (void)state;
    create(false, (hd_recorder_desc){ .ages = true, .threads = true });
    record_some();
    assert_int_equal(hd_recorder_snapshot(rec, &options, &p, NULL), HD_OK);
    assert_string_equal(text_of(p), "- /Late 17 1\n- /Old 137 4\n");
    snprintf(path, sizeof path, "/tmp/ages.%ld.json", (long)getpid());
    if (hd_recorder_write(rec, path, NULL, &err)) fail_msg("%s", err.message);
    if (hd_read_file(path, NULL, &dump, &err)) fail_msg("%s", err.message);
    unlink(path);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), 154);
    hd_dump_free(dump);
}

static void nothing_is_kept_that_is_not_asked_for(void **state) {
    hd_recorded r;
    (void)state;
    create(true, (hd_recorder_desc){ .name = "plain" });
    /* the tracker knows the name, the recorder does not keep it */
    assert_int_equal(hd_tracker_set_thread("worker"), HD_OK);
    record_some();
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 60000)), "- /Late 17 1\n- /Old 137 4\n");
    assert_int_equal(hd_recorder_view(seen, BYTES, 0, &r, NULL), HD_OK);
    assert_false(r.ages || r.threads);
}

/* Threads. ----------------------------------------------------------------------------------------- */

static const char *name_of_thread;

static void *record_one(void *i) {
    if (name_of_thread && hd_tracker_set_thread(name_of_thread)) return NULL;
    hd_record_alloc(rec, i, 10, "T");
    return i;
}

static void in_a_thread(const char *name, uint64_t i) {
    pthread_t t;
    void *done;
    name_of_thread = name;
    assert_int_equal(pthread_create(&t, NULL, record_one, at(i)), 0);
    pthread_join(t, &done);
    assert_non_null(done);
}

static void blocks_have_threads(void **state) {
    bool shared = *(bool *)*state;
    hd_scope scope;
    static hd_category category = { "c", 0, 0 };
    assert_int_equal(hd_tracker_set_thread("nobody"), HD_INVALID); /* no tracker runs */
    create(shared, (hd_recorder_desc){ .threads = true, .ages = true });
    hd_record_alloc(rec, at(1), 1, "T");
    in_a_thread("worker", 2);
    in_a_thread("worker", 3);
    in_a_thread("io", 4);
    in_a_thread(NULL, 5);
    assert_int_equal(hd_tracker_set_thread("main"), HD_OK);
    hd_record_alloc(rec, at(6), 100, "T");
    scope = hd_scope_begin(&category, "f");
    hd_record_alloc(rec, at(7), 1000, "T");
    assert_int_equal(hd_tracker_set_thread("inside"), HD_INVALID);
    hd_scope_end(&scope);
    hd_record_alloc(rec, at(8), 100, "T");
    assert_int_equal(hd_tracker_set_thread("renamed"), HD_OK);
    hd_record_alloc(rec, at(9), 5, NULL);
    assert_true(hd_record_set_type(rec, at(9), "U"));
    assert_int_equal(hd_tracker_set_thread(NULL), HD_OK);
    hd_record_alloc(rec, at(10), 1, "T");
    assert_string_equal(text_of(snapshot(HD_HEAP_LIVE, 0)),
                        "- /T - /under 10 ms 12 3\n- /T /io /under 10 ms 10 1\n- /T /main /under 10 ms 200 2\n"
                        "- /T /worker /under 10 ms 20 2\n- /U /renamed /under 10 ms 5 1\n"
                        "/f /T /main /under 10 ms 1000 1\n");
    hd_record_free(rec, at(3));
    assert_string_equal(text_of(shared ? view(0, HD_HEAP_TOTAL, 0) : snapshot(HD_HEAP_TOTAL, 0)),
                        "- /T - 12 3\n- /T /io 10 1\n- /T /main 200 2\n- /T /worker 20 2\n- /U /renamed 5 1\n"
                        "/f /T /main 1000 1\n");
}

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    (void)user, (void)capacity;
    pcs[0] = (const void *)(uintptr_t)0x20;
    pcs[1] = (const void *)(uintptr_t)0x10;
    return 2;
}

/* A renamed thread has its new name, also for a native stack that is already known. */
static void native_stacks_have_threads(void **state) {
    (void)state;
    create(true, (hd_recorder_desc){ .threads = true,
                                     .tracker = { .capture = HD_CAPTURE_NATIVE_STACK, .unwind = unwind } });
    hd_tracker_set_thread("one");
    hd_record_alloc(rec, at(1), 1, NULL);
    hd_record_alloc(rec, at(2), 2, NULL);
    hd_tracker_set_thread("two");
    hd_record_alloc(rec, at(3), 4, NULL);
    hd_tracker_set_thread("one");
    hd_record_alloc(rec, at(4), 8, NULL);
    assert_string_equal(text_of(view(0, HD_HEAP_TOTAL, 0)),
                        "/0x10/0x20 /[unknown] /one 11 3\n/0x10/0x20 /[unknown] /two 4 1\n");
}

static void a_child_has_ages_and_threads_of_its_own(void **state) {
    pid_t child;
    int status;
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true, .threads = true });
    hd_tracker_set_thread("parent");
    hd_record_alloc(rec, at(1), 1, "T");
    hd_recorder_fork_prepare(rec);
    child = fork();
    if (!child) {
        if (!hd_recorder_fork_child(rec)) _exit(1);
        now = 1000;
        hd_record_free(rec, at(1));
        hd_record_alloc(rec, at(2), 2, "T");
        hd_tracker_set_thread("child");
        hd_record_alloc(rec, at(3), 4, "T");
        _exit(0);
    }
    hd_recorder_fork_parent(rec);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 1000)), "- /T /parent /1 s to 10 s 1 1\n");
    assert_string_equal(text_of(view(1, HD_HEAP_LIVE, 1000)),
                        "- /T /child /under 10 ms 4 1\n- /T /parent /under 10 ms 2 1\n");
}

static hd_allocation told;       /* the last freed block */

static void tell(void *user, const hd_allocation *freed, uint32_t lifetime) {
    (void)user, (void)lifetime;
    told = *freed;
}

static bool is_type(const hd_allocation *a, const char *name) {
    hd_frame frame = hd_contexts_frame(hd_recorder_contexts(rec), a->context);
    return frame.kind == HD_FRAME_TYPE && !strcmp(frame.value, name);
}

static hd_allocation live[8];    /* by number, see at() */

static void keep(void *user, const hd_allocation *a) {
    (void)user;
    live[a->address / 32] = *a;
}

/* Returns the number of the failed check, or 0. The child has its own sites for its parent's blocks, and fewer rows
   than its parent. */
static int take_a_parents_blocks(void) {
    hd_recorder_counters stats;
    hd_resize resize;
    now = 1000;
    hd_record_alloc(rec, at(5), 5, "B");
    hd_record_alloc(rec, at(6), 6, "B");
    if (!hd_record_free(rec, at(2))) return 1;
    if (told.address != (uintptr_t)at(2) || !is_type(&told, "B") || told.time) return 2;
    hd_record_resize(rec, at(3), &resize);
    hd_record_not_resized(rec, &resize);
    if (rec->shard[0].blocks.count != 2) return 9; /* only its own blocks have rows */
    hd_recorder_visit(rec, keep, NULL);
    if (!is_type(&live[1], "A") || !is_type(&live[3], "B") || !is_type(&live[6], "B")) return 4;
    if (live[1].time || live[3].time || live[6].time != 1000 || live[2].address) return 5;
    hd_recorder_stats(rec, &stats);
    if (stats.inherited_blocks != 2 || stats.inherited_bytes != 4 || stats.live_blocks != 2) return 6;
    if (!hd_record_free(rec, at(3)) || !is_type(&told, "B") || told.time) return 7;
    return live[5].time == 1000 ? 0 : 8;
}

/* Returns the number of the failed check, or 0. Two recorders have the same block, as if a hook reported it to both.
   In the child each recorder has its own site for the block. */
static int take_from_both(hd_recorder *other) {
    hd_recorder *both[] = { rec, other };
    hd_recorder_counters stats;
    hd_resize resize[2];
    for (int i = 0; i < 2; i++) hd_record_alloc(both[i], at(5), 5, "B");
    for (int i = 0; i < 2; i++) hd_record_resize(both[i], at(2), &resize[i]);
    for (int i = 0; i < 2; i++) hd_record_not_resized(both[i], &resize[i]);
    for (int i = 0; i < 2; i++) {
        hd_recorder_stats(both[i], &stats);
        if (stats.inherited_blocks != 1 || stats.live_blocks != 1 || stats.live_bytes != 5) return 2;
    }
    return 0;
}

static void a_child_takes_its_parents_block_from_two_recorders(void **state) {
    hd_recorder *other;
    pid_t child;
    int status;
    (void)state;
    create(false, (hd_recorder_desc){ .shards = 1 });
    other = hd_recorder_create(&(hd_recorder_desc){ .shards = 1, .tracker.contexts = hd_recorder_contexts(rec) }, NULL);
    assert_non_null(other);
    hd_record_alloc(rec, at(2), 2, "B");
    hd_record_alloc(other, at(2), 2, "B");
    hd_recorder_fork_prepare(rec);
    hd_recorder_fork_prepare(other);
    child = fork();
    if (!child) _exit(hd_recorder_fork_child(rec) && hd_recorder_fork_child(other) ? take_from_both(other) : 99);
    hd_recorder_fork_parent(other);
    hd_recorder_fork_parent(rec);
    hd_recorder_free(other);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_child_takes_its_parents_blocks(void **state) {
    pid_t child;
    int status;
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true, .on_free = tell, .shards = 1 });
    now = 5;
    hd_record_alloc(rec, at(1), 1, "A");
    hd_record_alloc(rec, at(2), 2, "B");
    hd_record_alloc(rec, at(3), 3, "B");
    hd_recorder_fork_prepare(rec);
    child = fork();
    if (!child) _exit(hd_recorder_fork_child(rec) ? take_a_parents_blocks() : 99);
    hd_recorder_fork_parent(rec);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(text_of(view(1, HD_HEAP_LIVE, 1000)), "- /B /under 10 ms 11 2\n");
}

/* Without a region a child has its own rows, and frees them. */
static void a_child_without_a_region(void **state) {
    pid_t child;
    int status;
    (void)state;
    create(false, (hd_recorder_desc){ .ages = true });
    hd_record_alloc(rec, at(1), 1, "T");
    hd_recorder_fork_prepare(rec);
    child = fork();
    if (!child) {
        hd_recorder_fork_child(rec);
        now = 1000;
        hd_record_free(rec, at(1));
        hd_record_alloc(rec, at(2), 2, "T");
        status = strcmp(text_of(snapshot(HD_HEAP_LIVE, 1000)), "- /T /under 10 ms 2 1\n");
        hd_recorder_free(rec);
        _exit(status != 0);
    }
    hd_recorder_fork_parent(rec);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(text_of(snapshot(HD_HEAP_LIVE, 1000)), "- /T /1 s to 10 s 1 1\n");
}

static void faults_are_reported(void **state) {
    hd_recorder_desc desc = { .ages = true };
    hd_error err;
    (void)state;
    assert_null(hd_recorder_create(&desc, &err));
    assert_int_equal(err.status, HD_INVALID);
    assert_string_equal(err.message, "ages need a clock");
}

static void a_free_needs_no_clock(void **state) {
    unsigned before;
    (void)state;
    create(true, (hd_recorder_desc){ .ages = true });
    hd_record_alloc(rec, at(1), 1, "T");
    before = asked;
    hd_record_free(rec, at(1));
    assert_int_equal(asked, before);
}

/* Copies a small region to the end of mapped memory, and changes each of its words in turn. */
static void every_word_may_be_anything(void **state) {
    static const uint64_t words[] = { 0, 1, 7, 8, 4096, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 40, 0xffffffff };
    enum { SMALL = 1 << 20 };
    hd_recorder_desc desc = { .region = region, .region_bytes = SMALL, .clock = clock_of, .ages = true, .threads = true,
                              .shards = 2 };
    uint8_t *copy = mmap(NULL, SMALL + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t used, tried = 0, was;
    (void)state;
    assert_int_equal(mprotect(copy + SMALL, 4096, PROT_NONE), 0);
    assert_int_equal(hd_region_init(region, SMALL, NULL), HD_OK);
    rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
    hd_tracker_set_thread("worker");
    for (uint64_t i = 1; i < 20; i++) hd_record_alloc(rec, at(i), i, i % 2 ? "T" : "U");
    used = hd_region_used(seen, SMALL);
    memcpy(copy, seen, SMALL);
    for (uint64_t i = 0; i + 8 <= used; i += 8) {
        memcpy(&was, copy + i, 8);
        if (!was && i % 1024) continue;            /* in empty memory only every 128th word */
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            hd_snapshot_options options = { .options = { .limits = { .max_records = 100000, .max_memory = 64 << 20 } } };
            hd_profile *p;
            memcpy(copy + i, &words[w], 8);
            if (!hd_recorder_view_snapshot(copy, SMALL, 0, &options, &p, NULL)) hd_profile_free(p);
            tried++;
        }
        memcpy(copy + i, &was, 8);
    }
    assert_true(tried > 1000);
    assert_string_equal(text_of(view(0, HD_HEAP_LIVE, 0)),
                        "- /T /worker /under 10 ms 100 10\n- /U /worker /under 10 ms 90 9\n");
    munmap(copy, SMALL + 4096);
}

int main(void) {
    static bool no = false, yes = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_bounds_and_names),
        { "live_blocks_have_ages", live_blocks_have_ages, setup, teardown, &no },
        { "live_blocks_have_ages, in a region", live_blocks_have_ages, setup, teardown, &yes },
        cmocka_unit_test_setup_teardown(others_see_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_may_begin_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(samples_have_ages, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trace_goes_without, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_kept_that_is_not_asked_for, setup, teardown),
        { "blocks_have_threads", blocks_have_threads, setup, teardown, &no },
        { "blocks_have_threads, in a region", blocks_have_threads, setup, teardown, &yes },
        cmocka_unit_test_setup_teardown(native_stacks_have_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_has_ages_and_threads_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_takes_its_parents_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_takes_its_parents_block_from_two_recorders, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_without_a_region, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_free_needs_no_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(every_word_may_be_anything, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
