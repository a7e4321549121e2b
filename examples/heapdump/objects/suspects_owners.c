/* suspects of several snapshots: the owners of new objects. The owner is the nearest object that is in all snapshots;
   for a scope it is one of its variables. */

#include "suspects.h"

enum { MOST_VARIABLES = 256 };   /* most references of a scope with variables */

static uint32_t *column(size_t n) {
    uint32_t *list = needed(malloc((n + 1) * sizeof *list));
    memset(list, 0xff, (n + 1) * sizeof *list);
    return list;
}

/* Whether an object is alive in all snapshots. */
static bool is_kept(const matched *m, uint32_t object) {
    for (uint32_t t = 0; t < m->count; t++) {
        uint32_t own = m->ids[(size_t)object * m->count + t];
        if (own == HD_NONE || !m->shots[t].o.dominators->below[own]) return false;
    }
    return true;
}

/* Old tables and texts count for the object above them, and elements of a list for the holder of the list. A list may
   lose elements at one end while it grows at the other. */
static void find_users(owners *w) {
    const shot *last = &w->m->shots[w->m->count - 1];
    const hd_dominators *d = last->o.dominators;
    FREED uint32_t *list = column(d->count); /* by first element: owner of the list */
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o], of = above == HD_NONE ? HD_NONE : w->user[above];
        bool good = of != HD_NONE && is_user(last, of);
        if (w->kept[o] && w->first[o] != HD_NONE) {
            uint32_t top = d->parent[w->first[o]];
            of = top == HD_NONE ? HD_NONE : w->user[top];
            good = of != HD_NONE && last->role[of] == OF_PROGRAM && !is_global(last, of);
            if (list[w->first[o]] == HD_NONE) list[w->first[o]] = good ? of : o;
            w->user[o] = list[w->first[o]];
        } else w->user[o] = w->kept[o] && (is_user(last, o) || last->role[o] == ROOTS || !good) ? o : of;
    }
}

/* Variables. ----------------------------------------------------------------------------------- */

static bool has_variable(const shot *s, uint32_t object, hd_str name) {
    hd_object o = hd_graph_object(s->o.graph, object);
    for (uint32_t r = 0; r < o.reference_count; r++) {
        step_label label = label_of(&s->o, object, r);
        if (label.known >= PROPERTY && hd_str_equal(label.name, name)) return true;
    }
    return false;
}

/* A variable is in all snapshots; a name in only some of them is an entry of a table. */
static bool is_lasting(const matched *m, uint32_t object, hd_str name) {
    for (uint32_t t = 0; t + 1 < m->count; t++)
        if (!has_variable(&m->shots[t], m->ids[(size_t)object * m->count + t], name)) return false;
    return true;
}

static void add_variable(owners *w, variable one) {
    if (!(w->variable_count & (w->variable_count - 1)))
        w->variables = needed(realloc(w->variables, (w->variable_count ? 2 * (size_t)w->variable_count : 1) *
                                                    sizeof *w->variables));
    w->variables[w->variable_count++] = one;
}

static void find_variables(owners *w) {
    const shot *last = &w->m->shots[w->m->count - 1];
    for (uint32_t o = 0; o < w->count; o++) {
        hd_object x = hd_graph_object(last->o.graph, o);
        if (!w->kept[o] || w->user[o] != o || (last->role[o] != SCOPE && !is_global(last, o))) continue;
        if (x.reference_count > MOST_VARIABLES) continue;
        for (uint32_t r = 0; r < x.reference_count; r++) {
            step_label label;
            if (w->kept[x.references[r]] || (x.kinds && x.kinds[r] != HD_REFERENCE_STRONG)) continue;
            label = label_of(&last->o, o, r);
            if (label.known < PROPERTY || !is_lasting(w->m, o, label.name)) continue;
            if (w->first_variable[o] == HD_NONE) w->first_variable[o] = w->variable_count;
            add_variable(w, (variable){ o, x.references[r], label.name });
        }
    }
}

