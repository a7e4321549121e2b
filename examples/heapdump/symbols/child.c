/* The process of the child that names addresses: starts it, exchanges messages with it, and survives it. */

#include "child.h"
#include "wire.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOK_MS = 50, HELD_MS = 200, REAP_MS = 300, START_MS = 20000 };

static uint64_t memory_most = (uint64_t)2 << 30;
static double seconds_most = 60;

void symbols_limit(uint64_t memory, double seconds) {
    if (memory) memory_most = memory;
    if (seconds > 0) seconds_most = seconds;
}

double symbols_seconds_most(void) { return seconds_most; }

/* The process. -------------------------------------------------------------------------------- */

extern char **environ;

static void symbols_cannot_start(symbols *s, const char *why) {
    s->none = true;
    progress_end();
    display(stderr, "heapdump: cannot start the process that finds function names: %s; frames stay FILE+0xOFFSET\n",
            why);
}

bool symbols_start(symbols *s) {
    char memory[24], time_ns[24], parent[24], served_ns[24], served_bytes[24];
    char *argv[] = { (char *)"heapdump", (char *)"--names-of-frames", memory, time_ns, parent, served_ns,
                     served_bytes, NULL };
    posix_spawn_file_actions_t files;
    int ends[2], failed;
    if (s->child.pid || s->none) return !s->none;
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)memory_most);
    snprintf(time_ns, sizeof time_ns, "%.0f", seconds_most * 1e9);
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(served_ns, sizeof served_ns, "%llu", (unsigned long long)s->served_ns);
    snprintf(served_bytes, sizeof served_bytes, "%llu", (unsigned long long)s->served_bytes);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        symbols_cannot_start(s, strerror(errno));
        return false;
    }
    s->child.fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 3); /* 0 to 2 may have been closed */
    close(ends[0]);
    failed = s->child.fd < 0 ? errno : posix_spawn_file_actions_init(&files);
    if (!failed) {
        failed = posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
        if (!failed) failed = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (!failed) failed = posix_spawn(&s->child.pid, "/proc/self/exe", &files, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    close(ends[1]);
    if (!failed) {
        fcntl(s->child.fd, F_SETFL, O_NONBLOCK);
        s->children++;
        return true;
    }
    if (s->child.fd >= 0) close(s->child.fd);
    s->child = (symbols_child){ 0 };
    symbols_cannot_start(s, strerror(failed));
    return false;
}

static uint64_t running_ns(const symbols_child *c) {
    clockid_t clock;
    struct timespec t;
    if (!c->pid || clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t symbols_child_nanoseconds(const symbols *s) { return s->spent_ns + running_ns(&s->child); }

/* Waits briefly for a process to end, and adds its processor time. Even SIGKILL does not end a process whose file
   system does not answer; such a process is left behind. -1: its status is unknown. */
static int wait_for(symbols *s, pid_t pid, int most_ms) {
    struct rusage used = { 0 };
    int status = -1;
    pid_t got;
    for (int ms = 0; !(got = wait4(pid, &status, WNOHANG, &used)) && ms < most_ms; ms += 5) poll(NULL, 0, 5);
    if (!got) s->dying[s->dying_count++ % SYMBOLS_DYING] = pid;
    if (got <= 0) return -1;
    s->spent_ns += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
    return status;
}

/* Ends the child and returns its status; -1: unknown. */
static int child_end(symbols *s, int most_ms) {
    symbols_child *c = &s->child;
    pid_t pid = c->pid, before[SYMBOLS_DYING];
    if (!pid) return -1;
    memcpy(before, s->dying, sizeof before);
    memset(s->dying, 0, sizeof s->dying);
    s->dying_count = 0;
    for (int i = 0; i < SYMBOLS_DYING; i++)
        if (before[i]) wait_for(s, before[i], 0);
    kill(pid, SIGKILL);          /* a process that already ended keeps its status */
    close(c->fd);
    for (uint32_t i = 0; i < c->brought_count; i++) close(c->brought[i]);
    free(c->in);
    *c = (symbols_child){ 0 };
    return wait_for(s, pid, most_ms);
}

void symbols_child_end(symbols *s) { child_end(s, REAP_MS); }

void symbols_child_drop(symbols *s) { child_end(s, 0); }

static char *format_why(const char *format, ...) {
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    return needed(text);
}

/* The child's socket closes a moment before the process has ended. */
char *symbols_child_died(symbols *s, const char *ended_for) {
    siginfo_t info;
    int status;
    if (!ended_for)
        for (int i = 0; i < 100 && !waitid(P_PID, (id_t)s->child.pid, &info, WEXITED | WNOWAIT | WNOHANG) &&
                        !info.si_pid; i++)
            poll(NULL, 0, 10);
    status = child_end(s, REAP_MS);
    if (ended_for) return format_why("%s", ended_for);
    if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return format_why("reading it takes too long (limit: %g s of processor time; --names-time raises it)",
                          seconds_most);
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == WIRE_NO_MEMORY)
        return format_why("reading it runs out of memory (limit: %.3g GiB; --names-memory raises it)",
                          (double)memory_most / (1 << 30));
    if (status >= 0 && WIFSIGNALED(status))
        return format_why("the process that read it ended: %s", strsignal(WTERMSIG(status)));
    return format_why("the process that read it ended");
}

/* Waiting. ------------------------------------------------------------------------------------ */

static int64_t milliseconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

/* Whether a signal that ends us is blocked and has been pending for a moment. */
static bool is_interrupted(symbols *s) {
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t pending;
    bool any = false;
    if (sigpending(&pending)) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) any |= sigismember(&pending, ends[i]) == 1;
    if (!any) s->held = (struct timespec){ 0 };
    else if (!s->held.tv_sec && !s->held.tv_nsec) clock_gettime(CLOCK_MONOTONIC, &s->held);
    else return milliseconds_since(&s->held) >= HELD_MS;
    return false;
}

/* Whether a process runs, or would run if a processor were free. */
static bool is_running(pid_t pid) {
    char path[40], text[128];
    const char *end;
    FILE *f;
    size_t n;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    end = strrchr(text, ')');
    return end && !strncmp(end, ") R", 3);
}

/* Whether the child neither computes nor answers: perhaps its file system or server does not answer. */
static bool is_silent(symbols_child *c) {
    uint64_t ran = running_ns(c);
    if (ran > c->ran_ns + 5000000 || is_running(c->pid)) {
        c->ran_ns = ran;
        clock_gettime(CLOCK_MONOTONIC, &c->moved);
    }
    return milliseconds_since(&c->moved) > c->patience_ms;
}

/* Waits until the child's socket is ready, and does other work meanwhile. */
static symbols_outcome child_wait(symbols *s, short events) {
    symbols_child *c = &s->child;
    const symbols_meanwhile *m = &s->meanwhile;
    struct pollfd wait[1 + SYMBOLS_MEANWHILE] = { { .fd = c->fd, .events = events } };
    for (;;) {
        uint32_t more = m->wait ? m->wait(m->user, wait + 1) : 0;
        int n = poll(wait, 1 + more, LOOK_MS);
        if (is_interrupted(s)) return SYMBOLS_INTERRUPTED;
        if (n < 0 && errno != EINTR) return SYMBOLS_DIED;
        if (n >= 0 && more) {
            s->is_busy = true;
            m->serve(m->user, wait + 1, more);
            s->is_busy = false;
        }
        if (n > 0 && wait[0].revents) return SYMBOLS_ANSWERED;
        if (!is_silent(c)) continue;
        s->waited_ms += c->patience_ms;
        return SYMBOLS_SILENT;
    }
}

/* Sending and receiving. ---------------------------------------------------------------------- */

symbols_outcome symbols_child_send(symbols *s, const void *data, size_t bytes, const int *fds, uint32_t count) {
    union { char bytes[CMSG_SPACE(SYMBOLS_FILES * sizeof(int))]; struct cmsghdr align; } rights;
    const char *from = data;
    while (bytes) {
        struct iovec part = { (void *)(uintptr_t)from, bytes };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t n;
        if (count) {
            struct cmsghdr *c;
            memset(&rights, 0, sizeof rights);
            message.msg_control = &rights;
            message.msg_controllen = CMSG_SPACE(count * sizeof(int));
            c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(count * sizeof(int));
            memcpy(CMSG_DATA(c), fds, count * sizeof(int));
        }
        n = sendmsg(s->child.fd, &message, MSG_NOSIGNAL);
        if (n > 0) {
            from += n, bytes -= (size_t)n, count = 0;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            symbols_outcome o = child_wait(s, POLLOUT);
            if (o != SYMBOLS_ANSWERED) return o;
        } else {
            return SYMBOLS_DIED;
        }
    }
    return SYMBOLS_ANSWERED;
}

/* Reads more of the child's output, and the descriptor that comes with it. */
static symbols_outcome child_read(symbols_child *c) {
    enum { MORE = 1 << 16 };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct iovec part;
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights,
                              .msg_controllen = sizeof rights.bytes };
    struct cmsghdr *brings;
    ssize_t n;
    if (c->in_start && c->in_size) memmove(c->in, c->in + c->in_start, c->in_size);
    c->in_start = 0;
    if (c->in_room - c->in_size < MORE) c->in = needed(realloc(c->in, c->in_room = 2 * c->in_size + 2 * MORE));
    part = (struct iovec){ c->in + c->in_size, c->in_room - c->in_size };
    n = recvmsg(c->fd, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR) ? SYMBOLS_ANSWERED : SYMBOLS_DIED;
    brings = CMSG_FIRSTHDR(&message);
    if (brings && brings->cmsg_level == SOL_SOCKET && brings->cmsg_type == SCM_RIGHTS) {
        int fd;
        memcpy(&fd, CMSG_DATA(brings), sizeof fd);
        if (c->brought_count < sizeof c->brought / sizeof *c->brought) c->brought[c->brought_count++] = fd;
        else close(fd);          /* nobody waits for a descriptor */
    }
    c->in_size += (size_t)n;
    clock_gettime(CLOCK_MONOTONIC, &c->moved);
    return SYMBOLS_ANSWERED;
}

