/* What memprof_yaml.c stands on: libyaml's events with places in bytes, values, mappings, rows that grow.

   Nearly all of a large profile are lines of one shape, a frame each. These are recognized on their way to libyaml,
   which would make eleven events of each: it gets "- 0" instead, and the frame waits in a queue under the place of
   that 0. Any other way to write a frame goes through libyaml. */
#ifndef HEAPDUMP_MEMPROF_YAML_IN_H
#define HEAPDUMP_MEMPROF_YAML_IN_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "../../../heapdump.h"

enum {
    SCALAR_MOST = 1 << 24,       /* bytes between two events */
    BEFORE_MOST = 1 << 16,       /* bytes before a document: libyaml compares all tags that are declared there */
    DEPTH_MOST = 32,             /* open collections: of all that are open libyaml looks at each with each token */
    CHUNK = 4064                 /* of text, at least */
};

/* Characters of several bytes: how many bytes more than characters come before the one with this number, and it. */
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

/* A column of what grows. */
typedef struct yaml_rows {
    void *items;
    size_t count, capacity, size;
} yaml_rows;

/* Locations of a call stack; of a call site also its callees. */
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
    yaml_event_t event;          /* the one at hand */
    bool is_made, has_event, ended; /* ended: nothing can be read any more */
    bool is_listing;             /* of a raw profile */
    uint32_t depth;              /* of open collections, that of the event included when it opens one */
    hd_window *window;
    hd_reporter *reporter;
    hd_allocator allocator;
    hd_memprof_builder *builder;
    hd_status failed;            /* other than that the input is malformed; told in err */
    hd_error *err, found;        /* found: what is malformed */
    bool in_document;
    uint64_t total, fed, told;   /* bytes of the input; of these taken; taken when the last event came */
    uint64_t base;               /* of a byte order mark */
    uint64_t characters, more;   /* of those; bytes beyond one for each */
    yaml_rows wide;              /* those that may still be asked for */
    yaml_rows quick;
    size_t wide_at, quick_at;
    struct {
        uint64_t given, fed, lines;
    } call[2];                   /* before the last two calls for bytes: those given to libyaml, ... */
    uint64_t given, lines;       /* bytes that libyaml got; ends of lines in them */
    bool in_line, skipping;      /* what is fed next does not begin a line; values are passed over */
    yaml_rows locations, blocks, sites, callees, places; /* of the record at hand */
    yaml_chunk *text;            /* its names */
    uint64_t records;
    uint64_t cut_told;           /* numbers that were cut to their width */
} yaml_in;

/* Memory. ---------------------------------------------------------------------------------------- */

static hd_status yaml_no_memory(yaml_in *y, size_t size) {
    memset(y->err, 0, sizeof *y->err);
    y->err->status = HD_OUT_OF_MEMORY;
    y->err->offset = y->fed;
    snprintf(y->err->message, sizeof y->err->message, "no memory for %zu bytes", size);
    return y->failed = HD_OUT_OF_MEMORY;
}

/* A new row; NULL: no memory, which is told. */
static void *yaml_push(yaml_in *y, yaml_rows *r, size_t size) {
    if (r->count == r->capacity) {
        size_t more = r->capacity ? 2 * r->capacity : 16;
        void *grown = y->allocator.allocate(y->allocator.user, r->items, r->capacity * size, more * size);
        if (!grown) return yaml_no_memory(y, more * size), (void *)NULL;
        r->items = grown;
        r->capacity = more;
        r->size = size;
    }
    return (char *)r->items + r->count++ * size;
}

static void yaml_rows_free(yaml_in *y, yaml_rows *r) {
    if (r->items) y->allocator.allocate(y->allocator.user, r->items, r->capacity * r->size, 0);
}

/* Keeps a text until the record ends; for want of memory, which is told, it is empty. */
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

/* Empties the record; of its texts the last chunk stays. */
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

