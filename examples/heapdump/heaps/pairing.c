/* Which heaps of two files belong together. */

#include "heaps.h"

/* Names of labels. */
typedef struct label_names {
    const char **name;
    size_t count;
} label_names;

/* A label of a heap of one of two files. */
typedef struct file_label {
    hd_label label;
    int file;
} file_label;

static int by_label(const void *a, const void *b) {
    const file_label *x = a, *y = b;
    int order = strcmp(x->label.name, y->label.name);
    if (!order) order = strcmp(x->label.value, y->label.value);
    return order ? order : x->file - y->file;
}

/* The labels that distinguish heaps of two files: both files share at least one value of them. "profile" belongs to
   one file, as times do. To be freed. */
static label_names shared_labels(const chosen *const files[2], const bool *const in[2]) {
    label_names shared = { NULL, 0 };
    FREED file_label *list = NULL;
    size_t n = 0;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < files[f]->count; i++) n += files[f]->heaps[i].label_count;
    list = needed(malloc((n + 1) * sizeof *list));
    n = 0;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < files[f]->count; i++)
            for (size_t k = 0; in[f][i] && k < files[f]->heaps[i].label_count; k++)
                if (strcmp(files[f]->heaps[i].labels[k].name, "profile"))
                    list[n++] = (file_label){ files[f]->heaps[i].labels[k], f };
    qsort(list, n, sizeof *list, by_label);
    shared.name = needed(malloc((n + 1) * sizeof *shared.name));
    for (size_t i = 1; i < n; i++) {
        const hd_label *x = &list[i - 1].label, *y = &list[i].label;
        if (list[i - 1].file == list[i].file || strcmp(x->name, y->name) || strcmp(x->value, y->value)) continue;
        if (!shared.count || strcmp(shared.name[shared.count - 1], x->name)) shared.name[shared.count++] = x->name;
    }
    return shared;
}

/* Returns 0 if two heaps of two files belong together. */
static int compare_labelled(const hd_heap *x, const hd_heap *y, const label_names *labels) {
    int order = compare_heaps(x, y, true);
    for (size_t i = 0; i < labels->count && !order; i++)
        order = compare_texts(hd_heap_label(x, labels->name[i]), hd_heap_label(y, labels->name[i]));
    return order;
}

static int by_process(const void *a, const void *b, void *labels) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_labelled(x, y, labels);
    return order ? order : (x > y) - (x < y);
}

static int by_allocator(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind);
}

/* The number of heaps from `i` on with the same allocator and kind. */
static size_t alike(const hd_heap **sorted, size_t i, size_t n) {
    size_t end = i + 1;
    while (end < n && !by_allocator(&sorted[i], &sorted[end])) end++;
    return end - i;
}

static const char *process_of(const hd_heap *heap) {
    return heap->process ? heap->process : "a process without a name";
}

/* Pairs heaps that are the only ones of their allocator and kind in both files. They may come from two builds of a
   program with different names, for example. One line reports this. */
static void pair_only_ones(const arguments *a, const chosen *x, const hd_heap **before, size_t nx, const chosen *y,
                           const hd_heap **after, size_t ny, ptrdiff_t *mate, bool *left) {
    const hd_heap *shown[2] = { NULL, NULL };
    qsort(before, nx, sizeof *before, by_allocator);
    qsort(after, ny, sizeof *after, by_allocator);
    for (size_t i = 0, k = 0; i < nx && k < ny;) {
        int side = by_allocator(&before[i], &after[k]);
        size_t n = alike(before, i, nx), m = alike(after, k, ny);
        if (!side && n == 1 && m == 1 && mate[before[i] - x->heaps] == NO_MATE &&
            !same_text(before[i]->process, after[k]->process)) {
            mate[before[i] - x->heaps] = after[k] - y->heaps;
            left[after[k] - y->heaps] = false;
            if (!shown[0]) shown[0] = before[i], shown[1] = after[k];
        }
        if (side <= 0) i += n;
        if (side >= 0) k += m;
    }
    if (shown[0] && !a->input.quiet)
        display(stderr, "heapdump: %s (%s) is compared with %s (%s): each file has one heap of this kind "
                "(--match process: compare equal names only)\n",
                process_of(shown[0]), x->file, process_of(shown[1]), y->file);
}

/* Finds the counterpart in y of each picked heap of x, by number. `left` marks the picked heaps of y without a
   counterpart. Within one file, heaps pair by process and its start. Across files, heaps pair by the name of the
   process and by shared labels; equal ones pair in order. */
void find_mates(const arguments *a, const chosen *x, const bool *in_x, const chosen *y, const bool *in_y,
                ptrdiff_t *mate, bool *left) {
    label_names labels = { NULL, 0 };
    size_t nx, ny, i = 0, k = 0;
    const hd_heap **before = sorted_heaps(x->heaps, x->count, in_x, by_pid, &nx);
    const hd_heap **after = sorted_heaps(y->heaps, y->count, in_y, by_pid, &ny);
    if (x != y) {
        labels = shared_labels((const chosen *const[]){ x, y }, (const bool *const[]){ in_x, in_y });
        qsort_r(before, nx, sizeof *before, by_process, &labels);
        qsort_r(after, ny, sizeof *after, by_process, &labels);
    }
    for (; i < nx; i++) mate[before[i] - x->heaps] = NO_MATE;
    memcpy(left, in_y, y->count);
    for (i = 0; i < nx && k < ny;) {
        int side = x == y ? compare_heaps(before[i], after[k], false)
                          : compare_labelled(before[i], after[k], &labels);
        if (!side && x == y && !same_start(before[i], after[k]))
            side = compare_numbers(before[i]->start_us, after[k]->start_us);
        if (!side) {
            mate[before[i] - x->heaps] = after[k] - y->heaps;
            left[after[k] - y->heaps] = false;
        }
        i += side <= 0;
        k += side >= 0;
    }
    if (x != y && !a->heaps.match_process) pair_only_ones(a, x, before, nx, y, after, ny, mate, left);
    free(before), free(after), free(labels.name);
}
