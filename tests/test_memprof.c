/* Raw memprof profiles: their content in every version and byte order, unchanged when written back, and every
   fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "long.h"
#include "memprof.h"

static hd_dump *read_bytes(const void *data, size_t size, const hd_options *options) {
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    if (mp_read(hd_in_memory(data, size), options, &doc, &err)) fail_msg("%s", err.message);
    return doc;
}

static void writes(const hd_dump *doc, const void *data, size_t size) {
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    assert_int_equal(out.size, size);
    if (size) assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

/* Reads, and writes the same bytes, from memory and in pieces. */
static void keeps(const void *data, size_t size) {
    static const size_t pieces[] = { 0, 1, 7 };
    hd_dump *doc = read_bytes(data, size, NULL);
    writes(doc, data, size);
    assert_int_equal(hd_dump_warning_count(doc), 0);
    hd_dump_free(doc);
    for (size_t i = 0; i < 3; i++) {
        hd__reads reads = { .data = data, .size = size, .chunk = pieces[i] };
        assert_int_equal(mp_read(hd__faults_in(&reads), NULL, &doc, NULL), HD_OK);
        writes(doc, data, size);
        hd_dump_free(doc);
    }
}

/* Strict reading fails with this error; lenient reading succeeds. */
static void is_bad(const void *data, size_t size, hd_status status, uint64_t offset, const char *message) {
    hd_dump *doc = (hd_dump *)&status;
    hd_error err = { 0 };
    assert_int_equal(mp_read(hd_in_memory(data, size), NULL, &doc, &err), status);
    assert_ptr_equal(doc, &status);
    if (!strstr(err.message, message)) fail_msg("'%s' has no '%s'", err.message, message);
    assert_int_equal(err.offset, offset);
    assert_int_equal(err.status, status);
    hd__reads reads = { .data = data, .size = size, .chunk = 5 };
    assert_int_equal(mp_read(hd__faults_in(&reads), NULL, &doc, &err), status);
    assert_int_equal(err.offset, offset);
    if (status != HD_MALFORMED) return;
    doc = read_bytes(data, size, &(hd_options){ .lenient = true });
    assert_true(hd_dump_warning_count(doc) > 0);
    hd_buffer out = { 0 };
    assert_int_equal(hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
    if (hd_memprof_part_count(hd_dump_memprof(doc))) hd_dump_free(read_bytes(out.data, out.size, NULL));
    hd_buffer_free(&out);
    hd_dump_free(doc);
}

static void same_raw(const hd_memprof_raw *a, const hd_memprof_raw *b) {
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->big_endian, b->big_endian);
    assert_int_equal(a->fields, b->fields);
    assert_int_equal(a->segment_count, b->segment_count);
    assert_int_equal(a->block_count, b->block_count);
    assert_int_equal(a->stack_count, b->stack_count);
    assert_int_equal(a->counter_count, b->counter_count);
    for (uint32_t i = 0; i < a->segment_count; i++) {
        assert_int_equal(a->segments[i].start, b->segments[i].start);
        assert_int_equal(a->segments[i].end, b->segments[i].end);
        assert_int_equal(a->segments[i].offset, b->segments[i].offset);
        assert_int_equal(a->segments[i].build_id_size, b->segments[i].build_id_size);
        assert_memory_equal(a->segments[i].build_id, b->segments[i].build_id, 32);
    }
    for (uint32_t i = 0; i < a->block_count; i++) {
        assert_int_equal(a->stack_id[a->blocks[i].stack], b->stack_id[b->blocks[i].stack]);
        assert_memory_equal(a->blocks[i].value, b->blocks[i].value, sizeof a->blocks[i].value);
        for (uint64_t k = 0; k < a->blocks[i].value[26]; k++)
            assert_int_equal(a->counters[a->blocks[i].histogram + k], b->counters[b->blocks[i].histogram + k]);
    }
    for (uint32_t i = 0; i < a->stack_count; i++) {
        assert_int_equal(a->stack_id[i], b->stack_id[i]);
        assert_int_equal(a->first[i + 1] - a->first[i], b->first[i + 1] - b->first[i]);
        for (uint32_t k = 0; k < a->first[i + 1] - a->first[i]; k++)
            assert_int_equal(a->pc[a->first[i] + k], b->pc[b->first[i] + k]);
    }
}

