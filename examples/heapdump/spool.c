/* heapdump record: what the recorders left of a program and its children becomes files. */

#include "record.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "heaps.h"
#include "memprof.h"

/* What the files of the spool end with, and what is made of them. */
static const char *record_ending(const arguments *a) { return a->record_format ? ".memprofraw" : ".json"; }
static bool record_is_rfc(const arguments *a) { return a->record_format && !strcmp(a->record_format, "memprof-rfc"); }

bool spool_make(spool_dir *s) {
    const char *tmp = getenv("TMPDIR");
    snprintf(s->path, sizeof s->path, "%s/heapdump-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!mkdtemp(s->path)) {
        display(stderr, "heapdump: cannot create %s: %s\n", s->path, strerror(errno));
        return false;
    }
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->fd >= 0 && !fstat(s->fd, &s->st) && s->st.st_uid == geteuid() && (s->st.st_mode & 01777) == 0700) {
        snprintf(s->here, sizeof s->here, "/proc/self/fd/%d", s->fd);
        return true;
    }
    display(stderr, "heapdump: %s cannot be kept from others: set TMPDIR\n", s->path);
    if (s->fd >= 0) close(s->fd);
    rmdir(s->path);
    return false;
}

/* Nothing is begun in the spool any more, and what is being written goes elsewhere. */
static void spool_take(const spool_dir *s) {
    DIR *d;
    struct dirent *e;
    if (fchmod(s->fd, S_ISVTX | 0700)) {} /* then what comes late stays, and is told of */
    d = opendir(s->here);
    while (d && (e = readdir(d))) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && !strcmp(dot, ".tmp")) unlinkat(s->fd, e->d_name, 0);
    }
    if (d) closedir(d);
}

/* A file of the spool, PID.STARTED.NUMBER.PROGRAM.json: a process that executes another program starts
   again. */
typedef struct spooled {
    char *name;
    const char *program;         /* in name, its ending after it */
    unsigned long pid, started, number;
} spooled;

