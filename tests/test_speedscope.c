/* speedscope's JSON: the text has all bytes of the heaps by backtrace. speedscope.h reads it again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "../examples/heapdump/formats/speedscope.c"
#include "speedscope.h"

enum { MOST = 4 };

/* Writes the heaps and reads them: the bytes by backtrace are equal. */
static void settles(const hd_heap *heaps, int count) {
    hd_profile *again[MOST], *expected, *flat;
    hd_str names[MOST];
    hd_buffer text = { 0 };
    hd_error err;
    if (speedscope_write(heaps, (size_t)count, NULL, hd_out_memory(&text), &err)) fail_msg("%s", err.message);
    assert_int_equal(speedscope_detect(text.data, text.size), 100);
    assert_int_equal(scope_read(text.data, text.size, again, names, MOST), count);
    for (int i = 0; i < count; i++) {
        flat = NULL;
        if (heaps[i].breakdown)
            assert_int_equal(hd_breakdown_axis_profile(heaps[i].breakdown, 0, NULL, &flat, NULL), HD_OK);
        expected = scope_expected(flat ? flat : heaps[i].profile);
        if (!scope_same(again[i], expected))
            fail_msg("heap %d: %s written, %s read", i, profile_text(expected), profile_text(again[i]));
        hd_profile_free(expected);
        hd_profile_free(again[i]);
        hd_profile_free(flat);
    }
    hd_buffer_free(&text);
}

/* The text of a heap; the caller frees it. */
static char *written(const hd_heap *heaps, size_t count) {
    hd_buffer text = { 0 };
    assert_int_equal(speedscope_write(heaps, count, NULL, hd_out_memory(&text), NULL), HD_OK);
    char *copy = (char *)calloc(1, text.size + 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    hd_buffer_free(&text);
    return copy;
}

#define HEAD "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":\"%s\"," \
             "\"exporter\":\"heapdump\",\"activeProfileIndex\":0,\"profiles\":["

static void a_small_heap_is_this_text(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_heap heaps[2] = { { .profile = p, .allocator = "malloc", .process = "game", .pid = 12, .dump = "0x1" },
                         { .profile = p, .kind = HD_HEAP_PEAK } };
    char *text = written(NULL, 0), expected[1000];
    snprintf(expected, sizeof expected, HEAD "],\"shared\":{\"frames\":[]}}\n", "heapdump");
    assert_text(text, expected);
    add_cell(p, "/main", "/T", 5, 1);
    add_cell(p, "/main", "/U", 2, 1);
    add_cell(p, "/main/f \"x\"", NULL, 40, HD_UNKNOWN);
    add_cell(p, "/", "/T", 3, 1);
    add_cell(p, "/gone", "/T", 0, 1);
    snprintf(expected, sizeof expected, HEAD "\n"
             "{\"type\":\"sampled\",\"name\":\"malloc live, game, pid 12, dump 0x1\",\"unit\":\"bytes\",\"startValue\":0,"
             "\"endValue\":50,\"samples\":[[],[1],[1,2]],\"weights\":[3,7,40]},\n"
             "{\"type\":\"sampled\",\"name\":\"heap peak\",\"unit\":\"bytes\",\"startValue\":0,"
             "\"endValue\":50,\"samples\":[[],[1],[1,2]],\"weights\":[3,7,40]}],\"shared\":{\"frames\":[\n"
             "{\"name\":\"gone\"},\n{\"name\":\"main\"},\n{\"name\":\"f \\\"x\\\"\"}]}}\n", "game");
    assert_text(written(heaps, 2), expected);
    settles(heaps, 2);
    hd_profile_free(p);
}

/* A frame's name, file and line as written. */
static void frames_are_split(void **state) {
    (void)state;
    static const struct {
        const char *frame, *text;
    } rows[] = {
        { "f (a.c:12)", "{\"name\":\"f\",\"file\":\"a.c\",\"line\":12}" },
        { "f a.c:12", "{\"name\":\"f\",\"file\":\"a.c\",\"line\":12}" },
        { "f (int) (dir b/a.c:1)", "{\"name\":\"f (int)\",\"file\":\"dir b/a.c\",\"line\":1}" },
        { "f (a.c:12) [app]", "{\"name\":\"f\",\"file\":\"a.c\",\"line\":12}" },
        { "f (a.c:0)", "{\"name\":\"f (a.c:0)\"}" },
        { "f (a.c)", "{\"name\":\"f (a.c)\"}" },
        { "f a:12", "{\"name\":\"f a:12\"}" },
        { "f (a.c:12345678901)", "{\"name\":\"f (a.c:12345678901)\"}" },
        { "a.c:12", "{\"name\":\"a.c:12\"}" },
        { ")", "{\"name\":\")\"}" },
        { "", "{\"name\":\"\"}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hd_profile *p = profile_new(1);
        hd_heap heap = { .profile = p };
        uint32_t node;
        assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr(rows[i].frame), &node, NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, &node, 1, 1, NULL), HD_OK);
        char *text = written(&heap, 1), *frames = strstr(text, "\"frames\":[\n");
        assert_non_null(frames);
        frames += strlen("\"frames\":[\n");
        frames[strcspn(frames, "]")] = 0;
        if (strcmp(frames, rows[i].text)) fail_msg("%s: %s expected, %s found", rows[i].frame, rows[i].text, frames);
        free(text);
        settles(&heap, 1);
        hd_profile_free(p);
    }
}

