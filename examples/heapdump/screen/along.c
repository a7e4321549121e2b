/* Heaps along --by: values of that axis with call stacks below them, as one axis, so that a budget lists each byte
   once. In a heap with several axes, a budget lists overlapping entries such as "f, of any age" and "1 s, in any
   function". */

#include "screen.h"

/* A cell and its value on the axis. */
typedef struct valued { uint32_t value, cell; } valued;

static int by_value(const void *a, const void *b) {
    const valued *x = a, *y = b;
    int order = compare_numbers(x->value, y->value);
    return order ? order : compare_numbers(x->cell, y->cell);
}

typedef struct joining {
    hd_profile *to;
    hd_axis values, frames;
    uint32_t *of_value;          /* the node in `to` of each value */
    uint32_t *of_frame;          /* below the current value; valid if `seen` is that value's turn */
    uint32_t *seen, *way;
    uint32_t turn;
} joining;

/* Values as "age: 1 s"; cells without one are below "no age". */
static hd_status join_values(joining *x, hd_error *err) {
    hd_status status = HD_OK;
    for (uint32_t i = 1; i < x->values.node_count && !status; i++) {
        hd_str value = x->values.node_name[i], name;
        if (x->values.parent[i]) {
            status = hd_profile_node(x->to, 0, x->of_value[x->values.parent[i]], value, &x->of_value[i], err);
            continue;
        }
        name = value_with_key(x->values.name, value);
        status = hd_profile_node(x->to, 0, 0, name, &x->of_value[i], err);
        free((void *)(uintptr_t)name.data);
    }
    return status;
}

static hd_status no_value(joining *x, hd_error *err) {
    FREED char *name = NULL;
    if (asprintf(&name, "no %s", x->values.name) < 0) name = needed(NULL);
    return hd_profile_node(x->to, 0, 0, hd_cstr(name), &x->of_value[0], err);
}

/* The node of a frame below the current value. */
static hd_status join_frame(joining *x, uint32_t value, uint32_t frame, uint32_t *node, hd_error *err) {
    uint32_t n = 0;
    hd_status status = HD_OK;
    for (; frame && x->seen[frame] != x->turn; frame = x->frames.parent[frame]) x->way[n++] = frame;
    *node = frame ? x->of_frame[frame] : x->of_value[value];
    while (n-- && !status) {
        status = hd_profile_node(x->to, 0, *node, x->frames.node_name[x->way[n]], node, err);
        x->seen[x->way[n]] = x->turn;
        x->of_frame[x->way[n]] = *node;
    }
    return status;
}

static hd_status join_cells(joining *x, const hd_rows *cells, uint32_t axis, uint32_t frames, hd_error *err) {
    FREED valued *order = needed(malloc(((size_t)cells->count + 1) * sizeof *order));
    const uint32_t *stacks = frames == HD_NONE ? NULL : cells->node + frames;
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < cells->count; i++)
        order[i] = (valued){ cells->node[(size_t)i * cells->axis_count + axis], i };
    qsort(order, cells->count, sizeof *order, by_value);
    for (uint32_t i = 0; i < cells->count && !status; i++) {
        uint32_t value = order[i].value, frame = 0, node;
        if (!i || value != order[i - 1].value) x->turn++;
        if (!i && !value) status = no_value(x, err);
        if (stacks) frame = stacks[(size_t)order[i].cell * cells->axis_count];
        if (!status) status = join_frame(x, value, frame, &node, err);
        if (!status) status = hd_profile_add_amount(x->to, &node, &cells->amount[order[i].cell], err);
    }
    return status;
}

/* Values of an axis, with the nodes of the axis `frames` below them; HD_NONE: values only. */
static hd_status joined(const hd_profile *from, uint32_t axis, uint32_t frames, hd_profile **out, hd_error *err) {
    const hd_profile_desc desc = { .axis_count = 1 };
    joining x = { .values = hd_profile_axis(from, axis) };
    hd_rows cells = hd_profile_cells(from);
    hd_status status;
    if (frames != HD_NONE) x.frames = hd_profile_axis(from, frames);
    x.to = hd_profile_create(&desc, err);
    if (!x.to) return err->status;
    x.of_value = needed(calloc((size_t)x.values.node_count + 1, sizeof *x.of_value));
    x.of_frame = needed(calloc((size_t)x.frames.node_count + 1, sizeof *x.of_frame));
    x.seen = needed(calloc((size_t)x.frames.node_count + 1, sizeof *x.seen));
    x.way = needed(calloc((size_t)x.frames.node_count + 1, sizeof *x.way));
    status = join_values(&x, err);
    if (!status) status = join_cells(&x, &cells, axis, frames, err);
    free(x.of_value), free(x.of_frame), free(x.seen), free(x.way);
    if (status) hd_profile_free(x.to);
    else *out = x.to;
    return status;
}

hd_status heap_along(const hd_heap *heap, uint32_t axis, const hd_options *options, hd_heap *out, hd_error *err) {
    hd_profile *profile = NULL, *values;
    hd_breakdown *breakdown = NULL;
    hd_status status;
    if (has_bounds(heap)) {
        status = hd_breakdown_axis(heap->breakdown, axis, options, &breakdown, err);
    } else if (heap->breakdown) { /* a breakdown has no cells: only the values add up */
        status = hd_breakdown_axis_profile(heap->breakdown, axis, options, &values, err);
        if (!status) {
            status = joined(values, 0, HD_NONE, &profile, err);
            hd_profile_free(values);
        }
    } else {
        status = joined(heap->profile, axis, HD_AXIS_BACKTRACE, &profile, err);
    }
    if (status) return status;
    *out = *heap;
    out->breakdown = breakdown;
    out->profile = profile;
    return HD_OK;
}

bool is_along(const arguments *a, uint32_t axis, bool lines) {
    return axis && !a->view.every_route && (lines || a->cut.cutoff.max_entries || a->cut.cutoff.max_output_bytes);
}

hd_str value_with_key(const char *axis, hd_str value) {
    size_t n = strlen(axis);
    char *text = needed(malloc(n + 2 + value.len + 1));
    memcpy(text, axis, n);
    memcpy(text + n, ": ", 2);
    if (value.len) memcpy(text + n + 2, value.data, value.len);
    return (hd_str){ text, n + 2 + value.len };
}

hd_str value_along(hd_str name, const char *axis) {
    size_t n = strlen(axis);
    if (name.len > n + 1 && !memcmp(name.data, axis, n) && !memcmp(name.data + n, ": ", 2))
        return (hd_str){ name.data + n + 2, name.len - n - 2 };
    return (hd_str){ NULL, 0 };
}
