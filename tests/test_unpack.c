/* Packed input: the choice and the calls of hd_options.unpackers, and streams that are damaged or end early. The
   unpacker in this test knows only gzip's stored blocks, so that the tests need no zlib. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* Packing and unpacking of stored blocks. ----------------------------------------------------------- */

/* A gzip member in blocks of at most `block` bytes, without its checksum: our unpacker does not expect one. */
static size_t pack(uint8_t *to, const char *text, size_t size, size_t block) {
    static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
    size_t n = sizeof head, done = 0;
    memcpy(to, head, n);
    do {
        size_t part = size - done < block ? size - done : block;
        to[n++] = done + part == size;
        to[n++] = (uint8_t)part, to[n++] = (uint8_t)(part >> 8);
        to[n++] = (uint8_t)~part, to[n++] = (uint8_t)(~part >> 8);
        memcpy(to + n, text + done, part);
        n += part;
        done += part;
    } while (done < size);
    memset(to + n, 0, 8);
    return n + 8;
}

static int streams_open;

typedef struct stored {
    hd_allocator allocator;
    hd_read_fn packed;
    void *user;
    size_t left;                 /* bytes left in the block */
    bool last, inside, ended;
} stored;

static void *stored_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    stored *s = (stored *)allocator.allocate(allocator.user, NULL, 0, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->allocator = allocator;
    if (user && *(bool *)user) {
        allocator.allocate(allocator.user, s, sizeof *s, 0);
        return NULL;
    }
    s->packed = packed;
    s->user = packed_user;
    streams_open++;
    return s;
}

static size_t take(stored *s, void *to, size_t size) {
    size_t n = 0;
    while (n < size) {
        int64_t got = s->packed(s->user, (uint8_t *)to + n, size - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    return n;
}

static int64_t stored_read(void *stream, void *buffer, size_t capacity) {
    stored *s = (stored *)stream;
    while (!s->left && !s->ended) {
        uint8_t h[10];
        if (!s->inside) {
            size_t n = take(s, h, 10);
            if (n == 0) s->ended = true;
            else if (n < 10 || h[0] != 0x1f || h[1] != 0x8b || h[2] != 8) return -1;
            else s->inside = true;
        } else if (s->last) {
            if (take(s, h, 8) < 8) return -1;
            s->last = s->inside = false;
        } else {
            if (take(s, h, 5) < 5 || h[0] > 1 || (h[1] ^ h[3]) != 255 || (h[2] ^ h[4]) != 255) return -1;
            s->last = h[0];
            s->left = h[1] | (size_t)h[2] << 8;
        }
    }
    if (capacity > s->left) capacity = s->left;
    if (capacity && !(capacity = take(s, buffer, capacity))) return -1;
    s->left -= capacity;
    return (int64_t)capacity;
}

static void stored_close(void *stream) {
    stored *s = (stored *)stream;
    hd_allocator allocator = s->allocator;
    streams_open--;
    allocator.allocate(allocator.user, s, sizeof *s, 0);
}

static const hd_unpacker unpack_stored = { "gzip", "\x1f\x8b", stored_open, stored_read, stored_close, NULL };

/* Reading. -------------------------------------------------------------------------------------- */

static const char trace[] = "[" FRAMES ",\n" HEAPS("{'malloc':{'entries':[{'size':'10','bt':''},{'size':'1','bt':'3'}]}}") ",\n{'ph':'X'}]";
#define GOOD "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n"

static void assert_good(hd_in in, const hd_options *options) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    hd_status status = hd_read(in, options, &d, &err);
    if (status) fail_msg("%s", err.message);
    assert_text(dump_text(d), GOOD);
    hd_dump_free(d);
    assert_int_equal(streams_open, 0);
}

static void traces_may_be_gzip_compressed_in_memory_callbacks_and_files(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL), path[] = "/tmp/heapdump-test-XXXXXX";
    uint8_t bytes[8192];
    hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1 };
    static const size_t blocks[] = { 1, 7, 60, 65535 };
    for (size_t b = 0; b < 4; b++) {
        size_t size = pack(bytes, text, strlen(text), blocks[b]);
        assert_good(hd_in_memory(bytes, size), &options);
        for (size_t chunk = 1; chunk < 100; chunk += 13) {
            hd__reads reads = { .data = bytes, .size = size, .chunk = chunk };
            assert_good(hd__faults_in(&reads), &options);
        }
    }
    size_t size = pack(bytes, text, strlen(text), 100);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    hd_dump *d = NULL;
    assert_int_equal(hd_read_file(path, &options, &d, NULL), HD_OK);
    assert_text(dump_text(d), GOOD);
    hd_dump_free(d);
    unlink(path);
    free(text);
}

