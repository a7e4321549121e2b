/* Reads a Dart heap snapshot of any size record by record, and lists its classes with their fields:
   dart_records FILE */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static void print_name(hd_str name) {
    for (hd_str piece; (piece = hd_visible(&name)).len;) printf(HD_FMT, HD_ARG(piece));
}

int main(int argc, char **argv) {
    hd_options options = { .lenient = true };
    hd_dart_reader *reader = NULL;
    hd_dart_record record = { .kind = 0 };
    hd_dart_field field;
    uint64_t objects = 0, bytes = 0;
    hd_error err;
    hd_in in;
    hd_status status;
    if (argc != 2) return fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
    status = hd_in_open(argv[1], &in, &err);
    if (status) return fprintf(stderr, "%s\n", err.message), 1;
    status = hd_dart_open(in, &options, &reader, &err);
    while (!status && !(status = hd_dart_next(reader, &record, &err)) && record.kind) {
        if (record.kind == 'o') objects++, bytes += record.size;
        if (record.kind != 'c' || !record.described.field_count) continue;
        print_name(record.described.name);
        while (hd_dart_next_field(&record.described, &field)) printf(" ."), print_name(field.name);
        printf("\n");
    }
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    else printf("%" PRIu64 " of %" PRIu64 " objects, %" PRIu64 " bytes; %" PRIu64 " pieces could not be read\n", objects,
                hd_dart_reader_header(reader)->object_count, bytes, hd_dart_reader_warning_count(reader));
    hd_dart_close(reader);
    hd_in_close(&in);
    return status != HD_OK || fflush(stdout);
}
