/* A monotonic clock that advances by half a second at each call, so that progress is shown. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static long looks;
    long looked;
    if (id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, now);
    looked = __sync_add_and_fetch(&looks, 1);
    now->tv_sec = looked / 2;
    now->tv_nsec = looked % 2 * 500000000;
    return 0;
}
