/* pprof profiles: files of real programs, each rule of the format, and every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"
#include "long.h"
#include "pprof.h"

/* A profile of live bytes and blocks; its strings are 0 to 9. */
#define TYPES "1{1:1 2:2} 1{1:3 2:4} "
#define STRINGS "6'' 6'inuse_objects' 6'count' 6'inuse_space' 6'bytes' 6'main' 6'f' 6'f.c' 6'_Z1gv' 6'type' "
/* Two functions, with a location each. */
#define PLACES "5{1:1 2:5} 5{1:2 2:6 4:7} 4{1:1 4{1:1}} 4{1:2 4{1:2 2:12}} "
#define SAMPLE "2{1(2 1) 2(3 30)} "

static hd_dump *read_bytes(const void *data, size_t size, const hd_options *options) {
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(data, size, options, &dump, &err)) fail_msg("%s", err.message);
    assert_string_equal(hd_dump_format(dump)->name, "pprof");
    return dump;
}
static hd_dump *read_text(const char *text) {
    bytes b = encode(text);
    return read_bytes(b.data, b.size, NULL);
}

/* Compares the cells, in the order of their samples: "/main/f (f.c:12) 30 3". */
static void cells(const hd_heap *heap, const char *text) { assert_text(profile_text(heap->profile), text); }

static void has_cell(const hd_heap *heap, const char *line) {
    char *text = profile_text(heap->profile);
    if (!strstr(text, line)) fail_msg("no '%s' in:\n%s", line, text);
    free(text);
}

static void totals(const hd_heap *heap, const char *allocator, hd_heap_kind kind, uint64_t size, uint64_t blocks) {
    assert_non_null(heap);
    assert_string_equal(heap->allocator, allocator);
    assert_int_equal(heap->kind, kind);
    assert_int_equal(hd_profile_bytes(heap->profile), size);
    assert_int_equal(hd_profile_blocks(heap->profile), blocks);
}

static void writes(const hd_dump *dump, const void *data, size_t size) {
    hd_buffer out = { 0 };
    assert_int_equal(hd_dump_write(dump, NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    hd_buffer_free(&out);
}

/* Files of programs, with the totals that tests/data/README.md quotes. ------------------------------- */

static void gos_profile_has_these_values(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("pprof-go.pb", &data, &size);
    hd_dump *dump = read_bytes(data, size, NULL);
    const hd_heap *total = hd_dump_heap(dump, 0), *live = hd_dump_heap(dump, 1);
    assert_int_equal(hd_dump_heap_count(dump), 2);
    totals(total, "alloc_space", HD_HEAP_TOTAL, 8281602, 29028);
    totals(live, "inuse_space", HD_HEAP_LIVE, 2526692, 15798);
    assert_string_equal(live->process, "heapsample");
    assert_int_equal(live->time_us, 1795330446994211);
    assert_int_equal(live->sample_bytes, 4096);
    assert_int_equal(hd_profile_axis_count(live->profile), 1);
    has_cell(live, "/runtime.main (runtime/proc.go:250) [heapsample]/main.main (heapsample/main.go:47) [heapsample]"
                   "/main.list (heapsample/main.go:23) [heapsample]/main.pair (heapsample/main.go:19) [heapsample] 408680 6385\n");
    has_cell(total, "/main.main.func1 (heapsample/main.go:50) [heapsample] 303104 1\n");
    writes(dump, data, size);
    hd_dump_free(dump);
    free(data);
}

/* Its addresses are 0, so frames have only names. */
static void datadogs_profile_has_these_values(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("pprof-node.pb", &data, &size);
    hd_dump *dump = read_bytes(data, size, NULL);
    const hd_heap *heap = hd_dump_heap(dump, 0);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    totals(heap, "inuse_space", HD_HEAP_LIVE, 10801354, 175454);
    assert_null(heap->process);
    assert_int_equal(heap->sample_bytes, 8192);
    has_cell(heap, "/(external) 2080338 1\n");
    has_cell(heap, "/Module._compile (node:internal/modules/cjs/loader:1483)/(anonymous:L#1:C#1) (/srv/app/dd.js:1)"
                   "/make (/srv/app/dd.js:4)/Item (/srv/app/dd.js:3)/repeat 640168 21629\n");
    writes(dump, data, size);
    hd_dump_free(dump);
    free(data);
}

/* Files and lines without functions, and locations in libraries. */
static void gperftools_profile_has_these_values(void **state) {
    (void)state;
    uint8_t *data;
    size_t size;
    load("pprof-cc.pb", &data, &size);
    hd_dump *dump = read_bytes(data, size, NULL);
    const hd_heap *total = hd_dump_heap(dump, 0), *live = hd_dump_heap(dump, 1);
    totals(total, "alloc_space", HD_HEAP_TOTAL, 8161213, 24260);
    totals(live, "inuse_space", HD_HEAP_LIVE, 4460703, 6259);
    assert_string_equal(live->process, "alloc");
    assert_int_equal(live->sample_bytes, 0);
    has_cell(live, "/alloc+0x11f0/libc.so.6+0x27304/libc.so.6+0x27249/alloc+0x45b2 3145728 1\n");
    has_cell(live, "/alloc+0x44cd/alloc+0x4992 (/usr/include/c++/12/bits/new_allocator.h:137) 1001500 3000\n");
    writes(dump, data, size);
    hd_dump_free(dump);
    free(data);
}

/* Rules. --------------------------------------------------------------------------------------------- */

#define LIVE "/main/f (f.c:12) 30 3\n"

static void fields_come_in_any_order(void **state) {
    (void)state;
    static const char *const orders[] = { TYPES STRINGS PLACES SAMPLE, SAMPLE PLACES TYPES STRINGS, STRINGS PLACES SAMPLE TYPES,
                                          "4{4{1:2 2:12} 1:2} 2{2:3 1:2 2:30 1:1}" STRINGS "4{4{1:1} 1:1} 5{4:7 2:6 1:2} 5{2:5 1:1}" TYPES };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        hd_dump *dump = read_text(orders[i]);
        assert_int_equal(hd_dump_heap_count(dump), 1);
        totals(hd_dump_heap(dump, 0), "inuse_space", HD_HEAP_LIVE, 30, 3);
        cells(hd_dump_heap(dump, 0), LIVE);
        hd_dump_free(dump);
    }
}

static void numbers_are_packed_or_not(void **state) {
    (void)state;
    static const char *const samples[] = { "2{1(2 1) 2(3 30)}", "2{1:2 1:1 2:3 2:30}", "2{1(2) 2:3 1(1) 2(30)}", "2{1:2 2(3 30) 1(1) 2()}" };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char text[1024];
        snprintf(text, sizeof text, TYPES STRINGS PLACES "%s", samples[i]);
        hd_dump *dump = read_text(text);
        cells(hd_dump_heap(dump, 0), LIVE);
        hd_dump_free(dump);
    }
}

/* The lines of a location are innermost first. A location that repeats stands for more frames of the same stack. */
static void inlined_calls_are_frames(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS "5{1:7 2:5} 5{1:9 2:6 4:7} 4{1:300 4{1:9 2:12} 4{1:9 2:40} 4{1:7}} 4{1:1 4{1:7}}"
                              "2{1(300 1 300) 2(1 10)} 2{1(300 1) 2(2 20)} 2{1(300 1) 2(4 40)}");
    cells(hd_dump_heap(dump, 0), "/main/f (f.c:40)/f (f.c:12)/main/main/f (f.c:40)/f (f.c:12) 10 1\n/main/main/f (f.c:40)/f (f.c:12) 60 6\n");
    hd_dump_free(dump);
}

static void frames_have_the_known_names(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS "6'/usr/lib/libc.so.6' 6'ab12' 3{1:1 2:4096 3:8192 4:256 5:10} 3{1:2 2:4096 6:11} 3{1:3}"
                              "5{1:1 3:8} 5{1:2 4:7} 5{1:3 2:5 4:7}"
                              "4{1:1 4{1:1}} 4{1:2 2:1 3:4100} 4{1:3 2:2 3:4097} 4{1:4 2:3 3:255} 4{1:5 2:9 3:16} 4{1:6 2:1 3:4101 4{1:2 2:3}}"
                              "4{1:7 4{1:3}} 4{1:8 4{1:1 2:4}} 4{1:9 2:1 3:5} 4{1:10 4{2:3}}"
                              "2{1(10 9 8 7 6 5 4 3 2 1) 2(1 1)} 2{2(2 2)}");
    cells(hd_dump_heap(dump, 0), "/_Z1gv/libc.so.6+0x104/ab12+0x1/0xff/0x10/libc.so.6+0x105 (f.c:3)/main (f.c:0)/_Z1gv (:4)"
                                 "/libc.so.6+0x5/0x0 (:3) 1 1\n/ 2 2\n");
    assert_string_equal(hd_dump_heap(dump, 0)->process, "libc.so.6");
    hd_dump_free(dump);
}

