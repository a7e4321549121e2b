/* suspects of several snapshots: the bytes of each owner of new objects, and their growth. */

#include "suspects.h"

/* Columns by owner. */
typedef struct held {
    double **bytes;              /* by snapshot: bytes of the owner and its objects */
    double **machine;            /* of these, bytes of new code, shapes and feedback of the engine */
    double *fresh;               /* bytes that are new since the first snapshot: in new and in larger objects */
    double *objects;             /* new objects */
    uint32_t *spread;            /* pile.spread */
} held;

double fresh_bytes(const matched *m, uint32_t object) {
    uint32_t first = m->ids[(size_t)object * m->count];
    uint64_t size = hd_graph_object(m->shots[m->count - 1].o.graph, object).size, before = 0;
    if (first != HD_NONE) before = hd_graph_object(m->shots[0].o.graph, first).size;
    return size > before ? (double)(size - before) : 0;
}

/* By object of snapshot t: whether it is in all snapshots. To be freed. */
static uint8_t *old_objects(const owners *w, uint32_t t) {
    const matched *m = w->m;
    uint8_t *old = needed(calloc((size_t)m->shots[t].o.dominators->count + 1, 1));
    for (uint32_t o = 0; o < w->count; o++)
        if (w->kept[o]) old[m->ids[(size_t)o * m->count + t]] = 1;
    return old;
}

/* Gives an object of snapshot t to an owner (sign 1), or takes it away (-1). */
static void count_object(const matched *m, uint32_t t, const uint8_t *old, uint32_t object, uint32_t owner,
                         int sign, held *h) {
    const shot *s = &m->shots[t];
    double size = sign * (double)hd_graph_object(s->o.graph, object).size;
    bool machine = s->role[object] == MACHINE && !old[object];
    h->bytes[t][owner] += size;
    if (machine) h->machine[t][owner] += size;
    if (t + 1 < m->count) return;
    if (!machine && is_new(m, object)) h->objects[owner] += sign;
    h->fresh[owner] += sign * fresh_bytes(m, object);
}

static void count_held(const owners *w, uint32_t t, const uint32_t *owner, held *h) {
    const hd_dominators *d = w->m->shots[t].o.dominators;
    FREED uint8_t *old = old_objects(w, t);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i];
        if (owner[o] != HD_NONE) count_object(w->m, t, old, o, owner[o], 1, h);
    }
}

/* Snapshots have no time: all steps count as equally long, the one to the first snapshot too. */
uint64_t *step_times(uint32_t count) {
    uint64_t *turn = needed(malloc(count * sizeof *turn));
    for (uint32_t t = 0; t < count; t++) turn[t] = 1 + t;
    return turn;
}

static pile pile_of_owner(const owners *w, uint32_t owner) {
    pile one = { .object = owner, .point = owner, .owner = owner, .engine = !is_user_owner(w, owner) };
    if (owner < w->count) return one;
    one.object = one.point = w->variables[owner - w->count].value;
    one.scope = w->variables[owner - w->count].scope, one.variable = w->variables[owner - w->count].name;
    return one;
}

/* Takes the objects below a holder of spread growth away from owners above it: a list gives them elements that are
   new. */
static void take_below(const owners *w, const spread *one, uint32_t t, const uint32_t *owner, held *h) {
    const matched *m = w->m;
    const hd_dominators *d = m->shots[t].o.dominators;
    uint32_t holder = m->ids[(size_t)one->holder * m->count + t], from = d->position[holder];
    FREED uint8_t *old = old_objects(w, t);
    for (uint32_t i = from; i < from + d->below[holder]; i++) {
        uint32_t o = d->order[i], of = owner[o];
        if (of == HD_NONE) continue;
        if (!spread_has(m, one->holder, of < w->count ? of : w->variables[of - w->count].value))
            count_object(m, t, old, o, of, -1, h);
    }
}

/* Gives the bytes of its owners to a holder of spread growth. Its own bytes are its retained size in each
   snapshot. */
