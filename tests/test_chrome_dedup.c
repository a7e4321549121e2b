/* Frames and type names are numbered once for all dumps of a trace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

static hd_deduplicator *deduplicator(uint32_t axis) {
    hd_deduplicator *d = hd_deduplicator_create(axis, NULL, NULL);
    assert_non_null(d);
    return d;
}

/* "BrMain/Init": returns the id of the innermost frame. */
static hd_status insert(hd_deduplicator *d, const char *path, uint32_t *id, hd_error *err) {
    hd_str names[8];
    size_t n = 0;
    char text[64];           /* a copy that does not outlive the call */
    snprintf(text, sizeof text, "%s", path);
    for (char *at = strtok(text, "/"); at; at = strtok(NULL, "/")) names[n++] = hd_cstr(at);
    hd_status status = hd_deduplicator_insert(d, names, n, id, err);
    memset(text, '#', sizeof text);
    return status;
}

static uint32_t id_of(hd_deduplicator *d, const char *path) {
    uint32_t id;
    assert_int_equal(insert(d, path, &id, NULL), HD_OK);
    return id;
}

static void assert_name(const hd_deduplicator *d, uint32_t id, const char *name, uint32_t caller) {
    uint32_t above = 77;
    hd_str found = hd_deduplicator_name(d, id, &above);
    assert_true(hd_str_equal(found, hd_cstr(name)));
    assert_true(hd_str_equal(hd_deduplicator_name(d, id, NULL), found));
    assert_int_equal(above, caller);
}

static void assert_dictionary(const hd_deduplicator *d, uint32_t first, const char *quoted) {
    char *expected = trace_of(quoted, NULL);
    hd_buffer bytes = { 0 };
    hd_json json;
    hd_json_begin(&json, hd_out_memory(&bytes));
    hd_deduplicator_write(d, first, &json);
    assert_int_equal(hd_json_finish(&json), HD_OK);
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
    hd_buffer_free(&bytes);
    free(expected);
}

/* The backtraces in the document's table. */
static void frames_of_the_document_are_numbered_in_order_of_insertion(void **state) {
    (void)state;
    hd_deduplicator *d = deduplicator(HD_AXIS_BACKTRACE);
    assert_int_equal(hd_deduplicator_count(d), 0);
    assert_dictionary(d, 0, "{}");
    assert_int_equal(id_of(d, "BrMain"), 0);
    assert_int_equal(id_of(d, "BrMain/Init"), 1);
    assert_int_equal(id_of(d, "BrMain/MsgLp"), 2);
    assert_int_equal(id_of(d, "RdMain/RTask"), 4);
    assert_int_equal(id_of(d, "RdMain"), 3);
    assert_int_equal(id_of(d, "RdMain/FnA"), 5);
    assert_int_equal(id_of(d, "ColdFn"), 6);
    assert_int_equal(id_of(d, "BrMain/Init"), 1);
    assert_int_equal(hd_deduplicator_count(d), 7);
    assert_name(d, 0, "BrMain", HD_NONE);
    assert_name(d, 1, "Init", 0);
    assert_name(d, 2, "MsgLp", 0);
    assert_name(d, 4, "RTask", 3);
    assert_name(d, 6, "ColdFn", HD_NONE);
    assert_dictionary(d, 0, "{'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'},'2':{'name':'MsgLp','parent':'0'},"
                            "'3':{'name':'RdMain'},'4':{'name':'RTask','parent':'3'},'5':{'name':'FnA','parent':'3'},"
                            "'6':{'name':'ColdFn'}}");
    hd_deduplicator_free(d);
}

static void types_are_flat_and_the_first_is_unknown(void **state) {
    (void)state;
    hd_deduplicator *d = deduplicator(HD_AXIS_TYPE);
    hd_str two[2] = { hd_cstr("T"), hd_cstr("U") };
    hd_error err = { 0 };
    uint32_t id = 77;
    assert_int_equal(hd_deduplicator_count(d), 1);
    assert_int_equal(id_of(d, "T"), 1);
    assert_int_equal(id_of(d, ""), 0);
    assert_int_equal(id_of(d, "[unknown]"), 0);
    assert_int_equal(id_of(d, "V"), 2);
    assert_int_equal(id_of(d, "T"), 1);
    assert_int_equal(hd_deduplicator_insert(d, two, 2, &id, &err), HD_INVALID);
    assert_string_equal(err.message, "expected a type of one name, found 2 names");
    assert_int_equal(id, 77);
    assert_name(d, 0, "[unknown]", HD_NONE);
    assert_name(d, 2, "V", HD_NONE);
    assert_dictionary(d, 0, "{'0':'[unknown]','1':'T','2':'V'}");
    hd_deduplicator_free(d);
}

static void an_empty_backtrace_has_no_frame(void **state) {
    (void)state;
    hd_deduplicator *d = deduplicator(HD_AXIS_BACKTRACE);
    assert_int_equal(id_of(d, ""), HD_NONE);
    assert_int_equal(hd_deduplicator_count(d), 0);
    assert_name(d, 0, "", HD_NONE);
    assert_name(d, HD_NONE, "", HD_NONE);
    hd_deduplicator_free(d);
}

