/* Operations on heaps: merging, filtering, re-rooting, inverting, the names of an axis. Small heaps by hand first,
   then properties of random ones. test_profile_diff.c tests comparing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"

static hd_heap heap_of(const hd_profile *p) { return (hd_heap){ .profile = p }; }
static hd_heap heap_listing(const hd_breakdown *b) { return (hd_heap){ .breakdown = b }; }

static bool profiles_equal(const hd_profile *a, const hd_profile *b) {
    char *x = profile_text(a), *y = profile_text(b);
    bool equal = !strcmp(x, y);
    free(x);
    free(y);
    return equal;
}

/* The text of a result, which is freed; profiles are sorted first. */
static char *made_text(hd_heap made) {
    char *text;
    assert_true(!made.profile != !made.breakdown);
    if (made.profile) assert_int_equal(hd_profile_sort((hd_profile *)(uintptr_t)made.profile, NULL), HD_OK);
    text = made.profile ? profile_text(made.profile) : breakdown_text(made.breakdown);
    hd_heap_release(&made);
    return text;
}

static bool is_named(void *user, hd_str name) { return hd_str_equal(name, hd_cstr((const char *)user)); }

static hd_heap filtered(hd_heap heap, uint32_t axis, const char *name, bool keep) {
    hd_heap made;
    assert_int_equal(hd_filter(&heap, axis, is_named, (void *)(uintptr_t)name, keep, NULL, &made, NULL), HD_OK);
    return made;
}

static hd_heap rerooted(hd_heap heap, uint32_t axis, const char *name) {
    hd_heap made;
    assert_int_equal(hd_reroot(&heap, axis, is_named, (void *)(uintptr_t)name, NULL, &made, NULL), HD_OK);
    return made;
}

static hd_profile *random_profile(uint64_t *r, bool estimates) {
    hd_profile *p = profile_new(2);
    int cells = (int)hd__test_below(r, 20);
    for (int i = 0; i < cells; i++) {
        char path[32] = "", type[8] = "";
        int depth = (int)hd__test_below(r, 6);
        uint32_t nodes[2];
        for (int d = 0; d < depth; d++) snprintf(path + 2 * d, 3, "/%c", (int)('a' + hd__test_below(r, 4)));
        if (hd__test_below(r, 5)) snprintf(type, sizeof type, "/%c", (int)('T' + hd__test_below(r, 3)));
        nodes[0] = path_node(p, 0, path);
        nodes[1] = path_node(p, 1, type);
        assert_int_equal(add_estimate(p, nodes, hd__test_below(r, 100),
                                      hd__test_below(r, 12) ? hd__test_below(r, 5) : HD_UNKNOWN,
                                      estimates ? hd__test_below(r, 50) << hd__test_below(r, 58) : 0), HD_OK);
    }
    return p;
}

static hd_axis axis_of(const hd_heap *heap, uint32_t axis) {
    return heap->breakdown ? heap->breakdown->axis[axis] : hd_profile_axis(heap->profile, axis);
}

/* Hides by name; hiding by node must give the same. */
static hd_heap hiding(hd_heap heap, uint32_t axis, const char *name) {
    hd_axis names = axis_of(&heap, axis);
    bool *hidden = (bool *)calloc(names.node_count, sizeof *hidden);
    hd_heap made, by_node;
    char *text;
    for (uint32_t i = 1; i < names.node_count; i++) hidden[i] = hd_str_equal(names.node_name[i], hd_cstr(name));
    assert_int_equal(hd_hide_nodes(&heap, axis, hidden, NULL, NULL, &by_node, NULL), HD_OK);
    assert_int_equal(hd_hide(&heap, axis, is_named, (void *)(uintptr_t)name, NULL, &made, NULL), HD_OK);
    text = made_text(by_node);
    free(hidden);
    assert_text(made_text(made), text);
    free(text);
    assert_int_equal(hd_hide(&heap, axis, is_named, (void *)(uintptr_t)name, NULL, &made, NULL), HD_OK);
    return made;
}

/* Hides random nodes of random profiles, cell by cell: some give their own bytes a name. The sums stay. */
static void hidden_nodes_give_their_own_bytes_a_name(void **state) {
    uint64_t r = 41;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        hd_profile *p = random_profile(&r, true), *expected = profile_new(2);
        hd_heap heap = { .profile = p }, made, broken;
        hd_axis names = hd_profile_axis(p, 0);
        hd_rows cells = hd_profile_cells(p);
        bool hidden[256] = { false };
        hd_str own[256] = { { NULL, 0 } };
        char *text;
        hd_breakdown *b;
        assert_true(names.node_count < 256);
        for (uint32_t i = 1; i < names.node_count; i++) {
            hidden[i] = hd__test_below(&r, 2);
            own[i] = hd_cstr(hd__test_below(&r, 2) ? "[a]" : hd__test_below(&r, 2) ? "b" : "");
        }
        for (uint32_t i = 0; i < cells.count; i++) {
            uint32_t path[64], n = 0, nodes[2] = { 0, cells.node[2 * i + 1] }, at = cells.node[2 * i];
            char type[16] = "";
            if (nodes[1]) snprintf(type, sizeof type, "/%.*s", (int)hd_profile_axis(p, 1).node_name[nodes[1]].len,
                                   hd_profile_axis(p, 1).node_name[nodes[1]].data);
            nodes[1] = path_node(expected, 1, type);
            for (uint32_t k = at; k; k = names.parent[k]) path[n++] = k;
            while (n--)
                if (!hidden[path[n]] || (path[n] == at && own[at].len))
                    assert_int_equal(hd_profile_node(expected, 0, nodes[0], hidden[path[n]] ? own[at] : names.node_name[path[n]],
                                                     &nodes[0], NULL), HD_OK);
            assert_int_equal(hd_profile_add_amount(expected, nodes, &cells.amount[i], NULL), HD_OK);
        }
        assert_int_equal(hd_hide_nodes(&heap, 0, hidden, own, NULL, &made, NULL), HD_OK);
        assert_int_equal(hd_profile_bytes(made.profile), hd_profile_bytes(p));
        assert_int_equal(hd_profile_sort(expected, NULL), HD_OK);
        text = profile_text(expected);
        assert_text(made_text(made), text);
        free(text);
        /* A breakdown keeps its total, and the entries of shown nodes. */
        assert_int_equal(hd_export(p, NULL, NULL, &b, NULL), HD_OK);
        broken = (hd_heap){ .breakdown = b };
        for (uint32_t i = 0; i < b->axis[0].node_count && i < 256; i++) hidden[i] = i && hd__test_below(&r, 2);
        assert_int_equal(hd_hide_nodes(&broken, 0, hidden, own, NULL, &made, NULL), HD_OK);
        assert_int_equal(made.breakdown->entries.amount[0].bytes, hd_profile_bytes(p));
        hd_heap_release(&made);
        hd_breakdown_free(b);
        hd_profile_free(expected);
        hd_profile_free(p);
    }
}

static hd_heap inverted(hd_heap heap, uint32_t axis) {
    hd_heap made;
    assert_int_equal(hd_invert(&heap, axis, NULL, &made, NULL), HD_OK);
    return made;
}

static hd_status put_top(void *user, const hd_top_row *row) {
    FILE *f = (FILE *)user;
    fprintf(f, "%.*s %" PRIu64 " ", (int)row->name.len, row->name.data, row->self.bytes);
    put_blocks(f, row->self.blocks);
    fprintf(f, " %" PRIu64 " ", row->cumulative.bytes);
    put_blocks(f, row->cumulative.blocks);
    fprintf(f, "\n");
    return HD_OK;
}

/* One "name self-bytes self-blocks bytes blocks" per line. */
static char *top_text(hd_heap heap, hd_top_options options) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_int_equal(hd_top(&heap, &options, put_top, f, NULL), HD_OK);
    fclose(f);
    return text;
}

/* Merging. ------------------------------------------------------------------------------------ */

