/* suspects of one snapshot: walks the dominator tree down to the points where retained bytes fan out. */

#include "suspects.h"

enum {
    ALIKE = 6,                   /* this many large children of one class make a collection, with any names */
    LISTED = 20                  /* a twentieth of the heap is listed */
};

bool is_user(const shot *s, uint32_t object) { return s->role[object] <= SCOPE; }

static bool retains_most(const hd_dominators *d, uint32_t child, uint32_t parent) {
    return (double)d->retained[child] > MOST_OF_IT * (double)d->retained[parent];
}

/* Children in the dominator tree. */
typedef struct children {
    const hd_dominators *d;
    uint32_t at, end;            /* positions */
} children;

static children children_of(const hd_dominators *d, uint32_t object) {
    return (children){ d, d->position[object] + 1, d->position[object] + d->below[object] };
}

static uint32_t next_child(children *c) {
    uint32_t object;
    if (c->at >= c->end) return HD_NONE;
    object = c->d->order[c->at];
    c->at += c->d->below[object];
    return object;
}

/* The largest child of a list that is not an element. */
static uint32_t heaviest_beside(const shot *s, const chain *c) {
    const hd_dominators *d = s->o.dominators;
    uint32_t best = HD_NONE;
    for (uint32_t i = 0; i < c->count; i++) {
        children all = children_of(d, c->part[i].object);
        for (uint32_t o; (o = next_child(&all)) != HD_NONE;)
            if ((i + 1 == c->count || o != c->part[i + 1].object) &&
                (best == HD_NONE || d->retained[o] > d->retained[best])) best = o;
    }
    return best;
}

/* The walk. ------------------------------------------------------------------------------------ */

/* The state of the walk. */
typedef struct walk {
    const shot *s;
    uint64_t least;
    uint32_t *waiting, count;
    pile *piles;
    uint32_t found;
    struct scope_rest { uint32_t point; double bytes; } *rest; /* scopes: bytes outside of their large children */
    uint32_t rest_count;
    uint8_t *direct;             /* by object: its dominator refers to it */
    double *weight;              /* by small object below a scope that several objects share: retained bytes */
    double spread;               /* bytes in small children along the way to a point */
} walk;

static void wait(walk *w, uint32_t object) {
    if (!(w->count & (w->count - 1)))
        w->waiting = needed(realloc(w->waiting, (w->count ? 2 * (size_t)w->count : 1) * sizeof *w->waiting));
    w->waiting[w->count++] = object;
}

/* Queues all large children but one. Returns the bytes that they retain. */
static uint64_t wait_for_large(walk *w, uint32_t object, uint32_t but) {
    const hd_dominators *d = w->s->o.dominators;
    children all = children_of(d, object);
    uint64_t bytes = 0;
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;)
        if (o != but && d->retained[o] >= w->least) wait(w, o), bytes += d->retained[o];
    return bytes;
}

bool is_global(const shot *s, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    return v8 && s->ways.held_by[object] == 0 && s->ways.by[object] != HD_NONE &&
           hd_str_equal(hd_v8_edge_type(v8, 0, s->ways.by[object]), hd_cstr("shortcut"));
}

bool is_loose(const shot *s, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    role r = (role)s->role[object];
    if (s->java && r == TABLE && s->heaviest[object] != HD_NONE && s->role[s->heaviest[object]] == ROOTS) return true;
    return r == ROOTS || r == SCOPE || r == MACHINE || is_global(s, object) ||
           (v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("closure")));
}

/* The class that more than half of the large children of an object have, if there is one. */
static uint32_t common_class(const shot *s, uint32_t object, uint64_t least) {
    children all = children_of(s->o.dominators, object);
    uint32_t votes = 0, class_index = HD_NONE;
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;) {
        if (s->o.dominators->retained[o] < least) continue;
        if (!votes) class_index = s->class_of[o];
        if (s->class_of[o] == class_index) votes++;
        else votes--;
    }
    return class_index;
}

/* Whether each large child of an object is a suspect of its own: named fields of a scope or object. A collection is
   one suspect, and so are many children of one class, children too small to be listed one by one, or a tree. */
