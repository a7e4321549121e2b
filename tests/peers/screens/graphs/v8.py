"""V8's heap snapshots, with DevTools' rules for classes, holders and distances."""
import json, re
import origins
from graph import Graph, Ref, Root, STRONG, Unreadable, WEAK

PAIR = re.compile(r"\d+( / part of key \(.*? @\d+\) -> value \(.*? @\d+\) pair in WeakMap \(table @(\d+)\))", re.S)
BY_NAME = {"object", "native"}
SYSTEM = 100000000
UNLISTED = {12: "symbol", 13: "bigint"}


def class_name(kind, name):
    if kind in BY_NAME:
        m = re.match(r"((?:Detached )?<[^ ]*) ", name, re.S)
        return m[1] + ">" if m else name
    return {"hidden": "(system)", "code": "(compiled code)"}.get(kind, f"({kind})")


class V8(Graph):
    def load(self, data):
        try:
            file = json.loads(data)
            self.parse(file)
        except (ValueError, KeyError, IndexError, TypeError) as why:
            raise Unreadable(f"no whole snapshot: {why!r}"[:200])
        self.own()
        self.hold()
        self.pair_up()
        self.origins = origins.read(file, self)

    def parse(self, file):
        meta, strings = file["snapshot"]["meta"], file["strings"]
        fields, width = meta["node_fields"], len(meta["node_fields"])
        edge_fields, step = meta["edge_fields"], len(meta["edge_fields"])
        types, edge_types = meta["node_types"][fields.index("type")], meta["edge_types"][edge_fields.index("type")]
        at = {f: i for i, f in enumerate(fields)}
        nodes, edges = file["nodes"], file["edges"]
        count = len(nodes) // width
        if len(nodes) % width or len(edges) % step or not count or \
                file["snapshot"].get("node_count", count) != count or \
                file["snapshot"].get("edge_count", len(edges) // step) != len(edges) // step:
            raise ValueError("counts differ")
        kind, called, to = (edge_fields.index(f) for f in ("type", "name_or_index", "to_node"))
        self.file, self.count, self.facts = file, count, file["snapshot"]
        self.holder, self.names, self.types, self.edge_types, e = 0, [], [], [], 0
        self.detached = [nodes[i * width + at["detachedness"]] if "detachedness" in at else 0 for i in range(count)]
        for n in range(count):
            row = nodes[n * width:(n + 1) * width]
            number = row[at["type"]]           # old files list fewer types than they use
            self.types.append(types[number] if number < len(types) else UNLISTED[number])
            self.names.append(strings[row[at["name"]]])
            self.ids.append(row[at["id"]])
            self.sizes.append(row[at["self_size"]])
            refs, kinds = [], []
            for _ in range(row[at["edge_count"]]):
                t, name, target = edges[e + kind], edges[e + called], edges[e + to]
                if target % width:
                    raise ValueError("an edge within a node")
                what = edge_types[t]
                place = what in ("element", "hidden")
                refs.append(Ref(target // width, STRONG, "" if place else strings[name], name if place else None))
                kinds.append(what)
                e += step
            self.refs.append(refs)
            self.edge_types.append(kinds)
        if e != len(edges):
            raise ValueError("edges remain at the end")
        self.described = count
        self.raw_names = list(self.names)      # the names in the file; class names mark detached elements
        self.mark_detached()
        self.cls = [self.class_number(class_name(t, n)) for t, n in zip(self.types, self.names)]
        self.names = self.raw_names
        self.described_classes = set(range(1, len(self.classes)))

    def mark_detached(self):
        """As in DevTools: elements marked as detached, and native nodes with only such holders, are named
        "Detached"."""
        seen, work = bytearray(self.count), {1: [], 2: []}

        def process(n, state):
            if seen[n]:
                return
            seen[n] = 1
            if self.types[n] != "native":
                return
            self.detached[n] = state
            work[state].append(n)
            if state == 2:
                self.names[n] = "Detached " + self.names[n]
        for n, state in enumerate(list(self.detached)):
            if state in work:
                process(n, state)
        for state in 1, 2:
            while work[state]:
                n = work[state].pop()
                if self.detached[n] == state:
                    for r, kind in zip(self.refs[n], self.edge_types[n]):
                        if kind not in ("hidden", "weak"):
                            process(r.to, state)

    def own(self):
        """The objects that a page owns: shortcuts of node 0, trees of documents, and all objects that these
        reference."""
        def trees(r, kind):
            return kind == "element" and self.types[r.to] == "synthetic" and self.raw_names[r.to] == "(Document DOM trees)"
        stack = [r.to for r, k in zip(self.refs[0], self.edge_types[0]) if k == "shortcut" or trees(r, k)]
        self.owned = set(stack)
        while stack:
            n = stack.pop()
            for r, k in zip(self.refs[n], self.edge_types[n]):
                if k != "weak" and r.to not in self.owned:
                    self.owned.add(r.to)
                    stack.append(r.to)

    def loose(self, n, r, kind):
        """Whether an edge does not hold its target."""
        if kind == "weak" or (n and (kind == "shortcut" or (r.to in self.owned and n not in self.owned and r.to != n))):
            return True
        m = kind == "internal" and PAIR.fullmatch(r.name)
        return bool(m) and int(m[2]) == self.ids[n]

    def kind_of(self, o, i):
        """The four reasons why DevTools ignores an edge."""
        r, kind = self.refs[o][i], self.edge_types[o][i]
        m = kind == "internal" and PAIR.fullmatch(r.name)
        if r.kind == STRONG or kind == "weak":
            return "weak" if kind == "weak" else "strong"
        return "value" if m and int(m[2]) == self.ids[o] else "shortcut" if kind == "shortcut" else "page object"

    def hold(self):
        """Kinds of references. Roots are node 0 and all nodes that it does not reach; first those without incoming
        references."""
        for n in range(self.count):
            self.refs[n] = [r._replace(kind=WEAK) if self.loose(n, r, k) else r
                            for r, k in zip(self.refs[n], self.edge_types[n])]
        seen = bytearray(self.count)

        def walk(n):
            stack, seen[n] = [n], 1
            while stack:
                for r in self.refs[stack.pop()]:
                    if r.kind == STRONG and not seen[r.to]:
                        seen[r.to] = 1
                        stack.append(r.to)
        walk(0)
        led = {r.to for n in range(self.count) if not seen[n] for r in self.refs[n] if r.kind == STRONG and r.to != n}
        self.roots = [Root(0, 0, 0, None)]
        orphans = [n for n in range(self.count) if not seen[n]]
        for n in orphans:
            if n not in led and not seen[n]:
                self.roots.append(Root(n, 0, 0, None))
                walk(n)
        self.roots += [Root(n, 0, 0, None) for n in orphans if not seen[n]]
        self.users = [r.to for r in self.refs[0] if self.types[r.to] != "synthetic" or
                      self.raw_names[r.to] == "(Document DOM trees)"]

    def devtools_distances(self):
        """DevTools' "Distance" of each node; None if it has none."""
        far, waiting = [None] * self.count, set()

        def follows(n, r, kind):
            if kind == "weak":
                return False
            if self.types[n] == "hidden" and self.raw_names[n] == "system / NativeContext" and r.name == "sloppy_function_map":
                return False
            if self.types[n] == "array" and self.raw_names[n] == "(map descriptors)":
                m = re.match(r"\d+", r.name) if r.index is None else None
                i = r.index if r.index is not None else int(m[0]) if m else None
                return i is None or i < 2 or i % 3 != 1
            m = kind == "internal" and PAIR.fullmatch(r.name)
            if m:
                if m[1] in waiting:
                    waiting.remove(m[1])
                else:
                    waiting.add(m[1])
                    return False
            return True

        def walk(queue):
            for n in queue:
                for r, k in zip(self.refs[n], self.edge_types[n]):
                    if far[r.to] is None and follows(n, r, k):
                        far[r.to] = far[n] + 1
                        queue.append(r.to)
        first = []
        for n in self.users:
            far[n] = 1
            first.append(n)
        any_user = bool(first)
        walk(first)
        far[0] = SYSTEM if any_user else 0
        walk([0])
        return far


def read(data):
    g = V8("heapsnapshot")
    g.load(data)
    return g
