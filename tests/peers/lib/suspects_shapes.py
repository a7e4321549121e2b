"""Graphs of known shape: lists, trees and others. suspects, path --id and path --class call each what it is, and give
one length. suspects_shapes.py TOOL [NODES of the largest trees]"""
import random, re, sys
from asked import answer, check, end, run, screen
from dart_snapshot import Dart
from v8_snapshot import Heap

LARGEST = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
WORDS = r"((?:list of \d+|tree of) (?:%s)\b)"


class Shape:
    """A graph of named references: V8, or Dart, which has no names. node(class), link(holder, name, to)."""

    def __init__(self, dart=False):
        self.heap, self.dart = Dart() if dart else Heap(), dart
        self.top = self.node("Top", 32)
        if dart:
            self.heap.edge(self.heap.root, self.top)
        else:
            self.heap.variable("top", self.top)

    def node(self, name, size=100):
        return self.heap.node(name, size) if self.dart else self.heap.node("native" if name[0] == "<" else "object", name, size)

    def link(self, holder, name, to):
        if to is None:
            return
        if self.dart:
            self.heap.edge(holder, to)
        elif isinstance(name, int):
            self.heap.edge(holder, "element", name, to)
        else:
            self.heap.edge(holder, "property", name, to)

    def array(self, values):
        """An array as V8 has it, or a _List."""
        if not self.dart:
            return self.heap.elements(self.heap.array(), values)
        a = self.heap.node("_List", 16 + 8 * len(values))
        for v in values:
            self.heap.edge(a, v)
        return a

    def nodes(self, n, name="Node", size=100):
        return [self.node(name, size) for _ in range(n)]

    def chain(self, all, *fields):
        """Rows by fields: each next one, or the one `by` places on."""
        for field, by in fields:
            for i, x in enumerate(all):
                if 0 <= i + by < len(all):
                    self.link(x, field, all[i + by])
        return all

    def values(self, all, make, name="value"):
        for i, x in enumerate(all):
            self.link(x, name, make(i))

    def id(self, object):
        return str(object + 1 if self.dart else self.heap.nodes[object][3])


def data(s, size=400):
    return lambda i: s.node("Data", size)


def row(n, *fields, dart=False, value=None):
    """Objects in a row; each with data."""
    s = Shape(dart)
    all = s.chain(s.nodes(n), *fields)
    s.link(s.top, "head", all[0])
    s.values(all, value(s) if value else data(s))
    return s, all


def ring(n, dart=False):
    s = Shape(dart)
    all = s.nodes(n)
    for i, x in enumerate(all):
        s.link(x, "next", all[(i + 1) % n]), s.link(x, "prev", all[i - 1])
    s.link(s.top, "head", all[0])
    s.values(all, data(s))
    return s, all


def skips(n, first, every=1, by=10, dart=False):
    """A second reference forward, before `next` or behind it."""
    s = Shape(dart)
    all = s.nodes(n)
    for i, x in enumerate(all):
        both = [("next", i + 1)] + [("skip", i + by)] * (i % every == 0)
        for field, to in both[::-1] if first else both:
            s.link(x, field, all[to] if to < n else None)
    s.link(s.top, "head", all[0])
    s.values(all, data(s))
    return s, all


def tailed(n, dart):
    """Each element knows the last one."""
    s = Shape(dart)
    all = s.nodes(n)
    for i, x in enumerate(all):
        s.link(x, "next", all[i + 1] if i + 1 < n else None)
        s.link(x, "tail", all[-1])
    s.link(s.top, "head", all[0])
    return s, all[:n - 1]


def plain(n, depth=1, names=("value",)):
    """A queue of plain objects; values are plain objects, too, some with more of them."""
    s = Shape()
    all = s.chain(s.nodes(n, "Object"), ("next", 1))
    s.link(s.top, "head", all[0])

    def value(left):
        o = s.node("Object", 60)
        if left > 1:
            s.link(o, "options", value(left - 1)), s.link(o, "user", value(left - 1))
        return o
    for i, x in enumerate(all):
        for name in names:
            s.link(x, name, value(1 + i % depth))
    return s, all


def lists(n, inner, same):
    """A list of lists: each element has the first of another list, of its own class or another one."""
    s = Shape()
    all = s.chain(s.nodes(n), ("next", 1))
    s.link(s.top, "head", all[0])
    last = []
    for x in all:
        below = s.chain(s.nodes(inner, "Node" if same else "Item"), ("next", 1))
        s.link(x, "items", below[0])
        s.values(below, data(s))
        last = below
    return s, all, last


