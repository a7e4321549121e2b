/* Rows, read strictly and leniently, from memory and in pieces. Written in both forms and read again, they are equal
   to the byte. Heaps with names and labels of any bytes are written, too. */
#include "../tests/private.h"
#include "pieces.h"

static hd_status read_it(hd_in in, hd_options options, hd_dump **dump, hd_error *err) {
    options.format = "rows";
    return hd_read(in, &options, dump, err);
}

static const hd_heap *heaps_of(const hd_dump *dump) { return hd_dump_heap_count(dump) ? hd_dump_heap(dump, 0) : NULL; }

/* Written rows can be read, and are written again as the same bytes, also in the other form. */
static void settle(const hd_heap *heaps, size_t count) {
    hd_buffer first[2] = { { 0 }, { 0 } };
    for (int form = 0; form < 2; form++) CHECK(!hd_rows_write(heaps, count, (hd_rows_form)form, NULL, hd_out_memory(&first[form]), NULL));
    for (int form = 0; form < 2; form++) {
        hd_dump *again = NULL;
        if (!first[form].size) continue; /* JSON lines of no heaps */
        CHECK(!read_it(hd_in_memory(first[form].data, first[form].size), (hd_options){ 0 }, &again, NULL));
        CHECK(hd_dump_heap_count(again) == count);
        for (int to = 0; to < 2; to++) {
            hd_buffer next = { 0 };
            CHECK(!hd_rows_write(heaps_of(again), count, (hd_rows_form)to, NULL, hd_out_memory(&next), NULL));
            CHECK(next.size == first[to].size && (!next.size || !memcmp(next.data, first[to].data, next.size)));
            hd_buffer_free(&next);
        }
        hd_dump_free(again);
    }
    for (int form = 0; form < 2; form++) hd_buffer_free(&first[form]);
}

/* Names, paths and labels of any bytes: one NUL ends a name, two end a path. */
static void write_names(const uint8_t *data, size_t size) {
    hd_profile *p = hd_profile_create(NULL, NULL);
    char *text = (char *)calloc(1, size + 1);
    hd_label labels[] = { { "host", text }, { "profile", "x" } };
    hd_heap heaps[2] = { { .process = text, .profile = p, .labels = labels, .label_count = 2 }, { .allocator = "malloc" } };
    hd_breakdown *b;
    uint32_t nodes[2] = { 0, 0 };
    CHECK(p && text);
    memcpy(text, data, size);    /* up to the first NUL of the input */
    for (size_t at = 0; at < size;) {
        const uint8_t *end = (const uint8_t *)memchr(data + at, 0, size - at);
        size_t n = end ? (size_t)(end - data) - at : size - at;
        if (!n) nodes[0] = nodes[1] = 0;
        else CHECK(!hd_profile_node(p, n % 3 == 0, nodes[n % 3 == 0], hd__bytes_str(data + at, n), &nodes[n % 3 == 0], NULL));
        CHECK(!hd_profile_add(p, nodes, n, n % 2 ? n : HD_UNKNOWN, NULL));
        at += n + 1;
    }
    CHECK(!hd_export(p, &(hd_cutoff){ .top = 2 }, NULL, &b, NULL));
    heaps[1].breakdown = b;
    settle(heaps, 2);
    hd_breakdown_free(b);
    hd_profile_free(p);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    size_t first = size < HD_DETECT_BYTES ? size : HD_DETECT_BYTES;
    hd_options none = { 0 };
    const hd_unpacker *packer;
    hd__peek_input peeked;
    int csv = hd__rows_detect(data, first), json = hd__rows_json_detect(data, first);
    CHECK(csv >= 0 && csv <= 100 && json >= 0 && json <= 100);
    hd__peek(&peeked, hd_in_memory(data, size));
    if (!size || hd__dump_packing(&peeked, &none, &packer)) return 0;
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 2048 * size + 524288 };
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = read_it(in, options, &dump, &err);
        CHECK(err.status == status[run] && !dump == !!status[run]);
        CHECK(status[run] != HD_LIMIT && status[run] != HD_OUT_OF_MEMORY && (!status[run] || *err.message));
        if (!dump) continue;
        warnings[run] = hd_dump_warning_count(dump);
        if (run % 2 == 0) settle(heaps_of(dump), hd_dump_heap_count(dump));
        hd_dump_free(dump);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] ? status[2] || warnings[2] : !status[2] && !warnings[2]);
    write_names(data, size);
    return 0;
}
