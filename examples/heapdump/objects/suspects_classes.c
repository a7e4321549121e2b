/* suspects by class: large or grown classes, and the path that most of their objects share. */

#include "suspects.h"

#include <math.h>

static int by_class(const void *a, const void *b) {
    const class_suspect *x = a, *y = b;
    if (x->engine != y->engine) return x->engine ? 1 : -1;
    if (x->explained != y->explained) return x->explained ? 1 : -1;
    if (x->trend.score != y->trend.score) return x->trend.score < y->trend.score ? 1 : -1;
    return (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

static void put_class_in(class_suspect *found, uint32_t *n, class_suspect one) {
    if (*n == MOST_CLASSES && by_class(&one, &found[*n - 1]) > 0) return;
    if (*n < MOST_CLASSES) ++*n;
    found[*n - 1] = one;
    qsort(found, *n, sizeof *found, by_class);
}

/* By class: whether all its objects belong to the engine; `bytes`: native bytes of the program do not count as the
   engine's. The caller frees it. */
static uint8_t *classes_of_engine(const shot *s, bool bytes) {
    uint32_t n = hd_graph_object_count(s->o.graph);
    uint8_t *engine = needed(malloc((size_t)hd_graph_class_count(s->o.graph) + 1));
    memset(engine, 1, (size_t)hd_graph_class_count(s->o.graph) + 1);
    for (uint32_t o = 0; o < n; o++)
        if (s->role[o] <= DATA && (bytes || !is_of_engine(&s->o, o))) engine[s->class_of[o]] = 0;
    return engine;
}

static bool is_plain(hd_str class_name) {
    return hd_str_equal(class_name, hd_cstr("Object")) || hd_str_equal(class_name, hd_cstr("Array"));
}

/* By class: whether it says nothing about the program: closures, scopes, texts, numbers, Object, Array, the global
   object. The caller frees it. */
static uint8_t *vague_classes(const shot *s) {
    uint32_t n = hd_graph_object_count(s->o.graph);
    uint8_t *vague = needed(malloc((size_t)hd_graph_class_count(s->o.graph) + 1));
    memset(vague, 1, (size_t)hd_graph_class_count(s->o.graph) + 1);
    for (uint32_t o = 0; o < n; o++)
        if (s->role[o] == OF_PROGRAM && !s->closure[o])
            vague[s->class_of[o]] = is_plain(hd_graph_class(s->o.graph, s->class_of[o]).name);
    for (uint32_t o = 0; o < n; o++)
        if (is_global(s, o)) vague[s->class_of[o]] = 1;
    return vague;
}

/* V8's synthetic objects stand for roots. */
static bool is_of_roots(const shot *s, uint32_t class_index) {
    hd_str name = hd_graph_class(s->o.graph, class_index).name;
    return hd_dump_v8(s->o.dump) && hd_str_equal(name, hd_cstr("(synthetic)"));
}

enum { EXACT = 2 * 63 };         /* classes with an exact retained size: two passes over the graph */

/* Sets the exact retained size of classes, as in `classes`. */
static int retain_exactly(const shot *s, hd_class_row *rows, uint32_t n) {
    uint32_t classes[EXACT] = { 0 };
    hd_total sums[EXACT];
    hd_error err;
    for (uint32_t i = 0; i < n; i++) classes[i] = rows[i].class_index;
    if (hd_graph_classes_retained(s->o.graph, classes, n, NULL, sums, &err)) return failed(s->o.file, &err);
    for (uint32_t i = 0; i < n; i++) rows[i].retained = sums[i].bytes;
    return DONE;
}

/* Classes of the program come first. A vague class follows them if a class of the program retains at least half as
   many bytes. */
static int find_large(const shot *s, const hd_histogram *h, const uint8_t *engine, class_suspect *found,
                      uint32_t *n) {
    uint64_t least = s->o.dominators->bytes / 10, most = 0; /* most: of a class of the program */
    uint32_t count = 0;
    uint8_t *vague;
    hd_class_row rows[EXACT];
    for (uint32_t i = 0; i < h->count && count < EXACT; i++)
        if (h->rows[i].live_objects > 1) rows[count++] = h->rows[i]; /* one object is a suspect itself, or none */
    if (retain_exactly(s, rows, count)) return BAD_INPUT;
    vague = vague_classes(s);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = rows[i].class_index;
        if (!vague[c] && !engine[c] && rows[i].retained > most) most = rows[i].retained;
    }
    for (uint32_t i = 0; i < count; i++) {
        class_suspect one = { .class_index = rows[i].class_index, .last = rows[i] };
        one.trend.score = (double)rows[i].retained;
        one.engine = engine[rows[i].class_index];
        one.explained = vague[rows[i].class_index] && 2 * most >= rows[i].retained;
        if (is_of_roots(s, rows[i].class_index)) continue;
        if (rows[i].live_bytes >= least || rows[i].retained >= least) put_class_in(found, n, one);
    }
    free(vague);
    return DONE;
}

/* The class of this name in a histogram; NULL: none. */
static const hd_class_row *row_named(const hd_graph *graph, const hd_histogram *h, hd_class c) {
    for (uint32_t i = 0; i < h->count; i++) {
        hd_class other = hd_graph_class(graph, h->rows[i].class_index);
        if (hd_str_equal(other.name, c.name) && hd_str_equal(other.scope, c.scope)) return &h->rows[i];
    }
    return NULL;
}

/* The growth of a class in live bytes and, roughly, in retained bytes. *first: its row of the first snapshot. */
static class_suspect grown_class(const matched *m, hd_histogram *const *h, const hd_class_row *row,
                                 const uint64_t *turn, hd_class_row *first) {
    hd_class c = hd_graph_class(m->shots[m->count - 1].o.graph, row->class_index);
    class_suspect one = { .class_index = row->class_index, .last = *row };
    double *v = needed(malloc(m->count * sizeof *v));
    *first = (hd_class_row){ .class_index = HD_NONE };
    for (uint32_t t = 0; t < m->count; t++) {
        const hd_class_row *r = row_named(m->shots[t].o.graph, h[t], c);
        v[t] = r ? (double)r->live_bytes : 0;
        if (!t && r) *first = *r;
    }
    one.trend = trend_of(v, turn, m->count);
    one.grown_objects = (double)row->live_objects - (double)first->live_objects;
    one.grown_retained = (double)row->retained - (double)first->retained;
    free(v);
    return one;
}

/* The classes with the largest growth of retained bytes, of classes that grew in every step. */
typedef struct candidates {
    class_suspect list[EXACT];
    hd_class_row first[EXACT];
    uint32_t count;
} candidates;

static void put_candidate_in(candidates *c, class_suspect one, const hd_class_row *first) {
    uint32_t least = 0;
    for (uint32_t i = 1; i < c->count; i++)
        if (c->list[i].grown_retained < c->list[least].grown_retained) least = i;
    if (c->count < EXACT) least = c->count++;
    else if (c->list[least].grown_retained >= one.grown_retained) return;
    c->list[least] = one, c->first[least] = *first;
}

/* Sets the exact growth of retained bytes. Orders classes by it, times how steadily they grew. */
static int judge_candidates(const matched *m, candidates *c) {
    hd_class_row last[EXACT], first[EXACT];
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < c->count; i++) last[i] = c->list[i].last;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->first[i].class_index != HD_NONE) first[n++] = c->first[i];
    if (retain_exactly(&m->shots[m->count - 1], last, c->count) || retain_exactly(&m->shots[0], first, n))
        return BAD_INPUT;
    for (uint32_t i = 0; i < c->count; i++) {
        class_suspect *one = &c->list[i];
        one->last.retained = last[i].retained;
        one->grown_retained = (double)last[i].retained;
        if (c->first[i].class_index != HD_NONE) one->grown_retained -= (double)first[at++].retained;
        one->trend.score *= fmax(one->grown_retained, one->trend.growth) / one->trend.growth;
    }
    return DONE;
}

