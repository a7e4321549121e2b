/* Private to hprof.c: GC roots, with the threads and stack frames that they belong to. */
#ifndef HEAPDUMP_HPROF_ROOTS_H
#define HEAPDUMP_HPROF_ROOTS_H

#include "hprof_values.h"

enum { HPROF_LABEL = 256 };      /* bytes of a root's name at most */

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
    if (kind->words == 2 && kind->tag != 0x08) r.frame = hprof_get32(p + 5 + h->id_size);
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
    if (length < 12) {
        hprof_wrong(h, hprof_offset(h), "a short stack trace");
        return;
    }
    if (!hprof_need(h, 12)) return;
    t.thread = hprof_get32(h->lines.window->at + 4);
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
    else if (hprof_map_put(h, &h->trace_of, t.thread, (uint32_t)h->trace_count)) h->trace[h->trace_count++] = t;
}

/* "Shop.run (Shop.java:41)"; empty for an unknown frame. */
HD_UNUSED static void hprof_frame_text(const hprof *h, const hprof_frame *f, char *to, size_t room) {
    uint32_t of = hprof_map_get(h, &h->serial_of, f->of);
    hd_str method = hprof_string(h, f->method), source = hprof_string(h, f->source);
    char name[128];
    size_t n = of == HPROF_NONE ? 0 : hprof_class_name(hprof_string(h, h->classes[of].name), name, sizeof name);
    if (n > sizeof name) n = sizeof name;
    n = (size_t)snprintf(to, room, "%.*s%s%.*s", (int)n, name, n ? "." : "", (int)(method.len < 64 ? method.len : 64),
                         method.data);
    if (n >= room || !source.len) return;
    source.len = source.len < 64 ? source.len : 64;
    if (f->line > 0) snprintf(to + n, room - n, " (%.*s:%d)", (int)source.len, source.data, (int)f->line);
    else snprintf(to + n, room - n, f->line == -3 ? " (native)" : " (%.*s)", (int)source.len, source.data);
}

/* The frame of a root, or NULL. */
HD_UNUSED static const hprof_frame *hprof_frame_at(const hprof *h, const hprof_root_record *r) {
    uint32_t i = r->frame == HPROF_NONE ? HPROF_NONE : hprof_map_get(h, &h->trace_of, r->thread);
    if (i == HPROF_NONE || r->frame >= h->trace[i].count) return NULL;
    i = hprof_map_get(h, &h->frame_of, h->frame_ids[h->trace[i].frame + r->frame]);
    return i == HPROF_NONE ? NULL : &h->frame[i];
}

typedef struct hprof_label {
    char text[HPROF_LABEL];
} hprof_label;

HD_UNUSED static void hprof_label_of(const hprof *h, const hprof_root_record *r, hd_str thread, hprof_label *label) {
    const hprof_root_kind *kind = &hprof_roots[r->kind];
    const hprof_frame *f = hprof_frame_at(h, r);
    char frame[HPROF_LABEL] = "";
    int n = snprintf(label->text, sizeof label->text, "%s", kind->name);
    if (f) hprof_frame_text(h, f, frame, sizeof frame);
    thread.len = thread.len < 64 ? thread.len : 64;
    if (thread.len)
        n += snprintf(label->text + n, sizeof label->text - (size_t)n, "%s %.*s",
                      kind->tag == 0x08 ? "" : " of thread", (int)thread.len, thread.data);
    if (*frame) snprintf(label->text + n, sizeof label->text - (size_t)n, ", %.200s", frame);
}

/* Threads by the number of their root, and their names by their object. */
typedef struct hprof_threads { hprof_map root, name; } hprof_threads;

HD_UNUSED static void hprof_find_threads(hprof *h, hprof_threads *threads) {
    for (uint32_t i = 0; i < h->root_count && !h->status; i++)
        if (hprof_roots[h->root[i].kind].tag == 0x08) hprof_map_put(h, &threads->root, h->root[i].thread, i);
    for (uint32_t i = 0; i < h->thread_count && !h->status; i++) hprof_map_put(h, &threads->name, h->thread[i].id, i);
}

/* The name of the thread of a root, as far as it fits. */
HD_UNUSED static hd_str hprof_thread_name(const hprof *h, const hprof_threads *threads, uint32_t thread, char *to,
                                          size_t room) {
    uint32_t i = hprof_map_get(h, &threads->root, thread);
    if (i != HPROF_NONE) i = hprof_map_get(h, &threads->name, h->root[i].id);
    return i == HPROF_NONE ? hd_cstr("") : hprof_text_of(h, h->thread[i].name, to, room);
}

/* Adds the roots to the graph. Equal names are stored once. */
HD_UNUSED static bool hprof_add_roots(hprof *h) {
    hprof_threads threads = { { 0 }, { 0 } };
    hprof_find_threads(h, &threads);
    for (size_t i = 0; i < h->root_count && !h->status; i++) {
        const hprof_root_record *r = &h->root[i];
        uint64_t key = (uint64_t)r->kind << 58 ^ (uint64_t)r->thread << 29 ^ r->frame;
        uint32_t known = hprof_map_get(h, &h->label_of, key);
        hd_root root = HD_ZERO;
        root.kind = hprof_roots[r->kind].kind;
        root.flags = hprof_roots[r->kind].flags;
        root.container = HD_NONE;
        if (known == HPROF_NONE) {
            hprof_label label;
            char name[64];
            hprof_label_of(h, r, hprof_thread_name(h, &threads, r->thread, name, sizeof name), &label);
            h->status = hd_graph_add_name(h->graph, hd_cstr(label.text), &known, h->lines.err);
            if (h->status || !hprof_map_put(h, &h->label_of, key, known)) break;
        }
        root.name = known + 1;
        h->status = hd_graph_add_root(h->graph, r->id, &root, h->lines.err);
    }
    room_free(&h->lines, threads.root.slot, threads.root.room, sizeof *threads.root.slot);
    room_free(&h->lines, threads.name.slot, threads.name.room, sizeof *threads.name.slot);
    return !h->status;
}

#endif
