/* The tree of path --class: a run of a class by one field is a list. On a screen objects of the engine fold away. */

#include "ways_tree.h"
#include "list_length.h"
#include "runs.h"
#include "objects.h"

enum { FOLDED = 1, JOINS = 2, SHOWN_ROOT = 4, IN_NO_LIST = 8, HEAD_KNOWN = 16 };
enum { LEAST_NAME = 60, MOST_FOLDED = 64 };
enum { MOST_KEYS = 20 };         /* properties with values of one class; more belong to a table */

/* A node before lists have their lengths. */
typedef struct draft_node {
    uint32_t parent, longest;    /* longest: periods of the longest list */
    uint32_t elements;           /* objects of its class in the longest list from a head of the node; 0: not known */
    uint32_t period;             /* of that list; 0: none */
    uint32_t number, depth;      /* number: its own; after fold_keys the first one of equal nodes */
    char *label, *what;
    char *next;                  /* by which elements of a list hold the next one */
    hd_str by;                   /* the field that orders them, if it is another one; or empty */
    uint32_t heads, trees;       /* lists that begin in it, and how many of these are trees */
    bool any;                    /* references of any name lead through one of the lists */
    known known;
} draft_node;

typedef struct screen_tree {
    const objects *o;
    const ways *w;
    const uint8_t *asked, *marks;
    size_t most;                 /* bytes of a name; 0: names are whole, and nothing is folded */
    uint8_t *flags;              /* by object */
    uint32_t *shown;             /* by object: itself, or the nearest shown one before it; HD_NONE: none */
    uint32_t *node, *length;     /* by object: its node; its place in a list */
    uint32_t *key;               /* by object: a hash of its class and its best known name */
    uint32_t *period;            /* by object: the period of the list that it continues; else 0 */
    run_trail path;               /* of shown objects, to the current object */
    hd_profile *names;           /* numbers nodes */
    draft_node *nodes;
    uint32_t count;
    list_lengths *lengths;
} screen_tree;

/* The label of the reference to an object where nothing is folded: "[]" for elements. */
static step_label whole_label(const screen_tree *t, uint32_t object) {
    uint32_t holder = t->w->held_by[object], by = t->w->by[object];
    step_label label = { PROPERTY, hd_cstr("") };
    if (holder == HD_NONE) return label;
    if (by == HD_NONE) label.name = hd_cstr("as key");
    else if (index_of(t->o, holder, by) != HD_UNKNOWN) label.name = hd_cstr("[]");
    else label.name = hd_graph_field(t->o->graph, holder, by);
    if (is_number(label.name)) label.name = hd_cstr("[]");
    return label;
}

/* The best known name on the way from the last shown object to this one. */
static step_label best_label(const screen_tree *t, uint32_t object) {
    step_label best = { UNNAMED, { "", 0 } };
    if (!t->most) return whole_label(t, object);
    for (uint32_t at = object, n = 0; n < MOST_FOLDED && t->w->held_by[at] != HD_NONE; n++) {
        uint32_t holder = t->w->held_by[at];
        step_label label = label_of(t->o, holder, t->w->by[at]);
        if (label.known > best.known && (label.known >= PROPERTY || !is_synthetic(t->o, holder))) best = label;
        at = holder;
        if (!(t->flags[at] & FOLDED)) break;
    }
    return best;
}

static bool is_alike(const screen_tree *t, uint32_t a, uint32_t b) {
    return hd_graph_object(t->o->graph, a).class_index == hd_graph_object(t->o->graph, b).class_index &&
           ((!hd_dump_v8(t->o->dump) && !is_class_object(t->o, a)) ||
            hd_str_equal(name_of(t->o, a), name_of(t->o, b)));
}

/* The shown object before one; HD_NONE: the way begins with it. */
static uint32_t before_it(const screen_tree *t, uint32_t object) {
    uint32_t holder = object == HD_NONE ? HD_NONE : t->w->held_by[object];
    return holder == HD_NONE ? HD_NONE : t->shown[holder];
}

