/* Indexed memprof profiles in the RFC's layout: its figures and tags, any paths, files with unknown or missing parts,
   and every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "load.h"
#include "memprof.h"
#include "indexes.h"

static hd_status read_index(const void *data, size_t size, const hd_options *options, hd_memprof_index **x, hd_error *err) {
    return hd_memprof_index_read(hd_in_memory(data, size), options, x, err);
}

static void write_index(const hd_memprof_index *index, uint32_t fields, hd_buffer *out) {
    hd_error err = { 0 };
    out->size = 0;
    if (hd_memprof_index_write(index, &(hd_memprof_index_desc){ .layout = HD_MEMPROF_RFC, .fields = fields }, NULL,
                               hd_out_memory(out), &err))
        fail_msg("%s", err.message);
}

static void same_stack(const hd_memprof_index *a, uint32_t s, const hd_memprof_index *b, uint32_t t) {
    assert_int_equal(a->first[s + 1] - a->first[s], b->first[t + 1] - b->first[t]);
    for (uint32_t k = 0; k < a->first[s + 1] - a->first[s]; k++) {
        const hd_memprof_location *l = &a->locations[a->location[a->first[s] + k]];
        const hd_memprof_location *m = &b->locations[b->location[b->first[t] + k]];
        assert_int_equal(l->function, m->function);
        assert_int_equal(l->line_offset, m->line_offset);
        assert_int_equal(l->column, m->column);
        assert_int_equal(l->inlined, m->inlined);
        assert_int_equal(l->line, m->line);
        assert_int_equal(l->discriminator, m->discriminator);
        assert_true(hd_str_equal(l->name, m->name));
        assert_true(hd_str_equal(l->file, m->file));
    }
}

/* Equal blocks in equal functions. */
static void same_index(const hd_memprof_index *a, const hd_memprof_index *b) {
    assert_int_equal(a->fields, b->fields);
    assert_int_equal(a->field_count, b->field_count);
    if (a->field_count) assert_memory_equal(a->field, b->field, a->field_count);
    assert_int_equal(a->function_count, b->function_count);
    assert_int_equal(a->block_count, b->block_count);
    for (uint32_t f = 0; f < a->function_count; f++) {
        assert_int_equal(a->function[f], b->function[f]);
        assert_int_equal(a->block_first[f + 1], b->block_first[f + 1]);
        assert_int_equal(b->site_first[f + 1], 0);
    }
    for (uint32_t i = 0; i < a->block_count; i++) {
        same_stack(a, a->block_stack[i], b, b->block_stack[i]);
        for (uint32_t c = 0; c < a->field_count; c++)
            assert_int_equal(a->value[i * a->field_count + c], b->value[i * b->field_count + c]);
    }
}

/* Reads the file, and writes the same bytes. */
static void keeps(const hd_buffer *file, uint32_t fields) {
    hd_memprof_index *d;
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (read_index(file->data, file->size, NULL, &d, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_memprof_index_warning_count(d), 0);
    write_index(d, fields, &out);
    assert_int_equal(out.size, file->size);
    assert_memory_equal(out.data, file->data, file->size);
    hd_buffer_free(&out);
    hd_memprof_index_free(d);
}

/* The position of a section in a file. */
static const uint8_t *section(const hd_buffer *file, uint32_t tag, size_t *size) {
    for (uint32_t i = 0; i < file->data[12]; i++) {
        const uint8_t *p = file->data + 16 + 24 * i;
        if (p[0] != tag) continue;
        *size = (size_t)hd__memprof_get(p + 16, 8, false);
        return file->data + hd__memprof_get(p + 8, 8, false);
    }
    fail_msg("no section %u", tag);
    return NULL;
}

static void has_section(const hd_buffer *file, uint32_t tag, const void *bytes, size_t size) {
    size_t found;
    const uint8_t *p = section(file, tag, &found);
    assert_int_equal(found, size);
    assert_memory_equal(p, bytes, size);
}

#define GUID_A 0xa000000000000001
#define GUID_B 0xb000000000000002
#define GUID_C 0xc000000000000003
#define COUNT_SIZE (HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT) | HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE))

/* The RFC's A and C call B, which calls malloc: two blocks, both of B. */
static void b_model(ix_model *m, hd_memprof_layout layout) {
    ix_open(m, layout, COUNT_SIZE);
    uint32_t b = ix_location(m, GUID_B, "B", "src/b.c", 30, 3, 2, 7, false);
    uint32_t a = ix_location(m, GUID_A, "A", "src/a.c", 10, 0, 1, 5, false);
    uint32_t c = ix_location(m, GUID_C, "C", "src/c.c", 20, 0, 4, 9, false);
    uint32_t ab = ix_stack(m, 2, (uint32_t[]){ b, a }), cb = ix_stack(m, 2, (uint32_t[]){ b, c });
    ix_function(m, GUID_B);
    ix_block(m, ab, (uint64_t[]){ 2, 128 });
    ix_block(m, cb, (uint64_t[]){ 3, 100 });
}

static void two_contexts_of_b(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes e = { 0 };
    hd_memprof_index *d;
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), COUNT_SIZE, &out);
    assert_memory_equal(out.data, "\x89memrfc\n\1\0\0\0\10\0\0\0", 16);
    has_section(&out, 1, "\1\4" "\1\4\7StackID" "\2\1\12AllocCount" "\3\1\7AveSize" "\x43\1\15TotalSizeRest", 2 + 10 + 13 + 10 + 16);
    has_section(&out, 3, "\0\2" "\2\2\x40\0" "\4\3\x21\1", 10); /* 128 = 2 x 64; 100 = 3 x 33 + 1 */
    mp_put(&e, 4, 1), mp_put(&e, 4, 1), mp_put(&e, 4, 0x80000), mp_put(&e, 8, GUID_B);
    has_section(&out, 2, e.data, e.size);
    e.size = 0;                  /* entries: A, then B, then C; paths are numbered src, a.c, b.c, c.c */
    mp_put(&e, 4, 3), mp_put(&e, 4, 1), mp_put(&e, 4, 0x80000);
    mp_put(&e, 8, UINT64_C(2) << 40 | 10 << 16 | 0);
    mp_put(&e, 8, UINT64_C(3) << 40 | 30 << 16 | 3);
    mp_put(&e, 8, UINT64_C(4) << 40 | 20 << 16 | 0);
    has_section(&out, 4, e.data, e.size);
    e.size = 0;
    mp_put(&e, 4, 4), mp_put(&e, 4, 2), mp_put(&e, 4, 0x10000), mp_put(&e, 4, 0x10001);
    mp_raw(&e, "\0\0" "\4\1" "\12\1" "\20\1", 8);
    has_section(&out, 5, e.data, e.size);
    has_section(&out, 6, "\3src\3a.c\1A\3b.c\1B\3c.c\1C", 22);
    e.size = 0;                  /* calls: A, B below it, C, B below that */
    mp_put(&e, 4, 4), mp_put(&e, 4, 2), mp_put(&e, 4, 0x10000), mp_put(&e, 4, 0x10001);
    mp_raw(&e, "\0\0" "\1\1" "\2\0" "\1\3", 8);
    has_section(&out, 7, e.data, e.size);
    e.size = 0;
    mp_put(&e, 4, 3), mp_put(&e, 4, 4);
    mp_put(&e, 4, 0x80000), mp_put(&e, 4, 0x10001), mp_put(&e, 4, 0x10002), mp_put(&e, 4, 0x10003);
    mp_put(&e, 8, GUID_A), mp_raw(&e, "\11\1\5", 3);
    mp_put(&e, 8, GUID_B), mp_raw(&e, "\17\2\7", 3);
    mp_put(&e, 8, GUID_C), mp_raw(&e, "\25\4\11", 3);
    has_section(&out, 32, e.data, e.size);
    free(e.data);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    same_index(ix_show(&m), d);
    assert_int_equal(d->function_count, 1);
    assert_int_equal(d->function[0], GUID_B);
    assert_int_equal(d->block_count, 2);
    hd_memprof_index_free(d);
    keeps(&out, COUNT_SIZE);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* All of LLVM's fields have the RFC's tags and names. A field is 1000 x its number, which takes two bytes. */
