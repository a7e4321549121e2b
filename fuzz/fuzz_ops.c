/* Two profiles from the input: invariants of merging, comparing, filtering, re-rooting, inverting, and budgets. */
#include <stdlib.h>
#include "../tests/private.h"

#define CHECK(x) ((x) ? (void)0 : abort())

/* One cell for each 4 bytes: its position, type and size. Nodes are added on the way, deeper or back up. */
static hd_profile *profile_of(const uint8_t *data, size_t size) {
    hd_profile *p = hd_profile_create(NULL, NULL);
    uint32_t nodes[2] = { 0, 0 };
    CHECK(p);
    for (; size >= 4; data += 4, size -= 4) {
        static const char *const names[] = { "a", "b", "c", "<self>", "<other>", "", "main", "a/b" };
        for (unsigned up = data[0] >> 5; up && nodes[0]; up--) nodes[0] = hd_profile_axis(p, 0).parent[nodes[0]];
        if (hd_str_equal(hd_profile_axis(p, 0).node_name[nodes[0]], hd_cstr("<self>"))) /* a leaf */
            nodes[0] = hd_profile_axis(p, 0).parent[nodes[0]];
        if (data[0] & 1) CHECK(!hd_profile_node(p, 0, nodes[0], hd_cstr(names[data[0] >> 1 & 7]), &nodes[0], NULL));
        CHECK(!hd_profile_node(p, 1, data[1] & 1 ? nodes[1] : 0, hd_cstr(names[data[1] >> 1 & 7]), &nodes[1], NULL));
        if (data[1] & 128) nodes[1] = 0;
        hd_amount amount = { (uint64_t)data[2] << (data[3] & 31), data[3] & 64 ? HD_UNKNOWN : data[3],
                             { data[3] & 128 ? data[2] : 0, 0 } };
        CHECK(!hd_profile_add_amount(p, nodes, &amount, NULL));
    }
    return p;
}

static bool is_named(void *user, hd_str name) { return hd_str_equal(name, hd_cstr((const char *)user)); }

static bool rows_equal(const hd_rows *a, const hd_rows *b) {
    return a->count == b->count && !memcmp(a->node, b->node, 8 * (size_t)a->count) &&
           !memcmp(a->amount, b->amount, a->count * sizeof *a->amount);
}

/* Compares as breakdowns, which are in canonical order. */
static void same(const hd_heap *x, const hd_heap *y) {
    hd_breakdown *a, *b;
    CHECK(!hd_heap_break_down(x, NULL, NULL, &a, NULL) && !hd_heap_break_down(y, NULL, NULL, &b, NULL));
    CHECK(rows_equal(&a->entries, &b->entries));
    for (uint32_t k = 0; k < 2; k++) {
        CHECK(a->axis[k].node_count == b->axis[k].node_count);
        for (uint32_t i = 0; i < a->axis[k].node_count; i++)
            CHECK(a->axis[k].parent[i] == b->axis[k].parent[i] && hd_str_equal(a->axis[k].node_name[i], b->axis[k].node_name[i]));
    }
    hd_breakdown_free(a);
    hd_breakdown_free(b);
}

static uint64_t total(const hd_heap *h) { return h->profile ? hd_profile_bytes(h->profile) : h->breakdown->entries.amount[0].bytes; }

static hd_status add_self(void *user, const hd_top_row *row) {
    CHECK(row->self.bytes <= row->cumulative.bytes && row->unlisted.bytes <= row->cumulative.bytes);
    *(uint64_t *)user += row->self.bytes + row->unlisted.bytes;
    return HD_OK;
}

