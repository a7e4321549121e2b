/* Merged breakdowns have bounds: how much more an entry may hold in heaps that do not list it. Computes the bounds
   again from their definition, by paths, and compares them with the true contents of the heaps. Tests every tree of
   merges, and every failure. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "long.h"
#include "private.h"
#include "faults.h"
#include "heaps.h"

enum { AXES = 3, HEAPS = 6 };
#define ROUNDS long_or_short(120, 48)
static const char *const axis_names[AXES] = { "backtrace", "type", "arena" }; /* in the order of merged heaps */

/* The position of an entry, as paths: "" is the root. */
typedef struct tuple {
    char path[AXES][40];
} tuple;

static bool same(const tuple *a, const tuple *b) {
    for (int i = 0; i < AXES; i++)
        if (strcmp(a->path[i], b->path[i])) return false;
    return true;
}

static int last_axis(const tuple *t) {
    int a = AXES - 1;
    while (a && !*t->path[a]) a--;
    return a;
}

/* One step towards the total, along the returned axis. */
static int lift(tuple *t) {
    int a = last_axis(t);
    assert_true(*t->path[a] == '/');
    *strrchr(t->path[a], '/') = 0;
    return a;
}

static int axis_number(const char *name) {
    int a = 0;
    while (strcmp(axis_names[a], name)) a++;
    return a;
}

static void take_path(char *to, const hd_axis *axis, uint32_t node) {
    if (!node) return;
    take_path(to, axis, axis->parent[node]);
    sprintf(to + strlen(to), "/%.*s", (int)axis->node_name[node].len, axis->node_name[node].data);
}

static tuple tuple_of(const hd_axis *axes, const hd_rows *rows, uint32_t row) {
    tuple t;
    memset(&t, 0, sizeof t);
    for (uint32_t a = 0; a < rows->axis_count; a++)
        take_path(t.path[axis_number(axes[a].name)], &axes[a], hd__heap_row_nodes(rows, row)[a]);
    return t;
}

/* Rows by path: the entries of a heap, or its cells. */
typedef struct listing {
    uint32_t n;
    tuple *at;
    uint64_t *bytes;
    bool has[AXES];
} listing;

static listing listing_of(const hd_axis *axes, const hd_rows *rows) {
    listing l = { rows->count, (tuple *)calloc(rows->count + 1, sizeof(tuple)),
                  (uint64_t *)calloc(rows->count + 1, sizeof(uint64_t)), { false } };
    for (uint32_t a = 0; a < rows->axis_count; a++) l.has[axis_number(axes[a].name)] = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        l.at[i] = tuple_of(axes, rows, i);
        l.bytes[i] = rows->amount[i].bytes;
    }
    return l;
}

static void listing_free(listing *l) {
    free(l->at);
    free(l->bytes);
}

static int listed(const listing *l, const tuple *t) {
    for (uint32_t i = 0; i < l->n; i++)
        if (same(&l->at[i], t)) return (int)i;
    return -1;
}

/* The bytes of entry t beyond its listed children along an axis. */
static uint64_t rest(const listing *l, int t, int axis) {
    uint64_t rest = l->bytes[t];
    if (!l->has[axis]) return rest;
    if (rest > l->bytes[0]) rest = l->bytes[0];
    for (uint32_t i = 1; i < l->n; i++) {
        tuple above = l->at[i];
        if (lift(&above) == axis && same(&above, &l->at[t])) rest -= rest < l->bytes[i] ? rest : l->bytes[i];
    }
    return rest;
}

/* The most bytes of an entry in a heap that does not list it. */
static uint64_t open_at(const listing *l, const tuple *entry) {
    tuple t = *entry;
    int axis, at;
    do axis = lift(&t);
    while ((at = listed(l, &t)) < 0);
    return rest(l, at, axis);
}

static void assert_defined(const hd_breakdown *sum, const listing *l, int n) {
    const hd_rows *rows = &sum->entries;
    assert_non_null(rows->unlisted);
    assert_non_null(rows->slack);
    for (uint32_t i = 0; i < rows->count; i++) {
        tuple t = tuple_of(sum->axis, rows, i);
        uint64_t unlisted = 0, slack[AXES] = { 0 };
        for (int k = 0; k < n; k++) {
            int at = listed(&l[k], &t);
            uint64_t open = at < 0 ? open_at(&l[k], &t) : 0;
            unlisted += open;
            for (int a = last_axis(&t); a < AXES; a++) slack[a] += at < 0 ? open : rest(&l[k], at, a);
        }
        assert_int_equal(rows->unlisted[i], unlisted);
        for (uint32_t a = 0; a < rows->axis_count; a++)
            assert_int_equal(rows->slack[(size_t)i * rows->axis_count + a], slack[axis_number(sum->axis[a].name)]);
    }
}