/* Lists the first candidates, and always the one with the largest growth in live bytes. */
static void list_candidates(const candidates *c, class_suspect *found, uint32_t *n) {
    const class_suspect *most = c->list;
    bool listed = false;
    for (uint32_t i = 0; i < c->count; i++) {
        put_class_in(found, n, c->list[i]);
        if (c->list[i].trend.growth > most->trend.growth) most = &c->list[i];
    }
    for (uint32_t i = 0; i < *n; i++) listed |= found[i].class_index == most->class_index;
    if (*n && !listed) found[*n - 1] = *most;
}

/* Finds classes with growth of live bytes in every step. */
static int find_grown(const matched *m, hd_histogram *const *h, const uint8_t *engine, class_suspect *found,
                      uint32_t *n, grown_classes *all) {
    const shot *last = &m->shots[m->count - 1];
    uint64_t *turn = step_times(m->count), least = last->o.dominators->bytes / 2000;
    candidates *c = needed(calloc(1, sizeof *c));
    int status;
    for (uint32_t i = 0; i < h[m->count - 1]->count; i++) {
        const hd_class_row *row = &h[m->count - 1]->rows[i];
        hd_class_row first;
        class_suspect one = grown_class(m, h, row, turn, &first);
        one.engine = engine[row->class_index];
        if (one.trend.growth > 0) all->classes++, all->growth += one.trend.growth;
        if (row->live_bytes <= least && one.grown_retained <= (double)least) continue;
        if (one.trend.score > 0 && one.trend.ups + 1 >= m->count) put_candidate_in(c, one, &first);
    }
    status = judge_candidates(m, c);
    if (!status) list_candidates(c, found, n);
    free(turn), free(c);
    return status;
}

