/* The one copy of the library that the tool is linked with. */

#include <stddef.h>

extern size_t memory_large_block; /* memory.c */
#define HEAPDUMP_LARGE_BLOCK memory_large_block
#define HEAPDUMP_IMPLEMENTATION
#include "../../heapdump.h"
