/* .NET Compact Framework dumps: the document's samples, every spelling, every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "graphs.h"
#include "long.h"

/* The document's example, verbatim. */
static const char sample[] =
    "a 2 bubblecs.exe 763f9d2\nt 2 System.RuntimeType\no 7c79f 2 64\nt 1 System.NullReferenceException\n"
    "o 7cb42 2 64\no 1ce004 1 18\nt 3 System.OutOfMemoryException\n"
    "o 1ce056 1d 118 1ce11f 1ce14c 1ce079 1ce113 1ce116 1ce267 1ce26a 1ce26d\nr 22c81b 5 0\no 22c81e 1b 24\n"
    "r 22c81e 5 0\no 22c823 1b 28\nr 22c823 5 0\nc bubblecs.exe 763fbef\n";
/* The document's examples of single records, combined. */
static const char records[] =
    "a 2 HH3.exe 763f9d2\nt a1 com.PBSG.WATS.HH3.Biz.Entity.CorporateContacts\n"
    "o 1ce056 1d 118 1ce11f 1ce14c 1ce079\nr b2753 4 0 13c\nc HH3.exe 763fbef\n";

static hd_dump *read_size(const char *text, size_t size, const hd_options *options) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (hd_read_as(&hd_format_netcf, hd_in_memory(text, size), options, &doc, &err)) fail_msg("%s", err.message);
    for (size_t i = 0; i < hd_netcf_domain_count(hd_dump_netcf(doc)); i++)
        assert_int_equal(hd_graph_validate(hd_netcf_domain(hd_dump_netcf(doc), i).graph, NULL), HD_OK);
    if (hd_dump_graph(doc)) assert_int_equal(hd_graph_validate(hd_dump_graph(doc), NULL), HD_OK);
    return doc;
}
static hd_dump *read_text(const char *text) { return read_size(text, strlen(text), NULL); }

static void writes(const hd_dump *doc, const char *text, size_t size) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_netcf_write(hd_dump_netcf(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, text, size);
    hd_buffer_free(&out);
}

static void keeps(const char *text) {
    hd_dump *doc = read_text(text);
    writes(doc, text, strlen(text));
    assert_int_equal(hd_dump_warning_count(doc), 0);
    hd_dump_free(doc);
}

static void the_sample_has_these_values(void **state) {
    (void)state;
    hd_dump *doc = read_text(sample);
    hd_netcf_domain_info domain = hd_netcf_domain(hd_dump_netcf(doc), 0);
    const hd_graph *g = hd_dump_graph(doc);
    hd_graph_summary s = hd_graph_summarize(g);
    static const uint64_t ids[] = { 0x7c79f, 0x7cb42, 0x1ce004, 0x1ce056, 0x22c81e, 0x22c823 };
    static const uint64_t sizes[] = { 100, 100, 24, 280, 36, 40 };
    static const char *const types[] = { "System.RuntimeType", "System.RuntimeType", "System.NullReferenceException",
                                         "<type 1d>", "<type 1b>", "<type 1b>" };
    assert_int_equal(hd_netcf_domain_count(hd_dump_netcf(doc)), 1);
    assert_true(hd_str_equal(domain.name, hd_cstr("bubblecs.exe")));
    assert_int_equal(domain.version, 2);
    assert_int_equal(domain.begin_ms, 0x763f9d2);
    assert_int_equal(domain.end_ms, 0x763fbef);
    assert_ptr_equal(domain.graph, g);
    assert_int_equal(s.objects, 6);
    assert_int_equal(s.classes, 3);
    assert_int_equal(s.roots, 3);
    assert_int_equal(s.references, 8);
    assert_int_equal(s.bytes, 580);
    assert_int_equal(s.missing_references, 8);
    assert_int_equal(s.missing_roots, 1);
    assert_int_equal(s.missing_classes, 2);
    assert_int_equal(s.missing_objects, 9);
    for (uint32_t i = 0; i < 6; i++) {
        hd_object o = hd_graph_object(g, i);
        hd_class c = hd_graph_class(g, o.class_index);
        assert_int_equal(o.id, ids[i]);
        assert_int_equal(o.size, sizes[i]);
        assert_true(hd_str_equal(c.name, hd_cstr(types[i])));
        assert_true(hd_str_equal(c.scope, hd_cstr("bubblecs.exe")));
        assert_int_equal(c.described, i < 3);
        assert_int_equal(o.reference_count, i == 3 ? 8 : 0);
    }
    assert_int_equal(hd_graph_object(g, hd_graph_object(g, 3).references[7]).id, 0x1ce26d);
    assert_int_equal(hd_graph_object(g, hd_graph_root(g, 0).object).id, 0x22c81b);
    assert_int_equal(hd_graph_root(g, 1).object, 4);
    assert_int_equal(hd_graph_root(g, 2).kind, HD_ROOT_COLLECTOR);
    assert_int_equal(hd_graph_root(g, 2).container, HD_NONE);
    writes(doc, sample, sizeof sample - 1);
    hd_dump_free(doc);

    hd_dominators *d = NULL;
    hd_dump *dump = NULL;
    assert_int_equal(hd_read_memory(sample, sizeof sample - 1, NULL, &dump, NULL), HD_OK);
    assert_string_equal(hd_dump_format(dump)->name, "netcf");
    assert_int_equal(hd_dump_heap_count(dump), 0);
    assert_non_null(hd_dump_netcf(dump));
    assert_int_equal(hd_graph_dominators(hd_dump_graph(dump), NULL, &d, NULL), HD_OK);
    assert_int_equal(d->bytes, 76);
    assert_int_equal(d->reached, 3);
    hd_dominators_free(d);
    hd_dump_free(dump);
}

