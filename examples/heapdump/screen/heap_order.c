/* Order of heaps, heaps of the same process, and totals. */

#include "screen.h"

int compare_texts(const char *x, const char *y) { return strcmp(x ? x : "", y ? y : ""); }
bool same_text(const char *x, const char *y) { return !compare_texts(x, y); }

int compare_numbers(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

/* Compares labels in their given order. */
static int compare_labels(const hd_heap *x, const hd_heap *y) {
    int order = compare_numbers(x->label_count, y->label_count);
    for (size_t i = 0; i < x->label_count && !order; i++) {
        order = strcmp(x->labels[i].name, y->labels[i].name);
        if (!order) order = strcmp(x->labels[i].value, y->labels[i].value);
    }
    return order;
}

/* 0: heaps of the same process. Processes differ by pid and labels, or by name with `by_name`: in two files, or
   without a pid. */
static int compare_processes(const hd_heap *x, const hd_heap *y, bool by_name) {
    int order = by_name ? 0 : compare_numbers(x->pid, y->pid);
    if (by_name || (!order && !x->pid)) order = compare_texts(x->process, y->process);
    return order || by_name ? order : compare_labels(x, y);
}

/* 0: heaps of the same process, allocator and kind, which can be compared. */
int compare_heaps(const hd_heap *x, const hd_heap *y, bool by_name) {
    int order = compare_processes(x, y, by_name);
    if (!order) order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind);
}

/* False for two processes that had the same pid, one after the other. */
bool same_start(const hd_heap *x, const hd_heap *y) {
    return !x->start_us || !y->start_us || x->start_us == y->start_us;
}

bool same_process(const hd_heap *x, const hd_heap *y) { return !compare_processes(x, y, false) && same_start(x, y); }

/* Orders pointers into an array of heaps: by process, then by time. */
int by_process_and_time(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_processes(x, y, false);
    if (!order) order = compare_numbers(x->start_us, y->start_us);
    if (!order) order = compare_numbers(x->time_us, y->time_us);
    return order ? order : (x > y) - (x < y);
}

/* Orders pointers into an array of heaps by pid. Heaps that can be compared keep their order. */
int by_pid(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_heaps(x, y, false);
    return order ? order : (x > y) - (x < y);
}

/* The marked heaps (NULL: all), sorted; *n is their number. Freed by the caller. */
const hd_heap **sorted_heaps(const hd_heap *heaps, size_t count, const bool *marked,
                             int (*order)(const void *, const void *), size_t *n) {
    const hd_heap **sorted = needed(malloc((count + 1) * sizeof *sorted));
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (!marked || marked[i]) sorted[(*n)++] = &heaps[i];
    qsort(sorted, *n, sizeof *sorted, order);
    return sorted;
}

/* Whether the heap is sampled without known errors, which would need the number of blocks. */
bool has_unknown_error(const hd_heap *heap) {
    totals t;
    if (!heap->sample_bytes) return false;
    t = totals_of(heap);
    return t.blocks == HD_UNKNOWN && !t.error && t.bytes;
}

totals totals_of(const hd_heap *heap) {
    totals t;
    if (heap->breakdown) {
        const hd_amount *total = &heap->breakdown->entries.amount[0];
        t = (totals){ total->bytes, total->blocks, hd_standard_error(total->variance),
                      heap->breakdown->entries.count };
    } else {
        hd_u128 variance = { 0, 0 };
        hd_rows cells = hd_profile_cells(heap->profile);
        t.bytes = hd_profile_bytes(heap->profile);
        t.blocks = hd_profile_blocks(heap->profile);
        t.rows = cells.count;
        for (uint32_t i = 0; i < cells.count; i++) {
            if (cells.amount[i].blocks == HD_UNKNOWN) t.blocks = HD_UNKNOWN; /* a sum needs all numbers */
            variance.lo += cells.amount[i].variance.lo;
            variance.hi += cells.amount[i].variance.hi + (variance.lo < cells.amount[i].variance.lo);
        }
        t.error = hd_standard_error(variance);
    }
    return t;
}
