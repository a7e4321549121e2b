/* --frames hidden: which frames a view hides, and what their stacks hold. */
#ifndef HEAPDUMP_HIDDEN_LIST_H
#define HEAPDUMP_HIDDEN_LIST_H

#include "../shell/shell.h"

/* All frames that match one pattern in one object. */
typedef struct hidden_row {
    const char *pattern;         /* "malloc", "std::*::_*" */
    char *object;                /* "libc.so.6"; empty: the file does not have it */
    hd_amount amount;            /* of the stacks with such a frame, each counted once */
} hidden_row;

/* The largest first. Linear in the heap. */
hd_status hidden_list_make(const hd_heap *heap, hidden_row **rows, size_t *count, hd_error *err);
void hidden_list_free(hidden_row *rows, size_t count);

#endif
