/* Reading. Warnings go to standard error, and on a terminal also progress. */

#include "shell.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

void on_warning(void *user, const hd_error *warning) {
    reading *r = user;
    if (++r->warnings <= 20) complain(r->file, warning, "warning: ");
}

static double seconds_between(const struct timespec *from, const struct timespec *to) {
    return (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
}

static bool progress_shown;

void progress_end(void) {
    if (progress_shown) display(stderr, "\r\033[K"), fflush(stderr);
    progress_shown = false;
}

/* For compressed inputs, progress counts compressed bytes, since the uncompressed size is unknown. */
bool on_progress(void *user, uint64_t done, uint64_t total) {
    reading *r = user;
    struct timespec now;
    double passed;
    if (!isatty(STDERR_FILENO)) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    passed = seconds_between(&r->began, &now);
    if (passed < 1 || (r->shown && seconds_between(&r->told, &now) < 0.2)) return true;
    if (total == HD_UNKNOWN || !total) {
        if (r->taken) done = r->taken;
        total = r->size;
    }
    if (r->doing) display(stderr, "\r%s", r->doing);
    else display(stderr, "\r%s %s", r->writes ? "writing" : "reading", r->file);
    if (total) display(stderr, ": %.0f%%", 100.0 * (double)done / (double)total);
    else if (!r->doing) display(stderr, ": %llu MiB", (unsigned long long)(done >> 20));
    if (!r->doing) display(stderr, ", %.1f MiB/s", (double)done / 1048576 / passed);
    if (total && done && done < total) {
        double left = passed * (double)(total - done) / (double)done;
        display(stderr, left < 100 ? ", %.0f s left" : ", %.0f min left", left < 100 ? left : left / 60);
    }
    display(stderr, "\033[K");
    fflush(stderr);
    r->told = now;
    return r->shown = progress_shown = true;
}

hd_options reading_options(const input_options *in, reading *r) {
    hd_options options = {
        .unpackers = tool_unpackers, .unpacker_count = TOOL_UNPACKERS,
        .lenient = !in->strict, .warning = in->quiet ? NULL : on_warning, .progress = on_progress,
        .warning_user = r, .progress_user = r, .decimal_sizes = in->decimal, .format = in->format,
        .soft_weak = in->soft_weak, .layout = in->layout,
        .formats = own_formats, .format_count = own_format_count
    };
    clock_gettime(CLOCK_MONOTONIC, &r->began);
    return options;
}

static int64_t read_counted(void *user, void *buffer, size_t capacity) {
    reading *r = user;
    int64_t n = r->in.read(r->in.user, buffer, capacity);
    if (n > 0) {
        if (r->taken < sizeof r->first) {
            size_t room = sizeof r->first - (size_t)r->taken;
            memcpy(r->first + r->taken, buffer, (size_t)n < room ? (size_t)n : room);
        }
        r->taken += (uint64_t)n;
    }
    return n;
}

hd_status read_input(const char *file, const hd_options *options, hd_dump **dump, hd_error *err) {
    reading *r = options->progress_user;
    struct stat st;
    hd_status status;
    hd_in in;
    if (input_open(file, &r->in, err)) return err->status;
    r->size = r->in.size;
    if (!strcmp(file, "-") && !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode)) r->size = (uint64_t)st.st_size;
    in = r->in;
    in.read = read_counted;
    in.user = r;
    status = hd_read(in, options, dump, err);
    input_close(&r->in);
    progress_end();
    if (status == HD_UNKNOWN_FORMAT && !options->format && r->taken)
        snprintf(err->message, sizeof err->message, "expected a heap dump, found %s",
                 foreign_file(r->first, r->taken < sizeof r->first ? (size_t)r->taken : sizeof r->first));
    return status;
}

bool is_empty(const hd_dump *dump) {
    const hd_graph *graph = hd_dump_graph(dump);
    const hd_memprof_index *index = hd_dump_memprof_index(dump); /* has no heap if the sum of its sizes overflows */
    return !hd_dump_heap_count(dump) && !hd_dump_scalar_count(dump) && !(index && index->block_count) &&
           !(graph && (hd_graph_object_count(graph) || hd_graph_class_count(graph) > 1));
}

int read_dump(const char *file, const input_options *in, hd_dump **dump) {
    reading r = { .file = input_name(file) };
    hd_options options = reading_options(in, &r);
    hd_error err;
    hd_status status = read_input(file, &options, dump, &err);
    if (r.warnings > 20)
        display(stderr, "heapdump: %s: %llu more warning%s\n", r.file, r.warnings - 20, plural(r.warnings - 20));
    if (!status && r.warnings && is_empty(*dump)) {
        display(stderr, "heapdump: %s (%s): nothing could be read\n", r.file, hd_dump_format(*dump)->name);
        hd_dump_free(*dump);
        return BAD_INPUT;
    }
    return status ? failed(r.file, &err) : DONE;
}

hd_options long_call(reading *r, const char *doing) {
    hd_options options = { .progress = on_progress, .progress_user = r };
    *r = (reading){ .doing = doing };
    clock_gettime(CLOCK_MONOTONIC, &r->began);
    return options;
}
