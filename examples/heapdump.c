/* heapdump: looks into heap dumps, and records programs to have one. See `heapdump --help`. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAPDUMP_IMPLEMENTATION
#define HEAPDUMP_STATIC
#include "../heapdump.h"
#include "program.h"
#include "symbols.h"

enum { DONE = 0, BAD_INPUT = 1, WRONG_USAGE = 2 };

static const char help[] =
    "heapdump - looks into heap dumps, and records programs to have one\n"
    "\n"
    "usage: heapdump COMMAND [OPTIONS] FILE...       (- is standard input)\n"
    "\n"
    "  record    run a program and write its heap: what is live, and who allocated it\n"
    "  tree      print a breakdown: where the memory is\n"
    "  info      list what a file holds: processes, dumps, allocators\n"
    "  convert   write another format, condensed\n"
    "\n"
    "`heapdump COMMAND --help` lists the options of a command.\n"
    "\n"
    "examples:\n"
    "  heapdump record -- sqlite3 app.db '.schema'    # writes heapdump.sqlite3.PID.json\n"
    "  heapdump tree --min-share 0.01 heapdump.sqlite3.1234.json\n"
    "  heapdump tree --by type --json trace.json | jq .\n"
    "  heapdump record --at every=10 --sample 512k -o server.json -- ./server\n"
    "  heapdump convert --to chrome --top 20 -o small.json big.json\n"
    "\n"
    "exit status: 0 done, 1 the input is bad, 2 wrong usage; `record` ends as the program ended\n";

static const char cutoff_help[] =
    "  --min-bytes N          list what holds at least N bytes (k, M, G: times 1024)\n"
    "  --min-share F          list what holds at least this share of the total, 0 to 1\n"
    "  --min-parent-share F   list what holds at least this share of its parent\n"
    "  --top K                list the K largest of each breakdown\n";

static const char select_help[] =
    "  --pid N, --dump ID, --allocator NAME   only these heaps\n"
    "  --strict               stop at the first malformed piece instead of leaving it out\n"
    "  -o, --output FILE      write here instead of standard output\n";

/* Options that all commands take. */
typedef struct arguments {
    hd_cutoff cutoff;
    bool has_cutoff, json, strict, every_route, exact;
    const char *output, *to, *by, *at;
    const char *dump, *allocator;
    uint64_t pid;
    bool has_pid, stats;
    uint32_t depth;
    uint64_t sample_bytes;       /* record: 0 for all */
    char **files;                /* what stands after the options */
    int file_count;
} arguments;

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...) {
    va_list args;
    fputs("heapdump: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see heapdump --help\n", stderr);
    return WRONG_USAGE;
}

static void complain(const char *file, const hd_error *err, const char *kind) {
    fprintf(stderr, "heapdump: %s: ", file);
    if (err->offset != HD_UNKNOWN) fprintf(stderr, "offset %llu: ", (unsigned long long)err->offset);
    fprintf(stderr, "%s%s", kind, err->message);
    if (err->line > 1) fprintf(stderr, " (line %llu)", (unsigned long long)err->line);
    fputc('\n', stderr);
}

/* Reading: warnings and, on a terminal, progress go to stderr. --------------------------------- */

typedef struct reading {
    const char *file;
    unsigned long long warnings;
    struct timespec began;
    bool shown;
} reading;

static void on_warning(void *user, const hd_error *warning) {
    reading *r = user;
    if (++r->warnings <= 20) complain(r->file, warning, "warning: ");
}

static bool on_progress(void *user, uint64_t done, uint64_t total) {
    reading *r = user;
    struct timespec now;
    if (!isatty(STDERR_FILENO)) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - r->began.tv_sec < 1) return true;
    if (total != HD_UNKNOWN && total)
        fprintf(stderr, "\rreading %s: %3.0f%%", r->file, 100.0 * (double)done / (double)total);
    else fprintf(stderr, "\rreading %s: %llu MiB", r->file, (unsigned long long)(done >> 20));
    r->shown = true;
    return true;
}

static int64_t read_stdin(void *user, void *buffer, size_t capacity) {
    ssize_t n;
    (void)user;
    do n = read(STDIN_FILENO, buffer, capacity);
    while (n < 0 && errno == EINTR);
    return n;
}

static int read_dump(const char *file, const arguments *a, hd_dump **dump) {
    reading r = { .file = strcmp(file, "-") ? file : "standard input" };
    hd_options options = {
        .lenient = !a->strict, .warning = on_warning, .progress = on_progress, .user = &r
    };
    hd_error err;
    hd_status status;
    clock_gettime(CLOCK_MONOTONIC, &r.began);
    status = strcmp(file, "-") ? hd_read_file(file, &options, dump, &err)
                               : hd_read(hd_in_callback(read_stdin, NULL), &options, dump, &err);
    if (r.shown) fputs("\r\033[K", stderr);
    if (r.warnings > 20) fprintf(stderr, "heapdump: %s: %llu more warnings\n", r.file, r.warnings - 20);
    if (!status && r.warnings && !hd_dump_heap_count(*dump)) {
        fprintf(stderr, "heapdump: %s: nothing could be read\n", r.file);
        hd_dump_free(*dump);
        return BAD_INPUT;
    }
    if (!status) return DONE;
    complain(r.file, &err, "");
    return BAD_INPUT;
}

static bool selected(const arguments *a, const hd_heap *heap) {
    if (a->has_pid && heap->pid != a->pid) return false;
    if (a->dump && (!heap->dump || strcmp(heap->dump, a->dump))) return false;
    return !a->allocator || (heap->allocator && !strcmp(heap->allocator, a->allocator));
}

