"""diff of objects: by class, and by object if ids or hash codes belong to one process."""
import collections, json, re, subprocess
from text import like
from told import clean, is_bytes, is_class, judge, SIZE

LIMIT = 100                      # one in this many common ids may name another object


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
    """For two nodes with one id: (whether they are the same object, whether the name differs)."""
    if a.types and a.types[o] != b.types[p] or attached(a.class_of(o)[0]) != attached(b.class_of(p)[0]) or \
            a.class_of(o)[1] != b.class_of(p)[1]:
        return False, True
    if not a.types or a.types[o] in ("object", "native"):
        return True, False
    return True, a.raw_names[o] != b.raw_names[p]


def pairs(a, b):
    """{object before: object after} by id and class, the number of common ids, and how many of these name another
    class."""
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
    """Whether ids are comparable."""
    _, common, other = pairs(a, b)
    return other * LIMIT <= common if common else not (a.described and b.described)


def coded(a, b):
    """{before: after} by class, its library, and identity hash code; among equals, the first is paired with the
    first."""
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
    """Two graphs of one format, with the new, gone and kept objects."""

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
        """By class: new objects, their bytes, gone objects, their bytes, kept objects, their bytes before and
        after."""
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
    """Standard output, standard error, and status."""
    import shlex
    from referee import ENV
    report.command = " ".join(shlex.quote(x) for x in ["heapdump", *arguments])
    p = subprocess.run([tool.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=ENV)
    report.screens[arguments[0]] += 1
    return p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace"), p.returncode


SIZES, IDS = ("change", "before", "after", "new bytes", "gone bytes", "change of kept", "bytes"), ("id before", "id after")
COLUMN = re.compile("new bytes|gone bytes|change of kept|id before|id after|change|before|after|objects|bytes|new|gone|kept")
TITLES = {"new object": "new", "object that is gone": "gone", "object of another size": "changed"}


def titles_of(raw):
    """Columns of figures, from their heading."""
    m = re.fullmatch(rf"\s*((?:(?:{COLUMN.pattern})\s+)+)class", raw)
    return m and COLUMN.findall(m[1])


def figures_of(titles, raw):
    """{column: figure} and the class after them, or None."""
    if not titles:
        return None
    kinds = [rf"[+-]?{SIZE}" if t in SIZES else r"-|[0-9a-f]+" if t in IDS else r"[+-]?\d+" for t in titles]
    m = re.fullmatch(r"\s*" + r"\s+".join(f"({k})" for k in kinds) + "  (.*)", raw)
    return m and (dict(zip(titles, m.groups())), m[len(titles) + 1])


def is_change(shown, n):
    """A number of bytes with its sign."""
    return shown[:1] == {1: "+", -1: "-"}.get((n > 0) - (n < 0), shown[:1]) and is_bytes(shown.lstrip("+-"), abs(n)) and \
        (n != 0 or shown[:1] not in "+-")


def are_right(told, right):
    """Figures of a line, as far as the terminal has columns for them."""
    return [(t, is_change(told[t], n) if "change" in t else is_bytes(told[t], n) if t in SIZES else told[t] == (f"{n:+d}" if n and t == "objects" else str(n)))
            for t, n in right.items() if t in told]


def diff(tool, report, paths, a, b, live, columns):
    report.by = "diff"
    options = ["--live"] if live else []
    if columns:
        out, status = tool.run(["diff", *options, *paths], columns)
        report.screens["diff"] += 1
    else:
        out, beside, status = run(tool, report, ["diff", "--bytes", *options, *paths])
    if status:
        report.bad("no answer", out[:200])
        return
    x, y = by_class(a, live), by_class(b, live)
    change = Changes(a, b)
    want = {c for c in {*x, *y} if x[c] != y[c]}
    seen, part, counts, listed, largest, titles = 0, "classes", {}, collections.Counter(), {}, None
    rows = change.rows() if change.pairs is not None and not live else None
    for raw in out.split("\n"):
        line = figures_of(titles, raw)
        title = re.fullmatch(r"(\d+) (new objects?|objects? that (?:is|are) gone|objects? of another size)", raw)
        more = re.match(r"\.\.\. (\d+) more", raw)
        if columns and len(raw) > columns:
            report.bad("a line wider than the terminal", raw)
        if raw.startswith("object by object") or raw == "none is new, gone or of another size":
            part = "kept"
        elif title:
            one = title[2].replace("objects", "object").replace("that are", "that is")
            part = TITLES[one]
            counts[part] = int(title[1])
            judge(report, part, raw, [("one or many", (title[1] == "1") == (one == title[2]))])
        elif more and part in counts:
            listed[part] += int(more[1])
        elif titles_of(raw):
            titles = titles_of(raw)
        elif line and part == "classes":
            seen += 1
            right = {c: {"change": y[c][0] - x[c][0], "before": x[c][0], "after": y[c][0], "objects": y[c][1] - x[c][1]} for c in want}
            judge_line(report, "class", raw, line, columns, right)
        elif line and part == "kept":
            counts["rows"] = counts.get("rows", 0) + 1
            if rows is not None:
                judge_line(report, "object by object", raw, line, columns, {c: {
                    "new bytes": r[1], "new": r[0], "gone bytes": r[3], "gone": r[2], "change of kept": r[6] - r[5], "kept": r[4]}
                    for c, r in rows.items()})
        elif line and part in ("new", "gone", "changed"):
            listed[part] += 1
            if not columns:
                by = abs(int(line[0]["bytes"]))
                judge(report, part, raw, [("order: the largest change first", by <= largest.get(part, by))], largest)
                largest[part] = by
            moved(report, a, b, raw, line, part, change, columns)
        elif raw.strip():
            report.bad("unparsed", raw)
    judge(report, "diff", out[:200], [("how many classes", seen == len(want))], len(want))
    if change.pairs is None:
        judge(report, "diff", out[-200:], [("compared by ids of different processes", "object by object" not in out)])
        if not columns and a.format == "heapsnapshot":
            judge(report, "diff", beside[:300], [("no reason is given", len(beside.strip().split("\n")) == 1 and "ids" in beside)])
    elif not live:
        lists = change.lists()
        right = {k: len(l) for k, l in lists.items()}
        judge(report, "diff", counts, [(k, counts.get(k, 0) == n) for k, n in right.items()], right)
        judge(report, "diff", dict(listed), [(f"list of {k}", listed[k] == counts.get(k, 0)) for k in right], right)
        judge(report, "diff", counts, [("rows", counts.get("rows", 0) == len(rows))], len(rows))


def judge_line(report, what, raw, line, columns, right):
    """A line of a class whose name may be shortened: the figures of one of the possible classes."""
    told, name = line
    found = [c for c in right if is_name(name, c, columns)]
    good = [c for c in found if all(ok for _, ok in are_right(told, right[c]))]
    facts = [("name", bool(found))]
    if found and not good:
        facts += are_right(told, right[found[0]])
    judge(report, what, raw, facts, [right[c] for c in found])


def is_name(shown, c, columns):
    name, scope = clean(c[0]), clean(c[1])
    if shown == name + (f"  ({scope})" if scope else ""):
        return True
    return bool(columns) and like(shown.rstrip(), name.rstrip())


def moved(report, a, b, raw, line, part, change, columns):
    if change.pairs is None:
        return
    told, name = line
    # A narrow terminal omits a column of ids without any, and for V8 the second of two equal ids.
    ids = [told.get("id before", "-"), told.get("id after", "-")]
    if columns and part == "changed" and "id after" not in told:
        ids[1] = ids[0]
    ids = [[] if t == "-" else g.find(t) for g, t in ((a, ids[0]), (b, ids[1]))]
    good = False
    for o in ids[0] or [None]:
        for p in ids[1] or [None]:
            g, k = (a, o) if p is None else (b, p)
            if k is None:
                continue
            size = (0 if p is None else b.sizes[p]) - (0 if o is None else a.sizes[o])
            pair = {"new": o is None, "gone": p is None, "changed": o is not None and change.pairs.get(o) == p}[part]
            good |= pair and is_change(told["bytes"], size) and is_class(name, g, g.cls[k], columns)
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
        judge(report, "json", str(got["identity"])[:200], [("identities of different processes", got["identity"] is None)])
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
