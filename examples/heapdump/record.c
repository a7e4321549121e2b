/* heapdump record: runs a program under the preloaded recorder. */

#include "commands.h"
#include "record.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The recorder: what $HEAPDUMP_RECORDER names, or else beside this program, or where `make install` puts it. */
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

/* Whether nobody else can make a name in a directory, now or when it has gone: it and all above it are ours
   or root's alone. *path: the directory without links, one of which another might lead elsewhere. */
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

/* A way to the recorder that LD_PRELOAD can hold: spaces and colons end a name there. Programs may be loaded
   when it is gone, and must not find somebody else's there. */
static bool link_recorder(char path[PATH_MAX], const char *spool, char link[PATH_MAX]) {
    const char *directories[] = { getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"), getenv("HOME") };
    char whole[PATH_MAX], in[PATH_MAX];
    *link = 0;
    if (!strpbrk(path, " :")) return true;
    if (!realpath(path, whole)) return false;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (!directories[i] || *directories[i] != '/' || !is_private(directories[i], in) || strpbrk(in, " :"))
            continue;
        if (snprintf(link, PATH_MAX, "%s%s.so", in, strrchr(spool, '/')) < PATH_MAX && !symlink(whole, link)) {
            snprintf(path, PATH_MAX, "%s", link);
            return true;
        }
    }
    *link = 0;
    return false;
}

/* Tells the recorder of a directory, by its numbers as well, lest it writes into another of that name. */
static void set_place(const char *variable, const struct stat *st, const char *path) {
    char spelled[PATH_MAX + 48];
    snprintf(spelled, sizeof spelled, "%llu:%llu:%s", (unsigned long long)st->st_dev,
             (unsigned long long)st->st_ino, path);
    setenv(variable, spelled, 1);
}

static void child_run(const arguments *a, const char *library, const spool_dir *spool, const char *at) {
    const char *before = getenv("LD_PRELOAD");
    char *preload = NULL, depth[16], sample[24], cwd[PATH_MAX];
    struct stat st;
    if (asprintf(&preload, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0)
        _exit(126);
    snprintf(depth, sizeof depth, "%u", a->depth);
    setenv("LD_PRELOAD", preload, 1);
    set_place("HEAPDUMP_SPOOL", &spool->st, spool->path);
    setenv("HEAPDUMP_AT", at, 1);
    snprintf(sample, sizeof sample, "%llu", (unsigned long long)a->sample_bytes);
    setenv("HEAPDUMP_DEPTH", depth, 1);
    setenv("HEAPDUMP_SAMPLE", sample, 1);
    if (a->record_format) setenv("HEAPDUMP_FORMAT", a->record_format, 1);
    else unsetenv("HEAPDUMP_FORMAT");
    if (a->stats) setenv("HEAPDUMP_STATS", "1", 1);
    else unsetenv("HEAPDUMP_STATS");
    if (getcwd(cwd, sizeof cwd) && !stat(".", &st)) set_place("HEAPDUMP_DIR", &st, cwd);
    execvp(a->files[0], a->files);
    display(stderr, "heapdump: cannot run %s: %s\n", a->files[0], strerror(errno));
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
static bool run_recorded(const arguments *a, const char *library, const spool_dir *spool, const char *at,
                         pid_t *pid, int *status) {
    struct sigaction ignore = { .sa_handler = SIG_IGN }, forward = { .sa_handler = pass_on };
    struct sigaction old_ignored[IGNORED], old_forwarded[FORWARDED];
    /* who ignores SIGCHLD is not told how its child ended */
    struct sigaction wait_for = { .sa_handler = SIG_DFL }, old_wait_for;
    sigset_t held, old_held; /* what comes before there is a process to forward it to */
    sigemptyset(&held);
    for (int i = 0; i < FORWARDED; i++) sigaddset(&held, forwarded[i]);
    sigprocmask(SIG_BLOCK, &held, &old_held);
    sigaction(SIGCHLD, &wait_for, &old_wait_for);
    for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &ignore, &old_ignored[i]);
    *pid = fork();
    if (*pid == 0) {
        sigprocmask(SIG_SETMASK, &old_held, NULL);
        for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &old_ignored[i], NULL);
        sigaction(SIGCHLD, &old_wait_for, NULL);
        child_run(a, library, spool, at);
    }
    recorded_pid = *pid;
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &forward, &old_forwarded[i]);
    sigprocmask(SIG_SETMASK, &old_held, NULL);
    if (*pid > 0 && !strncmp(at, "signal=", 7))
        display(stderr, "heapdump: recording process %ld; kill -%s %ld makes it dump\n", (long)*pid, at + 7,
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

int run_record(const arguments *a) {
    char library[PATH_MAX], link[PATH_MAX], at[64];
    spool_dir spool;
    arguments condensed = *a;
    pid_t pid;
    int status;
    if (!a->file_count) return usage("record needs a program: heapdump record [OPTIONS] -- PROGRAM ARGS...");
    if (a->record_format && (a->sample_bytes || a->has_cutoff))
        return usage("a MemProf profile is neither sampled nor cut off");
    status = check_at(a->at, at);
    if (!status) status = check_output(a->output);
    if (status) return status;
    if (!program_check(a->files[0])) return BAD_INPUT;
    if (!a->has_cutoff) {
        condensed.cutoff.min_share = 0.0001;
        a = &condensed;
    }
    if (!find_recorder(library)) {
        const char *named = getenv("HEAPDUMP_RECORDER");
        if (named && *named) display(stderr, "heapdump: HEAPDUMP_RECORDER: cannot read %s: %s\n", named, strerror(errno));
        else display(stderr, "heapdump: libheapdump_record.so is neither beside this program nor in ../lib/heapdump; "
                             "HEAPDUMP_RECORDER can say where it is\n");
        return BAD_INPUT;
    }
    if (!spool_make(&spool)) return BAD_INPUT;
    if (!link_recorder(library, spool.path, link)) {
        display(stderr, "heapdump: LD_PRELOAD cannot hold the path of libheapdump_record.so, and a link needs TMPDIR, "
              "XDG_RUNTIME_DIR or HOME to be, with all above it, its user's alone, and without spaces\n");
        rmdir(spool.path);
        return BAD_INPUT;
    }
    if (!run_recorded(a, library, &spool, at, &pid, &status)) {
        display(stderr, "heapdump: cannot start a process: %s\n", strerror(errno));
        if (*link) unlink(link);
        rmdir(spool.path);
        return BAD_INPUT;
    }
    if (*link) unlink(link);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126) && !rmdir(spool.path))
        return WEXITSTATUS(status); /* it never ran */
    if (record_finish(a, &spool, pid, status) && WIFEXITED(status) && !WEXITSTATUS(status)) {
        display(stderr, "heapdump: not all dumps could be written\n");
        return BAD_INPUT;
    }
    return end_as(status);
}
