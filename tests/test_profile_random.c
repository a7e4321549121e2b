/* Profiles compared with a model: the document's pseudo-algorithm over a table of all sums. Also properties of every
   profile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "long.h"

#define ROUNDS long_or_short(4000, 1500)
enum { MAX_NODES = 24, MAX_CELLS = 24, MAX_TABLE = 1 << 15 };

/* A random input: trees in order of creation, with cells. */
typedef struct input {
    uint32_t axes, cells;
    struct {
        uint32_t nodes, parent[MAX_NODES], depth[MAX_NODES];
        char name[MAX_NODES][8];
    } axis[4];
    uint32_t at[MAX_CELLS][4];
    uint64_t bytes[MAX_CELLS], blocks[MAX_CELLS];
} input;

static bool has_child(const input *in, uint32_t a, uint32_t parent, const char *name) {
    for (uint32_t i = 1; i < in->axis[a].nodes; i++)
        if (in->axis[a].parent[i] == parent && !strcmp(in->axis[a].name[i], name)) return true;
    return false;
}

static void random_input(uint64_t *r, input *in) {
    memset(in, 0, sizeof *in);
    in->axes = 1 + (uint32_t)hd__test_below(r, 4);
    uint32_t most = in->axes == 1 ? MAX_NODES - 1 : in->axes == 2 ? 16 : 5;
    for (uint32_t a = 0; a < in->axes; a++) {
        uint32_t wanted = 1 + (uint32_t)hd__test_below(r, most), depth = (uint32_t)hd__test_below(r, 7);
        in->axis[a].nodes = 1;
        for (uint32_t i = 1; i < wanted; i++) {
            uint32_t n = in->axis[a].nodes, parent = (uint32_t)hd__test_below(r, n);
            char *name = in->axis[a].name[n];
            if (in->axis[a].depth[parent] >= depth || !strcmp(in->axis[a].name[parent], "<self>")) continue;
            if (hd__test_below(r, 12)) snprintf(name, 8, "%c", (int)('a' + hd__test_below(r, 6)));
            else strcpy(name, "<self>");
            if (has_child(in, a, parent, name)) continue;
            in->axis[a].parent[n] = parent;
            in->axis[a].depth[n] = in->axis[a].depth[parent] + 1;
            in->axis[a].nodes++;
        }
    }
    uint64_t largest = hd__test_below(r, 3) ? 200 : 3; /* small sizes give ties */
    bool unknown = !hd__test_below(r, 4);
    in->cells = (uint32_t)hd__test_below(r, MAX_CELLS + 1);
    for (uint32_t c = 0; c < in->cells; c++) {
        for (uint32_t a = 0; a < in->axes; a++) in->at[c][a] = (uint32_t)hd__test_below(r, in->axis[a].nodes);
        in->bytes[c] = hd__test_below(r, largest);
        in->blocks[c] = unknown && !hd__test_below(r, 4) ? HD_UNKNOWN : hd__test_below(r, 9);
    }
}

/* The same input as a profile; `shuffle` changes the order of nodes and cells. */
static hd_profile *profile_of(const input *in, uint64_t *shuffle) {
    hd_profile *p = profile_new(in->axes);
    uint32_t order[MAX_CELLS + MAX_NODES], node[4][MAX_NODES];
    for (uint32_t a = 0; a < in->axes; a++) {
        memset(node[a], 0xff, sizeof node[a]); /* HD_NONE */
        node[a][0] = 0;
        for (uint32_t made = 1; made < in->axis[a].nodes;) {
            uint32_t i = shuffle ? 1 + (uint32_t)hd__test_below(shuffle, in->axis[a].nodes - 1) : made;
            if (node[a][i] != HD_NONE || node[a][in->axis[a].parent[i]] == HD_NONE) continue;
            assert_int_equal(hd_profile_node(p, a, node[a][in->axis[a].parent[i]], hd_cstr(in->axis[a].name[i]),
                                             &node[a][i], NULL), HD_OK);
            made++;
        }
    }
    for (uint32_t c = 0; c < in->cells; c++) order[c] = c;
    for (uint32_t c = in->cells; shuffle && c > 1; c--) {
        uint32_t k = (uint32_t)hd__test_below(shuffle, c), swap = order[c - 1];
        order[c - 1] = order[k];
        order[k] = swap;
    }
    for (uint32_t c = 0; c < in->cells; c++) {
        uint32_t at[4];
        for (uint32_t a = 0; a < in->axes; a++) at[a] = node[a][in->at[order[c]][a]];
        assert_int_equal(hd_profile_add(p, at, in->bytes[order[c]], in->blocks[order[c]], NULL), HD_OK);
    }
    return p;
}

