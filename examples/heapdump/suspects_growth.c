/* suspects of several snapshots: new objects belong to the nearest object that is in all of them. */

#include "suspects_graph.h"

static uint32_t *column(size_t n) {
    uint32_t *list = needed(malloc((n + 1) * sizeof *list));
    memset(list, 0xff, (n + 1) * sizeof *list);
    return list;
}

/* Old is what is in all snapshots, and alive in all. */
static bool is_kept(const matched *m, uint32_t object) {
    for (uint32_t t = 0; t < m->count; t++) {
        uint32_t own = m->ids[(size_t)object * m->count + t];
        if (own == HD_NONE || !m->shots[t].o.dominators->below[own]) return false;
    }
    return true;
}

/* Tables and texts count for the program's object that has them, in the last snapshot, and elements of a list for the
   object that has the list: it may drop some at one end while it grows at the other. */
static uint32_t *users_of(const matched *m, const uint8_t *kept, const uint32_t *first) {
    const shot *last = &m->shots[m->count - 1];
    const hd_dominators *d = last->o.dominators;
    uint32_t *user = column(d->count), *list = column(d->count); /* list: by first element, the user of all */
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o], of = above == HD_NONE ? HD_NONE : user[above];
        bool good = of != HD_NONE && is_user(last, of);
        if (kept[o] && first[o] != HD_NONE) {
            uint32_t top = d->parent[first[o]];
            of = top == HD_NONE ? HD_NONE : user[top];
            good = of != HD_NONE && last->role[of] == OF_PROGRAM && !is_global(last, of);
            if (list[first[o]] == HD_NONE) list[first[o]] = good ? of : o;
            user[o] = list[first[o]];
        } else user[o] = kept[o] && (is_user(last, o) || last->role[o] == ROOTS || !good) ? o : of;
    }
    free(list);
    return user;
}

/* Whether an object's dominator holds it itself; else several of the objects below that share it. A byte per object. */
static uint8_t *held_directly(const shot *s) {
    const hd_dominators *d = s->o.dominators;
    uint8_t *direct = needed(calloc((size_t)d->count + 1, 1));
    for (uint32_t i = 0; i < d->reached; i++) {
        hd_object o = hd_graph_object(s->o.graph, d->order[i]);
        for (uint32_t r = 0; r < o.reference_count; r++)
            if (d->parent[o.references[r]] == d->order[i] && (!o.kinds || o.kinds[r] == HD_REFERENCE_STRONG))
                direct[o.references[r]] = 1;
    }
    return direct;
}

/* One of them that is the program's, if there is any. */
static uint32_t better(const shot *last, uint32_t one, uint32_t other) {
    return one == HD_NONE || (!is_user(last, one) && other != HD_NONE && is_user(last, other)) ? other : one;
}

/* By object of a snapshot the old object, as number in the last one, that it counts for. */
static uint32_t *owners_of(const matched *m, uint32_t t, const uint8_t *kept, const uint32_t *user) {
    const shot *s = &m->shots[t], *last = &m->shots[m->count - 1];
    const hd_dominators *d = s->o.dominators;
    uint32_t *old = column(d->count), *on_way = column(d->count), *owner = column(d->count);
    uint8_t *direct = held_directly(s);
    for (uint32_t o = 0; o < last->o.dominators->count; o++)
        if (kept[o]) old[m->ids[(size_t)o * m->count + t]] = o;
    for (uint32_t i = 0; i < s->ways.count; i++) {
        uint32_t o = s->ways.order[i], holder = s->ways.held_by[o];
        on_way[o] = better(last, old[o] == HD_NONE ? HD_NONE : user[old[o]], holder == HD_NONE ? HD_NONE : on_way[holder]);
    }
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o];
        if (old[o] != HD_NONE) owner[o] = user[old[o]];
        else if (above == HD_NONE || (old[above] != HD_NONE && !direct[o])) owner[o] = on_way[o];
        else owner[o] = better(last, owner[above], on_way[o]);
    }
    free(old), free(on_way), free(direct);
    return owner;
}

/* What old objects hold beyond other old ones, by object of the last snapshot. */
typedef struct held {
    double **bytes;              /* by snapshot */
    double *fresh;               /* that are new since the first snapshot, or by which objects became larger */
    double *objects;             /* new ones */
} held;

