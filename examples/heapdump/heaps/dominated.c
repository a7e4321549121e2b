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

/* A snapshot has no call stacks, kinds or other axes. */
int check_graph_options(const arguments *a) {
    const struct { bool given; const char *name; } options[] = {
        { a->heaps.keep.text, "keep" }, { a->heaps.drop.text, "drop" }, { a->heaps.root.text, "root" },
        { a->heaps.kind, "kind" }, { a->heaps.has_pid, "pid" }, { a->heaps.dump, "dump" },
        { a->heaps.allocator, "allocator" }, { a->heaps.before, "before" }, { a->heaps.after, "after" },
        { a->heaps.match_process, "match" }, { a->view.by, "by" }, { a->view.invert, "invert" },
        { a->view.every_route, "every-route" }, { a->view.frames_all || a->view.frames_hidden, "frames" },
        { a->cut.ordered, "sort" }, { a->memprof.field || a->memprof.average, "metric" },
        { a->naming.binary_count, "binary" }
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given) return usage("--%s is for profiles, not for snapshots of objects", options[i].name);
    return DONE;
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
