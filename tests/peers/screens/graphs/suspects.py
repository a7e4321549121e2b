"""suspects of objects: figures, growth, objects below, and the shown paths."""
import json, re
import names, origins
from changes import by_ids, coded, pairs, run
from graph import STRONG
from growth import children, judge_growth, judge_named
from lists import largest
from steps import ends_of, is_engine, label_of, MORE, split, Walk
from text import like
from told import clean, is_bytes, is_class, is_object, is_quoted, judge, shares, SIZE, whole_lines

TENTH = 10
MACHINE = "(compiled code)", "(object shape)", "(system)"
DATA = "string", "concatenated string", "sliced string", "number", "bigint", "symbol"


# Classes of Dart's virtual machine.
VM = {"Root", "Isolate", "Library", "Namespace", "Class", "PatchClass", "Field", "Function", "ClosureData", "Code", "Script",
      "ObjectPool", "Instructions", "InstructionsSection", "KernelProgramInfo", "ICData", "PcDescriptors", "CodeSourceMap",
      "CompressedStackMaps", "LocalVarDescriptors", "ExceptionHandlers", "Context", "ContextScope", "TypeArguments",
      "TypeParameters", "SubtypeTestCache", "MegamorphicCache", "UnlinkedCall", "WeakArray", "Sentinel", "FfiTrampolineData",
      "LoadingUnit"}


def is_user(g, o):
    """A program's own object: not the engine's, and not a mere part of others."""
    if o >= g.described:
        return False
    if g.format == "hprof" and g.class_of(o)[0] == "java.lang.Class":
        return False                           # its static fields are unrelated
    if g.format != "heapsnapshot":
        return g.format != "dart" or bool(g.class_of(o)[1]) or g.class_of(o)[0] not in VM
    return g.types[o] not in DATA and not is_engine(g, o) and not g.names[o].startswith("Node / ")


def is_text_of_engine(g, o):
    """Whether an object is a Dart text that no object of the program holds. Only objects without outgoing references
    count."""
    texts = "_OneByteString", "_TwoByteString"
    return g.format == "dart" and g.class_of(o)[0] in texts and not g.refs[o] and not any(
        g.live[p] and is_user(g, p) and g.class_of(p)[0] not in texts and any(r.to == o for r in g.refs[p]) for p in range(g.described))


def is_owner(g, o):
    """Objects to which growth is attributed: also the variables of closures."""
    return is_user(g, o) or g.format == "heapsnapshot" and g.names[o] == "system / Context"


def object_of(g, row):
    """The object of a row, or None; several domains may share an id."""
    found, r = g.find(row["id"]), g.dominators()[1]
    return min(found, default=None, key=lambda o: (g.class_of(o) != (row["class"], row.get("scope", "")), not g.live[o],
                                                   r[o] != row["retained"]))


class Series:
    """Snapshots of one process in order; old: objects that are in all of them, by their number in the last one."""

    def __init__(self, graphs):
        self.graphs, self.last, self.old = graphs, graphs[-1], {}
        self.dart = all(g.format == "dart" and g.identity for g in graphs)
        self.known = len(graphs) > 1 and all(
            coded(a, b)[1] if self.dart else a.format == b.format == "heapsnapshot" and by_ids(a, b)
            for a, b in zip(graphs, graphs[1:]))
        if not self.known:
            return
        chains = {o: [o] for o in range(self.last.described)}
        for a, b in list(zip(graphs, graphs[1:]))[::-1]:
            then = {p: o for o, p in self.pairs(a, b).items()}
            chains = {o: [then[c[0]]] + c for o, c in chains.items() if c[0] in then}
        self.old = chains

    def pairs(self, a, b):
        return coded(a, b)[0] if self.dart else pairs(a, b)[0]

    def kept(self, o):
        return o in self.old and all(g.live[n] for g, n in zip(self.graphs, self.old[o]))

    def fresh(self, o):
        """Bytes of an object that are new since the first snapshot."""
        if not self.last.live[o]:
            return 0
        before = self.graphs[0].sizes[self.old[o][0]] if o in self.old else self.first_size(o)
        return max(0, self.last.sizes[o] - before)

    def first_size(self, o):
        if not hasattr(self, "direct"):
            self.direct = {p: a for a, p in self.pairs(self.graphs[0], self.last).items()}
        return self.graphs[0].sizes[self.direct[o]] if o in self.direct else 0

    def below(self, o):
        """With several snapshots only new objects count. Returns the objects that are surely below it, and those that
        may be: it references them but shares them with others."""
        g, down, sure, stack = self.last, children(self.last), set(), [o]
        while stack:
            for c in down.get(stack.pop(), ()):
                if c not in self.old and (not (self.dart and self.known) or g.identity[c]):
                    sure.add(c)                # without an identity hash code an object may be old
                if c not in self.old or not is_owner(g, c):
                    stack.append(c)
        may = {t for t in self.leads_to(o) if t not in self.old}
        return sure, may

    def leads_to(self, o):
        seen, stack = {o}, [o]
        while stack:
            for _, _, t in self.last.steps(stack.pop()):
                if t not in seen:
                    seen.add(t)
                    stack.append(t)
        return seen

    def reached_fresh(self, o):
        """New bytes of all objects that an object references, directly or not."""
        return sum(self.fresh(t) for t in self.leads_to(o))


