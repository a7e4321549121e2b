/* Object graphs in info, diff and convert. */

#include "objects.h"
#include "references.h"

/* "12 objects". */
static void put_count(FILE *out, int width, uint64_t n, const char *one, const char *many) {
    display(out, "%*llu %s", width, (unsigned long long)n, n == 1 ? one : many);
}

/* References that are not strong; by kind, unless all of them are weak. */
static void put_kinds(FILE *out, const objects *o) {
    static const char *const name[REFERENCE_KINDS][2] = {
        [WEAK_REFERENCE] = { "weak", "weak" }, [EPHEMERON_KEY] = { "ephemeron key", "ephemeron keys" },
        [EPHEMERON_VALUE] = { "ephemeron value", "ephemeron values" }, [SHORTCUT] = { "shortcut", "shortcuts" },
        [TO_PAGE_OBJECT] = { "from the engine to a page object", "from the engine to page objects" }
    };
    uint64_t counts[REFERENCE_KINDS] = { 0 }, all = 0;
    count_kinds(o, counts);
    for (size_t k = 0; k < REFERENCE_KINDS; k++)
        if (k != STRONG_REFERENCE) all += counts[k];
    if (counts[WEAK_REFERENCE] == all) {
        display(out, ", %llu of them weak\n", (unsigned long long)all);
        return;
    }
    display(out, ", %llu of them not strong", (unsigned long long)all);
    for (size_t k = 0, n = 0; k < REFERENCE_KINDS; k++)
        if (k != STRONG_REFERENCE && counts[k])
            display(out, n++ ? ", " : ": "), put_count(out, 0, counts[k], name[k][0], name[k][1]);
    fputc('\n', out);
}

/* In a Dart snapshot the only object without a record is a sentinel for objects that the VM left out. convert uses
   the sentinel for weak references, too, because a Dart class has one reference per field. */
static void put_missing(FILE *out, const hd_graph_summary *s, bool is_dart) {
    if (is_dart) {
        put_count(out, 12, s->missing_references, "reference", "references");
        display(out, " to id 0 (left out by the VM, or weak in a converted snapshot)\n");
    } else if (s->missing_objects) {
        put_count(out, 12, s->missing_objects, "object", "objects");
        display(out, " that no record describes, from ");
        put_count(out, 0, s->missing_references, "reference", "references");
        display(out, " and "), put_count(out, 0, s->missing_roots, "root", "roots"), fputc('\n', out);
    }
    if (!s->missing_classes && (!s->missing_objects || is_dart)) return;
    put_count(out, 12, s->missing_classes, "class", "classes"), display(out, " that no record describes\n");
}

