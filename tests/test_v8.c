/* V8 heap snapshots: real ones made smaller, every rule about kept objects, every layout, every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "load.h"
#include "long.h"

#define META                                                                                                      \
    "\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\","         \
    "\"detachedness\"],\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\","         \
    "\"native\",\"synthetic\"],\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"               \
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\",\"element\","          \
    "\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"]}"
#define TAIL "],\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],\"locations\":[14,1,2,3],\"strings\":"
enum { CONTEXT, ELEMENT, PROPERTY, INTERNAL, HIDDEN, SHORTCUT, WEAK };

/* Node 0 refers to (GC roots) and, by a shortcut, to the page's Window. (GC roots) refers to a list, which also has
   Window as an element, and to a table with a key and its value. Two nodes are reachable only from each other, and
   one node from nothing. */
static const char *const nodes[] = {
    "7,1,1,0,2,0,0", "7,2,3,0,3,0,0", "3,3,5,100,1,0,0", "1,4,7,1000,3,0,0", "3,5,9,24,1,0,0", "3,6,11,40,1,0,2",
    "2,7,13,16,0,0,0", "4,8,15,8,1,0,0", "4,8,17,4,2,0,0", "6,9,19,2,1,0,1", "5,1,21,1,0,5,0", "0,1,23,4294967296,0,0,0"
};
static const char *const edges[] = {
    "1,1,7", "5,3,14",                    /* node 0: (GC roots), Window by a shortcut */
    "1,1,21", "1,2,28", "3,10,35",        /* node 1: the list, the table, the key */
    "2,11,77",                            /* 2: Window: big */
    "1,0,14", "4,4294967294,21", "6,1,70", /* node 3, the list: Window, itself, weakly a closure */
    "3,12,42",                            /* node 4, the table: the value of its pair */
    "3,12,42",                            /* node 5, the key: the value */
    "3,10,56", "3,10,49", "5,10,42",      /* nodes 7 and 8: each other; a shortcut */
    "2,11,63"                             /* 9: itself */
};
static const char strings[] = "[\"<dummy>\",\"\",\"(GC roots)\",\"Window\",\"list\",\"WeakMap\",\"Key\",\"value \\u00e9\\n\",\"code\","
                              "\"Detached <div id=\\\"a\\\">\",\"next\",\"big\",\"7 / part of key (Key @11) -> value (value @13) "
                              "pair in WeakMap (table @9)\"]";
enum { NODES = sizeof nodes / sizeof *nodes, EDGES = sizeof edges / sizeof *edges };

/* The snapshot above with records joined by `between`; the caller frees it. */
static char *make(const char *between) {
    char *text = malloc(8192);
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{" META ",\"node_count\":%d,\"edge_count\":%d},\"nodes\":[", NODES, EDGES);
    for (int i = 0; i < NODES; i++) n += (size_t)sprintf(text + n, "%s%s", i ? between : "", nodes[i]);
    n += (size_t)sprintf(text + n, "],\"edges\":[");
    for (int i = 0; i < EDGES; i++) n += (size_t)sprintf(text + n, "%s%s", i ? between : "", edges[i]);
    sprintf(text + n, TAIL "%s}", strings);
    return text;
}

/* A copy with the first `from` replaced; the caller frees it. */
static char *changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    char *copy = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(at);
    sprintf(copy, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return copy;
}

static hd_dump *read_size(const void *data, size_t size, const hd_options *options) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_v8, hd_in_memory(data, size), options, &doc, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
    return doc;
}
static hd_dump *read_text(const char *text) { return read_size(text, strlen(text), NULL); }

static void writes(const hd_dump *doc, const void *data, size_t size) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

static void class_is(const hd_dump *doc, uint32_t object, const char *name) {
    const hd_graph *g = hd_dump_graph(doc);
    hd_str found = hd_graph_class(g, hd_graph_object(g, object).class_index).name;
    if (!hd_str_equal(found, hd_cstr(name))) fail_msg("class of %u: " HD_FMT, object, HD_ARG(found));
}
static bool is(hd_str found, const char *wanted) { return hd_str_equal(found, hd_cstr(wanted)); }

static void the_sample_has_these_values(void **state) {
    (void)state;
    static const char *const classes[] = { "(synthetic)", "(synthetic)", "Window", "(array)", "WeakMap", "Key", "(string)",
                                           "(compiled code)", "(compiled code)", "Detached <div>", "(closure)", "(system)" };
    char *text = make(",");
    hd_dump *doc = read_text(text);
    const hd_graph *g = hd_dump_graph(doc);
    hd_graph_summary s = hd_graph_summarize(g);
    assert_int_equal(s.objects, NODES);
    assert_int_equal(s.references, EDGES);
    assert_int_equal(s.bytes, UINT64_C(4294967296) + 1195);
    assert_int_equal(s.missing_objects, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(hd_graph_object(g, i).id, 2 * i + 1);
        class_is(doc, i, classes[i]);
    }
    assert_int_equal(hd_graph_object(g, 11).size, UINT64_C(4294967296));
    assert_true(is(hd_v8_name(hd_dump_v8(doc), 6), "value \xc3\xa9\n"));
    assert_true(is(hd_v8_type(hd_dump_v8(doc), 9), "native"));
    assert_true(is(hd_v8_type(hd_dump_v8(doc), NODES), "") && is(hd_v8_name(hd_dump_v8(doc), NODES), ""));
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 5, "detachedness"), 2);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 9, "detachedness"), 1);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 10, "detachedness"), 0);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 10, "trace_node_id"), 5);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 10, "colour"), 0);
    assert_true(is(hd_v8_member(hd_dump_v8(doc), "locations"), "[14,1,2,3]"));
    assert_true(is(hd_v8_member(hd_dump_v8(doc), "strings"), strings));
    assert_true(is(hd_v8_member(hd_dump_v8(doc), "scopes"), ""));
    assert_true(is(hd_graph_field(g, 2, 0), "big"));
    assert_int_equal(hd_graph_index(g, 2, 0), HD_NONE);
    assert_true(is(hd_graph_field(g, 1, 1), ""));
    assert_int_equal(hd_graph_index(g, 1, 1), 2);
    assert_int_equal(hd_graph_index(g, 3, 1), HD_NONE); /* the index is too large for the graph */
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), 3, 1), UINT32_C(4294967294));
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), 3, 0), 0);
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), 1, 1), 2);
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), 2, 0), HD_UNKNOWN); /* a property */
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), 3, 9), HD_UNKNOWN);
    assert_int_equal(hd_v8_index(hd_dump_v8(doc), HD_NONE, 0), HD_UNKNOWN);
    assert_true(is(hd_v8_edge_type(hd_dump_v8(doc), 3, 1), "hidden"));
    assert_true(is(hd_v8_edge_type(hd_dump_v8(doc), 3, 2), "weak"));
    assert_true(is(hd_v8_edge_type(hd_dump_v8(doc), 3, 3), ""));
    writes(doc, text, strlen(text));
    hd_dump_free(doc);
    free(text);
}

