/* suspects, of heaps that say who allocated; suspects_graph.c knows those of objects. */

#include "suspects.h"
#include "commands.h"
#include "frames.h"
#include "heaps.h"

#include <math.h>

/* What a site held at one dump. */
typedef struct point { double bytes, blocks, variance, old; } point; /* old: bytes older than a minute, where told */

/* The dumps of one process and allocator, in turn. Axis 0 of `names` is the tree of frames, without those that work
   for others and without places; axis 1 lists the sites. */
typedef struct series {
    const hd_heap **heaps;
    const char *file;            /* of the last */
    uint32_t count, counted;     /* counted: without a last one at which the program had cleared up */
    uint64_t *times;
    hd_profile *names;
    point *at;                   /* of node n in dump t: at[n * count + t], its own */
    uint32_t *site;              /* by node: on axis 1 */
    char **place;                /* by node: file and line, where known */
    double *place_bytes;
    uint32_t nodes;
    bool aged;                   /* all dumps tell ages */
    point *total;                /* by dump */
} series;

typedef struct suspect {
    const series *s;
    uint32_t site, node;         /* node: of its callers' the one that looks most as a leak does */
    uint32_t with;               /* the likeliest other site of those that grew as often; 0: none did */
    const char *place;
    trend trend;
    double bytes, blocks, blocks_grown;
    point *at;                   /* by dump */
    bool survived;               /* the program's own clearing up */
    double score, own_score;     /* score: with those that grew as often */
} suspect;

/* Trends. -------------------------------------------------------------------------------------- */

/* Whether steps differ so much in length that growth has to be seen by time: else each counts as much as any other,
   since how much work was done in them is not known. */
static bool is_uneven(const uint64_t *times, uint32_t n) {
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t step = times[i] > times[i - 1] ? times[i] - times[i - 1] : 0;
        if (step < least) least = step;
        if (step > most) most = step;
    }
    return least >= 100000 && most / 3 > least;
}

/* How fast a value grew from one dump to another. */
static double rate(const double *v, const uint64_t *times, bool timed, uint32_t from, uint32_t to) {
    return (v[to] - v[from]) / (timed ? (double)(times[to] - times[from]) : (double)(to - from));
}

/* How fast it grew late, of how fast it grew before. */
static double late_share(const double *v, const uint64_t *times, uint32_t n) {
    bool timed = is_uneven(times, n);
    double early = rate(v, times, timed, 0, n / 2), late = rate(v, times, timed, n / 2, n - 1);
    if (n > 4) late = fmin(late, (late + rate(v, times, timed, n - 1 - n / 3, n - 1)) / 2);
    return late <= 0 ? 0 : late < early ? late / early : 1;
}

/* A leak grows in every step, about in proportion to time, and does not go back. A cache levels off: it grows slower
   late than before. Squares, since either alone is enough to doubt. */
trend trend_of(const double *v, const uint64_t *times, uint32_t n) {
    trend t = { .growth = v[n - 1] - v[0], .steady = 1 };
    double most = v[0], drop = 0, up = 0;
    for (uint32_t i = 1; i < n; i++) {
        t.ups += v[i] > v[i - 1];
        up += v[i] > v[i - 1] ? v[i] - v[i - 1] : 0;
        if (v[i] > most) most = v[i];
        if (most - v[i] > drop) drop = most - v[i];
    }
    if (t.growth <= 0) return t.steady = 0, t.back = up > 0 ? 1 : 0, t;
    t.back = drop / (drop + t.growth);
    if (n > 2) {
        t.steady = late_share(v, times, n);
    } else if (times[0] && times[1] > times[0] && v[0] > 0) { /* of nothing when it began */
        double early = v[0] / (double)times[0], late = rate(v, times, true, 0, 1);
        t.steady = late < early ? sqrt(late / early) : 1;
    }
    t.score = t.growth * pow(fmax(t.steady, 0.05), 2) * pow(1 - t.back, 2) * pow((double)t.ups / (n - 1), 2);
    return t;
}

/* What leaks was forgotten many times; a few large blocks may wait, say in a queue of pages that is emptied later. A
   buffer counts as many blocks as it grew by pages. The root, since bytes are what harms: in a hundred times as many
   blocks, a tenth of them is as suspect. */
double occasions(double growth, double blocks_grown) { return sqrt(fmax(fmax(blocks_grown, growth / 4096), 1)); }

const char *trend_words(const trend *t, uint32_t steps) {
    if (steps < 2) return t->steady < 0.4 ? "slower than before" : "";
    if (t->back > 0.3) return "went back in between";
    return t->ups == steps && t->steady > 0.6 ? "steadily" : t->steady < 0.4 ? "levelling off" : "unevenly";
}

