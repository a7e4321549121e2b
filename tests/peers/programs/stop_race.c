/* Two threads notice the stop of a recording at the same time. Both reach getpid, which the recorder calls on its way
   out, before one continues; the same for munmap. The rest of the region must be unmapped only once: later mappings
   of other threads may be at the same address. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 2, REST = 1 << 30 };

static volatile int armed, inside, left, unmapped;

pid_t getpid(void) {
    if (armed) {
        __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        while (inside < THREADS) {}
    }
    return (pid_t)syscall(SYS_getpid);
}

int munmap(void *p, size_t size) {
    if (armed && size > REST) {
        __atomic_add_fetch(&unmapped, 1, __ATOMIC_SEQ_CST);
        while (unmapped < THREADS && !left) {}
    }
    return (int)syscall(SYS_munmap, p, size);
}

static void *work(void *unused) {
    while (inside < THREADS) free(malloc(64));
    for (int i = 0; i < 100000; i++) free(malloc(64));
    __atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST);
    return unused;
}

int main(void) {
    pthread_t thread[THREADS];
    char go;
    if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &go, 1) != 1) return 2;
    armed = 1;
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return unmapped == 1 ? 0 : 1;
}
