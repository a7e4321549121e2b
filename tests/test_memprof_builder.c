/* Indexed profiles built from records and from other indexes: which blocks are added up, and which stay separate. The
   sums must not depend on the order or the grouping of the inputs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "load.h"
#include "memprof.h"
#include "indexes.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static hd_memprof_index *read_bytes(const void *data, size_t size) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, &err)) fail_msg("%s", err.message);
    return x;
}

static hd_memprof_index *made_with_accesses(void);

/* Reads a file of tests/data; "accesses" is made here. */
static hd_memprof_index *read_name(const char *name) {
    uint8_t *data;
    size_t size;
    hd_memprof_index *x;
    if (!strcmp(name, "accesses")) return made_with_accesses();
    load(name, &data, &size);
    x = read_bytes(data, size);
    free(data);
    return x;
}

static hd_buffer written(const hd_memprof_index *x, hd_memprof_layout layout) {
    hd_memprof_index_desc desc = { .layout = layout };
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    return out;
}

static hd_memprof_builder *builder(bool keep) {
    hd_memprof_builder_desc desc = { .keep = keep };
    hd_options lenient = { .lenient = true };
    hd_memprof_builder *b = hd_memprof_builder_create(&desc, &lenient, NULL);
    assert_non_null(b);
    return b;
}

static void add(hd_memprof_builder *b, const hd_memprof_index *x) {
    hd_error err = { 0 };
    if (hd_memprof_builder_add(b, x, &err)) fail_msg("%s", err.message);
}

/* Finishes a builder, and frees it. */
static hd_memprof_index *finished(hd_memprof_builder *b) {
    hd_memprof_index *x = NULL;
    hd_error err = { 0 };
    if (hd_memprof_builder_finish(b, &x, &err)) fail_msg("%s", err.message);
    hd_memprof_builder_free(b);
    return x;
}

/* Sum of a field over the contexts of the functions that allocate. */
static uint64_t sum_of(const hd_memprof_index *x, uint32_t field) {
    hd_memprof *raw = NULL;
    const hd_memprof_raw *part;
    uint64_t sum = 0;
    assert_int_equal(hd_memprof_index_raw(x, NULL, &raw, NULL), HD_OK);
    part = hd_memprof_part(raw, 0);
    for (uint32_t i = 0; i < part->block_count; i++) sum += part->blocks[i].value[field];
    hd_memprof_free(raw);
    return sum;
}

/* Calls of main (1), inlined f (2) and g (3): tests combine these locations. */
static const hd_memprof_location in_main = { .function = 1, .line_offset = 1, .column = 5 };
static const hd_memprof_location in_f = { .function = 2, .line_offset = 2, .column = 7, .inlined = true };
static const hd_memprof_location in_g = { .function = 3, .line_offset = 3, .column = 9 };

static void add_block(hd_memprof_builder *b, uint64_t guid, const hd_memprof_location *stack, uint32_t n, uint64_t count) {
    uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
    value[HD_MEMPROF_ALLOC_COUNT] = count;
    value[HD_MEMPROF_TOTAL_SIZE] = 10 * count;
    value[HD_MEMPROF_MIN_SIZE] = count;
    value[HD_MEMPROF_MAX_SIZE] = 20 * count;
    assert_int_equal(hd_memprof_builder_function(b, guid, NULL), HD_OK);
    assert_int_equal(hd_memprof_builder_block(b, stack, n,
                                              HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT) |
                                                  HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE) |
                                                  HD_MEMPROF_FIELD(HD_MEMPROF_MIN_SIZE) |
                                                  HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE),
                                              value, NULL), HD_OK);
}

static hd_memprof_index *made_with_accesses(void) {
    const hd_memprof_location stack[] = { in_f, in_main };
    const hd_memprof_access_place places[] = { { hd_cstr("b.c"), 1 }, { hd_cstr("a.c"), 3 } };
    const hd_memprof_access sampled = { .symbol = hd_cstr("table"), .count = 5, .place_count = 2 };
    const uint64_t callees[] = { 9, 4 };
    hd_memprof_builder *b = builder(true);
    hd_memprof_index *x, *back;
    hd_buffer bytes;
    add_block(b, 2, stack, 2, 5);
    add_block(b, 1, stack, 2, 5);
    hd_memprof_builder_site(b, stack, 2, callees, 2, NULL);
    hd_memprof_builder_access(b, &sampled, places, NULL);
    hd_memprof_builder_cold_symbol(b, hd_cstr("never"), NULL);
    hd_memprof_builder_cold_literal(b, 77, NULL);
    x = finished(b);
    bytes = written(x, HD_MEMPROF_LLVM_4);
    back = read_bytes(bytes.data, bytes.size);
    hd_memprof_index_free(x);
    hd_buffer_free(&bytes);
    return back;
}

/* Two functions with two stacks each; their blocks share the same values. */
static hd_memprof_index *made_with_shared_rows(void) {
    static const uint32_t row[] = { 0, 1, 0, 1 };
    const hd_memprof_location stack[] = { in_f, in_main };
    hd_memprof_builder *b = builder(true);
    hd_memprof_index *x;
    for (uint64_t guid = 1; guid < 3; guid++) {
        add_block(b, guid, stack, 2, 5);
        add_block(b, guid, stack, 1, 7);
    }
    x = finished(b);
    assert_null(x->block_row);
    x->block_row = row;
    x->row_count = 2;
    return x;
}

