/* Axes of heaps, and the options of their trees. */

#include "screen.h"

uint32_t axis_count(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries.axis_count : hd_profile_axis_count(heap->profile);
}

hd_axis axis_at(const hd_heap *heap, uint32_t i) {
    return heap->breakdown ? heap->breakdown->axis[i] : hd_profile_axis(heap->profile, i);
}

/* The axis of --by; 0 if the heap does not have it. An inverted breakdown has no other axis. */
uint32_t axis_in(const arguments *a, const hd_heap *heap) {
    uint32_t count = axis_count(heap);
    if (!a->view.by || !strcmp(a->view.by, "backtrace") || count == 1) return 0;
    for (uint32_t i = 1; i < count; i++)
        if (!strcmp(axis_at(heap, i).name, a->view.by)) return i;
    return !strcmp(a->view.by, "type") ? HD_AXIS_TYPE : 0;
}

/* The axis of --by in two compared heaps; 0 if one of them does not have it. */
uint32_t axis_in_both(const arguments *a, const hd_heap *before, const hd_heap *after) {
    return axis_in(a, after) ? axis_in(a, before) : 0;
}

/* Whether the heap is a sum of breakdowns, so that entries may hold more than their size (`unlisted`). */
bool has_bounds(const hd_heap *heap) { return heap->breakdown && heap->breakdown->entries.unlisted; }

hd_tree_options tree_options(const arguments *a) {
    hd_tree_options options = {
        .cutoff = a->cut.cutoff, .every_route = a->view.every_route, .order = a->cut.order,
        .units = !a->view.exact
    };
    if (!a->cut.has_cutoff) options.cutoff.min_share = 0.01;
    return options;
}
