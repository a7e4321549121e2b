/* suspects for profiles of heaps: the output as text and as JSON. */

#include "series.h"

#include <math.h>

static hd_str site_text(const series *s, uint32_t site) { return hd_profile_axis(s->names, 1).node_name[site]; }

/* The parts of a site's name. The place has its file and line. */
static hd_frame_parts site_parts(const suspect *p) {
    hd_str name = site_text(p->s, p->site);
    hd_frame_parts parts = hd_frame_parse(name);
    size_t n = name.len - (parts.object.len ? parts.object.len + 3 : 0), open = n;
    if (parts.file.len || p->helper || !n || name.data[n - 1] != ')' || !p->place) return parts;
    while (open && name.data[open - 1] != '(') open--; /* "function (file)" */
    if (open < 2 || name.data[open - 2] != ' ') return parts;
    parts.file = (hd_str){ name.data + open, n - 1 - open };
    parts.function.len = open - 2;
    return parts;
}

/* The position after which a path has `slashes` separators. */
static size_t path_end(hd_str path, uint32_t slashes) {
    size_t end = path.len;
    while (end && (!is_separator(path.data[end - 1]) || slashes--)) end--;
    return end;
}

static bool same_end(hd_str x, hd_str y, uint32_t slashes) {
    size_t i = path_end(x, slashes), k = path_end(y, slashes);
    return hd_str_equal((hd_str){ x.data + i, x.len - i }, (hd_str){ y.data + k, y.len - k });
}

/* The number of directories that distinguish a site's place from places of other shown sites. *object: the object is
   needed, too. */
static uint32_t directories_of(const suspects *found, const suspect *p, bool *object) {
    hd_frame_parts own = site_parts(p);
    uint32_t most = 0;
    *object = false;
    for (uint32_t i = 0; i < found->shown; i++) {
        const suspect *q = &found->list[i];
        hd_frame_parts other = site_parts(q);
        uint32_t n = 0;
        if (q->site == p->site || !hd_str_equal(own.function, other.function)) continue;
        *object |= hd_str_equal(own.file, other.file) && !hd_str_equal(own.object, other.object);
        if (!p->place || !q->place || hd_str_equal(own.file, other.file)) continue;
        while (same_end(own.file, other.file, n) && path_end(own.file, n)) n++;
        if (n > most) most = n;
    }
    return most;
}

static void put_site(FILE *out, const arguments *a, const suspects *found, const suspect *p) {
    screen s = screen_of(a);
    hd_frame_parts parts = site_parts(p);
    bool with_object;
    uint32_t directories = directories_of(found, p, &with_object);
    const char *place = p->helper  ? "library code only"
                        : p->place ? p->place + path_end(parts.file, directories) : NULL;
    int columns = name_columns(a), taken = place ? columns_of(hd_cstr(place)) + 8 : 0;
    FREED char *name = NULL;
    if (s.columns && columns > s.columns - taken) columns = s.columns - taken; /* the line number is seen */
    name = short_name(parts.function, columns < 12 ? 12 : columns);
    display(out, "%s", name);
    if (place) display(out, " (%s)", place);
    if (with_object && parts.object.len) display(out, " [%.*s]", (int)parts.object.len, parts.object.data);
}

static hd_str function_of(hd_str name) {
    hd_frame_parts parts = hd_frame_parse(name);
    size_t open = name.len - (parts.object.len ? parts.object.len + 3 : 0);
    if (parts.file.len) return parts.function;
    if (open < 4 || name.data[open - 1] != ')') return parts.function;
    while (open && name.data[open - 1] != '(') open--;
    return open > 1 && name.data[open - 2] == ' ' ? (hd_str){ name.data, open - 2 } : parts.function;
}

/* The direct callers, if none of them has half of the bytes: up to three, as fit on the line. */
static void put_several_callers(FILE *out, const arguments *a, const suspect *p) {
    enum { MOST = 3, BEFORE = 30, BYTES = 12, AFTER = 14 };
    int columns = a->view.wide ? 0 : screen_of(a).columns, used = BEFORE + AFTER;
    site_caller list[MOST];
    uint32_t n = direct_callers(p, list, MOST), i = 0;
    if (!n) return;
    display(out, "      called by %u function%s:", n, n == 1 ? "" : "s");
    for (; i < n && i < MOST; i++) {
        FREED char *name = short_name(function_of(list[i].name), a->view.wide ? 0 : NAME_COLUMNS / 4);
        used += columns_of(hd_cstr(name)) + BYTES;
        if (!i || !columns || used < columns)
            display(out, "%s %s ", i ? "," : "", name), put_bytes(out, a, (uint64_t)list[i].bytes, 0);
        if (i && columns && used >= columns) break;
    }
    display(out, i < n ? ", and %u more\n" : "\n", n - i);
}

