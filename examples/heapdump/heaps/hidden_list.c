/* --frames hidden: the frames that a view hides, and the bytes of their stacks. */

#include "heaps.h"
#include "hidden_list.h"

/* A pair of pattern and object has one number: its node below the root of `pairs`. */
typedef struct hidden_pairs {
    hd_profile *pairs;
    hidden_row *rows;            /* by node of `pairs` */
    size_t room;
} hidden_pairs;

static hd_status pair_of(hidden_pairs *x, const char *like, hd_str object, uint32_t *number, hd_error *err) {
    uint32_t parent;
    hd_status status = hd_profile_node(x->pairs, 0, 0, hd_cstr(like), &parent, err);
    if (!status) status = hd_profile_node(x->pairs, 0, parent, object, number, err);
    if (status) return status;
    if (*number >= x->room) {
        size_t room = 2 * (size_t)*number + 16;
        x->rows = needed(realloc(x->rows, room * sizeof *x->rows));
        memset(x->rows + x->room, 0, (room - x->room) * sizeof *x->rows);
        x->room = room;
    }
    if (x->rows[*number].pattern) return HD_OK;
    x->rows[*number] = (hidden_row){ .pattern = like, .object = needed(strndup(object.data, object.len)) };
    return HD_OK;
}

static void add_amount(hd_amount *to, const hd_amount *amount) {
    to->bytes += amount->bytes;
    to->blocks = to->blocks == HD_UNKNOWN || amount->blocks == HD_UNKNOWN ? HD_UNKNOWN : to->blocks + amount->blocks;
}

/* Cumulative amounts by node. Children have larger numbers than their parents. To be freed. */
static hd_amount *cumulative(hd_axis axis, const hd_rows *cells) {
    hd_amount *sums = needed(calloc(axis.node_count, sizeof *sums));
    for (uint32_t i = 0; i < cells->count; i++)
        add_amount(&sums[cells->node[(size_t)i * cells->axis_count]], &cells->amount[i]);
    for (uint32_t i = axis.node_count; i-- > 1;) add_amount(&sums[axis.parent[i]], &sums[i]);
    return sums;
}

/* Adds to each pair the nodes that have no ancestor of the same pair. One walk over the tree. */
static void add_outermost(hidden_pairs *x, hd_axis axis, const uint32_t *pair, const hd_amount *sums) {
    const uint32_t n = axis.node_count;
    FREED uint32_t *child = needed(malloc(3 * (size_t)n * sizeof *child));
    uint32_t *next = child + n, at = 0;
    FREED uint32_t *open = needed(calloc(x->room + 1, sizeof *open));
    for (uint32_t i = 0; i < n; i++) child[i] = next[i] = HD_NONE;
    for (uint32_t i = n; i-- > 1;) next[i] = child[axis.parent[i]], child[axis.parent[i]] = i;
    for (;;) {
        uint32_t down = child[at];
        if (down != HD_NONE) {
            child[at] = next[down];
            at = down;
            if (pair[at] && !open[pair[at]]++) add_amount(&x->rows[pair[at]].amount, &sums[at]);
            continue;
        }
        if (!at) break;
        if (pair[at]) open[pair[at]]--;
        at = axis.parent[at];
    }
}

static int larger(const void *a, const void *b) {
    const hidden_row *x = a, *y = b;
    int order;
    if (x->amount.bytes != y->amount.bytes) return x->amount.bytes > y->amount.bytes ? -1 : 1;
    order = strcmp(x->pattern, y->pattern);
    return order ? order : strcmp(x->object, y->object);
}

/* Moves the used rows to the front, sorts them and returns their number. */
static size_t packed(hidden_pairs *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->room; i++) {
        if (!x->rows[i].pattern) continue;
        if (x->rows[i].amount.bytes || x->rows[i].amount.blocks) x->rows[n++] = x->rows[i];
        else free(x->rows[i].object);
    }
    if (n) qsort(x->rows, n, sizeof *x->rows, larger);
    return n;
}

hd_status hidden_list_make(const hd_heap *heap, hidden_row **rows, size_t *count, hd_error *err) {
    hd_profile_desc one_axis = { .axis_count = 1 };
    hd_profile *made = NULL;
    const hd_profile *p = heap->profile;
    hidden_pairs x = { NULL, NULL, 0 };
    hidden_frames frames;
    hd_status status = HD_OK;
    if (heap->breakdown) status = hd_breakdown_axis_profile(heap->breakdown, HD_AXIS_BACKTRACE, NULL, &made, err);
    if (status) return status;
    if (made) p = made;
    x.pairs = hd_profile_create(&one_axis, err);
    if (!x.pairs) status = err->status;
    if (!status) {
        hd_axis axis = hd_profile_axis(p, HD_AXIS_BACKTRACE);
        hd_rows cells = hd_profile_cells(p);
        FREED uint32_t *pair = needed(calloc(axis.node_count, sizeof *pair));
        FREED hd_amount *sums = cumulative(axis, &cells);
        hidden_frames_find(&frames, axis, &cells);
        for (uint32_t i = 1; i < axis.node_count && !status; i++)
            if (frames.is[i])
                status = pair_of(&x, frames.pattern[i], hd_frame_parse(axis.node_name[i]).object, &pair[i], err);
        if (!status) add_outermost(&x, axis, pair, sums);
        hidden_frames_free(&frames);
    }
    *count = status ? 0 : packed(&x);
    *rows = x.rows;
    if (status) hidden_list_free(x.rows, 0);
    hd_profile_free(x.pairs);
    hd_profile_free(made);
    return status;
}

void hidden_list_free(hidden_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) free(rows[i].object);
    free(rows);
}
