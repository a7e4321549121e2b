/* Graphs and dumps for tests and benchmarks. Include after heapdump.h.

   dump_make writes a .NET CF dump of known shape and size. It has trees of objects, each below its own root.
   References across and upward change no dominator. It also has garbage in cycles and references to missing ids. The
   objects of a tree are nodes 0 .. tree_size - 1, and node k is a child of node (k - 1) / 3. Ids are scattered or
   ascend. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump_shape {
    uint32_t trees, tree_size;   /* live objects: trees x tree_size */
    uint32_t garbage;            /* unreachable objects, in cycles of five */
    uint32_t types;
    uint32_t missing;            /* references to ids without a record, all different */
    bool scattered;              /* ids in random order; else they ascend */
    uint64_t seed;
} dump_shape;

typedef struct dump_answers {
    uint64_t objects, references, roots, bytes, live_objects, live_bytes;
} dump_answers;

HD_UNUSED static uint64_t graphs_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The id of object n: different ids below 2^31 for different objects. */
HD_UNUSED static uint64_t dump_id(const dump_shape *shape, uint32_t n) {
    if (!shape->scattered) return 0x1ce000 + (uint64_t)n * 3;
    return ((uint64_t)n * 0x5bd1e995u + 0x1234567u) & 0x7fffffffu;
}

/* The size of object n, and of its whole subtree. */
HD_UNUSED static uint64_t dump_size(uint32_t n) { return 12 + n % 31 * 4; }

HD_UNUSED static uint64_t dump_retained(const dump_shape *shape, uint32_t tree, uint32_t node) {
    uint64_t sum = 0, low = node, high = node;
    for (; low < shape->tree_size; low = 3 * low + 1, high = 3 * high + 3)
        for (uint64_t k = low; k <= high && k < shape->tree_size; k++)
            sum += dump_size(tree * shape->tree_size + (uint32_t)k);
    return sum;
}

typedef struct dump_text {
    char *data;
    size_t size, capacity;
} dump_text;

HD_UNUSED static void dump_reserve(dump_text *t, size_t extra) {
    if (t->capacity - t->size >= extra) return;
    t->capacity = 2 * t->capacity + extra;
    t->data = (char *)realloc(t->data, t->capacity);
    if (!t->data) abort();
}

HD_UNUSED static void dump_hex(dump_text *t, uint64_t value) {
    char digits[17];
    int n = 16;
    do digits[n--] = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    digits[n] = ' ';
    memcpy(t->data + t->size, digits + n, (size_t)(17 - n));
    t->size += (size_t)(17 - n);
}

HD_UNUSED static void dump_string(dump_text *t, const char *s) {
    dump_reserve(t, strlen(s));
    memcpy(t->data + t->size, s, strlen(s));
    t->size += strlen(s);
}

/* Writes an object; objects come in the order of their numbers. A type comes after its first object. */
HD_UNUSED static void dump_object(dump_text *t, const dump_shape *shape, uint32_t n, const uint64_t *ids,
                                  uint32_t count, dump_answers *a) {
    uint32_t type = n % 7 < 4 ? n % 3 % shape->types : (uint32_t)((uint64_t)n * 2654435761u >> 8) % shape->types;
    dump_reserve(t, 64 + 17 * (size_t)count);
    t->data[t->size++] = 'o';
    dump_hex(t, dump_id(shape, n));
    dump_hex(t, type + 1);
    dump_hex(t, dump_size(n));
    for (uint32_t i = 0; i < count; i++) dump_hex(t, ids[i]);
    t->data[t->size++] = '\n';
    a->objects++;
    a->references += count;
    a->bytes += dump_size(n);
}

HD_UNUSED static void dump_tree(dump_text *t, const dump_shape *shape, uint32_t tree, uint64_t *random,
                                uint32_t *missing, dump_answers *a) {
    uint32_t first = tree * shape->tree_size;
    for (uint32_t k = 0; k < shape->tree_size; k++) {
        uint64_t ids[8];
        uint32_t n = 0, up = k;
        for (uint32_t c = 3 * k + 1; c <= 3 * k + 3 && c < shape->tree_size; c++)
            ids[n++] = dump_id(shape, first + c);
        for (uint64_t bits = graphs_random(random); n < 7 && (bits & 3) == 0; bits >>= 2) {
            if (up) up = (up - 1) / 3;
            ids[n++] = dump_id(shape, first + up); /* upward: changes no dominator */
        }
        if (*missing && k % 50 == 7) ids[n++] = 0x80000000u + --*missing;
        dump_object(t, shape, first + k, ids, n, a);
    }
}

