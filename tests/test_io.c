/* >>io: inputs, outputs, files that appear complete, the window of a parser. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "private.h"
#include "faults.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

static char dir[64];             /* of this run */

static const char *in_dir(const char *name) {
    static char path[4][400];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/test_io_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

/* The number of entries of a directory; `empty` removes them. */
static int entries(const char *path, bool empty) {
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        n++;
        if (empty) assert_int_equal(remove(in_dir(e->d_name)), 0);
    }
    closedir(d);
    return n;
}

static int empty_dir(void **state) {
    (void)state;
    entries(dir, true);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    return rmdir(dir);
}

static void put(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void assert_file(const char *path, const char *text) {
    static char found[100000];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(found, 1, sizeof found, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(found, text, n);
}

static int open_files(void) { return entries("/proc/self/fd", false); }

/* Reads an input to its end, through the window. */
static size_t read_all(hd_in in, char *to, size_t capacity, bool *failed) {
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    hd_window r;
    size_t n = 0;
    hd__window_open(&r, &m, in);
    do {
        size_t window = (size_t)(r.end - r.at);
        assert_true(window <= capacity - n);
        if (window) memcpy(to + n, r.at, window);
        n += window;
        r.at = r.end;
    } while (hd__window_next(&r));
    *failed = r.failed;
    assert_false(hd__window_next(&r)); /* the end stays the end */
    assert_int_equal(r.failed, *failed);
    hd__window_close(&r);
    assert_int_equal(m.used, 0);
    return n;
}

static void assert_reads(hd_in in, const char *text) {
    static char found[300000];
    bool failed;
    assert_int_equal(read_all(in, found, sizeof found, &failed), strlen(text));
    assert_memory_equal(found, text, strlen(text));
    assert_false(failed);
}

/* Inputs --------------------------------------------------------------------------------------- */

static void memory_and_callbacks_read_alike(void **state) {
    static char text[200001];
    static const size_t chunks[] = { 0, 1, 7, 65535, 65536, 65537, 1000000 };
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = (char)('a' + hd__test_below(&seed, 26));
    assert_reads(hd_in_memory(text, sizeof text - 1), text);
    assert_reads(hd_in_memory(NULL, 0), "");
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        hd__reads r = { .data = text, .size = sizeof text - 1 };
        r.chunk = chunks[i];
        assert_reads(hd__faults_in(&r), text);
    }
}

static void the_window_knows_offset_and_line(void **state) {
    static char text[150000];
    uint64_t seed = 2;
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = hd__test_below(&seed, 20) ? 'x' : '\n';
    for (size_t chunk = 0; chunk < 4; chunk++) {
        hd__reads input = { .data = text, .size = sizeof text };
        hd_window r;
        size_t offset = 0, line = 1;
        input.chunk = (size_t[]){ 0, 1, 1000, 65536 }[chunk];
        hd__window_open(&r, &m, chunk ? hd__faults_in(&input) : hd_in_memory(text, sizeof text));
        r.text = true;
        do {
            while (r.at < r.end) {
                size_t step = 1 + hd__test_below(&seed, 5000);
                if (step > (size_t)(r.end - r.at)) step = (size_t)(r.end - r.at);
                assert_memory_equal(r.at, text + offset, step);
                for (size_t i = 0; i < step; i++) line += text[offset + i] == '\n';
                r.at += step;
                offset += step;
                assert_int_equal(hd_window_offset(&r), offset);
                if (hd__test_below(&seed, 3)) continue;
                /* also of an earlier place that is still in the window */
                size_t back = hd__test_below(&seed, (uint64_t)(r.at - r.start) + 1), there = line;
                for (size_t i = 1; i <= back; i++) there -= text[offset - i] == '\n';
                assert_int_equal(hd_window_line(&r, offset - back), there);
                if (hd__test_below(&seed, 2)) assert_int_equal(hd_window_line(&r, offset), line);
            }
        } while (hd__window_next(&r));
        assert_int_equal(offset, sizeof text);
        assert_int_equal(hd_window_line(&r, offset), line);
        hd__window_close(&r);
    }
    assert_int_equal(m.used, 0);
}

static void a_failing_read_ends_the_input(void **state) {
    char found[20];
    bool failed;
    (void)state;
    for (uint64_t fail_at = 1; fail_at <= 6; fail_at++) {
        hd__reads r = { .data = "0123456789", .size = 10 };
        r.chunk = 2;
        r.fail_at = fail_at;
        assert_int_equal(read_all(hd__faults_in(&r), found, sizeof found, &failed), 2 * (fail_at - 1));
        assert_true(failed);
        assert_int_equal(r.count, fail_at); /* no further read */
    }
}

static int64_t claims_too_much(void *user, void *buffer, size_t capacity) {
    memset(buffer, 'x', capacity);
    return *(int64_t *)user ? *(int64_t *)user : (int64_t)capacity + 1;
}

static void a_read_past_the_buffer_is_a_failure(void **state) {
    static int64_t claims[] = { 0, INT64_MAX, INT64_MIN, -2 };
    char found[1];
    bool failed;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read_all(hd_in_callback(claims_too_much, &claims[i]), found, 0, &failed), 0);
        assert_true(failed);
    }
}

