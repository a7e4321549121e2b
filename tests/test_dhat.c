/* Profiles of valgrind --tool=dhat. Real profiles in each mode have the totals that DHAT printed. Tests by hand have
   points, names, and every fault. */
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
#include "../examples/heapdump/formats/dhat.c"

static const hd_format format = { .name = "dhat", .title = "a profile of valgrind's DHAT", .detect = dhat_detect,
                                  .read = dhat_read };

static hd_dump *read_text(const char *text) { return read_well(&format, text, strlen(text), false, 0); }
static char *cells(const hd_dump *dump, size_t i) { return profile_text(hd_dump_heap(dump, i)->profile); }

#define MALLOC "malloc [vgpreload_dhat-amd64-linux.so]"
#define CALLOC "calloc [vgpreload_dhat-amd64-linux.so]"

/* One heap: its kind, allocator, bytes and blocks. */
static void is_heap(const hd_dump *dump, size_t i, hd_heap_kind kind, const char *allocator, uint64_t bytes, uint64_t blocks) {
    const hd_heap *h = hd_dump_heap(dump, i);
    assert_non_null(h);
    assert_int_equal(h->kind, kind);
    assert_string_equal(h->allocator, allocator);
    assert_int_equal(hd_profile_bytes(h->profile), bytes);
    assert_int_equal(hd_profile_blocks(h->profile), blocks);
    assert_int_equal(h->sample_bytes, 0);
}

static void is_scalar(const hd_dump *dump, size_t i, const char *name, uint64_t value, const char *units) {
    const hd_scalar *s = hd_dump_scalar(dump, i);
    assert_non_null(s);
    assert_string_equal(s->name, name);
    assert_int_equal(s->value, value);
    if (units) assert_string_equal(s->units, units);
    assert_null(s->allocator);
}

static hd_dump *a_real_file(const char *name) {
    uint8_t *data = NULL;
    size_t size = 0;
    hd_dump *dump;
    load(name, &data, &size);
    dump = read_well(&format, data, size, false, 0);
    survives_pieces(&format, data, size);
    free(data);
    return dump;
}

/* DHAT: "Total: 1,385 bytes in 14 blocks", "At t-gmax: 1,070 bytes in 5 blocks", "At t-end: 600 bytes in 3 blocks",
   "Reads: 206 bytes", "Writes: 210 bytes". */
static void heaps_have_the_totals_of_the_run(void **state) {
    (void)state;
    hd_dump *dump = a_real_file("dhat-heap.json");
    assert_int_equal(hd_dump_heap_count(dump), 4);
    is_heap(dump, 0, HD_HEAP_LIVE, "malloc", 600, 3);
    is_heap(dump, 1, HD_HEAP_PEAK, "malloc", 1070, 5);
    is_heap(dump, 2, HD_HEAP_TOTAL, "malloc", 1385, 14);
    is_heap(dump, 3, HD_HEAP_PEAK, "malloc maxima", 1070, 5);
    assert_int_equal(hd_dump_heap(dump, 0)->pid, 2032);
    assert_string_equal(hd_dump_heap(dump, 0)->process, "dhat");
    assert_int_equal(hd_dump_heap(dump, 0)->time_us, 0);
    assert_text(cells(dump, 0), "/main (dhat.c:26)/table (dhat.c:10)/grow (dhat.c:7)/" MALLOC " 600 3\n");
    assert_text(cells(dump, 1), "/main (dhat.c:26)/table (dhat.c:10)/grow (dhat.c:7)/" MALLOC " 1000 4\n"
                                "/main (dhat.c:29)/pass (dhat.c:17)/" CALLOC " 70 1\n");
    assert_int_equal(hd_dump_scalar_count(dump), 6);
    assert_string_equal(hd_dump_scalar(dump, 0)->text, "./dhat");
    is_scalar(dump, 0, "command", 0, NULL);
    is_scalar(dump, 1, "time_end", 158117, "instrs");
    is_scalar(dump, 2, "time_peak", 153389, "instrs");
    is_scalar(dump, 3, "lifetimes", 28582 + 1119, "instrs");
    is_scalar(dump, 4, "reads", 206, "bytes");
    is_scalar(dump, 5, "writes", 210, "bytes");
    hd_dump_free(dump);
}

