/* Rows for SQL engines: their exact bytes, reading, every fault, and heaps with any names and labels written and
   read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "faults.h"
#include "heaps.h"
#include "rows.h"
#include "readers.h"

#define HEADER "profile,time,process,pid,start_us,dump,allocator,kind,sample_bytes,cumulative,stack,type,bytes,blocks,variance,unlisted,slack,stack_hash\n"

static void writes(const hd_heap *heaps, size_t count, hd_rows_form form, const char *expected) {
    hd_buffer out = rows_of(heaps, count, form);
    assert_string_equal((char *)out.data, expected);
    hd_buffer_free(&out);
}

/* Writing: exact bytes. ------------------------------------------------------------------------ */

static void a_cell_is_a_row(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_label labels[] = { { "host", "a1" }, { "profile", "x.pb" } };
    hd_heap heap = { .pid = 7, .start_us = 5, .process = "app", .dump = "0x1", .time_us = 1795335302250000, .kind = HD_HEAP_PEAK,
                     .allocator = "malloc", .sample_bytes = 512, .profile = p, .labels = labels, .label_count = 2 };
    add_cell(p, "/main/run", "/T", 10, 2);
    add_cell(p, "/", NULL, 3, HD_UNKNOWN);
    add_cell(p, "/main", NULL, 4, 1);
    writes(&heap, 1, HD_ROWS_CSV,
           "profile,time,host,process,pid,start_us,dump,allocator,kind,sample_bytes,cumulative,stack,type,bytes,blocks,variance,unlisted,slack,stack_hash\n"
           "x.pb,2026-11-22T08:15:02.250000Z,a1,app,7,5,0x1,malloc,peak,512,self,\"\",\"\",3,,0,,,d41d8cd98f00b204\n"
           "x.pb,2026-11-22T08:15:02.250000Z,a1,app,7,5,0x1,malloc,peak,512,self,main,\"\",4,1,0,,,170c426cf3b017b8\n"
           "x.pb,2026-11-22T08:15:02.250000Z,a1,app,7,5,0x1,malloc,peak,512,self,main;run,T,10,2,0,,,07e2319b0a03885a\n");
    hd_profile_free(p);
}

static void json_lines_have_arrays(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_label labels[] = { { "da\"y", "2026\n" } };
    hd_heap heap = { .process = "\xff" "a\xf4\x8f\xba\x80", .time_us = 1000000, .profile = p, .labels = labels, .label_count = 1 };
    uint32_t nodes[2] = { path_node(p, 0, "/main/;\\\""), 0 };
    hd_amount amount = { UINT64_MAX - 1, HD_UNKNOWN, { UINT64_MAX, UINT64_MAX } };
    assert_int_equal(hd_profile_add_amount(p, nodes, &amount, NULL), HD_OK);
    writes(&heap, 1, HD_ROWS_JSON,
           "{\"profile\":null,\"time\":\"1970-01-01T00:00:01Z\",\"da\\\"y\":\"2026\\u000a\","
           "\"process\":\"\xf4\x8f\xbb\xbf" "a\xf4\x8f\xbb\xb4\xf4\x8f\xba\x8f\xf4\x8f\xba\xba\xf4\x8f\xba\x80\",\"pid\":null,\"start_us\":null,\"dump\":null,"
           "\"allocator\":null,\"kind\":\"live\",\"sample_bytes\":0,\"cumulative\":\"self\",\"stack\":[\"main\",\";\\\\\\\"\"],\"type\":[],"
           "\"bytes\":18446744073709551614,\"blocks\":null,\"variance\":\"340282366920938463463374607431768211455\",\"unlisted\":null,\"slack\":null,"
           "\"stack_hash\":\"baca1aee58567b6f\"}\n");
    hd_profile_free(p);
}

static void entries_are_cumulative(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_breakdown *b;
    add_cell(p, "/main/run", NULL, 10, 2);
    add_cell(p, "/main", NULL, 1, 1);
    b = exported(p, (hd_cutoff){ 0 });
    writes(&(hd_heap){ .breakdown = b }, 1, HD_ROWS_CSV,
           HEADER ",,,,,,,live,0,cumulative,\"\",,11,3,0,,,d41d8cd98f00b204\n"
           ",,,,,,,live,0,cumulative,main,,11,3,0,,,170c426cf3b017b8\n"
           ",,,,,,,live,0,cumulative,main;<self>,,1,1,0,,,1e8f0db5eaf4ad0f\n"
           ",,,,,,,live,0,cumulative,main;run,,10,2,0,,,07e2319b0a03885a\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void no_heaps_are_names_of_columns(void **state) {
    (void)state;
    writes(NULL, 0, HD_ROWS_CSV, HEADER);
    writes(NULL, 0, HD_ROWS_JSON, "");
}

static void a_heap_without_cells_is_a_row_without_bytes(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .process = "app", .profile = p };
    const char *text = HEADER ",,app,,,,,live,0,self,\"\",,,,,,,d41d8cd98f00b204\n";
    hd_dump *dump;
    writes(&heap, 1, HD_ROWS_CSV, text);
    dump = rows_read(text, strlen(text));
    assert_int_equal(hd_dump_heap_count(dump), 1);
    assert_int_equal(hd_profile_cells(hd_dump_heap(dump, 0)->profile).count, 0);
    writes(hd_dump_heap(dump, 0), 1, HD_ROWS_CSV, text);
    hd_dump_free(dump);
    hd_profile_free(p);
}

