/* Traces, read strictly and leniently, from memory and in pieces; what was read is printed, written, and
   read again. */
#include <stdlib.h>
#include <string.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

#define CHECK(x) ((x) ? (void)0 : abort())

typedef struct pieces {
    const uint8_t *data;
    size_t left;
} pieces;

/* 1 to 13 bytes at a time, as the bytes themselves have it. */
static int64_t read_piece(void *user, void *buffer, size_t capacity) {
    pieces *p = (pieces *)user;
    size_t n = p->left ? 1 + *p->data % 13 : 0;
    if (n > p->left) n = p->left;
    if (n > capacity) n = capacity;
    memcpy(buffer, p->data, n);
    p->data += n;
    p->left -= n;
    return (int64_t)n;
}

static hd_status discard(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

static bool same_name(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static bool same_rows(const hd_heap *x, const hd_heap *y) {
    hd_breakdown *a, *b;
    bool same;
    CHECK(!hd_heap_break_down(x, NULL, NULL, &a, NULL) && !hd_heap_break_down(y, NULL, NULL, &b, NULL));
    hd_rows p = a->entries, q = b->entries;
    same = p.count == q.count && !memcmp(p.node, q.node, 2 * p.count * sizeof *p.node) &&
           !memcmp(p.bytes, q.bytes, p.count * sizeof *p.bytes) && !memcmp(p.blocks, q.blocks, p.count * sizeof *p.blocks);
    for (int k = 0; k < 2 && same; k++) {
        same = a->axis[k].node_count == b->axis[k].node_count;
        for (uint32_t i = 1; i < a->axis[k].node_count && same; i++)
            same = a->axis[k].parent[i] == b->axis[k].parent[i] && hd_str_equal(a->axis[k].node_name[i], b->axis[k].node_name[i]);
    }
    hd_breakdown_free(a);
    hd_breakdown_free(b);
    return same;
}

/* Every heap of x is in y. */
static bool same_heaps(const hd_dump *x, const hd_dump *y) {
    size_t n = hd_dump_heap_count(x), found = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < hd_dump_heap_count(y); k++) {
            const hd_heap *a = hd_dump_heap(x, i), *b = hd_dump_heap(y, k);
            if (a->pid != b->pid || !same_name(a->allocator, b->allocator) || !a->profile != !b->profile ||
                a->time_us != b->time_us || (a->dump && !same_name(a->dump, b->dump)))
                continue;
            found += same_name(a->process, b->process) && same_rows(a, b);
            break;
        }
    return found == n && n == hd_dump_heap_count(y);
}

/* Whether two heaps would be written under the same labels, or one dump at two times: ids and names that
   are absent have a default, and end at a NUL. */
static bool labels_collide(const hd_heap *heaps, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (heaps[i].pid == heaps[k].pid &&
                !strcmp(heaps[i].dump ? heaps[i].dump : "0x1", heaps[k].dump ? heaps[k].dump : "0x1") &&
                (heaps[i].time_us != heaps[k].time_us || same_name(heaps[i].allocator, heaps[k].allocator)))
                return true;
    return false;
}

static void print_and_rewrite(const hd_dump *d, bool ascii) {
    size_t n = hd_dump_heap_count(d);
    hd_heap *heaps = (hd_heap *)calloc(n + 1, sizeof *heaps);
    hd_buffer bytes = { 0 };
    hd_dump *again = NULL;
    uint64_t printed = 0;
    for (size_t i = 0; i < n; i++) {
        heaps[i] = *hd_dump_heap(d, i);
        hd_tree_options options = { .cutoff.top = 16, .first_axis = i % 2, .units = i % 3 == 0 };
        CHECK(!hd_print_tree(&heaps[i], &options, hd_out_callback(discard, &printed)));
    }
    /* Bytes that are no UTF-8 are written as U+FFFD, and labels may become equal by that. */
    hd_status status = hd_chrome_write(heaps, n, NULL, hd_out_memory(&bytes), NULL);
    CHECK(!status || (status == HD_INVALID && labels_collide(heaps, n)));
    if (!status && ascii) {
        CHECK(!hd_read_memory(bytes.data, bytes.size, NULL, &again, NULL));
        CHECK(same_heaps(d, again));
    }
    hd_dump_free(again);
    hd_buffer_free(&bytes);
    free(heaps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    bool ascii = true;
    for (size_t i = 0; i < size; i++) ascii &= data[i] < 0x80;
    for (int run = 0; run < 4; run++) {
        pieces p = { data, size };
        hd_options options = { .lenient = run / 2, .limits.max_memory = 64 * size + 262144 };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        status[run] = hd_read(run % 2 ? hd_in_callback(read_piece, &p) : hd_in_memory(data, size), &options, &d, &err);
        CHECK(err.status == status[run] && !d == !!status[run]);
        if (d) warnings[run] = hd_dump_warning_count(d);
        if (d && run % 2) print_and_rewrite(d, ascii);
        hd_dump_free(d);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] || (!warnings[0] && !status[2] && !warnings[2]));
    return 0;
}
