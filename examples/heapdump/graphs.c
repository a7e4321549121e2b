/* Objects that hold each other in info, diff, tree and convert. */

#include "dart.h"

/* In a Dart snapshot the one object without a record is a sentinel for objects that the VM left out. convert writes
   weak references so, too: a class of Dart has a reference for each field. */
void graph_info_text(FILE *out, const hd_graph *graph, bool is_dart) {
    hd_graph_summary s = hd_graph_summarize(graph);
    display(out, "%12llu object%s of %llu class%s, %llu byte%s\n", (unsigned long long)s.objects, plural(s.objects),
            (unsigned long long)s.classes, s.classes == 1 ? "" : "es", (unsigned long long)s.bytes, plural(s.bytes));
    display(out, "%12llu reference%s, %llu of them weak\n%12llu root%s, %llu of them weak\n",
            (unsigned long long)s.references, plural(s.references), (unsigned long long)s.weak_references,
            (unsigned long long)s.roots, plural(s.roots), (unsigned long long)s.weak_roots);
    if (is_dart)
        display(out, "%12llu references to id 0 (left out by the VM, or weak in a converted snapshot)\n",
                (unsigned long long)s.missing_references);
    else if (s.missing_objects)
        display(out, "%12llu objects that no record describes, from %llu references and %llu roots\n",
                (unsigned long long)s.missing_objects, (unsigned long long)s.missing_references,
                (unsigned long long)s.missing_roots);
    if (s.missing_classes || (s.missing_objects && !is_dart))
        display(out, "%12llu classes that no record describes\n", (unsigned long long)s.missing_classes);
}

void graph_info_json(hd_json *j, const hd_graph *graph, bool is_dart) {
    hd_graph_summary s = hd_graph_summarize(graph);
    const struct { const char *name; uint64_t value; } values[] = {
        { "objects", s.objects }, { "classes", s.classes }, { "bytes", s.bytes },
        { "references", s.references }, { "weak_references", s.weak_references },
        { "roots", s.roots }, { "weak_roots", s.weak_roots },
        { "missing_objects", is_dart ? 0 : s.missing_objects },
        { "missing_references", s.missing_references }, { "missing_roots", s.missing_roots },
        { "missing_classes", s.missing_classes }
    };
    json_object(j, "graph");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        json_u64(j, values[i].name, values[i].value);
    hd_json_end(j);
}

void netcf_info_json(hd_json *j, const hd_netcf *netcf) {
    json_array(j, "domains");
    for (size_t i = 0; i < hd_netcf_domain_count(netcf); i++) {
        hd_netcf_domain_info d = hd_netcf_domain(netcf, i);
        json_line(j);
        json_str(j, "name", d.name);
        json_u64(j, "version", d.version);
        json_u64(j, "begin_ms", d.begin_ms);
        json_u64(j, "end_ms", d.end_ms);
        graph_info_json(j, d.graph, false);
        hd_json_end(j);
    }
    hd_json_end(j);
}

/* The domains of a .NET dump, each on its own. */
void netcf_info(FILE *out, const hd_netcf *netcf) {
    for (size_t i = 0; i < hd_netcf_domain_count(netcf); i++) {
        hd_netcf_domain_info d = hd_netcf_domain(netcf, i);
        display(out, "application domain "), put_name(out, d.name);
        display(out, ", version %u, from %llu to %llu ms after boot\n", d.version,
                (unsigned long long)d.begin_ms, (unsigned long long)d.end_ms);
        graph_info_text(out, d.graph, false);
    }
}

/* The dominator tree as a heap that all that prints or writes can take. */
int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap) {
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
    display(out, "  "), put_scoped(out, c->name, c->scope);
    fputc('\n', out);
}

static void diff_class_json(hd_json *j, const hd_class_change *c) {
    json_line(j);
    json_str(j, "class", c->name);
    if (c->scope.len) json_str(j, "scope", c->scope);
    json_u64(j, "before", c->bytes[0]);
    json_u64(j, "after", c->bytes[1]);
    json_u64(j, "objects_before", c->objects[0]);
    json_u64(j, "objects_after", c->objects[1]);
    hd_json_end(j);
}

