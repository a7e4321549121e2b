/* Why a reference keeps nothing alive: DevTools does not follow V8 edges of four kinds. */

#include "references.h"

/* "7 / part of key (K @5) -> value (V @9) pair in WeakMap (table @3)": V8 writes this edge from the table and from
   the key. */
static bool is_pair_of(const hd_graph *graph, uint32_t holder, hd_str field) {
    static const char part[] = " / part of key (";
    char table[32];
    size_t n;
    if (!field.len || !memmem(field.data, field.len, part, sizeof part - 1)) return false;
    n = (size_t)snprintf(table, sizeof table, "(table @%llu)", (unsigned long long)hd_graph_object(graph, holder).id);
    return field.len > n && !memcmp(field.data + field.len - n, table, n);
}

/* The kind of an edge that DevTools does not follow, from V8's type. EPHEMERON_VALUE: the edge's name decides. */
static reference_kind kind_of_type(hd_str type) {
    if (hd_str_equal(type, hd_cstr("weak"))) return WEAK_REFERENCE;
    if (hd_str_equal(type, hd_cstr("shortcut"))) return SHORTCUT;
    return hd_str_equal(type, hd_cstr("internal")) ? EPHEMERON_VALUE : TO_PAGE_OBJECT;
}

static reference_kind kind_by_name(const objects *o, reference_kind kind, uint32_t holder, uint32_t reference) {
    if (kind == EPHEMERON_VALUE && !is_pair_of(o->graph, holder, hd_graph_field(o->graph, holder, reference)))
        return TO_PAGE_OBJECT;
    return kind;
}

reference_kind kind_of_reference(const objects *o, uint32_t holder, uint32_t reference) {
    const uint8_t *kinds = hd_graph_object(o->graph, holder).kinds;
    reference_kind kind = kinds ? (reference_kind)kinds[reference] : STRONG_REFERENCE;
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    if (!v8 || kind != WEAK_REFERENCE) return kind;
    return kind_by_name(o, kind_of_type(hd_v8_edge_type(v8, holder, reference)), holder, reference);
}

/* All edges of a type share one string, so the kind is looked up once per run of equal strings. */
void count_kinds(const objects *o, uint64_t counts[REFERENCE_KINDS]) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_str last = { NULL, 0 };
    reference_kind of_last = WEAK_REFERENCE;
    for (uint32_t i = 0; i < hd_graph_object_count(o->graph); i++) {
        hd_object x = hd_graph_object(o->graph, i);
        for (uint32_t r = 0; x.kinds && r < x.reference_count; r++) {
            reference_kind kind = (reference_kind)x.kinds[r];
            if (v8 && kind == WEAK_REFERENCE) {
                hd_str type = hd_v8_edge_type(v8, i, r);
                if (type.data != last.data) last = type, of_last = kind_of_type(type);
                kind = kind_by_name(o, of_last, i, r);
            }
            counts[kind]++;
        }
    }
}

const char *reference_kind_name(reference_kind kind) {
    if (kind == SHORTCUT) return "shortcut";
    return kind == TO_PAGE_OBJECT ? "page object" : hd_reference_kind_name((uint32_t)kind);
}
