/* Indexed profiles: reads LLVM's files, writes them back, and converts them to each other. Builds them from a raw
   profile as llvm-profdata does. Tests lookups, matching, and every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "private.h"
#include "long.h"
#include "faults.h"

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

static file load(const char *name) {
    char path[256];
    file f = { NULL, 0 };
    snprintf(path, sizeof path, "tests/data/%s", name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    f.size = (size_t)ftell(in);
    rewind(in);
    f.data = (uint8_t *)malloc(f.size);
    assert_int_equal(fread(f.data, 1, f.size, in), f.size);
    fclose(in);
    return f;
}

static const char *const llvm_files[] = { "memprof-19-v0.profdata", "memprof-19-v1.profdata", "memprof-19-v2.profdata",
                                          "memprof-19-v3.profdata", "memprof-16.profdata" };
enum { LLVM_FILES = sizeof llvm_files / sizeof *llvm_files };

static hd_memprof_index *read_bytes(const void *data, size_t size, const hd_options *options) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_index_read(hd_in_memory(data, size), options, &x, &err))
        fail_msg("%s, at %llu", err.message, (unsigned long long)err.offset);
    return x;
}

static hd_memprof_index *read_name(const char *name) {
    file f = load(name);
    hd_memprof_index *x = read_bytes(f.data, f.size, NULL);
    free(f.data);                /* the index does not need the file */
    return x;
}

static uint32_t release;         /* release of LLVM, for `written` */
static hd_buffer written(const hd_memprof_index *x, hd_memprof_layout layout, uint32_t fields) {
    hd_memprof_index_desc desc = { .layout = layout, .fields = fields, .llvm = release };
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    return out;
}

static void writes(const hd_memprof_index *x, const void *data, size_t size) {
    hd_buffer out = written(x, (hd_memprof_layout)0, 0);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

/* Hashes have the values of their documents. */
static void hashes_equal_their_documents(void **state) {
    (void)state;
    assert_int_equal(hd_memprof_guid(hd_cstr("")), UINT64_C(0x04b2008fd98c1dd4));
    assert_int_equal(hd_memprof_guid(hd_cstr("abc")), UINT64_C(0xb04fd23c98500190));
    assert_int_equal(hd_memprof_guid(hd_cstr("message digest")), UINT64_C(0x8d93b77c7d696bf9));
    assert_int_equal(hd_memprof_guid(hd_cstr("1234567890123456789012345678901234567890"
                                             "1234567890123456789012345678901234567890")),
                     UINT64_C(0x55c9e32ba2f4ed57));
    /* of inputs that repeat the bytes 0 to 250 */
    static const struct { size_t size; uint64_t hash; } blake3[] = {
        { 0, UINT64_C(0xa6a1f9f5b94913af) },     { 64, UINT64_C(0xd45c4aea4171ed4e) },
        { 128, UINT64_C(0x7865b26405577ef1) },   { 1024, UINT64_C(0x06a495f039472142) },
        { 2048, UINT64_C(0x2ad27c8c02b676e7) },  { 3072, UINT64_C(0x03be2336ffb08cb9) },
        { 4096, UINT64_C(0x27a5573f01945001) },  { 5120, UINT64_C(0x855d8bed5fc1ad9c) },
        { 8192, UINT64_C(0x4ffe8e4c4892e7aa) },  { 31744, UINT64_C(0xc1bc441a0e96b662) },
    };
    for (size_t i = 0; i < sizeof blake3 / sizeof *blake3; i++) {
        uint64_t *words = (uint64_t *)malloc(blake3[i].size + 8);
        for (size_t k = 0; k < blake3[i].size / 8; k++) {
            words[k] = 0;
            for (size_t b = 0; b < 8; b++) words[k] |= (uint64_t)((8 * k + b) % 251) << 8 * b;
        }
        assert_int_equal(hd__blake3(words, blake3[i].size), blake3[i].hash);
        free(words);
    }
}

/* Inputs that are hashed in parallel, in each way that the processor can, have the same hash as one by one. */
static void short_inputs_are_hashed_together_as_one_by_one(void **state) {
    void (*const ways[])(hd__blake3_lanes *) = { hd__blake3_finish_plain,
#if defined(HD__BLAKE3_VECTORS)
                                                 hd__blake3_finish_vectors,
#endif
                                                 hd__blake3_finish_all };
    uint64_t *ids = (uint64_t *)malloc(HD__BLAKE3_LANES * HD__BLAKE3_SHORT * sizeof *ids), next = 1;
    uint32_t count[HD__BLAKE3_LANES];
    uint64_t hash[HD__BLAKE3_LANES];
    hd__blake3_lanes lanes, made[sizeof ways / sizeof *ways];
    (void)state;
    for (uint32_t i = 0; i < HD__BLAKE3_LANES * HD__BLAKE3_SHORT; i++) ids[i] = next = next * 6364136223846793005u + 1;
    for (uint32_t most = 0; most <= HD__BLAKE3_SHORT; most++) {
        for (uint32_t l = 0; l < HD__BLAKE3_LANES; l++) count[l] = l & 1 ? most : most * 13 % (HD__BLAKE3_SHORT + 1);
        hd__blake3_short(ids, count, hash);
        for (uint32_t l = 0; l < HD__BLAKE3_LANES; l++)
            assert_int_equal(hash[l], hd__blake3(ids + l * HD__BLAKE3_SHORT, count[l] * sizeof *ids));
    }
    memcpy(&lanes, ids, sizeof lanes);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        made[i] = lanes;
        ways[i](&made[i]);
        assert_memory_equal(made[i].chain, made[0].chain, sizeof made[i].chain);
    }
    free(ids);
}

/* Strips from DWARF's name the suffixes of LTO and of splitting, but not the suffix of
   -funique-internal-linkage-names. */
static void names_lose_the_suffixes_of_the_compiler(void **state) {
    (void)state;
    uint64_t f = hd_memprof_guid(hd_cstr("_ZL4makeP4node"));
    assert_int_equal(f, UINT64_C(431128271025199284)); /* the value of llvm-profdata show */
    assert_int_equal(hd_memprof_guid(hd_cstr("main")), UINT64_C(15822663052811949562));
    assert_int_equal(hd_memprof_guid(hd_cstr("_ZL4makeP4node.llvm.123")), f);
    assert_int_equal(hd_memprof_guid(hd_cstr("_ZL4makeP4node.part.0")), f);
    assert_int_equal(hd_memprof_guid(hd_cstr("_ZL4makeP4node.part.0.llvm.9")), f);
    assert_true(hd_memprof_guid(hd_cstr("_ZL4makeP4node.__uniq.9")) != f);
    assert_true(hd_memprof_guid(hd_cstr("_ZL4makeP4node.llvm.9.cold")) != f);
    assert_true(hd_memprof_guid(hd_cstr("_ZL4makeP4nodellvm.9")) != f);
}

static void llvms_files_are_read_and_written_back(void **state) {
    (void)state;
    static const size_t pieces[] = { 0, 1, 100 };
    for (size_t i = 0; i < LLVM_FILES; i++) {
        file f = load(llvm_files[i]);
        for (size_t p = 0; p < 3; p++) {
            hd__reads reads = { .data = f.data, .size = f.size, .chunk = pieces[p] };
            hd_memprof_index *x = NULL;
            assert_int_equal(hd_memprof_index_read(hd__faults_in(&reads), NULL, &x, NULL), HD_OK);
            assert_int_equal(x->layout, i == 4 ? HD_MEMPROF_LLVM_0 : HD_MEMPROF_LLVM_0 + i);
            writes(x, f.data, f.size);
            assert_int_equal(hd_memprof_index_warning_count(x), 0);
            hd_memprof_index_free(x);
        }
        free(f.data);
    }
}