static void single_records_have_these_values(void **state) {
    (void)state;
    hd_dump *doc = read_text(records);
    const hd_graph *g = hd_dump_graph(doc);
    hd_root r = hd_graph_root(g, 0);
    assert_int_equal(hd_graph_object(g, r.object).id, 0xb2753);
    assert_int_equal(r.kind, HD_ROOT_STATIC);
    assert_int_equal(hd_graph_class(g, r.container).id, 0x13c);
    assert_int_equal(hd_graph_object(g, 0).reference_count, 3);
    assert_int_equal(hd_graph_summarize(g).missing_classes, 2);
    writes(doc, records, sizeof records - 1);
    hd_dump_free(doc);
}

static void all_spellings_are_kept(void **state) {
    (void)state;
    static const char *const texts[] = {
        "a 2 x 0\nc x 0\n",
        "a 2 x 0\nc x 0",                                        /* no newline at the end */
        "a 2 x 0\r\no 1 1 1\r\nc x 0\r\n",
        "a 2 x 0\r\no 1 1 1\nc x 0\r\n",                         /* mixed */
        "a 2 x 0\r\nc x 0\r",
        "\xef\xbb\xbf" "a 2 x 0\nc x 0\n",
        "a 2 A name  with spaces .exe 7F\nt AB List`1[[System.Int32, mscorlib, Version=2.0.0.0]]\n"
        "t AC  leading and trailing \no 1 AB 1F AB\nc A name  with spaces .exe 7F\n",
        "a 2 x 7f\no 00AB 1 1\no aD 1 1\no  ab0  1   1  2 \no 1 1 1 \no 0 1 1\nr 1  0 0\nr 1 1 0 \nc x 007F\n",
        "a 2 x 7f\no 1 1 1 2 \no 2 1 1 \no 3 1 1\nc x 7f\n",      /* a space at the end of the line is customary */
        "a 2 x 0\nc x 0\na 2 y 1\no 1 1 1\nc y 2\na 2 x 0\nt 1 t\nc x 0\n",
        "a ffffffff x ffffffffffffffff\no ffffffffffffffff ffffffffffffffff fffffffffffffffe 123456789\n"
        "t ffffffffffffffff t\nr ffffffffffffffff ffffffff ffffffff\nc x 0\n",
        "a 2 x 0\nt 1 a\rb\r\nc x 0\n",
        "a 2 x 0\nr 1 0 0\nr 1 1 1\nr 1 2 2\nr 1 3 3\nr 1 4 4 1\nr 1 5 7\nr 1 6 8\nt 1 late\nc x 0\n",
        "a 2 0 0\nt 1 3\nr 5 0 0\nc 0 0\n",
        "a 2 x\r 0\nt 1 b\nc x\r 0\n",
        "a 2 x 0\r\nt 1 b\r\r\nc x 0\r\n",
        "\n \r\na 2 x 0\n\t \n\no 1 1 1\n\r\nc x 0\n\n\na 2 y 0\nc y 0\n\n ",
        "\xef\xbb\xbf\n\na 2 x 0\r\n\r\nc x 0\r\n\r\n",
        "\xef\xbb\xbf", "\n", " \r", "\n\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) keeps(texts[i]);
    static char blank[9000] = "a 2 x 0\nc x 0\n"; /* the last line is blank, and longer than a buffer */
    memset(blank + 14, ' ', sizeof blank - 15);
    keeps(blank);
}

static void sizes_may_be_decimal(void **state) {
    (void)state;
    static const char text[] = "a 2 x 0\no a 1 64\no b 1 4294967296 a\nc x 0\n";
    hd_dump *doc = read_size(text, sizeof text - 1, &(hd_options){ .decimal_sizes = true });
    hd_error err;
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 0).size, 64);
    assert_int_equal(hd_graph_object(hd_dump_graph(doc), 1).size, 4294967296);
    writes(doc, text, sizeof text - 1);
    hd_dump_free(doc);
    static const char hex[] = "a 2 x 0\no a 1 6c\nc x 0\n";
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(hex, sizeof hex - 1),
                                &(hd_options){ .decimal_sizes = true }, &doc, &err),
                     HD_MALFORMED);
    assert_string_equal(err.message, "line 2, column 8: a decimal size expected, found 'c'");
}

static void flags_are_bits_and_weak_roots_hold_nothing(void **state) {
    (void)state;
    hd_dump *doc = read_text("a 2 x 0\no 1 1 1\no 2 1 2\no 3 1 4\nr 1 3 2\nr 2 3 3\nr 3 3 5\nc x 0\n");
    hd_total total;
    uint8_t reached[3];
    assert_int_equal(hd_graph_reach(hd_dump_graph(doc), NULL, 0, NULL, reached, &total, NULL), HD_OK);
    assert_memory_equal(reached, ((const uint8_t[]){ 0, 0, 1 }), 3);
    assert_int_equal(total.bytes, 4);
    assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).weak_roots, 2);
    hd_dump_free(doc);
}

