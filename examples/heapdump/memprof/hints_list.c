/* heapdump memprof --hints: the hints of each allocation, as text and JSON. */

#include "hints.h"

/* A row of the list: contexts of an allocation with equal heat, hint and shown callers. */
typedef struct hints_row {
    const index_context *first;
    uint64_t value[HD_MEMPROF_FIELDS]; /* sums of the shown fields */
    const index_context *last;   /* the last of these contexts, in their order */
    uint64_t bytes;
    uint32_t contexts;
} hints_row;

/* How the rows of an allocation are made. */
typedef struct hints_rows {
    const index_hints *h;
    bool all;                    /* with all callers, not only callers that distinguish contexts */
} hints_rows;

static uint32_t hints_shown(const hints_rows *x, const index_context *c) {
    uint32_t n = index_length(x->h, c->block);
    return x->all || c->depth > n ? n : c->depth ? c->depth : 1;
}

/* Returns 0 if two contexts belong in one row. */
static int hints_shown_order(const hints_rows *x, const index_context *a, const index_context *b) {
    uint32_t n = hints_shown(x, a), m = hints_shown(x, b);
    int order = a->hint != b->hint ? (a->hint < b->hint ? -1 : 1) : a->heat < b->heat ? -1 : a->heat > b->heat;
    for (uint32_t i = 1; i < n && i < m && !order; i++)
        order = index_place_order(index_location(x->h, a->block, i), index_location(x->h, b->block, i));
    return order ? order : n < m ? -1 : n > m;
}

static int hints_alike_order(const void *a, const void *b, void *rows) {
    const hints_row *x = a, *y = b;
    int order = hints_shown_order(rows, x->first, y->first);
    return order ? order : index_stack_order(x->first, y->first, (void *)(uintptr_t)((const hints_rows *)rows)->h);
}

static int hints_row_order(const void *a, const void *b) {
    const hints_row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_size_order(x->first, y->first);
}

/* Makes the rows of an allocation, the largest first. Returns their number. */
static size_t hints_rows_make(const hints_rows *x, const index_site *site, hints_row *rows) {
    static const uint8_t shown[] = { HD_MEMPROF_ALLOC_COUNT, HD_MEMPROF_TOTAL_LIFETIME,
                                     HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY };
    size_t n = 0;
    for (size_t i = 0; i < site->count; i++) {
        const index_context *c = &x->h->contexts[site->first + i];
        rows[i] = (hints_row){ .first = c, .last = c, .bytes = c->bytes, .contexts = 1 };
        for (size_t k = 0; k < sizeof shown; k++)
            rows[i].value[shown[k]] = x->h->raw->blocks[c->block].value[shown[k]];
    }
    qsort_r(rows, site->count, sizeof *rows, hints_alike_order, (void *)(uintptr_t)x);
    for (size_t i = 0; i < site->count; i++) {
        hints_row *to = n ? &rows[n - 1] : NULL;
        if (!to || hints_shown_order(x, to->first, rows[i].first)) {
            rows[n++] = rows[i];
            continue;
        }
        to->bytes = index_sum(to->bytes, rows[i].bytes);
        to->contexts += index_callers_order(x->h, to->last, rows[i].first) != 0;
        to->last = rows[i].first;
        for (size_t k = 0; k < sizeof shown; k++)
            to->value[shown[k]] = index_sum(to->value[shown[k]], rows[i].value[shown[k]]);
    }
    qsort(rows, n, sizeof *rows, hints_row_order);
    return n;
}

static void hints_put_row(FILE *out, index_hints *h, const hints_rows *x, const hints_row *row) {
    const index_context *c = row->first;
    uint32_t shown = hints_shown(x, c);
    display(out, "%14llu %10llu %8u %14.3f %12.3f  %s", (unsigned long long)row->bytes,
            (unsigned long long)row->value[HD_MEMPROF_ALLOC_COUNT], row->contexts, index_density(row->value),
            index_lifetime(row->value), hd_memprof_heat_name(c->hint));
    if (c->hint != c->heat) display(out, " (%s, but callers do not distinguish it)", hd_memprof_heat_name(c->heat));
    for (uint32_t i = 1, times; i < shown; i += times) {
        const hd_memprof_location *l = index_location(h, c->block, i);
        for (times = 1; i + times < shown && !index_place_order(l, index_location(h, c->block, i + times));) times++;
        display(out, i == 1 ? ", from " : " < ");
        index_put_shown(out, h, l->function);
        display(out, " +%u:%u", l->line_offset, l->column);
        if (times > 1) display(out, " (%u times)", times);
    }
    fputc('\n', out);
}

static void hints_put_site(FILE *out, const arguments *a, index_hints *h, const index_site *site) {
    hints_rows of = { h, a->cut.all };
    FREED hints_row *rows = needed(calloc(site->count + 1, sizeof *rows));
    size_t n = hints_rows_make(&of, site, rows);
    display(out, "  line +%u, column %u: %s\n%14s %10s %8s %14s %12s\n", site->at.line_offset, site->at.column,
            index_verdict(h, site), "bytes", "blocks", "contexts", "accesses/(B s)", "lifetime (s)");
    for (size_t k = 0; k < n; k++) hints_put_row(out, h, &of, &rows[k]);
}

