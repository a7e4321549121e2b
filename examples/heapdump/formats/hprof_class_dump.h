/* Private to hprof.c: CLASS DUMP. */
#ifndef HEAPDUMP_HPROF_CLASS_DUMP_H
#define HEAPDUMP_HPROF_CLASS_DUMP_H

#include "hprof_heap.h"

/* A value of a type behind the byte at hand. Its bytes stay at *p until the next call. */
HD_UNUSED static bool hprof_value_at(hprof *h, uint32_t type, const uint8_t **p, uint64_t *left) {
    uint32_t width = hprof_width(h, type);
    if (!width || (*left != HD_UNKNOWN && width > *left))
        return hprof_wrong(h, hprof_offset(h), width ? "a class beyond the end of its dump"
                                                     : "a value of an unknown type");
    if (!hprof_need(h, width)) return false;
    *p = h->lines.window->at;
    h->lines.window->at += width;
    if (*left != HD_UNKNOWN) *left -= width;
    return true;
}

HD_UNUSED static bool hprof_bytes(hprof *h, size_t n, const uint8_t **p, uint64_t *left) {
    if (*left != HD_UNKNOWN && n > *left)
        return hprof_wrong(h, hprof_offset(h), "a class beyond the end of its dump");
    if (!hprof_need(h, n)) return false;
    *p = h->lines.window->at;
    h->lines.window->at += n;
    if (*left != HD_UNKNOWN) *left -= n;
    return true;
}

/* Whether a static field is part of the class object. HotSpot keeps <resolved_references> elsewhere. In Android's
   dumps the fields behind an overhead are in its array. But "$class$name" is a field of java.lang.Class. */
HD_UNUSED static bool hprof_is_inside(const hprof *h, uint64_t name, bool *apart) {
    hd_str text = hprof_string(h, name);
    if (text.len && *text.data == '<') return false;
    if (!hprof_of_android(h)) return true;
    if (hprof_same(text, "$classOverhead") || hprof_same(text, "$staticOverhead")) return *apart = true, false;
    return !*apart || (text.len > 7 && !memcmp(text.data, "$class$", 7));
}

/* Static fields become references of the class object. */
HD_UNUSED static bool hprof_statics(hprof *h, uint32_t class_index, hprof_batch *b, uint64_t *left) {
    const uint8_t *p;
    uint32_t n;
    bool apart = false;
    if (!hprof_bytes(h, 2, &p, left)) return false;
    n = hprof_get16(p);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t name;
        uint32_t type, number = 0;
        hprof_class *c;
        if (!hprof_bytes(h, h->id_size + 1, &p, left)) return false;
        name = hprof_id(h, p), type = p[h->id_size];
        if (!hprof_value_at(h, type, &p, left)) return false;
        c = &h->classes[class_index];
        if (hprof_is_inside(h, name, &apart)) {
            c->static_bytes[0] += type == HPROF_OBJECT ? 4 : hprof_width(h, type);
            c->static_bytes[1] += type == HPROF_OBJECT ? 8 : hprof_width(h, type);
        }
        if (type != HPROF_OBJECT || !hprof_id(h, p)) continue;
        if (hprof_is(h, c->name, "java/lang/ClassLoader") && hprof_is(h, name, "scl"))
            h->system_loader = hprof_id(h, p);
        if (!hprof_refer(h, b, hprof_id(h, p), 0)) return false;
        if (!hprof_field_name(h, name, hprof_string(h, c->name), &number)) return false;
        b->name[b->count - 1] = number;
    }
    return true;
}

