/* Writing traces. Reading returns the written heaps, equal heaps give equal bytes, and every failure is reported. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"
#include "labels.h"

/* Writes, and appends a NUL that is not counted. */
static hd_buffer written(const hd_heap *heaps, size_t count) {
    hd_buffer bytes = { 0 };
    hd_error err = { 0 };
    hd_status status = hd_chrome_write(heaps, count, NULL, hd_out_memory(&bytes), &err);
    if (status) print_error("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    assert_int_equal(hd_out_memory(&bytes).write(&bytes, "", 1), HD_OK);
    bytes.size--;
    return bytes;
}

static hd_dump *reread(const hd_buffer *bytes) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    hd_status status = hd_read_memory(bytes->data, bytes->size, NULL, &d, &err);
    if (status) print_error("%s\n%s\n", err.message, (const char *)bytes->data);
    assert_int_equal(status, HD_OK);
    assert_int_equal(hd_dump_warning_count(d), 0);
    return d;
}

/* Whether the bytes are exactly one JSON value. */
static void assert_json(const hd_buffer *bytes) {
    hd__mem mem = hd__mem_options(NULL);
    hd_error err;
    hd__pull p;
    hd_str s;
    hd__token token;
    assert_int_equal(hd__pull_open(&p, &mem, hd_in_memory(bytes->data, bytes->size), 0, &err), HD_OK);
    while ((token = hd__pull_next(&p)) != HD__TOKEN_END) {
        if (token == HD__TOKEN_KEY || token == HD__TOKEN_STRING) assert_true(hd__pull_string(&p, &s));
        assert_int_not_equal(token, HD__TOKEN_ERROR);
        assert_int_not_equal(token, HD__TOKEN_CUT);
    }
    hd__pull_close(&p);
    for (size_t i = 0; i < bytes->size; i++) assert_true(bytes->data[i] >= ' ' || bytes->data[i] == '\n');
}

static bool same_text(const char *a, const char *b) { return a ? b && !strcmp(a, b) : !b; }

/* A read heap has the same labels, kind and rows. */
static void assert_among(const hd_dump *d, const hd_heap *heap) {
    for (size_t i = 0; i < hd_dump_heap_count(d); i++) {
        const hd_heap *found = hd_dump_heap(d, i);
        hd_breakdown *a, *b;
        if (found->pid != heap->pid || !same_text(found->dump, heap->dump) ||
            !same_text(found->allocator, heap->allocator) || !found->profile != !heap->profile)
            continue;
        assert_int_equal(found->time_us, heap->time_us);
        assert_true(same_text(found->process, heap->process));
        /* The axes of a read heap also hold nodes of other heaps; breaking down keeps the used ones. */
        assert_int_equal(hd_heap_break_down(found, NULL, NULL, &a, NULL), HD_OK);
        assert_int_equal(hd_heap_break_down(heap, NULL, NULL, &b, NULL), HD_OK);
        assert_true(breakdowns_equal(a, b));
        hd_breakdown_free(a);
        hd_breakdown_free(b);
        if (heap->profile) assert_int_equal(found->profile->total_blocks, heap->profile->total_blocks);
        return;
    }
    fail_msg("the heap of %s of pid %d is not among those read", heap->allocator, (int)heap->pid);
}

static hd_profile *random_profile(uint64_t *r, bool flat_types) {
    hd_profile *p = profile_new(hd__test_below(r, 8) ? 2 : 1);
    uint32_t axes = hd_profile_axis_count(p), nodes = 1 + (uint32_t)hd__test_below(r, 20);
    for (uint32_t a = 0; a < axes; a++)
        for (uint32_t i = 1; i < nodes; i++) {
            char buffer[64];
            uint32_t parent = (uint32_t)hd__test_below(r, hd_profile_axis(p, a).node_count), node;
            assert_int_equal(hd_profile_node(p, a, a && flat_types ? 0 : parent, random_name(r, buffer, true), &node, NULL), HD_OK);
        }
    for (uint64_t n = hd__test_below(r, 25); n; n--) {
        uint32_t at[2] = { 0, 0 };
        for (uint32_t a = 0; a < axes; a++) at[a] = (uint32_t)hd__test_below(r, hd_profile_axis(p, a).node_count);
        assert_int_equal(hd_profile_add(p, at, hd__test_random(r) >> (8 + hd__test_below(r, 56)), hd__test_below(r, 1000), NULL), HD_OK);
    }
    return p;
}

/* Heaps of several processes, dumps and allocators, as profiles or breakdowns. */
typedef struct heap_list {
    size_t count;
    hd_heap heaps[16];
    hd_profile *profiles[16];
    hd_breakdown *breakdowns[16];
    char *labels[64];
    size_t label_count;
} heap_list;

static char *keep_label(heap_list *l, char *label) { return l->labels[l->label_count++] = label; }

static void random_heaps(uint64_t *r, heap_list *l) {
    memset(l, 0, sizeof *l);
    for (int pid = 1, most = 1 + (int)hd__test_below(r, 2); pid <= most; pid++) {
        char *process = hd__test_below(r, 2) ? keep_label(l, random_label(r, pid)) : NULL;
        for (int time = 0, dumps = 1 + (int)hd__test_below(r, 2); time < dumps; time++) {
            char *dump = keep_label(l, random_label(r, time));
            for (int k = 0, allocators = 1 + (int)hd__test_below(r, 3); k < allocators; k++) {
                size_t i = l->count++;
                hd_heap *heap = &l->heaps[i];
                bool breakdown = hd__test_below(r, 2);
                l->profiles[i] = random_profile(r, breakdown);
                if (!breakdown) heap->profile = l->profiles[i];
                else heap->breakdown = l->breakdowns[i] = exported(l->profiles[i], (hd_cutoff){ .min_bytes = hd__test_below(r, 100) });
                heap->pid = (uint64_t)pid * 1000;
                heap->process = process;
                heap->dump = dump;
                heap->time_us = (uint64_t)time * 50;
                heap->allocator = keep_label(l, random_label(r, k));
            }
        }
    }
}

static void free_heaps(heap_list *l) {
    for (size_t i = 0; i < l->count; i++) {
        hd_profile_free(l->profiles[i]);
        hd_breakdown_free(l->breakdowns[i]);
    }
    for (size_t i = 0; i < l->label_count; i++) free(l->labels[i]);
}

