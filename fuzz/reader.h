/* The harness for the command's own formats. Reading strictly and leniently, from memory and in pieces, gives the
   same heaps; then a few allocations fail, one at a time. Include after heapdump.h. */
#include "../tests/faults.h"
#include "../tests/graph_sum.h"
#include "pieces.h"

/* A digest of the result. */
HD_UNUSED static uint64_t read_once(const hd_format *format, hd_in in, hd_options options, hd_status *status, uint64_t *warnings) {
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    uint64_t digest = 0;
    options.formats = format;
    options.format_count = 1;
    *status = hd_read(in, &options, &dump, &err);
    CHECK(err.status == *status && !dump == !!*status);
    CHECK(!*status || *err.message);
    if (!dump) return 0;
    *warnings = hd_dump_warning_count(dump);
    digest = graph_sum(dump);
    if (hd_dump_graph(dump)) CHECK(!hd_graph_validate(hd_dump_graph(dump), NULL));
    if (hd_dump_heap_count(dump)) digest ^= heaps_digest(hd_dump_heap(dump, 0), hd_dump_heap_count(dump));
    hd_dump_free(dump);
    return digest;
}

HD_UNUSED static int read_all_ways(const hd_format *format, const uint8_t *data, size_t size) {
    hd_status status[4], refused;
    uint64_t digest[4], warnings[4] = { 0 }, none;
    hd__faults f = { 0 };
    if (!format->detect(data, size < HD_DETECT_BYTES ? size : HD_DETECT_BYTES)) return 0;
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 1024 * size + 524288 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        digest[run] = read_once(format, in, options, &status[run], &warnings[run]);
        CHECK(status[run] != HD_LIMIT && status[run] != HD_OUT_OF_MEMORY);
    }
    CHECK(status[0] == status[1] && status[2] == status[3]);
    CHECK(digest[0] == digest[1] && digest[2] == digest[3] && warnings[2] == warnings[3]);
    CHECK(status[0] ? status[2] || warnings[2] : !warnings[2] && digest[0] == digest[2]);
    for (uint64_t i = 1, step = 1 + size % 7; i < 400; i += step) {
        hd_options options = { .lenient = true, .allocator = hd__faults_allocator(&f) };
        f.count = f.failed = 0;
        f.fail_at = i;
        read_once(format, hd_in_memory(data, size), options, &refused, &none);
        CHECK(!f.misuse && !f.live && (f.failed ? refused == HD_OUT_OF_MEMORY || refused == status[2] : refused == status[2]));
        if (!f.failed) break;
    }
    return 0;
}
