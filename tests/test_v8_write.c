/* Writes any graph as a V8 heap snapshot, without garbage: all live objects keep their references. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "graphs.h"

typedef struct told {
    int count;
    char text[256];
} told;

static void hear(void *user, const hd_error *warning) {
    told *t = (told *)user;
    t->count++;
    assert_int_equal(warning->status, HD_UNSUPPORTED);
    snprintf(t->text, sizeof t->text, "%s", warning->message);
}

static hd_dump *written(const hd_graph *g, told *t) {
    hd_options options = { .warning = hear, .warning_user = t };
    hd_buffer out = { 0 };
    hd_dump *doc = NULL;
    hd_error err;
    memset(t, 0, sizeof *t);
    assert_int_equal(hd_v8_write_graph(g, &options, hd_out_memory(&out), NULL), HD_OK);
    if (hd_read_as(&hd_format_v8, hd_in_memory(out.data, out.size), NULL, &doc, &err)) fail_msg("%s", err.message);
    hd_buffer_free(&out);
    return doc;
}

/* A root refers to the cache; garbage refers to the image that the cache keeps. */
static void garbage_keeps_nothing(void **state) {
    (void)state;
    static const char text[] = "a 2 x 0\nt 1 Cache\nt 2 Image\nt 3 Garbage\no 1 1 10 2\no 2 2 100000\no 3 3 8 2\nr 1 1 0\nc x 1\n";
    hd_dump *from;
    hd_dominators *d;
    told t;
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(text, sizeof text - 1), NULL, &from, NULL), HD_OK);
    hd_dump *doc = written(hd_dump_graph(from), &t);
    const hd_graph *h = hd_dump_graph(doc);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.text, "garbage is left out: 1 object unreachable from roots, 8 bytes");
    assert_int_equal(hd_graph_summarize(h).objects, 4);
    assert_int_equal(hd_graph_root_count(h), 1);
    assert_int_equal(hd_graph_dominators(h, NULL, &d, NULL), HD_OK);
    assert_int_equal(d->retained[2], 1048592);
    assert_true(hd_str_equal(hd_graph_class(h, hd_graph_object(h, 2).class_index).name, hd_cstr("Cache")));
    hd_dominators_free(d);
    hd_dump_free(doc);
    hd_dump_free(from);
}

enum { CLASSES = 5, MOST = 60, MISSING = 3 };

/* References of an object: mostly strong ones; two weak ones; two ephemerons. */
static void add_references(hd_graph *g, uint32_t object, uint64_t first_id, uint32_t objects, uint64_t *random) {
    uint64_t ids[8], way = graphs_random(random) % 8;
    uint32_t n = (uint32_t)(graphs_random(random) % 5);
    if (way < 2) n = 4;
    for (uint32_t i = 0; i < n; i++) ids[i] = first_id + graphs_random(random) % (objects + MISSING);
    assert_int_equal(hd_graph_add_references(g, ids, n, NULL), HD_OK);
    for (uint32_t i = 0; i < n && way < 2; i++) {
        static const uint8_t kinds[2][4] = { { HD_REFERENCE_KEY, HD_REFERENCE_VALUE, HD_REFERENCE_KEY, HD_REFERENCE_VALUE },
                                             { HD_REFERENCE_WEAK, HD_REFERENCE_STRONG, HD_REFERENCE_WEAK, HD_REFERENCE_STRONG } };
        assert_int_equal(hd_graph_set_kind(g, object, i, kinds[way][i], NULL), HD_OK);
    }
    if (n && way == 2) assert_int_equal(hd_graph_set_name(g, object, 0, (uint32_t)(graphs_random(random) % 2), NULL), HD_OK);
    if (n && way == 3) assert_int_equal(hd_graph_set_index(g, object, n - 1, 70 + n, NULL), HD_OK);
}

