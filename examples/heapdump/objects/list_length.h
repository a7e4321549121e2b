/* How long a list is whose elements hold each other as one of them does the next; and what is a tree instead. */
#ifndef HEAPDUMP_LIST_LENGTH_H
#define HEAPDUMP_LIST_LENGTH_H

#include "objects.h"

/* A reference on the way from an element to the next one. */
typedef struct list_part {
    uint32_t holder, reference, target; /* reference: HD_NONE: none is known */
} list_part;

/* From an element to the next one: target k is holder k + 1, and the last target is the next element. */
typedef struct list_pattern {
    list_part *part;
    uint32_t count;
} list_pattern;

/* Whether two objects may be elements of one list: closures have names. */
bool are_alike(const objects *o, uint32_t a, uint32_t b);
/* Answers about lists of one graph. */
typedef struct list_lengths list_lengths;
list_lengths *list_lengths_open(const objects *o);
void list_lengths_free(list_lengths *l);
/* Objects of the head's class from it on, `least` at least; HD_NONE: it is a tree. O(the list's references). All
   answers together look at the graph's references 16 times at most; further ones are `least`. */
uint32_t list_length(list_lengths *l, const list_pattern *p, uint32_t head, uint32_t least);

#endif
