/* Folded stacks, read strictly and leniently, from memory and in pieces; then written, and read back as equal. Names
   of any bytes are written, too, in a readable form. */
#include "../tests/private.h"
#include "pieces.h"

static int always(const uint8_t *bytes, size_t size) { return (void)bytes, (void)size, 100; }

/* Reads the input as folded stacks, without detection. */
static hd_status read_it(hd_in in, hd_options options, hd_dump **dump, hd_error *err) {
    hd_format format = hd_format_folded;
    format.detect = always;
    options.formats = &format;
    options.format_count = 1;
    return hd_read(in, &options, dump, err);
}

/* Whether the input looks compressed: such input is not read here, and never written. */
static bool is_packed(const uint8_t *data, size_t size) {
    hd_options plain = { 0 };
    const hd_unpacker *none;
    hd__peek_input peeked;
    hd__peek(&peeked, hd_in_memory(data, size));
    return hd__dump_packing(&peeked, &plain, &none) != NULL;
}

/* Writing a second time gives the same bytes: order, names and sums are settled. */
static void settle(const hd_heap *heaps, size_t count, uint64_t bytes) {
    hd_buffer once = { 0 }, twice = { 0 };
    hd_dump *again = NULL;
    CHECK(!hd__folded_write(heaps, count, NULL, hd_out_memory(&once), NULL));
    if (once.size) {
        CHECK(!is_packed(once.data, once.size));
        CHECK(!read_it(hd_in_memory(once.data, once.size), (hd_options){ 0 }, &again, NULL));
        CHECK(hd_profile_bytes(hd_dump_heap(again, 0)->profile) == bytes);
        CHECK(!hd__folded_write(hd_dump_heap(again, 0), 1, NULL, hd_out_memory(&twice), NULL));
        CHECK(once.size == twice.size && !memcmp(once.data, twice.data, once.size));
        if (count == 1 && heaps->breakdown == NULL) {
            uint32_t cells = hd_profile_cells(hd_dump_heap(again, 0)->profile).count;
            CHECK(cells <= hd_profile_cells(heaps->profile).count);
        }
    }
    hd_dump_free(again);
    hd_buffer_free(&once);
    hd_buffer_free(&twice);
}

/* Names and paths of any bytes: one NUL ends a name, two end a path. */
static void write_names(const uint8_t *data, size_t size) {
    hd_profile *p = hd_profile_create(NULL, NULL);
    hd_breakdown *b;
    uint32_t nodes[2] = { 0, 0 };
    uint64_t bytes = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, 0, size - at);
        size_t n = end ? (size_t)(end - data) - at : size - at;
        if (!n) nodes[0] = 0;
        else CHECK(!hd_profile_node(p, 0, nodes[0], hd__bytes_str(data + at, n), &nodes[0], NULL));
        CHECK(!hd_profile_add(p, nodes, n, 1, NULL));
        bytes += n;
        at += n + 1;
    }
    hd_heap heaps[2] = { { .profile = p }, { .allocator = "malloc" } };
    CHECK(!hd_export(p, &(hd_cutoff){ .top = 2 }, NULL, &b, NULL));
    settle(heaps, 1, bytes);
    heaps[1].breakdown = b;
    settle(&heaps[1], 1, bytes);
    settle(heaps, 2, 2 * bytes);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    int certainty = hd__folded_detect(data, size < HD_DETECT_BYTES ? size : HD_DETECT_BYTES);
    CHECK(certainty >= 0 && certainty <= 50);
    if (!size || is_packed(data, size)) return 0;
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 256 * size + 524288 };
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = read_it(in, options, &dump, &err);
        CHECK(err.status == status[run] && !dump == !!status[run]);
        CHECK(!status[run] || (err.line && err.column));
        if (!dump) continue;
        warnings[run] = hd_dump_warning_count(dump);
        settle(hd_dump_heap(dump, 0), 1, hd_profile_bytes(hd_dump_heap(dump, 0)->profile));
        hd_dump_free(dump);
    }
    CHECK(status[0] == status[1] && !status[2] && !status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] ? warnings[2] : !warnings[2]);
    write_names(data, size);
    return 0;
}
