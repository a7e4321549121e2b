/* Malicious or damaged traces. With any bytes, reading ends in success or an error, and its memory stays
   proportional to the size of the input and within the limits. */
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

/* Bytes. -------------------------------------------------------------------------------------- */

static const char *const files[] = {
    "bare-array", "dump-in-two-events", "empty-entries", "heaps-in-two-events", "metadata-after-use", "new-basic",
    "new-without-typeNames", "old-no-types", "old-with-types", "size-formats", "top-level-stackFrames", "two-dumps",
    "two-processes-same-ids", "unterminated-array", "v2-basic", "v2-incremental",
};
enum { FILES = sizeof files / sizeof *files };

static char *viewer_file(size_t i, size_t *size) {
    char path[256];
    snprintf(path, sizeof path, "tests/data/trace-viewer/%s.json", files[i]);
    return file_text(path, size);
}

/* Reads any bytes: no crash (sanitizers check), no leak, memory within the bound, and an error has a place. */
static void read_anything(const void *data, size_t size, bool lenient, size_t factor, size_t base) {
    hd__faults faults = { .cap = factor * size + base };
    hd_options options = { .allocator = hd__faults_allocator(&faults), .lenient = lenient };
    hd_dump *d = NULL;
    hd_error err = { 0 };
    hd_status status = hd_read_memory(data, size, &options, &d, &err);
    assert_int_equal(err.status, status);
    if (status) {
        assert_null(d);
        assert_int_not_equal(status, HD_OUT_OF_MEMORY); /* the cap */
        if (status == HD_MALFORMED && err.offset != HD_UNKNOWN) assert_true(err.offset <= size);
    } else {
        assert_true(lenient || !hd_dump_warning_count(d));
        free(dump_text(d));
        hd_dump_free(d);
    }
    assert_int_equal(faults.live, 0);
    assert_null(faults.misuse);
}

static void truncation_at_every_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        size_t size;
        char *text = viewer_file(i, &size);
        for (size_t cut = 0; cut <= size; cut += (size_t)long_or_short(1, 2)) {
            char *exact = (char *)malloc(cut ? cut : 1); /* so that sanitizers find a read past the end */
            memcpy(exact, text, cut);
            read_anything(exact, cut, false, 20, 8192);
            read_anything(exact, cut, true, 20, 8192);
            free(exact);
        }
        free(text);
    }
}

static void every_byte_changed(void **state) {
    (void)state;
    static const unsigned char flips[] = { 0x01, 0x02, 0x04, 0x20, 0x5b ^ 0x2c, 0x80, 0xff };
    for (size_t i = 0; i < FILES; i++) {
        size_t size;
        char *text = viewer_file(i, &size);
        for (size_t at = 0; at < size; at++)
            for (size_t k = at % (size_t)long_or_short(1, 4); k < sizeof flips; k += (size_t)long_or_short(1, 4)) {
                text[at] = (char)((unsigned char)text[at] ^ flips[k]);
                read_anything(text, size, k % 2, 20, 8192);
                text[at] = (char)((unsigned char)text[at] ^ flips[k]);
            }
        free(text);
    }
}

static void each_failing_allocation_comes_back(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        size_t size;
        char *text = viewer_file(i, &size);
        for (int lenient = 0; lenient < 2; lenient++) {
            hd__faults faults = { 0 };
            hd_options options = { .allocator = hd__faults_allocator(&faults), .lenient = lenient != 0 };
            HD__EACH_FAULT(faults) {
                hd__reads reads = { .data = text, .size = size };
                hd_dump *d = NULL;
                hd_error err = { 0 };
                hd_status status = hd_read(hd__faults_in(&reads), &options, &d, &err);
                assert_int_equal(err.status, status);
                if (faults.failed) {
                    assert_int_equal(status, HD_OUT_OF_MEMORY);
                    assert_null(d);
                }
                hd_dump_free(d);
                assert_int_equal(faults.live, 0);
                assert_null(faults.misuse);
            }
            assert_true(faults.fail_at > 10);
        }
        free(text);
    }
}

/* Sizes. -------------------------------------------------------------------------------------- */