/* Step 0 adds all blocks, step 1 a block of one function, step 2 a block of a whole stack, step 3 all blocks again.
   `shares` adds an index; else block by block. */
static void add_step(hd_memprof_builder *b, bool shares, int step, const hd_memprof_index *x) {
    const hd_memprof_location stack[] = { in_f, in_main };
    if (step == 1 || step == 2) add_block(b, (uint64_t)step, stack, 2, 3);
    if (step != 0 && step != 3) return;
    if (shares) add(b, x);
    for (uint64_t guid = 1; guid < 3 && !shares; guid++) {
        add_block(b, guid, stack, 2, 5);
        add_block(b, guid, stack, 1, 7);
    }
}

static void values_that_contexts_share_are_added_to_one_by_one(void **state) {
    hd_memprof_index *shared = made_with_shared_rows();
    (void)state;
    for (int last = 0; last < 4; last++) {
        hd_memprof_builder *b[] = { builder(false), builder(false) };
        hd_memprof_index *x[2];
        hd_buffer bytes[2];
        for (int i = 0; i < 2; i++) {
            for (int step = 0; step <= last; step++) add_step(b[i], !i, step, shared);
            x[i] = finished(b[i]);
            bytes[i] = written(x[i], HD_MEMPROF_LLVM_3);
        }
        assert_int_equal(x[0]->block_count, 4);
        assert_int_equal(x[0]->block_row ? x[0]->row_count : 4, last == 0 ? 2 : last == 1 ? 3 : 4);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(hd_memprof_index_value(x[0], k, HD_MEMPROF_ALLOC_COUNT),
                             hd_memprof_index_value(x[1], k, HD_MEMPROF_ALLOC_COUNT));
        assert_int_equal(bytes[0].size, bytes[1].size);
        assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
        for (int i = 0; i < 2; i++) {
            hd_memprof_index_free(x[i]);
            hd_buffer_free(&bytes[i]);
        }
    }
    shared->block_row = NULL;
    hd_memprof_index_free(shared);
}

static void blocks_of_a_context_are_summed_up_or_kept(void **state) {
    const hd_memprof_location stack[] = { in_g, in_main };
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        hd_memprof_builder *b = builder(keep);
        hd_memprof_index *x;
        add_block(b, 3, stack, 2, 5);
        add_block(b, 3, stack, 1, 7);
        add_block(b, 3, stack, 2, 2);
        x = finished(b);
        assert_int_equal(x->function_count, 1);
        assert_int_equal(x->location_count, 2);
        assert_int_equal(x->stack_count, 2);
        assert_int_equal(x->block_count, keep ? 3 : 2);
        assert_int_equal(x->layout, HD_MEMPROF_LLVM_3);
        if (keep) {
            assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ALLOC_COUNT), 5);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_ALLOC_COUNT), 7);
            assert_int_equal(hd_memprof_index_value(x, 2, HD_MEMPROF_MIN_SIZE), 2);
        } else { /* the shorter stack comes first */
            assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ALLOC_COUNT), 7);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_ALLOC_COUNT), 7);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_TOTAL_SIZE), 70);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_MIN_SIZE), 2);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_MAX_SIZE), 100);
        }
        hd_memprof_index_free(x);
    }
}

static void fields_are_common_ones_or_all(void **state) {
    uint64_t value[HD_MEMPROF_FIELDS];
    (void)state;
    for (uint32_t f = 0; f < HD_MEMPROF_FIELDS; f++) value[f] = 100 + f;
    for (int keep = 0; keep < 2; keep++) {
        hd_memprof_builder *b = builder(keep);
        hd_memprof_index *x;
        hd_memprof_builder_function(b, 3, NULL);
        hd_memprof_builder_block(b, &in_g, 1, HD_MEMPROF_HOT_COLD, value, NULL);
        value[HD_MEMPROF_TOTAL_LIFETIME] = 0;
        hd_memprof_builder_block(b, &in_main, 1,
                                 HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT) | HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE), value, NULL);
        x = finished(b);
        if (keep) {
            assert_int_equal(x->fields, HD_MEMPROF_HOT_COLD | HD_MEMPROF_FIELD(HD_MEMPROF_MAX_SIZE));
            assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_MAX_SIZE), 0);
            assert_int_equal(hd_memprof_index_value(x, 1, HD_MEMPROF_MAX_SIZE), 107);
            assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_TOTAL_LIFETIME), 110);
        } else {
            assert_int_equal(x->fields, HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT));
            assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ALLOC_COUNT), 101);
        }
        value[HD_MEMPROF_TOTAL_LIFETIME] = 110;
        hd_memprof_index_free(x);
    }
}

static void call_sites_and_their_callees_unite(void **state) {
    const uint64_t callees[] = { 9, 4, 9 }, more[] = { 7, 4 };
    hd_memprof_builder *b = builder(false);
    hd_memprof_index *x;
    (void)state;
    hd_memprof_builder_function(b, 1, NULL);
    assert_int_equal(hd_memprof_builder_site(b, &in_main, 1, callees, 3, NULL), HD_OK);
    hd_memprof_builder_function(b, 2, NULL);
    assert_int_equal(hd_memprof_builder_site(b, &in_f, 1, NULL, 0, NULL), HD_OK);
    hd_memprof_builder_function(b, 1, NULL);
    assert_int_equal(hd_memprof_builder_site(b, &in_main, 1, more, 2, NULL), HD_OK);
    x = finished(b);
    assert_int_equal(x->layout, HD_MEMPROF_LLVM_4);
    assert_int_equal(x->site_count, 2);
    {
        uint32_t site = x->site_first[hd_memprof_index_find(x, 1)];
        assert_int_equal(x->callee_first[site + 1] - x->callee_first[site], 3);
        assert_int_equal(x->callee[x->callee_first[site]], 4);
        assert_int_equal(x->callee[x->callee_first[site] + 1], 7);
        assert_int_equal(x->callee[x->callee_first[site] + 2], 9);
    }
    hd_memprof_index_free(x);
}

