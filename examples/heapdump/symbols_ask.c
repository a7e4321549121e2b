/* The parent's side of the child that names addresses: starts it, asks it, and outlives it. */

#include "symbols.h"
#include "symbols_wire.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOK_MS = 50, HELD_MS = 200, ALL_OBJECTS = 10, STUCK_SECONDS = 30 };

static uint64_t memory_most = (uint64_t)2 << 30;
static double seconds_most = 60;

typedef enum outcome { ANSWERED, DIED, INTERRUPTED, NO_CHILD } outcome;

/* A question that is being answered. */
typedef struct asking {
    symbols *s;
    symbols_object *o;
    symbols_kind kind;
    const uint64_t *addresses;
    uint32_t count, first, done; /* first: of this attempt */
    const symbols_taker *to;
    bool ended, full;            /* full: there are too many names */
    const char *why;             /* the child was ended; NULL: it ended itself */
} asking;

void symbols_limit(uint64_t memory, double seconds) {
    if (memory) memory_most = memory;
    if (seconds > 0) seconds_most = seconds;
}

/* The process. -------------------------------------------------------------------------------- */

extern char **environ;

static void cannot_start(symbols *s, const char *why) {
    s->none = true;
    progress_end();
    display(stderr, "heapdump: cannot start the process that finds function names: %s; frames stay FILE+0xOFFSET\n",
            why);
}

bool symbols_start(symbols *s) {
    char memory[24], time_ns[24], parent[24];
    char *argv[] = { (char *)"heapdump", (char *)"--names-of-frames", memory, time_ns, parent, NULL };
    posix_spawn_file_actions_t files;
    int ends[2], failed;
    if (s->child.pid || s->none) return !s->none;
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)memory_most);
    snprintf(time_ns, sizeof time_ns, "%.0f", seconds_most * 1e9);
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return cannot_start(s, strerror(errno)), false;
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
    cannot_start(s, strerror(failed));
    return false;
}

