/* Adding dumps to an existing trace. The trace's bytes stay unchanged, the new dumps are added, and their ids replace
   no other ids. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* A small thing to add: a scalar's event needs no other events. */
static const hd_scalar one_scalar = { .pid = 9, .dump = "0xadd", .time_us = 5, .name = "resident_set_bytes", .value = 255 };
static const hd_chrome_dumps one_dump = { .scalars = &one_scalar, .scalar_count = 1 };
#define ONE_EVENT "{'pid':9,'tid':9,'ts':5,'ph':'v','cat':'disabled-by-default-memory-infra','name':'explicitly_triggered'," \
                  "'id':'0xadd','args':{'dumps':{'level_of_detail':'detailed','process_totals':{'resident_set_bytes':'ff'}}}}"

static hd_status add_to(const void *data, size_t size, size_t chunk, const hd_chrome_dumps *dumps, const hd_options *options,
                        hd_buffer *bytes, hd_error *err) {
    hd__reads reads = { .data = data, .size = size, .chunk = chunk };
    hd_in in = chunk ? hd__faults_in(&reads) : hd_in_memory(data, size);
    hd_status status = hd_chrome_add(in, dumps, options, hd_out_memory(bytes), err);
    if (hd_out_memory(bytes).write(bytes, "", 1)) abort();
    bytes->size--;
    return status;
}

/* Adds one_dump to the trace, read in pieces of several sizes. */
static void assert_added(const char *quoted, const char *expected) {
    static const size_t chunks[] = { 0, 1, 2, 7, 100000 };
    char *text = trace_of(quoted, NULL), *whole = trace_of(expected, NULL);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        hd_buffer bytes = { 0 };
        hd_error err = { 0 };
        if (add_to(text, strlen(text), chunks[i], &one_dump, NULL, &bytes, &err)) fail_msg("%s: %s", text, err.message);
        assert_string_equal((const char *)bytes.data, whole);
        hd_buffer_free(&bytes);
    }
    free(text);
    free(whole);
}

static void dumps_become_the_last_events(void **state) {
    (void)state;
    assert_added("{'traceEvents':[]}", "{'traceEvents':[\n" ONE_EVENT "\n]}");
    assert_added("{'traceEvents':[{}]}", "{'traceEvents':[{},\n" ONE_EVENT "\n]}");
    assert_added("{'traceEvents':[ {'a':1}\n ] , 'x' : [ 1.50 ] }\n ",
                 "{'traceEvents':[ {'a':1}\n ,\n" ONE_EVENT "\n] , 'x' : [ 1.50 ] }\n ");
    assert_added("{'a':{'traceEvents':[]},'traceEvents':[{},{}],'b':'traceEvents'}",
                 "{'a':{'traceEvents':[]},'traceEvents':[{},{},\n" ONE_EVENT "\n],'b':'traceEvents'}");
    assert_added("{'trace\\u0045vents':[{}]}", "{'trace\\u0045vents':[{},\n" ONE_EVENT "\n]}");
    assert_added("\xef\xbb\xbf {'traceEvents':[{}]}", "\xef\xbb\xbf {'traceEvents':[{},\n" ONE_EVENT "\n]}");
    assert_added("[]", "[\n" ONE_EVENT "\n]");
    assert_added(" [ {'x':[']',{}]} ]\r\n", " [ {'x':[']',{}]} ,\n" ONE_EVENT "\n]\r\n");
    assert_added("[{'x':'\\\\'},7,null,'s',[[]]]", "[{'x':'\\\\'},7,null,'s',[[]],\n" ONE_EVENT "\n]");
}

static void arrays_of_crashed_writers_are_closed(void **state) {
    (void)state;
    assert_added("[", "[\n" ONE_EVENT "\n]\n");
    assert_added("[\n", "[\n\n" ONE_EVENT "\n]\n");
    assert_added("[{}", "[{},\n" ONE_EVENT "\n]\n");
    assert_added("[{}\n", "[{}\n,\n" ONE_EVENT "\n]\n");
    assert_added("[{},", "[{},\n" ONE_EVENT "\n]\n");
    assert_added("[{} , \n", "[{} , \n\n" ONE_EVENT "\n]\n");
}

