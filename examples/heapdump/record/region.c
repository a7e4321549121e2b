/* heapdump record: the memory that processes record into, and the socket that gives it to programs. */

#include "record.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The region. ----------------------------------------------------------------------------------- */

/* A file system may not allow so large a file, or a limited address space may not have room for it. */
static const uint64_t region_most = (uint64_t)1 << 40, region_least = (uint64_t)1 << 24;

static bool region_map(region *r, int protection) {
    void *p = mmap(NULL, (size_t)r->size, protection, MAP_SHARED | MAP_NORESERVE, r->fd, 0);
    r->base = p == MAP_FAILED ? NULL : p;
    return r->base != NULL;
}

/* Maps the region as large as possible; a program may map less of it. If address space is limited, the region gets
   most of it. */
static bool region_size(region *r) {
    struct rlimit before = { RLIM_INFINITY, RLIM_INFINITY }, most;
    uint64_t most_addresses = UINT64_MAX;
    bool made = false;
    r->size = region_most;
    if (!getrlimit(RLIMIT_AS, &most) && most.rlim_cur != RLIM_INFINITY) most_addresses = most.rlim_cur / 4;
    getrlimit(RLIMIT_FSIZE, &before);
    most = before;
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_FSIZE, &most);
    while (r->size > most_addresses && r->size > region_least) r->size /= 2;
    for (; !made && r->size >= region_least; r->size /= made ? 1 : 2)
        made = !ftruncate(r->fd, (off_t)r->size) && region_map(r, PROT_READ | PROT_WRITE);
    setrlimit(RLIMIT_FSIZE, &before);
    return made;
}

/* The file of --keep was truncated by someone, or its disk is full. */
static void on_cut(int number) {
    static const char words[] = "heapdump: the file of --keep was truncated, or its disk is full\n";
    (void)number;
    if (write(STDERR_FILENO, words, sizeof words - 1)) {}
    if (before_failing) before_failing();
    output_abandon();
    _exit(BAD_INPUT);
}

/* In memory, or in a file that outlives us. */
bool region_make(region *r, const char *keep) {
    struct sigaction before;
    hd_error err;
    bool sized;
    r->base = NULL;
    r->fd = keep ? open(keep, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : memfd_create("heapdump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->fd < 0) {
        display(stderr, "heapdump: cannot create %s: %s%s\n", keep ? keep : "a region", strerror(errno),
                errno == EEXIST ? ": remove it, or choose another name" : "");
        return false;
    }
    file_limit_fails(&before);
    sized = region_size(r);
    sigaction(SIGXFSZ, &before, NULL);
    if (!sized || hd_region_init(r->base, r->size, &err)) {
        display(stderr, "heapdump: cannot create the region of the recording: %s\n",
                sized ? err.message : strerror(errno));
        if (keep) unlink(keep);
        close(r->fd);
        return false;
    }
    memcpy(r->begins, r->base, sizeof r->begins);
    r->is_ours = true;
    if (keep) signal(SIGBUS, on_cut);
    else fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return true;
}

/* Maps a region that another process records into, or a file with one; false if it is not a region. The region takes
   over the descriptor. */
bool region_from(region *r, int fd) {
    struct stat st;
    r->base = NULL;
    r->fd = fd;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) return false;
    r->size = (uint64_t)st.st_size;
    if (!region_map(r, PROT_READ)) return false;
    signal(SIGBUS, on_cut);
    if (hd_region_used(r->base, r->size)) return true;
    munmap(r->base, (size_t)r->size);
    r->base = NULL;
    return false;
}

/* Maps zeros over the holes of a file: on tmpfs, which may be full, reading a hole allocates a page. */
static void holes_cover(region *r) {
    enum { MAPS = 20000 };       /* of the 65,530 maps that Linux allows a process by default */
    const off_t page = sysconf(_SC_PAGESIZE), all = (off_t)r->size & -page;
    off_t end = 0, at;
    for (int i = 0; i < MAPS && (at = lseek(r->fd, end, SEEK_HOLE)) >= 0 && at < all; i++) {
        end = lseek(r->fd, at, SEEK_DATA);
        if (end < 0) end = all;
        at = (at + page - 1) & -page, end &= -page;
        if (end > all) end = all;
        if (end > at)
            mmap(r->base + at, (size_t)(end - at), PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (end <= at) end = at + page;
    }
}

/* Opens a file of --keep. */
bool region_open(region *r, const char *path) {
    struct stat st;
    r->base = NULL;
    r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd >= 0 && !fstat(r->fd, &st)) {
        r->size = (uint64_t)st.st_size;
        errno = EINVAL;
        if (S_ISREG(st.st_mode) && r->size && region_map(r, PROT_READ)) {
            signal(SIGBUS, on_cut);
            holes_cover(r);
            if (hd_region_used(r->base, r->size)) return true;
            if (r->size > 8 && !memcmp(r->base, "hdregio", 7))
                display(stderr, "heapdump: %s: another version of heapdump wrote it: recover it with that version\n",
                        path);
            else display(stderr, "heapdump: %s: expected a file of `heapdump record --keep`\n", path);
            close(r->fd);
            return false;
        }
    }
    display(stderr, "heapdump: cannot open %s: %s\n", path, strerror(errno));
    if (r->fd >= 0) close(r->fd);
    return false;
}

