/* threads. Compares the register with a map, in the calls of real programs and of random ones, with addresses of
   every kind. Each request to the OS fails once. Threads that work in parallel must share no cache line. The tests
   rely only on the promises of heapdump.h, not on the register's structure; test_register.c looks inside.

   HEAPDUMP_OPERATIONS: number of random operations [300,000; 2 million with HEAPDUMP_LONG]. HEAPDUMP_TRACES: a folder
   with traces of real programs, written by bench/register_trace.c, to replay. tests/peers/scripts/register.sh sets
   both. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The memory that a register has from the OS. */
typedef struct os {
    struct { void *at; size_t size; } maps[1 << 13];
    size_t map_count;
    uint64_t mapped, calls, fail_at;
    size_t asked[1 << 16];       /* bytes of each request; 1 for a request that gives pages back */
} os;

static __thread os *test_os;     /* the OS of the current register */

static bool test_refused(size_t bytes) {
    if (test_os->calls < sizeof test_os->asked / sizeof *test_os->asked) test_os->asked[test_os->calls] = bytes;
    return ++test_os->calls == test_os->fail_at;
}

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *p = test_refused(size) ? MAP_FAILED : mmap(at, size, protection, flags, fd, offset);
    if (p == MAP_FAILED || flags & MAP_FIXED) return p;
    assert_true(test_os->map_count < sizeof test_os->maps / sizeof *test_os->maps);
    test_os->maps[test_os->map_count].at = p;
    test_os->maps[test_os->map_count++].size = size;
    test_os->mapped += size;
    return p;
}

int test_munmap(void *at, size_t size) {
    for (size_t i = test_os->map_count; i--;)
        if (test_os->maps[i].at == at && test_os->maps[i].size == size) {
            test_os->maps[i] = test_os->maps[--test_os->map_count];
            test_os->mapped -= size;
            return munmap(at, size);
        }
    fail_msg("unmapped memory that was not mapped: %zu bytes", size);
    return -1;
}

int test_madvise(void *at, size_t size, int advice);
int test_madvise(void *at, size_t size, int advice) { return test_refused(1) ? -1 : madvise(at, size, advice); }

#include "private.h"
#include "long.h"
#include "faults.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The map: open addressing, at most half full; address 0 marks an empty place. */
typedef struct entry {
    hd_allocation a;
    size_t at;                   /* in `live` */
    uint32_t seen;               /* the walk that met it last */
} entry;

typedef struct map {
    entry *place;
    size_t capacity, count;
    uint64_t *live;              /* the addresses, in any order */
    uint32_t walks;
} map;

