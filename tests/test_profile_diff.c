/* Comparing heaps: small ones by hand, then properties of random ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "long.h"
#include "private.h"
#include "faults.h"
#include "heaps.h"

static hd_heap heap_of(const hd_profile *p) { return (hd_heap){ .profile = p }; }
static hd_heap heap_listing(const hd_breakdown *b) { return (hd_heap){ .breakdown = b }; }

static hd_diff *compared(hd_heap before, hd_heap after, hd_cutoff cutoff) {
    hd_diff *d = NULL;
    assert_int_equal(hd_compare(&before, &after, &cutoff, NULL, &d, NULL), HD_OK);
    return d;
}

/* One "path type before-bytes blocks after-bytes blocks gross flags" per line. */
static char *diff_text(const hd_diff *d) {
    static const char *const words[] = { "new", "gone", "grown", "shrunk", "bound", "noise" };
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (uint32_t i = 0; i < d->before.count; i++) {
        for (uint32_t a = 0; a < d->before.axis_count; a++) {
            put_path(f, d->axis[a], d->before.node[(size_t)i * d->before.axis_count + a]);
            fputs(" ", f);
        }
        fprintf(f, "%" PRIu64 " ", d->before.amount[i].bytes);
        put_blocks(f, d->before.amount[i].blocks);
        fprintf(f, " %" PRIu64 " ", d->after.amount[i].bytes);
        put_blocks(f, d->after.amount[i].blocks);
        fprintf(f, " %" PRIu64, d->gross[i]);
        for (int k = 0; k < 6; k++)
            if (d->flags[i] >> k & 1) fprintf(f, " %s", words[k]);
        fputs("\n", f);
    }
    fclose(f);
    return text;
}

static void assert_diff(hd_heap before, hd_heap after, hd_cutoff cutoff, const char *expected) {
    hd_diff *d = compared(before, after, cutoff);
    assert_text(diff_text(d), expected);
    assert_ptr_equal(d->before.node, d->after.node);
    hd_diff_free(d);
}

static hd_profile *before_profile(void) {
    hd_profile *p = profile_new(2);
    add_cell(p, "/main/load", "/T", 100, 10);
    add_cell(p, "/main/draw", "/T", 50, 5);
    add_cell(p, "/main/draw", "/U", 20, 2);
    add_cell(p, "/idle", "/U", 7, 1);
    return p;
}

static hd_profile *after_profile(void) {
    hd_profile *p = profile_new(2);
    add_cell(p, "/idle", "/U", 7, 1);
    add_cell(p, "/main/draw", "/U", 70, 7);
    add_cell(p, "/main/draw", "/T", 10, 1);
    add_cell(p, "/main/save", "/V", 5, 1);
    return p;
}

static void cells_are_compared_by_their_change(void **state) {
    (void)state;
    hd_profile *p = before_profile(), *q = after_profile();
    assert_diff(heap_of(p), heap_of(q), (hd_cutoff){ 0 },
                "/ / 177 18 92 10 195 shrunk\n"
                "/ /T 150 15 10 1 140 shrunk\n"
                "/ /U 27 3 77 8 50 grown\n"
                "/ /V 0 0 5 1 5 new\n"
                "/main / 170 17 85 9 195 shrunk\n"
                "/main /T 150 15 10 1 140 shrunk\n"
                "/main /U 20 2 70 7 50 grown\n"
                "/main /V 0 0 5 1 5 new\n"
                "/main/draw / 70 7 80 8 90 grown\n" /* -40 and +50 */
                "/main/draw /T 50 5 10 1 40 shrunk\n"
                "/main/draw /U 20 2 70 7 50 grown\n"
                "/main/load / 100 10 0 0 100 gone\n"
                "/main/load /T 100 10 0 0 100 gone\n"
                "/main/save / 0 0 5 1 5 new\n"
                "/main/save /V 0 0 5 1 5 new\n");
    assert_diff(heap_of(p), heap_of(q), (hd_cutoff){ .min_bytes = 60 },
                "/ / 177 18 92 10 195 shrunk\n"
                "/ /T 150 15 10 1 140 shrunk\n"
                "/main / 170 17 85 9 195 shrunk\n"
                "/main /T 150 15 10 1 140 shrunk\n"
                "/main/draw / 70 7 80 8 90 grown\n"
                "/main/load / 100 10 0 0 100 gone\n"
                "/main/load /T 100 10 0 0 100 gone\n");
    assert_diff(heap_of(p), heap_of(p), (hd_cutoff){ 0 }, "/ / 177 18 177 18 0\n");
    hd_profile_free(p);
    hd_profile_free(q);
}