/* Shares are in sixteenths, so that the model needs no rounding. */
typedef struct policy {
    uint64_t min_bytes, sixteenths, parent_sixteenths;
    uint32_t top;
} policy;

static policy random_policy(uint64_t *r) {
    policy p = { 0 };
    if (!hd__test_below(r, 3)) p.min_bytes = hd__test_below(r, 60);
    if (!hd__test_below(r, 3)) p.sixteenths = hd__test_below(r, 17) / 2;
    if (!hd__test_below(r, 3)) p.parent_sixteenths = hd__test_below(r, 17) / 2;
    if (!hd__test_below(r, 3)) p.top = 1 + (uint32_t)hd__test_below(r, 4);
    return p;
}

static hd_cutoff cutoff_of(policy p) {
    return (hd_cutoff){ .min_bytes = p.min_bytes, .min_share = (double)p.sixteenths / 16,
                        .min_parent_share = (double)p.parent_sixteenths / 16, .top = p.top };
}

/* The model: trees with their <self> nodes, and every cumulative sum over the product of the axes. */
typedef struct model {
    uint32_t axes;
    uint32_t nodes[4], parent[4][2 * MAX_NODES];
    const char *name[4][2 * MAX_NODES];
    uint64_t bytes[MAX_TABLE], blocks[MAX_TABLE];
    uint32_t cells[MAX_TABLE];
    bool listed[MAX_TABLE];
    uint32_t listed_count;
} model;

static size_t table_index(const model *m, const uint32_t *at) {
    size_t i = 0;
    for (uint32_t a = 0; a < m->axes; a++) i = i * m->nodes[a] + at[a];
    return i;
}

/* Whether a node of a cell is node i or, with `below`, below it. */
static bool stands_at_or_below(const input *in, uint32_t a, uint32_t i, bool below) {
    for (uint32_t c = 0; c < in->cells; c++) {
        uint32_t at = in->at[c][a];
        if (below && at == i) continue;
        if (!below && at == i) return true;
        while (below && at && at != i) at = in->axis[a].parent[at];
        if (below && at == i) return true;
    }
    return false;
}

static uint32_t self_of(model *m, const input *in, uint32_t a, uint32_t i) {
    if (!stands_at_or_below(in, a, i, false) || !stands_at_or_below(in, a, i, true)) return i;
    for (uint32_t k = 1; k < m->nodes[a]; k++)
        if (m->parent[a][k] == i && !strcmp(m->name[a][k], "<self>")) return k;
    m->parent[a][m->nodes[a]] = i;
    m->name[a][m->nodes[a]] = "<self>";
    return m->nodes[a]++;
}

static void add_to_all_above(model *m, const uint32_t *at, uint32_t a, uint32_t *above, uint64_t bytes,
                             uint64_t blocks) {
    if (a == m->axes) {
        size_t i = table_index(m, above);
        m->bytes[i] += bytes;
        m->cells[i]++;
        m->blocks[i] = m->blocks[i] == HD_UNKNOWN || blocks == HD_UNKNOWN ? HD_UNKNOWN : m->blocks[i] + blocks;
        return;
    }
    for (uint32_t i = at[a];; i = m->parent[a][i]) {
        above[a] = i;
        add_to_all_above(m, at, a + 1, above, bytes, blocks);
        if (!i) break;
    }
}

