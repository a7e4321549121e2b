/* Private to hprof.c: the sub-records of a heap dump: roots, classes, instances and arrays. */
#ifndef HEAPDUMP_HPROF_HEAP_H
#define HEAPDUMP_HPROF_HEAP_H

#include "hprof_classes.h"

enum { HPROF_BATCH = 256, HPROF_TEXT = 65536 };

/* Objects. ------------------------------------------------------------------------------------- */

/* Adds an object, without its size. `of`: class, or HPROF_ARRAY + type; `length` of an array. */
HD_UNUSED static bool hprof_object(hprof *h, uint64_t id, uint32_t in_graph, uint32_t of, uint32_t length) {
    if (!ROOM(&h->lines, h->sized, h->sized_count, 1, h->sized_room)) return hprof_fail(h);
    h->status = hd_graph_add_object(h->graph, id, in_graph, 0, h->lines.err);
    if (h->status) return false;
    h->sized[h->sized_count++] = (hprof_sized){ of, length };
    h->objects++;
    return true;
}

/* References of the last object, collected. */
typedef struct hprof_batch {
    uint64_t id[HPROF_BATCH];
    uint32_t name[HPROF_BATCH];
    uint32_t count, before;
    uint32_t weak;               /* number of the reference that is weak, or HPROF_NONE */
} hprof_batch;

HD_UNUSED static bool hprof_flush(hprof *h, hprof_batch *b) {
    h->status = hd_graph_add_named(h->graph, b->id, b->name, b->count, h->lines.err);
    if (!h->status && b->weak != HPROF_NONE)
        h->status = hd_graph_set_kind(h->graph, h->objects - 1, b->weak, HD_REFERENCE_WEAK, h->lines.err);
    b->before += b->count;
    b->count = 0;
    b->weak = HPROF_NONE;
    return !h->status;
}

HD_UNUSED static void hprof_batch_begin(hprof_batch *b) {
    b->count = b->before = 0;
    b->weak = HPROF_NONE;
}

HD_UNUSED static bool hprof_refer(hprof *h, hprof_batch *b, uint64_t id, uint32_t name) {
    if (!id) return true;
    if (b->count == HPROF_BATCH && !hprof_flush(h, b)) return false;
    b->id[b->count] = id;
    b->name[b->count++] = name;
    return true;
}

HD_UNUSED static bool hprof_keep(hprof *h, uint8_t type, uint64_t at, uint32_t size) {
    if (!ROOM(&h->lines, h->kept, h->kept_count, 1, h->kept_room)) return hprof_fail(h);
    h->kept[h->kept_count++] = (hprof_kept){ at, h->objects - 1, size, 0, type };
    return true;
}

HD_UNUSED static uint64_t hprof_number(const uint8_t *p, uint32_t width) {
    return width == 8 ? hprof_get64(p) : width == 4 ? hprof_get32(p) : width == 2 ? hprof_get16(p) : *p;
}

/* The value of a collection: its number of elements and its array. */
HD_UNUSED static bool hprof_keep_count(hprof *h, uint8_t type, uint64_t count, uint64_t array) {
    if (!hprof_keep(h, type, count, (uint32_t)array)) return false;
    h->kept[h->kept_count - 1].high = (uint32_t)(array >> 32);
    return true;
}

/* The last object has a string as its name. */
HD_UNUSED static bool hprof_call(hprof *h, uint64_t string) {
    if (!ROOM(&h->lines, h->named, h->named_count, 1, h->named_room)) return hprof_fail(h);
    h->named[h->named_count++] = (hprof_named){ string, HPROF_NO_NAME, h->objects - 1, 0 };
    return true;
}