void graph_info_text(const arguments *a, FILE *out, const hd_dump *dump, const hd_graph *graph) {
    objects o = { .dump = (hd_dump *)(uintptr_t)dump, .graph = graph };
    hd_graph_summary s = hd_graph_summarize(graph);
    put_count(out, 12, s.objects, "object", "objects"), display(out, " of ");
    put_count(out, 0, s.classes, "class", "classes"), display(out, ", ");
    put_bytes_named(out, a, s.bytes), fputc('\n', out);
    put_count(out, 12, s.references, "reference", "references"), put_kinds(out, &o);
    put_count(out, 12, s.roots, "root", "roots");
    display(out, ", %llu of them weak\n", (unsigned long long)s.weak_roots);
    put_missing(out, &s, hd_dump_dart(dump) != NULL);
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

/* The domains of a .NET dump, one after the other. */
void netcf_info(const arguments *a, FILE *out, const hd_dump *dump) {
    const hd_netcf *netcf = hd_dump_netcf(dump);
    for (size_t i = 0; i < hd_netcf_domain_count(netcf); i++) {
        hd_netcf_domain_info d = hd_netcf_domain(netcf, i);
        display(out, "application domain "), put_name(out, d.name);
        display(out, ", version %u, from %llu to %llu ms after boot\n", d.version,
                (unsigned long long)d.begin_ms, (unsigned long long)d.end_ms);
        graph_info_text(a, out, dump, d.graph);
    }
}

static bool has_changed(const hd_class_change *c) {
    return c->bytes[0] != c->bytes[1] || c->objects[0] != c->objects[1];
}

static void class_figures(const arguments *a, const hd_class_change *c, figures *f) {
    figure_change(f, a, 0, c->bytes[0], c->bytes[1]);
    figure_bytes(f, a, 1, c->bytes[0]);
    figure_bytes(f, a, 2, c->bytes[1]);
    figure_count(f, 3, c->objects[0], c->objects[1]);
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

/* Classes that grew, then the others, each group with the largest change first. NULL: the end. */
static const hd_class_change *next_change(const hd_graph_change *change, uint32_t *at) {
    for (; *at < 2 * change->count; ++*at) {
        const hd_class_change *c = &change->rows[*at % change->count];
        if (has_changed(c) && (c->bytes[1] > c->bytes[0]) == (*at < change->count)) return ++*at, c;
    }
    return NULL;
}

static void diff_classes(const arguments *a, answer *r, const hd_graph_change *change) {
    static const figure_column columns[] = { { "change", ALWAYS }, { "before", IF_WIDE }, { "after", ALWAYS },
                                             { "objects", ALWAYS } };
    screen s = screen_of(a);
    figures f = figures_of(&s, columns, 4);
    const hd_class_change *c;
    uint32_t most = shown_of(a, HD_NONE);
    for (uint32_t at = 0, n = 0; !a->view.json && n < most && (c = next_change(change, &at)); n++)
        class_figures(a, c, &f), figures_measure(&f);
    if (!a->view.json) figures_put_titles(r->text, &f);
    for (uint32_t at = 0, n = 0; n < most && (c = next_change(change, &at)); n++) {
        if (a->view.json) {
            diff_class_json(&r->json, c);
            continue;
        }
        class_figures(a, c, &f), figures_put(r->text, &f, c->name, c->scope);
    }
}

/* Whether an option asks for a cut-off that diff of classes does not support. */
bool classes_cut(const arguments *a) {
    const hd_cutoff *c = &a->cut.cutoff;
    return c->min_bytes || c->min_share > 0 || c->min_parent_share > 0 || c->max_entries ||
           c->max_output_bytes;
}

/* Prints changes by class and, if ids match between the snapshots, object by object. */
int diff_objects(const arguments *a, const hd_dump *before, const hd_dump *after) {
    hd_graph_change *change;
    uint8_t *reached[2] = { NULL, NULL };
    const uint8_t *const *live = a->objects.live ? (const uint8_t *const *)reached : NULL;
    identity_pair pair = { .change = NULL };
    hd_total total;
    hd_error err;
    answer r;
    int status = DONE;
    if (a->objects.live && (!(reached[0] = reach(a->input.files[0], hd_dump_graph(before), &total)) ||
                    !(reached[1] = reach(a->input.files[1], hd_dump_graph(after), &total))))
        status = BAD_INPUT;
    if (!status) status = identity_open(a, before, after, live, &pair);
    if (!status && hd_graph_diff(hd_dump_graph(before), hd_dump_graph(after), live, NULL, &change, &err))
        status = failed(a->input.files[0], &err);
    else if (!status && (status = answer_open(&r, a, "classes")) != DONE) hd_graph_change_free(change);
    if (status) {
        hd_identity_change_free(pair.change);
        free(reached[0]), free(reached[1]);
        return status;
    }
    diff_classes(a, &r, change);
    if (a->view.json) {
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

/* Writes the dump unchanged if it already has the format, else its graph. A Dart snapshot gets the name of the only
   application domain, if there is one. */
static hd_status write_as(const arguments *a, const hd_dump *dump, const hd_format *format, hd_out out,
                          hd_error *err) {
    reading r = { .file = a->input.files[0] };
    hd_values values = hd_dump_values(dump);
    hd_options options = { .warning = on_warning, .warning_user = &r, .values = &values };
    const hd_netcf *netcf = hd_dump_netcf(dump);
    if (hd_dump_format(dump) == format) return hd_dump_write(dump, NULL, out, err);
    if (netcf && hd_netcf_domain_count(netcf) == 1 && format->is & HD_FORMAT_NAMED)
        return hd_dart_write_graph(hd_dump_graph(dump), hd_netcf_domain(netcf, 0).name, &options, out, err);
    return format->write_graph(hd_dump_graph(dump), &options, out, err);
}

int write_objects(const arguments *a, const hd_dump *dump, const hd_format *format) {
    output o;
    hd_error err;
    int status = output_open(&o, a->out.file);
    if (status) return status;
    return output_end(&o, a->out.file, NULL, write_as(a, dump, format, o.out, &err), &err);
}

/* Writes an object graph in one of the formats of object graphs. */
int convert_objects(const arguments *a, const hd_format *format) {
    objects o;
    int status;
    if (a->cut.has_cutoff) return usage("--to %s writes all objects: it takes no cut-off options", a->out.to);
    if (a->out.add_to) return usage("--add-to writes a trace: it does not go with --to %s", a->out.to);
    status = check_graph_options(a);
    if (!status) status = objects_open(a, a->input.files[0], false, &o);
    if (status) return status;
    status = write_objects(a, o.dump, format);
    if (!status) tell_lost_of_graph(a, o.dump, format);
    objects_close(&o);
    return status;
}
