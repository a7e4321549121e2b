/* Dart snapshots: their content, every spelling, every fault, and all queries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "dart.h"
#include "load.h"
#include "long.h"

static hd_dump *read_bytes(const void *data, size_t size, const hd_options *options) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_dart, hd_in_memory(data, size), options, &doc, &err)) fail_msg("%s", err.message);
    if (hd_graph_validate(hd_dump_graph(doc), &err)) fail_msg("%s", err.message);
    return doc;
}

static hd_dump *read_pieces(const void *data, size_t size, size_t piece) {
    hd__reads reads = { .data = data, .size = size, .chunk = piece };
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_dart, hd__faults_in(&reads), NULL, &doc, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_graph_validate(hd_dump_graph(doc), &err), HD_OK);
    return doc;
}

static void writes(const hd_dump *doc, const void *data, size_t size) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_dart_write(hd_dump_dart(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

static void keeps(const void *data, size_t size) {
    static const size_t pieces[] = { 0, 1, 7 };
    hd_dump *doc = read_bytes(data, size, NULL);
    writes(doc, data, size);
    assert_int_equal(hd_dump_warning_count(doc), 0);
    hd_dump_free(doc);
    for (size_t i = 0; i < 3; i++) {
        doc = read_pieces(data, size, pieces[i]);
        writes(doc, data, size);
        hd_dump_free(doc);
    }
}

static void is(hd_str s, const char *text) {
    if (!hd_str_equal(s, hd_cstr(text))) fail_msg("'%.*s', not '%s'", (int)s.len, s.data, text);
}

static void the_sample_has_these_values(void **state) {
    (void)state;
    snap s = { 0 };
    snap_sample(&s, true);
    hd_dump *doc = read_bytes(s.data, s.size, NULL);
    const hd_graph *g = hd_dump_graph(doc);
    hd_graph_summary sum = hd_graph_summarize(g);
    hd_dart_header_info h = hd_dart_header(hd_dump_dart(doc));
    assert_int_equal(h.flags, 1);
    is(h.name, "main");
    assert_int_equal(h.shallow_size, 1000);
    assert_int_equal(h.capacity, 4096);
    assert_int_equal(h.external_size, 1016);
    assert_int_equal(h.class_count, 5);
    assert_int_equal(h.reference_count, 20);
    assert_int_equal(h.object_count, 12);
    assert_int_equal(h.external_count, 2);
    assert_true(h.has_identity);
    assert_int_equal(sum.objects, 12);
    assert_int_equal(sum.references, 15);
    assert_int_equal(sum.roots, 1);
    assert_int_equal(sum.classes, 5);
    assert_int_equal(sum.missing_objects, 1);
    assert_int_equal(sum.missing_references, 2);
    assert_int_equal(sum.bytes, 1000 + 1016);

    static const uint64_t size[] = { 0, 32, 24, 16, 16, 12, 8, 0, 40, 300, 20, 532 };
    static const uint32_t class_of[] = { 1, 2, 4, 3, 3, 5, 2, 6, 4, 3, 4, 4 };
    static const uint32_t tag[] = { 0, 7, 0, 5, 5, 4, 3, 2, 8, 6, 1, 5 };
    static const uint64_t code[] = { 0, 0, 77, 0, 1073741823, 5, 0, 0, 6, 0, 7, 128 };
    for (uint32_t i = 0; i < 12; i++) {
        hd_object o = hd_graph_object(g, i);
        hd_dart_value d = hd_dart_data(hd_dump_dart(doc), i);
        assert_int_equal(o.id, i + 1);
        assert_int_equal(hd_graph_find(g, i + 1), i);
        assert_int_equal(o.class_index, class_of[i]);
        assert_int_equal(o.size, size[i] + (i == 8 ? 1000 : i == 2 ? 16 : 0));
        assert_int_equal(hd_dart_shallow(hd_dump_dart(doc), i), size[i]);
        assert_int_equal(hd_dart_identity(hd_dump_dart(doc), i), code[i]);
        assert_int_equal(d.tag, tag[i]);
        if (i == 1) assert_int_equal(d.value, 4);
        if (i == 3) is(d.text, "hello");
        if (i == 3) assert_int_equal(d.value, 5);
        if (i == 5) assert_true(d.number == -1.5);
        if (i == 6) assert_true((int64_t)d.value == -1);
        if (i == 7) assert_int_equal(d.value, 1);
        if (i == 8) is(d.text, "n\303\244h");
        if (i == 9) assert_int_equal(d.value, 200);
        if (i == 9) assert_int_equal(d.text.len, 6);
    }
    assert_int_equal(hd_graph_object(g, 0).references[2], 12); /* the sentinel for id 0 */
    assert_int_equal(hd_graph_object(g, 12).id, 0);
    assert_int_equal(hd_graph_find(g, 0), 12);
    assert_int_equal(hd_dart_data(hd_dump_dart(doc), 12).tag, 0);
    assert_int_equal(hd_dart_identity(hd_dump_dart(doc), 12), 0);
    assert_int_equal(hd_graph_object(g, 12).class_index, 0);
    assert_int_equal(hd_graph_object(g, 0).references[0], 1);
    is(hd_graph_field(g, 2, 0), "left");
    is(hd_graph_field(g, 2, 1), "");
    is(hd_graph_field(g, 2, 2), "right");
    is(hd_graph_field(g, 1, 0), "");

    is(hd_graph_class(g, 2).name, "_List");
    is(hd_graph_class(g, 2).scope, "dart.core");
    is(hd_graph_class(g, 4).scope, "package:app/node.dart");
    is(hd_graph_class(g, 6).name, "<no class>");
    assert_false(hd_graph_class(g, 6).described);
    hd_dart_class_info c = hd_dart_class(hd_dump_dart(doc), 4);
    hd_dart_field f;
    is(c.name, "Node");
    is(c.library, "");
    is(c.library_uri, "package:app/node.dart");
    assert_int_equal(c.field_count, 2);
    assert_true(hd_dart_next_field(&c, &f));
    is(f.name, "left");
    assert_int_equal(f.flags, 1);
    assert_true(hd_dart_next_field(&c, &f));
    assert_int_equal(f.index, 2);
    assert_false(hd_dart_next_field(&c, &f));
    assert_int_equal(hd_dart_class(hd_dump_dart(doc), 6).name.len, 0);
    assert_int_equal(hd_dart_class(hd_dump_dart(doc), 0).name.len, 0);

    assert_int_equal(hd_dart_external_count(hd_dump_dart(doc)), 2);
    assert_int_equal(hd_dart_external(hd_dump_dart(doc), 0).object, 8);
    assert_int_equal(hd_dart_external(hd_dump_dart(doc), 0).size, 1000);
    is(hd_dart_external(hd_dump_dart(doc), 0).name, "image");
    assert_int_equal(hd_dart_external(hd_dump_dart(doc), 1).size, 16);

    hd_total live;
    uint8_t reached[13];
    assert_int_equal(hd_graph_reach(g, NULL, 0, NULL, reached, &live, NULL), HD_OK);
    assert_int_equal(live.objects, 10);
    assert_int_equal(live.bytes, 1000 + 1016 - 552);
    assert_int_equal(reached[10] + reached[11], 0);
    hd_dominators *d;
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->retained[2], 24 + 16 + 8);
    assert_int_equal(d->retained[8], 40 + 1000 + 300);
    hd_dominators_free(d);
    hd_dump_free(doc);
    free(s.data);
}

static void all_spellings_are_kept(void **state) {
    (void)state;
    for (unsigned pad = 0; pad < 4; pad++)
        for (int identities = 0; identities < 2; identities++) {
            snap s = { .pad = pad };
            snap_sample(&s, identities);
            keeps(s.data, s.size);
            hd_dump *doc = read_bytes(s.data, s.size, NULL);
            assert_true(hd_dart_header(hd_dump_dart(doc)).has_identity == identities);
            assert_int_equal(hd_dart_identity(hd_dump_dart(doc), 2), identities ? 77 : 0);
            hd_dump_free(doc);
            free(s.data);
        }
    keeps("dartheap\0\0\0\0\0\0\0\0\0", 17);              /* empty */
    keeps("dartheap\0\0\0\0\0\0\200\0\0\0", 18);
    keeps("dartheap\0\0\0\0\0\0\0\1\0\0\0\0\0", 21);      /* one object, no class, no identities */
    keeps("dartheap\0\0\0\0\0\0\0\1\0\0\0\0\0\0", 22);    /* the same with identities */
    keeps("dartheap\0\0\0\0\0\0\0\1\0\0\0\0\1\0\5\1x", 25); /* external property of a missing object */
    keeps("dartheap\0\0\0\0\0\0\1\1\0\0\0\1\0\0\200\200\0", 25);
    {
        snap s = { 0 };          /* all numbers at their largest */
        hd_dart_header_info h = { .flags = UINT64_MAX, .shallow_size = UINT64_MAX, .capacity = UINT64_MAX,
                             .external_size = UINT64_MAX, .class_count = 1 };
        snap_header(&s, &h);
        snap_uleb(&s, UINT64_MAX);
        for (int i = 0; i < 4; i++) snap_str(&s, "");
        snap_uleb(&s, 1);
        snap_uleb(&s, UINT64_MAX);
        snap_uleb(&s, UINT64_MAX);
        snap_str(&s, "");
        snap_str(&s, "");
        snap_uleb(&s, 1);
        snap_uleb(&s, 3);
        snap_object(&s, 1, UINT64_MAX - 1 - UINT32_MAX, "\3\377\377\377\377\377\377\377\377\377\1", 11, 0, NULL);
        snap_object(&s, 1, UINT32_MAX - 1, "\5\377\377\377\377\377\377\377\377\377\1\0", 12, 0, NULL);
        snap_object(&s, 1, 0, "\4\1\2\3\4\5\6\7\200", 9, 0, NULL);
        snap_uleb(&s, 1);
        snap_uleb(&s, 2);
        snap_uleb(&s, 1);
        snap_str(&s, "");
        for (int i = 0; i < 3; i++) snap_uleb(&s, UINT64_MAX >> i * 20);
        keeps(s.data, s.size);
        hd_dump *doc = read_bytes(s.data, s.size, NULL);
        assert_true(hd_dart_identity(hd_dump_dart(doc), 0) == UINT64_MAX
                    && hd_dart_identity(hd_dump_dart(doc), 2) == UINT64_MAX >> 40);
        assert_true(hd_dart_shallow(hd_dump_dart(doc), 0) == UINT64_MAX - 1 - UINT32_MAX);
        assert_true(hd_dart_shallow(hd_dump_dart(doc), 1) == UINT32_MAX - 1);
        assert_true(hd_graph_object(hd_dump_graph(doc), 1).size == UINT32_MAX);
        hd_dump_free(doc);
        free(s.data);
    }
}

