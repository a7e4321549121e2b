/* Whether objects of one class are a list or a tree. They are a list if one field leads through nine in ten of them.
   If not, the objects outside that row decide. In a list these are values, and the field of the row does not occur in
   them. In a tree they are nodes: they have the field, and each node of the row leads to many of them. */

#include "list_shape.h"
#include "runs.h"

list_lengths *list_lengths_open(const objects *o) {
    size_t n = (size_t)hd_graph_object_count(o->graph) + 1;
    list_lengths *l = needed(calloc(1, sizeof *l));
    l->o = o, l->group_count = 1;
    l->groups = needed(calloc(1, sizeof *l->groups));
    l->mark = needed(calloc(n, sizeof *l->mark));
    l->place = needed(calloc(n, sizeof *l->place));
    l->owner = needed(calloc(n, sizeof *l->owner));
    return l;
}

void list_lengths_free(list_lengths *l) {
    if (!l) return;
    free(l->mark), free(l->place), free(l->owner), free(l->groups), free(l->near), free(l->stack);
    free(l->row.object), free(l->other.object), free(l);
}

bool are_alike(const objects *o, uint32_t a, uint32_t b) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return hd_graph_object(o->graph, a).class_index == hd_graph_object(o->graph, b).class_index &&
           (v8 || !is_class_object(o, a)) &&
           (!v8 || !hd_str_equal(hd_v8_type(v8, a), hd_cstr("closure")) ||
            hd_str_equal(name_of(o, a), name_of(o, b)));
}

bool are_in_one_list(const list_lengths *l, uint32_t a, uint32_t b) {
    return l->place[a].group && l->place[a].group == l->place[b].group;
}

list_pattern pattern_between(const ways *w, uint32_t element, uint32_t next) {
    list_pattern p = { NULL, 0 };
    for (uint32_t at = next; at != element; at = w->held_by[at]) p.count++;
    p.part = needed(malloc(p.count * sizeof *p.part));
    for (uint32_t k = p.count; k--; next = w->held_by[next])
        p.part[k] = (list_part){ w->held_by[next], w->by[next], next };
    return p;
}

/* Rows by the pattern. -------------------------------------------------------------------------- */

/* Whether a reference has the name that leads to the next part; elements of arrays have any index. */
static bool leads_on(list_lengths *l, const list_part *like, uint32_t object, uint32_t r) {
    return hd_str_equal(label_of(l->o, object, r).name, label_of(l->o, like->holder, like->reference).name);
}

/* The next object by a part of the pattern that is not in the list yet; HD_NONE: the list ends. Elements of arrays
   have one index. An object that many elements share is gone through once. */
static uint32_t next_by(list_lengths *l, const list_part *like, uint32_t object) {
    bool element = label_of(l->o, like->holder, like->reference).known == ELEMENT;
    hd_object x = hd_graph_object(l->o->graph, object);
    list_mark *m = mark_of(l, object);
    for (uint32_t r = m->next; r < x.reference_count; r++) {
        uint32_t to = x.references[r];
        m->next = r + 1;
        if (mark_of(l, to)->seen || !is_strong(x, r) || !are_alike(l->o, to, like->target)) continue;
        if (!leads_on(l, like, object, r)) continue;
        if (!element || hd_str_equal(hd_graph_field(l->o->graph, object, r),
                                     hd_graph_field(l->o->graph, like->holder, like->reference)))
            return to;
    }
    return HD_NONE;
}

/* Puts objects of the head's class into the row. Stops at an object whose list by this pattern is known, and returns
   that object; HD_NONE: the row is complete. */
static uint32_t follow_pattern(list_lengths *l, uint64_t key) {
    l->row.count = 0, l->round++;
    for (uint32_t at = l->head; at != HD_NONE;) {
        uint32_t group = l->place[at].group;
        if (group && l->groups[group].key == key) return at;
        for (uint32_t k = 0; k < l->p->count && at != HD_NONE; k++) {
            if (!k || are_alike(l->o, at, l->head)) mark_of(l, at)->seen = 1, row_push(&l->row, at);
            at = next_by(l, &l->p->part[k], at);
        }
    }
    return HD_NONE;
}

