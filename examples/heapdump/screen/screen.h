/* Screens, and listings that all commands use. */
#ifndef HEAPDUMP_SCREEN_H
#define HEAPDUMP_SCREEN_H

#include "amounts.h"
#include "answer.h"
#include "terminal.h"

/* csv.c: writes the whole JSON of an answer as a table. */
void csv_write(const char *json, FILE *out);

/* scoped.c */
void put_scoped(FILE *out, hd_str name, hd_str scope);
/* Print at most `room` columns on a screen (12 if `room` is less), elsewhere everything. Return the used columns. */
int put_scoped_within(FILE *out, const screen *s, hd_str class_name, hd_str scope, int room);
/* Columns for a text that shares `room` with another of `other` columns: the rest, at least half. */
int room_beside(int room, int other);

/* axes.c */
uint32_t axis_count(const hd_heap *heap);
hd_axis axis_at(const hd_heap *heap, uint32_t i);
uint32_t axis_in(const arguments *a, const hd_heap *heap);
uint32_t axis_in_both(const arguments *a, const hd_heap *before, const hd_heap *after);
bool has_bounds(const hd_heap *heap);
hd_tree_options tree_options(const arguments *a);

/* heap_order.c */
/* The totals of a heap. */
typedef struct totals {
    uint64_t bytes, blocks, error; /* error: standard error of the bytes */
    uint32_t rows;
} totals;
int compare_texts(const char *x, const char *y);
bool same_text(const char *x, const char *y);
int compare_numbers(uint64_t x, uint64_t y);
int compare_heaps(const hd_heap *x, const hd_heap *y, bool by_name);
bool same_start(const hd_heap *x, const hd_heap *y);
bool same_process(const hd_heap *x, const hd_heap *y);
int by_process_and_time(const void *a, const void *b);
int by_pid(const void *a, const void *b);
const hd_heap **sorted_heaps(const hd_heap *heaps, size_t count, const bool *marked,
                             int (*order)(const void *, const void *), size_t *n);
totals totals_of(const hd_heap *heap);
bool has_unknown_error(const hd_heap *heap);

/* The rest of this floor's interface. */
#include "figures.h"
#include "frames.h"
#include "recursion.h"
#include "listing.h"

#endif