void put_signed(FILE *out, const arguments *a, double bytes) {
    fputc(bytes < 0 ? '-' : '+', out);
    put_bytes(out, a, (uint64_t)fabs(bytes), 0);
}

/* Sites. --------------------------------------------------------------------------------------- */

static bool begins(hd_str name, const char *with) {
    size_t n = strlen(with);
    return name.len >= n && !memcmp(name.data, with, n);
}

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
    for (size_t i = 0; (!f.object.len || begins(f.object, "libglib-")) && i < sizeof glib / sizeof *glib; i++)
        if (hd_str_equal(f.function, hd_cstr(glib[i]))) return true;
    return false;
}

static void series_grow(series *s) {
    uint32_t room = s->nodes ? 2 * s->nodes : 64;
    if (s->nodes & (s->nodes - 1) || (s->nodes && s->nodes < 64)) return;
    s->at = needed(realloc(s->at, (size_t)room * s->count * sizeof *s->at));
    s->site = needed(realloc(s->site, room * sizeof *s->site));
    s->place = needed(realloc(s->place, room * sizeof *s->place));
    s->place_bytes = needed(realloc(s->place_bytes, room * sizeof *s->place_bytes));
}

/* The node for a frame below one of `names`: that itself when the frame works for it, or calls itself. */
static uint32_t site_node(series *s, uint32_t parent, hd_str name, hd_error *err) {
    hd_str plain = { name.data, without_place(name.data, name.len) };
    uint32_t node, site;
    if (is_helper(name) || hd_str_equal(hd_profile_axis(s->names, 0).node_name[parent], plain)) return parent;
    if (hd_profile_node(s->names, 0, parent, plain, &node, err) ||
        hd_profile_node(s->names, 1, 0, plain, &site, err)) return HD_NONE;
    for (; s->nodes <= node; s->nodes++) {
        series_grow(s);
        memset(&s->at[(size_t)s->nodes * s->count], 0, s->count * sizeof *s->at);
        s->place[s->nodes] = NULL;
        s->place_bytes[s->nodes] = -HUGE_VAL;
    }
    s->site[node] = site;
    return node;
}

/* The place that most bytes of a site were asked for at; below zero, where only what it calls asked. */
static void keep_place(series *s, uint32_t node, hd_str frame, double bytes) {
    hd_frame_parts f = hd_frame_parse(frame);
    if (!f.file.len || bytes <= s->place_bytes[node]) return;
    free(s->place[node]);
    if (asprintf(&s->place[node], "%.*s:%llu", (int)f.file.len, f.file.data, (unsigned long long)f.line) < 0)
        s->place[node] = needed(NULL);
    s->place_bytes[node] = bytes;
}

/* The nodes of a profile's axis of ages, 1 for those of a minute and more; NULL: it has no such axis. */
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

/* Adds what is old of one dump. This does not make a site more suspect: a block that grows by realloc stays young. */
static void series_add_old(series *s, uint32_t t, const hd_profile *p, uint32_t axis, const uint32_t *to) {
    uint32_t ages;
    bool *old = old_nodes(p, &ages);
    hd_rows cells = hd_profile_cells(p);
    for (uint32_t i = 0; old && i < cells.count; i++) {
        const uint32_t *node = &cells.node[(size_t)i * cells.axis_count];
        double bytes = old[node[ages]] ? (double)cells.amount[i].bytes : 0;
        s->at[(size_t)to[node[axis]] * s->count + t].old += bytes;
        s->total[t].old += bytes;
    }
    s->aged = old && (!t || s->aged);
    free(old);
}

