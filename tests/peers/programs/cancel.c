/* A thread that is cancelled at the next cancellation point: not in malloc and free, even when these write a dump,
   and not in exit. `cancel due`, `cancel exit`: status 3. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile int is_through;

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *run(void *what) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    if (!strcmp(what, "exit")) exit(3);
    for (uint64_t end = now_ms() + 20; now_ms() <= end;) free(malloc(100));
    for (int i = 0; i < 200; i++) free(malloc(100)); /* one call in 64 reads the clock */
    is_through = 1;
    pthread_testcancel();
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *result;
    if (argc != 2 || pthread_create(&thread, NULL, run, argv[1])) return 9;
    pthread_join(thread, &result);
    return is_through && result == PTHREAD_CANCELED ? 3 : 8;
}
