/* What the tool does with objects that hold each other: classes, retained, path, object; and its part in
   tree, info, diff and convert. */
#ifndef HEAPDUMP_GRAPHS_H
#define HEAPDUMP_GRAPHS_H

#include "objects.h"
#include "dart.h"

/* classes --------------------------------------------------------------------------------------- */

enum { EXACT_CLASSES = 16 * 63 };

/* Classes with what would go with all of their objects, the most first; of those behind the first
   EXACT_CLASSES that are alive, by what their objects dominate, this is what is told: at least that. */
typedef struct class_line {
    hd_class_row row;
    uint32_t place;              /* in the histogram */
} class_line;

typedef struct class_list {
    uint32_t count, exact;       /* lines, of which so many at the beginning are exact */
    class_line *lines;
} class_list;

static int goes_more(const void *a, const void *b) {
    const class_line *x = a, *y = b;
    if (x->row.retained != y->row.retained) return x->row.retained < y->row.retained ? 1 : -1;
    if (x->row.bytes != y->row.bytes) return x->row.bytes < y->row.bytes ? 1 : -1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int class_list_open(const objects *o, class_list *list) {
    hd_histogram *h;
    hd_total *totals;
    uint32_t *classes, n = 0;
    reading r;
    hd_options options = long_call(&r, "finding what goes with each class");
    hd_error err;
    hd_status status;
    if (hd_graph_histogram(o->graph, o->dominators, NULL, &h, &err)) return failed(o->file, &err);
    list->count = h->count;
    list->lines = needed(calloc((size_t)h->count + 1, sizeof *list->lines));
    for (uint32_t i = 0; i < h->count; i++) list->lines[i] = (class_line){ h->rows[i], i };
    hd_histogram_free(h);
    classes = needed(calloc(EXACT_CLASSES, sizeof *classes));
    totals = needed(calloc(EXACT_CLASSES, sizeof *totals));
    for (uint32_t i = 0; i < list->count && n < EXACT_CLASSES; i++)
        if (list->lines[i].row.live_objects) classes[n++] = list->lines[i].row.class_index;
    status = hd_graph_classes_retained(o->graph, classes, n, &options, totals, &err);
    long_call_ends(&r);
    n = 0;
    for (list->exact = 0; list->exact < list->count; list->exact++) {
        if (!list->lines[list->exact].row.live_objects) continue;
        if (n == EXACT_CLASSES) break;
        list->lines[list->exact].row.retained = totals[n++].bytes;
    }
    qsort(list->lines, list->exact, sizeof *list->lines, goes_more);
    free(classes), free(totals);
    if (!status) return DONE;
    free(list->lines);
    return failed(o->file, &err);
}

static int classes_text(const arguments *a, const objects *o, FILE *out) {
    class_list list;
    uint32_t most = shown_of(a, HD_NONE), i = 0;
    if (class_list_open(o, &list)) return BAD_INPUT;
    display(out, "%12s %7s %12s %10s %12s %10s  %s\n", "retained", "", "live bytes", "live", "bytes",
            "objects", "class");
    for (; i < list.count && i < most; i++) {
        const hd_class_row *row = &list.lines[i].row;
        fputc(i < list.exact ? ' ' : '>', out), put_bytes(out, a, row->retained, 11);
        put_share(out, row->retained, o->dominators->bytes);
        fputc(' ', out), put_bytes(out, a, row->live_bytes, 12);
        display(out, " %10llu ", (unsigned long long)row->live_objects);
        put_bytes(out, a, row->bytes, 12);
        display(out, " %10llu  ", (unsigned long long)row->objects);
        put_class(out, o->graph, row->class_index);
        fputc('\n', out);
    }
    if (i < list.count) display(out, "%u more classes\n", list.count - i);
    free(list.lines);
    return DONE;
}

static int classes_json(const arguments *a, const objects *o, hd_json *j) {
    class_list list;
    uint32_t most = shown_of(a, HD_NONE);
    if (class_list_open(o, &list)) return BAD_INPUT;
    hd_json_key(j, "classes"), hd_json_array(j);
    for (uint32_t i = 0; i < list.count && i < most; i++) {
        const hd_class_row *row = &list.lines[i].row;
        hd_json_newline(j);
        hd_json_object(j);
        json_class(j, o->graph, row->class_index);
        hd_json_key(j, "retained"), hd_json_u64(j, row->retained);
        hd_json_key(j, "exact"), hd_json_bool(j, i < list.exact);
        hd_json_key(j, "live_bytes"), hd_json_u64(j, row->live_bytes);
        hd_json_key(j, "live_objects"), hd_json_u64(j, row->live_objects);
        hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
        hd_json_key(j, "objects"), hd_json_u64(j, row->objects);
        hd_json_end(j);
    }
    hd_json_end(j);
    free(list.lines);
    return DONE;
}

static int classes(const arguments *a) { return each_graph(a, "files", true, classes_text, classes_json); }

/* retained -------------------------------------------------------------------------------------- */

/* Whether an object is of a class called so; several domains may have one each. */
static bool is_named(const objects *o, uint32_t object, const char *name) {
    uint32_t c = hd_graph_object(o->graph, object).class_index;
    return hd_str_equal(hd_graph_class(o->graph, c).name, hd_cstr(name));
}

static int no_class(const objects *o, const char *name) {
    display(stderr, "heapdump: %s: no object is of a class called '%s'\n", o->file, name);
    return BAD_INPUT;
}

/* Nothing, of a class without objects; one that the file does not know is an error besides. */
static int class_total(const arguments *a, const objects *o, hd_total *total) {
    uint32_t count = hd_graph_object_count(o->graph), classes = hd_graph_class_count(o->graph), n = 0, c = 0;
    uint32_t *all = needed(malloc(((size_t)count + 1) * sizeof *all));
    hd_error err;
    int status = DONE;
    memset(total, 0, sizeof *total);
    while (c < classes && !hd_str_equal(hd_graph_class(o->graph, c).name, hd_cstr(a->class_name))) c++;
    for (uint32_t i = 0; i < count; i++)
        if (is_named(o, i, a->class_name)) all[n++] = i;
    if (c == classes) status = no_class(o, a->class_name);
    else if (hd_graph_retained(o->graph, all, n, NULL, total, &err)) status = failed(o->file, &err);
    free(all);
    return status;
}

static int retained_text(const arguments *a, const objects *o, FILE *out) {
    uint32_t *top, n;
    hd_total total;
    if (a->class_name) {
        if (class_total(a, o, &total)) return BAD_INPUT;
        put_bytes(out, a, total.bytes, 12);
        display(out, " in %llu objects would go with all of class %s\n", (unsigned long long)total.objects,
                a->class_name);
        return DONE;
    }
    n = largest(a, o, &top);
    display(out, "%12s %7s %12s %10s  %s\n", "retained", "", "shallow", "id", "class");
    for (uint32_t i = 0; i < n; i++) {
        hd_object object = hd_graph_object(o->graph, top[i]);
        put_bytes(out, a, o->dominators->retained[top[i]], 12);
        put_share(out, o->dominators->retained[top[i]], o->dominators->bytes);
        fputc(' ', out), put_bytes(out, a, object.size, 12);
        fputc(' ', out), put_id(out, o, object.id, 10), display(out, "  ");
        put_class(out, o->graph, object.class_index);
        fputc('\n', out);
    }
    free(top);
    return DONE;
}

static int retained_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t *top, n;
    hd_total total;
    if (a->class_name) {
        int status = class_total(a, o, &total);
        json_text(j, "class", a->class_name);
        hd_json_key(j, "retained"), hd_json_u64(j, total.bytes);
        hd_json_key(j, "objects"), hd_json_u64(j, total.objects);
        return status;
    }
    n = largest(a, o, &top);
    hd_json_key(j, "live_bytes"), hd_json_u64(j, o->dominators->bytes);
    hd_json_key(j, "objects"), hd_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        hd_object object = hd_graph_object(o->graph, top[i]);
        hd_json_newline(j);
        hd_json_object(j);
        json_id(j, o, top[i]);
        json_class(j, o->graph, object.class_index);
        hd_json_key(j, "retained"), hd_json_u64(j, o->dominators->retained[top[i]]);
        hd_json_key(j, "bytes"), hd_json_u64(j, object.size);
        hd_json_end(j);
    }
    hd_json_end(j);
    free(top);
    return DONE;
}

