/* >>json: the tokens of the pull parser, and that it reads the writer's output. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "private.h"
#include "faults.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef hd__write_faults text;   /* grows when written to */

static void add(text *t, const void *data, size_t size) { assert_int_equal(hd__faults_write(t, data, size), HD_OK); }
static void add_str(text *t, const char *s) { add(t, s, strlen(s)); }

static void assert_text(const text *t, const char *expected, size_t size) {
    if (t->size != size || memcmp(t->size ? (char *)t->data : "", expected, size))
        fail_msg("expected\n%.*s\nfound\n%.*s", (int)size, expected, (int)t->size, t->size ? (char *)t->data : "");
}

/* Reader --------------------------------------------------------------------------------------- */

/* Pulls all tokens. Each becomes a letter; K, S and N have their text: K(key). With `choose`, texts are read or
   skipped at random, and not printed. */
static hd_status pull_all(hd_in in, hd__mem *m, uint32_t max_depth, uint64_t *choose, text *trace, hd_error *err) {
    hd__pull p;
    hd__token token;
    hd_status status = hd__pull_open(&p, m, in, max_depth, err);
    while (!status) {
        hd_str s = { NULL, 0 };
        hd__pull_digits number;
        token = hd__pull_next(&p);
        assert_true((token == HD__TOKEN_ERROR) == (p.status != HD_OK));
        if ((status = p.status)) break;
        add(trace, &"?EC{[)KSNtfn"[token], 1);
        if (token == HD__TOKEN_END || token == HD__TOKEN_CUT) break;
        if (token < HD__TOKEN_KEY || token > HD__TOKEN_NUMBER || (choose && hd__test_below(choose, 2))) continue;
        if (token == HD__TOKEN_NUMBER) {
            hd__pull_number(&p, &number);
            s.data = number.text;
            s.len = number.len;
        } else if (!hd__pull_string(&p, &s)) {
            status = p.status;
            assert_int_not_equal(status, HD_OK);
            break;
        }
        if (!choose) add_str(trace, "("), add(trace, s.data, s.len), add_str(trace, ")");
    }
    if (p.status) {
        assert_int_equal(hd__pull_next(&p), HD__TOKEN_ERROR); /* the error stays */
        assert_int_equal(p.status, status);
    }
    hd__pull_close(&p);
    return status;
}

/* The trace is equal from memory and with every size of window. */
static void assert_tokens(const char *json, size_t size, const char *expected, size_t expected_size) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    for (size_t chunk = 0; chunk <= size; chunk++) {
        hd__reads r = { .data = json, .size = size, .chunk = chunk };
        text trace = { 0 };
        assert_int_equal(pull_all(chunk ? hd__faults_in(&r) : hd_in_memory(json, size), &m, 0, NULL, &trace, NULL), HD_OK);
        assert_text(&trace, expected, expected_size);
        hd__write_faults_free(&trace);
        assert_int_equal(m.used, 0);
    }
}

static const char every_token[] =
    " {\"a\" : [ ] , \"b\":\t{\r\n}, \"\": [1,-2.5e+3 ,\"s\", true,false , null,[[{\"x\":\"\\u00e9\\\"\"}]] ],\n"
    "\"l\\\\ong\" : \"\\uD83D\\uDE00 \xc3\xa9\\/\\b\\f\\n\\r\\t\" } ";

static void every_token_is_pulled(void **state) {
    static const char trace[] = "{K(a)[)K(b){)K()[N(1)N(-2.5e+3)S(s)tfn[[{K(x)S(\xc3\xa9\")))))K(l\\ong)"
                                "S(\xf0\x9f\x98\x80 \xc3\xa9/\b\f\n\r\t))E";
    (void)state;
    assert_tokens(every_token, sizeof every_token - 1, trace, sizeof trace - 1);
    assert_tokens("7", 1, "N(7)E", 5);
    assert_tokens("\"\"", 2, "S()E", 4);
    assert_tokens(" null\n", 6, "nE", 2);
}