HD_UNUSED static dump_text dump_make(const dump_shape *shape, dump_answers *a) {
    dump_text t = { NULL, 0, 0 };
    uint64_t random = shape->seed;
    uint32_t live = shape->trees * shape->tree_size, missing = shape->missing;
    memset(a, 0, sizeof *a);
    dump_string(&t, "a 2 made up.exe 763f9d2\n");
    for (uint32_t tree = 0; tree < shape->trees; tree++) {
        dump_tree(&t, shape, tree, &random, &missing, a);
        dump_reserve(&t, 64);
        t.data[t.size++] = 'r';
        dump_hex(&t, dump_id(shape, tree * shape->tree_size));
        dump_string(&t, tree % 2 ? " 5 0\n" : " 4 1 1\n");
        a->roots++;
    }
    a->live_objects = a->objects;
    a->live_bytes = a->bytes;
    for (uint32_t i = 0; i < shape->garbage; i++) {
        uint64_t ids[2];
        ids[0] = dump_id(shape, live + (i % 5 < 4 && i + 1 < shape->garbage ? i + 1 : i - i % 5));
        ids[1] = dump_id(shape, i % live); /* garbage keeps no live object */
        dump_object(&t, shape, live + i, ids, 2, a);
    }
    for (uint32_t i = 0; i < shape->types; i++) {
        static const char *const names[] = { "System.String", "System.Object[]",
                                             "System.Collections.Generic.List`1[[System.Int32, mscorlib, Version=2.0.0.0]]" };
        char digits[20];
        int n = 19;
        uint32_t v = i;
        dump_reserve(&t, 64);
        t.data[t.size++] = 't';
        dump_hex(&t, i + 1);
        digits[n] = 0;
        do digits[--n] = (char)('0' + v % 10);
        while (v /= 10);
        dump_string(&t, i < 3 ? " " : " Some.Name.Space.Class");
        dump_string(&t, i < 3 ? names[i] : digits + n);
        dump_string(&t, "\n");
    }
    dump_string(&t, "c made up.exe 763fbef\n");
    return t;
}

/* A graph shaped like a real heap. Most references go to near objects, some to a few popular ones, one in a hundred
   anywhere. A few arrays are large; a tenth of the objects is garbage. */
HD_UNUSED static hd_graph *heap_like(uint32_t objects, uint64_t seed) {
    hd_graph_desc desc;
    hd_graph *g;
    hd_class desc_class;
    hd_root root;
    uint64_t random = seed;
    bool ok;
    memset(&desc, 0, sizeof desc);
    memset(&desc_class, 0, sizeof desc_class);
    memset(&root, 0, sizeof root);
    root.container = HD_NONE;
    desc.dense = true;
    desc_class.scope = hd_cstr("");
    desc_class.described = true;
    g = hd_graph_create(&desc, NULL);
    ok = g != NULL;
    for (uint32_t i = 0; i < 200 && ok; i++) {
        char name[16] = "Class000";
        name[5] = (char)('0' + i / 100), name[6] = (char)('0' + i / 10 % 10), name[7] = (char)('0' + i % 10);
        desc_class.name = hd_cstr(name);
        ok = !hd_graph_add_class(g, &desc_class, NULL, NULL);
    }
    for (uint32_t i = 0; i < objects && ok; i++) {
        uint64_t ids[64], bits = graphs_random(&random);
        size_t n = bits % 8 < 3 ? 0 : bits % 8 < 6 ? 2 : bits % 8 < 7 ? 5 : 9;
        if ((bits >> 8) % 1024 == 0) n = 64;
        ok = !hd_graph_add_object(g, i, 1 + (uint32_t)(bits >> 20) % 200, 16 + (bits >> 40) % 12 * 8, NULL);
        for (size_t k = 0; k < n; k++) {
            uint64_t x = graphs_random(&random);
            if (x % 100 < 70) ids[k] = (i + 1 + (x >> 8) % 40) % objects;
            else if (x % 100 < 90) ids[k] = (x >> 8) % (objects / 1000 + 1) * 997 % objects;
            else if (x % 100 < 99) ids[k] = (i + objects - (x >> 8) % 2000 % objects) % objects;
            else ids[k] = (x >> 8) % objects;
        }
        ok = ok && !hd_graph_add_references(g, ids, n, NULL);
    }
    for (uint32_t i = 0; i < objects / 500 + 1 && ok; i++)
        ok = !hd_graph_add_root(g, graphs_random(&random) % objects, &root, NULL);
    if (!ok || hd_graph_seal(g, NULL, NULL)) abort();
    return g;
}

#endif
