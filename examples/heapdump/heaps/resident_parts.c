/* The names of the parts of resident memory. */

#include "heaps.h"

const char *const resident_names[RESIDENT_PARTS] = { "live_blocks", "allocator", "stacks", "files", "anonymous",
                                                     "recorder", "unexplained" };
const char *const resident_words[RESIDENT_PARTS] = {
    "live blocks (recorded)",
    "allocator: rest of the blocks' mappings, adjacent mmap of the program included",
    "stacks of threads", "mapped files: programs, libraries and others",
    "anonymous mappings without recorded blocks: mostly the program's own mmap", "recorder", "unexplained" };
