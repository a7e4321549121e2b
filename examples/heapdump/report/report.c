/* report: an HTML page about the files. build/report.html is part of the program, so that nothing must be installed
   where it runs. page.sh makes it from a drawing library, page.html, page.css and *.js. It is empty if the library
   was missing when the tool was built. */

#include "report.h"

enum { REPORT_BUDGET = 100000, LONG = 60, SHORT = 40 };

/* The page up to its data; ld includes the file in the program. */
extern const char report_page[] __asm__("_binary_report_html_start");
extern const char report_page_end[] __asm__("_binary_report_html_end");

uint32_t report_name(report *r, hd_str name) {
    uint32_t number;
    hd_error err;
    if (!name.len) return 0;
    if (hd_profile_node(r->names, 0, 0, name, &number, &err)) needed(NULL);
    return number;
}

void report_column(report *r, const char *key, const uint32_t *values, size_t count) {
    json_array(&r->json, key);
    for (size_t i = 0; i < count; i++) hd_json_i64(&r->json, values[i] == HD_NONE ? -1 : (int64_t)values[i]);
    hd_json_end(&r->json), hd_json_newline(&r->json);
}

void report_sizes(report *r, const char *key, const uint64_t *values, size_t count) {
    json_array(&r->json, key);
    for (size_t i = 0; i < count; i++) {
        if (values[i] == HD_UNKNOWN) hd_json_i64(&r->json, -1);
        else hd_json_u64(&r->json, values[i]);
    }
    hd_json_end(&r->json), hd_json_newline(&r->json);
}

/* Escapes '<', which JSON has only in strings, so that no name can end the HTML element with the data. */
static hd_status write_escaped(void *user, const void *data, size_t size) {
    const hd_out *out = user;
    const char *p = data, *end = p + size;
    while (p < end) {
        const char *sign = memchr(p, '<', (size_t)(end - p));
        size_t plain = (size_t)((sign ? sign : end) - p);
        hd_status status = plain ? out->write(out->user, p, plain) : HD_OK;
        if (!status && sign) status = out->write(out->user, "\\u003c", 6);
        if (status) return status;
        p += plain + (sign != NULL);
    }
    return HD_OK;
}

/* Writes all names, and shorter forms of long names. */
static void put_names(report *r) {
    hd_axis names = hd_profile_axis(r->names, 0);
    json_array(&r->json, "names");
    for (uint32_t i = 0; i < names.node_count; i++) hd_json_str(&r->json, names.node_name[i]);
    hd_json_end(&r->json);
    json_array(&r->json, "short");
    for (uint32_t i = 1; i < names.node_count; i++) {
        FREED char *name = NULL;
        if (columns_of(names.node_name[i]) <= LONG) continue;
        name = short_name(names.node_name[i], SHORT);
        hd_json_array(&r->json), hd_json_u64(&r->json, i), hd_json_cstr(&r->json, name), hd_json_end(&r->json);
    }
    hd_json_end(&r->json);
}

typedef int put_fn(report *r, const arguments *a, void *user);

/* Writes the data: the members of `from`, the files, and all used names. */
static int put_data(report *r, const arguments *a, hd_out *out, put_fn *from, void *user) {
    hd_profile_desc one_axis = { .axis_count = 1 };
    int status;
    r->budget = a->cut.cutoff.max_entries ? a->cut.cutoff.max_entries : REPORT_BUDGET;
    r->names = needed(hd_profile_create(&one_axis, NULL));
    hd_json_begin(&r->json, hd_out_callback(write_escaped, out));
    hd_json_object(&r->json);
    json_text(&r->json, "heapdump", hd_version());
    json_bool(&r->json, "counted", memprof_counted(a));
    json_array(&r->json, "files");
    for (int i = 0; i < a->input.file_count; i++) hd_json_cstr(&r->json, a->input.files[i]);
    hd_json_end(&r->json);
    status = from(r, a, user);
    put_names(r);
    hd_json_end(&r->json);
    hd_profile_free(r->names);
    return status;
}