static void *get(size_t n, size_t size) {
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static map map_create(size_t most) {
    map m = { NULL, 16, 0, NULL, 0 };
    while (m.capacity < 2 * (most + 1)) m.capacity *= 2;
    m.place = get(m.capacity, sizeof *m.place);
    m.live = get(m.capacity / 2 + 1, sizeof *m.live);
    return m;
}

static void map_free(map *m) {
    free(m->place);
    free(m->live);
}

static size_t map_home(const map *m, uint64_t address) {
    return (size_t)((address ^ address >> 29) * 0xd6e8feb86659fd93u >> 40) & (m->capacity - 1);
}

/* The place of an address, or the empty place for it. */
static entry *map_at(const map *m, uint64_t address) {
    size_t i = map_home(m, address);
    while (m->place[i].a.address && m->place[i].a.address != address) i = (i + 1) & (m->capacity - 1);
    return &m->place[i];
}

static void map_insert(map *m, const hd_allocation *a) {
    entry *e = map_at(m, a->address);
    if (!e->a.address) {
        assert_true(2 * m->count < m->capacity);
        e->at = m->count++;
        m->live[e->at] = a->address;
        e->seen = 0;
    }
    e->a = *a;
}

static void map_remove(map *m, uint64_t address) {
    size_t mask = m->capacity - 1, hole = (size_t)(map_at(m, address) - m->place);
    uint64_t last = m->live[--m->count];
    map_at(m, last)->at = m->place[hole].at;
    m->live[m->place[hole].at] = last;
    for (size_t i = (hole + 1) & mask; m->place[i].a.address; i = (i + 1) & mask) {
        if (((i - map_home(m, m->place[i].a.address)) & mask) < ((i - hole) & mask)) continue;
        m->place[hole] = m->place[i];
        hole = i;
    }
    memset(&m->place[hole], 0, sizeof *m->place);
}

/* A register, and the map that it must equal. */
typedef struct pair {
    hd_register *reg;
    map map;
    os *os;
    uint64_t refused;
} pair;

/* For up to `most` blocks. The register's request `fail_at` fails, counted from 1; 0: none fails. */
static pair pair_create(size_t most, uint64_t fail_at) {
    pair p = { NULL, map_create(most), get(1, sizeof *p.os), 0 };
    test_os = p.os;
    p.os->fail_at = fail_at;
    p.reg = hd_register_create(NULL);
    assert_non_null(p.reg);
    return p;
}

static void pair_free(pair *p) {
    test_os = p->os;
    hd_register_free(p->reg);
    assert_int_equal(p->os->mapped, 0);
    map_free(&p->map);
    free(p->os);
}

static void same(const hd_allocation *a, const hd_allocation *b) {
    if (a->address == b->address && a->size == b->size && a->context == b->context && a->time == b->time) return;
    fail_msg("at %llx %llu bytes of %u, time %u; at %llx %llu of %u, %u expected", (unsigned long long)a->address,
             (unsigned long long)a->size, a->context, a->time, (unsigned long long)b->address,
             (unsigned long long)b->size, b->context, b->time);
}

static void pair_insert(pair *p, const hd_allocation *a) {
    hd_allocation was = map_at(&p->map, a->address)->a, replaced = { 77, 77, 77, 77 }, untouched = replaced;
    hd_status status = hd_register_insert(p->reg, a, &replaced);
    if (status) {
        assert_int_equal(status, HD_OUT_OF_MEMORY);
        assert_true(p->os->fail_at > 0);
        same(&replaced, &untouched);
        p->refused++;
        return;
    }
    if (was.address) same(&replaced, &was);
    else assert_int_equal(replaced.address, 0);
    map_insert(&p->map, a);
}

static void pair_remove(pair *p, uint64_t address) {
    hd_allocation was = map_at(&p->map, address)->a, removed = { 77, 77, 77, 77 }, untouched = removed;
    assert_int_equal(hd_register_remove(p->reg, address, &removed), was.address != 0);
    same(&removed, was.address ? &was : &untouched);
    if (was.address) map_remove(&p->map, address);
}

static void pair_find(const pair *p, uint64_t address) {
    hd_allocation was = map_at(&p->map, address)->a, found = { 77, 77, 77, 77 }, untouched = found;
    assert_int_equal(hd_register_find(p->reg, address, &found), was.address != 0);
    same(&found, was.address ? &was : &untouched);
}

static void pair_set_context(pair *p, uint64_t address, uint32_t context) {
    entry *e = map_at(&p->map, address);
    assert_int_equal(hd_register_set_context(p->reg, address, context), e->a.address != 0);
    if (e->a.address) e->a.context = context;
}

/* A walk meets each block exactly once, and lookups find all. */
static void pair_check(pair *p) {
    hd_cursor cursor = { 0, 0 };
    hd_allocation a;
    hd_memory memory = hd_register_memory(p->reg);
    size_t met = 0;
    p->map.walks++;
    for (; hd_register_next(p->reg, &cursor, &a); met++) {
        entry *e = map_at(&p->map, a.address);
        same(&a, &e->a);
        assert_int_not_equal(e->seen, p->map.walks);
        e->seen = p->map.walks;
    }
    assert_int_equal(met, p->map.count);
    assert_int_equal(hd_register_count(p->reg), p->map.count);
    for (size_t i = 0; i < p->map.count; i++) pair_find(p, p->map.live[i]);
    assert_int_equal(memory.reserved, p->os->mapped);
    assert_true(memory.resident <= memory.reserved);
}

/* Placement of blocks. */
enum { IN_A_ROW, SCATTERED, FAR_APART, MALLOCED, LAYOUTS };
enum { NO_TIMES, SOME_TIMES, ALL_TIMES, CLOCKS };

typedef struct program {
    pair p;
    uint64_t random, base, alignment, stride, next;
    size_t most;                 /* most blocks at a time */
    unsigned layout, clock;
    uint64_t *freed;             /* freed addresses to use again, the newest first */
    size_t freed_count;
    uint64_t steps;
} program;

static uint64_t below(program *g, uint64_t n) { return hd__test_below(&g->random, n); }

static uint64_t some_size(program *g) {
    static const uint64_t sizes[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, (uint64_t)1 << 32, (uint64_t)1 << 40,
                                      UINT64_MAX };
    return below(g, 16) ? below(g, 300) : sizes[below(g, COUNT(sizes))];
}

static uint64_t some_address(program *g, uint64_t size) {
    uint64_t address = 0;
    if (g->layout == MALLOCED) {
        void *p = malloc(size < 100000 ? size : 100000);
        assert_non_null(p);
        return (uintptr_t)p;
    }
    if (g->freed_count && below(g, 8)) return g->freed[--g->freed_count];
    while (!address) {
        switch (g->layout) {
        case IN_A_ROW:
            address = g->base + g->next;
            g->next += (g->alignment + size % 200) / g->alignment * g->alignment;
            break;
        case SCATTERED: address = g->base + below(g, 4 * g->most) * g->alignment; break;
        default: address = g->base + g->stride * ++g->next;
        }
    }
    return address;
}

/* Usually not registered: a neighbour, an address in another page, or an address with one bit changed. */
static uint64_t near_address(program *g, uint64_t address) {
    switch (below(g, 4)) {
    case 0: return address + g->alignment;
    case 1: return address - 1;
    case 2: return address ^ (uint64_t)1 << below(g, 64);
    default: return hd__test_random(&g->random);
    }
}

static uint32_t some_time(program *g) {
    if (g->clock == NO_TIMES || (g->clock == SOME_TIMES && below(g, 50))) return 0;
    return (uint32_t)g->steps | 1;
}

static void program_insert(program *g) {
    hd_allocation a;
    a.size = some_size(g);
    a.address = some_address(g, a.size);
    a.context = (uint32_t)hd__test_random(&g->random);
    a.time = some_time(g);
    if (g->p.map.count && !below(g, 50)) { /* a free was missed */
        if (g->layout == MALLOCED) free((void *)(uintptr_t)a.address);
        a.address = g->p.map.live[below(g, g->p.map.count)];
    }
    pair_insert(&g->p, &a);
}

static void program_remove(program *g, size_t which) {
    uint64_t address = g->p.map.live[which];
    pair_remove(&g->p, address);
    if (g->layout == MALLOCED) free((void *)(uintptr_t)address);
    else if (g->freed_count < g->most) g->freed[g->freed_count++] = address;
}

/* One operation; `inserts` of 20 are insertions. */
static void program_step(program *g, unsigned inserts) {
    uint64_t what = below(g, 20), count = g->p.map.count;
    uint64_t address = count ? g->p.map.live[below(g, count)] : 16;
    g->steps++;
    if (what >= 18) pair_find(&g->p, what == 18 ? address : near_address(g, address));
    else if (what == 17) pair_set_context(&g->p, below(g, 2) ? address : near_address(g, address), (uint32_t)g->random);
    else if (what == 16 && g->layout != MALLOCED && !map_at(&g->p.map, address = near_address(g, address))->a.address)
        pair_remove(&g->p, address);
    else if ((what < inserts && count < g->most) || !count) program_insert(g);
    else program_remove(g, below(g, 4) ? below(g, count) : count - 1); /* often the newest block */
}

/* Grows, keeps its size, shrinks, grows again, and ends; the register gives its memory back. */
static void program_run(program *g) {
    static const unsigned inserts[] = { 14, 8, 2, 12, 8 };
    uint64_t peak = 0, resident;
    for (size_t phase = 0; phase < COUNT(inserts); phase++) {
        for (uint64_t i = 0; i < g->most + 50; i++) program_step(g, inserts[phase]);
        resident = hd_register_memory(g->p.reg).resident;
        if (resident > peak) peak = resident;
        pair_check(&g->p);
    }
    while (g->p.map.count) program_remove(g, below(g, g->p.map.count)), g->steps++;
    pair_check(&g->p);
    assert_true(hd_register_memory(g->p.reg).resident <= peak / 8 + (128 << 10));
}

static program program_create(uint64_t seed, size_t most) {
    program g;
    memset(&g, 0, sizeof g);
    g.random = seed;
    g.base = 0x7f0000000000;
    g.alignment = 16;
    g.most = most;
    g.p = pair_create(most, 0);
    g.freed = get(most, sizeof *g.freed);
    return g;
}

static void program_free(program *g) {
    while (g->layout == MALLOCED && g->p.map.count) program_remove(g, 0);
    free(g->freed);
    pair_free(&g->p);
}

static uint64_t asked(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Combines every alignment, base, layout and clock: their cycles have different lengths. */
static void random_programs_agree_with_a_map(void **state) {
    static const uint64_t alignments[] = { 1, 2, 4, 8, 16, 4096, 1 << 21 };
    static const uint64_t bases[] = { 0, 0x555555554000, ((uint64_t)1 << 47) - (1 << 20), (uint64_t)1 << 47,
                                      ((uint64_t)1 << 48) - 4096, ((uint64_t)1 << 48) + 3, (uint64_t)1 << 63,
                                      0 - ((uint64_t)1 << 22), 0x7f1234567010, 5, 0xffff800000000000 };
    static const size_t most[] = { 1, 30, 300, 3000, 300, 3000, 20000, 3000, 20000, 300, 3000, 20000, 90000 };
    uint64_t operations = asked("HEAPDUMP_OPERATIONS", (uint64_t)long_or_short(2000000, 300000)), done = 0;
    (void)state;
    for (uint64_t round = 0; done < operations; round++) {
        bool large = operations > 10000000 && round % 256 == 255;
        unsigned layout = (unsigned)(round / 3 % LAYOUTS);
        size_t n = large ? 1000000 : most[round % COUNT(most)];
        program g = program_create(round, layout == FAR_APART && n > 20000 ? 20000 : n);
        g.alignment = alignments[round % COUNT(alignments)];
        g.base = bases[round % COUNT(bases)];
        g.layout = layout;
        g.clock = (unsigned)(round / 2 % CLOCKS);
        g.stride = (uint64_t)1 << (12 + below(&g, 32)) | (below(&g, 2) ? g.alignment : 0);
        program_run(&g);
        done += g.steps;
        program_free(&g);
    }
    print_message("%llu operations\n", (unsigned long long)done);
}

typedef struct event {
    uint64_t address, size;      /* UINT64_MAX: a free */
} event;

static void replay(const event *events, size_t n, bool timed) {
    pair p = pair_create(n < (8u << 20) ? n : 8u << 20, 0);
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        hd_allocation a = { events[i].address, events[i].size, (uint32_t)i % 9973, timed ? (uint32_t)i + 1 : 0 };
        if (a.size == UINT64_MAX) pair_remove(&p, a.address);
        else pair_insert(&p, &a);
        if (p.map.count > most) most = p.map.count;
        if (i % (n / 5 + 1) == 0) pair_check(&p);
    }
    pair_check(&p);
    print_message("%zu operations, %zu live at most, %s times\n", n, most, timed ? "with" : "without");
    pair_free(&p);
}

static void traces_of_real_programs_agree_with_a_map(void **state) {
    const char *place = getenv("HEAPDUMP_TRACES");
    DIR *folder = opendir(place);
    size_t found = 0;
    (void)state;
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));) {
        char path[4096];
        FILE *file;
        event *events;
        long bytes = 0;
        if (!strstr(d->d_name, ".trace")) continue;
        snprintf(path, sizeof path, "%s/%s", place, d->d_name);
        file = fopen(path, "rb");
        assert_true(file && !fseek(file, 0, SEEK_END) && (bytes = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET));
        events = get((size_t)bytes / sizeof *events, sizeof *events);
        assert_int_equal(fread(events, 1, (size_t)bytes, file), bytes);
        fclose(file);
        for (int timed = 0; timed < 2; timed++) {
            print_message("%s: ", d->d_name);
            replay(events, (size_t)bytes / sizeof *events, timed);
        }
        free(events);
        found++;
    }
    closedir(folder);
    assert_true(found > 0);
}

