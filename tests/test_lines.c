/* >>lines: text split into lines, in any pieces; queries of parsers about a line; errors with their place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"

#include <stdlib.h>
#include <string.h>

/* A format with a reader that hands the lines to the test. */
static hd_status (*on_lines)(hd_lines *lines);

static int always(const uint8_t *bytes, size_t size) { return (void)bytes, (void)size, 100; }

static hd_status read_lines(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_lines lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    (void)options;
    return on_lines(&lines);
}

static hd_status read_by(hd_status (*how)(hd_lines *lines), hd_in in, hd_options options, hd_error *err) {
    static const hd_format format = { .name = "lines", .title = "lines", .detect = always, .read = read_lines };
    hd_dump *dump = NULL;
    hd_status status;
    options.formats = &format;
    options.format_count = 1;
    on_lines = how;
    memset(err, 0, sizeof *err);
    status = hd_read(in, &options, &dump, err);
    hd_dump_free(dump);
    return status;
}

static void reads_with(hd_status (*how)(hd_lines *lines), const void *text, size_t size) {
    hd_options options = { 0 };
    hd_error err;
    if (read_by(how, hd_in_memory(text, size), options, &err)) fail_msg("line %d: %s", (int)err.line, err.message);
}

/* The lines of a text, found by the simplest code. */
static const char *all;
static size_t all_size;

static hd_status as_split(hd_lines *l) {
    size_t at = 0, number = 0;
    while (at < all_size) {
        size_t end = at, next, cr;
        while (end < all_size && all[end] != '\n') end++;
        next = end + (end < all_size);
        cr = end > at && all[end - 1] == '\r';
        if (hd_lines_next(l)) return l->err->status;
        assert_non_null(l->start);
        assert_int_equal(l->number, ++number);
        assert_int_equal(l->end - l->start, end - cr - at);
        assert_memory_equal(l->start, all + at, end - cr - at);
        assert_int_equal(hd_lines_offset(l), at + (size_t)(l->at - l->start));
        assert_int_equal(l->at - l->start, at == 0 && end - cr >= 3 && !memcmp(all, "\xef\xbb\xbf", 3) ? 3 : 0);
        assert_int_equal(l->crlf, cr);
        assert_int_equal(l->open, next == end);
        at = next;
    }
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        if (hd_lines_next(l)) return l->err->status;
        assert_null(l->start);
        assert_ptr_equal(l->at, l->end);
        assert_int_equal(hd_lines_offset(l), all_size);
        assert_int_equal(l->number, number + !(number && l->open));
    }
    return HD_OK;
}

static void split_in_pieces(const char *text, size_t size) {
    all = text;
    all_size = size;
    reads_with(as_split, text, size);
    for (size_t piece = 1; piece <= 4; piece++) {
        hd__reads r = { .data = (const uint8_t *)text, .size = size, .chunk = piece };
        hd_options options = { 0 };
        hd_error err;
        assert_int_equal(read_by(as_split, hd__faults_in(&r), options, &err), HD_OK);
    }
}

static void lines_end_with_lf_or_crlf(void **state) {
    static const char *const texts[] = { "a", "a\n", "a\nb", "\n", "\n\n", "a\r\nb\r\n", "\r", "\r\n", "a\r", "\r\r\n",
                                         "\xef\xbb\xbf" "a\nb", "\xef\xbb\xbf", "\xef\xbb\xbf\n", "a\n\xef\xbb\xbf\n",
                                         "\xef\xbb" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) split_in_pieces(texts[i], strlen(texts[i]));
    split_in_pieces("a\0b\n\0\n\0", 7);
}

static void any_bytes_are_split(void **state) {
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 300; round++) {
        char text[64];
        size_t n = 1 + (size_t)hd__test_below(&seed, sizeof text);
        for (size_t i = 0; i < n; i++) text[i] = "a\r\n\0\xef"[hd__test_below(&seed, 5)];
        split_in_pieces(text, n);
    }
}