static void cells_of_one_path_add_up_whatever_their_numbers(void **state) {
    (void)state;
    hd_profile *a = profile_new(2), *b = profile_new(2);
    add_cell(a, "/main/f", "/T", 1, 1);
    add_cell(a, "/main", "/U", 2, 1);
    add_cell(b, "/other", "/U", 4, 2);
    add_cell(b, "/main", "/U", 8, 3);
    add_cell(b, "/main/f/g", NULL, 16, HD_UNKNOWN);
    assert_int_equal(hd_profile_merge(a, b, NULL), HD_OK);
    assert_text(profile_text(a), "/main/f /T 1 1\n"
                                 "/main /U 10 4\n"
                                 "/other /U 4 2\n"
                                 "/main/f/g / 16 -\n");
    assert_int_equal(hd_profile_bytes(a), 31);
    assert_int_equal(hd_profile_blocks(a), 7);
    assert_int_equal(hd_profile_sort(a, NULL), HD_OK);
    assert_text(profile_text(a), "/main /U 10 4\n"
                                 "/main/f /T 1 1\n"
                                 "/main/f/g / 16 -\n"
                                 "/other /U 4 2\n");
    assert_int_equal(hd_profile_bytes(a), 31);
    assert_int_equal(hd_profile_blocks(a), 7);
    add_cell(a, "/main/f", "/T", 32, 1); /* it can be filled further */
    assert_int_equal(hd_profile_cells(a).amount[1].bytes, 33);
    hd_profile_free(a);
    hd_profile_free(b);
}

static void profile_merged_with_itself_doubles(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    assert_int_equal(hd_profile_merge(p, p, NULL), HD_OK);
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 1000 });
    assert_text(breakdown_text(b), "/ / 3076 -\n/ /T 1396 -\n/BrMain / 1752 -\n/BrMain/MsgLp / 1202 -\n/RdMain / 1256 -\n"
                                   "/RdMain/RTask / 1112 -\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void nodes_without_cells_are_not_merged(void **state) {
    (void)state;
    hd_profile *a = profile_new(1), *b = profile_new(1);
    path_node(b, 0, "/many/nodes/here");
    add_cell(b, "/f", NULL, 1, 1);
    assert_int_equal(hd_profile_merge(a, b, NULL), HD_OK);
    assert_int_equal(hd_profile_axis(a, 0).node_count, 2);
    hd_profile_free(a);
    hd_profile_free(b);
}

static void axes_are_matched_by_name(void **state) {
    (void)state;
    hd_profile_desc desc = { .axis_count = 2, .axis_name = { "type", "thread" } };
    hd_profile *into = hd_profile_create(&desc, NULL);
    hd_profile *from = profile_new(2); /* backtrace, type */
    add_cell(from, "/f", "/T", 1, 1);
    add_cell(from, "/g", "/T", 2, 1);
    add_cell(from, "/g", "/U", 4, 1);
    assert_int_equal(hd_profile_merge(into, from, NULL), HD_OK);
    assert_text(profile_text(into), "/T / 3 2\n/U / 4 1\n");
    hd_profile_free(into);
    hd_profile_free(from);

    hd_error err;
    into = hd_profile_create(&(hd_profile_desc){ .axis_count = 2, .axis_name = { "type", "type" } }, NULL);
    from = profile_new(2);
    assert_int_equal(hd_profile_merge(into, from, &err), HD_INVALID);
    assert_string_equal(err.message, "two axes called \"type\"");
    assert_int_equal(hd_profile_merge(from, into, &err), HD_INVALID);
    hd_profile_free(into);
    hd_profile_free(from);
}

static void overflow_leaves_the_profile_as_it_was(void **state) {
    (void)state;
    hd_profile *a = profile_new(1), *b = profile_new(1);
    hd_error err;
    add_cell(a, "/f", NULL, UINT64_MAX - 10, 1);
    add_cell(b, "/f", NULL, 4, 1);
    add_cell(b, "/g", NULL, 6, 1);
    assert_int_equal(hd_profile_merge(a, b, &err), HD_OVERFLOW);
    assert_int_equal(err.status, HD_OVERFLOW);
    assert_text(profile_text(a), "/f 18446744073709551605 1\n");
    assert_int_equal(hd_profile_bytes(a), UINT64_MAX - 10);
    add_cell(a, "/h", NULL, 9, 1); /* cells that were undone can be added again */
    add_cell(a, "/g", NULL, 0, 5);
    assert_text(profile_text(a), "/f 18446744073709551605 1\n/h 9 1\n/g 0 5\n");
    hd_profile_free(a);
    hd_profile_free(b);
}

static hd_status breakdown_merge(const hd_breakdown *const *b, size_t n, const hd_options *o, hd_breakdown **out,
                                 hd_error *err) {
    hd_error own;
    hd_heap sum;
    hd_merger *merger = hd_merger_create(o, err ? err : (err = &own));
    hd_status status = merger ? HD_OK : err->status;
    for (size_t i = 0; i < n && !status; i++) {
        hd_heap heap = { .breakdown = b[i] };
        status = hd_merger_add(merger, &heap, err);
    }
    if (!status) status = hd_merger_finish(merger, &sum, err);
    if (!status) *out = (hd_breakdown *)(uintptr_t)sum.breakdown;
    hd_merger_free(merger);
    return status;
}

static void breakdowns_add_their_listed_entries(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2);
    hd_breakdown *b[2], *sum;
    add_cell(p, "/f/x", "/T", 60, 6);
    add_cell(p, "/f/y", "/U", 30, 3);
    add_cell(p, "/g", "/U", 10, 1);
    add_cell(q, "/f/x", "/U", 5, 1);
    add_cell(q, "/g", "/V", 20, 2);
    b[0] = exported(p, (hd_cutoff){ .min_bytes = 30 });
    b[1] = exported(q, (hd_cutoff){ .min_bytes = 20 });
    assert_int_equal(breakdown_merge((const hd_breakdown *const *)b, 2, NULL, &sum, NULL), HD_OK);
    assert_text(breakdown_text(sum), "/ / 125 13\n"    /* exact */
                                     "/ /T 60 6\n"
                                     "/ /U 40 4\n"     /* 45 in truth */
                                     "/ /V 20 2\n"
                                     "/f / 90 9\n"     /* 95 */
                                     "/f /T 60 6\n"
                                     "/f /U 30 3\n"
                                     "/f/x / 60 6\n"
                                     "/f/x /T 60 6\n"
                                     "/f/y / 30 3\n"
                                     "/f/y /U 30 3\n"
                                     "/g / 20 2\n"
                                     "/g /V 20 2\n");
    hd_breakdown_free(sum);
    hd_heap heaps[2] = { { .pid = 7, .allocator = "malloc", .dump = "0x1", .breakdown = b[0] },
                         { .pid = 7, .allocator = "malloc", .dump = "0x2", .profile = q } };
    hd_heap merged;
    assert_int_equal(hd_merge(heaps, 2, NULL, &merged, NULL), HD_OK);
    assert_int_equal(merged.pid, 7);
    assert_string_equal(merged.allocator, "malloc");
    assert_null(merged.dump);
    assert_int_equal(bytes_at(merged.breakdown, "/f", NULL), 95);
    hd_heap_release(&merged);
    heaps[0].breakdown = NULL;
    heaps[0].profile = p;
    assert_int_equal(hd_merge(heaps, 2, NULL, &merged, NULL), HD_OK);
    assert_non_null(merged.profile);
    assert_int_equal(hd_profile_bytes(merged.profile), 125);
    hd_heap_release(&merged);
    hd_breakdown_free(b[0]);
    hd_breakdown_free(b[1]);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void breakdowns_unite_their_axes(void **state) {
    (void)state;
    const char *names[3][2] = { { "zone", "backtrace" }, { "type", "arena" }, { "backtrace", "type" } };
    const char *united[4] = { "backtrace", "type", "arena", "zone" };
    hd_breakdown *b[3], *sum;
    hd_error err;
    for (int i = 0; i < 3; i++) {
        hd_profile_desc desc = { .axis_count = 2, .axis_name = { names[i][0], names[i][1] } };
        hd_profile *p = hd_profile_create(&desc, NULL);
        add_cell(p, "/a", "/b", 1u << i, 1);
        b[i] = exported(p, (hd_cutoff){ 0 });
        hd_profile_free(p);
    }
    assert_int_equal(breakdown_merge((const hd_breakdown *const *)b, 3, NULL, &sum, NULL), HD_OK);
    assert_int_equal(sum->entries.axis_count, 4);
    for (int a = 0; a < 4; a++) assert_string_equal(sum->axis[a].name, united[a]);
    assert_text(breakdown_text(sum), "/ / / / 7 3\n"
                                     "/ / / /a 1 1\n"
                                     "/ / /b / 2 1\n"
                                     "/ /a / / 2 1\n"
                                     "/ /a /b / 2 1\n"
                                     "/ /b / / 4 1\n"
                                     "/a / / / 4 1\n"
                                     "/a /b / / 4 1\n"
                                     "/b / / / 1 1\n"
                                     "/b / / /a 1 1\n");
    hd_breakdown_free(sum);
    assert_int_equal(breakdown_merge(NULL, 0, NULL, &sum, &err), HD_INVALID);
    for (int i = 0; i < 3; i++) hd_breakdown_free(b[i]);
}

