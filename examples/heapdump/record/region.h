/* The region of a recording: memory that its processes write to. */
#ifndef HEAPDUMP_REGION_H
#define HEAPDUMP_REGION_H

#include "../heaps/heaps.h"

/* Memory that all processes of a recording share. Other processes write to it, so data in it is trusted only as a
   statement of a process about itself. */
typedef struct region {
    int fd;
    uint8_t *base;
    uint64_t size, used;         /* used: highest count that its header had */
    uint64_t pages, pages_read;  /* bytes in allocated pages; pages_read: in pages that our reading allocated */
    uint64_t pages_guessed;      /* bytes of pages_read that another process may have allocated */
    uint64_t faults;             /* our page faults before we read */
    bool is_ours;                /* we made it, and may write to it */
    uint8_t begins[8];
} region;

bool region_make(region *r, const char *keep);
bool region_open(region *r, const char *path);
bool region_from(region *r, int fd);
/* Number of readable bytes, and limits that fit them. */
uint64_t region_bytes(region *r, hd_limits *limits);
/* Number of records in these bytes. Each record takes a page of its own. */
uint32_t region_count(const region *r, uint64_t bytes, const hd_limits *limits);
/* The most that hd_recorded.bytes of all records may add up to: twice the allocated bytes, since rows are written
   meanwhile. */
uint64_t region_claims(const hd_limits *limits);
/* Called after reading the bytes that region_bytes allowed. */
void region_was_read(region *r);

#endif