int find_classes(const arguments *a, const matched *m, class_suspect *found, uint32_t *n, grown_classes *all) {
    const shot *last = &m->shots[m->count - 1];
    FREED hd_histogram **h = needed(calloc(m->count, sizeof *h));
    FREED uint8_t *engine = classes_of_engine(last, m->count > 1);
    hd_error err;
    int status = DONE;
    *n = 0;
    *all = (grown_classes){ 0, 0 };
    for (uint32_t t = 0; t < m->count && !status; t++)
        if (hd_graph_histogram(m->shots[t].o.graph, m->shots[t].o.dominators, NULL, &h[t], &err))
            status = failed(a->input.files[t], &err);
    if (!status && m->count == 1) status = find_large(last, h[0], engine, found, n);
    if (!status && m->count > 1) status = find_grown(m, h, engine, found, n, all);
    for (uint32_t t = 0; t < m->count; t++) hd_histogram_free(h[t]);
    return status;
}

/* Common paths. -------------------------------------------------------------------------------- */

/* A step back towards the roots: objects, each with the number of the class's objects behind it (weight), and the
   farthest of them. */
typedef struct crowd {
    uint32_t *object, *weight, *farthest, count;
    uint32_t *place;             /* by object: its index here, plus 1; 0: none */
    uint8_t *alike;              /* whether the majority's last count has it */
    const uint32_t *distance;    /* of the shot */
} crowd;

static void crowd_add(crowd *c, uint32_t object, uint32_t weight, uint32_t farthest) {
    uint32_t at = c->place[object] - 1;
    if (!c->place[object]) {
        at = c->count++;
        c->place[object] = c->count;
        c->object[at] = object, c->weight[at] = 0, c->farthest[at] = farthest;
    }
    c->weight[at] += weight;
    if (c->distance[farthest] > c->distance[c->farthest[at]]) c->farthest[at] = farthest;
}

static void crowd_open(const shot *s, crowd *c) {
    size_t n = (size_t)hd_graph_object_count(s->o.graph) + 1;
    c->count = 0;
    c->object = needed(malloc(n * sizeof *c->object)), c->weight = needed(malloc(n * sizeof *c->weight));
    c->farthest = needed(malloc(n * sizeof *c->farthest)), c->place = needed(calloc(n, sizeof *c->place));
    c->alike = needed(malloc(n));
    c->distance = s->distance;
}

static void crowd_free(crowd *c) {
    free(c->object), free(c->weight), free(c->farthest), free(c->place), free(c->alike);
}

/* How similar the holders of objects are: same class, field and name; class and field; only class, by a few
   fields or by many. */
typedef enum likeness { ALL_ALIKE, ANY_NAME, FEW_FIELDS, ANY_FIELD, NOT_ALIKE } likeness;

