/* Text reports of the MemProf runtime. Reports of a real program of clang 22, in both forms, have the totals of its
   raw profile. Tests by hand have lines and every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"
#include "readers.h"
#include "../examples/heapdump/formats/memprof_report.c"

static const hd_format format = { .name = "memprof-report", .title = "a text report of the MemProf runtime",
                                  .detect = memprof_report_detect, .read = memprof_report_read };

static hd_dump *read_text(const char *text) { return read_well(&format, text, strlen(text), false, 0); }
static char *cells(const hd_dump *dump) { return profile_text(hd_dump_heap(dump, 0)->profile); }

static void is_wrong(const char *text, uint64_t line, const char *what) {
    hd_options options = { .format = "memprof-report" };
    hd_dump *dump;
    hd_error err;
    assert_int_equal(read_with(&format, text, strlen(text), options, &dump, &err), HD_MALFORMED);
    if (err.line != line || !strstr(err.message, what)) fail_msg("line %d: %s", (int)err.line, err.message);
}

static void a_real_report(const char *file) {
    uint8_t *data = NULL;
    size_t size = 0;
    hd_dump *dump;
    const hd_heap *heap;
    char *text;
    load(file, &data, &size);
    dump = read_well(&format, data, size, false, 0);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    heap = hd_dump_heap(dump, 0);
    assert_int_equal(heap->kind, HD_HEAP_TOTAL);
    assert_string_equal(heap->allocator, "malloc");
    assert_int_equal(hd_profile_bytes(heap->profile), 73917);
    assert_int_equal(hd_profile_blocks(heap->profile), 14);
    text = profile_text(heap->profile);
    assert_non_null(strstr(text, "/__libc_start_call_main (libc_start_call_main.h:58)/main (app.cpp:7)/mk() (app.cpp:5)/"
                                 "operator new(unsigned long) 200 5\n"));
    if (!strstr(text, "/lib/x86_64-linux-gnu/libstdc++.so.6+0xa57b9/malloc 72704 1\n")) fail_msg("%s", text);
    free(text);
    hd_dump_free(dump);
    survives_pieces(&format, data, size);
    free(data);
}

static void real_reports_have_the_totals_of_the_run(void **state) {
    (void)state;
    a_real_report("memprof-22-report.txt");
    a_real_report("memprof-22-report-terse.txt");
}

#define MIB(id, count, size) "Memory allocation stack id = " id "\n\talloc_count " count ", size (ave/min/max) " size " / 1 / 2\n"

/* Averages are cut off: 3 blocks with 10 bytes in total have 3.33, 7 with 15 bytes have 2.14. */
static void totals_come_back_from_averages(void **state) {
    (void)state;
    hd_dump *dump = read_text("Recorded MIBs (incl. live on exit):\n" MIB("1", "3", "3.33") MIB("2", "7", "2.14") MIB("3", "100", "0.99")
                              "Stack for id 2:\n    #0 0x1 in f /a/b.c:3:4\n    #1 0x2 in g /a/b.c:9\n    #2 0x3 in h (/bin/x+0x3)\n"
                              "    #3 0x4  (/bin/x+0x4) (BuildId: 00ff)\n    #4 0x5 in operator new(unsigned long) b.c\n\n"
                              "Stack for id 7:\n    #0 0x1 in nobody\n\nStack for id 1:\n    #0 0x9\n");
    assert_text(cells(dump), "/operator new(unsigned long) (b.c)//bin/x+0x4/h/g (b.c:9)/f (b.c:3) 15 7\n/0x9 10 3\n/ 99 100\n");
    hd_dump_free(dump);
}

static void blocks_without_a_stack_are_of_the_root(void **state) {
    (void)state;
    hd_dump *dump = read_text("MIB:5/2/8.00/8/8/0.00/0/0/0.00/0/0/0/0/0/0\nMIB:5/1/1.00/1/1/0.00/0/0/0.00/0/0/0/0/0/0\n");
    assert_text(cells(dump), "/ 17 3\n");
    hd_dump_free(dump);
    dump = read_text("MIB:5/0/0.00/0/0\nMIB:4/1/9.00\r\nStack for id 4:\r\n    #0 0x1 in f (/x+0x1)\r\n");
    assert_text(cells(dump), "/f 9 1\n/ 0 0\n");
    hd_dump_free(dump);
    dump = read_text("MIB:4/1/9.00\nStack for id 4:\n #0 0x1f in (BuildId: 00ff)\n #1 0x2 (BuildId: 00ff)\n #2 0x3\n");
    assert_text(cells(dump), "/0x3/0x2/0x1f 9 1\n");
    hd_dump_free(dump);
}

