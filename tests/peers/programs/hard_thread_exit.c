/* Threads with the smallest stacks start and end until six dumps exist; as they end, their destructors allocate and
   free. */
#include "dumps.h"
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;
static void *volatile keep;

static void destroy(void *p) {
    static int rounds;
    free(p);
    free(malloc(333));
    if (++rounds % 2) pthread_setspecific(key, malloc(50)); /* the destructor is called once more */
}

static void *run(void *arg) {
    for (int i = 0; i < 30; i++) free(malloc(100));
    pthread_setspecific(key, malloc(20));
    return arg;
}

int main(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 8192);
    pthread_key_create(&key, destroy);
    keep = malloc(1000003);
    for (int i = 0; i < 150 || dumps_written() < 6; i++) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            if (pthread_create(&threads[k], &small, run, NULL)) return 9;
        for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);
    }
    return 0;
}
