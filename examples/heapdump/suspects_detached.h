/* Nodes that a page removed from its document and still holds. */
#ifndef HEAPDUMP_SUSPECTS_DETACHED_H
#define HEAPDUMP_SUSPECTS_DETACHED_H

#include "suspects_graph.h"

typedef struct detached {
    uint32_t nodes, before;      /* alive in the last snapshot, and in the first of several */
    hd_total retained;           /* by all of them together */
    below kind[MOST_BELOW];      /* classes with the most nodes */
    uint32_t kinds;
    uint32_t held;               /* nodes that no other detached node holds, on their shortest ways */
    uint32_t holder, by_holder;  /* what holds the most of these, and how many */
} detached;

/* Returns an exit status. */
int detached_find(const matched *m, detached *d);
/* Nothing where there are none. */
void put_detached(FILE *out, const arguments *a, const matched *m, const detached *d);
void json_detached(hd_json *j, const matched *m, const detached *d);

#endif