static bool is_scope(const shot *s, uint32_t object, uint64_t least) {
    const hd_dominators *d = s->o.dominators;
    children all = children_of(d, object);
    uint32_t large = 0, named = 0, alike = 0, class_index;
    uint64_t bytes = 0, listed = 0;
    if (is_loose(s, object)) return true;
    class_index = common_class(s, object, least);
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;) {
        uint32_t r;
        if (d->retained[o] < least) continue;
        alike += s->class_of[o] == class_index;
        r = reference_between(&s->o, object, o);
        large++, bytes += d->retained[o], named += r != HD_NONE && label_of(&s->o, object, r).known >= PROPERTY;
        if (d->retained[o] >= d->bytes / LISTED) listed += d->retained[o];
    }
    if (3 * listed < d->retained[object] || (alike >= ALIKE && 2 * alike > large)) return false;
    if (class_index == s->class_of[object] && 2 * alike > large) return false; /* a tree */
    if (2 * named > large) return true;
    return large > 1 && alike == 1 && 2 * bytes > d->retained[object]; /* a few of different classes */
}

/* The object of the program that owns a point and retains about the same: the
   Map of a table, the object with a text. */
static uint32_t owner_of(const shot *s, uint32_t point) {
    const hd_dominators *d = s->o.dominators;
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    uint32_t at = point;
    while (s->role[at] != OF_PROGRAM) {
        uint32_t above = d->parent[at];
        if (above == HD_NONE || s->role[above] == ROOTS || !retains_most(d, point, above)) break;
        if (s->role[at] == SCOPE && !(v8 && hd_str_equal(hd_v8_type(v8, above), hd_cstr("closure")))) break;
        at = above;
    }
    return is_user(s, at) ? at : point;
}

static int by_pile(const void *a, const void *b) {
    const pile *x = a, *y = b;
    if (x->engine != y->engine) return x->engine ? 1 : -1;
    if (x->trend.score != y->trend.score) return x->trend.score < y->trend.score ? 1 : -1;
    return (x->object > y->object) - (x->object < y->object);
}

void put_pile_in(pile *piles, uint32_t *n, pile one) {
    for (uint32_t i = 0; i < *n; i++) {
        if (piles[i].object != one.object || one.variable.len || piles[i].variable.len) continue;
        if (one.shared <= 0) return;
        piles[i].shared += one.shared, piles[i].trend.score += one.trend.score, piles[i].owner = one.owner;
        qsort(piles, *n, sizeof *piles, by_pile);
        return;
    }
    if (*n == MOST_PILES && by_pile(&one, &piles[*n - 1]) > 0) return;
    if (*n < MOST_PILES) ++*n;
    piles[*n - 1] = one;
    qsort(piles, *n, sizeof *piles, by_pile);
}

/* Whether the engine uses an object itself: the shortest path leads from the engine to its tables and texts. */
static bool is_engines(const shot *s, uint32_t object) {
    while (object != HD_NONE && (s->role[object] == DATA || s->role[object] == TABLE))
        object = s->ways.held_by[object];
    if (s->java) return false;
    return object == HD_NONE ? hd_dump_v8(s->o.dump) || hd_dump_dart(s->o.dump) : !is_user(s, object);
}

/* The nearest object of the program on the shortest path; HD_NONE: only the global object. */
static uint32_t holder_of(const shot *s, uint32_t object) {
    uint32_t above;
    while (object != HD_NONE && !is_user(s, object)) object = s->ways.held_by[object];
    if (object == HD_NONE || is_global(s, object)) return HD_NONE;
    above = s->ways.held_by[object]; /* a builtin function */
    return above != HD_NONE && is_global(s, above) && s->closure[object] ? HD_NONE : object;
}

static bool dominates(const shot *s, uint32_t object, uint32_t other) {
    const hd_dominators *d = s->o.dominators;
    return d->position[other] - d->position[object] < d->below[object];
}