/* Remembers where characters of several bytes are: libyaml counts characters. */
static void yaml_note_wide(yaml_in *y, const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        yaml_wide *w;
        if ((p[i] & 0xc0) != 0x80) {
            y->characters++;
            continue;
        }
        y->more++;
        w = (yaml_wide *)yaml_push(y, &y->wide, sizeof *w);
        if (!w) return;
        w->character = y->characters, w->more = y->more;
    }
}

static bool yaml_take(const uint8_t **at, const uint8_t *end, const char *text, size_t n) {
    if ((size_t)(end - *at) < n || memcmp(*at, text, n)) return false;
    *at += n;
    return true;
}
#define TAKE(text) yaml_take(&at, end, text, sizeof text - 1)

/* A number without zeros in front, which would make it octal. */
static bool yaml_take_number(const uint8_t **at, const uint8_t *end, uint32_t *value) {
    const uint8_t *p = *at;
    uint32_t v = 0;
    while (p < end && p - *at < 9 && *p >= '0' && *p <= '9') v = 10 * v + (uint32_t)(*p++ - '0');
    if (p == *at || (**at == '0' && p > *at + 1)) return false;
    *at = p;
    *value = v;
    return true;
}

enum { QUICK_MOST = 512 };       /* bytes of a line that is a frame */

/* Length of a line that is a frame as LLVM writes it, 0: it is none. */
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

/* Feeds "- 0" for a line that is a frame. How many bytes; 0: it is none, or there is no room. */
static size_t yaml_feed_quick(yaml_in *y, unsigned char *buffer, size_t capacity) {
    yaml_quick f, *to;
    yaml_wide *w;
    size_t indent, n = yaml_quick_line(y->window->at, y->window->end, &f, &indent);
    if (!n || indent + 4 > capacity) return 0;
    f.character = y->characters + indent + 2;
    to = (yaml_quick *)yaml_push(y, &y->quick, sizeof f);
    w = to ? (yaml_wide *)yaml_push(y, &y->wide, sizeof *w) : NULL;
    if (!w) return 0;
    *to = f;
    memset(buffer, ' ', indent);
    memcpy(buffer + indent, "- 0\n", 4);
    y->characters += indent + 4;
    y->more += n - indent - 4;
    w->character = y->characters, w->more = y->more;
    y->window->at += n;
    y->fed += n;
    y->lines++;
    return indent + 4;
}

/* Whether there are bytes which are no text, maybe. */
static bool yaml_is_odd(const uint8_t *p, size_t n) {
    unsigned odd = 0;
    for (size_t i = 0; i < n; i++)
        odd |= (unsigned)(p[i] >= 0x7f) | ((unsigned)(p[i] < 0x20) & (unsigned)(p[i] != '\n'));
    return odd != 0;
}

/* Feeds up to the end of the line at hand. What may be no text goes alone, so that its place is known: 0 when
   something is before it. */
static size_t yaml_feed_line(yaml_in *y, unsigned char *buffer, size_t capacity, bool *alone) {
    hd_window *w = y->window;
    size_t n = (size_t)(w->end - w->at);
    const uint8_t *stop;
    if (n > capacity) n = capacity;
    stop = (const uint8_t *)memchr(w->at, '\n', n);
    if (stop) n = (size_t)(stop - w->at) + 1;
    if (yaml_is_odd(w->at, n)) {
        if (!*alone) return 0;
        yaml_note_wide(y, w->at, n);
    } else {
        y->characters += n;
        *alone = false;
    }
    memcpy(buffer, w->at, n);
    w->at += n;
    y->fed += n;
    y->in_line = !stop;
    y->lines += stop != NULL;
    return n;
}

/* Ends reading for want of an event. */
static int yaml_too_much(yaml_in *y, uint64_t offset, uint64_t line, const char *format, int most) {
    memset(y->err, 0, sizeof *y->err);
    y->err->status = HD_LIMIT;
    y->err->offset = offset;
    y->err->line = line;
    snprintf(y->err->message, sizeof y->err->message, format, most);
    y->failed = HD_LIMIT;
    return 0;
}

