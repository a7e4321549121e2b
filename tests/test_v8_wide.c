/* V8 heap snapshots with large numbers: ids of more than 32 bits, more than 255 types of nodes, types without a
   name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "load.h"

static bool is(hd_str found, const char *wanted) { return hd_str_equal(found, hd_cstr(wanted)); }

static hd_dump *read_text(const void *data, size_t size) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_v8, hd_in_memory(data, size), NULL, &doc, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_dump_warning_count(doc), 0);
    assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
    return doc;
}

static void writes(const hd_dump *doc, const void *data, size_t size) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

static hd_dump *read_file(const char *name) {
    uint8_t *data = NULL;
    size_t size = 0;
    hd_dump *doc;
    load(name, &data, &size);
    doc = read_text(data, size);
    writes(doc, data, size);
    free(data);
    return doc;
}

static hd_str class_of(const hd_graph *g, uint32_t object) {
    return hd_graph_class(g, hd_graph_object(g, object).class_index).name;
}

static void wide_ids_distinguish_objects(void **state) {
    (void)state;
    hd_dump *before = read_file("v8-ids-1.heapsnapshot"), *after = read_file("v8-ids-2.heapsnapshot");
    hd_identity_change *c = NULL;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(hd_graph_object(hd_dump_graph(before), 4 + i).id, UINT64_C(139637976731648) + 64 * i);
    assert_int_equal(hd_graph_find(hd_dump_graph(after), UINT64_C(139637976732224)), 13);
    assert_int_equal(hd_graph_find(hd_dump_graph(after), (uint32_t)UINT64_C(139637976732224)), HD_NONE);
    assert_int_equal(hd_graph_find(hd_dump_graph(after), 7), 3);
    assert_int_equal(hd_graph_match(hd_dump_graph(before), hd_dump_graph(after), NULL, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->kept, 9);
    for (uint32_t i = 0; i < 14; i++) assert_int_equal(c->then[i], i < 9 ? i : HD_NONE);
    hd_identity_change_free(c);
    hd_dump_free(before), hd_dump_free(after);
}

#define EDGES "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"property\",\"internal\"]]"
#define META(types) "\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\"node_types\":[[" types "]]," EDGES "}"

/* Ids of every width, in random order, between small ones. They are written unchanged, also by a graph. */
static void ids_of_all_widths_are_kept(void **state) {
    (void)state;
    enum { N = 2000 };
    char *text = malloc(N * 64 + 4096);
    uint64_t id[N];
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{" META("\"object\"") "},\"nodes\":[");
    for (uint32_t i = 0; i < N; i++) {
        id[i] = i % 3 ? 5 + i : UINT64_C(0x9e3779b97f4a7c15) * i >> i % 64;
        if (!i) id[i] = 1;
        n += (size_t)sprintf(text + n, "%s0,0,%llu,%u,0\n", i ? "," : "", (unsigned long long)id[i], i);
    }
    sprintf(text + n, "],\"edges\":[],\"strings\":[\"A\"]}");
    hd_dump *doc = read_text(text, strlen(text));
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(hd_graph_object(hd_dump_graph(doc), i).id, id[i]);
        assert_int_equal(hd_graph_object(hd_dump_graph(doc), hd_graph_find(hd_dump_graph(doc), id[i])).id, id[i]);
    }
    writes(doc, text, strlen(text));
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_dump *again = NULL;
        hd_status status = hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), &o, &again, NULL);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        hd_dump_free(again);
        assert_int_equal(f.live, 0);
    }
    hd_dump_free(doc);
    free(text);
}

/* The table of a WeakMap's pair has a large id: the pair still belongs to the key. */
static void pairs_of_wide_tables_hang_from_the_key(void **state) {
    (void)state;
    static const char *const ids[] = { "139637976731648", "18446744073709551615" };
    for (int i = 0; i < 2; i++) {
        char text[2048];
        sprintf(text, "{\"snapshot\":{" META("\"object\"") "},\"nodes\":[0,0,1,0,2, 0,1,%s,8,1, 0,2,5,16,1, 0,3,7,32,0],"
                "\"edges\":[0,1,5,0,2,10,1,4,15,1,4,15],\"strings\":[\"\",\"WeakMap\",\"Key\",\"Value\","
                "\"7 / part of key (Key @5) -> value (Value @7) pair in WeakMap (table @%s)\"]}", ids[i], ids[i]);
        hd_dump *doc = read_text(text, strlen(text));
        hd_dominators *d = NULL;
        assert_int_equal(hd_graph_dominators(hd_dump_graph(doc), NULL, &d, NULL), HD_OK);
        assert_int_equal(d->retained[1], 8);
        assert_int_equal(d->retained[2], 48);
        hd_dominators_free(d);
        hd_dump_free(doc);
    }
}

