/* memprof --hints --diff: changes of the hints from one profile to another. */

#include "hints.h"

/* An allocation in one of the profiles, or in both. */
typedef struct diff_site {
    const index_site *before, *after; /* NULL: absent */
    uint64_t bytes;              /* the larger of both */
    uint32_t warmer, colder;     /* contexts with a changed hint */
} diff_site;

typedef struct hint_diff {
    hints side[2];
    hints_keys before;
    diff_site *sites;
    size_t count, changed;
} hint_diff;

static int diff_place_order(const void *a, const void *b) {
    const index_site *const *x = a, *const *y = b;
    return index_place_order(&(*x)->at, &(*y)->at);
}

/* The allocations of a side by their place. */
static const index_site **diff_sorted(const index_hints *h) {
    const index_site **sorted = needed(calloc(h->site_count + 1, sizeof *sorted));
    for (size_t i = 0; i < h->site_count; i++) sorted[i] = &h->sites[i];
    qsort(sorted, h->site_count, sizeof *sorted, diff_place_order);
    return sorted;
}

/* Counts contexts with another hint than before. */
static void diff_contexts(const hint_diff *d, diff_site *s) {
    const index_hints *after = &d->side[1].made;
    for (size_t i = 0; i < s->after->count; i++) {
        const index_context *c = &after->contexts[s->after->first + i];
        const hints_key *key = hints_look_up(&d->before, after, c->block);
        bool was_cold = key && key->hint == HD_MEMPROF_COLD;
        if (c->is_more) continue;
        s->colder += c->hint == HD_MEMPROF_COLD && !was_cold;
        s->warmer += c->hint != HD_MEMPROF_COLD && was_cold;
    }
}

static const char *diff_verdict(const hint_diff *d, int side, const index_site *site) {
    return site ? index_verdict(&d->side[side].made, site) : "absent";
}

static bool diff_is_changed(const hint_diff *d, const diff_site *s) {
    return strcmp(diff_verdict(d, 0, s->before), diff_verdict(d, 1, s->after)) || s->colder || s->warmer;
}

/* The largest first; ties by place. */
static int diff_order(const void *a, const void *b) {
    const diff_site *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_place_order(x->after ? &x->after->at : &x->before->at, y->after ? &y->after->at : &y->before->at);
}

static void diff_make(hint_diff *d) {
    const index_hints *h[2] = { &d->side[0].made, &d->side[1].made };
    FREED const index_site **before = diff_sorted(h[0]), **after = diff_sorted(h[1]);
    size_t i = 0, k = 0;
    hints_keys_make(&d->before, h[0]);
    d->sites = needed(calloc(h[0]->site_count + h[1]->site_count + 1, sizeof *d->sites));
    while (i < h[0]->site_count || k < h[1]->site_count) {
        int order = i == h[0]->site_count   ? 1
                    : k == h[1]->site_count ? -1
                                            : index_place_order(&before[i]->at, &after[k]->at);
        diff_site s = { order <= 0 ? before[i] : NULL, order >= 0 ? after[k] : NULL, 0, 0, 0 };
        i += order <= 0;
        k += order >= 0;
        s.bytes = s.before && (!s.after || s.before->bytes > s.after->bytes) ? s.before->bytes : s.after->bytes;
        if (s.before && s.after) diff_contexts(d, &s);
        d->changed += diff_is_changed(d, &s);
        if (diff_is_changed(d, &s)) d->sites[d->count++] = s;
    }
    qsort(d->sites, d->count, sizeof *d->sites, diff_order);
}