static void members_end_to_end_are_one_text(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192];
    hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1 };
    for (size_t cut = 0; cut < strlen(text); cut += 7) {
        size_t size = pack(bytes, text, cut, 50);
        size += pack(bytes + size, text + cut, strlen(text) - cut, 50);
        size += pack(bytes + size, "", 0, 50);
        assert_good(hd_in_memory(bytes, size), &options);
    }
    free(text);
}

static void packing_without_an_unpacker_is_unsupported_and_named(void **state) {
    (void)state;
    static const char *const begin[][2] = {
        { "\x1f\x8b\x08", "compressed with gzip: unpack it, or set hd_options.unpackers" },
        { "\x28\xb5\x2f\xfd", "compressed with zstd: unpack it, or set hd_options.unpackers" },
        { "\xfd" "7zXZ", "compressed with xz: unpack it, or set hd_options.unpackers" }
    };
    for (size_t i = 0; i < 3; i++)
        for (int lenient = 0; lenient < 2; lenient++) {
            hd_options options = { .lenient = lenient != 0, .unpackers = &unpack_stored, .unpacker_count = i > 0 };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            assert_int_equal(hd_read_memory(begin[i][0], strlen(begin[i][0]), &options, &d, &err), HD_UNSUPPORTED);
            assert_string_equal(err.message, begin[i][1]);
            assert_int_equal(err.offset, 0);
            assert_null(d);
        }
}

/* Stored blocks after a different magic number. */
static void *marked_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    char mark[4];
    stored *s = stored_open(NULL, allocator, packed, packed_user);
    assert_string_equal((const char *)user, "for open");
    if (s) assert_int_equal(take(s, mark, 4), 4);
    return s;
}

static void the_magic_number_selects_the_unpacker(void **state) {
    (void)state;
    static char user[] = "for open";
    const hd_unpacker both[2] = { unpack_stored, { "marked", "MARK", marked_open, stored_read, stored_close, user } };
    hd_options options = { .unpackers = both, .unpacker_count = 2 };
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192] = "MARK";
    size_t size = 4 + pack(bytes + 4, text, strlen(text), 50);
    hd_dump *d = NULL;
    hd_error err = { 0 };
    assert_good(hd_in_memory(bytes, size), &options);
    assert_good(hd_in_memory(bytes + 4, size - 4), &options);
    assert_int_equal(hd_read_memory(bytes, size - 20, &options, &d, &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "the marked stream is damaged or cut off in its first "));
    assert_int_equal(hd_read_memory(bytes, 3, &options, &d, &err), HD_UNKNOWN_FORMAT);
    free(text);
}

/* Requests the memory that `user` says, like streams that declare their window size in the first bytes. */
static void *greedy_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    size_t size = *(size_t *)user;
    void *block = allocator.allocate(allocator.user, NULL, 0, size);
    if (!block) return NULL;
    allocator.allocate(allocator.user, block, size, 0);
    return stored_open(NULL, allocator, packed, packed_user);
}

static void memory_that_a_stream_claims_has_a_bound(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192];
    size_t size = pack(bytes, text, strlen(text), 50), most = (size_t)256 << 20, wanted = most;
    hd_unpacker greedy = { "gzip", "\x1f\x8b", greedy_open, stored_read, stored_close, &wanted };
    hd_options options = { .unpackers = &greedy, .unpacker_count = 1 };
    hd_dump *d = NULL;
    hd_error err = { 0 };
    assert_good(hd_in_memory(bytes, size), &options);
    wanted = most + 1;
    assert_int_equal(hd_read_memory(bytes, size, &options, &d, &err), HD_LIMIT);
    assert_string_equal(err.message, "unpacking this gzip stream takes 268435457 bytes at a time, more than 268435456: "
                                     "unpack it first");
    assert_null(d);
    assert_int_equal(streams_open, 0);
    free(text);
}