static int retained(const arguments *a) {
    return each_graph(a, "files", !a->class_name, retained_text, retained_json);
}

/* path ------------------------------------------------------------------------------------------ */

/* What is asked about: the object of the id, else the largest of the class. */
static uint32_t asked(const arguments *a, const objects *o) {
    uint32_t best = HD_NONE;
    if (a->id) return object_with(o, a->id);
    for (uint32_t i = 0; i < hd_graph_object_count(o->graph); i++)
        if (is_named(o, i, a->class_name) &&
            (best == HD_NONE || o->dominators->retained[i] > o->dominators->retained[best]))
            best = i;
    if (best == HD_NONE) no_class(o, a->class_name);
    return best;
}

/* The ephemeron by which a step of a path leads from its key to its value; HD_NONE: a reference does. */
static uint32_t ephemeron_of(const hd_path *path, uint32_t at) {
    return path->ephemerons ? path->ephemerons[at] : HD_NONE;
}

static void put_ephemeron(FILE *out, const objects *o, uint32_t object) {
    hd_object e = hd_graph_object(o->graph, object);
    display(out, ", as key of ephemeron "), put_class(out, o->graph, e.class_index);
    display(out, " id "), put_id(out, o, e.id, 0);
}

static hd_str field_of(const objects *o, const hd_path *path, uint32_t at) {
    if (at + 1 == path->length || ephemeron_of(path, at) != HD_NONE) return hd_cstr("");
    return hd_graph_field(o->graph, path->objects[at], path->references[at]);
}