static void give_spread(matched *m, const owners *w, const spread *one, held *h) {
    const hd_dominators *d = m->shots[m->count - 1].o.dominators;
    for (uint32_t o = 0; o < w->count + w->variable_count; o++) {
        uint32_t at = o < w->count ? o : w->variables[o - w->count].value;
        if (o == one->holder || !spread_has(m, one->holder, at)) continue;
        h->objects[one->holder] += h->objects[o], h->objects[o] = h->fresh[o] = 0;
        for (uint32_t t = 0; t < m->count; t++) {
            h->machine[t][one->holder] += h->machine[t][o];
            h->bytes[t][o] = h->machine[t][o] = 0;
        }
    }
    for (uint32_t t = 0; t < m->count; t++) {
        uint32_t holder = m->ids[(size_t)one->holder * m->count + t];
        h->bytes[t][one->holder] = (double)m->shots[t].o.dominators->retained[holder];
    }
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i];
        if (spread_has(m, one->holder, o)) m->owner[o] = one->holder;
        else if (m->owner[o] == one->holder) m->owner[o] = HD_NONE;
    }
    h->fresh[one->holder] = one->fresh, h->spread[one->holder] = one->number;
}

static void find_spreads(matched *m, const owners *w, held *h) {
    uint32_t n = w->count + w->variable_count, count;
    FREED double *growth = needed(malloc(((size_t)n + 1) * sizeof *growth));
    spread found[MOST_SPREAD];
    for (uint32_t o = 0; o < n; o++) {
        growth[o] = h->bytes[m->count - 1][o] - h->bytes[0][o];
        if (growth[o] > h->fresh[o]) growth[o] = h->fresh[o];
    }
    count = find_spread(w, growth, found);
    for (uint32_t t = 0; count && t < m->count; t++) {
        bool last = t + 1 == m->count;
        uint32_t *owner = last ? m->owner : owners_in(w, t);
        for (uint32_t i = 0; i < count; i++) take_below(w, &found[i], t, owner, h);
        if (!last) free(owner);
    }
    for (uint32_t i = 0; i < count; i++) give_spread(m, w, &found[i], h);
}

/* New code, shapes and feedback are part of the growth, but not of the score: they show the engine at work, not a
   leak. */
static void find_trends(const owners *w, const held *h, pile *piles, uint32_t *found) {
    const matched *m = w->m;
    const shot *last = &m->shots[m->count - 1];
    FREED uint64_t *turn = step_times(m->count);
    FREED double *v = needed(malloc(m->count * sizeof *v)), *lean = needed(malloc(m->count * sizeof *lean));
    for (uint32_t o = 0; o < w->count + w->variable_count; o++) {
        pile one = pile_of_owner(w, o);
        double score;
        for (uint32_t t = 0; t < m->count; t++) {
            v[t] = h->bytes[t][o];
            lean[t] = v[t] - h->machine[t][o];
        }
        if (one.engine && is_pseudo_root(last, one.object)) continue;
        if (lean[m->count - 1] <= lean[0] || !last->o.dominators->below[one.object]) continue;
        score = trend_of(lean, turn, m->count).score;
        one.spread = h->spread[o];
        one.trend = trend_of(v, turn, m->count);
        one.trend.score = score;
        if (one.trend.growth > h->fresh[o]) one.trend.growth = h->fresh[o];
        one.trend.score *= occasions(one.trend.growth, h->objects[o]);
        if (one.trend.score > 0 && one.trend.growth > 0) put_pile_in(piles, found, one);
    }
}

/* The new bytes of a suspect that its object does not dominate: other objects hold them, too. */
static void find_shared(const matched *m, pile *p) {
    const hd_dominators *d = m->shots[m->count - 1].o.dominators;
    uint32_t from = d->position[p->object], to = from + d->below[p->object];
    for (uint32_t i = 0; i < d->reached; i++)
        if (m->owner[d->order[i]] == p->owner && (i < from || i >= to)) p->shared += fresh_bytes(m, d->order[i]);
    if (p->shared > p->trend.growth) p->shared = p->trend.growth;
}

/* By object: new bytes of a suspect in its subtree of the dominator tree. *all: all new bytes of the suspect. */
static double *fresh_below(const matched *m, const pile *p, double *all) {
    const hd_dominators *d = m->shots[m->count - 1].o.dominators;
    double *fresh = needed(calloc((size_t)d->count + 1, sizeof *fresh));
    *all = 0;
    for (uint32_t i = d->reached; i--;) {
        uint32_t o = d->order[i];
        double own = m->owner[o] == p->owner ? fresh_bytes(m, o) : 0;
        *all += own, fresh[o] += own;
        if (d->parent[o] != HD_NONE) fresh[d->parent[o]] += fresh[o];
    }
    return fresh;
}