/* Strictly an error with its place in the text; leniently the events before it. */
static void streams_cut_anywhere_keep_the_part_before(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192];
    size_t size = pack(bytes, text, strlen(text), 50), whole = 0;
    for (size_t cut = 2; cut < size; cut++) {
        warnings seen = { 0 };
        hd_options strict = { .unpackers = &unpack_stored, .unpacker_count = 1 };
        hd_options lenient = { .unpackers = &unpack_stored, .unpacker_count = 1, .lenient = true, .warning = keep_warning, .warning_user = &seen };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read_memory(bytes, cut, &strict, &d, &err), HD_MALFORMED);
        assert_int_equal(err.status, HD_MALFORMED);
        assert_true(err.offset <= strlen(text));
        assert_non_null(strstr(err.message, "gzip"));
        assert_string_equal(err.format ? err.format : "chrome", "chrome");
        assert_true(err.format || cut < 100);
        hd_status status = hd_read_memory(bytes, cut, &lenient, &d, &err);
        if (status) {            /* too short to recognize the format */
            assert_true(cut < 100);
        } else {
            assert_int_equal(seen.count, 1);
            assert_int_equal(seen.last.status, HD_MALFORMED);
            assert_string_equal(seen.last.format, "chrome");
            whole += hd_dump_heap_count(d);
            hd_dump_free(d);
        }
        assert_int_equal(streams_open, 0);
    }
    assert_true(whole > 20);
    free(text);
}

static uint64_t objects_of(const hd_dump *d) {
    return d ? hd_graph_summarize(hd_dump_graph(d)).objects : 0;
}

/* The same for files with objects. */
static void objects_before_the_cut_are_kept(void **state) {
    (void)state;
    static char file[2][512] = { "a 2 x 0\n", "dartheap\0\0\0\0\0\0\0\36" }; /* 30 objects of 4 bytes */
    size_t sizes[2] = { 8, 8 + 8 + 30 * 4 + 1 + 30 };
    for (int i = 0; i < 30; i++) sizes[0] += (size_t)sprintf(file[0] + sizes[0], "o %x 1 8\n", i + 16);
    sizes[0] += (size_t)sprintf(file[0] + sizes[0], "c x 0\n");
    memset(file[1] + sizes[1] - 30, 7, 30); /* hash codes */
    for (int i = 0; i < 2; i++) {
        uint8_t bytes[1024];
        size_t size = pack(bytes, file[i], sizes[i], 50);
        uint64_t most = 0;
        for (size_t cut = 2; cut <= size; cut++) {
            warnings seen = { 0 };
            hd_options strict = { .unpackers = &unpack_stored, .unpacker_count = 1 };
            hd_options lenient = { .unpackers = &unpack_stored, .unpacker_count = 1, .lenient = true, .warning = keep_warning, .warning_user = &seen };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read_memory(bytes, cut, &strict, &d, &err);
            if (cut == size) {
                assert_int_equal(status, HD_OK);
                assert_int_equal(objects_of(d), 30);
                hd_dump_free(d);
                break;
            }
            assert_int_equal(status, HD_MALFORMED);
            assert_true(err.offset <= sizes[i]);
            assert_non_null(strstr(err.message, "gzip"));
            status = hd_read_memory(bytes, cut, &lenient, &d, &err);
            if (status) {        /* too short to recognize the format */
                assert_true(cut < 100);
                continue;
            }
            assert_int_equal(seen.count, hd_dump_warning_count(d));
            assert_true(seen.count >= 1 && objects_of(d) >= most);
            most = objects_of(d);
            hd_dump_free(d);
            assert_int_equal(streams_open, 0);
        }
        assert_int_equal(most, 30);
    }
}

static void packed_bytes_that_cannot_be_read_are_an_input_error(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192];
    size_t size = pack(bytes, text, strlen(text), 50);
    for (uint64_t fail_at = 1; fail_at < size / 9; fail_at++)
        for (int lenient = 0; lenient < 2; lenient++) {
            hd__reads reads = { .data = bytes, .size = size, .chunk = 9, .fail_at = fail_at };
            hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1, .lenient = lenient != 0 };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            assert_int_equal(hd_read(hd__faults_in(&reads), &options, &d, &err), HD_IO);
            assert_int_equal(err.status, HD_IO);
            assert_null(d);
            assert_int_equal(streams_open, 0);
        }
    free(text);
}