/* Output: standard output, or a file that appears when it is whole. ----------------------------- */

typedef struct output {
    hd_file file;
    bool is_file;
    hd_out out;
} output;

static int output_open(output *o, const char *path) {
    hd_error err;
    signal(SIGXFSZ, SIG_IGN);    /* a file over the limit is a failed write like others */
    o->is_file = path && strcmp(path, "-");
    if (!o->is_file) {
        o->out = hd_out_file(stdout);
        return DONE;
    }
    if (hd_file_create(path, &o->file, &err)) {
        fprintf(stderr, "heapdump: %s\n", err.message);
        return BAD_INPUT;
    }
    o->out = hd_file_out(&o->file);
    return DONE;
}

static int output_close(output *o, const char *path, int status) {
    hd_error err;
    if (o->is_file) {
        if (status) hd_file_discard(&o->file);
        else if (hd_file_commit(&o->file, &err)) {
            fprintf(stderr, "heapdump: %s\n", err.message);
            status = BAD_INPUT;
        }
    } else if ((fflush(stdout) || ferror(stdout)) && !status) {
        fprintf(stderr, "heapdump: %s: %s\n", path ? path : "standard output", strerror(errno));
        status = BAD_INPUT;
    }
    return status;
}

/* tree ----------------------------------------------------------------------------------------- */

static void json_text(hd_json *j, const char *key, const char *value) {
    hd_json_key(j, key);
    if (value) hd_json_cstr(j, value);
    else hd_json_null(j);
}

static void json_known(hd_json *j, const char *key, uint64_t value) {
    hd_json_key(j, key);
    if (value == HD_UNKNOWN) hd_json_null(j);
    else hd_json_u64(j, value);
}

static void json_label(hd_json *j, const hd_heap *heap) {
    hd_json_key(j, "pid"), hd_json_u64(j, heap->pid);
    json_text(j, "process", heap->process);
    json_text(j, "dump", heap->dump);
    hd_json_key(j, "time_us"), hd_json_u64(j, heap->time_us);
    json_text(j, "allocator", heap->allocator);
    hd_json_key(j, "sample_bytes"), hd_json_u64(j, heap->sample_bytes);
}

static hd_status json_row(void *user, const hd_tree_row *row) {
    hd_json *j = user;
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "depth"), hd_json_u64(j, row->depth);
    json_text(j, "axis", row->depth ? row->breakdown->axis[row->axis].name : NULL);
    hd_json_key(j, "name"), hd_json_str(j, row->name);
    hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
    json_known(j, "blocks", row->blocks);
    if (row->variance > 0) hd_json_key(j, "error"), hd_json_u64(j, hd_standard_error(row->variance));
    hd_json_end(j);
    return HD_OK;
}

static int axis_of(const char *name, uint32_t *axis) {
    if (!name || !strcmp(name, "backtrace")) *axis = HD_AXIS_BACKTRACE;
    else if (!strcmp(name, "type")) *axis = HD_AXIS_TYPE;
    else return usage("--by takes backtrace or type, not '%s'", name);
    return DONE;
}

/* One heap as text or JSON. */
static hd_status tree_heap(const arguments *a, uint32_t axis, const hd_heap *heap, hd_json *j, hd_out out) {
    hd_tree_options options = {
        .cutoff = a->cutoff, .first_axis = axis, .every_route = a->every_route, .units = !a->exact
    };
    hd_status status;
    if (!a->has_cutoff) options.cutoff.min_share = 0.01;
    if (!a->json) return hd_print_tree(heap, &options, out);
    hd_json_object(j);
    json_label(j, heap);
    hd_json_key(j, "rows"), hd_json_array(j);
    status = hd_tree(heap, &options, json_row, j, NULL);
    hd_json_end(j), hd_json_end(j);
    return status;
}

static int tree_file(const arguments *a, uint32_t axis, const char *file, hd_json *j, hd_out out,
                     bool *first) {
    hd_dump *dump;
    hd_status failed = HD_OK;
    int status = read_dump(file, a, &dump);
    bool any = false;
    if (status) return status;
    for (size_t i = 0; i < hd_dump_heap_count(dump) && !failed; i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        if (!selected(a, heap)) continue;
        if (!*first && !a->json) out.write(out.user, "\n", 1);
        *first = false;
        any = true;
        failed = tree_heap(a, axis, heap, j, out);
    }
    if (failed) fprintf(stderr, "heapdump: %s: %s\n", file, hd_status_text(failed));
    else if (!any)
        fprintf(stderr, "heapdump: %s: no heap dump%s\n", file,
                hd_dump_heap_count(dump) ? " matches" : " in it");
    hd_dump_free(dump);
    return failed || !any ? BAD_INPUT : DONE;
}

static int tree(const arguments *a) {
    hd_json *j = malloc(sizeof *j);
    output o;
    uint32_t axis = 0;
    bool first = true;
    int status = axis_of(a->by, &axis);
    if (!status) status = j ? output_open(&o, a->output) : BAD_INPUT;
    if (status) {
        free(j);
        return status;
    }
    hd_json_begin(j, o.out);
    if (a->json) hd_json_object(j), hd_json_key(j, "heaps"), hd_json_array(j);
    for (int i = 0; i < a->file_count; i++) {
        int one = tree_file(a, axis, a->files[i], j, o.out, &first);
        if (one) status = one;
    }
    if (a->json) {
        hd_json_end(j), hd_json_end(j), hd_json_newline(j);
        if (hd_json_finish(j)) status = BAD_INPUT;
    }
    free(j);
    /* What was read is shown even when another file was bad. */
    return first ? output_close(&o, a->output, status)
                 : (output_close(&o, a->output, DONE) ? BAD_INPUT : status);
}

