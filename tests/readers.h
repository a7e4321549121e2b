/* Tests for each reader of a format in examples/heapdump/formats. The input is cut off, damaged, or arrives in
   pieces; memory runs out. Include after heapdump.h, cmocka.h and faults.h. */
#ifndef READERS_H
#define READERS_H

#include "faults.h"
#include "graph_sum.h"

#include <string.h>

HD_UNUSED static hd_status read_with(const hd_format *format, const void *data, size_t size, hd_options options, hd_dump **dump,
                                     hd_error *err) {
    options.formats = format;
    options.format_count = 1;
    memset(err, 0, sizeof *err);
    *dump = NULL;
    return hd_read_memory(data, size, &options, dump, err);
}

/* Reads without error, strictly, or leniently with this number of warnings. The caller frees the dump. */
HD_UNUSED static hd_dump *read_well(const hd_format *format, const void *data, size_t size, bool lenient, uint64_t warnings) {
    hd_options options = { .lenient = lenient };
    hd_dump *dump;
    hd_error err;
    if (read_with(format, data, size, options, &dump, &err)) fail_msg("line %d: %s", (int)err.line, err.message);
    assert_string_equal(hd_dump_format(dump)->name, format->name);
    assert_int_equal(hd_dump_warning_count(dump), warnings);
    return dump;
}

HD_UNUSED static uint64_t dump_sum(const hd_dump *dump) {
    uint64_t sum = hd_dump_graph(dump) ? graph_sum(dump) : 0;
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *h = hd_dump_heap(dump, i);
        sum = sum * 31 + hd_profile_bytes(h->profile) + 7 * hd_profile_blocks(h->profile) +
              13 * hd_profile_axis(h->profile, 0).node_count + 17 * hd_profile_cells(h->profile).count;
    }
    return sum;
}

/* Reads any bytes. Lenient reading must accept every input that strict reading accepts. At most `memory` bytes are
   live, and none afterwards. */
HD_UNUSED static void survives(const hd_format *format, const void *data, size_t size, size_t memory) {
    uint64_t sum[2];
    hd_status status[2];
    for (int lenient = 0; lenient < 2; lenient++) {
        hd__faults f = { 0 };
        hd_options options = { .lenient = lenient, .allocator = hd__faults_allocator(&f) };
        hd_dump *dump;
        hd_error err;
        status[lenient] = read_with(format, data, size, options, &dump, &err);
        assert_int_equal(err.status, status[lenient]);
        assert_true(!dump == !!status[lenient]);
        if (status[lenient]) {
            assert_true(*err.message && (err.offset <= size || err.offset == HD_UNKNOWN));
        } else {
            sum[lenient] = dump_sum(dump);
            assert_true(lenient || !hd_dump_warning_count(dump));
        }
        hd_dump_free(dump);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
        assert_true(f.peak <= memory);
    }
    if (!status[0]) assert_true(!status[1] && sum[0] == sum[1]);
}

/* Cuts off a small input at every byte, and flips each of its bits. */
HD_UNUSED static void survives_damage(const hd_format *format, const void *data, size_t size, size_t memory) {
    uint8_t *copy = (uint8_t *)malloc(size + 1);
    assert_non_null(copy);
    for (size_t n = 0; n <= size; n++) {
        uint8_t *exact = (uint8_t *)malloc(n + !n); /* so that sanitizers find a read past the end */
        assert_non_null(exact);
        memcpy(exact, data, n);
        survives(format, exact, n, memory);
        free(exact);
    }
    memcpy(copy, data, size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        survives(format, copy, size, memory);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(copy);
}

/* An input in pieces of any size gives the same dump as in one piece. */
HD_UNUSED static void survives_pieces(const hd_format *format, const void *data, size_t size) {
    hd_dump *whole = read_well(format, data, size, false, 0);
    for (size_t chunk = 1; chunk < 400; chunk = 2 * chunk + 1) {
        hd__reads r = { .data = data, .size = size, .chunk = chunk };
        hd_options options = { .formats = format, .format_count = 1 };
        hd_dump *dump;
        hd_error err;
        if (hd_read(hd__faults_in(&r), &options, &dump, &err)) fail_msg("%s", err.message);
        assert_int_equal(dump_sum(dump), dump_sum(whole));
        hd_dump_free(dump);
    }
    hd_dump_free(whole);
}

/* Lets each allocation fail once, then each read, and then tries many limits of memory. */
HD_UNUSED static void survives_faults(const hd_format *format, const void *data, size_t size) {
    hd__faults f = { 0 };
    hd_options options = { .formats = format, .format_count = 1, .lenient = true };
    hd_dump *dump;
    hd_error err;
    hd_status status;
    uint64_t sum = 0;
    HD__EACH_FAULT(f) {
        hd__reads r = { .data = data, .size = size, .chunk = 97 };
        options.allocator = hd__faults_allocator(&f);
        memset(&err, 0, sizeof err);
        dump = NULL;
        status = hd_read(hd__faults_in(&r), &options, &dump, &err);
        assert_int_equal(err.status, status);
        if (f.failed && !(dump && hd_dump_graph(dump))) assert_int_equal(status, HD_OUT_OF_MEMORY);
        if (!status && !sum) sum = dump_sum(dump);
        if (!status) assert_int_equal(dump_sum(dump), sum); /* a graph can be whole if its arrays cannot shrink */
        if (!f.failed) assert_int_equal(status, HD_OK);
        if (!status) hd_dump_free(dump);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
    }
    options.allocator = (hd_allocator){ 0 };
    for (uint64_t i = 1; i <= 1 + size / 97; i++) {
        hd__reads r = { .data = data, .size = size, .chunk = 97, .fail_at = i };
        assert_int_equal(hd_read(hd__faults_in(&r), &options, &dump, &err), HD_IO);
    }
    for (uint64_t limit = 1; limit < 20000; limit += 61) {
        options.limits.max_memory = limit;
        status = hd_read_memory(data, size, &options, &dump, &err);
        assert_true(status == HD_OK || status == HD_LIMIT);
        if (!status) hd_dump_free(dump);
    }
    options.limits.max_memory = 0;
    options.progress = NULL;
}

/* A large input needs at most about twice max_memory, and exceeds the limit if max_memory is too small. It also
   exceeds the limit if it has more records than max_records. */
HD_UNUSED static void survives_limits(const hd_format *format, const void *data, size_t size) {
    enum { LEAST = 32768, RECORDS = 64 };
    hd_options few = { .limits = { .max_records = RECORDS } };
    hd_dump *none;
    hd_error told;
    uint64_t whole = 0;
    assert_int_equal(read_with(format, data, size, few, &none, &told), HD_LIMIT);
    for (uint64_t limit = 0; limit < whole / 4 || !limit; limit = limit ? 2 * limit : LEAST) {
        hd__faults f = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&f), .limits = { .max_memory = limit } };
        hd_dump *dump;
        hd_error err;
        hd_status status = read_with(format, data, size, options, &dump, &err);
        assert_int_equal(status, limit ? HD_LIMIT : HD_OK);
        if (!limit) whole = f.peak;
        assert_true(whole > 8 * LEAST);
        if (f.peak > 2 * limit + LEAST && limit) fail_msg("limit %llu: %zu bytes", (unsigned long long)limit, f.peak);
        hd_dump_free(dump);
        assert_int_equal(f.live, 0);
    }
}

