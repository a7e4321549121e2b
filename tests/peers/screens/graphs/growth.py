"""Growth: the holders of new bytes. The growth of a suspect is that of the nearest object that is in all snapshots:
its bytes in the last snapshot minus its bytes in the first. It is at most the bytes of new or larger objects there.

A new object belongs to its nearest dominator that is in all snapshots. If that is a table or a text, it belongs to
the object of the program above. If that is a scope or the global object, it belongs to a variable with a new value.
If several objects below that dominator hold it, it belongs to an instance of the program. A scope, a root or the
global object then has only a part, which the shortest path decides: such bytes turn the exact figure into a range. So
do old elements of lists.

Growth that is spread over more than six old objects, each with less than a third of it, is reported at an object that
dominates them. The figure is the increase of that object's retained size."""
import collections
from graph import STRONG
from steps import is_engine, label_of, rank_of
from told import judge

PROPERTY, PERIOD, MOST_VARIABLES = 3, 6, 256
EXPLAINS = 2                                   # a half: the holder of shared objects is a range
SHARED = "shared"


def children(g):
    if "children" not in g.cache:
        down = {}
        for o, p in enumerate(g.dominators()[0]):
            if p is not None:
                down.setdefault(p, []).append(o)
        g.cache["children"] = down
    return g.cache["children"]


def depth(g, o):
    if "depth" not in g.cache:
        far, up = {}, g.dominators()[0]
        for o_ in range(len(g.ids)):
            way = []
            while o_ is not None and o_ not in far:
                way.append(o_)
                o_ = up[o_]
            for w in reversed(way):
                far[w] = 0 if up[w] is None else far[up[w]] + 1
        g.cache["depth"] = far
    return g.cache["depth"][o]


