/* Reads heap dumps from Chromium traces: compares with the trace viewer's importer on the traces in
   tests/data/trace-viewer, and tries every form of a well-formed trace. test_chrome_write.c writes traces;
   test_chrome_bad.c and test_chrome_hostile.c break them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* The trace viewer. --------------------------------------------------------------------------- */

enum { MAX_LINES = 32 };

/* "pid dump allocator backtrace type size count cumulative": the common form of both sides. */
typedef struct lines {
    size_t count;
    char *text[MAX_LINES];
} lines;

static int line_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* A new line; it joins the others when closed. */
static FILE *new_line(lines *l) {
    static size_t size;
    assert_true(l->count < MAX_LINES);
    return open_memstream(&l->text[l->count++], &size);
}

static void free_lines(lines *l) {
    while (l->count) free(l->text[--l->count]);
}

/* A token's value: the digits of a number, the text of a string, or `otherwise`. */
static void text_or(char to[64], hd__pull *p, hd__token token, const char *otherwise) {
    hd__pull_digits number;
    hd_str s = hd_cstr(otherwise);
    if (token == HD__TOKEN_NUMBER) {
        hd__pull_number(p, &number);
        s = hd_cstr(number.text);
    } else if (token == HD__TOKEN_STRING) {
        assert_true(hd__pull_string(p, &s));
    }
    assert_true(s.len < 64);
    memcpy(to, s.data, s.len);
    to[s.len] = 0;
}

/* The rest of an entry's line. */
static void expected_entry(hd__pull *p, FILE *line) {
    char type[64] = "", size[64] = "", count[64] = "";
    bool cumulative = false, root = true;
    hd_str s;
    while (hd__pull_next(p) == HD__TOKEN_KEY) {
        assert_true(hd__pull_key(p, &s));
        char name = s.data[1]; /* bAcktrace tYpe sIze cOunt cUmulative; the backtrace comes first */
        hd__token token = hd__pull_next(p);
        if (name == 'a')
            for (; hd__pull_next(p) == HD__TOKEN_STRING; root = false) {
                assert_true(hd__pull_string(p, &s));
                fprintf(line, "/%.*s", (int)s.len, s.data);
            }
        else if (name == 'y') text_or(type, p, token, "*");
        else if (name == 'i') text_or(size, p, token, "?");
        else if (name == 'o') text_or(count, p, token, "-");
        else cumulative = token == HD__TOKEN_TRUE;
    }
    fprintf(line, "%s %s %s %s %s", root ? "/" : "", type, size, count, cumulative ? "cumulative" : "self");
    fclose(line);
}

/* {"dumps":[{"pid":1,"dump":0,"allocator":"malloc","entries":[...]}],"warnings":[...]} */
static void expected_lines(const char *path, lines *to) {
    size_t size;
    char *text = file_text(path, &size), pid[64] = "", dump[64] = "", allocator[64] = "";
    hd__mem mem = hd__mem_options(NULL);
    hd_error err;
    hd__pull p;
    hd_str key;
    hd__token token;
    assert_int_equal(hd__pull_open(&p, &mem, hd_in_memory(text, size), 0, &err), HD_OK);
    assert_int_equal(hd__pull_next(&p), HD__TOKEN_OBJECT);
    assert_int_equal(hd__pull_next(&p), HD__TOKEN_KEY);
    assert_int_equal(hd__pull_next(&p), HD__TOKEN_ARRAY);
    while (hd__pull_next(&p) == HD__TOKEN_OBJECT)
        while (hd__pull_next(&p) == HD__TOKEN_KEY) {
            assert_true(hd__pull_key(&p, &key));
            char name = *key.data; /* Pid Dump Allocator, then Entries */
            token = hd__pull_next(&p);
            if (name == 'p') text_or(pid, &p, token, "");
            if (name == 'd') text_or(dump, &p, token, "");
            if (name == 'a') text_or(allocator, &p, token, "");
            while (name == 'e' && hd__pull_next(&p) == HD__TOKEN_OBJECT) {
                FILE *line = new_line(to);
                fprintf(line, "%s %s %s ", pid, dump, allocator);
                expected_entry(&p, line);
            }
        }
    while ((token = hd__pull_next(&p)) != HD__TOKEN_END) assert_int_not_equal(token, HD__TOKEN_ERROR);
    hd__pull_close(&p);
    free(text);
}

