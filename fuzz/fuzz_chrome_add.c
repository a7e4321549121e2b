/* Dumps added to any input. If that succeeds, the output is the input with one piece inserted, however the input was
   read, and everything that could be read before can still be read. */
#include "../tests/private.h"
#include "pieces.h"

/* Whether `more` is `data` with one piece inserted, and a comma or a bracket next to it. */
static bool has_one_piece_more(const uint8_t *data, size_t size, const hd_buffer *more) {
    size_t first = 0, last = 0;
    if (more->size < size) return false;
    while (first < size && data[first] == more->data[first]) first++;
    while (last < size && data[size - 1 - last] == more->data[more->size - 1 - last]) last++;
    return first + last >= size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_scalar scalar = { .pid = 1, .dump = "0xadd", .allocator = "m", .name = "size", .value = 255 };
    hd_profile *profile = hd_profile_create(NULL, NULL);
    hd_breakdown *breakdown = NULL;
    uint32_t node[2] = { 0, 0 };
    CHECK(!hd_profile_node(profile, 0, 0, hd_cstr("f"), &node[0], NULL) && !hd_profile_node(profile, 1, 0, hd_cstr("T"), &node[1], NULL));
    CHECK(!hd_profile_add(profile, node, 8, 1, NULL) && !hd_export(profile, NULL, NULL, &breakdown, NULL));
    hd_heap heaps[] = { { .pid = 1, .dump = "0xadd", .allocator = "n", .profile = profile }, { .pid = 1, .dump = "0xadd", .allocator = "o", .breakdown = breakdown } };
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = 2, .scalars = &scalar, .scalar_count = 1 };
    hd_buffer bytes[2] = { { 0 }, { 0 } };
    hd_status status[2];
    for (int run = 0; run < 2; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .limits.max_memory = 64 * size + 262144 };
        hd_error err = { 0 };
        status[run] = hd_chrome_add(run ? hd_in_callback(read_piece, &left) : in, &dumps, &options, hd_out_memory(&bytes[run]), &err);
        CHECK(err.status == status[run]);
    }
    CHECK(status[0] == status[1]);
    if (!status[0]) {
        hd_dump *before = NULL, *after = NULL;
        CHECK(bytes[0].size == bytes[1].size && !memcmp(bytes[0].data, bytes[1].data, bytes[0].size));
        CHECK(has_one_piece_more(data, size, &bytes[0]));
        hd_status read = hd_read_memory(data, size, NULL, &before, NULL);
        hd_status again = hd_read_memory(bytes[0].data, bytes[0].size, NULL, &after, NULL);
        CHECK(read || !again);
        if (!read) CHECK(hd_dump_heap_count(after) == hd_dump_heap_count(before) + 2);
        hd_dump_free(before);
        hd_dump_free(after);
    }
    for (int run = 0; run < 2; run++) hd_buffer_free(&bytes[run]);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return 0;
}
