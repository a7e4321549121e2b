/* V8 objects: whether they are detached from a page, their source location, and the call stack that allocated
   them. */
#ifndef HEAPDUMP_ORIGINS_H
#define HEAPDUMP_ORIGINS_H

#include "objects.h"

typedef struct origins {
    const hd_v8 *v8;             /* NULL: not a V8 snapshot */
    hd_v8_origins *read;
} origins;

/* Must be closed. Returns an exit status. A malformed location or stack causes a warning. */
int origins_open(const arguments *a, const objects *o, origins *x);
void origins_close(origins *x);

bool is_detached(const objects *o, uint32_t object);
/* Lines for the command object. */
void put_origins(FILE *out, const arguments *a, const origins *x, uint32_t object);
/* The end of a line of objects: source, and the function that allocated it. */
void put_short_origins(FILE *out, const origins *x, uint32_t object);
/* Members; an unknown one is missing. */
void json_origins(hd_json *j, const origins *x, uint32_t object);

/* The innermost frame of the call stack that allocated an object, or else its source; false: neither is known. */
bool origin_of(const origins *x, uint32_t object, hd_v8_place *place, bool *allocated);
/* "allocated by load (app.js:3:14)", "source app.js:3:14" */
void put_origin(FILE *out, const hd_v8_place *place, bool allocated);

#endif
