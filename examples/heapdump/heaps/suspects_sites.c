/* suspects: bytes of each function in each dump, and functions that allocate for others. */

#include "series.h"

#include <math.h>

bool is_helper(hd_str name) {
    static const char *const libc[] = {
        "strdup", "__strdup", "strndup", "__strndup", "asprintf", "__asprintf", "vasprintf", "__vasprintf_internal",
        "getline", "getdelim", "__getdelim", "fopen", "fopen64", "fdopen", "open_memstream", "opendir", "realpath",
        "qsort", "qsort_r", "setenv", "putenv", "wcsdup", "pthread_create", "__pthread_create_2_1", "allocate_stack"
    };
    static const char *const glib[] = { "g_malloc", "g_malloc0", "g_realloc", "g_strdup", "g_slice_alloc" };
    hd_frame_parts f = hd_frame_parse(name);
    if (frame_is_hidden(NULL, name) || frame_is_library(name)) return true;
    for (size_t i = 0; !f.object.len && i < sizeof libc / sizeof *libc; i++)
        if (hd_str_equal(f.function, hd_cstr(libc[i]))) return true;
    for (size_t i = 0; (!f.object.len || str_begins(f.object, "libglib-")) && i < sizeof glib / sizeof *glib; i++)
        if (hd_str_equal(f.function, hd_cstr(glib[i]))) return true;
    return false;
}

/* Points. -------------------------------------------------------------------------------------- */

point point_at(const track *t, uint32_t dump) {
    uint32_t from = 0, n = t->count;
    while (n > 1) {
        uint32_t half = n / 2;
        if (t->at[from + half].dump <= dump) from += half, n -= half;
        else n = half;
    }
    return n && t->at[from].dump == dump ? t->at[from] : (point){ .dump = dump };
}

static void point_add(point *to, const point *more) {
    to->bytes += more->bytes, to->blocks += more->blocks, to->variance += more->variance, to->old += more->old;
    to->largest = fmax(to->largest, more->largest);
}

/* The point of `dump`, which is the last dump so far. */
static point *track_end(track *t, uint32_t dump) {
    if (t->count && t->at[t->count - 1].dump == dump) return &t->at[t->count - 1];
    ONE_MORE(t->at, t->count);
    t->at[t->count] = (point){ .dump = dump };
    return &t->at[t->count++];
}

void track_add(track *to, const track *more) {
    track sum = { .count = 0 };
    uint32_t i = 0, k = 0;
    if (!more->count) return;
    while (i < to->count || k < more->count) {
        bool first = k == more->count || (i < to->count && to->at[i].dump <= more->at[k].dump);
        const point *from = first ? &to->at[i++] : &more->at[k++];
        point_add(track_end(&sum, from->dump), from);
    }
    free(to->at);
    *to = sum;
}

/* Sites. --------------------------------------------------------------------------------------- */

static void series_grow(series *s) {
    ONE_MORE(s->at, s->nodes);
    ONE_MORE(s->site, s->nodes);
    ONE_MORE(s->place, s->nodes);
    ONE_MORE(s->place_bytes, s->nodes);
    ONE_MORE(s->helper, s->nodes);
    ONE_MORE(s->seen, s->nodes);
    ONE_MORE(s->ways, s->nodes);
}

/* A series that is being filled: the current dump, and a buffer for the name of a site. */
typedef struct filling {
    series *s;
    uint32_t dump;
    char *text;
    size_t room;
} filling;

/* Whether a function has no name of its own, so that only its line identifies it. */
static bool is_lambda(hd_str function) {
    return str_begins(function, "operator()") || str_begins(function, "{lambda") || str_begins(function, "<lambda");
}

/* The name of a site: "function (dir/file.c) [object]", without the line. Valid until the next call. */
static hd_str site_name(filling *f, hd_str frame) {
    hd_frame_parts p = hd_frame_parse(frame);
    size_t n = 0;
    if (!p.file.len || is_lambda(p.function)) return frame;
    if (f->room < frame.len) f->text = needed(realloc(f->text, f->room = 2 * frame.len));
    memcpy(f->text, p.function.data, n = p.function.len);
    memcpy(f->text + n, " (", 2), n += 2;
    memcpy(f->text + n, p.file.data, p.file.len), n += p.file.len;
    f->text[n++] = ')';
    if (p.object.len) {
        memcpy(f->text + n, " [", 2), n += 2;
        memcpy(f->text + n, p.object.data, p.object.len), n += p.object.len;
        f->text[n++] = ']';
    }
    return (hd_str){ f->text, n };
}

