/* Pages that live blocks are on, of the processes of a recording. */
#ifndef HEAPDUMP_PAGES_H
#define HEAPDUMP_PAGES_H

#include "region.h"

/* What is counted as one: its name, or of a call stack its frames, outermost first, a line each. */
typedef struct group {
    char *name;
    uint32_t number;
} group;

typedef struct page_sites {
    enum { BY_FUNCTION, BY_STACK, BY_TYPE } by;
    symbols *names;
    hd_profile *profile;         /* of contexts: what they are called */
    uint32_t (*nodes)[2];        /* by context; HD_NONE: it never allocated */
    uint32_t contexts;
    char **text;                 /* by node of backtraces: the frames that it stands for; NULL: not asked for yet */
    void *tree;                  /* of groups, by name */
    group **groups;
    uint32_t count, room;
    uint32_t *of;                /* by context: its group */
} page_sites;

/* Pages with blocks, in order of addresses, so many of them a cell: few, however many pages there are. */
enum { PAGE_CELLS = 4096 };
typedef struct page_cell {
    uint64_t address;            /* of the first page */
    uint64_t pages, used;        /* used: bytes */
} page_cell;
typedef struct page_map {
    page_cell *cells;            /* NULL: not asked for; else room for PAGE_CELLS */
    uint64_t each;               /* pages of a cell; of the last one it may be less */
    uint32_t count;
    uint64_t page_bytes;
} page_map;

/* A process of a region. */
typedef struct paged {
    const char *file;
    hd_recorded state;
    uint32_t number;
    page_sites sites;
    symbols own;                 /* of its modules */
    hd_page_use *rows;           /* those that keep most come first */
    size_t count;
    hd_pages_summary total;
    page_map map;
} paged;

/* The region of a recording that runs, by the file that it writes or the pid of a process, or a file of
   record --keep; false, and told: it is none. */
bool pages_open(const arguments *a, const char *what, region *r);
void pages_close(region *r);
/* The processes of it that have live blocks, those with most first: that of --pid, or of `what` where it is a pid,
   else all. Their number; to be freed, each by paged_free and all by free. */
uint32_t pages_find(const arguments *a, const char *what, region *r, paged **out);
/* Counts what a process has. False, and told: it cannot. */
bool paged_fill(paged *p, const arguments *a, const char *by, region *r);
void paged_free(paged *p);

#endif