static void domains_are_merged(void **state) {
    (void)state;
    static const char text[] = "a 2 one.exe 1\nt 1 S\no 10 1 8\no 11 1 8 10 20\nr 11 0 0\nc one.exe 2\n"
                               "a 2 two.exe 3\nt 1 S\no 10 1 8\no 20 1 10 10\nr 20 0 0\nr 11 0 0\nc two.exe 4\n";
    hd_dump *doc = read_text(text);
    const hd_graph *g = hd_dump_graph(doc);
    hd_graph_summary s = hd_graph_summarize(g);
    assert_int_equal(hd_netcf_domain_count(hd_dump_netcf(doc)), 2);
    /* object 20 is not in this domain */
    assert_int_equal(hd_graph_object_count(hd_netcf_domain(hd_dump_netcf(doc), 0).graph), 3);
    assert_int_equal(s.objects, 3);
    assert_int_equal(s.bytes, 8 + 8 + 16);
    assert_int_equal(s.classes, 1);
    assert_int_equal(s.missing_objects, 0);
    assert_int_equal(s.roots, 2);
    writes(doc, text, sizeof text - 1);
    hd_dump_free(doc);
}

/* The fault, its place, and the result of lenient reading: its warnings, and the file that it writes. */
static const struct { const char *text, *message, *lenient; uint64_t line, column, warnings; } bad[] = {
    { "a 2 x 0\n", "line 2, column 1: the end record of the application domain expected", "a 2 x 0\nc x 0\n", 2, 1, 1 },
    { "a 2 x 0\nt 1 T", "line 2, column 6: the end record of the application domain expected",
      "a 2 x 0\nt 1 T\nc x 0", 2, 6, 1 },
    { "a 2 x 0\na 2 y 0\nc y 0\n",
      "line 2, column 1: the end record of the previous application domain expected, found 'a 2 y 0'",
      "a 2 x 0\nc x 0\na 2 y 0\nc y 0\n", 2, 1, 1 },
    { "a 2 x 0\nc xx 1\n", "line 2, column 3: the name in the application domain record expected, found 'xx 1'",
      "a 2 x 0\nc x 1\n", 2, 3, 1 },
    { "c x 0\n", "line 1, column 1: an application domain record expected, found 'c x 0'", "", 1, 1, 1 },
    { "a 2 x 0\nc x 0\no 1 1 1\n", "line 3, column 1: an application domain record expected, found 'o 1 1 1'",
      "a 2 x 0\nc x 0\n", 3, 1, 1 },
    { "a 2 x 0\nx 1\nc x 0\n", "line 2, column 1: a record: a, t, o, r or c expected, found 'x 1'",
      "a 2 x 0\nc x 0\n", 2, 1, 1 },
    { "a 2 x 0\n\nc x 0\n\no 1 1 1\n\n", "line 5, column 1: an application domain record expected, found 'o 1 1 1'",
      "a 2 x 0\n\nc x 0\n\n\n", 5, 1, 1 },
    { "a 2 x 0 \no 1 1 1\nc x 0\n", "line 1, column 8: the end of the line expected, found ' '",
      "a 2 x 0\no 1 1 1\nc x 0\n", 1, 8, 1 },
    { "a 2 x 0\r\no 1 1 1\r\nc x 0  \r\n", "line 3, column 6: the end of the line expected, found '  '",
      "a 2 x 0\r\no 1 1 1\r\nc x 0\r\n", 3, 6, 1 },
    { "a 2 x \n", "line 1, column 6: a time stamp expected", "", 1, 6, 1 },
    { "a 2 x 0\n \no 2 1 1\n\n\no 1 1 1\n\no  2 1 5\n\nc x 0\n",
      "line 8, column 4: a new object id expected, found '2'",
      "a 2 x 0\n \no 2 1 1\n\n\no 1 1 1\n\n\nc x 0\n", 8, 4, 1 },
    { "\na 2 x 0\nc x 0\na 2 y 0\n\no 2 1 1\n\no 2 1 5\nc y 0\n",
      "line 8, column 3: a new object id expected, found '2'",
      "\na 2 x 0\nc x 0\na 2 y 0\n\no 2 1 1\n\nc y 0\n", 8, 3, 1 },
    { "a 2 x 0\no\nc x 0\n", "line 2, column 2: a space after the record's letter expected", "a 2 x 0\nc x 0\n", 2, 2, 1 },
    { "a 2 x 0\no 1g 1 1\nc x 0\n",
      "line 2, column 4: a hexadecimal object id expected, found 'g 1 1'", "a 2 x 0\nc x 0\n", 2, 4, 1 },
    { "a 2 x 0\no 1 1\nc x 0\n", "line 2, column 6: a hexadecimal size expected", "a 2 x 0\nc x 0\n", 2, 6, 1 },
    { "a 2 x 0\no 1 1 -1\nc x 0\n", "line 2, column 7: a hexadecimal size expected, found '-1'",
      "a 2 x 0\nc x 0\n", 2, 7, 1 },
    { "a 2 x 0\no 10000000000000000 1 1\nc x 0\n",
      "line 2, column 3: a number of at most 64 bits expected, found '10000000000000000 1 1'", "a 2 x 0\nc x 0\n", 2, 3, 1 },
    { "a 2 x 0\no 1 1 ffffffffffffffff0\nc x 0\n",
      "line 2, column 7: a number of at most 64 bits expected, found 'ffffffffffffffff0'", "a 2 x 0\nc x 0\n", 2, 7, 1 },
    { "a 2 x 0\no 1 1 1 2 3x 4\nc x 0\n",
      "line 2, column 12: a hexadecimal object id expected, found 'x 4'", "a 2 x 0\nc x 0\n", 2, 12, 1 },
    { "a 2 x 0\no 2 1 1\no 1 1 1\no  2 1 5\nc x 0\n",
      "line 4, column 4: a new object id expected, found '2'",
      "a 2 x 0\no 2 1 1\no 1 1 1\nc x 0\n", 4, 4, 1 },
    { "a 2 x 0\nt 1 A\nt 1 B\nc x 0\n",
      "line 3, column 3: a new type id expected, found '1 B'",
      "a 2 x 0\nt 1 A\nc x 0\n", 3, 3, 1 },
    { "a 2 x 0\nt 1\nc x 0\n", "line 2, column 4: the name of a type expected", "a 2 x 0\nc x 0\n", 2, 4, 1 },
    { "a 2 x 0\nr 1 4 0\nc x 0\n", "line 2, column 8: the root container of a static root expected",
      "a 2 x 0\nc x 0\n", 2, 8, 1 },
    { "a 2 x 0\nr 1 3 0 5\nc x 0\n", "line 2, column 9: the end of the line expected, found '5'", "a 2 x 0\nc x 0\n", 2, 9, 1 },
    { "a 2 x 0\nr 1 100000000 0\nc x 0\n",
      "line 2, column 5: a number of at most 32 bits expected, found '100000000 0'", "a 2 x 0\nc x 0\n", 2, 5, 1 },
    { "a 2 x\n", "line 1, column 6: a time stamp expected", "", 1, 6, 1 },
    { "a 2\n", "line 1, column 4: the name of an application expected", "", 1, 4, 1 },
    { "a 2 x y\n", "line 1, column 7: a hexadecimal time stamp expected, found 'y'", "", 1, 7, 1 },
    { "a 2 x 0\no ffffffffffffffff 1 ffffffffffffffff\nc x 0\n",
      "line 2, column 3: a size that keeps the sum below 2^64 expected, found 'ffffffffffffffff 1 "
      "ffffffffffffffff'", "a 2 x 0\nc x 0\n", 2, 3, 1 },
    { "a 2 x 0\no 1 1 ffffffffffffff00\nc x 0\na 2 y 0\no 2 1 ff\nc y 0\n",
      "line 5, column 3: a size that keeps the sum below 2^64 expected, found '2 1 ff'",
      "a 2 x 0\no 1 1 ffffffffffffff00\nc x 0\na 2 y 0\nc y 0\n", 5, 3, 1 },
    { "\xef\xbb\xbf" "c x 0", "line 1, column 4: an application domain record expected, found 'c x 0'", "", 1, 4, 1 },
    { "a 2 x 0\no 1 1 1\no 1 1 1\no 1 1 1\no 2 1 1\nt 1 x\nt 1 x\nc x 0\n", NULL,
      "a 2 x 0\no 1 1 1\no 2 1 1\nt 1 x\nc x 0\n", 7, 3, 3 },
};

