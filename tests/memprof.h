/* Raw memprof profiles for tests and benchmarks. Include after heapdump.h.

   mp_ functions append a profile's numbers to bytes in memory, without the library's help. mp_write makes a file from
   columns. mp_sample and mp_random make columns; mp_process makes the columns of one run of a larger program. */
#ifndef MEMPROF_H
#define MEMPROF_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct mp_bytes {
    uint8_t *data;
    size_t size, capacity;
    bool big;
} mp_bytes;

HD_UNUSED static void mp_raw(mp_bytes *b, const void *data, size_t size) {
    if (b->capacity - b->size < size) {
        b->capacity = 2 * b->capacity + size + 256;
        b->data = (uint8_t *)realloc(b->data, b->capacity);
        if (!b->data) abort();
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* Appends a number of `width` bytes. */
HD_UNUSED static void mp_put(mp_bytes *b, unsigned width, uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < width; i++) bytes[b->big ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
    mp_raw(b, bytes, width);
}

/* Replaces the number of `width` bytes at `at`. */
HD_UNUSED static void mp_set(mp_bytes *b, size_t at, unsigned width, uint64_t value) {
    size_t size = b->size;
    b->size = at;
    mp_put(b, width, value);
    b->size = size;
}

HD_UNUSED static void mp_header(mp_bytes *b, uint64_t version, uint64_t total, uint64_t segments, uint64_t blocks,
                                uint64_t stacks) {
    mp_put(b, 8, UINT64_C(0xff6d70726f667281));
    mp_put(b, 8, version);
    mp_put(b, 8, total);
    mp_put(b, 8, segments);
    mp_put(b, 8, blocks);
    mp_put(b, 8, stacks);
}

/* Bytes of fields 1 to 27. Versions 1 to 5 have 19, 25, 25, 27 and 27 fields. */
static const uint8_t mp_width[28] = { 0, 4, 8, 8, 8, 8, 4, 4, 4, 4, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 4, 4, 8, 4, 4, 4, 8 };
static const uint8_t mp_fields[6] = { 0, 19, 25, 25, 27, 27 };

/* Pads to a multiple of 8 bytes from `start`. */
HD_UNUSED static void mp_fill(mp_bytes *b, size_t start, uint64_t padding) {
    for (; (b->size - start) % 8; padding >>= 8) {
        uint8_t byte = (uint8_t)padding;
        mp_raw(b, &byte, 1);
    }
}

HD_UNUSED static void mp_write(mp_bytes *b, const hd_memprof_raw *r) {
    size_t start = b->size, at[3];
    b->big = r->big_endian;
    mp_header(b, r->version, 0, 48, 0, 0);
    mp_put(b, 8, r->segment_count);
    for (uint32_t i = 0; i < r->segment_count; i++) {
        mp_put(b, 8, r->segments[i].start);
        mp_put(b, 8, r->segments[i].end);
        mp_put(b, 8, r->segments[i].offset);
        if (r->version > 2) mp_put(b, 8, r->segments[i].build_id_size);
        mp_raw(b, r->segments[i].build_id, 32);
    }
    mp_fill(b, start, r->padding[0]);
    at[0] = b->size - start;
    mp_put(b, 8, r->block_count);
    for (uint32_t i = 0; i < r->block_count; i++) {
        const hd_memprof_block *k = &r->blocks[i];
        mp_put(b, 8, r->stack_id[k->stack]);
        for (int f = 1; f <= mp_fields[r->version]; f++) mp_put(b, mp_width[f], k->value[f]);
        for (uint64_t c = 0; r->version > 3 && c < k->value[26]; c++)
            mp_put(b, r->version > 4 ? 2 : 8, r->counters[k->histogram + c]);
    }
    mp_fill(b, start, r->padding[1]);
    at[1] = b->size - start;
    mp_put(b, 8, r->stack_count);
    for (uint32_t i = 0; i < r->stack_count; i++) {
        mp_put(b, 8, r->stack_id[i]);
        mp_put(b, 8, r->first[i + 1] - r->first[i]);
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++) mp_put(b, 8, r->pc[k]);
    }
    mp_fill(b, start, r->padding[2]);
    at[2] = b->size - start;
    mp_set(b, start + 16, 8, at[2]);
    mp_set(b, start + 32, 8, at[0]);
    mp_set(b, start + 40, 8, at[1]);
}

/* Columns that a test can change. */
typedef struct mp_model {
    hd_memprof_raw raw;
    hd_memprof_segment *segments;
    hd_memprof_block *blocks;
    uint64_t *stack_id, *pc, *counters;
    uint32_t *first;
} mp_model;

HD_UNUSED static void *mp_alloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

HD_UNUSED static void mp_open(mp_model *m, uint32_t version, uint32_t segments, uint32_t blocks, uint32_t stacks,
                              uint32_t pcs, uint32_t counters) {
    memset(m, 0, sizeof *m);
    m->raw.version = version;
    m->raw.fields = hd_memprof_version_fields(version);
    m->raw.segment_count = segments;
    m->raw.block_count = blocks;
    m->raw.stack_count = stacks;
    m->raw.counter_count = counters;
    m->raw.segments = m->segments = (hd_memprof_segment *)mp_alloc(segments, sizeof *m->segments);
    m->raw.blocks = m->blocks = (hd_memprof_block *)mp_alloc(blocks, sizeof *m->blocks);
    m->raw.stack_id = m->stack_id = (uint64_t *)mp_alloc(stacks, sizeof *m->stack_id);
    m->raw.first = m->first = (uint32_t *)mp_alloc(stacks + 1, sizeof *m->first);
    m->raw.pc = m->pc = (uint64_t *)mp_alloc(pcs, sizeof *m->pc);
    m->raw.counters = m->counters = (uint64_t *)mp_alloc(counters, sizeof *m->counters);
}

HD_UNUSED static void mp_close(mp_model *m) {
    free(m->segments);
    free(m->blocks);
    free(m->stack_id);
    free(m->first);
    free(m->pc);
    free(m->counters);
}

/* Two segments, and three blocks of two stacks. Field f of block i is 1000 i + f, times 2^32 if it has 8 bytes. Stack
   2 has an address outside of all segments. The histograms have 3, 0 and 2 counters. */
HD_UNUSED static void mp_sample(mp_model *m, uint32_t version) {
    static const uint64_t pc[] = { 0x401010, 0x401234, 0x7f0000000123, 0x401010, 0x402fff, 0x99 };
    mp_open(m, version, 2, 3, 2, 6, version > 3 ? 5 : 0);
    m->segments[0].start = 0x401000;
    m->segments[0].end = 0x403000;
    m->segments[0].offset = version < 3 ? 0x1000 : 0;
    m->segments[1].start = 0x7f0000000000;
    m->segments[1].end = 0x7f0000001000;
    m->segments[1].offset = version < 3 ? 0x2000 : 0x7effffffe000;
    for (int s = 0; s < 2; s++) {
        m->segments[s].build_id_size = version < 3 ? 32 : 20;
        for (int i = 0; i < 20; i++) m->segments[s].build_id[i] = (uint8_t)(16 * s + i);
    }
    m->stack_id[0] = 11;
    m->stack_id[1] = UINT64_C(0xfedcba9876543210);
    m->first[1] = 2;
    m->first[2] = 6;
    memcpy(m->pc, pc, sizeof pc);
    for (uint32_t i = 0; i < 3; i++) {
        m->blocks[i].stack = i == 1;
        for (int f = 1; f <= mp_fields[version]; f++) {
            m->blocks[i].value[f] = 1000 * i + (uint32_t)f;
            if (mp_width[f] == 8) m->blocks[i].value[f] <<= 32;
        }
        if (version < 4) continue;
        m->blocks[i].value[26] = i == 0 ? 3 : i == 1 ? 0 : 2;
        m->blocks[i].histogram = i ? 3 : 0;
    }
    for (uint32_t c = 0; version > 3 && c < 5; c++) m->counters[c] = 10 * c + (version > 4 ? 0x3000 : UINT64_C(1) << 40);
}

HD_UNUSED static uint64_t mp_next(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
HD_UNUSED static uint32_t mp_below(uint64_t *state, uint32_t n) { return n ? (uint32_t)(mp_next(state) % n) : 0; }

/* A random file: up to 5 segments, 12 stacks and 20 blocks (no block without stacks). Addresses are few, so that
   stacks are alike. `slide` moves the segments, as address space layout randomisation does. */
HD_UNUSED static void mp_random(mp_model *m, uint64_t *seed, uint32_t version, uint64_t slide) {
    uint32_t segments = mp_below(seed, 6), stacks = mp_below(seed, 13), blocks = stacks ? mp_below(seed, 21) : 0;
    uint64_t base = mp_next(seed) >> mp_below(seed, 40);
    uint32_t counter = 0;
    mp_open(m, version, segments, blocks, stacks, 12 * 6, version > 3 ? 20 * 9 : 0);
    m->raw.big_endian = mp_below(seed, 2);
    for (uint32_t i = 0; i < segments; i++) {
        hd_memprof_segment *s = &m->segments[i];
        s->start = 0x10000 * (i + 1) + slide;
        s->end = s->start + 0x1000 * (1 + i / 2 % 2);
        s->offset = version < 3 ? 0x1000 * i : slide;
        s->build_id_size = i % 2 ? 20 : 0;
        for (uint32_t k = 0; k < s->build_id_size; k++) s->build_id[k] = (uint8_t)(i + 1 + k);
        if (version < 3 && i % 2) s->build_id_size = 32;
    }
    for (uint32_t i = 0; i < stacks; i++) {
        uint32_t n = mp_below(seed, 6), at = m->first[i];
        m->stack_id[i] = base + i * UINT64_C(0x123456789);
        for (uint32_t k = 0; k < n; k++) m->pc[at + k] = 0x10000 * (1 + mp_below(seed, 5)) + slide + 8 * mp_below(seed, 3);
        m->first[i + 1] = at + n;
    }
    for (uint32_t i = 0; i < blocks; i++) {
        hd_memprof_block *b = &m->blocks[i];
        b->stack = mp_below(seed, stacks);
        for (int f = 1; f <= mp_fields[version]; f++)
            b->value[f] = mp_next(seed) >> (mp_width[f] == 8 ? 16 + mp_below(seed, 48) : 32 + mp_below(seed, 32));
        b->histogram = counter;
        if (version > 3) b->value[26] = mp_below(seed, 3) ? 0 : mp_below(seed, 9);
        for (uint64_t k = 0; version > 3 && k < b->value[26]; k++)
            m->counters[counter++] = mp_next(seed) >> (version > 4 ? 48 : 20);
    }
    m->raw.counter_count = counter;
    /* a file keeps only the part of this that fits into the gap between its sections */
    m->raw.padding[1] = (version < 4 ? blocks % 2 && version < 3 + 1 : 0) ? 0x40ee7fdc : 0;
}

/* One process of a program with `known` contexts, which ran `contexts` of them. Equal contexts have equal stacks,
   except for the addresses of the libraries. A stack has 3 addresses on average, as in the profiles of the document's
   clang. */
HD_UNUSED static void mp_process(mp_model *m, uint32_t process, uint32_t contexts, uint32_t known, uint32_t version) {
    uint64_t seed = process + 1, slide = (mp_next(&seed) & 0xffff) << 12;
    uint32_t pcs = 0, step = known / contexts ? known / contexts : 1;
    mp_open(m, version, 12, contexts, contexts, contexts * 6, 0);
    for (uint32_t i = 0; i < 12; i++) {
        hd_memprof_segment *s = &m->segments[i];
        uint64_t base = i ? UINT64_C(0x7f0000000000) + slide + i * UINT64_C(0x1000000) : 0;
        s->start = base + (i ? 0x10000 : 0x401000);
        s->end = s->start + 0x800000;
        s->offset = version < 3 ? 0x10000 : base;
        s->build_id_size = version < 3 ? 0 : 20;
        for (uint32_t k = 0; k < s->build_id_size; k++) s->build_id[k] = (uint8_t)(i + k);
    }
    for (uint32_t i = 0; i < contexts; i++) {
        uint32_t context = (i * step + (step > 1 ? mp_below(&seed, step) : 0)) % known, depth;
        uint64_t shape = context;
        hd_memprof_block *b = &m->blocks[i];
        depth = 1 + mp_below(&shape, 5);
        m->stack_id[i] = context * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        for (uint32_t k = 0; k < depth; k++) {
            uint32_t segment = mp_below(&shape, 4) ? 0 : mp_below(&shape, 12);
            m->pc[pcs++] = m->segments[segment].start + mp_below(&shape, 0x7ffff0);
        }
        m->first[i + 1] = pcs;
        b->stack = i;
        for (int f = 1; f <= mp_fields[version] && f < 26; f++) b->value[f] = mp_next(&seed) >> (mp_width[f] == 8 ? 40 : 50);
    }
}

/* Reads the raw profiles of an input, without heaps of them. */
HD_UNUSED static hd_status mp_read(hd_in in, const hd_options *options, hd_dump **dump, hd_error *err) {
    hd_options raw;
    memset(&raw, 0, sizeof raw);
    if (options) raw = *options;
    raw.no_heaps = true;
    return hd_read_as(&hd_format_memprof, in, &raw, dump, err);
}

#endif
