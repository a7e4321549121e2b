/* suspects for profiles of heaps; objects/suspects.c has the suspects of objects. */

#include "series.h"

#include <math.h>

/* Judging. ------------------------------------------------------------------------------------- */

double seconds_of(const series *s) {
    uint64_t from = s->times[0], to = s->times[s->counted - 1];
    return to > from ? (double)(to - from) / 1e6 : 0; /* files may be given in reverse order */
}

double weight_of(const series *s, const suspect *p) {
    return s->counted < 2 ? p->last.bytes : p->last.bytes - p->first.bytes;
}

static void judge(suspect *p) {
    const series *s = p->s;
    p->first = point_at(&p->at, 0), p->last = point_at(&p->at, s->counted - 1);
    p->blocks_grown = p->last.blocks - p->first.blocks;
    if (s->counted < 2) {
        p->score = p->last.bytes > 2 * sqrt(p->last.variance) ? p->last.bytes : 0;
        return;
    }
    p->trend = track_trend(s, &p->at);
    p->score = p->trend.score;
    p->score *= occasions(p->trend.growth, p->blocks_grown);
    p->survived = s->counted < s->count && point_at(&p->at, s->count - 1).bytes >= 0.9 * p->last.bytes;
    if (p->survived) p->score *= 2;
}

static hd_str site_name_of(const suspect *p) { return hd_profile_axis(p->s->names, 1).node_name[p->site]; }

static int by_score(const void *a, const void *b) {
    const suspect *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->own_score != y->own_score) return x->own_score < y->own_score ? 1 : -1;
    return hd_str_compare(site_name_of(x), site_name_of(y));
}

static int by_bytes(const void *a, const void *b) {
    double x = weight_of(((const suspect *)a)->s, a), y = weight_of(((const suspect *)b)->s, b);
    return x != y ? (x < y ? 1 : -1) : by_score(a, b);
}

/* Growth in blocks, or blocks if there is one dump. Unknown counts come last. */
static double blocks_of(const suspect *p) { return p->s->counted < 2 ? p->last.blocks : p->blocks_grown; }

static int by_blocks(const void *a, const void *b) {
    double x = blocks_of(a), y = blocks_of(b);
    if (isnan(x) || isnan(y)) return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : by_score(a, b);
    return x != y ? (x < y ? 1 : -1) : by_score(a, b);
}

static int by_site_name(const void *a, const void *b) { return hd_str_compare(site_name_of(a), site_name_of(b)); }

/* Whether two sites allocate parts of one thing, as an entry with its key and value. One calls the other, or both
   share a caller that is not the outermost function. Both gain the same number of blocks (to 1%) in each step. */
static bool grew_as_often(const suspect *a, const suspect *b) {
    const series *s = a->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    const track *x = &s->at[a->node], *y = &s->at[b->node];
    uint32_t caller = parent[a->node], steps = s->counted - 1;
    double before, other;
    if (s->counted < 2 || a->site == b->site || a->score <= 0 || b->score <= 0) return false;
    if (caller != b->node && parent[b->node] != a->node && (caller != parent[b->node] || !caller || !parent[caller]))
        return false;
    if (x->count < steps || y->count < steps) return false; /* each step adds blocks, so that all dumps have some */
    before = point_at(x, 0).blocks, other = point_at(y, 0).blocks;
    for (uint32_t i = x->at[0].dump == 0, k = y->at[0].dump == 0, t = 1; t < s->counted; t++, i++, k++) {
        double more;
        if (i >= x->count || k >= y->count || x->at[i].dump != t || y->at[k].dump != t) return false;
        more = x->at[i].blocks - before;
        if (!(more > 0 && fabs(more - (y->at[k].blocks - other)) <= more / 100)) return false;
        before = x->at[i].blocks, other = y->at[k].blocks;
    }
    return true;
}

/* Parts of one thing are as suspect as the whole thing. Only the first sites in order are compared. */
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

static int by_dump(const void *a, const void *b) {
    const point *x = a, *y = b;
    return compare_numbers(x->dump, y->dump);
}