/* The reference by a name to an object of the class, or to a certain object; HD_NONE: no such reference. */
static uint32_t reference_by(list_lengths *l, uint32_t object, hd_str name, uint32_t to) {
    hd_object x = hd_graph_object(l->o->graph, object);
    for (uint32_t r = 0; r < x.reference_count; r++)
        if (is_strong(x, r) && (to == HD_NONE || x.references[r] == to) &&
            are_alike(l->o, x.references[r], l->head) && hd_str_equal(label_of(l->o, object, r).name, name))
            return r;
    return HD_NONE;
}

/* The name by which the second element refers back to the first one; of length 0: it does not. */
static hd_str name_back(list_lengths *l, hd_str forward) {
    uint32_t before = l->row.object[0], element = l->row.count > 1 ? l->row.object[1] : before;
    hd_object x = hd_graph_object(l->o->graph, element);
    for (uint32_t r = 0; r < x.reference_count && element != before; r++) {
        step_label label;
        if (x.references[r] != before || !is_strong(x, r)) continue;
        label = label_of(l->o, element, r);
        if (label.known >= PROPERTY && !hd_str_equal(label.name, forward)) return label.name;
    }
    return hd_cstr("");
}

/* A path may enter a list that goes both ways in its middle. Adds the elements before that one. False: the list goes
   one way. */
static bool follow_back(list_lengths *l, hd_str forward) {
    uint32_t at = l->row.object[0], r;
    hd_str back = name_back(l, forward);
    while (back.len && (r = reference_by(l, at, back, HD_NONE)) != HD_NONE) {
        uint32_t before = hd_graph_object(l->o->graph, at).references[r];
        if (mark_of(l, before)->seen || reference_by(l, before, forward, at) == HD_NONE) break;
        mark_of(l, before)->seen = 1, row_push(&l->row, before);
        at = before;
    }
    return back.len != 0;
}

/* Other rows. ----------------------------------------------------------------------------------- */

enum { BY_KEY, FIRST, LAST, MOST_KEYS = 8 };

/* The next element: by a key, or the first or last reference of an element. By place, references back to the element
   before and to elements that most others hold do not count. HD_NONE: no next element. */
static uint32_t next_in_row(list_lengths *l, int how, uint64_t key, uint32_t before, uint32_t most_holders) {
    uint32_t found = HD_NONE, known_to_all = HD_NONE;
    for (uint32_t i = 0; i < l->near_count; i++) {
        uint32_t to = l->near[i].object;
        if (how == BY_KEY && (l->near[i].key != key || mark_of(l, to)->seen)) continue;
        if (how != BY_KEY && to == before) continue;
        if (how != BY_KEY && l->owner[to] > most_holders) known_to_all = to;
        else if (how != LAST && found != HD_NONE) continue;
        else found = to;
    }
    if (found == HD_NONE) found = known_to_all;
    return found != HD_NONE && mark_of(l, found)->seen ? HD_NONE : found;
}

static void follow_from(list_lengths *l, uint32_t at, uint32_t before, int how, uint64_t key, uint32_t most) {
    while (at != HD_NONE) {
        uint32_t next;
        mark_of(l, at)->seen = 1, row_push(&l->other, at);
        find_near(l, at);
        next = next_in_row(l, how, key, before, most);
        before = at, at = next;
    }
}

/* Whether an element holds another one. */
static bool holds(list_lengths *l, uint32_t element, uint32_t other) {
    return reference_between(l->o, element, other) != HD_NONE;
}

/* Takes the other row if it is longer. */
static bool take_longer(list_lengths *l) {
    object_row t = l->row;
    if (l->other.count <= l->row.count) return false;
    l->row = l->other, l->other = t;
    return true;
}

/* The fields of an element that lead to others. */
static uint32_t fields_of(list_lengths *l, uint32_t element, hd_str names[MOST_KEYS]) {
    hd_object x = hd_graph_object(l->o->graph, element);
    uint32_t n = 0;
    for (uint32_t r = 0; r < x.reference_count && n < MOST_KEYS; r++) {
        hd_str name;
        uint32_t i = 0;
        if (x.references[r] == element || !is_strong(x, r) || !are_alike(l->o, x.references[r], l->head)) continue;
        name = label_of(l->o, element, r).name;
        while (i < n && !hd_str_equal(names[i], name)) i++;
        if (i == n) names[n++] = name;
    }
    return n;
}

/* Rows by other fields than the pattern's, from the head or from the second element. A head of the class of its list
   is no element. Returns the field of the longest row, if that is longer. */