/* Without debug information, frames have the name of their object file. */
static void object_files_replace_lines(void **state) {
    (void)state;
    hd_dump *dump = a_real_file("dhat-bare.json");
    assert_text(cells(dump, 0), "/main [bare]/table [bare]/grow [bare]/" MALLOC " 600 3\n");
    hd_dump_free(dump);
}

/* DHAT: "Total: 491 bytes in 27 blocks"; "Total: 10 units in 4 events". */
static void other_modes_have_a_total(void **state) {
    (void)state;
    hd_dump *dump = a_real_file("dhat-copy.json");
    char *text;
    assert_int_equal(hd_dump_heap_count(dump), 1);
    is_heap(dump, 0, HD_HEAP_TOTAL, "copy", 491, 27);
    text = cells(dump, 0);
    if (!strstr(text, "/main (dhat.c:27)/memmove [vgpreload_dhat-amd64-linux.so] 206 4\n") ||
        !strstr(text, "\n/0x401AB77 [ld-linux-x86-64.so.2]/_dl_start (rtld.c:584)/_dl_start_final (rtld.c:497)/"))
        fail_msg("%s", text);
    free(text);
    hd_dump_free(dump);
    dump = a_real_file("dhat-ad-hoc.json");
    assert_int_equal(hd_dump_heap_count(dump), 1);
    is_heap(dump, 0, HD_HEAP_TOTAL, "ad-hoc", 10, 4);
    assert_string_equal(hd_heap_label(hd_dump_heap(dump, 0), "unit"), "units");
    assert_text(cells(dump, 0), "/main (dhat.c:26)/table (dhat.c:11) 10 4\n");
    hd_dump_free(dump);
}

/* A file without lifetimes; it has these points and frames. */
#define MODE(mode) "{\"dhatFileVersion\":2,\"mode\":\"" mode "\",\"verb\":\"Copied\",\"bklt\":false,\"bkacc\":false,\"tu\":\"instrs\"," \
                   "\"Mtu\":\"Minstr\",\"cmd\":\"/a/b c\",\"pid\":7,\"te\":9,\n"
#define FILE_OF(points, frames) MODE("copy") "\"pps\":[" points "],\n\"ftbl\":[" frames "]}\n"
/* The same with lifetimes; LIVE(numbers) is a point. */
#define LIVES "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"\",\"bklt\":true,\"bkacc\":true,\"tu\":\"instrs\",\"Mtu\":\"\"," \
              "\"tuth\":5,\"cmd\":\"\",\"pid\":7,\"te\":9,\"tg\":8,\n"