/* Adds what one dump says. */
static int series_add(series *s, uint32_t t) {
    const hd_heap *heap = s->heaps[t];
    hd_profile *made = NULL;
    const hd_profile *p = heap->profile;
    uint32_t axis = 0, *to, *frame, bad = 0;
    double *below;
    hd_axis names;
    hd_rows cells;
    hd_error err;
    if (heap->breakdown) {
        axis = heap->breakdown->axis[0].node_count < 2 && heap->breakdown->entries.axis_count > 1;
        if (hd_breakdown_axis_profile(heap->breakdown, axis, NULL, &made, &err)) return failed(s->file, &err);
        p = made, axis = 0;
    } else if (hd_profile_axis(p, 0).node_count < 2 && hd_profile_axis_count(p) > 1) {
        axis = 1;                /* types are better than nothing */
    }
    names = hd_profile_axis(p, axis);
    to = needed(calloc(names.node_count, sizeof *to));
    frame = needed(calloc(names.node_count, sizeof *frame)); /* the innermost one that is no helper */
    below = needed(calloc(names.node_count, sizeof *below));
    for (uint32_t i = 1; i < names.node_count && !bad; i++) {
        to[i] = site_node(s, to[names.parent[i]], names.node_name[i], &err);
        bad = to[i] == HD_NONE;
        frame[i] = !bad && to[i] == to[names.parent[i]] && is_helper(names.node_name[i]) ? frame[names.parent[i]] : i;
    }
    cells = hd_profile_cells(p);
    for (uint32_t i = 0; i < cells.count && !bad; i++) {
        uint32_t from = cells.node[(size_t)i * cells.axis_count + axis];
        double bytes = (double)cells.amount[i].bytes;
        double variance = ldexp((double)cells.amount[i].variance.hi, 64) + (double)cells.amount[i].variance.lo;
        double blocks = cells.amount[i].blocks == HD_UNKNOWN ? 0 : (double)cells.amount[i].blocks;
        point *own = &s->at[(size_t)to[from] * s->count + t], *all = &s->total[t];
        own->bytes += bytes, own->blocks += blocks, own->variance += variance;
        all->bytes += bytes, all->blocks += blocks, all->variance += variance;
        if (to[from]) keep_place(s, to[from], names.node_name[frame[from]], bytes);
        below[from] += bytes;
    }
    if (!bad) series_add_old(s, t, p, axis, to);
    for (uint32_t i = names.node_count; !bad && --i > 0;) {
        below[names.parent[i]] += below[i];
        if (to[i]) keep_place(s, to[i], names.node_name[frame[i]], below[i] - 0x1p62);
    }
    free(to), free(frame), free(below);
    hd_profile_free(made);
    return bad ? failed(s->file, &err) : DONE;
}

/* Whether between two dumps in turn more sites gave most of their memory back than kept it, and the heap shrank. */
static bool cleared_up(const series *s, uint32_t t) {
    uint32_t kept = 0, gave = 0;
    for (uint32_t i = 1; i < s->nodes; i++) {
        const point *own = &s->at[(size_t)i * s->count];
        if (own[t - 1].bytes > 0) own[t].bytes < 0.5 * own[t - 1].bytes ? gave++ : kept++;
    }
    return gave > kept && s->total[t].bytes < 0.8 * s->total[t - 1].bytes;
}

/* Last dumps, two at most, at which the program was clearing up say nothing of growth. */
static void find_end(series *s) {
    s->counted = s->count;
    while (s->counted > 2 && s->counted + 2 > s->count && cleared_up(s, s->counted - 1)) s->counted--;
}

/* What a row of points says: how likely it is a leak. */
static trend points_trend(const series *s, const point *at) {
    double *v = needed(malloc(s->counted * sizeof *v));
    const point *last = &at[s->counted - 1];
    trend t;
    for (uint32_t i = 0; i < s->counted; i++) v[i] = at[i].bytes;
    for (uint32_t i = 1; i < s->counted; i++) { /* a step back within twice its error is none */
        double error = 2 * sqrt(at[i].variance + at[i - 1].variance);
        if (error > 0 && at[i].bytes < at[i - 1].bytes && at[i - 1].bytes - at[i].bytes < error && v[i] < v[i - 1])
            v[i] = v[i - 1];
    }
    v[s->counted - 1] = last->bytes;
    t = trend_of(v, s->times, s->counted);
    if (t.growth <= 2 * sqrt(at[0].variance + last->variance)) t.score = 0;
    free(v);
    return t;
}

/* Who allocates for others. -------------------------------------------------------------------- */

/* A node, to be sorted by its function. */
typedef struct call { uint32_t site, node; } call;

static int by_call(const void *a, const void *b) {
    const call *x = a, *y = b;
    if (x->site != y->site) return x->site < y->site ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void points_add(point *to, const point *more, uint32_t n) {
    for (uint32_t t = 0; t < n; t++)
        to[t].bytes += more[t].bytes, to[t].blocks += more[t].blocks, to[t].variance += more[t].variance,
            to[t].old += more[t].old;
}

/* How many functions call that of some nodes, three at most. Of one caller its callers count, and so on: a wrapper
   may have one of its own. */
static uint32_t callers_of_all(const series *s, const uint32_t *nodes, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    uint32_t *at = needed(malloc(((size_t)n + 1) * sizeof *at)), found = n ? 1 : 0;
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
    free(at);
    return found;
}

/* Whether a function is below itself, as those are that walk trees or interpret: all of a program may be below it. */
static bool is_recursive(const series *s, const uint32_t *nodes, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t up = parent[nodes[i]]; up; up = parent[up])
            if (s->site[up] == s->site[nodes[i]]) return true;
    return false;
}

/* Whether a function allocates for others, as the wrappers of malloc that programs have: it has several callers, and
   of the ways to it over a quarter keep what they got and get no more. What leaks then is who called it. */
