/* Indexed profiles of LLVM 22: a header of version 13, another hash for ids of frames, section version 4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "long.h"
#include "load.h"

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

static file load_file(const char *name) {
    file f;
    load(name, &f.data, &f.size);
    return f;
}

static hd_memprof_index *read_bytes(const void *data, size_t size) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, &err))
        fail_msg("%s, at %llu", err.message, (unsigned long long)err.offset);
    return x;
}

static hd_memprof_index *read_name(const char *name) {
    file f = load_file(name);
    hd_memprof_index *x = read_bytes(f.data, f.size);
    free(f.data);
    return x;
}

static hd_buffer written(const hd_memprof_index *x, hd_memprof_layout layout, const char *base) {
    hd_memprof_index_desc desc = { .layout = layout };
    file f = { NULL, 0 };
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (base) {
        f = load_file(base);
        desc.base = f.data;
        desc.base_size = f.size;
    }
    if (hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    free(f.data);
    return out;
}

static void is_file(hd_buffer *out, const char *name) {
    file f = load_file(name);
    assert_int_equal(out->size, f.size);
    assert_memory_equal(out->data, f.data, f.size);
    free(f.data);
    hd_buffer_free(out);
}

/* All made from the same raw profile. */
static const char *const files[] = { "memprof-22-v2.profdata", "memprof-22-v3.profdata",
                                     "counters-22-memprof-v3.profdata", "memprof-22-v4.profdata",
                                     "counters-22-memprof-v4.profdata" };
static const hd_memprof_layout layouts[] = { HD_MEMPROF_LLVM_2, HD_MEMPROF_LLVM_3, HD_MEMPROF_LLVM_3, HD_MEMPROF_LLVM_4,
                                             HD_MEMPROF_LLVM_4 };
enum { FILES = sizeof files / sizeof *files };

/* Version 3 does not store ids, but they define its order. */
static void files_of_llvm_22_are_read_and_written_back(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        hd_memprof_index *x = read_name(files[i]);
        hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
        assert_int_equal(x->layout, layouts[i]);
        assert_int_equal(hd_memprof_index_warning_count(x), 0);
        is_file(&out, files[i]);
        hd_memprof_index_free(x);
    }
}

static void files_of_llvm_22_equal_the_output_of_llvm_profdata(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        hd_memprof_index *x = read_name(files[i]);
        uint64_t allocations = 0;
        for (uint32_t b = 0; b < x->block_count; b++)
            allocations += hd_memprof_index_value(x, b, HD_MEMPROF_ALLOC_COUNT);
        assert_int_equal(x->function_count, 26);
        assert_int_equal(x->block_count, 97);
        assert_int_equal(x->site_count, 87);
        assert_int_equal(allocations, 636);
        for (int counted = 0; counted < 2; counted++) { /* with the known size, and with a counted one */
            hd_memprof_summary sum;
            assert_int_equal(hd_memprof_index_summary(x, NULL, &sum, NULL), HD_OK);
            assert_int_equal(sum.contexts, 21);
            assert_int_equal(sum.cold, 2);
            assert_int_equal(sum.hot, 0);
            assert_int_equal(sum.largest_cold, 5000);
            assert_int_equal(sum.largest_warm, 3200);
            assert_int_equal(sum.largest_hot, 0);
            x->summary_count = 0;
        }
        assert_true(hd_memprof_index_find(x, hd_memprof_guid(hd_cstr("main"))) != HD_NONE);
        hd_memprof_index_free(x);
    }
}

static bool same_stack(const hd_memprof_index *x, uint32_t s, const hd_memprof_index *y, uint32_t t) {
    uint32_t n = x->first[s + 1] - x->first[s];
    bool same = n == y->first[t + 1] - y->first[t];
    for (uint32_t i = 0; i < n && same; i++) {
        const hd_memprof_location *a = &x->locations[x->location[x->first[s] + i]];
        const hd_memprof_location *b = &y->locations[y->location[y->first[t] + i]];
        same = a->function == b->function && a->line_offset == b->line_offset && a->column == b->column &&
               a->inlined == b->inlined;
    }
    return same;
}

static void same_records(const hd_memprof_index *x, const hd_memprof_index *y) {
    assert_int_equal(x->block_count, y->block_count);
    assert_int_equal(x->site_count, y->site_count);
    for (uint32_t f = 0; f < x->function_count; f++) {
        uint32_t g = hd_memprof_index_find(y, x->function[f]), n = x->block_first[f + 1] - x->block_first[f];
        assert_true(g != HD_NONE);
        assert_int_equal(n, y->block_first[g + 1] - y->block_first[g]);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t b = x->block_first[f] + i, c = y->block_first[g] + i;
            assert_true(same_stack(x, x->block_stack[b], y, y->block_stack[c]));
            assert_memory_equal(x->value + (size_t)b * x->field_count, y->value + (size_t)c * y->field_count,
                                x->field_count * sizeof *x->value);
        }
        n = x->site_first[f + 1] - x->site_first[f];
        assert_int_equal(n, y->site_first[g + 1] - y->site_first[g]);
        for (uint32_t i = 0; i < n; i++)
            assert_true(same_stack(x, x->site[x->site_first[f] + i], y, y->site[y->site_first[g] + i]));
    }
}

