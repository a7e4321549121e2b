/* Writes any graph as a Dart snapshot, with all values that its file has for objects: strings, numbers, lengths,
   names, external sizes, identity hash codes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <locale.h>
#include <math.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "dart.h"
#include "load.h"

static hd_dump *read_dart(const hd_buffer *out) {
    hd_dump *doc = NULL;
    hd_error err;
    if (hd_read_as(&hd_format_dart, hd_in_memory(out->data, out->size), NULL, &doc,
                   &err)) fail_msg("%s, offset %llu", err.message, (unsigned long long)err.offset);
    return doc;
}

static hd_dump *written(const hd_graph *g, hd_values values) {
    hd_options options = { .values = &values };
    hd_buffer out = { 0 };
    hd_dump *doc;
    assert_int_equal(hd_dart_write_graph(g, hd_cstr("heap"), &options, hd_out_memory(&out), NULL), HD_OK);
    doc = read_dart(&out);
    hd_buffer_free(&out);
    return doc;
}

/* A V8 snapshot of strings and numbers, as V8 writes them with numeric values. Node 1 refers to all others. */
#define META                                                                                                      \
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],"           \
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\","      \
    "\"native\",\"synthetic\",\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\"],\"string\",\"number\"," \
    "\"number\",\"number\"],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\"," \
    "\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"]},"
enum { STRING = 2, OBJECT = 3, CLOSURE = 5, NUMBER = 7, NATIVE = 8, SYNTHETIC = 9, SYMBOL = 12, FIXED = 4 };

typedef struct snapshot {
    char nodes[4096], edges[4096], names[8192];
    int count, edge_count, name_count;
} snapshot;

static int name_of(snapshot *s, const char *json) {
    sprintf(s->names + strlen(s->names), "%s\"%s\"", s->name_count ? "," : "", json);
    return s->name_count++;
}

/* A node with up to one edge, to a node by number. */
static int node(snapshot *s, int type, const char *json, const char *edge, int to) {
    sprintf(s->nodes + strlen(s->nodes), "%s%d,%d,%d,%d,%d", s->count ? "," : "", type, name_of(s, json), 2 * s->count + 1,
            type == SYNTHETIC ? 0 : 16, edge != NULL);
    if (edge) sprintf(s->edges + strlen(s->edges), "%s3,%d,%d", s->edge_count++ ? "," : "", name_of(s, edge), 5 * to);
    return s->count++;
}

/* A number: a node with an edge "value" to the next node, a string with its digits. */
static int number(snapshot *s, const char *called, const char *spelled) {
    int n = node(s, NUMBER, called, "value", s->count + 1);
    node(s, STRING, spelled, NULL, 0);
    return n;
}

static hd_dump *read_snapshot(const snapshot *s) {
    char *text = malloc(32768);
    hd_dump *doc = NULL;
    hd_error err;
    sprintf(text, META "\"node_count\":%d,\"edge_count\":%d},\"nodes\":[%s],\"edges\":[%s],\"strings\":[%s]}", s->count,
            s->edge_count, s->nodes, s->edges, s->names);
    if (hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), NULL, &doc, &err)) fail_msg("%s", err.message);
    free(text);
    return doc;
}

static void is_string(const hd_dump *doc, int node, uint32_t tag, uint64_t length, const char *bytes, size_t size) {
    hd_dart_value v = hd_dart_data(hd_dump_dart(doc), (uint32_t)node + 1);
    assert_int_equal(v.tag, tag);
    assert_int_equal(v.value, length);
    assert_int_equal(v.text.len, size);
    assert_memory_equal(v.text.data, bytes, size);
}

static void strings_keep_their_text(void **state) {
    (void)state;
    snapshot s = { .count = 0 };
    hd_dump *v8;
    node(&s, SYNTHETIC, "", NULL, 0);
    int plain = node(&s, STRING, "hello", NULL, 0), empty = node(&s, STRING, "", NULL, 0);
    int latin = node(&s, STRING, "caf\\u00e9\\n\\u0000\xc3\xbf", NULL, 0);
    int wide = node(&s, STRING, "\\u20ac\\ud83c\\udf89a", NULL, 0), half = node(&s, STRING, "x\\ud83c", NULL, 0);
    int cut = node(&s, STRING, "abc", "length", s.count + 1);
    number(&s, "int", "5000");
    int text = node(&s, STRING, "abc", "length", s.count + 1); /* the "length" of a string makes it no number */
    node(&s, STRING, "5000", NULL, 0);
    v8 = read_snapshot(&s);
    hd_dump *doc = written(hd_dump_graph(v8), hd_v8_values(hd_dump_v8(v8)));
    is_string(doc, plain, HD_DART_LATIN1, 5, "hello", 5);
    is_string(doc, empty, HD_DART_LATIN1, 0, "", 0);
    is_string(doc, latin, HD_DART_LATIN1, 7, "caf\xe9\n\0\xff", 7);
    is_string(doc, wide, HD_DART_UTF16, 4, "\xac\x20\x3c\xd8\x89\xdf" "a", 8);
    is_string(doc, half, HD_DART_UTF16, 2, "x\0\x3c\xd8", 4);
    is_string(doc, cut, HD_DART_LATIN1, 5000, "abc", 3);
    is_string(doc, text, HD_DART_LATIN1, 3, "abc", 3);
    hd_dump_free(doc);
    hd_dump_free(v8);
}

