/* Recordings of heaptrack: a real one has the totals that heaptrack_print prints. Tests by hand have events and every
   fault. */
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
#include "../examples/heapdump/formats/heaptrack.c"

static const hd_format format = { .name = "heaptrack", .title = "a heaptrack recording", .detect = heaptrack_detect,
                                  .read = heaptrack_read };
static const hd_heap_kind kinds[] = { HD_HEAP_LIVE, HD_HEAP_PEAK, HD_HEAP_TOTAL, HD_HEAP_TEMPORARY };

/* Blocks and bytes of the four heaps, in their order. */
static void has_totals(const hd_dump *dump, const uint64_t totals[8]) {
    assert_int_equal(hd_dump_heap_count(dump), 4);
    for (size_t i = 0; i < 4; i++) {
        const hd_heap *h = hd_dump_heap(dump, i);
        assert_int_equal(h->kind, kinds[i]);
        assert_string_equal(h->allocator, "malloc");
        assert_int_equal(h->sample_bytes, 0);
        assert_int_equal(hd_profile_blocks(h->profile), totals[2 * i]);
        assert_int_equal(hd_profile_bytes(h->profile), totals[2 * i + 1]);
    }
}
#define TOTALS(...) (const uint64_t[8]){ __VA_ARGS__ }

#define HEAD "v 10400 3\nX ./app -x\nI 1000 5e2991\n"

static hd_dump *read_text(const char *text) { return read_well(&format, text, strlen(text), false, 0); }
static char *cells(const hd_dump *dump, size_t i) { return profile_text(hd_dump_heap(dump, i)->profile); }

/* heaptrack_print: 2529 calls to allocation functions, peak 652.85K, leaked 164.40K, 21 temporary. One of the 21 is
   wrong: heaptrack_print takes the file's first allocation, freed after another one, for the last. */
static void a_real_recording_has_its_totals(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    load("small.heaptrack", &data, &size);
    hd_dump *dump = read_well(&format, data, size, false, 0);
    has_totals(dump, TOTALS(507, 164399, 2508, 652853, 2529, 772853, 20, 20000));
    assert_string_equal(hd_dump_heap(dump, 0)->process, "heaps");
    assert_text(cells(dump, 3), "/_start [heaps]/__libc_start_main_impl (../csu/libc-start.c:360) [libc.so.6]/__libc_start_call_main "
                                "(../sysdeps/nptl/libc_start_call_main.h:58) [libc.so.6]/main (/srv/app/heaps.cc:63) [heaps]/"
                                "pass(int) (/srv/app/heaps.cc:50) [heaps] 20000 20\n");
    hd_dump_free(dump);
    survives_pieces(&format, data, size);
    free(data);
}

static const char whole[] =
    "v 10400 3\nX ./app -x\ns 5 stray\nI am no such line\nI 1000 5e2991\n"
    "s 6 /a/app\ns 4 main\ns 3 a.c\ns 5 in\nto\ns 8 /usr/b.h\n# a comment\n\n"
    "i 55d0 1 2 3 a\ni 55e0 1 4 5 7 2 3 b\ni 55f0 1\ni 5600 1 2\ni 5610 0\ni 5620 1 0 3 9\n"
    "t 1 0\nt 2 1\nt 3 1\nt 4 1\nt 5 0\nt 6 0\n"
    "a 10 2\na 20 3\na 1 4\na 2 5\na 4 6\n"
    "+ 0\nc 5\n+ 1\nc 7\nR 918\n- 1\n+ 2\n+ 3\n+ 4\nA\nS leak:x\nc 9\n";

#define MAIN "/main (a.c:10) [app]"

static void everything_is_read(void **state) {
    (void)state;
    hd_dump *dump = read_text(whole);
    has_totals(dump, TOTALS(4, 23, 2, 48, 5, 55, 1, 32));
    assert_string_equal(hd_dump_heap(dump, 0)->process, "app");
    assert_int_equal(hd_dump_heap(dump, 0)->time_us, 9000);
    assert_int_equal(hd_dump_heap(dump, 1)->time_us, 5000);
    assert_text(cells(dump, 0), MAIN "/main (a.c:11) [app]/in\nto (/usr/b.h:7) [app] 16 1\n" MAIN "/main [app] 1 1\n/0x5610 2 1\n"
                                "/0x5620 [app] 4 1\n");
    assert_text(cells(dump, 1), MAIN "/main (a.c:11) [app]/in\nto (/usr/b.h:7) [app] 16 1\n" MAIN "/0x55f0 [app] 32 1\n");
    assert_text(cells(dump, 3), MAIN "/0x55f0 [app] 32 1\n");
    hd_dump_free(dump);
}

