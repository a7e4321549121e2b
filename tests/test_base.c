/* >>text, >>memory, >>numbers, >>sets: statuses, strings, messages, memory, small maps, sorting, sums. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* hd__u128_product is inline. It is compiled here without the compiler's 128-bit integers, to compare its other
   branch with them and with the library's hd__hash_mix. */
#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 uint128;
#define HAVE_WIDE
#undef __SIZEOF_INT128__
#endif

#include "private.h"
#include "faults.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static hd__mem mem_of(hd__faults *f, uint64_t limit) { return hd__mem_make(hd__faults_allocator(f), limit); }

static hd_str str(const char *s, size_t n) { return (hd_str){ s, n }; }

static void *no_memory_at_all(void *user, void *block, size_t old_size, size_t size) {
    (void)user, (void)block, (void)old_size, (void)size;
    return NULL;
}

/* Statuses, strings, messages ------------------------------------------------------------------ */

static void status_texts_are_distinct(void **state) {
    (void)state;
    assert_string_equal(hd_status_text(HD_OK), "ok");
    assert_string_equal(hd_status_text(HD_OUT_OF_MEMORY), "out of memory");
    assert_string_equal(hd_status_text(HD_CANCELLED), "cancelled");
    for (int a = HD_OK; a <= HD_CANCELLED; a++)
        for (int b = HD_OK; b < a; b++)
            assert_string_not_equal(hd_status_text((hd_status)a), hd_status_text((hd_status)b));
    assert_string_equal(hd_status_text((hd_status)(HD_CANCELLED + 1)), "unknown status");
    assert_string_equal(hd_status_text((hd_status)-1), "unknown status");
}

static int sign(int x) { return (x > 0) - (x < 0); }

static int compare_slowly(hd_str a, hd_str b) {
    for (size_t i = 0; i < a.len && i < b.len; i++)
        if (a.data[i] != b.data[i]) return (unsigned char)a.data[i] < (unsigned char)b.data[i] ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

static void strings_compare_by_bytes(void **state) {
    char a[4], b[4];
    uint64_t seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        /* Few letters, so that equal prefixes occur; high bytes, to expose signed comparisons. */
        hd_str x = str(a, hd__test_below(&seed, 5)), y = str(b, hd__test_below(&seed, 5));
        for (int i = 0; i < 4; i++) {
            a[i] = "\0a\x7f\xff"[hd__test_below(&seed, 4)];
            b[i] = "\0a\x7f\xff"[hd__test_below(&seed, 4)];
        }
        assert_int_equal(sign(hd_str_compare(x, y)), compare_slowly(x, y));
        assert_int_equal(sign(hd_str_compare(y, x)), -compare_slowly(x, y));
        assert_int_equal(hd_str_equal(x, y), compare_slowly(x, y) == 0);
    }
}

static void no_string_is_the_empty_string(void **state) {
    hd_str none = { NULL, 0 };
    (void)state;
    assert_int_equal(hd_cstr(NULL).len, 0);
    assert_non_null(hd_cstr(NULL).data);
    assert_true(hd_str_equal(none, hd_cstr(NULL)));
    assert_int_equal(hd_str_compare(none, hd_cstr("")), 0);
    assert_true(hd_str_compare(none, hd_cstr("a")) < 0);
    assert_int_equal(hd_cstr("abc").len, 3);
}

static void messages_are_formatted(void **state) {
    hd_error err;
    (void)state;
    assert_int_equal(hd__fail_at(&err, HD_MALFORMED, 7, 3, "%s|%S|%u|%x|%c|100", "text", str("ab\0c", 2),
                                 UINT64_MAX, UINT64_MAX, 'z'), HD_MALFORMED);
    assert_string_equal(err.message, "text|ab|18446744073709551615|ffffffffffffffff|z|100");
    assert_int_equal(err.status, HD_MALFORMED);
    assert_int_equal(err.offset, 7);
    assert_int_equal(err.line, 3);
    hd__fail(&err, HD_IO, "%u%x%s%S.", (uint64_t)0, (uint64_t)0xa0, NULL, str(NULL, 0));
    assert_string_equal(err.message, "0a0.");
    assert_true(err.offset == HD_UNKNOWN);
    assert_int_equal(err.line, 0);
}

static void messages_show_no_unprintable_bytes(void **state) {
    hd_error err;
    (void)state;
    hd__fail(&err, HD_IO, "%s%S%c%c", "a\nb\x1b[31m\x7f", str("\0~ \xc3\xa9", 5), '\r', 0x80);
    assert_string_equal(err.message, "a?b?[31m??~ \xc3\xa9??");
}