static void every_field_has_its_tag(void **state) {
    (void)state;
    static const char *const rfc[16] = { "", "StackID", "AllocCount", "AveSize", "MinSize", "MaxSize", "AveAccessCount",
        "MinAccessCount", "MaxAccessCount", "AveLifetime", "MinLifetime", "MaxLifetime", "NumMigration",
        "NumLifetimeOverlaps", "NumSameAllocCPU", "NumSameDeallocCPU" };
    static const uint8_t tags[] = { 1, 2, 6, 70, 7, 8, 3, 67, 4, 5, 40, 41, 9, 73, 10, 11, 45, 46, 12, 13, 14, 15, 51, 52, 53,
                                    54, 55, 56, 57, 58, 59 };
    uint32_t all = HD_MEMPROF_FIELD(HD_MEMPROF_FIELDS) - 2;
    ix_model m;
    hd_buffer out = { 0 };
    uint64_t values[HD_MEMPROF_FIELDS], v = 0;
    size_t size;
    ix_open(&m, HD_MEMPROF_LLVM_3, all);
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++) values[f - 1] = 1000 * f;
    uint32_t l = ix_location(&m, 1, "", "", 0, 0, 0, 0, false);
    ix_function(&m, 1);
    ix_block(&m, ix_stack(&m, 1, &l), values);
    write_index(ix_show(&m), all, &out);
    const uint8_t *p = section(&out, 1, &size), *end = p + size;
    assert_memory_equal(p, "\1\37", 2);
    p += 2;
    for (size_t i = 0; i < sizeof tags; i++) {
        hd_str name;
        assert_int_equal(*p++, tags[i]);
        assert_int_equal(*p++, tags[i] == 1 ? 4 : tags[i] == 67 || tags[i] == 70 || tags[i] == 73 ? 1 : tags[i] == 3 || tags[i] == 6 || tags[i] == 9 ? 1 : 3);
        name.len = *p++;
        name.data = (const char *)p;
        if (tags[i] < 16) assert_true(hd_str_equal(name, hd_cstr(rfc[tags[i]])));
        else if (tags[i] < 64) assert_true(hd_str_equal(name, hd_cstr(hd_memprof_field_name(tags[i] - 32u))));
        else assert_memory_equal(name.data + name.len - 4, "Rest", 4);
        p += name.len;
    }
    assert_ptr_equal(p, end);
    p = section(&out, 3, &size), end = p + size;
    for (size_t i = 0; i < 2; i++) assert_int_equal(*p++, i);
    for (size_t i = 0; i < sizeof tags; i++) {
        uint8_t t = tags[i];
        uint64_t want = t == 1 ? 1 : t == 2 ? 1000 : t == 6 ? 2 : t == 3 ? 5 : t == 9 ? 10 : 0;
        if (t == 3 || t == 6 || t == 9 || t > 64) v = *p++;
        else assert_true(hd__varint(&p, end, &v));
        if (want || t > 64) assert_int_equal(v, want);
        else assert_int_equal(v % 1000, 0);
    }
    assert_ptr_equal(p, end);
    keeps(&out, all);
    /* without AllocCount a file has no average */
    write_index(ix_show(&m), HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE), &out);
    has_section(&out, 1, "\1\2" "\1\4\7StackID" "\x25\3\11TotalSize", 2 + 10 + 12);
    keeps(&out, HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE));
    ix_close(&m);
    hd_buffer_free(&out);
}

/* Averages are rounded down, and the remainder is stored, so nothing is lost. Also with no block, and with the
   largest numbers. */
static void totals_are_exact(void **state) {
    (void)state;
    static const uint64_t counts[] = { 0, 1, 2, 3, 7, 1000, UINT32_MAX, UINT64_MAX }, totals[] = { 0, 1, 2, 99, 1u << 20, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX };
    ix_model m;
    hd_buffer out = { 0 };
    hd_memprof_index *d;
    ix_open(&m, HD_MEMPROF_RFC, COUNT_SIZE);
    uint32_t l = ix_location(&m, 1, "", "", UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, true), s = ix_stack(&m, 1, &l);
    ix_function(&m, 1);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) ix_block(&m, s, (uint64_t[]){ counts[i], totals[k] });
    write_index(ix_show(&m), COUNT_SIZE, &out);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    same_index(ix_show(&m), d);
    hd_memprof_index_free(d);
    keeps(&out, COUNT_SIZE);
    ix_close(&m);
    hd_buffer_free(&out);
}

static void random_indexes_are_kept(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int round = 0; round < 500; round++) {
        ix_model m;
        hd_buffer out = { 0 };
        hd_memprof_index *d;
        hd_error err = { 0 };
        uint32_t fields = (uint32_t)mp_next(&seed) & (HD_MEMPROF_FIELD(HD_MEMPROF_FIELDS) - 2);
        ix_random(&m, &seed, fields);
        write_index(ix_show(&m), fields, &out);
        if (read_index(out.data, out.size, NULL, &d, &err)) fail_msg("%s", err.message);
        same_index(ix_show(&m), d);
        hd_memprof_index_free(d);
        keeps(&out, fields);
        hd_buffer_free(&out);
        ix_close(&m);
    }
}

/* A caller can select fields: fewer than the blocks have, and fields that the blocks lack. */
static void fields_can_be_chosen(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    hd_memprof_index *d;
    uint32_t asked = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE) | HD_MEMPROF_FIELD(HD_MEMPROF_MIN_SIZE);
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), asked, &out);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->fields, asked);
    assert_int_equal(d->field_count, 2);
    assert_int_equal(d->field[0], HD_MEMPROF_TOTAL_SIZE);
    assert_int_equal(d->field[1], HD_MEMPROF_MIN_SIZE);
    assert_int_equal(d->value[0], 128);
    assert_int_equal(d->value[1], 0);
    assert_int_equal(d->value[2], 100);
    hd_memprof_index_free(d);
    write_index(ix_show(&m), 0, &out);           /* all fields of the blocks */
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    same_index(ix_show(&m), d);
    hd_memprof_index_free(d);
    hd_error err;
    assert_int_equal(hd_memprof_index_write(ix_show(&m), &(hd_memprof_index_desc){ .layout = HD_MEMPROF_RFC, .fields = 1 }, NULL,
                                            hd_out_memory(&out), &err), HD_INVALID);
    ix_model none;                               /* blocks without fields */
    ix_open(&none, HD_MEMPROF_RFC, 0);
    uint32_t l = ix_location(&none, 5, "", "", 0, 0, 0, 0, false);
    ix_function(&none, 5);
    ix_block(&none, ix_stack(&none, 1, &l), NULL);
    write_index(ix_show(&none), 0, &out);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->fields, 0);
    assert_int_equal(d->block_count, 1);
    hd_memprof_index_free(d);
    ix_close(&none);
    ix_close(&m);
    hd_buffer_free(&out);
}

/* Copies in LLVM's form: B is inlined into A, so both have the block; F is inlined into itself, so it has the block
   twice. */
static void copies_are_dropped(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    hd_memprof_index *d;
    ix_open(&m, HD_MEMPROF_LLVM_3, COUNT_SIZE);
    uint32_t b = ix_location(&m, GUID_B, "", "", 0, 0, 2, 7, true), a = ix_location(&m, GUID_A, "", "", 0, 0, 1, 5, false);
    uint32_t f = ix_location(&m, GUID_C, "", "", 0, 0, 3, 1, true), g = ix_location(&m, GUID_C, "", "", 0, 0, 4, 1, false);
    uint32_t ba = ix_stack(&m, 2, (uint32_t[]){ b, a }), fg = ix_stack(&m, 3, (uint32_t[]){ f, g, a }), gg = ix_stack(&m, 2, (uint32_t[]){ g, g });
    ix_function(&m, GUID_C);
    ix_block(&m, gg, (uint64_t[]){ 7, 7 });      /* not inlined: these are two blocks */
    ix_block(&m, gg, (uint64_t[]){ 7, 7 });
    ix_block(&m, fg, (uint64_t[]){ 4, 4 });
    ix_block(&m, fg, (uint64_t[]){ 4, 4 });
    ix_block(&m, fg, (uint64_t[]){ 5, 5 });
    ix_block(&m, fg, (uint64_t[]){ 5, 5 });
    ix_block(&m, fg, (uint64_t[]){ 5, 5 });      /* two calls with all values equal */
    ix_block(&m, fg, (uint64_t[]){ 5, 5 });
    ix_function(&m, GUID_A);
    ix_block(&m, ba, (uint64_t[]){ 1, 64 });
    ix_function(&m, GUID_B);
    ix_block(&m, ba, (uint64_t[]){ 1, 64 });
    ix_function(&m, GUID_A + 1);                 /* call sites only */
    write_index(ix_show(&m), COUNT_SIZE, &out);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->function_count, 2);
    assert_int_equal(d->function[0], GUID_B);
    assert_int_equal(d->block_first[1], 1);
    assert_int_equal(d->function[1], GUID_C);
    assert_int_equal(d->block_count, 6);
    static const uint64_t counts[] = { 1, 7, 7, 4, 5, 5 };
    for (int i = 0; i < 6; i++) assert_int_equal(d->value[2 * i], counts[i]);
    hd_memprof_index_free(d);
    keeps(&out, COUNT_SIZE);
    m.index.layout = HD_MEMPROF_RFC;             /* in this layout nothing is a copy, and A cannot have B's block */
    write_index(ix_show(&m), COUNT_SIZE, &out);
    hd_error err = { 0 };
    assert_int_equal(read_index(out.data, out.size, NULL, &d, &err), HD_MALFORMED);
    assert_string_equal(err.message, "expected a stack that begins in function 0xa000000000000001");
    assert_int_equal(read_index(out.data, out.size, &(hd_options){ .lenient = true }, &d, &err), HD_OK);
    assert_int_equal(hd_memprof_index_warning_count(d), 1);
    assert_int_equal(d->function_count, 4);
    assert_int_equal(d->block_count, 9);
    hd_memprof_index_free(d);
    ix_close(&m);
    hd_buffer_free(&out);
}