/* Dumps are numbered by time, over all processes. */
static unsigned dump_number(const hd_dump *d, const hd_heap *heap) {
    unsigned earlier = 0;
    for (size_t i = 0; i < hd_dump_heap_count(d); i++) {
        const hd_heap *h = hd_dump_heap(d, i);
        bool again = false;
        for (size_t k = 0; k < i; k++) again |= !strcmp(hd_dump_heap(d, k)->dump, h->dump);
        earlier += !again && h->time_us < heap->time_us;
    }
    return earlier;
}

static void found_lines(const hd_dump *d, lines *to) {
    for (size_t i = 0; i < hd_dump_heap_count(d); i++) {
        const hd_heap *h = hd_dump_heap(d, i);
        hd_rows rows = h->breakdown ? h->breakdown->entries : hd_profile_cells(h->profile);
        for (uint32_t k = 0; k < rows.count; k++) {
            FILE *f = new_line(to);
            hd_axis frames = h->breakdown ? h->breakdown->axis[0] : hd_profile_axis(h->profile, 0);
            hd_axis types = h->breakdown ? h->breakdown->axis[1] : hd_profile_axis(h->profile, 1);
            hd_str type = rows.node[2 * k + 1] ? types.node_name[rows.node[2 * k + 1]] : hd_cstr("*");
            fprintf(f, "%" PRIu64 " %u %s ", h->pid, dump_number(d, h), h->allocator);
            put_path(f, frames, rows.node[2 * k]);
            fprintf(f, "%s %.*s %" PRIu64 " ", h->profile ? "/<self>" : "", (int)type.len, type.data, rows.amount[k].bytes);
            put_blocks(f, rows.amount[k].blocks);
            fputs(h->profile ? " self" : " cumulative", f);
            fclose(f);
        }
    }
}

static void trace_viewer_reads_the_same_entries(void **state) {
    (void)state;
    static const struct {
        const char *name;
        hd_status strict;
        uint64_t warnings;
        const char *why;     /* we differ */
        const char *more[7]; /* lines that only our reader has */
        const char *less;    /* the line that only the viewer has */
    } traces[] = {
        { "bare-array", HD_OK, 0, NULL, { NULL }, NULL },
        { "dump-in-two-events", HD_OK, 0, NULL, { NULL }, NULL },
        { "empty-entries", HD_MALFORMED, 1, NULL, { NULL }, NULL },
        { "heaps-in-two-events", HD_OK, 0, "the heaps of both events of a dump are taken, not only of the first",
          { "1 0 winheap / * 7 - cumulative" }, NULL },
        { "metadata-after-use", HD_OK, 0, NULL, { NULL }, NULL },
        { "new-basic", HD_OK, 0, NULL, { NULL }, NULL },
        { "new-without-typeNames", HD_OK, 0, "no entry has a type, so no names of types are missed",
          { "1 0 malloc / * 100 - cumulative", "1 0 malloc /BrMain/Init * 50 - cumulative" }, NULL },
        { "old-no-types", HD_OK, 0, "a frame that calls none is its <self>; cumulative sizes are added up",
          { "1 0 malloc /BrMain * 70 - cumulative", "1 0 malloc /BrMain/Init * 50 - cumulative" },
          "1 0 malloc /BrMain/Init/<self> * 50 - cumulative" },
        { "old-with-types", HD_OK, 0, "a frame that calls none is its <self>; cumulative sizes are added up",
          { "1 0 malloc /BrMain * 70 - cumulative", "1 0 malloc /BrMain/<self> * 20 - cumulative",
            "1 0 malloc /BrMain T 20 - cumulative", "1 0 malloc /BrMain/Init * 50 - cumulative",
            "1 0 malloc /BrMain/Init U 50 - cumulative", "1 0 malloc / T 20 - cumulative",
            "1 0 malloc / U 50 - cumulative" }, "1 0 malloc /BrMain/Init/<self> U 50 - cumulative" },
        { "size-formats", HD_MALFORMED, 1, "a size that is no number is refused", { NULL },
          "1 0 malloc /BrMain/MsgLp * NaN - cumulative" },
        { "top-level-stackFrames", HD_OK, 0, "frames of the trace as a whole are known to every process",
          { "1 0 malloc /BrMain/Init * 8 - cumulative" }, NULL },
        { "two-dumps", HD_OK, 0, NULL, { NULL }, NULL },
        { "two-processes-same-ids", HD_OK, 0, NULL, { NULL }, NULL },
        { "unterminated-array", HD_OK, 0, NULL, { NULL }, NULL },
        { "v2-basic", HD_OK, 0, NULL, { NULL }, NULL },
        { "v2-incremental", HD_OK, 0, NULL, { NULL }, NULL },
    };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        lines expected = { 0 }, found = { 0 };
        char path[256];
        hd_options lenient = { .lenient = true };
        hd_dump *d = NULL, *strict = NULL;
        snprintf(path, sizeof path, "tests/data/trace-viewer/%s.expected.json", traces[i].name);
        expected_lines(path, &expected);
        snprintf(path, sizeof path, "tests/data/trace-viewer/%s.json", traces[i].name);
        print_message("           %s%s%s\n", traces[i].name, traces[i].why ? ": " : "", traces[i].why ? traces[i].why : "");
        assert_int_equal(hd_read_file(path, &lenient, &d, NULL), HD_OK);
        assert_string_equal(hd_dump_format(d)->name, "chrome");
        assert_int_equal(hd_dump_warning_count(d), traces[i].warnings);
        found_lines(d, &found);
        for (int k = 0; k < 7 && traces[i].more[k]; k++) {
            FILE *line = new_line(&expected);
            fputs(traces[i].more[k], line);
            fclose(line);
        }
        for (size_t k = 0; traces[i].less && k < expected.count; k++)
            if (!strcmp(expected.text[k], traces[i].less)) {
                free(expected.text[k]);
                expected.text[k] = expected.text[--expected.count];
                break;
            }
        qsort(expected.text, expected.count, sizeof *expected.text, line_order);
        qsort(found.text, found.count, sizeof *found.text, line_order);
        for (size_t k = 0; k < expected.count && k < found.count; k++)
            assert_string_equal(found.text[k], expected.text[k]);
        assert_int_equal(found.count, expected.count);
        free_lines(&expected);
        free_lines(&found);
        hd_dump_free(d);
        assert_int_equal(hd_read_file(path, NULL, &strict, NULL), traces[i].strict);
        hd_dump_free(strict);
    }
}

