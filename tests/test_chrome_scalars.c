/* Scalars: values that dumps give for allocators and for whole processes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"
#include "labels.h"

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
    assert_non_null(strstr(err.message, "two different values"));
}

/* Each malformed scalar is skipped, with one warning. */
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

static void other_events_have_no_scalars(void **state) {
    (void)state;
    assert_scalars("[{'pid':1,'ph':'X','args':{'dumps':{'allocators':{'b':" SIZE("2") "}}}}]", "");
    assert_scalars("[{'pid':1,'args':{'dumps':{'allocators':{'b':" SIZE("2") "}}},'ph':'X'}]", "");
}

/* The level of detail: -1 if the dump gives none. */
static int detail_of(const hd_dump *d, uint64_t pid, const char *id) {
    hd_detail detail = (hd_detail)77;
    bool told = hd_dump_detail(d, pid, id, &detail);
    if (!told) assert_int_equal(detail, 77);
    return told ? (int)detail : -1;
}

static void levels_of_detail_are_kept(void **state) {
    (void)state;
    static const char quoted[] = "[" DUMP("1", "1", "a", "'level_of_detail':'light','allocators':{'m':" SIZE("1") "}") ","
        DUMP("1", "1", "b", "'allocators':{'m':" SIZE("1") "},'level_of_detail':'detailed'") ","
        DUMP("2", "1", "a", "'level_of_detail':'background','process_totals':{'r':'1'}") ","
        DUMP("2", "2", "b", "'process_totals':{'r':'1'}") ","
        DUMP("2", "3", "c", "'level_of_detail':'thorough','process_totals':{'r':'1'}") ","
        DUMP("2", "4", "d", "'level_of_detail':'light'") ","
        /* the first event with a level counts */
        DUMP("3", "1", "e", "'process_totals':{'r':'1'}") "," DUMP("3", "1", "e", "'level_of_detail':'light','process_totals':{'s':'1'}") ","
        DUMP("3", "1", "e", "'level_of_detail':'detailed','process_totals':{'t':'1'}") ","
        "{'pid':4,'ph':'v','args':{'dumps':{'level_of_detail':'light','heaps':{'m':{'entries':[{'size':'1','bt':''}]}}}}},"
        "{'pid':5,'ph':'X','id':'a','args':{'dumps':{'level_of_detail':'light','process_totals':{'r':'1'}}}}]";
    char *text = trace_of(quoted, NULL);
    hd_dump *d = NULL;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OK);
    assert_int_equal(detail_of(d, 1, "a"), HD_LIGHT);
    assert_int_equal(detail_of(d, 1, "b"), HD_DETAILED);
    assert_int_equal(detail_of(d, 2, "a"), HD_BACKGROUND);
    assert_int_equal(detail_of(d, 2, "b"), -1);
    assert_int_equal(detail_of(d, 2, "c"), -1);
    assert_int_equal(detail_of(d, 2, "d"), -1);
    assert_int_equal(detail_of(d, 3, "e"), HD_LIGHT);
    assert_int_equal(detail_of(d, 4, NULL), HD_LIGHT);
    assert_int_equal(detail_of(d, 4, "a"), -1);
    assert_int_equal(detail_of(d, 5, "a"), -1);
    hd_dump_free(d);
    free(text);
    assert_int_equal(read_scalars("[" DUMP("1", "5", "x", "'level_of_detail':{},'process_totals':{'r':'1'}") "]", true,
                                  "1 - 5 x - r 1 - -\n", NULL), 1);
}

/* Random scalars. ----------------------------------------------------------------------------------- */

enum { SCALARS = 40, HEAPS_MAX = 4, LABELS = 200 };

/* One dump, as written. */
typedef struct one_dump {
    hd_detail detail;
    size_t scalar_count, heap_count;
    hd_scalar scalars[SCALARS + HEAPS_MAX];
    hd_heap heaps[HEAPS_MAX];
    hd_profile *profiles[HEAPS_MAX];
    hd_breakdown *breakdowns[HEAPS_MAX];
    char *labels[LABELS];
    size_t label_count;
} one_dump;

