/* Objects of a class: which classes are meant, and what is told of each object. */
#ifndef HEAPDUMP_INSTANCES_H
#define HEAPDUMP_INSTANCES_H

#include "graph_file.h"

/* A byte per class: whether it is a->class_name, or with a->subclasses extends that; all when no name is given. To be
   freed; NULL, told, when the file has no such class. */
uint8_t *classes_asked(const arguments *a, const objects *o);

/* Whether a damaged V8 snapshot has lost the references to an object, so that it seems to be a root. */
bool is_cut_off(const objects *o, uint32_t object);
/* The kind of a root: "static"; "unknown" of an object that is cut off. */
const char *root_kind_text(const objects *o, const hd_root *root);

/* For each object that a root holds the one before it on a shortest way, of several the first found. */
typedef struct ways {
    uint32_t *held_by;           /* HD_NONE: a root, or nothing */
    uint32_t *by;                /* which of its references; of a root, which one; HD_NONE: as an ephemeron's key */
    uint32_t *order, count;      /* those that are held, nearest first */
    uint8_t *state;              /* 0: nothing holds it */
    /* Values of ephemerons that wait until their keys are walked through, listed by key. */
    struct waiting { uint32_t value, next; } *waiting;
    uint32_t waiting_count, *first_waiting; /* by key; HD_NONE; NULL until there are any */
} ways;

/* ways.c: shortest ways of all objects, of V8 from the program's roots before the engine's; path --class */
void ways_find(const objects *o, ways *w);
void ways_free(ways *w);
/* All objects that are held, depth first; `left`: all behind the object were entered. */
typedef void ways_each(void *user, uint32_t object);
void ways_walk(const ways *w, uint32_t object_count, ways_each *entered, ways_each *left, void *user);

/* ways_tree.c */
int ways_text(const arguments *a, const objects *o, FILE *out);
int ways_json(const arguments *a, const objects *o, hd_json *j);

#endif