/* Forms of a trace. --------------------------------------------------------------------------- */

#define ONE_ENTRY "{'size':'10','bt':''},{'size':'8','bt':'1','type':'2'}"
#define ONE_DUMP HEAPS("{'malloc':{'entries':[" ONE_ENTRY "]}}")
#define ONE_TEXT "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain/Init /U 8 -\n"

static void metadata_may_come_before_or_after_its_use(void **state) {
    (void)state;
    assert_reads("{'traceEvents':[" FRAMES "," TYPES "," ONE_DUMP "]}", ONE_TEXT);
    assert_reads("{'traceEvents':[" TYPES "," ONE_DUMP "," FRAMES "]}", ONE_TEXT);
    assert_reads("{'traceEvents':[" ONE_DUMP "," FRAMES "," TYPES "]}", ONE_TEXT);
}

static void metadata_may_be_repeated_and_come_in_parts(void **state) {
    (void)state;
    assert_reads("[" FRAMES "," FRAMES "," TYPES "," ONE_DUMP "," TYPES "]", ONE_TEXT);
    assert_reads("[{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{'1':{'parent':'0','name':'Init'}}}},"
                 "{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{'0':{'name':'BrMain'}}}}," TYPES ","
                 ONE_DUMP "]", ONE_TEXT);
}

static void frames_of_the_process_override_frames_of_the_trace(void **state) {
    (void)state;
    assert_reads("{'stackFrames':{'0':{'name':'trace'},'7':{'name':'only','parent':'0'}},'traceEvents':["
                 "{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{'0':{'name':'process'}}}},"
                 "{'pid':1,'ph':'v','id':'0x1','args':{'dumps':{'heaps':{'malloc':{'entries':["
                 "{'size':'3','bt':''},{'size':'2','bt':'0'}]}}}}},"
                 "{'pid':2,'ph':'v','id':'0x1','args':{'dumps':{'heaps':{'malloc':{'entries':["
                 "{'size':'5','bt':''},{'size':'4','bt':'0'}]}}}}}]}",
                 "1 0x1 malloc / / 3 -\n1 0x1 malloc /process / 2 -\n"
                 "2 0x1 malloc / / 5 -\n2 0x1 malloc /trace / 4 -\n");
    assert_reads("{'traceEvents':["
                 "{'pid':1,'ph':'v','id':'0x1','args':{'dumps':{'heaps':{'malloc':{'entries':["
                 "{'size':'3','bt':''},{'size':'2','bt':'7'}]}}}}}],"
                 "'stackFrames':{'0':{'name':'trace'},'7':{'name':'only','parent':'0'}}}",
                 "1 0x1 malloc / / 3 -\n1 0x1 malloc /trace/only / 2 -\n");
}

