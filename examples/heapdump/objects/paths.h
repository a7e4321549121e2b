/* Roots and references as the commands path and object show them. */
#ifndef HEAPDUMP_PATHS_H
#define HEAPDUMP_PATHS_H

#include "instances.h"

/* paths.c */
void put_root(FILE *out, const objects *o, const hd_root *root);
void json_index(hd_json *j, const objects *o, uint32_t object, uint32_t reference);

/* Paths to an object, shortest first. In V8 snapshots paths from the program's roots come before the engine's. */
typedef struct found_paths {
    hd_path *list;
    uint32_t count;
    bool more;                   /* there may be longer paths */
    hd_paths *found;             /* owns the columns of the list; NULL: each path owns its columns */
} found_paths;

/* paths_found.c: at most a->paths paths. To be freed. */
int paths_find(const arguments *a, const objects *o, uint32_t object, found_paths *found);
void paths_free(found_paths *found);

#endif