static void nothing_to_add_leaves_the_trace_as_it_was(void **state) {
    (void)state;
    hd_chrome_dumps none = { 0 };
    hd_buffer bytes = { 0 };
    assert_int_equal(add_to("{\"traceEvents\":[{}]}", 20, 0, &none, NULL, &bytes, NULL), HD_OK);
    assert_string_equal((char *)bytes.data, "{\"traceEvents\":[{}]}");
    hd_buffer_free(&bytes);
}

static void ids_are_above_all_that_the_trace_has(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/x/y", "/New", 8, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    hd_heap heaps[] = { { .pid = 1, .dump = "new", .time_us = 20, .allocator = "m", .breakdown = b },
                        { .pid = 2, .dump = "new", .time_us = 20, .allocator = "m", .profile = p } };
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = 2 };
    static const struct {
        const char *trace;
        const char *first;       /* first id of the added dump */
    } cases[] = {
        { "[" FRAMES "," TYPES "," HEAPS("{'malloc':{'entries':[{'size':'9','bt':'3','type':'2'}]}}") "]", "4" },
        { "[{'pid':5,'ph':'M','name':'typeNames','args':{'typeNames':{'0':'[unknown]','41':'T'}}}]", "42" },
        { "[{'args':{'stackFrames':{'0':{'name':'f'},'7':{'name':'g'}}},'name':'stackFrames','ph':'M','pid':1}]", "8" },
        { "[{'pid':3,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'maps':{'nodes':[{'id':4,'name_sid':1}],'strings':[{'id':90,'string':'f'}],"
          "'types':[{'name_sid':7,'id':5}]},'allocators':{'m':{'nodes':[4],'sizes':[3],'types':[5]}}}}}}]", "91" },
        { "[{'ph':'M','args':{'stackFrames':{'x':{},'4503599627370496':{},'07':{},'-8':{},'9e9':{}},'other':{'99':1}}}]", "8" },
        { "[{'ph':'M','args':{'x':{'typeNames':{'77':1}}},'stackFrames':{'66':1}}]", "0" },
        /* used, and defined for the whole trace, before or after its events, or nowhere */
        { "{'stackFrames':{'11':{'name':'f'},'9':{}},'traceEvents':[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps':{'m':"
          "{'entries':[{'size':'1','bt':''},{'size':'1','bt':'11'}]}}}}}]}", "12" },
        { "{'traceEvents':[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'allocators':{'77':{'bt':'78'}},'heaps':{'m':"
          "{'entries':[{'size':'90','type':31,'bt':'9'}],'x':[[{'bt':{}}]]}},'other':{'bt':'50'}}}}],'stackFrames':{'9':{'name':'f'}}}",
          "32" },
        { "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'allocators':{'m':{'sizes':[88],'nodes':[4,5],'types':[0,2]}}},"
          "'heaps':7}}}", "6" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = trace_of(cases[i].trace, NULL), part[128];
        hd_buffer bytes = { 0 };
        hd_error err = { 0 };
        unsigned first = (unsigned)atoi(cases[i].first);
        if (add_to(text, strlen(text), i % 2, &dumps, NULL, &bytes, &err)) fail_msg("%s: %s", text, err.message);
        snprintf(part, sizeof part, "\"stackFrames\":{\"%u\":{\"name\":\"x\"},\"%u\":{\"name\":\"y\",\"parent\":\"%u\"}}", first, first + 1, first);
        if (!strstr((char *)bytes.data, part)) fail_msg("%s not in %s", part, (char *)bytes.data);
        snprintf(part, sizeof part, "\"typeNames\":{\"%u\":\"[unknown]\",\"%u\":\"New\"}", first, first + 1);
        if (!strstr((char *)bytes.data, part)) fail_msg("%s not in %s", part, (char *)bytes.data);
        if (!first) first = 1;
        snprintf(part, sizeof part, "\"nodes\":[%u],\"sizes\":[8],\"counts\":[1],\"types\":[%u]", first + 1, first + 1);
        if (!strstr((char *)bytes.data, part)) fail_msg("%s not in %s", part, (char *)bytes.data);
        hd_buffer_free(&bytes);
        free(text);
    }
    char *text = trace_of("[{'ph':'M','args':{'stackFrames':{'4503599627370495':{}}}}]", NULL);
    hd_buffer bytes = { 0 };
    hd_error err = { 0 };
    assert_int_equal(add_to(text, strlen(text), 0, &dumps, NULL, &bytes, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "the trace uses ids up to 4503599627370495, so no new ids are left");
    hd_buffer_free(&bytes);
    free(text);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void dumps_that_the_trace_has_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *event;
        bool has;
    } cases[] = {
        { "{'pid':9,'ph':'v','id':'0xadd','args':{'dumps':{}}}", true },
        { "{'args':{'dumps':{'heaps':{}}},'id':'0x\\u0061dd','ph':'v','pid':9}", true },
        { "{'id2':{'local':'0xadd'},'ph':'v','pid':'9'}", true },
        { "{'pid':9.0,'ph':'v','id':'0xadd'}", true },
        { "{'pid':8,'ph':'v','id':'0xadd'}", false },
        { "{'pid':9,'ph':'v','id':'0xad'}", false },
        { "{'pid':9,'ph':'v','id':'0xadde'}", false },
        { "{'pid':9,'ph':'v','id':'0xaddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd'}", false },
        { "{'pid':9,'ph':'V','id':'0xadd'}", false },
        { "{'pid':9,'ph':'v'}", false },
        { "{'ph':'v','id':'0xadd'}", false },
        { "{'pid':9,'ph':'b','id':'0xadd','args':{'pid':9,'ph':'v'}}", false },
        { "{'pid':-9,'ph':'v','id':'0xadd'}", false },
        { "{'pid':[9],'ph':'v','id':['0xadd']}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char quoted[256];
        snprintf(quoted, sizeof quoted, "[{},\n %s]", cases[i].event);
        char *text = trace_of(quoted, NULL);
        for (size_t chunk = 0; chunk < 3; chunk++) {
            hd_buffer bytes = { 0 };
            hd_error err = { 0 };
            assert_int_equal(add_to(text, strlen(text), chunk, &one_dump, NULL, &bytes, &err), cases[i].has ? HD_INVALID : HD_OK);
            if (cases[i].has) {
                assert_string_equal(err.message, "duplicate dump: 0xadd of pid 9 is already in the trace");
                assert_int_equal(err.offset, 6);
                if (!chunk) assert_int_equal(err.line, 2);
            }
            hd_buffer_free(&bytes);
        }
        free(text);
    }
    /* the same for two added dumps, before anything is written */
    hd_scalar twice[] = { one_scalar, one_scalar };
    hd_chrome_dumps dumps = { .scalars = twice, .scalar_count = 2 };
    hd_buffer bytes = { 0 };
    hd_error err = { 0 };
    assert_int_equal(add_to("[]", 2, 0, &dumps, NULL, &bytes, &err), HD_INVALID);
    assert_int_equal(bytes.size, 0);
    dumps.detail = HD_LIGHT;
    dumps.heap_count = 1;
    assert_int_equal(add_to("[]", 2, 0, &dumps, NULL, &bytes, &err), HD_INVALID);
    assert_int_equal(bytes.size, 0);
    hd_buffer_free(&bytes);
}

static void malformed_traces_are_errors_with_their_place(void **state) {
    (void)state;
    static const struct {
        const char *trace;
        uint64_t offset;
        const char *sentence;
    } cases[] = {
        { "", 0, "a value expected, end of input found" },
        { "7", 0, "expected a trace: an object or an array" },
        { "{}", 1, "expected a trace, found an object without traceEvents" },
        { "{'a':1} x", 6, "expected a trace, found an object without traceEvents" },
        { "{'traceEvents':[]} x", 19, "end of input expected, 'x' found" },
        { "[{}] x", 5, "end of input expected, 'x' found" },
        { "[{}}", 3, "',' or ']' expected, '}' found" },
        { "{'traceEvents':[{}", 18, "',' or ']' expected, end of input found" },
        { "{'traceEvents':{}}", 15, "traceEvents: expected an array" },
        { "[1,2]", 1, "expected a trace, found a JSON array that does not begin with an object" },
        { " [ 'a', {}]", 3, "expected a trace, found a JSON array that does not begin with an object" },
        { "[[{}]]", 1, "expected a trace, found a JSON array that does not begin with an object" },
        { "[null", 1, "expected a trace, found a JSON array that does not begin with an object" },
        { "{'traceEvents':[],'traceEvents':[]}", 32, "duplicate traceEvents" },
        { "[{'M'}]", 5, "':' expected, '}' found" },
        { "[{'v':[}]", 7, "',' or ']' expected, '}' found" },
        { "[{'a", 4, "'\"' expected, end of input found" },
        { "[{'ph':'M','args':{'stackFrames':{'1':x}}}]", 38, "a value expected, 'x' found" },
        { "[{'ph':'v','args':{'dumps':{'heaps_v2':{'maps':{'nodes':[{'id':}]}}}}}]", 63, "a value expected, '}' found" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t chunk = 0; chunk < 3; chunk++) {
            char *text = trace_of(cases[i].trace, NULL);
            hd_buffer bytes = { 0 };
            hd_error err = { 0 };
            assert_int_equal(add_to(text, strlen(text), chunk, &one_dump, NULL, &bytes, &err), HD_MALFORMED);
            assert_string_equal(err.message, cases[i].sentence);
            assert_int_equal(err.offset, cases[i].offset);
            hd_buffer_free(&bytes);
            free(text);
        }
    hd_buffer bytes = { 0 };
    hd_error err = { 0 };
    assert_int_equal(add_to("\x1f\x8b\x08", 3, 1, &one_dump, NULL, &bytes, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "expected an unpacked trace, found gzip");
    hd_buffer_free(&bytes);
}

/* All heaps, one entry per line, sorted by line. */
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static char *sorted_lines(char *text) {
    size_t n = 0, size = strlen(text);
    char **lines = (char **)malloc((size + 1) * sizeof *lines), *sorted = (char *)malloc(size + 2), *at = sorted;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) lines[n++] = line;
    qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n; i++) at += sprintf(at, "%s\n", lines[i]);
    *at = 0;
    free(lines);
    free(text);
    return sorted;
}

static char *read_lines(const void *data, size_t size) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(data, size, NULL, &d, &err)) fail_msg("%s", err.message);
    char *text = dump_text(d);
    hd_dump_free(d);
    return text;
}