/* Random heaps. ------------------------------------------------------------------------------- */

static uint32_t some_node(hd_profile *p, uint32_t axis, uint64_t *r) {
    uint32_t node = 0;
    for (uint64_t depth = hd__test_below(r, 4); depth--;) {
        char name[2] = { 0 };
        name[0] = (char)('a' + (int)hd__test_below(r, 3));
        assert_int_equal(hd_profile_node(p, axis, node, hd_cstr(name), &node, NULL), HD_OK);
    }
    return node;
}

/* A profile over some of the axes, in any order. */
static hd_profile *some_profile(uint64_t *r, bool each) {
    hd_profile_desc desc = { .axis_count = each ? AXES : 1 + (uint32_t)hd__test_below(r, AXES) };
    int order[AXES] = { 0, 1, 2 };
    hd_profile *p;
    for (uint32_t i = AXES; i > 1; i--) {
        uint32_t k = (uint32_t)hd__test_below(r, i);
        int swap = order[k];
        order[k] = order[i - 1], order[i - 1] = swap;
    }
    for (uint32_t a = 0; a < desc.axis_count; a++) desc.axis_name[a] = axis_names[order[a]];
    p = hd_profile_create(&desc, NULL);
    for (uint64_t n = 1 + hd__test_below(r, 12); n--;) {
        uint32_t nodes[AXES] = { 0 };
        for (uint32_t a = 0; a < desc.axis_count; a++) nodes[a] = some_node(p, a, r);
        assert_int_equal(hd_profile_add(p, nodes, 1 + hd__test_below(r, 100), 1, NULL), HD_OK);
    }
    return p;
}

/* A breakdown by any policy. With `contradicts`, its cumulative sizes may contradict each other. */
static hd_breakdown *some_breakdown(uint64_t *r, const hd_profile *p, bool contradicts) {
    hd_cutoff c = { 0 };
    hd_breakdown *b;
    if (contradicts) {
        assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
        return b;
    }
    switch (hd__test_below(r, 6)) {
    case 0: c.min_bytes = hd__test_below(r, 150); break;
    case 1: c.top = 1 + (uint32_t)hd__test_below(r, 3); break;
    case 2: c.min_parent_share = 0.3; break;
    case 3: c.max_entries = 1 + (uint32_t)hd__test_below(r, 20), c.nested = true; break;
    case 4: c.max_entries = 1 + (uint32_t)hd__test_below(r, 20); break;
    default: break;
    }
    return exported(p, c);
}

/* Heaps, with their true cells and their entries. Only the first may be a profile. */
typedef struct family {
    int n;
    hd_heap heap[HEAPS];
    listing cells[HEAPS], lists[HEAPS];
} family;

static family some_family(uint64_t *r, int n, bool contradicts) {
    family f;
    bool each = hd__test_below(r, 2), profile = !contradicts && !hd__test_below(r, 3);
    memset(&f, 0, sizeof f);
    f.n = n;
    for (int i = 0; i < n; i++) {
        hd_profile *p = some_profile(r, each);
        hd_breakdown *b = i || !profile ? some_breakdown(r, p, contradicts) : exported(p, (hd_cutoff){ 0 });
        hd_breakdown cells = hd__profile_view(p);
        f.cells[i] = listing_of(cells.axis, &cells.entries);
        f.lists[i] = listing_of(b->axis, &b->entries);
        if (profile && !i) f.heap[i].profile = p, hd_breakdown_free(b);
        else f.heap[i].breakdown = b, hd_profile_free(p);
    }
    return f;
}

static void family_free(family *f) {
    for (int i = 0; i < f->n; i++) {
        hd_heap_release(&f->heap[i]);
        listing_free(&f->cells[i]);
        listing_free(&f->lists[i]);
    }
}

static hd_heap merged(const hd_heap *heaps, int n) {
    hd_heap sum;
    assert_int_equal(hd_merge(heaps, (size_t)n, NULL, &sum, NULL), HD_OK);
    return sum;
}

