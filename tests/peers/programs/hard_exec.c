/* Executes its arguments while threads allocate; if that fails, it continues with 1000003 bytes more. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;
static volatile int done;

static void *allocate(void *arg) {
    while (!done) free(malloc(100));
    return arg;
}

int main(int argc, char **argv) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < 10000; i++) free(malloc(200));
    if (argc > 1) execv(argv[1], argv + 1);
    done = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    keep = malloc(1000003);
    return 5;
}
