/* Folded stacks: the meaning of each line, every fault, and profiles and breakdowns written as folded stacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"

static const hd_format *folded(void) {
    const hd_format *format;
    for (size_t i = 0; (format = hd_format_at(i)) != NULL; i++)
        if (!strcmp(format->name, "folded")) return format;
    return NULL;
}

static int always(const uint8_t *bytes, size_t size) { return (void)bytes, (void)size, 100; }

/* Reads without detection of the format. */
static hd_status read_bytes(hd_in in, hd_options options, hd_dump **dump, hd_error *err) {
    hd_format format = *folded();
    format.detect = always;
    options.formats = &format;
    options.format_count = 1;
    return hd_read(in, &options, dump, err);
}

static hd_dump *read_with(const void *text, size_t size, const hd_options *options) {
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(text, size, options, &dump, &err)) fail_msg("%s", err.message);
    assert_ptr_equal(hd_dump_format(dump), folded());
    assert_int_equal(hd_dump_heap_count(dump), 1);
    return dump;
}

/* Reads any text as folded stacks. */
static hd_dump *read_text(const char *text) {
    hd_options options = { .format = "folded" };
    return read_with(text, strlen(text), &options);
}

static const hd_profile *profile_of(const hd_dump *dump) { return hd_dump_heap(dump, 0)->profile; }

/* The profile of a text, one "/main/f bytes -" per line. */
static void reads(const char *text, const char *expected) {
    hd_dump *dump = read_text(text);
    assert_text(profile_text(profile_of(dump)), expected);
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_dump_free(dump);
}

