/* Allocates in turns. Prints the processor time of each turn in nanoseconds per call, until its input has a line for
   each turn. `threads`: two threads, one of which prints. `frees`: turns only free blocks that were allocated before.
   */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 400000, BLOCKS = 256, TURNS = 24, FREES = 50000 };
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

static void *kept[TURNS][FREES];

static double turn_of_frees(void) {
    static int next;
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < FREES; i++) free(kept[next][i]);
    next++;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / FREES;
}

static void *churn(void *unused) {
    for (unsigned i = 0;; i++) turn(i);
    return unused;
}

int main(int argc, char **argv) {
    char line[64];
    pthread_t other;
    if (argc > 1 && !strcmp(argv[1], "threads")) pthread_create(&other, NULL, churn, NULL);
    bool frees = argc > 1 && !strcmp(argv[1], "frees");
    static char output[4096];
    setvbuf(stdout, output, _IOFBF, sizeof output);
    for (int i = 0; i < TURNS * FREES && frees; i++) kept[i / FREES][i % FREES] = malloc(100);
    do {
        double least = frees ? turn_of_frees() : turn(1);
        for (unsigned i = 2; i < 8; i++) {
            double next = frees ? turn_of_frees() : turn(i);
            if (next < least) least = next;
        }
        printf("%.1f\n", least);
        fflush(stdout);
    } while (read(0, line, sizeof line) > 0);
    return 0;
}
