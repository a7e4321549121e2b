/* The command objects. */

#include "objects.h"
#include "origins.h"

/* Subclasses, in Dart snapshots: some objects describe classes and list the direct subclasses. ----- */

/* A class by its name and library. */
typedef struct known_class {
    hd_str name, uri;
    uint32_t index;
} known_class;

typedef struct hierarchy {
    const objects *o;
    const hd_dart *dart;
    known_class *known;          /* by name and library */
    uint32_t count;
    uint32_t *extends;           /* by class: its superclass, or HD_NONE */
    uint8_t *seen;               /* by object: visited lists of subclasses, and objects in them */
    bool any;
} hierarchy;

enum { MOST_STEPS = 1000 };      /* length of a chain of superclasses: in a damaged file it may be a circle */

static int by_name_and_library(const void *a, const void *b) {
    const known_class *x = a, *y = b;
    int order = hd_str_compare(x->name, y->name);
    if (!order) order = hd_str_compare(x->uri, y->uri);
    return order;
}

/* The target of a field of an object; HD_NONE if the object has no such field. */
static uint32_t field_target(const hd_graph *graph, uint32_t object, const char *field) {
    hd_object o = hd_graph_object(graph, object);
    for (uint32_t r = 0; r < o.reference_count; r++)
        if (hd_str_equal(hd_graph_field(graph, object, r), hd_cstr(field))) return o.references[r];
    return HD_NONE;
}

static bool stands_for_class(const hierarchy *h, uint32_t object) {
    hd_class c = hd_graph_class(h->o->graph, hd_graph_object(h->o->graph, object).class_index);
    return hd_str_equal(c.name, hd_cstr("Class")) && !c.scope.len &&
           hd_dart_data(h->dart, object).tag == HD_DART_NAME;
}

/* The class that an object describes; HD_NONE: no class of this name and library has objects in the snapshot. */
static uint32_t class_of(const hierarchy *h, uint32_t object) {
    uint32_t library = field_target(h->o->graph, object, "library_");
    known_class key = { hd_dart_data(h->dart, object).text, { "", 0 }, 0 }, *found;
    if (library != HD_NONE && hd_dart_data(h->dart, library).tag == HD_DART_NAME)
        key.uri = hd_dart_data(h->dart, library).text;
    found = bsearch(&key, h->known, h->count, sizeof key, by_name_and_library);
    return found ? found->index : HD_NONE;
}

static void extends(hierarchy *h, uint32_t object, uint32_t super) {
    uint32_t c = class_of(h, object);
    if (c != HD_NONE && c != super) h->extends[c] = super;
    h->any = true;
}

/* Reads a list of direct subclasses. It contains them, or arrays that contain them. */
static void take_subclasses(hierarchy *h, uint32_t object) {
    uint32_t list = field_target(h->o->graph, object, "direct_subclasses_"), super = class_of(h, object);
    hd_object o;
    if (list == HD_NONE || super == HD_NONE || h->seen[list]) return;
    h->seen[list] = 1;
    o = hd_graph_object(h->o->graph, list);
    for (uint32_t r = 0; r < o.reference_count; r++) {
        hd_object inner = hd_graph_object(h->o->graph, o.references[r]);
        if (stands_for_class(h, o.references[r])) extends(h, o.references[r], super);
        else if (!h->seen[o.references[r]])
            for (uint32_t k = 0; k < inner.reference_count; k++)
                if (stands_for_class(h, inner.references[k])) extends(h, inner.references[k], super);
        h->seen[o.references[r]] = 1;
    }
}

