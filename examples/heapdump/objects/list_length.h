/* Whether objects of one class that hold each other are a list, and how long it is, or a tree. */
#ifndef HEAPDUMP_LIST_LENGTH_H
#define HEAPDUMP_LIST_LENGTH_H

#include "objects.h"

/* A reference on the path from an element to the next one. */
typedef struct list_part {
    uint32_t holder, reference, target; /* reference: HD_NONE: none is known */
} list_part;

/* From an element to the next one: target k is holder k + 1, and the last target is the next element. */
typedef struct list_pattern {
    list_part *part;
    uint32_t count;
} list_pattern;

/* The path from an element to the next one. p.part is freed by the caller. */
list_pattern pattern_between(const ways *w, uint32_t element, uint32_t next);

typedef struct list_answer {
    uint32_t elements;           /* HD_NONE: it is a tree; 0: the head leads to a list, and is no element */
    hd_str by;                   /* the field that orders all elements, if another one than the pattern's; or empty */
    bool any;                    /* no field orders all elements: references of any name lead through the list */
} list_answer;

/* Whether two objects may be elements of one list: closures have names. */
bool are_alike(const objects *o, uint32_t a, uint32_t b);
/* Answers about lists of one graph. */
typedef struct list_lengths list_lengths;
list_lengths *list_lengths_open(const objects *o);
void list_lengths_free(list_lengths *l);
/* The objects of the head's class from the head on, at least `least`. O(references of the objects judged). Objects of
   a known list or tree are not judged again. */
list_answer list_length(list_lengths *l, const list_pattern *p, uint32_t head, uint32_t least);
/* Whether the latest answer about each of two objects was one answer about one list or tree. */
bool are_in_one_list(const list_lengths *l, uint32_t a, uint32_t b);

#endif