/* A snapshot of a real VM, cut down to 107 objects. */
static void a_real_snapshot_is_kept(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("small.dartheap", &data, &size);
    keeps(data, size);
    hd_dump *doc = read_bytes(data, size, NULL);
    hd_graph_summary s = hd_graph_summarize(hd_dump_graph(doc));
    uint32_t tags[9] = { 0 };
    static const uint32_t expected[] = { 17, 1, 3, 19, 8, 19, 12, 14, 14 };
    assert_int_equal(s.objects, 107);
    assert_int_equal(s.references, 1500);
    assert_int_equal(s.classes, 27);
    assert_int_equal(s.bytes, 200160);
    for (uint32_t i = 0; i < 107; i++) tags[hd_dart_data(hd_dump_dart(doc), i).tag]++;
    for (int i = 0; i < 9; i++) assert_int_equal(tags[i], expected[i]);
    hd_dump_free(doc);

    hd_dump *dump;
    assert_int_equal(hd_read_memory(data, size, NULL, &dump, NULL), HD_OK);
    memset(data, 0, size);       /* the dump borrows nothing from the input */
    assert_string_equal(hd_dump_format(dump)->name, "dart");
    assert_int_equal(hd_dump_heap_count(dump), 0);
    assert_null(hd_dump_netcf(dump));
    assert_ptr_equal(hd_dump_document(dump, &hd_format_dart), hd_dump_dart(dump));
    assert_non_null(hd_dump_graph(dump));
    is(hd_dart_header(hd_dump_dart(dump)).name, "main");
    assert_int_equal(hd_graph_validate(hd_dump_graph(dump), NULL), HD_OK);
    hd_dump_free(dump);
    free(data);
}

/* A snapshot of random content, with columns to compare. */
typedef struct model {
    uint32_t objects, externals;
    uint32_t class_id[200], first[201], tag[200];
    uint64_t size[200], value[200], code[200], references[4000], external[50][2];
    uint8_t text[200][80];
    size_t text_size[200];
    bool identities;
} model;

static void model_make(model *m, snap *s, uint64_t *seed) {
    uint32_t classes = (uint32_t)hd__test_below(seed, 5), n = 0;
    memset(m, 0, sizeof *m);
    m->objects = (uint32_t)hd__test_below(seed, 200);
    m->identities = hd__test_below(seed, 2);
    hd_dart_header_info h = { .name = hd_cstr("random"), .class_count = classes };
    snap_header(s, &h);
    for (uint32_t i = 0; i < classes; i++) snap_named(s, "Class", "library", "", "field", i % 2 ? "second" : NULL);
    snap body = { 0 };
    for (uint32_t i = 0; i < m->objects; i++) {
        hd_dart_value d = { 0 };
        body.pad = hd__test_below(seed, 6) ? 0 : (unsigned)hd__test_below(seed, 9);
        m->class_id[i] = (uint32_t)hd__test_below(seed, classes + 1);
        m->size[i] = hd__test_random(seed) >> (16 + hd__test_below(seed, 48));
        d.tag = m->tag[i] = (uint32_t)hd__test_below(seed, 9);
        m->value[i] = d.value = hd__test_random(seed) >> hd__test_below(seed, 64);
        m->text_size[i] = hd__test_below(seed, 40) * 2;
        for (size_t k = 0; k < m->text_size[i]; k++) m->text[i][k] = (uint8_t)hd__test_random(seed);
        d.text.data = (const char *)m->text[i];
        d.text.len = m->text_size[i];
        memcpy(&d.number, &m->value[i], 8);
        snap_uleb(&body, m->class_id[i]);
        snap_uleb(&body, m->size[i]);
        snap_data(&body, &d);
        m->first[i] = n;
        uint32_t count = (uint32_t)hd__test_below(seed, 20);
        snap_uleb(&body, count);
        for (uint32_t k = 0; k < count; k++) snap_uleb(&body, m->references[n++] = hd__test_below(seed, m->objects + 1));
    }
    m->first[m->objects] = n;
    snap_uleb(s, n);
    snap_uleb(s, m->objects);
    snap_bytes(s, body.data, body.size);
    free(body.data);
    m->externals = (uint32_t)hd__test_below(seed, 50);
    s->pad = (unsigned)hd__test_below(seed, 3);
    snap_uleb(s, m->externals);
    for (uint32_t i = 0; i < m->externals; i++) {
        snap_uleb(s, m->external[i][0] = hd__test_below(seed, m->objects + 1));
        snap_uleb(s, m->external[i][1] = hd__test_below(seed, 100000));
        snap_str(s, "x");
    }
    for (uint32_t i = 0; i < m->objects && m->identities; i++)
        snap_uleb(s, m->code[i] = hd__test_random(seed) >> hd__test_below(seed, 64));
}

static void model_compare(const model *m, const hd_dump *doc) {
    const hd_graph *g = hd_dump_graph(doc);
    assert_int_equal(hd_graph_summarize(g).objects, m->objects);
    for (uint32_t i = 0; i < m->objects; i++) {
        hd_object o = hd_graph_object(g, i);
        hd_dart_value d = hd_dart_data(hd_dump_dart(doc), i);
        uint64_t size = m->size[i];
        bool text = m->tag[i] == HD_DART_LATIN1 || m->tag[i] == HD_DART_UTF16 || m->tag[i] == HD_DART_NAME;
        bool value = m->tag[i] == HD_DART_BOOL || m->tag[i] == HD_DART_INTEGER ||
                     (m->tag[i] >= HD_DART_LATIN1 && m->tag[i] <= HD_DART_LENGTH);
        for (uint32_t k = 0; k < m->externals; k++) size += m->external[k][0] == i + 1 ? m->external[k][1] : 0;
        assert_true(o.size == size && hd_dart_shallow(hd_dump_dart(doc), i) == m->size[i]);
        assert_true(m->class_id[i] ? o.class_index == m->class_id[i] : !hd_graph_class(g, o.class_index).described);
        assert_int_equal(o.reference_count, m->first[i + 1] - m->first[i]);
        for (uint32_t k = 0; k < o.reference_count; k++)
            assert_int_equal(hd_graph_object(g, o.references[k]).id, m->references[m->first[i] + k]);
        assert_int_equal(d.tag, m->tag[i]);
        assert_true(d.value == (value ? m->value[i] : 0));
        assert_int_equal(d.text.len, text ? m->text_size[i] : 0);
        if (text) assert_memory_equal(d.text.data, m->text[i], d.text.len);
        if (d.tag == HD_DART_DOUBLE) assert_memory_equal(&d.number, &m->value[i], 8);
        assert_true(hd_dart_identity(hd_dump_dart(doc), i) == m->code[i]);
    }
}

/* A file may announce more references than it has, by any number. The number is kept, and no memory is reserved for
   it. */
static void slack_in_the_number_of_references_takes_no_memory(void **state) {
    (void)state;
    static const char head[] = "dartheap\0\0\0\0\0\1\0\1C\0\0\0\0", tail[] = "\2\1\10\0\1\2\1\10\0\0\0\5\6";
    static const char *const announced[] = { "\100", "\377\177", "\377\377\377\377\377\377\377\377\377\1" };
    for (size_t i = 0; i < 3; i++)
        for (int piece = 0; piece < 2; piece++) {
            uint8_t bytes[128];
            size_t n = sizeof head - 1, size = n + strlen(announced[i]) + sizeof tail - 1;
            memcpy(bytes, head, n);
            memcpy(bytes + n, announced[i], strlen(announced[i]));
            memcpy(bytes + n + strlen(announced[i]), tail, sizeof tail - 1);
            hd__reads reads = { .data = bytes, .size = size, .chunk = 1 };
            hd__faults f = { 0 };
            hd_options options = { .allocator = hd__faults_allocator(&f), .limits.max_memory = 150000 };
            hd_dump *doc = NULL;
            hd_error err = { 0 };
            if (hd_read_as(&hd_format_dart, piece ? hd__faults_in(&reads) : hd_in_memory(bytes, size), &options, &doc,
                           &err))
                fail_msg("%s", err.message);
            assert_int_equal(hd_dump_warning_count(doc), 0);
            assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).references, 1);
            assert_true(f.peak < 150000);
            hd_dump_free(doc);
            keeps(bytes, size);
        }
}