static void accesses_add_up_and_sampled_names_are_not_cold(void **state) {
    const hd_memprof_access_place here = { hd_cstr("a.c"), 3 }, there = { hd_cstr("b.c"), 1 }, both[] = { there, here };
    hd_memprof_access a = { .symbol = hd_cstr("table"), .count = 5, .place_count = 1 };
    hd_memprof_access literal = { .is_literal = true, .literal = 77, .count = 1 };
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        hd_memprof_builder *b = builder(keep);
        hd_memprof_index *x;
        hd_memprof_builder_cold_symbol(b, hd_cstr("table"), NULL);
        hd_memprof_builder_cold_symbol(b, hd_cstr("never"), NULL);
        hd_memprof_builder_cold_symbol(b, hd_cstr("never"), NULL);
        hd_memprof_builder_cold_literal(b, 77, NULL);
        hd_memprof_builder_cold_literal(b, 78, NULL);
        a.place_count = 1;
        assert_int_equal(hd_memprof_builder_access(b, &literal, NULL, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_access(b, &a, &here, NULL), HD_OK);
        a.place_count = 2;
        assert_int_equal(hd_memprof_builder_access(b, &a, both, NULL), HD_OK);
        x = finished(b);
        assert_true(x->has_accesses && x->access_is_named);
        assert_int_equal(x->access_count, 2);
        assert_int_equal(x->place_count, keep ? 3 : 2);
        assert_int_equal(x->access[keep ? 0 : 1].literal, 77);
        assert_int_equal(x->access[keep ? 1 : 0].count, 10);
        assert_string_equal(x->place[0].file.data, "a.c");
        assert_int_equal(x->cold_symbol_count, keep ? 2 : 1);
        assert_string_equal(x->cold_symbol[keep ? 1 : 0].data, "never");
        assert_int_equal(x->cold_literal_count, keep ? 2 : 1);
        hd_memprof_index_free(x);
    }
}

static void misuse_is_refused_and_adds_nothing(void **state) {
    uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
    hd_memprof_builder *b = builder(false);
    hd_memprof_index *x;
    (void)state;
    assert_int_equal(hd_memprof_builder_block(b, &in_g, 1, HD_MEMPROF_HOT_COLD, value, NULL), HD_INVALID);
    assert_int_equal(hd_memprof_builder_site(b, &in_g, 1, NULL, 0, NULL), HD_INVALID);
    assert_int_equal(hd_memprof_builder_function(b, 3, NULL), HD_OK);
    assert_int_equal(hd_memprof_builder_block(b, &in_g, 0, HD_MEMPROF_HOT_COLD, value, NULL), HD_INVALID);
    x = finished(b);
    assert_int_equal(x->block_count + x->site_count + x->location_count, 0);
    hd_memprof_index_free(x);
    hd_memprof_builder_free(NULL);
}

static const char *const inputs[] = { "memprof-16.profdata",   "memprof-19-v0.profdata", "memprof-19-v1.profdata",
                                      "memprof-19-v2.profdata", "memprof-19-v3.profdata", "memprof-22-v2.profdata",
                                      "memprof-22-v4.profdata", "accesses" };

static void a_single_index_keeps_its_sums_in_every_layout(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(inputs); i++) {
        hd_memprof_index *from = read_name(inputs[i]), *x, *rfc, *again;
        hd_memprof_builder *b = builder(false);
        hd_buffer bytes = written(from, HD_MEMPROF_RFC), first, second;
        add(b, from);
        x = finished(b);
        assert_int_equal(sum_of(x, HD_MEMPROF_ALLOC_COUNT), sum_of(from, HD_MEMPROF_ALLOC_COUNT));
        assert_int_equal(sum_of(x, HD_MEMPROF_TOTAL_SIZE), sum_of(from, HD_MEMPROF_TOTAL_SIZE));
        assert_int_equal(x->function_count, from->function_count);
        rfc = read_bytes(bytes.data, bytes.size); /* the RFC's layout has no callees and no accesses */
        b = builder(false);
        add(b, rfc);
        again = finished(b);
        assert_int_equal(sum_of(again, HD_MEMPROF_ALLOC_COUNT), sum_of(from, HD_MEMPROF_ALLOC_COUNT));
        if (from->site_count && !from->has_accesses) {
            first = written(x, HD_MEMPROF_LLVM_3);
            second = written(again, HD_MEMPROF_LLVM_3);
            assert_int_equal(first.size, second.size);
            assert_memory_equal(first.data, second.data, first.size);
            hd_buffer_free(&first);
            hd_buffer_free(&second);
        }
        hd_memprof_index_free(again);
        hd_memprof_index_free(rfc);
        hd_memprof_index_free(x);
        hd_memprof_index_free(from);
        hd_buffer_free(&bytes);
    }
}

