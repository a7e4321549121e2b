/* Time and memory of exports, cut-offs, budgets and inversions are near-linear in the heap, for every shape of heap.
   Counts calls instead of time, for a heap and for one of four times its size. Then compares results for random heaps
   with simple implementations. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"

/* Calls of functions, counted by code that the compiler inserts (see the Makefile): the measure of work. */
static unsigned long long calls;
void __cyg_profile_func_enter(void *function, void *site) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *site) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void *function, void *site) {
    (void)function, (void)site;
    calls++;
}
void __cyg_profile_func_exit(void *function, void *site) { (void)function, (void)site; }

/* Shapes: n cells, with many or long paths or types. */

static uint32_t frame(hd_profile *p, uint32_t axis, uint32_t parent, char letter, int number) {
    char name[16];
    uint32_t node;
    snprintf(name, sizeof name, "%c%d", letter, number);
    assert_int_equal(hd_profile_node(p, axis, parent, hd_cstr(name), &node, NULL), HD_OK);
    return node;
}

static void cell(hd_profile *p, uint32_t backtrace, uint32_t type, uint64_t bytes) {
    uint32_t nodes[2] = { backtrace, type };
    assert_int_equal(hd_profile_add(p, nodes, bytes, 1, NULL), HD_OK);
}

static hd_profile *chain(int n) {
    hd_profile *p = profile_new(2);
    uint32_t type = frame(p, 1, 0, 'T', 0), node = 0;
    for (int i = 0; i < n; i++) cell(p, node = frame(p, 0, node, 'f', i), type, 8);
    return p;
}

static hd_profile *chain_of_types(int n) {
    hd_profile *p = profile_new(2);
    uint32_t node = 0;
    for (int i = 0; i < n; i++) cell(p, node = frame(p, 0, node, 'f', i), frame(p, 1, 0, 'T', i % 7), 8 + (uint64_t)(i % 5));
    return p;
}

static hd_profile *recursion(int n) {
    hd_profile *p = profile_new(1);
    uint32_t node = 0;
    for (int i = 0; i < n; i++) {
        node = frame(p, 0, node, 'f', 0);
        assert_int_equal(hd_profile_add(p, &node, 8, 1, NULL), HD_OK);
    }
    return p;
}

static hd_profile *types(int n) {
    hd_profile *p = profile_new(2);
    uint32_t node = frame(p, 0, 0, 'f', 0);
    for (int i = 0; i < n; i++) cell(p, node, frame(p, 1, 0, 'T', i), 10);
    return p;
}

static hd_profile *grid(int n) {
    hd_profile *p = profile_new(2);
    int side = 1;
    uint32_t node = 0;
    while (side * side < n) side++;
    for (int i = 0; i < side; i++) {
        node = frame(p, 0, node, 'f', i);
        for (int k = 0; k < side; k++) cell(p, node, frame(p, 1, 0, 'T', k), (uint64_t)(1 + i * k));
    }
    return p;
}

/* A chain with leaves far down. */
static hd_profile *comb(int n) {
    hd_profile *p = profile_new(2);
    uint32_t type = frame(p, 1, 0, 'T', 0), node = 0, last[64];
    for (int i = 0; i < n / 2; i++) last[i % 64] = node = frame(p, 0, node, 'f', i);
    for (int i = 0; i < n - n / 2; i++) cell(p, frame(p, 0, last[i % 64], 'l', i), type, 1 + (uint64_t)i);
    return p;
}

/* The operations. */

static const hd_cutoff none = { 0 }, share = { .min_share = 0.01 }, parent_share = { .min_parent_share = 0.1 },
                       top = { .top = 5 }, entries = { .max_entries = 20 }, text = { .max_output_bytes = 4000 };

static void export_with(const hd_cutoff *cutoff, const hd_heap *heap, const hd_options *options) {
    hd_breakdown *b;
    assert_int_equal(hd_heap_break_down(heap, cutoff, options, &b, NULL), HD_OK);
    hd_breakdown_free(b);
}

