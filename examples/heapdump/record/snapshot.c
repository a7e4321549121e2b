/* heapdump snapshot and stop: find a running recording, send it a request, wait while it works. */

#include "control.h"
#include "record.h"

#include <dirent.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Finding. --------------------------------------------------------------------------------------- */

enum { REGIONS = 64, ABOVE = 256 };

/* The argument of a command: the file of a recording, or a recorded process. */
typedef struct sought {
    const char *what;
    bool is_file;
    struct stat st;              /* of the file, or of the process's directory */
    uint64_t region[REGIONS];    /* inodes of shared maps of the process */
    long above[ABOVE];           /* the pids of the process and its ancestors */
    int regions, depth;
} sought;

/* A recording that was connected to. */
typedef struct recording_found {
    int fd;                      /* -1: none was found */
    struct ucred who;            /* the process at the other end */
    int rank;                    /* the match with the highest rank wins */
    uint32_t crowded;            /* sockets with a recording's name that accepted no connection */
} recording_found;

/* The state or the parent of a process; 0: unknown. */
static long process_field(long pid, bool state) {
    char path[64], text[512], *end;
    long parent = 0;
    char is = 0;
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    end = strrchr(text, ')');    /* a program name may contain ')' */
    if (!end || sscanf(end + 1, " %c %ld", &is, &parent) != 2) return 0;
    return state ? is : parent;
}

static void seek_regions(sought *s, unsigned long long pid) {
    char path[64], *line = NULL;
    size_t room = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%llu/maps", pid);
    f = fopen(path, "re");
    while (f && s->regions < REGIONS && getline(&line, &room, f) > 0) {
        unsigned long long inode = 0;
        char rights[8] = "";
        if (sscanf(line, "%*s %7s %*s %*s %llu", rights, &inode) != 2 || rights[3] != 's' || !inode) continue;
        if (!s->regions || s->region[s->regions - 1] != inode) s->region[s->regions++] = inode;
    }
    free(line);
    if (f) fclose(f);
}

static bool seek(sought *s, const char *what) {
    char path[64], *end;
    unsigned long long pid = strtoull(what, &end, 10);
    memset(s, 0, sizeof *s);
    s->what = what;
    s->is_file = !stat(what, &s->st);
    if (s->is_file) return true;
    snprintf(path, sizeof path, "/proc/%llu", pid);
    if (*end || *what < '0' || *what > '9' || pid > INT_MAX || stat(path, &s->st)) return false;
    seek_regions(s, pid);
    for (long p = (long)pid; p > 0 && s->depth < ABOVE; p = process_field(p, false)) s->above[s->depth++] = p;
    return true;
}

static bool has_open(long pid, const struct stat *file) {
    char path[64];
    struct dirent *entry;
    struct stat st;
    bool is = false;
    DIR *fds;
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    fds = opendir(path);
    while (fds && !is && (entry = readdir(fds)))
        is = *entry->d_name != '.' && !fstatat(dirfd(fds), entry->d_name, &st, 0) && st.st_dev == file->st_dev &&
             st.st_ino == file->st_ino;
    if (fds) closedir(fds);
    return is;
}

/* How well a socket matches the wanted recording; 0: no match. Any user can choose any name, so the peer's user is
   checked first. Root also finds recordings of other users: the peer must then own the file or process. */
static int fits(const sought *s, uint64_t inode, uid_t named, const struct ucred *who) {
    if (who->uid != named || (who->uid != geteuid() && geteuid())) return 0;
    if (who->uid != geteuid() && who->uid != s->st.st_uid) return 0;
    if (s->is_file) return has_open(who->pid, &s->st) ? ABOVE + 1 : 0;
    for (int i = 0; i < s->regions; i++)
        if (s->region[i] == inode) return ABOVE + 1;
    for (int i = 0; i < s->depth; i++)
        if (s->above[i] == who->pid) return ABOVE - i;
    return 0;
}

static int control_connect(const char *name, struct ucred *who) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t size = sizeof *who;
    size_t n = strlen(name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
    memcpy(address.sun_path + 1, name, n);
    if (fd >= 0 &&
        !connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) &&
        !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &size))
        return fd;
    error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

