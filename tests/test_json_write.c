/* >>json: the writer's output, and the calls that it refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../heapdump.h"
#include "faults.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef hd__write_faults text;   /* grows when written to */

static void assert_text(const text *t, const char *expected, size_t size) {
    if (t->size != size || memcmp(t->size ? (char *)t->data : "", expected, size))
        fail_msg("expected\n%.*s\nfound\n%.*s", (int)size, expected, (int)t->size, t->size ? (char *)t->data : "");
}

/* One call per letter: { [ e(nd) k(ey) v(alue) n(ewline). */
static hd_status write_calls(const char *calls, hd_out out) {
    hd_json j;
    hd_json_begin(&j, out);
    for (; *calls; calls++) {
        switch (*calls) {
        case '{': hd_json_object(&j); break;
        case '[': hd_json_array(&j); break;
        case 'e': hd_json_end(&j); break;
        case 'k': hd_json_key(&j, "k"); break;
        case 'v': hd_json_u64(&j, 1); break;
        case 'n': hd_json_newline(&j); break;
        default: fail();
        }
    }
    hd_status status = hd_json_finish(&j);
    assert_int_equal(hd_json_finish(&j), status); /* writes nothing more */
    return status;
}

static void assert_written(const char *calls, const char *expected) {
    text t = { 0 };
    assert_int_equal(write_calls(calls, hd__faults_out(&t)), HD_OK);
    assert_text(&t, expected, strlen(expected));
    hd__write_faults_free(&t);
}

static void commas_come_by_themselves(void **state) {
    (void)state;
    assert_written("v", "1");
    assert_written("[e", "[]");
    assert_written("{e", "{}");
    assert_written("[vvve", "[1,1,1]");
    assert_written("{kvkve", "{\"k\":1,\"k\":1}");
    assert_written("[[e{e[veve", "[[],{},[1],1]");
    assert_written("{k[vvek{ekve", "{\"k\":[1,1],\"k\":{},\"k\":1}");
}

static void newlines_come_before_the_next_value(void **state) {
    (void)state;
    assert_written("nv", "\n1");
    assert_written("vn", "1\n");
    assert_written("[nvnve", "[\n1,\n1]");
    assert_written("[vnne", "[1\n]");
    assert_written("{nknvnkvnen", "{\n\"k\":\n1,\n\"k\":1\n}\n");
}

static void values_are_exact(void **state) {
    static const char expected[] =
        "[0,18446744073709551615,0,-1,9223372036854775807,-9223372036854775808,\"0\",\"ffffffffffffffff\","
        "\"1f\",\"0\",\"18446744073709551615\",true,false,null,\"\",\"\",\"text\",{\"a key\":1,\"\":2}]";
    text t = { 0 };
    hd_json j;
    (void)state;
    hd_json_begin(&j, hd__faults_out(&t));
    hd_json_array(&j);
    hd_json_u64(&j, 0), hd_json_u64(&j, UINT64_MAX);
    hd_json_i64(&j, 0), hd_json_i64(&j, -1), hd_json_i64(&j, INT64_MAX), hd_json_i64(&j, INT64_MIN);
    hd_json_hex(&j, 0), hd_json_hex(&j, UINT64_MAX), hd_json_hex(&j, 31);
    hd_json_decimal(&j, 0), hd_json_decimal(&j, UINT64_MAX);
    hd_json_bool(&j, true), hd_json_bool(&j, false), hd_json_null(&j);
    hd_json_cstr(&j, NULL), hd_json_str(&j, (hd_str){ NULL, 0 }), hd_json_str(&j, (hd_str){ "textual", 4 });
    hd_json_object(&j);
    hd_json_key_str(&j, (hd_str){ "a key, cut", 5 }), hd_json_u64(&j, 1);
    hd_json_key(&j, ""), hd_json_u64(&j, 2);
    hd_json_end(&j), hd_json_end(&j);
    assert_int_equal(hd_json_finish(&j), HD_OK);
    assert_text(&t, expected, sizeof expected - 1);
    hd__write_faults_free(&t);
}