static void names_are_as_frames_have_them(void **state) {
    (void)state;
    static const char *const names[][2] = {
        { "0x1: f (a.c:5)", "f (a.c:5)" },
        { "0x1AbF: f(int, char) const (src/a b.cpp:50)", "f(int, char) const (src/a b.cpp:50)" },
        { "0x1: (below main) (libc_start.c:58)", "(below main) (libc_start.c:58)" },
        { "0x1: (below main)", "(below main)" },
        { "0x1: operator()(int) (in /usr/lib/libx.so.1)", "operator()(int) [libx.so.1]" },
        { "0x1: f (in libx.so)", "f [libx.so]" },
        { "0x1: f(a (b))", "f(a (b))" },
        { "0x1: ???", "0x1" },
        { "0x1f: ??? (in /usr/lib/libx.so)", "0x1f [libx.so]" },
        { "0x1: ??? (a.c:2)", "0x1 (a.c:2)" },
        { "0x7ff: alloc::raw::grow (src/raw.rs:72:9)", "alloc::raw::grow (src/raw.rs:72)" },
        { "f (a.c:5)", "f (a.c:5)" },
        { "???", "???" },
        { "0x: f", "0x: f" },
        { "0x1:f", "0x1:f" },
        { "", "" },
        { "0x1: \\u00e9\\ud83d\\ude00\\\"\\\\\\/\\t", "\xc3\xa9\xf0\x9f\x98\x80\"\\/\t" },
        { "0x1: \\ud83dx", "\xed\xa0\xbdx" },
        { "0x1: \\ud83d\\u0041", "\xed\xa0\xbd" "A" },
        { "0x1: [root]", "[root]" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[1000], expected[100];
        hd_dump *dump;
        snprintf(text, sizeof text, FILE_OF("{\"tb\":6,\"tbk\":2,\"fs\":[1]}", "\"[root]\",\"%s\""), names[i][0]);
        snprintf(expected, sizeof expected, "/%s 6 2\n", names[i][1]);
        dump = read_text(text);
        assert_text(cells(dump, 0), expected);
        hd_dump_free(dump);
    }
}

/* Stacks are innermost first. The root is no frame; a point without frames belongs to the root. Points with the same
   stack add up; a point of zeros makes no cell. */
static void points_are_stacks(void **state) {
    (void)state;
    hd_dump *dump = read_text(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[1,2,0]},{\"tb\":2,\"tbk\":1,\"fs\":[1,2]},{\"tb\":0,\"tbk\":3,\"fs\":[2]},"
                                      "{\"tb\":8,\"tbk\":1,\"fs\":[]},{\"tb\":0,\"tbk\":0,\"fs\":[1,1]}", "\"[root]\",\"f\",\"g\""));
    assert_text(cells(dump, 0), "/g/f 3 2\n/g 0 3\n/ 8 1\n");
    assert_string_equal(hd_dump_heap(dump, 0)->process, "b");
    hd_dump_free(dump);
    dump = read_text(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[0]}", "\"f\""));
    assert_text(cells(dump, 0), "/f 1 1\n");
    hd_dump_free(dump);
    dump = read_text(FILE_OF("", "\"[root]\""));
    assert_int_equal(hd_dump_heap_count(dump), 1);
    assert_text(cells(dump, 0), "");
    hd_dump_free(dump);
}

/* Keys in any order, spaces, keys of later versions, accesses. The dhat crate of Rust counts microseconds. */
static void json_is_read_however_it_is_written(void **state) {
    (void)state;
    hd_dump *dump = read_text(
        " {\n \"Mtu\" : \"s\", \"bkacc\":false,\"bklt\":true,\"ftbl\":[\"[root]\",\"0x1: f (a.rs:1:2)\"],\"cmd\":\"x\",\"more\":{\"a\":[{},\"]\",\"\\\"\",1e5,null]},"
        "\n \"dhatFileVersion\":2,\"mode\":\"rust-heap\",\"pps\":[\n{\"fs\":[ 1 ],\"acc\":[-3,4,5],\"tbk\":4,\"tb\":40,\"tl\":1,\"mb\":30,\"mbk\":3,"
        "\"gb\":20,\"gbk\":2,\"eb\":10,\"ebk\":1}],\"pid\":1,\"te\":2000000,\"tg\":1000000,\"tu\":\"\\u00b5s\",\"tuth\":10,\"verb\":\"Allocated\"} \n");
    assert_int_equal(hd_dump_heap_count(dump), 4);
    is_heap(dump, 0, HD_HEAP_LIVE, "rust-heap", 10, 1);
    is_heap(dump, 1, HD_HEAP_PEAK, "rust-heap", 20, 2);
    is_heap(dump, 2, HD_HEAP_TOTAL, "rust-heap", 40, 4);
    is_heap(dump, 3, HD_HEAP_PEAK, "rust-heap maxima", 30, 3);
    assert_int_equal(hd_dump_heap(dump, 0)->time_us, 2000000);
    assert_int_equal(hd_dump_heap(dump, 1)->time_us, 1000000);
    hd_dump_free(dump);
}

static void is_wrong(const char *text, hd_status wanted, uint64_t line, const char *what) {
    hd_options options = { .format = "dhat" };
    hd_dump *dump;
    hd_error err;
    hd_status status = read_with(&format, text, strlen(text), options, &dump, &err);
    if (status != wanted || err.line != line || !strstr(err.message, what))
        fail_msg("%s: status %d, line %d: %s", text, status, (int)err.line, err.message);
}

