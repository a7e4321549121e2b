"""suspects and path on lists with alternating classes, and with lost references. suspects_lists.py TOOL [OBJECTS]"""
import json, random, re, resource, shutil, subprocess, sys
from asked import answer, check, end, run, screen, tool
from dart_snapshot import Dart
from v8_snapshot import Heap

objects = int(sys.argv[2]) if len(sys.argv) > 2 else 100000


def chain(h, holder, classes, fields, count):
    """A list of objects; object k is of classes[k % n] and holds the next one by fields[k % n]."""
    at = holder
    for k in range(count):
        at, before = h.node("object", classes[k % len(classes)], 100), at
        h.edge(before, "property", fields[(k - 1) % len(fields)] if k else "head", at)
    return at


def instructions(*arguments):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", tool, *arguments], capture_output=True, encoding="utf-8")
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def listed(classes, fields, elements, spare=0):
    """The paths of suspects: of the first suspect, and of the first class."""
    h = Heap()
    chain(h, h.variable("jobs", h.node("object", "Queue", 32)), classes, fields, elements * len(classes) + spare)
    got = answer("suspects", h.write("list.heapsnapshot"))["graphs"][0]
    return got["suspects"][0], {c["class"]: c["path"] for c in got["classes"]}


# A period of any length ------------------------------------------------------------------------------------------------

for period in (1, 2, 3, 6, 7, 8, 12, 30, 64):
    names = ["Part%d" % k for k in range(period)]
    fields = ["to%d" % k for k in range(period)]
    first, ways = listed(names, fields, 40)
    text = "head: list of 40 Part0 (%s)" % " › ".join(fields)
    check("a list with a period of %d is one step" % period, ["global", "jobs: Queue", text], first["path"])
    check("... the suspect is that list", (40, "Part0"), (first["list_of"], first["class"]))
    check("... and of the first class", text, ways["Part0"][2])

# One class, several fields: the period is that of the fields.
first, _ = listed(["Object"] * 9, ["f%d" % k for k in range(9)], 30)
check("nine fields, one class: all objects count", (270, 3), (first["list_of"], len(first["path"])))
first, _ = listed(["Object"] * 9, ["f%d" % k for k in range(9)], 30, 4)
check("... those of a part of a period, too", (274, 3), (first["list_of"], len(first["path"])))
# A class that occurs several times in a period.
first, _ = listed(["A", "B", "A", "C", "D", "A", "B", "E"], ["f%d" % k for k in range(8)], 30)
check("a class three times in a period: all objects count", (90, 3), (first["list_of"], len(first["path"])))
# No period: a pipe gets the names of all objects.
first, ways = listed(["K%d" % (k * k % 97) for k in range(200)], ["g%d" % (k * 7 % 31) for k in range(200)], 1)
check("no period: no list", [], [s for s in first["path"] if "list of" in s])
# path --class on a terminal: the list is one step, with the fields that lead from one element to the next.
listed(["Part%d" % k for k in range(7)], ["to%d" % k for k in range(7)], 40)
text = screen(160, "path", "--class", "Part3", "list.heapsnapshot")
check("path --class on a terminal: one list", (1, True),
      (text.count("list of"), "head: list of 40 Part0 (to0 › to1 › to2 › to3 › to4 › to5 › to6)" in text))
# Two branches after a common start, each with its own list.
h = Heap()
start = h.variable("jobs", h.node("object", "Queue", 32))
for side in ("left", "right"):
    branch = h.node("object", "Branch", 32)
    h.edge(start, "property", side, branch)
    chain(h, branch, [side.upper() + str(k) for k in range(7)], ["to%d" % k for k in range(7)], 350)
paths = [c["path"] for c in answer("suspects", h.write("two.heapsnapshot"))["graphs"][0]["classes"]]
check("two lists: each has its own path", {"left", "right"},
      {p[2].split(":")[0] for p in paths if len(p) > 3 and ("list of 50" in p[3] or "list of 49" in p[3])})

# Lists that several paths lead to --------------------------------------------------------------------------------------


