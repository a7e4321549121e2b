"""heapdump suspects by class: the place where a class grew, the holder of most of its objects, one length for each
list, the order of classes, and plurals. suspects_by_class.py TOOL ROOT"""
import random, re, sys
from asked import answer, check, end, run, screen
from dart_snapshot import Dart
from v8_snapshot import Heap

root = sys.argv[2]


def files(*heaps):
    return [h.write("f%d.%s" % (i, "dartheap" if isinstance(h, Dart) else "heapsnapshot")) for i, h in enumerate(heaps)]


def classes(*heaps):
    """By class: the path to its objects or to the holder of most, and how many objects of how many are there."""
    rows = answer("suspects", *files(*heaps))["graphs"][0]["classes"]
    return {c["class"]: (" › ".join(c["path"] or c.get("holder_path", [])), "holder_path" in c, c["path_objects"], c["path_of"]) for c in rows}


# If most objects of a tree share no path, the tree itself is named --------------------------------------------------

def journal(n, pads=0):
    """A tree of n readings; pads: garbage that shifts ids, so that snapshots are compared by class."""
    h = Heap()
    for _ in range(pads):
        h.node("object", "Pad", 16)
    rover = h.variable("rover", h.node("object", "Rover", 40))
    tiles = h.node("object", "Tiles", 40)
    h.edge(rover, "property", "tiles", tiles)
    for i in range(100):
        tile = h.node("object", "Tile", 40)
        h.edge(tiles, "element", i, tile)
        h.edge(tile, "property", "reading", h.node("object", "Reading", 24))
    journal = h.node("object", "Journal", 40)
    h.edge(rover, "property", "journal", journal)
    chance, waiting = random.Random(1), [(0, n, journal, "root")]
    while waiting:
        low, high, holder, name = waiting.pop()
        if low == high:
            continue
        node, middle = h.node("object", "TreeNode", 48), chance.randrange(low, high)
        h.edge(holder, "property", name, node)
        h.edge(node, "property", "reading", h.node("object", "Reading", 24))
        waiting += [(low, middle, node, "left"), (middle + 1, high, node, "right")]
    return h


top, grown = "global › rover: Rover › journal: Journal › root: TreeNode", [journal(300), journal(500, 1), journal(700, 2)]
c = classes(*grown)
check("growth of a tree: its holder", [(top, True, 400, 400)] * 2, [c["TreeNode"], c["Reading"]])
out = run("suspects", *files(*grown))
check("... in text", 2, out.count("\n      held below %s\n" % top))
c = classes(journal(700))
check("... with one snapshot", [(top, True, 700, 700), (top, True, 700, 800)], [c["TreeNode"], c["Reading"]])

# Without ids, growth is where the number of objects increased, not where most objects are ---------------------------

def tiles(t, large=0):
    d = Dart()
    old, store = (d.edge(d.root, d.node(n, 40)) for n in ("RoadNet", "TileStore"))
    for i in range(900):
        d.edge(d.edge(old, d.node("Road", 32)), d.node("Name", 30))
    for i in range(100 * (t + 1)):
        d.edge(d.edge(store, d.node("Tile", 28)), d.node("Name", 30))
    d.edge(store, d.node("Bitmap", 5000 + large * t))
    d.edge(old, d.node("Bitmap", 5000))
    return d


c = classes(*(tiles(t) for t in range(3)))
check("a class grew at a place with fewer of its objects", ("internal root: Root › TileStore › Tile › Name", False, 200, 200), c["Name"])
c = classes(*(tiles(t, 4000) for t in range(3)))
check("objects whose own size grew", ("internal root: Root › TileStore › Bitmap", False, 1, 1), c["Bitmap"])
out = run("suspects", *files(*(tiles(t, 4000) for t in range(3))))
check("... are no new objects", ["  Bitmap  (package:app/app.dart): 2 objects, 17.6 KiB, retain 17.6 KiB; +7.8 KiB, steadily"],
      [x[3:] for x in out.split("\n") if "Bitmap  (" in x])

# A list has the same length everywhere on a screen ------------------------------------------------------------------