/* A graph with large ids is written with them, up to the largest exact number in JavaScript's JSON. */
static void graphs_keep_wide_ids(void **state) {
    (void)state;
    static const struct { uint64_t first; bool kept; } cases[] = {
        { 100, true }, { 1, true }, { 0, false }, { UINT64_C(4294967290), true }, { UINT64_C(139637976731648), true },
        { (UINT64_C(1) << 53) - 4, true }, { UINT64_C(1) << 53, false }, { UINT64_MAX - 8, false }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_graph *g = hd_graph_create(NULL, NULL);
        hd_class c = { .name = hd_cstr("A"), .described = true };
        hd_root root = { .container = HD_NONE };
        hd_buffer out = { 0 };
        assert_int_equal(hd_graph_add_class(g, &c, NULL, NULL), HD_OK);
        for (uint64_t k = 0; k < 4; k++) {
            assert_int_equal(hd_graph_add_object(g, cases[i].first + k, 1, 8, NULL), HD_OK);
            assert_int_equal(hd_graph_add_root(g, cases[i].first + k, &root, NULL), HD_OK);
        }
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_v8_write_graph(g, NULL, hd_out_memory(&out), NULL), HD_OK);
        hd_dump *doc = read_text(out.data, out.size);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(hd_graph_object(hd_dump_graph(doc), 2 + k).id,
                             cases[i].kept ? cases[i].first + k : 5 + 2 * k);
        hd_dump_free(doc);
        hd_buffer_free(&out);
        hd_graph_free(g);
    }
}

/* Columns of a graph have ids of 32 bits; larger ids are set one by one. */
static void ids_are_set_in_graphs(void **state) {
    (void)state;
    hd_graph_desc desc = { .numbered = true };
    hd_class c = { .name = hd_cstr("A"), .described = true };
    hd_graph_columns columns;
    hd_error err;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        desc.allocator = hd__faults_allocator(&f);
        hd_graph *g = hd_graph_create(&desc, NULL);
        hd_status status = g ? hd_graph_add_class(g, &c, NULL, NULL) : HD_OUT_OF_MEMORY;
        if (!status) status = hd_graph_reserve(g, 3, 0, &columns, NULL);
        for (uint32_t i = 0; i < 3 && !status; i++)
            columns.id[i] = 7, columns.class_index[i] = 1, columns.size[i] = 0, columns.first[i] = 0;
        if (!status) status = hd_graph_commit(g, 3, 0, NULL);
        if (!status) status = hd_graph_set_id(g, 1, UINT64_MAX, NULL);
        if (!status) status = hd_graph_set_id(g, 2, 9, NULL);
        if (!status) status = hd_graph_add_object(g, UINT64_C(1) << 40, 1, 0, NULL);
        if (!status) {
            assert_int_equal(hd_graph_set_id(g, 4, 1, &err), HD_INVALID);
            status = hd_graph_seal(g, NULL, NULL);
        }
        if (!status) {
            assert_int_equal(hd_graph_object(g, 0).id, 7);
            assert_int_equal(hd_graph_object(g, 1).id, UINT64_MAX);
            assert_int_equal(hd_graph_object(g, 2).id, 9);
            assert_int_equal(hd_graph_find(g, UINT64_C(1) << 40), 3);
            assert_int_equal(hd_graph_set_id(g, 1, 1, &err), HD_INVALID);
        } else {
            assert_int_equal(status, HD_OUT_OF_MEMORY);
        }
        hd_graph_free(g);
        assert_int_equal(f.live, 0);
    }
    desc.allocator.allocate = NULL;
    desc.dense = true;
    hd_graph *dense = hd_graph_create(&desc, NULL);
    assert_int_equal(hd_graph_add_class(dense, &c, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_add_object(dense, 0, 1, 0, NULL), HD_OK);
    assert_int_equal(hd_graph_set_id(dense, 0, 1, &err), HD_INVALID);
    hd_graph_free(dense);
}

/* Julia writes the types of its objects as types of nodes: 300 in this file. */
static void more_than_255_types_are_read(void **state) {
    (void)state;
    hd_dump *doc = read_file("v8-julia300.heapsnapshot");
    const hd_graph *g = hd_dump_graph(doc);
    uint32_t n = hd_graph_object_count(g);
    hd_dominators *d = NULL;
    for (uint32_t i = 0; i < n; i++) {
        char label[64];
        hd_str type = hd_v8_type(hd_dump_v8(doc), i), name = class_of(g, i);
        snprintf(label, sizeof label, "(" HD_FMT ")", HD_ARG(type));
        assert_true(is(name, label));
    }
    assert_int_equal(n, 86);
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->retained[0], hd_graph_summarize(g).bytes);
    hd_dominators_free(d);
    hd_dump_free(doc);
}

