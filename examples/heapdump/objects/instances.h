/* Objects of a class: which classes are selected, and the facts of each object. */
#ifndef HEAPDUMP_INSTANCES_H
#define HEAPDUMP_INSTANCES_H

#include "graph_file.h"

/* A byte per class: whether it is a->class_name, or with a->subclasses one of its subclasses. Without a name all
   classes are selected. The caller frees it. NULL: the file does not have the class, as a message said. */
uint8_t *classes_asked(const arguments *a, const objects *o);

/* object.c: the class of an object, and its value or name. The caller frees it. */
char *class_and_value(const objects *o, uint32_t object);
/* Writes the members that describe an object: its id for further commands, class, retained size and name. */
void json_members(hd_json *j, const objects *o, uint32_t object);
/* Writes the value of an object, with strings of at most `most` code units; nothing without a value. */
void json_data(hd_json *j, const objects *o, uint32_t object, size_t most);

/* Whether a damaged V8 snapshot has lost the references to an object, so that it looks like a root. */
bool is_cut_off(const objects *o, uint32_t object);
/* The kind of a root: "static"; "unknown" if the object is cut off. */
const char *root_kind_text(const objects *o, const hd_root *root);
/* The name that the file gives a root: "local variable of thread main"; else its kind, with `after`. To be freed. */
char *root_text(const objects *o, const hd_root *root, const char *after);
/* Writes both as members of an object. */
void json_root(hd_json *j, const objects *o, const hd_root *root);

/* For each object that a root holds: the object before it on a shortest path (the first one found). */
typedef struct ways {
    uint32_t *held_by;           /* HD_NONE: a root, or unreachable */
    uint32_t *by;                /* reference of held_by; a root's number; HD_NONE: held_by is an ephemeron's key */
    uint32_t *order, count;      /* the reachable objects, nearest to a root first */
    uint8_t *state;              /* 0: unreachable */
    /* Values of ephemerons that wait until their keys are visited, in a list for each key. */
    struct waiting { uint32_t value, next; } *waiting;
    uint32_t waiting_count, *first_waiting; /* first_waiting: by key, HD_NONE: no value; NULL until a value waits */
} ways;

/* ways.c: shortest paths to all objects; in V8 snapshots from the program's roots before the engine's */
void ways_find(const objects *o, ways *w);
void ways_free(ways *w);
/* Visits all reachable objects depth first; `left`: all objects behind it were visited. */
typedef void ways_each(void *user, uint32_t object);
void ways_walk(const ways *w, uint32_t object_count, ways_each *entered, ways_each *left, void *user);

/* ways_tree.c */
int ways_text(const arguments *a, const objects *o, FILE *out);
int ways_json(const arguments *a, const objects *o, hd_json *j);

#endif
