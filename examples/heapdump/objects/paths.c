/* The command path. */

#include "objects.h"

/* The ephemeron by which a step leads from a key to its value; HD_NONE: the step is a reference. */
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

void put_root(FILE *out, const objects *o, const hd_root *root) {
    FREED char *text = root_text(o, root, "");
    display(out, "root: %s", text);
    if (is_cut_off(o, root->object)) display(out, ": the file has lost references");
    for (uint32_t flag = 1; flag && flag <= root->flags; flag <<= 1)
        if (root->flags & flag) display(out, ", %s", hd_root_flag_name(flag));
    if (root->container != HD_NONE) display(out, " of "), put_class(out, o->graph, root->container);
    fputc('\n', out);
}

/* The field, index or ephemeron by which an object holds the next one. */
static void put_way_on(FILE *out, const objects *o, const hd_path *path, uint32_t i) {
    if (i + 1 == path->length) return;
    if (ephemeron_of(path, i) != HD_NONE) {
        put_ephemeron(out, o, ephemeron_of(path, i));
        return;
    }
    display(out, ", by ");
    if (!put_reference(out, o, path->objects[i], path->references[i]))
        display(out, "reference %u", path->references[i]);
}

static void put_step(FILE *out, const arguments *a, const screen *s, const objects *o, const hd_path *path,
                     uint32_t i) {
    hd_object x = hd_graph_object(o->graph, path->objects[i]);
    char *rest;
    size_t size;
    FILE *tail = needed(open_memstream(&rest, &size));
    int room = s->columns - 3;
    display(tail, "  id "), put_id(tail, o, x.id, 0);
    display(tail, ", retains "), put_bytes(tail, a, o->dominators->retained[path->objects[i]], 0);
    put_way_on(tail, o, path, i);
    closed_text(tail, &rest);
    room -= columns_of(hd_cstr(rest)) < room - 24 ? columns_of(hd_cstr(rest)) : room - 24;
    display(out, "  ");
    room -= put_object_within(out, s, o, path->objects[i], room);
    put_within(out, rest, s->columns ? columns_of(hd_cstr(rest)) + (room < 0 ? room : 0) : 0);
    display(out, "\n");
    free(rest);
}

/* `rows`: number of lines; the middle is left out if there are more. 0: no limit. */
static void put_path(FILE *out, const arguments *a, const screen *s, const objects *o, const hd_path *path,
                     uint32_t rows) {
    hd_root root = hd_graph_root(o->graph, path->root);
    put_root(out, o, &root);
    for (uint32_t i = 0; i < path->length; i++) {
        if (rows > 4 && path->length > rows - 1 && i == (rows - 1) / 2) {
            uint32_t left = path->length - (rows - 2);
            put_style(out, s, FAINT);
            display(out, "  ... %u more (--all)\n", left);
            put_style(out, s, PLAIN);
            i += left;
        }
        put_step(out, a, s, o, path, i);
    }
}

/* Omits steps from the middle until the rest fits into `rows` lines. Steps without a name of the program go first. */
static void leave_out(const steps *s, uint32_t rows, bool *out) {
    uint32_t left = s->count, middle = s->count / 2;
    for (int named = 0; named < 2; named++)
        for (uint32_t far = 0; far < s->count && left >= rows; far++) {
            uint32_t i = far & 1 ? middle + far / 2 + 1 : middle - far / 2;
            if (!i || i + 1 >= s->count || out[i] || (!named && s->list[i].known >= PROPERTY)) continue;
            out[i] = true, left--;
        }
}

/* A step on a terminal: "kept: Array  id 86200, retains 1.2 KiB". */
static void put_shown_step(FILE *out, const arguments *a, const screen *s, const objects *o, const step *x) {
    enum { LEAST = 12 };
    int room = s->columns - 3;
    FREED char *rest = NULL, *text = NULL;
    size_t size;
    FILE *tail = needed(open_memstream(&rest, &size));
    display(tail, "  id "), put_id(tail, o, hd_graph_object(o->graph, x->object).id, 0);
    if (x->last != x->object) display(tail, " to "), put_id(tail, o, hd_graph_object(o->graph, x->last).id, 0);
    display(tail, ", retains "), put_bytes(tail, a, o->dominators->retained[x->object], 0);
    if (x->folded) display(tail, " (+%u object%s of V8)", x->folded, plural(x->folded));
    closed_text(tail, &rest);
    room -= columns_of(hd_cstr(rest));
    display(out, "  ");
    text = step_within(hd_cstr(x->text), !s->columns ? 0 : room > LEAST ? room : LEAST);
    display(out, "%s", text);
    put_style(out, s, FAINT);
    display(out, "%s\n", rest);
    put_style(out, s, PLAIN);
}

