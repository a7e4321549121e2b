/* Merging is associative and commutative: partial results that are written as rows, read, and merged again give the
   same bytes as one merge. This holds for every tree and order, for profiles, for breakdowns with their bounds, and
   for both. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"
#include "rows.h"

enum { PROFILES, BREAKDOWNS, MIXED, MODELS };

/* A heap to be merged, with its label. */
typedef struct leaf {
    hd_heap heap;
    hd_label labels[3];
    char run[24];
} leaf;

static void leaf_make(leaf *x, uint64_t *r, int model, uint32_t cells, int number) {
    static const char *const days[] = { "2026-11-22", "2026-11-23" };
    hd_profile *p = random_rows_profile(r, cells, true);
    memset(x, 0, sizeof *x);
    snprintf(x->run, sizeof x->run, "=run,\"%d\"", number);
    x->labels[0] = (hd_label){ "host", "a1" };
    x->labels[1] = (hd_label){ "day", days[hd__test_below(r, 40) == 0] };
    x->labels[2] = (hd_label){ "run", x->run };
    x->heap = (hd_heap){ .pid = 7, .process = "app", .dump = x->run, .time_us = hd__test_below(r, 2) + 1, .kind = HD_HEAP_TOTAL,
                         .sample_bytes = hd__test_below(r, 3) << 10, .labels = x->labels, .label_count = 3 };
    if (model == PROFILES || (model == MIXED && hd__test_below(r, 2))) {
        x->heap.profile = p;
        return;
    }
    x->heap.breakdown = exported(p, (hd_cutoff){ .top = 1 + (uint32_t)hd__test_below(r, 3) });
    hd_profile_free(p);
}

/* The parts of a merger as rows; the merger is empty afterwards. */
static hd_buffer parts(hd_merger *m, hd_rows_form form) {
    hd_heap heaps[2];
    hd_error err;
    hd_buffer rows;
    size_t count;
    if (hd_merger_finish_parts(m, heaps, &count, &err)) fail_msg("%s", err.message);
    assert_true(count == 1 || (count == 2 && heaps[0].profile && heaps[1].breakdown));
    rows = rows_of(heaps, count, form);
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    return rows;
}

static void add(hd_merger *m, const hd_heap *heap) {
    hd_error err;
    if (hd_merger_add(m, heap, &err)) fail_msg("%s", err.message);
}

static void add_rows(hd_merger *m, const hd_buffer *rows) {
    hd_dump *dump = rows_read(rows->data, rows->size);
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) add(m, hd_dump_heap(dump, i));
    hd_dump_free(dump);
}

/* The final sum, in which profiles and breakdowns are one heap. */
static hd_buffer whole(hd_merger *m) {
    hd_heap heap;
    hd_error err;
    hd_buffer rows;
    if (hd_merger_finish(m, &heap, &err)) fail_msg("%s", err.message);
    rows = rows_of(&heap, 1, HD_ROWS_CSV);
    hd_heap_release(&heap);
    return rows;
}

/* The result of a single merge: its parts, and the whole sum. */
static void all_at_once(const leaf *leaves, size_t n, hd_buffer *of_parts, hd_buffer *all) {
    hd_merger *m = hd_merger_create(NULL, NULL);
    for (size_t i = 0; i < n; i++) add(m, &leaves[i].heap);
    *of_parts = parts(m, HD_ROWS_CSV);
    for (size_t i = n; i-- > 0;) add(m, &leaves[i].heap);
    *all = whole(m);
    hd_merger_free(m);
}

static void check_last(const hd_buffer *last, const hd_buffer *of_parts, const hd_buffer *all) {
    hd_merger *m = hd_merger_create(NULL, NULL);
    hd_buffer sum;
    add_rows(m, last);
    sum = parts(m, HD_ROWS_CSV);
    assert_buffers(&sum, of_parts);
    hd_buffer_free(&sum);
    add_rows(m, last);
    sum = whole(m);
    assert_buffers(&sum, all);
    hd_buffer_free(&sum);
    hd_merger_free(m);
}

/* The number of trees with n leaves. */
static uint64_t shapes(size_t n) {
    uint64_t count[9] = { 0, 1 };
    for (size_t k = 2; k <= n; k++)
        for (size_t left = 1; left < k; left++) count[k] += count[left] * count[k - left];
    return count[n];
}

/* Results of subtrees, by first leaf, number of leaves and shape; most occur in many trees. */
static hd_buffer trees[8][9][429];

static void trees_forget(void) {
    for (size_t from = 0; from < 8; from++)
        for (size_t n = 0; n < 9; n++)
            for (size_t shape = 0; shape < 429; shape++) hd_buffer_free(&trees[from][n][shape]);
}

static const hd_buffer *tree(const leaf *leaves, size_t from, size_t n, uint64_t shape) {
    hd_merger *m;
    hd_buffer *sum = &trees[from][n][shape];
    size_t left = 1;
    if (sum->data) return sum;
    m = hd_merger_create(NULL, NULL);
    if (n == 1) {
        add(m, &leaves[from].heap);
    } else {
        for (; shape >= shapes(left) * shapes(n - left); left++) shape -= shapes(left) * shapes(n - left);
        for (int side = 0; side < 2; side++)
            add_rows(m, side ? tree(leaves, from + left, n - left, shape / shapes(left)) : tree(leaves, from, left, shape % shapes(left)));
    }
    *sum = parts(m, shape % 2 ? HD_ROWS_JSON : HD_ROWS_CSV);
    hd_merger_free(m);
    return sum;
}

