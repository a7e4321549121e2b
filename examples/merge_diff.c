/* Adds up all heaps of each of two files, and prints the growth between them: merge_diff BEFORE AFTER */

#include <stdlib.h>
#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* Adds all heaps of a file; the sum borrows its labels from the dump. */
static hd_status sum_of(const char *path, hd_dump **dump, hd_heap *sum, hd_error *err) {
    hd_status status = hd_read_file(path, NULL, dump, err);
    size_t count = status ? 0 : hd_dump_heap_count(*dump);
    hd_heap *heaps;
    if (status) return status;
    heaps = (hd_heap *)malloc((count + 1) * sizeof *heaps);
    if (!heaps) return HD_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) heaps[i] = *hd_dump_heap(*dump, i);
    status = hd_merge(heaps, count, NULL, sum, err);
    free(heaps);
    return status;
}

/* Counts the entries that only one heap has, in the columns that hd_print_diff prints. */
static hd_status count_changes(const hd_heap *before, const hd_heap *after, hd_error *err) {
    int appeared = 0, went = 0;
    hd_diff *diff;
    hd_status status = hd_compare(before, after, NULL, NULL, &diff, err);
    if (status) return status;
    for (uint32_t i = 0; i < diff->before.count; i++) {
        appeared += diff->flags[i] & HD_DIFF_NEW ? 1 : 0;
        went += diff->flags[i] & HD_DIFF_GONE ? 1 : 0;
    }
    printf("%d entries appeared, %d went\n", appeared, went);
    hd_diff_free(diff);
    return HD_OK;
}

int main(int argc, char **argv) {
    hd_tree_options options = { .cutoff = { .min_share = 0.01 } };
    hd_dump *dump[2] = { NULL, NULL };
    hd_heap sum[2];
    hd_error err = { .status = HD_OK };
    int failed = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: %s BEFORE AFTER\n", argv[0]);
        return 2;
    }
    memset(sum, 0, sizeof sum);
    for (int i = 0; i < 2 && !failed; i++) {
        failed = sum_of(argv[1 + i], &dump[i], &sum[i], &err) != HD_OK;
        if (failed) fprintf(stderr, "%s: %s\n", argv[1 + i], err.message);
    }
    if (!failed) failed = hd_print_diff(&sum[0], &sum[1], &options, hd_out_file(stdout), &err) != HD_OK;
    if (!failed) failed = count_changes(&sum[0], &sum[1], &err) || fflush(stdout);
    for (int i = 0; i < 2; i++) {
        hd_heap_release(&sum[i]);
        hd_dump_free(dump[i]);
    }
    return failed;
}