static int find_paths(const arguments *a, const objects *o, uint32_t *object, hd_paths **paths) {
    reading r;
    hd_options options = long_call(&r, "looking for ways from the roots");
    hd_error err;
    hd_status status;
    *object = asked(a, o);
    if (*object == HD_NONE) return BAD_INPUT;
    status = hd_graph_paths(o->graph, *object, a->paths ? a->paths : 1, &options, paths, &err);
    long_call_ends(&r);
    return status ? failed(o->file, &err) : DONE;
}

static void put_root(FILE *out, const objects *o, const hd_root *root) {
    display(out, "root: %s", hd_root_kind_name(root->kind));
    for (uint32_t flag = 1; flag && flag <= root->flags; flag <<= 1)
        if (root->flags & flag) display(out, ", %s", hd_root_flag_name(flag));
    if (root->container != HD_NONE) display(out, " of "), put_class(out, o->graph, root->container);
    fputc('\n', out);
}

static int path_text(const arguments *a, const objects *o, FILE *out) {
    hd_paths *paths;
    uint32_t object;
    if (find_paths(a, o, &object, &paths)) return BAD_INPUT;
    if (!paths->count) display(out, "no root holds it: garbage, or held weakly alone\n");
    for (uint32_t p = 0; p < paths->count; p++) {
        const hd_path *path = &paths->paths[p];
        hd_root root = hd_graph_root(o->graph, path->root);
        if (p) fputc('\n', out);
        put_root(out, o, &root);
        for (uint32_t i = 0; i < path->length; i++) {
            hd_object step = hd_graph_object(o->graph, path->objects[i]);
            hd_str field = field_of(o, path, i);
            display(out, "  "), put_class(out, o->graph, step.class_index);
            display(out, "  id "), put_id(out, o, step.id, 0);
            display(out, ", retains "), put_bytes(out, a, o->dominators->retained[path->objects[i]], 0);
            if (field.len) display(out, ", by "), put_name(out, field);
            else if (ephemeron_of(path, i) != HD_NONE) put_ephemeron(out, o, ephemeron_of(path, i));
            else if (i + 1 < path->length) display(out, ", by reference %u", path->references[i]);
            fputc('\n', out);
        }
    }
    if (paths->more) display(out, "\n... more may be longer\n");
    hd_paths_free(paths);
    return DONE;
}

static int path_json(const arguments *a, const objects *o, hd_json *j) {
    hd_paths *paths;
    uint32_t object;
    if (find_paths(a, o, &object, &paths)) return BAD_INPUT;
    json_id(j, o, object);
    hd_json_key(j, "paths"), hd_json_array(j);
    for (uint32_t p = 0; p < paths->count; p++) {
        const hd_path *path = &paths->paths[p];
        hd_root root = hd_graph_root(o->graph, path->root);
        hd_json_object(j);
        json_text(j, "root", hd_root_kind_name(root.kind));
        hd_json_key(j, "flags"), hd_json_u64(j, root.flags);
        hd_json_key(j, "objects"), hd_json_array(j);
        for (uint32_t i = 0; i < path->length; i++) {
            hd_str field = field_of(o, path, i);
            hd_json_object(j);
            json_id(j, o, path->objects[i]);
            json_class(j, o->graph, hd_graph_object(o->graph, path->objects[i]).class_index);
            hd_json_key(j, "retained"), hd_json_u64(j, o->dominators->retained[path->objects[i]]);
            if (ephemeron_of(path, i) != HD_NONE)
                hd_json_key(j, "key_of"), hd_json_object(j), json_id(j, o, ephemeron_of(path, i)), hd_json_end(j);
            else if (i + 1 < path->length)
                hd_json_key(j, "reference"), hd_json_u64(j, path->references[i]);
            if (field.len) hd_json_key(j, "field"), hd_json_str(j, field);
            hd_json_end(j);
        }
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j);
    hd_json_key(j, "more"), hd_json_bool(j, paths->more);
    hd_paths_free(paths);
    return DONE;
}

