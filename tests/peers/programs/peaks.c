/* Random programs with several threads, and their true peaks, from a list of all their calls.

     peaks SEED THREADS MUTEX          one program, which heapdump records; prints bounds of its true peak
     peaks_linked FIRST COUNT [SAY]    compiled with -DLINKED: programs FIRST.. in this process, each with a recorder in
                                       every capture mode, with and without a common mutex; prints the worst difference

   Each call has two time stamps, one before and one after it. With a mutex no call comes between them, so the order of
   calls is known. Without a mutex calls overlap, and the true peak is between two bounds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef LINKED
#define HEAPDUMP_IMPLEMENTATION
#include "../../../heapdump.h"
static hd_recorder *recorder;
#endif

enum { THREADS = 8, OWN = 48, SHARED = 64, CALLS = 4096, PER_THREAD = 65536 };

typedef struct call { uint64_t begin, end, freed, allocated; } call;
typedef struct block { void *at; size_t size; } block;
typedef struct worker {
    pthread_t thread;
    uint64_t random;
    uint32_t n;
    call *calls;
    block own[OWN];
} worker;

static worker workers[THREADS];
static block *shared[SHARED];    /* slots for blocks that threads exchange */
static uint64_t stamps;
static bool locks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t kinds[4], calls_each;

static void *pages(size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort();
    return p;
}

static uint64_t draw(uint64_t *random) {
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return *random * 0x2545f4914f6cdd1du >> 16;
}

static uint64_t stamp(void) { return __atomic_fetch_add(&stamps, 1, __ATOMIC_SEQ_CST); }

static size_t draw_size(worker *w) {
    static const size_t most[4] = { 300, 5000, 200000, 40000000 };
    uint32_t n = (uint32_t)draw(&w->random) % 100, kind = 0;
    while (kind < 3 && n >= kinds[kind]) kind++;
    return 1 + draw(&w->random) % most[kind];
}

/* The calls; in a separate process they are heapdump's hooks. */
#ifdef LINKED
static const char *const types[] = { "A", "B", "C", "D", "E", "F", "G", "H" };
static __thread uint64_t stack_random = 88172645463325252u;

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    size_t n = 1 + draw(&stack_random) % 5;
    (void)user, (void)capacity;
    for (size_t i = 0; i < n; i++) pcs[i] = (void *)(uintptr_t)(0x1000 + 16 * (draw(&stack_random) % 4));
    return n;
}

static void *take(size_t n) {
    void *p = malloc(n);
    hd_record_alloc(recorder, p, n, types[n % 8]);
    return p;
}
static void give(void *p) {
    hd_record_free(recorder, p);
    free(p);
}
static void *resize(void *p, size_t n) {
    hd_resize old;
    hd_record_resize(recorder, p, &old);
    if (n % 16 == 1 && old.address) { /* simulates a lack of memory */
        hd_record_not_resized(recorder, &old);
        return NULL;
    }
    p = realloc(p, n);
    hd_record_resized(recorder, &old, p, n, types[n % 8]);
    if (n % 16 == 2) hd_record_set_type(recorder, p, types[n / 16 % 8]);
    return p;
}
#else
#define TAKE(i) static __attribute__((noinline)) void *take##i(size_t n) { void *volatile p = malloc(n); return p; }
TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5) TAKE(6) TAKE(7)
static void *(*const takes[8])(size_t) = { take0, take1, take2, take3, take4, take5, take6, take7 };
static void *take(size_t n) { return takes[n % 8](n); }
static void give(void *p) { free(p); }
static void *resize(void *p, size_t n) { return realloc(p, n); }
#endif

static void call_begins(call *c) {
    if (locks) pthread_mutex_lock(&mutex);
    c->begin = stamp();
}
static void call_ends(call *c) {
    c->end = stamp();
    if (locks) pthread_mutex_unlock(&mutex);
}

static void work(worker *w) {
    block *b = &w->own[draw(&w->random) % OWN], *other;
    call *c = &w->calls[w->n];
    size_t n;
    void *p;
    uint32_t what = (uint32_t)draw(&w->random) % 16;
    if (what == 0) {             /* gives a block to another thread, and takes that thread's block */
        block **slot = &shared[draw(&w->random) % SHARED];
        other = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
        if (other) {
            block had = *b;
            *b = *other;
            *other = had;
            __atomic_store_n(slot, other, __ATOMIC_RELEASE);
        }
        return;
    }
    if (w->n == PER_THREAD) return;
    w->n++;
    if (b->at && what < 4) {
        n = draw_size(w);
        call_begins(c);
        p = resize(b->at, n);
        call_ends(c);
        if (!p) {
            w->n--;
            return;
        }
        c->freed = b->size, c->allocated = n;
        *b = (block){ p, n };
    } else if (b->at) {
        call_begins(c);
        give(b->at);
        call_ends(c);
        c->freed = b->size;
        *b = (block){ NULL, 0 };
    } else {
        n = draw_size(w);
        call_begins(c);
        p = take(n);
        call_ends(c);
        if (!p) abort();
        c->allocated = n;
        *b = (block){ p, n };
    }
}

static void *run(void *argument) {
    worker *w = argument;
#ifdef LINKED
    stack_random = w->random;
#endif
    for (uint32_t i = 0; i < calls_each; i++) {
#ifdef LINKED
        if (draw(&w->random) % 4) {
            HD_SCOPE("peaks", "Inner");
            work(w);
            continue;
        }
#endif
        work(w);
    }
    return NULL;
}

