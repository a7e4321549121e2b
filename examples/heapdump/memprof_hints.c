/* memprof --hints: what the compiler calls each context. */

#include "memprof_hints.h"

#include <float.h>

/* Whether all thresholds are the compiler's own. */
bool index_is_usual(const arguments *a) {
    return a->limit[0] < 0 && a->limit[1] < 0 && a->limit[2] < 0;
}

const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth) {
    return &h->index->locations[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

uint32_t index_length(const index_hints *h, uint32_t block) {
    uint32_t stack = h->raw->blocks[block].stack;
    return h->raw->first[stack + 1] - h->raw->first[stack];
}

/* Places as the compiler tells them apart, which hashes all of a profile's line offset: calls beyond line 65535 of a
   function are not those of which they have the low bits. Whether something was inlined does not count. */
int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y) {
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->line_offset != y->line_offset) return x->line_offset < y->line_offset ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

uint64_t index_id(const index_hints *h, uint32_t block, uint32_t depth) {
    return h->ids[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

/* By place, then by callers as the compiler goes through them; 0: one context. */
static int index_callers_order(const index_hints *h, const index_context *x, const index_context *y) {
    uint32_t n = index_length(h, x->block), m = index_length(h, y->block), i = 1;
    int order = index_place_order(index_location(h, x->block, 0), index_location(h, y->block, 0));
    if (order) return order;
    while (i < n && i < m && index_id(h, x->block, i) == index_id(h, y->block, i)) i++;
    if (i < n && i < m) return index_id(h, x->block, i) < index_id(h, y->block, i) ? -1 : 1;
    return n < m ? -1 : n > m;
}

static int index_stack_order(const void *a, const void *b, void *user) {
    const index_context *x = a, *y = b;
    int order = index_callers_order(user, x, y);
    return order ? order : x->block < y->block ? -1 : x->block > y->block;
}

static int index_size_order(const void *a, const void *b) {
    const index_context *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

int index_function_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    return 0;
}

/* The functions that allocate most first, and of each the places. */
static int index_site_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->function_bytes != y->function_bytes) return x->function_bytes > y->function_bytes ? -1 : 1;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_place_order(&x->at, &y->at);
}

/* Contexts are told apart by a mark's frames, whether or not the compiler keeps it. */
static void index_apply_mark(index_hints *h, const index_mark *m, bool is_kept) {
    for (size_t i = m->first; i < m->end; i++) {
        index_context *c = &h->contexts[i];
        c->depth = m->is_forced ? index_length(h, c->block) + 1 : m->depth;
        c->hint = m->hint;
        c->is_kept = is_kept;
    }
}

static void index_put_mark(index_hints *h, size_t first, size_t end, uint32_t depth, hd_memprof_heat hint,
                           bool is_forced) {
    h->marks[h->mark_count++] = (index_mark){ first, end, depth, hint, is_forced };
}

/* clang 22 marks what is cold, and of the rest what says how far callers need to be looked at: of the callers of one
   frame, whose marks are those from `from` on and have `depth` frames or more, the longer ones, or else the first. */
static void index_filter_marks(index_hints *h, size_t from, uint32_t depth) {
    size_t kept = from;
    bool has_longer = false;
    for (size_t i = from; i < h->mark_count; i++)
        has_longer |= h->marks[i].hint != HD_MEMPROF_COLD && h->marks[i].depth > depth;
    for (size_t i = from; i < h->mark_count; i++) {
        index_mark m = h->marks[i];
        if (m.hint != HD_MEMPROF_COLD && m.depth == depth && has_longer) {
            index_apply_mark(h, &m, false);
            continue;
        }
        has_longer |= m.hint != HD_MEMPROF_COLD && m.depth == depth;
        h->marks[kept++] = m;
    }
    h->mark_count = kept;
}

/* Goes along contexts `first` to `end`, which share `depth` frames, to where all have one heat, and get one mark, or
   have several callers or none, which becomes the next level. */
static void index_descend(index_hints *h, size_t first, size_t end, uint32_t depth) {
    const index_context *c = h->contexts;
    index_level level = { .first = first, .end = end, .shared = depth, .from = h->mark_count };
    for (;; first = level.next, depth++) {
        bool is_single = true, is_one = true;
        for (size_t i = first; i < end; i++) is_single &= c[i].stack_heat == c[first].stack_heat;
        if (is_single) {
            index_put_mark(h, first, end, depth, c[first].stack_heat, false);
            return;
        }
        for (level.next = first; level.next < end && index_length(h, c[level.next].block) == depth;) level.next++;
        for (size_t i = level.next; i < end; i++)
            is_one &= index_id(h, c[i].block, depth) == index_id(h, c[level.next].block, depth);
        if (level.next == end || !is_one) break;
    }
    level.depth = depth;
    level.has_callers = level.next < end;
    h->levels[h->level_count++] = level;
}

/* Marks contexts `first` to `end`, those of one allocation, as the compiler does: as soon as those that share some
   frames are of one heat, they get one mark. Where frames do not tell heats apart, the callee that has several callers
   says not cold. */
static void index_mark_all(index_hints *h, size_t first, size_t end) {
    const index_context *c = h->contexts;
    h->level_count = 0;
    index_descend(h, first, end, 1);
    while (h->level_count) {
        index_level *level = &h->levels[h->level_count - 1];
        size_t i = level->next;
        if (i < level->end) {
            while (level->next < level->end &&
                   index_id(h, c[i].block, level->depth) == index_id(h, c[level->next].block, level->depth))
                level->next++;
            index_descend(h, i, level->next, level->depth + 1);
            continue;
        }
        h->level_count--;
        if (level->has_callers && h->clang >= 22) index_filter_marks(h, level->from, level->depth + 1);
        if (!level->has_callers && h->level_count)
            index_put_mark(h, level->first, level->end, level->shared, HD_MEMPROF_NOT_COLD, true);
    }
}

static bool index_is_same_stack(const index_hints *h, uint32_t x, uint32_t y) {
    uint32_t n = index_length(h, x), i = 1;
    if (n != index_length(h, y)) return false;
    while (i < n && index_id(h, x, i) == index_id(h, y, i)) i++;
    return i == n;
}

/* Of blocks of one call stack, clang 22 looks at the largest alone, of equally large ones at one that is not cold, or
   else the first; clang 19 at all. */
static void index_judge_stacks(index_hints *h, index_context *c, size_t count) {
    for (size_t i = 0, k, judge; i < count; i = k) {
        for (k = i + 1, judge = i; k < count && index_is_same_stack(h, c[i].block, c[k].block); k++)
            if (c[k].bytes > c[judge].bytes ||
                (c[k].bytes == c[judge].bytes && c[k].heat == HD_MEMPROF_NOT_COLD))
                judge = k;
        for (size_t m = i; m < k; m++) c[m].stack_heat = c[h->clang >= 22 ? judge : m].heat;
    }
}

/* What the compiler makes of an allocation's contexts. */
static void index_decide(index_hints *h, index_site *site) {
    index_context *c = &h->contexts[site->first];
    h->mark_count = 0;
    index_judge_stacks(h, c, site->count);
    for (size_t i = 0; i < site->count; i++) {
        c[i].hint = HD_MEMPROF_NOT_COLD;
        c[i].depth = index_length(h, c[i].block) + 1;
    }
    index_mark_all(h, site->first, site->first + site->count);
    for (size_t m = 0; m < h->mark_count; m++) index_apply_mark(h, &h->marks[m], true);
    for (size_t i = 0; i < site->count; i++) {
        if (h->mark_count == 1 && h->marks->depth == 1) c[i].depth = 0;
        site->is_mixed |= c[i].hint != c[0].hint;
        h->bytes[c[i].hint] = index_sum(h->bytes[c[i].hint], c[i].bytes);
        h->each[c[i].hint] += !c[i].is_more;
    }
}

/* What a release calls hot: clang 22 nothing, unless it is asked to. */
static hd_memprof_heat index_heat(const index_hints *h, uint32_t block) {
    hd_memprof_heat heat = hd_memprof_block_heat(h->raw, block, &h->thresholds);
    return heat == HD_MEMPROF_HOT && !h->uses_hot ? HD_MEMPROF_NOT_COLD : heat;
}

static void index_hints_make(index_hints *h) {
    const hd_memprof_raw *raw = h->raw;
    uint32_t longest = 0;
    h->contexts = needed(calloc((size_t)raw->block_count + 1, sizeof *h->contexts));
    h->sites = needed(calloc((size_t)raw->block_count + 1, sizeof *h->sites));
    h->marks = needed(calloc((size_t)raw->block_count + 1, sizeof *h->marks));
    h->ids = needed(calloc((size_t)h->index->location_count + 1, sizeof *h->ids));
    for (uint32_t i = 0; i < h->index->location_count; i++)
        h->ids[i] = hd_memprof_stack_id(&h->index->locations[i]);
    for (uint32_t b = 0; b < raw->block_count; b++) {
        index_context *c = &h->contexts[h->count];
        if (!index_length(h, b)) continue;
        h->count++;
        c->block = b;
        c->heat = index_heat(h, b);
        c->bytes = raw->blocks[b].value[HD_MEMPROF_TOTAL_SIZE];
        longest = index_length(h, b) > longest ? index_length(h, b) : longest;
    }
    h->levels = needed(calloc((size_t)longest + 1, sizeof *h->levels));
    if (h->count) qsort_r(h->contexts, h->count, sizeof *h->contexts, index_stack_order, h);
    for (size_t i = 0; i < h->count; i++) {
        const hd_memprof_location *at = index_location(h, h->contexts[i].block, 0);
        index_site *site = h->site_count ? &h->sites[h->site_count - 1] : NULL;
        if (!site || index_place_order(&site->at, at)) {
            site = &h->sites[h->site_count++];
            site->first = i;
            site->at = *at;
        }
        h->contexts[i].is_more = i && !index_callers_order(h, &h->contexts[i - 1], &h->contexts[i]);
        site->count++;
        site->contexts += !h->contexts[i].is_more;
        site->bytes = index_sum(site->bytes, h->contexts[i].bytes);
    }
    for (size_t i = 0, k; i < h->site_count; i = k) { /* of one function, they stand side by side */
        uint64_t bytes = 0;
        for (k = i; k < h->site_count && !index_function_order(&h->sites[i], &h->sites[k]); k++)
            bytes = index_sum(bytes, h->sites[k].bytes);
        while (i < k) h->sites[i++].function_bytes = bytes;
    }
    for (size_t i = 0; i < h->site_count; i++) {
        index_decide(h, &h->sites[i]);
        qsort(&h->contexts[h->sites[i].first], h->sites[i].count, sizeof *h->contexts, index_size_order);
    }
    if (h->site_count) qsort(h->sites, h->site_count, sizeof *h->sites, index_site_order);
}

/* Accesses a byte and second of lifetime, and lifetime in seconds, of an allocation on average. */
double index_density(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] / count / 100 : 0;
}