static void types_are_heaps_by_their_names(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *blocks, *allocator;
        hd_heap_kind kind;
        bool paired;
    } types[] = {
        { "inuse_space", "inuse_objects", "inuse_space", HD_HEAP_LIVE, true },
        { "alloc_space", "alloc_objects", "alloc_space", HD_HEAP_TOTAL, true },
        { "space", "objects", "space", HD_HEAP_LIVE, true },
        { "peak_space", "peak_objects", "peak_space", HD_HEAP_PEAK, true },
        { "temporary_space", "temporary_objects", "temporary_space", HD_HEAP_TEMPORARY, true },
        { "malloc_inuse_space", "malloc_inuse_objects", "malloc", HD_HEAP_LIVE, true },
        { "a_b_alloc_space", "a_b_alloc_objects", "a_b", HD_HEAP_TOTAL, true },
        { "a_b_alloc_space", "a_c_alloc_objects", "a_b", HD_HEAP_TOTAL, false },
        { "Total malloc size", "Total malloc count", "Total malloc size", HD_HEAP_TOTAL, true },
        { "Unreleased malloc size", "Unreleased malloc count", "Unreleased malloc size", HD_HEAP_LIVE, true },
        { "alloc_in_new_tlab_bytes", "alloc_in_new_tlab_objects", "alloc_in_new_tlab_bytes", HD_HEAP_TOTAL, true },
        { "live_bytes", "live_count", "live_bytes", HD_HEAP_LIVE, true },
        { "memory", "objects", "memory", HD_HEAP_LIVE, false },
        { "inuse_space", "alloc_objects", "inuse_space", HD_HEAP_LIVE, false },
        { "space", "spaceobjects", "space", HD_HEAP_LIVE, false },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[1024];
        snprintf(text, sizeof text, "1{1:1 2:2} 1{1:3 2:4} 6'' 6'%s' 6'bytes' 6'%s' 6'count' 2{2(30 3)}", types[i].bytes, types[i].blocks);
        hd_dump *dump = read_text(text);
        assert_int_equal(hd_dump_heap_count(dump), 1);
        totals(hd_dump_heap(dump, 0), types[i].allocator, types[i].kind, 30, types[i].paired ? 3 : 0);
        assert_true(hd_profile_cells(hd_dump_heap(dump, 0)->profile).amount[0].blocks == (types[i].paired ? 3 : HD_UNKNOWN));
        hd_dump_free(dump);
    }
}

static void count_warning(void *user, const hd_error *warning) {
    char **last = (char **)user;
    free(*last);
    *last = strdup(warning->message);
}

static void units_are_reported(void **state) {
    (void)state;
    char *last = NULL;
    hd_options options = { .warning = count_warning, .warning_user = &last };
    bytes b = encode("1{1:1 2:2} 1{1:3 2:4} 1{1:5 2:6} 6'' 6'space' 6'kilobytes' 6'cpu' 6'nanoseconds' 6'samples' 6'count' 2{2(3 7 1)}");
    hd_dump *dump = read_bytes(b.data, b.size, &options);
    totals(hd_dump_heap(dump, 0), "space", HD_HEAP_LIVE, 3072, 0);
    assert_string_equal(last, "2 of 3 sample types do not count memory and are left out: 'cpu' in 'nanoseconds', ...");
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_dump_free(dump);
    free(last);
}

/* A profile has only one sampling period. */
static void heaps_with_different_sampling_are_reported(void **state) {
    (void)state;
    char *last = NULL;
    hd_options options = { .warning = count_warning, .warning_user = &last };
    hd_profile *p = profile_new(1);
    hd_heap heaps[2] = { { .profile = p, .allocator = "malloc", .sample_bytes = 4096 },
                         { .profile = p, .allocator = "malloc", .kind = HD_HEAP_TOTAL, .sample_bytes = 4096 } };
    add_cell(p, "/main", NULL, 10, 1);
    for (int i = 0; i < 2; i++) {
        hd_buffer out = { 0 };
        assert_int_equal(hd_pprof_write(heaps, 2, &options, hd_out_memory(&out), NULL), HD_OK);
        hd_buffer_free(&out);
        if (!i) assert_null(last);
        else assert_string_equal(last, "heaps have different sampling intervals, but the profile states 4096 bytes "
                                       "for all");
        heaps[0].sample_bytes = 0;
    }
    hd_profile_free(p);
    free(last);
}

static void labels_are_axes(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS PLACES "6'user' 6'ann' 6'Cat' 6'kB' 6'bytes' 6'size'"
                              "2{1(2 1) 2(1 10) 3{1:10 2:11} 3{1:9 2:12} 3{1:14 3:48}}"
                              "2{1(2 1) 2(2 20) 3{1:9 2:12} 3{1:10 2:11} 3{1:14 3:16}}"
                              "2{1(2 1) 2(1 5)}"
                              "2{2(1 7) 3{1:15 3:-64 4:13} 3{1:9 2:12} 3{1:9 2:11}}");
    const hd_heap *heap = hd_dump_heap(dump, 0);
    static const char *const names[] = { "backtrace", "type", "size", "user" };
    assert_int_equal(hd_profile_axis_count(heap->profile), 4);
    for (uint32_t a = 0; a < 4; a++) assert_string_equal(hd_profile_axis(heap->profile, a).name, names[a]);
    cells(heap, "/main/f (f.c:12) /Cat / /ann 30 3\n/main/f (f.c:12) / / / 5 1\n/ /Cat/ann /-64 kB / 7 1\n");
    hd_dump_free(dump);
}

static void labels_beyond_the_axes_are_reported(void **state) {
    (void)state;
    char text[2048] = "1{1:1 2:2} 6'' 6'space' 6'bytes' 6'v' 2{2:9 ", *last = NULL;
    hd_options options = { .warning = count_warning, .warning_user = &last };
    for (int i = 0; i < 9; i++) sprintf(text + strlen(text), "3{1:%d 2:3} ", 4 + i);
    strcat(text, "} ");
    for (int i = 0; i < 9; i++) sprintf(text + strlen(text), "6'k%d' ", i);
    bytes b = encode(text);
    hd_dump *dump = read_bytes(b.data, b.size, &options);
    assert_int_equal(hd_profile_axis_count(hd_dump_heap(dump, 0)->profile), HD_MAX_AXES);
    cells(hd_dump_heap(dump, 0), "/ /v /v /v /v /v /v /v 9 -\n");
    assert_string_equal(last, "more than 7 keys of labels: labels of 'k7' and later keys are left out");
    hd_dump_free(dump);
    free(last);
}

/* Live blocks of n bytes, sampled every R bytes on average, represent other blocks, with a variance. */
static void estimates_have_errors(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS PLACES "11{1:3 2:4} 12:1000 9:7000 " "2{1(2 1) 2(10 10000) 3{1:4 3:1000}}");
    const hd_heap *heap = hd_dump_heap(dump, 0);
    const hd_amount *amount = hd_profile_cells(heap->profile).amount;
    assert_int_equal(heap->sample_bytes, 1000);
    assert_int_equal(heap->time_us, 7);
    assert_int_equal(hd_standard_error(amount->variance), 2412); /* sqrt(10 x 1000^2 / (e - 1)) */
    hd_dump_free(dump);
    dump = read_text(TYPES STRINGS PLACES "11{1:3 2:4} 12:1 " SAMPLE);
    assert_int_equal(hd_dump_heap(dump, 0)->sample_bytes, 0);
    hd_dump_free(dump);
}

static void comments_are_labels(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS PLACES SAMPLE "6'process: a b' 6'pid: 12' 6'dump: 0x1' 6'allocator: malloc' 6'time_us: 5' 13:10 13(11 12 13 14)");
    const hd_heap *heap = hd_dump_heap(dump, 0);
    assert_string_equal(heap->process, "a b");
    assert_int_equal(heap->pid, 12);
    assert_string_equal(heap->dump, "0x1");
    assert_string_equal(heap->allocator, "malloc");
    assert_int_equal(heap->time_us, 5);
    hd_dump_free(dump);
}

static void these_are_taken(void **state) {
    (void)state;
    static const char *const texts[] = {
        TYPES STRINGS,                                                  /* no samples */
        TYPES STRINGS PLACES SAMPLE "15'more' 99:1 100(1 2) 20{1:2}",   /* fields of later versions */
        TYPES STRINGS "4{1:1 2:77 3:9} 2{1:1 2(1 1)}",                  /* there is no mapping with this id */
        TYPES STRINGS "2{2(1 1)}",                                      /* no stack */
        TYPES STRINGS "4{1:1 5:1 9:9} 2{1:1 2(1 1) 7:1}",
        TYPES STRINGS "5{1:18446744073709551615} 4{1:18446744073709551615 4{1:18446744073709551615}} 2{1:18446744073709551615 2(1 1)}",
        /* unknown fields, of 64 and 32 bits */
        TYPES STRINGS PLACES SAMPLE "%a1%01%00%00%00%00%00%00%00%00 %f5%01%00%00%00%00",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bytes b = encode(texts[i]);
        hd_dump *dump = read_bytes(b.data, b.size, NULL);
        assert_int_equal(hd_dump_warning_count(dump), 0);
        writes(dump, b.data, b.size);
        hd_dump_free(dump);
    }
}

