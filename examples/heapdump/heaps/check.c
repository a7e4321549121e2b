/* check */

#include "heaps.h"

#include <math.h>

/* One limit of one heap. */
typedef struct limit_check {
    const char *what;            /* "growth", "total", "site" */
    const char *site;
    const hd_heap *heap;
    double before, after, error; /* bytes; the standard error of the value that is compared with the limit */
    double limit;                /* bytes */
    bool has_before;
    bool is_bound;               /* the error is the largest that sampling can cause */
} limit_check;

typedef struct checks {
    limit_check *list;
    size_t count;
    double z;
} checks;

/* The probability of a false alarm in all checks of a call together. It is a third of the promised 1 in 100, because
   estimates from few samples do not follow the normal distribution. */
#define FALSE_ALARMS 0.003

/* The number of standard errors beyond which a normal distribution has `share` of its mass, on one side. */
static double quantile(double share) {
    double low = 0, high = 40;
    for (int i = 0; i < 64; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) / 2 > share) low = middle;
        else high = middle;
    }
    return high;
}

static double double_of(hd_u128 n) { return ldexp((double)n.hi, 64) + (double)n.lo; }

/* The variance of an amount. Samples without block counts have no variance of their own. They get the largest
   possible one, which is the variance of blocks much smaller than the sampling interval. */
static double variance_of(const hd_heap *heap, const hd_amount *amount) {
    if (amount->blocks != HD_UNKNOWN || amount->variance.lo || amount->variance.hi)
        return double_of(amount->variance);
    return (double)amount->bytes * (double)heap->sample_bytes;
}

/* The bytes of a heap, and their variance. */
static double bytes_of(const hd_heap *heap, double *variance) {
    hd_rows cells;
    *variance = 0;
    if (heap->breakdown) {
        *variance = variance_of(heap, &heap->breakdown->entries.amount[0]);
        return (double)heap->breakdown->entries.amount[0].bytes;
    }
    cells = hd_profile_cells(heap->profile);
    for (uint32_t i = 0; i < cells.count; i++) *variance += variance_of(heap, &cells.amount[i]);
    return (double)hd_profile_bytes(heap->profile);
}

static limit_check *add_check(checks *c, const char *what, const hd_heap *heap) {
    ONE_MORE(c->list, c->count);
    c->list[c->count] = (limit_check){ .what = what, .heap = heap };
    return &c->list[c->count++];
}

/* `before` is NULL if the heap is new. */
static int check_heap(const arguments *a, const chosen *y, const hd_heap *before, const hd_heap *after, checks *c) {
    double variance, variance_before = 0, bytes = bytes_of(after, &variance);
    bool is_bound = has_unknown_error(after), bound_before = before && has_unknown_error(before);
    limit_check *l;
    if (a->check.max_growth >= 0) {
        double most = 1 + a->check.max_growth;
        l = add_check(c, "growth", after);
        l->has_before = before != NULL;
        l->is_bound = is_bound || bound_before;
        l->before = before ? bytes_of(before, &variance_before) : 0;
        l->after = bytes;
        l->limit = l->before * most;
        l->error = sqrt(variance + most * most * variance_before);
    }
    if (a->check.max_total) {
        l = add_check(c, "total", after);
        l->after = bytes;
        l->limit = (double)a->check.max_total;
        l->is_bound = is_bound;
        l->error = sqrt(variance);
    }
    for (int i = 0; i < a->check.site_count; i++) {
        site_limit *s = &a->check.sites[i];
        hd_heap part;
        hd_error err;
        if (hd_filter(after, s->site.axis, pattern_matches, &s->site, true, NULL, &part, &err))
            return failed(y->file, &err);
        l = add_check(c, "site", after);
        l->site = s->site.text;
        l->is_bound = is_bound;
        l->after = bytes_of(&part, &variance);
        l->limit = (double)s->bytes;
        l->error = sqrt(variance);
        hd_heap_release(&part);
    }
    return DONE;
}

/* Checks the last heaps of each process in y against their counterparts in x. */
static int check_all(const arguments *a, const chosen *x, const chosen *y, checks *c) {
    FREED bool *in_x = needed(calloc(x->count + 1, 1)), *in_y = needed(calloc(y->count + 1, 1));
    FREED bool *left = needed(calloc(y->count + 1, 1));
    FREED ptrdiff_t *mate = needed(calloc(x->count + 1, sizeof *mate));
    int status = DONE;
    mark_picked(x, NULL, true, in_x);
    mark_picked(y, NULL, true, in_y);
    find_mates(a, x, in_x, y, in_y, mate, left);
    for (size_t i = 0; i < y->count && !status; i++) {
        const hd_heap *before = NULL;
        if (!in_y[i]) continue;
        for (size_t k = 0; k < x->count; k++)
            if (in_x[k] && mate[k] == (ptrdiff_t)i) before = &x->heaps[k];
        status = check_heap(a, y, before, &y->heaps[i], c);
    }
    c->z = quantile(FALSE_ALARMS / (double)(c->count ? c->count : 1)); /* Bonferroni */
    return status;
}

