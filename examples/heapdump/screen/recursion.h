/* Recursion told once. */
#ifndef HEAPDUMP_RECURSION_H
#define HEAPDUMP_RECURSION_H

#include "../shell/shell.h"

/* How often a frame is on a path, told by a number for the path to it. */
typedef struct repeat { uint64_t path; uint64_t times; } repeat;

typedef struct repeats { repeat *list; size_t count; } repeats;

/* The number of the empty path, and that of a path with one more frame. */
enum { NO_PATH = 0 };
uint64_t longer_path(uint64_t path, hd_str name);
/* 1 for frames that are not repeated. */
uint64_t times_of(const repeats *r, uint64_t path);

/* Backtraces in which frames that are directly followed by the same frames again, up to 32 of them, stand there once:
   of walk > walk > walk the first, of f > g > f > g > h it is f > g > h. What stood at a repeated frame stands at its
   first, so that sizes add up as they did. A breakdown does not tell all of that: of one, only a frame that is called
   by itself is told once, where an entry has all that is below it. *found: false, and *out is not set, where nothing
   is repeated; what such frames have of their own may be told as <other>. `times` says how often at most; its list is
   to be freed. */
hd_status tell_recursion_once(const hd_heap *heap, hd_heap *out, bool *found, repeats *times, hd_error *err);

#endif