/* In `text` each '?' is the place of a number. With 1 at all places the text is read strictly. With a malformed
   number at one place it is refused, and lenient reading survives it. */
HD_UNUSED static void survives_malformed(const hd_format *format, const char *text) {
    static const char *const bad[] = { "18446744073709551616", "99999999999999999999999999", "-1", "1x", "x", "\xc2\xb2" };
    char *made = (char *)malloc(30 * strlen(text) + 1);
    assert_non_null(made);
    for (size_t place = 0, places = 1; place <= places; place++) { /* 0: all numbers are well-formed */
        for (size_t i = 0; i < (place ? sizeof bad / sizeof *bad : 1); i++) {
            size_t n = 0, seen = 0;
            hd_dump *dump;
            hd_error err;
            for (const char *c = text; *c; c++) {
                const char *number = ++seen == place ? bad[i] : "1";
                if (*c != '?') made[n++] = *c, seen--;
                else memcpy(made + n, number, strlen(number)), n += strlen(number);
            }
            places = seen;
            hd_status status = read_with(format, made, n, (hd_options){ 0 }, &dump, &err);
            hd_dump_free(dump);
            if (!place && status) fail_msg("line %d: %s", (int)err.line, err.message);
            if (place && !status) fail_msg("number %zu is read although it is %s", place, bad[i]);
            assert_true(!status || (err.offset <= n && *err.message));
            if (place) survives(format, made, n, 1 << 20);
        }
    }
    free(made);
}

/* A binary input: each aligned or unaligned word of it becomes a number that lies, in turn. */
HD_UNUSED static void survives_malformed_words(const hd_format *format, const void *data, size_t size, size_t memory) {
    static const uint8_t bad[][4] = { { 0 }, { 0, 0, 0, 1 }, { 0x7f, 255, 255, 255 }, { 0x80 }, { 255, 255, 255, 255 } };
    uint8_t *copy = (uint8_t *)malloc(size);
    assert_non_null(copy);
    for (size_t at = 0; at + 4 <= size; at++) {
        memcpy(copy, data, size);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            memcpy(copy + at, bad[i], 4);
            survives(format, copy, size, memory);
        }
    }
    free(copy);
}

/* A million opening brackets after `head` are refused, without memory for each. */
HD_UNUSED static void survives_depth(const hd_format *format, const char *head, char bracket) {
    enum { DEEP = 1000000, MOST = 1 << 20 };
    size_t n = strlen(head);
    char *text = (char *)malloc(n + DEEP);
    assert_non_null(text);
    memcpy(text, head, n);
    memset(text + n, bracket, DEEP);
    for (int lenient = 0; lenient < 2; lenient++) {
        hd__faults f = { 0 };
        hd_options options = { .lenient = lenient, .allocator = hd__faults_allocator(&f) };
        hd_dump *dump;
        hd_error err;
        hd_status status = read_with(format, text, n + DEEP, options, &dump, &err);
        if (!lenient && status != HD_MALFORMED && status != HD_LIMIT) fail_msg("%s: %s", hd_status_text(status), err.message);
        hd_dump_free(dump);
        assert_int_equal(f.live, 0);
        if (f.peak > MOST) fail_msg("%zu bytes of memory", f.peak);
    }
    free(text);
}

/* A text of `head`, `count` pieces that `put` prints, and `tail`. The caller frees it. */
HD_UNUSED static char *long_text(const char *head, const char *tail, int count, int (*put)(char *to, size_t room, int i)) {
    enum { MOST = 400 };
    char *text = (char *)malloc(strlen(head) + (size_t)count * MOST + strlen(tail) + 1);
    size_t n = strlen(head);
    assert_non_null(text);
    strcpy(text, head);
    for (int i = 0; i < count; i++) n += (size_t)put(text + n, MOST, i);
    strcpy(text + n, tail);
    return text;
}

#endif