def lengths(*heaps, end="heapsnapshot"):
    """The lists and trees in the output, and the suspect's number of elements."""
    files = [h.write("both%d.%s" % (i, end)) for i, h in enumerate(heaps)]
    got = answer("suspects", *files)["graphs"][0]
    steps = [s for row in got["suspects"] + got["classes"] for s in row["path"] + row.get("holder_path", []) + row.get("within", [])]
    shown = {s.split(": ")[-1].removeprefix("[] ") for s in steps if "list of" in s or "tree of" in s}
    text = set(re.findall(r"(?:list|tree) of [^›\n]*?(?=  \(| ›|, id|\n)", run("suspects", *files)))
    return shown, {re.sub(r" \(.*", "", s) for s in shown} - {re.sub(r" \(.*", "", s) for s in text}


def ring(n, ends=("_first", "_last"), closed=True):
    h = Heap()
    holder = h.variable("stream", h.node("object", "Controller", 64))
    nodes = [h.node("object", "Subscription", 80) for _ in range(n)]
    for i, x in enumerate(nodes):
        for name, to in (("_next", i + 1), ("_previous", i - 1)):
            if closed or 0 <= to < n:
                h.edge(x, "property", name, nodes[to % n])
        h.edge(x, "property", "data", h.node("object", "Data", 500))
    for name, to in zip(ends, (nodes[0], nodes[-1])):
        h.edge(holder, "property", name, to)
    return h


for closed in (True, False):
    for ends in (("_first", "_last"), ("_first",)):
        got, missing = lengths(ring(501, ends, closed))
        check("a two-way list%s with %s: all elements count" % (", a ring," * closed, " and ".join(ends)),
              ({"list of 501"}, set()), ({s.split(" Sub")[0] for s in got}, missing))
d = Dart()                                     # no field names, as in .NET CF
holder = d.edge(d.root, d.node("LinkedList", 40))
nodes = [d.node("LinkedListNode", 40) for _ in range(500)]
for i, x in enumerate(nodes):
    for to in (holder, nodes[(i + 1) % 500], nodes[i - 1], d.node("Reading", 300)):
        d.edge(x, to)
d.edge(holder, nodes[0])
check("a ring without names of fields", ({"list of 500 LinkedListNode"}, set()), lengths(d, end="dartheap"))

# A path enters a two-way list in its middle: the list has all elements, in whichever direction the path continues.
h = Heap()
nodes = [h.node("object", "Node", 100) for _ in range(40)]
for i, x in enumerate(nodes):
    for name, to in (("next", i + 1), ("prev", i - 1)):
        if 0 <= to < 40:
            h.edge(x, "property", name, nodes[to])
    h.edge(x, "property", "data", h.node("object", "Data", 500))
h.edge(h.variable("top", h.node("object", "Top", 32)), "property", "current", nodes[20])
got, missing = lengths(h)
check("a list entered in its middle: all elements count", ({"list of 40 Node"}, set()), ({s.split(" (")[0] for s in got}, missing))
text = run("path", "--class", "Node", "both0.heapsnapshot")
check("... path --class", {"40"}, set(re.findall("list of (\\d+) Node", text)))
d = Dart()                                     # each element references the first
nodes = [d.node("Node", 100) for _ in range(40)]
d.edge(d.edge(d.root, d.node("Top", 16)), nodes[0])
for i, x in enumerate(nodes):
    for to in (nodes[i + 1:i + 2] + nodes[:1]):
        d.edge(x, to)
check("elements that reference the first", ({"list of 40 Node"}, set()), lengths(d, end="dartheap"))

# Half edges of a strip of triangles: two references lead from one triangle to the next. Both half edges have one
# class.
h = Heap()
mesh, corners = h.variable("mesh", h.node("object", "Mesh", 32)), []
for k in range(300):
    corners.append([h.node("object", "HalfEdge", 80) for _ in range(3)])
    for i, x in enumerate(corners[k]):
        h.edge(x, "property", "nextEdge", corners[k][(i + 1) % 3])
        h.edge(x, "property", "prevEdge", corners[k][i - 1])
    if k:
        h.edge(corners[k][0], "property", "twin", corners[k - 1][1])
        h.edge(corners[k - 1][1], "property", "twin", corners[k][0])
h.edge(mesh, "property", "end", corners[-1][1])
check("half edges: both of each triangle count", ({"list of 600 HalfEdge (prevEdge › twin)"}, set()), lengths(h))
lines = run("path", "--class", "HalfEdge", "both0.heapsnapshot").splitlines()
check("... path --class", 1, sum("end: list of 600 HalfEdge (prevEdge › twin)" in s for s in lines))

