/* Objects of a class: which classes are meant, and what is told of each object. */
#ifndef HEAPDUMP_INSTANCES_H
#define HEAPDUMP_INSTANCES_H

#include "objects.h"

/* A byte per class: whether it is a->class_name, or with a->subclasses extends that; all when no name is given. To be
   freed; NULL, told, when the file has no such class. */
uint8_t *classes_asked(const arguments *a, const objects *o);

/* ways.c: path --class */
int ways_text(const arguments *a, const objects *o, FILE *out);
int ways_json(const arguments *a, const objects *o, hd_json *j);

#endif