/* Filtering. ---------------------------------------------------------------------------------- */

/* f is called from two places, and calls itself. */
static hd_profile *calls_profile(void) {
    hd_profile *p = profile_new(2);
    add_cell(p, "/main", "/T", 1, 1);
    add_cell(p, "/main/f", "/T", 2, 1);
    add_cell(p, "/main/f/g", "/U", 4, 1);
    add_cell(p, "/main/f/g/f", "/T", 8, 1);
    add_cell(p, "/main/h/f/g", "/U", 16, 1);
    add_cell(p, "/main/h", "/U", 32, 1);
    return p;
}

static void filter_keeps_or_drops_cells_at_or_below(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    assert_text(made_text(filtered(heap_of(p), 0, "g", true)), "/main/f/g /U 4 1\n"
                                                               "/main/f/g/f /T 8 1\n"
                                                               "/main/h/f/g /U 16 1\n");
    assert_text(made_text(filtered(heap_of(p), 0, "g", false)), "/main /T 1 1\n"
                                                                "/main/f /T 2 1\n"
                                                                "/main/h /U 32 1\n");
    assert_text(made_text(filtered(heap_of(p), 1, "U", true)), "/main/f/g /U 4 1\n"
                                                               "/main/h /U 32 1\n"
                                                               "/main/h/f/g /U 16 1\n");
    assert_text(made_text(filtered(heap_of(p), 0, "nothing", true)), "");
    hd_profile_free(p);
}

static void filter_of_a_breakdown_has_the_listed_bytes(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 8 });
    assert_text(made_text(filtered(heap_listing(b), 0, "g", true)), "/ / 28 3\n"
                                                                    "/ /T 8 1\n"
                                                                    "/ /U 16 1\n" /* the true value is 4 bytes more */
                                                                    "/main / 28 3\n"
                                                                    "/main /T 8 1\n"
                                                                    "/main /U 16 1\n"
                                                                    "/main/f / 12 2\n"
                                                                    "/main/f /T 8 1\n"
                                                                    "/main/f/g / 12 2\n"
                                                                    "/main/f/g /T 8 1\n"
                                                                    "/main/f/g/f / 8 1\n"
                                                                    "/main/f/g/f /T 8 1\n"
                                                                    "/main/h / 16 1\n"
                                                                    "/main/h /U 16 1\n"
                                                                    "/main/h/f / 16 1\n"
                                                                    "/main/h/f /U 16 1\n"
                                                                    "/main/h/f/g / 16 1\n"
                                                                    "/main/h/f/g /U 16 1\n");
    assert_text(made_text(filtered(heap_listing(b), 0, "g", false)), "/ / 35 3\n"
                                                                     "/ /T 3 2\n"
                                                                     "/ /U 36 2\n" /* 32 in truth */
                                                                     "/main / 35 3\n"
                                                                     "/main /T 3 2\n"
                                                                     "/main /U 36 2\n"
                                                                     "/main/f / 2 1\n"
                                                                     "/main/f /T 2 1\n"
                                                                     "/main/h / 32 1\n"
                                                                     "/main/h /U 32 1\n"
                                                                     "/main/h/<self> / 32 1\n"
                                                                     "/main/h/<self> /U 32 1\n");
    assert_text(made_text(filtered(heap_listing(b), 0, "nothing", true)), "/ / 0 0\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void hidden_nodes_leave_their_bytes_to_the_parent(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    assert_text(made_text(hiding(heap_of(p), 0, "f")), "/main /T 3 2\n"
                                                       "/main/g /T 8 1\n"
                                                       "/main/g /U 4 1\n"
                                                       "/main/h /U 32 1\n"
                                                       "/main/h/g /U 16 1\n");
    assert_text(made_text(hiding(heap_of(p), 0, "main")), "/ /T 1 1\n"
                                                          "/f /T 2 1\n"
                                                          "/f/g /U 4 1\n"
                                                          "/f/g/f /T 8 1\n"
                                                          "/h /U 32 1\n"
                                                          "/h/f/g /U 16 1\n");
    assert_text(made_text(hiding(heap_of(p), 1, "U")), "/main /T 1 1\n"
                                                       "/main/f /T 2 1\n"
                                                       "/main/f/g / 4 1\n"
                                                       "/main/f/g/f /T 8 1\n"
                                                       "/main/h / 32 1\n"
                                                       "/main/h/f/g / 16 1\n");
    hd_profile_free(p);
}

/* Rows of a breakdown are cumulative: the bytes of a hidden node are in its parent's row already. */
static void hidden_nodes_of_a_breakdown(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_breakdown *b;
    add_cell(p, "/main", NULL, 1, 1);
    add_cell(p, "/main/malloc", NULL, 10, 2);
    add_cell(p, "/main/new/malloc", NULL, 20, 3);
    add_cell(p, "/main/new/make", NULL, 5, 1);
    b = exported(p, (hd_cutoff){ 0 });
    assert_text(made_text(hiding(heap_listing(b), 0, "malloc")), "/ 36 7\n"
                                                                 "/main 36 7\n"
                                                                 "/main/<self> 11 3\n"
                                                                 "/main/new 25 4\n"
                                                                 "/main/new/<self> 20 3\n"
                                                                 "/main/new/make 5 1\n");
    assert_text(made_text(hiding(heap_listing(b), 0, "new")), "/ 36 7\n"
                                                              "/main 36 7\n"
                                                              "/main/<self> 1 1\n"
                                                              "/main/make 5 1\n"
                                                              "/main/malloc 30 5\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void reroot_starts_paths_at_the_outermost_match(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    assert_text(made_text(rerooted(heap_of(p), 0, "f")), "/f /T 2 1\n"
                                                         "/f/g /U 20 2\n"
                                                         "/f/g/f /T 8 1\n");
    assert_text(made_text(rerooted(heap_of(p), 1, "U")), "/main/f/g /U 4 1\n"
                                                         "/main/h /U 32 1\n"
                                                         "/main/h/f/g /U 16 1\n");
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 8 });
    assert_text(made_text(rerooted(heap_listing(b), 0, "f")), "/ / 30 4\n"
                                                              "/ /T 10 2\n"
                                                              "/ /U 16 1\n"
                                                              "/f / 30 4\n"
                                                              "/f /T 10 2\n"
                                                              "/f /U 16 1\n"
                                                              "/f/g / 28 3\n"
                                                              "/f/g /T 8 1\n"
                                                              "/f/g /U 16 1\n"
                                                              "/f/g/f / 8 1\n"
                                                              "/f/g/f /T 8 1\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void invert_puts_the_innermost_first(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    add_cell(p, "/main/<self>", "/T", 64, 1); /* counts as main */
    assert_text(made_text(inverted(heap_of(p), 0)), "/f/g/f/main /T 8 1\n"
                                                    "/f/main /T 2 1\n"
                                                    "/g/f/h/main /U 16 1\n"
                                                    "/g/f/main /U 4 1\n"
                                                    "/h/main /U 32 1\n"
                                                    "/main /T 65 2\n");
    hd_profile_free(p);
}