static bool held_alike(const shot *s, uint32_t x, uint32_t y, likeness how) {
    uint32_t h, k;
    if (how < FEW_FIELDS && s->label[x] != s->label[y]) return false;
    h = s->ways.held_by[x], k = s->ways.held_by[y];
    if (h == k) return h != HD_NONE;
    if (h == HD_NONE || k == HD_NONE || s->class_of[h] != s->class_of[k]) return false;
    if (s->role[h] == ROOTS && !hd_str_equal(name_of(&s->o, h), name_of(&s->o, k))) return false;
    if (how > ALL_ALIKE) return true;
    if (s->named[s->class_of[h]] != 1) return s->java || s->closure[h] == s->closure[k];
    return hd_str_equal(name_of(&s->o, h), name_of(&s->o, k));
}

/* An object with a holder like the holders of more than half of all objects, by Boyer and Moore's vote and a count;
   HD_NONE: no majority. */
static uint32_t majority(const shot *s, crowd *c, uint32_t all, likeness how) {
    uint64_t votes = 0, counted = 0;
    uint32_t picked = HD_NONE;
    for (uint32_t i = 0; i < c->count; i++) {
        if (picked != HD_NONE && held_alike(s, picked, c->object[i], how)) votes += c->weight[i];
        else if (votes < c->weight[i]) picked = c->object[i], votes = c->weight[i] - votes;
        else votes -= c->weight[i];
    }
    for (uint32_t i = 0; picked != HD_NONE && i < c->count; i++)
        if ((c->alike[i] = held_alike(s, picked, c->object[i], how)) != 0) counted += c->weight[i];
    return 2 * counted > all ? picked : HD_NONE;
}

/* Whether objects are held by many different names, as entries of a table are; by variables they never are. */
static bool are_entries(const shot *s, const crowd *c, uint32_t one) {
    enum { FEW = 8 };
    const char *names[FEW];
    uint32_t n = 0;
    if (is_global(s, s->ways.held_by[one]) || s->role[s->ways.held_by[one]] == SCOPE) return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *name = s->label[c->object[i]];
        uint32_t k = 0;
        if (!held_alike(s, one, c->object[i], ANY_FIELD)) continue;
        while (k < n && names[k] != name) k++;
        if (k == FEW) return true;
        if (k == n) names[n++] = name;
    }
    return false;
}

/* A step of a common path: one of its objects, how similar the holders are, and whether lists were folded behind
   it. */
typedef struct common_step {
    uint32_t one;
    likeness how;
    bool lists;
} common_step;

/* Goes one step back with the majority; false if there is no majority. */
static bool step_back(const shot *s, crowd *c, uint32_t all, common_step *shared) {
    uint32_t n = c->count, one = HD_NONE;
    likeness how = ALL_ALIKE;
    for (; how < NOT_ALIKE; how++)
        if ((one = majority(s, c, all, how)) != HD_NONE) break;
    if (one == HD_NONE) return false;
    if (how == FEW_FIELDS && are_entries(s, c, one)) {
        how = ANY_FIELD;
        for (uint32_t i = 0; i < n; i++) c->alike[i] = held_alike(s, one, c->object[i], how);
    }
    *shared = (common_step){ one, how, false };
    for (uint32_t i = 0; i < n; i++) c->place[c->object[i]] = 0;
    c->count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (c->alike[i]) {
            uint32_t holder = s->ways.held_by[c->object[i]];
            shared->lists |= s->head[holder] != holder;
            crowd_add(c, s->head[holder], c->weight[i], c->farthest[i]);
        }
    return true;
}