static hd_profile *random_profile(uint64_t *r) {
    static const char *const names[] = { "/a", "/b", "/a/c", "/a/c/d", "/e" };
    hd_profile *p = profile_new(2);
    for (uint64_t n = 1 + hd__test_below(r, 8); n; n--) {
        static const char *const types[] = { "/T", "/U", "/V" };
        add_cell(p, names[hd__test_below(r, 5)], types[hd__test_below(r, 3)], hd__test_below(r, 1000), 1);
    }
    return p;
}

/* Adds heaps to a trace with other heaps. All heaps must read as before. */
static void added_and_present_heaps_are_read_unchanged(void **state) {
    (void)state;
    uint64_t r = 31;
    for (int round = 0; round < 500; round++) {
        hd_heap heaps[6] = { { 0 } };
        hd_profile *profiles[6];
        hd_breakdown *breakdowns[6] = { 0 };
        static const char *const ids[] = { "0x1", "0x1", "0x2", "0x3", "0x3", "0x4" };
        for (int i = 0; i < 6; i++) {
            profiles[i] = random_profile(&r);
            heaps[i] = (hd_heap){ .pid = 1 + hd__test_below(&r, 2), .dump = ids[i], .time_us = (uint64_t)(i / 3 * 10), .allocator = i % 2 ? "m" : "n" };
            if (hd__test_below(&r, 2)) heaps[i].profile = profiles[i];
            else heaps[i].breakdown = breakdowns[i] = exported(profiles[i], (hd_cutoff){ .min_bytes = hd__test_below(&r, 300) });
        }
        hd_buffer before = { 0 }, after = { 0 }, alone = { 0 };
        hd_chrome_dumps dumps = { .heaps = heaps + 3, .heap_count = 3 };
        hd_error err = { 0 };
        assert_int_equal(hd_chrome_write(heaps, 3, NULL, hd_out_memory(&before), NULL), HD_OK);
        assert_int_equal(hd_chrome_write(heaps + 3, 3, NULL, hd_out_memory(&alone), NULL), HD_OK);
        if (add_to(before.data, before.size, (size_t)(round % 40), &dumps, NULL, &after, &err)) fail_msg("%s", err.message);
        char *x = read_lines(before.data, before.size), *y = read_lines(alone.data, alone.size);
        char *both = (char *)malloc(strlen(x) + strlen(y) + 1);
        strcat(strcpy(both, x), y);
        both = sorted_lines(both);
        char *found = sorted_lines(read_lines(after.data, after.size));
        assert_string_equal(found, both);
        free(found);
        free(both);
        free(x);
        free(y);
        hd_buffer_free(&before);
        hd_buffer_free(&after);
        hd_buffer_free(&alone);
        for (int i = 0; i < 6; i++) {
            hd_breakdown_free(breakdowns[i]);
            hd_profile_free(profiles[i]);
        }
    }
}

