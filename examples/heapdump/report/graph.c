/* The objects of a page: the ones with the largest retained size, the objects on a shortest path from a root to them,
   and references between all of these. */

#include "report.h"

enum { NAME_BYTES = 120, REFERENCES_OF_ONE = 100, REFERENCES_OF_ALL = 4 };

/* Objects of the page. */
typedef struct shown {
    const objects *o;
    uint32_t *object, count;     /* dominators first */
    uint32_t *number;            /* number on the page, by object; HD_NONE: not on the page */
} shown;

static uint32_t *column(size_t count) {
    uint32_t *c = needed(malloc((count + 1) * sizeof *c));
    memset(c, 0xff, (count + 1) * sizeof *c);
    return c;
}

/* Selects the objects with the largest retained size, and the objects between them and the roots: on the shortest
   path, and their dominators. */
static void shown_find(shown *s, const objects *o, const ways *w, uint32_t most) {
    const hd_dominators *d = o->dominators;
    uint32_t *top, n;
    if (most > d->count) most = d->count;
    s->o = o;
    s->count = 0;
    s->object = column(d->reached);
    s->number = column(d->count);
    top = column(most);
    n = hd_dominators_top(d, most, top);
    for (uint32_t i = 0; i < n; i++) s->number[top[i]] = 0;
    for (uint32_t i = w->count; i--;)
        if (!s->number[w->order[i]] && w->held_by[w->order[i]] != HD_NONE)
            s->number[w->held_by[w->order[i]]] = 0;
    for (uint32_t i = d->reached; i--;)
        if (!s->number[d->order[i]] && d->parent[d->order[i]] != HD_NONE) s->number[d->parent[d->order[i]]] = 0;
    free(top);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t x = d->order[i];
        if (s->number[x]) continue;
        s->number[x] = s->count;
        s->object[s->count++] = x;
    }
}

static void shown_free(shown *s) { free(s->object), free(s->number); }

/* The beginning of a name, since a string may be too long for a page. */
static hd_str cut(hd_str name) {
    if (name.len <= NAME_BYTES) return name;
    name.len = NAME_BYTES;
    while (name.len && ((unsigned char)name.data[name.len] & 0xc0) == 0x80) name.len--;
    return name;
}

/* The label of a reference: the number of its name, or else its index as a negative number. HD_NONE: the object is
   the key of an ephemeron. */
static int64_t called(report *r, const objects *o, uint32_t object, uint32_t reference) {
    hd_str field;
    uint64_t index;
    if (reference == HD_NONE) return report_name(r, hd_cstr("as key"));
    field = hd_graph_field(o->graph, object, reference);
    index = index_of(o, object, reference);
    if (field.len) return report_name(r, cut(field));
    return -1 - (int64_t)(index != HD_UNKNOWN ? index : reference);
}

static void put_sizes_of(report *r, const shown *s) {
    FREED uint64_t *size = needed(malloc((s->count + (size_t)1) * sizeof *size));
    for (uint32_t i = 0; i < s->count; i++) size[i] = hd_graph_object(s->o->graph, s->object[i]).size;
    report_sizes(r, "size", size, s->count);
    for (uint32_t i = 0; i < s->count; i++) size[i] = s->o->dominators->retained[s->object[i]];
    report_sizes(r, "retained", size, s->count);
}

static void put_objects(report *r, const shown *s, const uint32_t *place_of_class) {
    const hd_graph *graph = s->o->graph;
    FREED uint32_t *c = column(s->count);
    json_array(&r->json, "id");
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t id = hd_graph_object(graph, s->object[i]).id;
        if (hd_dump_netcf(s->o->dump)) hd_json_hex(&r->json, id);
        else hd_json_decimal(&r->json, id);
    }
    hd_json_end(&r->json);
    for (uint32_t i = 0; i < s->count; i++)
        c[i] = place_of_class[hd_graph_object(graph, s->object[i]).class_index];
    report_column(r, "class", c, s->count);
    for (uint32_t i = 0; i < s->count; i++) c[i] = report_name(r, cut(name_of(s->o, s->object[i])));
    report_column(r, "name", c, s->count);
    put_sizes_of(r, s);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t parent = s->o->dominators->parent[s->object[i]];
        c[i] = parent == HD_NONE ? HD_NONE : s->number[parent];
    }
    report_column(r, "parent", c, s->count);
    for (uint32_t i = 0; i < s->count; i++) c[i] = s->o->dominators->below[s->object[i]];
    report_column(r, "below", c, s->count);
}

/* The name of a root in its file. */
static uint32_t root_name(report *r, const hd_graph *graph, uint32_t number) {
    hd_root root = hd_graph_root(graph, number);
    hd_str named = hd_graph_root_name(graph, &root);
    uint32_t name;
    FREED char *text = NULL;
    hd_str of = root.container == HD_NONE ? hd_cstr("") : cut(hd_graph_class(graph, root.container).name);
    if (named.len) return report_name(r, cut(named));
    if (asprintf(&text, "%s%s%.*s", hd_root_kind_name(root.kind), of.len ? " of " : "", (int)of.len, of.data) < 0)
        text = needed(NULL);
    name = report_name(r, hd_cstr(text));
    return name;
}

