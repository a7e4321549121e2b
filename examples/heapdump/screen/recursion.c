/* Folds recursion: removes frames that are repeated at once from paths. A path is read from its outermost frame, and
   each frame is appended to the result. If the last frames of the result then equal the frames before them, they are
   removed again. The result for a path does not depend on frames below it, so a tree of paths becomes a tree. */

#include "screen.h"

enum { CYCLE_MOST = 32 };        /* frames of a cycle; it bounds the cost per frame */

uint64_t longer_path(uint64_t path, hd_str name) {
    uint64_t hash = (path ^ 0xcbf29ce484222325u) * 0x100000001b3u + name.len;
    for (size_t i = 0; i < name.len; i++) hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static int by_path(const void *a, const void *b) {
    const repeat *x = a, *y = b;
    if (x->path != y->path) return x->path < y->path ? -1 : 1;
    return (x->times < y->times) - (x->times > y->times); /* largest first */
}

uint64_t times_of(const repeats *r, uint64_t path) {
    size_t from = KEYS_BELOW(r->list, r->count, path, path);
    return from < r->count && r->list[from].path == path ? r->list[from].times : 1;
}

/* The folded path to a node: it is the path to the node `as`, whose last frame is this node's frame, and follows the
   folded path to `before`. */
typedef struct left_of {
    uint32_t as, before;
    uint64_t times, path;
} left_of;

/* The number of frames at the end of a folded path that repeat the frames before them; 0: none. */
static uint32_t cycle_at(const hd_axis *axis, const left_of *left, uint32_t node) {
    const hd_str name = axis->node_name[node];
    uint32_t back = left[node].before;
    for (uint32_t n = 1; n <= CYCLE_MOST && back; n++, back = left[back].before) {
        uint32_t x = node, y = back, same = 0;
        if (!hd_str_equal(axis->node_name[back], name)) continue;
        while (same < n && y && hd_str_equal(axis->node_name[x], axis->node_name[y]))
            x = left[x].before, y = left[y].before, same++;
        if (same == n) return n;
    }
    return 0;
}

/* By node: whether an entry has everything at or below it. Freed by the caller. */
static bool *nodes_listed(const hd_breakdown *b) {
    bool *listed = needed(calloc((size_t)b->axis[HD_AXIS_BACKTRACE].node_count + 1, sizeof *listed));
    for (uint32_t i = 0; i < b->entries.count; i++) {
        const uint32_t *node = b->entries.node + (size_t)i * b->entries.axis_count;
        bool all = true;
        for (uint32_t a = 1; a < b->entries.axis_count; a++) all &= !node[a];
        if (all) listed[node[HD_AXIS_BACKTRACE]] = true;
    }
    return listed;
}

/* Folds all paths, and returns whether anything is repeated. Parents come before their children. With `listed`, it
   folds only frames that call themselves and have an entry with everything below them. */
static bool find_cycles(const hd_axis *axis, const bool *listed, left_of *left) {
    bool found = false;
    left[0] = (left_of){ 0, 0, 1, NO_PATH };
    for (uint32_t i = 1; i < axis->node_count; i++) {
        uint32_t n, above = axis->parent[i], was = i;
        left[i] = (left_of){ i, above, 1, longer_path(left[above].path, axis->node_name[i]) };
        n = cycle_at(axis, left, i);
        if (!n || (listed && n > 1)) continue;
        while (n--) was = left[was].before;
        if (listed && !listed[was] && left[was].as == was) continue;
        left[i] = left[was];
        left[i].times++;
        found = true;
    }
    return found;
}

static void list_repeats(const left_of *left, uint32_t count, repeats *r) {
    size_t n = 0;
    memset(r, 0, sizeof *r);
    for (uint32_t i = 0; i < count; i++) n += left[i].times > 1;
    r->list = needed(malloc((n + 1) * sizeof *r->list));
    for (uint32_t i = 0; i < count; i++)
        if (left[i].times > 1) r->list[r->count++] = (repeat){ left[i].path, left[i].times };
    qsort(r->list, r->count, sizeof *r->list, by_path);
    for (size_t i = n = 0; i < r->count; i++)
        if (!n || r->list[n - 1].path != r->list[i].path) r->list[n++] = r->list[i];
    r->count = n;
}

/* Copies the nodes of a heap to a new profile. *map has the new node by axis and node. */
static hd_status copy_nodes(hd_profile *to, const hd_axis *axis, uint32_t axes, const left_of *left,
                            uint32_t *map[HD_MAX_AXES], hd_error *err) {
    for (uint32_t a = 0; a < axes; a++) {
        map[a] = needed(calloc((size_t)axis[a].node_count + 1, sizeof **map));
        for (uint32_t i = 1; i < axis[a].node_count; i++) {
            uint32_t above = a == HD_AXIS_BACKTRACE ? left[i].before : axis[a].parent[i];
            hd_status status = hd_profile_node(to, a, map[a][above], axis[a].node_name[i], &map[a][i], err);
            if (status) return status;
        }
    }
    return HD_OK;
}

/* A row, with its new nodes. */
typedef struct moved { uint32_t node[HD_MAX_AXES], from; } moved;

/* Rows that become one row are adjacent, in their old order. */
static int by_nodes(const void *a, const void *b) {
    const moved *x = a, *y = b;
    int order = memcmp(x->node, y->node, sizeof x->node);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

/* Entries are cumulative: if an entry and one below it become the same, the lower one is part of the upper one. Nodes
   are in preorder. */
static void mark_parts(const hd_axis *axis, const hd_rows *rows, uint32_t *const map[HD_MAX_AXES], bool *part) {
    FREED moved *list = needed(calloc((size_t)rows->count + 1, sizeof *list));
    uint32_t end = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        list[i].from = i;
        for (uint32_t a = 0; a < rows->axis_count; a++)
            list[i].node[a] = map[a][rows->node[(size_t)i * rows->axis_count + a]];
    }
    qsort(list, rows->count, sizeof *list, by_nodes);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t at = rows->node[(size_t)list[i].from * rows->axis_count + HD_AXIS_BACKTRACE];
        bool same = i && !memcmp(list[i].node, list[i - 1].node, sizeof list[i].node);
        part[list[i].from] = same && at < end;
        if (!part[list[i].from]) end = axis[HD_AXIS_BACKTRACE].end[at];
    }
}

