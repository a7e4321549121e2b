/* Indexed MemProf profiles in the RFC's layout, read strictly and leniently, from memory and in pieces. A profile
   that was read can be written, and reads back as equal; its functions are found. Any paths come back as the files of
   locations. */
#include "../tests/private.h"
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

/* Uses the lines of the input as paths. */
static void paths(const char *data, size_t size) {
    enum { MOST = 4096 };
    static hd_memprof_location locations[MOST];
    static uint32_t numbers[MOST + 1], none[2];
    const uint64_t function = 0;
    hd_memprof_index x = { .layout = HD_MEMPROF_RFC, .function_count = 1, .locations = locations, .first = numbers, .location = numbers,
                           .function = &function, .block_stack = numbers, .site_first = none }, *y;
    hd_buffer out = { 0 };
    for (size_t at = 0, end; at < size && size < MOST; at = end + 1) {
        for (end = at; end < size && data[end] != '\n'; end++) {}
        locations[x.location_count++].file = (hd_str){ data + at, end - at };
    }
    for (uint32_t i = 0; i <= x.location_count; i++) numbers[i] = i;
    x.stack_count = x.block_count = x.location_count;
    const uint32_t block_first[2] = { 0, x.block_count };
    x.block_first = block_first;
    CHECK(!hd_memprof_index_write(&x, NULL, NULL, hd_out_memory(&out), NULL));
    CHECK(!hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &y, NULL));
    same(&x, y);
    hd_memprof_index_free(y);
    hd_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    paths((const char *)data, size);
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