static void invert(const hd_cutoff *cutoff, const hd_heap *heap, const hd_options *options) {
    hd_heap out;
    if (heap->breakdown && heap->breakdown->entries.axis_count > 1) return;
    assert_int_equal(hd_invert_for(heap, 0, cutoff, options, &out, NULL), HD_OK);
    hd_heap_release(&out);
}

static void compare(const hd_cutoff *cutoff, const hd_heap *heap, const hd_options *options) {
    hd_profile *empty = profile_new(2);
    hd_heap nothing = { .profile = empty };
    hd_diff *diff;
    assert_int_equal(hd_compare(heap, &nothing, cutoff, options, &diff, NULL), HD_OK);
    hd_diff_free(diff);
    hd_profile_free(empty);
}

typedef struct cost {
    double calls, bytes, input;  /* input: least bytes of a file with the same heap */
} cost;

static cost cost_of(hd_profile *(*shape)(int), int n, bool listed,
                    void (*work)(const hd_cutoff *, const hd_heap *, const hd_options *), const hd_cutoff *cutoff) {
    hd_profile *p = shape(n);
    hd_breakdown *all = listed ? exported(p, none) : NULL;
    hd_heap heap = { .profile = listed ? NULL : p, .breakdown = all };
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    cost c;
    calls = 0;
    work(cutoff, &heap, &options);
    c.calls = (double)calls;
    c.bytes = (double)faults.peak;
    c.input = (double)strlen(listed ? "{\"size\":\"20\",\"bt\":\"3e8\"}," : "1000,1,32,1,") *
              (listed ? all->entries.count : hd_profile_cells(p).count);
    for (uint32_t a = 0; a < hd_profile_axis_count(p); a++)
        c.input += (double)strlen(listed ? "\"3e8\":{\"name\":\"f999\",\"parent\":\"3e7\"},"
                                         : "{\"id\":999,\"name_sid\":999,\"parent\":998},{\"id\":999,\"string\":\"f999\"},") *
                   hd_profile_axis(p, a).node_count;
    hd_breakdown_free(all);
    hd_profile_free(p);
    return c;
}

/* `usual` calls per cell are always allowed: for a small heap a budget may try larger entries once or twice first. */
static void assert_in_proportion(void (*work)(const hd_cutoff *, const hd_heap *, const hd_options *),
                                 const hd_cutoff *cutoff, double usual, const char *what) {
    static const struct {
        const char *name;
        hd_profile *(*make)(int);
    } shapes[] = { { "chain", chain }, { "chain of types", chain_of_types }, { "recursion", recursion },
                   { "types", types }, { "grid", grid },                     { "comb", comb } };
    enum { SMALL = 1024, FACTOR = 4 };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int listed = (int)i % long_or_short(1, 2); listed < 2; listed += long_or_short(1, 2)) {
            cost x = cost_of(shapes[i].make, SMALL, listed, work, cutoff);
            cost y = cost_of(shapes[i].make, FACTOR * SMALL, listed, work, cutoff);
            if (x.bytes < 1) continue; /* a breakdown does not support this operation */
            assert_true(x.calls > 100);
            if (x.calls < usual * SMALL) x.calls = usual * SMALL;
            bool bad = y.calls > 5.28 * x.calls || y.bytes > 64 * y.input; /* 4 to the power of 1.2 */
            if (bad || getenv("GROWTH"))
                print_message("%s, %s%s: calls times %.2f, memory times %.1f\n", what, shapes[i].name,
                              listed ? ", listed" : "", y.calls / x.calls, y.bytes / y.input);
            assert_false(bad);
        }
}

static void cutting_off_is_in_proportion(void **state) {
    (void)state;
    assert_in_proportion(export_with, &none, 0, "all");
    assert_in_proportion(export_with, &share, 0, "a share");
    assert_in_proportion(export_with, &parent_share, 0, "a share of the parent");
    assert_in_proportion(export_with, &top, 0, "the top");
}

static void budgets_are_in_proportion(void **state) {
    (void)state;
    assert_in_proportion(export_with, &entries, 2500, "entries");
    assert_in_proportion(export_with, &text, 8000, "output bytes");
}

