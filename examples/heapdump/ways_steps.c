/* The tree of path --class on a screen: objects of the engine fold away, a run of one class by one field is a list. */

#include "ways_tree.h"

#include "steps.h"

enum { FOLDED = 1, JOINS = 2, SHOWN_ROOT = 4 };
enum { MOST_NAME = 60, MOST_FOLDED = 64 };

/* A node before lists have their lengths. */
typedef struct draft_node {
    uint32_t parent, longest;    /* longest: elements of the longest list */
    char *label, *what;
    hd_str next;                 /* by which elements of a list hold the next one; borrowed */
    known known;
} draft_node;

typedef struct screen_tree {
    const objects *o;
    const ways *w;
    const uint8_t *asked, *marks;
    uint8_t *flags;              /* by object */
    uint32_t *shown;             /* by object: itself, or the nearest shown one before it; HD_NONE: none */
    uint32_t *node, *length;     /* by object: its node; its place in a list */
    hd_profile *names;           /* numbers nodes */
    draft_node *nodes;
    uint32_t count;
} screen_tree;

static bool is_root_of_engine(const screen_tree *t, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(t->o->dump);
    return v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("synthetic"));
}

/* The best name among those that lead from the shown object before this one to it. */
static step_label best_label(const screen_tree *t, uint32_t object) {
    step_label best = { UNNAMED, { "", 0 } };
    for (uint32_t at = object, n = 0; n < MOST_FOLDED && t->w->held_by[at] != HD_NONE; n++) {
        uint32_t holder = t->w->held_by[at];
        step_label label = label_of(t->o, holder, t->w->by[at]);
        if (label.known > best.known && !(label.known == ELEMENT && is_root_of_engine(t, holder))) best = label;
        at = holder;
        if (!(t->flags[at] & FOLDED)) break;
    }
    return best;
}

static bool is_alike(const screen_tree *t, uint32_t a, uint32_t b) {
    return hd_graph_object(t->o->graph, a).class_index == hd_graph_object(t->o->graph, b).class_index &&
           (!hd_dump_v8(t->o->dump) || hd_str_equal(name_of(t->o, a), name_of(t->o, b)));
}

/* Which objects are folded, and which go on as those before them: so does the second of a list that has a third. */
static void mark_steps(screen_tree *t) {
    for (uint32_t i = 0; i < t->w->count; i++) {
        uint32_t object = t->w->order[i], holder = t->w->held_by[object], before;
        step_label label;
        if (!t->marks[object]) continue;
        before = holder == HD_NONE ? HD_NONE : t->shown[holder];
        label = best_label(t, object);
        t->shown[object] = before;
        if (!t->asked[hd_graph_object(t->o->graph, object).class_index] &&
            (is_root_of_engine(t, object) || (label.known < PROPERTY && is_of_engine(t->o, object)))) {
            t->flags[object] = FOLDED;
        } else {
            t->shown[object] = object;
            if (before == HD_NONE || t->shown[before] != before || !is_alike(t, object, before) ||
                !hd_str_equal(label.name, best_label(t, before).name) || !label.name.len)
                continue;
            t->flags[object] |= JOINS;
            holder = t->w->held_by[before];
            if (holder != HD_NONE && t->shown[holder] != HD_NONE && is_alike(t, before, t->shown[holder]))
                t->flags[before] |= JOINS;
        }
    }
}

/* The node below another of such a label and text, which are kept or freed. */
static uint32_t node_of(screen_tree *t, uint32_t parent, step_label label, char *what) {
    bool element = label.known == ELEMENT;
    uint32_t node;
    char *text;
    hd_error err;
    int n = asprintf(&text, "%.*s%s%s", (int)(label.name.len < MOST_NAME ? label.name.len : MOST_NAME), label.name.data,
                     element ? " " : label.name.len ? ": " : "", what);
    if (n < 0 || hd_profile_node(t->names, HD_AXIS_BACKTRACE, parent, (hd_str){ text, (size_t)n }, &node, &err))
        return needed(NULL), 0;
    for (; t->count <= node; t->count++) {
        if (!(t->count & (t->count - 1)))
            t->nodes = needed(realloc(t->nodes, (t->count ? 2 * (size_t)t->count : 1) * sizeof *t->nodes));
        t->nodes[t->count] = (draft_node){ .parent = parent };
    }
    if (t->nodes[node].what) free(text), free(what);
    else {
        text[(size_t)n - strlen(what)] = 0;
        t->nodes[node] = (draft_node){ .parent = parent, .longest = 1, .label = text, .what = what, .known = label.known };
    }
    return node;
}

