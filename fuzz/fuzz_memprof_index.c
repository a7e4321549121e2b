/* Indexed memprof profiles of any layout, read strictly and leniently, from memory and in pieces: read, written, and
   read, it is the same in every layout; what lenient reading leaves is what strict reading takes; each function is found
   where it was read. */
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "pieces.h"

/* The layout at hand, or a later one, can be written and says the same; blocks are those of the RFC's when it is that. */
static void written(const hd_memprof_index *x, hd_memprof_layout layout) {
    hd_memprof_index_desc desc = { .layout = layout, .fields = layout == x->layout ? 0 : x->fields };
    hd_options lenient = { .lenient = true };
    hd_buffer out = { 0 }, again = { 0 };
    hd_memprof_index *y;
    hd_status status = hd_memprof_index_write(x, &desc, &lenient, hd_out_memory(&out), NULL);
    /* more than 65,535 hashes end alike; stacks told again for each block come to too much */
    CHECK(!status || status == HD_UNSUPPORTED || status == HD_LIMIT || status == HD_OVERFLOW);
    if (status) return;
    status = hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &y, NULL);
    CHECK(!status || status == HD_LIMIT); /* call stacks that unfold beyond measure */
    if (!status) {
        CHECK(y->layout == layout);
        if (layout != HD_MEMPROF_RFC && x->layout != HD_MEMPROF_RFC)
            CHECK(y->function_count == x->function_count && y->block_count == x->block_count && y->site_count == x->site_count);
        CHECK(!hd_memprof_index_write(y, NULL, NULL, hd_out_memory(&again), NULL));
        CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
        hd_memprof_index_free(y);
    }
    hd_buffer_free(&out);
    hd_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 4096 * size + (64u << 20) };
        hd_memprof_index *x = NULL;
        hd_memprof *flat;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_memprof_index_read(in, &options, &x, &err);
        CHECK(!x == !!status[run] && (err.status == status[run] || options.lenient));
        CHECK(!status[run] || err.offset <= size || err.offset == HD_UNKNOWN);
        if (!x) continue;
        warnings[run] = hd_memprof_index_warning_count(x);
        if (run % 2 == 0)
            for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) written(x, (hd_memprof_layout)layout);
        for (uint32_t f = 0; f < x->function_count; f++) CHECK(hd_memprof_index_find(x, x->function[f]) == f);
        CHECK(!hd_memprof_index_raw(x, NULL, &flat, NULL));
        CHECK(hd_memprof_part(flat, 0)->block_count <= x->block_count);
        hd_memprof_free(flat);
        hd_memprof_index_free(x);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    return 0;
}