static double index_lifetime(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME] / count / 1000 : 0;
}

const char *index_verdict(const index_hints *h, const index_site *site) {
    return site->is_mixed ? "ambiguous" : hd_memprof_heat_name(h->contexts[site->first].hint);
}

void index_put_shown(FILE *out, index_hints *h, uint64_t guid) {
    put_name(out, index_text_of(&h->names, index_name_of(&h->names, guid), hd_cstr(""), 0));
}

/* A row of the list: contexts of an allocation that are told alike. */
typedef struct hints_row {
    const index_context *first;
    uint64_t value[HD_MEMPROF_FIELDS]; /* what is shown of them, added up */
    const index_context *last;   /* of them, in their order */
    uint64_t bytes;
    uint32_t contexts;
} hints_row;

/* What the rows of an allocation are of. */
typedef struct hints_rows {
    const index_hints *h;
    bool all;                    /* with all callers, not just those that tell contexts apart */
} hints_rows;

static uint32_t hints_shown(const hints_rows *x, const index_context *c) {
    uint32_t n = index_length(x->h, c->block);
    return x->all || c->depth > n ? n : c->depth ? c->depth : 1;
}

/* 0: they are told alike. */
static int hints_told_order(const hints_rows *x, const index_context *a, const index_context *b) {
    uint32_t n = hints_shown(x, a), m = hints_shown(x, b);
    int order = a->hint != b->hint ? (a->hint < b->hint ? -1 : 1) : a->heat < b->heat ? -1 : a->heat > b->heat;
    for (uint32_t i = 1; i < n && i < m && !order; i++)
        order = index_place_order(index_location(x->h, a->block, i), index_location(x->h, b->block, i));
    return order ? order : n < m ? -1 : n > m;
}

