/* Works without files: writes a recording as a trace to memory, adds to it there, reads it back, and prints it as
   JSON. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static char memory[100];         /* memory of the recorded allocator */

/* {"pool": {"0x1": "3c"}, ...}: bytes by allocator and dump, in hexadecimal. */
static void tell(const hd_dump *dump) {
    hd_detail detail = HD_LIGHT;
    hd_json json;
    hd_json_begin(&json, hd_out_file(stdout));
    hd_json_object(&json);
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        hd_json_key_str(&json, hd_cstr(heap->allocator));
        hd_json_object(&json);
        hd_json_key(&json, heap->dump), hd_json_hex(&json, hd_profile_bytes(heap->profile));
        if (hd_dump_detail(dump, heap->pid, heap->dump, &detail))
            hd_json_key(&json, "detailed"), hd_json_bool(&json, detail == HD_DETAILED);
        hd_json_end(&json);
    }
    hd_json_end(&json), hd_json_newline(&json);
    hd_json_finish(&json);
}

int main(void) {
    hd_error err;
    hd_buffer trace = { .data = NULL }, more = { .data = NULL };
    hd_profile *profile = NULL;
    hd_dump *dump = NULL;
    hd_heap heap = { .pid = 1, .dump = "0x1", .allocator = "pool" };
    hd_chrome_dumps added = { .heaps = &heap, .heap_count = 1 };
    hd_recorder *recorder = hd_recorder_create(NULL, &err);
    hd_status status = recorder ? HD_OK : err.status;
    hd_record_alloc(recorder, memory, 60, "Pool");
    if (!status) status = hd_recorder_snapshot(recorder, NULL, &profile, &err);
    heap.profile = profile;
    if (!status) status = hd_chrome_write(&heap, 1, NULL, hd_out_memory(&trace), &err);
    heap.dump = "0x2";
    heap.allocator = "pool, later";
    heap.time_us = 1000;
    if (!status) status = hd_chrome_add(hd_in_memory(trace.data, trace.size), &added, NULL, hd_out_memory(&more), &err);
    if (!status) status = hd_read_memory(more.data, more.size, NULL, &dump, &err);
    if (!status) tell(dump);
    if (status) fprintf(stderr, "heapdump.h %s: %s\n", hd_version(), err.message);
    hd_dump_free(dump);
    hd_buffer_free(&trace), hd_buffer_free(&more);
    hd_profile_free(profile);
    hd_recorder_free(recorder);
    return status != HD_OK || fflush(stdout);
}