static void numbers_keep_their_value(void **state) {
    (void)state;
    static const struct { const char *text; double value; } reals[] = {
        { "0.1", 0.1 }, { "-2.5", -2.5 }, { "-0", -0.0 }, { "5e-324", 5e-324 }, { "1.7976931348623157e+308", 1.7976931348623157e308 },
        { "1e+21", 1e21 }, { "123456789012345680000", 123456789012345680000.0 }, { "NaN", NAN }, { "Infinity", INFINITY },
        { "-Infinity", -INFINITY }
    };
    static const struct { const char *text; int64_t value; } whole[] = {
        { "0", 0 }, { "-1", -1 }, { "1073741823", 1073741823 }, { "-9007199254740991", -9007199254740991 }
    };
    static const char *const none[] = { "", "-", "x", "1x", "0x10", "1e", ".", "1.5.5", "\\u0000", "12\\u0000",
                                        "1111111111111111111111111111111111111111111111111111111111111111111111.5" };
    enum { REALS = sizeof reals / sizeof *reals, WHOLE = sizeof whole / sizeof *whole, NONE = sizeof none / sizeof *none };
    static const char *const locales[] = { "C", "de_DE.UTF-8", "fr_FR.UTF-8" };
    for (int k = 0; k < 3; k++) {
        snapshot s = { .count = 0 };
        int first[3];
        setlocale(LC_NUMERIC, locales[k]); /* locales that exist on this system */
        node(&s, SYNTHETIC, "", NULL, 0);
        first[0] = s.count;
        for (int i = 0; i < REALS; i++) number(&s, i % 2 ? "heap number" : reals[i].text, reals[i].text);
        first[1] = s.count;
        for (int i = 0; i < WHOLE; i++) number(&s, "smi number", whole[i].text);
        first[2] = s.count;
        for (int i = 0; i < NONE; i++) number(&s, "(number)", none[i]);
        hd_dump *v8 = read_snapshot(&s);
        hd_dump *doc = written(hd_dump_graph(v8), hd_v8_values(hd_dump_v8(v8)));
        for (int i = 0; i < REALS; i++) {
            hd_dart_value v = hd_dart_data(hd_dump_dart(doc), (uint32_t)(first[0] + 2 * i) + 1);
            assert_int_equal(v.tag, HD_DART_DOUBLE);
            if (isnan(reals[i].value)) assert_true(isnan(v.number));
            else assert_memory_equal(&v.number, &reals[i].value, 8);
        }
        for (int i = 0; i < WHOLE; i++) {
            hd_dart_value v = hd_dart_data(hd_dump_dart(doc), (uint32_t)(first[1] + 2 * i) + 1);
            assert_int_equal(v.tag, HD_DART_INTEGER);
            assert_int_equal((int64_t)v.value, whole[i].value);
        }
        for (int i = 0; i < NONE; i++)
            assert_int_equal(hd_dart_data(hd_dump_dart(doc), (uint32_t)(first[2] + 2 * i) + 1).tag, HD_DART_NO_DATA);
        hd_dump_free(doc);
        hd_dump_free(v8);
    }
    setlocale(LC_NUMERIC, "C");
}

