/* Why a reference keeps nothing alive: DevTools leaves out edges of V8 for four reasons. */

#include "references.h"

/* "7 / part of key (K @5) -> value (V @9) pair in WeakMap (table @3)": V8 has it from the table and from the key. */
static bool is_pair_of(const hd_graph *graph, uint32_t holder, hd_str field) {
    static const char part[] = " / part of key (";
    char table[32];
    size_t n = (size_t)snprintf(table, sizeof table, "(table @%llu)",
                                (unsigned long long)hd_graph_object(graph, holder).id);
    return field.len > n && !memcmp(field.data + field.len - n, table, n) &&
           memmem(field.data, field.len, part, sizeof part - 1);
}

reference_kind kind_of_reference(const objects *o, uint32_t holder, uint32_t reference) {
    const uint8_t *kinds = hd_graph_object(o->graph, holder).kinds;
    reference_kind kind = kinds ? (reference_kind)kinds[reference] : STRONG_REFERENCE;
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_str type;
    if (!v8 || kind != WEAK_REFERENCE) return kind;
    type = hd_v8_edge_type(v8, holder, reference);
    if (hd_str_equal(type, hd_cstr("weak"))) return WEAK_REFERENCE;
    if (hd_str_equal(type, hd_cstr("shortcut"))) return SHORTCUT;
    return hd_str_equal(type, hd_cstr("internal")) &&
                   is_pair_of(o->graph, holder, hd_graph_field(o->graph, holder, reference))
               ? EPHEMERON_VALUE
               : TO_PAGE_OBJECT;
}

const char *reference_kind_name(reference_kind kind) {
    if (kind == SHORTCUT) return "shortcut";
    return kind == TO_PAGE_OBJECT ? "page object" : hd_reference_kind_name((uint32_t)kind);
}