/* A cell in each of 20,000 frames of one chain: inverting it completely would need ten million names. */
static void inverted_chains_stay_in_proportion(void **state) {
    (void)state;
    enum { DEEP = 20000, ROOM = 1048576 + 32 * (DEEP + 1) };
    hd_profile *p = profile_new(1);
    uint32_t node = 0, kept = 0, names = 0;
    for (int i = 0; i < DEEP; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(hd_profile_node(p, 0, node, hd_cstr(name), &node, NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, &node, 3, 1, NULL), HD_OK);
    }
    /* one more name for each path that is long enough */
    for (; names + (DEEP - kept) <= ROOM; kept++) names += DEEP - kept;
    assert_int_equal(kept, 84);
    hd_heap made = inverted(heap_of(p), 0);
    hd_axis axis = hd_profile_axis(made.profile, 0);
    assert_int_equal(axis.node_count, names + 1);
    assert_int_equal(hd_profile_bytes(made.profile), 3 * DEEP);
    assert_int_equal(hd_profile_cells(made.profile).count, DEEP);
    assert_in_range(made.profile->mem.used, 1, 60 * names);
    uint32_t *depth = calloc(axis.node_count, sizeof *depth), deepest = 0;
    for (uint32_t i = 1; i < axis.node_count; i++) {
        depth[i] = depth[axis.parent[i]] + 1;
        if (depth[i] > deepest) deepest = depth[i];
    }
    assert_int_equal(deepest, kept);
    free(depth);
    hd_heap_release(&made);
    hd_profile_free(p);
}

static void keep_warning(void *user, const hd_error *warning) { *(hd_error *)user = *warning; }

static void inverted_paths_end_at_their_limit(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    uint32_t node = 0;
    for (int i = 0; i < HD_INVERT_MAX + 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(hd_profile_node(p, 0, node, hd_cstr(name), &node, NULL), HD_OK);
    }
    assert_int_equal(hd_profile_add(p, &node, 3, 1, NULL), HD_OK);
    hd_error told = { 0 };
    hd_options options = { .warning = keep_warning, .warning_user = &told };
    hd_heap made, whole = heap_of(p);
    assert_int_equal(hd_invert(&whole, 0, &options, &made, NULL), HD_OK);
    assert_int_equal(told.status, HD_LIMIT);
    assert_string_equal(told.message, "1 inverted paths have more than 512 names: the outermost are left out");
    hd_axis axis = hd_profile_axis(made.profile, 0);
    assert_int_equal(axis.node_count, HD_INVERT_MAX + 1);
    assert_true(hd_str_equal(axis.node_name[1], hd_cstr("f521")));
    assert_true(hd_str_equal(axis.node_name[HD_INVERT_MAX], hd_cstr("f10")));
    hd_heap_release(&made);
    told.status = HD_OK;         /* a cut-off does not list the missing names, so there is no warning */
    assert_int_equal(hd_invert_for(&whole, 0, &(hd_cutoff){ .min_bytes = 4 }, &options, &made, NULL), HD_OK);
    assert_int_equal(told.status, HD_OK);
    hd_heap_release(&made);
    hd_profile_free(p);
}

static void breakdown_over_one_axis_can_be_inverted(void **state) {
    (void)state;
    hd_profile *p = calls_profile(), *backtraces;
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 8 }), *one;
    hd_heap made, heap = heap_listing(b);
    hd_error err;
    assert_int_equal(hd_invert(&heap, 0, NULL, &made, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "a breakdown over several axes cannot be inverted, because its cells are "
                                     "unknown: take the profile of one of its axes");
    assert_int_equal(hd_breakdown_axis_profile(b, 0, NULL, &backtraces, NULL), HD_OK);
    assert_text(profile_text(backtraces), "/main 1 1\n"        /* not listed */
                                          "/main/f 2 1\n"
                                          "/main/f/g 4 1\n"
                                          "/main/f/g/f 8 1\n"
                                          "/main/h 32 1\n"     /* "<self>" */
                                          "/main/h/f/g 16 1\n");
    one = exported(backtraces, (hd_cutoff){ .min_bytes = 9 });
    assert_text(made_text(inverted(heap_listing(one), 0)), "/f/main 2 1\n"
                                                           "/g/f/h/main 16 1\n"
                                                           "/g/f/main 12 2\n"
                                                           "/h/main 32 1\n"
                                                           "/main 1 1\n");
    hd_breakdown_free(one);
    hd_profile_free(backtraces);
    assert_int_equal(hd_breakdown_axis_profile(b, 1, NULL, &backtraces, NULL), HD_OK);
    assert_text(profile_text(backtraces), "/T 11 3\n/U 52 3\n");
    hd_profile_free(backtraces);
    assert_int_equal(hd_breakdown_axis_profile(b, 2, NULL, &backtraces, &err), HD_INVALID);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Names. -------------------------------------------------------------------------------------- */

static void name_counts_once_per_path(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    assert_text(top_text(heap_of(p), (hd_top_options){ 0 }), "main 1 1 63 6\n"
                                                             "h 32 1 48 2\n"
                                                             "f 10 2 30 4\n"
                                                             "g 20 2 28 3\n");
    assert_text(top_text(heap_of(p), (hd_top_options){ .by_self = true, .top = 3 }), "h 32 1 48 2\n"
                                                                                       "g 20 2 28 3\n"
                                                                                       "f 10 2 30 4\n");
    assert_text(top_text(heap_of(p), (hd_top_options){ .axis = 1 }), "U 52 3 52 3\nT 11 3 11 3\n");
    hd_profile_free(p);
}

static void ties_go_by_name_and_bytes_at_the_root_are_self(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/", NULL, 5, 1);
    add_cell(p, "/b", NULL, 3, 1);
    add_cell(p, "/a", NULL, 3, HD_UNKNOWN);
    add_cell(p, "/a/<self>", NULL, 1, 1);
    add_cell(p, "/c/d", NULL, 4, 1);
    assert_text(top_text(heap_of(p), (hd_top_options){ 0 }),
                "<self> 5 1 5 1\na 4 - 4 -\nc 0 0 4 1\nd 4 1 4 1\nb 3 1 3 1\n");
    hd_profile_free(p);
}

static void top_of_a_breakdown_has_bounds(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 16 });
    assert_text(top_text(heap_listing(b), (hd_top_options){ 0 }), "main 0 0 63 6\n"
                                                                  "h 32 1 48 2\n"
                                                                  "f 0 0 16 1\n"
                                                                  "g 16 1 16 1\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static hd_status put_unlisted(void *user, const hd_top_row *row) {
    FILE *f = (FILE *)user;
    fprintf(f, "%.*s %" PRIu64 "%s %" PRIu64 " ", (int)row->name.len, row->name.data, row->self.bytes,
            row->self_is_bound ? "?" : "", row->unlisted.bytes);
    put_blocks(f, row->unlisted.blocks);
    fprintf(f, " %" PRIu64 "\n", row->cumulative.bytes);
    return HD_OK;
}

/* One "name self-bytes unlisted-bytes unlisted-blocks bytes" per line, with "?" after bounds. */
static char *unlisted_text(hd_heap heap, uint32_t axis) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_int_equal(hd_top(&heap, &(hd_top_options){ .axis = axis }, put_unlisted, f, NULL), HD_OK);
    fclose(f);
    return text;
}