/* Gives a heap two axes, as read heaps have. */
static void with_two_axes(hd_heap *heap) {
    uint32_t axes = heap->profile ? hd_profile_axis_count(heap->profile) : heap->breakdown->entries.axis_count;
    if (axes == 2) return;
    hd_profile *p = profile_new(2);
    hd_axis axis = heap->profile ? hd_profile_axis(heap->profile, 0) : heap->breakdown->axis[0];
    hd_rows rows = heap->profile ? hd_profile_cells(heap->profile) : heap->breakdown->entries;
    for (uint32_t i = 1; i < axis.node_count; i++) {
        uint32_t node;
        assert_int_equal(hd_profile_node(p, 0, axis.parent[i], axis.node_name[i], &node, NULL), HD_OK);
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t at[2] = { rows.node[i], 0 };
        p->total_bytes = 0; /* cumulative rows may add up to more than the allowed total */
        assert_int_equal(hd_profile_add(p, at, rows.amount[i].bytes, rows.amount[i].blocks, NULL), HD_OK);
    }
    if (heap->profile) {
        heap->profile = p;
        p->total_blocks = 0;
        for (uint32_t i = 0; i < rows.count; i++) p->total_blocks += rows.amount[i].blocks;
    } else {
        hd_breakdown *b;
        assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
        heap->breakdown = b;
        hd_profile_free(p);
    }
}

static void reading_gives_back_the_heaps_that_were_written(void **state) {
    (void)state;
    uint64_t r = 21;
    for (int round = 0; round < long_or_short(1500, 300); round++) {
        heap_list l;
        random_heaps(&r, &l);
        hd_buffer bytes = written(l.heaps, l.count);
        assert_json(&bytes);
        hd_dump *d = reread(&bytes);
        assert_int_equal(hd_dump_heap_count(d), l.count);
        for (size_t i = 0; i < l.count; i++) {
            hd_heap heap = l.heaps[i];
            with_two_axes(&heap);
            assert_among(d, &heap);
            if (heap.profile != l.heaps[i].profile) hd_profile_free((hd_profile *)(uintptr_t)heap.profile);
            if (heap.breakdown != l.heaps[i].breakdown) hd_breakdown_free((hd_breakdown *)(uintptr_t)heap.breakdown);
        }
        /* and the read heaps are written as the same bytes */
        hd_heap again[16];
        for (size_t i = 0; i < l.count; i++) again[i] = *hd_dump_heap(d, i);
        hd_buffer first = written(again, l.count);
        hd_dump *e = reread(&first);
        for (size_t i = 0; i < l.count; i++) again[i] = *hd_dump_heap(e, i);
        hd_buffer second = written(again, l.count);
        assert_string_equal((const char *)first.data, (const char *)second.data);
        hd_dump_free(d);
        hd_dump_free(e);
        hd_buffer_free(&first);
        hd_buffer_free(&second);
        hd_buffer_free(&bytes);
        free_heaps(&l);
    }
}

static void equal_heaps_give_equal_bytes_whatever_order_their_dumps_come_in(void **state) {
    (void)state;
    uint64_t r = 22;
    for (int round = 0; round < 300; round++) {
        heap_list l;
        random_heaps(&r, &l);
        hd_buffer a = written(l.heaps, l.count);
        hd_heap shuffled[16];
        size_t n = 0;
        bool taken[16] = { false };
        while (n < l.count) { /* dumps in random order, the heaps of each dump in their order */
            size_t first = (size_t)hd__test_below(&r, l.count);
            for (size_t i = 0; i < l.count; i++)
                if (!taken[i] && l.heaps[i].dump == l.heaps[first].dump) {
                    taken[i] = true;
                    shuffled[n++] = l.heaps[i];
                }
        }
        hd_buffer b = written(shuffled, n);
        assert_string_equal((const char *)a.data, (const char *)b.data);
        hd_buffer_free(&a);
        hd_buffer_free(&b);
        free_heaps(&l);
    }
}

static void breakdowns_from_any_order_of_cells_give_equal_bytes(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2);
    add_cell(p, "/a/b", "/T", 1, 1);
    add_cell(p, "/a/c", "/U", 2, 1);
    add_cell(p, "/d", "/T", 3, 1);
    add_cell(q, "/d", "/T", 3, 1);
    add_cell(q, "/a/c", "/U", 2, 1);
    add_cell(q, "/a/b", "/T", 1, 1);
    hd_breakdown *x = exported(p, (hd_cutoff){ 0 }), *y = exported(q, (hd_cutoff){ 0 });
    hd_buffer a = written(&(hd_heap){ .breakdown = x }, 1), b = written(&(hd_heap){ .breakdown = y }, 1);
    assert_string_equal((const char *)a.data, (const char *)b.data);
    hd_buffer_free(&a);
    hd_buffer_free(&b);
    hd_breakdown_free(x);
    hd_breakdown_free(y);
    hd_profile_free(p);
    hd_profile_free(q);
}

/* The form in the document and in AS-SHIPPED. */
static void entries_are_written_as_the_document_says(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 300 });
    hd_heap heap = { .pid = 1, .process = "Browser", .dump = "0x1", .time_us = 10, .allocator = "malloc", .breakdown = b };
    hd_buffer bytes = written(&heap, 1);
    static const char *const parts[] = {
        "{\"traceEvents\":[",
        "\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"process_name\",\"args\":{\"name\":\"Browser\"}}",
        "\"name\":\"stackFrames\",\"args\":{\"stackFrames\":{\"0\":{\"name\":\"BrMain\"},\"1\":{\"name\":\"MsgLp\",\"parent\":\"0\"}",
        "\"name\":\"typeNames\",\"args\":{\"typeNames\":{\"0\":\"[unknown]\",\"1\":\"T\",\"2\":\"V\",\"3\":\"W\"}",
        "\"ts\":10,\"ph\":\"v\",\"cat\":\"disabled-by-default-memory-infra\",\"name\":\"explicitly_triggered\",\"id\":\"0x1\"",
        "\"level_of_detail\":\"detailed\"",
        "\"heaps\":{\"malloc\":{\"entries\":[",
        "{\"size\":\"602\",\"bt\":\"\"}",
        "{\"size\":\"2ba\",\"bt\":\"\",\"type\":\"1\"}",
        "{\"size\":\"36c\",\"bt\":\"0\"}",
        "{\"size\":\"259\",\"bt\":\"1\"}",
    };
    const char *at = (const char *)bytes.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        if (!at) fail_msg("%s is not written, or not in its place", parts[i]);
    }
    hd_buffer_free(&bytes);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* {"name":"f (a.c:1)","category":"libfoo.so"}: Trace Event Format, "Global Stack Traces". */
