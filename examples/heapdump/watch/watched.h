/* What watch keeps of the recording that it looks at. */
#ifndef HEAPDUMP_WATCHED_H
#define HEAPDUMP_WATCHED_H

#include "watch.h"

/* A frame that was named: its innermost function that does not work for others. What has no such is asked for
   callers. */
typedef struct known {
    char *frame;
    char *site;                  /* NULL: all of them do */
    char *first;                 /* the innermost of them */
    watch_row *row, *first_row;  /* NULL: not asked for yet */
} known;

enum { KNOWN_MOST = 1 << 18 };

struct watch {
    const arguments *a;
    recording r;
    watch_table table;
    uint32_t at;                 /* the process; HD_NONE: none */
    uint64_t pid;                /* that was asked for; 0: none */
    void *known;                 /* a tree of <search.h> */
    uint32_t known_count;
    char program[PATH_MAX];      /* the file that it runs, where that is told */
    char told[160];
    bool ended, replaced;        /* told of */
    uint64_t next_us, took_us;
    uint32_t ticks, every_ms;
    uint32_t saved;
};

static inline bool is_alive(const process *p) { return !p->ended && !p->later && (p->pidfd >= 0 || p->asked); }
static inline bool is_unseen(const process *p) { return !p->ended && !p->later && !is_alive(p); }

/* lines.c: a line per look, until nobody lives or nobody reads. Returns the exit status. */
int watch_lines(watch *w);

#endif
