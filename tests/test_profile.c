/* Profiles and breakdowns: the document's own example, then each rule. test_profile_tree.c tests their trees,
   test_profile_random.c compares with a brute-force model, test_profile_faults.c lets memory, time or the output
   fail. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "private.h"
#include "heaps.h"

static void assert_cut(const hd_profile *p, hd_cutoff cutoff, const char *expected) {
    hd_breakdown *b = exported(p, cutoff);
    assert_text(breakdown_text(b), expected);
    hd_breakdown_free(b);
}

/* The document's example. --------------------------------------------------------------------- */

static void document_with_64_bytes_at_least_lists_20_entries(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    assert_cut(p, (hd_cutoff){ .min_bytes = 64 },
               "/ / 1538 -\n"
               "/ /T 698 -\n"
               "/ /V 340 -\n"
               "/ /W 461 -\n"
               "/BrMain / 876 -\n"
               "/BrMain /T 465 -\n"
               "/BrMain /V 297 -\n"
               "/BrMain /W 96 -\n"
               "/BrMain/Init / 242 -\n"
               "/BrMain/Init /T 151 -\n"
               "/BrMain/Init /W 83 -\n"
               "/BrMain/MsgLp / 601 -\n"
               "/BrMain/MsgLp /T 307 -\n"
               "/BrMain/MsgLp /V 281 -\n"
               "/RdMain / 628 -\n"
               "/RdMain /T 229 -\n"
               "/RdMain /W 355 -\n"
               "/RdMain/RTask / 556 -\n"
               "/RdMain/RTask /T 211 -\n"
               "/RdMain/RTask /W 337 -\n");
    hd_profile_free(p);
}

static void document_without_cutoff_gives_every_row_and_column(void **state) {
    (void)state;
    static const char *const types[] = { "/T", "/U", "/V", "/W", "/" };
    static const struct {
        const char *backtrace;
        uint64_t bytes[5];
    } rows[] = {
        { "/", { 698, 39, 340, 461, 1538 } },
        { "/<self>", { 2, 3, 5, 7, 17 } },
        { "/BrMain", { 465, 18, 297, 96, 876 } },
        { "/BrMain/<self>", { 7, 11, 13, 2, 33 } },
        { "/BrMain/Init", { 151, 5, 3, 83, 242 } },
        { "/BrMain/MsgLp", { 307, 2, 281, 11, 601 } },
        { "/RdMain", { 229, 13, 31, 355, 628 } },
        { "/RdMain/<self>", { 3, 7, 17, 2, 29 } },
        { "/RdMain/RTask", { 211, 3, 5, 337, 556 } },
        { "/RdMain/FnA", { 2, 0, 7, 11, 20 } },
        { "/RdMain/FnB", { 13, 3, 2, 5, 23 } },
        { "/ColdFn", { 2, 5, 7, 3, 17 } },
    };
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    uint32_t cells = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < 5; t++) {
            if (rows[i].bytes[t]) assert_int_equal(bytes_at(b, rows[i].backtrace, types[t]), rows[i].bytes[t]);
            else assert_int_equal(entry_at(b, rows[i].backtrace, types[t]), HD_NONE);
            cells += rows[i].bytes[t] != 0;
        }
    assert_int_equal(b->entries.count, cells);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Cut-off policies. --------------------------------------------------------------------------- */

static void min_share_is_of_the_total_and_includes_its_bound(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a/x", NULL, 50, 1);
    add_cell(p, "/a/y", NULL, 20, 1); /* a quarter of /a, but not of the total */
    add_cell(p, "/b", NULL, 25, 1);
    add_cell(p, "/c", NULL, 5, 1);
    assert_cut(p, (hd_cutoff){ .min_share = 0.25 }, "/ 100 4\n/a 70 2\n/a/x 50 1\n/b 25 1\n");
    assert_cut(p, (hd_cutoff){ .min_share = 1 }, "/ 100 4\n");
    hd_profile_free(p);
}

