/* Tests with very many cases run only a part of them, spread over all, in `make test`. With HEAPDUMP_LONG=1 they run
   all; tests/peers/scripts/long-tests.sh does this. */
#ifndef LONG_H
#define LONG_H

#include <stdlib.h>

/* The number of rounds, or the size of the steps between cases. */
static inline int long_or_short(int in_long, int in_short) { return getenv("HEAPDUMP_LONG") ? in_long : in_short; }

#endif