static void random_snapshots_are_read_and_kept(void **state) {
    (void)state;
    static model m;
    uint64_t seed = 6;
    for (int round = 0; round < 200; round++) {
        snap s = { 0 };
        model_make(&m, &s, &seed);
        keeps(s.data, s.size);
        hd_dump *doc = read_bytes(s.data, s.size, NULL);
        model_compare(&m, doc);
        hd_dump_free(doc);
        doc = read_pieces(s.data, s.size, 3);
        model_compare(&m, doc);
        hd_dump_free(doc);
        free(s.data);
    }
}

/* Longer than a window, than a block of references, and than the limit of a record elsewhere. */
static void large_things_come_in_pieces(void **state) {
    (void)state;
    snap s = { 0 };
    hd_dart_header_info h = { .class_count = 1 };
    char *long_text = malloc(300000);
    hd_dart_value d = { .tag = HD_DART_LATIN1, .value = 1000000 };
    memset(long_text, 'x', 300000);
    d.text.data = long_text;
    d.text.len = 300000;
    snap_header(&s, &h);
    snap_named(&s, "C", "", "", NULL, NULL);
    snap_uleb(&s, 200000);
    snap_uleb(&s, 3);
    snap_object(&s, 1, 8, "\0", 1, 0, NULL);
    snap_uleb(&s, 1);
    snap_uleb(&s, 16);
    snap_data(&s, &d);
    snap_uleb(&s, 200000);
    for (uint64_t i = 0; i < 200000; i++) snap_uleb(&s, i % 4);
    snap_object(&s, 1, 8, "\0", 1, 0, NULL);
    snap_uleb(&s, 0);
    keeps(s.data, s.size);
    for (size_t piece = 0; piece < 2; piece++) {
        hd__reads reads = { .data = s.data, .size = s.size, .chunk = piece ? 4999 : 0 };
        hd_in in = piece ? hd__faults_in(&reads) : hd_in_memory(s.data, s.size);
        hd_dart_reader *r;
        hd_dart_record record;
        uint64_t seen = 0, objects = 0, blocks = 0;
        assert_int_equal(hd_dart_open(in, NULL, &r, NULL), HD_OK);
        do {
            assert_int_equal(hd_dart_next(r, &record, NULL), HD_OK);
            objects += record.kind == 'o';
            if (record.kind == 'o' && record.id == 2) {
                assert_int_equal(record.data.text.len, 300000);
                assert_memory_equal(record.data.text.data, long_text, 300000);
                assert_int_equal(record.reference_count, 200000);
            }
            if (record.kind != 'o' && record.kind != 'r') continue;
            if (record.kind == 'r') assert_int_equal(record.id, 2);
            for (size_t i = 0; i < record.count; i++) assert_int_equal(record.references[i], (seen + i) % 4);
            seen += record.count;
            blocks++;
        } while (record.kind);
        assert_int_equal(objects, 3);
        assert_int_equal(seen, 200000);
        assert_true(blocks > 190);
        hd_dart_close(r);
    }
    free(long_text);
    free(s.data);
}

/* Records have the content and the offset that the document specifies. */
static void records_stream(void **state) {
    (void)state;
    snap s = { 0 };
    snap_sample(&s, true);
    for (size_t piece = 0; piece < 3; piece++) {
        hd__reads reads = { .data = s.data, .size = s.size, .chunk = piece };
        hd_in in = piece ? hd__faults_in(&reads) : hd_in_memory(s.data, s.size);
        hd_dart_reader *r;
        hd_dart_record record;
        char kinds[64] = "";
        size_t n = 0;
        uint64_t offset = 0;
        assert_int_equal(hd_dart_open(in, NULL, &r, NULL), HD_OK);
        do {
            assert_int_equal(hd_dart_next(r, &record, NULL), HD_OK);
            if (record.kind != 'r') kinds[n++] = record.kind;
            if (record.kind) assert_true(record.offset > offset);
            offset = record.offset;
            if (record.kind == 'c' && record.id == 4) is(record.described.library_uri, "package:app/node.dart");
            if (record.kind == 'o' && record.id == 9) is(record.data.text, "n\303\244h");
            if (record.kind == 'x' && record.id == 9) is(record.name, "image");
            if (record.kind == 'x' && record.id == 9) assert_int_equal(record.size, 1000);
            if (record.kind == 'i' && record.id == 3) assert_int_equal(record.identity, 77);
        } while (record.kind);
        assert_string_equal(kinds, "cccccooooooooooooxxiiiiiiiiiiii");
        assert_true(hd_dart_reader_header(r)->has_identity);
        is(hd_dart_reader_header(r)->name, "main");
        hd_dart_close(r);
    }
    free(s.data);
}

/* Bad input: the place, the message, and the result of lenient reading. ------------------------- */

typedef struct bad {
    const char *text;            /* of the file after "dartheap"; '|' marks the place of the fault */
    size_t size;
    const char *message;         /* starts with */
    uint32_t objects, warnings;  /* lenient */
} bad;
#define BAD(text, message, objects, warnings) { text, sizeof(text) - 1, message, objects, warnings }

/* Reading record by record ends with the same error at the same place. */
static void streams_to(hd_in in, hd__reads *reads, const hd_error *expected) {
    hd_dart_reader *r;
    hd_dart_record record;
    hd_error err = { 0 };
    hd_status status;
    reads->at = 0;
    assert_int_equal(hd_dart_open(in, NULL, &r, NULL), HD_OK);
    do status = hd_dart_next(r, &record, &err);
    while (!status && record.kind);
    hd_dart_close(r);
    assert_int_equal(status, expected->status);
    assert_int_equal(err.offset, expected->offset);
    assert_string_equal(err.message, expected->message);
}

static void bad_input_is_reported(void **state) {
    (void)state;
    /* flags, name, shallow, capacity, external size; class count 1: flags, name C, "", "", "", no fields;
       references 1, objects 2; object 1: class 1, size 8, no data, 1 reference to 2; object 2: class 1,
       size 8, no data, no reference; no external property */
#define HEAD "\0\0\0\0\0\1\0\1C\0\0\0\0"
    static const bad cases[] = {
        BAD("\0\0\0\377\377\377\377\377\377\377\377\377\2\0\0", "header: expected a number of at most ten bytes", 0, 1),
        BAD("|\200\200\200\200\200\200\200\200\200\200\0", "header: expected a number of at most ten bytes", 0, 1),
        BAD("\0|\5abc", "header: a string of 5 units announced, but 3 bytes are left", 0, 1),
        BAD("\0\0\0\0|", "header: the input ends too early", 0, 1),
        BAD("\0\0\0\0\0|\5\0\1C\0\0\0\0\1\2", "header: 5 classes announced, but 9 bytes are left", 0, 1),
        BAD("\0\0\0\0\0\1\0\1C\0\0\0\1\0\0|\4abc", "class 1: a string of 4 units announced, but 3", 0, 1),
        BAD("\0\0\0\0\0\1\0\1C\0\0\0\377|", "class 1: the input ends too early", 0, 1),
        BAD(HEAD "\1\200|", "counts: the input ends too early", 0, 1),
        BAD(HEAD "\1|\7\1\10\0\1\2\1\10\0\0\0", "counts: 7 objects announced, but 10 bytes are left", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2|\2\10\0\0\0", "object 2: expected a class up to 1, found 2", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1|\3\1\10\0\0\0", "object 1: expected a reference to an object up to 2, found 3", 2, 1),
        BAD(HEAD "\1\2\1\10\0|\2\2\1\1\10\0\0\0", "object 1: 2 references after 0, but 1 were announced", 2, 1),
        BAD(HEAD "\1\2\1\10\0|\1\2\1\10\0\1\0\0", NULL, 2, 1),
        BAD(HEAD "\7\2\1\10\0\1\2\1\10\0|\6\0\0", "object 2: 6 references announced, but 2 bytes are left", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10|\11\0\0", "object 2: expected data with a tag from 0 to 8, found tag 9", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\5\4|\4abc", "object 2: a string of 4 units announced, but 3", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\6\2|\2abc", "object 2: a string of 2 units announced, but 3", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\4abcd|", "object 2: the input ends too early", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0|\377\377\377\377\377\377\377\377\377\2", "object 2: expected a number of at most", 1, 1),
        BAD(HEAD "\1|\2\1\10\0\1\2", "counts: 2 objects announced, but 5 bytes are left", 1, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0|", "external properties: the input ends too early", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0|\2\1\1\0", "external properties: 2 external properties announced", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0\1|\3\1\0", "external property 1: expected an object up to 2, found 3", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0\1\1\1|\2a", "external property 1: a string of 2 units announced", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0\0\5|", "identity hash code of object 2: the input ends too early", 2, 1),
        BAD(HEAD "\1\2\1\10\0\1\2\1\10\0\0\0\5\6|\7", "end: expected the end of the input, found more", 2, 1),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mark = memchr(cases[i].text, '|', cases[i].size);
        size_t at = mark ? (size_t)(mark - cases[i].text) : 3, size = 8;
        uint8_t bytes[128] = "dartheap";
        for (size_t k = 0; k < cases[i].size; k++)
            if (!mark || k != at) bytes[size++] = (uint8_t)cases[i].text[k];
        if (!cases[i].message) { /* the second object has one reference too many */
            at = cases[i].size - 4;
        }
        for (int piece = 0; piece < 2; piece++) {
            hd__reads reads = { .data = bytes, .size = size, .chunk = 1 };
            hd_options lenient = { .lenient = true };
            hd_dump *doc = NULL;
            hd_error err = { 0 };
            hd_in in = piece ? hd__faults_in(&reads) : hd_in_memory(bytes, size);
            if (hd_read_as(&hd_format_dart, in, NULL, &doc, &err) != HD_MALFORMED)
                fail_msg("case %u: not malformed: %s", (unsigned)i, err.message);
            if (!piece && cases[i].message && strncmp(err.message, cases[i].message, strlen(cases[i].message)))
                fail_msg("case %u: '%s', not '%s'", (unsigned)i, err.message, cases[i].message);
            if (!piece && err.offset != 8 + at)
                fail_msg("case %u: offset %u, not %u: %s", (unsigned)i, (unsigned)err.offset, (unsigned)(8 + at), err.message);
            assert_true(err.offset <= size);
            reads.at = 0;
            streams_to(in, &reads, &err);
            reads.at = 0;
            if (hd_read_as(&hd_format_dart, in, &lenient, &doc, &err)) fail_msg("case %u: lenient: %s", (unsigned)i,
                                                                                err.message);
            assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
            if (hd_graph_summarize(hd_dump_graph(doc)).objects != cases[i].objects)
                fail_msg("case %u: %u objects", (unsigned)i,
                         (unsigned)hd_graph_summarize(hd_dump_graph(doc)).objects);
            if (hd_dump_warning_count(doc) != cases[i].warnings)
                fail_msg("case %u: %u warnings", (unsigned)i, (unsigned)hd_dump_warning_count(doc));
            hd_buffer out = { 0 };
            assert_int_equal(hd_dart_write(hd_dump_dart(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
            hd_dump_free(doc);
            keeps(out.data, out.size);
            hd_buffer_free(&out);
        }
    }
    hd_error err;
    hd_dump *doc;
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory("dartheat", 8), NULL, &doc, &err), HD_UNKNOWN_FORMAT);
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory("", 0), NULL, &doc, &err), HD_UNKNOWN_FORMAT);
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory("dart", 4), NULL, &doc, &err), HD_MALFORMED);
}