/* Builds from a random grouping of the inputs in random order: partial results are written, read back and added. */
static hd_memprof_index *grouped(hd_memprof_index *const *x, size_t n, uint64_t *random) {
    size_t order[COUNT(inputs)];
    hd_memprof_builder *all = builder(false);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = hd__test_below(random, i), was = order[i - 1];
        order[i - 1] = order[k];
        order[k] = was;
    }
    for (size_t i = 0; i < n;) {
        size_t end = i + 1 + hd__test_below(random, n - i);
        hd_memprof_builder *part = builder(false);
        hd_memprof_index *sum, *back;
        hd_buffer bytes;
        for (; i < end; i++) add(part, x[order[i]]);
        sum = finished(part);
        bytes = written(sum, HD_MEMPROF_LLVM_4);
        back = read_bytes(bytes.data, bytes.size);
        add(all, back);
        hd_memprof_index_free(back);
        hd_memprof_index_free(sum);
        hd_buffer_free(&bytes);
    }
    return finished(all);
}

/* The first index of a builder may repeat call stacks and functions, and have a context in several places. */
static void an_index_that_repeats_itself_is_added_as_its_blocks_are(void **state) {
    const uint32_t field = HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_COUNT);
    uint64_t random = 7, count = 1;
    (void)state;
    for (int round = 0; round < 300; round++) {
        hd_memprof_builder *whole = builder(false), *single = builder(false);
        hd_memprof_index *x, *y;
        hd_buffer expected, found;
        uint32_t stacks = 1 + mp_below(&random, 6), functions = 1 + mp_below(&random, 4);
        ix_model m;
        ix_open(&m, HD_MEMPROF_LLVM_3, field);
        for (uint32_t i = 0; i < 3; i++) ix_location(&m, 10 + i, "", "", 0, 0, i, 1, false);
        for (uint32_t s = 0; s < stacks; s++) {
            const uint32_t frames[] = { mp_below(&random, 2), mp_below(&random, 3) };
            ix_stack(&m, 1 + mp_below(&random, 2), frames);
        }
        if (mp_below(&random, 2)) {
            assert_int_equal(hd_memprof_builder_function(whole, 11, NULL), HD_OK);
            assert_int_equal(hd_memprof_builder_function(single, 11, NULL), HD_OK);
        }
        for (uint32_t f = 0; f < functions; f++) {
            uint64_t guid = 10 + mp_below(&random, 3);
            ix_function(&m, guid);
            assert_int_equal(hd_memprof_builder_function(single, guid, NULL), HD_OK);
            for (uint32_t b = mp_below(&random, 5); b; b--, count++) {
                uint32_t s = mp_below(&random, stacks), length = m.first[s + 1] - m.first[s];
                hd_memprof_location stack[2];
                uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
                ix_block(&m, s, &count);
                for (uint32_t k = 0; k < length; k++) stack[k] = m.locations[m.location[m.first[s] + k]];
                value[HD_MEMPROF_ALLOC_COUNT] = count;
                assert_int_equal(hd_memprof_builder_block(single, stack, length, field, value, NULL), HD_OK);
            }
        }
        if (mp_below(&random, 2)) { /* call sites have stacks, but make no contexts */
            assert_int_equal(hd_memprof_builder_function(whole, 10, NULL), HD_OK);
            assert_int_equal(hd_memprof_builder_site(whole, m.locations, 1, NULL, 0, NULL), HD_OK);
            assert_int_equal(hd_memprof_builder_function(single, 10, NULL), HD_OK);
            assert_int_equal(hd_memprof_builder_site(single, m.locations, 1, NULL, 0, NULL), HD_OK);
        }
        add(whole, ix_show(&m));
        if (mp_below(&random, 2)) { /* a record, and the same index again */
            hd_memprof_builder *both[2];
            uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
            both[0] = whole, both[1] = single;
            value[HD_MEMPROF_ALLOC_COUNT] = count++;
            for (int k = 0; k < 2; k++) {
                assert_int_equal(hd_memprof_builder_function(both[k], 12, NULL), HD_OK);
                assert_int_equal(hd_memprof_builder_block(both[k], m.locations, 2, field, value, NULL), HD_OK);
                add(both[k], ix_show(&m));
            }
        }
        x = finished(whole);
        y = finished(single);
        assert_int_equal(x->block_count, y->block_count);
        found = written(x, HD_MEMPROF_RFC);
        expected = written(y, HD_MEMPROF_RFC);
        if (found.size != expected.size || memcmp(found.data, expected.data, found.size)) fail_msg("round %d", round);
        hd_buffer_free(&found);
        hd_buffer_free(&expected);
        hd_memprof_index_free(x);
        hd_memprof_index_free(y);
        ix_close(&m);
    }
}