static void a_window_without_memory_shows_nothing(void **state) {
    hd__faults f = { 0 };
    hd__reads input = { .data = "abc", .size = 3 };
    hd_error err = { 0 };
    hd_window r;
    (void)state;
    f.fail_at = 1;
    hd__mem m = hd__mem_make(hd__faults_allocator(&f), 0);
    hd__window_open(&r, &m, hd__faults_in(&input));
    assert_false(hd__window_next(&r));
    assert_true(r.failed);
    hd__window_close(&r);
    f.fail_at = f.count + 1;
    hd__window_open(&r, &m, hd__faults_in(&input));
    assert_int_equal(hd_window_fill(&r, 1, &err), HD_OUT_OF_MEMORY);
    assert_int_equal(err.status, HD_OUT_OF_MEMORY);
    hd__window_close(&r);
    hd__window_open(&r, &m, hd_in_memory("abc", 3)); /* no memory is needed */
    assert_int_equal(hd_window_fill(&r, 3, &err), HD_OK);
    assert_int_equal(r.end - r.at, 3);
    hd__window_close(&r);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

/* Requested bytes are contiguous in the window, however the input's pieces arrive. A request beyond the input
   allocates nothing. */
static void a_window_grows_to_what_is_there(void **state) {
    static char text[300000];
    static const size_t chunks[] = { 0, 1, 999, 70000 };
    uint64_t seed = 3;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)hd__test_below(&seed, 256);
    for (size_t k = 0; k < 2 * (sizeof chunks / sizeof *chunks); k++) {
        hd__reads input = { .data = text, .size = sizeof text, .chunk = chunks[k / 2] };
        hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
        hd_in in = hd__faults_in(&input);
        size_t offset = 0;
        hd_window w;
        if (k & 1) in.size = sizeof text;
        hd__window_open(&w, &m, in);
        while (offset < sizeof text) {
            size_t want = (size_t)1 << hd__test_below(&seed, 18), left = sizeof text - offset, step;
            assert_int_equal(hd_window_fill(&w, want, NULL), HD_OK);
            assert_int_equal(hd_window_offset(&w), offset);
            assert_true((size_t)(w.end - w.at) >= (want < left ? want : left));
            assert_memory_equal(w.at, text + offset, (size_t)(w.end - w.at));
            if (k & 1) assert_int_equal(hd_window_left(&w), left);
            step = 1 + hd__test_below(&seed, (uint64_t)(w.end - w.at));
            w.at += step;
            offset += step;
        }
        assert_true(m.used <= 4 * 65536 + 2 * 131072);
        assert_int_equal(hd_window_fill(&w, UINT64_MAX, NULL), HD_OK);
        assert_true(w.ended && w.at == w.end);
        assert_true(m.used <= 4 * 65536 + 2 * 131072);
        hd__window_close(&w);
        assert_int_equal(m.used, 0);
    }
}

static void the_reporter_counts_what_lenient_reading_leaves_out(void **state) {
    hd_error bad = { .status = HD_MALFORMED, .offset = 7, .message = "no" }, full = { .status = HD_LIMIT }, err = { 0 };
    hd_options options = { .lenient = true };
    hd_reporter strict = hd__report_begin(NULL), lenient = hd__report_begin(&options);
    (void)state;
    assert_int_equal(hd_report(&strict, &bad, &err), HD_MALFORMED);
    assert_int_equal(err.offset, 7);
    assert_string_equal(err.message, "no");
    assert_int_equal(strict.warning_count, 0);
    assert_int_equal(hd_report(&lenient, &bad, &err), HD_OK);
    assert_int_equal(hd_report(&lenient, &full, &err), HD_LIMIT);
    assert_int_equal(err.status, HD_LIMIT);
    assert_int_equal(lenient.warning_count, 1);
}

static void files_open(void **state) {
    static char big[200000];
    const char *path = in_dir("file");
    hd_error err;
    hd_in in;
    int before = open_files();
    (void)state;
    memset(big, 'b', sizeof big - 1);
    put(path, big, sizeof big - 1);
    assert_int_equal(hd_in_open(path, &in, &err), HD_OK);
    remove(path); /* an open file stays readable */
    assert_reads(in, big);
    hd_in_close(&in);
    put(path, "", 0);
    assert_int_equal(hd_in_open(path, &in, NULL), HD_OK);
    assert_reads(in, "");
    hd_in_close(&in);
    int other = open(path, O_RDONLY); /* reuses the input's descriptor */
    hd_in_close(&in);
    assert_int_equal(close(other), 0);
    assert_int_equal(open_files(), before);
}

