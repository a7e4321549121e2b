/* The order of lines. A line can name several frames, and its figures are those of the last. Siblings are sorted by
   the printed figures or names; hd_tree sorts by the first row of each line. */
#include "screen.h"

#include <stdlib.h>

typedef struct rank {
    uint64_t key;
    hd_str name;                 /* with HD_ORDER_NAME */
    uint32_t parent, group, number; /* group: siblings along one axis, with --every-route */
    bool other;                  /* <other> is last in its group */
} rank;

static bool is_callee(const listing_line *x) {
    return x->entry != HD_NONE && x->name_count && !hd_str_equal(x->names[x->name_count - 1], hd_cstr("<self>"));
}

/* By line: the bytes beyond its listed callees. */
static uint64_t *own_bytes(const listing *l, int side) {
    uint64_t *own = needed(malloc(l->count * sizeof *own));
    for (uint32_t i = 0; i < l->count; i++) {
        const listing_line *x = &l->lines[i];
        uint64_t bytes = x->amount[side].bytes;
        own[i] = bytes;
        if (i && is_callee(x) && x->route == l->lines[x->parent].route)
            own[x->parent] -= bytes < own[x->parent] ? bytes : own[x->parent];
    }
    return own;
}

/* An unknown number of blocks counts as 0, as in hd_tree. */
static uint64_t key_of(const listing *l, const listing_line *x, hd_order order, uint64_t *const own[2]) {
    const hd_amount *a = x->amount;
    size_t i = (size_t)(x - l->lines);
    if (order == HD_ORDER_BYTES) return l->compares ? difference(a[0].bytes, a[1].bytes) : a[0].bytes;
    if (order == HD_ORDER_SELF) return l->compares ? difference(own[0][i], own[1][i]) : own[0][i];
    if (a[0].blocks == HD_UNKNOWN || (l->compares && a[1].blocks == HD_UNKNOWN)) return 0;
    return l->compares ? difference(a[0].blocks, a[1].blocks) : a[0].blocks;
}

static size_t add_names(const hd_str *names, size_t count, char *to, size_t size) {
    for (size_t i = 0; i < count; size += names[i++].len + 1) {
        if (!to) continue;
        memcpy(to + size, names[i].data, names[i].len);
        to[size + names[i].len] = '\1';
    }
    return size;
}

/* Writes the names of a line, outermost first, to `to` (may be NULL). Returns their length. */
static size_t names_into(const listing *l, const listing_line *x, char *to) {
    size_t size = 0;
    for (; x; x = x->next == HD_NONE ? NULL : &l->lines[x->next]) {
        size = add_names(x->names, x->name_count, to, size);
        size = add_names(x->values, x->value_count, to, size);
    }
    return size;
}

/* Freed by the caller. */
static hd_str names_of(const listing *l, const listing_line *x) {
    char *text = needed(malloc(names_into(l, x, NULL) + 1));
    return (hd_str){ text, names_into(l, x, text) };
}

/* Orders by parent, and its children in reverse, for a stack. */
static int by_rank(const void *x, const void *y) {
    const rank *a = x, *b = y;
    int order;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->group != b->group) return a->group > b->group ? -1 : 1;
    if (a->other != b->other) return a->other ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    order = hd_str_compare(b->name, a->name);
    return order ? order : (a->number < b->number) - (a->number > b->number);
}

/* The ranks of all lines but the first, sorted. The caller frees them and their names. */
static rank *ranks_of(const listing *l, hd_order order) {
    rank *ranks = needed(calloc(l->count, sizeof *ranks));
    uint32_t *last = needed(calloc(l->count, sizeof *last)); /* by parent: its last line so far */
    uint64_t *own[2] = { NULL, NULL };
    for (int side = 0; side < 2 && order == HD_ORDER_SELF; side++) own[side] = own_bytes(l, side);
    for (uint32_t i = 1; i < l->count; i++) {
        const listing_line *x = &l->lines[i], *end = x;
        uint32_t before = last[x->parent];
        rank *r = &ranks[i - 1];
        *r = (rank){ 0, { NULL, 0 }, x->parent, 0, i, x->entry == HD_NONE };
        if (before) r->group = ranks[before - 1].group + (l->lines[before].route != x->route);
        last[x->parent] = i;
        if (r->other || x->head != i) continue;
        while (end->next != HD_NONE) end = &l->lines[end->next];
        if (order == HD_ORDER_NAME) r->name = names_of(l, x);
        else r->key = key_of(l, end, order, own);
    }
    free(last), free(own[0]), free(own[1]);
    qsort(ranks, l->count - 1, sizeof *ranks, by_rank);
    return ranks;
}

void listing_sort(listing *l, hd_order order) {
    rank *ranks;
    uint32_t *first, *stack, *moved, depth = 0, to = 0;
    listing_line *lines;
    if (l->count < 3) return;
    ranks = ranks_of(l, order);
    first = needed(calloc((size_t)l->count + 1, sizeof *first)); /* by line: its first rank */
    stack = needed(malloc(l->count * sizeof *stack));
    moved = needed(calloc(l->count, sizeof *moved));
    lines = needed(malloc(l->count * sizeof *lines));
    for (uint32_t i = 1; i < l->count; i++) first[l->lines[i].parent + 1]++;
    for (uint32_t i = 0; i < l->count; i++) first[i + 1] += first[i];
    for (stack[depth++] = 0; depth;) {
        uint32_t i = stack[--depth];
        lines[to] = l->lines[i];
        moved[i] = to++;
        for (uint32_t k = first[i]; k < first[i + 1]; k++) stack[depth++] = ranks[k].number;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        listing_line *x = &l->lines[i];
        *x = lines[i];
        if (i) x->parent = moved[x->parent];
        x->head = moved[x->head];
        if (x->next != HD_NONE) x->next = moved[x->next];
    }
    for (uint32_t i = 0; i + 1 < l->count; i++) free((void *)(uintptr_t)ranks[i].name.data);
    free(ranks), free(first), free(stack), free(moved), free(lines);
}
