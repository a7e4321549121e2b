/* Threads that allocate and free all the time, from call stacks like a real program's. There are 200 kinds of
   requests, each with a path of its own through 16 functions, 12 to 43 deep. It allocates on the way down, and frees
   on the way up, or later, or in the other thread.

   usage: two_threads REQUESTS FILE [THREADS]
       writes the sum of the contents of all blocks: always the same, in any interleaving of the threads. Blocks that
       are live at the end stay live. REQUESTS for each thread; default of THREADS: 2. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 16, KINDS = 200, KEPT = 20000, SHARED = 1024, THREADS = 64 };

typedef struct block {
    uint64_t size, value;
} block;

typedef struct worker {
    uint64_t random, sum, kind;
    long requests;
    block *kept[KEPT];
} worker;

static _Atomic(block *) shared[SHARED];

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t next(worker *w) { return mix(w->random += 0x9e3779b97f4a7c15u); }

/* Mostly small: each place in the program asks for one of four sizes. */
static inline block *take(worker *w, int depth) {
    uint64_t dice = next(w), place = mix(w->kind << 8 | (uint64_t)depth), size = sizeof(block);
    if (place % 16 < 10) size += (place >> 8 & 48) + (dice & 3) * 4;
    else if (place % 16 < 15) size += (place >> 8 & 511) + (dice & 3) * 16;
    else size += (place >> 8 & 4095) + (dice & 3) * 1024;
    block *b = malloc(size);
    if (!b) abort();
    b->size = size;
    b->value = dice;
    return b;
}

static void count(worker *w, const block *b) {
    if (b) w->sum += mix(b->value ^ b->size);
}

static void give(worker *w, block *b) {
    count(w, b);
    free(b);
}

static void descend(worker *w, int depth);

/* One frame of the program: allocates a block for its own use, and a block that lives longer. */
static inline __attribute__((always_inline)) void work(worker *w, int depth) {
    block *own = take(w, depth);
    if (depth) descend(w, depth - 1);
    uint64_t where = next(w);
    if (where % 4 == 0) {
        block **kept = &w->kept[(where >> 8) % KEPT];
        give(w, *kept);
        *kept = take(w, depth);
    } else if (where % 4 == 1) {
        give(w, atomic_exchange(&shared[(where >> 8) % SHARED], take(w, depth)));
    }
    give(w, own);
}

#define FUNCTION(n) \
    static __attribute__((noinline)) void f##n(worker *w, int depth) { work(w, depth); }
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4) FUNCTION(5) FUNCTION(6) FUNCTION(7)
FUNCTION(8) FUNCTION(9) FUNCTION(10) FUNCTION(11) FUNCTION(12) FUNCTION(13) FUNCTION(14) FUNCTION(15)
static void (*const functions[FUNCTIONS])(worker *, int) = { f0, f1, f2,  f3,  f4,  f5,  f6,  f7,
                                                             f8, f9, f10, f11, f12, f13, f14, f15 };

static inline __attribute__((always_inline)) void descend(worker *w, int depth) {
    functions[mix(w->kind << 8 | (uint64_t)depth) % FUNCTIONS](w, depth);
}

static void *run(void *user) {
    worker *w = user;
    for (long i = 0; i < w->requests; i++) {
        w->kind = next(w) % KINDS;
        descend(w, 11 + (int)(mix(w->kind) % 32));
    }
    for (int i = 0; i < KEPT; i++) count(w, w->kept[i]);
    return NULL;
}

int main(int argc, char **argv) {
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    int count = argc > 3 ? atoi(argv[3]) : 2;
    if (argc < 3 || count < 1 || count > THREADS) return 2;
    for (int i = 0; i < count; i++) {
        workers[i].random = (uint64_t)i + 1;
        workers[i].requests = strtol(argv[1], NULL, 10);
        if (pthread_create(&threads[i], NULL, run, &workers[i])) return 1;
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) sum += workers[i].sum;
    for (int i = 0; i < SHARED; i++)
        if (shared[i]) sum += mix(shared[i]->value ^ shared[i]->size);
    FILE *result = fopen(argv[2], "w");
    if (!result) return 1;
    fprintf(result, "%016llx\n", (unsigned long long)sum);
    return fclose(result) != 0;
}
