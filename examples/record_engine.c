/* Records a custom allocator by scope and by type, and writes the live blocks to a file in one call; without FILE,
   condensed and labelled to standard output: record_engine [FILE] */

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

/* Writes entries of at least a page, as a heap of the allocator "engine". */
static hd_status write_condensed(hd_out out, hd_error *err) {
    hd_cutoff cutoff = { .min_bytes = 4096 };
    hd_heap heap = { .pid = 1, .process = "engine", .dump = "0x1", .allocator = "engine" };
    hd_profile *profile = NULL;
    hd_breakdown *breakdown = NULL;
    hd_status status = hd_recorder_snapshot(recorder, NULL, &profile, err);
    if (!status) status = hd_export(profile, &cutoff, NULL, &breakdown, err);
    heap.breakdown = breakdown;
    if (!status) status = hd_chrome_write(&heap, 1, NULL, out, err);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return status;
}

int main(int argc, char **argv) {
    void *keep[5];
    hd_error err;
    hd_status status;
    recorder = hd_recorder_create(NULL, &err);
    load_level(keep);
    if (!recorder) status = err.status;
    else if (argc > 1) status = hd_recorder_write(recorder, argv[1], NULL, &err);
    else status = write_condensed(hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    for (int i = 0; i < 5; i++) engine_free(keep[i]);
    hd_recorder_free(recorder);
    return status != HD_OK || fflush(stdout);
}
