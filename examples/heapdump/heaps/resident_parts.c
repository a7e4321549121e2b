/* The names of the parts of resident memory. */

#include "heaps.h"

const char *const resident_names[RESIDENT_PARTS] = { "live_blocks", "allocator", "stacks", "files", "anonymous",
                                                     "recorder", "unexplained" };
const char *const resident_words[RESIDENT_PARTS] = {
    "live blocks (recorded)", "the allocator's own: the rest of maps with recorded blocks", "stacks of threads",
    "mapped files, programs and libraries among them",
    "anonymous maps without recorded blocks: the program's own mmap", "the recorder", "unexplained" };
