/* A recorded program that writes into its own region.
     swap SECONDS SEED   modules with one path, which alternates between a regular file and a pipe
     modules N           N modules, all loaded at once, and as many frames outside all of them
     records N M         N records, each with M modules and 50 frames in them
     files N DIRECTORY   N modules with files in DIRECTORY, and a frame in each */
#define _GNU_SOURCE
#include "../../../heapdump.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static unsigned char *base;
static uint64_t size;

static void find_region(void) {
    char line[4096], mode[8];
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long long from, to;
    while (f && fgets(line, sizeof line, f))
        if (!base && sscanf(line, "%llx-%llx %7s", &from, &to, mode) == 3 && mode[3] == 's' &&
            strstr(line, "memfd:heapdump"))
            base = (unsigned char *)(uintptr_t)from, size = to - from;
    if (f) fclose(f);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uintptr_t next_pc = (uintptr_t)1 << 40, step = 16;

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    (void)user, (void)capacity;
    pcs[0] = (const void *)(next_pc += step);
    return 1;
}

static hd_recorder *forge(void) {
    hd_recorder_desc d = { .region = base, .region_bytes = size, .name = "forged", .shards = 1 };
    hd_recorder *rec;
    d.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    d.tracker.unwind = unwind;
    rec = hd_recorder_create(&d, NULL);
    if (!rec) exit(4);
    return rec;
}

static void module_add(hd_recorder *rec, unsigned i, const char *path) {
    hd_module m = { 0x1000 * (uint64_t)(i + 1), 0x1000 * (uint64_t)(i + 2), 0, { path, strlen(path) },
                    { 1, 2, 3, (uint8_t)i, (uint8_t)(i >> 8) }, 20, false };
    hd_recorder_add_module(rec, &m);
}

static void swap(double seconds) {
    const char *a = "./switch_a", *b = "./switch_b";
    char path[4096];
    hd_recorder *rec = forge();
    double end = now() + seconds;
    unsigned modules = 0;
    unlink(a), unlink(b);
    close(open(a, O_CREAT | O_WRONLY, 0644));
    if (mkfifo(b, 0644) || !realpath(a, path)) exit(5);
    if (!fork()) {
        alarm((unsigned)seconds + 3);
        for (;;) renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    }
    while (now() < end) {
        for (int k = 0; k < 200 && modules < 4000; k++) module_add(rec, modules++, path);
        hd_record_alloc(rec, (void *)(uintptr_t)(64 * (modules + 1)), 100, "T");
        free(malloc(100));
        usleep(20000);
    }
}

static void modules(unsigned count) {
    hd_recorder *rec = forge();
    char path[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "/nonexistent/%u", i);
        module_add(rec, i, path);
    }
    for (unsigned i = 0; i < count; i++) hd_record_alloc(rec, (void *)(uintptr_t)(64 * (i + 1)), 100, "T");
}

static void records(unsigned count, unsigned each) {
    char path[64];
    for (unsigned r = 0; r < count; r++) {
        hd_recorder *rec = forge();
        next_pc = 16;
        for (unsigned i = 0; i < each; i++) {
            snprintf(path, sizeof path, "/nonexistent/%u/%u", r, i);
            module_add(rec, i, path);
        }
        for (unsigned i = 1; i < 50; i++) hd_record_alloc(rec, (void *)(uintptr_t)(64 * i), 100000 * i, "T");
        hd_recorder_free(rec);
    }
}

static void files(unsigned count, const char *directory) {
    hd_recorder *rec = forge();
    char path[4096];
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%u", directory, i);
        module_add(rec, i, path);
        hd_record_alloc(rec, (void *)(uintptr_t)(64 * (i + 1)), 100, "T");
    }
}

int main(int argc, char **argv) {
    void *volatile keep = malloc(100);
    (void)keep;
    find_region();
    if (!base || argc < 3) return 3;
    if (!strcmp(argv[1], "swap")) swap(atof(argv[2]));
    else if (!strcmp(argv[1], "records") && argc > 3) step = 0x1000, records((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
    else if (!strcmp(argv[1], "files") && argc > 3) next_pc = 16, step = 0x1000, files((unsigned)atoi(argv[2]), argv[3]);
    else modules((unsigned)atoi(argv[2]));
    return 0;
}
