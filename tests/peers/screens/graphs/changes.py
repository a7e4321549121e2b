"""diff of objects: class by class, and object by object where ids or codes are of one process."""
import collections, json, re, subprocess
from told import clean, is_class, judge

LIMIT = 100                      # one common id in so many may name something else


def by_class(g, live=False):
    table = collections.defaultdict(lambda: [0, 0])
    for o in range(g.described):
        if not live or g.live[o]:
            row = table[g.class_of(o)]
            row[0] += g.sizes[o]
            row[1] += 1
    return table


def attached(name):
    return name[9:] if name.startswith("Detached ") else name


def sameness(a, o, b, p):
    """Of two nodes of one id: (whether they are one, whether the name differs)."""
    if a.types and a.types[o] != b.types[p] or attached(a.class_of(o)[0]) != attached(b.class_of(p)[0]) or \
            a.class_of(o)[1] != b.class_of(p)[1]:
        return False, True
    if not a.types or a.types[o] in ("object", "native"):
        return True, False
    return True, a.raw_names[o] != b.raw_names[p]


def pairs(a, b):
    """{object before: object after} by id and class, how many ids are common and how many of them name another class."""
    later = {}
    for p in range(b.described):
        later.setdefault(b.ids[p], p)
    out, common, other, taken = {}, 0, 0, set()
    for o in range(a.described):
        p = later.get(a.ids[o])
        if p is None:
            continue
        same, renamed = sameness(a, o, b, p)
        common += 1
        other += renamed or not same
        if same and p not in taken:
            out[o] = p
            taken.add(p)
    return out, common, other


def by_ids(a, b):
    """Whether ids can be compared."""
    _, common, other = pairs(a, b)
    return other * LIMIT <= common if common else not (a.described and b.described)