/* LLVM's ids of frames in version 2 are our ids in version 3. */
static void versions_of_llvm_22_become_each_other(void **state) {
    (void)state;
    hd_memprof_index *two = read_name(files[0]), *three = read_name(files[1]), *made;
    hd_buffer out = written(two, HD_MEMPROF_LLVM_3, NULL);
    is_file(&out, files[1]);
    out = written(three, HD_MEMPROF_LLVM_2, NULL);
    made = read_bytes(out.data, out.size);
    hd_buffer_free(&out);
    same_records(two, three);
    same_records(two, made);
    assert_int_equal(two->location_count, made->location_count);
    for (uint32_t i = 0; i < two->location_count; i++) {
        uint32_t k = 0;
        while (k < made->location_count && made->location_id[k] != two->location_id[i]) k++;
        assert_true(k < made->location_count);
        assert_int_equal(two->locations[i].function, made->locations[k].function);
        assert_int_equal(two->locations[i].line_offset, made->locations[k].line_offset);
    }
    out = written(two, HD_MEMPROF_LLVM_4, NULL);
    is_file(&out, "memprof-22-v4.profdata");
    out = written(three, HD_MEMPROF_LLVM_4, NULL);
    is_file(&out, "memprof-22-v4.profdata");
    hd_memprof_index_free(made);
    made = read_name("memprof-22-v4.profdata");
    out = written(made, HD_MEMPROF_LLVM_3, NULL);
    is_file(&out, files[1]);
    hd_memprof_index_free(made);
    hd_memprof_index_free(three);
    hd_memprof_index_free(two);
}

static void a_section_added_to_counters_of_llvm_22_has_its_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        hd_memprof_index *x = read_name(files[i]);
        hd_buffer out = written(x, HD_MEMPROF_LLVM_3, "counters-22.profdata");
        is_file(&out, files[2]);
        out = written(x, HD_MEMPROF_LLVM_4, "counters-22.profdata");
        is_file(&out, files[4]);
        hd_memprof_index_free(x);
    }
}

/* Frames are found with any ids. */
static void ids_are_not_looked_into(void **state) {
    (void)state;
    file f = load_file("memprof-19-v2.profdata");
    hd_memprof_index *x = read_bytes(f.data, f.size), *y;
    assert_int_equal(f.data[8], 12);
    f.data[8] = 13;
    y = read_bytes(f.data, f.size);
    same_records(x, y);
    hd_memprof_index_free(x);
    hd_memprof_index_free(y);
    free(f.data);
}

static void functions_of_llvm_22_are_found(void **state) {
    (void)state;
    file f = load_file(files[1]);
    hd_memprof_index *x = read_bytes(f.data, f.size);
    for (uint32_t i = 0; i < x->function_count; i++) assert_int_equal(hd_memprof_index_find(x, x->function[i]), i);
    hd_memprof_index_free(x);
    free(f.data);
}

static void refused(const uint8_t *data, size_t size, const char *why) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, &err), HD_UNSUPPORTED);
    if (!strstr(err.message, why)) fail_msg("'%s' expected in: %s", why, err.message);
}

static void later_versions_are_refused_by_name(void **state) {
    (void)state;
    file f = load_file(files[1]);
    uint64_t section = 0;
    for (int i = 8; i--;) section = section << 8 | f.data[40 + i];
    f.data[section] = 5;
    refused(f.data, f.size, "0 to 4, found 5");
    f.data[section] = 3;
    f.data[8] = 14;
    refused(f.data, f.size, "version 8 to 13, found 14");
    free(f.data);
}

static uint64_t version_of(const hd_buffer *out) { return (uint8_t)out->data[8]; }

/* No compiler reads the new header with a section of version 0 or 1. Without counters the header of LLVM 19 is
   written. */
static void old_sections_do_not_go_with_the_new_header(void **state) {
    (void)state;
    hd_memprof_index *x = read_name(files[1]);
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_LLVM_1; layout++) {
        file f = load_file("counters-22.profdata");
        hd_memprof_index_desc desc = { .layout = (hd_memprof_layout)layout, .base = f.data, .base_size = f.size };
        hd_buffer out = { 0 };
        hd_error err;
        assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), &err), HD_UNSUPPORTED);
        assert_non_null(strstr(err.message, "expected counters under a header of version 12, not 13, with"));
        assert_int_equal(out.size, 0);
        free(f.data);
        out = written(x, (hd_memprof_layout)layout, "counters-19.profdata");
        assert_int_equal(version_of(&out), 12);
        hd_buffer_free(&out);
        desc.base = NULL;
        desc.fields = x->fields;
        assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), &err), HD_OK);
        assert_int_equal(version_of(&out), 12);
        hd_memprof_index *y = read_bytes(out.data, out.size);
        same_records(x, y);
        hd_buffer again = written(y, HD_MEMPROF_LLVM_4, NULL); /* and back, in the latest version with that section */
        is_file(&again, "memprof-22-v4.profdata");
        hd_memprof_index_free(y);
        hd_buffer_free(&out);
    }
    hd_memprof_index_free(x);
}