/* Uses every kind of memory of a register: for dense pages, distant addresses, large sizes, times. Gives most of it
   back. */
static void take_all_kinds(pair *p, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        hd_allocation dense = { 0x10000 + 16 * (uint64_t)i, i, 1, 0 };
        hd_allocation far = { ((uint64_t)i + 1) << 24, i % 4 ? i : ((uint64_t)i + 1) << 33, 2, i % 3 ? 0 : i + 1 };
        pair_insert(p, &dense);
        pair_insert(p, &far);
        assert_int_equal(hd_register_memory(p->reg).reserved, p->os->mapped);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i % 7) pair_remove(p, 0x10000 + 16 * (uint64_t)i);
        if (i % 11) pair_remove(p, ((uint64_t)i + 1) << 24);
    }
    pair_check(p);
}

/* A kind of request to the OS, by its size: the numbers of the `first` and the `last`, from 1. */
typedef struct request {
    size_t bytes;
    uint64_t first, last;
} request;

static size_t requests_of(const os *o, request *kinds, size_t room) {
    size_t count = 0;
    assert_true(o->calls < COUNT(o->asked));
    /* the first request is for the register itself, which test_register.c tests */
    for (uint64_t i = 1; i < o->calls; i++) {
        size_t k = 0;
        while (k < count && kinds[k].bytes != o->asked[i]) k++;
        assert_true(k < room);
        if (k == count) kinds[count++] = (request){ o->asked[i], i + 1, 0 };
        kinds[k].last = i + 1;
    }
    return count;
}