static void writes(const hd_heap *heaps, size_t count, const char *expected) {
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (folded()->write_heaps(heaps, count, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    assert_string_equal((char *)out.data, expected);
    hd_buffer_free(&out);
}

static void rewrites(const char *text, const char *expected) {
    hd_dump *dump = read_text(text);
    writes(hd_dump_heap(dump, 0), 1, expected);
    hd_dump_free(dump);
}

/* Expects an error at this place. */
static void fails_at(const char *text, hd_status status, uint64_t line, uint64_t column, uint64_t offset, const char *message) {
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    assert_int_equal(read_bytes(hd_in_memory(text, strlen(text)), (hd_options){ 0 }, &dump, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(err.status, status);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    assert_int_equal(err.offset, offset);
    assert_null(dump);
}

static void a_line_is_a_stack_and_bytes(void **state) {
    (void)state;
    reads("main;load;parse 512\n", "/main/load/parse 512 -\n");
    reads("main 0\n", "/main 0 -\n");
    reads("main;f 18446744073709551614\n", "/main/f 18446744073709551614 -\n");
    reads("main;f 007\n", "/main/f 7 -\n");
    reads("main;f 1", "/main/f 1 -\n");                                /* no newline at the end */
    reads("main;f 1\r\nmain;g 2\r\n", "/main/f 1 -\n/main/g 2 -\n");
    reads("\n\nmain;f 1\n\r\n\n", "/main/f 1 -\n");
    reads("\xef\xbb\xbfmain;f 1\n", "/main/f 1 -\n");
    reads("operator new(unsigned long);f (x.c:3) 5\n", "/operator new(unsigned long)/f (x.c:3) 5 -\n");
    reads("# a frame;f 1\n#g 2\n", "/# a frame/f 1 -\n/#g 2 -\n");
    reads("7;8 9\n12 13\n", "/7/8 9 -\n/12 13 -\n");
    reads(" a; b  3\n", "/ a/ b  3 -\n");
    reads("\xff\xfe;f 1\n", "/\xff\xfe/f 1 -\n");
}

/* A tab before the number counts as a space, as in flamegraph.pl. */
static void tabs_are_spaces(void **state) {
    (void)state;
    reads("main;a\t10\nmain;b\t20\n", "/main/a 10 -\n/main/b 20 -\n");
    reads("a\tb\t1\nc \t2\n", "/a\tb 1 -\n/c  2 -\n");
}

/* Sums of decimals are exact, and rounded once. */
static void decimals_are_rounded_once(void **state) {
    (void)state;
    reads("main;a 10.5\nmain;b 12.\nmain;c 3\n", "/main/a 11 -\n/main/b 12 -\n/main/c 3 -\n"); /* 25.5 */
    reads("f 0.5\nf 0.5\nf 0.25\nf 0.1\n", "/f 1 -\n");
    reads("f 0.4\nf 0.4\nf 0.4\n", "/f 1 -\n");
    reads("a;b 0.5\na;c 0.5\n", "/a/b 1 -\n/a/c 0 -\n");
    reads("a 0.4\nb 0.4\nc 0.4\nd 0.4\n", "/a 0 -\n/b 1 -\n/c 0 -\n/d 1 -\n");
    reads("f 0.49999999999999999999999\ng 1\n", "/f 0 -\n/g 1 -\n");
    reads("f 0.1\nf 0.1\nf 0.1\nf 0.1\nf 0.1\n", "/f 1 -\n");
}

/* The rounded sum of the decimals overflows when it is added to the whole numbers. That is a warning, and no error of
   a successful reading. */
static void decimals_that_overflow_are_a_warning(void **state) {
    static const char text[] = "main;f 18446744073709551614\nmain;g 5.5\n";
    hd_options options = { .lenient = true };
    hd_error err = { 0 };
    hd_dump *dump;
    (void)state;
    assert_int_equal(hd_read(hd_in_memory(text, sizeof text - 1), &options, &dump, &err), HD_OK);
    assert_int_equal(err.status, HD_OK);
    assert_true(hd_dump_warning_count(dump) > 0);
    hd_dump_free(dump);
}

/* Lines of random decimals, compared with sums of whole numbers. */
static void random_decimals_add_up(void **state) {
    (void)state;
    uint64_t random = 5;
    for (int run = 0; run < 200; run++) {
        char text[4000];
        uint64_t sum = 0, own[5] = { 0 };
        size_t n = 0;
        hd_dump *dump;
        hd_rows rows;
        for (int lines = (int)hd__test_below(&random, 100); lines >= 0; lines--) {
            uint64_t v = hd__test_below(&random, 5000), stack = hd__test_below(&random, 5);
            sum += v;
            own[stack] += v;
            n += (size_t)snprintf(text + n, sizeof text - n, "f%d;g %d.%03d\n", (int)stack, (int)(v / 1000), (int)(v % 1000));
        }
        dump = read_text(text);
        assert_int_equal(hd_profile_bytes(profile_of(dump)), (sum + 500) / 1000);
        rows = hd_profile_cells(profile_of(dump));
        hd_axis axis = hd_profile_axis(profile_of(dump), 0);
        for (uint32_t i = 0; i < rows.count; i++) {
            uint64_t exact = own[axis.node_name[axis.parent[rows.node[i]]].data[1] - '0'], bytes = 1000 * rows.amount[i].bytes;
            assert_true(bytes < exact + 1000 && exact < bytes + 1000);
        }
        hd_dump_free(dump);
    }
}

/* Comments before the first stack, as austin writes them. */
static void leading_comments_are_skipped(void **state) {
    (void)state;
    static const char austin[] = "# austin: 3.0.0\n# interval: 100\n#\n\n# mode: memory\r\nP42;T1;a.py:main:3;a.py:load:9 1024\nP42;T1;a.py:main:3 512\n";
    hd_dump *dump = read_with(austin, sizeof austin - 1, NULL);
    assert_text(profile_text(profile_of(dump)), "/P42/T1/a.py:main:3/a.py:load:9 1024 -\n/P42/T1/a.py:main:3 512 -\n");
    hd_dump_free(dump);
    reads("# a frame;f 1\n# b 2\n", "/# a frame/f 1 -\n/# b 2 -\n"); /* a stack, and a line after it */
    reads("#<Class:A>#m 1\n", "/#<Class:A>#m 1 -\n");
    rewrites("a 1\n# b 2\n# c;d 3\n#e 4\n# 5\n", "#e 4\n? 5\n? b 2\n? c;d 3\na 1\n");
}

static void equal_stacks_add_up(void **state) {
    (void)state;
    reads("main;f 1\nmain;g 2\nmain;f 3\nmain 4\n", "/main/f 4 -\n/main/g 2 -\n/main 4 -\n");
}

static void the_heap_is_live_and_has_one_axis(void **state) {
    (void)state;
    hd_dump *dump = read_text("main;f 1\n");
    const hd_heap *heap = hd_dump_heap(dump, 0);
    assert_int_equal(heap->kind, HD_HEAP_LIVE);
    assert_null(heap->allocator);
    assert_null(heap->breakdown);
    assert_int_equal(hd_profile_axis_count(heap->profile), 1);
    assert_string_equal(hd_profile_axis(heap->profile, 0).name, "backtrace");
    hd_dump_free(dump);
}

static void blank_frames_are_unknown(void **state) {
    (void)state;
    reads("main;;f 1\n", "/main/[unknown]/f 1 -\n");
    reads(";main 1\n", "/[unknown]/main 1 -\n");
    reads("main;  ;f 1\n", "/main/[unknown]/f 1 -\n");
    reads("main;f; 1\n", "/main/f 1 -\n");                             /* as heaptrack_print -F writes it */
    reads("main;f;;  1\n", "/main/f 1 -\n");
    reads("[unknown];f 1\n", "/[unknown]/f 1 -\n");
    reads("f;[unknown] 1\n", "/f/[unknown] 1 -\n");
    reads("[unknown] 5\n", "/ 5 -\n");                                 /* bytes without a call stack */
    reads(" 5\n", "/ 5 -\n");
    reads("; 5\nf 1\n", "/ 5 -\n/f 1 -\n");
}

static void faults_are_reported(void **state) {
    (void)state;
#define LINE(n, c, e) "line " #n ", column " #c ": " e " expected"
    fails_at("f 1\nmain\n", HD_MALFORMED, 2, 1, 4, LINE(2, 1, "a call stack, a space and a number of bytes") ", found 'main'");
    fails_at("f 1\nmain;f x\n", HD_MALFORMED, 2, 8, 11, LINE(2, 8, "a decimal number of bytes") ", found 'x'");
    fails_at("f 1\nmain;f 12kB\n", HD_MALFORMED, 2, 8, 11, LINE(2, 8, "a decimal number of bytes") ", found '12kB'");
    fails_at("main;f 1.5.\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a decimal number of bytes") ", found '1.5.'");
    fails_at("main;f .5\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a decimal number of bytes") ", found '.5'");
    fails_at("main;f 1e3\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a decimal number of bytes") ", found '1e3'");
    fails_at("main;f 3\t7\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a single number (two are a difference of profiles)") ", found '3?7'");
    fails_at("f 18446744073709551614.5\n", HD_OVERFLOW, 2, 1, 25, LINE(2, 1, "a sum of at most 2^64 - 2 bytes"));
    fails_at("f 18446744073709551614.5\nf 0.5\n", HD_OVERFLOW, 2, 3, 27, LINE(2, 3, "a sum of at most 2^64 - 2 bytes") ", found '0.5'");
    fails_at("f 1\nmain;f -5\n", HD_MALFORMED, 2, 8, 11, LINE(2, 8, "a decimal number of bytes") ", found '-5'");
    fails_at("f 1\nmain;f 5 \n", HD_MALFORMED, 2, 10, 13, LINE(2, 10, "a decimal number of bytes"));
    fails_at("f 1\n\n\nf 18446744073709551616\n", HD_MALFORMED, 4, 3, 8, LINE(4, 3, "a number of at most 64 bits") ", found '18446744073709551616'");
    fails_at("main;f 3 7\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a single number (two are a difference of profiles)") ", found '3 7'");
    fails_at("main;f 3.5 7\n", HD_MALFORMED, 1, 8, 7, LINE(1, 8, "a single number (two are a difference of profiles)") ", found '3.5 7'");
    fails_at("\xef\xbb\xbf" "f 3 7\n", HD_MALFORMED, 1, 6, 5, LINE(1, 6, "a single number (two are a difference of profiles)") ", found '3 7'");
    fails_at("f 18446744073709551610\ng 4\nh 1\n", HD_OVERFLOW, 3, 3, 29, LINE(3, 3, "a sum of at most 2^64 - 2 bytes") ", found '1'");
    fails_at("f 18446744073709551615\n", HD_OVERFLOW, 1, 3, 2, LINE(1, 3, "a sum of at most 2^64 - 2 bytes") ", found '18446744073709551615'");
}