static void retainers_are_as_in_devtools(void **state) {
    (void)state;
    static const uint8_t kinds[] = { 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0 };
    /* The list does not retain the page's Window or the closure. The key retains the value. */
    static const uint64_t retained[] = { UINT64_C(4294967296) + 1195, 1080, UINT64_C(4294967296) + 100, 1000, 24, 56, 16, 8, 4,
                                         2, 1, UINT64_C(4294967296) };
    static const uint32_t parents[] = { HD_NONE, 0, 0, 1, 1, 1, 5, 0, 0, 0, 0, 2 };
    char *text = make("\n,");
    hd_dump *doc = read_text(text);
    const hd_graph *g = hd_dump_graph(doc);
    hd_dominators *d = NULL;
    hd_total total;
    uint32_t e = 0, none = 0;
    for (uint32_t o = 0; o < NODES; o++) {
        hd_object x = hd_graph_object(g, o);
        for (uint32_t i = 0; i < x.reference_count; i++, e++) assert_int_equal(x.kinds ? x.kinds[i] : 0, kinds[e]);
    }
    assert_int_equal(e, EDGES);
    assert_int_equal(hd_graph_root_count(g), 5); /* node 0, nodes 9 and 10, then 7 and 8 */
    assert_int_equal(hd_graph_root(g, 0).object, 0);
    assert_int_equal(hd_graph_root(g, 1).object, 9);
    assert_int_equal(hd_graph_root(g, 2).object, 10);
    assert_int_equal(hd_graph_root(g, 3).object, 7);
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    for (uint32_t o = 0; o < NODES; o++) {
        assert_int_equal(d->retained[o], retained[o]);
        assert_int_equal(d->parent[o], parents[o]);
        assert_int_equal(hd_graph_retained(g, &o, 1, NULL, &total, NULL), HD_OK);
        assert_int_equal(total.bytes, retained[o]);
    }
    assert_int_equal(d->reached, NODES);
    assert_int_equal(hd_graph_reach(g, &none, 1, NULL, NULL, &total, NULL), HD_OK);
    assert_int_equal(total.objects, 0);
    hd_dominators_free(d);
    hd_dump_free(doc);
    free(text);
}

static void distances_are_as_in_devtools(void **state) {
    (void)state;
    enum { SYSTEM = HD_V8_SYSTEM };
    /* Window belongs to the page. The value is dominated by its key, not by the table. Four nodes have no path. */
    static const uint32_t wanted[] = { SYSTEM, SYSTEM + 1, 1, SYSTEM + 2, SYSTEM + 2, SYSTEM + 2, SYSTEM + 3, HD_NONE, HD_NONE, HD_NONE,
                                       HD_NONE, 2 };
    /* an array of descriptors with no value at place 4, a context, and a key far from its table */
    static const char other[] =
        "{\"snapshot\":{" META "},\"nodes\":[7,1,1,0,1,0,0,7,2,3,0,3,0,0,1,3,5,0,5,0,0,0,4,7,0,3,0,0,3,5,9,0,0,0,0,3,5,11,0,0,0,0,"
        "3,5,13,0,0,0,0,3,5,15,0,1,0,0,3,5,17,0,1,0,0,3,5,19,0,1,0,0,3,5,21,0,0,0,0],"
        "\"edges\":[1,1,7,1,1,14,1,2,21,1,3,56,1,1,28,1,4,35,1,5,42,2,7,49,2,1,49,3,6,49,6,1,49,3,1,35,2,5,63,3,8,70,3,9,70],"
        "\"strings\":[\"\",\"\",\"(GC roots)\",\"(map descriptors)\",\"system / NativeContext\",\"x\",\"sloppy_function_map\",\"7th\","
        "\"1 / part of key (x @19) -> value (x @21) pair in WeakMap (table @17)\","
        "\"2 / part of key (x @19) -> value (x @21) pair in WeakMap (table @17)\"]}";
    static const uint32_t others[] = { 0, 1, 2, 2, 3, 3, 3, 3, 2, 4, 5 };
    uint32_t found[NODES];
    char *text = make(",");
    hd_dump *doc = read_text(text);
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_status status = hd_v8_distances(hd_dump_v8(doc), &o, found, NULL);
        assert_true(status == HD_OK || status == HD_OUT_OF_MEMORY);
        assert_int_equal(f.live, 0);
        if (!status) assert_memory_equal(found, wanted, sizeof wanted);
    }
    hd_dump_free(doc);
    free(text);
    doc = read_text(other);
    assert_int_equal(hd_v8_distances(hd_dump_v8(doc), NULL, found, NULL), HD_OK);
    assert_memory_equal(found, others, sizeof others);
    hd_dump_free(doc);
}

/* Sums that tests/peers/lib/v8_retained.mjs computes for these files, from each node's id and retained size. */
static void real_snapshots_have_these_values(void **state) {
    (void)state;
    static const struct { const char *name; uint64_t objects, references, bytes, roots, sum; } files[] = {
        { "node-small.heapsnapshot", 263, 759, 22182, 4, UINT64_C(15775342331998925926) },
        { "chromium-small.heapsnapshot", 243, 626, 5386, 13, UINT64_C(6861089104581620761) }
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        hd_dump *dump = NULL;
        hd_dominators *d = NULL;
        hd_graph_summary s;
        uint64_t sum = 0;
        load(files[i].name, &data, &size);
        assert_int_equal(hd_read_memory(data, size, NULL, &dump, NULL), HD_OK);
        assert_string_equal(hd_dump_format(dump)->name, "heapsnapshot");
        assert_non_null(hd_dump_v8(dump));
        s = hd_graph_summarize(hd_dump_graph(dump));
        assert_int_equal(s.objects, files[i].objects);
        assert_int_equal(s.references, files[i].references);
        assert_int_equal(s.bytes, files[i].bytes);
        assert_int_equal(s.roots, files[i].roots);
        assert_int_equal(hd_graph_dominators(hd_dump_graph(dump), NULL, &d, NULL), HD_OK);
        for (uint32_t o = 0; o < d->count; o++) sum = sum * 31 + 7 * hd_graph_object(hd_dump_graph(dump), o).id + d->retained[o];
        assert_int_equal(sum, files[i].sum);
        writes(dump, data, size);
        hd_dominators_free(d);
        hd_dump_free(dump);
        free(data);
    }
}

static void same_graph(const hd_graph *a, const hd_graph *b) {
    assert_int_equal(hd_graph_object_count(a), hd_graph_object_count(b));
    for (uint32_t i = 0; i < hd_graph_object_count(a); i++) {
        hd_object x = hd_graph_object(a, i), y = hd_graph_object(b, i);
        assert_int_equal(x.id, y.id);
        assert_int_equal(x.size, y.size);
        assert_int_equal(x.reference_count, y.reference_count);
        for (uint32_t k = 0; k < x.reference_count; k++) {
            assert_int_equal(x.references[k], y.references[k]);
            assert_int_equal(x.kinds ? x.kinds[k] : 0, y.kinds ? y.kinds[k] : 0);
            assert_true(hd_str_equal(hd_graph_field(a, i, k), hd_graph_field(b, i, k)));
            assert_int_equal(hd_graph_index(a, i, k), hd_graph_index(b, i, k));
        }
    }
}

static void every_layout_gives_the_same(void **state) {
    (void)state;
    static const char *const between[] = { "\n,", ",\n", ", ", "\r\n,\t", "   ,  ", ",                          " };
    char *plain = make(",");
    hd_dump *doc = read_text(plain);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        char *text = make(between[i]);
        hd_dump *other = read_text(text);
        same_graph(hd_dump_graph(doc), hd_dump_graph(other));
        if (strlen(between[i]) < 15) writes(other, text, strlen(text));
        hd_dump_free(other);
        for (size_t chunk = 1; chunk < 70; chunk += 7) {
            hd__reads r = { .data = (const uint8_t *)text, .size = strlen(text), .chunk = chunk };
            assert_int_equal(hd_read_as(&hd_format_v8, hd__faults_in(&r), NULL, &other, NULL), HD_OK);
            same_graph(hd_dump_graph(doc), hd_dump_graph(other));
            hd_dump_free(other);
        }
        free(text);
    }
    /* Other spacing gives the same graph, also after writing. */
    char *once = changed(plain, ",3,3,5,100", " ,3 , 3,5,100"), *twice = changed(once, "\"edges\":[", "\"edges\" : [ ");
    hd_dump *other = read_text(twice);
    hd_buffer out = { 0 };
    same_graph(hd_dump_graph(doc), hd_dump_graph(other));
    assert_int_equal(hd_v8_write(hd_dump_v8(other), NULL, hd_out_memory(&out), NULL), HD_OK);
    hd_dump_free(other);
    other = read_size(out.data, out.size, NULL);
    same_graph(hd_dump_graph(doc), hd_dump_graph(other));
    assert_true(is(hd_v8_member(hd_dump_v8(other), "strings"), strings));
    hd_dump_free(other);
    hd_buffer_free(&out);
    free(once), free(twice);
    hd_dump_free(doc);
    free(plain);
}

