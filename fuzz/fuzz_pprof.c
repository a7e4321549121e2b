/* pprof profiles, read strictly and leniently, from memory and in pieces, always with equal results. A profile that
   was read is written back byte by byte; cells add up, and lie in trees; heaps that are written and read again are
   equal. */
#include "../tests/private.h"
#include "pieces.h"

static void check_heap(const hd_heap *heap) {
    hd_rows rows = hd_profile_cells(heap->profile);
    uint64_t sum = 0, blocks = 0;
    hd_profile *own = hd_profile_create(&(hd_profile_desc){ .axis_count = 1 }, NULL);
    hd_breakdown *b;
    CHECK(own && heap->allocator && rows.axis_count == hd_profile_axis_count(heap->profile));
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        hd_axis axis = hd_profile_axis(heap->profile, a);
        CHECK(axis.parent[0] == HD_NONE && !axis.node_name[0].len);
        for (uint32_t i = 1; i < axis.node_count; i++) CHECK(axis.parent[i] < i);
        for (uint32_t i = 0; i < rows.count; i++) CHECK(rows.node[(size_t)i * rows.axis_count + a] < axis.node_count);
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        sum += rows.amount[i].bytes;
        if (rows.amount[i].blocks != HD_UNKNOWN) blocks += rows.amount[i].blocks;
    }
    CHECK(sum == hd_profile_bytes(heap->profile) && blocks == hd_profile_blocks(heap->profile));
    CHECK(!hd_profile_merge(own, heap->profile, NULL) && hd_profile_bytes(own) == sum);
    hd_profile_free(own);
    if (rows.count > 1000) return;
    CHECK(!hd_heap_break_down(heap, NULL, NULL, &b, NULL) && b->entries.amount[0].bytes == sum);
    hd_breakdown_free(b);
}

static bool has_names(const hd_heap *heaps, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (uint32_t a = 0; a < hd_profile_axis_count(heaps[i].profile); a++) {
            if (!*heaps[i].allocator) return false;
            hd_axis axis = hd_profile_axis(heaps[i].profile, a);
            for (uint32_t k = 1; k < axis.node_count; k++)
                if (!axis.node_name[k].len) return false;
        }
    return true;
}

/* Heaps that are written and read again are equal, with or without code locations of their frames. */
static void rewrite(const hd_heap *heaps, size_t n, const hd_places *places) {
    hd_options options = { .places = places };
    hd_buffer out = { 0 };
    hd_dump *again;
    hd_status status = hd_pprof_write(heaps, n, &options, hd_out_memory(&out), NULL);
    CHECK(status == HD_OK || status == HD_INVALID || status == HD_OVERFLOW);
    if (!status) {
        CHECK(!hd_read_memory(out.data, out.size, NULL, &again, NULL) && hd_dump_heap_count(again) == n);
        if (heaps_are_ascii(heaps, n) && has_names(heaps, n)) CHECK(heaps_digest(heaps, n) == heaps_digest(hd_dump_heap(again, 0), n));
        hd_dump_free(again);
    }
    hd_buffer_free(&out);
}

static hd_status count(void *user, const hd_fact *fact) {
    CHECK(*fact->name && (fact->text.data ? fact->text.len != 0 : fact->value != 0));
    return ++*(size_t *)user, HD_OK;
}

static void rewrite_both(const hd_dump *dump) {
    hd_places *places = hd_places_create(NULL, NULL);
    size_t facts = 0;
    CHECK(places && !hd_dump_places(dump, places, NULL) && !hd_dump_facts(dump, count, &facts, NULL));
    rewrite(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), NULL);
    rewrite(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), places);
    hd_places_free(places);
}

static hd_status run(hd_in in, bool lenient, const uint8_t *data, size_t size, uint64_t *digest) {
    hd_options options = { .lenient = lenient, .limits.max_memory = 256 * size + 524288 };
    hd_buffer out = { 0 };
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    hd_status status = hd_read(in, &options, &dump, &err);
    CHECK(err.status == status && !dump == !!status);
    CHECK(status != HD_MALFORMED || err.offset <= size);
    *digest = status;
    if (status) return status;
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) check_heap(hd_dump_heap(dump, i));
    *digest = hd_dump_warning_count(dump);
    if (hd_dump_heap_count(dump)) *digest += heaps_digest(hd_dump_heap(dump, 0), hd_dump_heap_count(dump));
    if (hd_dump_heap_count(dump) && size < 2000) rewrite_both(dump);
    status = hd_dump_write(dump, NULL, hd_out_memory(&out), NULL);
    CHECK(status == (hd_dump_warning_count(dump) ? HD_UNSUPPORTED : HD_OK));
    CHECK(status || (out.size == size && !memcmp(out.data, data, size)));
    hd_buffer_free(&out);
    hd_dump_free(dump);
    return HD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t digest[4];
    hd_status status[4];
    hd__peek_input peeked;
    hd__peek(&peeked, hd_in_memory(data, size));
    if (hd__dump_detect(&(hd_options){ 0 }, &peeked) != &hd_format_pprof) return 0;
    for (int i = 0; i < 4; i++) {
        hd_in in = hd_in_memory(data, size), left = in;
        if (i % 2) in = hd_in_callback(read_piece, &left);
        status[i] = run(in, i / 2, data, size, &digest[i]);
    }
    CHECK(status[0] == status[1] && status[2] == status[3]);
    CHECK((digest[0] == digest[1] && digest[2] == digest[3]) || status[0] == HD_LIMIT || status[2] == HD_LIMIT);
    CHECK(status[0] || digest[0] == digest[2]);
    return 0;
}
