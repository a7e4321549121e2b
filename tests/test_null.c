/* Objects that could not be made: calls with NULL in their place. A program that does not check must run on without
   its recording. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>

static int map_calls, map_fail_from; /* from 1; 0: none fails */

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (map_fail_from && ++map_calls >= map_fail_from) return MAP_FAILED;
    return mmap(at, size, protection, flags, fd, offset);
}

#include "private.h"
#include "faults.h"

static void freeing_null_is_fine(void **state) {
    (void)state;
    hd_in_close(NULL);
    hd_buffer_free(NULL);
    hd_profile_free(NULL);
    hd_breakdown_free(NULL);
    hd_diff_free(NULL);
    hd_graph_free(NULL);
    hd_dominators_free(NULL);
    hd_histogram_free(NULL);
    hd_graph_change_free(NULL);
    hd_links_free(NULL);
    hd_paths_free(NULL);
    hd_contexts_free(NULL);
    hd_register_free(NULL);
    hd_recorder_free(NULL);
    hd_deduplicator_free(NULL);
    hd_chrome_writer_free(NULL);
    hd_memory_dump_manager_free(NULL);
    hd_netcf_close(NULL);
    hd_dart_close(NULL);
    hd_string_table_free(NULL);
    hd_length_table_free(NULL);
    hd_library_table_free(NULL);
    hd_identity_change_free(NULL);
    hd_memprof_close(NULL);
    hd_memprof_free(NULL);
    hd_memprof_merger_free(NULL);
    hd_memprof_symbols_free(NULL);
    hd_memprof_index_free(NULL);
    hd_dump_free(NULL);
}

static void never(void *user, const hd_allocation *live) {
    (void)user, (void)live;
    fail_msg("nothing is live in no recorder");
}

