/* The report of the MemProf runtime (MEMPROF_OPTIONS=print_text=1, also with print_terse=1): the allocations of each
   call stack by number, then the call stacks with these numbers. The report has averages with two decimals, cut off,
   while raw profiles have totals. Totals are exact for up to 100 allocations; for n, they may lack n/100 bytes. The
   reader makes one heap, of kind total. Frames are "function (file.c:12)", or OBJECT+0xOFFSET without a name. */

#include "formats.h"
#include "room.h"

#include <stdlib.h>

typedef struct report_mib {
    uint64_t id, count, bytes;
    bool has_stack;              /* its stack was found */
} report_mib;

typedef struct memprof_report {
    hd_lines lines;
    hd_profile *profile;
    report_mib *mibs;              /* sorted by id from the first stack on */
    size_t mib_count, mib_room;
    bool sorted;
    room_text names;            /* frames of the current stack, innermost first; `frames` has their positions */
    size_t *frames;
    size_t frame_count, frame_room;
    report_mib *at;                /* of the current stack; NULL: its id is unknown */
} memprof_report;

static int report_mib_order(const void *a, const void *b) {
    const report_mib *x = (const report_mib *)a, *y = (const report_mib *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* "40.00": hundredths. */
static const char *report_hundredths(hd_lines *l, uint64_t *value) {
    uint64_t whole, part = 0;
    const char *wrong = hd_lines_number(l, 10, &whole), *from;
    if (wrong) return wrong;
    if (!hd_lines_take(l, ".")) return "'.' and two decimals";
    from = l->at;
    wrong = hd_lines_number(l, 10, &part);
    if (wrong || l->at - from != 2 || whole > (UINT64_MAX - 99) / 100) return "an average with two decimals";
    *value = whole * 100 + part;
    return NULL;
}

/* Adds the allocations of a stack; `average` is in hundredths. */
static hd_status report_add_mib(memprof_report *t, uint64_t id, uint64_t count, uint64_t average) {
    hd_lines *l = &t->lines;
    uint64_t whole = average / 100, part = average % 100;
    report_mib *m;
    if (t->sorted) return hd_lines_wrong(l, "no more allocations after the first call stack");
    if (count && (whole > UINT64_MAX / count || count > UINT64_MAX / 100 ||
                  part * count / 100 + 1 > UINT64_MAX - whole * count))
        return hd_lines_wrong(l, "sizes of at most 2^64 bytes");
    if (!ROOM(l, t->mibs, t->mib_count, 1, t->mib_room)) return l->err->status;
    m = &t->mibs[t->mib_count++];
    m->id = id;
    m->count = count;
    m->bytes = whole * count + (part * count + 99) / 100;
    m->has_stack = false;
    return HD_OK;
}

/* "Memory allocation stack id = 5" and the line below it: "alloc_count 1, size (ave/min/max) 16.00 / 16 / 16". */
static hd_status report_mib_lines(memprof_report *t) {
    hd_lines *l = &t->lines;
    uint64_t id, count, average;
    const char *wrong = hd_lines_number(l, 10, &id);
    hd_status status;
    if (wrong) return hd_lines_wrong(l, wrong);
    status = hd_lines_next(l);
    if (status) return status;
    hd_lines_skip_spaces(l);
    if (!hd_lines_take(l, "alloc_count ")) return hd_lines_wrong(l, "alloc_count");
    wrong = hd_lines_number(l, 10, &count);
    if (!wrong && !hd_lines_take(l, ", size (ave/min/max) ")) wrong = "', size (ave/min/max)'";
    if (!wrong) wrong = report_hundredths(l, &average);
    return wrong ? hd_lines_wrong(l, wrong) : report_add_mib(t, id, count, average);
}

/* "MIB:5/1/16.00/16/16/...": id, count, size. */
static hd_status report_terse(memprof_report *t) {
    hd_lines *l = &t->lines;
    uint64_t id, count, average;
    const char *wrong = hd_lines_number(l, 10, &id);
    if (!wrong && !hd_lines_take(l, "/")) wrong = "'/'";
    if (!wrong) wrong = hd_lines_number(l, 10, &count);
    if (!wrong && !hd_lines_take(l, "/")) wrong = "'/'";
    if (!wrong) wrong = report_hundredths(l, &average);
    return wrong ? hd_lines_wrong(l, wrong) : report_add_mib(t, id, count, average);
}

static hd_status report_put(memprof_report *t, const report_mib *m, uint32_t node) {
    return hd_profile_add(t->profile, &node, m->bytes, m->count, t->lines.err);
}

/* Ends the current stack. */
static hd_status report_end_stack(memprof_report *t) {
    uint32_t node = 0;
    hd_status status = HD_OK;
    if (!t->at) return HD_OK;
    for (size_t i = t->frame_count; i-- > 0 && !status;) {
        size_t end = i + 1 < t->frame_count ? t->frames[i + 1] : t->names.size;
        hd_str name = { t->names.data + t->frames[i], end - t->frames[i] };
        status = hd_profile_node(t->profile, HD_AXIS_BACKTRACE, node, name, &node, t->lines.err);
    }
    for (report_mib *m = t->at; !status && m < t->mibs + t->mib_count && m->id == t->at->id; m++) {
        if (!m->has_stack) status = report_put(t, m, node);
        m->has_stack = true;
    }
    t->at = NULL;
    return status;
}

/* "Stack for id 5:" */
static hd_status report_begin_stack(memprof_report *t) {
    hd_lines *l = &t->lines;
    uint64_t id;
    size_t low = 0, high = t->mib_count;
    const char *wrong = hd_lines_number(l, 10, &id);
    if (!wrong && !hd_lines_take(l, ":")) wrong = "':'";
    if (wrong) return hd_lines_wrong(l, wrong);
    if (!t->sorted && t->mib_count) qsort(t->mibs, t->mib_count, sizeof *t->mibs, report_mib_order);
    t->sorted = true;
    t->frame_count = t->names.size = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->mibs[middle].id < id) low = middle + 1;
        else high = middle;
    }
    if (low < t->mib_count && t->mibs[low].id == id) t->at = &t->mibs[low];
    return HD_OK;
}

