/* suspects of one snapshot: the dominator tree is walked down to where what an object holds fans out. */

#include "suspects_graph.h"

/* A child that retains more than this of its parent has what its parent holds: the walk goes on there. */
#define MOST_OF_IT 0.7
enum { ALIKE = 6 };           /* large entries of one class are a collection's, whatever their names are */

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


/* The child that retains most beside a chain. */
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

/* Objects that are large by themselves and wait to be looked at. */
typedef struct walk {
    const shot *s;
    uint64_t least;
    uint32_t *waiting, count;
    pile *piles;
    uint32_t found;
    struct scope_rest { uint32_t point; double bytes; } *rest; /* what no large child of a scope has */
    uint32_t rest_count;
    uint8_t *direct;             /* by object: its dominator holds it itself */
    double *weight;              /* by object that several below a scope share: what it retains */
    double spread;               /* lost on the way to a point, little by little */
} walk;

static void wait(walk *w, uint32_t object) {
    if (!(w->count & (w->count - 1)))
        w->waiting = needed(realloc(w->waiting, (w->count ? 2 * (size_t)w->count : 1) * sizeof *w->waiting));
    w->waiting[w->count++] = object;
}

/* All large children wait, but for one. Returns the bytes that they retain. */
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

/* Scopes of all programs and of modules, whose variables have little to do with each other. */
static bool is_loose(const shot *s, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    return s->role[object] == ROOTS || s->role[object] == SCOPE || s->role[object] == MACHINE || is_global(s, object) ||
           (v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("closure")));
}

/* Whether what an object holds is there for different reasons: variables of a scope, or fields that have names. A
   collection is one thing, as are many alike. */
static bool is_scope(const shot *s, uint32_t object, uint64_t least) {
    const hd_dominators *d = s->o.dominators;
    children all = children_of(d, object);
    uint32_t large = 0, named = 0, alike = 0, class_index = HD_NONE;
    uint64_t bytes = 0;
    if (is_loose(s, object)) return true;
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;) {
        uint32_t r;
        if (d->retained[o] < least) continue;
        if (class_index == HD_NONE) class_index = s->class_of[o];
        alike += s->class_of[o] == class_index;
        r = reference_to(s, object, o);
        large++, bytes += d->retained[o], named += r != HD_NONE && label_of(&s->o, object, r).known >= PROPERTY;
    }
    if (2 * named > large) return alike < large || large < ALIKE;
    return large > 1 && alike == 1 && 2 * bytes > d->retained[object]; /* a few that have nothing in common */
}

/* The program's own object that has what is held at a point: the Map of a table, the object that holds a text. It has
   to retain about the same. */
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

/* Whether the engine has an object for itself: no object of the program is near on the way to its tables and texts. */
static bool is_engines(const shot *s, uint32_t object) {
    while (object != HD_NONE && (s->role[object] == DATA || s->role[object] == TABLE)) object = s->ways.held_by[object];
    return object == HD_NONE ? hd_dump_v8(s->o.dump) || hd_dump_dart(s->o.dump) : !is_user(s, object);
}

static void add_pile(walk *w, uint32_t point, uint32_t elements, double bytes, bool scope) {
    const shot *s = w->s;
    pile one = { .point = point, .elements = elements, .owner = HD_NONE, .bytes = bytes, .trend = { .score = bytes } };
    one.object = owner_of(s, point);
    one.engine = is_engines(s, one.object);
    if (scope) one.trend.score /= 4; /* of what every program has, too */
    put_pile_in(w->piles, &w->found, one);
}

/* The bytes of an object that none of its large children has. A scope's small children may be others' too. */
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

/* Goes on from an object to the child that has most of it. */
static void pass_by(walk *w, uint32_t object, uint32_t next) {
    const hd_dominators *d = w->s->o.dominators;
    uint64_t left = d->retained[object] - d->retained[next] - wait_for_large(w, object, next);
    if (left >= w->least) add_rest(w, object, left);
    else w->spread += (double)left;
}

/* From an object to where it fans out. What is large beside that way waits, if there is a walk. */
static uint32_t point_below(const shot *s, uint32_t object, uint32_t *elements, walk *w) {
    const hd_dominators *d = s->o.dominators;
    for (*elements = 0;;) {
        uint32_t next;
        chain c;
        if (chain_from(s, object, &c)) {
            next = heaviest_beside(s, &c);
            if (next == HD_NONE || !retains_most(d, next, object)) *elements = c.elements;
            free(c.part);
            if (*elements) return object;
            if (w) w->spread += (double)(d->retained[object] - d->retained[next]);
        } else {
            next = s->heaviest[object];
            if (next == HD_NONE || !retains_most(d, next, object)) return object;
            if (w) pass_by(w, object, next);
        }
        object = next;
    }
}

