/* Private to hprof.c: GC roots, with the threads and stack frames that they belong to. */
#ifndef HEAPDUMP_HPROF_ROOTS_H
#define HEAPDUMP_HPROF_ROOTS_H

#include "hprof_values.h"

enum { HPROF_LABEL = 256, HPROF_NAME = 64 }; /* bytes at most: of a root's name, and of a thread's in it */

typedef struct hprof_root_kind {
    uint8_t tag, words, ids;     /* words: u4 behind the id; ids: ids behind it */
    uint8_t kind, flags;         /* of the graph */
    const char *name;
} hprof_root_kind;

/* With words, the first is the serial number of a thread. The second is a position in its stack, but in a thread
   object it is the number of the stack. */
static const hprof_root_kind hprof_roots[] = {
    { 0xff, 0, 0, HD_ROOT_INTERNAL, 0, "unknown root" }, { 0x01, 0, 1, HD_ROOT_HANDLE, 0, "JNI global" },
    { 0x02, 2, 0, HD_ROOT_LOCAL, 0, "JNI local" }, { 0x03, 2, 0, HD_ROOT_LOCAL, 0, "local variable" },
    { 0x04, 1, 0, HD_ROOT_LOCAL, 0, "native stack" }, { 0x05, 0, 0, HD_ROOT_COLLECTOR, 0, "system class" },
    { 0x06, 1, 0, HD_ROOT_INTERNAL, 0, "thread block" }, { 0x07, 0, 0, HD_ROOT_HANDLE, 0, "monitor" },
    { 0x08, 2, 0, HD_ROOT_INTERNAL, 0, "thread" }, { 0x89, 0, 0, HD_ROOT_COLLECTOR, 0, "interned string" },
    { 0x8a, 0, 0, HD_ROOT_FINALIZER, 0, "object to be finalized" }, { 0x8b, 0, 0, HD_ROOT_INTERNAL, 0, "debugger" },
    { 0x8c, 0, 0, HD_ROOT_INTERNAL, 0, "reference cleanup" }, { 0x8d, 0, 0, HD_ROOT_INTERNAL, 0, "VM internal" },
    { 0x8e, 2, 0, HD_ROOT_HANDLE, 0, "JNI monitor" },
    { 0x90, 0, 0, HD_ROOT_INTERNAL, HD_ROOT_WEAK, "unreachable object" } };

HD_UNUSED static const hprof_root_kind *hprof_root_of(uint8_t tag) {
    for (size_t i = 0; i < sizeof hprof_roots / sizeof *hprof_roots; i++)
        if (hprof_roots[i].tag == tag) return &hprof_roots[i];
    return NULL;
}

/* A sub-record with a root. */
HD_UNUSED static bool hprof_root(hprof *h, const hprof_root_kind *kind, uint64_t left) {
    size_t n = 1 + (size_t)h->id_size * (1 + kind->ids) + 4 * (size_t)kind->words;
    hprof_root_record r = { 0, HPROF_NONE, HPROF_NONE, (uint8_t)(kind - hprof_roots) };
    const uint8_t *p;
    if (left != HD_UNKNOWN && n > left) return hprof_wrong(h, hprof_offset(h), "a root beyond the end of its dump");
    if (!hprof_need(h, n)) return false;
    p = h->lines.window->at;
    r.id = hprof_id(h, p + 1);
    if (kind->words) r.thread = hprof_get32(p + 1 + h->id_size);
    if (kind->words == 2) r.frame = hprof_get32(p + 5 + h->id_size);
    h->lines.window->at += n;
    if (!r.id) return true;
    if (!ROOM(&h->lines, h->root, h->root_count, 1, h->root_room)) return hprof_fail(h);
    h->root[h->root_count++] = r;
    return true;
}

/* Stack frames and traces. ----------------------------------------------------------------------- */