/* Roots of the engine have a node only when an object that is none hangs from them. */
static uint32_t node_above(screen_tree *t, uint32_t holder) {
    if (holder == HD_NONE) return 0;
    if (is_root_of_engine(t, holder) && !(t->flags[holder] & SHOWN_ROOT) && name_of(t->o, holder).len &&
        (t->flags[holder] & FOLDED)) {
        t->flags[holder] |= SHOWN_ROOT;
        t->node[holder] = node_of(t, t->node[holder], (step_label){ UNNAMED, { "", 0 } },
                                  object_text(t->o, holder, MOST_NAME));
    }
    return t->node[holder];
}

static char *text_of(const screen_tree *t, uint32_t object) {
    char *text = object_text(t->o, object, MOST_NAME), *whole;
    const char *kind;
    if (t->w->held_by[object] != HD_NONE || hd_dump_v8(t->o->dump)) return text;
    kind = hd_root_kind_name(hd_graph_root(t->o->graph, t->w->by[object]).kind);
    if (asprintf(&whole, "%s root: %s", kind, text) < 0) needed(NULL);
    free(text);
    return whole;
}

static void make_nodes(screen_tree *t) {
    for (uint32_t i = 0; i < t->w->count; i++) {
        uint32_t object = t->w->order[i], holder = t->w->held_by[object], before;
        if (!t->marks[object]) continue;
        if (t->flags[object] & FOLDED) {
            t->node[object] = is_root_of_engine(t, object) ? holder == HD_NONE ? 0 : t->node[holder]
                                                           : node_above(t, holder);
        } else if (t->flags[object] & JOINS) {
            before = t->shown[holder];
            t->node[object] = t->node[before];
            t->length[object] = t->length[before] + 1;
            t->nodes[t->node[object]].next = best_label(t, object).name;
            if (t->nodes[t->node[object]].longest <= t->length[object])
                t->nodes[t->node[object]].longest = t->length[object] + 1;
        } else {
            t->node[object] = node_of(t, node_above(t, holder), best_label(t, object), text_of(t, object));
        }
    }
}

/* Nodes come after those above them. */
static hd_status add_all(screen_tree *t, hd_profile *profile, name_worth *worth, hd_error *err) {
    uint32_t *number = needed(calloc((size_t)t->count + 1, sizeof *number));
    hd_status status = HD_OK;
    for (uint32_t n = 1; n < t->count && !status; n++) {
        const draft_node *d = &t->nodes[n];
        char *text;
        int next = (int)(d->next.len < MOST_NAME ? d->next.len : MOST_NAME);
        int length = d->longest > 1 ? asprintf(&text, "%slist of %u %s (%.*s)", d->label, d->longest, d->what, next,
                                               d->next.data)
                                    : asprintf(&text, "%s%s", d->label, d->what);
        if (length < 0) needed(NULL);
        status = hd_profile_node(profile, HD_AXIS_BACKTRACE, number[d->parent], (hd_str){ text, (size_t)length },
                                 &number[n], err);
        name_worth_add(worth, text, d->known);
    }
    for (uint32_t i = 0; i < t->w->count && !status; i++) {
        hd_object x = hd_graph_object(t->o->graph, t->w->order[i]);
        if (t->marks[t->w->order[i]] && t->asked[x.class_index])
            status = hd_profile_add(profile, &number[t->node[t->w->order[i]]], x.size, 1, err);
    }
    free(number);
    return status;
}

hd_status ways_fill_screen(const objects *o, const uint8_t *asked, const uint8_t *marks, const ways *w,
                           hd_profile *profile, name_worth *worth, hd_error *err) {
    size_t n = (size_t)hd_graph_object_count(o->graph) + 1;
    hd_profile_desc desc = { .axis_count = 1, .axis_name = { "path" } };
    screen_tree t = { .o = o, .w = w, .asked = asked, .marks = marks, .flags = needed(calloc(n, 1)),
                      .shown = needed(malloc(n * sizeof *t.shown)), .node = needed(calloc(n, sizeof *t.node)),
                      .length = needed(calloc(n, sizeof *t.length)), .names = hd_profile_create(&desc, err) };
    hd_status status;
    if (!t.names) needed(NULL);
    memset(t.shown, 0xff, n * sizeof *t.shown);
    mark_steps(&t);
    make_nodes(&t);
    status = add_all(&t, profile, worth, err);
    for (uint32_t i = 0; i < t.count; i++) free(t.nodes[i].label), free(t.nodes[i].what);
    hd_profile_free(t.names);
    free(t.flags), free(t.shown), free(t.node), free(t.length), free(t.nodes);
    return status;
}

