/* suspects: the path to most objects of a class, or to the object that most of them are below. */

#include "runs.h"
#include "suspects.h"

/* Objects that came, by path. ------------------------------------------------------------------- */

typedef struct key_of_object {
    uint64_t key;
    uint32_t object;
} key_of_object;

static int by_key(const void *a, const void *b) {
    const key_of_object *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->object > y->object) - (x->object < y->object);
}

static uint64_t text_key(uint64_t key, hd_str text) {
    for (size_t i = 0; i < text.len; i++) key = run_key(key, (uint8_t)text.data[i]);
    return key;
}

/* A key of each class: equal in all snapshots. Freed by the caller. */
static uint64_t *class_keys(const hd_graph *graph) {
    uint32_t n = hd_graph_class_count(graph);
    uint64_t *key = needed(malloc(((size_t)n + 1) * sizeof *key));
    for (uint32_t c = 0; c < n; c++) {
        hd_class one = hd_graph_class(graph, c);
        key[c] = text_key(run_key(text_key(1, one.name), 1), one.scope);
    }
    return key;
}

/* Whether an object continues a tree or list: its position in it is not part of its key. For objects of class Object,
   the name of the reference must match, too. */
static bool goes_on(const shot *s, uint32_t object, step_label label) {
    uint32_t holder = s->ways.held_by[object];
    if (s->class_of[holder] != s->class_of[object] || s->role[object] != OF_PROGRAM) return false;
    if (label.known <= ELEMENT || s->ways.held_by[holder] == HD_NONE) return true;
    return !hd_dump_v8(s->o.dump) || hd_str_equal(label.name, label_of(&s->o, s->ways.held_by[holder],
                                                                       s->ways.by[holder]).name) ||
           !hd_str_equal(hd_graph_class(s->o.graph, s->class_of[object]).name, hd_cstr("Object"));
}

/* Objects in the order of the keys of their shortest paths: classes and names of references. Freed by the caller. */
static key_of_object *way_keys(const shot *s) {
    const ways *w = &s->ways;
    FREED uint64_t *class_key = class_keys(s->o.graph);
    FREED uint64_t *key = needed(malloc(((size_t)hd_graph_object_count(s->o.graph) + 1) * sizeof *key));
    key_of_object *list = needed(malloc(((size_t)w->count + 1) * sizeof *list));
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t o = w->order[i], holder = w->held_by[o];
        uint64_t own = class_key[s->class_of[o]];
        if (holder == HD_NONE) key[o] = own;
        else {
            step_label label = label_of(&s->o, holder, w->by[o]);
            if (goes_on(s, o, label)) key[o] = key[holder];
            else key[o] = run_key(text_key(key[holder], label.name), own);
        }
        list[i] = (key_of_object){ key[o], o };
    }
    if (w->count) qsort(list, w->count, sizeof *list, by_key);
    return list;
}

/* The end of the objects of one path, and their bytes. */
static uint32_t end_of_way(const shot *s, const key_of_object *list, uint32_t at, uint64_t *bytes) {
    uint64_t key = list[at].key;
    for (*bytes = 0; at < s->ways.count && list[at].key == key; at++)
        *bytes += hd_graph_object(s->o.graph, list[at].object).size;
    return at;
}

uint8_t *came_by_way(const matched *m) {
    const shot *first = &m->shots[0], *last = &m->shots[m->count - 1];
    FREED key_of_object *before = way_keys(first), *now = way_keys(last);
    uint8_t *came = needed(calloc((size_t)hd_graph_object_count(last->o.graph) + 1, 1));
    for (uint32_t i = 0, k = 0, end; i < last->ways.count; i = end) {
        uint64_t bytes, then = 0;
        uint32_t old = 0;
        end = end_of_way(last, now, i, &bytes);
        while (k < first->ways.count && before[k].key < now[i].key) k++;
        if (k < first->ways.count && before[k].key == now[i].key) {
            uint32_t from = k;
            k = end_of_way(first, before, k, &then), old = k - from;
        }
        for (uint32_t n = i; n < end; n++) /* files list newer objects last */
            if (n >= i + old) came[now[n].object] = CAME;
            else if (end - i == old && bytes > then) came[now[n].object] = CAME_LARGER;
    }
    return came;
}

