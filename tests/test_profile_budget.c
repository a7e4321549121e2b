/* Cut-off by budget: the listed entries of small heaps, then random heaps compared with all possible choices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"

static void entries_that_halve_the_most_come_first(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a/x", NULL, 30, 1);
    add_cell(p, "/a/y", NULL, 22, 1);
    add_cell(p, "/b", NULL, 40, 1);
    add_cell(p, "/c", NULL, 8, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = 1 });
    assert_text(breakdown_text(b), "/ 100 4\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 2 });
    assert_text(breakdown_text(b), "/ 100 4\n/a 52 2\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 3 });
    assert_text(breakdown_text(b), "/ 100 4\n/a 52 2\n/a/x 30 1\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 4 });
    assert_text(breakdown_text(b), "/ 100 4\n/a 52 2\n/a/x 30 1\n/b 40 1\n");
    hd_breakdown_free(b);
    /* /a/y and /c explain nothing new: the largest entry comes next */
    b = exported(p, (hd_cutoff){ .max_entries = 5 });
    assert_text(breakdown_text(b), "/ 100 4\n/a 52 2\n/a/x 30 1\n/a/y 22 1\n/b 40 1\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 100 });
    assert_text(breakdown_text(b), "/ 100 4\n/a 52 2\n/a/x 30 1\n/a/y 22 1\n/b 40 1\n/c 8 1\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void chains_are_passed_over_to_their_end(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/main/loop/run/f", "/T", 60, 1);
    add_cell(p, "/main/loop/run/f/g", "/T", 0, 1);
    add_cell(p, "/main/loop/h", "/T", 30, 1);
    /* then the largest; among equal entries the outermost */
    hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = 4 });
    assert_text(breakdown_text(b), "/ / 90 3\n/ /T 90 3\n/main / 90 3\n/main/loop/run/f/<self> / 60 1\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 2 });
    assert_text(breakdown_text(b), "/ / 90 3\n/main/loop/run/f/<self> / 60 1\n");
    hd_buffer out = { 0 };
    hd_heap heap = { .breakdown = b };
    assert_int_equal(hd_print_tree(&heap, NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    assert_string_equal((const char *)out.data, "90  100.0%  3  total\n"
                                                "60   66.7%  1    main/loop/run/f/<self>\n"
                                                "30   33.3%  2    <other>\n");
    hd_buffer_free(&out);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void other_policies_limit_the_candidates(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a", NULL, 50, 1);
    add_cell(p, "/b", NULL, 30, 1);
    add_cell(p, "/c", NULL, 20, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = 9, .min_bytes = 40 });
    assert_text(breakdown_text(b), "/ 100 3\n/a 50 1\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 9, .top = 2 });
    assert_text(breakdown_text(b), "/ 100 3\n/a 50 1\n/b 30 1\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static hd_status count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

static uint64_t written(const hd_breakdown *b) {
    uint64_t bytes = 0;
    hd_heap heap = { .pid = 1, .allocator = "malloc", .breakdown = b };
    assert_int_equal(hd_chrome_write(&heap, 1, NULL, hd_out_callback(count_bytes, &bytes), NULL), HD_OK);
    return bytes;
}

static hd_profile *random_profile(uint64_t *r, uint32_t axes, int most_cells, int depth, int names) {
    static const char *const forms[] = { "/%c", "/\"\x01\xff%c", "/%c [a\"]" }; /* the last name has an object file */
    hd_profile *p = profile_new(axes);
    int cells = 1 + (int)hd__test_below(r, (uint64_t)most_cells);
    for (int i = 0; i < cells; i++) {
        char path[128] = "", type[8] = "";
        int levels = (int)hd__test_below(r, (uint64_t)depth + 1);
        for (int d = 0; d < levels; d++)
            snprintf(path + strlen(path), 16, forms[names], (int)('a' + hd__test_below(r, 4)));
        if (axes > 1 && hd__test_below(r, 5)) snprintf(type, sizeof type, "/%c", (int)('T' + hd__test_below(r, 3)));
        add_cell(p, path, axes > 1 ? type : NULL, hd__test_below(r, 3) ? hd__test_below(r, 50) : hd__test_below(r, 100000), 1);
    }
    return p;
}

static void output_stays_within_its_budget(void **state) {
    (void)state;
    uint64_t r = 7, used = 0, allowed = 0;
    for (int round = 0; round < long_or_short(60, 12); round++) {
        hd_profile *p = random_profile(&r, 1 + (uint32_t)round % 2, 300, 9, round % 3);
        hd_breakdown *least = exported(p, (hd_cutoff){ .max_entries = 1 }), *all = exported(p, (hd_cutoff){ 0 });
        for (uint64_t budget = 40; budget < 20000; budget += budget / 2) {
            hd_breakdown *b = exported(p, (hd_cutoff){ .max_output_bytes = budget });
            hd_breakdown *c = NULL;
            assert_true(written(b) - written(least) <= budget);
            assert_int_equal(hd_breakdown_cut(all, &(hd_cutoff){ .max_output_bytes = budget }, NULL, &c, NULL), HD_OK);
            assert_true(written(c) - written(least) <= budget);
            if (written(all) - written(least) > 2 * budget && budget > 2000)
                used += written(b) - written(least), allowed += budget;
            hd_breakdown_free(b);
            hd_breakdown_free(c);
            b = exported(p, (hd_cutoff){ .max_output_bytes = budget, .max_entries = 5 });
            assert_true(b->entries.count <= 5 && written(b) - written(least) <= budget);
            hd_breakdown_free(b);
        }
        hd_breakdown_free(least);
        hd_breakdown_free(all);
        hd_profile_free(p);
    }
    print_message("           %d %% of the budget used\n", (int)(100 * used / allowed));
    assert_true(used > allowed * 7 / 10);
}

/* The entries of `all` that b lists; the caller frees the array. */
static uint8_t *listed_of(const hd_breakdown *all, const hd_breakdown *b) {
    uint8_t *listed = calloc(all->entries.count, 1);
    for (uint32_t i = 0; i < b->entries.count; i++) {
        uint32_t nodes[2] = { 0, 0 };
        for (uint32_t a = 0; a < b->entries.axis_count; a++) {
            uint32_t path[16], depth = 0;
            for (uint32_t k = hd__entry_node(b, i, a); k; k = b->axis[a].parent[k]) path[depth++] = k;
            while (depth) nodes[a] = hd_axis_child(all->axis[a], nodes[a], b->axis[a].node_name[path[--depth]]);
        }
        listed[hd_breakdown_find(all, nodes)] = 1;
    }
    return listed;
}

/* The parent of an entry along its last axis that is not at the root. */
static uint32_t entry_above(const hd_breakdown *all, uint32_t e) {
    uint32_t axes = all->entries.axis_count, above[HD_MAX_AXES], a = axes - 1;
    memcpy(above, all->entries.node + (size_t)e * axes, axes * sizeof *above);
    while (!above[a]) a--;
    above[a] = all->axis[a].parent[above[a]];
    return hd_breakdown_find(all, above);
}

static uint64_t written_of(const hd_breakdown *all, const uint8_t *listed) {
    hd__mem m = hd__mem_options(NULL);
    hd_breakdown *some;
    hd_rows rows;
    uint64_t bytes;
    assert_int_equal(hd__heap_rows_listed(&m, &all->entries, listed, &rows, NULL), HD_OK);
    assert_int_equal(hd__breakdown_seal(hd__mem_options(NULL), all->axis, rows, NULL, &some, NULL), HD_OK);
    bytes = written(some);
    hd_breakdown_free(some);
    hd__mem_end(&m);
    return bytes;
}

/* Asserts that no other entry fits; the estimate may be longer by a digit of an id. Returns the number of entries
   tried. */
static uint32_t nothing_else_fits(const hd_breakdown *all, const hd_breakdown *b, uint64_t most, bool nested) {
    uint8_t *listed = listed_of(all, b);
    uint32_t tried = 0;
    for (uint32_t e = 1; e < all->entries.count; e++) {
        if (listed[e] || (nested && !listed[entry_above(all, e)])) continue;
        listed[e] = 1;
        assert_true(written_of(all, listed) + 4 * (uint64_t)b->entries.count + 40 > most);
        listed[e] = 0;
        tried++;
    }
    free(listed);
    return tried;
}

/* A budget for all entries lists all. With a smaller budget, the rest is too small for any other entry. */
static void a_budget_is_spent_while_anything_fits(void **state) {
    (void)state;
    uint64_t r = 9;
    uint32_t tried = 0;
    for (int round = 0; round < long_or_short(60, 18); round++) {
        hd_profile *p = random_profile(&r, 1 + (uint32_t)round % 2, 40, 6, round % 3 == 0);
        hd_breakdown *least = exported(p, (hd_cutoff){ .max_entries = 1 }), *all = exported(p, (hd_cutoff){ 0 });
        uint64_t need = written(all) - written(least);
        uint32_t n = all->entries.count;
        for (int nested = 0; nested < 2; nested++) {
            hd_cutoff fits = { .max_output_bytes = need + need / 10 + 20, .max_entries = n, .nested = nested };
            hd_breakdown *b = exported(p, fits), *c;
            assert_true(breakdowns_equal(b, all));
            hd_breakdown_free(b);
            assert_int_equal(hd_breakdown_cut(all, &fits, NULL, &c, NULL), HD_OK);
            assert_true(breakdowns_equal(c, all));
            hd_breakdown_free(c);
            for (uint32_t k = 1; k < n; k += 1 + n / 9) {
                b = exported(p, (hd_cutoff){ .max_entries = k, .nested = nested });
                assert_int_equal(b->entries.count, k);
                hd_breakdown_free(b);
            }
            for (uint64_t budget = need / 8 + 1; budget < need; budget += need / 4 + 1) {
                b = exported(p, (hd_cutoff){ .max_output_bytes = budget, .nested = nested });
                tried += nothing_else_fits(all, b, written(least) + budget, nested);
                hd_breakdown_free(b);
            }
        }
        hd_breakdown_free(least);
        hd_breakdown_free(all);
        hd_profile_free(p);
    }
    print_message("           %u entries did not fit\n", tried);
    assert_true(tried > 1000);
}

/* The measure by its definition: the entropy of the sets of chosen entries that contain the cells. */
static double explained(const hd_breakdown *all, const hd_breakdown *chosen_from, uint64_t chosen) {
    uint64_t label[64], bytes[64], total = 0;
    double bits = 0;
    uint32_t n = 0;
    hd_rows atoms;
    hd__mem m = hd__mem_options(NULL);
    const uint64_t *whole;
    assert_int_equal(hd__budget_residuals(&m, all, &atoms, &whole, NULL), HD_OK);
    for (uint32_t i = 0; i < atoms.count; i++) {
        uint64_t set = 0;
        uint32_t k = 0;
        if (!atoms.amount[i].bytes) continue;
        for (uint32_t e = 0; e < chosen_from->entries.count; e++) {
            bool in = true;
            for (uint32_t a = 0; a < atoms.axis_count; a++) {
                uint32_t node = hd__entry_node(chosen_from, e, a), at = atoms.node[i * atoms.axis_count + a];
                in &= at >= node && at < all->axis[a].end[node];
            }
            if (in && (chosen >> e & 1)) set |= UINT64_C(1) << e;
        }
        while (k < n && label[k] != set) k++;
        if (k == n) label[n] = set, bytes[n++] = 0;
        bytes[k] += atoms.amount[i].bytes;
        total += atoms.amount[i].bytes;
    }
    for (uint32_t k = 0; k < n; k++) bits -= (double)bytes[k] * log2((double)bytes[k] / (double)total);
    hd__mem_end(&m);
    return bits;
}

static uint64_t chosen_of(const hd_breakdown *all, const hd_breakdown *b) {
    uint64_t set = 0;
    for (uint32_t i = 0; i < b->entries.count; i++) {
        uint32_t nodes[2] = { 0, 0 };
        for (uint32_t a = 0; a < b->entries.axis_count; a++) {
            uint32_t path[16], depth = 0;
            for (uint32_t k = hd__entry_node(b, i, a); k; k = b->axis[a].parent[k]) path[depth++] = k;
            while (depth) nodes[a] = hd_axis_child(all->axis[a], nodes[a], b->axis[a].node_name[path[--depth]]);
        }
        set |= UINT64_C(1) << hd_breakdown_find(all, nodes);
    }
    return set;
}

static void greedy_is_within_its_bound_of_the_best(void **state) {
    (void)state;
    uint64_t r = 21;
    uint32_t checked = 0, best = 0;
    double worst = 1;
    for (int round = 0; round < 600; round++) {
        hd_profile *p = random_profile(&r, 1 + (uint32_t)round % 2, round % 2 ? 4 : 8, 3, false);
        hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
        uint32_t n = all->entries.count, k = 1 + (uint32_t)hd__test_below(&r, 4);
        if (n < 15 && n > k + 1) {
            double most = 0;
            hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = k + 1 });
            double ours = explained(all, all, chosen_of(all, b));
            for (uint64_t set = 1; set < UINT64_C(1) << n; set += 2) {
                uint64_t low;
                double bits;
                /* continue with the next set that is small enough */
                if ((uint32_t)__builtin_popcountll(set) > k + 1) {
                    low = set & (~set + 1);
                    set += low == 1 ? (set >> 1 & (~(set >> 1) + 1)) * 2 : low;
                    set |= 1;
                    set -= 2;
                    continue;
                }
                bits = explained(all, all, set);
                if (bits > most) most = bits;
            }
            assert_true(ours >= most * (1 - exp(-1)) - 1e-6);
            if (most > 0 && ours / most < worst) worst = ours / most;
            best += ours >= most - 1e-6 * most - 1e-9;
            checked++;
            hd_breakdown_free(b);
        }
        hd_breakdown_free(all);
        hd_profile_free(p);
    }
    print_message("           %u of %u are the best there is, the others at least %.3f of it\n", best, checked, worst);
    assert_true(checked > 150 && best > checked * 7 / 10);
}

/* The result does not depend on skipping small candidates at first, on the order of cells, or on a profile or its
   full breakdown as input. */
static void result_depends_only_on_the_heap(void **state) {
    (void)state;
    uint64_t r = 8;
    for (int round = 0; round < long_or_short(400, 80); round++) {
        hd_profile *p = random_profile(&r, 1 + (uint32_t)round % 2, 80, 6, false);
        hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
        hd_cutoff cutoff = { .max_entries = 1 + (uint32_t)hd__test_below(&r, 40) };
        hd_breakdown *b = exported(p, cutoff), *c;
        assert_int_equal(hd_breakdown_cut(all, &cutoff, NULL, &c, NULL), HD_OK);
        assert_true(breakdowns_equal(b, c));
        hd_breakdown_free(c);
        assert_true(b->entries.count <= cutoff.max_entries);
        assert_int_equal(hd_profile_sort(p, NULL), HD_OK);
        c = exported(p, cutoff);
        assert_true(breakdowns_equal(b, c));
        hd_breakdown_free(c);
        hd_breakdown_free(b);
        cutoff = (hd_cutoff){ .max_output_bytes = 1 + hd__test_below(&r, 4000) };
        b = exported(p, cutoff);
        hd_profile *q = profile_new(1 + (uint32_t)round % 2), *twice = profile_new(1 + (uint32_t)round % 2);
        assert_int_equal(hd_profile_merge(q, p, NULL), HD_OK);
        c = exported(q, cutoff);
        assert_true(breakdowns_equal(b, c));
        hd_profile_free(q);
        hd_profile_free(twice);
        hd_breakdown_free(c);
        hd_breakdown_free(b);
        hd_breakdown_free(all);
        hd_profile_free(p);
    }
}

static bool is_listed(const hd_breakdown *b, const uint32_t *nodes) {
    uint32_t axes = b->entries.axis_count;
    for (uint32_t e = 0; e < b->entries.count; e++)
        if (!memcmp(nodes, b->entries.node + (size_t)e * axes, axes * sizeof *nodes)) return true;
    return false;
}

/* Each entry's parent along its last axis is listed, as the viewer opens frames first and then types. */
static void assert_nested(const hd_breakdown *b) {
    uint32_t axes = b->entries.axis_count, above[HD_MAX_AXES];
    for (uint32_t e = 1; e < b->entries.count; e++) {
        memcpy(above, b->entries.node + (size_t)e * axes, axes * sizeof *above);
        uint32_t a = axes - 1;
        while (!above[a]) a--;
        above[a] = b->axis[a].parent[above[a]];
        assert_true(is_listed(b, above));
    }
}

static void nested_budgets_list_parents_too(void **state) {
    (void)state;
    uint64_t r = 11;
    uint32_t listed = 0;
    for (int round = 0; round < long_or_short(40, 8); round++) {
        hd_profile *p = random_profile(&r, 1 + (uint32_t)round % 2, 300, 9, round % 3);
        hd_breakdown *least = exported(p, (hd_cutoff){ .max_entries = 1 }), *all = exported(p, (hd_cutoff){ 0 });
        for (uint64_t budget = 40; budget < 20000; budget += budget / 2) {
            hd_cutoff cutoff = { .max_output_bytes = budget, .nested = true };
            hd_breakdown *b = exported(p, cutoff), *c;
            assert_true(written(b) - written(least) <= budget);
            assert_nested(b);
            listed += b->entries.count;
            assert_int_equal(hd_breakdown_cut(all, &cutoff, NULL, &c, NULL), HD_OK);
            assert_true(written(c) - written(least) <= budget);
            assert_nested(c);
            hd_breakdown_free(b);
            hd_breakdown_free(c);
            cutoff = (hd_cutoff){ .max_entries = 1 + (uint32_t)(budget % 50), .nested = true };
            b = exported(p, cutoff);
            assert_true(b->entries.count <= cutoff.max_entries);
            assert_nested(b);
            hd_breakdown_free(b);
        }
        hd_breakdown_free(least);
        hd_breakdown_free(all);
        hd_profile_free(p);
    }
    assert_true(listed > 1000);
    hd_profile *p = profile_new(1);
    add_cell(p, "/a/b/c", NULL, 100, 1);
    add_cell(p, "/d", NULL, 60, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = 3 });
    assert_int_equal(entry_at(b, "/a/b", NULL), HD_NONE);
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 4, .nested = true });
    assert_text(breakdown_text(b), "/ 160 2\n/a 100 1\n/a/b 100 1\n/a/b/c 100 1\n");
    hd_breakdown_free(b);
    b = exported(p, (hd_cutoff){ .max_entries = 3, .nested = true });
    assert_text(breakdown_text(b), "/ 160 2\n/a 100 1\n/d 60 1\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void diffs_have_budgets_too(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    hd_diff *d;
    add_cell(p, "/a", NULL, 50, 1);
    add_cell(p, "/b", NULL, 1000, 1);
    add_cell(q, "/a", NULL, 1, 1);
    add_cell(q, "/b", NULL, 1000, 1);
    add_cell(q, "/c/d", NULL, 51, 1);
    add_cell(q, "/e", NULL, 9, 1);
    hd_heap before = { .profile = p }, after = { .profile = q };
    for (int listed = 0; listed < 2; listed++) {
        hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
        if (listed) before.profile = NULL, before.breakdown = b;
        assert_int_equal(hd_compare(&before, &after, &(hd_cutoff){ .max_entries = 2 }, NULL, &d, NULL), HD_OK);
        assert_int_equal(d->before.count, 2);
        assert_true(hd_str_equal(d->axis[0].node_name[d->after.node[1]], hd_cstr(listed ? "d" : "d")));
        assert_int_equal(d->before.amount[1].bytes, 0);
        assert_int_equal(d->after.amount[1].bytes, 51);
        hd_diff_free(d);
        hd_breakdown_free(b);
    }
    hd_profile_free(p);
    hd_profile_free(q);
}

static void sizes_near_the_limit_are_no_trouble(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    add_cell(p, "/a", NULL, UINT64_MAX / 2, 1);
    add_cell(p, "/b", NULL, UINT64_MAX / 4, 1);
    add_cell(p, "/c", NULL, UINT64_MAX / 4, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .max_entries = 3 });
    assert_int_equal(b->entries.count, 3);
    assert_int_not_equal(entry_at(b, "/a", NULL), HD_NONE);
    assert_int_not_equal(entry_at(b, "/b", NULL), HD_NONE);
    hd_breakdown_free(b);
    hd_profile_free(p);
    p = profile_new(1);
    b = exported(p, (hd_cutoff){ .max_entries = 3, .max_output_bytes = 1 });
    assert_text(breakdown_text(b), "/ 0 0\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user > 0;
}

static void failures_come_back_as_a_status(void **state) {
    (void)state;
    uint64_t r = 5;
    hd_profile *p = random_profile(&r, 2, 60, 5, false);
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
    for (int kind = 0; kind < 4; kind++) {
        const hd_cutoff cutoff = { .max_output_bytes = 900, .max_entries = 12, .nested = kind > 1 };
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        uint64_t failures = 0;
        HD__EACH_FAULT(faults) {
            hd_error e = { 0 };
            hd_breakdown *b = NULL;
            hd_status status = kind % 2 ? hd_breakdown_cut(all, &cutoff, &options, &b, &e)
                                    : hd_export(p, &cutoff, &options, &b, &e);
            assert_int_equal(e.status, status);
            assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
            hd_breakdown_free(b);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
            failures++;
        }
        assert_true(failures > 20);
        hd_status status = HD_LIMIT;
        faults.fail_at = 0;
        for (uint64_t limit = 1; status == HD_LIMIT; limit += 1 + limit / 16) {
            hd_breakdown *b = NULL;
            options.limits.max_memory = limit;
            faults.peak = 0;
            status = kind % 2 ? hd_breakdown_cut(all, &cutoff, &options, &b, NULL) : hd_export(p, &cutoff, &options, &b, NULL);
            if (status) assert_int_equal(status, HD_LIMIT);
            assert_true(faults.peak <= limit);
            hd_breakdown_free(b);
            assert_int_equal(faults.live, 0);
        }
    }
    hd_breakdown_free(all);
    hd_profile_free(p);

    p = random_profile(&r, 1, 20000, 12, false);
    for (int i = 0; i < 12000; i++) {
        char path[16];
        snprintf(path, sizeof path, "/x/%d", i);
        add_cell(p, path, NULL, 5, 1);
    }
    all = exported(p, (hd_cutoff){ 0 });
    int left = 1;
    hd_options options = { .progress = stop, .progress_user = &left };
    hd_breakdown *b = NULL;
    assert_int_equal(hd_breakdown_cut(all, &(hd_cutoff){ .max_entries = 100 }, &options, &b, NULL), HD_CANCELLED);
    assert_null(b);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_that_halve_the_most_come_first),
        cmocka_unit_test(chains_are_passed_over_to_their_end),
        cmocka_unit_test(other_policies_limit_the_candidates),
        cmocka_unit_test(output_stays_within_its_budget),
        cmocka_unit_test(a_budget_is_spent_while_anything_fits),
        cmocka_unit_test(greedy_is_within_its_bound_of_the_best),
        cmocka_unit_test(result_depends_only_on_the_heap),
        cmocka_unit_test(nested_budgets_list_parents_too),
        cmocka_unit_test(diffs_have_budgets_too),
        cmocka_unit_test(sizes_near_the_limit_are_no_trouble),
        cmocka_unit_test(failures_come_back_as_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