static void names_and_lengths_go_with_them(void **state) {
    (void)state;
    snapshot s = { .count = 0 };
    node(&s, SYNTHETIC, "", NULL, 0);
    int function = node(&s, CLOSURE, "readAll", NULL, 0), plain = node(&s, OBJECT, "Cache", NULL, 0);
    int element = node(&s, NATIVE, "<li id=\\\"a\\\">", NULL, 0), symbol = node(&s, SYMBOL, "symbol", "name", s.count + 1);
    node(&s, STRING, "Symbol.iterator", NULL, 0);
    int array = node(&s, OBJECT, "Array", "length", s.count + 1);
    number(&s, "int", "12");
    int other = node(&s, OBJECT, "Box", "length", s.count + 1);
    number(&s, "int", "12");
    int null = node(&s, NATIVE, "null", NULL, 0), yes = node(&s, 0, "true", NULL, 0), no = node(&s, 0, "false", NULL, 0);
    hd_dump *v8 = read_snapshot(&s);
    hd_dump *doc = written(hd_dump_graph(v8), hd_v8_values(hd_dump_v8(v8)));
    is_string(doc, function, HD_DART_NAME, 0, "readAll", 7);
    is_string(doc, plain, HD_DART_NO_DATA, 0, "", 0);
    is_string(doc, element, HD_DART_NAME, 0, "<li id=\"a\">", 11);
    is_string(doc, symbol, HD_DART_NAME, 0, "Symbol.iterator", 15);
    is_string(doc, array, HD_DART_LENGTH, 12, "", 0);
    is_string(doc, other, HD_DART_NO_DATA, 0, "", 0);
    is_string(doc, null, HD_DART_NULL, 0, "", 0);
    is_string(doc, yes, HD_DART_BOOL, 1, "", 0);
    is_string(doc, no, HD_DART_BOOL, 0, "", 0);
    hd_dump_free(doc);
    hd_dump_free(v8);
}

/* Everything that a Dart snapshot has about its objects is in the snapshot written from its graph. */
static void dart_values_are_written_again(void **state) {
    (void)state;
    for (int identities = 0; identities < 2; identities++) {
        snap s = { 0 };
        hd_dump *dump = NULL;
        snap_sample(&s, identities);
        assert_int_equal(hd_read_memory(s.data, s.size, NULL, &dump, NULL), HD_OK);
        uint32_t n = (uint32_t)hd_graph_summarize(hd_dump_graph(dump)).objects;
        hd_dump *doc = written(hd_dump_graph(dump), hd_dump_values(dump));
        hd_dart_header_info h = hd_dart_header(hd_dump_dart(doc));
        uint64_t shallow = 0;
        assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).objects, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            hd_dart_value a = hd_dart_data(hd_dump_dart(dump), i), b = hd_dart_data(hd_dump_dart(doc), i + 1);
            assert_int_equal(a.tag, b.tag);
            assert_int_equal(a.value, b.value);
            assert_memory_equal(&a.number, &b.number, sizeof a.number);
            assert_true(hd_str_equal(a.text, b.text));
            assert_int_equal(hd_dart_shallow(hd_dump_dart(dump), i), hd_dart_shallow(hd_dump_dart(doc), i + 1));
            assert_int_equal(hd_graph_object(hd_dump_graph(dump), i).size,
                             hd_graph_object(hd_dump_graph(doc), i + 1).size);
            assert_int_equal(hd_dart_identity(hd_dump_dart(dump), i), hd_dart_identity(hd_dump_dart(doc), i + 1));
            shallow += hd_dart_shallow(hd_dump_dart(dump), i);
        }
        assert_int_equal(h.has_identity, identities);
        assert_int_equal(h.shallow_size, shallow);
        assert_true(h.capacity >= h.shallow_size);
        assert_int_equal(h.external_size, 1016);
        assert_int_equal(h.external_count, 2);
        hd_dump_free(doc);
        hd_dump_free(dump);
        free(s.data);
    }
}

/* A program's own values, all out of range. */
static void give(const void *document, uint32_t object, hd_value *value) {
    (void)document;
    value->kind = object;
    value->number = 1;
    value->text = hd_cstr("\xff\xc3(\xed\xa0\xbc\xf4\x90\x80\x80"); /* only the surrogate in this is a character */
    value->encoding = object == HD_VALUE_STRING ? HD_TEXT_UTF8 : 0;
    value->external = object % 2 ? UINT64_MAX : 3; /* a size beyond the object's is ignored */
    value->identity = UINT64_MAX;
}

static hd_graph *ten_objects(void) {
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true, .first_id = 1 }, NULL);
    assert_int_equal(hd_graph_add_class(g, &(hd_class){ .id = 1, .name = hd_cstr("A"), .described = true }, NULL, NULL), HD_OK);
    for (int i = 0; i < 10; i++) assert_int_equal(hd_graph_add_object(g, 0, 1, 8, NULL), HD_OK);
    assert_int_equal(hd_graph_add_root(g, 1, &(hd_root){ .container = HD_NONE }, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    return g;
}

static void values_of_a_program_are_written(void **state) {
    (void)state;
    static const uint32_t tags[] = { HD_DART_NO_DATA, HD_DART_NULL, HD_DART_BOOL, HD_DART_INTEGER, HD_DART_DOUBLE,
                                     HD_DART_UTF16, HD_DART_LENGTH, HD_DART_NAME, HD_DART_NO_DATA, HD_DART_NO_DATA };
    hd_graph *g = ten_objects();
    hd_dump *doc = written(g, (hd_values){ give, NULL });
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(hd_dart_data(hd_dump_dart(doc), i + 1).tag, tags[i]);
        assert_int_equal(hd_graph_object(hd_dump_graph(doc), i + 1).size, 8);
        assert_int_equal(hd_dart_shallow(hd_dump_dart(doc), i + 1), i % 2 ? 8 : 5);
        assert_true(hd_dart_identity(hd_dump_dart(doc), i + 1) == UINT64_MAX);
    }
    is_string(doc, HD_VALUE_STRING, HD_DART_UTF16, 8, "\xfd\xff\xfd\xff(\0\x3c\xd8\xfd\xff\xfd\xff\xfd\xff\xfd\xff", 16);
    hd_dump_free(doc);
    doc = written(g, (hd_values){ NULL, NULL });
    assert_false(hd_dart_header(hd_dump_dart(doc)).has_identity);
    hd_dump_free(doc);
    hd_graph_free(g);
}

