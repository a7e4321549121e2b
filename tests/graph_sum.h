/* A digest of the graph of a dump, for tests and harnesses. Include after heapdump.h. */
#ifndef GRAPH_SUM_H
#define GRAPH_SUM_H

#include <stdint.h>

/* Objects, references, roots and values. 0 without a graph. */
HD_UNUSED static uint64_t graph_sum(const hd_dump *dump) {
    const hd_graph *g = hd_dump_graph(dump);
    hd_values values = hd_dump_values(dump);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < hd_graph_object_count(g); i++) {
        hd_object o = hd_graph_object(g, i);
        hd_value v = HD_ZERO;
        if (values.get) values.get(values.document, i, &v);
        sum = sum * 31 + o.id + 3 * o.size + 5 * o.class_index + 11 * v.kind + 13 * v.number + 17 * v.text.len;
        for (size_t k = 0; k < v.text.len; k++) sum = sum * 31 + (uint8_t)v.text.data[k];
        for (uint32_t k = 0; k < o.reference_count; k++)
            sum = sum * 31 + o.references[k] + (o.kinds ? o.kinds[k] : 0) + hd_graph_field(g, i, k).len +
                  hd_graph_index(g, i, k);
    }
    for (uint32_t i = 0; i < hd_graph_class_count(g); i++)
        sum = sum * 31 + hd_graph_class(g, i).name.len + hd_graph_class(g, i).scope.len;
    for (uint32_t i = 0; i < hd_graph_root_count(g); i++) {
        hd_root r = hd_graph_root(g, i);
        sum = sum * 31 + r.object + r.kind + r.flags + hd_graph_root_name(g, &r).len;
    }
    return sum;
}

#endif