static void unread_text_is_passed_over(void **state) {
    static const char letters[] = "{K[)K{)K[NNStfn[[{KS))))KS)E";
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    uint64_t seed = 2;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        hd__reads r = { .data = every_token, .size = sizeof every_token - 1, .chunk = 1 + hd__test_below(&seed, 40) };
        text trace = { 0 };
        assert_int_equal(pull_all(hd__faults_in(&r), &m, 0, &seed, &trace, NULL), HD_OK);
        assert_text(&trace, letters, sizeof letters - 1);
        hd__write_faults_free(&trace);
    }
    /* Even an input that would fail is not read without a request. */
    text trace = { 0 };
    hd__pull p;
    hd__token token;
    static const char odd[] = "[\"\\q\",\"\\u12\",1.2.3,\"\\\"\"]";
    assert_int_equal(hd__pull_open(&p, &m, hd_in_memory(odd, sizeof odd - 1), 0, NULL), HD_OK);
    while ((token = hd__pull_next(&p)) > HD__TOKEN_CUT) add(&trace, &"?EC{[)KSNtfn"[token], 1);
    assert_int_equal(token, HD__TOKEN_END);
    assert_text(&trace, "[SSNS)", 6);
    hd__pull_close(&p);
    hd__write_faults_free(&trace);
}