HD_UNUSED static void hprof_take_frame(hprof *h, uint64_t length) {
    const uint8_t *p;
    hprof_frame f;
    if (length < 4 * (uint64_t)h->id_size + 8) {
        hprof_wrong(h, hprof_offset(h), "a short stack frame");
        return;
    }
    if (!hprof_need(h, 4 * (size_t)h->id_size + 8)) return;
    p = h->lines.window->at;
    f.method = hprof_id(h, p + h->id_size);
    f.source = hprof_id(h, p + 3 * (size_t)h->id_size);
    f.of = hprof_get32(p + 4 * (size_t)h->id_size);
    f.line = (int32_t)hprof_get32(p + 4 * (size_t)h->id_size + 4);
    if (!ROOM(&h->lines, h->frame, h->frame_count, 1, h->frame_room)) hprof_fail(h);
    else if (hprof_map_put(h, &h->frame_of, hprof_id(h, p), (uint32_t)h->frame_count)) h->frame[h->frame_count++] = f;
}

HD_UNUSED static void hprof_take_trace(hprof *h, uint64_t length) {
    hprof_trace t;
    uint32_t serial;
    if (length < 12) {
        hprof_wrong(h, hprof_offset(h), "a short stack trace");
        return;
    }
    if (!hprof_need(h, 12)) return;
    serial = hprof_get32(h->lines.window->at);
    t.taken = false;
    t.count = hprof_get32(h->lines.window->at + 8);
    t.frame = h->frame_id_count;
    if ((length - 12) / h->id_size < t.count) {
        hprof_wrong(h, hprof_offset(h), "a stack trace with too many frames");
        return;
    }
    h->lines.window->at += 12;
    for (uint32_t i = 0; i < t.count; i++) {
        if (!hprof_need(h, h->id_size)) return;
        if (!ROOM(&h->lines, h->frame_ids, h->frame_id_count, 1, h->frame_id_room)) {
            hprof_fail(h);
            return;
        }
        h->frame_ids[h->frame_id_count++] = hprof_id(h, h->lines.window->at);
        h->lines.window->at += h->id_size;
    }
    if (!ROOM(&h->lines, h->trace, h->trace_count, 1, h->trace_room)) hprof_fail(h);
    else if (hprof_map_put(h, &h->trace_of, serial, (uint32_t)h->trace_count)) h->trace[h->trace_count++] = t;
}

/* "Shop.run", at most `room` bytes. */
HD_UNUSED static hd_str hprof_frame_name(const hprof *h, const hprof_frame *f, char *to, size_t room) {
    uint32_t of = hprof_map_get(h, &h->serial_of, f->of);
    hd_str method = hprof_string(h, f->method);
    size_t n = of == HPROF_NONE ? 0 : hprof_class_name(hprof_string(h, h->classes[of].name), to, room);
    if (n > room) n = room;
    if (n && n < room) to[n++] = '.';
    if (method.len > room - n) method.len = room - n;
    if (method.len) memcpy(to + n, method.data, method.len);
    return (hd_str){ to, n + method.len };
}

/* A text of at most `most` bytes: whole characters. */
HD_UNUSED static hd_str hprof_cut(hd_str text, size_t most) {
    if (text.len > most)
        for (text.len = most; text.len && ((unsigned char)text.data[text.len] & 0xc0) == 0x80;) text.len--;
    return text;
}

/* A frame of a trace by its place in frame_ids, or NULL. */
HD_UNUSED static const hprof_frame *hprof_frame_at(const hprof *h, size_t place) {
    uint32_t number = h->frame_numbers[place];
    return number < h->frame_count ? &h->frame[number] : NULL;
}

/* Adds all stack frames to the graph with the same numbers, then an empty one in place of unknown frames. */
HD_UNUSED static bool hprof_add_frames(hprof *h) {
    hd_stack_frame none = HD_ZERO;
    for (size_t i = 0; i < h->frame_count && !h->status; i++) {
        const hprof_frame *f = &h->frame[i];
        char name[HPROF_LABEL];
        hd_stack_frame frame = HD_ZERO;
        frame.function = hprof_frame_name(h, f, name, sizeof name);
        frame.file = hprof_cut(hprof_string(h, f->source), HPROF_LABEL);
        frame.line = f->line > 0 ? (uint32_t)f->line : 0;
        frame.native = f->line == -3;
        h->status = hd_graph_add_frame(h->graph, &frame, NULL, h->lines.err);
    }
    if (!h->status) h->status = hd_graph_add_frame(h->graph, &none, NULL, h->lines.err);
    if (h->status) return false;
    if (!room_grow(&h->lines, &h->frame_numbers, 0, h->frame_id_count + 1, &h->frame_number_room,
                   sizeof *h->frame_numbers))
        return hprof_fail(h);
    for (size_t i = 0; i < h->frame_id_count; i++) {
        uint32_t number = hprof_map_get(h, &h->frame_of, h->frame_ids[i]);
        h->frame_numbers[i] = number == HPROF_NONE ? (uint32_t)h->frame_count : number;
    }
    return true;
}

