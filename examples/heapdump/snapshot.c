/* heapdump snapshot and stop: what may be asked of a recording while it runs. It listens on an abstract socket named
   after its file, which tells by the kernel's word who asks. */

#include "commands.h"
#include "record.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { ASK_PID, ASK_SNAPSHOT, ASK_STOP, ASK_REGION, CONTROL_VERSION = 1 };

typedef struct control_request {
    uint32_t version, verb;
    uint64_t pid;
    char out[PATH_MAX];          /* of a snapshot: another file; "": that of the recording */
} control_request;

typedef struct control_reply {
    int32_t status;              /* of the command that asks */
    char text[PATH_MAX + 128];
} control_reply;

static const char control_name[] = "heapdump-";

static int control_socket(const char *name, struct sockaddr_un *address, socklen_t *size) {
    size_t n = strlen(name);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (n > sizeof address->sun_path - 1) return -1;
    memcpy(address->sun_path + 1, name, n);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/* Whether root or our own user is at the other end; `any`: we are root, and ask whoever it is. */
static bool peer_is_user(int fd, bool any) {
    struct ucred who;
    socklen_t size = sizeof who;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && (any || !who.uid || who.uid == geteuid());
}

/* The recording. -------------------------------------------------------------------------------- */

/* Listens under the name of the file, which changes when that is written again; of a recording that has none before
   its end, under our pid. */
bool control_listen(recording *r) {
    struct sockaddr_un address;
    socklen_t size;
    struct stat st = { .st_ino = (ino_t)getpid() };
    char name[96];
    int fd;
    if (r->file.fd >= 0 && fstat(r->file.fd, &st)) return false;
    snprintf(name, sizeof name, "%s%u-%llx-%llx", control_name, (unsigned)geteuid(), (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    fd = control_socket(name, &address, &size);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 8)) {
        if (fd >= 0) close(fd);
        return false;
    }
    if (r->control >= 0) close(r->control);
    r->control = fd;
    return true;
}

/* A moment in a file of its own, or in ours. */
static void control_snapshot(recording *r, const control_request *q, control_reply *to) {
    timeline *t = &r->file;
    size_t first = t->count, added;
    uint32_t moment = ++t->moments;
    uint64_t now = now_us(), bytes = 0;
    hd_chrome_dumps dumps = { 0 };
    if (r->a->record_format && !*q->out) {
        to->status = BAD_INPUT;
        snprintf(to->text, sizeof to->text, "a MemProf profile is written at its end; -o FILE takes a snapshot");
        return;
    }
    processes_look(r);
    unrecorded_look(r, true);
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->processes[i].written && r->processes[i].state.counters.total_blocks) {
            resident_look_at(r, &r->processes[i]);
            timeline_add(r, &r->processes[i], HD_HEAP_LIVE, moment, 0, now);
            bytes += r->processes[i].state.counters.live_bytes;
        }
    added = t->count - first;
    if (!added) {
        snprintf(to->text, sizeof to->text, "%s: nobody that is recorded lives", t->path);
        return;
    }
    if (!*q->out) {
        to->status = timeline_flush(r, first);
    } else {
        hd_heap *heaps = heaps_from(r, first);
        hd_scalar *scalars = scalars_from(r, first, &dumps.scalar_count);
        dumps.heaps = heaps;
        dumps.heap_count = added;
        dumps.scalars = scalars;
        to->status = write_heaps(r->a, &dumps, NULL, q->out, false);
        free(heaps);
        free(scalars);
        while (t->count > first) kept_release(&t->heaps[--t->count]);
    }
    if (to->status) snprintf(to->text, sizeof to->text, "%s could not be written", *q->out ? q->out : t->path);
    else
        snprintf(to->text, sizeof to->text, "%s has dump 0x%x: %zu process%s, %llu bytes live", *q->out ? q->out : t->path,
                 moment, added, added == 1 ? "" : "es", (unsigned long long)bytes);
}

static void control_send(int fd, const control_reply *reply) {
    if (send(fd, reply, sizeof *reply, MSG_NOSIGNAL) < 0) {} /* who asked has gone */
    close(fd);
}

/* The region, to be read. */
static void control_send_region(int to, const recording *r) {
    control_reply reply = { .status = BAD_INPUT };
    char path[64];
    int fd;
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->region.fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights = { { 0 } };
        struct iovec data = { &reply, sizeof reply };
        struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights,
                                  .msg_controllen = sizeof rights.bytes };
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        reply.status = DONE;
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
        if (sendmsg(to, &message, MSG_NOSIGNAL) < 0) {} /* who asked has gone */
        close(fd);
    }
    close(to);
}

void control_stopped(recording *r, int status) {
    control_reply reply = { .status = status };
    snprintf(reply.text, sizeof reply.text, "%s is whole", r->file.path);
    if (r->asked_to_stop >= 0) control_send(r->asked_to_stop, &reply);
    r->asked_to_stop = -1;
}