/* Many lines, and lines that are longer than the window's first buffer. */
static void long_lines_are_whole(void **state) {
    const size_t size = 1 << 20;
    char *text = (char *)malloc(size);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    for (size_t i = 70000; i < size; i += i) text[i] = '\n';
    for (size_t i = 1000; i < 60000; i += 17) text[i] = '\n';
    all = text;
    all_size = size;
    reads_with(as_split, text, size);
    {
        hd__reads r = { .data = (const uint8_t *)text, .size = size, .chunk = 4093 };
        hd_options options = { 0 };
        hd_error err;
        assert_int_equal(read_by(as_split, hd__faults_in(&r), options, &err), HD_OK);
    }
    free(text);
}

static hd_status asked(hd_lines *l) {
    uint64_t v = 7;
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_false(hd_lines_take(l, "key:"));
    assert_true(hd_lines_take(l, "key "));
    assert_string_equal(hd_lines_number(l, 10, &v), "a decimal number");
    assert_string_equal(hd_lines_number(l, 16, &v) ? "" : "passed", "passed");
    assert_int_equal(v, 0xfF0);
    hd_lines_skip_spaces(l);
    assert_string_equal(hd_lines_number(l, 10, &v), "a number of at most 64 bits");
    assert_int_equal(v, 0xfF0);
    assert_false(hd_lines_done(l));
    assert_true(hd_lines_take(l, "18446744073709551616"));
    assert_string_equal(hd_lines_number(l, 16, &v), "a hexadecimal number");
    assert_true(hd_lines_done(l));
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_null(hd_lines_number(l, 10, &v));
    assert_int_equal(v, UINT64_MAX);
    assert_true(hd_lines_done(l));
    assert_true(hd_lines_take(l, ""));
    assert_false(hd_lines_take(l, "x"));
    return HD_OK;
}

static void a_parser_asks_a_line(void **state) {
    static const char text[] = "key fF0 \t18446744073709551616 \n18446744073709551615\n";
    (void)state;
    reads_with(asked, text, sizeof text - 1);
}

/* "2:ab": a text with its number of bytes. */
static hd_status extended(hd_lines *l) {
    bool whole = true;
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_true(hd_lines_take(l, "5:"));
    assert_int_equal(hd_lines_extend(l, 4, &whole), HD_OK);
    assert_false(whole);
    assert_int_equal(hd_lines_extend(l, 7, &whole), HD_OK);
    assert_false(whole);
    assert_int_equal(hd_lines_extend(l, SIZE_MAX / 2, &whole), HD_OK);
    assert_false(whole);
    assert_int_equal(l->end - l->at, 1);
    assert_int_equal(hd_lines_extend(l, 5, &whole), HD_OK);
    assert_true(whole && l->crlf && !l->open);
    assert_memory_equal(l->start, "5:a\n\nbc", 7);
    assert_int_equal(l->end - l->start, 7);
    l->at = l->end - 1;
    assert_int_equal(hd_lines_error(l, HD_MALFORMED, "x").line, 3);
    assert_int_equal(hd_lines_error(l, HD_MALFORMED, "x").offset, 6);
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_int_equal(l->number, 4);
    assert_int_equal(hd_lines_offset(l), 9);
    assert_true(hd_lines_take(l, "2:"));
    assert_int_equal(hd_lines_extend(l, 2, &whole), HD_OK);
    assert_true(whole && l->open);
    assert_memory_equal(l->at, "\nz", 2);
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_null(l->start);
    assert_int_equal(l->number, 5);
    return HD_OK;
}

static void a_line_goes_on_beyond_breaks(void **state) {
    static const char text[] = "5:a\n\nbc\r\n2:\nz";
    (void)state;
    reads_with(extended, text, sizeof text - 1);
    for (size_t piece = 1; piece <= 3; piece++) {
        hd__reads r = { .data = (const uint8_t *)text, .size = sizeof text - 1, .chunk = piece };
        hd_options options = { 0 };
        hd_error err;
        assert_int_equal(read_by(extended, hd__faults_in(&r), options, &err), HD_OK);
    }
}