static void frames_of_equal_name_and_parent_are_one(void **state) {
    (void)state;
    assert_reads("[{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{"
                 "'a':{'name':'f'},'b':{'name':'f'},'c':{'name':'g','parent':'a'},'d':{'name':'g','parent':'b'}}}},"
                 HEAPS("{'malloc':{'entries':[{'size':'9','bt':''},{'size':'1','bt':'c','count':'1'},"
                       "{'size':'2','bt':'d','count':'4'}]}}") "]",
                 "1 0x1 malloc / / 9 -\n1 0x1 malloc /f/g / 3 5\n");
}

/* Calls `check` with each order of n keys. */
static void each_order(const char **keys, int n, int done, void (*check)(const char **keys)) {
    if (done == n) {
        check(keys);
        return;
    }
    for (int i = done; i < n; i++) {
        const char *swap = keys[done];
        keys[done] = keys[i];
        keys[i] = swap;
        each_order(keys, n, done + 1, check);
        swap = keys[done];
        keys[done] = keys[i];
        keys[i] = swap;
    }
}

static void check_event(const char **keys) {
    char text[2048];
    snprintf(text, sizeof text, "[" FRAMES "," TYPES ",{%s,%s,%s,%s,%s,%s}]", keys[0], keys[1], keys[2], keys[3], keys[4],
             keys[5]);
    assert_reads(text, "7 0x9 malloc / / 16 -\n");
}

static void check_metadata(const char **keys) {
    char text[2048];
    snprintf(text, sizeof text, "[{%s,%s,%s,%s}," TYPES "," ONE_DUMP "]", keys[0], keys[1], keys[2], keys[3]);
    assert_reads(text, ONE_TEXT);
}

static void check_entry(const char **keys) {
    char text[2048];
    snprintf(text, sizeof text, ENTRIES("{'size':'10','bt':''},{%s,%s,%s,%s}"), keys[0], keys[1], keys[2], keys[3]);
    assert_reads(text, "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain/Init /U 8 3\n");
}

static void check_v2(const char **keys) {
    char text[2048];
    snprintf(text, sizeof text,
             "[{'pid':1,'id':'0x1','ph':'v','args':{'dumps':{'heaps_v2':{'maps':{'nodes':[{'id':5,'name_sid':6}],"
             "'types':[{'name_sid':7,'id':4}],'strings':[{'string':'f','id':6},{'id':7,'string':'T'}]},"
             "'allocators':{'malloc':{%s,%s,%s,%s}}}}}}]", keys[0], keys[1], keys[2], keys[3]);
    assert_reads(text, "1 0x1 malloc self /f /T 100 3\n");
}

static void keys_may_come_in_any_order(void **state) {
    (void)state;
    const char *event[] = { "'pid':7", "'ts':10", "'ph':'v'", "'name':'explicitly_triggered'", "'id':'0x9'",
                            "'args':{'dumps':{'heaps':{'malloc':{'entries':[{'size':'10','bt':''}]}}}}" };
    const char *metadata[] = { "'pid':1", "'ph':'M'", "'name':'stackFrames'",
                               "'args':{'stackFrames':{'1':{'parent':'0','name':'Init'},'0':{'name':'BrMain'}}}" };
    const char *entry[] = { "'size':'8'", "'bt':'1'", "'type':'2'", "'count':'3'" };
    const char *v2[] = { "'nodes':[5]", "'sizes':[100]", "'counts':[3]", "'types':[4]" };
    each_order(event, 6, 0, check_event);
    each_order(metadata, 4, 0, check_metadata);
    each_order(entry, 4, 0, check_entry);
    each_order(v2, 4, 0, check_v2);
}

static void ids_may_be_numbers_or_an_id2(void **state) {
    (void)state;
    static const char body[] = "'args':{'dumps':{'heaps':{'malloc':{'entries':[{'size':'1','bt':''}]}}}}";
    static const char *const ids[][2] = { { "'id':'0x1'", "0x1" }, { "'id2':{'global':'0x2'}", "0x2" },
                                          { "'id2':{'local':'0x3'}", "0x3" }, { "'id':17", "17" } };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char text[512], expected[64];
        snprintf(expected, sizeof expected, "1 %s malloc / / 1 -\n", ids[i][1]);
        snprintf(text, sizeof text, "[{'pid':1,'ph':'v',%s,%s}]", ids[i][0], body);
        assert_reads(text, expected);
        snprintf(text, sizeof text, "[{'pid':1,%s,%s,'ph':'v'}]", body, ids[i][0]);
        assert_reads(text, expected);
    }
    assert_reads("[{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{'5':{'name':'f'},'6':{'name':'g','parent':5}}}},"
                 HEAPS("{'malloc':{'entries':[{'size':'1','bt':''},{'size':'1','bt':6}]}}") "]",
                 "1 0x1 malloc / / 1 -\n1 0x1 malloc /f/g / 1 -\n");
}

