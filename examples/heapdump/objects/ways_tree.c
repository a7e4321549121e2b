/* path --class: why all objects of a class are alive. Merges their shortest paths from the roots into one tree. */

#include "ways_tree.h"

/* The instances, as a heap along the paths to them: bytes are their shallow sizes, blocks their number. */
typedef struct merged {
    hd_heap heap;
    hd_profile *profile;
    uint32_t live, largest;      /* largest: the instance that retains most */
    uint64_t unheld;
    hd_total retained;
    name_worth worth;
} merged;

/* Marks all objects on the paths to live instances, and the instances. Counts the instances. */
static uint8_t *mark_ways(const objects *o, const uint8_t *asked, const ways *w, merged *m) {
    uint32_t all = hd_graph_object_count(o->graph);
    uint8_t *marks = needed(calloc((size_t)all + 1, 1));
    for (uint32_t i = 0; i < all; i++) {
        uint32_t c = hd_graph_object(o->graph, i).class_index;
        if (!c || !asked[c]) continue;
        if (!w->state[i]) {
            m->unheld++;
            continue;
        }
        m->live++;
        if (m->largest == HD_NONE || o->dominators->retained[i] > o->dominators->retained[m->largest]) m->largest = i;
        for (uint32_t at = i; at != HD_NONE && !marks[at]; at = w->held_by[at]) marks[at] = 1;
    }
    return marks;
}

static hd_status retained_together(const objects *o, const uint8_t *asked, const ways *w, merged *m, hd_error *err) {
    uint32_t n = 0;
    FREED uint32_t *list = needed(malloc(((size_t)m->live + 1) * sizeof *list));
    for (uint32_t i = 0; i < w->count; i++)
        if (asked[hd_graph_object(o->graph, w->order[i]).class_index]) list[n++] = w->order[i];
    return hd_graph_retained(o->graph, list, n, NULL, &m->retained, err);
}

static void merged_free(merged *m) {
    hd_profile_free(m->profile);
    name_worth_free(&m->worth);
}

/* Freed by the caller. On a screen of `columns`, only names that a programmer knows; 0: every object. */
static int merge_ways(const arguments *a, const objects *o, int columns, merged *m) {
    hd_profile_desc desc = { .axis_count = 1 };
    FREED uint8_t *asked = classes_asked(a, o), *marks = NULL;
    ways w;
    hd_error err;
    hd_status status;
    memset(m, 0, sizeof *m);
    m->largest = HD_NONE;
    if (!asked) return BAD_INPUT;
    asked[0] = 0;                /* class 0: objects that no record describes */
    desc.axis_name[0] = "path";
    m->profile = hd_profile_create(&desc, &err);
    if (!m->profile) needed(NULL);
    ways_find(o, &w);
    marks = mark_ways(o, asked, &w, m);
    status = ways_fill(o, asked, marks, &w, columns, m->profile, &m->worth, &err);
    if (!status) status = retained_together(o, asked, &w, m, &err);
    m->heap = (hd_heap){ .allocator = a->objects.class_name, .profile = m->profile };
    ways_free(&w);
    if (status) merged_free(m);
    return status ? failed(o->file, &err) : DONE;
}

/* Answers. ------------------------------------------------------------------------------------- */

static void put_summary(FILE *out, const arguments *a, const screen *s, const merged *m) {
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    display(f, "%u object%s of class %s%s", m->live, m->live == 1 ? "" : "s", a->objects.class_name,
            a->objects.subclasses ? " and those that extend it" : "");
    display(f, m->live == 1 ? ", which retains " : ", which retain "), put_bytes(f, a, m->retained.bytes, 0);
    if (m->unheld) display(f, "; no root holds %llu%s", (unsigned long long)m->unheld, m->live ? " more" : "");
    closed_text(f, &text);
    put_wrapped(out, text, s->columns);
}

int ways_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count);
    hd_options options = { 0 };
    hd_error err;
    merged m;
    listing l;
    if (merge_ways(a, o, steps_columns(a, s.columns), &m)) return BAD_INPUT;
    put_summary(out, a, &s, &m);
    if (m.live && listing_make(a, &m.heap, NULL, rows, false, &options, &l, &err)) {
        merged_free(&m);
        return failed(o->file, &err);
    }
    if (m.live) {
        char id[24];
        listing_sort(&l, a->cut.order);
        l.whole = true;          /* or it is shortened here */
        if (s.columns && !a->cut.all) ways_shorten(&l, &m.worth, s.columns, listing_figures(a, &s, &l));
        listing_put(out, a, &s, &l, &m.heap, NULL);
        listing_free(&l);
        id_text(o, m.largest, id);
        put_next(out, &s, a, "which they are", "objects", "--class", a->objects.class_name, o->file, NULL);
        put_next(out, &s, a, "each step to the largest", "path", "--id", id, o->file, NULL);
    }
    merged_free(&m);
    return DONE;
}

static hd_status way_row(void *user, const hd_tree_row *row) {
    hd_json *j = user;
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_str(j, "name", row->name);
    json_u64(j, "bytes", row->amount.bytes);
    json_u64(j, "objects", row->amount.blocks);
    hd_json_end(j);
    return HD_OK;
}

int ways_json(const arguments *a, const objects *o, hd_json *j) {
    hd_tree_options tree = tree_options(a);
    hd_error err;
    hd_status status = HD_OK;
    merged m;
    if (merge_ways(a, o, 0, &m)) return BAD_INPUT;
    json_text(j, "class", a->objects.class_name);
    json_u64(j, "objects", m.live);
    json_u64(j, "bytes", hd_profile_bytes(m.profile));
    json_u64(j, "retained", m.retained.bytes);
    json_u64(j, "unheld", m.unheld);
    json_array(j, "rows");
    if (m.live) status = hd_tree(&m.heap, &tree, way_row, j, &err);
    hd_json_end(j);
    merged_free(&m);
    return status ? failed(o->file, &err) : DONE;
}
