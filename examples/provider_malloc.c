/* A provider for malloc: scalars from glibc, and the heap from a recorder, which handles reentrancy and threads.
   provider_malloc > malloc.json */

#include <malloc.h>
#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;    /* exists once heap profiling is enabled */

/* The program calls these for malloc and free. */
static void *traced_malloc(size_t size, const char *type) {
    void *p = malloc(size);
    if (recorder) hd_record_alloc(recorder, p, size, type);
    return p;
}

static void traced_free(void *p) {
    if (recorder) hd_record_free(recorder, p);
    free(p);
}

static void on_heap_profiling_enabled(void *user, bool enabled) {
    (void)user;
    if (enabled && !recorder) recorder = hd_recorder_create(NULL, NULL);
}

static bool on_memory_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    struct mallinfo2 info = mallinfo2();
    (void)user;
    hd_memory_dump_add_scalar(dump, "malloc", "size", "bytes", info.arena + info.hblkhd, NULL);
    hd_memory_dump_add_scalar(dump, "malloc/allocated_objects", "size", "bytes",
                              info.uordblks + info.hblkhd, NULL);
    hd_memory_dump_add_scalar(dump, "malloc/metadata_fragmentation_caches", "size", "bytes", info.fordblks, NULL);
    hd_memory_dump_add_string(dump, "malloc", "implementation", "glibc", NULL);
    hd_memory_dump_add_total(dump, "heap_bytes", info.arena + info.hblkhd, NULL);
    if (detail == HD_DETAILED && recorder) hd_memory_dump_add_recorder(dump, "malloc", recorder, NULL, NULL);
    return true;
}

static void load_words(char **words, int n) {
    HD_SCOPE("example", "LoadWords");
    for (int i = 0; i < n; i++) words[i] = (char *)traced_malloc(24, "char[]");
}

int main(void) {
    hd_memory_dump_provider provider = { "malloc", on_memory_dump, on_heap_profiling_enabled, NULL };
    hd_memory_dump_manager_desc desc = { .out = hd_out_file(stdout), .heap_cutoff.min_bytes = 1024 };
    hd_error err;
    hd_memory_dump_manager *manager = hd_memory_dump_manager_create(&desc, &err);
    char **words;
    bool ok = manager && !hd_memory_dump_manager_set_heap_profiling(manager, true, &err) &&
              !hd_memory_dump_manager_register(manager, &provider, &err);
    words = (char **)traced_malloc(10000 * sizeof *words, "char *[]");
    if (!words) return 1;
    load_words(words, 10000);
    ok = ok && !hd_memory_dump_manager_dump(manager, HD_DETAILED, 1000, &err);
    for (int i = 0; i < 10000; i++) traced_free(words[i]);
    ok = ok && !hd_memory_dump_manager_dump(manager, HD_DETAILED, 2000, &err) &&
         hd_memory_dump_manager_asks(manager, &provider) && /* it has not failed three times in a row */
         !hd_memory_dump_manager_unregister(manager, &provider, &err) &&
         !hd_memory_dump_manager_finish(manager, &err);
    if (!ok) fprintf(stderr, "%s\n", err.message);
    traced_free(words);
    hd_memory_dump_manager_free(manager);
    hd_recorder_free(recorder);
    return !ok;
}
