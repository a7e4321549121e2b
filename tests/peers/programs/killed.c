/* killed TALLY [HOW AFTER]: eight threads allocate and free, and count that in a file that outlives them. AFTER
   microseconds later it ends by abort, segv or oom (takes memory until the kernel kills it). */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 8, BLOCKS = 2000, SIZE = 64 };
typedef struct tally {
    volatile uint64_t allocated, freed;
    char apart[48];
} tally;
static tally *tallies;

static __attribute__((noinline)) void *counted(void) {
    void *volatile p = malloc(SIZE);
    return p;
}

static void *churn(void *argument) {
    void *block[BLOCKS] = { NULL };
    tally *t = &tallies[(uintptr_t)argument];
    unsigned random = (unsigned)(uintptr_t)argument + 1;
    for (;;) {
        unsigned i = (random = random * 1103515245 + 12345) >> 8;
        void **b = &block[i % BLOCKS];
        if (*b) {
            free(*b);
            *b = NULL;
            t->freed++;
        } else {
            *b = counted();
            t->allocated++;
        }
    }
    return NULL;
}

static void end(const char *how) {
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
    for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}

int main(int argc, char **argv) {
    pthread_t thread;
    int fd = open(argc > 1 ? argv[1] : "tally", O_RDWR);
    tallies = mmap(NULL, THREADS * sizeof *tallies, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (tallies == MAP_FAILED) return 1;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread, NULL, churn, (void *)i);
    if (argc < 4) pause();
    usleep((useconds_t)atoi(argv[3]));
    end(argv[2]);
    return 0;
}
