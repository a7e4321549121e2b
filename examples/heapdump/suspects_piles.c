/* suspects of one snapshot: the dominator tree is walked down to where what an object holds fans out. */

#include "suspects_graph.h"

/* A child that retains more than this of its parent has what its parent holds: the walk goes on there. */
#define MOST_OF_IT 0.7
enum { MOST_PERIOD = 6, ALIKE = 6 };

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

/* Which of its references leads from an object to one; HD_NONE: none. */
static uint32_t reference_to(const shot *s, uint32_t from, uint32_t to) {
    hd_object o = hd_graph_object(s->o.graph, from);
    for (uint32_t r = 0; r < o.reference_count; r++)
        if (o.references[r] == to && (!o.kinds || o.kinds[r] == HD_REFERENCE_STRONG)) return r;
    return HD_NONE;
}

/* Lists. --------------------------------------------------------------------------------------- */

static void chain_push(chain *c, uint32_t object, hd_str field) {
    if (!(c->count & (c->count - 1)))
        c->part = needed(realloc(c->part, (c->count ? 2 * (size_t)c->count : 1) * sizeof *c->part));
    c->part[c->count++] = (struct chain_part){ object, field };
}

/* Whether such a part goes on as the one `period` before it did. The first one of all is held by something else. */
static bool is_like(const shot *s, const struct chain_part *part, uint32_t at, uint32_t period) {
    const struct chain_part *x = &part[at], *y = &part[at - period];
    return s->class_of[x->object] == s->class_of[y->object] && x->field.len &&
           (at == period || hd_str_equal(x->field, y->field));
}

/* The next part of a chain: what the last one holds and dominates, by the field and of the class that are next. */
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

/* The chain that begins here, if there is one: three times the same along the heaviest children. It goes on where an
   element is heavier than the rest of the list. */
static bool chain_from(const shot *s, uint32_t object, chain *c) {
    memset(c, 0, sizeof *c);
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
    if (!c->period) return free(c->part), false;
    while (chain_grow(s, c)) {}
    c->elements = (c->count - 1) / c->period + 1;
    c->count = (c->elements - 1) * c->period + 1;
    return true;
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
        } else {
            next = s->heaviest[object];
            if (next == HD_NONE || !retains_most(d, next, object)) return object;
            if (w) wait_for_large(w, object, next);
        }
        object = next;
    }
}

/* Whether what an object holds is there for different reasons: variables of a scope, or fields that have names. A
   collection is one thing, as are many alike. */
static bool is_scope(const shot *s, uint32_t object, uint64_t least) {
    const hd_dominators *d = s->o.dominators;
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    children all = children_of(d, object);
    uint32_t large = 0, named = 0, alike = 0, class_index = HD_NONE;
    if (s->role[object] == ROOTS || s->role[object] == SCOPE || s->role[object] == MACHINE) return true;
    if (v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("closure"))) return true;
    for (uint32_t o; (o = next_child(&all)) != HD_NONE;) {
        uint32_t r;
        if (d->retained[o] < least) continue;
        if (class_index == HD_NONE) class_index = s->class_of[o];
        alike += s->class_of[o] == class_index;
        r = reference_to(s, object, o);
        large++, named += r != HD_NONE && label_of(&s->o, object, r).known >= PROPERTY;
    }
    return 2 * named > large && !(alike == large && large >= ALIKE);
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
    if (x->scope != y->scope) return x->scope ? 1 : -1;
    if (x->trend.score != y->trend.score) return x->trend.score < y->trend.score ? 1 : -1;
    return (x->object > y->object) - (x->object < y->object);
}

void put_pile_in(pile *piles, uint32_t *n, pile one) {
    for (uint32_t i = 0; i < *n; i++)
        if (piles[i].object == one.object) return;
    if (*n == MOST_PILES && by_pile(&one, &piles[*n - 1]) > 0) return;
    if (*n < MOST_PILES) ++*n;
    piles[*n - 1] = one;
    qsort(piles, *n, sizeof *piles, by_pile);
}

bool is_global(const shot *s, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    return v8 && s->ways.held_by[object] == 0 && s->ways.by[object] != HD_NONE &&
           hd_str_equal(hd_v8_edge_type(v8, 0, s->ways.by[object]), hd_cstr("shortcut"));
}

/* Whether the engine has an object for itself: no object of the program is near on the way to its tables and texts. */
static bool is_engines(const shot *s, uint32_t object) {
    while (object != HD_NONE && (s->role[object] == DATA || s->role[object] == TABLE)) object = s->ways.held_by[object];
    return object == HD_NONE ? hd_dump_v8(s->o.dump) != NULL : !is_user(s, object);
}

static void add_pile(walk *w, uint32_t point, uint32_t elements, uint64_t bytes) {
    const shot *s = w->s;
    pile one = { .point = point, .elements = elements, .bytes = (double)bytes, .trend = { .score = (double)bytes } };
    one.object = owner_of(s, point);
    one.engine = is_engines(s, one.object);
    one.scope = is_global(s, point);
    put_pile_in(w->piles, &w->found, one);
}

/* One object on its own: the point below it is a pile. A scope is one by what its large children do not hold. */
static void look_at(walk *w, uint32_t object) {
    uint32_t elements, point = point_below(w->s, object, &elements, w);
    uint64_t bytes = w->s->o.dominators->retained[point];
    bool scope = !elements && is_scope(w->s, point, w->least);
    if (scope) bytes -= wait_for_large(w, point, HD_NONE);
    if (bytes >= w->least) add_pile(w, point, elements, bytes);
}

/* Where no object of the program has a tenth: the one that retains most. */
static void add_largest(walk *w) {
    const hd_dominators *d = w->s->o.dominators;
    uint32_t best = HD_NONE;
    for (uint32_t i = 0; i < d->reached; i++)
        if (w->s->role[d->order[i]] == OF_PROGRAM && !is_global(w->s, d->order[i]) &&
            (best == HD_NONE || d->retained[d->order[i]] > d->retained[best])) best = d->order[i];
    if (best == HD_NONE) return;
    w->least = d->retained[best] < w->least ? d->retained[best] : w->least;
    add_pile(w, best, 0, d->retained[best]);
}

uint32_t find_piles(const shot *s, pile *piles) {
    const hd_dominators *d = s->o.dominators;
    walk w = { .s = s, .least = d->bytes / 10 + 1, .piles = piles };
    for (uint32_t at = 0; at < d->reached; at += d->below[d->order[at]])
        if (d->retained[d->order[at]] >= w.least) wait(&w, d->order[at]);
    while (w.count) look_at(&w, w.waiting[--w.count]);
    if (!w.found || piles[0].engine) add_largest(&w);
    while (w.found && piles[w.found - 1].engine && !piles[0].engine) w.found--;
    free(w.waiting);
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
        link_push(l, (chain_link){ at, before, reference_to(s, before, at), HD_NONE, LINK_SHOWN });
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

/* Whether a list may begin here, as far as classes say; cheap. */
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