static void diff_text(FILE *out, const arguments *a, hint_diff *d) {
    size_t most = a->cut.all ? d->count : 20, rest = d->count > most ? d->count - most : 0;
    const index_hints *h[2] = { &d->side[0].made, &d->side[1].made };
    display(out, "of %zu allocations before and %zu after, %zu change%s for clang %u\n", h[0]->site_count,
            h[1]->site_count, d->changed, d->changed == 1 ? "s" : "", h[0]->clang);
    display(out, "cold: %llu bytes in %u contexts before, %llu bytes in %u after\n",
            (unsigned long long)h[0]->bytes[HD_MEMPROF_COLD], h[0]->each[HD_MEMPROF_COLD],
            (unsigned long long)h[1]->bytes[HD_MEMPROF_COLD], h[1]->each[HD_MEMPROF_COLD]);
    if (d->count) display(out, "%-9s    %-9s %14s %14s  allocation\n", "before", "after", "bytes before", "after");
    for (size_t i = 0; i < d->count && i < most; i++) {
        const diff_site *s = &d->sites[i];
        const index_site *at = s->after ? s->after : s->before;
        display(out, "%-9s -> %-9s %14llu %14llu  ", diff_verdict(d, 0, s->before), diff_verdict(d, 1, s->after),
                (unsigned long long)(s->before ? s->before->bytes : 0),
                (unsigned long long)(s->after ? s->after->bytes : 0));
        index_put_shown(out, &d->side[s->after != NULL].made, at->at.function);
        display(out, " +%u:%u", at->at.line_offset, at->at.column);
        if (s->colder)
            display(out, ", %u context%s become%s cold", s->colder, s->colder == 1 ? "" : "s",
                    s->colder == 1 ? "s" : "");
        if (s->warmer) display(out, ", %u %s no longer", s->warmer, s->warmer == 1 ? "is" : "are");
        fputc('\n', out);
    }
    if (rest) display(out, "... and %zu more (--all)\n", rest);
}

static void diff_side_json(hd_json *j, const char *key, const hint_diff *d, int side, const index_site *site) {
    hd_json_key(j, key);
    if (!site) {
        hd_json_null(j);
        return;
    }
    hd_json_object(j);
    json_text(j, "hint", diff_verdict(d, side, site));
    json_u64(j, "bytes", site->bytes);
    json_u64(j, "contexts", site->contexts);
    hd_json_end(j);
}

static void diff_json(hd_json *j, const arguments *a, hint_diff *d) {
    static const char *const sides[] = { "before", "after" };
    json_u64(j, "release", d->side[0].made.clang);
    for (int i = 0; i < 2; i++) {
        const index_hints *h = &d->side[i].made;
        json_object(j, sides[i]);
        json_u64(j, "allocations", h->site_count);
        json_u64(j, "cold_contexts", h->each[HD_MEMPROF_COLD]);
        json_u64(j, "cold_bytes", h->bytes[HD_MEMPROF_COLD]);
        hd_json_end(j);
    }
    json_array(j, "changes");
    for (size_t i = 0; i < d->count; i++) {
        const diff_site *s = &d->sites[i];
        const index_site *at = s->after ? s->after : s->before;
        json_line(j);
        index_place_json(j, &d->side[s->after != NULL].made, &at->at);
        diff_side_json(j, "before", d, 0, s->before);
        diff_side_json(j, "after", d, 1, s->after);
        json_u64(j, "contexts_become_cold", s->colder);
        json_u64(j, "contexts_no_longer_cold", s->warmer);
        hd_json_end(j);
    }
    hd_json_end(j);
    index_limits_json(j, a, &d->side[0].made);
}

/* Compares the first and the second file of the command line. */
int hints_diff(const arguments *a) {
    hint_diff d = { .sites = NULL };
    answer r;
    int status;
    if (a->input.file_count != 2) return usage("--diff compares two profiles: --hints --diff OLD NEW");
    status = hints_open(a, index_source_of(a, a->input.files, 1), false, &d.side[0]);
    if (status) return status;
    status = hints_open(a, index_source_of(a, a->input.files + 1, 1), false, &d.side[1]);
    if (!status) {
        diff_make(&d);
        status = answer_open(&r, a, NULL);
        if (!status) {
            if (a->view.json) diff_json(&r.json, a, &d);
            else diff_text(r.text, a, &d);
            status = answer_close(&r, DONE);
        }
        free(d.sites);
        hints_keys_free(&d.before);
        hints_close(&d.side[1]);
    }
    hints_close(&d.side[0]);
    return status;
}
