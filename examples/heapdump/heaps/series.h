/* Dumps of a process in order, with each function's bytes in each dump: suspects_series.c and suspects_sites.c. */
#ifndef HEAPDUMP_SERIES_H
#define HEAPDUMP_SERIES_H

#include "heaps.h"
#include "pairing_frames.h"

/* Bytes of a site in one dump. `blocks` is NAN if the dump has no block counts; `old`: bytes older than a minute;
   `largest`: bytes of the largest call path. */
typedef struct point { double bytes, blocks, variance, old, largest; uint32_t dump; } point;

/* A site's points in the order of dumps. A site has 0 bytes in a dump without a point. */
typedef struct track { point *at; uint32_t count; } track;

/* The dumps of one process and allocator, in order. Axis 0 of `names` is the tree of functions, without helpers
   (functions that allocate for others); axis 1 lists the sites. A name has the file and object, without the line. */
typedef struct series {
    const hd_heap **heaps;
    const chosen **from;         /* by dump: its file */
    renamed_heap *renamed;       /* by dump: with the last file's names for functions; NULL: only one file */
    const char *file;            /* of the last dump */
    uint32_t count, counted;     /* counted: without last dumps that the program took while it cleaned up */
    uint64_t *times;
    bool every_frame;            /* --frames all: helpers are sites, too */
    bool by_time;                /* growth is judged by time, not by step */
    hd_profile *names;
    track *at;                   /* by node: its own */
    uint32_t *site;              /* by node: on axis 1 */
    char **place;                /* by node: file and line, where known */
    double *place_bytes;
    bool *helper;                /* by node: only call stacks of helpers */
    uint32_t *seen, *ways;       /* by node: 1 + the last dump that lists it, and its number of call paths there */
    uint32_t nodes, first_nodes; /* first_nodes: of the first dump */
    uint32_t levelled;           /* nodes whose bytes moved to a caller: a dump leaves them out */
    bool own_code;               /* the last dump has bytes of the program's own functions */
    bool aged;                   /* all dumps have ages */
    point *total;                /* by dump */
} series;

typedef struct suspect {
    const series *s;
    uint32_t site, node;         /* node: the call path of the site that looks most like a leak */
    uint32_t with;               /* the likeliest other site with the same growth in blocks, or 0 */
    const char *place;           /* "dir/file.c:12"; NULL: unknown */
    trend trend;
    point first, last;
    double blocks_grown;
    track at;
    bool helper;                 /* the site is an object: its call stacks have only helpers */
    bool survived;               /* it was not freed when the program cleaned up */
    double score, own_score;     /* score: with sites of the same growth in blocks */
} suspect;

/* All sites of a series, the likeliest leak first. */
typedef struct suspects {
    const series *s;
    suspect *list;
    uint32_t count, listed;      /* listed: number of sites worth a look */
    uint32_t shown;              /* number of these that are shown */
} suspects;

typedef struct all_series {
    series *list;
    size_t count;
} all_series;

/* suspects_series.c: heaps of the same process, allocator and kind, in the order of files and dumps. Time is
   O(heaps log heaps). Totals and temporary heaps do not show leaks, so they are taken only with any_kind. */
void series_collect(all_series *all, const chosen *files, int count, bool any_kind);

/* Renames functions to their names in the last file. */
hd_status series_rename(series *s, hd_error *err);

/* suspects_sites.c */
int series_fill(series *s);
void series_free(series *s);
/* The point of a track at one dump; zeros if the dump has no point. */
point point_at(const track *t, uint32_t dump);
/* Adds the points of another track. */
void track_add(track *to, const track *more);
/* How likely a track is a leak. */
trend track_trend(const series *s, const track *t);

/* suspects_level.c: moves bytes of functions that the first or last dump leaves out to a caller. Time is O(nodes). */
void series_level(series *s);

/* suspects.c */
double seconds_of(const series *s);
/* Growth from the first dump to the last; bytes if there is one dump. */
double weight_of(const series *s, const suspect *p);
enum { MOST_CALLERS = 12 };
/* Names of a site's callers, innermost first: at each level the caller with most of the site's bytes. `share` of the
   bytes comes along all of them. */
uint32_t callers_of(const suspect *p, hd_str *names, double *share);

/* A function that calls a site, and the site's bytes that it asked for. */
typedef struct site_caller { hd_str name; double bytes; } site_caller;
/* The direct callers of a site, most bytes first, up to `most`. Returns the number of all. */
uint32_t direct_callers(const suspect *p, site_caller *list, uint32_t most);

/* suspects_print.c */
/* Prints that the program freed its memory. `left`: live bytes of libraries; `peak`: the peak is shown next. */
void put_freed(FILE *out, const arguments *a, double left, bool peak);
void series_text(FILE *out, const arguments *a, const suspects *found);
void series_json(hd_json *j, const suspects *found);
/* Proposes the call stacks of the first suspect in the program's own code. */
void series_propose(const arguments *a, const suspects *found, proposal *next);

#endif