static void changes_that_cancel_are_listed(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    add_cell(p, "/f/a", NULL, 100, 1);
    add_cell(q, "/f/b", NULL, 100, 1);
    assert_diff(heap_of(p), heap_of(q), (hd_cutoff){ .min_bytes = 100 },
                "/ 100 1 100 1 200\n"
                "/f 100 1 100 1 200\n"
                "/f/a 100 1 0 0 100 gone\n"
                "/f/b 0 0 100 1 100 new\n");
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 }), *c = exported(q, (hd_cutoff){ 0 });
    assert_diff(heap_listing(b), heap_listing(c), (hd_cutoff){ .min_bytes = 100 },
                "/ 100 1 100 1 100\n"
                "/f 100 1 100 1 100\n"
                "/f/a 100 1 0 0 100 gone\n" /* certainly gone: the heap has no <other> that could contain it */
                "/f/b 0 0 100 1 100 new\n");
    hd_breakdown_free(b);
    hd_breakdown_free(c);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void unlisted_entries_of_a_breakdown_have_a_bound(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    add_cell(p, "/f/a", NULL, 100, 1);
    add_cell(p, "/f/b", NULL, 9, 1);
    add_cell(p, "/g/x", NULL, 30, 1);
    add_cell(q, "/f/a", NULL, 20, 1);
    add_cell(q, "/f/b", NULL, 11, 1);
    add_cell(q, "/g/x", NULL, 30, 1);
    add_cell(q, "/g/y", NULL, 10, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 10 }), *c = exported(q, (hd_cutoff){ .min_bytes = 10 });
    static const char expected[] = "/ 139 3 71 4 80 shrunk\n"
                                   "/f 109 2 31 2 80 shrunk\n"
                                   "/f/a 100 1 20 1 80 shrunk\n"
                                   "/f/b 0 0 11 1 11 new bound\n"
                                   "/g 30 1 40 2 10 grown\n"
                                   "/g/y 0 0 10 1 10 new\n";
    assert_diff(heap_listing(b), heap_listing(c), (hd_cutoff){ 0 }, expected);
    assert_diff(heap_listing(b), heap_of(q), (hd_cutoff){ 0 }, expected);
    assert_diff(heap_of(p), heap_listing(c), (hd_cutoff){ 0 },
                "/ 139 3 71 4 80 shrunk\n"
                "/f 109 2 31 2 80 shrunk\n"
                "/f/a 100 1 20 1 80 shrunk\n"
                "/f/b 9 1 11 1 2 grown\n"
                "/g 30 1 40 2 10 grown\n"
                "/g/y 0 0 10 1 10 new\n"); /* the profile has no bytes there */
    hd_breakdown_free(b);
    hd_breakdown_free(c);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void estimates_within_two_standard_errors_are_noise(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    uint32_t node = path_node(p, 0, "/f"), other = path_node(p, 0, "/g");
    assert_int_equal(add_estimate(p, &node, 1000, 1, 64), HD_OK);
    assert_int_equal(add_estimate(p, &other, 1000, 1, 64), HD_OK);
    node = path_node(q, 0, "/f"), other = path_node(q, 0, "/g");
    assert_int_equal(add_estimate(q, &node, 1020, 1, 36), HD_OK);
    assert_int_equal(add_estimate(q, &other, 1021, 1, 36), HD_OK);
    assert_diff(heap_of(p), heap_of(q), (hd_cutoff){ 0 },
                "/ 2000 2 2041 2 41 grown\n"
                "/f 1000 1 1020 1 20 grown noise\n"
                "/g 1000 1 1021 1 21 grown\n");
    hd_profile_free(p);
    hd_profile_free(q);
}

static void sum_of_changes_can_overflow(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    hd_heap before = heap_of(p), after = heap_of(q);
    hd_diff *d;
    hd_error err;
    add_cell(p, "/f", NULL, UINT64_MAX - 1, 1);
    add_cell(q, "/g", NULL, 1, 1);
    assert_int_equal(hd_compare(&before, &after, NULL, NULL, &d, &err), HD_OVERFLOW);
    assert_string_equal(err.message, "the sum of all changes passes 2^64 bytes");
    assert_int_equal(hd_compare(&before, &(hd_heap){ 0 }, NULL, NULL, &d, &err), HD_INVALID);
    assert_int_equal(hd_compare(&before, &after, &(hd_cutoff){ .min_share = 2 }, NULL, &d, &err), HD_INVALID);
    hd_profile_free(p);
    hd_profile_free(q);
}

/* Printing. ----------------------------------------------------------------------------------- */