static char *new_label(one_dump *d, uint64_t *r, const char *prefix) {
    char *label = random_label(r, (int)d->label_count), *text = (char *)malloc(strlen(prefix) + strlen(label) + 1);
    sprintf(text, "%s%s", prefix, label);
    free(label);
    assert_true(d->label_count < LABELS);
    return d->labels[d->label_count++] = text;
}

static hd_scalar random_scalar(one_dump *d, uint64_t *r, const hd_scalar *label) {
    hd_scalar s = *label;
    bool total = !hd__test_below(r, 3);
    s.name = new_label(d, r, "");
    if (!total) s.allocator = d->scalar_count && hd__test_below(r, 2) ? d->scalars[hd__test_below(r, d->scalar_count)].allocator : NULL;
    if (!total && !s.allocator) s.allocator = new_label(d, r, hd__test_below(r, 2) ? "" : "malloc/");
    if (!total && hd__test_below(r, 2)) s.units = hd__test_below(r, 3) ? new_label(d, r, "") : "bytes";
    if (hd__test_below(r, 3)) s.value = hd__test_random(r) >> hd__test_below(r, 64);
    else s.text = total ? new_label(d, r, "not hexadecimal ") : hd__test_below(r, 4) ? new_label(d, r, "") : "beef";
    return s;
}

static void random_dump(one_dump *d, uint64_t *r, const hd_scalar *label) {
    memset(d, 0, sizeof *d);
    d->detail = (hd_detail)hd__test_below(r, 3);
    for (size_t n = hd__test_below(r, 20); n; n--) d->scalars[d->scalar_count++] = random_scalar(d, r, label);
    for (size_t n = d->detail == HD_DETAILED ? hd__test_below(r, HEAPS_MAX) : 0; n; n--) {
        hd_heap *heap = &d->heaps[d->heap_count];
        heap->pid = label->pid;
        heap->process = label->process;
        heap->dump = label->dump;
        heap->time_us = label->time_us;
        heap->allocator = new_label(d, r, "heap ");
        d->profiles[d->heap_count] = profile_new(2);
        add_cell(d->profiles[d->heap_count], "/a/b", "/T", 1 + hd__test_below(r, 1000), 1);
        add_cell(d->profiles[d->heap_count], "/a", NULL, hd__test_below(r, 10), 2);
        heap->breakdown = d->breakdowns[d->heap_count] = exported(d->profiles[d->heap_count], (hd_cutoff){ 0 });
        d->heap_count++;
    }
}

static void free_dump(one_dump *d) {
    for (size_t i = 0; i < d->heap_count; i++) hd_profile_free(d->profiles[i]);
    for (size_t i = 0; i < d->heap_count; i++) hd_breakdown_free(d->breakdowns[i]);
    while (d->label_count) free(d->labels[--d->label_count]);
}

static void add_dump(hd_chrome_writer *w, const hd_heap *heaps, size_t heap_count, const hd_scalar *scalars, size_t scalar_count,
                     hd_detail detail) {
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = heap_count, .scalars = scalars, .scalar_count = scalar_count,
                              .detail = detail };
    assert_int_equal(hd_chrome_writer_add(w, &dumps, NULL), HD_OK);
}

static int text_order(const char *a, const char *b) { return a && b ? strcmp(a, b) : !!a - !!b; }

static int scalar_order(const void *x, const void *y) {
    const hd_scalar *a = (const hd_scalar *)x, *b = (const hd_scalar *)y;
    int order = text_order(a->allocator, b->allocator);
    return order ? order : text_order(a->name, b->name);
}

static void assert_same_text(const char *a, const char *b) {
    assert_int_equal(!a, !b);
    if (a) assert_string_equal(a, b);
}

/* Compares the dump's scalars with the read ones from `at` on, with the sizes that heaps add to their allocators.
   Returns the next index. */
static size_t assert_scalars_of(one_dump *from, const hd_dump *d, size_t at) {
    for (size_t i = 0; i < from->heap_count; i++) {
        const hd_heap *h = &from->heaps[i];
        hd_scalar size = { .pid = h->pid, .process = h->process, .dump = h->dump, .time_us = h->time_us,
                           .allocator = h->allocator, .name = "size", .units = "bytes", .value = h->breakdown->entries.amount[0].bytes };
        from->scalars[from->scalar_count++] = size;
    }
    qsort(from->scalars, from->scalar_count, sizeof *from->scalars, scalar_order);
    for (size_t i = 0; i < from->scalar_count; i++, at++) {
        const hd_scalar *a = &from->scalars[i], *b = hd_dump_scalar(d, at);
        assert_non_null(b);
        assert_true(a->pid == b->pid && a->time_us == b->time_us && a->value == b->value);
        assert_same_text(b->process, a->process);
        assert_same_text(b->dump, a->dump);
        assert_same_text(b->allocator, a->allocator);
        assert_same_text(b->name, a->name);
        assert_same_text(b->units, a->units);
        assert_same_text(b->text, a->text);
    }
    return at;
}