/* For each kind of request, the first, a middle and the last one fail. All registered blocks stay, the refused block
   is missing, and later requests succeed. */
static void each_kind_of_request_may_fail_once(void **state) {
    enum { N = 45000 };
    request kinds[256];
    pair p = pair_create(2 * N, 0);
    uint64_t refused = 0;
    size_t count, fails = 0;
    (void)state;
    take_all_kinds(&p, N);
    count = requests_of(p.os, kinds, COUNT(kinds));
    pair_free(&p);
    assert_true(count > 3);
    for (size_t k = 0; k < count; k++) {
        uint64_t at[3] = { kinds[k].first, (kinds[k].first + kinds[k].last) / 2, kinds[k].last };
        unsigned step = (unsigned)long_or_short(1, 3);
        for (unsigned i = (unsigned)k % step; i < 3; i += step) {
            if (i && at[i] == at[i - 1]) continue;
            p = pair_create(2 * N, at[i]);
            take_all_kinds(&p, N);
            assert_true(p.os->calls >= at[i]);
            refused += p.refused;
            p.os->fail_at = p.refused = 0;
            take_all_kinds(&p, N / 20);
            assert_int_equal(p.refused, 0);
            pair_free(&p);
            fails++;
        }
    }
    assert_true(refused > 0);
    print_message("%zu kinds of requests, %zu failures, %llu blocks refused\n", count, fails, (unsigned long long)refused);
}