/* One segment, one block, one stack: the numbers of the document's tables. */
static void by_hand(mp_bytes *b, uint32_t version) {
    uint64_t segments = 8 + (version < 3 ? 56 : 64), block = version < 2 ? 108 : version < 4 ? 140 : 152;
    uint64_t blocks = 8 + block + (version == 4 ? 16 : version == 5 ? 4 : 0), filled = (blocks + 7) / 8 * 8;
    mp_header(b, version, 48 + segments + filled + 8 + 32, 48, 48 + segments, 48 + segments + filled);
    mp_put(b, 8, 1);                          /* segments */
    mp_put(b, 8, 0x400000);
    mp_put(b, 8, 0x401000);
    mp_put(b, 8, 0x70);
    if (version > 2) mp_put(b, 8, 4);
    mp_raw(b, "\1\2\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
    mp_put(b, 8, 1);                          /* blocks */
    mp_put(b, 8, 77);
    mp_put(b, 4, 5), mp_put(b, 8, 100), mp_put(b, 8, 10), mp_put(b, 8, 40), mp_put(b, 8, 640), mp_put(b, 4, 64);
    mp_put(b, 4, 256), mp_put(b, 4, 1000), mp_put(b, 4, 3500), mp_put(b, 8, 9000), mp_put(b, 4, 1), mp_put(b, 4, 2500);
    mp_put(b, 4, 3), mp_put(b, 4, 2), mp_put(b, 4, 1), mp_put(b, 4, 4), mp_put(b, 4, 6), mp_put(b, 4, 7);
    mp_put(b, 8, 0xabcdef0123456789);
    if (version > 1) {
        mp_put(b, 8, 1500), mp_put(b, 4, 11), mp_put(b, 4, 99);
        mp_put(b, 8, 300000), mp_put(b, 4, 12), mp_put(b, 4, 88);
    }
    if (version > 3) mp_put(b, 4, 2), mp_put(b, 8, 0x7fff12345678);
    if (version == 4) mp_put(b, 8, 9), mp_put(b, 8, 1u << 20);
    if (version == 5) mp_put(b, 2, 9), mp_put(b, 2, 0x8fff); /* 9; 4095 x 2^8 */
    for (uint64_t i = blocks; i < filled; i++) mp_put(b, 1, 0xee);
    mp_put(b, 8, 1);                          /* stacks */
    mp_put(b, 8, 77);
    mp_put(b, 8, 2);
    mp_put(b, 8, 0x400123);
    mp_put(b, 8, 0x400fff);
}

static void every_version_has_its_fields(void **state) {
    (void)state;
    static const uint64_t values[] = { 0, 5, 100, 10, 40, 640, 64, 256, 1000, 3500, 9000, 1, 2500, 3, 2, 1, 4, 6, 7,
                                       0xabcdef0123456789, 1500, 11, 99, 300000, 12, 88, 2, 0x7fff12345678 };
    static const size_t sizes[] = { 0, 48 + 64 + 120 + 40, 48 + 64 + 152 + 40, 48 + 72 + 152 + 40,
                                    48 + 72 + 176 + 40, 48 + 72 + 168 + 40 };
    for (uint32_t version = 1; version < 6; version++)
        for (int big = 0; big < 2; big++) {
            mp_bytes b = { .big = big };
            by_hand(&b, version);
            assert_int_equal(b.size, sizes[version]);
            assert_int_equal(b.data[0], big ? 0xff : 0x81);
            keeps(b.data, b.size);
            hd_dump *doc = read_bytes(b.data, b.size, NULL);
            assert_int_equal(hd_memprof_part_count(hd_dump_memprof(doc)), 1);
            assert_null(hd_memprof_part(hd_dump_memprof(doc), 1));
            const hd_memprof_raw *r = hd_memprof_part(hd_dump_memprof(doc), 0);
            assert_int_equal(r->version, version);
            assert_int_equal(r->big_endian, big);
            assert_int_equal(r->fields, version == 1 ? 0xffffe : version < 4 ? 0x3fffffe : 0xffffffe);
            assert_int_equal(r->fields, hd_memprof_version_fields(version));
            for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
                assert_int_equal(r->blocks[0].value[f], r->fields >> f & 1 ? values[f] : 0);
            assert_int_equal(r->segments[0].start, 0x400000);
            assert_int_equal(r->segments[0].end, 0x401000);
            assert_int_equal(r->segments[0].offset, 0x70);
            assert_int_equal(r->segments[0].build_id_size, version < 3 ? 32 : 4);
            assert_memory_equal(r->segments[0].build_id, "\1\2\3\4\0", 5);
            assert_int_equal(r->block_count, 1);
            assert_int_equal(r->blocks[0].stack, 0);
            assert_int_equal(r->stack_count, 1);
            assert_int_equal(r->stack_id[0], 77);
            assert_int_equal(r->first[1] - r->first[0], 2);
            assert_int_equal(r->pc[0], 0x400123);
            assert_int_equal(r->pc[1], 0x400fff);
            assert_int_equal(r->counter_count, version < 4 ? 0 : 2);
            if (version > 3) assert_int_equal(hd_memprof_counter(r, 0), 9);
            if (version > 3) assert_int_equal(hd_memprof_counter(r, 1), version == 4 ? 1u << 20 : 4095u << 8);
            hd_dump_free(doc);
            free(b.data);
        }
    assert_int_equal(hd_memprof_version_fields(0), 0);
    assert_int_equal(hd_memprof_version_fields(6), 0);
    assert_string_equal(hd_memprof_field_name(HD_MEMPROF_ALLOC_COUNT), "AllocCount");
    assert_string_equal(hd_memprof_field_name(HD_MEMPROF_DATA_TYPE_ID), "DataTypeId");
    assert_string_equal(hd_memprof_field_name(HD_MEMPROF_ACCESS_HISTOGRAM), "AccessHistogram");
    assert_string_equal(hd_memprof_field_name(0), "unknown");
    assert_string_equal(hd_memprof_field_name(28), "unknown");
}

static void random_profiles_are_kept(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        mp_bytes b = { 0 };
        mp_model m[3];
        uint32_t n = 1 + mp_below(&seed, 3);
        for (uint32_t i = 0; i < n; i++) {
            mp_random(&m[i], &seed, 1 + mp_below(&seed, 5), mp_below(&seed, 1000) << 12);
            mp_write(&b, &m[i].raw);
        }
        keeps(b.data, b.size);
        hd_dump *doc = read_bytes(b.data, b.size, NULL);
        assert_int_equal(hd_memprof_part_count(hd_dump_memprof(doc)), n);
        hd_memprof_reader *r;
        const hd_memprof_raw *raw;
        assert_int_equal(hd_memprof_open(hd_in_memory(b.data, b.size), NULL, &r, NULL), HD_OK);
        for (uint32_t i = 0; i < n; i++) {
            same_raw(hd_memprof_part(hd_dump_memprof(doc), i), &m[i].raw);
            assert_int_equal(hd_memprof_next(r, &raw, NULL), HD_OK);
            same_raw(raw, &m[i].raw);
            mp_close(&m[i]);
        }
        for (int again = 0; again < 2; again++) {
            assert_int_equal(hd_memprof_next(r, &raw, NULL), HD_OK);
            assert_null(raw);
        }
        assert_int_equal(hd_memprof_reader_warning_count(r), 0);
        hd_memprof_close(r);
        hd_dump_free(doc);
        free(b.data);
    }
    hd_memprof_close(NULL);
    hd_memprof_free(NULL);
}

