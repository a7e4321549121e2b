/* The stack that recording needs inside the thread that allocates: at most 1 KiB with optimization. This holds for
   every kind of capture, and while tables grow. Also captures inside each other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "private.h"

#if defined(__SANITIZE_ADDRESS__)
enum { LIMIT = 16 * 1024 }; /* frames have red zones */
#elif !defined(__OPTIMIZE__)
enum { LIMIT = 2 * 1024 };
#else
enum { LIMIT = 1024 };
#endif
enum { SIZE = 256 * 1024, PAINT = 0x5a, REGION = 64 << 20 };

static hd_recorder *recorder;
static size_t native_depth;
static uint64_t salt;

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    size_t n = 0;
    (void)user;
    for (; n < capacity && n < native_depth; n++) pcs[n] = (const void *)(uintptr_t)(salt + n + 1);
    return n;
}

static uint32_t clock_of(void *user) {
    (void)user;
    return 1;
}
static void on_free(void *user, const hd_allocation *freed, uint32_t lifetime) {
    (void)user, (void)freed, (void)lifetime;
}

/* Called through pointers, so that compilers do not inline them: a caller's own variables must not count. */
static bool (*volatile alloc)(hd_recorder *, const void *, size_t, const char *) = hd_record_alloc;
static bool (*volatile release)(hd_recorder *, const void *) = hd_record_free;
static bool (*volatile set_type)(hd_recorder *, const void *, const char *) = hd_record_set_type;
static void (*volatile resize)(hd_recorder *, const void *, hd_resize *) = hd_record_resize;
static bool (*volatile resized)(hd_recorder *, const hd_resize *, const void *, size_t, const char *) =
    hd_record_resized;
static void (*volatile not_resized)(hd_recorder *, const hd_resize *) = hd_record_not_resized;

static const void *close_by(uint64_t i) { return (const void *)(uintptr_t)(i << 4); }
static const void *far_off(uint64_t i) { return (const void *)(uintptr_t)(i << 17); } /* each in its own leaf */

/* Enough blocks for registers to grow, split and shrink, and for contexts to grow. They need more leaves than the
   first table of recent leaves has entries. */
static void calls(void) {
    hd_resize old;
    for (uint64_t i = 1; i <= 40000; i++) {
        salt = i / 1000 << 20;
        alloc(recorder, close_by(i), i % 5000, i % 2 ? "type" : NULL);
        if (i % 7 == 0) set_type(recorder, close_by(i), "other");
        if (i % 8 == 0) {
            resize(recorder, close_by(i), &old);
            not_resized(recorder, &old);
        }
        if (i % 9 == 0) {
            resize(recorder, close_by(i), &old);
            resized(recorder, &old, close_by(i), i % 5000, "type");
        }
    }
    for (uint64_t i = 1; i <= 40000; i++) release(recorder, close_by(i));
    for (uint64_t i = 100; i <= 3000; i++) {
        alloc(recorder, far_off(i), i, "type");
        alloc(recorder, far_off(i), i % 3 ? i : (size_t)3 << 30, NULL);
        if (i % 5 == 0) {
            resize(recorder, far_off(i), &old);
            resized(recorder, &old, NULL, 0, NULL);
        }
    }
    for (uint64_t i = 100; i <= 3000; i++) release(recorder, far_off(i));
}

static const unsigned char *from;

__attribute__((noinline)) static void *run(void *stack) {
    volatile char here = 0;
    from = (const unsigned char *)(uintptr_t)&here;
    hd_tracker_set_thread("worker");
    memset(stack, PAINT, (size_t)((char *)(uintptr_t)&here - 256 - (char *)stack));
    calls();
    return stack;
}

/* Bytes of the stack below a caller. */
static size_t stack_of_calls(void) {
    unsigned char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p = stack;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t used;
    assert_true(stack != MAP_FAILED);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, SIZE), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, stack), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (*p == PAINT) p++;
    used = (size_t)(from - p);
    munmap(stack, SIZE);
    return used;
}

/* A recorder in a region that shows everything. */
static void begin_in_region(hd_recorder_desc *desc) {
    if (desc->region) munmap(desc->region, REGION);
    desc->region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(desc->region != MAP_FAILED);
    desc->region_bytes = REGION;
    desc->lifetimes = !desc->sample_bytes;         /* samples have no lifetimes */
    desc->ages = desc->threads = true;
    assert_int_equal(hd_region_init(desc->region, REGION, NULL), HD_OK);
}

