/* Trees as lines for people. */

#include "listing.h"

#include <limits.h>

#include "memprof.h"
#include "objects.h"

/* Collecting. ---------------------------------------------------------------------------------- */

/* Where the names of a row are to be found, and how many of those above it there are. */
typedef struct place {
    const hd_axis *axis;
    const hd_rows *rows;
    uint32_t above, entry;       /* HD_NONE: <other> */
} place;

/* The nodes of an axis that lead from the row above to this one, innermost first; returns how many. */
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

static hd_str copied(hd_str s) {
    char *data = needed(malloc(s.len + 1));
    memcpy(data, s.data, s.len);
    return (hd_str){ data, s.len };
}

/* A frame, or a value with the name of its axis: "type: T". */
static hd_str value_of(const hd_axis *axis, uint32_t number, uint32_t node) {
    hd_str value = axis->node_name[node];
    char *text;
    int size;
    if (number == HD_AXIS_BACKTRACE || !axis->name || !*axis->name) return copied(value);
    size = asprintf(&text, "%s: %.*s", axis->name, (int)value.len, value.data);
    if (size < 0) needed(NULL);
    return (hd_str){ text, (size_t)size };
}

/* The names of the axis that the row was reached along, or of the first that differs; a type beside frames. */
static void take_names(line *x, const place *p) {
    for (uint32_t a = 0; a < p->rows->axis_count; a++) {
        uint32_t *nodes, n = nodes_between(p, a, &nodes);
        if (n && !x->name_count) {
            x->axis = a;
            x->names = needed(malloc(n * sizeof *x->names));
            x->names[x->name_count++] = value_of(&p->axis[a], a, nodes[n - 1]);
            for (uint32_t i = n - 1; i-- > 0;) x->names[x->name_count++] = copied(p->axis[a].node_name[nodes[i]]);
        } else if (n && !x->type.len) {
            x->type = value_of(&p->axis[a], a, nodes[0]);
        }
        free(nodes);
    }
}

/* Lines come in preorder. */
static line *push_line(listing *l, const line *from) {
    line *x;
    if (!(l->count & (l->count - 1))) {
        size_t n = l->count ? 2 * (size_t)l->count : 1;
        l->lines = needed(realloc(l->lines, n * sizeof *l->lines));
        l->path = needed(realloc(l->path, (n + 1) * sizeof *l->path));
    }
    x = &l->lines[l->count];
    *x = *from;
    x->parent = x->depth ? l->path[x->depth - 1] : HD_NONE;
    l->path[x->depth] = l->count++;
    return x;
}

static void add_other(listing *l, const line *from) {
    line *x = push_line(l, from);
    x->entry = HD_NONE;
    x->names = needed(malloc(sizeof *x->names));
    x->names[x->name_count++] = copied(hd_cstr("<other>"));
}

static hd_status add_line(listing *l, const line *from, const place *p) {
    place at = *p;
    line *x;
    if (p->entry == HD_NONE) {
        add_other(l, from);
        return HD_OK;
    }
    x = push_line(l, from);
    x->entry = p->entry;
    if (x->depth) {
        at.above = l->lines[x->parent].entry;
        take_names(x, &at);
    }
    return HD_OK;
}

static hd_status add_tree_row(void *user, const hd_tree_row *row) {
    const place p = { row->breakdown->axis, &row->breakdown->entries, 0, row->entry };
    return add_line(user, &(line){ .amount = { row->amount }, .depth = row->depth, .axis = row->axis,
                                .folds = row->folds, .more = { row->unlisted } }, &p);
}

static hd_status add_diff_row(void *user, const hd_diff_row *row) {
    const place p = { row->diff->axis, &row->diff->before, 0, row->entry };
    listing *l = user;
    l->compares = true;
    return add_line(l, &(line){ .amount = { row->amount[0], row->amount[1] }, .depth = row->depth, .axis = row->axis,
                                .flags = row->flags, .folds = row->folds,
                                .more = { row->unlisted[0], row->unlisted[1] } }, &p);
}