typedef struct count { uint64_t left; } count;

static bool go_on(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return ((count *)user)->left-- != 0;
}

/* If any call fails, nothing leaks. */
static void writing_stops_anywhere(void **state) {
    (void)state;
    hd_graph *g = ten_objects();
    hd_values values = { give, NULL };
    hd__faults f = { 0 };
    hd_status status = HD_CANCELLED;
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f), .values = &values };
        hd_buffer out = { 0 };
        status = hd_dart_write_graph(g, hd_cstr("x"), &options, hd_out_memory(&out), NULL);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        hd_buffer_free(&out);
        assert_int_equal(f.live, 0);
    }
    status = HD_CANCELLED;
    for (uint64_t after = 0; status; after++) {
        count left = { after };
        hd_options options = { .values = &values, .progress = go_on, .progress_user = &left };
        hd_buffer out = { 0 };
        status = hd_dart_write_graph(g, hd_cstr("x"), &options, hd_out_memory(&out), NULL);
        if (status) assert_int_equal(status, HD_CANCELLED);
        else assert_true(after >= 4); /* the passes over the objects */
        hd_buffer_free(&out);
    }
    for (uint32_t at = 1; at < 3; at++) {
        hd__write_faults w = { .fail_at = at };
        hd_options options = { .values = &values };
        assert_int_equal(hd_dart_write_graph(g, hd_cstr("x"), &options, hd__faults_out(&w), NULL), at == 1 ? HD_IO : HD_OK);
        hd__write_faults_free(&w);
    }
    hd_graph_free(g);
}

/* A real snapshot of Chromium with numeric values: every string and number is equal. */
static void real_strings_and_numbers_are_equal(void **state) {
    (void)state;
    static const char *const files[] = { "chromium-small.heapsnapshot", "node-small.heapsnapshot" };
    for (int k = 0; k < 2; k++) {
        uint8_t *data = NULL;
        size_t size = 0;
        hd_dump *dump = NULL;
        uint32_t strings = 0, numbers = 0;
        load(files[k], &data, &size);
        assert_int_equal(hd_read_memory(data, size, NULL, &dump, NULL), HD_OK);
        const hd_graph *g = hd_dump_graph(dump);
        hd_dump *doc = written(g, hd_dump_values(dump));
        for (uint32_t o = 0; o < hd_graph_object_count(g); o++) {
            hd_dart_value v = hd_dart_data(hd_dump_dart(doc), o + 1);
            char text[4096];
            if (hd_str_equal(hd_v8_type(hd_dump_v8(dump), o), hd_cstr("string"))) {
                size_t n = hd_dart_utf8(&v, text, sizeof text);
                assert_true(v.tag == HD_DART_LATIN1 || v.tag == HD_DART_UTF16);
                assert_true(n <= sizeof text && hd_str_equal((hd_str){ text, n }, hd_v8_name(hd_dump_v8(dump), o)));
                strings++;
            } else if (hd_str_equal(hd_v8_type(hd_dump_v8(dump), o), hd_cstr("number"))) {
                numbers += v.tag == HD_DART_INTEGER || v.tag == HD_DART_DOUBLE;
            }
        }
        assert_true(strings > 50);
        assert_int_equal(numbers, k ? 0 : 8); /* without the edges there are no numbers */
        hd_dump_free(doc);
        hd_dump_free(dump);
        free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_keep_their_text),
        cmocka_unit_test(numbers_keep_their_value),
        cmocka_unit_test(names_and_lengths_go_with_them),
        cmocka_unit_test(dart_values_are_written_again),
        cmocka_unit_test(values_of_a_program_are_written),
        cmocka_unit_test(writing_stops_anywhere),
        cmocka_unit_test(real_strings_and_numbers_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
