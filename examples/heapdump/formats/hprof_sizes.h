/* Private to hprof.c: shallow sizes as the JVM has them. The file has neither headers nor the width of references.
   But ids are addresses, and objects are next to each other, so the distance to the next object is the size. The
   layout that agrees with most distances is the layout of the JVM. A class that still differs has fields that the
   file does not show, or padding. Its smallest distance is its size. */
#ifndef HEAPDUMP_HPROF_SIZES_H
#define HEAPDUMP_HPROF_SIZES_H

#include "hprof_heap.h"

enum { HPROF_HOLES = 8, HPROF_PADDING = 1024, HPROF_GAPS = 65536, HPROF_FAR = 1 << 20 };

/* Distances. ----------------------------------------------------------------------------------- */

/* Takes note of the distance of an object to the next one, which is at least its size. */
HD_UNUSED static bool hprof_gap(hprof *h, const hprof_sized *s, uint64_t gap) {
    if (!gap || gap >= HPROF_FAR) return true;
    if (s->of < HPROF_CLASS) {
        hprof_class *c = &h->classes[s->of];
        if (!c->gap || gap < c->gap) c->gap = (uint32_t)gap;
    } else if (s->of == HPROF_CLASS) {
        h->classes[s->length].object_gap = (uint32_t)gap;
    } else if (h->gap_count < HPROF_GAPS && s->length < HPROF_FAR) {
        if (!ROOM(&h->lines, h->gap, h->gap_count, 1, h->gap_room)) return hprof_fail(h);
        h->gap[h->gap_count++] = (struct hprof_gap){ s->of - HPROF_ARRAY, s->length, (uint32_t)gap };
    }
    return true;
}

/* Gives new ids to objects with the id of an earlier one: nothing refers to them. Ids of files are small. */
HD_UNUSED static bool hprof_part_equals(hprof *h, uint64_t *equals) {
    const hd_graph *g = h->graph;
    uint64_t id = UINT64_MAX, before = 0, here;
    char message[80];
    for (uint32_t i = 0, last = h->objects; i < h->objects && !h->status; before = here, i++) {
        here = hd_graph_object_id(g, h->order[i]);
        if (!i || here != before) continue;
        while (last && hd_graph_object_id(g, h->order[last - 1]) >= id)
            id -= hd_graph_object_id(g, h->order[--last]) == id;
        h->status = hd_graph_set_id(h->graph, h->order[i], id--, h->lines.err);
        ++*equals;
    }
    if (!*equals || h->status) return !h->status;
    snprintf(message, sizeof message, "%llu object%s the id of another object", (unsigned long long)*equals,
             *equals == 1 ? " has" : "s have");
    hprof_wrong(h, HD_UNKNOWN, message);
    return !h->status;
}

/* Sorts all objects by id. */
HD_UNUSED static bool hprof_order(hprof *h) {
    uint64_t equals = 0;
    h->status = hd_graph_sort(h->graph, &h->order, h->lines.err);
    if (h->status || !hprof_part_equals(h, &equals)) return false;
    if (equals) h->status = hd_graph_sort(h->graph, &h->order, h->lines.err);
    return !h->status;
}

/* The object with an id, or HPROF_NONE. Needs hprof_order. */
HD_UNUSED static uint32_t hprof_find(const hprof *h, uint64_t id) {
    uint32_t low = 0, high = h->objects;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (hd_graph_object_id(h->graph, h->order[middle]) < id) low = middle + 1;
        else high = middle;
    }
    return low < h->objects && hd_graph_object_id(h->graph, h->order[low]) == id ? h->order[low] : HPROF_NONE;
}

/* Ids that are no multiples of 8 are no addresses. The JDK's old agent numbers objects. In Android's dumps the text
   of a string is inside the string. */
HD_UNUSED static bool hprof_gaps(hprof *h) {
    uint64_t id = h->objects ? hd_graph_object_id(h->graph, h->order[0]) : 0, next;
    if (hprof_of_android(h)) return true;
    for (uint32_t i = 0; i < h->objects; i++)
        if (hd_graph_object_id(h->graph, i) % 8) return true;
    for (uint32_t i = 0; i + 1 < h->objects; i++, id = next) {
        next = hd_graph_object_id(h->graph, h->order[i + 1]);
        if (!hprof_gap(h, &h->sized[h->order[i]], next - id)) return false;
    }
    return true;
}