/* Changes one number in one of the samples. */
static void changed(uint32_t version, size_t at, unsigned width, uint64_t value, uint64_t offset, const char *message) {
    for (int big = 0; big < 2; big++) {
        mp_model m;
        mp_bytes b = { 0 };
        mp_sample(&m, version);
        m.raw.big_endian = big;
        mp_write(&b, &m.raw);
        keeps(b.data, b.size);
        mp_set(&b, at, width, value);
        is_bad(b.data, b.size, strstr(message, "version") ? HD_UNSUPPORTED : HD_MALFORMED, offset, message);
        mp_close(&m);
        free(b.data);
    }
}

/* In the sample of version 4 segments are at 56, blocks at 184 + 8, stacks at 688 + 8; it has 776 bytes. */
static void bad_input_is_reported(void **state) {
    (void)state;
    is_bad("", 0, HD_UNKNOWN_FORMAT, 0, "magic");
    is_bad("\x81rforpm", 7, HD_UNKNOWN_FORMAT, 0, "magic");
    is_bad("\x81rforpl\xff        ", 16, HD_UNKNOWN_FORMAT, 0, "magic");
    is_bad("\x81rforpm\xff\4", 9, HD_MALFORMED, 9, "the input ends inside the header");
    changed(4, 8, 8, 6, 8, "found version 6");
    changed(4, 8, 8, 0, 8, "found version 0");
    changed(4, 8, 8, UINT64_C(1) << 32 | 4, 8, "found version 4294967300");
    changed(4, 16, 8, 777, 16, "777 bytes announced, but 776 are left");
    changed(4, 16, 8, 47, 16, "at least 48 bytes, found 47");
    changed(4, 16, 8, 768, 736, "4 addresses announced, but 24 bytes are left");
    changed(4, 16, 8, UINT64_MAX, 16, "18446744073709551615 bytes announced");
    changed(4, 24, 8, 40, 24, "expected the segment section at 48, found it at 40");
    changed(4, 24, 8, UINT64_MAX, 24, "found it at 18446744073709551615");
    changed(4, 32, 8, 1000, 40, "expected the stack section after the block section, at 1000, found it at 688");
    changed(4, 32, 8, 48, 32, "expected the block section after the segment section, at 48, found it at 48");
    /* the blocks would overlap the segments */
    changed(4, 32, 8, 56, 48, "2 segments announced, but 0 bytes are left");
    changed(4, 32, 8, 176, 48, "2 segments announced, but 120 bytes are left");
    changed(4, 40, 8, 769, 40, "expected the stack section within the profile's bytes 48 to 776, found it at 769");
    changed(4, 40, 8, UINT64_MAX - 3, 40, "found it at 18446744073709551612");
    /* the stacks would overlap the blocks */
    changed(4, 40, 8, 680, 520, "block 2: a histogram of 2 counters announced, but 8 bytes are left");
    changed(4, 40, 8, 696, 688, "expected the stack section at 688, after the block section, found it at 696");
    changed(4, 48, 8, 3, 48, "3 segments announced, but 128 bytes are left");
    changed(4, 48, 8, UINT64_MAX / 64 + 2, 48, "segments announced");
    changed(4, 48, 8, 1, 120, "expected the block section at 120, after the segment section, found it at 184");
    changed(4, 56 + 8, 8, 0x400fff, 56, "segment 0: starts at 0x401000 but ends before that, at 0x400fff");
    changed(4, 56 + 24, 8, 33, 56 + 24, "segment 0: expected a build id of at most 32 bytes, found 33");
    changed(4, 120, 8, 0x402fff, 120, "segment 1: starts at 0x402fff, inside another segment that ends at 0x403000");
    changed(4, 120, 8, 0, 56, "segment 0: starts at 0x401000, inside another segment that ends at 0x7f0000001000");
    changed(4, 184, 8, 4, 184, "4 blocks announced, but 496 bytes are left");
    changed(4, 184, 8, 2, 520, "expected the stack section at 520");
    changed(4, 192, 8, 12, 192, "block 0: no stack has the id 12");
    changed(4, 192 + 8 + 132, 4, 1000, 192, "block 0: a histogram of 1000 counters announced, but 344 bytes are left");
    changed(4, 192 + 8 + 132, 4, 43, 688, "3 blocks announced, but the section ends in block 1");
    changed(4, 688, 8, 7, 688, "7 stacks announced, but 80 bytes are left");
    changed(4, 688, 8, 3, 776, "3 stacks announced, but the section ends in stack 2");
    changed(4, 688, 8, 1, 192 + 176, "block 1: no stack has the id 18364758544493064720");
    changed(4, 704, 8, 12, 704, "stack id 11: 12 addresses announced, but 64 bytes are left");
    changed(4, 728, 8, 11, 728, "stack id 11: duplicate with other addresses");
    changed(1, 24, 8, 0, 24, "found it at 0");
    changed(2, 168, 8, 4, 168, "4 blocks announced, but 424 bytes are left");
    changed(5, 8, 8, 7, 8, "found version 7");
}