/* The fields of the last object that the rule of a class names. `data`: the part of this class. */
HD_UNUSED static bool hprof_says(hprof *h, const hprof_class *part, uint64_t id, const uint8_t *data) {
    uint64_t number[2] = { 0, 0 }, object[2] = { 0, 0 };
    uint8_t type = part->number_type[0];
    for (int k = 0; k < 2; k++) {
        if (part->number_at[k] != HPROF_NONE)
            number[k] = hprof_number(data + part->number_at[k], hprof_width(h, part->number_type[k]));
        if (part->object_at[k] != HPROF_NONE) object[k] = hprof_id(h, data + part->object_at[k]);
    }
    switch (part->rule->says) {
    case HPROF_STRING:
        if (object[0]) h->sized[h->sized_count - 1].length = (uint32_t)(h->id_size == 8 ? object[0] >> 3 : object[0]);
        if (number[0] != 1) return true;
        if (!ROOM(&h->lines, h->wide, h->wide_count, 1, h->wide_room)) return hprof_fail(h);
        h->wide[h->wide_count++] = h->objects - 1;
        return true;
    case HPROF_NAMED: return hprof_call(h, object[0]);
    case HPROF_THREAD:
        if (!ROOM(&h->lines, h->thread, h->thread_count, 1, h->thread_room)) return hprof_fail(h);
        h->thread[h->thread_count++] = (hprof_thread){ id, object[1], h->named_count };
        return hprof_call(h, object[0]) && (!type || hprof_keep(h, type, number[0], 0));
    case HPROF_BOXED:
    case HPROF_HOLDER: return !type || hprof_keep(h, type, number[0], 0);
    case HPROF_COUNTED:
        return (type != HPROF_INT && type != HPROF_LONG) || hprof_keep_count(h, type, number[0], object[0]);
    case HPROF_DEQUE:
        return !type || hprof_keep_count(h, HPROF_LONG, number[0] << 32 | (uint32_t)number[1], object[0]);
    default: return true;
    }
}

/* An instance of a class, if all its super classes are known. */
HD_UNUSED static bool hprof_instance(hprof *h, uint64_t id, uint32_t class_index, const uint8_t *data,
                                     uint32_t size) {
    const hprof_class *c = &h->classes[class_index];
    hprof_batch b;
    hprof_batch_begin(&b);
    if (!hprof_object(h, id, c->in_graph, class_index, HPROF_NONE)) return false;
    for (uint32_t k = class_index, left = size; k != HPROF_NONE; k = h->classes[k].up) {
        const hprof_class *part = &h->classes[k];
        if (part->own_bytes > left) break;
        for (uint32_t r = 0; r < part->ref_count; r++) {
            hprof_ref ref = h->refs[part->ref + r];
            uint64_t target = hprof_id(h, data + (size - left) + ref.offset);
            if (!hprof_refer(h, &b, target, ref.name)) return false;
            if (c->holds >= (h->soft_weak ? HPROF_SOFT : HPROF_WEAK) && ref.name == h->referent_name && target &&
                hprof_is(h, part->name, "java/lang/ref/Reference"))
                b.weak = b.before + b.count - 1;
        }
        if (part->rule && !hprof_says(h, part, id, data + (size - left))) return false;
        left -= part->own_bytes;
    }
    if (c->loader && c->loader != h->system_loader &&
        !hprof_refer(h, &b, c->id, h->known_names[HPROF_CLASS_NAME]))
        return false;
    return hprof_flush(h, &b);
}

/* Sub-records. Each returns false at the end of the input, or after a failure, or with *wrong set. -------------- */

/* An instance that comes before its class waits for it. */
HD_UNUSED static bool hprof_wait(hprof *h, const uint8_t *record, size_t size) {
    if (!ROOM(&h->lines, h->late, h->late_size, size, h->late_room)) return hprof_fail(h);
    memcpy(h->late + h->late_size, record, size);
    h->late_size += size;
    return true;
}

/* u1 tag, id, u4, class id, u4 n, n bytes: at `p`, whole. */
HD_UNUSED static bool hprof_take_instance(hprof *h, const uint8_t *p, bool may_wait) {
    size_t head = 1 + 2 * (size_t)h->id_size + 8;
    uint64_t id = hprof_id(h, p + 1), of = hprof_id(h, p + 5 + h->id_size);
    uint32_t n = hprof_get32(p + head - 4), i = hprof_map_get(h, &h->class_of, of);
    if (i == HPROF_NONE || !hprof_class_ready(h, i)) {
        if (may_wait) return hprof_wait(h, p, head + n);
        h->left_out++;
        i = hprof_class_at(h, of, 0);
        return i != HPROF_NONE && hprof_object(h, id, h->classes[i].in_graph, i, n);
    }
    if (n != h->classes[i].bytes)
        hprof_wrong(h, may_wait ? hprof_offset(h) : HD_UNKNOWN, "an instance of another size than its class");
    return !h->status && hprof_instance(h, id, i, p + head, n);
}

