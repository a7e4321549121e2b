/* Names the functions of a raw MemProf profile with its own symbolizer, the output of `nm -n PROGRAM`, and prints
   their allocations: memprof_frames PROFILE SYMBOLS */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

typedef struct symbol {
    uint64_t address;
    char name[112];
} symbol;

typedef struct symbol_list {
    symbol *symbols;             /* by address */
    size_t count;
} symbol_list;

/* Reads lines like "0000000000401130 T main". */
static bool read_symbols(const char *path, symbol_list *list) {
    FILE *file = fopen(path, "r");
    symbol s;
    char kind;
    if (!file) return false;
    while (fscanf(file, "%" SCNx64 " %c %111s", &s.address, &kind, s.name) == 3) {
        symbol *grown = (symbol *)realloc(list->symbols, (list->count + 1) * sizeof *grown);
        if (!grown) break;
        list->symbols = grown;
        list->symbols[list->count++] = s;
    }
    fclose(file);
    return true;
}

/* An hd_memprof_symbolize_fn: without inlined functions, so it returns at most one frame for an address. */
static uint32_t name_of(void *user, const hd_memprof_address *address, hd_memprof_frame *frames,
                        uint32_t capacity) {
    const symbol_list *list = (const symbol_list *)user;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->symbols[middle].address <= address->offset) low = middle + 1;
        else high = middle;
    }
    if (!low || !address->segment || !capacity) return 0;
    frames[0].function = hd_cstr(list->symbols[low - 1].name);
    return 1;
}

int main(int argc, char **argv) {
    symbol_list list = { NULL, 0 };
    hd_memprof_view view = { .symbolizer = { .symbolize = name_of, .user = &list, .keep_unresolved = true } };
    hd_tree_options options = { .cutoff = { .min_share = 0.1 } };
    hd_options raw = { .no_heaps = true };
    hd_heap heap = { .allocator = "allocated, freed or not" };
    hd_profile *profile = NULL;
    hd_dump *dump = NULL;
    hd_error err;
    hd_in in;
    hd_status status;
    if (argc != 3 || !read_symbols(argv[2], &list)) {
        fprintf(stderr, "usage: %s PROFILE SYMBOLS\n", argv[0]);
        return 2;
    }
    status = hd_in_open(argv[1], &in, &err);
    if (!status) {
        status = hd_read_as(&hd_format_memprof, in, &raw, &dump, &err);
        hd_in_close(&in);
    }
    if (!status) status = hd_memprof_profile(hd_memprof_part(hd_dump_memprof(dump), 0), &view, NULL, &profile, &err);
    heap.profile = profile;
    if (!status) status = hd_print_tree(&heap, &options, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    hd_profile_free(profile), hd_dump_free(dump), free(list.symbols);
    return status != HD_OK || fflush(stdout);
}
