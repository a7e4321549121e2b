/* Object graphs: a graph returns the objects and references that were added, and analyses agree with brute force. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include "../heapdump.h"
#include "faults.h"
#include "graphs.h"
#include "heaps.h"
#include "long.h"

static const hd_root strong = { .kind = HD_ROOT_LOCAL, .container = HD_NONE },
                     weak = { .kind = HD_ROOT_HANDLE, .flags = HD_ROOT_WEAK, .container = HD_NONE };

static uint32_t add_class(hd_graph *g, const char *name) {
    hd_class c = { .id = hd_graph_class_count(g), .name = hd_cstr(name), .scope = hd_cstr(""), .described = true };
    uint32_t n = 0;
    assert_int_equal(hd_graph_add_class(g, &c, &n, NULL), HD_OK);
    return n;
}

/* Objects 0 .. n - 1; object k has 2^k bytes, and classes "A", "B", "C" take turns. Edges are pairs; -1 ends edges
   and roots. */
static hd_graph *make(int n, const int *edges, const int *roots) {
    hd_graph *g = hd_graph_create(NULL, NULL);
    add_class(g, "A");
    add_class(g, "B");
    add_class(g, "C");
    for (int i = 0; i < n; i++) {
        assert_int_equal(hd_graph_add_object(g, (uint64_t)i, 1 + (uint32_t)i % 3, (uint64_t)1 << i % 60, NULL), HD_OK);
        for (const int *e = edges; *e >= 0; e += 2)
            if (e[0] == i) assert_int_equal(hd_graph_add_references(g, &(uint64_t){ (uint64_t)e[1] }, 1, NULL), HD_OK);
    }
    for (; *roots >= 0; roots++) assert_int_equal(hd_graph_add_root(g, (uint64_t)*roots, &strong, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    return g;
}
#define MAKE(n, edges, roots) make(n, (const int[]){ edges -1 }, (const int[]){ roots -1 })
#define L(...) __VA_ARGS__,

static hd_dominators *dominators(const hd_graph *g) {
    hd_dominators *d = NULL;
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    return d;
}

/* Filling. -------------------------------------------------------------------------------------- */

static void objects_are_as_they_were_added(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(NULL, NULL);
    hd_class later = { .id = 77, .name = hd_cstr(""), .scope = hd_cstr(""), .described = false };
    hd_root root = { .kind = HD_ROOT_STATIC, .flags = HD_ROOT_PINNED | HD_ROOT_UNSAFE, .container = 1 };
    uint32_t n;
    assert_int_equal(hd_graph_add_class(g, &later, &n, NULL), HD_OK);
    assert_int_equal(n, 1);
    assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ 1 }, 1, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_object(g, 500, 2, 1, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_object(g, 500, 0, 1, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_object(g, 500, 1, 10, NULL), HD_OK);
    assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ 3, 999, 500, 0xffffffffffffffff }, 4, NULL), HD_OK);
    assert_int_equal(hd_graph_add_object(g, 3, 1, UINT32_MAX, NULL), HD_OK);
    assert_int_equal(hd_graph_add_object(g, UINT64_C(0x123456789ab), 1, UINT32_MAX - 1, NULL), HD_OK);
    assert_int_equal(hd_graph_add_size(g, 2, 1, NULL), HD_OK);
    assert_int_equal(hd_graph_add_size(g, 2, UINT64_C(1) << 40, NULL), HD_OK);
    assert_int_equal(hd_graph_add_size(g, 1, 5, NULL), HD_OK);
    assert_int_equal(hd_graph_add_size(g, 3, 5, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_size(g, 0, UINT64_MAX - 5, NULL), HD_OVERFLOW);
    later.name = hd_cstr("Named.Later");
    later.scope = hd_cstr("lib");
    later.described = true;
    assert_int_equal(hd_graph_set_class(g, 1, &later, NULL), HD_OK);
    assert_int_equal(hd_graph_set_class(g, 0, &later, NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_field(g, 1, 2, hd_cstr("self"), NULL), HD_OK);
    assert_int_equal(hd_graph_add_field(g, 1, 0, hd_cstr("next"), NULL), HD_OK);
    assert_int_equal(hd_graph_add_field(g, 0, 0, hd_cstr("next"), NULL), HD_INVALID);
    assert_int_equal(hd_graph_add_name(g, hd_cstr("thread main"), &root.name, NULL), HD_OK);
    root.name++;
    assert_int_equal(hd_graph_add_root(g, 3, &root, NULL), HD_OK);
    assert_int_equal(hd_graph_add_root(g, 4000, &strong, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    assert_int_equal(hd_graph_add_object(g, 501, 1, 10, NULL), HD_INVALID);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_INVALID);

    assert_int_equal(hd_graph_object_count(g), 6);
    hd_object o = hd_graph_object(g, 0);
    assert_int_equal(o.id, 500);
    assert_int_equal(o.size, 10);
    assert_int_equal(o.class_index, 1);
    assert_int_equal(o.reference_count, 4);
    assert_memory_equal(o.references, ((const uint32_t[]){ 1, 3, 0, 5 }), 16);
    assert_int_equal(hd_graph_object(g, 1).size, UINT64_C(0x100000004));
    assert_int_equal(hd_graph_object(g, 2).size, UINT32_MAX + (UINT64_C(1) << 40));
    assert_int_equal(hd_graph_object(g, 2).id, UINT64_C(0x123456789ab));
    assert_int_equal(hd_graph_object(g, 3).id, 999);
    assert_int_equal(hd_graph_object(g, 4).id, 4000);
    assert_int_equal(hd_graph_object(g, 4).class_index, 0);
    assert_int_equal(hd_graph_object(g, 4).reference_count, 0);
    assert_int_equal(hd_graph_object(g, 5).id, UINT64_MAX);
    assert_int_equal(hd_graph_find(g, 4000), 4);
    assert_int_equal(hd_graph_find(g, 500), 0);
    assert_int_equal(hd_graph_find(g, 501), HD_NONE);
    assert_int_equal(hd_graph_root_count(g), 2);
    hd_root r = hd_graph_root(g, 0);
    assert_true(r.object == 1 && r.kind == 4 && r.flags == 5 && r.container == 1);
    assert_true(hd_str_equal(hd_graph_root_name(g, &r), hd_cstr("thread main")));
    r.name++;
    assert_true(hd_str_equal(hd_graph_root_name(g, &r), hd_cstr("")));
    assert_true(hd_str_equal(hd_graph_root_name(g, &strong), hd_cstr("")));
    assert_true(hd_str_equal(hd_graph_field(g, 0, 0), hd_cstr("next")));
    assert_true(hd_str_equal(hd_graph_field(g, 0, 1), hd_cstr("")));
    assert_true(hd_str_equal(hd_graph_field(g, 0, 2), hd_cstr("self")));
    assert_true(hd_str_equal(hd_graph_field(g, 4, 0), hd_cstr("")));
    hd_graph_summary s = hd_graph_summarize(g);
    assert_int_equal(s.objects, 3);
    assert_int_equal(s.classes, 1);
    assert_int_equal(s.references, 4);
    assert_int_equal(s.missing_objects, 3);
    assert_int_equal(s.missing_references, 2);
    assert_int_equal(s.missing_roots, 1);
    assert_int_equal(s.bytes, 10 + UINT64_C(0x100000004) + UINT32_MAX + (UINT64_C(1) << 40));
    hd_graph_free(g);
}

/* Ids of n objects in `runs` ascending runs, one after the other or (`mixed`) each in the gaps of the others. */
static uint64_t run_id(uint32_t i, uint32_t n, uint32_t runs, bool mixed) {
    uint32_t length = n / runs, run = i / length < runs ? i / length : runs - 1, at = i - run * length;
    return mixed ? 1000 + 8 * ((uint64_t)at * runs + (runs - 1 - run)) : 1000 + 8 * ((uint64_t)(runs - run) * n + at);
}

/* `late`: what follows after the objects are sorted: an object, or a new id for one. */
static void check_runs(uint32_t n, uint32_t runs, bool mixed, int late, uint64_t base) {
    const uint32_t *order = NULL;
    hd_graph *g = hd_graph_create(NULL, NULL);
    add_class(g, "A");
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(hd_graph_add_object(g, base + run_id(i, n, runs, mixed), 1, 8, NULL), HD_OK);
    assert_int_equal(hd_graph_sort(g, &order, NULL), HD_OK);
    for (uint32_t i = 0; i + 1 < n; i++)
        assert_true(hd_graph_object_id(g, order[i]) < hd_graph_object_id(g, order[i + 1]));
    if (late == 1) assert_int_equal(hd_graph_add_object(g, 3, 1, 8, NULL), HD_OK);
    if (late == 2) assert_int_equal(hd_graph_set_id(g, n - 1, 3, NULL), HD_OK);
    assert_int_equal(hd_graph_object_id(g, n), late == 1 ? 3 : 0);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    for (uint32_t i = 0; i + 1 < n; i++)
        assert_int_equal(hd_graph_find(g, base + run_id(i, n, runs, mixed)), i);
    assert_int_equal(hd_graph_find(g, 3), late == 1 ? n : late == 2 ? n - 1 : HD_NONE);
    assert_int_equal(hd_graph_find(g, base + 1001), HD_NONE);
    assert_int_equal(hd_graph_object_id(g, n - 2), hd_graph_object(g, n - 2).id);
    assert_int_equal(hd_graph_object_id(g, n + 1), 0);
    hd_graph_free(g);
}

static void objects_are_sorted_by_id(void **state) {
    const uint32_t *order = NULL;
    hd_graph_desc dense = { .dense = true };
    hd_graph *g = hd_graph_create(NULL, NULL);
    (void)state;
    for (int k = 0; k < 12; k++) {
        uint64_t base = k < 6 ? 0 : UINT64_C(0x700000000);
        check_runs(1000, 1, false, k % 3, base), check_runs(1000, 3, k % 2, k % 3, base);
        check_runs(5000, 70, k % 2, k % 3, base), check_runs(1000, 500, k % 2, k % 3, base);
    }
    check_runs(2, 2, false, 0, UINT64_C(1) << 63);
    add_class(g, "A");
    for (uint32_t i = 0; i < 400; i++)
        assert_int_equal(hd_graph_add_object(g, i == 301 ? 44 : i < 300 ? 1000 + i : i - 300, 1, 8, NULL), HD_OK);
    assert_int_equal(hd_graph_sort(g, &order, NULL), HD_OK);
    assert_int_equal(order[0], 300);
    assert_int_equal(order[43], 301); /* of equal ids the first */
    assert_int_equal(order[44], 344);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_MALFORMED);
    assert_int_equal(hd_graph_duplicate(g), 344);
    hd_graph_free(g);
    g = hd_graph_create(&dense, NULL);
    assert_int_equal(hd_graph_sort(g, &order, NULL), HD_INVALID);
    hd_graph_free(g);
}

/* Names that come with their references are as those set one by one. */
static void references_come_with_names(void **state) {
    const uint32_t names[] = { 1, HD_NAME_INDEX + 7, 0 }, none[] = { HD_NONE };
    const uint64_t ids[] = { 10, 11, 12 };
    hd_graph *g = hd_graph_create(NULL, NULL);
    (void)state;
    add_class(g, "A");
    assert_int_equal(hd_graph_add_named(g, ids, names, 3, NULL), HD_INVALID); /* no object */
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(hd_graph_add_object(g, 10 + i, 1, 8, NULL), HD_OK);
        if (i == 1) assert_int_equal(hd_graph_add_named(g, ids, none, 1, NULL), HD_INVALID);
        if (i == 1) assert_int_equal(hd_graph_add_references(g, ids, 2, NULL), HD_OK);
        else assert_int_equal(hd_graph_add_named(g, ids, names, 3, NULL), HD_OK);
        assert_int_equal(hd_graph_add_named(g, ids, names, 0, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_add_name(g, hd_cstr("zero"), NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_add_name(g, hd_cstr("one"), NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    for (uint32_t o = 0; o < 3; o += 2) {
        assert_true(hd_str_equal(hd_graph_field(g, o, 0), hd_cstr("one")));
        assert_int_equal(hd_graph_index(g, o, 1), 7);
        assert_true(hd_str_equal(hd_graph_field(g, o, 2), hd_cstr("zero")));
    }
    assert_int_equal(hd_graph_object(g, 1).reference_count, 2);
    assert_int_equal(hd_graph_field(g, 1, 1).len, 0);
    assert_int_equal(hd_graph_index(g, 1, 1), HD_NONE);
    hd_graph_free(g);
}

static void references_are_shown_as_they_hold(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
    add_class(g, "A");
    assert_int_equal(hd_graph_set_kind(g, 0, 0, HD_REFERENCE_WEAK, NULL), HD_INVALID);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(hd_graph_add_object(g, 0, 1, 8, NULL), HD_OK);
        if (i % 2) assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ i, 99, 2, 3, 4, i }, 6, NULL), HD_OK);
        if (i != 3) continue;
        assert_int_equal(hd_graph_set_kind(g, 3, 5, HD_REFERENCE_WEAK, NULL), HD_OK);
        /* the value is marked before its key */
        assert_int_equal(hd_graph_set_kind(g, 3, 3, HD_REFERENCE_VALUE, NULL), HD_OK);
        assert_int_equal(hd_graph_set_kind(g, 3, 2, HD_REFERENCE_WEAK, NULL), HD_OK);
        assert_int_equal(hd_graph_set_kind(g, 3, 2, HD_REFERENCE_STRONG, NULL), HD_OK);
        assert_int_equal(hd_graph_set_kind(g, 3, 4, HD_REFERENCE_KEY, NULL), HD_OK);
        assert_int_equal(hd_graph_set_kind(g, 3, 1, HD_REFERENCE_KEY, NULL), HD_OK);
        assert_int_equal(hd_graph_set_kind(g, 3, 6, HD_REFERENCE_KEY, NULL), HD_INVALID);
        assert_int_equal(hd_graph_set_kind(g, 3, 0, 4, NULL), HD_INVALID);
    }
    hd_graph_add_root(g, 3, &strong, NULL);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_set_kind(g, 3, 0, HD_REFERENCE_WEAK, NULL), HD_INVALID);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    hd_object o = hd_graph_object(g, 1);
    assert_null(o.kinds);
    assert_memory_equal(o.references, ((const uint32_t[]){ 1, 5, 2, 3, 4, 1 }), 24);
    o = hd_graph_object(g, 3);
    assert_int_equal(o.reference_count, 6);
    assert_memory_equal(o.references, ((const uint32_t[]){ 3, 5, 2, 3, 4, 3 }), 24);
    assert_memory_equal(o.kinds, ((const uint8_t[]){ 0, 2, 0, 3, 1, 1 }), 6); /* the second key has no value */
    hd_graph_summary s = hd_graph_summarize(g);
    assert_int_equal(s.references, 12);
    assert_int_equal(s.weak_references, 4);
    assert_int_equal(s.missing_references, 2);
    assert_string_equal(hd_reference_kind_name(3), "value");
    assert_string_equal(hd_reference_kind_name(4), "unknown");
    hd_graph_free(g);
}