# JSON --------------------------------------------------------------------------------------------

def suspect_json(report, s, row, others):
    g, r = s.last, s.last.dominators()[1]
    o = object_of(g, row)
    if o is None:
        report.bad("suspect: an unknown id", row["id"])
        return
    facts = [("class", row["class"] == g.class_of(o)[0]), ("retains", row["retained"] == r[o]), ("it is garbage", bool(g.live[o]))]
    if "in_no_other" in row:
        inner = [p for p in others if p != o and o in set(g.ancestors(p))]
        top = [p for p in inner if not any(q in inner for q in g.ancestors(p))]
        facts.append(("bytes in no other suspect", row["in_no_other"] == r[o] - sum(r[p] for p in top)))
    judge(report, "suspect", row, facts, (g.class_of(o), r[o]))
    origins.json(report, "suspect", g, o, row)
    sure, may = s.below(o)
    exact = "shared" not in row and not s.known
    for b in row["below"]:
        c = b["class"], b.get("scope", "")
        parts = slice(0, 1 if g.format == "hprof" else 2)  # classes of several loaders are one
        least, most = (sum(g.class_of(p)[parts] == c[parts] for p in some) for some in (sure, sure | may))
        named = sum(g.class_of(p) == c and g.name_of(p) == b.get("name") for p in sure | may)
        least = 0 if s.known and (b["class"] in MACHINE or not s.kept(o) or in_list(g, o) or o in (g.users or ())) else least
        judge(report, "suspect", (row["id"], b), [("objects below it", b["objects"] == least if exact else least <= b["objects"] <= most),
                                                  ("the name below it belongs to no majority", "name" not in b or 2 * named > b["objects"])],
              (least, most))
    if "list_of" in row:
        lists = re.findall(r"list of (\d+) ", " ".join((row["path"] + row["within"])[-1:]))
        judge(report, "suspect", row, [("its list is longer than on the path", any(int(n) >= row["list_of"] for n in lists))], lists)
    way(report, g, "suspect", row["path"], {o}, row, upto=True)
    if row["within"] and not any(re.search(r"list of \d+ system /", t) for t in row["within"]):
        inside = Walk(g, row["within"], wild=True)
        ends = inside.run([(t, (label_of(g, o, i, t),)) for i, _, t in g.steps(o)])
        judge(report, "suspect", (row["id"], row["within"]), [("within: no such path", bool(ends) or inside.tired)])


def way(report, g, what, steps, want, raw, least=1, cut=False, upto=False):
    """Whether enough of the objects are at the end of such a path from a root."""
    if not steps:
        report.bad(f"{what}: no way is shown", str(raw)[:300])
        return
    if steps[0].startswith("…") and not MORE.fullmatch(steps[0]):  # starts in the middle: the path of several objects
        steps = split(" › ".join(steps))
        mine = [(r.to, (label_of(g, p, i, r.to),)) for p in range(len(g.ids)) if g.live[p] for i, r in enumerate(g.refs[p])
                if r.kind == STRONG and g.live[r.to]] + [(o, ("",)) for o in range(len(g.ids)) if g.live[o]]
        ends = Walk(g, steps[1:], upto).run(mine, want)
        judge(report, what, " › ".join(steps), [("no such way", len(ends & want) >= least)], f"{len(ends & want)} of {len(want)}, at least {least}")
        return
    if not cut and any(MORE.fullmatch(s) for s in steps):
        report.bad(f"{what}: a way is folded in the middle, on no terminal", str(steps))
    ends = ends_of(g, steps, upto, want, brief=cut)
    judge(report, what, " › ".join(steps), [("no such path from a root", len(ends & want) >= least)],
          f"{len(ends & want)} of {len(want)} objects, at least {least}; {[g.id_text(o) for o in list(want)[:3]]}")