static uint32_t key_of(const screen_tree *t, uint32_t object, hd_str label) {
    uint32_t key = 2166136261u ^ hd_graph_object(t->o->graph, object).class_index;
    for (size_t i = 0; i < label.len; i++) key = (key ^ (uint8_t)label.data[i]) * 16777619u;
    return key;
}

static bool is_repeated(const screen_tree *t, uint32_t object, uint32_t before) {
    return t->key[object] == t->key[before] && is_alike(t, object, before) &&
           hd_str_equal(best_label(t, object).name, best_label(t, before).name);
}

/* Whether an object goes on as the one before it; then the second of a list that has a third does so, too. */
static void find_list(screen_tree *t, uint32_t object, uint32_t before) {
    uint32_t first = before_it(t, before);
    t->flags[object] |= JOINS;
    if (first != HD_NONE && is_alike(t, before, first)) t->flags[before] |= JOINS;
}

/* Only V8 has a root of its own before all others. */
static bool can_fold(const screen_tree *t, uint32_t object) {
    return t->w->held_by[object] != HD_NONE || hd_dump_v8(t->o->dump);
}

/* Which objects are folded, and which go on as those before them. */
static void mark_steps(screen_tree *t) {
    for (uint32_t i = 0; i < t->w->count; i++) {
        uint32_t object = t->w->order[i], before;
        step_label label;
        if (!t->marks[object]) continue;
        before = before_it(t, object);
        label = best_label(t, object);
        t->shown[object] = before;
        if (t->most && !t->asked[hd_graph_object(t->o->graph, object).class_index] && can_fold(t, object) &&
            (is_synthetic(t->o, object) || (label.known < PROPERTY && is_of_engine(t->o, object)))) {
            t->flags[object] = FOLDED;
            continue;
        }
        t->shown[object] = object;
        t->key[object] = key_of(t, object, label.name);
        if (before == HD_NONE || (!label.name.len && hd_dump_v8(t->o->dump)) || is_synthetic(t->o, object))
            t->flags[object] |= IN_NO_LIST;
        else if (before_it(t, before) != HD_NONE && is_repeated(t, object, before)) find_list(t, object, before);
    }
}

static bool ends_with_repetition(const screen_tree *t, uint32_t period) {
    const uint32_t *last = &t->path.object[t->path.count - 1];
    for (uint32_t i = 0; i < period; i++)
        if (!is_repeated(t, *(last - i), *(last - i - period))) return false;
    return true;
}

/* Whether a list has its third element. Another reference leads to the first one: "top: list of 11 Letter". */
static bool ends_with_list(const screen_tree *t, uint32_t period) {
    const uint32_t *last = &t->path.object[t->path.count - 1];
    return t->path.count > 2 * period && !(t->flags[*(last - 2 * period)] & IN_NO_LIST) &&
           is_alike(t, *(last - period), *(last - 2 * period)) && ends_with_repetition(t, period);
}

/* A list is one from its second element on. */
static void take_second(screen_tree *t, uint32_t period) {
    const uint32_t *last = &t->path.object[t->path.count - 1];
    for (uint32_t i = 1; i <= period; i++)
        if (!t->period[*(last - i)]) t->period[*(last - i)] = period;
}

/* Steps that repeat by twos and more: closures that hold each other over an object. */
static void find_period(void *user, uint32_t object) {
    screen_tree *t = user;
    uint32_t at = t->path.count, before = at ? t->path.period[at - 1] : 0, periods[RUN_PERIODS], n;
    bool alone = (t->flags[object] & (JOINS | IN_NO_LIST)) != 0;
    if (!t->marks[object] || (t->flags[object] & FOLDED)) return;
    run_trail_push(&t->path, object, alone ? run_key(object, UINT64_MAX) : t->key[object]);
    if (alone) return;
    if (before && before <= at && is_repeated(t, object, t->path.object[at - before])) t->path.period[at] = before;
    else {
        n = run_periods(&t->path, periods);
        for (uint32_t i = 0; i < n && !t->path.period[at]; i++)
            if (periods[i] > 1 && ends_with_list(t, periods[i])) t->path.period[at] = periods[i];
        if (t->path.period[at]) take_second(t, t->path.period[at]);
    }
    t->period[object] = t->path.period[at];
}