/* The columns for weak references cost no memory in a graph without weak references, except for a pointer. */
static void strong_graphs_take_no_more_memory(void **state) {
    (void)state;
    uint64_t used[2];
    for (int weakly = 0; weakly < 2; weakly++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
        add_class(g, "A");
        for (uint64_t i = 0; i < 1000; i++) {
            hd_graph_add_object(g, 0, 1, 8, NULL);
            hd_graph_add_references(g, (const uint64_t[]){ i, i / 2 }, 2, NULL);
            if (weakly) hd_graph_set_kind(g, (uint32_t)i, 1, HD_REFERENCE_WEAK, NULL);
        }
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        used[weakly] = hd_graph_summarize(g).memory;
        hd_graph_free(g);
    }
    assert_in_range(used[0], 1000 * (4 + 4 + 4 + 2 * 4), 1000 * (4 + 4 + 4 + 2 * 4) + 2500);
    assert_in_range(used[1], used[0] + 1, used[0] + 1000 * (4 + 4 + 4 + 2 * 5));
}

static void ids_twice_are_an_error(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(NULL, NULL);
    hd_error err;
    add_class(g, "A");
    for (uint64_t id = 10; id > 5; id--) assert_int_equal(hd_graph_add_object(g, id == 6 ? 9 : id, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, &err), HD_MALFORMED);
    assert_string_equal(err.message, "object 9 is described twice");
    hd_graph_free(g);
}

static void dense_graphs_store_no_ids(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true, .first_id = 1 }, NULL);
    add_class(g, "A");
    for (int i = 0; i < 3; i++) {
        hd_graph_add_object(g, 0, 1, 8, NULL);
        hd_graph_add_references(g, (const uint64_t[]){ (uint64_t)(i + 2) % 4, 3 }, 2, NULL);
    }
    hd_graph_add_root(g, 1, &strong, NULL);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    assert_memory_equal(hd_graph_object(g, 0).references, ((const uint32_t[]){ 1, 2, 2, 2, 3, 2 }), 24);
    assert_int_equal(hd_graph_object(g, 2).id, 3);
    assert_int_equal(hd_graph_object(g, 3).id, 0);   /* the sentinel for missing targets */
    assert_int_equal(hd_graph_find(g, 0), 3);
    assert_int_equal(hd_graph_find(g, 4), HD_NONE);
    assert_int_equal(hd_graph_root(g, 0).object, 0);
    hd_graph_free(g);
}

/* The numbers of objects do not depend on their ids, and ids may repeat. */
static void numbered_graphs_know_ids_too(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .numbered = true, .first_id = 10 }, NULL);
    add_class(g, "A");
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(hd_graph_add_object(g, i == 3 ? 5 : 7 - i + (i == 1) * (UINT64_C(1) << 40), 1, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ 10 + i, 9, 14, UINT64_MAX, 13 + (UINT64_C(1) << 32) },
                                                 5, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_add_root(g, 12, &strong, NULL), HD_OK);
    assert_int_equal(hd_graph_add_root(g, 10 + (UINT64_C(1) << 32), &strong, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    assert_int_equal(hd_graph_object_count(g), 5);
    assert_memory_equal(hd_graph_object(g, 3).references, ((const uint32_t[]){ 3, 4, 4, 4, 4 }), 20);
    assert_int_equal(hd_graph_object(g, 4).id, 9);
    assert_int_equal(hd_graph_find(g, 9), 4);
    assert_int_equal(hd_graph_find(g, 5), 2);
    assert_int_equal(hd_graph_find(g, 6 + (UINT64_C(1) << 40)), 1);
    assert_int_equal(hd_graph_duplicate(g), 3);
    assert_int_equal(hd_graph_root(g, 0).object, 2);
    assert_int_equal(hd_graph_root(g, 1).object, 4);
    hd_graph_free(g);
}

/* The random graph again, with objects and references written into columns, in pieces. */
static void columns_and_calls_make_the_same_graph(void **state) {
    (void)state;
    uint64_t random = 77;
    for (int round = 0; round < 500; round++) {
        uint32_t n = 1 + (uint32_t)hd__test_below(&random, 60), at = 0, done = 0, references = 0, first[61], target[600];
        bool dense = round % 3 == 0, late = round % 5 == 0;
        hd_graph_desc desc = { .numbered = round % 3 == 1, .dense = dense, .first_id = dense ? 3 : 0 };
        hd_graph *g[2] = { hd_graph_create(&desc, NULL), hd_graph_create(&desc, NULL) };
        hd_graph_columns c;
        for (int i = 0; i < 2; i++) add_class(g[i], "A"), add_class(g[i], "B");
        for (uint32_t o = 0; o < n; o++) {
            uint32_t count = (uint32_t)hd__test_below(&random, 10);
            assert_int_equal(hd_graph_add_object(g[0], 1000 - o, 1 + o % 2, o, NULL), HD_OK);
            first[o] = references;
            for (uint32_t k = 0; k < count; k++) {
                uint64_t to = hd__test_below(&random, n) + (desc.numbered || dense ? desc.first_id : 1001 - n);
                target[references++] = (uint32_t)to;
                assert_int_equal(hd_graph_add_references(g[0], &to, 1, NULL), HD_OK);
            }
        }
        first[n] = references;
        while (at < n) {
            uint32_t some = 1 + (uint32_t)hd__test_below(&random, n - at), end = first[at + some];
            assert_int_equal(hd_graph_reserve(g[1], some, late ? 0 : end - done, &c, NULL), HD_OK);
            assert_int_equal(c.objects, at);
            assert_int_equal(c.references, late ? 0 : done);
            assert_true(dense ? c.id == NULL : c.id != NULL);
            for (uint32_t o = at; o < at + some; o++) {
                if (c.id) c.id[o] = 1000 - o;
                c.class_index[o] = 1 + o % 2;
                c.size[o] = o;
                c.first[o] = first[o];
            }
            if (end - done && !late) memcpy(c.target + done, target + done, (end - done) * sizeof *target);
            assert_int_equal(hd_graph_commit(g[1], some, late ? 0 : end - done, NULL), HD_OK);
            at += some;
            done = end;
        }
        if (late) {
            assert_int_equal(hd_graph_reserve(g[1], 0, references, &c, NULL), HD_OK);
            if (references) memcpy(c.target, target, references * sizeof *target);
            assert_int_equal(hd_graph_commit(g[1], 0, references, NULL), HD_OK);
        }
        for (int i = 0; i < 2; i++) assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_validate(g[1], NULL), HD_OK);
        assert_int_equal(hd_graph_summarize(g[0]).bytes, hd_graph_summarize(g[1]).bytes);
        for (uint32_t o = 0; o < n; o++) {
            hd_object x = hd_graph_object(g[0], o), y = hd_graph_object(g[1], o);
            assert_true(x.id == y.id && x.size == y.size && x.class_index == y.class_index);
            assert_int_equal(x.reference_count, y.reference_count);
            if (x.reference_count) assert_memory_equal(x.references, y.references, 4 * x.reference_count);
        }
        for (int i = 0; i < 2; i++) hd_graph_free(g[i]);
    }
}

/* Committing columns reports their faults, or else sealing the graph does. */
static void columns_are_checked(void **state) {
    (void)state;
    for (int wrong = 0; wrong < 10; wrong++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true, .limits.max_records = 5 }, NULL);
        hd_graph_columns c;
        hd_error err = { 0 };
        add_class(g, "A");
        assert_int_equal(hd_graph_reserve(g, 6, 0, &c, &err), HD_LIMIT);
        assert_string_equal(err.message, "more objects, references, roots or classes than max_records of 5");
        assert_int_equal(hd_graph_reserve(g, 0, 6, &c, NULL), HD_LIMIT);
        assert_int_equal(hd_graph_reserve(g, 2, 3, &c, NULL), HD_OK);
        for (uint32_t o = 0; o < 2; o++) c.class_index[o] = 1, c.size[o] = UINT32_MAX - 1, c.first[o] = 2 * o;
        for (uint32_t i = 0; i < 3; i++) c.target[i] = 0;
        if (wrong == 1) c.class_index[1] = 0;
        if (wrong == 2) c.class_index[0] = 2;
        if (wrong == 3) c.size[1] = UINT32_MAX;
        if (wrong == 4) c.first[0] = 1;
        if (wrong == 5) c.first[1] = 4;
        if (wrong == 6) c.first[1] = UINT32_MAX;
        assert_int_equal(hd_graph_commit(g, 3, 3, &err), HD_INVALID);
        if (wrong == 7) assert_int_equal(hd_graph_commit(g, 0, 3, &err), HD_OK);
        else if (wrong == 8) assert_int_equal(hd_graph_add_size(g, 0, 1, &err), HD_INVALID);
        else if (wrong < 1 || wrong > 3) assert_int_equal(hd_graph_commit(g, 2, 3, &err), HD_OK);
        else assert_int_equal(hd_graph_commit(g, 2, 3, &err), HD_INVALID);
        if (wrong == 0 || wrong == 9) {
            assert_int_equal(hd_graph_set_kind(g, 1, 0, HD_REFERENCE_WEAK, &err), HD_OK);
            assert_int_equal(hd_graph_set_kind(g, 1, 1, HD_REFERENCE_WEAK, &err), HD_INVALID);
            assert_int_equal(hd_graph_set_kind(g, 2, 0, HD_REFERENCE_WEAK, &err), HD_INVALID);
            assert_int_equal(hd_graph_set_name(g, 1, 1, 0, &err), HD_INVALID);
            assert_int_equal(hd_graph_set_name(g, 0, 1, 7, &err), HD_OK);
            if (!wrong) assert_int_equal(hd_graph_set_name(g, 0, 1, HD_NONE, &err), HD_OK);
            assert_int_equal(hd_graph_add_size(g, 0, 5, &err), HD_OK);
        }
        assert_int_equal(hd_graph_seal(g, NULL, &err), (wrong >= 4 && wrong <= 7) || wrong == 9 ? HD_INVALID : HD_OK);
        if (!wrong) assert_int_equal(hd_graph_object(g, 0).size, UINT64_C(0x100000003));
        if (!wrong) assert_int_equal(hd_graph_object(g, 1).kinds[0], HD_REFERENCE_WEAK);
        if (wrong == 9) assert_non_null(strstr(err.message, "a name that was never added"));
        hd_graph_free(g);
    }
}

