"""Objects that reference each other, and brute-force answers: live objects, objects that disappear together with
others, shortest paths from the roots. The code is slow and simple."""
import collections, re
from told import clean

STRONG, WEAK, KEY, VALUE = range(4)
KINDS = ["strong", "weak", "key", "value"]
ROOTS = ["internal", "local", "finalizer", "handle", "static", "collector"]

Ref = collections.namedtuple("Ref", "to kind name index")
Root = collections.namedtuple("Root", "object kind flags container name", defaults=("",))


class Unreadable(Exception):
    pass


class Graph:
    """Objects by number, those with a record first. `holder`: the object that counts as the holder of all roots, or
    None."""

    def __init__(self, format):
        self.format, self.hex, self.holder = format, False, None
        self.ids, self.sizes, self.cls, self.refs, self.roots = [], [], [], [], []
        self.classes, self.described_classes = [("<not described>", "")], set()
        self.described, self.names, self.types = 0, None, None
        self.values, self.identity, self.users = None, None, None
        self.known, self.left_out = {}, None   # left_out: replaces objects that a file omits, and is in no list

    # Filling -------------------------------------------------------------------------------------

    def class_number(self, name, scope="", key=None):
        key = (name, scope) if key is None else key
        if key not in self.known:
            self.known[key] = len(self.classes)
            self.classes.append((name, scope))
        return self.known[key]

    def pair_up(self):
        """The first key of an object belongs to its first value. A key without value is weak, and a value without key
        is strong. Then lists of held objects: by references, and by ephemerons as (ephemeron, key, value)."""
        self.strong, self.pairs = [], []
        for o, refs in enumerate(self.refs):
            keys = [i for i, r in enumerate(refs) if r.kind == KEY]
            values = [i for i, r in enumerate(refs) if r.kind == VALUE]
            for i in keys[len(values):]:
                refs[i] = refs[i]._replace(kind=WEAK)
            for i in values[len(keys):]:
                refs[i] = refs[i]._replace(kind=STRONG)
            self.pairs += [(o, refs[k].to, refs[v].to) for k, v in zip(keys, values)]
            self.strong.append([r.to for r in refs if r.kind == STRONG])
        self.of_part = collections.defaultdict(list)
        for e, k, v in self.pairs:
            self.of_part[e].append((e, k, v))
            if k != e:
                self.of_part[k].append((e, k, v))
        self.starts = [r.object for r in self.roots if not r.flags & 2]
        self.by_id = {}
        for o in range(len(self.ids)):
            self.by_id.setdefault(self.id_text(o), []).append(o)
        self.live = self.reach()
        self.bytes = sum(s for o, s in enumerate(self.sizes) if self.live[o])
        self.cache = {}

    def id_text(self, o):
        return f"{self.ids[o]:x}" if self.hex else str(self.ids[o])

    def find(self, text):
        return self.by_id.get(text, [])

    def class_of(self, o):
        return self.classes[self.cls[o]]

    def name_of(self, o):
        """The name of an object next to its class, which marks detached elements."""
        name = self.names[o] if self.names else ""
        return "" if self.class_of(o)[0] in (name, "Detached " + name) else name

    def root_text(self, root, after=""):
        """The name of a root in the file, else its kind."""
        return root.name or (ROOTS[root.kind] if root.kind < 6 else "unknown") + after

    def kind_of(self, o, i):
        """The kind of a reference."""
        return KINDS[self.refs[o][i].kind]

    def loose_kinds(self):
        return [self.kind_of(o, i) for o, refs in enumerate(self.refs) for i, r in enumerate(refs) if r.kind != STRONG]

    def field_text(self, o, i):
        """The field or index of a reference; V8 has the indices of node 0 as names. Empty: neither."""
        r = self.refs[o][i]
        if r.index is not None or (self.format == "heapsnapshot" and re.fullmatch("[0-9]+", r.name)):
            return f"[{r.name if r.index is None else r.index}]"
        return clean(r.name)

    # Reachability and removal --------------------------------------------------------------------

    def reach(self, without=()):
        """For each object a flag: whether the roots hold it when none of these objects exists."""
        seen, gone, stack = bytearray(len(self.ids)), set(without), []
        if self.holder is not None:
            starts = [self.holder] + ([] if self.holder in gone else self.starts)
        else:
            starts = self.starts

        def take(o):
            if not seen[o] and o not in gone:
                seen[o] = 1
                stack.append(o)
        for o in starts:
            take(o)
        while stack:
            o = stack.pop()
            for t in self.strong[o]:
                take(t)
            for e, k, v in self.of_part.get(o, ()):
                if seen[e] and seen[k]:
                    take(v)
        return seen

    def removed(self, objects):
        """(objects with records, bytes) that disappear with these."""
        rest = self.reach(objects)
        gone = [o for o in range(len(self.ids)) if self.live[o] and not rest[o]]
        return sum(o < self.described for o in gone), sum(self.sizes[o] for o in gone)

    def members(self, name, scope=None):
        return [o for o in range(self.described) if self.class_of(o)[0] == name and scope in (None, self.class_of(o)[1])]

    def class_removed(self, name, scope=None):
        key = "class", name, scope
        if key not in self.cache:
            self.cache[key] = self.removed([o for o in self.members(name, scope) if self.live[o]])
        return self.cache[key]

    # Dominators ----------------------------------------------------------------------------------

    def held(self):
        """The objects that each object holds, for dominators: the value of an ephemeron is below its key only."""
        if "held" not in self.cache:
            out = [list(s) if self.live[o] else [] for o, s in enumerate(self.strong)]
            for e, k, v in self.pairs:
                if self.live[e] and self.live[k]:
                    out[k].append(v)
            if self.holder is not None:
                out[self.holder] = out[self.holder] + self.starts
            self.cache["held"] = out
        return self.cache["held"]

    def dominators(self):
        """For each object its immediate dominator (None: there is no single one), retained bytes and objects: Cooper,
        Harvey, Kennedy."""
        if "dominators" in self.cache:
            return self.cache["dominators"]
        out, n = self.held(), len(self.ids)
        top, order, seen = n, [], bytearray(n + 1)
        starts = [self.holder] if self.holder is not None else self.starts
        stack, seen[top] = [(top, iter(starts))], 1
        while stack:
            o, rest = stack[-1]
            for t in rest:
                if not seen[t]:
                    seen[t] = 1
                    stack.append((t, iter(out[t])))
                    break
            else:
                order.append(o)
                stack.pop()
        number = {o: i for i, o in enumerate(order)}
        into = collections.defaultdict(list)
        for o in order[:-1]:
            for t in out[o]:
                into[t].append(o)
        for t in starts:
            into[t].append(top)
        parent, changed = {top: top}, True
        while changed:
            changed = False
            for o in reversed(order[:-1]):
                best = None
                for p in into[o]:
                    if p not in parent:
                        continue
                    a = p
                    while best is not None and a != best:
                        if number[a] < number[best]:
                            a = parent[a]
                        else:
                            best = parent[best]
                    best = a
                if parent.get(o) != best:
                    parent[o], changed = best, True
        bytes_, count = [0] * (n + 1), [0] * (n + 1)
        for o in order:
            if o != top:
                bytes_[o] += self.sizes[o]
                count[o] += o < self.described
                bytes_[parent[o]] += bytes_[o]
                count[parent[o]] += count[o]
        up = [None if parent.get(o) in (None, top) else parent[o] for o in range(n)]
        self.cache["dominators"] = up, bytes_, count
        return self.cache["dominators"]

    def check_dominators(self, some):
        """Retained bytes of these objects by removal, if they differ from the dominators': [(object, removed)]."""
        out, wrong = self.held(), []
        starts = [self.holder] if self.holder is not None else self.starts
        for gone in some:
            seen, stack = bytearray(len(self.ids)), [s for s in starts if s != gone]
            for s in stack:
                seen[s] = 1
            while stack:
                for t in out[stack.pop()]:
                    if not seen[t] and t != gone:
                        seen[t] = 1
                        stack.append(t)
            left = sum(s for o, s in enumerate(self.sizes) if self.live[o] and not seen[o])
            if self.live[gone] and left != self.dominators()[1][gone]:
                wrong.append((gone, left))
        return wrong

    # Paths ---------------------------------------------------------------------------------------

    def steps(self, o):
        """The objects that an object leads to on a path: (reference or None, ephemeron or None, object)."""
        for i, r in enumerate(self.refs[o]):
            if r.kind == STRONG:
                yield i, None, r.to
        for e, k, v in self.of_part.get(o, ()):
            if k == o and self.live[e]:
                yield None, e, v

    def distances(self, starts):
        """Distance from the nearest of these objects."""
        far = {o: 0 for o in starts}
        queue = collections.deque(far)
        while queue:
            o = queue.popleft()
            for _, _, t in self.steps(o):
                if t not in far:
                    far[t] = far[o] + 1
                    queue.append(t)
        return far

    def user_far(self):
        """Distance from the program's roots; for V8 from the targets of node 0 that are not synthetic."""
        if "user" not in self.cache:
            self.cache["user"] = self.distances([o for o in self.users or () if self.live[o]])
        return self.cache["user"]

    def root_far(self):
        if "root" not in self.cache:
            self.cache["root"] = self.distances(self.starts)
        return self.cache["root"]

    def ancestors(self, o):
        """Its dominators, the nearest first."""
        up = self.dominators()[0]
        while up[o] is not None:
            o = up[o]
            yield o
