/* Trees as lines for people: collects rows, and folds chains of rows into lines. */

#include "screen.h"

/* Collecting. ---------------------------------------------------------------------------------- */

/* The source of the names of a row: its entry, and the entry of the row above. */
typedef struct place {
    const hd_axis *axis;
    const hd_rows *rows;
    uint32_t above, entry;       /* HD_NONE: <other> */
} place;

/* The nodes of an axis from the row above to this one, innermost first. Returns their number. */
static uint32_t nodes_between(const place *p, uint32_t axis, uint32_t **nodes) {
    const hd_axis *x = &p->axis[axis];
    uint32_t from = p->rows->node[(size_t)p->above * p->rows->axis_count + axis], n = 0;
    uint32_t to = p->rows->node[(size_t)p->entry * p->rows->axis_count + axis];
    for (uint32_t i = to; i != from && i != HD_NONE && i; i = x->parent[i]) n++;
    *nodes = needed(malloc(((size_t)n + 1) * sizeof **nodes));
    n = 0;
    for (uint32_t i = to; i != from && i != HD_NONE && i; i = x->parent[i]) (*nodes)[n++] = i;
    return n;
}

hd_str copied_name(hd_str s) {
    char *data = needed(malloc(s.len + 1));
    memcpy(data, s.data, s.len);
    return (hd_str){ data, s.len };
}

/* A frame, or a value with the name of its axis: "type: T". */
static hd_str value_of(const hd_axis *axis, uint32_t number, uint32_t node) {
    hd_str value = axis->node_name[node];
    if (number == HD_AXIS_BACKTRACE || !axis->name || !*axis->name) return copied_name(value);
    return value_with_key(axis->name, value);
}

/* Takes the names on the axis that led to the row, or on the first axis that differs, and the values of all others.
   */
static void take_names(listing_line *x, const place *p) {
    for (uint32_t a = 0; a < p->rows->axis_count; a++) {
        const hd_axis *axis = &p->axis[a];
        FREED uint32_t *nodes = NULL;
        uint32_t n = nodes_between(p, a, &nodes);
        if (n && !x->name_count) {
            x->axis = a;
            x->names = needed(malloc(n * sizeof *x->names));
            x->names[x->name_count++] = value_of(axis, a, nodes[n - 1]);
            for (uint32_t i = n - 1; i-- > 0;) x->names[x->name_count++] = copied_name(axis->node_name[nodes[i]]);
        } else if (n) {
            x->values = needed(realloc(x->values, ((size_t)x->value_count + n) * sizeof *x->values));
            while (n) x->values[x->value_count++] = value_of(axis, a, nodes[--n]);
        }
    }
}

listing_line *listing_push(listing *l, const listing_line *from) {
    listing_line *x;
    ONE_MORE(l->lines, l->count);
    ONE_MORE(l->path, l->count + 1);
    x = &l->lines[l->count];
    *x = *from;
    x->parent = x->depth ? l->path[x->depth - 1] : HD_NONE;
    l->path[x->depth] = l->count++;
    return x;
}

void listing_push_other(listing *l, const listing_line *from) {
    listing_line *x = listing_push(l, from);
    x->entry = HD_NONE;
    x->names = needed(malloc(sizeof *x->names));
    x->names[x->name_count++] = copied_name(hd_cstr("<other>"));
}

static hd_status add_line(listing *l, const listing_line *from, const place *p) {
    place at = *p;
    listing_line *x;
    if (p->entry == HD_NONE) {
        listing_push_other(l, from);
        return HD_OK;
    }
    x = listing_push(l, from);
    x->entry = p->entry;
    if (x->depth) {
        at.above = l->lines[x->parent].entry;
        take_names(x, &at);
    }
    return HD_OK;
}

static hd_status add_tree_row(void *user, const hd_tree_row *row) {
    const place p = { row->breakdown->axis, &row->breakdown->entries, 0, row->entry };
    return add_line(user, &(listing_line){ .amount = { row->amount }, .depth = row->depth, .axis = row->axis,
                                .route = row->axis, .folds = row->folds, .more = { row->unlisted } }, &p);
}

static hd_status add_diff_row(void *user, const hd_diff_row *row) {
    const place p = { row->diff->axis, &row->diff->before, 0, row->entry };
    listing *l = user;
    l->compares = true;
    return add_line(l, &(listing_line){ .amount = { row->amount[0], row->amount[1] }, .depth = row->depth,
                                .axis = row->axis, .route = row->axis, .flags = row->flags, .folds = row->folds,
                                .more = { row->unlisted[0], row->unlisted[1] } }, &p);
}

