/* --prune: leaves out contexts of indexed MemProf profiles that cannot matter. */

#include "hints.h"

/* A call stack, with the values of its largest block in any function. */
typedef struct prune_context {
    uint32_t stack;
    uint64_t bytes;
    bool is_cold, is_counted, is_left_out;
} prune_context;

typedef struct prune_sum {
    uint64_t contexts, bytes;
} prune_sum;

/* Call sites that led only to pruned contexts, and their callees. */
typedef struct prune_sites {
    uint32_t sites, callees;
} prune_sites;

static const hd_memprof_location *prune_leaf(const hd_memprof_index *x, uint32_t stack) {
    return &x->locations[x->location[x->first[stack]]];
}

static int prune_site_order(const void *a, const void *b, void *index) {
    const prune_context *x = a, *y = b;
    int order = index_place_order(prune_leaf(index, x->stack), prune_leaf(index, y->stack));
    return order ? order : x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* The smallest first; ties by call stack. */
static int prune_size_order(const void *a, const void *b) {
    const prune_context *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Finds the bytes of each call stack. LLVM repeats a block in several functions, other writers may give it to a
   function that does not allocate itself; so the largest block counts. A context is cold if all its blocks are. */
static void prune_count(const hd_memprof_index *x, prune_context *contexts) {
    for (uint32_t s = 0; s < x->stack_count; s++) contexts[s] = (prune_context){ .stack = s, .is_cold = true };
    for (uint32_t f = 0; f < x->function_count; f++)
        for (uint32_t b = x->block_first[f]; b < x->block_first[f + 1]; b++) {
            prune_context *c = &contexts[x->block_stack[b]];
            uint64_t bytes = hd_memprof_index_value(x, b, HD_MEMPROF_TOTAL_SIZE);
            if (bytes > c->bytes) c->bytes = bytes;
            c->is_cold &= hd_memprof_index_heat(x, b, NULL) == HD_MEMPROF_COLD;
            c->is_counted = true;
        }
}

/* Cold contexts may always be pruned: a context without a hint is not cold. */
static void prune_cold(const arguments *a, prune_context *contexts, uint32_t n) {
    uint64_t cold = 0;
    double left;
    for (uint32_t i = 0; i < n; i++)
        if (contexts[i].is_cold && contexts[i].is_counted) cold = index_sum(cold, contexts[i].bytes);
    left = (double)cold * a->memprof.prune_cold;
    qsort(contexts, n, sizeof *contexts, prune_size_order);
    for (uint32_t i = 0; i < n; i++) {
        prune_context *c = &contexts[i];
        if (!c->is_counted || !c->is_cold) continue;
        c->is_left_out = c->bytes < a->memprof.prune_bytes;
        left -= (double)c->bytes;
        if (left >= 0) c->is_left_out = true;
    }
}

/* A context that is not cold stays if a cold one at the same place stays. Otherwise the compiler would take more
   contexts for cold. */
static void prune_rest(const arguments *a, const hd_memprof_index *x, prune_context *contexts, uint32_t n) {
    qsort_r(contexts, n, sizeof *contexts, prune_site_order, (void *)(uintptr_t)x);
    for (uint32_t i = 0, end; i < n; i = end) {
        bool has_cold = false;
        for (end = i; end < n && !index_place_order(prune_leaf(x, contexts[i].stack),
                                                    prune_leaf(x, contexts[end].stack)); end++)
            has_cold |= contexts[end].is_counted && contexts[end].is_cold && !contexts[end].is_left_out;
        for (uint32_t k = i; k < end && !has_cold; k++)
            if (!contexts[k].is_cold) contexts[k].is_left_out = contexts[k].bytes < a->memprof.prune_bytes;
    }
}

static int prune_stack_order(const void *a, const void *b) {
    const prune_context *x = a, *y = b;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* The frames of a stack. Valid until the next call. */
static const hd_memprof_location *prune_stack(const hd_memprof_index *x, uint32_t stack,
                                              hd_memprof_location *frames) {
    for (uint32_t k = x->first[stack]; k < x->first[stack + 1]; k++)
        frames[k - x->first[stack]] = x->locations[x->location[k]];
    return frames;
}

/* By location: whether only pruned call stacks lead through it. */
static bool *prune_lost(const hd_memprof_index *x, const prune_context *contexts) {
    bool *lost = needed(calloc((size_t)x->location_count + 1, 1));
    for (int stays = 0; stays < 2; stays++)
        for (uint32_t s = 0; s < x->stack_count; s++) {
            if (!contexts[s].is_counted || contexts[s].is_left_out == stays) continue;
            for (uint32_t k = x->first[s]; k < x->first[s + 1]; k++) lost[x->location[k]] = !stays;
        }
    return lost;
}

static hd_status prune_blocks(const hd_memprof_index *x, const prune_context *contexts, uint32_t function,
                              hd_memprof_location *frames, hd_memprof_builder *to, hd_error *err) {
    hd_status status = HD_OK;
    for (uint32_t b = x->block_first[function]; b < x->block_first[function + 1] && !status; b++) {
        uint32_t s = x->block_stack[b];
        uint64_t value[HD_MEMPROF_FIELDS] = { 0 };
        if (contexts[s].is_left_out) continue;
        for (uint32_t k = 0; k < x->field_count; k++)
            value[x->field[k]] = hd_memprof_index_value(x, b, x->field[k]);
        status = hd_memprof_builder_function(to, x->function[function], err);
        if (!status)
            status = hd_memprof_builder_block(to, prune_stack(x, s, frames), x->first[s + 1] - x->first[s], x->fields,
                                              value, err);
    }
    return status;
}

static hd_status prune_calls(const hd_memprof_index *x, const bool *lost, uint32_t function, prune_sites *out,
                             hd_memprof_location *frames, hd_memprof_builder *to, hd_error *err) {
    hd_status status = HD_OK;
    for (uint32_t i = x->site_first[function]; i < x->site_first[function + 1] && !status; i++) {
        uint32_t s = x->site[i], from = x->callee_first ? x->callee_first[i] : 0;
        uint32_t n = x->callee_first ? x->callee_first[i + 1] - from : 0;
        if (lost[x->location[x->first[s]]]) {
            out->sites++;
            out->callees += n;
            continue;
        }
        status = hd_memprof_builder_function(to, x->function[function], err);
        if (!status)
            status = hd_memprof_builder_site(to, prune_stack(x, s, frames), x->first[s + 1] - x->first[s],
                                             n ? x->callee + from : NULL, n, err);
    }
    return status;
}

/* Copies the contexts and call sites that stay. */
static hd_status prune_copy(const hd_memprof_index *x, const prune_context *contexts, prune_sites *out,
                            hd_memprof_builder *to, hd_error *err) {
    bool *lost = prune_lost(x, contexts);
    uint32_t depth = 1;
    hd_memprof_location *frames;
    hd_status status = HD_OK;
    for (uint32_t s = 0; s < x->stack_count; s++)
        depth = x->first[s + 1] - x->first[s] > depth ? x->first[s + 1] - x->first[s] : depth;
    frames = needed(calloc(depth, sizeof *frames));
    for (uint32_t f = 0; f < x->function_count && !status; f++) {
        status = prune_blocks(x, contexts, f, frames, to, err);
        if (!status) status = prune_calls(x, lost, f, out, frames, to, err);
    }
    for (uint32_t i = 0; i < x->access_count && !status; i++)
        status = hd_memprof_builder_access(
            to, &x->access[i], x->access[i].place_count ? x->place + x->access[i].place_first : NULL, err);
    for (uint32_t i = 0; i < x->cold_symbol_count && !status; i++)
        status = hd_memprof_builder_cold_symbol(to, x->cold_symbol[i], err);
    for (uint32_t i = 0; i < x->cold_literal_count && !status; i++)
        status = hd_memprof_builder_cold_literal(to, x->cold_literal[i], err);
    free(lost);
    free(frames);
    return status;
}

static void prune_print(const prune_context *contexts, uint32_t n, const prune_sites *sites) {
    prune_sum all = { 0, 0 }, out = { 0, 0 }, cold = { 0, 0 };
    for (uint32_t i = 0; i < n; i++) {
        prune_sum *sums[3] = { &all, contexts[i].is_left_out ? &out : NULL,
                               contexts[i].is_left_out && contexts[i].is_cold ? &cold : NULL };
        for (int k = 0; contexts[i].is_counted && k < 3 && sums[k]; k++) {
            sums[k]->contexts++;
            sums[k]->bytes = index_sum(sums[k]->bytes, contexts[i].bytes);
        }
    }
    display(stderr, "heapdump: pruned: %llu of %llu contexts, %llu of %llu bytes (%.3g %%); of these %llu cold, "
            "%llu bytes\n",
            (unsigned long long)out.contexts, (unsigned long long)all.contexts, (unsigned long long)out.bytes,
            (unsigned long long)all.bytes, all.bytes ? 100 * (double)out.bytes / (double)all.bytes : 0.0,
            (unsigned long long)cold.contexts, (unsigned long long)cold.bytes);
    if (sites->sites)
        display(stderr, "heapdump: pruned too: %u call site%s that led only to pruned contexts, with %u callee%s\n",
                sites->sites, sites->sites == 1 ? "" : "s", sites->callees, sites->callees == 1 ? "" : "s");
}

static hd_status prune_all(const arguments *a, const hd_memprof_index *x, hd_memprof_index **left, hd_error *err) {
    hd_memprof_builder *to = needed(hd_memprof_builder_create(NULL, NULL, NULL));
    FREED prune_context *contexts = needed(calloc((size_t)x->stack_count + 1, sizeof *contexts));
    prune_sites sites = { 0, 0 };
    hd_status status;
    prune_count(x, contexts);
    prune_cold(a, contexts, x->stack_count);
    prune_rest(a, x, contexts, x->stack_count);
    qsort(contexts, x->stack_count, sizeof *contexts, prune_stack_order);
    status = prune_copy(x, contexts, &sites, to, err);
    if (!status) status = hd_memprof_builder_finish(to, left, err);
    if (!status) prune_print(contexts, x->stack_count, &sites);
    hd_memprof_builder_free(to);
    return status;
}

/* Replaces the index of a source by its pruned copy. */
int index_prune(const arguments *a, index_source *s) {
    hd_memprof_index *left = NULL;
    hd_error err;
    int status;
    if (!(s->index->fields >> HD_MEMPROF_TOTAL_SIZE & 1)) {
        const char *file = s->lacking[HD_MEMPROF_TOTAL_SIZE];
        display(stderr, "heapdump: %s has no TotalSize, which --prune needs\n", file ? file : s->name);
        return BAD_INPUT;
    }
    status = index_unite(a, s);
    if (status) return status;
    if (prune_all(a, s->index, &left, &err)) return failed(s->name, &err);
    index_replace(s, left);
    return DONE;
}
