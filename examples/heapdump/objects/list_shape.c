/* The shape of a structure of one class: a row of elements, boxes between elements, and elements outside the row. */

#include "list_shape.h"
#include "runs.h"

enum { UNSEEN, IN_ROW, BESIDE, BOX };

list_mark *mark_of(list_lengths *l, uint32_t object) {
    list_mark *m = &l->mark[object];
    if (m->round != l->round) *m = (list_mark){ .round = l->round };
    return m;
}

void row_push(object_row *row, uint32_t object) {
    if (row->count == row->room)
        row->object = needed(realloc(row->object, (row->room = 2 * row->room + 16) * sizeof *row->object));
    row->object[row->count++] = object;
}

uint64_t label_key(uint64_t key, hd_str label) {
    for (size_t i = 0; i < label.len; i++) key = run_key(key, (uint8_t)label.data[i]);
    return run_key(key, label.len + 256);
}

static void push_box(list_lengths *l, uint32_t object, uint32_t depth, uint64_t key) {
    if (l->depth == l->stack_room)
        l->stack = needed(realloc(l->stack, (l->stack_room = 2 * l->stack_room + 16) * sizeof *l->stack));
    l->stack[l->depth++] = (struct box){ object, depth, key };
}

static void push_near(list_lengths *l, uint32_t object, uint64_t key) {
    if (l->near_count == l->near_room)
        l->near = needed(realloc(l->near, (l->near_room = 2 * l->near_room + 16) * sizeof *l->near));
    l->near[l->near_count++] = (near_element){ object, key };
}

/* Whether an object is one of those between two elements of the pattern. */
static bool is_box(list_lengths *l, uint32_t object) {
    for (uint32_t k = 0; k + 1 < l->p->count; k++) {
        uint32_t like = l->p->part[k].target;
        if (!are_alike(l->o, like, l->head) && are_alike(l->o, object, like)) return true;
    }
    return false;
}

/* Boxes are looked at in the order of their references, so that the first of an array comes first. */
void find_near(list_lengths *l, uint32_t element) {
    l->near_count = 0, l->depth = 0;
    push_box(l, element, 0, 1);
    while (l->depth) {
        struct box b = l->stack[--l->depth];
        hd_object x = hd_graph_object(l->o->graph, b.object);
        uint32_t from = l->depth;
        for (uint32_t r = 0; r < x.reference_count; r++) {
            uint32_t to = x.references[r];
            bool element_of;
            uint64_t key;
            if (to == element || !is_strong(x, r)) continue;
            element_of = are_alike(l->o, to, l->head);
            if (!element_of && (b.depth + 1 >= l->gap || mark_of(l, to)->seen || !is_box(l, to))) continue;
            key = label_key(b.key, label_of(l->o, b.object, r).name);
            if (element_of) push_near(l, to, key);
            else mark_of(l, to)->seen = BOX, push_box(l, to, b.depth + 1, key);
        }
        for (uint32_t i = from, k = l->depth; i + 1 < k; i++) {
            struct box t = l->stack[i];
            l->stack[i] = l->stack[--k], l->stack[k] = t;
        }
    }
}

/* The object that has the names of an object's fields, in V8. */
static uint32_t map_of(const list_lengths *l, uint32_t object) {
    hd_object x = hd_graph_object(l->o->graph, object);
    for (uint32_t r = 0; hd_dump_v8(l->o->dump) && r < x.reference_count; r++)
        if (hd_str_equal(hd_graph_field(l->o->graph, object, r), hd_cstr("map")) &&
            label_of(l->o, object, r).known == OF_ENGINE)
            return x.references[r];
    return HD_NONE;
}

static bool has_field(const list_lengths *l, hd_str name) {
    for (uint32_t i = 0; i < l->field_count; i++)
        if (hd_str_equal(l->fields[i], name)) return true;
    return false;
}

