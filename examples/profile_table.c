/* Fills a profile by hand, condenses it, and prints it by each axis: the table of the heap dump format's document. */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static const struct {
    const char *frame[2];
    uint64_t bytes[4];           /* by type: T, U, V, W */
} table[] = {
    { { NULL, NULL }, { 2, 3, 5, 7 } },
    { { "BrMain", NULL }, { 7, 11, 13, 2 } },
    { { "BrMain", "Init" }, { 151, 5, 3, 83 } },
    { { "BrMain", "MsgLp" }, { 307, 2, 281, 11 } },
    { { "RdMain", NULL }, { 3, 7, 17, 2 } },
    { { "RdMain", "RTask" }, { 211, 3, 5, 337 } },
    { { "RdMain", "FnA" }, { 2, 0, 7, 11 } },
    { { "RdMain", "FnB" }, { 13, 3, 2, 5 } },
    { { "ColdFn", NULL }, { 2, 5, 7, 3 } }
};

int main(void) {
    static const char *const types[] = { "T", "U", "V", "W" };
    hd_error err;
    hd_profile *profile = hd_profile_create(NULL, &err);
    hd_heap heap = { .allocator = "table", .profile = profile };
    hd_tree_options options = { .cutoff = { .min_bytes = 64 }, .every_route = true };
    hd_status status = profile ? HD_OK : err.status;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int t = 0; t < 4 && !status; t++) {
            uint32_t at[2] = { 0, 0 };
            for (int k = 0; k < 2 && table[i].frame[k] && !status; k++)
                status = hd_profile_node(profile, HD_AXIS_BACKTRACE, at[0], hd_cstr(table[i].frame[k]),
                                         &at[0], NULL);
            if (!status) status = hd_profile_node(profile, HD_AXIS_TYPE, 0, hd_cstr(types[t]), &at[1], NULL);
            if (!status) status = hd_profile_add(profile, at, table[i].bytes[t], 1, NULL);
        }
    if (!status) status = hd_print_tree(&heap, &options, hd_out_file(stdout), NULL);
    hd_profile_free(profile);
    if (status) fprintf(stderr, "%s\n", hd_status_text(status));
    return status != HD_OK;
}
