/* Records an allocator of one's own, by scope and by type, and writes the heap as a trace:
   record_engine > engine.json */

#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;

static void *engine_alloc(size_t size, const char *type) {
    void *p = malloc(size);
    hd_record_alloc(recorder, p, size, type);      /* after allocating */
    return p;
}

static void engine_free(void *p) {
    hd_record_free(recorder, p);                   /* before freeing */
    free(p);
}

static void load_textures(void **keep) {
    HD_SCOPE("engine", "LoadTextures");
    for (int i = 0; i < 4; i++) keep[i] = engine_alloc(1 << 20, "Texture");
}

static void load_level(void **keep) {
    HD_SCOPE("engine", "LoadLevel");
    load_textures(keep);
    keep[4] = engine_alloc(300000, "Mesh");
    engine_free(engine_alloc(5000000, "Scratch"));
}

int main(void) {
    void *keep[5];
    hd_error err;
    hd_profile *profile = NULL;
    hd_breakdown *breakdown = NULL;
    hd_cutoff cutoff = { .min_bytes = 4096 };
    hd_heap heap = { .pid = 1, .process = "engine", .dump = "0x1", .allocator = "engine" };
    recorder = hd_recorder_create(NULL, &err);
    if (!recorder) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    load_level(keep);
    if (hd_recorder_snapshot(recorder, NULL, &profile, &err) ||
        hd_export(profile, &cutoff, NULL, &breakdown, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    heap.breakdown = breakdown;
    if (hd_chrome_write(&heap, 1, NULL, hd_out_file(stdout), &err)) fprintf(stderr, "%s\n", err.message);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    for (int i = 0; i < 5; i++) engine_free(keep[i]);
    hd_recorder_free(recorder);
    return 0;
}