static const char *verdict(const checks *c, const limit_check *l) {
    double beyond = l->after - l->limit;
    return beyond <= 0 ? "ok" : beyond > c->z * l->error ? "failed" : "noise";
}

static bool has_failed(const checks *c, const limit_check *l) { return !strcmp(verdict(c, l), "failed"); }

static void put_check(const arguments *a, const checks *c, const limit_check *l, bool errors, FILE *out) {
    const char *state = verdict(c, l);
    char change[24] = "";
    if (l->has_before && l->before > 0)
        snprintf(change, sizeof change, "%+.1f%%", 100 * (l->after - l->before) / l->before);
    display(out, "%-6s  %-6s ", strcmp(state, "failed") ? state : "FAILED", l->what);
    if (l->has_before) put_bytes(out, a, (uint64_t)l->before, 12);
    else display(out, "%12s", "-");
    fputc(' ', out), put_bytes(out, a, (uint64_t)l->after, 12);
    if (l->error > 0) fputc(' ', out), put_bytes(out, a, (uint64_t)l->error, 10);
    else if (errors) display(out, " %10s", "");
    display(out, " %8s ", change);
    put_bytes(out, a, (uint64_t)l->limit, 12);
    display(out, "  %s, %s", l->heap->process ? l->heap->process : "-",
            l->heap->allocator ? l->heap->allocator : "-");
    if (l->heap->kind != HD_HEAP_LIVE) display(out, ", %s", hd_heap_kind_name(l->heap->kind));
    if (l->site) display(out, ": %s", l->site);
    if (!strcmp(l->what, "growth")) display(out, ": at most +%.6g%%", 100 * a->check.max_growth);
    fputc('\n', out);
}

static void check_text(const arguments *a, const checks *c, FILE *out) {
    bool errors = false, mixed = false; /* errors: of sampled heaps */
    for (size_t i = 0; i < c->count; i++) {
        errors |= c->list[i].error > 0;
        mixed |= c->list[i].heap->kind != c->list[0].heap->kind;
    }
    display(out, "%-6s  %-6s %12s %12s %s%8s %12s  ", "", "of", "before", "after", errors ? "        +- " : "",
            "change", "limit");
    if (!c->count || mixed) display(out, "heap of the last dump\n");
    else display(out, "%s heap of the last dump\n", hd_heap_kind_name(c->list[0].heap->kind));
    for (size_t i = 0; i < c->count; i++) put_check(a, c, &c->list[i], errors, out);
    for (size_t i = 0; i < c->count; i++) {
        const limit_check *l = &c->list[i];
        if (!l->is_bound || (i && l[-1].heap == l->heap)) continue;
        display(out, "cannot test %s for noise exactly: it has no block counts. Its error is taken as the largest "
                "that sampling every ", l->heap->allocator ? l->heap->allocator : "-");
        put_bytes(out, a, l->heap->sample_bytes, 0), display(out, " can have\n");
    }
}

static void check_json(const checks *c, hd_json *j) {
    for (const limit_check *l = c->list; l < c->list + c->count; l++) {
        json_line(j);
        json_text(j, "verdict", verdict(c, l));
        json_text(j, "of", l->what);
        if (l->site) json_text(j, "site", l->site);
        if (l->has_before) json_u64(j, "before", (uint64_t)l->before);
        json_u64(j, "after", (uint64_t)l->after);
        if (l->error > 0) json_u64(j, "error", (uint64_t)l->error);
        if (l->is_bound) json_bool(j, "error_is_bound", true);
        json_u64(j, "limit", (uint64_t)l->limit);
        json_object(j, "heap"), json_label(j, l->heap), hd_json_end(j);
        hd_json_end(j);
    }
}

/* Whether a heap of the file, of any kind, has a matching name. */
static bool has_site(const chosen *c, const pattern *site) {
    bool has = false;
    for (size_t i = 0; i < c->count && !has; i++) has = matches_any(site, &c->heaps[i]);
    for (size_t i = 0; i < hd_dump_heap_count(c->dump) && !has; i++)
        has = matches_any(site, hd_dump_heap(c->dump, i));
    return has;
}