typedef struct input {
    char *data;
    size_t size;
    FILE *file;
} input;

static FILE *text_begin(input *t) {
    return t->file = open_memstream(&t->data, &t->size);
}

/* Closes the text and reads it; the memory may be factor times its size, plus base. */
static hd_dump *read_within(input *t, hd__faults *faults, bool lenient, size_t factor, size_t base) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    fclose(t->file);
    faults->cap = factor * t->size + base;
    hd_options options = { .allocator = hd__faults_allocator(faults), .lenient = lenient };
    hd_status status = hd_read_memory(t->data, t->size, &options, &d, &err);
    if (status) print_error("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    print_message("           %.1f bytes of memory for a byte of input\n", (double)faults->peak / (double)t->size);
    return d;
}

static void assert_freed(hd_dump *d, hd__faults *faults, input *t) {
    hd_dump_free(d);
    assert_int_equal(faults->live, 0);
    free(t->data);
}

static void put_chain(FILE *f, int length) {
    fputs("{\"0\":{\"name\":\"f\"}", f);
    for (int i = 1; i < length; i++) fprintf(f, ",\"%d\":{\"name\":\"f\",\"parent\":\"%d\"}", i, i - 1);
    fputs("}", f);
}

static void many_heaps_at_the_end_of_a_long_chain(void **state) {
    (void)state;
    enum { CHAIN = 20000, HEAP_COUNT = 2000 };
    input t;
    hd__faults faults = { 0 };
    FILE *f = text_begin(&t);
    fputs("[{\"pid\":1,\"ph\":\"M\",\"name\":\"stackFrames\",\"args\":{\"stackFrames\":", f);
    put_chain(f, CHAIN);
    fputs("}},{\"pid\":1,\"ph\":\"v\",\"id\":\"1\",\"args\":{\"dumps\":{\"heaps\":{", f);
    for (int i = 0; i < HEAP_COUNT; i++)
        fprintf(f, "%s\"%d\":{\"entries\":[{\"size\":\"1\",\"bt\":\"%d\"}]}", i ? "," : "", i, CHAIN - 1);
    fputs("}}}}]", f);
    hd_dump *d = read_within(&t, &faults, false, 20, 0);
    assert_int_equal(hd_dump_heap_count(d), HEAP_COUNT);
    for (size_t i = 0; i < HEAP_COUNT; i += 500) {
        const hd_breakdown *b = hd_dump_heap(d, i)->breakdown;
        assert_int_equal(b->entries.count, 2);
        assert_int_equal(b->entries.node[2], CHAIN);
        assert_int_equal(b->entries.amount[0].bytes, 1);
    }
    assert_freed(d, &faults, &t);
}

/* The frames of a whole trace are known to every process: they must not be copied for each process. */
static void many_processes_at_the_end_of_a_long_chain(void **state) {
    (void)state;
    enum { CHAIN = 10000, PROCESSES = 1000 };
    input t;
    hd__faults faults = { 0 };
    FILE *f = text_begin(&t);
    fputs("{\"stackFrames\":", f);
    put_chain(f, CHAIN);
    fputs(",\"traceEvents\":[", f);
    for (int i = 0; i < PROCESSES; i++)
        fprintf(f, "%s{\"pid\":%d,\"ph\":\"v\",\"id\":\"1\",\"args\":{\"dumps\":{\"heaps\":{\"m\":{\"entries\":["
                   "{\"size\":\"1\",\"bt\":\"%d\"}]}}}}}", i ? "," : "", i, CHAIN - 1);
    fputs("]}", f);
    hd_dump *d = read_within(&t, &faults, false, 20, 0);
    assert_int_equal(hd_dump_heap_count(d), PROCESSES);
    assert_int_equal(hd_dump_heap(d, PROCESSES - 1)->breakdown->entries.node[2], CHAIN);
    assert_freed(d, &faults, &t);
}

