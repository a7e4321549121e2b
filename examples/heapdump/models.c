/* Commands for several models: each opens its input, and calls the floor of that model. */

#include "models.h"
#include "heaps/heaps.h"
#include "memprof/memprof.h"
#include "objects/objects.h"

/* The format of the output. ---------------------------------------------------------------------- */

void written_defaults(arguments *a) {
    if (!a->out.to && !a->out.add_to) a->out.to = format_of_name(a->out.file);
}

/* convert. ------------------------------------------------------------------------------------- */

int run_convert(const arguments *a) {
    const hd_format *format = a->out.to ? format_named(a->out.to) : NULL;
    int status;
    if (!a->out.to && !a->out.add_to)
        return usage("convert needs --to FORMAT (%s), or -o FILE with an ending such as .folded, .pb.gz or .csv",
                     formats_written());
    if (a->input.file_count != 1) return usage("convert takes one file");
    if (file_is_named(a) || check_terminal(a->out.file, a->out.to)) return WRONG_USAGE;
    if (index_is_asked(a->out.to)) return run_index(a);
    if (yaml_is_asked(a->out.to)) return yaml_convert(a);
    status = index_check_none(a, format_is(a->out.to, FORMAT_RAW));
    if (status) return status;
    if (format_is(a->out.to, FORMAT_RAW)) return memprof_convert(a);
    if (format && format->write_graph) return convert_objects(a, format);
    return convert_heaps(a);
}

/* merge. --------------------------------------------------------------------------------------- */

/* The first readable file, which decides the kind of merge. Unreadable files are left out later. */
static const char *first_readable(const arguments *a) {
    uint8_t first[HD_DETECT_FIRST];
    for (int i = 0; i < a->input.file_count; i++)
        if (input_is_pipe(a->input.files[i]) || input_look(a->input.files[i], false, first)) return a->input.files[i];
    return a->input.files[0];
}

int run_merge(const arguments *a) {
    bool is_index, is_raw;
    int status;
    if (file_is_named(a)) return WRONG_USAGE;
    if (yaml_is_asked(a->out.to)) return yaml_merge(a);
    is_index = index_is_merged(a);
    is_raw = !is_index && (format_is(a->out.to, FORMAT_RAW) ||
                           (!a->out.to && !a->out.add_to && memprof_begins(a, first_readable(a), true)));
    status = check_terminal(a->out.file, is_index ? "memprof-index" : is_raw ? "memprof-raw" : a->out.to);
    if (!status && !is_index) status = index_check_none(a, is_raw);
    if (status) return status;
    return is_index ? index_merge(a) : is_raw ? memprof_merge(a) : merge_heaps(a);
}

/* diff. ---------------------------------------------------------------------------------------- */

void diff_defaults(arguments *a) { a->view.hide = a->view.once = a->heaps.live_kind = true; }

int run_diff(const arguments *a) {
    hd_dump *before, *after = NULL;
    int status;
    if (a->input.file_count > 2) return usage("diff takes one file or two");
    status = read_dump(a->input.files[0], &a->input, &before);
    if (status) return status;
    if (a->input.file_count == 2 && read_dump(a->input.files[1], &a->input, &after)) {
        hd_dump_free(before);
        return BAD_INPUT;
    }
    if (!hd_dump_graph(before) && !(after && hd_dump_graph(after)) && !a->objects.live)
        return diff_heaps(a, before, after);
    if (after && hd_dump_graph(before) && hd_dump_graph(after)) {
        status = classes_cut(a) ? usage("a list of classes takes only --top of the cut-off options")
                                : check_graph_options(a);
        if (!status) status = diff_objects(a, before, after);
    } else if (after || !hd_dump_graph(before)) {
        const hd_dump *other = hd_dump_graph(before) ? after : before;
        display(stderr, "heapdump: %s (%s) is a profile, not a snapshot of objects: %s\n",
                a->input.files[other == after ? 1 : 0], hd_dump_format(other)->name,
                a->objects.live ? "--live needs snapshots" : "a snapshot is compared with a snapshot");
        status = BAD_INPUT;
    } else {
        display(stderr, "heapdump: %s: expected a second snapshot to compare with\n", a->input.files[0]);
        status = BAD_INPUT;
    }
    hd_dump_free(before);
    hd_dump_free(after);
    return status;
}

/* info. ---------------------------------------------------------------------------------------- */

static int info_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a) {
    size_t n = hd_dump_heap_count(dump);
    display(out, "%s: %s", file, hd_dump_format(dump)->name);
    if (hd_dump_graph(dump)) {
        fputc('\n', out);
        if (hd_dump_netcf(dump)) netcf_info(a, out, dump);
        else graph_info_text(a, out, dump, hd_dump_graph(dump));
        return hd_dump_dart(dump) ? dart_info_text(a, file, out, dump)
                                  : info_facts_text(out, file, dump);
    }
    display(out, ", %zu heap%s\n", n, n == 1 ? "" : "s");
    if (hd_dump_memprof(dump)) memprof_info_text(out, hd_dump_memprof(dump));
    if (hd_dump_memprof_index(dump) && index_info_text(out, file, hd_dump_memprof_index(dump)))
        return BAD_INPUT;
    return info_heaps_text(out, file, dump, a);
}