static void faults_are_reported_with_their_place(void **state) {
    (void)state;
    is_wrong(" ", HD_MALFORMED, 1, "'{' expected, and the input ends");
    is_wrong("[1]", HD_MALFORMED, 1, "'{' expected, found '[1]'");
    is_wrong("{\n\"dhatFileVersion\":3,\"mode\":4}", HD_UNSUPPORTED, 2, "version 2 of DHAT's files expected, found '3,\"mode\":4}'");
    is_wrong("{\"dhatFileVersion\":\"2\"}", HD_MALFORMED, 1, "a decimal number");
    is_wrong(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[1,2]},\n{\"tb\":1,\"tbk\":1,\"fs\":[1,3]}", "\"[root]\",\"f\",\"g\""), HD_MALFORMED, 3,
             "a frame of the table, below 3, expected, found 3");
    is_wrong(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[4294967296]}", "\"[root]\",\"f\",\"g\""), HD_MALFORMED, 2, "found 4294967296");
    is_wrong(FILE_OF("{\"tb\":18446744073709551616,\"tbk\":1,\"fs\":[]}", ""), HD_MALFORMED, 2, "a number of at most 64 bits expected");
    is_wrong(FILE_OF("{\"tb\":-1,\"tbk\":1,\"fs\":[]}", ""), HD_MALFORMED, 2, "a decimal number expected, found '-1");
    is_wrong(FILE_OF("{\"tb\":1.5,\"tbk\":1,\"fs\":[]}", ""), HD_MALFORMED, 2, "a decimal number expected, found '1.5");
    is_wrong(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[],\n\"tb\":1}", ""), HD_MALFORMED, 3, "a new key expected, found '1}");
    is_wrong(FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":7}", ""), HD_MALFORMED, 2, "an array expected, found '7}");
    is_wrong(FILE_OF("7", ""), HD_MALFORMED, 2, "an object expected, found '7]");
    is_wrong(FILE_OF("", "7"), HD_MALFORMED, 3, "a string expected, found '7]");
    is_wrong(FILE_OF("", "\"\\x\""), HD_MALFORMED, 3, "one of \"\\/bfnrtu expected, found 'x\"]");
    is_wrong(FILE_OF("", "\"\\u12g4\""), HD_MALFORMED, 3, "a hexadecimal digit expected, found 'g4\"");
    is_wrong(FILE_OF("{} {}", ""), HD_MALFORMED, 2, "',' or ']' expected, found '{}]");
    is_wrong(FILE_OF("{\"tb\" 1}", ""), HD_MALFORMED, 2, "':' expected, found '1}");
    is_wrong(FILE_OF("", "") "x", HD_MALFORMED, 4, "the end of the input expected, found 'x'");
    is_wrong(MODE("copy") "\"pps\":[{\"tb\":1", HD_MALFORMED, 2, "',' or '}' expected, and the input ends");
    is_wrong(MODE("copy") "\"x\":[{]", HD_MALFORMED, 2, "a value expected, found ']'");
    is_wrong("{\"dhatFileVersion\":2,\"bklt\":1}", HD_MALFORMED, 1, "true or false expected, found '1}'");
    is_wrong(FILE_OF("{\"tb\":18446744073709551615,\"tbk\":1,\"fs\":[]}", ""), HD_OVERFLOW, 2, "");
    is_wrong(LIVES "\"ftbl\":[],\"pps\":[{\"tb\":1,\"tbk\":1,\"tl\":18446744073709551615,\"mb\":1,\"mbk\":1,\"gb\":1,\"gbk\":1,\"eb\":1,\"ebk\":1,\"rb\":1,\"wb\":1,\"fs\":[]},\n"
             "{\"tb\":1,\"tbk\":1,\"tl\":1,\"mb\":1,\"mbk\":1,\"gb\":1,\"gbk\":1,\"eb\":1,\"ebk\":1,\"rb\":1,\"wb\":1,\"fs\":[]}]}",
             HD_OVERFLOW, 3, "the sum of all \"tl\" passes 2^64");
}

/* Removes a key with its value, which contains neither comma nor bracket. */
static char *without(const char *text, const char *key) {
    const char *at = strstr(text, key), *end = at + strcspn(at, ",}");
    char *made = malloc(strlen(text) + 1);
    assert_non_null(made);
    if (*end == ',') end++;
    else at--;
    sprintf(made, "%.*s%s", (int)(at - text), text, end);
    return made;
}

