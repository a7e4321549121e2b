/* Valid arguments for test_calls.c: an object of each type. It is made when a call first needs it, and freed after
   that call. Include after private.h. */
#ifndef CALL_FIXTURES_H
#define CALL_FIXTURES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *calling;      /* the function */

static bool is_called(const char *prefix) { return !strncmp(calling, prefix, strlen(prefix)); }

static void must(bool made) {
    if (made) return;
    printf("%s: an argument could not be made\n", calling);
    exit(3);
}

/* Types of objects, and the function that frees each. An object comes before the objects that it is made from. */
#define OBJECTS(X) \
    X(hd_diff, hd_diff_free) X(hd_breakdown, hd_breakdown_free) X(hd_merger, hd_merger_free) \
    X(hd_rows_writer, hd_rows_writer_free) X(hd_chrome_writer, hd_chrome_writer_free) \
    X(hd_deduplicator, hd_deduplicator_free) X(hd_memory_dump_manager, hd_memory_dump_manager_free) \
    X(hd_profile, hd_profile_free) X(hd_identity_change, hd_identity_change_free) \
    X(hd_dominators, hd_dominators_free) X(hd_histogram, hd_histogram_free) \
    X(hd_graph_change, hd_graph_change_free) X(hd_links, hd_links_free) X(hd_paths, hd_paths_free) \
    X(hd_graph, hd_graph_free) X(hd_places, hd_places_free) X(hd_pages, hd_pages_free) \
    X(hd_recorder, hd_recorder_free) X(hd_register, hd_register_free) X(hd_contexts, hd_contexts_free) \
    X(hd_netcf_reader, hd_netcf_close) X(hd_dart_reader, hd_dart_close) \
    X(hd_string_table, hd_string_table_free) X(hd_length_table, hd_length_table_free) \
    X(hd_library_table, hd_library_table_free) X(hd_v8_origins, hd_v8_origins_free) \
    X(hd_memprof_reader, hd_memprof_close) X(hd_memprof_merger, hd_memprof_merger_free) \
    X(hd_memprof_symbols, hd_memprof_symbols_free) X(hd_memprof_index, hd_memprof_index_free) \
    X(hd_memprof_builder, hd_memprof_builder_free) X(hd_memprof, hd_memprof_free) \
    X(hd_dump, hd_dump_free)

#define OBJECT(type, end) static type *the_##type, *out_##type; static type *type##_made(void);
OBJECTS(OBJECT)
#undef OBJECT

/* Makes a valid object, once per call. `forget` drops the object that a call has freed. */
static void (*forget)(void);
#define OBJECT(type, end) \
    static void type##_forget(void) { the_##type = NULL; } \
    static type *type##_valid(void) { \
        if (!the_##type) the_##type = type##_made(); \
        must(the_##type != NULL); \
        return the_##type; \
    }
OBJECTS(OBJECT)
#undef OBJECT

static hd_buffer written;        /* output of the calls */
static hd_buffer input;          /* input of the calls */

/* A second graph, for calls that need both. */
static hd_graph *graph_of_three(bool sealed) {
    hd_graph *graph = hd_graph_create(NULL, NULL);
    hd_class class_ = { 7, hd_cstr("Thing"), hd_cstr("scope"), true };
    uint32_t number;
    uint64_t ids[] = { 2, 3 };
    hd_root root = { 0, 1, 0, HD_NONE, 0, 0, 0 };
    must(graph && !hd_graph_add_class(graph, &class_, &number, NULL) &&
         !hd_graph_add_object(graph, 1, number, 10, NULL) && !hd_graph_add_references(graph, ids, 2, NULL) &&
         !hd_graph_add_object(graph, 2, number, 20, NULL) && !hd_graph_add_object(graph, 3, number, 30, NULL) &&
         !hd_graph_add_root(graph, 1, &root, NULL));
    must(!sealed || !hd_graph_seal(graph, NULL, NULL));
    return graph;
}

static hd_graph *hd_graph_made(void) {
    bool fills = is_called("hd_graph_add") || is_called("hd_graph_set") || is_called("hd_graph_reserve") ||
                 is_called("hd_graph_commit") || is_called("hd_graph_seal");
    return graph_of_three(!fills);
}

static hd_profile *hd_profile_made(void) {
    hd_profile *p = hd_profile_create(NULL, NULL);
    uint32_t nodes[HD_MAX_AXES] = { 0 };
    must(p && !hd_profile_node(p, 0, 0, hd_cstr("main"), &nodes[0], NULL) &&
         !hd_profile_node(p, 1, 0, hd_cstr("T"), &nodes[1], NULL) && !hd_profile_add(p, nodes, 100, 2, NULL));
    return p;
}

static hd_heap heap_valid(void) {
    hd_heap heap = { .pid = 1, .process = "p", .dump = "0x1", .allocator = "malloc" };
    heap.profile = hd_profile_valid();
    return heap;
}

#define MADE(type, call) \
    static type *type##_made(void) { \
        type *out = NULL; \
        must(!(call)); \
        return out; \
    }
