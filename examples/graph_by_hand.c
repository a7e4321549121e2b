/* Builds an object graph by hand, prints retained sizes, and writes it as a heap dump:
   graph_by_hand > objects.log */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

enum { WINDOW = 1, CACHE, IMAGE, ICON, LOST };     /* ids, like those in a file */

static hd_status fill(hd_graph *graph, hd_error *err) {
    static const struct { uint64_t id, size, references[2]; size_t count; int kind; } objects[] = {
        { WINDOW, 100, { CACHE, ICON }, 2, 0 },
        { CACHE, 50, { IMAGE }, 1, 1 },
        { IMAGE, 4000, { 0 }, 0, 2 },
        { ICON, 300, { WINDOW }, 1, 2 },           /* a cycle */
        { LOST, 7, { WINDOW }, 1, 1 }              /* no object refers to it */
    };
    static const char *const names[] = { "Window", "Cache", "Image" };
    hd_root root = { .kind = HD_ROOT_STATIC, .container = HD_NONE };
    uint32_t classes[3];
    hd_status status = HD_OK;
    for (int i = 0; i < 3 && !status; i++) {
        hd_class c = { .id = (uint64_t)i + 1, .name = hd_cstr(names[i]), .described = true };
        status = hd_graph_add_class(graph, &c, &classes[i], err);
    }
    if (!status) status = hd_graph_add_field(graph, classes[0], 0, hd_cstr("cache"), err);
    for (size_t i = 0; i < sizeof objects / sizeof *objects && !status; i++) {
        status = hd_graph_add_object(graph, objects[i].id, classes[objects[i].kind], objects[i].size,
                                     err);
        if (!status) status = hd_graph_add_references(graph, objects[i].references, objects[i].count, err);
    }
    return status ? status : hd_graph_add_root(graph, WINDOW, &root, err);
}

int main(void) {
    hd_error err;
    hd_dominators *dominators = NULL;
    hd_graph *graph = hd_graph_create(NULL, &err);
    hd_status status = graph ? fill(graph, &err) : err.status;
    if (!status) status = hd_graph_seal(graph, NULL, &err);
    if (!status) status = hd_graph_dominators(graph, NULL, &dominators, &err);
    for (uint32_t i = 0; !status && i < hd_graph_object_count(graph); i++) {
        hd_object object = hd_graph_object(graph, i);
        hd_str name = hd_graph_class(graph, object.class_index).name;
        fprintf(stderr, "%d: " HD_FMT ", %d bytes, retains %d\n", (int)object.id, HD_ARG(name), (int)object.size,
                (int)dominators->retained[i]);
    }
    if (!status) status = hd_netcf_write_graph(graph, NULL, NULL, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_dominators_free(dominators);
    hd_graph_free(graph);
    return status != HD_OK || fflush(stdout);
}
