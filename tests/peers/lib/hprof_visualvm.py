"""Compares a heap dump with the output of Visualvm.java: instances of all classes, roots, shallow and retained sizes.

    hprof_visualvm.py HEAPDUMP DUMP OUTPUT

Prints a table of the differences with their reasons. A difference without a reason fails. For retained sizes the
referee's own reader removes the object: its bytes must be the command's, and with VisualVM's shallow sizes of the
removed objects they are VisualVM's, or VisualVM's answer is wrong."""
import collections, json, os, random, subprocess, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../screens/graphs"), os.path.join(HERE, "../screens")]
sys.dont_write_bytecode = True
import hprof_graph
from hprof_sizes import CONTENDED, INJECTED

HIDDEN, PADDED = "fields that the JVM adds and the file lacks", "padding of @Contended fields"
MIXED, ARRAY = "12-byte headers with 8-byte references: VisualVM expects 16-byte headers", "VisualVM's array header has 20 bytes, the JVM's 24"
CLASSES = "VisualVM counts no class objects"
SUM, FEWER = "shallow sizes of objects below differ", "VisualVM's is less than the object's shallow size"
WEAK, GARBAGE = "VisualVM lets weak references hold", "VisualVM lets weak references and garbage hold"
REMOVED = "removal of the object confirms the command's; VisualVM's is smaller"
MOST = 150                       # removals by dump


def command(tool, *words):
    return json.loads(subprocess.run([tool, *words, "--json"], capture_output=True, text=True, check=True).stdout)["files"][0]


def shallow_reason(g, o):
    layout, x = g.layout, g.items[o]
    names = [g.file.name(c.id) for c in g.file.line(x.of)] if hasattr(x, "data") and hasattr(x, "of") else []
    if any(n in INJECTED for n in names):
        return HIDDEN
    if any(n in CONTENDED for n in names):
        return PADDED
    if (layout.header, layout.ref) == (12, 8):
        return MIXED
    return ARRAY if layout.header == 16 and not names else None


def removed(g, gone, sizes, garbage):
    """VisualVM's bytes that disappear with an object if weak references, and perhaps garbage, hold objects."""
    def reach(without):
        stack = [o for o in g.starts if o != without]
        stack += [o for o in range(g.described) if garbage and not g.live[o] and o != without]
        seen = set(stack)
        while stack:
            for r in g.refs[stack.pop()]:
                if r.to not in seen and r.to != without:
                    seen.add(r.to)
                    stack.append(r.to)
        return seen
    return sum(sizes.get(g.ids[o], 0) for o in reach(None) - reach(gone))


def retained_reason(g, o, sizes, ours, theirs):
    rest = g.reach([o])
    gone = [p for p in range(g.described) if g.live[p] and not rest[p]]
    if sum(g.sizes[p] for p in gone) != ours:
        return None
    if sum(sizes.get(g.ids[p], 0) for p in gone) == theirs:
        return SUM
    for reason, garbage in (WEAK, False), (GARBAGE, True):
        if removed(g, o, sizes, garbage) == theirs:
            return reason
    return FEWER if theirs < sizes[g.ids[o]] else REMOVED if theirs < ours else None


def main(tool, dump, output):
    counts, sizes, kept, roots = collections.Counter(), {}, {}, 0
    for line in open(output):
        kind, *rest = line.rstrip("\n").split("\t")
        if kind == "class":
            counts[rest[0]] += int(rest[1])
        elif kind == "object":
            sizes[int(rest[0])] = int(rest[1])
            if rest[2] != "-":
                kept[int(rest[0])] = int(rest[2])
        else:
            roots = int(rest[0])
    with open(dump, "rb") as f:
        g = hprof_graph.read(f.read())
    table, ours = collections.defaultdict(list), collections.Counter()
    for c in command(tool, "classes", dump)["classes"]:
        ours[c["class"]] += c["objects"]
    for name, count in counts.items():
        if ours[name] != count:
            table["instances", CLASSES if name == "java.lang.Class" else None].append((name, ours[name], count))
    if roots != len(g.roots):
        table["roots", None].append(("all", len(g.roots), roots))
    told = {int(o["id"]): o for o in command(tool, "retained", "--all", dump)["objects"]}
    differ = []
    for id, size in sizes.items():
        if id in told and told[id]["bytes"] != size:
            o = g.find(str(id))[0]
            table["shallow", shallow_reason(g, o)].append((g.class_of(o)[0], told[id]["bytes"], size))
        if id in told and id in kept and told[id]["retained"] != kept[id]:
            differ.append(id)
    for id in random.Random(1).sample(differ, min(MOST, len(differ))):
        o = g.find(str(id))[0]
        table["retained", retained_reason(g, o, sizes, told[id]["retained"], kept[id])].append((g.class_of(o)[0], told[id]["retained"], kept[id]))
    for (kind, reason), rows in sorted(table.items(), key=lambda x: (x[0][0], str(x[0][1]))):
        name, a, b = min(rows)
        print(f"  {len(rows):5} {kind:9}  {reason or 'NO REASON'}; {name}: {a}, VisualVM has {b}")
    live = sum(id in told for id in kept)
    print(f"{len(counts)} classes, {len(sizes)} shallow sizes, {live} retained sizes ({len(differ)} differ), {roots} roots")
    sys.exit(any(reason is None for _, reason in table) or live < 1000 or not roots)


main(*sys.argv[1:])