static void assert_same_sums(const hd_heap *a, const hd_heap *b) {
    const hd_rows *x = &a->breakdown->entries, *y = &b->breakdown->entries;
    assert_true(breakdowns_equal(a->breakdown, b->breakdown));
    assert_int_equal(!x->unlisted, !y->unlisted);
    if (!x->unlisted) return;
    assert_memory_equal(x->unlisted, y->unlisted, x->count * sizeof *x->unlisted);
    assert_memory_equal(x->slack, y->slack, (size_t)x->count * x->axis_count * sizeof *x->slack);
}

/* Tests. -------------------------------------------------------------------------------------- */

/* 100 bytes of /f are 60 of /f/x in the first heap, and 5 + 95 in the second. */
static hd_heap small_sum(hd_profile *p, hd_profile *q, hd_heap heaps[2]) {
    add_cell(p, "/f/x", NULL, 60, 6);
    add_cell(p, "/f/y", NULL, 40, 3);
    add_cell(p, "/g", NULL, 10, 1);
    add_cell(q, "/f/x", NULL, 5, 1);
    add_cell(q, "/f/z", NULL, 95, 1);
    heaps[0].breakdown = exported(p, (hd_cutoff){ .min_bytes = 50 });
    heaps[1].breakdown = exported(q, (hd_cutoff){ .min_bytes = 50 });
    return merged(heaps, 2);
}

static void an_entry_has_the_bytes_it_may_hold_unlisted(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    hd_heap heaps[2] = { { 0 } }, sum, one;
    const hd_rows *rows;
    sum = small_sum(p, q, heaps);
    rows = &sum.breakdown->entries;
    assert_text(breakdown_text(sum.breakdown), "/ 210 12\n/f 200 11\n/f/x 60 6\n/f/z 95 1\n");
    assert_int_equal(rows->unlisted[0], 0);
    assert_int_equal(rows->unlisted[1], 0);
    assert_int_equal(rows->unlisted[2], 5);     /* bytes of /f in the second heap outside of /f/z */
    assert_int_equal(rows->unlisted[3], 40);    /* bytes of /f in the first heap outside of /f/x */
    assert_int_equal(rows->slack[0], 10);
    assert_int_equal(rows->slack[1], 45);
    assert_int_equal(rows->slack[2], 60 + 5);
    assert_int_equal(rows->slack[3], 40 + 95);
    one = merged(heaps, 1);
    assert_null(one.breakdown->entries.unlisted);
    assert_null(one.breakdown->entries.slack);
    assert_null(heaps[0].breakdown->entries.unlisted);
    hd_heap_release(&one);
    one = merged(&sum, 1);
    assert_same_sums(&one, &sum);
    hd_heap_release(&one), hd_heap_release(&sum);
    hd_heap_release(&heaps[0]), hd_heap_release(&heaps[1]);
    hd_profile_free(p), hd_profile_free(q);
}

static void bounds_are_as_defined(void **state) {
    (void)state;
    uint64_t r = 5;
    for (int round = 0; round < ROUNDS; round++) {
        family f = some_family(&r, 2 + (int)hd__test_below(&r, HEAPS - 1), round % 4 == 3);
        hd_heap sum = merged(f.heap, f.n);
        assert_defined(sum.breakdown, f.lists, f.n);
        hd_heap_release(&sum);
        family_free(&f);
    }
}

/* The sum of heaps low .. high - 1 by the tree with this number. */
static hd_heap by_tree(const hd_heap *heaps, const int *order, int low, int high, uint64_t number) {
    static const uint64_t trees[] = { 1, 1, 1, 2, 5, 14, 42 }; /* number of trees by number of leaves */
    hd_heap parts[2], sum;
    int at = low + 1;
    if (high - low == 1) return merged(&heaps[order[low]], 1);
    while (number >= trees[at - low] * trees[high - at]) number -= trees[at - low] * trees[high - at], at++;
    parts[0] = by_tree(heaps, order, low, at, number % trees[at - low]);
    parts[1] = by_tree(heaps, order, at, high, number / trees[at - low]);
    sum = merged(parts, 2);
    hd_heap_release(&parts[0]), hd_heap_release(&parts[1]);
    return sum;
}