static void index_hints_text(FILE *out, const arguments *a, index_hints *h) {
    double limits[3];
    index_limits(a, limits);
    display(out, "hints of clang %u, by %s\n", h->clang,
            index_is_usual(a) ? "its own thresholds" : "the given thresholds");
    display(out, "cold: fewer than %g accesses per byte and second, and a lifetime of %g s or more\n", limits[0],
            limits[1]);
    if (h->uses_hot) display(out, "hot: more than %g accesses per byte and second\n", limits[2]);
    for (int heat = 0; heat <= HD_MEMPROF_HEAT_UNKNOWN; heat++)
        if (h->each[heat])
            display(out, "%14llu bytes in %u context%s: %s\n", (unsigned long long)h->bytes[heat], h->each[heat],
                    h->each[heat] == 1 ? "" : "s", hd_memprof_heat_name((hd_memprof_heat)heat));
    for (size_t i = 0; i < h->site_count; i++) {
        const index_site *site = &h->sites[i];
        if (!i || index_function_order(site - 1, site)) {
            fputc('\n', out);
            index_put_shown(out, h, site->at.function);
            display(out, ": %llu bytes\n", (unsigned long long)site->function_bytes);
        }
        hints_put_site(out, a, h, site);
    }
}

void index_place_json(hd_json *j, index_hints *h, const hd_memprof_location *l) {
    json_str(j, "function", index_name_of(&h->names, l->function));
    index_guid_json(j, l->function);
    json_u64(j, "line_offset", l->line_offset);
    json_u64(j, "column", l->column);
}

static void index_context_json(hd_json *j, index_hints *h, const index_context *c) {
    const uint64_t *value = h->raw->blocks[c->block].value;
    uint32_t n = index_length(h, c->block), depth = c->depth ? c->depth : 1;
    json_line(j);
    json_u64(j, "bytes", c->bytes);
    json_u64(j, "blocks", value[HD_MEMPROF_ALLOC_COUNT]);
    json_u64(j, "total_lifetime_ms", value[HD_MEMPROF_TOTAL_LIFETIME]);
    json_u64(j, "total_lifetime_access_density", value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY]);
    json_text(j, "heat", hd_memprof_heat_name(c->heat));
    json_text(j, "hint", hd_memprof_heat_name(c->hint));
    json_bool(j, "told_apart", depth <= n);
    json_bool(j, "marked", c->is_kept);
    json_u64(j, "frames", depth < n ? depth : n);
    json_array(j, "stack");
    for (uint32_t i = 0; i < n; i++) {
        const hd_memprof_location *l = index_location(h, c->block, i);
        hd_json_object(j);
        index_place_json(j, h, l);
        json_bool(j, "inlined", l->inlined);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j);
}

static void index_limit_json(hd_json *j, const char *key, double limit) {
    char text[32];
    snprintf(text, sizeof text, "%g", limit);
    json_text(j, key, text);
}

void index_limits_json(hd_json *j, const arguments *a, const index_hints *h) {
    double limits[3];
    index_limits(a, limits);
    json_bool(j, "own_thresholds", index_is_usual(a));
    hd_json_key(j, "thresholds"), hd_json_object(j);
    index_limit_json(j, "cold_accesses_per_byte_and_second", limits[0]);
    index_limit_json(j, "cold_lifetime_seconds", limits[1]);
    index_limit_json(j, "hot_accesses_per_byte_and_second", limits[2]);
    json_bool(j, "uses_hot", h->uses_hot);
    hd_json_end(j);
}

static void index_hints_json(hd_json *j, const arguments *a, index_hints *h) {
    json_text(j, "compiler", h->clang < 22 ? "clang 19" : "clang 22");
    json_u64(j, "release", h->clang);
    index_limits_json(j, a, h);
    json_array(j, "allocations");
    for (size_t i = 0; i < h->site_count; i++) {
        const index_site *site = &h->sites[i];
        json_line(j);
        index_place_json(j, h, &site->at);
        json_u64(j, "bytes", site->bytes);
        json_text(j, "hint", index_verdict(h, site));
        json_array(j, "contexts");
        for (size_t k = 0; k < site->count; k++) index_context_json(j, h, &h->contexts[site->first + k]);
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j);
}

int index_hints_of(const arguments *a) {
    answer r;
    hints x;
    int status;
    if (a->memprof.effect) return hints_effect(a);
    if (a->memprof.hints_diff) return hints_diff(a);
    status = hints_open(a, index_source_of(a, a->input.files, a->input.file_count), false, &x);
    if (status) return status;
    status = answer_open(&r, a, NULL);
    if (!status) {
        if (a->view.json) index_hints_json(&r.json, a, &x.made);
        else index_hints_text(r.text, a, &x.made);
        status = answer_close(&r, DONE);
    }
    hints_close(&x);
    return status;
}
