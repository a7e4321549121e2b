/* Shows how a compiler would treat the allocations of a function, according to an indexed MemProf profile:
   memprof_heat PROFILE FUNCTION (its linkage name) */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static void print_block(const hd_memprof_index *index, uint32_t block) {
    uint32_t stack = index->block_stack[block], matching;
    const hd_memprof_location *l = &index->locations[index->location[index->first[stack]]];
    matching = hd_memprof_index_match(index, l, 1, NULL, 0); /* blocks that look like this call to the compiler */
    printf("line +%" PRIu32 ", column %" PRIu32 ": %" PRIu64 " bytes in %" PRIu64 " blocks, %s; call stacks like it: "
           "%" PRIu32 "\n", l->line_offset, l->column,
           hd_memprof_index_value(index, block, HD_MEMPROF_TOTAL_SIZE),
           hd_memprof_index_value(index, block, HD_MEMPROF_ALLOC_COUNT),
           hd_memprof_heat_name(hd_memprof_index_heat(index, block, NULL)), matching);
}

int main(int argc, char **argv) {
    hd_options options = { .lenient = true };
    hd_memprof_index *index = NULL;
    hd_error err;
    hd_in in;
    hd_status status;
    uint32_t function;
    if (argc != 3) return fprintf(stderr, "usage: %s PROFILE FUNCTION\n", argv[0]), 2;
    status = hd_in_open(argv[1], &in, &err);
    if (!status) {
        status = hd_memprof_index_read(in, &options, &index, &err);
        hd_in_close(&in);
    }
    if (status) return fprintf(stderr, "%s: %s\n", argv[1], err.message), 1;
    function = hd_memprof_index_find(index, hd_memprof_guid(hd_cstr(argv[2])));
    if (function == HD_NONE) printf("%s allocates nothing that the profile knows\n", argv[2]);
    else
        for (uint32_t b = index->block_first[function]; b < index->block_first[function + 1]; b++)
            print_block(index, b);
    if (hd_memprof_index_warning_count(index)) fprintf(stderr, "%s: read in part\n", argv[1]);
    hd_memprof_index_free(index);
    return fflush(stdout);
}
