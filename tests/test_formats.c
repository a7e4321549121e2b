/* A format that the library does not know: read, reported, limited, detected and written only through
   hd_options.formats. Also the library's own rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"

/* A tally is the line "tally" and lines after it. "120 main;f" has the bytes of a call stack, "=5000 rss" a value of
   the process, "@24" an object of that size. --- */

typedef struct tally {
    hd_allocator allocator;
    char *text;                  /* the text without malformed lines, to be written again */
    size_t size, capacity;
    hd_graph *graph;
} tally;

static int detect_tally(const uint8_t *bytes, size_t size) { return size >= 6 && !memcmp(bytes, "tally\n", 6) ? 80 : 0; }

static void free_tally(void *document) {
    tally *t = (tally *)document;
    hd_allocator a = t->allocator;
    hd_graph_free(t->graph);
    if (t->text) a.allocate(a.user, t->text, t->capacity, 0);
    a.allocate(a.user, t, sizeof *t, 0);
}

static const hd_graph *graph_of_tally(const void *document) { return ((const tally *)document)->graph; }

static hd_status write_tally(const void *document, const hd_options *options, hd_out out, hd_error *err) {
    const tally *t = (const tally *)document;
    (void)options, (void)err;
    return out.write(out.user, t->text, t->size);
}

/* Writes each heap as the bytes of its call stacks. */
static hd_status write_heaps_as_tally(const hd_heap *heaps, size_t count, const hd_options *options, hd_out out, hd_error *err) {
    char line[32];
    hd_status status = out.write(out.user, "tally\n", 6);
    (void)options, (void)err;
    for (size_t i = 0; i < count && !status; i++)
        status = out.write(out.user, line, (size_t)sprintf(line, "%u heap\n", (unsigned)hd_profile_bytes(heaps[i].profile)));
    return status;
}

static hd_status no_memory(hd_error *err) {
    *err = (hd_error){ .status = HD_OUT_OF_MEMORY, .offset = HD_UNKNOWN, .message = "no memory for a tally" };
    return err->status;
}

static hd_status keep_line(tally *t, const char *line, size_t length, hd_error *err) {
    if (length > t->capacity - t->size) {
        size_t capacity = 2 * t->capacity + length;
        char *grown = (char *)t->allocator.allocate(t->allocator.user, t->text, t->capacity, capacity);
        if (!grown) return no_memory(err);
        t->text = grown;
        t->capacity = capacity;
    }
    memcpy(t->text + t->size, line, length);
    t->size += length;
    return HD_OK;
}

static hd_status add_stack(hd_profile *profile, const char *stack, const char *end, uint64_t bytes, hd_error *err) {
    uint32_t nodes[2] = { 0, 0 };
    while (stack < end) {
        const char *stop = memchr(stack, ';', (size_t)(end - stack));
        hd_str frame = { stack, (size_t)((stop ? stop : end) - stack) };
        hd_status status = hd_profile_node(profile, HD_AXIS_BACKTRACE, nodes[0], frame, &nodes[0], err);
        if (status) return status;
        stack = stop ? stop + 1 : end;
    }
    return hd_profile_add(profile, nodes, bytes, 1, err);
}

/* Takes a line; *good becomes true if it is valid. */
static hd_status take_line(hd_dump *dump, tally *t, hd_profile *profile, const char *line, const char *end, bool *good, hd_error *err) {
    char kind = *line, *rest, name[32];
    uint64_t value = strtoull(line + (kind == '=' || kind == '@'), &rest, 10);
    *good = rest < end && (kind == '@' ? *rest == '\n' : *rest == ' ');
    if (!*good) return HD_OK;
    if (kind == '@') return hd_graph_add_object(t->graph, 0, 1, value, err);
    if (kind != '=') return add_stack(profile, rest + 1, end - 1, value, err);
    snprintf(name, sizeof name, "%.*s", (int)(end - rest - 2), rest + 1);
    return hd_dump_add_scalar(dump, &(hd_scalar){ .pid = 7, .name = name, .value = value }, err);
}