def in_list(g, o):
    """Whether an object holds, or is held by, another object of its class."""
    up = g.dominators()[0]
    return any(up[p] == q and g.cls[p] == g.cls[q] for p, q in [(o, up[o])] + [(p, o) for p in children(g).get(o, ())] if q is not None)


def counting(s, live):
    """The objects of a class that its majority refers to: new ones, else larger ones, else all."""
    if not s.known:
        return live
    return [o for o in live if o not in s.old] or [o for o in live if s.fresh(o)] or live


def class_json(report, s, row):
    g = s.last
    c = [k for k, named in enumerate(g.classes) if named == (row["class"], row.get("scope", ""))]
    live = [o for o in range(g.described) if g.live[o] and g.cls[o] in c]
    total = g.removed(live)[1]
    before = []
    facts = [("objects", row["objects"] == len(live)), ("bytes", row["bytes"] == sum(g.sizes[o] for o in live)),
             ("retains", row["retained"] == total)]
    if "growth" in row:
        a = s.graphs[0]
        before = [o for o in range(a.described) if a.live[o] and a.class_of(o) == (row["class"], row.get("scope", ""))]
        facts.append(("growth", row["growth"] == sum(g.sizes[o] for o in live) - sum(a.sizes[o] for o in before)))
    judge(report, "class", row, facts, (len(live), sum(g.sizes[o] for o in live), total))
    origins.class_json(report, g, [o for o in live if o not in s.old] if s.known else live, row)
    of, told, all_ = counting(s, live), row["path_objects"], row["path_of"]
    if row["path"] or "holder_path" in row:
        by_class = len(s.graphs) > 1 and not s.known
        judge(report, "class", {k: row[k] for k in ("class", "path_objects", "path_of")}, [
            ("held by: of how many", row["objects"] - len(before) <= all_ <= len(of) if by_class else all_ == len(of)),
            ("held by: no majority", 2 * told > all_)], len(of))
        if by_class and row["path"]:
            more = [len(ends_of(h, row["path"], True, None) & set(some)) for h, some in ((g, live), (s.graphs[0], before))]
            judge(report, "class", (row["class"], row["path"]), [
                ("not the place where it grew", more[0] > more[1] or all_ > row["objects"] - len(before) or row["objects"] == len(before))], more)
    if row["path"]:
        way(report, g, "class", row["path"], set(of), row, least=told, upto=True)
    elif "holder_path" in row:
        ends = ends_of(g, row["holder_path"], True, None)
        judge(report, "class", (row["class"], row["holder_path"]), [
            ("held below: it references fewer of them", any(len(s.leads_to(o) & set(of)) >= told for o in ends))], (told, len(of)))


def largest_holder(report, s, listed):
    """No unrelated object of the program retains more than the suspects do."""
    g, r = s.last, s.last.dominators()[1]
    ids = [g.id_text(o) for o in listed]
    users = [o for o in largest(g) if is_user(g, o) and r[o]]
    if not users:
        return
    judge(report, "suspects", ids, [("no suspect, although objects of the program have the bytes", bool(listed))],
          [(g.id_text(o), g.class_of(o)[0], r[o]) for o in users[:3]])
    if not listed:
        return
    related = set(listed)
    for o in listed:
        related.update(g.ancestors(o))
    for o in users:
        if o in related or any(p in listed for p in g.ancestors(o)):
            continue
        more = r[o] > max(r[p] for p in listed) or r[o] > min(r[p] for p in listed) and r[o] * TENTH >= g.bytes
        judge(report, "suspects", (g.id_text(o), g.class_of(o)[0], r[o]), [("a larger holder is omitted", not more)],
              [(g.id_text(p), g.class_of(p)[0], r[p]) for p in listed])
        break                                  # the following objects are smaller
    engine = [k for k, p in enumerate(listed) if is_text_of_engine(g, p) or
              not is_user(g, p) and not (g.types and g.types[p] in DATA)]
    some = any(k not in engine and r[p] * TENTH >= g.bytes for k, p in enumerate(listed))  # the program explains them
    judge(report, "suspects", [(g.id_text(p), g.class_of(p)[0], r[p]) for p in listed], [
        ("the engine's own comes first", not engine or engine[0] > 0 or not some)])