static void each_key_has_to_be_there(void **state) {
    (void)state;
    static const char *const keys[] = { "\"dhatFileVersion\"", "\"mode\"", "\"verb\"", "\"bklt\"", "\"bkacc\"", "\"tu\"", "\"Mtu\"", "\"tuth\"",
                                        "\"cmd\"", "\"pid\"", "\"te\"", "\"tg\"", "\"pps\"", "\"ftbl\"", "\"tb\"", "\"tbk\"", "\"tl\"", "\"mb\"", "\"mbk\"",
                                        "\"gb\"", "\"gbk\"", "\"eb\"", "\"ebk\"", "\"rb\"", "\"wb\"", "\"fs\"" };
    static const char point[] = LIVES "\"ftbl\":[],\"pps\":[{\"tb\":1,\"tbk\":1,\"tl\":1,\"mb\":1,\"mbk\":1,\"gb\":1,\"gbk\":1,\"eb\":1,\"ebk\":1,\"rb\":1,\"wb\":1,"
                                      "\"fs\":[]}]}";
    static const char none[] = LIVES "\"ftbl\":[],\"pps\":[]}";
    hd_dump_free(read_text(point));
    hd_dump_free(read_text(none));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *text = without(i < 14 ? none : point, keys[i]), expected[60];
        snprintf(expected, sizeof expected, "%s expected, and the object ends", keys[i]);
        if (strcmp(keys[i], "\"bklt\"")) is_wrong(text, HD_MALFORMED, 2, expected);
        else is_wrong(text, HD_MALFORMED, 2, "\"bklt\" expected");
        free(text);
    }
}

/* Leniently a malformed point is skipped, with a warning. */
static void malformed_points_are_skipped(void **state) {
    (void)state;
    const char *text = FILE_OF("{\"tb\":1,\"tbk\":1,\"fs\":[9]},{\"tb\":1,\"tbk\":\"x\",\"fs\":[1]},7,{\"tb\":1,\"fs\":[1]},{\"tb\":1,\"tbk\":1,\"fs\":[1,null]},"
                               "{\"tb\":5,\"tbk\":1,\"fs\":[2]}", "\"[root]\",7,\"g\"");
    hd_dump *dump = read_well(&format, text, strlen(text), true, 6);
    assert_text(cells(dump, 0), "/g 5 1\n");
    hd_dump_free(dump);
}

/* Faults in the keys that everything depends on are refused, in lenient reading too. */
static void nothing_is_made_of_other_texts(void **state) {
    (void)state;
    static const char *const texts[] = { "{}", "{\"traceEvents\":[]}", MODE("copy") "\"pps\":[]}", MODE("copy") "\"ftbl\":[]}",
                                         "{\"dhatFileVersion\":\"2\",\"bklt\":false,\"pps\":[],\"ftbl\":[]}",
                                         "{\"dhatFileVersion\":2,\"pps\":[],\"ftbl\":[]}", "{\"bklt\":false,\"pps\":[],\"ftbl\":[]}" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hd_options options = { .lenient = true, .format = "dhat" };
        hd_dump *dump;
        hd_error err;
        hd_status status = read_with(&format, texts[i], strlen(texts[i]), options, &dump, &err);
        if (status != HD_MALFORMED && status != HD_UNSUPPORTED) fail_msg("%s is taken", texts[i]);
    }
}

static void other_texts_are_not_taken(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int certainty;
    } texts[] = { { "{\"dhatFileVersion\":2", 100 }, { " {\n  \"dhatFileVersion\" : 2", 100 }, { "{\"cmd\":\"x\",\"dhatFileVersion\":2", 80 },
                  { "{\"dhatFileVersion", 0 }, { "{\"traceEvents\":[", 0 }, { "{", 0 }, { "", 0 }, { " ", 0 }, { "[\"dhatFileVersion\"]", 0 } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(dhat_detect((const uint8_t *)texts[i].text, strlen(texts[i].text)), texts[i].certainty);
}

