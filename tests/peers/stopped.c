/* Allocates in turns: prints the processor time of each turn in nanoseconds a call, until its input has a line for each
   turn. `threads`: two of them, of which one prints. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 400000, BLOCKS = 256 };
static void *(*volatile by_pointer)(size_t) = malloc;

static double turn(unsigned random) {
    static __thread void *own[BLOCKS];
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < CALLS; i++) {
        random = random * 1103515245 + 12345;
        void **p = &own[(random >> 8) % BLOCKS];
        if (random >> 31) *p = realloc(*p, (random >> 16) % 300 + 1);
        else free(*p), *p = random & 1 << 20 ? malloc((random >> 16) % 300) : by_pointer((random >> 16) % 300);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

static void *churn(void *unused) {
    for (unsigned i = 0;; i++) turn(i);
    return unused;
}

int main(int argc, char **argv) {
    char line[64];
    pthread_t other;
    if (argc > 1 && !strcmp(argv[1], "threads")) pthread_create(&other, NULL, churn, NULL);
    do {
        double least = turn(1);
        for (unsigned i = 2; i < 8; i++) {
            double next = turn(i);
            if (next < least) least = next;
        }
        printf("%.1f\n", least);
        fflush(stdout);
    } while (fgets(line, sizeof line, stdin));
    return 0;
}