static void last_warning(void *user, const hd_error *warning) { *(hd_error *)user = *warning; }

static void faults_are_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_error err = { 0 }, warning = { 0 };
        hd_dump *doc = NULL;
        hd_options lenient = { .lenient = true, .warning = last_warning, .warning_user = &warning };
        hd_status status = hd_read_as(&hd_format_netcf, hd_in_memory(bad[i].text, strlen(bad[i].text)), NULL, &doc,
                                      &err);
        assert_true(status == HD_MALFORMED || status == HD_OVERFLOW);
        assert_int_equal(err.status, status);
        if (bad[i].message) {
            assert_string_equal(err.message, bad[i].message);
            assert_int_equal(err.line, bad[i].line);
            assert_int_equal(err.column, bad[i].column);
        }
        doc = read_size(bad[i].text, strlen(bad[i].text), &lenient);
        assert_int_equal(hd_dump_warning_count(doc), bad[i].warnings);
        assert_int_equal(warning.line, bad[i].line);
        assert_int_equal(warning.column, bad[i].column);
        writes(doc, bad[i].lenient, strlen(bad[i].lenient));
        hd_dump_free(doc);
        if (*bad[i].lenient) keeps(bad[i].lenient);
    }
}

/* Odd names and spellings that only lenient reading accepts: they are written so that strict reading accepts them. */
static void repaired_files_are_well_formed(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        { "a 0c \r e", "a 0c \r e\nc \r e" },
        { "a 2 x\r 5\no 1 1 1\n", "a 2 x\r 5\no 1 1 1\nc x\r 5\n" },
        { "\n\na 2 x 5\n\n?\n\na 2 y 6 \n", "\n\na 2 x 5\nc x 5\n\n\na 2 y 6\nc y 6\n" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hd_dump *doc = read_size(texts[i][0], strlen(texts[i][0]), &(hd_options){ .lenient = true });
        assert_true(hd_dump_warning_count(doc) > 0);
        writes(doc, texts[i][1], strlen(texts[i][1]));
        hd_dump_free(doc);
        keeps(texts[i][1]);
    }
}