static void note_fields(list_lengths *l) {
    enum { FIRST_ELEMENTS = 4, MOST = sizeof l->fields / sizeof *l->fields };
    l->field_count = 0, l->map = map_of(l, l->row.object[0]);
    for (uint32_t i = 0; i < FIRST_ELEMENTS && i < l->row.count; i++) {
        hd_object x = hd_graph_object(l->o->graph, l->row.object[i]);
        for (uint32_t r = 0; r < x.reference_count && l->field_count < MOST; r++) {
            step_label label = label_of(l->o, l->row.object[i], r);
            if (label.known >= PROPERTY && !has_field(l, label.name)) l->fields[l->field_count++] = label.name;
        }
    }
}

/* Whether an object outside the row has fields of the row's elements, and no other fields. */
static bool is_like_row(const list_lengths *l, uint32_t object) {
    hd_object x = hd_graph_object(l->o->graph, object);
    bool any = false;
    if (l->map != HD_NONE) return map_of(l, object) == l->map;
    for (uint32_t r = 0; r < x.reference_count; r++) {
        step_label label = label_of(l->o, object, r);
        if (label.known < PROPERTY) continue;
        if (!has_field(l, label.name)) return false;
        any = true;
    }
    return any;
}

/* Follows all references from one place in the row to elements outside it, and returns their number. Elements of
   a known list do not count. A known tree counts with all its elements. `again`: a second pass, from the start. */
static uint32_t hang_from(list_lengths *l, uint32_t place, uint64_t key, list_shape *s, bool again) {
    object_row *wait = &l->other;
    uint32_t n = 0;
    wait->count = 0;
    row_push(wait, l->row.object[place]);
    while (wait->count) {
        uint32_t at = wait->object[--wait->count];
        uint32_t before = n;
        bool beside = mark_of(l, at)->seen == BESIDE;
        bool goes_on = beside && !again && is_like_row(l, at);
        find_near(l, at);
        for (uint32_t i = 0; i < l->near_count; i++) {
            uint32_t to = l->near[i].object;
            list_mark *m = mark_of(l, to);
            const list_place *known_in = &l->place[to];
            if (m->seen == IN_ROW) continue;
            goes_on |= beside && (!key || l->near[i].key == key);
            if (m->seen == BESIDE) continue;
            m->seen = BESIDE;
            if (known_in->group && !l->groups[known_in->group].tree) continue;
            n++;
            if (again) s->shared += l->owner[to] != place && l->owner[to] != HD_NONE;
            else l->owner[to] = place;
            if (known_in->group && l->groups[known_in->group].tree) {
                n += l->groups[known_in->group].total, s->nodes++;
                continue;
            }
            row_push(wait, to);
        }
        if (beside && !again && !goes_on) l->owner[at] = HD_NONE;
        s->nodes += goes_on && !again, s->branches += beside && !again && n > before + 1;
    }
    return n;
}

static void mark_row(list_lengths *l) {
    l->round++;
    for (uint32_t i = 0; i < l->row.count; i++) mark_of(l, l->row.object[i])->seen = IN_ROW;
}

list_shape shape_of(list_lengths *l, uint64_t key) {
    list_shape s = { .elements = l->row.count };
    uint64_t behind = 0;
    note_fields(l);
    mark_row(l);
    for (uint32_t i = l->row.count; i--;) {
        uint32_t n = hang_from(l, i, key, &s, false);
        if (behind && n && 4 * (uint64_t)n >= behind) s.forks++;
        s.sides += behind && n;
        behind += n + 1, s.elements += n;
        if (2 * i >= l->row.count) s.late += n;
    }
    if (!s.nodes) return s;
    mark_row(l);
    for (uint32_t i = 0; i < l->row.count; i++) hang_from(l, i, key, &s, true);
    return s;
}

void put_in_group(list_lengths *l, uint32_t group) {
    object_row *wait = &l->other;
    l->round++, wait->count = 0;
    row_push(wait, l->head);
    mark_of(l, l->head)->seen = IN_ROW;
    while (wait->count) {
        uint32_t at = wait->object[--wait->count];
        l->place[at] = (list_place){ group, 0 };
        find_near(l, at);
        for (uint32_t i = 0; i < l->near_count; i++) {
            list_mark *m = mark_of(l, l->near[i].object);
            if (m->seen) continue;
            m->seen = IN_ROW;
            row_push(wait, l->near[i].object);
        }
    }
}
