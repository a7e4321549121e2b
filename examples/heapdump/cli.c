/* What the commands share: reading and writing files, JSON, messages. */

#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "formats/formats.h"
#include "screen.h"

void (*before_failing)(void);
void (*memory_ends)(void);

void *needed(void *memory) {
    void (*last)(void) = before_failing;
    if (memory) return memory;
    before_failing = NULL;
    if (memory_ends) memory_ends();
    display(stderr, "heapdump: out of memory\n");
    if (last) last();
    exit(BAD_INPUT);
}

const char *command_name;

void closed_text(FILE *f, char **text) {
    if (fclose(f)) needed(NULL); /* all that can fail is having memory */
    needed(*text);
}

int usage(const char *format, ...) {
    va_list args;
    display(stderr, "heapdump: ");
    va_start(args, format);
    display_list(stderr, format, args);
    va_end(args);
    if (command_name) display(stderr, "; see heapdump help %s\n", command_name);
    else display(stderr, "; see heapdump --help\n");
    return WRONG_USAGE;
}

void complain(const char *file, const hd_error *err, const char *kind) {
    progress_end();
    display(stderr, "heapdump: %s", file);
    if (err->format) display(stderr, " (%s)", err->format);
    display(stderr, ": ");
    if (err->offset != HD_UNKNOWN) display(stderr, "offset %llu: ", (unsigned long long)err->offset);
    display(stderr, "%s%s", kind, err->message);
    if (err->line > 1 && !err->column) display(stderr, " (line %llu)", (unsigned long long)err->line);
    fputc('\n', stderr);
}

/* REGEX, over frames, or type=REGEX. */
char pattern_error[96];

bool pattern_set(pattern *p, const char *text) {
    int error;
    p->axis = strncmp(text, "type=", 5) ? HD_AXIS_BACKTRACE : HD_AXIS_TYPE;
    p->text = text + (p->axis == HD_AXIS_TYPE ? 5 : 0);
    error = regcomp(&p->regex, p->text, REG_EXTENDED | REG_NOSUB);
    if (error) regerror(error, NULL, pattern_error, sizeof pattern_error);
    return !error;
}

bool pattern_matches(void *user, hd_str name) {
    const pattern *p = user;
    regmatch_t range = { 0, (regoff_t)name.len };
    return !regexec(&p->regex, name.len ? name.data : "", 1, &range, REG_STARTEND);
}

/* Reading: warnings and, on a terminal, progress go to stderr. --------------------------------- */

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

/* Of what is packed, by the packed bytes: how many there will be unpacked nobody knows. */
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

hd_options reading_options(const arguments *a, reading *r) {
    hd_options options = {
        .unpackers = tool_unpackers, .unpacker_count = TOOL_UNPACKERS,
        .lenient = !a->strict, .warning = a->quiet ? NULL : on_warning, .progress = on_progress,
        .warning_user = r, .progress_user = r, .decimal_sizes = a->decimal, .format = a->format,
        .formats = tool_formats, .format_count = tool_format_count
    };
    clock_gettime(CLOCK_MONOTONIC, &r->began);
    return options;
}

static int64_t read_counted(void *user, void *buffer, size_t capacity) {
    reading *r = user;
    int64_t n = r->in.read(r->in.user, buffer, capacity);
    if (n > 0) r->taken += (uint64_t)n;
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
    return status;
}

int read_dump(const char *file, const arguments *a, hd_dump **dump) {
    reading r = { .file = input_name(file) };
    hd_options options = reading_options(a, &r);
    const hd_graph *graph;
    const hd_memprof_index *index;
    hd_error err;
    hd_status status = read_input(file, &options, dump, &err);
    if (r.warnings > 20) display(stderr, "heapdump: %s: %llu more warnings\n", r.file, r.warnings - 20);
    graph = status ? NULL : hd_dump_graph(*dump);
    index = status ? NULL : hd_dump_memprof_index(*dump); /* has no heap when its sizes have no sum */
    if (!status && r.warnings && !hd_dump_heap_count(*dump) && !hd_dump_scalar_count(*dump) &&
        !(graph && (hd_graph_object_count(graph) || hd_graph_class_count(graph) > 1)) &&
        !(index && index->block_count)) {
        display(stderr, "heapdump: %s (%s): nothing could be read\n", r.file, hd_dump_format(*dump)->name);
        hd_dump_free(*dump);
        return BAD_INPUT;
    }
    if (!status) return DONE;
    complain(r.file, &err, "");
    return BAD_INPUT;
}