/* A file made from sections of another, with some changed and others added. They are in the opposite order, with a
   gap before each. */
typedef struct piece {
    uint32_t tag;
    const void *data;            /* NULL: leave the section out */
    size_t size;
} piece;

static void rebuild(mp_bytes *b, const hd_buffer *from, const piece *pieces, size_t n) {
    static const uint32_t tags[] = { 32, 7, 6, 5, 4, 3, 2, 1 };
    uint32_t count = 0;
    uint64_t at[16], size[16], tag[16];
    mp_bytes body = { 0 };
    for (size_t i = 0; i < 8 + n; i++) {
        size_t length;
        const void *p = i < 8 ? section(from, tags[i], &length) : pieces[i - 8].data;
        uint32_t t = i < 8 ? tags[i] : pieces[i - 8].tag;
        bool changed = false;
        if (i >= 8) length = pieces[i - 8].size;
        for (size_t k = 0; i < 8 && k < n; k++) changed |= pieces[k].tag == t;
        if (changed || !p) continue;
        mp_put(&body, 3, 0x777777);
        tag[count] = t, at[count] = body.size, size[count++] = length;
        mp_raw(&body, p, length);
    }
    b->size = 0;
    mp_raw(b, "\x89memrfc\n", 8);
    mp_put(b, 4, 1), mp_put(b, 4, count);
    for (uint32_t i = 0; i < count; i++) mp_put(b, 8, tag[i]), mp_put(b, 8, 16 + 24 * count + at[i]), mp_put(b, 8, size[i]);
    mp_raw(b, body.data, body.size);
    free(body.data);
}

/* With unknown fields and sections, of every type. */
static void tomorrow_can_be_read(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 };
    hd_memprof_index *d;
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), COUNT_SIZE, &out);
    static const char schema[] = "\1\12" "\x63\1\3New" "\1\4\7StackID" "\x64\2\1?" "\2\2\0" "\x65\3\0" "\5\1\7MaxSize"
                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\4\0" "\x67\11\0" "\4\5\7MinSize" "\x68\xff\0";
    static const char records[] = "\0\2"
        "\xee" "\2" "\xee\xee" "\x02\x01" "\xff\xff\xff\xff\x0f" "\xfa" "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" "\3xyz" "\1\7" "\0"
        "\xee" "\4" "\xee\xee" "\xff\xff" "\0" "\0" "\0" "\0" "\0" "\200\1" "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const piece pieces[] = { { 1, schema, sizeof schema - 1 }, { 3, records, sizeof records - 1 }, { 8, "tomorrow's", 10 },
                             { 8, "twice", 5 }, { 4000000000u, "", 0 } };
    rebuild(&b, &out, pieces, 5);
    hd_error err = { 0 };
    if (read_index(b.data, b.size, NULL, &d, &err)) fail_msg("%s at %u", err.message, (unsigned)err.offset);
    assert_int_equal(d->fields, HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT) | HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE));
    assert_int_equal(d->field_count, 2);
    assert_int_equal(d->field[0], HD_MEMPROF_ALLOC_COUNT);
    assert_int_equal(d->block_count, 2);
    static const uint64_t want[] = { 0x102, 0xfa, 0xffff, 0 };
    assert_memory_equal(d->value, want, sizeof want);
    same_stack(&m.index, 0, d, d->block_stack[0]);
    same_stack(&m.index, 1, d, d->block_stack[1]);
    hd_memprof_index_free(d);
    free(b.data);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* An index of one function, with a block that begins in each of these files. */
static void files_model(ix_model *m, const hd_str *files, uint32_t n) {
    ix_open(m, HD_MEMPROF_RFC, 0);
    ix_function(m, GUID_A);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t l = ix_location(m, GUID_A, "", "", i, 0, 0, 0, false);
        m->locations[l].file = files[i];
        ix_block(m, ix_stack(m, 1, &l), NULL);
    }
}

/* Fig. 5: three paths, seven nodes, seven names. */
static void figure_5(void **state) {
    (void)state;
    static const char *const files[] = { "abc/def/ghi/XY.c", "abc/def/ghi/XY.h", "abc/def/jkl/UV.c", "abc/def/ghi/XY.h", "abc/def" };
    static const uint32_t parents[] = { 0, 1, 2, 3, 3, 2, 6 }, ids[] = { 0, 4, 8, 12, 17, 22, 26 }, nodes[] = { 3, 4, 6, 4, 1 };
    hd_str texts[5];
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 }, table = { 0 };
    hd_memprof_index *d;
    for (int i = 0; i < 5; i++) texts[i] = hd_cstr(files[i]);
    files_model(&m, texts, 5);
    write_index(ix_show(&m), 0, &out);
    has_section(&out, 6, "\3abc\3def\3ghi\4XY.c\4XY.h\3jkl\4UV.c", 31);
    mp_put(&table, 4, 7), mp_put(&table, 4, 2), mp_put(&table, 4, 0x10000), mp_put(&table, 4, 0x10001);
    for (uint32_t i = 0; i < 7; i++) mp_put(&table, 1, ids[i]), mp_put(&table, 1, parents[i]);
    has_section(&out, 5, table.data, table.size);
    table.size = 0;
    mp_put(&table, 4, 5), mp_put(&table, 4, 1), mp_put(&table, 4, 0x80000);
    for (uint64_t i = 0; i < 5; i++) mp_put(&table, 8, (uint64_t)(nodes[i] + 1) << 40 | i << 16);
    has_section(&out, 4, table.data, table.size);
    keeps(&out, 0);
    /* in columns of 4 bytes; in the other order, with an unknown column */
    for (int tomorrow = 0; tomorrow < 2; tomorrow++) {
        table.size = 0;
        mp_put(&table, 4, 7), mp_put(&table, 4, tomorrow ? 3 : 2);
        if (tomorrow) mp_put(&table, 4, 0x30009), mp_put(&table, 4, 0x10001), mp_put(&table, 4, 0x10000);
        else mp_put(&table, 4, 0x40000), mp_put(&table, 4, 0x40001);
        for (uint32_t i = 0; i < 7; i++)
            if (tomorrow) mp_put(&table, 3, 0xffffff), mp_put(&table, 1, parents[i]), mp_put(&table, 1, ids[i]);
            else mp_put(&table, 4, ids[i]), mp_put(&table, 4, parents[i]);
        const piece p = { 5, table.data, table.size };
        rebuild(&b, &out, &p, 1);
        assert_int_equal(read_index(b.data, b.size, NULL, &d, NULL), HD_OK);
        same_index(ix_show(&m), d);
        hd_memprof_index_free(d);
    }
    free(b.data);
    free(table.data);
    hd_buffer_free(&out);
    ix_close(&m);
}

static void any_path_comes_back(void **state) {
    (void)state;
    static const char *const paths[] = { "", "/", "//", ".", "..", "./a", "a/.", "a/", "/a", "a//b", "///", "a", "a/b/c", "/a/b/c", "b" };
    enum { GIVEN = sizeof paths / sizeof *paths, RANDOM = 2000 };
    static char bytes[RANDOM][40];
    hd_str files[GIVEN + RANDOM + 2];
    uint64_t seed = 5;
    ix_model m;
    hd_buffer out = { 0 };
    hd_memprof_index *d;
    hd_error err = { 0 };
    for (uint32_t i = 0; i < GIVEN; i++) files[i] = hd_cstr(paths[i]);
    for (uint32_t i = 0; i < RANDOM; i++) { /* few letters, with 0 and 255, and many slashes */
        uint32_t size = mp_below(&seed, 40);
        for (uint32_t k = 0; k < size; k++) bytes[i][k] = "/ab\0\xff.//"[mp_below(&seed, 8)];
        files[GIVEN + i] = (hd_str){ bytes[i], size };
    }
    /* the longest path, in one component and in as many components as possible */
    char *most[2];
    for (int c = 0; c < 2; c++) {
        most[c] = (char *)malloc(HD__RFC_PATH + 1);
        memset(most[c], c ? '/' : 'x', HD__RFC_PATH + 1);
        files[GIVEN + RANDOM + c] = (hd_str){ most[c], HD__RFC_PATH };
    }
    files_model(&m, files, GIVEN + RANDOM + 2);
    write_index(ix_show(&m), 0, &out);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, NULL), HD_OK);
    same_index(ix_show(&m), d);
    hd_memprof_index_free(d);
    keeps(&out, 0);
    ix_close(&m);
    for (int c = 0; c < 2; c++) {
        const hd_str longer = { most[c], HD__RFC_PATH + 1 };
        files_model(&m, &longer, 1);
        assert_int_equal(hd_memprof_index_write(ix_show(&m), NULL, NULL, hd_out_memory(&out), &err), HD_LIMIT);
        assert_string_equal(err.message, "expected a path of at most 65536 bytes, found 65537");
        ix_close(&m);
        free(most[c]);
    }
    hd_buffer_free(&out);
}