static void values_without_a_column_are_refused(void **state) {
    (void)state;
    static const char *const reserved[] = { "", "bytes", "stack_hash", "axis_x", "time" };
    hd_profile *p = profile_new(1);
    hd_buffer out = { 0 };
    hd_label labels[2] = { { "host", "a" }, { "host", "b" } };
    hd_heap heap = { .profile = p, .labels = labels, .label_count = 2 };
    hd_error err;
    assert_int_equal(hd_rows_write(&heap, 1, HD_ROWS_CSV, NULL, hd_out_memory(&out), &err), HD_INVALID);
    assert_string_equal(err.message, "duplicate label 'host'");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        hd_label one = { reserved[i], "x" };
        heap.labels = &one, heap.label_count = 1;
        assert_int_equal(hd_rows_write(&heap, 1, HD_ROWS_CSV, NULL, hd_out_memory(&out), &err), HD_INVALID);
    }
    hd_rows_writer *w = hd_rows_writer_create(HD_ROWS_CSV, hd_out_memory(&out), NULL, NULL);
    heap.label_count = 0;
    assert_int_equal(hd_rows_writer_add(w, &heap, NULL), HD_OK);
    heap.labels = labels, heap.label_count = 1;
    assert_int_equal(hd_rows_writer_add(w, &heap, &err), HD_INVALID);
    assert_string_equal(err.message, "the rows already written have no column for the label 'host'");
    hd_rows_writer_free(w);
    hd_buffer_free(&out);
    hd_profile_free(p);
}

/* The hash continues from the previous row, block by block. These paths are longer than blocks, and end anywhere. */
static void hashes_of_long_paths(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++) {
        uint64_t r = seed;
        hd_profile *p = profile_new(1);
        hd_buffer rows;
        for (int i = 0; i < 20; i++) {
            uint32_t node = 0;
            for (uint64_t depth = hd__test_below(&r, 12); depth; depth--) {
                char name[80];
                size_t n = 1 + hd__test_below(&r, 79);
                memset(name, 'a' + (int)hd__test_below(&r, 2), n);
                assert_int_equal(hd_profile_node(p, 0, node, (hd_str){ name, n }, &node, NULL), HD_OK);
            }
            assert_int_equal(hd_profile_add(p, &node, 1, 1, NULL), HD_OK);
        }
        rows = rows_of(&(hd_heap){ .profile = p }, 1, HD_ROWS_CSV);
        for (char *line = strchr((char *)rows.data, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
            char *path = strstr(line, ",self,") + 6, *end = strchr(path, ','), hashed[2048], hex[17];
            size_t n = 0;
            uint64_t hash;
            if (*path == '"') path += 2;
            for (char *stop; path < end; path = stop + 1) {
                stop = path + strcspn(path, ";,");
                n += (size_t)sprintf(hashed + n, "%d:%.*s", (int)(stop - path), (int)(stop - path), path);
            }
            hash = hd__md5(hashed, n);
            for (int i = 0; i < 8; i++) sprintf(hex + 2 * i, "%02x", (unsigned)(hash >> 8 * i & 0xff));
            assert_memory_equal(strchr(line, '\n') - 16, hex, 16);
        }
        hd_dump_free(rows_read(rows.data, rows.size));
        hd_buffer_free(&rows);
        hd_profile_free(p);
    }
}

/* Reading. ------------------------------------------------------------------------------------- */

/* The rows of each heap in a text. */
static void reads(const char *text, const char *expected) {
    hd_dump *dump = rows_read(text, strlen(text));
    char *all = NULL;
    size_t size;
    FILE *f = open_memstream(&all, &size);
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *h = hd_dump_heap(dump, i);
        char *rows = h->profile ? profile_text(h->profile) : breakdown_text(h->breakdown);
        for (size_t k = 0; k < h->label_count; k++) fprintf(f, "%s=%s ", h->labels[k].name, h->labels[k].value);
        fprintf(f, "%s%s\n%s", h->process ? h->process : "-", h->breakdown ? " cumulative" : "", rows);
        free(rows);
    }
    fclose(f);
    assert_string_equal(all, expected);
    free(all);
    hd_dump_free(dump);
}

static void columns_may_have_any_order(void **state) {
    (void)state;
    reads("bytes,stack,host\n5,a;b,x\n3,a,x\n2,a,y\n", "host=x -\n/a/b 5 -\n/a 3 -\nhost=y -\n/a 2 -\n");
    reads("\xef\xbb\xbf" "blocks,bytes,stack\r\n1,5,a\r\n\r\n", "-\n/a 5 1\n");
    reads("bytes\n5\n", "-\n/ 5 -\n");
    reads("type,bytes\nT,5\n", "-\n/T 5 -\n");
    reads("{\"bytes\":5,\"host\":\"x\"}\n\n{\"host\":\"x\",\"stack\":[\"a\",\"b\"],\"bytes\":6}", "host=x -\n/ 5 -\n/a/b 6 -\n");
    reads("{\"stack\":[\"a\"],\"bytes\":5,\"run\":12,\"on\":true}\n{\"stack\":null,\"bytes\":1,\"on\":null}\n", "run=12 on=true -\n/a 5 -\n-\n/ 1 -\n");
}

