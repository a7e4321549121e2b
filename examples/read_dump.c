/* Reads any heap dump and prints it as a tree: read_dump FILE */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

int main(int argc, char **argv) {
    hd_tree_options options = { .cutoff = { .min_share = 0.01 }, .units = true };
    hd_dump *dump;
    hd_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    if (hd_read_file(argv[1], NULL, &dump, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++)
        hd_print_tree(hd_dump_heap(dump, i), &options, hd_out_file(stdout), &err);
    hd_dump_free(dump);
    return 0;
}