/* Releases of LLVM have known versions. */
static void releases_have_versions(void **state) {
    (void)state;
    static const struct { uint32_t llvm; hd_memprof_layout layout; hd_status want; uint64_t header; } all[] = {
        { 19, HD_MEMPROF_LLVM_0, HD_OK, 12 }, { 19, HD_MEMPROF_LLVM_2, HD_OK, 12 },
        { 19, HD_MEMPROF_LLVM_3, HD_OK, 12 }, { 19, HD_MEMPROF_LLVM_4, HD_UNSUPPORTED, 0 }, { 22, HD_MEMPROF_LLVM_0, HD_UNSUPPORTED, 0 },
        { 22, HD_MEMPROF_LLVM_1, HD_UNSUPPORTED, 0 }, { 22, HD_MEMPROF_LLVM_2, HD_OK, 13 },
        { 22, HD_MEMPROF_LLVM_3, HD_OK, 13 }, { 22, HD_MEMPROF_LLVM_4, HD_OK, 13 },
        { 20, HD_MEMPROF_LLVM_3, HD_INVALID, 0 },
        { 0, HD_MEMPROF_LLVM_1, HD_OK, 12 }, { 0, HD_MEMPROF_LLVM_2, HD_OK, 13 }, { 0, HD_MEMPROF_LLVM_4, HD_OK, 13 } };
    hd_memprof_index *x = read_name(files[1]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hd_memprof_index_desc desc = { .layout = all[i].layout, .llvm = all[i].llvm };
        hd_buffer out = { 0 };
        assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), NULL), all[i].want);
        if (!all[i].want) assert_int_equal(version_of(&out), all[i].header);
        hd_buffer_free(&out);
    }
    hd_memprof_index_free(x);
    /* an index that was read keeps its header if the version allows it: LLVM 22 reads it, too */
    x = read_name("memprof-19-v3.profdata");
    hd_buffer out = written(x, HD_MEMPROF_LLVM_2, NULL);
    assert_int_equal(version_of(&out), 12);
    hd_buffer_free(&out);
    out = written(x, HD_MEMPROF_LLVM_4, "counters-19.profdata");
    assert_int_equal(version_of(&out), 12);
    hd_buffer_free(&out);
    hd_memprof_index_desc desc = { .llvm = 22 };
    file f = load_file("counters-19.profdata");
    desc.base = f.data, desc.base_size = f.size;
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), NULL), HD_UNSUPPORTED);
    free(f.data);
    hd_memprof_index_free(x);
}

/* Additions of version 4. ------------------------------------------------------------------------------- */

/* Replaces zlib: it does not inflate, but returns the sample's names. The reader checks their sum. */
static const char names[] = "_ZL4sink\1ledger.cpp\1other file.h\1_ZTV7Account\1table.__uniq.777\1zebra\1_ZTI7Archive\1"
                            "zebra\1_ZTI7Archive\1_ZL4sink";
typedef struct inflating {
    hd_allocator allocator;
    size_t at;
    bool damaged;
} inflating;
static const char *told = names;
static size_t piece = 7;

static void *inflate_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    inflating *s = (inflating *)allocator.allocate(allocator.user, NULL, 0, sizeof *s);
    uint8_t head[10];
    (void)user;
    if (!s) return NULL;
    s->allocator = allocator;
    s->at = 0;
    s->damaged = packed(packed_user, head, sizeof head) != sizeof head || memcmp(head, "\x1f\x8b\x08\0", 4);
    return s;
}
static int64_t inflate_read(void *stream, void *buffer, size_t capacity) {
    inflating *s = (inflating *)stream;
    size_t n = strlen(told) - s->at;
    if (s->damaged) return -1;
    if (n > capacity) n = capacity;
    if (n > piece) n = piece;
    memcpy(buffer, told + s->at, n);
    s->at += n;
    return (int64_t)n;
}
static void inflate_close(void *stream) {
    inflating *s = (inflating *)stream;
    hd_allocator allocator = s->allocator;
    allocator.allocate(allocator.user, s, sizeof *s, 0);
}
static const hd_unpacker gzip = { "gzip", "\x1f\x8b", inflate_open, inflate_read, inflate_close, NULL };
static const hd_options inflates = { .unpackers = &gzip, .unpacker_count = 1 };

static hd_memprof_index *read_access(const hd_options *options) {
    file f = load_file("memprof-22-access.profdata");
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_index_read(hd_in_memory(f.data, f.size), options, &x, &err)) fail_msg("%s", err.message);
    free(f.data);
    return x;
}

static void is_str(hd_str s, const char *want) {
    if (!hd_str_equal(s, hd_cstr(want))) fail_msg("'%s' expected, '" HD_FMT "' found", want, HD_ARG(s));
}