/* A trace with all kinds of events, and the additions to it. */
#define ALL_KINDS "{'x':['\\\\',{'y':1.5e3}],'traceEvents':[\n" FRAMES "," TYPES "," \
    HEAPS("{'malloc':{'entries':[{'size':'9','bt':'3','type':'2'}]}}") ",\n{'ph':'X','name':'}],{[','args':{'a':[{},[]]}}],'z':null}"

static void every_truncation_is_an_error_or_a_trace(void **state) {
    (void)state;
    static const char *const traces[] = { ALL_KINDS, "[" FRAMES "," TYPES "," HEAPS("{'m':{'entries':[{'size':'9','bt':'3'}]}}") ",{'ph':'X'} ]" };
    for (size_t t = 0; t < 2; t++) {
        char *text = trace_of(traces[t], NULL);
        size_t size = strlen(text), whole = 0;
        for (size_t n = 0; n <= size; n++) {
            hd_buffer bytes = { 0 };
            hd_error err = { 0 };
            hd_dump *before = NULL, *after = NULL;
            hd_status status = add_to(text, n, n % 3, &one_dump, NULL, &bytes, &err);
            assert_int_equal(err.status, status);
            if (status) {
                assert_int_equal(status, HD_MALFORMED);
                assert_int_equal(err.offset, n);
            } else {
                whole++;
                assert_memory_equal(bytes.data, text, n - (n == size ? 3 : 0) > 3 ? n / 2 : 0);
                hd_status read = hd_read_memory(text, n, NULL, &before, NULL);
                assert_int_equal(hd_read_memory(bytes.data, bytes.size, NULL, &after, &err), read);
                if (!read) assert_int_equal(hd_dump_heap_count(after), hd_dump_heap_count(before));
            }
            hd_dump_free(before);
            hd_dump_free(after);
            hd_buffer_free(&bytes);
        }
        assert_in_range(whole, t ? 6 : 1, t ? 40 : 1);
        free(text);
    }
}

