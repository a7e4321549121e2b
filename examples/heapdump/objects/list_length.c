/* How long a list is whose elements hold each other as one of them does the next; and what is a tree instead. */

#include "list_length.h"

/* What is known of an object in this round; of earlier rounds, nothing is. */
typedef struct list_mark {
    uint32_t round, next;        /* next: its first reference that was not followed yet */
    uint8_t seen;                /* a bit for each place in the pattern */
} list_mark;

struct list_lengths {
    const objects *o;
    const list_pattern *p;
    list_mark *mark;             /* by object */
    uint32_t round;
    uint64_t work, most;         /* references looked at in all rounds, and how many these may be */
    uint32_t *wait;              /* objects to look at, each with its place in the pattern behind it */
    uint32_t waiting, room;
};

list_lengths *list_lengths_open(const objects *o) {
    enum { TIMES = 16, LEAST = 1 << 20 };
    hd_graph_summary sum = hd_graph_summarize(o->graph);
    list_lengths *l = needed(calloc(1, sizeof *l));
    l->o = o;
    l->mark = needed(calloc((size_t)hd_graph_object_count(o->graph) + 1, sizeof *l->mark));
    l->most = TIMES * sum.references + LEAST;
    return l;
}

void list_lengths_free(list_lengths *l) {
    if (!l) return;
    free(l->mark), free(l->wait), free(l);
}

static list_mark *mark_of(list_lengths *l, uint32_t object) {
    list_mark *m = &l->mark[object];
    if (m->round != l->round) *m = (list_mark){ .round = l->round };
    return m;
}