static void quote(text *t, const char *s, size_t n) {
    hd_json j;
    hd_json_begin(&j, hd__faults_out(t));
    hd_json_str(&j, (hd_str){ s, n });
    assert_int_equal(hd_json_finish(&j), HD_OK);
}

static void strings_are_escaped(void **state) {
#define S(s, quoted) { s, sizeof s - 1, quoted }
#define BAD "\xef\xbf\xbd"
    static const struct { const char *s; size_t n; const char *quoted; } cases[] = {
        S("a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\""), S("\0\n\x1f\x7f", "\"\\u0000\\u000a\\u001f\\u007f\""),
        S("\xc2\xa0\xdf\xbf", "\"\xc2\xa0\xdf\xbf\""), S("\xe0\xa0\x80\xef\xbf\xbf", "\"\xe0\xa0\x80\xef\xbf\xbf\""),
        S("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
        /* lone surrogates and their direct neighbours */
        S("\xed\xa0\x80", "\"\\ud800\""), S("\xed\xbf\xbf", "\"\\udfff\""), S("\xed\xaf\xbfx", "\"\\udbffx\""),
        S("\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\""),
        /* control characters for terminals outside of ASCII, and their direct neighbours */
        S("\xc2\x80\xc2\x9b\xc2\x9f", "\"\\u0080\\u009b\\u009f\""), S("\xd8\x9b\xd8\x9c", "\"\xd8\x9b\\u061c\""),
        S("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\"\xe2\x80\x8d\\u200e\\u200f\xe2\x80\x90\""),
        S("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf", "\"\xe2\x80\xa7\\u2028\\u202e\xe2\x80\xaf\""),
        S("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\"\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa\""),
        /* stray, overlong, too large, cut */
        S("\x80", "\"" BAD "\""), S("a\xffz", "\"a" BAD "z\""), S("\xc0\x80", "\"" BAD BAD "\""),
        S("\xc1\xbf", "\"" BAD BAD "\""), S("\xe0\x9f\xbf", "\"" BAD BAD BAD "\""),
        S("\xf0\x8f\xbf\xbf", "\"" BAD BAD BAD BAD "\""), S("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""),
        S("\xf5\x80\x80\x80", "\"" BAD BAD BAD BAD "\""), S("\xe2\x82", "\"" BAD BAD "\""),
        S("\xe2\x82\"", "\"" BAD BAD "\\\"\""), S("\xc3", "\"" BAD "\""), S("\xf0\x9f\x98", "\"" BAD BAD BAD "\""),
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        text t = { 0 };
        quote(&t, cases[i].s, cases[i].n);
        assert_text(&t, cases[i].quoted, strlen(cases[i].quoted));
        hd__write_faults_free(&t);
    }
}

static size_t encode(uint32_t code, char *to) {
    if (code < 0x80) return to[0] = (char)code, 1;
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | code);
    return n;
}

static bool is_obeyed(uint32_t code) {
    return code < 32 || (code >= 127 && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code >= 0xd800 && code < 0xe000);
}

static void every_code_point_is_written(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 || (code > 0xd700 && code < 0x10100) ? 1 : 97) {
        char bytes[4], expected[16];
        size_t n = encode(code, bytes), size;
        text t = { 0 };
        if (code == '"' || code == '\\') size = (size_t)snprintf(expected, sizeof expected, "\"\\%c\"", (int)code);
        else if (is_obeyed(code))
            size = (size_t)snprintf(expected, sizeof expected, "\"\\u%04x\"", (unsigned)code);
        else size = (size_t)snprintf(expected, sizeof expected, "\"%.*s\"", (int)n, bytes);
        quote(&t, bytes, n);
        assert_text(&t, expected, size);
        hd__write_faults_free(&t);
    }
}

