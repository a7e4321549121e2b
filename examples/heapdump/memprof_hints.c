/* memprof --hints: what the compiler calls each context. */

#include "memprof.h"

#include <float.h>

#define INDEX_COMPILER "clang 19"

/* Whether all thresholds are the compiler's own. */
bool index_is_usual(const arguments *a) {
    return a->limit[0] < 0 && a->limit[1] < 0 && a->limit[2] < 0;
}

/* A context of an allocation: a block of the index as a raw profile, where call stacks are numbers of
   locations. */
typedef struct index_context {
    uint32_t block;
    uint32_t depth;              /* locations that tell it from those of other heat; 0: there are none of
                                    other heat; more than it has: it is not told apart */
    uint32_t left, right;        /* while that is found: locations shared with the next of other heat */
    hd_memprof_heat heat, hint;  /* by its numbers; what the compiler makes of it among the others */
    uint64_t bytes;
} index_context;

/* Allocations at one place of one function: what the compiler sees as a call of an allocator. */
typedef struct index_site {
    size_t first, count;         /* contexts */
    hd_memprof_location at;
    uint64_t bytes, function_bytes;
    bool is_mixed;               /* contexts of several hints */
} index_site;

typedef struct index_hints {
    const hd_memprof_index *index;
    const hd_memprof_raw *raw;
    index_names names;
    hd_memprof_thresholds thresholds;
    index_context *contexts;
    size_t count, site_count;
    index_site *sites;
    uint64_t bytes[HD_MEMPROF_HEAT_UNKNOWN + 1]; /* by hint */
    uint32_t each[HD_MEMPROF_HEAT_UNKNOWN + 1];  /* contexts */
} index_hints;