static void names_are_escaped(void **state) {
    (void)state;
    reads("stack,bytes\na\\;b;c\\\\,1\n\\e;d,2\n;,3\n\"\",4\n", "-\n/a;b/c\\ 1 -\n//d 2 -\n// 3 -\n/ 4 -\n");
    reads("{\"stack\":[\"a;b\",\"\\u00e4\\ud83d\\ude00\\n\",\"\"],\"bytes\":1}\n", "-\n/a;b/\xc3\xa4\xf0\x9f\x98\x80\n/ 1 -\n");
    reads("{\"stack\":[\"\xf4\x8f\xbb\xbf\\udbff\\udeff\"],\"bytes\":1}\n", "-\n/\xff\xff 1 -\n");
    reads("process,stack,bytes\n\"a,\"\"b\"\"\nc\",=1+2,1\n", "a,\"b\"\nc\n/=1+2 1 -\n");
}

static void rows_of_one_cell_add_up(void **state) {
    (void)state;
    reads("stack,cumulative,bytes,blocks\na,self,5,1\na,self,6,2\nb,self,1,\nb,self,1,1\n", "-\n/a 11 3\n/b 2 -\n");
    reads("stack,cumulative,bytes\n\"\",cumulative,9\na,cumulative,5\n\"\",cumulative,7\na,cumulative,4\n",
          "- cumulative\n/ 9 -\n/a 5 -\n- cumulative\n/ 7 -\n/a 4 -\n"); /* two files */
    reads("host,stack,cumulative,bytes\nx,\"\",cumulative,9\nx,\"\",cumulative,7\ny,b,cumulative,4\nx,a,cumulative,4\n",
          "host=x - cumulative\n/ 9 -\nhost=x - cumulative\n/ 7 -\n/a 4 -\nhost=y - cumulative\n/ 4 -\n/b 4 -\n");
    reads("stack,cumulative,bytes\na,cumulative,5\nb,cumulative,4\n", "- cumulative\n/ 9 -\n/a 5 -\n/b 4 -\n"); /* no total */
}

static void other_heaps_may_come_between(void **state) {
    (void)state;
    reads("kind,stack,bytes\nlive,a,1\npeak,a,2\nlive,a,3\n,b,4\n", "-\n/a 4 -\n/b 4 -\n-\n/a 2 -\n");
    reads("stack,kind,bytes\na,live,1\na,peak,2\na,live,3\n", "-\n/a 4 -\n-\n/a 2 -\n");
    reads("kind,cumulative,stack,bytes\nlive,self,a,1\nlive,cumulative,a,2\n", "-\n/a 1 -\n- cumulative\n/ 2 -\n/a 2 -\n");
    reads("{\"kind\":\"live\",\"n\":1,\"bytes\":1}\n{\"kind\":\"live\",\"n\":12,\"bytes\":2}\n{\"kind\":\"live\",\"n\":1,\"bytes\":4}\n",
          "n=1 -\n/ 5 -\nn=12 -\n/ 2 -\n");
}

static void an_axis_may_turn_up_late(void **state) {
    (void)state;
    reads("stack,type,bytes\n,,1\na,,2\n,T,3\nb,U,4\n", "-\n/ / 1 -\n/a / 2 -\n/ /T 3 -\n/b /U 4 -\n");
}

static void times_are_iso_8601(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t us;
    } times[] = { { "1970-01-01T00:00:00.000001Z", 1 }, { "2026-11-22T08:15:02.25Z", 1795335302250000 },
                  { "2026-11-22 08:15:02.250000000+00", 1795335302250000 }, { "2026-11-22 08:15:02", 1795335302000000 },
                  { "2000-02-29T23:59:59+00:00", 951868799000000 }, { "584554-05-02T12:34:56Z", 0 } };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[100];
        hd_dump *dump;
        hd_buffer out;
        snprintf(text, sizeof text, "time,bytes\n%s,1\n", times[i].text);
        dump = rows_read(text, strlen(text));
        if (times[i].us) assert_int_equal(hd_dump_heap(dump, 0)->time_us, times[i].us);
        out = rows_of(hd_dump_heap(dump, 0), 1, HD_ROWS_CSV);
        if (!times[i].us) assert_non_null(strstr((char *)out.data, times[i].text));
        hd_buffer_free(&out);
        hd_dump_free(dump);
    }
}

/* Bad input. ----------------------------------------------------------------------------------- */

static hd_status read_as(const char *text, bool lenient, hd_dump **dump, hd_error *err) {
    hd_options options = { .format = "rows", .lenient = lenient };
    memset(err, 0, sizeof *err);
    *dump = NULL;
    return hd_read_memory(text, strlen(text), &options, dump, err);
}