static void put_callers(FILE *out, const arguments *a, const suspect *p) {
    hd_str callers[MOST_CALLERS], outer[MOST_CALLERS];
    double share;
    uint32_t n = callers_of(p, callers, &share);
    int columns = name_columns(a);
    FREED char *chain = NULL;
    if (!n) {
        put_several_callers(out, a, p);
        return;
    }
    for (uint32_t i = 0; i < n; i++) outer[i] = function_of(callers[n - 1 - i]);
    if (columns < NAME_COLUMNS && share < 0.99) columns -= 3; /* so that the share fits the line */
    chain = short_chain(outer, n, columns, false);
    display(out, "      called by %s", chain);
    if (share < 0.99) display(out, "  (%.0f%% of it)", 100 * share);
    fputc('\n', out);
}

/* The standard error of a suspect's bytes, or of its growth. */
static void put_suspect_error(FILE *out, const arguments *a, const suspect *p) {
    bool grew = p->s->counted > 1;
    double error = sqrt(p->last.variance + (grew ? p->first.variance : 0));
    if (grew ? error < 1 : error < 0.0005 * p->last.bytes) return; /* it would be printed as 0 */
    if (grew) display(out, " \xc2\xb1"), put_bytes(out, a, (uint64_t)error, 0);
    else display(out, " \xc2\xb1%5.1f%%", 100 * error / fmax(p->last.bytes, 1));
}

/* Blocks, unless the dumps do not count them. */
static void put_blocks(FILE *out, double blocks, bool with_sign) {
    const char *plural = fabs(blocks) == 1 ? "" : "s";
    if (isnan(blocks)) return;
    if (with_sign) display(out, ", %+.0f block%s", blocks, plural);
    else display(out, ", %.0f block%s", blocks, plural);
}

/* A suspect's bytes that are older than a minute. */
static void put_old(FILE *out, const arguments *a, const suspect *p) {
    if (!p->s->aged) return;
    display(out, ", "), put_bytes(out, a, (uint64_t)p->last.old, 0);
    display(out, " of it older than 1 min");
}

/* A rate, unless it is less than a byte. */
static bool put_rate(FILE *out, const arguments *a, double bytes, const char *before, const char *unit) {
    if (fabs(bytes) < 1) return false;
    display(out, "%s", before), put_signed(out, a, bytes), display(out, "%s", unit);
    return true;
}

static void put_growth(FILE *out, const arguments *a, const suspect *p, double all_growth) {
    const series *s = p->s;
    uint32_t steps = s->counted - 1;
    const char *words = trend_words(&p->trend, steps);
    bool rates = false;
    put_signed(out, a, p->trend.growth);
    put_suspect_error(out, a, p);
    if (all_growth > 0 && p->trend.growth >= 0) /* a decrease has no share */
        display(out, " (%.0f%% of all growth)", 100 * fmin(p->trend.growth / all_growth, 1));
    put_blocks(out, p->blocks_grown, true);
    if (steps > 1) rates = put_rate(out, a, p->trend.growth / steps, "; ", " a step");
    if (seconds_of(s) > 0) put_rate(out, a, p->trend.growth / seconds_of(s), rates ? ", " : "; ", "/s");
    display(out, "; now "), put_bytes(out, a, (uint64_t)p->last.bytes, 0);
    put_old(out, a, p);
    if (steps > 1) display(out, "; grew in %u of %u steps", p->trend.ups, steps);
    if (*words) display(out, "%s%s", steps > 1 ? ", " : "; ", words);
    if (p->survived) display(out, "; still there at the end");
    if (p->with) {
        display(out, "; same growth in blocks as ");
        put_short(out, a, function_of(site_text(s, p->with)));
    }
}

static void put_suspect(FILE *out, const arguments *a, const suspects *found, uint32_t number, double all_growth) {
    const suspect *p = &found->list[number];
    double total = found->s->total[0].bytes;
    display(out, "%3u  ", number + 1);
    put_site(out, a, found, p);
    display(out, "\n      ");
    if (found->s->counted > 1) {
        put_growth(out, a, p, all_growth);
    } else {
        put_bytes(out, a, (uint64_t)p->last.bytes, 0);
        put_suspect_error(out, a, p);
        display(out, ", %.1f%% of all", 100 * fmin(p->last.bytes / fmax(total, 1), 1));
        put_blocks(out, p->last.blocks, false);
        put_old(out, a, p);
    }
    fputc('\n', out);
    put_callers(out, a, p);
}

/* The part that is not shown: functions with growth and with decrease, and bytes without a known
   function. */
typedef struct rest {
    double up, down, no_stack, bytes;
    uint32_t ups, downs;
    double all_growth;           /* of every function that grew */
} rest;