static void order_and_grouping_do_not_change_the_sum(void **state) {
    hd_memprof_index *x[COUNT(inputs)], *first;
    hd_buffer expected[HD_MEMPROF_RFC + 1];
    uint64_t random = 4, sum = 0;
    (void)state;
    for (size_t i = 0; i < COUNT(inputs); i++) {
        x[i] = read_name(inputs[i]);
        sum += sum_of(x[i], HD_MEMPROF_ALLOC_COUNT);
    }
    {
        hd_memprof_builder *b = builder(false);
        for (size_t i = 0; i < COUNT(inputs); i++) add(b, x[i]);
        first = finished(b);
    }
    assert_int_equal(sum_of(first, HD_MEMPROF_ALLOC_COUNT), sum);
    assert_int_equal(first->layout, HD_MEMPROF_LLVM_4);
    assert_true(first->has_accesses);
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++)
        expected[layout] = written(first, (hd_memprof_layout)layout);
    for (int round = 0; round < 60; round++) {
        hd_memprof_index *again = grouped(x, COUNT(inputs), &random);
        for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) {
            hd_buffer bytes = written(again, (hd_memprof_layout)layout);
            if (bytes.size != expected[layout].size || memcmp(bytes.data, expected[layout].data, bytes.size))
                fail_msg("round %d: other bytes in %s", round, hd_memprof_layout_name((hd_memprof_layout)layout));
            hd_buffer_free(&bytes);
        }
        hd_memprof_index_free(again);
    }
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) hd_buffer_free(&expected[layout]);
    hd_memprof_index_free(first);
    for (size_t i = 0; i < COUNT(inputs); i++) hd_memprof_index_free(x[i]);
}

/* A call inlined into its own function twice: LLVM repeats each of its blocks in that record. */
static void a_block_that_llvm_repeats_counts_once(void **state) {
    const hd_memprof_location again = { .function = 2, .line_offset = 4, .column = 1, .inlined = true };
    const hd_memprof_location stack[] = { in_f, again, in_main };
    hd_memprof_builder *b = builder(true);
    hd_memprof_index *llvm, *x;
    (void)state;
    add_block(b, 2, stack, 3, 5); /* one program counter, twice; then another one, twice */
    add_block(b, 2, stack, 3, 5);
    add_block(b, 2, stack, 3, 8);
    add_block(b, 2, stack, 3, 8);
    add_block(b, 1, stack, 3, 5);
    add_block(b, 1, stack, 3, 8);
    llvm = finished(b);
    b = builder(false);
    add(b, llvm);
    add(b, llvm);
    x = finished(b);
    assert_int_equal(x->block_count, 2);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(hd_memprof_index_value(x, i, HD_MEMPROF_ALLOC_COUNT), 26);
    b = builder(false);
    add(b, x); /* not repeated, they still count once */
    hd_memprof_index_free(llvm);
    llvm = finished(b);
    assert_int_equal(hd_memprof_index_value(llvm, 0, HD_MEMPROF_ALLOC_COUNT), 26);
    hd_memprof_index_free(llvm);
    hd_memprof_index_free(x);
}

/* In such a record equal neighbouring blocks are copies of one block. Different blocks are several, as a compiler or
   a person writes them. */
static void blocks_that_differ_are_no_copies(void **state) {
    static const struct {
        uint64_t count[4], sum;
    } rows[] = { { { 5, 7, 0, 0 }, 12 }, { { 5, 5, 5, 0 }, 10 }, { { 5, 7, 7, 5 }, 17 }, { { 5, 5, 5, 5 }, 10 } };
    const hd_memprof_location calls_itself = { .function = 2, .line_offset = 4, .column = 1 };
    const hd_memprof_location stack[] = { in_f, calls_itself };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        hd_memprof_builder *b = builder(true);
        hd_memprof_index *told, *x;
        hd_buffer bytes;
        for (int k = 0; k < 4 && rows[i].count[k]; k++) add_block(b, 2, stack, 2, rows[i].count[k]);
        told = finished(b);
        assert_int_equal(sum_of(told, HD_MEMPROF_ALLOC_COUNT), rows[i].sum);
        b = builder(false);
        add(b, told);
        x = finished(b);
        assert_int_equal(x->block_count, 1);
        assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ALLOC_COUNT), rows[i].sum);
        assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_TOTAL_SIZE), 10 * rows[i].sum);
        hd_memprof_index_free(x);
        bytes = written(told, HD_MEMPROF_RFC);
        x = read_bytes(bytes.data, bytes.size);
        assert_int_equal(sum_of(x, HD_MEMPROF_ALLOC_COUNT), rows[i].sum);
        hd_buffer_free(&bytes);
        hd_memprof_index_free(x);
        hd_memprof_index_free(told);
    }
}

/* LLVM writes a block also in the record of the function that allocates. A person may write it only in the other
   records. */
static void blocks_only_of_callers_are_not_lost(void **state) {
    const hd_memprof_location again = { .function = 1, .line_offset = 4, .column = 1, .inlined = true };
    const hd_memprof_location stack[] = { in_f, again, in_main }, other[] = { in_f, in_g };
    (void)state;
    for (int layout = HD_MEMPROF_LLVM_3; layout <= HD_MEMPROF_RFC; layout++) {
        hd_memprof_builder *b = builder(true);
        hd_memprof_index *told, *x;
        hd_buffer bytes;
        add_block(b, 9, stack, 3, 5); /* a function that is not on the stack */
        add_block(b, 1, stack, 3, 5); /* two copies */
        add_block(b, 1, stack, 3, 5);
        add_block(b, 3, other, 2, 8);
        add_block(b, 2, &in_main, 1, 3);
        add_block(b, 1, &in_main, 1, 3);
        told = finished(b);
        assert_int_equal(sum_of(told, HD_MEMPROF_ALLOC_COUNT), 16);
        bytes = written(told, (hd_memprof_layout)layout);
        x = read_bytes(bytes.data, bytes.size);
        assert_int_equal(sum_of(x, HD_MEMPROF_ALLOC_COUNT), 16);
        hd_buffer_free(&bytes);
        bytes = written(x, HD_MEMPROF_LLVM_3);
        hd_memprof_index_free(x);
        x = read_bytes(bytes.data, bytes.size);
        assert_int_equal(sum_of(x, HD_MEMPROF_ALLOC_COUNT), 16);
        /* written for the function that allocates, and for all functions that it was inlined into */
        if (layout == HD_MEMPROF_RFC) {
            uint32_t f = hd_memprof_index_find(x, 2), main = hd_memprof_index_find(x, 1);
            assert_int_equal(x->block_first[f + 1] - x->block_first[f], 2);
            assert_int_equal(x->block_first[main + 1] - x->block_first[main], 3);
            assert_int_equal(hd_memprof_index_find(x, 9), HD_NONE);
        }
        hd_buffer_free(&bytes);
        hd_memprof_index_free(x);
        hd_memprof_index_free(told);
    }
}

