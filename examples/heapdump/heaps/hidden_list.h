/* --frames hidden: the frames that a view hides, and the bytes of their stacks. */
#ifndef HEAPDUMP_HIDDEN_LIST_H
#define HEAPDUMP_HIDDEN_LIST_H

#include "../shell/shell.h"

/* All frames that match one pattern in one object. */
typedef struct hidden_row {
    const char *pattern;         /* "malloc", "std::*::_*" */
    char *object;                /* "libc.so.6"; empty: unknown */
    hd_amount amount;            /* of stacks with such a frame, each counted once */
} hidden_row;

/* Rows are sorted, the largest first. Time is linear in the heap, plus the sorting of rows. */
hd_status hidden_list_make(const hd_heap *heap, hidden_row **rows, size_t *count, hd_error *err);
void hidden_list_free(hidden_row *rows, size_t count);

#endif