/* The shared path to the farthest object. */
static steps steps_from(const shot *s, uint32_t object, const common_step *shared, uint32_t back, bool one_root,
                        size_t most) {
    uint32_t n = 1, end = s->head[object], at = object;
    chain_link *links;
    steps way;
    for (uint32_t i = 0; i < back; i++) end = s->head[s->ways.held_by[end]];
    for (uint32_t o = object; o != end; o = s->ways.held_by[o]) n++;
    links = needed(malloc(n * sizeof *links));
    for (uint32_t i = n; i--; at = s->ways.held_by[at])
        links[i] = (chain_link){ at, s->ways.held_by[at], s->ways.by[at], HD_NONE,
                                 s->head[at] == at ? 0 : LINK_LIST, s->head[at], list_whole(s, at) };
    links[n - 1].flags |= LINK_ANY_NAME;
    at = s->head[object];
    for (uint32_t i = 0, k = n - 1; i < back; i++, at = s->head[s->ways.held_by[at]]) {
        while (links[k].object != at) k--;
        if (shared[i].how == ANY_FIELD) links[k].flags |= LINK_ANY_FIELD;
        if (shared[i].how == FEW_FIELDS) links[k].flags |= LINK_NO_FIELD;
        if (shared[i].how >= ANY_NAME && k) links[k - 1].flags |= LINK_ANY_NAME;
    }
    if (!one_root) links[0].flags |= LINK_ANY_ROOT;
    way = steps_of_links(&s->o, links, n, most);
    free(links);
    return way;
}

/* Whether both are roots of the same kind. Clears *one_root if their names differ. */
static bool same_root(const shot *s, uint32_t x, uint32_t y, bool *one_root) {
    const ways *w = &s->ways;
    hd_root a, b;
    if (w->held_by[x] != HD_NONE || w->held_by[y] != HD_NONE) return false;
    a = hd_graph_root(s->o.graph, w->by[x]), b = hd_graph_root(s->o.graph, w->by[y]);
    if (a.kind != b.kind) return false;
    *one_root &= hd_str_equal(hd_graph_root_name(s->o.graph, &a), hd_graph_root_name(s->o.graph, &b));
    return true;
}

/* Whether the path to an object has the steps of the path to another object. An element of a list does not have them
   if the other path has no list. */
static bool has_steps(const shot *s, uint32_t object, uint32_t other, const common_step *shared, uint32_t back,
                      bool *one_root) {
    for (uint32_t i = 0;; i++) {
        if (s->head[object] != object && s->head[other] == other) return false;
        object = s->head[object], other = s->head[other];
        if (i == back) return same_root(s, object, other, one_root);
        if (!held_alike(s, shared[i].one, object, shared[i].how)) return false;
        object = s->ways.held_by[object], other = s->ways.held_by[other];
    }
}

steps common_way(const shot *s, const uint32_t *list, uint32_t n, uint32_t more, size_t most, uint32_t *sharing) {
    enum { MOST_BACK = 256, MOST_WORK = 16 }; /* work: holders that are compared, by object */
    uint32_t back = 0, best = 0;
    uint64_t work = 0;
    bool lists = false, one_root = true;
    common_step shared[MOST_BACK];
    steps way = { NULL, 0, false };
    crowd c;
    crowd_open(s, &c);
    *sharing = 0;
    for (uint32_t i = 0; i < n + more; i++) {
        lists |= s->head[list[i]] != list[i];
        crowd_add(&c, s->head[list[i]], i < n, list[i]);
    }
    for (; back < MOST_BACK && (work += c.count) <= MOST_WORK * (uint64_t)s->ways.count &&
           step_back(s, &c, n, &shared[back]);
         back++)
        lists |= shared[back].lists;
    for (uint32_t i = 0; i < c.count; i++)
        if (c.weight[i] > c.weight[best]) best = i;
    for (uint32_t i = 0; back && !lists && i < c.count; i++)
        if (same_root(s, c.object[i], c.object[best], &one_root)) *sharing += c.weight[i];
    for (uint32_t i = 0; back && lists && c.count && i < n; i++)
        *sharing += has_steps(s, list[i], c.farthest[best], shared, back, &one_root);
    if (2 * *sharing > n) way = steps_from(s, c.farthest[best], shared, back, one_root, most);
    crowd_free(&c);
    return way;
}

/* Classes of a suspect. ------------------------------------------------------------------------ */

/* Whether matched.owner gives an object to a suspect. Growth counts new objects of the program only. */
static bool is_own(const matched *m, const pile *p, uint32_t object) {
    if (!m->owner || m->owner[object] != p->owner || !is_new(m, object)) return false;
    return m->count == 1 || m->shots[m->count - 1].role[object] != MACHINE;
}

/* The next object of a suspect, in the order of the dominator tree: objects below it that are not old; `own`: objects
   that matched.owner gives to it. */
