/* Numbers for call stacks: each frame is written once, with the number of its caller, no matter how many stacks
   contain it. frame_ids prints the dictionary in the form of Chromium's traces. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

int main(void) {
    static const char *const stacks[][3] = { { "main", "load", "read" }, { "main", "load", "parse" },
                                             { "main", "draw", NULL } };
    hd_error err;
    hd_json json;
    hd_deduplicator *frames = hd_deduplicator_create(HD_AXIS_BACKTRACE, NULL, &err);
    hd_status status = frames ? HD_OK : err.status;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks && !status; i++) {
        hd_str path[3];
        size_t n = 0;
        uint32_t id;
        for (; n < 3 && stacks[i][n]; n++) path[n] = hd_cstr(stacks[i][n]);
        status = hd_deduplicator_insert(frames, path, n, &id, &err);
        if (!status) printf("stack %zu ends in frame %" PRIu32 "\n", i, id);
    }
    for (uint32_t id = 0, caller; id < hd_deduplicator_count(frames) && !status; id++) {
        hd_str name = hd_deduplicator_name(frames, id, &caller);
        printf("frame %" PRIu32 ": " HD_FMT "%s\n", id, HD_ARG(name), caller == HD_NONE ? "" : ", called by another");
    }
    hd_json_begin(&json, hd_out_file(stdout));
    if (!status) hd_deduplicator_write(frames, 0, &json);
    hd_json_newline(&json);
    if (hd_json_finish(&json)) status = HD_IO;
    printf("%" PRIu32 " frames in %s\n", hd_deduplicator_count(frames),
           hd_deduplicator_memory(frames) < 100000 ? "less than 100 KB" : "more");
    if (status) fprintf(stderr, "%s\n", hd_status_text(status));
    hd_deduplicator_free(frames);
    return status != HD_OK || fflush(stdout);
}