/* Code that was compiled, and shapes and feedback of objects, are the engine at work and not what a program keeps. */
static void count_held(const matched *m, uint32_t t, const uint8_t *kept, const uint32_t *user, held *h) {
    const shot *s = &m->shots[t];
    const hd_dominators *d = s->o.dominators;
    uint32_t *owner = owners_of(m, t, kept, user);
    uint8_t *old = needed(calloc((size_t)d->count + 1, 1));
    for (uint32_t o = 0; o < m->shots[m->count - 1].o.dominators->count; o++)
        if (kept[o]) old[m->ids[(size_t)o * m->count + t]] = 1;
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], first;
        uint64_t size = hd_graph_object(s->o.graph, o).size, before = 0;
        if (owner[o] == HD_NONE || (s->role[o] == MACHINE && !old[o])) continue;
        h->bytes[t][owner[o]] += (double)size;
        if (t + 1 < m->count) continue;
        first = m->ids[(size_t)o * m->count];
        if (first != HD_NONE) before = hd_graph_object(m->shots[0].o.graph, first).size;
        else h->objects[owner[o]]++;
        if (size > before) h->fresh[owner[o]] += (double)(size - before);
    }
    free(owner), free(old);
}

/* Snapshots do not say when they were taken: as if each step, the one to the first too, had been as long. */
uint64_t *step_times(uint32_t count) {
    uint64_t *turn = needed(malloc(count * sizeof *turn));
    for (uint32_t t = 0; t < count; t++) turn[t] = 1 + t;
    return turn;
}

/* A list that a scope's variable holds may have lost elements that counted for the scope. */
static double held_in(const held *h, uint32_t t, uint32_t o, uint32_t scope) {
    return h->bytes[t][o] + (scope == HD_NONE ? 0 : h->bytes[t][scope]);
}

static void find_trends(const matched *m, const uint8_t *kept, const uint32_t *user, const uint32_t *first, const held *h, pile *piles, uint32_t *found) {
    const shot *last = &m->shots[m->count - 1];
    const hd_dominators *d = last->o.dominators;
    uint64_t *turn = step_times(m->count);
    double *v = needed(malloc(m->count * sizeof *v));
    for (uint32_t o = 0; o < d->count; o++) {
        pile one = { .object = o, .point = o };
        uint32_t scope = HD_NONE;
        if (!kept[o] || h->bytes[m->count - 1][o] <= h->bytes[0][o]) continue;
        if (first[o] != HD_NONE) scope = d->parent[first[o]];
        if (scope != HD_NONE) scope = user[scope];
        if (scope == o || (scope != HD_NONE && h->bytes[m->count - 1][scope] >= h->bytes[0][scope])) scope = HD_NONE;
        for (uint32_t t = 0; t < m->count; t++) v[t] = held_in(h, t, o, scope);
        one.trend = trend_of(v, turn, m->count);
        if (one.trend.growth > h->fresh[o]) one.trend.growth = h->fresh[o];
        one.trend.score *= occasions(one.trend.growth, h->objects[o]);
        one.bytes = (double)d->retained[o];
        one.engine = !is_user(last, o);
        if (one.trend.score > 0 && one.trend.growth > 0) put_pile_in(piles, found, one);
    }
    free(turn), free(v);
}

uint32_t find_growing(const matched *m, pile *piles) {
    const shot *last = &m->shots[m->count - 1];
    uint32_t n = last->o.dominators->count, found = 0, *user, *first = list_firsts(last);
    uint8_t *kept = needed(calloc((size_t)n + 1, 1));
    held h = { needed(calloc(m->count, sizeof *h.bytes)), needed(calloc((size_t)n + 1, sizeof *h.fresh)),
               needed(calloc((size_t)n + 1, sizeof *h.objects)) };
    for (uint32_t o = 0; o < n; o++) kept[o] = is_kept(m, o);
    user = users_of(m, kept, first);
    for (uint32_t t = 0; t < m->count; t++) {
        h.bytes[t] = needed(calloc((size_t)n + 1, sizeof **h.bytes));
        count_held(m, t, kept, user, &h);
    }
    find_trends(m, kept, user, first, &h, piles, &found);
    while (found && piles[found - 1].engine && !piles[0].engine) found--;
    for (uint32_t i = 0; i < found; i++) find_point(last, piles[i].object, &piles[i].point, &piles[i].elements);
    for (uint32_t t = 0; t < m->count; t++) free(h.bytes[t]);
    free(h.bytes), free(h.fresh), free(h.objects), free(user), free(first), free(kept);
    return found;
}
