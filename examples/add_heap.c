/* Adds a heap dump to a trace that another program wrote, and leaves the rest of the trace unchanged:
   add_heap trace.json PID TIME_US [MIN_BYTES] > more.json
   The heap is written completely, or condensed to entries of at least MIN_BYTES. */

#include <inttypes.h>
#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;
static char memory[4096];        /* memory of the recorded allocator */

static void load(void) {
    HD_SCOPE("example", "Load");
    hd_record_alloc(recorder, memory, 1000, "Image");
    {
        HD_SCOPE("example", "Decode");
        hd_record_alloc(recorder, memory + 1000, 3000, "Pixels");
    }
}

int main(int argc, char **argv) {
    hd_error err;
    hd_in trace;
    hd_profile *profile = NULL;
    hd_breakdown *breakdown = NULL;
    hd_heap heap = { .dump = "0xadded", .allocator = "example_allocator" };
    hd_scalar count = { .dump = "0xadded", .allocator = "example_allocator", .name = "object_count",
                        .units = "objects", .value = 2 };
    hd_chrome_dumps dumps = { .heaps = &heap, .heap_count = 1, .scalars = &count, .scalar_count = 1 };
    hd_status status;
    if (argc < 4) {
        fprintf(stderr, "usage: %s trace.json PID TIME_US [MIN_BYTES] > more.json\n", argv[0]);
        return 2;
    }
    heap.pid = count.pid = strtoull(argv[2], NULL, 10);
    heap.time_us = count.time_us = strtoull(argv[3], NULL, 10);
    recorder = hd_recorder_create(NULL, &err);
    if (!recorder || hd_in_open(argv[1], &trace, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    load();
    status = hd_recorder_snapshot(recorder, NULL, &profile, &err);
    if (!status && argc > 4) {
        hd_cutoff cutoff = { .min_bytes = strtoull(argv[4], NULL, 10) };
        status = hd_export(profile, &cutoff, NULL, &breakdown, &err);
    }
    heap.breakdown = breakdown;
    heap.profile = breakdown ? NULL : profile;
    if (!status) status = hd_chrome_add(trace, &dumps, NULL, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s: %s, at byte %" PRIu64 "\n", argv[1], err.message, err.offset);
    hd_in_close(&trace);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    hd_recorder_free(recorder);
    return status != HD_OK || fflush(stdout);
}