/* Blocks may have no fields: then only their call stacks matter. */
static void blocks_without_fields_are_kept(void **state) {
    const hd_memprof_location stack[] = { in_f, in_main };
    const uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
    hd_memprof_builder *b = builder(false);
    hd_memprof_index *x, *y;
    hd_buffer bytes;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hd_memprof_builder_function(b, 2, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_block(b, stack, 2, 0, value, NULL), HD_OK);
    }
    x = finished(b);
    assert_int_equal(x->block_count, 1);
    assert_int_equal(x->field_count, 0);
    bytes = written(x, HD_MEMPROF_RFC);
    y = read_bytes(bytes.data, bytes.size);
    assert_int_equal(sum_of(y, HD_MEMPROF_ALLOC_COUNT), 0);
    b = builder(false);
    add(b, y); /* LLVM's form has it also where it was inlined */
    add(b, y);
    hd_memprof_index_free(x);
    x = finished(b);
    assert_int_equal(x->block_count, 2);
    assert_int_equal(x->field_count, 0);
    hd_buffer_free(&bytes);
    bytes = written(x, HD_MEMPROF_LLVM_3);
    hd_buffer_free(&bytes);
    hd_memprof_index_free(x);
    hd_memprof_index_free(y);
}

static void names_that_differ_do_not_depend_on_the_order(void **state) {
    const char *const names[] = { "", "zeta", "alpha" };
    (void)state;
    for (int round = 0; round < 6; round++) {
        hd_memprof_builder *b = builder(false);
        hd_memprof_index *x;
        for (int i = 0; i < 3; i++) {
            hd_memprof_location l = in_g;
            l.name = hd_cstr(names[(round + (round < 3 ? i : 3 - i)) % 3]);
            add_block(b, 3, &l, 1, 1);
        }
        x = finished(b);
        assert_string_equal(x->locations[0].name.data, "alpha");
        hd_memprof_index_free(x);
    }
}

/* YAML has only names, the RFC's layout also files and lines. A name with a file wins over a name without one. */
static void a_name_with_a_file_is_better_than_one_without(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        hd_memprof_builder *b = builder(false);
        hd_memprof_index *x;
        for (int i = 0; i < 2; i++) {
            hd_memprof_location l = in_g;
            l.name = hd_cstr("g");
            if (i == round) l.file = hd_cstr("g.cc"), l.line = 33, l.discriminator = 2;
            add_block(b, 3, &l, 1, 1);
        }
        x = finished(b);
        assert_int_equal(x->location_count, 1);
        assert_string_equal(x->locations[0].file.data, "g.cc");
        assert_int_equal(x->locations[0].line, 33);
        assert_int_equal(x->locations[0].discriminator, 2);
        hd_memprof_index_free(x);
    }
}