def settings(n, more=0):
    """Each new object is the head; all except the first have a patch, and the patches hold a text."""
    h = Heap()
    nodes = [h.node("object", "Settings", 100, 1001 + 4 * i) for i in range(n)]
    for i in range(1, n):
        h.edge(nodes[i], "property", "next", nodes[i - 1])
        h.edge(nodes[i], "property", "patch", h.node("object", "Patch", 100, 1003 + 4 * i))
    h.variable("active", nodes[-1])
    return h


for heaps in ([settings(301)], [settings(n) for n in (101, 201, 301)]):
    out = run("suspects", *files(*heaps))
    check("a list whose last element lacks a field, in %d snapshots" % len(heaps), ({"301"}, True),
          (set(re.findall("list of (\\d+)", out)), "list of 301 Settings (next) › patch: Patch" in out))

h = Heap()
inner = h.closure("answer", h.context(64))
for i in range(200):
    inner = h.closure("rewritten", h.context(64, inner=inner, text=h.node("string", "text %d" % i, 300)))
h.variable("handle", inner)
out = run("suspects", *files(h))
check("closures with another name are not elements", {"200"}, set(re.findall("list of (\\d+)", out)))

for leaf in ("Leaf", "Element"):
    d = Dart()
    at = d.edge(d.root, d.node("Document", 40))
    for _ in range(300):
        at = d.edge(at, d.node("Element", 40))
        for _ in range(3):
            d.edge(d.edge(at, d.node(leaf, 40)), d.node("Text", 500))
    out = run("suspects", *files(d))
    check("a suspect in the middle of a %s" % ("list" if leaf == "Leaf" else "tree, which has no number"),
          {"list of 300"} if leaf == "Leaf" else {"tree of"}, set(re.findall("(list of \\d+|list of|tree of) Element", out)))

# Maps of letters: with one entry each they form a list, with three entries each a tree.
for width in 1, 3:
    h = Heap()
    level = held = [h.variable("top", h.node("object", "Letter", 48))]
    for depth in range(4):
        level = [h.node("object", "Letter", 48) for holder in held for _ in range(width)]
        for i, holder in enumerate(held):
            m = h.map([(h.node("string", "k", 24), x) for x in level[width * i:width * (i + 1)]])
            h.edge(holder, "property", "next", m)
        held = level
    h.write("trie.heapsnapshot")
    text = run("suspects", "trie.heapsnapshot") + screen(150, "path", "--class", "Letter", "trie.heapsnapshot")
    check("Maps of %d: a list starts at the element in the variable" % width, {"list of 5"} if width == 1 else {"tree of"},
          set(re.findall("(list of \\d+|tree of) Letter", text)))
    check("... and its parts are not lists", 0, len(re.findall("(list of \\d+|tree of) Map", screen(150, "path", "--class", "Map", "trie.heapsnapshot"))))

# Classes without a telling name come after those that explain the bytes --------------------------------------------

h = Heap()
cache = h.array()
h.variable("keep", h.closure("keep", h.context(cache=cache)))
h.elements(cache, [h.node("object", "Session", 1000) for _ in range(50)])
for i in range(40):
    h.edge(h.globals, "property", "builtin%d" % i, h.closure("builtin%d" % i, h.context(200)))
rows = [c["class"] for c in answer("suspects", *files(h))["graphs"][0]["classes"]]
check("closures come after the objects that they keep", "Session", rows[0])
check("... but they are listed", True, "(closure)" in rows)

h = Heap()
h.variable("log", h.node("object", "Log", 90000))
check("a single object is not listed as a class", 1, run("suspects", *files(h)).count("\n  none, of those with several objects\n"))

# Singular and plural ------------------------------------------------------------------------------------------------

def one_more(t):
    h = Heap()
    a = h.variable("list", h.array(id=7))
    for i in range(t + 1):
        h.edge(a, "element", i, h.node("object", "Big", 5000, 101 + 2 * i))
    if t:
        h.variable("only", h.node("object", "Only", 5000, 99))
    return h