/* A yaml_read_handler_t: 0 ends, y->failed says how. */
static int yaml_feed(void *user, unsigned char *buffer, size_t capacity, size_t *read) {
    yaml_in *y = (yaml_in *)user;
    hd_window *w = y->window;
    size_t n, room = capacity;
    *read = 0;
    if (!y->in_document && y->fed - y->told > BEFORE_MOST)
        return yaml_too_much(y, y->told, y->event.end_mark.line + 1, "more than %d bytes before a document begins",
                             BEFORE_MOST);
    if (y->fed - y->told > SCALAR_MOST)
        return yaml_too_much(y, y->told, y->event.end_mark.line + 1,
                             "more than %d bytes without a key, a value or a bracket", SCALAR_MOST);
    y->call[0] = y->call[1];
    y->call[1].given = y->given, y->call[1].fed = y->fed, y->call[1].lines = y->lines;
    y->failed = hd_report_progress(y->reporter, y->fed, y->total, y->err);
    while (!y->failed && room) {
        y->failed = hd_window_fill(w, y->in_line ? 1 : QUICK_MOST, y->err);
        if (y->failed || w->at == w->end) break;
        n = y->in_line ? 0 : yaml_feed_quick(y, buffer + capacity - room, room);
        if (!n && !y->failed && !y->in_line && room < QUICK_MOST && room < capacity) break; /* for want of room */
        if (!n && !y->failed) {
            bool alone = room == capacity;
            n = yaml_feed_line(y, buffer + capacity - room, room, &alone);
            if (!n || alone) {
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

/* The offset of a mark, which is not before that of an event asked for earlier. */
static uint64_t yaml_offset(const yaml_in *y, const yaml_mark_t *mark) {
    const yaml_wide *w = (const yaml_wide *)y->wide.items;
    uint64_t more = y->wide_at ? w[y->wide_at - 1].more : 0;
    for (size_t i = y->wide_at; i < y->wide.count && w[i].character <= mark->index; i++) more = w[i].more;
    return y->base + mark->index + more;
}

/* Forgets what no later event asks for. */
static void yaml_forget_wide(yaml_in *y) {
    yaml_wide *w = (yaml_wide *)y->wide.items;
    while (y->wide_at < y->wide.count && w[y->wide_at].character <= y->event.start_mark.index) y->wide_at++;
    if (y->wide_at < 4096 || 2 * y->wide_at < y->wide.count) return;
    y->wide.count -= y->wide_at - 1; /* the last that counts stays */
    memmove(w, w + y->wide_at - 1, y->wide.count * sizeof *w);
    y->wide_at = 1;
}

/* What is malformed, at a mark. */
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
    bool of_bytes = p->error == YAML_READER_ERROR; /* these have no mark, but an offset */
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

/* The frame at hand, which libyaml did not get; NULL: it did. */
static const yaml_quick *yaml_frame_at_hand(const yaml_in *y) {
    const yaml_quick *q;
    if (y->quick_at == y->quick.count) return NULL;
    q = (const yaml_quick *)y->quick.items + y->quick_at;
    return q->character == y->event.start_mark.index && y->event.type == YAML_SCALAR_EVENT ? q : NULL;
}

/* What the event is, as messages call it. */
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

/* Forgets frames that were passed over, and those taken. */
static hd_status yaml_forget_quick(yaml_in *y) {
    yaml_quick *q = (yaml_quick *)y->quick.items;
    while (y->quick_at < y->quick.count && q[y->quick_at].character < y->event.start_mark.index) {
        if (!y->skipping) return yaml_bad(y, "a frame stands before this where there can be none");
        y->quick_at++;
    }
    if (y->quick_at < 4096 || 2 * y->quick_at < y->quick.count) return HD_OK;
    y->quick.count -= y->quick_at;
    memmove(q, q + y->quick_at, y->quick.count * sizeof *q);
    y->quick_at = 0;
    return HD_OK;
}

/* The next event. HD_MALFORMED: in y->found. */
static hd_status yaml_next(yaml_in *y) {
    if (y->has_event) {
        if (y->event.type == YAML_SEQUENCE_END_EVENT || y->event.type == YAML_MAPPING_END_EVENT) y->depth--;
        yaml_event_delete(&y->event);
        y->has_event = false;
    }
    y->told = y->fed;
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
        return yaml_bad(y, "more than %d lists and mappings within each other", DEPTH_MOST);
    }
    if (y->wide.count) yaml_forget_wide(y);
    return y->quick.count ? yaml_forget_quick(y) : HD_OK;
}

/* Goes to the end of the collection that is `depth` deep. */
static hd_status yaml_leave(yaml_in *y, uint32_t depth) {
    hd_status status = HD_OK;
    y->skipping = true;
    while (!status && !(y->depth == depth &&
                        (y->event.type == YAML_SEQUENCE_END_EVENT || y->event.type == YAML_MAPPING_END_EVENT)))
        status = yaml_next(y);
    y->skipping = false;
    return status;
}

/* Goes to the end of the value at hand. */
static hd_status yaml_skip(yaml_in *y) {
    bool opens = y->event.type == YAML_SEQUENCE_START_EVENT || y->event.type == YAML_MAPPING_START_EVENT;
    return opens ? yaml_leave(y, y->depth) : HD_OK;
}

/* After a piece at this depth: a malformed one is told of; leniently it is left out, and the next can be read. */
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

/* Nothing, where a list may be. */
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
    unsigned count, next;        /* next: the key that comes next, most likely */
    uint32_t seen;
} yaml_mapping;

static hd_status yaml_enter(yaml_in *y, const char *what) {
    return y->event.type == YAML_MAPPING_START_EVENT
               ? HD_OK
               : yaml_bad(y, "%s expected as a mapping, found %s", what, yaml_found(y));
}

/* Shows the value of the next key, whose number is *key: `count` at the end of the mapping. A listing may have
   others, which are passed over. */
static hd_status yaml_member(yaml_in *y, yaml_mapping *m, unsigned *key) {
    for (;;) {
        hd_status status = y->ended ? HD_OK : yaml_next(y);
        hd_str s;
        unsigned i;
        if (y->ended && !status)
            return *key = m->count, HD_OK; /* lenient reading has come to where the YAML is damaged */
        if (status) return status;
        if (y->event.type == YAML_MAPPING_END_EVENT) return *key = m->count, HD_OK;
        if (!yaml_is_scalar(y)) return yaml_bad(y, "a key expected, found %s", yaml_found(y));
        s = yaml_scalar(y);
        i = m->next;
        if (i >= m->count || s.len != m->keys[i].length || memcmp(s.data, m->keys[i].name, s.len))
            for (i = 0; i < m->count && (s.len != m->keys[i].length || memcmp(s.data, m->keys[i].name, s.len)); i++) {
            }
        if (i < m->count && m->seen >> i & 1) return yaml_bad(y, "%s is there twice", m->keys[i].name);
        if (i == m->count && !y->is_listing) return yaml_bad(y, "no key %s is known here", yaml_found(y));
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

/* Whether the keys of these bits were there. */
static hd_status yaml_needs(yaml_in *y, const yaml_mapping *m, uint32_t bits, const char *what) {
    for (unsigned i = 0; i < m->count; i++)
        if (bits >> i & 1 && !(m->seen >> i & 1)) return yaml_bad(y, "%s without %s", what, m->keys[i].name);
    return HD_OK;
}

/* Goes through a list: each item is at hand when `item` is called, and its end when that is back. */
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