/* All files of the sample agree: the program makes 7 objects of 32 bytes, in `make`. */
static void the_sample_equals_the_output_of_llvm_profdata(void **state) {
    (void)state;
    for (size_t i = 0; i < LLVM_FILES; i++) {
        hd_memprof_index *x = read_name(llvm_files[i]);
        uint32_t make = hd_memprof_index_find(x, hd_memprof_guid(hd_cstr("_ZL4makeP4node")));
        uint32_t pair = hd_memprof_index_find(x, hd_memprof_guid(hd_cstr("_Z4pairP4node")));
        assert_int_equal(x->function_count, 5);
        assert_int_equal(x->block_count, 7);
        assert_true(make != HD_NONE && pair != HD_NONE);
        assert_int_equal(hd_memprof_index_find(x, 1), HD_NONE);
        assert_int_equal(x->block_first[make + 1] - x->block_first[make], 7);
        assert_int_equal(x->site_first[make + 1] - x->site_first[make], 0);
        assert_int_equal(x->block_first[pair + 1] - x->block_first[pair], 0);
        assert_int_equal(x->site_first[pair + 1] - x->site_first[pair], 3);
        for (uint32_t b = x->block_first[make]; b < x->block_first[make + 1]; b++) {
            const hd_memprof_location *l = &x->locations[x->location[x->first[x->block_stack[b]]]];
            assert_int_equal(hd_memprof_index_value(x, b, HD_MEMPROF_ALLOC_COUNT), 1);
            assert_int_equal(hd_memprof_index_value(x, b, HD_MEMPROF_TOTAL_SIZE), 32);
            assert_int_equal(l->function, x->function[make]);
            assert_int_equal(l->line_offset, 0);
            assert_int_equal(l->column, 69);
            assert_false(l->inlined);
            assert_int_equal(hd_memprof_index_heat(x, b, NULL), HD_MEMPROF_NOT_COLD);
        }
        bool full = i < 2 || i == 4;
        assert_int_equal(x->field_count, i == 4 ? 25 : full ? 27 : 4);
        assert_int_equal(x->fields, i == 4 ? 0x3fffffe : full ? 0xffffffe : HD_MEMPROF_HOT_COLD);
        assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_MAX_SIZE), full ? 32 : 0);
        hd_memprof_index_free(x);
    }
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Any version converts to the bytes of LLVM's version 3. It has LLVM's ids in version 2. */
static void versions_become_each_other(void **state) {
    (void)state;
    file v3 = load("memprof-19-v3.profdata");
    hd_memprof_index *two = read_name("memprof-19-v2.profdata");
    for (size_t i = 0; i < 4; i++) {
        hd_memprof_index *x = read_name(llvm_files[i]), *y;
        for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_LLVM_4; layout++) {
            hd_buffer out = written(x, (hd_memprof_layout)layout, HD_MEMPROF_HOT_COLD), again;
            y = read_bytes(out.data, out.size, NULL);
            assert_int_equal(y->layout, layout);
            assert_int_equal(y->fields, HD_MEMPROF_HOT_COLD);
            if (layout == HD_MEMPROF_LLVM_2) {
                uint64_t ids[2][64];
                assert_int_equal(y->stack_count, two->stack_count);
                memcpy(ids[0], y->stack_id, 8 * y->stack_count);
                memcpy(ids[1], two->stack_id, 8 * two->stack_count);
                for (int k = 0; k < 2; k++) qsort(ids[k], y->stack_count, 8, compare_u64);
                assert_memory_equal(ids[0], ids[1], 8 * y->stack_count);
            }
            release = 19;
            again = written(y, HD_MEMPROF_LLVM_3, 0);
            release = 0;
            assert_int_equal(again.size, v3.size);
            assert_memory_equal(again.data, v3.data, v3.size);
            hd_buffer_free(&again);
            hd_memprof_index_free(y);
            hd_buffer_free(&out);
        }
        hd_memprof_index_free(x);
    }
    hd_memprof_index_free(two);
    free(v3.data);
}

/* Version 3 does not store ids, so ids must not change its order. */
static void ids_do_not_order_version_3(void **state) {
    (void)state;
    file v3 = load("memprof-19-v3.profdata");
    hd_memprof_index *x = read_name("memprof-19-v0.profdata");
    uint64_t ids[16];
    for (uint32_t i = 0; i < x->location_count; i++) ids[i] = 1000 - i;
    x->location_id = ids;
    hd_buffer out = written(x, HD_MEMPROF_LLVM_3, HD_MEMPROF_HOT_COLD);
    assert_int_equal(out.size, v3.size);
    assert_memory_equal(out.data, v3.data, v3.size);
    hd_buffer_free(&out);
    hd_memprof_index_free(x);
    free(v3.data);
}

/* The sample's addresses as llvm-symbolizer resolves them; the module is not relocated. */
static uint32_t sample_names(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    static const struct { uint64_t pc; const char *name; uint32_t line, column; } known[] = {
        { 0x48592d, "_ZL4makeP4node", 2, 69 }, { 0x4858dc, "_Z1cP4nodei", 5, 0 },  { 0x485981, "main", 6, 24 },
        { 0x4858ec, "_Z1cP4nodei", 5, 72 },    { 0x4858f6, "_Z4pairP4node", 3, 68 }, { 0x4858f6, "_Z1cP4nodei", 5, 98 },
        { 0x4858b8, "_Z4pairP4node", 3, 73 },  { 0x4858b8, "_Z1aP4node", 4, 53 },  { 0x4858fe, "_Z1cP4nodei", 5, 96 },
        { 0x4858c0, "_Z4pairP4node", 3, 68 },  { 0x4858c0, "_Z1aP4node", 4, 53 },
    };
    uint32_t n = 0;
    if (user) ++*(int *)user;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].pc == a->pc && n < capacity) {
            f[n].function = hd_cstr(known[i].name);
            f[n].file = hd_cstr("small.cc");
            f[n].line = f[n].start_line = known[i].line;
            f[n++].column = known[i].column;
        }
    return n;
}

static hd_dump *sample_raw(void) {
    file f = load("memprof-19-inline.raw");
    hd_dump *raw = NULL;
    assert_int_equal(hd_read_as(&hd_format_memprof, hd_in_memory(f.data, f.size), NULL, &raw, NULL), HD_OK);
    free(f.data);
    return raw;
}

static hd_memprof_index *built(const hd_memprof_raw *raw, const hd_options *options) {
    hd_memprof_symbolizer by = { .symbolize = sample_names };
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_index_build(raw, &by, options, &x, &err)) fail_msg("%s", err.message);
    return x;
}

static void a_raw_profile_becomes_llvms_bytes(void **state) {
    (void)state;
    file v3 = load("memprof-19-v3.profdata");
    release = 19;
    hd_dump *raw = sample_raw();
    hd_memprof *merged = NULL;
    hd_memprof_index *x = built(hd_memprof_part(hd_dump_memprof(raw), 0), NULL);
    hd_buffer out = written(x, HD_MEMPROF_LLVM_3, HD_MEMPROF_HOT_COLD);
    assert_int_equal(out.size, v3.size);
    assert_memory_equal(out.data, v3.data, v3.size);
    hd_buffer_free(&out);
    assert_true(hd_str_equal(x->locations[0].name, hd_cstr("_ZL4makeP4node")));
    assert_true(hd_str_equal(x->locations[0].file, hd_cstr("small.cc")));
    hd_memprof_index_free(x);
    /* the same through a merger that keeps the order, with the profile added once and twice */
    for (int times = 1; times < 3; times++) {
        hd_memprof_merger *merger = hd_memprof_merger_create(NULL, NULL);
        hd_memprof_merger_keep_order(merger);
        for (int i = 0; i < times; i++)
            assert_int_equal(hd_memprof_merger_add(merger, hd_memprof_part(hd_dump_memprof(raw), 0), NULL), HD_OK);
        assert_int_equal(hd_memprof_merger_finish(merger, &merged, NULL), HD_OK);
        x = built(hd_memprof_part(merged, 0), NULL);
        out = written(x, HD_MEMPROF_LLVM_3, HD_MEMPROF_HOT_COLD);
        assert_int_equal(out.size, v3.size);
        assert_int_equal(!memcmp(out.data, v3.data, v3.size), times == 1);
        assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_TOTAL_SIZE), 32 * times);
        hd_buffer_free(&out);
        hd_memprof_index_free(x);
        hd_memprof_free(merged);
        hd_memprof_merger_free(merger);
    }
    hd_dump_free(raw);
    free(v3.data);
    release = 0;
}