/* The name of a single reference takes precedence over the class's name for it. It stays with its reference next to
   weak references, and in merged graphs. */
static void references_have_names_of_their_own(void **state) {
    (void)state;
    hd_graph *g[2], *m = NULL;
    for (uint64_t i = 0; i < 2; i++) {
        g[i] = hd_graph_create(NULL, NULL);
        add_class(g[i], "A");
        for (uint64_t k = 0; k < 3; k++) {
            assert_int_equal(hd_graph_add_object(g[i], 10 * i + k, 1, 8, NULL), HD_OK);
            assert_int_equal(hd_graph_add_references(g[i], (const uint64_t[]){ 0, 10, 2 }, 3, NULL), HD_OK);
        }
        assert_int_equal(hd_graph_add_field(g[i], 1, 1, hd_cstr("of the class"), NULL), HD_OK);
        assert_int_equal(hd_graph_set_name(g[i], 0, 1, 1, NULL), HD_OK);
        assert_int_equal(hd_graph_set_name(g[i], 1, 2, 0, NULL), HD_OK);
        assert_int_equal(hd_graph_set_name(g[i], 2, 0, 1, NULL), HD_OK);
        if (i) assert_int_equal(hd_graph_set_kind(g[i], 0, 0, HD_REFERENCE_WEAK, NULL), HD_OK);
        if (i) assert_int_equal(hd_graph_set_kind(g[i], 1, 1, HD_REFERENCE_WEAK, NULL), HD_OK);
        assert_int_equal(hd_graph_add_name(g[i], hd_cstr("two"), NULL, NULL), HD_OK);
        uint32_t number;
        assert_int_equal(hd_graph_add_name(g[i], hd_cstr(i ? "zero of 1" : "zero"), &number, NULL), HD_OK);
        assert_int_equal(number, 1);
        assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_validate(g[i], NULL), HD_OK);
    }
    assert_int_equal(hd_graph_merge((const hd_graph *const *)g, 2, NULL, &m, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(m, NULL), HD_OK);
    assert_int_equal(hd_graph_object_count(m), 6);
    for (uint32_t o = 0; o < 12; o++) {
        const hd_graph *of = o < 3 ? g[0] : o < 6 ? g[1] : m;
        const char *zero = o < 3 || (o >= 6 && o < 9) ? "zero" : "zero of 1";
        uint32_t object = o < 3 ? o : o < 6 ? o - 3 : o - 6;
        const char *names[3][3] = { { "", zero, "" }, { "", "of the class", "two" }, { zero, "of the class", "" } };
        for (uint32_t k = 0; k < 3; k++)
            if (!hd_str_equal(hd_graph_field(of, object, k), hd_cstr(names[o % 3][k]))) fail_msg("object %u, reference %u", o, k);
    }
    assert_true(hd_str_equal(hd_graph_field(m, 0, 3), hd_cstr("")));
    hd_graph_free(m);
    for (int i = 0; i < 2; i++) hd_graph_free(g[i]);
}

/* Ids of any kind can be found: clustered, far apart, in random order. */
static void ids_are_found(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < 60; round++) {
        enum { N = 2000 };
        static uint64_t ids[N];
        hd_graph *g = hd_graph_create(NULL, NULL);
        uint32_t n = 1 + (uint32_t)hd__test_below(&random, round % 3 ? N - 1 : 12);
        add_class(g, "A");
        for (uint32_t i = 0; i < n; i++) {
            uint64_t x = hd__test_random(&random);
            ids[i] = round % 5 == 0   ? x
                     : round % 5 == 1 ? (uint64_t)i * 4 + 1000
                     : round % 5 == 2 ? (uint64_t)(n - i) * 7
                     : round % 5 == 3 ? ((uint64_t)i * 0x9e3779b1u & 0xffffffffu)
                                      : (i % 2 ? (uint64_t)i : UINT64_MAX - i);
            assert_int_equal(hd_graph_add_object(g, ids[i], 1, 1, NULL), HD_OK);
        }
        for (uint32_t i = 0; i < n; i++) hd_graph_add_references(g, &ids[n - 1 - i], 1, NULL);
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
        assert_int_equal(hd_graph_object_count(g), n);
        hd_object last = hd_graph_object(g, n - 1);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(hd_graph_find(g, ids[i]), i);
            assert_int_equal(last.references[i], n - 1 - i);
            if (round % 5 == 1) assert_int_equal(hd_graph_find(g, ids[i] + 2), HD_NONE);
        }
        hd_graph_free(g);
    }
}

/* More objects than one batch of lookups. Covers references by shelves, sorting by a leading digit, and merging of
   runs. */
static void many_ids_are_found(void **state) {
    (void)state;
    const uint32_t N = (uint32_t)long_or_short(300000, 60000);
    uint64_t *ids = malloc(N * sizeof *ids), *targets = malloc(2 * N * sizeof *targets), random = 4;
    for (int round = 0; round < 8; round++) {
        hd_graph *g = hd_graph_create(NULL, NULL);
        uint32_t missing = 0;
        add_class(g, "A");
        for (uint32_t i = 0; i < N; i++) {
            uint64_t x = (uint64_t)i * 0x9e3779b1u & 0xffffffffu; /* different x for different i */
            ids[i] = round == 0 ? x : round == 1 ? x << 20 : round == 2 ? x | (uint64_t)(i % 3) << 60
                     : round == 3 ? i ^ 1u : i % 1000 ? i ^ 1u : UINT64_MAX - i; /* most ids in few ranges */
            if (round >= 5) ids[i] = i % (N / 7 + 1) * 7 + i / (N / 7 + 1); /* seven runs */
            if (round == 6) ids[i] <<= 31;
            if (round == 7 && i % (N / 3) == 5) ids[i] += UINT32_MAX / 2; /* two runs; the last one is short */
        }
        for (uint32_t i = 0; i < N; i++) {
            size_t count = hd__test_below(&random, 4);
            uint64_t *target = targets + 2 * (size_t)i, there;
            target[0] = hd__test_below(&random, N);
            target[1] = hd__test_below(&random, N);
            there = ids[target[1]];
            if (count == 3) there = UINT64_C(0x7fffffff00000000) + (missing++ % 100); /* nobody's */
            assert_int_equal(hd_graph_add_object(g, ids[i], 1, 1, NULL), HD_OK);
            assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ ids[target[0]], there }, 2, NULL), HD_OK);
            if (count == 3) target[1] = there;
        }
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_summarize(g).missing_references, missing);
        assert_int_equal(hd_graph_summarize(g).missing_objects, 100);
        for (uint32_t i = 0; i < N; i++) {
            hd_object o = hd_graph_object(g, i);
            uint64_t second = hd_graph_object(g, o.references[1]).id, wanted = targets[2 * (size_t)i + 1];
            if (o.references[0] != targets[2 * (size_t)i] || hd_graph_find(g, ids[i]) != i ||
                second != (wanted < N ? ids[wanted] : wanted))
                fail_msg("round %d, object %u", round, i);
        }
        hd_graph_free(g);
    }
    free(targets);
    free(ids);
}

