/* Threads that only reallocate one block each, until standard input ends: `resizing THREADS [still | sites | new]`.
   `still`: the threads keep their first blocks. `sites`: each realloc has another call stack than the previous one.
   `new`: each has a call stack that is new, up to 2^20 for each thread.
   `resizing 0`: the main thread only reallocates a small block. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 1000, LARGE = 3000000, MORE = 2 }; /* every other thread has a large one; they grow by half */

enum { NEW_BITS = 20 };

static bool still, sites, always_new;
static int ready;

static __attribute__((noinline)) void *resized(void *p, size_t n) {
    void *volatile q = realloc(p, n);
    if (!q) abort();
    return q;
}

static __attribute__((noinline)) void *resized_elsewhere(void *p, size_t n) {
    void *volatile q = realloc(p, n);
    if (!q) abort();
    return q;
}

/* Calls itself from two places, by the bits of a number: each number has its own call stack. */
static __attribute__((noinline)) void *resized_by(void *p, size_t n, unsigned number, int bits) {
    void *volatile q;
    if (!bits) return resized(p, n);
    if (number & 1) q = resized_by(p, n, number >> 1, bits - 1);
    else q = resized_by(p, n, number >> 1, bits - 1);
    return q;
}

static void *work(void *user) {
    size_t own = (size_t)user % MORE ? LARGE : SMALL;
    void *p = resized(NULL, own);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 1; !still; i++) {
        size_t n = own + (i & 1) * own / 2;
        if (always_new) p = resized_by(p, n, i, NEW_BITS);
        else p = sites && (i & 1) ? resized_elsewhere(p, n) : resized(p, n);
    }
    pause();
    return p;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    char line[64];
    still = argc > 2 && !strcmp(argv[2], "still");
    sites = argc > 2 && !strcmp(argv[2], "sites");
    always_new = argc > 2 && !strcmp(argv[2], "new");
    if (!threads) {
        void *p = malloc(SMALL);
        if (write(1, "ready\n", 6) != 6) return 1;
        for (unsigned i = 0;; i++) p = resized(p, SMALL + (i & 1));
    }
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        pthread_create(&t, NULL, work, (void *)(size_t)(i + 1));
    }
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < threads) usleep(1000);
    if (write(1, "ready\n", 6) != 6) return 1;
    while (read(0, line, sizeof line) > 0) {}
    _exit(0);
}