static void a_text_is_shown_without_orders_to_the_terminal(void **state) {
    static const struct { const char *text, *shown; } cases[] = {
        { "", "" }, { "plain ~", "plain ~" }, { "\x1b[31mred\x7f\n\t\r", "?[31mred????" },
        { "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0" },       /* C1 */
        { "\x9b\xff\xc3", "???" }, { "\xc0\x9b\xe2\x82", "????" },     /* not UTF-8 */
        { "\xd8\x9b\xd8\x9c\xd8\x9d", "\xd8\x9b?\xd8\x9d" },         /* directions */
        { "\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\xe2\x80\x8d??\xe2\x80\x90" },
        { "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", "\xe2\x80\xa7????\xe2\x80\xaf" },
        { "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5??\xe2\x81\xaa" },
        { "\xed\x9f\xbf\xed\xa0\x80\xee\x80\x80\xf0\x9f\x8e\x89", "\xed\x9f\xbf?\xee\x80\x80\xf0\x9f\x8e\x89" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[64];
        size_t n = 0;
        hd_str text = hd_cstr(cases[i].text), piece;
        while ((piece = hd_visible(&text)).len) {
            memcpy(shown + n, piece.data, piece.len);
            n += piece.len;
        }
        assert_int_equal(text.len, 0);
        assert_int_equal(n, strlen(cases[i].shown));
        assert_memory_equal(shown, cases[i].shown, n);
    }
    hd_str nothing = str(NULL, 0);
    assert_int_equal(hd_visible(&nothing).len, 0);
}

static void messages_are_cut_to_fit(void **state) {
    struct { hd_error err; char guard; } e;
    char text[1000];
    (void)state;
    memset(text, 'x', sizeof text);
    memset(&e, '!', sizeof e);
    hd__fail(&e.err, HD_IO, "%S and more %u", str(text, sizeof text), (uint64_t)1);
    assert_int_equal(strlen(e.err.message), sizeof e.err.message - 1);
    assert_memory_equal(e.err.message, text, sizeof e.err.message - 1);
    assert_int_equal(e.guard, '!');
    for (size_t i = 0; i < sizeof text; i++) text[i] = "\xe2\x82\xac"[i % 3]; /* between characters */
    for (size_t at = 0; at < 3; at++) {
        hd__fail(&e.err, HD_IO, "%S%S%u", str("xx", at), str(text, sizeof text), (uint64_t)1);
        size_t n = strlen(e.err.message);
        assert_true(n >= sizeof e.err.message - 3 && (n - at) % 3 == 0);
        assert_memory_equal(e.err.message + at, text, n - at);
    }
    memset(text, 'x', sizeof text);
    hd__fail(&e.err, HD_IO, "%S", str(text, sizeof e.err.message - 1));
    assert_int_equal(strlen(e.err.message), sizeof e.err.message - 1);
}

static void no_error_struct_is_needed(void **state) {
    (void)state;
    assert_int_equal(hd__fail(NULL, HD_LIMIT, "%s", "unseen"), HD_LIMIT);
}

/* Memory --------------------------------------------------------------------------------------- */

static void a_limit_and_a_refusal_are_told_apart(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 100);
    hd_error err;
    (void)state;
    char *p = (char *)hd__mem_realloc(&m, NULL, 0, 60);
    assert_non_null(p);
    assert_null(hd__mem_realloc(&m, NULL, 0, 41));
    assert_int_equal(f.count, 1); /* the allocator was not called */
    assert_int_equal(hd__mem_fail(&m, &err), HD_LIMIT);
    assert_int_equal(err.status, HD_LIMIT);
    assert_string_equal(err.message, "more memory needed than max_memory of 100 bytes");
    assert_null(hd__mem_realloc(&m, p, 60, 101));
    p = (char *)hd__mem_realloc(&m, p, 60, 100); /* up to the last byte */
    assert_non_null(p);
    p = (char *)hd__mem_realloc(&m, p, 100, 10);
    f.fail_at = f.count + 1;
    assert_null(hd__mem_realloc(&m, p, 10, 20));
    assert_int_equal(hd__mem_fail(&m, &err), HD_OUT_OF_MEMORY);
    assert_int_equal(err.status, HD_OUT_OF_MEMORY);
    assert_int_equal(m.used, 10);
    assert_int_equal(f.live, 10);
    hd__mem_free(&m, p, 10);
    hd__mem_free(&m, NULL, 0);
    assert_int_equal(m.used, 0);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static void the_default_allocator_is_realloc(void **state) {
    hd_options options = { 0 };
    hd__mem m = hd__mem_options(NULL);
    (void)state;
    char *p = (char *)hd__mem_realloc(&m, NULL, 0, 3);
    memcpy(p, "abc", 3);
    p = (char *)hd__mem_realloc(&m, p, 3, 100000);
    assert_memory_equal(p, "abc", 3);
    assert_int_equal(m.used, 100000);
    hd__mem_free(&m, p, 100000);
    options.limits.max_memory = 5;
    m = hd__mem_options(&options);
    assert_null(hd__mem_realloc(&m, NULL, 0, 6));
}

static bool is_mapped(void *p) { return msync(p, 1, MS_ASYNC) == 0 || errno != ENOMEM; }

static void pages_grow_shrink_and_go(void **state) {
    hd_allocator a = hd_page_allocator();
    (void)state;
    unsigned char *p = (unsigned char *)a.allocate(a.user, NULL, 0, 1);
    assert_int_equal((uintptr_t)p % 4096, 0);
    for (int i = 0; i < 4096; i++) assert_int_equal(p[i], 0);
    memset(p, 0x5a, 4096);
    assert_ptr_equal(a.allocate(a.user, p, 1, 4096), p); /* the last page had room */
    unsigned char *q = (unsigned char *)a.allocate(a.user, p, 4096, 10000);
    assert_non_null(q);
    for (int i = 0; i < 10000; i++) assert_int_equal(q[i], i < 4096 ? 0x5a : 0);
    assert_null(a.allocate(a.user, q, 10000, SIZE_MAX));
    assert_null(a.allocate(a.user, q, 10000, SIZE_MAX / 2));
    assert_int_equal(q[4095], 0x5a); /* a refusal changes nothing */
    q[0] = 1;
    q = (unsigned char *)a.allocate(a.user, q, 10000, 5);
    assert_memory_equal(q, "\1\x5a\x5a\x5a\x5a", 5);
    assert_true(is_mapped(q));
    assert_null(a.allocate(a.user, q, 5, 0));
    assert_false(is_mapped(q));
    assert_null(a.allocate(a.user, NULL, 0, 0));
}

/* Blocks from libc, from the OS, and moved from one to the other: sizes around the limit between them. */
static void blocks_of_any_size_keep_their_bytes(void **state) {
    static const uint32_t sizes[] = { 1000, 4194303, 4194304, 4194305, 6291456, 6291457, 50000000, 9000000, 8388608, 4194304, 20000000,
                                      4194303, 4194304, 10, 30000000, 70000000, 5000000 };
    hd_allocator a = hd__mem_options(NULL).allocator;
    unsigned char *p = NULL, *other = NULL;
    (void)state;
    for (size_t i = 0, old = 0; i < COUNT(sizes); old = sizes[i++]) {
        other = (unsigned char *)a.allocate(a.user, other, old / 2, sizes[i] / 2); /* blocks the growth in place */
        p = (unsigned char *)a.allocate(a.user, p, old, sizes[i]);
        assert_non_null(p);
        assert_non_null(other);
        for (size_t k = 0; k < old && k < sizes[i]; k += 997) assert_int_equal(p[k], k % 251);
        for (size_t k = 0; k < sizes[i]; k += 997) p[k] = (unsigned char)(k % 251);
        memset(other, 0, sizes[i] / 2);
    }
    /* sanitizers abort on this size */
    if (!HD__LARGE_SANITIZED) assert_null(a.allocate(a.user, p, 5000000, SIZE_MAX / 2 - 4096));
    for (size_t k = 0; k < 5000000; k += 997) assert_int_equal(p[k], k % 251); /* a refusal changes nothing */
    assert_null(a.allocate(a.user, p, 5000000, 0));
    assert_null(a.allocate(a.user, other, 2500000, 0));
}

/* Arrays and small pieces ------------------------------------------------------------------------ */

static void arrays_hold_what_was_pushed(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    uint64_t *a = NULL;
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        assert_true(hd__arr_push(&m, a, i * i));
        assert_true(stbds_arrcap(a) >= hd__arr_len(a));
    }
    assert_int_equal(hd__arr_len(a), 100000);
    for (uint64_t i = 0; i < 100000; i++) assert_true(a[i] == i * i);
    assert_true(f.count < 20); /* doubling */
    assert_true(hd__arr_room(&m, a, 0));
    assert_true(hd__arr_room(&m, a, 300000));
    assert_true(stbds_arrcap(a) >= 400000);
    assert_int_equal(hd__arr_len(a), 100000);
    assert_true(a[99999] == 99999u * (uint64_t)99999);
    hd__arr_free(&m, a);
    assert_null(a);
    hd__arr_free(&m, a);
    assert_int_equal(f.live, 0);
    assert_int_equal(m.used, 0);
    assert_null(f.misuse);
}