/* The name and the caller identify a frame. */
static void one_function_called_from_two_is_two_frames(void **state) {
    (void)state;
    hd_deduplicator *d = deduplicator(HD_AXIS_BACKTRACE);
    assert_int_equal(id_of(d, "a/f"), 1);
    assert_int_equal(id_of(d, "b/f"), 3);
    assert_int_equal(id_of(d, "f"), 4);
    assert_int_equal(id_of(d, "f/f"), 5);
    assert_int_equal(id_of(d, "a/f"), 1);
    hd_deduplicator_free(d);
}

static void later_dumps_write_only_new_frames(void **state) {
    (void)state;
    hd_deduplicator *d = deduplicator(HD_AXIS_BACKTRACE);
    id_of(d, "a/b");
    uint32_t told = hd_deduplicator_count(d);
    id_of(d, "a/c");
    assert_dictionary(d, told, "{'2':{'name':'c','parent':'0'}}");
    assert_dictionary(d, hd_deduplicator_count(d), "{}");
    assert_dictionary(d, HD_NONE, "{}");
    hd_deduplicator_free(d);
}

/* Random backtraces: ids are dense, callers come before callees, and no id changes later. */
static void ids_never_change(void **state) {
    (void)state;
    enum { ROUNDS = 3000 };
    static char paths[ROUNDS][64];
    static uint32_t ids[ROUNDS];
    hd_deduplicator *d = deduplicator(HD_AXIS_BACKTRACE);
    uint64_t r = 5;
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = 0;
        for (uint64_t k = 1 + hd__test_below(&r, 7); k; k--)
            n += (size_t)snprintf(paths[i] + n, sizeof paths[i] - n, "%sf%d", n ? "/" : "", (int)hd__test_below(&r, 6));
        uint32_t before = hd_deduplicator_count(d);
        ids[i] = id_of(d, paths[i]);
        assert_true(ids[i] < before || ids[i] == hd_deduplicator_count(d) - 1);
    }
    for (int i = 0; i < ROUNDS; i++) {
        char text[64] = "", *at = text + sizeof text - 1;
        *at = '\0';
        for (uint32_t id = ids[i], above; id != HD_NONE; id = above) {
            hd_str name = hd_deduplicator_name(d, id, &above);
            assert_true(above == HD_NONE || above < id);
            memcpy(at -= name.len, name.data, name.len);
            if (above != HD_NONE) *--at = '/';
        }
        assert_string_equal(at, paths[i]);
        assert_int_equal(id_of(d, paths[i]), ids[i]);
    }
    hd_deduplicator_free(d);
}

/* A trace writes the frames and types of its deduplicators. */
static void writer_numbers_by_its_deduplicators(void **state) {
    (void)state;
    hd_profile *p = document_profile(), *more = profile_new(2);
    add_cell(more, "/RdMain/RTask/Later", "/X", 900, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 64 }), *c = exported(more, (hd_cutoff){ 0 });
    hd_heap first = { .pid = 7, .dump = "0x1", .allocator = "m", .breakdown = b };
    hd_heap second = { .pid = 7, .dump = "0x2", .time_us = 5, .allocator = "m", .breakdown = c };
    hd_chrome_dumps dumps = { .heaps = &first, .heap_count = 1 };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = hd_chrome_writer_create(NULL, hd_out_memory(&bytes), NULL);
    assert_non_null(w);
    assert_null(hd_chrome_writer_deduplicator(w, 7, HD_AXIS_BACKTRACE));
    assert_int_equal(hd_chrome_writer_add(w, &dumps, NULL), HD_OK);
    assert_null(hd_chrome_writer_deduplicator(w, 8, HD_AXIS_BACKTRACE));
    assert_null(hd_chrome_writer_deduplicator(w, 7, 2));
    assert_dictionary(hd_chrome_writer_deduplicator(w, 7, HD_AXIS_BACKTRACE), 0,
                      "{'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'},'2':{'name':'MsgLp','parent':'0'},"
                      "'3':{'name':'RdMain'},'4':{'name':'RTask','parent':'3'}}");
    assert_dictionary(hd_chrome_writer_deduplicator(w, 7, HD_AXIS_TYPE), 0, "{'0':'[unknown]','1':'T','2':'V','3':'W'}");
    dumps.heaps = &second;
    assert_int_equal(hd_chrome_writer_add(w, &dumps, NULL), HD_OK);
    assert_dictionary(hd_chrome_writer_deduplicator(w, 7, HD_AXIS_BACKTRACE), 4,
                      "{'4':{'name':'RTask','parent':'3'},'5':{'name':'Later','parent':'4'}}");
    assert_dictionary(hd_chrome_writer_deduplicator(w, 7, HD_AXIS_TYPE), 3, "{'3':'W','4':'X'}");
    assert_true(hd_deduplicator_memory(hd_chrome_writer_deduplicator(w, 7, 0)) == hd_chrome_writer_memory(w));
    assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_OK);
    assert_int_equal(hd_out_memory(&bytes).write(&bytes, "", 1), HD_OK);
    char *told = trace_of("'stackFrames':{'5':{'name':'Later','parent':'4'}}", NULL);
    char *types = trace_of("'typeNames':{'0':'[unknown]','1':'T','2':'V','3':'W','4':'X'}", NULL);
    char *entry = trace_of("{'size':'384','bt':'5','type':'4','count':'1'}", NULL);
    assert_non_null(strstr((const char *)bytes.data, told));
    assert_non_null(strstr((const char *)bytes.data, types));
    assert_non_null(strstr((const char *)bytes.data, entry));
    free(told);
    free(types);
    free(entry);
    hd_chrome_writer_free(w);
    hd_buffer_free(&bytes);
    hd_breakdown_free(b);
    hd_breakdown_free(c);
    hd_profile_free(p);
    hd_profile_free(more);
}