/* Compares with the output of llvm-profdata-22 show. */
static void says_what_the_sample_has(const hd_memprof_index *x, bool named) {
    static const struct { const char *symbol; uint64_t literal, count; uint32_t places; } want[] = {
        { "_ZL4sink", 0, 120, 2 }, { "", UINT64_C(9331054782637212951), 2000, 1 }, { "_ZTV7Account", 0, 120, 0 },
        { "table.__uniq.777", 0, UINT64_MAX, 0 } };
    static const char *const cold[] = { "zebra", "_ZTI7Archive", "_ZL4sink" };
    assert_true(x->has_accesses);
    assert_int_equal(x->access_is_named, named);
    assert_int_equal(x->access_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        is_str(x->access[i].symbol, named ? want[i].symbol : "");
        assert_int_equal(x->access[i].literal, want[i].literal);
        assert_int_equal(x->access[i].is_literal, i == 1);
        assert_int_equal(x->access[i].count, want[i].count);
        assert_int_equal(x->access[i].place_count, want[i].places);
    }
    assert_int_equal(x->place_count, 3);
    is_str(x->place[0].file, named ? "ledger.cpp" : "");
    is_str(x->place[1].file, named ? "other file.h" : "");
    is_str(x->place[x->access[1].place_first].file, named ? "ledger.cpp" : "");
    assert_int_equal(x->place[0].line, 14);
    assert_int_equal(x->place[1].line, UINT32_MAX);
    assert_int_equal(x->place[2].line, 60);
    assert_int_equal(x->cold_symbol_count, 3);
    for (uint32_t i = 0; i < 3; i++) is_str(x->cold_symbol[i], named ? cold[i] : "");
    assert_int_equal(x->cold_literal_count, 3);
    assert_int_equal(x->cold_literal[0], 999);
    assert_int_equal(x->cold_literal[1], 5);
    assert_int_equal(x->cold_literal[2], UINT64_C(12345678901234567890));
}

static void callees_and_accesses_are_read(void **state) {
    (void)state;
    for (piece = 1; piece < 1000; piece += 400) {
        hd_memprof_index *x = read_access(&inflates);
        hd_memprof_summary sum;
        hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
        says_what_the_sample_has(x, true);
        assert_int_equal(x->site_count, 2);
        assert_int_equal(x->callee_first[1], 3);
        assert_int_equal(x->callee_first[2], 3);
        assert_int_equal(x->callee[0], 1);
        assert_int_equal(x->callee[1], hd_memprof_guid(hd_cstr("_Z7descendim")));
        assert_int_equal(x->callee[2], UINT64_MAX);
        assert_int_equal(hd_memprof_index_summary(x, NULL, &sum, NULL), HD_OK);
        assert_int_equal(sum.contexts, 1);
        assert_int_equal(sum.largest_warm, UINT64_MAX);
        is_file(&out, "memprof-22-access.profdata");
        hd_memprof_index_free(x);
    }
}

static int warnings;
static void warned(void *user, const hd_error *warning) {
    assert_non_null(strstr(warning->message, (const char *)user));
    warnings++;
}

static void without_an_unpacker_names_are_kept_through(void **state) {
    (void)state;
    hd_options options = { .warning = warned, .warning_user = (void *)(uintptr_t)"deflated: add a gzip unpacker" };
    warnings = 0;
    hd_memprof_index *x = read_access(&options);
    hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
    assert_int_equal(warnings, 1);
    assert_int_equal(hd_memprof_index_warning_count(x), 0);
    says_what_the_sample_has(x, false);
    is_file(&out, "memprof-22-access.profdata");
    hd_memprof_index_free(x);
}

/* The sample with its names stored, not deflated, as for a program's own index. llvm-profdata-22 reads it. */
static hd_buffer stored(void) {
    hd_memprof_index *x = read_access(&inflates);
    hd_buffer out;
    x->access_bytes.len = 0;
    out = written(x, (hd_memprof_layout)0, NULL);
    hd_memprof_index_free(x);
    return out;
}

static void columns_are_written_with_their_names_stored(void **state) {
    (void)state;
    hd_buffer out = stored();
    hd_memprof_index *x = read_bytes(out.data, out.size);
    says_what_the_sample_has(x, true);
    assert_int_equal(x->callee_first[2], 3);
    hd_memprof_index_free(x);
    hd_buffer_free(&out);
}

/* Replaces zlib's deflate: returns LLVM's bytes for the sample's names. */
static size_t deflates(void *user, void *to, size_t capacity, const void *data, size_t size) {
    file f = load_file("memprof-22-access.profdata");
    size_t at = 0, n;
    (void)user;
    assert_int_equal(size, strlen(names));
    assert_memory_equal(data, names, size);
    assert_true(capacity >= size + size / 1000 + 12);
    while (f.data[at] != 0x78 || f.data[at + 1] != 0xda) at++;
    n = f.data[at - 1];
    assert_int_equal(f.data[at - 2], size);
    memcpy(to, f.data + at, n);
    free(f.data);
    return n;
}

static void columns_are_written_with_their_names_deflated(void **state) {
    (void)state;
    hd_memprof_index *x = read_access(&inflates);
    hd_buffer out = { 0 };
    x->access_bytes.len = 0;
    assert_int_equal(hd_memprof_index_write(x, NULL, &(hd_options){ .deflate = deflates }, hd_out_memory(&out), NULL), HD_OK);
    hd_memprof_index_free(x);
    is_file(&out, "memprof-22-access.profdata");
}

/* A hook that returns the size its user gives it, of a valid stream with one wrong byte. */
typedef struct deflating {
    size_t says, wrong;
    bool beyond;
} deflating;