static void an_array_that_cannot_grow_stays(void **state) {
    hd__faults f = { 0 };
    (void)state;
    HD__EACH_FAULT(f) {
        hd__mem m = mem_of(&f, 0);
        uint32_t *a = NULL, n = 0;
        while (n < 1000 && hd__arr_push(&m, a, n)) n++;
        if (f.failed) assert_true(n < 1000);
        assert_int_equal(hd__arr_len(a), n);
        for (uint32_t i = 0; i < n; i++) assert_int_equal(a[i], i);
        assert_true(hd__arr_push(&m, a, n)); /* another attempt allocates again */
        assert_int_equal(a[n], n);
        hd__arr_free(&m, a);
        assert_int_equal(m.used, 0);
    }
    assert_true(f.fail_at > 5);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static void absurd_sizes_are_refused_unasked(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    struct { char bytes[24]; } *a = NULL;
    (void)state;
    assert_false(hd__arr_room(&m, a, SIZE_MAX));
    assert_false(hd__arr_room(&m, a, SIZE_MAX / 24));
    assert_false(hd__arr_room(&m, a, SIZE_MAX / 24 + 2)); /* the size would wrap round to 8 bytes */
    assert_null(a);
    assert_true(hd__arr_room(&m, a, 1));
    hd__arr_resize(a, 1);
    assert_false(hd__arr_room(&m, a, SIZE_MAX));
    assert_false(hd__arr_room(&m, a, SIZE_MAX - 1));
    assert_null(hd__mem_calloc(&m, SIZE_MAX / 8 + 2, 8));
    assert_null(hd__mem_take(&m, SIZE_MAX / 8 + 2, 8));
    assert_null(hd__mem_take(&m, SIZE_MAX, 1));
    assert_int_equal(f.count, 1);
    hd__arr_free(&m, a);
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
}

static void pieces_are_aligned_and_apart(void **state) {
    enum { N = 3000 };
    static unsigned char *block[N];
    static size_t size[N];
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    uint64_t seed = 2;
    (void)state;
    for (int i = 0; i < N; i++) {
        size_t element = (size_t[]){ 1, 4, 8, 24 }[hd__test_below(&seed, 4)];
        size_t n = hd__test_below(&seed, hd__test_below(&seed, 100) ? 20 : 20000);
        size[i] = n * element;
        block[i] = (unsigned char *)hd__mem_take(&m, n, element);
        assert_non_null(block[i]);
        assert_int_equal((uintptr_t)block[i] % 8, 0);
        memset(block[i], i & 255, size[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++)
            if (block[i][k] != (i & 255)) fail_msg("block %d was overwritten", i);
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
    assert_int_equal(m.used, 0);
    assert_null(f.misuse);
    assert_null(m.blocks);
    hd__mem_end(&m);
}

static void a_big_piece_leaves_the_chunk_in_use(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    (void)state;
    char *first = (char *)hd__mem_take(&m, 1, 16);
    char *big = (char *)hd__mem_take(&m, 1 << 20, 1);
    char *second = (char *)hd__mem_take(&m, 1, 16);
    assert_non_null(big);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(f.count, 2);
    /* Many small blocks share few chunks. */
    for (int i = 0; i < 65536; i++) assert_non_null(hd__mem_take(&m, 1, 16));
    assert_true(f.count < 40);
    assert_true(f.live < (1 << 20) + (5 << 18));
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
}

/* NULL means that memory ran out, so a block of 0 bytes needs an address too. */
static void a_piece_of_nothing_has_an_address(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    (void)state;
    assert_non_null(hd__mem_take(&m, 0, 8));
    assert_non_null(hd__mem_take(&m, 0, 8));
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
}

static void copied_strings_end_with_nul(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    (void)state;
    for (int i = 0; i < 100; i++) { /* in fresh and in used memory */
        assert_string_equal(hd__mem_str(&m, str(NULL, 0)), "");
        assert_string_equal(hd__mem_str(&m, str("abcd", 2)), "ab");
    }
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
}

static void pieces_have_their_owners_limit(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 5000);
    int n = 0;
    (void)state;
    while (n < 1000 && hd__mem_take(&m, 100, 1)) n++;
    assert_in_range(n, 10, 50);
    assert_int_equal(hd__mem_fail(&m, NULL), HD_LIMIT);
    assert_true(f.peak <= 5000);
    hd__mem_end(&m);
    m = hd__mem_make((hd_allocator){ no_memory_at_all, NULL }, 5000);
    assert_null(hd__mem_take(&m, 1, 1));
    assert_null(hd__mem_str(&m, hd_cstr("x")));
    assert_int_equal(hd__mem_fail(&m, NULL), HD_OUT_OF_MEMORY);
    assert_int_equal(m.used, 0);
}

static void a_part_counts_in_its_object_and_ends_before_it(void **state) {
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 5000), part = hd__mem_part(&m);
    uint32_t *kept = NULL, *gone = NULL;
    (void)state;
    assert_true(hd__arr_push(&m, kept, 7u));
    uint64_t used = m.used;
    assert_true(hd__arr_room(&part, gone, 1000));
    assert_non_null(hd__mem_take(&part, 1, 16));
    assert_int_equal(m.used, used + part.used);
    assert_int_equal(f.live, m.used);
    assert_null(hd__mem_calloc(&part, 1000, 1)); /* the limit of the object */
    assert_int_equal(hd__mem_fail(&m, NULL), HD_LIMIT);
    hd__mem_end(&part);
    assert_int_equal(part.used, 0);
    assert_int_equal(m.used, used);
    assert_int_equal(kept[0], 7);
    assert_non_null(hd__mem_take(&part, 1, 16)); /* it can be used again */
    hd__mem_end(&part);
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

/* Blocks that are freed or grow in any order stay in the list of their object. */
static void an_object_frees_all_blocks_that_are_left(void **state) {
    enum { N = 50 };
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    unsigned char *block[N] = { 0 };
    uint64_t seed = 9;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        unsigned char **b = &block[hd__test_below(&seed, N)];
        size_t size = hd__test_below(&seed, 3) ? 1 + hd__test_below(&seed, 500) : 0;
        if (size) *b = (unsigned char *)hd__mem_resize(&m, *b, size), memset(*b, 0x5a, size);
        else hd__mem_drop(&m, *b), *b = NULL;
    }
    size_t left = 0, listed = 0;
    for (int i = 0; i < N; i++) left += block[i] != NULL;
    for (hd__mem_block *b = m.blocks; b; b = b->next) listed++;
    assert_in_range(left, 20, N);
    assert_int_equal(listed, left);
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
    assert_int_equal(m.used, 0);
    assert_null(f.misuse);
}

/* Hashes, maps, sorting ------------------------------------------------------------------------ */

static uint64_t narrow_mix(uint64_t a, uint64_t b) {
    hd_u128 product = hd__u128_product(a, b);
    return product.lo ^ product.hi;
}

static void mixing_needs_no_wide_integers(void **state) {
    static const uint64_t known[][3] = { /* a, b, low half of a * b XOR its high half */
        { 0, 0, 0 }, { 1, 1, 1 }, { UINT64_MAX, 1, UINT64_MAX },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX },                           /* 1 ^ fffffffffffffffe */
        { UINT64_C(1) << 63, 2, 1 }, { UINT64_C(1) << 32, UINT64_C(1) << 32, 1 },
        { 0xffffffff, 0xffffffff, UINT64_C(0xfffffffe00000001) },
        { UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210),
          UINT64_C(0x121fa00ad77d7422) ^ UINT64_C(0x236d88fe5618cf00) },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_true(hd__hash_mix(known[i][0], known[i][1]) == known[i][2]);
        assert_true(hd__hash_mix(known[i][1], known[i][0]) == known[i][2]);
        assert_true(narrow_mix(known[i][0], known[i][1]) == known[i][2]);
        assert_true(narrow_mix(known[i][1], known[i][0]) == known[i][2]);
    }
