/* Private to list_length.c and list_shape.c: elements, references between them, and elements outside a row. */
#ifndef HEAPDUMP_LIST_SHAPE_H
#define HEAPDUMP_LIST_SHAPE_H

#include "list_length.h"

/* An element that another one holds, directly or through boxes, and a hash of the labels that lead to it. */
typedef struct near_element {
    uint32_t object;
    uint64_t key;
} near_element;

/* Where an object is in its list or tree. Group 0: no answer is known. */
typedef struct list_place {
    uint32_t group, left;        /* left: elements from this one to the end of the list */
} list_place;

typedef struct list_group {
    uint64_t key;                /* of the pattern that asked */
    bool tree, whole;            /* whole: each element leads to all, as in a ring */
    bool any;                    /* by references of any name */
    bool chain;                  /* nothing branches, but no field leads through all: lists in it have one field */
    uint32_t total;
    hd_str by;
} list_group;

/* State of an object in the current round; marks of earlier rounds are void. */
typedef struct list_mark {
    uint32_t round, next;        /* next: its first reference that was not followed yet */
    uint8_t seen;
} list_mark;

typedef struct object_row {
    uint32_t *object, count, room;
} object_row;

struct list_lengths {
    const objects *o;
    const list_pattern *p;
    uint32_t head, gap;          /* gap: references from an element to the next one, at most */
    bool unnamed, arrays;        /* whether references of the pattern have no names, or are elements of arrays */
    list_mark *mark;             /* by object */
    list_place *place;           /* by object */
    uint32_t *owner;             /* by object: how many hold it, or the place in the row that it hangs from */
    uint32_t round;
    list_group *groups;
    uint32_t group_count;
    near_element *near;          /* result of find_near */
    uint32_t near_count, near_room;
    struct box { uint32_t object, depth; uint64_t key; } *stack;
    uint32_t depth, stack_room;
    hd_str fields[32];           /* fields of the first elements of the row */
    uint32_t field_count, map;   /* map: V8's description of their fields; HD_NONE: none */
    object_row row, other;       /* the longest row of elements so far, and a candidate */
};

/* The shape of all elements that a row leads to. */
typedef struct list_shape {
    uint32_t elements;           /* all of them */
    uint32_t forks;              /* row elements that lead to a quarter as many outside as behind them, or more */
    uint32_t nodes;              /* elements outside the row with its field, or with the fields of its elements */
    uint32_t shared;             /* nodes that several places of the row lead to */
    uint32_t branches;           /* elements outside the row that hold two others */
    uint32_t sides;              /* row elements, but the last one, that lead to elements outside the row */
    uint32_t late;               /* elements outside that the second half of the row leads to */
} list_shape;

static inline bool is_strong(hd_object x, uint32_t r) { return !x.kinds || x.kinds[r] == HD_REFERENCE_STRONG; }

list_mark *mark_of(list_lengths *l, uint32_t object);
void row_push(object_row *row, uint32_t object);
/* Finds elements that an element holds. Each box is looked at once in a round. */
void find_near(list_lengths *l, uint32_t element);
/* Looks at everything behind l->row. `key`: of the references along the row; 0: any. */
list_shape shape_of(list_lengths *l, uint64_t key);
/* Puts all elements behind the head into a group. */
void put_in_group(list_lengths *l, uint32_t group);
uint64_t label_key(uint64_t key, hd_str label);

#endif
