/* Rows for tests that write and read them, and heaps with random names and labels. Include after heapdump.h, cmocka.h
   and faults.h. */
#ifndef ROWS_H
#define ROWS_H

#include <stdlib.h>
#include <string.h>

/* Heaps written as rows; the caller frees the buffer. */
HD_UNUSED static hd_buffer rows_of(const hd_heap *heaps, size_t count, hd_rows_form form) {
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_rows_write(heaps, count, form, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    out.size--;
    return out;
}

/* Reads rows in any of their forms. */
HD_UNUSED static hd_dump *rows_read(const void *data, size_t size) {
    hd_options options = { .format = "rows" };
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(data, size, &options, &dump, &err)) fail_msg("%s\n%.*s", err.message, (int)(size < 2000 ? size : 2000), (const char *)data);
    assert_int_equal(hd_dump_warning_count(dump), 0);
    return dump;
}

HD_UNUSED static const hd_heap *rows_heaps(const hd_dump *dump, size_t *count) {
    *count = hd_dump_heap_count(dump);
    return *count ? hd_dump_heap(dump, 0) : NULL;
}

HD_UNUSED static void assert_buffers(const hd_buffer *a, const hd_buffer *b) {
    if (a->size != b->size || memcmp(a->data, b->data, a->size))
        fail_msg("these differ:\n%s\n%s", (const char *)a->data, (const char *)b->data);
}

/* A name of any bytes: separators of cells, names and lines, escapes of CSV, JSON and rows, formulas, invalid
   UTF-8. */
HD_UNUSED static hd_str nasty_name(uint64_t *r, char buffer[64]) {
    static const char *const pieces[] = {
        "main", "f(int, char)", ";", "\\", "\\e", "\\;", ",", "\"", "\"\"", "\n", "\r\n", "=1+2", "@x", "-", "+", " ", "\t", "\x7f",
        "null", "[]", "{\"a\":1}", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\x80", "\xed\xa0\x80", "\xc3",
        "\xf4\x8f\xba\x80", "\xf4\x8f\xbb\xbf", "\xf4\x8f\xb8\x80", "\xf4\x8f", "\x01", "\xe2\x80\xae", "0", "<self>"
    };
    hd_str name = { buffer, 0 };
    for (uint64_t n = hd__test_below(r, 4); n; n--) {
        uint64_t k = hd__test_below(r, sizeof pieces / sizeof *pieces + 1);
        size_t length = k < sizeof pieces / sizeof *pieces ? strlen(pieces[k]) : 1;
        memcpy(buffer + name.len, k < sizeof pieces / sizeof *pieces ? pieces[k] : "", length);
        name.len += length;
    }
    return name;
}

/* A text for a label, without zero bytes; sometimes NULL. */
HD_UNUSED static const char *nasty_text(uint64_t *r, char buffer[64]) {
    hd_str name = nasty_name(r, buffer);
    size_t n = 0;
    if (!hd__test_below(r, 4)) return NULL;
    for (size_t i = 0; i < name.len; i++)
        if (buffer[i]) buffer[n++] = buffer[i];
    buffer[n] = 0;
    return buffer;
}

HD_UNUSED static uint64_t random_number(uint64_t *r) { return hd__test_random(r) >> hd__test_below(r, 64); }

/* A profile over some axes; the first axis is a backtrace if `axes` is even. */
HD_UNUSED static hd_profile *random_rows_profile(uint64_t *r, uint32_t cells, bool small_names) {
    static const char *const sets[][3] = { { "backtrace", "type", "arena" }, { "backtrace", "type", NULL }, { "backtrace", NULL, NULL },
                                           { "type", NULL, NULL }, { "backtrace", "zone\n\"x\"", NULL }, { "type", "backtrace", NULL } };
    const char *const *names = sets[hd__test_below(r, sizeof sets / sizeof *sets)];
    hd_profile_desc desc = { 0 };
    hd_profile *p;
    for (; desc.axis_count < 3 && names[desc.axis_count]; desc.axis_count++) desc.axis_name[desc.axis_count] = names[desc.axis_count];
    p = hd_profile_create(&desc, NULL);
    assert_non_null(p);
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t nodes[3] = { 0 };
        hd_amount amount = { random_number(r) >> 16, hd__test_below(r, 5) ? random_number(r) >> 16 : HD_UNKNOWN, { 0, 0 } };
        if (!hd__test_below(r, 3)) amount.variance.lo = random_number(r), amount.variance.hi = hd__test_below(r, 3) ? 0 : random_number(r) >> 9;
        for (uint32_t a = 0; a < desc.axis_count; a++)
            for (uint64_t depth = hd__test_below(r, 5); depth; depth--) {
                char buffer[64];
                hd_str name = small_names ? (hd_str){ &"abcdef"[hd__test_below(r, 6)], 1 } : nasty_name(r, buffer);
                assert_int_equal(hd_profile_node(p, a, nodes[a], name, &nodes[a], NULL), HD_OK);
            }
        assert_int_equal(hd_profile_add_amount(p, nodes, &amount, NULL), HD_OK);
    }
    return p;
}

#endif