static void allow(const os *o, int protection) {
    for (size_t i = 0; i < o->map_count; i++)
        assert_int_equal(mprotect(o->maps[i].at, o->maps[i].size, protection), 0);
}

/* While one register works, the other's memory is inaccessible: so they share no cache line. */
static void registers_touch_nothing_of_each_other(void **state) {
    program g[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) g[i] = program_create(i, 3000);
    for (unsigned turn = 0; turn < 60; turn++) {
        program *now = &g[turn % 2], *other = &g[(turn + 1) % 2];
        test_os = now->p.os;
        allow(other->p.os, PROT_NONE);
        for (unsigned i = 0; i < 1000; i++) program_step(now, turn % 20 < 12 ? 13 : 4);
        allow(other->p.os, PROT_READ | PROT_WRITE);
    }
    for (unsigned i = 0; i < 2; i++) {
        test_os = g[i].p.os;
        pair_check(&g[i].p);
        program_free(&g[i]);
    }
}

/* Shards as in a recorder: each is a register behind a lock. */
enum { SHARDS = 4, THREADS = 4 };
static struct shard {
    pthread_mutex_t lock;
    program program;
} shards[SHARDS];

static void *work_on_shards(void *seed) {
    uint64_t random = (uintptr_t)seed;
    for (unsigned turn = 0; turn < 1000; turn++) {
        struct shard *s = &shards[hd__test_below(&random, SHARDS)];
        pthread_mutex_lock(&s->lock);
        test_os = s->program.p.os;
        for (unsigned i = 0; i < 30; i++) program_step(&s->program, turn < 600 ? 12 : 5);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static void threads_share_shards_behind_locks(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&shards[i].lock, NULL);
        shards[i].program = program_create(i, 20000);
        shards[i].program.layout = i;
        shards[i].program.stride = (uint64_t)1 << 24;
        shards[i].program.clock = i % CLOCKS;
    }
    for (uintptr_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work_on_shards, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < SHARDS; i++) {
        test_os = shards[i].program.p.os;
        pair_check(&shards[i].program.p);
        program_free(&shards[i].program);
        pthread_mutex_destroy(&shards[i].lock);
    }
}

