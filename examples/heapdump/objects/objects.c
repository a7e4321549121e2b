/* Functions that the commands for objects share. */

#include "objects.h"

#include <ctype.h>

/* Ids are spelled as in the file, in text, in JSON, and in arguments. */
static bool ids_are_hex(const objects *o) { return hd_dump_netcf(o->dump) != NULL; }

void objects_close(objects *o) {
    hd_dominators_free(o->dominators);
    hd_dump_free(o->dump);
}

int objects_open(const arguments *a, const char *file, bool dominators, objects *o) {
    int status = read_dump(file, &a->input, &o->dump);
    if (status) return status;
    o->file = file;
    o->dominators = NULL;
    o->graph = hd_dump_graph(o->dump);
    if (!o->graph) {
        display(stderr, "heapdump: %s (%s) is a profile, not a snapshot of objects: use tree or top\n", file,
                hd_dump_format(o->dump)->name);
        status = BAD_INPUT;
    } else {
        o->id_columns = id_columns_of(o->graph, ids_are_hex(o));
        if (dominators) status = dominate(file, o->graph, &o->dominators);
    }
    if (status) objects_close(o);
    return status;
}

/* Text. ---------------------------------------------------------------------------------------- */

void put_class(FILE *out, const hd_graph *graph, uint32_t class_index) {
    hd_class c = hd_graph_class(graph, class_index);
    put_scoped(out, c.name, c.scope);
}

int put_class_within(FILE *out, const screen *s, const hd_graph *graph, uint32_t class_index, int room) {
    hd_class c = hd_graph_class(graph, class_index);
    return put_scoped_within(out, s, c.name, c.scope, room);
}

/* Prints a name in quotes. */
static int put_name_within(FILE *out, hd_str name, int room) {
    FREED char *text = short_name(name, 0);
    int used = columns_of(hd_cstr(text));
    display(out, "\""), put_within(out, text, room - 2), display(out, "\"");
    return (used < room - 2 ? used : room - 2) + 2;
}

/* All roots of V8 have the class "(synthetic)"; their names say more. */
static bool is_v8_root(const objects *o, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("synthetic"));
}

int put_object_within(FILE *out, const screen *s, const objects *o, uint32_t object, int room) {
    enum { LEAST_NAME = 8 };
    uint32_t c = hd_graph_object(o->graph, object).class_index;
    hd_str name = name_of(o, object);
    char *fill = fill_text(o, object);
    int used = 0, more = name.len ? columns_of(name) + 4 : *fill ? columns_of(hd_cstr(fill)) + 2 : 0;
    if (!s->columns) {
        put_class(out, o->graph, c);
        put_known_name(out, o, object);
    } else if (more && is_v8_root(o, object) && columns_of(hd_graph_class(o->graph, c).name) + more > room) {
        used = put_name_within(out, name, room);
    } else {
        used = put_class_within(out, s, o->graph, c, room_beside(room, more));
        if (name.len && room - used > LEAST_NAME) {
            display(out, "  ");
            used += 2 + put_name_within(out, name, room - used - 2);
        } else if (*fill && room - used >= more) {
            display(out, ", %s", fill);
            used += more;
        }
    }
    free(fill);
    return used;
}

void json_class(hd_json *j, const hd_graph *graph, uint32_t class_index) {
    hd_class c = hd_graph_class(graph, class_index);
    json_str(j, "class", c.name);
    if (c.scope.len) json_str(j, "scope", c.scope);
}

void put_id(FILE *out, const objects *o, uint64_t id, int width) {
    display(out, ids_are_hex(o) ? "%*llx" : "%*llu", width, (unsigned long long)id);
}

int id_columns_of(const hd_graph *graph, bool hex) {
    enum { LEAST = 10 };
    uint64_t most = 0;
    int columns;
    for (uint32_t i = 0; i < hd_graph_object_count(graph); i++) {
        uint64_t id = hd_graph_object(graph, i).id;
        if (id > most) most = id;
    }
    columns = snprintf(NULL, 0, hex ? "%llx" : "%llu", (unsigned long long)most);
    return columns > LEAST ? columns : LEAST;
}

uint64_t index_of(const objects *o, uint32_t object, uint32_t reference) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    uint32_t index;
    if (v8) return hd_v8_index(v8, object, reference);
    index = hd_graph_index(o->graph, object, reference);
    return index != HD_NONE ? index : HD_UNKNOWN;
}