static bool is_carrier(const series *s, const call *calls, uint32_t n) {
    uint32_t *nodes = needed(malloc(((size_t)n + 1) * sizeof *nodes)), ways = 0, still = 0, callers;
    for (uint32_t i = 0; i < n; i++) {
        const point *own = &s->at[(size_t)calls[i].node * s->count], *end = &own[s->counted - 1];
        if (end->bytes <= 0) continue;
        nodes[ways++] = calls[i].node;
        still += points_trend(s, own).score + 2 * sqrt(end->variance) < end->bytes / 10;
    }
    callers = still > ways / 4 && !is_recursive(s, nodes, ways) ? callers_of_all(s, nodes, ways) : 0;
    free(nodes);
    return callers > 2;
}

/* Gives what a function allocated for its callers to these; not to the outermost, which says nothing. */
static bool move_up(series *s, const call *calls, uint32_t n) {
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    bool moved = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = calls[i].node;
        point *own = &s->at[(size_t)node * s->count];
        for (uint32_t t = 0; t < s->count && parent[parent[node]]; t++) {
            moved |= own[t].bytes > 0 || own[t].blocks > 0;
            points_add(&s->at[(size_t)parent[node] * s->count + t], &own[t], 1);
            own[t] = (point){ .bytes = 0 };
        }
    }
    return moved;
}

/* From the innermost out, until whoever has something wanted it. */
static void pass_over_carriers(series *s) {
    call *calls = needed(malloc((size_t)s->nodes * sizeof *calls));
    bool *carrier = needed(calloc((size_t)hd_profile_axis(s->names, 1).node_count + 1, sizeof *carrier));
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
    free(calls), free(carrier);
}

/* Series, filled. ------------------------------------------------------------------------------ */

static int series_fill(series *s) {
    hd_error err;
    int status = DONE;
    s->names = hd_profile_create(NULL, &err);
    if (!s->names) return failed(s->file, &err);
    s->total = needed(calloc(s->count, sizeof *s->total));
    s->times = needed(calloc(s->count, sizeof *s->times));
    series_grow(s);
    memset(s->at, 0, s->count * sizeof *s->at);
    s->site[0] = 0, s->place[0] = NULL, s->place_bytes[0] = -HUGE_VAL;
    s->nodes = 1;
    for (uint32_t t = 0; t < s->count && !status; t++) {
        s->times[t] = s->heaps[t]->time_us;
        status = series_add(s, t);
    }
    if (!status) find_end(s), pass_over_carriers(s);
    return status;
}

static void series_free(series *s) {
    for (uint32_t i = 0; i < s->nodes; i++) free(s->place[i]);
    free(s->place), free(s->place_bytes), free(s->at), free(s->site), free(s->total), free(s->times), free(s->heaps);
    hd_profile_free(s->names);
}

/* Suspects. ------------------------------------------------------------------------------------ */

static void judge(suspect *p) {
    const series *s = p->s;
    const point *last = &p->at[s->counted - 1];
    p->bytes = last->bytes, p->blocks = last->blocks, p->blocks_grown = last->blocks - p->at[0].blocks;
    if (s->counted < 2) {
        p->score = last->bytes > 2 * sqrt(last->variance) ? last->bytes : 0;
        return;
    }
    p->trend = points_trend(s, p->at);
    p->score = p->trend.score;
    p->score *= occasions(p->trend.growth, p->blocks_grown);
    p->survived = s->counted < s->count && p->at[s->count - 1].bytes >= 0.9 * last->bytes;
    if (p->survived) p->score *= 2;
}

static int by_score(const void *a, const void *b) {
    const suspect *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->own_score != y->own_score) return x->own_score < y->own_score ? 1 : -1;
    return hd_str_compare(hd_profile_axis(x->s->names, 1).node_name[x->site],
                          hd_profile_axis(y->s->names, 1).node_name[y->site]);
}

/* Whether two sites make parts of one thing, as an entry with its key and value: one calls the other, or both have a
   caller that is not the outermost function, and in each step both got as many more blocks. */
static bool grew_as_often(const suspect *a, const suspect *b) {
    const series *s = a->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    const point *x = &s->at[(size_t)a->node * s->count], *y = &s->at[(size_t)b->node * s->count];
    uint32_t caller = parent[a->node];
    if (s->counted < 2 || a->site == b->site || a->score <= 0 || b->score <= 0) return false;
    if (caller != b->node && parent[b->node] != a->node && (caller != parent[b->node] || !parent[caller]))
        return false;
    for (uint32_t t = 1; t < s->counted; t++) {
        double more = x[t].blocks - x[t - 1].blocks;
        if (more <= 0 || fabs(more - (y[t].blocks - y[t - 1].blocks)) > more / 100) return false;
    }
    return true;
}

