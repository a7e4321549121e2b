/* The command object. */

#include "objects.h"
#include "origins.h"
#include "references.h"

enum { NEIGHBOURS = 10, VALUE_UNITS = 60 };

/* An object and the results of walks through the graph; freed with subject_free. */
typedef struct subject {
    uint32_t object;
    hd_object o;
    hd_links *referrers;
    uint32_t *dominated, dominated_count; /* objects that it immediately dominates, most retained first */
    uint32_t *distances;         /* by object; NULL: the format has no distances */
    origins origins;
} subject;

static bool is_live(const objects *o, uint32_t object) { return o->dominators->position[object] != HD_NONE; }

static int retains_more(const void *a, const void *b, void *of) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t p = retained_by(of, x), q = retained_by(of, y);
    if (p != q) return p < q ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* The number of objects that an object retains and that have a record. */
static uint32_t described_below(const objects *o, uint32_t object) {
    const hd_dominators *d = o->dominators;
    uint32_t n = d->below[object], missing = (uint32_t)hd_graph_summarize(o->graph).missing_objects;
    for (uint32_t i = d->count - missing; i < d->count && n; i++)
        if (d->position[i] != HD_NONE && d->position[i] - d->position[object] < d->below[object]) n--;
    return n;
}

static void subject_free(subject *s) {
    hd_links_free(s->referrers);
    free(s->dominated), free(s->distances);
    origins_close(&s->origins);
}

static int subject_find(const arguments *a, const objects *o, subject *s) {
    const hd_dominators *d = o->dominators;
    uint32_t end;
    hd_error err;
    memset(s, 0, sizeof *s);
    s->object = object_with(o, a->objects.id);
    if (s->object == HD_NONE) return BAD_INPUT;
    s->o = hd_graph_object(o->graph, s->object);
    if (hd_graph_referrers(o->graph, NULL, &s->referrers, &err)) return failed(o->file, &err);
    if (distances_of(o, &s->distances) || origins_open(a, o, &s->origins)) return BAD_INPUT;
    if (!is_live(o, s->object)) return DONE;
    s->dominated = needed(malloc(d->below[s->object] * sizeof *s->dominated));
    end = d->position[s->object] + d->below[s->object];
    for (uint32_t at = d->position[s->object] + 1; at < end; at += d->below[d->order[at]])
        if (!is_left_out(o, d->order[at])) s->dominated[s->dominated_count++] = d->order[at];
    qsort_r(s->dominated, s->dominated_count, sizeof *s->dominated, retains_more, (void *)(uintptr_t)o);
    return DONE;
}

/* Iterates over the references that lead to an object. Start with zeroed fields. */
typedef struct referrer {
    uint32_t at;                 /* index among the object's referrers */
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

static void put_kind(FILE *out, reference_kind kind) {
    static const char *const texts[REFERENCE_KINDS] = {
        [WEAK_REFERENCE] = "weak", [EPHEMERON_KEY] = "ephemeron key", [EPHEMERON_VALUE] = "ephemeron value",
        [SHORTCUT] = "shortcut, not followed", [TO_PAGE_OBJECT] = "page object, not followed"
    };
    if (kind) display(out, " (%s)", texts[kind]);
}

/* "field (weak): ", the reference to or from an object. The caller frees it. */
static char *label_text(const objects *o, uint32_t holder, uint32_t reference) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    if (reference != HD_NONE) {
        if (!put_reference(f, o, holder, reference)) display(f, "[%u]", reference);
        put_kind(f, kind_of_reference(o, holder, reference));
        display(f, ": ");
    }
    closed_text(f, &text);
    return text;
}

/* Whether the value of an object is neither its name nor a number of elements. */
static bool is_plain_value(const objects *o, uint32_t object) {
    uint32_t tag = data_of(o, object).tag;
    return tag != HD_DART_NAME && tag != HD_DART_LENGTH;
}

char *class_and_value(const objects *o, uint32_t object) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_class(f, o->graph, hd_graph_object(o->graph, object).class_index);
    if (has_data(o) && (hd_dump_dart(o->dump) || is_plain_value(o, object))) {
        hd_dart_value data = data_of(o, object);
        if (data.tag) display(f, "  "), put_value(f, &data, VALUE_UNITS);
    } else {
        put_known_name(f, o, object);
    }
    closed_text(f, &text);
    return text;
}

/* Prints one neighbour of the shown object, and the reference between them. holder HD_NONE: no reference connects
   them. */
