/* A graph as a heap: its dominator tree. */

#include "heaps.h"

int dominate(const char *file, const hd_graph *graph, hd_dominators **dominators) {
    reading r;
    hd_options options = long_call(&r, "computing dominators");
    hd_error err;
    hd_status status = hd_graph_dominators(graph, &options, dominators, &err);
    progress_end();
    return status ? failed(file, &err) : DONE;
}

/* Turns the dominator tree into a heap, which every command can print or write. */
int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap) {
    hd_dominator_options options = { .cutoff = a->cut.cutoff };
    hd_dominators *dominators;
    hd_breakdown *breakdown;
    hd_error err;
    hd_status status;
    if (dominate(file, graph, &dominators)) return BAD_INPUT;
    if (!a->cut.has_cutoff) options.cutoff.min_share = a->cut.default_share;
    status = hd_dominator_tree(graph, dominators, &options, &breakdown, &err);
    hd_dominators_free(dominators);
    if (status) return failed(file, &err);
    *heap = (hd_heap){ .allocator = "live objects", .breakdown = breakdown };
    return DONE;
}
