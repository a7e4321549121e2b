"""Lists of objects of several classes in turn, and lost references. suspects_lists.py TOOL [OBJECTS]"""
import json, os, resource, subprocess, sys
import on_terminal
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