static void one_of_many_ids_twice_is_an_error(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(NULL, NULL);
    hd_error err = { 0 };
    add_class(g, "A");
    for (uint32_t i = 0; i < 300000; i++) {
        uint64_t n = i == 299000 ? 77 : i == 299500 ? 5 : i;
        assert_int_equal(hd_graph_add_object(g, n * 0x9e3779b1u & 0xffffffffu, 1, 1, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_seal(g, NULL, &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "object 96af9a3d is described twice"));
    hd_graph_free(g);
}

/* Brute force. ---------------------------------------------------------------------------------- */

enum { MOST = 24 };
typedef struct brute {
    uint32_t n;
    uint64_t all, without[MOST]; /* reachable objects as bits; the same without one object. Live ephemerons' values
                                    hang from their keys */
} brute;

static uint8_t kind_of(const hd_object *o, uint32_t reference) { return o->kinds ? o->kinds[reference] : 0; }

/* The `k`th key or value of an object; HD_NONE if it has fewer. */
static uint32_t nth_of_kind(const hd_object *o, uint8_t kind, uint32_t k) {
    for (uint32_t i = 0; i < o->reference_count; i++)
        if (kind_of(o, i) == kind && !k--) return o->references[i];
    return HD_NONE;
}

/* The targets of an object's strong references, and the values of ephemerons in `objects` with this object as key. */
static uint64_t brute_held(const hd_graph *g, uint32_t object, uint64_t objects) {
    hd_object o = hd_graph_object(g, object);
    uint64_t held = 0;
    for (uint32_t i = 0; i < o.reference_count; i++)
        if (!kind_of(&o, i)) held |= UINT64_C(1) << o.references[i];
    for (uint32_t e = 0; e < hd_graph_object_count(g); e++) {
        hd_object x = hd_graph_object(g, e);
        if (!(objects >> e & 1)) continue;
        for (uint32_t k = 0; nth_of_kind(&x, HD_REFERENCE_KEY, k) != HD_NONE; k++)
            if (nth_of_kind(&x, HD_REFERENCE_KEY, k) == object)
                held |= UINT64_C(1) << nth_of_kind(&x, HD_REFERENCE_VALUE, k);
    }
    return held;
}

static uint64_t brute_roots(const hd_graph *g) {
    uint64_t roots = 0;
    for (uint32_t i = 0; i < hd_graph_root_count(g); i++)
        if (!(hd_graph_root(g, i).flags & HD_ROOT_WEAK)) roots |= UINT64_C(1) << hd_graph_root(g, i).object;
    return roots;
}

/* Ephemerons in `alive` count; 0: those reached so far. */
static uint64_t brute_walk(const hd_graph *g, uint64_t gone, uint64_t alive) {
    uint64_t seen = 0, next = brute_roots(g);
    while ((next &= ~gone) & ~seen) {
        seen |= next;
        for (uint32_t o = 0; o < hd_graph_object_count(g); o++)
            if (seen >> o & 1) next |= brute_held(g, o, alive ? alive : seen);
    }
    return seen;
}

static uint64_t brute_reach(const hd_graph *g, uint64_t gone) { return brute_walk(g, gone, 0); }

static uint64_t brute_bytes(const hd_graph *g, uint64_t objects) {
    uint64_t sum = 0;
    for (uint32_t o = 0; o < hd_graph_object_count(g); o++)
        if (objects >> o & 1) sum += hd_graph_object(g, o).size;
    return sum;
}

static brute brute_all(const hd_graph *g) {
    brute b = { .n = hd_graph_object_count(g) };
    assert_in_range(b.n, 0, MOST);
    b.all = brute_reach(g, 0);
    for (uint32_t o = 0; o < b.n; o++) b.without[o] = b.all ? brute_walk(g, UINT64_C(1) << o, b.all) : 0;
    return b;
}

static uint32_t bits(uint64_t x) { return (uint32_t)__builtin_popcountll(x); }

/* The objects that o dominates, including o. */
static uint64_t dominated(const brute *b, uint32_t o) { return b->all & ~b->without[o]; }

static void dominators_agree(const hd_graph *g, const brute *b, const hd_dominators *d) {
    uint64_t placed = 0;
    assert_int_equal(d->count, b->n);
    assert_int_equal(d->reached, bits(b->all));
    assert_int_equal(d->bytes, brute_bytes(g, b->all));
    for (uint32_t o = 0; o < b->n; o++) {
        uint32_t nearest = HD_NONE;
        if (!(b->all >> o & 1)) {
            assert_int_equal(d->parent[o], HD_NONE);
            assert_int_equal(d->position[o], HD_NONE);
            assert_int_equal(d->below[o], 0);
            assert_int_equal(d->retained[o], 0);
            continue;
        }
        for (uint32_t p = 0; p < b->n; p++)
            if (p != o && dominated(b, p) >> o & 1 &&
                (nearest == HD_NONE || dominated(b, nearest) >> p & 1))
                nearest = p;
        assert_int_equal(d->parent[o], nearest);
        assert_int_equal(d->retained[o], brute_bytes(g, dominated(b, o)));
        assert_int_equal(d->below[o], bits(dominated(b, o)));
        uint64_t range = 0;
        for (uint32_t k = 0; k < d->below[o]; k++) range |= UINT64_C(1) << d->order[d->position[o] + k];
        assert_int_equal(range, dominated(b, o));
        assert_int_equal(d->order[d->position[o]], o);
        placed |= UINT64_C(1) << o;
    }
    assert_int_equal(placed, b->all);
}

static void reach_agrees(const hd_graph *g, const brute *b, uint64_t *random) {
    uint8_t reached[MOST];
    uint32_t objects[MOST] = { 0 }, n = 0;
    uint64_t set = 0, rest;
    hd_total total;
    assert_int_equal(hd_graph_reach(g, NULL, 0, NULL, reached, &total, NULL), HD_OK);
    for (uint32_t o = 0; o < b->n; o++) assert_int_equal(reached[o], b->all >> o & 1);
    assert_int_equal(total.bytes, brute_bytes(g, b->all));
    for (uint32_t o = 0; o < b->n; o++)
        if (hd__test_below(random, 4) == 0) set |= UINT64_C(1) << o, objects[n++] = o;
    rest = brute_reach(g, set);
    assert_int_equal(hd_graph_retained(g, objects, n, NULL, &total, NULL), HD_OK);
    assert_int_equal(total.bytes, brute_bytes(g, b->all & ~rest));
    uint64_t described = 0;
    for (uint32_t o = 0; o < b->n; o++) described |= (uint64_t)(hd_graph_object(g, o).class_index != 0) << o;
    assert_int_equal(total.objects, bits(b->all & ~rest & described));
}

/* Sets that share objects, an empty one, and one with an object twice. */
static void sets_agree(const hd_graph *g, const brute *b, uint64_t *random) {
    enum { SETS = 70 };
    uint32_t objects[SETS * 4];
    size_t first[SETS + 1] = { 0 };
    uint64_t set[SETS] = { 0 };
    hd_total totals[SETS];
    for (size_t i = 0; i < SETS; i++) {
        first[i + 1] = first[i];
        for (uint64_t k = hd__test_below(random, 5); k && b->n; k--) {
            uint32_t o = (uint32_t)hd__test_below(random, b->n);
            objects[first[i + 1]++] = o;
            set[i] |= UINT64_C(1) << o;
        }
    }
    assert_int_equal(hd_graph_sets_retained(g, objects, first, SETS, NULL, totals, NULL), HD_OK);
    for (size_t i = 0; i < SETS; i++) {
        hd_total total;
        assert_int_equal(totals[i].bytes, brute_bytes(g, b->all & ~brute_reach(g, set[i])));
        assert_int_equal(hd_graph_retained(g, objects + first[i], first[i + 1] - first[i], NULL, &total, NULL), HD_OK);
        assert_true(totals[i].bytes == total.bytes && totals[i].objects == total.objects);
    }
}

static void classes_agree(const hd_graph *g, const brute *b, const hd_dominators *d) {
    hd_histogram *h = NULL;
    uint32_t rows = 0, classes[] = { 4, 1, 3, 2 }, count = hd_graph_class_count(g) - 1;
    hd_total totals[4];
    assert_int_equal(hd_graph_histogram(g, d, NULL, &h, NULL), HD_OK);
    assert_int_equal(hd_graph_classes_retained(g, classes + 4 - count, count, NULL, totals, NULL), HD_OK);
    for (uint32_t c = 1; c < hd_graph_class_count(g); c++) {
        uint64_t all = 0, below = 0;
        hd_total total;
        for (uint32_t o = 0; o < b->n; o++)
            if (hd_graph_object(g, o).class_index == c) all |= UINT64_C(1) << o, below |= dominated(b, o);
        assert_int_equal(hd_graph_classes_retained(g, &c, 1, NULL, &total, NULL), HD_OK);
        assert_int_equal(total.bytes, brute_bytes(g, b->all & ~brute_reach(g, all)));
        for (uint32_t i = 0; i < count; i++)
            if (classes[4 - count + i] == c)
                assert_true(totals[i].bytes == total.bytes && totals[i].objects == total.objects);
        for (uint32_t i = 0; i < h->count; i++) {
            if (h->rows[i].class_index != c) continue;
            rows++;
            assert_int_equal(h->rows[i].objects, bits(all));
            assert_int_equal(h->rows[i].bytes, brute_bytes(g, all));
            assert_int_equal(h->rows[i].live_objects, bits(all & b->all));
            assert_int_equal(h->rows[i].live_bytes, brute_bytes(g, all & b->all));
            assert_int_equal(h->rows[i].retained, brute_bytes(g, below));
            assert_true(h->rows[i].retained <= total.bytes);
            if (i) assert_true(h->rows[i - 1].retained >= h->rows[i].retained);
        }
    }
    assert_int_equal(rows, h->count);
    hd_histogram_free(h);
}

static void referrers_agree(const hd_graph *g) {
    hd_links *links = NULL;
    uint32_t n = 0, at[MOST];
    assert_int_equal(hd_graph_referrers(g, NULL, &links, NULL), HD_OK);
    for (uint32_t o = 0; o < links->count; o++) at[o] = links->first[o];
    for (uint32_t o = 0; o < links->count; o++)
        for (uint32_t k = 0; k < hd_graph_object(g, o).reference_count; k++, n++) {
            uint32_t to = hd_graph_object(g, o).references[k];
            assert_true(at[to] < links->first[to + 1]);
            assert_int_equal(links->target[at[to]++], o);
        }
    assert_int_equal(links->first[links->count], n);
    hd_links_free(links);
}

/* Steps from a root to an object without the objects `gone`; -1 if there is no path. */
static int brute_distance(const hd_graph *g, const brute *b, uint32_t object, uint64_t gone) {
    uint64_t seen = 0, next = brute_roots(g);
    for (int steps = 0; (next &= ~gone) & ~seen; steps++) {
        if (next >> object & 1) return steps;
        seen |= next;
        uint64_t from = next;
        for (uint32_t o = 0; o < hd_graph_object_count(g); o++)
            if (from >> o & 1) next |= brute_held(g, o, b->all);
    }
    return -1;
}

/* Whether the step of a path from its `k`th object is valid. */
static void step_agrees(const hd_graph *g, const brute *b, const hd_path *p, uint32_t k) {
    hd_object o = hd_graph_object(g, p->objects[k]);
    uint32_t pair = 0;
    if (p->references[k] != HD_NONE) {
        assert_int_equal(o.references[p->references[k]], p->objects[k + 1]);
        assert_int_equal(kind_of(&o, p->references[k]), HD_REFERENCE_STRONG);
        if (p->ephemerons) assert_int_equal(p->ephemerons[k], HD_NONE);
        return;
    }
    o = hd_graph_object(g, p->ephemerons[k]);
    assert_true(b->all >> p->ephemerons[k] & 1);
    while (nth_of_kind(&o, HD_REFERENCE_KEY, pair) != p->objects[k] ||
           nth_of_kind(&o, HD_REFERENCE_VALUE, pair) != p->objects[k + 1])
        assert_true(nth_of_kind(&o, HD_REFERENCE_KEY, pair++) != HD_NONE);
}

/* For each object, the object from which a breadth-first walk first reaches it; roots and references are in order. A
   root has itself; HD_NONE marks an unreachable object. */
static void brute_first(const hd_graph *g, const brute *b, uint32_t object, uint64_t gone, uint32_t from[MOST]) {
    uint32_t queue[MOST + 1], end = 0;
    for (uint32_t o = 0; o < MOST; o++) from[o] = HD_NONE;
    for (uint32_t i = 0; i < hd_graph_root_count(g); i++) {
        hd_root r = hd_graph_root(g, i);
        if ((r.flags & HD_ROOT_WEAK) || r.object == object || from[r.object] != HD_NONE || gone >> r.object & 1) continue;
        from[r.object] = r.object;
        queue[end++] = r.object;
    }
    for (uint32_t at = 0; at < end; at++) {
        uint32_t next[MOST * 10], n = 0;
        hd_object o = hd_graph_object(g, queue[at]);
        for (uint32_t i = 0; i < o.reference_count; i++)
            if (!kind_of(&o, i)) next[n++] = o.references[i];
        for (uint32_t e = 0; e < b->n; e++) {
            hd_object x = hd_graph_object(g, e);
            for (uint32_t k = 0; b->all >> e & 1 && nth_of_kind(&x, HD_REFERENCE_KEY, k) != HD_NONE; k++)
                if (nth_of_kind(&x, HD_REFERENCE_KEY, k) == queue[at])
                    next[n++] = nth_of_kind(&x, HD_REFERENCE_VALUE, k);
        }
        for (uint32_t i = 0; i < n; i++) {
            if (from[next[i]] != HD_NONE || gone >> next[i] & 1) continue;
            from[next[i]] = queue[at];
            if (next[i] != object) queue[end++] = next[i];
        }
    }
}

static void paths_agree(const hd_graph *g, const brute *b, uint32_t object) {
    hd_paths *paths = NULL;
    uint64_t used = 0;
    assert_int_equal(hd_graph_paths(g, object, 4, NULL, &paths, NULL), HD_OK);
    assert_int_equal(paths->count > 0, b->all >> object & 1);
    for (uint32_t i = 0; i < paths->count; i++) {
        hd_path p = paths->paths[i];
        hd_root root = hd_graph_root(g, p.root);
        assert_false(root.flags & HD_ROOT_WEAK);
        assert_int_equal(root.object, p.objects[0]);
        assert_int_equal(p.objects[p.length - 1], object);
        assert_int_equal(p.references[p.length - 1], HD_NONE);
        for (uint32_t k = 0; k + 1 < p.length; k++) step_agrees(g, b, &p, k);
        if (p.length > 1) {      /* paths of length 1 differ by their roots */
            uint32_t from[MOST];
            brute_first(g, b, object, used, from);
            for (uint32_t k = p.length - 1; k > 0; k--) assert_int_equal(from[p.objects[k]], p.objects[k - 1]);
            assert_int_equal(from[p.objects[0]], p.objects[0]);
            for (uint32_t k = 0; k + 1 < p.length; k++) assert_false(used >> p.objects[k] & 1);
            if (!(i && paths->paths[0].length == 1))
                assert_int_equal(brute_distance(g, b, object, used), p.length - 1);
        }
        for (uint32_t k = 0; k + 1 < p.length; k++) used |= UINT64_C(1) << p.objects[k];
    }
    if (paths->count && paths->paths[0].length > 1 && paths->count < 4)
        assert_int_equal(brute_distance(g, b, object, used), -1);
    hd_paths_free(paths);
}

/* The tree equals the tree of a profile: its cells are at the class names along the dominators, and objects with
   records are its blocks. */
static void tree_agrees(const hd_graph *g, const hd_dominators *d, bool every_link, hd_cutoff cutoff) {
    hd_profile *p = hd_profile_create(&(hd_profile_desc){ .axis_count = 1, .axis_name = { "dominator" } }, NULL);
    hd_breakdown *ours = NULL, *theirs = NULL;
    uint32_t node[MOST], described = (uint32_t)hd_graph_summarize(g).objects;
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], up = d->parent[o], c = hd_graph_object(g, o).class_index;
        hd_str name = hd_graph_class(g, c).name;
        if (up != HD_NONE && !every_link && hd_str_equal(name, hd_graph_class(g, hd_graph_object(g, up).class_index).name))
            node[o] = node[up];
        else
            assert_int_equal(hd_profile_node(p, 0, up == HD_NONE ? 0 : node[up], name, &node[o], NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, &node[o], hd_graph_object(g, o).size, o < described, NULL), HD_OK);
    }
    hd_dominator_options options = { .cutoff = cutoff, .every_link = every_link };
    assert_int_equal(hd_dominator_tree(g, d, &options, &ours, NULL), HD_OK);
    assert_int_equal(hd_export(p, &cutoff, NULL, &theirs, NULL), HD_OK);
    char *a = breakdown_text(ours), *b = breakdown_text(theirs);
    assert_string_equal(a, b);
    free(a);
    free(b);
    hd_breakdown_free(ours);
    hd_breakdown_free(theirs);
    hd_profile_free(p);
}

