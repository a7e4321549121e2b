/* The state of a watched recording. */
#ifndef HEAPDUMP_WATCHED_H
#define HEAPDUMP_WATCHED_H

#include "watch.h"

/* A named frame: its innermost function that does not allocate for others. If all its
   functions do, callers are examined. */
typedef struct known {
    char *frame;
    char *site;                  /* NULL: all functions of the frame allocate for others */
    char *first;                 /* the innermost function */
    watch_row *row, *first_row;  /* NULL: not needed so far */
} known;

enum { KNOWN_MOST = 1 << 18 };

struct watch {
    const arguments *a;
    recording r;
    watch_table table;
    uint32_t at;                 /* number of the shown process; HD_NONE: none */
    uint64_t pid;                /* the requested process; 0: none */
    void *known;                 /* frames by name: a tree of <search.h> */
    uint32_t known_count;
    char program[PATH_MAX];      /* the program file of the process, if known */
    char told[160];
    bool ended, replaced;        /* the event was reported */
    uint64_t next_us, took_us;
    uint32_t ticks, every_ms;
    uint32_t saved;
};

static inline bool is_alive(const process *p) { return !p->ended && !p->later && (p->pidfd >= 0 || p->asked); }
static inline bool is_unseen(const process *p) { return !p->ended && !p->later && !is_alive(p); }

/* lines.c: prints a line per tick until no process is alive or the reader is gone. Returns the exit status. */
int watch_lines(watch *w);

#endif
