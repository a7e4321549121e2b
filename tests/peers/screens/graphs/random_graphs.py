"""Random heaps from seeds: V8, .NET CF, Dart, each at three times."""
import json, os, random, struct
import random_origins

NODE_TYPES = ["hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native", "synthetic",
              "concatenated string", "sliced string", "symbol", "bigint", "object shape"]
EDGE_TYPES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]
FIELDS = ["type", "name", "id", "self_size", "edge_count", "detachedness"]
CLASSES = ["Session", "Config", "Item", "Node", "LruList", "EventEmitter", "Promise", "Object", "größe", "a b", "Map<K>", "Call(x)"]
WORDS = ["request", "x", "a longer text of some length, which is cut in a list of strings and objects", "größe", "tab\there",
         "line\nbreak", '"quoted"', "back\\slash", "", "日本", "\u202eleft", "y" * 1100]


# V8 ----------------------------------------------------------------------------------------------

class Heap:
    """Nodes by id; edges have ids as targets."""

    def __init__(self, r, wide, other=None):
        self.r, self.nodes, self.next = r, {}, (1 << 33 if wide else 100)
        self.from_ = random_origins.Origins(other)
        self.root = self.node("synthetic", "", 0, 1)
        self.gc = self.node("synthetic", "(GC roots)", 0, 3)
        self.global_ = self.node("object", "global", 32, 5)
        self.edge(1, "element", 1, 3)
        if other and other.random() < .3:      # the engine's roots may hold the program's objects by shorter paths
            self.edge(1, "element", 2, 5)
        else:
            self.edge(1, "shortcut", "2", 5)

    def node(self, type, name, size, id=None, detached=0):
        if id is None:
            id, self.next = self.next, self.next + 2
        self.nodes[id] = [type, name, size, detached, []]
        return id

    def edge(self, a, type, name, b):
        self.nodes[a][4].append((type, name, b))

    def some(self, types=None):
        return self.r.choice([i for i, n in self.nodes.items() if i > 5 and (n[0] in types if types else n[0] != "synthetic")] or [5])

    def size(self):
        return self.r.choice((0, 16, 24, 56, self.r.randint(8, 400), self.r.randint(400, 9000)))

    # The program's own objects ---------------------------------------------------------------------

    def thing(self, depth=0):
        """An object with fields, buffers, strings, or a list of things."""
        r = self.r
        kind = r.choice(("object", "object", "object", "string", "buffer", "closure", "array", "map", "number", "cons"))
        if kind == "string":
            return self.node("string", r.choice(WORDS), r.choice((16, 24, 32, 400)))
        if kind == "number":
            return self.node("number", "heap number", 16)
        if kind == "cons":
            a = self.node("concatenated string", "(concatenated string)", 32)
            for side in "first", "second":
                self.edge(a, "internal", side, self.node("string", r.choice(WORDS), 40))
            return a
        if kind == "buffer":
            a, b = self.node("object", "Buffer", 96), self.node("object", "ArrayBuffer", 88)
            self.edge(a, "internal", "buffer", b)
            self.edge(b, "internal", "backing_store", self.node("native", "system / JSArrayBufferData", r.choice((0, 1024, 20000))))
            return a
        if kind == "closure":
            return self.closure(self.thing(depth + 1) if depth < 3 else None)
        if kind in ("array", "map") and depth < 3:
            return self.store(kind, [self.thing(depth + 1) for _ in range(r.randint(0, 5))])
        a = self.node("object", r.choice(CLASSES), self.size())
        for name in r.sample(["next", "data", "self", "parent", "0", "config", "a b"], r.randint(0, 3)):
            b = self.thing(depth + 1) if depth < 3 and r.random() < .6 else self.some()
            self.edge(a, "element" if name == "0" else r.choice(("property", "property", "internal")), 0 if name == "0" else name, b)
        return a

    def closure(self, kept):
        c, x = self.node("closure", self.r.choice(("onDone", "", "listener", "lambda")), 64), self.node("object", "system / Context", 40)
        self.edge(c, "internal", "context", x)
        if kept:
            self.edge(x, "context", self.r.choice(("thing", "cache", "original")), kept)
        return c

    def store(self, kind, things):
        a, t = self.node("object", "Map" if kind == "map" else "Array", 32), self.node("array", "", 16 + 8 * len(things))
        self.edge(a, "internal", "table" if kind == "map" else "elements", t)
        self.fill(t, things, kind)
        return a

    def fill(self, table, things, kind):
        for b in things:
            n = len(self.nodes[table][4])
            if kind == "map":
                self.edge(table, "internal", str(n), b)
            else:
                self.edge(table, "element", n, b)
            self.nodes[table][2] += 8

    def list(self, cls, n, field="next"):
        first = last = self.node("object", cls, self.r.choice((32, 100)))
        for _ in range(n - 1):
            new = self.node("object", cls, self.nodes[last][2])
            self.edge(last, "property", field, new)
            last = new
        return first, last

    def oddities(self):
        """Weak edges, WeakMap pairs, unreachable islands, shortcuts, elements of a page, the engine's objects."""
        r = self.r
        for _ in range(r.randint(0, 4)):
            self.edge(self.some(), "weak", r.choice(("cell", "map")), self.some())
        for _ in range(r.randint(0, 3)):
            self.edge(self.some(), "shortcut", "short", self.some())
        for _ in range(r.randint(0, 2)):
            t, k, v = self.node("array", "", 64), self.some({"object"}), self.thing()
            self.edge(self.some({"object"}), "internal", "table", t)
            name = f"%d / part of key ({self.nodes[k][1]} @{k}) -> value ({self.nodes[v][1]} @{v}) pair in WeakMap (table @{t})"
            self.edge(t, "internal", name % 2, v)
            self.edge(k, "internal", name % 3, v)
        for name in r.sample(["(Strong roots)", "(Global handles)", "(Stack roots)", "(Document DOM trees)"], r.randint(0, 3)):
            s = self.node("synthetic", name, 0)
            self.edge(*((1, "element", len(self.nodes[1][4]) + 1, s) if "DOM" in name else (3, "element", len(self.nodes[3][4]) + 1, s)))
            for _ in range(r.randint(0, 3)):
                self.edge(s, "element", len(self.nodes[s][4]) + 1, self.some())
        for _ in range(r.randint(0, 2)):
            a = self.thing()
            if r.random() < .5:
                self.edge(a, "property", "self", a)
        if r.random() < .4:
            d = self.node("native", "HTMLDocument", 400, None, 1)
            self.edge(5, "property", "document", d)
            held = self.store("array", [])
            self.edge(5, "property", "leakedItems", held)
            for _ in range(r.randint(1, 6)):
                gone = r.random() < .5
                li = self.node("native", r.choice(("<li>", "<li class=a b>", "<div id='x'>")), 100, None, 2 if gone else r.choice((0, 1)))
                above = self.nodes[held][4][0][2] if gone else d
                self.edge(above, "element", len(self.nodes[above][4]), li)
                if r.random() < .3:
                    self.edge(li, "internal", "child", self.node("native", "Text", 40))
        for type, name in ("code", "(code)"), ("hidden", "system / Map"), ("object shape", "system / Map"), ("hidden", "system / WeakCell"):
            for _ in range(r.randint(0, 2)):
                n = self.node(type, name, self.size())
                self.edge(self.some(), *r.choice((("internal", "code"), ("hidden", 3))), n)
                if r.random() < .5:
                    self.edge(n, "internal", "map", self.some())

    def handles(self, other):
        """Roots of the engine that also hold objects of the program."""
        s = self.node("synthetic", other.choice(("(Global handles)", "(Handle scope)", "(Strong roots)", "(Eternal handles)")), 0)
        self.edge(3, "element", len(self.nodes[3][4]) + 1, s)
        things = [i for i, n in self.nodes.items() if i > 5 and n[0] in ("object", "array", "closure", "native")]
        for b in other.sample(things, min(len(things), other.randint(1, 6))):
            self.edge(s, "element", len(self.nodes[s][4]) + 1, b)

    # Changes over time -----------------------------------------------------------------------------

    def drop(self, share):
        """Some objects disappear with all edges to them."""
        gone = {i for i in self.nodes if i > 5 and i not in self.keep and self.r.random() < share}
        for i in gone:
            del self.nodes[i]
        for n in self.nodes.values():
            n[4] = [e for e in n[4] if e[2] in self.nodes]

    def snapshot(self):
        order = list(self.nodes)
        place, strings, nodes, edges, seen = {i: k for k, i in enumerate(order)}, [], [], [], {}

        def string(s):
            if s not in seen:
                seen[s] = len(strings)
                strings.append(s)
            return seen[s]
        fields = FIELDS + ["trace_node_id"] * self.from_.tracked
        for i in order:
            type, name, size, detached, out = self.nodes[i]
            nodes += [NODE_TYPES.index(type), string(name), i, size, len(out), detached]
            nodes += [self.from_.trace(i, self.nodes[i])] * self.from_.tracked
            for t, n, to in out:
                if t in ("element", "hidden") and not isinstance(n, int):
                    t = "internal"
                edges += [EDGE_TYPES.index(t), n if t in ("element", "hidden") else string(str(n)), place[to] * len(fields)]
        meta = {"node_fields": fields, "node_types": [NODE_TYPES, "string"] + ["number"] * (len(fields) - 2),
                "edge_fields": ["type", "name_or_index", "to_node"], "edge_types": [EDGE_TYPES, "string_or_number", "node"],
                "trace_function_info_fields": random_origins.FUNCTION, "trace_node_fields": random_origins.TRACE,
                "sample_fields": [], "location_fields": random_origins.LOCATION}
        functions, tree = self.from_.stacks(string)
        return json.dumps({"snapshot": {"meta": meta, "node_count": len(order), "edge_count": len(edges) // 3, "trace_function_count": len(functions) // len(random_origins.FUNCTION)},
                           "nodes": nodes, "edges": edges, "trace_function_infos": functions, "trace_tree": tree, "samples": [],
                           "locations": self.from_.locations(self.nodes, {i: k * len(fields) for i, k in place.items()}),
                           "strings": strings})


def v8(r):
    """Three snapshots of a program; its leak, if any, is in its store."""
    other = random.Random(str(r.getstate()))   # later additions to this file draw from another stream, so that old seeds stay the same
    h = Heap(r, r.random() < .1, other)
    for name in r.sample(["cache", "pending", "rest", "index", "app"], r.randint(1, 4)):
        h.edge(5, "property", name, h.thing())
    store = h.store(r.choice(("array", "map")), [h.thing() for _ in range(r.randint(0, 6))])
    holder = 5
    if r.random() < .5:
        c = h.closure(None)
        h.edge(5, "property", "handler", c)
        holder = h.nodes[c][4][0][2]
    h.edge(holder, "context" if holder != 5 else "property", "sessions", store)
    first, last = h.list("Node", r.choice((2, 5, 30, 120)))
    h.edge(5, "property", r.choice(("head", "tail")), first)
    h.oddities()
    if other.random() < .5:
        h.handles(other)
    table = h.nodes[store][4][0][2]
    h.keep, leak, out = {store, table, holder, first, last}, r.choice(("store", "list", "none", "front", "buffers")), []
    for step in range(3):
        if step:
            h.drop(r.choice((0, .03, .1)))
            for _ in range(r.randint(1, 12)):
                if leak == "store":
                    h.fill(table, [h.thing()], "array")
                elif leak == "buffers":
                    b = h.node("native", "system / JSArrayBufferData", 5000)
                    a = h.node("object", "ArrayBuffer", 88)
                    h.edge(a, "internal", "backing_store", b)
                    h.fill(table, [a], "map")
                elif leak == "list":
                    new = h.node("object", "Node", 100)
                    h.edge(last, "property", "next", new)
                    last = new
                    h.keep.add(last)
                elif leak == "front":
                    new = h.node("object", "Node", 100)
                    for k, e in enumerate(h.nodes[5][4]):
                        if e[1] in ("head", "tail"):
                            h.edge(new, "property", "next", e[2])
                            h.nodes[5][4][k] = (e[0], e[1], new)
            for i in r.sample(list(h.nodes), min(3, len(h.nodes))):
                if i > 5 and r.random() < .3:
                    h.nodes[i][2] += r.choice((8, 64, 800))
        out.append(h.snapshot().encode())
    return out


def lists(r):
    """A list that grows at its head, one that grows at its tail, and one that drops as many elements as it gets."""
    h = Heap(r, False)
    order, out = {}, []
    for name in "head", "tail", "lru":
        order[name] = [h.node("object", name.title() + "Node", 100)]
        h.edge(5, "property", name, order[name][0])
    h.keep = set()
    for _ in range(3):
        for _ in range(40):
            for name, list_ in order.items():
                new = h.node("object", name.title() + "Node", 100)
                if name == "tail":
                    h.edge(list_[-1], "property", "next", new)
                    list_.append(new)
                else:
                    h.edge(new, "property", "next", list_[0])
                    list_.insert(0, new)
                    h.nodes[5][4] = [(t, n, new) if n == name else (t, n, to) for t, n, to in h.nodes[5][4]]
        while len(order["lru"]) > 40:
            del h.nodes[order["lru"].pop()]
        h.drop(0)
        out.append(h.snapshot().encode())
    return out


def closures(r):
    """Meteor's leak: each thing's closure keeps the context with the previous thing."""
    h = Heap(r, False)
    before, out, h.keep = None, [], set()
    for _ in range(3):
        for _ in range(30):
            thing, text = h.node("object", "Thing", 32), h.node("string", "long" * 20, 2000)
            method, context = h.node("closure", "someMethod", 64), h.node("object", "system / Context", 40)
            h.edge(thing, "property", "longStr", text)
            h.edge(thing, "property", "someMethod", method)
            h.edge(method, "internal", "context", context)
            if before:
                h.edge(context, "context", "originalThing", before)
            before = thing
        h.nodes[5][4] = [e for e in h.nodes[5][4] if e[1] != "theThing"] + [("property", "theThing", before)]
        out.append(h.snapshot().encode())
    return out


def buffers(r):
    """A Map that gets twelve Buffers in each step and drops four: their bytes are native."""
    h = Heap(r, False)
    store = h.store("map", [])
    h.edge(5, "property", "uploads", store)
    table, out, h.keep = h.nodes[store][4][0][2], [], {store, h.nodes[store][4][0][2]}
    for step in range(3):
        out_of_date = [e for e in h.nodes[table][4]][:4 if step else 0]
        h.nodes[table][4] = [e for e in h.nodes[table][4] if e not in out_of_date]
        for _, _, gone in out_of_date:
            below = h.nodes[gone][4][0][2]
            for i in gone, below, h.nodes[below][4][0][2]:
                del h.nodes[i]
        for _ in range(12):
            a, b = h.node("object", "Buffer", 96), h.node("object", "ArrayBuffer", 88)
            h.edge(a, "internal", "buffer", b)
            h.edge(b, "internal", "backing_store", h.node("native", "system / JSArrayBufferData", 5000))
            h.fill(table, [a], "map")
        h.drop(0)
        out.append(h.snapshot().encode())
    return out


def trees(r):
    """A tree of tables, with new nodes below a random node each time: growth is spread over the old nodes."""
    h = Heap(r, False)
    out, h.keep = [], set()
    index = h.node("object", "Index", 32)
    h.edge(5, "property", "index", index)
    tables = []

    def grow(holder, name):
        node, table = h.node("object", "Branch", 48), h.node("array", "", 80)
        h.edge(holder, "property" if holder == index else "internal", name, node)
        h.edge(node, "internal", "table", table)
        tables.append(table)
    grow(index, "top")
    for _ in range(3):
        for k in range(150):
            grow(r.choice(tables), str(k))
        h.drop(0)
        out.append(h.snapshot().encode())
    return out


def pages(r):
    """A page removes more nodes from its document in each step and keeps them. A getter keeps a text: an object that
    the global object holds under the getter's name is the engine's own."""
    h = Heap(r, False)
    pair, kept = h.node("hidden", "system / AccessorPair", 24), h.node("object", "Cache", 64)
    h.edge(5, "property", "settings", pair)
    h.edge(pair, "internal", "getter", h.closure(kept))
    h.edge(kept, "property", "text", h.node("string", "long" * 20, 40000))
    store = h.store("array", [])
    h.edge(5, "property", "removed", store)
    table, out, h.keep = h.nodes[store][4][0][2], [], {store, h.nodes[store][4][0][2]}
    for step in range(3):
        for k in range(2 + 3 * step):
            h.fill(table, [h.node("native", ("<li>", "<div>")[k % 2], 100, None, 2)], "array")
        out.append(h.snapshot().encode())
    return out


def sessions(r):
    """The last snapshot is from another inspector session, with other object ids."""
    out = v8(r)
    last = json.loads(out[2])
    nodes, width = last["nodes"], len(last["snapshot"]["meta"]["node_fields"])
    ids = nodes[2::width][2:]                  # without the root and "(GC roots)"
    r.shuffle(ids)
    nodes[2::width] = nodes[2::width][:2] + ids
    return out[:2] + [json.dumps(last).encode()]


# .NET CF -----------------------------------------------------------------------------------------

def netcf_domain(r, name, ids, base):
    types = {t: f"{r.choice(('Game', 'Level', 'System.String', 'List`1[[System.Int32, mscorlib]]'))}{t}" for t in range(base, base + r.randint(2, 6))}
    lines = [f"t {t:x} {n}" for t, n in types.items() if r.random() < .9]
    for i in ids:
        refs = r.sample(ids, min(len(ids), r.choice((0, 1, 1, 2, 3)))) + [0x999 + r.randint(0, 3)] * (r.random() < .1)
        if r.random() < .5:
            refs = [k for k in refs if k > i] + [i + 16] * (i + 16 in ids)
        lines.append(f"o {i:x} {r.choice(list(types)):x} {r.choice((0, 8, r.randint(1, 300), 5000)):x}" + "".join(f" {k:x}" for k in refs))
    for _ in range(r.randint(1, 5)):
        i, kind = r.choice(ids) if r.random() < .95 else 0x990, r.randint(0, 5)
        lines.append(f"r {i:x} {kind} {r.choice((0, 0, 0, 1, 2, 4, 3))}" + (f" {r.choice(list(types)):x}" if kind == 4 else ""))
    r.shuffle(lines)
    return [f"a 2 {name} 10"] + lines + [f"c {name} 20"]


def netcf(r):
    out = []
    for step in range(3):
        ids = [0x1000 + 16 * k for k in range(r.randint(3, 40))]
        lines = netcf_domain(r, "game.exe", ids, 1)
        if r.random() < .3:                    # another domain, which may have the same objects
            more = netcf_domain(r, "tool", ids[: len(ids) // 2] + [0x9000], 1)
            if r.random() < .5:
                more = ["a 2 tool 10"] + r.sample([l for l in lines[1:-1] if l[0] in "to"], len(lines) // 3) + ["r 1000 1 0", "c tool 30"]
            lines += more
        out.append(("\n".join(lines) + "\n").encode())
    return out


# Dart --------------------------------------------------------------------------------------------

def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def text(s):
    return number(len(s.encode())) + s.encode()


DART = [("Root", "", "", []), ("_OneByteString", "dart.core", "dart:core", []), ("_TwoByteString", "dart.core", "dart:core", []),
        ("_List", "dart.core", "dart:core", ["length_"]), ("_WeakProperty", "dart.core", "dart:core", ["key_", "value_"]),
        ("_WeakReference", "dart.core", "dart:core", ["target_"]), ("Session", "", "package:app/a.dart", ["user", "config"]),
        ("Config", "", "package:app/b.dart", []), ("Session", "other", "package:app/c.dart", ["next"]), ("WeakArray", "", "", []),
        ("Function", "", "", ["owner"])]


def dart_value(r, c):
    name = DART[c - 1][0] if c else ""
    if name == "_OneByteString":
        s = r.choice([w for w in WORDS if all(ord(x) < 256 for x in w)]).encode("latin-1")
        cut = s[: r.randint(0, len(s))] if r.random() < .1 else s
        return b"\5" + number(len(s)) + number(len(cut)) + cut
    if name == "_TwoByteString":
        s = r.choice(WORDS).encode("utf-16-le")
        return b"\6" + number(len(s) // 2) + number(len(s) // 2) + s
    if name == "_List":
        return b"\7" + number(r.choice((0, 1, 4, 100)))
    if name == "Function":
        return b"\x08" + text(r.choice(("main", "größe", "set:x")))
    if c and r.random() < .2:
        return r.choice((b"\1", b"\2\1", b"\3" + number((1 << 64) - 5), b"\3" + number(77), b"\4" + struct.pack("<d", 0.1)))
    return b"\0"


def dart(r):
    """Identity hash codes keep objects recognisable from one time to the next."""
    kinds = list(range(len(DART) + 1))
    heap = [[1, 0, dart_value(r, 0), [], 0, 1]]
    out, code = [], 1
    for step in range(3):
        for o in heap[1:]:
            if r.random() < .2:
                o[1] += r.choice((0, 16))
        heap = [heap[0]] + [o for o in heap[1:] if r.random() < .85]
        for _ in range(r.randint(5, 40)):
            c = r.choice(kinds)
            heap.append([c, r.choice((0, 16, 16, 32, r.randint(1, 90) * 8, 4096)), dart_value(r, c), None,
                         code if r.random() < .6 else 0, 0])
            code += 1
        n = len(heap)
        for o in heap:
            if o[3] is None or step == 0 or r.random() < .1:
                o[3] = [r.choice(heap) if r.random() < .93 else None for _ in range(r.choice((0, 1, 2, 2, 3, 5)))]
        heap[0][3] = [r.choice(heap) for _ in range(r.randint(1, 6))]
        place = {id(o): k + 1 for k, o in enumerate(heap)}
        body = b""
        for c, size, value, refs, _, _ in heap:
            body += number(c) + number(size) + value + number(len(refs)) + b"".join(
                number(place.get(id(t), 0) if t else 0) for t in refs)
        external = [(r.randint(0, n), r.randint(1, 5000)) for _ in range(r.choice((0, 0, 2)))]
        classes = b""
        for name, library, uri, fields in DART:
            classes += number(0) + text(name) + text(library) + text(uri) + text("") + number(len(fields)) + b"".join(
                number(0) + number(i) + text(f) + text("") for i, f in enumerate(fields))
        out.append(b"dartheap" + number(0) + text("main") + number(1000) + number(2000) + number(0) + number(len(DART)) + classes +
                   number(sum(len(o[3]) for o in heap)) + number(n) + body + number(len(external)) +
                   b"".join(number(o) + number(s) + text("Uint8List") for o, s in external) + b"".join(number(o[4]) for o in heap))
    return out


NAMED = {"lists": lists, "closures": closures, "buffers": buffers, "trees": trees, "pages": pages, "sessions": sessions}


def write(folder, seed):
    """Three files of one process, from a seed or for a named kind of program."""
    r = random.Random(seed)
    kinds = ((v8, "heapsnapshot"),) * 3 + ((dart, "dartheap"), (netcf, "netcf.txt"))
    kind, ext = (NAMED[seed], "heapsnapshot") if isinstance(seed, str) else kinds[seed % 5]
    names = []
    for k, data in enumerate(kind(r)):
        names.append(os.path.join(folder, f"random-{seed}{'abc'[k]}.{ext}"))
        with open(names[-1], "wb") as f:
            f.write(data)
    return names
