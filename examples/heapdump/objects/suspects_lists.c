/* suspects: linked lists, in the dominator tree and on the shortest paths. */

#include "runs.h"
#include "list_length.h"
#include "suspects.h"

static void chain_push(chain *c, uint32_t object, hd_str field) {
    if (!(c->count & (c->count - 1)))
        c->part = needed(realloc(c->part, (c->count ? 2 * (size_t)c->count : 1) * sizeof *c->part));
    c->part[c->count++] = (struct chain_part){ object, field };
}

/* Whether two objects may be elements of one list: closures have names. */
static bool same_kind(const shot *s, uint32_t x, uint32_t y) {
    return s->class_of[x] == s->class_of[y] && s->closure[x] == s->closure[y] && !is_class_object(&s->o, x);
}

/* Appends the next part: an object that the last part holds and dominates, of the expected class and field. */
static bool chain_grow(const shot *s, chain *c) {
    const hd_dominators *d = s->o.dominators;
    uint32_t last = c->part[c->count - 1].object, like = c->count - c->period, best = HD_NONE;
    hd_object o = hd_graph_object(s->o.graph, last);
    hd_str field = c->part[like].field;
    for (uint32_t r = 0; r < o.reference_count; r++) {
        uint32_t to = o.references[r];
        if (d->parent[to] != last || !same_kind(s, to, c->part[like].object)) continue;
        if (o.kinds && o.kinds[r] != HD_REFERENCE_STRONG) continue;
        if (best != HD_NONE && d->retained[to] <= d->retained[best]) continue;
        if (hd_str_equal(label_of(&s->o, last, r).name, field)) best = to;
    }
    if (best != HD_NONE) chain_push(c, best, field);
    return best != HD_NONE;
}

/* Whether an object is a node of a tree: its other children of the class of `child` retain over half of the bytes of
   `child`. */
static bool has_twins(const shot *s, uint32_t object, uint32_t child) {
    const hd_dominators *d = s->o.dominators;
    uint32_t end = d->position[object] + d->below[object];
    uint64_t bytes = 0;
    for (uint32_t at = d->position[object] + 1, o; at < end; at += d->below[o]) {
        o = d->order[at];
        if (o != child && s->class_of[o] == s->class_of[child]) bytes += d->retained[o];
    }
    return 2 * bytes > d->retained[child];
}

/* Three elements along the heaviest children make a list. Later elements need not be the heaviest child. Groups of
   roots that lead to each other are no list. */
bool chain_from(const shot *s, uint32_t object, chain *c) {
    uint32_t end = 0;
    memset(c, 0, sizeof *c);
    if (s->role[object] == ROOTS || !s->period[object]) return false;
    c->period = s->period[object];
    chain_push(c, object, hd_cstr(""));
    while (c->count <= 2 * c->period) {
        uint32_t last = c->part[c->count - 1].object, next = s->heaviest[last];
        chain_push(c, next, label_of(&s->o, last, reference_between(&s->o, last, next)).name);
    }
    for (uint32_t i = 1; i <= c->period; i++)
        if (has_twins(s, c->part[i - 1].object, c->part[i].object)) return free(c->part), c->part = NULL, false;
    for (uint32_t i = 1; i < c->period; i++) /* the first part is an object of the program */
        if (s->role[c->part[i].object] < s->role[object] || (s->closure[object] && !s->closure[c->part[i].object] &&
                                                             s->role[c->part[i].object] == OF_PROGRAM))
            return free(c->part), c->part = NULL, false;
    while (chain_grow(s, c)) {}
    for (uint32_t i = 0; i < c->count; i++)
        if (same_kind(s, c->part[i].object, object)) end = i + 1, c->elements++;
    c->count = end;
    return true;
}

/* A path in the dominator tree: each object is the heaviest child of the object before. */
typedef struct heavy_path {
    const shot *s;
    chain of;
    uint64_t *keys;
} heavy_path;

/* Whether a part continues a list. The first part of the list may have another field. */
static bool part_alike(const void *user, uint32_t at, uint32_t before, bool first) {
    const heavy_path *h = user;
    const struct chain_part *x = &h->of.part[at], *y = &h->of.part[before];
    return same_kind(h->s, x->object, y->object) && x->field.len &&
           (first || hd_str_equal(x->field, y->field));
}