static void the_object_of_a_frame_is_its_category(void **state) {
    static const char *const names[] = {
        "/main (a.c:1) [app]/f [libfoo.so]", "/main (a.c:1) [app]/f [libbar.so]", "/main (a.c:1) [app]/f",
        "/main (a.c:1) [app]/g [clone .cold]", "/main (a.c:1) [app]/lib.so+0x12 [ab12]", "/std::vector<int> [a \"b\"]"
    };
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        hd_profile *p = profile_new(2);
        hd_breakdown *b = NULL;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_cell(p, names[i], "/T [x]", 1000 + i, 1);
        if (kind) b = exported(p, (hd_cutoff){ 0 });
        hd_heap heap = { .pid = 1, .dump = "0x1", .allocator = "malloc", .profile = kind ? NULL : p, .breakdown = b };
        hd_buffer bytes = written(&heap, 1), again;
        hd_dump *d = reread(&bytes);
        const char *text = (const char *)bytes.data;
        assert_json(&bytes);
        assert_among(d, &heap);
        again = written(hd_dump_heap(d, 0), 1);
        if (kind) assert_string_equal((const char *)again.data, text);
        assert_int_equal(strstr(text, "\"name\":\"main (a.c:1)\",\"category\":\"app\"}") != NULL, kind);
        assert_int_equal(strstr(text, "\"name\":\"f\",\"category\":\"libfoo.so\",\"parent\":") != NULL, kind);
        assert_int_equal(strstr(text, "\"name\":\"f\",\"parent\":") != NULL, kind);
        assert_int_equal(strstr(text, "\"name\":\"std::vector<int>\",\"category\":\"a \\\"b\\\"\"}") != NULL, kind);
        assert_non_null(strstr(text, "\"g [clone .cold]\""));
        assert_non_null(strstr(text, "\"lib.so+0x12 [ab12]\""));
        assert_non_null(strstr(text, "\"T [x]\"")); /* a type */
        hd_dump_free(d);
        hd_buffer_free(&bytes);
        hd_buffer_free(&again);
        hd_breakdown_free(b);
        hd_profile_free(p);
    }
}

static void categories_are_read_behind_names(void **state) {
    (void)state;
    assert_reads("{'traceEvents':[{'ph':'v','pid':1,'id':'0x1','ts':1,'args':{'dumps':{'heaps':{'malloc':{'entries':["
                 "{'size':'30'},{'size':'20','bt':'1'},{'size':'10','bt':'2'}]}}}}}],"
                 "'stackFrames':{'0':{'name':'main','category':''},'1':{'category':'libfoo.so','name':'f','parent':'0'},"
                 "'2':{'category':'libbar.so','parent':'0','name':'f'}}}",
                 "1 0x1 malloc self /main/f [libbar.so] / 16 -\n1 0x1 malloc self /main/f [libfoo.so] / 32 -\n");
}

static void unknown_counts_stay_unknown(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/f", "/T", 5, HD_UNKNOWN);
    add_cell(p, "/g", "/T", 6, HD_UNKNOWN);
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 6 });
    hd_heap heaps[] = { { .pid = 1, .dump = "1", .allocator = "a", .breakdown = b },
                        { .pid = 1, .dump = "1", .allocator = "b", .profile = p } };
    hd_buffer bytes = written(heaps, 2);
    hd_dump *d = reread(&bytes);
    assert_text(dump_text(d),
                "1 1 a / / 11 -\n1 1 a / /T 11 -\n1 1 a /g / 6 -\n1 1 a /g /T 6 -\n"
                "1 1 b self /f /T 5 -\n1 1 b self /g /T 6 -\n");
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void nothing_is_a_trace_too(void **state) {
    (void)state;
    hd_buffer bytes = written(NULL, 0);
    assert_json(&bytes);
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 0);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_profile *p = profile_new(2);
    bytes = written(&(hd_heap){ .profile = p }, 1);
    d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 1);
    assert_int_equal(hd_profile_cells(hd_dump_heap(d, 0)->profile).count, 0);
    assert_string_equal(hd_dump_heap(d, 0)->allocator, "malloc");
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_profile_free(p);
}