/* Folding. ------------------------------------------------------------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* Whether it is a value of --by, which has its line: the names of frames might displace it. */
static bool is_value(const listing *l, const line *x) {
    return l->by && x->name_count && value_along(x->names[x->name_count - 1], l->by).len;
}

/* Rows that fold join the line of their parent. */
static void fold(const arguments *a, listing *l) {
    bool unfolded = a->frames_all || a->every_route;
    l->shown = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        line *x = &l->lines[i];
        x->head = i;
        x->next = HD_NONE;
        if (x->depth && x->folds && !unfolded && !is_value(l, &l->lines[x->parent])) {
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
        line *x = &l->lines[i];
        for (uint32_t k = 0; k < x->name_count; k++) free((void *)(uintptr_t)x->names[k].data);
        free((void *)(uintptr_t)x->type.data);
        free(x->names), free(x->times);
    }
    free(l->lines);
    free(l->path);
    memset(l, 0, sizeof *l);
}

/* The rows of a tree, not folded yet. */
static hd_status gather(const arguments *a, const hd_heap *heap, const hd_heap *after,
                        const hd_tree_options *tree, listing *l, hd_error *err) {
    memset(l, 0, sizeof *l);
    l->by = a->by;
    return after ? hd_diff_tree(heap, after, tree, add_diff_row, l, err) : hd_tree(heap, tree, add_tree_row, l, err);
}

static hd_status collect(const arguments *a, const hd_heap *heap, const hd_heap *after, const hd_tree_options *tree,
                         listing *l, hd_error *err) {
    hd_status status = gather(a, heap, after, tree, l, err);
    if (!status) fold(a, l);
    return status;
}

/* Nesting. A budget lists `main > a` and `main > b` without `main`: where ways part, the frame that they part at is
   listed, too, so that each line says what is new in it. ------------------------------------------- */

/* By line, where what is below it ends. */
static uint32_t *ends_of(const listing *l) {
    uint32_t *end = needed(malloc(((size_t)l->count + 1) * sizeof *end));
    for (uint32_t i = 0; i < l->count; i++) end[i] = i + 1;
    for (uint32_t i = l->count; i-- > 1;)
        if (end[l->lines[i].parent] < end[i]) end[l->lines[i].parent] = end[i];
    return end;
}

/* The line of that name below another, of a list of single frames; HD_NONE: there is none. */
static uint32_t line_below(const listing *l, const uint32_t *end, uint32_t above, hd_str name) {
    for (uint32_t i = above + 1; i < end[above]; i = end[i])
        if (l->lines[i].entry != HD_NONE && hd_str_equal(l->lines[i].names[0], name)) return i;
    return HD_NONE;
}

/* Which lines of all are those of some; false: not every one is there. */
static bool mark_some(const listing *all, const uint32_t *end, const listing *some, bool *kept) {
    uint32_t *at = needed(calloc((size_t)some->count + 1, sizeof *at));
    bool found = true;
    kept[0] = true;
    for (uint32_t i = 1; i < some->count && found; i++) {
        const line *x = &some->lines[i];
        if (x->entry == HD_NONE) continue;
        at[i] = at[x->parent];
        for (uint32_t k = 0; k < x->name_count && found; k++) {
            at[i] = line_below(all, end, at[i], x->names[k]);
            found = at[i] != HD_NONE;
        }
        if (found) kept[at[i]] = true;
    }
    free(at);
    return found;
}

/* Marks where ways to marked lines part, and the values of --by that they lead through. */
static void mark_forks(const listing *all, bool *kept) {
    uint32_t *ways = needed(calloc((size_t)all->count + 1, sizeof *ways));
    for (uint32_t i = all->count; i-- > 1;) {
        kept[i] |= ways[i] > 1 || (ways[i] && is_value(all, &all->lines[i]));
        ways[all->lines[i].parent] += kept[i] || ways[i];
    }
    free(ways);
}

