/* usage: check_aa DIR RUNS BLOCKS SAMPLE_BYTES, by check.sh

   Writes A/A runs as DIR/N.a.json and DIR/N.b.json: the recorder samples the same blocks twice with different seeds.
   Prints the true values: the bytes of all blocks, and of each site. */
#include <stdio.h>
#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../../../heapdump.h"

enum { SITES = 10 };
static const char *const sites[SITES] = { "site 0", "site 1", "site 2", "site 3", "site 4",
                                          "site 5", "site 6", "site 7", "site 8", "site 9" };

/* Blocks of 16 bytes to 512 KiB; each site has its own size, up to double that. */
static size_t size_of(uint32_t block) { return ((size_t)16 << block % SITES * 5 / 3) * (100 + block * 7919 % 101) / 100; }

static int sample(const char *path, uint64_t seed, uint32_t blocks, uint64_t sample_bytes) {
    hd_recorder_desc desc = { .tracker = { .capture = HD_CAPTURE_OFF }, .sample_bytes = sample_bytes, .sample_seed = seed };
    hd_recorder *rec = hd_recorder_create(&desc, NULL);
    hd_error err;
    if (!rec) return 1;
    for (uint32_t i = 0; i < blocks; i++)
        hd_record_alloc(rec, (const void *)((uintptr_t)(i + 1) << 20), size_of(i), sites[i % SITES]);
    if (hd_recorder_write(rec, path, NULL, &err)) return fprintf(stderr, "%s\n", err.message), 1;
    hd_recorder_free(rec);
    return 0;
}

int main(int argc, char **argv) {
    uint64_t all = 0, of[SITES] = { 0 };
    char path[4096];
    if (argc != 5) return 2;
    for (uint32_t i = 0; i < (uint32_t)atoi(argv[3]); i++) all += size_of(i), of[i % SITES] += size_of(i);
    printf("%llu", (unsigned long long)all);
    for (int s = 0; s < SITES; s++) printf(" %llu", (unsigned long long)of[s]);
    printf("\n");
    for (int run = 0; run < atoi(argv[2]); run++)
        for (int side = 0; side < 2; side++) {
            snprintf(path, sizeof path, "%s/%d.%c.json", argv[1], run, 'a' + side);
            if (sample(path, 1 + 2 * (uint64_t)run + (uint64_t)side, (uint32_t)atoi(argv[3]), strtoull(argv[4], NULL, 10))) return 1;
        }
    return 0;
}