static void pipes_and_devices_are_read_as_they_come(void **state) {
    const char *path = in_dir("pipe");
    static char big[50001];
    char name[40], found[100];
    bool failed;
    int before = open_files(), both, ends[2];
    hd_in in;
    (void)state;
    memset(big, 'p', sizeof big - 1);
    assert_int_equal(mkfifo(path, 0600), 0);
    both = open(path, O_RDWR);
    assert_int_equal(write(both, big, sizeof big - 1), sizeof big - 1);
    assert_int_equal(hd_in_open(path, &in, NULL), HD_OK);
    close(both);
    assert_reads(in, big);
    hd_in_close(&in);

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(hd_in_open(name, &in, NULL), HD_OK);
    close(ends[0]);
    close(ends[1]);
    assert_reads(in, "hello");
    hd_in_close(&in);

    assert_int_equal(hd_in_open("/dev/null", &in, NULL), HD_OK);
    assert_reads(in, "");
    hd_in_close(&in);
    /* A regular file of size 0 that has content. */
    assert_int_equal(hd_in_open("/proc/self/comm", &in, NULL), HD_OK);
    assert_true(read_all(in, found, sizeof found, &failed) > 1);
    hd_in_close(&in);
    assert_int_equal(open_files(), before);
}

static void what_does_not_open_is_named(void **state) {
    const char *missing = in_dir("no such file");
    hd_in in, untouched;
    hd_error err;
    int before = open_files();
    (void)state;
    memset(&in, 0x77, sizeof in);
    untouched = in;
    assert_int_equal(hd_in_open(missing, &in, &err), HD_IO);
    assert_int_equal(err.status, HD_IO);
    assert_non_null(strstr(err.message, missing));
    assert_non_null(strstr(err.message, strerror(ENOENT)));
    assert_true(err.offset == HD_UNKNOWN);
    assert_int_equal(err.line, 0);
    assert_int_equal(hd_in_open(dir, &in, &err), HD_IO);
    assert_non_null(strstr(err.message, dir));
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(hd_in_open("", &in, &err), HD_IO);
    assert_int_equal(hd_in_open(NULL, &in, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_int_equal(hd_in_open(missing, &in, NULL), HD_IO);
    assert_memory_equal(&in, &untouched, sizeof in);
    assert_int_equal(open_files(), before);
}

/* Outputs -------------------------------------------------------------------------------------- */

static void a_buffer_grows_and_stays_whole(void **state) {
    hd__faults f = { 0 };
    (void)state;
    HD__EACH_FAULT(f) {
        hd_buffer b = { 0 };
        char expected[3000];
        size_t n = 0, refused = 0;
        uint64_t seed = 3;
        b.allocator = hd__faults_allocator(&f);
        hd_out out = hd_out_memory(&b);
        while (n < 2500) {
            char piece[400];
            size_t size = hd__test_below(&seed, sizeof piece);
            memset(piece, (int)('a' + n % 26), size);
            hd_status status = out.write(out.user, piece, size);
            if (status) {
                assert_int_equal(status, HD_OUT_OF_MEMORY);
                refused++;
            } else {
                memcpy(expected + n, piece, size);
                n += size;
            }
            assert_int_equal(b.size, n);
            if (n) assert_memory_equal(b.data, expected, n);
        }
        assert_int_equal(refused, f.failed);
        assert_int_equal(out.write(out.user, expected, SIZE_MAX - 10), HD_OUT_OF_MEMORY);
        assert_int_equal(out.write(out.user, NULL, 0), HD_OK);
        assert_int_equal(b.size, n);
        hd_buffer_free(&b);
        assert_null(b.data);
        hd_buffer_free(&b);
    }
    assert_true(f.fail_at > 3);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
    hd_buffer_free(NULL);
}

static void a_buffer_is_used_again(void **state) {
    hd_buffer b = { 0 };
    hd_out out = hd_out_memory(&b);
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 1000; k++) assert_int_equal(out.write(out.user, "abc", 3), HD_OK);
        assert_int_equal(b.size, 3000);
        assert_memory_equal(b.data + 2997, "abc", 3);
        hd_buffer_free(&b);
    }
}

