/* path --class: why all objects of a class are alive, their shortest ways from the roots as one tree. */

#include "instances.h"
#include "listing.h"

enum { UNSEEN = 0, SEEN, HELD_BACK, WALKED };

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

/* Takes what an object holds. The first value of an ephemeron belongs to its first key, and so on; the value is held
   by the key, once both are walked through. With distances, only references to what is one further are followed. */
static void walk_through(ways *w, const hd_graph *graph, uint32_t object, const uint32_t *distance) {
    hd_object o = hd_graph_object(graph, object);
    uint32_t key = 0;            /* of its references, the next that may be one */
    w->state[object] = WALKED;
    for (uint32_t r = 0; r < o.reference_count; r++) {
        uint32_t kind = o.kinds ? o.kinds[r] : HD_REFERENCE_STRONG;
        if (kind == HD_REFERENCE_VALUE) {
            while (key < o.reference_count && o.kinds[key] != HD_REFERENCE_KEY) key++;
            if (key == o.reference_count) kind = HD_REFERENCE_STRONG;
            else if (w->state[o.references[key]] == WALKED) take(w, o.references[r], o.references[key], HD_NONE);
            else wait_for(w, hd_graph_object_count(graph), o.references[key], o.references[r]);
            key += key < o.reference_count;
        }
        if (kind == HD_REFERENCE_STRONG && (!distance || distance[o.references[r]] == distance[object] + 1))
            take(w, o.references[r], object, r);
    }
    if (!w->first_waiting) return;
    for (uint32_t i = w->first_waiting[object]; i != HD_NONE; i = w->waiting[i].next)
        take(w, w->waiting[i].value, object, HD_NONE);
}

static void walk_all(ways *w, const hd_graph *graph, uint32_t at, const uint32_t *distance) {
    for (; at < w->count; at++)
        if (w->state[w->order[at]] == SEEN) walk_through(w, graph, w->order[at], distance);
}

/* Roots that hold temporaries: the stack with its handles, and the tables of whoever walks the heap. */
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

/* `scopes`: only those of what they hold. */
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

/* As hd_v8_distances: first what node 0 holds and is not the engine's, with all that is behind it; then what only other
   roots hold. Stacks come last, and of what they hold scopes first, which know their variables' names. */
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
    free(distance);
    reached = w->count;
    for (uint32_t i = 1; i < reached; i++) walk_through(w, o->graph, w->order[i], NULL);
    walk_all(w, o->graph, reached, NULL);
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

/* Merging. ------------------------------------------------------------------------------------- */

/* The instances, as a heap along the ways to them: bytes are their own sizes, blocks how many there are. */
typedef struct merged {
    hd_heap heap;
    hd_profile *profile;
    uint32_t live, largest;      /* largest: the one that retains the most */
    uint64_t unheld;
    hd_total retained;
} merged;

/* By what an object is held: a field, "[]" of an array or by a number, a kind of root. */
static hd_str held_as(const objects *o, const ways *w, uint32_t object) {
    uint32_t holder = w->held_by[object], by = w->by[object];
    hd_str field;
    if (holder == HD_NONE) return hd_cstr(hd_root_kind_name(hd_graph_root(o->graph, by).kind));
    if (by == HD_NONE) return hd_cstr("as key");
    if (hd_graph_index(o->graph, holder, by) != HD_NONE) return hd_cstr("[]");
    field = hd_graph_field(o->graph, holder, by);
    for (size_t i = 0; i < field.len; i++)
        if (field.data[i] < '0' || field.data[i] > '9') return field;
    return field.len ? hd_cstr("[]") : field;
}

/* "field: Class"; of a root "local root: Class". What V8 made up itself is told by its name. To be freed. */
static hd_str step_name(const objects *o, const ways *w, uint32_t object, hd_str field) {
    hd_class c = hd_graph_class(o->graph, hd_graph_object(o->graph, object).class_index);
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_str name = c.name;
    char *text;
    int n;
    if (v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("synthetic")) && name_of(o, object).len)
        name = name_of(o, object);
    n = asprintf(&text, "%.*s%s%s%.*s", (int)field.len, field.len ? field.data : "",
                 w->held_by[object] == HD_NONE ? " root" : "", field.len ? ": " : "", (int)name.len,
                 name.len ? name.data : "");
    return n < 0 ? (hd_str){ needed(NULL), 0 } : (hd_str){ text, (size_t)n };
}

/* Whether an object goes on as the one before it began: an element of a list, behind another one. */
static bool goes_on(const objects *o, const ways *w, uint32_t object, hd_str field) {
    uint32_t holder = w->held_by[object];
    return holder != HD_NONE && w->held_by[holder] != HD_NONE &&
           hd_graph_object(o->graph, holder).class_index == hd_graph_object(o->graph, object).class_index &&
           hd_str_equal(held_as(o, w, holder), field);
}

/* Marks what is on the ways to live instances, these included; counts them. */
static uint8_t *mark_ways(const objects *o, const uint8_t *asked, const ways *w, merged *m) {
    uint32_t all = hd_graph_object_count(o->graph);
    uint8_t *marks = needed(calloc((size_t)all + 1, 1));
    for (uint32_t i = 0; i < all; i++) {
        uint32_t c = hd_graph_object(o->graph, i).class_index;
        if (!c || !asked[c]) continue;
        if (w->state[i] == UNSEEN) {
            m->unheld++;
            continue;
        }
        m->live++;
        if (m->largest == HD_NONE || o->dominators->retained[i] > o->dominators->retained[m->largest]) m->largest = i;
        for (uint32_t at = i; at != HD_NONE && !marks[at]; at = w->held_by[at]) marks[at] = 1;
    }
    return marks;
}