static void faults_come_back(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    hd_heap heaps[] = { { .pid = 1, .dump = "new", .breakdown = b }, { .pid = 2, .dump = "new", .profile = p } };
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = 2, .scalars = &one_scalar, .scalar_count = 1 };
    char *text = trace_of(ALL_KINDS, NULL);
    size_t size = strlen(text);
    hd__write_faults whole = { 0 };
    assert_int_equal(hd_chrome_add(hd_in_memory(text, size), &dumps, NULL, hd__faults_out(&whole), NULL), HD_OK);
    for (uint64_t i = 1; i <= whole.count; i++) {
        hd__write_faults w = { .fail_at = i };
        hd_error err = { 0 };
        assert_int_equal(hd_chrome_add(hd_in_memory(text, size), &dumps, NULL, hd__faults_out(&w), &err), HD_IO);
        assert_int_equal(err.status, HD_IO);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
    }
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    HD__EACH_FAULT(faults) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        hd__reads reads = { .data = text, .size = size, .chunk = 50 };
        hd_status status = hd_chrome_add(hd__faults_in(&reads), &dumps, &options, hd__faults_out(&w), &err);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
        if (!status) assert_int_equal(w.size, whole.size);
        if (!status) assert_memory_equal(w.data, whole.data, whole.size);
        hd__write_faults_free(&w);
    }
    assert_true(faults.fail_at > 15);
    for (uint64_t i = 1; i < size / 50; i++) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        hd__reads reads = { .data = text, .size = size, .chunk = 50, .fail_at = i };
        assert_int_equal(hd_chrome_add(hd__faults_in(&reads), &dumps, NULL, hd__faults_out(&w), &err), HD_IO);
        assert_int_equal(err.status, HD_IO);
        hd__write_faults_free(&w);
    }
    hd__write_faults_free(&whole);
    free(text);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static hd_status count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