static void comparing_is_in_proportion(void **state) {
    (void)state;
    assert_in_proportion(compare, &share, 0, "compared");
    assert_in_proportion(compare, &entries, 2500, "compared, entries");
}

static void inverting_for_a_tree_is_in_proportion(void **state) {
    (void)state;
    assert_in_proportion(invert, &share, 0, "inverted");
}

/* Plain definitions. */

static hd_profile *random_heap(uint64_t *r, uint32_t axes, bool deep_types) {
    hd_profile *p = profile_new(axes);
    uint64_t cells = 1 + hd__test_below(r, 60), names = 2 + hd__test_below(r, 4), depth = 1 + hd__test_below(r, 9);
    for (uint64_t i = 0; i < cells; i++) {
        uint32_t nodes[HD_MAX_AXES] = { 0 };
        for (uint32_t a = 0; a < axes; a++) {
            uint64_t levels = a && !deep_types ? hd__test_below(r, 2) : hd__test_below(r, depth);
            while (levels--) nodes[a] = frame(p, a, nodes[a], 'a', (int)hd__test_below(r, names));
        }
        uint64_t bytes = hd__test_below(r, 3) ? hd__test_below(r, 40) : hd__test_below(r, 100000);
        assert_int_equal(hd_profile_add(p, nodes, bytes, 1, NULL), HD_OK);
    }
    return p;
}

/* A breakdown as in a file: some entries are missing, others have other sizes. */
static hd_breakdown *with_gaps(uint64_t *r, hd_breakdown *all) {
    hd_profile *p = profile_new(all->entries.axis_count);
    hd_breakdown *b;
    for (uint32_t i = 0; i < all->entries.count; i++) {
        uint32_t nodes[HD_MAX_AXES] = { 0 };
        if (!hd__test_below(r, 5)) continue;
        for (uint32_t a = 0; a < all->entries.axis_count; a++) {
            uint32_t path[32], depth = 0;
            for (uint32_t k = hd__entry_node(all, i, a); k; k = all->axis[a].parent[k]) path[depth++] = k;
            while (depth)
                assert_int_equal(hd_profile_node(p, a, nodes[a], all->axis[a].node_name[path[--depth]], &nodes[a], NULL), HD_OK);
        }
        uint64_t bytes = hd__test_below(r, 9) ? all->entries.amount[i].bytes : hd__test_below(r, 1000);
        assert_int_equal(hd_profile_add(p, nodes, bytes, all->entries.amount[i].blocks, NULL), HD_OK);
    }
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    hd_profile_free(p);
    hd_breakdown_free(all);
    return b;
}

static bool is_in(const hd_breakdown *b, uint32_t e, uint32_t atom) {
    for (uint32_t a = 0; a < b->entries.axis_count; a++) {
        uint32_t node = hd__entry_node(b, e, a), at = hd__entry_node(b, atom, a);
        if (at < node || at >= b->axis[a].end[node]) return false;
    }
    return true;
}

static hd_breakdown *random_breakdown(uint64_t *r) {
    hd_profile *p = random_heap(r, 1 + (uint32_t)hd__test_below(r, 3), hd__test_below(r, 2));
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    hd_profile_free(p);
    return hd__test_below(r, 2) ? with_gaps(r, b) : b;
}

static void atoms_are_bytes_of_entries_without_their_children(void **state) {
    (void)state;
    uint64_t r = 15;
    for (int round = 0; round < long_or_short(300, 20); round++) {
        hd_breakdown *b = random_breakdown(&r);
        uint32_t n = b->entries.count;
        uint64_t *rest = calloc(n, sizeof *rest);
        const uint64_t *whole;
        hd_rows atoms;
        hd__mem m = hd__mem_options(NULL);
        assert_int_equal(hd__budget_residuals(&m, b, &atoms, &whole, NULL), HD_OK);
        for (uint32_t e = n; e-- > 0;) {
            uint64_t below = 0;
            for (uint32_t i = e + 1; i < n; i++)
                if (is_in(b, e, i)) below += rest[i];
            rest[e] = hd__sum_rest(b->entries.amount[e].bytes, below);
            assert_int_equal(atoms.amount[e].bytes, rest[e]);
            assert_int_equal(whole[e], rest[e] + below);
        }
        free(rest);
        hd__mem_end(&m);
        hd_breakdown_free(b);
    }
}