/* References that are out of range, or to missing objects, become references to the sentinel; so do classes. */
static void lenient_reading_repairs(void **state) {
    (void)state;
    static const char text[] = "dartheap" HEAD "\4\3\1\10\0\4\2\7\3\1\5\10\0\0\1\10\0\1";
    hd_options lenient = { .lenient = true };
    hd_dump *doc = read_bytes(text, sizeof text - 1, &lenient);
    const hd_graph *g = hd_dump_graph(doc);
    hd_object o = hd_graph_object(g, 0);
    assert_int_equal(hd_dump_warning_count(doc), 3);
    assert_int_equal(hd_graph_summarize(g).objects, 2);
    assert_int_equal(o.reference_count, 4);
    assert_int_equal(hd_graph_object(g, o.references[0]).id, 2);
    assert_int_equal(hd_graph_object(g, o.references[1]).id, 0); /* 7 of 3 */
    assert_int_equal(hd_graph_object(g, o.references[2]).id, 0); /* object 3 is missing */
    assert_int_equal(hd_graph_object(g, o.references[3]).id, 1);
    assert_false(hd_graph_class(g, hd_graph_object(g, 1).class_index).described);
    hd_dump_free(doc);
}

/* One object with most of its references out of range. Each repair must cost only its own bytes. If it cost all
   remaining bytes, this test would take hours. */
static void many_repairs_are_linear(void **state) {
    (void)state;
    enum { N = 2000000 };
    hd_options lenient = { .lenient = true };
    snap s = { 0 };
    snap_bytes(&s, "dartheap\0\0\0\0\0\0", 14);
    snap_uleb(&s, N);
    snap_uleb(&s, 1);
    snap_object(&s, 0, 0, "\0", 1, 0, NULL);
    s.size--;                    /* drop its number of references */
    snap_uleb(&s, N);
    for (uint32_t i = 0; i < N; i++) snap_uleb(&s, i % 5 == 4 ? 1 : 2);
    snap_uleb(&s, 0);
    hd_dump *doc = read_bytes(s.data, s.size, &lenient);
    assert_int_equal(hd_dump_warning_count(doc), N - N / 5);
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 0).references[3], 1); /* the sentinel for id 0 */
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 0).references[4], 0);
    hd_dump_free(doc);
    free(s.data);
}

static void sizes_that_overflow_are_reported(void **state) {
    (void)state;
    snap s = { 0 };
    hd_dart_header_info h = { .class_count = 0 };
    hd_options lenient = { .lenient = true };
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    snap_header(&s, &h);
    snap_uleb(&s, 0);
    snap_uleb(&s, 2);
    snap_object(&s, 0, UINT64_MAX - 10, "\0", 1, 0, NULL);
    size_t at = s.size;
    snap_object(&s, 0, 10, "\0", 1, 0, NULL);
    snap_uleb(&s, 1);
    snap_uleb(&s, 1);
    snap_uleb(&s, 10);
    snap_str(&s, "");
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory(s.data, s.size), NULL, &doc, &err), HD_OVERFLOW);
    assert_int_equal(err.offset, at);
    doc = read_bytes(s.data, s.size, &lenient);
    assert_int_equal(hd_dump_warning_count(doc), 2);
    assert_true(hd_graph_summarize(hd_dump_graph(doc)).bytes == UINT64_MAX - 10);
    assert_int_equal(hd_dart_external_count(hd_dump_dart(doc)), 0);
    hd_dump_free(doc);
    free(s.data);
}

