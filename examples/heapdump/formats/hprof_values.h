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
    hprof_kept key = { object, 0, 0, 0 };
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

/* The text of the string with an id, before the graph is sealed: ASCII, with '?' for other characters. */
HD_UNUSED static hd_str hprof_text_of(const hprof *h, uint64_t id, char *to, size_t room) {
    uint32_t string = hprof_find(h, id), text;
    const hprof_kept *kept;
    size_t n = 0, step;
    if (string == HPROF_NONE) return hd_cstr("");
    text = hprof_find(h, (id & ~(((uint64_t)1 << 35) - 1)) | (uint64_t)h->sized[string].length << 3);
    kept = text == HPROF_NONE ? NULL : hprof_kept_of(h, text);
    if (!kept) return hd_cstr("");
    step = kept->type == HPROF_CHAR || hprof_is_wide(h, string) ? 2 : 1;
    for (size_t i = 0; i + step <= kept->size && i < HPROF_TEXT && n < room; i += step) {
        const uint8_t *p = h->bytes + kept->at + i;
        to[n++] = *p >= 0x20 && *p < 0x7f && (step == 1 || !p[1]) ? (char)*p : '?';
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

#endif
