/* Threads allocate while two others fork; children allocate and end. 1000003 bytes stay with the parent. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int done;
static void *volatile keep;

static void *allocate(void *arg) {
    while (!done) {
        void *p = malloc((size_t)(rand() % 500));
        free(realloc(p, 1000));
    }
    return arg;
}

static void *fork_on(void *arg) {
    for (int i = 0; i < 15; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 100; k++) free(malloc(100));
            keep = malloc(777);
            if (i % 2) exit(0);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status) _exit(9);
    }
    return arg;
}

int main(void) {
    pthread_t threads[6];
    keep = malloc(1000003);
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, i < 4 ? allocate : fork_on, NULL);
    for (int i = 4; i < 6; i++) pthread_join(threads[i], NULL);
    done = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