static void stdio_files_are_written(void **state) {
    const char *path = in_dir("stdio");
    FILE *f = fopen(path, "w+b");
    hd_out out = hd_out_file(f);
    (void)state;
    assert_int_equal(out.write(out.user, "ab\0c", 4), HD_OK);
    assert_int_equal(out.write(out.user, "", 0), HD_OK);
    assert_int_equal(ftell(f), 4);
    fclose(f);
    f = fopen(path, "rb"); /* not open for writing */
    out = hd_out_file(f);
    assert_int_equal(out.write(out.user, "x", 1), HD_IO);
    fclose(f);
    f = fopen("/dev/full", "wb");
    setvbuf(f, NULL, _IONBF, 0);
    out = hd_out_file(f);
    assert_int_equal(out.write(out.user, "x", 1), HD_IO);
    fclose(f);
}

/* Writes random pieces through a sink; returns the sink's status. */
static hd_status through_sink(hd_out out, char *text, size_t size, uint64_t seed) {
    hd_sink s;
    hd_sink_begin(&s, out);
    for (size_t at = 0; at < size;) {
        size_t n = hd__test_below(&seed, hd__test_below(&seed, 4) ? 300 : 9000);
        if (n > size - at) n = size - at;
        hd_sink_put(&s, text + at, n);
        at += n;
    }
    return hd__sink_flush(&s);
}

static void a_sink_gathers_writes(void **state) {
    static char text[100000];
    uint64_t seed = 4;
    hd__write_faults w = { 0 };
    hd_sink s;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)hd__test_random(&seed);
    assert_int_equal(through_sink(hd__faults_out(&w), text, sizeof text, 5), HD_OK);
    assert_int_equal(w.size, sizeof text);
    assert_memory_equal(w.data, text, sizeof text);
    assert_true(w.count < 60);
    hd__write_faults_free(&w);
    hd_sink_begin(&s, hd__faults_out(&w));
    assert_int_equal(hd__sink_flush(&s), HD_OK);
    assert_int_equal(w.count, 0); /* nothing to write, nothing written */
    hd__sink_pad(&s, 3);
    hd_sink_str(&s, hd_cstr("x"));
    assert_int_equal(hd__sink_flush(&s), HD_OK);
    assert_int_equal(hd__sink_flush(&s), HD_OK);
    assert_int_equal(w.count, 1);
    assert_int_equal(w.size, 4);
    assert_memory_equal(w.data, "   x", 4);
    hd__write_faults_free(&w);
}

static void a_sink_writes_text(void **state) {
    static const char expected[] = "a\0b, 0 18446744073709551615 ffffffffffffffff \"\\\"\\u000a\"";
    hd_buffer b = { 0 };
    hd_error err = { 0 };
    hd_sink s;
    (void)state;
    hd_sink_begin(&s, hd_out_memory(&b));
    hd_sink_put(&s, "a\0b", 3);
    hd_sink_cstr(&s, ", ");
    hd_sink_number(&s, 0, 10);
    hd_sink_str(&s, hd_cstr(" "));
    hd_sink_number(&s, UINT64_MAX, 10);
    hd_sink_cstr(&s, " ");
    hd_sink_number(&s, UINT64_MAX, 16);
    hd_sink_cstr(&s, " ");
    hd_json_quote(&s, hd_cstr("\"\n"));
    assert_int_equal(b.size, 0);
    assert_int_equal(hd_sink_end(&s, "a text", &err), HD_OK);
    assert_int_equal(b.size, sizeof expected - 1);
    assert_memory_equal(b.data, expected, sizeof expected - 1);
    hd_buffer_free(&b);
    hd_sink_begin(&s, hd_out_callback(NULL, NULL));
    hd_sink_cstr(&s, "x");
    assert_int_equal(hd_sink_end(&s, "a text", &err), HD_INVALID);
    assert_string_equal(err.message, "writing a text failed");
}

static void a_failed_write_sticks(void **state) {
    static char text[50000];
    hd_status status = HD_IO;
    (void)state;
    for (uint64_t i = 1; status; i++) {
        hd__write_faults w = { 0 };
        w.fail_at = i;
        w.status = i % 2 ? HD_CANCELLED : HD_IO;
        status = through_sink(hd__faults_out(&w), text, sizeof text, 6);
        if (w.count >= i) assert_int_equal(status, w.status); /* passed on unchanged */
        else assert_int_equal(status, HD_OK);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
        assert_true(i < 1000);
    }
}

/* Files that appear complete ------------------------------------------------------------------- */

static hd_status write_to(hd_file *file, const char *text) {
    hd_out out = hd_file_out(file);
    return out.write(out.user, text, strlen(text));
}