static void escapes_are_decoded(void **state) {
    static const struct { const char *json, *trace; size_t n; } cases[] = {
#define C(json, trace) { json, trace, sizeof trace - 1 }
        C("\"\\u0041\\u00Ff\\u20AC\"", "S(A\xc3\xbf\xe2\x82\xac)E"), C("\"\\u0000\"", "S(\0)E"),
        C("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "S(\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf)E"),
        C("\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "S(\xf0\x90\x80\x80\xf4\x8f\xbf\xbf)E"),
        /* lone surrogates stay, as three bytes each */
        C("\"\\ud800\"", "S(\xed\xa0\x80)E"), C("\"\\udfff\"", "S(\xed\xbf\xbf)E"),
        C("\"\\udc00\\udc00\"", "S(\xed\xb0\x80\xed\xb0\x80)E"), C("\"\\udc00\\ud800\"", "S(\xed\xb0\x80\xed\xa0\x80)E"), C("\"\\ud83d-\"", "S(\xed\xa0\xbd-)E"),
        C("\"\\ud83d\\n\"", "S(\xed\xa0\xbd\n)E"), C("\"\\ud83d\\u0041\"", "S(\xed\xa0\xbd" "A)E"),
        C("\"\\ud83d\\ud83d\\ude00\"", "S(\xed\xa0\xbd\xf0\x9f\x98\x80)E"),
        /* unchanged: control characters, invalid UTF-8 */
        C("\"a\nb\x01\xff\xc3\"", "S(a\nb\x01\xff\xc3)E"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_tokens(cases[i].json, strlen(cases[i].json), cases[i].trace, cases[i].n);
}

static void errors_say_what_and_where(void **state) {
    static const struct { const char *json; uint64_t offset, line; const char *message; } cases[] = {
        { "", 0, 1, "a value expected, end of input found" },
        { " \n\n ", 4, 3, "a value expected, end of input found" },
        { "]", 0, 1, "a value expected, ']' found" },
        { "+1", 0, 1, "a value expected, '+' found" },
        { "\xef\xbb\xbf{}", 0, 1, "a value expected, '?' found" },
        { "[1,]", 3, 1, "a value expected, ']' found" },
        { "[,1]", 1, 1, "a value expected, ',' found" },
        { "[1 2]", 3, 1, "',' or ']' expected, '2' found" },
        { "[1}", 2, 1, "',' or ']' expected, '}' found" },
        { "[true1]", 5, 1, "',' or ']' expected, '1' found" },
        { "[[1", 3, 1, "',' or ']' expected, end of input found" },
        { "[{\"a\":1]", 7, 1, "',' or '}' expected, ']' found" },
        { "{\"a\":1", 6, 1, "',' or '}' expected, end of input found" },
        { "{\"a\":1 \"b\":2}", 7, 1, "',' or '}' expected, '\"' found" },
        { "{1:2}", 1, 1, "a key expected, '1' found" },
        { "{", 1, 1, "a key expected, end of input found" },
        { "{\"a\":1,}", 7, 1, "a key expected, '}' found" },
        { "{\"a\":1,", 7, 1, "a key expected, end of input found" },
        { "{\"a\" 1}", 5, 1, "':' expected, '1' found" },
        { "{\"a\"", 4, 1, "':' expected, end of input found" },
        { "{\"a\":}", 5, 1, "a value expected, '}' found" },
        { "{\"a\":", 5, 1, "a value expected, end of input found" },
        { "\"abc", 4, 1, "'\"' expected, end of input found" },
        { "\"abc\\", 5, 1, "an escape expected, end of input found" },
        { "\"\\q\"", 2, 1, "an escape expected, 'q' found" },
        { "\"\\\xc3\"", 2, 1, "an escape expected, '?' found" },
        { "\"\\u12g4\"", 5, 1, "a hexadecimal digit expected, 'g' found" },
        { "\"\\u12", 5, 1, "a hexadecimal digit expected, end of input found" },
        { "\"\\ud800\\u\"", 9, 1, "a hexadecimal digit expected, '\"' found" },
        { "\"\\ud800\\", 8, 1, "an escape expected, end of input found" },
        { "1 2", 2, 1, "end of input expected, '2' found" },
        { "{}\r\n\n x", 6, 3, "end of input expected, 'x' found" },
        { "nul", 3, 1, "a value expected, end of input found" },
        { "[nulL]", 4, 1, "a value expected, 'L' found" },
        { "[\n\n\"a\nb\",\n\"\n\n\\n\", ?]", 18, 7, "a value expected, '?' found" },
    };
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t size = strlen(cases[i].json);
        for (size_t chunk = 0; chunk <= size; chunk++) {
            hd__reads r = { .data = cases[i].json, .size = size, .chunk = chunk };
            hd_in in = chunk ? hd__faults_in(&r) : hd_in_memory(cases[i].json, size);
            text trace = { 0 };
            hd_error err;
            if (pull_all(in, &m, 0, NULL, &trace, &err) != HD_MALFORMED) fail_msg("%s: no error", cases[i].json);
            assert_int_equal(err.status, HD_MALFORMED);
            assert_string_equal(err.message, cases[i].message);
            assert_int_equal(err.offset, cases[i].offset);
            assert_int_equal(err.line, cases[i].line);
            hd__write_faults_free(&trace);
        }
    }
    text trace = { 0 };
    assert_int_equal(pull_all(hd_in_memory("\"\\\0\"", 4), &m, 0, NULL, &trace, NULL), HD_MALFORMED);
    hd__write_faults_free(&trace);
    assert_int_equal(m.used, 0);
}

static void brackets_have_a_limit(void **state) {
    enum { N = 100000 };
    static char json[2 * N];
    static const uint32_t limits[][2] = { { 0, 512 }, { 1, 1 }, { 64, 64 }, { 65, 65 }, { 1024, 1024 }, { UINT32_MAX, 1024 } };
    hd__faults f = { 0 };
    hd__mem m = hd__mem_make(hd__faults_allocator(&f), 0);
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        uint32_t depth = limits[i][1];
        char message[60];
        hd_error err;
        text trace = { 0 };
        memset(json, '[', N);
        assert_int_equal(pull_all(hd_in_memory(json, N), &m, limits[i][0], NULL, &trace, &err), HD_LIMIT);
        assert_int_equal(err.status, HD_LIMIT);
        assert_int_equal(err.offset, depth);
        snprintf(message, sizeof message, "brackets nested deeper than max_depth of %u", depth);
        assert_string_equal(err.message, message);
        assert_int_equal(trace.size, depth);
        memset(json + depth, ']', depth);
        assert_int_equal(pull_all(hd_in_memory(json, 2 * depth), &m, limits[i][0], NULL, &trace, &err), HD_OK);
        hd__write_faults_free(&trace);
    }
    assert_int_equal(f.peak, 0);
}

/* The parser remembers for every level whether it is an object. */
static void mixed_brackets_close_in_order(void **state) {
    enum { DEPTH = 1000 };
    uint64_t seed = 3;
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    (void)state;
    for (int round = 0; round < 50; round++) {
        text json = { 0 }, trace = { 0 };
        char close[DEPTH];
        size_t wrong = hd__test_below(&seed, DEPTH);
        for (size_t i = 0; i < DEPTH; i++) {
            bool object = hd__test_below(&seed, 2);
            add_str(&json, object ? "{\"\":" : "[");
            close[DEPTH - 1 - i] = object ? '}' : ']';
        }
        add_str(&json, "0");
        add(&json, close, DEPTH);
        assert_int_equal(pull_all(hd_in_memory(json.data, json.size), &m, DEPTH, NULL, &trace, NULL), HD_OK);
        uint8_t *bracket = &json.data[json.size - DEPTH + wrong];
        *bracket = *bracket == ']' ? '}' : ']';
        assert_int_equal(pull_all(hd_in_memory(json.data, json.size), &m, DEPTH, NULL, &trace, NULL), HD_MALFORMED);
        hd__write_faults_free(&json);
        hd__write_faults_free(&trace);
    }
}

static void long_text_that_is_not_kept_takes_no_memory(void **state) {
    static const char *const around[][2] = { { "[\"", "\"]" }, { "[1", "]" }, { "[ ", "1]" }, { "{\"", "\":1}" } };
    (void)state;
    for (int kind = 0; kind < 5; kind++) { /* the last is a key, read by hd__pull_key */
        hd__faults f = { 0 };
        hd__mem m = hd__mem_make(hd__faults_allocator(&f), 0);
        static char block[1000 + 10];
        const char *const *a = around[kind < 4 ? kind : 3];
        size_t before = strlen(a[0]);
        memcpy(block, a[0], before);
        memset(block + before, "x1 xx"[kind], 1000);
        strcpy(block + before + 1000, a[1]);
        hd__reads r = { .data = block, .size = strlen(block), .from = before, .until = before + 1000, .repeat = 50000 };
        hd__pull p;
        hd_str key;
        int tokens = 0;
        assert_int_equal(hd__pull_open(&p, &m, hd__faults_in(&r), 0, NULL), HD_OK);
        for (hd__token token; (token = hd__pull_next(&p)) != HD__TOKEN_END; tokens++) {
            assert_int_not_equal(token, HD__TOKEN_ERROR);
            if (kind == 4 && token == HD__TOKEN_KEY) {
                assert_true(hd__pull_key(&p, &key));
                assert_int_equal(key.len, 64);
            }
        }
        assert_int_equal(tokens, kind < 3 ? 3 : 4);
        assert_int_equal(hd_window_offset(&p.r), strlen(block) + UINT64_C(50000) * 1000);
        assert_true(f.peak <= HD__WINDOW_BUFFER + 300);
        hd__pull_close(&p);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
}

static void text_that_is_read_counts_against_the_limit(void **state) {
    static char block[1002] = "\"";
    hd__faults f = { 0 };
    hd__mem m = hd__mem_make(hd__faults_allocator(&f), 1 << 20);
    hd_error err;
    text trace = { 0 };
    (void)state;
    memset(block + 1, 'x', 1000);
    hd__reads r = { .data = block, .size = sizeof block, .from = 1, .until = 1001, .repeat = 50000 };
    assert_int_equal(pull_all(hd__faults_in(&r), &m, 0, NULL, &trace, &err), HD_LIMIT);
    assert_int_equal(err.status, HD_LIMIT);
    assert_true(f.peak <= 1 << 20);
    assert_int_equal(f.live, 0);
    hd__write_faults_free(&trace);
}

static void keys_are_told_apart_by_their_beginning(void **state) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    char json[200];
    (void)state;
    for (size_t length = 0; length < 80; length++) {
        for (size_t chunk = 0; chunk < 80; chunk++) {
            size_t size = (size_t)snprintf(json, sizeof json, "{\"%0*d\":\"%0*d\"}", (int)length, 0, (int)length, 0);
            hd__reads r = { .data = json, .size = size, .chunk = chunk };
            hd__pull p;
            hd_str s;
            assert_int_equal(hd__pull_open(&p, &m, chunk ? hd__faults_in(&r) : hd_in_memory(json, size), 0, NULL), HD_OK);
            assert_int_equal(hd__pull_next(&p), HD__TOKEN_OBJECT);
            assert_int_equal(hd__pull_next(&p), HD__TOKEN_KEY);
            assert_true(hd__pull_key(&p, &s));
            size_t whole = length ? length : 1;
            assert_true(whole <= 64 ? s.len == whole : s.len >= 64 && s.len <= whole);
            assert_memory_equal(s.data, json + 2, s.len);
            assert_int_equal(hd__pull_next(&p), HD__TOKEN_STRING);
            assert_true(hd__pull_string(&p, &s)); /* whole again */
            assert_int_equal(s.len, whole);
            assert_int_equal(hd__pull_next(&p), HD__TOKEN_CLOSE);
            assert_int_equal(hd__pull_next(&p), HD__TOKEN_END);
            hd__pull_close(&p);
        }
    }
    assert_int_equal(m.used, 0);
}

static void long_numbers_are_cut(void **state) {
    char json[200], expected[80] = "[N(";
    (void)state;
    memset(json, '7', 150);
    json[0] = '[', json[149] = ']';
    memset(expected + 3, '7', 63);
    strcpy(expected + 66, "))E");
    assert_tokens(json, 150, expected, strlen(expected));
}

static hd_status pull_text(const char *json, size_t size, text *trace, hd_error *err) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    trace->size = 0;
    return pull_all(hd_in_memory(json, size), &m, 0, NULL, trace, err);
}

static void a_cut_document_is_an_error_or_a_cut_array(void **state) {
    char array[400], with[400];
    text trace = { 0 };
    hd_error err;
    (void)state;
    size_t size = strlen(every_token) - 1; /* its last byte is a space */
    for (size_t n = 0; n < size; n++) {
        assert_int_equal(pull_text(every_token, n, &trace, &err), HD_MALFORMED);
        assert_int_equal(err.offset, n);
        assert_non_null(strstr(err.message, "end of input found"));
    }
    size = (size_t)snprintf(array, sizeof array, "[%s,-1,\n[2],\"a\\u00e9\" , true , {} ]", every_token);
    int cuts = 0;
    for (size_t n = 0; n < size; n++) {
        /* The parser is between two elements if a bracket, or one more element, completes the array. */
        snprintf(with, sizeof with, "%.*s]", (int)n, array);
        bool between = pull_text(with, n + 1, &trace, NULL) == HD_OK && trace.data[trace.size - 1] == 'E';
        snprintf(with, sizeof with, "%.*s0]", (int)n, array);
        between |= pull_text(with, n + 2, &trace, NULL) == HD_OK && trace.data[trace.size - 1] == 'E';
        hd_status status = pull_text(array, n, &trace, &err);
        if (status != (n && between ? HD_OK : HD_MALFORMED)) fail_msg("%.*s", (int)n, array);
        if (status) assert_int_equal(err.offset, n);
        else assert_int_equal(trace.data[trace.size - 1], 'C');
        cuts += !status;
    }
    assert_in_range(cuts, 20, 40);
    hd__write_faults_free(&trace);
}

static void a_failed_read_is_not_taken_for_the_end(void **state) {
    static const char array[] = "[1,\"a\\n\", true, {\"a\": 2 } ] ";
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    (void)state;
    for (uint64_t n = 1; n <= sizeof array; n++) {
        hd__reads r = { .data = array, .size = sizeof array - 1, .chunk = 1, .fail_at = n };
        uint64_t seed = n;
        hd_error err;
        text trace = { 0 };
        assert_int_equal(pull_all(hd__faults_in(&r), &m, 0, n % 2 ? &seed : NULL, &trace, &err), HD_IO);
        assert_int_equal(err.status, HD_IO);
        assert_int_equal(err.offset, n - 1);
        assert_string_equal(err.message, "reading the input failed");
        hd__write_faults_free(&trace);
    }
}

static void a_refused_allocation_is_told(void **state) {
    hd__faults f = { 0 };
    (void)state;
    HD__EACH_FAULT(f) {
        hd__mem m = hd__mem_make(hd__faults_allocator(&f), 0);
        hd__reads r = { .data = every_token, .size = sizeof every_token - 1, .chunk = 3 };
        text trace = { 0 };
        hd_error err;
        hd_status status = pull_all(hd__faults_in(&r), &m, 0, NULL, &trace, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (status) assert_string_equal(err.message, "out of memory");
        hd__write_faults_free(&trace);
        assert_int_equal(m.used, 0);
    }
    assert_true(f.fail_at > 2); /* allocations of the window and of text */
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static void values_are_skipped_whole(void **state) {
    static const char *const values[] = { "{}", "[]", "1", "\"s\"", "true", "[[{\"a\":[]}],2]", "{\"a\":{\"b\":[\"}\"]}}", "\"\\\"]\"" };
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    char json[100];
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        size_t size = (size_t)snprintf(json, sizeof json, "[%s,7]", values[i]);
        hd__pull p;
        hd__pull_digits number;
        assert_int_equal(hd__pull_open(&p, &m, hd_in_memory(json, size), 0, NULL), HD_OK);
        assert_int_equal(hd__pull_next(&p), HD__TOKEN_ARRAY);
        assert_true(hd__pull_skip(&p, hd__pull_next(&p)));
        assert_int_equal(hd__pull_next(&p), HD__TOKEN_NUMBER);
        hd__pull_number(&p, &number);
        assert_string_equal(number.text, "7");
        assert_int_equal(hd__pull_next(&p), HD__TOKEN_CLOSE);
        assert_int_equal(hd__pull_next(&p), HD__TOKEN_END);
        hd__pull_close(&p);
    }
    assert_false(hd__pull_skip(&(hd__pull){ .status = HD_MALFORMED }, HD__TOKEN_ERROR));
}

static void skipping_a_cut_array_ends(void **state) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    hd__pull p;
    (void)state;
    assert_int_equal(hd__pull_open(&p, &m, hd_in_memory("[1,[2],", 7), 0, NULL), HD_OK);
    alarm(10); /* ends the test if it hangs */
    hd__pull_skip(&p, hd__pull_next(&p));
    alarm(0);
    hd__pull_close(&p);
}

static void tokens_know_where_they_began(void **state) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    uint64_t seed = 4;
    (void)state;
    for (size_t chunk = 1; chunk < sizeof every_token; chunk++) {
        hd__reads r = { .data = every_token, .size = sizeof every_token - 1, .chunk = chunk };
        hd__pull p;
        hd__token token;
        uint64_t last = 0;
        assert_int_equal(hd__pull_open(&p, &m, hd__faults_in(&r), 0, NULL), HD_OK);
        while ((token = hd__pull_next(&p)) != HD__TOKEN_END) {
            hd_str s;
            assert_non_null(strchr((const char *[]){ "", "", "", "{", "[", "]}", "\"", "\"", "-123456789", "t", "f", "n" }[token],
                                   every_token[p.token_offset]));
            assert_true(p.token_offset > last);
            last = p.token_offset;
            if ((token == HD__TOKEN_KEY || token == HD__TOKEN_STRING) && hd__test_below(&seed, 2)) assert_true(hd__pull_string(&p, &s));
        }
        hd__pull_close(&p);
    }
}