out = run("suspects", *files(one_more(0), one_more(1)))
check("one step", (True, 0), ("grew in 1 of 1 step; " in out, out.count("1 steps")))
check("one object", 1, out.count("Only: 1 object, 4.9 KiB, retains 4.9 KiB; +4.9 KiB, +1 object\n"))
check("two objects", 1, out.count("Big: 2 objects, 9.8 KiB, retain 9.8 KiB; +4.9 KiB, +1 object\n"))
check("one root", (1, 0), (run("info", "f0.heapsnapshot").count(" 1 root, 0 of"), run("info", "f0.heapsnapshot").count(" 1 roots")))
check("no error of 0.0%", 0, run("suspects", root + "/tests/data/heap-jemalloc.txt").count(" 0.0%"))

# Narrow terminals: the root is dropped late, and the variable nearest to the object last ----------------------------

def kept_rows(t):
    h = Heap()
    roots = h.node("synthetic", "(Strong roots)", 0, 15)
    h.edge(h.roots, "element", 1, roots)
    scope = h.context(64, 17)
    h.edge(roots, "internal", "1", scope)
    cursors = [h.node("object", "Cursor", 40, 10001 + 20 * i) for i in range(10 * (t + 1))]
    table = h.map([(x, x) for x in cursors], id=19, table_id=21)
    for i, cursor in enumerate(cursors):
        rows = h.node("object", "readRows", 80, 10003 + 20 * i)
        h.edge(cursor, "property", "rows", rows)
        h.edge(rows, "property", "page", h.buffer(9000, 10005 + 20 * i))
    h.edge(scope, "context", "openCursors", table)
    return h


names = files(*(kept_rows(t) for t in range(3)))
for columns, root_too in (80, True), (60, False):
    out = re.sub("\n {8}(?=\\S)", "  ", screen(columns, "suspects", *names))
    ways = re.findall("held by (.*)", out)
    check("%d columns: the variable stays" % columns, [], [w for w in ways if "openCursors" not in w])
    if root_too:
        check("... and so does the root", [], [w for w in ways if not w.startswith("(Strong roots)")])
names = files(*(tiles(t) for t in range(3)))
for columns in 80, 60:
    ways = re.findall("held by (.*)", screen(columns, "suspects", *names))
    check("%d columns: without a variable the root stays" % columns, [], [w for w in ways if not w.startswith("internal root: Root")])

# The nearest ancestor that is in all snapshots ----------------------------------------------------------------------

def split_list(t):
    """A list with two holders: first one leads to all of it, then an element disappears, and another holder leads to
    the rest."""
    h = Heap()
    first = h.variable("queue", h.node("object", "Queue", 32, 1001))
    other = h.variable("index", h.node("object", "Index", 32, 1003))
    def chain(holder, ids, name="head"):
        for i in ids:
            item = h.node("object", "Item", 108 if t == 2 and i == 1016 else 100, i)
            h.edge(holder, "property", name, item)
            holder, name = item, "next"
        return holder
    last = chain(first, range(1010, 1022, 2))
    chain(last if not t else other, [1100] * (not t) + list(range(1022, 1034, 2)), "next" if not t else "rest")
    return h


s = answer("suspects", *files(*(split_list(t) for t in range(3))))["graphs"][0]["suspects"]
check("a removed element belonged to the list before it", [], [(x["class"], x["growth"]) for x in s])

# A table that the engine also holds belongs to the variable that leads to it ----------------------------------------

h = Heap()
sessions, table = h.variable("sessions", h.array()), h.node("array", "(object elements)", 48)
h.edge(sessions, "internal", "elements", table)
engine = [h.node("hidden", "system / PropertyCell", 16) for _ in range(3)]
for x, y in zip([h.globals] + engine, engine + [table]):
    h.edge(x, "hidden", "3", y)
for i, size in enumerate((20000, 5000, 5000)):
    call = h.node("object", "Call", 100 + i)
    h.edge(table, "internal", str(i), call)
    h.edge(call, "property", "data", h.node("native", "system / JSArrayBufferData", size))
s = answer("suspects", *files(h))["graphs"][0]["suspects"]
check("a table that the global object dominates", ("Array", 1), (s[0]["class"], " › ".join(s[0]["path"]).count("sessions: Array")))
check("... is not the global object's", [], [x["class"] for x in s if x["class"] == "global"])
end()