static void read_fields(const hd_buffer *base, const char *schema, size_t schema_size, const char *records, size_t size, uint32_t fields,
                        const uint64_t *values) {
    mp_bytes b = { 0 };
    hd_memprof_index *d;
    hd_error err = { 0 };
    const piece pieces[] = { { 1, schema, schema_size }, { 3, records, size } };
    rebuild(&b, base, pieces, 2);
    if (read_index(b.data, b.size, NULL, &d, &err)) fail_msg("%s at %u", err.message, (unsigned)err.offset);
    assert_int_equal(d->fields, fields);
    for (uint32_t i = 0; i < d->block_count * d->field_count; i++) assert_int_equal(d->value[i], values[i]);
    hd_memprof_index_free(d);
    free(b.data);
}
#define READ_FIELDS(schema, records, fields, ...) \
    read_fields(&out, schema, sizeof schema - 1, records, sizeof records - 1, fields, (uint64_t[]){ __VA_ARGS__ })

/* Files with fewer parts: the missing values are absent. */
static void less_can_be_read(void **state) {
    (void)state;
    const uint32_t count = HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT), size = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE), max = HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE);
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 };
    hd_memprof_index *d;
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), COUNT_SIZE, &out);
    READ_FIELDS("\1\1\1\4\0", "\0\2\2\4", 0, 0);
    READ_FIELDS("\1\3\1\4\0\2\1\0\3\1\0", "\0\1\2\3\5", count | size, 3, 15); /* an average without a remainder */
    READ_FIELDS("\1\3\1\4\0\3\1\0\2\1\0", "\0\1\2\3\5", count | size, 15, 5);
    /* without a count an average has no meaning */
    READ_FIELDS("\1\2\1\4\0\3\1\0", "\0\1\2\5", 0, 0);
    READ_FIELDS("\1\3\1\4\0\2\1\0\103\1\0", "\0\1\2\3\5", count, 3);          /* neither has a remainder */
    READ_FIELDS("\1\4\1\4\0\2\1\0\3\1\0\45\1\0", "\0\1\2\3\5\7", count | size, 3, 7); /* a stored total is exact */
    /* 33 is no known field: AllocCount is 2 */
    READ_FIELDS("\1\2\1\4\0\41\1\0", "\0\1\2\5", 0, 0);
    /* the common fields of two schemas, in the first one's order */
    READ_FIELDS("\2\4\5\1\0\2\1\0\1\4\0\4\1\0" "\3\2\2\0\1\4\0\5\1\0", "\1\2\1\0\2\11\2\0\4\6", count | max, 9, 1, 6, 2);
    /* without paths, texts and locations */
    static const char entry[] = "\1\0\0\0\1\0\0\0\0\0\10\0\5\0\7\0\0\0\0\0", stack[] = "\1\0\0\0\2\0\0\0\0\0\1\0\1\0\0\0\0";
    const piece pieces[] = { { 32, NULL, 0 }, { 5, NULL, 0 }, { 6, NULL, 0 }, { 4, entry, sizeof entry - 1 }, { 7, stack, sizeof stack - 1 },
                             { 1, "\1\1\1\4", 5 }, { 3, "\0\2\1\1", 4 } };
    rebuild(&b, &out, pieces, 7);
    assert_int_equal(read_index(b.data, b.size, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->location_count, 1);
    assert_int_equal(d->locations[0].line, 7);
    assert_int_equal(d->locations[0].discriminator, 5);
    assert_int_equal(d->locations[0].function, 0);
    assert_int_equal(d->locations[0].file.len, 0);
    assert_int_equal(d->block_count, 2);
    hd_memprof_index_free(d);
    free(b.data);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* Strict reading fails with this error; lenient reading succeeds. Its result can be written and read. */
static void is_bad(const mp_bytes *b, uint64_t offset, const char *message) {
    hd_memprof_index *d;
    hd_error err = { 0 };
    hd_buffer out = { 0 };
    assert_int_equal(read_index(b->data, b->size, NULL, &d, &err), HD_MALFORMED);
    assert_string_equal(err.message, message);
    assert_int_equal(err.offset, offset);
    assert_int_equal(err.status, HD_MALFORMED);
    assert_int_equal(read_index(b->data, b->size, &(hd_options){ .lenient = true }, &d, &err), HD_OK);
    assert_true(hd_memprof_index_warning_count(d) > 0);
    write_index(d, 0, &out);
    hd_memprof_index_free(d);
    assert_int_equal(read_index(out.data, out.size, NULL, &d, &err), HD_OK);
    hd_memprof_index_free(d);
    hd_buffer_free(&out);
}

static size_t section_at(const mp_bytes *b, uint32_t tag) {
    size_t size;
    hd_buffer file = { .data = b->data, .size = b->size };
    return (size_t)(section(&file, tag, &size) - b->data);
}

/* Changes one number of a file, and restores it. */
static void bad_number(mp_bytes *b, size_t at, unsigned width, uint64_t value, uint64_t offset, const char *message) {
    uint64_t old = hd__memprof_get(b->data + at, width, false);
    mp_set(b, at, width, value);
    is_bad(b, offset, message);
    mp_set(b, at, width, old);
}

static void bad_piece(const hd_buffer *base, uint32_t tag, const char *data, size_t size, uint64_t offset, const char *message) {
    mp_bytes b = { 0 };
    const piece p = { tag, data, size };
    rebuild(&b, base, &p, 1);
    is_bad(&b, offset == HD_UNKNOWN ? 12 : section_at(&b, tag) + offset, message);
    free(b.data);
}
#define BAD_PIECE(tag, data, offset, message) bad_piece(&out, tag, data, sizeof data - 1, offset, message)

static void bad_input_is_reported(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 };
    hd_memprof_index *d;
    hd_error err;
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), COUNT_SIZE, &out);
    mp_raw(&b, out.data, out.size);
    mp_set(&b, 7, 1, 0x0b);
    assert_int_equal(read_index(b.data, b.size, NULL, &d, &err), HD_UNKNOWN_FORMAT);
    mp_set(&b, 7, 1, 0x0a);
    mp_set(&b, 8, 4, 2);
    assert_int_equal(read_index(b.data, b.size, &(hd_options){ .lenient = true }, &d, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "expected version 1 of the RFC's layout, found 2");
    assert_int_equal(err.offset, 8);
    mp_set(&b, 8, 4, 1);
    size_t size = b.size;
    char text[200];
    snprintf(text, sizeof text, "257 sections announced, but %zu bytes are left and 256 sections are allowed", size - 16);
    bad_number(&b, 12, 4, 257, 12, text);
    snprintf(text, sizeof text, "expected strings within %zu bytes, found 22 at %zu", size, size - 21);
    bad_number(&b, 16 + 24 * 5 + 8, 8, size - 21, 16 + 24 * 5, text);
    snprintf(text, sizeof text, "expected strings within %zu bytes, found 18446744073709551615 at %zu", size, section_at(&b, 6));
    bad_number(&b, 16 + 24 * 5 + 16, 8, UINT64_MAX, 16 + 24 * 5, text);
    bad_number(&b, 16 + 24 * 5, 4, 5, 16 + 24 * 5, "duplicate section of paths");
    bad_number(&b, 16 + 24 * 2, 4, 99, 12, "missing section of records");

    BAD_PIECE(1, "\201\2", 0, "expected at most 256 schemas");
    BAD_PIECE(1, "\1\201\2", 1, "schema 0: expected at most 256 fields");
    BAD_PIECE(1, "\1\1\1\4\2x", 2, "schema 0: expected a field: a tag, a type other than 0, a name");
    BAD_PIECE(1, "\1\1\1\0\1x", 2, "schema 0: expected a field: a tag, a type other than 0, a name");
    BAD_PIECE(1, "\1\2\1\4\1x\1\4\1x", 6, "schema 0: duplicate field");
    BAD_PIECE(1, "\1\1\2\4\1x", 2, "schema 0: expected a field StackID");
    BAD_PIECE(1, "\2\1\1\4\0\1", 6, "schema 1: expected a field: a tag, a type other than 0, a name");

    BAD_PIECE(3, "\1\2", 1, "expected a record with one of 1 schemas");
    BAD_PIECE(3, "\0\2\2\2\x40\0", 6, "block 1: expected a varint of at most 64 bits within the records");
    BAD_PIECE(3, "\0\1\2\2\x40", 2, "block 0: the records end inside it");
    BAD_PIECE(3, "\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\0\0\0", 2, "block 0: expected a varint of at most 64 bits within the records");
    BAD_PIECE(3, "\0\1\5\2\x40\0", 2, "expected a StackID from 1 to 4, found 5");
    BAD_PIECE(3, "\0\1\0\2\x40\0", 2, "expected a StackID from 1 to 4, found 0");
    BAD_PIECE(3, "\0\1\1\2\x40\0", 2, "expected a stack that begins in function 0xb000000000000002");
    BAD_PIECE(2, "\1\0\0\0\2\0\0\0\0\0\10\0\1\0\1\0........\13", 16, "function 0: expected a record at 0 to 10, found it at 11");
    BAD_PIECE(2, "\2\0\0\0\2\0\0\0\0\0\10\0\1\0\1\0\2\0\0\0\0\0\0\xb0\0\3\0\0\0\0\0\0\xb0\0", 25,
              "function 1: expected a record at 10 to 10, found it at 0");
    BAD_PIECE(2, "\2\0\0\0\2\0\0\0\0\0\10\0\1\0\1\0\2\0\0\0\0\0\0\xb0\0\2\0\0\0\0\0\0\xb0\0", 25,
              "function 1: expected a larger GUID than the one before, found 0xb000000000000002");
    static const char order[] = "\3\0\0\0\2\0\0\0\0\0\10\0\1\0\1\0\2\0\0\0\0\0\0\xb0\0\5\0\0\0\0\0\0\0\12\6\0\0\0\0\0\0\0\12";
    const piece disorder = { 2, order, sizeof order - 1 }; /* the third is below the first */
    rebuild(&b, &out, &disorder, 1);
    assert_int_equal(read_index(b.data, b.size, &(hd_options){ .lenient = true }, &d, NULL), HD_OK);
    assert_int_equal(hd_memprof_index_warning_count(d), 2);
    assert_int_equal(d->function_count, 1);
    hd_memprof_index_free(d);
    b.size = 0;
    mp_raw(&b, out.data, out.size);
    BAD_PIECE(2, "\1\0\0\0\2\0\0\0\0\0\7\0\1\0\1\0.......\0", 0, "functions: expected 8 bytes in column 0, found 7");
    BAD_PIECE(4, "\0\0\0", 0, "expected a table, found only 3 bytes");
    BAD_PIECE(7, "\4\0\0\0\2\0\0\0\0\0\1\0\1\0\1\0\0\0\1\2\2\0\1\3", 14 + 4, "call 1: expected a caller that comes before it");
    BAD_PIECE(7, "\4\0\0\0\2\0\0\0\0\0\1\0\1\0\1\0\0\0\3\1\2\0\1\3", 14 + 4, "call 1: expected one of the entries, found number 3");
    BAD_PIECE(5, "\4\0\0\0\2\0\0\0\0\0\1\0\1\0\1\0\0\1\4\1\12\1\20\1", 16, "node 0: its directory does not come before it");
    BAD_PIECE(5, "\4\0\0\0\2\0\0\0\0\0\1\0\1\0\1\0\0\0\4\1\33\1\20\1", 20, "node 2: its name is not in the string table");
    bad_number(&b, section_at(&b, 4) + 12 + 5, 3, 5, section_at(&b, 4) + 12, "entry 0: its file is not in the paths");
    bad_number(&b, section_at(&b, 32) + 24 + 8, 1, 24, section_at(&b, 4) + 12, "entry 0: its function's name is not in the string table");
    snprintf(text, sizeof text, "expected 3 locations, one per entry, found 2");
    bad_piece(&out, 32, "\2\0\0\0\1\0\0\0\2\0\1\0\5\6", 14, 0, text);
    static const char wide[] = "\3\0\0\0\1\0\0\0\5\0\2\0\0\0\377\0\0\1"; /* line 255 x 2^24 + 30; 2^32 + 20 */
    const piece lines = { 32, wide, sizeof wide - 1 };
    rebuild(&b, &out, &lines, 1);
    is_bad(&b, section_at(&b, 4) + 12 + 16, "entry 2: a line, column or discriminator of more than 32 bits");
    free(b.data);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* A path in a table of directories, and faults in both. */
static void bad_path(const hd_buffer *base, const mp_bytes *paths, hd_str strings, uint64_t node, uint64_t offset, const char *message) {
    mp_bytes b = { 0 }, entry = { 0 };
    hd_memprof_index *d;
    mp_put(&entry, 4, 1), mp_put(&entry, 4, 1), mp_put(&entry, 4, 0x80000), mp_put(&entry, 8, (node + 1) << 40);
    const piece pieces[] = { { 4, entry.data, entry.size }, { 5, paths->data, paths->size }, { 6, strings.data, strings.len } };
    rebuild(&b, base, pieces, 3);
    if (offset != HD_UNKNOWN) is_bad(&b, section_at(&b, 5) + offset, message);
    else {
        assert_int_equal(read_index(b.data, b.size, NULL, &d, NULL), HD_OK);
        assert_true(hd_str_equal(d->locations[0].file, hd_cstr(message)));
        hd_memprof_index_free(d);
    }
    free(b.data);
    free(entry.data);
}

static void bad_paths_are_reported(void **state) {
    (void)state;
    const hd_str strings = { "\3abc\1d", 6 }, file = hd_cstr("a"), none = { "\0", 1 };
    static const char loop[] = "node 2: its directory does not come before it", string[] = "node 0: its name is not in the string table";
    char *most = (char *)malloc(HD__RFC_PATH + 1);
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 };
    files_model(&m, &file, 1);
    write_index(ix_show(&m), 0, &out);
    mp_put(&b, 4, 3), mp_put(&b, 4, 2), mp_put(&b, 4, 0x10000), mp_put(&b, 4, 0x10001);
    mp_put(&b, 2, 0x000), mp_put(&b, 2, 0x0104), mp_put(&b, 2, 0x0204);
    bad_path(&out, &b, strings, 2, HD_UNKNOWN, "abc/d/d");
    mp_set(&b, 21, 1, 3);        /* node 2 is its own parent, directly and through another node */
    bad_path(&out, &b, strings, 2, 20, loop);
    mp_set(&b, 21, 1, 4);
    bad_path(&out, &b, strings, 2, 20, loop);
    mp_set(&b, 21, 1, 2);
    mp_set(&b, 19, 1, 3);        /* 1 in 2 in 1 */
    bad_path(&out, &b, strings, 2, 18, "node 1: its directory does not come before it");
    mp_set(&b, 19, 1, 1);
    mp_set(&b, 16, 1, 6);        /* strings: an offset past the end; a string longer than the rest */
    bad_path(&out, &b, strings, 2, 16, string);
    bad_path(&out, &b, (hd_str){ "", 0 }, 2, 20, "node 2: its name is not in the string table");
    mp_set(&b, 16, 1, 1);
    bad_path(&out, &b, strings, 2, 16, string);
    mp_set(&b, 0, 4, 4);
    bad_path(&out, &b, strings, 0, 0, "4 rows announced, but 6 bytes are left");
    mp_set(&b, 0, 4, 3);
    mp_set(&b, 4, 4, 4);
    bad_path(&out, &b, strings, 0, 0, "4 columns announced, but 14 bytes are left");
    mp_set(&b, 4, 4, 2);
    mp_set(&b, 10, 2, 9);
    bad_path(&out, &b, strings, 0, 8, "expected columns of at most 8 bytes, found 9");
    mp_set(&b, 10, 2, 1);
    mp_set(&b, 12, 2, 0);
    bad_path(&out, &b, strings, 0, 12, "duplicate column 0");
    mp_set(&b, 12, 2, 1);
    mp_set(&b, 10, 2, 0), mp_set(&b, 14, 2, 0); /* rows of 0 bytes */
    bad_path(&out, &b, strings, 0, 0, "3 rows announced, but 6 bytes are left");
    for (b.size = 0; b.size < 8; b.size++) {
        char text[60];
        snprintf(text, sizeof text, "expected a table, found only %zu bytes", b.size);
        bad_path(&out, &b, strings, 0, 0, text);
    }
    /* a chain of names longer than any path; the error must take no more steps than that */
    b.size = 0;
    mp_put(&b, 4, 100000), mp_put(&b, 4, 2), mp_put(&b, 4, 0), mp_put(&b, 4, 0x30001);
    for (uint32_t i = 0; i < 100000; i++) mp_put(&b, 3, i);
    memset(most, '/', HD__RFC_PATH);
    most[HD__RFC_PATH] = 0;
    bad_path(&out, &b, none, 65536, HD_UNKNOWN, most);
    bad_path(&out, &b, none, 65537, 19, "node 1: a path through it has more than 65536 bytes");
    bad_path(&out, &b, none, 99999, 16 + 3 * 34463, "node 34463: a path through it has more than 65536 bytes");
    free(b.data);
    free(most);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* Three functions; one allocates in four contexts. The file has everything that the layout can have. */
static void sample(hd_buffer *out) {
    ix_model m;
    uint64_t values[HD_MEMPROF_FIELDS];
    ix_open(&m, HD_MEMPROF_RFC, HD_MEMPROF_FIELD(HD_MEMPROF_FIELDS) - 2);
    uint32_t l[] = { ix_location(&m, 11, "_Znwm", "/usr/include/new", 99, 1, 3, 4, true), ix_location(&m, 12, "", "a//b.c", 1u << 24, 1u << 16, 70000, 300, false),
                     ix_location(&m, 13, "main", "", 7, 0, 1, 2, false), ix_location(&m, 12, "_Znwm", "/usr/include/map", 5, 0, 0, 0, true) };
    const uint32_t stacks[][4] = { { l[0], l[1], l[2] }, { l[0], l[3], l[1], l[2] }, { l[1], l[2] }, { l[0] }, { l[3], l[2] } };
    static const uint8_t lengths[] = { 3, 4, 2, 1, 2 }, of[] = { 11, 11, 11, 12, 12 }, which[] = { 0, 1, 3, 2, 4 };
    for (uint32_t i = 0; i < 5; i++) {
        if (!i || of[i] != of[i - 1]) ix_function(&m, of[i]);
        for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++) values[f - 1] = f * UINT64_C(1000003) >> (8 * i) | (uint64_t)(i == 2) << 40;
        ix_block(&m, ix_stack(&m, lengths[which[i]], stacks[which[i]]), values);
    }
    ix_function(&m, 14);
    write_index(ix_show(&m), 0, out);
    ix_close(&m);
}