static void leave_path(void *user, uint32_t object) {
    screen_tree *t = user;
    if (t->marks[object] && !(t->flags[object] & FOLDED)) run_trail_pop(&t->path);
}

/* How much of a name is shown. */
static int shown_of_name(const screen_tree *t, hd_str name) {
    return (int)(t->most && name.len > t->most ? t->most : name.len);
}

/* The node below another of such a label and text, which are kept or freed. */
static uint32_t node_of(screen_tree *t, uint32_t parent, step_label label, char *what) {
    bool element = label.known == ELEMENT;
    uint32_t node;
    char *text;
    hd_error err;
    int n = asprintf(&text, "%.*s%s%s", shown_of_name(t, label.name), label.name.len ? label.name.data : "",
                     element ? " " : label.name.len ? ": " : "", what);
    if (n < 0 || hd_profile_node(t->names, HD_AXIS_BACKTRACE, parent, (hd_str){ text, (size_t)n }, &node, &err))
        return needed(NULL), 0;
    for (; t->count <= node; t->count++) {
        if (!(t->count & (t->count - 1)))
            t->nodes = needed(realloc(t->nodes, (t->count ? 2 * (size_t)t->count : 1) * sizeof *t->nodes));
        t->nodes[t->count] = (draft_node){ .parent = parent, .number = t->count };
    }
    if (t->nodes[node].what) free(text), free(what);
    else {
        text[(size_t)n - strlen(what)] = 0;
        t->nodes[node] = (draft_node){ .parent = parent, .longest = 1, .label = text, .what = what,
                                       .known = label.known, .number = node,
                                       .depth = node ? t->nodes[parent].depth + 1 : 0 };
    }
    return node;
}

/* The node of a holder. An engine's root gets a node once an object of the program hangs from it. */
static uint32_t node_above(screen_tree *t, uint32_t holder) {
    if (holder == HD_NONE) return 0;
    if (is_synthetic(t->o, holder) && !(t->flags[holder] & SHOWN_ROOT) && name_of(t->o, holder).len &&
        (t->flags[holder] & FOLDED)) {
        t->flags[holder] |= SHOWN_ROOT;
        t->node[holder] = node_of(t, t->node[holder], (step_label){ UNNAMED, { "", 0 } },
                                  object_text(t->o, holder, t->most));
    }
    return t->node[holder];
}

/* The class of an object; of V8's roots their name. */
static char *whole_text(const screen_tree *t, uint32_t object) {
    hd_str name = name_of(t->o, object);
    if (!is_synthetic(t->o, object) || !name.len)
        name = hd_graph_class(t->o->graph, hd_graph_object(t->o->graph, object).class_index).name;
    return needed(strndup(name.len ? name.data : "", name.len));
}

/* Threads and enum constants share a node, whatever their names; functions of V8 and classes of Java do not. */
static char *text_of(const screen_tree *t, uint32_t object) {
    bool whole = !t->most || (!hd_dump_v8(t->o->dump) && name_of(t->o, object).len);
    return whole && !is_class_object(t->o, object) ? whole_text(t, object) : object_text(t->o, object, t->most);
}

/* "local root", or NULL: V8 has a root of its own before all others, which is not shown. To be freed. */
static char *root_label(const screen_tree *t, uint32_t object) {
    hd_root root;
    if (t->w->held_by[object] != HD_NONE) return NULL;
    if (t->most && hd_dump_v8(t->o->dump) && !is_cut_off(t->o, object)) return NULL;
    root = hd_graph_root(t->o->graph, t->w->by[object]);
    return root_text(t->o, &root, " root");
}

/* The node of an object that is shown and in no list before. */
static void make_node(screen_tree *t, uint32_t object, uint32_t parent) {
    FREED char *root = root_label(t, object);
    step_label label = root ? (step_label){ UNNAMED, hd_cstr(root) } : best_label(t, object);
    t->node[object] = node_of(t, parent, label, text_of(t, object));
}