static hd_graph *random_graph(uint64_t *random, uint64_t first_id, bool numbered) {
    hd_graph_desc desc = { .numbered = numbered, .first_id = first_id, .one_root = graphs_random(random) % 4 == 0 };
    hd_graph *g = hd_graph_create(&desc, NULL);
    uint32_t objects = 1 + (uint32_t)(graphs_random(random) % MOST), roots = (uint32_t)(graphs_random(random) % 4);
    for (uint32_t i = 0; i < CLASSES; i++) {
        char name[] = "Class0";
        name[5] = (char)('0' + i);
        assert_int_equal(hd_graph_add_class(g, &(hd_class){ .id = i, .name = hd_cstr(name), .described = true }, NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_add_field(g, 2, 0, hd_cstr("next"), NULL), HD_OK);
    assert_int_equal(hd_graph_add_name(g, hd_cstr("own"), NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_add_name(g, hd_cstr("other"), NULL, NULL), HD_OK);
    for (uint32_t i = 0; i < objects; i++) {
        uint32_t class_index = 1 + (uint32_t)(graphs_random(random) % CLASSES);
        assert_int_equal(hd_graph_add_object(g, first_id + i, class_index, (uint64_t)1 << graphs_random(random) % 40, NULL), HD_OK);
        add_references(g, i, first_id, objects, random);
    }
    for (uint32_t i = 0; i < roots; i++) {
        hd_root root = { .flags = graphs_random(random) % 4 ? 0 : HD_ROOT_WEAK, .container = HD_NONE };
        /* a root may refer to a missing object, but not if it is the only root */
        assert_int_equal(hd_graph_add_root(g, first_id + graphs_random(random) % (objects + !desc.one_root), &root, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_seal(g, NULL, NULL), HD_OK);
    return g;
}

static uint32_t strong_count(hd_object o) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < o.reference_count; i++) n += !o.kinds || o.kinds[i] == HD_REFERENCE_STRONG;
    return n;
}

/* Sums over the live objects of a class by name: objects, bytes, and retained bytes unless values have `moved`. */
static void class_is_same(const hd_graph *g, const hd_graph *h, const hd_dominators *const d[2], hd_str name, bool moved) {
    uint64_t sums[2][3];
    for (int k = 0; k < 2; k++) {
        hd_histogram *rows;
        memset(sums[k], 0, sizeof sums[k]);
        assert_int_equal(hd_graph_histogram(k ? h : g, d[k], NULL, &rows, NULL), HD_OK);
        for (uint32_t i = 0; i < rows->count; i++) {
            const hd_class_row *row = &rows->rows[i];
            if (!hd_str_equal(hd_graph_class(k ? h : g, row->class_index).name, name)) continue;
            if (k) assert_true(row->objects == row->live_objects && row->bytes == row->live_bytes);
            sums[k][0] += row->live_objects, sums[k][1] += row->live_bytes, sums[k][2] += row->retained;
        }
        hd_histogram_free(rows);
    }
    for (int i = 0; i < (moved ? 2 : 3); i++) assert_int_equal(sums[0][i], sums[1][i]);
}

/* The retained size of a class, by removal. It is equal in graphs without ephemerons; a V8 snapshot attaches their
   values only to the keys. */
static void classes_retain_the_same(const hd_graph *g, const hd_graph *h) {
    for (uint32_t i = 1; i <= CLASSES; i++) {
        hd_total a = { 0, 0 }, b = { 0, 0 };
        for (uint32_t c = 1; c < hd_graph_class_count(h); c++)
            if (hd_str_equal(hd_graph_class(g, i).name, hd_graph_class(h, c).name))
                assert_int_equal(hd_graph_classes_retained(h, &c, 1, NULL, &b, NULL), HD_OK);
        assert_int_equal(hd_graph_classes_retained(g, &i, 1, NULL, &a, NULL), HD_OK);
        assert_int_equal(a.bytes, b.bytes);
    }
}

/* Whether one of the objects from this one on is a key. */
static bool has_keys(const hd_graph *g, uint32_t from) {
    for (uint32_t o = 0; o < hd_graph_object_count(g); o++) {
        hd_object object = hd_graph_object(g, o);
        for (uint32_t i = 0; object.kinds && i < object.reference_count; i++)
            if (object.kinds[i] == HD_REFERENCE_KEY && object.references[i] >= from) return true;
    }
    return false;
}

static void object_is_same(const hd_graph *g, const hd_graph *h, uint32_t object, uint32_t node, const uint8_t *kept) {
    hd_object a = hd_graph_object(g, object), b = hd_graph_object(h, node);
    uint32_t weak = 0, omitted = 0;
    assert_int_equal(a.size, b.size);
    if (object < hd_graph_summarize(g).objects)
        assert_true(hd_str_equal(hd_graph_class(g, a.class_index).name, hd_graph_class(h, b.class_index).name));
    for (uint32_t i = 0, k = 0; i < a.reference_count; i++) {
        bool strong = !a.kinds || a.kinds[i] == HD_REFERENCE_STRONG;
        hd_str name = hd_graph_field(g, object, i);
        if (!kept[a.references[i]]) {
            assert_true(!strong || !hd_graph_object(g, a.references[i]).class_index);
            omitted += strong;
            continue;
        }
        weak += !strong;
        assert_true(strong == (!b.kinds || b.kinds[k] == HD_REFERENCE_STRONG));
        if (name.len) assert_true(hd_str_equal(name, hd_graph_field(h, node, k)));
        else if (strong) assert_int_equal(hd_graph_index(h, node, k), hd_graph_index(g, object, i) == HD_NONE ? i : hd_graph_index(g, object, i));
        k++;
    }
    assert_int_equal(b.reference_count - strong_count(b), weak);
    /* more: values that depend on it, roots that it refers to */
    assert_true(strong_count(b) + omitted >= strong_count(a));
}

/* In a numbered graph all references to missing objects lead to one object, the sentinel. */
static void is_same(const hd_graph *g, bool own_ids, bool numbered) {
    told t;
    hd_dump *doc = written(g, &t);
    const hd_graph *h = hd_dump_graph(doc);
    hd_graph_summary s = hd_graph_summarize(g);
    uint8_t reached[MOST + MISSING + 1] = { 0 };
    char text[256];
    hd_dominators *d = NULL, *e = NULL;
    hd_total live = { 0, 0 };
    uint32_t kept = 0;
    assert_int_equal(hd_graph_reach(g, NULL, 0, NULL, reached, &live, NULL), HD_OK);
    for (uint32_t o = (uint32_t)s.objects; numbered && o < hd_graph_object_count(g); o++) reached[o] = 0;
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    assert_int_equal(hd_graph_dominators(h, NULL, &e, NULL), HD_OK);
    assert_int_equal(d->bytes, e->bytes);
    assert_int_equal(hd_graph_root_count(h), 1);
    for (uint32_t o = 0; o < hd_graph_object_count(g); o++) {
        uint32_t node = hd_graph_find(h, own_ids ? 2 * (uint64_t)o + 5 : hd_graph_object(g, o).id);
        assert_true(reached[o] == (node != HD_NONE));
        if (node == HD_NONE) continue;
        kept++;
        if (!numbered || !has_keys(g, (uint32_t)s.objects)) assert_int_equal(d->retained[o], e->retained[node]);
        object_is_same(g, h, o, node, reached);
    }
    assert_int_equal(hd_graph_object_count(h), kept + 2);
    for (uint32_t i = 1; i <= CLASSES; i++) class_is_same(g, h, (const hd_dominators *const[]){ d, e }, hd_graph_class(g, i).name, numbered && has_keys(g, (uint32_t)s.objects));
    if (!has_keys(g, 0)) classes_retain_the_same(g, h);
    snprintf(text, sizeof text, "garbage is left out: %llu object%s unreachable from roots, %llu bytes",
             (unsigned long long)(s.objects - live.objects), s.objects - live.objects == 1 ? "" : "s",
             (unsigned long long)(s.bytes - live.bytes));
    assert_int_equal(t.count, s.objects > live.objects);
    if (t.count) assert_string_equal(t.text, text);
    hd_dominators_free(d), hd_dominators_free(e);
    hd_dump_free(doc);
}

/* Formats with garbage keep it. Like in a V8 snapshot, one object refers to all roots. A key without a record has no
   references there: its value is live, but depends on the ephemeron. */
static void holds_the_same_elsewhere(const hd_graph *g) {
    hd_buffer out[2] = { { 0 }, { 0 } };
    hd_dump *dart = NULL;
    hd_dump *netcf = NULL;
    hd_dominators *d = NULL, *e = NULL;
    assert_int_equal(hd_dart_write_graph(g, hd_cstr("x"), NULL, hd_out_memory(&out[0]), NULL), HD_OK);
    assert_int_equal(hd_netcf_write_graph(g, NULL, NULL, hd_out_memory(&out[1]), NULL), HD_OK);
    assert_int_equal(hd_read_as(&hd_format_dart, hd_in_memory(out[0].data, out[0].size), NULL, &dart, NULL), HD_OK);
    assert_int_equal(hd_read_as(&hd_format_netcf, hd_in_memory(out[1].data, out[1].size), NULL, &netcf, NULL), HD_OK);
    assert_int_equal(hd_graph_dominators(g, NULL, &d, NULL), HD_OK);
    for (int k = 0; k < 2; k++) {
        const hd_graph *h = k ? hd_dump_graph(netcf) : hd_dump_graph(dart);
        assert_int_equal(hd_graph_dominators(h, NULL, &e, NULL), HD_OK);
        assert_int_equal(hd_graph_summarize(h).objects, hd_graph_summarize(g).objects + (k ? 0 : 1));
        assert_int_equal(d->bytes, e->bytes);
        for (uint32_t o = 0; o < hd_graph_summarize(g).objects; o++) {
            assert_true((d->below[o] != 0) == (e->below[k ? o : o + 1] != 0));
            if (!has_keys(g, (uint32_t)hd_graph_summarize(g).objects)) assert_int_equal(d->retained[o], e->retained[k ? o : o + 1]);
        }
        hd_dominators_free(e);
    }
    hd_dominators_free(d);
    hd_dump_free(dart), hd_dump_free(netcf);
    hd_buffer_free(&out[0]), hd_buffer_free(&out[1]);
}

static void random_graphs_hold_the_same(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed, first_id = seed % 2 ? 100 : 0;
        bool numbered = seed % 3 == 0;
        hd_graph *g = random_graph(&random, first_id, numbered);
        is_same(g, !first_id, numbered);
        holds_the_same_elsewhere(g);
        hd_graph_free(g);
    }
}

/* If writing fails for lack of memory, nothing is left behind. Some of the graphs have one root for all, some have
   keys without records. */
static void failing_allocations_are_reported(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        hd_graph *g = random_graph(&random, 100, seed % 3 == 0);
        for (int k = 0; k < 3; k++) {
            hd__faults f = { 0 };
            HD__EACH_FAULT(f) {
                hd_options options = { .allocator = hd__faults_allocator(&f) };
                hd_buffer out = { 0 };
                hd_status status = k == 0   ? hd_v8_write_graph(g, &options, hd_out_memory(&out), NULL)
                                   : k == 1 ? hd_dart_write_graph(g, hd_cstr("x"), &options, hd_out_memory(&out), NULL)
                                            : hd_netcf_write_graph(g, NULL, &options, hd_out_memory(&out), NULL);
                if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
                hd_buffer_free(&out);
                assert_int_equal(f.live, 0);
                assert_null(f.misuse);
            }
        }
        hd_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_keeps_nothing),
        cmocka_unit_test(random_graphs_hold_the_same),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