/* Takes all complete records. */
static bool take_records(symbols_child *c, symbols_record_fn take, void *user, const bool *done) {
    while (c->in_size >= sizeof(wire_head) && !*done) {
        wire_head head;
        memcpy(&head, c->in + c->in_start, sizeof head);
        if (head.bytes > WIRE_RECORD_MOST) return false;
        if (c->in_size < sizeof head + head.bytes) break;
        if (head.type == WIRE_HELLO) c->greeted = true;
        else if (!take || !take(user, head.type, c->in + c->in_start + sizeof head, head.bytes)) return false;
        c->in_start += sizeof head + head.bytes;
        c->in_size -= sizeof head + head.bytes;
    }
    return true;
}

symbols_outcome symbols_child_receive(symbols *s, symbols_record_fn take, void *user, const bool *done) {
    clock_gettime(CLOCK_MONOTONIC, &s->child.moved);
    while (!*done) {
        symbols_outcome o = child_wait(s, POLLIN);
        if (o == SYMBOLS_ANSWERED) o = child_read(&s->child);
        if (o != SYMBOLS_ANSWERED) return o;
        if (!take_records(&s->child, take, user, done)) return SYMBOLS_DIED;
    }
    return SYMBOLS_ANSWERED;
}

symbols_outcome symbols_child_ready(symbols *s, int64_t patience_ms) {
    symbols_child *c = &s->child;
    symbols_outcome status;
    if (is_interrupted(s)) return SYMBOLS_INTERRUPTED;
    if (!symbols_start(s)) return SYMBOLS_NO_CHILD;
    c->patience_ms = START_MS;
    status = symbols_child_receive(s, NULL, NULL, &c->greeted);
    c->patience_ms = patience_ms;
    clock_gettime(CLOCK_MONOTONIC, &c->moved);
    if (status == SYMBOLS_ANSWERED || status == SYMBOLS_INTERRUPTED) return status;
    child_end(s, REAP_MS);
    symbols_cannot_start(s, "it ended at once");
    return SYMBOLS_NO_CHILD;
}
