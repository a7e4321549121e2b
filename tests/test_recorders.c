/* Several recorders at a time: they share only the tracker and its contexts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include "private.h"

enum { RECORDERS = 3, BYTES = 10 };

static char blocks[1000];

/* Compares the live blocks of a recorder with a text: "Load T 10, More T 20". */
static void holds(hd_recorder *rec, const char *expected) {
    hd_profile *profile = NULL;
    hd_error err;
    char text[200] = "";
    size_t n = 0;
    hd_rows rows;
    hd_axis frames, types;
    assert_int_equal(hd_recorder_snapshot(rec, NULL, &profile, &err), HD_OK);
    rows = hd_profile_cells(profile);
    frames = hd_profile_axis(profile, HD_AXIS_BACKTRACE);
    types = hd_profile_axis(profile, HD_AXIS_TYPE);
    for (uint32_t i = 0; i < rows.count; i++) {
        hd_str frame = frames.node_name[rows.node[2 * i]], type = types.node_name[rows.node[2 * i + 1]];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s" HD_FMT " " HD_FMT " %d", i ? ", " : "", HD_ARG(frame),
                              HD_ARG(type), (int)rows.amount[i].bytes);
    }
    assert_string_equal(text, expected);
    hd_profile_free(profile);
}

static void record(hd_recorder *rec, int number) {
    assert_true(hd_record_alloc(rec, blocks + number * BYTES, BYTES, "T"));
}

/* All orders of three. */
static void recorders_are_freed_in_any_order(void **state) {
    static const int orders[][RECORDERS] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                             { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        hd_recorder *rec[RECORDERS];
        for (int i = 0; i < RECORDERS; i++) assert_non_null(rec[i] = hd_recorder_create(NULL, NULL));
        for (int i = 0; i < RECORDERS; i++) {
            HD_SCOPE("test", "Load");
            record(rec[i], i);
        }
        for (int i = 0; i < RECORDERS; i++) {
            HD_SCOPE("test", "More");
            for (int k = i; k < RECORDERS; k++) record(rec[orders[o][k]], 10 + 10 * i + k);
            for (int k = i; k < RECORDERS; k++) {
                char expected[100];
                snprintf(expected, sizeof expected, "Load T 10, More T %d", BYTES * (i + 1));
                holds(rec[orders[o][k]], expected);
            }
            assert_true(hd_tracker_running());
            hd_recorder_free(rec[orders[o][i]]);
        }
        assert_false(hd_tracker_running());
    }
}

/* The tracker that the program started keeps running. */
static void the_last_recorder_leaves_the_programs_tracker(void **state) {
    hd_contexts *contexts = hd_contexts_create(NULL);
    hd_recorder *a, *b;
    (void)state;
    a = hd_recorder_create(NULL, NULL);
    hd_tracker_stop();
    assert_int_equal(hd_tracker_start(&(hd_tracker_desc){ .contexts = contexts }, NULL), HD_OK);
    b = hd_recorder_create(NULL, NULL);
    assert_ptr_equal(hd_recorder_contexts(b), contexts);
    record(a, 1);
    hd_recorder_free(a);
    assert_true(hd_tracker_running());
    {
        HD_SCOPE("test", "Load");
        record(b, 2);
    }
    holds(b, "Load T 10");
    hd_recorder_free(b);
    assert_true(hd_tracker_running());
    hd_tracker_stop();
    hd_contexts_free(contexts);
}

static void names(void *user, uint32_t context, const uint32_t *nodes) { (void)user, (void)context, (void)nodes; }

static void *region_make(uint64_t bytes) {
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(hd_region_init(region, bytes, NULL), HD_OK);
    return region;
}

/* Contexts that outlive a region get their names again in the next region. */
static void names_are_shown_in_each_region_anew(void **state) {
    hd_contexts *contexts = hd_contexts_create(NULL);
    const uint64_t bytes = 1 << 20;
    (void)state;
    assert_int_equal(hd_tracker_start(&(hd_tracker_desc){ .contexts = contexts }, NULL), HD_OK);
    for (int round = 0; round < 2; round++) {
        void *region = region_make(bytes);
        hd_recorder *rec = hd_recorder_create(&(hd_recorder_desc){ .region = region, .region_bytes = bytes }, NULL);
        hd_profile *profile = NULL;
        assert_non_null(rec);
        for (int i = 0; i < 1 + 20 * round; i++) {
            HD_SCOPE("test", "Load");
            record(rec, i);
        }
        assert_int_equal(hd_recorder_view_contexts(region, bytes, 0, NULL, names, NULL, &profile, NULL), HD_OK);
        assert_int_equal(hd_axis_child(hd_profile_axis(profile, 0), 0, hd_cstr("Load")), 1);
        assert_int_equal(hd_axis_child(hd_profile_axis(profile, 1), 0, hd_cstr("T")), 1);
        hd_profile_free(profile);
        hd_recorder_free(rec);
        munmap(region, bytes);
    }
    hd_tracker_stop();
    hd_contexts_free(contexts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorders_are_freed_in_any_order),
        cmocka_unit_test(the_last_recorder_leaves_the_programs_tracker),
        cmocka_unit_test(names_are_shown_in_each_region_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
