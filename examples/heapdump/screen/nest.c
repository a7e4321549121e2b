/* Nesting. A budget lists `main > a` and `main > b` without `main`. This adds the frame at which paths part, so that
   no line repeats the names of another. */

#include "screen.h"

/* By line: the end of its descendants. */
static uint32_t *ends_of(const listing *l) {
    uint32_t *end = needed(malloc(((size_t)l->count + 1) * sizeof *end));
    for (uint32_t i = 0; i < l->count; i++) end[i] = i + 1;
    for (uint32_t i = l->count; i-- > 1;)
        if (end[l->lines[i].parent] < end[i]) end[l->lines[i].parent] = end[i];
    return end;
}

/* The line with this name below another, in a list of single frames; HD_NONE: no line. */
static uint32_t line_below(const listing *l, const uint32_t *end, uint32_t above, hd_str name) {
    for (uint32_t i = above + 1; i < end[above]; i = end[i])
        if (l->lines[i].entry != HD_NONE && hd_str_equal(l->lines[i].names[0], name)) return i;
    return HD_NONE;
}

/* Marks the lines of `all` that are in `some`. Returns false if one is missing. */
static bool mark_some(const listing *all, const uint32_t *end, const listing *some, bool *kept) {
    FREED uint32_t *at = needed(calloc((size_t)some->count + 1, sizeof *at));
    bool found = true;
    kept[0] = true;
    for (uint32_t i = 1; i < some->count && found; i++) {
        const listing_line *x = &some->lines[i];
        if (x->entry == HD_NONE) continue;
        at[i] = at[x->parent];
        for (uint32_t k = 0; k < x->name_count && found; k++) {
            at[i] = line_below(all, end, at[i], x->names[k]);
            found = at[i] != HD_NONE;
        }
        if (found) kept[at[i]] = true;
    }
    return found;
}

/* Marks the lines at which paths to marked lines part, and the values of --by on these paths. */
static void mark_forks(const listing *all, bool *kept) {
    FREED uint32_t *ways = needed(calloc((size_t)all->count + 1, sizeof *ways));
    for (uint32_t i = all->count; i-- > 1;) {
        kept[i] |= ways[i] > 1 || (ways[i] && listing_is_value(all, &all->lines[i]));
        ways[all->lines[i].parent] += kept[i] || ways[i];
    }
}

static void take_amount(hd_amount *rest, const hd_amount *part) {
    rest->bytes -= part->bytes < rest->bytes ? part->bytes : rest->bytes;
    if (rest->blocks == HD_UNKNOWN || part->blocks == HD_UNKNOWN) rest->blocks = HD_UNKNOWN;
    else rest->blocks -= part->blocks < rest->blocks ? part->blocks : rest->blocks;
    rest->variance.hi -= part->variance.hi + (rest->variance.lo < part->variance.lo);
    rest->variance.lo -= part->variance.lo;
}

/* Appends an <other> for the bytes of the last line at `depth` beyond its listed children. */
static void end_line(listing *to, hd_amount *rest, uint32_t depth) {
    const listing_line *x = &to->lines[to->path[depth]];
    bool any = to->count > to->path[depth] + 1;
    const hd_amount *r = &rest[2 * to->path[depth]];
    listing_line other = { .amount = { r[0], r[1] }, .depth = depth + 1, .axis = x->axis };
    hd_u128 sum = r[0].variance;
    uint64_t error;
    bool known = r[0].blocks != HD_UNKNOWN && r[1].blocks != HD_UNKNOWN;
    if (!any || (r[0].bytes == r[1].bytes && (!known || r[0].blocks == r[1].blocks)))
        return; /* for one heap, r[1] is 0 */
    sum.lo += r[1].variance.lo;
    sum.hi += r[1].variance.hi + (sum.lo < r[1].variance.lo);
    error = hd_standard_error(sum);
    if (error && difference(r[0].bytes, r[1].bytes) / 2 <= error) other.flags = HD_DIFF_NOISE;
    listing_push_other(to, &other);
}

/* Takes the names from the kept line above to this line. The line folds if all of them do. */
static void take_way(const listing *all, const bool *kept, uint32_t i, listing_line *to) {
    uint32_t n = 0, from = i;
    to->folds = true;
    do to->folds &= all->lines[from].folds, n++, from = all->lines[from].parent;
    while (!kept[from]);
    to->names = needed(malloc(n * sizeof *to->names));
    to->name_count = n;
    for (from = i; n; from = all->lines[from].parent) to->names[--n] = copied_name(all->lines[from].names[0]);
}

void listing_nest(const listing *all, listing *some) {
    FREED bool *kept = needed(calloc((size_t)all->count + 1, 1));
    uint32_t now = 0;
    FREED uint32_t *end = ends_of(all), *depth = needed(calloc((size_t)all->count + 1, sizeof *depth));
    FREED hd_amount *rest = needed(calloc(4 * ((size_t)all->count + 1), sizeof *rest));
    listing to = { .listed = some->listed, .compares = all->compares, .by = all->by };
    if (mark_some(all, end, some, kept)) {
        mark_forks(all, kept);
        for (uint32_t i = 0; i < all->count; i++) {
            const listing_line *x = &all->lines[i];
            listing_line y = { .amount = { x->amount[0], x->amount[1] }, .axis = x->axis, .flags = x->flags,
                       .more = { x->more[0], x->more[1] } };
            depth[i] = i ? depth[x->parent] + kept[i] : 0;
            if (!kept[i]) continue;
            for (; i && now >= depth[i]; now--) end_line(&to, rest, now);
            y.depth = now = depth[i];
            if (i) take_way(all, kept, i, &y);
            for (uint32_t k = 0; k < 2 && i; k++) take_amount(&rest[2 * to.path[now - 1] + k], &x->amount[k]);
            memcpy(&rest[2 * to.count], x->amount, sizeof x->amount);
            listing_push(&to, &y);
        }
        for (now++; now-- > 0;) end_line(&to, rest, now);
        listing_free(some);
        *some = to;
    }
}