/* Lists entries one after another, and computes each gain from scratch. The listed entries that contain an atom are
   its class. */
static void list_plainly(const hd_breakdown *b, const hd_rows *atoms, const uint8_t *candidates, uint32_t most,
                         uint8_t *listed) {
    uint32_t n = b->entries.count, count = 1, classes = 1, *class_of = calloc(n, sizeof *class_of);
    uint64_t *weight = calloc(n + 1, sizeof *weight), *within = calloc(n + 1, sizeof *within), total = 0;
    for (uint32_t i = 0; i < n; i++) total += atoms->amount[i].bytes;
    weight[0] = total;
    memset(listed, 0, n);
    for (listed[0] = 1; count < most; count++) {
        uint64_t best_gain = 0, gain;
        uint32_t best = 0;
        for (uint32_t e = 1; e < n; e++) {
            if (!candidates[e] || listed[e]) continue;
            memset(within, 0, (n + 1) * sizeof *within);
            for (uint32_t i = 0; i < n; i++)
                if (is_in(b, e, i)) within[class_of[i]] += atoms->amount[i].bytes;
            gain = 0;
            for (uint32_t c = 0; c < classes; c++)
                gain += (uint64_t)(hd__budget_entropy(within[c], weight[c]) * (144115188075855872.0 / (double)total));
            if (gain > best_gain || (gain && gain == best_gain && b->entries.amount[e].bytes > b->entries.amount[best].bytes))
                best = e, best_gain = gain;
        }
        if (!best) break;
        listed[best] = 1;
        for (uint32_t c = 0, n_before = classes; c < n_before; c++) {
            uint64_t inside = 0;
            for (uint32_t i = 0; i < n; i++)
                if (class_of[i] == c && is_in(b, best, i)) inside += atoms->amount[i].bytes;
            if (!inside || inside == weight[c]) continue;
            for (uint32_t i = 0; i < n; i++)
                if (class_of[i] == c && is_in(b, best, i)) class_of[i] = classes;
            weight[c] -= inside;
            weight[classes++] = inside;
        }
    }
    for (; count < most && count < n; count++) { /* then the largest; among equal entries the first */
        uint32_t largest = 0;
        for (uint32_t e = 1; e < n; e++)
            if (!listed[e] && (!largest || b->entries.amount[e].bytes > b->entries.amount[largest].bytes)) largest = e;
        listed[largest] = 1;
    }
    free(class_of), free(weight), free(within);
}

static void budgets_list_the_largest_gain_each_time(void **state) {
    (void)state;
    uint64_t r = 16;
    for (int round = 0; round < long_or_short(400, 40); round++) {
        hd_breakdown *b = random_breakdown(&r), *cut;
        uint32_t n = b->entries.count, most = 2 + (uint32_t)hd__test_below(&r, 12), found = 0;
        uint8_t *candidates = malloc(n), *listed = malloc(n);
        const uint64_t *whole;
        hd_rows atoms;
        hd__mem m = hd__mem_options(NULL);
        assert_int_equal(hd__budget_residuals(&m, b, &atoms, &whole, NULL), HD_OK);
        memset(candidates, 1, n);
        /* an entry that has all bytes of its parent along axis 0 explains nothing new */
        for (uint32_t e = 1; e < n; e++) {
            uint32_t above = HD_NONE;
            for (uint32_t i = 0; i < e; i++)
                if (hd__heap_same_but(&b->entries, 0, i, e) && is_in(b, i, e)) above = i;
            if (above != HD_NONE && b->entries.amount[above].bytes == b->entries.amount[e].bytes) candidates[above] = 0;
        }
        list_plainly(b, &atoms, candidates, most, listed);
        for (test_portions = 0; test_portions < 16; test_portions += 8) {
            assert_int_equal(hd_breakdown_cut(b, &(hd_cutoff){ .max_entries = most }, NULL, &cut, NULL), HD_OK);
            hd_rows some;
            hd_breakdown *expected;
            assert_int_equal(hd__heap_rows_listed(&m, &b->entries, listed, &some, NULL), HD_OK);
            assert_int_equal(hd__breakdown_seal(hd__mem_options(NULL), b->axis, some, NULL, &expected, NULL), HD_OK);
            assert_true(breakdowns_equal(cut, expected));
            found += cut->entries.count;
            hd_breakdown_free(expected);
            hd_breakdown_free(cut);
        }
        test_portions = 8;
        assert_true(found > 0);
        free(candidates), free(listed);
        hd__mem_end(&m);
        hd_breakdown_free(b);
    }
}

