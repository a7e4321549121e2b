/* speedscope's JSON, written: heaps with arbitrary names and labels. Read again, the text has the same bytes by backtrace.
   Then a few allocations fail, one at a time. `detect` sees the input, too. */
#include "../tests/private.h"
#include "../tests/faults.h"
#include "pieces.h"
#include "../examples/heapdump/formats/speedscope.c"
#include "../tests/speedscope.h"

/* Other bytes are written as U+FFFD, so that names may become equal: only totals are compared then. */
static bool is_unicode(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size;) {
        unsigned n = data[i] < 128 ? 1 : hd__utf8_length(data + i, size - i);
        if (!n) return false;
        i += n;
    }
    return true;
}

/* Cuts the input into names: a NUL ends a name, two a path. */
static hd_profile *profile_of(const uint8_t *data, size_t size) {
    hd_profile *p = hd_profile_create(NULL, NULL);
    uint32_t nodes[2] = { 0, 0 };
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, 0, size - at);
        size_t n = end ? (size_t)(end - data) - at : size - at;
        nodes[1] = 0;
        if (!n) nodes[0] = 0;
        else CHECK(!hd_profile_node(p, 0, nodes[0], (hd_str){ (const char *)data + at, n }, &nodes[0], NULL));
        if (n % 3 == 1) CHECK(!hd_profile_node(p, 1, 0, (hd_str){ (const char *)data + at, n }, &nodes[1], NULL));
        CHECK(!hd_profile_add(p, nodes, n, 1, NULL));
        at += n + 1;
    }
    return p;
}

static void settle(const hd_heap *heaps, int count, bool exact) {
    hd_profile *again[3], *flat;
    hd_str names[3];
    hd_buffer text = { 0 };
    CHECK(!speedscope_write(heaps, (size_t)count, NULL, hd_out_memory(&text), NULL));
    CHECK(speedscope_detect(text.data, text.size) == 100);
    CHECK(scope_read(text.data, text.size, again, names, 3) == count);
    for (int i = 0; i < count; i++) {
        flat = NULL;
        if (heaps[i].breakdown) CHECK(!hd_breakdown_axis_profile(heaps[i].breakdown, 0, NULL, &flat, NULL));
        hd_profile *expected = scope_expected(flat ? flat : heaps[i].profile);
        CHECK(hd_profile_bytes(expected) == hd_profile_bytes(again[i]));
        CHECK(!exact || scope_same(expected, again[i]));
        hd_profile_free(expected);
        hd_profile_free(again[i]);
        hd_profile_free(flat);
    }
    hd_buffer_free(&text);
}

static void fail_some(const hd_heap *heaps, size_t count, size_t step) {
    hd__faults f = { 0 };
    for (uint64_t i = 1; i < 400; i += step) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_buffer text = { 0 };
        hd_error err = { 0 };
        f.count = f.failed = 0;
        f.fail_at = i;
        hd_status status = speedscope_write(heaps, count, &options, hd_out_memory(&text), &err);
        CHECK(status == (f.failed ? HD_OUT_OF_MEMORY : HD_OK) && err.status == status && !f.misuse && !f.live);
        hd_buffer_free(&text);
        if (!f.failed) break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *label = calloc(1, size + 1);
    hd_profile *p = profile_of(data, size);
    hd_breakdown *b;
    int certainty = speedscope_detect(data, size);
    CHECK(label && (certainty == 0 || certainty == 100));
    if (size) memcpy(label, data, size);
    CHECK(!hd_export(p, &(hd_cutoff){ .top = 2 }, NULL, &b, NULL));
    hd_heap heaps[3] = { { .profile = p, .process = label, .pid = size }, { .breakdown = b, .allocator = label, .dump = label },
                         { .profile = p, .kind = HD_HEAP_PEAK } };
    settle(heaps, 3, is_unicode(data, size));
    settle(heaps, 0, true);
    fail_some(heaps, 3, 1 + size % 7);
    hd_breakdown_free(b);
    hd_profile_free(p);
    free(label);
    return 0;
}
