/* heapdump record: runs a program with the preloaded recorder, and reads the region that it records into. */

#include "record.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* The recorder: the file named by $HEAPDUMP_RECORDER, else the one in the directory of this program, or where `make
   install` puts it. */
static bool find_recorder(char path[PATH_MAX]) {
    static const char *const places[] = { "/libheapdump_record.so", "/../lib/heapdump/libheapdump_record.so" };
    const char *named = getenv("HEAPDUMP_RECORDER");
    char self[PATH_MAX - 64];
    ssize_t n;
    char *slash;
    if (named && *named) return realpath(named, path) && !access(path, R_OK);
    n = readlink("/proc/self/exe", self, sizeof self - 1);
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

/* The number of a signal that may trigger a dump; 0: not one of them. */
static int signal_of(const char *name) {
    static const struct { const char *name; int number; } signals[] = {
        { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "INT", SIGINT }, { "TERM", SIGTERM }, { "HUP", SIGHUP } };
    if (!strncmp(name, "SIG", 3)) name += 3;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!strcmp(name, signals[i].name)) return signals[i].number;
    return 0;
}

static bool take_at(recording *r, const char *at) {
    char *end;
    if (!strcmp(at, "exit")) return r->at_exit = true;
    if (!strcmp(at, "peak")) return r->at_peak = true;
    if (!strncmp(at, "every=", 6)) {
        return parse_number(at + 6, &end, &r->every) && !*end && r->every >= 0.001 && r->every < 1e9;
    }
    if (!strcmp(at, "signal")) at = "signal=USR2";
    if (strncmp(at, "signal=", 7)) return false;
    return (r->at_signal = signal_of(at + 7)) != 0;
}

static int check_at(recording *r) {
    FREED char *list = needed(strdup(*r->a->record.at ? r->a->record.at : "peak,exit"));
    char *next = list;
    int status = DONE;
    for (const char *at; !status && (at = strsep(&next, ","));)
        if (!take_at(r, at))
            status = usage("--at takes peak, exit, every=SECONDS, signal and signal=NAME (USR1, USR2, INT, TERM or "
                           "HUP), with commas between them, not '%s'", at);
    return status;
}

/* Whether no other user can create a name in a directory, even after ours is gone: only we or root can write to it
   and all directories above it. *path: the directory without symbolic links, which another user might redirect. */
static bool is_private(const char *directory, char path[PATH_MAX]) {
    char above[PATH_MAX];
    struct stat st;
    if (!realpath(directory, path)) return false;
    snprintf(above, sizeof above, "%s", path);
    for (char *end = above + strlen(above); end; end = strrchr(above, '/')) {
        *end = 0;
        if (stat(*above ? above : "/", &st) || (st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022))
            return false;
    }
    return true;
}

/* Makes a path to the recorder without spaces and colons, which end a name in LD_PRELOAD: if needed, a link. Programs
   may load it after the link is gone, so no other user may be able to create that name. */
static bool link_recorder(char path[PATH_MAX], const char *name, char link[PATH_MAX]) {
    const char *directories[] = { getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"), getenv("HOME") };
    char whole[PATH_MAX], in[PATH_MAX];
    *link = 0;
    if (!strpbrk(path, " :")) return true;
    if (!realpath(path, whole)) return false;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (!directories[i] || *directories[i] != '/' || !is_private(directories[i], in) || strpbrk(in, " :"))
            continue;
        if (snprintf(link, PATH_MAX, "%s/heapdump-%s.so", in, name) < PATH_MAX && !symlink(whole, link)) {
            snprintf(path, PATH_MAX, "%s", link);
            return true;
        }
    }
    *link = 0;
    return false;
}

static void child_run(const recording *r, const char *library) {
    const arguments *a = r->a;
    const char *before = getenv("LD_PRELOAD");
    char *preload = NULL, user[16];
    int error;
    if (asprintf(&preload, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0)
        _exit(126);
    snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    setenv("LD_PRELOAD", preload, 1);
    setenv("HEAPDUMP_JOIN", r->socket, 1);
    setenv("HEAPDUMP_USER", user, 1);
    setrlimit(RLIMIT_NOFILE, &r->files);
    execvp(a->input.files[0], a->input.files);
    error = errno;
    program_tell(a->input.files[0], error);
    _exit(error == ENOENT ? 127 : 126);
}

/* Ends with the status of the program, or by its signal. */
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

/* Signals that we receive while the program runs: those of the terminal, which also reach the program and are the
   program's to handle, and signals sent only to our pid. */
static const int taken[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

static void signals_set(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) sigaddset(set, taken[i]);
}

/* Starts the program; false if no process can be created. */
static bool program_start(recording *r, const char *library, sigset_t *before) {
    struct sigaction standard = { .sa_handler = SIG_DFL }, child; /* if SIGCHLD is ignored, the exit status is lost */
    sigset_t set;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, before);
    sigaction(SIGCHLD, &standard, &child);
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signals < 0) return false;
    r->main = fork();
    if (r->main == 0) {
        sigaction(SIGCHLD, &child, NULL);
        sigprocmask(SIG_SETMASK, before, NULL);
        child_run(r, library);
    }
    return r->main > 0;
}

static void timer_start(recording *r) {
    struct itimerspec every = { 0 };
    every.it_interval.tv_sec = (time_t)r->every;
    every.it_interval.tv_nsec = (long)((r->every - (double)every.it_interval.tv_sec) * 1e9);
    every.it_value = every.it_interval;
    r->timer = r->every > 0 ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
    if (r->every > 0 && r->timer < 0)
        display(stderr, "heapdump: cannot create the timer of --at every: %s\n", strerror(errno));
    if (r->timer >= 0) timerfd_settime(r->timer, 0, &every, NULL);
}

/* Ends recording in all running processes, so that all heaps are of one moment. */
static void record_end(recording *r) {
    enum { LONGEST_US = 500000 };
    if (r->stopped_us) return;
    hd_region_end(r->region.base, r->region.size);
    r->stopped_us = now_us();
    r->settled_us = r->stopped_us + LONGEST_US;
}

void record_stop(recording *r) {
    r->stopped = true;
    record_end(r);
}

static void signal_taken(recording *r, int number) {
    if (number == SIGCHLD) {
        while (!r->main_ended && waitpid(r->main, &r->status, WNOHANG) == r->main) r->main_ended = true;
    } else if (number == r->at_signal) {
        processes_look(r);
        for (uint32_t i = 0; i < r->count; i++) resident_look_at(r, r->processes[i]);
        timeline_moment(r, false);
    } else if (r->main_ended) {
        if (number != SIGQUIT && number != SIGUSR1 && number != SIGUSR2) record_stop(r);
    } else if (number != SIGINT && number != SIGQUIT) {
        kill(r->main, number);
    }
}

static void signals_take(recording *r) {
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == sizeof info) signal_taken(r, (int)info.ssi_signo);
}

/* symbols_meanwhile of a recording: polls the sockets of starting programs and of requests. */
static uint32_t meanwhile_wait(void *user, struct pollfd *to) {
    recording *r = user;
    uint32_t n = join_wait(r, to);
    if (r->listener < 0) return 0;
    to[n] = (struct pollfd){ .fd = control_polled(r), .events = POLLIN };
    return n + 1;
}

/* Does all work that needs no names; the rest follows after the search for names. */
static void meanwhile_serve(void *user, const struct pollfd *from, uint32_t count) {
    enum { APART_US = 50000 };
    const struct timespec at_once = { 0 };
    recording *r = user;
    sigset_t asks;
    join_serve(r, from, count - 1);
    if (from[count - 1].revents) control_answer(r);
    sigemptyset(&asks);
    if (r->at_signal) sigaddset(&asks, r->at_signal);
    if (r->at_signal && sigtimedwait(&asks, NULL, &at_once) > 0) signal_taken(r, r->at_signal);
    if (now_us() - r->look_us >= APART_US) processes_look(r);
}

/* Waits for an event and handles it. Forked processes are found by looking into the region. */
static void wait_once(recording *r, int milliseconds) {
    enum { FIRST = 3 };
    FREED struct pollfd *wait = needed(calloc(FIRST + SYMBOLS_MEANWHILE + r->count, sizeof *wait));
    int own[FIRST] = { control_polled(r), r->signals, r->timer };
    nfds_t n = 0;
    uint32_t joins;
    uint64_t times;
    for (; n < FIRST; n++) wait[n].fd = own[n];
    joins = join_wait(r, wait + n);
    n += joins;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->processes[i]->pidfd >= 0) wait[n++].fd = r->processes[i]->pidfd;
    for (nfds_t i = 0; i < n; i++) wait[i].events = POLLIN;
    if (r->soon) r->soon--, milliseconds = 5;
    if (poll(wait, n, milliseconds) >= 0) {
        join_serve(r, wait + FIRST, joins);
        if (wait[0].revents) control_answer(r);
        if (wait[1].revents) signals_take(r);
        processes_look(r);
        unrecorded_look(r, false);
        resident_look(r);
        tell_hidden(r);
        if (wait[2].revents && read(r->timer, &times, sizeof times) == sizeof times) timeline_moment(r, true);
        processes_ended(r);
        moments_write(r);
    }
}

/* Whether a process records. Waits, up to a limit, for programs that are about to begin. */
static bool somebody_lives(recording *r) {
    for (int i = 0; i < 100 && !r->stopped && !processes_live(r) && processes_come(r); i++) wait_once(r, 20);
    return processes_live(r);
}

/* Waits for the end of the program, and of all recorded processes that it left behind. */
static void record_all(recording *r) {
    bool told = false;
    while (!r->main_ended && !r->stopped) wait_once(r, 100);
    while (!r->stopped && somebody_lives(r)) {
        if (!told)
            display(stderr, "heapdump: %s has ended; processes that it started are recorded until Ctrl-C or "
                            "heapdump stop %s\n",
                    r->a->input.files[0], r->file.path);
        told = true;
        wait_once(r, 500);
    }
    record_end(r);
    processes_look(r);
    processes_end(r);
    processes_ended(r);
    moments_write(r);
    if (!r->file.count) processes_end_instead(r);
}

static recording *discarded, *at_work;

/* Out of memory: removes a file that is still empty, and keeps the region. */
static void on_failure(void) {
    recording *r = at_work;
    if (!r) return;
    at_work = NULL;
    if (!r->file.count) timeline_discard(r);
    region_save(r);
}

static void on_discard(int number) {
    if (discarded) timeline_discard(discarded);
    signal(number, SIG_DFL);
    raise(number);
}

/* Writes the file. A signal from now on discards it. */
static int record_finish(recording *r) {
    struct sigaction discard = { .sa_handler = on_discard };
    sigset_t set;
    int status;
    discarded = r;
    sigaction(SIGINT, &discard, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    status = timeline_finish(r);
    sigprocmask(SIG_BLOCK, &set, NULL);
    discarded = at_work = NULL;  /* a complete file stays */
    symbols_tell(&r->names);
    tell_recorded(r, status);
    if (r->short_of_memory) region_save(r);
    control_close(r, status);
    return is_spoiled(r) ? BAD_INPUT : status;
}

/* After `stop` the program continues, and signals are passed on to it. */
static void program_wait(recording *r) {
    struct pollfd wait = { .fd = r->signals, .events = POLLIN };
    r->at_signal = 0;
    while (!r->main_ended)
        if (poll(&wait, 1, -1) > 0) signals_take(r);
}

/* Whether -o FILE can be created, checked before the program runs for hours. */
static int check_output(const char *path) {
    hd_file file;
    hd_error err;
    struct stat st;
    if (!path || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) return DONE;
    if (!strcmp(path, "-"))
        return usage("record cannot write to standard output, which the program uses: use -o FILE");
    if (hd_file_create(path, &file, &err)) {
        display(stderr, "heapdump: %s\n", err.message);
        return BAD_INPUT;
    }
    hd_file_discard(&file);
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        display(stderr, "heapdump: cannot write %s: %s\n", path, strerror(EISDIR));
        return BAD_INPUT;
    }
    return DONE;
}

static void recording_free(recording *r) {
    const int own[] = { r->listener, r->signals, r->timer, r->region.fd };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] >= 0) close(own[i]);
    timeline_free(r);
    processes_free(r);
    unrecorded_free(r);
    symbols_free(&r->names);
    if (r->region.base) munmap(r->region.base, (size_t)r->region.size);
}

/* The recorder's path for LD_PRELOAD; false on failure, which stderr explains. */
static bool recorder_open(const recording *r, char library[PATH_MAX], char link[PATH_MAX]) {
    const char *named = getenv("HEAPDUMP_RECORDER");
    if (!find_recorder(library)) {
        if (named && *named)
            display(stderr, "heapdump: HEAPDUMP_RECORDER: cannot read %s: %s\n", named, strerror(errno));
        else display(stderr, "heapdump: found no libheapdump_record.so in this program's directory or in "
                             "../lib/heapdump; set HEAPDUMP_RECORDER to its path\n");
        return false;
    }
    if (link_recorder(library, r->socket, link)) return true;
    display(stderr, "heapdump: LD_PRELOAD cannot hold the path of libheapdump_record.so, which has a space or "
            "colon. A link to it needs a directory that only you can write to, without these characters: set TMPDIR, "
            "XDG_RUNTIME_DIR or HOME to one\n");
    return false;
}

/* Raises our limit of open files: each running process takes one, and so does each module. The program keeps its own
   limit. */
static void files_allow(recording *r) {
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &r->files);
    most = r->files;
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int record_run(recording *r) {
    char library[PATH_MAX], link[PATH_MAX];
    sigset_t before;
    int status;
    files_allow(r);
    if (!region_make(&r->region, r->a->record.region)) return BAD_INPUT;
    if (!join_listen(r) || !recorder_open(r, library, link)) return BAD_INPUT;
    r->library = library;
    r->names.meanwhile = (symbols_meanwhile){ meanwhile_wait, meanwhile_serve, r };
    symbols_start(&r->names);    /* it gets ready while the program starts */
    if (!program_start(r, library, &before)) {
        display(stderr, "heapdump: cannot start a process: %s\n", strerror(errno));
        if (*link) unlink(link);
        return BAD_INPUT;
    }
    timeline_open(r);
    if (r->at_signal)
        display(stderr, "heapdump: recording process %ld; kill -%d %ld makes a dump\n", (long)r->main, r->at_signal,
                (long)getpid());
    timer_start(r);
    at_work = r;
    before_failing = on_failure;
    record_all(r);
    join_end(r);
    if (*link) unlink(link);
    if (WIFEXITED(r->status) && (WEXITSTATUS(r->status) == 127 || WEXITSTATUS(r->status) == 126) && !r->joined) {
        status = DONE;           /* the program never ran */
        if (r->a->record.region) unlink(r->a->record.region);
    } else {
        status = record_finish(r);
    }
    program_wait(r);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (status && WIFEXITED(r->status) && !WEXITSTATUS(r->status)) return BAD_INPUT;
    status = r->status;
    recording_free(r);
    return end_as(status);
}

void record_defaults(arguments *a) {
    if (format_is(a->record.format, FORMAT_RFC)) a->memprof.version = "rfc";
}

int run_record(const arguments *a) {
    static recording r = { .region = { .fd = -1 }, .listener = -1, .timer = -1, .signals = -1, .file = { .fd = -1 } };
    bool axes = a->record.ages || a->record.threads;
    int status;
    if (!a->input.file_count) return usage("record needs a program: heapdump record [OPTIONS] -- PROGRAM ARGS...");
    if (a->record.format && (a->record.sample_bytes || a->cut.has_cutoff))
        return usage("MemProf formats take no --sample and no cut-off options");
    if (a->record.blocks && a->record.sample_bytes)
        return usage("--blocks does not go with --sample, which misses blocks");
    if (a->record.format && axes) return usage("MemProf formats take neither --ages nor --threads");
    if (a->record.format && *a->record.at) return usage("MemProf formats cover the whole run: they take no --at");
    r.a = a;
    r.out = a->out, r.cut = a->cut;
    status = check_at(&r);
    if (!status) status = check_output(a->out.file);
    if (!status && a->out.file) status = check_terminal(a->out.file, a->record.format);
    if (status) return status;
    if (!program_check(a->input.files[0])) return BAD_INPUT;
    if (!a->cut.has_cutoff) r.cut.cutoff.min_share = LEAST_SHARE;
    if (axes) r.out.to = rows_named_by(a->out.file);
    else if (!a->record.format) warn_ending(a->out.file);
    return record_run(&r);
}

/* Whether any process recorded ages, or threads. */
static bool has_axes(region *r) {
    hd_limits limits = { 0 };
    uint64_t bytes = region_bytes(r, &limits);
    uint32_t count = region_count(r, bytes, &limits);
    hd_recorded state;
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++)
        found = !hd_recorder_view(r->base, bytes, i, &state, NULL) && (state.ages || state.threads);
    region_was_read(r);
    return found;
}

/* Recovers a file of --keep, also if heapdump was killed. */
int run_recover(const arguments *a) {
    recording r = { .region = { .fd = -1 }, .listener = -1, .timer = -1, .signals = -1,
                    .file = { .fd = -1 }, .at_peak = true, .at_exit = true, .a = a, .out = a->out, .cut = a->cut };
    int status;
    if (a->input.file_count != 1) return usage("recover takes one file: the region file of record --keep");
    if (!a->cut.has_cutoff) r.cut.cutoff.min_share = LEAST_SHARE;
    if (!region_open(&r.region, a->input.files[0])) return BAD_INPUT;
    if (has_axes(&r.region)) r.out.to = rows_named_by(a->out.file);
    timeline_open(&r);
    processes_look(&r);
    r.stopped_us = now_us();
    processes_end(&r);
    if (r.count) r.main = (pid_t)r.processes[0]->pid;
    r.file.is_plain = false;     /* written only once */
    processes_ended(&r);
    status = timeline_finish(&r);
    if (is_spoiled(&r)) status = BAD_INPUT;
    if (r.file.count) {
        tell_recorded(&r, status);
    } else {
        display(stderr, "heapdump: %s: found no readable recording in it\n", a->input.files[0]);
        status = BAD_INPUT;
    }
    recording_free(&r);
    return status;
}