static void a_file_appears_when_committed(void **state) {
    const char *path = in_dir("new");
    hd_file file;
    struct stat st;
    int before = open_files();
    mode_t mask = umask(027);
    (void)state;
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    umask(mask);
    assert_int_equal(write_to(&file, "one "), HD_OK);
    assert_int_equal(write_to(&file, ""), HD_OK);
    assert_int_equal(write_to(&file, "two"), HD_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_file(path, "one two");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(hd_file_commit(&file, NULL), HD_INVALID); /* it is closed */
    hd_file_discard(&file);
    assert_file(path, "one two");
    assert_int_equal(entries(dir, false), 1);
    assert_int_equal(open_files(), before);
}

static void a_discarded_file_leaves_nothing(void **state) {
    hd_file file;
    int before = open_files();
    (void)state;
    put(in_dir("old"), "old", 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hd_file_create(in_dir(i ? "old" : "new"), &file, NULL), HD_OK);
        assert_int_equal(write_to(&file, "text"), HD_OK);
        hd_file_discard(&file);
        int other = open("/dev/null", O_RDONLY); /* reuses the file's descriptor */
        hd_file_discard(&file);
        assert_int_equal(close(other), 0);
    }
    assert_file(in_dir("old"), "old");
    assert_int_equal(entries(dir, false), 1);
    assert_int_equal(open_files(), before);
}

static void a_new_file_replaces_an_old_one(void **state) {
    const char *path = in_dir("old");
    hd_file a, b;
    (void)state;
    put(path, "a longer old text", 17);
    assert_int_equal(hd_file_create(path, &a, NULL), HD_OK);
    assert_int_equal(hd_file_create(path, &b, NULL), HD_OK); /* two files at a time do not conflict */
    assert_int_equal(write_to(&b, "second"), HD_OK);
    assert_int_equal(write_to(&a, "first"), HD_OK);
    assert_file(path, "a longer old text");
    assert_int_equal(hd_file_commit(&a, NULL), HD_OK);
    assert_file(path, "first");
    assert_int_equal(hd_file_commit(&b, NULL), HD_OK);
    assert_file(path, "second");
    assert_int_equal(entries(dir, false), 1);
}

static void a_link_stays_and_its_file_keeps_its_permissions(void **state) {
    char link[256];
    const char *path = in_dir("target");
    struct stat st;
    hd_file file;
    (void)state;
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink("target", link), 0);
    for (int i = 0; i < 2; i++) {            /* first a dangling link */
        assert_int_equal(hd_file_create(link, &file, NULL), HD_OK);
        assert_int_equal(write_to(&file, "text"), HD_OK);
        assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
        assert_file(path, "text");
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        if (i) {
            assert_int_equal(stat(path, &st), 0);
            assert_int_equal(st.st_mode & 0777, 0600);
        }
        assert_int_equal(chmod(path, 0600), 0);
    }
    unlink(link);
    assert_int_equal(symlink("link", link), 0); /* to itself */
    assert_int_equal(hd_file_create(link, &file, NULL), HD_IO);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Replaces a file through `path`. Returns the permissions of the temporary file meanwhile. */
static mode_t written_over(const char *path) {
    char beside[800];
    hd_file file;
    mode_t meanwhile;
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    snprintf(beside, sizeof beside, "%s/%s", dir, file.temporary);
    meanwhile = mode_of(beside);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_file(path, "text");
    return meanwhile;
}

static void of_the_permissions_of_an_old_file_none_are_set_id(void **state) {
    static const struct { mode_t old, now; } cases[] = {
        { 0644, 0644 }, { 0600, 0600 }, { 0666, 0666 }, { 0640, 0640 }, { 06777, 0777 }, { 04755, 0755 },
        { 02750, 0750 }, { 01644, 0644 }, { 0444, 0444 } };
    const char *path = in_dir("old");
    mode_t mask = umask(077);
    (void)state;
    assert_int_equal(written_over(path), 0600); /* only the owner can read a new file */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(chmod(path, cases[i].old), 0);
        assert_int_equal(written_over(path) & ~cases[i].now & 077, 0); /* never more than the final permissions */
        assert_int_equal(mode_of(path), cases[i].now);
    }
    umask(0);
    unlink(path);
    assert_int_equal(written_over(path), 0600);
    assert_int_equal(mode_of(path), 0600);
    umask(mask);
}

/* Skips tests that need root. */
static bool is_root(const char *what) {
    if (!geteuid()) return true;
    print_message("SKIP: %s: not root\n", what);
    return false;
}