/* Bounds of the true peak: the bytes allocated after some call had ended, and before some call had begun. */
static void truth(int threads, uint64_t *least, uint64_t *most) {
    int64_t *low = pages(2 * (stamps + 1) * sizeof *low), *high = low + stamps + 1, a = 0, b = 0;
    *least = *most = 0;
    for (int t = 0; t < threads; t++)
        for (uint32_t i = 0; i < workers[t].n; i++) {
            const call *c = &workers[t].calls[i];
            int64_t by = (int64_t)(c->allocated - c->freed);
            if (locks || !c->allocated || !c->freed) { /* a resized block is replaced at once */
                low[by < 0 ? c->begin : c->end] += by;
                high[by < 0 ? c->end : c->begin] += by;
            } else {
                low[c->begin] -= (int64_t)c->freed, low[c->end] += (int64_t)c->allocated;
                high[c->begin] += (int64_t)c->allocated, high[c->end] -= (int64_t)c->freed;
            }
        }
    for (uint64_t i = 0; i < stamps; i++) {
        a += low[i], b += high[i];
        if (a > (int64_t)*least) *least = (uint64_t)a;
        if (b > (int64_t)*most) *most = (uint64_t)b;
    }
    munmap(low, 2 * (stamps + 1) * sizeof *low);
}

static int program(uint64_t seed, int threads, bool with_mutex) {
    static const uint32_t mixes[4][4] = { { 100, 0, 0, 0 }, { 70, 97, 100, 0 }, { 50, 80, 99, 100 }, { 90, 99, 100, 0 } };
    static block boxes[SHARED];
    uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15u;
    memcpy(kinds, mixes[draw(&random) % 4], sizeof kinds);
    calls_each = 200 + (uint32_t)(draw(&random) % CALLS);
    stamps = 0;
    locks = with_mutex;
    memset(boxes, 0, sizeof boxes);
    for (int i = 0; i < SHARED; i++) shared[i] = &boxes[i];
    for (int t = 0; t < threads; t++) {
        call *calls = workers[t].calls ? workers[t].calls : pages(PER_THREAD * sizeof *calls);
        memset(calls, 0, (size_t)workers[t].n * sizeof *calls);
        memset(&workers[t], 0, sizeof workers[t]);
        workers[t].calls = calls;
        workers[t].random = draw(&random) | 1;
    }
    for (int t = 0; t < threads; t++)
        if (pthread_create(&workers[t].thread, NULL, run, &workers[t])) return 9;
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
    return 0;
}

#ifdef LINKED
/* Frees the rest unrecorded: the peak is over. */
static void clear(int threads) {
    for (int t = 0; t < threads; t++)
        for (int i = 0; i < OWN; i++) free(workers[t].own[i].at);
    for (int i = 0; i < SHARED; i++)
        if (shared[i]) free(shared[i]->at);
}

static uint64_t worst, wrong_sums, runs;
static bool say;

static int compare(uint64_t seed, int threads, hd_capture capture, bool with_mutex) {
    static const hd_snapshot_options at_peak = { .kind = HD_HEAP_PEAK };
    hd_recorder_desc desc = { .tracker = { .capture = capture, .unwind = unwind }, .shards = seed % 4 ? 16 : 1,
                              .sample_bytes = seed % 5 == 4 ? 5000 : 0 };
    uint64_t least, most, printed, sum, off;
    hd_profile *profile = NULL;
    hd_error err = { 0 };
    recorder = hd_recorder_create(&desc, &err);
    if (!recorder || program(seed, threads, with_mutex)) return puts(err.message), 9;
    printed = hd_recorder_peak_bytes(recorder);
    if (hd_recorder_snapshot(recorder, &at_peak, &profile, &err)) return puts(err.message), 9;
    sum = hd_profile_bytes(profile);
    truth(threads, &least, &most);
    off = printed < least ? least - printed : printed > most ? printed - most : 0;
    if (desc.sample_bytes) off = 0; /* an estimate, but its sum must still be the printed one */
    if (off / (uint64_t)threads > worst) worst = off / (uint64_t)threads;
    wrong_sums += sum != printed;
    runs++;
    if (say || sum != printed || off > (uint64_t)threads * 65536)
        printf("seed %llu, %d threads, capture %d, mutex %d: printed %llu, sum %llu, true %llu to %llu: %llu off\n",
               (unsigned long long)seed, threads, (int)capture, with_mutex, (unsigned long long)printed,
               (unsigned long long)sum, (unsigned long long)least, (unsigned long long)most, (unsigned long long)off);
    hd_profile_free(profile);
    hd_recorder_free(recorder);
    clear(threads);
    return 0;
}

int main(int argc, char **argv) {
    uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 12;
    say = argc > 3;
    for (uint64_t seed = first; seed < first + count; seed++)
        for (int capture = HD_CAPTURE_OFF; capture <= HD_CAPTURE_MIXED_STACK; capture++)
            for (int with_mutex = 0; with_mutex < 2; with_mutex++)
                if (compare(seed, 1 + (int)(seed % THREADS), (hd_capture)capture, with_mutex)) return 9;
    printf("%llu runs, %llu sums differ, worst difference %llu bytes a thread\n", (unsigned long long)runs,
           (unsigned long long)wrong_sums, (unsigned long long)worst);
    return wrong_sums || worst > 65536;
}
#else
int main(int argc, char **argv) {
    uint64_t least, most;
    int threads = argc > 3 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > THREADS || program(strtoull(argv[1], NULL, 10), threads, atoi(argv[3]))) return 9;
    truth(threads, &least, &most);
    printf("%llu %llu\n", (unsigned long long)least, (unsigned long long)most);
    return 0;
}
#endif
