/* The only copy of the library in the tool. */

#include <stddef.h>

extern size_t memory_large_block; /* memory_keep changes it; the examples link this file too, and keep it */
size_t memory_large_block = 1 << 20;
#define HEAPDUMP_LARGE_BLOCK memory_large_block
#define HEAPDUMP_IMPLEMENTATION
#include "../../heapdump.h"
