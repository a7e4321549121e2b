/* Tables of a heaptrack recording: strings, addresses, call stacks, and kinds of blocks, with one line per item. */
#ifndef HEAPDUMP_HEAPTRACK_TABLES_H
#define HEAPDUMP_HEAPTRACK_TABLES_H

#include "room.h"

enum {
    HEAPTRACK_INLINED = 64,            /* functions at one address */
    HEAPTRACK_STRING = 1 << 20,        /* bytes of one string */
    HEAPTRACK_NAME = 4096,             /* bytes kept of one name */
    HEAPTRACK_PLACED = 1000,           /* bytes; a longer name gets no file and object, to be kept only once */
    HEAPTRACK_AHEAD = 1 << 17          /* bytes in which the command line must end, with its line breaks */
};

/* Strings, in text. */
typedef struct heaptrack_string {
    size_t at, length;
} heaptrack_string;

/* A function at an address, as numbers of strings; 0: no string. */
typedef struct heaptrack_frame {
    uint32_t function, file;
    uint64_t line;
} heaptrack_frame;

/* An address inside a call, and its functions, innermost first. */
typedef struct heaptrack_ip {
    uint64_t address;
    uint32_t module, count;
    size_t first;
} heaptrack_ip;

/* A stack: an address, called from another stack. Number 0 is no stack. */
typedef struct heaptrack_trace {
    uint32_t ip, parent;
    uint32_t node;               /* in the profile being made; HD_NONE: not needed */
} heaptrack_trace;

typedef enum { LEAKED, PEAK, ALL, TEMPORARY, KINDS } heaptrack_kind;

/* Blocks of one size and stack. */
typedef struct heaptrack_info {
    uint64_t size;
    uint64_t blocks[KINDS];
    uint64_t changed;            /* the last event of these blocks */
    uint32_t trace;
} heaptrack_info;

typedef struct heaptrack {
    hd_lines lines;
    uint64_t version;
    bool started;                /* the command line was read */
    char process[256];
    room_text text;
    heaptrack_string *strings;   /* from 1, like ips and traces */
    size_t string_count, string_room;
    heaptrack_ip *ips;
    size_t ip_count, ip_room;
    heaptrack_frame *frames;
    size_t frame_count, frame_room;
    heaptrack_trace *traces;
    size_t trace_count, trace_room;
    heaptrack_info *infos;       /* from 0 */
    size_t info_count, info_room;
    uint64_t events, peak_event, bytes, peak_bytes;
    uint64_t time_ms, peak_ms;
    uint32_t last;               /* the last allocation; HD_NONE after a deallocation */
    char name[HEAPTRACK_NAME + HEAPTRACK_PLACED]; /* of a frame */
} heaptrack;

/* The next number of the line, after a space. NULL: success; else the expected text. */
static const char *heaptrack_number(hd_lines *l, uint64_t *value) {
    if (!hd_lines_take(l, " ")) return "a space and a hexadecimal number";
    return hd_lines_number(l, 16, value);
}

/* A number of an earlier item, at most `most`; `expected` is the message for larger numbers. */
static const char *heaptrack_index(hd_lines *l, size_t most, const char *expected, uint32_t *index) {
    const char *start = l->at, *wrong;
    uint64_t value = 0;
    wrong = heaptrack_number(l, &value);
    if (wrong) return wrong;
    if (value > most) return l->at = start + 1, expected;
    *index = (uint32_t)value;
    return NULL;
}

/* Room for one more item. Its number fits 32 bits. */
#define HEAPTRACK_ROOM(t, items, count, room, what)                                                   \
    do {                                                                                              \
        if ((count) >= HD_NONE - 2) return room_full(&(t)->lines, what);                             \
        if (!ROOM(&(t)->lines, items, count, 1, room)) return (t)->lines.err->status;           \
    } while (0)

/* "s b std::string": reads a string by its length, since it may contain line breaks. *wrong: the expected text; the
   line then stays as it was. */
static hd_status heaptrack_show_string(heaptrack *t, hd_str *string, const char **wrong) {
    hd_lines *l = &t->lines;
    uint64_t length = 0;
    bool whole = false;
    hd_status status;
    *wrong = heaptrack_number(l, &length);
    if (!*wrong && !hd_lines_take(l, " ")) *wrong = "a space and a string";
    if (!*wrong && length > HEAPTRACK_STRING) *wrong = "a string of at most 1 MiB";
    if (*wrong) return HD_OK;
    status = hd_lines_extend(l, (size_t)length, &whole);
    string->data = l->at;
    string->len = (size_t)length;
    if (whole) l->at += length;
    else *wrong = "a string of that length, and the end of the line,";
    return status;
}