/* The largest number that a file may have: each is looked up only once. */
static void many_callees_and_places_are_united(void **state) {
    enum { N = 200000 };
    uint64_t *callees = malloc(2 * N * sizeof *callees);
    hd_memprof_access_place *places = malloc(2 * N * sizeof *places);
    const hd_memprof_access sampled = { .symbol = hd_cstr("table"), .count = 5, .place_count = 2 * N };
    (void)state;
    assert_true(callees && places);
    for (uint32_t i = 0; i < 2 * N; i++) {
        callees[i] = N - i % N;
        places[i].file = hd_cstr("a.c");
        places[i].line = i % N;
    }
    for (int keep = 0; keep < 2; keep++) {
        hd_memprof_builder *b = builder(keep != 0);
        hd_memprof_index *x;
        uint32_t n = keep ? 2 * N : N;
        assert_int_equal(hd_memprof_builder_function(b, 3, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_site(b, &in_g, 1, callees, 2 * N, NULL), HD_OK);
        assert_int_equal(hd_memprof_builder_access(b, &sampled, places, NULL), HD_OK);
        x = finished(b);
        assert_int_equal(x->callee_first[1], n);
        assert_int_equal(x->callee[0], keep ? N : 1);
        assert_int_equal(x->callee[n - 1], keep ? 1 : N);
        assert_int_equal(x->access[0].place_count, n);
        assert_int_equal(x->place[n - 1].line, N - 1);
        hd_memprof_index_free(x);
    }
    free(callees);
    free(places);
}

/* Memory depends on the number of distinct contexts. A builder can continue after a partial result. */
static void memory_follows_distinct_contexts(void **state) {
    const hd_memprof_location stack[] = { in_g, in_main };
    hd_memprof_builder *b = builder(false);
    hd_memprof_index *x = NULL;
    uint64_t memory;
    (void)state;
    add_block(b, 3, stack, 2, 1);
    assert_int_equal(hd_memprof_builder_finish(b, &x, NULL), HD_OK);
    memory = hd_memprof_builder_memory(b);
    for (int i = 0; i < 100000; i++) add_block(b, 3, stack, 2, 1);
    for (int i = 0; i < 2000; i++) add(b, x);
    hd_memprof_index_free(x);
    assert_true(hd_memprof_builder_memory(b) < memory + 1000);
    x = finished(b);
    assert_int_equal(sum_of(x, HD_MEMPROF_ALLOC_COUNT), 102001);
    hd_memprof_index_free(x);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    hd_memprof_index *first = read_name("accesses"), *second = read_name("memprof-19-v0.profdata");
    hd_buffer bytes = written(second, HD_MEMPROF_RFC);
    hd_memprof_index *rfc = read_bytes(bytes.data, bytes.size);
    hd__faults f = { 0 };
    (void)state;
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_error err = { 0 };
        hd_memprof_index *x = NULL;
        hd_memprof_builder *b = hd_memprof_builder_create(NULL, &options, &err);
        hd_status status = b ? hd_memprof_builder_add(b, first, &err) : err.status;
        if (!status) status = hd_memprof_builder_add(b, rfc, &err);
        if (!status) status = hd_memprof_builder_finish(b, &x, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (b && f.failed && !x && hd_memprof_builder_add(b, first, &err)) assert_int_equal(err.status, HD_OUT_OF_MEMORY);
        hd_memprof_index_free(x);
        hd_memprof_builder_free(b);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    hd_memprof_index_free(rfc);
    hd_memprof_index_free(second);
    hd_memprof_index_free(first);
    hd_buffer_free(&bytes);
}

static void limits_are_kept(void **state) {
    hd_memprof_index *x = read_name("memprof-22-v4.profdata");
    (void)state;
    for (uint64_t most = 1; most < 200; most += 20) {
        hd_options options = { .limits = { .max_records = most } };
        hd_error err = { 0 };
        hd_memprof_builder *b = hd_memprof_builder_create(NULL, &options, &err);
        assert_int_equal(hd_memprof_builder_add(b, x, &err), HD_LIMIT);
        assert_int_equal(hd_memprof_builder_add(b, x, &err), HD_LIMIT);
        hd_memprof_builder_free(b);
    }
    hd_memprof_index_free(x);
}

/* The fields named in README and in the man page. MemInfoBlock::Merge takes their values from the last part or the
   first, or compares them with the previous part. */
static const uint32_t depends_on_order =
    HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_TIMESTAMP) | HD_MEMPROF_FIELD(HD_MEMPROF_DEALLOC_TIMESTAMP) |
    HD_MEMPROF_FIELD(HD_MEMPROF_ALLOC_CPU_ID) | HD_MEMPROF_FIELD(HD_MEMPROF_DEALLOC_CPU_ID) |
    HD_MEMPROF_FIELD(HD_MEMPROF_NUM_MIGRATED_CPU) | HD_MEMPROF_FIELD(HD_MEMPROF_NUM_LIFETIME_OVERLAPS) |
    HD_MEMPROF_FIELD(HD_MEMPROF_NUM_SAME_ALLOC_CPU) | HD_MEMPROF_FIELD(HD_MEMPROF_NUM_SAME_DEALLOC_CPU) |
    HD_MEMPROF_FIELD(HD_MEMPROF_DATA_TYPE_ID);

static hd_memprof_index *one_block(uint32_t fields, const uint64_t *value) {
    hd_memprof_builder *b = builder(false);
    assert_int_equal(hd_memprof_builder_function(b, 3, NULL), HD_OK);
    assert_int_equal(hd_memprof_builder_block(b, &in_g, 1, fields, value, NULL), HD_OK);
    return finished(b);
}

static hd_memprof_index *sum_of_two(const hd_memprof_index *x, const hd_memprof_index *y) {
    hd_memprof_builder *b = builder(false);
    add(b, x);
    add(b, y);
    return finished(b);
}

/* Three parts in each order and grouping: which fields of the sums differ. */
static void only_these_fields_depend_on_the_order(void **state) {
    static const uint8_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    const uint32_t fields = hd_memprof_version_fields(3);
    uint32_t differ = 0;
    (void)state;
    for (int round = 0; round < 50; round++) {
        hd_memprof_index *part[3], *sum[12];
        uint32_t seed = 77u + (uint32_t)round;
        for (int i = 0; i < 3; i++) {
            uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
            for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++) value[f] = (seed = seed * 1664525 + 1013904223) >> 29;
            if (round & 1) value[HD_MEMPROF_TOTAL_SIZE] = UINT64_MAX - value[HD_MEMPROF_TOTAL_SIZE]; /* sums end */
            part[i] = one_block(fields, value);
        }
        for (int i = 0; i < 12; i++) {
            const uint8_t *o = orders[i / 2];
            hd_memprof_index *two = i & 1 ? sum_of_two(part[o[1]], part[o[2]]) : sum_of_two(part[o[0]], part[o[1]]);
            sum[i] = i & 1 ? sum_of_two(part[o[0]], two) : sum_of_two(two, part[o[2]]);
            hd_memprof_index_free(two);
            assert_int_equal(sum[i]->block_count, 1);
            for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
                if (hd_memprof_index_value(sum[i], 0, f) != hd_memprof_index_value(*sum, 0, f)) differ |= HD_MEMPROF_FIELD(f);
        }
        for (int i = 0; i < 12; i++) hd_memprof_index_free(sum[i]);
        for (int i = 0; i < 3; i++) hd_memprof_index_free(part[i]);
    }
    assert_int_equal(differ, depends_on_order);
}

