/* A program in two files, for C and C++: this file with main (-DMAIN), and again without. Or a program in one file
   (-DALONE). */
#include "heapdump.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
int other_file(void);
#ifdef __cplusplus
}
#endif

static bool on_memory_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    (void)detail;
    return hd_memory_dump_add_scalar(dump, "foo", "size", "bytes", *(uint64_t *)user, NULL) == HD_OK;
}

static hd_status provide(void) {
    uint64_t size = 7;
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    hd_memory_dump_provider provider = { "foo", on_memory_dump, NULL, NULL };
    hd_memory_dump_manager_desc desc;
    hd_memory_dump_manager *manager;
    hd_status status = HD_OUT_OF_MEMORY;
    memset(&desc, 0, sizeof desc);
    desc.out = hd_out_memory(&buffer);
    manager = hd_memory_dump_manager_create(&desc, NULL);
    provider.user = &size;
    if (manager) status = hd_memory_dump_manager_register(manager, &provider, NULL);
    if (!status) status = hd_memory_dump_manager_dump(manager, HD_DETAILED, 1, NULL);
    if (!status) status = hd_memory_dump_manager_finish(manager, NULL);
    hd_memory_dump_manager_free(manager);
    hd_buffer_free(&buffer);
    return status;
}

/* Numbers frames and types for a trace. */
static int deduplicate(void) {
    static const char text[] = "{\"0\":{\"name\":\"main\"},\"1\":{\"name\":\"init\",\"parent\":\"0\"}}";
    hd_deduplicator *frames = hd_deduplicator_create(HD_AXIS_BACKTRACE, NULL, NULL);
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    hd_json json;
    hd_str path[2];
    uint32_t id = 0;
    int failed = frames == NULL;
    path[0] = hd_cstr("main");
    path[1] = hd_cstr("init");
    if (!failed) failed = hd_deduplicator_insert(frames, path, 2, &id, NULL) != HD_OK || id != 1;
    if (!failed) {
        hd_json_begin(&json, hd_out_memory(&buffer));
        hd_deduplicator_write(frames, 0, &json);
        failed = hd_json_finish(&json) != HD_OK || buffer.size != sizeof text - 1 || memcmp(buffer.data, text, buffer.size);
    }
    hd_buffer_free(&buffer);
    hd_deduplicator_free(frames);
    return failed;
}

static uint32_t symbolize(void *user, const hd_memprof_address *address, hd_memprof_frame *frames, uint32_t capacity) {
    frames->function = hd_cstr(address->segment ? "inside" : "elsewhere");
    return capacity && !user ? 1 : 0;
}

/* Writes, reads, merges and prints a raw memprof profile. */
static int memprof(void) {
    hd_memprof_segment segment;
    hd_memprof_block block;
    hd_memprof_raw raw;
    hd_memprof_view view;
    hd_memprof_merger *merger = hd_memprof_merger_create(NULL, NULL);
    hd_memprof *merged = NULL;
    hd_profile *profile = NULL;
    hd_dump *dump = NULL;
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    const uint64_t id = 7, pc = 0x401010;
    const uint32_t first[2] = { 0, 1 };
    int failed = merger == NULL;
    memset(&segment, 0, sizeof segment);
    memset(&block, 0, sizeof block);
    memset(&raw, 0, sizeof raw);
    memset(&view, 0, sizeof view);
    segment.start = 0x401000;
    segment.end = 0x402000;
    block.value[HD_MEMPROF_ALLOC_COUNT] = 2;
    block.value[HD_MEMPROF_TOTAL_SIZE] = 100;
    raw.version = 4;
    raw.fields = hd_memprof_version_fields(4);
    raw.segment_count = raw.block_count = raw.stack_count = 1;
    raw.segments = &segment;
    raw.blocks = &block;
    raw.stack_id = &id;
    raw.first = first;
    raw.pc = &pc;
    view.symbolizer.symbolize = symbolize;
    if (!failed) failed = hd_memprof_write_raw(&raw, 0, NULL, hd_out_memory(&buffer), NULL) != HD_OK;
    if (!failed) failed = hd_read_memory(buffer.data, buffer.size, NULL, &dump, NULL) != HD_OK;
    if (!failed) failed = !hd_dump_memprof(dump) || hd_profile_bytes(hd_dump_heap(dump, 0)->profile) != 100;
    for (int i = 0; i < 2 && !failed; i++)
        failed = hd_memprof_merger_add(merger, hd_memprof_part(hd_dump_memprof(dump), 0), NULL) != HD_OK;
    if (!failed) failed = hd_memprof_merger_finish(merger, &merged, NULL) != HD_OK;
    if (!failed) failed = hd_memprof_profile(hd_memprof_part(merged, 0), &view, NULL, &profile, NULL) != HD_OK;
    if (!failed) failed = hd_profile_bytes(profile) != 200 || hd_profile_blocks(profile) != 4;
    hd_profile_free(profile);
    hd_memprof_free(merged);
    hd_memprof_merger_free(merger);
    hd_dump_free(dump);
    hd_buffer_free(&buffer);
    return failed;
}

