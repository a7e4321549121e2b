/* What the tool does with objects that hold each other: classes, retained, path; and its part in tree, info,
   diff and convert. */
#ifndef HEAPDUMP_GRAPHS_H
#define HEAPDUMP_GRAPHS_H

/* A file that has a graph, with what holds what. */
typedef struct objects {
    const char *file;
    hd_dump *dump;
    const hd_graph *graph;
    hd_dominators *dominators;   /* NULL where nobody asked */
} objects;

static hd_options long_call(reading *r, const char *doing) {
    hd_options options = { .progress = on_progress, .user = r };
    memset(r, 0, sizeof *r);
    r->file = doing;
    clock_gettime(CLOCK_MONOTONIC, &r->began);
    return options;
}

static void long_call_ends(const reading *r) {
    if (r->shown) fputs("\r\033[K", stderr);
}

static int failed(const char *file, const hd_error *err) {
    complain(file, err, "");
    return BAD_INPUT;
}

static int dominate(const char *file, const hd_graph *graph, hd_dominators **dominators) {
    reading r;
    hd_options options = long_call(&r, "finding what holds what");
    hd_error err;
    hd_status status = hd_graph_dominators(graph, &options, dominators, &err);
    long_call_ends(&r);
    return status ? failed(file, &err) : DONE;
}

static void objects_close(objects *o) {
    hd_dominators_free(o->dominators);
    hd_dump_free(o->dump);
}

static int objects_open(const arguments *a, const char *file, bool dominators, objects *o) {
    int status = read_dump(file, a, &o->dump);
    if (status) return status;
    o->file = file;
    o->dominators = NULL;
    o->graph = hd_dump_graph(o->dump);
    if (!o->graph) {
        fprintf(stderr, "heapdump: %s says who allocated, not who holds: see tree and top\n", file);
        status = BAD_INPUT;
    } else if (dominators) {
        status = dominate(file, o->graph, &o->dominators);
    }
    if (status) objects_close(o);
    return status;
}

/* Text: control characters of names do not reach the terminal. */
static void put_name(FILE *out, hd_str name) {
    for (size_t i = 0; i < name.len; i++)
        fputc((unsigned char)name.data[i] < 32 || name.data[i] == 127 ? '?' : name.data[i], out);
}

static void put_class(FILE *out, const hd_graph *graph, uint32_t class_index) {
    hd_class c = hd_graph_class(graph, class_index);
    put_name(out, c.name);
    if (!c.scope.len) return;
    fputs("  (", out), put_name(out, c.scope), fputc(')', out);
}

static void put_bytes(FILE *out, const arguments *a, uint64_t bytes, int width) {
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    int u = 0;
    if (a->exact) {
        fprintf(out, "%*llu", width, (unsigned long long)bytes);
        return;
    }
    for (; u < 4 && size >= 1023.95; u++) size /= 1024;
    width -= 1 + (int)strlen(units[u]);
    fprintf(out, u ? "%*.1f %s" : "%*.0f %s", width > 0 ? width : 0, size, units[u]);
}