static hd_str try_fields(list_lengths *l, hd_str forward, bool *two_way) {
    hd_str names[MOST_KEYS], best = hd_cstr("");
    const uint32_t from[2] = { l->head, l->p->part[0].target };
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t n = fields_of(l, from[k], names);
        for (uint32_t i = 0; i < n; i++) {
            if (hd_str_equal(names[i], forward)) continue;
            l->round++, l->other.count = 0;
            follow_from(l, from[k], HD_NONE, BY_KEY, label_key(1, names[i]), 0);
            if (!take_longer(l)) continue;
            best = names[i];
            *two_way = follow_back(l, best);
        }
    }
    return best;
}

/* Counts the references to each element behind the head. Returns how many most elements hold, at most. */
static uint32_t count_holders(list_lengths *l) {
    l->other.count = 0, l->round++;
    row_push(&l->other, l->head);
    mark_of(l, l->head)->seen = 1, l->owner[l->head] = 0;
    for (uint32_t i = 0; i < l->other.count; i++) {
        find_near(l, l->other.object[i]);
        for (uint32_t k = 0; k < l->near_count; k++) {
            uint32_t to = l->near[k].object;
            if (!mark_of(l, to)->seen) {
                mark_of(l, to)->seen = 1, l->owner[to] = 0;
                row_push(&l->other, to);
            }
            l->owner[to]++;
        }
    }
    return l->other.count / 2 > 2 ? l->other.count / 2 : 2;
}

/* Rows by the place of a reference, where names are missing. A list that goes both ways also has elements before the
   head. Returns whether such a row is the longest. */
static bool try_places(list_lengths *l) {
    uint32_t most = count_holders(l);
    bool found = false;
    for (int how = FIRST; how <= LAST; how++) {
        uint32_t second, before = HD_NONE;
        l->round++, l->other.count = 0;
        follow_from(l, l->head, HD_NONE, how, 0, most);
        second = l->other.object[l->other.count > 1];
        find_near(l, l->head);
        for (uint32_t i = 0; i < l->near_count && l->gap == 1 && holds(l, second, l->head); i++)
            if (!mark_of(l, l->near[i].object)->seen && holds(l, l->near[i].object, l->head))
                before = l->near[i].object;
        follow_from(l, before, l->head, how, 0, most);
        found |= take_longer(l);
    }
    return found;
}

/* Answers. -------------------------------------------------------------------------------------- */

static uint32_t class_of_head(const list_lengths *l) { return hd_graph_object(l->o->graph, l->head).class_index; }

static uint64_t key_of_pattern(const list_lengths *l) {
    uint64_t key = 1;
    for (uint32_t k = 0; k < l->p->count; k++)
        key = run_key(label_key(key, label_of(l->o, l->p->part[k].holder, l->p->part[k].reference).name),
                      hd_graph_object(l->o->graph, l->p->part[k].target).class_index);
    return key;
}

static uint32_t new_group(list_lengths *l, list_group one) {
    if (!(l->group_count & (l->group_count - 1)))
        l->groups = needed(realloc(l->groups, 2 * (size_t)l->group_count * sizeof *l->groups));
    l->groups[l->group_count] = one;
    return l->group_count++;
}

static list_answer answer_in(const list_lengths *l, uint32_t object) {
    const list_group *g = &l->groups[l->place[object].group];
    return (list_answer){ g->tree ? HD_NONE : g->whole ? g->total : l->place[object].left, g->by, g->any };
}

/* A row that goes on with a known list. */
static void join_known(list_lengths *l, uint32_t first) {
    list_place at = l->place[first];
    for (uint32_t i = l->row.count; i--;) l->place[l->row.object[i]] = (list_place){ at.group, ++at.left };
    if (l->groups[at.group].whole) l->groups[at.group].total += l->row.count;
}

/* Whether all elements are a tree. Without names, and in short arrays, one element outside the row is enough. In a
   list of lists, the inner lists are spread evenly: neither half of the row holds three quarters of them, and they do
   not branch. A short row cannot show this. */
static bool is_tree(list_lengths *l, const list_shape *s) {
    enum { SHORT = 10 };
    uint64_t row = l->row.count, beside = s->elements - row;
    if (10 * row >= 9 * (uint64_t)s->elements || !(s->sides || s->branches)) return false;
    if (l->unnamed || (l->arrays && row < SHORT)) return true;
    if (4 * (uint64_t)s->nodes < row) return false;
    return row < SHORT || 2 * (uint64_t)s->forks + 1 >= row || 2 * (uint64_t)s->shared > row ||
           4 * (uint64_t)s->branches >= row || 4 * (uint64_t)s->late <= beside || 4 * (uint64_t)s->late >= 3 * beside;
}

