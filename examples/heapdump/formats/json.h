/* JSON of any length, token by token, for the readers in this folder. The first failure sticks: later calls do
   nothing and return false, so a reader checks `status` once. Broken syntax always fails. A value of the wrong kind
   is reported (json_wrong); lenient reading continues after it. */
#ifndef HEAPDUMP_FORMATS_JSON_H
#define HEAPDUMP_FORMATS_JSON_H

#include "room.h"

typedef struct json_in {
    hd_lines lines;              /* only its window, reporter and error position are used */
    uint64_t total;              /* bytes of the input, or HD_UNKNOWN */
    hd_status status;
    uint32_t max_depth;
    char *text;                  /* the last string or key, unescaped */
    size_t size, room;
} json_in;

enum { JSON_DEPTH = 512, JSON_MOST_DEPTH = 1024, JSON_NUMBER = 32 };

HD_UNUSED static json_in json_make(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    json_in j = HD_ZERO;
    j.lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    j.lines.window->text = true;
    j.total = in.data || in.size ? in.size : HD_UNKNOWN;
    j.max_depth = options->limits.max_depth;
    if (!j.max_depth) j.max_depth = JSON_DEPTH;
    if (j.max_depth > JSON_MOST_DEPTH) j.max_depth = JSON_MOST_DEPTH;
    return j;
}

HD_UNUSED static void json_free(json_in *j) { room_free(&j->lines, j->text, j->room, 1); }

/* Makes at least `want` bytes visible, or the rest. False: no byte is left. */
HD_UNUSED static bool json_fill(json_in *j, size_t want) {
    hd_window *w = j->lines.window;
    if (j->status) return false;
    if ((size_t)(w->end - w->at) < want && !w->ended) j->status = hd_window_fill(w, want, j->lines.err);
    return !j->status && w->at < w->end;
}

/* The current byte, or -1: the input has ended, or reading has failed. */
HD_UNUSED static int json_byte(json_in *j) {
    const hd_window *w = j->lines.window;
    if (j->status || (w->at == w->end && !json_fill(j, 1))) return -1;
    return *w->at;
}

HD_UNUSED static bool json_is_space(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Skips white space; returns the next byte. */
HD_UNUSED static int json_peek(json_in *j) {
    int c = json_byte(j);
    for (; json_is_space(c); c = json_byte(j)) j->lines.window->at++;
    return c;
}

/* An error at the current byte, with the expected text. */
HD_UNUSED static hd_error json_error(json_in *j, hd_status status, const char *expected) {
    hd_lines *l = &j->lines;
    json_fill(j, JSON_NUMBER);
    l->start = l->at = (const char *)l->window->at;
    l->end = (const char *)l->window->end;
    l->number = hd_window_line(l->window, hd_window_offset(l->window));
    hd_error found = hd_lines_error(l, status, expected);
    if (l->at == l->end) snprintf(found.message, sizeof found.message, "%s expected, and the input ends", expected);
    return found;
}

/* Fails, in lenient reading too. Returns false. */
HD_UNUSED static bool json_fail(json_in *j, hd_status status, const char *expected) {
    hd_error found;
    if (j->status) return false;
    found = json_error(j, status, expected);
    if (j->status) return false;
    *j->lines.err = found;
    j->status = status;
    return false;
}

/* Reports a malformed piece. Lenient reading leaves it out. Returns false. */
HD_UNUSED static bool json_report(json_in *j, const hd_error *found) {
    if (!j->status) j->status = hd_report(j->lines.reporter, found, j->lines.err);
    return false;
}

/* Takes a byte, after white space. */
HD_UNUSED static bool json_take(json_in *j, char c, const char *expected) {
    if (json_peek(j) != (unsigned char)c) return json_fail(j, HD_MALFORMED, expected);
    j->lines.window->at++;
    return true;
}

/* Appends bytes to the current string. */
HD_UNUSED static bool json_put(json_in *j, const void *bytes, size_t n) {
    if (!room_grow(&j->lines, &j->text, j->size, n + 1, &j->room, 1)) return j->status = j->lines.err->status, false;
    memcpy(j->text + j->size, bytes, n);
    j->size += n;
    j->text[j->size] = 0;
    return true;
}

/* Four hexadecimal digits, after "\u". */
HD_UNUSED static bool json_code(json_in *j, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int c = json_byte(j);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return json_fail(j, HD_MALFORMED, "a hexadecimal digit");
        *code = *code << 4 | (uint32_t)digit;
        j->lines.window->at++;
    }
    return true;
}

/* A character as UTF-8. */
HD_UNUSED static bool json_put_code(json_in *j, uint32_t code) {
    char utf8[4];
    size_t n = 1;
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    utf8[0] = (char)(!more ? code : (0xff00u >> (more + 1) & 0xff) | code >> 6 * more);
    while (more--) utf8[n++] = (char)(0x80 | (code >> 6 * more & 0x3f));
    return json_put(j, utf8, n);
}

/* A character after "\u", as UTF-8. Half of a surrogate pair becomes three bytes. */
HD_UNUSED static bool json_unicode(json_in *j) {
    uint32_t code, low;
    const hd_window *w = j->lines.window;
    if (!json_code(j, &code)) return false;
    while (code >= 0xd800 && code < 0xdc00 && json_fill(j, 2) && w->end - w->at >= 2 && !memcmp(w->at, "\\u", 2)) {
        j->lines.window->at += 2;
        if (!json_code(j, &low)) return false;
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            break;
        }
        if (!json_put_code(j, code)) return false;
        code = low;
    }
    return !j->status && json_put_code(j, code);
}

