/* The order of lines after nesting. A line names several frames, and the figures are of the last one: lines with one
   parent are in the order of the figures that they show, not of those that their first frames have. */
#include "listing.h"

#include <stdlib.h>

typedef struct rank {
    uint64_t key;                /* of <other>, which stays last, 0 */
    uint32_t parent, number;
    bool other;
} rank;

/* An unknown number of blocks is as none, as in hd_tree. */
static uint64_t key_of(const listing *l, const line *x, hd_order order) {
    const hd_amount *a = x->amount;
    if (order == HD_ORDER_BYTES) return l->compares ? difference(a[0].bytes, a[1].bytes) : a[0].bytes;
    if (a[0].blocks == HD_UNKNOWN || (l->compares && a[1].blocks == HD_UNKNOWN)) return 0;
    return l->compares ? difference(a[0].blocks, a[1].blocks) : a[0].blocks;
}

/* By parent; among its lines the first to show comes last, for a stack. */
static int by_rank(const void *x, const void *y) {
    const rank *a = x, *b = y;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->other != b->other) return a->other ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->number > b->number ? -1 : a->number < b->number;
}

void listing_sort(listing *l, hd_order order) {
    rank *ranks;
    uint32_t *first, *stack, *moved, depth = 0, to = 0;
    line *lines;
    if (l->count < 3 || (order != HD_ORDER_BYTES && order != HD_ORDER_BLOCKS)) return;
    ranks = needed(calloc(l->count, sizeof *ranks));
    first = needed(calloc((size_t)l->count + 1, sizeof *first)); /* by line, its first rank */
    stack = needed(malloc(l->count * sizeof *stack));
    moved = needed(calloc(l->count, sizeof *moved));
    lines = needed(malloc(l->count * sizeof *lines));
    for (uint32_t i = 1; i < l->count; i++) {
        const line *x = &l->lines[i];
        bool other = x->name_count == 1 && hd_str_equal(x->names[0], hd_cstr("<other>"));
        ranks[i - 1] = (rank){ other ? 0 : key_of(l, x, order), x->parent, i, other };
        first[x->parent + 1]++;
    }
    for (uint32_t i = 0; i < l->count; i++) first[i + 1] += first[i];
    qsort(ranks, l->count - 1, sizeof *ranks, by_rank);
    for (stack[depth++] = 0; depth;) {
        uint32_t i = stack[--depth];
        lines[to] = l->lines[i];
        if (i) lines[to].parent = moved[lines[to].parent];
        moved[i] = to++;
        for (uint32_t k = first[i]; k < first[i + 1]; k++) stack[depth++] = ranks[k].number;
    }
    for (uint32_t i = 0; i < l->count; i++) l->lines[i] = lines[i];
    free(ranks), free(first), free(stack), free(moved), free(lines);
}