static void assert_printed(hd_heap before, hd_heap after, hd_tree_options options, const char *expected) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_print_diff(&before, &after, &options, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    assert_string_equal((const char *)out.data, expected);
    hd_buffer_free(&out);
}

static void diff_is_printed_most_changed_first(void **state) {
    (void)state;
    hd_profile *p = before_profile(), *q = after_profile();
    hd_heap before = { .allocator = "malloc", .dump = "0x1", .profile = p };
    hd_heap after = { .allocator = "malloc", .dump = "0x2", .profile = q };
    assert_printed(before, after, (hd_tree_options){ 0 },
                   "  -85  177   92   -8  malloc, dump 0x1 -> malloc, dump 0x2\n"
                   "  -85  170   85   -8    main\n"
                   " -100  100    0  -10      load (gone)\n"
                   " -100  100    0  -10        type: T (gone)\n"
                   "  +10   70   80   +1      draw\n"
                   "  +50   20   70   +5        type: U\n"
                   "  -40   50   10   -4        type: T\n"
                   "   +5    0    5   +1      save (new)\n"
                   "   +5    0    5   +1        type: V (new)\n");
    assert_printed(before, after, (hd_tree_options){ .first_axis = 1, .cutoff.min_bytes = 60 },
                   "  -85  177   92   -8  malloc, dump 0x1 -> malloc, dump 0x2\n"
                   " -140  150   10  -14    type: T\n"
                   " -140  150   10  -14    main\n"
                   " -100  100    0  -10      load (gone)\n"
                   "  -40   50   10   -4      <other>\n"
                   "  +55   27   82   +6    <other>\n");
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 25 }), *c = exported(q, (hd_cutoff){ .min_bytes = 5 });
    assert_printed(heap_listing(b), heap_listing(c), (hd_tree_options){ .cutoff.min_share = 0.6, .units = true },
                   "       -85 B       177 B        92 B   -8  total -> total\n"
                   "       -85 B       170 B        85 B   -8    main\n"
                   "      -100 B       100 B         0 B  -10      load (gone)\n"
                   "      -100 B       100 B         0 B  -10        type: T (gone)\n"
                   "       +15 B        70 B        85 B   +2      <other>\n");
    hd_breakdown_free(b);
    hd_breakdown_free(c);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void standard_errors_are_printed(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    uint32_t node = path_node(p, 0, "/f");
    assert_int_equal(add_estimate(p, &node, 1000, HD_UNKNOWN, 64), HD_OK);
    node = path_node(q, 0, "/f");
    assert_int_equal(add_estimate(q, &node, 1020, 1, 36), HD_OK);
    assert_printed(heap_of(p), heap_of(q), (hd_tree_options){ 0 },
                   "  ~+20    \xc2\xb1" "10  1000  1020  total -> total\n"
                   "  ~+20    \xc2\xb1" "10  1000  1020    f\n");
    hd_profile_free(p);
    hd_profile_free(q);
}

/* Random heaps. ------------------------------------------------------------------------------- */

#define ROUNDS long_or_short(1500, 500)

static hd_profile *random_profile(uint64_t *r) {
    hd_profile *p = profile_new(2);
    int cells = (int)hd__test_below(r, 14);
    for (int i = 0; i < cells; i++) {
        char path[32] = "", type[8] = "";
        int depth = (int)hd__test_below(r, 5);
        for (int d = 0; d < depth; d++) snprintf(path + 2 * d, 3, "/%c", (int)('a' + hd__test_below(r, 3)));
        if (hd__test_below(r, 5)) snprintf(type, sizeof type, "/%c", (int)('T' + hd__test_below(r, 2)));
        add_cell(p, path, type, hd__test_below(r, 8), 1);
    }
    return p;
}

static uint32_t find_by_names(const hd_axis *axes, const uint32_t *nodes, const hd_breakdown *in) {
    uint32_t to[2] = { 0, 0 };
    for (uint32_t a = 0; a < 2; a++) {
        uint32_t path[16], depth = 0;
        for (uint32_t k = nodes[a]; k; k = axes[a].parent[k]) path[depth++] = k;
        while (depth && to[a] != HD_NONE) to[a] = hd_axis_child(in->axis[a], to[a], axes[a].node_name[path[--depth]]);
        if (to[a] == HD_NONE) return HD_NONE;
    }
    return hd_breakdown_find(in, to);
}

