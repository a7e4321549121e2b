/* Private to hprof.c: values of strings, boxed numbers, and objects with a name. */
#ifndef HEAPDUMP_HPROF_VALUES_H
#define HEAPDUMP_HPROF_VALUES_H

#include <stdlib.h>

#include "hprof_sizes.h"

HD_UNUSED static int hprof_compare_kept(const void *a, const void *b) {
    const hprof_kept *x = a, *y = b;
    return (x->object > y->object) - (x->object < y->object);
}

HD_UNUSED static const hprof_kept *hprof_kept_of(const hprof *h, uint32_t object) {
    hprof_kept key = { 0, object, 0, 0, 0 };
    return h->kept_count ? bsearch(&key, h->kept, h->kept_count, sizeof key, hprof_compare_kept) : NULL;
}

/* Whether a string has two bytes a character. */
HD_UNUSED static bool hprof_is_wide(const hprof *h, uint32_t object) {
    size_t low = 0, high = h->wide_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->wide[middle] < object) low = middle + 1;
        else high = middle;
    }
    return low < h->wide_count && h->wide[low] == object;
}

/* Appends a character of the basic plane as UTF-8, if it fits; '?' for others and for control characters. */
HD_UNUSED static size_t hprof_put_utf8(char *to, size_t n, size_t room, uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000)) c = '?';
    if (room - n < 3) return n;
    if (c < 0x80) {
        to[n++] = (char)c;
    } else {
        if (c >= 0x800) to[n++] = (char)(0xe0 | c >> 12);
        to[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
        to[n++] = (char)(0x80 | (c & 0x3f));
    }
    return n;
}

/* The text of the string with an id as UTF-8, as far as it fits, before the graph is sealed. */
HD_UNUSED static hd_str hprof_text_of(const hprof *h, uint64_t id, char *to, size_t room) {
    uint32_t string = hprof_find(h, id), text;
    const hprof_kept *kept;
    size_t n = 0, step;
    if (string == HPROF_NONE) return hd_cstr("");
    text = hprof_find(h, (id & ~(((uint64_t)1 << 35) - 1)) | (uint64_t)h->sized[string].length << 3);
    kept = text == HPROF_NONE ? NULL : hprof_kept_of(h, text);
    if (!kept) return hd_cstr("");
    step = kept->type == HPROF_CHAR || hprof_is_wide(h, string) ? 2 : 1;
    for (size_t i = 0; i + step <= kept->size && i < HPROF_TEXT && n + 3 <= room; i += step) {
        const uint8_t *p = h->bytes + kept->at + i;
        n = hprof_put_utf8(to, n, room, step == 2 ? (uint32_t)p[1] << 8 | p[0] : *p);
    }
    return (hd_str){ to, n };
}

/* The object in a field of this name, or HD_NONE. */
HD_UNUSED static uint32_t hprof_field(const hprof *h, uint32_t object, const char *name) {
    hd_object o = hd_graph_object(h->graph, object);
    for (uint32_t i = 0; i < o.reference_count; i++)
        if (hd_str_equal(hd_graph_field(h->graph, object, i), hd_cstr(name))) return o.references[i];
    return HD_NONE;
}

HD_UNUSED static bool hprof_string_value(const hprof *h, uint32_t object, hd_value *value) {
    uint32_t text = hprof_field(h, object, "value");
    const hprof_kept *kept = text == HD_NONE ? NULL : hprof_kept_of(h, text);
    if (!kept || (kept->type != HPROF_BYTE && kept->type != HPROF_CHAR)) return false;
    value->kind = HD_VALUE_STRING;
    value->encoding = kept->type == HPROF_CHAR || hprof_is_wide(h, object) ? HD_TEXT_UTF16 : HD_TEXT_LATIN1;
    value->text = (hd_str){ (const char *)h->bytes + kept->at, kept->size < HPROF_TEXT ? kept->size : HPROF_TEXT };
    if (kept->size > HPROF_TEXT) value->number = kept->size / (value->encoding == HD_TEXT_UTF16 ? 2 : 1);
    return true;
}

HD_UNUSED static void hprof_boxed_value(const hprof_kept *kept, hd_value *value) {
    uint32_t low = (uint32_t)kept->at;
    float single;
    value->kind = HD_VALUE_INTEGER;
    switch (kept->type) {
    case HPROF_BOOLEAN: value->kind = HD_VALUE_BOOL, value->number = kept->at != 0; break;
    case HPROF_BYTE: value->number = (uint64_t)(int64_t)(int8_t)low; break;
    case HPROF_SHORT: value->number = (uint64_t)(int64_t)(int16_t)low; break;
    case HPROF_INT: value->number = (uint64_t)(int64_t)(int32_t)low; break;
    case HPROF_FLOAT: value->kind = HD_VALUE_REAL, memcpy(&single, &low, 4), value->real = (double)single; break;
    case HPROF_DOUBLE: value->kind = HD_VALUE_REAL, memcpy(&value->real, &kept->at, 8); break;
    default: value->number = kept->at; break;
    }
}