static void entries_need_not_list_the_frames_between_them(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'8','bt':'2','type':'1'},{'size':'10','bt':''}"),
                 "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain/MsgLp /T 8 -\n");
    assert_reads(ENTRIES("{'size':'8','bt':'2'},{'size':'1','bt':'3'}"),
                 "1 0x1 malloc / / 9 -\n1 0x1 malloc /BrMain/MsgLp / 8 -\n1 0x1 malloc /RdMain / 1 -\n");
}

/* A trace may be an object or a bare array. A crashed writer leaves the array open after any event. */
static void trace_may_be_an_object_or_an_array_left_open(void **state) {
    (void)state;
    static const char events[] = FRAMES "," TYPES "," ONE_DUMP;
    static const char *const forms[][2] = {
        { "{'traceEvents':[", "]}" },
        { "{'displayTimeUnit':'ms','traceEvents':[", "],'metadata':{'os-name':'Linux','stackFrames':5}}\n" },
        { "[", "]" }, { "[", "" }, { "[", "," }, { "[", ",\n" }, { "[", "\n" }, { " \r\n\t[\n\n", "\n]\n\n" },
        { "\xef\xbb\xbf{'traceEvents':[", "]}" }, { "\xef\xbb\xbf\n[", "" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s%s", forms[i][0], events, forms[i][1]);
        assert_reads(text, ONE_TEXT);
    }
    assert_reads("[", "");
    assert_reads("[]", "");
    assert_reads("{'traceEvents':[]}", "");
}

static void white_space_before_the_trace_may_be_long(void **state) {
    (void)state;
    for (size_t n = 60; n < 5000; n = n * 3 / 2) {
        char *text = (char *)malloc(n + 4096);
        memset(text, '\n', n);
        strcpy(text + n, "[" FRAMES "," TYPES "," ONE_DUMP "]");
        assert_reads(text, ONE_TEXT);
        free(text);
    }
}

static void events_of_other_kinds_are_passed_over(void **state) {
    (void)state;
    assert_reads("{'traceEvents':[{'pid':1,'tid':2,'ts':3.5,'ph':'X','name':'f','dur':1e-3,'args':{'dumps':{'heaps':5}}},"
                 "{'args':{'a':[[],{}],'b':{'stackFrames':1}},'ph':'b','id':'7','pid':4},"
                 "{'ph':'M','name':'thread_name','args':{'name':'main'},'pid':1},"
                 "{'ph':'v','pid':1,'id':'0x1','args':{'dumps':{'process_totals':{},'allocators':{'heaps':{'x':1}}}}}," FRAMES ","
                 TYPES "," ONE_DUMP "]}", ONE_TEXT);
}

static void heaps_are_ordered_by_pid_time_and_allocator(void **state) {
    (void)state;
    static const char heap[] = "'args':{'dumps':{'heaps':{'b':{'entries':[{'size':'1','bt':''}]},"
                               "'a':{'entries':[{'size':'2','bt':''}]}}}}}";
    static const struct {
        int pid, ts, id;
    } events[] = { { 20, 5, 7 }, { 3, 9, 2 }, { 3, 4, 8 }, { 20, 4, 9 } };
    char text[4096] = "[{'pid':3,'ph':'M','name':'process_name','args':{'name':'Browser'}}";
    for (int i = 0; i < 4; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",{'pid':%d,'ts':%d,'ph':'v','id':'%d',%s", events[i].pid,
                 events[i].ts, events[i].id, heap);
    strcat(text, "]");
    assert_reads(text,
                 "3 8 a / / 2 -\n3 8 b / / 1 -\n3 2 a / / 2 -\n3 2 b / / 1 -\n"
                 "20 9 a / / 2 -\n20 9 b / / 1 -\n20 7 a / / 2 -\n20 7 b / / 1 -\n");
    char *trace = trace_of(text, NULL);
    hd_dump *d;
    assert_int_equal(hd_read_memory(trace, strlen(trace), NULL, &d, NULL), HD_OK);
    assert_string_equal(hd_dump_heap(d, 0)->process, "Browser");
    assert_null(hd_dump_heap(d, 4)->process);
    assert_int_equal(hd_dump_heap(d, 2)->time_us, 9);
    assert_null(hd_dump_heap(d, 8));
    hd_dump_free(d);
    free(trace);
}

static void counts_are_hexadecimal_and_may_be_absent(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'ff','bt':'','count':'1F'},{'size':'0xa','bt':'0','count':'0x10'},{'size':'0','bt':'3'}"),
                 "1 0x1 malloc / / 255 31\n1 0x1 malloc /BrMain / 10 16\n1 0x1 malloc /RdMain / 0 -\n");
}