static bool next_of(const matched *m, const pile *p, bool own, uint32_t *at, uint32_t *found) {
    const hd_dominators *d = m->shots[m->count - 1].o.dominators;
    uint32_t first = d->position[p->object] + 1, end = own ? d->reached : first + d->below[p->object] - 1;
    if (!own && *at < first) *at = first;
    for (; *at < end; ++*at) {
        uint32_t o = *found = d->order[*at];
        if (own ? is_own(m, p, o) : !is_old(m, o)) return ++*at, true;
    }
    return false;
}

/* The name of more than half of the objects, found by a vote and counted; empty: no name is that frequent. */
static hd_str common_name(const matched *m, const pile *p, bool own, uint32_t class_index, uint64_t all,
                          uint64_t *equal) {
    const shot *s = &m->shots[m->count - 1];
    uint64_t votes = 0;
    hd_str picked = hd_cstr("");
    for (uint32_t at = 0, o; next_of(m, p, own, &at, &o);) {
        hd_str name;
        if (s->class_of[o] != class_index) continue;
        if (s->java && s->role[o] == DATA) break; /* texts and numbers have no names */
        name = name_of(&s->o, o);
        if (!votes) picked = name;
        if (hd_str_equal(name, picked)) votes++;
        else votes--;
    }
    for (uint32_t at = 0, o; picked.len && next_of(m, p, own, &at, &o);)
        *equal += s->class_of[o] == class_index && hd_str_equal(name_of(&s->o, o), picked);
    return all > 1 && 2 * *equal > all ? picked : hd_cstr("");
}

/* The program's own class names come first, then common ones, then the engine's. */
enum { NAMED, COMMON, INTERNAL };

static int tier_of(const shot *s, uint32_t object) {
    hd_str name = hd_graph_class(s->o.graph, s->class_of[object]).name;
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    if (s->role[object] >= TABLE) return INTERNAL;
    if (v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("native")) && *name.data != '<')
        return is_detached(&s->o, object) ? NAMED : COMMON;
    if (is_plain(name) || hd_str_equal(name, hd_cstr("Promise"))) return COMMON;
    return s->role[object] == OF_PROGRAM && name.len && *name.data != '(' ? NAMED : COMMON;
}

uint32_t classes_below(const matched *m, const pile *p, bool own, below found[MOST_BELOW]) {
    /* a place is for a common class, if one is below */
    static const struct { int tier; uint32_t most; } turns[] = {
        { NAMED, MOST_BELOW - 1 }, { COMMON, MOST_BELOW }, { NAMED, MOST_BELOW }, { INTERNAL, MOST_BELOW }
    };
    const shot *s = &m->shots[m->count - 1];
    const hd_dominators *d = s->o.dominators;
    uint32_t all = hd_graph_class_count(s->o.graph), n = 0;
    FREED uint64_t *bytes = needed(calloc((size_t)all + 1, sizeof *bytes));
    FREED uint64_t *number = needed(calloc((size_t)all + 1, sizeof *number));
    FREED uint32_t *end = needed(calloc((size_t)all + 1, sizeof *end)); /* position behind the last counted subtree */
    FREED uint8_t *tier = needed(calloc((size_t)all + 1, 1));
    for (uint32_t at = 0, o; next_of(m, p, own, &at, &o);) {
        uint32_t c = s->java ? s->java[s->class_of[o]] : s->class_of[o];
        if (!number[c]++) tier[c] = (uint8_t)tier_of(s, o);
        if (d->position[o] < end[c]) continue;
        bytes[c] += d->retained[o];
        end[c] = d->position[o] + d->below[o];
    }
    for (size_t t = 0; t < sizeof turns / sizeof *turns; t++)
        while (n < turns[t].most) {
            uint32_t best = 0;
            for (uint32_t c = 1; c < all; c++)
                if (bytes[c] > bytes[best] && tier[c] == turns[t].tier) best = c;
            if (!best) break;
            found[n] = (below){ .class_index = best, .objects = number[best] };
            found[n].name = common_name(m, p, own, best, number[best], &found[n].named), n++;
            bytes[best] = 0;
        }
    return n;
}
