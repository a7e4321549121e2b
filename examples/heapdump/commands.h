/* The commands, each of which returns its exit status. */
#ifndef HEAPDUMP_COMMANDS_H
#define HEAPDUMP_COMMANDS_H

#include "cli.h"

/* show.c */
int tree(const arguments *a);
int top(const arguments *a);

/* diff.c */
int diff(const arguments *a);

/* convert.c */
int convert(const arguments *a);

/* merge.c */
int merge(const arguments *a);

/* info.c */
int info(const arguments *a);

/* classes.c */
int classes(const arguments *a);
int retained(const arguments *a);

/* object.c */
int path(const arguments *a);
int object(const arguments *a);

/* dart.c */
int strings(const arguments *a);

/* memprof_records.c */
int memprof(const arguments *a);

/* index.c */
int memprof_index(const arguments *a);

/* record.c */
int record(const arguments *a);

#endif