static void put_ways(report *r, const shown *s, const ways *w) {
    FREED uint32_t *c = column(s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t holder = w->held_by[s->object[i]];
        c[i] = holder == HD_NONE ? HD_NONE : s->number[holder];
    }
    report_column(r, "holder", c, s->count);
    json_array(&r->json, "by");
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t x = s->object[i];
        hd_json_i64(&r->json, w->held_by[x] == HD_NONE ? 0 : called(r, s->o, w->held_by[x], w->by[x]));
    }
    hd_json_end(&r->json);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t x = s->object[i];
        c[i] = w->state[x] && w->held_by[x] == HD_NONE ? root_name(r, s->o->graph, w->by[x]) : 0;
    }
    report_column(r, "root", c, s->count);
}

/* Writes the references between objects of the page, and the number of all references. */
static int put_references(report *r, const shown *s) {
    size_t most = (size_t)s->count * REFERENCES_OF_ALL, n = 0;
    FREED uint32_t *c = column(s->count), *to = column(most);
    hd_links *referrers;
    hd_error err;
    if (hd_graph_referrers(s->o->graph, NULL, &referrers, &err)) return failed(s->o->file, &err);
    for (uint32_t i = 0; i < s->count; i++) c[i] = hd_graph_object(s->o->graph, s->object[i]).reference_count;
    report_column(r, "out", c, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        c[i] = referrers->first[s->object[i] + 1] - referrers->first[s->object[i]];
    report_column(r, "in", c, s->count);
    hd_links_free(referrers);
    json_array(&r->json, "called");
    for (uint32_t i = 0; i < s->count; i++) {
        hd_object x = hd_graph_object(s->o->graph, s->object[i]);
        c[i] = 0;
        for (uint32_t k = 0; k < x.reference_count && c[i] < REFERENCES_OF_ONE && n < most; k++) {
            if (s->number[x.references[k]] == HD_NONE || (x.kinds && x.kinds[k] == HD_REFERENCE_WEAK)) continue;
            hd_json_i64(&r->json, called(r, s->o, s->object[i], k));
            to[n++] = s->number[x.references[k]];
            c[i]++;
        }
    }
    hd_json_end(&r->json);
    report_column(r, "references", c, s->count);
    report_column(r, "to", to, n);
    return DONE;
}

/* Writes the classes, largest retained size first. place_of_class gets the place of each class, by its number. */
static int put_classes(report *r, const objects *o, uint32_t *place_of_class) {
    class_list list;
    if (class_list_open(o, &list)) return BAD_INPUT;
    json_array(&r->json, "classes");
    for (uint32_t i = 0; i < list.count; i++) {
        const hd_class_row *row = &list.lines[i].row;
        hd_class c = hd_graph_class(o->graph, row->class_index);
        place_of_class[row->class_index] = i;
        hd_json_newline(&r->json), hd_json_array(&r->json);
        hd_json_u64(&r->json, report_name(r, cut(c.name)));
        hd_json_u64(&r->json, report_name(r, cut(c.scope)));
        hd_json_u64(&r->json, row->retained), hd_json_bool(&r->json, i < list.exact);
        hd_json_u64(&r->json, row->live_bytes), hd_json_u64(&r->json, row->live_objects);
        hd_json_u64(&r->json, row->bytes), hd_json_u64(&r->json, row->objects);
        hd_json_end(&r->json);
    }
    hd_json_end(&r->json);
    free(list.lines);
    return DONE;
}

static int put_changes(report *r, const objects *o, const hd_graph *before) {
    hd_graph_change *change;
    hd_error err;
    if (hd_graph_diff(before, o->graph, NULL, NULL, &change, &err)) return failed(o->file, &err);
    json_array(&r->json, "change");
    for (uint32_t i = 0; i < change->count; i++) {
        const hd_class_change *c = &change->rows[i];
        hd_json_newline(&r->json), hd_json_array(&r->json);
        hd_json_u64(&r->json, report_name(r, cut(c->name)));
        hd_json_u64(&r->json, report_name(r, cut(c->scope)));
        for (int k = 0; k < 2; k++) hd_json_u64(&r->json, c->bytes[k]);
        for (int k = 0; k < 2; k++) hd_json_u64(&r->json, c->objects[k]);
        hd_json_end(&r->json);
    }
    hd_json_end(&r->json);
    hd_graph_change_free(change);
    return DONE;
}

/* The number of live objects in the file. Objects without records, which come last, do not count. */
static uint64_t live_objects(const hd_dominators *d, const hd_graph_summary *summary) {
    uint64_t n = d->reached;
    for (uint32_t i = (uint32_t)summary->objects; i < d->count; i++) n -= d->below[i] != 0;
    return n;
}

int report_graph(report *r, const objects *o, const hd_graph *before) {
    hd_graph_summary summary = hd_graph_summarize(o->graph);
    FREED uint32_t *place_of_class = column(hd_graph_class_count(o->graph));
    ways w;
    shown s;
    int status;
    json_object(&r->json, "graph");
    json_u64(&r->json, "objects", summary.objects), json_u64(&r->json, "bytes", summary.bytes);
    json_u64(&r->json, "roots", summary.roots), json_u64(&r->json, "live_bytes", o->dominators->bytes);
    json_u64(&r->json, "live_objects", live_objects(o->dominators, &summary));
    status = put_classes(r, o, place_of_class);
    if (!status && before) status = put_changes(r, o, before);
    if (!status) {
        ways_find(o, &w);
        shown_find(&s, o, &w, r->budget);
        put_objects(r, &s, place_of_class);
        put_ways(r, &s, &w);
        status = put_references(r, &s);
        shown_free(&s), ways_free(&w);
    }
    hd_json_end(&r->json);
    return status;
}