static int path(const arguments *a) {
    if (!a->id && !a->class_name) return usage("path needs --id ID or --class NAME");
    return each_graph(a, "files", true, path_text, path_json);
}

/* object ---------------------------------------------------------------------------------------- */

enum { NEIGHBOURS = 10, VALUE_UNITS = 60 };

/* An object, and what only a walk through the graph tells of it; freed with subject_free. */
typedef struct subject {
    uint32_t object;
    hd_object o;
    hd_links *referrers;
    uint32_t *dominated, dominated_count; /* most retained first */
} subject;

static uint64_t retained_by(const objects *o, uint32_t object) { return o->dominators->retained[object]; }
static bool is_live(const objects *o, uint32_t object) { return o->dominators->position[object] != HD_NONE; }

static int retains_more(const void *a, const void *b, void *of) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t p = retained_by(of, x), q = retained_by(of, y);
    if (p != q) return p < q ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Of the objects that an object retains, those that records describe. */
static uint32_t described_below(const objects *o, uint32_t object) {
    const hd_dominators *d = o->dominators;
    uint32_t n = d->below[object], missing = (uint32_t)hd_graph_summarize(o->graph).missing_objects;
    for (uint32_t i = d->count - missing; i < d->count && n; i++)
        if (d->position[i] != HD_NONE && d->position[i] - d->position[object] < d->below[object]) n--;
    return n;
}

static void subject_free(subject *s) {
    hd_links_free(s->referrers);
    free(s->dominated);
}

static int subject_find(const arguments *a, const objects *o, subject *s) {
    const hd_dominators *d = o->dominators;
    uint32_t end;
    hd_error err;
    memset(s, 0, sizeof *s);
    s->object = object_with(o, a->id);
    if (s->object == HD_NONE) return BAD_INPUT;
    s->o = hd_graph_object(o->graph, s->object);
    if (hd_graph_referrers(o->graph, NULL, &s->referrers, &err)) return failed(o->file, &err);
    if (!is_live(o, s->object)) return DONE;
    s->dominated = needed(malloc(d->below[s->object] * sizeof *s->dominated));
    end = d->position[s->object] + d->below[s->object];
    for (uint32_t at = d->position[s->object] + 1; at < end; at += d->below[d->order[at]])
        s->dominated[s->dominated_count++] = d->order[at];
    qsort_r(s->dominated, s->dominated_count, sizeof *s->dominated, retains_more, (void *)(uintptr_t)o);
    return DONE;
}

/* Goes through the references that lead to an object; the first one: zeroed. */
typedef struct referrer {
    uint32_t at;                 /* of the object's referrers */
    uint32_t object, reference;
} referrer;

static bool next_referrer(const objects *o, const subject *s, referrer *r) {
    const uint32_t *all = s->referrers->target + s->referrers->first[s->object];
    if (r->at == s->referrers->first[s->object + 1] - s->referrers->first[s->object]) return false;
    r->reference = r->at && all[r->at] == r->object ? r->reference + 1 : 0;
    r->object = all[r->at++];
    while (hd_graph_object(o->graph, r->object).references[r->reference] != s->object) r->reference++;
    return true;
}

static uint32_t referrer_count(const subject *s) {
    return s->referrers->first[s->object + 1] - s->referrers->first[s->object];
}

static void put_retained(FILE *out, const arguments *a, const objects *o, uint32_t object) {
    if (is_live(o, object)) put_bytes(out, a, retained_by(o, object), 12);
    else display(out, "%12s", "garbage");
}

static uint32_t kind_of(const objects *o, uint32_t holder, uint32_t reference) {
    const uint8_t *kinds = hd_graph_object(o->graph, holder).kinds;
    return kinds ? kinds[reference] : HD_REFERENCE_STRONG;
}

/* An object that has to do with the one asked for: by which of whose references, HD_NONE: not by one. */
static void put_neighbour(FILE *out, const arguments *a, const objects *o, uint32_t object, uint32_t holder,
                          uint32_t reference) {
    hd_object x = hd_graph_object(o->graph, object);
    put_id(out, o, x.id, 12), fputc(' ', out);
    put_retained(out, a, o, object), display(out, "  ");
    if (reference != HD_NONE) {
        hd_str field = hd_graph_field(o->graph, holder, reference);
        uint32_t kind = kind_of(o, holder, reference);
        if (field.len) put_name(out, field);
        else display(out, "[%u]", reference);
        if (kind) display(out, " (%s%s)", kind > HD_REFERENCE_WEAK ? "ephemeron " : "", hd_reference_kind_name(kind));
        display(out, ": ");
    }
    put_class(out, o->graph, x.class_index);
    if (hd_dump_dart(o->dump)) {
        hd_dart_value data = hd_dart_data(hd_dump_dart(o->dump), object);
        if (data.tag) display(out, "  "), put_value(out, &data, VALUE_UNITS);
    }
    fputc('\n', out);
}