static void model_build(model *m, const input *in) {
    uint32_t own[4][MAX_NODES], above[4];
    memset(m, 0, sizeof *m);
    m->axes = in->axes;
    for (uint32_t a = 0; a < in->axes; a++) {
        m->nodes[a] = in->axis[a].nodes;
        for (uint32_t i = 0; i < in->axis[a].nodes; i++) {
            m->parent[a][i] = in->axis[a].parent[i];
            m->name[a][i] = in->axis[a].name[i];
        }
        for (uint32_t i = 0; i < in->axis[a].nodes; i++) own[a][i] = self_of(m, in, a, i);
    }
    for (uint32_t c = 0; c < in->cells; c++) {
        uint32_t at[4];
        for (uint32_t a = 0; a < in->axes; a++) at[a] = own[a][in->at[c][a]];
        add_to_all_above(m, at, 0, above, in->bytes[c], in->blocks[c]);
    }
}

/* "2 For every axis, break down. 3 Sort child nodes by size, determine cutoff point. 4 Recurse." */
static void model_list(model *m, const uint32_t *at, policy p) {
    size_t here = table_index(m, at);
    if (m->listed[here]) return;
    m->listed[here] = true;
    m->listed_count++;
    for (uint32_t a = 0; a < m->axes; a++) {
        uint32_t child[2 * MAX_NODES], n = 0, to[4];
        memcpy(to, at, sizeof to);
        for (uint32_t i = 1; i < m->nodes[a]; i++) {
            to[a] = i;
            if (m->parent[a][i] != at[a] || !m->cells[table_index(m, to)]) continue;
            uint32_t k = n++;
            for (; k; k--) {
                uint32_t before[4];
                memcpy(before, to, sizeof before);
                before[a] = child[k - 1];
                uint64_t x = m->bytes[table_index(m, before)], y = m->bytes[table_index(m, to)];
                if (x > y || (x == y && strcmp(m->name[a][child[k - 1]], m->name[a][i]) < 0)) break;
                child[k] = child[k - 1];
            }
            child[k] = i;
        }
        for (uint32_t k = 0; k < n; k++) {
            to[a] = child[k];
            uint64_t bytes = m->bytes[table_index(m, to)];
            if (bytes >= p.min_bytes && bytes * 16 >= m->bytes[0] * p.sixteenths &&
                bytes * 16 >= m->bytes[here] * p.parent_sixteenths && (!p.top || k < p.top))
                model_list(m, to, p);
        }
    }
}

static void model_run(model *m, policy p) {
    static const uint32_t root[4];
    memset(m->listed, 0, sizeof m->listed);
    m->listed_count = 0;
    model_list(m, root, p);
}

/* The model's node for a node of the breakdown, found by its path. */
static uint32_t model_node(const model *m, uint32_t a, hd_axis axis, uint32_t node) {
    if (!node) return 0;
    uint32_t parent = model_node(m, a, axis, axis.parent[node]);
    for (uint32_t i = 1; i < m->nodes[a]; i++)
        if (m->parent[a][i] == parent && hd_str_equal(hd_cstr(m->name[a][i]), axis.node_name[node])) return i;
    fail_msg("a node that the model has not");
    return 0;
}

static void assert_like_model(const hd_breakdown *b, const model *m) {
    assert_int_equal(b->entries.count, m->listed_count);
    for (uint32_t e = 0; e < b->entries.count; e++) {
        uint32_t at[4];
        for (uint32_t a = 0; a < m->axes; a++)
            at[a] = model_node(m, a, b->axis[a], b->entries.node[(size_t)e * m->axes + a]);
        size_t i = table_index(m, at);
        assert_true(m->listed[i]);
        assert_int_equal(b->entries.amount[e].bytes, m->bytes[i]);
        assert_int_equal(b->entries.amount[e].blocks, m->blocks[i]);
    }
}