static void min_parent_share_is_of_the_entry_broken_down(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a/x", NULL, 4, 1);
    add_cell(p, "/a/y", NULL, 6, 1);
    add_cell(p, "/b/x", NULL, 89, 1);
    add_cell(p, "/b/y", NULL, 1, 1);
    assert_cut(p, (hd_cutoff){ .min_parent_share = 0.5 }, "/ 100 4\n/b 90 2\n/b/x 89 1\n");
    assert_cut(p, (hd_cutoff){ .min_parent_share = 0.1 },
               "/ 100 4\n/a 10 2\n/a/x 4 1\n/a/y 6 1\n/b 90 2\n/b/x 89 1\n");
    hd_profile_free(p);
}

static void top_lists_the_largest_of_each_breakdown_ties_by_name(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/d", NULL, 5, 1);
    add_cell(p, "/b/z", NULL, 2, 1);
    add_cell(p, "/b/y", NULL, 2, 1);
    add_cell(p, "/b/yy", NULL, 1, 1);
    add_cell(p, "/c", NULL, 5, 1);
    add_cell(p, "/a", NULL, 4, 1);
    assert_cut(p, (hd_cutoff){ .top = 1 }, "/ 19 6\n/b 5 3\n/b/y 2 1\n");
    assert_cut(p, (hd_cutoff){ .top = 2 }, "/ 19 6\n/b 5 3\n/b/y 2 1\n/b/z 2 1\n/c 5 1\n");
    assert_cut(p, (hd_cutoff){ .top = 3 }, "/ 19 6\n/b 5 3\n/b/y 2 1\n/b/yy 1 1\n/b/z 2 1\n/c 5 1\n/d 5 1\n");
    hd_profile_free(p);
}

static void policies_that_are_set_must_all_hold(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a", NULL, 60, 1);
    add_cell(p, "/b", NULL, 30, 1);
    add_cell(p, "/c", NULL, 10, 1);
    assert_cut(p, (hd_cutoff){ .top = 2, .min_bytes = 10 }, "/ 100 3\n/a 60 1\n/b 30 1\n");
    assert_cut(p, (hd_cutoff){ .top = 2, .min_bytes = 31 }, "/ 100 3\n/a 60 1\n");
    assert_cut(p, (hd_cutoff){ .min_share = 0.1, .min_bytes = 31 }, "/ 100 3\n/a 60 1\n");
    assert_cut(p, (hd_cutoff){ .min_share = 0.1, .min_parent_share = 0.3 }, "/ 100 3\n/a 60 1\n/b 30 1\n");
    assert_cut(p, (hd_cutoff){ .min_bytes = 101 }, "/ 100 3\n");
    hd_profile_free(p);
}

/* T holds 8 of the 10 bytes of /a, but 8 of the 98 bytes of all T. Only the breakdown of /a by type lists the entry
   (/a, T). Its own breakdown continues from there. */
static void entry_is_listed_when_one_of_the_breakdowns_that_reach_it_lists_it(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a/x", "/T", 8, 1);
    add_cell(p, "/a/x", "/U", 2, 1);
    add_cell(p, "/b", "/T", 90, 1);
    assert_cut(p, (hd_cutoff){ .min_parent_share = 0.1, .min_bytes = 3 },
               "/ / 100 3\n"
               "/ /T 98 2\n"
               "/a / 10 2\n"
               "/a /T 8 1\n"
               "/a/x / 10 2\n"
               "/a/x /T 8 1\n"
               "/b / 90 1\n"
               "/b /T 90 1\n");
    assert_cut(p, (hd_cutoff){ .min_parent_share = 0.11, .min_bytes = 3 },
               "/ / 100 3\n"
               "/ /T 98 2\n"
               "/b / 90 1\n"
               "/b /T 90 1\n");
    hd_profile_free(p);
}