static size_t deflates_badly(void *user, void *to, size_t capacity, const void *data, size_t size) {
    const deflating *d = user;
    size_t n = deflates(NULL, to, capacity, data, size);
    if (d->wrong) ((uint8_t *)to)[d->wrong > 4 ? n - 9 + d->wrong : d->wrong - 1] ^= 0x40;
    return d->beyond ? capacity + 1 : d->says ? d->says : d->wrong ? n : 0;
}

static void hooks_that_do_not_deflate_are_reported(void **state) {
    (void)state;
    static const deflating bad[] = { { 1, 0, false }, { 7, 0, false }, { SIZE_MAX, 0, false }, { 0, 0, true }, { 20, 0, false },
                                     { 0, 1, false }, { 0, 2, false }, { 0, 5, false }, { 0, 8, false } };
    hd_memprof_index *x = read_access(&inflates);
    hd_buffer out = { 0 }, plain = stored();
    hd_error err = { 0 };
    hd_options options = { .deflate = deflates_badly };
    x->access_bytes.len = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.deflate_user = (void *)(uintptr_t)&bad[i];
        assert_int_equal(hd_memprof_index_write(x, NULL, &options, hd_out_memory(&out), &err), HD_INVALID);
        assert_int_equal(strncmp(err.message, "hd_options.deflate: expected a zlib stream of up to ", 52), 0);
        assert_int_equal(out.size, 0);
    }
    options.deflate_user = &(deflating){ 0, 0, false }; /* it cannot */
    assert_int_equal(hd_memprof_index_write(x, NULL, &options, hd_out_memory(&out), &err), HD_OK);
    assert_int_equal(out.size, plain.size);
    assert_memory_equal(out.data, plain.data, out.size);
    hd_memprof_index_free(x);
    hd_buffer_free(&out);
    hd_buffer_free(&plain);
}

/* Without an inflate hook, the number of names is limited by their deflated bytes. */
static void few_bytes_do_not_claim_many_names(void **state) {
    (void)state;
    hd_buffer out = stored();
    hd_memprof_index *x = read_bytes(out.data, out.size);
    uint8_t *p = (uint8_t *)out.data + out.size - x->after.len - x->access_bytes.len;
    static const uint8_t claim[6] = { 0x80, 0x80, 1, 107, 0x78, 0xda }; /* 16,384 bytes, deflated to 107 */
    hd_error err = { 0 };
    hd_memprof_index_free(x);
    assert_int_equal(p[16], 2 + strlen(names));
    memcpy(p + 24, claim, sizeof claim);
    p[0] = 7;
    p[8] = 0x50, p[9] = 3;       /* 848 cold names: 855 names in all, and 856 are allowed */
    assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &x, &err), HD_OK);
    assert_int_equal(x->cold_symbol_count, 848);
    hd_memprof_index_free(x);
    p[8] = 0x52;
    assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &x, &err), HD_MALFORMED);
    assert_string_equal(err.message, "expected names in 111 bytes");
    hd_buffer_free(&out);
}

/* Turns zeros into 20 bytes that look like a deflated stream of them. */
static size_t deflates_zeros(void *user, void *to, size_t capacity, const void *data, size_t size) {
    uint32_t sum = (uint32_t)(size % 65521) << 16 | 1;
    (void)user, (void)data, (void)capacity;
    memset(to, 0, 20);
    memcpy(to, "\x78\xda", 2);
    for (int i = 0; i < 4; i++) ((uint8_t *)to)[16 + i] = (uint8_t)(sum >> (24 - 8 * i));
    return 20;
}

/* Names that deflate too well for a reader to accept are stored. */
static void names_that_deflate_beyond_measure_are_stored(void **state) {
    (void)state;
    hd_memprof_index *x = read_access(&inflates), *y = NULL;
    hd_memprof_access one = x->access[0];
    hd_buffer out = { 0 };
    char *name = malloc(3 << 20);
    memset(name, 0, 3 << 20);
    one.symbol.data = name;
    one.symbol.len = 3 << 20;
    x->access_bytes.len = 0;
    x->access = &one;
    x->access_count = 1;
    x->cold_symbol_count = one.place_count = 0;
    assert_int_equal(hd_memprof_index_write(x, NULL, &(hd_options){ .deflate = deflates_zeros }, hd_out_memory(&out), NULL), HD_OK);
    assert_true(out.size > 3 << 20);
    assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), &inflates, &y, NULL), HD_OK);
    assert_true(hd_str_equal(y->access[0].symbol, one.symbol));
    hd_memprof_index_free(x);
    hd_memprof_index_free(y);
    hd_buffer_free(&out);
    free(name);
}