/* Reading survives; the read index can be written, and reading and writing it again changes nothing. */
static hd_status survives(const void *data, size_t size, bool lenient) {
    uint8_t *copy = (uint8_t *)malloc(size ? size : 1); /* so that sanitizers find a read past the end */
    hd_memprof_index *x, *y;
    hd_buffer out = { 0 }, again = { 0 };
    hd_error err = { 0 };
    memcpy(copy, data, size);
    hd_status status = read_index(copy, size, &(hd_options){ .lenient = lenient }, &x, &err);
    if (!status) {
        write_index(x, 0, &out);
        if (read_index(out.data, out.size, NULL, &y, &err)) fail_msg("%s", err.message);
        same_index(x, y);
        write_index(y, 0, &again);
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        hd_memprof_index_free(x);
        hd_memprof_index_free(y);
        hd_buffer_free(&out);
        hd_buffer_free(&again);
    } else if (status == HD_MALFORMED && !lenient) assert_true(err.offset <= size);
    free(copy);
    return status;
}

static void truncated_files_are_reported(void **state) {
    (void)state;
    hd_buffer out = { 0 };
    sample(&out);
    assert_int_equal(survives(out.data, out.size, false), HD_OK);
    for (size_t size = 0; size < out.size; size++) {
        assert_int_equal(survives(out.data, size, false), size < 8 ? HD_UNKNOWN_FORMAT : HD_MALFORMED);
        assert_int_equal(survives(out.data, size, true), size < 8 ? HD_UNKNOWN_FORMAT : HD_OK);
    }
    hd_buffer_free(&out);
}