/* Layouts. ------------------------------------------------------------------------------------- */

/* Where fields of subclasses can go: behind `end`, and into holes. */
typedef struct hprof_shape {
    uint32_t end, holes;
    struct { uint32_t at, size; } hole[HPROF_HOLES];
} hprof_shape;

HD_UNUSED static uint32_t hprof_round(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

/* Bytes of a field in the JVM. */
HD_UNUSED static uint32_t hprof_field_bytes(const hprof *h, const struct hprof_layout *l, uint32_t type) {
    return type == HPROF_OBJECT ? l->reference : hprof_width(h, type);
}

HD_UNUSED static void hprof_hole(hprof_shape *s, uint32_t at, uint32_t size) {
    if (!size || s->holes == HPROF_HOLES) return;
    s->hole[s->holes].at = at;
    s->hole[s->holes++].size = size;
}

/* Places a field of `size` bytes into the smallest hole that it fits, else at the end. */
HD_UNUSED static void hprof_place(hprof_shape *s, uint32_t size) {
    uint32_t best = HPROF_HOLES, at;
    for (uint32_t i = 0; i < s->holes; i++) {
        uint32_t start = hprof_round(s->hole[i].at, size);
        if (start + size <= s->hole[i].at + s->hole[i].size &&
            (best == HPROF_HOLES || s->hole[i].size < s->hole[best].size))
            best = i;
    }
    if (best < HPROF_HOLES) {
        uint32_t from = s->hole[best].at, to = from + s->hole[best].size;
        at = hprof_round(from, size);
        s->hole[best] = s->hole[--s->holes];
        hprof_hole(s, from, at - from);
        hprof_hole(s, at + size, to - at - size);
        return;
    }
    at = hprof_round(s->end, size);
    hprof_hole(s, s->end, at - s->end);
    s->end = at + size;
}

/* Fields that HotSpot adds: one letter each, as in types of arrays; L is a reference. */
HD_UNUSED static const char *hprof_hidden(hd_str name) {
    static const char *const hidden[][2] = {
        { "java/lang/Class", "JJIILLL" }, { "java/lang/ClassLoader", "J" }, { "java/lang/Module", "J" },
        { "java/lang/invoke/MemberName", "J" }, { "java/lang/invoke/ResolvedMethodName", "JL" },
        { "java/lang/invoke/MethodHandleNatives$CallSiteContext", "JJ" }, { "java/lang/StackFrameInfo", "S" } };
    if (name.len < 14 || memcmp(name.data, "java/lang/", 10)) return "";
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (hd_str_equal(name, hd_cstr(hidden[i][0]))) return hidden[i][1];
    return "";
}

/* Counts the own fields of a class by their size: 8, 4, 2, 1, references. */
HD_UNUSED static void hprof_count_fields(const hprof *h, const hprof_class *c, uint32_t count[5]) {
    memset(count, 0, 5 * sizeof *count);
    for (uint32_t i = 0; i < c->field_count; i++) {
        uint32_t type = h->field_types[c->field + i], width = hprof_width(h, type);
        count[type == HPROF_OBJECT ? 4 : width == 8 ? 0 : width == 4 ? 1 : width == 2 ? 2 : 3]++;
    }
    if (hprof_of_android(h)) return;
    for (const char *p = hprof_hidden(hprof_string(h, c->name)); *p; p++)
        count[*p == 'L' ? 4 : *p == 'J' ? 0 : *p == 'I' ? 1 : 2]++;
}

/* Lays out the own fields of a class behind its super class's. `packing` 1: as JDK 15 and later. 0: as before, where
   holes of super classes stay, and only the first hole is filled. */
HD_UNUSED static void hprof_lay_out(const hprof *h, const struct hprof_layout *l, const hprof_class *c,
                                    hprof_shape *s) {
    uint32_t count[5], size[5] = { 8, 4, 2, 1, l->reference };
    hprof_count_fields(h, c, count);
    if (!l->packing) {
        s->holes = 0;
        s->end = hprof_round(s->end, l->reference);
    }
    for (int i = 0; i < 5; i++)
        for (uint32_t k = 0; k < count[i]; k++) hprof_place(s, size[i]);
}

/* Sizes of all classes with known super classes. `shape` has a place for each class. */
HD_UNUSED static void hprof_class_sizes(hprof *h, const struct hprof_layout *l, hprof_shape *shape) {
    uint32_t chain[HPROF_DEPTH];
    for (size_t i = 0; i < h->class_count; i++) shape[i].end = 0;
    for (size_t i = 0; i < h->class_count; i++) {
        uint32_t n = 0, k = (uint32_t)i;
        if (!hprof_class_ready(h, k)) continue;
        for (; k != HPROF_NONE && !shape[k].end && n < HPROF_DEPTH; k = h->classes[k].over) chain[n++] = k;
        while (n) {
            hprof_shape *s = &shape[chain[--n]];
            const hprof_class *c = &h->classes[chain[n]];
            if (c->over == HPROF_NONE) s->end = l->header, s->holes = 0;
            else *s = shape[c->over];
            hprof_lay_out(h, l, c, s);
        }
    }
}

HD_UNUSED static uint64_t hprof_array_size(const hprof *h, const struct hprof_layout *l, uint32_t type,
                                           uint64_t length) {
    uint64_t width = hprof_field_bytes(h, l, type), base = l->base;
    if (width == 8) base = hprof_round(l->base, 8);
    return (base + length * width + 7) / 8 * 8;
}

/* How many distances agree with a layout, minus the distances that contradict it. */
HD_UNUSED static int64_t hprof_agreement(hprof *h, const struct hprof_layout *l, hprof_shape *shape) {
    int64_t sum = 0;
    hprof_class_sizes(h, l, shape);
    for (size_t i = 0; i < h->class_count; i++) {
        uint32_t size = hprof_round(shape[i].end, 8), gap = h->classes[i].gap;
        if (gap && shape[i].end) sum += size == gap ? 1 : size > gap ? -2 : 0;
    }
    for (size_t i = 0; i < h->gap_count; i++) {
        uint64_t size = hprof_array_size(h, l, h->gap[i].type, h->gap[i].length);
        sum += size == h->gap[i].gap ? 1 : size > h->gap[i].gap ? -2 : 0;
    }
    return sum;
}

HD_UNUSED static void hprof_find_layout(hprof *h, hprof_shape *shape) {
    static const struct hprof_layout layouts[] = {
        { 12, 4, 16, 1 }, { 12, 4, 16, 0 }, { 12, 8, 16, 1 }, { 12, 8, 16, 0 }, { 16, 8, 24, 1 }, { 16, 8, 24, 0 },
        { 16, 8, 20, 1 }, { 16, 4, 24, 1 }, { 16, 4, 24, 0 }, { 16, 4, 20, 1 }, { 8, 4, 12, 1 }, { 8, 8, 12, 1 } };
    static const struct hprof_layout narrow = { 8, 4, 12, 0 };
    int64_t best = INT64_MIN;
    if (h->wanted == HD_LAYOUT_FILE) h->layout = (struct hprof_layout){ 0, h->id_size, 0, 0 };
    else if (h->id_size == 4) h->layout = narrow;
    if (h->wanted == HD_LAYOUT_FILE || h->id_size == 4) return;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        uint32_t reference = h->wanted == HD_LAYOUT_WIDE ? 8 : 4;
        int64_t sum;
        if (h->wanted && (layouts[i].reference != reference || layouts[i].header == 8)) continue;
        sum = hprof_agreement(h, &layouts[i], shape);
        if (sum > best) best = sum, h->layout = layouts[i];
    }
}