static bool report_name(memprof_report *t, const char *text, size_t n) {
    return room_keep(&t->lines, &t->names, text, n);
}

/* The last `c` of a text, or NULL. */
static const char *report_last(const char *from, const char *end, char c) {
    while (end > from && end[-1] != c) end--;
    return end > from ? end - 1 : NULL;
}

/* Names a frame, after "in ": "main /tmp/t.cpp:7:127" is "main (t.cpp:7)", "malloc (/tmp/t+0x45c)" is "malloc". */
static bool report_name_frame(memprof_report *t, const char *from, const char *end) {
    const char *space = report_last(from, end, ' '), *file, *colon;
    if (!space || space + 1 == end || space[1] == '(')
        return report_name(t, from, (size_t)((space ? space : end) - from));
    file = report_last(space, end, '/');
    file = file ? file + 1 : space + 1;
    colon = (const char *)memchr(file, ':', (size_t)(end - file));
    if (colon) colon = (const char *)memchr(colon + 1, ':', (size_t)(end - colon - 1));
    if (colon) end = colon;      /* without the column */
    return report_name(t, from, (size_t)(space - from)) && report_name(t, " (", 2) &&
           report_name(t, file, (size_t)(end - file)) && report_name(t, ")", 1);
}

/* "#1 0x0000004894f2 in main /tmp/t.cpp:7:127", "#0 0x445 in malloc (/tmp/t+0x45c) (BuildId: 00c1)",
   "#3 0x7fc1c0ed44a2  (/lib/libc.so.6+0x27249)". */