/* Parts of one thing are as suspect as all of it: looked for among the first of sites in order. */
static void add_parts(suspect *all, uint32_t n) {
    if (n > 4 * MOST_SUSPECTS) n = 4 * MOST_SUSPECTS;
    for (uint32_t i = 0; i < n; i++) all[i].own_score = all[i].score;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            if (k == i || !grew_as_often(&all[i], &all[k])) continue;
            all[i].score += all[k].own_score;
            if (!all[i].with) all[i].with = all[k].site;
        }
}

/* All sites of a series, the likeliest first; `*n` is how many say anything. */
static suspect *suspects_of(const series *s, size_t *n) {
    uint32_t sites = hd_profile_axis(s->names, 1).node_count;
    suspect *all = needed(calloc(sites, sizeof *all));
    point *at = needed(calloc((size_t)sites * s->count, sizeof *at));
    double *most = needed(calloc(sites, sizeof *most));
    for (uint32_t i = 0; i < sites; i++) all[i] = (suspect){ .s = s, .site = i, .at = &at[(size_t)i * s->count] };
    for (uint32_t node = 1; node < s->nodes; node++) {
        const point *own = &s->at[(size_t)node * s->count];
        suspect one = { .s = s, .at = (point *)(uintptr_t)own };
        suspect *to = &all[s->site[node]];
        points_add(to->at, own, s->count);
        judge(&one);
        if (one.score > most[s->site[node]])
            most[s->site[node]] = one.score, to->place = s->place[node], to->node = node;
    }
    for (uint32_t i = 1; i < sites; i++) {
        judge(&all[i]);
        if (most[i] > all[i].score) all[i].score = most[i]; /* one of its callers alone is more suspect */
    }
    all[0].score = 0;
    qsort(all, sites, sizeof *all, by_score);
    add_parts(all, sites);
    qsort(all, sites, sizeof *all, by_score); /* all[0].at stays in use: `at` is freed by its lowest address */
    for (*n = 0; *n < sites && all[*n].score > 0 && all[*n].score >= all[0].score / 100;) ++*n;
    free(most);
    if (*n) return all;
    free(at), free(all);
    return NULL;
}

static void suspects_free(suspect *all) {
    if (!all) return;
    free(all[0].at - (size_t)all[0].site * all[0].s->count);
    free(all);
}

/* How much a node's own figure counts: growth, or of one dump its size. */
static double weight_of(const series *s, uint32_t node) {
    const point *own = &s->at[(size_t)node * s->count];
    double grown = s->counted < 2 ? own[0].bytes : own[s->counted - 1].bytes - own[0].bytes;
    return grown > 0 ? grown : 0;
}

enum { MOST_CALLERS = 12 };

/* Callers of a site, the nearest first: at each level the one that most of it comes from. `share` of it comes all
   this way. */
static uint32_t callers_of(const suspect *p, hd_str *names, double *share) {
    const series *s = p->s;
    hd_axis axis = hd_profile_axis(s->names, 0);
    uint32_t *at = needed(malloc(s->nodes * sizeof *at)), n = 0, live = 0;
    double all = 0;
    for (uint32_t i = 1; i < s->nodes; i++)
        if (s->site[i] == p->site && weight_of(s, i) > 0) at[live++] = i;
    for (uint32_t i = 0; i < live; i++) all += weight_of(s, at[i]);
    *share = all > 0 ? 1 : 0;
    /* Each of the paths left is followed one frame up: `at` has that frame, `from` where the path began. */
    uint32_t *from = needed(malloc((live + 1) * sizeof *from));
    memcpy(from, at, live * sizeof *from);
    while (live && n < MOST_CALLERS) {
        double best = 0;
        hd_str best_name = { NULL, 0 };
        uint32_t kept = 0;
        for (uint32_t i = 0; i < live; i++) at[i] = at[i] ? axis.parent[at[i]] : 0;
        for (uint32_t i = 0; i < live && i < 64; i++) { /* the paths with most come early enough */
            double sum = 0;
            if (!at[i]) continue;
            for (uint32_t k = 0; k < live; k++)
                if (at[k] && hd_str_equal(axis.node_name[at[k]], axis.node_name[at[i]])) sum += weight_of(s, from[k]);
            if (sum > best) best = sum, best_name = axis.node_name[at[i]];
        }
        if (best < all / 2) break;
        for (uint32_t i = 0; i < live; i++)
            if (at[i] && hd_str_equal(axis.node_name[at[i]], best_name)) at[kept] = at[i], from[kept++] = from[i];
        live = kept;
        names[n++] = best_name;
        *share = best / all;
    }
    free(at), free(from);
    return n;
}

/* Series. -------------------------------------------------------------------------------------- */

