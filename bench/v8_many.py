#!/usr/bin/env python3
"""A large V8 heap snapshot of a small one: v8_many.py SMALL COPIES LARGE

All below node 0 is there COPIES times, each with ids and texts of its own."""
import json
import sys

small = json.load(open(sys.argv[1]))
copies = int(sys.argv[2])
meta = small["snapshot"]["meta"]
nodes, edges, strings = small["nodes"], small["edges"], small["strings"]
fields, types = meta["node_fields"], meta["node_types"]
width, wide = len(fields), len(meta["edge_fields"])
kind, name, ident, count = (fields.index(f) for f in ("type", "name", "id", "edge_count"))
to = meta["edge_fields"].index("to_node")
texts = {i for i, t in enumerate(types[kind]) if "string" in t}
used = set(nodes[ident::width])
free = (i for i in range(1, 1 << 32, 2) if i not in used)
below = len(nodes) // width - 1
root_edges = nodes[count]

with open(sys.argv[3], "w") as out:
    small["snapshot"]["node_count"] = 1 + below * copies
    small["snapshot"]["edge_count"] = len(edges) // wide * copies
    out.write('{"snapshot":%s,\n"nodes":[' % json.dumps(small["snapshot"], separators=(",", ":")))
    first = nodes[:width]
    first[count] *= copies
    out.write(",".join(map(str, first)) + "\n")
    for c in range(copies):
        for at in range(width, len(nodes), width):
            node = nodes[at:at + width]
            if c:
                node[ident] = next(free)
            if node[kind] in texts:
                node[name] += c * len(strings)
            out.write("," + ",".join(map(str, node)) + "\n")
    out.write('],\n"edges":[')
    comma = ""
    for begin, end in ((0, root_edges * wide), (root_edges * wide, len(edges))):
        for c in range(copies):
            for at in range(begin, end, wide):
                edge = edges[at:at + wide]
                if edge[to]:
                    edge[to] += c * below * width
                out.write(comma + ",".join(map(str, edge)) + "\n")
                comma = ","
    out.write('],\n"trace_function_infos":[],\n"trace_tree":[],\n"samples":[],\n"locations":[],\n"strings":[')
    for c in range(copies):
        if c:
            out.write(",\n")
        out.write(",\n".join(json.dumps(s + " %d" % c if c else s) for s in strings))
    out.write("]}")
