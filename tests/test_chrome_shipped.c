/* Facts about Chromium's heap dumps that its documents lack, learned from its programs. Each fact has a test with its
   name. test_gzip.c reads traces packed with gzip, test_chrome.c the sixteen traces for the trace viewer, and
   test_chrome_bad.c breaks traces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* Reads leniently: expects this number of warnings, and the last ends with `message`. */
static void assert_warns(const char *quoted, const char *expected, uint64_t count, const char *message) {
    char *text = trace_of(quoted, NULL);
    warnings w = { 0 };
    hd_options options = { .lenient = true, .warning = keep_warning, .warning_user = &w };
    hd_dump *d = NULL;
    assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, NULL), HD_OK);
    assert_text(dump_text(d), expected);
    assert_int_equal(hd_dump_warning_count(d), count);
    assert_int_equal(w.count, count);
    if (!strstr(w.last.message, message)) fail_msg("'%s' does not say '%s'", w.last.message, message);
    hd_dump_free(d);
    free(text);
}

/* The document's example, in the form that the trace viewer accepts. */
#define PARTS(first, second)                                                                                     \
    "{'pid':1,'tid':1,'ts':1,'ph':'M','cat':'__metadata','name':'process_name','args':{'name':'Browser'}},\n"    \
    first                                                                                                         \
    "{'pid':1,'tid':1,'ts':10,'ph':'v','cat':'disabled-by-default-memory-infra',\n"                              \
    "'name':'explicitly_triggered','id':'0x1','args':{'dumps':{'level_of_detail':'detailed',\n"                  \
    "'process_totals':{'resident_set_bytes':'1000'},\n"                                                          \
    "'allocators':{'malloc':{'guid':'abc','attrs':{'size':{'type':'scalar','units':'bytes','value':'602'}}}},\n" \
    "'heaps':{'malloc':{'entries':[{'size':'602','bt':''},{'size':'36c','bt':'0'},\n"                            \
    "{'size':'f2','bt':'1','count':'3'},{'size':'97','bt':'1','type':'1'}]}}}}}" second
#define DICTIONARIES                                                                                              \
    "{'pid':1,'tid':1,'ts':1,'ph':'M','cat':'__metadata','name':'stackFrames','args':{'stackFrames':{\n"         \
    "'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'}}}},\n"                                               \
    "{'pid':1,'tid':1,'ts':1,'ph':'M','cat':'__metadata','name':'typeNames','args':{'typeNames':{\n"             \
    "'0':'[unknown]','1':'T'}}}"
#define EXAMPLE PARTS(DICTIONARIES ",\n", "")
#define EXAMPLE_TEXT                                                                          \
    "1 0x1 malloc / / 1538 -\n1 0x1 malloc /BrMain / 876 -\n1 0x1 malloc /BrMain/Init / 242 3\n" \
    "1 0x1 malloc /BrMain/Init /T 151 -\n"

static void the_example_is_accepted_without_a_warning(void **state) {
    (void)state;
    char *text = trace_of("{'traceEvents':[\n" EXAMPLE "\n]}", NULL);
    hd_dump *d = NULL;
    hd_detail detail = HD_LIGHT;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
    assert_int_equal(hd_dump_warning_count(d), 0);
    assert_text(dump_text(d), EXAMPLE_TEXT);
    assert_string_equal(hd_dump_heap(d, 0)->process, "Browser");
    assert_int_equal(hd_dump_heap(d, 0)->time_us, 10);
    assert_int_equal(hd_dump_scalar_count(d), 2);
    assert_string_equal(hd_dump_scalar(d, 0)->name, "resident_set_bytes");
    assert_int_equal(hd_dump_scalar(d, 0)->value, 4096);
    assert_string_equal(hd_dump_scalar(d, 1)->allocator, "malloc");
    assert_int_equal(hd_dump_scalar(d, 1)->value, 1538);
    assert_true(hd_dump_detail(d, 1, "0x1", &detail) && detail == HD_DETAILED);
    hd_dump_free(d);
    free(text);
}