static uint64_t running_ns(const symbols_child *c) {
    clockid_t clock;
    struct timespec t;
    if (!c->pid || clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t symbols_child_nanoseconds(const symbols *s) { return s->spent_ns + running_ns(&s->child); }

/* Waits for a process and adds its processor time; -1: its status is unknown. */
static int wait_for(symbols *s, pid_t pid) {
    struct rusage used = { 0 };
    int status = -1;
    pid_t got;
    do got = wait4(pid, &status, 0, &used);
    while (got < 0 && errno == EINTR);
    s->spent_ns += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
    return got < 0 ? -1 : status;
}

/* Ends the child; it is waited for later, since it may have much memory to give back. */
static pid_t child_kill(symbols *s) {
    symbols_child *c = &s->child;
    pid_t pid = c->pid;
    if (!pid) return 0;
    kill(pid, SIGKILL);          /* a process that has ended keeps its status */
    close(c->fd);
    free(c->in);
    *c = (symbols_child){ 0 };
    return pid;
}

/* Ends the child and returns its status; -1: unknown. */
static int child_reap(symbols *s) {
    pid_t pid = child_kill(s);
    if (s->dying) wait_for(s, s->dying);
    s->dying = 0;
    return pid ? wait_for(s, pid) : -1;
}

void symbols_child_end(symbols *s) { child_reap(s); }

static char *format_why(const char *format, ...) {
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    return needed(text);
}

/* The reason for the death of the child. Its socket closes a moment before it has ended. */
static char *child_died(symbols *s, const char *ended_for) {
    siginfo_t info;
    int status;
    if (!ended_for)
        for (int i = 0; i < 100 && !waitid(P_PID, (id_t)s->child.pid, &info, WEXITED | WNOWAIT | WNOHANG) &&
                        !info.si_pid; i++)
            poll(NULL, 0, 10);
    status = child_reap(s);
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

/* Whether a signal that asks us to end is blocked and has been pending for a moment. */
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

/* Whether the child neither computes nor answers: a file system may not answer it. */
static bool is_stuck(symbols_child *c) {
    uint64_t ran = running_ns(c);
    if (ran > c->ran_ns + 5000000) {
        c->ran_ns = ran;
        clock_gettime(CLOCK_MONOTONIC, &c->moved);
    }
    return milliseconds_since(&c->moved) > (int64_t)((seconds_most + STUCK_SECONDS) * 1000);
}

/* Waits until the child's socket can be used. */
static outcome child_wait(asking *x, short events) {
    symbols_child *c = &x->s->child;
    struct pollfd wait = { .fd = c->fd, .events = events };
    for (;;) {
        int n = poll(&wait, 1, LOOK_MS);
        if (is_interrupted(x->s)) return INTERRUPTED;
        if (n > 0) return ANSWERED;
        if (n < 0 && errno != EINTR) return DIED;
        if (!is_stuck(c)) continue;
        x->why = "the process that read it got no answer from its file system or server";
        return DIED;
    }
}

/* Asking. ------------------------------------------------------------------------------------- */

static outcome child_send(asking *x, const void *data, size_t bytes, const int *fds, uint32_t count) {
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
        n = sendmsg(x->s->child.fd, &message, MSG_NOSIGNAL);
        if (n > 0) {
            from += n, bytes -= (size_t)n, count = 0;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            outcome o = child_wait(x, POLLOUT);
            if (o != ANSWERED) return o;
        } else {
            return DIED;
        }
    }
    return ANSWERED;
}

/* Opens the files of an object that the child does not have, and lists their paths. */
static uint32_t open_files(const symbols_object *o, int fds[SYMBOLS_FILES], char **text, size_t *bytes) {
    uint32_t n = 0;
    char *to;
    *bytes = strlen(o->path) + 1;
    for (uint32_t i = 0; i < o->file_count; i++) *bytes += strlen(o->files[i].file) + 1;
    *text = needed(malloc(*bytes));
    to = stpcpy(*text, o->path) + 1;
    for (uint32_t i = 0; i < o->file_count; i++) {
        const symbols_candidate *c = &o->files[i];
        int fd = c->fd >= 0 ? fcntl(c->fd, F_DUPFD_CLOEXEC, 3) : symbols_file_open(c->file);
        if (fd < 0) continue;
        fds[n++] = fd;
        to = stpcpy(to, c->file) + 1;
    }
    *bytes = (size_t)(to - *text);
    return n;
}

static outcome send_question(asking *x, bool strict) {
    symbols_object *o = x->o;
    wire_question q = { .object = (uint32_t)(o - x->s->objects), .version = o->version, .count = x->count - x->first,
                        .kind = (uint8_t)x->kind, .level = (uint8_t)o->level, .strict = strict };
    bool sent = o->sent == x->s->children;
    int fds[SYMBOLS_FILES];
    char *text = NULL;
    size_t bytes = 0;
    uint32_t files = sent ? 0 : open_files(o, fds, &text, &bytes);
    outcome status = ANSWERED;
    if (!sent && (!files || bytes > WIRE_TEXT_MOST)) { /* there is nothing to read */
        o->known = x->ended = true;
    } else {
        q.text_bytes = (uint32_t)bytes;
        q.files = (uint8_t)files;
        if (o->has_wanted_id) {
            q.build_id_size = (uint8_t)o->build_id_size;
            memcpy(q.build_id, o->build_id, sizeof q.build_id);
        }
        clock_gettime(CLOCK_MONOTONIC, &x->s->child.moved);
        status = child_send(x, &q, sizeof q, fds, files);
        if (status == ANSWERED) status = child_send(x, text, bytes, NULL, 0);
        if (status == ANSWERED)
            status = child_send(x, x->addresses + x->first, q.count * sizeof *x->addresses, NULL, 0);
        o->sent = x->s->children;
    }
    for (uint32_t i = 0; i < files; i++) close(fds[i]);
    free(text);
    return status;
}

/* Answers. ------------------------------------------------------------------------------------ */

static bool take_info(symbols_object *o, const char *data, size_t bytes) {
    wire_info info;
    if (bytes < sizeof info) return false;
    memcpy(&info, data, sizeof info);
    if (info.load_count > WIRE_LOADS_MOST || bytes != sizeof info + info.load_count * sizeof *o->loads ||
        info.build_id_size > sizeof o->build_id)
        return false;
    o->known = true;
    o->is_elf = info.is_elf != 0;
    o->load_count = info.load_count;
    o->loads = needed(realloc(o->loads, (info.load_count + 1) * sizeof *o->loads));
    memcpy(o->loads, data + sizeof info, info.load_count * sizeof *o->loads);
    if (o->has_wanted_id) return true;
    o->build_id_size = info.build_id_size;
    memcpy(o->build_id, info.build_id, sizeof o->build_id);
    return true;
}

/* A text of `bytes` with its zero, at *data; *text is NULL if it has no bytes. */
static bool take_text(const char **data, const char *end, uint32_t bytes, const char **text) {
    *text = bytes ? *data : NULL;
    if (!bytes) return true;
    if (bytes > (size_t)(end - *data) || (*data)[bytes - 1] || strlen(*data) != bytes - 1) return false;
    *data += bytes;
    return true;
}

static bool take_frames(asking *x, const char *data, size_t bytes) {
    symbols_frame frames[HD_MEMPROF_INLINE_MAX];
    const char *end = data + bytes, *texts;
    wire_frames head;
    if (bytes < sizeof head) return false;
    memcpy(&head, data, sizeof head);
    data += sizeof head;
    if (head.index != x->done - x->first || x->done >= x->count || head.count > HD_MEMPROF_INLINE_MAX ||
        (x->kind == SYMBOLS_TEXT && head.count > HD_RENAME_MAX) ||
        head.count > (size_t)(end - data) / sizeof(wire_frame))
        return false;
    texts = data + head.count * sizeof(wire_frame);
    for (uint32_t i = 0; i < head.count; i++) {
        wire_frame f;
        memcpy(&f, data + i * sizeof f, sizeof f);
        frames[i] = (symbols_frame){ .line = f.line, .column = f.column, .discriminator = f.discriminator,
                                     .start_line = f.start_line };
        if (!f.name_bytes || !take_text(&texts, end, f.name_bytes, &frames[i].name) ||
            !take_text(&texts, end, f.file_bytes, &frames[i].file))
            return false;
    }
    if (texts != end) return false;
    if (x->to->take(x->to->user, x->done++, head.count, frames)) return true;
    x->full = true;
    x->why = "its names take too much memory";
    return false;
}

static bool take_record(asking *x, uint32_t type, const char *data, size_t bytes) {
    const char *name;
    switch (type) {
    case WIRE_HELLO: return x->s->child.greeted = true;
    case WIRE_INFO: return take_info(x->o, data, bytes);
    case WIRE_FRAMES: return x->to->take && take_frames(x, data, bytes);
    case WIRE_NAME:
        return x->to->name && bytes && take_text(&data, data + bytes, (uint32_t)bytes, &name) &&
               x->to->name(x->to->user, name);
    case WIRE_END: return x->ended = true;
    default: return false;
    }
}

/* Takes all records that are whole. */
static bool take_records(asking *x) {
    symbols_child *c = &x->s->child;
    while (c->in_size >= sizeof(wire_head) && !x->ended) {
        wire_head head;
        memcpy(&head, c->in + c->in_start, sizeof head);
        if (head.bytes > WIRE_RECORD_MOST) return false;
        if (c->in_size < sizeof head + head.bytes) break;
        if (!take_record(x, head.type, c->in + c->in_start + sizeof head, head.bytes)) return false;
        c->in_start += sizeof head + head.bytes;
        c->in_size -= sizeof head + head.bytes;
    }
    return true;
}

/* Reads more of the child's output. */
static outcome child_read(asking *x) {
    enum { MORE = 1 << 16 };
    symbols_child *c = &x->s->child;
    ssize_t n;
    if (c->in_start && c->in_size) memmove(c->in, c->in + c->in_start, c->in_size);
    c->in_start = 0;
    if (c->in_room - c->in_size < MORE) c->in = needed(realloc(c->in, c->in_room = 2 * c->in_size + 2 * MORE));
    n = recv(c->fd, c->in + c->in_size, c->in_room - c->in_size, 0);
    if (n > 0) {
        c->in_size += (size_t)n;
        clock_gettime(CLOCK_MONOTONIC, &c->moved);
        return ANSWERED;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? ANSWERED : DIED;
}

static outcome read_until(asking *x, const bool *done) {
    while (!*done) {
        outcome o = child_wait(x, POLLIN);
        if (o == ANSWERED) o = child_read(x);
        if (o != ANSWERED) return o;
        if (take_records(x)) continue;
        if (!x->why) x->why = "the process that read it answered wrongly";
        return DIED;
    }
    return ANSWERED;
}

static outcome ask_once(asking *x, bool strict) {
    symbols_child *c = &x->s->child;
    outcome status;
    if (is_interrupted(x->s)) return INTERRUPTED;
    if (!symbols_start(x->s)) return NO_CHILD;
    x->first = x->done;
    x->ended = false;
    x->why = NULL;
    clock_gettime(CLOCK_MONOTONIC, &c->moved);
    status = read_until(x, &c->greeted);
    if (status == DIED) {
        char *why = child_died(x->s, x->why);
        cannot_start(x->s, "it ended at once");
        free(why);
        return NO_CHILD;
    }
    if (status == ANSWERED) status = send_question(x, strict);
    return status == ANSWERED ? read_until(x, &x->ended) : status;
}

void symbols_ask(symbols *s, symbols_object *o, symbols_kind kind, bool strict, const uint64_t *addresses,
                 uint32_t count, const symbols_taker *to) {
    asking x = { .s = s, .o = o, .kind = kind, .addresses = addresses, .count = count, .to = to };
    if (o->known && !o->is_elf && !o->is_code_map) return;
    while (o->level < SYMBOLS_NOTHING && !s->none) {
        outcome status = ask_once(&x, strict);
        if (status == ANSWERED || status == NO_CHILD) break;
        if (status == INTERRUPTED) {
            pid_t pid = child_kill(s);
            if (s->dying && pid) wait_for(s, s->dying);
            if (pid) s->dying = pid;
            if (!s->interrupted)
                display(stderr, "heapdump: a signal ended the search for function names: frames without one stay "
                                "FILE+0xOFFSET\n");
            s->interrupted = true;
            return;
        }
        free(o->why);
        o->why = child_died(s, x.why);
        o->level = x.full ? SYMBOLS_NOTHING : o->level + 1;
    }
    if (o->level == SYMBOLS_NOTHING) o->lost += count - x.done;
    if ((double)symbols_child_nanoseconds(s) / 1e9 < ALL_OBJECTS * seconds_most || s->none) return;
    s->none = true;
    child_reap(s);
    progress_end();
    display(stderr, "heapdump: finding function names took %.0f s of processor time: the other frames stay "
                    "FILE+0xOFFSET (--names-time raises that)\n", ALL_OBJECTS * seconds_most);
}

bool symbols_given_whole(const symbols *s) {
    for (size_t i = 0; i < s->given; i++)
        if (s->objects[i].level != SYMBOLS_ALL) return false;
    return !s->given || !s->none;
}

/* Reports. ------------------------------------------------------------------------------------ */

void symbols_tell(symbols *s) {
    enum { LISTED = 4 };
    uint64_t lost = 0;
    unsigned listed = 0, more = 0;
    for (symbols_object *o = s->objects; s->count && o < s->objects + s->count; o++) {
        if (o->told_level == o->level) continue;
        o->told_level = o->level;
        if (listed == LISTED) {
            more++, lost += o->lost;
            continue;
        }
        listed++;
        progress_end();
        if (o->level == SYMBOLS_TABLE && !o->is_code_map)
            display(stderr, "heapdump: %s: its frames have no inlined functions and no lines: %s\n", o->path, o->why);
        else if (o->level == SYMBOLS_NOTHING)
            display(stderr, "heapdump: %s: %llu frame%s unnamed: %s\n", o->path, (unsigned long long)o->lost,
                    o->lost == 1 ? " stays" : "s stay", o->why);
    }
    if (more) display(stderr, "heapdump: %u more files could not be read whole: %llu frames stay unnamed\n", more,
                      (unsigned long long)lost);
}