static rest rest_of(const suspects *found) {
    const series *s = found->s;
    suspect none = { .s = s, .first = point_at(&s->at[0], 0), .last = point_at(&s->at[0], s->counted - 1) };
    rest r = { .no_stack = weight_of(s, &none), .bytes = none.last.bytes };
    r.all_growth = fmax(r.no_stack, 0);
    for (uint32_t i = 0; i < found->count; i++) {
        double weight = weight_of(s, &found->list[i]);
        if (weight > 0) r.all_growth += weight;
        if (i < found->shown || !found->list[i].site) continue;
        r.bytes += found->list[i].last.bytes;
        if (weight > 0) r.up += weight, r.ups++;
        if (weight < 0) r.down -= weight, r.downs++;
    }
    return r;
}

/* A part of the rest, with a comma before all but the first. */
static void put_part(FILE *out, const arguments *a, bool *first, double bytes, bool with_sign) {
    display(out, *first ? " " : ", ");
    *first = false;
    if (with_sign) put_signed(out, a, bytes);
    else put_bytes(out, a, (uint64_t)bytes, 0);
}

static void put_rest(FILE *out, const arguments *a, const suspects *found, const rest *r) {
    bool grow = found->s->counted > 1, first = true;
    double most = r->up + fmax(r->no_stack, 0);
    if (!r->ups && !r->downs && r->no_stack == 0) return;
    if (most <= r->all_growth / 2) display(out, "     not listed:");
    else display(out, grow ? "     most of the growth is not listed:" : "     most is not listed:");
    if (r->ups) {
        put_part(out, a, &first, r->up, grow);
        display(out, " in %u function%s%s", r->ups, r->ups == 1 ? "" : "s", grow ? " that grew" : "");
        if (!grow) display(out, " (%.1f%% of all)", 100 * fmin(r->up / fmax(found->s->total[0].bytes, 1), 1));
    }
    if (r->downs) {
        put_part(out, a, &first, -r->down, grow);
        display(out, " in %u function%s that shrank", r->downs, r->downs == 1 ? "" : "s");
    }
    if (r->no_stack != 0) {
        put_part(out, a, &first, r->no_stack, grow);
        display(out, " without a known function");
    }
    display(out, "\n");
}

static void put_seconds(FILE *out, double seconds) {
    if (seconds >= 1) display(out, " in %.1f s", seconds);
    else if (seconds > 0) display(out, " in %.0f ms", fmax(1000 * seconds, 1));
}

static void put_series_head(FILE *out, const arguments *a, const series *s) {
    const hd_heap *heap = s->heaps[0], *last = s->heaps[s->count - 1];
    bool renamed = heap->process && last->process && !same_text(heap->process, last->process);
    if (!heap->process && !same_text(s->from[0]->file, s->file)) display(out, "%.60s to ", s->from[0]->file);
    display(out, "%.60s", heap->process ? heap->process : s->file);
    if (renamed) display(out, " and %.60s", last->process);
    display(out, ", %.60s", heap->allocator ? heap->allocator : "-");
    if (heap->kind != HD_HEAP_LIVE) display(out, " (%s)", hd_heap_kind_name(heap->kind));
    if (s->counted < 2) {
        display(out, ": one dump, "), put_bytes(out, a, (uint64_t)s->total[0].bytes, 0);
        display(out, "\nlargest sites (two dumps of a process would show growth):\n");
        return;
    }
    display(out, ": %u dumps", s->counted);
    put_seconds(out, seconds_of(s));
    display(out, ", "), put_bytes(out, a, (uint64_t)s->total[0].bytes, 0);
    display(out, " to "), put_bytes(out, a, (uint64_t)s->total[s->counted - 1].bytes, 0);
    if (s->counted < s->count) {
        display(out, "; cleared up to "), put_bytes(out, a, (uint64_t)s->total[s->count - 1].bytes, 0);
        display(out, " at the end");
    }
    display(out, "\nwhat grew, the likeliest leak first:\n");
}

void put_freed(FILE *out, const arguments *a, double left, bool peak) {
    if (left > 0) {
        display(out, "the program freed all its memory: only "), put_bytes(out, a, (uint64_t)left, 0);
        display(out, " of libraries %s live", left == 1 ? "is" : "are");
    } else {
        display(out, "the program freed all its memory: no bytes are live");
    }
    if (peak) display(out, "; the heap at its peak:\n");
    else display(out, "\nthe file has no peak: heapdump record --at peak,exit keeps one\n");
}