static void put_neighbour(FILE *out, const arguments *a, const objects *o, uint32_t object, uint32_t holder,
                          uint32_t reference) {
    enum { LEAST = 16 };
    int columns = screen_of(a).columns, room = columns - o->id_columns - 17;
    char *label = label_text(o, holder, reference), *rest = class_and_value(o, object), *cut = NULL;
    put_id(out, o, hd_graph_object(o->graph, object).id, o->id_columns + 2), fputc(' ', out);
    put_retained(out, a, o, object), display(out, "  ");
    if (room < LEAST) room = LEAST;
    if (columns) cut = cut_within(hd_cstr(label), room_beside(room, columns_of(hd_cstr(rest))));
    display(out, "%s", cut ? cut : label);
    put_within(out, rest, columns ? room - columns_of(hd_cstr(cut)) : 0);
    fputc('\n', out);
    free(label), free(rest), free(cut);
}

static void put_list_head(FILE *out, const objects *o, const char *title, uint32_t count) {
    display(out, "%s %u\n", title, count);
    if (count) display(out, "%*s %12s  %s\n", o->id_columns + 2, "id", "retained", "class");
}

static void put_size(FILE *out, const arguments *a, const char *name, uint64_t bytes) {
    display(out, "%12s ", name), put_bytes(out, a, bytes, 12);
}

/* Prints the value of an object: a string with its length, a number, a name. */
static void put_data(FILE *out, const arguments *a, const objects *o, uint32_t object) {
    hd_dart_value data = data_of(o, object);
    char *fill;
    if (!data.tag || name_of(o, object).len) return;
    fill = fill_text(o, object);
    if (data.tag == HD_DART_LENGTH && *fill) {
        display(out, "%12s %s\n", "elements", fill);
        free(fill);
        return;
    }
    free(fill);
    display(out, "%12s ", hd_dart_tag_name(data.tag)), put_value(out, &data, a->cut.all ? SIZE_MAX : 1024);
    if (is_string(data.tag)) {
        display(out, "\n%12s %12llu", "length", (unsigned long long)data.value);
        if (units_of(&data) < data.value)
            display(out, ", %llu of them in the file", (unsigned long long)units_of(&data));
    }
    fputc('\n', out);
}

/* Prints the facts that only Dart snapshots have. */
static void put_dart_object(FILE *out, const arguments *a, const hd_dart *dart, const subject *s) {
    uint64_t shallow = hd_dart_shallow(dart, s->object), identity = hd_dart_identity(dart, s->object);
    uint64_t externals = 0;
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
    if (has_data(o)) put_data(out, a, o, s->object);
    if (dart) put_dart_object(out, a, dart, s);
    if (name_of(o, s->object).len) {
        display(out, "%12s ", "name"), put_cut(out, name_of(o, s->object), a->cut.all ? SIZE_MAX : 1024);
        fputc('\n', out);
    }
    put_size(out, a, "shallow", s->o.size), fputc('\n', out);
    if (s->distances && s->distances[s->object] < HD_V8_SYSTEM)
        display(out, "%12s %12u\n", "distance", s->distances[s->object]);
    if (is_live(o, s->object)) {
        put_size(out, a, "retained", retained_by(o, s->object));
        display(out, " in %u object%s\n", described_below(o, s->object), plural(described_below(o, s->object)));
    } else {
        display(out, "%12s %12s: no root holds it\n", "retained", "garbage");
    }
    put_origins(out, a, &s->origins, s->object);
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (root.object == s->object) put_root(out, o, &root);
    }
}

static int object_as_text(const arguments *a, const objects *o, FILE *out) {
    screen at = screen_of(a);
    uint32_t most = shown_of(a, NEIGHBOURS), i;
    referrer r = { 0, 0, 0 };
    subject s;
    if (subject_find(a, o, &s)) {
        subject_free(&s);
        return BAD_INPUT;
    }
    put_object(out, a, o, &s);
    put_list_head(out, o, "refers to", s.o.reference_count);
    for (i = 0; i < s.o.reference_count && i < most; i++)
        put_neighbour(out, a, o, s.o.references[i], s.object, i);
    put_more(out, s.o.reference_count, i);
    put_list_head(out, o, "referred to by", referrer_count(&s));
    for (i = 0; i < most && next_referrer(o, &s, &r); i++)
        put_neighbour(out, a, o, r.object, r.object, r.reference);
    put_more(out, referrer_count(&s), i);
    if (is_live(o, s.object)) {
        uint32_t parent = o->dominators->parent[s.object];
        put_list_head(out, o, "dominated by", parent != HD_NONE);
        if (parent != HD_NONE) put_neighbour(out, a, o, parent, 0, HD_NONE);
        put_list_head(out, o, "dominates", s.dominated_count);
        for (i = 0; i < s.dominated_count && i < most; i++)
            put_neighbour(out, a, o, s.dominated[i], 0, HD_NONE);
        put_more(out, s.dominated_count, i);
        put_next(out, &at, a, "why it is alive", "path", "--id", a->objects.id, o->file, NULL);
    }
    subject_free(&s);
    return DONE;
}