/* Writes and reads an index in the RFC's layout. */
static int memprof_rfc(void) {
    hd_memprof_location location;
    hd_memprof_index index, *read = NULL;
    hd_memprof_index_desc desc;
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    const uint64_t function = 7, value = 64;
    const uint32_t first[2] = { 0, 1 }, none[2] = { 0, 0 };
    int failed;
    memset(&location, 0, sizeof location);
    memset(&index, 0, sizeof index);
    memset(&desc, 0, sizeof desc);
    location.function = function;
    location.file = hd_cstr("src/a.c");
    index.layout = desc.layout = HD_MEMPROF_RFC;
    index.fields = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE);
    index.field_count = index.location_count = index.stack_count = index.function_count = index.block_count = 1;
    index.field[0] = HD_MEMPROF_TOTAL_SIZE;
    index.locations = &location;
    index.first = index.block_first = first;
    index.location = index.block_stack = index.site_first = none;
    index.function = &function;
    index.value = &value;
    failed = hd_memprof_index_write(&index, &desc, NULL, hd_out_memory(&buffer), NULL) != HD_OK;
    if (!failed) failed = hd_memprof_index_read(hd_in_memory(buffer.data, buffer.size), NULL, &read, NULL) != HD_OK;
    if (!failed) failed = hd_memprof_index_value(read, 0, HD_MEMPROF_TOTAL_SIZE) != 64;
    if (!failed) failed = hd_memprof_index_find(read, 7) != 0 || !hd_str_equal(read->locations[0].file, location.file);
    hd_memprof_index_free(read);
    hd_buffer_free(&buffer);
    return failed;
}

/* A profile, its breakdown, and a trace written and read: most rooms, and stb_ds inside. */
static int use(void) {
    static const char *const names[] = { "main", "init", "load", "draw" };
    hd_profile *profile = hd_profile_create(NULL, NULL);
    hd_breakdown *breakdown = NULL;
    hd_dump *dump = NULL;
    hd_buffer buffer = { NULL, 0, 0, { NULL, NULL } };
    hd_buffer more = { NULL, 0, 0, { NULL, NULL } };
    hd_heap heap = { 1, 0, "process", "0x1", 0, HD_HEAP_LIVE, "malloc", 0, NULL, NULL, NULL, 0 };
    hd_scalar scalar = { 1, "process", "0x2", 5, "malloc", "size", "bytes", 10000, NULL };
    hd_chrome_dumps dumps = { NULL, 0, NULL, 1, HD_LIGHT, NULL };
    uint32_t node = 0, nodes[2] = { 0, 0 };
    int failed = profile == NULL;
    for (int i = 0; i < 100 && !failed; i++) {
        failed |= hd_profile_node(profile, HD_AXIS_BACKTRACE, i % 10 ? node : 0, hd_cstr(names[i % 4]), &node, NULL) != HD_OK;
        nodes[0] = node;
        failed |= hd_profile_node(profile, HD_AXIS_TYPE, 0, hd_cstr(names[i % 3]), &nodes[1], NULL) != HD_OK;
        failed |= hd_profile_add(profile, nodes, 100, 1, NULL) != HD_OK;
    }
    if (!failed) failed = hd_export(profile, NULL, NULL, &breakdown, NULL) != HD_OK;
    heap.breakdown = breakdown;
    if (!failed) failed = hd_chrome_write(&heap, 1, NULL, hd_out_memory(&buffer), NULL) != HD_OK;
    if (!failed) failed = hd_read_memory(buffer.data, buffer.size, NULL, &dump, NULL) != HD_OK;
    if (!failed) failed = hd_dump_heap_count(dump) != 1 || hd_dump_heap(dump, 0)->breakdown->entries.amount[0].bytes != 10000;
    hd_dump_free(dump);
    dump = NULL;
    dumps.scalars = &scalar;
    if (!failed)
        failed = hd_chrome_add(hd_in_memory(buffer.data, buffer.size), &dumps, NULL, hd_out_memory(&more), NULL) != HD_OK;
    if (!failed) failed = hd_read_memory(more.data, more.size, NULL, &dump, NULL) != HD_OK;
    if (!failed) failed = hd_dump_heap_count(dump) != 1 || hd_dump_scalar_count(dump) != 2;
    if (!failed) failed = !hd_dump_detail(dump, 1, "0x2", &dumps.detail) || dumps.detail != HD_LIGHT;
    hd_dump_free(dump);
    if (!failed) failed = provide() != HD_OK || deduplicate() || memprof() || memprof_rfc();
    hd_buffer_free(&more);
    hd_buffer_free(&buffer);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return failed;
}

#if defined(ALONE)
int main(void) { return use(); }
#elif defined(MAIN)
int main(void) { return use() || other_file(); }
#else
int other_file(void) { return use(); }
#endif
