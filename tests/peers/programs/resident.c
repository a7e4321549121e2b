/* A program with planted parts: blocks of which one in eight stays, thread stacks, a mapped file, a private mapping.
   Prints their addresses (resident.py), then waits until its standard input ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1 << 20, BLOCKS = 24000, SIZE = 2000, LARGE = 3 * MB, THREADS = 4, STACK = 5 * MB };

static sem_t ready;

__attribute__((noinline)) static void touch_stack(void) {
    volatile char deep[STACK];
    for (size_t i = 0; i < sizeof deep; i += 512) deep[i] = 1;
}

static void *wait_on(void *unused) {
    char here;
    (void)unused;
    touch_stack();
    printf("stack %p\n", (void *)&here);
    sem_post(&ready);
    for (;;) pause();
}

static void keep(const void *p, size_t size) { printf("block %p %zu\n", p, size); }

int main(int argc, char **argv) {
    static char *block[BLOCKS];
    static char zeros[9 * MB], said[MB];
    pthread_t thread;
    char here, *large, *own, *file;
    int fd = open(argv[1], O_RDONLY);
    setvbuf(stdout, said, _IOFBF, sizeof said);
    (void)argc;
    for (int i = 0; i < BLOCKS; i++) memset(block[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < BLOCKS; i++)
        if (i % 8) free(block[i]);
        else keep(block[i], SIZE);
    memset(large = malloc(LARGE), 1, LARGE);
    keep(large, LARGE);
    memset(zeros, 1, sizeof zeros);
    own = mmap(NULL, 34 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* separate, whatever mappings are next to it */
    mprotect(own + MB, 32 * MB, PROT_READ | PROT_WRITE);
    memset(own + MB, 1, 20 * MB);
    file = mmap(NULL, 16 * MB, PROT_READ, MAP_SHARED, fd, 0);
    for (int i = 0; i < 16 * MB; i += 4096) here = *(volatile char *)(file + i);
    sem_init(&ready, 0, 0);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread, NULL, wait_on, NULL);
    for (int i = 0; i < THREADS; i++) sem_wait(&ready);
    printf("stack %p\nown %p\nend\n", (void *)&here, (void *)(own + MB));
    fflush(stdout);
    while (read(0, &here, 1) > 0) {}
    return 0;
}