/* "y › x": the names on the last `period` steps to an object. To be freed. */
static char *names_between(const screen_tree *t, uint32_t object, uint32_t period) {
    char *text = needed(strdup("")), *longer;
    for (uint32_t n = 0; n < period; n++, object = before_it(t, object)) {
        hd_str name = best_label(t, object).name;
        int shown = shown_of_name(t, name);
        if (asprintf(&longer, "%.*s%s%s", shown, name.len ? name.data : "", n ? CALLS : "", text) < 0) needed(NULL);
        free(text);
        text = longer;
    }
    return text;
}

/* Whether the steps to an object are those to the elements of this list before it. */
static bool is_next(const screen_tree *t, const draft_node *d, uint32_t object, uint32_t period) {
    hd_str name = best_label(t, object).name;
    FREED char *names = NULL;
    if (period == 1) {
        size_t n = (size_t)shown_of_name(t, name);
        return strlen(d->next) == n && (!n || !memcmp(d->next, name.data, n));
    }
    names = names_between(t, object, period);
    return !strcmp(d->next, names);
}

/* Whether most of the lists that share this node are trees. */
static bool is_tree(const draft_node *d) { return 2 * (uint64_t)d->trees > d->heads; }

/* The length of a list, or that it is a tree, from the path between its head and its second element. */
static list_answer judge_list(const screen_tree *t, uint32_t object, uint32_t head) {
    list_pattern p = pattern_between(t->w, head, object);
    list_answer got = list_length(t->lengths, &p, head, 1);
    free(p.part);
    return got;
}

/* The head of a list gets its second element. */
static void find_length(const screen_tree *t, draft_node *d, uint32_t object, uint32_t head) {
    list_answer got;
    if (t->flags[head] & HEAD_KNOWN) return;
    t->flags[head] |= HEAD_KNOWN;
    got = judge_list(t, object, head);
    d->heads++, d->trees += got.elements == HD_NONE;
    if (got.elements != HD_NONE && d->elements < got.elements) d->elements = got.elements;
    if (got.by.len) d->by = got.by;
    d->any |= got.any;
}

/* An object joins the node of the object `period` steps before. False: that ends a list by other references. */
static bool join_list(screen_tree *t, uint32_t object, uint32_t period) {
    uint32_t before = object;
    draft_node *d;
    for (uint32_t n = 0; n < period; n++) before = before_it(t, before);
    d = &t->nodes[t->node[before]];
    if (d->next && (d->period != period || !is_next(t, d, object, period))) return false;
    t->node[object] = t->node[before];
    t->length[object] = t->length[before] + 1;
    if (d->longest <= t->length[object]) d->longest = t->length[object] + 1;
    if (!d->next) d->next = names_between(t, object, period), d->period = period;
    if (t->length[before] == 0) find_length(t, d, object, before);
    return true;
}

/* Whether an object is in the list or tree of the one before it, by another field. */
static bool is_member(const screen_tree *t, uint32_t object) {
    uint32_t before = before_it(t, object);
    const draft_node *d = before == HD_NONE ? NULL : &t->nodes[t->node[before]];
    if (!d || t->flags[object] & IN_NO_LIST || !is_alike(t, object, before)) return false;
    return (is_tree(d) && d->period == 1) || are_in_one_list(t->lengths, object, before);
}

/* No list begins in a member. */
static void join_member(screen_tree *t, uint32_t object) {
    uint32_t before = before_it(t, object);
    draft_node *d = &t->nodes[t->node[before]];
    if (d->longest <= 1) d->longest = 2;
    if (!d->heads) find_length(t, d, object, before);
    t->node[object] = t->node[before];
    t->length[object] = 1;
}

/* A member by another field may come before the second element of its list, so all lists are judged first. */
static void judge_all(const screen_tree *t) {
    for (uint32_t i = 0; i < t->w->count; i++) {
        uint32_t object = t->w->order[i], before = object, period = t->flags[object] & JOINS ? 1 : t->period[object];
        if (!t->marks[object] || (t->flags[object] & FOLDED) || !period) continue;
        for (uint32_t n = 0; n < period; n++) before = before_it(t, before);
        if (!(t->flags[before] & JOINS) && !t->period[before]) judge_list(t, object, before);
    }
}

