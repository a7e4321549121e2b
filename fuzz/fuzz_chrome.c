/* Traces, read strictly and leniently, from memory and in pieces; then printed, written, and read again. Values are
   skipped block by block and token by token. */
#include "../tests/private.h"
#include "pieces.h"

static hd_status count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

/* Whether two heaps have the same labels, or one dump occurs twice. Ids and names end at a NUL. */
static bool labels_collide(const hd_heap *h, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (h[i].pid == h[k].pid && !strcmp(dump_of(&h[i]), dump_of(&h[k])) &&
                (h[i].time_us != h[k].time_us || !strcmp(h[i].allocator, h[k].allocator)))
                return true;
    return false;
}

static void print_and_rewrite(const hd_heap *heaps, size_t n, bool ascii) {
    hd_buffer bytes = { 0 };
    hd_dump *again = NULL;
    uint64_t printed = 0;
    for (size_t i = 0; i < n; i++) {
        hd_tree_options options = { .cutoff.top = 16, .first_axis = i % 2, .units = i % 3 == 0 };
        CHECK(!hd_print_tree(&heaps[i], &options, hd_out_callback(count_bytes, &printed), NULL));
    }
    hd_status status = hd_chrome_write(heaps, n, NULL, hd_out_memory(&bytes), NULL);
    CHECK(!status || (status == HD_INVALID && labels_collide(heaps, n)));
    if (!status && ascii) {      /* invalid UTF-8 is written as U+FFFD */
        CHECK(!hd_read_memory(bytes.data, bytes.size, NULL, &again, NULL));
        CHECK(heaps_digest(heaps, n) == heaps_digest(hd_dump_heap(again, 0), hd_dump_heap_count(again)));
    }
    hd_dump_free(again);
    hd_buffer_free(&bytes);
}

/* Skips the first value of the text. Returns its end, or UINT64_MAX. */
static uint64_t passed(hd_in in, bool tokens) {
    hd__mem mem = hd__mem_options(NULL);
    uint64_t end = UINT64_MAX;
    hd__pull p;
    CHECK(!hd__pull_open(&p, &mem, in, 0, NULL));
    hd__token token = hd__pull_next(&p);
    if (token == HD__TOKEN_OBJECT || token == HD__TOKEN_ARRAY) {
        bool ok = tokens || hd__pull_skip(&p, token);
        while (tokens && ok && p.depth) {
            token = hd__pull_next(&p);
            ok = token != HD__TOKEN_ERROR && token != HD__TOKEN_CUT;
        }
        if (ok) end = hd_window_offset(&p.r);
    }
    hd__pull_close(&p);
    return end;
}

static void check_skips(const uint8_t *data, size_t size) {
    hd_in in = hd_in_memory(data, size), left = in;
    uint64_t blocks = passed(in, false), tokens = passed(in, true);
    CHECK(blocks == passed(hd_in_callback(read_piece, &left), false));
    CHECK(tokens == UINT64_MAX || tokens == blocks); /* blocks accept all that tokens accept */
    for (size_t i = 0; i + HD__SCAN_BLOCK <= size; i += HD__SCAN_BLOCK) {
        hd__scan_bits found, plain;
        hd__scan_bits_of(data + i, 1, &found);
        hd__scan_bits_plain(data + i, &plain);
        CHECK(!memcmp(&found, &plain, sizeof found));
    }
}

static void check_scalars(const hd_dump *d) {
    for (size_t i = 1; i < hd_dump_scalar_count(d); i++) {
        const hd_scalar *a = hd_dump_scalar(d, i - 1), *b = hd_dump_scalar(d, i);
        CHECK(a->pid < b->pid || (a->pid == b->pid && a->time_us <= b->time_us));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    bool ascii = true;
    check_skips(data, size);
    for (size_t i = 0; i < size; i++) ascii &= data[i] < 0x80;
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .format = "chrome", .lenient = run / 2, .limits.max_memory = 64 * size + 262144 };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_read(in, &options, &d, &err);
        CHECK(err.status == status[run] && !d == !!status[run]);
        if (d) warnings[run] = hd_dump_warning_count(d);
        if (d) check_scalars(d);
        if (d && run % 2) print_and_rewrite(hd_dump_heap(d, 0), hd_dump_heap_count(d), ascii);
        hd_dump_free(d);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] || (!warnings[0] && !status[2] && !warnings[2]));
    return 0;
}