/* Strict reading from memory and in pieces agree; so does lenient reading, which repairs something. */
static void try_bytes(const uint8_t *data, size_t size, bool pieces) {
    hd_status status[2], loose[2];
    uint64_t warnings[2] = { 0 };
    for (int i = 0; i < 1 + pieces; i++) {
        hd__reads reads = { .data = data, .size = size, .chunk = 1 + size % 100 };
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        hd_in in = i ? hd__faults_in(&reads) : hd_in_memory(data, size);
        status[i] = hd_read_as(&hd_format_dart, in, &options, &doc, &err);
        if (status[i]) assert_true(err.offset <= size && err.message[0]);
        if (!status[i]) writes(doc, data, size);
        hd_dump_free(doc);
        options.lenient = true;
        reads.at = 0;
        doc = NULL;
        loose[i] = hd_read_as(&hd_format_dart, in, &options, &doc, &err);
        if (!loose[i]) {
            hd_buffer out = { 0 };
            warnings[i] = hd_dump_warning_count(doc);
            assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
            assert_int_equal(hd_dart_write(hd_dump_dart(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
            if (size % 5 == 0 || pieces) {
                hd_dump *again = read_bytes(out.data, out.size, NULL);
                assert_int_equal(hd_graph_object_count(hd_dump_graph(again)),
                                 hd_graph_object_count(hd_dump_graph(doc)));
                hd_dump_free(again);
            }
            hd_buffer_free(&out);
        }
        hd_dump_free(doc);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
        assert_true(faults.peak < 64 * size + 262144);
    }
    if (pieces) {
        assert_int_equal(!status[0], !status[1]);
        assert_int_equal(loose[0], loose[1]);
        assert_int_equal(warnings[0], warnings[1]);
    }
    assert_true((status[0] == HD_OK) == (loose[0] == HD_OK && warnings[0] == 0));
}

/* The offset of a record, and the beginning of messages about errors in it. */
typedef struct place {
    uint64_t offset;
    char kind;
    uint64_t id;
} place;

static size_t places_of(const uint8_t *data, size_t size, place *places) {
    hd_dart_reader *r;
    hd_dart_record record;
    size_t n = 0;
    assert_int_equal(hd_dart_open(hd_in_memory(data, size), NULL, &r, NULL), HD_OK);
    do {
        assert_int_equal(hd_dart_next(r, &record, NULL), HD_OK);
        if (!record.kind || record.kind == 'r') continue;
        assert_true(n < 1000);
        places[n++] = (place){ record.offset, record.kind, record.id };
    } while (record.kind);
    hd_dart_close(r);
    return n;
}

/* The last place before an offset. */
static const place *place_at(const place *places, size_t n, uint64_t offset) {
    const place *found = NULL;
    for (size_t i = 0; i < n && places[i].offset < offset; i++) found = &places[i];
    return found;
}

/* A cut file fails at its end, or at the last count that announced more. The message names the record there. Reads in
   pieces: in memory the counts of classes and objects fail earlier. */
static void every_prefix_ends_in_the_record_that_was_cut(void **state) {
    (void)state;
    static place places[1000];
    uint8_t *data;
    size_t size, n, named = 0;
    load("small.dartheap", &data, &size);
    n = places_of(data, size, places);
    for (size_t cut = 8; cut < size; cut++) {
        hd__reads reads = { .data = data, .size = cut, .chunk = 500 };
        const place *in = place_at(places, n, cut);
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        char expected[64];
        if (!hd_read_as(&hd_format_dart, hd__faults_in(&reads), NULL, &doc, &err)) {
            hd_dump_free(doc);
            continue;
        }
        assert_int_equal(err.status, HD_MALFORMED);
        if (err.offset != cut && (err.offset < (in ? in->offset : 8) || !strstr(err.message, "announced")))
            fail_msg("%u: offset %u: %s", (unsigned)cut, (unsigned)err.offset, err.message);
        if (!in || err.message[0] == 'c' || (in->kind != 'o' && in->kind != 'i')) continue;
        snprintf(expected, sizeof expected, in->kind == 'o' ? "object %u: " : "identity hash code of object %u: ",
                 (unsigned)in->id);
        if (strncmp(err.message, expected, strlen(expected))) {
            /* cut between two records: names the next one */
            snprintf(expected, sizeof expected, in->kind == 'o' ? "object %u: " : "identity hash code of object %u: ",
                     (unsigned)in->id + 1);
            if (strncmp(err.message, "external propert", 16) && strncmp(err.message, expected, strlen(expected)))
                fail_msg("%u: %s, not %s", (unsigned)cut, err.message, expected);
            assert_int_equal(err.offset, cut);
        }
        named++;
    }
    assert_true(named > size / 2);
    free(data);
}

static void every_prefix_is_survived(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("small.dartheap", &data, &size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *copy = malloc(n + 1); /* so that sanitizers find a read past the end */
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        memcpy(copy, data, n);
        hd_status status = hd_read_as(&hd_format_dart, hd_in_memory(copy, n), NULL, &doc, &err);
        if (status) assert_true(status == (n ? HD_MALFORMED : HD_UNKNOWN_FORMAT) && err.offset <= n);
        /* the cut file ends like an older one, without identities */
        else assert_false(hd_dart_header(hd_dump_dart(doc)).has_identity);
        hd_dump_free(doc);
        if (n % 7 == 0 || n > size - 200) try_bytes(copy, n, n % 3 == 0);
        free(copy);
    }
    free(data);
}

static void every_byte_flipped_is_survived(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    uint64_t seed = 1;
    static place places[1000];
    size_t n;
    load("small.dartheap", &data, &size);
    n = places_of(data, size, places);
    for (size_t i = 0; i < size; i += (size_t)long_or_short(1, 4)) {
        uint8_t was = data[i];
        const place *in = place_at(places, n, i + 1);
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        data[i] = (uint8_t)(was ^ (i % 3 ? 1u << hd__test_below(&seed, 8) : 255u));
        try_bytes(data, size, i % 5 == 0);
        /* the content before the place is valid */
        if (hd_read_as(&hd_format_dart, hd_in_memory(data, size), NULL, &doc, &err) && in && err.offset < in->offset)
            fail_msg("%u: offset %u: %s", (unsigned)i, (unsigned)err.offset, err.message);
        hd_dump_free(doc);
        data[i] = was;
    }
    free(data);
}

/* Counts larger than the file cost no memory. */
static void counts_are_not_believed(void **state) {
    (void)state;
    static const char *const heads[] = { "\0\0\0\0\0", HEAD "\1", HEAD, HEAD "\1\1\1\10\0", HEAD "\0\1\1\10\0\0" };
    static const size_t sizes[] = { 5, 14, 13, 18, 19 };
    for (size_t i = 0; i < 5; i++)
        for (unsigned bits = 8; bits < 64; bits += 5) {
            snap s = { 0 };
            snap_bytes(&s, "dartheap", 8);
            snap_bytes(&s, heads[i], sizes[i]);
            snap_uleb(&s, (uint64_t)1 << bits);
            snap_bytes(&s, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 16);
            try_bytes(s.data, s.size, true);
            free(s.data);
        }
}

static void faults_are_survived(void **state) {
    (void)state;
    snap s = { .pad = 1 };
    snap_sample(&s, true);
    for (int pieces = 0; pieces < 2; pieces++) {
        hd__faults f = { 0 };
        HD__EACH_FAULT(f) {
            hd__reads reads = { .data = s.data, .size = s.size, .chunk = 50 };
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_in in = pieces ? hd__faults_in(&reads) : hd_in_memory(s.data, s.size);
            hd_dump *doc = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read_as(&hd_format_dart, in, &options, &doc, &err);
            if (f.failed && !f.fail_at) fail_msg("a fault too many");
            if (status) assert_true(status == HD_OUT_OF_MEMORY && err.status == status && !doc);
            else writes(doc, s.data, s.size); /* shrinking a column may fail */
            hd_dump_free(doc);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
    }
    hd_dump *doc = read_bytes(s.data, s.size, NULL);
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_string_table *strings = NULL;
        hd_length_table *lengths = NULL;
        hd_library_table *libraries = NULL;
        hd_identity_change *change = NULL;
        hd_status status[4] = { hd_dart_strings(hd_dump_dart(doc), NULL, &options, &strings, NULL),
                                hd_dart_lengths(hd_dump_dart(doc), NULL, &options, &lengths, NULL),
                                hd_dart_libraries(hd_dump_dart(doc), NULL, &options, &libraries, NULL),
                                hd_dart_diff(hd_dump_dart(doc), hd_dump_dart(doc), NULL, &options, &change, NULL) };
        for (int i = 0; i < 4; i++) assert_true(!status[i] || (status[i] == HD_OUT_OF_MEMORY && f.failed));
        assert_true(f.failed == (uint64_t)(status[0] || status[1] || status[2] || status[3]));
        hd_string_table_free(strings);
        hd_length_table_free(lengths);
        hd_library_table_free(libraries);
        hd_identity_change_free(change);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    for (uint64_t at = 1;; at++) {
        hd__write_faults w = { .fail_at = at };
        hd_error err = { 0 };
        hd_status status = hd_dart_write(hd_dump_dart(doc), NULL, hd__faults_out(&w), &err);
        assert_int_equal(w.after, 0);
        assert_true(status == (w.count >= at ? HD_IO : HD_OK) && err.status == status);
        hd__write_faults_free(&w);
        if (!status) break;
    }
    hd_dump_free(doc);
    for (uint64_t limit = 0; limit < 20000; limit += 97) {
        hd_options options = { .limits.max_memory = limit + 1 };
        hd_error err = { 0 };
        doc = NULL;
        hd_status status = hd_read_as(&hd_format_dart, hd_in_memory(s.data, s.size), &options, &doc, &err);
        assert_true(!status || status == HD_LIMIT);
        hd_dump_free(doc);
    }
    for (uint64_t most = 1; most < 21; most++) {
        hd_options options = { .limits.max_records = most };
        hd_error err = { 0 };
        doc = NULL;
        hd_status status = hd_read_as(&hd_format_dart, hd_in_memory(s.data, s.size), &options, &doc, &err);
        assert_int_equal(status, most < 15 ? HD_LIMIT : HD_OK); /* 15 references */
        if (most == 4) assert_string_equal(err.message, "class 5: more classes than max_records of 4");
        if (most == 11) assert_string_equal(err.message, "object 9: more references than max_records of 11");
        hd_dump_free(doc);
    }
    hd__reads reads = { .data = s.data, .size = s.size, .chunk = 10, .fail_at = 3 };
    assert_int_equal(hd_read_as(&hd_format_dart, hd__faults_in(&reads), NULL, &doc, NULL), HD_IO);
    free(s.data);
}

static bool never(void *user, uint64_t done, uint64_t total) { return (void)user, (void)done, (void)total, false; }

static void calls_can_be_cancelled(void **state) {
    (void)state;
    snap s = { 0 };
    snap_sample(&s, true);
    hd_options options = { .progress = never };
    hd_error err;
    hd_dump *doc = read_bytes(s.data, s.size, NULL), *none = NULL;
    hd_buffer out = { 0 };
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory(s.data, s.size), &options, &none, &err), HD_CANCELLED);
    assert_null(none);
    assert_int_equal(hd_dart_write(hd_dump_dart(doc), &options, hd_out_memory(&out), &err), HD_CANCELLED);
    assert_int_equal(hd_dart_write_graph(hd_dump_graph(doc), hd_cstr("x"), &options, hd_out_memory(&out), &err),
                     HD_CANCELLED);
    hd_buffer_free(&out);
    hd_dump_free(doc);
    free(s.data);
}

/* Questions. ------------------------------------------------------------------------------------ */

static void strings_are_counted(void **state) {
    (void)state;
    snap s = { 0 };
    snap_sample(&s, true);
    hd_dump *doc = read_bytes(s.data, s.size, NULL);
    hd_string_table *t;
    uint8_t reached[13];
    hd_total live;
    assert_int_equal(hd_dart_strings(hd_dump_dart(doc), NULL, NULL, &t, NULL), HD_OK);
    assert_int_equal(t->count, 3);
    assert_int_equal(t->objects, 4);
    assert_int_equal(t->bytes, 16 + 16 + 300 + 532);
    assert_int_equal(t->wasted, 16);
    is(t->rows[0].data.text, "hello");
    assert_int_equal(t->rows[0].objects, 2);
    assert_int_equal(t->rows[0].object, 3);
    assert_int_equal(t->rows[0].bytes, 32);
    assert_int_equal(t->rows[0].wasted, 16);
    assert_false(t->rows[0].cut);
    assert_int_equal(t->rows[1].object, 11);
    assert_int_equal(t->rows[2].object, 9);
    assert_true(t->rows[2].cut);
    hd_string_table_free(t);
    assert_int_equal(hd_graph_reach(hd_dump_graph(doc), NULL, 0, NULL, reached, &live, NULL), HD_OK);
    assert_int_equal(hd_dart_strings(hd_dump_dart(doc), reached, NULL, &t, NULL), HD_OK);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->bytes, 332);
    hd_string_table_free(t);

    hd_length_table *lengths;
    assert_int_equal(hd_dart_lengths(hd_dump_dart(doc), NULL, NULL, &lengths, NULL), HD_OK);
    assert_int_equal(lengths->count, 1);
    assert_int_equal(lengths->rows[0].length, 4);
    assert_int_equal(lengths->rows[0].bytes, 32);
    is(lengths->rows[0].name, "_List");
    hd_length_table_free(lengths);

    hd_library_table *libraries;
    assert_int_equal(hd_dart_libraries(hd_dump_dart(doc), reached, NULL, &libraries, NULL), HD_OK);
    assert_int_equal(libraries->count, 3);
    is(libraries->rows[0].uri, "package:app/node.dart");
    assert_int_equal(libraries->rows[0].bytes, 40 + 1040 + 20 + 532);
    assert_int_equal(libraries->rows[0].live_bytes, 40 + 1040);
    assert_int_equal(libraries->rows[0].live_objects, 2);
    assert_int_equal(libraries->rows[1].classes, 3);
    assert_int_equal(libraries->rows[1].objects, 6);
    is(libraries->rows[1].name, "dart.core");
    assert_int_equal(libraries->rows[2].objects, 2); /* the root, and the objects without a class */
    hd_library_table_free(libraries);
    hd_dump_free(doc);
    free(s.data);
}

/* Compared with a loop over all pairs. */
static void tables_agree_with_brute_force(void **state) {
    (void)state;
    static model m;
    uint64_t seed = 9;
    for (int round = 0; round < 60; round++) {
        snap s = { 0 };
        model_make(&m, &s, &seed);
        hd_dump *doc = read_bytes(s.data, s.size, NULL);
        hd_string_table *t;
        hd_length_table *lengths;
        hd_library_table *libraries;
        assert_int_equal(hd_dart_strings(hd_dump_dart(doc), NULL, NULL, &t, NULL), HD_OK);
        assert_int_equal(hd_dart_lengths(hd_dump_dart(doc), NULL, NULL, &lengths, NULL), HD_OK);
        assert_int_equal(hd_dart_libraries(hd_dump_dart(doc), NULL, NULL, &libraries, NULL), HD_OK);
        uint64_t objects = 0, bytes = 0, strings = 0;
        for (uint32_t i = 0; i < t->count; i++) {
            uint64_t n = 0, sum = 0, largest = 0;
            const hd_string_row *r = &t->rows[i];
            for (uint32_t k = 0; k < m.objects; k++) {
                hd_dart_value d = hd_dart_data(hd_dump_dart(doc), k);
                uint64_t size = hd_graph_object(hd_dump_graph(doc), k).size;
                if (d.tag != r->data.tag || d.value != r->data.value || !hd_str_equal(d.text, r->data.text)) continue;
                if (!n++) assert_int_equal(r->object, k);
                sum += size;
                largest = size > largest ? size : largest;
            }
            assert_true(r->objects == n && r->bytes == sum && r->wasted == sum - largest);
            if (i) assert_true(r[-1].wasted >= r->wasted);
            strings += n;
        }
        for (uint32_t k = 0; k < m.objects; k++)
            objects += m.tag[k] == HD_DART_LATIN1 || m.tag[k] == HD_DART_UTF16;
        assert_int_equal(strings, objects);
        assert_int_equal(t->objects, objects);
        objects = 0;
        for (uint32_t i = 0; i < lengths->count; i++) objects += lengths->rows[i].objects;
        for (uint32_t k = 0; k < m.objects; k++) objects -= m.tag[k] == HD_DART_LENGTH;
        assert_int_equal(objects, 0);
        for (uint32_t i = 0; i < libraries->count; i++) {
            objects += libraries->rows[i].objects;
            bytes += libraries->rows[i].bytes;
        }
        assert_true(objects == m.objects && bytes == hd_graph_summarize(hd_dump_graph(doc)).bytes);
        hd_string_table_free(t);
        hd_length_table_free(lengths);
        hd_library_table_free(libraries);
        hd_dump_free(doc);
        free(s.data);
    }
}

/* A snapshot of n objects, each with a class and a code, sized by their numbers. */
static hd_dump *with_codes(uint32_t n, const uint64_t (*what)[2], bool swapped) {
    snap s = { 0 };
    hd_dart_header_info h = { .class_count = 2 };
    snap_header(&s, &h);
    snap_named(&s, swapped ? "B" : "A", "l", "", NULL, NULL);
    snap_named(&s, swapped ? "A" : "B", "l", "", NULL, NULL);
    snap_uleb(&s, 0);
    snap_uleb(&s, n);
    for (uint32_t i = 0; i < n; i++)
        snap_object(&s, what[i][0] ? swapped ? 3 - what[i][0] : what[i][0] : 0, 1u << i % 31, "\0", 1, 0, NULL);
    snap_uleb(&s, 0);
    for (uint32_t i = 0; i < n; i++) snap_uleb(&s, what[i][1]);
    hd_dump *doc = read_bytes(s.data, s.size, NULL);
    free(s.data);
    return doc;
}

static void objects_are_followed_by_identity(void **state) {
    (void)state;
    static const uint64_t before[][2] = { { 1, 0 }, { 1, 5 }, { 2, 5 }, { 1, 7 }, { 1, 7 }, { 2, 9 }, { 1, (uint64_t)7 << 32 | 5 } };
    static const uint64_t after[][2] = { { 1, 7 }, { 2, 5 }, { 1, 7 }, { 1, 7 }, { 1, (uint64_t)7 << 32 | 5 }, { 2, 0 }, { 1, 8 } };
    static const uint32_t now[] = { HD_NONE, HD_NONE, 1, 0, 2, HD_NONE, 4 };
    uint8_t reached[2][8] = { { 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1 } };
    static const uint32_t then[] = { 3, 2, 4, HD_NONE, 6, HD_NONE, HD_NONE };
    hd_dump *a = with_codes(7, before, false), *b = with_codes(7, after, true), *none;
    hd_identity_change *c;
    hd_error err;
    assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(b), NULL, NULL, &c, NULL), HD_OK);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(c->now[i], now[i]);
        assert_int_equal(c->then[i], then[i]);
    }
    assert_int_equal(c->count, 2);
    is(c->rows[0].name, "A");
    assert_int_equal(c->rows[0].objects[0], 4);
    assert_int_equal(c->rows[0].objects[1], 5);
    assert_int_equal(c->rows[0].bytes[0], 2 + 8 + 16 + 64);
    assert_int_equal(c->rows[0].kept, 3);
    assert_int_equal(c->rows[0].kept_bytes[0], 8 + 16 + 64);
    assert_int_equal(c->rows[0].kept_bytes[1], 1 + 4 + 16);
    is(c->rows[1].name, "B");
    assert_int_equal(c->rows[1].kept, 1);
    assert_int_equal(c->kept, 4);
    assert_false(c->by_chance);
    hd_identity_change_free(c);
    reached[0][3] = reached[1][1] = 0; /* one of three equal objects; the object that was 2 in the other snapshot */
    assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(b),
                                  (const uint8_t *const[]){ reached[0], reached[1] }, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->now[2], HD_NONE);
    assert_int_equal(c->now[3], HD_NONE);
    assert_int_equal(c->now[4], 0);
    assert_int_equal(c->kept, 2);
    hd_identity_change_free(c);
    hd_dump_free(b);
    none = read_bytes("dartheap\0\0\0\0\0\0\0\0\0", 17, NULL);
    assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(none), NULL, NULL, &c, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "the snapshot after has no identity hash codes");
    hd_dump_free(none);
    hd_dump_free(a);
}