/* Folding. ------------------------------------------------------------------------------------- */

bool listing_is_value(const listing *l, const listing_line *x) {
    return l->by && x->name_count && value_along(x->names[x->name_count - 1], l->by).len;
}

/* Rows that fold join the line of their parent. */
static void fold(const arguments *a, listing *l) {
    bool unfolded = a->view.frames_all || a->view.every_route;
    l->shown = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        listing_line *x = &l->lines[i];
        x->head = i;
        x->next = HD_NONE;
        if (x->depth && x->folds && !unfolded && !listing_is_value(l, &l->lines[x->parent])) {
            x->head = l->lines[x->parent].head;
            l->lines[x->parent].next = i;
        } else {
            if (x->depth) x->indent = l->lines[l->lines[x->parent].head].indent + 1;
            l->shown++;
        }
    }
}

void listing_free(listing *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        listing_line *x = &l->lines[i];
        for (uint32_t k = 0; k < x->name_count; k++) free((void *)(uintptr_t)x->names[k].data);
        for (uint32_t k = 0; k < x->value_count; k++) free((void *)(uintptr_t)x->values[k].data);
        free(x->names), free(x->values), free(x->times);
    }
    free(l->lines);
    free(l->path);
    memset(l, 0, sizeof *l);
}

/* Collects the rows of a tree, before folding. */
static hd_status gather(const arguments *a, const hd_heap *heap, const hd_heap *after,
                        const hd_tree_options *tree, listing *l, hd_error *err) {
    *l = (listing){ .by = a->view.by };
    return after ? hd_diff_tree(heap, after, tree, add_diff_row, l, err) : hd_tree(heap, tree, add_tree_row, l, err);
}

static hd_status collect(const arguments *a, const hd_heap *heap, const hd_heap *after, const hd_tree_options *tree,
                         listing *l, hd_error *err) {
    hd_status status = gather(a, heap, after, tree, l, err);
    if (!status) fold(a, l);
    return status;
}

void listing_repeat(listing *l, const repeats *again) {
    for (uint32_t i = 1; i < l->count && again->count; i++) {
        listing_line *x = &l->lines[i];
        x->path = l->lines[x->parent].path;
        if (x->axis != HD_AXIS_BACKTRACE || x->entry == HD_NONE) continue;
        if (!x->times) x->times = needed(calloc((size_t)x->name_count + 1, sizeof *x->times));
        for (uint32_t k = 0; k < x->name_count; k++) {
            uint64_t times;
            if (l->by && value_along(x->names[k], l->by).len) continue;
            x->path = longer_path(x->path, x->names[k]);
            times = times_of(again, x->path);
            if (times > x->times[k]) x->times[k] = times;
        }
    }
}

void listing_shorten(listing *l) {
    size_t n = 0;
    FREED hd_str **at = NULL, *names = NULL;
    FREED char **shown = NULL;
    for (uint32_t i = 0; i < l->count; i++) n += l->lines[i].name_count;
    at = needed(calloc(n + 1, sizeof *at));
    names = needed(calloc(n + 1, sizeof *names));
    shown = needed(calloc(n + 1, sizeof *shown));
    n = 0;
    for (uint32_t i = 0; i < l->count; i++)
        for (uint32_t k = 0; l->lines[i].axis == HD_AXIS_BACKTRACE && k < l->lines[i].name_count; k++)
            if (!l->by || !value_along(l->lines[i].names[k], l->by).len) at[n++] = &l->lines[i].names[k];
    for (size_t i = 0; i < n; i++) names[i] = *at[i];
    frames_shown(names, n, shown);
    for (size_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)at[i]->data);
        *at[i] = hd_cstr(shown[i]);
    }
}

/* A heap along its first axis only. With several axes, a budget would list a frame, and also its bytes of one type.
   */