/* Writes the bytes of llvm-profdata 19 for the sample, in every version. */
static void a_raw_profile_becomes_llvms_bytes_in_every_version(void **state) {
    (void)state;
    hd_dump *raw = sample_raw();
    hd_memprof_index *x = built(hd_memprof_part(hd_dump_memprof(raw), 0), NULL);
    release = 19;
    for (int i = 0; i < 4; i++) {
        file f = load(llvm_files[i]);
        hd_buffer out = written(x, (hd_memprof_layout)(HD_MEMPROF_LLVM_0 + i), i < 2 ? 0 : HD_MEMPROF_HOT_COLD);
        assert_int_equal(out.size, f.size);
        assert_memory_equal(out.data, f.data, f.size);
        hd_buffer_free(&out);
        free(f.data);
    }
    release = 0;
    hd_memprof_index_free(x);
    hd_dump_free(raw);
}

static uint32_t knows_nothing(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    (void)user, (void)a, (void)f, (void)capacity;
    return 0;
}

static void building_needs_names(void **state) {
    (void)state;
    hd_dump *raw = sample_raw();
    hd_memprof_symbolizer by = { .symbolize = knows_nothing };
    hd_memprof_index *x = NULL;
    hd_error err;
    assert_int_equal(hd_memprof_index_build(hd_memprof_part(hd_dump_memprof(raw), 0), NULL, NULL, &x, &err),
                     HD_INVALID);
    assert_int_equal(hd_memprof_index_build(hd_memprof_part(hd_dump_memprof(raw), 0), &by, NULL, &x, &err),
                     HD_UNSUPPORTED);
    assert_string_equal(err.message, "no call stack is left: the symbolizer found none of 12 addresses");
    assert_null(x);
    hd_dump_free(raw);
}

/* Taking a document into an index gives the same result as reading it; the document's segments stay. */
static void a_document_is_taken(void **state) {
    static const uint32_t fields[] = { 0, HD_MEMPROF_HOT_COLD, HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE) };
    hd_memprof_symbolizer by = { .symbolize = sample_names };
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        hd_dump *doc = sample_raw(), *whole = sample_raw();
        hd_memprof_raw raw = *hd_memprof_part(hd_dump_memprof(whole), 0);
        const hd_memprof_raw *left = hd_memprof_part(hd_dump_memprof(doc), 0);
        hd__faults f = { 0 };
        hd_memprof_index *x = NULL, *y;
        raw.fields &= fields[i] ? fields[i] : UINT32_MAX;
        y = built(&raw, NULL);
        assert_int_equal(hd_memprof_index_take(hd_dump_memprof(doc), fields[i], &by, NULL, &x, NULL), HD_OK);
        hd_buffer out = written(x, HD_MEMPROF_LLVM_2, raw.fields), same = written(y, HD_MEMPROF_LLVM_2, raw.fields);
        assert_int_equal(out.size, same.size);
        assert_memory_equal(out.data, same.data, same.size);
        assert_int_equal(left->segment_count, raw.segment_count);
        assert_memory_equal(left->segments, raw.segments, raw.segment_count * sizeof *raw.segments);
        assert_int_equal(left->block_count + left->stack_count + left->counter_count, 0);
        hd_dump_free(doc);
        hd_memprof_index_free(x);
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            doc = sample_raw();
            x = NULL;
            hd_status status = hd_memprof_index_take(hd_dump_memprof(doc), fields[i], &by, &options, &x, NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->segment_count, raw.segment_count);
            assert_int_equal(hd_memprof_part(hd_dump_memprof(doc), 0)->block_count, 0);
            hd_dump_free(doc);
            hd_memprof_index_free(x);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        hd_memprof_index_free(y);
        hd_dump_free(whole);
        hd_buffer_free(&out);
        hd_buffer_free(&same);
    }
}

/* The RFC's partial call graph: A and C call B, which calls malloc. In another binary B is inlined into A. */
enum { LOC1 = 0x11, LOC2 = 0x12, LOC3 = 0x13, LOC31 = 0x31 };
static uint32_t rfc_names(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    static const struct { uint64_t pc; const char *name; uint32_t line; } known[] = {
        { LOC1, "A", 1 }, { LOC2, "C", 2 }, { LOC3, "B", 3 }, { LOC31, "B", 3 }, { LOC31, "A", 1 } };
    uint32_t n = 0;
    (void)user, (void)capacity;
    for (size_t i = 0; i < 5; i++)
        if (known[i].pc == a->pc) {
            f[n].function = hd_cstr(known[i].name);
            f[n++].line = known[i].line;
        }
    return n;
}

static void contexts_match_as_in_the_rfc(void **state) {
    (void)state;
    for (int inlined = 0; inlined < 2; inlined++) {
        static const uint64_t pcs[2][4] = { { LOC3, LOC1, LOC3, LOC2 }, { LOC31, LOC3, LOC2, 0 } };
        static const uint32_t first[2][3] = { { 0, 2, 4 }, { 0, 1, 3 } };
        uint64_t ids[2] = { 1, 2 };
        hd_memprof_block blocks[2] = { { .stack = 0 }, { .stack = 1 } };
        hd_memprof_raw raw = { .version = 4, .fields = hd_memprof_version_fields(4), .block_count = 2, .stack_count = 2,
                               .blocks = blocks, .stack_id = ids, .first = first[inlined], .pc = pcs[inlined] };
        hd_memprof_symbolizer by = { .symbolize = rfc_names };
        hd_memprof_index *x = NULL;
        uint64_t a = hd_memprof_guid(hd_cstr("A")), b = hd_memprof_guid(hd_cstr("B")), c = hd_memprof_guid(hd_cstr("C"));
        uint32_t found[4] = { 9, 9, 9, 9 };
        blocks[0].value[HD_MEMPROF_TOTAL_SIZE] = 100;
        blocks[1].value[HD_MEMPROF_TOTAL_SIZE] = 7;
        assert_int_equal(hd_memprof_index_build(&raw, &by, NULL, &x, NULL), HD_OK);
        /* both blocks belong to B; LLVM gives A the block that was inlined into it, too */
        uint32_t of_b = hd_memprof_index_find(x, b), of_a = hd_memprof_index_find(x, a);
        assert_int_equal(x->block_first[of_b + 1] - x->block_first[of_b], 2);
        assert_int_equal(x->block_first[of_a + 1] - x->block_first[of_a], inlined);
        assert_int_equal(x->site_first[of_a + 1] - x->site_first[of_a], 1);
        hd_memprof_location chain[3] = { { .function = b, .line_offset = 3 }, { .function = a, .line_offset = 1 },
                                         { .function = c, .line_offset = 2 } };
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found, 4), 2);
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found + 3, 1), 2);
        assert_int_equal(hd_memprof_index_match(x, chain, 2, found, 4), 1);
        assert_int_equal(hd_memprof_index_value(x, found[0], HD_MEMPROF_TOTAL_SIZE), 100);
        chain[1] = chain[2];
        assert_int_equal(hd_memprof_index_match(x, chain, 2, found, 4), 1);
        assert_int_equal(hd_memprof_index_value(x, found[0], HD_MEMPROF_TOTAL_SIZE), 7);
        assert_int_equal(hd_memprof_index_match(x, chain, 3, found, 4), 0); /* longer than the stack */
        assert_int_equal(hd_memprof_index_match(x, chain, 0, found, 4), 0);
        chain[0].column = 5;     /* the profile has no columns */
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found, 4), 2);
        chain[0].line_offset = 0x10003; /* the compiler compares only 16 bits of its source line */
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found, 4), 2);
        chain[0].line_offset = 4;
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found, 4), 0);
        chain[0].function = 1;
        assert_int_equal(hd_memprof_index_match(x, chain, 1, found, 4), 0);
        /* in a heap each block counts once */
        hd_memprof *flat;
        assert_int_equal(hd_memprof_index_raw(x, NULL, &flat, NULL), HD_OK);
        assert_int_equal(hd_memprof_part(flat, 0)->block_count, 2);
        hd_memprof_free(flat);
        hd_memprof_index_free(x);
    }
    hd_memprof_index *x = read_name("memprof-19-v3.profdata");
    uint32_t found[8];
    hd_memprof_location chain = { .function = hd_memprof_guid(hd_cstr("_ZL4makeP4node")), .column = 69 };
    assert_int_equal(hd_memprof_index_match(x, &chain, 1, found, 8), 7);
    chain.column = 68;           /* this profile has columns */
    assert_int_equal(hd_memprof_index_match(x, &chain, 1, found, 8), 0);
    hd_memprof_index_free(x);
}