/* A layout of the caller counts more than distances. */
HD_UNUSED static void hprof_forget_gaps(hprof *h) {
    for (size_t i = 0; i < h->class_count; i++) h->classes[i].gap = h->classes[i].object_gap = 0;
}

/* Whether objects are next to each other. Dumps of ZGC omit dead objects, so there are gaps between the others. */
HD_UNUSED static bool hprof_is_dense(const hprof *h) {
    size_t equal = 0;
    for (size_t i = 0; i < h->gap_count; i++)
        equal += hprof_array_size(h, &h->layout, h->gap[i].type, h->gap[i].length) == h->gap[i].gap;
    return equal >= h->gap_count - h->gap_count / 100;
}

/* Whether the JVM pads instances of this class or of a super class (@Contended). */
HD_UNUSED static bool hprof_is_padded(const hprof *h, const hprof_class *c) {
    static const char *const padded[] = {
        "java/lang/Thread", "java/util/concurrent/ForkJoinPool", "java/util/concurrent/ForkJoinPool$WorkQueue",
        "java/util/concurrent/Exchanger$Node", "java/util/concurrent/ConcurrentHashMap$CounterCell",
        "java/util/concurrent/atomic/Striped64$Cell",
        "java/util/concurrent/SubmissionPublisher$BufferedSubscription" };
    for (uint32_t n = 0; n < HPROF_DEPTH; n++, c = &h->classes[c->over]) {
        for (size_t i = 0; i < sizeof padded / sizeof *padded; i++)
            if (hprof_is(h, c->name, padded[i])) return true;
        if (c->over == HPROF_NONE) break;
    }
    return false;
}