static hd_status read_lines(hd_dump *dump, tally *t, hd_profile *profile, hd_in in, hd_error *err) {
    hd_window *w = hd_dump_window(dump, in);
    hd_reporter *r = hd_dump_reporter(dump);
    w->text = true;
    for (size_t line = 0;; line++) {
        const uint8_t *end = NULL;
        hd_status status = hd_window_fill(w, 1, err);
        bool good = true;
        while (!status && w->at < w->end && !(end = memchr(w->at, '\n', (size_t)(w->end - w->at))) && !w->ended)
            status = hd_window_fill(w, (uint64_t)(w->end - w->at) + 1, err);
        if (status || w->at == w->end) return status;
        if (!status) status = hd_report_progress(r, hd_window_offset(w), in.read ? HD_UNKNOWN : in.size, err);
        if (!status && line && end) status = take_line(dump, t, profile, (const char *)w->at, (const char *)end + 1, &good, err);
        if (!status && good && end) status = keep_line(t, (const char *)w->at, (size_t)(end + 1 - w->at), err);
        if (!status && (!good || !end)) {
            hd_error e = { .status = HD_MALFORMED, .offset = hd_window_offset(w), .message = "a line of a tally expected" };
            e.line = hd_window_line(w, e.offset);
            status = hd_report(r, &e, err);
        }
        if (status) return status;
        w->at = end ? end + 1 : w->end;
    }
}

static hd_status read_tally(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_allocator a = options->allocator;
    hd_profile *profile;
    hd_status status;
    uint32_t kind;
    tally *t = (tally *)a.allocate(a.user, NULL, 0, sizeof *t);
    if (!t) return no_memory(err);
    *t = (tally){ .allocator = a };
    hd_dump_set_document(dump, t, 0);
    t->graph = hd_graph_create(&(hd_graph_desc){ .dense = true, .allocator = a }, err);
    if (!t->graph) return err->status;
    status = hd_graph_add_class(t->graph, &(hd_class){ .name = hd_cstr("thing") }, &kind, err);
    if (status) return status;
    profile = hd_profile_create(&(hd_profile_desc){ .allocator = a, .limits = options->limits }, err);
    if (!profile) return err->status;
    status = read_lines(dump, t, profile, in, err);
    if (!status) status = hd_graph_seal(t->graph, options, err);
    if (!status) return hd_dump_add_heap(dump, &(hd_heap){ .pid = 7, .allocator = "tally", .profile = profile }, err);
    hd_profile_free(profile);
    return status;
}

static const hd_format tallies = { "tally", "a tally", detect_tally, read_tally, free_tally, graph_of_tally, write_tally,
                                   write_heaps_as_tally, NULL, HD_LACKS_TYPES | HD_LACKS_BLOCKS, NULL, NULL, NULL, 0 };

static const char text[] = "tally\n120 main;f\n=5000 rss\n30 main\n@24\n8 main;f\n@16\n";

static hd_options with_tallies(void) { return (hd_options){ .formats = &tallies, .format_count = 1 }; }

static void is_the_tally(const hd_dump *d) {
    assert_ptr_equal(hd_dump_format(d), &tallies);
    assert_non_null(hd_dump_document(d, &tallies));
    assert_null(hd_dump_document(d, hd_format_at(0)));
    assert_null(hd_dump_netcf(d));
    assert_int_equal(hd_dump_heap_count(d), 1);
    assert_string_equal(hd_dump_heap(d, 0)->allocator, "tally");
    assert_int_equal(hd_profile_bytes(hd_dump_heap(d, 0)->profile), 158);
    assert_int_equal(hd_profile_axis(hd_dump_heap(d, 0)->profile, 0).node_count, 3);
    assert_int_equal(hd_dump_scalar_count(d), 1);
    assert_string_equal(hd_dump_scalar(d, 0)->name, "rss");
    assert_int_equal(hd_dump_scalar(d, 0)->value, 5000);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(d)), 2);
}

/* Tests. ------------------------------------------------------------------------------------------- */

