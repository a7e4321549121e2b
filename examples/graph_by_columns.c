/* Writes two object graphs directly into their columns, and merges them: graph_by_columns prints their references.
   This is for readers of large dumps; hd_graph_add_object does the same object by object. */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* A ring of `count` objects, numbered from 0; the last one refers to the first weakly. */
static hd_graph *ring(uint32_t count, uint64_t first_id, hd_error *err) {
    hd_graph_desc desc = { .numbered = true, .dense = true, .first_id = first_id };
    hd_class node = { .id = 1 }, named = { .id = 1, .name = hd_cstr("Node"), .described = true };
    hd_root root = { .kind = HD_ROOT_LOCAL, .container = HD_NONE };
    hd_graph *graph = hd_graph_create(&desc, err);
    hd_graph_columns columns;
    uint32_t class_index, next;
    hd_status status = graph ? hd_graph_add_class(graph, &node, &class_index, err) : err->status;
    if (!status) status = hd_graph_add_name(graph, hd_cstr("next"), &next, err);
    if (!status) status = hd_graph_reserve(graph, count, count, &columns, err);
    for (uint32_t i = 0; i < count && !status; i++) {
        columns.class_index[columns.objects + i] = class_index;
        columns.size[columns.objects + i] = 16;
        columns.first[columns.objects + i] = columns.references + i;
        columns.target[columns.references + i] = (uint32_t)first_id + (i + 1) % count;
    }
    if (!status) status = hd_graph_commit(graph, count, count, err);
    if (!status) status = hd_graph_set_index(graph, 0, 0, 7, err);         /* an element of an array */
    for (uint32_t i = 1; i < count && !status; i++) status = hd_graph_set_name(graph, i, 0, next, err);
    if (!status) status = hd_graph_set_kind(graph, count - 1, 0, HD_REFERENCE_WEAK, err);
    if (!status) status = hd_graph_add_size(graph, 0, 1000, err);          /* memory that it owns elsewhere */
    if (!status) status = hd_graph_set_class(graph, class_index, &named, err); /* its record came late */
    if (!status) status = hd_graph_add_root(graph, first_id, &root, err);
    if (!status) status = hd_graph_seal(graph, NULL, err);
    if (!status) return graph;
    hd_graph_free(graph);
    return NULL;
}

int main(void) {
    hd_error err = { .status = HD_OK };
    hd_graph *a = ring(3, 1, &err), *b = a ? ring(2, 100, &err) : NULL, *both = NULL;
    const hd_graph *parts[] = { a, b };
    hd_status status = b ? hd_graph_merge(parts, 2, NULL, &both, &err) : err.status;
    if (!status) status = hd_graph_validate(both, &err);
    for (uint32_t i = 0; !status && i < hd_graph_object_count(both); i++) {
        hd_object o = hd_graph_object(both, i);
        hd_str name = hd_graph_field(both, i, 0);
        uint32_t index = hd_graph_index(both, i, 0);
        printf("%d: %d bytes, ", (int)o.id, (int)o.size);
        if (index != HD_NONE) printf("[%d]", (int)index);
        printf(HD_FMT " is %d%s\n", HD_ARG(name), (int)hd_graph_object(both, o.references[0]).id,
               o.kinds && o.kinds[0] == HD_REFERENCE_WEAK ? ", weakly" : "");
    }
    if (!status && hd_graph_duplicate(both) == HD_NONE) printf("no two objects have one id\n");
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_graph_free(a), hd_graph_free(b), hd_graph_free(both);
    return status != HD_OK || fflush(stdout);
}