/* Strictly refused with this message; leniently the row is skipped. */
static void fails(const char *text, const char *message, const char *rest) {
    hd_dump *dump;
    hd_error err;
    hd_status status = read_as(text, false, &dump, &err);
    assert_true(status == HD_MALFORMED || status == HD_OVERFLOW);
    assert_string_equal(err.message, message);
    assert_int_equal(err.status, status);
    assert_true(err.line);
    status = read_as(text, true, &dump, &err);
    if (!rest) {
        assert_int_equal(status, HD_MALFORMED);
        return;
    }
    assert_int_equal(status, HD_OK);
    assert_int_equal(hd_dump_warning_count(dump), 1);
    if (*rest) assert_text(profile_text(hd_dump_heap(dump, 0)->profile), rest);
    hd_dump_free(dump);
}

/* A row without bytes says that a part of a heap has no cells. It is no total. */
static void a_row_without_bytes_adds_nothing(void **state) {
    (void)state;
    reads("stack,bytes\n\"\",\na,1\n", "-\n/a 1 -\n");
    reads("stack,bytes\na,1\n,\n\"\",2\n", "-\n/a 1 -\n/ 2 -\n");
    reads("stack,bytes,cumulative\na,1,cumulative\n\"\",,cumulative\n\"\",3,cumulative\n", "- cumulative\n/ 3 -\n/a 1 -\n");
    fails("stack,bytes,blocks\na,1,\n\"\",,1\n", "line 3: expected a number of bytes", "/a 1 -\n");
    fails("stack,bytes,variance\na,1,\n\"\",,1\n", "line 3: expected a number of bytes", "/a 1 -\n");
    fails("stack,bytes,unlisted,cumulative\n\"\",,1,cumulative\n,1,,self\n", "line 2: expected a number of bytes", "");
    fails("stack,bytes,slack,cumulative\n\"\",,1,cumulative\n,1,,self\n", "line 2: expected a number of bytes", "");
}

static void bad_columns_are_refused(void **state) {
    (void)state;
    fails("stack,bytes,stack\na,1,b\n", "duplicate column 'stack'", NULL);
    fails("host,bytes,host\na,1,b\n", "duplicate column 'host'", NULL);
    fails("stack,blocks\na,1\n", "line 1: expected a column called bytes", NULL);
    fails("stack,,bytes\na,b,1\n", "column 2: expected a name", NULL);
    fails("stack,bytes,\na,1,b\n", "column 3: expected a name", NULL);
    fails("axis_type,bytes\na,1\n", "the column 'axis_type' must be called type", NULL);
    fails("stack,bytes", "line 1: expected the names of columns", NULL);
}

static void bad_rows_are_named_and_left_out(void **state) {
    (void)state;
#define GOOD "/a 1 -\n"
    fails("stack,bytes\na,1\nb\n", "line 3: expected one cell per column, not fewer, found 'b'", GOOD);
    fails("stack,bytes\na,1\nb,2,3\n", "line 3: expected one cell per column, not more, found 'b,2,3'", GOOD);
    fails("stack,bytes\nb,x\na,1\n", "line 2, bytes: expected a number of at most 64 bits, found 'x'", GOOD);
    fails("stack,bytes\nb,-1\na,1\n", "line 2, bytes: expected a number of at most 64 bits, found '-1'", GOOD);
    fails("stack,bytes\nb,\na,1\n", "line 2: expected a number of bytes", GOOD);
    fails("stack,bytes\nb,18446744073709551616\na,1\n", "line 2, bytes: expected a number of at most 64 bits, found '18446744073709551616'", GOOD);
    fails("stack,bytes\nb,18446744073709551615\na,1\n", "line 2: expected bytes and blocks of at most 2^64 - 2", GOOD);
    fails("stack,bytes\na,1\nb,18446744073709551614\n", "line 3: expected a sum of at most 2^64 - 2 bytes and blocks", GOOD);
    fails("stack,bytes,variance\nb,1,340282366920938463463374607431768211456\na,1,0\n", "line 2, variance: expected a number of at most 128 bits, found '340282366920938463463374607431768211456'", GOOD);
    fails("stack,bytes,kind\nb,1,dead\na,1,live\n", "line 2, kind: expected live, peak, total or temporary, found 'dead'", GOOD);
    fails("kind,stack,bytes\nlive,a,1\ndead,b,1\n", "line 3, kind: expected live, peak, total or temporary, found 'dead'", GOOD);
    fails("stack,bytes,cumulative\nb,1,yes\na,1,self\n", "line 2, cumulative: expected self or cumulative, found 'yes'", GOOD);
    fails("stack,bytes,time\nb,1,yesterday\na,1,\n", "line 2, time: expected an ISO 8601 time from 1970 on, found 'yesterday'", GOOD);
    fails("stack,bytes,time\nb,1,2026-02-29T00:00:00Z\na,1,\n", "line 2, time: expected an ISO 8601 time from 1970 on, found '2026-02-29T00:00:00Z'", GOOD);
    fails("stack,bytes,time\nb,1,2026-02-28T00:00:00+01\na,1,\n", "line 2, time: expected an ISO 8601 time from 1970 on, found '2026-02-28T00:00:00+01'", GOOD);
    fails("stack,bytes,stack_hash\na,1,0cc175b9c0f1b6a8\na,1,\n", "line 2, stack_hash: expected the hash of the stack, found '0cc175b9c0f1b6a8'", GOOD);
    fails("stack,bytes,stack_hash\n,1,0cc175b9c0f1b6a8\na,1,\n", "line 2, stack_hash: expected the hash of the stack, found '0cc175b9c0f1b6a8'", GOOD);
    fails("stack,bytes,stack_hash\na,1,\n,2,0cc175b9c0f1b6a8\n", "line 3, stack_hash: expected the hash of the stack, found '0cc175b9c0f1b6a8'", GOOD);
    fails("stack,bytes\nb\\x,1\na,1\n", "line 2, stack: expected \\;, \\\\ or \\e, found 'b\\x'", GOOD);
    fails("stack,bytes\nb\\,1\na,1\n", "line 2, stack: expected \\;, \\\\ or \\e, found 'b\\'", GOOD);
    fails("stack,bytes\nb\"c,1\na,1\n", "line 2: expected a comma or line end after a cell, and doubled quotes, found 'b\"c,1'", GOOD);
    fails("stack,bytes\n\"b\"c,1\na,1\n", "line 2: expected a comma or line end after a cell, and doubled quotes, found '\"b\"c,1'", GOOD);
    fails("stack,bytes\na,1\nb,2", "line 3: expected a whole row and its line end, found 'b,2'", GOOD);
    fails("stack,bytes\na,1\n\"b,2\n", "line 3: expected a whole row and its line end, found '\"b,2'", GOOD);
    fails("stack,bytes,unlisted,slack,cumulative\n\"\",1,0,x,cumulative\n,,,,self\n", "line 2, slack: expected one number per axis, found 'x'", "");
    fails("stack,cumulative,bytes\n,self,1\n\"\",cumulative,9\na,cumulative,5\na,cumulative,4\n", "line 5: expected no duplicate entry of a heap", "/ 1 -\n");
}

