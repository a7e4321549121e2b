/* Profiles from text, and heaps as text, for the tests of profiles and traces. Include after heapdump.h and cmocka.h.

   A node is written as its path: "/" is the root, "/A/B" is B below A. A row is its nodes, bytes and blocks, with "-"
   for unknown blocks: "/BrMain/Init /T 151 -". */
#ifndef HEAPS_H
#define HEAPS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HD_UNUSED static hd_profile *profile_new(uint32_t axes) {
    hd_profile_desc desc = { .axis_count = axes };
    hd_profile *p = hd_profile_create(&desc, NULL);
    assert_non_null(p);
    return p;
}

/* The node at a path; adds it if it is missing. */
HD_UNUSED static uint32_t path_node(hd_profile *p, uint32_t axis, const char *path) {
    uint32_t node = 0;
    while (*path == '/' && path[1]) {
        hd_str name = { path + 1, strcspn(path + 1, "/") };
        assert_int_equal(hd_profile_node(p, axis, node, name, &node, NULL), HD_OK);
        path = name.data + name.len;
    }
    return node;
}

HD_UNUSED static hd_status add_estimate(hd_profile *p, const uint32_t *nodes, uint64_t bytes, uint64_t blocks,
                                        uint64_t variance) {
    hd_amount amount = { bytes, blocks, { variance, 0 } };
    return hd_profile_add_amount(p, nodes, &amount, NULL);
}

HD_UNUSED static void add_cell(hd_profile *p, const char *backtrace, const char *type, uint64_t bytes,
                               uint64_t blocks) {
    uint32_t nodes[2] = { path_node(p, 0, backtrace), 0 };
    if (type) nodes[1] = path_node(p, 1, type);
    assert_int_equal(hd_profile_add(p, nodes, bytes, blocks, NULL), HD_OK);
}

/* The heap of "Recorded heap" in the document: its white and yellow cells. */
HD_UNUSED static hd_profile *document_profile(void) {
    static const char *const types[] = { "/T", "/U", "/V", "/W" };
    static const struct {
        const char *backtrace;
        uint64_t bytes[4];
    } rows[] = {
        { "/", { 2, 3, 5, 7 } },
        { "/BrMain", { 7, 11, 13, 2 } },
        { "/BrMain/Init", { 151, 5, 3, 83 } },
        { "/BrMain/MsgLp", { 307, 2, 281, 11 } },
        { "/RdMain", { 3, 7, 17, 2 } },
        { "/RdMain/RTask", { 211, 3, 5, 337 } },
        { "/RdMain/FnA", { 2, 0, 7, 11 } },
        { "/RdMain/FnB", { 13, 3, 2, 5 } },
        { "/ColdFn", { 2, 5, 7, 3 } },
    };
    hd_profile *p = profile_new(2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < 4; t++)
            if (rows[i].bytes[t]) add_cell(p, rows[i].backtrace, types[t], rows[i].bytes[t], HD_UNKNOWN);
    return p;
}

HD_UNUSED static void put_path(FILE *f, hd_axis axis, uint32_t node) {
    if (!node) {
        fputs("/", f);
        return;
    }
    if (axis.parent[node]) put_path(f, axis, axis.parent[node]);
    fprintf(f, "/%.*s", (int)axis.node_name[node].len, axis.node_name[node].data);
}

HD_UNUSED static void put_blocks(FILE *f, uint64_t blocks) {
    if (blocks == HD_UNKNOWN) fputs("-", f);
    else fprintf(f, "%" PRIu64, blocks);
}

HD_UNUSED static void put_rows(FILE *f, const char *prefix, const hd_axis *axes, hd_rows rows) {
    for (uint32_t i = 0; i < rows.count; i++) {
        fputs(prefix, f);
        for (uint32_t a = 0; a < rows.axis_count; a++) {
            put_path(f, axes[a], rows.node[(size_t)i * rows.axis_count + a]);
            fputs(" ", f);
        }
        fprintf(f, "%" PRIu64 " ", rows.amount[i].bytes);
        put_blocks(f, rows.amount[i].blocks);
        fputs("\n", f);
    }
}

/* The entries in their order, one per line; the caller frees the text. */
HD_UNUSED static char *breakdown_text(const hd_breakdown *b) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    put_rows(f, "", b->axis, b->entries);
    fclose(f);
    return text;
}

/* The cells in the order in which they were added. */
HD_UNUSED static char *profile_text(const hd_profile *p) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    hd_axis axes[HD_MAX_AXES];
    for (uint32_t a = 0; a < hd_profile_axis_count(p); a++) axes[a] = hd_profile_axis(p, a);
    put_rows(f, "", axes, hd_profile_cells(p));
    fclose(f);
    return text;
}

/* Compares, and frees `found`. */
HD_UNUSED static void assert_text(char *found, const char *expected) {
    assert_string_equal(found, expected);
    free(found);
}

HD_UNUSED static bool axes_equal(const hd_axis *a, const hd_axis *b) {
    if (strcmp(a->name, b->name) || a->node_count != b->node_count ||
        memcmp(a->parent, b->parent, a->node_count * sizeof *a->parent) ||
        memcmp(a->end, b->end, a->node_count * sizeof *a->end))
        return false;
    for (uint32_t i = 0; i < a->node_count; i++)
        if (!hd_str_equal(a->node_name[i], b->node_name[i])) return false;
    return true;
}

/* Whether two breakdowns have equal arrays, names included. */
HD_UNUSED static bool breakdowns_equal(const hd_breakdown *a, const hd_breakdown *b) {
    hd_rows x = a->entries, y = b->entries;
    if (x.count != y.count || x.axis_count != y.axis_count ||
        memcmp(x.node, y.node, (size_t)x.count * x.axis_count * sizeof *x.node) ||
        memcmp(x.amount, y.amount, x.count * sizeof *x.amount))
        return false;
    for (uint32_t i = 0; i < x.axis_count; i++)
        if (!axes_equal(&a->axis[i], &b->axis[i])) return false;
    return true;
}

HD_UNUSED static hd_breakdown *exported(const hd_profile *p, hd_cutoff cutoff) {
    hd_breakdown *b = NULL;
    hd_error err;
    assert_int_equal(hd_export(p, &cutoff, NULL, &b, &err), HD_OK);
    return b;
}

/* The entry at these paths (type may be NULL), or HD_NONE if it is not listed. */
HD_UNUSED static uint32_t entry_at(const hd_breakdown *b, const char *backtrace, const char *type) {
    const char *path[2] = { backtrace, type ? type : "/" };
    uint32_t nodes[HD_MAX_AXES] = { 0 };
    for (uint32_t a = 0; a < 2 && a < b->entries.axis_count; a++)
        for (const char *p = path[a]; *p == '/' && p[1];) {
            hd_str name = { p + 1, strcspn(p + 1, "/") };
            nodes[a] = hd_axis_child(b->axis[a], nodes[a], name);
            if (nodes[a] == HD_NONE) return HD_NONE;
            p = name.data + name.len;
        }
    return hd_breakdown_find(b, nodes);
}

HD_UNUSED static uint64_t bytes_at(const hd_breakdown *b, const char *backtrace, const char *type) {
    uint32_t entry = entry_at(b, backtrace, type);
    assert_int_not_equal(entry, HD_NONE);
    return b->entries.amount[entry].bytes;
}

#endif