/* Connects to the socket in a line of /proc/net/unix if it has a recording's name, and keeps the best match. */
static void look_at_socket(const sought *s, char *line, recording_found *f) {
    char *name = strchr(line, '@');
    unsigned long long device, inode, token;
    unsigned uid;
    struct ucred who;
    int end = 0, fd, rank;
    if (!name || strncmp(++name, control_prefix, strlen(control_prefix))) return;
    name[strcspn(name, "\n")] = 0;
    if (strlen(name) >= CONTROL_NAME - 1 ||
        sscanf(name + strlen(control_prefix), "%u-%llx-%llx-%llx%n", &uid, &device, &inode, &token, &end) != 4 ||
        name[strlen(control_prefix) + (size_t)end] || (uid != geteuid() && (geteuid() || uid != s->st.st_uid)))
        return;
    fd = control_connect(name, &who);
    if (fd < 0) {
        f->crowded += errno == EAGAIN;
        return;
    }
    rank = fits(s, inode, uid, &who);
    if (rank <= f->rank) {
        close(fd);
        return;
    }
    if (f->fd >= 0) close(f->fd);
    f->fd = fd, f->rank = rank, f->who = who;
}

static recording_found look_for(const sought *s) {
    recording_found f = { .fd = -1 };
    FREED char *line = NULL;
    size_t room = 0;
    FILE *list = fopen("/proc/net/unix", "re");
    while (list && getline(&line, &room, list) > 0) look_at_socket(s, line, &f);
    if (list) fclose(list);
    return f;
}

bool recorded_now(const char *file) {
    recording_found f = { .fd = -1 };
    sought s;
    if (seek(&s, file) && s.is_file) f = look_for(&s);
    if (f.fd >= 0) close(f.fd);
    return f.fd >= 0;
}

/* Asking. ---------------------------------------------------------------------------------------- */

static int wait_ms(const arguments *a) { return a->watch.wait > 0 ? (int)(a->watch.wait * 1000) : CONTROL_WAIT_MS; }

/* Tries again if the file may have been replaced meanwhile, and while a socket accepts no connection. */
static recording_found find_recording(const arguments *a, const char *what) {
    enum { LOOKS = 3, NAP = 50 };
    recording_found f = { .fd = -1 };
    sought s;
    for (int i = 0, left = wait_ms(a); f.fd < 0 && (i < LOOKS || (f.crowded && left > 0)); i++) {
        if (i && f.crowded) poll(NULL, 0, NAP), left -= NAP;
        if (seek(&s, what)) f = look_for(&s);
    }
    return f;
}

const char recorded_by[] = "; start the program with: heapdump record -- COMMAND";

static void tell_none(const char *what, const recording_found *f) {
    if (f->crowded)
        display(stderr, "heapdump: %s: no recording of this user answers; %u socket%s refused the "
                "connection (is the recording stopped?)\n", what, f->crowded, plural(f->crowded));
    else
        display(stderr, "heapdump: %s: expected a running recording of this user (a compressed recording is named by "
                "its PID)%s\n", what, recorded_by);
}

/* Receives a reply, and a descriptor if one comes with it. */
static bool hear(int from, control_reply *reply, int *descriptor) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct iovec data = { reply, sizeof *reply };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights,
                              .msg_controllen = sizeof rights.bytes };
    ssize_t n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *descriptor = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(c), sizeof(int));
    reply->path[sizeof reply->path - 1] = 0;
    return n >= (ssize_t)offsetof(control_reply, error) && reply->version == CONTROL_VERSION &&
           (n == sizeof *reply || reply->code == CONTROL_ALIVE);
}

/* Sends a request, and waits for the reply while the recording sends signs of life. False: an error was printed. */
static bool ask(const arguments *a, const char *what, const recording_found *f, const control_request *q,
                control_reply *reply, int *descriptor) {
    struct pollfd wait = { .fd = f->fd, .events = POLLIN };
    int is = send(f->fd, q, sizeof *q, MSG_NOSIGNAL) == sizeof *q ? 1 : -1;
    *descriptor = -1;
    do {
        if (is > 0) is = poll(&wait, 1, wait_ms(a));
        if (is > 0 && !hear(f->fd, reply, descriptor)) is = -1;
    } while (is > 0 && reply->code == CONTROL_ALIVE);
    if (is > 0) return true;
    if (is < 0)
        display(stderr, "heapdump: %s: its recording (process %ld) ended, or runs another version of heapdump\n",
                what, (long)f->who.pid);
    else
        display(stderr, "heapdump: %s: its recording (process %ld) gave no sign of life for %g s%s; --wait SECONDS "
                "waits longer\n", what, (long)f->who.pid, wait_ms(a) / 1000.0,
                process_field(f->who.pid, true) == 'T' ? ": it is stopped by a signal" : "");
    return false;
}