static void diffs_are_antisymmetric_and_agree_with_each_heap(void **state) {
    (void)state;
    uint64_t r = 3;
    uint32_t listed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        hd_profile *p = random_profile(&r), *q = random_profile(&r);
        hd_breakdown *all[2] = { exported(p, (hd_cutoff){ 0 }), exported(q, (hd_cutoff){ 0 }) };
        uint64_t least = hd__test_below(&r, 4) * 3;
        hd_breakdown *cut[2] = { exported(p, (hd_cutoff){ .min_bytes = least }),
                                 exported(q, (hd_cutoff){ .min_bytes = least }) };
        hd_cutoff cutoff = { .min_bytes = hd__test_below(&r, 9) };
        for (int kind = 0; kind < 4; kind++) {
            hd_heap x = kind & 1 ? heap_listing(cut[0]) : heap_of(p), y = kind & 2 ? heap_listing(cut[1]) : heap_of(q);
            hd_diff *d = compared(x, y, cutoff), *e = compared(y, x, cutoff);
            assert_int_equal(d->before.count, e->before.count);
            assert_memory_equal(d->before.node, e->before.node, 8 * (size_t)d->before.count);
            assert_memory_equal(d->before.amount, e->after.amount, d->before.count * sizeof *d->before.amount);
            assert_memory_equal(d->after.amount, e->before.amount, d->before.count * sizeof *d->before.amount);
            assert_memory_equal(d->gross, e->gross, 8 * (size_t)d->before.count);
            for (uint32_t i = 0; i < d->before.count; i++) {
                const uint32_t *nodes = d->before.node + 2 * (size_t)i;
                const uint64_t sizes[2] = { d->before.amount[i].bytes, d->after.amount[i].bytes };
                bool bound = d->flags[i] & HD_DIFF_BOUND;
                assert_int_equal(bound, (e->flags[i] & HD_DIFF_BOUND) != 0);
                assert_true(i == 0 || d->gross[i] >= cutoff.min_bytes);
                assert_true(d->gross[i] >= hd__number_distance(sizes[0], sizes[1]));
                for (int s = 0; s < 2; s++) {
                    bool cells = !(kind >> s & 1) && kind == 0;
                    uint32_t in = find_by_names(d->axis, nodes, all[s]);
                    uint32_t told = find_by_names(d->axis, nodes, cells ? all[s] : kind >> s & 1 ? cut[s] : all[s]);
                    /* Profiles compared have the <self> entries of both; a single profile has only its own. */
                    if (cells && in == HD_NONE) continue;
                    assert_int_equal(sizes[s], told == HD_NONE ? 0 : (kind >> s & 1 ? cut[s] : all[s])->entries.amount[told].bytes);
                    if (!bound && in != HD_NONE && told == HD_NONE) assert_int_equal(all[s]->entries.amount[in].bytes, 0);
                }
                listed++;
            }
            hd_diff_free(d);
            hd_diff_free(e);
        }
        for (int s = 0; s < 2; s++) {
            hd_breakdown_free(all[s]);
            hd_breakdown_free(cut[s]);
        }
        hd_profile_free(p);
        hd_profile_free(q);
    }
    assert_true(listed > (uint32_t)ROUNDS);
}

/* Adding the same heap to both sides changes no difference. */
static void merging_a_heap_into_both_keeps_the_difference(void **state) {
    (void)state;
    uint64_t r = 4;
    for (int round = 0; round < ROUNDS; round++) {
        hd_profile *p = random_profile(&r), *q = random_profile(&r), *both = profile_new(2);
        assert_int_equal(hd_profile_merge(both, p, NULL), HD_OK);
        assert_int_equal(hd_profile_merge(both, q, NULL), HD_OK);
        hd_diff *d = compared(heap_of(p), heap_of(both), (hd_cutoff){ 0 });
        assert_int_equal(d->gross[0], hd_profile_bytes(q));
        for (uint32_t i = 0; i < d->before.count; i++) {
            assert_int_equal(d->gross[i], d->after.amount[i].bytes - d->before.amount[i].bytes);
            assert_false(d->flags[i] & (HD_DIFF_GONE | HD_DIFF_SHRUNK | HD_DIFF_BOUND));
        }
        hd_diff_free(d);
        hd_profile_free(p);
        hd_profile_free(q);
        hd_profile_free(both);
    }
}

/* Failures. ----------------------------------------------------------------------------------- */

static hd_status put_diff_row(void *user, const hd_diff_row *row) {
    assert_int_equal(row->entry == HD_NONE, hd_str_equal(row->name, hd_cstr("<other>")));
    if (row->entry != HD_NONE) assert_int_equal(row->flags, row->diff->flags[row->entry]);
    fprintf((FILE *)user, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %.*s\n", row->depth, row->axis,
            row->amount[0].bytes, row->amount[1].bytes, (int)row->name.len, row->name.data);
    return HD_OK;
}