/* Adds all direct and indirect subclasses of the asked classes. */
static void add_subclasses(const objects *o, uint8_t *asked) {
    hierarchy h = { .o = o, .dart = hd_dump_dart(o->dump), .count = hd_graph_class_count(o->graph) };
    if (h.dart) {
        h.known = needed(calloc((size_t)h.count + 1, sizeof *h.known));
        h.extends = needed(malloc(((size_t)h.count + 1) * sizeof *h.extends));
        for (uint32_t c = 0; c < h.count; c++) {
            hd_dart_class_info info = hd_dart_class(h.dart, c);
            h.known[c] = (known_class){ info.name, info.library_uri, c };
            h.extends[c] = HD_NONE;
        }
        h.seen = needed(calloc((size_t)hd_graph_object_count(o->graph) + 1, 1));
        qsort(h.known, h.count, sizeof *h.known, by_name_and_library);
        for (uint32_t i = 0; i < hd_graph_object_count(o->graph); i++)
            if (stands_for_class(&h, i)) take_subclasses(&h, i);
    }
    if (!h.any)
        display(stderr, "heapdump: %s: %s does not say which class extends which: --subclasses adds none\n", o->file,
                h.dart ? "this snapshot" : hd_dump_v8(o->dump) ? "a V8 snapshot" : "a .NET dump");
    for (uint32_t c = 0; h.any && c < h.count; c++) {
        uint32_t super = h.extends[c];
        for (int n = 0; super != HD_NONE && !asked[super] && n < MOST_STEPS; n++)
            super = h.extends[super];
        if (super != HD_NONE && asked[super]) asked[c] = 1;
    }
    free(h.known), free(h.extends), free(h.seen);
}

uint8_t *classes_asked(const arguments *a, const objects *o) {
    uint32_t count = hd_graph_class_count(o->graph), found = 0;
    uint8_t *asked = needed(calloc((size_t)count + 1, 1));
    for (uint32_t c = 0; c < count; c++) {
        asked[c] = !a->objects.class_name || hd_str_equal(hd_graph_class(o->graph, c).name,
                                                          hd_cstr(a->objects.class_name));
        found += asked[c];
    }
    if (!found) {
        no_class(o, a->objects.class_name);
        free(asked);
        return NULL;
    }
    if (a->objects.subclasses && a->objects.class_name) add_subclasses(o, asked);
    return asked;
}

/* Facts about an object. ----------------------------------------------------------------------- */

enum { MOST_FIELDS = 64, VALUE_COLUMNS = 40 };

/* Code units of a string as stored in the file, or elements of a list, map or set; HD_UNKNOWN: not in the file. */
static uint64_t length_of(const objects *o, uint32_t object) {
    uint64_t units = 0;
    hd_dart_value data;
    hd_str text;
    if (has_data(o)) {
        data = data_of(o, object);
        return is_string(data.tag) || data.tag == HD_DART_LENGTH ? data.value : HD_UNKNOWN;
    }
    if (!hd_dump_v8(o->dump) || !hd_str_equal(hd_v8_type(hd_dump_v8(o->dump), object), hd_cstr("string")))
        return HD_UNKNOWN;
    text = hd_v8_name(hd_dump_v8(o->dump), object);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c & 0xc0) != 0x80) units += c >= 0xf0 ? 2 : 1;
    }
    return units;
}

/* The value of an object as text, if it is a string or number; else empty. The caller frees it. */
static hd_str value_of(const objects *o, uint32_t object) {
    hd_str name;
    char *text;
    if (has_data(o)) {
        hd_dart_value data = data_of(o, object);
        return value_text(&data);
    }
    name = name_of(o, object);
    text = needed(malloc(name.len + 1));
    memcpy(text, name.data, name.len);
    return (hd_str){ text, name.len };
}

static void put_short_value(FILE *out, const objects *o, uint32_t object, size_t most) {
    char *fill = fill_text(o, object);
    if (*fill) {
        display(out, "%s", fill);
    } else if (has_data(o)) {
        hd_dart_value data = data_of(o, object);
        put_value(out, &data, most);
    } else if (name_of(o, object).len) {
        put_cut(out, name_of(o, object), most);
    }
    free(fill);
}

static bool has_value(const objects *o, uint32_t object) {
    if (has_data(o)) return data_of(o, object).tag != HD_DART_NO_DATA;
    return name_of(o, object).len != 0;
}

/* Whether the file has a length for the object, as for lists. */
static bool is_collection(const objects *o, uint32_t object) {
    return has_data(o) && data_of(o, object).tag == HD_DART_LENGTH;
}