static bool is_sampled(const chosen *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->heaps[i].sample_bytes) return true;
    return false;
}

/* Reports limits of sites that match no name in either file. Such a limit would pass always. Sampling may miss a
   small site, so that in sampled heaps this is only a warning. */
static bool has_all_sites(const arguments *a, const chosen *x, const chosen *y) {
    bool all = true, sampled = is_sampled(x) || is_sampled(y);
    for (int i = 0; i < a->check.site_count; i++) {
        const pattern *site = &a->check.sites[i].site;
        if (has_site(x, site) || has_site(y, site)) continue;
        display(stderr, "heapdump: %s--site: no %s of %s or %s matches '%s'\n", sampled ? "warning: " : "",
                site->axis == HD_AXIS_TYPE ? "type" : "function", x->file, y->file, site->text);
        all = sampled;
    }
    return all;
}

static bool has_kind(const chosen *c, hd_heap_kind kind) {
    for (size_t i = 0; i < hd_dump_heap_count(c->dump); i++)
        if (hd_dump_heap(c->dump, i)->kind == kind) return true;
    return false;
}

/* Prints that the peak grew beyond the limit of growth, if only live heaps were checked. */
static void put_peak(const arguments *a, const chosen *x, const chosen *y, FILE *out) {
    arguments of_peaks = *a;
    checks c = { .count = 0 };
    chosen before, after;
    of_peaks.heaps.kind = hd_heap_kind_name(HD_HEAP_PEAK);
    of_peaks.check.max_total = 0, of_peaks.check.site_count = 0;
    if (a->heaps.kind || a->check.max_growth < 0 || !has_kind(x, HD_HEAP_PEAK) || !has_kind(y, HD_HEAP_PEAK) ||
        choose_again(&of_peaks, &of_peaks.heaps, x, &before)) return;
    if (!choose_again(&of_peaks, &of_peaks.heaps, y, &after)) {
        check_all(&of_peaks, &before, &after, &c);
        for (size_t i = 0; i < c.count; i++) {
            const limit_check *l = &c.list[i];
            if (!l->has_before || !has_failed(&c, l)) continue;
            display(out, "the peak of %s grew beyond the limit, from ", l->heap->process ? l->heap->process : "-");
            put_bytes(out, a, (uint64_t)l->before, 0), display(out, " to ");
            put_bytes(out, a, (uint64_t)l->after, 0), display(out, ": --kind peak checks it\n");
        }
        chosen_free(&after);
    }
    free(c.list);
    chosen_free(&before);
}

/* Checks both files and prints the verdicts. */
static int check_files(const arguments *a, const chosen *x, const chosen *y) {
    checks c = { .count = 0 };
    size_t count = 0;
    answer r;
    bool all_sites = has_all_sites(a, x, y);
    int status = check_all(a, x, y, &c);
    if (!status) status = answer_open(&r, a, "checks");
    if (status) return free(c.list), status;
    for (size_t i = 0; i < c.count; i++) count += has_failed(&c, &c.list[i]);
    if (a->view.json) {
        check_json(&c, &r.json);
        answer_end_list(&r);
        json_u64(&r.json, "failed", count);
    } else {
        screen s = screen_of(a);
        check_text(a, &c, r.text);
        if (!count) put_peak(a, x, y, r.text);
        if (count) put_next(r.text, &s, a, "what grew", "diff", x->file, y->file, NULL);
    }
    free(c.list);
    return answer_close(&r, DONE) || count || !all_sites ? BAD_INPUT : DONE;
}

static int check_both(const arguments *a) {
    chosen x, y;
    int status = choose(a, a->input.files[0], &x);
    if (status) return status;
    status = choose(a, a->input.files[1], &y);
    if (!status) status = check_files(a, &x, &y), chosen_free(&y);
    chosen_free(&x);
    return status;
}

void check_defaults(arguments *a) {
    if (a->check.max_growth < 0 && !a->check.max_total && !a->check.site_count) a->check.max_growth = 0.05;
    a->cut.default_share = a->check.site_count ? 0 : 1; /* of objects: only --site needs the tree below the total */
    a->heaps.live_kind = true;
}

int run_check(const arguments *a) {
    int status;
    if (a->input.file_count != 2) return usage("check needs two files: BASELINE and FILE");
    status = check_both(a);
    for (int i = 0; i < a->check.site_count; i++)
        regfree(&a->check.sites[i].site.regex), free(a->check.sites[i].text);
    free(a->check.sites);
    return status;
}
