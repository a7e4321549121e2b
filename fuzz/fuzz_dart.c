/* Dart snapshots, read strictly and leniently, from memory and in pieces. A file that was read is written back byte
   by byte; the result of lenient reading passes strict reading; records and columns agree. */
#include "../tests/private.h"
#include "pieces.h"

/* The columns must agree with the records of the same input. */
static void compare(const hd_dump *doc, hd_in in) {
    const hd_graph *g = hd_dump_graph(doc);
    hd_dart_reader *r;
    hd_dart_record record;
    uint64_t objects = 0, references = 0, codes = 0, bytes = 0, sum = 0;
    CHECK(!hd_dart_open(in, NULL, &r, NULL));
    do {
        CHECK(!hd_dart_next(r, &record, NULL));
        objects += record.kind == 'o';
        references += record.count;
        if (record.kind == 'o') bytes += record.size + record.data.tag + record.data.text.len;
        if (record.kind == 'x' && record.id) bytes += record.size;
        if (record.kind == 'i') codes += record.identity;
    } while (record.kind);
    hd_dart_close(r);
    CHECK(objects == hd_graph_summarize(g).objects && references == hd_graph_summarize(g).references);
    for (uint32_t i = 0; i < objects; i++) {
        hd_dart_value d = hd_dart_data(hd_dump_dart(doc), i);
        char text[8];
        sum += hd_graph_object(g, i).size + d.tag + d.text.len;
        codes -= hd_dart_identity(hd_dump_dart(doc), i);
        CHECK(hd_dart_utf8(&d, text, sizeof text) <= 3 * d.text.len);
    }
    CHECK(sum == bytes && !codes);
}

static void ask(const hd_dump *doc) {
    hd_string_table *strings;
    hd_length_table *lengths;
    hd_library_table *libraries;
    hd_identity_change *change;
    hd_dominators *d;
    CHECK(!hd_dart_strings(hd_dump_dart(doc), NULL, NULL, &strings, NULL) && strings->wasted <= strings->bytes);
    CHECK(!hd_dart_lengths(hd_dump_dart(doc), NULL, NULL, &lengths, NULL));
    CHECK(!hd_dart_libraries(hd_dump_dart(doc), NULL, NULL, &libraries, NULL));
    CHECK(!hd_graph_dominators(hd_dump_graph(doc), NULL, &d, NULL));
    if (!hd_dart_diff(hd_dump_dart(doc), hd_dump_dart(doc), NULL, NULL, &change,
                      NULL)) { /* compared with itself: nothing moved */
        for (uint32_t i = 0; i < change->count; i++) CHECK(change->rows[i].kept == change->rows[i].objects[0]);
        hd_identity_change_free(change);
    }
    hd_string_table_free(strings);
    hd_length_table_free(lengths);
    hd_library_table_free(libraries);
    hd_dominators_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 64 * size + 262144 };
        hd_dump *doc = NULL, *again = NULL;
        hd_buffer out = { 0 };
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_read_as(&hd_format_dart, in, &options, &doc, &err);
        CHECK(err.status == status[run] && !doc == !!status[run] && status[run] != HD_LIMIT);
        if (!doc) continue;
        warnings[run] = hd_dump_warning_count(doc);
        CHECK(!hd_graph_validate(hd_dump_graph(doc), NULL));
        CHECK(!hd_dart_write(hd_dump_dart(doc), NULL, hd_out_memory(&out), NULL));
        if (!warnings[run]) CHECK(out.size == size && !memcmp(out.data, data, size));
        if (run == 0) compare(doc, in);
        if (run == 2) CHECK(!hd_read_as(&hd_format_dart, hd_in_memory(out.data, out.size), NULL, &again, NULL));
        if (run == 2) ask(doc);
        hd_dump_free(again);
        hd_buffer_free(&out);
        hd_dump_free(doc);
    }
    /* of two faults, either may be found first, depending on whether the input's end is known */
    CHECK(!status[0] == !status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] || !warnings[2]);
    return 0;
}