/* The sum of bounds that exceed the total could wrap around to any value. */
static void bounds_that_cannot_be_are_refused(void **state) {
    static const char *const rows[] = {
        "\"\",9,0,18446744073709551000\na,5,0,0\n", "\"\",9,0,9\na,5,18446744073709551000,5\n", "\"\",9,1,9\na,5,0,5\n",
        "a,5,0,5\n", "\"\",9,0,10\n", "\"\",9,0,9\na,9,19,9\n"
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200], message[160];
        int lines = 2;
        for (const char *p = rows[i]; *p; p++) lines += *p == '\n';
        snprintf(text, sizeof text, "cumulative,stack,bytes,unlisted,slack\nself,a,1,,\ncumulative,%s", rows[i]);
        if (lines == 4) strcpy(strchr(text, 0) - strlen(strchr(rows[i], '\n') + 1), "cumulative,"), strcat(text, strchr(rows[i], '\n') + 1);
        snprintf(message, sizeof message, "line %d: expected a total for each heap up to here, and unlisted and slack within it", lines + 1);
        fails(text, message, GOOD);
    }
}

static void bad_json_is_named_and_left_out(void **state) {
    (void)state;
#define A "{\"stack\":[\"a\"],\"bytes\":1}\n"
#define JSON(bad, expected) fails(A bad "\n", "line 2: expected " expected ", found '" bad "'", GOOD)
    JSON("{\"bytes\":1", "a comma or the end of the object");
    JSON("[1]", "an object");
    JSON("{\"bytes\":1}{}", "nothing after the object");
    JSON("{\"stack\":[\"b\"]}", "a member called bytes");
    JSON("{\"bytes\":1,\"bytes\":2}", "no duplicate name");
    JSON("{\"bytes\":1,\"x\":[1]}", "no array");
    JSON("{\"bytes\":1,\"stack\":\"a;b\"}", "an array of names, or null");
    JSON("{\"bytes\":1,\"stack\":[1]}", "an array of names");
    JSON("{\"bytes\":1,\"stack\":[\"b\"", "an array of names");
    JSON("{\"bytes\":1,\"stack\":[\"b", "a closed string");
    JSON("{\"bytes\":1,\"slack\":[1 2]}", "an array of numbers");
    JSON("{\"bytes\":1,\"slack\":[1-2]}", "an array of numbers");
    JSON("{\"bytes\" 1}", "a colon");
    JSON("{bytes:1}", "a name in quotes");
    JSON("{\"bytes\":nil}", "a string, a number, true, false or null");
    JSON("{\"bytes\":1,\"x\":\"\\x\"}", "an escape");
    fails("{\"bytes\":1,\"bytes2\":1,\"\":2}\n" A, "column 3: expected a name", NULL);
}

static void a_text_has_no_zero_bytes(void **state) {
    (void)state;
    fails("{\"process\":\"a\\u0000b\",\"bytes\":1}\n" A, "line 1, process: expected a text without NUL bytes, found 'a?b'", GOOD);
}

/* A row of a malformed heap does not belong to the previous heap. */
static void rows_after_a_bad_row_keep_their_heap(void **state) {
    (void)state;
    hd_dump *dump;
    hd_error err;
    assert_int_equal(read_as("kind,host,stack,bytes\nlive,x,a,1\nbad,x,a,2\nbad,x,a,4\nlive,y,a,8\n", true, &dump, &err), HD_OK);
    assert_int_equal(hd_dump_warning_count(dump), 2);
    assert_int_equal(hd_dump_heap_count(dump), 2);
    assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), 1);
    assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 1)->profile), 8);
    hd_dump_free(dump);
}

/* Round trips. --------------------------------------------------------------------------------- */

