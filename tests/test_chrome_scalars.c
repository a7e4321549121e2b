/* What dumps say of allocators and processes as a whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* A line per scalar: pid process time dump allocator name value units text. */
static char *scalars_text(const hd_dump *d) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (size_t i = 0; i < hd_dump_scalar_count(d); i++) {
        const hd_scalar *s = hd_dump_scalar(d, i);
        fprintf(f, "%" PRIu64 " %s %" PRIu64 " %s %s %s %" PRIu64 " %s %s\n", s->pid, s->process ? s->process : "-", s->time_us,
                s->dump ? s->dump : "-", s->allocator ? s->allocator : "-", s->name, s->value, s->units ? s->units : "-",
                s->text ? s->text : "-");
    }
    assert_null(hd_dump_scalar(d, hd_dump_scalar_count(d)));
    fclose(f);
    return text;
}

static uint64_t read_scalars(const char *quoted, bool lenient, const char *expected, hd_error *err) {
    char *text = trace_of(quoted, NULL);
    hd_options options = { .lenient = lenient };
    hd_dump *d = NULL;
    hd_status status = hd_read_memory(text, strlen(text), &options, &d, err);
    uint64_t told = status;
    if (!status) {
        assert_text(scalars_text(d), expected);
        told = hd_dump_warning_count(d);
    }
    hd_dump_free(d);
    free(text);
    return told;
}
#define assert_scalars(quoted, expected) assert_int_equal(read_scalars(quoted, false, expected, NULL), 0)

#define DUMP(pid, ts, id, parts) "{'pid':" pid ",'ts':" ts ",'ph':'v','id':'" id "','args':{'dumps':{" parts "}}}"
#define SIZE(value) "{'attrs':{'size':{'type':'scalar','units':'bytes','value':'" value "'}}}"

static void attributes_of_allocators_are_kept(void **state) {
    (void)state;
    assert_scalars("[" DUMP("1", "10", "0x1", "'allocators':{'malloc':{'guid':'abc','attrs':{"
                            "'size':{'type':'scalar','units':'bytes','value':'602'},"
                            "'object_count':{'type':'scalar','units':'objects','value':'1f'},"
                            "'state':{'type':'string','units':'','value':'beef'}}},"
                            "'malloc/allocated_objects':" SIZE("5ff") "}") "]",
                   "1 - 10 0x1 malloc object_count 31 objects -\n1 - 10 0x1 malloc size 1538 bytes -\n"
                   "1 - 10 0x1 malloc state 0  beef\n1 - 10 0x1 malloc/allocated_objects size 1535 bytes -\n");
}

static void totals_of_processes_are_kept(void **state) {
    (void)state;
    assert_scalars("[{'pid':7,'ph':'M','name':'process_name','args':{'name':'Browser'}},"
                   DUMP("7", "10", "0x1", "'process_totals':{'resident_set_bytes':'1000','is_peak_rss_resettable':true,"
                        "'os_dump':{'resident_set_kb':'a','private_footprint_kb':20}}") "]",
                   "7 Browser 10 0x1 - is_peak_rss_resettable 0 - true\n7 Browser 10 0x1 - os_dump/private_footprint_kb 32 - -\n"
                   "7 Browser 10 0x1 - os_dump/resident_set_kb 10 - -\n7 Browser 10 0x1 - resident_set_bytes 4096 - -\n");
}

static void numbers_may_be_bare_and_types_absent_or_late(void **state) {
    (void)state;
    assert_scalars("[" DUMP("1", "1", "a", "'allocators':{'m':{'attrs':{'a':{'value':16},'b':{'value':'0xFF'},'c':{'value':'x'},"
                            "'d':{'value':'ff','type':'string'},'e':{'value':'ff','type':'scalar'},'f':{'value':1.5e3},"
                            "'g':{'value':'ffffffffffffffff','units':null}}}}") "]",
                   "1 - 1 a m a 22 - -\n1 - 1 a m b 255 - -\n1 - 1 a m c 0 - x\n1 - 1 a m d 0 - ff\n1 - 1 a m e 255 - -\n"
                   "1 - 1 a m f 1500 - -\n1 - 1 a m g 18446744073709551615 - -\n");
}

static void scalars_are_ordered(void **state) {
    (void)state;
    assert_scalars("[" DUMP("9", "5", "x", "'allocators':{'b':" SIZE("1") ",'a':" SIZE("2") "}") ","
                   DUMP("3", "8", "y", "'allocators':{'a':" SIZE("3") "},'process_totals':{'r':'4'}") ","
                   DUMP("3", "6", "z", "'process_totals':{'s':'5','r':'6'}") "]",
                   "3 - 6 z - r 6 - -\n3 - 6 z - s 5 - -\n3 - 8 y - r 4 - -\n3 - 8 y a size 3 bytes -\n"
                   "9 - 5 x a size 2 bytes -\n9 - 5 x b size 1 bytes -\n");
}