/* Fields in another order, an unknown field, and no detachedness. */
static void meta_lists_the_fields(void **state) {
    (void)state;
    static const char text[] =
        "{\"snapshot\":{\"title\":\"x\",\"meta\":{\"node_fields\":[\"id\",\"colour\",\"edge_count\",\"name\",\"type\",\"self_size\"],"
        "\"node_types\":[\"number\",\"number\",\"number\",\"string\",[\"thing\",\"object\"],\"number\"],"
        "\"edge_fields\":[\"to_node\",\"weight\",\"name_or_index\",\"type\"],\"edge_types\":[\"node\",\"number\","
        "\"string_or_number\",[\"property\",\"element\"]]}},\n"
        "\"nodes\":[1,0,2,0,0,5,2,7,0,1,1,6,3,5000000000,0,0,0,7],\"edges\":[6,0,9,1,12,1234567890123,0,0],\"strings\":[\"a\",\"B\"]}";
    hd_dump *doc = read_text(text);
    const hd_graph *g = hd_dump_graph(doc);
    assert_int_equal(hd_graph_object_count(g), 3);
    assert_int_equal(hd_graph_object(g, 0).references[0], 1);
    assert_int_equal(hd_graph_object(g, 0).references[1], 2);
    assert_int_equal(hd_graph_index(g, 0, 0), 9);
    assert_true(is(hd_graph_field(g, 0, 1), "a"));
    assert_int_equal(hd_graph_object(g, 2).size, 7);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 1, "colour"), 7);
    assert_int_equal(hd_v8_value(hd_dump_v8(doc), 2, "colour"), UINT64_C(5000000000));
    class_is(doc, 0, "(thing)");
    class_is(doc, 1, "B");
    writes(doc, text, sizeof text - 1);
    hd_dump_free(doc);
}

static void faults_are_reported(void **state) {
    (void)state;
    static const struct { const char *from, *to, *at, *message; hd_status status; } wrong[] = {
        { "{\"snapshot\"", "[\"snapshot\"", "[", "expected '{', found '['", 0 },
        { ",\"node_count\":12", ",\"node_count\":11", NULL, "node_count is 11, found 12", 0 },
        { ",\"edge_count\":15", ",\"edge_count\":99", NULL, "edge_count is 99, found 15", 0 },
        { "\"self_size\"", "\"size\"", "{\"meta", "meta lacks the field \"self_size\" of nodes", 0 },
        { "\"to_node\"", "\"to\"", "{\"meta", "meta lacks the field \"to_node\" of edges", 0 },
        { "\"edge_types\"", "\"edge_type\"", "{\"meta", "meta lacks the types of edges", 0 },
        { "\"meta\"", "\"meat\"", "{\"meat", "no \"meta\" in \"snapshot\"", 0 },
        { "{\"snapshot\"", "{\"nodes\":[],\"snapshot\"", "[],", "expected \"snapshot\" before \"nodes\"", 0 },
        { "\"nodes\"", "\"edges\":[],\"nodes\"", "[],", "expected \"nodes\" before \"edges\"", 0 },
        { "\"strings\"", "\"nodes\":[],\"strings\"", "[],\"strings", "expected no duplicate member", 0 },
        { "\"strings\"", "\"things\"", NULL, "expected \"strings\", found '}'", 0 },
        { ",0,1,23,4294967296,0,0,0]", "]", "],\"edges", "node_count is 12, found 11", 0 },
        { ",0,1,23,4294967296,0,0,0]", ",0,1,23]", "],\"edges", "\"nodes\" ends inside a record, after 3 of 7 numbers", 0 },
        { ",2,11,63]", ",2,11]", "],\"trace", "\"edges\" ends inside a record, after 2 of 3 numbers", 0 },
        { ",2,11,63]", "]", NULL, "the nodes have 15 edges in total, but \"edges\" has 14", 0 },
        { ",2,11,63]", ",2,11,63,2,11,63]", NULL, "the nodes have 15 edges in total, but \"edges\" has 16", 0 },
        { "2,11,77", "2,11,78", "2,11,78", "edge 5: expected the start of a node, found 78: nodes have 7 fields", 0 },
        { "2,11,77", "2,11,84", "2,11,84", "edge 5: expected one of 12 nodes, found 12", 0 },
        { "2,11,77", "2,11,18446744073709551609", "2,11,184", "edge 5", 0 },
        { "2,11,77", "7,11,77", "7,11,77", "edge 5: expected a type below 7, found 7", 0 },
        { "2,11,77", "2,13,77", "[\"<dummy", "edge 5: expected a name among 13 strings, found 13", 0 },
        { "2,11,77", "2,2147483647,77", "2,2147", "edge 5: expected a name of 31 bits or an index of 32 bits", 0 },
        { "2,11,77", "1,4294967296,77", "1,4294967296,77", "edge 5: expected a name of 31 bits or an index of 32 bits", 0 },
        { "2,11,77", "2,-1,77", "-1,77", "expected a number, found '-'", 0 },
        { "2,11,77", "2,011,77", "11,77", "expected no digit after a leading zero, found '1'", 0 },
        { "2,11,77", "2,1.5,77", ".5,77", "expected ',', found '.'", 0 },
        { "2,11,77", "2,11,77,,", ",,1,0,14", "expected a number, found ','", 0 },
        { "2,11,77,", "2,11,77 ", "1,0,14", "expected ',' or ']', found '1'", 0 },
        { "2,11,77", "2,99999999999999999999,77", NULL, "expected a number of at most 64 bits", 0 },
        { "3,3,5,100", "8,3,5,100", "8,3,5", "node 2: expected a type below 8, found 8", 0 },
        { "3,3,5,100", "3,13,5,100", "[\"<dummy", "node 2: expected a name among 13 strings, found 13", 0 },
        { "3,3,5,100", "3,4294967296,5,100", "3,42", "node 2: expected a name of 32 bits, found 4294967296", 0 },
        { "3,3,5,100,1", "3,3,5,100,4294967296", "3,3,5", "node 2: with its 4294967296 edges there are more than max_records", HD_LIMIT },
        { "4294967296,0", "18446744073709551615,0", NULL, "the sizes pass 2^64 together", HD_OVERFLOW },
        { "\"list\"", "7", "7,\"Weak", "a string expected, '7' found", 0 },
        { "\"big\"", "\"b\\q\"", "q\"", "an escape expected, 'q' found", 0 },
        { "@9)\"]}", "@9)\"]}x", "x", "expected end of input, found 'x'", 0 },
        { "\"trace_tree\":[]", "\"trace_tree\":[}", "}", "',' or ']' expected, '}' found", 0 },
        { "\"samples\":[]", "\"samples\" []", "[],\"loc", "expected ':', found '['", 0 },
        { "],\"edges\"", "]\"edges\"", "\"edges\"", "expected ',' or '}', found '\"'", 0 },
        { "],\"edges\"", "],edges\"", "edges\"", "expected a key, found 'e'", 0 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *plain = make(","), *text = changed(plain, wrong[i].from, wrong[i].to);
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        hd_status status = hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), NULL, &doc, &err);
        assert_null(doc);
        if (status != (wrong[i].status ? wrong[i].status : HD_MALFORMED) || status != err.status ||
            !strstr(err.message, wrong[i].message) || (wrong[i].at && strncmp(text + err.offset, wrong[i].at, strlen(wrong[i].at))))
            fail_msg("%u: status %d, at %u '%.20s': %s", (unsigned)i, (int)status, (unsigned)err.offset,
                     err.offset < strlen(text) ? text + err.offset : "", err.message);
        free(text), free(plain);
    }
}

