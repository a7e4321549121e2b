/* The heaps of a page. Each has the cells of its file, so that the page can show it along every axis, filtered by the
   other axes, bottom-up, and compared with any other heap of the page. */

#include "report.h"

/* Axes and rows of a profile, and their nodes on the page. */
typedef struct table {
    hd_axis axis[HD_MAX_AXES];
    uint32_t axis_count;
    hd_rows rows;
    uint64_t *held[HD_MAX_AXES]; /* bytes by node, with its descendants */
    uint32_t *number[HD_MAX_AXES]; /* number on the page by node; HD_NONE: the node is part of its parent's <other> */
    uint32_t *other[HD_MAX_AXES]; /* number of the node's <other>; HD_NONE: none */
    uint32_t *parent[HD_MAX_AXES], *name[HD_MAX_AXES]; /* by number */
    uint32_t numbers[HD_MAX_AXES];
    uint32_t *node;              /* numbers of nodes, by row of the page */
    hd_amount *amount;
    uint32_t count;
    uint64_t least;              /* omitted nodes hold at most this many bytes */
    uint32_t equal;              /* number of kept nodes with exactly these bytes */
} table;

static uint64_t sum(uint64_t x, uint64_t y) { return x + y < x ? UINT64_MAX : x + y; }

static void *array(size_t count, size_t size) { return needed(calloc(count + 1, size)); }

static void table_open(table *t, const hd_profile *profile) {
    *t = (table){ .axis_count = hd_profile_axis_count(profile), .rows = hd_profile_cells(profile) };
    for (uint32_t k = 0; k < t->axis_count; k++) {
        hd_axis axis = t->axis[k] = hd_profile_axis(profile, k);
        uint32_t **columns[] = { &t->number[k], &t->other[k], &t->parent[k], &t->name[k] };
        t->held[k] = array(axis.node_count, sizeof *t->held[k]);
        for (int i = 0; i < 4; i++) /* at worst, each node of the page has an <other> */
            *columns[i] = array((size_t)axis.node_count * (i < 2 ? 1 : 2), sizeof **columns[i]);
        for (uint32_t i = 0; i < t->rows.count; i++) {
            uint64_t *held = &t->held[k][t->rows.node[(size_t)i * t->axis_count + k]];
            *held = sum(*held, t->rows.amount[i].bytes);
        }
        for (uint32_t i = axis.node_count; --i;)
            t->held[k][axis.parent[i]] = sum(t->held[k][axis.parent[i]], t->held[k][i]);
    }
    t->node = array((size_t)t->rows.count * t->axis_count, sizeof *t->node);
    t->amount = array(t->rows.count, sizeof *t->amount);
}

static void table_close(table *t) {
    for (uint32_t k = 0; k < t->axis_count; k++)
        free(t->held[k]), free(t->number[k]), free(t->other[k]), free(t->parent[k]), free(t->name[k]);
    free(t->node), free(t->amount);
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static uint32_t node_count(const hd_profile *profile) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < hd_profile_axis_count(profile); k++) n += hd_profile_axis(profile, k).node_count;
    return n;
}

/* Finds the largest bytes of omitted nodes, so that at most `most` nodes are kept. */
static void find_least(table *t, uint32_t most) {
    FREED uint64_t *all = NULL;
    size_t n = 0;
    t->least = 0, t->equal = UINT32_MAX;
    for (uint32_t k = 0; k < t->axis_count; k++) n += t->axis[k].node_count;
    if (n <= most) return;
    all = array(n, sizeof *all);
    n = 0;
    for (uint32_t k = 0; k < t->axis_count; k++) {
        memcpy(all + n, t->held[k], t->axis[k].node_count * sizeof *all);
        n += t->axis[k].node_count;
    }
    qsort(all, n, sizeof *all, by_size);
    t->least = all[most];
    for (t->equal = 0; t->equal < most && all[most - t->equal - 1] == t->least;) t->equal++;
}

/* Numbers the kept nodes. The parent of a kept node holds at least as much and comes first, so it is kept too. */
static void number_nodes(report *r, table *t) {
    uint32_t equal = t->equal;
    for (uint32_t k = 0; k < t->axis_count; k++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < t->axis[k].node_count; i++) {
            t->number[k][i] = t->other[k][i] = HD_NONE;
            if (i && (t->held[k][i] < t->least || (t->held[k][i] == t->least && !equal))) continue;
            if (equal && t->held[k][i] == t->least) equal--;
            t->parent[k][n] = i ? t->number[k][t->axis[k].parent[i]] : HD_NONE;
            t->name[k][n] = report_name(r, t->axis[k].node_name[i]);
            t->number[k][i] = n++;
        }
        t->numbers[k] = n;
    }
}

static uint32_t numbered(const table *t) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->axis_count; k++) n += t->numbers[k];
    return n;
}

