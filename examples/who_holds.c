/* Prints the objects of a heap dump with the largest retained size, and the path that holds each: who_holds FILE */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static void print_name(hd_str name) {
    hd_str piece;
    while ((piece = hd_visible(&name)).len) fwrite(piece.data, 1, piece.len, stdout);
}

static void print_object(const hd_graph *graph, uint32_t object) {
    hd_object o = hd_graph_object(graph, object);
    print_name(hd_graph_class(graph, o.class_index).name);
    printf(" %llx", (unsigned long long)o.id);
}

/* Prints the path from the object back to a root, one line per reference. */
static void print_path(const hd_graph *graph, const hd_path *path) {
    for (uint32_t i = path->length - 1; i > 0; i--) {
        hd_str field = hd_graph_field(graph, path->objects[i - 1], path->references[i - 1]);
        printf("    held by ");
        print_object(graph, path->objects[i - 1]);
        if (field.len) printf(", ."), print_name(field);
        putchar('\n');
    }
    printf("    held by a root: %s\n", hd_root_kind_name(hd_graph_root(graph, path->root).kind));
}

static int print_largest(const hd_graph *graph) {
    hd_dominators *dominators;
    uint32_t top[10], n;
    if (hd_graph_dominators(graph, NULL, &dominators, NULL)) return 1;
    n = hd_dominators_top(dominators, 10, top);
    for (uint32_t i = 0; i < n; i++) {
        hd_paths *paths;
        printf("%12llu bytes in %u objects: ", (unsigned long long)dominators->retained[top[i]],
               (unsigned)dominators->below[top[i]]);
        print_object(graph, top[i]);
        putchar('\n');
        if (hd_graph_paths(graph, top[i], 1, NULL, &paths, NULL)) continue;
        if (paths->count) print_path(graph, &paths->paths[0]);
        hd_paths_free(paths);
    }
    hd_dominators_free(dominators);
    return 0;
}

int main(int argc, char **argv) {
    hd_dump *dump;
    hd_error err;
    int failed;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    if (hd_read_file(argv[1], NULL, &dump, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    if (!hd_dump_graph(dump)) fprintf(stderr, "%s: says nothing about objects\n", argv[1]);
    failed = !hd_dump_graph(dump) || print_largest(hd_dump_graph(dump));
    hd_dump_free(dump);
    return failed;
}
