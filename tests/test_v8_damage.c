/* Damaged V8 heap snapshots: cut off anywhere, with fewer nodes than announced, with false counts. Reading gives one
   error, or leniently one warning. It never invents a class, a name or a reference that the whole file lacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "load.h"

#define META                                                                                                       \
    "\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\"node_types\":[[\"hidden\","  \
    "\"string\",\"object\",\"native\",\"synthetic\"],\"string\",\"number\",\"number\",\"number\"],\"edge_fields\":"   \
    "[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"property\",\"element\",\"weak\"],\"string_or_number\"," \
    "\"node\"]}"
#define COUNTS ",\"node_count\":7,\"edge_count\":8}"
#define NODES "4,0,1,0,2,\n2,1,3,16,3,\n2,2,5,24,1,\n1,3,7,32,0,\n1,3,9,32,0,\n3,4,11,4294967296,1,\n2,1,13,8,1"
#define EDGES "1,1,5,\n1,2,25,\n0,5,10,\n0,6,15,\n1,2147483648,20,\n0,7,15,\n2,0,30,\n0,5,10"
#define STRINGS "[\"\",\"Cache\",\"Entry\",\"text \\u00e9\",\"Buffer\",\"entry\",\"key\",\"value\"]"
static const char whole[] = "{ \"snapshot\":{" META COUNTS ",\n\"nodes\":[" NODES "],\n\"edges\":[" EDGES
                            "],\n\"trace_function_infos\":[],\"locations\":[5,1,2,3],\n\"strings\":" STRINGS "}\n";

static struct { unsigned count; hd_error last; } told;
static void on_warning(void *user, const hd_error *warning) {
    (void)user;
    told.count++;
    told.last = *warning;
}

static hd_status read_lenient(const void *data, size_t size, hd_dump **doc, hd_error *err) {
    hd_options lenient = { .lenient = true, .warning = on_warning };
    memset(&told, 0, sizeof told);
    *doc = NULL;
    return hd_read_as(&hd_format_v8, hd_in_memory(data, size), &lenient, doc, err);
}

static hd_dump *read_whole(const void *data, size_t size) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_v8, hd_in_memory(data, size), NULL, &doc, &err)) fail_msg("%s", err.message);
    return doc;
}

static hd_class class_of(const hd_dump *doc, uint32_t object) {
    return hd_graph_class(hd_dump_graph(doc), hd_graph_object(hd_dump_graph(doc), object).class_index);
}

/* The number of references, which must be the first ones in the whole file. */
static uint64_t same_references(const hd_dump *doc, const hd_dump *from, uint32_t object) {
    const hd_graph *g = hd_dump_graph(doc), *h = hd_dump_graph(from);
    hd_object a = hd_graph_object(g, object), b = hd_graph_object(h, object);
    assert_in_range(a.reference_count, 0, b.reference_count);
    for (uint32_t i = 0; i < a.reference_count; i++) {
        hd_str field = hd_graph_field(g, object, i);
        assert_int_equal(a.references[i], b.references[i]);
        assert_int_equal(hd_graph_index(g, object, i), hd_graph_index(h, object, i));
        assert_true(hd_v8_index(hd_dump_v8(doc), object, i) == hd_v8_index(hd_dump_v8(from), object, i));
        if (!hd_str_equal(field, hd_cstr("(name lost)"))) assert_true(hd_str_equal(field, hd_graph_field(h, object, i)));
        assert_true(hd_str_equal(hd_v8_edge_type(hd_dump_v8(doc), object, i),
                                 hd_v8_edge_type(hd_dump_v8(from), object, i)));
    }
    return a.reference_count;
}

/* Every node equals the node in the whole file, or its name is lost. Counts nodes, edges and names. */
static void nothing_is_invented(const hd_dump *doc, const hd_dump *from, uint64_t count[3]) {
    const hd_graph *g = hd_dump_graph(doc), *h = hd_dump_graph(from);
    memset(count, 0, 3 * sizeof *count);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    assert_in_range(hd_graph_object_count(g), 0, hd_graph_object_count(h));
    for (uint32_t o = 0; o < hd_graph_object_count(g); o++, count[0]++) {
        hd_str type = hd_v8_type(hd_dump_v8(doc), o);
        bool lost = hd_v8_name_lost(hd_dump_v8(doc), o), named = hd_str_equal(type, hd_cstr("object"))
            || hd_str_equal(type, hd_cstr("native"));
        assert_int_equal(hd_graph_object(g, o).id, hd_graph_object(h, o).id);
        assert_int_equal(hd_graph_object(g, o).size, hd_graph_object(h, o).size);
        assert_true(hd_str_equal(type, hd_v8_type(hd_dump_v8(from), o)));
        assert_int_equal(class_of(doc, o).described, !(lost && named));
        if (lost && named) assert_true(hd_str_equal(class_of(doc, o).name, hd_cstr("(name lost)")));
        else assert_true(hd_str_equal(class_of(doc, o).name, class_of(from, o).name));
        if (!lost) assert_true(hd_str_equal(hd_v8_name(hd_dump_v8(doc), o), hd_v8_name(hd_dump_v8(from), o)));
        count[1] += same_references(doc, from, o);
        count[2] += !lost;
    }
}

