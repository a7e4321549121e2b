/* .NET CF dumps, read strictly and leniently, from memory and in pieces; then analysed, written, and read again. */
#include "../tests/private.h"
#include "pieces.h"

/* A dominator holds its objects, and without it, all that it retains is unreachable. */
static void analyse(const hd_graph *g) {
    hd_dominators *d;
    hd_breakdown *b;
    hd_histogram *h;
    hd_paths *paths;
    hd_total total;
    uint32_t top[3], n;
    CHECK(!hd_graph_validate(g, NULL) && !hd_graph_dominators(g, NULL, &d, NULL));
    n = hd_dominators_top(d, 3, top);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(!hd_graph_retained(g, &top[i], 1, NULL, &total, NULL) && total.bytes == d->retained[top[i]]);
        CHECK(!hd_graph_paths(g, top[i], 2, NULL, &paths, NULL) && paths->count);
        hd_paths_free(paths);
    }
    CHECK(!hd_dominator_tree(g, d, NULL, &b, NULL) && b->entries.amount[0].bytes == d->bytes);
    CHECK(!hd_graph_histogram(g, d, NULL, &h, NULL));
    hd_histogram_free(h);
    hd_breakdown_free(b);
    hd_dominators_free(d);
}

/* Written and read again, a document is equal. */
static void rewrite(const hd_dump *doc, const hd_options *options, const uint8_t *data, size_t size) {
    hd_buffer once = { 0 }, twice = { 0 };
    hd_dump *again;
    CHECK(!hd_netcf_write(hd_dump_netcf(doc), NULL, hd_out_memory(&once), NULL));
    CHECK(options->lenient || (once.size == size && (!size || !memcmp(once.data, data, size))));
    CHECK(!hd_read_as(&hd_format_netcf, hd_in_memory(once.data, once.size),
                      &(hd_options){ .decimal_sizes = options->decimal_sizes },
                         &again, NULL));
    CHECK(!hd_netcf_write(hd_dump_netcf(again), NULL, hd_out_memory(&twice), NULL));
    CHECK(once.size == twice.size && (!once.size || !memcmp(once.data, twice.data, once.size)));
    CHECK(hd_netcf_domain_count(hd_dump_netcf(doc)) == hd_netcf_domain_count(hd_dump_netcf(again)));
    hd_dump_free(again);
    hd_buffer_free(&once);
    hd_buffer_free(&twice);
}

/* Whether an input begins like gzip, zstd or xz. */
static bool is_packed(const uint8_t *data, size_t size) {
    static const char *const magic[] = { "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd" "7zXZ" };
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (size >= strlen(magic[i]) && !memcmp(data, magic[i], strlen(magic[i]))) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    bool decimal = size && data[size - 1] == ' ';
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .decimal_sizes = decimal, .limits.max_memory = 256 * size + 524288 };
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_read_as(&hd_format_netcf, in, &options, &doc, &err);
        CHECK(err.status == status[run] && !doc == !!status[run]);
        CHECK(!status[run] || status[run] == HD_UNSUPPORTED ||
              (err.line && (err.column || status[run] != HD_MALFORMED)));
        if (doc) {
            warnings[run] = hd_dump_warning_count(doc);
            rewrite(doc, &options, data, size);
            if (run % 2 && hd_dump_graph(doc)) analyse(hd_dump_graph(doc));
        }
        hd_dump_free(doc);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    if (status[0] == HD_UNSUPPORTED) { /* it begins like a compressed file, and the options have no unpacker */
        CHECK(status[2] == HD_UNSUPPORTED && is_packed(data, size));
        return 0;
    }
    CHECK(!status[2]);
    CHECK(status[0] ? warnings[2] : !warnings[2]);
    return 0;
}
