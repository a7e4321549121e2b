/* heapdump capture --jvm: a heap dump of a running HotSpot JVM, by its attach protocol. The JVM opens a socket when
   it finds a file .attach_pidN and gets SIGQUIT. It then takes the command "dumpheap" and writes the file itself.
   Sources: HotSpot's attachListener_posix.cpp, and the JDK's VirtualMachineImpl.java. */

#define _GNU_SOURCE
#include "record.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

typedef struct jvm {
    pid_t pid;
    long inside;                 /* its number in its own PID namespace */
    int pidfd;
    char name[32];
    uid_t uid;
    gid_t gid;
} jvm;

/* Finds "Key: ... N" in /proc/PID/status: its first or last number. -1: missing. */
static long status_number(pid_t pid, const char *key, bool last) {
    char path[64], line[256], *at;
    long n = -1;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    f = fopen(path, "re");
    while (f && n < 0 && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key))) continue;
        line[strcspn(line, "\n")] = 0;
        at = last ? strrchr(line, '\t') : strchr(line, '\t');
        n = at ? strtol(at + 1, NULL, 10) : -1;
    }
    if (f) fclose(f);
    return n;
}

/* Whether the process has mapped HotSpot. Only then may it get SIGQUIT, which ends other programs. */
static int is_jvm(const jvm *j) {
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)j->pid);
    f = fopen(path, "re");
    while (f && !found && getline(&line, &room, f) > 0) found = strstr(line, "/libjvm.so") != NULL;
    free(line);
    if (!f) {
        display(stderr, "heapdump: process %ld: cannot read its memory maps: %s; run capture as its user or as "
                "root\n", (long)j->pid, strerror(errno));
        return BAD_INPUT;
    }
    fclose(f);
    if (found) return DONE;
    display(stderr, "heapdump: process %ld (%s) is not a HotSpot JVM: expected a mapped libjvm.so, found none\n",
            (long)j->pid, j->name);
    return BAD_INPUT;
}

static int jvm_find(jvm *j, const char *text) {
    char path[64], *end;
    unsigned long pid = strtoul(text, &end, 10);
    FILE *f;
    if (*end || *text < '0' || *text > '9' || !pid || pid > INT_MAX)
        return usage("--jvm: expected the PID of a JVM, found '%s'", text);
    j->pid = (pid_t)pid;
    j->pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
    if (j->pidfd < 0) {
        display(stderr, "heapdump: process %lu: %s\n", pid, errno == ESRCH ? "no such process" : strerror(errno));
        return BAD_INPUT;
    }
    snprintf(path, sizeof path, "/proc/%lu/comm", pid);
    f = fopen(path, "re");
    if (f && fgets(j->name, sizeof j->name, f)) j->name[strcspn(j->name, "\n/")] = 0;
    if (f) fclose(f);
    j->inside = status_number(j->pid, "NSpid:", true);
    if (j->inside < 0) j->inside = j->pid;
    j->uid = (uid_t)status_number(j->pid, "Uid:", false);
    j->gid = (gid_t)status_number(j->pid, "Gid:", false);
    return is_jvm(j);
}

/* The socket, if the JVM has opened it. */
static int jvm_connect(const jvm *j) {
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct ucred who;
    socklen_t size = sizeof who;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "/proc/%ld/root/tmp/.java_pid%ld", (long)j->pid, j->inside);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof to) &&
        !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == j->uid)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Makes the file that asks the JVM for a socket; its path in `path`. */
static bool ask_for_socket(const jvm *j, char path[PATH_MAX]) {
    static const char *const places[] = { "cwd", "root/tmp" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd;
        snprintf(path, PATH_MAX, "/proc/%ld/%s/.attach_pid%ld", (long)j->pid, places[i], j->inside);
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0660);
        if (fd >= 0) return close(fd), true;
    }
    return false;
}

static int jvm_attach(const jvm *j) {
    enum { LOOKS = 250, NAP_MS = 40 };
    char path[PATH_MAX];
    int fd = jvm_connect(j);
    if (fd >= 0) return fd;
    if (!ask_for_socket(j, path)) {
        display(stderr, "heapdump: process %ld: cannot create .attach_pid%ld in its directory or in its /tmp: %s\n",
                (long)j->pid, j->inside, strerror(errno));
        return -1;
    }
    if (!is_jvm(j)) syscall(SYS_pidfd_send_signal, j->pidfd, SIGQUIT, NULL, 0);
    for (int i = 0; i < LOOKS && fd < 0; i++) {
        struct pollfd ended = { .fd = j->pidfd, .events = POLLIN };
        if (poll(&ended, 1, NAP_MS) > 0) break;
        fd = jvm_connect(j);
    }
    unlink(path);
    if (fd < 0)
        display(stderr, "heapdump: process %ld: the JVM did not open its attach socket in 10 s; is it stopped, or "
                "started with -XX:+DisableAttachMechanism?\n", (long)j->pid);
    return fd;
}