/* `before`, then `many` times `each` with a number for %, with commas between, then `after`. */
static void put_many(FILE *f, const char *before, const char *each, const char *after, unsigned many) {
    char *parts[3] = { trace_of(before, NULL), trace_of(each, NULL), trace_of(after, NULL) };
    fputs(parts[0], f);
    for (unsigned k = 0; k < many; k++) {
        if (k) fputc(',', f);
        for (const char *p = parts[1]; *p; p++)
            if (*p == '%') fprintf(f, "%u", k);
            else fputc(*p, f);
    }
    fputs(parts[2], f);
    for (int i = 0; i < 3; i++) free(parts[i]);
}

/* Inputs that need the most memory per byte, one test per kind. */
/* Numbers that would collide at the head of a table if the hash had no seed. */
static uint64_t crafted_number(uint64_t seed, uint64_t from) {
    while ((hd__hash_u64(seed, from) & 0xffff) > 300) from++;
    return from;
}

/* Seconds to read a heap of each of many processes, with frames of many ids. */
static double read_ids_and_pids(const uint64_t *ids, const uint64_t *pids, int count) {
    input t;
    hd__faults faults = { 0 };
    clock_t began;
    double seconds;
    FILE *f = text_begin(&t);
    fputs("[{\"pid\":1,\"ph\":\"M\",\"args\":{\"stackFrames\":{\"x\":{\"name\":\"f\"}", f);
    for (int i = 0; i < count; i++) fprintf(f, ",\"%" PRIu64 "\":{\"name\":\"f\"}", ids[i]);
    fputs("}}}", f);
    for (int i = 0; i < count; i++)
        fprintf(f, ",{\"pid\":%" PRIu64 ",\"ph\":\"v\",\"id\":\"1\",\"args\":{\"dumps\":{\"process_totals\":{\"x\":\"1\"}}}}", pids[i]);
    fputs("]", f);
    began = clock();
    hd_dump *d = read_within(&t, &faults, false, 20, 0);
    seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_int_equal(hd_dump_scalar_count(d), count);
    assert_freed(d, &faults, &t);
    return seconds;
}

static void crafted_ids_and_pids_are_read_as_fast_as_others(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static uint64_t ids[COUNT], pids[COUNT], plain[COUNT];
    uint64_t id = 0, pid = 1;
    for (int i = 0; i < COUNT; i++) {
        plain[i] = 10000000 + (uint64_t)i;
        ids[i] = id = crafted_number(hd__hash_u64(0, HD__TRACE_D_FRAMES), HD__TRACE_ID_NUMBER + id + 1) - HD__TRACE_ID_NUMBER;
        pids[i] = pid = crafted_number(0, pid + 1);
    }
    double usual = 1e9, crafted = 1e9;
    for (int turn = 0; turn < 3; turn++) { /* the best of three turns, because other programs run too */
        double seconds = read_ids_and_pids(plain, plain, COUNT);
        if (seconds < usual) usual = seconds;
        seconds = read_ids_and_pids(ids, pids, COUNT);
        if (seconds < crafted) crafted = seconds;
    }
    if (crafted > 4 * usual + 0.02) fail_msg("%g s instead of %g s", crafted, usual);
}

