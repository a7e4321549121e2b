/* Allocates until another thread kills the process, the given number of microseconds after its first dump. */
#include "dumps.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;

static void *end(void *arg) {
    while (dumps_written() < 1) usleep(1000);
    usleep((useconds_t)atoi(arg));
    kill(getpid(), SIGKILL);
    return arg;
}

static void *deep(int depth) { return depth ? deep(depth - 1) : (keep = malloc(10)); }

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2 || pthread_create(&thread, NULL, end, argv[1])) return 9;
    for (int i = 0;; i++) deep(i % 40);
}