static void every_byte_changed_is_survived(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    uint8_t bytes[8192];
    size_t size = pack(bytes, text, strlen(text), 50);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++)
            for (int lenient = 0; lenient < 2; lenient++) {
                hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1, .lenient = lenient != 0 };
                hd_dump *d = NULL;
                hd_error err = { 0 };
                bytes[at] ^= (uint8_t)(1 << bit);
                hd_status status = hd_read_memory(bytes, size, &options, &d, &err);
                assert_int_equal(err.status, status);
                hd_dump_free(d);
                bytes[at] ^= (uint8_t)(1 << bit);
                assert_int_equal(streams_open, 0);
            }
    free(text);
}

static void a_stream_that_cannot_be_opened_is_out_of_memory(void **state) {
    (void)state;
    bool refuse = true;
    hd_unpacker hook = { "gzip", "\x1f\x8b", stored_open, stored_read, stored_close, &refuse };
    hd_options options = { .unpackers = &hook, .unpacker_count = 1 };
    uint8_t bytes[64];
    size_t size = pack(bytes, "[]", 2, 9);
    hd_dump *d = NULL;
    hd_error err = { 0 };
    assert_int_equal(hd_read_memory(bytes, size, &options, &d, &err), HD_OUT_OF_MEMORY);
    assert_null(d);
    refuse = false;
    hd__faults faults = { 0 };
    options.allocator = hd__faults_allocator(&faults);
    HD__EACH_FAULT(faults) {
        hd_status status = hd_read_memory(bytes, size, &options, &d, &err);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) hd_dump_free(d);
        assert_int_equal(faults.live, 0);
        assert_int_equal(streams_open, 0);
    }
}

/* The stream's memory and the reader's memory share one limit; the message names it. */
static void the_memory_allowed_is_for_both_sides_of_the_packing(void **state) {
    (void)state;
    char *text = trace_of(trace, NULL);
    const char *const texts[] = { text, "a 2 x 0\no 1 1 8 1\nc x 1\n" };
    for (size_t k = 0; k < 2; k++) {
        uint8_t bytes[8192];
        size_t size = pack(bytes, texts[k], strlen(texts[k]), 50);
        hd_status status = HD_LIMIT;
        hd__faults f = { 0 };
        hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1, .allocator = hd__faults_allocator(&f) };
        for (options.limits.max_memory = 10; status; options.limits.max_memory += options.limits.max_memory / 10) {
            char expected[60];
            hd_dump *d = NULL;
            hd_error err = { 0 };
            f.peak = 0;
            status = hd_read_memory(bytes, size, &options, &d, &err);
            assert_true(f.peak <= options.limits.max_memory);
            snprintf(expected, sizeof expected, "max_memory of %u bytes", (unsigned)options.limits.max_memory);
            if (status && (status != HD_LIMIT || !strstr(err.message, expected))) fail_msg("%s: %s", expected, err.message);
            hd_dump_free(d);
            assert_int_equal(f.live, 0);
            assert_int_equal(streams_open, 0);
        }
    }
    free(text);
}

static void the_content_may_be_no_trace(void **state) {
    (void)state;
    static const char *const texts[] = { "", "x", "\x1f\x8b\x08" };
    hd_options options = { .unpackers = &unpack_stored, .unpacker_count = 1 };
    for (size_t i = 0; i < 3; i++) {
        uint8_t bytes[64];
        size_t size = pack(bytes, texts[i], strlen(texts[i]), 9);
        hd_dump *d = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read_memory(bytes, size, &options, &d, &err), HD_UNKNOWN_FORMAT);
        assert_null(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_may_be_gzip_compressed_in_memory_callbacks_and_files),
        cmocka_unit_test(members_end_to_end_are_one_text),
        cmocka_unit_test(packing_without_an_unpacker_is_unsupported_and_named),
        cmocka_unit_test(the_magic_number_selects_the_unpacker),
        cmocka_unit_test(memory_that_a_stream_claims_has_a_bound),
        cmocka_unit_test(streams_cut_anywhere_keep_the_part_before),
        cmocka_unit_test(objects_before_the_cut_are_kept),
        cmocka_unit_test(packed_bytes_that_cannot_be_read_are_an_input_error),
        cmocka_unit_test(every_byte_changed_is_survived),
        cmocka_unit_test(a_stream_that_cannot_be_opened_is_out_of_memory),
        cmocka_unit_test(the_memory_allowed_is_for_both_sides_of_the_packing),
        cmocka_unit_test(the_content_may_be_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
