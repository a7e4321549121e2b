/* Reads a .NET CF or XNA heap dump of any size record by record, with one record in memory, and prints the totals of
   each application domain: count_records FILE */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* Called for each malformed line, which is skipped. */
static void on_warning(void *user, const hd_error *warning) {
    fprintf(stderr, "%s: %s\n", (const char *)user, warning->message);
}

int main(int argc, char **argv) {
    hd_options options = { .lenient = true, .warning = on_warning };
    hd_netcf_reader *reader = NULL;
    hd_netcf_record record = { .kind = 0 };
    uint64_t objects = 0, bytes = 0, references = 0, roots = 0;
    hd_error err;
    hd_in in;
    hd_status status;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    options.warning_user = argv[1];
    status = hd_in_open(argv[1], &in, &err);
    if (status) return fprintf(stderr, "%s\n", err.message), 1;
    status = hd_netcf_open(in, &options, &reader, &err);
    while (!status && !(status = hd_netcf_next(reader, &record, &err)) && record.kind) {
        switch (record.kind) {
        case 'a': objects = bytes = references = roots = 0; break;
        case 'o': objects++, bytes += record.size, references += record.reference_count; break;
        case 'r': roots++; break;
        case 'c':
            for (hd_str piece; (piece = hd_visible(&record.name)).len;) fwrite(piece.data, 1, piece.len, stdout);
            printf(": %" PRIu64 " objects, %" PRIu64 " bytes, %" PRIu64 " references, %" PRIu64 " roots\n", objects,
                   bytes, references, roots);
        }
    }
    if (status) fprintf(stderr, "%s\n", err.message);
    else printf("%" PRIu64 " lines were left out\n", hd_netcf_reader_warning_count(reader));
    hd_netcf_close(reader);
    hd_in_close(&in);
    return status != HD_OK || fflush(stdout);
}