/* The child in the dominator tree with most new bytes, except one; HD_NONE: none has any. */
static uint32_t freshest_child(const hd_dominators *d, const double *fresh, uint32_t object, uint32_t except) {
    uint32_t best = HD_NONE, end = d->position[object] + d->below[object];
    for (uint32_t at = d->position[object] + 1, o; at < end; at += d->below[o]) {
        o = d->order[at];
        if (o != except && fresh[o] > (best == HD_NONE ? 0 : fresh[best])) best = o;
    }
    return best;
}

/* Descends to the point where the new bytes of a suspect fan out. Old objects may retain more but explain nothing. */
static void find_grown_point(const matched *m, pile *p) {
    const shot *s = &m->shots[m->count - 1];
    const hd_dominators *d = s->o.dominators;
    double all, *fresh = fresh_below(m, p, &all);
    for (uint32_t next; !p->elements; p->point = next) {
        chain c;
        uint32_t list = whole_chain_from(s, p->point, &c);
        bool goes_on;
        next = list ? HD_NONE : freshest_child(d, fresh, p->point, HD_NONE);
        for (uint32_t i = 0; list && i < c.count; i++) {
            uint32_t after = i + 1 < c.count ? c.part[i + 1].object : HD_NONE;
            uint32_t beside = freshest_child(d, fresh, c.part[i].object, after);
            if (beside != HD_NONE && (next == HD_NONE || fresh[beside] > fresh[next])) next = beside;
        }
        goes_on = next != HD_NONE && fresh[next] > MOST_OF_IT * fresh[p->point] && 2 * fresh[next] > all;
        if (list && !goes_on && fresh[p->point] > 0) p->elements = list;
        if (list) free(c.part);
        if (!goes_on) break;
    }
    free(fresh);
}

/* Drops suspects that grew by less than 0.1 % of the heap, if they did not grow in every step or have less than 0.1 %
   of the largest growth. Keeps all if none would remain. */
static uint32_t drop_tiny(const matched *m, pile *piles, uint32_t n) {
    double least = (double)m->shots[m->count - 1].o.dominators->bytes / 1000, most = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (piles[i].trend.growth > most) most = piles[i].trend.growth;
    for (uint32_t i = 0; i < n; i++) {
        pile one = piles[i];
        if (one.trend.growth < least && (one.trend.ups + 1 < m->count || 1000 * one.trend.growth < most)) continue;
        piles[i] = piles[kept], piles[kept++] = one;
    }
    return kept ? kept : n;
}

uint32_t find_growing(matched *m, pile *piles) {
    uint32_t found = 0;
    size_t n;
    owners w;
    held h;
    owners_open(m, &w);
    n = (size_t)w.count + w.variable_count + 1;
    h.bytes = needed(calloc(m->count, sizeof *h.bytes)), h.machine = needed(calloc(m->count, sizeof *h.machine));
    h.fresh = needed(calloc(n, sizeof *h.fresh)), h.objects = needed(calloc(n, sizeof *h.objects));
    h.spread = needed(calloc(n, sizeof *h.spread));
    for (uint32_t t = 0; t < m->count; t++) {
        uint32_t *owner = owners_in(&w, t);
        h.bytes[t] = needed(calloc(n, sizeof **h.bytes)), h.machine[t] = needed(calloc(n, sizeof **h.machine));
        count_held(&w, t, owner, &h);
        if (t + 1 < m->count) free(owner);
        else m->owner = owner;
    }
    find_spreads(m, &w, &h);
    find_trends(&w, &h, piles, &found);
    while (found && piles[found - 1].engine && !piles[0].engine) found--;
    found = drop_tiny(m, piles, found);
    for (uint32_t i = 0; i < found; i++) find_shared(m, &piles[i]), find_grown_point(m, &piles[i]);
    for (uint32_t t = 0; t < m->count; t++) free(h.bytes[t]), free(h.machine[t]);
    free(h.bytes), free(h.machine), free(h.fresh), free(h.objects), free(h.spread);
    owners_free(&w);
    return found;
}
