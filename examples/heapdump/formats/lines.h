/* Lines of a text, for the readers beside this. A line is in the window, and gone with the next. */
#ifndef HEAPDUMP_LINES_H
#define HEAPDUMP_LINES_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../heapdump.h"

typedef struct text_lines {
    hd_window *window;
    hd_reporter *reporter;
    hd_error *err;
    hd_allocator allocator;
    uint64_t total;              /* bytes of the input; HD_UNKNOWN: not told */
    const char *start, *at, *end; /* of the line, which is parsed at `at`; start NULL: there is none */
    size_t taken;                /* bytes up to the next line */
} text_lines;

HD_UNUSED static text_lines lines_make(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    text_lines l = { hd_dump_window(dump, in), hd_dump_reporter(dump), err, options->allocator, HD_UNKNOWN,
                     NULL, NULL, NULL, 0 };
    if (in.data || in.size) l.total = in.size;
    l.window->text = true;
    return l;
}

/* Shows the next line, without its end. */
HD_UNUSED static hd_status lines_next(text_lines *l) {
    hd_window *w = l->window;
    const uint8_t *stop = NULL;
    size_t seen = 0;
    hd_status status = hd_report_progress(l->reporter, hd_window_offset(w), l->total, l->err);
    w->at += l->taken;
    l->taken = 0;
    l->start = NULL;
    while (!status && !stop) {
        size_t there;
        status = hd_window_fill(w, (uint64_t)seen + 1, l->err);
        there = (size_t)(w->end - w->at);
        if (status || there == seen) break;
        stop = (const uint8_t *)memchr(w->at + seen, '\n', there - seen);
        seen = there;
    }
    if (status || w->at == w->end) return status;
    l->start = l->at = (const char *)w->at;
    l->end = (const char *)(stop ? stop : w->end);
    l->taken = (size_t)(l->end - l->start) + (stop != NULL);
    return HD_OK;
}

/* Whether the line goes on with a text, which is passed then. */
HD_UNUSED static bool lines_take(text_lines *l, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, text, n)) return false;
    l->at += n;
    return true;
}

HD_UNUSED static void lines_skip_spaces(text_lines *l) {
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r')) l->at++;
}

/* Whether nothing but spaces is left. */
HD_UNUSED static bool lines_done(text_lines *l) {
    lines_skip_spaces(l);
    return l->at == l->end;
}

/* A number of lower or upper case digits. NULL: passed; else what was expected instead. */
HD_UNUSED static const char *lines_number(text_lines *l, unsigned base, uint64_t *value) {
    const char *start = l->at;
    uint64_t v = 0;
    for (; l->at < l->end; l->at++) {
        unsigned char c = (unsigned char)*l->at;
        unsigned digit = c >= '0' && c <= '9'   ? c - 0x30u
                         : c >= 'a' && c <= 'f' ? c - 0x61u + 10
                         : c >= 'A' && c <= 'F' ? c - 0x41u + 10
                                                : 16;
        if (digit >= base) break;
        if (v > (UINT64_MAX - digit) / base) return l->at = start, "a number of at most 64 bits";
        v = v * base + digit;
    }
    if (l->at == start) return base == 16 ? "a hexadecimal number" : "a decimal number";
    *value = v;
    return NULL;
}

/* The beginning of the rest of the line, as a terminal may have it. Returns its length, of `most` bytes or fewer. */
HD_UNUSED static size_t lines_visible(const text_lines *l, char *text, size_t most) {
    hd_str rest = { l->at, (size_t)(l->end - l->at) }, piece;
    size_t n = 0;
    while (n < most && (piece = hd_visible(&rest)).len) {
        if (piece.len > most - n) piece.len = most - n;
        while (piece.len && piece.data + piece.len < l->end && ((unsigned char)piece.data[piece.len] & 0xc0) == 0x80)
            piece.len--;         /* no half of a character */
        if (!piece.len) break;
        memcpy(text + n, piece.data, piece.len);
        n += piece.len;
    }
    return n;
}

/* What is wrong at a place of the line; format: what was expected there. */
HD_UNUSED static hd_error lines_error(text_lines *l, hd_status status, const char *expected) {
    hd_error found;
    char text[30];
    size_t n = lines_visible(l, text, sizeof text);
    memset(&found, 0, sizeof found);
    found.status = status;
    found.offset = hd_window_offset(l->window) + (uint64_t)(l->at - l->start);
    found.line = hd_window_line(l->window, found.offset);
    snprintf(found.message, sizeof found.message, n ? "%s expected, found '%.*s'" : "%s expected, and the line ends",
             expected, (int)n, text);
    return found;
}

/* Reports that something else was expected at a place of the line: HD_OK says to leave that piece out. */
HD_UNUSED static hd_status lines_wrong(text_lines *l, const char *expected) {
    hd_error found = lines_error(l, HD_MALFORMED, expected);
    return hd_report(l->reporter, &found, l->err);
}

/* Items with room for `more` after `count`, at least twice as many as before; NULL: no memory, which is told. */
HD_UNUSED static void *lines_room(text_lines *l, void *items, size_t count, size_t more, size_t *capacity,
                                  size_t size) {
    size_t wanted = *capacity;
    void *grown;
    if (more <= wanted - count) return items;
    wanted = wanted < 16 ? 16 : 2 * wanted;
    if (wanted < count + more) wanted = count + more;
    grown = l->allocator.allocate(l->allocator.user, items, *capacity * size, wanted * size);
    if (!grown) {
        memset(l->err, 0, sizeof *l->err);
        l->err->status = HD_OUT_OF_MEMORY;
        l->err->offset = hd_window_offset(l->window);
        snprintf(l->err->message, sizeof l->err->message, "no memory for %zu bytes", wanted * size);
        return NULL;
    }
    *capacity = wanted;
    return grown;
}

HD_UNUSED static hd_status lines_full(text_lines *l, const char *what) {
    hd_error found = lines_error(l, HD_LIMIT, "");
    snprintf(found.message, sizeof found.message, "more than 2^32 - 3 %s", what);
    *l->err = found;
    return HD_LIMIT;
}

HD_UNUSED static void lines_free(text_lines *l, void *items, size_t capacity, size_t size) {
    if (items) l->allocator.allocate(l->allocator.user, items, capacity * size, 0);
}

#endif