# A tree that is rebuilt; its root holds the previous tree: fields lead forward, sideways and back.
h = Heap()
top, before = h.variable("root", h.node("object", "Root", 32)), None
for k in range(200):
    fiber = h.node("object", "Fiber", 80)
    if before is not None:
        h.edge(fiber, "property", "alternate", before)
    last = None
    for i in range(9):
        li = h.node("object", "Fiber", 80)
        h.edge(li, "property", "parent", fiber)
        h.edge(fiber if last is None else last, "property", "child" if last is None else "sibling", li)
        span = h.node("object", "Fiber", 80)
        h.edge(li, "property", "child", span)
        h.edge(span, "property", "parent", li)
        last = li
    before = fiber
h.edge(top, "property", "committed", before)
got, missing = lengths(h)
check("trees in a list: the list is found", (True, set()), ("list of 200 Fiber (alternate)" in got, missing))

# Lists that start within lists: small graphs of one class.
codes = set()
for seed in range(24, 64):
    r, h = random.Random(seed), Heap()
    nodes = [h.node(r.choice(["object", "object", "native"]), "Fiber" if r.random() < .9 else "Data", 80) for _ in range(r.randint(6, 40))]
    h.variable("root", nodes[0])
    fields = ["child", "sibling", "alternate"][:r.randint(1, 3)]
    for i in range(1, len(nodes)):
        h.edge(nodes[max(0, i - r.randint(1, r.choice([1, 2, 6])))], r.choice(["property", "element"]), r.choice(fields), nodes[i])
    for _ in range(r.randint(0, len(nodes))):
        h.edge(r.choice(nodes), "property", r.choice(fields), r.choice(nodes))
    codes.add(subprocess.run([tool, "suspects", h.write("small.heapsnapshot")], capture_output=True).returncode)
check("lists that start within lists", {0}, codes)

# Nodes of a page reference each other by numbered internal references of V8: this is a tree, not a list.
for names in (["<li>"] * 9, ["<dt>", "<dd>"] * 10):
    h = Heap()
    rows = h.variable("rows", h.array())
    for i in range(60):
        row = h.node("native", "<ul>", 100)
        h.edge(rows, "element", i, row)
        items = [h.node("native", name, 100) for name in names]
        for k, x in enumerate(items):
            h.edge(x, "element", 3, row)
            h.edge(x, "element", 4, items[max(k - 1, 0)])
            h.edge(x, "element", 5 + (k > 0), items[min(k + 1, len(items) - 1)])
        h.edge(row, "element", 3, items[0])
        h.edge(row, "element", 4, items[-1 if len(names) < 10 else 0])
    check("child nodes %s are a tree" % names[-1], ({"tree of " + names[0]}, set()), lengths(h))
    tree = run("path", "--class", names[0], "both0.heapsnapshot")
    check("... path --class, too", (True, False), ("tree of <" in tree, "list of" in tree))

# Arrays with several elements of the class form a tree, whatever one of its branches looks like. The levels of a skip
# list do not.
def arrays(make):
    """A graph whose node i has, in a field, an array of the nodes make(i)."""
    h = Heap()
    nodes = [h.node("object", "ViewNode", 200) for _ in range(400)]
    h.edge(h.variable("views", h.node("object", "View", 32)), "property", "first", nodes[0])
    for i, x in enumerate(nodes):
        array = h.array()
        h.edge(x, "property", "kids", array)
        for k, to in enumerate(make(i)):
            if to is not None:
                h.edge(array, "element", k, nodes[to])
        h.edge(x, "property", "text", h.node("string", "text %d" % i, 900))
    return h


