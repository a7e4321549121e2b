"""Lists of objects of several classes in turn, and lost references. suspects_lists.py TOOL [OBJECTS]"""
import json, os, random, re, resource, subprocess, sys
import on_terminal
from dart_snapshot import Dart
from v8_snapshot import Heap

tool, objects = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
failed = False


def check(name, want, got):
    global failed
    if want == got:
        print("PASS " + name)
        return
    failed = True
    print("FAIL %s: %.400r expected, %.400r found" % (name, want, got))


def run(*arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8")
    if done.returncode:
        check(" ".join(arguments), 0, (done.returncode, done.stderr))
    return done.stdout


def chain(h, holder, classes, fields, count):
    """Objects that hold each other; object k is of classes[k % n] and holds the next one by fields[k % n]."""
    at = holder
    for k in range(count):
        at, before = h.node("object", classes[k % len(classes)], 100), at
        h.edge(before, "property", fields[(k - 1) % len(fields)] if k else "head", at)
    return at


def listed(classes, fields, elements, spare=0):
    """The paths of suspects: of the first suspect, and of the first class."""
    h = Heap()
    chain(h, h.variable("jobs", h.node("object", "Queue", 32)), classes, fields, elements * len(classes) + spare)
    answer = json.loads(run("suspects", "--json", h.write("list.heapsnapshot")))["graphs"][0]
    ways = {c["class"]: c["path"] for c in answer["classes"]}
    return answer["suspects"][0], ways


# A period of any length ------------------------------------------------------------------------------------------------

for period in (1, 2, 3, 6, 7, 8, 12, 30, 64):
    names = ["Part%d" % k for k in range(period)]
    fields = ["to%d" % k for k in range(period)]
    first, ways = listed(names, fields, 40)
    text = "head: list of 40 Part0 (%s)" % " › ".join(fields)
    check("a period of %d: the list is one step" % period, ["global", "jobs: Queue", text], first["path"])
    check("... the suspect is that list", (40, "Part0"), (first["list_of"], first["class"]))
    check("... and of the first class", text, ways["Part0"][2])

# One class, several fields: the period is that of the fields.
first, _ = listed(["Object"] * 9, ["f%d" % k for k in range(9)], 30)
check("nine fields of one class", (30, 3), (first["list_of"], len(first["path"])))
# A class twice in a period.
first, _ = listed(["A", "B", "A", "C", "D", "A", "B", "E"], ["f%d" % k for k in range(8)], 30)
check("a class three times in a period", (30, 3), (first["list_of"], len(first["path"])))
# No period: names of all objects, in a pipe.
first, ways = listed(["K%d" % (k * k % 97) for k in range(200)], ["g%d" % (k * 7 % 31) for k in range(200)], 1)
check("no period: no list", [], [s for s in first["path"] if "list of" in s])
# path --class on a terminal: the list is one step, with the names that lead from an element to the next.
listed(["Part%d" % k for k in range(7)], ["to%d" % k for k in range(7)], 40)
screen = on_terminal.run([tool, "path", "--class", "Part3", "list.heapsnapshot"], 160,
                         env={**os.environ, "HEAPDUMP_PAGER": "cat", "NO_COLOR": "1"})[0].decode()
check("path --class on a terminal: one list", (1, True),
      (screen.count("list of"), "head: list of 40 Part0 (to0 › to1 › to2 › to3 › to4 › to5 › to6)" in screen))
# Two branches behind a common beginning, each with a list of its own.
h = Heap()
start = h.variable("jobs", h.node("object", "Queue", 32))
for side in ("left", "right"):
    branch = h.node("object", "Branch", 32)
    h.edge(start, "property", side, branch)
    chain(h, branch, [side.upper() + str(k) for k in range(7)], ["to%d" % k for k in range(7)], 350)
paths = [c["path"] for c in json.loads(run("suspects", "--json", h.write("two.heapsnapshot")))["graphs"][0]["classes"]]
check("two lists: each has its own path", {"left", "right"},
      {p[2].split(":")[0] for p in paths if len(p) > 3 and ("list of 50" in p[3] or "list of 49" in p[3])})

# Lists that several paths lead to --------------------------------------------------------------------------------------


def lengths(*heaps, end="heapsnapshot"):
    """Lists and trees as they are called, and the suspect's number."""
    files = [h.write("both%d.%s" % (i, end)) for i, h in enumerate(heaps)]
    answer = json.loads(run("suspects", "--json", *files))["graphs"][0]
    steps = [s for row in answer["suspects"] + answer["classes"] for s in row["path"] + row.get("holder_path", []) + row.get("within", [])]
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
        check("a two-way list%s with %s: all its elements" % (", a ring," * closed, " and ".join(ends)),
              ({"list of 501"}, set()), ({s.split(" Sub")[0] for s in got}, missing))
d = Dart()                                     # no names of fields: as in .NET CF
holder = d.edge(d.root, d.node("LinkedList", 40))
nodes = [d.node("LinkedListNode", 40) for _ in range(500)]
for i, x in enumerate(nodes):
    for to in (holder, nodes[(i + 1) % 500], nodes[i - 1], d.node("Reading", 300)):
        d.edge(x, to)
d.edge(holder, nodes[0])
check("a ring without names of fields", ({"list of 500 LinkedListNode"}, set()), lengths(d, end="dartheap"))

# A tree made anew, whose root has the one before: fields that lead on, to the side and back.
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
check("trees in a list: the list", (True, set()), ("list of 200 Fiber (alternate)" in got, missing))

# Lists that begin in lists: small graphs of one class.
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
check("lists that begin in lists", {0}, codes)

# Nodes of a page lead to each other by references that V8 numbers: no list.
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
    check("children %s of nodes are a tree" % names[-1], ({"tree of " + names[0]}, set()), lengths(h))

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
first = json.loads(run("suspects", "--json", *files))["graphs"][0]["suspects"][0]
check("new objects below an old element count", {("Page", 40), ("Data", 40)}, {(b["class"], b["objects"]) for b in first["below"]})
h = Heap()
jobs = h.variable("jobs", h.array())
for i in range(50):
    h.edge(jobs, "element", i, h.closure("onData" if i < 45 else "other%d" % i, h.context(400)))
files = h.write("names.heapsnapshot")
below = json.loads(run("suspects", "--json", files))["graphs"][0]["suspects"][0]["below"]
check("a name of most objects: how many they are", [(50, "onData", 45)], [(b["objects"], b["name"], b["named"]) for b in below if b["class"] == "(closure)"])
check("... in text", True, '45 of 50 (closure) "onData"' in run("suspects", files))

# Many objects ---------------------------------------------------------------------------------------------------------


def long_list(path, period):
    """A list of objects of `period` classes in turn, written without a Heap, which takes longer."""
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
    limit = 2.5 * objects / 1e6 + 0.5
    check("... in less than %.1f s" % limit, "less", "less" if took < limit else "%.2f s" % took)
    took, text = seconds("path", "--class", "Part0", "long.heapsnapshot")
    check("... path --class, too", "less", "less" if took < limit else "%.2f s" % took)

# Lost references ------------------------------------------------------------------------------------------------------

h = Heap()
for k in range(20):
    h.edge(h.variable("store%d" % k, h.node("object", "Store", 32)), "property", "item", h.node("object", "Item", 100))
whole = json.load(open(h.write("whole.heapsnapshot")))
check("a whole snapshot: the way is known", True, "unknown" not in run("path", "--class", "Item", "whole.heapsnapshot"))
whole["edges"] = whole["edges"][:9]
json.dump(whole, open("lost.heapsnapshot", "w"))
text = run("path", "--class", "Item", "lost.heapsnapshot")
check("lost references: no root is made up", (True, False), ("unknown root: Item" in text, "internal root" in text))
item = json.loads(run("objects", "--class", "Item", "--json", "lost.heapsnapshot"))["files"][0]["objects"][0]["id"]
check("... nor by path --id", "root: unknown: the file has lost references", run("path", "--id", str(item), "lost.heapsnapshot").splitlines()[0])
check("... in JSON", "unknown", json.loads(run("path", "--json", "--id", str(item), "lost.heapsnapshot"))["files"][0]["paths"][0]["root"])

sys.exit(failed)
