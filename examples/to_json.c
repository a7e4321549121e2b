/* Reads any heap dump and writes it as JSON, heaps as trees, objects by class: to_json FILE */

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_status write_row(void *user, const hd_tree_row *row) {
    hd_json *j = (hd_json *)user;
    hd_json_newline(j), hd_json_object(j);
    hd_json_key(j, "depth"), hd_json_u64(j, row->depth);
    hd_json_key(j, "name"), hd_json_str(j, row->name);
    hd_json_key(j, "bytes"), hd_json_u64(j, row->amount.bytes);
    if (row->amount.blocks != HD_UNKNOWN) hd_json_key(j, "blocks"), hd_json_u64(j, row->amount.blocks);
    hd_json_end(j);
    return HD_OK;
}

static hd_status write_heap(hd_json *j, const hd_heap *heap, hd_error *err) {
    hd_status status;
    hd_json_newline(j), hd_json_object(j);
    hd_json_key(j, "pid"), hd_json_u64(j, heap->pid);
    hd_json_key(j, "dump"), hd_json_cstr(j, heap->dump ? heap->dump : "");
    hd_json_key(j, "allocator"), hd_json_cstr(j, heap->allocator ? heap->allocator : "");
    hd_json_key(j, "tree"), hd_json_array(j);
    status = hd_tree(heap, NULL, write_row, j, err);
    hd_json_end(j), hd_json_end(j);
    return status;
}

static hd_status write_classes(hd_json *j, const hd_graph *graph, hd_error *err) {
    hd_histogram *histogram;
    hd_status status = hd_graph_histogram(graph, NULL, NULL, &histogram, err);
    if (status) return status;
    for (uint32_t i = 0; i < histogram->count; i++) {
        const hd_class_row *row = &histogram->rows[i];
        hd_json_newline(j), hd_json_object(j);
        hd_json_key(j, "class"), hd_json_str(j, hd_graph_class(graph, row->class_index).name);
        hd_json_key(j, "objects"), hd_json_u64(j, row->objects);
        hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
        hd_json_end(j);
    }
    hd_histogram_free(histogram);
    return HD_OK;
}

int main(int argc, char **argv) {
    hd_dump *dump;
    hd_error err;
    hd_json json;
    hd_status status = HD_OK;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    if (hd_read_file(argv[1], NULL, &dump, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    hd_json_begin(&json, hd_out_file(stdout));
    hd_json_object(&json);
    hd_json_key(&json, "format"), hd_json_cstr(&json, hd_dump_format(dump)->name);
    hd_json_key(&json, "heaps"), hd_json_array(&json);
    for (size_t i = 0; i < hd_dump_heap_count(dump) && !status; i++)
        status = write_heap(&json, hd_dump_heap(dump, i), &err);
    hd_json_end(&json);
    hd_json_key(&json, "classes"), hd_json_array(&json);
    if (!status && hd_dump_graph(dump)) status = write_classes(&json, hd_dump_graph(dump), &err);
    hd_json_end(&json), hd_json_end(&json), hd_json_newline(&json);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], err.message);
    hd_dump_free(dump);
    return hd_json_finish(&json) || status || fflush(stdout);
}