def is_loose(g, o):
    """Whether an object holds unrelated objects: variables, builtins, all roots."""
    return not is_user(g, o) or g.format == "heapsnapshot" and (
        o in g.users or o in g.starts or g.types[o] == "closure" or g.names[o] == "system / Context")


def explained(report, s, listed, shared):
    """If one object of the program holds at least half of the heap, a third of that must be explained: by itself, by
    suspects below it with shared objects, by one above, or by one that references and shares as much. Objects of the
    virtual machine do not count."""
    g, r = s.last, s.last.dominators()[1]
    for o in largest(g):
        if 2 * r[o] < g.bytes:
            break
        if is_loose(g, o) or any(p in listed and not is_loose(g, p) for p in g.ancestors(o)):
            continue
        if any(3 * n >= r[o] and o in s.leads_to(p) for p, n in shared.items()):
            continue
        if any(2 * r[c] > r[o] and g.format == "dart" and not is_user(g, c) for c in children(g).get(o, ())):
            continue
        below = [p for p in listed if p == o or o in set(g.ancestors(p))]
        top = [p for p in below if not any(q in below for q in g.ancestors(p))]
        judge(report, "suspects", (g.id_text(o), g.class_of(o)[0], r[o]), [
            ("neither the largest holder nor an object above it is named", 3 * sum(r[p] + shared.get(p, 0) for p in top) >= r[o])],
            [(g.id_text(p), g.class_of(p)[0], r[p]) for p in listed])


def detached_nodes(g):
    """Nodes that a page removed and that are alive, without the browser's own objects."""
    return [o for o in range(g.described) if g.live[o] and g.detached[o] == 2 and
            not g.names[o].startswith(("Node / ", "blink::", "system / "))]


def detached_json(report, s, told):
    g, before = s.last, len(detached_nodes(s.graphs[0])) if len(s.graphs) > 1 else None
    nodes = detached_nodes(g)
    if not told:
        judge(report, "detached", told, [("nodes", not nodes)], len(nodes))
        return
    counts = {}
    for o in nodes:
        counts[g.class_of(o)[0]] = counts.get(g.class_of(o)[0], 0) + 1
    judge(report, "detached", told, [("nodes", told["nodes"] == len(nodes)), ("retained", told["retained"] == g.removed(nodes)[1]),
                                     ("classes", all(counts.get(c) == n for c, n in told["classes"].items())),
                                     ("nodes of the first snapshot", told.get("nodes_before") == before)],
          (len(nodes), g.removed(nodes)[1], counts, before))
    holders = {o: [p for p in range(len(g.ids)) if g.live[p] and any(t == o for _, _, t in g.steps(p))] for o in nodes} \
        if len(g.ids) < 3000 else {}
    if holders and "path_of" in told:
        inside = {o: [g.detached[p] == 2 for p in ps] for o, ps in holders.items()}
        least, most = (sum(bool(i) and not some(i) for i in inside.values()) for some in (any, all))
        judge(report, "detached", told, [("the number held from outside", least <= told["path_of"] <= most),
                                         ("held by: more than there are", told["path_nodes"] <= told["path_of"])], (least, most))
    if told.get("path"):
        ends = ends_of(g, told["path"])
        held = [o for o in nodes if any(t == o for e in ends for _, _, t in g.steps(e))]
        judge(report, "detached", told, [("no such path to as many nodes", len(held) >= told["path_nodes"])], len(held))


def suspects_json(tool, report, paths, s):
    report.by = "suspects"
    out, beside, status = run(tool, report, ["suspects", "--json", *paths])
    if status:
        report.bad("no answer", beside[:200])
        return None
    try:
        got = json.loads(out)["graphs"][0]
    except (ValueError, LookupError) as why:
        report.bad("JSON", f"{why!r} {out[:200]}")
        return None
    judge(report, "json", got["live_bytes"], [("live bytes", got["live_bytes"] == s.last.bytes),
                                              ("snapshots", got["snapshots"] == len(s.graphs))], s.last.bytes)
    rows = got["suspects"]
    listed = [object_of(s.last, row) for row in rows if s.last.find(row["id"])]
    for row in rows:
        suspect_json(report, s, row, listed)
        if len(paths) > 1 and s.last.find(row["id"]):
            judge_growth(report, s, row, object_of(s.last, row), is_owner)
    for row in got["classes"]:
        class_json(report, s, row)
    if s.last.format == "heapsnapshot":
        detached_json(report, s, got.get("detached"))
    if len(paths) == 1:
        largest_holder(report, s, listed)
        explained(report, s, listed, {object_of(s.last, row): row["shared"] for row in rows if "shared" in row})
    elif s.known:
        new = sum(s.fresh(o) for o in range(s.last.described))
        told = sum(row["growth"] for row in rows)
        judge_named(report, s, rows, new)
        judge(report, "growth", [(row["id"], row["growth"]) for row in rows], [("the sum exceeds the new and larger objects", told <= new)], new)
    else:
        judge(report, "suspects", [row["id"] for row in rows], [("growth by object although ids are not comparable", not rows)])
        if s.last.format == "heapsnapshot":
            judge(report, "suspects", beside[:300], [("no reason is given for the comparison by class", "ids" in beside + out)])
    return got