class Growth:
    def __init__(self, s, is_owner):
        self.s, self.last, self.is_owner = s, s.last, is_owner
        self.up = self.last.dominators()[0]
        self.numbers = [{c[k]: o for o, c in s.old.items() if s.kept(o)} for k in range(len(s.graphs))]
        self.kept = {o for o in s.old if s.kept(o)}
        self.order = sorted((o for o in range(len(self.last.ids)) if self.last.live[o]), key=lambda o: depth(self.last, o))
        self.listed = self.in_lists()
        self.names, self.first = {}, self.lists()
        self.user = self.users()
        self.reached = {}
        self.sums = [self.attribute(k) for k in range(len(s.graphs))]

    def in_lists(self):
        """Objects with one of their class among their nearest dominators, and the objects between the two: classes
        that may alternate in a list."""
        g, out = self.last, set()
        for o in self.order:
            way, p = [o], self.up[o]
            while p is not None and len(way) <= PERIOD:
                way.append(p)
                if g.cls[p] == g.cls[o]:
                    out.update(way if len(way) > 2 else ())  # one below the other: see lists
                    break
                p = self.up[p]
        return out

    def lists(self):
        """For each element of a list its first element. Three objects of one class form a list if each is held by the
        same field of the previous one and is its heaviest child. If such children have siblings with over half of
        their bytes, it is a tree. All that follow by that field belong to the list."""
        g, r, down, first = self.last, self.last.dominators()[1], children(self.last), {}

        def by(p, o):
            return next((label_of(g, p, i, o) for i, x in enumerate(g.refs[p]) if x.to == o and x.kind == STRONG), None)

        def heaviest(o):
            return max(down.get(o, ()), key=lambda c: r[c], default=None)
        for o in self.order:
            b = None if o in first or is_root(g, o) else heaviest(o)
            c = heaviest(b) if b is not None else None
            if c is None or not g.cls[o] == g.cls[b] == g.cls[c] or not by(o, b) or by(o, b) != by(b, c):
                continue
            if 2 * sum(r[x] for x in down.get(o, ()) if x != b and g.cls[x] == g.cls[b]) > r[b]:
                continue
            way, field = [o, b, c], by(b, c)
            while True:
                more = [x for x in down.get(way[-1], ()) if g.cls[x] == g.cls[o] and any(
                    y.to == x and y.kind == STRONG and label_of(g, way[-1], i, x) == field for i, y in enumerate(g.refs[way[-1]]))]
                if not more:
                    break
                way.append(max(more, key=lambda x: r[x]))
            for x in way:
                first.setdefault(x, o)
        return first

    def users(self):
        """For each object, old or new: the nearest old object of the program at or above it. An element of a list
        counts for an instance that holds the list, else for the list's first old element. For lists with alternating
        classes (SHARED), list_of has the possible holders."""
        out, self.list_of, owner = {}, {}, {}
        for o in self.order:
            of = out.get(self.up[o])
            if o in self.kept and o in self.first:
                of = out.get(self.up[self.first[o]])
                good = self.is_user_owner(of) and not self.is_scope(of) and not self.is_global(of)
                out[o] = owner.setdefault(self.first[o], of if good else o)
            elif o in self.listed and o in self.kept and self.first.get(self.up[o]) is None:
                # A table that an engine's root also holds has no dominator in the program: any object may have it.
                self.list_of[o] = self.list_of.get(self.up[o], of if self.is_user_owner(of) else None)
                out[o] = SHARED
            elif o in self.kept and (self.is_owner(self.last, o) or is_root(self.last, o) or not (
                    of == SHARED or self.is_user_owner(of))):
                out[o] = o
            else:
                out[o] = of
                if of == SHARED:
                    self.list_of[o] = self.list_of.get(self.up[o])
        values = {r.to: (o, label_of(self.last, o, i, r.to)) for o in self.kept if out[o] == o for i, r in enumerate(self.last.refs[o])
                  if r.kind == STRONG and r.to not in self.kept and label_of(self.last, o, i, r.to) in self.variables(o)}
        for o in self.order:                   # new objects may be between a variable and its list
            if o not in self.kept and o not in values and self.up[o] in values:
                values[o] = values[self.up[o]]
        given = {}
        for o in self.kept:
            head = self.first.get(o)
            head = self.up[head] if head in self.kept else head
            if head in values:
                given[o] = values[head]
        out.update(given)
        return {o: given.get(u, u) if not isinstance(u, tuple) else u for o, u in out.items()}

    def is_user_owner(self, owner):
        return owner not in (None, SHARED) and (isinstance(owner, tuple) or self.is_owner(self.last, owner))

    def is_scope(self, o):
        return self.last.format == "heapsnapshot" and self.last.names[o] == "system / Context"

    def is_global(self, o):
        """The engine holds the global object by a shortcut of node 0."""
        return self.last.format == "heapsnapshot" and any(r.to == o and k == "shortcut" for r, k in zip(self.last.refs[0], self.last.edge_types[0]))

    def is_top(self, o):
        """A root of the program, which reaches everything."""
        return o in (self.last.users or ())

    def variables(self, o):
        """Names of a scope or the global object that are in all snapshots, with a new value in the last one."""
        if o not in self.names:
            g, out = self.last, set()
            if (self.is_scope(o) or self.is_global(o)) and len(g.refs[o]) <= MOST_VARIABLES:
                for i, r in enumerate(g.refs[o]):
                    if r.kind == STRONG and r.to not in self.kept and rank_of(g, o, i, r.to) >= PROPERTY:
                        out.add(label_of(g, o, i, r.to))
                for a, n in list(zip(self.s.graphs, self.s.old[o]))[:-1]:
                    out &= {label_of(a, n, i, r.to) for i, r in enumerate(a.refs[n]) if rank_of(a, n, i, r.to) >= PROPERTY}
            self.names[o] = out
        return self.names[o]

    def owner_below(self, g, o, p, old):
        """The owner of a new object whose dominator p is old."""
        user = self.user[old]
        by = next((i for i, r in enumerate(g.refs[p]) if r.to == o and r.kind == STRONG), None)
        if by is None:                         # several objects below its dominator hold it
            return user if self.is_user_owner(user) and not self.is_scope(user) and not self.is_global(user) else SHARED
        if not self.is_user_owner(user):
            return SHARED
        if user == old and rank_of(g, p, by, o) >= PROPERTY and label_of(g, p, by, o) in self.variables(old):
            return old, label_of(g, p, by, o)
        return user

    def newer_elements(self, k):
        """Elements above the first old element of a list, which it gained or will lose, also belong to its holder."""
        g, number, up, out = self.s.graphs[k], self.numbers[k], self.s.graphs[k].dominators()[0], {}
        for o in self.kept & set(self.first):
            if self.first.get(self.user[o]) == self.first[o]:
                continue                       # an element has the list
            p, some, like = up[self.s.old[o][k]], [], self.last.class_of(o)
            while p is not None and p not in number and g.class_of(p) == like:
                some.append(p)
                p = up[p]
            if p in number and g.class_of(p) == like and self.user[number[p]] != self.user[o]:
                continue                       # the nearest old object is an element of another list
            for p in some:
                out.setdefault(p, self.user[o])
        return out

    def attribute(self, k):
        """For each owner its bytes and the new ones among them; then the shared bytes."""
        g, number, owner = self.s.graphs[k], self.numbers[k], {}
        up, lists, sums, shared = g.dominators()[0], {}, collections.defaultdict(lambda: [0, 0]), []
        last, elements = k + 1 == len(self.s.graphs), self.newer_elements(k)
        for o in sorted((o for o in range(len(g.ids)) if g.live[o]), key=lambda o: depth(g, o)):
            p = up[o]
            above = number.get(o, number.get(p)) if p is not None or o in number else None
            lists[o] = self.list_of.get(above) if above in self.list_of else lists.get(p) if p not in number else None
            if o in number:
                owner[o] = self.user[number[o]]
            elif o in elements:
                owner[o] = elements[o]
            elif p is None:
                owner[o] = SHARED
            elif p in number:
                owner[o] = self.owner_below(g, o, p, number[p])
            else:
                owner[o] = owner[p]
            row = sums[owner[o]]
            row[0] += g.sizes[o]
            row[1] += self.s.fresh(o) if last else 0
            if owner[o] == SHARED and not (o in number and self.has_one_size(number[o])):
                shared.append((o, lists[o]))
        self.owners = owner                    # of the last snapshot, in the end
        return sums, shared

    def owner_of(self, o):
        """The owner of an object in the last snapshot."""
        return self.owners.get(o)

    def has_one_size(self, o):
        """Whether an old object has the same size in all snapshots: then it is no growth, whoever owns it."""
        return len({g.sizes[n] for g, n in zip(self.s.graphs, self.s.old[o])}) == 1

    def reach(self, k, o):
        """The objects that an object reaches in a snapshot. Unless it is the global object, the walk stops at other
        old objects of the program, except at elements of lists."""
        if (k, o) not in self.reached:
            g, number, first = self.s.graphs[k], self.numbers[k], self.s.old[o][k]
            seen, stack = {first}, [first]
            while stack:
                for _, _, t in g.steps(stack.pop()):
                    old = number.get(t)
                    if t not in seen and (self.is_top(o) or old is None or old in self.first or
                                          self.user[old] in (o, SHARED) or not self.is_user_owner(self.user[old])):
                        seen.add(t)
                        stack.append(t)
            self.reached[k, o] = seen
        return self.reached[k, o]

    def of(self, owner):
        """Its bytes in each snapshot, as (least, most), and the number of new ones in the last."""
        o, out, fresh = owner[0] if isinstance(owner, tuple) else owner, [], (0, 0)
        for k, (sums, shared) in enumerate(self.sums):
            g, seen = self.s.graphs[k], self.reach(k, o)
            some = [p for p, of in shared if p in seen and (of in (None, o) or o in self.listed or self.is_top(o))]
            row = sums.get(owner, (0, 0))
            out.append((row[0], row[0] + sum(g.sizes[p] for p in some)))
            if k + 1 == len(self.sums):
                fresh = row[1], row[1] + sum(self.s.fresh(p) for p in some)
        return out, fresh