static uint64_t told;
static void count_warning(void *user, const hd_error *warning) {
    (void)user;
    assert_int_not_equal(warning->message[0], 0);
    told++;
}

static char all_told[4096];
static void keep_warning(void *user, const hd_error *warning) {
    (void)user;
    assert_in_range(strlen(all_told) + strlen(warning->message), 1, sizeof all_told - 1);
    strcat(all_told, warning->message);
}

/* Leniently, everything after a valid header is read. The written file is well-formed, and reads as the same. */
static void rewrites(const char *text, size_t size) {
    hd_options lenient = { .lenient = true, .warning = count_warning };
    hd_dump *doc = NULL, *again = NULL;
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    hd_status status;
    told = 0;
    status = hd_read_as(&hd_format_v8, hd_in_memory(text, size), &lenient, &doc, &err);
    if (status) {
        assert_null(doc);
        assert_true(status == HD_MALFORMED || status == HD_UNSUPPORTED || status == HD_LIMIT);
        return;
    }
    assert_int_equal(hd_dump_warning_count(doc), told);
    assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
    assert_int_equal(hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    if (hd_read_as(&hd_format_v8, hd_in_memory(out.data, out.size), NULL, &again, &err)) fail_msg("%s", err.message);
    same_graph(hd_dump_graph(doc), hd_dump_graph(again));
    writes(again, out.data, out.size);
    hd_dump_free(doc), hd_dump_free(again);
    hd_buffer_free(&out);
}

static void repaired_files_are_well_formed(void **state) {
    (void)state;
    char *text = make("\n,"), *wrong;
    hd_options lenient = { .lenient = true };
    hd_dump *doc;
    size_t size = strlen(text);
    for (size_t n = 0; n < size; n++) {
        rewrites(text, n);
        assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(text, n), NULL, &doc, NULL), HD_MALFORMED);
    }
    size_t step = (size_t)long_or_short(1, 3);
    for (size_t n = 0; n < size; n++)
        for (size_t bit = n % step; bit < 8; bit += step) {
            text[n] = (char)(text[n] ^ 1 << bit);
            rewrites(text, size);
            text[n] = (char)(text[n] ^ 1 << bit);
        }
    wrong = changed(text, "2,11,77", "2,11,78");
    doc = read_size(wrong, size, &lenient);
    assert_int_equal(hd_dump_warning_count(doc), 1);
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 2).reference_count, 0);
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 3).reference_count, 3);
    assert_true(is(hd_graph_field(hd_dump_graph(doc), 9, 0), "big"));
    hd_dump_free(doc);
    free(wrong);
    wrong = changed(text, "\"list\",", "\"list\",\v"); /* the names before this place are known */
    doc = read_size(wrong, strlen(wrong), &lenient);
    hd_dump_free(doc);
    free(wrong);
    free(text);
}

/* Complete data about nodes is written again; a warning lists lost data. */
static void all_that_is_whole_is_kept(void **state) {
    (void)state;
    hd_options lenient = { .lenient = true, .warning = keep_warning };
    static const char traces[] = "\"trace_function_infos\":[1,2,3,4,5,6],\"trace_tree\":[1,0,2,3,[]]";
    char *plain = make(","), *more = changed(plain, "\"trace_function_infos\":[],\"trace_tree\":[]", traces),
         *whole = changed(more, "\"node_count\":12,", "\"node_count\" : 12, \"extra\":[7],\"trace_function_count\":1,");
    /* `end`: the file is cut off at this text */
    static const struct { const char *from, *to, *end, *tree, *locations, *header, *told; } cases[] = {
        { " : 12", " : 99", NULL, "[1,0,2,3,[]]", "[14,1,2,3]", "\"node_count\" : 12, ", "node_count is 99, found 12" },
        { "2,11,77", "2,11,78", NULL, "[1,0,2,3,[]]", "[14,1,2,3]", "\"edge_count\":14", "edge 5: expected the start of a node" },
        { ",\"edge_count\":15", "", "\"list\"", "[1,0,2,3,[]]", "[14,1,2,3]", "\"edge_count\":15}", "; lost: the names of 7 nodes and 8 edges" },
        { "", "", "\"locations\"", "[1,0,2,3,[]]", "[]", "_count\":1,", "; lost: the names of 12 nodes and 10 edges, locations" },
        { "", "", "3,[]]", "[]", "[]", "_count\":0,", ", trace_tree, samples, locations" },
        { "", "", "\"edges\"", "[]", "[]", "\"edge_count\":0", ", trace_function_infos, trace_tree, samples, locations" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = changed(whole, cases[i].from, cases[i].to), header[1024];
        hd_dump *doc = NULL, *again;
        hd_buffer out = { 0 };
        if (cases[i].end) *strstr(text, cases[i].end) = 0;
        all_told[0] = 0;
        assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), &lenient, &doc, NULL), HD_OK);
        if (!strstr(all_told, cases[i].told)) fail_msg("%s", all_told);
        assert_int_equal(hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
        again = read_size(out.data, out.size, NULL);
        for (int k = 0; k < 2; k++) {
            hd_str snapshot = hd_v8_member(hd_dump_v8(k ? again : doc), "snapshot");
            assert_true(is(hd_v8_member(hd_dump_v8(k ? again : doc), "trace_tree"), cases[i].tree));
            assert_true(is(hd_v8_member(hd_dump_v8(k ? again : doc), "locations"), cases[i].locations));
            assert_in_range(snapshot.len, 1, sizeof header - 1);
            sprintf(header, "%.*s", (int)snapshot.len, snapshot.data);
            assert_non_null(strstr(header, "\"extra\":[7]"));
            assert_non_null(strstr(header, cases[i].header));
        }
        hd_dump_free(doc), hd_dump_free(again);
        hd_buffer_free(&out);
        free(text);
    }
    free(plain), free(more), free(whole);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    char *plain = make("\n,"), *cut = make(",");
    hd__faults f = { 0 };
    cut[strlen(cut) - 60] = 0;
    for (int lenient = 0; lenient < 2; lenient++) {
        const char *text = lenient ? cut : plain;
        f.fail_at = 0;
        HD__EACH_FAULT(f) {
            hd_options o = { .allocator = hd__faults_allocator(&f), .lenient = lenient };
            hd__reads r = { .data = (const uint8_t *)text, .size = strlen(text), .chunk = 31 };
            hd_dump *doc = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read_as(&hd_format_v8, hd__faults_in(&r), &o, &doc, &err);
            assert_int_equal(err.status, status);
            assert_int_equal(!doc, !!status);
            if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
            else if (!lenient) writes(doc, text, strlen(text));
            hd_dump_free(doc);
            assert_null(f.misuse);
            assert_int_equal(f.live, 0);
        }
    }
    for (uint64_t limit = 1; limit < 300000; limit += 611) {
        hd_options o = { .limits.max_memory = limit };
        hd_dump *doc = NULL;
        hd_status status = hd_read_as(&hd_format_v8, hd_in_memory(plain, strlen(plain)), &o, &doc, NULL);
        assert_true(status == HD_OK || status == HD_LIMIT);
        hd_dump_free(doc);
    }
    for (uint64_t most = 1; most < 20; most++) {
        hd_options o = { .limits.max_records = most };
        hd_dump *doc = NULL;
        assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(plain, strlen(plain)), &o, &doc, NULL),
                         most < EDGES ? HD_LIMIT : HD_OK);
        hd_dump_free(doc);
    }
    free(plain), free(cut);
}

static void reading_may_fail(void **state) {
    (void)state;
    char *text = make("\n,");
    for (uint64_t fail_at = 1; (fail_at - 1) * 41 < strlen(text); fail_at++) {
        hd__reads r = { .data = (const uint8_t *)text, .size = strlen(text), .chunk = 41, .fail_at = fail_at };
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read_as(&hd_format_v8, hd__faults_in(&r), &(hd_options){ .lenient = true }, &doc, &err),
                         HD_IO);
        assert_int_equal(err.status, HD_IO);
    }
    free(text);
}