/* Nodes are made from the roots on: of objects whose holders have one node in common, those of a class and field. */
static hd_status fill_profile(const objects *o, const uint8_t *asked, const uint8_t *marks, const ways *w, merged *m,
                              hd_error *err) {
    uint32_t *node = needed(malloc(((size_t)hd_graph_object_count(o->graph) + 1) * sizeof *node));
    uint32_t last = HD_NONE;
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < w->count && !status; i++) {
        uint32_t object = w->order[i], holder = w->held_by[object], parent = holder == HD_NONE ? 0 : node[holder];
        hd_object x = hd_graph_object(o->graph, object);
        hd_str field;
        if (!marks[object]) continue;
        field = held_as(o, w, object);
        if (goes_on(o, w, object, field)) {
            node[object] = parent;
        } else if (last != HD_NONE && holder != HD_NONE && w->held_by[last] == holder && !hd_dump_v8(o->dump) &&
                   hd_graph_object(o->graph, last).class_index == x.class_index &&
                   hd_str_equal(held_as(o, w, last), field)) {
            node[object] = node[last];
        } else {
            hd_str name = step_name(o, w, object, field);
            status = hd_profile_node(m->profile, HD_AXIS_BACKTRACE, parent, name, &node[object], err);
            free((char *)(uintptr_t)name.data);
        }
        last = object;
        if (!status && asked[x.class_index]) status = hd_profile_add(m->profile, &node[object], x.size, 1, err);
    }
    free(node);
    return status;
}

static hd_status retained_together(const objects *o, const uint8_t *asked, const ways *w, merged *m, hd_error *err) {
    uint32_t *list = needed(malloc(((size_t)m->live + 1) * sizeof *list)), n = 0;
    hd_status status;
    for (uint32_t i = 0; i < w->count; i++)
        if (asked[hd_graph_object(o->graph, w->order[i]).class_index]) list[n++] = w->order[i];
    status = hd_graph_retained(o->graph, list, n, NULL, &m->retained, err);
    free(list);
    return status;
}

/* To be freed: m->profile. */
static int merge_ways(const arguments *a, const objects *o, merged *m) {
    hd_profile_desc desc = { .axis_count = 1 };
    uint8_t *asked = classes_asked(a, o), *marks;
    ways w;
    hd_error err;
    hd_status status;
    memset(m, 0, sizeof *m);
    m->largest = HD_NONE;
    if (!asked) return BAD_INPUT;
    asked[0] = 0;                /* what no record describes */
    desc.axis_name[0] = "path";
    m->profile = hd_profile_create(&desc, &err);
    if (!m->profile) needed(NULL);
    ways_find(o, &w);
    marks = mark_ways(o, asked, &w, m);
    status = fill_profile(o, asked, marks, &w, m, &err);
    if (!status) status = retained_together(o, asked, &w, m, &err);
    m->heap = (hd_heap){ .allocator = a->class_name, .profile = m->profile };
    ways_free(&w);
    free(marks), free(asked);
    if (status) hd_profile_free(m->profile);
    return status ? failed(o->file, &err) : DONE;
}

/* Answers. ------------------------------------------------------------------------------------- */

static void put_summary(FILE *out, const arguments *a, const screen *s, const merged *m) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    display(f, "%u object%s of class %s%s", m->live, m->live == 1 ? "" : "s", a->class_name,
            a->subclasses ? " and those that extend it" : "");
    display(f, ", which retain "), put_bytes(f, a, m->retained.bytes, 0);
    if (m->unheld) display(f, "; no root holds %llu%s", (unsigned long long)m->unheld, m->live ? " more" : "");
    closed_text(f, &text);
    put_within(out, text, s->columns);
    display(out, "\n");
    free(text);
}

int ways_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->file_count);
    arguments view = *a;
    hd_options options = { 0 };
    hd_error err;
    merged m;
    listing l;
    if (merge_ways(a, o, &m)) return BAD_INPUT;
    put_summary(out, a, &s, &m);
    view.has_cutoff |= a->all;
    if (m.live && listing_make(&view, &m.heap, NULL, rows, &options, &l, &err)) {
        hd_profile_free(m.profile);
        return failed(o->file, &err);
    }
    if (m.live) {
        char id[24];
        listing_put(out, a, &s, &l, &m.heap, NULL);
        listing_free(&l);
        id_text(o, m.largest, id);
        put_next(out, &s, a, "which they are", "objects", "--class", a->class_name, o->file, NULL);
        put_next(out, &s, a, "each step to the largest", "path", "--id", id, o->file, NULL);
    }
    hd_profile_free(m.profile);
    return DONE;
}

static hd_status way_row(void *user, const hd_tree_row *row) {
    hd_json *j = user;
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_str(j, "name", row->name);
    json_u64(j, "bytes", row->amount.bytes);
    json_u64(j, "objects", row->amount.blocks);
    hd_json_end(j);
    return HD_OK;
}

int ways_json(const arguments *a, const objects *o, hd_json *j) {
    hd_tree_options tree = tree_options(a);
    hd_error err;
    hd_status status = HD_OK;
    merged m;
    if (merge_ways(a, o, &m)) return BAD_INPUT;
    if (a->all && !a->has_cutoff) memset(&tree.cutoff, 0, sizeof tree.cutoff);
    json_text(j, "class", a->class_name);
    json_u64(j, "objects", m.live);
    json_u64(j, "bytes", hd_profile_bytes(m.profile));
    json_u64(j, "retained", m.retained.bytes);
    json_u64(j, "unheld", m.unheld);
    json_array(j, "rows");
    if (m.live) status = hd_tree(&m.heap, &tree, way_row, j, &err);
    hd_json_end(j);
    hd_profile_free(m.profile);
    return status ? failed(o->file, &err) : DONE;
}