/* The node of a site below another. HD_NONE: out of memory. */
static uint32_t node_below(series *s, uint32_t parent, hd_str name, hd_error *err) {
    uint32_t node, site;
    if (hd_profile_node(s->names, 0, parent, name, &node, err) ||
        hd_profile_node(s->names, 1, 0, name, &site, err)) return HD_NONE;
    for (; s->nodes <= node; s->nodes++) {
        series_grow(s);
        s->at[s->nodes] = (track){ .count = 0 };
        s->place[s->nodes] = NULL, s->helper[s->nodes] = false;
        s->seen[s->nodes] = s->ways[s->nodes] = 0;
        s->place_bytes[s->nodes] = -HUGE_VAL;
    }
    s->site[node] = site;
    return node;
}

/* The node for a frame below `parent`. A helper, or a function that calls itself, stays at `parent`. */
static uint32_t site_node(filling *f, uint32_t parent, hd_str frame, hd_error *err) {
    hd_str name = site_name(f, frame);
    if ((!f->s->every_frame && is_helper(frame)) ||
        hd_str_equal(hd_profile_axis(f->s->names, 0).node_name[parent], name)) return parent;
    return node_below(f->s, parent, name, err);
}

/* The node for call stacks with only helpers: named by the object of the innermost frame, or by its function. */
static uint32_t helper_node(filling *f, hd_str frame, hd_error *err) {
    hd_frame_parts p = hd_frame_parse(frame);
    hd_str object = p.object.len ? p.object : module_of_address(frame);
    uint32_t node = node_below(f->s, 0, object.len ? object : p.function, err);
    if (node != HD_NONE) f->s->helper[node] = true;
    return node;
}

/* Keeps the line of a site with the most bytes. Lines that only call others come with bytes below 0, so that a line
   which allocates wins. */
static void keep_place(series *s, uint32_t node, hd_str frame, double bytes) {
    hd_frame_parts p = hd_frame_parse(frame);
    if (!p.file.len || bytes <= s->place_bytes[node]) return;
    free(s->place[node]);
    if (asprintf(&s->place[node], "%.*s:%llu", (int)p.file.len, p.file.data, (unsigned long long)p.line) < 0)
        needed(NULL);
    s->place_bytes[node] = bytes;
}

/* Marks the nodes of one minute and more on a profile's axis of ages. NULL: the profile has no ages. */
static bool *old_nodes(const hd_profile *p, uint32_t *axis) {
    bool *old;
    hd_axis ages;
    for (*axis = 0; *axis < hd_profile_axis_count(p); ++*axis)
        if (hd_str_equal(hd_cstr(hd_profile_axis(p, *axis).name), hd_cstr("age"))) break;
    if (*axis == hd_profile_axis_count(p)) return NULL;
    ages = hd_profile_axis(p, *axis);
    old = needed(calloc(ages.node_count, sizeof *old));
    for (uint32_t i = 1; i < ages.node_count; i++)
        for (uint32_t k = hd_age_class(60000); k < HD_AGES; k++)
            old[i] |= hd_str_equal(ages.node_name[i], hd_cstr(hd_age_name(k)));
    return old;
}

/* Adds the old bytes of one dump. Age does not raise the score: a block that grows by realloc stays young. */
static void series_add_old(filling *f, const hd_profile *p, uint32_t axis, const uint32_t *to) {
    series *s = f->s;
    uint32_t ages;
    FREED bool *old = old_nodes(p, &ages);
    hd_rows cells = hd_profile_cells(p);
    for (uint32_t i = 0; old && i < cells.count; i++) {
        const uint32_t *node = &cells.node[(size_t)i * cells.axis_count];
        double bytes = old[node[ages]] ? (double)cells.amount[i].bytes : 0;
        track_end(&s->at[to[node[axis]]], f->dump)->old += bytes;
        s->total[f->dump].old += bytes;
    }
    s->aged = old && (!f->dump || s->aged);
}

/* The frames of a dump: the node of each, its innermost caller (or itself) that is no helper, and all bytes below. */
typedef struct frames {
    hd_axis names;
    uint32_t *to, *own;
    double *below;
} frames;

/* Counts a call path of a node in the current dump. */
static void node_seen(filling *f, uint32_t node) {
    series *s = f->s;
    s->ways[node] = s->seen[node] == f->dump + 1 ? s->ways[node] + 1 : 1;
    s->seen[node] = f->dump + 1;
}