/* info ----------------------------------------------------------------------------------------- */

static void info_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a) {
    fprintf(out, "%s: %s, %zu heap%s\n", file, hd_format_name(hd_dump_format(dump)), hd_dump_heap_count(dump),
            hd_dump_heap_count(dump) == 1 ? "" : "s");
    if (hd_dump_heap_count(dump))
        fprintf(out, "%10s  %-16s %-12s %12s  %-16s %14s %10s  %s\n", "pid", "process", "dump", "time",
                "allocator", "bytes", "blocks", "holds");
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        uint64_t bytes, blocks = 0;
        uint32_t rows;
        char count[24] = "-", sampled[48] = "";
        if (!selected(a, heap)) continue;
        if (heap->breakdown) {
            bytes = heap->breakdown->entries.bytes[0];
            blocks = heap->breakdown->entries.blocks[0];
            rows = heap->breakdown->entries.count;
        } else {
            bytes = hd_profile_bytes(heap->profile);
            blocks = hd_profile_blocks(heap->profile);
            rows = hd_profile_cells(heap->profile).count;
        }
        if (blocks != HD_UNKNOWN) snprintf(count, sizeof count, "%llu", (unsigned long long)blocks);
        if (heap->sample_bytes) snprintf(sampled, sizeof sampled, ", sampled every %llu bytes",
                                         (unsigned long long)heap->sample_bytes);
        fprintf(out, "%10llu  %-16s %-12s %10.3f s  %-16s %14llu %10s  %u %s%s\n",
                (unsigned long long)heap->pid, heap->process ? heap->process : "-",
                heap->dump ? heap->dump : "-", (double)heap->time_us / 1e6, heap->allocator,
                (unsigned long long)bytes, count, rows, heap->breakdown ? "entries" : "contexts", sampled);
    }
}

static void info_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a) {
    hd_json_newline(j);
    hd_json_object(j);
    json_text(j, "file", file);
    json_text(j, "format", hd_format_name(hd_dump_format(dump)));
    hd_json_key(j, "warnings"), hd_json_u64(j, hd_dump_warning_count(dump));
    hd_json_key(j, "heaps"), hd_json_array(j);
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        if (!selected(a, heap)) continue;
        hd_json_newline(j);
        hd_json_object(j);
        json_label(j, heap);
        hd_json_key(j, "bytes");
        hd_json_u64(j, heap->breakdown ? heap->breakdown->entries.bytes[0] : hd_profile_bytes(heap->profile));
        json_known(j, "blocks",
                   heap->breakdown ? heap->breakdown->entries.blocks[0] : hd_profile_blocks(heap->profile));
        hd_json_key(j, heap->breakdown ? "entries" : "contexts");
        hd_json_u64(j,
                    heap->breakdown ? heap->breakdown->entries.count : hd_profile_cells(heap->profile).count);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j);
}

static hd_status write_stream(void *user, const void *data, size_t size) {
    return ((hd_out *)user)->write(((hd_out *)user)->user, data, size);
}

static ssize_t cookie_write(void *cookie, const char *data, size_t size) {
    return write_stream(cookie, data, size) ? -1 : (ssize_t)size;
}

static int info(const arguments *a) {
    hd_json *j = malloc(sizeof *j);
    output o;
    FILE *text;
    int status = j ? output_open(&o, a->output) : BAD_INPUT;
    if (status) {
        free(j);
        return status;
    }
    text = fopencookie(&o.out, "w", (cookie_io_functions_t){ .write = cookie_write });
    hd_json_begin(j, o.out);
    if (a->json) hd_json_object(j), hd_json_key(j, "files"), hd_json_array(j);
    for (int i = 0; i < a->file_count; i++) {
        hd_dump *dump;
        if (read_dump(a->files[i], a, &dump)) {
            status = BAD_INPUT;
            continue;
        }
        if (a->json) info_json(j, a->files[i], dump, a);
        else if (text) info_text(text, a->files[i], dump, a);
        hd_dump_free(dump);
    }
    if (a->json) hd_json_end(j), hd_json_end(j), hd_json_newline(j);
    if ((a->json && hd_json_finish(j)) || !text || fclose(text)) status = BAD_INPUT;
    free(j);
    return output_close(&o, a->output, DONE) ? BAD_INPUT : status;
}

/* convert -------------------------------------------------------------------------------------- */

/* Condenses the chosen heaps of a dump; what comes back is freed with breakdowns_free. */
static int condense(hd_dump *const *dumps, size_t dump_count, const arguments *a, symbols *names,
                    hd_heap **heaps, size_t *count) {
    size_t all = 0;
    hd_error err;
    *count = 0;
    for (size_t d = 0; d < dump_count; d++) all += hd_dump_heap_count(dumps[d]);
    *heaps = calloc(all ? all : 1, sizeof **heaps);
    if (!*heaps) return BAD_INPUT;
    for (size_t d = 0; d < dump_count; d++)
        for (size_t i = 0; i < hd_dump_heap_count(dumps[d]); i++) {
            hd_heap heap = *hd_dump_heap(dumps[d], i);
            hd_profile *named = NULL;
            hd_breakdown *breakdown;
            hd_status status = HD_OK;
            if (!selected(a, &heap)) continue;
            if (heap.profile && names) {
                status = hd_profile_rename(heap.profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL,
                                           &named, &err);
                if (named) heap.profile = named;
            }
            if (!status) status = hd_heap_break_down(&heap, &a->cutoff, NULL, &breakdown, &err);
            hd_profile_free(named);
            if (status) {
                fprintf(stderr, "heapdump: %s\n", err.message);
                return BAD_INPUT;
            }
            heap.profile = NULL;
            heap.breakdown = breakdown;
            (*heaps)[(*count)++] = heap;
        }
    return DONE;
}