/* Prints the result; for another user's recording it prints only numbers. */
static void tell(const char *what, const recording_found *f, const control_request *q, const control_reply *reply) {
    char its[64];
    const char *file = *q->out ? q->out : what;
    snprintf(its, sizeof its, "the file of process %ld", (long)f->who.pid);
    if (!*q->out && access(what, F_OK)) file = f->who.uid == geteuid() ? reply->path : its;
    switch (reply->code) {
    case CONTROL_DONE:
        if (q->verb == ASK_STOP) display(stderr, "heapdump: %s is complete\n", file);
        else {
            display(stderr, "heapdump: %s has dump 0x%x: %u process%s, %llu bytes live", file, reply->moment,
                    reply->processes, reply->processes == 1 ? "" : "es", (unsigned long long)reply->bytes);
            put_under_way(reply->under_way);
            display(stderr, "\n");
        }
        break;
    case CONTROL_AT_END:
        display(stderr, "heapdump: a MemProf profile is written at the end; -o FILE takes a snapshot now\n");
        break;
    case CONTROL_NOBODY: display(stderr, "heapdump: %s: no recorded process is running\n", file); break;
    case CONTROL_NOTHING:
        display(stderr, "heapdump: %s: nothing was recorded, so no file is written\n", file);
        break;
    case CONTROL_UNWRITTEN:
        display(stderr, "heapdump: %s could not be written%s%s\n", file, reply->error > 0 ? ": " : "",
                reply->error > 0 ? strerror(reply->error) : "");
        break;
    default: display(stderr, "heapdump: %s: the recording has already ended\n", file); break;
    }
}

static int control_run(const arguments *a, const control_request *q) {
    const char *what = a->input.files[0];
    static control_reply reply;
    recording_found f = find_recording(a, what);
    bool answered;
    int none;
    if (f.fd < 0) return tell_none(what, &f), BAD_INPUT;
    answered = ask(a, what, &f, q, &reply, &none);
    if (none >= 0) close(none);
    close(f.fd);
    if (!answered) return BAD_INPUT;
    tell(what, &f, q, &reply);
    return reply.code == CONTROL_DONE ? DONE : BAD_INPUT;
}

int recording_region(const arguments *a, const char *what) {
    static const control_request q = { .verb = ASK_REGION, .version = CONTROL_VERSION };
    static control_reply reply;
    recording_found f = find_recording(a, what);
    int fd = -1;
    if (f.fd < 0 && f.crowded) return tell_none(what, &f), -2;
    if (f.fd < 0) return -1;
    if (!ask(a, what, &f, &q, &reply, &fd)) fd = -2;
    else if (fd < 0) fd = -1;
    close(f.fd);
    return fd;
}

int run_snapshot(const arguments *a) {
    static control_request q = { .verb = ASK_SNAPSHOT, .version = CONTROL_VERSION };
    char cwd[PATH_MAX];
    if (a->input.file_count != 1) return usage("snapshot takes the file of a recording, or the PID of a process");
    if (a->out.file && !strcmp(a->out.file, "-"))
        return usage("snapshot cannot write to standard output, since another process writes it: use -o FILE");
    if (a->out.file) {
        if (*a->out.file != '/' && !getcwd(cwd, sizeof cwd)) {
            display(stderr, "heapdump: cannot find the path of the current directory: %s\n", strerror(errno));
            return BAD_INPUT;
        }
        if (snprintf(q.out, sizeof q.out, "%s%s%s", *a->out.file == '/' ? "" : cwd, *a->out.file == '/' ? "" : "/",
                     a->out.file) >= (int)sizeof q.out)
            return usage("the path of -o is longer than %zu bytes", sizeof q.out - 1);
    }
    return control_run(a, &q);
}

int run_stop(const arguments *a) {
    static const control_request q = { .verb = ASK_STOP, .version = CONTROL_VERSION };
    if (a->input.file_count != 1) return usage("stop takes the file of a recording, or the PID of a process");
    return control_run(a, &q);
}