static int frames_find(filling *f, frames *x, hd_axis names, hd_error *err) {
    *x = (frames){ .names = names, .to = needed(calloc(names.node_count, sizeof *x->to)),
                   .own = needed(calloc(names.node_count, sizeof *x->own)),
                   .below = needed(calloc(names.node_count, sizeof *x->below)) };
    for (uint32_t i = 1; i < names.node_count; i++) {
        uint32_t parent = names.parent[i];
        x->to[i] = site_node(f, x->to[parent], names.node_name[i], err);
        if (x->to[i] == HD_NONE) return BAD_INPUT;
        node_seen(f, x->to[i]);
        x->own[i] = i;
        if (x->to[i] == x->to[parent] && !f->s->every_frame && is_helper(names.node_name[i]))
            x->own[i] = x->own[parent];
    }
    return DONE;
}

static int cells_add(filling *f, frames *x, const hd_profile *p, uint32_t axis, hd_error *err) {
    series *s = f->s;
    hd_rows cells = hd_profile_cells(p);
    for (uint32_t i = 0; i < cells.count; i++) {
        uint32_t from = cells.node[(size_t)i * cells.axis_count + axis];
        const hd_amount *amount = &cells.amount[i];
        point one = { .bytes = (double)amount->bytes, .largest = (double)amount->bytes, .dump = f->dump,
                      .blocks = amount->blocks == HD_UNKNOWN ? (double)NAN : (double)amount->blocks,
                      .variance = ldexp((double)amount->variance.hi, 64) + (double)amount->variance.lo };
        if (from && !x->to[from]) x->to[from] = helper_node(f, x->names.node_name[from], err);
        if (x->to[from] == HD_NONE) return BAD_INPUT;
        point_add(track_end(&s->at[x->to[from]], f->dump), &one);
        point_add(&s->total[f->dump], &one);
        if (x->own[from]) keep_place(s, x->to[from], x->names.node_name[x->own[from]], one.bytes);
        x->below[from] += one.bytes;
    }
    return DONE;
}

/* Adds the current dump. */
static int series_add(filling *f) {
    const hd_heap *heap = f->s->renamed ? &f->s->renamed[f->dump].heap : f->s->heaps[f->dump];
    hd_profile *made = NULL;
    const hd_profile *p = heap->profile;
    uint32_t axis = 0;
    frames x;
    hd_error err;
    int bad;
    if (heap->breakdown) {
        axis = heap->breakdown->axis[0].node_count < 2 && heap->breakdown->entries.axis_count > 1;
        if (hd_breakdown_axis_profile(heap->breakdown, axis, NULL, &made, &err)) return failed(f->s->file, &err);
        p = made, axis = 0;
    } else {
        axis = hd_profile_axis(p, 0).node_count < 2 && hd_profile_axis_count(p) > 1;
    }
    bad = frames_find(f, &x, hd_profile_axis(p, axis), &err) || cells_add(f, &x, p, axis, &err);
    if (!bad) series_add_old(f, p, axis, x.to);
    for (uint32_t i = x.names.node_count; !bad && --i > 0;) {
        x.below[x.names.parent[i]] += x.below[i];
        if (x.own[i]) keep_place(f->s, x.to[i], x.names.node_name[x.own[i]], x.below[i] - 0x1p62);
    }
    free(x.to), free(x.own), free(x.below);
    hd_profile_free(made);
    return bad ? failed(f->s->file, &err) : DONE;
}

/* Whether the program cleaned up before dump t: more sites freed most of their bytes than kept them, and the heap
   shrank by a fifth. */
static bool cleared_up(const series *s, uint32_t t) {
    uint32_t kept = 0, gave = 0;
    for (uint32_t i = 1; i < s->nodes; i++) {
        double before = point_at(&s->at[i], t - 1).bytes;
        if (before > 0) point_at(&s->at[i], t).bytes < 0.5 * before ? gave++ : kept++;
    }
    return gave > kept && s->total[t].bytes < 0.8 * s->total[t - 1].bytes;
}

/* Excludes the last dumps, at most two, that show a cleanup instead of growth. */
static void find_end(series *s) {
    s->counted = s->count;
    while (s->counted > 2 && s->counted + 2 > s->count && cleared_up(s, s->counted - 1)) s->counted--;
}

static dump_value *put_value(dump_value *to, double v, uint32_t dump) {
    *to = (dump_value){ v, dump };
    return to + 1;
}

/* The values of a track, and up to two zeros after each run of points. A decrease within twice its standard error is
   ignored. */
