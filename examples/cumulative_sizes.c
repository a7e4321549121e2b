/* Makes a breakdown from sizes that are already cumulative, like the output of du; looks up an entry, and cuts small
   ones off. Line counts of a source tree stand for bytes here. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static const struct {
    const char *path[2];
    uint64_t lines;
} sizes[] = { { { NULL, NULL }, 1000 }, { { "lib", NULL }, 700 }, { { "lib", "json" }, 400 }, { { "doc", NULL }, 20 } };

int main(void) {
    hd_profile_desc desc = { .axis_count = 1, .axis_name = { "directory" } };
    hd_error err;
    hd_profile *profile = hd_profile_create(&desc, &err);
    hd_breakdown *breakdown = NULL, *small = NULL;
    hd_cutoff cutoff = { .min_share = 0.1 };
    hd_heap heap = { .allocator = "lines" };
    hd_status status = profile ? HD_OK : err.status;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
        uint32_t node = 0;
        for (int k = 0; k < 2 && sizes[i].path[k] && !status; k++)
            status = hd_profile_node(profile, 0, node, hd_cstr(sizes[i].path[k]), &node, &err);
        if (!status) status = hd_profile_add(profile, &node, sizes[i].lines, 1, &err);
    }
    if (!status) status = hd_breakdown_from_cumulative(profile, NULL, &breakdown, &err);
    if (!status) {
        uint32_t lib = hd_axis_child(breakdown->axis[0], 0, hd_cstr("lib"));
        uint32_t missing = hd_axis_child(breakdown->axis[0], lib, hd_cstr("xml"));
        printf("lib is entry %" PRIu32 " of %" PRIu32 "; lib/xml is %slisted\n",
               hd_breakdown_find(breakdown, &lib), breakdown->entries.count, missing == HD_NONE ? "not " : "");
        status = hd_breakdown_cut(breakdown, &cutoff, NULL, &small, &err);
    }
    heap.breakdown = small;
    if (!status) status = hd_print_tree(&heap, NULL, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_breakdown_free(small);
    hd_breakdown_free(breakdown);
    hd_profile_free(profile);
    return status != HD_OK || fflush(stdout);
}