/* The only block has 2^64 - 1 bytes. */
static void a_file_without_a_sum_is_read_without_a_heap(void **state) {
    (void)state;
    file f = load_file("memprof-22-access.profdata");
    hd_options options = inflates;
    hd_dump *dump = NULL;
    hd_buffer out = { 0 };
    options.warning = warned;
    options.warning_user = (void *)(uintptr_t)"the sum of the block sizes overflows";
    warnings = 0;
    hd_error err = { 0 };
    assert_int_equal(hd_read_memory(f.data, f.size, &options, &dump, &err), HD_OK);
    assert_int_equal(err.status, HD_OK); /* untouched */
    assert_int_equal(warnings, 1);
    assert_int_equal(hd_dump_heap_count(dump), 0);
    says_what_the_sample_has(hd_dump_memprof_index(dump), true);
    assert_int_equal(hd_dump_write(dump, NULL, hd_out_memory(&out), NULL), HD_OK);
    is_file(&out, "memprof-22-access.profdata");
    hd_dump_free(dump);
    free(f.data);
}

static void an_empty_file_of_llvm_22_is_kept(void **state) {
    (void)state;
    hd_memprof_index *x = read_name("memprof-22-empty.profdata");
    hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
    assert_int_equal(x->function_count, 0);
    is_file(&out, "memprof-22-empty.profdata");
    x->summary_count = 0;
    out = written(x, (hd_memprof_layout)0, NULL);
    is_file(&out, "memprof-22-empty.profdata");
    hd_memprof_index_free(x);
}

/* Numbers of a later version's summary. */
static void longer_summaries_are_kept(void **state) {
    (void)state;
    hd_memprof_index *x = read_name("memprof-22-v4.profdata"), *y;
    uint64_t summary[8] = { 21, 2, 0, 5000, 3200, 0, 5, 6 };
    hd_buffer out, again;
    x->summary = summary;
    x->summary_count = 8;
    out = written(x, (hd_memprof_layout)0, NULL);
    y = read_bytes(out.data, out.size);
    assert_int_equal(out.size, 8168 + 16); /* llvm-profdata-22 shows this file like the one without these numbers */
    assert_int_equal(y->summary_count, 8);
    assert_memory_equal(y->summary, summary, sizeof summary);
    again = written(y, (hd_memprof_layout)0, NULL);
    assert_int_equal(again.size, out.size);
    assert_memory_equal(again.data, out.data, out.size);
    hd_buffer_free(&again);
    hd_buffer_free(&out);
    hd_memprof_index_free(y);
    hd_memprof_index_free(x);
}

/* Changes a number in the sample's file, and reads it strictly, then leniently. Returns the number of accesses that
   remain. */
static uint32_t spoilt(size_t at, unsigned width, uint64_t v, hd_status want, const char *why) {
    file f = load_file("memprof-22-access.profdata");
    hd_options lenient = inflates;
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    uint32_t left = 0;
    lenient.lenient = true;
    for (unsigned i = 0; i < width; i++) f.data[at + i] = (uint8_t)(v >> 8 * i);
    if (hd_memprof_index_read(hd_in_memory(f.data, f.size), &inflates, &x, &err) != want)
        fail_msg("%s: %s", why, err.message);
    if (!strstr(err.message, why)) fail_msg("'%s' expected in: %s", why, err.message);
    if (!hd_memprof_index_read(hd_in_memory(f.data, f.size), &lenient, &x, NULL)) {
        hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
        assert_true(hd_memprof_index_warning_count(x) > 0);
        left = x->has_accesses ? x->access_count : 0;
        hd_memprof_index_free(read_bytes(out.data, out.size));
        hd_buffer_free(&out);
        hd_memprof_index_free(x);
    }
    free(f.data);
    return left;
}

static size_t deflate_nothing(void *user, void *to, size_t capacity, const void *data, size_t size) {
    (void)user, (void)data;
    assert_true(!size && capacity >= 8);
    memcpy(to, "\x78\xda\x03\0\0\0\0\1", 8);
    return 8;
}

/* The only name is empty. Inflated, it is known, as it is when stored. */
static void a_name_without_bytes_is_inflated(void **state) {
    const hd_memprof_access nameless = { .symbol = hd_cstr(""), .count = 5 };
    hd_options options = inflates;
    (void)state;
    options.deflate = deflate_nothing;
    told = "";
    for (int deflates = 0; deflates < 2; deflates++) {
        hd_memprof_builder *b = hd_memprof_builder_create(NULL, NULL, NULL);
        hd_memprof_index *x = NULL;
        hd_buffer out = { 0 };
        assert_int_equal(hd_memprof_builder_access(b, &nameless, NULL, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_finish(b, &x, NULL), HD_OK);
        assert_int_equal(hd_memprof_index_write(x, NULL, deflates ? &options : NULL, hd_out_memory(&out), NULL), HD_OK);
        hd_memprof_index_free(x);
        assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), &inflates, &x, NULL), HD_OK);
        assert_int_equal(x->access_count, 1);
        assert_true(x->access_is_named);
        hd_memprof_index_free(x);
        hd_memprof_builder_free(b);
        hd_buffer_free(&out);
    }
    told = names;
}