/* Faults. -------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    hd_status status;
    uint64_t offset;             /* 0: none */
    const char *message;
    uint64_t left;               /* bytes after lenient reading; HD_UNKNOWN: it finds no heap either */
} bad[] = {
    { TYPES, HD_MALFORMED, 12, "expected a table of strings, found none", HD_UNKNOWN },
    { TYPES "6'x'", HD_MALFORMED, 14, "expected string 0 to be empty, found 'x'", HD_UNKNOWN },
    { TYPES STRINGS PLACES SAMPLE "2{2(1)}", HD_MALFORMED, 127, "expected a sample with 2 values, one per type, found 1", 30 },
    { TYPES STRINGS PLACES SAMPLE "2{2(1 2 3)}", HD_MALFORMED, 127, "expected a sample with 2 values, one per type, found 3", 30 },
    { "6'' 2{1(1)}", HD_MALFORMED, 0, "expected types of the 1 samples, found none", 0 },
    { TYPES STRINGS PLACES SAMPLE "2{1(2 3) 2(1 1)}", HD_MALFORMED, 127, "expected the id of a location, found 3", 30 },
    { TYPES STRINGS PLACES SAMPLE "2{1:0 2(1 1)}", HD_MALFORMED, 127, "expected the id of a location, found 0", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{1:0}", HD_MALFORMED, 127, "expected a location with an id above 0, found 0", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{}", HD_MALFORMED, 127, "expected a location with an id above 0, found 0", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{1:2}", HD_MALFORMED, 127, "duplicate id 2 of a location", 30 },
    { TYPES STRINGS PLACES SAMPLE "5{1:1}", HD_MALFORMED, 127, "duplicate id 1 of a function", 30 },
    { TYPES STRINGS PLACES SAMPLE "5{2:1}", HD_MALFORMED, 127, "expected a function with an id above 0, found 0", 30 },
    { TYPES STRINGS PLACES SAMPLE "3{1:1} 3{1:1}", HD_MALFORMED, 131, "duplicate id 1 of a mapping", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{1:7} 4{1:7}", HD_MALFORMED, 131, "duplicate id 7 of a location", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{1:3 4{1:9}}", HD_MALFORMED, 131, "expected the id of a function, found 9", 30 },
    { TYPES STRINGS PLACES SAMPLE "4{1:3 4:9}", HD_MALFORMED, 127, "expected a location with fields of the right types", 30 },
    { TYPES STRINGS PLACES SAMPLE "5{1:3 2:10}", HD_MALFORMED, 127, "expected one of 10 strings in a function, found number 10", 30 },
    { TYPES STRINGS PLACES SAMPLE "3{1:3 5:10}", HD_MALFORMED, 127, "expected one of 10 strings in a mapping, found number 10", 30 },
    { TYPES STRINGS PLACES SAMPLE "13:10", HD_MALFORMED, 0, "expected one of 10 strings in a comment, found number 10", 30 },
    { TYPES STRINGS PLACES SAMPLE "11{1:18446744073709551615}", HD_MALFORMED, 127, "expected one of 10 strings in a period's type", 30 },
    { "1{1:99 2:4}" STRINGS "2{2:5}", HD_MALFORMED, 2, "expected one of 10 strings in a type, found number 99", 5 },
    { TYPES STRINGS PLACES SAMPLE "2{2(1 1) 3{1:10}}", HD_MALFORMED, 133, "expected strings below 10 in a label, found 10, 0 and 0", 31 },
    { TYPES STRINGS PLACES SAMPLE "2{2(1 1) 3:1}", HD_MALFORMED, 127, "expected a sample with fields of the right types", 30 },
    { TYPES STRINGS PLACES SAMPLE "2:1", HD_MALFORMED, 125, "expected wire type 2 in field 2 of a profile, found 0", 30 },
    { TYPES STRINGS PLACES SAMPLE "12(1 1)", HD_MALFORMED, 125, "expected wire type 0 in field 12 of a profile, found 2", 30 },
    { TYPES STRINGS PLACES SAMPLE "2#9999999999", HD_MALFORMED, 125, "expected a field that ends within the input's 131 bytes", 30 },
    { TYPES STRINGS PLACES SAMPLE "6#18446744073709551615", HD_MALFORMED, 125, "expected a field that ends within the input's 136 bytes", 30 },
    { TYPES STRINGS PLACES SAMPLE "%48%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff", HD_MALFORMED, 125, "a field that ends within", 30 },
    { TYPES STRINGS PLACES SAMPLE "%4b", HD_MALFORMED, 125, "a field that ends within", 30 }, /* wire type 3 */
    { TYPES STRINGS PLACES SAMPLE "2{1#5} ", HD_MALFORMED, 127, "expected a sample with fields of the right types", 30 },
    { TYPES STRINGS PLACES SAMPLE "2{2(1 1) 1{%80}}", HD_MALFORMED, 127, "expected a sample with fields of the right types", 30 },
    { TYPES STRINGS PLACES SAMPLE "2{1(2 1) 2(3 18446744073709551615)}", HD_MALFORMED, 127,
      "expected inuse_space of at least 0, found -1: the heap lacks this sample", 30 },
    { TYPES STRINGS PLACES SAMPLE "2{2(1 9223372036854775807)} 2{2(1 9223372036854775807)}", HD_OVERFLOW, 141,
      "the samples add up to more than 2^64 - 2 bytes or blocks", UINT64_C(9223372036854775837) },
    { TYPES STRINGS PLACES SAMPLE TYPES STRINGS PLACES SAMPLE, HD_MALFORMED, 210, "duplicate id 1 of a function", 0 },
    { "1{1:1 2:2} 1{1:3 2:4} 6'' 6'samples' 6'count' 6'cpu' 6'nanoseconds' 2{2(1 1)}", HD_UNSUPPORTED, 2,
      "expected a memory profile with sample types in bytes, found 'samples' in 'count'", HD_UNKNOWN },
};

static void these_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bytes b = encode(bad[i].text);
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        hd_status status = hd_read_memory(b.data, b.size, NULL, &dump, &err);
        if (status != bad[i].status || !strstr(err.message, bad[i].message) || (bad[i].offset && err.offset != bad[i].offset))
            fail_msg("%zu: '%s' at %" PRIu64, i, err.message, err.offset);
        hd__reads reads = { .data = b.data, .size = b.size, .chunk = 3 };
        assert_int_equal(hd_read(hd__faults_in(&reads), NULL, &dump, NULL), status);
        assert_null(dump);
        status = hd_read_memory(b.data, b.size, &(hd_options){ .lenient = true }, &dump, &err);
        if (status != (bad[i].left == HD_UNKNOWN ? HD_UNSUPPORTED : HD_OK)) fail_msg("%zu: leniently '%s'", i, err.message);
        if (status) continue;
        assert_true(hd_dump_warning_count(dump) > 0);
        uint64_t kept = hd_dump_heap_count(dump) ? hd_profile_bytes(hd_dump_heap(dump, hd_dump_heap_count(dump) - 1)->profile) : 0;
        if (kept != bad[i].left) fail_msg("%zu: %" PRIu64 " bytes kept", i, kept);
        assert_int_equal(hd_dump_write(dump, NULL, hd_out_callback(NULL, NULL), &err), HD_UNSUPPORTED);
        hd_dump_free(dump);
    }
}

