/* The one copy of the library that the tool is linked with. */

#define HEAPDUMP_IMPLEMENTATION
#include "../../heapdump.h"
