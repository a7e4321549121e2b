/* Profiles when memory runs out, limits are reached, the output fails, or the caller cancels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"

/* A profile with ties, <self>, chains, and enough nodes and cells for arrays to grow. */
static void fill(hd_profile *p) {
    uint64_t r = 11;
    for (int i = 0; i < 60; i++) {
        char backtrace[32], type[8];
        snprintf(backtrace, sizeof backtrace, "/a%d/b%d/c%d", (int)hd__test_below(&r, 3), (int)hd__test_below(&r, 4),
                 (int)hd__test_below(&r, 5));
        if (i % 7 == 0) backtrace[6] = 0;
        snprintf(type, sizeof type, "/T%d", i % 3);
        add_cell(p, backtrace, type, hd__test_below(&r, 50), 1);
    }
}

/* Calls that make a result from `profile` or `breakdown`, and write it as text. */
typedef struct fixture {
    hd_profile *profile;
    hd_breakdown *breakdown;
} fixture;

static char *text_of(hd_breakdown *b) {
    char *text = breakdown_text(b);
    hd_breakdown_free(b);
    return text;
}

static uint32_t rename_frames(void *user, hd_str name, hd_str *path) {
    (void)user;
    path[0] = name;
    if (hd_str_equal(name, hd_cstr("b1"))) return 0;
    if (hd_str_equal(name, hd_cstr("b2"))) path[0] = hd_cstr("b3");
    if (hd_str_equal(name, hd_cstr("c2"))) path[1] = hd_cstr("inlined into a name longer than any before it");
    return hd_str_equal(name, hd_cstr("c2")) ? 2 : 1;
}

static hd_status run_export(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_breakdown *b = NULL;
    hd_status status = hd_export(f->profile, &(hd_cutoff){ .top = 3, .min_bytes = 2 }, o, &b, err);
    if (!status) *text = text_of(b);
    else assert_null(b);
    return status;
}

static hd_status run_cut(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_breakdown *b = NULL;
    hd_status status = hd_breakdown_cut(f->breakdown, &(hd_cutoff){ .top = 3 }, o, &b, err);
    if (!status) *text = text_of(b);
    else assert_null(b);
    return status;
}

static hd_status run_from_cumulative(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_breakdown *b = NULL;
    hd_status status = hd_breakdown_from_cumulative(f->profile, o, &b, err);
    if (!status) *text = text_of(b);
    else assert_null(b);
    return status;
}

static hd_status run_rename(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_profile *p = NULL;
    hd_status status = hd_profile_rename(f->profile, 0, rename_frames, NULL, o, &p, err);
    if (!status) *text = profile_text(p);
    else assert_null(p);
    hd_profile_free(p);
    return status;
}

static hd_status put_row(void *user, const hd_tree_row *row) {
    fprintf((FILE *)user, "%" PRIu32 " %" PRIu64 " %.*s\n", row->depth, row->amount.bytes, (int)row->name.len, row->name.data);
    return HD_OK;
}

static hd_status run_tree(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    size_t size;
    char *rows;
    FILE *file = open_memstream(&rows, &size);
    hd_status status = hd_tree(&(hd_heap){ .profile = f->profile }, &(hd_tree_options){ .options = *o, .every_route = true },
                               put_row, file, err);
    fclose(file);
    if (!status) *text = rows;
    else free(rows);
    return status;
}

static hd_status run_print(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd__write_faults w = { 0 };
    hd_status status = hd_print_tree(&(hd_heap){ .breakdown = f->breakdown }, &(hd_tree_options){ .options = *o },
                                     hd__faults_out(&w), NULL);
    err->status = status; /* the call has no error of its own */
    if (!status) {
        assert_int_equal(hd__faults_write(&w, "", 1), HD_OK);
        *text = strdup((const char *)w.data);
    }
    hd__write_faults_free(&w);
    return status;
}

typedef hd_status (*run_fn)(const fixture *f, const hd_options *o, char **text, hd_error *err);