static void dictionary_ids_are_scoped_to_the_process(void **state) {
    (void)state;
    assert_reads("[{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{'0':{'name':'one'}}}},"
                 "{'pid':2,'ph':'M','name':'stackFrames','args':{'stackFrames':{'0':{'name':'two'}}}},"
                 "{'pid':1,'ph':'M','name':'typeNames','args':{'typeNames':{'7':'T'}}},"
                 "{'pid':2,'ph':'M','name':'typeNames','args':{'typeNames':{'7':'U'}}},"
                 "{'pid':1,'ph':'v','id':'a','args':{'dumps':{'heaps':{'m':{'entries':[{'size':'1','bt':'0','type':'7'}]}}}}},"
                 "{'pid':2,'ph':'v','id':'a','args':{'dumps':{'heaps':{'m':{'entries':[{'size':'2','bt':'0','type':'7'}]}}}}}]",
                 "1 a m / / 1 -\n1 a m /one /T 1 -\n2 a m / / 2 -\n2 a m /two /U 2 -\n");
}

static void metadata_events_may_come_after_the_dump_that_uses_them(void **state) {
    (void)state;
    assert_reads("{'traceEvents':[\n" PARTS("", ",\n" DICTIONARIES) "\n]}", EXAMPLE_TEXT);
}

static void a_trace_may_be_a_bare_array_of_events(void **state) {
    (void)state;
    assert_reads("[\n" EXAMPLE "\n]", EXAMPLE_TEXT);
}

static void a_crashed_writer_leaves_no_closing_bracket(void **state) {
    (void)state;
    assert_reads("[\n" EXAMPLE, EXAMPLE_TEXT);
    assert_reads("[\n" EXAMPLE ",\n", EXAMPLE_TEXT);
}

static void top_level_stack_frames_are_a_trace_wide_source_of_frames(void **state) {
    (void)state;
    static const char expected[] = "1 0x1 m / / 9 -\n1 0x1 m /BrMain/Init / 4 -\n";
    assert_reads("{'traceEvents':[" HEAPS("{'m':{'entries':[{'size':'9','bt':''},{'size':'4','bt':'1'}]}}") "],"
                 "'stackFrames':{'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'}}}", expected);
    assert_reads("{'stackFrames':{'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'}},"
                 "'traceEvents':[" HEAPS("{'m':{'entries':[{'size':'9','bt':''},{'size':'4','bt':'1'}]}}") "]}", expected);
}

static void count_is_hexadecimal_optional_and_cumulative(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'10','bt':'','count':'1f'},{'size':'8','bt':'0','count':'1e'},{'size':'4','bt':'1'}"),
                 "1 0x1 malloc / / 16 31\n1 0x1 malloc /BrMain / 8 30\n1 0x1 malloc /BrMain/Init / 4 -\n");
}

static void first_entry_without_bt_marks_the_old_format(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'10'},{'size':'3','bt':'0'}"), "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain / 3 -\n");
    /* only the first entry: the malformed rest is skipped */
    assert_warns(ENTRIES("{'size':'10','bt':''},{'size':'3'}"), "1 0x1 malloc / / 16 -\n", 1, "without bt");
}

static void in_the_old_format_an_entry_without_bt_is_the_total(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'64'},{'size':'9','type':'1'},{'size':'3','bt':'0'}"),
                 "1 0x1 malloc / / 100 -\n1 0x1 malloc / /T 9 -\n1 0x1 malloc /BrMain / 3 -\n");
}

/* A frame without callees has no "<self>" entry. */
static void in_the_old_format_an_entry_with_bt_is_a_self_size(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'64'},{'size':'2','bt':''},{'size':'3','bt':'0'},{'size':'5','bt':'1'}"),
                 "1 0x1 malloc / / 100 -\n1 0x1 malloc /<self> / 2 -\n1 0x1 malloc /BrMain / 8 -\n"
                 "1 0x1 malloc /BrMain/<self> / 3 -\n1 0x1 malloc /BrMain/Init / 5 -\n");
}

static void entries_with_unknown_ids_are_skipped_with_a_warning(void **state) {
    (void)state;
    static const char rest[] = "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain/Init / 4 -\n";
    assert_warns(ENTRIES("{'size':'10','bt':''},{'size':'8','bt':'99'},{'size':'4','bt':'1'}"), rest, 1,
                 "entry 1 of the heap of malloc: stack frame '99' is unknown");
    assert_warns(ENTRIES("{'size':'10','bt':''},{'size':'4','bt':'1'},{'size':'8','bt':'1','type':'98'}"), rest, 1,
                 "entry 2 of the heap of malloc: type '98' is unknown");
}

