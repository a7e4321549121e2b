/* Threads allocate and free all the time until standard input ends: `one_moment THREADS`. Some blocks live on, and
   the heap grows and shrinks. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 512 };

static void *work(void *user) {
    unsigned random = (unsigned)(size_t)user * 77 + 1;
    void *own[BLOCKS] = { 0 };
    for (;;) {
        unsigned i = (random = random * 1103515245 + 12345) >> 8;
        void **p = &own[i % (random >> 30 ? BLOCKS : 8)];
        if (i & 512) {
            void *volatile now = malloc(64);
            free(now);
        } else if (i & 1024) {
            *p = realloc(*p, i % 900 + 1);
        } else {
            free(*p);
            *p = i & 2048 ? malloc(i % 900) : NULL;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    char line[64];
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
        pthread_t t;
        pthread_create(&t, NULL, work, (void *)(size_t)i);
    }
    while (read(0, line, sizeof line) > 0) {}
    return 0;
}