static void json_own_value(hd_json *j, const objects *o, uint32_t object) {
    hd_dart_value data = { 0 };
    hd_str text;
    if (has_data(o)) data = data_of(o, object);
    if (is_collection(o, object) || !has_value(o, object)) return;
    hd_json_key(j, "value");
    if (data.tag == HD_DART_NULL) hd_json_null(j);
    else if (data.tag == HD_DART_BOOL) hd_json_bool(j, data.value != 0);
    else if (data.tag == HD_DART_INTEGER) hd_json_i64(j, (int64_t)data.value);
    else {
        text = value_of(o, object);
        hd_json_str(j, text);
        free((char *)(uintptr_t)text.data);
    }
}

/* Whether a reference is the object's first one with this name. */
static bool is_field(const hd_graph *graph, uint32_t object, uint32_t reference, hd_str *name) {
    *name = hd_graph_field(graph, object, reference);
    if (!name->len) return false;
    for (uint32_t r = 0; r < reference && r < 2 * MOST_FIELDS; r++)
        if (hd_str_equal(hd_graph_field(graph, object, r), *name)) return false;
    return true;
}

static void put_fields(FILE *out, const objects *o, uint32_t object, size_t most) {
    hd_object x = hd_graph_object(o->graph, object);
    uint32_t shown = 0;
    for (uint32_t r = 0; r < x.reference_count && r < 2 * MOST_FIELDS; r++) {
        hd_str field;
        uint32_t to = x.references[r];
        hd_object target;
        if (!is_field(o->graph, object, r, &field)) continue;
        if (shown++ == MOST_FIELDS) {
            display(out, ", ...");
            break;
        }
        display(out, shown > 1 ? ", " : "  {"), put_name(out, field), display(out, ": ");
        target = hd_graph_object(o->graph, to);
        if (has_value(o, to) && !is_collection(o, to)) {
            put_short_value(out, o, to, most);
        } else {
            put_name(out, hd_graph_class(o->graph, target.class_index).name);
            display(out, " "), put_id(out, o, target.id, 0);
        }
    }
    if (shown) putc('}', out);
}

static void json_fields(hd_json *j, const objects *o, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    uint32_t shown = 0;
    json_object(j, "fields");
    for (uint32_t r = 0; r < x.reference_count && shown < MOST_FIELDS && r < 2 * MOST_FIELDS; r++) {
        hd_str field;
        if (!is_field(o->graph, object, r, &field)) continue;
        shown++;
        hd_json_key_str(j, field), hd_json_object(j);
        json_id(j, o, x.references[r]);
        json_class(j, o->graph, hd_graph_object(o->graph, x.references[r]).class_index);
        json_own_value(j, o, x.references[r]);
        hd_json_end(j);
    }
    hd_json_end(j);
}

/* Selection. ------------------------------------------------------------------------------------ */

typedef struct instances {
    uint32_t *list, count;       /* the selected objects, most retained first */
    uint64_t bytes, unheld;      /* unheld: bytes of garbage that was left out */
    hd_total retained;           /* by all selected objects together */
} instances;

static bool number_fits(const condition *w, uint64_t n) {
    if (n == HD_UNKNOWN) return false;
    switch (w->compare) {
    case '<': return n < w->bound;
    case '>': return n > w->bound;
    case '(': return n <= w->bound;
    case ')': return n >= w->bound;
    default: return n == w->bound;
    }
}

/* Whether the class or value of a field's target matches. */
static bool target_fits(const condition *w, const objects *o, uint32_t to) {
    hd_str value;
    bool fits = pattern_matches((void *)(uintptr_t)&w->value,
                                hd_graph_class(o->graph, hd_graph_object(o->graph, to).class_index).name);
    if (fits) return true;
    value = value_of(o, to);
    fits = value.len && pattern_matches((void *)(uintptr_t)&w->value, value);
    free((char *)(uintptr_t)value.data);
    return fits;
}

/* Sets `is_told` if the file has the fact that the condition asks about. */
static bool object_fits(const condition *w, const objects *o, uint32_t object, bool *is_told) {
    hd_object x = hd_graph_object(o->graph, object);
    uint64_t length;
    if (w->of == OF_SIZE || w->of == OF_RETAINED) {
        *is_told = true;
        return number_fits(w, w->of == OF_SIZE ? x.size : o->dominators->retained[object]);
    }
    if (w->of == OF_DETACHED) {
        *is_told = hd_dump_v8(o->dump) != NULL;
        return is_detached(o, object);
    }
    if (w->of == OF_LENGTH) {
        length = length_of(o, object);
        *is_told |= length != HD_UNKNOWN;
        return number_fits(w, length);
    }
    for (uint32_t r = 0; r < x.reference_count; r++) {
        if (!hd_str_equal(hd_graph_field(o->graph, object, r), (hd_str){ w->field, w->field_length })) continue;
        *is_told = true;
        if (target_fits(w, o, x.references[r])) return true;
    }
    return false;
}