/* Threads. --------------------------------------------------------------------------------------- */

/* A thread of the graph, for the labels of its roots. */
typedef struct hprof_known_thread {
    uint32_t trace;              /* HPROF_NONE: no stack */
    hd_str name;
} hprof_known_thread;

/* Threads by their serial number; objects of java.lang.Thread by id. */
typedef struct hprof_threads {
    hprof_map number, named;
    hprof_known_thread *known;
    size_t count, room;
} hprof_threads;

/* The state as java.lang.Thread.getState returns it; empty: unknown. */
HD_UNUSED static const char *hprof_state(const hprof *h, const hprof_thread *t) {
    static const struct { uint32_t bit; const char *name; } states[] = {
        { 0x4, "RUNNABLE" }, { 0x400, "BLOCKED" }, { 0x10, "WAITING" }, { 0x20, "TIMED_WAITING" },
        { 0x2, "TERMINATED" }, { 0x1, "RUNNABLE" } };
    uint32_t object = hprof_find(h, t->id), holder = t->holder ? hprof_find(h, t->holder) : HPROF_NONE;
    const hprof_kept *kept = object == HPROF_NONE ? NULL : hprof_kept_of(h, object);
    if (!kept && holder != HPROF_NONE) kept = hprof_kept_of(h, holder);
    if (!kept || kept->type != HPROF_INT) return "";
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (kept->at & states[i].bit) return states[i].name;
    return "NEW";
}

/* Adds a thread of the graph for the root of its object. A stack belongs to one thread. */
HD_UNUSED static bool hprof_add_thread(hprof *h, hprof_threads *threads, const hprof_root_record *r) {
    hd_thread_info info = HD_ZERO;
    hprof_known_thread *known;
    uint32_t named = hprof_map_get(h, &threads->named, r->id), trace = hprof_map_get(h, &h->trace_of, r->frame);
    if (!ROOM(&h->lines, threads->known, threads->count, 1, threads->room)) return hprof_fail(h);
    known = &threads->known[threads->count];
    if (trace != HPROF_NONE && h->trace[trace].taken) trace = HPROF_NONE;
    known->trace = trace;
    known->name = hd_cstr("");
    info.id = r->id;
    if (named != HPROF_NONE) {
        const hprof_named *called = &h->named[h->thread[named].named];
        if (called->at != HPROF_NO_NAME) known->name = (hd_str){ (const char *)h->bytes + called->at, called->size };
        info.name = known->name;
        info.state = hd_cstr(hprof_state(h, &h->thread[named]));
    }
    if (trace != HPROF_NONE) {
        h->trace[trace].taken = true;
        info.frame_count = h->trace[trace].count;
        info.frames = h->frame_numbers + h->trace[trace].frame;
    }
    h->status = hd_graph_add_thread(h->graph, &info, NULL, h->lines.err);
    return !h->status && hprof_map_put(h, &threads->number, r->thread, (uint32_t)threads->count++);
}

HD_UNUSED static void hprof_add_threads(hprof *h, hprof_threads *threads) {
    for (uint32_t i = 0; i < h->thread_count && !h->status; i++)
        hprof_map_put(h, &threads->named, h->thread[i].id, i);
    for (size_t i = 0; i < h->root_count && !h->status; i++)
        if (hprof_roots[h->root[i].kind].tag == 0x08 &&
            hprof_map_get(h, &threads->number, h->root[i].thread) == HPROF_NONE)
            hprof_add_thread(h, threads, &h->root[i]);
}

/* Roots. ----------------------------------------------------------------------------------------- */