/* Writes the members of each object: its id for further commands, class, and retained size; null means garbage. */
void json_data(hd_json *j, const objects *o, uint32_t object, size_t most) {
    hd_dart_value data = has_data(o) ? data_of(o, object) : (hd_dart_value){ 0 };
    if (!data.tag) return;
    json_object(j, "data");
    json_value(j, &data, most);
    if (slots_of(o, object)) json_u64(j, "slots", slots_of(o, object));
    hd_json_end(j);
}

void json_members(hd_json *j, const objects *o, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    json_id(j, o, object);
    json_class(j, o->graph, x.class_index);
    json_known(j, "retained", is_live(o, object) ? retained_by(o, object) : HD_UNKNOWN);
    if (name_of(o, object).len) json_str(j, "name", name_of(o, object));
}

static void json_neighbour(hd_json *j, const objects *o, uint32_t object, uint32_t holder,
                           uint32_t reference) {
    json_line(j);
    json_members(j, o, object);
    if (reference != HD_NONE) {
        hd_str field = hd_graph_field(o->graph, holder, reference);
        json_u64(j, "reference", reference);
        json_index(j, o, holder, reference);
        if (field.len) json_str(j, "field", field);
        json_text(j, "kind", reference_kind_name(kind_of_reference(o, holder, reference)));
    }
    json_data(j, o, object, VALUE_UNITS);
    hd_json_end(j);
}

static void json_dart_object(const arguments *a, hd_json *j, const hd_dart *dart, const subject *s) {
    uint64_t externals = 0;
    hd_dart_value data = hd_dart_data(dart, s->object);
    uint64_t shallow = hd_dart_shallow(dart, s->object), identity = hd_dart_identity(dart, s->object);
    hd_dart_class_info c = hd_dart_class(dart, s->o.class_index);
    json_str(j, "library", c.library);
    json_str(j, "library_uri", c.library_uri);
    json_object(j, "data");
    json_value(j, &data, SIZE_MAX);
    hd_json_end(j);
    json_known(j, "identity", identity ? identity : HD_UNKNOWN);
    json_u64(j, "own_bytes", shallow);
    for (size_t i = 0; i < hd_dart_external_count(dart); i++)
        externals += hd_dart_external(dart, i).object == s->object;
    json_u64(j, "external_count", externals);
    json_array(j, "external");
    for (size_t i = 0, n = 0; i < hd_dart_external_count(dart); i++) {
        hd_dart_external_info x = hd_dart_external(dart, i);
        if (x.object != s->object || n++ >= shown_of(a, NEIGHBOURS)) continue;
        hd_json_object(j);
        json_str(j, "name", x.name);
        json_u64(j, "bytes", x.size);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void json_list(hd_json *j, const char *count_name, uint32_t count, const char *name) {
    json_u64(j, count_name, count);
    json_array(j, name);
}

static void json_subject(const arguments *a, hd_json *j, const objects *o, const subject *s) {
    json_members(j, o, s->object);
    json_u64(j, "bytes", s->o.size);
    json_u64(j, "retained_objects", described_below(o, s->object));
    if (s->distances)
        json_known(j, "distance", s->distances[s->object] != HD_NONE ? s->distances[s->object] : HD_UNKNOWN);
    if (hd_dump_dart(o->dump)) json_dart_object(a, j, hd_dump_dart(o->dump), s);
    else if (has_data(o)) json_data(j, o, s->object, SIZE_MAX);
    json_origins(j, &s->origins, s->object);
    json_array(j, "roots");
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (root.object != s->object) continue;
        hd_json_object(j);
        json_root(j, o, &root);
        json_u64(j, "flags", root.flags);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static int object_as_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t most = shown_of(a, NEIGHBOURS), parent;
    referrer r = { 0, 0, 0 };
    subject s;
    if (subject_find(a, o, &s)) {
        subject_free(&s);
        return BAD_INPUT;
    }
    json_subject(a, j, o, &s);
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

/* FILE ID, or --id ID FILE as in path. */
void object_defaults(arguments *a) {
    if (a->input.file_count == 2 && !a->objects.id) a->objects.id = a->input.files[--a->input.file_count];
}

int run_object(const arguments *a) {
    if (a->input.file_count != 1 || !a->objects.id)
        return usage("object needs FILE and ID, an id that retained, objects or path lists");
    return each_graph(a, "files", true, object_as_text, object_as_json);
}