static void announced_counts_take_no_memory(void **state) {
    (void)state;
    char *text = make(","), *one = changed(text, "\"node_count\":12", "\"node_count\":1000000000"),
         *two = changed(one, "\"edge_count\":15", "\"edge_count\":4000000000");
    hd__faults f = { 0 };
    hd_options o = { .allocator = hd__faults_allocator(&f) };
    hd_dump *doc = NULL;
    assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(two, strlen(two)), &o, &doc, NULL), HD_MALFORMED);
    assert_in_range(f.peak, 1, 200000);
    hd__reads r = { .data = (const uint8_t *)two, .size = strlen(two), .chunk = 1000 };
    assert_int_equal(hd_read_as(&hd_format_v8, hd__faults_in(&r), &o, &doc, NULL), HD_MALFORMED);
    assert_in_range(f.peak, 1, 200000);
    assert_int_equal(f.live, 0);
    free(text), free(one), free(two);
}

static bool stop(void *user, uint64_t done, uint64_t total) { return (void)user, (void)done, (void)total, false; }

static void reading_and_writing_can_be_cancelled(void **state) {
    (void)state;
    char *text = make(",");
    hd_options o = { .progress = stop };
    hd_buffer out = { 0 };
    hd_dump *doc = NULL;
    hd__reads r = { .data = (const uint8_t *)text, .size = strlen(text), .chunk = 1000 };
    assert_int_equal(hd_read_as(&hd_format_v8, hd__faults_in(&r), &o, &doc, NULL), HD_CANCELLED);
    doc = read_text(text);
    assert_int_equal(hd_v8_write(hd_dump_v8(doc), &o, hd_out_memory(&out), NULL), HD_CANCELLED);
    assert_int_equal(hd_v8_write_graph(hd_dump_graph(doc), &o, hd_out_memory(&out), NULL), HD_CANCELLED);
    hd_buffer_free(&out);
    for (uint64_t i = 1; i < 3; i++) {
        hd__write_faults w = { .fail_at = i };
        hd_status status = hd_v8_write(hd_dump_v8(doc), NULL, hd__faults_out(&w), NULL);
        assert_true(status == HD_IO || (!status && i > 1));
        hd__write_faults_free(&w);
    }
    hd_dump_free(doc);
    free(text);
}

static void formats_are_distinguished(void **state) {
    (void)state;
    static const struct { const char *text, *name; } files[] = {
        { "{\"snapshot\":{\"meta\":{\"node_fields\"", "heapsnapshot" }, { " {\n \"snapshot\" : { \"meta\"", "heapsnapshot" },
        { "{\"snapshot\":{\"title\":\"x\",", "heapsnapshot" }, { "{\"traceEvents\":[", "chrome" }, { "{\"snapshots\":{", "chrome" }
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const hd_format *best = NULL, *format;
        int most = 0, sure;
        for (size_t k = 0; (format = hd_format_at(k)) != NULL; k++)
            if ((sure = format->detect((const uint8_t *)files[i].text, strlen(files[i].text))) > most) best = format, most = sure;
        assert_non_null(best);
        assert_string_equal(best->name, files[i].name);
    }
}