HD_UNUSED static bool hprof_fields(hprof *h, uint32_t class_index, uint64_t *left) {
    const uint8_t *p;
    uint32_t n, field = (uint32_t)h->field_count, ref = (uint32_t)h->ref_count, bytes = 0;
    if (!hprof_bytes(h, 2, &p, left)) return false;
    n = hprof_get16(p);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t name;
        uint8_t type;
        hprof_ref r = { bytes, 0 };
        if (!hprof_bytes(h, h->id_size + 1, &p, left)) return false;
        name = hprof_id(h, p), type = p[h->id_size];
        if (!hprof_width(h, type)) return hprof_wrong(h, hprof_offset(h), "a field of an unknown type");
        if (!ROOM(&h->lines, h->field_names, h->field_count, 1, h->field_name_room) ||
            !ROOM(&h->lines, h->field_types, h->field_count, 1, h->field_type_room) ||
            !ROOM(&h->lines, h->refs, h->ref_count, 1, h->ref_room))
            return hprof_fail(h);
        h->field_names[h->field_count] = name;
        h->field_types[h->field_count++] = type;
        bytes += hprof_width(h, type);
        if (type != HPROF_OBJECT) continue;
        if (!hprof_field_name(h, name, hd_cstr(""), &r.name)) return false;
        h->refs[h->ref_count++] = r;
    }
    h->classes[class_index].field = field;
    h->classes[class_index].field_count = n;
    h->classes[class_index].ref = ref;
    h->classes[class_index].ref_count = (uint32_t)h->ref_count - ref;
    h->classes[class_index].own_bytes = bytes;
    return true;
}

HD_UNUSED static bool hprof_constants(hprof *h, uint64_t *left) {
    const uint8_t *p;
    uint32_t n;
    if (!hprof_bytes(h, 2, &p, left)) return false;
    n = hprof_get16(p);
    for (uint32_t i = 0; i < n; i++)
        if (!hprof_bytes(h, 3, &p, left) || !hprof_value_at(h, p[2], &p, left)) return false;
    return true;
}

/* The class object, which is an object of java.lang.Class. */
HD_UNUSED static bool hprof_class_object(hprof *h, uint32_t class_index) {
    uint32_t in_graph;
    if (!hprof_mirror(h, &in_graph)) return false;
    if (!hprof_object(h, h->classes[class_index].id, in_graph, HPROF_CLASS, class_index)) return false;
    h->classes[class_index].object = h->objects - 1;
    return true;
}

HD_UNUSED static bool hprof_class_record(hprof *h, uint64_t left) {
    static const char *const names[] = { "<super>", "<class loader>", "<signers>", "<protection domain>",
                                         "<class>" };
    const uint8_t *p;
    uint64_t ids[5], start = hprof_offset(h);
    uint32_t i, size;
    hprof_batch b;
    hprof_batch_begin(&b);
    if (!hprof_bytes(h, 1 + 7 * (size_t)h->id_size + 8, &p, &left)) return false;
    ids[4] = hprof_id(h, p + 1);
    size = hprof_get32(p + 5 + 7 * (size_t)h->id_size);
    for (i = 0; i < 4; i++) ids[i] = hprof_id(h, p + 5 + (i + 1) * (size_t)h->id_size);
    i = hprof_class_at(h, ids[4], 0);
    if (i == HPROF_NONE) return false;
    if (h->classes[i].object != HPROF_NONE) return hprof_wrong(h, start, "a class that comes twice");
    for (int k = 0; k < 5 && !h->known_names[4]; k++) {
        h->status = hd_graph_add_name(h->graph, hd_cstr(names[k]), &h->known_names[k], h->lines.err);
        if (h->status) return false;
    }
    if (!hprof_class_object(h, i)) return false;
    h->classes[i].written = size < UINT32_MAX - 8 ? size : 0;
    h->classes[i].super = ids[HPROF_SUPER];
    h->classes[i].loader = ids[HPROF_LOADER];
    for (int k = 0; k < 4; k++)
        if (!hprof_refer(h, &b, ids[k], h->known_names[k])) return false;
    if (!hprof_constants(h, &left) || !hprof_statics(h, i, &b, &left) || !hprof_flush(h, &b)) return false;
    return hprof_fields(h, i, &left);
}

#endif
