/* Folding of recursion. */
#ifndef HEAPDUMP_RECURSION_H
#define HEAPDUMP_RECURSION_H

#include "../shell/shell.h"

/* The number of times that a frame is repeated, by the number of the path to it. */
typedef struct repeat { uint64_t path; uint64_t times; } repeat;

typedef struct repeats { repeat *list; size_t count; } repeats;

/* The number of the empty path, and the number of a path with one more frame. */
enum { NO_PATH = 0 };
uint64_t longer_path(uint64_t path, hd_str name);
/* The repetitions of the last frame of a path; 1: not repeated. */
uint64_t times_of(const repeats *r, uint64_t path);

/* Folds recursion in backtraces: a cycle of up to 32 frames that is repeated at once stays once. walk > walk > walk
   becomes walk, and f > g > f > g > h becomes f > g > h. The bytes of a repeated frame move to its first occurrence,
   so sums stay the same. A breakdown does not have all of that: there, only a frame that calls itself is folded, and
   only if an entry has everything below it. Own bytes of folded frames may then become <other>. *found is false, and
   *out is not set, if nothing is repeated. `times` has the largest number of repetitions; the caller frees its list.
   */
hd_status tell_recursion_once(const hd_heap *heap, hd_heap *out, bool *found, repeats *times, hd_error *err);

#endif