/* Heaps with equal labels are refused, or written so that they can be read. */
static void written_heaps_can_be_read(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *b = exported(p, (hd_cutoff){ 0 });
    const struct {
        const char *name;
        hd_heap heaps[2];
    } cases[] = {
        { "two heaps of one name", { { .allocator = "m", .breakdown = b }, { .allocator = "m", .breakdown = b } } },
        { "two profiles of one name", { { .allocator = "m", .profile = p }, { .allocator = "m", .profile = p } } },
        { "a name and no name", { { .allocator = "malloc", .breakdown = b }, { .breakdown = b } } },
        { "an id and no id", { { .time_us = 1, .breakdown = b }, { .time_us = 2, .dump = "0x1", .breakdown = b } } },
        { "one id at two times", { { .time_us = 1, .dump = "7", .breakdown = b }, { .time_us = 2, .dump = "7", .breakdown = b } } },
        { "one id at two times, other names",
          { { .time_us = 1, .dump = "7", .allocator = "a", .breakdown = b }, { .time_us = 2, .dump = "7", .allocator = "b", .breakdown = b } } },
        { "an id and no id, other names",
          { { .time_us = 1, .dump = "0x1", .allocator = "a", .breakdown = b }, { .time_us = 2, .allocator = "b", .breakdown = b } } },
        { "no ids", { { .time_us = 1, .allocator = "a", .breakdown = b }, { .time_us = 2, .allocator = "b", .breakdown = b } } },
        { "profile and breakdown", { { .allocator = "m", .breakdown = b }, { .allocator = "m", .profile = p } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_buffer bytes = { 0 };
        hd_status status = hd_chrome_write(cases[i].heaps, 2, NULL, hd_out_memory(&bytes), NULL);
        print_message("           %s: %s\n", cases[i].name, hd_status_text(status));
        if (status == HD_OK) {
            hd_dump *d = reread(&bytes);
            assert_int_equal(hd_dump_heap_count(d), 2);
            assert_int_equal(hd_dump_heap(d, 0)->time_us, cases[i].heaps[0].time_us);
            assert_int_equal(hd_dump_heap(d, 1)->time_us, cases[i].heaps[1].time_us);
            hd_dump_free(d);
        } else {
            assert_int_equal(status, HD_INVALID);
        }
        hd_buffer_free(&bytes);
    }
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void heaps_that_a_trace_cannot_hold_are_refused(void **state) {
    (void)state;
    hd_profile *three = profile_new(3), *two = profile_new(2);
    hd_breakdown *b = exported(three, (hd_cutoff){ 0 });
    const struct {
        hd_heap heap;
        hd_status status;
    } cases[] = {
        { { .profile = three }, HD_UNSUPPORTED },
        { { .breakdown = b }, HD_UNSUPPORTED },
        { { .allocator = "neither" }, HD_INVALID },
        { { .profile = two, .breakdown = b }, HD_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_heap heaps[2] = { { .profile = two }, cases[i].heap };
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        assert_int_equal(hd_chrome_write(heaps, 2, NULL, hd__faults_out(&w), &err), cases[i].status);
        assert_int_equal(err.status, cases[i].status);
        assert_non_null(strstr(err.message, "heap 1"));
        assert_int_equal(w.count, 0);
    }
    hd_breakdown_free(b);
    hd_profile_free(three);
    hd_profile_free(two);
}

/* Profiles and breakdowns of two processes; some 60 KB. */
static void big_heaps(heap_list *l) {
    memset(l, 0, sizeof *l);
    for (size_t i = 0; i < 4; i++) {
        hd_profile *p = l->profiles[i] = profile_new(2);
        for (uint64_t k = 0; k < 250; k++) {
            char path[64], type[16];
            snprintf(path, sizeof path, "/main/function %d/another \"%d\"", (int)(k % 25), (int)k);
            snprintf(type, sizeof type, "/type %d", (int)(k % 7));
            add_cell(p, path, type, k * k, k);
        }
        if (i % 2) l->heaps[i].profile = p;
        else l->heaps[i].breakdown = l->breakdowns[i] = exported(p, (hd_cutoff){ .min_bytes = 100 });
        l->heaps[i].pid = i / 2;
        l->heaps[i].process = "a process";
        l->heaps[i].allocator = i % 2 ? "malloc" : "partition_alloc";
    }
    l->count = 4;
}

static void each_failing_write_comes_back_and_is_the_last(void **state) {
    (void)state;
    heap_list l;
    hd__write_faults whole = { 0 };
    big_heaps(&l);
    assert_int_equal(hd_chrome_write(l.heaps, l.count, NULL, hd__faults_out(&whole), NULL), HD_OK);
    assert_true(whole.count > 10);
    for (uint64_t i = 1; i <= whole.count; i++) {
        hd__write_faults w = { .fail_at = i, .status = i % 2 ? HD_IO : HD_CANCELLED };
        hd_error err = { 0 };
        assert_int_equal(hd_chrome_write(l.heaps, l.count, NULL, hd__faults_out(&w), &err), w.status);
        assert_int_equal(err.status, w.status);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
    }
    hd__write_faults_free(&whole);
    free_heaps(&l);
}

static void each_failing_allocation_comes_back(void **state) {
    (void)state;
    uint64_t r = 23;
    heap_list l;
    do random_heaps(&r, &l);
    while (l.count < 8 && (free_heaps(&l), true));
    hd_buffer expected = written(l.heaps, l.count);
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    HD__EACH_FAULT(faults) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        hd_status status = hd_chrome_write(l.heaps, l.count, &options, hd__faults_out(&w), &err);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
        if (!status) {
            assert_int_equal(w.size, expected.size);
            assert_memory_equal(w.data, expected.data, w.size);
        }
        hd__write_faults_free(&w);
    }
    assert_true(faults.fail_at > 20);
    hd_buffer_free(&expected);
    free_heaps(&l);
}

static void memory_stays_within_its_limit(void **state) {
    (void)state;
    heap_list l;
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    hd_status status = HD_LIMIT;
    uint64_t refused = 0;
    big_heaps(&l);
    for (uint64_t limit = 64; status == HD_LIMIT; limit += limit / 8) {
        hd__write_faults w = { 0 };
        options.limits.max_memory = limit;
        faults.peak = 0;
        status = hd_chrome_write(l.heaps, l.count, &options, hd__faults_out(&w), NULL);
        if (status) assert_int_equal(status, HD_LIMIT);
        assert_true(faults.peak <= limit);
        assert_int_equal(faults.live, 0);
        refused += status == HD_LIMIT;
        hd__write_faults_free(&w);
    }
    assert_true(refused > 10);
    free_heaps(&l);
}

/* Heaps of a process share their dictionary, in the trace and in memory. */
static void memory_is_in_proportion_to_the_output(void **state) {
    (void)state;
    enum { CHAIN = 20000, HEAP_COUNT = 1000 };
    static char names[HEAP_COUNT][12];
    static hd_heap heaps[HEAP_COUNT];
    hd_profile *p = profile_new(2);
    hd_breakdown *b;
    uint32_t at[2] = { 0, 0 };
    for (int i = 0; i < CHAIN; i++) assert_int_equal(hd_profile_node(p, 0, at[0], hd_cstr("f"), &at[0], NULL), HD_OK);
    assert_int_equal(hd_profile_add(p, at, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    size_t count = (size_t)long_or_short(HEAP_COUNT, HEAP_COUNT / 4);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        heaps[i] = (hd_heap){ .allocator = names[i] };
        if (i % 2) heaps[i].profile = p;
        else heaps[i].breakdown = b;
    }
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    hd__write_faults w = { 0 };
    assert_int_equal(hd_chrome_write(heaps, count, &options, hd__faults_out(&w), NULL), HD_OK);
    print_message("           %.1f bytes of memory for a byte of output\n", (double)faults.peak / (double)w.size);
    assert_true(faults.peak < 8 * w.size);
    assert_int_equal(faults.live, 0);
    hd__write_faults_free(&w);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Writing dump by dump. ------------------------------------------------------------------------ */

static hd_chrome_writer *writer_new(hd_buffer *bytes, bool interruptible) {
    hd_chrome_writer_desc desc = { .interruptible = interruptible };
    hd_chrome_writer *w = hd_chrome_writer_create(&desc, hd_out_memory(bytes), NULL);
    assert_non_null(w);
    return w;
}

static void writer_add(hd_chrome_writer *w, const hd_heap *heaps, size_t count) {
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = count };
    hd_error err = { 0 };
    hd_status status = hd_chrome_writer_add(w, &dumps, &err);
    if (status) print_error("%s\n", err.message);
    assert_int_equal(status, HD_OK);
}

/* Ends the trace, and appends a NUL that is not counted. */
static void writer_end(hd_chrome_writer *w, hd_buffer *bytes) {
    assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_OK);
    hd_chrome_writer_free(w);
    assert_int_equal(hd_out_memory(bytes).write(bytes, "", 1), HD_OK);
    bytes->size--;
}

static void assert_written(const hd_buffer *bytes, const char *quoted) {
    char *expected = trace_of(quoted, NULL);
    assert_string_equal((const char *)bytes->data, expected);
    free(expected);
}

#define META(pid, name) "{'pid':" pid ",'tid':" pid ",'ts':0,'ph':'M','cat':'__metadata','name':'" name "','args':{'"
#define DUMP_AT(pid, ts, id) "{'pid':" pid ",'tid':" pid ",'ts':" ts ",'ph':'v','cat':'disabled-by-default-memory-infra'," \
                             "'name':'explicitly_triggered','id':'" id "','args':{'dumps':{'level_of_detail':"
#define SIZED(guid, size) "{'guid':'" guid "','attrs':{'size':{'type':'scalar','units':'bytes','value':'" size "'}}}"

/* An allocator has the same guid in all files, whichever version of the library wrote them. */
static void an_allocator_has_one_guid_for_ever(void **state) {
    (void)state;
    assert_true(hd__trace_guid(77, "malloc") == UINT64_C(0x3f20603ce5adccd1));
    assert_true(hd__trace_guid(77, "allocator_of_the_engine") == UINT64_C(0x324d1943e2fc14f3));
}

static void each_dump_defines_the_frames_it_uses_first(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2);
    add_cell(p, "/a/b", "/T", 10, 1);
    add_cell(q, "/a/c", "/T", 3, 2);
    add_cell(q, "/d", "/U", 4, 2);
    hd_breakdown *x = exported(p, (hd_cutoff){ .min_bytes = 11 }), *y = exported(p, (hd_cutoff){ 0 });
    hd_breakdown *z = exported(q, (hd_cutoff){ .top = 1 });
    hd_heap heaps[] = { { .pid = 7, .process = "app", .dump = "0x1", .time_us = 5, .allocator = "m", .breakdown = x },
                        { .pid = 7, .process = "app", .dump = "0x2", .time_us = 6, .allocator = "m", .breakdown = y },
                        { .pid = 7, .process = "app", .dump = "0x3", .time_us = 7, .allocator = "m", .breakdown = z } };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = writer_new(&bytes, false);
    for (int i = 0; i < 3; i++) writer_add(w, &heaps[i], 1);
    writer_end(w, &bytes);
    char guid[24], *g = strstr((char *)bytes.data, "\"guid\":\"");
    assert_non_null(g);
    memcpy(guid, g, 24);
    for (; g; g = strstr(g + 1, "\"guid\":\"")) {
        assert_memory_equal(g, guid, 24); /* of one allocator, equal in every dump */
        memset(g + 8, 'g', 16);
    }
    assert_written(&bytes,
        "{'traceEvents':[\n"
        META("7", "process_name") "name':'app'}},\n"
        META("7", "stackFrames") "stackFrames':{}}},\n"
        DUMP_AT("7", "5", "0x1") "'detailed','allocators':{'m':" SIZED("gggggggggggggggg", "a") "},'heaps':{'m':{'entries':[\n"
        "{'size':'a','bt':'','count':'1'}]}}}}},\n"
        META("7", "stackFrames") "stackFrames':{'0':{'name':'a'},'1':{'name':'b','parent':'0'}}}},\n"
        DUMP_AT("7", "6", "0x2") "'detailed','allocators':{'m':" SIZED("gggggggggggggggg", "a") "},'heaps':{'m':{'entries':[\n"
        "{'size':'a','bt':'','count':'1'},\n{'size':'a','bt':'','type':'1','count':'1'},\n"
        "{'size':'a','bt':'0','count':'1'},\n{'size':'a','bt':'0','type':'1','count':'1'},\n"
        "{'size':'a','bt':'1','count':'1'},\n{'size':'a','bt':'1','type':'1','count':'1'}]}}}}},\n"
        META("7", "stackFrames") "stackFrames':{'2':{'name':'d'}}}},\n"
        DUMP_AT("7", "7", "0x3") "'detailed','allocators':{'m':" SIZED("gggggggggggggggg", "7") "},'heaps':{'m':{'entries':[\n"
        "{'size':'7','bt':'','count':'4'},\n{'size':'4','bt':'','type':'2','count':'2'},\n"
        "{'size':'4','bt':'2','count':'2'},\n{'size':'4','bt':'2','type':'2','count':'2'}]}}}}},\n"
        META("7", "typeNames") "typeNames':{'0':'[unknown]','1':'T','2':'U'}}}\n]}\n");
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 3);
    for (int i = 0; i < 3; i++) assert_among(d, &heaps[i]);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_breakdown_free(x);
    hd_breakdown_free(y);
    hd_breakdown_free(z);
    hd_profile_free(p);
    hd_profile_free(q);
}

static void maps_of_heaps_v2_are_incremental_and_ids_are_the_traces_own(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2);
    add_cell(p, "/a", "/T", 10, 1);
    add_cell(q, "/a/c", "/T", 3, 2);
    hd_heap heaps[] = { { .pid = 7, .dump = "1", .time_us = 5, .allocator = "m", .profile = p },
                        { .pid = 8, .dump = "1", .time_us = 5, .allocator = "m", .profile = p },
                        { .pid = 7, .dump = "2", .time_us = 6, .allocator = "m", .profile = q } };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = writer_new(&bytes, false);
    for (int i = 0; i < 3; i++) writer_add(w, &heaps[i], 1);
    writer_end(w, &bytes);
    static const char *const parts[] = {
        "'m':{'nodes':[1],'sizes':[10],'counts':[1],'types':[2]}},'maps':{'nodes':[{'id':1,'name_sid':1}],"
        "'types':[{'id':1,'name_sid':2},{'id':2,'name_sid':3}],"
        "'strings':[{'id':1,'string':'a'},{'id':2,'string':'[unknown]'},{'id':3,'string':'T'}]}",
        "'m':{'nodes':[2],'sizes':[10],'counts':[1],'types':[4]}},'maps':{'nodes':[{'id':2,'name_sid':4}],"
        "'types':[{'id':3,'name_sid':5},{'id':4,'name_sid':6}],"
        "'strings':[{'id':4,'string':'a'},{'id':5,'string':'[unknown]'},{'id':6,'string':'T'}]}",
        "'m':{'nodes':[3],'sizes':[3],'counts':[2],'types':[2]}},'maps':{'nodes':[{'id':3,'name_sid':7,'parent':1}],"
        "'types':[],'strings':[{'id':7,'string':'c'}]}",
    };
    const char *at = (const char *)bytes.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *part = trace_of(parts[i], NULL);
        at = strstr(at, part);
        if (!at) fail_msg("%s is not written, or not in its place", part);
        free(part);
    }
    hd_dump *d = reread(&bytes);
    for (int i = 0; i < 3; i++) assert_among(d, &heaps[i]);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_profile_free(p);
    hd_profile_free(q);
}

