/* Files that change during reading, inputs of known size, and limits for a whole call. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "load.h"
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>

static char path[64];

static void put_file(const void *data, size_t size) {
    int fd;
    strcpy(path, "/tmp/heapdump-test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* Documents of a few hundred kilobytes, more than a window. */

static char *many(const char *head, const char *each, size_t count, const char *tail, size_t *size) {
    char *text = (char *)malloc(strlen(head) + count * (strlen(each) + 20) + strlen(tail) + 1);
    *size = (size_t)sprintf(text, "%s", head);
    for (size_t i = 0; i < count; i++) *size += (size_t)sprintf(text + *size, each, (unsigned)i);
    *size += (size_t)sprintf(text + *size, "%s", tail);
    return text;
}

static char *trace_text(size_t *size) {
    return many("[", "{\"ph\":\"X\",\"name\":\"%u\",\"args\":{\"a\":[{}]}},\n", 10000,
                "{\"ph\":\"v\",\"id\":\"1\",\"args\":{\"dumps\":{\"heaps\":{\"m\":{\"entries\":[{\"size\":\"8\",\"bt\":\"\"}]}}}}}]", size);
}

static char *netcf_text(size_t *size) {
    return many("a 2 x 0\n", "o %x 1 8 1 2 3 4 5 6 7 8 9\n", 20000, "c x 1\n", size);
}

/* A class, `count` objects of it that refer to the first, 20 bytes of text each. */
static char *dart_bytes(size_t *size) {
    static const char head[] = "dartheap\0\0\0\0\0\1\0\1C\0\0\0\0";
    static const char object[] = "\1\10\5\24\24abcdefghijklmnopqrst\1\1";
    size_t count = 15000, n = sizeof head - 1;
    char *bytes = (char *)malloc(n + 6 + count * sizeof object + 1);
    memcpy(bytes, head, n);
    for (int k = 0; k < 2; k++) { /* references, objects */
        bytes[n++] = (char)((count & 127) | 128);
        bytes[n++] = (char)((count >> 7 & 127) | 128);
        bytes[n++] = (char)(count >> 14);
    }
    for (size_t i = 0; i < count; i++, n += sizeof object - 1) memcpy(bytes + n, object, sizeof object - 1);
    bytes[n++] = 0;
    *size = n;
    return bytes;
}

/* The change to the file during reading. */
typedef struct change {
    off_t size;
    bool append;
    int calls, at;
    uint64_t total;
} change;

static bool change_file(void *user, uint64_t done, uint64_t total) {
    change *c = (change *)user;
    if (done > total) fail_msg("%u of %u", (unsigned)done, (unsigned)total);
    c->total = total;
    if (c->calls++ < c->at) return true;
    if (c->append) {
        int fd = open(path, O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, "\1{rubbish", 9), 9);
        close(fd);
    } else {
        assert_int_equal(truncate(path, c->size), 0);
    }
    c->at = 1 << 30;
    return true;
}

static char *raw_bytes(size_t *size) {
    uint8_t *data;
    load("memprof-19.raw", &data, size);
    return (char *)data;
}

static char *(*const documents[])(size_t *size) = { trace_text, netcf_text, dart_bytes, raw_bytes };

static void a_file_cut_off_while_it_is_read_is_an_input_error(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++)
        for (int lenient = 0; lenient < 2; lenient++) {
            size_t size;
            char *text = documents[k](&size), expected[100];
            change c = { .size = 100 };
            hd_options options = { .progress = change_file, .progress_user = &c, .lenient = lenient };
            hd_error err = { 0 };
            hd_dump *dump = NULL;
            put_file(text, size);
            assert_int_equal(hd_read_file(path, &options, &dump, &err), HD_IO);
            assert_null(dump);
            snprintf(expected, sizeof expected, "the input became shorter than its %zu bytes while it was read", size);
            assert_string_equal(err.message, expected);
            assert_in_range(err.offset, 1, size - 1);
            assert_int_equal(c.total, size);
            unlink(path);
            free(text);
        }
}

static void bytes_appended_during_reading_are_ignored(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        size_t size;
        char *text = documents[k](&size);
        change c = { .append = true };
        hd_options options = { .progress = change_file, .progress_user = &c };
        hd_error err = { 0 };
        hd_dump *dump = NULL;
        put_file(text, size);
        if (hd_read_file(path, &options, &dump, &err)) fail_msg("%s", err.message);
        assert_true(c.at == 1 << 30);
        hd_dump_free(dump);
        unlink(path);
        free(text);
    }
}

