/* Base of memprof_yaml.c: libyaml's events with positions in bytes, values, mappings, and lists.

   Most of a large profile is lines of one shape, with a frame each. libyaml would make eleven events of each line, so
   these lines are recognized before libyaml. It gets "- 0" instead, and the frame waits in a queue, with the position
   of that 0. Frames in any other shape go through libyaml. */
#ifndef HEAPDUMP_MEMPROF_YAML_IN_H
#define HEAPDUMP_MEMPROF_YAML_IN_H

#include "memprof_yaml_feed.h"

/* The byte offset of a mark. The mark must not precede the current event. */
static uint64_t yaml_offset(const yaml_in *y, const yaml_mark_t *mark) {
    const yaml_wide *w = (const yaml_wide *)y->wide.items;
    uint64_t more = y->wide_at ? w[y->wide_at - 1].more : 0;
    for (size_t i = y->wide_at; i < y->wide.count && w[i].character <= mark->index; i++) more = w[i].more;
    return y->base + mark->index + more;
}

/* Forgets characters before the current event. */
static void yaml_forget_wide(yaml_in *y) {
    yaml_wide *w = (yaml_wide *)y->wide.items;
    while (y->wide_at < y->wide.count && w[y->wide_at].character <= y->event.start_mark.index) y->wide_at++;
    if (y->wide_at < 4096 || 2 * y->wide_at < y->wide.count) return;
    y->wide.count -= y->wide_at - 1; /* the last one before the event stays */
    memmove(w, w + y->wide_at - 1, y->wide.count * sizeof *w);
    y->wide_at = 1;
}

/* Notes a malformed piece at a mark. */
static hd_status yaml_bad_at(yaml_in *y, uint64_t offset, const yaml_mark_t *mark, const char *format, va_list args) {
    memset(&y->found, 0, sizeof y->found);
    y->found.status = HD_MALFORMED;
    y->found.offset = offset;
    y->found.line = mark->line + 1;
    y->found.column = mark->column + 1;
    vsnprintf(y->found.message, sizeof y->found.message, format, args);
    return HD_MALFORMED;
}