/* Heaps with labels, which use memory in `texts`. */
static size_t random_heaps(uint64_t *r, hd_heap heaps[4], hd_label labels[4][3], char texts[4][8][64], bool small_names) {
    static const char *const names[] = { "host", "=da\"y,\n", "profile" };
    size_t count = 1 + hd__test_below(r, 4);
    memset(heaps, 0, 4 * sizeof *heaps);
    for (size_t i = 0; i < count; i++) {
        hd_heap *h = &heaps[i];
        hd_profile *p = random_rows_profile(r, (uint32_t)hd__test_below(r, 12), small_names);
        h->pid = i + 1;          /* so that no two heaps are equal */
        h->start_us = random_number(r);
        h->time_us = random_number(r);
        h->sample_bytes = random_number(r);
        h->kind = (hd_heap_kind)hd__test_below(r, 4);
        h->process = nasty_text(r, texts[i][0]);
        h->dump = nasty_text(r, texts[i][1]);
        h->allocator = nasty_text(r, texts[i][2]);
        h->labels = labels[i];
        for (int k = 0; k < 3; k++) {
            const char *value = nasty_text(r, texts[i][3 + k]);
            if (value) labels[i][h->label_count++] = (hd_label){ names[k], value };
        }
        if (hd__test_below(r, 2)) {
            h->breakdown = exported(p, (hd_cutoff){ .top = (uint32_t)hd__test_below(r, 4) });
            hd_profile_free(p);
        } else {
            h->profile = p;
        }
    }
    return count;
}

static void heaps_come_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t r = seed;
        hd_heap heaps[4];
        hd_label labels[4][3];
        static char texts[4][8][64];
        size_t count = random_heaps(&r, heaps, labels, texts, seed % 2);
        hd_buffer written[2] = { rows_of(heaps, count, HD_ROWS_CSV), rows_of(heaps, count, HD_ROWS_JSON) };
        for (int form = 0; form < 2; form++) {
            hd_dump *dump = rows_read(written[form].data, written[form].size);
            size_t n;
            const hd_heap *again = rows_heaps(dump, &n);
            hd_dump *found;
            assert_int_equal(n, count);
            for (int to = 0; to < 2; to++) {
                hd_buffer rows = rows_of(again, n, (hd_rows_form)to);
                assert_buffers(&rows, &written[to]);
                hd_buffer_free(&rows);
            }
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(again[i].time_us, heaps[i].time_us);
                assert_int_equal(again[i].label_count, heaps[i].label_count);
                if (heaps[i].breakdown) assert_int_equal(again[i].breakdown->entries.axis_count, heaps[i].breakdown->entries.axis_count);
                else assert_int_equal(hd_profile_axis_count(again[i].profile), hd_profile_axis_count(heaps[i].profile));
            }
            assert_int_equal(hd_read_memory(written[form].data, written[form].size, NULL, &found, NULL), HD_OK);
            assert_string_equal(hd_dump_format(found)->name, form ? "rows-json" : "rows");
            hd_dump_free(found);
            hd_dump_free(dump);
        }
        for (int form = 0; form < 2; form++) hd_buffer_free(&written[form]);
        for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    }
}

/* Damage, faults. ------------------------------------------------------------------------------ */

static hd_buffer sample(hd_rows_form form) {
    uint64_t r = 77;
    hd_heap heaps[2] = { { .process = "a\"b", .profile = random_rows_profile(&r, 4, false) }, { .dump = "x", .kind = HD_HEAP_PEAK } };
    hd_heap merged = { .kind = HD_HEAP_PEAK }, two[2] = { { .kind = HD_HEAP_PEAK }, { .kind = HD_HEAP_PEAK } };
    hd_buffer out;
    for (int i = 0; i < 2; i++) {
        hd_profile *p = random_rows_profile(&r, 4, true);
        two[i].breakdown = exported(p, (hd_cutoff){ .top = 2 });
        hd_profile_free(p);
    }
    assert_int_equal(hd_merge(two, 2, NULL, &merged, NULL), HD_OK);
    assert_non_null(merged.breakdown->entries.unlisted);
    heaps[1].breakdown = merged.breakdown;
    out = rows_of(heaps, 2, form);
    hd_heap_release(&heaps[0]);
    hd_heap_release(&heaps[1]);
    hd_heap_release(&two[0]);
    hd_heap_release(&two[1]);
    return out;
}

static const hd_format *format_of(hd_rows_form form) { return form == HD_ROWS_JSON ? &hd_format_rows_json : &hd_format_rows; }

static uint64_t sum_of(const hd_dump *dump) {
    uint64_t sum = 0;
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *h = hd_dump_heap(dump, i);
        hd_rows rows = h->breakdown ? h->breakdown->entries : hd_profile_cells(h->profile);
        for (uint32_t k = 0; k < rows.count; k++) sum += rows.amount[k].bytes;
    }
    return sum;
}

