/* Skipping values block by block, with and without vectors, must agree with skipping them token by token. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "faults.h"

static uint64_t random_state = 1;
static uint32_t rnd(uint32_t n) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

static void bits_are_the_same_with_and_without_vectors(void **state) {
    (void)state;
    static const char interesting[] = "\"\\{}[]vM :,;[{}]|\x7b\x7d\x5b\x5d\xfb\xfd\xdb\xdd\x01";
    for (int round = 0; round < 20000; round++) {
        uint8_t text[3 * HD__SCAN_BLOCK];
        hd__scan_bits found[3], expected[3];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = rnd(3) ? (uint8_t)interesting[rnd(sizeof interesting - 1)] : (uint8_t)rnd(256);
        hd__scan_bits_of(text, 3, found);
        for (size_t i = 0; i < 3; i++) hd__scan_bits_plain(text + i * HD__SCAN_BLOCK, &expected[i]);
        assert_memory_equal(found, expected, sizeof found);
#if defined(HD__SSE2)
        for (size_t i = 0; i < 3; i++) hd__scan_bits_sse2(text + i * HD__SCAN_BLOCK, &found[i]);
        assert_memory_equal(found, expected, sizeof found);
#endif
    }
}

/* A random value: nested, with quotes, escapes and brackets inside strings. */
static size_t put_value(char *to, uint32_t depth) {
    size_t n = 0;
    uint32_t kind = depth ? rnd(6) : 3 + rnd(3);
    if (kind < 2) {
        uint32_t items = rnd(5);
        to[n++] = kind ? '{' : '[';
        for (uint32_t i = 0; i < items; i++) {
            if (i) to[n++] = ',';
            if (rnd(4) == 0) to[n++] = " \n\r\t"[rnd(4)];
            if (kind) {
                to[n++] = '"', to[n++] = 'k', to[n++] = '"', to[n++] = ':';
            }
            n += put_value(to + n, depth - 1);
        }
        to[n++] = kind ? '}' : ']';
    } else if (kind == 2 || kind == 3) {
        uint32_t length = rnd(80);
        to[n++] = '"';
        for (uint32_t i = 0; i < length; i++) {
            uint32_t what = rnd(8);
            if (what == 0) to[n++] = '\\', to[n++] = "\"\\nt"[rnd(4)];
            else to[n++] = "{}[]vM,: ab"[rnd(11)];
        }
        to[n++] = '"';
    } else {
        uint32_t length = 1 + rnd(9);
        for (uint32_t i = 0; i < length; i++) to[n++] = (char)('1' + rnd(9));
    }
    return n;
}

typedef struct outcome {
    bool ok;
    uint64_t offset;
    hd_status status;
} outcome;

/* Skips the first value of the text; `chunk` 0: from memory. */
static outcome passed(const char *text, size_t size, size_t chunk, bool tokens) {
    hd__reads reads = { .data = text, .size = size, .chunk = chunk };
    hd__mem mem = hd__mem_options(NULL);
    hd_error err = { 0 };
    hd__pull p;
    outcome o;
    assert_int_equal(hd__pull_open(&p, &mem, chunk ? hd__faults_in(&reads) : hd_in_memory(text, size), 100, &err), HD_OK);
    hd__token token = hd__pull_next(&p);
    if (tokens) {
        o.ok = token != HD__TOKEN_ERROR;
        while (o.ok && p.depth) {
            token = hd__pull_next(&p);
            o.ok = token != HD__TOKEN_ERROR && token != HD__TOKEN_CUT;
        }
    } else {
        o.ok = hd__pull_skip(&p, token);
    }
    o.offset = hd_window_offset(&p.r);
    o.status = o.ok ? HD_OK : err.status;
    if (!o.ok && !tokens) assert_true(err.offset <= size);
    hd__pull_close(&p);
    return o;
}

/* A well-formed value ends at the same place. Tokens refuse everything that blocks refuse. The pieces of the input do
   not matter. */