static void take_amount(hd_amount *rest, const hd_amount *part) {
    rest->bytes -= part->bytes < rest->bytes ? part->bytes : rest->bytes;
    if (rest->blocks == HD_UNKNOWN || part->blocks == HD_UNKNOWN) rest->blocks = HD_UNKNOWN;
    else rest->blocks -= part->blocks < rest->blocks ? part->blocks : rest->blocks;
    rest->variance.hi -= part->variance.hi + (rest->variance.lo < part->variance.lo);
    rest->variance.lo -= part->variance.lo;
}

/* Puts what the last line of some depth holds beyond those below it behind these. */
static void end_line(listing *to, hd_amount *rest, uint32_t depth) {
    const line *x = &to->lines[to->path[depth]];
    bool any = to->count > to->path[depth] + 1;
    const hd_amount *r = &rest[2 * to->path[depth]];
    line other = { .amount = { r[0], r[1] }, .depth = depth + 1, .axis = x->axis };
    hd_u128 sum = r[0].variance;
    uint64_t error;
    bool known = r[0].blocks != HD_UNKNOWN && r[1].blocks != HD_UNKNOWN;
    if (!any || (r[0].bytes == r[1].bytes && (!known || r[0].blocks == r[1].blocks)))
        return; /* of one heap r[1] is 0 */
    sum.lo += r[1].variance.lo;
    sum.hi += r[1].variance.hi + (sum.lo < r[1].variance.lo);
    error = hd_standard_error(sum);
    if (error && distance(r[0].bytes, r[1].bytes) / 2 <= error) other.flags = HD_DIFF_NOISE;
    add_other(to, &other);
}

/* The names that lead to a line from the one that is kept above it; the line folds if each of them does. */
static void take_way(const listing *all, const bool *kept, uint32_t i, line *to) {
    uint32_t n = 0, from = i;
    to->folds = true;
    do to->folds &= all->lines[from].folds, n++, from = all->lines[from].parent;
    while (!kept[from]);
    to->names = needed(malloc(n * sizeof *to->names));
    to->name_count = n;
    for (from = i; n; from = all->lines[from].parent) to->names[--n] = copied(all->lines[from].names[0]);
}

/* In place of `some`, the same entries of `all` and the forks above them. */
static void nest(const listing *all, listing *some) {
    bool *kept = needed(calloc((size_t)all->count + 1, 1));
    uint32_t *end = ends_of(all), *depth = needed(calloc((size_t)all->count + 1, sizeof *depth)), now = 0;
    hd_amount *rest = needed(calloc(4 * ((size_t)all->count + 1), sizeof *rest));
    listing to = { .listed = some->listed, .compares = all->compares, .by = all->by };
    if (mark_some(all, end, some, kept)) {
        mark_forks(all, kept);
        for (uint32_t i = 0; i < all->count; i++) {
            const line *x = &all->lines[i];
            line y = { .amount = { x->amount[0], x->amount[1] }, .axis = x->axis, .flags = x->flags,
                       .more = { x->more[0], x->more[1] } };
            depth[i] = i ? depth[x->parent] + kept[i] : 0;
            if (!kept[i]) continue;
            for (; i && now >= depth[i]; now--) end_line(&to, rest, now);
            y.depth = now = depth[i];
            if (i) take_way(all, kept, i, &y);
            for (uint32_t k = 0; k < 2 && i; k++) take_amount(&rest[2 * to.path[now - 1] + k], &x->amount[k]);
            memcpy(&rest[2 * to.count], x->amount, sizeof x->amount);
            push_line(&to, &y);
        }
        for (now++; now-- > 0;) end_line(&to, rest, now);
        listing_free(some);
        *some = to;
    }
    free(kept), free(end), free(depth), free(rest);
}