/* A function that calls itself, inlined into itself: LLVM has its block twice in one record. */
static uint32_t recursive_names(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    uint32_t n = a->pc == 1 ? 2 : 1;
    (void)user, (void)capacity;
    for (uint32_t i = 0; i < n; i++) {
        f[i].function = hd_cstr(a->pc == 3 ? "main" : "f");
        f[i].line = (uint32_t)a->pc + i;
    }
    return n;
}

static void blocks_of_inlined_recursion_count_once(void **state) {
    (void)state;
    uint64_t pcs[] = { 1, 3, 1, 2, 3 }, ids[2] = { 1, 2 };
    uint32_t first[3] = { 0, 2, 5 };
    hd_memprof_block blocks[3] = { { .stack = 0 }, { .stack = 1 }, { .stack = 0 } };
    hd_memprof_raw raw = { .version = 4, .fields = hd_memprof_version_fields(4), .block_count = 3, .stack_count = 2,
                           .blocks = blocks, .stack_id = ids, .first = first, .pc = pcs };
    hd_memprof_symbolizer by = { .symbolize = recursive_names };
    hd_memprof_index *x = NULL;
    hd_memprof *flat;
    for (int i = 0; i < 3; i++) blocks[i].value[HD_MEMPROF_TOTAL_SIZE] = 10u << i;
    assert_int_equal(hd_memprof_index_build(&raw, &by, NULL, &x, NULL), HD_OK);
    assert_int_equal(x->block_count, 6);
    assert_int_equal(x->site_count, 3); /* f in f, once; f at 2; main */
    assert_int_equal(hd_memprof_index_raw(x, NULL, &flat, NULL), HD_OK);
    assert_int_equal(hd_memprof_part(flat, 0)->block_count, 3);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 3; i++) sum += hd_memprof_part(flat, 0)->blocks[i].value[HD_MEMPROF_TOTAL_SIZE];
    assert_int_equal(sum, 70);
    hd_memprof_free(flat);
    hd_memprof_index_free(x);
}

static void addresses_of_counters_are_not_kept(void **state) {
    (void)state;
    uint64_t pc = 2, id = 1;
    uint32_t first[2] = { 0, 1 };
    hd_memprof_block block = { .stack = 0 };
    hd_memprof_raw raw = { .version = 4, .fields = hd_memprof_version_fields(4), .block_count = 1, .stack_count = 1,
                           .blocks = &block, .stack_id = &id, .first = first, .pc = &pc };
    hd_memprof_symbolizer by = { .symbolize = recursive_names };
    hd_memprof_index *x = NULL;
    block.value[HD_MEMPROF_TOTAL_SIZE] = 10;
    block.value[HD_MEMPROF_ACCESS_HISTOGRAM] = 0x603000000010;
    assert_int_equal(hd_memprof_index_build(&raw, &by, NULL, &x, NULL), HD_OK);
    assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_TOTAL_SIZE), 10);
    assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ACCESS_HISTOGRAM), 0);
    hd_memprof_index_free(x);
}

/* Random columns: functions, stacks and locations. */
typedef struct model {
    hd_memprof_index x;
    hd_memprof_location locations[40];
    uint32_t first[61], location[60 * 12], block_first[201], site_first[201], block_stack[600], site[600];
    uint64_t function[200], value[600 * 27];
} model;

static void random_model(model *m, uint64_t *seed) {
    memset(m, 0, sizeof *m);
    hd_memprof_index *x = &m->x;
    x->layout = HD_MEMPROF_LLVM_3;
    x->location_count = 1 + (uint32_t)hd__test_below(seed, 40);
    x->stack_count = 1 + (uint32_t)hd__test_below(seed, 60);
    x->function_count = (uint32_t)hd__test_below(seed, 200);
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (hd__test_below(seed, 2)) {
            x->field[x->field_count++] = (uint8_t)f;
            x->fields |= HD_MEMPROF_FIELD(f);
        }
    for (uint32_t i = 0; i < x->location_count; i++) {
        m->locations[i].function = hd__test_random(seed);
        m->locations[i].line_offset = (uint32_t)hd__test_below(seed, 3);
        m->locations[i].column = i;
        m->locations[i].inlined = hd__test_below(seed, 2) != 0;
    }
    for (uint32_t s = 0; s < x->stack_count; s++) {
        uint32_t n = 1 + (uint32_t)hd__test_below(seed, 11), at = m->first[s];
        /* so that stacks differ in their innermost frame and their length */
        m->location[at++] = s % x->location_count;
        for (uint32_t i = 1; i < n; i++) m->location[at++] = (uint32_t)hd__test_below(seed, 2) % x->location_count;
        m->first[s + 1] = at;
    }
    for (uint32_t f = 0; f < x->function_count; f++) {
        m->function[f] = hd__test_random(seed) & ~(uint64_t)hd__test_below(seed, 256);
        for (uint64_t n = hd__test_below(seed, 3); n; n--) {
            m->block_stack[x->block_count] = (uint32_t)hd__test_below(seed, x->stack_count);
            for (uint32_t i = 0; i < x->field_count; i++) {
                uint64_t v = hd__test_random(seed) >> hd__test_below(seed, 64);
                m->value[x->block_count * x->field_count + i] = hd__memprof_mib[x->field[i]].width == 8 ? v : (uint32_t)v;
            }
            x->block_count++;
        }
        for (uint64_t n = hd__test_below(seed, 3); n; n--)
            m->site[x->site_count++] = (uint32_t)hd__test_below(seed, x->stack_count);
        m->block_first[f + 1] = x->block_count;
        m->site_first[f + 1] = x->site_count;
    }
    x->locations = m->locations;
    x->first = m->first;
    x->location = m->location;
    x->function = m->function;
    x->block_first = m->block_first;
    x->site_first = m->site_first;
    x->block_stack = m->block_stack;
    x->value = m->value;
    x->site = m->site;
}

static void same_location(const hd_memprof_location *a, const hd_memprof_location *b) {
    assert_int_equal(a->function, b->function);
    assert_int_equal(a->line_offset, b->line_offset);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->inlined, b->inlined);
}

static void same_stack(const hd_memprof_index *a, uint32_t s, const hd_memprof_index *b, uint32_t t) {
    uint32_t n = a->first[s + 1] - a->first[s];
    assert_int_equal(n, b->first[t + 1] - b->first[t]);
    for (uint32_t i = 0; i < n; i++)
        same_location(&a->locations[a->location[a->first[s] + i]], &b->locations[b->location[b->first[t] + i]]);
}

