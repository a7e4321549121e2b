/* Where a program's resident bytes go: what /proc/PID/smaps says of its maps, told apart. */
#ifndef HEAPDUMP_RESIDENT_H
#define HEAPDUMP_RESIDENT_H

#include "../heaps/heaps.h"

typedef enum resident_kind {
    MAP_ANONYMOUS_ONE, MAP_HEAP_ONE, MAP_STACK_ONE, MAP_FILE_ONE, MAP_SPECIAL_ONE
} resident_kind;

/* A line of /proc/PID/maps, with what smaps has below it. */
typedef struct resident_map {
    uint64_t start, end;
    uint64_t inode;              /* 0: no file's */
    uint64_t bytes;              /* resident */
    resident_kind kind;
    bool reads, writes;          /* may be read, written */
    bool random, unreserved;     /* flags rr, nr */
    bool of_recorder;            /* its library's, or the region */
    bool holds;                  /* recorded blocks */
    bool is_stack;
} resident_map;

typedef struct resident_maps {
    resident_map *map;           /* by address */
    size_t count, room;
    bool unexpected;             /* a line was not as the kernel writes it */
} resident_maps;

/* A line of smaps without its end. False: it is not as the kernel writes it, or there are too many maps, and nothing
   was added. */
bool resident_line(resident_maps *m, const char *line, size_t size);
/* The map that an address lies in; NULL: none. O(log maps). */
resident_map *resident_map_at(const resident_maps *m, uint64_t address);
/* Takes maps for stacks that lie above a page that nobody may touch, at most `threads` of them: stacks of threads
   whose stack pointer is not to be seen. */
void resident_guess_stacks(resident_maps *m, size_t threads);
/* What all maps come to, when so many bytes are live in those that hold blocks. */
void resident_sum(const resident_maps *m, uint64_t live, uint64_t part[RESIDENT_PARTS]);
void resident_maps_free(resident_maps *m);

/* Where maps held blocks, or were stacks, at the last look: they are that still where nothing else tells. */
typedef struct resident_ranges {
    struct { uint64_t start; bool holds; } *at; /* holds: blocks; else a stack */
    size_t count;
} resident_ranges;

/* resident.c: three calls for who looks at a process that records into a region of this inode. Reads its maps, and
   which are stacks: 0, or an errno; ENOENT also where it has no such region. `before`: of the last look, or empty. */
int resident_read(uint64_t pid, uint64_t inode, const resident_ranges *before, resident_maps *maps);
/* Then finds those that hold blocks of a recorder in the region, and adds up the parts. False: there is none such. */
bool resident_parts(resident_maps *maps, const void *base, uint64_t bytes, uint32_t number,
                    const resident_ranges *before, uint64_t part[RESIDENT_PARTS]);
/* Keeps what the next look wants to know. False: there is no memory. Its array is freed by free(). */
bool resident_remember(resident_ranges *to, const resident_maps *maps);

#endif