rank = lambda i: (i & -i).bit_length() if i else 8
levels = lambda i: [next((j for j in range(i + 1, 400) if rank(j) > k), None) for k in range(min(rank(i), 8))]
for what, make, want in [("a tree of arrays", lambda i: [j for j in range(3 * i + 1, 3 * i + 4) if j < 400], "tree of ViewNode"),
                         ("a graph of arrays", lambda i: [(7 * i + 13 * k + 1) % 400 for k in range(8)], "tree of ViewNode"),
                         ("a list by alternating indices", lambda i: [None] * (i % 3) + [i + 1] * (i < 399), "list of 400 ViewNode (kids › [])"),
                         ("a tree whose children are one or two", lambda i: [j for j in ((i + 1, i + 2) if i % 5 == 1 else (i + 1,)) if j < 400], "list of"),
                         ("a skip list", lambda i: [j for j in levels(i) if j], "list of 400 ViewNode (kids › [])")]:
    h = arrays(make)
    got, missing = lengths(h)
    if want != "list of":
        check(what, ({want}, set()), (got, missing))
    last = answer("objects", "--class", "ViewNode", "--top", "400", "both0.heapsnapshot")["files"][0]["objects"][-1]["id"]
    if "tree" in want:
        check("... in paths", [0, 0, 0], [screen(150, "path", *of, "both0.heapsnapshot").count("list of") for of in
              (["--class", "ViewNode"], ["--class", "(string)"], ["--id", str(last)])])
        check("... in a pipe", 0, run("path", "--class", "ViewNode", "both0.heapsnapshot").count("list of"))

# A binary tree by an object of fields.
h = Heap()
ts = [h.node("object", "T", 200) for _ in range(31)]
h.edge(h.variable("top", h.node("object", "Top", 32)), "property", "root", ts[0])
for i, x in enumerate(ts):
    kids = h.node("object", "Object", 24)
    h.edge(x, "property", "children", kids)
    for name, k in (("a", 2 * i + 1), ("b", 2 * i + 2)):
        if k < len(ts):
            h.edge(kids, "property", name, ts[k])
text = run("path", "--class", "T", h.write("trie.heapsnapshot"))
check("a binary tree by an object of fields", {"root: tree of T"}, set(re.findall(r"root: (?:list|tree) of [^›\n]*T", text)))

# Trees by named fields are one step, and no list. A list may reference other lists and single objects of its class.
def named(count, fields_of, size=200):
    h = Heap()
    nodes = [h.node("object", "Node", size) for _ in range(count)]
    h.edge(h.variable("top", h.node("object", "Top", 32)), "property", "root", nodes[0])
    for i, x in enumerate(nodes):
        for field, to in fields_of(i, h):
            if isinstance(to, str) or 0 <= to < count:
                h.edge(x, "property", field, h.node("object", "Node", 40) if isinstance(to, str) else nodes[to])
    return h