/* Classes that grew, then the others, each the largest change first. */
static void diff_classes(const arguments *a, answer *r, const hd_graph_change *change) {
    uint32_t most = shown_of(a, HD_NONE), shown = 0;
    if (!a->json) display(r->text, "%14s %14s %14s %10s  %s\n", "change", "before", "after", "objects", "class");
    for (int grew = 1; grew >= 0; grew--)
        for (uint32_t i = 0; i < change->count && shown < most; i++) {
            const hd_class_change *c = &change->rows[i];
            if (c->bytes[0] == c->bytes[1] && c->objects[0] == c->objects[1]) continue;
            if ((c->bytes[1] > c->bytes[0]) != grew) continue;
            shown++;
            if (a->json) diff_class_json(&r->json, c);
            else diff_class_text(r->text, c);
        }
}

/* Whether what a diff of classes does not know was asked for. */
bool classes_cut(const arguments *a) {
    const hd_cutoff *c = &a->cutoff;
    return c->min_bytes || c->min_share > 0 || c->min_parent_share > 0 || c->max_entries ||
           c->max_output_bytes;
}

/* Changes by class and, if the ids of both snapshots belong together, object by object. */
int diff_objects(const arguments *a, const hd_dump *before, const hd_dump *after) {
    hd_graph_change *change;
    uint8_t *reached[2] = { NULL, NULL };
    const uint8_t *const *live = a->live ? (const uint8_t *const *)reached : NULL;
    identity_pair pair = { .change = NULL };
    hd_total total;
    hd_error err;
    answer r;
    int status = DONE;
    if (a->live && (!(reached[0] = reach(a->files[0], hd_dump_graph(before), &total)) ||
                    !(reached[1] = reach(a->files[1], hd_dump_graph(after), &total))))
        status = BAD_INPUT;
    if (!status) status = identity_open(a, before, after, live, &pair);
    if (!status && hd_graph_diff(hd_dump_graph(before), hd_dump_graph(after), live, NULL, &change, &err))
        status = failed(a->files[0], &err);
    else if (!status && (status = answer_open(&r, a, "classes")) != DONE) hd_graph_change_free(change);
    if (status) {
        hd_identity_change_free(pair.change);
        free(reached[0]), free(reached[1]);
        return status;
    }
    diff_classes(a, &r, change);
    if (a->json) {
        answer_end_list(&r);
        hd_json_key(&r.json, "identity");
        if (pair.change) identity_json(a, &r.json, &pair);
        else hd_json_null(&r.json);
    } else if (pair.change) {
        identity_text(a, r.text, &pair);
    }
    hd_graph_change_free(change);
    hd_identity_change_free(pair.change);
    free(reached[0]), free(reached[1]);
    return answer_close(&r, DONE);
}

/* The dump as it was read where it is of that format, else its graph. A Dart snapshot has a name, and gets that of
   the only application domain. */
static hd_status write_as(const arguments *a, const hd_dump *dump, const hd_format *format, hd_out out,
                          hd_error *err) {
    reading r = { .file = a->files[0] };
    hd_values values = hd_dump_values(dump);
    hd_options options = { .warning = on_warning, .warning_user = &r, .values = &values };
    const hd_netcf *netcf = hd_dump_netcf(dump);
    if (hd_dump_format(dump) == format) return hd_dump_write(dump, NULL, out, err);
    if (netcf && hd_netcf_domain_count(netcf) == 1 && !strcmp(format->name, "dart"))
        return hd_dart_write_graph(hd_dump_graph(dump), hd_netcf_domain(netcf, 0).name, &options, out, err);
    return format->write_graph(hd_dump_graph(dump), &options, out, err);
}

int write_objects(const arguments *a, const hd_dump *dump, const hd_format *format) {
    output o;
    hd_error err;
    int status = output_open(&o, a->output);
    if (status) return status;
    if (write_as(a, dump, format, o.out, &err)) {
        display(stderr, "heapdump: %s\n", output_error(&o, &err));
        status = BAD_INPUT;
    }
    return output_close(&o, a->output, status);
}