static hd_status report_frame(memprof_report *t) {
    hd_lines *l = &t->lines;
    uint64_t ignored;
    const char *wrong = hd_lines_number(l, 10, &ignored), *end, *address = l->at, *behind;
    bool good, is_named;
    if (!wrong && !hd_lines_take(l, " 0x")) wrong = "an address";
    if (!wrong) wrong = hd_lines_number(l, 16, &ignored);
    if (wrong) return hd_lines_wrong(l, wrong);
    behind = l->at;
    hd_lines_skip_spaces(l);
    if (!ROOM(l, t->frames, t->frame_count, 1, t->frame_room)) return l->err->status;
    t->frames[t->frame_count++] = t->names.size;
    end = report_last(l->at, l->end, '(');
    if (!end || l->end - end < 10 || memcmp(end - 1, " (BuildId: ", 11)) end = l->end;
    else end--;
    while (end > behind && end[-1] == '\r') end--;
    is_named = hd_lines_take(l, "in ");
    if (l->at >= end) {
        good = report_name(t, address + 1, (size_t)(behind - address - 1));
    } else if (is_named) {
        good = report_name_frame(t, l->at, end);
    } else {
        size_t braces = end - l->at > 2 && *l->at == '(' && end[-1] == ')';
        good = report_name(t, l->at + braces, (size_t)(end - l->at) - 2 * braces);
    }
    return good ? HD_OK : l->err->status;
}

static hd_status report_line(memprof_report *t) {
    hd_lines *l = &t->lines;
    bool indented = l->at < l->end && (*l->at == ' ' || *l->at == '\t');
    hd_status status;
    if (hd_lines_done(l)) return report_end_stack(t);
    if (indented && t->sorted && hd_lines_take(l, "#")) return t->at ? report_frame(t) : HD_OK;
    status = report_end_stack(t);
    if (status) return status;
    if (hd_lines_take(l, "Memory allocation stack id = ")) return report_mib_lines(t);
    if (hd_lines_take(l, "MIB:")) return report_terse(t);
    if (hd_lines_take(l, "Stack for id ")) return report_begin_stack(t);
    if (hd_lines_take(l, "Recorded MIBs") || hd_lines_take(l, "access_count (") || hd_lines_take(l, "lifetime (") ||
        hd_lines_take(l, "num migrated: ") || hd_lines_take(l, "AccessCountHistogram[")) return HD_OK;
    return hd_lines_wrong(l, "a line of the MemProf runtime's report");
}

static hd_status report_finish(memprof_report *t, hd_dump *dump) {
    hd_heap heap = HD_ZERO;
    hd_status status = report_end_stack(t);
    for (size_t i = 0; i < t->mib_count && !status; i++)
        if (!t->mibs[i].has_stack) status = report_put(t, &t->mibs[i], 0);
    if (status) return status;
    heap.kind = HD_HEAP_TOTAL;
    heap.allocator = "malloc";
    heap.profile = t->profile;
    t->profile = NULL;           /* now the dump owns it */
    return hd_dump_add_heap(dump, &heap, t->lines.err);
}

hd_status memprof_report_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    memprof_report t = HD_ZERO;
    hd_status status;
    t.lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    t.profile = room_profile(options, err);
    status = t.profile ? HD_OK : err->status;
    while (!status && !(status = hd_lines_next(&t.lines)) && t.lines.start) status = report_line(&t);
    if (!status) status = report_finish(&t, dump);
    hd_profile_free(t.profile);
    room_free(&t.lines, t.mibs, t.mib_room, sizeof *t.mibs);
    room_free(&t.lines, t.names.data, t.names.room, 1);
    room_free(&t.lines, t.frames, t.frame_room, sizeof *t.frames);
    return status;
}

int memprof_report_detect(const uint8_t *bytes, size_t size) {
    static const char *const begins[] = { "Recorded MIBs (", "Memory allocation stack id = ", "MIB:" };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (size >= strlen(begins[i]) && !memcmp(bytes, begins[i], strlen(begins[i]))) return i < 2 ? 100 : 60;
    return 0;
}