static const struct {
    const char *name;
    run_fn run;
} runs[] = {
    { "export", run_export }, { "cut", run_cut },   { "from cumulative", run_from_cumulative },
    { "rename", run_rename }, { "tree", run_tree }, { "print", run_print },
};
enum { RUNS = sizeof runs / sizeof *runs };

static int set_up(void **state) {
    fixture *f = (fixture *)calloc(1, sizeof *f);
    f->profile = profile_new(2);
    fill(f->profile);
    f->breakdown = exported(f->profile, (hd_cutoff){ 0 });
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = (fixture *)*state;
    hd_breakdown_free(f->breakdown);
    hd_profile_free(f->profile);
    free(f);
    return 0;
}

static void each_failing_allocation_comes_back_as_a_status(void **state) {
    const fixture *f = (const fixture *)*state;
    for (int k = 0; k < RUNS; k++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        char *expected = NULL;
        hd_error err = { 0 };
        uint64_t failures = 0;
        print_message("           %s\n", runs[k].name);
        assert_int_equal(runs[k].run(f, &options, &expected, &err), HD_OK);
        HD__EACH_FAULT(faults) {
            char *text = NULL;
            hd_error e = { 0 };
            hd_status status = runs[k].run(f, &options, &text, &e);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
            if (!faults.failed) {
                assert_int_equal(status, HD_OK);
                assert_int_equal(e.status, HD_OK);
                assert_text(text, expected);
                continue;
            }
            assert_int_equal(status, HD_OUT_OF_MEMORY);
            assert_int_equal(e.status, HD_OUT_OF_MEMORY);
            assert_null(text);
            failures++;
        }
        assert_true(failures > 5);
        free(expected);
    }
}

/* "bytes allocated at a time", in the whole call. */
static void memory_stays_within_its_limit(void **state) {
    const fixture *f = (const fixture *)*state;
    for (int k = 0; k < RUNS; k++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        hd_status status = HD_LIMIT;
        size_t refused = 0;
        print_message("           %s\n", runs[k].name);
        for (uint64_t limit = 1; status == HD_LIMIT; limit += 1 + limit / 16) {
            char *text = NULL;
            hd_error err = { 0 };
            options.limits.max_memory = limit;
            faults.peak = 0;
            status = runs[k].run(f, &options, &text, &err);
            if (status) assert_int_equal(status, HD_LIMIT);
            assert_int_equal(err.status, status);
            assert_true(faults.peak <= limit);
            assert_int_equal(faults.live, 0);
            refused += status == HD_LIMIT;
            free(text);
        }
        assert_true(refused > 10);
    }
}

static void limit_is_reported_without_an_error_struct(void **state) {
    const fixture *f = (const fixture *)*state;
    hd_options options = { .limits.max_memory = 100 };
    hd_profile *p = NULL;
    hd_breakdown *b = NULL;
    assert_int_equal(hd_profile_rename(f->profile, 0, rename_frames, NULL, &options, &p, NULL), HD_LIMIT);
    assert_int_equal(hd_export(f->profile, NULL, &options, &b, NULL), HD_LIMIT);
    assert_null(p);
    assert_null(b);
}

static void records_stay_within_their_limit(void **state) {
    const fixture *f = (const fixture *)*state;
    uint32_t entries = f->breakdown->entries.count;
    hd_options options = { .limits.max_records = entries };
    hd_breakdown *b = NULL;
    hd_error err;
    assert_int_equal(hd_export(f->profile, NULL, &options, &b, &err), HD_OK);
    hd_breakdown_free(b);
    b = NULL;
    options.limits.max_records--;
    assert_int_equal(hd_export(f->profile, NULL, &options, &b, &err), HD_LIMIT);
    assert_int_equal(err.status, HD_LIMIT);
    assert_null(b);

    hd_profile_desc desc = { .axis_count = 1, .limits.max_records = 3 };
    hd_profile *p = hd_profile_create(&desc, NULL);
    uint32_t node[3];
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("a"), &node[0], NULL), HD_OK);
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("b"), &node[1], NULL), HD_OK);
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("c"), &node[2], NULL), HD_LIMIT);
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("a"), &node[2], NULL), HD_OK);
    assert_int_equal(node[2], node[0]);
    hd_profile_free(p);
}

