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

/* Names, before the graph is sealed. ---------------------------------------------------------------- */

enum { HPROF_WINDOWS = 8, HPROF_NAME_BYTES = 1024 };

/* The array with the text of a string, or NULL. The low bits of its id are known; it is the nearest one of those. */
HD_UNUSED static const hprof_kept *hprof_text_of(const hprof *h, uint32_t string) {
    const hprof_sized *of = &h->sized[string];
    uint64_t window = h->id_size == 8 ? (uint64_t)1 << 35 : (uint64_t)1 << 32;
    uint64_t low = h->id_size == 8 ? (uint64_t)of->length << 3 : of->length;
    uint64_t near = (hd_graph_object_id(h->graph, string) & ~(window - 1)) | low;
    if (of->of >= HPROF_CLASS || h->classes[of->of].says != HPROF_STRING || of->length == HPROF_NONE) return NULL;
    for (uint64_t k = 0; k <= 2 * HPROF_WINDOWS; k++) {
        uint32_t text = hprof_find(h, k % 2 ? near - (k + 1) / 2 * window : near + k / 2 * window);
        const hprof_kept *kept = text == HPROF_NONE ? NULL : hprof_kept_of(h, text);
        if (kept && h->sized[text].of >= HPROF_ARRAY) return kept;
    }
    return NULL;
}

/* The code point at *at of a text, of Latin-1 or UTF-16. A pair of surrogates is one. */
HD_UNUSED static uint32_t hprof_code_point(const uint8_t *p, uint32_t size, uint32_t step, uint32_t *at) {
    uint32_t c = p[*at] | (step == 2 ? (uint32_t)p[*at + 1] << 8 : 0), low;
    *at += step;
    if (c >> 10 != 0x36 || *at + 2 > size) return c;
    low = p[*at] | (uint32_t)p[*at + 1] << 8;
    if (low >> 10 != 0x37) return c;
    *at += 2;
    return 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
}

HD_UNUSED static uint32_t hprof_put_utf8(uint8_t *to, uint32_t c) {
    uint32_t n = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t head[] = { 0, 0xc0, 0xe0, 0xf0 };
    to[0] = (uint8_t)(head[n] | c >> 6 * n);
    for (uint32_t i = 1; i <= n; i++) to[i] = (uint8_t)(0x80 | (c >> 6 * (n - i) & 0x3f));
    return n + 1;
}

/* Stores the text of a named object's string as UTF-8: whole characters, HPROF_NAME_BYTES at most, because many
   strings may share one long text. */
HD_UNUSED static bool hprof_name_text(hprof *h, hprof_named *named) {
    uint32_t string = hprof_find(h, named->string), size, step, i = 0, n = 0;
    const hprof_kept *kept = string == HPROF_NONE ? NULL : hprof_text_of(h, string);
    if (!kept || (kept->type != HPROF_BYTE && kept->type != HPROF_CHAR)) return true;
    step = kept->type == HPROF_CHAR || hprof_is_wide(h, string) ? 2 : 1;
    size = (kept->size < HPROF_TEXT ? kept->size : HPROF_TEXT) / step * step;
    if (!ROOM(&h->lines, h->bytes, h->bytes_size, HPROF_NAME_BYTES + 4, h->bytes_room)) return hprof_fail(h);
    while (i < size) {
        uint32_t c = hprof_code_point(h->bytes + kept->at, size, step, &i);
        uint32_t more = hprof_put_utf8(h->bytes + h->bytes_size + n, c);
        if (n + more > HPROF_NAME_BYTES) break;
        n += more;
    }
    named->at = h->bytes_size;
    named->size = n;
    h->bytes_size += n;
    return true;
}

/* Stores the names of threads and constants. Objects that share a string share the name. */
HD_UNUSED static bool hprof_names(hprof *h) {
    hprof_map known = { 0 };
    for (uint32_t i = 0; i < h->named_count && !h->status; i++) {
        hprof_named *named = &h->named[i];
        uint32_t same = hprof_map_get(h, &known, named->string);
        if (same != HPROF_NONE) named->at = h->named[same].at, named->size = h->named[same].size;
        else if (hprof_name_text(h, named)) hprof_map_put(h, &known, named->string, i);
    }
    room_free(&h->lines, known.slot, known.room, sizeof *known.slot);
    return !h->status;
}