/* "s std::string": before version 3, a string ends with its line. */
static void heaptrack_show_line(hd_lines *l, hd_str *string, const char **wrong) {
    *wrong = hd_lines_take(l, " ") ? NULL : "a space and a string";
    if (!*wrong && l->end - l->at > HEAPTRACK_STRING) *wrong = "a string of at most 1 MiB";
    string->data = l->at;
    string->len = (size_t)(l->end - l->at) + l->crlf;
}

static hd_status heaptrack_add_string(heaptrack *t) {
    hd_lines *l = &t->lines;
    heaptrack_string s = { t->text.size, 0 };
    hd_str string = { NULL, 0 };
    const char *wrong;
    hd_status status = HD_OK;
    if (t->version < 3) heaptrack_show_line(l, &string, &wrong);
    else status = heaptrack_show_string(t, &string, &wrong);
    if (!status && wrong) {
        status = hd_lines_wrong(l, wrong);
        string.len = 0;          /* an empty string keeps its number */
    }
    if (status) return status;
    HEAPTRACK_ROOM(t, t->strings, t->string_count, t->string_room, "strings");
    if (string.len && !room_keep(l, &t->text, string.data, string.len)) return l->err->status;
    s.length = string.len;
    t->strings[t->string_count++] = s;
    return HD_OK;
}

/* "i 55dc27d48324 1 18 19 293 1a 15 9": function, file and line, repeated; the last may be only a function. */
static hd_status heaptrack_add_ip(heaptrack *t) {
    static const char expected[] = "the number of an earlier string";
    hd_lines *l = &t->lines;
    heaptrack_ip ip = { 0, 0, 0, t->frame_count };
    const char *wrong = heaptrack_number(l, &ip.address);
    hd_status status = HD_OK;
    if (!wrong) wrong = heaptrack_index(l, t->string_count, expected, &ip.module);
    while (!wrong && l->at < l->end) {
        heaptrack_frame f = { 0, 0, 0 };
        wrong = heaptrack_index(l, t->string_count, expected, &f.function);
        if (!wrong && l->at < l->end) wrong = heaptrack_index(l, t->string_count, expected, &f.file);
        if (!wrong && f.file) wrong = heaptrack_number(l, &f.line);
        if (!wrong && ip.count == HEAPTRACK_INLINED) wrong = "at most 64 functions at an address";
        if (wrong) break;
        HEAPTRACK_ROOM(t, t->frames, t->frame_count, t->frame_room, "frames");
        t->frames[t->frame_count++] = f;
        ip.count++;
    }
    if (wrong) status = hd_lines_wrong(l, wrong);
    if (status) return status;
    HEAPTRACK_ROOM(t, t->ips, t->ip_count, t->ip_room, "addresses");
    t->ips[t->ip_count++] = ip;
    return HD_OK;
}

/* "t 1a 31b" */
static hd_status heaptrack_add_trace(heaptrack *t) {
    hd_lines *l = &t->lines;
    heaptrack_trace trace = { 0, 0, HD_NONE };
    const char *wrong = heaptrack_index(l, t->ip_count, "the number of an earlier address", &trace.ip);
    hd_status status = HD_OK;
    if (!wrong)
        wrong = heaptrack_index(l, t->trace_count, "the number of an earlier stack", &trace.parent);
    if (!wrong && !hd_lines_done(l)) wrong = "the end of the line";
    if (wrong) {
        status = hd_lines_wrong(l, wrong);
        trace.ip = 0;
    }
    if (status) return status;
    HEAPTRACK_ROOM(t, t->traces, t->trace_count, t->trace_room, "stacks");
    t->traces[t->trace_count++] = trace;
    return HD_OK;
}

/* "a 1000 31a" */
static hd_status heaptrack_add_info(heaptrack *t) {
    hd_lines *l = &t->lines;
    heaptrack_info info = { 0, { 0, 0, 0, 0 }, 0, 0 };
    const char *wrong = heaptrack_number(l, &info.size);
    hd_status status = HD_OK;
    if (!wrong)
        wrong = heaptrack_index(l, t->trace_count, "the number of an earlier stack", &info.trace);
    if (!wrong && !hd_lines_done(l)) wrong = "the end of the line";
    if (wrong) status = hd_lines_wrong(l, wrong);
    if (status) return status;
    HEAPTRACK_ROOM(t, t->infos, t->info_count, t->info_room, "allocations");
    t->infos[t->info_count++] = info;
    return HD_OK;
}

#endif
