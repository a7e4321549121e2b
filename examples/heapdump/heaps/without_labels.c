/* Heaps without the labels of their blocks: labels are axes for --by, and the default tree leaves them out. */

#include "heaps.h"

/* The axes to keep. */
typedef struct kept_axes {
    uint32_t of[HD_MAX_AXES];    /* numbers of axes */
    uint32_t *map[HD_MAX_AXES];  /* by kept axis and node: the node in the new profile */
    uint32_t count;
} kept_axes;

static bool is_kept(const arguments *a, uint32_t number, const char *name) {
    return !number || !strcmp(name, "backtrace") || !strcmp(name, "type") ||
           (a->view.by && !strcmp(name, a->view.by));
}

/* A profile over the axes that are kept, without cells. */
static hd_status make_axes(const hd_axis *axes, kept_axes *k, hd_profile **out, hd_error *err) {
    hd_profile_desc desc = { .axis_count = k->count };
    hd_status status;
    for (uint32_t i = 0; i < k->count; i++) desc.axis_name[i] = axes[k->of[i]].name;
    *out = hd_profile_create(&desc, err);
    status = *out ? HD_OK : err->status;
    for (uint32_t i = 0; i < k->count && !status; i++) {
        const hd_axis *axis = &axes[k->of[i]];
        k->map[i] = needed(calloc(axis->node_count, sizeof **k->map));
        for (uint32_t n = 1; n < axis->node_count && !status; n++)
            status = hd_profile_node(*out, i, k->map[i][axis->parent[n]], axis->node_name[n], &k->map[i][n], err);
    }
    return status;
}

/* Adds the rows. Entries are cumulative, so only entries at the roots of all dropped axes are added. */
static hd_status add_rows(const hd_rows *rows, const kept_axes *k, bool entries, hd_profile *into, hd_error *err) {
    hd_status status = HD_OK;
    for (uint32_t r = 0; r < rows->count && !status; r++) {
        const uint32_t *from = rows->node + (size_t)r * rows->axis_count;
        uint32_t nodes[HD_MAX_AXES], n = 0;
        bool is_dropped = false;
        for (uint32_t axis = 0; axis < rows->axis_count; axis++) {
            if (n < k->count && k->of[n] == axis) nodes[n] = k->map[n][from[axis]], n++;
            else is_dropped |= from[axis] != 0;
        }
        if (!entries || !is_dropped) status = hd_profile_add_amount(into, nodes, &rows->amount[r], err);
    }
    return status;
}

hd_status without_labels(const arguments *a, const hd_heap *heap, hd_heap *out, bool *made, hd_error *err) {
    const hd_breakdown *b = heap->breakdown;
    hd_rows rows = b ? b->entries : hd_profile_cells(heap->profile);
    hd_axis axes[HD_MAX_AXES];
    kept_axes k = { .count = 0 };
    hd_profile *profile = NULL;
    hd_breakdown *entries = NULL;
    hd_status status;
    *made = false;
    for (uint32_t i = 0; i < rows.axis_count; i++) {
        axes[i] = b ? b->axis[i] : hd_profile_axis(heap->profile, i);
        if (is_kept(a, i, axes[i].name)) k.of[k.count++] = i;
    }
    if (k.count == rows.axis_count || has_bounds(heap) || a->view.every_route) return HD_OK;
    status = make_axes(axes, &k, &profile, err);
    if (!status) status = add_rows(&rows, &k, b != NULL, profile, err);
    if (!status && b) status = hd_breakdown_from_cumulative(profile, NULL, &entries, err);
    for (uint32_t i = 0; i < k.count; i++) free(k.map[i]);
    if (b || status) hd_profile_free(profile), profile = NULL;
    if (status) return status;
    *out = *heap;
    out->profile = profile;
    out->breakdown = entries;
    *made = true;
    return HD_OK;
}
