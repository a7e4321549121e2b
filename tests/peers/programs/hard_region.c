/* Ways to lose or keep the region: `hard_region WHAT`. Keeps 1,000 bytes at first and 222,222 at the end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *churn(void *unused) {
    for (int i = 0; i < 200000; i++) free(malloc(64 + i % 777));
    return unused;
}

/* 64 bytes, by a different call stack for each number. */
static int go(unsigned bits, int depth);
static __attribute__((noinline)) int left(unsigned bits, int depth) { return go(bits, depth) + 1; }
static __attribute__((noinline)) int right(unsigned bits, int depth) { return go(bits, depth) + 2; }
static __attribute__((noinline)) int go(unsigned bits, int depth) {
    static void *volatile block;
    if (!depth) return block = malloc(64), block == NULL;
    return bits & 1 ? left(bits >> 1, depth - 1) : right(bits >> 1, depth - 1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    void *volatile keep = malloc(1000);
    pthread_t threads[4];
    if (!strcmp(what, "clone") && !syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) { /* fork's handlers are not called */
        free(keep);
        keep = malloc(77777);
        _exit(0);
    }
    if (!strcmp(what, "vfork-limit")) {
        struct rlimit few = { 4 << 20, 4 << 20 };
        if (!vfork()) setrlimit(RLIMIT_AS, &few), _exit(0);
    }
    if (!strcmp(what, "mlockall")) {
        struct rusage used;
        if (!mlockall(MCL_CURRENT)) munlockall();
        getrusage(RUSAGE_SELF, &used);
        if (used.ru_maxrss > 1 << 18) return 7;
    }
    for (unsigned i = 0; i < 150000 && (!strcmp(what, "many") || !strcmp(what, "vfork-limit")); i++) go(i, 18);
    if (!strcmp(what, "vfork")) {
        if (!vfork()) _exit(0);
    }
    while (wait(NULL) > 0) {}
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, NULL);
    if (!strcmp(what, "limit")) {
        struct rlimit few = { (rlim_t)2 << 30, (rlim_t)2 << 30 };
        if (setrlimit(RLIMIT_AS, &few)) return 9;
        if (mmap(NULL, (size_t)1 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 8;
    }
    if (!strcmp(what, "user") && setresuid(65534, 65534, 65534)) return 9;
    if (!strcmp(what, "same") && setresuid(getuid(), (uid_t)-1, getuid())) return 9;
    keep = malloc(222222);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 3;
}
