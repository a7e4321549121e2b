/* diff, of heaps. */

#include "pairing_frames.h"

/* JSON output of a diff. `along` is the axis whose values are mixed into the frames, or NULL. */
typedef struct json_diff { hd_json *json; const char *along; } json_diff;

static hd_status diff_row(void *user, const hd_diff_row *row) {
    static const struct { unsigned flag; const char *name; } changes[] = {
        { HD_DIFF_NEW, "new" }, { HD_DIFF_GONE, "gone" }, { HD_DIFF_GROWN, "grown" },
        { HD_DIFF_SHRUNK, "shrunk" }
    };
    static const char *const bytes[] = { "before", "after" }, *const blocks[] = { "blocks_before",
                                                                                  "blocks_after" },
                      *const errors[] = { "error_before", "error_after" };
    const json_diff *d = user;
    hd_json *j = d->json;
    hd_str value = d->along ? value_along(row->name, d->along) : (hd_str){ NULL, 0 };
    const char *change = "same";
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (row->flags & changes[i].flag) change = changes[i].name;
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_text(j, "axis", !row->depth ? NULL : value.len ? d->along : row->diff->axis[row->axis].name);
    json_str(j, "name", value.len ? value : row->name);
    json_text(j, "change", change);
    for (int i = 0; i < 2; i++) json_amount(j, bytes[i], blocks[i], errors[i], &row->amount[i]);
    if (row->flags & HD_DIFF_BOUND) json_bool(j, "bound", true);
    for (int i = 0; i < 2; i++)
        if (row->unlisted[i]) json_u64(j, i ? "more_after" : "more_before", row->unlisted[i]);
    if (row->flags & HD_DIFF_NOISE) json_bool(j, "noise", true);
    hd_json_end(j);
    return HD_OK;
}

static void json_side(hd_json *j, const char *key, const hd_heap *heap, const hd_heap *absent) {
    hd_json_key(j, key);
    if (heap == absent) {
        hd_json_null(j);
    } else {
        hd_json_object(j), json_label(j, heap), hd_json_end(j);
    }
}

/* The name of a missing counterpart: "none in FILE, dump ID". */
static char *place_of(const chosen *c, const char *id) {
    char *text;
    if (asprintf(&text, "none in %s%s%s", c->file, id ? ", dump " : "", id ? id : "") < 0) text = needed(NULL);
    return text;
}

/* The output of a comparison. */
typedef struct comparing {
    const arguments *a;
    answer to;
    screen screen;
    uint32_t rows;               /* lines for each pair; 0: any number */
    size_t hidden;               /* frames of the shown pairs */
    const repeats *again[2];     /* of the pair; NULL: the heap is absent */
} comparing;

static hd_status pair_text(comparing *d, const hd_heap *before, const hd_heap *after, hd_error *err) {
    hd_options options = { 0 };
    listing l;
    hd_status status = listing_make(d->a, before, after, d->rows, true, &options, &l, err);
    if (status) return status;
    for (int i = 0; i < 2 && !d->a->view.invert; i++)
        if (d->again[i]) listing_repeat(&l, d->again[i]);
    if (!d->a->view.wide) listing_shorten(&l);
    listing_sort(&l, d->a->cut.order);
    listing_put(d->to.text, d->a, &d->screen, &l, before, after);
    listing_free(&l);
    return HD_OK;
}

static hd_status pair_json(comparing *d, const hd_heap *before, const hd_heap *after, hd_tree_options *tree,
                           hd_error *err) {
    json_diff json = { &d->to.json, NULL };
    hd_heap along[2] = { { 0 }, { 0 } };
    hd_status status;
    if (!is_along(d->a, tree->first_axis, false)) return hd_diff_tree(before, after, tree, diff_row, &json, err);
    json.along = d->a->view.by;
    status = heap_along(before, axis_in(d->a, before), &tree->options, &along[0], err);
    if (!status) status = heap_along(after, axis_in(d->a, after), &tree->options, &along[1], err);
    tree->first_axis = 0;
    tree->cutoff.nested = true;
    if (!status) status = hd_diff_tree(&along[0], &along[1], tree, diff_row, &json, err);
    hd_heap_release(&along[0]), hd_heap_release(&along[1]);
    return status;
}