/* A graph by hand: names, places, weak references, an ephemeron, an object without a record. */
static hd_graph *by_hand(uint64_t first_id) {
    hd_graph *g = hd_graph_create(NULL, NULL);
    hd_class c = { .name = hd_cstr("Node \"x\""), .described = true };
    hd_root root = { .container = HD_NONE }, weak = { .flags = HD_ROOT_WEAK, .container = HD_NONE };
    uint64_t ids[5];
    uint32_t n;
    assert_int_equal(hd_graph_add_class(g, &c, NULL, NULL), HD_OK);
    c.name = hd_cstr("Map");
    assert_int_equal(hd_graph_add_class(g, &c, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_add_field(g, 1, 1, hd_cstr("right"), NULL), HD_OK);
    assert_int_equal(hd_graph_add_name(g, hd_cstr("own"), &n, NULL), HD_OK);
    for (uint64_t i = 0; i < 5; i++) ids[i] = first_id + i;
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(hd_graph_add_object(g, ids[i], 1 + i / 3, 10 << i, NULL), HD_OK);
    /* the map comes last: it has key 0 weakly, and 2 as the value; 4 has no record */
    assert_int_equal(hd_graph_add_references(g, (uint64_t[]){ ids[0], ids[2], ids[1], ids[1], ids[4] }, 5, NULL), HD_OK);
    assert_int_equal(hd_graph_set_kind(g, 3, 0, HD_REFERENCE_KEY, NULL), HD_OK);
    assert_int_equal(hd_graph_set_kind(g, 3, 1, HD_REFERENCE_VALUE, NULL), HD_OK);
    assert_int_equal(hd_graph_set_kind(g, 3, 2, HD_REFERENCE_WEAK, NULL), HD_OK);
    assert_int_equal(hd_graph_set_name(g, 3, 2, n, NULL), HD_OK);
    assert_int_equal(hd_graph_set_index(g, 3, 3, 77, NULL), HD_OK);
    assert_int_equal(hd_graph_set_index(g, 3, 3, 0x7fffffff, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_root(g, ids[3], &root, NULL), HD_OK);
    assert_int_equal(hd_graph_add_root(g, ids[0], &root, NULL), HD_OK);
    assert_int_equal(hd_graph_add_root(g, ids[1], &weak, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    return g;
}

static void graphs_are_written(void **state) {
    (void)state;
    static const uint64_t first[] = { 100, 0, UINT64_C(5000000000) };
    for (int i = 0; i < 3; i++) {
        hd_graph *g = by_hand(first[i]);
        hd_buffer out = { 0 };
        hd_dominators *a = NULL, *b = NULL;
        hd_dump *doc;
        const hd_graph *h;
        hd_object map;
        assert_int_equal(hd_v8_write_graph(g, NULL, hd_out_memory(&out), NULL), HD_OK);
        doc = read_size(out.data, out.size, NULL);
        h = hd_dump_graph(doc);
        writes(doc, out.data, out.size);
        assert_int_equal(hd_graph_object_count(h), 7);
        assert_int_equal(hd_graph_object(h, 0).id, 1);
        assert_int_equal(hd_graph_object(h, 1).id, 3);
        assert_int_equal(hd_graph_object(h, 2).id, i == 1 ? 5 : first[i]);
        class_is(doc, 2, "Node \"x\"");
        class_is(doc, 6, "(system)");
        map = hd_graph_object(h, 5);
        assert_int_equal(map.reference_count, 5);
        assert_int_equal(map.kinds[0], HD_REFERENCE_WEAK);
        assert_int_equal(map.kinds[1], HD_REFERENCE_WEAK);
        assert_int_equal(map.kinds[2], HD_REFERENCE_WEAK);
        assert_int_equal(map.kinds[3], HD_REFERENCE_STRONG);
        assert_true(is(hd_graph_field(h, 5, 2), "own"));
        assert_int_equal(hd_graph_index(h, 5, 3), 77);
        assert_int_equal(hd_graph_index(h, 5, 4), 4);
        assert_int_equal(hd_graph_object(h, 2).reference_count, 1); /* the key: the value */
        assert_int_equal(hd_graph_dominators(g, NULL, &a, NULL), HD_OK);
        assert_int_equal(hd_graph_dominators(h, NULL, &b, NULL), HD_OK);
        for (uint32_t o = 0; o < 5; o++) assert_int_equal(a->retained[o], b->retained[o + 2]);
        assert_int_equal(b->retained[0], 150);
        hd_dominators_free(a), hd_dominators_free(b);
        hd_dump_free(doc);
        hd_graph_free(g);
        hd_buffer_free(&out);
    }
}

/* Objects with equal ids are one object. One object is new, one is gone, one grew, one has another class. */
static void snapshots_are_compared_object_by_object(void **state) {
    (void)state;
    char *plain = make(","), *grown = changed(plain, "3,5,9,24,1", "3,5,9,32,1"), *named = changed(grown, "3,6,11,40", "3,4,11,40"),
         *other = changed(named, "5,1,21,1,0,5,0", "5,1,99,3,0,5,0");
    hd_dump *before = read_text(plain), *after = read_text(other);
    const hd_graph *g[2] = { hd_dump_graph(before), hd_dump_graph(after) };
    hd_identity_change *c = NULL;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_status status = hd_graph_match(g[0], g[1], NULL, &o, &c, NULL);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        else hd_identity_change_free(c);
        assert_int_equal(f.live, 0);
    }
    assert_int_equal(hd_graph_match(g[0], g[1], NULL, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->kept, NODES - 2);
    assert_true(c->common == NODES - 1 && c->renamed == 1 && c->by_chance); /* one of 11 is more than 1 % */
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(c->now[i], i == 5 || i == 10 ? HD_NONE : i);
        assert_int_equal(c->then[i], i == 5 || i == 10 ? HD_NONE : i);
    }
    assert_true(is(c->rows[0].name, "Key") || is(c->rows[0].name, "list"));
    for (uint32_t i = 0; i < c->count; i++) {
        const hd_identity_row *r = &c->rows[i];
        if (is(r->name, "WeakMap")) assert_true(r->kept == 1 && r->kept_bytes[0] == 24 && r->kept_bytes[1] == 32);
        if (is(r->name, "(closure)")) assert_true(!r->kept && r->bytes[0] == 1 && r->bytes[1] == 3);
    }
    hd_identity_change_free(c);
    uint8_t live[2][NODES] = { { 0 } };
    live[0][2] = live[1][2] = live[0][3] = 1;
    assert_int_equal(hd_graph_match(g[0], g[1], (const uint8_t *const[]){ live[0], live[1] }, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->kept, 1);
    assert_int_equal(c->now[3], HD_NONE);
    hd_identity_change_free(c);
    hd_dump_free(before), hd_dump_free(after);
    free(plain), free(grown), free(named), free(other);
}

/* Digits come in words of eight: numbers of all lengths, at all places of a word and of the window. */
/* Nodes of a page. An attached node leads to a native one, and then to a node that the file calls detached. This
   leads to native nodes over all kinds of edges, and to an object, which leads to another native node. */
static void nodes_lead_to_detached_nodes(void **state) {
    (void)state;
    static const char text[] = "{\"snapshot\":{" META ",\"node_count\":13,\"edge_count\":12},\"nodes\":["
        "7,0,1,0,3,0,0,6,1,3,1,1,0,1,6,2,5,1,2,0,0,6,3,7,1,5,0,2,6,2,9,1,0,0,0,6,2,11,1,0,0,0,6,2,13,1,0,0,0,"
        "3,2,15,1,1,0,0,6,2,17,1,0,0,0,3,4,19,1,0,0,2,6,5,21,1,0,0,2,7,2,23,1,0,0,2,6,2,25,1,0,0,3],\"edges\":["
        "1,0,7,1,1,63,1,2,77,2,0,14,2,0,21,2,0,28,2,0,35,4,1,42,6,1,42,3,0,49,2,0,28,2,0,56" TAIL
        "[\"\",\"HTMLDocument\",\"<p id=1>\",\"<li class=x>\",\"Object\",\"Detached <li>\"]}";
    static const char *const classes[] = { "(synthetic)", "HTMLDocument", "<p>", "Detached <li>", "<p>", "Detached <p>", "<p>",
                                           "<p>", "<p>", "Object", "Detached <li>", "(synthetic)", "<p>" };
    static const hd_v8_link links[] = { 0, 1, 1, 2, 1, 2, 0, 0, 0, 2, 2, 2, 0 };
    char *old;
    hd_dump *doc = read_text(text);
    for (uint32_t i = 0; i < 13; i++) {
        class_is(doc, i, classes[i]);
        assert_int_equal(hd_v8_detachedness(hd_dump_v8(doc), i), links[i]);
    }
    assert_int_equal(hd_v8_detachedness(hd_dump_v8(doc), 13), HD_V8_UNLINKED);
    assert_true(is(hd_v8_name(hd_dump_v8(doc), 3), "<li class=x>")); /* as in the file */
    writes(doc, text, strlen(text));
    hd_dump_free(doc);
    old = changed(text, "\"detachedness\"", "\"colour\""); /* before 2020 only names said so */
    doc = read_text(old);
    class_is(doc, 3, "<li>");
    class_is(doc, 10, "Detached <li>");
    assert_int_equal(hd_v8_detachedness(hd_dump_v8(doc), 3), HD_V8_UNLINKED);
    assert_int_equal(hd_v8_detachedness(hd_dump_v8(doc), 10), HD_V8_DETACHED);
    hd_dump_free(doc);
    free(old);
}

static void detached_classes_are_as_in_devtools(void **state) {
    (void)state;
    uint8_t *data;
    size_t size, detached = 0, attached = 0;
    hd_dump *doc;
    load("detached.heapsnapshot", &data, &size);
    doc = read_size(data, size, NULL);
    for (uint32_t i = 0; i < hd_graph_object_count(hd_dump_graph(doc)); i++) {
        hd_str name = hd_graph_class(hd_dump_graph(doc), hd_graph_object(hd_dump_graph(doc), i).class_index).name;
        detached += is(name, "Detached <li>"), attached += is(name, "<li>");
    }
    assert_int_equal(detached, 3);
    assert_int_equal(attached, 2);
    writes(doc, data, size);
    hd_dump_free(doc);
    free(data);
}

/* Five nodes: the root, an object, a closure that leads to its script over another node, and the script. The caller
   frees the text. */
static char *tracked(const char *fields, const char *locations, const char *functions, const char *tree) {
    char *text = malloc(4096 + strlen(locations) + strlen(functions) + strlen(tree));
    sprintf(text, "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\","
            "\"trace_node_id\"],\"node_types\":[[\"object\",\"closure\",\"code\"],\"string\"],\"edge_fields\":[\"type\","
            "\"name_or_index\",\"to_node\"],\"edge_types\":[[\"internal\"]],\"trace_function_info_fields\":[\"function_id\","
            "\"name\",\"script_name\",\"script_id\",\"line\",\"column\"],\"trace_node_fields\":[\"id\",\"function_info_index\","
            "\"count\",\"size\",\"children\"],\"location_fields\":[%s]},\"node_count\":5,\"edge_count\":3},"
            "\"nodes\":[0,0,1,0,1,0, 0,1,3,8,0,3, 1,2,5,8,1,0, 2,3,7,8,1,0, 2,4,9,8,0,77],\"edges\":[0,0,6, 0,5,18, 0,6,24],"
            "\"trace_function_infos\":%s,\"trace_tree\":%s,\"samples\":[],\"locations\":%s,\"strings\":[\"\",\"Widget\",\"make\","
            "\"shared\",\"system / Script / file:///a.js\",\"shared\",\"script\",\"(root)\",\"b.js\"]}",
            fields, functions, tree, locations);
    return text;
}

#define USUAL "\"object_index\",\"script_id\",\"line\",\"column\""
#define FUNCTIONS "[0,7,0,0,0,0, 3,2,0,9,3,4, 5,1,8,4,0,7]"

static void place_is(hd_v8_place p, const char *function, const char *script, uint32_t id, uint32_t line, uint32_t column) {
    if (!is(p.function, function) || !is(p.script, script)) fail_msg(HD_FMT " in " HD_FMT, HD_ARG(p.function), HD_ARG(p.script));
    assert_int_equal(p.script_id, id);
    assert_int_equal(p.line, line);
    assert_int_equal(p.column, column);
}

static void origins_have_these_values(void **state) {
    (void)state;
    char *text = tracked(USUAL, "[12,9,10,4, 6,5,1,1, 6,4,0,0]", FUNCTIONS, "[1,0,0,0,[2,1,5,6,[3,2,1,8,[]],9,1,0,0,[]]]");
    hd_dump *doc = read_text(text);
    hd_v8_origins *o = NULL;
    hd_v8_place p, frames[3];
    assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), NULL, &o, NULL), HD_OK);
    assert_true(hd_v8_location(o, 2, &p));
    place_is(p, "", "file:///a.js", 9, 11, 5);   /* named by the closure's script */
    assert_true(hd_v8_location(o, 1, &p));
    place_is(p, "", "b.js", 4, 1, 1);            /* the last place, named by a traced function */
    assert_false(hd_v8_location(o, 0, &p) || hd_v8_location(o, 3, &p) || hd_v8_location(o, 99, &p));
    assert_int_equal(hd_v8_stack(o, 1, NULL, 0), 3);
    assert_int_equal(hd_v8_stack(o, 1, frames, 3), 3);
    place_is(frames[0], "Widget", "b.js", 4, 0, 7);
    place_is(frames[1], "make", "file:///a.js", 9, 3, 4);
    place_is(frames[2], "(root)", "", 0, 0, 0);
    assert_int_equal(hd_v8_stack(o, 2, frames, 3), 0);   /* not tracked */
    assert_int_equal(hd_v8_stack(o, 4, frames, 3), 0);   /* this trace does not exist */
    assert_int_equal(hd_v8_stack(o, 99, frames, 3), 0);
    hd_v8_origins_free(o);
    hd_dump_free(doc);
    free(text);
    /* Chromium's locations lead to scripts. Fields may have another order. Without the lists there are no origins. */
    text = tracked("\"column\",\"script_object_index\",\"object_index\",\"line\",\"script_id\"", "[3,24,6,2,1]", "[]", "[]");
    doc = read_text(text);
    assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), NULL, &o, NULL), HD_OK);
    assert_true(hd_v8_location(o, 1, &p));
    place_is(p, "", "file:///a.js", 1, 3, 4);
    assert_int_equal(hd_v8_stack(o, 1, frames, 3), 0);
    hd_v8_origins_free(o);
    hd_dump_free(doc);
    free(text);
    text = tracked("", "[1,2,3]", "[]", "[]"); /* old files do not declare the meaning of the numbers */
    doc = read_text(text);
    assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), NULL, &o, NULL), HD_OK);
    assert_false(hd_v8_location(o, 0, &p));
    hd_v8_origins_free(o), hd_v8_origins_free(NULL);
    hd_dump_free(doc);
    free(text);
}