void listing_repeat(listing *l, const repeats *again) {
    for (uint32_t i = 1; i < l->count && again->count; i++) {
        line *x = &l->lines[i];
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
    hd_str **at, *names;
    char **shown;
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
    free(at), free(names), free(shown);
}

/* A heap along its first axis alone. A budget would list a frame, and beside it what it holds of one type. */
static hd_status of_one_axis(const arguments *a, const hd_heap *heap, const hd_options *options, hd_heap *out,
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
    if (!status && heap->breakdown && a->once && !a->frames_all && !a->invert)
        status = tell_recursion_once(out, &once, &found, again, err);
    if (found && !status) hd_profile_free(profile), out->profile = once.profile;
    if (status) hd_profile_free(profile), out->profile = NULL;
    return status;
}

/* What a budget lists; with `all`, nested. */
static hd_status budgeted(const arguments *a, const hd_heap *heap, const hd_heap *after, const hd_tree_options *tree,
                          const listing *all, listing *l, hd_error *err) {
    hd_status status = gather(a, heap, after, tree, l, err);
    if (status) return status;
    l->listed = l->count;
    if (all->count) nest(all, l), listing_sort(l, tree->order);
    fold(a, l);
    return HD_OK;
}

/* Entries that are folded take no line, so more are asked for until the lines are enough. */
static hd_status fill_rows(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows,
                           hd_tree_options *tree, bool nested, listing *l, hd_error *err) {
    listing more, all = { 0 };
    hd_status status = HD_OK;
    memset(&tree->cutoff, 0, sizeof tree->cutoff);
    tree->cutoff.min_share = 0.001;
    if (nested) status = gather(a, heap, after, tree, &all, err);
    if (nested) tree->options.warning = NULL; /* told once */
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

hd_status listing_make(const arguments *a, const hd_heap *heap, const hd_heap *after, uint32_t rows,
                       const hd_options *options, listing *l, hd_error *err) {
    hd_tree_options tree = tree_options(a);
    hd_heap one[2] = { { 0 }, { 0 } };
    repeats again[2] = { { NULL, 0 }, { NULL, 0 } };
    hd_status status = HD_OK;
    /* Entries of several axes that a budget lists beside each other have cells in common. */
    bool overlaps = (a->cutoff.max_entries || a->cutoff.max_output_bytes) && !a->every_route;
    tree.first_axis = after ? axis_in_both(a, heap, after) : axis_in(a, heap);
    tree.options = *options;
    memset(l, 0, sizeof *l);
    if (is_along(a, tree.first_axis, rows && !a->has_cutoff)) {
        status = heap_along(heap, tree.first_axis, options, &one[0], err);
        if (!status && after) status = heap_along(after, axis_in(a, after), options, &one[1], err);
        tree.first_axis = 0;
        tree.cutoff.nested = true;
    } else if ((a->has_cutoff && !overlaps) || (!a->has_cutoff && !rows)) {
        return collect(a, heap, after, &tree, l, err);
    } else if (a->every_route || tree.first_axis) {
        return fill_rows(a, heap, after, rows, &tree, false, l, err);
    } else {
        status = of_one_axis(a, heap, options, &one[0], &again[0], err);
        if (!status && after) status = of_one_axis(a, after, options, &one[1], &again[1], err);
    }
    if (!status && a->has_cutoff) status = collect(a, &one[0], after ? &one[1] : NULL, &tree, l, err);
    else if (!status) status = fill_rows(a, &one[0], after ? &one[1] : NULL, rows, &tree, true, l, err);
    for (int i = 0; i < 2; i++) {
        if (!status && !a->invert) listing_repeat(l, &again[i]);
        hd_heap_release(&one[i]);
        free(again[i].list);
    }
    return status;
}

/* Text. ---------------------------------------------------------------------------------------- */

/* A heap's label; with `than` the parts in which it differs. */
static void put_label(FILE *out, const char *before, const hd_heap *heap, const hd_heap *than) {
    hd_buffer label = { 0 };
    if (hd_print_label(heap, than, hd_out_memory(&label), NULL)) needed(NULL);
    if (label.size)
        display(out, "%s%.*s", before, (int)label.size, (const char *)label.data);
    hd_buffer_free(&label);
    if (!than && has_unknown_error(heap)) display(out, ", error unknown (no block counts)");
}

void put_label_within(FILE *out, const hd_heap *heap, const hd_heap *after, int columns) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_label(f, "", heap, NULL);
    if (after) put_label(f, " -> ", after, compare_heaps(heap, after, true) ? NULL : heap);
    closed_text(f, &text);
    put_within(out, text, columns);
    free(text);
}

void put_error(FILE *out, const hd_amount *amount) {
    uint64_t error = hd_standard_error(amount->variance);
    double share = amount->bytes ? (double)error / (double)amount->bytes : 0;
    if (share >= 10) display(out, " \xc2\xb1>1000%%");
    else display(out, " \xc2\xb1%5.1f%%", 100 * share);
}

/* What the columns of one listing have in common. */
typedef struct columns {
    const arguments *a;
    const screen *screen;
    bool estimates, compares;
    int bytes, blocks;           /* widths; blocks 0: no column */
    uint64_t total;
} columns;

static int digits_of(uint64_t n) {
    int digits = 1;
    while (n /= 10) digits++;
    return digits;
}

static void put_blocks(FILE *out, uint64_t blocks, int width) {
    if (blocks == HD_UNKNOWN) display(out, "%*s", width, "-");
    else display(out, "%*llu", width, (unsigned long long)blocks);
}

enum { BAR = 8, BAR_FROM = 100 };

/* Bytes, share of the whole, blocks. Returns the columns they take. */
static int put_amount(FILE *out, const columns *c, const line *x) {
    const hd_amount *amount = &x->amount[0];
    int used = c->bytes + 8;
    put_style(out, c->screen, c->total && amount->bytes >= c->total / 10 && x->entry != HD_NONE ? STRONG : PLAIN);
    put_bytes(out, c->a, amount->bytes, c->bytes);
    put_style(out, c->screen, PLAIN);
    if (c->estimates) put_error(out, amount), used += 8;
    if (amount->bytes > c->total) display(out, "  > 100%%");
    else put_share(out, amount->bytes, c->total);
    if (c->blocks) {
        display(out, "  "), put_blocks(out, amount->blocks, c->blocks);
        used += 2 + c->blocks;
    }
    if (c->screen->columns >= BAR_FROM) {
        display(out, "  "), put_bar(out, c->screen, amount->bytes, c->total, BAR);
        used += 2 + BAR;
    }
    return used;
}

/* A change with its sign, behind "~" where sampling may have made it up. */
static void put_signed(FILE *out, const columns *c, uint64_t change, const char *sign, int width) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    display(f, "%s", sign), put_bytes(f, c->a, change, 0);
    closed_text(f, &text);
    display(out, "%*s", width, text);
    free(text);
}

