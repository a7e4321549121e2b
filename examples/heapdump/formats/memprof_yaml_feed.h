/* Feeds bytes to libyaml, and keeps memory for the results. Lines with frames are recognized before libyaml. */
#ifndef HEAPDUMP_MEMPROF_YAML_FEED_H
#define HEAPDUMP_MEMPROF_YAML_FEED_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "../../../heapdump.h"

enum {
    SCALAR_MOST = 1 << 24,       /* bytes between two events */
    BEFORE_MOST = 1 << 16,       /* bytes before a document: libyaml compares all tags that are declared there */
    DEPTH_MOST = 32,             /* open collections: with each token, libyaml looks at every open one */
    CHUNK = 4064                 /* bytes of a chunk of text, at least */
};

/* A character of several bytes: its number, and the bytes beyond one per character up to its end. */
typedef struct yaml_wide {
    uint64_t character, more;
} yaml_wide;

typedef struct yaml_chunk {
    struct yaml_chunk *next;
    size_t capacity, used;
} yaml_chunk;

/* A frame that libyaml does not get, and the number of the character that it gets instead. */
typedef struct yaml_quick {
    uint64_t character, function;
    uint32_t line_offset, column;
    bool inlined;
} yaml_quick;

/* A growing list of rows. */
typedef struct yaml_rows {
    void *items;
    size_t count, capacity, size;
} yaml_rows;

/* The locations of a call stack; for a call site, also its callees. */
typedef struct yaml_site {
    size_t first, callee;
    uint32_t length, callees;
} yaml_site;

typedef struct yaml_block {
    size_t first;
    uint32_t length, fields;
    uint64_t value[HD_MEMPROF_FIELDS];
} yaml_block;

typedef struct yaml_in {
    yaml_parser_t parser;
    yaml_event_t event;          /* the current one */
    bool is_made, has_event, ended; /* ended: nothing more can be read */
    bool is_listing;             /* of a raw profile */
    uint32_t depth;              /* of open collections, including a collection that the event opens */
    hd_window *window;
    hd_reporter *reporter;
    hd_allocator allocator;
    hd_memprof_builder *builder;
    hd_status failed;            /* an error other than malformed input, which err describes */
    hd_error *err, found;        /* found: the malformed piece */
    bool in_document;
    uint64_t total, fed, at_event; /* bytes of the input; of these taken; taken at the last event */
    uint64_t base;               /* bytes of a byte order mark */
    uint64_t characters, more;   /* fed characters; bytes beyond one for each */
    yaml_rows wide;              /* characters that may still be looked up */
    yaml_rows quick;
    size_t wide_at, quick_at;
    struct {
        uint64_t given, fed, lines;
    } call[2];                   /* the counts before each of the last two calls for bytes */
    uint64_t given, lines;       /* bytes that libyaml got; line ends in them */
    bool in_line, skipping;      /* the next bytes continue a line; values are being skipped */
    yaml_rows locations, blocks, sites, callees, places; /* of the current record */
    yaml_chunk *text;            /* its names */
    uint64_t records;
    uint64_t cuts;               /* numbers that were cut to 32 bits */
} yaml_in;

/* Memory. ---------------------------------------------------------------------------------------- */

static hd_status yaml_no_memory(yaml_in *y, size_t size) {
    memset(y->err, 0, sizeof *y->err);
    y->err->status = HD_OUT_OF_MEMORY;
    y->err->offset = y->fed;
    snprintf(y->err->message, sizeof y->err->message, "no memory for %zu bytes", size);
    return y->failed = HD_OUT_OF_MEMORY;
}

/* Adds a row. Out of memory, it reports the error and returns it. */
static hd_status yaml_push(yaml_in *y, yaml_rows *r, const void *row, size_t size) {
    if (r->count == r->capacity) {
        size_t more = r->capacity ? 2 * r->capacity : 16;
        void *grown = y->allocator.allocate(y->allocator.user, r->items, r->capacity * size, more * size);
        if (!grown) return yaml_no_memory(y, more * size);
        r->items = grown;
        r->capacity = more;
        r->size = size;
    }
    memcpy((char *)r->items + r->count++ * size, row, size);
    return HD_OK;
}