HD_UNUSED static bool json_escape(json_in *j) {
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    int c = json_byte(j);
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (!letter && c != 'u') return json_fail(j, HD_MALFORMED, "one of \"\\/bfnrtu");
    j->lines.window->at++;
    return letter ? json_put(j, means + (letter - letters), 1) : json_unicode(j);
}

/* A string, into `text` and `size`; a 0 byte follows. */
HD_UNUSED static bool json_string(json_in *j) {
    hd_window *w = j->lines.window;
    j->size = 0;
    if (!json_take(j, '"', "a string") || !json_put(j, "", 0)) return false;
    while (json_byte(j) >= 0) {
        const uint8_t *from = w->at;
        while (w->at < w->end && *w->at != '"' && *w->at != '\\') w->at++;
        if (!json_put(j, from, (size_t)(w->at - from))) return false;
        if (w->at == w->end) continue;
        if (*w->at++ == '"') return true;
        if (!json_escape(j)) return false;
    }
    return json_fail(j, HD_MALFORMED, "'\"'");
}

/* Whether one more item of an object or array follows, after a comma unless it is the first. Takes the end. */
HD_UNUSED static bool json_more(json_in *j, char end, bool *begun) {
    int c = json_peek(j);
    if (c == end) j->lines.window->at++;
    if (j->status || c == end) return false;
    if (*begun && !json_take(j, ',', end == ']' ? "',' or ']'" : "',' or '}'")) return false;
    return *begun = true;
}

/* The key of the next value, into `text`. */
HD_UNUSED static bool json_key(json_in *j) {
    return json_string(j) && json_take(j, ':', "':'");
}

HD_UNUSED static bool json_key_is(const json_in *j, const char *key) {
    return j->size == strlen(key) && !memcmp(j->text, key, j->size);
}

/* Skips a string. */
HD_UNUSED static bool json_skip_string(json_in *j) {
    hd_window *w = j->lines.window;
    w->at++;
    for (int c = json_byte(j); c >= 0; c = json_byte(j)) {
        w->at++;
        if (c == '"') return true;
        if (c == '\\' && json_byte(j) >= 0) w->at++;
    }
    return json_fail(j, HD_MALFORMED, "'\"'");
}

/* Skips a number or word. */
HD_UNUSED static bool json_skip_word(json_in *j) {
    int c = json_peek(j);
    if (c < 0 || c == ',' || c == ']' || c == '}' || c == ':') return json_fail(j, HD_MALFORMED, "a value");
    for (; c >= 0 && !json_is_space(c) && c != ',' && c != ']' && c != '}'; c = json_byte(j)) j->lines.window->at++;
    return !j->status;
}

/* Skips a value. Checks only that its brackets match and its strings end. */
HD_UNUSED static bool json_skip(json_in *j) {
    char ends[JSON_MOST_DEPTH];
    uint32_t depth = 0;
    do {
        int c = json_peek(j);
        bool good = true;
        if (c == '"') good = json_skip_string(j);
        else if (c == '[' || c == '{') {
            if (depth == j->max_depth) return json_fail(j, HD_LIMIT, "fewer nested brackets");
            ends[depth++] = c == '[' ? ']' : '}';
            j->lines.window->at++;
        } else if (depth && c == ends[depth - 1]) {
            depth--;
            j->lines.window->at++;
        } else if (depth && (c == ',' || c == ':')) j->lines.window->at++;
        else good = json_skip_word(j);
        if (!good) return false;
    } while (depth);
    return !j->status;
}

/* Reports the current value, where another kind was expected, and skips it. Returns false. */
HD_UNUSED static bool json_wrong(json_in *j, const char *expected) {
    hd_error found;
    json_peek(j);
    if (j->status) return false;
    found = json_error(j, HD_MALFORMED, expected);
    json_report(j, &found);
    json_skip(j);
    return false;
}

/* Opens an object or array by its bracket. */
HD_UNUSED static bool json_open(json_in *j, char bracket) {
    if (json_peek(j) != bracket) return json_wrong(j, bracket == '[' ? "an array" : "an object");
    j->lines.window->at++;
    return true;
}

/* A string. Another value is reported. */
HD_UNUSED static bool json_text(json_in *j) {
    return json_peek(j) == '"' ? json_string(j) : json_wrong(j, "a string");
}

/* A whole number of at most 64 bits. */
HD_UNUSED static bool json_u64(json_in *j, uint64_t *value) {
    hd_lines *l = &j->lines;
    const char *wrong;
    json_peek(j);
    json_fill(j, JSON_NUMBER);
    l->start = l->at = (const char *)l->window->at;
    l->end = (const char *)l->window->end;
    wrong = hd_lines_number(l, 10, value);
    if (!wrong && l->at < l->end && !json_is_space(*l->at) && !strchr(",]}", *l->at)) wrong = "a decimal number";
    if (wrong) return json_wrong(j, wrong);
    l->window->at = (const uint8_t *)l->at;
    return !j->status;
}

HD_UNUSED static bool json_bool(json_in *j, bool *value) {
    hd_window *w = j->lines.window;
    json_peek(j);
    json_fill(j, JSON_NUMBER);
    *value = w->end - w->at >= 4 && !memcmp(w->at, "true", 4);
    if (!*value && (w->end - w->at < 5 || memcmp(w->at, "false", 5))) return json_wrong(j, "true or false");
    w->at += *value ? 4 : 5;
    return !j->status;
}

/* Checks that only white space is left. */
HD_UNUSED static bool json_end(json_in *j) {
    int c = json_peek(j);
    return c < 0 ? !j->status : json_fail(j, HD_MALFORMED, "the end of the input");
}

#endif
