/* Adds up the heaps of any number of files, with one file in memory at a time, and prints the sum as a tree:
   merge_files FILE... */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* Heaps of one kind go into one sum: live bytes are never added to bytes allocated since the start. */
static hd_status add_file(hd_merger *merger, const char *path, hd_error *err) {
    hd_dump *dump;
    hd_status status = hd_read_file(path, NULL, &dump, err);
    if (status) return status;
    for (size_t i = 0; i < hd_dump_heap_count(dump) && !status; i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        if (heap->kind == HD_HEAP_LIVE) status = hd_merger_add(merger, heap, err);
        else fprintf(stderr, "%s: heap %d is left out, being of kind %s\n", path, (int)i, hd_heap_kind_name(heap->kind));
    }
    hd_dump_free(dump);
    return status;
}

int main(int argc, char **argv) {
    hd_tree_options options = { .cutoff = { .min_share = 0.05 }, .units = true };
    hd_error err;
    hd_heap sum = { .profile = NULL };
    hd_merger *merger = hd_merger_create(NULL, &err);
    hd_status status = merger ? HD_OK : err.status;
    for (int i = 1; i < argc && !status; i++) status = add_file(merger, argv[i], &err);
    if (!status) fprintf(stderr, "the sum takes %s\n", hd_merger_memory(merger) < 1 << 20 ? "less than a megabyte" : "more");
    if (!status) status = hd_merger_finish(merger, &sum, &err);
    if (!status) status = hd_print_tree(&sum, &options, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_heap_release(&sum);
    hd_merger_free(merger);      /* after the sum, which borrows its labels from the merger */
    return status != HD_OK || fflush(stdout);
}