static void self_is_a_child_only_where_there_are_own_bytes_and_callees(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/both", "/T", 1, 1);
    add_cell(p, "/both/callee", "/T", 2, 1);
    add_cell(p, "/own", "/T", 4, 1);
    add_cell(p, "/callees/callee", "/T", 8, 1);
    path_node(p, 0, "/own/without bytes");
    assert_cut(p, (hd_cutoff){ 0 },
               "/ / 15 4\n"
               "/ /T 15 4\n"
               "/both / 3 2\n"
               "/both /T 3 2\n"
               "/both/<self> / 1 1\n"
               "/both/<self> /T 1 1\n"
               "/both/callee / 2 1\n"
               "/both/callee /T 2 1\n"
               "/callees / 8 1\n"
               "/callees /T 8 1\n"
               "/callees/callee / 8 1\n"
               "/callees/callee /T 8 1\n"
               "/own / 4 1\n"
               "/own /T 4 1\n");
    hd_profile_free(p);
}

static void self_that_is_there_already_takes_the_own_bytes(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/f", NULL, 1, 1);
    add_cell(p, "/f/<self>", NULL, 2, 1);
    add_cell(p, "/f/g", NULL, 4, 1);
    assert_cut(p, (hd_cutoff){ 0 }, "/ 7 3\n/f 7 3\n/f/<self> 3 2\n/f/g 4 1\n");
    hd_profile_free(p);
}

static void self_cells_on_the_type_axis_are_broken_out_too(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/f", "/", 1, 1);
    add_cell(p, "/f", "/T", 2, 1);
    assert_cut(p, (hd_cutoff){ 0 },
               "/ / 3 2\n/ /<self> 1 1\n/ /T 2 1\n/f / 3 2\n/f /<self> 1 1\n/f /T 2 1\n");
    hd_profile_free(p);
}

/* Breakdowns from cumulative entries. --------------------------------------------------------- */

static void assert_from_cumulative(hd_profile *p, const char *expected) {
    hd_breakdown *b;
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    assert_text(breakdown_text(b), expected);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void cumulative_entries_are_taken_as_they_are(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/b", "/", 60, 3);
    add_cell(p, "/", "/", 50, 9); /* less than its children: the library must not correct that */
    add_cell(p, "/b", "/T", 0, HD_UNKNOWN);
    add_cell(p, "/a/gap/c", "/T", 7, 1);
    assert_from_cumulative(p, "/ / 50 9\n/a/gap/c /T 7 1\n/b / 60 3\n/b /T 0 -\n");
}

static void total_that_is_absent_is_the_sum_of_the_topmost_entries(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a", "/", 60, 3);
    add_cell(p, "/a/b", "/", 50, 2);
    add_cell(p, "/c/gap/d", "/", 7, 1);
    assert_from_cumulative(p, "/ / 67 4\n/a / 60 3\n/a/b / 50 2\n/c/gap/d / 7 1\n");
}

/* By backtrace and by type the same bytes are listed twice: the larger sum is closer to the total. */
static void total_that_is_absent_is_the_larger_sum_of_the_axes(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a", "/", 60, 3);
    add_cell(p, "/", "/T", 70, 4);
    assert_from_cumulative(p, "/ / 70 4\n/ /T 70 4\n/a / 60 3\n");
}

static void entries_that_nothing_reaches_count_as_children_of_the_total(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a", "/T", 3, 1);
    add_cell(p, "/b", "/U", 4, 1);
    assert_from_cumulative(p, "/ / 7 2\n/a /T 3 1\n/b /U 4 1\n");
}

static void no_entries_are_a_total_of_zero(void **state) {
    (void)state;
    assert_from_cumulative(profile_new(3), "/ / / 0 0\n");
}

static void topmost_entries_that_pass_64_bits_together_are_an_error(void **state) {
    (void)state;
    hd_profile_desc desc = { .axis_count = 1 };
    hd_profile *p = hd_profile_create(&desc, NULL);
    add_cell(p, "/a", NULL, 1, 1);
    add_cell(p, "/b", NULL, 1, 1);
    p->cells.amount[0].bytes = UINT64_MAX; /* as in a file: hd_profile_add would refuse the sum */
    hd_breakdown *b = NULL;
    hd_error err;
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, &err), HD_OVERFLOW);
    assert_int_equal(err.status, HD_OVERFLOW);
    assert_null(b);
    hd_profile_free(p);
}