static void put_share(FILE *out, uint64_t part, uint64_t whole) {
    fprintf(out, " %6.1f%%", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void json_class(hd_json *j, const hd_graph *graph, uint32_t class_index) {
    hd_class c = hd_graph_class(graph, class_index);
    hd_json_key(j, "class"), hd_json_str(j, c.name);
    if (c.scope.len) hd_json_key(j, "scope"), hd_json_str(j, c.scope);
}

/* Ids as the file spells them, in text, in JSON, and for --id. */
static bool ids_are_hex(const objects *o) { return hd_dump_format(o->dump) == HD_FORMAT_NETCF; }

static void put_id(FILE *out, const objects *o, uint64_t id, int width) {
    fprintf(out, ids_are_hex(o) ? "%*llx" : "%*llu", width, (unsigned long long)id);
}

static void json_id(hd_json *j, const objects *o, uint32_t object) {
    char text[24];
    snprintf(text, sizeof text, ids_are_hex(o) ? "%llx" : "%llu",
             (unsigned long long)hd_graph_object(o->graph, object).id);
    json_text(j, "id", text);
}

/* The object an id means; HD_NONE, told, when there is none. */
static uint32_t object_with(const objects *o, const char *text) {
    char *end;
    uint64_t id;
    uint32_t object;
    errno = 0;
    id = strtoull(text, &end, ids_are_hex(o) ? 16 : 0);
    object = isxdigit((unsigned char)*text) && !*end && !errno ? hd_graph_find(o->graph, id) : HD_NONE;
    if (object == HD_NONE) fprintf(stderr, "heapdump: %s: no object has the id '%s'\n", o->file, text);
    return object;
}

/* The largest retained, largest first; freed by the caller. */
static uint32_t largest(const arguments *a, const objects *o, uint32_t **top) {
    uint32_t most = a->cutoff.top ? a->cutoff.top : 20, n = hd_graph_object_count(o->graph);
    if (most > n) most = n;
    *top = needed(malloc(((size_t)most + 1) * sizeof **top));
    return hd_dominators_top(o->dominators, most, *top);
}

/* Each file in turn, as text or as one JSON value. */
static int each_graph(const arguments *a, const char *name, bool dominators,
                      int (*text)(const arguments *a, const objects *o, FILE *out),
                      int (*json)(const arguments *a, const objects *o, hd_json *j)) {
    output out;
    FILE *f;
    hd_json *j;
    int status = output_open(&out, a->output), one;
    if (status) return status;
    f = output_text(&out);
    j = json_open(a, name, out.out);
    for (int i = 0; i < a->file_count; i++) {
        objects o;
        one = objects_open(a, a->files[i], dominators, &o);
        if (!one) {
            if (a->json) {
                hd_json_newline(j);
                hd_json_object(j);
                json_text(j, "file", o.file);
                one = json(a, &o, j);
                hd_json_end(j);
            } else {
                one = text(a, &o, f);
            }
            objects_close(&o);
        }
        if (one) status = one;
    }
    if (json_close(a, j)) status = BAD_INPUT;
    if (fclose(f)) status = BAD_INPUT;
    return output_close(&out, a->output, DONE) ? BAD_INPUT : status;
}

/* classes --------------------------------------------------------------------------------------- */

static int classes_text(const arguments *a, const objects *o, FILE *out) {
    hd_histogram *h;
    hd_error err;
    uint32_t most = a->cutoff.top ? a->cutoff.top : HD_NONE, i = 0;
    if (hd_graph_histogram(o->graph, o->dominators, NULL, &h, &err)) return failed(o->file, &err);
    fprintf(out, "%12s %7s %12s %10s %12s %10s  %s\n", "retained", "", "live bytes", "live", "bytes",
            "objects", "class");
    for (; i < h->count && i < most; i++) {
        const hd_class_row *row = &h->rows[i];
        put_bytes(out, a, row->retained, 12);
        put_share(out, row->retained, o->dominators->bytes);
        fputc(' ', out), put_bytes(out, a, row->live_bytes, 12);
        fprintf(out, " %10llu ", (unsigned long long)row->live_objects);
        put_bytes(out, a, row->bytes, 12);
        fprintf(out, " %10llu  ", (unsigned long long)row->objects);
        put_class(out, o->graph, row->class_index);
        fputc('\n', out);
    }
    if (i < h->count) fprintf(out, "%u more classes\n", h->count - i);
    hd_histogram_free(h);
    return DONE;
}

static int classes_json(const arguments *a, const objects *o, hd_json *j) {
    hd_histogram *h;
    hd_error err;
    uint32_t most = a->cutoff.top ? a->cutoff.top : HD_NONE;
    if (hd_graph_histogram(o->graph, o->dominators, NULL, &h, &err)) return failed(o->file, &err);
    hd_json_key(j, "classes"), hd_json_array(j);
    for (uint32_t i = 0; i < h->count && i < most; i++) {
        const hd_class_row *row = &h->rows[i];
        hd_json_newline(j);
        hd_json_object(j);
        json_class(j, o->graph, row->class_index);
        hd_json_key(j, "retained"), hd_json_u64(j, row->retained);
        hd_json_key(j, "live_bytes"), hd_json_u64(j, row->live_bytes);
        hd_json_key(j, "live_objects"), hd_json_u64(j, row->live_objects);
        hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
        hd_json_key(j, "objects"), hd_json_u64(j, row->objects);
        hd_json_end(j);
    }
    hd_json_end(j);
    hd_histogram_free(h);
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
    fprintf(stderr, "heapdump: %s: no object is of a class called '%s'\n", o->file, name);
    return BAD_INPUT;
}

static int class_total(const arguments *a, const objects *o, hd_total *total) {
    uint32_t count = hd_graph_object_count(o->graph), n = 0;
    uint32_t *all = needed(malloc(((size_t)count + 1) * sizeof *all));
    hd_error err;
    int status = DONE;
    for (uint32_t i = 0; i < count; i++)
        if (is_named(o, i, a->class_name)) all[n++] = i;
    if (!n) status = no_class(o, a->class_name);
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
        fprintf(out, " in %llu objects would go with all of class %s\n", (unsigned long long)total.objects,
                a->class_name);
        return DONE;
    }
    n = largest(a, o, &top);
    fprintf(out, "%12s %7s %12s %10s  %s\n", "retained", "", "shallow", "id", "class");
    for (uint32_t i = 0; i < n; i++) {
        hd_object object = hd_graph_object(o->graph, top[i]);
        put_bytes(out, a, o->dominators->retained[top[i]], 12);
        put_share(out, o->dominators->retained[top[i]], o->dominators->bytes);
        fputc(' ', out), put_bytes(out, a, object.size, 12);
        fputc(' ', out), put_id(out, o, object.id, 10), fputs("  ", out);
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
        if (class_total(a, o, &total)) return BAD_INPUT;
        json_text(j, "class", a->class_name);
        hd_json_key(j, "retained"), hd_json_u64(j, total.bytes);
        hd_json_key(j, "objects"), hd_json_u64(j, total.objects);
        return DONE;
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

static hd_str field_of(const objects *o, const hd_path *path, uint32_t at) {
    if (at + 1 == path->length) return hd_cstr("");
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
    fprintf(out, "root: %s", hd_root_kind_name(root->kind));
    for (uint32_t flag = 1; flag && flag <= root->flags; flag <<= 1)
        if (root->flags & flag) fprintf(out, ", %s", hd_root_flag_name(flag));
    if (root->container != HD_NONE) fputs(" of ", out), put_class(out, o->graph, root->container);
    fputc('\n', out);
}

static int path_text(const arguments *a, const objects *o, FILE *out) {
    hd_paths *paths;
    uint32_t object;
    if (find_paths(a, o, &object, &paths)) return BAD_INPUT;
    if (!paths->count) fputs("no root holds it: garbage, or held by weak roots alone\n", out);
    for (uint32_t p = 0; p < paths->count; p++) {
        const hd_path *path = &paths->paths[p];
        hd_root root = hd_graph_root(o->graph, path->root);
        if (p) fputc('\n', out);
        put_root(out, o, &root);
        for (uint32_t i = 0; i < path->length; i++) {
            hd_object step = hd_graph_object(o->graph, path->objects[i]);
            hd_str field = field_of(o, path, i);
            fputs("  ", out), put_class(out, o->graph, step.class_index);
            fputs("  id ", out), put_id(out, o, step.id, 0);
            fputs(", retains ", out), put_bytes(out, a, o->dominators->retained[path->objects[i]], 0);
            if (field.len) fputs(", by ", out), put_name(out, field);
            else if (i + 1 < path->length) fprintf(out, ", by reference %u", path->references[i]);
            fputc('\n', out);
        }
    }
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
            if (i + 1 < path->length) hd_json_key(j, "reference"), hd_json_u64(j, path->references[i]);
            if (field.len) hd_json_key(j, "field"), hd_json_str(j, field);
            hd_json_end(j);
        }
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j);
    hd_paths_free(paths);
    return DONE;
}

static int path(const arguments *a) {
    if (!a->id && !a->class_name) return usage("path needs --id ID or --class NAME");
    return each_graph(a, "files", true, path_text, path_json);
}

/* info, diff, tree, convert --------------------------------------------------------------------- */

static void graph_info_text(FILE *out, const hd_graph *graph) {
    hd_graph_summary s = hd_graph_summarize(graph);
    fprintf(out, "%12llu objects of %llu classes, %llu bytes\n", (unsigned long long)s.objects,
            (unsigned long long)s.classes, (unsigned long long)s.bytes);
    fprintf(out, "%12llu references\n%12llu roots, %llu of them weak\n", (unsigned long long)s.references,
            (unsigned long long)s.roots, (unsigned long long)s.weak_roots);
    if (s.missing_objects || s.missing_classes)
        fprintf(out, "%12llu objects that no record describes, from %llu references and %llu roots\n"
                "%12llu classes that no record describes\n", (unsigned long long)s.missing_objects,
                (unsigned long long)s.missing_references, (unsigned long long)s.missing_roots,
                (unsigned long long)s.missing_classes);
}

static void graph_info_json(hd_json *j, const hd_graph *graph) {
    hd_graph_summary s = hd_graph_summarize(graph);
    const struct { const char *name; uint64_t value; } values[] = {
        { "objects", s.objects }, { "classes", s.classes }, { "bytes", s.bytes },
        { "references", s.references }, { "roots", s.roots }, { "weak_roots", s.weak_roots },
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
        hd_netcf_domain d = hd_netcf_get_domain(netcf, i);
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
        hd_netcf_domain d = hd_netcf_get_domain(netcf, i);
        fputs("application domain ", out), put_name(out, d.name);
        fprintf(out, ", version %u, from %llu to %llu ms after boot\n", d.version,
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

static void put_change(FILE *out, uint64_t before, uint64_t after, int width) {
    char text[32];
    snprintf(text, sizeof text, "%c%llu", after == before ? ' ' : after > before ? '+' : '-',
             (unsigned long long)(after > before ? after - before : before - after));
    fprintf(out, "%*s", width, text);
}

static void diff_class_text(FILE *out, const hd_class_change *c) {
    put_change(out, c->bytes[0], c->bytes[1], 14);
    fprintf(out, " %14llu %14llu ", (unsigned long long)c->bytes[0], (unsigned long long)c->bytes[1]);
    put_change(out, c->objects[0], c->objects[1], 10);
    fputs("  ", out), put_name(out, c->name);
    if (c->scope.len) fputs("  (", out), put_name(out, c->scope), fputc(')', out);
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

/* Class by class; what did not change is left out. */
static int diff_graphs(const arguments *a, const hd_graph *before, const hd_graph *after) {
    uint32_t most = a->cutoff.top ? a->cutoff.top : HD_NONE, shown = 0;
    hd_graph_change *change;
    hd_error err;
    output o;
    FILE *out;
    hd_json *j;
    int status = output_open(&o, a->output);
    if (status) return status;
    if (hd_graph_diff(before, after, NULL, &change, &err)) {
        output_close(&o, a->output, BAD_INPUT);
        return failed(a->files[0], &err);
    }
    out = output_text(&o);
    j = json_open(a, "classes", o.out);
    if (!a->json) fprintf(out, "%14s %14s %14s %10s  %s\n", "change", "before", "after", "objects", "class");
    for (uint32_t i = 0; i < change->count && shown < most; i++) {
        const hd_class_change *c = &change->rows[i];
        if (c->bytes[0] == c->bytes[1] && c->objects[0] == c->objects[1]) continue;
        shown++;
        if (a->json) diff_class_json(j, c);
        else diff_class_text(out, c);
    }
    if (json_close(a, j)) status = BAD_INPUT;
    if (fclose(out)) status = BAD_INPUT;
    hd_graph_change_free(change);
    return output_close(&o, a->output, status);
}

static int write_netcf(const arguments *a, const hd_dump *dump) {
    output o;
    hd_error err;
    hd_status failed;
    int status = output_open(&o, a->output);
    if (status) return status;
    failed = hd_dump_netcf(dump) ? hd_netcf_write(hd_dump_netcf(dump), NULL, o.out, &err)
                                 : hd_netcf_write_graph(hd_dump_graph(dump), NULL, NULL, o.out, &err);
    if (failed) {
        fprintf(stderr, "heapdump: %s\n",
                o.is_file && o.file.os_error ? strerror(o.file.os_error) : err.message);
        status = BAD_INPUT;
    }
    return output_close(&o, a->output, status);
}

#endif
