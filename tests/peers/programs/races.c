/* races: eight threads allocate, resize and free blocks, also each other's, three times over. races storm: the same
   by two threads in each of 121 processes, while these fork. A block of 777 bytes stays in each process. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, BLOCKS = 512, DEPTH = 4, CHILDREN = 3 };
static void *shared[BLOCKS];
static void *volatile kept;
static int done;

static void turns(unsigned random, int times) {
    void *own[16] = { NULL };
    for (int i = 0; i < times; i++) {
        unsigned n = (random = random * 1103515245 + 12345) >> 8, at = n % 16;
        if (n & 64) {
            own[at] = realloc(own[at], n % 500 + 1);
        } else {
            free(own[at]);
            own[at] = malloc(n % 300);
        }
        if (n & 128) free(__atomic_exchange_n(&shared[n % BLOCKS], calloc(1, n % 100), __ATOMIC_ACQ_REL));
    }
    for (int i = 0; i < 16; i++) free(own[i]);
}

static void *churn(void *argument) {
    turns((unsigned)(uintptr_t)argument, 3000);
    return argument;
}

static void *churn_on(void *argument) {
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) turns((unsigned)(uintptr_t)argument, 100);
    return argument;
}

static void give_shared(void) {
    for (int i = 0; i < BLOCKS; i++) {
        free(shared[i]);
        shared[i] = NULL;
    }
}

/* A child inherits the blocks in `shared` from its parent. */
static int storm(int depth) {
    pthread_t threads[2];
    int failed = 0, status;
    memset(shared, 0, sizeof shared);
    kept = malloc(777);
    for (uintptr_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, churn_on, (void *)(i + (uintptr_t)depth))) return 9;
    for (int i = 0; depth && i < CHILDREN; i++) {
        pid_t pid = fork();
        if (!pid) exit(storm(depth - 1));
        failed |= pid < 0;
    }
    while (wait(&status) > 0) failed |= status;
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    give_shared();
    return failed != 0;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc > 1 && !strcmp(argv[1], "storm")) return storm(DEPTH);
    kept = malloc(777);
    for (int k = 0; k < 3; k++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, churn, (void *)i)) return 9;
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    give_shared();
    return 0;
}