/* The viewer keeps frames of both formats in one table: an id of a process must not mean two frames. */
static void no_frame_has_the_id_of_another_in_the_other_format(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *q = profile_new(2), *z = profile_new(2);
    add_cell(p, "/a/b", "/T", 10, 1);
    add_cell(q, "/c/d", "/T", 3, 2);
    add_cell(z, "/e", "/T", 3, 2);
    hd_breakdown *x = exported(p, (hd_cutoff){ 0 }), *y = exported(z, (hd_cutoff){ 0 });
    hd_heap heaps[] = { { .pid = 7, .dump = "1", .time_us = 5, .allocator = "m", .breakdown = x },
                        { .pid = 7, .dump = "2", .time_us = 6, .allocator = "m", .profile = q },
                        { .pid = 7, .dump = "3", .time_us = 7, .allocator = "m", .breakdown = y } };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = writer_new(&bytes, false);
    for (int i = 0; i < 3; i++) writer_add(w, &heaps[i], 1);
    writer_end(w, &bytes);
    assert_non_null(strstr((char *)bytes.data, "\"stackFrames\":{\"0\":{\"name\":\"a\"},\"1\":{\"name\":\"b\",\"parent\":\"0\"}}"));
    assert_non_null(strstr((char *)bytes.data, "\"maps\":{\"nodes\":[{\"id\":2,\"name_sid\":1},{\"id\":3,\"name_sid\":2,\"parent\":2},"
                                               "{\"id\":4,\"name_sid\":3},{\"id\":5,\"name_sid\":4,\"parent\":4}]"));
    assert_non_null(strstr((char *)bytes.data, "\"stackFrames\":{\"6\":{\"name\":\"c\"},\"7\":{\"name\":\"d\",\"parent\":\"6\"},"
                                               "\"8\":{\"name\":\"e\"}}"));
    hd_dump *d = reread(&bytes);
    for (int i = 0; i < 3; i++) assert_among(d, &heaps[i]);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_breakdown_free(x);
    hd_breakdown_free(y);
    hd_profile_free(p);
    hd_profile_free(q);
    hd_profile_free(z);
}