/* The number on the page for a row of this node. */
static uint32_t place_of(report *r, table *t, uint32_t k, uint32_t node) {
    uint32_t above = node;
    while (t->number[k][above] == HD_NONE) above = t->axis[k].parent[above];
    if (above == node) return t->number[k][node];
    if (t->other[k][above] == HD_NONE) {
        uint32_t n = t->other[k][above] = t->numbers[k]++;
        t->parent[k][n] = t->number[k][above];
        t->name[k][n] = report_name(r, hd_cstr("<other>"));
    }
    return t->other[k][above];
}

/* Orders rows by the numbers of their nodes. */
static int by_node(const void *a, const void *b, void *of) {
    const table *t = of;
    const uint32_t *x = t->node + (size_t) * (const uint32_t *)a * t->axis_count;
    const uint32_t *y = t->node + (size_t) * (const uint32_t *)b * t->axis_count;
    for (uint32_t k = 0; k < t->axis_count; k++)
        if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
    return 0;
}

static void add_amount(hd_amount *to, const hd_amount *from) {
    to->bytes = sum(to->bytes, from->bytes);
    to->blocks = to->blocks == HD_UNKNOWN || from->blocks == HD_UNKNOWN ? HD_UNKNOWN : to->blocks + from->blocks;
    to->variance.lo += from->variance.lo;
    to->variance.hi += from->variance.hi + (to->variance.lo < from->variance.lo);
}

/* Makes the rows of the page: rows with equal numbers become one. */
static void place_rows(report *r, table *t) {
    uint32_t n = t->axis_count, *order = array(t->rows.count, sizeof *order), *node;
    hd_amount *amount = array(t->rows.count, sizeof *amount);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        order[i] = i;
        for (uint32_t k = 0; k < n; k++)
            t->node[(size_t)i * n + k] = place_of(r, t, k, t->rows.node[(size_t)i * n + k]);
    }
    qsort_r(order, t->rows.count, sizeof *order, by_node, t);
    node = array((size_t)t->rows.count * n, sizeof *node);
    t->count = 0;
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hd_amount *from = &t->rows.amount[order[i]];
        if (i && !by_node(&order[i - 1], &order[i], t)) {
            add_amount(&amount[t->count - 1], from);
            continue;
        }
        memcpy(node + (size_t)t->count * n, t->node + (size_t)order[i] * n, n * sizeof *node);
        amount[t->count++] = *from;
    }
    free(order), free(t->node), free(t->amount);
    t->node = node, t->amount = amount;
}

/* Writes the nodes of frames that are hidden at their place of the stack. */
static void put_hidden(report *r, const table *t) {
    hidden_frames frames;
    hidden_frames_find(&frames, t->axis[HD_AXIS_BACKTRACE], &t->rows);
    json_array(&r->json, "hidden");
    for (uint32_t i = 1; i < frames.count; i++)
        if (frames.is[i] && t->number[HD_AXIS_BACKTRACE][i] != HD_NONE)
            hd_json_u64(&r->json, t->number[HD_AXIS_BACKTRACE][i]);
    hd_json_end(&r->json);
    hidden_frames_free(&frames);
}

static void put_axes(report *r, const table *t) {
    json_array(&r->json, "axes");
    for (uint32_t k = 0; k < t->axis_count; k++) {
        hd_json_object(&r->json);
        json_text(&r->json, "name", t->axis[k].name);
        report_column(r, "parent", t->parent[k], t->numbers[k]);
        report_column(r, "names", t->name[k], t->numbers[k]);
        if (k == HD_AXIS_BACKTRACE) put_hidden(r, t);
        hd_json_end(&r->json);
    }
    hd_json_end(&r->json);
}

static void put_rows(report *r, const table *t) {
    FREED uint32_t *node = array(t->count, sizeof *node);
    FREED uint64_t *size = array(t->count, sizeof *size);
    bool estimated = false;
    json_array(&r->json, "node");
    for (uint32_t k = 0; k < t->axis_count; k++) {
        hd_json_array(&r->json);
        for (uint32_t i = 0; i < t->count; i++) hd_json_u64(&r->json, t->node[(size_t)i * t->axis_count + k]);
        hd_json_end(&r->json);
    }
    hd_json_end(&r->json);
    for (uint32_t i = 0; i < t->count; i++) size[i] = t->amount[i].bytes;
    report_sizes(r, "bytes", size, t->count);
    for (uint32_t i = 0; i < t->count; i++) size[i] = t->amount[i].blocks;
    report_sizes(r, "blocks", size, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        size[i] = hd_standard_error(t->amount[i].variance);
        estimated |= size[i] != 0;
    }
    if (estimated) report_sizes(r, "error", size, t->count);
}