/* Rows cut off anywhere are malformed, or are the first rows of the file; their sums are never different. */
static void cut_off_anywhere(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        hd_buffer whole = sample((hd_rows_form)form);
        for (size_t n = 1; n < whole.size; n++) {
            hd_options options = { .format = "rows" };
            char *exact = (char *)malloc(n);
            hd_dump *dump;
            hd_error err;
            hd_status status;
            memcpy(exact, whole.data, n);
            for (int lenient = 0; lenient < 2; lenient++) {
                options.lenient = lenient;
                status = hd_read_memory(exact, n, &options, &dump, &err);
                if (status) {
                    assert_int_equal(status, HD_MALFORMED);
                    continue;
                }
                if (!lenient && exact[n - 1] != '\n') assert_true(form == HD_ROWS_JSON && exact[n - 1] == '}');
                hd_dump_free(dump);
            }
            free(exact);
        }
        hd_buffer_free(&whole);
    }
}

static void every_bit_turned(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        hd_buffer whole = sample((hd_rows_form)form);
        for (size_t bit = 0; bit < 8 * whole.size; bit += (size_t)long_or_short(1, 7)) {
            hd_status status[2];
            uint64_t sum[2] = { 0, 0 };
            whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            for (int lenient = 0; lenient < 2; lenient++) {
                hd__faults f = { 0 };
                hd_options options = { .format = "rows", .lenient = lenient, .allocator = hd__faults_allocator(&f) };
                hd_dump *dump = NULL;
                hd_error err = { 0 };
                status[lenient] = hd_read_memory(whole.data, whole.size, &options, &dump, &err);
                assert_int_equal(err.status, status[lenient]);
                if (dump) sum[lenient] = sum_of(dump);
                hd_dump_free(dump);
                assert_null(f.misuse);
                assert_int_equal(f.live, 0);
                assert_true(f.peak <= 64 * whole.size + 65536);
            }
            if (!status[0]) assert_true(!status[1] && sum[0] == sum[1]);
            whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        hd_buffer_free(&whole);
    }
}

static void in_pieces_it_is_the_same(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        hd_buffer whole = sample((hd_rows_form)form);
        for (size_t chunk = 1; chunk < 400; chunk = 2 * chunk + 1) {
            hd__reads r = { .data = whole.data, .size = whole.size, .chunk = chunk };
            hd_options options = { .format = format_of((hd_rows_form)form)->name };
            hd_dump *dump;
            hd_error err;
            size_t n;
            const hd_heap *heaps;
            hd_buffer again;
            if (hd_read(hd__faults_in(&r), &options, &dump, &err)) fail_msg("%s", err.message);
            heaps = rows_heaps(dump, &n);
            again = rows_of(heaps, n, (hd_rows_form)form);
            assert_buffers(&again, &whole);
            hd_buffer_free(&again);
            hd_dump_free(dump);
        }
        hd_buffer_free(&whole);
    }
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        hd_buffer whole = sample((hd_rows_form)form);
        hd_dump *dump = rows_read(whole.data, whole.size);
        hd__faults f = { 0 };
        hd_options options = { .format = "rows" };
        size_t n;
        const hd_heap *heaps = rows_heaps(dump, &n);
        HD__EACH_FAULT(f) {
            hd__reads r = { .data = whole.data, .size = whole.size, .chunk = 97 };
            hd_dump *again = NULL;
            hd_error err = { 0 };
            hd_status status;
            options.allocator = hd__faults_allocator(&f);
            status = hd_read(hd__faults_in(&r), &options, &again, &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(err.status, status);
            hd_dump_free(again);
            assert_null(f.misuse);
            assert_int_equal(f.live, 0);
        }
        f = (hd__faults){ 0 };
        HD__EACH_FAULT(f) {
            hd_buffer out = { 0 };
            hd_error err = { 0 };
            hd_status status;
            options.allocator = hd__faults_allocator(&f);
            status = hd_rows_write(heaps, n, (hd_rows_form)form, &options, hd_out_memory(&out), &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            assert_int_equal(err.status, status);
            hd_buffer_free(&out);
            assert_null(f.misuse);
            assert_int_equal(f.live, 0);
        }
        for (uint64_t fail_at = 1; fail_at < 4; fail_at++) {
            hd__write_faults w = { .fail_at = fail_at };
            hd_status status = hd_rows_write(heaps, n, (hd_rows_form)form, NULL, hd__faults_out(&w), NULL);
            assert_int_equal(status, w.count >= fail_at ? HD_IO : HD_OK);
            hd__write_faults_free(&w);
        }
        hd_dump_free(dump);
        hd_buffer_free(&whole);
    }
}

/* The columns of stack and type are always present, and do not count as axes of a heap. Several heaps together may
   have more axes than one heap may have. */
