/* The parts of `heapdump record`: the directory that recorders leave dumps in, and programs to run. */
#ifndef HEAPDUMP_RECORD_H
#define HEAPDUMP_RECORD_H

#include "cli.h"

#include <limits.h>
#include <sys/stat.h>

/* A directory of our own for the dumps of the program and its children. They know it by its numbers, and so
   do we: when we have ended, others can make one of that name. */
typedef struct spool_dir {
    char path[PATH_MAX - 8], here[40]; /* here: through the descriptor */
    int fd;
    struct stat st;
} spool_dir;

/* spool.c */
bool spool_make(spool_dir *s);
int record_finish(const arguments *a, const spool_dir *s, pid_t main_pid, int ended);

/* program.c */
bool program_check(const char *name);

#endif