/* `before` or `after` is NULL if the heap is absent on that side; `places` then names the side. */
static int diff_pair(comparing *d, const hd_heap *before, const hd_heap *after, char *const *places) {
    const arguments *a = d->a;
    hd_json *j = &d->to.json;
    hd_tree_options options = tree_options(a);
    hd_profile *none = needed(hd_profile_create(NULL, NULL));
    hd_heap absent = { .kind = (before ? before : after)->kind, .allocator = places[before != NULL],
                       .profile = none };
    hd_error err;
    hd_status status;
    if (!before) before = &absent;
    if (!after) after = &absent;
    options.first_axis = axis_in_both(a, before, after);
    err.message[0] = 0;
    if (a->view.json) {
        hd_json_object(j);
        json_side(j, "before", before, &absent);
        json_side(j, "after", after, &absent);
        json_array(j, "rows");
        status = pair_json(d, before, after, &options, &err);
        hd_json_end(j), hd_json_end(j);
    } else {
        status = pair_text(d, before, after, &err);
    }
    hd_profile_free(none);
    if (status) display(stderr, "heapdump: %s\n", *err.message ? err.message : hd_status_text(status));
    return status ? BAD_INPUT : DONE;
}

/* Marks the heaps of the dump to compare. Fails if no heap belongs to dump `id`. */
static int pick(const chosen *c, const char *id, bool last, bool *picked) {
    mark_picked(c, id, last, picked);
    for (size_t i = 0; i < c->count; i++)
        if (picked[i]) return DONE;
    display(stderr, "heapdump: %s: no heap of dump %s (heapdump info lists the dumps)\n", c->file, id);
    return BAD_INPUT;
}

/* Two heaps to compare: first each heap of x with its mate, then heaps that only y has. NULL: absent on that side. */
typedef struct pair {
    const hd_heap *side[2];
    const repeats *again[2];
    const chosen *from[2];
    size_t hidden;               /* frames of both sides */
} pair;

static size_t pairs_of(const arguments *a, const chosen *x, const bool *in_x, const chosen *y, const bool *in_y,
                       pair *pairs) {
    bool *left = needed(calloc(y->count, 1));
    ptrdiff_t *mate = needed(calloc(x->count, sizeof *mate));
    size_t n = 0;
    find_mates(a, x, in_x, y, in_y, mate, left);
    for (size_t i = 0; i < x->count + y->count; i++) {
        bool new = i >= x->count;
        ptrdiff_t k = new ? (ptrdiff_t)(i - x->count) : mate[i];
        if (new ? !left[k] : !in_x[i]) continue;
        if (!new) pairs[n].side[0] = &x->heaps[i], pairs[n].again[0] = &x->again[i];
        if (k != NO_MATE) pairs[n].side[1] = &y->heaps[k], pairs[n].again[1] = &y->again[k];
        pairs[n].hidden = (new ? 0 : x->hidden[i]) + (k != NO_MATE ? y->hidden[k] : 0);
        pairs[n].from[0] = x, pairs[n].from[1] = y;
        n++;
    }
    free(left), free(mate);
    return n;
}

/* Pairs in the order of display. To be freed. */
static sized_heap *by_change(const comparing *d, const pair *pairs, size_t count, size_t *shown) {
    sized_heap *order = needed(calloc(count + 1, sizeof *order));
    for (size_t i = 0; i < count; i++) {
        const pair *p = &pairs[i];
        uint64_t before = p->side[0] ? totals_of(p->side[0]).bytes : 0;
        uint64_t after = p->side[1] ? totals_of(p->side[1]).bytes : 0;
        order[i] = (sized_heap){ before > after ? before - after : after - before, i };
    }
    *shown = largest_first(d->a, &d->screen, order, count);
    return order;
}

