/* Indexed memprof profiles in the RFC's layout, read strictly and leniently, from memory and in pieces: what is read can be
   written, and reads as the same; functions are found; tables of texts and paths give back what they say. */
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "pieces.h"

static bool same_location(const hd_memprof_location *a, const hd_memprof_location *b) {
    return a->function == b->function && a->line_offset == b->line_offset && a->column == b->column &&
           a->inlined == b->inlined && a->line == b->line && a->discriminator == b->discriminator &&
           hd_str_equal(a->name, b->name) && hd_str_equal(a->file, b->file);
}

static void same(const hd_memprof_index *a, const hd_memprof_index *b) {
    CHECK(a->fields == b->fields && a->function_count == b->function_count && a->block_count == b->block_count);
    CHECK(a->field_count == b->field_count && !memcmp(a->field, b->field, a->field_count));
    for (uint32_t f = 0; f < a->function_count; f++)
        CHECK(a->function[f] == b->function[f] && a->block_first[f] == b->block_first[f]);
    for (uint32_t i = 0; i < a->block_count; i++) {
        uint32_t s = a->block_stack[i], t = b->block_stack[i], n = a->first[s + 1] - a->first[s];
        CHECK(!a->field_count || !memcmp(a->value + i * a->field_count, b->value + i * a->field_count, 8 * a->field_count));
        CHECK(n == b->first[t + 1] - b->first[t] && n);
        for (uint32_t k = 0; k < n; k++)
            CHECK(same_location(&a->locations[a->location[a->first[s] + k]], &b->locations[b->location[b->first[t] + k]]));
    }
}

/* The bytes as lines of paths; and as tables of them. */
static void tables(const char *data, size_t size) {
    hd_text_table *t = hd_text_table_create(NULL, NULL);
    hd_path_table *p = hd_path_table_create(t, NULL, NULL);
    static char path[HD_PATH_LIMIT];
    uint32_t node, count = 0, parent;
    size_t length, half = size / 2;
    hd_str all = { data, half }, rest = { data + half, size - half }, name;
    CHECK(t && p);
    for (size_t at = 0, end; at < size && size < 4096; at = end + 1) {
        for (end = at; end < size && data[end] != '\n'; end++) {}
        CHECK(!hd_path_table_add(p, (hd_str){ data + at, end - at }, &node, NULL));
        CHECK(!hd_path_table_path(hd_path_table_bytes(p), hd_text_table_bytes(t), node, path, sizeof path, &length, NULL));
        CHECK(length == end - at && !memcmp(path, data + at, length));
    }
    if (!hd_path_table_count(all, &count, NULL))
        for (uint32_t i = 0; i < count && i < 100; i++) {
            hd_status status = hd_path_table_node(all, rest, i, &name, &parent, NULL);
            CHECK(status || parent == HD_NONE || parent < i);
            if (hd_path_table_path(all, rest, i, path, sizeof path, &length, NULL)) continue;
            CHECK(!status && length >= name.len && !memcmp(path + length - name.len, name.data, name.len));
        }
    hd_path_table_free(p);
    hd_text_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    tables((const char *)data, size);
    if (!hd__rfc_detect(data, size)) return 0;
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 1024 * size + (64u << 20) };
        hd_memprof_index *x = NULL, *y;
        hd_buffer out = { 0 }, again = { 0 };
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_memprof_index_read(in, &options, &x, &err);
        CHECK(err.status == status[run] || options.lenient);
        CHECK(status[run] != HD_LIMIT || strstr(err.message, "come to more"));
        CHECK(!status[run] || err.offset <= size);
        if (!x) continue;
        warnings[run] = hd_memprof_index_warning_count(x);
        CHECK(!hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL));
        CHECK(!hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &y, NULL));
        same(x, y);
        for (uint32_t f = 0; f < y->function_count; f++) CHECK(hd_memprof_index_find(y, y->function[f]) == f);
        CHECK(!hd_memprof_index_write(y, NULL, NULL, hd_out_memory(&again), NULL));
        CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
        hd_memprof_index_free(y);
        hd_memprof_index_free(x);
        hd_buffer_free(&out);
        hd_buffer_free(&again);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] || !warnings[2]);
    return 0;
}
