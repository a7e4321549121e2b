/* Closes every descriptor and continues to allocate, also in threads. own: opens `own` as descriptors 0 to 9, which
   no other code may touch. shout: a thread keeps writing to the closed standard output. Both run until three more
   dumps exist. */
#define _GNU_SOURCE
#include "dumps.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile keep;
static volatile int done;

static void *shout(void *arg) {
    while (!done)
        if (write(1, "SHOUT", 5) >= 0 || write(2, "SHOUT", 5) >= 0) _exit(9);
    return arg;
}

static void *allocate(void *arg) {
    free(malloc(100));
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int before = dumps_written();
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate, NULL) || pthread_join(thread, NULL)) return 9;
    close_range(3, ~0u, 0);
    close_range(0, 2, 0);
    if (!strcmp(what, "own"))
        for (int i = 0; i < 10; i++)
            if (open("own", O_RDWR | O_CREAT, 0600) != i) return 9;
    if (!strcmp(what, "shout")) {
        if (open("/dev/null", O_RDONLY)) return 9;
        pthread_create(&thread, NULL, shout, NULL);
    }
    keep = malloc(1000003);
    for (int i = 0; i < 100000 || (*what && dumps_written() < before + 3); i++) free(malloc(100));
    for (int i = 0; i < 10; i++) {
        pthread_t other;
        if (pthread_create(&other, NULL, allocate, NULL) || pthread_join(other, NULL)) return 9;
    }
    if (!strcmp(what, "own"))
        for (int i = 0; i < 10; i++)
            if (lseek(i, 0, SEEK_CUR) != 0) return 8;
    if (!strcmp(what, "shout")) {
        done = 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