static void put_row(list_lengths *l, uint32_t group) {
    for (uint32_t i = 0; i < l->row.count; i++)
        l->place[l->row.object[i]] = (list_place){ group, l->row.count - i };
}

/* Judges the head, which belongs to no known list or tree. */
static void judge(list_lengths *l, uint64_t pattern_key) {
    const list_part *first = &l->p->part[0];
    hd_str forward = label_of(l->o, first->holder, first->reference).name;
    list_group one, g = { .key = pattern_key, .by = hd_cstr("") };
    bool any = l->unnamed || l->arrays, two_way = false;
    uint64_t key = 1;
    list_shape s;
    for (uint32_t k = 0; k < l->p->count; k++) {
        key = label_key(key, label_of(l->o, l->p->part[k].holder, l->p->part[k].reference).name);
        if (are_alike(l->o, l->p->part[k].target, l->head)) break;
    }
    if (l->p->count == 1 && !any) {
        two_way = follow_back(l, forward);
        g.by = try_fields(l, forward, &two_way);
        if (g.by.len) key = label_key(1, g.by), g.key = run_key(key, class_of_head(l));
    } else if (any) {
        g.any = try_places(l);
    }
    s = shape_of(l, any ? 0 : key);
    g.tree = is_tree(l, &s);
    g.total = g.tree ? s.elements : l->row.count;
    g.whole = two_way || holds(l, l->row.object[l->row.count - 1], l->head) ||
              (any && l->row.count > 1 && l->gap == 1 && holds(l, l->row.object[1], l->row.object[0]));
    if (g.tree) g.by = hd_cstr("");
    one = g;
    one.chain = !g.tree && !s.sides && !s.branches && 10 * (uint64_t)l->row.count < 9 * (uint64_t)s.elements;
    if (one.chain) one.key = 0;
    if (g.tree || one.chain) put_in_group(l, new_group(l, one));
    if (!g.tree) put_row(l, new_group(l, g));
}

/* Reads the kinds of references in the pattern. *nodes: they lead between nodes of a page. False: a reference of the
   pattern is not known. */
static bool read_pattern(list_lengths *l, bool *nodes) {
    uint32_t since = 0;
    l->unnamed = l->arrays = false, l->gap = 1;
    *nodes = hd_dump_v8(l->o->dump) && hd_str_equal(hd_v8_type(hd_dump_v8(l->o->dump), l->head), hd_cstr("native"));
    for (uint32_t k = 0; k < l->p->count; k++) {
        known how;
        if (l->p->part[k].reference == HD_NONE) return false;
        how = label_of(l->o, l->p->part[k].holder, l->p->part[k].reference).known;
        l->arrays |= how == ELEMENT, l->unnamed |= how == UNNAMED, *nodes &= how == ELEMENT;
        if (++since > l->gap) l->gap = since;
        if (are_alike(l->o, l->p->part[k].target, l->head)) since = 0;
    }
    return true;
}

/* Whether the answer about an object and the next one is known. In a skip list both are in one list by any field. */
static bool is_known(const list_lengths *l, list_place at, list_place next, uint64_t key) {
    const list_group *g = &l->groups[at.group];
    return at.group && !g->chain && (g->tree || g->key == key || next.group == at.group);
}

list_answer list_length(list_lengths *l, const list_pattern *p, uint32_t head, uint32_t least) {
    list_answer got = { least, hd_cstr(""), false };
    list_place at = l->place[head], next = l->place[p->part[p->count - 1].target];
    uint64_t key;
    uint32_t join;
    bool nodes;
    l->p = p, l->head = head;
    if (!read_pattern(l, &nodes)) return got;
    if (nodes) return (list_answer){ HD_NONE, hd_cstr(""), true };
    key = key_of_pattern(l);
    if (!at.group && next.group && l->groups[next.group].tree) l->place[head] = at = next;
    if (!is_known(l, at, next, key)) {
        list_group one_way = { .key = key };
        join = follow_pattern(l, key);
        if (join != HD_NONE) join_known(l, join);
        else if (l->groups[at.group].chain) put_row(l, new_group(l, one_way));
        else judge(l, key);
    }
    got = answer_in(l, head);
    if (got.elements && got.elements < least) got.elements = least;
    return got;
}