static void put_list_head(FILE *out, const char *title, uint32_t count) {
    display(out, "%s %u\n", title, count);
    if (count) display(out, "%12s %12s  %s\n", "id", "retained", "class");
}

static void put_size(FILE *out, const arguments *a, const char *name, uint64_t bytes) {
    display(out, "%12s ", name), put_bytes(out, a, bytes, 12);
}

/* What Dart alone tells of an object. */
static void put_dart_object(FILE *out, const arguments *a, const hd_dart *dart, const subject *s) {
    hd_dart_value data = hd_dart_data(dart, s->object);
    uint64_t shallow = hd_dart_shallow(dart, s->object), identity = hd_dart_identity(dart, s->object);
    uint64_t externals = 0;
    if (data.tag) {
        display(out, "%12s ", hd_dart_tag_name(data.tag)), put_value(out, &data, a->all ? SIZE_MAX : 1024);
        if (is_string(data.tag)) {
            display(out, "\n%12s %12llu", "length", (unsigned long long)data.value);
            if (units_of(&data) < data.value)
                display(out, " of which the file has %llu", (unsigned long long)units_of(&data));
        }
        fputc('\n', out);
    }
    if (identity) display(out, "%12s %12llu\n", "hash code", (unsigned long long)identity);
    if (s->o.size != shallow) put_size(out, a, "own bytes", shallow), fputc('\n', out);
    for (size_t i = 0; i < hd_dart_external_count(dart); i++) {
        hd_dart_external_info x = hd_dart_external(dart, i);
        if (x.object != s->object || externals++ >= shown_of(a, NEIGHBOURS)) continue;
        put_size(out, a, "external", x.size), display(out, "  "), put_name(out, x.name), fputc('\n', out);
    }
    put_more(out, externals, shown_of(a, NEIGHBOURS));
}

static void put_object(FILE *out, const arguments *a, const objects *o, const subject *s) {
    const hd_dart *dart = hd_dump_dart(o->dump);
    display(out, "id "), put_id(out, o, s->o.id, 0), display(out, "  ");
    put_class(out, o->graph, s->o.class_index);
    if (dart) {
        hd_str uri = hd_dart_class(dart, s->o.class_index).library_uri;
        if (uri.len) display(out, "  "), put_name(out, uri);
    }
    display(out, s->o.class_index ? "\n" : "  no record describes it\n");
    if (dart) put_dart_object(out, a, dart, s);
    put_size(out, a, "shallow", s->o.size), fputc('\n', out);
    if (is_live(o, s->object)) {
        put_size(out, a, "retained", retained_by(o, s->object));
        display(out, " in %u objects\n", described_below(o, s->object));
    } else {
        display(out, "%12s %12s: no root holds it\n", "retained", "garbage");
    }
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (root.object == s->object) put_root(out, o, &root);
    }
}

static int object_text(const arguments *a, const objects *o, FILE *out) {
    uint32_t most = shown_of(a, NEIGHBOURS), i;
    referrer r = { 0, 0, 0 };
    subject s;
    if (subject_find(a, o, &s)) {
        subject_free(&s);
        return BAD_INPUT;
    }
    put_object(out, a, o, &s);
    put_list_head(out, "refers to", s.o.reference_count);
    for (i = 0; i < s.o.reference_count && i < most; i++)
        put_neighbour(out, a, o, s.o.references[i], s.object, i);
    put_more(out, s.o.reference_count, i);
    put_list_head(out, "referred to by", referrer_count(&s));
    for (i = 0; i < most && next_referrer(o, &s, &r); i++)
        put_neighbour(out, a, o, r.object, r.object, r.reference);
    put_more(out, referrer_count(&s), i);
    if (is_live(o, s.object)) {
        uint32_t parent = o->dominators->parent[s.object];
        put_list_head(out, "dominated by", parent != HD_NONE);
        if (parent != HD_NONE) put_neighbour(out, a, o, parent, 0, HD_NONE);
        put_list_head(out, "dominates", s.dominated_count);
        for (i = 0; i < s.dominated_count && i < most; i++)
            put_neighbour(out, a, o, s.dominated[i], 0, HD_NONE);
        put_more(out, s.dominated_count, i);
    }
    subject_free(&s);
    return DONE;
}

/* The members that all have: an id to go on from, a class, what is retained; null: garbage. */
static void json_members(hd_json *j, const objects *o, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    json_id(j, o, object);
    json_class(j, o->graph, x.class_index);
    json_known(j, "retained", is_live(o, object) ? retained_by(o, object) : HD_UNKNOWN);
}