static void changed_bytes_are_survived(void **state) {
    (void)state;
    hd_buffer out = { 0 };
    uint64_t seed = 3;
    sample(&out);
    for (size_t at = 0; at < out.size; at++)
        for (int k = (int)at % long_or_short(1, 5); k < 10; k += long_or_short(1, 5)) {
            uint8_t old = out.data[at];
            out.data[at] ^= (uint8_t)(k < 8 ? 1u << k : k < 9 ? 0xffu : 1 + mp_below(&seed, 255));
            survives(out.data, out.size, false);
            survives(out.data, out.size, true);
            out.data[at] = old;
        }
    for (int i = 0; i < long_or_short(3000, 600); i++) { /* several at a time */
        uint8_t old[4];
        size_t at[4];
        for (int k = 0; k < 4; k++) at[k] = mp_below(&seed, (uint32_t)out.size), old[k] = out.data[at[k]], out.data[at[k]] = (uint8_t)mp_next(&seed);
        survives(out.data, out.size, true);
        for (int k = 4; k--;) out.data[at[k]] = old[k];
    }
    hd_buffer_free(&out);
}

/* The sample in a file with counters. */
static void sample_beside(const char *base, hd_buffer *out) {
    hd_memprof_index_desc desc = { .layout = HD_MEMPROF_RFC };
    hd_memprof_index *x;
    hd_buffer alone = { 0 };
    uint8_t *counters = NULL;
    hd_error err = { 0 };
    sample(&alone);
    load(base, &counters, &desc.base_size);
    desc.base = counters;
    assert_int_equal(read_index(alone.data, alone.size, NULL, &x, &err), HD_OK);
    if (hd_memprof_index_write(x, &desc, NULL, hd_out_memory(out), &err)) fail_msg("%s", err.message);
    hd_memprof_index_free(x);
    free(counters);
    hd_buffer_free(&alone);
}

static void a_file_may_have_counters_too(void **state) {
    static const char *const bases[] = { "counters-19.profdata", "counters-22.profdata", "counters-22-memprof-v4.profdata" };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        hd_memprof_index_desc desc = { .layout = HD_MEMPROF_RFC };
        hd_memprof_index *x, *y;
        hd_buffer out = { 0 }, again = { 0 }, llvm = { 0 };
        hd_error err = { 0 };
        uint64_t section;
        sample_beside(bases[i], &out);
        section = hd__le_get64(out.data + 40);
        assert_int_equal(hd__le_get64(out.data + section), 23); /* a version that LLVM 19 and 22 refuse */
        assert_int_equal(read_index(out.data, out.size, NULL, &x, &err), HD_OK);
        assert_int_equal(x->layout, HD_MEMPROF_RFC);
        assert_int_equal(x->before.len, section);
        write_index(x, 0, &again); /* unchanged */
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        desc.layout = HD_MEMPROF_LLVM_3; /* LLVM's layouts keep the counters */
        if (hd_memprof_index_write(x, &desc, &(hd_options){ .lenient = true }, hd_out_memory(&llvm), &err))
            fail_msg("%s", err.message); /* leniently, numbers beyond LLVM's range become its largest */
        assert_int_equal(read_index(llvm.data, llvm.size, NULL, &y, &err), HD_OK);
        assert_int_equal(y->before.len, x->before.len);
        assert_memory_equal(y->before.data + 80, x->before.data + 80, x->before.len - 80);
        assert_int_equal(y->after.len, x->after.len);
        hd_buffer_free(&again);
        desc.layout = HD_MEMPROF_RFC; /* and again in the RFC's layout */
        if (hd_memprof_index_write(y, &desc, NULL, hd_out_memory(&again), &err)) fail_msg("%s", err.message);
        assert_int_equal(hd__le_get64(again.data + hd__le_get64(again.data + 40)), 23);
        hd_memprof_index_free(x);
        hd_memprof_index_free(y);
        hd_buffer_free(&again);
        hd_buffer_free(&llvm);
        out.data[section + 8 + 12] = 0; /* a wrong number of sections; the error has its offset in the whole file */
        out.data[section + 8 + 8] = 9;
        assert_int_equal(read_index(out.data, out.size, NULL, &x, &err), HD_UNSUPPORTED);
        assert_in_range(err.offset, section + 8, section + 8 + 16);
        hd_buffer_free(&out);
    }
}