static const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth) {
    return &h->index->locations[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

static uint32_t index_length(const index_hints *h, uint32_t block) {
    uint32_t stack = h->raw->blocks[block].stack;
    return h->raw->first[stack + 1] - h->raw->first[stack];
}

/* Places as the compiler tells them apart: whether something was inlined does not count. */
static int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y) {
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->line_offset != y->line_offset) return x->line_offset < y->line_offset ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* How many locations two contexts share, from the innermost on. */
static uint32_t index_shared(const index_hints *h, uint32_t x, uint32_t y) {
    uint32_t n = index_length(h, x), m = index_length(h, y), i = 0;
    while (i < n && i < m && !index_place_order(index_location(h, x, i), index_location(h, y, i))) i++;
    return i;
}

static int index_stack_order(const void *a, const void *b, void *user) {
    const index_hints *h = user;
    const index_context *x = a, *y = b;
    uint32_t n = index_length(h, x->block), m = index_length(h, y->block);
    uint32_t i = index_shared(h, x->block, y->block);
    if (i < n && i < m)
        return index_place_order(index_location(h, x->block, i), index_location(h, y->block, i));
    if (n != m) return n < m ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int index_size_order(const void *a, const void *b) {
    const index_context *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int index_function_order(const void *a, const void *b) {
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

static uint64_t index_sum(uint64_t x, uint64_t y) { return y > UINT64_MAX - x ? UINT64_MAX : x + y; }

/* The compiler follows the callers of an allocation as far as it needs to find contexts of one heat. The
   contexts are in the order of their stacks, so those that share most with one are beside it. One that ends
   before, or that other heats have in common, is not cold to be safe. */
static void index_decide(index_hints *h, index_site *site) {
    index_context *c = &h->contexts[site->first];
    size_t n = site->count;
    for (size_t i = 1; i < n; i++) {
        uint32_t shared = index_shared(h, c[i - 1].block, c[i].block);
        c[i].left = c[i - 1].heat != c[i].heat || shared < c[i - 1].left ? shared : c[i - 1].left;
    }
    for (size_t i = n - 1; i-- > 0;) {
        uint32_t shared = index_shared(h, c[i].block, c[i + 1].block);
        c[i].right = c[i + 1].heat != c[i].heat || shared < c[i + 1].right ? shared : c[i + 1].right;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t shared = c[i].left > c[i].right ? c[i].left : c[i].right;
        c[i].depth = shared ? shared + 1 : 0;
        c[i].hint = c[i].heat;
        if (c[i].depth > index_length(h, c[i].block)) c[i].hint = HD_MEMPROF_NOT_COLD;
        site->is_mixed |= c[i].hint != c[0].hint;
        h->bytes[c[i].hint] = index_sum(h->bytes[c[i].hint], c[i].bytes);
        h->each[c[i].hint]++;
    }
}

static void index_hints_make(index_hints *h) {
    const hd_memprof_raw *raw = h->raw;
    h->contexts = needed(calloc((size_t)raw->block_count + 1, sizeof *h->contexts));
    h->sites = needed(calloc((size_t)raw->block_count + 1, sizeof *h->sites));
    for (uint32_t b = 0; b < raw->block_count; b++) {
        index_context *c = &h->contexts[h->count];
        if (!index_length(h, b)) continue;
        h->count++;
        c->block = b;
        c->heat = hd_memprof_block_heat(raw, b, &h->thresholds);
        c->bytes = raw->blocks[b].value[HD_MEMPROF_TOTAL_SIZE];
    }
    if (h->count) qsort_r(h->contexts, h->count, sizeof *h->contexts, index_stack_order, h);
    for (size_t i = 0; i < h->count; i++) {
        const hd_memprof_location *at = index_location(h, h->contexts[i].block, 0);
        index_site *site = h->site_count ? &h->sites[h->site_count - 1] : NULL;
        if (!site || index_place_order(&site->at, at)) {
            site = &h->sites[h->site_count++];
            site->first = i;
            site->at = *at;
        }
        site->count++;
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
static double index_density(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] / count / 100 : 0;
}

static double index_lifetime(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME] / count / 1000 : 0;
}

static const char *index_verdict(const index_hints *h, const index_site *site) {
    return site->is_mixed ? "ambiguous" : hd_memprof_heat_name(h->contexts[site->first].hint);
}

static void index_put_shown(FILE *out, index_hints *h, uint64_t guid) {
    put_name(out, index_text_of(&h->names, index_name_of(&h->names, guid), hd_cstr(""), 0));
}

/* The callers that tell it apart; all of them when `all`. */
static void index_put_context(FILE *out, index_hints *h, const index_context *c, bool all) {
    const uint64_t *value = h->raw->blocks[c->block].value;
    uint32_t n = index_length(h, c->block), shown = all || c->depth > n ? n : c->depth;
    display(out, "%14llu %10llu %14.3f %12.3f  %s", (unsigned long long)c->bytes,
            (unsigned long long)value[HD_MEMPROF_ALLOC_COUNT], index_density(value), index_lifetime(value),
            hd_memprof_heat_name(c->hint));
    if (c->hint != c->heat) display(out, " (%s, but not to be told apart)", hd_memprof_heat_name(c->heat));
    for (uint32_t i = 1; i < shown; i++) {
        const hd_memprof_location *l = index_location(h, c->block, i);
        display(out, i == 1 ? ", from " : " < ");
        index_put_shown(out, h, l->function);
        display(out, " +%u:%u", l->line_offset, l->column);
    }
    fputc('\n', out);
}

static void index_hints_text(FILE *out, const arguments *a, index_hints *h, const double limits[3]) {
    display(out, "what " INDEX_COMPILER " makes of them, by %s\n",
            index_is_usual(a) ? "its own thresholds" : "thresholds that were given");
    display(out, "cold: less than %g accesses a byte and second, and living for %g s or longer\n"
            "hot: more than %g accesses a byte and second\n", limits[0], limits[1], limits[2]);
    for (int heat = 0; heat <= HD_MEMPROF_HEAT_UNKNOWN; heat++)
        if (h->each[heat])
            display(out, "%14llu bytes in %u contexts: %s\n", (unsigned long long)h->bytes[heat],
                    h->each[heat], hd_memprof_heat_name((hd_memprof_heat)heat));
    for (size_t i = 0; i < h->site_count; i++) {
        const index_site *site = &h->sites[i];
        if (!i || index_function_order(site - 1, site)) {
            fputc('\n', out);
            index_put_shown(out, h, site->at.function);
            display(out, ": %llu bytes\n", (unsigned long long)site->function_bytes);
        }
        display(out, "  line +%u, column %u: %s\n%14s %10s %14s %12s\n", site->at.line_offset,
                site->at.column, index_verdict(h, site), "bytes", "blocks", "accesses/(B s)", "lifetime (s)");
        for (size_t k = 0; k < site->count; k++)
            index_put_context(out, h, &h->contexts[site->first + k], a->all);
    }
}

static void index_place_json(hd_json *j, index_hints *h, const hd_memprof_location *l) {
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

static void index_hints_json(hd_json *j, const arguments *a, index_hints *h) {
    json_text(j, "compiler", INDEX_COMPILER);
    json_bool(j, "own_thresholds", index_is_usual(a));
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

/* 0 is what was asked for, not the library's default: as single precision, it is 0 there. */
static double index_limit(double asked) { return asked > 0 ? asked : DBL_MIN; }

static int index_show_hints(const arguments *a, const hd_memprof_index *index) {
    static const double defaults[3] = { 0.05, 200, 1000 };
    double limits[3];
    index_hints h = { .index = index };
    hd_memprof *raw;
    hd_error err;
    answer r;
    int status;
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) return complain(a->files[0], &err, ""), BAD_INPUT;
    for (int i = 0; i < 3; i++) limits[i] = a->limit[i] < 0 ? defaults[i] : a->limit[i];
    status = answer_open(&r, a, NULL);
    if (!status) {
        h.raw = hd_memprof_part(raw, 0);
        h.thresholds.cold_density = index_limit(limits[0]);
        h.thresholds.cold_lifetime_ms = index_limit(limits[1] * 1000);
        h.thresholds.hot_density = index_limit(limits[2]);
        index_names_make(a, index, &h.names);
        index_hints_make(&h);
        if (a->json) index_hints_json(&r.json, a, &h);
        else index_hints_text(r.text, a, &h, limits);
        status = answer_close(&r, DONE);
        index_names_free(&h.names);
        free(h.contexts);
        free(h.sites);
    }
    hd_memprof_free(raw);
    return status;
}

int index_hints_of(const arguments *a) {
    index_source s;
    int status = index_open(a, &s);
    if (status) return status;
    status = index_show_hints(a, s.index);
    index_close(&s);
    return status;
}
