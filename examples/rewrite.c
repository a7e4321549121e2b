/* Reads a .NET CF dump or a Dart snapshot, and writes it again without its malformed parts:
   rewrite FILE > FILE.mended */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_status rewrite_netcf(hd_in in, const hd_options *options, hd_out out, hd_error *err) {
    hd_dump *document;
    hd_status status = hd_read_as(&hd_format_netcf, in, options, &document, err);
    if (status) return status;
    fprintf(stderr, "%zu domains, %" PRIu32 " objects, %" PRIu64 " lines left out\n",
            hd_netcf_domain_count(hd_dump_netcf(document)),
            hd_dump_graph(document) ? hd_graph_object_count(hd_dump_graph(document)) : 0,
            hd_dump_warning_count(document));
    status = hd_netcf_write(hd_dump_netcf(document), options, out, err);
    hd_dump_free(document);
    return status;
}

static hd_status rewrite_dart(hd_in in, const hd_options *options, hd_out out, hd_error *err) {
    hd_dump *document;
    hd_status status = hd_read_as(&hd_format_dart, in, options, &document, err);
    if (status) return status;
    fprintf(stderr, "%" PRIu32 " objects, %" PRIu64 " pieces left out\n",
            hd_graph_object_count(hd_dump_graph(document)),
            hd_dump_warning_count(document));
    status = hd_dart_write(hd_dump_dart(document), options, out, err);
    hd_dump_free(document);
    return status;
}

int main(int argc, char **argv) {
    hd_options options = { .lenient = true };
    hd_buffer file = { .data = NULL };
    hd_error err;
    hd_in in;
    hd_status status;
    if (argc != 2) return fprintf(stderr, "usage: %s FILE > FILE.mended\n", argv[0]), 2;
    status = hd_in_open(argv[1], &in, &err);
    if (!status) {
        status = hd_in_load(in, &options, &file, &err);
        hd_in_close(&in);
    }
    if (!status) {
        bool is_dart = file.size > 0 && file.data[0] == 'd'; /* begins with "dartheap" */
        status = (is_dart ? rewrite_dart : rewrite_netcf)(hd_in_memory(file.data, file.size), &options,
                                                          hd_out_file(stdout), &err);
    }
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    hd_buffer_free(&file);
    return status != HD_OK || fflush(stdout);
}