typedef struct all_series {
    series *list;
    size_t count;
} all_series;

static bool belongs(const series *s, const hd_heap *heap, bool same_file) {
    const hd_heap *last = s->heaps[s->count - 1];
    if (compare_texts(last->allocator, heap->allocator) || last->kind != heap->kind) return false;
    if (last->pid == heap->pid && same_start(last, heap) &&
        (!same_file || compare_texts(last->dump, heap->dump) || last->time_us != heap->time_us))
        return true;
    return !same_file && same_text(last->process, heap->process);
}

/* Puts the heaps of a file to those of the same process before. Totals and temporary ones say nothing of leaks. */
static void collect(all_series *all, const chosen *c, bool any_kind) {
    for (size_t i = 0; i < c->count; i++) {
        const hd_heap *heap = &c->heaps[i];
        series *to = NULL;
        if (!any_kind && (heap->kind == HD_HEAP_TOTAL || heap->kind == HD_HEAP_TEMPORARY)) continue;
        for (size_t k = all->count; k-- > 0 && !to;)
            if (belongs(&all->list[k], heap, all->list[k].file == c->file)) to = &all->list[k];
        if (!to) {
            all->list = needed(realloc(all->list, (all->count + 1) * sizeof *all->list));
            to = &all->list[all->count++];
            *to = (series){ .count = 0 };
        }
        to->file = c->file;
        to->heaps = needed(realloc(to->heaps, (to->count + 1) * sizeof *to->heaps));
        to->heaps[to->count++] = heap;
    }
}

static int by_growth(const void *a, const void *b) {
    const series *x = a, *y = b;
    double gx = x->total[x->counted - 1].bytes - (x->counted > 1 ? x->total[0].bytes : 0);
    double gy = y->total[y->counted - 1].bytes - (y->counted > 1 ? y->total[0].bytes : 0);
    return gx != gy ? (gx < gy ? 1 : -1) : compare_heaps(x->heaps[0], y->heaps[0], false);
}

/* Answers. ------------------------------------------------------------------------------------- */

static double seconds_of(const series *s) { return (double)(s->times[s->counted - 1] - s->times[0]) / 1e6; }

int name_columns(const arguments *a) {
    screen s = screen_of(a);
    return s.columns && s.columns < NAME_COLUMNS + 28 ? s.columns - 28 : NAME_COLUMNS;
}

uint32_t suspects_that_fit(const arguments *a, uint32_t lines_each, uint32_t most) {
    screen s = screen_of(a);
    uint32_t fit = s.terminal && s.rows > 10 ? ((uint32_t)s.rows - 4) / lines_each : most;
    return fit < 2 ? 2 : fit < most ? fit : most;
}

void put_short(FILE *out, const arguments *a, hd_str name) {
    char *text = short_name(name, name_columns(a));
    display(out, "%s", text);
    free(text);
}

static void put_callers(FILE *out, const arguments *a, const suspect *p) {
    hd_str callers[MOST_CALLERS], outer[MOST_CALLERS];
    double share;
    uint32_t n = callers_of(p, callers, &share);
    char *chain;
    if (!n) return;
    for (uint32_t i = 0; i < n; i++) outer[i] = callers[n - 1 - i];
    chain = short_chain(outer, n, name_columns(a), false);
    display(out, "      called by %s", chain);
    if (share < 0.99) display(out, "  (%.0f%% of it)", 100 * share);
    fputc('\n', out);
    free(chain);
}

/* The standard error of what it holds, or grew by. */
static void put_suspect_error(FILE *out, const arguments *a, const suspect *p) {
    uint32_t last = p->s->counted - 1;
    double error = sqrt(p->at[last].variance + (last ? p->at[0].variance : 0));
    if (error <= 0) return;
    if (last) display(out, " \xc2\xb1"), put_bytes(out, a, (uint64_t)error, 0);
    else display(out, " \xc2\xb1%5.1f%%", 100 * error / fmax(p->bytes, 1));
}

/* What is old of what it holds now. */
static void put_old(FILE *out, const arguments *a, const suspect *p) {
    if (!p->s->aged) return;
    display(out, ", "), put_bytes(out, a, (uint64_t)p->at[p->s->counted - 1].old, 0);
    display(out, " of it older than 1 min");
}