static void a_strangers_format_is_read_and_written(void **state) {
    (void)state;
    for (size_t chunk = 0; chunk < 100; chunk++) {
        hd__reads reads = { .data = text, .size = sizeof text - 1, .chunk = chunk };
        hd_options options = with_tallies();
        hd_in in = chunk ? hd__faults_in(&reads) : hd_in_memory(text, sizeof text - 1);
        hd_buffer bytes = { 0 };
        hd_dump *d = NULL;
        assert_int_equal(hd_read(in, &options, &d, NULL), HD_OK);
        is_the_tally(d);
        assert_int_equal(hd_dump_warning_count(d), 0);
        assert_int_equal(hd_dump_write(d, NULL, hd_out_memory(&bytes), NULL), HD_OK);
        assert_int_equal(bytes.size, sizeof text - 1);
        assert_memory_equal(bytes.data, text, bytes.size);
        bytes.size = 0;
        assert_int_equal(hd_dump_format(d)->write_heaps(hd_dump_heap(d, 0), 1, NULL, hd_out_memory(&bytes), NULL), HD_OK);
        assert_memory_equal(bytes.data, "tally\n158 heap\n", bytes.size);
        hd_buffer_free(&bytes);
        hd_dump_free(d);
    }
}

static void without_its_row_it_is_unknown_and_messages_name_known_formats(void **state) {
    (void)state;
    hd_options options = with_tallies();
    hd_dump *d = NULL;
    hd_error err;
    assert_int_equal(hd_read_memory(text, sizeof text - 1, NULL, &d, &err), HD_UNKNOWN_FORMAT);
    assert_memory_equal(err.message, "unknown heap dump format: expected a trace (JSON), ", 51);
    assert_non_null(strstr(err.message, " or "));
    assert_string_equal(err.message + strlen(err.message) - 11, " or another");
    assert_int_equal(hd_read_memory("who?", 4, &options, &d, &err), HD_UNKNOWN_FORMAT);
    assert_non_null(strstr(err.message, "format: expected a tally, a trace (JSON), "));
    assert_null(d);
}

typedef struct heard {
    uint64_t warnings, calls, stop_at, last, total;
    hd_error warning;
} heard;

static void hear_warning(void *user, const hd_error *warning) {
    heard *h = (heard *)user;
    h->warnings++;
    h->warning = *warning;
}

static bool hear_progress(void *user, uint64_t done, uint64_t total) {
    heard *h = (heard *)user;
    assert_true(done >= h->last);
    h->last = done;
    h->total = total;
    return ++h->calls != h->stop_at;
}

static void malformed_input_is_an_error_or_warnings(void **state) {
    (void)state;
    static const char bad[] = "tally\n120 main;f\n=5000 rss\nwhat\n30 main\n@24\n8 main;f\n@16\n@16 and no end";
    hd_options options = with_tallies();
    heard h = { 0 };
    hd_dump *d = NULL;
    hd_error err;
    assert_int_equal(hd_read_memory(bad, sizeof bad - 1, &options, &d, &err), HD_MALFORMED);
    assert_null(d);
    assert_string_equal(err.message, "a line of a tally expected");
    assert_string_equal(err.format, "tally");
    assert_int_equal(err.offset, 27);
    assert_int_equal(err.line, 4);
    options.lenient = true;
    options.warning = hear_warning;
    options.warning_user = &h;
    assert_int_equal(hd_read_memory(bad, sizeof bad - 1, &options, &d, &err), HD_OK);
    is_the_tally(d);
    assert_int_equal(hd_dump_warning_count(d), 2);
    assert_int_equal(h.warnings, 2);
    assert_int_equal(h.warning.line, 9);
    assert_string_equal(h.warning.format, "tally");
    hd_dump_free(d);
}