static void sizes_take_all_64_bits(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'ffffffffffffffff','bt':''},{'size':'00000000000000000001','bt':'0'}"),
                 "1 0x1 malloc / / 18446744073709551615 -\n1 0x1 malloc /BrMain / 1 -\n");
    assert_reads("[{'pid':1,'id':'1','ph':'v','args':{'dumps':{'heaps_v2':{'allocators':{'m':"
                 "{'nodes':[0],'sizes':[18446744073709551614]}}}}}}]",
                 "1 1 m self / / 18446744073709551614 -\n");
}

static void time_stamps_may_have_fractions_and_exponents(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t us;
    } stamps[] = { { "1234567890123456", UINT64_C(1234567890123456) }, { "17.75", 17 }, { "'18'", 18 },
                   { "1.5e3", 1500 }, { "2e6", 2000000 }, { "1.25E+1", 12 },
                   { "15509678162158436.947044e03", UINT64_C(15509678162158436947) },
                   { "18446744073709551615.9", UINT64_MAX }, { "184467440737095516150e-1", UINT64_MAX } };
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        char quoted[512];
        snprintf(quoted, sizeof quoted, "[{'pid':1,'ts':%s,'ph':'v','id':'1','args':{'dumps':{'heaps':{'m':{'entries':["
                 "{'size':'1','bt':''}]}}}}}]", stamps[i].text);
        char *text = trace_of(quoted, NULL);
        hd_dump *d;
        assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
        assert_int_equal(hd_dump_heap(d, 0)->time_us, stamps[i].us);
        hd_dump_free(d);
        free(text);
    }
}

static void names_may_be_escaped_and_empty(void **state) {
    (void)state;
    char *text = trace_of("[{'pid':1,'ph':'M','name':'stackFr\\u0061mes','args':{'stackFrames':{"
                          "'\\u0030':{'name':'a\\'b\\\\\\/\\n\\u00e4\\ud83d\\ude00\\ud800'},'1':{'name':'','parent':'0'}}}},"
                          HEAPS("{'m\\u0061lloc':{'entries':[{'size':'1','bt':''},{'size':'1','bt':'\\u0031'}]}}") "]", NULL);
    hd_dump *d;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
    hd_axis axis = hd_dump_heap(d, 0)->breakdown->axis[0];
    assert_int_equal(axis.node_count, 3);
    assert_true(hd_str_equal(axis.node_name[1], hd_cstr("a\"b\\/\n\xc3\xa4\xf0\x9f\x98\x80\xed\xa0\x80")));
    assert_int_equal(axis.node_name[2].len, 0);
    assert_string_equal(hd_dump_heap(d, 0)->allocator, "malloc");
    hd_dump_free(d);
    free(text);
}

static hd_status keep_other(void *user, const hd_tree_row *row) {
    char *to = (char *)user;
    if (row->entry == HD_NONE) snprintf(to + strlen(to), 64 - strlen(to), "%" PRIu64 " ", row->amount.bytes);
    return HD_OK;
}