static uint32_t track_values(const series *s, const track *t, dump_value *list) {
    point before = { .dump = UINT32_MAX };
    dump_value *to = list;
    double v = 0;
    for (uint32_t i = 0; i < t->count && t->at[i].dump < s->counted; i++) {
        const point *now = &t->at[i];
        for (uint32_t dump = before.dump + 1; i && dump < now->dump && dump < before.dump + 3; dump++) {
            bool kept = dump == before.dump + 1 && before.bytes < 2 * sqrt(before.variance) && v > 0;
            to = put_value(to, v = kept ? v : 0, dump);
        }
        if (i && now->dump > before.dump + 1) before = (point){ .dump = now->dump - 1 };
        if (i && now->bytes < before.bytes && now->bytes < v &&
            before.bytes - now->bytes < 2 * sqrt(now->variance + before.variance))
            to = put_value(to, v, now->dump);
        else to = put_value(to, v = now->bytes, now->dump);
        before = *now;
    }
    return (uint32_t)(to - list);
}

trend track_trend(const series *s, const track *t) {
    point first = point_at(t, 0), last = point_at(t, s->counted - 1);
    FREED dump_value *list = NULL;
    trend found = { .growth = last.bytes - first.bytes };
    uint32_t n;
    if (found.growth <= 0) return found.back = t->count > 1, found;
    list = needed(malloc((3 * (size_t)t->count + 1) * sizeof *list));
    n = track_values(s, t, list);
    list[n - 1].v = last.bytes;
    found = trend_of_values(list, n, s->times, s->counted, s->by_time);
    if (found.growth <= 2 * sqrt(first.variance + last.variance)) found.score = 0;
    return found;
}

/* Who allocates for others. -------------------------------------------------------------------- */

/* A node, for sorting by its function. */
typedef struct call { uint32_t site, node; } call;

static int by_call(const void *a, const void *b) {
    const call *x = a, *y = b;
    if (x->site != y->site) return x->site < y->site ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The number of functions that call the function of these nodes, at most three. A single caller is replaced by its
   own callers, and so on, because a wrapper may have a wrapper. */
static uint32_t callers_of_all(const series *s, const uint32_t *nodes, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    uint32_t found = n ? 1 : 0;
    FREED uint32_t *at = needed(malloc(((size_t)n + 1) * sizeof *at));
    memcpy(at, nodes, n * sizeof *at);
    while (found == 1) {
        uint32_t callers[3];
        bool outermost = false;
        found = 0;
        for (uint32_t i = 0, k; i < n && found < 3; i++) {
            outermost |= !(at[i] = parent[at[i]]);
            for (k = 0; k < found && callers[k] != s->site[at[i]]; k++) {}
            if (k == found) callers[found++] = s->site[at[i]];
        }
        if (outermost) break;
    }
    return found;
}

/* Whether a function calls itself, directly or not, as tree walks and interpreters do. All of a program may be below
   such a function. */
static bool is_recursive(const series *s, const uint32_t *nodes, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t up = parent[nodes[i]]; up; up = parent[up])
            if (s->site[up] == s->site[nodes[i]]) return true;
    return false;
}

/* Whether a function allocates for others, as a program's wrappers of malloc do. It has several callers, and over a
   quarter of the call paths to it keep their bytes without growth. Then a leak belongs to its callers. */
static bool is_carrier(const series *s, const call *calls, uint32_t n) {
    uint32_t ways = 0, still = 0, callers;
    FREED uint32_t *nodes = needed(malloc(((size_t)n + 1) * sizeof *nodes));
    for (uint32_t i = 0; i < n; i++) {
        const track *own = &s->at[calls[i].node];
        point end = point_at(own, s->counted - 1);
        if (end.bytes <= 0) continue;
        nodes[ways++] = calls[i].node;
        still += track_trend(s, own).score + 2 * sqrt(end.variance) < end.bytes / 10;
    }
    callers = ways > 2 && still > ways / 4 && !is_recursive(s, nodes, ways) ? callers_of_all(s, nodes, ways) : 0;
    return callers > 2;
}

/* Moves the bytes of a function to its callers, but not to the outermost function, which explains nothing. */
static bool move_up(series *s, const call *calls, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    bool moved = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = calls[i].node;
        track *own = &s->at[node];
        if (!own->count || !parent[node] || !parent[parent[node]]) continue;
        track_add(&s->at[parent[node]], own);
        own->count = 0;
        moved = true;
    }
    return moved;
}

