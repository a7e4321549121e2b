/* The region of a recording: memory that its processes write to. */
#ifndef HEAPDUMP_REGION_H
#define HEAPDUMP_REGION_H

#include "../heaps/heaps.h"

/* Memory that all processes of a recording share. Others write to it: what it says is believed of
   themselves alone. */
typedef struct region {
    int fd;
    uint8_t *base;
    uint64_t size, used;         /* used: the most that it said */
    uint64_t pages, pages_read;  /* bytes in pages; of those, that our reading made */
    uint64_t pages_guessed;      /* of these, that somebody else may have made meanwhile */
    uint64_t faults;             /* our own, before we read */
    bool is_ours;                /* to write to */
    uint8_t begins[8];
} region;

bool region_make(region *r, const char *keep);
bool region_open(region *r, const char *path);
bool region_from(region *r, int fd);
/* Bytes of it that are there to be read, and limits that fit them. */
uint64_t region_bytes(region *r, hd_limits *limits);
/* Number of records in these bytes. Each record takes a page of its own. */
uint32_t region_count(const region *r, uint64_t bytes, const hd_limits *limits);
/* The most that hd_recorded.bytes of all records may add up to: the bytes that are there, and as many again for rows
   that are written meanwhile. */
uint64_t region_claims(const hd_limits *limits);
/* Called when what region_bytes allowed has been read. */
void region_was_read(region *r);

#endif
