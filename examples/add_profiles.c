/* Adds up the profiles of two threads, each filled without a lock. Any order gives the same sum, as equal arrays. One
   of the profiles is sampled: its sizes are estimates with a variance. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* Adds bytes of `type` below main; the variance, in bytes squared, says how uncertain they are. */
static hd_status add(hd_profile *profile, const char *type, uint64_t bytes, uint64_t variance, hd_error *err) {
    hd_amount amount = { .bytes = bytes, .blocks = HD_UNKNOWN };
    uint32_t nodes[2];
    hd_status status = hd_profile_node(profile, HD_AXIS_BACKTRACE, 0, hd_cstr("main"), &nodes[0], err);
    amount.variance.lo = variance;
    if (!status) status = hd_profile_node(profile, HD_AXIS_TYPE, 0, hd_cstr(type), &nodes[1], err);
    return status ? status : hd_profile_add_amount(profile, nodes, &amount, err);
}

int main(void) {
    hd_error err;
    hd_profile *sum = hd_profile_create(NULL, &err), *exact = hd_profile_create(NULL, &err),
               *sampled = hd_profile_create(NULL, &err);
    hd_heap heap = { .kind = HD_HEAP_LIVE, .allocator = "two threads", .profile = sum };
    hd_status status = sum && exact && sampled ? HD_OK : HD_OUT_OF_MEMORY;
    if (!status) status = add(exact, "Node", 1000, 0, &err);
    if (!status) status = add(exact, "Edge", 200, 0, &err);
    if (!status) status = add(sampled, "Node", 524288, 250000000, &err);
    if (!status) status = hd_profile_merge(sum, sampled, &err);
    if (!status) status = hd_profile_merge(sum, exact, &err);
    if (!status) status = hd_profile_sort(sum, &err);
    if (!status) {
        hd_rows cells = hd_profile_cells(sum);
        for (uint32_t i = 0; i < cells.count; i++)
            printf("%" PRIu64 " bytes, give or take %" PRIu64 "\n", cells.amount[i].bytes,
                   hd_standard_error(cells.amount[i].variance));
        status = hd_print_tree(&heap, NULL, hd_out_file(stdout), &err);
    }
    if (status) fprintf(stderr, "%s\n", hd_status_text(status));
    hd_profile_free(sum), hd_profile_free(exact), hd_profile_free(sampled);
    return status != HD_OK || fflush(stdout);
}
