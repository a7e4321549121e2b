/* Allocates and frees by calls that only some allocators have; each argument is one of them. Prints the expected
   recording: "BLOCKS of BYTES live, BLOCKS of BYTES". `weak` instead: prints the calls that it finds. -DPLUGIN builds
   a library with `run`, which does the same; the program is then `sized plugin LIBRARY CALL...`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak mallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak dallocx
#pragma weak sdallocx
#pragma weak free_sized
#pragma weak free_aligned_sized
void *mallocx(size_t, int);
void *rallocx(void *, size_t, int);
size_t xallocx(void *, size_t, size_t, int);
void dallocx(void *, int);
void sdallocx(void *, size_t, int);
void free_sized(void *, size_t);
void free_aligned_sized(void *, size_t, size_t);

enum { N = 100, KEPT = 30 };
static void *block[N];
static size_t live, live_bytes, all, all_bytes;

static void takes(void *p, size_t n, int i) {
    if (!p) _exit(9);
    block[i] = p;
    live++, live_bytes += n, all++, all_bytes += n;
}
static void gives(size_t n) { live--, live_bytes -= n; }
static int is(const char *call, const char *name) { return !strcmp(call, name); }

/* Blocks of 1,000 bytes. The call frees all except KEPT of them, or resizes them. */
static void use(const char *call) {
    static void *(*volatile by_pointer)(size_t, int);
    by_pointer = is(call, "dlsym") ? (void *(*)(size_t, int))dlsym(RTLD_DEFAULT, "mallocx") : mallocx;
    for (int i = 0; i < N; i++) {
        if (is(call, "mallocx") || is(call, "dlsym")) {
            takes((is(call, "dlsym") ? by_pointer : mallocx)(5000, 0), 5000, i);
            if (i >= KEPT) gives(5000), free(block[i]);
            continue;
        }
        takes(is(call, "free_aligned_sized") ? aligned_alloc(64, 1024) : malloc(1000),
              is(call, "free_aligned_sized") ? 1024 : 1000, i);
        if (i < KEPT) continue;
        if (is(call, "rallocx")) gives(1000), takes(rallocx(block[i], 7000, 0), 7000, i);
        else if (is(call, "xallocx")) {
            if (xallocx(block[i], 1001, 0, 0) >= 1001) gives(1000), takes(block[i], 1001, i);
            if (xallocx(block[i], 1 << 28, 0, 0) >= 1 << 28) _exit(8);
            continue;
        }
        if (is(call, "rallocx")) continue;
        gives(is(call, "free_aligned_sized") ? 1024 : 1000);
        if (is(call, "dallocx")) dallocx(block[i], 0);
        else if (is(call, "sdallocx")) sdallocx(block[i], 1000, 0);
        else if (is(call, "free_sized")) free_sized(block[i], 1000);
        else free_aligned_sized(block[i], 64, 1024);
    }
}

int run(int argc, char **argv) {
    char line[200];
    for (int i = 1; i < argc; i++) use(argv[i]);
    return (int)write(1, line, (size_t)snprintf(line, sizeof line, "%zu of %zu, %zu of %zu\n", live, live_bytes, all, all_bytes)) < 0;
}

#ifndef PLUGIN
int main(int argc, char **argv) {
    char line[200];
    if (argc > 1 && is(argv[1], "weak"))
        return (int)write(1, line, (size_t)snprintf(line, sizeof line, "%d %d %d %d\n", mallocx != NULL, sdallocx != NULL,
                                                    free_sized != NULL, dlsym(RTLD_DEFAULT, "dallocx") != NULL)) < 0;
    if (argc > 2 && is(argv[1], "plugin")) {
        void *plugin = dlopen(argv[2], RTLD_LAZY);
        int (*its)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "run") : NULL;
        return its ? its(argc - 2, argv + 2) : 7;
    }
    return run(argc, argv);
}
#endif