static void breakdowns_free(hd_heap *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) hd_breakdown_free((hd_breakdown *)(uintptr_t)heaps[i].breakdown);
    free(heaps);
}

static int write_heaps(const hd_heap *heaps, size_t count, const char *path) {
    output o;
    hd_error err;
    int status = output_open(&o, path);
    if (status) return status;
    if (hd_chrome_write(heaps, count, NULL, o.out, &err)) {
        fprintf(stderr, "heapdump: %s: %s\n", path ? path : "standard output",
                o.is_file && o.file.os_error ? strerror(o.file.os_error) : err.message);
        status = BAD_INPUT;
    }
    return output_close(&o, path, status);
}

static int convert(const arguments *a) {
    symbols names = { 0 };
    hd_dump *dump;
    hd_heap *heaps = NULL;
    size_t count = 0;
    int status;
    if (!a->to) return usage("convert needs --to FORMAT (chrome)");
    if (strcmp(a->to, "chrome")) return usage("convert writes chrome, not '%s'", a->to);
    if (a->file_count != 1) return usage("convert takes one file");
    status = read_dump(a->files[0], a, &dump);
    if (status) return status;
    status = condense(&dump, 1, a, &names, &heaps, &count);
    if (!status && !count && hd_dump_heap_count(dump)) {
        fprintf(stderr, "heapdump: %s: no heap dump matches\n", a->files[0]);
        status = BAD_INPUT;
    }
    if (!status) status = write_heaps(heaps, count, a->output);
    breakdowns_free(heaps, count);
    symbols_free(&names);
    hd_dump_free(dump);
    return status;
}

/* record --------------------------------------------------------------------------------------- */

/* A file of the spool, PID.STARTED.NUMBER.PROGRAM.json: a process that executes another program starts
   again. */
typedef struct spooled {
    char *name;
    const char *program;         /* in name, ".json" after it */
    unsigned long pid, started, number;
} spooled;

static int spooled_order(const void *a, const void *b) {
    const spooled *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->started != y->started) return x->started < y->started ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static size_t spool_list(const char *spool, spooled **files) {
    DIR *d = opendir(spool);
    struct dirent *e;
    size_t n = 0;
    *files = NULL;
    while (d && (e = readdir(d))) {
        spooled f = { 0 }, *grown;
        size_t length = strlen(e->d_name);
        char *dot;
        f.pid = strtoul(e->d_name, &dot, 10);
        if (*dot != '.' || length < 5 || strcmp(e->d_name + length - 5, ".json")) continue;
        f.started = strtoul(dot + 1, &dot, 10);
        if (*dot != '.') continue;
        f.number = strtoul(dot + 1, &dot, 10);
        if (*dot != '.') continue;
        f.name = strdup(e->d_name);
        grown = realloc(*files, (n + 1) * sizeof *grown);
        if (!f.name || !grown) {
            free(f.name);
            break;
        }
        f.program = f.name + (dot + 1 - e->d_name);
        *files = grown;
        (*files)[n++] = f;
    }
    if (d) closedir(d);
    if (n) qsort(*files, n, sizeof **files, spooled_order);
    return n;
}

static char *spool_path(const char *spool, const spooled *f) {
    char *path;
    return asprintf(&path, "%s/%s", spool, f->name) < 0 ? NULL : path;
}

/* Where a heap goes: heapdump.PROGRAM.PID.json, or -o FILE for the program itself and FILE with
   .PROGRAM.PID in front of its ending for its children; .IMAGE follows the PID of what a process was
   before it executed another program. */
static char *record_path(const arguments *a, const spooled *f, bool is_main, unsigned image) {
    char *path = NULL, suffix[16] = "";
    int program = (int)strlen(f->program) - 5, failed;
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    if (dot && strchr(dot, '/')) dot = NULL;
    if (image) snprintf(suffix, sizeof suffix, ".%u", image);
    if (!a->output) failed = asprintf(&path, "heapdump.%.*s.%lu%s.json", program, f->program, f->pid, suffix);
    else if (is_main) failed = asprintf(&path, "%s", a->output);
    else
        failed = asprintf(&path, "%.*s.%.*s.%lu%s%s", dot ? (int)(dot - a->output) : (int)strlen(a->output),
                          a->output, program, f->program, f->pid, suffix, dot ? dot : "");
    return failed < 0 ? NULL : path;
}

