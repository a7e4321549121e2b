/* Indexed profiles of LLVM 22: a header of version 13, frames called by another hash. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
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

static const char *const files[] = { "memprof-22-v2.profdata", "memprof-22-v3.profdata", "counters-22-memprof-v3.profdata" };
enum { FILES = sizeof files / sizeof *files };

/* Version 3 tells no ids, but is ordered by them. */
static void files_of_llvm_22_are_read_and_written_back(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        hd_memprof_index *x = read_name(files[i]);
        hd_buffer out = written(x, (hd_memprof_layout)0, NULL);
        assert_int_equal(x->layout, i ? HD_MEMPROF_LLVM_3 : HD_MEMPROF_LLVM_2);
        assert_int_equal(hd_memprof_index_warning_count(x), 0);
        is_file(&out, files[i]);
        hd_memprof_index_free(x);
    }
}

static void files_of_llvm_22_say_what_llvm_profdata_says(void **state) {
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

/* What LLVM calls frames in version 2 is the same that we call those of version 3. */
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
    hd_memprof_index_free(made);
    hd_memprof_index_free(three);
    hd_memprof_index_free(two);
}

static void what_is_put_beside_counters_of_llvm_22_has_its_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        hd_memprof_index *x = read_name(files[i]);
        hd_buffer out = written(x, HD_MEMPROF_LLVM_3, "counters-22.profdata");
        is_file(&out, files[2]);
        hd_memprof_index_free(x);
    }
}

/* Whatever frames are called, they are found. */
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

static void what_llvm_22_has_beyond_that_is_refused_by_name(void **state) {
    (void)state;
    file f = load_file(files[1]);
    uint64_t section = 0;
    for (int i = 8; i--;) section = section << 8 | f.data[40 + i];
    f.data[section] = 4;
    refused(f.data, f.size, "0 to 3 expected, 4 found, which is LLVM's from 21 on: merge");
    f.data[section] = 3;
    f.data[8] = 14;
    refused(f.data, f.size, "version 8 to 13 expected, 14 found");
    free(f.data);
}

/* No compiler reads what has its header and a section of version 0 or 1. */
static void old_sections_do_not_go_with_the_new_header(void **state) {
    (void)state;
    hd_memprof_index *x = read_name(files[1]);
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_LLVM_1; layout++) {
        hd_memprof_index_desc desc = { .layout = (hd_memprof_layout)layout };
        hd_buffer out = { 0 };
        assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), NULL), HD_UNSUPPORTED);
        assert_int_equal(out.size, 0);
        hd_buffer_free(&out);
        out = written(x, (hd_memprof_layout)layout, "counters-19.profdata");
        hd_buffer_free(&out);
    }
    hd_memprof_index_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_llvm_22_are_read_and_written_back),
        cmocka_unit_test(files_of_llvm_22_say_what_llvm_profdata_says),
        cmocka_unit_test(versions_of_llvm_22_become_each_other),
        cmocka_unit_test(what_is_put_beside_counters_of_llvm_22_has_its_bytes),
        cmocka_unit_test(ids_are_not_looked_into),
        cmocka_unit_test(functions_of_llvm_22_are_found),
        cmocka_unit_test(what_llvm_22_has_beyond_that_is_refused_by_name),
        cmocka_unit_test(old_sections_do_not_go_with_the_new_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