/* A thread, an enum constant. Its name is UTF-8: ASCII as it is. */
HD_UNUSED static void hprof_name_value(const hprof *h, uint32_t object, hd_value *value) {
    uint32_t name = hprof_field(h, object, "name");
    if (name == HD_NONE || !hprof_string_value(h, name, value)) return;
    value->kind = value->encoding == HD_TEXT_LATIN1 ? HD_VALUE_NAME : HD_VALUE_STRING;
}

/* Collections. ----------------------------------------------------------------------------------- */

/* Replaces the array of each collection by its number of slots. */
HD_UNUSED static void hprof_take_slots(hprof *h) {
    for (size_t i = 0; i < h->kept_count; i++) {
        hprof_kept *kept = &h->kept[i];
        uint32_t of = h->sized[kept->object].of, array;
        uint32_t says = of < HPROF_CLASS ? h->classes[of].says : HPROF_PLAIN;
        if (says != HPROF_COUNTED && says != HPROF_DEQUE) continue;
        array = hprof_find(h, (uint64_t)kept->high << 35 | (uint64_t)kept->size << 3);
        kept->size = 0;
        if (array != HPROF_NONE && h->sized[array].of == HPROF_ARRAY + HPROF_OBJECT)
            kept->size = h->sized[array].length;
    }
}

/* Elements that a ConcurrentHashMap counts in cells, one for each processor at most. */
HD_UNUSED static uint64_t hprof_cells(const hprof *h, uint32_t object) {
    enum { MOST_CELLS = 4096 };
    uint32_t cells = hprof_field(h, object, "counterCells");
    hd_object o = hd_graph_object(h->graph, cells);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < o.reference_count && i < MOST_CELLS; i++) {
        const hprof_kept *kept = hprof_kept_of(h, o.references[i]);
        if (kept && kept->type == HPROF_LONG) sum += kept->at;
    }
    return sum;
}

/* The rule of a class or of its nearest super class with one, or NULL. */
HD_UNUSED static const hprof_rule *hprof_own_rule(const hprof *h, const hprof_class *c) {
    while (!c->rule && c->over != HPROF_NONE) c = &h->classes[c->over];
    return c->rule;
}

/* The number of elements of a collection, and of slots of its array. */
HD_UNUSED static void hprof_count_value(const hprof *h, uint32_t object, const hprof_class *c, hd_value *value) {
    const hprof_kept *kept = hprof_kept_of(h, object);
    const hprof_rule *rule = hprof_own_rule(h, c);
    int64_t count;
    if (!kept || !rule) return;
    count = kept->type == HPROF_LONG ? (int64_t)kept->at : (int32_t)kept->at;
    if (rule->says == HPROF_DEQUE) {
        count = (int64_t)(int32_t)kept->at - (int32_t)(kept->at >> 32);
        if (count < 0) count += kept->size;
    }
    count += (int64_t)hprof_cells(h, object);
    if (count < 0) return;
    value->kind = HD_VALUE_LENGTH;
    value->number = (uint64_t)count;
    value->slots = kept->size / rule->slot_size;
}

/* The name of a class object's class. */
HD_UNUSED static void hprof_class_value(const hprof *h, uint32_t object, hd_value *value) {
    uint32_t i = hprof_map_get(h, &h->class_of, hd_graph_object(h->graph, object).id);
    if (i == HPROF_NONE || h->classes[i].object != object) return;
    value->kind = HD_VALUE_NAME;
    value->text = hd_graph_class(h->graph, h->classes[i].in_graph).name;
}

/* The class of an object, or NULL: an array or a class object. */
HD_UNUSED static const hprof_class *hprof_class_of(const hprof *h, uint32_t object) {
    uint32_t in_graph = hd_graph_object(h->graph, object).class_index;
    uint32_t i = in_graph < h->by_graph_room ? h->by_graph[in_graph] : HPROF_NONE;
    return i == HPROF_NONE ? NULL : &h->classes[i];
}

/* The value of the collection that a set or Properties has inside. */
HD_UNUSED static void hprof_wrapped_value(const hprof *h, uint32_t object, const hprof_class *c, hd_value *value) {
    const hprof_rule *rule = hprof_own_rule(h, c);
    uint32_t inner = rule && rule->object[0] ? hprof_field(h, object, rule->object[0]) : HD_NONE;
    const hprof_class *of = inner == HD_NONE ? NULL : hprof_class_of(h, inner);
    if (of) hprof_count_value(h, inner, of, value);
    else hprof_count_value(h, object, c, value); /* Properties before JDK 9 */
}

#endif