/* Offsets in the sample: section at 0x220, accesses at 0x3b8. */
static void faults_of_version_4_are_reported(void **state) {
    (void)state;
    enum { SUMMARY = 0x248, ACCESS = 0x3b8, DEFLATED = ACCESS + 24, BODY = DEFLATED + 2, LITERALS = 0x430,
           RECORDS = 0x458 };
    piece = 1000;
    assert_int_equal(spoilt(SUMMARY, 4, 5, HD_MALFORMED, "a summary of at least 6 numbers"), 0);
    assert_int_equal(spoilt(SUMMARY, 4, 0xffffffff, HD_MALFORMED, "found 4294967295"), 0);
    assert_int_equal(spoilt(0x240, 8, ACCESS + 3, HD_MALFORMED, "3 bytes before the accesses to data"), 0);
    assert_int_equal(spoilt(0x240, 8, ACCESS - 8, HD_MALFORMED, "expected the accesses to data at 952, found them at 944"), 0);
    assert_int_equal(spoilt(0x240, 8, UINT64_MAX, HD_MALFORMED, "expected the accesses to data at 952, found them at"), 0);
    assert_int_equal(spoilt(0x240, 8, 0, HD_MALFORMED, "bytes after the memprof section"), 0);
    assert_int_equal(spoilt(ACCESS, 8, 6, HD_MALFORMED, "expected 9 names"), 0);
    assert_int_equal(spoilt(ACCESS, 8, UINT64_MAX, HD_MALFORMED, "names of accesses to data within"), 0);
    assert_int_equal(spoilt(ACCESS + 8, 8, UINT64_C(1) << 39, HD_MALFORMED, "expected names in 93 bytes"), 0);
    assert_int_equal(spoilt(ACCESS + 16, 8, UINT64_MAX, HD_MALFORMED, "names of accesses to data within"), 0);
    assert_int_equal(spoilt(ACCESS + 16, 8, 92, HD_MALFORMED, "expected names in 92 bytes"), 0);
    assert_int_equal(spoilt(DEFLATED, 1, 0x6e, HD_MALFORMED, "expected names that inflate to 110 bytes"), 0);
    assert_int_equal(spoilt(BODY + 87, 1, 0, HD_MALFORMED, "expected names that inflate to 109 bytes"), 0); /* the sum */
    assert_int_equal(spoilt(BODY, 1, 0x79, HD_MALFORMED, "in a zlib stream"), 0);
    assert_int_equal(spoilt(LITERALS, 8, UINT64_C(1) << 61, HD_MALFORMED, "items of the accesses to data announced"), 0);
    assert_int_equal(spoilt(RECORDS - 8, 8, 5, HD_MALFORMED, "accesses to data"), 0);
    assert_int_equal(spoilt(RECORDS - 8, 8, 3, HD_MALFORMED, "25 bytes after the accesses to data"), 0);
    told = "too short";
    assert_int_equal(spoilt(0, 0, 0, HD_MALFORMED, "expected names that inflate to 109 bytes"), 0);
    told = names;
}

/* With stored names, so that the later offsets stay the same. */
static void indices_out_of_range_are_reported(void **state) {
    (void)state;
    hd_buffer out = stored();
    uint8_t *data = (uint8_t *)out.data;
    size_t at = 0;
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    for (at = out.size; memcmp(data + at - 8, "\xd2\x0a\x1f\xeb\x8c\xa9\x54\xab", 8); at--) {}
    at += 8;                     /* after the last literal and the number of records */
    data[at] = 10;
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, out.size), NULL, &x, &err), HD_MALFORMED);
    assert_string_equal(err.message, "name 10 does not exist");
    data[at] = 0;
    data[at + 8] = 2;
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, out.size), NULL, &x, &err), HD_MALFORMED);
    assert_string_equal(err.message, "expected 0 (symbol) or 1 (literal), found 2");
    data[at + 8] = 0;
    data[at + 25] = 255;         /* the file of the first location */
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, out.size), NULL, &x, &err), HD_MALFORMED);
    assert_string_equal(err.message, "name 255 does not exist");
    hd_buffer_free(&out);
}

/* A megabyte must not expand to gigabytes. */
static void names_may_not_claim_too_much(void **state) {
    (void)state;
    hd_buffer out = stored();
    uint8_t *data = (uint8_t *)out.data;
    size_t at = 0;
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    while (memcmp(data + at, "\x6d\0_ZL4sink", 10)) at++;
    memmove(data + at + 5, data + at, 4);
    /* a raw length of 2^34 - 1 in 5 bytes; the remaining bytes as deflated */
    memcpy(data + at, "\xff\xff\xff\xff\x3f", 5);
    data[at + 5] = (uint8_t)(data[at - 8] - 6);
    data[at + 6] = 0x78, data[at + 7] = 0xda;
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, out.size), &inflates, &x, &err), HD_LIMIT);
    assert_non_null(strstr(err.message, "are announced to inflate to 17179869183"));
    hd_buffer_free(&out);
}

static const char *const late[] = { "memprof-22-access.profdata", "memprof-22-v4.profdata", "memprof-22-empty.profdata" };

