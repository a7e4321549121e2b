/* Adds up any number of raw MemProf profiles, with one of them in memory at a time, and writes the sum:
   memprof_merge FILE... > SUM */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* Adds all profiles of a file; several processes may have appended theirs. */
static hd_status add_file(hd_memprof_merger *merger, const char *path, hd_error *err) {
    hd_options options = { .lenient = true };
    hd_memprof_reader *reader = NULL;
    const hd_memprof_raw *raw = NULL;
    hd_in in;
    hd_status status = hd_in_open(path, &in, err);
    if (status) return status;
    status = hd_memprof_open(in, &options, &reader, err);
    while (!status && !(status = hd_memprof_next(reader, &raw, err)) && raw)
        status = hd_memprof_merger_add(merger, raw, err);
    if (!status && hd_memprof_reader_warning_count(reader))
        fprintf(stderr, "%s: %" PRIu64 " pieces left out\n", path, hd_memprof_reader_warning_count(reader));
    hd_memprof_close(reader);
    hd_in_close(&in);
    return status;
}

int main(int argc, char **argv) {
    hd_error err;
    hd_memprof *sum = NULL;
    hd_memprof_merger *merger = hd_memprof_merger_create(NULL, &err);
    hd_status status = merger ? HD_OK : err.status;
    for (int i = 1; i < argc && !status; i++) {
        status = add_file(merger, argv[i], &err);
        if (status) fprintf(stderr, "%s: %s\n", argv[i], err.message);
    }
    if (!status) fprintf(stderr, "the sum takes %s\n",
                         hd_memprof_merger_memory(merger) < 1 << 20 ? "less than a megabyte" : "more");
    if (!status) status = hd_memprof_merger_finish(merger, &sum, &err);
    if (!status) {
        const hd_memprof_raw *raw = hd_memprof_part(sum, 0);
        fprintf(stderr, "%" PRIu32 " blocks by %" PRIu32 " call stacks\n", raw->block_count, raw->stack_count);
        status = hd_memprof_write(sum, NULL, hd_out_file(stdout), &err);
    }
    hd_memprof_free(sum);
    hd_memprof_merger_free(merger);
    return status != HD_OK || fflush(stdout);
}