/* Detected by its first record, after any blank lines. */
static void dumps_may_begin_with_blank_lines(void **state) {
    (void)state;
    static const char text[] = "\r\n\na 2 x 0\no 1 1 1\nc x 0\n";
    hd_dump *dump = NULL;
    assert_int_equal(hd_read_memory(text, sizeof text - 1, NULL, &dump, NULL), HD_OK);
    writes(dump, text, sizeof text - 1);
    hd_dump_free(dump);
}

static void nul_bytes_are_wrong(void **state) {
    (void)state;
    static const char *const where[] = { "a 2 x@y 0\nc x 0\n", "a 2 x 0\nt 1 ab@\nc x 0\n", "a 2 x 0\no 1@ 1 1\nc x 0\n",
                                         "a 2 x 0\no 1 1 1 @\nc x 0\n", "a 2 x 0\n@\nc x 0\n" };
    static const uint64_t line[] = { 1, 2, 2, 2, 2 }, column[] = { 6, 7, 4, 9, 1 };
    for (int i = 0; i < 5; i++) {
        char text[64];
        hd_dump *doc;
        hd_error err;
        size_t size = strlen(where[i]);
        memcpy(text, where[i], size);
        *(char *)memchr(text, '@', size) = 0;
        assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, size), NULL, &doc, &err), HD_MALFORMED);
        assert_int_equal(err.line, line[i]);
        assert_int_equal(err.column, column[i]);
        assert_int_equal(err.offset, (uint64_t)((char *)memchr(text, 0, size) - text));
        hd_dump_free(read_size(text, size, &(hd_options){ .lenient = true }));
    }
}

/* Two gigabytes without a newline; memory never holds all of them. */
static void a_line_of_two_gigabytes(void **state) {
    (void)state;
    static const char text[] = "a 2 x 0\nt 1 yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\nc x 0\n";
    char *block = malloc(1 << 20);
    memset(block, 'y', 1 << 20);
    memcpy(block, "a 2 x 0\nt 1 ", 12);
    memcpy(block + (1 << 20) - 7, "\nc x 0\n", 7);
    for (int lenient = 0; lenient < 2; lenient++) {
        hd__reads r = { .data = block, .size = 1 << 20, .repeat = (size_t)long_or_short(2050, 300), .from = 100, .until = (1 << 20) - 100 };
        hd__faults f = { 0 };
        hd_options o = { .allocator = hd__faults_allocator(&f), .lenient = lenient };
        hd_dump *doc = NULL;
        hd_error err;
        hd_status status = hd_read_as(&hd_format_netcf, hd__faults_in(&r), &o, &doc, &err);
        assert_int_equal(status, lenient ? HD_OK : HD_MALFORMED);
        if (lenient) {
            assert_int_equal(hd_dump_warning_count(doc), 1);
            assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).classes, 0);
        } else {
            assert_int_equal(err.line, 2);
            assert_int_equal(err.column, (1 << 28) + 1);
            assert_int_equal(err.offset, 8 + (1 << 28));
        }
        assert_in_range(f.peak, 0, 3u << 28);
        hd_dump_free(doc);
        assert_int_equal(f.live, 0);
    }
    free(block);
    keeps(text);
}

static void records_come_one_by_one(void **state) {
    (void)state;
    for (size_t chunk = 1; chunk < 90; chunk += 4) {
        hd__reads r = { .data = sample, .size = sizeof sample - 1, .chunk = chunk };
        hd_netcf_reader *reader = NULL;
        hd_netcf_record record;
        char kinds[32] = "";
        assert_int_equal(hd_netcf_open(hd__faults_in(&r), NULL, &reader, NULL), HD_OK);
        for (size_t n = 0;; n++) {
            assert_int_equal(hd_netcf_next(reader, &record, NULL), HD_OK);
            kinds[n] = record.kind;
            if (!record.kind) break;
            assert_int_equal(record.line, n + 1);
            assert_memory_equal(sample + record.offset, record.text.data, record.text.len);
            if (n == 7) {
                assert_int_equal(record.id, 0x1ce056);
                assert_int_equal(record.type, 0x1d);
                assert_int_equal(record.size, 0x118);
                assert_int_equal(record.reference_count, 8);
                assert_int_equal(record.references[7], 0x1ce26d);
            }
        }
        assert_string_equal(kinds, "atotootorororc");
        assert_int_equal(hd_netcf_next(reader, &record, NULL), HD_OK);
        assert_int_equal(record.kind, 0);
        hd_netcf_close(reader);
    }
}

