#!/usr/bin/env python3
"""Makes a small V8 heap snapshot from a large one: v8_reduce.py LARGE NODES SMALL

Keeps the first nodes in breadth-first order from node 0, and the first 12 edges of each node to other kept nodes. Also
keeps keys and values of WeakMaps, and white space between records as Node or Chromium writes it."""
import json
import sys

text = open(sys.argv[1]).read()
large, most = json.loads(text), int(sys.argv[2])
meta = large["snapshot"]["meta"]
nodes, edges, strings = large["nodes"], large["edges"], large["strings"]
fields = meta["node_fields"]
width = len(fields)
name, count = fields.index("name"), fields.index("edge_count")
types = meta["edge_types"][0]
first = [0]
for at in range(count, len(nodes), width):
    first.append(first[-1] + 3 * nodes[at])


def row(n):
    return [edges[e:e + 3] for e in range(first[n], first[n + 1], 3)]


def is_pair(edge):
    return types[edge[0]] == "internal" and "pair in WeakMap" in strings[edge[1]]


queue = [0]
kept = {0}
pairs = [e for e in range(0, len(edges), 3) if is_pair(edges[e:e + 3])][:2]
wanted = {strings[edges[e + 1]].split(" / ", 1)[1] for e in pairs}
holders = [(n, e) for n in range(len(first) - 1) for e in row(n)
           if is_pair(e) and strings[e[1]].split(" / ", 1)[1] in wanted]
for n in queue:
    here = 0
    for edge in row(n):
        to = edge[2] // width
        if to in kept or here >= (60 if n < 2 else 5) or len(kept) >= most:
            continue
        kept.add(to)
        queue.append(to)
        here += 1
for n, edge in holders:
    kept |= {n, edge[2] // width}
order = sorted(kept)
number = {n: i for i, n in enumerate(order)}
texts = {}


def string(i):
    return texts.setdefault(i, len(texts))


for i in range(min(3, len(strings))):
    string(i)
small_nodes, small_edges = [], []
for n in order:
    here = [e for e in row(n) if e[2] // width in kept]
    here = [e for e in here if is_pair(e)] + [e for e in here if not is_pair(e)][:60 if n < 2 else 12]
    record = nodes[n * width:(n + 1) * width]
    record[name] = string(record[name])
    record[count] = len(here)
    small_nodes.append(record)
    for kind, what, to in here:
        what = what if types[kind] in ("element", "hidden") else string(what)
        small_edges.append([kind, what, number[to // width] * width])
locations = []
if meta.get("location_fields"):
    wide = len(meta["location_fields"])
    for at in range(0, len(large["locations"]), wide):
        place = dict(zip(meta["location_fields"], large["locations"][at:at + wide]))
        if place["object_index"] // width in kept:
            for field in "object_index", "script_object_index":
                if field in place:
                    place[field] = number.get(place[field] // width, 0) * width
            locations.append(list(place.values()))
functions = large["trace_function_infos"]
for at in range(0, len(functions), 6):
    functions[at + 1:at + 3] = map(string, functions[at + 1:at + 3])
large["snapshot"]["node_count"] = len(small_nodes)
large["snapshot"]["edge_count"] = len(small_edges)
node_js = "\n," in text


def array(records):
    if node_js:
        return "\n,".join(",".join(map(str, r)) for r in records) + ("\n" if records else "")
    return ",".join(",".join(map(str, r)) for r in records)


out = '{"snapshot":%s' % json.dumps(large["snapshot"], separators=(",", ":"))
for key in large:
    if key in ("snapshot", "strings"):
        continue
    value = {"nodes": small_nodes, "edges": small_edges, "locations": locations}.get(key)
    if value is None:
        empty = key.startswith("scope")
        out += ',\n"%s":%s' % (key, "[]" if empty else json.dumps(large[key], separators=(",", ":")))
    else:
        out += ',\n"%s":[%s]' % (key, array(value))
out += ',\n"strings":[%s]}' % (",\n" if node_js else ",").join(json.dumps(strings[i]) for i in texts)
open(sys.argv[3], "w").write(out)