/* Faults in members: the offset in the file and the message. Leniently a warning, and everything before the fault. */
static void wrong_origins_are_reported(void **state) {
    (void)state;
    static const struct { const char *locations, *functions, *tree, *at, *message; } cases[] = {
        { "[12,9,10]", FUNCTIONS, "[]", "]", "locations: expected a whole record" },
        { "[13,9,10,4]", FUNCTIONS, "[]", "4]", "locations: expected the start of a node" },
        { "[30,9,10,4]", FUNCTIONS, "[]", "4]", "locations: expected the start of a node" },
        { "[12,9,-1,4]", FUNCTIONS, "[]", "-1", "locations: expected a number of 32 bits" },
        { "[12,4294967296,1,4]", FUNCTIONS, "[]", "4294967296", "locations: expected a number of 32 bits" },
        { "[[12,9,10,4]]", FUNCTIONS, "[]", "[12,9", "locations: expected a number of 32 bits" },
        { "{\"a\":1}", FUNCTIONS, "[]", "{\"a\"", "locations: expected '['" },
        { "[12,9,10,4]", "[0,9,0,0,0,0]", "[]", "0],\"trace_tree", "trace_function_infos: expected the number of a string" },
        { "[12,9,10,4]", "[0,1,9,0,0,0]", "[]", "0],\"trace_tree", "trace_function_infos: expected the number of a string" },
        { "[12,9,10,4]", FUNCTIONS, "[1,0,0,0]", "],\"samples", "trace_tree: expected a whole record" },
        { "[12,9,10,4]", FUNCTIONS, "[1,0,0,0,[2,1]]", "]],\"samples", "trace_tree: expected a whole record" },
        { "[12,9,10,4]", FUNCTIONS, "[1,3,0,0,[]]", "3,0,0,[]]", "trace_tree: expected the number of a function" },
        { "[12,9,10,4]", FUNCTIONS, "[1,0,0,0,5]", "5],\"samples", "trace_tree: expected a list of called functions" },
        { "[12,9,10,4]", FUNCTIONS, "[\"a\",0,0,0,[]]", "\"a\"", "trace_tree: expected a number of 32 bits" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = tracked(USUAL, cases[i].locations, cases[i].functions, cases[i].tree);
        const char *member = strstr(text, strchr(cases[i].message, ':') - cases[i].message == 9 ? "\"locations\":"
                                    : cases[i].message[6] == 'f' ? "\"trace_function_infos\":" : "\"trace_tree\":");
        hd_dump *doc = read_text(text);
        hd_options lenient = { .lenient = true, .warning = count_warning };
        hd_v8_origins *o = NULL;
        hd_v8_place p;
        hd_error err = { 0 };
        assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), NULL, &o, &err), HD_MALFORMED);
        assert_null(o);
        if (strcmp(err.message, cases[i].message)) fail_msg("%zu: '%s'", i, err.message);
        if (text + err.offset != strstr(member, cases[i].at)) fail_msg("%zu: at '%.20s'", i, text + err.offset);
        told = 0;
        assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), &lenient, &o, &err), HD_OK);
        assert_int_equal(told, 1);
        if (i >= 7) assert_true(hd_v8_location(o, 2, &p));
        hd_v8_stack(o, 1, &p, 1);
        hd_v8_origins_free(o);
        hd_dump_free(doc);
        free(text);
    }
}

/* Reading a damaged file reported its lost nodes and strings: places and stacks add no further warning. */
static void origins_of_damaged_files_add_no_warning(void **state) {
    (void)state;
    char *whole = tracked(USUAL, "[12,9,10,4, 60,9,1,1]", "[0,7,0,0,0,0, 3,2,0,9,3,4, 5,99,98,4,0,7]", "[1,0,0,0,[2,1,5,6,[3,2,1,8,[]]]]");
    char *text = changed(whole, "\"node_count\":5", "\"node_count\":6");
    hd_options lenient = { .lenient = true, .warning = count_warning };
    hd_v8_origins *o = NULL;
    hd_v8_place frames[3];
    hd_dump *doc;
    told = 0;
    doc = read_size(text, strlen(text), &lenient);
    assert_int_equal(told, 1);
    assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), &lenient, &o, NULL), HD_OK);
    assert_int_equal(told, 1);
    assert_true(hd_v8_location(o, 2, &frames[0]));
    assert_int_equal(hd_v8_stack(o, 1, frames, 3), 3);
    place_is(frames[0], "", "", 4, 0, 7);
    hd_v8_origins_free(o);
    hd_dump_free(doc);
    free(whole), free(text);
}