static void truncated_and_flipped(const uint8_t *from, size_t size) {
    hd_options lenient = inflates;
    hd_memprof_index *x;
    uint8_t *data = (uint8_t *)malloc(size);
    lenient.lenient = true;
    memcpy(data, from, size);
    for (size_t n = 0, step = 1; n < size; n += step) {
        uint8_t *copy = (uint8_t *)malloc(n ? n : 1);
        hd_error err = { 0 };
        hd_status status;
        memcpy(copy, data, n);
        status = hd_memprof_index_read(hd_in_memory(copy, n), &inflates, &x, &err);
        assert_true(status == (n < 8 ? HD_UNKNOWN_FORMAT : HD_MALFORMED) || (!status && n + 16 > size));
        if (!status) hd_memprof_index_free(x);
        else assert_true(err.offset <= n || err.offset == HD_UNKNOWN);
        if (!hd_memprof_index_read(hd_in_memory(copy, n), &lenient, &x, NULL)) hd_memprof_index_free(x);
        free(copy);
        step = n < 64 || n + 64 > size ? 1 : (size_t)long_or_short(1, 5);
    }
    for (size_t bit = 0; bit < 8 * size; bit += (1 + bit % 3) * (size_t)long_or_short(1, 11)) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!hd_memprof_index_read(hd_in_memory(data, size), &inflates, &x, NULL)) hd_memprof_index_free(x);
        if (!hd_memprof_index_read(hd_in_memory(data, size), &lenient, &x, NULL)) {
            hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
            hd_memprof_index_free(read_bytes(out.data, out.size));
            hd_buffer_free(&out);
            hd_memprof_index_free(x);
        }
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(data);
}

static void truncated_and_flipped_files_are_survived(void **state) {
    (void)state;
    hd_buffer out = stored();
    truncated_and_flipped((const uint8_t *)out.data, out.size);
    hd_buffer_free(&out);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        file f = load_file(late[i]);
        truncated_and_flipped(f.data, f.size);
        free(f.data);
    }
}

static void faults_are_passed_up(void **state) {
    (void)state;
    hd__faults f = { 0 };
    file in = load_file("memprof-22-access.profdata");
    hd_memprof_index *x;
    hd_memprof_summary sum;
    for (int kept = 0; kept < 2; kept++) {
        HD__EACH_FAULT(f) {
            hd_options options = inflates;
            options.allocator = hd__faults_allocator(&f);
            hd_status status = hd_memprof_index_read(hd_in_memory(in.data, in.size), &options, &x, NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            if (!status) hd_memprof_index_free(x);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        f.fail_at = 0;
        x = read_access(&inflates);
        if (!kept) x->access_bytes.len = x->summary_count = 0;
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f), .deflate = deflates };
            hd_buffer out = { 0 };
            hd_status status = hd_memprof_index_write(x, NULL, &options, hd_out_memory(&out), NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            hd_buffer_free(&out);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        f.fail_at = 0;
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_status status = hd_memprof_index_summary(x, &options, &sum, NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(f.live, 0);
        }
        f.fail_at = 0;
        hd_memprof_index_free(x);
    }
    free(in.data);
}

static void columns_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hd_memprof_index *x = read_access(&inflates);
    hd_buffer out = { 0 };
    hd_memprof_access one = x->access[0];
    static const uint32_t callee_first[3] = { 0, 3, 2 };
    const uint32_t *kept = x->callee_first;
    x->callee_first = callee_first;
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    x->callee_first = kept;
    x->access = &one;
    x->access_count = 1;
    x->access_bytes.len = 0;
    one.place_count = 4;
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    one.place_count = 3;
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_OK);
    hd_buffer_free(&out);
    one.symbol = hd_cstr("a\1b"); /* it would be read as two names */
    assert_int_equal(hd_memprof_index_write(x, NULL, NULL, hd_out_memory(&out), NULL), HD_INVALID);
    hd_memprof_index_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_llvm_22_are_read_and_written_back),
        cmocka_unit_test(files_of_llvm_22_equal_the_output_of_llvm_profdata),
        cmocka_unit_test(versions_of_llvm_22_become_each_other),
        cmocka_unit_test(a_section_added_to_counters_of_llvm_22_has_its_bytes),
        cmocka_unit_test(ids_are_not_looked_into),
        cmocka_unit_test(functions_of_llvm_22_are_found),
        cmocka_unit_test(later_versions_are_refused_by_name),
        cmocka_unit_test(old_sections_do_not_go_with_the_new_header),
        cmocka_unit_test(releases_have_versions),
        cmocka_unit_test(callees_and_accesses_are_read),
        cmocka_unit_test(without_an_unpacker_names_are_kept_through),
        cmocka_unit_test(a_name_without_bytes_is_inflated),
        cmocka_unit_test(columns_are_written_with_their_names_stored),
        cmocka_unit_test(columns_are_written_with_their_names_deflated),
        cmocka_unit_test(hooks_that_do_not_deflate_are_reported),
        cmocka_unit_test(few_bytes_do_not_claim_many_names),
        cmocka_unit_test(names_that_deflate_beyond_measure_are_stored),
        cmocka_unit_test(a_file_without_a_sum_is_read_without_a_heap),
        cmocka_unit_test(an_empty_file_of_llvm_22_is_kept),
        cmocka_unit_test(longer_summaries_are_kept),
        cmocka_unit_test(faults_of_version_4_are_reported),
        cmocka_unit_test(indices_out_of_range_are_reported),
        cmocka_unit_test(names_may_not_claim_too_much),
        cmocka_unit_test(truncated_and_flipped_files_are_survived),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(columns_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
