/* Runs: steps of a path that repeat with a period, as the elements of a linked list do. */
#ifndef HEAPDUMP_RUNS_H
#define HEAPDUMP_RUNS_H

#include "../shell/shell.h"

/* The steps of a path so far, each with a key: equal for equal steps. Long paths of a tree share their beginning, so
   the last step can be removed again. Zeroed: an empty path. */
typedef struct run_trail {
    uint32_t *object, *period;   /* the caller's, by step */
    uint64_t *hash;              /* of all keys before a step */
    uint64_t *power;
    uint32_t *mixed;             /* mixed hash of the step's key */
    uint32_t *before;            /* the step before it in the same slot, plus 1; 0: none */
    uint32_t *last;              /* by slot: its last step, plus 1; 0: none */
    uint32_t count, room;        /* number of slots: one for each step of the capacity */
} run_trail;

enum { RUN_PERIODS = 8 };        /* a key may occur this often in one period */

void run_trail_free(run_trail *r);
void run_trail_push(run_trail *r, uint32_t object, uint64_t key);
void run_trail_pop(run_trail *r);
/* Candidates, the shortest first: periods p for which the last p steps have the keys of the p steps before them.
   O(1). Keys are hashes: the caller compares the steps. */
uint32_t run_periods(const run_trail *r, uint32_t periods[RUN_PERIODS]);

/* Whether two steps are alike; `first`: the name of the reference may differ, since the earlier step begins a run. */
typedef bool run_alike(const void *user, uint32_t at, uint32_t before, bool first);
/* By step of a whole path: the period of a run of at least three elements that begins there; 0: none. The caller
   frees it. */
uint32_t *run_starts(const uint64_t *keys, uint32_t count, run_alike *alike, const void *user);

/* Adds a part to the key of a step. */
static inline uint64_t run_key(uint64_t key, uint64_t part) {
    key = (key ^ part) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

#endif