/* Both ----------------------------------------------------------------------------------------- */

static size_t encode(uint32_t code, char *to) {
    if (code < 0x80) return to[0] = (char)code, 1;
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | code);
    return n;
}

static void random_string(text *t, uint64_t *seed) {
    size_t n = hd__test_below(seed, hd__test_below(seed, 500) ? 12 : 60000);
    t->size = 0;
    while (n--) {
        static const uint32_t from[] = { 0, 'a', '"', '\\', 0x80, 0x800, 0xe000, 0x10000 };
        static const uint32_t count[] = { 128, 26, 1, 1, 0x780, 0xd000, 0x2000, 0x100000 };
        size_t kind = hd__test_below(seed, COUNT(from) + 1);
        char bytes[8];
        if (kind < COUNT(from)) add(t, bytes, encode(from[kind] + (uint32_t)hd__test_below(seed, count[kind]), bytes));
        else add(t, bytes, encode(0xd800 + (uint32_t)hd__test_below(seed, 0x800), bytes)), add_str(t, "."); /* lone */
    }
}

/* Writes a value, and the trace that reading it must give. */
static void random_value(hd_json *j, text *trace, text *scratch, uint64_t *seed, int depth) {
    uint64_t kind = hd__test_below(seed, depth ? 9 : 2), u = hd__test_random(seed) >> hd__test_below(seed, 64);
    char number[40] = "";
    if (hd__test_below(seed, 4) == 0) hd_json_newline(j);
    if (kind < 2) {
        if (kind) hd_json_object(j), add_str(trace, "{");
        else hd_json_array(j), add_str(trace, "[");
        for (uint64_t n = hd__test_below(seed, depth < 5 ? 8 : 1); n; n--) {
            if (kind) {
                random_string(scratch, seed);
                hd_json_key_str(j, (hd_str){ (char *)scratch->data, scratch->size });
                add_str(trace, "K("), add(trace, scratch->data, scratch->size), add_str(trace, ")");
            }
            random_value(j, trace, scratch, seed, depth + 1);
        }
        hd_json_end(j), add_str(trace, ")");
        return;
    }
    switch (kind) {
    case 2: hd_json_u64(j, u); snprintf(number, sizeof number, "N(%llu)", (unsigned long long)u); break;
    case 3: hd_json_i64(j, (int64_t)u); snprintf(number, sizeof number, "N(%lld)", (long long)u); break;
    case 4: hd_json_hex(j, u); snprintf(number, sizeof number, "S(%llx)", (unsigned long long)u); break;
    case 5: hd_json_decimal(j, u); snprintf(number, sizeof number, "S(%llu)", (unsigned long long)u); break;
    case 6: hd_json_bool(j, u & 1); strcpy(number, u & 1 ? "t" : "f"); break;
    case 7: hd_json_null(j); strcpy(number, "n"); break;
    default:
        random_string(scratch, seed);
        hd_json_str(j, (hd_str){ (char *)scratch->data, scratch->size });
        add_str(trace, "S("), add(trace, scratch->data, scratch->size), add_str(trace, ")");
    }
    add_str(trace, number);
}

