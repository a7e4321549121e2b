/* What tree, top and --frames hidden share. */
#ifndef HEAPDUMP_SHOW_H
#define HEAPDUMP_SHOW_H

#include "heaps.h"

/* Where heaps are shown. */
typedef struct showing {
    const arguments *a;
    answer to;
    screen screen;
    uint32_t rows;               /* lines for each heap; 0: any number */
    reading reading;
    const repeats *again;        /* of the heap that is shown */
    bool of_objects;             /* so is the file */
    char *first;                 /* a regular expression for the name listed first; NULL: none was */
} showing;

/* Shows a heap. */
typedef hd_status show_heap(showing *s, const hd_heap *heap, hd_error *err);
show_heap hidden_heap;

hd_options show_warned(showing *s);
/* Each chosen heap of each file; what could be read is shown even when another file was bad. */
int show(const arguments *a, show_heap *one);

#endif