/* A few bytes may refer to many stacks and names. */
static void expansion_is_bounded(void **state) {
    (void)state;
    static bytes b, inner;
    bytes part;
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    char text[64];
    b = encode(TYPES STRINGS);
    inner.size = 0;
    put_number(&inner, 8), put_number(&inner, 1);
    for (int i = 0; i < 300; i++) {
        part = encode("4{2:1}");
        memcpy(inner.data + inner.size, part.data, part.size), inner.size += part.size;
    }
    put_bytes(&b, 4, &inner);
    inner.size = 0;
    for (int i = 0; i < 600; i++) inner.data[inner.size++] = 1;
    part = encode("2(1 1)");
    bytes sample = { .size = 0 };
    put_bytes(&sample, 1, &inner);
    memcpy(sample.data + sample.size, part.data, part.size), sample.size += part.size;
    put_bytes(&b, 2, &sample);
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    assert_int_equal(hd_read_memory(b.data, b.size, &options, &dump, &err), HD_LIMIT);
    assert_string_equal(err.message, "stacks unfold to more than 4 frames per byte of the profile");
    assert_true(f.peak < 256 * b.size + 524288);
    assert_int_equal(f.live, 0);

    b = encode(TYPES STRINGS "5{1:1 2:10 4:7}");
    memset(inner.data, 'x', inner.size = 2000);
    put_bytes(&b, 6, &inner);
    for (int i = 1; i < 130; i++) {
        snprintf(text, sizeof text, "4{1:%d 4{1:1 2:%d}}", i, i);
        part = encode(text);
        memcpy(b.data + b.size, part.data, part.size), b.size += part.size;
    }
    assert_int_equal(hd_read_memory(b.data, b.size, &options, &dump, &err), HD_OK);
    hd_dump_free(dump);
    for (int i = 130; i < 230; i++) {
        snprintf(text, sizeof text, "4{1:%d 4{1:1 2:%d}}", i, i);
        part = encode(text);
        memcpy(b.data + b.size, part.data, part.size), b.size += part.size;
    }
    assert_int_equal(hd_read_memory(b.data, b.size, &options, &dump, &err), HD_LIMIT);
    assert_string_equal(err.message, "names unfold to more than 64 times the profile's bytes");
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static void records_have_a_limit(void **state) {
    (void)state;
    bytes b = encode(TYPES STRINGS PLACES SAMPLE);
    for (uint64_t most = 1; most < 12; most++) {
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        hd_status status = hd_read_memory(b.data, b.size, &(hd_options){ .limits.max_records = most }, &dump, &err);
        assert_int_equal(status, most < 10 ? HD_LIMIT : HD_OK);
        hd_dump_free(dump);
    }
}

static const char *const whole[] = { TYPES STRINGS PLACES SAMPLE "3{1:1 2:1 3:2 5:6} 2{1:1 2(1 2) 3{1:9 2:8} 3{1:5 3:-1}} 9:99 10:1 11{1:3 2:4} 12:512 13:6 14:1",
                                     "pprof-go.pb", "pprof-node.pb" };

static void load_whole(size_t i, uint8_t **data, size_t *size) {
    if (i) {
        load(whole[i], data, size);
    } else {
        bytes b = encode(whole[0]);
        *data = malloc(*size = b.size);
        memcpy(*data, b.data, b.size);
    }
}

static void each_truncation_is_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t *data, *copy;
        size_t size, taken = 0;
        load_whole(i, &data, &size);
        for (size_t n = 0; n < size; n++) {
            hd_dump *dump = NULL, *part = NULL;
            hd_error err = { 0 };
            copy = malloc(n ? n : 1);            /* so that sanitizers find a read past the end */
            memcpy(copy, data, n);
            hd_status status = hd_read_memory(copy, n, NULL, &dump, &err);
            taken += !status;                    /* cut between two fields, it may be complete */
            assert_true(status == HD_OK || status == HD_MALFORMED || (status == HD_UNKNOWN_FORMAT && n < 64) || status == HD_UNSUPPORTED);
            if (status == HD_MALFORMED) assert_true(err.offset <= n);
            hd_status lenient = hd_read_memory(copy, n, &(hd_options){ .lenient = true }, &part, NULL);
            assert_true(lenient == HD_OK || lenient == status || lenient == HD_UNSUPPORTED);
            hd_dump_free(dump);
            hd_dump_free(part);
            free(copy);
        }
        assert_true(taken < 20);
        free(data);
    }
}

static void each_flipped_bit_is_survived(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t *data;
        size_t size;
        load_whole(i, &data, &size);
        for (size_t n = 0; n < 8 * size; n += (size_t)(i ? 11 : long_or_short(1, 3))) {
            hd_dump *dump = NULL, *part = NULL;
            data[n / 8] ^= (uint8_t)(1 << n % 8);
            hd_status status = hd_read_memory(data, size, NULL, &dump, NULL);
            hd_status lenient = hd_read_memory(data, size, &(hd_options){ .lenient = true }, &part, NULL);
            if (!status) assert_int_equal(lenient, HD_OK);
            if (!lenient) assert_int_equal(status != HD_OK, hd_dump_warning_count(part) != 0);
            hd_dump_free(dump);
            hd_dump_free(part);
            data[n / 8] ^= (uint8_t)(1 << n % 8);
        }
        free(data);
    }
}

static void each_refused_allocation_is_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint8_t *data;
        size_t size;
        hd__faults f = { 0 };
        load_whole(i, &data, &size);
        HD__EACH_FAULT(f) {
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_dump *dump = NULL;
            hd_status status = hd_read_memory(data, size, &options, &dump, NULL);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            hd_dump_free(dump);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        assert_true(f.count > 30);
        free(data);
    }
}

static bool stop(void *user, uint64_t done, uint64_t total) { return (void)done, (void)total, --*(int *)user > 0; }

static void reading_can_be_stopped(void **state) {
    (void)state;
    bytes b = encode(TYPES STRINGS PLACES SAMPLE);
    int left = 1;
    hd_dump *dump = NULL;
    assert_int_equal(hd_read_memory(b.data, b.size, &(hd_options){ .progress = stop, .progress_user = &left }, &dump, NULL), HD_OK);
    hd_dump_free(dump);
}

/* The first bytes of other formats, and of texts. */
static void other_inputs_are_not_taken(void **state) {
    (void)state;
    static const char *const texts[] = { "\n\n", "\n", "\n{\"traceEvents\":[]}", "a;b 12\n", "java;main 12\n", "\"(", "2;a 3\n", "*;b 1\n",
                                         "heap profile: 1: 2 [3: 4] @ heapprofile\n", "\"a\" \"b\" \"c\"", "2\0", "j\x05hello" };
    const hd_format *pprof = NULL, *f;
    for (size_t i = 0; (f = hd_format_at(i)) != NULL; i++)
        if (!strcmp(f->name, "pprof")) pprof = f;
    assert_non_null(pprof);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (pprof->detect((const uint8_t *)texts[i], strlen(texts[i]))) fail_msg("'%s' is taken", texts[i]);
    assert_int_equal(pprof->detect((const uint8_t *)"\x5a\4\10\1\20\2", 6), 90);
    assert_int_equal(pprof->detect((const uint8_t *)"\x0a\4\10\1\20\2", 6), 90);
    for (size_t i = 0; i < 3; i++) {
        uint8_t *data;
        size_t size;
        load_whole(i, &data, &size);
        for (size_t n = 12; n <= size && n <= HD_DETECT_BYTES; n++) assert_true(pprof->detect(data, n) > 0);
        free(data);
    }
}

/* Writing. ------------------------------------------------------------------------------------------- */