static int holds_more(const void *a, const void *b, void *of) {
    const objects *o = of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t p = o->dominators->retained[x], q = o->dominators->retained[y];
    if (p != q) return p < q ? 1 : -1;
    p = hd_graph_object(o->graph, x).size, q = hd_graph_object(o->graph, y).size;
    if (p != q) return p < q ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* At least one object must have the fact that a condition asks about. Otherwise the name is mistyped, or the format
   lacks the fact. */
static int conditions_known(const arguments *a, const objects *o, const bool *is_told) {
    for (int i = 0; i < a->objects.where_count; i++) {
        if (is_told[i]) continue;
        if (a->objects.where[i].of == OF_LENGTH)
            display(stderr, "heapdump: %s: the file has no length of any of these objects\n", o->file);
        else if (a->objects.where[i].of == OF_DETACHED)
            display(stderr, "heapdump: %s: only V8 snapshots mark detached objects\n", o->file);
        else
            display(stderr, "heapdump: %s: no such object has a field '%.*s'\n", o->file,
                    (int)a->objects.where[i].field_length, a->objects.where[i].field);
        return BAD_INPUT;
    }
    return DONE;
}

static int instances_find(const arguments *a, const objects *o, instances *found) {
    uint32_t all = hd_graph_object_count(o->graph), candidates = 0;
    FREED uint8_t *asked = classes_asked(a, o);
    FREED bool *is_told = needed(calloc((size_t)a->objects.where_count + 1, sizeof *is_told));
    hd_error err;
    int status = asked ? DONE : BAD_INPUT;
    memset(found, 0, sizeof *found);
    found->list = needed(malloc(((size_t)all + 1) * sizeof *found->list));
    for (uint32_t i = 0; i < all && !status; i++) {
        hd_object x = hd_graph_object(o->graph, i);
        bool fits = true;
        if (!x.class_index || !asked[x.class_index]) continue;
        candidates++;
        for (int k = 0; k < a->objects.where_count; k++) fits &= object_fits(&a->objects.where[k], o, i, &is_told[k]);
        if (!fits) continue;
        if (!a->objects.garbage && !o->dominators->below[i]) {
            found->unheld++;
            continue;
        }
        found->list[found->count++] = i;
        found->bytes += x.size;
    }
    if (!status && candidates) status = conditions_known(a, o, is_told);
    if (!status && hd_graph_retained(o->graph, found->list, found->count, NULL, &found->retained, &err))
        status = failed(o->file, &err);
    if (!status) qsort_r(found->list, found->count, sizeof *found->list, holds_more, (void *)(uintptr_t)o);
    else free(found->list);
    return status;
}

/* Output. --------------------------------------------------------------------------------------- */

/* The text behind the class of an object: values of up to `most` bytes. The caller frees it. */
static char *behind_class(const objects *o, const origins *from, uint32_t object, size_t most) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    if (has_value(o, object)) display(f, "  "), put_short_value(f, o, object, most);
    put_fields(f, o, object, most);
    put_short_origins(f, from, object);
    if (!o->dominators->below[object]) display(f, "  (garbage)");
    closed_text(f, &text);
    return text;
}

static void put_instance(FILE *out, const arguments *a, const screen *s, const objects *o, const origins *from,
                         uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    uint64_t retained = o->dominators->retained[object];
    int room = s->columns ? s->columns - o->id_columns - 35 > 25 ? s->columns - o->id_columns - 35 : 25 : 0;
    hd_str class_name = hd_graph_class(o->graph, x.class_index).name;
    char *name, *rest = behind_class(o, from, object, room > VALUE_COLUMNS ? (size_t)room : VALUE_COLUMNS);
    if (columns_of(hd_cstr(rest)) + columns_of(class_name) > room)
        free(rest), rest = behind_class(o, from, object, VALUE_COLUMNS);
    name = cut_within(class_name, room_beside(room, columns_of(hd_cstr(rest))));
    put_style(out, s, retained >= o->dominators->bytes / 10 ? STRONG : PLAIN);
    put_bytes(out, a, retained, 12);
    put_style(out, s, PLAIN);
    put_share(out, retained, o->dominators->bytes);
    display(out, " "), put_bytes(out, a, x.size, 10);
    display(out, " "), put_id(out, o, x.id, o->id_columns);
    display(out, "  %s", name);
    put_within(out, rest, room ? room - columns_of(hd_cstr(name)) : 0);
    display(out, "\n");
    free(name), free(rest);
}