static uint64_t region_pages(const region *r) {
    struct stat st;
    return fstat(r->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

/* A page that our reading allocates counts as a page fault of ours; other processes may write meanwhile. */
static uint64_t own_faults(void) {
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) ? 0 : (uint64_t)used.ru_minflt + (uint64_t)used.ru_majflt;
}

/* Bytes of pages with data, without the zero pages that our reading allocated. If the file system reports no holes,
   pages are read, at most 16 times the bytes that are allocated. */
static uint64_t region_written(const region *r) {
    static const char zeros[4096];
    static char buffer[1 << 16];
    uint64_t sum = 0, left = 16 * r->pages + sizeof buffer;
    off_t at = 0, end;
    while ((at = lseek(r->fd, at, SEEK_DATA)) >= 0 && (end = lseek(r->fd, at, SEEK_HOLE)) > at)
        while (at < end) {
            size_t size = end - at < (off_t)sizeof buffer ? (size_t)(end - at) : sizeof buffer;
            ssize_t n = pread(r->fd, buffer, size, at);
            if (n <= 0 || (uint64_t)n > left) return sum;
            left -= (uint64_t)n;
            for (ssize_t i = 0; i + (ssize_t)sizeof zeros <= n; i += (ssize_t)sizeof zeros)
                if (memcmp(buffer + i, zeros, sizeof zeros)) sum += sizeof zeros;
            at += n;
        }
    return sum;
}

/* Processes that share the region may overwrite its header, and the header's count of used bytes. So the result is
   limited by allocated pages. Our own reading allocates pages, too; these are subtracted. Their number is a guess,
   checked once the guesses reach an eighth of all pages. A context takes at least 16 written bytes. Reserved bytes
   may exceed written ones: tables double their size, and each process has its own. So 160 bytes are allowed for each
   16 written. */
uint64_t region_bytes(region *r, hd_limits *limits) {
    struct stat st;
    uint64_t used, there;
    if (r->is_ours) memcpy(r->base, r->begins, sizeof r->begins);
    used = hd_region_used(r->base, r->size);
    if (used > r->used) r->used = used;
    used = r->used;
    if (fstat(r->fd, &st)) return 0;
    r->pages = region_pages(r);
    r->faults = own_faults();
    if (r->pages_guessed > r->pages / 8) {
        uint64_t written = region_written(r);
        r->pages_read = r->pages > written ? r->pages - written : 0;
        r->pages_guessed = 0;
    }
    if (r->pages > used) used = r->size; /* the header's count is too small */
    if ((uint64_t)st.st_size < used) used = (uint64_t)st.st_size;
    there = r->pages > r->pages_read ? r->pages - r->pages_read : 0;
    limits->max_records = there / 16 + 1;
    there = there * 160 + (1 << 20);
    return used < there ? used : there;
}

uint32_t region_count(const region *r, uint64_t bytes, const hd_limits *limits) {
    uint64_t n = hd_region_count(r->base, bytes), most = limits->max_records / 256 + 1;
    return (uint32_t)(n < most ? n : most);
}

uint64_t region_claims(const hd_limits *limits) { return limits->max_records * 32 + (1 << 20); }

void region_was_read(region *r) {
    uint64_t now = region_pages(r), most = (own_faults() - r->faults) * 4096;
    uint64_t more = now > r->pages ? now - r->pages : 0;
    if (more > most) more = most;
    r->pages_read += more;
    r->pages_guessed += more;
    r->pages = now;
}

/* Joining. -------------------------------------------------------------------------------------- */

bool join_listen(recording *r) {
    unsigned char drawn[JOIN_NAME / 2];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) {
        display(stderr, "heapdump: cannot make a random name for the socket: %s\n", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof drawn; i++) snprintf(r->socket + 2 * i, 3, "%02x", drawn[i]);
    memcpy(address.sun_path + 1, r->socket, JOIN_NAME);
    r->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->listener >= 0 && !bind(r->listener, (struct sockaddr *)&address,
                                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + JOIN_NAME)) &&
        !listen(r->listener, 128)) {
        for (int i = 0; i < JOINING; i++) r->joining[i].fd = -1;
        return true;
    }
    display(stderr, "heapdump: cannot create the socket for the program: %s\n", strerror(errno));
    return false;
}