/* Merges the points of each site's nodes into one track. */
static void sites_gather(const series *s, suspect *all, uint32_t sites) {
    for (uint32_t node = 1; node < s->nodes; node++) {
        track *to = &all[s->site[node]].at;
        for (uint32_t k = 0; k < s->at[node].count; k++) {
            ONE_MORE(to->at, to->count);
            to->at[to->count++] = s->at[node].at[k];
        }
        all[s->site[node]].helper |= s->helper[node];
    }
    for (uint32_t i = 1; i < sites; i++) {
        track all_points = all[i].at, *to = &all[i].at;
        if (to->count) qsort(to->at, to->count, sizeof *to->at, by_dump);
        to->count = 0;
        for (uint32_t k = 0; k < all_points.count; k++) {
            point *end = to->count ? &to->at[to->count - 1] : NULL, *one = &all_points.at[k];
            if (end && end->dump == one->dump) {
                end->bytes += one->bytes, end->blocks += one->blocks;
                end->variance += one->variance, end->old += one->old;
            } else {
                to->at[to->count++] = *one;
            }
        }
    }
}

static void suspects_of(const series *s, suspects *found) {
    uint32_t sites = hd_profile_axis(s->names, 1).node_count;
    suspect *all = needed(calloc(sites, sizeof *all));
    FREED double *most = needed(calloc(sites, sizeof *most));
    for (uint32_t i = 0; i < sites; i++) all[i] = (suspect){ .s = s, .site = i };
    sites_gather(s, all, sites);
    for (uint32_t node = 1; node < s->nodes; node++) {
        suspect one = { .s = s, .at = s->at[node] };
        suspect *to = &all[s->site[node]];
        judge(&one);
        if (one.score > most[s->site[node]])
            most[s->site[node]] = one.score, to->place = s->place[node], to->node = node;
    }
    for (uint32_t i = 1; i < sites; i++) {
        judge(&all[i]);
        if (most[i] > all[i].score) all[i].score = most[i]; /* one of its call paths is more suspect */
    }
    all[0].score = 0;
    qsort(all, sites, sizeof *all, by_score);
    add_parts(all, sites);
    qsort(all, sites, sizeof *all, by_score);
    *found = (suspects){ .s = s, .list = all, .count = sites };
    while (found->listed < sites && all[found->listed].score > 0 &&
           all[found->listed].score >= all[0].score / 100)
        found->listed++;
}

static void suspects_free(suspects *found) {
    for (uint32_t i = 0; i < found->count; i++) free(found->list[i].at.at);
    free(found->list);
}

/* A call path to a site's bytes: where it began, and the frame that it has been followed to. */
typedef struct path { uint32_t from, at; } path;

static double path_weight(const series *s, uint32_t node) {
    suspect one = { .s = s, .first = point_at(&s->at[node], 0), .last = point_at(&s->at[node], s->counted - 1) };
    return fmax(weight_of(s, &one), 0);
}

uint32_t callers_of(const suspect *p, hd_str *names, double *share) {
    const series *s = p->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    FREED path *list = needed(malloc(s->nodes * sizeof *list));
    double all = 0;
    FREED double *sum = needed(calloc(hd_profile_axis(s->names, 1).node_count, sizeof *sum));
    uint32_t live = 0, n = 0;
    for (uint32_t i = 1; i < s->nodes; i++)
        if (s->site[i] == p->site && path_weight(s, i) > 0) list[live++] = (path){ i, i }, all += path_weight(s, i);
    *share = all > 0 ? 1 : 0;
    while (live && n < MOST_CALLERS) {
        uint32_t best = 0, kept = 0;
        for (uint32_t i = 0; i < live; i++) {
            uint32_t up = list[i].at = parent[list[i].at];
            if (up && (sum[s->site[up]] += path_weight(s, list[i].from)) > sum[best]) best = s->site[up];
        }
        if (!best || sum[best] < all / 2) break;
        *share = fmin(sum[best] / all, 1);
        names[n++] = hd_profile_axis(s->names, 1).node_name[best];
        for (uint32_t i = 0; i < live; i++) {
            sum[s->site[list[i].at]] = 0;
            if (list[i].at && s->site[list[i].at] == best) list[kept++] = list[i];
        }
        live = kept;
    }
    return n;
}