static int hints_alike_order(const void *a, const void *b, void *rows) {
    const hints_row *x = a, *y = b;
    int order = hints_told_order(rows, x->first, y->first);
    return order ? order : index_stack_order(x->first, y->first, (void *)(uintptr_t)((const hints_rows *)rows)->h);
}

static int hints_row_order(const void *a, const void *b) {
    const hints_row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_size_order(x->first, y->first);
}

/* The rows of an allocation, the largest first; how many there are. */
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
        if (!to || hints_told_order(x, to->first, rows[i].first)) {
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
    if (c->hint != c->heat) display(out, " (%s, but not to be told apart)", hd_memprof_heat_name(c->heat));
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
    hints_rows of = { h, a->all };
    hints_row *rows = needed(calloc(site->count + 1, sizeof *rows));
    size_t n = hints_rows_make(&of, site, rows);
    display(out, "  line +%u, column %u: %s\n%14s %10s %8s %14s %12s\n", site->at.line_offset, site->at.column,
            index_verdict(h, site), "bytes", "blocks", "contexts", "accesses/(B s)", "lifetime (s)");
    for (size_t k = 0; k < n; k++) hints_put_row(out, h, &of, &rows[k]);
    free(rows);
}

/* 0 is what was asked for, not the library's default: as single precision, it is 0 there. */
static double index_limit(double asked) { return asked > 0 ? asked : DBL_MIN; }