static void progress_is_reported_and_can_cancel(void **state) {
    (void)state;
    size_t size = 6, lines = 400000;
    char *many = (char *)malloc(size + 8 * lines);
    memcpy(many, "tally\n", size);
    for (; lines--; size += 8) memcpy(many + size, "1 m;fgh\n", 8);
    for (int callback = 0; callback < 2; callback++) {
        uint64_t calls = 1;
        for (uint64_t stop = 0; stop <= calls; stop++) {
            hd__reads reads = { .data = many, .size = size };
            heard h = { .stop_at = stop };
            hd_options options = with_tallies();
            hd_dump *d = NULL;
            hd_error err = { 0 };
            options.progress = hear_progress;
            options.progress_user = &h;
            assert_int_equal(hd_read(callback ? hd__faults_in(&reads) : hd_in_memory(many, size), &options, &d, &err),
                             stop ? HD_CANCELLED : HD_OK);
            assert_int_equal(err.status, stop ? HD_CANCELLED : HD_OK);
            if (stop) assert_int_equal(h.calls, stop);
            else calls = h.calls;
            hd_dump_free(d);
        }
        assert_true(calls > 2);
    }
    free(many);
}

static void each_failing_allocation_and_read_comes_back(void **state) {
    (void)state;
    hd__faults f = { 0 };
    hd_options options = with_tallies();
    options.allocator = hd__faults_allocator(&f);
    for (int lenient = 0; lenient < 2; lenient++) {
        options.lenient = lenient != 0;
        HD__EACH_FAULT(f) {
            hd__reads reads = { .data = text, .size = sizeof text - 1, .chunk = 5 };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read(hd__faults_in(&reads), &options, &d, &err);
            /* a graph can do without some allocations */
            assert_true(f.failed ? !status || status == HD_OUT_OF_MEMORY : !status);
            assert_int_equal(err.status, status);
            if (!status) is_the_tally(d);
            hd_dump_free(d);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        f.fail_at = 0;
        for (uint64_t at = 1; at < 12; at++) {
            hd__reads reads = { .data = text, .size = sizeof text - 1, .chunk = 5, .fail_at = at };
            hd_dump *d = NULL;
            assert_int_equal(hd_read(hd__faults_in(&reads), &options, &d, NULL), HD_IO);
            assert_null(d);
            assert_int_equal(f.live, 0);
        }
    }
}

static void its_memory_counts_as_the_dumps(void **state) {
    (void)state;
    hd__faults f = { 0 };
    hd_options options = with_tallies();
    hd_status status = HD_LIMIT;
    options.allocator = hd__faults_allocator(&f);
    for (options.limits.max_memory = 10; status; options.limits.max_memory += options.limits.max_memory / 10) {
        char expected[60];
        hd_dump *d = NULL;
        hd_error err = { 0 };
        f.peak = 0;
        status = hd_read_memory(text, sizeof text - 1, &options, &d, &err);
        assert_true(f.peak <= options.limits.max_memory);
        snprintf(expected, sizeof expected, "max_memory of %u bytes", (unsigned)options.limits.max_memory);
        if (status && (status != HD_LIMIT || !strstr(err.message, expected))) fail_msg("%s: %s", expected, err.message);
        hd_dump_free(d);
        assert_int_equal(f.live, 0);
    }
    assert_true(f.peak > 500);
    options.limits.max_memory = 0;
    options.limits.max_records = 2;
    hd_dump *d = NULL;
    assert_int_equal(hd_read_memory("tally\n=1 a\n=2 b\n", 16, &options, &d, NULL), HD_OK);
    hd_dump_free(d);
    assert_int_equal(hd_read_memory("tally\n=1 a\n=2 b\n=3 c\n", 21, &options, &d, NULL), HD_LIMIT);
    assert_int_equal(f.live, 0);
}

static int certain;
static int detect_brackets(const uint8_t *bytes, size_t size) { return size && *bytes == '[' ? certain : 0; }
static hd_status read_nothing(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    (void)dump, (void)in, (void)options, (void)err;
    return HD_OK;
}

static void the_surest_row_reads_and_of_equals_the_callers_first(void **state) {
    (void)state;
    static const hd_format own[] = { { "first", NULL, detect_brackets, read_nothing, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0 },
                                     { "second", NULL, detect_brackets, read_nothing, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0 } };
    hd_options options = { .formats = own, .format_count = 2 };
    int trace = hd_format_at(0)->detect((const uint8_t *)"[]", 2);
    assert_in_range(trace, 2, 99);
    for (certain = trace - 1; certain <= trace + 1; certain++) {
        hd_buffer bytes = { 0 };
        hd_dump *d = NULL;
        hd_error err;
        assert_int_equal(hd_read_memory("[]", 2, &options, &d, NULL), HD_OK);
        assert_string_equal(hd_dump_format(d)->name, certain < trace ? "chrome" : "first");
        assert_null(hd_dump_graph(d));
        assert_int_equal(hd_dump_heap_count(d), 0);
        assert_null(hd_dump_heap(d, 0));
        assert_null(hd_dump_scalar(d, 0));
        assert_int_equal(hd_dump_write(d, NULL, hd_out_memory(&bytes), &err), HD_UNSUPPORTED);
        assert_int_equal(err.status, HD_UNSUPPORTED);
        assert_int_equal(bytes.size, 0);
        hd_dump_free(d);
    }
}

/* Looks for a word at byte 4000. Shorter input may become any format. */
static int detect_late(const uint8_t *bytes, size_t size) { return size >= 4004 && !memcmp(bytes + 4000, "late", 4) ? certain : 0; }

static void rows_that_need_more_of_an_input_see_more(void **state) {
    (void)state;
    static const hd_format own[] = { { .name = "late", .detect = detect_late, .read = read_nothing } };
    static char spaces[5000];
    memset(spaces, ' ', sizeof spaces);
    memcpy(spaces, "{\n\n", 3);
    memcpy(spaces + 4000, "late", 4);
    for (size_t chunk = 0; chunk < 5000; chunk = 3 * chunk + 1)
        for (certain = 39; certain <= 41; certain++) {
            hd_options options = { .formats = own, .format_count = 1 };
            hd__reads reads = { .data = spaces, .size = sizeof spaces, .chunk = chunk };
            hd_in in = chunk ? hd__faults_in(&reads) : hd_in_memory(spaces, sizeof spaces);
            hd_dump *d = NULL;
            hd_error err = { 0 };
            hd_status status = hd_read(in, &options, &d, &err);
            /* otherwise a trace: among equal certainties the first row wins */
            assert_int_equal(status, certain >= 40 ? HD_OK : HD_MALFORMED);
            assert_true(status ? !strcmp(err.format, "chrome") : !strcmp(hd_dump_format(d)->name, "late"));
            hd_dump_free(d);
        }
}

/* Reading fails after the bytes that show the format: the reader reports the failure, with offset and line. */
static void failures_after_the_first_bytes_are_reported_by_the_reader(void **state) {
    (void)state;
    static char spaces[5000];
    memset(spaces, ' ', sizeof spaces);
    memcpy(spaces, "{\n\n", 3);
    for (size_t at = HD_DETECT_FIRST; at < HD_DETECT_BYTES; at += 300) {
        hd__reads reads = { .data = spaces, .size = sizeof spaces, .chunk = 100, .fail_at = at / 100 + 2 };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read(hd__faults_in(&reads), NULL, &d, &err), HD_IO);
        assert_string_equal(err.format, "chrome");
        assert_int_equal(err.offset, at);
        assert_int_equal(err.line, 3);
        /* bytes that no row knows, and a file that was shortened */
        reads = (hd__reads){ .data = "?", .size = 1, .chunk = 1 };
        hd_in in = hd__faults_in(&reads);
        in.size = at;
        assert_int_equal(hd_read(in, NULL, &d, &err), HD_IO);
        assert_int_equal(err.offset, 1);
    }
}

