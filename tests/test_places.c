/* The code locations of frames, stored by name; and facts that a file states about itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"

static const hd_mapping app = { .start = 0x1000, .limit = 0x3000, .offset = 0x100, .file = { "app", 3 }, .build_id = { "ab", 2 },
                                .has_functions = true };

static void a_mapping_is_one_wherever_it_is_loaded(void **state) {
    (void)state;
    hd_places *places = hd_places_create(NULL, NULL);
    hd_mapping other[5] = { app, app, app, app, app };
    uint32_t number = 9;
    other[0].start += 0x10000, other[0].limit += 0x10000, other[0].has_functions = false;
    other[1].limit++;
    other[2].offset++;
    other[3].file = hd_cstr("lib");
    other[4].build_id = hd_cstr("cd");
    assert_int_equal(hd_places_map(places, &app, &number, NULL), HD_OK);
    assert_int_equal(number, 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(hd_places_map(places, &other[i], &number, NULL), HD_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(hd_places_mapping_count(places), 5);
    for (uint32_t i = 0; i < 3; i++) {               /* anonymous mappings are identified by their addresses */
        hd_mapping anonymous = { .start = 0x1000 * (i / 2), .limit = 0x1000 * (i / 2) + 0x3000 };
        assert_int_equal(hd_places_map(places, &anonymous, &number, NULL), HD_OK);
        assert_int_equal(number, 5 + i / 2);
    }
    hd_mapping first = hd_places_mapping(places, 0);
    assert_true(first.start == 0x1000 && first.has_functions && hd_str_equal(first.file, app.file) && first.file.data != app.file.data);
    assert_int_equal(hd_places_mapping(places, 7).limit, 0);
    hd_places_free(places);
}

static void of_a_frame_the_first_place_stays(void **state) {
    (void)state;
    hd_places *places = hd_places_create(NULL, NULL);
    hd_place place = { .mapping = 0, .address = 0x1234, .symbol = hd_cstr("_Z1fv"), .start_line = 3, .column = 7 }, found;
    hd_error err = { 0 };
    uint32_t number;
    assert_int_equal(hd_places_add(places, hd_cstr("f"), &place, &err), HD_INVALID);
    assert_string_equal(err.message, "one of 0 mappings expected, number 0 found");
    assert_int_equal(hd_places_map(places, &app, &number, NULL), HD_OK);
    assert_int_equal(hd_places_add(places, hd_cstr("f"), &place, NULL), HD_OK);
    place.address = 1, place.mapping = HD_NONE, place.symbol = hd_cstr("");
    assert_int_equal(hd_places_add(places, hd_cstr("f"), &place, NULL), HD_OK);
    assert_int_equal(hd_places_add(places, hd_cstr("g"), &place, NULL), HD_OK);
    assert_true(hd_places_find(places, hd_cstr("f"), &found));
    assert_true(found.mapping == 0 && found.address == 0x1234 && found.start_line == 3 && found.column == 7);
    assert_true(hd_str_equal(found.symbol, hd_cstr("_Z1fv")));
    assert_true(hd_places_find(places, hd_cstr("g"), &found) && found.mapping == HD_NONE && !found.symbol.len);
    assert_false(hd_places_find(places, hd_cstr("h"), &found));
    assert_true(found.mapping == HD_NONE && !found.address);
    assert_false(hd_places_find(NULL, hd_cstr("f"), &found));
    assert_int_equal(hd_places_mapping_count(NULL), 0);
    hd_places_free(places);
    hd_places_free(NULL);
}

static void each_refused_allocation_is_reported(void **state) {
    (void)state;
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_places *places = hd_places_create(&options, NULL);
        hd_status status = places ? HD_OK : HD_OUT_OF_MEMORY;
        for (uint32_t i = 0; i < 40 && !status; i++) {
            char name[16];
            hd_mapping mapping = app;
            hd_place place = { .symbol = { name, (size_t)sprintf(name, "s%u", (unsigned)i) } };
            mapping.offset = i;
            status = hd_places_map(places, &mapping, &place.mapping, NULL);
            if (!status) status = hd_places_add(places, place.symbol, &place, NULL);
        }
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        hd_places_free(places);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    assert_true(f.count > 10);
}

/* Facts. -------------------------------------------------------------------------------------------- */

typedef struct told {
    char text[4096];
    size_t size, most;           /* facts to take before stopping; 0: all */
} told;

static hd_status take(void *user, const hd_fact *fact) {
    told *t = (told *)user;
    if (t->most && !--t->most) return HD_CANCELLED;
    if (fact->text.data) t->size += (size_t)sprintf(t->text + t->size, "%s: " HD_FMT "\n", fact->name, HD_ARG(fact->text));
    else t->size += (size_t)sprintf(t->text + t->size, "%s: %llu %s\n", fact->name, (unsigned long long)fact->value, fact->units ? fact->units : "-");
    return HD_OK;
}

static void facts_are(const void *data, size_t size, const char *expected) {
    told t = { .size = 0 }, one = { .most = 2 };
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(data, size, NULL, &dump, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_dump_facts(dump, take, &t, &err), HD_OK);
    assert_string_equal(t.text, expected);
    if (t.size) {
        assert_int_equal(hd_dump_facts(dump, take, &one, &err), HD_CANCELLED);
        assert_int_equal(one.size, strchr(t.text, '\n') + 1 - t.text);
    }
    hd_dump_free(dump);
}

static void formats_state_facts(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("pprof-go.pb", &data, &size);
    facts_are(data, size, "period type: space\nperiod: 4096 bytes\ntime: 1795330446994211342 nanoseconds\nsamples: 119 -\n"
                          "locations: 24 -\nfunctions: 19 -\nmapping: 0x400000-0x4b5000 at 0x0 of /srv/app/heapsample\n"
                          "mapping: 0x7f14c91cb000-0x7f14c91cd000 at 0x0 of [vdso]\n"
                          "mapping: 0xffffffffff600000-0xffffffffff601000 at 0x0 of [vsyscall]\n");
    free(data);
    const char *folded = "a;b 12\n";
    facts_are(folded, strlen(folded), "");
    const char *v8 = "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\"node_types\":[[\"object\"]],"
                     "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"element\"]]},\"node_count\":1,\"edge_count\":0,"
                     "\"trace_function_count\":0,\"extra_native_bytes\":4711,\"more\":\"x\"},\"nodes\":[0,0,1,8,0],\"edges\":[],"
                     "\"locations\":[0,1,2,3],\"strings\":[\"\"]}";
    facts_are(v8, strlen(v8), "node_count: 1 -\nedge_count: 0 -\ntrace_function_count: 0 -\nextra_native_bytes: 4711 -\n"
                              "locations: 9 bytes of JSON\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_is_one_wherever_it_is_loaded),
        cmocka_unit_test(of_a_frame_the_first_place_stays),
        cmocka_unit_test(each_refused_allocation_is_reported),
        cmocka_unit_test(formats_state_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
