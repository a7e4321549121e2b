#!/usr/bin/env python3
"""Compares heapdump with v8-heap-parser and memlab on a V8 heap snapshot: wall time and peak memory.

    make bench-v8                                  two minutes
    make bench-v8 V8_ARGS='--copies 5'             a smaller snapshot
    make bench-v8 FULL=1                           also one of more than 2 GB, which the others cannot read: 6 GB of
                                                   memory and 3 GB of disk

Each reads the snapshot and finds the retained sizes of all its nodes. The snapshot is one that Node takes of itself,
repeated several times. Processor time is that of the whole process, including Node's start and compilation of scripts.
The tools take turns, and the fastest round counts.
"""

import argparse, json, os, re, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump is")
parser.add_argument("--copies", type=int, default=25)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--full", action="store_true", help="a snapshot of more than 2 GB, too")
options = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
tool = os.path.abspath(options.build) + "/heapdump"
npm = os.path.abspath(options.build) + "/peers/v8-npm"
work = os.path.abspath(options.build) + "/bench-v8"

PARSER = """const { decode_bytes } = require('@vscode/v8-heap-parser');
const graph = decode_bytes(require('fs').readFileSync(process.argv[1]));
graph.get_class_groups(0, 1, true);
if (graph.class_children(0, 0, 1, 1)[0].retained_size <= 0n) process.exit(1);"""
MEMLAB = """const { getFullHeapFromFile } = require('@memlab/heap-analysis');
getFullHeapFromFile(process.argv[1]).then(heap => { if (!(heap.nodes.get(0).retainedSize > 0)) process.exit(1); });"""


def multiply(small_path, copies, large_path):
    """Repeats everything below node 0 `copies` times, each with its own ids and texts."""
    small = json.load(open(small_path))
    meta = small["snapshot"]["meta"]
    nodes, edges, strings = small["nodes"], small["edges"], small["strings"]
    fields, types = meta["node_fields"], meta["node_types"]
    width, wide = len(fields), len(meta["edge_fields"])
    kind, name, ident, count = (fields.index(f) for f in ("type", "name", "id", "edge_count"))
    to = meta["edge_fields"].index("to_node")
    texts = {i for i, t in enumerate(types[kind]) if "string" in t}
    below, root_edges = len(nodes) // width - 1, nodes[count] * wide
    last_odd = max(i for i in nodes[ident::width] if i & 1)
    own_ids = nodes[ident + width::width]

    def split(numbers, size, steps_of):
        """Pieces of text, alternating with numbers, each with the step to add to it per copy."""
        pieces = []
        for at in range(0, len(numbers), size):
            record, steps = numbers[at:at + size], steps_of(numbers[at:at + size])
            pieces.append(",".join("{%d %d}" % (n, step) if step else str(n) for n, step in zip(record, steps)))
        texts_and_holes = re.split("[{}]", "\n,".join(pieces))
        return texts_and_holes, [tuple(map(int, hole.split())) for hole in texts_and_holes[1::2]]

    def put(parts, steps):
        pieces = parts[0][:]
        pieces[1::2] = [str(n + steps[step]) for n, step in parts[1]]
        out.write("".join(pieces))

    for i in range(below):
        nodes[ident + (i + 1) * width] = last_odd + 2 * i
    node_parts = split(nodes[width:], width, lambda r: [2 if i == ident else i == name and r[kind] in texts for i in range(width)])
    edge_steps = lambda r: [3 if i == to and r[to] else 0 for i in range(wide)]
    edge_parts = [split(some, wide, edge_steps) for some in (edges[:root_edges], edges[root_edges:])]
    quoted = [json.dumps(s)[:-1] for s in strings]
    steps = [(0, c * len(strings), 2 * c * below, c * below * width) for c in range(copies)]
    with open(large_path, "w") as out:
        small["snapshot"]["node_count"] = 1 + below * copies
        small["snapshot"]["edge_count"] = len(edges) // wide * copies
        nodes[count] *= copies
        out.write('{"snapshot":%s,\n"nodes":[' % json.dumps(small["snapshot"], separators=(",", ":")))
        out.write(",".join(map(str, nodes[:width])))
        for c, step in enumerate(steps):
            out.write("\n,")
            if not c: # with the ids in names of WeakMap edges
                nodes[width + ident::width] = own_ids
                out.write("\n,".join(",".join(map(str, nodes[at:at + width])) for at in range(width, len(nodes), width)))
            else:
                put(node_parts, step)
        out.write('],\n"edges":[')
        for i, parts in enumerate(edge_parts):
            for c, step in enumerate(steps):
                out.write("\n," if i or c else "")
                put(parts, step)
        out.write('],\n"trace_function_infos":[],\n"trace_tree":[],\n"samples":[],\n"locations":[],\n"strings":[')
        for c in range(copies):
            tail = ' %d"' % c if c else '"'
            out.write((",\n" if c else "") + (tail + ",\n").join(quoted) + tail)
        out.write("]}")


def run(command):
    """Wall seconds, processor seconds, and peak memory in bytes."""
    start = time.monotonic()
    child = subprocess.Popen(command, cwd=npm, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit("bench/v8.py: %s failed" % " ".join(command[:2]))
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


if not os.path.isdir(npm + "/node_modules/@memlab"):
    os.makedirs(npm, exist_ok=True)
    if subprocess.call("npm init -y && npm install --no-audit --no-fund --ignore-scripts @vscode/v8-heap-parser@0.1.0 "
                       "@memlab/heap-analysis@2.0.5 @memlab/core@2.0.5", shell=True, cwd=npm, stdout=subprocess.DEVNULL):
        print("SKIP: npm cannot install v8-heap-parser and memlab here")
        sys.exit(0)
os.makedirs(work, exist_ok=True)
small, large = work + "/small.heapsnapshot", work + "/large.heapsnapshot"
subprocess.check_call(["node", here + "/../tests/peers/lib/v8_peers.mjs", "take", small])
multiply(small, options.copies, large)
size = os.path.getsize(large)
programs = [
    ("heapdump retained", [tool, "retained", "--top", "1", large]),
    ("v8-heap-parser", ["node", "--max-old-space-size=16384", "-e", PARSER, large]),
    ("memlab", ["node", "--max-old-space-size=16384", "-e", MEMLAB, large]),
]
best = {}
for _ in range(options.rounds):
    for name, command in programs:
        best[name] = min(best.get(name, (1e9,)), run(command))
ours = best["heapdump retained"]
print("a snapshot of %.0f MB, all retained sizes: seconds, of processors, memory by the file's size, times ours" % (size / 1e6))
for name, _ in programs:
    seconds, processor, memory = best[name]
    print("%-18s %8.2f s %8.2f s %6.1f x %7.1f" % (name, seconds, processor, memory / size, seconds / ours[0]))
if options.full:
    huge = work + "/huge.heapsnapshot"
    try:
        multiply(small, options.copies * (2_100_000_000 // size + 1), huge)
        size = os.path.getsize(huge)
        print("\na snapshot of %.0f MB: seconds, of processors, memory by the file's size, MB/s" % (size / 1e6))
        for command in (["info"], ["retained", "--top", "1"], ["classes"]):
            seconds, processor, memory = run([tool] + command + [huge])
            print("%-18s %8.2f s %8.2f s %6.1f x %7.0f" % ("heapdump " + command[0], seconds, processor, memory / size,
                                                         size / 1e6 / seconds))
    finally:
        os.remove(huge)