/* The trace viewer drops the dump. */
static void a_dump_without_a_type_names_dictionary_is_read_too(void **state) {
    (void)state;
    static const char entries[] = "{'traceEvents':[" FRAMES "," HEAPS("{'m':{'entries':[{'size':'10','bt':''},{'size':'4','bt':'1'}]}}") "]}";
    static const char typed[] = "{'traceEvents':[" FRAMES "," HEAPS("{'m':{'entries':[{'size':'10','bt':''},{'size':'4','bt':'1','type':'1'}]}}") "]}";
    assert_reads(entries, "1 0x1 m / / 16 -\n1 0x1 m /BrMain/Init / 4 -\n");
    assert_warns(typed, "1 0x1 m / / 16 -\n", 1, "type '1' is unknown");
}

/* Behaviour of Chromium's own writer. ----------------------------------------------------------- */

static char *written_entries(hd_cutoff cutoff) {
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, cutoff);
    hd_heap heap = { .pid = 1, .allocator = "m", .breakdown = b };
    hd_buffer bytes = { 0 };
    assert_int_equal(hd_chrome_write(&heap, 1, NULL, hd_out_memory(&bytes), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&bytes).write(&bytes, "", 1), HD_OK);
    char *from = strstr((char *)bytes.data, "\"entries\":["), *to = from ? strchr(from, ']') : NULL;
    assert_non_null(to);
    char *text = (char *)calloc(1, (size_t)(to - from) + 2);
    memcpy(text, from, (size_t)(to - from) + 1);
    hd_buffer_free(&bytes);
    hd_breakdown_free(b);
    hd_profile_free(p);
    return text;
}

/* The document's table: 20 entries have at least 64 bytes. */
static void buckets_below_min_size_bytes_are_dropped(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 }), *b = exported(p, (hd_cutoff){ .min_bytes = 64 });
    assert_int_equal(b->entries.count, 20);
    assert_true(all->entries.count > 20);
    for (uint32_t i = 0; i < b->entries.count; i++) assert_true(b->entries.amount[i].bytes >= 64);
    assert_int_equal(bytes_at(b, "/BrMain/Init", "/W"), 83);
    assert_int_equal(entry_at(b, "/ColdFn", NULL), HD_NONE);
    hd_breakdown_free(all);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Ids are compared as numbers; the empty backtrace and the missing type come first. Each pair occurs once, however
   many routes reach it. */
static void entries_are_a_set_ordered_by_frame_and_type(void **state) {
    (void)state;
    char *text = written_entries((hd_cutoff){ .min_bytes = 64 }), *at = text;
    long last[2] = { -2, -2 }, count = 0;
    while ((at = strstr(at, "{\"size\":")) != NULL) {
        char *bt = strstr(at, "\"bt\":\"") + 6, *end = strchr(at, '}'), *type = strstr(at, "\"type\":\"");
        long frame = *bt == '"' ? -1 : strtol(bt, NULL, 10), of_type = type && type < end ? strtol(type + 8, NULL, 10) : -1;
        assert_true(frame > last[0] || (frame == last[0] && of_type > last[1]));
        last[0] = frame;
        last[1] = of_type;
        count++;
        at = end;
    }
    assert_int_equal(count, 20);
    free(text);
}

static void sizes_are_lower_case_hexadecimal_without_prefix(void **state) {
    (void)state;
    char *text = written_entries((hd_cutoff){ .min_bytes = 300 });
    assert_string_equal(text, "\"entries\":[\n{\"size\":\"602\",\"bt\":\"\"},\n{\"size\":\"2ba\",\"bt\":\"\",\"type\":\"1\"},\n"
                              "{\"size\":\"154\",\"bt\":\"\",\"type\":\"2\"},\n{\"size\":\"1cd\",\"bt\":\"\",\"type\":\"3\"},\n"
                              "{\"size\":\"36c\",\"bt\":\"0\"},\n{\"size\":\"1d1\",\"bt\":\"0\",\"type\":\"1\"},\n"
                              "{\"size\":\"259\",\"bt\":\"1\"},\n{\"size\":\"133\",\"bt\":\"1\",\"type\":\"1\"},\n"
                              "{\"size\":\"274\",\"bt\":\"2\"},\n{\"size\":\"163\",\"bt\":\"2\",\"type\":\"3\"},\n"
                              "{\"size\":\"22c\",\"bt\":\"3\"},\n{\"size\":\"151\",\"bt\":\"3\",\"type\":\"3\"}]");
    free(text);
}