#ifdef HAVE_WIDE
    uint64_t seed = 3;
    for (int i = 0; i < 200000; i++) {
        uint64_t a = hd__test_random(&seed) >> hd__test_below(&seed, 64), b = hd__test_random(&seed);
        if (i % 3 == 0) b |= 0xffffffff00000000u; /* carries */
        if (i % 5 == 0) a |= 0xffffffffu;
        uint128 product = (uint128)a * b;
        assert_true(hd__hash_mix(a, b) == ((uint64_t)product ^ (uint64_t)(product >> 64)));
        assert_true(narrow_mix(a, b) == hd__hash_mix(a, b));
    }
#endif
}

static void lengths_and_zeros_are_hashed(void **state) {
    static const char zeros[40];
    uint64_t hash[40];
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        hash[n] = hd__hash_bytes(5, zeros, n);
        assert_true(hash[n] == hd__hash_bytes(5, zeros, n));
        assert_true(hash[n] != hd__hash_bytes(6, zeros, n));
        for (size_t k = 0; k < n; k++) assert_true(hash[n] != hash[k]);
    }
    assert_true(hd__hash_seed() != hd__hash_seed());
}

/* If one word made the hash ignore other words with any seed, a file could make all names collide. */
static void no_word_makes_strings_collide(void **state) {
    static const uint64_t word[] = { /* the constants of the hash, which are public */
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1b54a32d192ed03), UINT64_C(0xa0761d6478bd642f), 0,
        UINT64_MAX };
    (void)state;
    /* the word at each place, the varying word next to it or before it */
    for (size_t c = 0; c < 8 * COUNT(word); c++) {
        size_t w = c / 8, at = c % 4, other = c & 4 ? at ^ 1 : (at + 3) % 4;
        uint64_t hash[64];
        for (uint64_t i = 0; i < COUNT(hash); i++) {
            uint64_t text[5] = { 7, 8, 9, 10, 42 };
            text[at] = word[w];
            text[other] = i + 1;
            hash[i] = hd__hash_bytes(12345, text, sizeof text);
            for (uint64_t k = 0; k < i; k++)
                if (hash[k] == hash[i]) fail_msg("strings with the word %zu at %zu all have one hash", w, at);
        }
    }
}