/* One of `weakness` references is not strong; 0: all are strong. */
static hd_graph *random_graph(uint64_t *random, uint64_t weakness) {
    hd_graph *g = hd_graph_create(NULL, NULL);
    uint32_t n = 1 + (uint32_t)hd__test_below(random, MOST - 4), most = 1 + (uint32_t)hd__test_below(random, 5);
    uint32_t roots = (uint32_t)hd__test_below(random, 4);
    for (int i = 0; i < 4; i++) add_class(g, (const char *[]){ "A", "B", "C", "A" }[i]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = (uint32_t)hd__test_below(random, most + 1);
        hd_graph_add_object(g, i, 1 + (uint32_t)hd__test_below(random, 4), (uint64_t)1 << i, NULL);
        for (uint32_t k = 0; k < count; k++) /* two ids belong to no object */
            hd_graph_add_references(g, (const uint64_t[]){ hd__test_below(random, n + (most == 3 ? 2 : 0)) }, 1, NULL);
        for (uint32_t k = count; k-- > 0 && weakness;)
            if (!hd__test_below(random, weakness))
                assert_int_equal(hd_graph_set_kind(g, i, k, 1 + (uint32_t)hd__test_below(random, 3), NULL), HD_OK);
    }
    for (uint32_t i = 0; i <= roots; i++)
        hd_graph_add_root(g, hd__test_below(random, n + (roots == 3)), hd__test_below(random, 4) ? &strong : &weak, NULL);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    return g;
}

static void all_agrees(hd_graph *g, uint64_t *random) {
    brute b = brute_all(g);
    hd_dominators *d = dominators(g);
    assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    dominators_agree(g, &b, d);
    reach_agrees(g, &b, random);
    sets_agree(g, &b, random);
    classes_agree(g, &b, d);
    referrers_agree(g);
    for (uint32_t o = 0; o < b.n; o++) paths_agree(g, &b, o);
    hd_cutoff cutoff = { .min_bytes = hd__test_below(random, 3) ? 0 : UINT64_C(1) << hd__test_below(random, 20),
                         .top = (uint32_t)hd__test_below(random, 4) };
    tree_agrees(g, d, hd__test_below(random, 2), cutoff);
    hd_dominators_free(d);
}

static void random_graphs_agree_with_brute_force(void **state) {
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < long_or_short(6000, 1500); round++) {
        hd_graph *g = random_graph(&random, (uint64_t)(round % 3));
        all_agrees(g, &random);
        hd_graph_free(g);
    }
}

/* Graphs on which dominator algorithms have failed. */
static void hand_made_graphs_agree_with_brute_force(void **state) {
    (void)state;
    uint64_t random = 9;
    hd_graph *graphs[] = {
        MAKE(1, , L(0)), MAKE(1, , ), MAKE(1, L(0, 0), L(0, 0)), MAKE(3, L(0, 1, 1, 0, 1, 1), ),
        MAKE(4, L(0, 1, 0, 2, 1, 3, 2, 3), L(0)),                      /* a diamond */
        MAKE(5, L(0, 1, 1, 2, 2, 1, 3, 4, 4, 3), L(0)),                /* cycles, one of them unreachable */
        MAKE(6, L(0, 2, 1, 2, 2, 3, 3, 4, 4, 2, 3, 5), L(0, 1)),       /* two roots */
        MAKE(6, L(0, 1, 0, 2, 1, 3, 2, 4, 3, 4, 4, 3, 3, 5, 4, 5), L(0)), /* irreducible */
        MAKE(8, L(0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 3, 5, 1, 0, 6), L(0)),
        MAKE(8, L(0, 1, 0, 2, 0, 3, 1, 4, 2, 4, 2, 5, 3, 5, 4, 6, 5, 6, 6, 7, 7, 4), L(0, 7)),
        MAKE(4, L(0, 1, 1, 2, 2, 3, 0, 3, 0, 2), L(0, 0, 3)),
        MAKE(13, L(0, 1, 0, 2, 0, 3, 1, 4, 2, 1, 2, 4, 2, 5, 3, 6, 3, 7, 4, 12, 5, 8, 6, 9, 7, 9, 7, 10, 8, 5, 8, 11,
                   9, 11, 10, 9, 11, 9, 11, 0, 12, 8), L(0)),            /* the figure of Lengauer and Tarjan */
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        all_agrees(graphs[i], &random);
        if (i + 1 == sizeof graphs / sizeof *graphs) {
            hd_dominators *d = dominators(graphs[i]);
            static const uint32_t parent[] = { HD_NONE, 0, 0, 0, 0, 0, 3, 3, 0, 0, 7, 0, 4 };
            assert_memory_equal(d->parent, parent, sizeof parent);
            hd_dominators_free(d);
        }
        hd_graph_free(graphs[i]);
    }
}

/* Large. ---------------------------------------------------------------------------------------- */

enum { MILLION = 1000000 };

static void a_chain_a_million_deep(void **state) {
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
        hd_breakdown *b = NULL;
        hd_paths *paths = NULL;
        add_class(g, "Node");
        add_class(g, "Other");
        for (uint64_t i = 0; i < MILLION; i++) {
            hd_graph_add_object(g, i, backward && i % 2 ? 2 : 1, 8, NULL);
            if (backward ? i > 0 : i + 1 < MILLION)
                hd_graph_add_references(g, (const uint64_t[]){ backward ? i - 1 : i + 1 }, 1, NULL);
            if (i % 100 == 7 && i + 200 < MILLION) /* backward reference: changes no dominator */
                hd_graph_add_references(g, (const uint64_t[]){ backward ? i + 100 : i / 2 }, 1, NULL);
        }
        hd_graph_add_root(g, backward ? (uint64_t)MILLION - 1 : 0, &strong, NULL);
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        hd_dominators *d = dominators(g);
        assert_int_equal(d->reached, MILLION);
        for (uint32_t i = 0; i < MILLION; i++) {
            uint32_t left = backward ? i + 1 : MILLION - i;
            assert_int_equal(d->retained[i], 8 * (uint64_t)left);
            assert_int_equal(d->below[i], left);
            if (left < MILLION) assert_int_equal(d->parent[i], backward ? i + 1 : i - 1);
        }
        uint32_t top[3];
        assert_int_equal(hd_dominators_top(d, 3, top), 3);
        assert_int_equal(top[1], backward ? MILLION - 2 : 1);
        assert_int_equal(hd_dominator_tree(g, d, NULL, &b, NULL), HD_OK);
        if (backward) {          /* classes take turns: each object is a level, with a self entry */
            assert_int_equal(b->entries.count, 1 + MILLION + MILLION - 1);
        } else {
            assert_int_equal(b->entries.count, 2);
            assert_int_equal(b->entries.amount[1].bytes, 8 * MILLION);
            assert_int_equal(b->entries.amount[1].blocks, MILLION);
        }
        hd_breakdown_free(b);
        assert_int_equal(hd_graph_paths(g, backward ? 0 : MILLION - 1, 2, NULL, &paths, NULL), HD_OK);
        assert_int_equal(paths->count, 1);
        assert_int_equal(paths->paths[0].length, MILLION);
        hd_paths_free(paths);
        hd_dominators_free(d);
        hd_graph_free(g);
    }
}

/* Each value is the key of the next ephemeron. One object refers to all ephemerons, the last first. A walk that looks
   at all of them again after each newly live key would take minutes. */