/* The dumps of one process: read, resolved, condensed, written as one trace. */
static int record_process(const arguments *a, const char *spool, const spooled *files, size_t n, bool is_main,
                          unsigned image, symbols *names) {
    hd_dump **dumps = calloc(n, sizeof *dumps);
    hd_heap *heaps = NULL;
    size_t count = 0, read = 0;
    char *out = record_path(a, files, is_main, image);
    int status = dumps && out ? DONE : BAD_INPUT;
    for (size_t i = 0; i < n && !status; i++) {
        char *path = spool_path(spool, &files[i]);
        status = path ? read_dump(path, a, &dumps[read]) : BAD_INPUT;
        free(path);
        if (!status) read++;
    }
    if (!status) status = condense(dumps, read, a, names, &heaps, &count);
    if (!status) status = write_heaps(heaps, count, out);
    if (!status) {
        const hd_rows *last = &heaps[count - 1].breakdown->entries;
        fprintf(stderr, "heapdump: wrote %s: %s%llu bytes in %llu blocks live%s\n", out,
                heaps[0].sample_bytes ? "about " : "", (unsigned long long)last->bytes[0],
                (unsigned long long)last->blocks[0], count > 1 ? " in the last of its dumps" : "");
        if (!last->blocks[0])
            fprintf(stderr, "heapdump: %s: nothing is live%s, or the program brings an allocator of its own\n",
                    out, heaps[0].sample_bytes ? " of what was sampled" : "");
    }
    breakdowns_free(heaps, count);
    for (size_t i = 0; i < read; i++) hd_dump_free(dumps[i]);
    free(dumps);
    free(out);
    return status;
}

/* --stats: what the recorders left of themselves in the spool, one text a process image. */
static void show_stats(const char *spool) {
    DIR *d = opendir(spool);
    struct dirent *e;
    char path[PATH_MAX + 256], text[4096];
    while (d && (e = readdir(d))) {
        FILE *f;
        size_t length = strlen(e->d_name), n;
        if (length < 6 || strcmp(e->d_name + length - 6, ".stats")) continue;
        snprintf(path, sizeof path, "%s/%s", spool, e->d_name);
        f = fopen(path, "r");
        while (f && (n = fread(text, 1, sizeof text, f)) > 0) fwrite(text, 1, n, stderr);
        if (f) fclose(f);
        unlink(path);
    }
    if (d) closedir(d);
}

static void why_no_dump(const arguments *a, int status) {
    const char *why = "was it started with a cleared environment, or did it end without its libc?";
    if (WIFSIGNALED(status))
        fprintf(stderr, "heapdump: the program left no dump: killed by signal %d (%s); --at every or --at signal "
                "dump before that\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "heapdump: the program left no dump: %s\n",
                a->at && !strncmp(a->at, "signal", 6) ? "it never got the signal" : why);
}

/* A link PID.STARTED.missing to the error for which a dump of the process is missing; 0 is none. */
static int missing_dump(const char *spool, const char *path, pid_t pid) {
    char error[16];
    ssize_t n = readlink(path, error, sizeof error - 1);
    error[n > 0 ? n : 0] = 0;
    unlink(path);
    if (atoi(error))
        fprintf(stderr, "heapdump: process %ld could not write a dump into %s: %s\n", (long)pid, spool,
                strerror(atoi(error)));
    else
        fprintf(stderr, "heapdump: process %ld left no dump at its end: a signal handler ended it inside "
                "malloc\n", (long)pid);
    return atoi(error) ? BAD_INPUT : DONE;
}

/* What is in the spool beside dumps: links that tell of missing ones, and files that processes were
   writing when they were killed. *told: why there is no dump of main_pid. */
static int spool_clean(const char *spool, pid_t main_pid, bool *told) {
    DIR *d = opendir(spool);
    struct dirent *e;
    int status = DONE;
    *told = false;
    while (d && (e = readdir(d))) {
        char path[PATH_MAX + 256];
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        const char *dot = strrchr(e->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", spool, e->d_name);
        if (dot && !strcmp(dot, ".tmp") && kill(pid, 0) && errno == ESRCH) unlink(path);
        if (!dot || strcmp(dot, ".missing")) continue;
        if (missing_dump(spool, path, pid)) status = BAD_INPUT;
        *told |= pid == main_pid;
    }
    if (d) closedir(d);
    return status;
}

/* Resolves all that was recorded, then takes the spool away, but for what could not be written; a
   child that ends later finds it gone and writes where it stands. */
static int record_finish(const arguments *a, const char *spool, pid_t main_pid, int ended) {
    char taken[PATH_MAX];
    symbols names = { 0 };
    spooled *files;
    size_t n;
    int status = DONE;
    unsigned image = 0;
    bool any = false, told;
    snprintf(taken, sizeof taken, "%s-taken", spool);
    if (!rename(spool, taken)) spool = taken; /* from here on nothing is added */
    n = spool_list(spool, &files);
    for (size_t i = 0, k; i < n; i = k) {
        bool is_last, is_main = files[i].pid == (unsigned long)main_pid;
        for (k = i + 1; k < n && files[k].pid == files[i].pid && files[k].started == files[i].started; k++) {}
        is_last = k == n || files[k].pid != files[i].pid;
        any |= is_main;
        if (record_process(a, spool, files + i, k - i, is_main && is_last, is_last ? 0 : ++image, &names)) {
            status = BAD_INPUT;
        } else {
            for (size_t f = i; f < k; f++) {
                char *path = spool_path(spool, &files[f]);
                if (path) unlink(path);
                free(path);
            }
        }
        if (is_last) image = 0;
    }
    if (spool_clean(spool, main_pid, &told)) status = BAD_INPUT;
    if (!any && !told) why_no_dump(a, ended);
    show_stats(spool);
    for (size_t i = 0; i < n; i++) free(files[i].name);
    free(files);
    symbols_free(&names);
    if (rmdir(spool)) fprintf(stderr, "heapdump: what was recorded is left in %s\n", spool);
    return status;
}

/* The recorder: beside this program, or where it is installed. */
static bool find_recorder(char path[PATH_MAX]) {
    static const char *const places[] = { "/libheapdump_record.so", "/../lib/libheapdump_record.so" };
    char self[PATH_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    if (n <= 0) return false;
    self[n] = 0;
    slash = strrchr(self, '/');
    if (slash) *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, PATH_MAX, "%s%s", self, places[i]);
        if (!access(path, R_OK)) return true;
    }
    return false;
}

