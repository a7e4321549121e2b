"""path: every object, reference and figure of the paths to an object, and the tree of paths to a class."""
import re
from graph import ROOTS, STRONG
from steps import ends_of, MORE, shows, split, starts, Walk
from told import clean, is_bytes, is_object, judge, shares, SIZE

LINE = re.compile(rf"  (?P<what>.*?)  id (?P<id>\S+?)(?: to (?P<last>\S+?))?, retains (?P<retained>{SIZE})"
                  rf"(?:, (?P<by>by .*?|as key of .*?))?(?: \(\+(?P<folded>\d+)(?: objects?)? of (?:V8|the VM)\))?")


def shortest(g, o):
    """The number of objects on the shortest path, from a program's roots if possible; None if no root holds it. As in
    DevTools, the value of a WeakMap is as far as the farther of its table and its key."""
    if not g.live[o]:
        return ()
    if g.format == "heapsnapshot" and o in g.user_far() and o != 0:
        if "devtools" not in g.cache:
            g.cache["devtools"] = g.devtools_distances()
        return g.user_far()[o] + 2, (g.cache["devtools"][o] or 0) + 1
    if g.format == "heapsnapshot":
        return (system_far(g)[o] + 1,)
    return (g.root_far()[o] + 1,)


def system_far(g):
    """Distances from node 0 to objects that no root of the program reaches: through the engine's roots, and then from
    its stacks and temporary tables, contexts before others. Roots that node 0 does not reach come last."""
    if "system" in g.cache:
        return g.cache["system"]
    far, walked, late = {0: 0}, set(g.user_far()), []

    def take(o, steps, queue):
        if o not in far and (o not in g.user_far() or o == 0):
            far[o] = steps
            queue.append(o)

    def walk(queue, wait):
        for o in queue:
            walked.add(o)
            if wait and g.raw_names[o] in ("(Stack roots)", "(Handle scope)", "(Strong roots)"):
                late.append(o)
                hold(o, [False], queue)
                continue
            for r in g.refs[o]:
                if r.kind == STRONG:
                    take(r.to, far[o] + 1, queue)
            for e, k, v in g.of_part.get(o, ()):
                if e in walked and k in walked:
                    take(v, far.get(k, 0) + 1, queue)

    def hold(o, of_time, queue, contexts=False):
        for r in g.refs[o]:
            for_now = g.raw_names[o] != "(Strong roots)" or (len(r.name) > 15 and r.name.endswith("IdentityMapBase"))
            if r.kind == STRONG and for_now in of_time and (not contexts or g.raw_names[r.to] == "system / Context"):
                take(r.to, far[o] + 1, queue)
    walk([0], True)
    for contexts in True, False:
        queue = []
        for o in late:
            hold(o, [True], queue, contexts)
        walk(queue, False)
    queue = []
    for o in g.starts:
        take(o, 0, queue)
    walk(queue, False)
    g.cache["system"] = far
    return far


def begins_well(g, objects, o):
    """Whether a path begins at a root, and at one of the program's if these reach its end."""
    if objects[0] not in g.starts:
        return False
    if g.format != "heapsnapshot" or o not in g.user_far() or o == 0:
        return True
    return objects[0] == 0 and len(objects) > 1 and objects[1] in g.users