static void memory_is_in_proportion_to_the_input(void **state) {
    (void)state;
    static const struct {
        const char *name, *before, *each, *after;
        size_t factor;
    } kinds[] = {
        { "heaps", "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps':{", "'%':{'entries':[{'size':1,'bt':''}]}", "}}}}]", 40 },
        { "heaps without total", "[{'pid':1,'ph':'M','args':{'stackFrames':{'1':{'name':''}}}},{'pid':1,'ph':'v','id':'1','args':"
          "{'dumps':{'heaps':{", "'%':{'entries':[{'size':1,'bt':1}]}", "}}}}]", 40 },
        { "heaps of v2", "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'allocators':{",
          "'%':{'nodes':[0],'sizes':[1]}", "}}}}}]", 60 },
        { "heaps of v2 without cells", "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'allocators':{",
          "'%':{'nodes':[],'sizes':[]}", "}}}}}]", 60 },
        { "dumps", "[", "{'ph':'v','id':%,'args':{'dumps':{'heaps':{'':{'entries':[{'size':1,'bt':''}]}}}}}", "]", 20 },
        { "processes", "[", "{'ph':'v','pid':%,'args':{'dumps':{'heaps':{'':{'entries':[{'size':1,'bt':''}]}}}}}", "]", 40 },
        { "frames", "[{'ph':'M','args':{'stackFrames':{", "'%':{'name':'%'}", "}}}]", 20 },
        { "types", "[{'ph':'M','args':{'typeNames':{", "'%':''", "}}}]", 30 },
        { "equal types", "[{'ph':'M','args':{'typeNames':{", "'':''", "}}}]", 20 },
        { "strings of v2", "[{'ph':'v','args':{'dumps':{'heaps_v2':{'maps':{'strings':[", "{'id':%,'string':%}", "]}}}}}]", 20 },
        { "cells of v2", "[{'ph':'v','args':{'dumps':{'heaps_v2':{'allocators':{'m':{'sizes':[0],'nodes':[0],'nodes':[", "0",
          "],'sizes':[0],'nodes':[0]}}}}}}]", 40 },
        { "entries", "[{'ph':'M','args':{'stackFrames':{'0':{'name':''}}}},{'ph':'v','args':{'dumps':{'heaps':{'m':{'entries':[",
          "{'size':1,'bt':'0'}", "]}}}}}]", 20 },
        { "events", "[{'ph':'X'},", "{}", "]", 8 },
        { "invalid events", "[{'ph':'X'},", "5", "]", 8 },
        { "names of events", "[{'ph':'X'},", "{'args':{'name':'%'}}", "]", 20 },
        { "ids of events", "[{'ph':'X'},", "{'id':%}", "]", 30 },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        input t;
        hd__faults faults = { 0 };
        print_message("           %s\n", kinds[i].name);
        put_many(text_begin(&t), kinds[i].before, kinds[i].each, kinds[i].after, 30000);
        assert_freed(read_within(&t, &faults, true, kinds[i].factor, 16384), &faults, &t);
    }
}

static void memory_stays_within_its_limit(void **state) {
    (void)state;
    static const char *const kinds[][3] = {
        { "{'stackFrames':{'0':{'name':'f'}},'traceEvents':[",
          "{'pid':%,'ph':'v','args':{'dumps':{'heaps':{'malloc':{'entries':[{'size':'1','bt':'0'}]}}}}}", "]}" },
        { "[{'pid':1,'ph':'v','args':{'dumps':{'heaps_v2':{'allocators':{", "'%':{'nodes':[0],'sizes':[1]}", "}}}}}]" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        input t;
        hd__faults faults = { 0 };
        hd_options options = { .allocator = hd__faults_allocator(&faults) };
        hd_status status = HD_LIMIT;
        uint64_t refused = 0;
        put_many(text_begin(&t), kinds[i][0], kinds[i][1], kinds[i][2], 300);
        fclose(t.file);
        for (uint64_t limit = 64; status == HD_LIMIT; limit += limit / 16) {
            hd_dump *d = NULL;
            hd_error err = { 0 };
            options.limits.max_memory = limit;
            faults.peak = 0;
            status = hd_read_memory(t.data, t.size, &options, &d, &err);
            assert_int_equal(err.status, status);
            if (status) assert_int_equal(status, HD_LIMIT);
            assert_true(faults.peak <= limit);
            hd_dump_free(d);
            assert_int_equal(faults.live, 0);
            refused++;
        }
        assert_true(refused > 20);
        free(t.data);
    }
}

static void records_stay_within_their_limit(void **state) {
    (void)state;
    static const struct {
        const char *trace;
        uint64_t records;
    } cases[] = {
        { ENTRIES("{'size':'1','bt':''},{'size':'1','bt':'0'},{'size':'1','bt':'1'},{'size':'1','bt':'2'},{'size':'1','bt':'3'},"
                  "{'size':'1','bt':'','type':'1'},{'size':'1','bt':'','type':'2'},{'size':'1','bt':'0','type':'2'}"), 8 },
        { "[" FRAMES "," TYPES "]", 7 },
        { V2_CELLS("", "'nodes':[1,1,1,1,1],'sizes':[1,2,3,4,5]", ""), 5 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = trace_of(cases[i].trace, NULL);
        hd_options options = { .limits.max_records = cases[i].records };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, &err), HD_OK);
        hd_dump_free(d);
        d = NULL;
        options.limits.max_records--;
        options.lenient = true;
        assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, &err), HD_LIMIT);
        assert_int_equal(err.status, HD_LIMIT);
        assert_null(d);
        free(text);
    }
}