static void make_nodes(screen_tree *t) {
    for (uint32_t i = 0; i < t->w->count; i++) {
        uint32_t object = t->w->order[i], holder = t->w->held_by[object];
        if (!t->marks[object]) continue;
        if (t->flags[object] & FOLDED) {
            t->node[object] = is_synthetic(t->o, object) ? holder == HD_NONE ? 0 : t->node[holder]
                                                           : node_above(t, holder);
        } else {
            uint32_t period = t->flags[object] & JOINS ? 1 : t->period[object];
            if (period && join_list(t, object, period)) continue;
            if (is_member(t, object)) {
                join_member(t, object);
            } else {
                make_node(t, object, node_above(t, holder));
            }
        }
    }
}

static int by_text(const void *a, const void *b) {
    const draft_node *x = *(draft_node *const *)a, *y = *(draft_node *const *)b;
    int order = x->parent < y->parent ? -1 : x->parent > y->parent;
    if (!order) order = strcmp(x->what, y->what);
    if (!order) order = (x->known > y->known) - (x->known < y->known);
    if (!order) order = strcmp(x->label, y->label);
    return order ? order : x->number < y->number ? -1 : 1;
}

static bool is_beside(const draft_node *a, const draft_node *b) {
    return a->parent == b->parent && a->known == b->known && !strcmp(a->what, b->what);
}

/* Nodes of one text below one node become the first of them. */
static void join_nodes(draft_node **list, size_t count) {
    draft_node *first = list[0];
    for (size_t i = 1; i < count; i++)
        if (list[i]->number < first->number) first = list[i];
    for (size_t i = 0; i < count; i++) {
        if (first->longest < list[i]->longest) first->longest = list[i]->longest;
        if (first->elements < list[i]->elements) first->elements = list[i]->elements;
        if (list[i] != first) first->heads += list[i]->heads, first->trees += list[i]->trees;
        if (!first->by.len) first->by = list[i]->by;
        first->any |= list[i]->any;
        if (!first->next) first->next = list[i]->next, list[i]->next = NULL;
        list[i]->number = first->number;
    }
}

/* Properties of an object that serves as a table: all get the label "[]". */
static void join_keys(draft_node **list, size_t count) {
    for (size_t i = 0, end; i < count; i = end) {
        bool table;
        for (end = i + 1; end < count && is_beside(list[i], list[end]);) end++;
        table = end - i > MOST_KEYS && list[i]->known == PROPERTY;
        for (size_t k = i; table && k < end; k++) {
            list[k]->known = ELEMENT;
            free(list[k]->label);
            list[k]->label = needed(strdup("[] "));
        }
        for (size_t k = i, same; k < end; k = same) {
            for (same = k + 1; same < end && !strcmp(list[k]->label, list[same]->label);) same++;
            join_nodes(list + k, same - k);
        }
    }
}

/* A JavaScript object is often a table: properties of many names with values of one class are one node. Nodes of one
   depth are joined before those below. */
static void fold_keys(screen_tree *t) {
    FREED draft_node **list = needed(malloc(((size_t)t->count + 1) * sizeof *list));
    FREED uint32_t *begin = needed(calloc((size_t)t->count + 2, sizeof *begin));
    for (uint32_t n = 1; n < t->count; n++) begin[t->nodes[n].depth + 1]++;
    for (uint32_t d = 1; d <= t->count; d++) begin[d] += begin[d - 1];
    for (uint32_t n = 1; n < t->count; n++) list[begin[t->nodes[n].depth]++] = &t->nodes[n];
    for (uint32_t d = 1, from = 0; d < t->count && from < t->count - 1; from = begin[d++]) {
        for (uint32_t i = from; i < begin[d]; i++) list[i]->parent = t->nodes[list[i]->parent].number;
        qsort(list + from, begin[d] - from, sizeof *list, by_text);
        join_keys(list + from, begin[d] - from);
    }
}