static void yaml_rows_free(yaml_in *y, yaml_rows *r) {
    if (r->items) y->allocator.allocate(y->allocator.user, r->items, r->capacity * r->size, 0);
}

/* Keeps a text until the record ends. Out of memory, it reports the error and returns an empty text. */
static hd_str yaml_keep(yaml_in *y, hd_str s) {
    yaml_chunk *c = y->text;
    hd_str kept = { "", 0 };
    if (!c || c->capacity - c->used < s.len) {
        size_t capacity = s.len > CHUNK ? s.len : CHUNK;
        c = (yaml_chunk *)y->allocator.allocate(y->allocator.user, NULL, 0, sizeof *c + capacity);
        if (!c) return yaml_no_memory(y, sizeof *c + capacity), kept;
        c->next = y->text;
        c->capacity = capacity;
        c->used = 0;
        y->text = c;
    }
    kept = (hd_str){ (char *)(c + 1) + c->used, s.len };
    if (s.len) memcpy((char *)(c + 1) + c->used, s.data, s.len);
    c->used += s.len;
    return kept;
}

/* Empties the record. Its last chunk of text stays for the next one. */
static void yaml_begin(yaml_in *y) {
    y->locations.count = y->blocks.count = y->sites.count = y->callees.count = y->places.count = 0;
    while (y->text && y->text->next) {
        yaml_chunk *next = y->text->next;
        y->text->next = next->next;
        y->allocator.allocate(y->allocator.user, next, sizeof *next + next->capacity, 0);
    }
    if (y->text) y->text->used = 0;
}

/* Bytes to libyaml, and places in them. ---------------------------------------------------------- */

/* Notes the positions of characters of several bytes, because libyaml counts characters. */
static void yaml_note_wide(yaml_in *y, const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        yaml_wide w;
        if ((p[i] & 0xc0) != 0x80) {
            y->characters++;
            continue;
        }
        w.character = y->characters, w.more = ++y->more;
        if (yaml_push(y, &y->wide, &w, sizeof w)) return;
    }
}

static bool yaml_take(const uint8_t **at, const uint8_t *end, const char *text, size_t n) {
    if ((size_t)(end - *at) < n || memcmp(*at, text, n)) return false;
    *at += n;
    return true;
}
#define TAKE(text) yaml_take(&at, end, text, sizeof text - 1)

/* A number without leading zeros, which would make it octal. */
static bool yaml_take_number(const uint8_t **at, const uint8_t *end, uint32_t *value) {
    const uint8_t *p = *at;
    uint32_t v = 0;
    while (p < end && p - *at < 9 && *p >= '0' && *p <= '9') v = 10 * v + (uint32_t)(*p++ - '0');
    if (p == *at || (**at == '0' && p > *at + 1)) return false;
    *at = p;
    *value = v;
    return true;
}

enum { QUICK_MOST = 512 };       /* bytes of a line with a frame */

/* The length of a line with a frame, as LLVM writes it; 0 for other lines. */
static size_t yaml_quick_line(const uint8_t *start, const uint8_t *end, yaml_quick *f, size_t *indent) {
    const uint8_t *at = start, *digits;
    uint64_t v = 0;
    while (at < end && *at == ' ') at++;
    *indent = (size_t)(at - start);
    if (!TAKE("- { Function: 0x")) return 0;
    for (digits = at; at < end && at - digits < 16; at++) {
        unsigned c = *at, digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
        if (digit == 16) break;
        v = v << 4 | digit;
    }
    f->function = v;
    if (at == digits || !TAKE(", LineOffset: ") || !yaml_take_number(&at, end, &f->line_offset)) return 0;
    if (!TAKE(", Column: ") || !yaml_take_number(&at, end, &f->column) || !TAKE(", IsInlineFrame: ")) return 0;
    f->inlined = at < end && *at == 't';
    if (!(f->inlined ? TAKE("true }\n") : TAKE("false }\n"))) return 0;
    return (size_t)(at - start);
}