static void every_tree_of_merges_has_the_same_bounds(void **state) {
    (void)state;
    static const uint64_t trees[] = { 1, 1, 1, 2, 5, 14, 42 };
    uint64_t r = 7;
    for (int round = 0; round < ROUNDS / 6; round++)
        for (int n = 2; n <= HEAPS; n++) {
            family f = some_family(&r, n, round % 4 == 3);
            hd_heap all = merged(f.heap, n);
            for (uint64_t k = 0; k < trees[n]; k++) {
                int order[HEAPS] = { 0, 1, 2, 3, 4, 5 };
                hd_heap sum;
                for (int i = n; i > 1; i--) {
                    int x = (int)hd__test_below(&r, (uint64_t)i), swap = order[x];
                    order[x] = order[i - 1], order[i - 1] = swap;
                }
                sum = by_tree(f.heap, order, 0, n, k);
                assert_same_sums(&all, &sum);
                hd_heap_release(&sum);
            }
            hd_heap_release(&all);
            family_free(&f);
        }
}

/* The true bytes of the heaps at an entry. "<self>" has the cells at its parent node. */
static uint64_t truth(const family *f, const tuple *t) {
    uint64_t bytes = 0;
    for (int k = 0; k < f->n; k++)
        for (uint32_t i = 0; i < f->cells[k].n; i++) {
            bool in = true;
            for (int a = 0; a < AXES; a++) {
                const char *cell = f->cells[k].at[i].path[a], *path = t->path[a], *self = strstr(path, "/<self>");
                size_t n = self ? (size_t)(self - path) : strlen(path);
                in &= !strncmp(cell, path, n) && (!cell[n] || (!self && cell[n] == '/'));
            }
            if (in) bytes += f->cells[k].bytes[i];
        }
    return bytes;
}

static void assert_true_of(const family *f, const hd_breakdown *sum) {
    const hd_rows *rows = &sum->entries;
    for (uint32_t i = 0; i < rows->count; i++) {
        tuple t = tuple_of(sum->axis, rows, i);
        uint64_t bytes = truth(f, &t);
        assert_true(bytes >= rows->amount[i].bytes);
        assert_true(bytes - rows->amount[i].bytes <= rows->unlisted[i]);
    }
}

/* For all bytes at or below any node, the unlisted bytes are within the slack. */
static void assert_slack_true_of(const family *f, const hd_breakdown *sum) {
    listing l = listing_of(sum->axis, &sum->entries);
    uint32_t axes = sum->entries.axis_count;
    for (int k = 0; k < f->n; k++)
        for (uint32_t i = 0; i < f->cells[k].n; i++) {
            tuple t = f->cells[k].at[i];
            for (int a = 0; a < AXES; a++, t = f->cells[k].at[i]) { /* lift each axis once */
                while (*t.path[0] || *t.path[1] || *t.path[2]) {
                    tuple up = t;
                    int axis = -1, at;
                    uint32_t column = 0;
                    while ((at = listed(&l, &up)) < 0) axis = lift(&up);
                    while (axis >= 0 && strcmp(sum->axis[column].name, axis_names[axis])) column++;
                    if (axis >= 0) assert_true(truth(f, &t) <= sum->entries.slack[(uint32_t)at * axes + column]);
                    if (*t.path[a]) *strrchr(t.path[a], '/') = 0;
                    else lift(&t);
                }
            }
        }
    listing_free(&l);
}

static void bounds_contain_the_true_bytes(void **state) {
    (void)state;
    uint64_t r = 11;
    for (int round = 0; round < ROUNDS; round++) {
        family f = some_family(&r, 2 + (int)hd__test_below(&r, HEAPS - 1), false);
        hd_heap sum = merged(f.heap, f.n), parts[2];
        hd_cutoff cutoffs[] = { { .min_bytes = 80 }, { .top = 2 }, { .max_entries = 7 } };
        int half = f.n / 2;
        assert_true_of(&f, sum.breakdown);
        assert_slack_true_of(&f, sum.breakdown);
        hd_heap_release(&sum);
        if (half == 1 && f.heap[0].profile) half = 0;
        for (size_t k = 0; k < 3 && half; k++) { /* sums that are cut, and added up again */
            hd_breakdown *cut[2];
            for (int i = 0; i < 2; i++) {
                parts[i] = merged(f.heap + (i ? half : 0), i ? f.n - half : half);
                assert_int_equal(hd_breakdown_cut(parts[i].breakdown, &cutoffs[k], NULL, &cut[i], NULL), HD_OK);
                assert_null(cut[i]->entries.slack);
                hd_heap_release(&parts[i]);
                parts[i].breakdown = cut[i];
            }
            sum = merged(parts, 2);
            assert_true_of(&f, sum.breakdown);
            assert_slack_true_of(&f, sum.breakdown);
            hd_heap_release(&sum), hd_heap_release(&parts[0]), hd_heap_release(&parts[1]);
        }
        family_free(&f);
    }
}

