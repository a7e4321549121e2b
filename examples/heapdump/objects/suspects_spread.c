/* suspects of several snapshots: growth that is spread over many old objects, the nodes of a tree for example. An
   object that dominates them explains it; none of them does. */

#include "suspects.h"

enum {
    EXPLAINS = 3,                /* an owner with a third of the growth explains it */
    LOOKED_AT = 10,              /* a tenth of all growth is looked at */
    REST = 4,                    /* with a quarter as many nodes outside, a subtree is part of a larger tree */
    ALIKE = 6                    /* this many fields with objects of one class are a collection */
};

typedef struct spread_walk {
    const owners *w;
    const shot *s;               /* the last snapshot */
    const double *growth;        /* by owner */
    double *sum, *most;          /* by object: growth of owners below it, together and of the largest */
    uint32_t *number;            /* by object: owners below it that grew */
    spread *found;
    uint32_t count;
} spread_walk;

static uint32_t place_of(const owners *w, uint32_t owner) {
    return owner < w->count ? owner : w->variables[owner - w->count].value;
}

static void sum_growth(spread_walk *a) {
    const hd_dominators *d = a->s->o.dominators;
    for (uint32_t o = 0; o < a->w->count + a->w->variable_count; o++) {
        uint32_t at = place_of(a->w, o);
        if (a->growth[o] <= 0 || !is_user_owner(a->w, o)) continue;
        a->sum[at] += a->growth[o], a->number[at]++;
        if (a->growth[o] > a->most[at]) a->most[at] = a->growth[o];
    }
    for (uint32_t i = d->reached; i--;) {
        uint32_t o = d->order[i], above = d->parent[o];
        if (above == HD_NONE) continue;
        a->sum[above] += a->sum[o], a->number[above] += a->number[o];
        if (a->most[o] > a->most[above]) a->most[above] = a->most[o];
    }
}

/* Whether an object of the program can explain the growth below it: it must not dominate unrelated objects. */
static bool can_explain(const spread_walk *a, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(a->s->o.dump);
    if (a->s->role[object] != OF_PROGRAM || !a->w->kept[object]) return false;
    if (is_global(a->s, object) || is_of_node(a->s, object)) return false;
    return !v8 || !hd_str_equal(hd_v8_type(v8, object), hd_cstr("closure"));
}

/* The object itself, or the owner of a table; HD_NONE: none. */
static uint32_t explainer(const spread_walk *a, uint32_t object) {
    const hd_dominators *d = a->s->o.dominators;
    while (object != HD_NONE && !can_explain(a, object)) {
        role r = (role)a->s->role[object];
        if (r != TABLE && r != DATA && (r != OF_PROGRAM || a->w->kept[object])) return HD_NONE;
        object = d->parent[object];
    }
    return object;
}

/* Whether the growth is in named fields that are unrelated: the services of a program. */
static bool has_services(const spread_walk *a, uint32_t object) {
    const hd_dominators *d = a->s->o.dominators;
    uint32_t end = d->position[object] + d->below[object], alike = 0, like = HD_NONE, votes = 0;
    double named = 0;
    if (a->s->role[object] != OF_PROGRAM) return false;
    for (uint32_t at = d->position[object] + 1, o, r; at < end; at += d->below[o]) {
        o = d->order[at];
        if (a->sum[o] <= 0) continue;
        if (!votes) like = a->s->class_of[o];
        if (a->s->class_of[o] == like) votes++;
        else votes--;
        r = reference_between(&a->s->o, object, o);
        if (r != HD_NONE && label_of(&a->s->o, object, r).known >= PROPERTY) named += a->sum[o];
    }
    for (uint32_t at = d->position[object] + 1; at < end; at += d->below[d->order[at]])
        alike += a->sum[d->order[at]] > 0 && a->s->class_of[d->order[at]] == like;
    return 2 * named > a->sum[object] && alike < ALIKE && like != a->s->class_of[object];
}

/* By class: whether objects of it are new below an object, or are owners. Freed by the caller. */
static uint8_t *growing_classes(const spread_walk *a, uint32_t object) {
    const hd_dominators *d = a->s->o.dominators;
    uint8_t *grows = needed(calloc((size_t)hd_graph_class_count(a->s->o.graph) + 1, 1));
    for (uint32_t at = d->position[object]; at < d->position[object] + d->below[object]; at++) {
        uint32_t o = d->order[at];
        if (is_new(a->w->m, o) || (o < a->w->count && a->growth[o] > 0)) grows[a->s->class_of[o]] = 1;
    }
    return grows;
}

