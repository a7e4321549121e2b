/* Indexed MemProf profiles of any layout, read strictly and leniently, from memory and in pieces, with and without
   zlib. A profile that was read and written is equal in every layout; the result of lenient reading passes strict
   reading. Each function is found again; names that were compressed come back, compressed and stored. */
#include "../tests/private.h"
#include "../examples/unpack.h"
#include "pieces.h"

/* Writes the layout, or a later one, and compares the result. In the RFC's layout, blocks are the RFC's. */
static void written(const hd_memprof_index *x, hd_memprof_layout layout) {
    hd_memprof_index_desc desc = { .layout = layout, .fields = layout == x->layout ? 0 : x->fields };
    hd_options lenient = { .lenient = true };
    hd_buffer out = { 0 }, again = { 0 };
    hd_memprof_index *y;
    hd_status status = hd_memprof_index_write(x, &desc, &lenient, hd_out_memory(&out), NULL);
    /* more than 65,535 hashes with equal ends; stacks repeated for each block are too large */
    CHECK(!status || status == HD_UNSUPPORTED || status == HD_LIMIT || status == HD_OVERFLOW);
    if (status) return;
    status = hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &y, NULL);
    CHECK(!status || status == HD_LIMIT); /* call stacks that are too large when expanded */
    if (!status) {
        CHECK(y->layout == layout);
        if (layout != HD_MEMPROF_RFC && x->layout != HD_MEMPROF_RFC)
            CHECK(y->function_count == x->function_count && y->block_count == x->block_count && y->site_count == x->site_count);
        if (layout == HD_MEMPROF_LLVM_4 && x->layout == layout) {
            CHECK(y->callee_first[y->site_count] == x->callee_first[x->site_count]);
            CHECK(y->has_accesses == x->has_accesses && y->access_count == x->access_count);
            CHECK(y->place_count == x->place_count);
            CHECK(y->summary_count == (x->summary_count < 6 ? 6 : x->summary_count));
        }
        CHECK(!hd_memprof_index_write(y, NULL, NULL, hd_out_memory(&again), NULL));
        CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
        hd_memprof_index_free(y);
    }
    hd_buffer_free(&out);
    hd_buffer_free(&again);
}

static size_t deflated(void *user, void *to, size_t capacity, const void *data, size_t size) {
    uLongf n = (uLongf)capacity;
    (void)user;
    return compress2((Bytef *)to, &n, (const Bytef *)data, (uLong)size, Z_BEST_COMPRESSION) == Z_OK ? (size_t)n : 0;
}

static void same_names(hd_str a, hd_str b) { CHECK(hd_str_equal(a, b)); }

/* Builds data accesses from the input, writes them, and reads them again. */
static void accesses(const hd_memprof_index *x, bool deflates) {
    hd_memprof_builder_desc keeps = { .keep = true };
    hd_memprof_builder *b;
    hd_memprof_index *made = NULL, *y = NULL;
    hd_options options = { .lenient = true, .unpackers = &unpack_gzip, .unpacker_count = 1, .deflate = deflates ? deflated : NULL };
    hd_memprof_index_desc desc = { .layout = HD_MEMPROF_LLVM_4 };
    hd_buffer out = { 0 };
    hd_status status;
    b = hd_memprof_builder_create(&keeps, &options, NULL);
    CHECK(b && !hd_memprof_builder_add(b, x, NULL) && !hd_memprof_builder_finish(b, &made, NULL));
    hd_memprof_builder_free(b);
    status = hd_memprof_index_write(made, &desc, &options, hd_out_memory(&out), NULL);
    CHECK(!status || status == HD_UNSUPPORTED || status == HD_LIMIT || status == HD_OVERFLOW);
    if (!status) status = hd_memprof_index_read(hd_in_memory(out.data, out.size), &options, &y, NULL);
    CHECK(!y || y->access_count == made->access_count);
    for (uint32_t i = 0; y && i < y->access_count; i++) same_names(y->access[i].symbol, made->access[i].symbol);
    CHECK(!y || y->place_count == made->place_count);
    for (uint32_t i = 0; y && i < y->place_count; i++) same_names(y->place[i].file, made->place[i].file);
    CHECK(!y || y->cold_symbol_count == made->cold_symbol_count);
    for (uint32_t i = 0; y && i < y->cold_symbol_count; i++) same_names(y->cold_symbol[i], made->cold_symbol[i]);
    hd_buffer_free(&out);
    hd_memprof_index_free(y);
    hd_memprof_index_free(made);
}

static void read_all(const uint8_t *data, size_t size, bool inflates) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 4096 * size + (64u << 20),
                               .unpackers = &unpack_gzip, .unpacker_count = inflates };
        hd_memprof_index *x = NULL;
        hd_memprof *flat;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_memprof_index_read(in, &options, &x, &err);
        CHECK(!x == !!status[run] && (err.status == status[run] || options.lenient));
        CHECK(!status[run] || err.offset <= size || err.offset == HD_UNKNOWN);
        if (!x) continue;
        warnings[run] = hd_memprof_index_warning_count(x);
        CHECK(!inflates || x->access_is_named == x->has_accesses);
        if (inflates && x->has_accesses && x->layout != HD_MEMPROF_RFC) accesses(x, run / 2);
        if (run % 2 == 0 && !(inflates && !x->has_accesses))
            for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) written(x, (hd_memprof_layout)layout);
        for (uint32_t f = 0; f < x->function_count; f++) CHECK(hd_memprof_index_find(x, x->function[f]) == f);
        CHECK(!hd_memprof_index_raw(x, NULL, &flat, NULL));
        CHECK(hd_memprof_part(flat, 0)->block_count <= x->block_count);
        hd_memprof_free(flat);
        hd_memprof_index_free(x);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_all(data, size, false);
    read_all(data, size, true);
    return 0;
}