/* A failed call leaves nothing behind, and can be repeated. */
static void profile_that_is_being_filled_survives_each_failing_allocation(void **state) {
    (void)state;
    hd__faults faults = { 0 };
    hd_profile_desc desc = { .allocator = hd__faults_allocator(&faults) };
    hd_profile *whole = profile_new(2);
    fill(whole);
    hd_axis axes[2] = { hd_profile_axis(whole, 0), hd_profile_axis(whole, 1) };
    hd_rows cells = hd_profile_cells(whole);
    hd_breakdown *expected = exported(whole, (hd_cutoff){ 0 });
    HD__EACH_FAULT(faults) {
        hd_error err = { 0 };
        hd_profile *p = hd_profile_create(&desc, &err);
        if (!p) {
            assert_int_equal(err.status, HD_OUT_OF_MEMORY);
            assert_int_equal(faults.live, 0);
            continue;
        }
        for (uint32_t a = 0; a < 2; a++)
            for (uint32_t i = 1; i < axes[a].node_count; i++) {
                uint32_t node = 12345;
                hd_status status = hd_profile_node(p, a, axes[a].parent[i], axes[a].node_name[i], &node, NULL);
                if (status) {
                    assert_int_equal(status, HD_OUT_OF_MEMORY);
                    assert_int_equal(node, 12345);
                    assert_int_equal(hd_profile_axis(p, a).node_count, i);
                    assert_int_equal(hd_profile_node(p, a, axes[a].parent[i], axes[a].node_name[i], &node, NULL), HD_OK);
                }
                assert_int_equal(node, i);
            }
        for (uint32_t i = 0; i < cells.count; i++)
            while (hd_profile_add(p, cells.node + 2 * (size_t)i, cells.amount[i].bytes, cells.amount[i].blocks, NULL))
                assert_int_equal(hd_profile_cells(p).count, i);
        hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
        assert_true(breakdowns_equal(b, expected));
        hd_breakdown_free(b);
        hd_profile_free(p);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
    }
    assert_true(faults.fail_at > 10);
    hd_breakdown_free(expected);
    hd_profile_free(whole);
}

static void each_failing_write_stops_the_printing(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd__write_faults whole = { 0 };
    for (int i = 0; i < 1000; i++) {
        char path[16];
        snprintf(path, sizeof path, "/f%d/g", i);
        add_cell(p, path, NULL, (uint64_t)i, 1);
    }
    hd_heap heap = { .profile = p };
    assert_int_equal(hd_print_tree(&heap, NULL, hd__faults_out(&whole), NULL), HD_OK);
    assert_true(whole.count > 10);
    for (uint64_t i = 1; i <= whole.count; i++) {
        hd__write_faults w = { .fail_at = i, .status = i % 2 ? HD_IO : HD_LIMIT };
        assert_int_equal(hd_print_tree(&heap, NULL, hd__faults_out(&w), NULL), w.status);
        assert_int_equal(w.after, 0);
        assert_int_equal(w.count, i);
        assert_memory_equal(w.data ? w.data : whole.data, whole.data, w.size);
        hd__write_faults_free(&w);
    }
    hd__write_faults_free(&whole);
    hd_profile_free(p);
}

typedef struct progress_seen {
    uint64_t calls, stop_at, last;
} progress_seen;

static bool progress(void *user, uint64_t done, uint64_t total) {
    progress_seen *seen = (progress_seen *)user;
    assert_true(done >= seen->last && done <= total);
    seen->last = done;
    return ++seen->calls != seen->stop_at;
}

