/* All calls of the malloc family, through stacks of many depths; some blocks are freed, others kept. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *keep[400];
static int n;

static void *deep(int depth, size_t size) {
    void *p = depth ? deep(depth - 1, size) : malloc(size);
    __asm__ volatile("" : : : "memory");
    return p;
}

int main(void) {
    void *q;
    FILE *f;
    srand(7);
    for (int i = 0; i < 200; i++) {
        void *p = deep(rand() % 60, (size_t)(rand() % 5000));
        if (rand() % 3) free(p);
        else keep[n++] = p;
    }
    for (int i = 0; i < 50; i++) {
        void *p = calloc((size_t)(rand() % 50), 7);
        p = realloc(p, (size_t)(rand() % 9000 + 1));
        if (i % 2) free(p);
        else keep[n++] = p;
    }
    if (posix_memalign(&q, 64, 100)) return 1;
    keep[n++] = q;
    keep[n++] = aligned_alloc(32, 64);
    keep[n++] = memalign(128, 33);
    keep[n++] = valloc(10);
    keep[n++] = reallocarray(NULL, 3, 5);
    keep[n++] = strdup("hello");
    keep[n++] = malloc(0);
    keep[n++] = realloc(NULL, 77);
    q = malloc(50);
    if (realloc(q, (size_t)-1 / 2)) return 1; /* fails, and the block stays */
    keep[n++] = q;
    if (!(f = fopen("/dev/null", "w"))) return 1;
    fprintf(f, "x");
    puts("done");
    return 3;
}
