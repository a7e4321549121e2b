/* suspects: where the objects of a suspect come from, in V8 snapshots: source and allocating function. */

#include "suspects.h"

void put_pile_origin(FILE *out, const matched *m, const pile *p) {
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_short_origins(f, m->from, p->object);
    closed_text(f, &text);
    if (*text) display(out, "      %s\n", text + strspn(text, " "));
}

static bool same_place(const hd_v8_place *x, const hd_v8_place *y) {
    return x->script_id == y->script_id && x->line == y->line && x->column == y->column &&
           hd_str_equal(x->function, y->function);
}

/* The place that more than half of the objects of a class come from, of new ones if there are several snapshots. */
static bool common_origin(const matched *m, uint32_t class_index, class_origin *out) {
    const shot *s = &m->shots[m->count - 1];
    uint32_t n = s->o.dominators->count, votes = 0;
    memset(out, 0, sizeof *out);
    for (int counting = 0; counting < 2; counting++)
        for (uint32_t o = 0; o < n; o++) {
            hd_v8_place place;
            bool allocated, placed, equal;
            if (s->class_of[o] != class_index || !s->o.dominators->below[o]) continue;
            if (m->ids && m->ids[(size_t)o * m->count] != HD_NONE) continue;
            placed = origin_of(m->from, o, &place, &allocated);
            if (placed && !counting && !votes) out->place = place, out->allocated = allocated;
            equal = placed && allocated == out->allocated && same_place(&place, &out->place);
            if (counting) out->all++, out->objects += equal;
            else if (equal) votes++;
            else if (votes) votes--;
        }
    return 2 * out->objects > out->all;
}

void put_class_origin(FILE *out, const matched *m, uint32_t class_index) {
    class_origin x;
    if (!m->from->read || !common_origin(m, class_index, &x)) return;
    display(out, "      "), put_origin(out, &x.place, x.allocated);
    if (x.objects < x.all) display(out, "  (%u of%s %u)", x.objects, m->ids ? " the new" : "", x.all);
    display(out, "\n");
}

void json_class_origin(hd_json *j, const matched *m, uint32_t class_index) {
    class_origin x;
    if (!m->from->read || !common_origin(m, class_index, &x)) return;
    json_object(j, x.allocated ? "allocated_by" : "source");
    if (x.allocated) json_str(j, "function", x.place.function);
    json_str(j, "script", x.place.script);
    json_u64(j, "script_id", x.place.script_id);
    json_u64(j, "line", x.place.line);
    json_u64(j, "column", x.place.column);
    json_u64(j, "objects", x.objects);
    json_u64(j, "of", x.all);
    hd_json_end(j);
}