static void segments_may_touch_and_stacks_may_repeat(void **state) {
    (void)state;
    mp_model m;
    mp_bytes b = { 0 };
    mp_sample(&m, 3);
    m.segments[1].start = m.segments[0].end;
    mp_write(&b, &m.raw);
    keeps(b.data, b.size);
    mp_close(&m);
    b.size = 0;
    mp_sample(&m, 3);            /* the second stack gets the first's id */
    m.stack_id[1] = m.stack_id[0];
    m.pc[2] = m.pc[0];
    m.pc[3] = m.pc[1];
    m.first[2] = 4;
    mp_write(&b, &m.raw);
    keeps(b.data, b.size);
    mp_close(&m);
    b.size = 0;
    mp_open(&m, 4, 0, 0, 0, 0, 0); /* empty */
    mp_write(&b, &m.raw);
    assert_int_equal(b.size, 72);
    keeps(b.data, b.size);
    mp_write(&b, &m.raw);
    mp_raw(&b, "\x81rforpm", 7); /* the bytes after it are no profile */
    is_bad(b.data, b.size, HD_MALFORMED, 144, "profile 3: expected another raw profile or the end of the input");
    mp_close(&m);
    free(b.data);
}

/* Lenient reading saves everything that it can. */
static void lenient_reading_keeps_the_rest(void **state) {
    (void)state;
    mp_model m;
    mp_bytes b = { 0 };
    hd_dump *doc;
    mp_sample(&m, 4);
    mp_write(&b, &m.raw);
    mp_set(&b, 192, 8, 12);      /* block 0 has no stack */
    mp_set(&b, 120, 8, 0x401fff); /* segment 1 overlaps */
    doc = read_bytes(b.data, b.size, &(hd_options){ .lenient = true });
    const hd_memprof_raw *r = hd_memprof_part(hd_dump_memprof(doc), 0);
    assert_int_equal(hd_dump_warning_count(doc), 2);
    assert_int_equal(r->block_count, 2);
    assert_int_equal(r->blocks[0].value[1], 1001);
    assert_int_equal(r->blocks[1].value[26], 2);
    assert_int_equal(r->counters[r->blocks[1].histogram], 30 + (UINT64_C(1) << 40));
    assert_int_equal(r->segment_count, 1);
    assert_int_equal(r->segments[0].start, 0x401000);
    hd_dump_free(doc);
    mp_close(&m);
    b.size = 0;
    mp_sample(&m, 3);            /* the second stack has the first's id and no addresses */
    m.stack_id[1] = m.stack_id[0];
    m.first[2] = m.first[1];
    mp_write(&b, &m.raw);
    is_bad(b.data, b.size, HD_MALFORMED, b.size - 16, "stack id 11: duplicate with other addresses");
    doc = read_bytes(b.data, b.size, &(hd_options){ .lenient = true });
    assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->stack_count, 1);
    assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->block_count, 3);
    hd_dump_free(doc);
    mp_close(&m);
    free(b.data);
}