# Text --------------------------------------------------------------------------------------------

HEAD = re.compile(rf".*?: (?:(\d+) snapshots, ({SIZE}) to )?({SIZE}) alive")
PILE = re.compile(r"\s*(\d+)  (.*), id ([0-9a-f]+)")
GROWTH = re.compile(rf"\s+([+-]?{SIZE}); ([+-]?{SIZE}) a step; grew in (\d+) of (1(?= step\b)|(?!1 )\d+) steps?\b(.*)")
RETAINS = re.compile(rf"retains ({SIZE}), (> ?100%|[\d.]+%) of all(?:; ({SIZE}) of it in no other suspect)?")
CLASS = re.compile(rf"\s*(\d+)  (.*): (?=(?:1 object\b.*retains|(?!1 )\d+ objects\b.*retain) )(\d+) objects?, ({SIZE}), retains? ({SIZE})"
                   rf"(?:; ([+-]?{SIZE})(?:, (?=[+-](?:1 object|(?!1 )\d+ objects)\b)([+-][1-9]\d*) objects?)?(?:[,;].*)?)?")
HELD = re.compile(r"\s+held (?:by|below) (.*?)(?:  \((?:(\d+)%|(\d+)) of( the new| the larger)? (\d+)\))?")

NAMES = re.compile(" {6}(held by|held below|most of it is in|below it:|new in it:|shared with others:) ")  # such lines may end in a name


def signed(shown, n):
    return is_bytes(shown.lstrip("+-"), abs(n)) and (shown[0] == "-") == (n < 0)


