/* The objects of a page: those that retain most, those on a shortest way from a root to one of them, and references
   between all these. */

#include "report.h"

enum { NAME_BYTES = 120, REFERENCES_OF_ONE = 100, REFERENCES_OF_ALL = 4, EPHEMERON_ROUNDS = 64 };

/* A shortest way from a root to every object, found in one walk. Columns by object. */
typedef struct ways {
    uint32_t *holder;            /* HD_NONE: a root, or nothing */
    uint32_t *reference;         /* the holder's */
    uint32_t *root;              /* number of the root that holds it; HD_NONE: none does */
    uint32_t *queue, count;
} ways;

/* Objects of the page. */
typedef struct shown {
    const objects *o;
    uint32_t *object, count;     /* dominators first */
    uint32_t *number;            /* by object; HD_NONE: not on the page */
} shown;

static uint32_t *column(size_t count) {
    uint32_t *c = needed(malloc((count + 1) * sizeof *c));
    memset(c, 0xff, (count + 1) * sizeof *c);
    return c;
}

static bool is_reached(const ways *w, uint32_t object) {
    return w->holder[object] != HD_NONE || w->root[object] != HD_NONE;
}

static void reach_by(ways *w, uint32_t object, uint32_t holder, uint32_t reference) {
    if (is_reached(w, object)) return;
    w->holder[object] = holder, w->reference[object] = reference;
    w->queue[w->count++] = object;
}

/* Values of an object whose keys are reached: the first key and the first value belong together, and so on. */
static void reach_values(ways *w, const hd_graph *graph, uint32_t object) {
    hd_object e = hd_graph_object(graph, object);
    uint32_t key = 0, value = 0;
    for (; e.kinds; key++, value++) {
        while (key < e.reference_count && e.kinds[key] != HD_REFERENCE_KEY) key++;
        while (value < e.reference_count && e.kinds[value] != HD_REFERENCE_VALUE) value++;
        if (value >= e.reference_count) return;
        if (key >= e.reference_count || is_reached(w, e.references[key]))
            reach_by(w, e.references[value], object, value);
    }
}

/* Strong references first; then, again and again, values of ephemerons and what these hold. What takes more rounds
   has no way on the page. */
static void ways_find(ways *w, const hd_graph *graph) {
    uint32_t n = hd_graph_object_count(graph), at = 0, before;
    w->holder = column(n), w->reference = column(n), w->root = column(n), w->queue = column(n);
    w->count = 0;
    for (uint32_t i = 0; i < hd_graph_root_count(graph); i++) {
        hd_root root = hd_graph_root(graph, i);
        if (root.flags & HD_ROOT_WEAK || is_reached(w, root.object)) continue;
        w->root[root.object] = i;
        w->queue[w->count++] = root.object;
    }
    for (int round = 0; round < EPHEMERON_ROUNDS; round++) {
        for (; at < w->count; at++) {
            uint32_t object = w->queue[at];
            hd_object x = hd_graph_object(graph, object);
            for (uint32_t k = 0; k < x.reference_count; k++)
                if (!x.kinds || x.kinds[k] == HD_REFERENCE_STRONG) reach_by(w, x.references[k], object, k);
        }
        before = w->count;
        for (uint32_t i = 0; i < before; i++) reach_values(w, graph, w->queue[i]);
        if (w->count == before) break;
    }
}

static void ways_free(ways *w) { free(w->holder), free(w->reference), free(w->root), free(w->queue); }

/* Objects that retain most, and what is between these and the roots: on the shortest way, and as dominator. */
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
        if (!s->number[w->queue[i]] && w->holder[w->queue[i]] != HD_NONE) s->number[w->holder[w->queue[i]]] = 0;
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

/* As much of a name as a page has room for: a string may be long. */
static hd_str cut(hd_str name) {
    if (name.len <= NAME_BYTES) return name;
    name.len = NAME_BYTES;
    while (name.len && ((unsigned char)name.data[name.len] & 0xc0) == 0x80) name.len--;
    return name;
}

