/* Reading /proc/PID/smaps: lines in the kernel's form, and in forms that it never writes. Also the kind of memory of
   each mapping. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../examples/heapdump/record/resident_maps.c"
#include "../examples/heapdump/heaps/resident_parts.c"

static resident_maps maps;

static bool line(const char *text) { return resident_line(&maps, text, strlen(text)); }

/* Reads the lines of a text; false if one line differs from the expectation. */
static bool lines(const char *text) {
    bool fine = true;
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) fine &= resident_line(&maps, text, (size_t)(end - text));
    return fine;
}

static int begin(void **state) {
    (void)state;
    resident_maps_free(&maps);
    return 0;
}

static int end(void **state) { return begin(state); }

static void assert_parts(uint64_t live, const uint64_t *expected) {
    uint64_t part[RESIDENT_PARTS];
    resident_sum(&maps, live, part);
    for (int i = 0; i < RESIDENT_PARTS; i++)
        if (part[i] != expected[i]) fail_msg("%s: %llu expected, %llu found", resident_names[i],
                                             (unsigned long long)expected[i], (unsigned long long)part[i]);
}

static const char whole[] =
    "1000-3000 r-xp 00000000 fe:00 4711 /bin/a program\nSize: 8 kB\nRss: 8 kB\nPss: 1 kB\nVmFlags: rd ex mr mw me\n"
    "3000-4000 rw-p 00002000 fe:00 4711 /bin/a program\nRss: 4 kB\nVmFlags: rd wr\n"
    "4000-8000 rw-p 00000000 00:00 0 \nRss: 12 kB\n"                            /* its zeros */
    "9000-20000 rw-p 00000000 00:00 0                          [heap]\nRss:                  40 kB\n"
    "30000-40000 rw-p 00000000 00:00 0 \nRss: 16 kB\nVmFlags: rd wr mr mw me rr nr sd\n" /* memory of the recorder */
    "40000-50000 rw-p 00000000 00:00 0 \nRss: 20 kB\nVmFlags: rd wr nr\n"       /* holds */
    "50000-51000 ---p 00000000 00:00 0 \nRss: 0 kB\n"
    "51000-60000 rw-p 00000000 00:00 0 \nRss: 24 kB\n"                          /* a stack */
    "70000-80000 rw-s 00000000 00:01 99 /memfd:heapdump (deleted)\nRss: 28 kB\n"
    "80000-90000 r-xp 00000000 fe:00 5 /usr/lib/heapdump/libheapdump_record.so\nRss: 32 kB\n"
    "90000-91000 rw-p 00000000 fe:00 5 /usr/lib/heapdump/libheapdump_record.so\nRss: 4 kB\n"
    "91000-99000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"                           /* its zeros */
    "a0000-b0000 rw-p 00000000 00:00 0 [anon:mine]\nRss: 36 kB\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\nRss: 44 kB\n"
    "7ffc00022000-7ffc00024000 r-xp 00000000 00:00 0 [vdso]\nRss: 4 kB\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\nRss: 0 kB\n";

static void each_map_is_a_part(void **state) {
    (void)state;
    assert_true(lines(whole));
    assert_false(maps.unexpected);
    assert_int_equal(maps.count, 16);
    assert_null(resident_map_at(&maps, 0xfff));
    assert_null(resident_map_at(&maps, 0x8000));
    assert_null(resident_map_at(&maps, UINT64_MAX));
    assert_ptr_equal(resident_map_at(&maps, 0x1000), &maps.map[0]);
    assert_ptr_equal(resident_map_at(&maps, 0x4fff0), &maps.map[5]);
    resident_map_at(&maps, 0x4fff0)->holds = true;
    resident_map_at(&maps, 0x5fff0)->is_stack = true;
    resident_map_at(&maps, 0x70000)->of_recorder = true;
    assert_parts(50 << 10, (uint64_t[]){ 50 << 10, 10 << 10, 68 << 10, 24 << 10, 36 << 10, 88 << 10, 4 << 10 });
    /* more live bytes than resident ones: nobody touched these blocks */
    assert_parts(UINT64_MAX, (uint64_t[]){ 60 << 10, 0, 68 << 10, 24 << 10, 36 << 10, 88 << 10, 4 << 10 });
}