/* Longer periods are ignored, because checks of their parts take time. */
enum { MOST_PERIOD = 100 };

static void find_periods(const shot *s, uint32_t object, uint32_t *period) {
    heavy_path h = { .s = s };
    uint32_t *starts;
    chain_push(&h.of, object, hd_cstr(""));
    for (uint32_t next; (next = s->heaviest[object]) != HD_NONE; object = next) {
        uint32_t r = reference_between(&s->o, object, next);
        if (r == HD_NONE) break;
        chain_push(&h.of, next, label_of(&s->o, object, r).name);
    }
    if (h.of.count > 2) {
        h.keys = needed(malloc(h.of.count * sizeof *h.keys));
        for (uint32_t i = 0; i < h.of.count; i++)
            h.keys[i] = run_key(s->class_of[h.of.part[i].object], (uintptr_t)h.of.part[i].field.data);
        starts = run_starts(h.keys, h.of.count, part_alike, &h);
        for (uint32_t i = 0; i < h.of.count; i++)
            period[h.of.part[i].object] = starts[i] <= MOST_PERIOD ? starts[i] : 0;
        free(h.keys), free(starts);
    }
    free(h.of.part);
}

uint32_t *list_periods(const shot *s) {
    const hd_dominators *d = s->o.dominators;
    uint32_t *period = needed(calloc((size_t)d->count + 1, sizeof *period));
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t object = d->order[i], above = d->parent[object];
        if (s->heaviest[object] == HD_NONE) continue;
        if (above != HD_NONE && s->heaviest[above] == object && reference_between(&s->o, above, object) != HD_NONE)
            continue;
        find_periods(s, object, period);
    }
    return period;
}

uint32_t *list_firsts(const shot *s) {
    const hd_dominators *d = s->o.dominators;
    uint32_t *first = needed(malloc(((size_t)d->count + 1) * sizeof *first));
    memset(first, 0xff, ((size_t)d->count + 1) * sizeof *first);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t object = d->order[i];
        chain c;
        if (first[object] != HD_NONE || !chain_from(s, object, &c)) continue;
        for (uint32_t k = 0; k < c.count; k++)
            if (first[c.part[k].object] == HD_NONE) first[c.part[k].object] = object;
        free(c.part);
    }
    return first;
}

/* On the shortest paths. ------------------------------------------------------------------------ */

typedef struct way_walk {
    const shot *s;
    run_trail path;               /* to the object that is looked at. Period: of the list that ends there; 0: none */
    uint32_t *head, *length;     /* the results */
    uint32_t *place;             /* by object: which element of its list it is, or is part of, from 0 on */
} way_walk;

/* Whether two objects have one class and field. */
static bool is_held_like(const shot *s, uint32_t x, uint32_t y) {
    return same_kind(s, x, y) && s->label[x] == s->label[y];
}

/* Whether the path ends with three equal periods. The first object may have another field. It is one of the program:
   a table that holds a list is no element. */
static bool is_repeated(const way_walk *w, uint32_t period) {
    const uint32_t *last = &w->path.object[w->path.count - 1];
    if (3 * (uint64_t)period > w->path.count) return false;
    for (uint32_t i = 0; i + 1 < 2 * period; i++)
        if (!is_held_like(w->s, *(last - i), *(last - i - period))) return false;
    for (uint32_t i = 2 * period; i < 3 * period; i++)
        if (w->s->role[*(last - i)] < w->s->role[*(last - 3 * period + 1)]) return false;
    return same_kind(w->s, *(last - 2 * period + 1), *(last - 3 * period + 1));
}

static void join_list(way_walk *w, uint32_t object, uint32_t head, uint32_t place) {
    w->head[object] = head, w->place[object] = place;
    if (w->length[head] <= place) w->length[head] = place + 1;
}