static bool is_closure(const shot *s, uint32_t object, const char *name) {
    return s->closure[object] && hd_str_equal(hd_v8_name(hd_dump_v8(s->o.dump), object), hd_cstr(name));
}

bool is_of_node(const shot *s, uint32_t object) {
    hd_object o = hd_graph_object(s->o.graph, object);
    uint32_t holder = s->ways.held_by[object];
    if (hd_str_equal(hd_graph_class(s->o.graph, o.class_index).name, hd_cstr("process"))) return true;
    if (holder == HD_NONE || is_closure(s, holder, "BuiltinModule")) return holder != HD_NONE;
    for (uint32_t r = 0; r < o.reference_count && r < 8; r++)
        if (is_closure(s, o.references[r], "NodeError")) return true;
    return false;
}

/* Whether an object holds nearly everything by its nature. Kinds of roots in V8, such as (Global handles),
   may leak. */
bool is_pseudo_root(const shot *s, uint32_t object) {
    hd_str name = name_of(&s->o, object);
    if (s->role[object] != ROOTS) return false;
    return hd_dump_dart(s->o.dump) || !name.len || hd_str_equal(name, hd_cstr("(GC roots)"));
}

static void add_pile(walk *w, uint32_t point, uint32_t elements, double bytes, bool scope) {
    const shot *s = w->s;
    pile one = { .point = point, .elements = elements, .owner = HD_NONE, .bytes = bytes };
    uint32_t of;
    one.trend.score = bytes;
    one.object = owner_of(s, point);
    of = is_global(s, one.object) ? point : one.object; /* a table may be of a variable, though others hold it, too */
    if (is_of_engine(&s->o, of) && s->role[of] != SCOPE && holder_of(s, of) != HD_NONE) {
        one.object = holder_of(s, of); /* of several that hold a table or native bytes, the nearest */
        if (!dominates(s, one.object, point)) one.shared = bytes;
        one.point = one.object, one.elements = 0;
    }
    if (is_pseudo_root(s, one.object)) return;
    one.engine = is_engines(s, one.object);
    if (scope || is_global(s, one.object) || is_of_node(s, one.object))
        one.trend.score /= 4;    /* most of these bytes are in every program */
    put_pile_in(w->piles, &w->found, one);
}

/* Adds the bytes of an object outside of its large children. Small children of a scope may be shared. */
static void add_rest(walk *w, uint32_t object, uint64_t bytes) {
    const hd_dominators *d = w->s->o.dominators;
    children all = children_of(d, object);
    if (!is_loose(w->s, object)) {
        add_pile(w, object, 0, (double)bytes, false);
        return;
    }
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;)
        if (!w->direct[o] && d->retained[o] < w->least) w->weight[o] = (double)d->retained[o];
    if (!(w->rest_count & (w->rest_count - 1)))
        w->rest = needed(realloc(w->rest, (w->rest_count ? 2 * (size_t)w->rest_count : 1) * sizeof *w->rest));
    w->rest[w->rest_count++] = (struct scope_rest){ object, (double)bytes };
}

/* Passes an object on the way to the child that retains most of it. */
static void pass_by(walk *w, uint32_t object, uint32_t next) {
    const hd_dominators *d = w->s->o.dominators;
    uint64_t left = d->retained[object] - d->retained[next] - wait_for_large(w, object, next);
    if (left >= w->least) add_rest(w, object, left);
    else w->spread += (double)left;
}

/* Descends to the point where an object fans out. Large children off this path are queued. */
static uint32_t point_below(walk *w, uint32_t object, uint32_t *elements) {
    const shot *s = w->s;
    const hd_dominators *d = s->o.dominators;
    for (*elements = 0;;) {
        chain c;
        uint32_t next, whole = whole_chain_from(s, object, &c);
        if (whole) {
            next = heaviest_beside(s, &c);
            if (next == HD_NONE || !retains_most(d, next, object)) *elements = whole;
            free(c.part);
            if (*elements) return object;
            w->spread += (double)(d->retained[object] - d->retained[next]);
        } else {
            next = s->heaviest[object];
            if (next == HD_NONE || !retains_most(d, next, object)) return object;
            pass_by(w, object, next);
        }
        object = next;
    }
}

