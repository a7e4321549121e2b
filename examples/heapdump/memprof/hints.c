/* memprof --hints: the hint that the compiler gives each context. */

#include "hints.h"

#include <float.h>

/* Whether all thresholds are the compiler's own. */
bool index_is_usual(const arguments *a) {
    return a->memprof.limit[0] < 0 && a->memprof.limit[1] < 0 && a->memprof.limit[2] < 0;
}

const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth) {
    return &h->index->locations[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

uint32_t index_length(const index_hints *h, uint32_t block) {
    uint32_t stack = h->raw->blocks[block].stack;
    return h->raw->first[stack + 1] - h->raw->first[stack];
}

/* Orders places as the compiler distinguishes them. It hashes the whole line offset of a profile, so a call beyond
   line 65535 of a function differs from the call with the same low 16 bits. Inlining makes no difference. */
int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y) {
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->line_offset != y->line_offset) return x->line_offset < y->line_offset ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

uint64_t index_id(const index_hints *h, uint32_t block, uint32_t depth) {
    return h->ids[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

int index_callers_order(const index_hints *h, const index_context *x, const index_context *y) {
    uint32_t n = index_length(h, x->block), m = index_length(h, y->block), i = 1;
    int order = index_place_order(index_location(h, x->block, 0), index_location(h, y->block, 0));
    if (order) return order;
    while (i < n && i < m && index_id(h, x->block, i) == index_id(h, y->block, i)) i++;
    if (i < n && i < m) return index_id(h, x->block, i) < index_id(h, y->block, i) ? -1 : 1;
    return n < m ? -1 : n > m;
}

int index_stack_order(const void *a, const void *b, void *user) {
    const index_context *x = a, *y = b;
    int order = index_callers_order(user, x, y);
    return order ? order : x->block < y->block ? -1 : x->block > y->block;
}

int index_size_order(const void *a, const void *b) {
    const index_context *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

int index_function_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    return 0;
}

/* Sorts by bytes of the function, then by bytes of the place, the largest first. */
static int index_site_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->function_bytes != y->function_bytes) return x->function_bytes > y->function_bytes ? -1 : 1;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_place_order(&x->at, &y->at);
}

/* Gives contexts the depth and hint of their mark, whether or not the compiler keeps the mark. */
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

/* clang 22 keeps each cold mark. It keeps other marks only to see how many callers must be compared: marks with more
   than `depth` frames, or else the first one with `depth` frames. The marks from `from` on belong to the callers of
   one frame, and have at least `depth` frames. */
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

/* Follows contexts `first` to `end`, which share `depth` frames. If all get one heat, they get one mark. If their
   callers differ, or no context has a caller left, they become the next level. */
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

/* Marks contexts `first` to `end` of one allocation as the compiler does. Contexts that share frames get one mark as
   soon as all have one heat. If frames do not distinguish heats, the callee with several callers gets a mark for not
   cold. */
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

/* Decides the heat of each call stack. For several blocks of one call stack, clang 22 uses only the largest. Among
   equally large ones, it uses one that is not cold, or else the first. clang 19 uses all blocks. */
static void index_judge_stacks(index_hints *h, index_context *c, size_t count) {
    for (size_t i = 0, k, judge; i < count; i = k) {
        for (k = i + 1, judge = i; k < count && index_is_same_stack(h, c[i].block, c[k].block); k++)
            if (c[k].bytes > c[judge].bytes ||
                (c[k].bytes == c[judge].bytes && c[k].heat == HD_MEMPROF_NOT_COLD))
                judge = k;
        for (size_t m = i; m < k; m++) c[m].stack_heat = c[h->clang >= 22 ? judge : m].heat;
    }
}

/* Computes the hints for the contexts of an allocation. */
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

/* The heat of a block for this release: clang 22 calls a block hot only on request. */
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
    for (size_t i = 0, k; i < h->site_count; i = k) { /* sites of one function are adjacent */
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

/* Accesses per byte and second of lifetime, and lifetime in seconds; averages of the allocations. */
double index_density(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] / count / 100 : 0;
}

double index_lifetime(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME] / count / 1000 : 0;
}

const char *index_verdict(const index_hints *h, const index_site *site) {
    return site->is_mixed ? "ambiguous" : hd_memprof_heat_name(h->contexts[site->first].hint);
}

void index_put_shown(FILE *out, index_hints *h, uint64_t guid) {
    put_name(out, index_text_of(&h->names, index_name_of(&h->names, guid), hd_cstr(""), 0));
}

/* A threshold of 0 means 0, but the library takes 0 for its default. DBL_MIN is 0 there, in single precision. */
static double index_limit(double asked) { return asked > 0 ? asked : DBL_MIN; }

void index_limits(const arguments *a, double limits[3]) {
    static const double defaults[3] = { 0.05, 200, 1000 };
    for (int i = 0; i < 3; i++) limits[i] = a->memprof.limit[i] < 0 ? defaults[i] : a->memprof.limit[i];
}

/* Computes the hints for the profiles of a command line. */
int hints_open(const arguments *a, index_source from, bool unites, hints *x) {
    double limits[3];
    hd_error err;
    int status;
    *x = (hints){ .source = from };
    if (a->memprof.clang && strcmp(a->memprof.clang, "19") && strcmp(a->memprof.clang, "22"))
        return usage("--clang takes 19 or 22, not '%s'", a->memprof.clang);
    status = index_open(a, &x->source);
    if (status) return status;
    if (unites && (status = index_unite(a, &x->source)) != DONE) {
        index_close(&x->source);
        return status;
    }
    x->made.index = x->source.index;
    x->made.clang = a->memprof.clang && !strcmp(a->memprof.clang, "19") ? 19 : 22;
    x->made.uses_hot = x->made.clang < 22 || a->memprof.limit[2] >= 0;
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