/* Each side of a diff is within its bounds, even for entries that only the other side lists. */
static void bounds_of_diffs_contain_the_true_bytes(void **state) {
    (void)state;
    uint64_t r = 17;
    int open = 0;
    for (int round = 0; round < ROUNDS; round++) {
        family f = some_family(&r, 4, false), half[2] = { f, f };
        hd_heap sums[2] = { merged(f.heap, 2), merged(f.heap + 2, 2) };
        hd_cutoff cutoff = { .top = (uint32_t)hd__test_below(&r, 3) };
        hd_diff *diff;
        half[0].n = half[1].n = 2;
        memmove(half[1].cells, f.cells + 2, 2 * sizeof *f.cells);
        assert_int_equal(hd_compare(&sums[0], &sums[1], &cutoff, NULL, &diff, NULL), HD_OK);
        for (int s = 0; s < 2; s++) {
            const hd_rows *rows = s ? &diff->after : &diff->before;
            for (uint32_t i = 0; i < rows->count && rows->unlisted; i++) {
                tuple t = tuple_of(diff->axis, rows, i);
                uint64_t bytes = truth(&half[s], &t);
                assert_true(bytes >= rows->amount[i].bytes);
                assert_true(bytes - rows->amount[i].bytes <= rows->unlisted[i]);
                if (rows->unlisted[i]) assert_true(diff->flags[i] & HD_DIFF_BOUND);
                open += rows->unlisted[i] && !rows->amount[i].bytes;
            }
        }
        hd_diff_free(diff);
        hd_heap_release(&sums[0]), hd_heap_release(&sums[1]);
        family_free(&f);
    }
    assert_true(open > ROUNDS);
}

static void cut_keeps_the_bounds_of_listed_entries(void **state) {
    (void)state;
    uint64_t r = 13;
    for (int round = 0; round < ROUNDS; round++) {
        family f = some_family(&r, 3, false);
        hd_heap sum = merged(f.heap, 3);
        const hd_rows *all = &sum.breakdown->entries;
        hd_breakdown *cut;
        hd_cutoff c = { .min_bytes = hd__test_below(&r, 90), .max_entries = (uint32_t)hd__test_below(&r, 3) * 6 };
        uint32_t at = 0;
        assert_int_equal(hd_breakdown_cut(sum.breakdown, &c, NULL, &cut, NULL), HD_OK);
        for (uint32_t i = 0; i < cut->entries.count; i++, at++) {
            tuple t = tuple_of(cut->axis, &cut->entries, i), u = tuple_of(sum.breakdown->axis, all, at);
            while (!same(&t, &u)) u = tuple_of(sum.breakdown->axis, all, ++at);
            assert_int_equal(cut->entries.unlisted[i], all->unlisted[at]);
        }
        hd_breakdown_free(cut);
        hd_heap_release(&sum);
        family_free(&f);
    }
}

/* A single axis: its entries at the roots of the other axes are unchanged. */
static void one_axis_keeps_its_bounds(void **state) {
    (void)state;
    uint64_t r = 29;
    hd_breakdown *one = NULL;
    for (int round = 0; round < 20; round++) {
        family f = some_family(&r, 3, false);
        hd_heap sum = merged(f.heap, 3);
        const hd_breakdown *b = sum.breakdown;
        uint32_t axes = b->entries.axis_count;
        for (uint32_t a = 0; a < axes; a++) {
            uint32_t n = 0;
            assert_int_equal(hd_breakdown_axis(b, a, NULL, &one, NULL), HD_OK);
            assert_string_equal(one->axis[0].name, b->axis[a].name);
            for (uint32_t i = 0; i < b->entries.count; i++) {
                tuple t, u;
                bool at_roots = true;
                for (uint32_t k = 0; k < axes; k++) at_roots &= k == a || !b->entries.node[i * axes + k];
                if (!at_roots) continue;
                assert_true(n < one->entries.count);
                t = tuple_of(b->axis, &b->entries, i), u = tuple_of(one->axis, &one->entries, n);
                assert_true(same(&t, &u));
                assert_int_equal(one->entries.amount[n].bytes, b->entries.amount[i].bytes);
                assert_int_equal(one->entries.unlisted[n], b->entries.unlisted[i]);
                assert_int_equal(one->entries.slack[n++], b->entries.slack[i * axes + a]);
            }
            assert_int_equal(n, one->entries.count);
            hd_breakdown_free(one);
        }
        assert_int_equal(hd_breakdown_axis(b, axes, NULL, &one, NULL), HD_INVALID);
        if (!round) {
            hd__faults faults = { 0 };
            HD__EACH_FAULT(faults) {
                hd_options options = { .allocator = hd__faults_allocator(&faults) };
                hd_status status = hd_breakdown_axis(b, 0, &options, &one, NULL);
                assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
                if (!status) hd_breakdown_free(one);
                assert_int_equal(faults.live, 0);
            }
        }
        hd_heap_release(&sum);
        family_free(&f);
    }
}

