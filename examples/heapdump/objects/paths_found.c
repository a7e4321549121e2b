/* Paths to an object. In V8 snapshots, suspects and path --class show the same path as the first one here. */

#include "objects.h"

/* Starts of paths in V8 snapshots, in three groups: objects that node 0 holds for the program or page, objects that
   the engine's roots hold, and objects that node 0 does not reach. A path shows node 0 and the engine's root too. */
typedef struct v8_starts {
    uint32_t *objects, *holders, *references; /* holder HD_NONE: the start is itself a root */
    uint32_t count, counts[3];
    uint32_t object, last_holder; /* the target; its holder in the last path that ended right there */
} v8_starts;

static bool is_strong(const hd_object *x, uint32_t reference) {
    return !x->kinds || x->kinds[reference] == HD_REFERENCE_STRONG;
}

static bool is_engine_root(const hd_v8 *v8, uint32_t object) {
    return hd_str_equal(hd_v8_type(v8, object), hd_cstr("synthetic")) &&
           !hd_str_equal(hd_v8_name(v8, object), hd_cstr("(Document DOM trees)"));
}

/* Omits a path if the same holder led to the target before: both paths would look equal. */
static void add_start(v8_starts *s, uint32_t group, uint32_t object, uint32_t holder, uint32_t reference) {
    uint32_t n = s->count;
    if (object == s->object && holder == s->last_holder) return;
    if (object == s->object) s->last_holder = holder;
    s->count++;
    s->objects[n] = object, s->holders[n] = holder, s->references[n] = reference;
    s->counts[group]++;
}

/* `first`: the first path to the target. */
static void starts_find(const objects *o, const hd_path *first, v8_starts *s) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_object top = hd_graph_object(o->graph, 0);
    size_t room = hd_graph_root_count(o->graph);
    for (uint32_t r = 0; r < top.reference_count; r++)
        room += 1 + (size_t)hd_graph_object(o->graph, top.references[r]).reference_count;
    *s = (v8_starts){ .objects = needed(malloc(room * sizeof *s->objects)),
                      .holders = needed(malloc(room * sizeof *s->holders)),
                      .references = needed(malloc(room * sizeof *s->references)),
                      .object = first->objects[first->length - 1],
                      .last_holder = first->length > 1 ? first->objects[first->length - 2] : HD_NONE };
    for (uint32_t r = 0; r < top.reference_count; r++)
        if (is_strong(&top, r) && !is_engine_root(v8, top.references[r])) add_start(s, 0, top.references[r], 0, r);
    for (uint32_t r = 0; r < top.reference_count; r++) {
        hd_object x = hd_graph_object(o->graph, top.references[r]);
        if (!is_strong(&top, r) || !is_engine_root(v8, top.references[r])) continue;
        for (uint32_t k = 0; k < x.reference_count; k++)
            if (is_strong(&x, k)) add_start(s, 1, x.references[k], top.references[r], k);
    }
    for (uint32_t i = 1; i < hd_graph_root_count(o->graph); i++)
        add_start(s, 2, hd_graph_root(o->graph, i).object, HD_NONE, i);
}

static void starts_free(v8_starts *s) { free(s->objects), free(s->holders), free(s->references); }

/* Adds a path of `length` objects, all zero. */
static void add_path(found_paths *found, uint32_t root, uint32_t length, uint32_t **nodes, uint32_t **references) {
    uint32_t *both = needed(calloc(2 * (size_t)length, sizeof *both));
    found->list = needed(realloc(found->list, ((size_t)found->count + 1) * sizeof *found->list));
    *nodes = both, *references = both + length;
    (*references)[length - 1] = HD_NONE;
    found->list[found->count++] = (hd_path){ root, length, *nodes, *references, NULL };
}

/* Adds a found path, with the objects before its start. */
static void add_whole(const objects *o, found_paths *found, const v8_starts *s, const hd_path *p) {
    uint32_t holder = s->holders[p->root], before = holder == HD_NONE ? 0 : holder ? 2 : 1, *nodes, *references;
    add_path(found, before ? 0 : s->references[p->root], before + p->length, &nodes, &references);
    memcpy(nodes + before, p->objects, p->length * sizeof *nodes);
    memcpy(references + before, p->references, p->length * sizeof *references);
    if (before == 2) nodes[1] = holder, references[0] = reference_between(o, 0, holder);
    if (before) references[before - 1] = s->references[p->root];
}

/* False: nothing holds the object. */
static bool add_way(const objects *o, found_paths *found, uint32_t object) {
    ways w;
    uint32_t length = 0, *nodes, *references;
    bool held;
    ways_find(o, &w);
    held = w.state[object] != 0;
    for (uint32_t at = object; held && at != HD_NONE; at = w.held_by[at]) length++;
    if (held) {
        add_path(found, 0, length, &nodes, &references);
        for (uint32_t i = length, at = object; i--; at = w.held_by[at]) {
            nodes[i] = at;
            if (i) references[i - 1] = w.by[at];
            else found->list[found->count - 1].root = w.by[at];
        }
    }
    ways_free(&w);
    return held;
}

static hd_status find_v8(const objects *o, uint32_t object, uint32_t most, const hd_options *options,
                         found_paths *found, hd_error *err) {
    v8_starts s;
    hd_paths *more;
    hd_status status;
    if (!add_way(o, found, object) || most < 2) return HD_OK;
    starts_find(o, &found->list[0], &s);
    status = hd_graph_paths_from(o->graph, &(hd_path_starts){ s.objects, s.counts, 3, found->list[0].objects,
                                 found->list[0].length - 1 }, object, most - 1, options, &more, err);
    for (uint32_t i = 0; !status && i < more->count; i++) add_whole(o, found, &s, &more->paths[i]);
    if (!status) found->more = more->more, hd_paths_free(more);
    starts_free(&s);
    return status;
}

int paths_find(const arguments *a, const objects *o, uint32_t object, found_paths *found) {
    reading r;
    hd_options options = long_call(&r, "looking for paths from the roots");
    uint32_t most = a->objects.paths ? a->objects.paths : 1;
    hd_error err;
    hd_status status;
    memset(found, 0, sizeof *found);
    if (hd_dump_v8(o->dump)) {
        status = find_v8(o, object, most, &options, found, &err);
    } else {
        status = hd_graph_paths(o->graph, object, most, &options, &found->found, &err);
        if (!status) {
            found->count = found->found->count, found->more = found->found->more;
            found->list = needed(malloc(((size_t)found->count + 1) * sizeof *found->list));
            if (found->count) memcpy(found->list, found->found->paths, found->count * sizeof *found->list);
        }
    }
    progress_end();
    if (status) paths_free(found);
    return status ? failed(o->file, &err) : DONE;
}

void paths_free(found_paths *found) {
    for (uint32_t i = 0; !found->found && i < found->count; i++) free((uint32_t *)(uintptr_t)found->list[i].objects);
    free(found->list);
    hd_paths_free(found->found);
}