static void take_message(void *user, const hd_error *warning) {
    strcat(strcat((char *)user, warning->message), "\n");
    assert_int_equal(warning->status, HD_OVERFLOW);
}

#define SUM_OVERFLOWS(place, field)                                                                               \
    "allocations at " place ": the sum of " field " does not fit in 64 bits: it is set to 18446744073709551615, "  \
    "as other sums may be\n"
#define SUMS_OVERFLOW(place)                                                                                      \
    SUM_OVERFLOWS(place, "TotalAccessCount") SUM_OVERFLOWS(place, "TotalSize") SUM_OVERFLOWS(place, "TotalLifetime")

/* Each field overflows in turn. Leniently the sum stays at the largest number; strictly that is an error. */
static void a_sum_over_64_bits_is_reported(void **state) {
    char told[2000] = "";
    const hd_memprof_location at = { .function = 0x5, .line_offset = 7, .column = 9 }, named = { .function = 6, .name = hd_cstr("g") };
    const uint32_t fields = HD_MEMPROF_HOT_COLD | HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_ACCESS_COUNT);
    const hd_memprof_access sampled = { .symbol = hd_cstr("table"), .count = UINT64_MAX };
    (void)state;
    for (int lenient = 0; lenient < 2; lenient++)
        for (int what = 0; what < 3; what++) {
            hd_options options = { .lenient = lenient, .warning = take_message, .warning_user = told };
            hd_memprof_builder *b = hd_memprof_builder_create(NULL, &options, NULL);
            uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
            hd_memprof_index *x;
            hd_error err = { 0 };
            hd_status status = HD_OK;
            *told = 0;
            value[HD_MEMPROF_ALLOC_COUNT] = 1;
            value[HD_MEMPROF_TOTAL_SIZE] = value[HD_MEMPROF_TOTAL_LIFETIME] = value[HD_MEMPROF_TOTAL_ACCESS_COUNT] = UINT64_MAX;
            assert_int_equal(hd_memprof_builder_function(b, 5, NULL), HD_OK);
            for (int i = 0; i < 3 && !status; i++)
                status = what < 2 ? hd_memprof_builder_block(b, what ? &named : &at, 1, fields, value, &err)
                                  : hd_memprof_builder_access(b, &sampled, NULL, &err);
            if (!lenient) {
                assert_int_equal(status, HD_OVERFLOW);
                assert_string_equal(err.message, what == 0   ? "allocations at 0x5 +7:9: the sum of TotalAccessCount does not fit in 64 bits"
                                                 : what == 1 ? "allocations at g +0:0: the sum of TotalAccessCount does not fit in 64 bits"
                                                             : "accesses to table: the sum of AccessCount does not fit in 64 bits");
                assert_int_equal(hd_memprof_builder_finish(b, &x, NULL), HD_OVERFLOW);
                hd_memprof_builder_free(b);
                continue;
            }
            assert_int_equal(status, HD_OK);
            x = finished(b);
            if (what < 2) {
                assert_string_equal(told, what ? SUMS_OVERFLOW("g +0:0") : SUMS_OVERFLOW("0x5 +7:9"));
                assert_true(hd_memprof_index_value(x, 0, HD_MEMPROF_TOTAL_SIZE) == UINT64_MAX);
                assert_int_equal(hd_memprof_index_value(x, 0, HD_MEMPROF_ALLOC_COUNT), 3);
            } else {
                assert_string_equal(told, "accesses to table: the sum of AccessCount does not fit in 64 bits: it is set to 18446744073709551615, as other sums may be\n");
                assert_true(x->access[0].count == UINT64_MAX);
            }
            hd_memprof_index_free(x);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_a_context_are_summed_up_or_kept),
        cmocka_unit_test(values_that_contexts_share_are_added_to_one_by_one),
        cmocka_unit_test(fields_are_common_ones_or_all),
        cmocka_unit_test(call_sites_and_their_callees_unite),
        cmocka_unit_test(accesses_add_up_and_sampled_names_are_not_cold),
        cmocka_unit_test(misuse_is_refused_and_adds_nothing),
        cmocka_unit_test(a_single_index_keeps_its_sums_in_every_layout),
        cmocka_unit_test(order_and_grouping_do_not_change_the_sum),
        cmocka_unit_test(an_index_that_repeats_itself_is_added_as_its_blocks_are),
        cmocka_unit_test(only_these_fields_depend_on_the_order),
        cmocka_unit_test(a_sum_over_64_bits_is_reported),
        cmocka_unit_test(a_block_that_llvm_repeats_counts_once),
        cmocka_unit_test(blocks_that_differ_are_no_copies),
        cmocka_unit_test(blocks_without_fields_are_kept),
        cmocka_unit_test(blocks_only_of_callers_are_not_lost),
        cmocka_unit_test(names_that_differ_do_not_depend_on_the_order),
        cmocka_unit_test(a_name_with_a_file_is_better_than_one_without),
        cmocka_unit_test(many_callees_and_places_are_united),
        cmocka_unit_test(memory_follows_distinct_contexts),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests_name("memprof builder", tests, NULL, NULL);
}
