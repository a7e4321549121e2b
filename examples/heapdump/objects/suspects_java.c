/* suspects of heap dumps of JVMs: what the classes of Java's library are for, and leaks spread over several holders. */

#include "suspects.h"

static bool ends_with(hd_str text, const char *end) {
    size_t n = strlen(end);
    return text.len >= n && !memcmp(text.data + text.len - n, end, n);
}

static bool is_of_library(hd_str name) {
    static const char *const packages[] = { "java.", "javax.", "jdk.", "sun.", "com.sun." };
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (begins_with(name, packages[i])) return true;
    return false;
}

/* Arrays and nodes of collections belong to the collection. The static fields of a class are unrelated. */
static role role_of_class(hd_str name) {
    static const char *const primitive[] = { "boolean[]", "char[]", "float[]", "double[]", "byte[]", "short[]", "int[]",
                                             "long[]" };
    static const char *const values[] = { "String", "Integer", "Long", "Short", "Byte", "Character", "Boolean", "Float",
                                          "Double" };
    static const char *const nodes[] = { "Node", "Entry", "TreeNode", "TreeBin", "Segment", "ThreadLocalMap" };
    for (size_t i = 0; i < sizeof primitive / sizeof *primitive; i++)
        if (hd_str_equal(name, hd_cstr(primitive[i]))) return DATA;
    if (ends_with(name, "[]")) return TABLE;
    if (hd_str_equal(name, hd_cstr("java.lang.Class"))) return ROOTS;
    for (size_t i = 0; i < sizeof values / sizeof *values && begins_with(name, "java.lang."); i++)
        if (hd_str_equal((hd_str){ name.data + 10, name.len - 10 }, hd_cstr(values[i]))) return DATA;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes && is_of_library(name) && memchr(name.data, '$', name.len); i++)
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

static kin *kin_by_class(const shot *s, const pile *piles, uint32_t n) {
    const hd_dominators *d = s->o.dominators;
    kin *all = needed(calloc((size_t)hd_graph_class_count(s->o.graph) + 1, sizeof *all));
    for (uint32_t at = 0, skip; at < d->reached; at += skip) {
        uint32_t o = d->order[at];
        kin *k = &all[s->java[s->class_of[o]]];
        bool suspect = false;
        for (uint32_t i = 0; i < n; i++) suspect |= piles[i].object == o;
        skip = suspect ? d->below[o] : 1;
        if (suspect || at < k->end) continue;
        if (!k->objects++ || d->retained[o] > d->retained[k->largest]) k->largest = o;
        k->bytes += d->retained[o];
        k->end = at + d->below[o];
    }
    return all;
}

/* Whether an object is below an object of a class in the dominator tree. */
static bool is_below_class(const shot *s, uint32_t object, uint32_t class_index) {
    while (object != HD_NONE && s->java[s->class_of[object]] != class_index) object = s->o.dominators->parent[object];
    return object != HD_NONE;
}

uint32_t find_group(const shot *s, pile *piles, uint32_t n) {
    uint32_t best = HD_NONE, kept = 0, classes = hd_graph_class_count(s->o.graph);
    double most = 0;
    pile one = { .owner = HD_NONE };
    kin *all;
    if (!s->java) return n;
    all = kin_by_class(s, piles, n);
    for (uint32_t i = 0; i < n; i++)
        if (piles[i].trend.score > most) most = piles[i].trend.score;
    for (uint32_t c = 1; c < classes; c++) {
        hd_str name = hd_graph_class(s->o.graph, c).name;
        if (all[c].objects < 2 || is_of_library(name) || role_of_class(name) != OF_PROGRAM) continue;
        if ((double)all[c].bytes <= most || 2 * s->o.dominators->retained[all[c].largest] > all[c].bytes) continue;
        most = (double)all[c].bytes, best = c;
    }
    if (best != HD_NONE) {
        one.object = one.point = all[best].largest, one.group = all[best].objects;
        one.bytes = one.trend.score = most;
        for (uint32_t i = 0; i < n; i++)
            if (!is_below_class(s, piles[i].object, best)) piles[kept++] = piles[i];
        n = kept < MOST_PILES ? kept : MOST_PILES - 1;
        memmove(piles + 1, piles, n * sizeof *piles);
        piles[0] = one, n++;
    }
    free(all);
    return n;
}