def path_json(a, o, most=1):
    g, r = a.g, a.g.dominators()[1]
    text = g.id_text(o)
    got = a.json(["path", "--id", text] + (["--paths", str(most)] if most > 1 else []))
    if not got:
        return
    o = g.find(text)[0]
    paths = got["paths"]
    judge(a.report, "json", text, [("a way", bool(paths) == bool(g.live[o])), ("how many", len(paths) <= most)], g.live[o])
    used = set()
    for n, p in enumerate(paths):
        rows = p["objects"]
        ids = [[x for x in g.find(row["id"]) if g.class_of(x) == (row["class"], row.get("scope", g.class_of(x)[1]))] for row in rows]
        objects = real_objects(g, ids, rows)
        judge(a.report, "path", rows[:6], [("no such path", objects is not None)], text)
        if objects is None:
            continue
        root = [x for x in g.roots if x.object == objects[0] and (ROOTS[x.kind] if x.kind < 6 else "unknown") == p["root"] and
                x.flags == p["flags"] and x.name == p.get("root_name", "")]
        facts = [("its root", bool(root)), ("its end", objects[-1] == o), ("begins at a root, a program's first", begins_well(g, objects, o) or n > 0),
                 ("retains", all(row["retained"] == r[x] for row, x in zip(rows, objects))),
                 ("class", all(row["class"] == g.class_of(x)[0] for row, x in zip(rows, objects)))]
        if not n:
            facts.append(("length", len(objects) in shortest(g, o)))
        facts.append(("objects of another path", not used & set(objects[:-1])))
        used |= {x for x in objects[:-1] if g.format != "heapsnapshot" or x and g.types[x] != "synthetic"}  # without roots
        judge(a.report, "path", [row["id"] for row in rows], facts, (shortest(g, o), [r[x] for x in objects][:5]))
        if p.get("steps"):
            ends = ends_of(g, p["steps"], want={o}, whole=True) if not n else {o}
            judge(a.report, "way", " › ".join(p["steps"]), [("steps: no such way", o in ends)], [row["id"] for row in rows])


def real_objects(g, ids, rows):
    """The objects, each held by the previous one in the printed way; several objects may share an id."""
    ways = [[x] for x in ids[0]]
    for row, next_ids in zip(rows, ids[1:]):
        ways = [w + [t] for w in ways for i, e, t in g.steps(w[-1]) if t in next_ids and is_reference(g, w[-1], row, i, e)]
        ways = list({w[-1]: w for w in ways}.values())
    return ways[0] if ways else None


def is_reference(g, o, row, i, e):
    if i is None:
        return "reference" not in row and ("ephemeron" not in row or str(row["ephemeron"].get("id") if isinstance(row["ephemeron"], dict)
                                                                         else row["ephemeron"]) == g.id_text(e))
    r = g.refs[o][i]
    return row.get("reference") == i and row.get("field", "") in (r.name, clean(r.name)) and (r.index is None or row.get("index") == r.index)


def path_screen(a, o, columns, options=()):
    g, r = a.g, a.g.dominators()[1]
    text = g.id_text(o)
    lines = a.lines(["path", "--id", text, *options], columns)
    if lines is None:
        return
    o = g.find(text)[0]
    if not g.live[o]:
        judge(a.report, "path", lines, [("garbage", any("no root holds it" in l for l in lines))])
        return
    folds = columns and "--all" not in options and "--wide" not in options
    shown, count, texts = [], 0, []
    for raw in lines:
        m = LINE.fullmatch(raw)
        if raw.startswith("root: "):
            judge(a.report, "path", raw, [("root", any(is_root(g, raw[6:], x) for x in g.roots))])
            continue
        if not m:
            if not re.search(r"more ways|longer", raw):
                a.report.bad("unparsed", raw)
            continue
        found = g.find(m["id"])
        judge(a.report, "step", raw, [("id", bool(found))])
        if not found:
            continue
        judge(a.report, "step", raw, [("retains", any(is_bytes(m["retained"], r[x]) for x in found))], [r[x] for x in found])
        what = m["what"]
        if not folds:
            judge(a.report, "step", raw, [("name", any(is_object(what, g, x, columns) for x in found))], [g.class_of(x) for x in found])
        listed = re.search(r"(list|tree) of( \d|…|(?<=tree of) )", what)
        count += 1 + int(m["folded"] or 0)
        if listed and m["last"]:
            judge(a.report, "step", raw, [("the last of a list", bool(g.find(m["last"])))])
        texts.append(what)
        shown.append((found, m["by"], bool(listed), g.find(m["last"]) if m["last"] else found))
    if not shown:
        a.report.bad("path: no steps", lines[:3])
        return
    judge(a.report, "path", lines[:9], [("its end", o in shown[-1][3])], text)
    if folds:
        ends = ends_of(g, texts, want={o}, whole=True)
        judge(a.report, "path", lines[:9], [("no such way from a root", o in ends)], text)
        if not any(s[2] for s in shown):
            judge(a.report, "path", lines[:9], [("the number of folded objects", count in shortest(g, o))], shortest(g, o))
    else:
        ways = [[x] for x in shown[0][0]]
        for (_, by, _, _), (found, _, _, _) in zip(shown, shown[1:]):
            ways = [w + [t] for w in ways for i, e, t in g.steps(w[-1]) if t in found and is_by(g, w[-1], by, i, e)]
            ways = list({(w[0], w[-1]): w for w in ways}.values())
        judge(a.report, "path", lines[:9], [("no such way", bool(ways))] + ([] if not ways else [
            ("begins at a root, a program's first", any(begins_well(g, w, o) for w in ways)),
            ("length", len(ways[0]) in shortest(g, o))]), shortest(g, o))