static int check_at(const char *at, char spelled[64]) {
    static const struct { const char *name; int number; } signals[] = {
        { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "INT", SIGINT }, { "TERM", SIGTERM }, { "HUP", SIGHUP } };
    char *end;
    snprintf(spelled, 64, "%s", at ? at : "exit");
    if (!at || !strcmp(at, "exit") || !strcmp(at, "peak")) return DONE;
    if (!strncmp(at, "every=", 6)) {
        double seconds = strtod(at + 6, &end);
        if (seconds > 0 && seconds < 1e9 && !*end) return DONE;
    }
    if (!strcmp(at, "signal")) at = "signal=USR2";
    if (!strncmp(at, "signal=", 7))
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            if (!strcmp(at + 7, signals[i].name) ||
                (!strncmp(at + 7, "SIG", 3) && !strcmp(at + 10, signals[i].name))) {
                snprintf(spelled, 64, "signal=%d", signals[i].number);
                return DONE;
            }
    return usage(
        "--at takes exit, peak, every=SECONDS, signal or signal=USR1, USR2, INT, TERM, HUP, not '%s'", at);
}

/* A way to the recorder that LD_PRELOAD can hold: spaces and colons end a name there. */
static bool link_recorder(char path[PATH_MAX], const char *spool, char link[PATH_MAX]) {
    char whole[PATH_MAX];
    *link = 0;
    if (!strpbrk(path, " :")) return true;
    if (strpbrk(spool, " :") || !realpath(path, whole)) return false;
    snprintf(link, PATH_MAX, "%s.so", spool);
    snprintf(path, PATH_MAX, "%s", link);
    return !symlink(whole, link);
}

static void child_run(const arguments *a, const char *library, const char *spool, const char *at) {
    const char *before = getenv("LD_PRELOAD");
    char *preload = NULL, depth[16], sample[24], cwd[PATH_MAX];
    if (asprintf(&preload, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0)
        _exit(126);
    snprintf(depth, sizeof depth, "%u", a->depth);
    setenv("LD_PRELOAD", preload, 1);
    setenv("HEAPDUMP_SPOOL", spool, 1);
    setenv("HEAPDUMP_AT", at, 1);
    snprintf(sample, sizeof sample, "%llu", (unsigned long long)a->sample_bytes);
    setenv("HEAPDUMP_DEPTH", depth, 1);
    setenv("HEAPDUMP_SAMPLE", sample, 1);
    if (a->stats) setenv("HEAPDUMP_STATS", "1", 1);
    else unsetenv("HEAPDUMP_STATS");
    if (getcwd(cwd, sizeof cwd)) setenv("HEAPDUMP_DIR", cwd, 1);
    execvp(a->files[0], a->files);
    fprintf(stderr, "heapdump: cannot run %s: %s\n", a->files[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static volatile sig_atomic_t recorded_pid;

static void pass_on(int signal_number) {
    if (recorded_pid > 0) kill((pid_t)recorded_pid, signal_number);
}

/* Ends as the program ended. */
static int end_as(int status) {
    if (WIFSIGNALED(status)) {
        struct rlimit none = { 0, 0 };
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Signals that come to us while the program runs: the terminal's, which reach the program too and are
   its to decide on, and those that somebody who sees only our pid sends. */
static const int forwarded[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 }, ignored[] = { SIGINT, SIGQUIT };
enum { FORWARDED = sizeof forwarded / sizeof *forwarded, IGNORED = sizeof ignored / sizeof *ignored };

/* Runs the program to its end; false when no process could be started. */
static bool run_recorded(const arguments *a, const char *library, const char *spool, const char *at, pid_t *pid,
                         int *status) {
    struct sigaction ignore = { .sa_handler = SIG_IGN }, forward = { .sa_handler = pass_on };
    struct sigaction old_ignored[IGNORED], old_forwarded[FORWARDED];
    /* who ignores SIGCHLD is not told how its child ended */
    struct sigaction wait_for = { .sa_handler = SIG_DFL }, old_wait_for;
    sigaction(SIGCHLD, &wait_for, &old_wait_for);
    for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &ignore, &old_ignored[i]);
    *pid = fork();
    if (*pid == 0) {
        for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &old_ignored[i], NULL);
        sigaction(SIGCHLD, &old_wait_for, NULL);
        child_run(a, library, spool, at);
    }
    recorded_pid = *pid;
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &forward, &old_forwarded[i]);
    if (*pid > 0 && !strncmp(at, "signal=", 7))
        fprintf(stderr, "heapdump: recording process %ld; kill -%s %ld makes it dump\n", (long)*pid, at + 7,
                (long)*pid);
    while (*pid > 0 && waitpid(*pid, status, 0) < 0 && errno == EINTR) {}
    recorded_pid = 0;
    for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &old_ignored[i], NULL);
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &old_forwarded[i], NULL);
    return *pid > 0;
}

/* Whether -o FILE can be created, found out before the program has run for hours. */
static int check_output(const char *path) {
    hd_file file;
    hd_error err;
    struct stat st;
    if (!path || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) return DONE;
    if (!strcmp(path, "-")) return usage("record cannot write to standard output, which is the program's");
    if (hd_file_create(path, &file, &err)) {
        fprintf(stderr, "heapdump: %s\n", err.message);
        return BAD_INPUT;
    }
    hd_file_discard(&file);
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        fprintf(stderr, "heapdump: cannot write %s: %s\n", path, strerror(EISDIR));
        return BAD_INPUT;
    }
    return DONE;
}