/* A list that a variable holds belongs to the variable. New objects may lie between them. */
static void give_lists(owners *w) {
    const hd_dominators *d = w->m->shots[w->m->count - 1].o.dominators;
    FREED uint32_t *variable_of = column(w->count);
    for (uint32_t v = 0; v < w->variable_count; v++) variable_of[w->variables[v].value] = v;
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o];
        if (!w->kept[o] && variable_of[o] == HD_NONE && above != HD_NONE) variable_of[o] = variable_of[above];
    }
    for (uint32_t o = 0; o < w->count; o++) {
        uint32_t head = w->kept[o] ? w->first[o] : HD_NONE;
        if (head != HD_NONE && w->kept[head]) head = d->parent[head];
        if (head != HD_NONE && variable_of[head] != HD_NONE) w->user[o] = w->count + variable_of[head];
    }
    for (uint32_t o = 0; o < w->count; o++)
        if (w->user[o] < w->count) w->user[o] = w->user[w->user[o]];
}

/* Owners. -------------------------------------------------------------------------------------- */

bool is_user_owner(const owners *w, uint32_t owner) {
    return owner != HD_NONE && (owner >= w->count || is_user(&w->m->shots[w->m->count - 1], owner));
}

/* The owner of a new object that an old holder has by this reference. `old`: the holder in the last snapshot. */
static uint32_t owner_by(const owners *w, const shot *s, uint32_t old, uint32_t holder, uint32_t reference) {
    uint32_t user = w->user[old], v = user == old ? w->first_variable[old] : HD_NONE;
    step_label label;
    if (v == HD_NONE || reference == HD_NONE) return user;
    label = label_of(&s->o, holder, reference);
    for (; label.known >= PROPERTY && v < w->variable_count && w->variables[v].scope == old; v++)
        if (hd_str_equal(w->variables[v].name, label.name)) return w->count + v;
    return user;
}

/* Prefers an owner of the program. New objects of the browser below its old ones are its own. */
static uint32_t better(const owners *w, uint32_t one, uint32_t other) {
    if (one < w->count && is_of_browser(&w->m->shots[w->m->count - 1], one)) return one;
    return !is_user_owner(w, one) && is_user_owner(w, other) ? other : one;
}

/* By object: the reference from its dominator; HD_NONE: several objects below the dominator share it. */
static uint32_t *held_directly(const shot *s) {
    const hd_dominators *d = s->o.dominators;
    uint32_t *by = column(d->count);
    for (uint32_t i = 0; i < d->reached; i++) {
        hd_object o = hd_graph_object(s->o.graph, d->order[i]);
        for (uint32_t r = o.reference_count; r--;)
            if (d->parent[o.references[r]] == d->order[i] && (!o.kinds || o.kinds[r] == HD_REFERENCE_STRONG))
                by[o.references[r]] = r;
    }
    return by;
}

/* Whether an object of JavaScript holds a node that is in a page's document: the document keeps it alive. */
static bool is_of_document(const shot *s, uint32_t holder, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    return v8 && s->role[holder] != ROOTS && hd_v8_detachedness(v8, object) == HD_V8_ATTACHED &&
           !hd_str_equal(hd_v8_type(v8, holder), hd_cstr("native"));
}

/* By object: the owner on its shortest path. Old elements of a list are skipped: the list's holder is the owner. */
static uint32_t *owners_on_way(const owners *w, const shot *s, const uint32_t *old) {
    uint32_t *of = column(s->o.dominators->count);
    for (uint32_t i = 0; i < s->ways.count; i++) {
        uint32_t o = s->ways.order[i], h = s->ways.held_by[o], above = h == HD_NONE ? HD_NONE : s->ways.held_by[h];
        if (h == HD_NONE || is_of_document(s, h, o)) continue;
        if (old[h] == HD_NONE) of[o] = of[h];
        else if (above != HD_NONE && s->class_of[h] == s->class_of[o] &&
                 hd_str_equal(label_of(&s->o, above, s->ways.by[h]).name, label_of(&s->o, h, s->ways.by[o]).name))
            of[o] = of[h];
        else of[o] = better(w, owner_by(w, s, old[h], h, s->ways.by[o]), of[h]);
    }
    return of;
}

/* Whether an old object owns new objects that several objects below it share. Only an instance of the program does:
   the global object, scopes and roots dominate too much to explain anything. */
static bool owns_shared(const owners *w, uint32_t old) {
    const shot *last = &w->m->shots[w->m->count - 1];
    uint32_t user = w->user[old];
    return user < w->count && last->role[user] == OF_PROGRAM && is_user(last, user) && !is_global(last, user);
}