/* Nodes of 70,000 types. Type names longer than any buffer stay distinct. */
static void types_are_as_many_as_there_are(void **state) {
    (void)state;
    enum { N = 70000, LONG = 400 };
    char *text = malloc(N * 64), *same = calloc(1, LONG + 1);
    memset(same, 'x', LONG);
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\"node_types\":[[");
    for (uint32_t i = 0; i < N; i++)
        n += (size_t)sprintf(text + n, "%s\"%sT%u\"", i ? "," : "", i < N - 2 ? "" : same, i);
    n += (size_t)sprintf(text + n, "]]," EDGES "}},\"nodes\":[0,0,1,0,0");
    for (uint32_t i = 1; i < 100; i++) n += (size_t)sprintf(text + n, ",%u,0,%u,1,0", N - 1 - i % 2 * 65535 - i % 3 / 2, 2 * i + 1);
    sprintf(text + n, "],\"edges\":[],\"strings\":[\"\"]}");
    hd_dump *doc = read_text(text, strlen(text));
    for (uint32_t i = 1; i < 100; i++) {
        char type[LONG + 32];
        uint32_t t = N - 1 - i % 2 * 65535 - i % 3 / 2;
        sprintf(type, "%sT%u", t < N - 2 ? "" : same, t);
        assert_true(is(hd_v8_type(hd_dump_v8(doc), i), type));
        sprintf(type, "(%sT%u)", t < N - 2 ? "" : same, t);
        assert_true(is(class_of(hd_dump_graph(doc), i), type));
    }
    writes(doc, text, strlen(text));
    uint32_t distances[100];
    assert_int_equal(hd_v8_distances(hd_dump_v8(doc), NULL, distances, NULL), HD_OK);
    hd_dump_free(doc);
    hd__faults f = { 0 };
    hd_options o = { .allocator = hd__faults_allocator(&f) };
    assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), &o, &doc, NULL), HD_OK);
    assert_in_range(f.peak, 1, 32 * strlen(text));
    hd_dump_free(doc);
    free(text), free(same);
}

/* V8 of Node 6 to 10 names twelve types, and has nodes of two more types: symbols and big integers. */
static void types_that_old_v8_does_not_name(void **state) {
    (void)state;
#define TWELVE "\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\","       \
               "\"concatenated string\",\"sliced string\""
    static const char text[] =
        "{\"snapshot\":{\"title\":\"Snapshot 1\",\"uid\":1," META(TWELVE) ",\"node_count\":4,\"edge_count\":3},\n"
        "\"nodes\":[9,0,1,0,3\n,12,1,3,16,0\n,13,2,5,16,0\n,11,3,7,8,0\n],\n\"edges\":[0,4,5,0,4,10,0,4,15],\n"
        "\"strings\":[\"\",\"iterator\",\"bigint\",\"part\",\"p\"]}";
    hd_dump *doc = read_text(text, sizeof text - 1), *none = NULL;
    hd_error err;
    char *other = strdup(text);
    assert_true(is(class_of(hd_dump_graph(doc), 1), "(symbol)") && is(hd_v8_type(hd_dump_v8(doc), 1), "symbol"));
    assert_true(is(class_of(hd_dump_graph(doc), 2), "(bigint)") && is(hd_v8_type(hd_dump_v8(doc), 2), "bigint"));
    assert_true(is(class_of(hd_dump_graph(doc), 3), "(sliced string)"));
    assert_true(is(hd_v8_name(hd_dump_v8(doc), 1), "iterator"));
    writes(doc, text, sizeof text - 1);
    hd_dump_free(doc);
    strstr(other, "12,1,3")[1] = '4'; /* no type 14; other names, no type 12 */
    assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(other, strlen(other)), NULL, &none, &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "node 1: expected a type below 14, found 14"));
    strcpy(other, text);
    memcpy(strstr(other, "sliced string"), "sliced things", 13);
    assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(other, strlen(other)), NULL, &none, &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "node 1: expected a type below 12, found 12"));
    free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_ids_distinguish_objects),
        cmocka_unit_test(ids_of_all_widths_are_kept),
        cmocka_unit_test(pairs_of_wide_tables_hang_from_the_key),
        cmocka_unit_test(graphs_keep_wide_ids),
        cmocka_unit_test(ids_are_set_in_graphs),
        cmocka_unit_test(more_than_255_types_are_read),
        cmocka_unit_test(types_are_as_many_as_there_are),
        cmocka_unit_test(types_that_old_v8_does_not_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