static hd_status run(int kind, const hd_heap heaps[4], const hd_options *o, char **text, hd_error *err) {
    const hd_heap *before = &heaps[kind & 1 ? 2 : 0], *after = &heaps[kind & 2 ? 3 : 1];
    hd_diff *d = NULL;
    hd_status status;
    if (kind < 4) {
        status = hd_compare(before, after, &(hd_cutoff){ .min_bytes = 5 }, o, &d, err);
        if (!status) *text = diff_text(d);
        hd_diff_free(d);
    } else {
        size_t size;
        FILE *f = open_memstream(text, &size);
        status = hd_diff_tree(before, after, &(hd_tree_options){ .options = *o }, put_diff_row, f, err);
        fclose(f);
        if (status) free(*text), *text = NULL;
    }
    return status;
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user > 0;
}

static void failures_come_back_as_a_status(void **state) {
    (void)state;
    uint64_t r = 17;
    hd_profile *p[2] = { profile_new(2), profile_new(2) };
    for (int i = 0; i < 12; i++)
        for (int s = 0; s < 2; s++) {
            hd_profile *more = random_profile(&r);
            assert_int_equal(hd_profile_merge(p[s], more, NULL), HD_OK);
            hd_profile_free(more);
        }
    hd_breakdown *b[2] = { exported(p[0], (hd_cutoff){ .min_bytes = 3 }), exported(p[1], (hd_cutoff){ .min_bytes = 3 }) };
    hd_heap heaps[4] = { heap_of(p[0]), heap_of(p[1]), heap_listing(b[0]), heap_listing(b[1]) };
    for (int kind = 0; kind < 8; kind++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        char *expected = NULL;
        uint64_t failures = 0;
        assert_int_equal(run(kind, heaps, &options, &expected, NULL), HD_OK);
        HD__EACH_FAULT(faults) {
            char *text = NULL;
            hd_error e = { 0 };
            hd_status status = run(kind, heaps, &options, &text, &e);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
            assert_int_equal(e.status, status);
            if (!faults.failed) {
                assert_int_equal(status, HD_OK);
                assert_text(text, expected);
                continue;
            }
            assert_int_equal(status, HD_OUT_OF_MEMORY);
            failures++;
        }
        assert_true(failures > 20);
        free(expected);
        hd_status status = HD_LIMIT;
        for (uint64_t limit = 1; status == HD_LIMIT; limit += 1 + limit / 16) {
            char *text = NULL;
            options.limits.max_memory = limit;
            faults.fail_at = 0;
            faults.peak = 0;
            status = run(kind, heaps, &options, &text, NULL);
            if (status) assert_int_equal(status, HD_LIMIT);
            assert_true(faults.peak <= limit);
            free(text);
        }
        assert_int_equal(faults.live, 0);
    }
    for (int s = 0; s < 2; s++) {
        hd_profile_free(p[s]);
        hd_breakdown_free(b[s]);
    }
}

static void comparing_can_be_cancelled(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2);
    uint64_t r = 3;
    for (int i = 0; i < 20000; i++) {
        char path[32], type[8];
        snprintf(path, sizeof path, "/f%d/g%d/h", (int)hd__test_below(&r, 100), (int)hd__test_below(&r, 100));
        snprintf(type, sizeof type, "/T%d", i % 5);
        add_cell(p, path, type, 1 + hd__test_below(&r, 100), 1);
    }
    int left = 1;
    hd_options options = { .progress = stop, .progress_user = &left };
    hd_heap before = heap_of(p), after = heap_of(q);
    hd_diff *d = NULL;
    assert_int_equal(hd_compare(&before, &after, NULL, &options, &d, NULL), HD_CANCELLED);
    assert_null(d);
    hd_profile_free(p);
    hd_profile_free(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_compared_by_their_change),
        cmocka_unit_test(changes_that_cancel_are_listed),
        cmocka_unit_test(unlisted_entries_of_a_breakdown_have_a_bound),
        cmocka_unit_test(estimates_within_two_standard_errors_are_noise),
        cmocka_unit_test(sum_of_changes_can_overflow),
        cmocka_unit_test(diff_is_printed_most_changed_first),
        cmocka_unit_test(standard_errors_are_printed),
        cmocka_unit_test(diffs_are_antisymmetric_and_agree_with_each_heap),
        cmocka_unit_test(merging_a_heap_into_both_keeps_the_difference),
        cmocka_unit_test(failures_come_back_as_a_status),
        cmocka_unit_test(comparing_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