/* The unlisted bytes of a condensed heap are not self bytes: any function may have them. */
static void top_distinguishes_unlisted_bytes_from_self(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 }), *some = exported(p, (hd_cutoff){ .min_bytes = 16 }),
                 *none = exported(p, (hd_cutoff){ .min_bytes = 1000 });
    assert_text(unlisted_text(heap_of(p), 0), "main 1 0 0 63\nh 32 0 0 48\nf 10 0 0 30\ng 20 0 0 28\n");
    assert_text(unlisted_text(heap_listing(all), 0), "main 1 0 0 63\nh 32 0 0 48\nf 10? 0 0 30\ng 20? 0 0 28\n");
    assert_text(unlisted_text(heap_listing(some), 0), "main 0 15 4 63\nh 32 0 0 48\nf 0 0 0 16\ng 16? 0 0 16\n");
    assert_text(unlisted_text(heap_listing(some), 1), "U 52? 0 0 52\n<other> 0 11 3 11\n");
    assert_text(unlisted_text(heap_listing(none), 0), "<self> 63? 0 0 63\n");
    hd_breakdown_free(all);
    hd_breakdown_free(some);
    hd_breakdown_free(none);
    hd_profile_free(p);
}

static void assert_top_printed(hd_heap heap, hd_top_options options, const char *expected) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_print_top(&heap, &options, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    assert_string_equal((const char *)out.data, expected);
    hd_buffer_free(&out);
}

static void top_prints_unlisted_bytes(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 16 });
    hd_heap heap = { .allocator = "malloc", .pid = 3, .breakdown = b };
    assert_top_printed(heap, (hd_top_options){ 0 }, "63  100.0%              6  malloc, pid 3\n"
                                                    "63  100.0%   0    0.0%  6  main (15 unlisted)\n"
                                                    "48   76.2%  32   50.8%  2  h\n"
                                                    "16   25.4%   0    0.0%  1  f\n"
                                                    "16   25.4%  16   25.4%  1  g (self?)\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void top_is_printed_in_columns(void **state) {
    (void)state;
    hd_profile *p = calls_profile();
    uint32_t nodes[2] = { 0, 0 };
    hd_heap heap = { .allocator = "malloc", .pid = 3, .profile = p };
    assert_top_printed(heap, (hd_top_options){ .top = 2 }, "63  100.0%              6  malloc, pid 3\n"
                                                             "63  100.0%   1    1.6%  6  main\n"
                                                             "48   76.2%  32   50.8%  2  h\n");
    nodes[0] = path_node(p, 0, "/main/h");
    assert_int_equal(add_estimate(p, nodes, 1937, 4, 250000), HD_OK);
    assert_top_printed(heap, (hd_top_options){ .top = 1, .units = true },
                       "   2.0 KiB  \xc2\xb1" "25.0%  100.0%" "                              " "10  malloc, pid 3\n"
                       "   2.0 KiB  \xc2\xb1" "25.0%  100.0%         1 B   \xc2\xb1" "0.0%    0.1%  10  main\n");
    hd_profile_free(p);
}

/* Random heaps. ------------------------------------------------------------------------------- */

#define ROUNDS long_or_short(1500, 500)

static hd_profile *sum_of(const hd_profile *const *p, const int *order, int n) {
    hd_profile *sum = profile_new(2);
    for (int i = 0; i < n; i++) assert_int_equal(hd_profile_merge(sum, p[order[i]], NULL), HD_OK);
    return sum;
}

static void merging_is_associative_and_commutative(void **state) {
    (void)state;
    uint64_t r = 5;
    for (int round = 0; round < ROUNDS; round++) {
        hd_profile *p[4];
        hd_breakdown *b[4];
        int straight[] = { 0, 1, 2, 3 }, back[] = { 3, 2, 1, 0 };
        for (int i = 0; i < 4; i++) {
            p[i] = random_profile(&r, true);
            b[i] = exported(p[i], (hd_cutoff){ .min_bytes = hd__test_below(&r, 50) });
        }
        hd_profile *x = sum_of((const hd_profile *const *)p, straight, 4);
        hd_profile *y = sum_of((const hd_profile *const *)p, back, 2), *z = sum_of((const hd_profile *const *)p, back + 2, 2);
        assert_int_equal(hd_profile_merge(z, y, NULL), HD_OK);
        assert_int_equal(hd_profile_sort(x, NULL), HD_OK);
        assert_int_equal(hd_profile_sort(z, NULL), HD_OK);
        assert_true(profiles_equal(x, z));
        hd_rows u = hd_profile_cells(x), v = hd_profile_cells(z);
        assert_memory_equal(u.node, v.node, 8 * (size_t)u.count); /* equal numbers */
        assert_memory_equal(u.amount, v.amount, u.count * sizeof *u.amount);

        hd_breakdown *all, *first, *last, *both;
        const hd_breakdown *halves[2];
        const hd_breakdown *turned[4] = { b[3], b[1], b[0], b[2] };
        assert_int_equal(breakdown_merge((const hd_breakdown *const *)b, 4, NULL, &all, NULL), HD_OK);
        assert_int_equal(breakdown_merge(turned, 1, NULL, &first, NULL), HD_OK);
        assert_int_equal(breakdown_merge(turned + 1, 3, NULL, &last, NULL), HD_OK);
        halves[0] = last;
        halves[1] = first;
        assert_int_equal(breakdown_merge(halves, 2, NULL, &both, NULL), HD_OK);
        assert_true(breakdowns_equal(all, both));
        assert_true(breakdowns_equal(first, b[3]));
        for (uint32_t i = 0; i < all->entries.count; i++) { /* lower bounds; the total is exact */
            hd_breakdown *exact = exported(x, (hd_cutoff){ 0 });
            uint32_t nodes[2] = { 0, 0 };
            if (round % 50 == 0)
                for (uint32_t a = 0; a < 2; a++) {
                    uint32_t path[8], depth = 0;
                    for (uint32_t k = hd__entry_node(all, i, a); k; k = all->axis[a].parent[k]) path[depth++] = k;
                    while (depth) nodes[a] = hd_axis_child(exact->axis[a], nodes[a], all->axis[a].node_name[path[--depth]]);
                }
            if (i == 0) assert_int_equal(all->entries.amount[0].bytes, hd_profile_bytes(x));
            else if (round % 50 == 0 && nodes[0] != HD_NONE && nodes[1] != HD_NONE &&
                     hd_breakdown_find(exact, nodes) != HD_NONE)
                assert_true(all->entries.amount[i].bytes <= exact->entries.amount[hd_breakdown_find(exact, nodes)].bytes);
            hd_breakdown_free(exact);
            if (round % 50) break;
        }
        hd_breakdown_free(all);
        hd_breakdown_free(first);
        hd_breakdown_free(last);
        hd_breakdown_free(both);
        for (int i = 0; i < 4; i++) {
            hd_profile_free(p[i]);
            hd_breakdown_free(b[i]);
        }
        hd_profile_free(x);
        hd_profile_free(y);
        hd_profile_free(z);
    }
}

static hd_heap merged(const hd_heap *heaps, const int *order, int n) {
    hd_merger *merger = hd_merger_create(NULL, NULL);
    hd_heap sum;
    for (int i = 0; i < n; i++) assert_int_equal(hd_merger_add(merger, &heaps[order[i]], NULL), HD_OK);
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_OK);
    hd_merger_free(merger);
    return sum;
}

static bool rows_same(const hd_rows *a, const hd_rows *b) {
    return a->count == b->count && a->axis_count == b->axis_count &&
           !memcmp(a->node, b->node, (size_t)a->count * a->axis_count * sizeof *a->node) &&
           !memcmp(a->amount, b->amount, a->count * sizeof *a->amount);
}

/* Equal to the last bit, which sums of floating-point numbers do not guarantee. */
static void assert_same(const hd_heap *a, const hd_heap *b) {
    assert_int_equal(!a->profile, !b->profile);
    if (a->profile) {
        hd_rows x = hd_profile_cells(a->profile), y = hd_profile_cells(b->profile);
        assert_true(rows_same(&x, &y) && profiles_equal(a->profile, b->profile));
    } else {
        assert_true(rows_same(&a->breakdown->entries, &b->breakdown->entries));
        assert_true(breakdowns_equal(a->breakdown, b->breakdown));
    }
}