def coded(a, b):
    """{before: after} by class, its library, and identity code: of several alike the first is the first."""
    def keys(g):
        seen, out = collections.Counter(), {}
        for o in range(g.described):
            if g.identity[o]:
                c = g.cls[o]
                key = g.class_of(o)[0], g.libraries[c] if c < len(g.libraries) else None, g.identity[o]
                seen[key] += 1
                out[key + (seen[key],)] = o
        return out
    x, y = keys(a), keys(b)
    few = min(len(x), len(y))
    both = {o: y[k] for k, o in x.items() if k in y}
    return both, not (few >= 256 and len(both) < few // 64)


class Changes:
    """Two graphs of one format; what is new, gone and kept."""

    def __init__(self, a, b):
        self.a, self.b, self.pairs, self.told = a, b, None, lambda g, o: True
        if a.format == b.format == "heapsnapshot":
            self.pairs = pairs(a, b)[0] if by_ids(a, b) else None
        elif a.format == b.format == "dart" and a.identity and b.identity:
            self.told = lambda g, o: g.identity[o] != 0
            both, same = coded(a, b)
            self.pairs = both if same else None

    def lists(self):
        a, b = self.a, self.b
        later = {p: o for o, p in self.pairs.items()}
        new = [(None, p) for p in range(b.described) if p not in later and self.told(b, p)]
        gone = [(o, None) for o in range(a.described) if o not in self.pairs and self.told(a, o)]
        changed = [(o, p) for o, p in self.pairs.items() if a.sizes[o] != b.sizes[p]]
        return {"new": new, "gone": gone, "changed": changed}

    def rows(self):
        """By class: new, their bytes, gone, their bytes, kept, their bytes before and after."""
        table, a, b = collections.defaultdict(lambda: [0] * 7), self.a, self.b
        lists = self.lists()
        for _, p in lists["new"]:
            row = table[b.class_of(p)]
            row[0] += 1
            row[1] += b.sizes[p]
        for o, _ in lists["gone"]:
            row = table[a.class_of(o)]
            row[2] += 1
            row[3] += a.sizes[o]
        for o, p in self.pairs.items():
            row = table[b.class_of(p)]
            row[4] += 1
            row[5] += a.sizes[o]
            row[6] += b.sizes[p]
        return {c: r for c, r in table.items() if r[0] or r[2] or r[5] != r[6]}


def run(tool, report, arguments):
    """Text, what is said beside it, and status."""
    import shlex
    from referee import ENV
    report.command = " ".join(shlex.quote(x) for x in ["heapdump", *arguments])
    p = subprocess.run([tool.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=ENV)
    report.screens[arguments[0]] += 1
    return p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace"), p.returncode


CHANGE = re.compile(r"\s*(?P<change>[+-]?\d+)\s+(?P<before>\d+)\s+(?P<after>\d+)\s+(?P<objects>[+-]?\d+)  (?P<name>.*)")
KEPT = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([+-]?\d+)\s+(\d+)  (.*)")
MOVED = re.compile(r"\s*([+-]?\d+)\s+(\S+)\s+(\S+)  (.*)")
TITLES = {"new objects": "new", "objects that are gone": "gone", "objects of another size": "changed",
          "new object": "new", "object that is gone": "gone", "object of another size": "changed"}
ONE = "new object|object that is gone|object of another size"
MANY = "new objects|objects that are gone|objects of another size"


def diff(tool, report, paths, a, b, live, columns):
    report.by = "diff"
    options = ["--live"] if live else []
    if columns:
        out, status = tool.run(["diff", *options, *paths], columns)
        report.screens["diff"] += 1
    else:
        out, beside, status = run(tool, report, ["diff", *options, *paths])
    if status:
        report.bad("no answer", out[:200])
        return
    x, y = by_class(a, live), by_class(b, live)
    change = Changes(a, b)
    want = {c for c in {*x, *y} if x[c] != y[c]}
    seen, part, counts, listed, largest = 0, "classes", {}, collections.Counter(), {}
    rows = change.rows() if change.pairs is not None and not live else None
    for raw in out.split("\n"):
        m, k, v = CHANGE.fullmatch(raw), KEPT.fullmatch(raw), MOVED.fullmatch(raw)
        title = re.fullmatch(rf"(?=1 (?:{ONE})$|(?!1 )\d+ (?:{MANY})$)(\d+) (.*)", raw)
        more = re.match(r"\.\.\. (\d+) more", raw)
        if raw.startswith("object by object"):
            part = "kept"
        elif title:
            part = TITLES[title[2]]
            counts[part] = int(title[1])
        elif more and part in counts:
            listed[part] += int(more[1])
        elif part == "classes" and m:
            seen += 1
            found = [c for c in want if m["name"] == clean(c[0]) + (f"  ({clean(c[1])})" if c[1] else "")]
            judge(report, "class", raw, [("name", bool(found))] + ([] if not found else [
                ("before", int(m["before"]) == x[found[0]][0]), ("after", int(m["after"]) == y[found[0]][0]),
                ("change", int(m["change"]) == y[found[0]][0] - x[found[0]][0]),
                ("objects", int(m["objects"]) == y[found[0]][1] - x[found[0]][1])]), found and (x[found[0]], y[found[0]]))
        elif part == "kept" and k:
            counts["rows"] = counts.get("rows", 0) + 1
            if rows is None:
                continue
            told = [int(n) for n in k.groups()[:6]]
            good = [c for c, r in rows.items() if k[7] == clean(c[0]) + (f"  ({clean(c[1])})" if c[1] else "") and
                    told == [r[1], r[0], r[3], r[2], r[6] - r[5], r[4]]]
            judge(report, "object by object", raw, [("row", bool(good))], [r for c, r in rows.items() if clean(c[0]) == k[7].split("  (")[0]])
        elif part in ("new", "gone", "changed") and v:
            listed[part] += 1
            judge(report, part, raw, [("order: the largest change first", abs(int(v[1])) <= largest.get(part, abs(int(v[1]))))], largest)
            largest[part] = abs(int(v[1]))
            moved(report, a, b, raw, v, part, change)
        elif raw.strip() and not re.search(r"\bchange\b|\bid before\b|new bytes", raw):
            report.bad("unparsed", raw)
    judge(report, "diff", out[:200], [("how many classes", seen == len(want))], len(want))
    if change.pairs is None:
        judge(report, "diff", out[-200:], [("compared by ids that are not of one process", "object by object" not in out)])
        if not columns and a.format == "heapsnapshot":
            judge(report, "diff", beside[:300], [("it does not say why", len(beside.strip().split("\n")) == 1 and "ids" in beside)])
    elif not live:
        lists = change.lists()
        right = {k: len(l) for k, l in lists.items()}
        judge(report, "diff", counts, [(k, counts.get(k, 0) == n) for k, n in right.items()], right)
        judge(report, "diff", dict(listed), [(f"list of {k}", listed[k] == counts.get(k, 0)) for k in right], right)
        judge(report, "diff", counts, [("rows", counts.get("rows", 0) == len(rows))], len(rows))


def moved(report, a, b, raw, m, part, change):
    ids = [[] if t == "-" else g.find(t) for g, t in ((a, m[2]), (b, m[3]))]
    if change.pairs is None:
        return
    good = False
    for o in ids[0] or [None]:
        for p in ids[1] or [None]:
            g, k = (a, o) if p is None else (b, p)
            if k is None:
                continue
            size = (0 if p is None else b.sizes[p]) - (0 if o is None else a.sizes[o])
            pair = {"new": o is None, "gone": p is None, "changed": o is not None and change.pairs.get(o) == p}[part]
            good |= pair and int(m[1]) == size and is_class(m[4], g, g.cls[k], None)
    judge(report, part, raw, [("object", good)])


def diff_json(tool, report, paths, a, b):
    report.by = "diff"
    out, _, status = run(tool, report, ["diff", "--json", "--all", *paths])
    if status:
        return
    got, change = json.loads(out), Changes(a, b)
    x, y = by_class(a), by_class(b)
    told = {(r["class"], r.get("scope", "")): ([r["before"], r["objects_before"]], [r["after"], r["objects_after"]]) for r in got["classes"]}
    right = {c: (x[c], y[c]) for c in {*x, *y} if x[c] != y[c]}
    judge(report, "json", {k: v for k, v in told.items() if right.get(k) != v}, [("classes", told == right)], len(right))
    sizes = [r["after"] - r["before"] for r in got["classes"]]
    judge(report, "json", sizes[:9], [("order of classes: growth first, then the most changed",
                                       sizes == sorted(sizes, key=lambda n: (n <= 0, -abs(n))))])
    if change.pairs is None:
        judge(report, "json", str(got["identity"])[:200], [("identity of other processes", got["identity"] is None)])
        return
    identity = got["identity"] or {}
    lists = change.lists()
    for key, objects in lists.items():
        told = identity.get(key, {"count": None, "objects": []})
        right = sorted((o is not None and a.id_text(o), p is not None and b.id_text(p)) for o, p in objects) if key == "changed" else \
            sorted((a.id_text(o) if p is None else b.id_text(p)) for o, p in objects)
        have = sorted((r["id_before"], r["id_after"]) if key == "changed" else r["id_before" if key == "gone" else "id_after"]
                      for r in told["objects"])
        judge(report, "json", (told["count"], have[:5]), [(key, told["count"] == len(objects) and have == right)], (len(right), right[:5]))
        sizes = [(r.get("before", 0), r.get("after", 0)) for r in told["objects"]]
        mine = sorted((0 if o is None else a.sizes[o], 0 if p is None else b.sizes[p]) for o, p in objects)
        judge(report, "json", sizes[:9], [(f"bytes of {key}", sorted(sizes) == mine), (f"order of {key}: the largest change first",
                                           sizes == sorted(sizes, key=lambda n: -abs(n[1] - n[0])))], mine[:9])
    for r in identity.get("classes", []):
        want = [w for c, w in change.rows().items() if c[0] == r["class"]]
        have = [r[k] for k in ("new_objects", "new_bytes", "gone_objects", "gone_bytes", "kept_objects", "kept_bytes_before", "kept_bytes_after")]
        judge(report, "json object by object", r, [("row", have in want)], want)