/* Output: standard output, or a file that appears when it is whole. ----------------------------- */

/* What is written when the tool ends in the middle, for want of memory or by a signal: it goes. */
static hd_file *output_unfinished;

/* The thread that writes pieces may still be at it: the file has no name any more, and the process ends next. */
void output_abandon(void) {
    if (output_unfinished) hd_file_discard(output_unfinished);
}

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { ENDS = sizeof ends / sizeof *ends };

static void on_end(int signal_number) {
    output_abandon();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Before it is made. */
static void output_begins(output *o) {
    struct sigaction end = { .sa_handler = on_end }, old;
    static bool any;
    if (!any) atexit(output_abandon);
    for (int i = 0; i < ENDS; i++)
        if (!any && !sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_DFL) sigaction(ends[i], &end, NULL);
    any = true;
    o->file.fd = -1;
    output_unfinished = &o->file;
}

void file_limit_fails(struct sigaction *before) {
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGXFSZ, &ignore, before);
}

/* Who ends us waits, until sigprocmask puts *before back. */
static void hold_ends(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    for (int i = 0; i < ENDS; i++) sigaddset(&held, ends[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

/* A file is there, and known to be ours, or is not. A pipe that nobody reads holds us up, and can be given up. */
static hd_status output_create(output *o, const char *path, bool is_default, hd_error *err) {
    struct stat st;
    bool waits = !stat(path, &st) && !S_ISREG(st.st_mode);
    sigset_t before;
    hd_status status;
    if (!waits) hold_ends(&before);
    status = (is_default ? hd_file_create_default : hd_file_create)(path, &o->file, err);
    if (status) output_unfinished = NULL;
    if (!waits) sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Names the file, or leaves none behind. */
static int output_settle(output *o, int status) {
    sigset_t before;
    hd_error err;
    hold_ends(&before);
    output_unfinished = NULL;
    if (status) {
        hd_file_discard(&o->file);
    } else if (hd_file_commit(&o->file, &err)) {
        display(stderr, "heapdump: %s\n", err.message);
        status = BAD_INPUT;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Output is gathered in pieces. A thread writes each full piece while the next one fills; a file smaller than a piece
   needs none. */
enum { PAGE = 1 << 12, PIECE = 1 << 19 };

typedef struct gathering {
    hd_out to;
    char *filling, *other;       /* a piece each; other: of the thread, unless `waiting` is 0 */
    size_t filled, waiting;      /* bytes that the thread has to write */
    bool is_threaded, ends;
    hd_status status;            /* of the thread's writes */
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t moved;        /* `waiting` or `ends` has changed */
} gathering;

static void *write_pieces(void *user) {
    gathering *g = user;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        hd_status status;
        while (!g->waiting && !g->ends) pthread_cond_wait(&g->moved, &g->lock);
        if (!g->waiting) break;
        pthread_mutex_unlock(&g->lock);
        status = g->status ? g->status : g->to.write(g->to.user, g->other, g->waiting);
        pthread_mutex_lock(&g->lock);
        g->status = status;
        g->waiting = 0;
        pthread_cond_signal(&g->moved);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static gathering *gathering_open(hd_out to) {
    gathering *g = needed(calloc(1, sizeof *g));
    g->to = to;
    g->filling = needed(aligned_alloc(PAGE, PIECE));
    return g;
}

/* Without a thread, pieces are written as they come. */
static void gathering_start(gathering *g) {
    sigset_t before;
    g->other = needed(aligned_alloc(PAGE, PIECE));
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->moved, NULL);
    hold_ends(&before);          /* signals that end us go to the main thread */
    g->is_threaded = !pthread_create(&g->writer, NULL, write_pieces, g);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Has what is gathered written. */
static hd_status gathering_pass(gathering *g) {
    char *piece = g->filling;
    size_t size = g->filled;
    hd_status status;
    g->filled = 0;
    if (!g->other && size == PIECE) gathering_start(g);
    if (!g->is_threaded) return size ? g->to.write(g->to.user, piece, size) : HD_OK;
    pthread_mutex_lock(&g->lock);
    while (g->waiting) pthread_cond_wait(&g->moved, &g->lock);
    g->filling = g->other;
    g->other = piece;
    g->waiting = size;
    status = g->status;
    pthread_cond_signal(&g->moved);
    pthread_mutex_unlock(&g->lock);
    return status;
}

/* Many small pieces cost less in one system call, and all but the last of whole pages, at whole pages of the file. */
static hd_status write_gathered(void *user, const void *data, size_t size) {
    gathering *g = user;
    hd_status status = HD_OK;
    for (const char *p = data; size && !status;) {
        size_t left = PIECE - g->filled, n = size < left ? size : left;
        memcpy(g->filling + g->filled, p, n);
        g->filled += n;
        p += n;
        size -= n;
        if (g->filled == PIECE) status = gathering_pass(g);
    }
    return status;
}

/* Waits until all pieces that were passed are written, and ends the thread: the next ones are written as they come. */
static hd_status gathering_end(gathering *g) {
    if (g->is_threaded) {
        pthread_mutex_lock(&g->lock);
        g->ends = true;
        pthread_cond_signal(&g->moved);
        pthread_mutex_unlock(&g->lock);
        pthread_join(g->writer, NULL);
        g->is_threaded = false;
    }
    return g->status;
}

/* Ends what gathers, with the last piece if what was written is whole. */
static hd_status gathering_close(gathering *g, bool whole) {
    hd_status status = whole ? gathering_pass(g) : HD_OK, before = gathering_end(g);
    if (before) status = before;
    if (g->other) pthread_cond_destroy(&g->moved), pthread_mutex_destroy(&g->lock);
    free(g->filling);
    free(g->other);
    free(g);
    return status;
}

static hd_status write_told(void *user, const void *data, size_t size) {
    output *o = user;
    hd_status status = o->told_to.write(o->told_to.user, data, size);
    if (!o->told.taken) clock_gettime(CLOCK_MONOTONIC, &o->told.began);
    o->told.taken += size;
    on_progress(&o->told, o->told.taken, HD_UNKNOWN);
    return status;
}

int output_open_as(output *o, const char *path, bool is_default) {
    hd_error err;
    file_limit_fails(NULL);
    o->is_file = path && strcmp(path, "-");
    o->packing = NULL;
    o->gathering = NULL;
    if (!o->is_file) {
        o->out = hd_out_file(stdout);
        return DONE;
    }
    output_begins(o);
    if (output_create(o, path, is_default, &err)) {
        display(stderr, "heapdump: %s\n", err.message);
        return BAD_INPUT;
    }
    o->gathering = gathering_open(hd_file_out(&o->file));
    o->packing = packing_open(path, hd_out_callback(write_gathered, o->gathering), &o->out);
    o->told = (reading){ .file = path, .writes = true };
    if (isatty(STDERR_FILENO)) o->told_to = o->out, o->out = hd_out_callback(write_told, o);
    return DONE;
}

int file_is_named(const arguments *a) {
    if (a->output || !isatty(STDOUT_FILENO) || (a->to && !strcmp(a->to, "folded"))) return DONE; /* lines to read */
    return usage("%s writes a file, which is no text for a terminal: name it with -o FILE (-o - writes it here)",
                 command_name);
}

/* Formats as --to and --format call them. */
static bool is_binary(const char *format) {
    static const char *const names[] = { "pprof", "memprof", "memprof-raw", "memprof-rfc", "memprof-index", "dart" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(format, names[i])) return true;
    return false;
}

int check_terminal(const char *path, const char *format) {
    if (!format || !is_binary(format) || !writes_to_terminal(path)) return DONE;
    return usage("%s is binary, which a terminal cannot show: name a file with -o FILE", format);
}

int output_open(output *o, const char *path) { return output_open_as(o, path, false); }

int output_close(output *o, const char *path, int status) {
    hd_status ended = packing_close(o->packing, !status);
    progress_end();
    errno = 0;                   /* of a write that failed earlier it is lost */
    if (o->is_file) {
        hd_status written = gathering_close(o->gathering, !status && !ended);
        if (!ended) ended = written;
        if (ended && !o->file.status) o->file.status = ended; /* told by the commit */
        status = output_settle(o, status);
    } else if ((fflush(stdout) || ferror(stdout)) && !status) {
        display(stderr, "heapdump: %s: %s\n", path ? path : "standard output",
                errno ? strerror(errno) : "writing failed");
        status = BAD_INPUT;
    }
    return status;
}

/* Why writing failed. */
const char *output_error(const output *o, const hd_error *err) {
    if (o->is_file) gathering_end(o->gathering); /* which writes to o->file.os_error */
    return o->is_file && o->file.os_error ? strerror(o->file.os_error) : err->message;
}

/* JSON. ------------------------------------------------------------------------------------ */

void json_text(hd_json *j, const char *key, const char *value) {
    hd_json_key(j, key);
    if (value) hd_json_cstr(j, value);
    else hd_json_null(j);
}

void json_str(hd_json *j, const char *key, hd_str value) { hd_json_key(j, key), hd_json_str(j, value); }
void json_u64(hd_json *j, const char *key, uint64_t value) { hd_json_key(j, key), hd_json_u64(j, value); }
void json_bool(hd_json *j, const char *key, bool value) { hd_json_key(j, key), hd_json_bool(j, value); }
void json_array(hd_json *j, const char *key) { hd_json_key(j, key), hd_json_array(j); }
void json_object(hd_json *j, const char *key) { hd_json_key(j, key), hd_json_object(j); }
void json_line(hd_json *j) { hd_json_newline(j), hd_json_object(j); }

void json_known(hd_json *j, const char *key, uint64_t value) {
    hd_json_key(j, key);
    if (value == HD_UNKNOWN) hd_json_null(j);
    else hd_json_u64(j, value);
}

void json_label(hd_json *j, const hd_heap *heap) {
    json_u64(j, "pid", heap->pid);
    json_text(j, "process", heap->process);
    json_text(j, "dump", heap->dump);
    json_u64(j, "time_us", heap->time_us);
    json_text(j, "allocator", heap->allocator);
    json_text(j, "kind", hd_heap_kind_name(heap->kind));
    json_u64(j, "sample_bytes", heap->sample_bytes);
    if (!heap->label_count) return;
    json_object(j, "labels");
    for (size_t i = 0; i < heap->label_count; i++) json_text(j, heap->labels[i].name, heap->labels[i].value);
    hd_json_end(j);
}

/* Answers. ------------------------------------------------------------------------------------- */

/* A FILE in front of an output. */
static ssize_t output_put(void *o, const char *data, size_t size) {
    hd_out *out = o;
    return out->write(out->user, data, size) ? -1 : (ssize_t)size;
}

/* What every answer in JSON begins with. Where the list is one of files, it tells them itself. */
static void envelope(hd_json *j, const arguments *a, const char *list) {
    hd_json_object(j);
    json_text(j, "heapdump", hd_version());
    json_text(j, "command", command_name);
    if (list && !strcmp(list, "files")) return;
    json_array(j, "files");
    for (int i = 0; i < a->file_count; i++) {
        hd_json_object(j);
        json_text(j, "file", a->files[i]);
        hd_json_end(j);
    }
    hd_json_end(j);
}

int answer_open(answer *r, const arguments *a, const char *list) {
    int status = output_open(&r->output, a->output);
    if (status) return status;
    screen s = screen_of(a);
    r->a = a;
    r->pager = pager_open(&s);
    if (r->pager) r->output.out = hd_out_file(r->pager);
    r->text = fopencookie(&r->output.out, "w", (cookie_io_functions_t){ .write = output_put });
    if (!r->text) {
        display(stderr, "heapdump: %s\n", strerror(errno));
        exit(BAD_INPUT);
    }
    r->open = !a->json ? 0 : list ? 2 : 1;
    r->rows_text = NULL;
    r->rows = a->csv ? needed(open_memstream(&r->rows_text, &r->rows_size)) : NULL;
    hd_json_begin(&r->json, r->rows ? hd_out_file(r->rows) : r->output.out);
    if (r->open) envelope(&r->json, a, list);
    if (r->open == 2) json_array(&r->json, list);
    return DONE;
}

void answer_end_list(answer *r) {
    hd_json_end(&r->json);
    r->open = 1;
}

int answer_close(answer *r, int status) {
    bool failed = false;
    if (r->a->json) {
        for (; r->open; r->open--) hd_json_end(&r->json);
        hd_json_newline(&r->json);
        failed = hd_json_finish(&r->json) != HD_OK;
    }
    if (r->rows) {
        if (fclose(r->rows)) needed(NULL);
        csv_write(r->rows_text, r->text);
        free(r->rows_text);
    }
    if (fclose(r->text)) failed = true;
    if (r->pager) pclose(r->pager);
    status = output_close(&r->output, r->a->output, status);
    return failed && !status ? BAD_INPUT : status;
}
