"""heapdump suspects on three V8 snapshots whose growth is spread over many old objects. suspects_spread.py TOOL"""
import random
from asked import answer, check, end, run
from v8_snapshot import Heap


class Program(Heap):
    """Objects with stable ids: chosen by a key, from 1001 on."""

    known = {}

    def id(self, *key):
        return self.known.setdefault(key, 1001 + 4 * len(self.known))

    def make(self, name, size, *key):
        return self.node("object", name, size, self.id(name, *key))

    def table(self, values, name, *key):
        """A Map or an Array of these values."""
        if name == "Array":
            return self.elements(self.array(id=self.id(name, *key)), values, self.id("elements", *key))
        pairs = [(v, v) for v in values]
        return self.map(pairs, table_size=200, id=self.id(name, *key), table_id=self.id("table", *key))


def files(make):
    return [make(t).write("s%d.heapsnapshot" % t) for t in range(3)]


def suspects(make):
    return answer("suspects", *files(make))["graphs"][0]["suspects"]


def rows(make):
    return [(" › ".join(s["path"]), s["growth"], s.get("spread_over", 0) > 6) for s in suspects(make)]


def letters(h, words, of, at="", node="Letter"):
    """A prefix tree: a Map in each node."""
    below = {}
    for w in words:
        below.setdefault(w[len(at)], []).append(w) if len(w) > len(at) else None
    x = h.make(node, 50, of, at)
    if below:
        each = [letters(h, ws, of, at + c, node) for c, ws in sorted(below.items())]
        h.edge(x, "property", "next", h.table(each, "Map", of, at))
    return x


def retained_by(first, later):
    nodes = lambda ws: {w[:i] for w in ws for i in range(len(w) + 1)}
    inner = lambda ws: {w[:i] for w in ws for i in range(len(w))}
    return 50 * (len(nodes(later)) - len(nodes(first))) + 232 * (len(inner(later)) - len(inner(first)))


ALL = sorted({"".join(random.Random(7 * i + k).choice("abcdefgh") for k in range(6)) for i in range(300)})
random.Random(3).shuffle(ALL)


def upto(t):
    return ALL[:100 + 60 * t]


def tree_of_maps(t):
    h = Program()
    h.edge(h.variable("suggest", h.make("SuggestIndex", 32)), "property", "top", letters(h, upto(t), "a"))
    h.variable("rest", h.make("Rest", 3000))
    return h


grown = retained_by(upto(0), upto(2))
check("a prefix tree of Maps", [("global › suggest: SuggestIndex", grown, True)], rows(tree_of_maps))
check("... in text", 1, run("suspects", "--bytes", *files(tree_of_maps)).count("; the growth is spread over "))


def binary(t, at=1, h=None):
    """A search tree, held by a variable: new nodes are below the old leaves."""
    top, h = h is None, h or Program()
    x = h.make("TreeNode", 40, at)
    for k, side in enumerate(("left", "right")):
        if 2 * at + k < 64 << t:
            h.edge(x, "property", side, binary(t, 2 * at + k, h))
    return h if top and h.variable("root", x) is not None else x


check("a binary tree", [("global › root: TreeNode", 192 * 40, True)], rows(binary))


def nested(kind, inner):
    """A table of tables, each of which gets two objects per step."""
    def make(t):
        h = Program()
        each = [h.table([h.make("Entry", 100, k, i) for i in range(4 + 2 * t)], inner, k) for k in range(20)]
        h.variable("byUser", h.table(each, kind, "outer"))
        h.variable("rest", h.make("Rest", 3000))
        return h
    return make


for kind in ("Map", "Array"):
    for inner in ("Map", "Array"):
        grown = 20 * 4 * (100 + (8 if inner == "Array" else 0))
        check("%ss in a %s" % (inner, kind), [("global › byUser: " + kind, grown, True)], rows(nested(kind, inner)))


def lists(t):
    """A dictionary has the growth of its linked lists."""
    h = Program()
    queues = h.variable("queues", h.make("Object", 40))
    for k in range(12):
        at = queues
        for i in range(5 + 3 * t):
            x = h.make("Job", 100, k, i)
            h.edge(at, "property", "next" if i else "q%d" % k, x)
            at = x
    return h


check("a dictionary of lists", [("global › queues: Object", 12 * 6 * 100, False)], rows(lists))


def both(t):
    """One Map explains most of the growth, next to a tree."""
    h = binary(t)
    h.variable("cache", h.table([h.make("Page", 200, i) for i in range(80 * (t + 1))], "Map", "cache"))
    return h


check("growth that one object explains comes first",
      [("global › cache: Map", 32000, False), ("global › root: TreeNode", 192 * 40, True)], rows(both))


def services(t):
    """A few growing fields of an object are unrelated."""
    h = Program()
    app = h.variable("app", h.make("App", 40))
    for k in range(5):
        each = [h.make("Item", 100 + k, k, i) for i in range(10 * (t + 1))]
        h.edge(app, "property", "s%d" % k, h.table(each, "Map", k))
    return h


check("fields that grow",
      [("global › app: App › s%d: Map" % k, 20 * (100 + k), False) for k in (4, 3, 2, 1, 0)], rows(services))


def turns(t):
    """Some arrays get the elements that others lose."""
    h = Program()
    each = [h.table([h.make("Entry", 100, k, i) for i in range(10 + (t if k % 2 else -t))], "Array", k)
            for k in range(40)]
    h.variable("pool", h.table(each, "Map", "pool"))
    return h


check("a pool that does not grow in total", [], [r for r in rows(turns) if r[2]])


def branch(t):
    """A tree through Maps with one heavier branch, which is no list: its Maps have the new objects in them."""
    h = Program()
    def grow(at, deep):
        x = h.make("Letter", 50, at)
        if deep:
            each = [grow(at + c, deep - 1 if c == "a" else deep - 2 if deep > 1 else 0) for c in "abcd"]
            more = [h.make("New", 100, at, i) for i in range(5 * t)] if at == "aaa" else []
            h.edge(x, "property", "next", h.table(each + more, "Map", at))
        return x
    h.edge(h.variable("index", h.make("Index", 32)), "property", "top", grow("", 6))
    return h


deep = suspects(branch)
check("a branch of a tree is not a list", [(Program.known["Map", "aaa"], 1000)],
      [(int(s["id"]), s["growth"]) for s in deep])
end()