static void reading_may_fail(void **state) {
    (void)state;
    hd__reads r = { .data = sample, .size = sizeof sample - 1, .chunk = 50, .fail_at = 4 };
    hd_dump *doc = NULL;
    hd_error err;
    assert_int_equal(hd_read_as(&hd_format_netcf, hd__faults_in(&r), NULL, &doc, &err), HD_IO);
    assert_int_equal(err.offset, HD_DETECT_FIRST + 50); /* detection needs two reads */
    assert_null(doc);
    for (uint64_t at = 1; at < 3; at++) {
        hd__write_faults w = { .fail_at = at };
        doc = read_text(sample);
        assert_int_equal(hd_netcf_write(hd_dump_netcf(doc), NULL, hd__faults_out(&w), &err), at == 1 ? HD_IO : HD_OK);
        hd_dump_free(doc);
        hd__write_faults_free(&w);
    }
}

/* A dump from the generator. */
static void large_dumps_have_known_answers(void **state) {
    (void)state;
    for (int scattered = 0; scattered < 2; scattered++) {
        dump_shape shape = { .trees = 60, .tree_size = 1093, .garbage = 5000, .types = 90, .missing = 100,
                             .scattered = scattered, .seed = 1 };
        dump_answers a;
        dump_text text = dump_make(&shape, &a);
        hd__reads r = { .data = text.data, .size = text.size, .chunk = 10007 };
        hd_dump *doc = read_size(text.data, text.size, NULL), *pieces = NULL;
        const hd_graph *g = hd_dump_graph(doc);
        hd_graph_summary s = hd_graph_summarize(g);
        hd_dominators *d = NULL;
        assert_int_equal(s.objects, a.objects);
        assert_int_equal(s.references, a.references);
        assert_int_equal(s.roots, a.roots);
        assert_int_equal(s.classes, 90);
        assert_int_equal(s.bytes, a.bytes);
        assert_int_equal(s.missing_references, 100);
        assert_int_equal(s.missing_objects, 100);
        assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
        assert_int_equal(d->bytes, a.live_bytes);
        assert_int_equal(d->reached, a.live_objects + 100);
        for (uint32_t tree = 0; tree < shape.trees; tree++)
            for (uint32_t k = 0; k < 1093; k++) {
                uint32_t o = hd_graph_find(g, dump_id(&shape, tree * 1093 + k));
                assert_int_equal(d->retained[o], dump_retained(&shape, tree, k));
                assert_int_equal(d->parent[o], k ? hd_graph_find(g, dump_id(&shape, tree * 1093 + (k - 1) / 3)) : HD_NONE);
            }
        hd_dominators_free(d);
        writes(doc, text.data, text.size);
        hd_dump_free(doc);
        assert_int_equal(hd_read_as(&hd_format_netcf, hd__faults_in(&r), NULL, &pieces, NULL), HD_OK);
        writes(pieces, text.data, text.size);
        hd_dump_free(pieces);
        free(text.data);
    }
}

/* An input that returns one line at a time. */
typedef struct hd__lines {
    const char *data;
    size_t size, at;
} hd__lines;

static int64_t read_line(void *user, void *buffer, size_t capacity) {
    hd__lines *in = (hd__lines *)user;
    const char *from = in->data + in->at, *end = memchr(from, '\n', in->size - in->at);
    size_t n = end ? (size_t)(end - from) + 1 : in->size - in->at;
    assert_true(n <= capacity);
    memcpy(buffer, from, n);
    in->at += n;
    return (int64_t)n;
}

static void same_records(const hd_netcf_record *a, const hd_netcf_record *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->line, b->line);
    if (!a->kind) return;
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->form, b->form);
    assert_true(hd_str_equal(a->text, b->text));
    if (a->kind != 'o') return;
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->reference_count, b->reference_count);
    if (a->reference_count) assert_memory_equal(a->references, b->references, 8 * a->reference_count);
}

/* A random number, sometimes with leading zeros, in upper case, or with a character that is no digit. */
static size_t random_number(char *to, uint64_t *random, unsigned digits) {
    static const char wrong[] = "gG@`:/!~\t\x7f\x80\xb1\xc1\xff", *format = "%llx";
    uint64_t value = hd__test_random(random) >> (64 - 4 * digits);
    uint64_t odd = hd__test_below(random, 400);
    size_t n = (size_t)sprintf(to, odd == 0 ? "%llX" : odd == 1 ? "0%llx" : format, (unsigned long long)value);
    if (odd == 2) to[hd__test_below(random, n)] = wrong[hd__test_below(random, sizeof wrong - 1)];
    if (odd == 3) to[n++] = ' ';
    if (odd == 4) n = (size_t)sprintf(to, "%s", "fffffffffffffffff") - hd__test_below(random, 2);
    if (odd == 5) n = 0;
    return n;
}

/* Lines of objects in nearly usual spelling, with numbers of 1 to 16 digits. */
static size_t random_objects(char *to, uint64_t *random, unsigned lines) {
    size_t n = (size_t)sprintf(to, "a 2 x 0\n");
    bool spaces = hd__test_below(random, 2), returns = hd__test_below(random, 4) == 0;
    for (unsigned line = 0; line < lines; line++) {
        uint64_t numbers = 3 + hd__test_below(random, hd__test_below(random, 8) ? 4 : 40);
        to[n++] = 'o';
        if (!hd__test_below(random, 100)) numbers = hd__test_below(random, 4);
        for (uint64_t i = 0; i < numbers; i++) {
            to[n++] = ' ';
            n += random_number(to + n, random, 1 + (unsigned)hd__test_below(random, hd__test_below(random, 9) ? 8 : 16));
        }
        if (spaces != !hd__test_below(random, 50)) to[n++] = ' ';
        if (returns != !hd__test_below(random, 50)) to[n++] = '\r';
        to[n++] = '\n';
    }
    return n + (size_t)sprintf(to + n, "c x 0\n");
}