static void json_neighbour(hd_json *j, const objects *o, uint32_t object, uint32_t holder,
                           uint32_t reference) {
    hd_json_newline(j);
    hd_json_object(j);
    json_members(j, o, object);
    if (reference != HD_NONE) {
        hd_str field = hd_graph_field(o->graph, holder, reference);
        hd_json_key(j, "reference"), hd_json_u64(j, reference);
        if (field.len) hd_json_key(j, "field"), hd_json_str(j, field);
        json_text(j, "kind", hd_reference_kind_name(kind_of(o, holder, reference)));
    }
    if (hd_dump_dart(o->dump)) {
        hd_dart_value data = hd_dart_data(hd_dump_dart(o->dump), object);
        if (data.tag) {
            hd_json_key(j, "data"), hd_json_object(j);
            json_value(j, &data, VALUE_UNITS);
            hd_json_end(j);
        }
    }
    hd_json_end(j);
}

static void json_dart_object(const arguments *a, hd_json *j, const hd_dart *dart, const subject *s) {
    uint64_t externals = 0;
    hd_dart_value data = hd_dart_data(dart, s->object);
    uint64_t shallow = hd_dart_shallow(dart, s->object), identity = hd_dart_identity(dart, s->object);
    hd_dart_class_info c = hd_dart_class(dart, s->o.class_index);
    hd_json_key(j, "library"), hd_json_str(j, c.library);
    hd_json_key(j, "library_uri"), hd_json_str(j, c.library_uri);
    hd_json_key(j, "data"), hd_json_object(j);
    json_value(j, &data, SIZE_MAX);
    hd_json_end(j);
    json_known(j, "identity", identity ? identity : HD_UNKNOWN);
    hd_json_key(j, "own_bytes"), hd_json_u64(j, shallow);
    for (size_t i = 0; i < hd_dart_external_count(dart); i++)
        externals += hd_dart_external(dart, i).object == s->object;
    hd_json_key(j, "external_count"), hd_json_u64(j, externals);
    hd_json_key(j, "external"), hd_json_array(j);
    for (size_t i = 0, n = 0; i < hd_dart_external_count(dart); i++) {
        hd_dart_external_info x = hd_dart_external(dart, i);
        if (x.object != s->object || n++ >= shown_of(a, NEIGHBOURS)) continue;
        hd_json_object(j);
        hd_json_key(j, "name"), hd_json_str(j, x.name);
        hd_json_key(j, "bytes"), hd_json_u64(j, x.size);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void json_list(hd_json *j, const char *count_name, uint32_t count, const char *name) {
    hd_json_key(j, count_name), hd_json_u64(j, count);
    hd_json_key(j, name), hd_json_array(j);
}

static void json_object(const arguments *a, hd_json *j, const objects *o, const subject *s) {
    json_members(j, o, s->object);
    hd_json_key(j, "bytes"), hd_json_u64(j, s->o.size);
    hd_json_key(j, "retained_objects"), hd_json_u64(j, described_below(o, s->object));
    if (hd_dump_dart(o->dump)) json_dart_object(a, j, hd_dump_dart(o->dump), s);
    hd_json_key(j, "roots"), hd_json_array(j);
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (root.object != s->object) continue;
        hd_json_object(j);
        json_text(j, "root", hd_root_kind_name(root.kind));
        hd_json_key(j, "flags"), hd_json_u64(j, root.flags);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static int object_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t most = shown_of(a, NEIGHBOURS), parent;
    referrer r = { 0, 0, 0 };
    subject s;
    if (subject_find(a, o, &s)) {
        subject_free(&s);
        return BAD_INPUT;
    }
    json_object(a, j, o, &s);
    json_list(j, "reference_count", s.o.reference_count, "references");
    for (uint32_t i = 0; i < s.o.reference_count && i < most; i++)
        json_neighbour(j, o, s.o.references[i], s.object, i);
    hd_json_end(j);
    json_list(j, "referrer_count", referrer_count(&s), "referrers");
    for (uint32_t i = 0; i < most && next_referrer(o, &s, &r); i++)
        json_neighbour(j, o, r.object, r.object, r.reference);
    hd_json_end(j);
    parent = o->dominators->parent[s.object];
    hd_json_key(j, "dominator");
    if (parent == HD_NONE) hd_json_null(j);
    else json_neighbour(j, o, parent, 0, HD_NONE);
    json_list(j, "dominated_count", s.dominated_count, "dominated");
    for (uint32_t i = 0; i < s.dominated_count && i < most; i++)
        json_neighbour(j, o, s.dominated[i], 0, HD_NONE);
    hd_json_end(j);
    subject_free(&s);
    return DONE;
}

/* FILE ID, or --id ID FILE as path has it. */
static int object(const arguments *a) {
    arguments of = *a;
    if (a->file_count != (a->id ? 1 : 2)) return usage("object needs a file and the id of an object in it");
    if (!a->id) of.id = a->files[1];
    of.file_count = 1;
    return each_graph(&of, "files", true, object_text, object_json);
}

/* info, diff, tree, convert --------------------------------------------------------------------- */

static void graph_info_text(FILE *out, const hd_graph *graph) {
    hd_graph_summary s = hd_graph_summarize(graph);
    display(out, "%12llu objects of %llu classes, %llu bytes\n", (unsigned long long)s.objects,
            (unsigned long long)s.classes, (unsigned long long)s.bytes);
    display(out, "%12llu references, %llu of them weak\n%12llu roots, %llu of them weak\n",
            (unsigned long long)s.references, (unsigned long long)s.weak_references,
            (unsigned long long)s.roots, (unsigned long long)s.weak_roots);
    if (s.missing_objects || s.missing_classes)
        display(out, "%12llu objects that no record describes, from %llu references and %llu roots\n"
                "%12llu classes that no record describes\n", (unsigned long long)s.missing_objects,
                (unsigned long long)s.missing_references, (unsigned long long)s.missing_roots,
                (unsigned long long)s.missing_classes);
}

static void graph_info_json(hd_json *j, const hd_graph *graph) {
    hd_graph_summary s = hd_graph_summarize(graph);
    const struct { const char *name; uint64_t value; } values[] = {
        { "objects", s.objects }, { "classes", s.classes }, { "bytes", s.bytes },
        { "references", s.references }, { "weak_references", s.weak_references },
        { "roots", s.roots }, { "weak_roots", s.weak_roots },
        { "missing_objects", s.missing_objects },
        { "missing_references", s.missing_references }, { "missing_roots", s.missing_roots },
        { "missing_classes", s.missing_classes }
    };
    hd_json_key(j, "graph"), hd_json_object(j);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        hd_json_key(j, values[i].name), hd_json_u64(j, values[i].value);
    hd_json_end(j);
}

static void netcf_info_json(hd_json *j, const hd_netcf *netcf) {
    hd_json_key(j, "domains"), hd_json_array(j);
    for (size_t i = 0; i < hd_netcf_domain_count(netcf); i++) {
        hd_netcf_domain_info d = hd_netcf_domain(netcf, i);
        hd_json_newline(j);
        hd_json_object(j);
        hd_json_key(j, "name"), hd_json_str(j, d.name);
        hd_json_key(j, "version"), hd_json_u64(j, d.version);
        hd_json_key(j, "begin_ms"), hd_json_u64(j, d.begin_ms);
        hd_json_key(j, "end_ms"), hd_json_u64(j, d.end_ms);
        graph_info_json(j, d.graph);
        hd_json_end(j);
    }
    hd_json_end(j);
}

/* The domains of a .NET dump, each on its own. */
static void netcf_info(FILE *out, const hd_netcf *netcf) {
    for (size_t i = 0; i < hd_netcf_domain_count(netcf); i++) {
        hd_netcf_domain_info d = hd_netcf_domain(netcf, i);
        display(out, "application domain "), put_name(out, d.name);
        display(out, ", version %u, from %llu to %llu ms after boot\n", d.version,
                (unsigned long long)d.begin_ms, (unsigned long long)d.end_ms);
        graph_info_text(out, d.graph);
    }
}

/* The dominator tree as a heap that all that prints or writes can take. */
static int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap) {
    hd_dominator_options options = { .cutoff = a->cutoff };
    hd_dominators *dominators;
    hd_breakdown *breakdown;
    hd_error err;
    hd_status status;
    if (dominate(file, graph, &dominators)) return BAD_INPUT;
    if (!a->has_cutoff) options.cutoff.min_share = a->default_share;
    status = hd_dominator_tree(graph, dominators, &options, &breakdown, &err);
    hd_dominators_free(dominators);
    if (status) return failed(file, &err);
    memset(heap, 0, sizeof *heap);
    heap->allocator = "live objects";
    heap->breakdown = breakdown;
    return DONE;
}

static void diff_class_text(FILE *out, const hd_class_change *c) {
    put_change(out, c->bytes[0], c->bytes[1], 14);
    display(out, " %14llu %14llu ", (unsigned long long)c->bytes[0], (unsigned long long)c->bytes[1]);
    put_change(out, c->objects[0], c->objects[1], 10);
    display(out, "  "), put_name(out, c->name);
    if (c->scope.len) display(out, "  ("), put_name(out, c->scope), fputc(')', out);
    fputc('\n', out);
}

static void diff_class_json(hd_json *j, const hd_class_change *c) {
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "class"), hd_json_str(j, c->name);
    if (c->scope.len) hd_json_key(j, "scope"), hd_json_str(j, c->scope);
    hd_json_key(j, "before"), hd_json_u64(j, c->bytes[0]);
    hd_json_key(j, "after"), hd_json_u64(j, c->bytes[1]);
    hd_json_key(j, "objects_before"), hd_json_u64(j, c->objects[0]);
    hd_json_key(j, "objects_after"), hd_json_u64(j, c->objects[1]);
    hd_json_end(j);
}