static int info_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a) {
    int status = DONE;
    json_line(j);
    json_text(j, "file", file);
    json_text(j, "format", hd_dump_format(dump)->name);
    json_u64(j, "warnings", hd_dump_warning_count(dump));
    if (hd_dump_graph(dump)) graph_info_json(j, hd_dump_graph(dump), hd_dump_dart(dump) != NULL);
    if (hd_dump_netcf(dump)) netcf_info_json(j, hd_dump_netcf(dump));
    if (hd_dump_dart(dump)) status = dart_info_json(file, j, dump);
    if (hd_dump_memprof(dump)) memprof_info_json(j, hd_dump_memprof(dump));
    if (hd_dump_memprof_index(dump)) status = index_info_json(j, file, hd_dump_memprof_index(dump));
    if (info_heaps_json(j, file, dump, a)) status = BAD_INPUT;
    hd_json_end(j);
    return status;
}

int run_info(const arguments *a) {
    screen s = screen_of(a);
    const char *file = NULL;     /* the last file with heaps or objects */
    answer r;
    int status = answer_open(&r, a, "files");
    if (status) return status;
    for (int i = 0; i < a->input.file_count; i++) {
        hd_dump *dump;
        if (read_dump(a->input.files[i], &a->input, &dump)) {
            status = BAD_INPUT;
            continue;
        }
        if (a->view.json ? info_json(&r.json, a->input.files[i], dump, a)
                         : info_text(r.text, a->input.files[i], dump, a))
            status = BAD_INPUT;
        else if (!a->view.json && (hd_dump_graph(dump) || hd_dump_heap_count(dump))) file = a->input.files[i];
        hd_dump_free(dump);
    }
    if (file) put_next(r.text, &s, a, "find leaks and the largest holders", "suspects", file, NULL);
    return answer_close(&r, DONE) ? BAD_INPUT : status;
}

/* suspects. ------------------------------------------------------------------------------------ */

static void put_lines_wrapped(FILE *out, const arguments *a, char *text) {
    screen s = screen_of(a);
    for (char *one; (one = strsep(&text, "\n")) != NULL && (text || *one);)
        put_wrapped(out, one, a->cut.all ? 0 : s.columns);
}

static void put_proposal(FILE *out, const arguments *a, proposal *p) {
    screen s = screen_of(a);
    if (p->name && p->kind)
        put_next(out, &s, a, p->purpose, p->command, "--kind", p->kind, p->option, p->name, p->file, NULL);
    else if (p->name)
        put_next(out, &s, a, p->purpose, p->command, p->option, p->name, p->file, NULL);
    free(p->name);
}

void suspects_defaults(arguments *a) { a->heaps.live_kind = true, a->heaps.last_dump = a->view.frames_hidden; }

int run_suspects(const arguments *a) {
    FREED hd_dump **dumps = needed(calloc((size_t)a->input.file_count, sizeof *dumps));
    FREED chosen *c = needed(calloc((size_t)a->input.file_count, sizeof *c));
    int graphs = 0, read = 0, chose = 0, status = DONE;
    answer r;
    if (a->view.frames_hidden) return run_hidden(a);
    for (; read < a->input.file_count && !status; read++) {
        status = read_dump(a->input.files[read], &a->input, &dumps[read]);
        if (!status) graphs += hd_dump_graph(dumps[read]) != NULL;
        else dumps[read--] = NULL;
    }
    if (!status && graphs) status = check_graph_options(a);
    if (!status && graphs && graphs < read) {
        display(stderr, "heapdump: some files are profiles, others are snapshots of objects: expected one kind\n");
        status = BAD_INPUT;
    }
    if (!status && !graphs)
        for (; chose < read && !status; chose++) {
            status = choose_from(a, a->input.files[chose], dumps[chose], &c[chose]);
            dumps[chose] = NULL;
            if (status) chose--;
        }
    if (!status) status = answer_open(&r, a, graphs ? "graphs" : "series");
    if (!status) {
        FREED char *text = NULL;
        size_t size;
        FILE *to = r.text;
        proposal next = { .name = NULL };
        int bad;
        r.text = needed(open_memstream(&text, &size));
        bad = graphs ? suspects_of_graphs(a, dumps, read, &r, &next)
                     : suspects_of_heaps(a, c, chose, &r, &next);
        closed_text(r.text, &text);
        r.text = to;
        put_lines_wrapped(to, a, text);
        if (!a->view.json) put_proposal(to, a, &next);
        else free(next.name);
        status = answer_close(&r, DONE) || bad ? BAD_INPUT : DONE;
    }
    for (int i = 0; i < chose; i++) chosen_free(&c[i]);
    for (int i = 0; i < a->input.file_count; i++) hd_dump_free(dumps[i]);
    return status;
}