HD_UNUSED static int hprof_compare_named(const void *a, const void *b) {
    const hprof_named *x = a, *y = b;
    return (x->object > y->object) - (x->object < y->object);
}

/* Values. ------------------------------------------------------------------------------------------ */

/* The object in a field of this name, or HD_NONE. A subclass may have another field with the name: it comes first. */
HD_UNUSED static uint32_t hprof_field(const hprof *h, uint32_t object, const char *name) {
    hd_object o = hd_graph_object(h->graph, object);
    for (uint32_t i = o.reference_count; i--;)
        if (hd_str_equal(hd_graph_field(h->graph, object, i), hd_cstr(name))) return o.references[i];
    return HD_NONE;
}

HD_UNUSED static bool hprof_string_value(const hprof *h, uint32_t object, hd_value *value) {
    uint32_t text = hprof_field(h, object, "value");
    const hprof_kept *kept = text == HD_NONE ? NULL : hprof_kept_of(h, text);
    uint32_t n;
    if (!kept || (kept->type != HPROF_BYTE && kept->type != HPROF_CHAR)) return false;
    n = kept->size < HPROF_TEXT ? kept->size : HPROF_TEXT;
    if (kept->at > h->bytes_size || n > h->bytes_size - kept->at) return false; /* a number, and no array's text */
    value->kind = HD_VALUE_STRING;
    value->encoding = kept->type == HPROF_CHAR || hprof_is_wide(h, object) ? HD_TEXT_UTF16 : HD_TEXT_LATIN1;
    value->text = (hd_str){ (const char *)h->bytes + kept->at, n };
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

/* A thread, an enum constant. */
HD_UNUSED static void hprof_name_value(const hprof *h, uint32_t object, hd_value *value) {
    hprof_named key = { 0, 0, object, 0 }, *named;
    if (!h->named_count) return;
    named = bsearch(&key, h->named, h->named_count, sizeof key, hprof_compare_named);
    if (!named || named->at == HPROF_NO_NAME) return;
    value->kind = HD_VALUE_NAME;
    value->text = (hd_str){ (const char *)h->bytes + named->at, named->size };
}

/* Collections. ----------------------------------------------------------------------------------- */

/* Replaces the array of each collection by its number of slots. */
HD_UNUSED static void hprof_take_slots(hprof *h) {
    for (size_t i = 0; i < h->kept_count; i++) {
        hprof_kept *kept = &h->kept[i];
        uint32_t of = h->sized[kept->object].of, array;
        uint32_t says = of < HPROF_CLASS ? h->classes[of].says : HPROF_PLAIN;
        if (says != HPROF_COUNTED && says != HPROF_DEQUE) continue;
        array = hprof_find(h, (uint64_t)kept->high << 32 | kept->size);
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
    if (c->state != HPROF_READY) return NULL; /* its super classes may run in a circle */
    while (!c->rule && c->over != HPROF_NONE) c = &h->classes[c->over];
    return c->rule;
}

/* The number of elements of a collection, and of slots of its array. */
HD_UNUSED static void hprof_count_value(const hprof *h, uint32_t object, const hprof_class *c, hd_value *value) {
    const hprof_kept *kept = hprof_kept_of(h, object);
    const hprof_rule *rule = hprof_own_rule(h, c);
    uint64_t count;
    if (!kept || !rule || rule->says < HPROF_COUNTED) return;
    count = kept->type == HPROF_LONG ? kept->at : (uint64_t)(int32_t)kept->at;
    if (rule->says == HPROF_DEQUE) {
        count = (uint64_t)(int32_t)kept->at - (uint64_t)(int32_t)(kept->at >> 32);
        if (count > INT64_MAX) count += kept->size;
    }
    count += hprof_cells(h, object);
    if (count > INT64_MAX) return; /* below zero */
    value->kind = HD_VALUE_LENGTH;
    value->number = count;
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