def is_root(g, o):
    return g.format == "heapsnapshot" and g.types[o] == "synthetic"


def judge_spread(report, s, row, o):
    """Growth of an object by its retained size, if no object below it explains the growth."""
    g, growth = s.last, s.growth
    held = [a.dominators()[1][n] for a, n in zip(s.graphs, s.old[o])]
    below, stack = {o}, [o]
    while stack:
        for c in children(g).get(stack.pop(), ()):
            below.add(c)
            stack.append(c)
    fresh = sum(s.fresh(p) for p in below)
    one = [sum(s.fresh(p) for p in below if growth.owner_of(p) == u)
           for u in {growth.owner_of(p) for p in below if s.fresh(p)} - {SHARED, None}]
    judge(report, "growth", row, [
        ("not the growth of the holder's retained size", row["growth"] == min(held[-1] - held[0], fresh)),
        ("the number of steps with growth", row["steps_grown"] == sum(b > a for a, b in zip(held, held[1:]))),
        ("too few objects below it have the growth", 6 < row["spread_over"] <= len(below)),
        ("one below it explains the growth", EXPLAINS * max(one, default=0) <= fresh)], (held, fresh))


def judge_named(report, s, rows, new):
    """Nodes of a tree do not replace the tree. If each suspect has little growth, and an instance of the program has
    nearly all new objects of their class, that instance must be named."""
    if not rows or max(20 * row["growth"] for row in rows) >= new:
        return
    g, r = s.last, s.last.dominators()[1]
    told = {row["class"] for row in rows}
    for o in s.old:
        if not s.kept(o) or g.class_of(o)[0] in told or is_root(g, o) or g.format != "heapsnapshot" or is_engine(g, o):
            continue
        if g.types[o] == "object" and g.names[o] != "global":
            judge(report, "growth", g.class_of(o)[0], [
                ("the holder of spread growth is not named", 10 * (r[o] - s.graphs[0].dominators()[1][s.old[o][0]]) < 9 * new)])