static int by_caller(const void *a, const void *b) {
    const site_caller *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : hd_str_compare(x->name, y->name);
}

uint32_t direct_callers(const suspect *p, site_caller *list, uint32_t most) {
    const series *s = p->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    hd_axis sites = hd_profile_axis(s->names, 1);
    FREED site_caller *all = needed(calloc(sites.node_count, sizeof *all));
    uint32_t n = 0;
    for (uint32_t i = 1; i < s->nodes; i++)
        if (s->site[i] == p->site && parent[i]) all[s->site[parent[i]]].bytes += path_weight(s, i);
    for (uint32_t i = 1; i < sites.node_count; i++)
        if (all[i].bytes > 0) all[n++] = (site_caller){ sites.node_name[i], all[i].bytes };
    qsort(all, n, sizeof *all, by_caller);
    for (uint32_t i = 0; i < n && i < most; i++) list[i] = all[i];
    return n;
}

/* Answers. ------------------------------------------------------------------------------------- */

static int by_growth(const void *a, const void *b) {
    const series *x = a, *y = b;
    double gx = x->total[x->counted - 1].bytes - (x->counted > 1 ? x->total[0].bytes : 0);
    double gy = y->total[y->counted - 1].bytes - (y->counted > 1 ? y->total[0].bytes : 0);
    return gx != gy ? (gx < gy ? 1 : -1) : compare_heaps(x->heaps[0], y->heaps[0], false);
}

int name_columns(const arguments *a) {
    screen s = screen_of(a);
    if (a->view.wide) return INT16_MAX;
    return s.columns && s.columns < NAME_COLUMNS + 28 ? s.columns - 28 : NAME_COLUMNS;
}

uint32_t suspects_that_fit(const arguments *a, uint32_t lines_each, uint32_t most) {
    screen s = screen_of(a);
    uint32_t fit = s.terminal && s.rows > 10 ? ((uint32_t)s.rows - 5) / lines_each : most;
    return fit < 2 ? 2 : fit < most ? fit : most;
}

void put_short(FILE *out, const arguments *a, hd_str name) {
    FREED char *text = short_name(name, name_columns(a));
    display(out, "%s", text);
}

void put_short_class(FILE *out, const arguments *a, hd_class c) {
    int columns = a->cut.all || a->view.wide ? 0 : screen_of(a).columns;
    FREED char *text = cut_within(c.name, columns ? name_columns(a) : 0);
    display(out, "%s", text);
    if (c.scope.len && (!columns || columns_of(hd_cstr(text)) + 4 + columns_of(c.scope) <= columns / 3))
        display(out, "  ("), put_name(out, c.scope), display(out, ")");
}

/* Shows the first listed sites, in the order of --sort. */
static void suspects_show(const arguments *a, suspects *found, size_t most) {
    static int (*const orders[])(const void *, const void *) = {
        [HD_ORDER_BYTES] = by_bytes, [HD_ORDER_BLOCKS] = by_blocks, [HD_ORDER_SELF] = by_bytes,
        [HD_ORDER_NAME] = by_site_name
    };
    if (a->cut.ordered) qsort(found->list, found->listed, sizeof *found->list, orders[a->cut.order]);
    found->shown = found->listed < most ? found->listed : (uint32_t)most;
}

/* One line for the heaps that are not listed. */
static void put_more_heaps(FILE *out, const arguments *a, size_t count, double bytes, double grown, bool grow) {
    if (!count) return;
    display(out, "%zu more heap%s%s: ", count, count == 1 ? "" : "s", grow ? " grew less, or not" : "");
    put_bytes(out, a, (uint64_t)bytes, 0);
    if (grow) display(out, ", "), put_signed(out, a, grown);
    display(out, "\n");
}