static int record(const arguments *a) {
    char library[PATH_MAX], link[PATH_MAX], spool[PATH_MAX - 8], at[64];
    const char *tmp = getenv("TMPDIR");
    arguments condensed = *a;
    pid_t pid;
    int status;
    if (!a->file_count) return usage("record needs a program: heapdump record [OPTIONS] -- PROGRAM ARGS...");
    status = check_at(a->at, at);
    if (!status) status = check_output(a->output);
    if (status) return status;
    if (!program_check(a->files[0])) return BAD_INPUT;
    if (!a->has_cutoff) {
        condensed.cutoff.min_share = 0.0001;
        a = &condensed;
    }
    if (!find_recorder(library)) {
        fprintf(stderr, "heapdump: libheapdump_record.so is not beside this program\n");
        return BAD_INPUT;
    }
    snprintf(spool, sizeof spool, "%s/heapdump-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!mkdtemp(spool)) {
        fprintf(stderr, "heapdump: cannot create %s: %s\n", spool, strerror(errno));
        return BAD_INPUT;
    }
    if (!link_recorder(library, spool, link)) {
        fprintf(stderr, "heapdump: LD_PRELOAD cannot hold the path of libheapdump_record.so, nor one in TMPDIR\n");
        rmdir(spool);
        return BAD_INPUT;
    }
    if (!run_recorded(a, library, spool, at, &pid, &status)) {
        fprintf(stderr, "heapdump: cannot start a process: %s\n", strerror(errno));
        rmdir(spool);
        return BAD_INPUT;
    }
    if (*link) unlink(link);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126) && !rmdir(spool))
        return WEXITSTATUS(status); /* it never ran */
    if (record_finish(a, spool, pid, status) && WIFEXITED(status) && !WEXITSTATUS(status)) {
        fprintf(stderr, "heapdump: not all dumps could be written\n");
        return BAD_INPUT;
    }
    return end_as(status);
}

/* The command line. ---------------------------------------------------------------------------- */

static bool parse_bytes(const char *s, uint64_t *n) {
    char *end;
    int shift = 0;
    errno = 0;
    *n = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || errno) return false;
    switch (*end) {
    case 'k': case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    }
    if (shift) end++;
    if (*n > UINT64_MAX >> shift) return false;
    *n <<= shift;
    return !*end;
}

static bool parse_share(const char *s, double *share) {
    char *end;
    *share = strtod(s, &end);
    if (end != s && *end == '%') {
        *share /= 100;
        end++;
    }
    return end != s && !*end && *share >= 0 && *share <= 1;
}

enum {
    OPT_MIN_BYTES = 256,
    OPT_MIN_SHARE,
    OPT_MIN_PARENT_SHARE,
    OPT_TOP,
    OPT_JSON,
    OPT_STRICT,
    OPT_TO,
    OPT_BY,
    OPT_AT,
    OPT_PID,
    OPT_DUMP,
    OPT_ALLOCATOR,
    OPT_DEPTH,
    OPT_SAMPLE,
    OPT_STATS,
    OPT_ALL,
    OPT_EXACT
};

static const struct option long_options[] = { { "min-bytes", required_argument, NULL, OPT_MIN_BYTES },
                                              { "min-share", required_argument, NULL, OPT_MIN_SHARE },
                                              { "min-parent-share", required_argument, NULL,
                                                OPT_MIN_PARENT_SHARE },
                                              { "top", required_argument, NULL, OPT_TOP },
                                              { "json", no_argument, NULL, OPT_JSON },
                                              { "strict", no_argument, NULL, OPT_STRICT },
                                              { "to", required_argument, NULL, OPT_TO },
                                              { "by", required_argument, NULL, OPT_BY },
                                              { "at", required_argument, NULL, OPT_AT },
                                              { "pid", required_argument, NULL, OPT_PID },
                                              { "dump", required_argument, NULL, OPT_DUMP },
                                              { "allocator", required_argument, NULL, OPT_ALLOCATOR },
                                              { "depth", required_argument, NULL, OPT_DEPTH },
                                              { "sample", required_argument, NULL, OPT_SAMPLE },
                                              { "stats", no_argument, NULL, OPT_STATS },
                                              { "every-route", no_argument, NULL, OPT_ALL },
                                              { "exact", no_argument, NULL, OPT_EXACT },
                                              { "output", required_argument, NULL, 'o' },
                                              { "help", no_argument, NULL, 'h' },
                                              { NULL, 0, NULL, 0 } };

typedef struct command {
    const char *name;
    int (*run)(const arguments *a);
    const char *options;         /* the letters and numbers it takes, by name */
    const char *usage, *help;
    bool cutoff, select;
} command;