/* What a reference is called: the number of a name, or else its place as a negative number. */
static int64_t called(report *r, const objects *o, uint32_t object, uint32_t reference) {
    hd_str field = hd_graph_field(o->graph, object, reference);
    uint64_t index = index_of(o, object, reference);
    if (field.len) return report_name(r, cut(field));
    return -1 - (int64_t)(index != HD_UNKNOWN ? index : reference);
}

static void put_sizes_of(report *r, const shown *s) {
    uint64_t *size = needed(malloc((s->count + (size_t)1) * sizeof *size));
    for (uint32_t i = 0; i < s->count; i++) size[i] = hd_graph_object(s->o->graph, s->object[i]).size;
    report_sizes(r, "size", size, s->count);
    for (uint32_t i = 0; i < s->count; i++) size[i] = s->o->dominators->retained[s->object[i]];
    report_sizes(r, "retained", size, s->count);
    free(size);
}

static void put_objects(report *r, const shown *s, const uint32_t *place_of_class) {
    const hd_graph *graph = s->o->graph;
    uint32_t *c = column(s->count);
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
    free(c);
}

/* A root as its file tells it. */
static uint32_t root_name(report *r, const hd_graph *graph, uint32_t number) {
    hd_root root = hd_graph_root(graph, number);
    uint32_t name;
    char *text;
    hd_str of = root.container == HD_NONE ? hd_cstr("") : cut(hd_graph_class(graph, root.container).name);
    if (asprintf(&text, "%s%s%.*s", hd_root_kind_name(root.kind), of.len ? " of " : "", (int)of.len, of.data) < 0)
        text = needed(NULL);
    name = report_name(r, hd_cstr(text));
    free(text);
    return name;
}

static void put_ways(report *r, const shown *s, const ways *w) {
    uint32_t *c = column(s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t holder = w->holder[s->object[i]];
        c[i] = holder == HD_NONE ? HD_NONE : s->number[holder];
    }
    report_column(r, "holder", c, s->count);
    json_array(&r->json, "by");
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t x = s->object[i];
        hd_json_i64(&r->json, w->holder[x] == HD_NONE ? 0 : called(r, s->o, w->holder[x], w->reference[x]));
    }
    hd_json_end(&r->json);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t root = w->root[s->object[i]];
        c[i] = root == HD_NONE ? 0 : root_name(r, s->o->graph, root);
    }
    report_column(r, "root", c, s->count);
    free(c);
}

/* References between objects of the page, and how many there are in all. */
static int put_references(report *r, const shown *s) {
    size_t most = (size_t)s->count * REFERENCES_OF_ALL, n = 0;
    uint32_t *c = column(s->count), *to = column(most);
    hd_links *referrers;
    hd_error err;
    if (hd_graph_referrers(s->o->graph, NULL, &referrers, &err)) {
        free(c), free(to);
        return failed(s->o->file, &err);
    }
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
    free(c), free(to);
    return DONE;
}

/* Classes, most retained first; place_of_class is by number of the class. */
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

/* Those without records, which come last, are no objects of the file. */
static uint64_t live_objects(const hd_dominators *d, const hd_graph_summary *summary) {
    uint64_t n = d->reached;
    for (uint32_t i = (uint32_t)summary->objects; i < d->count; i++) n -= d->below[i] != 0;
    return n;
}

int report_graph(report *r, const objects *o, const hd_graph *before) {
    hd_graph_summary summary = hd_graph_summarize(o->graph);
    uint32_t *place_of_class = column(hd_graph_class_count(o->graph));
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
        ways_find(&w, o->graph);
        shown_find(&s, o, &w, r->budget);
        put_objects(r, &s, place_of_class);
        put_ways(r, &s, &w);
        status = put_references(r, &s);
        shown_free(&s), ways_free(&w);
    }
    hd_json_end(&r->json);
    free(place_of_class);
    return status;
}
