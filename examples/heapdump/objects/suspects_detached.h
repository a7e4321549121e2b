/* Detached DOM nodes: a page removed them from its document and still holds them. */
#ifndef HEAPDUMP_SUSPECTS_DETACHED_H
#define HEAPDUMP_SUSPECTS_DETACHED_H

#include "suspects.h"

typedef struct detached {
    uint32_t nodes, before;      /* alive in the last snapshot, and in the first of several */
    hd_total retained;           /* by all of them together */
    below kind[MOST_BELOW];      /* classes with the most nodes */
    uint32_t kinds;
    uint32_t held;               /* nodes that no other detached node holds, on their shortest ways */
    uint32_t *holders;           /* of these nodes, sorted; several nodes may have one */
    uint32_t holder, by_holder;  /* the object that holds most of these, and their number */
    bool common;                 /* by_holder nodes have holders on one common path instead */
} detached;

/* Returns an exit status. */
int detached_find(const matched *m, detached *d);
void detached_free(detached *d);
/* Write nothing if there is no detached node. */
void put_detached(FILE *out, const arguments *a, const matched *m, const detached *d);
void json_detached(hd_json *j, const matched *m, const detached *d);

#endif
