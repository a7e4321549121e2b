/* Output: standard output, or a file that gets its name when it is complete. */

#include "shell.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* The file that is being written. If the tool ends early, by a signal or without memory, it is removed. */
static hd_file *output_unfinished;

/* The writing thread may still be running: it then writes to a file without a name, and the process ends next. */
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

/* Called before the file is created. */
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

/* Blocks the signals that end the tool, until sigprocmask restores *before. */
static void hold_ends(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    for (int i = 0; i < ENDS; i++) sigaddset(&held, ends[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

/* Signals are blocked meanwhile, so that output_unfinished is the file if and only if it was created. They are not
   blocked for pipes and devices: opening a pipe without a reader waits, and must be interruptible. */
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

/* Gives the file its name, or removes it. */
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

/* Output is collected in pieces. A thread writes each full piece while the next one fills; a file smaller than a
   piece needs no thread. */
enum { PAGE = 1 << 12, PIECE = 1 << 19 };

typedef struct gathering {
    hd_out to;
    char *filling, *other;       /* a piece each; the thread has `other`, unless `waiting` is 0 */
    size_t filled, waiting;      /* waiting: bytes that the thread has to write */
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

/* Starts the thread. If that fails, pieces are written as they come. */
static void gathering_start(gathering *g) {
    sigset_t before;
    g->other = needed(aligned_alloc(PAGE, PIECE));
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->moved, NULL);
    hold_ends(&before);          /* only the main thread gets these signals */
    g->is_threaded = !pthread_create(&g->writer, NULL, write_pieces, g);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Passes the collected bytes to the thread, or writes them. */
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

/* Small writes are joined: that takes fewer system calls, and all but the last write whole pages at page offsets. */
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

/* Waits until all passed pieces are written, and ends the thread. Later pieces are written as they come. */
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

/* Frees the collector, after writing the last piece if the output is complete. */
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

/* Whether a path, or NULL for standard output, leads to a terminal: "/dev/tty", "/dev/stdout". */
static bool writes_to_terminal(const char *path) {
    struct stat st;
    bool found;
    int fd;
    if (!path || !strcmp(path, "-")) return isatty(STDOUT_FILENO);
    if (stat(path, &st) || !S_ISCHR(st.st_mode)) return false;
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    found = fd >= 0 && isatty(fd);
    if (fd >= 0) close(fd);
    return found;
}

int file_is_named(const arguments *a) {
    if (a->out.file || !isatty(STDOUT_FILENO) || format_is(a->out.to, HD_FORMAT_LINES)) return DONE;
    return usage("%s does not write to a terminal: use -o FILE (-o - writes here anyway)",
                 command_name);
}

int check_terminal(const char *path, const char *format) {
    if (!format_is(format, HD_FORMAT_BINARY) || !writes_to_terminal(path)) return DONE;
    return usage("%s is binary, and not for a terminal: use -o FILE", format);
}

const char *output_name(const char *path) { return path ? path : "standard output"; }

int output_open(output *o, const char *path) { return output_open_as(o, path, false); }

int output_close(output *o, const char *path, int status) {
    hd_status ended = packing_close(o->packing, !status);
    progress_end();
    errno = 0;                   /* the errno of an earlier failed write is lost */
    if (o->is_file) {
        hd_status written = gathering_close(o->gathering, !status && !ended);
        if (!ended) ended = written;
        if (ended && !o->file.status) o->file.status = ended; /* the commit reports it */
        status = output_settle(o, status);
    } else if ((fflush(stdout) || ferror(stdout)) && !status) {
        display(stderr, "heapdump: %s: %s\n", output_name(path), errno ? strerror(errno) : "writing failed");
        status = BAD_INPUT;
    }
    return status;
}

const char *output_error(const output *o, const hd_error *err) {
    if (o->is_file) gathering_end(o->gathering); /* the thread may set o->file.os_error */
    return o->is_file && o->file.os_error ? strerror(o->file.os_error) : err->message;
}

int output_end(output *o, const char *path, const char *name, hd_status failed, const hd_error *err) {
    if (failed) display(stderr, "heapdump: %s%s%s\n", name ? name : "", name ? ": " : "", output_error(o, err));
    return output_close(o, path, failed ? BAD_INPUT : DONE);
}