/* The memory that a recorder's threads write under the lock of one shard. */
static unsigned written_by_shard(const hd_recorder *rec, unsigned shard, uintptr_t from[4], uintptr_t to[4]) {
    const hd__shard *s = &rec->shard[shard];
    const hd__shown_pending *p = rec->pending + shard * HD__SHOWN_PENDING;
    const hd__shown_pending_kept *kept = hd__pending_kept_of(rec, p);
    const hd__shown_shard *shown = &rec->record->shard[shard];
    from[0] = (uintptr_t)s, to[0] = (uintptr_t)s->apart;
    from[1] = (uintptr_t)shown, to[1] = (uintptr_t)shown->apart;
    from[2] = (uintptr_t)p, to[2] = (uintptr_t)(p + HD__SHOWN_PENDING);
    from[3] = (uintptr_t)kept, to[3] = (uintptr_t)(kept + HD__SHOWN_PENDING);
    return 4;
}

/* Rows of pages of two shards, which come and go, lie in different cache lines. */
static void check_page_rows(hd_recorder *rec) {
    static uint32_t shard_of[1 << 16];
    enum { LEAVES = 50 };
    memset(shard_of, 0, sizeof shard_of);
    for (unsigned round = 0; round < 2; round++)
        for (uint64_t i = 0; i < LEAVES; i++)
            for (unsigned shard = 0; shard < rec->shards; shard++) {
                hd_register *reg = rec->shard[shard].reg;
                hd_allocation a = { (i << 17 | 64) + ((uint64_t)shard << 40), 1, 1, 0 };
                hd__leaf *leaf;
                assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
                leaf = *hd__leaf_in(hd__span_of(reg, hd__register_key_of(a.address)), hd__register_key_of(a.address));
                uintptr_t line = (uintptr_t)hd__register_page_row(&rec->pages, leaf->row) / 64 % (1 << 16);
                assert_true(leaf->row && (!shard_of[line] || shard_of[line] == shard + 1));
                shard_of[line] = shard + 1;
                if (i % 3) assert_true(hd_register_remove(reg, a.address, NULL));
            }
    for (uint32_t row = 1; row <= rec->pages.rows.count; row++)
        assert_true(shard_of[(uintptr_t)hd__register_page_row(&rec->pages, row) / 64 % (1 << 16)]);
}

/* Shards of a recorder share no cache line either, except for the counters that all shards update. */
static void shards_of_a_recorder_share_no_line(void **state) {
    static uint8_t region[4 << 20] __attribute__((aligned(4096)));
    static os o;
    (void)state;
    test_os = &o;
    for (unsigned shown = 0; shown < 2; shown++) {
        hd_recorder_desc desc;
        hd_recorder *rec;
        memset(&desc, 0, sizeof desc);
        if (shown) {
            assert_int_equal(hd_region_init(region, sizeof region, NULL), HD_OK);
            desc.region = region;
            desc.region_bytes = sizeof region;
        }
        rec = hd_recorder_create(&desc, NULL);
        assert_non_null(rec);
        for (unsigned a = 0; a < rec->shards; a++)
            for (unsigned b = 0; b < rec->shards; b++) {
                uintptr_t from[2][4], to[2][4];
                unsigned n = written_by_shard(rec, a, from[0], to[0]);
                written_by_shard(rec, b, from[1], to[1]);
                for (unsigned i = 0; i < n * n && a != b; i++) {
                    unsigned x = i / n, y = i % n;
                    if (from[0][x] / 64 > (to[1][y] - 1) / 64 || from[1][y] / 64 > (to[0][x] - 1) / 64) continue;
                    fail_msg("shards %u and %u share a line: %u, %u", a, b, x, y);
                }
            }
        assert_true((uintptr_t)(&rec->pages + 1) + 64 <= (uintptr_t)&rec->shard[0]);
        if (shown) check_page_rows(rec);
        hd_recorder_free(rec);
        assert_int_equal(o.mapped, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree_with_a_map),
#ifndef __SANITIZE_THREAD__      /* one thread, and slow */
        cmocka_unit_test(each_kind_of_request_may_fail_once),
#endif
        cmocka_unit_test(registers_touch_nothing_of_each_other),
        cmocka_unit_test(threads_share_shards_behind_locks),
        cmocka_unit_test(shards_of_a_recorder_share_no_line),
    };
    const struct CMUnitTest replayed[] = { cmocka_unit_test(traces_of_real_programs_agree_with_a_map) };
    int failed = cmocka_run_group_tests_name("register, random", tests, NULL, NULL);
    return getenv("HEAPDUMP_TRACES") ? failed + cmocka_run_group_tests_name("register, traces", replayed, NULL, NULL) : failed;
}