/* Writes the `most` largest nodes of a profile, and their rows, of which there may be more. */
static void put_table(report *r, const hd_profile *profile, uint32_t most) {
    table t;
    uint32_t kept;
    table_open(&t, profile);
    do { /* few nodes may have many rows: one per combination */
        find_least(&t, most);
        number_nodes(r, &t);
        kept = numbered(&t);
        place_rows(r, &t);
    } while (t.count > 4 * most && t.count > 64 && (most /= 2));
    hd_json_object(&r->json);
    json_u64(&r->json, "of", node_count(profile));
    json_u64(&r->json, "kept", kept);
    json_u64(&r->json, "least", t.least);
    put_axes(r, &t);
    put_rows(r, &t);
    hd_json_end(&r->json);
    table_close(&t);
}

/* Writes a condensed heap, each axis separately, since it has no cells for combinations. */
static int put_tables(report *r, const hd_heap *heap, uint32_t most) {
    int status = DONE;
    json_array(&r->json, "tables");
    if (heap->profile) put_table(r, heap->profile, most);
    for (uint32_t k = 0; !status && heap->breakdown && k < heap->breakdown->entries.axis_count; k++) {
        hd_profile *profile;
        hd_error err;
        if (hd_breakdown_axis_profile(heap->breakdown, k, NULL, &profile, &err)) {
            display(stderr, "heapdump: cannot make a table of the page: %s\n", err.message);
            status = BAD_INPUT;
            break;
        }
        put_table(r, profile, most);
        hd_profile_free(profile);
    }
    hd_json_end(&r->json);
    return status;
}

/* Selection of heaps. ---------------------------------------------------------------------------- */

enum { MOST_SHOWN = 200 };

static uint32_t entries_of(const hd_heap *heap) {
    uint32_t n = 0;
    if (heap->profile) return node_count(heap->profile);
    for (uint32_t k = 0; k < heap->breakdown->entries.axis_count; k++) n += heap->breakdown->axis[k].node_count;
    return n;
}

static int by_number(const void *a, const void *b) {
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* The number of entries per shown heap, so that all together are within the budget. Larger heaps get the entries that
   smaller ones do not need. */
static uint32_t share_of(const chosen *files, int count, bool *const *shown, uint32_t budget) {
    size_t n = 0, all = 0;
    uint32_t left = budget, share = budget;
    FREED uint32_t *need = NULL;
    for (int f = 0; f < count; f++) all += files[f].count;
    need = array(all, sizeof *need);
    for (int f = 0; f < count; f++)
        for (size_t i = 0; i < files[f].count; i++)
            if (shown[f][i]) need[n++] = entries_of(&files[f].heaps[i]);
    qsort(need, n, sizeof *need, by_number);
    for (size_t i = 0; i < n; i++) {
        share = left / (uint32_t)(n - i);
        if (need[i] > share) break;
        left -= need[i];
        share = budget;
    }
    return share > 16 ? share : 16;
}

/* Selects the first and the last dump of each process, and dumps between them at equal distances. */
static void mark_shown(const chosen *c, int count, bool *shown) {
    size_t every = 1;
    FREED bool *first = array(c->count, 1);
    mark_picked(c, NULL, true, shown);
    mark_picked(c, NULL, false, first);
    while (c->count / every * (size_t)count > MOST_SHOWN) every++;
    for (size_t i = 0; i < c->count; i++) shown[i] |= first[i] || i % every == 0;
}

/* The most bytes that an entry of a merged heap may hold in addition. */
static uint64_t most_open(const hd_breakdown *b) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < b->entries.count; i++)
        if (b->entries.unlisted[i] > most) most = b->entries.unlisted[i];
    return most;
}

int report_heaps(report *r, const arguments *a, const chosen *files, int count) {
    bool *shown[2] = { NULL, NULL };
    uint32_t most;
    int status = DONE;
    for (int f = 0; f < count; f++) mark_shown(&files[f], count, shown[f] = array(files[f].count, 1));
    most = share_of(files, count, shown, r->budget);
    if (a->view.by) json_text(&r->json, "by", a->view.by);
    json_array(&r->json, "heaps");
    for (int f = 0; f < count; f++) {
        for (size_t i = 0; i < files[f].count && !status; i++) {
            const hd_heap *heap = &files[f].heaps[i];
            totals total = totals_of(heap);
            json_line(&r->json);
            json_u64(&r->json, "file", (uint64_t)f);
            json_label(&r->json, heap);
            json_u64(&r->json, "bytes", total.bytes);
            json_known(&r->json, "blocks", total.blocks);
            json_bool(&r->json, "condensed", heap->breakdown != NULL);
            if (has_bounds(heap)) json_u64(&r->json, "more", most_open(heap->breakdown));
            if (shown[f][i]) status = put_tables(r, heap, most);
            hd_json_end(&r->json);
        }
        free(shown[f]);
    }
    hd_json_end(&r->json);
    return status;
}
