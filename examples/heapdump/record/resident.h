/* The resident memory of a program (RSS), split by the kinds of its mappings in /proc/PID/smaps. */
#ifndef HEAPDUMP_RESIDENT_H
#define HEAPDUMP_RESIDENT_H

#include "../heaps/heaps.h"

typedef enum resident_kind {
    MAP_ANONYMOUS_ONE, MAP_HEAP_ONE, MAP_STACK_ONE, MAP_FILE_ONE, MAP_SPECIAL_ONE
} resident_kind;

/* A line of /proc/PID/maps, with the figures that smaps lists below it. */
typedef struct resident_map {
    uint64_t start, end;
    uint64_t inode;              /* 0: not a file */
    uint64_t bytes;              /* resident */
    resident_kind kind;
    bool reads, writes;          /* may be read, written */
    bool random, unreserved;     /* flags rr, nr */
    bool of_recorder;            /* a map of the recorder's library or of the region */
    bool holds;                  /* contains recorded blocks */
    bool is_stack;
} resident_map;

typedef struct resident_maps {
    resident_map *map;           /* by address */
    size_t count, room;
    bool unexpected;             /* a line has a form that the kernel does not write */
} resident_maps;

/* Adds a line of smaps, without its end. False: the line is malformed, or there are too many maps; no map was
   added. */
bool resident_line(resident_maps *m, const char *line, size_t size);
/* The map that contains an address, or NULL. O(log maps). */
resident_map *resident_map_at(const resident_maps *m, uint64_t address);
/* Guesses stacks of threads with an unknown stack pointer, at most `threads` of them: maps directly above an
   inaccessible page. */
void resident_guess_stacks(resident_maps *m, size_t threads);
/* Adds up all maps by part; `live`: bytes of live blocks in maps that hold blocks. */
void resident_sum(const resident_maps *m, uint64_t live, uint64_t part[RESIDENT_PARTS]);
void resident_maps_free(resident_maps *m);

/* Maps that held blocks or were stacks at the last look. They still count as that if nothing newer is known. */
typedef struct resident_ranges {
    struct { uint64_t start; bool holds; } *at; /* holds: blocks; else a stack */
    size_t count;
} resident_ranges;

/* resident.c: three calls to look at a process that records into a region with this inode. The first reads its maps
   and finds the stacks: returns 0 or an errno, ENOENT if it does not map the region. `before`: from the last look, or
   empty. */
int resident_read(uint64_t pid, uint64_t inode, const resident_ranges *before, resident_maps *maps);
/* The second marks the maps with blocks of recorder `number` in the region, and adds up the parts. False if the
   recorder does not exist. */
bool resident_parts(resident_maps *maps, const void *base, uint64_t bytes, uint32_t number,
                    const resident_ranges *before, uint64_t part[RESIDENT_PARTS]);
/* The third keeps facts for the next look. False: out of memory. The caller frees to->at with free. */
bool resident_remember(resident_ranges *to, const resident_maps *maps);

#endif