/* Two profiles, one with histograms: every prefix of the file. */
static void truncated_files_are_reported(void **state) {
    (void)state;
    for (uint32_t version = 1; version < 6; version++) {
        mp_model m;
        mp_bytes b = { 0 };
        size_t one;
        mp_sample(&m, version);
        mp_write(&b, &m.raw);
        one = b.size;
        m.raw.big_endian = true;
        mp_write(&b, &m.raw);
        for (size_t size = 0; size < b.size; size++) {
            uint8_t *copy = (uint8_t *)malloc(size + 1); /* so that sanitizers find a read past the end */
            memcpy(copy, b.data, size);
            copy = (uint8_t *)realloc(copy, size ? size : 1);
            hd_dump *doc;
            hd_error err = { 0 };
            hd_status status = mp_read(hd_in_memory(copy, size), NULL, &doc, &err);
            assert_int_equal(status, size < 8 ? HD_UNKNOWN_FORMAT : size == one ? HD_OK : HD_MALFORMED);
            if (!status) hd_dump_free(doc);
            else assert_true(err.offset <= size);
            if (size >= 8) {
                hd_buffer out = { 0 };
                doc = read_bytes(copy, size, &(hd_options){ .lenient = true });
                assert_int_equal(hd_memprof_part_count(hd_dump_memprof(doc)), (size >= 48) + (size >= one + 48));
                assert_int_equal(hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
                if (out.size) hd_dump_free(read_bytes(out.data, out.size, NULL));
                hd_buffer_free(&out);
                hd_dump_free(doc);
            }
            free(copy);
        }
        mp_close(&m);
        free(b.data);
    }
}

/* Flips every bit. A profile that reads strictly is written unchanged; a repaired profile can be read. */
static void flipped_bits_are_survived(void **state) {
    (void)state;
    for (uint32_t version = 1; version < 6; version++) {
        mp_model m;
        mp_bytes b = { 0 };
        mp_sample(&m, version);
        mp_write(&b, &m.raw);
        for (size_t bit = version; bit < 8 * b.size; bit += (size_t)long_or_short(1, 3)) {
            hd_dump *doc;
            hd_options lenient = { .lenient = true };
            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (!mp_read(hd_in_memory(b.data, b.size), NULL, &doc, NULL)) {
                writes(doc, b.data, b.size);
                hd_dump_free(doc);
            }
            if (!mp_read(hd_in_memory(b.data, b.size), &lenient, &doc, NULL)) {
                hd_buffer out = { 0 };
                assert_int_equal(hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_memory(&out), NULL), HD_OK);
                if (out.size) hd_dump_free(read_bytes(out.data, out.size, NULL));
                hd_buffer_free(&out);
                hd_dump_free(doc);
            }
            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        mp_close(&m);
        free(b.data);
    }
}

static bool never(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return ++*(int *)user < 2;
}

static void faults_are_passed_up(void **state) {
    (void)state;
    mp_model m;
    mp_bytes b = { 0 };
    hd__faults f = { 0 };
    hd_dump *doc = NULL;
    mp_sample(&m, 4);
    mp_write(&b, &m.raw);
    m.raw.version = 5;
    mp_write(&b, &m.raw);
    for (int piecemeal = 0; piecemeal < 2; piecemeal++) {
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd__reads reads = { .data = b.data, .size = b.size, .chunk = 100 };
            hd_in in = piecemeal ? hd__faults_in(&reads) : hd_in_memory(b.data, b.size);
            hd_error err = { 0 };
            hd_status status = mp_read(in, &options, &doc, &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(err.status, status);
            if (!status) hd_dump_free(doc);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        f.fail_at = 0;
    }
    for (uint64_t n = 1; n < 20; n++) {
        hd__reads reads = { .data = b.data, .size = b.size, .chunk = 50, .fail_at = n };
        hd_error err;
        assert_int_equal(mp_read(hd__faults_in(&reads), NULL, &doc, &err), HD_IO);
        assert_int_equal(err.offset, n < 3 ? 50 * (n - 1) : HD_DETECT_FIRST + 50 * (n - 3));
    }
    doc = read_bytes(b.data, b.size, NULL);
    for (uint64_t n = 1; n < 3; n++) {
        hd__write_faults w = { .fail_at = n };
        hd_error err = { 0 };
        assert_int_equal(hd_memprof_write(hd_dump_memprof(doc), NULL, hd__faults_out(&w), &err), HD_IO);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
    }
    int calls = 1;
    hd_options stop = { .progress = never, .progress_user = &calls };
    hd_buffer out = { 0 };
    assert_int_equal(hd_memprof_write(hd_dump_memprof(doc), &stop, hd_out_memory(&out), NULL), HD_CANCELLED);
    hd_buffer_free(&out);
    hd_dump_free(doc);
    for (calls = 1; calls > -3; calls--) {
        int left = calls;
        stop.progress_user = &left;
        assert_int_equal(mp_read(hd_in_memory(b.data, b.size), &stop, &doc, NULL), HD_CANCELLED);
    }
    for (uint64_t memory = 0; memory < 4000; memory += 100) {
        hd_options small = { .limits.max_memory = memory ? memory : 1 };
        hd_status status = mp_read(hd_in_memory(b.data, b.size), &small, &doc, NULL);
        assert_true(status == HD_LIMIT || status == HD_OK);
        if (!status) hd_dump_free(doc);
    }
    for (uint64_t records = 1; records < 7; records++) {
        hd_options few = { .limits.max_records = records };
        hd_status status = mp_read(hd_in_memory(b.data, b.size), &few, &doc, NULL);
        assert_int_equal(status, records < 6 ? HD_LIMIT : HD_OK); /* the sample has 6 addresses */
        if (!status) hd_dump_free(doc);
    }
    mp_close(&m);
    free(b.data);
}

/* Memory is proportional to the bytes of the input, even with false counts. */
static void memory_follows_the_bytes(void **state) {
    (void)state;
    mp_bytes b = { 0 };
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f), .lenient = true };
    hd_dump *doc;
    mp_header(&b, 4, UINT64_MAX / 2, 48, 56, 64);
    for (int i = 0; i < 30; i++) mp_put(&b, 8, UINT64_MAX / 200);
    for (int piecemeal = 0; piecemeal < 2; piecemeal++) {
        hd__reads reads = { .data = b.data, .size = b.size };
        assert_int_equal(mp_read(piecemeal ? hd__faults_in(&reads) : hd_in_memory(b.data, b.size), &options, &doc,
                                         NULL), HD_OK);
        hd_dump_free(doc);
        assert_true(f.peak < (piecemeal ? 80000 : 4000));
        f.peak = 0;
    }
    free(b.data);
}