/* The second look decides, even against the first. */
static void a_longer_look_can_take_back(void **state) {
    (void)state;
    static const char report[] = "Report 12\nthis is a text of some length that is not a heap at all, and never was one, believe me 7 x\n";
    static const char goroutines[] = "main;of;a 6\n1 @ 0x430856 0x4656a5 0x694f75 0x694d8d 0x691ceb 0x6a0ec5 0x6a1a5e 0x6393ef\n";
    const char *const texts[] = { report, goroutines };
    for (size_t i = 0; i < 2; i++)
        for (size_t chunk = 0; chunk < 200; chunk = 2 * chunk + 1) {
            hd__reads reads = { .data = texts[i], .size = strlen(texts[i]), .chunk = chunk };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            assert_int_equal(hd_read(chunk ? hd__faults_in(&reads) : hd_in_memory(texts[i], strlen(texts[i])), NULL, &d, &err),
                             HD_UNKNOWN_FORMAT);
            assert_null(d);
        }
}

/* The message says that a text is UTF-16, with or without a byte order mark, in any format. */
static void utf_16_is_named(void **state) {
    (void)state;
    static const char *const texts[] = { "{\"traceEvents\":[]}", "[]", "main;f 12\n", "a 2 x 0\n", "bytes,blocks\n1,2\n", "x" };
    static const char *const names[] = { "UTF-16LE", "UTF-16BE" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int big = 0; big < 2; big++)
            for (int mark = 0; mark < 2; mark++) {
                uint8_t wide[200] = { 0 };
                size_t n = 0;
                char expected[100];
                hd_dump *d = NULL;
                hd_error err = { 0 };
                hd_options options = { .lenient = true };
                if (mark) wide[n++] = big ? 0xfe : 0xff, wide[n++] = big ? 0xff : 0xfe;
                for (const char *p = texts[i]; *p; p++, n += 2) wide[n + (size_t)big] = (uint8_t)*p;
                if (n < 4) continue;
                snprintf(expected, sizeof expected, "%s text: convert it to UTF-8 (iconv -f %s -t UTF-8)", names[big], names[big]);
                assert_int_equal(hd_read_memory(wide, n, &options, &d, &err), HD_UNSUPPORTED);
                assert_string_equal(err.message, expected);
                assert_int_equal(err.offset, 0);
                assert_null(err.format);
            }
    static const struct { const char *bytes; size_t size; } others[] = { { "\xff\xfe", 1 }, { "{\0}", 3 }, { "\0\0\0\0", 4 }, { "{\0\0}", 4 }, { "\n\0\n\0", 4 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hd_dump *d = NULL;
        hd_error err = { 0 };
        if (!hd_read_memory(others[i].bytes, others[i].size, NULL, &d, &err)) hd_dump_free(d);
        else assert_null(strstr(err.message, "UTF-16"));
    }
}

/* Other JSON is not a trace, and the message says so. An empty array of events is a trace. */
static void other_json_is_no_trace(void **state) {
    (void)state;
    static const struct { const char *text, *message; } others[] = {
        { "{}", "expected a trace or a snapshot, found an empty JSON object" },
        { "{\"head\":{\"callFrame\":{}},\"samples\":[]}", "expected a trace or a snapshot, found V8's sampling heap profile (.heapprofile): take a heap snapshot" },
        { " {\"a\\u001bb\":1}\n", "expected a trace or a snapshot, found a JSON object with the first key 'a?b'" },
        { "{\"x\":{\"traceEvents\":[]}}", "expected a trace or a snapshot, found a JSON object with the first key 'x'" },
        { "{\"nodes\":[],\"startTime\":5}", "expected a trace or a snapshot, found V8's CPU profile (.cpuprofile), which contains no heap" },
        { "[1,2]", "expected a trace or a snapshot, found a JSON array that does not begin with an object" },
        { " [ [{\"ph\":\"X\"}] ]", "expected a trace or a snapshot, found a JSON array that does not begin with an object" },
        { "[null", "expected a trace or a snapshot, found a JSON array that does not begin with an object" },
        { "[\"a\", {\"ph\":\"X\"}]", "expected a trace or a snapshot, found a JSON array that does not begin with an object" },
        { "[{\"a\":1},{\"b\":{\"ph\":\"X\"}}]", "expected a trace or a snapshot, found a JSON array of objects without 'ph'" },
        { "[{}]", "expected a trace or a snapshot, found a JSON array of objects without 'ph'" },
    };
    static const char *const traces[] = { "{\"traceEvents\":[]}", "{\"a\":1,\"stackFrames\":{}}", "[]", "{\"stackFrames\":{},\"b\":[]}",
        "[", "[{\"ph\":\"X\"}]", "[{\"ph\":\"X\"},{}]", "[{},{\"ph\":\"v\",\"pid\":1,\"args\":{}}]", "{\"traceEvents\":[{}]}", "{\"traceEvents\":null}" };
    for (int lenient = 0; lenient < 2; lenient++) {
        hd_options options = { .lenient = lenient };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            assert_int_equal(hd_read_memory(others[i].text, strlen(others[i].text), &options, &d, &err), HD_UNKNOWN_FORMAT);
            assert_string_equal(err.message, others[i].message);
            assert_int_equal(err.offset, 0);
            assert_null(err.format);
        }
        for (size_t i = 0; i + !lenient < sizeof traces / sizeof *traces; i++) {
            assert_int_equal(hd_read_memory(traces[i], strlen(traces[i]), &options, &d, &err), HD_OK);
            assert_string_equal(hd_dump_format(d)->name, "chrome");
            hd_dump_free(d);
        }
    }
}