/* The series that grew most, on one screen. */
static void answer_series(const arguments *a, const all_series *all, answer *r, proposal *next) {
    size_t hidden = 0, left = a->cut.cutoff.top;
    double bytes = 0, grown = 0;
    bool grow = false;
    if (!left) left = a->view.json ? MOST_SUSPECTS : suspects_that_fit(a, 3, MOST_SUSPECTS);
    for (size_t i = 0; i < all->count; i++) {
        const series *s = &all->list[i];
        suspects found = { .s = s };
        if (!i || left) suspects_of(s, &found), suspects_show(a, &found, left);
        if (!i || found.shown) {
            if (a->view.json) series_json(&r->json, &found);
            else series_text(r->text, a, &found), series_propose(a, &found, next);
        } else {
            hidden++;
            bytes += s->total[s->counted - 1].bytes;
            if (s->counted > 1) grown += s->total[s->counted - 1].bytes - s->total[0].bytes;
            grow |= s->counted > 1;
        }
        left -= found.shown;
        suspects_free(&found);
    }
    if (!a->view.json) put_more_heaps(r->text, a, hidden, bytes, grown, grow);
}

/* Whether the program freed everything: nothing grew, and the last dumps have only bytes of libraries. */
static bool all_freed(const all_series *all) {
    for (size_t i = 0; i < all->count; i++) {
        const series *s = &all->list[i];
        if (s->heaps[0]->kind != HD_HEAP_LIVE || s->counted < s->count || s->own_code) return false;
        if (s->counted > 1 && s->total[s->counted - 1].bytes > s->total[0].bytes) return false;
    }
    return all->count > 0;
}

static int series_make(const arguments *a, all_series *all, const chosen *c, int count, bool any_kind) {
    int status = DONE;
    series_collect(all, c, count, any_kind);
    if (!all->count) series_collect(all, c, count, true);
    for (size_t i = 0; i < all->count && !status; i++) {
        all->list[i].every_frame = a->view.frames_all;
        status = series_fill(&all->list[i]);
    }
    return status;
}

static void series_all_free(all_series *all) {
    for (size_t i = 0; i < all->count; i++) series_free(&all->list[i]);
    free(all->list);
    *all = (all_series){ NULL, 0 };
}

static void peaks_free(chosen *peaks, int count) {
    for (int i = 0; peaks && i < count; i++) chosen_free(&peaks[i]);
    free(peaks);
}

/* The peaks of the same files; NULL if a file has no peak. Dumps stay with `c`. */
static chosen *peaks_of(const arguments *a, const chosen *c, int count) {
    heap_options which = a->heaps;
    chosen *peaks = needed(calloc((size_t)count + 1, sizeof *peaks));
    bool any = true;
    which.kind = hd_heap_kind_name(HD_HEAP_PEAK);
    for (int i = 0; i < count && any; i++) {
        any = false;
        for (size_t k = 0; k < hd_dump_heap_count(c[i].dump) && !any; k++)
            any = selected(&which, hd_dump_heap(c[i].dump, k));
    }
    for (int i = 0; i < count && any; i++)
        if (choose_again(a, &which, &c[i], &peaks[i])) any = false, peaks_free(peaks, i), peaks = NULL;
    if (!any) free(peaks);
    return any ? peaks : NULL;
}

int suspects_of_heaps(const arguments *a, const chosen *c, int count, answer *r, proposal *next) {
    all_series all = { NULL, 0 };
    chosen *peaks = NULL;
    bool nothing = false;
    int status = series_make(a, &all, c, count, a->heaps.kind != NULL);
    if (!status && !a->heaps.kind && all_freed(&all)) {
        double left = 0;
        for (size_t i = 0; i < all.count; i++) left += all.list[i].total[all.list[i].count - 1].bytes;
        peaks = peaks_of(a, c, count);
        nothing = !a->view.json && !peaks && left <= 0;
        if (!a->view.json) put_freed(r->text, a, left, peaks != NULL);
        if (peaks) {
            series_all_free(&all);
            status = series_make(a, &all, peaks, count, true);
        }
    }
    if (!status && !nothing) {
        qsort(all.list, all.count, sizeof *all.list, by_growth);
        answer_series(a, &all, r, next);
    }
    series_all_free(&all);
    peaks_free(peaks, count);
    return status;
}