static void count_warning(void *user, const hd_error *warning) {
    (void)warning;
    ++*(int *)user;
}

static void lenient_reading_leaves_lines_out(void **state) {
    (void)state;
    static const char text[] = "main;f 1\nno number\nf 18446744073709551614\nmain;g 2 3\ng 99999999999999999999\nmain;f 5\nx";
    int told = 0;
    hd_options options = { .lenient = true, .warning = count_warning, .warning_user = &told };
    hd_dump *dump = NULL;
    hd_error err = { .message = "as it was" };
    assert_int_equal(read_bytes(hd_in_memory(text, sizeof text - 1), options, &dump, &err), HD_OK);
    assert_string_equal(err.message, "as it was");
    assert_text(profile_text(profile_of(dump)), "/main/f 6 -\n");
    assert_int_equal(hd_dump_warning_count(dump), 5);
    assert_int_equal(told, 5);
    hd_dump_free(dump);
}

static void other_texts_are_not_taken(void **state) {
    (void)state;
    static const struct { const char *text; int certainty; } texts[] = {
        { "main;f 1\n", 2 }, { "main;f 1", 2 }, { "a;b 3 7\n", 2 }, { "a;b 1.5\n", 2 }, { "\xef\xbb\xbf" "a;b 1\n", 2 }, { "a 1\r\nb 2\r\n", 2 },
        { "a;b\t1\n", 2 }, { "a\t1\nb\t2", 2 }, { "# x\n# y 5\na;b 1\n", 2 },
        { "[vdso];f 1\n", 50 }, { "[unknown] 1\na 2\n", 50 }, { "{lambda()#1};f 1\n", 50 }, { "[null];f 1\n", 2 },
        /* text without stacks */
        { "main 1", 0 }, { "a 1.5\n", 0 }, { "\xef\xbb\xbf" "a 1\n", 0 }, { "[unknown] 1\n", 0 }, { "[null] 1\n", 0 }, { "[1, 2\n", 0 },
        { "# a 1\n# b 2\n", 0 }, { "# a 1\nb 2\n", 0 }, { "Report 12\nthis is a text 7 x\n", 0 }, { "\na 1\n\n", 0 },
        { "", 0 }, { "\n\n", 0 }, { "main\n", 0 }, { "main;f\n", 0 }, { "12\n", 0 }, { "a 1\nb\n", 0 }, { "a\x01 1\n", 0 }, { "a 12kB\n", 0 },
        { "{\"a\": 1\n}\n", 0 },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (folded()->detect((const uint8_t *)texts[i].text, strlen(texts[i].text)) != texts[i].certainty)
            fail_msg("'%s': %d expected", texts[i].text, texts[i].certainty);
    static const struct { const char *begin; int certainty; } cut_off[] = {
        { "a;1", 1 }, { "[a;2", 49 }, { "ab1", 0 }, { "a 1\n5", 0 }, { "a 1\n5;", 1 }, { "a 1\nb 2\n5", 2 }, { "a b\n5;1", 0 }, { "# a", 0 }, { "# a\n5;", 1 },
    };
    for (size_t i = 0; i < sizeof cut_off / sizeof *cut_off; i++) {
        uint8_t text[HD_DETECT_BYTES];
        memset(text, 'x', sizeof text);
        memcpy(text, cut_off[i].begin, strlen(cut_off[i].begin));
        for (size_t size = HD_DETECT_FIRST; size <= HD_DETECT_BYTES; size += HD_DETECT_BYTES - HD_DETECT_FIRST)
            if (folded()->detect(text, size) != cut_off[i].certainty)
                fail_msg("'%s...': %d expected of %zu bytes", cut_off[i].begin, cut_off[i].certainty, size);
    }
    char text[4000];             /* the first frame is longer than the first look of the detection */
    memset(text, 'x', sizeof text);
    memcpy(text + 3000, ";f 12\na;b", 9);
    memcpy(text + 3991, ";c 3\nd 1\n", 9);
    hd_dump *dump = read_with((const uint8_t *)text, sizeof text, NULL);
    assert_int_equal(hd_profile_bytes(profile_of(dump)), 16);
    hd_dump_free(dump);
    hd_dump_free(read_with("[unknown];f 1\n", 14, NULL)); /* not a trace */
}

static void written_stacks_are_in_order(void **state) {
    (void)state;
    rewrites("b 1\nmain;f 2\nmain 3\nmain;a;x 4\nb 1", "b 2\nmain 3\nmain;a;x 4\nmain;f 2\n");
    rewrites("[unknown] 5\nf 1\n", "[unknown] 5\nf 1\n");
    rewrites("f 0\ng 1\n", "g 1\n");
}

static void a_real_file_is_written_as_it_was(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    load("go-heap.folded", &data, &size);
    hd_dump *dump = read_with(data, size, NULL);
    data[size] = 0;
    assert_int_equal(hd_profile_bytes(profile_of(dump)), 2526692);
    assert_int_equal(hd_profile_cells(profile_of(dump)).count, 7);
    writes(hd_dump_heap(dump, 0), 1, (char *)data);
    hd_dump_free(dump);
    free(data);
}

/* The heap of the document, types added up. */
static const char document[] = "BrMain 33\nBrMain;Init 242\nBrMain;MsgLp 601\nColdFn 17\nRdMain 29\nRdMain;FnA 20\nRdMain;FnB 23\n"
                               "RdMain;RTask 556\n[unknown] 17\n";

static void types_and_blocks_are_left_out(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    writes(&(hd_heap){ .profile = p }, 1, document);
    hd_profile_free(p);
}

static void names_are_made_fit(void **state) {
    (void)state;
    static const struct { hd_str name; const char *written; } names[] = {
        { { "f(int;x)", 8 }, "f(int:x) 1\n" },   { { "a\nb\r\t\x7f", 6 }, "a?b??? 1\n" }, { { "a\0b", 3 }, "a?b 1\n" },
        { { "", 0 }, "[unknown] 1\n" },          { { "  ", 2 }, "[unknown] 1\n" },         { { "worker 7", 8 }, "worker_7 1\n" },
        { { "v 1.5", 5 }, "v_1.5 1\n" },         { { " 7", 2 }, "_7 1\n" },                { { "x 1 2", 5 }, "x 1_2 1\n" },
        { { "x 1b", 4 }, "x 1b 1\n" },           { { "7", 1 }, "7 1\n" },                  { { "a ", 2 }, "a  1\n" },
        { { "\xef\xbb\xbf" "f", 4 }, "???f 1\n" },
        { { "\xfd" "7zXZ", 5 }, "?7zXZ 1\n" },
        { { "(\xb5/\xfd", 4 }, "?\xb5/\xfd 1\n" },
        { { "\xe2\x82\xac", 3 }, "\xe2\x82\xac 1\n" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hd_profile *p = profile_new(1);
        uint32_t node;
        assert_int_equal(hd_profile_node(p, 0, 0, names[i].name, &node, NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, &node, 1, 1, NULL), HD_OK);
        writes(&(hd_heap){ .profile = p }, 1, names[i].written);
        rewrites(names[i].written, names[i].written);
        hd_profile_free(p);
    }
    hd_profile *p = profile_new(1);                  /* names that become equal are one */
    add_cell(p, "/a;b/c", NULL, 1, 1);
    add_cell(p, "/a:b/c", NULL, 2, 1);
    writes(&(hd_heap){ .profile = p }, 1, "a:b;c 3\n");
    hd_profile_free(p);
}

static void the_rest_of_a_breakdown_is_the_frames_own(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *whole = exported(p, (hd_cutoff){ 0 }), *cut = exported(p, (hd_cutoff){ .min_bytes = 500 });
    writes(&(hd_heap){ .breakdown = whole }, 1, document);
    writes(&(hd_heap){ .breakdown = cut }, 1, "BrMain 275\nBrMain;MsgLp 601\nRdMain 72\nRdMain;RTask 556\n[unknown] 34\n");
    assert_int_equal(whole->entries.amount[0].bytes, 34 + 275 + 601 + 72 + 556);
    hd_breakdown_free(whole);
    hd_breakdown_free(cut);
    hd_profile_free(p);
}

static void heaps_are_below_their_labels(void **state) {
    (void)state;
    hd_profile *p = profile_new(1), *q = profile_new(1);
    add_cell(p, "/main/f", NULL, 1, 1);
    add_cell(p, "/", NULL, 5, 1);
    add_cell(q, "/main/f", NULL, 2, 1);
    hd_breakdown *b = exported(q, (hd_cutoff){ 0 });
    hd_heap heaps[] = { { .pid = 7, .process = "app;x", .dump = "0x1", .allocator = "malloc", .profile = p },
                        { .pid = 7, .allocator = "malloc", .kind = HD_HEAP_PEAK, .breakdown = b },
                        { .pid = 7, .allocator = "malloc", .profile = q } };
    writes(heaps, 3, "(malloc, app:x, pid 7, dump 0x1) 5\n(malloc, app:x, pid 7, dump 0x1);main;f 1\n"
                     "(malloc, peak, pid 7);main;f 2\n(malloc, pid 7);main;f 2\n");
    writes(heaps, 0, "");
    heaps[0].breakdown = b;
    hd_error err;
    assert_int_equal(folded()->write_heaps(heaps, 1, NULL, hd_out_memory(&(hd_buffer){ 0 }), &err), HD_INVALID);
    assert_string_equal(err.message, "heap 0: expected either a profile or a breakdown");
    hd_breakdown_free(b);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void written_stacks_read_as_the_same_tree(void **state) {
    (void)state;
    uint64_t r = 7;
    for (int round = 0; round < 200; round++) {
        hd_profile *p = profile_new(1), *again;
        for (uint64_t n = 1 + hd__test_below(&r, 30); n; n--) {
            char path[64] = "";
            for (uint64_t depth = hd__test_below(&r, 6); depth; depth--) sprintf(path + strlen(path), "/f %c", 'a' + (int)hd__test_below(&r, 4));
            add_cell(p, *path ? path : "/", NULL, 1 + hd__test_below(&r, 1000), HD_UNKNOWN);
        }
        hd_buffer out = { 0 };
        assert_int_equal(folded()->write_heaps(&(hd_heap){ .profile = p }, 1, NULL, hd_out_memory(&out), NULL), HD_OK);
        hd_dump *dump = read_with(out.data, out.size, &(hd_options){ .format = "folded" });
        again = (hd_profile *)(uintptr_t)profile_of(dump);
        assert_int_equal(hd_profile_sort(p, NULL), HD_OK);
        assert_int_equal(hd_profile_sort(again, NULL), HD_OK);
        char *text = profile_text(p);
        assert_text(profile_text(again), text);
        free(text);
        hd_dump_free(dump);
        hd_buffer_free(&out);
        hd_profile_free(p);
    }
}

static const char sample[] = "main;load;parse 512\nmain;load 100\n[unknown] 3\nmain;worker;  ;x 7\nb;c; 12\nb;c;d;e;f;g 18446744073709550000\n";

/* The read profile as text, or NULL on failure; the caller frees it. */
static char *text_read(hd_in in, bool lenient, hd_error *err) {
    hd_dump *dump = NULL;
    char *text = NULL;
    memset(err, 0, sizeof *err);
    if (!read_bytes(in, (hd_options){ .lenient = lenient }, &dump, err)) text = profile_text(profile_of(dump));
    hd_dump_free(dump);
    return text;
}

/* Reading byte by byte, in pieces of 7, and at once gives the same result. */
static void same_in_pieces(const char *bytes, size_t size, bool lenient) {
    hd_error err[3];
    char *text[3];
    for (size_t i = 0; i < 3; i++) {
        hd__reads r = { .data = bytes, .size = size, .chunk = i == 1 ? 1 : 7 };
        text[i] = text_read(i ? hd__faults_in(&r) : hd_in_memory(bytes, size), lenient, &err[i]);
        assert_string_equal(text[i] ? text[i] : err[i].message, text[0] ? text[0] : err[0].message);
        assert_int_equal(err[i].offset, err[0].offset);
        assert_true(err[i].status == HD_OK || err[i].status == HD_MALFORMED || err[i].status == HD_OVERFLOW);
        assert_true(!lenient || text[i]);
    }
    for (size_t i = 0; i < 3; i++) free(text[i]);
}

static void every_cut_and_every_flip_is_read_or_refused(void **state) {
    (void)state;
    for (size_t size = 1; size <= sizeof sample - 1; size++)
        for (int lenient = 0; lenient < 2; lenient++) same_in_pieces(sample, size, lenient);
    for (size_t bit = 0; bit < 8 * (sizeof sample - 1); bit++) {
        char flipped[sizeof sample];
        memcpy(flipped, sample, sizeof sample);
        flipped[bit / 8] ^= (char)(1 << bit % 8);
        for (int lenient = 0; lenient < 2; lenient++) same_in_pieces(flipped, sizeof sample - 1, lenient);
    }
}

static void lines_may_be_longer_than_a_buffer(void **state) {
    (void)state;
    size_t size = 0, frames = 50000;
    char *text = malloc(8 * frames);
    while (frames--) size += (size_t)sprintf(text + size, "f%d;", (int)(frames % 10));
    size += (size_t)sprintf(text + size, "g 5\nf9 1\n");
    hd__reads r = { .data = text, .size = size };
    hd_dump *dump = NULL;
    assert_int_equal(hd_read(hd__faults_in(&r), NULL, &dump, NULL), HD_OK);
    assert_int_equal(hd_profile_axis(profile_of(dump), 0).node_count, 50002);
    hd_buffer out = { 0 };
    assert_int_equal(folded()->write_heaps(hd_dump_heap(dump, 0), 1, NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, "f9 1\nf9;f8;", 11);
    hd_buffer_free(&out);
    hd_dump_free(dump);
    free(text);
}

static void every_failing_allocation_is_said(void **state) {
    (void)state;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd__reads r = { .data = sample, .size = sizeof sample - 1, .chunk = 20 };
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        hd_status status = read_bytes(hd__faults_in(&r), (hd_options){ .allocator = hd__faults_allocator(&f) }, &dump, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        assert_true(!dump == !!status);
        hd_dump_free(dump);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    assert_true(f.count > 5);
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 100 });
    hd_heap heaps[] = { { .allocator = "malloc", .profile = p }, { .allocator = "b;\n", .breakdown = b } };
    for (size_t count = 0; count <= 2; count++) {
        memset(&f, 0, sizeof f);
        HD__EACH_FAULT(f) {
            hd__write_faults w = { 0 };
            hd_error err = { 0 };
            hd_status status = folded()->write_heaps(heaps, count, &(hd_options){ .allocator = hd__faults_allocator(&f) }, hd__faults_out(&w), &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(err.status, status);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
            hd__write_faults_free(&w);
        }
    }
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* The working memory for a breakdown counts too. */
static void memory_stays_within_its_limit(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    for (int i = 0; i < 500; i++) {
        char path[64];
        sprintf(path, "/frame number x%d/another frame", i);
        add_cell(p, path, NULL, (uint64_t)i + 1, 1);
    }
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    bool written = false;
    for (uint64_t most = 4000; !written; most += 2000) {
        hd__faults f = { 0 };
        hd__write_faults w = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&f), .limits.max_memory = most };
        hd_status status = folded()->write_heaps(&(hd_heap){ .breakdown = b }, 1, &options, hd__faults_out(&w), NULL);
        assert_true(status == HD_OK || status == HD_LIMIT);
        assert_true(f.peak <= most);
        written = !status;
        hd__write_faults_free(&w);
    }
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static bool not_long(void *user, uint64_t done, uint64_t total) {
    (void)total;
    return done < *(uint64_t *)user;
}

static void limits_and_failures_are_kept(void **state) {
    (void)state;
    hd_error err = { 0 };
    hd_dump *dump = NULL;
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    uint64_t enough = 0;
    for (uint64_t most = 1000; most < 100000; most += 1000) { /* memory */
        hd_status status = read_bytes(hd_in_memory(sample, sizeof sample - 1), (hd_options){ .limits.max_memory = most }, &dump, &err);
        assert_true(status == HD_OK || status == HD_LIMIT);
        if (!status) hd_dump_free(dump);
        hd_buffer out = { 0 };
        status = folded()->write_heaps(&heap, 1, &(hd_options){ .limits.max_memory = most }, hd_out_memory(&out), &err);
        assert_true(status == HD_OK || status == HD_LIMIT);
        if (!status && !enough) enough = most;
        hd_buffer_free(&out);
    }
    assert_in_range(enough, 2000, 30000);
    assert_int_equal(read_bytes(hd_in_memory(sample, sizeof sample - 1), (hd_options){ .limits.max_records = 3 }, &dump, &err), HD_LIMIT);
    hd__reads r = { .data = sample, .size = sizeof sample - 1, .chunk = 30, .fail_at = 4 };
    assert_int_equal(read_bytes(hd__faults_in(&r), (hd_options){ 0 }, &dump, &err), HD_IO);
    assert_int_equal(err.line, 4);
    hd__write_faults w = { .fail_at = 1, .status = HD_IO };
    assert_int_equal(folded()->write_heaps(&heap, 1, NULL, hd__faults_out(&w), &err), HD_IO);
    assert_int_equal(w.after, 0);
    hd__write_faults_free(&w);
    hd_options cancelled = { .progress = not_long, .progress_user = &(uint64_t){ 0 } };
    assert_int_equal(read_bytes(hd_in_memory(sample, sizeof sample - 1), cancelled, &dump, &err), HD_CANCELLED);
    assert_int_equal(folded()->write_heaps(&heap, 1, &cancelled, hd_out_memory(&(hd_buffer){ 0 }), &err), HD_CANCELLED);
    hd_heap twice[] = { heap, heap };
    hd_profile *most = profile_new(1);
    add_cell(most, "/f", NULL, UINT64_MAX - 1, 1);
    twice[1].profile = most;
    assert_int_equal(folded()->write_heaps(twice, 2, NULL, hd_out_memory(&(hd_buffer){ 0 }), NULL), HD_OVERFLOW);
    hd_profile_free(most);
    hd_profile_free(p);
}

static hd_status count_bytes(void *user, const void *data, size_t size) { return (void)data, *(uint64_t *)user += size, HD_OK; }

/* A chain in which every call has bytes: its text is quadratic. It is refused before anything is written. */
static void chains_that_are_too_long_are_refused(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    hd__faults f = { 0 };
    hd_error err = { 0 };
    uint32_t node = 0;
    uint64_t size = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        char name[16];
        hd_str text = { name, (size_t)snprintf(name, sizeof name, "f%05u", (unsigned)i) };
        hd_profile_node(p, 0, node, text, &node, NULL);
        hd_profile_add(p, &node, 1, 1, NULL);
        if (i == 999) assert_int_equal(folded()->write_heaps(&heap, 1, NULL, hd_out_callback(count_bytes, &size), NULL), HD_OK);
    }
    assert_int_equal(size, 1000 * 1001 / 2 * 7 - 1000 + 3 * 1000);
    size = 0;
    hd_status status = folded()->write_heaps(&heap, 1, &(hd_options){ .allocator = hd__faults_allocator(&f) },
                                             hd_out_callback(count_bytes, &size), &err);
    assert_int_equal(status, HD_LIMIT);
    assert_string_equal(err.message, "folded stacks of more than 4294967296 bytes: they repeat the callers of every "
                                     "frame; write a trace (chrome, heaps_v2) instead");
    assert_true(f.peak < 64000000);
    assert_int_equal(f.live, 0);
    assert_int_equal(size, 0);
    hd_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_stack_and_bytes),
        cmocka_unit_test(tabs_are_spaces),
        cmocka_unit_test(decimals_are_rounded_once),
        cmocka_unit_test(decimals_that_overflow_are_a_warning),
        cmocka_unit_test(random_decimals_add_up),
        cmocka_unit_test(leading_comments_are_skipped),
        cmocka_unit_test(equal_stacks_add_up),
        cmocka_unit_test(the_heap_is_live_and_has_one_axis),
        cmocka_unit_test(blank_frames_are_unknown),
        cmocka_unit_test(faults_are_reported),
        cmocka_unit_test(lenient_reading_leaves_lines_out),
        cmocka_unit_test(other_texts_are_not_taken),
        cmocka_unit_test(written_stacks_are_in_order),
        cmocka_unit_test(a_real_file_is_written_as_it_was),
        cmocka_unit_test(types_and_blocks_are_left_out),
        cmocka_unit_test(names_are_made_fit),
        cmocka_unit_test(the_rest_of_a_breakdown_is_the_frames_own),
        cmocka_unit_test(heaps_are_below_their_labels),
        cmocka_unit_test(written_stacks_read_as_the_same_tree),
        cmocka_unit_test(every_cut_and_every_flip_is_read_or_refused),
        cmocka_unit_test(lines_may_be_longer_than_a_buffer),
        cmocka_unit_test(every_failing_allocation_is_said),
        cmocka_unit_test(memory_stays_within_its_limit),
        cmocka_unit_test(limits_and_failures_are_kept),
        cmocka_unit_test(chains_that_are_too_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