static hd_status ignore(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

static void one_heap(const hd_heap *h, const char *name, uint32_t axis) {
    hd_heap part[2], whole, rooted, hidden;
    uint64_t self = 0, printed = 0;
    for (int k = 0; k < 2; k++) CHECK(!hd_filter(h, axis, is_named, (void *)(uintptr_t)name, !k, NULL, &part[k], NULL));
    CHECK(!hd_reroot(h, axis, is_named, (void *)(uintptr_t)name, NULL, &rooted, NULL));
    CHECK(!hd_hide(h, axis, is_named, (void *)(uintptr_t)name, NULL, &hidden, NULL));
    CHECK(total(&hidden) == total(h));
    CHECK(total(&rooted) == total(&part[0]) && total(&part[0]) + total(&part[1]) == total(h));
    CHECK(!hd_merge(part, 2, NULL, &whole, NULL));
    if (h->profile) same(&whole, h);
    CHECK(!hd_top(h, &(hd_top_options){ .axis = axis }, add_self, &self, NULL));
    CHECK(self == total(h));
    CHECK(!hd_print_top(h, &(hd_top_options){ .axis = axis, .units = true }, hd_out_callback(ignore, &printed), NULL));
    for (int k = 0; k < 2; k++) hd_heap_release(&part[k]);
    hd_heap_release(&whole);
    hd_heap_release(&rooted);
    hd_heap_release(&hidden);
}

static void check_merging(hd_heap *h, const char *name, uint32_t axis) {
    hd_heap turned[2] = { h[1], h[0] }, sum[2];
    for (int k = 0; k < 2; k++) {
        CHECK(!hd_merge(k ? turned : h, 2, NULL, &sum[k], NULL));
        one_heap(&h[k], name, axis);
    }
    same(&sum[0], &sum[1]);
    CHECK(total(&sum[0]) == total(&h[0]) + total(&h[1]));
    for (int k = 0; k < 2; k++) hd_heap_release(&sum[k]);
}

static void check_inverting(const hd_heap *h) {
    hd_heap once, twice, thrice;
    CHECK(!hd_invert(h, 0, NULL, &once, NULL) && !hd_invert(&once, 0, NULL, &twice, NULL));
    CHECK(total(&twice) == total(h));
    CHECK(!hd_invert(&twice, 0, NULL, &thrice, NULL));
    same(&once, &thrice);        /* "<self>" was moved in the heap itself */
    hd_heap_release(&once);
    hd_heap_release(&twice);
    hd_heap_release(&thrice);
}

static void check_cutting(const hd_heap *h, const hd_heap *cut, const hd_cutoff *few, bool every_route) {
    hd_breakdown *b, *c;
    uint64_t printed = 0;
    CHECK(!hd_export(h->profile, few, NULL, &b, NULL));
    CHECK(!few->max_entries || b->entries.count <= few->max_entries);
    CHECK(!hd_breakdown_cut(cut->breakdown, few, NULL, &c, NULL));
    CHECK(!few->max_entries || c->entries.count <= few->max_entries);
    hd_heap listed = { .breakdown = b };
    CHECK(!hd_print_tree(&listed, &(hd_tree_options){ .every_route = every_route }, hd_out_callback(ignore, &printed), NULL));
    hd_breakdown_free(b);
    hd_breakdown_free(c);
}

static void check_comparing(const hd_heap *x, const hd_heap *y, const hd_cutoff *cutoff, uint32_t first_axis) {
    hd_diff *d, *e;
    uint64_t printed = 0;
    CHECK(!hd_compare(x, y, cutoff, NULL, &d, NULL) && !hd_compare(y, x, cutoff, NULL, &e, NULL));
    CHECK(rows_equal(&d->before, &e->after) && rows_equal(&d->after, &e->before));
    CHECK(d->before.amount[0].bytes == total(x) && d->after.amount[0].bytes == total(y));
    for (uint32_t i = 0; i < d->before.count; i++)
        CHECK(d->gross[i] >= hd__number_distance(d->before.amount[i].bytes, d->after.amount[i].bytes) && d->gross[i] == e->gross[i]);
    hd_diff_free(d);
    hd_diff_free(e);
    CHECK(!hd_print_diff(x, y, &(hd_tree_options){ .first_axis = first_axis }, hd_out_callback(ignore, &printed), NULL));
}

/* The first byte selects operations: all of them at once would allow few inputs per second. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3 || size > 131) return 0;   /* entries multiply with depth */
    const uint8_t choice = data[0], least = data[1], budget = data[2];
    size_t half = (size - 3) / 2;
    hd_profile *p[2] = { profile_of(data + 3, half), profile_of(data + 3 + half, half) };
    hd_heap h[2] = { { .profile = p[0] }, { .profile = p[1] } }, cut[2] = { { 0 }, { 0 } };
    const char *name = choice & 1 ? "a" : "c";
    uint32_t axis = choice >> 1 & 1;
    hd_cutoff few = { .min_bytes = least & 15, .max_entries = budget >> 4, .max_output_bytes = 16 * (budget & 15u),
                      .nested = least >> 7 };
    hd_cutoff changes = { .min_bytes = least >> 2, .max_entries = choice & 8 ? budget : 0 };
    int kind = choice >> 5 & 7;
    for (int k = 0; k < 2 && kind > 1; k++) {
        hd_breakdown *b;
        CHECK(!hd_export(p[k], &(hd_cutoff){ .min_bytes = least }, NULL, &b, NULL));
        cut[k].breakdown = b;
    }
    if (kind == 0) check_merging(h, name, axis);
    if (kind == 1) check_inverting(&h[0]);
    if (kind == 2 || kind == 3) check_cutting(&h[kind - 2], &cut[kind - 2], &few, choice >> 2 & 1);
    if (kind == 3) one_heap(&cut[0], name, axis);
    if (kind >= 4) check_comparing(kind & 1 ? &cut[0] : &h[0], kind & 2 ? &cut[1] : &h[1], &changes, choice >> 4 & 1);
    for (int k = 0; k < 2; k++) {
        hd_heap_release(&cut[k]);
        hd_profile_free(p[k]);
    }
    return 0;
}