static void names_are_paid_for_once(void **state) {
    (void)state;
    uint64_t r = 17;
    for (int round = 0; round < 200; round++) {
        hd_breakdown *b = random_breakdown(&r);
        hd__mem m = hd__mem_options(NULL);
        hd__budget x = { .m = &m, .b = b };
        for (uint32_t a = 0; a < b->entries.axis_count; a++) {
            uint32_t n = b->axis[a].node_count;
            bool *seen = calloc(n, 1);
            assert_int_equal(hd__budget_paths(&x, a, NULL), HD_OK);
            for (uint32_t i = 0; i < n; i++) x.known[a][i] = HD_UNKNOWN;
            x.known[a][0] = 0;
            seen[0] = true;
            for (int k = 0; k < 12; k++) {
                uint32_t listed = (uint32_t)hd__test_below(&r, n);
                for (uint32_t node = 0; node < n; node++) {
                    uint64_t bytes = 0;
                    for (uint32_t i = node; !seen[i]; i = b->axis[a].parent[i])
                        bytes += x.path_cost[a][i] - x.path_cost[a][b->axis[a].parent[i]];
                    assert_int_equal(hd__budget_names(&x, a, node), bytes);
                }
                hd__budget_name(&x, a, listed);
                for (uint32_t i = listed; !seen[i]; i = b->axis[a].parent[i]) seen[i] = true;
            }
            free(seen);
        }
        hd__mem_end(&m);
        hd_breakdown_free(b);
    }
}

static void inverting_for_a_cutoff_lists_the_same(void **state) {
    (void)state;
    uint64_t r = 18;
    for (int round = 0; round < long_or_short(400, 40); round++) {
        hd_profile *p = random_heap(&r, 1 + (uint32_t)hd__test_below(&r, 2), false);
        hd_heap heap = { .profile = p }, whole, some;
        hd_cutoff cutoff = { .min_bytes = hd__test_below(&r, 3) ? hd__test_below(&r, 400) : 0,
                             .min_share = hd__test_below(&r, 2) ? (double)hd__test_below(&r, 30) / 100 : 0,
                             .top = (uint32_t)hd__test_below(&r, 4), .max_entries = (uint32_t)hd__test_below(&r, 9) };
        assert_int_equal(hd_invert(&heap, 0, NULL, &whole, NULL), HD_OK);
        assert_int_equal(hd_invert_for(&heap, 0, &cutoff, NULL, &some, NULL), HD_OK);
        assert_true(hd_profile_axis(some.profile, 0).node_count <= hd_profile_axis(whole.profile, 0).node_count);
        hd_breakdown *x = exported(whole.profile, cutoff), *y = exported(some.profile, cutoff);
        assert_true(breakdowns_equal(x, y));
        hd_breakdown_free(x);
        hd_breakdown_free(y);
        hd_heap_release(&whole);
        hd_heap_release(&some);
        hd_profile_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting_off_is_in_proportion),
        cmocka_unit_test(budgets_are_in_proportion),
        cmocka_unit_test(comparing_is_in_proportion),
        cmocka_unit_test(inverting_for_a_tree_is_in_proportion),
        cmocka_unit_test(atoms_are_bytes_of_entries_without_their_children),
        cmocka_unit_test(budgets_list_the_largest_gain_each_time),
        cmocka_unit_test(names_are_paid_for_once),
        cmocka_unit_test(inverting_for_a_cutoff_lists_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