/* Compares heaps of two files, which may come from two builds. Functions get their names in the later file. */
static int diff_renamed(comparing *d, const pair *p, char *const *places) {
    renamed_heap side[2] = { { .again = p->again[0] }, { .again = p->again[1] } };
    frame_pairs *names = frame_pairs_create(true);
    hd_error err;
    int status = DONE;
    for (int i = 2; i-- > 0 && !status;)
        if (frame_pairs_take(names, p->from[i]->dump, &p->side[i], 1, &side[i], &err))
            status = failed(p->from[i]->file, &err);
    frame_pairs_free(names);
    for (int i = 0; i < 2; i++) d->again[i] = side[i].again;
    if (!status) status = diff_pair(d, &side[0].heap, &side[1].heap, places);
    renamed_heap_free(&side[0]), renamed_heap_free(&side[1]);
    return status;
}

static int diff_pairs(comparing *d, const pair *pairs, size_t count, char *const *places) {
    size_t shown;
    FREED sized_heap *order = by_change(d, pairs, count, &shown);
    int status = DONE, bad;
    for (size_t k = 0; k < shown; k++) {
        const pair *p = &pairs[order[k].number];
        if (k && !d->a->view.json) display(d->to.text, "\n");
        d->hidden += p->hidden;
        memcpy(d->again, p->again, sizeof d->again);
        if (p->side[0] && p->side[1] && p->from[0] != p->from[1]) bad = diff_renamed(d, p, places);
        else bad = diff_pair(d, p->side[0], p->side[1], places);
        if (bad) status = BAD_INPUT;
    }
    if (!d->a->view.json) put_smaller(d->to.text, d->a, &d->screen, "changes", order, shown, count);
    return status;
}

static bool has_peak(const chosen *c) {
    for (size_t i = 0; i < hd_dump_heap_count(c->dump); i++)
        if (hd_dump_heap(c->dump, i)->kind == HD_HEAP_PEAK) return true;
    return false;
}

static int diff_chosen(comparing *d, const chosen *x, const chosen *y) {
    size_t other_kinds = x->other_kinds;
    const arguments *a = d->a;
    FREED bool *in_x = needed(calloc(x->count, 1)), *in_y = needed(calloc(y->count, 1));
    FREED pair *pairs = needed(calloc(x->count + y->count + 1, sizeof *pairs));
    char *places[2] = { place_of(x, a->heaps.before), place_of(y, a->heaps.after) };
    bool bad = pick(x, a->heaps.before, x != y, in_x) || pick(y, a->heaps.after, true, in_y);
    int status;
    if (!bad && x == y && !memcmp(in_x, in_y, x->count)) {
        display(stderr, "heapdump: %s: expected two dumps to compare, found one%s\n", x->file,
                has_peak(x) ? "; its peak is not compared. Record several dumps: heapdump record --at exit,every=1 "
                              "-- COMMAND" : "");
        bad = true;
    }
    status = bad ? BAD_INPUT : diff_pairs(d, pairs, pairs_of(a, x, in_x, y, in_y, pairs), places);
    if (x != y) other_kinds += y->other_kinds;
    if (!bad) json_left_out(&d->to, d->hidden, other_kinds, 0);
    if (!bad && !a->view.json) {
        put_left_out(d->to.text, &d->screen, d->hidden, other_kinds, x->left_kinds | y->left_kinds, 0);
        if (!a->view.invert)
            put_next(d->to.text, &d->screen, a, "who allocates it", "diff", "--invert", x->file,
                     x != y ? y->file : NULL, NULL);
    }
    free(places[0]), free(places[1]);
    return status;
}

int diff_heaps(const arguments *a, hd_dump *before, hd_dump *after) {
    chosen x, y, *other = after ? &y : &x;
    comparing d = { .a = a };
    int status;
    d.screen = screen_of(a);
    status = choose_from(a, a->input.files[0], before, &x);
    if (status) {
        hd_dump_free(after);
        return status;
    }
    if (after) status = choose_from(a, a->input.files[1], after, &y);
    if (!status) {
        d.rows = rows_for(a, &d.screen, 1);
        status = answer_open(&d.to, a, "diffs");
        if (!status) status = answer_close(&d.to, diff_chosen(&d, &x, other));
        if (after) chosen_free(&y);
    }
    chosen_free(&x);
    return status;
}