/* After any failure, later merges give the same result as without it. */
static void failures_leave_bounds_unchanged(void **state) {
    (void)state;
    uint64_t r = 17;
    for (int round = 0; round < 6; round++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        family f = some_family(&r, 5, false);
        hd_heap expected = merged(f.heap, f.n);
        int failures = 0;
        HD__EACH_FAULT(faults) {
            hd_error err;
            hd_merger *x = hd_merger_create(&options, &err);
            hd_heap sum = { 0 };
            hd_breakdown *cut = NULL;
            hd_status status;
            if (!x) continue;
            for (int i = 0; i < f.n; i++)
                while ((status = hd_merger_add(x, &f.heap[i], &err)) != HD_OK)
                    assert_int_equal(status, HD_OUT_OF_MEMORY), failures++;
            while ((status = hd_merger_finish(x, &sum, &err)) != HD_OK)
                assert_int_equal(status, HD_OUT_OF_MEMORY), failures++;
            hd_merger_free(x);
            assert_same_sums(&expected, &sum);
            while ((status = hd_breakdown_cut(sum.breakdown, NULL, &options, &cut, &err)) != HD_OK)
                assert_int_equal(status, HD_OUT_OF_MEMORY), failures++;
            hd_breakdown_free(cut);
            hd_heap_release(&sum);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
        }
        assert_true(failures > 20);
        hd_heap_release(&expected);
        family_free(&f);
    }
}

static void overflow_leaves_bounds_as_they_were(void **state) {
    (void)state;
    for (uint32_t axes = 1; axes < 3; axes++) {
        hd_profile *p = profile_new(1), *q = profile_new(1), *large = profile_new(axes);
        hd_heap heaps[3] = { { 0 } }, sum, expected;
        hd_merger *x = hd_merger_create(NULL, NULL);
        add_cell(p, "/f", NULL, 60, 1), add_cell(p, "/g", NULL, 40, 1);
        add_cell(q, "/f", NULL, 5, 1), add_cell(q, "/h", NULL, 20, 1);
        add_cell(large, "/i", axes > 1 ? "/T" : NULL, UINT64_MAX - 10, 1);
        heaps[0].breakdown = exported(p, (hd_cutoff){ .min_bytes = 50 });
        heaps[1].breakdown = exported(q, (hd_cutoff){ .min_bytes = 10 });
        heaps[2].breakdown = exported(large, (hd_cutoff){ 0 });
        expected = merged(heaps, 2);
        assert_int_equal(hd_merger_add(x, &heaps[0], NULL), HD_OK);
        assert_int_equal(hd_merger_add(x, &heaps[2], NULL), HD_OVERFLOW);
        assert_int_equal(hd_merger_add(x, &heaps[1], NULL), HD_OK);
        assert_int_equal(hd_merger_add(x, &heaps[2], NULL), HD_OVERFLOW);
        assert_int_equal(hd_merger_finish(x, &sum, NULL), HD_OK);
        assert_same_sums(&expected, &sum);
        hd_merger_free(x);
        hd_heap_release(&sum), hd_heap_release(&expected);
        for (int i = 0; i < 3; i++) hd_heap_release(&heaps[i]);
        hd_profile_free(p), hd_profile_free(q), hd_profile_free(large);
    }
}