def square(n):
    """Rows and columns of one class."""
    s = Shape()
    cells = [s.nodes(n) for _ in range(n)]
    for r in range(n):
        s.chain(cells[r], ("right", 1))
    s.chain([line[0] for line in cells], ("down", 1))
    s.link(s.top, "head", cells[0][0])
    return s, [line[0] for line in cells], cells[-1]


def random_parents(n, seed, r):
    """The parent of each node of a random search tree, and its side."""
    left, right, parents = {}, {}, [None]
    keys = list(range(n))
    r.shuffle(keys)
    for k in range(1, n):
        at = 0
        while True:
            side = left if keys[k] < keys[at] else right
            if at not in side:
                side[at] = k
                parents.append((at, "left" if side is left else "right"))
                break
            at = side[at]
    return parents


def binary(n, seed, box=None, parent=False, dart=False, complete=False, name="T"):
    """A binary tree, its nodes held by fields or through boxes."""
    s, r = Shape(dart), random.Random(seed)
    all = s.nodes(n, name)
    parents = [None] + [((i - 1) // 2, ("left", "right")[i % 2 == 0]) for i in range(1, n)] if complete else random_parents(n, seed, r)
    kids = {}
    for i, p in enumerate(parents):
        if p:
            kids.setdefault(p[0], []).append((p[1], all[i]))
            if parent:
                s.link(all[i], "parent", all[p[0]])
    for i, x in enumerate(all):
        of = sorted(kids.get(i, []))
        if box == "array" and of:
            s.link(x, "kids", s.array([k for _, k in of]))
        elif box == "object" and of:
            b = s.node("Kids", 24)
            s.link(x, "kids", b)
            for field, k in of:
                s.link(b, field, k)
        elif box == "each":
            for field, k in of:
                b = s.node("Ref", 16)
                s.link(x, field, b), s.link(b, "to", k)
        else:
            for field, k in of:
                s.link(x, field, k)
    s.link(s.top, "root", all[0])
    s.values(all, lambda i: s.node("Data", 40))
    depth = [0]
    for p in parents[1:]:
        depth.append(depth[p[0]] + 1)
    return s, all, depth


def hash_map(n, buckets):
    """A linked hash map: a table of buckets, and entries in the order in which they came."""
    s = Shape()
    all = s.nodes(n, "Entry")
    chains = {}
    for i, x in enumerate(all):
        chains.setdefault(i * 7 % buckets, []).append(x)
    for c in chains.values():
        s.chain(c, ("hashNext", 1))
    s.chain(all, ("after", 1), ("before", -1))
    s.link(s.top, "table", s.array([c[0] for c in chains.values()]))
    s.link(s.top, "head", all[0]), s.link(s.top, "tail", all[-1])
    s.values(all, data(s))
    return s, all


def table(n, every):
    """A table that leads to some elements of a list."""
    s = Shape()
    all = s.chain(s.nodes(n), ("next", 1))
    s.link(s.top, "head", all[0])
    s.link(s.top, "table", s.array(all[::every]))
    s.values(all, data(s))
    return s, all


def chunks(n, of):
    """A deque: each chunk has an array of items, and the next chunk."""
    s = Shape()
    all = s.chain(s.nodes(n, "Chunk"), ("next", 1), ("prev", -1))
    s.link(s.top, "first", all[0])
    for x in all:
        s.link(x, "items", s.array(s.nodes(of, "Item")))
    return s, all


def nested_arrays(n):
    """Arrays in arrays: an array of many small trees of arrays."""
    s = Shape()
    all = [s.array([s.array([s.array(s.nodes(2, "Leaf")) for _ in range(2)]) for _ in range(2)]) for _ in range(n)]
    a = s.array(all)
    s.link(s.top, "forest", a)
    return s, all


def words(text, name):
    return sorted(set(re.findall(WORDS % name, text)))


number = 0


def ask(what, s, name, want, deep, path=None, own=True):
    """The words of suspects, and of paths to these objects. own: suspects has them."""
    global number
    number += 1
    file = s.heap.write("shape%d.%s" % (number, "dartheap" if s.dart else "heapsnapshot"))
    of = answer("suspects", file)["graphs"][0]
    steps = [t for x in of["suspects"] + of["classes"] for t in x["path"] + x.get("holder_path", []) + x.get("within", [])]
    got = words("\n".join(steps) + run("suspects", file), name)
    if own:
        check(what + ": suspects", want, got)
    else:
        check(what + ": suspects says nothing else", [], [g for g in got if g not in want])
    for o in deep:
        got = words("\n".join(answer("path", "--id", s.id(o), file)["files"][0]["paths"][0]["steps"]) + screen(200, "path", "--id", s.id(o), file), name)
        check(what + ": path --id", path if path is not None else want, got)
    return file


def by_class(what, file, name, want):
    for text in run("path", "--class", name, file), screen(200, "path", "--class", name, file):
        check(what + ": path --class", want, words(text, name))


def list_shape(what, made, name="Node", n=None, deep=None, own=True):
    s, all = made[:2]
    n = n or len(all)
    want = ["list of %d %s" % (n, name)]
    file = ask(what, s, name, want, [all[d] for d in deep or (-1,)], own=own)
    by_class(what, file, name, want)


for n in 7, 200:
    for dart in (False, True):
        of = " of %d%s" % (n, " without names" * dart)
        list_shape("a list" + of, row(n, ("next", 1), dart=dart))
        list_shape("a list both ways" + of, row(n, ("next", 1), ("prev", -1), dart=dart))
        list_shape("a list both ways, prev first" + of, row(n, ("prev", -1), ("next", 1), dart=dart))
        list_shape("a ring" + of, ring(n, dart), deep=(n // 2,))
        list_shape("elements that know the last one" + of, tailed(n, dart), n=n)
for n in 100, 400:
    for first in True, False:
        for every, by in ((1, 10), (10, 10), (1, 2), (4, 4)):
            list_shape("a skip list of %d, skip %s next, every %d by %d" % (n, "before" if first else "after", every, by), skips(n, first, every, by), deep=(-1, n // 2 + 3), own=by > 2)
list_shape("a skip list without names", skips(300, True, dart=True))
list_shape("a queue of plain objects", plain(100), "Object")
list_shape("a queue of 5 plain objects", plain(5), "Object")
list_shape("... whose values have more", plain(100, 2), "Object")
list_shape("... with two values", plain(100, 2, ("message", "sender")), "Object")
s, all, last = lists(40, 30, False)
list_shape("a list of lists", (s, all))
s, all, last = lists(40, 30, True)
file = ask("a list of lists of one class", s, "Node", ["list of 30 Node", "list of 40 Node"], [last[-1]], own=False)
s, all, last = square(40)
ask("a square of lists", s, "Node", ["list of 39 Node", "list of 40 Node"], [all[-1]], path=["list of 40 Node"], own=False)
for name in "Task", "Object":
    for n, more in (20, 0), (200, 0), (200, 1):
        s, all = Shape(), None
        all = s.chain(s.nodes(n, name), ("next", 1))
        holder = s.node(name)
        s.link(s.top, "current", holder), s.link(holder, "queue", all[0])
        if more:
            s.values(all, lambda i: s.node(name, 40))
        list_shape("a list of %d, held by an object of its class, %s%s" % (n, name, ", with values of its class" * more), (s, all), name)
list_shape("chunks of a deque", chunks(50, 30), "Chunk")
s, all = nested_arrays(60)
ask("arrays of small trees of arrays", s, "Array", ["tree of Array"], [], own=False)
for n, buckets in (200, 64), (200, 16):
    s, all = hash_map(n, buckets)
    ask("a linked hash map of %d in %d" % (n, buckets), s, "Entry", ["list of %d Entry" % n], [all[n // 2]], own=False, path=[] if buckets > 16 else None)
for every in 10, 50:
    s, all = table(200, every)
    want = ["list of %d Node" % (200 - every), "list of 200 Node"]  # one path begins with the first element, others do not
    by_class("a table to every %dth element" % every, ask("a table to every %dth element" % every, s, "Node", want, [all[every - 1]], want[1:], False), "Node", want)

for n in 7, 15, 31, 1000, LARGEST:
    for complete in (True, False):
        for box in (None, "array", "object", "each") if n <= 1000 else (None, "array"):
            for dart in (False, True) if box in (None, "array") and n <= 1000 else (False,):
                seeds = range(1 if complete or n > 1000 else 4)
                for seed in seeds:
                    s, all, depth = binary(n, seed, box, dart=dart, complete=complete)
                    at = sorted(range(n), key=lambda i: -depth[i])
                    left = all[2 ** (max(depth)) - 1] if complete else all[at[0]]
                    what = "a %s tree of %d%s%s%s" % ("complete" if complete else "random", n, " through " + box if box else "", " without names" * dart, ", seed %d" % seed * (len(seeds) > 1))
                    file = ask(what, s, "T", ["tree of T"], [all[at[0]], left], own=False)
                    check(what + ": path --class has no list", [], [w for w in words(run("path", "--class", "T", file), "T") if w[0] == "l"])
s, all, depth = binary(500, 3, parent=True)
ask("a random tree with parents", s, "T", ["tree of T"], [all[max(range(500), key=lambda i: depth[i])]], own=False)
s, all, depth = binary(2000, 3, name="Object")
ask("a random tree of plain objects", s, "Object", ["tree of Object"], [all[max(range(500), key=lambda i: depth[i])]], own=False)
end()