static hd_buffer written(const hd_heap *heaps, size_t count) {
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_pprof_write(heaps, count, NULL, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    return out;
}

static hd_dump *reread(const hd_heap *heaps, size_t count) {
    hd_buffer out = written(heaps, count);
    hd_dump *dump = read_bytes(out.data, out.size, NULL);
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_buffer_free(&out);
    return dump;
}

/* Whether `out` contains these fields, in a row. */
static bool contains(const hd_buffer *out, const char *fields) {
    bytes b = encode(fields);
    for (size_t at = 0; at + b.size <= out->size; at++)
        if (!memcmp(out->data + at, b.data, b.size)) return true;
    return false;
}

static void is_refused(const hd_heap *heaps, size_t count, hd_status status, const char *message) {
    hd_error err = { 0 };
    assert_int_equal(hd_pprof_write(heaps, count, NULL, hd_out_callback(NULL, NULL), &err), status);
    assert_string_equal(err.message, message);
}

static void a_heap_has_these_bytes(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    uint32_t nodes[2] = { 0, 0 };
    hd_profile_node(p, 0, 0, hd_cstr("main"), &nodes[0], NULL);
    hd_profile_node(p, 0, nodes[0], hd_cstr("f (/src/f.c:12)"), &nodes[0], NULL);
    hd_profile_node(p, 1, 0, hd_cstr("T"), &nodes[1], NULL);
    hd_profile_add(p, nodes, 30, 3, NULL);
    add_cell(p, "/main", NULL, 5, 1);
    add_cell(p, "/none", NULL, 0, 0);
    hd_heap heap = { .pid = 7, .process = "app", .dump = "0x1", .time_us = 9, .allocator = "malloc", .sample_bytes = 512, .profile = p };
    hd_buffer out = written(&heap, 1);
    bytes b = encode("1{1:1 2:2} 1{1:3 2:4} 2{1(1) 2(1 5)} 2{1(2 1) 2(3 30) 3{1:9 2:10}} 4{1:1 4{1:1}} 4{1:2 4{1:2 2:12}} 4{1:3 4{1:3}}"
               "5{1:1 2:5 3:5} 5{1:2 2:6 3:6 4:7} 5{1:3 2:8 3:8}"
               "6'' 6'inuse_objects' 6'count' 6'inuse_space' 6'bytes' 6'main' 6'f' 6'/src/f.c' 6'none' 6'type' 6'T'"
               "6'process: app' 6'pid: 7' 6'dump: 0x1' 6'time_us: 9' 6'allocator: malloc' 6'space'"
               "11{1:16 2:4} 12:512 13:11 13:12 13:13 13:14 13:15 14:3");
    assert_int_equal(out.size, b.size);
    assert_memory_equal(out.data, b.data, b.size);
    hd_buffer_free(&out);
    hd_dump *dump = reread(&heap, 1);
    const hd_heap *again = hd_dump_heap(dump, 0);
    assert_int_equal(again->pid, 7);
    assert_int_equal(again->time_us, 9);
    assert_int_equal(again->sample_bytes, 512);
    assert_string_equal(again->process, "app");
    assert_string_equal(again->dump, "0x1");
    assert_string_equal(again->allocator, "malloc");
    cells(again, "/main / 5 1\n/main/f (/src/f.c:12) /T 30 3\n");
    hd_dump_free(dump);
    hd_profile_free(p);
}

/* Any name of a frame reads as the same name again. */
static void names_come_back(void **state) {
    (void)state;
    static const char *const names[] = {
        "f", "f (a.c:1)", "f (a.c:0)", "f (:1)", "f (:0)", "f (a.c)", "f (a.c:01)", "f (a.c:-1)", "f (a.c: 1)", "(a.c:1)", " (a.c:1)", "f(a.c:1)",
        "operator()(int) const (a b/c (d)/x.cc:99)", "f (a)b:3)", "f ((:3)", "f (a.c:12) (b.c:13)", "f (a.c:999999999999999999)",
        "f (a.c:9999999999999999999)", "f (a.c:1", ")", "()", "(:1)", " (:1)", "x (:)", "\xff\xfe (\x01:7)", "std::function<void (int)>",
        "(anonymous:L#1:C#1)", "(external)", "0x1f", "libc.so.6+0x1f", "f (:18446744073709551615)", "f (a:b:3)", "f (C:\\a.c:3)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hd_profile *p = profile_new(1);
        uint32_t node;
        hd_profile_node(p, 0, 0, hd_cstr(names[i]), &node, NULL);
        hd_profile_add(p, &node, 1, 1, NULL);
        hd_dump *dump = reread(&(hd_heap){ .profile = p }, 1);
        hd_str name = hd_profile_axis(hd_dump_heap(dump, 0)->profile, 0).node_name[1];
        if (!hd_str_equal(name, hd_cstr(names[i]))) fail_msg("'%s' became '" HD_FMT "'", names[i], HD_ARG(name));
        hd_dump_free(dump);
        hd_profile_free(p);
    }
}

static void names_are_split_into_parts(void **state) {
    (void)state;
    static const struct {
        const char *name, *function, *file;
        unsigned line;
    } rows[] = {
        { "f (a.c:12)", "f", "a.c", 12 },
        { "operator()(int) const (/a b/c (d)/x.cc:99)", "operator()(int) const", "/a b/c (d)/x.cc", 99 },
        { "f (a.c)", "f (a.c)", "", 0 },
        { "f (:3)", "f", "", 3 },
        { "f (:0)", "f (:0)", "", 0 },
        { "f (C:\\a.c:3)", "f", "C:\\a.c", 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256], place[64] = "", file[64] = "";
        hd_profile *p = profile_new(1);
        uint32_t node;
        hd_profile_node(p, 0, 0, hd_cstr(rows[i].name), &node, NULL);
        hd_profile_add(p, &node, 1, HD_UNKNOWN, NULL);
        hd_buffer out = written(&(hd_heap){ .profile = p }, 1);
        if (rows[i].line) sprintf(place, "2:%u", rows[i].line);
        if (*rows[i].file) sprintf(file, "4:4");
        snprintf(text, sizeof text, "4{1:1 4{1:1 %s}} 5{1:1 2:3 3:3 %s} 6'' 6'inuse_space' 6'bytes' 6'%s'", place, file, rows[i].function);
        assert_true(contains(&out, text));
        if (*rows[i].file) snprintf(text, sizeof text, "6'%s'", rows[i].file);
        assert_true(contains(&out, text));
        hd_buffer_free(&out);
        hd_profile_free(p);
    }
}

/* Heaps with equal stacks share them; live bytes are the last type. */
static void heaps_are_types(void **state) {
    (void)state;
    hd_profile *live = profile_new(1), *total = profile_new(1), *peak = profile_new(1), *third = profile_new(1);
    uint32_t node;
    for (int i = 0; i < 4; i++) {
        hd_profile *p = i == 0 ? live : i == 1 ? total : i == 2 ? peak : third;
        node = path_node(p, 0, i == 2 ? "/a/c" : "/a/b");
        hd_profile_add(p, &node, 10u << i, i == 3 ? HD_UNKNOWN : 1u << i, NULL);
    }
    hd_heap heaps[4] = { { .allocator = "malloc", .profile = live }, { .allocator = "malloc", .kind = HD_HEAP_TOTAL, .profile = total },
                         { .allocator = "malloc", .kind = HD_HEAP_PEAK, .profile = peak },
                         { .allocator = "malloc", .kind = HD_HEAP_TEMPORARY, .profile = third } };
    hd_buffer out = written(heaps, 4);
    assert_true(contains(&out, "1{1:1 2:2} 1{1:3 2:4} 1{1:5 2:2} 1{1:6 2:4} 1{1:7 2:2} 1{1:8 2:4} 1{1:9 2:2}"));
    assert_true(contains(&out, "6'' 6'temporary_space' 6'bytes' 6'alloc_objects' 6'count' 6'alloc_space' 6'peak_objects' 6'peak_space'"));
    hd_buffer_free(&out);
    hd_dump *dump = reread(heaps, 4);
    static const hd_heap_kind kinds[] = { HD_HEAP_TEMPORARY, HD_HEAP_TOTAL, HD_HEAP_PEAK, HD_HEAP_LIVE };
    static const char *const texts[] = { "/a/b 80 -\n", "/a/b 20 2\n", "/a/c 40 4\n", "/a/b 10 1\n" };
    assert_int_equal(hd_dump_heap_count(dump), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(hd_dump_heap(dump, i)->allocator, "malloc");
        assert_int_equal(hd_dump_heap(dump, i)->kind, kinds[i]);
        cells(hd_dump_heap(dump, i), texts[i]);
    }
    hd_dump_free(dump);

    heaps[1] = (hd_heap){ .allocator = "blink_gc", .profile = total };
    heaps[2] = (hd_heap){ .allocator = "inuse_space", .profile = peak };
    heaps[3] = (hd_heap){ .allocator = "alloc_space", .kind = HD_HEAP_TOTAL, .profile = third };
    dump = reread(heaps, 4);
    totals(hd_dump_heap(dump, 0), "alloc_space", HD_HEAP_TOTAL, 80, 0);
    totals(hd_dump_heap(dump, 1), "malloc", HD_HEAP_LIVE, 10, 1);
    totals(hd_dump_heap(dump, 2), "blink_gc", HD_HEAP_LIVE, 20, 2);
    totals(hd_dump_heap(dump, 3), "inuse_space", HD_HEAP_LIVE, 40, 4);
    hd_dump_free(dump);

    is_refused(heaps, 0, HD_INVALID, "expected at least one heap for a pprof profile");
    heaps[1] = heaps[0];
    is_refused(heaps, 2, HD_INVALID, "duplicate heap of malloc (live)");
    heaps[1].allocator = "x";
    heaps[1].pid = 3;
    is_refused(heaps, 2, HD_UNSUPPORTED, "a pprof profile has one dump of one process: choose dump 0x1 of pid 0 or dump 0x1 of pid 3");
    heaps[0].profile = NULL;
    is_refused(heaps, 1, HD_INVALID, "a heap needs a profile or a breakdown");
    hd_profile_add(live, &node, (uint64_t)1 << 63, 1, NULL);
    heaps[0].profile = live;
    is_refused(heaps, 1, HD_OVERFLOW, "expected numbers below 2^63 for a pprof profile");
    hd_profile_free(live), hd_profile_free(total), hd_profile_free(peak), hd_profile_free(third);
}

/* The leaves of the tree add up to the total; unlisted bytes have a name. */
static void breakdowns_add_up(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    const hd_cutoff cutoffs[] = { { 0 }, { .min_bytes = 300 }, { .min_share = 0.2 }, { .top = 1 } };
    for (size_t i = 0; i < 4; i++) {
        hd_breakdown *b;
        assert_int_equal(hd_export(p, &cutoffs[i], NULL, &b, NULL), HD_OK);
        hd_heap heap = { .allocator = "malloc", .breakdown = b };
        hd_dump *dump = reread(&heap, 1);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), hd_profile_bytes(p));
        if (!i) { /* everything listed: each stack with its values of each type */
            hd_breakdown *again;
            assert_int_equal(hd_export(hd_dump_heap(dump, 0)->profile, NULL, NULL, &again, NULL), HD_OK);
            assert_true(breakdowns_equal(b, again));
            hd_breakdown_free(again);
        }
        hd_dump_free(dump);
        hd_breakdown_free(b);
    }
    hd_breakdown *b;
    assert_int_equal(hd_export(p, &cutoffs[1], NULL, &b, NULL), HD_OK);
    hd_heap heap = { .breakdown = b };
    hd_dump *dump = reread(&heap, 1);
    has_cell(hd_dump_heap(dump, 0), "/BrMain/MsgLp /T 307 -\n");
    has_cell(hd_dump_heap(dump, 0), "/<other> / 34 -\n");
    hd_dump_free(dump);
    hd_buffer out = written(&heap, 1);
    assert_true(contains(&out, "6'cut off: 894 bytes (live) are not listed: <other>'"));
    hd_buffer_free(&out);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* Random heaps are equal after writing and reading. */
