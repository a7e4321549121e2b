/* The one copy of the library that the tool is linked with. */

#define HEAPDUMP_IMPLEMENTATION
#define HEAPDUMP_LARGE_BLOCK (16u << 20) /* smaller ones are malloc's, which uses them again: memory_keep */
#include "../../heapdump.h"