static void no_recorder_records_nothing(void **state) {
    (void)state;
    int block = 0;
    hd_resize resize = { .address = 8 };
    hd_recorder_counters stats, zero;
    hd_profile *profile = NULL;
    hd_error err = { 0 };
    memset(&zero, 0, sizeof zero);
    memset(&stats, 1, sizeof stats);
    assert_false(hd_record_alloc(NULL, &block, sizeof block, "int"));
    assert_false(hd_record_free(NULL, &block));
    hd_record_resize(NULL, &block, &resize);
    assert_false(hd_record_resized(NULL, &resize, &block, 1, NULL));
    hd_record_not_resized(NULL, &resize);
    assert_true(hd_record_skips_alloc(NULL, 1));
    assert_true(hd_record_skips_free(NULL, &block));
    assert_false(hd_record_set_type(NULL, &block, "int"));
    hd_recorder_fork_prepare(NULL);
    hd_recorder_fork_parent(NULL);
    hd_recorder_fork_prepare(NULL);
    hd_recorder_fork_child(NULL);
    hd_recorder_stats(NULL, &stats);
    assert_memory_equal(&stats, &zero, sizeof stats);
    assert_int_equal(hd_recorder_peak_bytes(NULL), 0);
    assert_int_equal(hd_recorder_live_bytes(NULL), 0);
    assert_null(hd_recorder_contexts(NULL));
    hd_recorder_visit(NULL, never, NULL);
    assert_int_equal(hd_recorder_snapshot(NULL, NULL, &profile, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_non_null(strstr(err.message, "recorder"));
    assert_int_equal(hd_recorder_snapshot(NULL, NULL, &profile, NULL), HD_INVALID);
    assert_null(profile);
    assert_true(hd_record_suspend()); /* no lock or suspension is left over */
    hd_record_resume();
}

static void no_register_and_no_contexts_hold_nothing(void **state) {
    (void)state;
    hd_allocation a = { .address = 8, .size = 1 };
    hd_cursor cursor = { 0, 0 };
    uint32_t child = 7;
    uint64_t bytes = 1;
    hd_profile *profile = NULL;
    hd_error err = { 0 };
    assert_int_equal(hd_register_insert(NULL, &a, NULL), HD_INVALID);
    assert_false(hd_register_find(NULL, 8, &a));
    assert_false(hd_register_remove(NULL, 8, &a));
    assert_false(hd_register_set_context(NULL, 8, 1));
    assert_int_equal(hd_register_count(NULL), 0);
    hd_register_clear(NULL);
    assert_false(hd_register_next(NULL, &cursor, &a));
    assert_int_equal(hd_register_memory(NULL).reserved, 0);
    assert_int_equal(hd_contexts_child(NULL, 0, HD_FRAME_NAME, "x", &child), HD_INVALID);
    assert_int_equal(child, 7);
    assert_int_equal(hd_contexts_frame(NULL, 3).kind, HD_FRAME_ROOT);
    assert_int_equal(hd_contexts_frame(NULL, 3).parent, HD_NONE);
    assert_int_equal(hd_contexts_count(NULL), 0);
    assert_int_equal(hd_contexts_memory(NULL), 0);
    assert_int_equal(hd_contexts_profile(NULL, &bytes, NULL, 0, NULL, &profile, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_int_equal(hd_tracker_start(&(hd_tracker_desc){ .contexts = NULL }, &err), HD_INVALID);
}

static void no_profile_is_an_invalid_argument(void **state) {
    (void)state;
    hd_breakdown *b = NULL;
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    hd_heap none = { .allocator = "malloc" }, merged;
    uint32_t nodes[2] = { 0, 0 };
    hd_amount amount = { 1, 1, { 1, 0 } };
    assert_int_equal(hd_export(NULL, NULL, NULL, &b, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_int_equal(hd_heap_break_down(NULL, NULL, NULL, &b, &err), HD_INVALID);
    assert_int_equal(hd_print_tree(NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    assert_int_equal(hd_print_tree(&none, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    assert_int_equal(hd_print_top(NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    assert_int_equal(hd_chrome_write(&none, 1, NULL, hd_out_memory(&out), &err), HD_INVALID);
    assert_int_equal(hd_merge(&none, 1, NULL, &merged, &err), HD_INVALID);
    assert_int_equal(hd_profile_node(NULL, 0, 0, hd_cstr("f"), nodes, NULL), HD_INVALID);
    assert_int_equal(hd_profile_add(NULL, nodes, 1, 1, NULL), HD_INVALID);
    assert_int_equal(hd_profile_add_amount(NULL, nodes, &amount, NULL), HD_INVALID);
    hd_buffer_free(&out);
}

static void quick_start(const hd_snapshot_options *options) {
    static char p[16];
    hd_error err;
    hd_buffer file = { 0 };
    hd_recorder *rec = hd_recorder_create(NULL, NULL);
    HD_SCOPE("engine", "LoadLevel");
    hd_record_alloc(rec, p, sizeof p, "Texture");
    hd_profile *profile = NULL; hd_breakdown *breakdown = NULL;
    hd_recorder_snapshot(rec, options, &profile, &err);
    hd_export(profile, &(hd_cutoff){ .min_bytes = 1 }, &options->options, &breakdown, &err);
    hd_heap heap = { .pid = 1, .dump = "0x1", .allocator = "engine", .breakdown = breakdown };
    hd_status status = hd_chrome_write(&heap, 1, NULL, hd_out_memory(&file), &err);
    assert_int_equal(status, breakdown ? HD_OK : HD_INVALID);
    hd_record_free(rec, p);
    hd_buffer_free(&file);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    hd_recorder_free(rec);
}

/* The quick start of the manual, which does not check. The OS or the allocator refuses at each place. */
static void the_quick_start_survives_when_there_is_no_memory(void **state) {
    (void)state;
    hd_snapshot_options options = { .options.limits.max_memory = 0 };
    for (map_fail_from = 1; map_calls = 0, map_fail_from < 200; map_fail_from++) {
        quick_start(&options);
        if (map_calls < map_fail_from) break;
    }
    assert_in_range(map_fail_from, 10, 199);
    map_fail_from = 0;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        options.options.allocator = hd__faults_allocator(&f);
        quick_start(&options);
        assert_int_equal(f.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freeing_null_is_fine),
        cmocka_unit_test(no_recorder_records_nothing),
        cmocka_unit_test(no_register_and_no_contexts_hold_nothing),
        cmocka_unit_test(no_profile_is_an_invalid_argument),
        cmocka_unit_test(the_quick_start_survives_when_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