/* Sets the head of the last object of the path. The third element of a list also sets the heads of the second. */
static void find_head(way_walk *w) {
    uint32_t at = w->path.count - 1, before = at ? w->path.period[at - 1] : 0, periods[RUN_PERIODS], n;
    const uint32_t *last = &w->path.object[at];
    w->head[*last] = *last, w->place[*last] = 0;
    if (!at || w->s->role[*last] == ROOTS) return;
    if (before && before <= at && is_held_like(w->s, *last, *(last - before))) {
        w->path.period[at] = before;
        join_list(w, *last, w->head[*(last - before)], w->place[*(last - before)] + 1);
        return;
    }
    n = run_periods(&w->path, periods);
    for (uint32_t i = 0; i < n && !w->path.period[at]; i++) {
        uint32_t p = periods[i];
        if (!is_repeated(w, p)) continue;
        w->path.period[at] = p;
        for (uint32_t k = 0; k < 2 * p; k++) join_list(w, *(last - k), *(last - 2 * p - k % p), k < p ? 2 : 1);
    }
}

static void way_entered(void *user, uint32_t object) {
    way_walk *w = user;
    const shot *s = w->s;
    run_trail_push(&w->path, object, run_key(run_key(s->class_of[object], (uintptr_t)s->label[object]),
                                            (uintptr_t)s->closure[object]));
    find_head(w);
}

static void way_left(void *user, uint32_t object) {
    way_walk *w = user;
    (void)object;
    run_trail_pop(&w->path);
}

uint32_t *way_heads(const shot *s, uint32_t **length) {
    uint32_t n = hd_graph_object_count(s->o.graph);
    way_walk w = { .s = s, .head = needed(calloc((size_t)n + 1, sizeof *w.head)),
                   .length = needed(calloc((size_t)n + 1, sizeof *w.length)),
                   .place = needed(calloc((size_t)n + 1, sizeof *w.place)) };
    ways_walk(&s->ways, n, way_entered, way_left, &w);
    run_trail_free(&w.path), free(w.place);
    *length = w.length;
    return w.head;
}

/* Whole lists. ---------------------------------------------------------------------------------- */

uint32_t list_whole(const shot *s, uint32_t object) {
    uint32_t head = s->head[object], at = object, alike = 0;
    list_pattern p;
    if (object == head) return s->length[head];
    if (s->whole[head]) return s->whole[head];
    do at = s->ways.held_by[at];
    while (at != HD_NONE && at != head && s->head[at] != head);
    if (at == HD_NONE) return s->length[head];
    p = pattern_between(&s->ways, at, object);
    for (uint32_t k = 0; k < p.count; k++) alike += same_kind(s, p.part[k].target, head);
    s->whole[head] = list_length(s->lengths, &p, head, (s->length[head] - 1) * alike + 1).elements;
    if (!s->whole[head]) s->whole[head] = s->length[head];
    free(p.part);
    return s->whole[head];
}

/* Judges the first object of the chain's class that leads to the chain, by any fields. If it is the root of a tree,
   the chain is part of the tree. Plain objects are left out: they often hold each other. */
static void judge_above(const shot *s, const chain *c) {
    uint32_t above = c->part[0].object, top = above, second = above;
    list_pattern p;
    if (hd_str_equal(hd_graph_class(s->o.graph, s->class_of[top]).name, hd_cstr("Object"))) return;
    for (;; second = top, top = above) {
        for (uint32_t k = 0; k < c->period && above != HD_NONE; k++) above = s->ways.held_by[above];
        if (above == HD_NONE || !same_kind(s, above, top)) break;
    }
    if (top == second) return;
    p = pattern_between(&s->ways, top, second);
    list_length(s->lengths, &p, top, 1);
    free(p.part);
}

uint32_t chain_whole(const shot *s, const chain *c) {
    list_pattern p = { needed(malloc(c->period * sizeof *p.part)), c->period };
    uint32_t n;
    judge_above(s, c);
    for (uint32_t k = 0; k < c->period; k++) {
        uint32_t holder = c->part[k].object, target = c->part[k + 1].object;
        p.part[k] = (list_part){ holder, HD_NONE, target };
        p.part[k].reference = reference_between(&s->o, holder, target);
    }
    n = list_length(s->lengths, &p, c->part[0].object, c->elements).elements;
    free(p.part);
    return n;
}

uint32_t whole_chain_from(const shot *s, uint32_t object, chain *c) {
    uint32_t n = chain_from(s, object, c) ? chain_whole(s, c) : 0;
    if (!n && c->part) free(c->part), c->part = NULL;
    return n;
}
