/* Shared by tree, top and --frames hidden. */
#ifndef HEAPDUMP_SHOW_H
#define HEAPDUMP_SHOW_H

#include "heaps.h"

/* The output of heaps. */
typedef struct showing {
    const arguments *a;
    answer to;
    screen screen;
    uint32_t rows;               /* lines for each heap; 0: any number */
    reading reading;
    const repeats *again;        /* of the current heap */
    bool of_objects;             /* the file holds objects */
    char *first;                 /* a regular expression for the first listed name, or NULL */
} showing;

/* Shows a heap. */
typedef hd_status show_heap(showing *s, const hd_heap *heap, hd_error *err);
show_heap hidden_heap;

hd_options show_warned(showing *s);
/* Shows each chosen heap of each file. A bad file does not keep others from being shown. */
int show(const arguments *a, show_heap *one);

#endif