static void index_limits(const arguments *a, double limits[3]) {
    static const double defaults[3] = { 0.05, 200, 1000 };
    for (int i = 0; i < 3; i++) limits[i] = a->limit[i] < 0 ? defaults[i] : a->limit[i];
}

static void index_hints_text(FILE *out, const arguments *a, index_hints *h) {
    double limits[3];
    index_limits(a, limits);
    display(out, "what clang %u makes of them, by %s\n", h->clang,
            index_is_usual(a) ? "its own thresholds" : "thresholds that were given");
    display(out, "cold: less than %g accesses a byte and second, and living for %g s or longer\n", limits[0],
            limits[1]);
    if (h->uses_hot) display(out, "hot: more than %g accesses a byte and second\n", limits[2]);
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

/* What the compiler makes of the profiles of a command line. */
int hints_open(const arguments *a, bool unites, hints *x) {
    double limits[3];
    hd_error err;
    int status;
    memset(x, 0, sizeof *x);
    if (a->clang && strcmp(a->clang, "19") && strcmp(a->clang, "22"))
        return usage("hints are those of clang 19 or 22, not of '%s'", a->clang);
    status = index_open(a, false, &x->source);
    if (status) return status;
    if (unites && (status = index_unite(a, &x->source)) != DONE) {
        index_close(&x->source);
        return status;
    }
    x->made.index = x->source.index;
    x->made.clang = a->clang && !strcmp(a->clang, "19") ? 19 : 22;
    x->made.uses_hot = x->made.clang < 22 || a->limit[2] >= 0;
    if (hd_memprof_index_raw(x->source.index, NULL, &x->flat, &err)) {
        complain(x->source.name, &err, "");
        index_close(&x->source);
        return BAD_INPUT;
    }
    index_limits(a, limits);
    x->made.raw = hd_memprof_part(x->flat, 0);
    x->made.thresholds.cold_density = index_limit(limits[0]);
    x->made.thresholds.cold_lifetime_ms = index_limit(limits[1] * 1000);
    x->made.thresholds.hot_density = index_limit(limits[2]);
    index_names_make(a, x->source.index, &x->made.names);
    index_hints_make(&x->made);
    return DONE;
}

void hints_close(hints *x) {
    index_names_free(&x->made.names);
    free(x->made.contexts);
    free(x->made.sites);
    free(x->made.marks);
    free(x->made.levels);
    free(x->made.ids);
    hd_memprof_free(x->flat);
    index_close(&x->source);
}

int index_hints_of(const arguments *a) {
    answer r;
    hints x;
    int status;
    if (a->effect) return hints_effect(a);
    if (a->hints_diff) return hints_diff(a);
    status = hints_open(a, false, &x);
    if (status) return status;
    status = answer_open(&r, a, NULL);
    if (!status) {
        if (a->json) index_hints_json(&r.json, a, &x.made);
        else index_hints_text(r.text, a, &x.made);
        status = answer_close(&r, DONE);
    }
    hints_close(&x);
    return status;
}
