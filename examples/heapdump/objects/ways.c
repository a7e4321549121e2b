/* Shortest ways from the roots to all objects. */

#include "objects.h"

/* Not yet found, found, one of the stacks that come last, walked, walked but for references that
   distances exclude. */
enum { UNSEEN = 0, SEEN, HELD_BACK, WALKED, WALKED_PARTLY };

static bool is_walked(const ways *w, uint32_t object) { return w->state[object] >= WALKED; }

/* In V8 only node 0 is a root; of others no reference is left. */
bool is_cut_off(const objects *o, uint32_t object) {
    return object && hd_dump_v8(o->dump) && hd_dump_warning_count(o->dump);
}

const char *root_kind_text(const objects *o, const hd_root *root) {
    return is_cut_off(o, root->object) ? "unknown" : hd_root_kind_name(root->kind);
}

char *root_text(const objects *o, const hd_root *root, const char *after) {
    hd_str name = hd_graph_root_name(o->graph, root);
    char *text;
    int n = name.len ? asprintf(&text, "%.*s", (int)name.len, name.data)
                     : asprintf(&text, "%s%s", root_kind_text(o, root), after);
    if (n < 0) text = needed(NULL);
    return text;
}

void json_root(hd_json *j, const objects *o, const hd_root *root) {
    hd_str name = hd_graph_root_name(o->graph, root);
    json_text(j, "root", root_kind_text(o, root));
    if (name.len) json_str(j, "root_name", name);
}

static void take(ways *w, uint32_t object, uint32_t holder, uint32_t by) {
    if (w->state[object] != UNSEEN) return;
    w->state[object] = SEEN;
    w->held_by[object] = holder, w->by[object] = by;
    w->order[w->count++] = object;
}

static void wait_for(ways *w, uint32_t count, uint32_t key, uint32_t value) {
    uint32_t n = w->waiting_count;
    if (!w->first_waiting) {
        w->first_waiting = needed(malloc((size_t)count * sizeof *w->first_waiting));
        memset(w->first_waiting, 0xff, (size_t)count * sizeof *w->first_waiting);
    }
    if (!(n & (n - 1))) w->waiting = needed(realloc(w->waiting, (n ? 2 * (size_t)n : 1) * sizeof *w->waiting));
    w->waiting[n] = (struct waiting){ value, w->first_waiting[key] };
    w->first_waiting[key] = w->waiting_count++;
}

/* Takes the objects that an object holds. The first value of an ephemeron belongs to its first key, and so on. The
   key holds the value, once both are walked through. With distances, only references to objects one step further are
   followed. */
static void walk_through(ways *w, const hd_graph *graph, uint32_t object, const uint32_t *distance) {
    hd_object o = hd_graph_object(graph, object);
    uint32_t key = 0;            /* of its references, the next that may be one */
    w->state[object] = WALKED;
    for (uint32_t r = 0; r < o.reference_count; r++) {
        uint32_t kind = o.kinds ? o.kinds[r] : HD_REFERENCE_STRONG;
        if (kind == HD_REFERENCE_VALUE) {
            while (key < o.reference_count && o.kinds[key] != HD_REFERENCE_KEY) key++;
            if (key == o.reference_count) kind = HD_REFERENCE_STRONG;
            else if (is_walked(w, o.references[key])) take(w, o.references[r], o.references[key], HD_NONE);
            else wait_for(w, hd_graph_object_count(graph), o.references[key], o.references[r]);
            key += key < o.reference_count;
        }
        if (kind != HD_REFERENCE_STRONG) continue;
        if (!distance || distance[o.references[r]] == distance[object] + 1) take(w, o.references[r], object, r);
        else if (w->state[o.references[r]] == UNSEEN) w->state[object] = WALKED_PARTLY;
    }
    if (!w->first_waiting) return;
    for (uint32_t i = w->first_waiting[object]; i != HD_NONE; i = w->waiting[i].next)
        take(w, w->waiting[i].value, object, HD_NONE);
}

static void walk_all(ways *w, const hd_graph *graph, uint32_t at, const uint32_t *distance) {
    for (; at < w->count; at++)
        if (w->state[w->order[at]] == SEEN) walk_through(w, graph, w->order[at], distance);
}

/* Takes the objects behind partly walked ones, the shortest ways first. */
static void walk_farther(ways *w, const hd_graph *graph) {
    size_t count = (size_t)hd_graph_object_count(graph) + 1;
    FREED uint32_t *length = needed(calloc(count, sizeof *length)); /* of the way to an object */
    FREED uint32_t *sorted = needed(malloc(count * sizeof *sorted));
    FREED uint32_t *first = needed(calloc(count + 1, sizeof *first));
    uint32_t at = w->count, n = 0, k = 0;
    for (uint32_t i = 1; i < at; i++) {
        length[w->order[i]] = length[w->held_by[w->order[i]]] + 1;
        if (w->state[w->order[i]] == WALKED_PARTLY) first[length[w->order[i]] + 1]++, n++;
    }
    for (size_t l = 1; l <= count; l++) first[l] += first[l - 1];
    for (uint32_t i = 1; i < at; i++)
        if (w->state[w->order[i]] == WALKED_PARTLY) sorted[first[length[w->order[i]]]++] = w->order[i];
    while (k < n || at < w->count) {
        bool found = at < w->count;
        if (found) length[w->order[at]] = length[w->held_by[w->order[at]]] + 1;
        found = found && (k == n || length[w->order[at]] < length[sorted[k]]);
        walk_through(w, graph, found ? w->order[at++] : sorted[k++], NULL);
    }
}