static void columns_of_many_axes_are_written_and_read(void **state) {
    (void)state;
    hd_heap heaps[2] = { { .pid = 1 }, { .pid = 2 } };
    for (uint32_t i = 0; i < 2; i++) {
        hd_profile_desc desc = { .axis_count = HD_MAX_AXES };
        static char names[2][HD_MAX_AXES][8];
        uint32_t nodes[HD_MAX_AXES];
        hd_profile *p;
        for (uint32_t a = 0; a < HD_MAX_AXES; a++) {
            sprintf(names[i][a], "%c%u", "kl"[i], (unsigned)a);
            desc.axis_name[a] = names[i][a];
        }
        p = hd_profile_create(&desc, NULL);
        assert_non_null(p);
        for (uint32_t a = 0; a < HD_MAX_AXES; a++)
            assert_int_equal(hd_profile_node(p, a, 0, hd_cstr(names[i][a]), &nodes[a], NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, nodes, 10 + i, 1, NULL), HD_OK);
        heaps[i].profile = p;
    }
    for (int form = 0; form < 2; form++) {
        hd_buffer out = rows_of(heaps, 2, (hd_rows_form)form), again;
        hd_dump *dump = NULL;
        assert_int_equal(hd_read_memory(out.data, out.size, NULL, &dump, NULL), HD_OK);
        assert_int_equal(hd_dump_heap_count(dump), 2);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(hd_profile_axis_count(hd_dump_heap(dump, i)->profile), HD_MAX_AXES);
            assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, i)->profile), 10 + i);
        }
        hd_heap both[2] = { *hd_dump_heap(dump, 0), *hd_dump_heap(dump, 1) };
        again = rows_of(both, 2, (hd_rows_form)form);
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        hd_buffer_free(&out), hd_buffer_free(&again);
        hd_dump_free(dump);
    }
    hd_profile_free((hd_profile *)heaps[0].profile), hd_profile_free((hd_profile *)heaps[1].profile);
}

static void a_heap_of_too_many_axes_is_refused(void **state) {
    (void)state;
    char text[1000] = "stack,bytes", *end = text + strlen(text);
    hd_dump *dump = NULL;
    hd_error err;
    for (int i = 0; i < 32; i++) end += sprintf(end, ",axis_a%d", i);
    strcpy(end, "\n");
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &dump, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "rows of more than 32 axes");
    end = text + sprintf(text, "stack,bytes");
    for (int i = 0; i < 9; i++) end += sprintf(end, ",axis_a%d", i);
    sprintf(end, "\nmain,1,1,2,3,4,5,6,7,8,9\n");
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &dump, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "a heap of more than 8 axes");
}

/* The most memory per byte of a hostile file: heaps of one cell each, with labels that differ by a digit or two. */
static void heaps_of_one_cell_are_small(void **state) {
    enum { HEAPS = 5000 };
    char *text = malloc(HEAPS * 24), *p = text;
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    hd_dump *dump = NULL;
    (void)state;
    p += sprintf(p, "profile,stack,bytes\n");
    for (int i = 0; i < HEAPS; i++) p += sprintf(p, "%x,a,1\n", (unsigned)i);
    assert_int_equal(hd_read_memory(text, (size_t)(p - text), &options, &dump, NULL), HD_OK);
    assert_int_equal(hd_dump_heap_count(dump), HEAPS);
    if (f.peak > HEAPS * 1300) fail_msg("%u bytes a heap", (unsigned)(f.peak / HEAPS));
    hd_dump_free(dump);
    assert_int_equal(f.live, 0);
    free(text);
}

static void tables_of_others_are_not_taken_for_rows(void **state) {
    (void)state;
    static const char *const others[] = {
        "file,pid,process,dump,allocator,kind,depth,axis,name,bytes,blocks\n", "id,class,type,bytes\n", "main;run 12\n", "a,b,c\n",
        "{\"traceEvents\":[]}", "{\"snapshot\":{\"meta\":{}}}", "{\"stack\":1}", "bytes,blocks\n", "{\"bytes\":1,\"blocks\":2}\n"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(hd__rows_detect((const uint8_t *)others[i], strlen(others[i])), 0);
        assert_int_equal(hd__rows_json_detect((const uint8_t *)others[i], strlen(others[i])), 0);
    }
    assert_true(hd__rows_detect((const uint8_t *)"bytes,stack\n", 12) > 50);
    assert_true(hd__rows_json_detect((const uint8_t *)"{\"bytes\":1,\"stack\":[\"a\"]}\n", 25) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_a_row),
        cmocka_unit_test(json_lines_have_arrays),
        cmocka_unit_test(entries_are_cumulative),
        cmocka_unit_test(no_heaps_are_names_of_columns),
        cmocka_unit_test(a_heap_without_cells_is_a_row_without_bytes),
        cmocka_unit_test(values_without_a_column_are_refused),
        cmocka_unit_test(hashes_of_long_paths),
        cmocka_unit_test(columns_may_have_any_order),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(rows_of_one_cell_add_up),
        cmocka_unit_test(other_heaps_may_come_between),
        cmocka_unit_test(an_axis_may_turn_up_late),
        cmocka_unit_test(times_are_iso_8601),
        cmocka_unit_test(a_row_without_bytes_adds_nothing),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(bad_rows_are_named_and_left_out),
        cmocka_unit_test(bounds_that_cannot_be_are_refused),
        cmocka_unit_test(bad_json_is_named_and_left_out),
        cmocka_unit_test(a_text_has_no_zero_bytes),
        cmocka_unit_test(rows_after_a_bad_row_keep_their_heap),
        cmocka_unit_test(heaps_come_back),
        cmocka_unit_test(cut_off_anywhere),
        cmocka_unit_test(every_bit_turned),
        cmocka_unit_test(in_pieces_it_is_the_same),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(columns_of_many_axes_are_written_and_read),
        cmocka_unit_test(a_heap_of_too_many_axes_is_refused),
        cmocka_unit_test(heaps_of_one_cell_are_small),
        cmocka_unit_test(tables_of_others_are_not_taken_for_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
