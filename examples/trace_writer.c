/* Writes heap dumps into a trace, one after another, while a program runs: each frame and type name is written once.
   trace_writer > trace.json */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;
static char memory[1000];        /* memory of the recorded allocator */

static void serve(int request) {
    HD_SCOPE("server", "Serve");
    hd_record_alloc(recorder, memory + request, 100 * (size_t)request, "Request");
    if (request % 2) {
        HD_SCOPE("server", "Log");
        hd_record_alloc(recorder, memory + 500 + request, 10, "Line");
    }
}

static hd_status dump(hd_chrome_writer *writer, int number, hd_error *err) {
    char id[16];
    hd_heap heap = { .pid = 1, .process = "server", .dump = id, .allocator = "requests" };
    hd_chrome_dumps dumps = { .heaps = &heap, .heap_count = 1 };
    hd_cutoff cutoff = { .max_entries = 6 };       /* the 6 entries that explain most */
    hd_profile *profile = NULL;
    hd_breakdown *breakdown = NULL;
    hd_status status = hd_recorder_snapshot(recorder, NULL, &profile, err);
    if (!status) status = hd_export(profile, &cutoff, NULL, &breakdown, err);
    snprintf(id, sizeof id, "0x%d", number);
    heap.time_us = 1000 * (uint64_t)number;
    heap.breakdown = breakdown;
    if (!status) status = hd_chrome_writer_add(writer, &dumps, err);
    if (!status) { /* names that were written, and are now referred to by number */
        const hd_deduplicator *frames = hd_chrome_writer_deduplicator(writer, 1, HD_AXIS_BACKTRACE);
        fprintf(stderr, "%d: %d frames, %s\n", number, frames ? (int)hd_deduplicator_count(frames) : 0,
                hd_chrome_writer_memory(writer) < 1 << 20 ? "less than a megabyte" : "more");
    }
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return status;
}

int main(void) {
    hd_error err;
    hd_chrome_writer_desc desc = { .interruptible = true }; /* a complete trace even if killed */
    hd_chrome_writer *writer = hd_chrome_writer_create(&desc, hd_out_file(stdout), &err);
    hd_status status = writer ? HD_OK : err.status;
    recorder = hd_recorder_create(NULL, &err);
    for (int request = 1; request <= 6 && !status; request++) {
        serve(request);
        if (request % 2 == 0) status = dump(writer, request / 2, &err);
    }
    if (!status) status = hd_chrome_writer_finish(writer, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_chrome_writer_free(writer);
    hd_recorder_free(recorder);
    return status != HD_OK || fflush(stdout);
}
