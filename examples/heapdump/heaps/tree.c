/* heapdump tree: a heap broken down by calls, types and other axes. */

#include "show.h"

/* JSON output of a tree. `along` is the axis with values between the frames, or NULL. */
typedef struct json_tree { hd_json *json; const char *along; } json_tree;

static hd_status tree_row(void *user, const hd_tree_row *row) {
    const json_tree *t = user;
    hd_json *j = t->json;
    hd_str value = t->along ? value_along(row->name, t->along) : (hd_str){ NULL, 0 };
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_text(j, "axis", !row->depth ? NULL : value.len ? t->along : row->breakdown->axis[row->axis].name);
    json_str(j, "name", value.len ? value : row->name);
    json_amount(j, "bytes", "blocks", "error", &row->amount);
    if (row->unlisted) json_u64(j, "more_bytes", row->unlisted);
    hd_json_end(j);
    return HD_OK;
}

static hd_status json_heap(showing *s, const hd_heap *heap, hd_tree_options *tree, hd_error *err) {
    json_tree t = { &s->to.json, NULL };
    hd_heap along;
    hd_status status;
    if (!is_along(s->a, tree->first_axis, false)) return hd_tree(heap, tree, tree_row, &t, err);
    t.along = s->a->view.by;
    status = heap_along(heap, tree->first_axis, &tree->options, &along, err);
    if (status) return status;
    tree->first_axis = 0;
    tree->cutoff.nested = true;
    status = hd_tree(&along, tree, tree_row, &t, err);
    hd_heap_release(&along);
    return status;
}

static hd_status tree_heap(showing *s, const hd_heap *heap, hd_error *err) {
    hd_options options = show_warned(s);
    listing l;
    hd_status status;
    if (s->a->view.json) {
        hd_tree_options tree = tree_options(s->a);
        tree.first_axis = axis_in(s->a, heap);
        tree.options = options;
        return json_heap(s, heap, &tree, err);
    }
    status = listing_make(s->a, heap, NULL, s->rows, !s->of_objects, &options, &l, err);
    if (status) return status;
    if (!s->a->view.invert) listing_repeat(&l, s->again);
    if (!s->of_objects && !s->a->view.wide) listing_shorten(&l);
    listing_sort(&l, s->a->cut.order);
    listing_put(s->to.text, s->a, &s->screen, &l, heap, NULL);
    listing_free(&l);
    return HD_OK;
}

void tree_defaults(arguments *a) {
    a->view.hide = a->view.once = a->heaps.last_dump = a->heaps.live_kind = true;
    a->cut.has_cutoff |= a->cut.all; /* --all sets no cutoff, and the default must not apply */
    a->heaps.listed = tree_options(a).cutoff;
    a->cut.default_share = a->cut.all ? 0 : 0.01;
}

int run_tree(const arguments *a) { return show(a, tree_heap); }