/* The frames of a context are its outermost ones; "<truncated>" and the type are not counted. */
static uint32_t frames_kept(hd_contexts *contexts, uint32_t context) {
    uint32_t n = 0;
    while (context) {
        hd_frame frame = hd_contexts_frame(contexts, context);
        n += frame.kind == HD_FRAME_NAME;
        context = frame.parent;
    }
    return n;
}

static void nest(uint32_t max_frames, uint32_t deep, uint32_t kept) {
    static hd_category any = { "any", 0, 0 };
    static hd_scope scopes[400];
    hd_contexts *contexts = hd_contexts_create(NULL);
    hd_tracker_desc desc = { .contexts = contexts, .max_frames = max_frames };
    assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
    for (uint32_t i = 0; i < deep; i++) scopes[i] = hd_scope_begin(&any, "scope");
    assert_int_equal(hd_tracker_depth(), deep);
    assert_int_equal(frames_kept(contexts, hd_tracker_snapshot(NULL)), kept);
    for (uint32_t i = deep; i--;) hd_scope_end(&scopes[i]);
    assert_int_equal(hd_tracker_depth(), 0);
    assert_int_equal(frames_kept(contexts, hd_tracker_snapshot(NULL)), 0);
    hd_tracker_stop();
    hd_contexts_free(contexts);
}

static void at_most_48_frames_are_kept_per_backtrace(void **state) {
    (void)state;
    nest(0, 47, 47);
    nest(0, 48, 48);
    nest(0, 49, 48);
}

static void events_nested_deeper_than_128_are_counted_but_not_recorded(void **state) {
    (void)state;
    nest(HD_MAX_FRAMES, 128, 128);
    nest(HD_MAX_FRAMES, 129, 128);
    nest(HD_MAX_FRAMES, 400, 128);
}

/* The allocation register. It has no chained cells as Chromium's had, but it also uses freed cells again. */
static void freed_cells_of_the_register_are_used_again(void **state) {
    (void)state;
    enum { LIVE = 300000 };      /* Chrome's number of live blocks */
    hd_register *reg = hd_register_create(NULL);
    hd_memory full = { 0, 0 };
    assert_non_null(reg);
    for (uint64_t round = 0; round < 4; round++) {
        for (uint64_t i = 1; i <= LIVE; i++) {
            hd_allocation a = { .address = (round * LIVE + i) * 16, .size = i };
            assert_int_equal(hd_register_insert(reg, &a, NULL), HD_OK);
        }
        assert_int_equal(hd_register_count(reg), LIVE);
        if (!round) full = hd_register_memory(reg);
        for (uint64_t i = 1; i <= LIVE; i++) assert_true(hd_register_remove(reg, (round * LIVE + i) * 16, NULL));
        assert_int_equal(hd_register_count(reg), 0);
    }
    assert_in_range(hd_register_memory(reg).reserved, 1, 2 * full.reserved);
    hd_register_free(reg);
}

static void backtraces_are_deduplicated(void **state) {
    (void)state;
    static hd_category any = { "any", 0, 0 };
    hd_contexts *contexts = hd_contexts_create(NULL);
    hd_tracker_desc desc = { .contexts = contexts };
    uint32_t first = 0, count = 0;
    assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
    for (int i = 0; i < 1000; i++) {
        hd_scope a = hd_scope_begin(&any, "a"), b = hd_scope_begin(&any, "b");
        uint32_t context = hd_tracker_snapshot("T");
        if (!i) first = context, count = hd_contexts_count(contexts);
        assert_int_equal(context, first);
        hd_scope_end(&b);
        hd_scope_end(&a);
    }
    assert_int_equal(hd_contexts_count(contexts), count);
    hd_tracker_stop();
    hd_contexts_free(contexts);
}

/* heaps_v2. ---------------------------------------------------------------------------------------- */

#define V2_DUMP(id, ts, allocators, maps)                                                                       \
    "{'pid':1,'ts':" ts ",'ph':'v','id':'" id "','args':{'dumps':{'heaps_v2':{'version':1,'allocators':{"          \
    "'malloc':" allocators "},'maps':" maps "}}}}"