/* If both axes have the same sum, the axis with block counts wins. */
static void total_that_is_absent_keeps_blocks_that_are_known(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a", "/", 70, 3);
    add_cell(p, "/", "/T", 70, HD_UNKNOWN);
    assert_from_cumulative(p, "/ / 70 3\n/ /T 70 -\n/a / 70 3\n");
}

static void cutting_follows_gaps_to_the_nearest_listed_entry(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_breakdown *b, *cut;
    add_cell(p, "/", "/", 100, 9);
    add_cell(p, "/a/b/c", "/", 60, 3);
    add_cell(p, "/a/b/c", "/T", 31, 3);
    add_cell(p, "/a/b/d", "/", 5, 3);
    add_cell(p, "/x", "/T", 40, 3);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    assert_int_equal(hd_breakdown_cut(b, &(hd_cutoff){ .min_parent_share = 0.4 }, NULL, &cut, NULL), HD_OK);
    assert_text(breakdown_text(cut), "/ / 100 9\n/a/b/c / 60 3\n/a/b/c /T 31 3\n/x /T 40 3\n");
    hd_breakdown_free(cut);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void heap_is_broken_down_from_either_model(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 }), *a, *b;
    hd_cutoff cutoff = { .min_bytes = 64 };
    assert_int_equal(hd_heap_break_down(&(hd_heap){ .profile = p }, &cutoff, NULL, &a, NULL), HD_OK);
    assert_int_equal(hd_heap_break_down(&(hd_heap){ .breakdown = all }, &cutoff, NULL, &b, NULL), HD_OK);
    assert_true(breakdowns_equal(a, b));
    assert_int_equal(a->entries.count, 20);
    hd_breakdown_free(a);
    hd_breakdown_free(b);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

/* Renaming. ----------------------------------------------------------------------------------- */

static uint32_t rename_frames(void *user, hd_str name, hd_str *path) {
    ++*(uint32_t *)user;
    if (hd_str_equal(name, hd_cstr("drop"))) return 0;
    if (hd_str_equal(name, hd_cstr("inlined"))) {
        path[0] = hd_cstr("outer");
        path[1] = hd_cstr("middle");
        path[2] = hd_cstr("inner");
        return 3;
    }
    path[0] = hd_str_equal(name, hd_cstr("same as f")) ? hd_cstr("f") : name;
    return 1;
}

static void renaming_splits_merges_and_drops_nodes(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *renamed;
    uint32_t calls = 0;
    add_cell(p, "/main/inlined/f", "/f", 1, 1);
    add_cell(p, "/main/drop/drop/f", "/T", 2, 1);
    add_cell(p, "/main/f", "/T", 4, HD_UNKNOWN);
    add_cell(p, "/main/same as f", "/T", 8, 1);
    add_cell(p, "/drop", "/drop", 16, 1);
    assert_int_equal(hd_profile_rename(p, 0, rename_frames, &calls, NULL, &renamed, NULL), HD_OK);
    assert_text(profile_text(renamed),
                "/main/outer/middle/inner/f /f 1 1\n"
                "/main/f /T 14 -\n"
                "/ /drop 16 1\n");
    assert_int_equal(calls, 5); /* main, inlined, f, drop, same as f: one call for each */
    hd_profile_free(renamed);
    hd_profile_free(p);
}

static void renaming_types_keeps_backtraces(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *renamed;
    uint32_t calls = 0;
    add_cell(p, "/drop", "/drop", 1, 1);
    add_cell(p, "/drop", "/inlined", 2, 1);
    assert_int_equal(hd_profile_rename(p, 1, rename_frames, &calls, NULL, &renamed, NULL), HD_OK);
    assert_text(profile_text(renamed), "/drop / 1 1\n/drop /outer/middle/inner 2 1\n");
    hd_profile_free(renamed);
    hd_profile_free(p);
}