/* The process that started another; 0: it has ended, or is not visible. */
static pid_t parent_of(pid_t pid) {
    char path[64], text[512];
    const char *end;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    end = strrchr(text, ')');    /* a program name may contain ')' */
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Whether a process is below the program that we started. */
bool is_descendant(pid_t pid) {
    for (int depth = 0; pid > 0 && depth < 4096; depth++, pid = parent_of(pid))
        if (pid == getpid()) return true;
    return false;
}

/* A process that outlived its parent is recognized by its user only. */
static bool is_ours(const joining *j) { return (j->pid > 0 && j->uid == geteuid()) || is_descendant(j->pid); }

/* When descriptors run out, a connecting program is let go at once: it would not run while it waits. */
static bool join_refuse(recording *r) {
    int fd;
    if (r->spare < 0 || (errno != EMFILE && errno != ENFILE)) return false;
    close(r->spare);
    fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) close(fd), r->crowded++;
    r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static joining *join_place(recording *r) {
    for (int i = 0; i < JOINING; i++)
        if (r->joining[i].fd < 0) return &r->joining[i];
    return NULL;
}

static bool is_silent(const joining *j) {
    enum { PATIENCE_US = 1000000 };
    char first;
    return now_us() - j->since_us >= PATIENCE_US && recv(j->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* Whether a slot is free. If not, clients that stay silent are dropped to make room. New clients wait meanwhile. */
static bool join_has_room(recording *r) {
    if (join_place(r)) return true;
    for (joining *j = r->joining; j < r->joining + JOINING; j++) {
        if (!is_silent(j)) continue;
        close(j->fd);
        j->fd = -1;
        if (!j->missed.size) r->crowded++;
    }
    return join_place(r) != NULL;
}

/* Accepts new connections. */
static void join_accept(recording *r) {
    for (joining *j; (j = join_place(r));) {
        int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred who;
        socklen_t size = sizeof who;
        if (fd < 0 && !join_refuse(r)) return;
        if (fd < 0) continue;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
            close(fd);
            continue;
        }
        *j = (joining){ .fd = fd, .pid = who.pid, .uid = who.uid, .since_us = now_us() };
        if (is_ours(j)) continue;
        close(fd);
        j->fd = -1;
    }
}

/* Whether --children and --same-user allow recording this process. */
static bool is_wanted(const recording *r, const joining *j, const char *program) {
    const arguments *a = r->a;
    if (a->record.same_user && j->uid != geteuid()) return false;
    if (j->pid == r->main) return true;
    return !a->record.no_children &&
           (!a->record.children.text || pattern_matches((void *)(uintptr_t)&a->record.children, hd_cstr(program)));
}

static join_reply reply_to(const recording *r, bool wanted) {
    const arguments *a = r->a;
    join_reply reply = { .version = JOIN_VERSION, .size = sizeof reply, .answer = wanted ? JOIN_RECORD : JOIN_REFUSED,
                         .region_bytes = r->region.size, .sample_bytes = a->record.sample_bytes,
                         .depth = a->record.depth };
    if (a->record.format) reply.flags |= JOIN_LIFETIMES;
    if (a->record.no_children) reply.flags |= JOIN_NO_CHILDREN;
    if (a->record.same_user) reply.flags |= JOIN_SAME_USER;
    if (a->record.stats) reply.flags |= JOIN_STATS;
    if (a->record.blocks) reply.flags |= JOIN_BLOCKS;
    if (a->record.ages) reply.flags |= JOIN_AGES;
    if (a->record.threads) reply.flags |= JOIN_THREADS;
    return reply;
}

/* Sends the reply, with the region if the process is to record. False: the process has hung up. */
static bool join_send(const recording *r, int to, join_reply *reply) {
    struct iovec data = { reply, sizeof *reply };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights = { { 0 } };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
    struct cmsghdr *c;
    if (reply->answer == JOIN_RECORD) {
        message.msg_control = &rights;
        message.msg_controllen = sizeof rights.bytes;
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &r->region.fd, sizeof(int));
    }
    return sendmsg(to, &message, MSG_NOSIGNAL) > 0;
}

/* A process that hung up has ended, or has waited as long as it may and runs unrecorded. */
static void join_gone(recording *r, const join_request *request) {
    enum { PATIENCE_US = 9000000 };
    if (now_us() - request->start_us < PATIENCE_US) return;
    r->others.late++;
    snprintf(r->others.late_name, sizeof r->others.late_name, "%s", request->program);
}

/* Whether a client says that a program cannot join. The message counts at the connection's end, unless it came again,
   because exec failed. */
static bool join_misses(recording *r, joining *j, const void *message, ssize_t n) {
    join_missed *m = &j->missed;
    if (m->size) {
        joining program = *j;
        if (m->pid != m->own) program.pid = m->pid;
        if (!n && is_wanted(r, &program, m->program)) unrecorded_missed(r, j->pid, m);
        close(j->fd);
        j->fd = -1;
        return true;
    }
    if (n != sizeof *m) return false;
    memcpy(m, message, sizeof *m);
    m->program[sizeof m->program - 1] = 0;
    if (m->version == JOIN_VERSION && m->size == sizeof *m) return true;
    m->size = 0;
    return false;
}

/* Reads a request and answers it. Its slot is freed first, so that others are served while its program file is
   copied. */
static void join_answer(recording *r, joining *j) {
    join_request request;
    joining who = *j;
    join_reply reply;
    ssize_t n = recv(j->fd, &request, sizeof request, 0);
    if ((n < 0 && (errno == EAGAIN || errno == EINTR)) || join_misses(r, j, &request, n)) return;
    j->fd = -1;
    if (n == sizeof request && request.version == JOIN_VERSION && request.size == sizeof request) {
        request.program[sizeof request.program - 1] = request.allocator[sizeof request.allocator - 1] = 0;
        reply = reply_to(r, !r->stopped && is_wanted(r, &who, request.program));
        if (reply.answer == JOIN_RECORD) {
            symbols_begun(&r->names, (uint64_t)who.pid);
            timeline_begin(r); /* once the program runs, anyone may send requests to the recording */
        }
        if (!join_send(r, who.fd, &reply)) {
            join_gone(r, &request);
        } else if (reply.answer == JOIN_RECORD) {
            unrecorded_joined(r, who.pid, true);
            if (*request.allocator) unrecorded_outside(r, who.pid, &request);
            r->joined++;
            r->soon = 10;
        } else {
            unrecorded_joined(r, who.pid, false);
            r->refused++;
            snprintf(r->refused_name, sizeof r->refused_name, "%s", request.program);
        }
    }
    close(who.fd);
}

uint32_t join_wait(void *user, struct pollfd *to) {
    recording *r = user;
    uint32_t n = 0;
    if (r->listener < 0) return 0;
    if (join_has_room(r)) to[n++] = (struct pollfd){ .fd = r->listener, .events = POLLIN };
    for (int i = 0; i < JOINING; i++) /* poll accepts no more entries than the limit of open files */
        if (r->joining[i].fd >= 0) to[n++] = (struct pollfd){ .fd = r->joining[i].fd, .events = POLLIN };
    return n;
}

void join_serve(void *user, const struct pollfd *from, uint32_t count) {
    recording *r = user;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!from[i].revents) continue;
        any |= from[i].fd == r->listener;
        for (int k = 0; k < JOINING; k++)
            if (r->joining[k].fd == from[i].fd) {
                join_answer(r, &r->joining[k]);
                break;
            }
    }
    if (any) join_accept(r);
}

/* Reads messages of programs that cannot join. At the end of a recording others get no answer. */
static void join_read_missed(recording *r) {
    join_request request;
    for (joining *j = r->joining; j < r->joining + JOINING; j++) {
        while (j->fd >= 0) {
            ssize_t n = recv(j->fd, &request, sizeof request, 0);
            if (n < 0 || !join_misses(r, j, &request, n)) break;
        }
        if (j->fd >= 0) close(j->fd), j->fd = -1;
    }
}

void join_end(recording *r) {
    enum { ROUNDS = 4 };         /* more than the listener's queue holds */
    if (r->listener < 0) return;
    for (int i = 0; i < ROUNDS; i++) {
        join_accept(r);
        join_read_missed(r);
    }
    close(r->listener);
    r->listener = -1;
}
