/* suspects: linked lists, in the dominator tree and on the shortest paths. */

#include "suspects_graph.h"

enum { MOST_PERIOD = 6 };        /* objects that alternate in a list: an object, its closure, the closure's context */

uint32_t reference_to(const shot *s, uint32_t from, uint32_t to) {
    hd_object o = hd_graph_object(s->o.graph, from);
    for (uint32_t r = 0; r < o.reference_count; r++)
        if (o.references[r] == to && (!o.kinds || o.kinds[r] == HD_REFERENCE_STRONG)) return r;
    return HD_NONE;
}

static void chain_push(chain *c, uint32_t object, hd_str field) {
    if (!(c->count & (c->count - 1)))
        c->part = needed(realloc(c->part, (c->count ? 2 * (size_t)c->count : 1) * sizeof *c->part));
    c->part[c->count++] = (struct chain_part){ object, field };
}

/* Whether a part continues the list: it has class and field of the part `period` before it. The first part may have
   another field. */
static bool is_like(const shot *s, const struct chain_part *part, uint32_t at, uint32_t period) {
    const struct chain_part *x = &part[at], *y = &part[at - period];
    return s->class_of[x->object] == s->class_of[y->object] && x->field.len &&
           (at == period || hd_str_equal(x->field, y->field));
}

/* Appends the next part: an object that the last part holds and dominates, of the expected class and field. */
static bool chain_grow(const shot *s, chain *c) {
    const hd_dominators *d = s->o.dominators;
    uint32_t last = c->part[c->count - 1].object, like = c->count - c->period, best = HD_NONE;
    hd_object o = hd_graph_object(s->o.graph, last);
    hd_str field = c->part[like].field;
    for (uint32_t r = 0; r < o.reference_count; r++) {
        uint32_t to = o.references[r];
        if (d->parent[to] != last || s->class_of[to] != s->class_of[c->part[like].object]) continue;
        if (o.kinds && o.kinds[r] != HD_REFERENCE_STRONG) continue;
        if (best != HD_NONE && d->retained[to] <= d->retained[best]) continue;
        if (hd_str_equal(label_of(&s->o, last, r).name, field)) best = to;
    }
    if (best != HD_NONE) chain_push(c, best, field);
    return best != HD_NONE;
}

/* Whether an object has two children of one class that retain about the same: a tree. */
static bool has_twins(const shot *s, uint32_t object, uint32_t child) {
    const hd_dominators *d = s->o.dominators;
    hd_object o = hd_graph_object(s->o.graph, object);
    for (uint32_t r = 0; r < o.reference_count; r++) {
        uint32_t to = o.references[r];
        if (to != child && s->class_of[to] == s->class_of[child] && d->parent[to] == object &&
            2 * d->retained[to] > d->retained[child]) return true;
    }
    return false;
}

/* Three elements along the heaviest children make a list. Later elements need not be the heaviest child. Groups of
   roots that lead to each other are no list. */
bool chain_from(const shot *s, uint32_t object, chain *c) {
    memset(c, 0, sizeof *c);
    if (s->role[object] == ROOTS) return false;
    chain_push(c, object, hd_cstr(""));
    while (c->count <= 2 * MOST_PERIOD) {
        uint32_t last = c->part[c->count - 1].object, next = s->heaviest[last];
        uint32_t r = next == HD_NONE ? HD_NONE : reference_to(s, last, next);
        if (r == HD_NONE) break;
        chain_push(c, next, label_of(&s->o, last, r).name);
    }
    for (uint32_t p = 1; p <= MOST_PERIOD && 2 * p < c->count && !c->period; p++) {
        uint32_t n = p;
        while (n <= 2 * p && is_like(s, c->part, n, p)) n++;
        if (n > 2 * p) c->period = p, c->count = n;
    }
    for (uint32_t i = 1; i <= c->period; i++)
        if (has_twins(s, c->part[i - 1].object, c->part[i].object)) c->period = 0;
    for (uint32_t i = 1; i < c->period; i++) /* the first part is an object of the program */
        if (s->role[c->part[i].object] < s->role[object] || (s->closure[object] && !s->closure[c->part[i].object] &&
                                                             s->role[c->part[i].object] == OF_PROGRAM))
            c->period = 0;
    if (!c->period) return free(c->part), false;
    while (chain_grow(s, c)) {}
    c->elements = (c->count - 1) / c->period + 1;
    c->count = (c->elements - 1) * c->period + 1;
    return true;
}

/* A cheap test by class whether a list may begin here. */
static bool may_repeat(const shot *s, uint32_t object) {
    uint32_t at = object;
    for (uint32_t p = 1; p <= MOST_PERIOD && (at = s->heaviest[at]) != HD_NONE; p++)
        if (s->class_of[at] == s->class_of[object]) return true;
    return false;
}

uint32_t *list_firsts(const shot *s) {
    const hd_dominators *d = s->o.dominators;
    uint32_t *first = needed(malloc(((size_t)d->count + 1) * sizeof *first));
    memset(first, 0xff, ((size_t)d->count + 1) * sizeof *first);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t object = d->order[i];
        chain c;
        if (first[object] != HD_NONE || !may_repeat(s, object) || !chain_from(s, object, &c)) continue;
        for (uint32_t k = 0; k < c.count; k++)
            if (first[c.part[k].object] == HD_NONE) first[c.part[k].object] = object;
        free(c.part);
    }
    return first;
}

/* On the shortest paths. ------------------------------------------------------------------------ */

/* Whether two objects have one class and field. */
static bool is_held_like(const shot *s, uint32_t x, uint32_t y) {
    return s->class_of[x] == s->class_of[y] && s->label[x] == s->label[y] && s->closure[x] == s->closure[y];
}

/* Whether the path to an object ends with three equal periods; `part` gets their objects, the last first. The first
   object may have another field. */
static bool repeats(const shot *s, uint32_t object, uint32_t period, uint32_t part[3 * MOST_PERIOD]) {
    uint32_t n = 0;
    for (; object != HD_NONE && n < 3 * period; object = s->ways.held_by[object]) part[n++] = object;
    if (n < 3 * period || s->class_of[part[2 * period - 1]] != s->class_of[part[n - 1]]) return false;
    for (uint32_t i = 0; i + 1 < 2 * period; i++)
        if (!is_held_like(s, part[i], part[i + period])) return false;
    return true;
}

uint32_t *way_heads(const shot *s) {
    uint32_t n = hd_graph_object_count(s->o.graph), part[3 * MOST_PERIOD];
    uint32_t *head = needed(malloc(((size_t)n + 1) * sizeof *head));
    uint8_t *period = needed(calloc((size_t)n + 1, 1));
    for (uint32_t i = 0; i < s->ways.count; i++) {
        uint32_t o = s->ways.order[i], h = s->ways.held_by[o], like = o;
        head[o] = o;
        if (h == HD_NONE || s->role[o] == ROOTS) continue;
        for (uint32_t k = 0; k < period[h] && like != HD_NONE; k++) like = s->ways.held_by[like];
        if (period[h] && like != HD_NONE && is_held_like(s, o, like)) {
            period[o] = period[h], head[o] = head[like];
            continue;
        }
        for (uint32_t p = 1; p <= MOST_PERIOD && !period[o]; p++) {
            if (!repeats(s, o, p, part)) continue;
            period[o] = (uint8_t)p;
            for (uint32_t k = 0; k < 2 * p; k++) head[part[k]] = part[2 * p + k % p];
        }
    }
    free(period);
    return head;
}