/* Most bytes are in small children along a way that is no list, a chain of promises for example. */
static void add_way(walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    while (w->s->heaviest[object] != HD_NONE && (double)d->retained[w->s->heaviest[object]] >= 0.85 * w->spread)
        object = w->s->heaviest[object];
    add_pile(w, object, 0, w->spread, is_global(w->s, object));
}

/* Looks at one queued object: adds the point below it. For a scope, only bytes outside of large children count. */
static void look_at(walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t elements, point;
    uint64_t bytes;
    w->spread = 0;
    point = point_below(w, object, &elements);
    bytes = d->retained[point];
    if (!elements && is_scope(w->s, point, w->least)) bytes -= wait_for_large(w, point, HD_NONE);
    if (bytes >= w->least && elements) add_pile(w, point, elements, (double)bytes, false);
    else if (bytes >= w->least) add_rest(w, point, bytes);
    if (2 * w->spread > (double)d->retained[object] && w->spread >= (double)w->least) add_way(w, object);
}

/* Shared objects. ------------------------------------------------------------------------------- */

/* Shared objects are below none of their holders in the dominator tree. They count where the shortest paths to them
   fan out; a list counts for its first element. By object: that place; HD_NONE: none. */
static uint32_t *group_shared(walk *w) {
    const shot *s = w->s;
    size_t n = (size_t)s->o.dominators->count + 1;
    uint32_t *group = needed(malloc(n * sizeof *group));
    const uint32_t *head = s->head;
    FREED double *all = needed(malloc(n * sizeof *all)), *own = needed(calloc(n, sizeof *own));
    memcpy(all, w->weight, n * sizeof *all);
    memset(group, 0xff, n * sizeof *group);
    for (uint32_t i = s->ways.count; i--;) {
        uint32_t o = s->ways.order[i], above = head[o] == o ? s->ways.held_by[o] : head[o];
        own[o] += w->weight[o];
        if (above == HD_NONE || all[o] <= 0) continue;
        all[above] += all[o];
        if (all[o] < (double)w->least) own[above] += all[o];
    }
    for (uint32_t i = 0; i < s->ways.count; i++) {
        uint32_t o = s->ways.order[i], above = head[o] == o ? s->ways.held_by[o] : head[o];
        if (own[o] >= (double)w->least && holder_of(s, o) != HD_NONE) {
            pile one = { .object = holder_of(s, o), .point = o, .owner = o, .bytes = own[o], .shared = own[o] };
            one.point = one.object, one.trend.score = is_of_node(s, one.object) ? own[o] / 4 : own[o];
            put_pile_in(w->piles, &w->found, one);
            group[o] = o;
        } else if (above != HD_NONE && all[o] < (double)w->least) group[o] = group[above];
    }
    return group;
}

/* By object: its group, or the group of its dominator. Grouped bytes are taken from the rest of scopes. */
static uint32_t *owners_of_shared(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t *owner = needed(malloc(((size_t)d->count + 1) * sizeof *owner));
    FREED uint32_t *group = group_shared(w);
    memset(owner, 0xff, ((size_t)d->count + 1) * sizeof *owner);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o];
        if (w->weight[o] <= 0) {
            owner[o] = above == HD_NONE ? HD_NONE : owner[above];
            continue;
        }
        owner[o] = group[o];
        for (uint32_t k = 0; owner[o] != HD_NONE && k < w->rest_count; k++)
            if (w->rest[k].point == above) w->rest[k].bytes -= w->weight[o];
    }
    return owner;
}

/* Whether an object is a suspect, or above or below one of the program in the dominator tree. */
static bool is_related(const walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    for (uint32_t i = 0; i < w->found; i++) {
        uint32_t p = d->position[w->piles[i].object], o = d->position[object];
        if (w->piles[i].object == object) return true;
        if (w->piles[i].engine) continue;
        if ((o >= p && o < p + d->below[w->piles[i].object]) || (p >= o && p < o + d->below[object])) return true;
    }
    return false;
}