static void assert_canonical(const hd_breakdown *b) {
    hd_rows rows = b->entries;
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        hd_axis x = b->axis[a];
        assert_int_equal(x.parent[0], HD_NONE);
        assert_int_equal(x.end[0], x.node_count);
        for (uint32_t i = 1; i < x.node_count; i++) {
            bool used = false;
            uint32_t sibling = i + 1;
            assert_true(x.parent[i] < i && x.end[i] > i && x.end[i] <= x.end[x.parent[i]]);
            for (; sibling < x.node_count && x.parent[sibling] != x.parent[i]; sibling++) {}
            if (sibling < x.node_count)
                assert_true(x.end[i] == sibling && hd_str_compare(x.node_name[i], x.node_name[sibling]) < 0);
            for (uint32_t e = 0; e < rows.count && !used; e++) {
                uint32_t node = rows.node[(size_t)e * rows.axis_count + a];
                used = node >= i && node < x.end[i];
            }
            assert_true(used);
        }
    }
    for (uint32_t e = 0; e < rows.count; e++) {
        const uint32_t *at = rows.node + (size_t)e * rows.axis_count;
        assert_int_equal(hd_breakdown_find(b, at), e);
        if (!e) continue;
        uint32_t a = 0;
        while (a < rows.axis_count && at[a] == at[(int64_t)a - rows.axis_count]) a++;
        assert_true(a < rows.axis_count && at[a] > at[(int64_t)a - rows.axis_count]);
    }
}

static model expected; /* large */

static void export_and_cut_agree_with_the_pseudo_algorithm(void **state) {
    (void)state;
    uint64_t r = 1;
    input in;
    for (int round = 0; round < ROUNDS; round++) {
        random_input(&r, &in);
        hd_profile *p = profile_of(&in, NULL), *q = profile_of(&in, &r);
        hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
        model_build(&expected, &in);
        model_run(&expected, (policy){ 0 });
        assert_like_model(all, &expected);
        for (int k = 0; k < 3; k++) {
            policy chosen = random_policy(&r);
            hd_cutoff cutoff = cutoff_of(chosen);
            hd_breakdown *b = exported(p, cutoff), *shuffled = exported(q, cutoff), *cut;
            model_run(&expected, chosen);
            assert_like_model(b, &expected);
            assert_canonical(b);
            assert_true(breakdowns_equal(b, shuffled));
            assert_int_equal(hd_breakdown_cut(all, &cutoff, NULL, &cut, NULL), HD_OK);
            assert_true(breakdowns_equal(b, cut));
            hd_breakdown_free(b);
            hd_breakdown_free(shuffled);
            hd_breakdown_free(cut);
        }
        hd_breakdown_free(all);
        hd_profile_free(p);
        hd_profile_free(q);
    }
}

/* Rows of a tree, kept for the checks. */
typedef struct row {
    uint32_t depth, axis, entry;
    uint64_t bytes, blocks;
    uint32_t node[4]; /* nodes of the entry */
    char name[64];
} row;

typedef struct row_list {
    uint32_t count;
    row rows[4096];
} row_list;

static hd_status keep_row(void *user, const hd_tree_row *row_) {
    row_list *list = (row_list *)user;
    if (list->count == sizeof list->rows / sizeof *list->rows) return HD_LIMIT;
    row *to = &list->rows[list->count++];
    memset(to, 0, sizeof *to);
    to->depth = row_->depth;
    to->axis = row_->axis;
    to->entry = row_->entry;
    to->bytes = row_->amount.bytes;
    to->blocks = row_->amount.blocks;
    if (row_->entry != HD_NONE)
        memcpy(to->node, row_->breakdown->entries.node + (size_t)row_->entry * row_->breakdown->entries.axis_count,
               row_->breakdown->entries.axis_count * sizeof *to->node);
    snprintf(to->name, sizeof to->name, "%.*s", (int)row_->name.len, row_->name.data);
    return HD_OK;
}

/* The children of a row along an axis, <other> included, add up to the row. They are sorted by size, then by name,
   with <other> last. Returns their number. */