/* If the first bytes are certain, detection reads no more. A pipe may deliver the rest only later. */
static void certain_detection_reads_no_more(void **state) {
    (void)state;
    static char bytes[HD_DETECT_BYTES] = "tally\n";
    hd_options options = with_tallies();
    hd_format nothing = tallies;
    nothing.read = read_nothing;
    options.formats = &nothing;
    hd__reads reads = { .data = bytes, .size = sizeof bytes, .chunk = 16, .fail_at = 5 };
    hd_dump *d = NULL;
    assert_int_equal(hd_read(hd__faults_in(&reads), &options, &d, NULL), HD_OK);
    assert_int_equal(reads.count, 4);
    hd_dump_free(d);
}

static void an_input_is_read_as_the_selected_format(void **state) {
    (void)state;
    static const hd_format own[] = { { .name = "quiet", .read = read_nothing },
                                     { .name = "writer", .title = "what is written", .write_heaps = write_heaps_as_tally },
                                     { .name = "known", .detect = detect_tally, .write_heaps = write_heaps_as_tally } };
    hd_options options = { .formats = own, .format_count = 2, .format = "quiet" };
    hd_dump *d = NULL;
    hd_error err;
    assert_int_equal(hd_read_memory("[]", 2, &options, &d, &err), HD_OK);
    assert_string_equal(hd_dump_format(d)->name, "quiet");
    hd_dump_free(d);
    options.format = "chrome";
    assert_int_equal(hd_read_memory("tally\n", 6, &options, &d, &err), HD_MALFORMED);
    assert_string_equal(err.format, "chrome");
    options.format = NULL;       /* no input begins like a row without `detect` */
    assert_int_equal(hd_read_memory("tally\n", 6, &options, &d, &err), HD_UNKNOWN_FORMAT);
    assert_null(err.format);
    assert_null(strstr(err.message, "what is written"));
    assert_int_equal(hd_read_memory("[{", 2, &options, &d, &err), HD_MALFORMED);
    assert_string_equal(err.format, "chrome");
    options.format_count = 3;    /* a row without `read` is reported, not taken for another */
    assert_int_equal(hd_read_memory("tally\n", 6, &options, &d, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "known files can be written but not read");
    assert_string_equal(err.format, "known");
    const char *const none[] = { "", "Chrome", "writer", "chrome " };
    for (size_t i = 0; i < 4; i++) {
        options.format = none[i];
        assert_int_equal(hd_read_memory("[]", 2, &options, &d, &err), HD_INVALID);
        assert_non_null(strstr(err.message, ": expected quiet, chrome, netcf, dart, memprof, "));
        assert_null(strstr(err.message, "writer,"));
        assert_null(err.format);
    }
}

/* Each reader, on inputs of other formats. */
static void any_input_may_be_read_as_any_format(void **state) {
    (void)state;
    static const char dart[] = "dartheap\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0", raw[] = "\201rforpm\377\4\0\0\0\0\0\0\0";
    static const hd_str inputs[] = { { "[]", 2 }, { "{\"traceEvents\":[{}]}", 20 }, { "a 2 x 0\no 1 1 8 1\nc x 1\n", 24 },
                                     { dart, sizeof dart }, { raw, sizeof raw }, { "---\nMIB:\n", 9 }, { "a;b 12\n", 7 },
                                     { "\n", 1 }, { "\0\0\0\0\0\0\0\0", 8 }, { "\377\377\377\377\377\377\377\377", 8 } };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (size_t k = 0; hd_format_at(k); k++)
            for (int lenient = 0; lenient < 2; lenient++) {
                hd__faults f = { 0 };
                hd_options options = { .format = hd_format_at(k)->name, .lenient = lenient != 0, .allocator = hd__faults_allocator(&f) };
                hd_dump *d = NULL;
                hd_error err = { 0 };
                hd_status status = hd_read_memory(inputs[i].data, inputs[i].len, &options, &d, &err);
                assert_int_equal(err.status, status);
                assert_true(status != HD_INVALID && (status ? strlen(err.message) > 0 : hd_dump_format(d) == hd_format_at(k)));
                if (status) assert_string_equal(err.format, options.format);
                hd_dump_free(d);
                assert_int_equal(f.live, 0);
            }
}

static void the_librarys_rows_are_named_once_and_write_what_they_read(void **state) {
    (void)state;
    static const char *const netcf = "a 2 x 0\no 1 1 8 1\nc x 1\n";
    size_t count = 0, writers = 0;
    for (const hd_format *f; (f = hd_format_at(count)) != NULL; count++) {
        assert_true(f->name && *f->name && !f->detect == !f->read);
        for (size_t i = 0; i < count; i++) assert_string_not_equal(f->name, hd_format_at(i)->name);
        if (!f->read) continue;
        assert_int_equal(f->detect((const uint8_t *)"who?", 4), 0);
        assert_int_equal(f->detect((const uint8_t *)"", 0), 0);
    }
    assert_true(count >= 5);
    hd_dump *d = NULL;
    assert_int_equal(hd_read_memory(netcf, strlen(netcf), NULL, &d, NULL), HD_OK);
    for (size_t i = 0; i < count; i++) {
        hd_buffer bytes = { 0 };
        hd_dump *again = NULL;
        const hd_format *f = hd_format_at(i);
        if (!f->write_graph) continue;
        assert_int_equal(f->write_graph(hd_dump_graph(d), NULL, hd_out_memory(&bytes), NULL), HD_OK);
        assert_int_equal(hd_read_memory(bytes.data, bytes.size, NULL, &again, NULL), HD_OK);
        assert_ptr_equal(hd_dump_format(again), f);
        hd_dump_free(again);
        hd_buffer_free(&bytes);
        writers++;
    }
    assert_true(writers >= 2);
    hd_dump_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strangers_format_is_read_and_written),
        cmocka_unit_test(without_its_row_it_is_unknown_and_messages_name_known_formats),
        cmocka_unit_test(malformed_input_is_an_error_or_warnings),
        cmocka_unit_test(progress_is_reported_and_can_cancel),
        cmocka_unit_test(each_failing_allocation_and_read_comes_back),
        cmocka_unit_test(its_memory_counts_as_the_dumps),
        cmocka_unit_test(the_surest_row_reads_and_of_equals_the_callers_first),
        cmocka_unit_test(rows_that_need_more_of_an_input_see_more),
        cmocka_unit_test(failures_after_the_first_bytes_are_reported_by_the_reader),
        cmocka_unit_test(a_longer_look_can_take_back),
        cmocka_unit_test(utf_16_is_named),
        cmocka_unit_test(other_json_is_no_trace),
        cmocka_unit_test(certain_detection_reads_no_more),
        cmocka_unit_test(an_input_is_read_as_the_selected_format),
        cmocka_unit_test(any_input_may_be_read_as_any_format),
        cmocka_unit_test(the_librarys_rows_are_named_once_and_write_what_they_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