static void objects_of_no_class_have_its_name(void **state) {
    (void)state;
    static const uint64_t before[][2] = { { 0, 5 } }, after[][2] = { { 0, 5 }, { 0, 7 } };
    hd_dump *a = with_codes(1, before, false), *b = with_codes(2, after, false);
    hd_graph_change *classes;
    hd_identity_change *c;
    assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(b), NULL, NULL, &c, NULL), HD_OK);
    assert_int_equal(hd_graph_diff(hd_dump_graph(a), hd_dump_graph(b), NULL, NULL, &classes, NULL), HD_OK);
    assert_true(c->count == 1 && classes->count == 1);
    is(c->rows[0].name, "<no class>");
    is(classes->rows[0].name, "<no class>");
    assert_int_equal(c->rows[0].kept, 1);
    hd_identity_change_free(c), hd_graph_change_free(classes);
    hd_dump_free(a), hd_dump_free(b);
}

/* Another process has other codes: the few equal codes are chance, and mean nothing. */
static void snapshots_of_two_processes_are_reported(void **state) {
    (void)state;
    enum { N = 640 };
    for (uint32_t same = 0; same <= N; same += same < 12 ? 3 : N - 12) {
        static uint64_t codes[2][N][2];
        hd_identity_change *c;
        for (uint32_t i = 0; i < N; i++) {
            codes[0][i][0] = codes[1][i][0] = 1 + i % 2;
            codes[0][i][1] = 1000 + i;
            codes[1][i][1] = i < same ? 1000 + i : 5000 + i;
        }
        hd_dump *a = with_codes(N, (const uint64_t(*)[2])codes[0], false);
        hd_dump *b = with_codes(N, (const uint64_t(*)[2])codes[1], false);
        assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(b), NULL, NULL, &c, NULL), HD_OK);
        assert_int_equal(c->kept, same);
        assert_int_equal(c->by_chance, same < N / 64);
        hd_identity_change_free(c);
        uint8_t none[N] = { 0 }; /* by_chance does not depend on reachability */
        assert_int_equal(hd_dart_diff(hd_dump_dart(a), hd_dump_dart(b), (const uint8_t *const[]){ none, none }, NULL,
                                      &c, NULL), HD_OK);
        assert_int_equal(c->kept, 0);
        assert_int_equal(c->by_chance, same < N / 64);
        hd_identity_change_free(c);
        hd_dump_free(a);
        hd_dump_free(b);
    }
}