#define CREATED(type, call) static type *type##_made(void) { return call; }

static hd_heap the_heap;
static const hd_heap *heap_kept(void) {
    the_heap = heap_valid();
    return &the_heap;
}

MADE(hd_breakdown, hd_export(hd_profile_valid(), NULL, NULL, &out, NULL))
MADE(hd_diff, hd_compare(heap_kept(), heap_kept(), NULL, NULL, &out, NULL))
CREATED(hd_merger, hd_merger_create(NULL, NULL))
CREATED(hd_rows_writer, hd_rows_writer_create(HD_ROWS_CSV, hd_out_memory(&written), NULL, NULL))
CREATED(hd_chrome_writer, hd_chrome_writer_create(NULL, hd_out_memory(&written), NULL))
CREATED(hd_deduplicator, hd_deduplicator_create(0, NULL, NULL))
CREATED(hd_memory_dump_manager,
        hd_memory_dump_manager_create(&(hd_memory_dump_manager_desc){ .out = hd_out_memory(&written) }, NULL))
MADE(hd_dominators, hd_graph_dominators(hd_graph_valid(), NULL, &out, NULL))
MADE(hd_histogram, hd_graph_histogram(hd_graph_valid(), NULL, NULL, &out, NULL))
MADE(hd_graph_change, hd_graph_diff(hd_graph_valid(), hd_graph_valid(), NULL, NULL, &out, NULL))
MADE(hd_identity_change, hd_graph_match(hd_graph_valid(), hd_graph_valid(), NULL, NULL, &out, NULL))
MADE(hd_links, hd_graph_referrers(hd_graph_valid(), NULL, &out, NULL))
MADE(hd_paths, hd_graph_paths(hd_graph_valid(), 2, 4, NULL, &out, NULL))
CREATED(hd_places, hd_places_create(NULL, NULL))
CREATED(hd_contexts, hd_contexts_create(NULL))
MADE(hd_pages, hd_recorder_pages(hd_recorder_valid(), NULL, &out, NULL))

static uint64_t block[4];        /* the address of its first word is recorded */

static hd_recorder *hd_recorder_made(void) {
    hd_recorder *rec = hd_recorder_create(NULL, NULL);
    must(rec && hd_record_alloc(rec, block, sizeof *block, "T"));
    return rec;
}

static hd_register *hd_register_made(void) {
    hd_register *reg = hd_register_create(NULL);
    hd_allocation a = { .address = 16, .size = 8 };
    must(reg && !hd_register_insert(reg, &a, NULL));
    return reg;
}

/* A region of a recorder that has ended. */
static void *region_valid(void) {
    static uint64_t bytes = 256 << 10;
    static void *region;
    if (!region) {
        hd_recorder_desc desc = { .region_bytes = bytes, .shards = 1 };
        hd_recorder *rec;
        must(!posix_memalign(&region, 4096, bytes));
        memset(region, 0, bytes);
        if (is_called("hd_region_init")) return region;
        must(!hd_region_init(region, bytes, NULL));
        desc.region = region;
        rec = hd_recorder_create(&desc, NULL);
        must(rec && hd_record_alloc(rec, block + 1, 8, "T"));
        hd_recorder_free(rec);
    }
    return region;
}

static const hd_memprof_raw *raw_valid(void) {
    static hd_memprof_segment segment = { .start = 0x401000, .end = 0x402000 };
    static hd_memprof_block one;
    static uint64_t id = 7, pc = 0x401010;
    static uint32_t first[2] = { 0, 1 };
    static hd_memprof_raw raw = { .version = 4, .segment_count = 1, .block_count = 1, .stack_count = 1 };
    one.value[HD_MEMPROF_ALLOC_COUNT] = 2;
    one.value[HD_MEMPROF_TOTAL_SIZE] = 100;
    raw.fields = hd_memprof_version_fields(4);
    raw.segments = &segment;
    raw.blocks = &one;
    raw.stack_id = &id;
    raw.first = first;
    raw.pc = &pc;
    return &raw;
}

static uint32_t symbolize(void *user, const hd_memprof_address *address, hd_memprof_frame *frames,
                          uint32_t capacity) {
    (void)user, (void)address;
    frames->function = hd_cstr("f");
    return capacity ? 1 : 0;
}

static hd_memprof_symbolizer symbolizer = { .symbolize = symbolize, .keep_unresolved = true };

CREATED(hd_memprof_builder, hd_memprof_builder_create(NULL, NULL, NULL))
CREATED(hd_memprof_merger, hd_memprof_merger_create(NULL, NULL))
MADE(hd_memprof_symbols, hd_memprof_symbolize(raw_valid(), &symbolizer, NULL, &out, NULL))
MADE(hd_memprof_index, hd_memprof_index_build(raw_valid(), &symbolizer, NULL, &out, NULL))