/* Answers who asks. */
void control_answer(recording *r) {
    static control_request q;
    struct timeval patience = { 2, 0 };
    control_reply reply = { .status = BAD_INPUT };
    int fd = accept4(r->control, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!peer_is_user(fd, false) || recv(fd, &q, sizeof q, 0) != sizeof q || q.version != CONTROL_VERSION) {
        close(fd);
        return;
    }
    q.out[sizeof q.out - 1] = 0;
    if (q.verb == ASK_PID) {
        reply.status = q.pid == (uint64_t)getpid() ? DONE : BAD_INPUT;
        for (uint32_t i = 0; i < r->count; i++)
            if (r->processes[i].pid == q.pid && !r->processes[i].ended) reply.status = DONE;
    } else if (q.verb == ASK_SNAPSHOT) {
        control_snapshot(r, &q, &reply);
    } else if (q.verb == ASK_REGION) {
        control_send_region(fd, r);
        return;
    } else if (q.verb == ASK_STOP && r->asked_to_stop < 0) {
        r->stopped = true;
        r->asked_to_stop = fd;
        return;
    }
    control_send(fd, &reply);
}

/* Who asks. ------------------------------------------------------------------------------------- */

/* Receives a reply, and the descriptor that comes with it, if any. */
static bool hear(int from, control_reply *reply, int *descriptor) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct iovec data = { reply, sizeof *reply };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights,
                              .msg_controllen = sizeof rights.bytes };
    ssize_t n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *descriptor = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(c), sizeof(int));
    return n == sizeof *reply;
}

/* Sends a request to a recording by its name, and waits for the reply, and for a descriptor, -1 where there is none; of
   who does not answer whether it has a process, it has none. */
static bool ask(const char *name, const control_request *q, control_reply *reply, int *descriptor) {
    struct timeval patience = { 30, 0 }; /* one that works answers late, one that is stopped never */
    struct sockaddr_un address;
    socklen_t size;
    int fd = control_socket(name, &address, &size);
    bool done;
    if (fd >= 0 && q->verb == ASK_PID) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    done = fd >= 0 && !connect(fd, (struct sockaddr *)&address, size) && peer_is_user(fd, !geteuid()) &&
                send(fd, q, sizeof *q, MSG_NOSIGNAL) == sizeof *q && hear(fd, reply, descriptor);
    if (fd >= 0) close(fd);
    reply->text[sizeof reply->text - 1] = 0;
    return done;
}

/* The recording that writes a file, or has a process: its name. */
static bool find_recording(const char *what, char name[108]) {
    static control_request q;
    control_reply reply;
    char file[64] = "", *line = NULL, *end;
    size_t room = 0;
    struct stat st;
    bool found = false;
    int none;
    FILE *f = fopen("/proc/net/unix", "re");
    q.version = CONTROL_VERSION;
    q.verb = ASK_PID;
    q.pid = strtoull(what, &end, 10);
    if (!stat(what, &st))
        snprintf(file, sizeof file, "-%llx-%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    else if (*end || !*what) f = f ? (fclose(f), NULL) : NULL;
    while (f && !found && getline(&line, &room, f) > 0) {
        char *at = strchr(line, '@');
        size_t n;
        if (!at || strncmp(at + 1, control_name, sizeof control_name - 1)) continue;
        at[strcspn(at, "\n")] = 0;
        n = strlen(++at);
        if (n >= 108) continue;
        if (*file) found = n > strlen(file) && !strcmp(at + n - strlen(file), file);
        else found = ask(at, &q, &reply, &none) && !reply.status;
        if (found) memcpy(name, at, n + 1);
    }
    free(line);
    if (f) fclose(f);
    return found;
}

static int control_run(const char *what, control_request *q) {
    enum { TRIES = 20, LOOKS = 3 };
    char name[108];
    control_reply reply;
    bool found = false, answered = false;
    int none;
    q->version = CONTROL_VERSION;
    /* a file that is written anew has another name for who asks: what was asked by the old one was not heard */
    for (int i = 0; i < (found ? TRIES : LOOKS) && !answered; i++) {
        found = find_recording(what, name);
        answered = found && ask(name, q, &reply, &none);
    }
    if (!answered) {
        display(stderr, found ? "heapdump: %s: the recording does not answer\n"
                              : "heapdump: %s: no recording of this user writes it, or has it; one that writes at its end is found by its PID\n", what);
        return BAD_INPUT;
    }
    display(stderr, "heapdump: %s\n", reply.text);
    return reply.status;
}

int recording_region(const char *what) {
    static control_request q = { .verb = ASK_REGION, .version = CONTROL_VERSION };
    char name[108];
    control_reply reply;
    int fd = -1;
    if (!find_recording(what, name) || !ask(name, &q, &reply, &fd) || reply.status) return -1;
    return fd;
}

int run_snapshot(const arguments *a) {
    static control_request q = { .verb = ASK_SNAPSHOT };
    char cwd[PATH_MAX];
    if (a->file_count != 1) return usage("snapshot takes the file of a recording, or the pid of a process");
    if (a->output && !strcmp(a->output, "-")) return usage("snapshot writes a file: another program does it");
    if (a->output) {
        if (*a->output != '/' && !getcwd(cwd, sizeof cwd)) return BAD_INPUT;
        if (snprintf(q.out, sizeof q.out, "%s%s%s", *a->output == '/' ? "" : cwd, *a->output == '/' ? "" : "/",
                     a->output) >= (int)sizeof q.out)
            return usage("the name of the file is too long");
    }
    return control_run(a->files[0], &q);
}

int run_stop(const arguments *a) {
    static control_request q = { .verb = ASK_STOP };
    if (a->file_count != 1) return usage("stop takes the file of a recording, or the pid of a process");
    return control_run(a->files[0], &q);
}