static void bad_input_with_counters_is_survived(void **state) {
    hd_buffer out = { 0 };
    (void)state;
    sample_beside("counters-22.profdata", &out);
    size_t step = (size_t)long_or_short(1, 3);
    for (size_t size = 0; size < out.size; size += step) {
        hd_status status = survives(out.data, size, false);
        /* the bytes after the section are not checked */
        if (size < out.size - 16) assert_int_not_equal(status, HD_OK);
        survives(out.data, size, true);
    }
    for (size_t at = 0; at < out.size; at += step) {
        out.data[at] ^= (uint8_t)(1u << at % 8);
        survives(out.data, out.size, false);
        survives(out.data, out.size, true);
        out.data[at] ^= (uint8_t)(1u << at % 8);
    }
    hd_buffer_free(&out);
}

static void functions_are_found(void **state) {
    (void)state;
    hd_buffer out = { 0 };
    hd_memprof_index *x;
    sample(&out);
    assert_int_equal(read_index(out.data, out.size, NULL, &x, NULL), HD_OK);
    for (uint64_t guid = 9; guid < 20; guid++) {
        uint32_t f = hd_memprof_index_find(x, guid);
        assert_int_equal(f != HD_NONE, guid == 11 || guid == 12 || guid == 14);
        if (f != HD_NONE) assert_int_equal(x->function[f], guid);
    }
    hd_memprof_index_free(x);
    hd_buffer_free(&out);
}

/* Finds GUIDs among few and many, evenly distributed or not. */
static void guids_are_found(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (uint32_t round = 0; round < 400; round++) {
        ix_model m;
        hd_buffer out = { 0 };
        hd_memprof_index *x;
        uint64_t guid = 0;
        ix_open(&m, HD_MEMPROF_RFC, COUNT_SIZE);
        for (uint32_t i = 0; i < round; i++) {
            uint64_t r = mp_next(&seed);
            guid += 1 + (round % 3 == 0 ? r >> 56 : round % 3 == 1 ? r / (round + 1) : r >> 60 ? r >> 40 : r >> 8);
            ix_function(&m, guid);
        }
        write_index(ix_show(&m), 0, &out);
        assert_int_equal(read_index(out.data, out.size, NULL, &x, NULL), HD_OK);
        for (uint32_t k = 0; k < 30; k++) {
            uint64_t near = round ? m.function[mp_below(&seed, round)] : 0, asked = k % 4 ? near + k % 4 - 2 : mp_next(&seed);
            uint32_t want = 0;
            while (want < round && m.function[want] != asked) want++;
            assert_int_equal(hd_memprof_index_find(x, asked), want < round ? want : HD_NONE);
        }
        hd_memprof_index_free(x);
        hd_buffer_free(&out);
        ix_close(&m);
    }
}

static bool never(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return --*(int *)user > 0;
}

static void faults_are_passed_up(void **state) {
    (void)state;
    hd_buffer file = { 0 };
    hd_memprof_index *x;
    hd__faults f = { 0 };
    sample(&file);
    for (int piecemeal = 0; piecemeal < 2; piecemeal++) {
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd__reads reads = { .data = file.data, .size = file.size, .chunk = 100 };
            hd_error err = { 0 };
            hd_status status = hd_memprof_index_read(piecemeal ? hd__faults_in(&reads) : hd_in_memory(file.data, file.size),
                                                     &options, &x, &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(err.status, status);
            if (!status) hd_memprof_index_free(x);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        f.fail_at = 0;
    }
    assert_int_equal(read_index(file.data, file.size, NULL, &x, NULL), HD_OK);
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_buffer out = { 0 };
        hd_error err = { 0 };
        hd_status status = hd_memprof_index_write(x, NULL, &options, hd_out_memory(&out), &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        if (!status) assert_memory_equal(out.data, file.data, file.size);
        else assert_int_equal(out.size, 0);
        hd_buffer_free(&out);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    hd__write_faults w = { .fail_at = 1 };
    hd_error err = { 0 };
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd__faults_out(&w), &err), HD_IO);
    assert_string_equal(err.message, "writing the profile failed");
    assert_int_equal(w.after, 0);
    for (int calls = 1; calls < 9; calls++) {
        int left = calls;
        hd_memprof_index *y;
        hd_options stop = { .progress = never, .progress_user = &left };
        hd_status status = read_index(file.data, file.size, &stop, &y, NULL);
        assert_int_equal(status, left > 0 ? HD_OK : HD_CANCELLED);
        if (!status) hd_memprof_index_free(y);
        left = calls;
        hd_buffer out = { 0 };
        status = hd_memprof_index_write(x, NULL, &stop, hd_out_memory(&out), NULL);
        assert_int_equal(status, left > 0 ? HD_OK : HD_CANCELLED);
        hd_buffer_free(&out);
    }
    for (uint64_t records = 1; records < 20; records++) {
        hd_memprof_index *y;
        hd_options few = { .limits.max_records = records };
        hd_status status = read_index(file.data, file.size, &few, &y, NULL);
        assert_int_equal(status, records < 12 ? HD_LIMIT : HD_OK); /* frames of all stacks */
        if (!status) hd_memprof_index_free(y);
    }
    for (uint64_t memory = 100; memory < 20000; memory += 100) {
        hd_memprof_index *y;
        hd_options small = { .limits.max_memory = memory };
        hd_status status = read_index(file.data, file.size, &small, &y, NULL);
        assert_true(status == HD_LIMIT || (status == HD_OK && memory > 1000));
        if (!status) hd_memprof_index_free(y);
    }
    hd_memprof_index_free(x);
    hd_buffer_free(&file);
}

/* Sixty files, so that tables grow. */
static void faults_in_tables_are_passed_up(void **state) {
    (void)state;
    static char paths[60][20];
    hd_str files[60];
    ix_model m;
    hd_buffer whole = { 0 };
    hd__faults f = { 0 };
    for (int i = 0; i < 60; i++) {
        snprintf(paths[i], sizeof paths[i], "usr/include/a%d/b.h", i);
        files[i] = hd_cstr(paths[i]);
    }
    files_model(&m, files, 60);
    write_index(ix_show(&m), 0, &whole);
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_buffer out = { 0 };
        hd_error err = { 0 };
        hd_status status = hd_memprof_index_write(ix_show(&m), NULL, &options, hd_out_memory(&out), &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(out.size, status ? 0 : whole.size);
        hd_buffer_free(&out);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    hd_buffer_free(&whole);
    ix_close(&m);
    static const char *const few[][2] = { { "a/b/c", "a/c" }, { "a/b/c", "d" } };
    static const char *const messages[] = { "more nodes than max_records of 3", "more strings than max_records of 3" };
    for (int i = 0; i < 2; i++) {
        hd_options options = { .limits.max_records = 3 };
        hd_error err = { 0 };
        files[0] = hd_cstr(few[i][0]), files[1] = hd_cstr(few[i][1]);
        files_model(&m, files, 2);
        assert_int_equal(hd_memprof_index_write(ix_show(&m), NULL, &options, hd_out_memory(&whole), &err), HD_LIMIT);
        assert_string_equal(err.message, messages[i]);
        ix_close(&m);
    }
}

/* False counts, and paths and stacks that share everything: memory is proportional to the bytes. */
static void memory_follows_the_bytes(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes stacks = { 0 }, records = { 0 }, b = { 0 };
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    hd_memprof_index *x;
    hd_error err;
    uint32_t n = (uint32_t)long_or_short(60000, 20000);
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), 0, &out);
    mp_put(&stacks, 4, n), mp_put(&stacks, 4, 2), mp_put(&stacks, 2, 0), mp_put(&stacks, 2, 1), mp_put(&stacks, 2, 1), mp_put(&stacks, 2, 3);
    for (uint32_t i = 0; i < n; i++) mp_put(&stacks, 1, 1), mp_put(&stacks, 3, i); /* B calls itself, and */
    uint8_t number[10];
    mp_put(&records, 1, 0);
    mp_raw(&records, number, (size_t)(hd__varint_put(number, n) - number));
    for (uint32_t i = 0; i < n; i++) mp_raw(&records, number, (size_t)(hd__varint_put(number, i + 1) - number)); /* allocates every time */
    const piece pieces[] = { { 7, stacks.data, stacks.size }, { 3, records.data, records.size }, { 1, "\1\1\1\4", 5 } };
    rebuild(&b, &out, pieces, 3);
    assert_int_equal(read_index(b.data, b.size, &options, &x, &err), HD_LIMIT);
    assert_non_null(strstr(err.message, "call stacks unfold to more than the limit for an input of"));
    assert_true(f.peak < 600 * b.size);
    assert_int_equal(f.live, 0);
    free(stacks.data);
    free(records.data);
    /* nested directories, and a file in each */
    mp_bytes paths = { 0 }, entries = { 0 };
    mp_put(&paths, 4, n), mp_put(&paths, 4, 2), mp_put(&paths, 2, 0), mp_put(&paths, 2, 0), mp_put(&paths, 2, 1), mp_put(&paths, 2, 3);
    for (uint32_t i = 0; i < n; i++) mp_put(&paths, 3, i);
    mp_put(&entries, 4, n), mp_put(&entries, 4, 1), mp_put(&entries, 4, 0x80000);
    for (uint64_t i = 0; i < n; i++) mp_put(&entries, 8, (i + 1) << 40);
    const piece files[] = { { 4, entries.data, entries.size }, { 5, paths.data, paths.size }, { 32, NULL, 0 } };
    rebuild(&b, &out, files, 3);
    f.peak = 0;
    assert_int_equal(read_index(b.data, b.size, &options, &x, &err), HD_LIMIT);
    assert_non_null(strstr(err.message, "paths unfold to more than the limit for an input of"));
    assert_true(f.peak < 600 * b.size);
    assert_int_equal(f.live, 0);
    free(paths.data);
    free(entries.data);
    /* tables with more rows than bytes; blocks too */
    for (uint32_t tag = 2; tag < 33; tag = tag == 7 ? 32 : tag + 1) {
        if (tag == 3 || tag == 6) continue;
        static const char lie[] = "\xff\xff\xff\xff\1\0\0\0\0\0\10\0........";
        const piece p = { tag, lie, sizeof lie - 1 }, q = { 3, "\0\xff\xff\xff\xff\xf\1\2\3\4", 10 };
        for (int k = 0; k < 2; k++) {
            rebuild(&b, &out, k ? &q : &p, 1);
            options.lenient = true;
            f.peak = 0;
            assert_int_equal(read_index(b.data, b.size, &options, &x, &err), HD_OK);
            assert_true(f.peak < 16000);
            hd_memprof_index_free(x);
        }
    }
    free(b.data);
    hd_buffer_free(&out);
    ix_close(&m);
}