static void shuffle(int *order, int n, uint64_t *r) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n; i > 1; i--) {
        int k = (int)hd__test_below(r, (uint64_t)i), swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
}

/* Profiles, breakdowns, and both; some over an axis that others lack. */
static void mergers_take_heaps_in_any_order_and_grouping(void **state) {
    (void)state;
    enum { N = 7 };
    uint64_t r = 11;
    for (int round = 0; round < ROUNDS / 3; round++) {
        hd_heap heaps[N], straight, turned, parts[2];
        int order[N], half[] = { 0, 1 }, cut = 1 + (int)hd__test_below(&r, N - 1);
        for (int i = 0; i < N; i++) {
            hd_profile *p = random_profile(&r, true);
            heaps[i] = (hd_heap){ .pid = 4, .profile = p };
            if (round % 3 == 0 || (round % 3 == 1 && hd__test_below(&r, 2))) continue;
            heaps[i].breakdown = exported(p, (hd_cutoff){ .min_bytes = hd__test_below(&r, 50) });
            heaps[i].profile = NULL;
            hd_profile_free(p);
        }
        if (hd__test_below(&r, 3) == 0) { /* only types */
            hd_heap all = heaps[0];
            hd_breakdown *b = NULL;
            hd_profile *p;
            assert_int_equal(hd_heap_break_down(&all, NULL, NULL, &b, NULL), HD_OK);
            assert_int_equal(hd_breakdown_axis_profile(b, 1, NULL, &p, NULL), HD_OK);
            hd_heap_release(&heaps[0]);
            heaps[0].profile = p;
            if (all.breakdown) heaps[0].breakdown = exported(p, (hd_cutoff){ 0 }), heaps[0].profile = NULL, hd_profile_free(p);
            hd_breakdown_free(b);
        }
        shuffle(order, N, &r);
        straight = merged(heaps, (const int[]){ 0, 1, 2, 3, 4, 5, 6 }, N);
        turned = merged(heaps, order, N);
        assert_same(&straight, &turned);
        assert_int_equal(turned.pid, 4);
        if (round % 3 != 1) {
            parts[0] = merged(heaps, order, cut);
            parts[1] = merged(heaps, order + cut, N - cut);
            hd_heap grouped = merged(parts, half, 2);
            assert_same(&straight, &grouped);
            hd_heap_release(&parts[0]), hd_heap_release(&parts[1]), hd_heap_release(&grouped);
        }
        for (int i = 0; i < N; i++) hd_heap_release(&heaps[i]);
        hd_heap_release(&straight);
        hd_heap_release(&turned);
    }
}

static void memory_of_mergers_follows_distinct_entries(void **state) {
    (void)state;
    uint64_t r = 3, taken = 0;
    hd_profile *p = random_profile(&r, true);
    hd_merger *merger = hd_merger_create(NULL, NULL);
    hd_heap heap = heap_of(p), listing, sum;
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    listing = heap_listing(b);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(hd_merger_add(merger, &heap, NULL), HD_OK);
        assert_int_equal(hd_merger_add(merger, &listing, NULL), HD_OK);
        if (!i) taken = hd_merger_memory(merger);
        assert_int_equal(hd_merger_memory(merger), taken);
    }
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_OK);
    assert_int_equal(sum.breakdown->entries.amount[0].bytes, 2000 * hd_profile_bytes(p));
    assert_true(hd_merger_memory(merger) < taken);
    hd_heap_release(&sum);
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_INVALID);
    assert_int_equal(hd_merger_add(merger, &heap, NULL), HD_OK); /* as new */
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_OK);
    hd_merger_free(merger);
    /* remains valid after the merger is freed */
    assert_int_equal(hd_profile_bytes(sum.profile), hd_profile_bytes(p));
    hd_heap_release(&sum);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void a_refused_heap_does_not_change_a_merger(void **state) {
    (void)state;
    hd_profile *large = profile_new(1), *small = profile_new(1), *entry = profile_new(1);
    hd_breakdown *b, *c;
    hd_merger *merger = hd_merger_create(NULL, NULL);
    hd_error err;
    hd_heap sum;
    add_cell(large, "/f", NULL, UINT64_MAX - 10, 1);
    add_cell(small, "/g", NULL, 9, 1);
    add_cell(entry, "/f", NULL, 10, 1);
    b = exported(large, (hd_cutoff){ 0 });
    c = exported(entry, (hd_cutoff){ 0 });
    hd_heap heaps[] = { heap_of(large), heap_of(small), heap_of(entry), heap_listing(b), heap_listing(c) };
    heaps[0].start_us = heaps[1].start_us = 5;
    assert_int_equal(hd_merger_add(merger, &heaps[0], NULL), HD_OK);
    assert_int_equal(hd_merger_add(merger, &heaps[2], &err), HD_OVERFLOW);
    assert_int_equal(err.status, HD_OVERFLOW);
    heaps[2].kind = HD_HEAP_PEAK;
    assert_int_equal(hd_merger_add(merger, &heaps[2], &err), HD_INVALID);
    assert_string_equal(err.message, "heaps of one kind expected: one is \"live\", another \"peak\"");
    assert_int_equal(hd_merge((hd_heap[]){ heaps[1], heaps[2] }, 2, NULL, &sum, &err), HD_INVALID);
    assert_int_equal(hd_merger_add(merger, &heaps[1], NULL), HD_OK);
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_OK);
    assert_text(profile_text(sum.profile), "/f 18446744073709551605 1\n/g 9 1\n");
    assert_int_equal(sum.start_us, 5);
    hd_heap_release(&sum);
    assert_int_equal(hd_merger_add(merger, &heaps[3], NULL), HD_OK);
    assert_int_equal(hd_merger_add(merger, &heaps[4], NULL), HD_OVERFLOW);
    assert_int_equal(hd_merger_finish(merger, &sum, NULL), HD_OK);
    assert_text(breakdown_text(sum.breakdown), "/ 18446744073709551605 1\n/f 18446744073709551605 1\n");
    hd_heap_release(&sum);
    hd_merger_free(merger);
    hd_breakdown_free(b), hd_breakdown_free(c);
    hd_profile_free(large), hd_profile_free(small), hd_profile_free(entry);
}

static uint64_t total_of(hd_heap h) {
    return h.profile ? hd_profile_bytes(h.profile) : h.breakdown->entries.amount[0].bytes;
}

/* Bytes of cells at or below nodes of this name, found by climbing. */
static uint64_t bytes_below(const hd_profile *p, uint32_t axis, const char *name, bool at_only) {
    hd_rows cells = hd_profile_cells(p);
    hd_axis a = hd_profile_axis(p, axis);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cells.count; i++)
        for (uint32_t at = cells.node[(size_t)i * cells.axis_count + axis]; at; at = a.parent[at]) {
            if (hd_str_equal(a.node_name[at], hd_cstr(name))) {
                sum += cells.amount[i].bytes;
                break;
            }
            if (at_only) break;
        }
    return sum;
}

static hd_status check_top_row(void *user, const hd_top_row *row) {
    const hd_profile *p = (const hd_profile *)user;
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)row->name.len, row->name.data);
    if (!strcmp(name, "<self>")) return HD_OK;
    assert_int_equal(row->cumulative.bytes, bytes_below(p, 0, name, false));
    assert_int_equal(row->self.bytes, bytes_below(p, 0, name, true));
    return HD_OK;
}

typedef struct top_sum {
    const hd_profile *profile;
    uint64_t bytes;
} top_sum;

/* For a breakdown of the profile: self bytes that are no bound do not exceed the true ones. */
static hd_status check_listed_row(void *user, const hd_top_row *row) {
    top_sum *sum = (top_sum *)user;
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)row->name.len, row->name.data);
    sum->bytes += row->self.bytes + row->unlisted.bytes;
    if (*name != '<' && !row->self_is_bound)
        assert_true(row->self.bytes <= bytes_below(sum->profile, 0, name, true));
    return HD_OK;
}