static uint32_t assert_children(const row_list *list, uint32_t i, uint32_t axis, bool whole_blocks) {
    const row *parent = &list->rows[i], *last = NULL;
    uint64_t bytes = 0, blocks = 0;
    uint32_t n = 0;
    for (uint32_t k = i + 1; k < list->count && list->rows[k].depth > parent->depth; k++) {
        const row *child = &list->rows[k];
        if (child->depth != parent->depth + 1 || child->axis != axis) continue;
        if (last) {
            assert_true(last->entry != HD_NONE);
            assert_true(child->entry == HD_NONE || last->bytes > child->bytes ||
                        (last->bytes == child->bytes && strcmp(last->name, child->name) < 0));
        }
        bytes += child->bytes;
        blocks = blocks == HD_UNKNOWN || child->blocks == HD_UNKNOWN ? HD_UNKNOWN : blocks + child->blocks;
        last = child;
        n++;
    }
    if (!n) return 0;
    assert_int_equal(bytes, parent->bytes);
    if (whole_blocks && last->entry == HD_NONE) assert_int_equal(blocks, parent->blocks);
    return n;
}

static row_list seen;

static void children_add_up_to_their_parent(void **state) {
    (void)state;
    uint64_t r = 2;
    input in;
    for (int round = 0; round < ROUNDS; round++) {
        random_input(&r, &in);
        hd_profile *p = profile_of(&in, NULL);
        hd_tree_options options = { .cutoff = cutoff_of(random_policy(&r)), .every_route = in.axes <= 2,
                                    .first_axis = (uint32_t)hd__test_below(&r, in.axes) };
        bool blocks_known = true;
        for (uint32_t c = 0; c < in.cells; c++) blocks_known &= in.blocks[c] != HD_UNKNOWN;
        seen.count = 0;
        assert_int_equal(hd_tree(&(hd_heap){ .profile = p }, &options, keep_row, &seen, NULL), HD_OK);
        for (uint32_t i = 0; i < seen.count; i++) {
            uint32_t first = HD_NONE;
            for (uint32_t a = 0; a < in.axes; a++) {
                uint32_t axis = a == 0 ? options.first_axis : a <= options.first_axis ? a - 1 : a;
                if (!assert_children(&seen, i, axis, blocks_known)) continue;
                assert_int_not_equal(seen.rows[i].entry, HD_NONE); /* <other> has no further breakdown */
                assert_true(options.every_route || first == HD_NONE);
                first = axis;
            }
        }
        hd_profile_free(p);
    }
}

/* An entry has a row for every route from the total. Each step of a route leads along one axis, from the nearest
   listed ancestor. */
static void every_route_to_an_entry_is_a_row(void **state) {
    (void)state;
    uint64_t r = 3, rows = 0;
    input in;
    for (int round = 0; round < ROUNDS / 4; round++) {
        do random_input(&r, &in);
        while (in.axes > 3);
        hd_profile *p = profile_of(&in, NULL);
        hd_tree_options options = { .cutoff = cutoff_of(random_policy(&r)), .every_route = true };
        hd_breakdown *b = exported(p, options.cutoff);
        uint32_t n = b->entries.count, axes = in.axes;
        uint64_t *routes = (uint64_t *)calloc(n, sizeof *routes), all = 0;
        for (uint32_t e = 0; e < n; e++) {
            routes[e] = e == 0;
            for (uint32_t a = 0; a < axes; a++) {
                uint32_t at[4], above = HD_NONE;
                memcpy(at, b->entries.node + (size_t)e * axes, axes * sizeof *at);
                while (at[a] && above == HD_NONE) {
                    at[a] = b->axis[a].parent[at[a]];
                    above = hd_breakdown_find(b, at);
                }
                if (above != HD_NONE) routes[e] += routes[above];
            }
            all += routes[e];
        }
        seen.count = 0;
        hd_status status = hd_tree(&(hd_heap){ .breakdown = b }, &options, keep_row, &seen, NULL);
        if (all <= 2000) {
            assert_int_equal(status, HD_OK);
            for (uint32_t i = 0; i < seen.count; i++)
                if (seen.rows[i].entry != HD_NONE) routes[seen.rows[i].entry]--;
            for (uint32_t e = 0; e < n; e++) assert_int_equal(routes[e], 0);
            rows += all;
        }
        free(routes);
        hd_breakdown_free(b);
        hd_profile_free(p);
    }
    assert_true(rows > 10000);
}

