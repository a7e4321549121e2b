/* heapdump watch: sites from tick to tick. Rates, growth with its standard error, filter and order. */

#include "watch.h"

#include <math.h>
#include <search.h>

const char *const watch_order_names[WATCH_ORDERS] = { "live", "blocks", "growth", "rate", "temporary", "name" };

/* Rows. ----------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b) {
    return strcmp(((const watch_row *)a)->name, ((const watch_row *)b)->name);
}

static bool is_hidden(const watch_table *t, const char *name) {
    return *t->filter && regexec(&t->regex, name, 0, NULL, 0);
}

/* A new site had no blocks before, so its row begins with zeros. */
watch_row *watch_row_of(watch_table *t, hd_str name) {
    char text[WATCH_NAME + 1];
    watch_row key = { .name = text }, **found, *row;
    size_t n = name.len < WATCH_NAME ? name.len : WATCH_NAME;
    if (n) memcpy(text, name.data, n);
    text[n] = 0;
    found = tfind(&key, &t->by_name, compare_names);
    if (found) return *found;
    if (t->count >= WATCH_ROWS - 1 && strcmp(text, "<other>")) return watch_row_of(t, hd_cstr("<other>"));
    ONE_MORE(t->rows, t->count);
    ONE_MORE(t->shown, t->count);
    row = needed(calloc(1, sizeof *row));
    row->name = needed(strdup(text));
    row->hidden = is_hidden(t, text);
    needed(tsearch(row, &t->by_name, compare_names));
    return t->rows[t->count++] = row;
}

static void keep_row(void *row) { (void)row; }

void watch_clear(watch_table *t) {
    watch_table kept = *t;
    tdestroy(t->by_name, keep_row);
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->rows[i]->name);
        free(t->rows[i]);
    }
    free(t->rows);
    free(t->shown);
    *t = (watch_table){ .order = kept.order, .regex = kept.regex };
    memcpy(t->filter, kept.filter, sizeof t->filter);
}

void watch_free(watch_table *t) {
    watch_clear(t);
    if (*t->filter) regfree(&t->regex);
    *t->filter = 0;
}

/* Ticks. ---------------------------------------------------------------------------------------- */

static void add(watch_amount *to, const watch_amount *a) {
    to->live += a->live, to->blocks += a->blocks;
    to->total += a->total, to->total_blocks += a->total_blocks;
    to->temporary += a->temporary, to->temporary_blocks += a->temporary_blocks;
    to->live_variance += a->live_variance, to->total_variance += a->total_variance;
}

void watch_begin(watch_table *t) {
    for (uint32_t i = 0; i < t->count; i++) t->rows[i]->next = (watch_amount){ 0 };
}

static void row_end(watch_table *t, watch_row *row, bool first, bool marks) {
    row->before = first ? row->next : row->now;
    row->now = row->next;
    if (marks)
        row->mark[t->marks % WATCH_MARKS] =
            (watch_mark){ row->now.live, row->now.live_variance, row->now.total_variance };
}

void watch_end(watch_table *t, uint64_t now_us) {
    bool first = !t->ticks++, marks = first || now_us - t->mark_us[(t->marks - 1) % WATCH_MARKS] >= WATCH_MARK_US;
    t->before_us = first ? now_us : t->now_us;
    t->now_us = now_us;
    t->all.next = (watch_amount){ 0 };
    for (uint32_t i = 0; i < t->count; i++) {
        add(&t->all.next, &t->rows[i]->next);
        row_end(t, t->rows[i], first, marks);
    }
    row_end(t, &t->all, first, marks);
    if (!marks) return;
    t->mark_us[t->marks % WATCH_MARKS] = now_us;
    t->mark_rss[t->marks++ % WATCH_MARKS] = t->rss;
}

/* Figures. -------------------------------------------------------------------------------------- */

static double no_less(double x) { return x > 0 ? x : 0; }

/* The variance of the change. Blocks that were live at both times do not count. New blocks were allocated in between
   and are live; gone blocks were live before and freed in between. Only upper bounds are known for both. */
static double change_variance(const watch_mark *then, const watch_amount *now) {
    double came = no_less(now->total_variance - then->total_variance);
    double went = no_less(came - (now->live_variance - then->live_variance));
    return fmin(now->live_variance, came) + fmin(then->live_variance, went);
}

static uint64_t oldest_mark(const watch_table *t) { return t->marks > WATCH_MARKS ? t->marks % WATCH_MARKS : 0; }

double watch_window(const watch_table *t) {
    if (t->frozen) return t->held_window;
    return t->marks ? (double)(t->now_us - t->mark_us[oldest_mark(t)]) / 1e6 : 0;
}

static double change(uint64_t now, uint64_t then) { return (double)now - (double)then; }

uint64_t watch_rss(const watch_table *t) { return t->frozen ? t->held_rss : t->ticks ? t->rss : HD_UNKNOWN; }