def sibling(i, _):
    """Node i holds its first child and its next sibling."""
    return [("child", 3 * i + 1)] + ([("sibling", i + 1)] if i % 3 and i else []) + [("parent", (i - 1) // 3)]


for what, heap, want in [("a binary tree", named(127, lambda i, h: [("left", 2 * i + 1), ("right", 2 * i + 2)]), "root: tree of Node"),
                         ("... with references to the parents", named(127, lambda i, h: [("parent", (i - 1) // 2), ("right", 2 * i + 2), ("left", 2 * i + 1)]), "root: tree of Node"),
                         ("children and siblings", named(121, sibling), "root: tree of Node"),
                         ("a list whose elements hold data of the same class", named(60, lambda i, h: [("next", i + 1), ("data", "")]), "root: list of 60 Node (next)"),
                         ("a list whose elements reference the first", named(60, lambda i, h: [("next", i + 1), ("first", 0)]), "root: list of 60 Node (next)"),
                         ("a list both ways", named(60, lambda i, h: [("next", i + 1), ("prev", i - 1)]), "root: list of 60 Node (next)")]:
    file = heap.write("named.heapsnapshot")
    for text in run("path", "--class", "Node", file), screen(150, "path", "--class", "Node", file):
        check("%s by names" % what, {want}, set(re.findall(r"(?:\w+: )?(?:list|tree) of [^›\n]*?Node(?: \(\w+\))?", text)))

# Among many lists on one line, one may be a tree.
h = Heap()
queues = h.array()
h.edge(h.variable("top", h.node("object", "Top", 32)), "property", "queues", queues)
heads = [h.node("object", "Queue", 32) for _ in range(20)]
h.elements(queues, heads)
for q, queue in enumerate(heads):
    jobs = [h.node("object", "Job", 100) for _ in range(40)]
    h.edge(queue, "property", "head", jobs[0])
    for k, job in enumerate(jobs):
        if k < 39:
            h.edge(job, "property", "next", jobs[k + 1])
        if q == 7 and k % 2:
            retry = [h.node("object", "Job", 100) for _ in range(2)]
            h.edge(job, "property", "retry", retry[0])
            h.edge(retry[0], "property", "next", retry[1])
text = run("path", "--class", "Job", h.write("queues.heapsnapshot"))
check("one tree among twenty lists", {"head: list of 40 Job (next)"}, set(re.findall(r"head: (?:list|tree) of [^›\n]*", text)))

# Runs with other objects between their elements: four times as many take about four times as many instructions.
def runs(count):
    h, r = Heap(), random.Random(1)
    at, by = h.variable("top", h.node("object", "Top", 32)), "start"
    for _ in range(count):
        for kind in ["Node"] * r.choice([3, 4, 5]) + ["Sep%d" % r.randrange(50)]:
            at, before = h.node("object", kind, 50), at
            h.edge(before, "property", by if kind == "Node" else "sep", at)
            by = "next" if kind == "Node" else "go"
    return instructions("suspects", h.write("runs.heapsnapshot"))


# On a narrow terminal "tree of" is kept, as "list of 9" is.
h = Heap()
nodes = [h.node("object", "LongNameOfAnElement", 200) for _ in range(31)]
h.edge(h.variable("top", h.node("object", "AnotherLongNameOfAHolder", 32)), "property", "aLongNameOfARootOfATree", nodes[0])
for i, x in enumerate(nodes):
    for field, k in ("left", 2 * i + 1), ("right", 2 * i + 2):
        if k < 31:
            h.edge(x, "property", field, nodes[k])
text = screen(60, "path", "--class", "LongNameOfAnElement", h.write("narrow.heapsnapshot"))
check("a tree on 60 columns", 1, text.count(": tree of"))

# A list and a tree of one class with one name: each is named correctly, in either order.
for order in (0, 1), (1, 0):
    h = Heap()
    top = h.variable("top", h.node("object", "Top", 32))
    for tree in order:
        nodes = [h.node("object", "Node", 200) for _ in range(40)]
        h.edge(top, "property", ("list", "tree")[tree], nodes[0])
        for i, x in enumerate(nodes):
            array = h.array()
            h.edge(x, "property", "kids", array)
            for k, to in enumerate(range(3 * i + 1, 3 * i + 4) if tree else [i + 1]):
                if to < 40:
                    h.edge(array, "element", k, nodes[to])
    text = run("path", "--class", "Node", h.write("both.heapsnapshot"))
    check("a list next to a tree", ["list: list of 40 Node (kids › [])", "tree: tree of Node"],
          sorted(re.findall(r"(list: list of \d+ Node \(.*?\)|list: tree of Node|tree: list of \d+ Node|tree: tree of Node)", text)))

# Lists and trees through Dart arrays: their references have no names.
for width in 1, 3:
    d = Dart()
    nodes = [d.node("Node", 100) for _ in range(121 if width > 1 else 40)]
    d.edge(d.edge(d.root, d.node("Top", 16)), nodes[0])
    for i, x in enumerate(nodes):
        array = d.edge(x, d.node("_List", 32))
        for k in range(width * i + 1, width * i + 1 + width):
            if k < len(nodes):
                d.edge(array, nodes[k])
    got, missing = lengths(d, end="dartheap")
    check("arrays of %d in Dart" % width, ({"tree of Node"} if width > 1 else {"list of 40 Node"}, set()), (got, missing))
    text = run("path", "--class", "Node", "both0.dartheap")
    check("... path --class, too", [("tree of Node" if width > 1 else "list of 40 Node")], re.findall(r"(?:list|tree) of [^›\n]+", text))
    check("... no empty names", 0, run("path", "--class", "Node", "both0.dartheap").count("( "))

# Elements that reference one object which holds all of them: four times as many take about four times as many
# instructions.
def hub(count):
    d = Dart()
    shared = d.node("_List", 8 * count)
    nodes = [d.node("Sub", 100) for _ in range(count)]
    d.edge(d.edge(d.root, d.node("Top", 16)), nodes[0])
    for i, x in enumerate(nodes):
        for to in (shared, nodes[i + 1]) if i < 3 else (shared,):
            d.edge(x, to)
        d.edge(shared, x)
    return instructions("suspects", d.write("hub.dartheap"))


if shutil.which("valgrind"):
    for what, make, count in ("elements with one holder", hub, 3000), ("runs in a long path", runs, 1000):
        none, few, many = make(4), make(count), make(4 * count)
        check("%s: work is linear" % what, True, many - none < 6 * (few - none))
else:
    print("SKIP elements with one holder: valgrind cannot be installed here")

# Below and new ---------------------------------------------------------------------------------------------------------


def queue(dropped, n):
    """Pages of a queue: the old one at its head holds the new ones."""
    h = Heap()
    at, by = h.variable("queue", h.node("object", "Queue", 64)), "first"
    for i in range(dropped, n):
        page = h.node("object", "Page", 100, 1001 + 2 * i)
        h.edge(at, "property", by, page)
        h.edge(page, "property", "data", h.node("object", "Data", 5000, 5001 + 2 * i))
        at, by = page, "next"
    return h


files = [queue(i, 20 * (i + 1)).write("queue%d.heapsnapshot" % i) for i in range(3)]
first = answer("suspects", *files)["graphs"][0]["suspects"][0]
check("new objects below an old element count", {("Page", 40), ("Data", 40)}, {(b["class"], b["objects"]) for b in first["below"]})
h = Heap()
jobs = h.variable("jobs", h.array())
for i in range(50):
    h.edge(jobs, "element", i, h.closure("onData" if i < 45 else "other%d" % i, h.context(400)))
files = h.write("names.heapsnapshot")
below = answer("suspects", files)["graphs"][0]["suspects"][0]["below"]
check("a name that most objects share has their number", [(50, "onData", 45)], [(b["objects"], b["name"], b["named"]) for b in below if b["class"] == "(closure)"])
check("... in text", True, '45 of 50 (closure) "onData"' in run("suspects", files))

# Many objects ---------------------------------------------------------------------------------------------------------


def long_list(path, period):
    """A list of objects of `period` alternating classes, written without a Heap, which is slower."""
    n = objects + 3
    strings = ["", "global", "head"] + ["Part%d" % k for k in range(period)] + ["to%d" % k for k in range(period)]
    nodes = ["9,0,1,0,1,0", "3,1,3,32,1,0"]
    edges = ["5,2,6", "2,2,12"]
    for k in range(objects):
        last = k + 1 == objects
        nodes.append("3,%d,%d,24,%d,0" % (3 + k % period, 5 + 2 * k, not last))
        if not last:
            edges.append("2,%d,%d" % (3 + period + k % period, 6 * (k + 3)))
    whole = json.load(open(Heap().write(path)))
    meta = json.dumps(whole["snapshot"]["meta"])
    with open(path, "w") as f:
        f.write('{"snapshot":{"meta":%s,"node_count":%d,"edge_count":%d},"nodes":[%s],"edges":[%s],"strings":%s}' %
                (meta, n - 1, len(edges), ",".join(nodes), ",".join(edges), json.dumps(strings)))


def seconds(*arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = run(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, text


for period in (1, 7):
    long_list("long.heapsnapshot", period)
    took, text = seconds("suspects", "long.heapsnapshot")
    check("%d objects, %d classes: a list" % (objects, period), True, "list of %d Part0" % -(-objects // period) in text)
    check("... no long line", True, max(map(len, text.splitlines())) < 200)
    print("suspects takes %.2f s, path --class %.2f s" % (took, seconds("path", "--class", "Part0", "long.heapsnapshot")[0]))

# Lost references ------------------------------------------------------------------------------------------------------

h = Heap()
for k in range(20):
    h.edge(h.variable("store%d" % k, h.node("object", "Store", 32)), "property", "item", h.node("object", "Item", 100))
whole = json.load(open(h.write("whole.heapsnapshot")))
check("a complete snapshot: the path is known", True, "unknown" not in run("path", "--class", "Item", "whole.heapsnapshot"))
whole["edges"] = whole["edges"][:9]
json.dump(whole, open("lost.heapsnapshot", "w"))
text = run("path", "--class", "Item", "lost.heapsnapshot")
check("lost references: no root is invented", (True, False), ("unknown root: Item" in text, "internal root" in text))
item = answer("objects", "--class", "Item", "lost.heapsnapshot")["files"][0]["objects"][0]["id"]
check("... nor by path --id", "root: unknown: the file has lost references", run("path", "--id", str(item), "lost.heapsnapshot").splitlines()[0])
check("... in JSON", "unknown", answer("path", "--id", str(item), "lost.heapsnapshot")["files"][0]["paths"][0]["root"])

end()