/* The size of a class's instances. Android's file has it. The distance is used if it is too small for the layout, or
   shows padding. */
HD_UNUSED static uint32_t hprof_instance_size(const hprof *h, const hprof_class *c, uint32_t end, bool dense) {
    uint32_t size = hprof_of_android(h) && c->written ? hprof_round(c->written, 8) : hprof_round(end, 8);
    bool larger = c->gap >= size && c->gap - size < HPROF_PADDING && (dense || !size || hprof_is_padded(h, c));
    if (c->gap && (c->gap < size || larger)) size = c->gap;
    return size ? size : hprof_round(h->layout.header, 8);
}

/* The bytes of an object's values in the file. */
HD_UNUSED static uint64_t hprof_size_in_file(const hprof *h, const hprof_sized *s) {
    if (s->of == HPROF_CLASS) return h->classes[s->length].static_bytes[h->id_size == 8];
    if (s->of < HPROF_CLASS) return h->classes[s->of].bytes;
    return (uint64_t)s->length * hprof_width(h, s->of - HPROF_ARRAY);
}

/* A class object has the static fields of its class behind its own. */
HD_UNUSED static uint64_t hprof_class_object_size(const hprof *h, uint32_t of, uint32_t plain, bool dense) {
    const hprof_class *c = &h->classes[of];
    uint64_t size = hprof_round(plain + c->static_bytes[h->layout.reference == 8], 8);
    if (!c->object_gap || c->object_gap >= size + HPROF_PADDING) return size;
    return dense || c->object_gap < size ? c->object_gap : size;
}

/* Gives each object its size. */
HD_UNUSED static bool hprof_sizes(hprof *h) {
    hprof_shape *shape = NULL;
    size_t room = 0;
    uint32_t plain;
    bool dense;
    if (!room_grow(&h->lines, &shape, 0, h->class_count + 1, &room, sizeof *shape)) return hprof_fail(h);
    if (!hprof_gaps(h)) {
        room_free(&h->lines, shape, room, sizeof *shape);
        return false;
    }
    hprof_find_layout(h, shape);
    if (h->wanted) hprof_forget_gaps(h);
    dense = hprof_is_dense(h);
    plain = h->layout.header;
    hprof_class_sizes(h, &h->layout, shape);
    for (size_t i = 0; i < h->class_count; i++) {
        hprof_class *c = &h->classes[i];
        c->size = hprof_instance_size(h, c, shape[i].end, dense);
        if (shape[i].end && hprof_is(h, c->name, "java/lang/Class")) plain = shape[i].end;
    }
    room_free(&h->lines, shape, room, sizeof *shape);
    for (uint32_t i = 0; i < h->sized_count && !h->status; i++) {
        hprof_sized s = h->sized[i];
        uint64_t size = h->wanted == HD_LAYOUT_FILE ? hprof_size_in_file(h, &s)
                        : s.of == HPROF_CLASS       ? hprof_class_object_size(h, s.length, plain, dense)
                        : s.of < HPROF_CLASS
                            ? h->classes[s.of].size
                            : hprof_array_size(h, &h->layout, s.of - HPROF_ARRAY, s.length);
        h->status = hd_graph_add_size(h->graph, i, size, h->lines.err);
    }
    return !h->status;
}

#endif