/* Stacks 1 to 3, allocations 0 to 2 of 1, 2 and 4 bytes, then events: each is a sign and a number. */
static hd_dump *read_events(const char *events) {
    static char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, HEAD "s 1 f\ns 1 g\ns 1 h\ni 1 0 1\ni 2 0 2\ni 3 0 3\nt 1 0\nt 2 0\nt 3 0\n"
                                                   "a 1 1\na 2 2\na 4 3\n");
    for (; *events; events += 2) n += (size_t)snprintf(text + n, sizeof text - n, "%c %c\n", events[0], events[1]);
    return read_text(text);
}

/* The peak is the first moment with the most bytes. A block is temporary if the event before its end allocated a
   block of the same size and stack. */
static void events_are_counted(void **state) {
    (void)state;
    static const struct { const char *events; uint64_t totals[8]; const char *peak; } runs[] = {
        { "", { 0, 0, 0, 0, 0, 0, 0, 0 }, "" },
        { "+0", { 1, 1, 1, 1, 1, 1, 0, 0 }, "/f 1 1\n" },
        { "+0-0", { 0, 0, 1, 1, 1, 1, 1, 1 }, "/f 1 1\n" },
        { "+0+1-0-1", { 0, 0, 2, 3, 2, 3, 0, 0 }, "/f 1 1\n/g 2 1\n" },     /* the last + is of another allocation */
        { "+0+1-1-0", { 0, 0, 2, 3, 2, 3, 1, 2 }, "/f 1 1\n/g 2 1\n" },     /* a - is in between */
        { "+0+0-0-0", { 0, 0, 2, 2, 2, 2, 1, 1 }, "/f 2 2\n" },
        /* the same number of bytes is no new peak */
        { "+0+1+2-2+2", { 3, 7, 3, 7, 4, 11, 1, 4 }, "/f 1 1\n/g 2 1\n/h 4 1\n" },
        { "+2-2+0+0+0+0", { 4, 4, 1, 4, 5, 8, 1, 4 }, "/h 4 1\n" },
        { "+2-2+0+0+0+0+1-0-0", { 3, 4, 5, 6, 6, 10, 0 + 1, 4 }, "/f 4 4\n/g 2 1\n" },
        { "+1+2-1+2-2-2+0", { 1, 1, 2, 8, 4, 11, 1, 4 }, "/h 8 2\n" },
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        hd_dump *dump = read_events(runs[i].events);
        has_totals(dump, runs[i].totals);
        assert_text(cells(dump, 1), runs[i].peak);
        hd_dump_free(dump);
    }
}

/* Random events, compared with the simplest way to count. */
static void random_events_are_counted(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int run = 0; run < 300; run++) {
        static char text[4096];
        uint64_t live[9] = { 0 }, peak[9] = { 0 }, bytes = 0, most = 0, blocks = 0, all = 0, total = 0, temporary = 0;
        int last = -1, events = (int)hd__test_below(&random, 150);
        size_t n = (size_t)snprintf(text, sizeof text, HEAD);
        for (int i = 1; i < 9; i++) n += (size_t)snprintf(text + n, sizeof text - n, "i %d 0\nt %x %d\na %x %x\n", i, i, i / 2, i * i, i);
        for (; events; events--) {
            int i = 1 + (int)hd__test_below(&random, 8);
            bool is_new = !live[i] || hd__test_below(&random, 2);
            n += (size_t)snprintf(text + n, sizeof text - n, "%c %x\n", is_new ? '+' : '-', i - 1);
            live[i] += is_new ? 1 : -UINT64_C(1);
            bytes += (uint64_t)(i * i) * (is_new ? 1 : -UINT64_C(1));
            if (is_new) total++, all += (uint64_t)(i * i);
            temporary += !is_new && last == i;
            last = is_new ? i : -1;
            if (bytes > most) memcpy(peak, live, sizeof live), most = bytes;
        }
        hd_dump *dump = read_text(text);
        for (int i = 1; i < 9; i++) blocks += live[i];
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), bytes);
        assert_int_equal(hd_profile_blocks(hd_dump_heap(dump, 0)->profile), blocks);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 1)->profile), most);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 2)->profile), all);
        assert_int_equal(hd_profile_blocks(hd_dump_heap(dump, 2)->profile), total);
        assert_int_equal(hd_profile_blocks(hd_dump_heap(dump, 3)->profile), temporary);
        hd_rows rows = hd_profile_cells(hd_dump_heap(dump, 1)->profile);
        hd_axis axis = hd_profile_axis(hd_dump_heap(dump, 1)->profile, 0);
        for (uint32_t c = 0; c < rows.count; c++) {
            int i = axis.node_name[rows.node[c]].data[2] - '0';
            assert_int_equal(rows.amount[c].blocks, peak[i]);
            peak[i] = 0;
        }
        for (int i = 1; i < 9; i++) assert_int_equal(peak[i], 0);
        hd_dump_free(dump);
    }
}

