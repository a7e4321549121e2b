/* Four threads that allocate, resize and free by jemalloc's own calls. Prints the expected recording: "BLOCKS of
   BYTES live, BLOCKS of BYTES". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *mallocx(size_t, int);
void *rallocx(void *, size_t, int);
size_t xallocx(void *, size_t, size_t, int);
void dallocx(void *, int);
void sdallocx(void *, size_t, int);

typedef struct block { char *at; size_t size; int resized; } block;
static atomic_long live, live_bytes, all, all_bytes;

static void takes(block *b, char *p, size_t size) {
    if (!p) _exit(9);
    *b = (block){ p, size, p == b->at };
    live++, live_bytes += size, all++, all_bytes += size;
}
static void gives(const block *b) { live--, live_bytes -= b->size; }

static void *work(void *user) {
    unsigned random = (unsigned)(size_t)user * 99 + 7;
    block blocks[256] = { 0 };
    for (int i = 0; i < 100000; i++) {
        block *b = &blocks[(random = random * 1103515245 + 12345) >> 8 & 255];
        size_t size = (random >> 12) % 3000 + 1;
        if (!b->at) {
            takes(b, mallocx(size, 0), size);
        } else if (random >> 30 == 0) {
            gives(b);
            takes(b, rallocx(b->at, size, 0), size);
        } else if (random >> 30 == 1) {
            if (xallocx(b->at, size, 0, 0) < size) continue;
            gives(b);
            takes(b, b->at, size);
        } else {
            gives(b);
            if (b->resized || random >> 30 == 2) dallocx(b->at, 0); /* sdallocx needs the right size class */
            else sdallocx(b->at, b->size, 0);
            b->at = NULL;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    char line[200];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return write(1, line, (size_t)snprintf(line, sizeof line, "%ld of %ld, %ld of %ld\n", live, live_bytes, all, all_bytes)) < 0;
}