static void events_of_one_dump_are_merged(void **state) {
    (void)state;
    hd_error err = { 0 };
    static const char same[] = "[" DUMP("1", "5", "x", "'allocators':{'a':" SIZE("1") "}") ","
                               DUMP("1", "6", "x", "'allocators':{'a':" SIZE("1") ",'b':" SIZE("2") "}") "]";
    static const char other[] = "[" DUMP("1", "5", "x", "'allocators':{'a':" SIZE("1") "}") ","
                                DUMP("1", "6", "x", "'allocators':{'a':" SIZE("3") ",'b':" SIZE("2") "}") "]";
    static const char both[] = "1 - 5 x a size 1 bytes -\n1 - 5 x b size 2 bytes -\n";
    assert_scalars(same, both);
    assert_int_equal(read_scalars(other, true, both, NULL), 1);
    assert_int_equal(read_scalars(other, false, "", &err), HD_MALFORMED);
    assert_non_null(strstr(err.message, "twice"));
}

/* Each costs one warning and itself. */
static void malformed_scalars_cost_themselves(void **state) {
    (void)state;
    static const char *const bad[] = {
        "'allocators':null,", "'allocators':[1],", "'allocators':{'a':null},", "'allocators':{'a':{'attrs':null}},",
        "'allocators':{'a':{'attrs':{'x':null}}},", "'allocators':{'a':{'attrs':{'x':{}}}},",
        "'allocators':{'a':{'attrs':{'x':{'value':null}}}},", "'allocators':{'a':{'attrs':{'x':{'value':-1}}}},",
        "'allocators':{'a':{'attrs':{'x':{'type':'scalar','value':'z'}}}},",
        "'allocators':{'a':{'attrs':{'x':{'type':'scalar','value':'10000000000000000'}}}},",
        "'allocators':{'a':{'attrs':{'x':{'value':{}}}}},", "'allocators':{'a':{'attrs':{'x':{'units':{},'value':'1'}}}},",
        "'process_totals':null,", "'process_totals':{'x':null},", "'process_totals':{'x':[{}]},", "'process_totals':{'x':{'y':{}}},",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        snprintf(text, sizeof text, "[{'pid':1,'ts':5,'ph':'v','id':'x','args':{'dumps':{%s'allocators':{'b':" SIZE("2") "}}}}]", bad[i]);
        assert_int_equal(read_scalars(text, false, "", NULL), HD_MALFORMED);
        assert_int_equal(read_scalars(text, true, "1 - 5 x b size 2 bytes -\n", NULL), 1);
    }
}

static void other_events_have_none(void **state) {
    (void)state;
    assert_scalars("[{'pid':1,'ph':'X','args':{'dumps':{'allocators':{'b':" SIZE("2") "}}}}]", "");
    assert_scalars("[{'pid':1,'args':{'dumps':{'allocators':{'b':" SIZE("2") "}}},'ph':'X'}]", "");
}

static void memory_is_in_proportion_to_the_input(void **state) {
    (void)state;
    char *text;
    for (int kind = 0; kind < 3; kind++) {
        size_t size;
        FILE *f = open_memstream(&text, &size);
        fputs(kind ? "[{\"ph\":\"v\",\"args\":{\"dumps\":{\"process_totals\":{\"" : "[{\"ph\":\"v\",\"args\":{\"dumps\":{\"allocators\":{\"m\":{\"attrs\":{", f);
        for (int i = 0; i < (kind == 2 ? 20000 : 0); i++) fputc('n', f);
        fputs(kind ? "\":{" : "", f);
        for (int i = 0; i < 30000; i++) fprintf(f, kind ? "%s\"%x\":1" : "%s\"%x\":{\"value\":1}", i ? "," : "", i);
        fputs("}}}}}}]", f);
        fclose(f);
        hd__faults faults = { .cap = 50 * size };
        hd_options options = { .allocator = hd__faults_allocator(&faults), .lenient = true };
        hd_dump *d;
        assert_int_equal(hd_read_memory(text, size, &options, &d, NULL), HD_OK);
        assert_int_equal(hd_dump_scalar_count(d), 30000);
        print_message("           %.1f bytes of memory for a byte of input\n", (double)faults.peak / (double)size);
        hd_dump_free(d);
        assert_int_equal(faults.live, 0);
        free(text);
    }
}

static void each_failing_allocation_comes_back(void **state) {
    (void)state;
    char *text = trace_of("[" DUMP("1", "1", "a", "'process_totals':{'g':{'x':'1','y':true}},'allocators':{'m':{'attrs':{'a':{'value':'q',"
                               "'units':'u'},'b':{'type':'string','value':'1'}}}}") "]", NULL);
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    HD__EACH_FAULT(faults) {
        hd_dump *d = NULL;
        hd_status status = hd_read_memory(text, strlen(text), &options, &d, NULL);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        hd_dump_free(d);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_of_allocators_are_kept),
        cmocka_unit_test(totals_of_processes_are_kept),
        cmocka_unit_test(numbers_may_be_bare_and_types_absent_or_late),
        cmocka_unit_test(scalars_are_ordered),
        cmocka_unit_test(events_of_one_dump_are_merged),
        cmocka_unit_test(malformed_scalars_cost_themselves),
        cmocka_unit_test(other_events_have_none),
        cmocka_unit_test(memory_is_in_proportion_to_the_input),
        cmocka_unit_test(each_failing_allocation_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