static hd_status yaml_bad(yaml_in *y, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
static hd_status yaml_bad(yaml_in *y, const char *format, ...) {
    va_list args;
    va_start(args, format);
    yaml_bad_at(y, yaml_offset(y, &y->event.start_mark), &y->event.start_mark, format, args);
    va_end(args);
    return HD_MALFORMED;
}

static hd_status yaml_broken(yaml_in *y, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
static hd_status yaml_broken(yaml_in *y, const char *format, ...) {
    va_list args;
    const yaml_parser_t *p = &y->parser;
    bool of_bytes = p->error == YAML_READER_ERROR; /* these errors have an offset instead of a mark */
    va_start(args, format);
    yaml_bad_at(y, yaml_offset(y, &p->problem_mark), &p->problem_mark, format, args);
    va_end(args);
    if (of_bytes) {
        int call = p->problem_offset >= y->call[1].given;
        y->found.offset = y->call[call].fed + (p->problem_offset - y->call[call].given);
        y->found.line = y->call[call].lines + 1;
        y->found.column = 0;
    }
    y->ended = true;
    return HD_MALFORMED;
}

/* The current frame if libyaml did not get it; else NULL. */
static const yaml_quick *yaml_frame_at_hand(const yaml_in *y) {
    const yaml_quick *q;
    if (y->quick_at == y->quick.count) return NULL;
    q = (const yaml_quick *)y->quick.items + y->quick_at;
    return q->character == y->event.start_mark.index && y->event.type == YAML_SCALAR_EVENT ? q : NULL;
}

/* The current event in the words of messages. */
static const char *yaml_found(const yaml_in *y) {
    static char text[64];
    hd_str rest, piece;
    size_t n = 0;
    if (yaml_frame_at_hand(y)) return "a mapping";
    switch (y->event.type) {
    case YAML_SCALAR_EVENT: break;
    case YAML_SEQUENCE_START_EVENT: return "a list";
    case YAML_MAPPING_START_EVENT: return "a mapping";
    case YAML_ALIAS_EVENT: return "an alias";
    case YAML_SEQUENCE_END_EVENT: return "the end of a list";
    case YAML_MAPPING_END_EVENT: return "the end of a mapping";
    default: return "the end of the document";
    }
    rest = hd_cstr((const char *)y->event.data.scalar.value);
    if (!rest.len) return "nothing";
    text[n++] = '\'';
    while (n < 40 && (piece = hd_visible(&rest)).len) {
        if (piece.len > 40 - n) piece.len = 40 - n;
        while (piece.len && piece.len == 40 - n && (piece.data[piece.len - 1] & 0xc0) == 0x80) piece.len--;
        if (!piece.len) break;
        memcpy(text + n, piece.data, piece.len);
        n += piece.len;
    }
    text[n++] = '\'';
    text[n] = 0;
    return text;
}

/* Forgets frames that were skipped or taken. */
static hd_status yaml_forget_quick(yaml_in *y) {
    yaml_quick *q = (yaml_quick *)y->quick.items;
    while (y->quick_at < y->quick.count && q[y->quick_at].character < y->event.start_mark.index) {
        if (!y->skipping) return yaml_bad(y, "a frame precedes this, where frames are not allowed");
        y->quick_at++;
    }
    if (y->quick_at < 4096 || 2 * y->quick_at < y->quick.count) return HD_OK;
    y->quick.count -= y->quick_at;
    memmove(q, q + y->quick_at, y->quick.count * sizeof *q);
    y->quick_at = 0;
    return HD_OK;
}

/* Goes to the next event. HD_MALFORMED: y->found has the error. */
static hd_status yaml_next(yaml_in *y) {
    if (y->has_event) {
        if (y->event.type == YAML_SEQUENCE_END_EVENT || y->event.type == YAML_MAPPING_END_EVENT) y->depth--;
        yaml_event_delete(&y->event);
        y->has_event = false;
    }
    y->at_event = y->fed;
    if (!yaml_parser_parse(&y->parser, &y->event)) {
        if (y->failed) return y->ended = true, y->failed;
        if (y->parser.error == YAML_MEMORY_ERROR) return y->ended = true, yaml_no_memory(y, 0);
        return yaml_broken(y, "%s%s%s", y->parser.context ? y->parser.context : "YAML",
                           y->parser.context ? ", " : ": ", y->parser.problem ? y->parser.problem : "damaged");
    }
    y->has_event = true;
    if (y->event.type == YAML_DOCUMENT_START_EVENT) y->in_document = true;
    if (y->event.type == YAML_DOCUMENT_END_EVENT) y->in_document = false;
    if (y->event.type == YAML_SEQUENCE_START_EVENT || y->event.type == YAML_MAPPING_START_EVENT) y->depth++;
    if (y->depth > DEPTH_MOST) {
        y->ended = true;
        return yaml_bad(y, "lists and mappings nested deeper than %d", DEPTH_MOST);
    }
    if (y->wide.count) yaml_forget_wide(y);
    return y->quick.count ? yaml_forget_quick(y) : HD_OK;
}

/* Goes to the end of the collection at depth `depth`. */
static hd_status yaml_leave(yaml_in *y, uint32_t depth) {
    hd_status status = HD_OK;
    y->skipping = true;
    while (!status && !(y->depth == depth &&
                        (y->event.type == YAML_SEQUENCE_END_EVENT || y->event.type == YAML_MAPPING_END_EVENT)))
        status = yaml_next(y);
    y->skipping = false;
    return status;
}

/* Goes to the end of the current value. */
static hd_status yaml_skip(yaml_in *y) {
    bool opens = y->event.type == YAML_SEQUENCE_START_EVENT || y->event.type == YAML_MAPPING_START_EVENT;
    return opens ? yaml_leave(y, y->depth) : HD_OK;
}

/* Ends a piece at this depth. A malformed piece is reported; lenient reading leaves it out and goes on. */
static hd_status yaml_piece(yaml_in *y, hd_status status, uint32_t depth) {
    if (status != HD_MALFORMED || y->failed) return y->failed ? y->failed : status;
    status = hd_report(y->reporter, &y->found, y->err);
    if (status) return y->failed = status;
    if (y->ended) return HD_OK;
    status = yaml_leave(y, depth);
    if (status == HD_MALFORMED && !y->failed) return yaml_piece(y, status, depth); /* the YAML ends there */
    return status;
}

/* Values. ---------------------------------------------------------------------------------------- */

static bool yaml_is_scalar(const yaml_in *y) { return y->event.type == YAML_SCALAR_EVENT && !yaml_frame_at_hand(y); }

static hd_str yaml_scalar(const yaml_in *y) {
    return (hd_str){ (const char *)y->event.data.scalar.value, y->event.data.scalar.length };
}

static bool yaml_is(hd_str s, const char *text) { return s.len == strlen(text) && !memcmp(s.data, text, s.len); }

/* Null, which may stand for an empty list. */
static bool yaml_is_null(const yaml_in *y) {
    hd_str s = yaml_scalar(y);
    return yaml_is_scalar(y) &&
           (!s.len || yaml_is(s, "~") || yaml_is(s, "null") || yaml_is(s, "Null") || yaml_is(s, "NULL"));
}

/* Digits of a base, up to 64 bits. */
static bool yaml_digits(hd_str s, size_t at, unsigned base, uint64_t *value) {
    uint64_t v = 0;
    if (at == s.len) return false;
    for (; at < s.len; at++) {
        unsigned char c = (unsigned char)s.data[at];
        unsigned digit = c >= '0' && c <= '9'                   ? c - 0x30u
                         : (c | 32) >= 0x61 && (c | 32) <= 0x66 ? (c | 32u) - 0x61 + 10
                                                                : 16;
        if (digit >= base || v > (UINT64_MAX - digit) / base) return false;
        v = v * base + digit;
    }
    *value = v;
    return true;
}

/* A number up to `most`: decimal, 0x, 0b, octal with 0 or 0o. */
static hd_status yaml_number(yaml_in *y, uint64_t most, uint64_t *value) {
    hd_str s = yaml_scalar(y);
    uint64_t v = 0;
    bool good = false;
    if (yaml_is_scalar(y)) {
        char second = s.len > 1 && s.data[0] == '0' ? s.data[1] : 0;
        if ((second | 32) == 'x') good = yaml_digits(s, 2, 16, &v);
        else if ((second | 32) == 'b') good = yaml_digits(s, 2, 2, &v);
        else if (second == 'o') good = yaml_digits(s, 2, 8, &v);
        else good = yaml_digits(s, second != 0, second ? 8 : 10, &v);
    }
    if (!good || v > most)
        return yaml_bad(y, "a number of at most %d bits expected, found %s",
                        most == UINT64_MAX   ? 64
                        : most == UINT32_MAX ? 32
                                             : 1,
                        yaml_found(y));
    *value = v;
    return HD_OK;
}

static hd_status yaml_u32(yaml_in *y, uint32_t *value) {
    uint64_t v = 0;
    hd_status status = yaml_number(y, UINT32_MAX, &v);
    *value = (uint32_t)v;
    return status;
}

static hd_status yaml_bool(yaml_in *y, bool *value) {
    static const char *const words[] = { "false", "true", "False", "True", "FALSE", "TRUE", "n",  "y",
                                         "N",     "Y",    "no",    "yes",  "No",    "Yes",  "NO", "YES",
                                         "off",   "on",   "Off",   "On",   "OFF",   "ON" };
    hd_str s = yaml_scalar(y);
    for (size_t i = 0; yaml_is_scalar(y) && i < sizeof words / sizeof *words; i++)
        if (yaml_is(s, words[i])) return *value = i & 1, HD_OK;
    return yaml_bad(y, "true or false expected, found %s", yaml_found(y));
}

/* A function: 0x and its GUID, or its name, which goes to *name. */
static hd_status yaml_guid(yaml_in *y, uint64_t *guid, hd_str *name) {
    hd_str s = yaml_scalar(y);
    size_t i = 0;
    if (!yaml_is_scalar(y)) return yaml_bad(y, "a function expected, found %s", yaml_found(y));
    if (s.len > 1 && s.data[0] == '0' && (s.data[1] | 32) == 'x') {
        if (yaml_digits(s, 2, 16, guid)) return HD_OK;
        return yaml_bad(y, "a function as 0x and up to 16 digits expected, found %s", yaml_found(y));
    }
    while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9') i++;
    if (i == s.len) return yaml_bad(y, "a function as 0x and digits, or its name, expected, found %s", yaml_found(y));
    *guid = hd_memprof_guid(s);
    if (name) *name = yaml_keep(y, s);
    return y->failed;
}

/* Mappings. -------------------------------------------------------------------------------------- */

typedef struct yaml_key {
    const char *name;
    size_t length;
} yaml_key;
#define KEY(text) { text, sizeof text - 1 }

/* The keys of a mapping; `seen` begins with 0. */
typedef struct yaml_mapping {
    const yaml_key *keys;
    unsigned count, next;        /* next: the key that probably comes next */
    uint32_t seen;
} yaml_mapping;

static hd_status yaml_enter(yaml_in *y, const char *what) {
    return y->event.type == YAML_MAPPING_START_EVENT
               ? HD_OK
               : yaml_bad(y, "%s expected as a mapping, found %s", what, yaml_found(y));
}

/* Goes to the value of the next key. *key is its number, or `count` at the end of the mapping. Unknown keys of a
   listing are skipped. */
static hd_status yaml_member(yaml_in *y, yaml_mapping *m, unsigned *key) {
    for (;;) {
        hd_status status = y->ended ? HD_OK : yaml_next(y);
        hd_str s;
        unsigned i;
        if (y->ended && !status)
            return *key = m->count, HD_OK; /* lenient reading has reached damaged YAML */
        if (status) return status;
        if (y->event.type == YAML_MAPPING_END_EVENT) return *key = m->count, HD_OK;
        if (!yaml_is_scalar(y)) return yaml_bad(y, "a key expected, found %s", yaml_found(y));
        s = yaml_scalar(y);
        i = m->next;
        if (i >= m->count || s.len != m->keys[i].length || memcmp(s.data, m->keys[i].name, s.len))
            for (i = 0; i < m->count && (s.len != m->keys[i].length || memcmp(s.data, m->keys[i].name, s.len)); i++) {
            }
        if (i < m->count && m->seen >> i & 1) return yaml_bad(y, "duplicate key %s", m->keys[i].name);
        if (i == m->count && !y->is_listing) return yaml_bad(y, "unknown key %s", yaml_found(y));
        status = yaml_next(y);
        if (status || i < m->count) {
            m->seen |= i < m->count ? 1u << i : 0;
            m->next = i + 1;
            return *key = i, status;
        }
        status = yaml_skip(y);
        if (status) return status;
    }
}

/* Checks that the mapping has the keys of these bits. */
static hd_status yaml_needs(yaml_in *y, const yaml_mapping *m, uint32_t bits, const char *what) {
    for (unsigned i = 0; i < m->count; i++)
        if (bits >> i & 1 && !(m->seen >> i & 1)) return yaml_bad(y, "%s without %s", what, m->keys[i].name);
    return HD_OK;
}

/* Reads a list. `item` is called at the first event of each item, and returns at its last event. */
static hd_status yaml_list(yaml_in *y, const char *what, hd_status (*item)(yaml_in *y)) {
    hd_status status = HD_OK;
    if (yaml_is_null(y)) return HD_OK;
    if (y->event.type != YAML_SEQUENCE_START_EVENT)
        return yaml_bad(y, "a list of %s expected, found %s", what, yaml_found(y));
    while (!status && !y->ended) {
        status = yaml_next(y);
        if (status || y->event.type == YAML_SEQUENCE_END_EVENT) break;
        status = item(y);
    }
    return status;
}

#endif