static void recording_takes_at_most_1_KiB_of_the_stack(void **state) {
    static const char *const names[] = { "", "off", "pseudo-stack", "native stack", "mixed stack" };
    (void)state;
    for (int capture = HD_CAPTURE_OFF; capture <= HD_CAPTURE_MIXED_STACK; capture++)
        for (int all = 0; all < 4; all++) {
            int sampled = all & 1, shown = all >> 1;
            for (native_depth = 3; native_depth <= 200; native_depth += 197) {
                hd_recorder_counters counters;
                hd_recorder_desc desc;
                size_t used;
                memset(&desc, 0, sizeof desc);
                desc.tracker.capture = (hd_capture)capture;
                desc.tracker.unwind = unwind;
                desc.tracker.max_frames = native_depth > 3 ? HD_MAX_FRAMES : 0;
                desc.shards = 1;
                desc.sample_bytes = sampled ? 2 : 0;
                desc.clock = clock_of;
                desc.on_free = on_free;
                if (shown) begin_in_region(&desc);
                recorder = hd_recorder_create(&desc, NULL);
                assert_non_null(recorder);
                calls();         /* binding functions at their first call needs stack, too */
                hd_recorder_free(recorder);
                if (shown) begin_in_region(&desc);
                recorder = hd_recorder_create(&desc, NULL);
                assert_non_null(recorder);
                used = stack_of_calls();
                print_message("%s%s%s, %zu frames: %zu bytes of stack\n", names[capture],
                              sampled ? ", sampled" : "", shown ? ", shown" : "", native_depth, used);
                assert_in_range(used, 1, LIMIT);
                hd_recorder_stats(recorder, &counters);
                assert_true(!counters.lost && counters.replaced);
                hd_recorder_free(recorder);
                if (shown) munmap(desc.region, REGION);
            }
        }
}

/* An unwinder that captures again, as if a signal handler interrupted it. */
static unsigned captures, deepest;

static size_t unwind_inside(void *user, const void **pcs, size_t capacity) {
    (void)user;
    if (++captures < deepest) hd_tracker_snapshot(NULL);
    captures--;
    pcs[0] = (const void *)1;
    pcs[1] = (const void *)2;
    return capacity < 2 ? capacity : 2;
}

static void captures_inside_each_other_are_whole_or_say_that_they_are_cut_off(void **state) {
    (void)state;
    for (deepest = 1; deepest <= 40; deepest++) {
        hd_contexts *contexts = hd_contexts_create(NULL);
        hd_tracker_desc desc = { contexts, HD_CAPTURE_NATIVE_STACK, "", 0, unwind_inside, NULL };
        assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
        for (int again = 0; again < 2; again++) {
            uint32_t context = hd_tracker_snapshot(NULL);
            assert_ptr_equal(hd_contexts_frame(contexts, context).value, (const void *)1);
            context = hd_contexts_frame(contexts, context).parent;
            assert_ptr_equal(hd_contexts_frame(contexts, context).value, (const void *)2);
            assert_int_equal(hd_contexts_frame(contexts, context).parent, 0);
        }
        /* the empty one, two frames, and from the 18th capture on one without space */
        assert_int_equal(hd_contexts_count(contexts), deepest <= 17 ? 3 : 4);
        hd_tracker_stop();
        hd_contexts_free(contexts);
    }
}

static hd_memory_dump_manager *manager;

static void visit(void *user, const hd_allocation *live) {
    (void)user, (void)live;
    pthread_testcancel();
}

static bool on_memory_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    (void)user, (void)detail;
    pthread_testcancel();
    return hd_memory_dump_add_scalar(dump, "a", "size", "bytes", 1, NULL) == HD_OK;
}

static hd_status write_nowhere(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    pthread_testcancel();
    return HD_OK;
}

/* A cancelled thread calls functions with callbacks that are cancellation points. */
static void *be_cancelled(void *through) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    hd_recorder_visit(recorder, visit, NULL);
    *(bool *)through = hd_memory_dump_manager_dump(manager, HD_LIGHT, 1, NULL) == HD_OK;
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_is_cancelled_gives_locks_back_first(void **state) {
    hd_memory_dump_manager_desc desc;
    hd_memory_dump_provider provider = { "a", on_memory_dump, NULL, NULL };
    bool through = false;
    pthread_t thread;
    void *result;
    (void)state;
    memset(&desc, 0, sizeof desc);
    desc.out.write = write_nowhere;
    manager = hd_memory_dump_manager_create(&desc, NULL);
    assert_non_null(manager);
    assert_int_equal(hd_memory_dump_manager_register(manager, &provider, NULL), HD_OK);
    recorder = hd_recorder_create(NULL, NULL);
    assert_true(hd_record_alloc(recorder, &through, 1, NULL));
    assert_int_equal(pthread_create(&thread, NULL, be_cancelled, &through), 0);
    pthread_join(thread, &result);
    assert_true(through && result == PTHREAD_CANCELED);
    assert_true(hd_record_free(recorder, &through));
    assert_int_equal(hd_memory_dump_manager_dump(manager, HD_LIGHT, 2, NULL), HD_OK);
    hd_memory_dump_manager_free(manager);
    hd_recorder_free(recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_takes_at_most_1_KiB_of_the_stack),
        cmocka_unit_test(captures_inside_each_other_are_whole_or_say_that_they_are_cut_off),
        cmocka_unit_test(a_thread_that_is_cancelled_gives_locks_back_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