static void heaps_return(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heaps[MOST] = { { .profile = p } };
    hd_breakdown *b[3];
    static const hd_cutoff cutoffs[] = { { 0 }, { .top = 2 }, { .min_share = 0.1 } };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hd_export(p, &cutoffs[i], NULL, &b[i], NULL), HD_OK);
        heaps[i + 1].breakdown = b[i];
    }
    settles(heaps, MOST);
    settles(heaps + 1, 2);
    for (int i = 0; i < 3; i++) hd_breakdown_free(b[i]);
    hd_profile_free(p);
}

static void other_alphabets_return(void **state) {
    (void)state;
    static const char *const names[] = { "/gr\xc3\xb6\xc3\x9f" "e", "/\xe2\x82\xac\xf0\x9f\x8e\xae", "/\x01\t\n\x7f\\\"",
                                         "/\xe2\x80\xae" "x" };
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    for (size_t i = 0; i < 4; i++) add_cell(p, names[i], NULL, 1 + i, 1);
    settles(&heap, 1);
    hd_profile_free(p);
}

/* A chain of `depth` nodes with a byte each: depth * (depth + 1) / 2 frames. */
static hd_profile *chain(uint32_t depth) {
    hd_profile *p = profile_new(1);
    uint32_t node = 0;
    for (uint32_t i = 0; i < depth; i++) {
        assert_int_equal(hd_profile_node(p, 0, node, hd_cstr("f"), &node, NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, &node, 1, 1, NULL), HD_OK);
    }
    return p;
}

static void a_text_that_grows_with_the_square_is_refused(void **state) {
    (void)state;
    hd_profile *p = chain(14142);
    hd_heap heap = { .profile = p };
    hd_error err;
    hd_buffer text = { 0 };
    assert_int_equal(speedscope_write(&heap, 1, NULL, hd_out_memory(&text), &err), HD_LIMIT);
    assert_int_equal(err.status, HD_LIMIT);
    assert_non_null(strstr(err.message, "found 100005153"));
    hd_buffer_free(&text);
    hd_profile_free(p);
}

static void faults_are_reported(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heaps[2] = { { .profile = p } };
    hd__faults f = { 0 };
    hd_options options = { 0 };
    hd_error err;
    assert_int_equal(hd_export(p, &(hd_cutoff){ .top = 2 }, NULL, (hd_breakdown **)&heaps[1].breakdown, NULL), HD_OK);
    HD__EACH_FAULT(f) {
        hd_buffer text = { 0 };
        options.allocator = hd__faults_allocator(&f);
        hd_status status = speedscope_write(heaps, 2, &options, hd_out_memory(&text), &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (status) assert_int_equal(err.status, status);
        assert_null(f.misuse);
        assert_int_equal(f.live, 0);
        hd_buffer_free(&text);
    }
    hd__write_faults w = { .fail_at = 1 };
    assert_int_equal(speedscope_write(heaps, 2, NULL, hd__faults_out(&w), &err), HD_IO);
    assert_int_equal(err.status, HD_IO);
    assert_non_null(strstr(err.message, "writing speedscope's JSON failed"));
    assert_int_equal(w.after, 0);
    hd__write_faults_free(&w);
    hd_breakdown_free((hd_breakdown *)heaps[1].breakdown);
    hd_profile_free(p);
}

static void it_is_recognized(void **state) {
    (void)state;
    static const hd_format format = { .name = "speedscope", .detect = speedscope_detect, .write_heaps = speedscope_write };
    static const char schema[] = " \n{\"exporter\":\"x\",\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}";
    static const char *const others[] = { "", "{", "[\"https://www.speedscope.app/file-format-schema.json\"]",
                                          "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json?\"}" };
    hd_options options = { .formats = &format, .format_count = 1 };
    hd_dump *dump;
    hd_error err;
    for (size_t n = 0; n < sizeof schema - 2; n++) assert_int_equal(speedscope_detect((const uint8_t *)schema, n), 0);
    assert_int_equal(speedscope_detect((const uint8_t *)schema, sizeof schema - 2), 100);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(speedscope_detect((const uint8_t *)others[i], strlen(others[i])), 0);
    assert_int_equal(hd_read_memory(schema, sizeof schema - 1, &options, &dump, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "speedscope files can be written but not read");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_heap_is_this_text),
        cmocka_unit_test(frames_are_split),
        cmocka_unit_test(heaps_return),
        cmocka_unit_test(other_alphabets_return),
        cmocka_unit_test(a_text_that_grows_with_the_square_is_refused),
        cmocka_unit_test(faults_are_reported),
        cmocka_unit_test(it_is_recognized),
    };
    return cmocka_run_group_tests_name("speedscope", tests, NULL, NULL);
}