void series_text(FILE *out, const arguments *a, const suspects *found) {
    rest r = rest_of(found);
    put_series_head(out, a, found->s);
    for (uint32_t i = 0; i < found->shown; i++) put_suspect(out, a, found, i, r.all_growth);
    if (!found->shown)
        display(out, "  %s\n", found->s->counted < 2 ? "nothing" : r.ups && found->s->heaps[0]->sample_bytes
                ? "nothing grew by more than twice the error of sampling" : "nothing grew");
    put_rest(out, a, found, &r);
    if (found->s->levelled)
        display(out, "small functions are not in all dumps, so their callers have their bytes (heapdump record "
                "--min-share 0.0001 keeps them)\n");
}

void series_propose(const arguments *a, const suspects *found, proposal *next) {
    const hd_heap *heap = found->s->heaps[0];
    uint32_t i = 0;
    while (i < found->shown && found->list[i].helper) i++;
    if (i == found->shown || next->name) return;
    *next = (proposal){ .command = "tree", .option = "--keep", .purpose = "its call stacks", .file = found->s->file };
    next->name = function_pattern(function_of(site_text(found->s, found->list[i].site)));
    if (!a->heaps.kind && heap->kind != HD_HEAP_LIVE) next->kind = hd_heap_kind_name(heap->kind);
}

/* JSON. ---------------------------------------------------------------------------------------- */

/* A figure in each dump. */
static void json_points(hd_json *j, const char *key, const suspect *p, double (*figure)(const point *)) {
    json_array(j, key);
    for (uint32_t t = 0, i = 0; t < p->s->counted; t++) {
        point none = { .dump = t };
        bool there = i < p->at.count && p->at.at[i].dump == t;
        double v = figure(there ? &p->at.at[i] : &none);
        if (isnan(v)) hd_json_null(j);
        else hd_json_u64(j, (uint64_t)v);
        i += there;
    }
    hd_json_end(j);
}

static double bytes_of(const point *p) { return p->bytes; }
static double blocks_of(const point *p) { return p->blocks; }
static double error_of(const point *p) { return round(sqrt(p->variance)); }

static void json_growth(hd_json *j, const suspect *p) {
    const series *s = p->s;
    hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)p->trend.growth);
    hd_json_key(j, "per_step"), hd_json_i64(j, (int64_t)(p->trend.growth / (s->counted - 1)));
    hd_json_key(j, "per_second");
    if (seconds_of(s) > 0) hd_json_i64(j, (int64_t)(p->trend.growth / seconds_of(s)));
    else hd_json_null(j);
    json_u64(j, "steps_grown", p->trend.ups);
    json_u64(j, "steady_percent", (uint64_t)(100 * p->trend.steady));
    json_bool(j, "there_at_end", p->survived);
    hd_json_key(j, "as_often_as");
    if (p->with) hd_json_str(j, function_of(site_text(s, p->with)));
    else hd_json_null(j);
}

static void suspect_json(hd_json *j, const suspect *p) {
    hd_frame_parts parts = site_parts(p);
    hd_str callers[MOST_CALLERS];
    double share;
    uint32_t n = callers_of(p, callers, &share);
    json_line(j);
    json_str(j, "site", parts.function);
    json_text(j, "place", p->place);
    hd_json_key(j, "object");
    if (parts.object.len) hd_json_str(j, parts.object);
    else hd_json_null(j);
    json_array(j, "callers");
    for (uint32_t i = 0; i < n; i++) hd_json_str(j, function_of(callers[i]));
    hd_json_end(j);
    json_points(j, "bytes", p, bytes_of);
    json_points(j, "blocks", p, blocks_of);
    if (p->s->aged) json_u64(j, "older_than_a_minute", (uint64_t)p->last.old);
    if (p->last.variance > 0 || p->first.variance > 0) json_points(j, "errors", p, error_of);
    if (p->s->counted > 1) json_growth(j, p);
    hd_json_end(j);
}

void series_json(hd_json *j, const suspects *found) {
    const series *s = found->s;
    rest r = rest_of(found);
    json_line(j);
    json_object(j, "heap"), json_label(j, s->heaps[s->counted - 1]), hd_json_end(j);
    json_u64(j, "dumps", s->counted);
    json_u64(j, "cleared_up_dumps", s->count - s->counted);
    json_u64(j, "left_out_functions", s->levelled);
    json_array(j, "total");
    for (uint32_t t = 0; t < s->counted; t++) hd_json_u64(j, (uint64_t)s->total[t].bytes);
    hd_json_end(j);
    json_array(j, "suspects");
    for (uint32_t i = 0; i < found->shown; i++) suspect_json(j, &found->list[i]);
    hd_json_end(j);
    json_object(j, "not_listed");
    json_u64(j, "bytes", (uint64_t)r.bytes);
    if (s->counted > 1) hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)(r.up - r.down + r.no_stack));
    hd_json_end(j), hd_json_end(j);
}