static void put_suspect(FILE *out, const arguments *a, const suspect *p, size_t number) {
    const series *s = p->s;
    uint32_t steps = s->counted - 1;
    double grown = s->total[s->counted - 1].bytes - s->total[0].bytes;
    display(out, "%3zu  ", number);
    put_short(out, a, hd_profile_axis(s->names, 1).node_name[p->site]);
    if (p->place) display(out, " (%s)", strlen(p->place) > 60 ? p->place + strlen(p->place) - 60 : p->place);
    display(out, "\n      ");
    if (!steps) {
        put_bytes(out, a, (uint64_t)p->bytes, 0);
        put_suspect_error(out, a, p);
        display(out, ", %.1f%% of all, %.0f blocks", 100 * p->bytes / fmax(s->total[0].bytes, 1), p->blocks);
        put_old(out, a, p);
        fputc('\n', out);
    } else {
        put_signed(out, a, p->trend.growth);
        put_suspect_error(out, a, p);
        if (grown > 0) display(out, " (%.0f%% of all growth)", 100 * p->trend.growth / grown);
        display(out, ", %+.0f blocks; ", p->blocks_grown);
        if (steps > 1) put_signed(out, a, p->trend.growth / steps), display(out, " a step");
        if (seconds_of(s) > 0) {
            display(out, steps > 1 ? ", " : "");
            put_signed(out, a, p->trend.growth / seconds_of(s)), display(out, "/s");
        }
        display(out, "; now "), put_bytes(out, a, (uint64_t)p->bytes, 0);
        put_old(out, a, p);
        if (steps > 1) display(out, "; grew in %u of %u steps, ", p->trend.ups, steps);
        else if (*trend_words(&p->trend, steps)) display(out, "; ");
        display(out, "%s%s", trend_words(&p->trend, steps), p->survived ? "; still there at the end" : "");
        if (p->with) {
            display(out, "; as often as ");
            put_short(out, a, hd_profile_axis(s->names, 1).node_name[p->with]);
        }
        fputc('\n', out);
    }
    put_callers(out, a, p);
}

static void series_text(FILE *out, const arguments *a, const series *s, const suspect *list, size_t n) {
    const hd_heap *heap = s->heaps[0];
    display(out, "%.60s, %.60s", heap->process ? heap->process : s->file, heap->allocator ? heap->allocator : "-");
    if (s->counted > 1) {
        display(out, ": %u dumps", s->counted);
        if (seconds_of(s) > 0) display(out, " in %.1f s", seconds_of(s));
        display(out, ", "), put_bytes(out, a, (uint64_t)s->total[0].bytes, 0);
        display(out, " to "), put_bytes(out, a, (uint64_t)s->total[s->counted - 1].bytes, 0);
        if (s->counted < s->count) {
            display(out, "; cleared up to "), put_bytes(out, a, (uint64_t)s->total[s->count - 1].bytes, 0);
            display(out, " at the end");
        }
        display(out, "\nwhat grew, the likeliest leak first:\n");
    } else {
        display(out, ": one dump, "), put_bytes(out, a, (uint64_t)s->total[0].bytes, 0);
        display(out, "\nwhat holds most (two dumps of a process would say what grows):\n");
    }
    for (size_t i = 0; i < n; i++) put_suspect(out, a, &list[i], i + 1);
    if (!n) display(out, "  nothing%s\n", s->counted > 1 ? " grew" : "");
}

static void suspect_json(hd_json *j, const suspect *p) {
    const series *s = p->s;
    hd_str callers[MOST_CALLERS];
    double share;
    uint32_t n = callers_of(p, callers, &share);
    json_line(j);
    json_str(j, "site", hd_profile_axis(s->names, 1).node_name[p->site]);
    json_text(j, "place", p->place);
    json_array(j, "callers");
    for (uint32_t i = 0; i < n; i++) hd_json_str(j, callers[i]);
    hd_json_end(j);
    json_array(j, "bytes");
    for (uint32_t t = 0; t < s->counted; t++) hd_json_u64(j, (uint64_t)p->at[t].bytes);
    hd_json_end(j);
    json_array(j, "blocks");
    for (uint32_t t = 0; t < s->counted; t++) hd_json_u64(j, (uint64_t)p->at[t].blocks);
    hd_json_end(j);
    if (s->aged) json_u64(j, "older_than_a_minute", (uint64_t)p->at[s->counted - 1].old);
    if (p->at[s->counted - 1].variance > 0 || p->at[0].variance > 0) {
        json_array(j, "errors");
        for (uint32_t t = 0; t < s->counted; t++) hd_json_u64(j, (uint64_t)round(sqrt(p->at[t].variance)));
        hd_json_end(j);
    }
    if (s->counted > 1) {
        hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)p->trend.growth);
        hd_json_key(j, "per_step"), hd_json_i64(j, (int64_t)(p->trend.growth / (s->counted - 1)));
        hd_json_key(j, "per_second");
        if (seconds_of(s) > 0) hd_json_i64(j, (int64_t)(p->trend.growth / seconds_of(s)));
        else hd_json_null(j);
        json_u64(j, "steps_grown", p->trend.ups);
        json_u64(j, "steady_percent", (uint64_t)(100 * p->trend.steady));
        json_bool(j, "there_at_end", p->survived);
        hd_json_key(j, "as_often_as");
        if (p->with) hd_json_str(j, hd_profile_axis(s->names, 1).node_name[p->with]);
        else hd_json_null(j);
    }
    hd_json_end(j);
}