static void another_users_permissions_are_not_taken_over(void **state) {
    const char *path = in_dir("old");
    struct stat st;
    (void)state;
    if (!is_root("files of other users")) skip();
    put(path, "old", 3);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(chmod(path, 06777), 0);
    assert_int_equal(written_over(path), 0600);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(chown(path, 0, 65534), 0); /* the group keeps its permissions */
    assert_int_equal(chmod(path, 0640), 0);
    written_over(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_gid, 65534);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void a_link_may_lead_anywhere(void **state) {
    const char *far = in_dir("far"), *sub = in_dir("sub"), *link = in_dir("link");
    char target[400], inside[400];
    hd_file file;
    int before = open_files();
    (void)state;
    assert_int_equal(mkdir(sub, 0700), 0);
    snprintf(target, sizeof target, "%s/target", sub);
    snprintf(inside, sizeof inside, "%s/inside", sub);
    for (int whole = 0; whole < 2; whole++) {
        /* link -> far -> sub/inside -> target, which is in sub */
        assert_int_equal(symlink("far", link), 0);
        assert_int_equal(symlink(whole ? inside : "sub/inside", far), 0);
        assert_int_equal(symlink("target", inside), 0);
        for (int old = 0; old < 2; old++) {
            assert_int_equal(hd_file_create(link, &file, NULL), HD_OK);
            assert_int_equal(write_to(&file, "text"), HD_OK);
            assert_int_equal(entries(sub, false), 3); /* the temporary file is next to the target */
            assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
            assert_file(target, "text");
            assert_int_equal(entries(sub, false), 2);
        }
        unlink(target);
        assert_int_equal(hd_file_create(link, &file, NULL), HD_OK);
        hd_file_discard(&file);
        assert_int_equal(entries(sub, false), 1); /* no file appeared at the target's place */
        unlink(inside), unlink(far), unlink(link);
    }
    assert_int_equal(rmdir(sub), 0);
    assert_int_equal(open_files(), before);
}

/* Whether the kernel refuses to follow other users' links in directories like /tmp. */
static bool links_are_protected(void) {
    char on = 0;
    int fd = open("/proc/sys/fs/protected_symlinks", O_RDONLY);
    if (fd < 0 || read(fd, &on, 1) != 1) on = 0;
    close(fd);
    if (on != '1') print_message("SKIP: fs.protected_symlinks is off\n");
    return on == '1';
}

static void others_links_in_a_shared_directory_are_not_followed(void **state) {
    const char *sub = in_dir("shared"), *victim = in_dir("victim");
    char link[400];
    hd_file file;
    hd_error err;
    (void)state;
    if (!is_root("links of other users") || !links_are_protected()) skip();
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(chmod(sub, 01777), 0);
    snprintf(link, sizeof link, "%s/link", sub);
    for (int old = 0; old < 2; old++) {
        if (old) put(victim, "precious", 8);
        assert_int_equal(symlink(victim, link), 0);
        assert_int_equal(lchown(link, 65534, 65534), 0);
        assert_int_equal(hd_file_create(link, &file, &err), HD_IO);
        assert_non_null(strstr(err.message, strerror(EACCES)));
        assert_int_equal(entries(sub, false), 1);
        unlink(link);
    }
    assert_file(victim, "precious");
    assert_int_equal(rmdir(sub), 0);
}

static void what_another_put_at_a_default_name_stays(void **state) {
    const char *sub = in_dir("shared"), *victim = in_dir("victim");
    char path[400], text[400];
    hd_file file;
    hd_error err;
    int before = open_files();
    (void)state;
    put(victim, "precious", 8);
    assert_int_equal(mkdir(sub, 0700), 0);
    snprintf(path, sizeof path, "%s/heapdump.app.7.json", sub);
    snprintf(text, sizeof text, "%s", victim);
    assert_int_equal(chmod(sub, 0777), 0);
    for (int late = 0; late < 2; late++) { /* before writing, or during it */
        for (int kind = 0; kind < 4; kind++) {
            if (late) assert_int_equal(hd_file_create_default(path, &file, NULL), HD_OK);
            if (kind == 0) assert_int_equal(symlink(text, path), 0);
            if (kind == 1) assert_int_equal(symlink("nothing", path), 0);
            if (kind == 2) assert_int_equal(mkfifo(path, 0666), 0);
            if (kind == 3) {
                if (!is_root("a file of another user")) break;
                put(path, "theirs", 6);
                assert_int_equal(chown(path, 65534, 65534), 0);
            }
            assert_int_equal(late ? hd_file_commit(&file, &err) : hd_file_create_default(path, &file, &err), HD_IO);
            assert_non_null(strstr(err.message, strerror(EEXIST)));
            if (kind == 3) assert_file(path, "theirs");
            assert_int_equal(entries(sub, false), 1);
            assert_int_equal(remove(path), 0);
        }
    }
    assert_file(victim, "precious");
    for (int again = 0; again < 2; again++) { /* one's own link is replaced */
        assert_int_equal(hd_file_create_default(path, &file, NULL), HD_OK);
        assert_int_equal(write_to(&file, "text"), HD_OK);
        assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
        assert_file(path, "text");
    }
    unlink(path);
    assert_int_equal(chmod(sub, 0755), 0); /* nobody else can have made the link */
    assert_int_equal(symlink("../target", path), 0);
    assert_int_equal(hd_file_create_default(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_file(in_dir("target"), "text");
    unlink(path);
    assert_int_equal(rmdir(sub), 0);
    assert_int_equal(open_files(), before);
}

/* The file goes into the directory that was open at first, even if another directory has its name later. */
static void a_directory_that_is_replaced_gets_nothing(void **state) {
    const char *sub = in_dir("sub"), *moved = in_dir("moved"), *other = in_dir("other");
    char path[400];
    hd_file file;
    (void)state;
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    snprintf(path, sizeof path, "%s/file", sub);
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(rename(sub, moved), 0);
    assert_int_equal(symlink("other", sub), 0);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_int_equal(entries(other, false), 0);
    snprintf(path, sizeof path, "%s/file", moved);
    assert_file(path, "text");
    unlink(path), unlink(sub), rmdir(moved), rmdir(other);
}

static void a_name_may_be_as_long_as_names_are(void **state) {
    char path[400];
    hd_file file;
    (void)state;
    size_t n = (size_t)snprintf(path, sizeof path, "%s/", dir);
    memset(path + n, 'n', 256);
    path[n + 255] = 0;
    written_over(path);
    path[n + 255] = 'n', path[n + 256] = 0;
    assert_int_equal(hd_file_create(path, &file, NULL), HD_IO);
    assert_int_equal(errno, ENAMETOOLONG);
    path[n] = 0;
    assert_int_equal(hd_file_create(path, &file, NULL), HD_IO); /* a directory */
    assert_int_equal(entries(dir, false), 1);
}

static void a_pipe_is_written_to(void **state) {
    const char *path = in_dir("pipe");
    char text[8] = "";
    struct stat st;
    hd_file file;
    int fd;
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_int_equal(read(fd, text, sizeof text), 4);
    assert_string_equal(text, "text");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    hd_file_discard(&file);
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
}

/* /dev/stdout, or >(command) in a shell, may lead to a path that is in no directory. */
static void a_pipe_without_a_name_is_written_to(void **state) {
    char path[32], text[8] = "";
    hd_file file;
    int fd[2];
    (void)state;
    if (access("/dev/fd", X_OK)) skip();
    assert_int_equal(pipe(fd), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", fd[1]);
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_int_equal(read(fd[0], text, sizeof text), 4);
    assert_string_equal(text, "text");
    close(fd[0]);
    close(fd[1]);
}

static void other_peoples_files_are_left_alone(void **state) {
    const char *path = in_dir("f");
    hd_file file;
    char taken[2][400], *number;
    (void)state;
    /* The next two temporary names, as if another process of that id had left them. */
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    hd_file_discard(&file);
    *strrchr(file.temporary, '.') = 0;
    number = strrchr(file.temporary, '.') + 1;
    unsigned long n = strtoul(number, NULL, 10);
    *number = 0;
    for (unsigned long i = 0; i < 2; i++) {
        snprintf(taken[i], sizeof taken[i], "%s/%s%lu.tmp", dir, file.temporary, n + 1 + i);
        put(taken[i], "theirs", 6);
    }
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "ours"), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_file(path, "ours");
    for (int i = 0; i < 2; i++) assert_file(taken[i], "theirs");
}

static void a_failed_commit_leaves_what_was(void **state) {
    const char *path = in_dir("taken");
    hd_file file;
    hd_error err;
    int before = open_files();
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0); /* a file cannot be renamed to this */
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, &err), HD_IO);
    assert_int_equal(err.status, HD_IO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(entries(dir, false), 1);
    assert_int_equal(entries(path, false), 0);
    hd_file_discard(&file);
    assert_int_equal(open_files(), before);
}

static void paths_that_cannot_be_are_refused(void **state) {
    char path[5000];
    hd_file file;
    hd_error err;
    int before = open_files();
    (void)state;
    file.fd = open("/dev/null", O_RDONLY); /* rubbish from an uninitialized hd_file */
    int rubbish = file.fd;
    assert_int_equal(hd_file_create(NULL, &file, &err), HD_INVALID);
    hd_file_discard(&file);
    assert_int_equal(close(rubbish), 0);
    assert_int_equal(hd_file_create("", &file, &err), HD_INVALID);
    hd_file_discard(&file); /* as after any failure */
    assert_int_equal(hd_file_commit(&file, NULL), HD_INVALID);
    assert_int_equal(hd_file_create(in_dir("no/such/file"), &file, &err), HD_IO);
    assert_non_null(strstr(err.message, in_dir("no/such/file")));
    assert_non_null(strstr(err.message, strerror(ENOENT)));
    hd_file_discard(&file);
    /* The longest path that the system takes, and one more. */
    size_t n = (size_t)snprintf(path, sizeof path, "%s/", dir);
    while (n < 4092) path[n++] = '.', path[n++] = '/';
    while (n < 4095) path[n++] = 'f';
    path[n] = 0;
    assert_int_equal(hd_file_create(path, &file, &err), HD_OK);
    assert_int_equal(write_to(&file, "text"), HD_OK);
    assert_int_equal(hd_file_commit(&file, &err), HD_OK);
    assert_file(path, "text");
    path[n++] = 'f';
    path[n] = 0;
    assert_int_equal(hd_file_create(path, &file, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_string_equal(err.message, "a path of 1 to 4095 bytes expected, 4096 found");
    assert_int_equal(entries(dir, false), 1);
    assert_int_equal(open_files(), before);
}

/* A limit on the size of files fails as a full disk does: a short write, then an error. */
static hd_status write_to_full_disk(hd_file *file) {
    static char text[20001];
    struct rlimit unlimited, small;
    memset(text, 't', sizeof text - 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &unlimited);
    small = unlimited;
    small.rlim_cur = 10000;
    setrlimit(RLIMIT_FSIZE, &small);
    hd_status status = write_to(file, text);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    return status;
}

static void a_full_disk_is_told(void **state) {
    const char *path = in_dir("old");
    hd_file file;
    (void)state;
    put(path, "old", 3);
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to_full_disk(&file), HD_IO);
    hd_file_discard(&file);
    assert_file(path, "old");
    assert_int_equal(entries(dir, false), 1);
}

static void a_file_with_a_gap_is_not_committed(void **state) {
    const char *path = in_dir("old");
    hd_file file;
    hd_error err;
    (void)state;
    put(path, "old", 3);
    assert_int_equal(hd_file_create(path, &file, NULL), HD_OK);
    assert_int_equal(write_to_full_disk(&file), HD_IO);
    write_to(&file, "more"); /* there is space again, but the lost text stays lost */
    assert_int_equal(hd_file_commit(&file, &err), HD_IO);
    assert_non_null(strstr(err.message, path));
    assert_file(path, "old");
    assert_int_equal(entries(dir, false), 1);
}

static void a_written_file_reads_back(void **state) {
    static char text[100001];
    uint64_t seed = 7;
    hd_file file;
    hd_in in;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = (char)('a' + hd__test_below(&seed, 26));
    assert_int_equal(hd_file_create(in_dir("f"), &file, NULL), HD_OK);
    assert_int_equal(through_sink(hd_file_out(&file), text, sizeof text - 1, 8), HD_OK);
    assert_int_equal(hd_file_commit(&file, NULL), HD_OK);
    assert_int_equal(hd_in_open(in_dir("f"), &in, NULL), HD_OK);
    assert_reads(in, text);
    hd_in_close(&in);
}

int main(void) {
#define T(name) cmocka_unit_test_teardown(name, empty_dir)
    const struct CMUnitTest tests[] = {
        T(memory_and_callbacks_read_alike), T(the_window_knows_offset_and_line),
        T(a_failing_read_ends_the_input), T(a_read_past_the_buffer_is_a_failure),
        T(a_window_without_memory_shows_nothing), T(a_window_grows_to_what_is_there),
        T(the_reporter_counts_what_lenient_reading_leaves_out), T(files_open),
        T(pipes_and_devices_are_read_as_they_come), T(what_does_not_open_is_named),
        T(a_buffer_grows_and_stays_whole), T(a_buffer_is_used_again), T(stdio_files_are_written),
        T(a_sink_gathers_writes), T(a_sink_writes_text), T(a_failed_write_sticks), T(a_file_appears_when_committed),
        T(a_discarded_file_leaves_nothing), T(a_new_file_replaces_an_old_one),
        T(a_link_stays_and_its_file_keeps_its_permissions), T(a_pipe_is_written_to),
        T(a_pipe_without_a_name_is_written_to),
        T(of_the_permissions_of_an_old_file_none_are_set_id),
        T(another_users_permissions_are_not_taken_over), T(a_link_may_lead_anywhere),
        T(others_links_in_a_shared_directory_are_not_followed),
        T(what_another_put_at_a_default_name_stays), T(a_directory_that_is_replaced_gets_nothing),
        T(a_name_may_be_as_long_as_names_are),
        T(other_peoples_files_are_left_alone), T(a_failed_commit_leaves_what_was),
        T(paths_that_cannot_be_are_refused), T(a_full_disk_is_told),
        T(a_file_with_a_gap_is_not_committed),
        T(a_written_file_reads_back),
    };
    return cmocka_run_group_tests_name("io", tests, make_dir, remove_dir);
}