static int put_changes(FILE *out, const columns *c, const line *x) {
    const hd_amount *before = &x->amount[0], *after = &x->amount[1];
    bool grown = after->bytes > before->bytes, same = after->bytes == before->bytes;
    const char *sign = grown ? "+" : same ? "" : "-";
    int width = c->bytes + 2, used = 3 * width;
    put_style(out, c->screen, same || x->flags & HD_DIFF_NOISE ? PLAIN : grown ? MORE_THAN : LESS_THAN);
    put_signed(out, c, distance(before->bytes, after->bytes),
               !(x->flags & HD_DIFF_NOISE) ? sign : grown ? "~+" : same ? "~" : "~-", width);
    put_style(out, c->screen, PLAIN);
    if (c->estimates) {
        hd_u128 sum = before->variance;
        sum.lo += after->variance.lo;
        sum.hi += after->variance.hi + (sum.lo < after->variance.lo);
        put_signed(out, c, hd_standard_error(sum), "\xc2\xb1", width);
        used += width;
    }
    put_bytes(out, c->a, before->bytes, width);
    put_bytes(out, c->a, after->bytes, width);
    if (!c->blocks) return used;
    if (before->blocks == HD_UNKNOWN || after->blocks == HD_UNKNOWN) put_blocks(out, HD_UNKNOWN, c->blocks + 3);
    else display(out, "%*s%llu", c->blocks + 3 - digits_of(distance(before->blocks, after->blocks)),
                 after->blocks > before->blocks ? "+" : after->blocks < before->blocks ? "-" : "",
                 (unsigned long long)distance(before->blocks, after->blocks));
    return used + c->blocks + 3;
}

static bool is_self(hd_str name) { return hd_str_equal(name, hd_cstr("<self>")); }

