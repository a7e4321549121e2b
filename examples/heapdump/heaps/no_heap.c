/* The message for a file without a heap that fits --kind, --dump, --allocator and --pid. */

#include "heaps.h"

enum { MOST_VALUES = 12 };

/* Returns the value of a heap for an option, or NULL if the heap lacks this value. The next call changes the text. */
typedef const char *heap_value(const hd_heap *heap);

static const char *kind_value(const hd_heap *heap) { return hd_heap_kind_name(heap->kind); }
static const char *dump_value_of(const hd_heap *heap) { return heap->dump; }
static const char *allocator_value(const hd_heap *heap) { return heap->allocator; }

static const char *pid_value(const hd_heap *heap) {
    static char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)heap->pid);
    return heap->pid ? text : NULL;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Prints the different values of the heaps, if none is `wanted`. */
static bool put_values(const hd_dump *dump, const char *wanted, const char *what, heap_value *value, bool in_order) {
    size_t all = hd_dump_heap_count(dump), n = 0, different = 0;
    FREED char **list = needed(calloc(all + 1, sizeof *list));
    bool fits = !wanted;
    for (size_t i = 0; i < all; i++) {
        const char *text = value(hd_dump_heap(dump, i));
        if (!text) continue;
        if (wanted && !strcmp(text, wanted)) fits = true;
        if (n && !strcmp(list[n - 1], text)) continue;
        list[n++] = needed(strdup(text));
    }
    if (!in_order) qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n && !fits; i++) {
        if (i && !strcmp(list[i - 1], list[i])) continue;
        if (different < MOST_VALUES) display(stderr, "%s%s", different ? ", " : what, list[i]);
        different++;
    }
    if (different > MOST_VALUES) display(stderr, " and %zu more", different - MOST_VALUES);
    for (size_t i = 0; i < n; i++) free(list[i]);
    return different > 0;
}

bool (*heaps_recorded_now)(const char *file);

void tell_no_heap(const heap_options *which, const char *file, const hd_dump *dump) {
    size_t all = hd_dump_heap_count(dump);
    char pid[24];
    bool told;
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)which->pid);
    display(stderr, "heapdump: %s (%s): no heap dump", file, hd_dump_format(dump)->name);
    if (!all) display(stderr, " in it");
    if (!all && heaps_recorded_now(file))
        display(stderr, " yet: a recording writes it; heapdump snapshot %s adds a dump", file);
    if (which->kind) display(stderr, " of kind %s", which->kind);
    if (which->dump) display(stderr, " with --dump %s", which->dump);
    if (which->allocator) display(stderr, " with --allocator %s", which->allocator);
    if (which->has_pid) display(stderr, " with --pid %s", pid);
    told = put_values(dump, which->kind, "; the file has kinds: ", kind_value, false);
    if (told && !strcmp(which->kind, hd_heap_kind_name(HD_HEAP_PEAK)))
        display(stderr, " (heapdump record --at peak,exit, the default, keeps the peak)");
    told |= put_values(dump, which->dump, "; the file has dumps: ", dump_value_of, true);
    told |= put_values(dump, which->allocator, "; the file has allocators: ", allocator_value, false);
    told |= put_values(dump, which->has_pid ? pid : NULL, "; the file has PIDs: ", pid_value, true);
    if (all && !told) display(stderr, "; heapdump info lists the heaps of the file");
    display(stderr, "\n");
}