/* A class with fields named by `fields`, which ends with NULL, at their references. */
static void class_with(snap *s, const char *name, const char *library, const char *uri, const char *const *fields,
                       bool backward) {
    uint64_t n = 0;
    while (fields && fields[n]) n++;
    snap_uleb(s, 0);
    snap_str(s, name);
    snap_str(s, library);
    snap_str(s, uri);
    snap_str(s, "");
    snap_uleb(s, n);
    for (uint64_t i = 0; i < n; i++) {
        snap_uleb(s, 0);
        snap_uleb(s, backward ? n - 1 - i : i);
        snap_str(s, fields[i]);
        snap_str(s, "");
    }
}

static void object_of(snap *s, uint64_t class_id, size_t n, const uint64_t *references, bool backward) {
    uint64_t order[8];
    for (size_t i = 0; i < n; i++) order[backward ? n - 1 - i : i] = references[i];
    snap_object(s, class_id, 8, "\0", 1, n, order);
}
#define OBJECT(class_id, ...) object_of(&s, class_id, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, \
                                        (const uint64_t[]){ __VA_ARGS__ }, backward)

/* Weak fields of the VM's own classes do not keep objects alive. The class gives the fields' positions; else they
   have the VM's order. */
static void weak_references_hold_nothing(void **state) {
    (void)state;
    static const char *const reference[] = { "target_", "type_arguments_", NULL }, *const property[] = { "key_", "value_", NULL };
    static const char *const entry[] = { "value_", "detach_", "token_", "finalizer_", "next_", NULL }, *const array[] = { "length_", NULL };
    static const char alive[] = "11010010101111101111110"; /* by object */
    for (int tells = 0; tells < 3; tells++) {
        bool backward = tells == 2, told = tells > 0;
        snap s = { 0 };
        hd_dart_header_info h = { .name = hd_cstr("weak"), .class_count = 8 };
        hd_dominators *d = NULL;
        uint8_t reached[32];
        hd_total total;
        snap_header(&s, &h);
        class_with(&s, "Root", "", "", NULL, false);
        class_with(&s, "_WeakReference", "dart.core", tells ? "dart:core" : "", told ? reference : NULL, backward);
        class_with(&s, "Foo", "app", "package:app/a.dart", NULL, false);
        class_with(&s, "_WeakProperty", "dart.core", "dart:core", told ? property : NULL, backward);
        class_with(&s, "FinalizerEntry", "dart._internal", "dart:_internal", told ? entry : NULL, backward);
        class_with(&s, "WeakArray", "", "", told ? array : NULL, false);
        class_with(&s, "_WeakReference", "dart.core", "package:app/a.dart", told ? reference : NULL, backward);
        class_with(&s, "WeakArray", "app", "", told ? array : NULL, false);
        snap_uleb(&s, 32);
        snap_uleb(&s, 23);
        object_of(&s, 1, 8, (const uint64_t[]){ 2, 4, 7, 9, 11, 13, 14, 20 }, false);
        OBJECT(2, 3, 0);                    /* 2: a weak reference to 3 */
        object_of(&s, 3, 0, NULL, false);
        OBJECT(4, 5, 6);                    /* 4: an ephemeron; nothing else holds its key */
        object_of(&s, 3, 0, NULL, false);
        object_of(&s, 3, 0, NULL, false);
        OBJECT(5, 8, 8, 15, 16, 17);        /* 7: holds 15, and holds 17 like its own value */
        object_of(&s, 3, 0, NULL, false);
        object_of(&s, 6, 3, (const uint64_t[]){ 12, 10, 23 }, false);
        object_of(&s, 3, 0, NULL, false);   /* 10: in a weak array */
        OBJECT(7, 12, 0);                   /* 11: of the program's own class, which holds 12 */
        object_of(&s, 3, 0, NULL, false);
        object_of(&s, 3, 0, NULL, false);   /* 13: a live key */
        OBJECT(4, 13, 18);
        object_of(&s, 3, 0, NULL, false);
        object_of(&s, 3, 0, NULL, false);   /* 16 */
        OBJECT(5, 16, 0, 0, 0, 19);
        object_of(&s, 3, 0, NULL, false);   /* 18: held by 13 */
        object_of(&s, 8, 1, (const uint64_t[]){ 22 }, false); /* 19: not a class of the VM */
        OBJECT(4, 0, 21);                   /* 20: its key is missing */
        object_of(&s, 3, 0, NULL, false);
        object_of(&s, 3, 0, NULL, false);   /* 22 */
        object_of(&s, 3, 0, NULL, false);   /* 23: also in the weak array */
        snap_uleb(&s, 0);
        hd_dump *doc = read_bytes(s.data, s.size, NULL);
        const hd_graph *g = hd_dump_graph(doc);
        keeps(s.data, s.size);
        assert_int_equal(hd_graph_summarize(g).references, 32);
        assert_int_equal(hd_graph_summarize(g).weak_references, 1 + 2 * 2 + 2 * 3 + 2);
        assert_int_equal(hd_graph_reach(g, NULL, 0, NULL, reached, &total, NULL), HD_OK);
        assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
        for (uint32_t i = 0; i < 23; i++)
            if (reached[i] != (uint8_t)(alive[i] - '0') || (d->position[i] != HD_NONE) != reached[i])
                fail_msg("object %u is %s", i + 1, reached[i] ? "alive" : "garbage");
        assert_int_equal(d->parent[17], 12);
        assert_int_equal(d->retained[12], 16);
        assert_int_equal(d->retained[13], 8);
        hd_object o = hd_graph_object(g, 1);
        assert_int_equal(o.kinds[backward ? 1 : 0], HD_REFERENCE_WEAK);
        assert_int_equal(o.references[backward ? 1 : 0], 2);
        hd_dominators_free(d);
        hd_dump_free(doc);
        free(s.data);
    }
}

static void count_warning(void *user, const hd_error *warning) {
    ++*(int *)user;
    assert_string_equal(warning->message,
                        "4 weak references are left out; values of ephemerons become references of their keys");
}

static void count_names(void *user, const hd_error *warning) {
    ++*(int *)user;
    assert_int_equal(warning->status, HD_UNSUPPORTED);
    assert_string_equal(warning->message, "names of single references are left out: only classes can name fields");
}

static void dropped_names_of_single_references_are_reported(void **state) {
    (void)state;
    for (int named = 0; named < 2; named++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true, .first_id = 1 }, NULL);
        hd_class c = { .id = 1, .name = hd_cstr("A"), .described = true };
        hd_buffer out = { 0 };
        int warnings = 0;
        hd_options options = { .warning = count_names, .warning_user = &warnings };
        assert_int_equal(hd_graph_add_class(g, &c, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_add_field(g, 1, 0, hd_cstr("next"), NULL), HD_OK);
        assert_int_equal(hd_graph_add_object(g, 0, 1, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ 1, 1 }, 2, NULL), HD_OK);
        if (named) {
            assert_int_equal(hd_graph_add_name(g, hd_cstr("self"), NULL, NULL), HD_OK);
            assert_int_equal(hd_graph_set_name(g, 0, 1, 0, NULL), HD_OK);
        }
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_dart_write_graph(g, hd_cstr("x"), &options, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(warnings, named);
        hd_buffer_free(&out);
        hd_graph_free(g);
    }
}