/* Whether a node is a part of the elements of the list above it: "b › a" are the steps of that "a › b" from it on. */
static bool is_part(const screen_tree *t, const draft_node *d) {
    const draft_node *above = &t->nodes[d->parent];
    const char *end = above->next ? strstr(above->next, CALLS) : NULL, *rest;
    size_t n;
    if (d->period < 2 || above->period != d->period || above->longest < d->longest || !end || !d->next) return false;
    rest = end + strlen(CALLS), n = strlen(rest);
    return strlen(d->next) == strlen(above->next) && !strncmp(d->next, rest, n) &&
           !strncmp(d->next + n, CALLS, strlen(CALLS)) &&
           !strncmp(d->next + n + strlen(CALLS), above->next, (size_t)(end - above->next));
}

/* Whether any of "a › b" has a name. */
static bool has_names(const char *names) {
    for (size_t n = strlen(CALLS); !strncmp(names, CALLS, n);) names += n;
    return *names != 0;
}

/* "head: list of 9 Node (next)". */
static int list_text(const screen_tree *t, const draft_node *d, char **text) {
    uint32_t elements = d->elements > d->longest ? d->elements : d->longest;
    hd_str by = d->by.len ? d->by : hd_cstr(d->next && has_names(d->next) && !d->any ? d->next : "");
    int n = d->by.len ? shown_of_name(t, by) : (int)by.len;
    if (!n) return asprintf(text, "%slist of %u %s", d->label, elements, d->what);
    return asprintf(text, "%slist of %u %s (%.*s)", d->label, elements, d->what, n, by.data);
}

/* Nodes come after those above them. */
static hd_status add_all(screen_tree *t, hd_profile *profile, name_worth *worth, hd_error *err) {
    FREED uint32_t *number = needed(calloc((size_t)t->count + 1, sizeof *number));
    hd_status status = HD_OK;
    for (uint32_t n = 1; n < t->count && !status; n++) {
        const draft_node *d = &t->nodes[n];
        char *text;
        int length;
        if (d->number != n) {
            number[n] = number[d->number];
            continue;
        }
        if (d->longest <= 1 || is_part(t, d)) length = asprintf(&text, "%s%s", d->label, d->what);
        else if (is_tree(d)) length = asprintf(&text, "%stree of %s", d->label, d->what);
        else length = list_text(t, d, &text);
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
    return status;
}

hd_status ways_fill(const objects *o, const uint8_t *asked, const uint8_t *marks, const ways *w, int columns,
                    hd_profile *profile, name_worth *worth, hd_error *err) {
    size_t n = (size_t)hd_graph_object_count(o->graph) + 1;
    hd_profile_desc desc = { .axis_count = 1, .axis_name = { "path" } };
    screen_tree t = { .o = o, .w = w, .asked = asked, .marks = marks, .flags = needed(calloc(n, 1)),
                      .most = !columns ? 0 : columns > LEAST_NAME ? (size_t)columns : LEAST_NAME,
                      .shown = needed(malloc(n * sizeof *t.shown)), .node = needed(calloc(n, sizeof *t.node)),
                      .length = needed(calloc(n, sizeof *t.length)), .key = needed(calloc(n, sizeof *t.key)),
                      .period = needed(calloc(n, sizeof *t.period)),
                      .lengths = list_lengths_open(o), .names = hd_profile_create(&desc, err) };
    hd_status status;
    if (!t.names) needed(NULL);
    memset(t.shown, 0xff, n * sizeof *t.shown);
    mark_steps(&t);
    ways_walk(w, (uint32_t)(n - 1), find_period, leave_path, &t);
    judge_all(&t);
    make_nodes(&t);
    if (t.most && hd_dump_v8(o->dump)) fold_keys(&t);
    status = add_all(&t, profile, worth, err);
    for (uint32_t i = 0; i < t.count; i++) free(t.nodes[i].label), free(t.nodes[i].what), free(t.nodes[i].next);
    hd_profile_free(t.names);
    free(t.flags), free(t.shown), free(t.node), free(t.length), free(t.nodes);
    free(t.key), free(t.period), list_lengths_free(t.lengths);
    run_trail_free(&t.path);
    return status;
}