static hd_status copy_rows(hd_profile *to, const hd_rows *rows, uint32_t *const map[HD_MAX_AXES], const bool *part,
                           hd_error *err) {
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < rows->count && !status; i++) {
        uint32_t node[HD_MAX_AXES];
        for (uint32_t a = 0; a < rows->axis_count; a++)
            node[a] = map[a][rows->node[(size_t)i * rows->axis_count + a]];
        if (!part[i]) status = hd_profile_add_amount(to, node, &rows->amount[i], err);
    }
    return status;
}

static hd_status copy_once(const hd_axis *axis, const hd_rows *rows, bool entries, const left_of *left,
                           hd_profile **out, hd_error *err) {
    hd_profile_desc desc = { .axis_count = rows->axis_count };
    uint32_t *map[HD_MAX_AXES] = { NULL };
    bool *part = needed(calloc((size_t)rows->count + 1, sizeof *part));
    hd_status status;
    for (uint32_t a = 0; a < rows->axis_count; a++) desc.axis_name[a] = axis[a].name;
    *out = hd_profile_create(&desc, err);
    status = *out ? copy_nodes(*out, axis, rows->axis_count, left, map, err) : err->status;
    if (!status && entries) mark_parts(axis, rows, map, part);
    if (!status) status = copy_rows(*out, rows, map, part, err);
    for (uint32_t a = 0; a < rows->axis_count; a++) free(map[a]);
    free(part);
    if (status) hd_profile_free(*out), *out = NULL;
    return status;
}

hd_status tell_recursion_once(const hd_heap *heap, hd_heap *out, bool *found, repeats *times, hd_error *err) {
    hd_rows rows = heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
    hd_axis axis[HD_MAX_AXES];
    hd_profile *made = NULL;
    hd_breakdown *breakdown = NULL;
    FREED left_of *left = NULL;
    FREED bool *listed = NULL;
    hd_status status = HD_OK;
    for (uint32_t a = 0; a < rows.axis_count; a++)
        axis[a] = heap->breakdown ? heap->breakdown->axis[a] : hd_profile_axis(heap->profile, a);
    memset(times, 0, sizeof *times);
    left = needed(malloc((size_t)axis[HD_AXIS_BACKTRACE].node_count * sizeof *left));
    if (heap->breakdown) listed = nodes_listed(heap->breakdown);
    *found = find_cycles(&axis[HD_AXIS_BACKTRACE], listed, left);
    if (*found) {
        status = copy_once(axis, &rows, heap->breakdown != NULL, left, &made, err);
        if (!status && heap->breakdown) {
            status = hd_breakdown_from_cumulative(made, NULL, &breakdown, err);
            hd_profile_free(made);
            made = NULL;
        }
        if (!status) list_repeats(left, axis[HD_AXIS_BACKTRACE].node_count, times);
    }
    if (!*found || status) return status;
    *out = *heap;
    out->profile = made;
    out->breakdown = breakdown;
    return HD_OK;
}