/* The file is read completely before the first progress call. */
static void indexed_profiles_do_not_depend_on_later_changes(void **state) {
    (void)state;
    static const char *const names[] = { "memprof-19-v3.profdata", "memprof-16.profdata" };
    for (size_t k = 0; k < 2; k++) {
        uint8_t *data;
        size_t size;
        change c = { .size = 0 };
        hd_options options = { .progress = change_file, .progress_user = &c };
        hd_error err = { 0 };
        hd_dump *dump = NULL;
        load(names[k], &data, &size);
        put_file(data, size);
        if (hd_read_file(path, &options, &dump, &err)) fail_msg("%s", err.message);
        assert_true(c.calls > 0);
        hd_dump_free(dump);
        unlink(path);
        free(data);
    }
}

/* Only the first of many profiles remains: the file is cut before the others are read, except for bytes read
   ahead. */
static void raw_profiles_end_to_end_are_read_one_by_one(void **state) {
    (void)state;
    enum { COPIES = 100 };
    uint8_t *data;
    size_t size;
    load("memprof-19.raw", &data, &size);
    data = (uint8_t *)realloc(data, COPIES * size);
    for (size_t i = 1; i < COPIES; i++) memcpy(data + i * size, data, size);
    put_file(data, COPIES * size);
    change c = { .size = (off_t)size };
    hd_options options = { .progress = change_file, .progress_user = &c };
    hd_error err = { 0 };
    hd_dump *dump = NULL;
    assert_int_equal(hd_read_file(path, &options, &dump, &err), HD_IO);
    assert_in_range(err.offset, size, COPIES / 2 * size);
    unlink(path);
    free(data);
}

typedef struct giver {
    const char *data;
    size_t at, size;
    size_t asked;                /* the largest offset that was read */
} giver;

static int64_t give(void *user, void *buffer, size_t capacity) {
    giver *g = (giver *)user;
    size_t n = g->size - g->at;
    if (g->at + capacity > g->asked) g->asked = g->at + capacity;
    if (n > capacity) n = capacity;
    memcpy(buffer, g->data + g->at, n);
    g->at += n;
    return (int64_t)n;
}

static void callbacks_of_a_known_size_give_just_that(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        size_t size;
        char *text = documents[k](&size);
        giver whole = { text, 0, size, 0 }, cut = { text, 0, size - 1, 0 };
        hd_in in = hd_in_callback(give, &whole);
        hd_dump *dump = NULL;
        hd_error err = { 0 };
        in.size = size;
        if (hd_read(in, NULL, &dump, &err)) fail_msg("%s", err.message);
        assert_int_equal(whole.asked, size);
        hd_dump_free(dump);
        in.user = &cut;
        assert_int_equal(hd_read(in, NULL, &dump, &err), HD_IO);
        assert_true(err.offset < size);
        free(text);
    }
}

static void files_can_be_mapped(void **state) {
    (void)state;
    hd_in in;
    size_t size;
    char *text = trace_text(&size);
    put_file(text, size);
    assert_int_equal(hd_in_open_mapped(path, &in, NULL), HD_OK);
    assert_int_equal(in.size, size);
    assert_memory_equal(in.data, text, size);
    hd_in_close(&in);
    assert_int_equal(hd_in_open(path, &in, NULL), HD_OK);
    assert_true(!in.data && in.read && in.size == size);
    hd_in_close(&in);
    unlink(path);
    free(text);
    assert_int_equal(hd_in_open_mapped("/dev/null", &in, NULL), HD_OK); /* /dev/null cannot be mapped */
    assert_true(in.read && !in.size);
    hd_in_close(&in);
    assert_int_equal(hd_in_open_mapped("/", &in, NULL), HD_IO);
    assert_int_equal(hd_in_open_mapped(NULL, &in, NULL), HD_INVALID);
}