/* Most was lost on a long way that is no list, say a chain of promises: that is where it piles up. */
static void add_way(walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    while (w->s->heaviest[object] != HD_NONE && (double)d->retained[w->s->heaviest[object]] >= 0.85 * w->spread)
        object = w->s->heaviest[object];
    add_pile(w, object, 0, w->spread, is_global(w->s, object));
}

/* One object on its own: the point below it is a pile. A scope is one by what its large children do not hold. */
static void look_at(walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t elements, point;
    uint64_t bytes;
    w->spread = 0;
    point = point_below(w->s, object, &elements, w);
    bytes = d->retained[point];
    if (!elements && is_scope(w->s, point, w->least)) bytes -= wait_for_large(w, point, HD_NONE);
    if (bytes >= w->least && elements) add_pile(w, point, elements, (double)bytes, false);
    else if (bytes >= w->least) add_rest(w, point, bytes);
    if (2 * w->spread > (double)d->retained[object] && w->spread >= (double)w->least) add_way(w, object);
}

/* Shared objects. ------------------------------------------------------------------------------- */

/* The program's object on the way to where shared objects fan out; HD_NONE: none but the global object. */
static uint32_t holder_of(const shot *s, uint32_t object) {
    uint32_t above;
    while (object != HD_NONE && !is_user(s, object)) object = s->ways.held_by[object];
    if (object == HD_NONE || is_global(s, object)) return HD_NONE;
    above = s->ways.held_by[object]; /* a builtin function, if that is the global object */
    return above != HD_NONE && is_global(s, above) && s->closure[object] ? HD_NONE : object;
}

/* What several hold is below none of them in the dominator tree. It is where it fans out along the shortest ways, on
   which a list counts for its first element. By object, where it counts; HD_NONE: nowhere. */
static uint32_t *group_shared(walk *w) {
    const shot *s = w->s;
    size_t n = (size_t)s->o.dominators->count + 1;
    uint32_t *group = needed(malloc(n * sizeof *group)), *head = way_heads(s);
    double *all = needed(malloc(n * sizeof *all)), *own = needed(calloc(n, sizeof *own));
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
            one.point = one.object, one.trend.score = own[o];
            put_pile_in(w->piles, &w->found, one);
            group[o] = o;
        } else if (above != HD_NONE && all[o] < (double)w->least) group[o] = group[above];
    }
    free(all), free(own), free(head);
    return group;
}

/* By object, the group of it or of what dominates it. What is grouped is no scope's rest. */
static uint32_t *owners_of_shared(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t *group = group_shared(w), *owner = needed(malloc(((size_t)d->count + 1) * sizeof *owner));
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
    free(group);
    return owner;
}

/* Whether an object is on the way to a suspect in the dominator tree, or below one. */
static bool is_related(const walk *w, uint32_t object) {
    const hd_dominators *d = w->s->o.dominators;
    for (uint32_t i = 0; i < w->found; i++) {
        uint32_t p = d->position[w->piles[i].object], o = d->position[object];
        if ((o >= p && o < p + d->below[w->piles[i].object]) || (p >= o && p < o + d->below[object])) return true;
    }
    return false;
}

/* The object of the program that retains most of those that have nothing to do with the suspects. */
static uint32_t largest_left_out(const walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t best = HD_NONE;
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i];
        if (w->s->role[o] <= (hd_dump_v8(w->s->o.dump) ? OF_PROGRAM : MACHINE) && (best == HD_NONE || d->retained[o] > d->retained[best]) && !is_related(w, o))
            best = o;
    }
    return best;
}

/* No object of the program that is left out retains more than all suspects, or a tenth and more than one: these may
   explain more by what they share, or be the engine's. */
