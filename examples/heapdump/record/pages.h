/* Pages with live blocks, of the processes of a recording. */
#ifndef HEAPDUMP_PAGES_H
#define HEAPDUMP_PAGES_H

#include "region.h"

/* One site: a function or type by its name, or a call stack as its frames, one per line, outermost first. */
typedef struct group {
    char *name;
    uint32_t number;
} group;

typedef struct page_sites {
    enum { BY_FUNCTION, BY_STACK, BY_TYPE } by;
    symbols *names;
    hd_profile *profile;         /* names of the contexts */
    uint32_t (*nodes)[2];        /* by context: its nodes on both axes; HD_NONE: the context never allocated */
    uint32_t contexts;
    char **text;                 /* by backtrace node: the functions of its frame; NULL: not made yet */
    void *tree;                  /* tsearch: groups by name */
    group **groups;
    uint32_t count, room;
    uint32_t *of;                /* by context: the number of its group */
} page_sites;

/* Pages with blocks, in order of addresses. Each cell covers `each` pages, so that PAGE_CELLS cells suffice for any
   number of pages. */
enum { PAGE_CELLS = 4096 };
typedef struct page_cell {
    uint64_t address;            /* address of its first page */
    uint64_t pages, used;        /* used: bytes of live blocks */
} page_cell;
typedef struct page_map {
    page_cell *cells;            /* PAGE_CELLS cells; NULL: no map was asked for */
    uint64_t each;               /* pages in each cell; the last cell may have fewer */
    uint32_t count;
    uint64_t page_bytes;
} page_map;

/* A process of a region. */
typedef struct paged {
    const char *file;
    hd_recorded state;
    uint32_t number;
    page_sites sites;
    symbols own;                 /* names for its modules */
    hd_page_use *rows;           /* sites, the largest share of pages first */
    size_t count;
    hd_pages_summary total;
    page_map map;
} paged;

/* Opens the region of a running recording, found by its output file or the PID of a process, or a file of record
   --keep. False on failure; the error was printed. */
bool pages_open(const arguments *a, const char *what, region *r);
void pages_close(region *r);
/* Finds the processes with live blocks, the largest first: the process of --pid, or of `what` if that is a pid, else
   all. Returns their number. The caller frees each with paged_free, and the array with free. */
uint32_t pages_find(const arguments *a, const char *what, region *r, paged **out);
/* Counts the pages of a process. False on failure; the error was printed. */
bool paged_fill(paged *p, const arguments *a, const char *by, region *r);
void paged_free(paged *p);

#endif
