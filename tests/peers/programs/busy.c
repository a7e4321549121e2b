/* Preloaded into heapdump to simulate a busy machine: each reading takes long and reports many page faults, and the
   program continues meanwhile. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int getrusage(__rusage_who_t who, struct rusage *used) {
    static long more;
    int status = (int)syscall(SYS_getrusage, who, used);
    const struct timespec a_while = { .tv_nsec = 300000000 };
    syscall(SYS_nanosleep, &a_while, NULL);
    used->ru_minflt += more += 1000000;
    return status;
}