/* Moves bytes from the innermost functions outwards, until each function with bytes allocates for itself. */
static void pass_over_carriers(series *s) {
    FREED call *calls = needed(malloc((size_t)s->nodes * sizeof *calls));
    FREED bool *carrier = needed(calloc((size_t)hd_profile_axis(s->names, 1).node_count + 1, sizeof *carrier));
    bool moved = s->counted > 1;
    for (uint32_t i = 1; i < s->nodes; i++) calls[i - 1] = (call){ s->site[i], i };
    qsort(calls, s->nodes - 1, sizeof *calls, by_call);
    while (moved) {
        moved = false;
        for (uint32_t i = 0, end; i + 1 < s->nodes; i = end) {
            for (end = i; end + 1 < s->nodes && calls[end].site == calls[i].site;) end++;
            if (carrier[calls[i].site] || is_carrier(s, &calls[i], end - i))
                carrier[calls[i].site] = true, moved |= move_up(s, &calls[i], end - i);
        }
    }
}

/* Series, filled. ------------------------------------------------------------------------------ */

/* Whether the last dump has bytes of the program itself, or bytes without a call stack. */
static bool has_own_code(const series *s) {
    for (uint32_t i = 0; i < s->nodes; i++)
        if (!s->helper[i] && point_at(&s->at[i], s->count - 1).bytes > 0) return true;
    return false;
}

/* Whether the dumps are of one process, and in the order of time. Several runs of a program have no common clock. */
static bool has_clock(const series *s) {
    for (uint32_t i = 1; i < s->counted; i++)
        if (s->times[i] < s->times[i - 1] || s->heaps[i]->pid != s->heaps[0]->pid ||
            s->heaps[i]->start_us != s->heaps[0]->start_us) return false;
    return s->counted > 1 && s->times[s->counted - 1] > s->times[0];
}

/* Whether growth is judged by time: steps differ much in length, or the growth of the whole heap follows the clock
   more than the number of dumps. It does not if the program itself takes a dump after each piece of work. */
static bool is_by_time(const series *s) {
    enum { LONG_US = 100000 };
    uint32_t end = s->counted - 1;
    double all, from_clock = 0, from_steps = 0;
    uint64_t least = UINT64_MAX, most = 0;
    if (!has_clock(s)) return false;
    all = fabs(s->total[end].bytes - s->total[0].bytes);
    for (uint32_t i = 1; i <= end; i++) {
        uint64_t step = s->times[i] - s->times[i - 1];
        double grown = s->total[i].bytes - s->total[i - 1].bytes;
        from_clock += fabs(grown - all * (double)step / (double)(s->times[end] - s->times[0]));
        from_steps += fabs(grown - all / end);
        if (step < least) least = step;
        if (step > most) most = step;
    }
    return (least >= LONG_US && most / 3 > least) || from_clock < from_steps;
}

int series_fill(series *s) {
    filling f = { .s = s };
    hd_error err;
    int status = DONE;
    s->names = hd_profile_create(NULL, &err);
    if (!s->names) return failed(s->file, &err);
    if (series_rename(s, &err)) return failed(s->file, &err);
    s->total = needed(calloc(s->count, sizeof *s->total));
    s->times = needed(calloc(s->count, sizeof *s->times));
    series_grow(s);
    s->at[0] = (track){ .count = 0 };
    s->site[0] = 0, s->place[0] = NULL, s->place_bytes[0] = -HUGE_VAL, s->helper[0] = false;
    s->seen[0] = s->ways[0] = 0;
    s->nodes = 1;
    for (; f.dump < s->count && !status; f.dump++) {
        s->times[f.dump] = s->heaps[f.dump]->time_us;
        status = series_add(&f);
        if (!f.dump) s->first_nodes = s->nodes;
    }
    free(f.text);
    if (status) return status;
    s->own_code = has_own_code(s);
    find_end(s);
    s->by_time = is_by_time(s);
    series_level(s);
    pass_over_carriers(s);
    return DONE;
}

void series_free(series *s) {
    for (uint32_t i = 0; i < s->nodes; i++) free(s->place[i]), free(s->at[i].at);
    for (uint32_t i = 0; s->renamed && i < s->count; i++) renamed_heap_free(&s->renamed[i]);
    free(s->renamed);
    free(s->place), free(s->place_bytes), free(s->at), free(s->site), free(s->helper), free(s->seen), free(s->ways);
    free(s->total), free(s->times), free(s->heaps), free(s->from);
    hd_profile_free(s->names);
}
