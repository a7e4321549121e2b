/* A crash reporter. A game records into memory that it shares with its launcher, and is killed. The launcher then
   writes the game's heap, at its peak and at its end, into a trace: crash_reporter FILE. The game takes no part in
   that, so it may crash in any way. A game started by exec maps the descriptor that it inherits. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

enum { REGION = 1 << 28 };       /* bytes of address space; only used pages take memory */
extern char __executable_start, etext; /* set by the linker: bounds of the program's code */
static void *region;             /* the launcher's mapping */
static hd_recorder *recorder;    /* the game's */
static const void *caller;

static void *map(int fd) {
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) exit(2);
    return p;
}

/* The one native frame that this game records below its scopes. */
static size_t unwind(void *user, const void **pcs, size_t capacity) {
    return capacity ? (*pcs = *(const void **)user, 1u) : 0u;
}

__attribute__((noinline)) static void *game_alloc(size_t size, const char *type) {
    void *p = calloc(1, size);
    caller = __builtin_return_address(0);
    hd_record_alloc(recorder, p, size, type);
    return p;
}

static void game(int fd) {
    hd_recorder_desc desc = { .tracker = { .capture = HD_CAPTURE_MIXED_STACK, .unwind = unwind, .user = &caller },
                              .region = map(fd), .region_bytes = REGION, .name = "game" };
    hd_module code = { .start = (uintptr_t)&__executable_start, .end = (uintptr_t)&etext,
                       .bias = (uintptr_t)&__executable_start, .path = hd_cstr("game") };
    recorder = hd_recorder_create(&desc, NULL);
    hd_recorder_add_module(recorder, &code);
    HD_SCOPE("game", "LoadLevel");
    for (int i = 0; i < 7; i++) game_alloc(1 << 20, "Texture");
    void *scratch = game_alloc(500000, NULL);
    hd_record_free(recorder, scratch), free(scratch);
    raise(SIGKILL);
}

/* Reads the first recorder of the region, live or dead. The region may contain anything, so limits cap the memory. */
static hd_status look(hd_heap_kind kind, hd_recorded *of, hd_heap *h, hd_profile **p, hd_error *err) {
    hd_snapshot_options options = { .options = { .limits = { .max_memory = REGION } }, .kind = kind };
    hd_status status = hd_recorder_view(region, REGION, 0, of, err);
    if (!status) status = hd_recorder_view_snapshot(region, REGION, 0, &options, p, err);
    if (status) return status;
    *h = (hd_heap){ .pid = of->pid, .process = of->name, .allocator = "malloc", .kind = kind, .profile = *p };
    return HD_OK;
}

int main(int argc, char **argv) {
    int fd = memfd_create("game", MFD_CLOEXEC), signal;
    hd_profile *peak = NULL, *end = NULL;
    hd_heap heaps[2];
    hd_recorded of;
    hd_error err;
    hd_file file;
    if (argc < 2 || ftruncate(fd, REGION) || hd_region_init(region = map(fd), REGION, NULL)) return 2;
    if (!fork()) game(fd);
    if (wait(&signal) < 0) return 2;
    if (look(HD_HEAP_PEAK, &of, &heaps[0], &peak, &err) || look(HD_HEAP_LIVE, &of, &heaps[1], &end, &err) ||
        hd_file_create(argv[1], &file, &err) || hd_chrome_write(heaps, 2, NULL, hd_file_out(&file), &err) ||
        hd_file_commit(&file, &err))
        return fprintf(stderr, "%s\n", err.message), 1;
    printf("%s: ended by signal %d; live blocks: %d\n", of.name, WTERMSIG(signal), (int)of.counters.live_blocks);
    return hd_profile_free(peak), hd_profile_free(end), 0;
}