/* The written file can be read strictly, and has the same classes; lost names are strings in it. */
static void is_written(const hd_dump *doc) {
    hd_buffer out = { 0 };
    hd_dump *again;
    uint64_t count[3];
    assert_int_equal(hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    again = read_whole(out.data, out.size);
    for (uint32_t o = 0; o < hd_graph_object_count(hd_dump_graph(doc)); o++) {
        assert_false(hd_v8_name_lost(hd_dump_v8(again), o));
        assert_true(hd_str_equal(class_of(again, o).name, class_of(doc, o).name));
    }
    if (told.count) nothing_is_invented(doc, doc, count);
    hd_dump_free(again);
    hd_buffer_free(&out);
}

/* The file cut off after `size` bytes. */
static void cut_off(const hd_dump *from, const char *text, size_t size) {
    static const char ends[] = "the file ends ";
    hd_dump *doc, *none = NULL;
    hd_error err = { 0 }, strict = { 0 };
    uint64_t count[3];
    hd_status status = read_lenient(text, size, &doc, &err);
    assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(text, size), NULL, &none, &strict), HD_MALFORMED);
    if (size && (strict.offset != size || strncmp(strict.message, ends, sizeof ends - 1)))
        fail_msg("%u: offset %u: %s", (unsigned)size, (unsigned)strict.offset, strict.message);
    if (status) {
        assert_int_equal(status, HD_MALFORMED);
        assert_int_equal(told.count, 0);
        assert_string_equal(err.message, strict.message);
        return;
    }
    assert_int_equal(told.count, 1);
    assert_int_equal(hd_dump_warning_count(doc), 1);
    assert_int_equal(told.last.offset, size);
    assert_memory_equal(told.last.message, strict.message, strlen(strict.message));
    nothing_is_invented(doc, from, count);
    if (count[1] < hd_graph_summarize(hd_dump_graph(from)).references)
        assert_non_null(strstr(told.last.message, "retained sizes and paths are incomplete"));
    else assert_null(strstr(told.last.message, "incomplete"));
    if (count[2] < count[0]) assert_non_null(strstr(told.last.message, count[0] - count[2] == 1 ? " node" : " nodes"));
    is_written(doc);
    hd_dump_free(doc);
}

static void files_that_are_cut_off(void **state) {
    (void)state;
    hd_dump *from = read_whole(whole, sizeof whole - 1);
    /* the end of the last line may be missing */
    for (size_t n = 0; n < sizeof whole - 2; n++) cut_off(from, whole, n);
    hd_dump_free(from);
}

static void real_files_that_are_cut_off(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    hd_dump *from;
    load("node-small.heapsnapshot", &data, &size);
    from = read_whole(data, size);
    while (data[size - 1] != '}') size--;
    for (size_t n = 1000; n < size; n += 97) cut_off(from, (const char *)data, n);
    hd_dump_free(from);
    free(data);
}