#define BASE HEAD "s 1 f\ni 1 0 1\nt 1 0\na 8 1\n+ 0\n" /* 65 bytes, 8 lines */

/* The fault, its place, and the result of lenient reading: warnings and live bytes. */
static const struct { const char *text, *message; uint64_t line, offset, warnings, live; } bad[] = {
    { BASE "x 1\n", "one of +, -, s, i, t, a, c, R, S, A and # expected, found 'x 1'", 9, 65, 1, 8 },
    { BASE "+\n", "a space and a hexadecimal number expected, and the line ends", 9, 66, 1, 8 },
    { BASE "+ g\n", "a hexadecimal number expected, found 'g'", 9, 67, 1, 8 },
    { BASE "+ -1\n", "a hexadecimal number expected, found '-1'", 9, 67, 1, 8 },
    { BASE "+ 1\n", "the number of an earlier allocation expected, found '1'", 9, 67, 1, 8 },
    { BASE "+ 11111111111111111\n", "a number of at most 64 bits expected, found '11111111111111111'", 9, 67, 1, 8 },
    { BASE "+ 0 1\n", "the end of the line expected, found '1'", 9, 69, 1, 8 },
    { BASE "- 0\n- 0\n", "an allocation that is live expected, found '0'", 10, 71, 1, 0 },
    { BASE "a ffffffffffffffff 1\n+ 1\n", "an allocation with which less than 2^64 bytes are live expected, found '1'", 10, 88, 1, 8 },
    { BASE "a fffffffffffffff8 1\n- 0\n+ 1\n- 1\n+ 0\n", "all cells together pass 2^64 - 2 bytes or blocks", 0, 102, 2, 8 },
    { BASE "a 8 2\n+ 1\n", "the number of an earlier stack expected, found '2'", 9, 69, 1, 16 },
    { BASE "a 8\n", "a space and a hexadecimal number expected, and the line ends", 9, 68, 1, 8 },
    { BASE "a 8 1 1\n", "the end of the line expected, found '1'", 9, 71, 1, 8 },
    { BASE "t 2 0\n", "the number of an earlier address expected, found '2 0'", 9, 67, 1, 8 },
    { BASE "t 1 2\n", "the number of an earlier stack expected, found '2'", 9, 69, 1, 8 }, /* its own parent */
    { BASE "t 1 ffffffff\na 4 2\n+ 1\n", "the number of an earlier stack expected, found 'ffffffff'", 9, 69, 1, 12 },
    { BASE "t 1 1 1\n", "the end of the line expected, found '1'", 9, 71, 1, 8 },
    { BASE "i 1 2\n", "the number of an earlier string expected, found '2'", 9, 69, 1, 8 },
    { BASE "i 1 1 2 1 1\n", "the number of an earlier string expected, found '2 1 1'", 9, 71, 1, 8 },
    { BASE "i 1 1 1 1\n", "a space and a hexadecimal number expected, and the line ends", 9, 74, 1, 8 },
    { BASE "s 5 abc\n", "a string of that length, and the end of the line, expected, found 'abc'", 9, 69, 1, 8 },
    { BASE "s 2 abc\n", "a string of that length, and the end of the line, expected, found 'abc'", 9, 69, 1, 8 },
    { BASE "s 1 ab\ni 2 2 2\n", "a string of that length, and the end of the line, expected, found 'ab'", 9, 69, 1, 8 },
    { BASE "s 3 a\nbc\ns 1 d\n", "a string of that length, and the end of the line, expected, found 'a'", 9, 69, 2, 8 },
    { BASE "s 2540be400 a\n", "a string of at most 1 MiB expected, found 'a'", 9, 77, 1, 8 },
    { BASE "s 2\n", "a space and a string expected, and the line ends", 9, 68, 1, 8 },
    { BASE "c x\n", "a hexadecimal number expected, found 'x'", 9, 67, 1, 8 },
    { "v 10400 3\n", "\"X\" and the command line expected, and the input ends", 2, 10, 1, 0 },
};