static void put_found(FILE *out, const arguments *a, const screen *s, const instances *found) {
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    display(f, "%u object%s", found->count, found->count == 1 ? "" : "s");
    if (a->objects.class_name) display(f, " of class %s", a->objects.class_name);
    display(f, ", "), put_bytes(f, a, found->bytes, 0);
    display(f, found->count == 1 ? ", retains " : ", retain "), put_bytes(f, a, found->retained.bytes, 0);
    if (found->count != 1) display(f, " together");
    if (found->unheld)
        display(f, "; %llu more %s garbage (--garbage)", (unsigned long long)found->unheld,
                found->unheld == 1 ? "is" : "are");
    closed_text(f, &text);
    put_wrapped(out, text, s->columns);
}

static int instances_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count), most = shown_of(a, rows > 3 ? rows - 2 : 20), i = 0;
    instances found;
    origins from;
    if (origins_open(a, o, &from)) return BAD_INPUT;
    if (instances_find(a, o, &found)) return origins_close(&from), BAD_INPUT;
    put_found(out, a, &s, &found);
    put_style(out, &s, FAINT);
    display(out, "%12s %7s %10s %*s  class\n", "retained", "", "shallow", o->id_columns, "id");
    put_style(out, &s, PLAIN);
    for (; i < found.count && i < most; i++) put_instance(out, a, &s, o, &from, found.list[i]);
    put_more(out, found.count, i);
    if (a->objects.class_name)
        put_next(out, &s, a, "why they are alive", "path", "--class", a->objects.class_name, o->file, NULL);
    if (found.count) {
        char id[24];
        id_text(o, found.list[0], id);
        put_next(out, &s, a, "all about the first", "object", o->file, id, NULL);
    }
    free(found.list);
    origins_close(&from);
    return DONE;
}

static int instances_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t most = shown_of(a, HD_NONE);
    instances found;
    origins from;
    if (origins_open(a, o, &from)) return BAD_INPUT;
    if (instances_find(a, o, &found)) return origins_close(&from), BAD_INPUT;
    json_text(j, "class", a->objects.class_name);
    json_u64(j, "count", found.count);
    json_u64(j, "bytes", found.bytes);
    json_u64(j, "retained", found.retained.bytes);
    json_u64(j, "unheld", found.unheld);
    json_array(j, "objects");
    for (uint32_t i = 0; i < found.count && i < most; i++) {
        uint32_t object = found.list[i];
        hd_object x = hd_graph_object(o->graph, object);
        json_line(j);
        json_id(j, o, object);
        json_class(j, o->graph, x.class_index);
        json_known(j, "retained", o->dominators->below[object] ? o->dominators->retained[object] : HD_UNKNOWN);
        json_u64(j, "bytes", x.size);
        if (length_of(o, object) != HD_UNKNOWN) json_u64(j, "length", length_of(o, object));
        if (slots_of(o, object)) json_u64(j, "slots", slots_of(o, object));
        json_own_value(j, o, object);
        json_origins(j, &from, object);
        json_fields(j, o, object);
        hd_json_end(j);
    }
    hd_json_end(j);
    free(found.list);
    origins_close(&from);
    return DONE;
}

int run_objects(const arguments *a) {
    int status;
    if (!a->objects.class_name && !a->objects.where_count)
        return usage("objects needs --class NAME or --where CONDITION");
    status = each_graph(a, "files", true, instances_text, instances_json);
    for (int i = 0; i < a->objects.where_count; i++)
        if (a->objects.where[i].of == OF_FIELD) regfree(&a->objects.where[i].value.regex);
    free(a->objects.where);
    return status;
}
