/* How a program under `heapdump record` gets the region that it records into.

   HEAPDUMP_JOIN is the name of an abstract Unix socket, without its leading NUL: 32 random hexadecimal digits.
   `heapdump` listens on it. A program that starts connects (SOCK_SEQPACKET), sends a request, and gets a reply: the
   structs below. If the program is to be recorded, the reply has the descriptor of the region (SCM_RIGHTS). The
   program maps the region, and closes the descriptor. Each side asks the kernel for the other side's process
   (SO_PEERCRED). `heapdump` records processes below the process that it started. A program only accepts a region from
   root or from the user HEAPDUMP_USER. The reply to the first program named this user.

   A forked child already has the mapping and does not join. After exec a program joins again. If it cannot join, it
   runs unrecorded; `heapdump` counts the processes that it sees and that did not join.

   A recorded process sees from the file of a program that it executes or spawns whether the program can join. If not,
   the process connects and sends a join_missed. It gets no reply. The connection ends when exec succeeds. If exec
   fails, the process first sends the join_missed again, which then does not count. */

#ifndef JOIN_H
#define JOIN_H

#include <stdint.h>

enum { JOIN_VERSION = 2, JOIN_NAME = 32 };

typedef struct join_request {
    uint32_t version, size;      /* size: of this struct */
    uint64_t start_us;           /* CLOCK_MONOTONIC, when the recorder of this process started */
    char program[64];            /* its name, without directories */
    char allocator[64];          /* an object with a malloc that comes before the recorder's, so the recorder sees
                                    none of its calls; empty: none; ".": the program */
} join_request;

/* Why a program cannot join. */
enum { JOIN_CAN, JOIN_STATIC, JOIN_MUSL, JOIN_SANITIZER, JOIN_BITS, JOIN_RIGHTS, JOIN_REASONS };

typedef struct join_missed {
    uint32_t version, size;      /* size: of this struct */
    int32_t own, pid;            /* the sender, and the process that runs the program, as the sender numbers them */
    uint32_t why;                /* JOIN_STATIC or a later one */
    char program[64];            /* its name, without directories */
} join_missed;

enum { JOIN_REFUSED, JOIN_RECORD };
enum {
    JOIN_LIFETIMES = 1,          /* for MemProf profiles: lifetimes of blocks are recorded */
    JOIN_NO_CHILDREN = 2,        /* forked children are not recorded */
    JOIN_SAME_USER = 4,          /* a process that changes its user is not recorded any more */
    JOIN_STATS = 8,              /* random calls are timed, to measure the cost of recording */
    JOIN_BLOCKS = 16,            /* live blocks are shown one by one */
    JOIN_AGES = 32,              /* the allocation time of each live block is recorded */
    JOIN_THREADS = 64            /* names of threads are recorded */
};

/* With JOIN_STATS: the counters of hd_recorder_note (hd_recorded.notes). The last five lag behind by some calls. */
enum {
    JOIN_CALLS,                  /* hooks that recorded, less the calls since the last timed one */
    JOIN_TIMED, JOIN_NANOSECONDS, /* the sum of these times */
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
    uint32_t depth;              /* maximum of frames per stack */
    uint32_t reserved;
} join_reply;

#endif