/* Compares both, function by function. */
static void same_index(const hd_memprof_index *a, const hd_memprof_index *b) {
    assert_int_equal(a->function_count, b->function_count);
    assert_int_equal(a->fields, b->fields);
    for (uint32_t f = 0; f < a->function_count; f++) {
        uint32_t g = hd_memprof_index_find(b, a->function[f]), i = a->block_first[f], k, n = a->block_first[f + 1] - i;
        assert_true(g != HD_NONE);
        k = b->block_first[g];
        assert_int_equal(n, b->block_first[g + 1] - k);
        for (; n; n--, i++, k++) {
            same_stack(a, a->block_stack[i], b, b->block_stack[k]);
            for (uint32_t v = 1; v < HD_MEMPROF_FIELDS; v++)
                assert_int_equal(hd_memprof_index_value(a, i, v), hd_memprof_index_value(b, k, v));
        }
        i = a->site_first[f], k = b->site_first[g], n = a->site_first[f + 1] - i;
        assert_int_equal(n, b->site_first[g + 1] - k);
        for (; n; n--) same_stack(a, a->site[i++], b, b->site[k++]);
    }
}

/* Finds every function of the index, and no others. */
static void finds_functions(const hd_memprof_index *x) {
    for (uint32_t f = 0; f < x->function_count; f++) assert_int_equal(hd_memprof_index_find(x, x->function[f]), f);
    assert_int_equal(hd_memprof_index_find(x, 12345), HD_NONE);
}

static void random_indexes_are_kept_in_every_version(void **state) {
    (void)state;
    uint64_t seed = 8;
    static model m;
    for (int round = 0; round < 60; round++) {
        random_model(&m, &seed);
        for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_LLVM_4; layout++) {
            /* a schema without fields cannot be selected: 0 is the default */
            hd_buffer out = written(&m.x, (hd_memprof_layout)layout, m.x.fields ? m.x.fields : HD_MEMPROF_HOT_COLD);
            hd_memprof_index *x = read_bytes(out.data, out.size, NULL);
            if (m.x.fields) same_index(&m.x, x);
            writes(x, out.data, out.size);
            finds_functions(x);
            hd_memprof_index_free(x);
            hd_buffer_free(&out);
        }
    }
    for (size_t i = 0; i < LLVM_FILES; i++) {
        file f = load(llvm_files[i]);
        hd_memprof_index *x = read_bytes(f.data, f.size, NULL);
        finds_functions(x);
        hd_memprof_index_free(x);
        free(f.data);
    }
}

/* A file with counters gains a section and keeps the rest. An existing section is replaced. */
static void other_sections_are_kept(void **state) {
    (void)state;
    file counters = load("counters-19.profdata");
    hd_memprof_index *x = read_name("memprof-19-v3.profdata"), *y = NULL;
    hd_memprof_index_desc desc = { .base = counters.data, .base_size = counters.size };
    hd_buffer both = { 0 }, again = { 0 };
    hd_error err = { 0 };
    assert_int_equal(hd_memprof_index_read(hd_in_memory(counters.data, counters.size), NULL, &y, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "the indexed profile has no memprof section");
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&both), &err), HD_OK);
    y = read_bytes(both.data, both.size, NULL);
    same_index(x, y);
    assert_int_equal(y->before.len + y->after.len, counters.size);
    assert_memory_equal(y->before.data + 72, counters.data + 72, y->before.len - 72);
    assert_memory_equal(y->after.data, counters.data + y->before.len, y->after.len);
    assert_int_equal(hd__le_get64(both.data + 8), hd__le_get64(counters.data + 8) | UINT64_C(1) << 62);
    size_t grown = both.size - counters.size;
    assert_int_equal(hd__le_get64(both.data + 32), hd__le_get64(counters.data + 32));
    assert_int_equal(hd__le_get64(both.data + 48), hd__le_get64(counters.data + 48) + grown);
    assert_int_equal(hd__le_get64(both.data + 64), hd__le_get64(counters.data + 64) + grown);
    writes(y, both.data, both.size);
    hd_memprof_index_free(y);
    /* again over the result: gives the same file */
    desc.base = both.data;
    desc.base_size = both.size;
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&again), &err), HD_OK);
    assert_int_equal(again.size, both.size);
    assert_memory_equal(again.data, both.data, both.size);
    hd_buffer_free(&again);
    hd_buffer_free(&both);
    /* invalid bases */
    desc.base = "no profile, and quite long enough to be one";
    desc.base_size = 43;
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&both), &err), HD_UNKNOWN_FORMAT);
    desc.base = counters.data;
    desc.base_size = 60;
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&both), &err), HD_MALFORMED);
    assert_int_equal(both.size, 0);
    hd_memprof_index_free(x);
    free(counters.data);
}

/* Reads an index like any dump: a heap with the allocations of `make`. */
static void an_indexed_file_is_a_heap(void **state) {
    (void)state;
    for (size_t i = 0; i < LLVM_FILES; i++) {
        file f = load(llvm_files[i]);
        hd_dump *dump = NULL;
        assert_int_equal(hd_read_memory(f.data, f.size, NULL, &dump, NULL), HD_OK);
        free(f.data);
        assert_string_equal(hd_dump_format(dump)->name, "memprof-index");
        assert_non_null(hd_dump_memprof_index(dump));
        assert_null(hd_dump_memprof(dump));
        assert_int_equal(hd_dump_heap_count(dump), 1);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), 7 * 32);
        hd_dump_free(dump);
    }
}

/* The name of a GUID that the caller knows; the others stay numbers. */
static hd_str only_make(void *user, uint64_t guid) {
    (void)user;
    return hd_cstr(guid == UINT64_C(431128271025199284) ? "make" : "");
}

static void functions_are_named_by_the_caller(void **state) {
    (void)state;
    hd_memprof_index *x = read_name("memprof-19-v0.profdata");
    hd_memprof_namer namer = { .index = x, .name = only_make };
    hd_memprof_frame frame;
    for (uint32_t i = 0; i < x->location_count; i++) {
        hd_memprof_address a = { .pc = i };
        char text[24];
        memset(&frame, 0, sizeof frame);
        assert_int_equal(hd_memprof_index_frame(&namer, &a, &frame, 1), 1);
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)x->locations[i].function);
        assert_true(hd_str_equal(frame.function,
                                 hd_cstr(x->locations[i].function == UINT64_C(431128271025199284) ? "make" : text)));
        assert_int_equal(frame.column, x->locations[i].column);
    }
    hd_memprof_address past = { .pc = x->location_count };
    assert_int_equal(hd_memprof_index_frame(&namer, &past, &frame, 1), 0);
    hd_memprof_index_free(x);
}

/* Changes numbers of 8 bytes in the sample's files, and checks the error and its place. */
static void set(file *f, size_t at, uint64_t value) {
    for (int i = 0; i < 8; i++) f->data[at + (size_t)i] = (uint8_t)(value >> 8 * i);
}

static void is_bad(const file *f, hd_status status, const char *message) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    hd_status is = hd_memprof_index_read(hd_in_memory(f->data, f->size), NULL, &x, &err);
    if (is != status || !strstr(err.message, message)) fail_msg("%d: '%s' has no '%s'", is, err.message, message);
    assert_true(err.offset <= f->size || err.offset == HD_UNKNOWN);
    assert_null(x);
    hd_options lenient = { .lenient = true };
    if (!hd_memprof_index_read(hd_in_memory(f->data, f->size), &lenient, &x, NULL)) {
        hd_buffer out = { 0 };
        assert_true(hd_memprof_index_warning_count(x) > 0);
        assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_OK);
        hd_memprof_index_free(read_bytes(out.data, out.size, NULL));
        hd_buffer_free(&out);
        hd_memprof_index_free(x);
    }
}

static void bad(const char *name, size_t at, uint64_t value, hd_status status, const char *message) {
    file f = load(name);
    set(&f, at, value);
    is_bad(&f, status, message);
    free(f.data);
}

enum { SECTION = 544 };          /* offset of the section in the samples of clang 19 */