/* A file without weak references reports that, and keeps the same objects alive. */
static void writers_keep_live_objects_alive(void **state) {
    (void)state;
    for (int dart = 0; dart < 2; dart++) {
        static const uint64_t references[][3] = { { 2, 3, 4 }, { 3, 5, 3 }, { 6, 0, 0 }, { 7, 0, 0 } };
        hd_root root = { .kind = HD_ROOT_LOCAL, .container = HD_NONE };
        hd_class c = { .id = 1, .name = hd_cstr("A"), .scope = hd_cstr(""), .described = true };
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true, .first_id = 1 }, NULL);
        hd_dominators *d, *e;
        hd_buffer out = { 0 };
        hd_dump *doc = NULL;
        hd_dump *netcf = NULL;
        int warnings = 0;
        hd_options options = { .warning = count_warning, .warning_user = &warnings };
        assert_int_equal(hd_graph_add_class(g, &c, NULL, NULL), HD_OK);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(hd_graph_add_object(g, 0, 1, (uint64_t)1 << i, NULL), HD_OK);
            if (i < 4) assert_int_equal(hd_graph_add_references(g, references[i], i < 2 ? 3 : 1, NULL), HD_OK);
            if (i == 1) assert_int_equal(hd_graph_set_kind(g, (uint32_t)i, 0, HD_REFERENCE_KEY, NULL), HD_OK);
            if (i == 1) assert_int_equal(hd_graph_set_kind(g, (uint32_t)i, 1, HD_REFERENCE_VALUE, NULL), HD_OK);
            if (i == 2 || i == 3) assert_int_equal(hd_graph_set_kind(g, (uint32_t)i, 0, HD_REFERENCE_WEAK, NULL), HD_OK);
        }
        assert_int_equal(hd_graph_add_root(g, 1, &root, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(dart ? hd_dart_write_graph(g, hd_cstr("x"), &options, hd_out_memory(&out), NULL)
                              : hd_netcf_write_graph(g, NULL, &options, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(warnings, 1);
        if (dart) doc = read_bytes(out.data, out.size, NULL);
        else assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(out.data, out.size), NULL, &netcf, NULL),
                              HD_OK);
        const hd_graph *h = dart ? hd_dump_graph(doc) : hd_dump_graph(netcf);
        assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
        assert_int_equal(hd_graph_dominators(h, NULL, &e, NULL), HD_OK);
        assert_int_equal(d->bytes, 1 + 2 + 4 + 8 + 16);
        for (uint32_t i = 0; i < 7; i++) assert_int_equal(d->retained[i], e->retained[i + (dart ? 1 : 0)]);
        hd_dominators_free(d);
        hd_dominators_free(e);
        hd_dump_free(doc);
        hd_dump_free(netcf);
        hd_buffer_free(&out);
        hd_graph_free(g);
    }
}

static void text_becomes_utf8(void **state) {
    (void)state;
    char out[32];
    hd_dart_value d = { .tag = HD_DART_LATIN1 };
    d.text.data = "a\344\377";
    d.text.len = 3;
    assert_int_equal(hd_dart_utf8(&d, out, sizeof out), 5);
    assert_memory_equal(out, "a\303\244\303\277", 5);
    assert_int_equal(hd_dart_utf8(&d, out, 0), 5);
    memset(out, '.', sizeof out);
    assert_int_equal(hd_dart_utf8(&d, out, 2), 5); /* only whole characters */
    assert_memory_equal(out, "a.", 2);
    d.tag = HD_DART_UTF16;
    d.text.data = "\254\40\74\330\211\337a\0\74\330"; /* U+20AC, U+1F389, a, half a pair */
    d.text.len = 10;
    assert_int_equal(hd_dart_utf8(&d, out, sizeof out), 11);
    assert_memory_equal(out, "\342\202\254\360\237\216\211a\355\240\274", 11);
    d.tag = HD_DART_NAME;
    d.text = hd_cstr("n\303\244h");
    assert_int_equal(hd_dart_utf8(&d, out, sizeof out), 4);
    assert_memory_equal(out, "n\303\244h", 4);
    assert_int_equal(hd_dart_utf8(&d, out, 2), 4);
    assert_string_equal(hd_dart_tag_name(HD_DART_UTF16), "utf16");
    assert_string_equal(hd_dart_tag_name(9), "unknown");
}

/* Another format's graph as a snapshot: the same objects hold the same bytes. */
static void other_graphs_become_snapshots(void **state) {
    (void)state;
    static const char text[] = "a 2 x 0\nt 1 List\nt 2 Node\no 10 1 100 20 30 99\no 20 2 20 30\no 30 2 8\no 40 1 4 10\n"
                               "r 10 1 0\nr 40 1 2\nr 20 4 0 1\nr 77 0 0\nc x 0\n";
    hd_dump *from;
    hd_dominators *d, *e;
    hd_buffer out = { 0 };
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, sizeof text - 1), NULL, &from, NULL), HD_OK);
    const hd_graph *g = hd_dump_graph(from);
    assert_int_equal(hd_dart_write_graph(g, hd_cstr("x"), NULL, hd_out_memory(&out), NULL), HD_OK);
    hd_dump *doc = read_bytes(out.data, out.size, NULL);
    const hd_graph *h = hd_dump_graph(doc);
    keeps(out.data, out.size);
    assert_int_equal(hd_graph_summarize(h).objects, 5);
    assert_int_equal(hd_graph_object(h, 0).reference_count, 3); /* without the weak reference */
    is(hd_graph_class(h, hd_graph_object(h, 0).class_index).name, "Root");
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    assert_int_equal(hd_graph_dominators(h, NULL, &e, NULL), HD_OK);
    assert_int_equal(d->bytes, e->bytes);
    for (uint32_t i = 0; i < 4; i++) {
        hd_object o = hd_graph_object(g, i), p = hd_graph_object(h, i + 1);
        assert_true(hd_str_equal(hd_graph_class(g, o.class_index).name, hd_graph_class(h, p.class_index).name));
        assert_true(o.size == p.size && o.reference_count == p.reference_count);
        assert_int_equal(d->retained[i], e->retained[i + 1]);
    }
    hd_dominators_free(d);
    hd_dominators_free(e);
    hd_dump_free(doc);
    hd_buffer_free(&out);
    hd_dump_free(from);

    snap s = { 0 };              /* fields and libraries are written, too */
    snap_sample(&s, false);
    doc = read_bytes(s.data, s.size, NULL);
    assert_int_equal(hd_dart_write_graph(hd_dump_graph(doc), hd_cstr("again"), NULL, hd_out_memory(&out), NULL),
                     HD_OK);
    hd_dump *again = read_bytes(out.data, out.size, NULL);
    is(hd_dart_header(hd_dump_dart(again)).name, "again");
    is(hd_graph_field(hd_dump_graph(again), 3, 2), "right");
    is(hd_graph_class(hd_dump_graph(again), hd_graph_object(hd_dump_graph(again), 3).class_index).scope,
       "package:app/node.dart");
    hd_dump_free(again);
    hd_dump_free(doc);
    hd_buffer_free(&out);
    free(s.data);
}

static void snapshots_can_be_repeated(void **state) {
    (void)state;
    snap s = { 0 };
    hd_buffer out = { 0 };
    snap_sample(&s, true);
    dart_repeat(s.data, s.size, 3, hd_out_memory(&out));
    keeps(out.data, out.size);
    hd_dump *doc = read_bytes(out.data, out.size, NULL);
    hd_total live;
    assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).objects, 36);
    assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).bytes, 3 * 2016);
    assert_int_equal(hd_graph_reach(hd_dump_graph(doc), NULL, 0, NULL, NULL, &live, NULL), HD_OK);
    assert_int_equal(live.objects, 30);
    hd_dump_free(doc);
    hd_buffer_free(&out);
    free(s.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_has_these_values),
        cmocka_unit_test(all_spellings_are_kept),
        cmocka_unit_test(a_real_snapshot_is_kept),
        cmocka_unit_test(slack_in_the_number_of_references_takes_no_memory),
        cmocka_unit_test(random_snapshots_are_read_and_kept),
        cmocka_unit_test(large_things_come_in_pieces),
        cmocka_unit_test(records_stream),
        cmocka_unit_test(bad_input_is_reported),
        cmocka_unit_test(lenient_reading_repairs),
        cmocka_unit_test(many_repairs_are_linear),
        cmocka_unit_test(sizes_that_overflow_are_reported),
        cmocka_unit_test(every_prefix_is_survived),
        cmocka_unit_test(every_prefix_ends_in_the_record_that_was_cut),
        cmocka_unit_test(every_byte_flipped_is_survived),
        cmocka_unit_test(counts_are_not_believed),
        cmocka_unit_test(faults_are_survived),
        cmocka_unit_test(calls_can_be_cancelled),
        cmocka_unit_test(strings_are_counted),
        cmocka_unit_test(tables_agree_with_brute_force),
        cmocka_unit_test(objects_are_followed_by_identity),
        cmocka_unit_test(objects_of_no_class_have_its_name),
        cmocka_unit_test(snapshots_of_two_processes_are_reported),
        cmocka_unit_test(weak_references_hold_nothing),
        cmocka_unit_test(writers_keep_live_objects_alive),
        cmocka_unit_test(dropped_names_of_single_references_are_reported),
        cmocka_unit_test(text_becomes_utf8),
        cmocka_unit_test(other_graphs_become_snapshots),
        cmocka_unit_test(snapshots_can_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
