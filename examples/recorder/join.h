/* How a program under `heapdump record` gets the region that it records into.

   HEAPDUMP_JOIN is the name of an abstract Unix socket, without its leading NUL, that `heapdump` listens on: 32
   hexadecimal digits drawn at random. A program that starts connects (SOCK_SEQPACKET), sends a join_request, and
   gets a join_reply; when that says so, with the descriptor of the region (SCM_RIGHTS), which it maps and closes.
   Each side asks the kernel who the other is (SO_PEERCRED): `heapdump` records processes below the one it started,
   a program takes a region from the user in the reply of the first one only: HEAPDUMP_USER, or from root.

   A forked child has the mapping already and joins nobody. After exec a program joins again. Where it cannot, it
   runs unrecorded; `heapdump` counts processes that it sees and that did not join. */

#ifndef JOIN_H
#define JOIN_H

#include <stdint.h>

enum { JOIN_VERSION = 2, JOIN_NAME = 32 };

typedef struct join_request {
    uint32_t version, size;      /* size: of this struct */
    uint64_t start_us;           /* CLOCK_MONOTONIC, when the recorder of this process started */
    char program[64];            /* as it was called, without directories */
    char allocator[64];          /* object with a malloc that comes before the recorder's, so that the recorder sees
                                    no call of it; empty: none; ".": the program */
} join_request;

enum { JOIN_REFUSED, JOIN_RECORD };
enum {
    JOIN_LIFETIMES = 1,          /* MemProf profiles are to be made: lifetimes of blocks are recorded */
    JOIN_NO_CHILDREN = 2,        /* a forked child is not recorded */
    JOIN_SAME_USER = 4,          /* a process that changes its user is not recorded from there on */
    JOIN_STATS = 8,              /* calls are timed at random: what recording costs */
    JOIN_BLOCKS = 16,            /* live blocks are shown one by one */
    JOIN_AGES = 32,              /* when each live block was allocated is recorded */
    JOIN_THREADS = 64            /* names of threads are recorded */
};

/* With JOIN_STATS, what hd_recorder_note counts (hd_recorded.notes). The last five lag behind by some calls. */
enum {
    JOIN_CALLS,                  /* of hooks that record, less those since the last one that was timed */
    JOIN_TIMED, JOIN_NANOSECONDS, /* that these took */
    JOIN_STACKS, JOIN_FRAMES,    /* walked */
    JOIN_SHADOWED,               /* frames known from the stack before */
    JOIN_RULES,                  /* unwind rules read */
    JOIN_DECLINED                /* stacks left to libunwind */
};

typedef struct join_reply {
    uint32_t version, size;
    uint32_t answer, flags;
    uint64_t region_bytes;       /* of the whole region; a process may map less of it */
    uint64_t sample_bytes;
    uint32_t depth;              /* frames per stack */
    uint32_t reserved;
} join_reply;

#endif