void id_text(const objects *o, uint32_t object, char text[24]) {
    snprintf(text, 24, ids_are_hex(o) ? "%llx" : "%llu", (unsigned long long)hd_graph_object(o->graph, object).id);
}

void json_id(hd_json *j, const objects *o, uint32_t object) {
    char text[24];
    id_text(o, object, text);
    json_text(j, "id", text);
}

bool is_number(hd_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    return text.len != 0;
}

bool put_reference(FILE *out, const objects *o, uint32_t object, uint32_t reference) {
    hd_str field = hd_graph_field(o->graph, object, reference);
    uint64_t index = index_of(o, object, reference);
    if (index != HD_UNKNOWN) return display(out, "[%llu]", (unsigned long long)index), true;
    if (hd_dump_v8(o->dump) && is_number(field)) return display(out, "[%.*s]", (int)field.len, field.data), true;
    put_name(out, field);
    return field.len != 0;
}

bool has_data(const objects *o) { return hd_dump_values(o->dump).get && !hd_dump_v8(o->dump); }

hd_dart_value data_of(const objects *o, uint32_t object) {
    static const uint32_t tags[] = { HD_DART_NO_DATA, HD_DART_NULL, HD_DART_BOOL, HD_DART_INTEGER, HD_DART_DOUBLE,
                                     HD_DART_LATIN1, HD_DART_LENGTH, HD_DART_NAME };
    hd_values values = hd_dump_values(o->dump);
    hd_dart_value data = { 0 };
    hd_value v = { 0 };
    if (hd_dump_dart(o->dump)) return hd_dart_data(hd_dump_dart(o->dump), object);
    if (!has_data(o)) return data;
    values.get(values.document, object, &v);
    data.tag = v.kind < sizeof tags / sizeof *tags ? tags[v.kind] : HD_DART_NO_DATA;
    if (v.kind == HD_VALUE_STRING && v.encoding == HD_TEXT_UTF16) data.tag = HD_DART_UTF16;
    data.value = v.kind != HD_VALUE_STRING || v.number ? v.number
                 : v.text.len / (data.tag == HD_DART_UTF16 ? 2 : 1);
    data.number = v.real;
    data.text = v.text;
    return data;
}

uint64_t slots_of(const objects *o, uint32_t object) {
    hd_values values = hd_dump_values(o->dump);
    hd_value v = { 0 };
    if (values.get) values.get(values.document, object, &v);
    return v.slots;
}

uint64_t retained_by(const objects *o, uint32_t object) { return o->dominators->retained[object]; }

/* A number with its digits in groups: "4,096". */
static void put_grouped(FILE *out, uint64_t n) {
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) fputc(',', out);
        fputc(digits[i], out);
    }
}

char *fill_text(const objects *o, uint32_t object) {
    hd_dart_value data = has_data(o) && !hd_dump_dart(o->dump) ? data_of(o, object) : (hd_dart_value){ 0 };
    uint64_t slots;
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    if (data.tag == HD_DART_LENGTH) {
        put_grouped(f, data.value);
        slots = slots_of(o, object);
        if (slots) display(f, " of "), put_grouped(f, slots);
        display(f, " %s%s", slots ? "slot" : "element", (slots ? slots : data.value) == 1 ? "" : "s");
    }
    closed_text(f, &text);
    return text;
}

/* The name of an object besides its class: in V8 snapshots the name of a function, or the text of a string;
   in HPROF the name of a class, thread or constant. */
hd_str name_of(const objects *o, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_str name = v8 ? hd_v8_name(v8, object) : hd_cstr("");
    hd_class c = hd_graph_class(o->graph, hd_graph_object(o->graph, object).class_index);
    if (!v8 && has_data(o) && !hd_dump_dart(o->dump)) {
        hd_dart_value data = data_of(o, object);
        return data.tag == HD_DART_NAME ? data.text : hd_cstr("");
    }
    if (v8 && hd_v8_detachedness(v8, object) == HD_V8_DETACHED && c.name.len == name.len + 9 &&
        !memcmp(c.name.data + 9, name.data, name.len))
        return hd_cstr("");      /* "<li>" of class "Detached <li>" */
    return hd_str_equal(name, c.name) ? hd_cstr("") : name;
}