static void a_chain_of_ephemerons_takes_no_quadratic_time(void **state) {
    (void)state;
    enum { N = 100000 };
    for (int backward = 0; backward < 2; backward++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
        hd_paths *paths = NULL;
        hd_total total;
        clock_t began;
        add_class(g, "A");
        assert_int_equal(hd_graph_add_object(g, 0, 1, 1, NULL), HD_OK); /* 0; ephemerons 1 .. N; keys N + 1 .. 2 N + 1 */
        for (uint64_t i = 0; i < N; i++)
            assert_int_equal(hd_graph_add_references(g, &(uint64_t){ backward ? N - i : i + 1 }, 1, NULL), HD_OK);
        for (uint64_t i = 1; i <= N; i++) {
            assert_int_equal(hd_graph_add_object(g, 0, 1, 1, NULL), HD_OK);
            assert_int_equal(hd_graph_add_references(g, (const uint64_t[]){ N + i, N + i + 1 }, 2, NULL), HD_OK);
            assert_int_equal(hd_graph_set_kind(g, (uint32_t)i, 0, HD_REFERENCE_KEY, NULL), HD_OK);
            assert_int_equal(hd_graph_set_kind(g, (uint32_t)i, 1, HD_REFERENCE_VALUE, NULL), HD_OK);
        }
        for (uint64_t i = 0; i <= N; i++) assert_int_equal(hd_graph_add_object(g, 0, 1, 1, NULL), HD_OK);
        assert_int_equal(hd_graph_add_root(g, 0, &strong, NULL), HD_OK);
        assert_int_equal(hd_graph_add_root(g, N + 1, &strong, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        began = clock();
        hd_dominators *d = dominators(g);
        assert_int_equal(d->reached, 2 * N + 2);
        for (uint32_t i = 0; i <= N; i++) assert_int_equal(d->retained[N + 1 + i], N + 1 - i);
        assert_int_equal(d->retained[0], N + 1);
        assert_int_equal(d->retained[1], 1);
        assert_int_equal(hd_graph_retained(g, &(uint32_t){ 1 }, 1, NULL, &total, NULL), HD_OK);
        assert_int_equal(total.objects, N + 1);
        assert_int_equal(hd_graph_paths(g, 2 * N + 1, 2, NULL, &paths, NULL), HD_OK);
        assert_int_equal(paths->count, 1);
        assert_int_equal(paths->paths[0].length, N + 1);
        assert_int_equal(paths->paths[0].references[5], HD_NONE);
        assert_int_equal(paths->paths[0].ephemerons[5], 6);
        assert_true((clock() - began) / CLOCKS_PER_SEC < 5);
        hd_paths_free(paths);
        hd_dominators_free(d);
        hd_graph_free(g);
    }
}

/* A chain, and leaves that both of its ends refer to: it is far from each leaf up to its dominator. Quadratic time
   would be minutes. */
static void long_paths_up_take_no_quadratic_time(void **state) {
    (void)state;
    enum { N = 200000 };
    hd_graph_desc desc = { .dense = true };
    hd_graph *g = hd_graph_create(&desc, NULL);
    hd_dominators *d;
    clock_t began;
    add_class(g, "A");
    for (uint64_t i = 0; i < 2 * N; i++) {
        uint64_t next = i + 1;
        assert_int_equal(hd_graph_add_object(g, i, 1, 1, NULL), HD_OK);
        if (i + 1 < N) assert_int_equal(hd_graph_add_references(g, &next, 1, NULL), HD_OK);
        for (uint64_t leaf = N; leaf < 2 * N && (i == N / 3 || i == N - 1); leaf++)
            assert_int_equal(hd_graph_add_references(g, &leaf, 1, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_add_root(g, 0, &strong, NULL), HD_OK);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    began = clock();
    d = dominators(g);
    assert_true((clock() - began) / CLOCKS_PER_SEC < 5);
    for (uint32_t i = 1; i < 2 * N; i++) assert_int_equal(d->parent[i], i < N ? i - 1 : N / 3);
    assert_int_equal(d->retained[N / 3], 2 * N - N / 3);
    assert_int_equal(d->retained[N / 3 + 1], N - N / 3 - 1);
    hd_dominators_free(d);
    hd_graph_free(g);
}

/* As many roots as objects, each with its own path: a walk for each path would take hours. */
static void many_paths_take_a_walk_for_each_length(void **state) {
    (void)state;
    enum { N = 200000 };
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
    hd_paths *paths = NULL;
    clock_t began = clock();
    add_class(g, "A");
    hd_graph_add_object(g, 0, 1, 8, NULL);
    for (uint64_t i = 1; i <= N; i++) { /* every second path is longer by one step */
        hd_graph_add_object(g, 0, 1, 8, NULL);
        hd_graph_add_references(g, &(uint64_t){ i % 2 ? 0 : N + i / 2 }, 1, NULL);
        hd_graph_add_root(g, i, &strong, NULL);
    }
    for (uint64_t i = 1; i <= N / 2; i++) {
        hd_graph_add_object(g, 0, 1, 8, NULL);
        hd_graph_add_references(g, &(uint64_t){ 0 }, 1, NULL);
    }
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_paths(g, 0, UINT32_MAX, NULL, &paths, NULL), HD_OK);
    assert_int_equal(paths->count, N);
    assert_false(paths->more);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(paths->paths[i].root, i < N / 2 ? 2 * i : 2 * (i - N / 2) + 1);
        assert_int_equal(paths->paths[i].length, i < N / 2 ? 2 : 3);
    }
    assert_true((clock() - began) / CLOCKS_PER_SEC < 20);
    hd_paths_free(paths);
    hd_graph_free(g);
}

/* Finds paths of 64 lengths, and reports that there may be more. */
static void paths_of_too_many_lengths_are_left_out(void **state) {
    (void)state;
    for (uint32_t lengths = 64; lengths < 66; lengths++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
        hd_paths *paths = NULL;
        uint64_t n = 1;
        add_class(g, "A");
        hd_graph_add_object(g, 0, 1, 8, NULL);
        for (uint32_t length = 1; length <= lengths; length++)
            for (uint32_t k = 0; k < length; k++, n++) {
                hd_graph_add_object(g, 0, 1, 8, NULL);
                hd_graph_add_references(g, &(uint64_t){ k ? n - 1 : 0 }, 1, NULL);
                if (k + 1 == length) hd_graph_add_root(g, n, &strong, NULL);
            }
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_paths(g, 0, 100, NULL, &paths, NULL), HD_OK);
        assert_int_equal(paths->count, 64);
        assert_int_equal(paths->paths[63].length, 65);
        assert_int_equal(paths->more, lengths == 65);
        hd_paths_free(paths);
        assert_int_equal(hd_graph_paths(g, 0, 64, NULL, &paths, NULL), HD_OK);
        assert_false(paths->more);
        hd_paths_free(paths);
        hd_graph_free(g);
    }
}

/* Paths from the first group come before shorter paths from the second. Objects reachable from other starts are not
   starts. */
static void paths_start_from_groups_of_objects(void **state) {
    (void)state;
    static const uint64_t leads_to[] = { HD_NONE, 0, 3, 0, 5, 6, 0, 3, 0 };
    static const uint32_t objects[] = { 2, 4, 7, 1, 8 }, counts[] = { 3, 2 }, without[] = { 5 }, wrong[] = { 99 };
    static const char *const wanted[] = { "2 3 0", "4 5 6 0", "1 0", "8 0" };
    hd_path_starts starts = { objects, counts, 2, NULL, 0 };
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
    hd_paths *paths = NULL;
    add_class(g, "A");
    for (uint64_t i = 0; i < 9; i++) {
        hd_graph_add_object(g, i, 1, 8, NULL);
        if (i) hd_graph_add_references(g, &leads_to[i], 1, NULL);
    }
    hd_graph_add_root(g, 3, &strong, NULL);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    for (uint32_t most = 1; most < 6; most++) {
        assert_int_equal(hd_graph_paths_from(g, &starts, 0, most, NULL, &paths, NULL), HD_OK);
        assert_int_equal(paths->count, most < 4 ? most : 4);
        for (uint32_t i = 0; i < paths->count; i++) {
            char text[64] = "";
            for (uint32_t k = 0; k < paths->paths[i].length; k++)
                sprintf(text + strlen(text), "%s%u", k ? " " : "", paths->paths[i].objects[k]);
            assert_string_equal(text, wanted[i]);
            assert_int_equal(objects[paths->paths[i].root], paths->paths[i].objects[0]);
        }
        hd_paths_free(paths);
    }
    starts.without = without, starts.without_count = 1;
    assert_int_equal(hd_graph_paths_from(g, &starts, 0, 9, NULL, &paths, NULL), HD_OK);
    assert_int_equal(paths->count, 3);
    assert_int_equal(paths->paths[1].objects[0], 1);
    hd_paths_free(paths);
    assert_int_equal(hd_graph_paths_from(g, &starts, 2, 9, NULL, &paths, NULL), HD_OK);
    assert_int_equal(paths->count, 1);
    assert_int_equal(paths->paths[0].length, 1);
    hd_paths_free(paths);
    starts.without = wrong;
    assert_int_equal(hd_graph_paths_from(g, &starts, 0, 9, NULL, &paths, NULL), HD_INVALID);
    assert_int_equal(hd_graph_paths_from(g, &(hd_path_starts){ wrong, (uint32_t[]){ 1 }, 1, NULL, 0 }, 0, 9, NULL, &paths, NULL), HD_INVALID);
    hd_graph_free(g);
}

static void an_object_with_a_million_references(void **state) {
    (void)state;
    hd_graph *g = hd_graph_create(NULL, NULL);
    uint64_t *ids = malloc(MILLION * sizeof *ids);
    hd_links *links = NULL;
    add_class(g, "Array");
    for (uint64_t i = 0; i < MILLION; i++) ids[i] = i * 16 + 5;
    hd_graph_add_object(g, 0, 1, 100, NULL);
    hd_graph_add_references(g, ids, MILLION, NULL);
    for (uint64_t i = 0; i < MILLION; i++) {
        hd_graph_add_object(g, ids[i], 1, 2, NULL);
        hd_graph_add_references(g, (const uint64_t[]){ 0 }, 1, NULL);
    }
    hd_graph_add_root(g, 0, &strong, NULL);
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    hd_dominators *d = dominators(g);
    assert_int_equal(d->retained[0], 100 + 2 * MILLION);
    for (uint32_t i = 1; i <= MILLION; i++) assert_int_equal(d->parent[i], 0);
    assert_int_equal(hd_graph_referrers(g, NULL, &links, NULL), HD_OK);
    assert_int_equal(links->first[1], MILLION);
    hd_links_free(links);
    hd_dominators_free(d);
    hd_graph_free(g);
    free(ids);
}

/* Two methods on a graph too large for brute force: a node retains exactly the objects that become unreachable
   without it. */
static void large_graphs_agree_with_themselves(void **state) {
    (void)state;
    hd_graph *g = heap_like(60000, 2);
    hd_dominators *d = dominators(g);
    uint64_t random = 1;
    uint32_t top[20];
    hd_total total;
    uint32_t n = hd_dominators_top(d, 20, top);
    assert_int_equal(n, 20);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t o = i < n ? top[i] : d->order[hd__test_below(&random, d->reached)];
        assert_int_equal(hd_graph_retained(g, &o, 1, NULL, &total, NULL), HD_OK);
        assert_int_equal(total.bytes, d->retained[o]);
        assert_int_equal(total.objects, d->below[o]);
        if (i && i < n) assert_true(d->retained[top[i - 1]] >= d->retained[top[i]]);
    }
    uint64_t larger = 0;
    for (uint32_t o = 0; o < d->count; o++) larger += d->retained[o] > d->retained[top[19]];
    assert_true(larger < 20);
    hd_dominators_free(d);
    hd_graph_free(g);
}

/* Merging and comparing. ------------------------------------------------------------------------- */