static void any_bytes_make_valid_utf8(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char bytes[12];
        text t = { 0 };
        size_t n = hd__test_below(&seed, sizeof bytes + 1);
        for (size_t i = 0; i < n; i++) /* mostly bytes that occur in UTF-8 */
            bytes[i] = (char)(hd__test_below(&seed, 4) ? "\x80\xbf\xc2\xe0\xed\xa0\xf0\x90\xf4\x8f\"\\"[hd__test_below(&seed, 12)]
                                                       : (char)hd__test_random(&seed));
        quote(&t, bytes, n);
        for (size_t i = 0; i < t.size;) { /* every character is the encoding of its code point */
            uint32_t code = t.data[i];
            size_t length = code < 0x80 ? 1 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
            char again[4];
            assert_true(i + length <= t.size);
            if (length > 1) code &= 0x7fu >> length;
            for (size_t k = 1; k < length; k++) code = code << 6 | (t.data[i + k] & 0x3f);
            assert_true(!is_obeyed(code) && code < 0x110000);
            assert_int_equal(encode(code, again), length);
            assert_memory_equal(again, t.data + i, length);
            i += length;
        }
        hd__write_faults_free(&t);
    }
}

static void only_nested_calls_are_valid(void **state) {
    static const char all[] = "{[ekv";
    char calls[8] = "";
    (void)state;
    for (uint32_t number = 1; number < 5 * 5 * 5 * 5 * 5 * 5 * 5; number++) {
        char open[8];
        int depth = 0, n = 0, roots = 0;
        bool valid = true, key = false;
        for (uint32_t rest = number; rest; rest /= 5) calls[n++] = all[rest % 5];
        calls[n] = 0;
        for (int i = 0; i < n && valid; i++) {
            bool in_object = depth && open[depth - 1] == '{';
            if (calls[i] == 'k') valid = in_object && !key, key = true;
            else if (calls[i] == 'e') valid = depth-- > 0 && !key;
            else {
                valid = depth ? !in_object || key : roots++ == 0;
                key = false;
                if (calls[i] != 'v') open[depth++] = calls[i];
            }
        }
        valid = valid && !depth && roots == 1;
        text t = { 0 };
        hd_status status = write_calls(calls, hd__faults_out(&t));
        if (status != (valid ? HD_OK : HD_INVALID)) fail_msg("%s: %s", calls, hd_status_text(status));
        hd__write_faults_free(&t);
    }
    text none = { 0 };
    assert_int_equal(write_calls("", hd__faults_out(&none)), HD_INVALID);
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    for (int depth = HD_JSON_DEPTH - 1; depth <= HD_JSON_DEPTH + 1; depth++) {
        char calls[2 * HD_JSON_DEPTH + 3] = "";
        text t = { 0 };
        for (int i = 0; i < depth; i++) calls[i] = '[', calls[depth + i] = 'e';
        assert_int_equal(write_calls(calls, hd__faults_out(&t)), depth <= HD_JSON_DEPTH ? HD_OK : HD_LIMIT);
        hd__write_faults_free(&t);
    }
}

static hd_status write_much(hd_out out) {
    static char large[9000];
    hd_json j;
    memset(large, 'l', sizeof large);
    hd_json_begin(&j, out);
    hd_json_object(&j);
    for (uint64_t i = 0; i < 3000; i++) {
        hd_json_key(&j, "number"), hd_json_u64(&j, i);
        if (i % 1000 == 500) hd_json_key(&j, "large"), hd_json_str(&j, (hd_str){ large, sizeof large });
    }
    hd_json_end(&j);
    return hd_json_finish(&j);
}

static void a_failing_output_sticks(void **state) {
    (void)state;
    for (uint64_t i = 1;; i++) {
        text t = { 0 };
        t.fail_at = i;
        t.status = i % 2 ? HD_CANCELLED : HD_IO;
        hd_status status = write_much(hd__faults_out(&t)), expected = t.status;
        uint64_t count = t.count, after = t.after;
        hd__write_faults_free(&t);
        assert_int_equal(after, 0);
        if (count < i) {
            assert_int_equal(status, HD_OK);
            assert_true(i > 10);
            break;
        }
        assert_int_equal(status, expected);
    }
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(commas_come_by_themselves), T(newlines_come_before_the_next_value), T(values_are_exact),
        T(strings_are_escaped), T(every_code_point_is_written), T(any_bytes_make_valid_utf8),
        T(only_nested_calls_are_valid), T(nesting_has_a_limit), T(a_failing_output_sticks),
    };
    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
