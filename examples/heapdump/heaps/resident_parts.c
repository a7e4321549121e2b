/* The names of the parts of resident memory. */

#include "heaps.h"

const char *const resident_names[RESIDENT_PARTS] = { "live_blocks", "allocator", "stacks", "files", "anonymous",
                                                     "recorder", "unexplained" };
const char *const resident_words[RESIDENT_PARTS] = {
    "live blocks: allocated by the program and not freed",
    "allocator: freed blocks, and the allocator's own data", "stacks: of threads",
    "files: the program, its libraries and other mapped files",
    "mmap: memory that the program mapped itself, and allocator memory without blocks",
    "recorder: memory of heapdump in the program", "unexplained: all other memory" };