#define V2_FIRST                                                                                                  \
    "{'nodes':[{'id':1,'name_sid':1},{'id':2,'name_sid':2,'parent':1},{'id':3,'name_sid':3,'parent':1}],"           \
    "'types':[{'id':1,'name_sid':4}],"                                                                            \
    "'strings':[{'id':1,'string':'main'},{'id':2,'string':'f'},{'id':3,'string':'g'},{'id':4,'string':'int'}]}"

static void heaps_v2_are_self_sizes_in_columns(void **state) {
    (void)state;
    assert_reads("[" V2_DUMP("a", "1", "{'nodes':[2,3],'sizes':[100,50],'counts':[1,2],'types':[1,1]}", V2_FIRST) "]",
                 "1 a malloc self /main/f /int 100 1\n1 a malloc self /main/g /int 50 2\n");
}

static void maps_of_heaps_v2_are_incremental(void **state) {
    (void)state;
    assert_reads("[" V2_DUMP("a", "1", "{'nodes':[2],'sizes':[100],'counts':[1],'types':[1]}", V2_FIRST) ","
                 V2_DUMP("b", "2", "{'nodes':[3,4],'sizes':[7,8],'counts':[1,1],'types':[1,1]}",
                         "{'nodes':[{'id':4,'name_sid':5,'parent':2}],'types':[],'strings':[{'id':5,'string':'h'}]}") "]",
                 "1 a malloc self /main/f /int 100 1\n1 b malloc self /main/f/h /int 8 1\n1 b malloc self /main/g /int 7 1\n");
}

static void one_dump_can_arrive_in_several_v_events(void **state) {
    (void)state;
#define EVENT(parts) "{'pid':1,'ts':10,'ph':'v','id':'0x1','args':{'dumps':{" parts "}}}"
    char *text = trace_of("[" FRAMES "," TYPES "," EVENT("'heaps':{'a':{'entries':[{'size':'1','bt':''}]}}") ","
                          EVENT("'process_totals':{'r':'7'}") ","
                          EVENT("'allocators':{'a':{'attrs':{'size':{'type':'scalar','units':'bytes','value':'1'}}}}") ","
                          EVENT("'heaps':{'b':{'entries':[{'size':'2','bt':''}]}},'level_of_detail':'detailed'") "]", NULL);
    hd_dump *d = NULL;
    hd_detail detail = HD_LIGHT;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
    assert_text(dump_text(d), "1 0x1 a / / 1 -\n1 0x1 b / / 2 -\n");
    assert_int_equal(hd_dump_scalar_count(d), 2);
    assert_true(hd_dump_detail(d, 1, "0x1", &detail) && detail == HD_DETAILED);
    hd_dump_free(d);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_accepted_without_a_warning),
        cmocka_unit_test(dictionary_ids_are_scoped_to_the_process),
        cmocka_unit_test(metadata_events_may_come_after_the_dump_that_uses_them),
        cmocka_unit_test(a_trace_may_be_a_bare_array_of_events),
        cmocka_unit_test(a_crashed_writer_leaves_no_closing_bracket),
        cmocka_unit_test(top_level_stack_frames_are_a_trace_wide_source_of_frames),
        cmocka_unit_test(count_is_hexadecimal_optional_and_cumulative),
        cmocka_unit_test(first_entry_without_bt_marks_the_old_format),
        cmocka_unit_test(in_the_old_format_an_entry_without_bt_is_the_total),
        cmocka_unit_test(in_the_old_format_an_entry_with_bt_is_a_self_size),
        cmocka_unit_test(entries_with_unknown_ids_are_skipped_with_a_warning),
        cmocka_unit_test(a_dump_without_a_type_names_dictionary_is_read_too),
        cmocka_unit_test(buckets_below_min_size_bytes_are_dropped),
        cmocka_unit_test(entries_are_a_set_ordered_by_frame_and_type),
        cmocka_unit_test(sizes_are_lower_case_hexadecimal_without_prefix),
        cmocka_unit_test(at_most_48_frames_are_kept_per_backtrace),
        cmocka_unit_test(events_nested_deeper_than_128_are_counted_but_not_recorded),
        cmocka_unit_test(freed_cells_of_the_register_are_used_again),
        cmocka_unit_test(backtraces_are_deduplicated),
        cmocka_unit_test(heaps_v2_are_self_sizes_in_columns),
        cmocka_unit_test(maps_of_heaps_v2_are_incremental),
        cmocka_unit_test(one_dump_can_arrive_in_several_v_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