static void bad_input_is_reported(void **state) {
    (void)state;
    const char *v0 = llvm_files[0], *v2 = llvm_files[2], *v3 = llvm_files[3];
    file f = load(v3);
    assert_int_equal(hd__le_get64(f.data + 40), SECTION);
    assert_int_equal(hd__le_get64(f.data + SECTION), 3);
    uint64_t stacks = hd__le_get64(f.data + SECTION + 8), records = hd__le_get64(f.data + SECTION + 16);
    uint64_t table = hd__le_get64(f.data + SECTION + 24);
    free(f.data);
    bad(v3, 0, 1, HD_UNKNOWN_FORMAT, "expected an indexed profile");
    bad(v3, 8, 14 | UINT64_C(1) << 62, HD_UNSUPPORTED, "expected a header of version 8 to 13, found 14");
    bad(v3, 8, 7 | UINT64_C(1) << 62, HD_UNSUPPORTED, "expected a header of version 8 to 13, found 7");
    bad(v3, 8, 12, HD_UNSUPPORTED, "has no memprof section");
    bad(v3, 40, 1 << 20, HD_MALFORMED, "an offset within bytes 72 to");
    bad(v3, 40, 71, HD_MALFORMED, "an offset within bytes 72 to");
    bad(v3, 40, 80, HD_MALFORMED, "after the functions");
    bad(v3, SECTION, 5, HD_UNSUPPORTED, "expected a memprof section of version 0 to 4, found 5");
    bad(v3, SECTION, 4, HD_MALFORMED, "a summary of at least 6 numbers in");
    bad(v3, SECTION, 0, HD_MALFORMED, "ends too early");
    bad(v3, SECTION + 8, stacks + 1, HD_MALFORMED, "expected the frame array within");
    bad(v3, SECTION + 8, 1, HD_MALFORMED, "expected the frame array within");
    bad(v3, SECTION + 16, stacks - 4, HD_MALFORMED, "expected the call stack array within");
    bad(v3, SECTION + 16, records - 4, HD_MALFORMED, "");
    bad(v3, SECTION + 24, 1 << 20, HD_MALFORMED, "expected the record table within");
    bad(v3, SECTION + 32, 28, HD_MALFORMED, "expected a schema of up to 27 fields, found 28");
    bad(v3, SECTION + 40, 28, HD_MALFORMED, "the schema: field 28 is unknown");
    bad(v3, SECTION + 40, 5, HD_MALFORMED, "the schema: field 5 is a duplicate");
    bad(v3, table, 3, HD_MALFORMED, "a power of two of buckets");
    bad(v3, table, 0, HD_MALFORMED, "a power of two of buckets");
    bad(v3, table, UINT64_C(1) << 62, HD_MALFORMED, "a power of two of buckets");
    bad(v3, table + 8, 6, HD_MALFORMED, "the record table: 6 entries announced, found 5");
    /* buckets that point outside, to each other, into the middle */
    f = load(v3);
    uint64_t buckets = hd__le_get64(f.data + table), used[2] = { 0, 0 }, at[2] = { 0, 0 };
    for (uint64_t b = buckets; b--;) {
        uint64_t offset = hd__le_get64(f.data + table + 16 + 8 * b);
        if (!offset) continue;
        used[1] = used[0], at[1] = at[0];
        used[0] = table + 16 + 8 * b, at[0] = offset;
    }
    free(f.data);
    bad(v3, used[0], 1 << 20, HD_MALFORMED, "found it at");
    bad(v3, used[0], at[0] + 1, HD_MALFORMED, "found it at");
    bad(v3, used[1], at[0], HD_MALFORMED, "found it at");
    bad(v3, at[0] + 10, 9, HD_MALFORMED, "expected an item of the record table"); /* the length of a key */
    /* the length of its data */
    bad(v3, at[0] + 18, UINT64_MAX, HD_MALFORMED, "expected an item of the record table");
    bad(v3, at[0] + 34, UINT64_MAX / 2, HD_MALFORMED, "blocks announced, but");
    /* the array: too long, ends early, a jump to a jump, an unknown frame */
    f = load(v3);
    for (uint64_t p = stacks; p + 4 <= records; p += 4) {
        uint32_t element = hd__le_get32(f.data + p);
        static const uint32_t wrong[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff, 1000, 0xffffff00 };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            hd_memprof_index *x;
            hd_error err = { 0 };
            hd__le_put(f.data + p, 4, wrong[i]);
            if (!hd_memprof_index_read(hd_in_memory(f.data, f.size), NULL, &x, &err)) hd_memprof_index_free(x);
            else assert_int_equal(err.status, HD_MALFORMED);
            if (p == stacks && i < 2) is_bad(&f, HD_MALFORMED, "frames in an array of");
            if (p == stacks + 4 && (i == 2 || i == 4)) is_bad(&f, HD_MALFORMED, "refers to a missing frame");
        }
        hd__le_put(f.data + p, 4, element);
    }
    free(f.data);
    /* tables of frames and stacks */
    f = load(v0);
    uint64_t frames = hd__le_get64(f.data + SECTION + 8);
    f.data[frames + 2 + 32 + 16] = 2;
    is_bad(&f, HD_MALFORMED, "expected 0 or 1 for inlined, found 2");
    f.data[frames + 2 + 16] = 18;
    is_bad(&f, HD_MALFORMED, "");
    free(f.data);
    bad(v0, frames + 2 + 24, 77, HD_MALFORMED, "expected an item of the frame table");
    bad(v0, SECTION + 8, frames + 8, HD_MALFORMED, "expected the frames at");
    f = load(v2);
    uint64_t ids = hd__le_get64(f.data + SECTION + 32);
    free(f.data);
    bad(v2, ids + 2 + 24, 77, HD_MALFORMED, "frame 0x4d is not in the file");
    bad(v2, ids + 2 + 8, 4, HD_MALFORMED, "");
}

static void truncated_and_flipped_files_are_survived(void **state) {
    (void)state;
    hd_options lenient = { .lenient = true };
    for (size_t i = 0; i < LLVM_FILES; i++) {
        file f = load(llvm_files[i]);
        hd_memprof_index *x;
        hd_error err = { 0 };
        for (size_t size = 0; size < f.size; size++) {
            uint8_t *copy = (uint8_t *)malloc(size ? size : 1); /* so that sanitizers find a read past the end */
            memcpy(copy, f.data, size);
            hd_status status = hd_memprof_index_read(hd_in_memory(copy, size), NULL, &x, &err);
            assert_true(status == (size < 8 ? HD_UNKNOWN_FORMAT : HD_MALFORMED) || !status);
            if (!status) hd_memprof_index_free(x);
            else assert_true(err.offset <= size || err.offset == HD_UNKNOWN);
            if (!hd_memprof_index_read(hd_in_memory(copy, size), &lenient, &x, NULL)) hd_memprof_index_free(x);
            free(copy);
        }
        for (size_t bit = 0; bit < 8 * f.size; bit += (1 + bit % 3) * (size_t)long_or_short(1, 11)) {
            f.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (!hd_memprof_index_read(hd_in_memory(f.data, f.size), NULL, &x, NULL)) {
                finds_functions(x);
                hd_memprof_index_free(x);
            }
            if (!hd_memprof_index_read(hd_in_memory(f.data, f.size), &lenient, &x, NULL)) {
                hd_buffer out = { 0 };
                assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_OK);
                hd_memprof_index_free(read_bytes(out.data, out.size, NULL));
                hd_buffer_free(&out);
                hd_memprof_index_free(x);
            }
            f.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(f.data);
    }
}

