/* Looks up hints of one profile for the contexts of another. */

#include "hints.h"

/* The number of frames to which a hint applies; 1 if all contexts of the allocation have one hint. */
static uint32_t keys_depth(const index_hints *h, const index_context *c) {
    uint32_t n = index_length(h, c->block);
    return c->depth > n ? n : c->depth ? c->depth : 1;
}

/* Orders two contexts by their first `depth` frames. Both must have these frames. */
static int keys_frame_order(const index_hints *h, uint32_t x, const index_hints *of, uint32_t y, uint32_t depth) {
    int order = 0;
    for (uint32_t i = 0; i < depth && !order; i++)
        order = index_place_order(index_location(h, x, i), index_location(of, y, i));
    return order;
}

static int keys_order(const void *a, const void *b, void *user) {
    const hints_key *x = a, *y = b;
    int order;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    order = keys_frame_order(user, x->context->block, user, y->context->block, x->depth);
    if (order) return order;
    return x->context->block < y->context->block ? -1 : x->context->block > y->context->block;
}

/* Makes one key for all contexts that share its frames. If their hints differ, the key says not cold. */
void hints_keys_make(hints_keys *k, const index_hints *h) {
    hints_key *last = NULL;
    *k = (hints_keys){ .h = h, .keys = needed(calloc(h->count + 1, sizeof *k->keys)),
                       .of = needed(calloc(h->count + 1, sizeof *k->of)) };
    for (size_t i = 0; i < h->count; i++) {
        const index_context *c = &h->contexts[i];
        hints_key *key = &k->keys[i];
        key->context = c;
        key->depth = keys_depth(h, c);
        key->hint = c->hint;
        for (uint32_t d = 0; d < key->depth; d++) key->hash = index_hash(key->hash, index_id(h, c->block, d));
    }
    if (h->count) qsort_r(k->keys, h->count, sizeof *k->keys, keys_order, (void *)(uintptr_t)h);
    for (size_t i = 0; i < h->count; i++) {
        const hints_key key = k->keys[i];
        if (!last || last->hash != key.hash || last->depth != key.depth ||
            keys_frame_order(h, last->context->block, h, key.context->block, key.depth)) {
            last = &k->keys[k->count++];
            *last = key;
        } else if (last->hint != key.hint) last->hint = HD_MEMPROF_NOT_COLD;
        k->of[key.context - h->contexts] = (size_t)(last - k->keys);
    }
}

void hints_keys_free(hints_keys *k) {
    free(k->keys);
    free(k->of);
}

static hints_key *keys_find(const hints_keys *k, uint64_t hash, const index_hints *of, uint32_t block,
                            uint32_t depth) {
    size_t low = KEYS_BELOW(k->keys, k->count, hash, hash);
    for (; low < k->count && k->keys[low].hash == hash; low++)
        if (k->keys[low].depth == depth && !keys_frame_order(k->h, k->keys[low].context->block, of, block, depth))
            return &k->keys[low];
    return NULL;
}

/* Finds the hint with the most callers. A whole call stack has its own hint if longer stacks that begin with it are
   distinguished by their callers. */
hints_key *hints_look_up(const hints_keys *k, const index_hints *of, uint32_t block) {
    hints_key *found = NULL;
    uint64_t hash = 0;
    for (uint32_t d = 0; d < index_length(of, block); d++) {
        hints_key *longer;
        hash = index_hash(hash, index_id(of, block, d));
        longer = keys_find(k, hash, of, block, d + 1);
        if (longer) found = longer;
    }
    return found;
}
