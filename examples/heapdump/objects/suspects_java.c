/* suspects of heap dumps of JVMs: roles of the classes of Java's library, and leaks spread over several holders. */

#include "suspects.h"

static bool ends_with(hd_str text, const char *end) {
    size_t n = strlen(end);
    return text.len >= n && !memcmp(text.data + text.len - n, end, n);
}

/* Arrays and nodes of collections belong to the collection. The static fields of a class are unrelated. */
static role role_of_class(hd_str name) {
    static const char *const primitive[] = { "boolean[]", "char[]", "float[]", "double[]", "byte[]", "short[]",
                                             "int[]", "long[]" };
    static const char *const values[] = { "String", "Integer", "Long", "Short", "Byte", "Character", "Boolean",
                                          "Float", "Double" };
    static const char *const nodes[] = { "Node", "Entry", "TreeNode", "TreeBin", "Segment", "Index",
                                         "ThreadLocalMap" };
    bool nested = memchr(name.data, '$', name.len) && is_of_java(name);
    for (size_t i = 0; i < sizeof primitive / sizeof *primitive; i++)
        if (hd_str_equal(name, hd_cstr(primitive[i]))) return DATA;
    if (ends_with(name, "[]")) return TABLE;
    if (hd_str_equal(name, hd_cstr("java.lang.Class"))) return ROOTS;
    for (size_t i = 0; i < sizeof values / sizeof *values && begins_with(name, "java.lang."); i++)
        if (hd_str_equal((hd_str){ name.data + 10, name.len - 10 }, hd_cstr(values[i]))) return DATA;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes && nested; i++)
        if (ends_with(name, nodes[i])) return TABLE;
    return OF_PROGRAM;
}

role *roles_of_java(const objects *o) {
    uint32_t n = hd_graph_class_count(o->graph);
    role *roles = needed(malloc(((size_t)n + 1) * sizeof *roles));
    for (uint32_t i = 0; i < n; i++) roles[i] = role_of_class(hd_graph_class(o->graph, i).name);
    return roles;
}

typedef struct named_class { hd_str name; uint32_t class_index; } named_class;

static int by_class_name(const void *a, const void *b) {
    const named_class *x = a, *y = b;
    int order = hd_str_compare(x->name, y->name);
    return order ? order : (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

uint32_t *names_of_java(const objects *o) {
    uint32_t n = hd_graph_class_count(o->graph), *first = needed(malloc(((size_t)n + 1) * sizeof *first));
    named_class *classes = needed(malloc(((size_t)n + 1) * sizeof *classes));
    for (uint32_t i = 0; i < n; i++) classes[i] = (named_class){ hd_graph_class(o->graph, i).name, i };
    qsort(classes, n, sizeof *classes, by_class_name);
    for (uint32_t i = 0; i < n; i++) {
        bool same = i && hd_str_equal(classes[i].name, classes[i - 1].name);
        first[classes[i].class_index] = same ? first[classes[i - 1].class_index] : classes[i].class_index;
    }
    free(classes);
    return first;
}

/* Objects of a class that are below no suspect and no other object of the class. */
typedef struct kin {
    uint32_t objects, largest, end; /* end: position behind the last one's subtree */
    uint64_t bytes;
} kin;

static void kin_add(kin *k, const hd_dominators *d, uint32_t o) {
    if (d->position[o] < k->end) return;
    if (!k->objects++ || d->retained[o] > d->retained[k->largest]) k->largest = o;
    k->bytes += d->retained[o];
    k->end = d->position[o] + d->below[o];
}

static bool is_suspect(const pile *piles, uint32_t n, uint32_t object) {
    for (uint32_t i = 0; i < n; i++)
        if (piles[i].object == object) return true;
    return false;
}

static bool is_local(const shot *s, uint32_t object) {
    if (s->ways.held_by[object] != HD_NONE || s->o.dominators->parent[object] != HD_NONE) return false;
    return hd_graph_root(s->o.graph, s->ways.by[object]).kind == HD_ROOT_LOCAL;
}

/* Which objects of a class count: all of a class of the program, else local variables. */
static bool is_kin(const shot *s, const uint8_t *program, uint32_t object) {
    return program[s->java[s->class_of[object]]] || is_local(s, object);
}

static kin *kin_by_class(const shot *s, const uint8_t *program, const pile *piles, uint32_t n) {
    const hd_dominators *d = s->o.dominators;
    kin *all = needed(calloc((size_t)hd_graph_class_count(s->o.graph) + 1, sizeof *all));
    for (uint32_t at = 0; at < d->reached;) {
        uint32_t o = d->order[at];
        bool counts = is_kin(s, program, o), local = counts && !program[s->java[s->class_of[o]]];
        bool suspect = !local && is_suspect(piles, n, o);
        if (counts && !suspect) kin_add(&all[s->java[s->class_of[o]]], d, o);
        at += suspect ? d->below[o] : 1;
    }
    return all;
}

/* Whether an object, or an object above it, counts for a class. */
static bool is_below_kin(const shot *s, const uint8_t *program, uint32_t object, uint32_t class_index) {
    while (object != HD_NONE && (s->java[s->class_of[object]] != class_index || !is_kin(s, program, object)))
        object = s->o.dominators->parent[object];
    return object != HD_NONE;
}

uint32_t find_group(const shot *s, pile *piles, uint32_t n) {
    uint32_t best = HD_NONE, kept = 0, classes = hd_graph_class_count(s->o.graph);
    pile one = { .owner = HD_NONE };
    uint8_t *program;
    kin *all;
    if (!s->java) return n;
    program = needed(malloc((size_t)classes + 1));
    for (uint32_t c = 0; c < classes; c++) {
        hd_str name = hd_graph_class(s->o.graph, c).name;
        program[c] = !is_of_java(name) && role_of_class(name) == OF_PROGRAM;
    }
    all = kin_by_class(s, program, piles, n);
    for (uint32_t i = 0; i < n; i++)
        if (piles[i].trend.score > one.bytes) one.bytes = piles[i].trend.score;
    for (uint32_t c = 1; c < classes; c++) {
        if (all[c].objects < 2 || (double)all[c].bytes <= one.bytes) continue;
        if (2 * s->o.dominators->retained[all[c].largest] > all[c].bytes) continue;
        one.bytes = (double)all[c].bytes, best = c;
    }
    for (uint32_t i = 0; i < n && best != HD_NONE; i++)
        if (!is_below_kin(s, program, piles[i].object, best)) piles[kept++] = piles[i];
    if (best != HD_NONE) {
        one.object = one.point = all[best].largest, one.group = all[best].objects, one.trend.score = one.bytes;
        n = kept < MOST_PILES ? kept : MOST_PILES - 1;
        memmove(piles + 1, piles, n * sizeof *piles);
        piles[0] = one, n++;
    }
    free(all), free(program);
    return n;
}
