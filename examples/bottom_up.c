/* Prints each heap of a file bottom-up: by innermost frames with their callers, and the name on the first axis that
   holds most: bottom_up FILE */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static int by_name(const void *a, const void *b) { return hd_str_compare(*(const hd_str *)a, *(const hd_str *)b); }

/* Prints each name of an axis once, in order. */
static void print_names(hd_axis axis) {
    hd_str *names = (hd_str *)malloc(axis.node_count * sizeof *names);
    if (!names) return;
    memcpy(names, axis.node_name, axis.node_count * sizeof *names);
    qsort(names, axis.node_count, sizeof *names, by_name);
    for (uint32_t i = 1; i < axis.node_count; i++) {
        hd_str name = names[i], piece;
        if (hd_str_equal(name, names[i - 1])) continue;
        printf("  ");
        while ((piece = hd_visible(&name)).len) printf(HD_FMT, HD_ARG(piece));
    }
    printf("\n");
    free(names);
}

int main(int argc, char **argv) {
    hd_dump *dump = NULL;
    hd_error err;
    hd_status status;
    if (argc != 2) return fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
    status = hd_read_file(argv[1], NULL, &dump, &err);
    for (size_t i = 0; !status && i < hd_dump_heap_count(dump); i++) {
        hd_heap one = *hd_dump_heap(dump, i), inverted;
        hd_top_options innermost = { .axis = HD_AXIS_BACKTRACE, .top = 1 };
        hd_profile *only = NULL;
        if (one.breakdown) {     /* a breakdown over several axes; only one axis can be inverted */
            status = hd_breakdown_axis_profile(one.breakdown, HD_AXIS_BACKTRACE, NULL, &only, &err);
            one.breakdown = NULL;
            one.profile = only;
        }
        if (!status) status = hd_invert(&one, HD_AXIS_BACKTRACE, NULL, &inverted, &err);
        if (!status) {
            print_names(hd_profile_axis(inverted.profile, HD_AXIS_BACKTRACE));
            status = hd_print_tree(&inverted, NULL, hd_out_file(stdout), &err);
            if (!status) status = hd_print_top(&one, &innermost, hd_out_file(stdout), &err);
            hd_heap_release(&inverted);
        }
        hd_profile_free(only);
    }
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    hd_dump_free(dump);
    return status != HD_OK || fflush(stdout);
}