/* The thread of a root and the position in its stack, as in hd_root; zeros where the file does not name them. */
HD_UNUSED static void hprof_place_root(const hprof *h, const hprof_threads *threads, const hprof_root_record *r,
                                       hd_root *root) {
    uint32_t i = r->thread == HPROF_NONE ? HPROF_NONE : hprof_map_get(h, &threads->number, r->thread);
    uint32_t trace = i == HPROF_NONE ? HPROF_NONE : threads->known[i].trace;
    if (i == HPROF_NONE) return;
    root->thread = i + 1;
    if (hprof_roots[r->kind].tag != 0x08 && trace != HPROF_NONE && r->frame < h->trace[trace].count)
        root->frame = r->frame + 1;
}

/* "local variable of thread main, Shop.run (Shop.java:41)". */
HD_UNUSED static void hprof_label_of(const hprof *h, const hprof_threads *threads, const hprof_root_record *r,
                                     const hd_root *root, char label[HPROF_LABEL]) {
    const hprof_root_kind *kind = &hprof_roots[r->kind];
    const hprof_known_thread *t = root->thread ? &threads->known[root->thread - 1] : NULL;
    const hprof_frame *f;
    char name[HPROF_LABEL / 2];
    hd_str method, source;
    int n = snprintf(label, HPROF_LABEL, "%s", kind->name);
    if (t && t->name.len)
        n += snprintf(label + n, HPROF_LABEL - (size_t)n, "%s %.*s%s", kind->tag == 0x08 ? "" : " of thread",
                      (int)hprof_cut(t->name, HPROF_NAME).len, t->name.data,
                      t->name.len > HPROF_NAME ? "\xe2\x80\xa6" : "");
    if (!t || !root->frame) return;
    f = hprof_frame_at(h, h->trace[t->trace].frame + root->frame - 1);
    if (!f) return;
    method = hprof_frame_name(h, f, name, sizeof name);
    source = hprof_cut(hprof_string(h, f->source), HPROF_NAME);
    n += snprintf(label + n, HPROF_LABEL - (size_t)n, ", %.*s", (int)method.len, method.data);
    if (n >= HPROF_LABEL || !source.len) return;
    if (f->line > 0)
        snprintf(label + n, HPROF_LABEL - (size_t)n, " (%.*s:%d)", (int)source.len, source.data, (int)f->line);
    else if (f->line == -3) snprintf(label + n, HPROF_LABEL - (size_t)n, " (native)");
    else snprintf(label + n, HPROF_LABEL - (size_t)n, " (%.*s)", (int)source.len, source.data);
}

/* Adds the roots to the graph, after threads and frames. Equal names are stored once. */
HD_UNUSED static bool hprof_add_roots(hprof *h) {
    hprof_threads threads = { { 0 }, { 0 }, NULL, 0, 0 };
    if (hprof_add_frames(h)) hprof_add_threads(h, &threads);
    for (size_t i = 0; i < h->root_count && !h->status; i++) {
        const hprof_root_record *r = &h->root[i];
        uint64_t key;
        uint32_t known;
        hd_root root = HD_ZERO;
        root.kind = hprof_roots[r->kind].kind;
        root.flags = hprof_roots[r->kind].flags;
        root.container = HD_NONE;
        hprof_place_root(h, &threads, r, &root);
        key = (uint64_t)r->kind << 58 ^ (uint64_t)root.thread << 29 ^ root.frame;
        known = hprof_map_get(h, &h->label_of, key);
        if (known == HPROF_NONE) {
            char label[HPROF_LABEL];
            hprof_label_of(h, &threads, r, &root, label);
            h->status = hd_graph_add_name(h->graph, hd_cstr(label), &known, h->lines.err);
            if (h->status || !hprof_map_put(h, &h->label_of, key, known)) break;
        }
        root.name = known + 1;
        h->status = hd_graph_add_root(h->graph, r->id, &root, h->lines.err);
    }
    room_free(&h->lines, threads.number.slot, threads.number.room, sizeof *threads.number.slot);
    room_free(&h->lines, threads.named.slot, threads.named.room, sizeof *threads.named.slot);
    room_free(&h->lines, threads.known, threads.room, sizeof *threads.known);
    return !h->status;
}

#endif