/* More classes than one walk can handle; references of all kinds. */
static void all_classes_at_once_are_as_one_by_one(void **state) {
    (void)state;
    enum { CLASSES = 150, OBJECTS = 3000 };
    uint64_t random = 8;
    for (int round = 0; round < 3; round++) {
        hd_graph *g = hd_graph_create(&(hd_graph_desc){ .dense = true }, NULL);
        uint32_t classes[CLASSES];
        hd_total totals[CLASSES], total;
        for (uint32_t i = 0; i < CLASSES; i++) classes[i] = add_class(g, "A");
        for (uint32_t i = 0; i < OBJECTS; i++) {
            assert_int_equal(hd_graph_add_object(g, 0, 1 + (uint32_t)hd__test_below(&random, CLASSES), 1 + i, NULL), HD_OK);
            for (uint32_t k = 0; k < 3; k++) {
                uint64_t to = hd__test_below(&random, 2) ? i + 1 + hd__test_below(&random, 40) : hd__test_below(&random, OBJECTS);
                assert_int_equal(hd_graph_add_references(g, &to, 1, NULL), HD_OK);
                if (round == 2) assert_int_equal(hd_graph_set_kind(g, i, k, (uint32_t)hd__test_below(&random, 4), NULL), HD_OK);
            }
        }
        for (uint64_t i = 0; i < (round ? 40 : 2); i++) assert_int_equal(hd_graph_add_root(g, i * 60, &strong, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_classes_retained(g, classes, CLASSES, NULL, totals, NULL), HD_OK);
        for (uint32_t i = 0; i < CLASSES; i++) {
            assert_int_equal(hd_graph_classes_retained(g, &classes[i], 1, NULL, &total, NULL), HD_OK);
            assert_true(totals[i].bytes == total.bytes && totals[i].objects == total.objects);
        }
        classes[77] = CLASSES + 1;
        assert_int_equal(hd_graph_classes_retained(g, classes, CLASSES, NULL, totals, NULL), HD_INVALID);
        hd_graph_free(g);
    }
}

/* Threads share frames; roots name a thread and a position in its stack; a merged graph has all threads. */
static void threads_have_stacks_and_roots(void **state) {
    (void)state;
    static const hd_stack_frame frames[] = { { { "run", 3 }, { "a.c", 3 }, 7, false }, { { "wait", 4 }, { "", 0 }, 0, true } };
    hd_graph *g[2], *m = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        hd_thread_info thread = { .id = 5, .name = hd_cstr("main"), .state = hd_cstr("RUNNABLE"), .frame_count = 3,
                                  .frames = (uint32_t[]){ 1, 0, 0 } };
        hd_root root = strong;
        uint32_t number;
        g[i] = hd_graph_create(NULL, NULL);
        add_class(g[i], "A");
        assert_int_equal(hd_graph_add_object(g[i], 5, 1, 8 + i, NULL), HD_OK);
        assert_int_equal(hd_graph_add_thread(g[i], &thread, NULL, NULL), HD_INVALID);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(hd_graph_add_frame(g[i], &frames[k], &number, NULL), HD_OK);
            assert_int_equal(number, k);
        }
        root.thread = 1;
        assert_int_equal(hd_graph_add_root(g[i], 5, &root, NULL), HD_INVALID);
        assert_int_equal(hd_graph_add_thread(g[i], &thread, &number, NULL), HD_OK);
        assert_int_equal(number, 0);
        root.frame = 4;
        assert_int_equal(hd_graph_add_root(g[i], 5, &root, NULL), HD_INVALID);
        root.thread = 0;
        assert_int_equal(hd_graph_add_root(g[i], 5, &root, NULL), HD_INVALID);
        root.thread = 1, root.frame = 3;
        assert_int_equal(hd_graph_add_root(g[i], 5, &root, NULL), HD_OK);
        thread.id = 6, thread.frame_count = 0, thread.frames = NULL;
        assert_int_equal(hd_graph_add_thread(g[i], &thread, NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
        assert_int_equal(hd_graph_validate(g[i], NULL), HD_OK);
    }
    assert_int_equal(hd_graph_merge((const hd_graph *const *)g, 2, NULL, &m, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(m, NULL), HD_OK);
    assert_int_equal(hd_graph_thread_count(m), 4);
    for (uint32_t i = 0; i < 4; i++) {
        hd_thread_info t = hd_graph_thread(m, i);
        assert_true(hd_str_equal(t.name, hd_cstr("main")) && hd_str_equal(t.state, hd_cstr("RUNNABLE")));
        assert_int_equal(t.object, i % 2 ? HD_NONE : 0);
        assert_int_equal(t.frame_count, i % 2 ? 0 : 3);
        for (uint32_t k = 0; k < t.frame_count; k++) {
            hd_stack_frame f = hd_graph_frame(m, t.frames[k]);
            assert_true(hd_str_equal(f.function, frames[k == 0].function) && f.line == frames[k == 0].line && f.native == (k == 0));
        }
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_true(hd_graph_root(m, i).thread == 1 + 2 * i && hd_graph_root(m, i).frame == 3);
    assert_int_equal(hd_graph_thread(m, 4).object, HD_NONE);
    assert_int_equal(hd_graph_frame(m, 4).function.len, 0);
    for (uint32_t i = 0; i < 2; i++) hd_graph_free(g[i]);
    hd_graph_free(m);
}

static void merging_takes_equal_objects_once(void **state) {
    (void)state;
    hd_graph *g[3], *m = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        hd_class c = { .id = 7, .name = hd_cstr("String"), .scope = hd_cstr(i ? "b" : "a"), .described = true };
        g[i] = hd_graph_create(NULL, NULL);
        hd_graph_add_class(g[i], &c, NULL, NULL);
        c.id = 8;
        c.name = hd_cstr(i == 1 ? "Own" : "Other");
        hd_graph_add_class(g[i], &c, NULL, NULL);
        hd_graph_add_object(g[i], 100, 1, 16, NULL);             /* equal in all graphs */
        hd_graph_add_references(g[i], (const uint64_t[]){ 200, 999 }, 2, NULL);
        /* of different classes in graphs 0 and 1, missing in graph 2 */
        if (i < 2) hd_graph_add_object(g[i], 200, 2, 32, NULL);
        hd_graph_add_object(g[i], 300 + i, 1, 64, NULL);
        hd_graph_add_references(g[i], (const uint64_t[]){ 100, i == 1 ? 300 : 301 }, 2, NULL);
        hd_graph_add_root(g[i], 300, &strong, NULL);
        hd_graph_add_root(g[i], 998, &strong, NULL);
        assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_merge((const hd_graph *const *)g, 3, NULL, &m, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(m, NULL), HD_OK);
    hd_graph_summary s = hd_graph_summarize(m);
    assert_int_equal(s.objects, 6);              /* 100; 200 twice; 300, 301, 302 */
    assert_int_equal(s.bytes, 16 + 2 * 32 + 3 * 64);
    assert_int_equal(s.classes, 3);
    assert_int_equal(s.missing_objects, 2);      /* 998, 999 */
    assert_int_equal(s.roots, 2);
    assert_int_equal(s.missing_roots, 1);
    assert_int_equal(hd_graph_class(m, 1).scope.len, 0);
    assert_true(hd_str_equal(hd_graph_class(m, hd_graph_object(m, 1).class_index).name, hd_cstr("Other")));
    uint32_t in_2 = hd_graph_find(m, 302), in_0 = hd_graph_find(m, 300);
    assert_int_equal(hd_graph_object(m, in_2).references[0], hd_graph_find(m, 100));
    assert_int_equal(hd_graph_object(m, in_2).references[1], hd_graph_find(m, 301)); /* in another domain */
    assert_int_equal(hd_graph_object(m, in_0).references[1], hd_graph_find(m, 301));
    assert_int_equal(hd_graph_object(m, hd_graph_find(m, 100)).references[0], hd_graph_find(m, 200));
    hd_graph_free(m);
    assert_int_equal(hd_graph_merge(NULL, 0, NULL, &m, NULL), HD_OK);
    assert_int_equal(hd_graph_object_count(m), 0);
    hd_graph_free(m);
    for (int i = 0; i < 3; i++) hd_graph_free(g[i]);
}

/* Objects that differ in the kinds of their references stay separate. */
static void merging_keeps_how_references_hold(void **state) {
    (void)state;
    hd_graph *g[3], *m = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        g[i] = hd_graph_create(NULL, NULL);
        add_class(g[i], "A");
        for (uint64_t k = 0; k < 4; k++) assert_int_equal(hd_graph_add_object(g[i], k, 1, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_add_object(g[i], 4, 1, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_add_references(g[i], (const uint64_t[]){ 1, 2, 3 }, 3, NULL), HD_OK);
        if (i < 2) assert_int_equal(hd_graph_set_kind(g[i], 4, 0, HD_REFERENCE_WEAK, NULL), HD_OK);
        if (i < 2) assert_int_equal(hd_graph_set_kind(g[i], 4, 1, HD_REFERENCE_KEY, NULL), HD_OK);
        if (i < 2) assert_int_equal(hd_graph_set_kind(g[i], 4, 2, HD_REFERENCE_VALUE, NULL), HD_OK);
        assert_int_equal(hd_graph_add_root(g[i], 4, &strong, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_merge((const hd_graph *const *)g, 3, NULL, &m, NULL), HD_OK);
    assert_int_equal(hd_graph_validate(m, NULL), HD_OK);
    hd_graph_summary s = hd_graph_summarize(m);
    assert_int_equal(s.objects, 6);
    assert_int_equal(s.references, 6);
    assert_int_equal(s.weak_references, 3);
    hd_object o = hd_graph_object(m, 4);
    assert_memory_equal(o.kinds, ((const uint8_t[]){ 1, 2, 3 }), 3);
    assert_null(hd_graph_object(m, 5).kinds);
    hd_graph_free(m);
    for (int i = 0; i < 3; i++) hd_graph_free(g[i]);
}

/* Each graph is within the bounds, both together are not. */
static void merging_keeps_to_the_limits(void **state) {
    (void)state;
    hd_options o = { .limits.max_records = 4 };
    for (int roots = 0; roots < 2; roots++) {
        hd_graph *g[2], *m = NULL;
        hd_error err = { 0 };
        for (uint64_t i = 0; i < 2; i++) {
            g[i] = hd_graph_create(NULL, NULL);
            add_class(g[i], "A");
            assert_int_equal(hd_graph_add_object(g[i], i, 1, 8, NULL), HD_OK);
            for (uint64_t k = 0; k < 3; k++)
                if (roots) assert_int_equal(hd_graph_add_root(g[i], 10 * i + k, &strong, NULL), HD_OK);
                else assert_int_equal(hd_graph_add_references(g[i], &k, 1, NULL), HD_OK);
            assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
        }
        assert_int_equal(hd_graph_merge((const hd_graph *const *)g, 2, &o, &m, &err), HD_LIMIT);
        assert_int_equal(err.status, HD_LIMIT);
        hd_graph_free(g[0]);
        hd_graph_free(g[1]);
    }
}

/* The limit covers the result and the working memory together. */
static void merging_takes_no_more_memory_than_allowed(void **state) {
    hd_graph *g[2];
    uint32_t merged = 0;
    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        g[i] = hd_graph_create(NULL, NULL);
        add_class(g[i], "A");
        for (uint64_t k = 0; k < 2000; k++) assert_int_equal(hd_graph_add_object(g[i], 1000 * i + k, 1, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g[i], NULL, NULL), HD_OK);
    }
    for (uint64_t limit = 20000; !merged; limit += limit / 8) {
        hd__faults f = { 0 };
        hd_options o = { .allocator = hd__faults_allocator(&f), .limits.max_memory = limit };
        hd_graph *m = NULL;
        hd_status status = hd_graph_merge((const hd_graph *const *)g, 2, &o, &m, NULL);
        assert_true(status == HD_OK || status == HD_LIMIT);
        assert_in_range(f.peak, 0, limit);
        if (!status) merged = hd_graph_object_count(m);
        hd_graph_free(m);
        assert_int_equal(f.live, 0);
    }
    assert_int_equal(merged, 3000);
    hd_graph_free(g[0]);
    hd_graph_free(g[1]);
}

static void diff_goes_by_class(void **state) {
    (void)state;
    hd_graph *a = MAKE(5, , L(0)), *b = MAKE(3, , L(0));
    hd_graph_change *c = NULL;
    assert_int_equal(hd_graph_diff(a, b, NULL, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->count, 3);
    /* A: 1 + 8 and 1; B: 2 + 16 and 2; C: 4 and 4 */
    assert_true(hd_str_equal(c->rows[0].name, hd_cstr("B")));
    assert_int_equal(c->rows[0].bytes[0], 18);
    assert_int_equal(c->rows[0].bytes[1], 2);
    assert_int_equal(c->rows[0].objects[0], 2);
    assert_int_equal(c->rows[0].objects[1], 1);
    assert_true(hd_str_equal(c->rows[1].name, hd_cstr("A")));
    assert_true(hd_str_equal(c->rows[2].name, hd_cstr("C")));
    assert_int_equal(c->rows[2].bytes[1], 4);
    hd_graph_change_free(c);
    uint8_t reached[2][5];       /* only the root is reachable in both graphs */
    hd_total total;
    assert_int_equal(hd_graph_reach(a, NULL, 0, NULL, reached[0], &total, NULL), HD_OK);
    assert_int_equal(hd_graph_reach(b, NULL, 0, NULL, reached[1], &total, NULL), HD_OK);
    assert_int_equal(hd_graph_diff(a, b, (const uint8_t *const[]){ reached[0], reached[1] }, NULL, &c, NULL), HD_OK);
    assert_int_equal(c->count, 1);
    assert_int_equal(c->rows[0].bytes[0], 1);
    assert_int_equal(c->rows[0].bytes[1], 1);
    hd_graph_change_free(c);
    hd_graph_free(a);
    hd_graph_free(b);
}

static void the_tree_prints(void **state) {
    (void)state;
    hd_graph *g = MAKE(5, L(0, 1, 0, 3, 1, 2, 3, 4), L(0));
    hd_dominators *d = dominators(g);
    hd_breakdown *b = NULL;
    hd_buffer text = { 0 };
    assert_int_equal(hd_dominator_tree(g, d, NULL, &b, NULL), HD_OK);
    hd_heap heap = { .allocator = "graph", .breakdown = b };
    assert_int_equal(hd_print_tree(&heap, NULL, hd_out_memory(&text), NULL), HD_OK);
    hd_out_memory(&text).write(&text, "", 1);
    assert_string_equal((char *)text.data, "31  100.0%  5  graph\n"
                                           "31  100.0%  5    A\n"
                                           "22   71.0%  3      B\n"
                                           "18   58.1%  2        <self>\n"
                                           " 4   12.9%  1        C\n"
                                           " 9   29.0%  2      <self>\n");
    hd_buffer_free(&text);
    hd_breakdown_free(b);
    hd_dominators_free(d);
    hd_graph_free(g);
}

static void arguments_are_checked(void **state) {
    (void)state;
    hd_graph *open = hd_graph_create(NULL, NULL), *g = MAKE(2, L(0, 1), L(0)), *other = MAKE(1, , );
    hd_dominators *d = NULL, *of_other = dominators(other);
    hd_breakdown *b = NULL;
    hd_paths *paths = NULL;
    hd_total total;
    assert_int_equal(hd_graph_dominators(open, NULL, &d, NULL), HD_INVALID);
    assert_null(d);
    assert_int_equal(hd_graph_validate(open, NULL), HD_INVALID);
    assert_int_equal(hd_graph_retained(g, (const uint32_t[]){ 2 }, 1, NULL, &total, NULL), HD_INVALID);
    assert_int_equal(hd_graph_classes_retained(g, &(uint32_t){ 4 }, 1, NULL, &total, NULL), HD_INVALID);
    assert_int_equal(hd_graph_sets_retained(g, &(uint32_t){ 2 }, (const size_t[]){ 0, 1 }, 1, NULL, &total, NULL), HD_INVALID);
    assert_int_equal(hd_graph_sets_retained(g, &(uint32_t){ 0 }, (const size_t[]){ 1, 0 }, 1, NULL, &total, NULL), HD_INVALID);
    assert_int_equal(hd_graph_paths(g, 2, 1, NULL, &paths, NULL), HD_INVALID);
    assert_int_equal(hd_dominator_tree(g, of_other, NULL, &b, NULL), HD_INVALID);
    hd_dominator_options wrong = { .cutoff.min_share = 2 };
    assert_int_equal(hd_dominator_tree(other, of_other, &wrong, &b, NULL), HD_INVALID);
    hd_graph *small = hd_graph_create(&(hd_graph_desc){ .limits.max_records = 1 }, NULL);
    add_class(small, "A");
    assert_int_equal(hd_graph_add_object(small, 1, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_graph_add_object(small, 2, 1, 1, NULL), HD_LIMIT);
    assert_int_equal(hd_graph_add_references(small, (const uint64_t[]){ 1, 2 }, 2, NULL), HD_LIMIT);
    hd_graph_free(small);
    hd_dominators_free(of_other);
    hd_graph_free(open);
    hd_graph_free(g);
    hd_graph_free(other);
    hd_graph_free(NULL);
    hd_dominators_free(NULL);
    hd_paths_free(NULL);
    assert_string_equal(hd_root_kind_name(4), "static");
    assert_string_equal(hd_root_kind_name(6), "unknown");
    assert_string_equal(hd_root_flag_name(2), "weak");
    assert_string_equal(hd_root_flag_name(3), "unknown");
}

/* Every allocation fails once, in each of the calls. --------------------------------------------- */

static hd_graph *filled(const hd_options *options, hd_status *status) {
    hd_error err = { 0 };
    hd_graph *g = hd_graph_create(&(hd_graph_desc){ .allocator = options->allocator, .limits = options->limits }, &err);
    hd_class c = { .id = 1, .name = hd_cstr("A"), .scope = hd_cstr("s"), .described = true };
    uint64_t random = 4;
    *status = err.status;
    for (int i = 0; i < 12 && !*status; i++) *status = hd_graph_add_class(g, &c, NULL, NULL);
    for (uint32_t i = 0; i < 40 && !*status; i++) {
        uint64_t ids[3] = { hd__test_below(&random, 45), hd__test_below(&random, 40) * 7 % 41, i == 30 ? UINT64_C(1) << 40 : 3 };
        *status = hd_graph_add_object(g, i * 7 % 41, 1 + i % 12, i % 9 == 0 ? UINT64_C(1) << 33 : i, NULL);
        if (!*status) *status = hd_graph_add_references(g, ids, 3, NULL);
        for (uint32_t k = 0; k < 3 && !*status && i % 4 == 1; k++) *status = hd_graph_set_kind(g, i, (k + i) % 3, k + 1, NULL);
        if (!*status && i % 5 == 0) *status = hd_graph_add_size(g, i, UINT64_C(1) << 34, NULL);
    }
    if (!*status) *status = hd_graph_add_field(g, 2, 1, hd_cstr("field"), NULL);
    if (!*status) *status = hd_graph_add_name(g, hd_cstr("name"), NULL, NULL);
    for (uint32_t i = 2; i < 40 && !*status; i += 3) *status = hd_graph_set_name(g, i, i % 3, 0, NULL);
    for (uint64_t i = 0; i < 10 && !*status; i++) *status = hd_graph_add_root(g, i * 11, i % 3 ? &strong : &weak, NULL);
    if (!*status) *status = hd_graph_add_frame(g, &(hd_stack_frame){ .function = hd_cstr("f"), .file = hd_cstr("a.c") }, NULL, NULL);
    if (!*status) *status = hd_graph_add_thread(g, &(hd_thread_info){ .name = hd_cstr("main"), .state = hd_cstr("running"), .frame_count = 1, .frames = (uint32_t[]){ 0 } }, NULL, NULL);
    if (!*status) *status = hd_graph_seal(g, options, NULL);
    return g;
}

static hd_status run_all(const hd_options *o, bool *whole) {
    hd_status status;
    hd_graph *g = filled(o, &status), *m = NULL;
    hd_dominators *d = NULL;
    hd_histogram *h = NULL;
    hd_graph_change *c = NULL;
    hd_breakdown *b = NULL;
    hd_links *l = NULL;
    hd_paths *p = NULL;
    hd_total total, totals[2];
    hd_dominator_options tree = { .options = *o };
    if (!status) assert_int_equal(hd_graph_validate(g, NULL), HD_OK);
    if (!status) status = hd_graph_dominators(g, o, &d, NULL);
    if (!status) status = hd_graph_histogram(g, d, o, &h, NULL);
    if (!status) status = hd_dominator_tree(g, d, &tree, &b, NULL);
    if (!status) status = hd_graph_diff(g, g, NULL, o, &c, NULL);
    if (!status) status = hd_graph_referrers(g, o, &l, NULL);
    if (!status) status = hd_graph_paths(g, 5, 3, o, &p, NULL);
    if (!status) status = hd_graph_classes_retained(g, &(uint32_t){ 3 }, 1, o, &total, NULL);
    if (!status) status = hd_graph_classes_retained(g, (const uint32_t[]){ 3, 1 }, 2, o, totals, NULL);
    if (!status) status = hd_graph_sets_retained(g, (const uint32_t[]){ 3, 1, 3 }, (const size_t[]){ 0, 1, 3 }, 2, o, totals, NULL);
    if (!status) status = hd_graph_merge((const hd_graph *const[]){ g, g }, 2, o, &m, NULL);
    if (!status) {
        assert_int_equal(hd_graph_validate(m, NULL), HD_OK);
        assert_int_equal(hd_graph_summarize(m).bytes, hd_graph_summarize(g).bytes);
        *whole = true;
    }
    hd_graph_free(g);
    hd_graph_free(m);
    hd_dominators_free(d);
    hd_histogram_free(h);
    hd_graph_change_free(c);
    hd_breakdown_free(b);
    hd_links_free(l);
    hd_paths_free(p);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hd__faults f = { 0 };
    bool whole = false;
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_status status = run_all(&o, &whole);
        assert_int_equal(status, f.failed ? (whole ? status : HD_OUT_OF_MEMORY) : HD_OK);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
    }
    assert_true(whole);
    for (uint64_t limit = 1; limit < 40000; limit += 97) {
        hd_options o = { .allocator = hd__faults_allocator(&f), .limits.max_memory = limit };
        f.fail_at = 0;
        whole = false;
        hd_status status = run_all(&o, &whole);
        assert_true(status == HD_OK || status == HD_LIMIT);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
    }
}

static bool stop_at(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return (*(int *)user)-- > 0;
}

/* One of the analyses, on a complete graph. */
static hd_status answer(unsigned which, const hd_graph *g, const hd_dominators *d, const hd_options *o,
                        hd_error *err) {
    hd_status status = HD_OK;
    if (which == 0) {
        hd_dominators *own = NULL;
        status = hd_graph_dominators(g, o, &own, err);
        hd_dominators_free(own);
    } else if (which == 1) {
        hd_histogram *h = NULL;
        status = hd_graph_histogram(g, d, o, &h, err);
        hd_histogram_free(h);
    } else if (which == 2) {
        hd_graph_change *c = NULL;
        status = hd_graph_diff(g, g, NULL, o, &c, err);
        hd_graph_change_free(c);
    } else if (which == 3) {
        hd_links *l = NULL;
        status = hd_graph_referrers(g, o, &l, err);
        hd_links_free(l);
    } else if (which == 4) {
        hd_paths *p = NULL;
        status = hd_graph_paths(g, 5, 3, o, &p, err);
        hd_paths_free(p);
    } else if (which == 5) {
        hd_total total;
        status = hd_graph_classes_retained(g, &(uint32_t){ 3 }, 1, o, &total, err);
    } else {
        hd_total totals[2];
        status = hd_graph_sets_retained(g, (const uint32_t[]){ 3, 1, 3 }, (const size_t[]){ 0, 1, 3 }, 2, o, totals, err);
    }
    return status;
}

/* A limit gives HD_LIMIT at whichever allocation it is reached, and no analysis exceeds it. */
static void every_analysis_keeps_to_its_limit_and_names_it(void **state) {
    hd_status status = HD_OK;
    hd_dominators *d = NULL;
    hd_options none = { .lenient = false };
    hd_graph *g = filled(&none, &status);
    (void)state;
    assert_int_equal(status, HD_OK);
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    for (unsigned which = 0; which < 7; which++) {
        status = HD_LIMIT;
        for (uint64_t limit = 1; status; limit++) {
            hd__faults f = { 0 };
            hd_options o = { .allocator = hd__faults_allocator(&f), .limits.max_memory = limit };
            char expected[64];
            hd_error err;
            status = answer(which, g, d, &o, &err);
            assert_in_range(f.peak, 0, limit);
            assert_int_equal(f.live, 0);
            if (!status) break;
            assert_int_equal(status, HD_LIMIT);
            snprintf(expected, sizeof expected, "max_memory of %u bytes", (unsigned)limit);
            assert_non_null(strstr(err.message, expected));
        }
    }
    hd_dominators_free(d);
    hd_graph_free(g);
}

/* The paths found so far count, together with the memory of the search. */
static void many_paths_keep_to_the_limit(void **state) {
    hd_graph *g = hd_graph_create(NULL, NULL);
    hd_status status = HD_LIMIT;
    (void)state;
    add_class(g, "A");
    for (uint64_t id = 0; id < 50; id++) {
        uint64_t to = 0;
        assert_int_equal(hd_graph_add_object(g, id, 1, 8, NULL), HD_OK);
        if (id) assert_int_equal(hd_graph_add_references(g, &to, 1, NULL), HD_OK);
        if (id) assert_int_equal(hd_graph_add_root(g, id, &strong, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    for (uint64_t limit = 1; status; limit += 11) {
        hd__faults f = { 0 };
        hd_options o = { .allocator = hd__faults_allocator(&f), .limits.max_memory = limit };
        hd_paths *p = NULL;
        status = hd_graph_paths(g, 0, 100, &o, &p, NULL);
        assert_true(status == HD_OK || status == HD_LIMIT);
        assert_in_range(f.peak, 0, limit);
        if (!status) assert_int_equal(p->count, 49);
        hd_paths_free(p);
        assert_int_equal(f.live, 0);
    }
    hd_graph_free(g);
}

static void long_calls_can_be_cancelled(void **state) {
    (void)state;
    int cancelled = 0;
    for (int calls = 0; calls < 40; calls++) {
        int left = calls;
        bool whole = false;
        hd_options o = { .progress = stop_at, .progress_user = &left };
        hd_status status = run_all(&o, &whole);
        assert_true(status == HD_OK || status == HD_CANCELLED);
        assert_int_equal(status == HD_OK, left >= 0);
        cancelled += status == HD_CANCELLED;
    }
    assert_in_range(cancelled, 8, 39);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_as_they_were_added),
        cmocka_unit_test(objects_are_sorted_by_id),
        cmocka_unit_test(references_come_with_names),
        cmocka_unit_test(references_are_shown_as_they_hold),
        cmocka_unit_test(strong_graphs_take_no_more_memory),
        cmocka_unit_test(ids_twice_are_an_error),
        cmocka_unit_test(dense_graphs_store_no_ids),
        cmocka_unit_test(numbered_graphs_know_ids_too),
        cmocka_unit_test(columns_and_calls_make_the_same_graph),
        cmocka_unit_test(columns_are_checked),
        cmocka_unit_test(references_have_names_of_their_own),
        cmocka_unit_test(ids_are_found),
        cmocka_unit_test(many_ids_are_found),
        cmocka_unit_test(one_of_many_ids_twice_is_an_error),
        cmocka_unit_test(random_graphs_agree_with_brute_force),
        cmocka_unit_test(hand_made_graphs_agree_with_brute_force),
        cmocka_unit_test(a_chain_a_million_deep),
        cmocka_unit_test(a_chain_of_ephemerons_takes_no_quadratic_time),
        cmocka_unit_test(long_paths_up_take_no_quadratic_time),
        cmocka_unit_test(many_paths_take_a_walk_for_each_length),
        cmocka_unit_test(paths_of_too_many_lengths_are_left_out),
        cmocka_unit_test(paths_start_from_groups_of_objects),
        cmocka_unit_test(an_object_with_a_million_references),
        cmocka_unit_test(large_graphs_agree_with_themselves),
        cmocka_unit_test(all_classes_at_once_are_as_one_by_one),
        cmocka_unit_test(threads_have_stacks_and_roots),
        cmocka_unit_test(merging_takes_equal_objects_once),
        cmocka_unit_test(merging_keeps_how_references_hold),
        cmocka_unit_test(merging_keeps_to_the_limits),
        cmocka_unit_test(merging_takes_no_more_memory_than_allowed),
        cmocka_unit_test(diff_goes_by_class),
        cmocka_unit_test(the_tree_prints),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_analysis_keeps_to_its_limit_and_names_it),
        cmocka_unit_test(many_paths_keep_to_the_limit),
        cmocka_unit_test(long_calls_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