double watch_rss_growth(const watch_table *t) {
    double minutes = watch_window(t) / 60;
    uint64_t then = t->mark_rss[oldest_mark(t)];
    if (t->frozen) return t->held_rss_growth;
    return minutes > 0 && t->rss != HD_UNKNOWN && then != HD_UNKNOWN ? change(t->rss, then) / minutes : 0;
}

const uint64_t *watch_resident(const watch_table *t, uint64_t *age_us) {
    uint64_t at = t->frozen ? t->held_part_us : t->part_us, now = t->frozen ? t->frozen_us : t->now_us;
    if (!at) return NULL;
    *age_us = now > at ? now - at : 0;
    return t->frozen ? t->held_part : t->part;
}

static watch_figures figures_now(const watch_table *t, const watch_row *row) {
    const watch_mark *then = &row->mark[oldest_mark(t)], frozen = { row->frozen.live, row->frozen.live_variance,
                                                                   row->frozen.total_variance };
    const watch_amount *now = &row->now, *before = &row->before;
    double minutes = watch_window(t) / 60, seconds = (double)(t->now_us - t->before_us) / 1e6;
    double allocated = no_less(change(now->total, before->total));
    double temporary = no_less(change(now->temporary, before->temporary));
    watch_figures f = { .live = (double)now->live, .blocks = (double)now->blocks, .error = sqrt(now->live_variance),
                        .temporary = -1 };
    if (minutes > 0) {
        f.growth = change(now->live, then->live) / minutes;
        f.growth_error = sqrt(change_variance(then, now)) / minutes;
    }
    if (seconds > 0) f.rate = allocated / seconds;
    if (allocated > 0) f.temporary = fmin(temporary / allocated, 1);
    if (t->changes) {
        f.live = change(now->live, row->frozen.live);
        f.blocks = change(now->blocks, row->frozen.blocks);
        f.error = sqrt(change_variance(&frozen, now));
    }
    return f;
}

watch_figures watch_figures_of(const watch_table *t, const watch_row *row) {
    return t->frozen ? row->held : figures_now(t, row);
}

static void row_hold(const watch_table *t, watch_row *row) {
    row->held = figures_now(t, row);
    row->frozen = row->now;
}

/* A table that is frozen already stays as it is. */
void watch_freeze(watch_table *t, bool frozen) {
    if (frozen && !t->frozen) {
        for (uint32_t i = 0; i < t->count; i++) row_hold(t, t->rows[i]);
        row_hold(t, &t->all);
        t->held_rss = watch_rss(t), t->held_rss_growth = watch_rss_growth(t), t->held_window = watch_window(t);
        memcpy(t->held_part, t->part, sizeof t->part), t->held_part_us = t->part_us;
        t->frozen_us = t->now_us;
    }
    t->frozen = frozen;
}

void watch_changes(watch_table *t, bool changes) {
    bool had = t->frozen_us != 0;
    if (changes && !had) watch_freeze(t, true);
    t->frozen = false;
    t->changes = changes;
}

/* Shown rows. ----------------------------------------------------------------------------------- */

/* A row with its sort key. */
typedef struct ranked { watch_row *row; double by; } ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->by != y->by ? (x->by < y->by ? 1 : -1) : strcmp(x->row->name, y->row->name);
}

static double rank_of(const watch_table *t, const watch_figures *f) {
    switch (t->order) {
    case BY_LIVE: return t->changes ? fabs(f->live) : f->live;
    case BY_BLOCKS: return t->changes ? fabs(f->blocks) : f->blocks;
    case BY_GROWTH: return f->growth;
    case BY_RATE: return f->rate;
    case BY_TEMPORARY: return f->temporary * f->rate;
    default: return 0;
    }
}

void watch_sort(watch_table *t) {
    FREED ranked *all = needed(malloc((t->count + 1) * sizeof *all));
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        watch_row *row = t->rows[i];
        watch_figures f = watch_figures_of(t, row);
        if (row->hidden || (f.live == 0 && f.blocks == 0 && f.growth == 0 && f.rate == 0)) continue;
        all[n++] = (ranked){ row, rank_of(t, &f) };
    }
    qsort(all, n, sizeof *all, compare_ranked);
    for (uint32_t i = 0; i < n; i++) t->shown[i] = all[i].row;
    t->shown_count = n;
}

bool watch_filter(watch_table *t, const char *text) {
    regex_t regex;
    int error = strlen(text) < sizeof t->filter ? 0 : REG_ESPACE;
    if (!error && *text) error = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, NULL, pattern_error, sizeof pattern_error);
        return false;
    }
    if (*t->filter) regfree(&t->regex);
    snprintf(t->filter, sizeof t->filter, "%s", text);
    if (*text) t->regex = regex;
    for (uint32_t i = 0; i < t->count; i++) t->rows[i]->hidden = is_hidden(t, t->rows[i]->name);
    return true;
}