static void add_left_out(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    while (w->found < MOST_PILES) {
        uint32_t o = largest_left_out(w);
        uint64_t most = 0, least = UINT64_MAX;
        for (uint32_t i = 0; i < w->found; i++) {
            uint64_t retained = d->retained[w->piles[i].object];
            if (!w->piles[i].engine && retained > most) most = retained;
            if (retained < least) least = retained;
        }
        if (o == HD_NONE || (d->retained[o] <= most && (d->retained[o] <= least || d->retained[o] < d->bytes / 10))) return;
        add_pile(w, o, 0, (double)d->retained[o], false);
    }
}

/* Objects of a fiftieth are looked at; those of a twentieth are listed, and in any case the largest. */
uint32_t find_piles(matched *m, pile *piles) {
    const shot *s = &m->shots[0];
    const hd_dominators *d = s->o.dominators;
    walk w = { .s = s, .least = d->bytes / 50 + 1, .piles = piles };
    double explained = 0;        /* by the program's */
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
        if (w.rest[k].bytes >= (double)w.least) add_pile(&w, w.rest[k].point, 0, w.rest[k].bytes, !s->closure[w.rest[k].point]);
    for (uint32_t i = 0; i < w.found && !piles[i].engine; i++) explained += piles[i].bytes;
    while (w.found > 1 && (piles[w.found - 1].trend.score < (double)d->bytes / 20 ||
                           (piles[w.found - 1].engine && 2 * explained > (double)d->bytes)))
        w.found--;
    add_left_out(&w);
    free(w.waiting), free(w.rest), free(w.direct), free(w.weight);
    return w.found;
}

void find_point(const shot *s, uint32_t object, uint32_t *point, uint32_t *elements) {
    *point = point_below(s, object, elements, NULL);
}

/* Paths. --------------------------------------------------------------------------------------- */

typedef struct links {
    chain_link *list;
    uint32_t count;
} links;

static void link_push(links *l, chain_link one) {
    if (!(l->count & (l->count - 1)))
        l->list = needed(realloc(l->list, (l->count ? 2 * (size_t)l->count : 1) * sizeof *l->list));
    l->list[l->count++] = one;
}

static void links_turn(links *l) {
    for (uint32_t i = 0; i < l->count / 2; i++) {
        chain_link t = l->list[i];
        l->list[i] = l->list[l->count - 1 - i], l->list[l->count - 1 - i] = t;
    }
}

/* The elements of a list behind the first. */
static void push_elements(const shot *s, links *l, uint32_t first) {
    chain c;
    if (!chain_from(s, first, &c)) return;
    for (uint32_t i = 1; i < c.count; i++) {
        uint32_t before = c.part[i - 1].object, at = c.part[i].object;
        link_push(l, (chain_link){ at, before, reference_to(s, before, at), HD_NONE, i % c.period ? 0 : LINK_SHOWN });
    }
    free(c.part);
}

static steps steps_and_free(const shot *s, links *l, size_t most) {
    steps all = steps_of_links(&s->o, l->list, l->count, most);
    free(l->list);
    return all;
}

steps steps_to(const shot *s, const pile *p, size_t most) {
    links l = { NULL, 0 };
    for (uint32_t at = p->object; at != HD_NONE; at = s->ways.held_by[at])
        link_push(&l, (chain_link){ at, s->ways.held_by[at], s->ways.by[at], HD_NONE, at == p->object ? LINK_SHOWN : 0 });
    links_turn(&l);
    if (p->elements && p->object == p->point) push_elements(s, &l, p->point);
    return steps_and_free(s, &l, most);
}

/* Nothing where an object is its own point, or that is a table of the engine's. */
steps steps_within(const shot *s, const pile *p, size_t most) {
    const hd_dominators *d = s->o.dominators;
    links l = { NULL, 0 };
    steps all;
    if (p->object != p->point && (p->elements || s->role[p->point] < TABLE))
        for (uint32_t at = p->point; at != HD_NONE; at = at == p->object ? HD_NONE : d->parent[at]) {
            uint32_t above = at == p->object ? HD_NONE : d->parent[at];
            uint32_t r = above == HD_NONE ? HD_NONE : reference_to(s, above, at);
            link_push(&l, (chain_link){ at, r == HD_NONE ? HD_NONE : above, r, HD_NONE, above == HD_NONE ? LINK_SHOWN : 0 });
        }
    links_turn(&l);
    if (l.count && p->elements) push_elements(s, &l, p->point);
    all = steps_and_free(s, &l, most);
    if (!all.count) return all;
    free(all.list[0].text);      /* the object's own */
    memmove(all.list, all.list + 1, --all.count * sizeof *all.list);
    return all;
}