static void every_tree(void **state) {
    (void)state;
    assert_int_equal(shapes(8), 429);
    for (int model = 0; model < MODELS; model++)
        for (size_t n = 2; n <= (size_t)long_or_short(8, 6); n++) {
            leaf leaves[8];
            uint64_t r = 100 * (uint64_t)model + n;
            hd_buffer of_parts, all;
            for (size_t i = 0; i < n; i++) leaf_make(&leaves[i], &r, model, 6, (int)i);
            all_at_once(leaves, n, &of_parts, &all);
            for (uint64_t shape = 0; shape < shapes(n); shape++) check_last(tree(leaves, 0, n, shape), &of_parts, &all);
            trees_forget();
            hd_buffer_free(&of_parts);
            hd_buffer_free(&all);
            for (size_t i = 0; i < n; i++) hd_heap_release(&leaves[i].heap);
        }
}

enum { MANY = 1000, PROGRAMS = 17 };

/* Merges groups of any size until one is left. */
static hd_buffer any_tree(const leaf *leaves, uint64_t *r) {
    static hd_buffer part[MANY];
    size_t order[MANY], n = MANY, left = 0;
    hd_merger *m = hd_merger_create(NULL, NULL);
    for (size_t i = 0; i < MANY; i++) order[i] = i;
    for (size_t i = MANY; i > 1; i--) {
        size_t k = hd__test_below(r, i), swap = order[k];
        order[k] = order[i - 1], order[i - 1] = swap;
    }
    for (size_t at = 0, end; at < n; at = end) {
        end = at + 1 + hd__test_below(r, 120);
        for (size_t i = at; i < end && i < n; i++) add(m, &leaves[order[i]].heap);
        part[left++] = parts(m, (hd_rows_form)hd__test_below(r, 2));
    }
    while (left > 1) {
        size_t group = 1 + hd__test_below(r, left < 6 ? left : 6);
        for (size_t i = 0; i < group; i++) {
            size_t k = hd__test_below(r, left);
            add_rows(m, &part[k]);
            hd_buffer_free(&part[k]);
            part[k] = part[--left];
        }
        part[left++] = parts(m, (hd_rows_form)hd__test_below(r, 2));
    }
    hd_merger_free(m);
    return part[0];
}

static void any_tree_of_many(void **state) {
    (void)state;
    static leaf leaves[MANY];
    for (int model = 0; model < MODELS; model++) {
        uint64_t r = 7 + (uint64_t)model;
        hd_buffer of_parts, all;
        for (int i = 0; i < MANY; i++) { /* most heaps are runs of few programs, as in a fleet */
            uint64_t program = 1000 * (uint64_t)model + (uint64_t)i % PROGRAMS;
            leaf_make(&leaves[i], i % 40 ? &program : &r, model, 3, i);
        }
        all_at_once(leaves, MANY, &of_parts, &all);
        for (int shape = 0; shape < long_or_short(model == MIXED ? 66 : 67, 6); shape++) {
            hd_buffer last = any_tree(leaves, &r);
            check_last(&last, &of_parts, &all);
            hd_buffer_free(&last);
        }
        hd_buffer_free(&of_parts);
        hd_buffer_free(&all);
        for (int i = 0; i < MANY; i++) hd_heap_release(&leaves[i].heap);
    }
}

/* Labels that all heaps share stay. The others are dropped, also if only one heap lacks them. */
static void labels_that_all_share_stay(void **state) {
    (void)state;
    hd_label one[] = { { "host", "a" }, { "day", "1" }, { "run", "x" } }, two[] = { { "run", "y" }, { "host", "a" }, { "day", "1" } };
    hd_profile *p = profile_new(1);
    hd_heap heaps[3] = { { .profile = p, .labels = one, .label_count = 3 }, { .profile = p, .labels = two, .label_count = 3 }, { .profile = p } };
    hd_heap sum;
    assert_int_equal(hd_merge(heaps, 2, NULL, &sum, NULL), HD_OK);
    assert_int_equal(sum.label_count, 2);
    assert_string_equal(hd_heap_label(&sum, "host"), "a");
    assert_string_equal(hd_heap_label(&sum, "day"), "1");
    assert_null(hd_heap_label(&sum, "run"));
    hd_heap_release(&sum);
    assert_int_equal(hd_merge(heaps, 3, NULL, &sum, NULL), HD_OK);
    assert_int_equal(sum.label_count, 0);
    hd_heap_release(&sum);
    hd_profile_free(p);
}

static void each_allocation_of_parts_fails_once(void **state) {
    (void)state;
    leaf leaves[4];
    uint64_t r = 3;
    hd__faults f = { 0 };
    hd_buffer of_parts, all;
    for (int i = 0; i < 4; i++) leaf_make(&leaves[i], &r, i % 2 ? BREAKDOWNS : PROFILES, 4, i);
    all_at_once(leaves, 4, &of_parts, &all);
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_error err = { 0 };
        hd_heap heaps[2];
        size_t count = 0;
        hd_merger *m = hd_merger_create(&options, &err);
        hd_status status = m ? HD_OK : err.status;
        for (int i = 0; i < 4 && !status; i++) status = hd_merger_add(m, &leaves[i].heap, &err);
        if (!status) status = hd_merger_finish_parts(m, heaps, &count, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) {
            hd_buffer rows = rows_of(heaps, count, HD_ROWS_CSV);
            assert_buffers(&rows, &of_parts);
            hd_buffer_free(&rows);
        }
        for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
        hd_merger_free(m);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
    }
    hd_buffer_free(&of_parts);
    hd_buffer_free(&all);
    for (int i = 0; i < 4; i++) hd_heap_release(&leaves[i].heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree),
        cmocka_unit_test(any_tree_of_many),
        cmocka_unit_test(labels_that_all_share_stay),
        cmocka_unit_test(each_allocation_of_parts_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