def judge_growth(report, s, row, o, is_owner):
    """Compares a row of JSON with the bytes of its object, or of its variable, in each snapshot."""
    n, value = len(s.graphs), o
    bound = s.reached_fresh(o)
    if "variable" in row:
        g, at = s.last, s.last.find(row["variable_of"]["id"])
        at = [p for p in at if g.live[p] and any(r.to == value and label_of(g, p, i, value) == row["variable"] for i, r in enumerate(g.refs[p]))]
        judge(report, "growth", row, [("no such variable holds it", bool(at))])
        if not at:
            return
        o = at[0]
    judge(report, "growth", row, [("more than the new and larger objects below it", row["growth"] <= bound),
                                  ("a step", row["per_step"] == int(row["growth"] / (n - 1))),
                                  ("steps", row["steps_grown"] <= n - 1), ("nothing", row["growth"] > 0),
                                  ("more than it retains and shares together", row["growth"] - row.get("shared", 0) <= row["retained"]),
                                  ("it is not in all snapshots", s.kept(o))], bound)
    if not s.kept(o) or not is_owner(s.last, o):
        return
    if not hasattr(s, "growth"):
        s.growth = Growth(s, is_owner)
    if "spread_over" in row:
        judge_spread(report, s, row, o)
        return
    if s.growth.user[o] == SHARED:             # a list with alternating classes
        return
    held, fresh = s.growth.of((o, row["variable"]) if "variable" in row else o)
    least = min(held[-1][0] - held[0][1], fresh[0])
    most = min(held[-1][1] - held[0][0], fresh[1])
    facts = [("not the new bytes below its nearest old object", least <= row["growth"] <= most)]
    if all(a == b for a, b in held):
        facts.append(("the number of steps with growth", row["steps_grown"] == sum(b[0] > a[0] for a, b in zip(held, held[1:]))))
        report.exact = getattr(report, "exact", 0) + 1
    report.growths = getattr(report, "growths", 0) + 1
    judge(report, "growth", row, facts, (held, fresh))