static hd_status put_whole(void *user, const hd_top_row *row) {
    if (row->cumulative.bytes) /* blocks of 0 bytes are not listed */
        fprintf((FILE *)user, "%.*s %" PRIu64 "\n", (int)row->name.len, row->name.data, row->cumulative.bytes);
    return HD_OK;
}

/* The cumulative size of a name does not depend on hidden names. Hiding gives the same for a profile and for its full
   breakdown. */
static void check_hiding(const hd_profile *p, uint32_t axis, const char *name) {
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
    hd_heap hidden[2] = { hiding(heap_of(p), axis, name), hiding(heap_listing(all), axis, name) };
    char *text[2];
    for (int i = 0; i < 2; i++) {
        size_t size;
        FILE *f = open_memstream(&text[i], &size);
        assert_int_equal(hd_top(&hidden[i], &(hd_top_options){ .axis = axis }, put_whole, f, NULL), HD_OK);
        fclose(f);
        assert_int_equal(total_of(hidden[i]), hd_profile_bytes(p));
        hd_heap_release(&hidden[i]);
    }
    assert_string_equal(text[0], text[1]);
    assert_null(strstr(text[0], name));
    free(text[0]);
    free(text[1]);
    hd_breakdown_free(all);
}

static void operations_agree_with_each_other(void **state) {
    (void)state;
    uint64_t r = 9;
    for (int round = 0; round < ROUNDS; round++) {
        hd_profile *p = random_profile(&r, false);
        hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = hd__test_below(&r, 90) });
        uint32_t axis = (uint32_t)hd__test_below(&r, 3) / 2;
        const char *name = axis ? "U" : hd__test_below(&r, 2) ? "b" : "c";
        hd_heap parts[2] = { filtered(heap_of(p), axis, name, true), filtered(heap_of(p), axis, name, false) };
        hd_heap whole, once, twice, rooted = rerooted(heap_of(p), axis, name);
        check_hiding(p, axis, name);
        assert_int_equal(total_of(parts[0]), bytes_below(p, axis, name, false));
        assert_int_equal(total_of(rooted), total_of(parts[0]));
        assert_int_equal(hd_merge(parts, 2, NULL, &whole, NULL), HD_OK);
        assert_int_equal(hd_profile_sort(p, NULL), HD_OK);
        assert_true(profiles_equal(whole.profile, p));
        once = inverted(heap_of(p), axis);
        twice = inverted(once, axis);
        assert_int_equal(hd_profile_sort((hd_profile *)(uintptr_t)twice.profile, NULL), HD_OK);
        assert_true(profiles_equal(twice.profile, p));
        assert_int_equal(hd_top(&whole, NULL, check_top_row, p, NULL), HD_OK);
        hd_heap_release(&whole);
        for (int i = 0; i < 2; i++) hd_heap_release(&parts[i]);
        hd_heap_release(&rooted);
        hd_heap_release(&once);
        hd_heap_release(&twice);

        top_sum sum = { p, 0 };
        hd_heap listing = heap_listing(b);
        assert_int_equal(hd_top(&listing, NULL, check_listed_row, &sum, NULL), HD_OK);
        assert_int_equal(sum.bytes, hd_profile_bytes(p));

        /* For breakdowns: the parts add up to each entry, and kept entries do not exceed the true ones. */
        parts[0] = filtered(heap_listing(b), axis, name, true);
        parts[1] = filtered(heap_listing(b), axis, name, false);
        rooted = rerooted(heap_listing(b), axis, name);
        assert_true(total_of(parts[0]) <= bytes_below(p, axis, name, false));
        assert_int_equal(total_of(rooted), total_of(parts[0]));
        assert_int_equal(hd_merge(parts, 2, NULL, &whole, NULL), HD_OK);
        assert_int_equal(whole.breakdown->entries.count <= b->entries.count, true);
        for (uint32_t i = 0; i < b->entries.count; i++) {
            uint32_t nodes[2] = { 0, 0 }, e;
            for (uint32_t a = 0; a < 2; a++) {
                uint32_t path[8], depth = 0;
                for (uint32_t k = hd__entry_node(b, i, a); k; k = b->axis[a].parent[k]) path[depth++] = k;
                while (depth && nodes[a] != HD_NONE)
                    nodes[a] = hd_axis_child(whole.breakdown->axis[a], nodes[a], b->axis[a].node_name[path[--depth]]);
            }
            e = nodes[0] == HD_NONE || nodes[1] == HD_NONE ? HD_NONE : hd_breakdown_find(whole.breakdown, nodes);
            if (e != HD_NONE) assert_int_equal(whole.breakdown->entries.amount[e].bytes, b->entries.amount[i].bytes);
            else assert_int_equal(b->entries.amount[i].bytes, 0);
        }
        hd_heap_release(&whole);
        for (int i = 0; i < 2; i++) hd_heap_release(&parts[i]);
        hd_heap_release(&rooted);
        hd_breakdown_free(b);
        hd_profile_free(p);
    }
}

/* Failures. ----------------------------------------------------------------------------------- */

typedef struct fixture {
    hd_profile *profile, *other;
    hd_breakdown *breakdown;
} fixture;

typedef hd_status (*run_fn)(const fixture *f, const hd_options *o, char **text, hd_error *err);

static hd_status made(hd_status status, hd_heap heap, char **text) {
    if (!status) *text = heap.profile ? profile_text(heap.profile) : breakdown_text(heap.breakdown);
    hd_heap_release(&heap);
    return status;
}

static hd_status run_merge(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heaps[2] = { heap_of(f->profile), heap_of(f->other) }, out = { 0 };
    return made(hd_merge(heaps, 2, o, &out, err), out, text);
}

static hd_status run_merge_mixed(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heaps[3] = { heap_of(f->profile), heap_listing(f->breakdown), heap_of(f->other) }, out = { 0 };
    return made(hd_merge(heaps, 3, o, &out, err), out, text);
}

static hd_status run_merge_breakdowns(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    const hd_breakdown *b[2] = { f->breakdown, f->breakdown };
    hd_breakdown *out = NULL;
    hd_status status = breakdown_merge(b, 2, o, &out, err);
    return made(status, heap_listing(out), text);
}

static hd_status run_filter(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_of(f->profile), out = { 0 };
    return made(hd_filter(&heap, 0, is_named, (void *)(uintptr_t)"b1", true, o, &out, err), out, text);
}

static hd_status run_filter_breakdown(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_listing(f->breakdown), out = { 0 };
    return made(hd_filter(&heap, 0, is_named, (void *)(uintptr_t)"b1", false, o, &out, err), out, text);
}

static hd_status run_reroot(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_listing(f->breakdown), out = { 0 };
    return made(hd_reroot(&heap, 0, is_named, (void *)(uintptr_t)"b1", o, &out, err), out, text);
}

static hd_status run_hide(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_of(f->profile), out = { 0 };
    return made(hd_hide(&heap, 0, is_named, (void *)(uintptr_t)"b1", o, &out, err), out, text);
}

static hd_status run_hide_breakdown(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_listing(f->breakdown), out = { 0 };
    return made(hd_hide(&heap, 0, is_named, (void *)(uintptr_t)"b1", o, &out, err), out, text);
}

static hd_status run_invert(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_heap heap = heap_of(f->profile), out = { 0 };
    return made(hd_invert(&heap, 0, o, &out, err), out, text);
}

static hd_status run_axis_profile(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    hd_profile *out = NULL;
    hd_status status = hd_breakdown_axis_profile(f->breakdown, 0, o, &out, err);
    return made(status, heap_of(out), text);
}

