/* A program that joins `heapdump record` like examples/recorder/join.h, and records its arguments only with the
   library. +BYTES and +BYTES:TYPE allocate, - frees the last block, stat=ALLOCATOR:BYTES reports a statistic. fork
   and daemon continue in a child, exec in another program, vandal overwrites shared memory; the rest are names of
   system calls. */
#define _GNU_SOURCE
#define HEAPDUMP_IMPLEMENTATION
#include "../../../heapdump.h"
#include "../../../examples/recorder/join.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static hd_recorder *rec;
static void *region;
static uintptr_t next = 4096;

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    (void)user;
    if (capacity) pcs[0] = __builtin_return_address(0);
    return capacity ? 1 : 0;
}

static uint64_t started;

static uint32_t clock_ms(void *user) {
    struct timespec now;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 - started) / 1000);
}

/* The address range of this program, and its identity. */
static void tell_module(void) {
    char line[4096], path[4096];
    hd_module m = { 0 };
    FILE *f = fopen("/proc/self/maps", "r");
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        unsigned long start, end;
        if (!strstr(line, path) || sscanf(line, "%lx-%lx", &start, &end) != 2) continue;
        if (!m.bias) m.bias = m.start = start;
        m.end = end;
    }
    if (f) fclose(f);
    m.path = hd_cstr(path);
    if (m.bias) hd_recorder_add_module(rec, &m);
}

static int join(const char *program) {
    const char *name = getenv("HEAPDUMP_JOIN");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    join_request request = { JOIN_VERSION, sizeof request, 0, "" };
    join_reply reply;
    struct iovec data = { &reply, sizeof reply };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights };
    hd_recorder_desc desc = { .name = program };
    struct timespec now;
    hd_error err;
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd;
    if (!name || strlen(name) != JOIN_NAME) return puts("no HEAPDUMP_JOIN"), 0;
    memcpy(address.sun_path + 1, name, JOIN_NAME);
    clock_gettime(CLOCK_MONOTONIC, &now);
    request.start_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    snprintf(request.program, sizeof request.program, "%s", program);
    if (connect(s, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + JOIN_NAME)) return perror("connect"), 0;
    send(s, &request, sizeof request, 0);
    if (recvmsg(s, &message, MSG_CMSG_CLOEXEC) != sizeof reply || reply.answer != JOIN_RECORD) return close(s), 0;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    desc.region = mmap(NULL, reply.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    region = desc.region;
    desc.region_bytes = reply.region_bytes;
    desc.sample_bytes = reply.sample_bytes;
    started = desc.start_us = request.start_us;
    desc.lifetimes = reply.flags & JOIN_LIFETIMES;
    desc.clock = clock_ms;
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    close(s), close(fd);
    if (desc.region != MAP_FAILED) rec = hd_recorder_create(&desc, &err);
    if (!rec) puts(err.message);
    else tell_module();
    return rec != NULL;
}

static void one(char **argv, const char *word) {
    char *end;
    if (*word == '+') {
        size_t size = strtoull(word + 1, &end, 10);
        hd_record_alloc(rec, (void *)(next += 16), size, *end == ':' ? end + 1 : NULL);
    } else if (!strcmp(word, "-")) {
        hd_record_free(rec, (void *)next);
    } else if (!strcmp(word, "fork")) {
        if (rec) hd_recorder_fork_prepare(rec);
        pid_t pid = fork();
        if (!pid && rec) hd_recorder_fork_child(rec);
        if (pid && rec) hd_recorder_fork_parent(rec);
        if (pid) waitpid(pid, NULL, 0), exit(0);
    } else if (!strcmp(word, "daemon")) {
        if (rec) hd_recorder_fork_prepare(rec);
        pid_t pid = fork();
        if (!pid && rec) hd_recorder_fork_child(rec);
        if (pid) exit(0);
        setsid();
    } else if (!strncmp(word, "sleep=", 6)) {
        double s = atof(word + 6);
        struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
        while (nanosleep(&t, &t) && errno == EINTR) {}
    } else if (!strncmp(word, "signal=", 7)) {
        kill(getpid(), atoi(word + 7));
    } else if (!strcmp(word, "abort")) {
        abort();
    } else if (!strncmp(word, "exit=", 5)) {
        exit(atoi(word + 5));
    } else if (!strcmp(word, "exec")) {
        argv[0] = (char *)(uintptr_t)"/proc/self/exe";
        execv("/proc/self/exe", argv);
    } else if (!strcmp(word, "nobody")) {
        if (setgid(65534) || setuid(65534)) perror("setuid");
    } else if (!strncmp(word, "chroot=", 7)) {
        if (chroot(word + 7) || chdir("/")) perror("chroot");
    } else if (!strcmp(word, "vandal")) {
        uint64_t *at = (uint64_t *)region, random = 88172645463325252u;
        for (int i = 0; i < 2000000; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            at[random % ((size_t)1 << 17)] = random >> (random & 63);
        }
    } else if (!strncmp(word, "stat=", 5)) {       /* a statistic of its allocator: NAME:VALUE */
        hd_allocator_stat stat = { word + 5, "size", "bytes", 0 };
        char *colon = strchr(word, ':');
        *colon = 0;
        stat.value = strtoull(colon + 1, NULL, 10);
        hd_recorder_allocator_stats(rec, &stat, 1);
    } else if (!strncmp(word, "say=", 4)) {
        puts(word + 4), fflush(stdout);
    }
}

int main(int argc, char **argv) {
    const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    join(program);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "exec")) argv[i] = argv[0], one(argv + i, "exec");
        one(argv + i, argv[i]);
    }
    return 0;
}