static const command commands[] = {
    { "record", record, "o at depth sample stats", "record [OPTIONS] -- PROGRAM ARGS...",
      "Runs the program and writes what is live on its heap, by call stack and by object that asked,\n"
      "as a trace for the trace viewer. Its children are recorded too, each into its own file.\n\n"
      "  -o, --output FILE      [heapdump.PROGRAM.PID.json]\n"
      "  --at exit              when the program ends, on its own accord [default]\n"
      "  --at peak              when the most bytes were live, to within 2 percent and 4 KiB\n"
      "  --at every=SECONDS     again and again, and at exit\n"
      "  --at signal[=NAME]     when it gets USR2, or USR1, INT, TERM, HUP\n"
      "  --depth N              frames kept per stack, up to 128 [48]\n"
      "  --sample BYTES         record one block per BYTES allocated, on average, and estimate from\n"
      "                         these: costs next to nothing (512k is usual) [every block, exactly]\n"
      "  --stats                tell what the recording itself cost\n", true, false },
    { "tree", tree, "o json by every-route exact", "tree [OPTIONS] FILE...",
      "Prints each heap as a tree: bytes, share of the total, blocks, what holds them. <other> is what\n"
      "is not listed, <self> what a frame holds beside its callees, ': name' a type.\n\n"
      "  --by backtrace|type    what to break down by first [backtrace]\n"
      "  --every-route          break every entry down both ways\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n", true, true },
    { "info", info, "o json", "info [OPTIONS] FILE...",
      "Lists processes, dumps and allocators.\n\n  --json                 one JSON value\n", false, true },
    { "convert", convert, "o to", "convert --to FORMAT [OPTIONS] FILE",
      "Writes another format: chrome, a trace for the trace viewer. Frames given as OBJECT+0xOFFSET are\n"
      "resolved to functions where the object is at hand.\n", true, true },
};

static int command_help(const command *c) {
    printf("usage: heapdump %s\n\n%s", c->usage, c->help);
    if (c->cutoff) printf("%s", cutoff_help);
    if (c->cutoff)
        printf("                         [%s when none is given]\n", c->run == tree     ? "--min-share 0.01"
                                                                     : c->run == record ? "--min-share 0.0001"
                                                                                        : "all is listed");
    if (c->select) printf("%s", select_help);
    return fflush(stdout) ? BAD_INPUT : DONE;
}

static bool takes(const command *c, const char *option) {
    static const char *const cutoffs = " min-bytes min-share min-parent-share top ";
    static const char *const selects = " pid dump allocator strict ";
    char spaced[64], listed[128];
    snprintf(spaced, sizeof spaced, " %s ", option);
    snprintf(listed, sizeof listed, " %s ", c->options);
    if (!strcmp(option, "output")) return strstr(listed, " o ") != NULL;
    return strstr(listed, spaced) || (c->cutoff && strstr(cutoffs, spaced)) ||
           (c->select && strstr(selects, spaced));
}

static const char *option_name(int option) {
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == option) return o->name;
    return "";
}

/* Takes one option; false when its value will not do. */
static bool take_option(arguments *a, int option) {
    uint64_t n;
    if (option >= OPT_MIN_BYTES && option <= OPT_TOP) a->has_cutoff = true;
    switch (option) {
    case OPT_MIN_BYTES: return parse_bytes(optarg, &a->cutoff.min_bytes);
    case OPT_MIN_SHARE: return parse_share(optarg, &a->cutoff.min_share);
    case OPT_MIN_PARENT_SHARE: return parse_share(optarg, &a->cutoff.min_parent_share);
    case OPT_TOP:
        if (!parse_bytes(optarg, &n) || !n || n > UINT32_MAX) return false;
        a->cutoff.top = (uint32_t)n;
        return true;
    case OPT_PID: return a->has_pid = parse_bytes(optarg, &a->pid);
    case OPT_DEPTH:
        if (!parse_bytes(optarg, &n) || !n || n > HD_MAX_FRAMES) return false;
        a->depth = (uint32_t)n;
        return true;
    case OPT_SAMPLE: return parse_bytes(optarg, &a->sample_bytes) && a->sample_bytes;
    case OPT_STATS: a->stats = true; return true;
    case OPT_JSON: a->json = true; return true;
    case OPT_STRICT: a->strict = true; return true;
    case OPT_ALL: a->every_route = true; return true;
    case OPT_EXACT: a->exact = true; return true;
    case OPT_TO: a->to = optarg; return true;
    case OPT_BY: a->by = optarg; return true;
    case OPT_AT: a->at = optarg; return true;
    case OPT_DUMP: a->dump = optarg; return true;
    case OPT_ALLOCATOR: a->allocator = optarg; return true;
    case 'o': a->output = optarg; return true;
    }
    return false;
}

int main(int argc, char **argv) {
    const command *c = NULL;
    arguments a;
    int option;
    memset(&a, 0, sizeof a);
    a.depth = 48;
    if (argc < 2) {
        fputs(help, stderr);
        return WRONG_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        fputs(help, stdout);
        return fflush(stdout) ? BAD_INPUT : DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name)) c = &commands[i];
    if (!c) return usage("no command '%s'", argv[1]);
    opterr = 0;
    while ((option = getopt_long(argc - 1, argv + 1, c->run == record ? "+:ho:" : ":ho:", long_options,
                                 NULL)) != -1) {
        if (option == 'h') return command_help(c);
        if (option == ':') return usage("%s needs a value", argv[optind]);
        if (option == '?' && optopt) return usage("%s does not know the option '-%c'", c->name, optopt);
        if (option == '?') return usage("%s does not know the option '%s'", c->name, argv[optind]);
        if (!takes(c, option_name(option)))
            return usage("%s does not take --%s", c->name, option_name(option));
        if (!take_option(&a, option)) return usage("--%s does not take '%s'", option_name(option), optarg);
    }
    a.files = argv + 1 + optind;
    a.file_count = argc - 1 - optind;
    if (c->run != record && !a.file_count) return usage("%s needs a file (- is standard input)", c->name);
    return c->run(&a);
}