static hd_status run_top(const fixture *f, const hd_options *o, char **text, hd_error *err) {
    size_t size;
    char *rows;
    FILE *file = open_memstream(&rows, &size);
    hd_heap heap = heap_listing(f->breakdown);
    hd_status status = hd_top(&heap, &(hd_top_options){ .options = *o }, put_top, file, err);
    fclose(file);
    if (!status) *text = rows;
    else free(rows);
    return status;
}

static const struct {
    const char *name;
    run_fn run;
} runs[] = {
    { "merge", run_merge }, { "merge mixed", run_merge_mixed }, { "merge breakdowns", run_merge_breakdowns },
    { "filter", run_filter }, { "filter breakdown", run_filter_breakdown }, { "reroot", run_reroot },
    { "hide", run_hide }, { "hide breakdown", run_hide_breakdown },
    { "invert", run_invert }, { "axis profile", run_axis_profile }, { "top", run_top },
};
enum { RUNS = sizeof runs / sizeof *runs };

static void fill(hd_profile *p, uint64_t r) {
    for (int i = 0; i < 60; i++) {
        char backtrace[32], type[8];
        snprintf(backtrace, sizeof backtrace, "/a%d/b%d/c%d", (int)hd__test_below(&r, 3), (int)hd__test_below(&r, 4),
                 (int)hd__test_below(&r, 5));
        if (i % 7 == 0) backtrace[6] = 0;
        snprintf(type, sizeof type, "/T%d", i % 3);
        add_cell(p, backtrace, type, hd__test_below(&r, 50), 1);
    }
}

static int set_up(void **state) {
    fixture *f = (fixture *)calloc(1, sizeof *f);
    f->profile = profile_new(2);
    f->other = profile_new(2);
    fill(f->profile, 11);
    fill(f->other, 12);
    f->breakdown = exported(f->profile, (hd_cutoff){ .min_bytes = 9 });
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = (fixture *)*state;
    hd_breakdown_free(f->breakdown);
    hd_profile_free(f->profile);
    hd_profile_free(f->other);
    free(f);
    return 0;
}

static void each_failing_allocation_comes_back_as_a_status(void **state) {
    const fixture *f = (const fixture *)*state;
    for (int k = 0; k < RUNS; k++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        char *expected = NULL;
        uint64_t failures = 0;
        hd_error err = { 0 };
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

static void memory_stays_within_its_limit(void **state) {
    const fixture *f = (const fixture *)*state;
    for (int k = 0; k < RUNS; k++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        hd_status status = HD_LIMIT;
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
            free(text);
        }
    }
}

/* A failed merge leaves the cells unchanged, and can be repeated. */
static void failed_merge_changes_no_cell(void **state) {
    const fixture *f = (const fixture *)*state;
    hd__faults faults = { 0 };
    hd_profile_desc desc = { .allocator = hd__faults_allocator(&faults) };
    hd_profile *p = hd_profile_create(&desc, NULL), *fresh;
    assert_int_equal(hd_profile_merge(p, f->profile, NULL), HD_OK);
    char *before = profile_text(p);
    hd_status status = HD_OUT_OF_MEMORY;
    for (faults.fail_at = 1; status; faults.fail_at++) {
        faults.count = 0;
        status = hd_profile_merge(p, f->other, NULL);
        if (status) assert_text(profile_text(p), before);
        assert_null(faults.misuse);
    }
    faults.fail_at = 0;
    fresh = profile_new(2);
    assert_int_equal(hd_profile_merge(fresh, f->other, NULL), HD_OK);
    assert_int_equal(hd_profile_merge(fresh, f->profile, NULL), HD_OK);
    status = HD_OUT_OF_MEMORY;
    before = (free(before), profile_text(p));
    for (faults.fail_at = 1; status; faults.fail_at++) {
        faults.count = 0;
        status = hd_profile_sort(p, NULL);
        if (status) assert_text(profile_text(p), before);
    }
    faults.fail_at = 0;
    assert_int_equal(hd_profile_sort(fresh, NULL), HD_OK);
    assert_true(profiles_equal(p, fresh));
    free(before);
    hd_profile_free(fresh);
    hd_profile_free(p);
    assert_int_equal(faults.live, 0);
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user > 0;
}

static void operations_can_be_cancelled(void **state) {
    const fixture *f = (const fixture *)*state;
    for (int k = 0; k < RUNS; k++) {
        int left = 1;
        char *text = NULL;
        hd_error err = { 0 };
        hd_options options = { .progress = stop, .progress_user = &left };
        if (runs[k].run == run_top) continue;
        assert_int_equal(runs[k].run(f, &options, &text, &err), HD_CANCELLED);
        assert_int_equal(err.status, HD_CANCELLED);
        assert_null(text);
    }
}

static void arguments_are_checked(void **state) {
    const fixture *f = (const fixture *)*state;
    hd_heap none = { 0 }, heap = heap_of(f->profile), out;
    hd_error err;
    assert_int_equal(hd_filter(&heap, 2, is_named, NULL, true, NULL, &out, &err), HD_INVALID);
    assert_string_equal(err.message, "no axis 2");
    assert_int_equal(hd_hide(&heap, 2, is_named, NULL, NULL, &out, &err), HD_INVALID);
    assert_int_equal(hd_invert(&none, 0, NULL, &out, &err), HD_INVALID);
    assert_int_equal(hd_top(&none, NULL, put_top, NULL, &err), HD_INVALID);
    assert_int_equal(hd_print_top(&none, NULL, hd_out_file(stdout), NULL), HD_INVALID);
    assert_int_equal(hd_merge(&heap, 0, NULL, &out, &err), HD_INVALID);
    assert_int_equal(hd_merge(&none, 1, NULL, &out, &err), HD_INVALID);
    assert_int_equal(hd_top(&heap, &(hd_top_options){ .axis = 5 }, put_top, NULL, &err), HD_INVALID);
}

#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_nodes_give_their_own_bytes_a_name),
        cmocka_unit_test(cells_of_one_path_add_up_whatever_their_numbers),
        cmocka_unit_test(profile_merged_with_itself_doubles),
        cmocka_unit_test(nodes_without_cells_are_not_merged),
        cmocka_unit_test(axes_are_matched_by_name),
        cmocka_unit_test(overflow_leaves_the_profile_as_it_was),
        cmocka_unit_test(breakdowns_add_their_listed_entries),
        cmocka_unit_test(breakdowns_unite_their_axes),
        cmocka_unit_test(filter_keeps_or_drops_cells_at_or_below),
        cmocka_unit_test(filter_of_a_breakdown_has_the_listed_bytes),
        cmocka_unit_test(reroot_starts_paths_at_the_outermost_match),
        cmocka_unit_test(hidden_nodes_leave_their_bytes_to_the_parent),
        cmocka_unit_test(hidden_nodes_of_a_breakdown),
        cmocka_unit_test(invert_puts_the_innermost_first),
        cmocka_unit_test(inverted_paths_end_at_their_limit),
        cmocka_unit_test(inverted_chains_stay_in_proportion),
        cmocka_unit_test(breakdown_over_one_axis_can_be_inverted),
        cmocka_unit_test(name_counts_once_per_path),
        cmocka_unit_test(ties_go_by_name_and_bytes_at_the_root_are_self),
        cmocka_unit_test(top_of_a_breakdown_has_bounds),
        cmocka_unit_test(top_distinguishes_unlisted_bytes_from_self),
        cmocka_unit_test(top_prints_unlisted_bytes),
        cmocka_unit_test(top_is_printed_in_columns),
        cmocka_unit_test(merging_is_associative_and_commutative),
        cmocka_unit_test(mergers_take_heaps_in_any_order_and_grouping),
        cmocka_unit_test(memory_of_mergers_follows_distinct_entries),
        cmocka_unit_test(a_refused_heap_does_not_change_a_merger),
        cmocka_unit_test(operations_agree_with_each_other),
        FIXTURE(each_failing_allocation_comes_back_as_a_status),
        FIXTURE(memory_stays_within_its_limit),
        FIXTURE(failed_merge_changes_no_cell),
        FIXTURE(operations_can_be_cancelled),
        FIXTURE(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