static void scalars_are_written_as_chromium_writes_them(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    add_cell(p, "/a", "/T", 16, 1);
    hd_breakdown *b = exported(p, (hd_cutoff){ .min_bytes = 17 });
    hd_heap heaps[] = { { .pid = 1, .dump = "7", .time_us = 3, .allocator = "malloc", .breakdown = b },
                        { .pid = 1, .dump = "7", .time_us = 3, .allocator = "own", .breakdown = b } };
    hd_scalar scalars[] = {
        { .pid = 1, .dump = "7", .time_us = 3, .allocator = "own", .name = "size", .units = "bytes", .value = 255 },
        { .pid = 1, .dump = "7", .time_us = 3, .allocator = "malloc/arena", .name = "kind", .units = "", .text = "a \"b\"" },
        { .pid = 1, .dump = "7", .time_us = 3, .allocator = "malloc", .name = "object_count", .units = "objects", .value = 3 },
        { .pid = 1, .dump = "7", .time_us = 3, .name = "resident_set_bytes", .units = "bytes", .value = 4096 },
        { .pid = 1, .dump = "7", .time_us = 3, .name = "a_text", .text = "x" },
        { .pid = 1, .dump = "7", .time_us = 3, .allocator = "aaa", .name = "zero" },
    };
    hd_scalar light = { .pid = 1, .dump = "8", .time_us = 4, .allocator = "aaa", .name = "most", .value = UINT64_MAX };
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = 2, .scalars = scalars, .scalar_count = 6 };
    hd_chrome_dumps more = { .scalars = &light, .scalar_count = 1, .detail = HD_LIGHT, .trigger = "periodic_interval" };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = writer_new(&bytes, true);
    assert_int_equal(hd_chrome_writer_add(w, &dumps, NULL), HD_OK);
    assert_int_equal(hd_chrome_writer_add(w, &more, NULL), HD_OK);
    writer_end(w, &bytes);
    for (char *g = (char *)bytes.data; (g = strstr(g, "\"guid\":\"")) != NULL;) {
        char *end = strchr(g + 8, '"'); /* shorten the guid to 1 digit, to compare the rest */
        g[8] = '0';
        memmove(g + 9, end, strlen(end) + 1);
        g += 9;
    }
    bytes.size = strlen((char *)bytes.data);
    assert_written(&bytes,
        "[\n" META("1", "stackFrames") "stackFrames':{}}},\n" META("1", "typeNames") "typeNames':{'0':'[unknown]'}}},\n"
        DUMP_AT("1", "3", "7") "'detailed','process_totals':{'a_text':'x','resident_set_bytes':'1000'},'allocators':{"
        "'aaa':{'guid':'0','attrs':{'zero':{'type':'scalar','value':'0'}}},"
        "'malloc':{'guid':'0','attrs':{'size':{'type':'scalar','units':'bytes','value':'10'},"
        "'object_count':{'type':'scalar','units':'objects','value':'3'}}},"
        "'malloc/arena':{'guid':'0','attrs':{'kind':{'type':'string','units':'','value':'a \\'b\\''}}},"
        "'own':" SIZED("0", "ff") "},'heaps':{'malloc':{'entries':[\n{'size':'10','bt':'','count':'1'}]},"
        "'own':{'entries':[\n{'size':'10','bt':'','count':'1'}]}}}}},\n"
        "{'pid':1,'tid':1,'ts':4,'ph':'v','cat':'disabled-by-default-memory-infra','name':'periodic_interval','id':'8',"
        "'args':{'dumps':{'level_of_detail':'light','allocators':{"
        "'aaa':{'guid':'0','attrs':{'most':{'type':'scalar','value':'ffffffffffffffff'}}}}}}}\n]\n");
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 2);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Random heaps, added dump by dump and process by process, read as if written at once. So does the incomplete trace
   after every dump, if the writer is interruptible. */
static void dumps_added_one_by_one_are_the_dumps_written_at_once(void **state) {
    (void)state;
    uint64_t r = 24;
    for (int round = 0; round < 600; round++) {
        heap_list l;
        hd_buffer bytes = { 0 };
        bool interruptible = round % 2;
        random_heaps(&r, &l);
        hd_chrome_writer *w = writer_new(&bytes, interruptible);
        for (size_t i = 0, k; i < l.count; i = k) {
            for (k = i + 1; k < l.count && l.heaps[k].pid == l.heaps[i].pid && l.heaps[k].dump == l.heaps[i].dump; k++) {}
            writer_add(w, &l.heaps[i], k - i);
            if (!interruptible) continue;
            hd_dump *d = reread(&bytes);
            assert_int_equal(hd_dump_heap_count(d), k);
            hd_dump_free(d);
        }
        writer_end(w, &bytes);
        assert_json(&bytes);
        hd_dump *d = reread(&bytes);
        assert_int_equal(hd_dump_heap_count(d), l.count);
        for (size_t i = 0; i < l.count; i++) {
            hd_heap heap = l.heaps[i];
            with_two_axes(&heap);
            assert_among(d, &heap);
            if (heap.profile != l.heaps[i].profile) hd_profile_free((hd_profile *)(uintptr_t)heap.profile);
            if (heap.breakdown != l.heaps[i].breakdown) hd_breakdown_free((hd_breakdown *)(uintptr_t)heap.breakdown);
        }
        hd_dump_free(d);
        hd_buffer_free(&bytes);
        free_heaps(&l);
    }
}