/* Feeds "- 0" for a line with a frame. Returns the number of bytes; 0: another line, or no room. */
static size_t yaml_feed_quick(yaml_in *y, unsigned char *buffer, size_t capacity) {
    yaml_quick f;
    yaml_wide w;
    size_t indent, n = yaml_quick_line(y->window->at, y->window->end, &f, &indent);
    if (!n || indent + 4 > capacity) return 0;
    f.character = y->characters + indent + 2;
    w.character = y->characters + indent + 4, w.more = y->more + n - indent - 4;
    if (yaml_push(y, &y->quick, &f, sizeof f) || yaml_push(y, &y->wide, &w, sizeof w)) return 0;
    memset(buffer, ' ', indent);
    memcpy(buffer + indent, "- 0\n", 4);
    y->characters = w.character, y->more = w.more;
    y->window->at += n;
    y->fed += n;
    y->lines++;
    return indent + 4;
}

/* Whether bytes may be invalid as text. */
static bool yaml_is_odd(const uint8_t *p, size_t n) {
    unsigned odd = 0;
    for (size_t i = 0; i < n; i++)
        odd |= (unsigned)(p[i] >= 0x7f) | ((unsigned)(p[i] < 0x20) & (unsigned)(p[i] != '\n'));
    return odd != 0;
}

/* Feeds up to the end of the current line. Bytes that may be invalid go in a call of their own, so that their
   position is known. Returns 0 if other bytes are already in this call. */
static size_t yaml_feed_line(yaml_in *y, unsigned char *buffer, size_t capacity, bool *is_first) {
    hd_window *w = y->window;
    size_t n = (size_t)(w->end - w->at);
    const uint8_t *stop;
    if (n > capacity) n = capacity;
    stop = (const uint8_t *)memchr(w->at, '\n', n);
    if (stop) n = (size_t)(stop - w->at) + 1;
    if (yaml_is_odd(w->at, n)) {
        if (!*is_first) return 0;
        yaml_note_wide(y, w->at, n);
    } else {
        y->characters += n;
        *is_first = false;
    }
    memcpy(buffer, w->at, n);
    w->at += n;
    y->fed += n;
    y->in_line = !stop;
    y->lines += stop != NULL;
    return n;
}

/* Ends reading after too many bytes without an event. */
static int yaml_too_much(yaml_in *y, uint64_t offset, uint64_t line, const char *format, int most) {
    memset(y->err, 0, sizeof *y->err);
    y->err->status = HD_LIMIT;
    y->err->offset = offset;
    y->err->line = line;
    snprintf(y->err->message, sizeof y->err->message, format, most);
    y->failed = HD_LIMIT;
    return 0;
}

/* A yaml_read_handler_t. 0 ends reading; y->failed has the reason. */
static int yaml_feed(void *user, unsigned char *buffer, size_t capacity, size_t *read) {
    yaml_in *y = (yaml_in *)user;
    hd_window *w = y->window;
    size_t n, room = capacity;
    *read = 0;
    if (!y->in_document && y->fed - y->at_event > BEFORE_MOST)
        return yaml_too_much(y, y->at_event, y->event.end_mark.line + 1,
                             "more than %d bytes before a document begins", BEFORE_MOST);
    if (y->fed - y->at_event > SCALAR_MOST)
        return yaml_too_much(y, y->at_event, y->event.end_mark.line + 1,
                             "more than %d bytes without a key, a value or a bracket", SCALAR_MOST);
    y->call[0] = y->call[1];
    y->call[1].given = y->given, y->call[1].fed = y->fed, y->call[1].lines = y->lines;
    y->failed = hd_report_progress(y->reporter, y->fed, y->total, y->err);
    while (!y->failed && room) {
        y->failed = hd_window_fill(w, y->in_line ? 1 : QUICK_MOST, y->err);
        if (y->failed || w->at == w->end) break;
        n = y->in_line ? 0 : yaml_feed_quick(y, buffer + capacity - room, room);
        if (!n && !y->failed && !y->in_line && room < QUICK_MOST && room < capacity) break; /* no room */
        if (!n && !y->failed) {
            bool is_first = room == capacity;
            n = yaml_feed_line(y, buffer + capacity - room, room, &is_first);
            if (!n || is_first) {
                room -= n;
                break;
            }
        }
        room -= n;
    }
    *read = capacity - room;
    y->given += *read;
    return !y->failed;
}

#endif