static uint32_t rename_to_most(void *user, hd_str name, hd_str *path) {
    (void)user;
    for (uint32_t i = 0; i < HD_RENAME_MAX; i++) path[i] = name;
    return HD_RENAME_MAX;
}

static void renaming_takes_paths_of_the_largest_length(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *renamed;
    add_cell(p, "/a/b", NULL, 1, 1);
    assert_int_equal(hd_profile_rename(p, 0, rename_to_most, NULL, NULL, &renamed, NULL), HD_OK);
    assert_int_equal(hd_profile_axis(renamed, 0).node_count, 1 + 2 * HD_RENAME_MAX);
    assert_int_equal(hd_profile_cells(renamed).amount[0].bytes, 1);
    hd_profile_free(renamed);
    hd_profile_free(p);
}

/* Arguments and sums out of range. ------------------------------------------------------------ */

static void axes_are_one_to_the_most_and_named(void **state) {
    (void)state;
    hd_error err = { 0 };
    hd_profile *p = hd_profile_create(NULL, &err);
    assert_int_equal(hd_profile_axis_count(p), 2);
    assert_string_equal(hd_profile_axis(p, HD_AXIS_BACKTRACE).name, "backtrace");
    assert_string_equal(hd_profile_axis(p, HD_AXIS_TYPE).name, "type");
    hd_profile_free(p);
    hd_profile_desc desc = { .axis_count = HD_MAX_AXES, .axis_name = { [1] = "thread" } };
    p = hd_profile_create(&desc, &err);
    assert_string_equal(hd_profile_axis(p, 1).name, "thread");
    assert_string_equal(hd_profile_axis(p, 2).name, "axis 2");
    hd_profile_free(p);
    desc.axis_count++;
    assert_null(hd_profile_create(&desc, &err));
    assert_int_equal(err.status, HD_INVALID);
    hd_profile_free(NULL);
    hd_breakdown_free(NULL);
}

static void node_is_found_again_by_its_parent_and_name(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    uint32_t a, again, below, other_axis;
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("a"), &a, NULL), HD_OK);
    assert_int_equal(hd_profile_node(p, 0, a, hd_cstr("a"), &below, NULL), HD_OK);
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("a"), &again, NULL), HD_OK);
    assert_int_equal(hd_profile_node(p, 1, 0, hd_cstr(""), &other_axis, NULL), HD_OK);
    assert_int_equal(a, again);
    assert_int_not_equal(a, below);
    assert_int_equal(other_axis, 1); /* an empty name is valid */
    assert_int_equal(hd_axis_child(hd_profile_axis(p, 0), a, hd_cstr("a")), below);
    assert_int_equal(hd_axis_child(hd_profile_axis(p, 0), below, hd_cstr("a")), HD_NONE);
    hd_profile_free(p);
}