static void heaps_and_heaps_v2_of_one_profile_agree(void **state) {
    (void)state;
    uint64_t r = 25;
    for (int round = 0; round < 500; round++) {
        hd_profile *p = random_profile(&r, true);
        hd_breakdown *b = exported(p, (hd_cutoff){ 0 }), *x, *y;
        hd_heap heaps[] = { { .pid = 1, .dump = "1", .allocator = "new", .breakdown = b },
                            { .pid = 1, .dump = "1", .allocator = "v2", .profile = p } };
        hd_buffer bytes = written(heaps, 2);
        hd_dump *d = reread(&bytes);
        assert_int_equal(hd_heap_break_down(hd_dump_heap(d, 0), NULL, NULL, &x, NULL), HD_OK);
        assert_int_equal(hd_heap_break_down(hd_dump_heap(d, 1), NULL, NULL, &y, NULL), HD_OK);
        assert_true(breakdowns_equal(x, y));
        hd_breakdown_free(x);
        hd_breakdown_free(y);
        hd_breakdown_free(b);
        hd_profile_free(p);
        hd_dump_free(d);
        hd_buffer_free(&bytes);
    }
}

/* A refused dump leaves the writer unchanged. */
static void refused_dumps_leave_the_trace_whole(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *three = profile_new(3);
    add_cell(p, "/a", "/T", 16, 1);
    hd_heap first = { .pid = 1, .dump = "1", .allocator = "m", .profile = p }, other = first, wide = first;
    hd_heap both[] = { first, first };
    hd_scalar twice[] = { { .pid = 1, .dump = "1", .allocator = "m", .name = "size" }, { .pid = 1, .dump = "1", .allocator = "m", .name = "size" } };
    hd_scalar late = { .pid = 1, .dump = "2", .time_us = 9, .name = "size" }, nameless = { .pid = 1 };
    hd_scalar totals[] = { { .pid = 1, .dump = "1", .name = "a" }, { .pid = 1, .dump = "1", .name = "a" } };
    other.dump = "2";
    wide.profile = three;
    both[0] = other;
    const struct {
        hd_chrome_dumps dumps;
        hd_status status;
        const char *sentence;
    } cases[] = {
        { { .heaps = &first, .heap_count = 1 }, HD_INVALID, "duplicate dump: 1 of pid 1 is already in the trace" },
        { { .heaps = both, .heap_count = 2 }, HD_INVALID, "duplicate dump: 1 of pid 1 is already in the trace" },
        { { .scalars = twice, .scalar_count = 1 }, HD_INVALID, "duplicate dump: 1 of pid 1 is already in the trace" },
        { { .scalars = twice, .scalar_count = 2 }, HD_INVALID, "duplicate value: size of m in dump 1 of pid 1" },
        { { .scalars = totals, .scalar_count = 2 }, HD_INVALID, "duplicate value: a of process_totals in dump 1 of pid 1" },
        { { .heaps = &other, .heap_count = 1, .scalars = &late, .scalar_count = 1 }, HD_INVALID, "dump 2 of pid 1 has two times: 0 and 9" },
        { { .heaps = &other, .heap_count = 1, .detail = HD_LIGHT }, HD_INVALID, "expected a light dump without heaps, found 1" },
        { { .scalars = &nameless, .scalar_count = 1 }, HD_INVALID, "scalar 0: expected a name" },
        { { .heaps = &wide, .heap_count = 1 }, HD_UNSUPPORTED, "heap 0: expected the axes backtrace and type, found 3 axes" },
    };
    hd_buffer bytes = { 0 };
    hd_chrome_writer *w = writer_new(&bytes, false);
    writer_add(w, &first, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_error err = { 0 };
        assert_int_equal(hd_chrome_writer_add(w, &cases[i].dumps, &err), cases[i].status);
        assert_string_equal(err.message, cases[i].sentence);
    }
    writer_add(w, &other, 1);
    assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_OK);
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 2);
    hd_dump_free(d);
    /* and nothing can follow the end */
    hd_heap third = first;
    third.dump = "3";
    size_t size = bytes.size;
    hd_chrome_dumps after = { .heaps = &third, .heap_count = 1 };
    assert_int_equal(hd_chrome_writer_add(w, &after, NULL), HD_INVALID);
    assert_int_equal(hd_chrome_writer_finish(w, NULL), HD_INVALID);
    assert_int_equal(bytes.size, size);
    hd_chrome_writer_free(w);
    hd_buffer_free(&bytes);
    hd_profile_free(p);
    hd_profile_free(three);
}

/* Adds the heaps one by one, with a scalar each, and ends the trace. */
static hd_status stream(const heap_list *l, const hd_options *options, hd_out out, hd_error *err) {
    hd_chrome_writer_desc desc = { 0 };
    hd_status status;
    if (options) desc.options = *options;
    hd_chrome_writer *w = hd_chrome_writer_create(&desc, out, err);
    if (!w) return err->status;
    status = HD_OK;
    for (size_t i = 0; i < l->count && !status; i++) {
        char id[8] = { 'a' };
        id[1] = (char)('a' + i);
        hd_heap heap = l->heaps[i];
        hd_scalar scalar = { .pid = heap.pid, .dump = id, .allocator = "z", .name = "size", .value = i };
        heap.dump = id;
        heap.time_us = 0;
        hd_chrome_dumps dumps = { .heaps = &heap, .heap_count = 1, .scalars = &scalar, .scalar_count = 1 };
        status = hd_chrome_writer_add(w, &dumps, err);
        if (status) assert_int_equal(hd_chrome_writer_add(w, &dumps, NULL), status); /* it sticks */
    }
    if (!status) status = hd_chrome_writer_finish(w, err);
    else assert_int_equal(hd_chrome_writer_finish(w, NULL), status);
    hd_chrome_writer_free(w);
    return status;
}

static bool count_to_stop(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user != 0;
}

static void faults_of_a_stream_come_back_and_stick(void **state) {
    (void)state;
    uint64_t r = 26;
    heap_list l;
    do random_heaps(&r, &l);
    while (l.count < 6 && (free_heaps(&l), true));
    hd__write_faults whole = { 0 };
    assert_int_equal(stream(&l, NULL, hd__faults_out(&whole), NULL), HD_OK);
    for (uint64_t i = 1; i <= whole.count; i++) {
        hd__write_faults w = { .fail_at = i };
        hd_error err = { 0 };
        assert_int_equal(stream(&l, NULL, hd__faults_out(&w), &err), HD_IO);
        assert_int_equal(err.status, HD_IO);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
    }
    hd__faults faults = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    HD__EACH_FAULT(faults) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        hd_status status = stream(&l, &options, hd__faults_out(&w), &err);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
        if (!status) assert_memory_equal(w.data, whole.data, whole.size);
        hd__write_faults_free(&w);
    }
    assert_true(faults.fail_at > 20);
    options = (hd_options){ .progress = count_to_stop };
    for (int calls = 1; calls <= (int)l.count; calls++) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        int left = calls;
        options.progress_user = &left;
        assert_int_equal(stream(&l, &options, hd__faults_out(&w), &err), HD_CANCELLED);
        assert_int_equal(err.status, HD_CANCELLED);
        hd__write_faults_free(&w);
    }
    hd__write_faults_free(&whole);
    free_heaps(&l);
}