/* Objects far from the end of the window are read by a fast path, which a window of one line never takes. */
static void both_ways_of_reading_objects_agree(void **state) {
    (void)state;
    static char text[1 << 16];
    uint64_t random = 5, right = 0, wrong = 0;
    for (unsigned round = 0; round < 600; round++) {
        size_t size = random_objects(text, &random, 1 + round % 40);
        hd__lines lines = { .data = text, .size = size };
        hd_netcf_reader *reader[2];
        hd_netcf_record record[2] = { { 0 }, { 0 } };
        hd_error warning[2] = { { 0 }, { 0 } };
        for (int way = 0; way < 2; way++) {
            hd_options o = { .lenient = true, .warning = last_warning, .warning_user = &warning[way] };
            hd_in in = way ? hd_in_callback(read_line, &lines) : hd_in_memory(text, size);
            assert_int_equal(hd_netcf_open(in, &o, &reader[way], NULL), HD_OK);
        }
        do {
            for (int way = 0; way < 2; way++)
                assert_int_equal(hd_netcf_next(reader[way], &record[way], NULL), HD_OK);
            same_records(&record[0], &record[1]);
            assert_string_equal(warning[0].message, warning[1].message);
            assert_int_equal(warning[0].offset, warning[1].offset);
            right += record[0].kind == 'o';
        } while (record[0].kind);
        assert_int_equal(hd_netcf_reader_warning_count(reader[0]), hd_netcf_reader_warning_count(reader[1]));
        wrong += hd_netcf_reader_warning_count(reader[0]);
        for (int way = 0; way < 2; way++) hd_netcf_close(reader[way]);
    }
    assert_in_range(right, 8000, 12000);
    assert_in_range(wrong, 300, 3000);
}

/* Any graph can be written as a dump, and reads as the same graph. */
static void graphs_are_written(void **state) {
    (void)state;
    hd_graph *g = heap_like(500, 3);
    hd_buffer a = { 0 }, b = { 0 };
    hd_netcf_domain_info domain = { .name = hd_cstr("any heap\n"), .begin_ms = 5, .end_ms = 6 };
    assert_int_equal(hd_netcf_write_graph(g, &domain, NULL, hd_out_memory(&a), NULL), HD_OK);
    assert_memory_equal(a.data, "a 2 any heap? 5\nt 1 Class000\n", 29);
    hd_dump *doc = read_size((char *)a.data, a.size, NULL);
    assert_int_equal(hd_graph_summarize(hd_dump_graph(doc)).bytes, hd_graph_summarize(g).bytes);
    domain = hd_netcf_domain(hd_dump_netcf(doc), 0);
    writes(doc, (char *)a.data, a.size);
    assert_int_equal(hd_netcf_write_graph(hd_dump_graph(doc), &domain, NULL, hd_out_memory(&b), NULL), HD_OK);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(doc)), 500);
    hd_dump_free(doc);
    hd_buffer_free(&a);
    hd_buffer_free(&b);
    hd_graph_free(g);
}

static const char faulty[] = "a 2 x 0\no 5 1 1 2 900000000 7\nt 1 T\no 2 2 100000000\no  7 1 1\nr 7 4 0 5\nr 9 0 0\n"
                             "c x 0\na 2 y 0\no 5 1 1 2 900000000 7\nt 1 T\no 9 3 3\nc y 1\n";

static void every_allocation_may_fail(void **state) {
    (void)state;
    hd__faults f = { 0 };
    for (int lenient = 0; lenient < 2; lenient++) {
        f.fail_at = 0;
        HD__EACH_FAULT(f) {
            hd_options o = { .allocator = hd__faults_allocator(&f), .lenient = lenient };
            hd__reads r = { .data = faulty, .size = sizeof faulty - 1, .chunk = 31 };
            hd_dump *doc = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read_as(&hd_format_netcf, hd__faults_in(&r), &o, &doc, &err);
            assert_int_equal(err.status, status);
            if (!status) writes(doc, faulty, sizeof faulty - 1);
            else assert_int_equal(status, HD_OUT_OF_MEMORY);
            hd_dump_free(doc);
            assert_null(f.misuse);
            assert_int_equal(f.live, 0);
        }
    }
    for (uint64_t limit = 1; limit < 60000; limit += 61) {
        hd_options o = { .limits.max_memory = limit };
        hd_dump *doc = NULL;
        hd_status status = hd_read_as(&hd_format_netcf, hd_in_memory(faulty, sizeof faulty - 1), &o, &doc, NULL);
        assert_true(status == HD_OK || status == HD_LIMIT);
        hd_dump_free(doc);
    }
}