/* Whether what a diff of classes does not know was asked for. */
static bool classes_cut(const arguments *a) {
    const hd_cutoff *c = &a->cutoff;
    return c->min_bytes || c->min_share > 0 || c->min_parent_share > 0 || c->max_entries ||
           c->max_output_bytes;
}

/* What changed, class by class and, of snapshots that tell who is who, object by object. */
static int diff_objects(const arguments *a, const hd_dump *before, const hd_dump *after) {
    uint32_t most = shown_of(a, HD_NONE), shown = 0;
    hd_graph_change *change;
    uint8_t *reached[2] = { NULL, NULL };
    const uint8_t *const *live = a->live ? (const uint8_t *const *)reached : NULL;
    dart_pair pair = { .change = NULL };
    hd_total total;
    hd_error err;
    output o;
    FILE *out;
    hd_json *j;
    int status = DONE;
    if (a->live && (!(reached[0] = reach(a->files[0], hd_dump_graph(before), &total)) ||
                    !(reached[1] = reach(a->files[1], hd_dump_graph(after), &total))))
        status = BAD_INPUT;
    if (!status) status = dart_pair_open(a, before, after, live, &pair);
    if (!status && hd_graph_diff(hd_dump_graph(before), hd_dump_graph(after), live, NULL, &change, &err))
        status = failed(a->files[0], &err);
    else if (!status && (status = output_open(&o, a->output)) != DONE) hd_graph_change_free(change);
    if (status) {
        hd_identity_change_free(pair.change);
        free(reached[0]), free(reached[1]);
        return status;
    }
    out = output_text(&o);
    j = json_open(a, "classes", o.out);
    if (!a->json) display(out, "%14s %14s %14s %10s  %s\n", "change", "before", "after", "objects", "class");
    for (uint32_t i = 0; i < change->count && shown < most; i++) {
        const hd_class_change *c = &change->rows[i];
        if (c->bytes[0] == c->bytes[1] && c->objects[0] == c->objects[1]) continue;
        shown++;
        if (a->json) diff_class_json(j, c);
        else diff_class_text(out, c);
    }
    if (a->json) {
        hd_json_end(j), hd_json_key(j, "identity");
        if (pair.change) identity_json(a, j, &pair);
        else hd_json_null(j);
    } else if (pair.change) {
        identity_text(a, out, &pair);
    }
    if (json_finish(a, j)) status = BAD_INPUT;
    if (fclose(out)) status = BAD_INPUT;
    hd_graph_change_free(change);
    hd_identity_change_free(pair.change);
    free(reached[0]), free(reached[1]);
    return output_close(&o, a->output, status);
}

