/* Finds the nodes of one V8 snapshot in another, by id, if both are from one inspector session. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"

typedef struct node { int type; char name[32]; uint32_t id, size; } node;
enum { ARRAY, STRING, OBJECT, CODE, NATIVE, MOST = 3000 };

/* A snapshot of node 0, id 1, which refers to these nodes. The caller frees it. */
static hd_dump *snapshot(const node *nodes, uint32_t count) {
    char *text = malloc(((size_t)count + 1) * 120 + 1024);
    size_t n = (size_t)sprintf(text, "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],"
        "\"node_types\":[[\"array\",\"string\",\"object\",\"code\",\"native\"],\"string\",\"number\",\"number\",\"number\"],"
        "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"element\"],\"string_or_number\",\"node\"]},"
        "\"node_count\":%u,\"edge_count\":%u},\"nodes\":[2,0,1,0,%u", count + 1, count, count);
    hd_dump *doc = NULL;
    hd_error err = { 0 };
    for (uint32_t i = 0; i < count; i++)
        n += (size_t)sprintf(text + n, ",%d,%u,%u,%u,0", nodes[i].type, i + 1, nodes[i].id, nodes[i].size);
    n += (size_t)sprintf(text + n, "],\"edges\":[");
    for (uint32_t i = 0; i < count; i++) n += (size_t)sprintf(text + n, "%s0,%u,%u", i ? "," : "", i, 5 * (i + 1));
    n += (size_t)sprintf(text + n, "],\"strings\":[\"root\"");
    for (uint32_t i = 0; i < count; i++) n += (size_t)sprintf(text + n, ",\"%s\"", nodes[i].name);
    sprintf(text + n, "]}");
    if (hd_read_as(&hd_format_v8, hd_in_memory(text, strlen(text)), NULL, &doc, &err)) fail_msg("%s", err.message);
    free(text);
    return doc;
}

typedef hd_status differ(const hd_dump *a, const hd_dump *b, const uint8_t *const reached[2],
                         hd_identity_change **out);
static hd_status by_name(const hd_dump *a, const hd_dump *b, const uint8_t *const reached[2],
                         hd_identity_change **out) {
    return hd_v8_diff(hd_dump_v8(a), hd_dump_v8(b), reached, NULL, out, NULL);
}
static hd_status by_class(const hd_dump *a, const hd_dump *b, const uint8_t *const reached[2],
                          hd_identity_change **out) {
    return hd_graph_match(hd_dump_graph(a), hd_dump_graph(b), reached, NULL, out, NULL);
}

static hd_identity_change *compared(differ *diff, const node *a, uint32_t n, const node *b, uint32_t m) {
    hd_dump *before = snapshot(a, n), *after = snapshot(b, m);
    hd_identity_change *c = NULL;
    assert_int_equal(diff(before, after, NULL, &c), HD_OK);
    hd_dump_free(before), hd_dump_free(after);
    return c;
}

static node nodes[2][MOST];

/* `count` nodes in both snapshots; `other` of them have another class afterwards. */
static void fill(uint32_t count, uint32_t other) {
    for (uint32_t i = 0; i < count; i++) {
        nodes[0][i] = nodes[1][i] = (node){ OBJECT, "", 3 + 2 * i, 16 };
        sprintf(nodes[0][i].name, "Class%u", i % 7);
        sprintf(nodes[1][i].name, "Class%u", i % 7 + (i < other ? 100 : 0));
    }
}

/* The root is one more common id. In small files too, one of 99 is more than 1 %, and one of 100 is not. */
static void more_than_one_in_a_hundred_is_another_session(void **state) {
    (void)state;
    static const uint32_t counts[] = { 0, 1, 2, 9, 98, 99, 100, 198, 199, 255, 256, 999, 2999 };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (uint32_t other = 0; other <= counts[k]; other += other < 40 ? 1 : counts[k] / 9 + 1)
            for (int by = 0; by < 2; by++) {
                fill(counts[k], other);
                hd_identity_change *c = compared(by ? by_class : by_name, nodes[0], counts[k], nodes[1], counts[k]);
                assert_int_equal(c->common, counts[k] + 1);
                assert_int_equal(c->renamed, other);
                assert_int_equal(c->by_chance, 100 * other > counts[k] + 1);
                assert_int_equal(c->kept, counts[k] + 1 - other);
                hd_identity_change_free(c);
            }
}

/* New and missing objects are no evidence, however many. */
static void new_and_gone_objects_are_no_evidence(void **state) {
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        fill(1000, 0);
        hd_identity_change *c = compared(by_name, nodes[0], gone ? 1000 : 3, nodes[1], gone ? 3 : 1000);
        assert_int_equal(c->common, 4);
        assert_int_equal(c->kept, 4);
        assert_false(c->by_chance);
        hd_identity_change_free(c);
    }
}

/* Strings have one class, and so has code; two processes of one program differ in their names. */
static void names_of_strings_and_code_distinguish_sessions(void **state) {
    (void)state;
    fill(300, 0);
    for (uint32_t i = 0; i < 300; i++) nodes[0][i].type = nodes[1][i].type = i % 2 ? STRING : CODE;
    for (uint32_t i = 0; i < 20; i++) sprintf(nodes[1][i].name, "other%u", i);
    hd_identity_change *c = compared(by_name, nodes[0], 300, nodes[1], 300);
    assert_int_equal(c->renamed, 20);
    assert_true(c->by_chance);
    assert_int_equal(c->kept, 301); /* equal id, type and class: one object, if the session is the same */
    hd_identity_change_free(c);
    c = compared(by_class, nodes[0], 300, nodes[1], 300);
    assert_int_equal(c->renamed, 0);
    assert_false(c->by_chance);
    hd_identity_change_free(c);
}