bool is_class_object(const objects *o, uint32_t object) {
    hd_class c = hd_graph_class(o->graph, hd_graph_object(o->graph, object).class_index);
    return hd_str_equal(c.name, hd_cstr("java.lang.Class")) && has_data(o) && name_of(o, object).len;
}

void put_cut(FILE *out, hd_str name, size_t most) {
    bool cut = name.len > most;
    if (cut) name.len = most;
    display(out, "\""), put_name(out, name), display(out, cut ? "\"..." : "\"");
}

void put_known_name(FILE *out, const objects *o, uint32_t object) {
    hd_str name = name_of(o, object);
    char *fill = fill_text(o, object);
    if (name.len) display(out, "  "), put_cut(out, name, 60);
    else if (*fill) display(out, ", %s", fill);
    free(fill);
}

/* The distance of each object from the objects that the program holds, if the format defines one; else NULL. The
   caller frees it. */
int distances_of(const objects *o, uint32_t **distances) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_error err;
    *distances = NULL;
    if (!v8) return DONE;
    *distances = needed(malloc(((size_t)hd_graph_object_count(o->graph) + 1) * sizeof **distances));
    if (!hd_v8_distances(v8, NULL, *distances, &err)) return DONE;
    free(*distances);
    return failed(o->file, &err);
}

/* The object with an id; HD_NONE if the file has no object with it, as a message said. */
uint32_t object_with(const objects *o, const char *text) {
    char *end;
    uint64_t id;
    uint32_t object;
    errno = 0;
    id = strtoull(text, &end, ids_are_hex(o) || begins_with(hd_cstr(text), "0x") ? 16 : 10); /* 0x: as jstack */
    object = isxdigit((unsigned char)*text) && !*end && !errno ? hd_graph_find(o->graph, id) : HD_NONE;
    if (object == HD_NONE) display(stderr, "heapdump: %s: no object has the id '%s'\n", o->file, text);
    return object;
}

/* Whether this is id 0 of a Dart snapshot, a sentinel for objects that the VM left out. */
bool is_left_out(const objects *o, uint32_t object) {
    return hd_dump_dart(o->dump) && !hd_graph_object(o->graph, object).class_index;
}

/* The objects that retain most, largest first. `usual`: their number without --top. The caller frees them. */
uint32_t largest(const arguments *a, const objects *o, uint32_t usual, uint32_t **top) {
    uint32_t most = shown_of(a, usual), n = hd_graph_object_count(o->graph), found, kept = 0;
    if (most > n) most = n;
    *top = needed(malloc(((size_t)most + 1) * sizeof **top));
    found = hd_dominators_top(o->dominators, most + (most < n), *top);
    for (uint32_t i = 0; i < found; i++)
        if (!is_left_out(o, (*top)[i])) (*top)[kept++] = (*top)[i];
    return kept < most ? kept : most;
}

/* Opens each file in turn, and prints text or one JSON value. */
int each_graph(const arguments *a, const char *name, bool dominators,
               int (*text)(const arguments *a, const objects *o, FILE *out),
               int (*json)(const arguments *a, const objects *o, hd_json *j)) {
    answer r;
    hd_json *j = &r.json;
    int status = answer_open(&r, a, name), one;
    if (status) return status;
    for (int i = 0; i < a->input.file_count; i++) {
        objects o;
        one = objects_open(a, a->input.files[i], dominators, &o);
        if (!one) {
            if (a->view.json) {
                json_line(j);
                json_text(j, "file", o.file);
                one = json(a, &o, j);
                hd_json_end(j);
            } else {
                one = text(a, &o, r.text);
            }
            objects_close(&o);
        }
        if (one) status = one;
    }
    return answer_close(&r, DONE) ? BAD_INPUT : status;
}

int no_class(const objects *o, const char *name) {
    display(stderr, "heapdump: %s: no object has a class named '%s' (heapdump classes lists the names)\n", o->file,
            name);
    return BAD_INPUT;
}

/* A byte per object: whether a root holds it. The caller frees it. NULL on failure, as a message said. */
uint8_t *reach(const char *file, const hd_graph *graph, hd_total *total) {
    uint8_t *reached = needed(malloc((size_t)hd_graph_object_count(graph) + 1));
    hd_error err;
    if (!hd_graph_reach(graph, NULL, 0, NULL, reached, total, &err)) return reached;
    failed(file, &err);
    free(reached);
    return NULL;
}