static const char damaged[] =
    "{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"A\"\n,\"bklt\":true,\"bkacc\":true\n,\"bu\":\"b\",\"bsu\":\"bs\"\n,\"tu\":\"i\",\"Mtu\":\"M\",\"tuth\":5\n"
    ",\"cmd\":\"/a/b c\"\n,\"pid\":4\n,\"te\":9,\"tg\":8,\"x\":[{\"y\":\"\\\"\"}]\n,\"pps\":\n [{\"tb\":9,\"tbk\":4\n  ,\"tl\":2,\"mb\":1,\"mbk\":3,\"gb\":7,\"gbk\":2,"
    "\"eb\":6,\"ebk\":3,\"rb\":2,\"wb\":1,\"acc\":[-2,3]\n  ,\"fs\":[1,2]\n  }\n ]\n,\"ftbl\":[\"[root]\",\"0x1: f (a.c:3)\",\"0x2: \\u00e9 (in /b/c)\"]\n}\n";

static void damage_is_survived(void **state) {
    (void)state;
    survives_damage(&format, damaged, sizeof damaged - 1, 65536);
    survives_faults(&format, damaged, sizeof damaged - 1);
    survives_pieces(&format, damaged, sizeof damaged - 1);
}

static void malformed_numbers_are_refused(void **state) {
    (void)state;
    survives_malformed(&format, "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"\",\"bklt\":true,\"bkacc\":true,\"tu\":\"i\",\"Mtu\":\"\",\"tuth\":?,"
                              "\"cmd\":\"\",\"pid\":?,\"te\":?,\"tg\":?,\"pps\":[{\"tb\":?,\"tbk\":?,\"tl\":?,\"mb\":?,\"mbk\":?,\"gb\":?,\"gbk\":?,\"eb\":?,"
                              "\"ebk\":?,\"rb\":?,\"wb\":?,\"fs\":[?,?]}],\"ftbl\":[\"[root]\",\"f\"]}");
}

static void depth_takes_no_memory(void **state) {
    (void)state;
    survives_depth(&format, "{\"dhatFileVersion\":2,\"x\":", '[');
    survives_depth(&format, "{\"dhatFileVersion\":2,\"pps\":[{\"fs\":[", '{');
    for (uint32_t deep = 1; deep <= 513; deep = deep == 1 ? 7 : deep == 7 ? 8 : deep == 8 ? 512 : deep + 1) {
        char text[2000];
        hd_options options = { .limits = { .max_depth = deep < 9 ? 7 : 0 } };
        hd_dump *dump;
        hd_error err;
        hd_status status;
        snprintf(text, sizeof text, MODE("copy") "\"pps\":[],\"ftbl\":[],\"x\":%*s%*s}", (int)deep, "", (int)deep, "");
        for (char *c = text; *c; c++)
            if (*c == ' ' && c[-1] != 'b') *c = (size_t)(strchr(text, '\0') - c) > deep + 1 ? '[' : ']';
        status = read_with(&format, text, strlen(text), options, &dump, &err);
        assert_int_equal(status, deep == 8 || deep == 513 ? HD_LIMIT : HD_OK);
        hd_dump_free(dump);
    }
}

static int put_point(char *to, size_t room, int i) {
    return snprintf(to, room, "%s{\"tb\":%d,\"tbk\":1,\"fs\":[%d]}", i ? "," : "", i, i);
}

static int put_frame(char *to, size_t room, int i) {
    return snprintf(to, room, "%s\"0x%x: function%d (file%d.c:%d)\"\n", i ? "," : "", i, i, i, i % 100);
}

static void limits_bind(void **state) {
    (void)state;
    char *table = long_text("],\"ftbl\":[", "]}", 9000, put_frame), *text = long_text(MODE("copy") "\"pps\":[", table, 9000, put_point);
    survives_limits(&format, text, strlen(text));
    free(table), free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heaps_have_the_totals_of_the_run),
        cmocka_unit_test(object_files_replace_lines),
        cmocka_unit_test(other_modes_have_a_total),
        cmocka_unit_test(names_are_as_frames_have_them),
        cmocka_unit_test(points_are_stacks),
        cmocka_unit_test(json_is_read_however_it_is_written),
        cmocka_unit_test(faults_are_reported_with_their_place),
        cmocka_unit_test(each_key_has_to_be_there),
        cmocka_unit_test(malformed_points_are_skipped),
        cmocka_unit_test(other_texts_are_not_taken),
        cmocka_unit_test(nothing_is_made_of_other_texts),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(depth_takes_no_memory),
        cmocka_unit_test(limits_bind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