/* Slack belongs to paths that depend on the order of axes: with another order it is computed again. */
static void bounds_hold_whatever_the_order_of_axes(void **state) {
    (void)state;
    uint64_t r = 19;
    for (int round = 0; round < ROUNDS; round++) {
        family f = some_family(&r, 4, false);
        hd_heap parts[2] = { merged(f.heap, 2), merged(f.heap + 2, 2) }, sum, turned = { 0 };
        hd_breakdown view = *parts[0].breakdown, *b;
        uint32_t axes = view.entries.axis_count, n = view.entries.count;
        uint32_t *node = (uint32_t *)calloc((size_t)n * axes, sizeof *node);
        uint64_t *slack = (uint64_t *)calloc((size_t)n * axes, sizeof *slack);
        for (uint32_t a = 0; a < axes; a++) {
            view.axis[a] = parts[0].breakdown->axis[axes - 1 - a];
            for (uint32_t i = 0; i < n; i++) {
                node[(size_t)i * axes + a] = view.entries.node[(size_t)i * axes + axes - 1 - a];
                slack[(size_t)i * axes + a] = view.entries.slack[(size_t)i * axes + axes - 1 - a];
            }
        }
        view.entries.node = node;
        view.entries.slack = slack;
        assert_int_equal(hd__breakdown_seal(hd__mem_options(NULL), view.axis, view.entries, NULL, &b, NULL), HD_OK);
        turned.breakdown = b;
        hd_heap_release(&parts[0]);
        parts[0] = turned;
        sum = merged(parts, 2);
        assert_true_of(&f, sum.breakdown);
        assert_slack_true_of(&f, sum.breakdown);
        hd_heap_release(&sum), hd_heap_release(&parts[0]), hd_heap_release(&parts[1]);
        family_free(&f);
        free(node), free(slack);
    }
}

/* Printing and comparing. --------------------------------------------------------------------- */

/* The output of a print function; the caller frees it. */
static char *printed(hd_status (*print)(const hd_heap *heap, hd_out out), const hd_heap *heap) {
    hd__write_faults w = { 0 };
    char *text;
    assert_int_equal(print(heap, hd__faults_out(&w)), HD_OK);
    text = (char *)calloc(w.size + 1, 1);
    if (w.size) memcpy(text, w.data, w.size);
    hd__write_faults_free(&w);
    return text;
}

static hd_status print_tree(const hd_heap *heap, hd_out out) { return hd_print_tree(heap, NULL, out, NULL); }

static hd_status print_tree_cut(const hd_heap *heap, hd_out out) {
    hd_tree_options o = { .cutoff = { .min_bytes = 65 }, .units = true };
    return hd_print_tree(heap, &o, out, NULL);
}

static hd_status print_top(const hd_heap *heap, hd_out out) { return hd_print_top(heap, NULL, out, NULL); }

static hd_status print_diff(const hd_heap *heap, hd_out out) {
    return hd_print_diff(&heap[0], &heap[1], NULL, out, NULL);
}

static hd_status tell_tree(void *user, const hd_tree_row *row) {
    fprintf((FILE *)user, "%.*s %" PRIu64 "+%" PRIu64 "\n", (int)row->name.len, row->name.data, row->amount.bytes,
            row->unlisted);
    return HD_OK;
}

static hd_status tell_top(void *user, const hd_top_row *row) {
    fprintf((FILE *)user, "%.*s %" PRIu64 "+%" PRIu64 "\n", (int)row->name.len, row->name.data, row->cumulative.bytes,
            row->more);
    return HD_OK;
}

static hd_status tell_diff(void *user, const hd_diff_row *row) {
    fprintf((FILE *)user, "%.*s %" PRIu64 "+%" PRIu64 " %" PRIu64 "+%" PRIu64 "%s\n", (int)row->name.len,
            row->name.data, row->amount[0].bytes, row->unlisted[0], row->amount[1].bytes, row->unlisted[1],
            row->flags & HD_DIFF_BOUND ? " ?" : "");
    return HD_OK;
}