/* The pseudo-example of "Dump format" in the document, as a trace. The reader infers its <other> sizes. */
static void pseudo_example_of_the_document_gives_its_other_sizes(void **state) {
    (void)state;
    char *text = trace_of("[{'pid':1,'ph':'M','args':{'stackFrames':{'1':{'name':'BrMain'},'2':{'name':'RdMain'},"
                          "'3':{'name':'Init','parent':'1'},'4':{'name':'MsgLp','parent':'1'}},"
                          "'typeNames':{'1':'T','2':'V','3':'W'}}}," HEAPS("{'malloc':{'entries':["
                          "{'size':'602','bt':''},{'size':'36c','bt':'1'},{'size':'274','bt':'2'},"
                          "{'size':'2ba','bt':'','type':'1'},{'size':'154','bt':'','type':'2'},{'size':'1cd','bt':'','type':'3'},"
                          "{'size':'f2','bt':'3'},{'size':'259','bt':'4'},"
                          "{'size':'97','bt':'3','type':'1'},{'size':'53','bt':'3','type':'3'}]}}") "]", NULL);
    /* in the order of the tree. By type first, T and W have 698 - 151 and 461 - 83 bytes outside of Init. */
    static const char *const others[] = { "8 33 34 ", "547 378 39 " };
    hd_dump *d;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
    for (uint32_t axis = 0; axis < 2; axis++) {
        hd_tree_options options = { .first_axis = axis };
        char found[64] = "";
        assert_int_equal(hd_tree(hd_dump_heap(d, 0), &options, keep_other, found, NULL), HD_OK);
        assert_string_equal(found, others[axis]);
    }
    hd_dump_free(d);
    free(text);
}

/* heaps_v2. ----------------------------------------------------------------------------------- */

#define V2(body) "{'pid':1,'ts':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{" body "}}}}"

static void v2_columns_of_counts_and_types_may_be_absent(void **state) {
    (void)state;
    assert_reads("[" V2("'allocators':{'m':{'nodes':[1,0],'sizes':[3,4]}},'maps':{'nodes':[{'id':1,'name_sid':2}],"
                        "'strings':[{'id':2,'string':'f'}]}") "]",
                 "1 1 m self / / 4 -\n1 1 m self /f / 3 -\n");
    assert_reads("[" V2("'allocators':{'m':{'nodes':[],'sizes':[]}}") "]", "");
}

static void v2_cells_at_the_same_place_add_up(void **state) {
    (void)state;
    assert_reads("[" V2("'allocators':{'m':{'nodes':[1,1,1],'sizes':[3,4,8],'counts':[1,2,3],'types':[0,0,0]}},"
                        "'maps':{'nodes':[{'id':1,'name_sid':2}],'strings':[{'id':2,'string':'f'}]}") "]",
                 "1 1 m self /f / 15 6\n");
}

static void v2_and_new_heaps_may_be_in_one_dump(void **state) {
    (void)state;
    assert_reads("[{'pid':1,'ts':1,'ph':'v','id':'1','args':{'dumps':{'heaps':{'m':{'entries':[{'size':'1','bt':''}]}},"
                 "'heaps_v2':{'allocators':{'n':{'nodes':[0],'sizes':[2]}}}}}}]",
                 "1 1 m / / 1 -\n1 1 n self / / 2 -\n");
}

static void v2_id_zero_is_a_node_when_it_is_defined(void **state) {
    (void)state;
    assert_reads("[" V2("'allocators':{'m':{'nodes':[0],'sizes':[3],'types':[0]}},'maps':{'nodes':[{'id':0,'name_sid':2}],"
                        "'types':[{'id':0,'name_sid':2}],'strings':[{'id':2,'string':'f'}]}") "]",
                 "1 1 m self /f /f 3 -\n");
}

/* A profile that was read can be used in every way, but not filled further. */
static void v2_profile_can_be_exported_but_not_changed(void **state) {
    (void)state;
    hd_dump *d;
    hd_breakdown *b;
    uint32_t node, nodes[2] = { 0, 0 };
    assert_int_equal(hd_read_file("tests/data/trace-viewer/v2-basic.json", NULL, &d, NULL), HD_OK);
    hd_profile *p = (hd_profile *)(uintptr_t)hd_dump_heap(d, 0)->profile;
    assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr("x"), &node, NULL), HD_INVALID);
    assert_int_equal(hd_profile_add(p, nodes, 1, 1, NULL), HD_INVALID);
    assert_int_equal(hd_export(p, &(hd_cutoff){ .min_bytes = 50 }, NULL, &b, NULL), HD_OK);
    assert_text(breakdown_text(b),
                "/ / 157 4\n/ /int 150 3\n/main / 157 4\n/main /int 150 3\n/main/f / 100 1\n/main/f /int 100 1\n"
                "/main/g / 57 3\n/main/g /int 50 2\n");
    hd_breakdown_free(b);
    hd_dump_free(d);
}

/* Inputs. ------------------------------------------------------------------------------------- */