static void stacks_are_guessed_by_the_page_below(void **state) {
    (void)state;
    assert_true(lines(whole));
    resident_guess_stacks(&maps, 0);
    assert_false(maps.map[7].is_stack);
    resident_guess_stacks(&maps, 9);
    for (size_t i = 0; i < maps.count; i++) assert_int_equal(maps.map[i].is_stack, i == 7);
}

static void one_that_holds_blocks_is_no_stack(void **state) {
    (void)state;
    assert_true(lines(whole));
    maps.map[7].holds = true;
    resident_guess_stacks(&maps, 9);
    assert_false(maps.map[7].is_stack);
}

/* Each text is refused, and adds nothing. */
static void lines_that_no_kernel_writes_are_refused(void **state) {
    static const char *const bad[] = {
        "", " ", "x", "Rss: 4 kB", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 rw-", "1000-2000 rw-p0 0 0:0 0",
        "2000-1000 rw-p 0 00:00 0", "1000-1000 rw-p 0 00:00 0", "-1000 rw-p 0 00:00 0", "1000-2000 rw-p  00:00 0",
        "1000-2000 rw-p 0 00.00 0", "1000-2000 rw-p 0 00:00", "1000-2000 rw-p 0 00:00 x",
        "11111111111111111-21111111111111111 rw-p 0 00:00 0", "1000-2000 rw-p 0 00:00 99999999999999999999",
        "G000-H000 rw-p 0 00:00 0", "\xff\xfe", "1000-2000\nrw-p 0 00:00 0" };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        maps.unexpected = false;
        if (line(bad[i]) || !maps.unexpected || maps.count) fail_msg("taken: %s", bad[i]);
    }
    assert_true(line("1000-3000 rw-p 00000000 00:00 0"));
    assert_false(line("2000-4000 rw-p 00000000 00:00 0 overlaps"));
    assert_false(line("0-1000 rw-p 00000000 00:00 0 comes late"));
    assert_int_equal(maps.count, 1);
    static const char *const values[] = { "Rss:", "Rss: kB", "Rss: 4", "Rss: 4 MB", "Rss: -4 kB", "Rss: 18014398509481984 kB",
                                          "Rss: 99999999999999999999 kB" };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (line(values[i]) || maps.map[0].bytes) fail_msg("taken: %s", values[i]);
    assert_true(line("Rss: 18014398509481983 kB"));
    assert_int_equal(maps.map[0].bytes, UINT64_MAX - 1023);
    assert_true(line("VmFlags:") && line("VmFlags: r") && line("VmFlags:  rr  n"));
    assert_true(maps.map[0].random && !maps.map[0].unreserved);
}

/* A line may end anywhere: nothing after its end is read. */
static void lines_end_where_they_end(void **state) {
    static const char full[] = "7f0000001000-7f0000002000 rw-p 00000000 00:00 0 /lib/libheapdump_record.so";
    (void)state;
    for (size_t n = 0; n < sizeof full; n++) {
        char *copy = malloc(n + !n);
        memcpy(copy, full, n);
        resident_line(&maps, copy, n);
        free(copy);
        resident_maps_free(&maps);
    }
    for (size_t n = 0; n < strlen("Rss: 12 kB"); n++) {
        char *copy = malloc(n + !n);
        memcpy(copy, "Rss: 12 kB", n);
        assert_true(line(full));
        resident_line(&maps, copy, n);
        assert_int_equal(maps.map[0].bytes, 0);
        free(copy);
        resident_maps_free(&maps);
    }
}

static void there_may_be_many(void **state) {
    char text[96];
    bool fine = true;
    (void)state;
    for (uint64_t i = 0; i <= MAPS_MOST && fine; i++) {
        snprintf(text, sizeof text, "%llx-%llx rw-p 00000000 00:00 0", (unsigned long long)(2 * i << 12),
                 (unsigned long long)((2 * i + 1) << 12));
        fine = line(text);
        assert_int_equal(fine, i < MAPS_MOST);
    }
    assert_ptr_equal(resident_map_at(&maps, (uint64_t)2 * 777777 << 12), &maps.map[777777]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_map_is_a_part, begin, end),
        cmocka_unit_test_setup_teardown(stacks_are_guessed_by_the_page_below, begin, end),
        cmocka_unit_test_setup_teardown(one_that_holds_blocks_is_no_stack, begin, end),
        cmocka_unit_test_setup_teardown(lines_that_no_kernel_writes_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(lines_end_where_they_end, begin, end),
        cmocka_unit_test_setup_teardown(there_may_be_many, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