static void another_axis_is_invalid(void **state) {
    (void)state;
    hd_error err = { 0 };
    assert_null(hd_deduplicator_create(2, NULL, &err));
    assert_int_equal(err.status, HD_INVALID);
    hd_deduplicator_free(NULL);
}

static void ids_and_memory_stay_within_their_limits(void **state) {
    (void)state;
    hd_options options = { .limits.max_records = 3 };
    hd_deduplicator *d = hd_deduplicator_create(HD_AXIS_BACKTRACE, &options, NULL);
    uint32_t id = 77;
    assert_int_equal(id_of(d, "a/b/c"), 2);
    assert_int_equal(insert(d, "a/b/d", &id, NULL), HD_LIMIT);
    assert_int_equal(id, 77);
    assert_int_equal(id_of(d, "a/b"), 1);
    hd_deduplicator_free(d);
    options = (hd_options){ .limits.max_memory = 20000 };
    hd_status status = HD_OK;
    d = hd_deduplicator_create(HD_AXIS_TYPE, &options, NULL);
    for (int i = 0; !status; i++) {
        char name[16];
        snprintf(name, sizeof name, "type %d", i);
        status = insert(d, name, &id, NULL);
        assert_true(i < 2000 && hd_deduplicator_memory(d) <= 20000);
    }
    assert_int_equal(status, HD_LIMIT);
    assert_true(hd_deduplicator_count(d) > 50);
    hd_deduplicator_free(d);
    /* A name is stored once, however many frames have it. */
    d = deduplicator(HD_AXIS_BACKTRACE);
    char *name = (char *)calloc(1, 100000);
    hd_str long_names[100];
    memset(name, 'x', 99999);
    for (int i = 0; i < 100; i++) long_names[i] = hd_cstr(name);
    assert_int_equal(hd_deduplicator_insert(d, long_names, 100, &id, NULL), HD_OK);
    assert_int_equal(hd_deduplicator_count(d), 100);
    assert_true(hd_deduplicator_memory(d) < 300000);
    free(name);
    hd_deduplicator_free(d);
}

static void each_failing_allocation_comes_back(void **state) {
    (void)state;
    for (uint32_t axis = 0; axis < 2; axis++) {
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        HD__EACH_FAULT(faults) {
            hd_error err = { 0 };
            hd_deduplicator *d = hd_deduplicator_create(axis, &options, &err);
            hd_status status = d ? HD_OK : err.status;
            uint32_t known = 0, id;
            for (int i = 0; i < 40 && !status; i++) {
                char path[32];
                uint32_t before = hd_deduplicator_count(d);
                snprintf(path, sizeof path, axis ? "%d" : "%d/b/c", i);
                status = insert(d, path, &id, &err);
                if (!status) known = id;
                else { /* can continue: earlier ids stay valid */
                    assert_true(hd_deduplicator_count(d) >= before);
                    assert_int_equal(insert(d, path, &id, NULL), HD_OK);
                    assert_true(id >= known && id + 1 == hd_deduplicator_count(d));
                }
            }
            assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
            hd_deduplicator_free(d);
            assert_int_equal(faults.live, 0);
            assert_null(faults.misuse);
        }
        assert_true(faults.fail_at > 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_the_document_are_numbered_in_order_of_insertion),
        cmocka_unit_test(types_are_flat_and_the_first_is_unknown),
        cmocka_unit_test(an_empty_backtrace_has_no_frame),
        cmocka_unit_test(one_function_called_from_two_is_two_frames),
        cmocka_unit_test(later_dumps_write_only_new_frames),
        cmocka_unit_test(ids_never_change),
        cmocka_unit_test(writer_numbers_by_its_deduplicators),
        cmocka_unit_test(another_axis_is_invalid),
        cmocka_unit_test(ids_and_memory_stay_within_their_limits),
        cmocka_unit_test(each_failing_allocation_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