/* Read like any dump: its blocks are a heap. */
static void dumps_have_them(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    hd_dump *dump = NULL;
    hd_memprof *raw;
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), 0, &out);
    assert_int_equal(hd_read_memory(out.data, out.size, NULL, &dump, NULL), HD_OK);
    assert_string_equal(hd_dump_format(dump)->name, "memprof-index");
    assert_int_equal(hd_dump_memprof_index(dump)->layout, HD_MEMPROF_RFC);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), 228);
    assert_int_equal(hd_profile_blocks(hd_dump_heap(dump, 0)->profile), 5);
    hd_dump_free(dump);
    /* the same stack twice, through a function inlined into itself: both count */
    uint32_t f = ix_location(&m, GUID_B, "", "", 0, 0, 1, 1, true), s = ix_stack(&m, 3, (uint32_t[]){ f, f, 0 });
    m.index.layout = HD_MEMPROF_RFC;
    for (int i = 0; i < 2; i++) ix_block(&m, s, (uint64_t[]){ 1, 1000 });
    assert_int_equal(hd_memprof_index_raw(ix_show(&m), NULL, &raw, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(raw, 0)->block_count, 4);
    hd_memprof_free(raw);
    ix_close(&m);
    hd_buffer_free(&out);
}

/* The number of blocks or call sites of a function that equal this one. */
static uint32_t how_many(const hd_memprof_index *x, uint64_t guid, const hd_memprof_index *y, uint32_t stack, const uint64_t *value) {
    uint32_t f = hd_memprof_index_find(x, guid), n = 0, from, to;
    if (f == HD_NONE) return 0;
    from = value ? x->block_first[f] : x->site_first[f], to = value ? x->block_first[f + 1] : x->site_first[f + 1];
    for (; from < to; from++) {
        uint32_t s = value ? x->block_stack[from] : x->site[from], k = 0, length = x->first[s + 1] - x->first[s];
        if (length != y->first[stack + 1] - y->first[stack]) continue;
        if (value && memcmp(value, x->value + from * x->field_count, x->field_count * sizeof *value)) continue;
        while (k < length && hd__memprof_same_location(&x->locations[x->location[x->first[s] + k]],
                                                       &y->locations[y->location[y->first[stack] + k]])) k++;
        n += k == length;
    }
    return n;
}

/* Equal functions with equal blocks and call sites, in any order. */
static void same_records(const hd_memprof_index *x, const hd_memprof_index *y) {
    assert_int_equal(x->function_count, y->function_count);
    assert_int_equal(x->block_count, y->block_count);
    assert_int_equal(x->site_count, y->site_count);
    assert_int_equal(x->field_count, y->field_count);
    assert_memory_equal(x->field, y->field, x->field_count);
    for (uint32_t f = 0; f < x->function_count; f++) {
        for (uint32_t b = x->block_first[f]; b < x->block_first[f + 1]; b++) {
            const uint64_t *v = x->value + b * x->field_count;
            assert_int_equal(how_many(x, x->function[f], x, x->block_stack[b], v), how_many(y, x->function[f], x, x->block_stack[b], v));
        }
        for (uint32_t s = x->site_first[f]; s < x->site_first[f + 1]; s++)
            assert_int_equal(how_many(x, x->function[f], x, x->site[s], NULL), how_many(y, x->function[f], x, x->site[s], NULL));
    }
}

/* From LLVM's versions to the RFC's layout and back: the missing records are found again in the call stacks. */
static void from_llvm_and_back(void **state) {
    (void)state;
    static const char *const names[] = { "16", "19-v0", "19-v1", "19-v2", "19-v3" };
    for (int i = 0; i < 5; i++) {
        char path[100];
        hd_in in;
        hd_memprof_index *x, *y;
        hd_buffer rfc = { 0 }, back = { 0 };
        hd__faults f = { 0 };
        hd_error err = { 0 };
        snprintf(path, sizeof path, "tests/data/memprof-%s.profdata", names[i]);
        assert_int_equal(hd_in_open(path, &in, NULL), HD_OK);
        assert_int_equal(hd_memprof_index_read(in, NULL, &x, NULL), HD_OK);
        write_index(x, 0, &rfc);
        if (read_index(rfc.data, rfc.size, NULL, &y, &err)) fail_msg("%s", err.message);
        assert_int_equal(y->site_count, 0);
        hd_memprof_index_desc desc = { .layout = x->layout, .fields = x->fields };
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            back.size = 0;
            hd_status status = hd_memprof_index_write(y, &desc, &options, hd_out_memory(&back), &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        hd_memprof_index_free(y);
        if (read_index(back.data, back.size, NULL, &y, &err)) fail_msg("%s", err.message);
        assert_true(x->site_count > 0);
        same_records(x, y);
        hd_memprof_index_free(x);
        hd_memprof_index_free(y);
        hd_buffer_free(&rfc);
        hd_buffer_free(&back);
        hd_in_close(&in);
    }
}

/* Numbers with all bits set: none wraps around to a valid number. */
static void largest_numbers_do_not_wrap(void **state) {
    (void)state;
    ix_model m;
    hd_buffer out = { 0 };
    mp_bytes b = { 0 };
    hd_memprof_index *x = NULL;
    hd_error err;
    static const char records[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0";
    const piece p = { 3, records, sizeof records - 1 };
    b_model(&m, HD_MEMPROF_LLVM_3);
    write_index(ix_show(&m), 0, &out);
    rebuild(&b, &out, &p, 1);
    assert_int_equal(read_index(b.data, b.size, NULL, &x, &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "expected a record with one of 1 schemas"));
    hd_options lenient = { .lenient = true };
    assert_int_equal(read_index(b.data, b.size, &lenient, &x, &err), HD_OK);
    assert_int_equal(x->block_count, 0);
    hd_memprof_index_free(x);
    hd_buffer_free(&out);
    ix_close(&m);
    free(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_5),
        cmocka_unit_test(any_path_comes_back),
        cmocka_unit_test(bad_paths_are_reported),
        cmocka_unit_test(faults_in_tables_are_passed_up),
        cmocka_unit_test(two_contexts_of_b),
        cmocka_unit_test(every_field_has_its_tag),
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(random_indexes_are_kept),
        cmocka_unit_test(fields_can_be_chosen),
        cmocka_unit_test(copies_are_dropped),
        cmocka_unit_test(tomorrow_can_be_read),
        cmocka_unit_test(less_can_be_read),
        cmocka_unit_test(bad_input_is_reported),
        cmocka_unit_test(truncated_files_are_reported),
        cmocka_unit_test(changed_bytes_are_survived),
        cmocka_unit_test(a_file_may_have_counters_too),
        cmocka_unit_test(bad_input_with_counters_is_survived),
        cmocka_unit_test(functions_are_found),
        cmocka_unit_test(guids_are_found),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(memory_follows_the_bytes),
        cmocka_unit_test(largest_numbers_do_not_wrap),
        cmocka_unit_test(dumps_have_them),
        cmocka_unit_test(from_llvm_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