static bool is_strong(hd_object x, uint32_t r) { return !x.kinds || x.kinds[r] == HD_REFERENCE_STRONG; }

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
    for (uint32_t r = m->next; r < x.reference_count; r++, l->work++) {
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

static void wait_for(list_lengths *l, uint32_t object, uint32_t place) {
    if (l->waiting + 2 > l->room) l->wait = needed(realloc(l->wait, (l->room = 2 * l->room + 16) * sizeof *l->wait));
    l->wait[l->waiting++] = object, l->wait[l->waiting++] = place;
}

/* Counts the objects of the head's class in the list. *elements: those that begin a period; l->wait gets them. */
static uint32_t count_along(list_lengths *l, uint32_t head, uint32_t *elements) {
    uint32_t n = 0, at = head;
    *elements = 0;
    while (at != HD_NONE) {
        for (uint32_t k = 0; k < l->p->count && at != HD_NONE; k++) {
            if (!k || are_alike(l->o, at, head)) mark_of(l, at)->seen = 1, n++;
            if (!k) wait_for(l, at, 0), ++*elements;
            at = next_by(l, &l->p->part[k], at);
        }
    }
    return n;
}

/* Counts the elements again, by any index of the arrays between them. HD_NONE: that finds more than `elements`, and
   one element leads to two others, so it is a tree. In a skip list all levels lead to the same elements. */
static uint32_t count_by_any_index(list_lengths *l, uint32_t head, uint32_t elements) {
    enum { PLACES = 7 };         /* parts of a pattern that are told apart */
    uint32_t n = 1;
    bool branches = false;
    l->round++, l->waiting = 0;
    mark_of(l, head)->seen = 1;
    wait_for(l, head, 0), wait_for(l, head, 0);
    while (l->waiting && !(branches && n > elements)) {
        uint32_t place = l->wait[--l->waiting], object = l->wait[--l->waiting];
        uint32_t element = (l->waiting -= 2, l->wait[l->waiting]);
        const list_part *like = &l->p->part[place];
        hd_object x = hd_graph_object(l->o->graph, object);
        place = place + 1 == l->p->count ? 0 : place + 1;
        for (uint32_t r = 0; r < x.reference_count; r++, l->work++) {
            uint32_t to = x.references[r];
            uint8_t bit = (uint8_t)(1u << (place < PLACES ? place : PLACES));
            if ((mark_of(l, to)->seen & bit) || !is_strong(x, r) || !are_alike(l->o, to, like->target)) continue;
            if (!leads_on(l, like, object, r)) continue;
            mark_of(l, to)->seen |= bit;
            if (!place) n++, branches |= ++mark_of(l, element)->next > 1;
            wait_for(l, place ? element : to, 0), wait_for(l, to, place);
        }
    }
    return n > elements && branches ? HD_NONE : n;
}

/* An object with many references is no element: it would be looked at again and again. */
static bool refers_to(const objects *o, uint32_t object, uint32_t to) {
    enum { MOST_REFERENCES = 256 };
    return hd_graph_object(o->graph, object).reference_count <= MOST_REFERENCES &&
           reference_between(o, object, to) != HD_NONE;
}

/* References without names: all objects of the kind that these lead to. An element has the next and the one before,
   and may know the first; others make a tree. */
static uint32_t count_unnamed(list_lengths *l, uint32_t head) {
    uint32_t n = 0;
    mark_of(l, head)->seen = 1;
    wait_for(l, head, 0);
    while (l->waiting) {
        uint32_t at = l->wait[l->waiting -= 2], beside = HD_NONE, few = 0;
        hd_object x = hd_graph_object(l->o->graph, at);
        n++;
        for (uint32_t r = 0; r < x.reference_count && few <= 2; r++, l->work++) {
            uint32_t to = x.references[r];
            if (to == at || to == head || to == beside || !is_strong(x, r) || !are_alike(l->o, to, head)) continue;
            if (++few == 2 && !(refers_to(l->o, beside, at) && refers_to(l->o, to, at))) few = 3;
            beside = to;
            if (mark_of(l, to)->seen) continue;
            mark_of(l, to)->seen = 1;
            wait_for(l, to, 0);
        }
        if (few > 2) return HD_NONE;
    }
    return n;
}

/* The reference by a name to an object of the class, or to a certain object; HD_NONE: there is none. */
static uint32_t reference_by(list_lengths *l, uint32_t object, hd_str name, uint32_t like, uint32_t to) {
    hd_object x = hd_graph_object(l->o->graph, object);
    for (uint32_t r = 0; r < x.reference_count; r++, l->work++)
        if (is_strong(x, r) && are_alike(l->o, x.references[r], like) && (to == HD_NONE || x.references[r] == to) &&
            hd_str_equal(label_of(l->o, object, r).name, name))
            return r;
    return HD_NONE;
}

/* The name by which an element refers back to the one before it; of length 0: none does. */
static hd_str name_back(list_lengths *l, uint32_t element, uint32_t before, hd_str forward) {
    hd_object x = hd_graph_object(l->o->graph, element);
    for (uint32_t r = 0; r < x.reference_count; r++, l->work++) {
        step_label label;
        if (x.references[r] != before || !is_strong(x, r)) continue;
        label = label_of(l->o, element, r);
        if (label.known >= PROPERTY && !hd_str_equal(label.name, forward)) return label.name;
    }
    return hd_cstr("");
}

/* A path may enter a list that goes both ways in its middle: the elements before that one. */
static uint32_t count_back(list_lengths *l, uint32_t head) {
    const list_part *like = &l->p->part[0];
    hd_str forward = label_of(l->o, like->holder, like->reference).name, back;
    uint32_t n = 0, at = head, r = reference_by(l, head, forward, head, HD_NONE);
    if (r == HD_NONE) return 0;
    back = name_back(l, hd_graph_object(l->o->graph, head).references[r], head, forward);
    while (back.len && (r = reference_by(l, at, back, head, HD_NONE)) != HD_NONE) {
        uint32_t before = hd_graph_object(l->o->graph, at).references[r];
        if (mark_of(l, before)->seen || reference_by(l, before, forward, head, at) == HD_NONE) break;
        mark_of(l, before)->seen = 1, n++;
        at = before;
    }
    return n;
}

/* Whether it is a tree: half of the elements in l->wait hold, by another name, an object outside the list that has a
   next object of its own. */
static bool has_branches(list_lengths *l, uint32_t head, uint32_t elements) {
    const list_part *like = &l->p->part[0];
    hd_str forward = label_of(l->o, like->holder, like->reference).name;
    uint32_t n = 0;
    while (l->waiting) {
        uint32_t at = l->wait[l->waiting -= 2];
        hd_object x = hd_graph_object(l->o->graph, at);
        for (uint32_t r = 0; r < x.reference_count; r++, l->work++) {
            uint32_t to = x.references[r];
            if (mark_of(l, to)->seen || !is_strong(x, r) || !are_alike(l->o, to, head)) continue;
            if (label_of(l->o, at, r).known < PROPERTY) continue;
            mark_of(l, to)->seen = 1;
            if (reference_by(l, to, forward, head, HD_NONE) == HD_NONE) continue;
            n++;
            break;
        }
    }
    return n > 1 && 2 * (uint64_t)n >= elements;
}

bool are_alike(const objects *o, uint32_t a, uint32_t b) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return hd_graph_object(o->graph, a).class_index == hd_graph_object(o->graph, b).class_index &&
           (!v8 || !hd_str_equal(hd_v8_type(v8, a), hd_cstr("closure")) ||
            hd_str_equal(name_of(o, a), name_of(o, b)));
}

uint32_t list_length(list_lengths *l, const list_pattern *p, uint32_t head, uint32_t least) {
    const objects *o = l->o;
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    bool nodes = v8 && hd_str_equal(hd_v8_type(v8, head), hd_cstr("native")), arrays = false, unnamed = false;
    uint32_t n, elements;
    for (uint32_t k = 0; k < p->count; k++) {
        known how;
        if (p->part[k].reference == HD_NONE) return least;
        how = label_of(o, p->part[k].holder, p->part[k].reference).known;
        nodes &= how == ELEMENT, arrays |= how == ELEMENT, unnamed |= how == UNNAMED;
    }
    if (nodes) return HD_NONE;
    if (l->work > l->most) return least;
    l->p = p, l->round++, l->waiting = 0;
    if (p->count == 1 && unnamed) n = count_unnamed(l, head);
    else {
        n = count_along(l, head, &elements);
        if (p->count == 1 && !arrays) {
            n += count_back(l, head);
            if (has_branches(l, head, elements)) n = HD_NONE;
        }
        else if (arrays || unnamed) {
            elements = count_by_any_index(l, head, elements);
            if (n < elements) n = elements;
        }
    }
    return n < least ? least : n;
}
