/* A program in two files, C and C++ alike: this one with main (-DMAIN), the other without. */
#include "heapdump.h"

#ifdef __cplusplus
extern "C" {
#endif
int other_file(void);
#ifdef __cplusplus
}
#endif

/* A profile, its breakdown, a trace of it and back: most rooms, and stb_ds inside. */
static int use(void) {
    static const char *const names[] = { "main", "init", "load", "draw" };
    hd_profile *profile = hd_profile_create(NULL, NULL);
    hd_breakdown *breakdown = NULL;
    hd_dump *dump = NULL;
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    hd_heap heap = { 1, "process", "0x1", 0, "malloc", 0, NULL, NULL };
    uint32_t node = 0, nodes[2] = { 0, 0 };
    int failed = profile == NULL;
    for (int i = 0; i < 100 && !failed; i++) {
        failed |= hd_profile_node(profile, HD_AXIS_BACKTRACE, i % 10 ? node : 0, hd_cstr(names[i % 4]), &node) != HD_OK;
        nodes[0] = node;
        failed |= hd_profile_node(profile, HD_AXIS_TYPE, 0, hd_cstr(names[i % 3]), &nodes[1]) != HD_OK;
        failed |= hd_profile_add(profile, nodes, 100, 1) != HD_OK;
    }
    if (!failed) failed = hd_export(profile, NULL, NULL, &breakdown, NULL) != HD_OK;
    heap.breakdown = breakdown;
    if (!failed) failed = hd_chrome_write(&heap, 1, NULL, hd_out_memory(&buffer), NULL) != HD_OK;
    if (!failed) failed = hd_read_memory(buffer.data, buffer.size, NULL, &dump, NULL) != HD_OK;
    if (!failed) failed = hd_dump_heap_count(dump) != 1 || hd_dump_heap(dump, 0)->breakdown->entries.bytes[0] != 10000;
    hd_dump_free(dump);
    hd_buffer_free(&buffer);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return failed;
}

#ifdef MAIN
int main(void) { return use() || other_file(); }
#else
int other_file(void) { return use(); }
#endif