/* Between dumps the writer holds each distinct frame once, for any number of dumps. */
static void memory_of_a_stream_does_not_grow_with_its_length(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_buffer bytes = { 0 };
    uint64_t early = 0;
    char id[8];
    for (uint64_t k = 0; k < 1000; k++) {
        char path[64];
        snprintf(path, sizeof path, "/main/function %d/another %d", (int)(k % 25), (int)k);
        add_cell(p, path, "/T", k, 1);
    }
    hd_chrome_writer *w = writer_new(&bytes, false);
    for (int i = 0; i < 300; i++) {
        hd_heap heap = { .dump = id, .time_us = (uint64_t)i, .allocator = "m", .profile = p };
        snprintf(id, sizeof id, "%d", i);
        writer_add(w, &heap, 1);
        bytes.size = 0;
        if (i == 9) early = hd_chrome_writer_memory(w);
    }
    assert_in_range(hd_chrome_writer_memory(w), early, early + 300 * 80); /* only the ids of the dumps are added */
    hd_chrome_writer_free(w);
    hd_buffer_free(&bytes);
    hd_profile_free(p);
}

/* Heaps of each kind in one dump, as allocators with different names; reading returns the kinds. */
static void kinds_come_back(void **state) {
    static const char *const names[] = { "\"malloc\":{\"entries\"", "\"malloc/peak\":{\"entries\"", "\"malloc/total\":{\"entries\"",
                                         "\"malloc/temporary\":{\"entries\"" };
    hd_heap heaps[5];
    hd_buffer bytes, again, added = { 0 };
    hd_chrome_dumps dumps = { .heaps = heaps + 1, .heap_count = 3 };
    hd_dump *d;
    hd_error err;
    (void)state;
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) {
        hd_profile *p = profile_new(2);
        uint32_t nodes[2] = { 0, 0 };
        assert_int_equal(hd_profile_add(p, nodes, 100 + (uint64_t)kind, 1, NULL), HD_OK);
        heaps[kind] = (hd_heap){ .pid = 1, .dump = "0x1", .kind = (hd_heap_kind)kind, .allocator = kind ? "malloc" : NULL };
        assert_int_equal(hd_export(p, NULL, NULL, (hd_breakdown **)(uintptr_t)&heaps[kind].breakdown, NULL), HD_OK);
        hd_profile_free(p);
    }
    bytes = written(heaps, 4);
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) assert_non_null(strstr((char *)bytes.data, names[kind]));
    assert_null(strstr((char *)bytes.data, "\"size\",\"units\"")); /* the viewer would add this size to malloc's */
    d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 4);
    for (size_t i = 0; i < 4; i++) {
        const hd_heap *h = hd_dump_heap(d, i);
        assert_string_equal(h->allocator, "malloc");
        assert_int_equal(h->breakdown->entries.amount[0].bytes, 100 + (uint64_t)h->kind);
    }
    again = written(hd_dump_heap(d, 0), 4);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
    hd_dump_free(d);
    hd_buffer_free(&again);
    heaps[4] = heaps[2];
    assert_int_equal(hd_chrome_write(heaps, 5, NULL, hd_out_memory(&again), &err), HD_INVALID);
    assert_string_equal(err.message, "duplicate heap: malloc/total in dump 0x1 of pid 1");
    hd_buffer_free(&again);
    hd_buffer_free(&bytes);
    bytes = written(heaps, 1);
    dumps.heaps = heaps + 1;
    for (size_t i = 1; i < 4; i++) heaps[i].dump = "0x2";
    assert_int_equal(hd_chrome_add(hd_in_memory(bytes.data, bytes.size), &dumps, NULL, hd_out_memory(&added), &err), HD_OK);
    d = reread(&added);
    assert_int_equal(hd_dump_heap_count(d), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(hd_dump_heap(d, i)->breakdown->entries.amount[0].bytes, 100 + (uint64_t)hd_dump_heap(d, i)->kind);
    hd_dump_free(d);
    hd_buffer_free(&added);
    hd_buffer_free(&bytes);
    for (int i = 0; i < 4; i++) hd_breakdown_free((hd_breakdown *)(uintptr_t)heaps[i].breakdown);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocator_has_one_guid_for_ever),
        cmocka_unit_test(reading_gives_back_the_heaps_that_were_written),
        cmocka_unit_test(equal_heaps_give_equal_bytes_whatever_order_their_dumps_come_in),
        cmocka_unit_test(breakdowns_from_any_order_of_cells_give_equal_bytes),
        cmocka_unit_test(entries_are_written_as_the_document_says),
        cmocka_unit_test(kinds_come_back),
        cmocka_unit_test(the_object_of_a_frame_is_its_category),
        cmocka_unit_test(categories_are_read_behind_names),
        cmocka_unit_test(unknown_counts_stay_unknown),
        cmocka_unit_test(nothing_is_a_trace_too),
        cmocka_unit_test(written_heaps_can_be_read),
        cmocka_unit_test(heaps_that_a_trace_cannot_hold_are_refused),
        cmocka_unit_test(each_failing_write_comes_back_and_is_the_last),
        cmocka_unit_test(each_failing_allocation_comes_back),
        cmocka_unit_test(memory_stays_within_its_limit),
        cmocka_unit_test(memory_is_in_proportion_to_the_output),
        cmocka_unit_test(each_dump_defines_the_frames_it_uses_first),
        cmocka_unit_test(maps_of_heaps_v2_are_incremental_and_ids_are_the_traces_own),
        cmocka_unit_test(no_frame_has_the_id_of_another_in_the_other_format),
        cmocka_unit_test(scalars_are_written_as_chromium_writes_them),
        cmocka_unit_test(dumps_added_one_by_one_are_the_dumps_written_at_once),
        cmocka_unit_test(heaps_and_heaps_v2_of_one_profile_agree),
        cmocka_unit_test(refused_dumps_leave_the_trace_whole),
        cmocka_unit_test(faults_of_a_stream_come_back_and_stick),
        cmocka_unit_test(memory_of_a_stream_does_not_grow_with_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