static void malformed_lines_are_left_out(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_dump *dump;
        hd_error err;
        hd_status status = read_with(&format, bad[i].text, strlen(bad[i].text), (hd_options){ 0 }, &dump, &err);
        assert_true(status == HD_MALFORMED || status == HD_OVERFLOW);
        assert_string_equal(err.message, bad[i].message);
        assert_int_equal(err.line, bad[i].line);
        assert_int_equal(err.offset, bad[i].offset);
        dump = read_well(&format, bad[i].text, strlen(bad[i].text), true, bad[i].warnings);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), bad[i].live);
        hd_dump_free(dump);
    }
}

/* A malformed record keeps its number, so that later records keep their meaning. */
static void numbers_do_not_shift(void **state) {
    (void)state;
    static const char text[] = HEAD "s 9 f\ns 1 g\ni 1 9\ni 2 0 2\nt 1 9\nt 2 0\nt 2 1\na x 1\na 8 2\na 4 3\n+ 1\n+ 0\n+ 2\n- 0\n";
    hd_dump *dump = read_well(&format, text, sizeof text - 1, true, 4);
    has_totals(dump, TOTALS(2, 12, 2 + 1, 12, 3, 12, 0, 0));
    assert_text(cells(dump, 0), "/g 12 2\n");
    hd_dump_free(dump);
}

#define EVENTS "i 1010 1 2 3 7\nt 1 0\na 64 1\n+ 0\n+ 0\n- 0\n"

static void other_files_are_named(void **state) {
    (void)state;
    static const struct { const char *text, *message; } others[] = {
        { "v 10400 4\nX a\n", "\"v\", the version of heaptrack and that of the format, 1 to 3, expected, found '4'" },
        { "v 10000 0\nX a\n", "\"v\", the version of heaptrack and that of the format, 1 to 3, expected, found '0'" },
        { "v 10400 3\nx 4 /app\nX a\nI 1 1\n", "a recording that heaptrack_interpret has processed expected, found 'x 4 /app'" },
    };
    static const char *const none[] = { "v 1", "v", "v 10400 3 4\n", "v 10400 3\nY", "vers", "v g 3\n", "v 1;2 3\n", "v 5\nX a" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int lenient = 0; lenient < 2; lenient++) {
            hd_dump *dump;
            hd_error err;
            assert_int_equal(read_with(&format, others[i].text, strlen(others[i].text), (hd_options){ .lenient = lenient }, &dump, &err),
                             HD_UNSUPPORTED);
            assert_string_equal(err.message, others[i].message);
        }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(heaptrack_detect((const uint8_t *)none[i], strlen(none[i])), !strcmp(none[i], "v 10400 3\nY") ? 60 : 0);
}

/* heaptrack_print of each of these: 2 calls to allocation functions, 1 temporary, peak 200B, leaked 100B. */
static void older_versions_are_read(void **state) {
    (void)state;
    static const char *const texts[] = {
        "v 10100 2\nX ./app\nI 1000 5e2991\ns libapp.so\ns leak(int)\ns app.cc\n" EVENTS,
        "v 10100 2\nX ./app\ns libapp.so\ns leak(int)\ns app.cc\n" EVENTS,
        "v 10000 1\nX ./app\ns libapp.so\ns leak(int)\ns app.cc\n" EVENTS,
        /* a file of a time when the format had no version */
        "v 10200\nX ./app\ns libapp.so\ns leak(int)\ns app.cc\n" EVENTS,
        "v 10400 3\nX ./app\ns 9 libapp.so\ns 9 leak(int)\ns 6 app.cc\n" EVENTS,
        "v 10400 3\nX ./app\n# a comment\nR 5\nS leak:x\nA\nc 0\ns 9 libapp.so\ns 9 leak(int)\ns 6 app.cc\n" EVENTS,
        "v 10400 3\nX ./app\ns 1 argument\ns 8 argument\ni 5 6\nt 1 0\na 1 1\n+ 0\nI 1000 5\n"
        "s 9 libapp.so\ns 9 leak(int)\ns 6 app.cc\n" EVENTS, /* lines before "I" belong to the command line */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(heaptrack_detect((const uint8_t *)texts[i], strlen(texts[i])), 100);
        hd_dump *dump = read_text(texts[i]);
        has_totals(dump, TOTALS(1, 100, 2, 200, 2, 200, 1, 100));
        assert_string_equal(hd_dump_heap(dump, 0)->process, "app");
        assert_text(cells(dump, 0), "/leak(int) (app.cc:7) [libapp.so] 100 1\n");
        hd_dump_free(dump);
    }
    /* strings are taken unchanged */
    hd_dump *dump = read_text("v 10100 2\nX a\ns \ns a b \ns x\r\ni 1 2 3\nt 1 0\na 1 1\n+ 0\n");
    assert_text(cells(dump, 0), "/x\r [a b ] 1 1\n");
    hd_dump_free(dump);
}