/* Whether many objects below `above` are like `object` and are not below that: the rest of the tree or list. */
static bool has_rest(const spread_walk *a, uint32_t above, uint32_t object) {
    const hd_dominators *d = a->s->o.dominators;
    uint32_t from = d->position[object], end = from + d->below[object], inside = 0, rest = 0;
    for (uint32_t at = d->position[above]; at < d->position[above] + d->below[above]; at++) {
        bool alike = a->s->class_of[d->order[at]] == a->s->class_of[object];
        if (at >= from && at < end) inside += alike;
        else rest += alike;
    }
    return rest >= inside / REST;
}

/* Nodes of a tree or list do not name it: the object that has its root does, if it has little else. */
static uint32_t above_nodes(const spread_walk *a, uint32_t object) {
    const hd_dominators *d = a->s->o.dominators;
    FREED uint8_t *grows = growing_classes(a, object);
    for (uint32_t at = object; grows[a->s->class_of[object]]; object = at) {
        if ((at = d->parent[at]) == HD_NONE || (at = explainer(a, at)) == HD_NONE) break;
        if ((double)d->retained[object] <= MOST_OF_IT * (double)d->retained[at] && !has_rest(a, at, object)) break;
    }
    return object;
}

bool spread_has(const matched *m, uint32_t holder, uint32_t object) {
    const hd_dominators *d = m->shots[m->count - 1].o.dominators;
    return d->below[object] && d->position[object] - d->position[holder] < d->below[holder];
}

/* The growth of an object's retained size, at most the new bytes below it. */
static double growth_below(const spread_walk *a, uint32_t object, double *fresh) {
    const matched *m = a->w->m;
    const hd_dominators *d = a->s->o.dominators;
    double grown = (double)d->retained[object];
    grown -= (double)m->shots[0].o.dominators->retained[m->ids[(size_t)object * m->count]];
    *fresh = 0;
    for (uint32_t at = d->position[object]; at < d->position[object] + d->below[object]; at++)
        *fresh += fresh_bytes(m, d->order[at]);
    return grown < *fresh ? grown : *fresh;
}

/* Adds the object that explains the growth below another one; false if no object does. */
static bool add_spread(spread_walk *a, uint32_t object) {
    uint32_t holder = explainer(a, object);
    double grown, fresh;
    if (a->number[object] <= MOST_PILES || EXPLAINS * a->most[object] >= a->sum[object]) return false;
    if (holder == HD_NONE || has_services(a, object)) return false;
    holder = above_nodes(a, holder);
    grown = growth_below(a, holder, &fresh);
    if (EXPLAINS * a->most[holder] >= a->sum[holder] || 2 * grown < a->sum[holder]) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (spread_has(a->w->m, holder, a->found[i].holder) || spread_has(a->w->m, a->found[i].holder, holder))
            return false;
    a->found[a->count++] = (spread){ holder, a->number[holder], fresh };
    return true;
}

/* Descends to where growth fans out. If no object explains the growth there, continues with each part that has a
   tenth of all growth. */
uint32_t find_spread(const owners *w, const double *growth, spread found[MOST_SPREAD]) {
    const shot *s = &w->m->shots[w->m->count - 1];
    const hd_dominators *d = s->o.dominators;
    size_t n = (size_t)w->count + 1;
    spread_walk a = { w, s, growth, needed(calloc(n, sizeof(double))), needed(calloc(n, sizeof(double))),
                      needed(calloc(n, sizeof(uint32_t))), found, 0 };
    double least = 0;
    sum_growth(&a);
    for (uint32_t at = 0; at < d->reached; at += d->below[d->order[at]]) least += a.sum[d->order[at]] / LOOKED_AT;
    for (uint32_t at = 0; least > 0 && at < d->reached;) {
        uint32_t o = d->order[at], end = at + d->below[o];
        double most = 0;
        bool fans_out;
        for (uint32_t k = at + 1; k < end && a.sum[o] >= least; k += d->below[d->order[k]])
            if (a.sum[d->order[k]] > most) most = a.sum[d->order[k]];
        fans_out = most <= MOST_OF_IT * a.sum[o] && a.count < MOST_SPREAD;
        if (a.sum[o] < least || (fans_out && add_spread(&a, o))) at = end;
        else at++;
    }
    free(a.sum), free(a.most), free(a.number);
    return a.count;
}