static void trees_of_any_shape_take_linear_room(void **state) {
    (void)state;
    enum { DEPTH = 500, WIDTH = 20000 };
    char *deep = malloc(DEPTH * 20), *wide = malloc(WIDTH * 20), *text;
    size_t n = 0, w = 0;
    for (int i = 0; i < DEPTH; i++) n += (size_t)sprintf(deep + n, "[%d,1,0,0,", DEPTH - i);
    n += (size_t)sprintf(deep + n, "[]");
    for (int i = 0; i < DEPTH; i++) deep[n++] = ']';
    deep[n] = 0;
    w += (size_t)sprintf(wide, "[");
    for (int i = 0; i < WIDTH; i++) w += (size_t)sprintf(wide + w, "%s3,1,0,0,[]", i ? "," : "");
    sprintf(wide + w, "]");
    for (int i = 0; i < 2; i++) {
        hd_v8_origins *o = NULL;
        hd_options most = { .limits.max_memory = strlen(i ? wide : deep) * 8 + 100000 };
        hd_options few = { .limits.max_records = 100 }, flat = { .limits.max_depth = 100 };
        hd_dump *doc;
        text = tracked(USUAL, "[]", FUNCTIONS, i ? wide : deep);
        doc = read_text(text);
        assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), &most, &o, NULL), HD_OK);
        assert_int_equal(hd_v8_stack(o, 1, NULL, 0), i ? 1 : DEPTH - 2);
        hd_v8_origins_free(o);
        assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), &few, &o, NULL), HD_LIMIT);
        if (!i) assert_int_equal(hd_v8_origins_read(hd_dump_v8(doc), &flat, &o, NULL), HD_LIMIT);
        hd_dump_free(doc);
        free(text);
    }
    free(deep), free(wide);
}

static void every_allocation_for_origins_may_fail(void **state) {
    (void)state;
    char *text = tracked(USUAL, "[12,9,10,4, 6,5,1,1]", FUNCTIONS, "[1,0,0,0,[2,1,5,6,[3,2,1,8,[]]]]");
    hd_dump *doc = read_text(text);
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_v8_origins *origins = NULL;
        hd_error err = { 0 };
        hd_status status = hd_v8_origins_read(hd_dump_v8(doc), &o, &origins, &err);
        assert_int_equal(err.status, status);
        assert_int_equal(!origins, !!status);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        hd_v8_origins_free(origins);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
    }
    hd_dump_free(doc);
    free(text);
}

static void numbers_of_all_lengths_are_read(void **state) {
    (void)state;
    enum { N = 4000 };
    char *text = malloc(N * 64 + 4096);
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{" META ",\"node_count\":%d,\"edge_count\":0},\"nodes\":[", N);
    hd_dump *doc;
    uint64_t size = 1;
    for (uint32_t i = 0; i < N; i++, size = i % 19 ? size * 10 + i % 10 : 1)
        n += (size_t)sprintf(text + n, "%s3,0,%u,%llu,0,%llu,0", i ? "," : "", i, (unsigned long long)(size / 2000), (unsigned long long)size);
    sprintf(text + n, "],\"edges\":[],\"strings\":[\"\"]}");
    doc = read_text(text);
    size = 1;
    for (uint32_t i = 0; i < N; i++, size = i % 19 ? size * 10 + i % 10 : 1) {
        assert_int_equal(hd_graph_object(hd_dump_graph(doc), i).size, size / 2000);
        assert_int_equal(hd_v8_value(hd_dump_v8(doc), i, "trace_node_id"), size);
    }
    writes(doc, text, strlen(text));
    hd_dump_free(doc);
    free(text);
}

/* More fields than the reader handles at once. */
static void records_of_any_width_are_read(void **state) {
    (void)state;
    static const char fields[] = "\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"";
    enum { N = 300 };
    char *text = malloc(N * 200 + 4096);
    for (int digits = 1; digits < 12; digits++) {
        unsigned long long most = 1;
        for (int i = 1; i < digits; i++) most = most * 10 + (unsigned)i;
        size_t n = (size_t)sprintf(text, "{\"snapshot\":{\"meta\":{\"node_fields\":[%s],\"node_types\":[[\"object\"]],\"edge_fields\":[\"type\","
                                   "\"name_or_index\",\"to_node\"],\"edge_types\":[[\"element\"]]}},\"nodes\":[", fields);
        for (unsigned i = 0; i < N; i++)
            n += (size_t)sprintf(text + n, "%s0,0,%u,%llu,0,%llu,%llu,%llu,%llu,%llu,%llu", i ? "\n," : "", i, most, most + i, most, most, most, most - 1, most);
        sprintf(text + n, "],\"edges\":[],\"strings\":[\"\"]}");
        hd_dump *doc = read_text(text);
        assert_int_equal(hd_graph_object_count(hd_dump_graph(doc)), N);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(hd_graph_object(hd_dump_graph(doc), i).size, most);
            assert_int_equal(hd_v8_value(hd_dump_v8(doc), i, "a"), most + i);
            assert_int_equal(hd_v8_value(hd_dump_v8(doc), i, "d"), most);
            assert_int_equal(hd_v8_value(hd_dump_v8(doc), i, "e"), most - 1);
        }
        writes(doc, text, strlen(text));
        hd_dump_free(doc);
    }
    free(text);
}

/* Node i has i % 5 edges, with types in turn. */
static void types_of_edges_are_found_among_weak_ones(void **state) {
    (void)state;
    enum { N = 300, EACH = 5, RECORD = 40 };
    static const unsigned type[] = { PROPERTY, WEAK, HIDDEN };
    static const char *const name[] = { "property", "weak", "hidden" };
    char *text = malloc((size_t)N * (EACH + 1) * RECORD + 4096);
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{" META ",\"node_count\":%d,\"edge_count\":%d},\"nodes\":[",
                               N, N / EACH * (EACH * (EACH - 1) / 2));
    for (int i = 0; i < N; i++) n += (size_t)sprintf(text + n, "%s3,1,%d,8,%d,0,0", i ? "," : "", 2 * i + 1, i % EACH);
    n += (size_t)sprintf(text + n, "],\"edges\":[");
    for (int i = 0, e = 0; i < N; i++)
        for (int k = 0; k < i % EACH; k++, e++)
            n += (size_t)sprintf(text + n, "%s%u,1,%d", e ? "," : "", type[e % 3], (i + k) % N * 7);
    sprintf(text + n, TAIL "[\"\",\"a\"]}");
    hd_dump *doc = read_text(text);
    for (uint32_t i = 0, e = 0; i < N; i++) {
        assert_int_equal(hd_graph_object(hd_dump_graph(doc), i).reference_count, i % EACH);
        for (uint32_t k = 0; k < i % EACH; k++,
             e++) assert_true(is(hd_v8_edge_type(hd_dump_v8(doc), i, k), name[e % 3]));
        assert_true(is(hd_v8_edge_type(hd_dump_v8(doc), i, i % EACH), ""));
    }
    hd_dump_free(doc);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_has_these_values),
        cmocka_unit_test(retainers_are_as_in_devtools),
        cmocka_unit_test(distances_are_as_in_devtools),
        cmocka_unit_test(real_snapshots_have_these_values),
        cmocka_unit_test(every_layout_gives_the_same),
        cmocka_unit_test(meta_lists_the_fields),
        cmocka_unit_test(faults_are_reported),
        cmocka_unit_test(repaired_files_are_well_formed),
        cmocka_unit_test(all_that_is_whole_is_kept),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(reading_may_fail),
        cmocka_unit_test(announced_counts_take_no_memory),
        cmocka_unit_test(reading_and_writing_can_be_cancelled),
        cmocka_unit_test(formats_are_distinguished),
        cmocka_unit_test(graphs_are_written),
        cmocka_unit_test(snapshots_are_compared_object_by_object),
        cmocka_unit_test(nodes_lead_to_detached_nodes),
        cmocka_unit_test(detached_classes_are_as_in_devtools),
        cmocka_unit_test(origins_have_these_values),
        cmocka_unit_test(wrong_origins_are_reported),
        cmocka_unit_test(origins_of_damaged_files_add_no_warning),
        cmocka_unit_test(trees_of_any_shape_take_linear_room),
        cmocka_unit_test(every_allocation_for_origins_may_fail),
        cmocka_unit_test(numbers_of_all_lengths_are_read),
        cmocka_unit_test(records_of_any_width_are_read),
        cmocka_unit_test(types_of_edges_are_found_among_weak_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