static void what_is_written_reads_the_same(void **state) {
    uint64_t seed = 5;
    text scratch = { 0 };
    size_t largest = 0;
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    (void)state;
    for (int round = 0; round < 400; round++) {
        text json = { 0 }, expected = { 0 };
        hd_json j;
        hd_json_begin(&j, hd__faults_out(&json));
        random_value(&j, &expected, &scratch, &seed, 0);
        add_str(&expected, "E");
        assert_int_equal(hd_json_finish(&j), HD_OK);
        if (json.size > largest) largest = json.size;
        for (int i = 0; i < 3; i++) {
            hd__reads r = { .data = json.data, .size = json.size, .chunk = i ? 1 + hd__test_below(&seed, 2000) : 0 };
            text trace = { 0 };
            hd_in in = i ? hd__faults_in(&r) : hd_in_memory(json.data, json.size);
            assert_int_equal(pull_all(in, &m, 0, NULL, &trace, NULL), HD_OK);
            assert_text(&trace, (char *)expected.data, expected.size);
            hd__write_faults_free(&trace);
        }
        hd__write_faults_free(&json);
        hd__write_faults_free(&expected);
    }
    assert_true(largest > 2 * HD__WINDOW_BUFFER);
    hd__write_faults_free(&scratch);
    assert_int_equal(m.used, 0);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(every_token_is_pulled), T(unread_text_is_passed_over), T(escapes_are_decoded), T(errors_say_what_and_where),
        T(brackets_have_a_limit), T(mixed_brackets_close_in_order), T(long_text_that_is_not_kept_takes_no_memory),
        T(text_that_is_read_counts_against_the_limit), T(keys_are_told_apart_by_their_beginning),
        T(long_numbers_are_cut), T(a_cut_document_is_an_error_or_a_cut_array),
        T(a_failed_read_is_not_taken_for_the_end), T(a_refused_allocation_is_told), T(values_are_skipped_whole),
        T(tokens_know_where_they_began), T(what_is_written_reads_the_same), T(skipping_a_cut_array_ends),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