/* Roots that hold temporaries: the stack, handles, and tables of the snapshot writer. */
static bool is_stack(const hd_v8 *v8, uint32_t object) {
    hd_str name = hd_v8_name(v8, object);
    return hd_str_equal(name, hd_cstr("(Stack roots)")) || hd_str_equal(name, hd_cstr("(Handle scope)")) ||
           hd_str_equal(name, hd_cstr("(Strong roots)"));
}

static bool is_temporary(const objects *o, uint32_t root, uint32_t reference) {
    static const char table[] = "IdentityMapBase";
    hd_str field;
    if (!hd_str_equal(hd_v8_name(hd_dump_v8(o->dump), root), hd_cstr("(Strong roots)"))) return true;
    field = hd_graph_field(o->graph, root, reference);
    return field.len >= sizeof table && !memcmp(field.data + field.len - (sizeof table - 1), table, sizeof table - 1);
}

/* `scopes`: takes only contexts, which name their variables. */
static void take_from_stack(ways *w, const objects *o, uint32_t root, bool temporary, bool scopes) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_object x = hd_graph_object(o->graph, root);
    for (uint32_t r = 0; r < x.reference_count; r++) {
        if (x.kinds && x.kinds[r] != HD_REFERENCE_STRONG) continue;
        if (is_temporary(o, root, r) != temporary) continue;
        if (!scopes || hd_str_equal(hd_v8_name(v8, x.references[r]), hd_cstr("system / Context")))
            take(w, x.references[r], root, r);
    }
}

static void take_from_stacks(ways *w, const objects *o, bool scopes) {
    uint32_t n = w->count;
    for (uint32_t i = 0; i < n; i++)
        if (w->state[w->order[i]] == HELD_BACK) take_from_stack(w, o, w->order[i], true, scopes);
    walk_all(w, o->graph, 1, NULL);
}

/* The order of hd_v8_distances: user roots (held by node 0 and not synthetic) with all objects behind them, then the
   other roots. Stacks come last, their contexts first: a context names its variables. */
static void walk_v8(ways *w, const objects *o) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_object top = hd_graph_object(o->graph, 0);
    uint32_t *distance, reached;
    take(w, 0, HD_NONE, 0);
    w->state[0] = WALKED;
    if (distances_of(o, &distance)) distance = NULL;
    for (uint32_t r = 0; r < top.reference_count; r++) {
        uint32_t to = top.references[r];
        bool trees = hd_str_equal(hd_v8_name(v8, to), hd_cstr("(Document DOM trees)"));
        if (!trees && hd_str_equal(hd_v8_type(v8, to), hd_cstr("synthetic"))) continue;
        if (!top.kinds || top.kinds[r] == HD_REFERENCE_STRONG) take(w, to, 0, r);
    }
    walk_all(w, o->graph, 1, distance);
    if (distance) walk_farther(w, o->graph);
    free(distance);
    reached = w->count;
    walk_through(w, o->graph, 0, NULL);
    for (uint32_t i = reached; i < w->count; i++) {
        if (w->state[w->order[i]] != SEEN) continue;
        if (!is_stack(v8, w->order[i])) walk_through(w, o->graph, w->order[i], NULL);
        else w->state[w->order[i]] = HELD_BACK, take_from_stack(w, o, w->order[i], false, false);
    }
    take_from_stacks(w, o, true);
    take_from_stacks(w, o, false);
}

void ways_find(const objects *o, ways *w) {
    size_t n = (size_t)hd_graph_object_count(o->graph) + 1;
    memset(w, 0, sizeof *w);
    w->held_by = needed(malloc(n * sizeof *w->held_by));
    w->by = needed(malloc(n * sizeof *w->by));
    w->order = needed(malloc(n * sizeof *w->order));
    w->state = needed(calloc(n, 1));
    if (hd_dump_v8(o->dump) && n > 1) walk_v8(w, o);
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (!(root.flags & HD_ROOT_WEAK)) take(w, root.object, HD_NONE, i);
    }
    walk_all(w, o->graph, 0, NULL);
}

void ways_free(ways *w) {
    free(w->held_by), free(w->by), free(w->order), free(w->state), free(w->waiting), free(w->first_waiting);
}

void ways_walk(const ways *w, uint32_t object_count, ways_each *entered, ways_each *left, void *user) {
    size_t size = ((size_t)object_count + 1) * sizeof(uint32_t);
    uint32_t at = HD_NONE;
    FREED uint32_t *child = needed(malloc(size)), *next = needed(malloc(size));
    memset(child, 0xff, size);
    for (uint32_t i = w->count; i--;) { /* children in the order in which they were found */
        uint32_t object = w->order[i], holder = w->held_by[object], *first = holder == HD_NONE ? &at : &child[holder];
        next[object] = *first, *first = object;
    }
    while (at != HD_NONE) {
        entered(user, at);
        if (child[at] != HD_NONE) {
            at = child[at];
            continue;
        }
        for (left(user, at); next[at] == HD_NONE && w->held_by[at] != HD_NONE; left(user, at)) at = w->held_by[at];
        at = next[at];
    }
}