static void faults_are_reported_with_their_line(void **state) {
    (void)state;
    hd_dump *dump;
    is_wrong("MIB:x", 1, "a decimal number");
    is_wrong("MIB:1", 1, "'/'");
    is_wrong("MIB:1/2", 1, "'/'");
    is_wrong("MIB:1/2/3", 1, "'.' and two decimals");
    is_wrong("MIB:1/2/3.1/", 1, "an average with two decimals");
    is_wrong("MIB:1/2/3.001/", 1, "an average with two decimals");
    is_wrong("MIB:1/2/18446744073709551616.00/", 1, "64 bits");
    is_wrong("MIB:1/18446744073709551615/2.00/", 1, "2^64 bytes");
    is_wrong("Memory allocation stack id = 1\n", 2, "alloc_count");
    is_wrong("Memory allocation stack id = 1\nx\n", 2, "alloc_count");
    is_wrong("Memory allocation stack id = 1\n\talloc_count 1 size\n", 2, "size (ave/min/max)");
    is_wrong("MIB:1/1/1.00\nStack for id 1:\n  #0 1 in f\n", 3, "an address");
    is_wrong("MIB:1/1/1.00\nStack for id :\n", 2, "a decimal number");
    is_wrong("MIB:1/1/1.00\nStack for id 1:\n\nMIB:2/1/1.00\n", 4, "no more allocations after the first call stack");
    is_wrong("MIB:1/1/1.00\nhello\n", 2, "a line of the MemProf runtime's report");
    dump = read_well(&format, "MIB:1/1/1.00\nhello\nMIB:x\n", 24, true, 2);
    assert_text(cells(dump), "/ 1 1\n");
    hd_dump_free(dump);
}

static void other_texts_are_not_taken(void **state) {
    (void)state;
    assert_int_equal(memprof_report_detect((const uint8_t *)"Recorded MIBs (", 15), 100);
    assert_int_equal(memprof_report_detect((const uint8_t *)"Recorded MIBs", 13), 0);
    assert_int_equal(memprof_report_detect((const uint8_t *)"MIB", 3), 0);
    assert_int_equal(memprof_report_detect((const uint8_t *)"", 0), 0);
}

static const char damaged[] = "Recorded MIBs (incl. live on exit):\n" MIB("12", "3", "3.33") "\taccess_count (ave/min/max): 1.00 / 1 / 1\n"
                              "MIB:2/7/2.14/0/0\nStack for id 12:\n    #0 0x1 in f /a/b.c:3:4\n    #1 0x2 (/x+0x3) (BuildId: 0)\n\n"
                              "Stack for id 2:\n    #0 0x1 in g\n";

static void malformed_numbers_are_refused(void **state) {
    (void)state;
    survives_malformed(&format, "Recorded MIBs (incl. live on exit):\nMIB:?/?/1.00/0/0\nStack for id ?:\n    #0 0x1 in f /a/b.c:3:4\n");
}

static int put_stack(char *to, size_t room, int i) {
    return snprintf(to, room, "Stack for id %d:\n    #0 0x%x in function%d /a/file%d.c:%d\n\n", i + 1, i, i, i, i % 100);
}

static int put_block(char *to, size_t room, int i) { return snprintf(to, room, "MIB:%d/7/2.00/0/0\n", i + 1); }

static void limits_bind(void **state) {
    (void)state;
    char *stacks = long_text("", "", 9000, put_stack), *text = long_text("Recorded MIBs (incl. live on exit):\n", stacks, 9000, put_block);
    survives_limits(&format, text, strlen(text));
    free(stacks), free(text);
}

static void damage_is_survived(void **state) {
    (void)state;
    survives_damage(&format, damaged, sizeof damaged - 1, 65536);
    survives_faults(&format, damaged, sizeof damaged - 1);
    survives_pieces(&format, damaged, sizeof damaged - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_reports_have_the_totals_of_the_run),
        cmocka_unit_test(totals_come_back_from_averages),
        cmocka_unit_test(blocks_without_a_stack_are_of_the_root),
        cmocka_unit_test(faults_are_reported_with_their_line),
        cmocka_unit_test(other_texts_are_not_taken),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(limits_bind),
        cmocka_unit_test(malformed_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