def is_root(g, text, root):
    """Whether this is a root's name, or its kind followed by its flags and container."""
    return text == clean(root.name) if root.name else text.split(",")[0].split(" of ")[0] == g.root_text(root)


def is_by(g, o, by, i, e):
    """", by field", ", by [7]", ", by reference 2", ", as key of ephemeron Class id 9"."""
    if i is None:
        return bool(by) and by.startswith("as key of") and by.endswith(g.id_text(e))
    want = g.field_text(o, i) or f"reference {i}"
    return by == "by " + want or bool(by) and "…" in by and shows(by[3:], want)


# Paths to a class --------------------------------------------------------------------------------

RAW_LIST = re.compile(r"((?:.*: )?)list of (\d+) (.*?)(?: \(([^()]*)\))?", re.S)
RAW_TREE = re.compile(r"((?:.*: )?)tree of (.*)", re.S)


class Tree(Walk):
    """Paths with one step for each object, the engine's objects included. A list is one step, "head: list of 9 Node
    (next)", and so are nodes of a page, "[]: tree of <li>"."""

    def come(self, o, at, mode, label):
        if at == len(self.steps):
            return
        text = self.steps[at]
        if mode and mode[0] == "tree":         # below its root: (..., class)
            self.branch(o, at, mode[1])        # by any references
            return
        if mode:                               # within a list: (remaining elements, next field, class)
            left, k, c = mode
            fields = (RAW_LIST.fullmatch(text)[4] or "").split(" › ")
            if fields != [""] and clean(label) != fields[k]:
                return
            counts = self.g.cls[o] == c        # objects of the class between two elements count, too
            if k + 1 == len(fields):
                if counts:
                    self.element(o, at, left - 1)
                elif fields == [""]:           # without names: through objects of other classes
                    self.add(o, at, mode)
            elif not counts or left > 1:
                self.add(o, at, (left - counts, k + 1, c))
                if counts:
                    self.add(o, at + 1, None)
            else:
                self.element(o, at, 0)
            return
        if shows_raw(self.g, text, label, o):
            self.add(o, at + 1, None)
        m = RAW_LIST.fullmatch(text)
        if m and shows_raw(self.g, m[1] + m[3], label, o):
            self.element(o, at, int(m[2]) - 1)
        m = RAW_TREE.fullmatch(text)
        if m and shows_raw(self.g, m[1] + m[2], label, o):
            self.branch(o, at, self.g.cls[o])

    def element(self, o, at, left):
        self.add(o, at + 1, None)              # for several paths as one, the number of a list is that of the longest
        if left:
            self.add(o, at, (left, 0, self.g.cls[o]))

    def branch(self, o, at, c):
        if self.g.cls[o] == c:
            self.add(o, at + 1, None)
        self.add(o, at, ("tree", c))

    def add(self, o, at, mode):
        if at == len(self.steps):
            self.ends.add(o)
        if (o, at, mode) not in self.seen:
            self.seen.add((o, at, mode))
            self.queue.append((o, at, mode))

    def run(self, starts, want=None):
        for o, names in starts:
            self.come(o, 0, None, names[-1])
        while self.queue:
            o, at, mode = self.queue.popleft()
            for i, _, t in self.g.steps(o):
                self.come(t, at, mode, label_raw(self.g, o, i))
                if mode and mode[0] != "tree" and self.g.cls[t] == mode[2] and mode[0]:
                    fields = (RAW_LIST.fullmatch(self.steps[at])[4] or "").split(" › ")
                    if len(fields) == 1 and any(x == o and clean(label_raw(self.g, t, j)) in fields for j, _, x in self.g.steps(t)):
                        self.element(t, at, mode[0] - 1)   # a two-way list that the path enters in its middle
        return self.ends


