/* Simulates an hour without waiting, for heapdump record --at every=1: its timer has always expired, and its
   monotonic clock advances by a second each time that it notices. With HALVES set, its writes to a position in a file
   are done in two halves, one after the other, as on a busy disk. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int timer = -1;
static long seconds;

int timerfd_create(int clock, int flags) {
    (void)clock, (void)flags;
    return timer = eventfd(UINT_MAX, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    (void)fd, (void)flags, (void)new, (void)old;
    return 0;
}

ssize_t read(int fd, void *to, size_t size) {
    ssize_t n = syscall(SYS_read, fd, to, size);
    if (fd == timer && n > 0) seconds++;
    return n;
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
    const struct timespec a_while = { .tv_nsec = 5000000 };
    size_t half = getenv("HALVES") ? size / 2 : size;
    ssize_t n = syscall(SYS_pwrite64, fd, from, half, at), rest;
    if (n != (ssize_t)half || half == size) return n;
    syscall(SYS_nanosleep, &a_while, NULL);
    rest = syscall(SYS_pwrite64, fd, (const char *)from + n, size - (size_t)n, at + n);
    return rest < 0 ? n : n + rest;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, id, now);
    if (!status && id == CLOCK_MONOTONIC) now->tv_sec += seconds;
    return status;
}