static int spooled_order(const void *a, const void *b) {
    const spooled *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->started != y->started) return x->started < y->started ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static size_t spool_list(const char *spool, const char *ending, spooled **files) {
    DIR *d = opendir(spool);
    struct dirent *e;
    size_t n = 0;
    *files = NULL;
    while (d && (e = readdir(d))) {
        spooled f = { 0 }, *grown;
        struct stat st;
        size_t length = strlen(e->d_name), end = strlen(ending);
        char *dot;
        f.pid = strtoul(e->d_name, &dot, 10);
        if (*dot != '.' || length < end || strcmp(e->d_name + length - end, ending)) continue;
        f.started = strtoul(dot + 1, &dot, 10);
        if (*dot != '.') continue;
        f.number = strtoul(dot + 1, &dot, 10);
        if (*dot != '.') continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
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

/* The path of the file that a heap becomes: heapdump.PROGRAM.PID.json, or -o FILE for the program itself and FILE with
   .PROGRAM.PID in front of its ending for its children; .IMAGE follows the PID of what a process was
   before it executed another program. */
static char *record_path(const arguments *a, const spooled *f, bool is_main, unsigned image) {
    char *path = NULL, suffix[16] = "";
    const char *ending = record_is_rfc(a) ? ".memprof" : record_ending(a);
    int program = (int)(strlen(f->program) - strlen(record_ending(a))), failed;
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    if (dot && strchr(dot, '/')) dot = NULL;
    if (image) snprintf(suffix, sizeof suffix, ".%u", image);
    if (!a->output)
        failed = asprintf(&path, "heapdump.%.*s.%lu%s%s", program, f->program, f->pid, suffix, ending);
    else if (is_main) failed = asprintf(&path, "%s", a->output);
    else
        failed = asprintf(&path, "%.*s.%.*s.%lu%s%s", dot ? (int)(dot - a->output) : (int)strlen(a->output),
                          a->output, program, f->program, f->pid, suffix, dot ? dot : "");
    return failed < 0 ? NULL : path;
}

static void tell_written(const char *out, const hd_heap *heaps, size_t count) {
    totals last = totals_of(&heaps[count - 1]);
    bool sampled = heaps[0].sample_bytes != 0;
    display(stderr, "heapdump: wrote %s: %s%llu bytes in %llu blocks live%s\n", out, sampled ? "about " : "",
            (unsigned long long)last.bytes, (unsigned long long)last.blocks,
            count > 1 ? " in the last of its dumps" : "");
    if (!last.blocks)
        display(stderr, "heapdump: %s: nothing is live%s, or the program brings an allocator of its own\n",
                out, sampled ? " of what was sampled" : "");
}

/* Opens what the recorder says was loaded, in a list beside the profile, which goes. */
static void record_modules(const char *profile, symbols *names) {
    char *list = NULL, *path = NULL;
    size_t room = 0;
    FILE *f = asprintf(&list, "%s.modules", profile) < 0 ? NULL : fopen(list, "r");
    while (f && getdelim(&path, &room, 0, f) > 0) symbols_object_of(names, hd_cstr(path));
    if (f) fclose(f), unlink(list);
    free(list);
    free(path);
}

/* A raw profile with names, in the RFC's layout. */
static int record_rfc(const arguments *a, const hd_dump *dump, char *in, symbols *names) {
    arguments to = *a;
    index_source s = { .dump = NULL };
    int status;
    record_modules(in, names);
    to.names = names;
    to.files = &in;
    to.memprof_version = "rfc";
    status = index_build(&to, hd_memprof_part(hd_dump_memprof(dump), 0), true, &s);
    if (!status) status = index_write_to(&to, &s, to.output);
    index_close(&s);
    return status;
}

/* The raw profile of a process, checked on its way. */
static int record_raw(const arguments *a, const char *spool, const spooled *file, bool is_main,
                      unsigned image, symbols *names) {
    char *in = spool_path(spool, file), *out = record_path(a, file, is_main, image);
    arguments to = *a;
    hd_dump *dump;
    int status = in && out ? read_dump(in, a, &dump) : BAD_INPUT;
    to.output = out;
    to.default_output = !a->output || !is_main;
    if (!status) {
        status = !hd_dump_memprof(dump) ? BAD_INPUT
                 : record_is_rfc(a)     ? record_rfc(&to, dump, in, names)
                                        : memprof_write(&to, in, hd_dump_memprof(dump));
        if (!status) {
            totals t = totals_of(hd_dump_heap(dump, 0));
            display(stderr, "heapdump: wrote %s: %llu bytes allocated in %llu blocks\n", out,
                    (unsigned long long)t.bytes, (unsigned long long)t.blocks);
        }
        hd_dump_free(dump);
    }
    free(in);
    free(out);
    return status;
}

/* The dumps of one process: read, resolved, condensed, written as one trace. */
static int record_process(const arguments *a, const char *spool, const spooled *files, size_t n, bool is_main,
                          unsigned image, symbols *names) {
    hd_dump **dumps = needed(calloc(n, sizeof *dumps));
    hd_heap *heaps = needed(calloc(n, sizeof *heaps)), *condensed = NULL; /* a heap a dump */
    size_t count = 0, read = 0;
    char *out = record_path(a, files, is_main, image);
    int status = out ? DONE : BAD_INPUT;
    for (size_t i = 0; i < n && !status; i++) {
        char *path = spool_path(spool, &files[i]);
        status = path ? read_dump(path, a, &dumps[read]) : BAD_INPUT;
        free(path);
        if (status) break;
        status = hd_dump_heap_count(dumps[read]) == 1 ? DONE : BAD_INPUT;
        if (!status) heaps[read] = *hd_dump_heap(dumps[read], 0);
        read++;
    }
    if (!status) status = condense(heaps, read, a, names, &condensed, &count);
    if (!status) status = write_heaps(a, condensed, count, NULL, out, !a->output || !is_main);
    if (!status) tell_written(out, condensed, count);
    condensed_free(condensed, count);
    for (size_t i = 0; i < read; i++) hd_dump_free(dumps[i]);
    free(dumps);
    free(heaps);
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
        size_t length = strlen(e->d_name);
        if (length < 6 || strcmp(e->d_name + length - 6, ".stats")) continue;
        snprintf(path, sizeof path, "%s/%s", spool, e->d_name);
        f = fopen(path, "r");
        if (f) put_lines(stderr, (hd_str){ text, fread(text, 1, sizeof text, f) });
        if (f) fclose(f);
        unlink(path);
    }
    if (d) closedir(d);
}

static void why_no_dump(const arguments *a, int status) {
    const char *why = "was it started with a cleared environment, or did it end without its libc?";
    bool on_signal = a->at && !strncmp(a->at, "signal", 6);
    if (on_signal) why = "it never got the signal to dump";
    if (WIFSIGNALED(status))
        display(stderr, "heapdump: the program left no dump: killed by signal %d (%s)%s\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)),
                on_signal                            ? ", and it never got the one to dump"
                : a->at && !strncmp(a->at, "every", 5) ? " before the first was due"
                                                     : "; --at every or --at signal dump before that");
    else
        display(stderr, "heapdump: the program left no dump: %s\n", why);
}

/* A link PID.STARTED.missing to the error for which a dump of the process is missing; 0 is none. */
static int missing_dump(const char *spool, const char *path, pid_t pid) {
    char error[16];
    ssize_t n = readlink(path, error, sizeof error - 1);
    error[n > 0 ? n : 0] = 0;
    unlink(path);
    if (atoi(error))
        display(stderr, "heapdump: process %ld could not write a dump into %s: %s\n", (long)pid, spool,
                strerror(atoi(error)));
    else
        display(stderr, "heapdump: process %ld left no dump at its end: a signal handler ended it inside "
                "malloc, or left malloc by a jump\n", (long)pid);
    return atoi(error) ? BAD_INPUT : DONE;
}

/* What is in the spool beside dumps: links that tell of missing ones, and lists of modules whose process was
   killed before it had written the rest. *told: why there is no dump of main_pid. */
static int spool_clean(const spool_dir *s, pid_t main_pid, bool *told) {
    DIR *d = opendir(s->here);
    struct dirent *e;
    int status = DONE;
    *told = false;
    while (d && (e = readdir(d))) {
        char path[PATH_MAX];
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        char *dot = strrchr(e->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", s->here, e->d_name);
        if (dot && !strcmp(dot, ".modules")) {
            *dot = 0;
            if (faccessat(s->fd, e->d_name, F_OK, AT_SYMLINK_NOFOLLOW)) unlink(path);
            continue;
        }
        if (!dot || strcmp(dot, ".missing")) continue;
        if (missing_dump(s->path, path, pid)) status = BAD_INPUT;
        *told |= pid == main_pid;
    }
    if (d) closedir(d);
    return status;
}

/* Resolves all that was recorded, then takes the spool away, but for what could not be written; a
   child that ends later finds it taken and writes where we were started. */
int record_finish(const arguments *a, const spool_dir *s, pid_t main_pid, int ended) {
    const char *spool = s->here;
    symbols names = { 0 };
    spooled *files;
    size_t n;
    int status = DONE;
    unsigned image = 0;
    bool any = false, told;
    spool_take(s);
    n = spool_list(spool, record_ending(a), &files);
    for (size_t i = 0, k; i < n; i = k) {
        bool is_last, is_main = files[i].pid == (unsigned long)main_pid;
        for (k = i + 1; k < n && files[k].pid == files[i].pid && files[k].started == files[i].started; k++) {}
        is_last = k == n || files[k].pid != files[i].pid;
        any |= is_main;
        if (!is_last) image++;
        if (a->record_format ? record_raw(a, spool, &files[k - 1], is_main && is_last, is_last ? 0 : image, &names)
                      : record_process(a, spool, files + i, k - i, is_main && is_last, is_last ? 0 : image,
                                       &names)) {
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
    if (spool_clean(s, main_pid, &told)) status = BAD_INPUT;
    if (!any && !told) why_no_dump(a, ended);
    show_stats(spool);
    for (size_t i = 0; i < n; i++) free(files[i].name);
    free(files);
    symbols_free(&names);
    if (rmdir(s->path) && errno != ENOENT)
        display(stderr, "heapdump: what was recorded is left in %s\n", s->path);
    return status;
}
