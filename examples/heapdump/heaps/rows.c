/* rows: heaps as a table for SQL engines. */

#include "heaps.h"

#include <sys/stat.h>

/* A file. Its first reading gives the columns, its second the rows. */
typedef struct rows_file {
    bool bad;                    /* reported and left out */
    bool kept;                   /* `chosen` is in memory: the file is the only one, or can be read only once */
    chosen chosen;
} rows_file;

/* The whole command. */
typedef struct rows_run {
    const arguments *a;
    rows_file *files;
    hd_rows_writer *writer;
    const output *output;
    reading progress;
} rows_run;

static bool has_label(const arguments *a, const char *name) {
    for (int i = 0; i < a->input.label_count; i++)
        if (!strcmp(a->input.labels[i].name, name)) return true;
    return false;
}

/* The labels of the command line, the heap's other labels, and the file name as "profile". To be freed. */
static hd_label *labels_of(const arguments *a, const char *file, const hd_heap *heap, size_t *count) {
    size_t n = (size_t)a->input.label_count;
    hd_label *labels = needed(calloc(n + heap->label_count + 1, sizeof *labels));
    if (n) memcpy(labels, a->input.labels, n * sizeof *labels);
    for (size_t i = 0; i < heap->label_count; i++)
        if (!has_label(a, heap->labels[i].name)) labels[n++] = heap->labels[i];
    if (!has_label(a, "profile") && !hd_heap_label(heap, "profile"))
        labels[n++] = (hd_label){ "profile", input_name(file) };
    *count = n;
    return labels;
}

/* Adds columns for the heaps of a file, or writes their rows. */
static int each_heap(rows_run *r, const char *file, const hd_heap *heaps, size_t count, bool write) {
    hd_status status = HD_OK;
    hd_error err;
    for (size_t i = 0; i < count && !status; i++) {
        hd_heap heap = heaps[i];
        FREED hd_label *labels = labels_of(r->a, file, &heap, &heap.label_count);
        heap.labels = labels;
        status = write ? hd_rows_writer_add(r->writer, &heap, &err) : hd_rows_writer_columns(r->writer, &heap, &err);
    }
    if (!status) return DONE;
    if (!write || err.status != HD_IO) return failed(input_name(file), &err);
    display(stderr, "heapdump: %s: %s\n", output_name(r->a->out.file), output_error(r->output, &err));
    return BAD_INPUT;
}

static bool is_read_once(const char *file) {
    struct stat st;
    return !strcmp(file, "-") || stat(file, &st) || !S_ISREG(st.st_mode);
}

/* Finds the columns of a file. An unreadable file is left out. */
static int look_at(rows_run *r, int i) {
    rows_file *f = &r->files[i];
    int status = choose(r->a, r->a->input.files[i], &f->chosen);
    if (status) {
        f->bad = true;
        return status;
    }
    status = each_heap(r, r->a->input.files[i], f->chosen.heaps, f->chosen.count, false);
    f->bad = status != DONE;
    f->kept = !status && (r->a->input.file_count == 1 || is_read_once(r->a->input.files[i]));
    if (!f->kept) chosen_free(&f->chosen);
    return status;
}

/* Writes the rows of a file, with frames named. */
static int write_rows(rows_run *r, int i) {
    rows_file *f = &r->files[i];
    symbols names = { 0 };
    output_options as_rows = { .to = "rows" };
    hd_heap *named = NULL;
    size_t count = 0;
    int status = f->kept ? DONE : choose_quietly(r->a, r->a->input.files[i], &f->chosen);
    if (status) return status;
    f->kept = true;
    status = condense(f->chosen.heaps, f->chosen.count, &as_rows, &r->a->cut, &names, &named, &count);
    if (!status) status = each_heap(r, r->a->input.files[i], named, count, true);
    condensed_free(named, count);
    symbols_free(&names);
    chosen_free(&f->chosen);
    f->kept = false;
    return status;
}

/* The rows format that a file name asks for. */
const char *rows_named_by(const char *path) { return is_json_name(path) ? "rows-json" : "rows"; }

static int write_all(rows_run *r, output *o) {
    const arguments *a = r->a;
    hd_error err;
    int status = DONE;
    r->progress.doing = "writing rows";
    clock_gettime(CLOCK_MONOTONIC, &r->progress.began);
    for (int i = 0; i < a->input.file_count && !status; i++) {
        on_progress(&r->progress, (uint64_t)i, (uint64_t)a->input.file_count);
        if (!r->files[i].bad) status = write_rows(r, i);
    }
    progress_end();
    if (!status && hd_rows_writer_finish(r->writer, &err)) {
        display(stderr, "heapdump: %s\n", output_error(o, &err));
        status = BAD_INPUT;
    }
    return status;
}

/* Adds columns for the labels of the command line. */
static int take_labels(const rows_run *r) {
    hd_profile *none = needed(hd_profile_create(NULL, NULL));
    hd_heap heap = { .profile = none, .labels = r->a->input.labels, .label_count = (size_t)r->a->input.label_count };
    hd_error err;
    hd_status status = hd_rows_writer_columns(r->writer, &heap, &err);
    hd_profile_free(none);
    if (!status) return DONE;
    display(stderr, "heapdump: --label: %s\n", err.message);
    return WRONG_USAGE;
}

int run_rows(const arguments *a) {
    output o;
    hd_rows_form form = a->out.json_lines || is_json_name(a->out.file) ? HD_ROWS_JSON : HD_ROWS_CSV;
    rows_run r = { .a = a, .output = &o };
    int status = DONE, good = 0, bad = DONE;
    hd_error err;
    if (file_is_named(a)) return WRONG_USAGE;
    r.files = needed(calloc((size_t)a->input.file_count, sizeof *r.files));
    status = output_open(&o, a->out.file);
    if (status) return free(r.files), status;
    r.writer = needed(hd_rows_writer_create(form, o.out, NULL, &err));
    status = take_labels(&r);
    for (int i = 0; i < a->input.file_count && !status; i++) {
        bad |= look_at(&r, i);
        good += !r.files[i].bad;
        if (a->input.strict) status = bad;
    }
    if (!good && !status) status = BAD_INPUT;
    if (!status) status = write_all(&r, &o);
    for (int i = 0; i < a->input.file_count; i++)
        if (r.files[i].kept) chosen_free(&r.files[i].chosen);
    hd_rows_writer_free(r.writer);
    free(r.files);
    status = output_close(&o, a->out.file, status);
    return status ? status : bad;
}