def label_raw(g, o, i):
    if i is None:
        return "as key"
    r = g.refs[o][i]
    return "[]" if r.index is not None or re.fullmatch(r"\d+", r.name) else r.name


def shows_raw(g, step, label, o):
    """"field: Class", "[]: Class", "local root: Class", "Class"."""
    name = g.names[o] if g.names and g.types and g.types[o] == "synthetic" and g.names[o] else g.class_of(o)[0]
    if g.format == "hprof" and name == "java.lang.Class" and g.names[o]:
        name = f"class {g.names[o]}"
    return clean(step) in (clean(f"{label}: {name}"), clean(name) if not label else None)


def raw_ends(g, names):
    t = Tree(g, [])
    t.steps = names
    return t.run([(x.object, (g.root_text(x, " root"),)) for x in g.roots if not x.flags & 2])


def are_lists(g, names):
    """Whether each list has at most as many elements as its fields reach, and each tree branches."""
    for k, text in enumerate(names):
        m = RAW_LIST.fullmatch(text) or RAW_TREE.fullmatch(text)
        if m and (k + 1, *names[:k + 1]) not in g.cache:
            what = m[3] if m.re is RAW_LIST else m[2]
            heads = raw_ends(g, names[:k] + [m[1] + what])
            g.cache[(k + 1, *names[:k + 1])] = any(branches(g, h) for h in heads) if m.re is RAW_TREE else \
                int(m[2]) <= max((along(g, h, (m[4] or "").split(" › ")) for h in heads), default=0)
        if m and not g.cache[(k + 1, *names[:k + 1])]:
            return False
    return True


def along(g, head, fields):
    """The number of objects of the head's class that fields reach (or unnamed references, through other objects); in
    a two-way list also those before it."""
    seen, stack = {head}, [head]
    while stack:
        o = stack.pop()
        for i, _, t in g.steps(o):
            if t not in seen and (fields == [""] or clean(label_raw(g, o, i)) in fields):
                seen.add(t)
                stack.append(t)
    if len(fields) == 1:
        stack = [head]
        while stack:
            o = stack.pop()
            for i, _, t in g.steps(o):
                if t not in seen and g.cls[t] == g.cls[head] and any(x == o and clean(label_raw(g, t, j)) in fields for j, _, x in g.steps(t)):
                    seen.add(t)
                    stack.append(t)
    return sum(g.cls[o] == g.cls[head] for o in seen)


def branches(g, head):
    """Whether an object of the head's class holds two others, directly or through objects of other classes."""
    seen, stack = {head}, [head]
    while stack:
        o = stack.pop()
        kids, inner, within = set(), [o], {o}
        while inner and len(within) < 1000:
            for _, _, t in g.steps(inner.pop()):
                if t in within:
                    continue
                within.add(t)
                if g.cls[t] == g.cls[head]:
                    kids.add(t)
                else:
                    inner.append(t)
        if len(kids - {o}) > 1 or g.types and g.types[head] == "native":
            return True
        stack += kids - seen
        seen |= kids
    return False