/* An array in which every stack continues with the same long one: unfolding it would be quadratic. */
static void memory_follows_the_bytes(void **state) {
    (void)state;
    enum { LONG = 20000, MANY = 20000 };
    static uint32_t location[LONG + MANY * 2], first[2];
    hd_memprof_location l = { .function = 1 };
    uint32_t stack = 0, block_first[2] = { 0, 1 }, site_first[2] = { 0, 0 };
    uint64_t function = 1, value = 5;
    hd_memprof_index x = { .layout = HD_MEMPROF_LLVM_3, .fields = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE), .field_count = 1,
                           .field = { HD_MEMPROF_TOTAL_SIZE }, .location_count = 1, .stack_count = 1, .function_count = 1,
                           .block_count = 1, .locations = &l, .first = first, .location = location,
                           .function = &function, .block_first = block_first, .site_first = site_first,
                           .block_stack = &stack, .value = &value };
    first[1] = LONG + 2 * MANY;
    hd_buffer out = written(&x, HD_MEMPROF_LLVM_3, 0);
    uint64_t at = hd__le_get64(out.data + SECTION + 8);
    for (uint32_t i = 0; i < MANY; i++) { /* a length and a jump each, instead of frames */
        hd__le_put(out.data + at + 8 * i, 4, LONG);
        hd__le_put(out.data + at + 8 * i + 4, 4, 0u - 2 * (MANY - i));
    }
    hd__le_put(out.data + at + 8 * MANY, 4, LONG);
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    hd_memprof_index *read;
    hd_error err;
    assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), &options, &read, &err), HD_LIMIT);
    assert_true(strstr(err.message, "call stacks unfold to more than") != NULL);
    assert_true(f.peak < 4 * 4 * 256 * (LONG + 2 * MANY + 1));
    hd_buffer_free(&out);
}

static bool never(void *user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return false;
}

/* Each allocation of reading a file fails once, as an index and as a dump. */
static void faults_of_reading(const file *in) {
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_memprof_index *x = NULL;
        hd_status status = hd_memprof_index_read(hd_in_memory(in->data, in->size), &options, &x, NULL);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) hd_memprof_index_free(x);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    f.fail_at = 0;
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_dump *dump = NULL;
        hd_status status = hd_read_memory(in->data, in->size, &options, &dump, NULL);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) hd_dump_free(dump);
        assert_int_equal(f.live, 0);
    }
}

/* Each allocation of writing an index fails once, in each layout, with or without the counters of `base`. Then each
   write fails. */
static void faults_of_writing(const hd_memprof_index *x, const uint8_t *base, size_t base_size) {
    hd__faults f = { 0 };
    hd__write_faults w = { .fail_at = 1 };
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_LLVM_4; layout++) {
        hd_memprof_index_desc desc = { .layout = (hd_memprof_layout)layout, .base = base, .base_size = base_size };
        f.fail_at = 0;
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_buffer out = { 0 };
            hd_status status = hd_memprof_index_write(x, &desc, &options, hd_out_memory(&out), NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(out.size != 0, !status);
            hd_buffer_free(&out);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
    }
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd__faults_out(&w), NULL), HD_IO);
    hd__write_faults_free(&w);
}

static void faults_are_passed_up(void **state) {
    hd_dump *raw = sample_raw();
    hd_memprof_symbolizer by = { .symbolize = sample_names };
    hd__faults f = { 0 };
    (void)state;
    for (size_t i = 0; i < LLVM_FILES; i++) {
        file in = load(llvm_files[i]);
        hd_memprof_index *x = read_bytes(in.data, in.size, NULL), *y;
        hd_options stop = { .progress = never };
        hd_buffer out = { 0 };
        hd_memprof *flat;
        faults_of_reading(&in);
        faults_of_writing(x, i % 2 ? in.data : NULL, in.size);
        f.fail_at = 0;
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_status status = hd_memprof_index_raw(x, &options, &flat, NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            if (!status) hd_memprof_free(flat);
            assert_int_equal(f.live, 0);
        }
        assert_int_equal(hd_memprof_index_write(x, NULL, &stop, hd_out_memory(&out), NULL), HD_CANCELLED);
        assert_int_equal(hd_memprof_index_read(hd_in_memory(in.data, in.size), &stop, &y, NULL), HD_CANCELLED);
        hd_memprof_index_free(x);
        free(in.data);
    }
    f.fail_at = 0;
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_memprof_index *x = NULL;
        hd_status status = hd_memprof_index_build(hd_memprof_part(hd_dump_memprof(raw), 0), &by, &options, &x, NULL);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        hd_memprof_index_free(x);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    hd_dump_free(raw);
}

static void columns_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static model m;
    uint64_t seed = 3;
    hd_buffer out = { 0 };
    hd_memprof_index_desc desc = { .layout = (hd_memprof_layout)9 };
    hd_error err;
    do random_model(&m, &seed);
    while (m.x.function_count < 10 || !m.x.block_count || !m.x.site_count || !(m.x.fields & 2));
    assert_int_equal(hd_memprof_index_write(&m.x, &desc, NULL, hd_out_memory(&out), &err), HD_INVALID);
    desc.layout = HD_MEMPROF_LLVM_3;
    desc.fields = 1;
    assert_int_equal(hd_memprof_index_write(&m.x, &desc, NULL, hd_out_memory(&out), &err), HD_INVALID);
    desc.fields = 0;
    m.value[0] = UINT64_C(1) << 32; /* AllocCount */
    assert_int_equal(hd_memprof_index_write(&m.x, &desc, NULL, hd_out_memory(&out), &err), HD_OVERFLOW);
    assert_int_equal(strncmp(err.message, "block 0, of allocations at ", 27), 0);
    assert_non_null(strstr(err.message, ": AllocCount is 4294967296, which does not fit in 32 bits"));
    assert_int_equal(out.size, 0);
    assert_int_equal(hd_memprof_index_write(&m.x, &desc, &(hd_options){ .lenient = true }, hd_out_memory(&out), &err), HD_OK);
    hd_memprof_index *x = read_bytes(out.data, out.size, NULL);
    uint32_t f = 0;
    while (!m.block_first[f + 1]) f++;
    assert_int_equal(hd_memprof_index_value(x, x->block_first[hd_memprof_index_find(x, m.function[f])], 1), UINT32_MAX);
    hd_memprof_index_free(x);
    hd_buffer_free(&out);
    m.value[0] = 0;
    uint32_t *wrong[] = { &m.location[0], &m.block_stack[0], &m.site[0], &m.first[1], &m.block_first[1], &m.site_first[1] };
    for (size_t i = 0; i < 6; i++) {
        uint32_t saved = *wrong[i];
        *wrong[i] = i == 3 ? 0 : 100000;
        assert_int_equal(hd_memprof_index_write(&m.x, &desc, NULL, hd_out_memory(&out), &err), HD_INVALID);
        *wrong[i] = saved;
    }
    assert_int_equal(out.size, 0);
}

/* Columns of one function with this number of blocks. Each block has its own stack: `own` frames of its own, then
   `shared` common frames. All but the last frame are inlined, or none. */
static hd_memprof_index deep(uint32_t blocks, uint32_t own, uint32_t shared, bool inlined) {
    static hd_memprof_location locations[70000];
    static uint32_t first[3001], block_stack[3000], site_first[2], block_first[2];
    static uint64_t function[1], value[3000];
    static uint32_t *location;
    uint32_t at = 0, n = blocks * own + shared;
    hd_memprof_index x = { .layout = HD_MEMPROF_LLVM_3, .fields = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE), .field_count = 1,
                           .field = { HD_MEMPROF_TOTAL_SIZE }, .location_count = n, .stack_count = blocks,
                           .function_count = 1, .block_count = blocks, .locations = locations, .first = first,
                           .function = function, .block_first = block_first, .site_first = site_first,
                           .block_stack = block_stack, .value = value };
    assert_true(n <= 70000 && blocks <= 3000);
    free(location);
    location = (uint32_t *)malloc(blocks * (size_t)(own + shared) * sizeof *location);
    for (uint32_t i = 0; i < n; i++) {
        locations[i] = (hd_memprof_location){ .function = 1 + (i < blocks * own ? 0 : i % 7), .line_offset = i };
        locations[i].inlined = inlined && i + 1 < n;
    }
    for (uint32_t b = 0; b < blocks; b++) {
        for (uint32_t i = 0; i < own; i++) location[at++] = b * own + i;
        for (uint32_t i = 0; i < shared; i++) location[at++] = blocks * own + i;
        first[b + 1] = at;
        block_stack[b] = b;
        value[b] = b;
    }
    function[0] = 1;
    block_first[1] = blocks;
    x.location = location;
    return x;
}