static void export_reports_progress_and_can_be_cancelled(void **state) {
    (void)state;
    hd__faults faults = { 0 };
    hd_profile *p = profile_new(2);
    uint64_t r = 3;
    for (int i = 0; i < 20000; i++) {
        char path[32], type[8];
        snprintf(path, sizeof path, "/f%d/g%d/h", (int)hd__test_below(&r, 100), (int)hd__test_below(&r, 100));
        snprintf(type, sizeof type, "/T%d", i % 5);
        add_cell(p, path, type, 1 + hd__test_below(&r, 100), 1);
    }
    progress_seen whole = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults), .progress = progress, .progress_user = &whole };
    hd_breakdown *b = NULL;
    assert_int_equal(hd_export(p, NULL, &options, &b, NULL), HD_OK);
    hd_breakdown_free(b);
    assert_true(whole.calls > 3);
    for (uint64_t stop = 1; stop <= whole.calls; stop++) {
        progress_seen seen = { .stop_at = stop };
        hd_error err = { 0 };
        options.progress_user = &seen;
        b = NULL;
        assert_int_equal(hd_export(p, NULL, &options, &b, &err), HD_CANCELLED);
        assert_int_equal(err.status, HD_CANCELLED);
        assert_null(b);
        assert_int_equal(seen.calls, stop);
        assert_int_equal(faults.live, 0);
    }
    hd_profile_free(p);
}

/* Memory that only the breakdown needed does not count while the tree is printed. */
static void a_tree_needs_no_more_than_it_takes(void **state) {
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    hd__faults f = { 0 };
    hd_tree_options options = { .options.allocator = hd__faults_allocator(&f) };
    uint64_t most;
    (void)state;
    for (int diff = 0; diff < 2; diff++) {
        hd__write_faults w = { 0 };
        options.options.limits.max_memory = 0;
        f.peak = 0;
        assert_int_equal(diff ? hd_print_diff(&heap, &heap, &options, hd__faults_out(&w), NULL)
                              : hd_print_tree(&heap, &options, hd__faults_out(&w), NULL), HD_OK);
        most = f.peak;
        options.options.limits.max_memory = most;
        assert_int_equal(diff ? hd_print_diff(&heap, &heap, &options, hd__faults_out(&w), NULL)
                              : hd_print_tree(&heap, &options, hd__faults_out(&w), NULL), HD_OK);
        assert_int_equal(f.live, 0);
        hd__write_faults_free(&w);
    }
    hd_profile_free(p);
}

/* Two axes of chains, and cells that are all below one chain: no level of the chain may copy all cells. */
static void a_cut_off_over_two_chains_takes_memory_in_proportion(void **state) {
    enum { DEPTH = 400 };
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    hd_profile *p = hd_profile_create(&(hd_profile_desc){ .allocator = hd__faults_allocator(&f) }, NULL);
    uint32_t at[2] = { 0, 0 };
    hd_breakdown *b;
    uint64_t input;
    (void)state;
    for (uint32_t i = 0; i < DEPTH; i++) assert_int_equal(hd_profile_node(p, 1, at[1], hd_cstr("t"), &at[1], NULL), HD_OK);
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        assert_int_equal(hd_profile_node(p, 0, at[0], hd_cstr("f"), &at[0], NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, at, i ? 1 : 1000000, 1, NULL), HD_OK);
    }
    input = f.live;
    f.peak = f.live;
    assert_int_equal(hd_export(p, &(hd_cutoff){ .min_bytes = 100000 }, &options, &b, NULL), HD_OK);
    assert_int_equal(b->entries.count, 3 * (DEPTH + 1)); /* for the root, the first frame, and its "<self>" */
    assert_in_range(f.peak - input, 0, 16 * input);
    hd_breakdown_free(b);
    hd_profile_free(p);
    assert_int_equal(f.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_failing_allocation_comes_back_as_a_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_stays_within_its_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limit_is_reported_without_an_error_struct, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_stay_within_their_limit, set_up, tear_down),
        cmocka_unit_test(profile_that_is_being_filled_survives_each_failing_allocation),
        cmocka_unit_test(each_failing_write_stops_the_printing),
        cmocka_unit_test(export_reports_progress_and_can_be_cancelled),
        cmocka_unit_test(a_tree_needs_no_more_than_it_takes),
        cmocka_unit_test(a_cut_off_over_two_chains_takes_memory_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