static void arguments_out_of_range_are_invalid_and_change_nothing(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *renamed = p;
    hd_breakdown *all, *b = NULL;
    uint32_t node = 77, at[2] = { 0, 1 };
    add_cell(p, "/a", "/", 1, 1);
    assert_int_equal(hd_profile_node(p, 2, 0, hd_cstr("x"), &node, NULL), HD_INVALID);
    assert_int_equal(hd_profile_node(p, 0, 2, hd_cstr("x"), &node, NULL), HD_INVALID);
    assert_int_equal(hd_profile_node(p, 0, HD_NONE, hd_cstr("x"), &node, NULL), HD_INVALID);
    assert_int_equal(node, 77);
    assert_int_equal(hd_profile_add(p, at, 1, 1, NULL), HD_INVALID);
    assert_int_equal(hd_profile_cells(p).count, 1);
    assert_int_equal(hd_profile_rename(p, 2, rename_frames, &node, NULL, &renamed, NULL), HD_INVALID);
    assert_ptr_equal(renamed, p);
    all = exported(p, (hd_cutoff){ 0 });
    const hd_cutoff bad[] = { { .min_share = -0.1 }, { .min_share = 1.1 }, { .min_share = NAN },
                              { .min_parent_share = -0.1 }, { .min_parent_share = INFINITY } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_error err = { 0 };
        assert_int_equal(hd_export(p, &bad[i], NULL, &b, &err), HD_INVALID);
        assert_int_equal(err.status, HD_INVALID);
        assert_int_equal(hd_breakdown_cut(all, &bad[i], NULL, &b, &err), HD_INVALID);
    }
    assert_null(b);
    assert_int_equal(hd_heap_break_down(&(hd_heap){ 0 }, NULL, NULL, &b, NULL), HD_INVALID);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

static void totals_end_at_two_to_the_64_minus_two(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    uint32_t root = 0;
    assert_int_equal(hd_profile_add(p, &root, UINT64_MAX, 1, NULL), HD_OVERFLOW);
    assert_int_equal(hd_profile_add(p, &root, UINT64_MAX - 1, 1, NULL), HD_OK);
    assert_int_equal(hd_profile_add(p, &root, 1, 1, NULL), HD_OVERFLOW);
    assert_int_equal(hd_profile_add(p, &root, 0, UINT64_MAX - 1, NULL), HD_OVERFLOW);
    assert_int_equal(hd_profile_add(p, &root, 0, UINT64_MAX - 2, NULL), HD_OK);
    assert_text(profile_text(p), "/ 18446744073709551614 18446744073709551614\n");
    assert_cut(p, (hd_cutoff){ .min_share = 1, .min_parent_share = 1 }, "/ 18446744073709551614 18446744073709551614\n");
    assert_int_equal(hd_profile_add(p, &root, 0, HD_UNKNOWN, NULL), HD_OK);
    assert_text(profile_text(p), "/ 18446744073709551614 -\n");
    hd_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_with_64_bytes_at_least_lists_20_entries),
        cmocka_unit_test(document_without_cutoff_gives_every_row_and_column),
        cmocka_unit_test(min_share_is_of_the_total_and_includes_its_bound),
        cmocka_unit_test(min_parent_share_is_of_the_entry_broken_down),
        cmocka_unit_test(top_lists_the_largest_of_each_breakdown_ties_by_name),
        cmocka_unit_test(policies_that_are_set_must_all_hold),
        cmocka_unit_test(entry_is_listed_when_one_of_the_breakdowns_that_reach_it_lists_it),
        cmocka_unit_test(self_is_a_child_only_where_there_are_own_bytes_and_callees),
        cmocka_unit_test(self_that_is_there_already_takes_the_own_bytes),
        cmocka_unit_test(self_cells_on_the_type_axis_are_broken_out_too),
        cmocka_unit_test(cumulative_entries_are_taken_as_they_are),
        cmocka_unit_test(total_that_is_absent_is_the_sum_of_the_topmost_entries),
        cmocka_unit_test(total_that_is_absent_is_the_larger_sum_of_the_axes),
        cmocka_unit_test(entries_that_nothing_reaches_count_as_children_of_the_total),
        cmocka_unit_test(no_entries_are_a_total_of_zero),
        cmocka_unit_test(topmost_entries_that_pass_64_bits_together_are_an_error),
        cmocka_unit_test(total_that_is_absent_keeps_blocks_that_are_known),
        cmocka_unit_test(cutting_follows_gaps_to_the_nearest_listed_entry),
        cmocka_unit_test(heap_is_broken_down_from_either_model),
        cmocka_unit_test(renaming_splits_merges_and_drops_nodes),
        cmocka_unit_test(renaming_types_keeps_backtraces),
        cmocka_unit_test(renaming_takes_paths_of_the_largest_length),
        cmocka_unit_test(axes_are_one_to_the_most_and_named),
        cmocka_unit_test(node_is_found_again_by_its_parent_and_name),
        cmocka_unit_test(arguments_out_of_range_are_invalid_and_change_nothing),
        cmocka_unit_test(totals_end_at_two_to_the_64_minus_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