/* On a terminal: the names that a programmer knows. */
static void put_steps(FILE *out, const arguments *a, const screen *s, const objects *o, const hd_path *path,
                      uint32_t rows) {
    steps way = steps_of_path(o, path, (size_t)s->columns);
    bool *left_out = needed(calloc((size_t)way.count + 1, sizeof *left_out));
    if (rows > 4) leave_out(&way, rows - 1, left_out);
    for (uint32_t i = 0, n = 0; i < way.count; i++) {
        n = left_out[i] ? n + 1 : 0;
        if (!left_out[i]) put_shown_step(out, a, s, o, &way.list[i]);
        else if (!left_out[i + 1])
            put_style(out, s, FAINT), display(out, "  ... %u more (--all)\n", n), put_style(out, s, PLAIN);
    }
    free(left_out);
    steps_free(&way);
}

static int path_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    found_paths paths;
    uint32_t object = object_with(o, a->objects.id);
    bool shown = steps_columns(a, 1) != 0;
    if (object == HD_NONE || paths_find(a, o, object, &paths)) return BAD_INPUT;
    if (!paths.count) display(out, "no root holds it: garbage, or held weakly alone\n");
    for (uint32_t p = 0; p < paths.count; p++) {
        if (p) fputc('\n', out);
        (shown ? put_steps : put_path)(out, a, &s, o, &paths.list[p],
                                       a->view.wide ? 0 : rows_for(a, &s, paths.count));
    }
    if (paths.more) display(out, "\n... more may be longer\n");
    if (shown) put_next(out, &s, a, "every object on the way", "path", "--all", "--id", a->objects.id, o->file, NULL);
    if (!shown || a->objects.paths) put_next(out, &s, a, "all about it", "object", o->file, a->objects.id, NULL);
    if (paths.count == 1 && !a->objects.paths)
        put_next(out, &s, a, "other ways", "path", "--paths", "5", "--id", a->objects.id, o->file, NULL);
    paths_free(&paths);
    return DONE;
}

void json_index(hd_json *j, const objects *o, uint32_t object, uint32_t reference) {
    uint64_t index = index_of(o, object, reference);
    if (index != HD_UNKNOWN) json_u64(j, "index", index);
}

static void json_path(hd_json *j, const objects *o, const hd_path *path) {
    hd_root root = hd_graph_root(o->graph, path->root);
    steps way = steps_of_path(o, path, 0);
    hd_json_object(j);
    json_root(j, o, &root);
    json_u64(j, "flags", root.flags);
    steps_json(j, "steps", &way);
    json_array(j, "objects");
    for (uint32_t i = 0; i < path->length; i++) {
        hd_str field = field_of(o, path, i);
        hd_json_object(j);
        json_id(j, o, path->objects[i]);
        json_class(j, o->graph, hd_graph_object(o->graph, path->objects[i]).class_index);
        if (name_of(o, path->objects[i]).len) json_str(j, "name", name_of(o, path->objects[i]));
        json_u64(j, "retained", o->dominators->retained[path->objects[i]]);
        if (ephemeron_of(path, i) != HD_NONE)
            json_object(j, "key_of"), json_id(j, o, ephemeron_of(path, i)), hd_json_end(j);
        else if (i + 1 < path->length)
            json_u64(j, "reference", path->references[i]), json_index(j, o, path->objects[i], path->references[i]);
        if (field.len) json_str(j, "field", field);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j);
    steps_free(&way);
}

static int path_json(const arguments *a, const objects *o, hd_json *j) {
    found_paths paths;
    uint32_t object = object_with(o, a->objects.id);
    if (object == HD_NONE || paths_find(a, o, object, &paths)) return BAD_INPUT;
    json_id(j, o, object);
    json_array(j, "paths");
    for (uint32_t p = 0; p < paths.count; p++) json_path(j, o, &paths.list[p]);
    hd_json_end(j);
    json_bool(j, "more", paths.more);
    paths_free(&paths);
    return DONE;
}

void path_defaults(arguments *a) { a->cut.has_cutoff = a->cut.all; } /* no default one */

int run_path(const arguments *a) {
    if (!a->objects.id == !a->objects.class_name) return usage("path needs either --id ID or --class NAME");
    if (a->objects.class_name && a->objects.paths) return usage("--paths needs --id ID");
    if (a->objects.class_name) return each_graph(a, "files", true, ways_text, ways_json);
    return each_graph(a, "files", true, path_text, path_json);
}