static void random_heaps_come_back(void **state) {
    (void)state;
    uint64_t r = 5;
    for (int round = 0; round < 200; round++) {
        uint32_t axes = 1 + (uint32_t)hd__test_below(&r, 4);
        hd_profile *p = profile_new(axes);
        for (uint64_t n = 1 + hd__test_below(&r, 30); n; n--) {
            uint32_t nodes[4] = { 0 };
            for (uint32_t a = 0; a < axes; a++)
                for (uint64_t depth = hd__test_below(&r, a ? 3 : 6); depth; depth--) {
                    char name[64];
                    snprintf(name, sizeof name, hd__test_below(&r, 2) ? "f%d (x.c:%d)" : "g%d", (int)hd__test_below(&r, 3), (int)hd__test_below(&r, 3));
                    hd_profile_node(p, a, nodes[a], hd_cstr(name), &nodes[a], NULL);
                }
            hd_profile_add(p, nodes, 1 + hd__test_below(&r, 1000), hd__test_below(&r, 10), NULL);
        }
        hd_heap heap = { .allocator = "malloc", .profile = p };
        hd_dump *dump = reread(&heap, 1);
        hd_breakdown *before, *after;
        assert_int_equal(hd_export(p, NULL, NULL, &before, NULL), HD_OK);
        assert_int_equal(hd_export(hd_dump_heap(dump, 0)->profile, NULL, NULL, &after, NULL), HD_OK);
        if (hd_profile_axis_count(hd_dump_heap(dump, 0)->profile) == axes) assert_true(breakdowns_equal(before, after));
        hd_breakdown_free(before);
        hd_breakdown_free(after);
        hd_dump_free(dump);
        hd_profile_free(p);
    }
}

static void merged_profiles_are_written(void **state) {
    (void)state;
    uint8_t *data[2];
    size_t size[2];
    load("pprof-go.pb", &data[0], &size[0]);
    load("pprof-node.pb", &data[1], &size[1]);
    hd_dump *go = read_bytes(data[0], size[0], NULL), *node = read_bytes(data[1], size[1], NULL);
    hd_heap parts[2] = { *hd_dump_heap(go, 1), *hd_dump_heap(node, 0) }, sum = { 0 };
    assert_int_equal(hd_merge(parts, 2, NULL, &sum, NULL), HD_OK);
    hd_heap heaps[2] = { sum, *hd_dump_heap(go, 0) };
    heaps[0].process = heaps[1].process;
    heaps[0].time_us = heaps[1].time_us;
    hd_dump *dump = reread(heaps, 2);
    totals(hd_dump_heap(dump, 0), "alloc_space", HD_HEAP_TOTAL, 8281602, 29028);
    totals(hd_dump_heap(dump, 1), "inuse_space", HD_HEAP_LIVE, 2526692 + 10801354, 15798 + 175454);
    hd_heap_release(&sum);
    hd_dump_free(go), hd_dump_free(node), hd_dump_free(dump);
    free(data[0]), free(data[1]);
}

/* Data other than names. ------------------------------------------------------------------------------ */

/* Mappings: one without frames, one with a build id. Frames: an inlined call; an address in a library without a name;
   an address in no mapping; a file without a function; a function with only its symbol. */
#define ADDRESSES TYPES STRINGS "6'/usr/lib/libc.so' 6'ab12' 6'app' " \
    "3{1:4 2:4096 3:8192 4:256 5:12 7:1 8:1 9:1 10:1} 3{1:9 2:65536 3:131072 5:10 6:11 8:1} 3{1:5 5:12} " \
    "5{1:1 2:5 3:5 5:3} 5{1:2 2:6 3:8 4:7 5:11} 5{1:3 4:7} 5{1:8 3:8} " \
    "4{1:1 2:4 3:4100 4{1:2 2:12 3:7} 4{1:1}} 4{1:2 2:9 3:65552} 4{1:3 3:255} 4{1:6 2:9 3:65600 4{1:3 2:9}} 4{1:7 2:4 3:5000 4{1:8}} "

static hd_status take_drops(void *user, const hd_fact *fact) {
    if (!strcmp(fact->name, "drop frames")) snprintf((char *)user, 200, HD_FMT, HD_ARG(fact->text));
    return HD_OK;
}
static void drop_frames_of(const hd_dump *dump, char *text) {
    *text = 0;
    assert_int_equal(hd_dump_facts(dump, take_drops, text, NULL), HD_OK);
}

static hd_buffer written_with(const hd_heap *heaps, size_t count, const hd_places *places) {
    hd_buffer out = { 0 };
    hd_error err = { 0 };
    if (hd_pprof_write(heaps, count, &(hd_options){ .places = places }, hd_out_memory(&out), &err)) fail_msg("%s", err.message);
    return out;
}

static hd_places *places_of(const hd_dump *dump, hd_places *places) {
    if (!places) places = hd_places_create(NULL, NULL);
    assert_int_equal(hd_dump_places(dump, places, NULL), HD_OK);
    return places;
}

static void places_of_frames_are_kept(void **state) {
    (void)state;
    hd_dump *dump = read_text(ADDRESSES "2{1(7 6 3 2 1) 2(3 30)}");
    hd_places *places = places_of(dump, NULL);
    hd_buffer out = written_with(hd_dump_heap(dump, 0), 1, places);
    if (!contains(&out, "2{1(6 5 4 3 2 1) 2(3 30)}"
                               "3{1:1 2:4096 3:8192 4:256 5:9 7:1 8:1 9:1 10:1} 3{1:2 2:65536 3:131072 5:10 6:11 8:1} 3{1:3 5:9}"
                               "4{1:1 2:1 3:4100 4{1:1}} 4{1:2 2:1 3:4100 4{1:2 2:12 3:7}} 4{1:3 2:2 3:65552} 4{1:4 3:255}"
                               "4{1:5 2:2 3:65600 4{1:3 2:9}} 4{1:6 2:1 3:5000 4{1:4}}"
                               "5{1:1 2:5 3:5 5:3} 5{1:2 2:6 3:7 4:8 5:11} 5{1:3 4:8} 5{1:4 2:7 3:7}"))
        fail_msg("%s", "no such fields");
    hd_dump *again = read_bytes(out.data, out.size, NULL);
    hd_places *same = places_of(again, NULL);
    hd_buffer twice = written_with(hd_dump_heap(again, 0), 1, same);
    cells(hd_dump_heap(again, 0), "/main [app]/f (f.c:12) [app]/libc.so+0x10/0xff/libc.so+0x40 (f.c:9)/_Z1gv [app] 30 3\n");
    assert_int_equal(twice.size, out.size);
    assert_memory_equal(twice.data, out.data, out.size);
    hd_buffer_free(&out), hd_buffer_free(&twice);
    hd_places_free(places), hd_places_free(same);
    hd_dump_free(dump), hd_dump_free(again);
}

/* The later of two profiles may have fewer live bytes, but never fewer allocated ones. */
static void negative_values_cost_only_their_heap(void **state) {
    (void)state;
    bytes b = encode("1{1:1 2:2} 1{1:3 2:4} 1{1:10 2:2} 1{1:11 2:4}" STRINGS "6'alloc_objects' 6'alloc_space'" PLACES
                     "2{1(2 1) 2(-4 -256 1 64)} 2{1(1) 2(2 20 -1 5)} 2{1(1) 2(1 8 1 9)}");
    hd_options lenient = { .lenient = true };
    hd_dump *dump = read_bytes(b.data, b.size, &lenient);
    totals(hd_dump_heap(dump, 0), "inuse_space", HD_HEAP_LIVE, 28, 3);
    totals(hd_dump_heap(dump, 1), "alloc_space", HD_HEAP_TOTAL, 73, 2);
    assert_int_equal(hd_dump_warning_count(dump), 2);
    hd_dump_free(dump);
}