def suspects_text(tool, report, paths, s, got, columns):
    """The same on a screen, compared with JSON, which was checked."""
    report.by = "suspects"
    if columns:
        out, status = tool.run(["suspects", *paths], columns)
        report.screens["suspects"] += 1
    else:
        out, beside, status = run(tool, report, ["suspects", *paths])
    if status or got is None:
        return
    g, now, kind, rows, placed = s.last, None, None, [], []
    for raw in whole_lines(report, out, columns):
        if raw.endswith("…") and not NAMES.match(raw):
            report.bad("a figure is cut off", raw)
        head, pile, growth, retains, cls, held = (p.fullmatch(raw) if p is not RETAINS else p.search(raw)
                                                  for p in (HEAD, PILE, GROWTH, RETAINS, CLASS, HELD))
        inner = re.fullmatch(r"\s+most of it is in (.*)", raw)
        if raw.startswith("detached DOM nodes"):
            now, kind = got.get("detached"), "detached"
        nodes = re.match(rf"  (\d+) nodes? \((.*?)\), retains? ({SIZE})(?:; (\d+) in the first snapshot)?", raw)
        if nodes and kind == "detached" and now:
            judge(report, "detached", raw, [("nodes", int(nodes[1]) == now["nodes"]), ("retained", is_bytes(nodes[3], now["retained"])),
                                            ("nodes of the first snapshot", nodes[4] == (None if len(paths) == 1 else str(now["nodes_before"]))),
                                            ("classes", bool(columns) or nodes[2] == ", ".join(
                                                f"{n} {clean(c.removeprefix('Detached '))}" for c, n in now["classes"].items()))], now)
        elif held and kind == "detached" and now:
            told = split(re.sub(r"  \(\d.*$", "", held[1]))
            names.kept(report, g, raw, columns, told, now["path"], len(raw) - len(re.sub(r"  \(\d.*$", "", held[1])))
            judge(report, "detached", raw, [("another path than in JSON", told == now["path"] or "…" in raw and told[-1:] == now["path"][-1:] or
                                             bool(columns))], now["path"])
            continue
        if re.match(r" {6}(source|allocated by) ", raw) and now and kind:
            origins.line(report, g, kind, raw, now, object_of)
            placed.append(now)
        if re.match(r"\s*\d+  ", raw) and not (pile or cls):
            now = None
            report.bad("unparsed", raw)
        if (pile or cls) and now:
            rows.append(now)
        if head:
            judge(report, "head", raw, [("bytes", is_bytes(head[3], g.bytes)), ("before", not head[2] or is_bytes(head[2], s.graphs[0].bytes))],
                  (s.graphs[0].bytes, g.bytes))
        elif pile:
            k, kind = int(pile[1]) - 1, "suspect"
            now = got["suspects"][k] if k < len(got["suspects"]) else None
            o = object_of(g, now) if now else None
            judge(report, "suspect", raw, [("id", now is not None and now["id"] == pile[3])] + ([] if o is None or not now else [
                ("name", is_named(g, re.sub(r"^(variable .* of [^:]*: )?(list of \d+ |tree of )?", "", pile[2]), o, columns)),
                ("variable", pile[2].startswith("variable ") == ("variable" in now)),
                ("list", not re.match(r"(variable .* of [^:]*: )?list of", pile[2]) or f"list of {now.get('list_of')} " in pile[2])]), now)
        elif cls:
            kind, k = "class", int(cls[1]) - 1
            now = got["classes"][k] if k < len(got["classes"]) else None
            judge(report, "class", raw, [("order", now is not None)] + ([] if not now else [
                ("objects", int(cls[3]) == now["objects"]), ("bytes", is_bytes(cls[4], now["bytes"])),
                ("retains", is_bytes(cls[5], now["retained"])), ("growth", not cls[6] or signed(cls[6], now["growth"])),
                ("name", is_class(cls[2], g, g.classes.index((now["class"], now.get("scope", ""))), columns))]), now)
        elif retains and now and kind == "suspect":
            facts = [("retains", is_bytes(retains[1], now["retained"])), ("share", shares(retains[2], now["retained"], g.bytes))]
            if retains[3]:
                facts.append(("in no other", is_bytes(retains[3], now["in_no_other"])))
            if growth:
                facts += [("growth", signed(growth[1], now["growth"])), ("a step", signed(growth[2], now["per_step"])),
                          ("steps", int(growth[3]) == now["steps_grown"] and int(growth[4]) == len(paths) - 1)]
            judge(report, "suspect", raw, facts, now)
        elif held and kind == "suspect" and held[1] == "no path from a root":
            judge(report, kind, raw, [("a root reaches it", object_of(g, now) not in led_to(g))])
        elif inner and now and kind == "suspect":
            names.kept(report, g, raw, columns, split(inner[1]), now["within"], len(raw) - len(inner[1]), rooted=False)
        elif held and now:
            steps = split(held[1])
            names.kept(report, g, raw, columns, steps, now["path"] or now.get("holder_path", []), len(raw) - len(held[1]))
            if kind == "suspect" and g.find(now["id"]):
                way(report, g, "suspect", steps, {object_of(g, now)}, raw, cut=bool(columns), upto=True)
            elif kind == "class" and "path_objects" in now:
                of = counting(s, [o for o in range(g.described) if g.live[o] and g.class_of(o) == (now["class"], now.get("scope", ""))])
                judge(report, "class", raw, [("held by or below", ("held below" in raw) == ("holder_path" in now))])
                if now["path"]:
                    way(report, g, "class", steps, set(of), raw, least=now["path_objects"], cut=bool(columns), upto=True)
                judge(report, "class", raw, [("the number held this way", int(held[3] or now["path_of"]) == now["path_objects"])], now["path_objects"])


    rows += [now] if now and kind != "detached" else []
    for row in rows:
        judge(report, "suspect", row, [("its source location is only in JSON", row in placed or not any(
            row.get(k) for k in ("source", "stack", "allocated_by")))])


def led_to(g):
    """Objects that strong references reach from the first node of a snapshot."""
    seen, stack = {0}, [0]
    while stack:
        for _, _, t in g.steps(stack.pop()):
            if t not in seen:
                seen.add(t)
                stack.append(t)
    return seen


def is_named(g, shown, o, columns):
    if g.format == "hprof" and g.values[o].tag == 7:
        return is_object(shown, g, o, columns)
    if is_class(shown, g, g.cls[o], columns):
        return not g.name_of(o) or bool(columns)
    at = shown.rfind('  "')
    return at > 0 and is_class(shown[:at], g, g.cls[o], columns) and (
        is_quoted(shown[at + 2:], g.name_of(o)) or bool(columns) and like(shown[at + 2:].rstrip("."), f'"{clean(g.name_of(o))[:60]}"'))