/* Entries in any order, some of them missing, give the same breakdown. Each can be found by its nodes. Cutting with
   no limit keeps every listed entry. */
static void cumulative_entries_with_gaps_are_all_kept(void **state) {
    (void)state;
    uint64_t r = 4;
    input in;
    for (int round = 0; round < ROUNDS; round++) {
        random_input(&r, &in);
        hd_profile *p = profile_of(&in, NULL), *q = profile_of(&in, &r);
        hd_breakdown *a, *b, *cut;
        assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &a, NULL), HD_OK);
        assert_int_equal(hd_breakdown_from_cumulative(q, NULL, &b, NULL), HD_OK);
        assert_canonical(a);
        assert_true(breakdowns_equal(a, b));
        assert_int_equal(hd_breakdown_cut(a, NULL, NULL, &cut, NULL), HD_OK);
        assert_true(breakdowns_equal(a, cut));
        hd_rows cells = hd_profile_cells(p);
        uint32_t total = HD_NONE;
        for (uint32_t i = 0; i < cells.count; i++) {
            bool is_total = true;
            for (uint32_t k = 0; k < in.axes; k++) is_total &= !cells.node[(size_t)i * in.axes + k];
            if (is_total) total = i;
        }
        assert_int_equal(a->entries.count, cells.count + (total == HD_NONE));
        if (total != HD_NONE) {
            assert_int_equal(a->entries.amount[0].bytes, cells.amount[total].bytes);
            assert_int_equal(a->entries.amount[0].blocks, cells.amount[total].blocks);
        }
        hd_breakdown_free(a);
        hd_breakdown_free(b);
        hd_breakdown_free(cut);
        hd_profile_free(p);
        hd_profile_free(q);
    }
}

static uint32_t rename_some(void *user, hd_str name, hd_str *path) {
    (void)user;
    path[0] = name;
    switch (*name.data) {
    case 'a': return 0;
    case 'b': path[0] = hd_cstr("c"); return 1;
    case 'd': path[1] = hd_cstr("e"); return 2;
    default: return 1;
    }
}

/* Renaming moves bytes, but loses none. */
static void renaming_keeps_the_total_and_the_other_axes(void **state) {
    (void)state;
    uint64_t r = 5;
    input in;
    for (int round = 0; round < ROUNDS; round++) {
        random_input(&r, &in);
        hd_profile *p = profile_of(&in, NULL), *q;
        uint32_t axis = (uint32_t)hd__test_below(&r, in.axes);
        assert_int_equal(hd_profile_rename(p, axis, rename_some, NULL, NULL, &q, NULL), HD_OK);
        for (uint32_t a = 0; a < in.axes; a++) {
            hd_axis x = hd_profile_axis(p, a), y = hd_profile_axis(q, a);
            for (uint32_t i = 1; i < y.node_count && a == axis; i++)
                assert_true(*y.node_name[i].data != 'a' && *y.node_name[i].data != 'b');
            if (a == axis) continue;
            assert_int_equal(x.node_count, y.node_count);
            for (uint32_t i = 1; i < x.node_count; i++) {
                assert_int_equal(x.parent[i], y.parent[i]);
                assert_true(hd_str_equal(x.node_name[i], y.node_name[i]));
            }
        }
        hd_breakdown *before = exported(p, (hd_cutoff){ 0 }), *after = exported(q, (hd_cutoff){ 0 });
        assert_int_equal(before->entries.amount[0].bytes, after->entries.amount[0].bytes);
        assert_int_equal(before->entries.amount[0].blocks, after->entries.amount[0].blocks);
        hd_breakdown_free(before);
        hd_breakdown_free(after);
        hd_profile_free(p);
        hd_profile_free(q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_and_cut_agree_with_the_pseudo_algorithm),
        cmocka_unit_test(children_add_up_to_their_parent),
        cmocka_unit_test(every_route_to_an_entry_is_a_row),
        cmocka_unit_test(cumulative_entries_with_gaps_are_all_kept),
        cmocka_unit_test(renaming_keeps_the_total_and_the_other_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