static void blocks_agree_with_tokens(void **state) {
    (void)state;
    static char text[1 << 20];
    for (int round = 0; round < 6000; round++) {
        size_t n = 0;
        text[n++] = rnd(2) ? '[' : '{';
        bool object = text[0] == '{';
        for (uint32_t i = 0, items = rnd(6); i < items; i++) {
            if (i) text[n++] = ',';
            if (object) {
                memcpy(text + n, "\"key\":", 6);
                n += 6;
            }
            n += put_value(text + n, 5);
        }
        text[n++] = object ? '}' : ']';
        size_t size = n;
        if (round % 3 == 0) size = rnd((uint32_t)n) + 1;
        if (round % 3 == 1)
            for (uint32_t k = 0; k < 1 + rnd(3); k++) text[1 + rnd((uint32_t)n)] = "\"\\{}[]"[rnd(6)];
        char *exact = (char *)malloc(size);
        memcpy(exact, text, size);
        outcome blocks = passed(exact, size, 0, false), tokens = passed(exact, size, 0, true);
        if (tokens.ok) {
            assert_true(blocks.ok);
            if (blocks.offset != tokens.offset) print_error("%.*s\n", (int)size, exact);
            assert_int_equal(blocks.offset, tokens.offset);
        }
        if (round % 3 == 2) assert_true(tokens.ok);
        static const size_t chunks[] = { 1, 3, 63, 64, 65, 1000 };
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            outcome pieces = passed(exact, size, chunks[i], false);
            assert_int_equal(pieces.ok, blocks.ok);
            assert_int_equal(pieces.status, blocks.status);
            assert_int_equal(pieces.offset, blocks.offset);
        }
        free(exact);
    }
}

static void errors_have_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t offset;
        const char *expected;
    } cases[] = {
        { "{\"a\":[1,2}", 9, "',' or ']' expected, '}' found" },
        { "[[[]]", 5, "',' or ']' expected, end of input found" },
        { "[{\"a\":\"]}", 9, "'\"' expected, end of input found" },
        { "[{\"a\":\"\\\"]}]", 12, "'\"' expected, end of input found" },
        { "[{]", 2, "',' or '}' expected, ']' found" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd__mem mem = hd__mem_options(NULL);
        hd_error err = { 0 };
        hd__pull p;
        assert_int_equal(hd__pull_open(&p, &mem, hd_in_memory(cases[i].text, strlen(cases[i].text)), 0, &err), HD_OK);
        assert_false(hd__pull_skip(&p, hd__pull_next(&p)));
        assert_int_equal(err.status, HD_MALFORMED);
        assert_int_equal(err.offset, cases[i].offset);
        assert_string_equal(err.message, cases[i].expected);
        hd__pull_close(&p);
    }
}

static hd_status read_mapped(const char *path, hd_dump **d, hd_error *err) {
    hd_in in;
    assert_int_equal(hd_in_open_mapped(path, &in, err), HD_OK);
    hd_status status = hd_read(in, NULL, d, err);
    hd_in_close(&in);
    return status;
}

/* A mapped file is read through a moving window; its bounds do not change the result. */
static void mapped_files_are_read_through_a_window(void **state) {
    (void)state;
    char path[] = "/tmp/heapdump-test-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "wb");
    size_t events = 0;
    fputs("[", f);
    while (ftell(f) < (long)(2 * HD__WINDOW_MAPPED + 1000)) {
        fprintf(f, "%s{\"ph\":\"X\",\"name\":\"%*s\",\"args\":{\"a\":[{}]}}", events ? ",\n" : "", (int)rnd(900), "\\\"}");
        events++;
        if (events % 5000 == 1)
            fprintf(f, ",\n{\"ph\":\"v\",\"ts\":%zu,\"id\":%zu,\"args\":{\"dumps\":{\"heaps\":{\"m\":{\"entries\":[{\"size\":\"%zx\",\"bt\":\"\"}]}}}}}",
                    events, events, events);
    }
    fputs("]", f);
    fclose(f);
    hd_dump *d;
    hd_error err = { 0 };
    hd_status status = read_mapped(path, &d, &err);
    if (status) fail_msg("%s", err.message);
    assert_int_equal(hd_dump_heap_count(d), (events + 4999) / 5000);
    for (size_t i = 0; i < hd_dump_heap_count(d); i++)
        assert_int_equal(hd_dump_heap(d, i)->breakdown->entries.amount[0].bytes, 1 + 5000 * i);
    hd_dump_free(d);
    f = fopen(path, "ab");
    fputs(" ]", f);
    long end = ftell(f);
    fclose(f);
    assert_int_equal(read_mapped(path, &d, &err), HD_MALFORMED);
    assert_int_equal(err.offset, end - 1);
    assert_true(err.line > events);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_the_same_with_and_without_vectors),
        cmocka_unit_test(blocks_agree_with_tokens),
        cmocka_unit_test(errors_have_their_place),
        cmocka_unit_test(mapped_files_are_read_through_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