static void series_json(hd_json *j, const series *s, const suspect *list, size_t n) {
    json_line(j);
    json_object(j, "heap"), json_label(j, s->heaps[s->counted - 1]), hd_json_end(j);
    json_u64(j, "dumps", s->counted);
    json_u64(j, "cleared_up_dumps", s->count - s->counted);
    json_array(j, "total");
    for (uint32_t t = 0; t < s->counted; t++) hd_json_u64(j, (uint64_t)s->total[t].bytes);
    hd_json_end(j);
    json_array(j, "suspects");
    for (size_t i = 0; i < n; i++) suspect_json(j, &list[i]);
    hd_json_end(j), hd_json_end(j);
}

/* The series that grew most, on one screen. */
static void answer_series(const arguments *a, const all_series *all, answer *r) {
    size_t shown = 0, most = a->cutoff.top, left;
    if (!most) most = a->json ? MOST_SUSPECTS : suspects_that_fit(a, 3, MOST_SUSPECTS);
    left = most;
    for (size_t i = 0; i < all->count; i++) {
        size_t n;
        suspect *list;
        if (i && !left) break;
        list = suspects_of(&all->list[i], &n);
        if (n > left) n = left;
        if (i && !n) {
            suspects_free(list);
            continue;
        }
        if (a->json) series_json(&r->json, &all->list[i], list, n);
        else series_text(r->text, a, &all->list[i], list, n);
        suspects_free(list);
        left -= n;
        shown++;
    }
    if (!a->json && shown < all->count)
        display(r->text, "%zu more heaps grew less, or not\n", all->count - shown);
}

static int suspects_of_heaps(const arguments *a, const chosen *c, int count, answer *r) {
    all_series all = { .count = 0 };
    int status = DONE;
    for (int i = 0; i < count; i++) collect(&all, &c[i], a->kind != NULL);
    for (int i = 0; i < count && !all.count; i++) collect(&all, &c[i], true);
    for (size_t i = 0; i < all.count && !status; i++) status = series_fill(&all.list[i]);
    if (!status) {
        qsort(all.list, all.count, sizeof *all.list, by_growth);
        answer_series(a, &all, r);
    }
    for (size_t i = 0; i < all.count; i++) series_free(&all.list[i]);
    free(all.list);
    return status;
}

static void put_lines_within(FILE *out, const arguments *a, char *text) {
    screen s = screen_of(a);
    for (char *line; (line = strsep(&text, "\n")) != NULL && (text || *line);)
        put_within(out, line, s.columns), display(out, "\n");
}

int run_suspects(const arguments *asked) {
    arguments view = *asked;
    const arguments *a = &view;
    hd_dump **dumps = needed(calloc((size_t)a->file_count, sizeof *dumps));
    chosen *c = needed(calloc((size_t)a->file_count, sizeof *c));
    int graphs = 0, read = 0, chose = 0, status = DONE;
    answer r;
    if (asked->frames_hidden) return free(dumps), free(c), run_hidden(asked);
    view.live_kind = true;
    for (; read < a->file_count && !status; read++) {
        status = read_dump(a->files[read], a, &dumps[read]);
        if (!status) graphs += hd_dump_graph(dumps[read]) != NULL;
        else dumps[read--] = NULL;
    }
    if (!status && graphs && graphs < read) {
        display(stderr, "heapdump: some files say who allocated, others who holds: these are looked at apart\n");
        status = BAD_INPUT;
    }
    if (!status && !graphs)
        for (; chose < read && !status; chose++) {
            status = choose_from(a, a->files[chose], dumps[chose], &c[chose]);
            dumps[chose] = NULL;
            if (status) chose--;
        }
    if (!status) status = answer_open(&r, a, graphs ? "graphs" : "series");
    if (!status) {
        char *text;
        size_t size;
        FILE *to = r.text;
        int bad;
        r.text = needed(open_memstream(&text, &size));
        bad = graphs ? suspects_of_graphs(a, dumps, read, &r) : suspects_of_heaps(a, c, chose, &r);
        closed_text(r.text, &text);
        r.text = to;
        put_lines_within(to, a, text);
        free(text);
        status = answer_close(&r, DONE) || bad ? BAD_INPUT : DONE;
    }
    for (int i = 0; i < chose; i++) chosen_free(&c[i]);
    for (int i = 0; i < a->file_count; i++) hd_dump_free(dumps[i]);
    free(c), free(dumps);
    return status;
}