static void nesting_stays_within_its_limit(void **state) {
    (void)state;
    static const uint32_t limits[] = { 0, 16, 1024, 5000 }, deepest[] = { 512, 16, 1024, 1024 };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (uint32_t depth = 3; depth <= 100000; depth = depth < deepest[i] ? deepest[i] : depth == deepest[i] ? depth + 1 : depth < 100000 ? 100000 : depth + 1)
            for (int kind = 0; kind < 2; kind++) {
                input t;
                hd_options options = { .limits.max_depth = limits[i], .lenient = kind };
                hd_dump *d = NULL;
                hd_error err = { 0 };
                FILE *f = text_begin(&t);
                fputs("{\"other\":", f);
                for (uint32_t k = 1; k < depth; k++) fputs(kind ? "{\"a\":" : "[", f);
                fputs(kind ? "1" : "", f);
                for (uint32_t k = 1; k < depth; k++) fputc(kind ? '}' : ']', f);
                fputs(",\"traceEvents\":[]}", f);
                fclose(f);
                hd_status status = hd_read_memory(t.data, t.size, &options, &d, &err);
                assert_int_equal(status, depth <= deepest[i] ? HD_OK : HD_LIMIT);
                assert_int_equal(err.status, status);
                if (status) assert_int_equal(err.offset, strlen("{\"other\":") + (deepest[i] - 1) * (kind ? 5 : 1));
                hd_dump_free(d);
                free(t.data);
            }
}

typedef struct progress_seen {
    uint64_t calls, stop_at, last, total;
} progress_seen;

static bool progress(void *user, uint64_t done, uint64_t total) {
    progress_seen *seen = (progress_seen *)user;
    assert_true(done >= seen->last);
    assert_int_equal(total, seen->total);
    seen->last = done;
    return ++seen->calls != seen->stop_at;
}

static void reading_reports_progress_and_can_be_cancelled(void **state) {
    (void)state;
    input t;
    FILE *f = text_begin(&t);
    fputs("[{\"ph\":\"X\"}", f);
    for (int i = 0; i < 10000; i++) fputs(",{\"pid\":1}", f);
    fputs("]", f);
    fclose(f);
    for (int callback = 0; callback < 2; callback++) {
        uint64_t calls = 1;
        for (uint64_t stop = 0; stop <= calls; stop++) {
            progress_seen seen = { .stop_at = stop, .total = callback ? HD_UNKNOWN : t.size };
            hd__faults faults = { 0 };
            hd__reads reads = { .data = t.data, .size = t.size };
            hd_options options = { .allocator = hd__faults_allocator(&faults), .progress = progress, .progress_user = &seen };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            hd_in in = callback ? hd__faults_in(&reads) : hd_in_memory(t.data, t.size);
            assert_int_equal(hd_read(in, &options, &d, &err), stop ? HD_CANCELLED : HD_OK);
            if (stop) {
                assert_int_equal(err.status, HD_CANCELLED);
                assert_null(d);
                assert_int_equal(seen.calls, stop);
            } else {
                calls = seen.calls;
                assert_true(calls > 5);
            }
            hd_dump_free(d);
            assert_int_equal(faults.live, 0);
        }
    }
    free(t.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncation_at_every_byte),
        cmocka_unit_test(every_byte_changed),
        cmocka_unit_test(each_failing_allocation_comes_back),
        cmocka_unit_test(many_heaps_at_the_end_of_a_long_chain),
        cmocka_unit_test(many_processes_at_the_end_of_a_long_chain),
        cmocka_unit_test(crafted_ids_and_pids_are_read_as_fast_as_others),
        cmocka_unit_test(memory_is_in_proportion_to_the_input),
        cmocka_unit_test(memory_stays_within_its_limit),
        cmocka_unit_test(records_stay_within_their_limit),
        cmocka_unit_test(nesting_stays_within_its_limit),
        cmocka_unit_test(reading_reports_progress_and_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