static bool same_class(const shot *s, uint32_t x, const shot *u, uint32_t y) {
    hd_class c = hd_graph_class(s->o.graph, s->class_of[x]), d = hd_graph_class(u->o.graph, u->class_of[y]);
    return hd_str_equal(c.name, d.name) && hd_str_equal(c.scope, d.scope);
}

/* Whether new objects of a list are directly above its old element o in snapshot s. False if an old element of
   another owner is above them: it is the nearest old object. Each object is visited once. */
static bool took_elements(const owners *w, const shot *s, const uint32_t *old, const uint32_t *owner, uint8_t *passed,
                          uint32_t o) {
    const shot *last = &w->m->shots[w->m->count - 1];
    uint32_t at = s->o.dominators->parent[w->m->ids[(size_t)o * w->m->count + (uint32_t)(s - w->m->shots)]];
    if (at == HD_NONE || old[at] != HD_NONE) return false;
    for (; at != HD_NONE && old[at] == HD_NONE && same_class(s, at, last, o); at = s->o.dominators->parent[at]) {
        if (passed[at]) return owner[at] != HD_NONE;
        passed[at] = 1;
    }
    return at == HD_NONE || old[at] == HD_NONE || !same_class(s, at, last, o) || w->user[old[at]] == w->user[o];
}

/* By object of snapshot t: the holder of a list, for elements above the list's first old element. The list took them
   or will lose them: they belong to its holder like the old elements. */
static uint32_t *newer_elements(const owners *w, uint32_t t, const uint32_t *old) {
    const shot *s = &w->m->shots[t], *last = &w->m->shots[w->m->count - 1];
    uint32_t *owner = column(s->o.dominators->count);
    FREED uint8_t *passed = needed(calloc((size_t)s->o.dominators->count + 1, 1));
    for (uint32_t o = 0; o < w->count; o++) {
        uint32_t at;
        if (!w->kept[o] || w->first[o] == HD_NONE) continue;
        if (w->user[o] < w->count && w->first[w->user[o]] == w->first[o]) continue; /* an element owns the list */
        if (!took_elements(w, s, old, owner, passed, o)) continue;
        at = s->o.dominators->parent[w->m->ids[(size_t)o * w->m->count + t]];
        for (; at != HD_NONE && old[at] == HD_NONE && owner[at] == HD_NONE; at = s->o.dominators->parent[at]) {
            if (!same_class(s, at, last, o)) break;
            owner[at] = w->user[o];
        }
    }
    return owner;
}

uint32_t *owners_in(const owners *w, uint32_t t) {
    const shot *s = &w->m->shots[t];
    const hd_dominators *d = s->o.dominators;
    uint32_t *owner = column(d->count);
    FREED uint32_t *old = column(d->count), *by = held_directly(s), *on_way = NULL, *list = NULL;
    for (uint32_t o = 0; o < w->count; o++)
        if (w->kept[o]) old[w->m->ids[(size_t)o * w->m->count + t]] = o;
    on_way = owners_on_way(w, s, old), list = newer_elements(w, t, old);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o];
        if (old[o] != HD_NONE) owner[o] = w->user[old[o]];
        else if (list[o] != HD_NONE) owner[o] = list[o];
        else if (above == HD_NONE) owner[o] = on_way[o];
        else if (old[above] != HD_NONE && by[o] == HD_NONE)
            owner[o] = owns_shared(w, old[above]) ? w->user[old[above]] : on_way[o];
        else if (old[above] != HD_NONE) owner[o] = better(w, owner_by(w, s, old[above], above, by[o]), on_way[o]);
        else owner[o] = better(w, owner[above], on_way[o]);
    }
    return owner;
}

void owners_open(const matched *m, owners *w) {
    const shot *last = &m->shots[m->count - 1];
    memset(w, 0, sizeof *w);
    w->m = m;
    w->count = last->o.dominators->count;
    w->kept = needed(calloc((size_t)w->count + 1, 1));
    for (uint32_t o = 0; o < w->count; o++) w->kept[o] = is_kept(m, o);
    w->first = list_firsts(last);
    w->user = column(w->count), w->first_variable = column(w->count);
    find_users(w);
    find_variables(w);
    give_lists(w);
}

void owners_free(owners *w) {
    free(w->kept), free(w->first), free(w->user), free(w->first_variable), free(w->variables);
}
