/* Makes a region like a recorder's: `regions FILE KIND N`, with N things of a kind.

   records      records of different processes
   images       records of one process, which executed N programs
   children     N / 64 forked processes; each inherits N contexts
   modules      modules next to each other
   generations  modules one after the other at one address
   overlaps     modules that overlap
   names        names of types
   frames       call stacks
   blocks, ages live blocks; with ages, one second apart

   Regions of a hostile process:

   count        the number of records is false
   same         all records are in one place
   claims       all records have the rows of the first

   live makes no region: the program allocates for N milliseconds. */
#define _GNU_SOURCE
#include "../../../heapdump.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t size = (uint64_t)1 << 36;
static uint8_t *region;
static uintptr_t pcs[4];
static size_t depth = 2;

static size_t unwind(void *user, const void **to, size_t capacity) {
    (void)user;
    for (size_t i = 0; i < depth && i < capacity; i++) to[i] = (const void *)pcs[i];
    return depth < capacity ? depth : capacity;
}

static uint32_t time_ms = 1000;
static uint32_t clock_ms(void *user) { return (void)user, time_ms; }

static hd_recorder *create(const char *name) {
    hd_recorder_desc desc = { .region = region, .region_bytes = size, .name = name, .shards = 1, .clock = clock_ms,
                              .blocks = true, .ages = true };
    hd_error err;
    hd_recorder *rec;
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    rec = hd_recorder_create(&desc, &err);
    if (!rec) fprintf(stderr, "%s\n", err.message), exit(1);
    return rec;
}

static void module(hd_recorder *rec, uint64_t start, uint64_t end, uint32_t number) {
    char path[64];
    hd_module m = { start, end, start, { path, 0 }, { 1, 2, (uint8_t)number, (uint8_t)(number >> 8) }, 20, false };
    m.path.len = (size_t)snprintf(path, sizeof path, "/nonexistent/lib%u.so", number);
    hd_recorder_add_module(rec, &m);
}

static uint64_t next_block;
static void block(hd_recorder *rec, const char *type) {
    hd_record_alloc(rec, (void *)(uintptr_t)(64 * ++next_block), 40, type);
}

/* A separate context for each number. */
static void call(hd_recorder *rec, uintptr_t number) {
    pcs[0] = 0x100000 + 16 * number, pcs[1] = 0x1000;
    block(rec, NULL);
}

enum { RECORDS = 32 };         /* the position of the record column in hd__region */

static uint64_t *word(uint64_t at) { return (uint64_t *)(void *)(region + at); }

/* The address of record i's offset in the columns of hd__region. */
static uint64_t *record_place(uint32_t i) {
    uint64_t shifted = i + 1024u;
    unsigned segment = 63u - (unsigned)__builtin_clzll(shifted) - 10;
    uint64_t *at = word(RECORDS + 8 + 8 * segment);
    if (!*at) *at = *word(16), *word(16) += 8192ull << segment;
    return word(*at + 8 * (shifted - (1024ull << segment)));
}

static void *volatile keep;

/* Milliseconds since the first call. */
static uint64_t clock_now(void) {
    static struct timespec first;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (!first.tv_sec) first = t;
    return (uint64_t)((t.tv_sec - first.tv_sec) * 1000 + (t.tv_nsec - first.tv_nsec) / 1000000);
}

int main(int count, char **words) {
    const char *what = count > 3 ? words[2] : "";
    uint32_t n = count > 3 ? (uint32_t)strtoul(words[3], NULL, 10) : 0;
    int fd = count > 3 && strcmp(what, "live") ? open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    hd_recorder *rec;
    if (!strcmp(what, "live")) {
        while (keep = malloc(100), clock_now() < n) usleep(100);
        return 0;
    }
    if (fd < 0 || ftruncate(fd, (off_t)size)) return perror(count > 1 ? words[1] : "regions FILE KIND N"), 2;
    region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (region == MAP_FAILED || hd_region_init(region, size, NULL)) return perror("mmap"), 1;
    rec = create("first");
    call(rec, 0);
    if (!strcmp(what, "records") || !strcmp(what, "images"))
        for (uint32_t i = 1; i < n; i++) {
            uint64_t at;
            hd_recorder_free(rec);
            rec = create("more");
            call(rec, 0);
            at = *record_place(i);
            if (*what == 'r') *word(at) += i; /* its pid */
        }
    if (!strcmp(what, "children")) {
        for (uint32_t i = 0; i < n; i++) call(rec, i);
        for (uint32_t i = 0; i < n / 64; i++) {
            pid_t pid;
            hd_recorder_fork_prepare(rec);
            pid = fork();
            if (!pid) return hd_recorder_fork_child(rec), call(rec, i), call(rec, n + i), 0;
            hd_recorder_fork_parent(rec);
            waitpid(pid, NULL, 0);
        }
    }
    for (uint32_t i = 0; i < n && !strcmp(what, "modules"); i++)
        module(rec, 0x100000 + 16 * (uint64_t)i, 0x100010 + 16 * (uint64_t)i, i), call(rec, i);
    for (uint32_t i = 0; i < n && !strcmp(what, "generations"); i++) {
        if (i) hd_recorder_remove_module(rec, 0x100000);
        module(rec, 0x100000, 0x100000 + 16 * (uint64_t)n, i), call(rec, i);
    }
    for (uint32_t i = 0; i < n && !strcmp(what, "overlaps"); i++)
        module(rec, 0x100000 + i, 0x100000 + 16 * (uint64_t)n, i);
    for (uint32_t i = 0; i < n && !strcmp(what, "overlaps"); i++) call(rec, i);
    for (uint32_t i = 0; i < n && !strcmp(what, "names"); i++) {
        static char name[1000];
        memset(name, 'n', sizeof name - 1);
        snprintf(name, sizeof name, "%u", i), name[strlen(name)] = '_';
        block(rec, strdup(name));
    }
    for (uint32_t i = 0; i < n && !strcmp(what, "frames"); i++) call(rec, i);
    for (uint32_t i = 0; i < n && !strcmp(what, "blocks"); i++) call(rec, i % 100);
    for (uint32_t i = 0; i < n && !strcmp(what, "ages"); i++) time_ms += 1000, call(rec, i % 100);
    if (!strcmp(what, "count")) *word(RECORDS) = 0xffffffff;
    if (!strcmp(what, "same") || !strcmp(what, "claims")) {
        uint64_t first = *record_place(0), bytes = 16384;
        for (uint32_t i = 0; i < 20000; i++) call(rec, i);
        for (uint32_t i = 1; i < n; i++) {
            uint64_t *place = record_place(i);
            *place = *what == 's' ? first : *word(16);
            if (*what == 's') continue;
            *word(16) += bytes;
            memcpy(word(*place), word(first), bytes);
            *word(*place) += i;                               /* pid */
            memcpy((uint8_t *)word(*place) + 24, &i, sizeof i); /* number */
        }
        *word(RECORDS) = n;
    }
    return 0;
}