/* Names that have to go. ----------------------------------------------------------------------- */

void name_worth_add(name_worth *w, char *name, known how) {
    if (!(w->count & (w->count - 1)))
        w->list = needed(realloc(w->list, (w->count ? 2 * (size_t)w->count : 1) * sizeof *w->list));
    w->list[w->count++] = (struct worth){ name, how };
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct worth *)a)->name, ((const struct worth *)b)->name);
}

void name_worth_free(name_worth *w) {
    while (w->count) free(w->list[--w->count].name);
    free(w->list);
}

static known worth_of(const name_worth *w, hd_str name) {
    char *text = needed(strndup(name.data, name.len));
    const struct worth *found = bsearch(&(struct worth){ text, UNNAMED }, w->list, w->count, sizeof *w->list, by_name);
    free(text);
    return found ? found->known : UNNAMED;
}

/* A chain of names, and those that stay. */
typedef struct chain {
    hd_str **names;
    known *known;
    int *columns;
    uint32_t count;
} chain;

/* The least known of those that are left, but for the last one; of several the first, but one at the beginning is the
   last to go. count: none may go. */
static uint32_t least_known(const chain *c) {
    uint32_t worst = c->count;
    for (uint32_t i = 1; i + 1 < c->count; i++)
        if (c->columns[i] && (worst == c->count || c->known[i] < c->known[worst])) worst = i;
    if (c->count > 1 && c->columns[0] && (worst == c->count || c->known[0] < c->known[worst])) worst = 0;
    return worst;
}

static void shorten_chain(chain *c, int room) {
    enum { BETWEEN_NAMES = 3, MORE_COLUMNS = 12 };
    int used = -BETWEEN_NAMES;
    uint32_t left_out = 0, i;
    for (i = 0; i < c->count; i++) used += c->columns[i] + BETWEEN_NAMES;
    while (used > room && (i = least_known(c)) < c->count) {
        used += left_out ? 0 : MORE_COLUMNS;
        used -= c->columns[i] + BETWEEN_NAMES;
        c->columns[i] = 0, left_out++;
    }
    for (i = 0; i + 1 < c->count; i++) {
        uint32_t end = i;
        char *text;
        while (end + 1 < c->count && !c->columns[end]) end++;
        if (end == i) continue;
        if (asprintf(&text, "\xe2\x80\xa6 %u more", end - i) < 0) needed(NULL);
        for (uint32_t k = i; k < end; k++) {
            free((char *)(uintptr_t)c->names[k]->data);
            *c->names[k] = k == i ? hd_cstr(text) : (hd_str){ NULL, 0 };
        }
        i = end;
    }
}

/* Lines of one row of the listing, from its head on. */
static void shorten_row(listing *l, const name_worth *w, uint32_t head, int room) {
    chain c = { NULL, NULL, NULL, 0 };
    size_t n = 1;
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next) n += l->lines[i].name_count;
    c.names = needed(malloc(n * sizeof *c.names)), c.known = needed(malloc(n * sizeof *c.known));
    c.columns = needed(malloc(n * sizeof *c.columns));
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next)
        for (uint32_t k = 0; k < l->lines[i].name_count; k++, c.count++) {
            c.names[c.count] = &l->lines[i].names[k];
            c.known[c.count] = worth_of(w, l->lines[i].names[k]);
            c.columns[c.count] = columns_of(l->lines[i].names[k]);
        }
    shorten_chain(&c, room);
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next) {
        line *x = &l->lines[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < x->name_count; k++)
            if (x->names[k].data) x->names[kept++] = x->names[k];
        x->name_count = kept;
    }
    free(c.names), free(c.known), free(c.columns);
}

void ways_shorten(listing *l, name_worth *w, int columns) {
    enum { LEAST = 20 };
    qsort(w->list, w->count, sizeof *w->list, by_name);
    for (uint32_t i = 1; i < l->count; i++) {
        int room = columns - 2 * (int)(l->lines[i].indent < 100 ? l->lines[i].indent : 100);
        if (l->lines[i].head == i) shorten_row(l, w, i, room < LEAST ? LEAST : room);
    }
}