/* Puts frames of a line behind those before them in it; a run of frames of one library that have no names is one. */
static size_t add_calls(const columns *c, const line *x, bool is_first, frame_run **calls, size_t n) {
    *calls = needed(realloc(*calls, (n + x->name_count + 1) * sizeof **calls));
    for (uint32_t k = 0; k < x->name_count; k++) {
        frame_run *to = *calls + n, *last = n ? to - 1 : NULL;
        hd_str module = module_of_address(x->names[k]);
        uint64_t times = x->times && x->times[k] ? x->times[k] : 1;
        bool joins = last && module.len && times == 1 && (last->nameless || last->times == 1) && !c->a->frames_all;
        if (!is_first && is_self(x->names[k])) continue;
        if (joins && hd_str_equal(module_of_address(last->of), module)) {
            if (n > 1) last->name = module; /* the first of a line tells it from others */
            last->nameless = true;
            last->times++;
            continue;
        }
        *to = (frame_run){ .name = x->names[k], .of = x->names[k], .times = times };
        n++;
    }
    return n;
}

/* The names of a line: frames, without a "<self>" that is nearly all there is; then a type. */
static void put_names(FILE *out, const columns *c, const listing *l, uint32_t i, int room) {
    const line *x = &l->lines[i];
    frame_run *calls = NULL;
    hd_str type = { NULL, 0 };
    size_t n = 0;
    char *text, *of = NULL;
    for (const line *y = x;; y = &l->lines[y->next]) {
        if (y->axis == x->axis || y->axis == HD_AXIS_BACKTRACE) n = add_calls(c, y, y == x, &calls, n);
        else if (y->name_count) type = y->names[y->name_count - 1];
        if (y->type.len) type = y->type;
        if (y->next == HD_NONE) break;
    }
    if (type.len) {
        of = short_name(type, room ? room / 3 > 8 ? room / 3 : 8 : 0);
        if (room) room -= columns_of(hd_cstr(of)) + 3;
    }
    if (l->whole) room = INT_MAX / 2;
    text = n ? short_calls(calls, n, room && room < 12 ? 12 : room, c->a->invert) : needed(strdup(""));
    put_style(out, c->screen, x->entry == HD_NONE || is_self(calls[0].name) ? FAINT : PLAIN);
    display(out, "%s", text);
    if (of) put_style(out, c->screen, FAINT), display(out, "%s%s", n ? CALLS : "", of);
    put_style(out, c->screen, PLAIN);
    free(calls), free(text), free(of);
}

void put_besides(FILE *out, const arguments *a, uint64_t more, bool open) {
    if (more) display(out, open ? ", +" : " (+"), put_bytes(out, a, more, 0), display(out, "?");
    if (more || open) display(out, ")");
}

void put_besides_legend(FILE *out, const screen *s, bool compares) {
    put_style(out, s, FAINT);
    display(out, compares ? "(?, before +..., after +...)" : "(+...?)");
    display(out, ": what a line may hold besides, at most, in merged heaps that do not list it\n");
    put_style(out, s, PLAIN);
}

static void put_line(FILE *out, const columns *c, const listing *l, uint32_t i) {
    enum { INDENT_MOST = 200, MORE_COLUMNS = 16 };
    const line *x = &l->lines[i];
    int used = (c->compares ? put_changes : put_amount)(out, c, x);
    int indent = 2 * (int)(x->indent < INDENT_MOST / 2 ? x->indent : INDENT_MOST / 2);
    int room = c->screen->columns;
    if (room && indent > room / 3) indent = room / 3;
    display(out, "%*s", 2 + indent, "");
    if (x->indent > INDENT_MOST / 2) display(out, "[%u] ", x->depth);
    const char *change = x->flags & HD_DIFF_NEW ? " (new" : x->flags & HD_DIFF_GONE ? " (gone" :
                         x->flags & HD_DIFF_BOUND ? " (" : "";
    if (x->entry == HD_NONE) change = "";
    if (room) room -= used + indent + 3 + (*change ? 8 : 0) + MORE_COLUMNS * ((x->more[0] != 0) + (x->more[1] != 0));
    if (c->screen->columns && room < 12) room = 12;
    put_names(out, c, l, i, room);
    if (*change) {
        display(out, "%s%s", change, x->flags & HD_DIFF_BOUND ? "?" : "");
        for (int k = 0; k < 2; k++)
            if (x->more[k]) display(out, k ? ", after +" : ", before +"), put_bytes(out, c->a, x->more[k], 0);
        display(out, ")");
    } else if (x->more[0]) {
        put_style(out, c->screen, FAINT);
        put_besides(out, c->a, x->more[0], false);
        put_style(out, c->screen, PLAIN);
    }
    display(out, "\n");
}

