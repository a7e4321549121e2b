/* The region in this process: how it is requested, grown, shrunk, and left.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_MAPPED_H
#define RECORD_MAPPED_H

/* Requests the region. The process at the other end must belong to the user who records, or to root. -1: no
   region. */
static int ask_for_region(int s, const join_request *request, join_reply *reply) {
    struct iovec data = { reply, sizeof *reply };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
                              .msg_control = &rights, .msg_controllen = sizeof rights };
    const char *user = exec_variable("HEAPDUMP_USER");
    struct cmsghdr *c;
    struct ucred peer;
    socklen_t size = sizeof peer;
    ssize_t n;
    int fd = -1;
    if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
        (peer.uid && peer.uid != geteuid() && !(user && *user && strtoul(user, NULL, 10) == peer.uid)))
        return -1;
    if (send(s, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request) return -1;
    n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
    c = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (n == (ssize_t)sizeof *reply && reply->version == JOIN_VERSION && reply->answer == JOIN_RECORD) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Joins `heapdump record`, which may be dead or stopped. */
static int join_recording(const char *name, const join_request *request, join_reply *reply) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    static const struct timeval patience = { 10, 0 };
    int s, fd = -1;
    if (strlen(name) != JOIN_NAME || (s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) < 0) return -1;
    memcpy(address.sun_path + 1, name, JOIN_NAME);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!connect(s, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + JOIN_NAME))
        fd = ask_for_region(s, request, reply);
    close(s);
    return fd;
}

/* Opens a region in a file. An empty file becomes a region first. */
static int keep_region(const char *path, join_reply *reply) {
    const char *sample = exec_variable("HEAPDUMP_SAMPLE"), *depth = exec_variable("HEAPDUMP_DEPTH");
    const char *ages = exec_variable("HEAPDUMP_AGES"), *threads = exec_variable("HEAPDUMP_THREADS");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    void *first;
    if (fd < 0) return -1;
    flock(fd, LOCK_EX);          /* only one of several starting programs makes the region */
    if (!fstat(fd, &st) && !st.st_size) {
        uint64_t bytes = (uint64_t)1 << 40;
        while (bytes >= 1 << 20 && ftruncate(fd, (off_t)bytes)) bytes /= 2;
        first = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (first != MAP_FAILED && bytes >= 1 << 20) hd_region_init(first, bytes, NULL);
        if (first != MAP_FAILED) munmap(first, 65536);
    }
    flock(fd, LOCK_UN);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return close(fd), -1;
    reply->region_bytes = (uint64_t)st.st_size;
    reply->sample_bytes = sample ? strtoull(sample, NULL, 10) : 0;
    reply->depth = depth ? (uint32_t)strtoul(depth, NULL, 10) : 0;
    reply->flags = (ages && *ages ? (uint32_t)JOIN_AGES : 0) | (threads && *threads ? (uint32_t)JOIN_THREADS : 0);
    return fd;
}

/* With a limit on addresses, the mapping must grow, so it goes far away from other mappings. */
static void *map_apart(int fd, uint64_t bytes) {
    uint64_t random = started_us * 0x9e3779b97f4a7c15u >> 34 << 12;
    void *p = MAP_FAILED;
    for (uint64_t i = 1; i < 8 && region_step && p == MAP_FAILED; i++)
        p = mmap((void *)(uintptr_t)(i << 43 | random), bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (p != MAP_FAILED) return p;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
}

/* Maps the region, or less if addresses are short. With a limit on addresses, a tenth of them at first. */
static uint64_t map_region(int fd, uint64_t bytes) {
    struct rlimit limit;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS); /* a file with a name cannot be sealed: -1, or only F_SEAL_SEAL on tmpfs */
    bool sealable = seals >= 0 && seals != F_SEAL_SEAL;
    if (fstat(fd, &st) || (uint64_t)st.st_size < bytes || (sealable && !(seals & F_SEAL_SHRINK))) return 0;
    region_whole = bytes;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur / 10)
        region_step = bytes = limit.rlim_cur / 10;
    for (bytes &= ~(uint64_t)65535; bytes >= 1 << 18; bytes = bytes / 2 & ~(uint64_t)65535) {
        void *p = map_apart(fd, bytes);
        if (p == MAP_FAILED) continue;
        madvise(p, bytes, MADV_DONTDUMP);
        if (join_flags & JOIN_NO_CHILDREN) madvise(p, bytes, MADV_DONTFORK);
        region = p;
        return bytes;
    }
    return 0;
}

/* Whether enough addresses are free that the program can spare `step` of them. */
static bool is_roomy(uint64_t step) {
    void *p = mmap(NULL, 3 * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p != MAP_FAILED && !munmap(p, 3 * step);
}

/* Maps more of the region behind the mapped part, in steps of a tenth of the addresses. Stops when less than three
   steps are free. */
static uint64_t more_region(void *unused, uint64_t needed) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken inside the recorder's locks, which a fork
                                                                takes */
    uint64_t step, bytes;
    int saved = errno;
    (void)unused;
    if (!region_step) return region_bytes;
    pthread_mutex_lock(&lock);
    step = region_step & ~(uint64_t)65535;
    bytes = region_bytes;
    while (step && bytes < needed) {
        if (bytes + step > region_whole || !is_roomy(step) || mremap(region, bytes, bytes + step, 0) == MAP_FAILED)
            region_step = step = 0;
        else bytes += step;
    }
    region_bytes = bytes;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return bytes;
}

/* False in a child of vfork. It shares its parent's memory, so its calls must not change the mapping. */
static bool is_own_process(void) { return getpid() == own_pid; }

static void bypass_hooks(void);

/* Leaves the region for good. Threads that are still recording write into private memory instead. */
static void leave_region(void) {
    uint64_t bytes;
    if (!is_own_process() || !change_state(READY, OFF) || !is_outside()) return;
    region_step = 0;
    hd_record_suspend();
    bytes = hd_recorder_region_bytes(recorder, 0);
    munmap((char *)region + bytes, region_bytes - bytes);
    if (mmap(region, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
        munmap(region, bytes);
    region_bytes = bytes;
    hd_record_resume();
    bypass_hooks();
}

/* The recording was stopped: the program goes on as if it had never been recorded. */
static __attribute__((noinline)) void end_recording(void) {
    if (!is_own_process() || !is_outside()) return;
    over = true;
    leave_region();
}

/* Before the program limits its addresses: unmaps unused parts of the region, except a tenth of the addresses that
   the program keeps. */
static void shrink_region(uint64_t limit) {
    uint64_t bytes;
    if (get_state() != READY || limit == RLIM_INFINITY || !is_own_process() || !is_outside()) return;
    region_step = limit / 10;
    bytes = hd_region_used(region, region_bytes) + region_step;
    if (bytes >= region_bytes) return;
    hd_record_suspend();
    bytes = hd_recorder_region_bytes(recorder, bytes);
    if (bytes && bytes < region_bytes && !munmap((char *)region + bytes, region_bytes - bytes)) region_bytes = bytes;
    hd_record_resume();
}

#endif