static hd_status of_one_axis(const hd_heap *heap, bool folds, const hd_options *options, hd_heap *out,
                             repeats *again, hd_error *err) {
    hd_profile *profile = NULL;
    hd_heap once;
    bool found = false;
    hd_profile_desc desc = { .axis_count = 1 };
    hd_status status;
    *out = *heap;
    if (has_bounds(heap)) {
        hd_breakdown *breakdown = NULL;
        status = hd_breakdown_axis(heap->breakdown, HD_AXIS_BACKTRACE, options, &breakdown, err);
        out->breakdown = breakdown;
        return status;
    }
    if (heap->breakdown) {
        status = hd_breakdown_axis_profile(heap->breakdown, HD_AXIS_BACKTRACE, options, &profile, err);
    } else {
        desc.axis_name[0] = hd_profile_axis(heap->profile, HD_AXIS_BACKTRACE).name;
        profile = hd_profile_create(&desc, err);
        status = profile ? hd_profile_merge(profile, heap->profile, err) : err->status;
    }
    out->breakdown = NULL;
    out->profile = profile;
    if (!status && heap->breakdown && folds)
        status = tell_recursion_once(out, &once, &found, again, err);
    if (found && !status) hd_profile_free(profile), out->profile = once.profile;
    if (status) hd_profile_free(profile), out->profile = NULL;
    return status;
}

/* The entries within a budget; with `all`, nested. */
static hd_status budgeted(const arguments *a, const hd_heap *heap, const hd_heap *after, const hd_tree_options *tree,
                          const listing *all, listing *l, hd_error *err) {
    hd_status status = gather(a, heap, after, tree, l, err);
    if (status) return status;
    l->listed = l->count;
    if (all->count) listing_nest(all, l);
    fold(a, l);
    return HD_OK;
}

/* Folded entries take no line, so the budget grows until all lines are filled. */
static hd_status fill_rows(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows,
                           hd_tree_options *tree, bool nested, listing *l, hd_error *err) {
    listing more, all = { 0 };
    hd_status status = HD_OK;
    memset(&tree->cutoff, 0, sizeof tree->cutoff);
    tree->cutoff.min_share = 0.001;
    if (nested) status = gather(a, heap, after, tree, &all, err);
    if (nested) tree->options.warning = NULL; /* warn once */
    if (nested && !status) {
        fold(a, &all);
        if (all.shown <= rows) {
            *l = all;
            return HD_OK;
        }
    }
    tree->cutoff.max_entries = rows / 4 > 4 ? rows / 4 : 4;
    if (!status) status = budgeted(a, heap, after, tree, &all, l, err);
    tree->options.warning = NULL;
    while (!status) {
        tree->cutoff.max_entries += tree->cutoff.max_entries / 4;
        status = budgeted(a, heap, after, tree, &all, &more, err);
        if (status || more.shown > rows || more.listed == l->listed || tree->cutoff.max_entries > 100 * rows) {
            listing_free(&more);
            break;
        }
        listing_free(l);
        *l = more;
    }
    if (status) listing_free(l);
    listing_free(&all);
    return status;
}

hd_status listing_make(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows, bool folds,
                       const hd_options *options, listing *l, hd_error *err) {
    hd_tree_options tree = tree_options(a);
    hd_heap one[2] = { { 0 }, { 0 } };
    repeats again[2] = { { NULL, 0 }, { NULL, 0 } };
    hd_status status = HD_OK;
    /* Entries of several axes in one budget have cells in common. */
    bool overlaps = (a->cut.cutoff.max_entries || a->cut.cutoff.max_output_bytes) && !a->view.every_route;
    tree.first_axis = after ? axis_in_both(a, heap, after) : axis_in(a, heap);
    tree.options = *options;
    memset(l, 0, sizeof *l);
    if (is_along(a, tree.first_axis, rows && !a->cut.has_cutoff)) {
        status = heap_along(heap, tree.first_axis, options, &one[0], err);
        if (!status && after) status = heap_along(after, axis_in(a, after), options, &one[1], err);
        tree.first_axis = 0;
        tree.cutoff.nested = true;
    } else if ((a->cut.has_cutoff && !overlaps) || (!a->cut.has_cutoff && !rows)) {
        return collect(a, heap, after, &tree, l, err);
    } else if (a->view.every_route || tree.first_axis) {
        return fill_rows(a, heap, after, rows, &tree, false, l, err);
    } else {
        folds &= !a->view.frames_all && !a->view.invert;
        status = of_one_axis(heap, folds, options, &one[0], &again[0], err);
        if (!status && after) status = of_one_axis(after, folds, options, &one[1], &again[1], err);
    }
    if (!status && a->cut.has_cutoff) status = collect(a, &one[0], after ? &one[1] : NULL, &tree, l, err);
    else if (!status) status = fill_rows(a, &one[0], after ? &one[1] : NULL, rows, &tree, true, l, err);
    for (int i = 0; i < 2; i++) {
        if (!status && !a->view.invert) listing_repeat(l, &again[i]);
        hd_heap_release(&one[i]);
        free(again[i].list);
    }
    return status;
}