typedef struct until {
    uint64_t calls, stop_at, last;
} until;
static bool go_on(void *user, uint64_t done, uint64_t total) {
    until *u = (until *)user;
    assert_true(done >= u->last);
    assert_true(total == HD_UNKNOWN || done <= total);
    u->last = done;
    return ++u->calls != u->stop_at;
}

static void memory_is_bounded_and_long_traces_can_be_cancelled(void **state) {
    (void)state;
    static const char event[] = "{\"ph\":\"X\",\"pid\":1,\"args\":{\"name\":\"vMvM\"}},\n";
    char text[256];
    size_t length = sizeof event - 1;
    snprintf(text, sizeof text, "[%s{}]", event);
    for (uint64_t repeats = 10000; repeats <= 1000000; repeats *= 100) {
        hd__reads reads = { .data = text, .size = strlen(text), .from = 1, .until = 1 + length, .repeat = repeats };
        hd__faults faults = { 0 };
        until u = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults), .progress = go_on, .progress_user = &u };
        uint64_t size = 0;
        assert_int_equal(hd_chrome_add(hd__faults_in(&reads), &one_dump, &options, hd_out_callback(count_bytes, &size), NULL), HD_OK);
        assert_true(size > (repeats + 1) * length && size < (repeats + 1) * length + 400);
        assert_true(faults.peak < 220000);
        assert_true(u.calls > 2);
        reads = (hd__reads){ .data = text, .size = strlen(text), .from = 1, .until = 1 + length, .repeat = repeats };
        u = (until){ .stop_at = u.calls / 2 + 1 };
        assert_int_equal(hd_chrome_add(hd__faults_in(&reads), &one_dump, &options, hd_out_callback(count_bytes, &size), NULL), HD_CANCELLED);
    }
}

/* The file is mapped, larger than the window of the reader, and not kept in memory. */
static void a_file_is_copied_as_memory_is(void **state) {
    (void)state;
    static const char event[] = "{\"ph\":\"X\",\"pid\":1,\"args\":{\"name\":\"]}vM\"}},\n";
    size_t length = sizeof event - 1, n = 250000, size = 1 + n * length + 3;
    char *text = (char *)malloc(size + 1), path[] = "/tmp/test_chrome_add_XXXXXX";
    text[0] = '[';
    for (size_t i = 0; i < n; i++) memcpy(text + 1 + i * length, event, length);
    memcpy(text + 1 + n * length, "{}]", 4);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    close(fd);
    hd_in in;
    hd_buffer bytes = { 0 }, mapped = { 0 };
    assert_int_equal(hd_in_open_mapped(path, &in, NULL), HD_OK);
    assert_int_equal(hd_chrome_add(in, &one_dump, NULL, hd_out_memory(&mapped), NULL), HD_OK);
    assert_int_equal(add_to(text, size, 0, &one_dump, NULL, &bytes, NULL), HD_OK);
    assert_int_equal(mapped.size, bytes.size);
    assert_memory_equal(mapped.data, bytes.data, bytes.size);
    hd_in_close(&in);
    unlink(path);
    hd_buffer_free(&bytes);
    hd_buffer_free(&mapped);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps_become_the_last_events),
        cmocka_unit_test(arrays_of_crashed_writers_are_closed),
        cmocka_unit_test(nothing_to_add_leaves_the_trace_as_it_was),
        cmocka_unit_test(ids_are_above_all_that_the_trace_has),
        cmocka_unit_test(dumps_that_the_trace_has_are_refused),
        cmocka_unit_test(malformed_traces_are_errors_with_their_place),
        cmocka_unit_test(added_and_present_heaps_are_read_unchanged),
        cmocka_unit_test(every_truncation_is_an_error_or_a_trace),
        cmocka_unit_test(a_file_is_copied_as_memory_is),
        cmocka_unit_test(faults_come_back),
        cmocka_unit_test(memory_is_bounded_and_long_traces_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