static hd_status trace_of_a_scalar(hd_out to) {
    hd_scalar scalar = { .pid = 1, .dump = "0x1", .time_us = 1, .allocator = "m", .name = "size", .units = "bytes" };
    return hd_chrome_write_dumps(&(hd_chrome_dumps){ .scalars = &scalar, .scalar_count = 1 }, NULL, to, NULL);
}

/* Writes a file of the format in the call's name. */
static hd_status file_of_format(hd_out to) {
    hd_graph *graph = graph_of_three(true);
    hd_status status;
    if (is_called("hd_netcf") || is_called("hd_dump_netcf"))
        status = hd_netcf_write_graph(graph, NULL, NULL, to, NULL);
    else if (is_called("hd_dart") || is_called("hd_dump_dart") || strstr(calling, "_table_free"))
        status = hd_dart_write_graph(graph, hd_cstr("d"), NULL, to, NULL);
    else if (is_called("hd_v8") || is_called("hd_dump_v8") || is_called("hd_dump_graph"))
        status = hd_v8_write_graph(graph, NULL, to, NULL);
    else if (is_called("hd_memprof_index_read") || is_called("hd_dump_memprof_index"))
        status = hd_memprof_index_write(hd_memprof_index_valid(), NULL, NULL, to, NULL);
    else if (is_called("hd_memprof") || is_called("hd_dump_memprof"))
        status = hd_memprof_write_raw(raw_valid(), 0, NULL, to, NULL);
    else if (is_called("hd_dump_scalar")) status = trace_of_a_scalar(to);
    else status = hd_chrome_write(heap_kept(), 1, NULL, to, NULL);
    hd_graph_free(graph);
    return status;
}

/* The input of a call. */
static hd_in in_valid(void) {
    if (!input.size) must(!file_of_format(hd_out_memory(&input)));
    return hd_in_memory(input.data, input.size);
}

MADE(hd_dump, hd_read(in_valid(), NULL, &out, NULL))

/* Documents of that dump. */
#define DOCUMENTS(X) X(netcf) X(dart) X(v8)
#define DOCUMENT(format) \
    static const hd_##format *hd_##format##_valid(void) { \
        const hd_##format *document = hd_dump_##format(hd_dump_valid()); \
        must(document != NULL); \
        return document; \
    }
DOCUMENTS(DOCUMENT)
#undef DOCUMENT
MADE(hd_netcf_reader, hd_netcf_open(in_valid(), NULL, &out, NULL))
MADE(hd_dart_reader, hd_dart_open(in_valid(), NULL, &out, NULL))
MADE(hd_string_table, hd_dart_strings(hd_dart_valid(), NULL, NULL, &out, NULL))
MADE(hd_length_table, hd_dart_lengths(hd_dart_valid(), NULL, NULL, &out, NULL))
MADE(hd_library_table, hd_dart_libraries(hd_dart_valid(), NULL, NULL, &out, NULL))
MADE(hd_v8_origins, hd_v8_origins_read(hd_v8_valid(), NULL, &out, NULL))
MADE(hd_memprof, hd_memprof_index_raw(hd_memprof_index_valid(), NULL, &out, NULL))
MADE(hd_memprof_reader, hd_memprof_open(in_valid(), NULL, &out, NULL))

static hd_heap out_heaps[2];
static hd_json the_json;
static hd_file the_file;
static hd_in out_in;
static hd_buffer out_buffer;
static bool file_made;

static hd_json *json_valid(void) {
    hd_json_begin(&the_json, hd_out_memory(&written));
    return &the_json;
}

static const char *path_valid(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/test_calls.%ld", (long)getpid());
    return path;
}

static hd_file *file_valid(void) {
    if (!file_made && !is_called("hd_file_create")) must(!hd_file_create(path_valid(), &the_file, NULL));
    file_made = true;
    return &the_file;
}

/* Frees the arguments and the results of a call. */
static void fixtures_free(void) {
    hd_in_close(&out_in);
    if (file_made && the_file.path[0]) hd_file_discard(&the_file);
    file_made = false;
    memset(&the_file, 0, sizeof the_file);
    unlink(path_valid());
    for (int i = 0; i < 2; i++) {
        hd_profile_free((hd_profile *)(uintptr_t)out_heaps[i].profile);
        hd_breakdown_free((hd_breakdown *)(uintptr_t)out_heaps[i].breakdown);
    }
    memset(out_heaps, 0, sizeof out_heaps);
#define OBJECT(type, end) end(the_##type), end(out_##type), the_##type = out_##type = NULL;
    OBJECTS(OBJECT)
#undef OBJECT
    hd_buffer_free(&written);
    hd_buffer_free(&out_buffer);
    hd_buffer_free(&input);      /* the next call may need another format */
}

#endif