/* Whether names need the columns that numbers of blocks would take. */
static bool is_narrow(const screen *s) { return s->columns && s->columns < 100; }

int listing_figures(const arguments *a, const screen *s, const listing *l) {
    const hd_amount *x = &l->lines[0].amount[0];
    return (a->exact ? digits_of(x->bytes) : 10) + 8 + 2 + digits_of(x->blocks) + 3 +
           (s->columns >= BAR_FROM ? 2 + BAR : 0);
}

void listing_put(FILE *out, const arguments *a, const screen *s, const listing *l, const hd_heap *heap,
                 const hd_heap *after) {
    const hd_amount *x = &l->lines[0].amount[0], *y = &l->lines[0].amount[1];
    uint64_t blocks = x->blocks;
    bool more = false;
    int used;
    columns c = { .a = a, .screen = s, .compares = after != NULL, .total = x->bytes };
    if (after && blocks != HD_UNKNOWN) blocks = y->blocks == HD_UNKNOWN || y->blocks > blocks ? y->blocks : blocks;
    c.estimates = (heap->sample_bytes && x->blocks != HD_UNKNOWN) ||
                  (after && after->sample_bytes && y->blocks != HD_UNKNOWN) || x->variance.lo || x->variance.hi ||
                  y->variance.lo || y->variance.hi;
    c.bytes = a->exact ? digits_of(x->bytes > y->bytes ? x->bytes : y->bytes) : 10;
    c.blocks = blocks == HD_UNKNOWN || (after && c.estimates && is_narrow(s)) ? 0 : digits_of(blocks);
    used = (after ? put_changes : put_amount)(out, &c, &l->lines[0]);
    display(out, "  ");
    put_label_within(out, heap, after, s->columns > used + 20 ? s->columns - used - 3 : s->columns / 2);
    display(out, "\n");
    for (uint32_t i = 1; i < l->count; i++) {
        if (l->lines[i].head != i) continue;
        put_line(out, &c, l, i);
        more |= l->lines[i].more[0] || l->lines[i].more[1];
    }
    if (more) put_besides_legend(out, s, after != NULL);
}

static int by_size(const void *x, const void *y) {
    const sized_heap *a = x, *b = y;
    int order = -compare_numbers(a->bytes, b->bytes);
    return order ? order : compare_numbers(a->number, b->number);
}

size_t largest_first(const arguments *a, const screen *s, sized_heap *heaps, size_t count) {
    enum { MOST = 10, LINES = 8 };
    size_t most = s->rows ? (size_t)s->rows / LINES : MOST;
    if (a->all || a->json || count <= MOST) return count;
    qsort(heaps, count, sizeof *heaps, by_size);
    return most < 2 ? 2 : most < count ? most : count;
}

void put_smaller(FILE *out, const arguments *a, const screen *s, const char *what, const sized_heap *heaps,
                 size_t shown, size_t count) {
    uint64_t bytes = 0;
    if (shown == count) return;
    for (size_t h = shown; h < count; h++)
        bytes = heaps[h].bytes > UINT64_MAX - bytes ? UINT64_MAX : bytes + heaps[h].bytes;
    put_style(out, s, FAINT);
    display(out, "not shown: %zu smaller %s, of ", count - shown, what), put_bytes(out, a, heaps[shown].bytes, 0);
    if (heaps[shown].bytes)
        display(out, " and less, "), put_bytes(out, a, bytes, 0), display(out, " together");
    display(out, " (--all)\n");
    put_style(out, s, PLAIN);
}