/* The objects that count. ---------------------------------------------------------------------- */

static bool counts_as(const matched *m, uint32_t object, int what) {
    if (m->count == 1) return false;
    if (!m->ids) return m->came[object] == what;
    return what == CAME ? !is_old(m, object) : fresh_bytes(m, object) > 0;
}

/* Puts the objects that count first. Returns how many they are. */
static uint32_t pick(const matched *m, uint32_t *list, uint32_t n, int what) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t o = list[i];
        if (!counts_as(m, o, what)) continue;
        list[i] = list[all], list[all++] = o;
    }
    return all;
}

/* The holder of most. -------------------------------------------------------------------------- */

static uint32_t ancestor(const shot *s, uint32_t object, uint32_t steps_back) {
    while (steps_back-- && object != HD_NONE) object = s->ways.held_by[object];
    return object;
}

static bool is_alike(const shot *s, uint32_t object, uint32_t other) {
    return other != HD_NONE && s->class_of[object] == s->class_of[other] && s->role[other] == OF_PROGRAM;
}

/* The first node of a tree: objects of one class with up to five others between. Two nodes that hold each other are
   a tree, unless they are of class Object. */
static uint32_t top_of_tree(const shot *s, uint32_t object) {
    enum { MOST_PARTS = 6 };
    hd_str name = hd_graph_class(s->o.graph, s->class_of[object]).name;
    for (uint32_t p = 1; p <= MOST_PARTS; p++) {
        uint32_t above = ancestor(s, object, p), farther = ancestor(s, object, 2 * p);
        bool two = p == 1 && !hd_str_equal(name, hd_cstr("Object"));
        if (!is_alike(s, object, above) || (!two && !is_alike(s, object, farther))) continue;
        for (; is_alike(s, object, above); above = ancestor(s, above, p)) object = above;
        break;
    }
    return object;
}

/* The nearest object of the program above more than half of n objects, on the shortest paths. A tree counts as one
   object. HD_NONE: no object is above so many, or its children are unrelated. */
static uint32_t holder_of_most(const shot *s, const uint32_t *list, uint32_t n, uint32_t *sharing) {
    const ways *w = &s->ways;
    FREED uint32_t *behind = needed(calloc((size_t)hd_graph_object_count(s->o.graph) + 1, sizeof *behind));
    uint32_t found = HD_NONE;
    for (uint32_t i = 0; i < n; i++) behind[list[i]]++;
    for (uint32_t i = w->count; i--;)
        if (w->held_by[w->order[i]] != HD_NONE) behind[w->held_by[w->order[i]]] += behind[w->order[i]];
    for (uint32_t i = 0; i < w->count; i++)
        if (2 * (uint64_t)behind[w->order[i]] > n) found = w->order[i]; /* all on one path: the last is the nearest */
    while (found != HD_NONE && (s->role[found] == TABLE || s->role[found] == DATA)) found = w->held_by[found];
    if (found != HD_NONE && !is_loose(s, found)) found = top_of_tree(s, found);
    if (found != HD_NONE && (is_loose(s, found) || s->role[found] != OF_PROGRAM || is_of_node(s, found)))
        found = HD_NONE;
    if (found != HD_NONE) *sharing = behind[found];
    return found;
}

class_way way_of_class(const matched *m, uint32_t class_index, size_t most) {
    const shot *s = &m->shots[m->count - 1];
    FREED uint32_t *list = needed(malloc(((size_t)s->ways.count + 1) * sizeof *list));
    uint32_t n = 0, holder;
    class_way found = { .which = "the new " };
    for (uint32_t i = 0; i < s->ways.count; i++)
        if (s->class_of[s->ways.order[i]] == class_index) list[n++] = s->ways.order[i];
    found.all = pick(m, list, n, CAME);
    if (!found.all) found.all = pick(m, list, n, CAME_LARGER), found.which = "the larger ";
    if (!found.all) found.all = n, found.which = "";
    found.way = common_way(s, list, found.all, n - found.all, most, &found.sharing);
    if (!found.way.count && (holder = holder_of_most(s, list, found.all, &found.sharing)) != HD_NONE) {
        steps_free(&found.way);
        found.way = steps_of_way(&s->o, &s->ways, holder, HD_NONE, most);
        found.to_holder = true;
    }
    return found;
}