static void callback_in_any_pieces_gives_the_same_as_memory(void **state) {
    (void)state;
    static const char *const names[] = { "new-basic", "v2-incremental", "unterminated-array", "size-formats",
                                         "old-no-types", "two-processes-same-ids" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        size_t size;
        snprintf(path, sizeof path, "tests/data/trace-viewer/%s.json", names[i]);
        char *text = file_text(path, &size);
        for (size_t cut = 0; cut < size; cut += cut < 80 ? 1 : 13)
            for (size_t chunk = 1; chunk <= 7; chunk += 3) {
                hd__reads reads = { .data = text, .size = size - cut, .chunk = chunk };
                hd_dump *a = NULL, *b = NULL;
                hd_error x = { 0 }, y = { 0 };
                hd_status status = hd_read_memory(text, size - cut, NULL, &a, &x);
                assert_int_equal(hd_read(hd__faults_in(&reads), NULL, &b, &y), status);
                assert_int_equal(x.offset, y.offset);
                assert_int_equal(x.line, y.line);
                assert_string_equal(x.message, y.message);
                if (!status) {
                    char *expected = dump_text(a);
                    assert_text(dump_text(b), expected);
                    free(expected);
                }
                hd_dump_free(a);
                hd_dump_free(b);
            }
        free(text);
    }
}

static void read_that_fails_is_an_input_error(void **state) {
    (void)state;
    size_t size;
    char *text = file_text("tests/data/trace-viewer/new-basic.json", &size);
    for (int lenient = 0; lenient < 2; lenient++)
        for (uint64_t fail_at = 1; fail_at <= size / 9; fail_at++) {
            hd__reads reads = { .data = text, .size = size, .chunk = 9, .fail_at = fail_at };
            hd_options options = { .lenient = lenient != 0 };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            assert_int_equal(hd_read(hd__faults_in(&reads), &options, &d, &err), HD_IO);
            assert_int_equal(err.status, HD_IO);
            assert_null(d);
        }
    free(text);
}

static void result_outlives_its_input(void **state) {
    (void)state;
    size_t size;
    char *text = file_text("tests/data/trace-viewer/new-basic.json", &size);
    hd_dump *d;
    assert_int_equal(hd_read_memory(text, size, NULL, &d, NULL), HD_OK);
    memset(text, 'x', size);
    free(text);
    assert_text(dump_text(d),
                "1 0x1 malloc / / 1538 -\n1 0x1 malloc / /T 698 -\n1 0x1 malloc /BrMain / 876 -\n"
                "1 0x1 malloc /BrMain/Init / 242 3\n1 0x1 malloc /BrMain/Init /T 151 -\n");
    hd_dump_free(d);
    hd_dump_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_viewer_reads_the_same_entries),
        cmocka_unit_test(metadata_may_come_before_or_after_its_use),
        cmocka_unit_test(metadata_may_be_repeated_and_come_in_parts),
        cmocka_unit_test(frames_of_the_process_override_frames_of_the_trace),
        cmocka_unit_test(frames_of_equal_name_and_parent_are_one),
        cmocka_unit_test(keys_may_come_in_any_order),
        cmocka_unit_test(ids_may_be_numbers_or_an_id2),
        cmocka_unit_test(entries_need_not_list_the_frames_between_them),
        cmocka_unit_test(trace_may_be_an_object_or_an_array_left_open),
        cmocka_unit_test(white_space_before_the_trace_may_be_long),
        cmocka_unit_test(events_of_other_kinds_are_passed_over),
        cmocka_unit_test(heaps_are_ordered_by_pid_time_and_allocator),
        cmocka_unit_test(counts_are_hexadecimal_and_may_be_absent),
        cmocka_unit_test(sizes_take_all_64_bits),
        cmocka_unit_test(time_stamps_may_have_fractions_and_exponents),
        cmocka_unit_test(names_may_be_escaped_and_empty),
        cmocka_unit_test(pseudo_example_of_the_document_gives_its_other_sizes),
        cmocka_unit_test(v2_columns_of_counts_and_types_may_be_absent),
        cmocka_unit_test(v2_cells_at_the_same_place_add_up),
        cmocka_unit_test(v2_and_new_heaps_may_be_in_one_dump),
        cmocka_unit_test(v2_id_zero_is_a_node_when_it_is_defined),
        cmocka_unit_test(v2_profile_can_be_exported_but_not_changed),
        cmocka_unit_test(callback_in_any_pieces_gives_the_same_as_memory),
        cmocka_unit_test(read_that_fails_is_an_input_error),
        cmocka_unit_test(result_outlives_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