def class_ways(a, name):
    """JSON: sums, and whether there are such paths to as many objects."""
    g = a.g
    got = a.json(["path", "--all", "--class", name])
    if not got:
        return
    members = [o for o in g.members(name) if o < g.described]
    live = [o for o in members if g.live[o]]
    count, total = g.class_removed(name)
    judge(a.report, "class json", {k: v for k, v in got.items() if k != "rows"}, [
        ("objects", got["objects"] == len(live)), ("bytes", got["bytes"] == sum(g.sizes[o] for o in live)),
        ("retained", got["retained"] == total), ("unheld", got["unheld"] == len(members) - len(live))],
        (len(live), sum(g.sizes[o] for o in live), total, len(members) - len(live)))
    rows, path = got["rows"], []
    for k, row in enumerate(rows):
        del path[row["depth"]:]
        path.append(row["name"])
        kids = []
        for other in rows[k + 1:]:
            if other["depth"] <= row["depth"]:
                break
            if other["depth"] == row["depth"] + 1:
                kids.append(other)
        if kids:
            judge(a.report, "class json", row, [(f"{w} of the parts", sum(x[w] for x in kids) == row[w]) for w in ("bytes", "objects")],
                  [(x["bytes"], x["objects"]) for x in kids])
        if row["depth"] and "<other>" not in path and "<self>" not in path:
            ends = raw_ends(g, path[1:])
            within = [o for o in live if o in below_of(g, ends)]
            judge(a.report, "class json", (path[1:], row["objects"]), [
                ("no such paths to as many", len(within) >= row["objects"] and sum(g.sizes[o] for o in within) >= row["bytes"]),
                ("a list of that length, a tree", are_lists(g, path[1:]))],
                (len(ends), len(within)))


def below_of(g, ends):
    seen, stack = set(ends), list(ends)
    while stack:
        for _, _, t in g.steps(stack.pop()):
            if t not in seen:
                seen.add(t)
                stack.append(t)
    return seen


BAR = "[█▉▊▋▌▍▎▏ ]{8}"
ROW = re.compile(rf"\s*(?P<bytes>{SIZE})\s+(?P<share>[\d.]+%)\s+(?P<objects>\d+)  (?:{BAR}  )?(?P<pad> *)(?P<text>\S.*)")
BARE = re.compile(rf"\s*(?P<bytes>{SIZE})\s+(?P<share>[\d.]+%)\s+(?P<objects>\d+)  (?P<pad> *)(?P<text>\S.*)")


def class_screen(a, name, columns):
    """Lines of the tree: figures within the bounds of possible paths; each chain is on a path from a root."""
    g = a.g
    lines = a.lines(["path", "--class", name], columns)
    if lines is None:
        return
    live = [o for o in g.members(name) if g.live[o]]
    total, all_ = g.class_removed(name)[1], sum(g.sizes[o] for o in live)
    m = re.match(rf"(\d+) objects? of class .*, which retains? ({SIZE})", lines[0])
    if m:
        judge(a.report, "class head", lines[0], [("objects", int(m[1]) == len(live)), ("retained", is_bytes(m[2], total))], (len(live), total))
    path = []
    for raw in lines[1:]:
        m = (ROW if columns and columns > 80 else BARE).fullmatch(raw)
        if not m:
            if not re.search(r"not listed|left out|not shown|hidden", raw):
                a.report.bad("unparsed", raw)
            continue
        depth = len(m["pad"]) // 2
        number, _, unit = m["bytes"].partition(" ")
        facts = [("share", unit not in ("", "B") or shares(m["share"], int(number), all_))]
        del path[depth:]
        while len(path) < depth:
            path.append("…")
        path.append(m["text"])
        chain = [s for p in path[1:] for s in split(p)]
        if chain[-1:] == ["<self>"]:           # folded into its parent's line: "Node › <self>"
            chain.pop()
            while chain and MORE.fullmatch(chain[-1]):
                chain.pop()
        if chain and "<other>" not in path and "<self>" not in chain:
            facts.append(("two adjacent omissions", not re.search(r"more › … \d+ more", m["text"])))
            if columns:
                ends = Walk(g, chain, upto=True, brief=True).run(starts(g, False))
            else:
                ends = raw_ends(g, chain)
            within = [o for o in live if o in below_of(g, ends)]
            facts.append(("no such paths to as many", len(within) >= int(m["objects"])))
            facts.append(("a list of that length, a tree", columns or are_lists(g, chain)))
        if not depth:
            facts += [("objects", int(m["objects"]) == len(live)), ("bytes", is_bytes(m["bytes"], all_))]
        judge(a.report, "class", raw, facts, (len(live), all_))