/* The largest object of the program that is not related to a suspect. */
static uint32_t largest_left_out(const walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    role last = hd_dump_v8(w->s->o.dump) ? OF_PROGRAM : TABLE;
    uint32_t best = HD_NONE;
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i];
        if (w->s->role[o] > last || (best != HD_NONE && d->retained[o] <= d->retained[best])) continue;
        if (!is_related(w, o)) best = o;
    }
    return best;
}

/* Makes room for another suspect: drops the suspect that retains least, but never the first. */
static void drop_least(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t least = 1;
    if (w->found < MOST_PILES) return;
    for (uint32_t i = 1; i < w->found; i++)
        if (d->retained[w->piles[i].object] < d->retained[w->piles[least].object]) least = i;
    memmove(&w->piles[least], &w->piles[least + 1], (--w->found - least) * sizeof *w->piles);
}

/* Adds objects that retain more than each suspect, or a tenth of the heap and more than some suspect. Suspects with
   shared objects, and the engine's, may retain little. */
static void add_left_out(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    for (int turn = 0; turn < MOST_PILES; turn++) {
        uint32_t o = largest_left_out(w);
        uint64_t most = 0, least = UINT64_MAX; /* of suspects of the program */
        for (uint32_t i = 0; i < w->found; i++) {
            uint64_t retained = d->retained[w->piles[i].object];
            if (w->piles[i].engine) continue;
            if (retained > most) most = retained;
            if (retained < least) least = retained;
        }
        if (o == HD_NONE || (most ? d->retained[o] <= least : turn > 0)) return;
        if (d->retained[o] <= most && d->retained[o] < d->bytes / 10) return;
        drop_least(w);
        add_pile(w, o, 0, (double)d->retained[o], false);
    }
}

/* Drops suspects with less than 5 % of the heap but the first, and the engine's if the program's have most bytes. */
static void drop_small(walk *w) {
    double all = (double)w->s->o.dominators->bytes, explained = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->found && !w->piles[i].engine; i++) explained += w->piles[i].bytes;
    for (uint32_t i = 0; i < w->found; i++) {
        const pile *p = &w->piles[i];
        if (!i || (p->trend.score >= all / LISTED && !(p->engine && 2 * explained > all))) w->piles[kept++] = *p;
    }
    w->found = kept;
}

/* Looks at objects with 2 % of the heap. Lists those with 5 %, and always the largest. */
uint32_t find_piles(matched *m, pile *piles) {
    const shot *s = &m->shots[0];
    const hd_dominators *d = s->o.dominators;
    walk w = { .s = s, .least = d->bytes / 50 + 1, .piles = piles };
    w.direct = needed(calloc((size_t)d->count + 1, 1));
    w.weight = needed(calloc((size_t)d->count + 1, sizeof *w.weight));
    for (uint32_t i = 0; i < d->reached; i++) {
        hd_object o = hd_graph_object(s->o.graph, d->order[i]);
        for (uint32_t r = 0; r < o.reference_count; r++)
            if (d->parent[o.references[r]] == d->order[i] && (!o.kinds || o.kinds[r] == HD_REFERENCE_STRONG))
                w.direct[o.references[r]] = 1;
    }
    for (uint32_t at = 0; at < d->reached; at += d->below[d->order[at]]) {
        uint32_t o = d->order[at];
        if (d->retained[o] >= w.least) wait(&w, o);
        else if (s->ways.held_by[o] != HD_NONE) w.weight[o] = (double)d->retained[o]; /* several roots share it */
    }
    while (w.count) look_at(&w, w.waiting[--w.count]);
    m->owner = owners_of_shared(&w);
    for (uint32_t k = 0; k < w.rest_count; k++)
        if (w.rest[k].bytes >= (double)w.least)
            add_pile(&w, w.rest[k].point, 0, w.rest[k].bytes, !s->closure[w.rest[k].point]);
    drop_small(&w);
    add_left_out(&w);
    free(w.waiting), free(w.rest), free(w.direct), free(w.weight);
    return w.found;
}