static void units_are_as_in_pprof(void **state) {
    (void)state;
    static const struct { const char *unit; uint64_t size; } units[] = {
        { "B", 1 },          { "b", 1 },           { "byte", 1 },          { "Bytes", 1 },       { "KB", 1u << 10 },
        { "kb", 1u << 10 },  { "kbyte", 1u << 10 }, { "Kilobyte", 1u << 10 }, { "kilobytes", 1u << 10 }, { "MBs", 1u << 20 },
        { "mbytes", 1u << 20 }, { "megabyte", 1u << 20 }, { "gb", 1u << 30 }, { "GByte", 1u << 30 }, { "gigabytes", 1u << 30 },
        { "TB", (uint64_t)1 << 40 }, { "terabyte", (uint64_t)1 << 40 }, { "PB", (uint64_t)1 << 50 },
        { "petabytes", (uint64_t)1 << 50 }, { "KiB", 0 }, { "kilobytess", 0 }, { "bs", 0 }, { "", 0 }, { "megabytes/s", 0 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char text[200];
        snprintf(text, sizeof text, "1{1:3 2:10} %s 6'%s' 2{2:3} 11{1:3 2:10} 12:2", STRINGS, units[i].unit);
        bytes b = encode(text);
        hd_dump *dump = NULL;
        hd_status status = hd_read_memory(b.data, b.size, NULL, &dump, NULL);
        assert_int_equal(status, units[i].size ? HD_OK : HD_UNSUPPORTED);
        if (status) continue;
        totals(hd_dump_heap(dump, 0), "inuse_space", HD_HEAP_LIVE, 3 * units[i].size, 0);
        assert_int_equal(hd_dump_heap(dump, 0)->sample_bytes, 2 * units[i].size);
        hd_dump_free(dump);
    }
}

/* Else a reader would take them for two dumps of one heap, or add them up. */
static void types_of_one_heap_are_several_heaps(void **state) {
    (void)state;
    hd_dump *dump = read_text("1{1:10 2:4} 1{1:11 2:4} 1{1:10 2:4} 1{1:10 2:4}" STRINGS "6'heap-live-size' 6'heap_live_bytes'"
                              "2{2(500 88 5 6)}");
    assert_int_equal(hd_dump_heap_count(dump), 4);
    totals(hd_dump_heap(dump, 0), "heap", HD_HEAP_LIVE, 500, 0);
    totals(hd_dump_heap(dump, 1), "heap_live_bytes", HD_HEAP_LIVE, 88, 0);
    totals(hd_dump_heap(dump, 2), "heap-live-size", HD_HEAP_LIVE, 5, 0);
    totals(hd_dump_heap(dump, 3), "heap-live-size 2", HD_HEAP_LIVE, 6, 0);
    hd_dump_free(dump);
}

/* Functions with one name in two object files stay separate. Object files without code locations become mappings. */
static void objects_of_frames_are_kept(void **state) {
    (void)state;
    hd_dump *dump = read_text(TYPES STRINGS "6'/lib/libf.so.1' 6'/srv/app' 6'[vdso]' 6'f [clone .cold]'"
                              "3{1:1 5:11} 3{1:2 5:10} 3{1:3 5:12}"
                              "5{1:1 2:6 4:7} 5{1:2 2:13}"
                              "4{1:1 2:1 4{1:1 2:4}} 4{1:2 2:2 4{1:1 2:4}} 4{1:3 2:3 4{1:1}} 4{1:4 2:1 4{1:2}}"
                              "2{1(2 1) 2(1 10)} 2{1(3) 2(1 20)} 2{1(4) 2(1 30)}");
    static const char text[] = "/f (f.c:4) [app]/f (f.c:4) [libf.so.1] 10 1\n/f (f.c:0) 20 1\n/f [clone .cold] [app] 30 1\n";
    hd_heap heap = *hd_dump_heap(dump, 0), none;
    cells(&heap, text);
    none = heap;
    none.process = NULL;
    for (int named = 0; named < 2; named++) {
        hd_buffer out = written_with(named ? &heap : &none, 1, NULL);
        hd_dump *again = read_bytes(out.data, out.size, NULL);
        has_cell(hd_dump_heap(again, 0), "/f (f.c:4) [app]/f (f.c:4) [libf.so.1] 10 1\n");
        has_cell(hd_dump_heap(again, 0), "/f (f.c:0) 20 1\n");
        has_cell(hd_dump_heap(again, 0), "/f [clone .cold] [app] 30 1\n");
        if (named) assert_string_equal(hd_dump_heap(again, 0)->process, "app");
        else assert_null(hd_dump_heap(again, 0)->process);
        hd_buffer_free(&out);
        hd_dump_free(again);
    }
    hd_dump_free(dump);
}

static bool hides_h(void *user, hd_str frame) { return ++*(int *)user, frame.len && frame.data[0] == 'h'; }

/* pprof drops a function of drop_frames with everything that it calls, except at the outer end of a stack. So
   drop_frames may contain only functions that call no others. */
static void drop_frames_are_functions_that_call_no_others(void **state) {
    (void)state;
    static const struct { const char *stacks, *drops; } cases[] = {
        { "main;malloc", "malloc" },
        { "main;f;operator new(unsigned long);malloc", "operator new|malloc" },
        { "main;malloc;hook()", NULL },
        { "main;f;malloc\nmain;malloc;hook()", NULL },
        { "malloc;main", NULL },
        { "malloc", NULL },
        { "main;f\nmain;malloc(unsigned long, a::b<(int)3>)", "malloc" },
        { "malloc;main;calloc;malloc", "malloc|calloc" },
        { "malloc.c\nmallocx\nmi_malloc", NULL },
        { "h;main;h1;h2\nmain;h3;f;h4", "h1|h2|h4" },
        { "main;h.a*b+(1)\nmain;hello::x<h::y>::z()", "h\\.a\\*b\\+|hello::x<h::y>::z|hello::x::z" },
        { "main;h::x<int>;f\nmain;h::x<char>", "h::x<char>" },
        { "main;h(anonymous namespace)::f(int)", "h\\(anonymous namespace\\)::f|h::f" },
        { "main;h::operator()(int)", "h::operator\\(\\)|h::operator" },
        { "main;h\xff", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_profile *p = profile_new(1);
        hd_heap heap = { .profile = p };
        char text[200], *stack = text;
        int calls = 0;
        hd_options options = { .hidden = i < 9 ? NULL : hides_h, .hidden_user = &calls };
        hd_buffer out = { 0 };
        hd_dump *dump;
        strcpy(text, cases[i].stacks);
        for (char *end; stack; stack = end) {
            uint32_t node = 0;
            end = strchr(stack, '\n');
            if (end) *end++ = 0;
            for (char *name = stack, *next; name; name = next) {
                next = strchr(name, ';');
                if (next) *next++ = 0;
                assert_int_equal(hd_profile_node(p, 0, node, hd_cstr(name), &node, NULL), HD_OK);
            }
            assert_int_equal(hd_profile_add(p, &node, 8, 1, NULL), HD_OK);
        }
        assert_int_equal(hd_pprof_write(&heap, 1, &options, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(calls > 0, i >= 9);
        dump = read_bytes(out.data, out.size, NULL);
        drop_frames_of(dump, text);
        assert_string_equal(text, cases[i].drops ? cases[i].drops : "");
        hd_dump_free(dump);
        hd_buffer_free(&out);
        hd_profile_free(p);
    }
}

/* A library that was loaded at another address is the same library. Its addresses are relative to its first one. */
static void places_of_several_profiles_are_added(void **state) {
    (void)state;
    hd_dump *first = read_text(TYPES STRINGS "6'/lib/a.so' 6'ab' 3{1:1 2:4096 3:8192 5:10 6:11} 4{1:1 2:1 3:4100} 2{1:1 2(1 10)}");
    hd_dump *second = read_text(TYPES STRINGS "6'/lib/b.so' 6'/lib/a.so' 6'ab' 3{1:7 2:65536 3:69632 5:10} 3{1:8 2:12288 3:16384 5:11 6:12}"
                                "4{1:1 2:8 3:12292} 4{1:2 2:8 3:12296} 4{1:3 2:7 3:65540} 2{1(3 2 1) 2(2 20)}");
    hd_places *places = places_of(second, places_of(first, NULL));
    hd_heap parts[2] = { *hd_dump_heap(first, 0), *hd_dump_heap(second, 0) }, sum = { 0 };
    parts[1].process = parts[0].process;
    assert_int_equal(hd_places_mapping_count(places), 2);
    assert_int_equal(hd_merge(parts, 2, NULL, &sum, NULL), HD_OK);
    hd_buffer out = written_with(&sum, 1, places);
    assert_true(contains(&out, "4{1:1 2:1 3:4100} 4{1:2 2:1 3:4104} 4{1:3 2:2 3:65540}"));
    hd_dump *again = read_bytes(out.data, out.size, NULL);
    cells(hd_dump_heap(again, 0), "/a.so+0x4 10 1\n/a.so+0x4/a.so+0x8/b.so+0x4 20 2\n");
    hd_buffer_free(&out);
    hd_heap_release(&sum);
    hd_places_free(places);
    hd_dump_free(first), hd_dump_free(second), hd_dump_free(again);
}

static hd_status count_fact(void *user, const hd_fact *fact) { return (void)fact, ++*(size_t *)user, HD_OK; }

/* Lenient reading returns the valid part of damaged places. */
static void failing_allocations_lose_no_part_of_places(void **state) {
    (void)state;
    bytes b = encode(ADDRESSES "2{1(7 6 3 2 1) 2(3 30)} 5{2:1} 4{1:20 4{1:99}} 13:6 9:99 10:1 11{1:3 2:4} 12:512 6#99");
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_options options = { .lenient = true, .allocator = hd__faults_allocator(&f) };
        hd_dump *dump = NULL;
        hd_places *places = NULL;
        hd_buffer out = { 0 };
        size_t facts = 0;
        hd_status status = hd_read_memory(b.data, b.size, &options, &dump, NULL);
        if (!status) status = hd_dump_facts(dump, count_fact, &facts, NULL);
        if (!status) assert_int_equal(facts, 11);
        if (!status) status = (places = hd_places_create(&options, NULL)) ? HD_OK : HD_OUT_OF_MEMORY;
        if (!status) status = hd_dump_places(dump, places, NULL);
        options.places = places;
        if (!status) status = hd_pprof_write(hd_dump_heap(dump, 0), 1, &options, hd_out_memory(&out), NULL);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        hd_buffer_free(&out);
        hd_places_free(places);
        hd_dump_free(dump);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
}

/* Axes. ---------------------------------------------------------------------------------------------- */

/* A profile of one cell, with `count` labels; their keys begin at 'a' + first. */
static hd_dump *labelled(unsigned first, unsigned count, unsigned size) {
    char text[2048] = "6'' 6'space' 6'bytes' 6'v' 1{1:1 2:2} ";
    sprintf(text + strlen(text), "2{2:%u ", size);
    for (unsigned i = 0; i < count; i++) sprintf(text + strlen(text), "3{1:%u 2:3} ", 4 + i);
    strcat(text, "} ");
    for (unsigned i = 0; i < count; i++) sprintf(text + strlen(text), "6'%c' ", 'a' + first + i);
    return read_text(text);
}

static void profiles_with_unlike_axes_are_added(void **state) {
    (void)state;
    hd_heap parts[3], sum = { 0 };
    hd_error err = { 0 };
    hd_dump *dumps[3] = { labelled(0, 4, 10), labelled(3, 4, 20), labelled(7, 1, 40) };
    for (int i = 0; i < 3; i++) parts[i] = *hd_dump_heap(dumps[i], 0);
    assert_int_equal(hd_merge(parts, 2, NULL, &sum, NULL), HD_OK);
    assert_int_equal(hd_profile_axis_count(sum.profile), HD_MAX_AXES);
    for (uint32_t a = 1; a < HD_MAX_AXES; a++) assert_int_equal(hd_profile_axis(sum.profile, a).name[0], 'a' + (int)a - 1);
    cells(&sum, "/ / / / /v /v /v /v 20 -\n/ /v /v /v /v / / / 10 -\n");
    hd_dump *again = reread(&sum, 1);
    cells(hd_dump_heap(again, 0), "/ / / / /v /v /v /v 20 -\n/ /v /v /v /v / / / 10 -\n");
    hd_dump_free(again);
    hd_heap_release(&sum);
    assert_int_equal(hd_merge(parts, 3, NULL, &sum, &err), HD_UNSUPPORTED);
    assert_non_null(strstr(err.message, "axes"));
    err = (hd_error){ 0 };
    parts[1].allocator = "b", parts[2].allocator = "c"; /* heaps in one file have too many labels together */
    hd_buffer none = { 0 };
    assert_int_equal(hd_pprof_write(parts, 3, NULL, hd_out_memory(&none), &err), HD_UNSUPPORTED);
    assert_int_equal(none.size, 0);

    hd_profile *two = profile_new(2);                   /* down to two heaps */
    for (int i = 0; i < 2; i++) assert_int_equal(hd_profile_merge(two, parts[i].profile, NULL), HD_OK);
    assert_int_equal(hd_profile_axis_count(two), 2);
    assert_int_equal(hd_profile_bytes(two), 30);
    cells(&(hd_heap){ .profile = two }, "/ / 30 -\n");
    hd_profile_free(two);
    for (int i = 0; i < 3; i++) hd_dump_free(dumps[i]);
}

static hd_status count_bytes(void *user, const void *data, size_t size) { return (void)data, *(uint64_t *)user += size, HD_OK; }

/* A chain in which every call has bytes: its profile would be quadratic. It is refused before anything is written. */
static void chains_that_are_too_long_are_refused(void **state) {
    (void)state;
    static const char message[] = "a pprof profile of more than 2147483647 bytes: samples repeat the callers of "
                                  "every frame; write a trace (chrome, heaps_v2) instead";
    for (uint32_t axis = 0; axis < 2; axis++) {
        hd_profile *p = profile_new(2);
        uint32_t nodes[2] = { 0, 0 };
        uint64_t size = 0;
        hd__faults f = { 0 };
        hd_error err = { 0 };
        hd_heap heap = { .profile = p };
        for (uint32_t i = 0; i < 100000; i++) {
            char name[16];
            hd_str text = { name, (size_t)sprintf(name, "f%u", (unsigned)i) };
            hd_profile_node(p, axis, nodes[axis], text, &nodes[axis], NULL);
            hd_profile_add(p, nodes, 1, 1, NULL);
            if (i == 999) assert_int_equal(hd_pprof_write(&heap, 1, NULL, hd_out_callback(count_bytes, &size), NULL), HD_OK);
        }
        assert_in_range(size, axis ? 3000000 : 900000, axis ? 5000000 : 1100000);
        size = 0;
        hd_status status = hd_pprof_write(&heap, 1, &(hd_options){ .allocator = hd__faults_allocator(&f) }, hd_out_callback(count_bytes, &size), &err);
        assert_int_equal(status, HD_LIMIT);
        assert_string_equal(err.message, message);
        assert_true(f.peak < 64000000);
        assert_int_equal(f.live, 0);
        assert_int_equal(size, 0);
        hd_profile_free(p);
    }
}

static void writing_fails_whole(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_breakdown *b;
    assert_int_equal(hd_export(p, &(hd_cutoff){ .min_bytes = 20 }, NULL, &b, NULL), HD_OK);
    hd_heap heaps[2] = { { .allocator = "malloc", .breakdown = b, .process = "x" }, { .allocator = "gc", .profile = p, .process = "x" } };
    hd__faults f = { 0 };
    HD__EACH_FAULT(f) {
        hd_buffer out = { 0 };
        hd_status status = hd_pprof_write(heaps, 2, &(hd_options){ .allocator = hd__faults_allocator(&f) }, hd_out_memory(&out), NULL);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
        hd_buffer_free(&out);
    }
    for (uint64_t n = 1; n < 3; n++) {
        hd__write_faults w = { .fail_at = n };
        hd_error err = { 0 };
        hd_status status = hd_pprof_write(heaps, 2, NULL, hd__faults_out(&w), &err);
        assert_int_equal(status, w.count < n ? HD_OK : HD_IO);
        assert_int_equal(w.after, 0);
        if (status) assert_string_equal(err.message, "writing the profile failed");
        hd__write_faults_free(&w);
    }
    hd_breakdown_free(b);
    hd_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gos_profile_has_these_values),
        cmocka_unit_test(datadogs_profile_has_these_values),
        cmocka_unit_test(gperftools_profile_has_these_values),
        cmocka_unit_test(fields_come_in_any_order),
        cmocka_unit_test(numbers_are_packed_or_not),
        cmocka_unit_test(inlined_calls_are_frames),
        cmocka_unit_test(frames_have_the_known_names),
        cmocka_unit_test(types_are_heaps_by_their_names),
        cmocka_unit_test(units_are_reported),
        cmocka_unit_test(heaps_with_different_sampling_are_reported),
        cmocka_unit_test(labels_are_axes),
        cmocka_unit_test(labels_beyond_the_axes_are_reported),
        cmocka_unit_test(estimates_have_errors),
        cmocka_unit_test(comments_are_labels),
        cmocka_unit_test(these_are_taken),
        cmocka_unit_test(these_are_refused),
        cmocka_unit_test(expansion_is_bounded),
        cmocka_unit_test(records_have_a_limit),
        cmocka_unit_test(each_truncation_is_reported),
        cmocka_unit_test(each_flipped_bit_is_survived),
        cmocka_unit_test(each_refused_allocation_is_reported),
        cmocka_unit_test(reading_can_be_stopped),
        cmocka_unit_test(other_inputs_are_not_taken),
        cmocka_unit_test(a_heap_has_these_bytes),
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(names_are_split_into_parts),
        cmocka_unit_test(heaps_are_types),
        cmocka_unit_test(breakdowns_add_up),
        cmocka_unit_test(random_heaps_come_back),
        cmocka_unit_test(merged_profiles_are_written),
        cmocka_unit_test(places_of_frames_are_kept),
        cmocka_unit_test(negative_values_cost_only_their_heap),
        cmocka_unit_test(units_are_as_in_pprof),
        cmocka_unit_test(types_of_one_heap_are_several_heaps),
        cmocka_unit_test(objects_of_frames_are_kept),
        cmocka_unit_test(drop_frames_are_functions_that_call_no_others),
        cmocka_unit_test(places_of_several_profiles_are_added),
        cmocka_unit_test(failing_allocations_lose_no_part_of_places),
        cmocka_unit_test(profiles_with_unlike_axes_are_added),
        cmocka_unit_test(chains_that_are_too_long_are_refused),
        cmocka_unit_test(writing_fails_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