/* Recursion at the runtime's limit, inlined several times, with a thousand calls at its end. It unfolds to many
   hundred times its size, and can be read back in every layout. */
static void deep_recursion_is_read_back(void **state) {
    (void)state;
    hd_memprof_index x = deep(1200, 1, 1275, false);
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) {
        hd_buffer out = written(&x, (hd_memprof_layout)layout, x.fields);
        hd_memprof_index *y = read_bytes(out.data, out.size, NULL);
        assert_int_equal(y->block_count, 1200);
        assert_int_equal(y->first[1], 1276);
        hd_memprof_index_free(y);
        hd_buffer_free(&out);
    }
}

/* Refuses an index that would expand without bound in another layout. */
static void unbounded_repetition_is_refused(void **state) {
    (void)state;
    hd_buffer out = { 0 };
    hd_error err;
    hd_memprof_index x = deep(1, 1, 60000, false);
    hd_memprof_index_desc desc = { .layout = HD_MEMPROF_LLVM_0 };
    static uint32_t stacks[3000], block_first[2] = { 0, 3000 };
    x.block_count = 3000;        /* all with one stack, which version 0 repeats for each block */
    x.block_stack = stacks;
    x.block_first = block_first;
    assert_int_equal(hd_memprof_index_write(&x, &desc, NULL, hd_out_memory(&out), &err), HD_LIMIT);
    assert_string_equal(err.message, "call stacks of 63001 frames would take 180003000 in versions 0 and 1");
    desc.layout = HD_MEMPROF_LLVM_3;
    assert_int_equal(hd_memprof_index_write(&x, &desc, NULL, hd_out_memory(&out), &err), HD_OK);
    hd_buffer_free(&out);
    /* a call with more inlined frames than symbolizers report; LLVM's layouts repeat the call for each frame */
    x = deep(1, 1, 300, true);
    x.layout = HD_MEMPROF_RFC;
    assert_int_equal(hd_memprof_index_write(&x, &desc, NULL, hd_out_memory(&out), &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "a call has more than 255 inlined frames");
    x = deep(1, 1, 255, true);
    x.layout = HD_MEMPROF_RFC;
    assert_int_equal(hd_memprof_index_write(&x, &desc, NULL, hd_out_memory(&out), &err), HD_OK);
    hd_buffer_free(&out);
}

/* Values overflow only in fields that are written. */
static void values_of_other_fields_may_be_large(void **state) {
    (void)state;
    hd_memprof_index x = deep(1, 1, 1, false);
    uint64_t value[2] = { 5, UINT64_C(1) << 33 };
    hd_memprof_index_desc desc = { .fields = HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE) };
    hd_buffer out = { 0 };
    x.value = value;
    x.field_count = 2;
    x.field[1] = HD_MEMPROF_MAX_SIZE;
    x.fields |= HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE);
    assert_int_equal(hd_memprof_index_write(&x, &desc, NULL, hd_out_memory(&out), NULL), HD_OK);
    hd_buffer_free(&out);
    assert_int_equal(hd_memprof_index_write(&x, NULL, NULL, hd_out_memory(&out), NULL), HD_OVERFLOW);
    x.field[1] = HD_MEMPROF_TOTAL_SIZE; /* the field is listed twice */
    assert_int_equal(hd_memprof_index_write(&x, NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
}

/* A program without allocations has an empty index. */
static void an_empty_profile_has_an_empty_index(void **state) {
    (void)state;
    uint32_t first = 0;
    hd_memprof_raw raw = { .version = 4, .fields = hd_memprof_version_fields(4), .first = &first };
    hd_memprof_index *x = built(&raw, NULL), *y;
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) {
        hd_buffer out = written(x, (hd_memprof_layout)layout, HD_MEMPROF_HOT_COLD);
        y = read_bytes(out.data, out.size, NULL);
        assert_int_equal(y->function_count, 0);
        hd_memprof_index_free(y);
        hd_buffer_free(&out);
    }
    hd_memprof_index_free(x);
}

/* As in llvm::memprof: the source's line is cut to 16 bits, the profile's is not. If the profile's allocations have
   no columns, the source's columns count as 0. */
static void lines_and_columns_match_as_the_compiler_compares_them(void **state) {
    static const struct { uint32_t line, column, caller_column, asked_line, asked_column, asked_caller, found; } known[] = {
        { 3, 7, 1, 3, 7, 1, 1 },       { 3, 7, 1, 0x10003, 7, 1, 1 }, { 0x10003, 7, 1, 0x10003, 7, 1, 0 },
        { 0x10003, 7, 1, 3, 7, 1, 0 }, { 0xffff, 7, 1, 0xffff, 7, 1, 1 }, { 3, 7, 1, 3, 8, 1, 0 },
        { 3, 7, 0, 3, 7, 1, 0 },       { 3, 0, 0, 3, 7, 1, 1 },       { 3, 0, 1, 3, 7, 1, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hd_memprof_location stack[2] = { { .function = 5, .line_offset = known[i].line, .column = known[i].column },
                                         { .function = 6, .line_offset = 1, .column = known[i].caller_column } };
        hd_memprof_location chain[2] = { { .function = 5, .line_offset = known[i].asked_line, .column = known[i].asked_column },
                                         { .function = 6, .line_offset = 1, .column = known[i].asked_caller } };
        hd_memprof_builder *b = hd_memprof_builder_create(NULL, NULL, NULL);
        uint64_t value[HD_MEMPROF_FIELDS] = { 0, 1 };
        hd_memprof_index *x = NULL;
        uint32_t found = 0;
        assert_int_equal(hd_memprof_builder_function(b, 5, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_block(b, stack, 2, HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT), value, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_finish(b, &x, NULL), HD_OK);
        if (hd_memprof_index_match(x, chain, 2, &found, 1) != known[i].found) fail_msg("row %zu", i);
        hd_memprof_index_free(x);
        hd_memprof_builder_free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_equal_their_documents),
        cmocka_unit_test(short_inputs_are_hashed_together_as_one_by_one),
        cmocka_unit_test(names_lose_the_suffixes_of_the_compiler),
        cmocka_unit_test(llvms_files_are_read_and_written_back),
        cmocka_unit_test(the_sample_equals_the_output_of_llvm_profdata),
        cmocka_unit_test(versions_become_each_other),
        cmocka_unit_test(ids_do_not_order_version_3),
        cmocka_unit_test(a_raw_profile_becomes_llvms_bytes),
        cmocka_unit_test(a_raw_profile_becomes_llvms_bytes_in_every_version),
        cmocka_unit_test(building_needs_names),
        cmocka_unit_test(a_document_is_taken),
        cmocka_unit_test(contexts_match_as_in_the_rfc),
        cmocka_unit_test(lines_and_columns_match_as_the_compiler_compares_them),
        cmocka_unit_test(blocks_of_inlined_recursion_count_once),
        cmocka_unit_test(addresses_of_counters_are_not_kept),
        cmocka_unit_test(random_indexes_are_kept_in_every_version),
        cmocka_unit_test(other_sections_are_kept),
        cmocka_unit_test(an_indexed_file_is_a_heap),
        cmocka_unit_test(functions_are_named_by_the_caller),
        cmocka_unit_test(bad_input_is_reported),
        cmocka_unit_test(truncated_and_flipped_files_are_survived),
        cmocka_unit_test(memory_follows_the_bytes),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(columns_that_do_not_fit_are_refused),
        cmocka_unit_test(deep_recursion_is_read_back),
        cmocka_unit_test(unbounded_repetition_is_refused),
        cmocka_unit_test(values_of_other_fields_may_be_large),
        cmocka_unit_test(an_empty_profile_has_an_empty_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