static void damage_is_withstood(void **state) {
    (void)state;
    survives_damage(&format, whole, sizeof whole - 1, 300000);
    survives_pieces(&format, whole, sizeof whole - 1);
    survives_faults(&format, whole, sizeof whole - 1);
    static const char old[] = "v 10100 2\nX ./app\ns libapp.so\ns leak(int)\ns app.cc\n" EVENTS;
    survives_damage(&format, old, sizeof old - 1, 300000);
}

static void malformed_numbers_are_refused(void **state) {
    (void)state;
    survives_malformed(&format, "v 10400 3\nX ./app\nI 1000 5e2991\ns 1 f\ni ? 1 1 1 ?\nt ? 0\na ? ?\n+ 0\nc ?\n- 0\n");
}

static int put_site(char *to, size_t room, int i) {
    return snprintf(to, room, "s %x function%d\ni %x 1 %x\nt %x 0\na 10 %x\n+ %x\n", snprintf(NULL, 0, "function%d", i), i, 4096 + i, i + 3,
                    i + 1, i + 1, i);
}

static void limits_bind(void **state) {
    (void)state;
    char *text = long_text("v 10400 3\nX ./app\ns 9 libapp.so\ns 9 leak(int)\n", "", 5000, put_site);
    survives_limits(&format, text, strlen(text));
    free(text);
}

/* Names must not be copied for each line of their file: memory and time are linear in the input. */
static void long_names_and_chains_are_linear(void **state) {
    (void)state;
    enum { LINES = 20000, LONG = 200000 };
    size_t n = 0, capacity = LONG + LINES * 80;
    char *text = (char *)malloc(capacity);
    assert_non_null(text);
    n += (size_t)snprintf(text, capacity, HEAD "s %x ", LONG);
    memset(text + n, 'f', LONG);
    n += LONG;
    n += (size_t)snprintf(text + n, capacity - n, "\ns 1 c\n");
    for (int i = 1; i <= LINES; i++)
        n += (size_t)snprintf(text + n, capacity - n, "i %x 2 1 2 %x\nt %x %x\na 1 %x\n+ %x\n", i, i, i, i - 1, i, i - 1);
    survives(&format, text, n, 64 * n);
    hd_dump *dump = read_well(&format, text, n, false, 0);
    has_totals(dump, TOTALS(LINES, LINES, LINES, LINES, LINES, LINES, 0, 0));
    assert_int_equal(hd_profile_axis(hd_dump_heap(dump, 0)->profile, 0).node_name[LINES].len, 4096);
    hd_dump_free(dump);
    free(text);
}

static void one_address_has_so_many_functions(void **state) {
    (void)state;
    char text[2048];
    for (int functions = 64; functions <= 65; functions++) {
        size_t n = (size_t)snprintf(text, sizeof text, HEAD "s 1 f\ni 1 1");
        for (int i = 0; i < functions; i++) n += (size_t)snprintf(text + n, sizeof text - n, " 1 1 %x", i + 1);
        n += (size_t)snprintf(text + n, sizeof text - n, "\nt 1 0\na 1 1\n+ 0\n");
        hd_dump *dump = read_well(&format, text, n, functions > 64, (uint64_t)functions - 64);
        assert_int_equal(hd_profile_axis(hd_dump_heap(dump, 0)->profile, 0).node_count, 65);
        hd_dump_free(dump);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_recording_has_its_totals),
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(events_are_counted),
        cmocka_unit_test(random_events_are_counted),
        cmocka_unit_test(malformed_lines_are_left_out),
        cmocka_unit_test(numbers_do_not_shift),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(older_versions_are_read),
        cmocka_unit_test(damage_is_withstood),
        cmocka_unit_test(limits_bind),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(long_names_and_chains_are_linear),
        cmocka_unit_test(one_address_has_so_many_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
