/* Tests that go through very many cases go through fewer, spread over all, in `make test`; through all of them with
   HEAPDUMP_LONG=1, as tests/peers/scripts/long-tests.sh has it. */
#ifndef LONG_H
#define LONG_H

#include <stdlib.h>

/* How many rounds, or in what steps. */
static inline int long_or_short(int in_long, int in_short) { return getenv("HEAPDUMP_LONG") ? in_long : in_short; }

#endif