/* Writes the read dumps again, one by one. */
static void write_back(const hd_dump *d, hd_out out) {
    size_t heaps = hd_dump_heap_count(d), scalars = hd_dump_scalar_count(d), h = 0;
    hd_chrome_writer *w = hd_chrome_writer_create(NULL, out, NULL);
    for (size_t i = 0, k; i < scalars; i = k) { /* every dump with a heap has a scalar */
        const hd_scalar *s = hd_dump_scalar(d, i);
        hd_detail detail = HD_DETAILED;
        size_t first = h;
        for (k = i; k < scalars && hd_dump_scalar(d, k)->pid == s->pid && !strcmp(hd_dump_scalar(d, k)->dump, s->dump); k++) {}
        for (; h < heaps && hd_dump_heap(d, h)->pid == s->pid && !strcmp(hd_dump_heap(d, h)->dump, s->dump); h++) {}
        assert_true(hd_dump_detail(d, s->pid, s->dump, &detail));
        add_dump(w, hd_dump_heap(d, first), h - first, s, k - i, detail);
    }
    assert_int_equal(h, heaps);
    assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_OK);
    hd_chrome_writer_free(w);
}

static void random_scalars_come_back_and_are_written_back(void **state) {
    (void)state;
    uint64_t r = 31;
    static one_dump dumps[9];
    for (int round = 0; round < 400; round++) {
        hd_buffer bytes = { 0 }, again = { 0 };
        hd_chrome_writer *w = hd_chrome_writer_create(NULL, hd_out_memory(&bytes), NULL);
        size_t n = 0, at = 0;
        hd_dump *d = NULL;
        for (uint64_t pid = 1 + hd__test_below(&r, 3), most = pid + hd__test_below(&r, 3); pid <= most; pid++)
            for (uint64_t time = hd__test_below(&r, 9), k = hd__test_below(&r, 4); k; k--, n++, time++) {
                static const char *const ids[] = { "0x1", "b", "0a", "" };
                static const char *const processes[] = { NULL, "Browser", "a \"renderer\"" };
                hd_scalar label = { .pid = pid, .process = processes[pid % 3], .dump = ids[k], .time_us = time };
                random_dump(&dumps[n], &r, &label);
                add_dump(w, dumps[n].heaps, dumps[n].heap_count, dumps[n].scalars, dumps[n].scalar_count, dumps[n].detail);
            }
        assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_OK);
        hd_chrome_writer_free(w);
        assert_int_equal(hd_read_memory(bytes.data, bytes.size, NULL, &d, NULL), HD_OK);
        for (size_t i = 0; i < n; i++) {
            size_t first = at;
            at = assert_scalars_of(&dumps[i], d, at);
            if (at > first)
                assert_int_equal(detail_of(d, hd_dump_scalar(d, first)->pid, hd_dump_scalar(d, first)->dump), dumps[i].detail);
        }
        assert_int_equal(hd_dump_scalar_count(d), at);
        write_back(d, hd_out_memory(&again));
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        while (n) free_dump(&dumps[--n]);
        hd_dump_free(d);
        hd_buffer_free(&bytes);
        hd_buffer_free(&again);
    }
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
    char *text = trace_of("[" DUMP("1", "1", "a", "'level_of_detail':'light','process_totals':{'g':{'x':'1','y':true}},'allocators':{'m':{'attrs':{'a':{'value':'q',"
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
        cmocka_unit_test(other_events_have_no_scalars),
        cmocka_unit_test(levels_of_detail_are_kept),
        cmocka_unit_test(random_scalars_come_back_and_are_written_back),
        cmocka_unit_test(memory_is_in_proportion_to_the_input),
        cmocka_unit_test(each_failing_allocation_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