/* In a format of objects: the file as it was where it is of that format, else its graph. */
static hd_status write_as(const arguments *a, const hd_dump *dump, hd_out out, hd_error *err) {
    reading r = { .file = a->files[0] };
    hd_options options = { .warning = on_warning, .warning_user = &r };
    const hd_netcf *netcf = hd_dump_netcf(dump);
    hd_str name = hd_cstr("heap");
    if (!strcmp(a->to, "netcf"))
        return netcf ? hd_netcf_write(netcf, NULL, out, err)
                     : hd_netcf_write_graph(hd_dump_graph(dump), NULL, &options, out, err);
    if (hd_dump_dart(dump)) return hd_dart_write(hd_dump_dart(dump), NULL, out, err);
    if (netcf && hd_netcf_domain_count(netcf) == 1) name = hd_netcf_domain(netcf, 0).name;
    return hd_dart_write_graph(hd_dump_graph(dump), name, &options, out, err);
}

static int write_objects(const arguments *a, const hd_dump *dump) {
    output o;
    hd_error err;
    int status = output_open(&o, a->output);
    if (status) return status;
    if (write_as(a, dump, o.out, &err)) {
        display(stderr, "heapdump: %s\n",
                o.is_file && o.file.os_error ? strerror(o.file.os_error) : err.message);
        status = BAD_INPUT;
    }
    return output_close(&o, a->output, status);
}

#endif