static void distinct_strings_are_numbered(void **state) {
    enum { N = 20000 };
    static char text[N][5];
    static uint32_t first[N];
    static uint8_t length[N];
    hd__faults f = { 0 };
    hd__mem m = mem_of(&f, 0);
    hd__strings s = { 0 };
    uint32_t distinct = 0;
    uint64_t seed = 4;
    (void)state;
    s.seed = 99;
    /* first[] by brute force over the earlier strings. There are 364 strings of up to 5 of 3 letters. */
    static uint32_t known[364 * 2];
    memset(known, 0xff, sizeof known);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t code = 0, base = 0, power = 1;
        length[i] = (uint8_t)hd__test_below(&seed, 6);
        for (int k = 0; k < length[i]; k++, power *= 3) {
            uint32_t letter = (uint32_t)hd__test_below(&seed, 3);
            text[i][k] = "a\0\xff"[letter];
            code = code * 3 + letter;
            base += power;
        }
        if (known[base + code] == HD_NONE) known[base + code] = distinct++;
        first[i] = known[base + code];
        assert_int_equal(hd__strings_add(&m, &s, str(text[i], length[i])), first[i]);
    }
    assert_int_equal(hd__arr_len(s.strings), distinct);
    for (uint32_t i = 0; i < N; i++)
        assert_true(hd_str_equal(s.strings[first[i]], str(text[i], length[i])));
    assert_true(f.live < 100000); /* memory for the copies of distinct strings, not for 20,000 strings */
    hd__strings_free(&m, &s);
    hd__mem_end(&m);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static void a_string_that_does_not_fit_is_not_numbered(void **state) {
    hd__faults f = { 0 };
    (void)state;
    HD__EACH_FAULT(f) {
        hd__mem m = mem_of(&f, 0);
        hd__strings s = { 0 };
        int refused = 0;
        for (uint32_t i = 0; i < 200; i++) {
            hd_str name = str((char *)&i, 4);
            uint32_t n = hd__strings_add(&m, &s, name);
            if (n == HD_NONE) {
                refused++;
                assert_int_equal(hd__arr_len(s.strings), i);
                assert_int_equal(s.index.count, i);
                n = hd__strings_add(&m, &s, name);
            }
            assert_int_equal(n, i);
        }
        assert_int_equal(refused, f.failed);
        hd__strings_free(&m, &s);
        hd__mem_end(&m);
        assert_int_equal(m.used, 0);
    }
    assert_true(f.fail_at > 10);
    assert_int_equal(f.live, 0);
    assert_null(f.misuse);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void strings_of_one_hash_stay_apart(void **state) {
    enum { BITS = 20, N = 1 << BITS };
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    static uint64_t text[N], found[N];
    uint64_t seed = 8;
    int pairs = 0;
    (void)state;
    /* A few pairs among a million strings have equal bits in all parts of the hash that a table of 16 slots uses. */
    for (uint32_t i = 0; i < N; i++) {
        text[i] = hd__test_random(&seed);
        uint64_t hash = hd__hash_bytes(7, &text[i], 8);
        found[i] = (hash >> 32 << 4 | (hash & 15)) << BITS | i;
    }
    qsort(found, N, sizeof *found, by_value);
    for (uint32_t i = 1; i < N; i++) {
        hd_str a = str((char *)&text[found[i - 1] % N], 8), b = str((char *)&text[found[i] % N], 8);
        hd__strings s = { 0 };
        if (found[i - 1] >> BITS != found[i] >> BITS) continue;
        pairs++;
        s.seed = 7;
        assert_int_equal(hd__strings_add(&m, &s, a), 0);
        assert_int_equal(hd__strings_add(&m, &s, b), 1);
        assert_int_equal(hd__strings_add(&m, &s, a), 0);
        hd__strings_free(&m, &s);
        hd__mem_end(&m);
    }
    assert_true(pairs > 0);
}

static void a_set_finds_all_of_one_hash(void **state) {
    enum { N = 500 };
    static uint64_t hash[N];
    hd__mem m = hd__mem_make((hd_allocator){ 0 }, 0);
    hd__set index = { 0 };
    uint64_t seed = 5;
    size_t probe = 0;
    (void)state;
    assert_int_equal(hd__set_next(&index, 7, &probe), HD_NONE);
    for (uint32_t i = 0; i < N; i++) {
        hash[i] = hd__test_below(&seed, 8) << 32 | hd__test_below(&seed, 4);
        if (hd__test_below(&seed, 4) == 0) hash[i] = ~hash[i];
        assert_true(hd__set_add(&m, &index, hash[i], i));
        assert_true(index.count < index.capacity);
    }
    for (uint32_t i = 0; i < N; i++) {
        bool found[N] = { false };
        uint32_t n;
        for (probe = 0; (n = hd__set_next(&index, hash[i], &probe)) != HD_NONE;) {
            assert_in_range(n, 0, N - 1);
            assert_false(found[n]);
            found[n] = true;
        }
        for (uint32_t k = 0; k < N; k++)
            if (hash[k] == hash[i]) assert_true(found[k]);
    }
    hd__set_free(&m, &index);
    assert_int_equal(m.used, 0);
}

static const uint32_t *sort_keys;
static bool key_before(const void *owner, uint32_t a, uint32_t b) {
    return ((const uint32_t *)owner)[a] < ((const uint32_t *)owner)[b];
}
/* The position breaks ties, as in a stable sort. */
static int by_key_and_position(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (sort_keys[x] != sort_keys[y]) return sort_keys[x] < sort_keys[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void sorting_is_stable(void **state) {
    enum { N = 1100 };
    static uint32_t key[N], mine[N + 1], theirs[N], spare[N + 1];
    uint64_t seed = 6;
    (void)state;
    for (uint32_t n = 0; n <= N; n = n < 70 ? n + 1 : n + 103) {
        for (int kind = 0; kind < 4; kind++) {
            for (uint32_t i = 0; i < n; i++) {
                key[i] = kind == 0 ? i : kind == 1 ? n - i : (uint32_t)hd__test_below(&seed, kind == 2 ? 5 : n);
                mine[i] = theirs[i] = i;
            }
            mine[n] = spare[n] = 0xabcdef;
            sort_keys = key;
            qsort(theirs, n, sizeof *theirs, by_key_and_position);
            hd__sort(mine, spare, n, key_before, key);
            assert_memory_equal(mine, theirs, n * sizeof *mine);
            assert_int_equal(mine[n], 0xabcdef);
            assert_int_equal(spare[n], 0xabcdef);
        }
    }
}

static void sums_stop_short_of_unknown(void **state) {
    uint64_t sum = 5;
    (void)state;
    assert_true(hd__sum(&sum, 6));
    assert_int_equal(sum, 11);
    assert_true(hd__sum(&sum, UINT64_MAX - 12));
    assert_true(sum == UINT64_MAX - 1);
    assert_true(hd__sum(&sum, 0));
    assert_false(hd__sum(&sum, 1));
    assert_true(sum == UINT64_MAX - 1);
    sum = 1;
    assert_false(hd__sum(&sum, UINT64_MAX));
    assert_true(sum == UINT64_MAX - 1);
    hd__sum_known(&sum, 7);
    assert_true(sum == UINT64_MAX - 1);
    hd__sum_known(&sum, HD_UNKNOWN);
    assert_true(sum == HD_UNKNOWN);
    hd__sum_known(&sum, 7);
    assert_true(sum == HD_UNKNOWN);
    sum = 2;
    hd__sum_known(&sum, 3);
    assert_int_equal(sum, 5);
}

/* Names of frames ------------------------------------------------------------------------------- */

static bool is_text(hd_str got, const char *expected) { return hd_str_equal(got, hd_cstr(expected)); }

/* Joins the parts again. */
static void put_frame(char *to, size_t size, hd_frame_parts f) {
    int n = snprintf(to, size, "%.*s", (int)f.function.len, f.function.data);
    if (f.file.len || f.line)
        n += snprintf(to + n, size - (size_t)n, " (%.*s:%llu)", (int)f.file.len, f.file.data, (unsigned long long)f.line);
    if (f.object.len) snprintf(to + n, size - (size_t)n, " [%.*s]", (int)f.object.len, f.object.data);
}

static void names_of_frames_have_parts(void **state) {
    static const struct { const char *name, *function, *file; unsigned line; const char *object; } cases[] = {
        { "", "", "", 0, "" },
        { "f", "f", "", 0, "" },
        { "f (a.c:3)", "f", "a.c", 3, "" },
        { "f [libfoo.so]", "f", "", 0, "libfoo.so" },
        { "f (src/a.c:12) [libfoo.so]", "f", "src/a.c", 12, "libfoo.so" },
        { "f(int) (a.c:3)", "f(int)", "a.c", 3, "" },
        { "f(int) (a.c:3) [app]", "f(int)", "a.c", 3, "app" },
        { "operator()(int)", "operator()(int)", "", 0, "" },
        { "main::{lambda()#1}::operator()() const (/x/l.cc:9) [l]", "main::{lambda()#1}::operator()() const", "/x/l.cc", 9, "l" },
        { "operator() (a.cc:1)", "operator()", "a.cc", 1, "" },
        { "operator[](int) [app]", "operator[](int)", "", 0, "app" },
        { "operator new[](unsigned long)", "operator new[](unsigned long)", "", 0, "" },
        { "operator new[]", "operator new[]", "", 0, "" },
        { "(anonymous namespace)::f()", "(anonymous namespace)::f()", "", 0, "" },
        { "(anonymous namespace)::f() (a.cc:5) [b.so.1]", "(anonymous namespace)::f()", "a.cc", 5, "b.so.1" },
        { "f((anonymous namespace)::T) (a.cc:5)", "f((anonymous namespace)::T)", "a.cc", 5, "" },
        { "std::vector<int> [x]", "std::vector<int>", "", 0, "x" },
        { "[stack]", "[stack]", "", 0, "" },
        { " [stack]", " [stack]", "", 0, "" },
        { "[unknown] [libc.so.6]", "[unknown]", "", 0, "libc.so.6" },
        { "f [clone .cold]", "f [clone .cold]", "", 0, "" },
        { "f [clone .cold] [app]", "f [clone .cold]", "", 0, "app" },
        { "f [clone .cold] (a.c:3) [app]", "f [clone .cold]", "a.c", 3, "app" },
        { "name[abi:cxx11]", "name[abi:cxx11]", "", 0, "" },
        { "name [abi:cxx11]", "name [abi:cxx11]", "", 0, "" },
        { "name[abi:cxx11](int) (a.cc:4) [app]", "name[abi:cxx11](int)", "a.cc", 4, "app" },
        { "get [Symbol.species]", "get [Symbol.species]", "", 0, "" },
        { "libfoo.so+0x12", "libfoo.so+0x12", "", 0, "" },
        { "libfoo.so+0x12 [00ab34]", "libfoo.so+0x12 [00ab34]", "", 0, "" },
        { "malloc+0x12 [libc.so.6]", "malloc+0x12", "", 0, "libc.so.6" },
        { "main [0x401234]", "main [0x401234]", "", 0, "" },
        { "f []", "f []", "", 0, "" },
        { "f[x]", "f[x]", "", 0, "" },
        { "f [a[b]", "f [a[b]", "", 0, "" },
        { "f [x] (a.c:3)", "f [x]", "a.c", 3, "" },
        { "f [my app]", "f", "", 0, "my app" },
        { "f (/home/me/prog (copy)/a.c:12) [app]", "f", "/home/me/prog (copy)/a.c", 12, "app" },
        { "f (/x/y)/a.c:12)", "f", "/x/y)/a.c", 12, "" },
        { "f (/x/y(/a.c:12)", "f", "/x/y(/a.c", 12, "" },
        { "f (C:\\a b\\x.c:12)", "f", "C:\\a b\\x.c", 12, "" },
        { "f(int) (C:/src/a.cc:12) [a.exe]", "f(int)", "C:/src/a.cc", 12, "a.exe" },
        { "f (C:a.cc:12)", "f", "C:a.cc", 12, "" },
        { "f (a.c:0)", "f", "a.c", 0, "" },
        { "f (:12)", "f", "", 12, "" },
        { "f (:0)", "f (:0)", "", 0, "" },
        { "f (a.c:01)", "f (a.c:01)", "", 0, "" },
        { "f (a.c:)", "f (a.c:)", "", 0, "" },
        { "f (12)", "f (12)", "", 0, "" },
        { "f (not a place)", "f (not a place)", "", 0, "" },
        { "f (a.c:1234567890123456789)", "f (a.c:1234567890123456789)", "", 0, "" },
        { "f (a.c:123456789012345678)", "f", "a.c", 0, "" },
        { "f(a.c:3)", "f(a.c:3)", "", 0, "" },
        { "(a.c:3)", "(a.c:3)", "", 0, "" },
        { " (a.c:3)", " (a.c:3)", "", 0, "" },
        { "::3)", "::3)", "", 0, "" },
        { "<fn() as core::ops::function::FnOnce<()>>::call_once (/rustc/ab/library/core/src/ops/function.rs:250) [app]",
          "<fn() as core::ops::function::FnOnce<()>>::call_once", "/rustc/ab/library/core/src/ops/function.rs", 250, "app" }
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        hd_frame_parts f = hd_frame_parse(hd_cstr(cases[i].name));
        unsigned line = f.line == 123456789012345678u ? 0 : (unsigned)f.line;
        if (!is_text(f.function, cases[i].function) || !is_text(f.file, cases[i].file) ||
            line != cases[i].line || !is_text(f.object, cases[i].object))
            fail_msg("\"%s\": \"%.*s\", \"%.*s\", %u, \"%.*s\"", cases[i].name, (int)f.function.len, f.function.data,
                     (int)f.file.len, f.file.data, line, (int)f.object.len, f.object.data);
    }
}

/* Parses any text. The parser reads no byte outside of it, and its parts joined are the text again. Object and place
   are only at the end. */
static void parts_of_any_name_are_the_name(void **state) {
    static const char *const pieces[] = {
        "f", " ", "(", ")", "[", "]", ":", "a.c", "1", "0", "12", "+0x", " (", " [", ":7)", "(anonymous namespace)", "clone .x",
        "operator()", "<T>", "/", "abi:cxx11", "::", " (a.c:7)", " [app]"
    };
    uint64_t seed = 17;
    size_t with_object = 0, with_file = 0;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        char made[400] = "", again[400], *text;
        size_t n;
        hd_frame_parts f, g;
        for (uint64_t k = hd__test_below(&seed, 12); k; k--) strcat(made, pieces[hd__test_below(&seed, COUNT(pieces))]);
        n = strlen(made);
        text = test_malloc(n + 1); /* cmocka's guard bytes follow it */
        memcpy(text, made, n);
        f = hd_frame_parse((hd_str){ text, n });
        put_frame(again, sizeof again, f);
        if (strcmp(again, made)) fail_msg("\"%s\" became \"%s\"", made, again);
        with_object += f.object.len != 0;
        with_file += f.file.len != 0;
        if (f.object.len || f.file.len || f.line) assert_true(f.function.len);
        for (size_t i = 0; i < f.object.len; i++) assert_true(f.object.data[i] != '[' && f.object.data[i] != ']');
        test_free(text);
        /* Appends parts to a name that is only a function: parsing returns these parts. */
        if (!n || f.object.len || f.file.len || f.line || made[n - 1] == ']') continue;
        strcat(made, " (d (1)/e.c:35) [lib f.so]");
        g = hd_frame_parse(hd_cstr(made));
        assert_int_equal(g.function.len, n);
        assert_true(is_text(g.file, "d (1)/e.c") && g.line == 35 && is_text(g.object, "lib f.so"));
    }
    assert_true(with_object > 1000 && with_file > 1000);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(status_texts_are_distinct), T(strings_compare_by_bytes), T(no_string_is_the_empty_string),
        T(messages_are_formatted), T(messages_show_no_unprintable_bytes),
        T(a_text_is_shown_without_orders_to_the_terminal),
        T(messages_are_cut_to_fit), T(no_error_struct_is_needed),
        T(names_of_frames_have_parts), T(parts_of_any_name_are_the_name),
        T(a_limit_and_a_refusal_are_told_apart), T(the_default_allocator_is_realloc),
        T(blocks_of_any_size_keep_their_bytes),
        T(pages_grow_shrink_and_go),
        T(arrays_hold_what_was_pushed), T(an_array_that_cannot_grow_stays),
        T(absurd_sizes_are_refused_unasked), T(pieces_are_aligned_and_apart),
        T(a_big_piece_leaves_the_chunk_in_use), T(a_piece_of_nothing_has_an_address),
        T(copied_strings_end_with_nul), T(pieces_have_their_owners_limit),
        T(a_part_counts_in_its_object_and_ends_before_it), T(an_object_frees_all_blocks_that_are_left),
        T(mixing_needs_no_wide_integers), T(lengths_and_zeros_are_hashed),
        T(no_word_makes_strings_collide), T(distinct_strings_are_numbered),
        T(a_string_that_does_not_fit_is_not_numbered), T(strings_of_one_hash_stay_apart),
        T(a_set_finds_all_of_one_hash), T(sorting_is_stable), T(sums_stop_short_of_unknown),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