static void inputs_are_loaded(void **state) {
    (void)state;
    size_t size;
    char *text = netcf_text(&size);
    put_file(text, size);
    for (int k = 0; k < 4; k++) {
        hd__faults f = { 0 };
        HD__EACH_FAULT(f) {
            giver g = { text, 0, size, 0 };
            hd_options options = { .allocator = hd__faults_allocator(&f) };
            hd_buffer b = { .size = 7 };
            hd_error err = { 0 };
            hd_in in = hd_in_memory(text, size);
            if (k == 1) in = hd_in_callback(give, &g);
            if (k >= 2) assert_int_equal((k == 2 ? hd_in_open : hd_in_open_mapped)(path, &in, NULL), HD_OK);
            hd_status status = hd_in_load(in, &options, &b, &err);
            assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
            if (status) assert_int_equal(b.size, 7);
            else {
                assert_int_equal(b.size, size);
                assert_memory_equal(b.data, text, size);
                assert_true(k == 1 || f.peak == size); /* with a known size, memory is taken at once */
                hd_buffer_free(&b);
            }
            if (k >= 2) hd_in_close(&in);
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
    }
    hd_buffer b = { 0 };
    hd_error err = { 0 };
    hd_options small = { .limits.max_memory = size - 1 };
    assert_int_equal(hd_in_load(hd_in_memory(text, size), &small, &b, &err), HD_LIMIT);
    assert_int_equal(hd_in_load(hd_in_memory("", 0), NULL, &b, &err), HD_OK);
    assert_int_equal(b.size, 0);
    hd_buffer_free(&b);
    giver cut = { text, 0, size - 1, 0 };
    hd_in in = hd_in_callback(give, &cut);
    in.size = size;
    assert_int_equal(hd_in_load(in, NULL, &b, &err), HD_IO);
    assert_int_equal(err.offset, size - 1);
    unlink(path);
    free(text);
}

/* max_memory. ---------------------------------------------------------------------------------- */

/* However small the limit, memory never exceeds it, and the message has the caller's number. */
static void limit_holds(const void *data, size_t size, bool in_pieces) {
    hd__faults f = { 0 };
    hd_options options = { .allocator = hd__faults_allocator(&f) };
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    uint64_t most = 0;
    for (int round = 0;; round++) {
        giver g = { (const char *)data, 0, size, 0 };
        hd_in in = in_pieces ? hd_in_callback(give, &g) : hd_in_memory(data, size);
        f.peak = f.live = 0;
        hd_status status = hd_read(in, &options, &dump, &err);
        if (!round) {
            if (status) fail_msg("%s", err.message);
            most = f.peak;
            options.limits.max_memory = 100;
        } else {
            if (f.peak > options.limits.max_memory)
                fail_msg("%u bytes taken where %u are allowed", (unsigned)f.peak, (unsigned)options.limits.max_memory);
            if (status) {
                char expected[100];
                assert_int_equal(status, HD_LIMIT);
                snprintf(expected, sizeof expected, "max_memory of %u bytes", (unsigned)options.limits.max_memory);
                if (!strstr(err.message, expected)) fail_msg("%s: %s", expected, err.message);
            }
            options.limits.max_memory += options.limits.max_memory / 16;
        }
        if (!status) hd_dump_free(dump);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
        if (round && !status) break;
    }
    assert_true(options.limits.max_memory < 4 * most);
}

static void the_memory_allowed_is_for_the_whole_call(void **state) {
    (void)state;
    static const char *const names[] = { "memprof-19.raw", "memprof-19-v3.profdata", "memprof-19-v0.profdata", "small.dartheap" };
    for (int in_pieces = 0; in_pieces < 2; in_pieces++) {
        for (size_t k = 0; k < 4; k++) {
            uint8_t *data;
            size_t size;
            load(names[k], &data, &size);
            if (!k) { /* one heap of each of several profiles */
                data = (uint8_t *)realloc(data, 5 * size);
                for (int i = 1; i < 5; i++) memcpy(data + (size_t)i * size, data, size);
                size *= 5;
            }
            limit_holds(data, size, in_pieces != 0);
            free(data);
        }
        for (size_t k = 0; k < 3; k++) {
            size_t size;
            char *text = documents[k](&size);
            limit_holds(text, size, in_pieces != 0);
            free(text);
        }
        size_t size;
        char *domains = many("", "a 2 x 1\no %x 1 8 1\no 1000000 1 5\n\nc x 1\n", 300, "", &size);
        limit_holds(domains, size, in_pieces != 0);
        free(domains);
    }
}

static void the_limit_that_was_reached_is_named(void **state) {
    (void)state;
    static const char netcf[] = "a 2 x 1\no 1 1 8 1\no 2 1 8 1\no 3 1 8 1\nc x 1\n";
    static const char deep[] = "[{\"ph\":[[[[[]]]]]}]";
    hd_options options = { .limits.max_records = 2 };
    hd_dump *dump;
    hd_error err;
    assert_int_equal(hd_read_memory(netcf, sizeof netcf - 1, &options, &dump, &err), HD_LIMIT);
    assert_non_null(strstr(err.message, "max_records of 2"));
    assert_int_equal(err.line, 4);
    options = (hd_options){ .limits.max_depth = 5 };
    assert_int_equal(hd_read_memory(deep, sizeof deep - 1, &options, &dump, &err), HD_LIMIT);
    assert_string_equal(err.message, "brackets nested deeper than max_depth of 5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_off_while_it_is_read_is_an_input_error),
        cmocka_unit_test(bytes_appended_during_reading_are_ignored),
        cmocka_unit_test(indexed_profiles_do_not_depend_on_later_changes),
        cmocka_unit_test(raw_profiles_end_to_end_are_read_one_by_one),
        cmocka_unit_test(callbacks_of_a_known_size_give_just_that),
        cmocka_unit_test(files_can_be_mapped),
        cmocka_unit_test(inputs_are_loaded),
        cmocka_unit_test(the_memory_allowed_is_for_the_whole_call),
        cmocka_unit_test(the_limit_that_was_reached_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