/* Sends "dumpheap" and reads the answer: a status, a line break, a text. */
static int jvm_dump(const jvm *j, int fd, const char *path, bool live) {
    const char *parts[] = { "1", "dumpheap", path, live ? "-live" : "-all", "" };
    char reply[1024], *text;
    size_t size = 0;
    ssize_t n;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (send(fd, parts[i], strlen(parts[i]) + 1, MSG_NOSIGNAL) < 0) break;
    while (size + 1 < sizeof reply && (n = read(fd, reply + size, sizeof reply - 1 - size)) > 0) size += (size_t)n;
    reply[size] = 0;
    text = strchr(reply, '\n');
    if (text && !strtol(reply, NULL, 10)) return DONE;
    if (text) text[1 + strcspn(text + 1, "\n")] = 0;
    display(stderr, "heapdump: process %ld: the JVM wrote no dump: %s\n", (long)j->pid,
            text && text[1] ? text + 1 : "it ended the connection");
    return BAD_INPUT;
}

static bool has_same_files(const jvm *j) {
    char path[64];
    struct stat own, its;
    snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)j->pid);
    return !stat("/proc/self/ns/mnt", &own) && !stat(path, &its) && own.st_ino == its.st_ino;
}

/* Where the JVM writes: next to the final file, if it sees the same file systems, else in its /tmp. `seen` is our
   path of the same file. */
static bool dump_path(const jvm *j, const char *file, bool next_to, char path[PATH_MAX], char seen[PATH_MAX]) {
    char directory[PATH_MAX], *slash;
    unsigned random = (unsigned)now_us();
    int n;
    if (!next_to) {
        n = snprintf(path, PATH_MAX, "/tmp/heapdump.%ld.%x.hprof", (long)getpid(), random);
        return n > 0 && snprintf(seen, PATH_MAX, "/proc/%ld/root%s", (long)j->pid, path) < PATH_MAX;
    }
    snprintf(directory, sizeof directory, "%s", file);
    slash = strrchr(directory, '/');
    if (slash) slash[1] = 0;
    if (!realpath(slash ? directory : ".", seen)) return false;
    n = snprintf(path, PATH_MAX, "%s/.heapdump.%ld.%x.hprof", seen, (long)getpid(), random);
    return n < PATH_MAX && snprintf(seen, PATH_MAX, "%s", path) < PATH_MAX;
}

/* Copies the dump to its place, packed if its name says so. */
static int copy_dump(const char *from, const char *file, bool is_default) {
    static char buffer[1 << 16];
    output o;
    ssize_t n = 0;
    int status = output_open_as(&o, file, is_default), fd;
    if (status) return status;
    fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0 && !status)
        if (o.out.write(o.out.user, buffer, (size_t)n)) status = BAD_INPUT;
    if (fd < 0 || n < 0) {
        display(stderr, "heapdump: cannot read the JVM's dump %s: %s\n", from, strerror(errno));
        status = BAD_INPUT;
    }
    if (fd >= 0) close(fd);
    return output_close(&o, file, status);
}

int capture_jvm(const arguments *a) {
    jvm j = { 0 };
    char usual[96], path[PATH_MAX], seen[PATH_MAX];
    const char *file = a->out.file;
    struct stat st;
    bool plain, next_to;
    int status = jvm_find(&j, a->input.files[0]), fd;
    if (status) return status;
    snprintf(usual, sizeof usual, "heapdump.%s.%ld.hprof", *j.name ? j.name : "java", (long)j.pid);
    if (!file) file = usual;
    plain = strcmp(file, "-") && !packed_end(file) && (stat(file, &st) || S_ISREG(st.st_mode));
    next_to = plain && has_same_files(&j);
    if (!dump_path(&j, file, next_to, path, seen)) {
        display(stderr, "heapdump: cannot write %s: %s\n", file, strerror(errno));
        return BAD_INPUT;
    }
    /* HotSpot takes files and connections only from its own user. */
    if (!geteuid() && (setegid(j.gid) || seteuid(j.uid))) {
        display(stderr, "heapdump: process %ld: cannot act as its user: %s\n", (long)j.pid, strerror(errno));
        return BAD_INPUT;
    }
    fd = jvm_attach(&j);
    if (fd >= 0) status = jvm_dump(&j, fd, path, a->watch.live);
    if (!getuid() && (seteuid(0) || setegid(0))) return BAD_INPUT;
    if (fd >= 0) close(fd);
    close(j.pidfd);
    if (fd < 0) return BAD_INPUT;
    if (status) return unlink(seen), status;
    if (stat(seen, &st)) st.st_size = 0;
    if (!next_to || rename(seen, file)) {
        status = copy_dump(seen, file, file == usual);
        unlink(seen);
    }
    if (!status && strcmp(file, "-"))
        display(stderr, "heapdump: wrote %s, %.1f MiB; next: heapdump suspects %s\n", file,
                (double)st.st_size / 1048576, file);
    return status;
}
