/* Prints the nodes of a V8 heap snapshot with the largest retained size, as in DevTools: v8_nodes FILE [COPY]. Writes
   the snapshot again to COPY. */

#include <inttypes.h>
#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static void print_text(hd_str text) {
    for (hd_str piece; (piece = hd_visible(&text)).len;) printf(HD_FMT, HD_ARG(piece));
}

static void print_node(const hd_dump *doc, uint32_t node, const hd_dominators *dominators,
                       const uint32_t *distances) {
    static const char *const links[] = { "", ", attached", ", detached" };
    hd_object o = hd_graph_object(hd_dump_graph(doc), node);
    printf("%" PRIu64 " bytes  @%" PRIu64 " ", dominators->retained[node], o.id);
    print_text(hd_v8_type(hd_dump_v8(doc), node));
    putchar(' ');
    print_text(hd_v8_name(hd_dump_v8(doc), node));
    if (distances[node] < HD_V8_SYSTEM) printf(", distance %" PRIu32, distances[node]);
    printf("%s", links[hd_v8_detachedness(hd_dump_v8(doc), node)]);
    if (hd_v8_value(hd_dump_v8(doc), node, "trace_node_id")) printf(", allocated by call stack %" PRIu64,
                                                        hd_v8_value(hd_dump_v8(doc), node, "trace_node_id"));
    if (o.reference_count) {
        printf("; its first edge: ");
        print_text(hd_v8_edge_type(hd_dump_v8(doc), node, 0));
    }
    putchar('\n');
}

static hd_status print_largest(const hd_dump *doc, hd_error *err) {
    const hd_graph *graph = hd_dump_graph(doc);
    uint32_t *distances = (uint32_t *)malloc((hd_graph_object_count(graph) + (size_t)1) * sizeof *distances);
    uint32_t top[5], count;
    hd_dominators *dominators = NULL;
    hd_status status = distances ? hd_v8_distances(hd_dump_v8(doc), NULL, distances, err) : HD_OUT_OF_MEMORY;
    if (!distances) snprintf(err->message, sizeof err->message, "out of memory");
    if (!status) status = hd_graph_dominators(graph, NULL, &dominators, err);
    count = status ? 0 : hd_dominators_top(dominators, 5, top);
    for (uint32_t i = 0; i < count; i++) print_node(doc, top[i], dominators, distances);
    hd_dominators_free(dominators);
    free(distances);
    return status;
}

static hd_status copy(const hd_dump *doc, const char *path, hd_error *err) {
    hd_file file;
    hd_status status = hd_file_create(path, &file, err);
    if (status) return status;
    status = hd_v8_write(hd_dump_v8(doc), NULL, hd_file_out(&file), err);
    if (!status) return hd_file_commit(&file, err);
    hd_file_discard(&file);
    return status;
}

int main(int argc, char **argv) {
    hd_options options = { .lenient = true };
    hd_dump *doc = NULL;
    hd_error err;
    hd_in in;
    hd_status status;
    if (argc < 2) return fprintf(stderr, "usage: %s FILE [COPY]\n", argv[0]), 2;
    status = hd_in_open(argv[1], &in, &err);
    if (status) return fprintf(stderr, "%s\n", err.message), 1;
    status = hd_read_as(&hd_format_v8, in, &options, &doc, &err);
    if (!status) status = print_largest(doc, &err);
    if (!status && argc > 2) status = copy(doc, argv[2], &err);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    else printf("%" PRIu64 " pieces left out\n", hd_dump_warning_count(doc));
    hd_dump_free(doc);
    hd_in_close(&in);
    return status != HD_OK || fflush(stdout);
}