static bool with_columns;
static size_t wrong_at;

static hd_status wrong_in_second(hd_lines *l) {
    l->columns = with_columns;
    assert_int_equal(hd_lines_next(l), HD_OK);
    assert_int_equal(hd_lines_next(l), HD_OK);
    l->at += wrong_at;
    return hd_lines_wrong(l, "a frame");
}

static void an_error_says_where(void **state) {
    static const char text[] = "one\r\n\tsec\xc3\xa9nd, which goes on and on and on and on and on\r\n";
    hd_options strict = { 0 }, lenient = { .lenient = true };
    hd_in in = hd_in_memory(text, sizeof text - 1);
    hd_error err;
    (void)state;
    wrong_at = 0;
    with_columns = false;
    assert_int_equal(read_by(wrong_in_second, in, strict, &err), HD_MALFORMED);
    assert_string_equal(err.message, "a frame expected, found '?sec\xc3\xa9nd, which goes on and on'");
    assert_true(err.line == 2 && err.offset == 5 && err.column == 0);
    with_columns = true;
    wrong_at = 4;
    assert_int_equal(read_by(wrong_in_second, in, strict, &err), HD_MALFORMED);
    assert_string_equal(err.message, "line 2, column 5: a frame expected, found "
                                     "'\xc3\xa9nd, which goes on and on and on and on'");
    assert_true(err.line == 2 && err.offset == 9 && err.column == 5);
    wrong_at = sizeof text - 1 - 7;
    assert_int_equal(read_by(wrong_in_second, in, strict, &err), HD_MALFORMED);
    assert_string_equal(err.message, "line 2, column 52: a frame expected");
    with_columns = false;
    assert_int_equal(read_by(wrong_in_second, in, strict, &err), HD_MALFORMED);
    assert_string_equal(err.message, "a frame expected, and the line ends");
    assert_int_equal(read_by(wrong_in_second, in, lenient, &err), HD_OK);
}

static void failures_say_the_line(void **state) {
    enum { LINES = 100000 };
    char *text = (char *)malloc(2 * LINES);
    hd__reads r = { .data = text, .size = 2 * LINES, .chunk = 5000, .fail_at = 31 };
    hd_options options = { 0 };
    hd_error err;
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < 2 * LINES; i++) text[i] = "x\n"[i % 2];
    all = text;
    all_size = 2 * LINES;
    assert_int_equal(read_by(as_split, hd__faults_in(&r), options, &err), HD_IO);
    assert_true(err.offset > 100000);
    assert_int_equal(err.line, err.offset / 2 + 1);
    free(text);
}

static void no_lines_are_no_text(void **state) {
    hd_lines none = hd_lines_of(NULL, NULL, NULL);
    uint64_t v;
    bool whole;
    (void)state;
    assert_int_equal(hd_lines_next(NULL), HD_INVALID);
    assert_int_equal(hd_lines_extend(NULL, 1, &whole), HD_INVALID);
    assert_int_equal(hd_lines_extend(&none, 1, &whole), HD_INVALID);
    assert_int_equal(hd_lines_wrong(NULL, "x"), HD_INVALID);
    assert_int_equal(hd_lines_offset(&none), 0);
    assert_false(hd_lines_take(NULL, "x"));
    assert_false(hd_lines_done(NULL));
    assert_non_null(hd_lines_number(NULL, 10, &v));
    assert_int_equal(hd_lines_error(NULL, HD_MALFORMED, "x").status, HD_MALFORMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_lf_or_crlf), cmocka_unit_test(any_bytes_are_split),
        cmocka_unit_test(long_lines_are_whole), cmocka_unit_test(a_parser_asks_a_line),
        cmocka_unit_test(a_line_goes_on_beyond_breaks), cmocka_unit_test(an_error_says_where),
        cmocka_unit_test(failures_say_the_line), cmocka_unit_test(no_lines_are_no_text)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