/* Every prefix and every flipped bit: an error with its place, or a document that writes the bytes that it read. */
static void try_both(const char *text, size_t size) {
    for (int lenient = 0; lenient < 2; lenient++) {
        hd_options o = { .lenient = lenient };
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        hd_status status = hd_read_as(&hd_format_netcf, hd_in_memory(text, size), &o, &doc, &err);
        if (status) {
            assert_true(!lenient && (status == HD_MALFORMED || status == HD_OVERFLOW));
            assert_in_range(err.line, 1, 30);
            assert_in_range(err.column, 1, 100);
            continue;
        }
        if (!lenient) writes(doc, text, size);
        hd_dump_free(doc);
    }
}

static void prefixes_and_flipped_bits(void **state) {
    (void)state;
    static const char *const texts[] = { sample, records, faulty };
    for (int t = 0; t < 3; t++) {
        size_t size = strlen(texts[t]);
        char *copy = malloc(size);
        for (size_t n = 0; n <= size; n++) {
            memcpy(copy, texts[t], size);
            char *exact = malloc(n ? n : 1); /* so that sanitizers find a read past the end */
            memcpy(exact, texts[t], n);
            try_both(exact, n);
            free(exact);
            for (int bit = 0; bit < 8 && n < size; bit++) {
                copy[n] = (char)(texts[t][n] ^ 1 << bit);
                try_both(copy, size);
            }
        }
        free(copy);
    }
}

/* The limit is for all domains together. */
static void many_domains_share_the_memory_allowed(void **state) {
    (void)state;
    hd__faults f = { 0 };
    hd_options o = { .allocator = hd__faults_allocator(&f) };
    char *text = malloc(200000);
    size_t size = 0;
    hd_dump *doc;
    for (int d = 0; d < 40; d++) {
        size += (size_t)sprintf(text + size, "a 2 x 1\n");
        for (int i = 0; i < 100; i++) size += (size_t)sprintf(text + size, "o %x 1 8 1\n", d * 1000 + i);
        size += (size_t)sprintf(text + size, "c x 1\n");
    }
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, size), &o, &doc, NULL), HD_OK);
    hd_dump_free(doc);
    o.limits.max_memory = 2 * f.peak;
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, size), &o, &doc, NULL), HD_OK);
    hd_dump_free(doc);
    o.limits.max_memory = f.peak / 2;
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, size), &o, &doc, NULL), HD_LIMIT);
    assert_int_equal(f.live, 0);
    free(text);
}

static bool stop_at(void *user, uint64_t done, uint64_t total) {
    assert_true(done <= total);
    return (*(int *)user)-- > 0;
}

static void reading_and_writing_can_be_cancelled(void **state) {
    (void)state;
    hd_status status = HD_CANCELLED;
    for (int calls = 0; status; calls++) {
        int left = calls;
        hd_options o = { .progress = stop_at, .progress_user = &left };
        hd_dump *doc = NULL;
        hd_buffer out = { 0 };
        status = hd_read_as(&hd_format_netcf, hd_in_memory(sample, sizeof sample - 1), &o, &doc, NULL);
        if (!status) status = hd_netcf_write(hd_dump_netcf(doc), &o, hd_out_memory(&out), NULL);
        assert_true(status == HD_OK || status == HD_CANCELLED);
        assert_in_range(calls, 0, 20);
        hd_buffer_free(&out);
        hd_dump_free(doc);
    }
}

/* Equal domains of a few bytes each. */
static void small_domains_take_little(void **state) {
    (void)state;
    static const char *const domains[] = { "a 2 d 0\nc d 1\n", "a 2 d 0\nt 1 A\no 1 1 8\nr 1 0 0\nc d 1\n" };
    enum { N = 20000 };
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(domains[i]);
        char *text = malloc(N * size);
        hd__faults f = { 0 };
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_dump *doc = NULL;
        for (size_t k = 0; k < N; k++) memcpy(text + k * size, domains[i], size);
        assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, N * size), &o, &doc, NULL), HD_OK);
        assert_int_equal(hd_netcf_domain_count(hd_dump_netcf(doc)), N);
        assert_in_range(f.peak, 1, 56 * N * size);
        hd_dump_free(doc);
        assert_int_equal(f.live, 0);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_has_these_values),
        cmocka_unit_test(single_records_have_these_values),
        cmocka_unit_test(all_spellings_are_kept),
        cmocka_unit_test(sizes_may_be_decimal),
        cmocka_unit_test(flags_are_bits_and_weak_roots_hold_nothing),
        cmocka_unit_test(domains_are_merged),
        cmocka_unit_test(faults_are_reported),
        cmocka_unit_test(repaired_files_are_well_formed),
        cmocka_unit_test(dumps_may_begin_with_blank_lines),
        cmocka_unit_test(nul_bytes_are_wrong),
        cmocka_unit_test(a_line_of_two_gigabytes),
        cmocka_unit_test(records_come_one_by_one),
        cmocka_unit_test(reading_may_fail),
        cmocka_unit_test(large_dumps_have_known_answers),
        cmocka_unit_test(both_ways_of_reading_objects_agree),
        cmocka_unit_test(graphs_are_written),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(many_domains_share_the_memory_allowed),
        cmocka_unit_test(prefixes_and_flipped_bits),
        cmocka_unit_test(reading_and_writing_can_be_cancelled),
        cmocka_unit_test(small_domains_take_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