static char *changed(const char *from, const char *to) {
    const char *at = strstr(whole, from);
    char *copy = malloc(sizeof whole + strlen(to));
    assert_non_null(at);
    sprintf(copy, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    return copy;
}

static void damage_is_reported_in_one_line(void **state) {
    (void)state;
    static const struct { const char *from, *to, *at, *strict, *lenient; uint64_t nodes, edges, names; } cases[] = {
        { "\"node_count\":7", "\"node_count\":9", "],\n\"edges\"", "node_count is 9, found 7", "", 7, 8, 7 },
        { "\"node_count\":7", "\"node_count\":5", "],\n\"edges\"", "node_count is 5, found 7", "", 7, 8, 7 },
        { "\"edge_count\":8", "\"edge_count\":80", "],\n\"trace", "edge_count is 80, found 8", "", 7, 8, 7 },
        { ",\n3,4,11,4294967296,1,\n2,1,13,8,1", "", "],\n\"edges\"", "node_count is 7, found 5",
          "; lost: 3 of 8 edges; retained sizes and paths are incomplete", 5, 5, 5 },
        { ",\n0,5,10]", "]", "],\n\"trace", "the nodes have 8 edges in total, but \"edges\" has 7",
          "; lost: 1 of 8 edges; retained sizes and paths are incomplete", 7, 7, 7 },
        { "\"value\"]", "\"value\",]", "]}", "a value expected, ']' found", "", 7, 8, 7 },
        { "\"Entry\",", "7,", "7,", "a string expected, '7' found", "; lost: the names of 4 nodes and 4 edges", 7, 8, 3 },
        { STRINGS, "[]", "[]}", "node 0: expected a name among 0 strings, found 0",
          "; lost: the names of 7 nodes and 5 edges", 7, 8, 0 },
        { "2,2,5,24", "2,8,5,24", "[\"\",", "node 2: expected a name among 8 strings, found 8", "; lost: the names of 1 node", 7, 8, 6 },
        { "2,2,5,24", "2,4294967297,5,24", "2,4294", "node 2: expected a name of 32 bits", "; lost: the names of 1 node", 7, 8, 6 },
        { "2,2,5,24", "5,2,5,24", "5,2,5", "node 2: expected a type below 5, found 5", "; lost: the names of 1 node", 7, 8, 6 },
        { "0,6,15", "0,6,16", "0,6,16", "edge 3: expected the start of a node",
          "; lost: 1 of 8 edges; retained sizes and paths are incomplete", 7, 7, 7 },
    };
    hd_dump *from = read_whole(whole, sizeof whole - 1), *doc = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = changed(cases[i].from, cases[i].to);
        uint64_t count[3];
        hd_error err = { 0 };
        assert_int_equal(hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), NULL, &doc, &err), HD_MALFORMED);
        if (!strstr(err.message, cases[i].strict) || strncmp(text + err.offset, cases[i].at, strlen(cases[i].at)))
            fail_msg("%u: at %u: %s", (unsigned)i, (unsigned)err.offset, err.message);
        assert_int_equal(read_lenient(text, strlen(text), &doc, NULL), HD_OK);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.last.offset, err.offset);
        assert_memory_equal(told.last.message, err.message, strlen(err.message));
        if (strcmp(told.last.message + strlen(err.message), cases[i].lenient)) fail_msg("%u: %s", (unsigned)i, told.last.message);
        if (!strstr(cases[i].from, "0,6")) nothing_is_invented(doc, from, count);
        else count[0] = 7, count[1] = hd_graph_summarize(hd_dump_graph(doc)).references, count[2] = 7;
        assert_true(count[0] == cases[i].nodes && count[1] == cases[i].edges && count[2] == cases[i].names);
        is_written(doc);
        hd_dump_free(doc);
        free(text);
    }
    hd_dump_free(from);
}

/* A lost name is not a different name: ids still identify nodes. */
static void lost_names_are_no_other_names(void **state) {
    (void)state;
    char *text = changed(STRINGS, "[]");
    hd_dump *from = read_whole(whole, sizeof whole - 1), *doc = NULL;
    hd_identity_change *c = NULL;
    assert_int_equal(read_lenient(text, strlen(text), &doc, NULL), HD_OK);
    for (int order = 0; order < 2; order++) {
        assert_int_equal(hd_v8_diff(hd_dump_v8(order ? doc : from), hd_dump_v8(order ? from : doc), NULL, NULL, &c,
                                    NULL), HD_OK);
        assert_false(c->by_chance);
        assert_true(c->common == 7 && c->renamed == 0 && c->kept == 7);
        hd_identity_change_free(c);
    }
    hd_dump_free(from), hd_dump_free(doc);
    free(text);
}

/* A failing allocation during repair is an error, never a smaller graph. */
static void memory_may_fail_on_the_way(void **state) {
    (void)state;
    hd__faults f = { 0 };
    char *text = changed("\"Entry\",", "7,");
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f), .lenient = true };
        hd_dump *doc = NULL;
        hd_status status = hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), &o, &doc, NULL);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        hd_dump_free(doc);
        assert_int_equal(f.live, 0);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_cut_off),
        cmocka_unit_test(real_files_that_are_cut_off),
        cmocka_unit_test(damage_is_reported_in_one_line),
        cmocka_unit_test(lost_names_are_no_other_names),
        cmocka_unit_test(memory_may_fail_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