static int put_page(const arguments *a, put_fn *from, void *user) {
    static const char end[] = "</script>\n";
    report r;
    output o;
    bool failed;                 /* writing failed, which output_close reports */
    int status = output_open(&o, a->out.file);
    if (status) return status;
    failed = o.out.write(o.out.user, report_page, (size_t)(report_page_end - report_page)) != HD_OK;
    status = put_data(&r, a, &o.out, from, user);
    failed |= hd_json_finish(&r.json) != HD_OK;
    failed |= o.out.write(o.out.user, end, sizeof end - 1) != HD_OK;
    status = output_close(&o, a->out.file, status);
    return failed && !status ? BAD_INPUT : status;
}

/* Heaps. --------------------------------------------------------------------------------------- */

static int put_heaps(report *r, const arguments *a, void *user) {
    int status = report_heaps(r, a, user, a->input.file_count);
    return !status && a->watch.pages ? report_pages(r, a) : status;
}

/* Writes a page of profiles, and frees the dumps. */
static int heaps_page(const arguments *a, hd_dump *const *dumps) {
    chosen files[2];
    int n = 0, status = DONE;
    for (int i = 0; i < a->input.file_count; i++) {
        if (status) hd_dump_free(dumps[i]);
        else if (!(status = choose_from(a, a->input.files[i], dumps[i], &files[n]))) n++;
    }
    if (!status) status = put_page(a, put_heaps, files);
    while (n--) chosen_free(&files[n]);
    return status;
}

/* Graphs. -------------------------------------------------------------------------------------- */

typedef struct graph_page {
    objects o;
    const hd_graph *before;
} graph_page;

static int put_graph(report *r, const arguments *a, void *user) {
    const graph_page *page = user;
    (void)a;
    return report_graph(r, &page->o, page->before);
}

/* Writes a page of snapshots, and frees the dumps. It shows the second of two files,
   with the classes of both. */
static int graphs_page(const arguments *a, hd_dump *const *dumps) {
    int last = a->input.file_count - 1;
    graph_page page = { .before = last ? hd_dump_graph(dumps[0]) : NULL };
    int status;
    page.o.file = a->input.files[last];
    page.o.dump = dumps[last];
    page.o.graph = hd_dump_graph(dumps[last]);
    status = dominate(page.o.file, page.o.graph, &page.o.dominators);
    if (!status) {
        status = put_page(a, put_graph, &page);
        hd_dominators_free(page.o.dominators);
    }
    for (int i = 0; i <= last; i++) hd_dump_free(dumps[i]);
    return status;
}

int run_report(const arguments *a) {
    hd_dump *dumps[2];
    int read = 0, graphs = 0;
    if (a->input.file_count > 2) return usage("report takes one file or two");
    if (!a->out.file && isatty(STDOUT_FILENO))
        return usage("report writes a page for a browser: use -o report.html");
    if (&report_page[0] == &report_page_end[0]) {
        display(stderr, "heapdump: built without the library of the page: install the Debian packages "
                "node-d3-hierarchy and node-d3-selection, and run make\n");
        return BAD_INPUT;
    }
    while (read < a->input.file_count && !read_dump(a->input.files[read], &a->input, &dumps[read]))
        graphs += hd_dump_graph(dumps[read++]) != NULL;
    if (graphs && a->watch.pages) {
        while (read--) hd_dump_free(dumps[read]);
        return usage("--pages is for profiles, not for snapshots");
    }
    if (graphs && check_graph_options(a)) {
        while (read--) hd_dump_free(dumps[read]);
        return WRONG_USAGE;
    }
    if (read == a->input.file_count && (!graphs || graphs == read))
        return graphs ? graphs_page(a, dumps) : heaps_page(a, dumps);
    if (read == a->input.file_count)
        display(stderr, "heapdump: one file is a profile, the other a snapshot of objects: make a page of each\n");
    while (read--) hd_dump_free(dumps[read]);
    return BAD_INPUT;
}