static void lines_say_how_much_more_they_may_be(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    hd_heap heaps[2] = { { 0 } }, sum, both[2];
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    sum = small_sum(p, q, heaps);
    assert_text(printed(print_tree, &sum), "210  100.0%  12  total\n"
                                           "200   95.2%  11    f\n"
                                           " 95   45.2%   1      z (+40?)\n"
                                           " 60   28.6%   6      x (+5?)\n"
                                           " 45   21.4%   4      <other>\n"
                                           " 10    4.8%   1    <other>\n"
                                           "(+...?): at most this much more, from merged "
                                           "heaps that do not list the line\n");
    assert_text(printed(print_tree_cut, &sum), "     210 B  100.0%  12  total\n"
                                               "     200 B   95.2%  11    f\n"
                                               "      95 B   45.2%   1      z (+40 B?)\n"
                                               "     105 B   50.0%  10      <other>\n"
                                               "      10 B    4.8%   1    <other>\n"
                                               "(+...?): at most this much more, from merged "
                                               "heaps that do not list the line\n");
    assert_text(printed(print_tree, &heaps[1]), "100  100.0%  2  total\n"
                                                "100  100.0%  2    f\n"
                                                " 95   95.0%  1      z\n"
                                                "  5    5.0%  1      <other>\n");
    assert_text(printed(print_top, &sum), "210  100.0%               12  total\n"
                                          "200   95.2%    0    0.0%  11  f (45 unlisted)\n"
                                          " 95   45.2%   95   45.2%   1  z (self?, +40?)\n"
                                          " 60   28.6%   60   28.6%   6  x (self?, +5?)\n"
                                          " 10    4.8%    0    0.0%   1  <other> (10 unlisted)\n"
                                          "(+...?): at most this much more, from merged heaps that "
                                          "do not list the line\n");
    assert_int_equal(hd_tree(&sum, NULL, tell_tree, f, NULL), HD_OK);
    assert_int_equal(hd_top(&sum, NULL, tell_top, f, NULL), HD_OK);
    both[0] = sum;
    both[1] = heaps[1];
    assert_int_equal(hd_diff_tree(&both[0], &both[1], NULL, tell_diff, f, NULL), HD_OK);
    fclose(f);
    assert_text(text, " 210+0\nf 200+0\nz 95+40\nx 60+5\n<other> 45+0\n<other> 10+0\n"
                      "f 200+0\nz 95+40\nx 60+5\n<other> 10+0\n"
                      " 210+0 100+0\nf 200+0 100+0\nx 60+5 0+0 ?\n<other> 140+0 100+0\n<other> 10+0 0+0\n");
    add_cell(q, "/f/x", NULL, 65, 1);
    both[1] = (hd_heap){ .profile = q };
    assert_text(printed(print_diff, both), "  -45  210  165   -9  total -> total\n"
                                           "  -35  200  165   -8    f\n"
                                           "  +10   60   70   -4      x (?, before +5)\n"
                                           "  -45  140   95   -4      <other>\n"
                                           "  -10   10    0   -1    <other> (gone)\n"
                                           "(?, before +..., after +...): at most this much more, from merged "
                                           "heaps that do not list the line\n");
    hd_heap_release(&sum), hd_heap_release(&heaps[0]), hd_heap_release(&heaps[1]);
    hd_profile_free(p), hd_profile_free(q);
}

/* Comparing and listing merged breakdowns needs memory for the bounds. */
static void running_out_of_memory_while_printing_is_an_error(void **state) {
    (void)state;
    uint64_t r = 23;
    family f = some_family(&r, 4, false);
    hd_heap parts[2] = { merged(f.heap, 2), merged(f.heap + 2, 2) };
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    hd_tree_options tree = { .options = options };
    hd_top_options top = { .options = options };
    for (int what = 0; what < 3; what++)
        HD__EACH_FAULT(faults) {
            hd_diff *diff = NULL;
            hd_error err;
            FILE *null = fopen("/dev/null", "w");
            hd_status status = what == 0   ? hd_compare(&parts[0], &parts[1], NULL, &options, &diff, &err)
                               : what == 1 ? hd_tree(&parts[0], &tree, tell_tree, null, &err)
                                           : hd_top(&parts[0], &top, tell_top, null, &err);
            assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
            if (diff) assert_non_null(diff->before.unlisted);
            if (diff) assert_non_null(diff->after.unlisted);
            hd_diff_free(diff);
            fclose(null);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
        }
    hd_heap_release(&parts[0]), hd_heap_release(&parts[1]);
    family_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_has_the_bytes_it_may_hold_unlisted),
        cmocka_unit_test(bounds_are_as_defined),
        cmocka_unit_test(every_tree_of_merges_has_the_same_bounds),
        cmocka_unit_test(bounds_contain_the_true_bytes),
        cmocka_unit_test(bounds_of_diffs_contain_the_true_bytes),
        cmocka_unit_test(cut_keeps_the_bounds_of_listed_entries),
        cmocka_unit_test(one_axis_keeps_its_bounds),
        cmocka_unit_test(failures_leave_bounds_unchanged),
        cmocka_unit_test(overflow_leaves_bounds_as_they_were),
        cmocka_unit_test(bounds_hold_whatever_the_order_of_axes),
        cmocka_unit_test(lines_say_how_much_more_they_may_be),
        cmocka_unit_test(running_out_of_memory_while_printing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