static void another_type_is_another_object(void **state) {
    (void)state;
    fill(300, 0);
    for (uint32_t i = 0; i < 5; i++) nodes[1][i].type = NATIVE; /* the class keeps its name */
    hd_identity_change *c = compared(by_name, nodes[0], 300, nodes[1], 300);
    assert_int_equal(c->renamed, 5);
    assert_int_equal(c->kept, 296);
    assert_true(c->by_chance);
    hd_identity_change_free(c);
}

/* A page detaches elements and changes their attributes: they stay the same objects. */
static void detached_nodes_stay_the_same_objects(void **state) {
    (void)state;
    static const node before[] = { { NATIVE, "<li>", 3, 10 }, { NATIVE, "<li class='a'>", 5, 20 }, { NATIVE, "Detached <p>", 7, 30 },
                                   { OBJECT, "HTMLLIElement", 9, 40 } };
    static const node after[] = { { NATIVE, "Detached <li>", 3, 11 }, { NATIVE, "Detached <li class='b'>", 5, 20 }, { NATIVE, "<p>", 7, 30 },
                                  { OBJECT, "Detached HTMLLIElement", 9, 40 } };
    hd_dump *doc[2] = { snapshot(before, 4), snapshot(after, 4) }; /* rows borrow their names */
    hd_identity_change *c = NULL;
    uint64_t objects[2] = { 0, 0 };
    assert_int_equal(by_name(doc[0], doc[1], NULL, &c), HD_OK);
    assert_false(c->by_chance);
    assert_int_equal(c->renamed, 0);
    assert_int_equal(c->kept, 5);
    for (uint32_t i = 0; i < c->count; i++) {
        const hd_identity_row *r = &c->rows[i];
        assert_true(r->kept <= r->objects[0] && r->kept <= r->objects[1]);
        objects[0] += r->objects[0], objects[1] += r->objects[1];
        if (!hd_str_equal(r->name, hd_cstr("Detached <li>"))) continue;
        assert_int_equal(r->kept, 2);
        assert_int_equal(r->kept_bytes[0], 30);
        assert_int_equal(r->kept_bytes[1], 31);
    }
    assert_int_equal(objects[0], 5);
    assert_int_equal(objects[1], 5);
    hd_identity_change_free(c);
    hd_dump_free(doc[0]), hd_dump_free(doc[1]);
}

static void nothing_in_common_is_another_session(void **state) {
    (void)state;
    hd_graph *g[2];
    hd_identity_change *c;
    for (uint64_t k = 0; k < 2; k++) {
        hd_class a = { .name = hd_cstr("A"), .scope = hd_cstr("") };
        uint32_t class_index;
        g[k] = hd_graph_create(NULL, NULL);
        assert_int_equal(hd_graph_add_class(g[k], &a, &class_index, NULL), HD_OK);
        for (uint64_t i = 0; i < 3; i++) assert_int_equal(hd_graph_add_object(g[k], 10 * k + i + 1, class_index, 8, NULL), HD_OK);
        assert_int_equal(hd_graph_seal(g[k], NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_graph_match(g[0], g[1], NULL, NULL, &c, NULL), HD_OK);
    assert_true(c->by_chance && !c->common);
    hd_identity_change_free(c);
    hd_graph_free(g[0]);
    g[0] = hd_graph_create(NULL, NULL); /* an empty graph is no evidence */
    assert_int_equal(hd_graph_seal(g[0], NULL, NULL), HD_OK);
    assert_int_equal(hd_graph_match(g[0], g[1], NULL, NULL, &c, NULL), HD_OK);
    assert_false(c->by_chance);
    hd_identity_change_free(c);
    hd_graph_free(g[0]), hd_graph_free(g[1]);
}

/* The selected part of the objects does not matter. */
static void reached_objects_do_not_decide(void **state) {
    (void)state;
    static uint8_t live[2][MOST + 1];
    for (uint32_t other = 0; other <= 400; other += 400)
        for (int some = 0; some < 2; some++) {
            hd_identity_change *c = NULL;
            fill(1000, other);
            for (uint32_t i = 0; i <= 1000; i++) live[0][i] = live[1][i] = (uint8_t)(some && i > 500);
            hd_dump *before = snapshot(nodes[0], 1000), *after = snapshot(nodes[1], 1000);
            assert_int_equal(by_name(before, after, (const uint8_t *const[]){ live[0], live[1] }, &c), HD_OK);
            assert_int_equal(c->common, 1001);
            assert_int_equal(c->renamed, other);
            assert_int_equal(c->by_chance, other > 0);
            assert_int_equal(c->kept, some ? 500 : 0);
            hd_identity_change_free(c);
            hd_dump_free(before), hd_dump_free(after);
        }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fill(50, 1);
    hd_dump *before = snapshot(nodes[0], 50), *after = snapshot(nodes[1], 50);
    hd_identity_change *c = NULL;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options o = { .allocator = hd__faults_allocator(&f) };
        hd_status status = hd_v8_diff(hd_dump_v8(before), hd_dump_v8(after), NULL, &o, &c, NULL);
        if (status) assert_int_equal(status, HD_OUT_OF_MEMORY);
        else hd_identity_change_free(c);
        assert_int_equal(f.live, 0);
    }
    hd_dump_free(before), hd_dump_free(after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_one_in_a_hundred_is_another_session),
        cmocka_unit_test(new_and_gone_objects_are_no_evidence),
        cmocka_unit_test(names_of_strings_and_code_distinguish_sessions),
        cmocka_unit_test(another_type_is_another_object),
        cmocka_unit_test(detached_nodes_stay_the_same_objects),
        cmocka_unit_test(nothing_in_common_is_another_session),
        cmocka_unit_test(reached_objects_do_not_decide),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