static hd_status write_as(const hd_memprof_raw *raw, uint32_t version, const hd_options *options, hd_buffer *out, hd_error *err) {
    out->size = 0;
    return hd_memprof_write_raw(raw, version, options, hd_out_memory(out), err);
}

static void versions_become_others(void **state) {
    (void)state;
    mp_model m;
    hd_buffer out = { 0 };
    hd_error err;
    hd_dump *doc;
    mp_sample(&m, 4);
    m.counters[0] = 5000;        /* 13 bits: keeps the 12 highest, rounded up */
    m.counters[1] = 5001;
    m.counters[2] = UINT64_MAX;
    assert_int_equal(write_as(&m.raw, 5, NULL, &out, NULL), HD_OK);
    doc = read_bytes(out.data, out.size, NULL);
    const hd_memprof_raw *r = hd_memprof_part(hd_dump_memprof(doc), 0);
    assert_int_equal(r->version, 5);
    assert_int_equal(r->counters[0], 0x1000 | 2500);
    assert_int_equal(hd_memprof_counter(r, 0), 5000);
    assert_int_equal(hd_memprof_counter(r, 1), 5002);
    assert_int_equal(hd_memprof_counter(r, 2), UINT64_C(4095) << 15);
    hd_buffer back = { 0 };
    assert_int_equal(write_as(r, 4, NULL, &back, NULL), HD_OK);
    hd_dump *again = read_bytes(back.data, back.size, NULL);
    assert_int_equal(hd_memprof_part(hd_dump_memprof(again), 0)->counters[1], 5002);
    hd_dump_free(again);
    hd_buffer_free(&back);
    hd_dump_free(doc);
    assert_int_equal(write_as(&m.raw, 3, NULL, &out, NULL), HD_OK); /* this version has no histograms */
    doc = read_bytes(out.data, out.size, NULL);
    r = hd_memprof_part(hd_dump_memprof(doc), 0);
    assert_int_equal(r->version, 3);
    assert_int_equal(r->blocks[2].value[25], 2025);
    assert_int_equal(r->blocks[2].value[26], 0);
    assert_int_equal(write_as(r, 4, NULL, &out, NULL), HD_OK); /* histograms do not come back */
    hd_dump_free(doc);
    doc = read_bytes(out.data, out.size, NULL);
    assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->counter_count, 0);
    hd_dump_free(doc);

    assert_int_equal(write_as(&m.raw, 2, NULL, &out, &err), HD_UNSUPPORTED); /* segments */
    assert_int_equal(write_as(&m.raw, 6, NULL, &out, &err), HD_INVALID);
    assert_non_null(strstr(err.message, "found 6"));
    mp_close(&m);
    mp_sample(&m, 1);
    assert_int_equal(write_as(&m.raw, 2, NULL, &out, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "version 2 needs TotalAccessDensity, which the blocks lack");
    mp_close(&m);
    mp_sample(&m, 2);
    assert_int_equal(write_as(&m.raw, 1, NULL, &out, &err), HD_OK);
    m.blocks[1].value[HD_MEMPROF_ALLOC_COUNT] = UINT64_C(1) << 32;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_OVERFLOW);
    assert_string_equal(err.message, "block 1: AllocCount is 4294967296, which does not fit in 32 bits");
    assert_int_equal(write_as(&m.raw, 0, &(hd_options){ .lenient = true }, &out, &err), HD_OK);
    doc = read_bytes(out.data, out.size, NULL);
    assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->blocks[1].value[HD_MEMPROF_ALLOC_COUNT], UINT32_MAX);
    hd_dump_free(doc);
    m.blocks[1].value[HD_MEMPROF_ALLOC_COUNT] = 1;
    m.blocks[2].stack = 2;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_INVALID);
    assert_string_equal(err.message, "block 2: expected one of 2 stacks, found number 2");
    m.blocks[2].stack = 0;
    m.segments[1].build_id_size = 33;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_INVALID);
    m.segments[1].build_id_size = 0;
    m.first[1] = 7;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_INVALID);
    mp_close(&m);
    mp_sample(&m, 4);
    m.blocks[2].histogram = 4;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_INVALID);
    m.blocks[2].histogram = UINT64_MAX;
    assert_int_equal(write_as(&m.raw, 0, NULL, &out, &err), HD_INVALID);
    mp_close(&m);
    hd_buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_has_its_fields),
        cmocka_unit_test(random_profiles_are_kept),
        cmocka_unit_test(bad_input_is_reported),
        cmocka_unit_test(segments_may_touch_and_stacks_may_repeat),
        cmocka_unit_test(lenient_reading_keeps_the_rest),
        cmocka_unit_test(truncated_files_are_reported),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(memory_follows_the_bytes),
        cmocka_unit_test(versions_become_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