HD_UNUSED static bool hprof_instance_record(hprof *h, uint64_t left) {
    size_t head = 1 + 2 * (size_t)h->id_size + 8;
    uint32_t n;
    if (!hprof_need(h, head)) return false;
    n = hprof_get32(h->lines.window->at + head - 4);
    if (left != HD_UNKNOWN && head + (uint64_t)n > left)
        return hprof_wrong(h, hprof_offset(h), "an instance beyond the end of its dump");
    if (!hprof_need(h, head + n) || !hprof_take_instance(h, h->lines.window->at, true)) return false;
    h->lines.window->at += head + n;
    return true;
}

HD_UNUSED static bool hprof_object_array(hprof *h, uint64_t left) {
    size_t head = 1 + 2 * (size_t)h->id_size + 8;
    uint64_t id, of;
    uint32_t n, i;
    hprof_batch b;
    if (!hprof_need(h, head)) return false;
    id = hprof_id(h, h->lines.window->at + 1);
    n = hprof_get32(h->lines.window->at + 5 + h->id_size);
    of = hprof_id(h, h->lines.window->at + 9 + h->id_size);
    if (left != HD_UNKNOWN && head + (uint64_t)n * h->id_size > left)
        return hprof_wrong(h, hprof_offset(h), "an array beyond the end of its dump");
    i = hprof_class_at(h, of, 0);
    if (i == HPROF_NONE || !hprof_object(h, id, h->classes[i].in_graph, HPROF_ARRAY + HPROF_OBJECT, n)) return false;
    h->lines.window->at += head;
    hprof_batch_begin(&b);
    for (i = 0; i < n; i++) {
        if (!hprof_need(h, h->id_size)) return !h->status && hprof_flush(h, &b) && false;
        uint32_t index = i < INT32_MAX - 1 ? i : INT32_MAX - 2;
        if (!hprof_refer(h, &b, hprof_id(h, h->lines.window->at), HD_NAME_INDEX + index)) return false;
        h->lines.window->at += h->id_size;
    }
    return hprof_flush(h, &b);
}

/* Text of the last object; UTF-16 becomes little-endian. */
HD_UNUSED static bool hprof_keep_text(hprof *h, uint32_t type, uint64_t size) {
    uint32_t n = size < HPROF_TEXT ? (uint32_t)size : HPROF_TEXT;
    if (!hprof_need(h, n)) return false;
    if (!ROOM(&h->lines, h->bytes, h->bytes_size, n + !n, h->bytes_room)) return hprof_fail(h);
    memcpy(h->bytes + h->bytes_size, h->lines.window->at, n);
    for (uint32_t i = 0; type == HPROF_CHAR && i + 1 < n; i += 2) {
        uint8_t *p = h->bytes + h->bytes_size + i, high = p[0];
        p[0] = p[1], p[1] = high;
    }
    if (!hprof_keep(h, (uint8_t)type, h->bytes_size, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX)) return false;
    h->bytes_size += n;
    return true;
}

HD_UNUSED static bool hprof_primitive_array(hprof *h, uint64_t left, bool has_data) {
    size_t head = 1 + (size_t)h->id_size + 9;
    uint64_t id, size;
    uint32_t n, type, in_graph;
    if (!hprof_need(h, head)) return false;
    id = hprof_id(h, h->lines.window->at + 1);
    n = hprof_get32(h->lines.window->at + 5 + h->id_size);
    type = h->lines.window->at[9 + h->id_size];
    if (type == HPROF_OBJECT || !hprof_width(h, type))
        return hprof_wrong(h, hprof_offset(h) + 9 + h->id_size, "a primitive array of an unknown type");
    size = has_data ? (uint64_t)n * hprof_width(h, type) : 0;
    if (left != HD_UNKNOWN && head + size > left)
        return hprof_wrong(h, hprof_offset(h), "an array beyond the end of its dump");
    if (!hprof_primitive(h, type, &in_graph) || !hprof_object(h, id, in_graph, HPROF_ARRAY + type, n)) return false;
    h->lines.window->at += head;
    if (has_data && (type == HPROF_BYTE || type == HPROF_CHAR) && !hprof_keep_text(h, type, size)) return false;
    return hprof_skip(h, size);
}

#endif
