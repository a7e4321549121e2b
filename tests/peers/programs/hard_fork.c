/* Threads allocate while two others fork; children allocate and end. 1000003 bytes stay in the parent.
   */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int done;
static void *volatile keep;

#define FOUR(x) x x x x

static void *allocate_once(void *arg) {
    FOUR(FOUR(FOUR(FOUR(free(realloc(malloc((size_t)(rand() % 500)), 1000));))))
    return arg;
}

/* In new threads, from more places than an unwinder caches: so it searches, and takes locks. */
static void *allocate(void *arg) {
    while (!done) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, allocate_once, NULL) || pthread_join(thread, NULL)) _exit(9);
    }
    return arg;
}

/* One child in 20 lives on to write a dump. */
static void child(int i) {
    for (int k = 0; k < 20; k++) free(malloc(100));
    keep = malloc(777);
    if (i % 20) kill(getpid(), SIGKILL);
    if (i % 40) exit(0);
    _exit(0);
}

static void *fork_on(void *arg) {
    for (int i = 0; i < 300; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) child(i);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || (status && status != SIGKILL)) _exit(9);
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
