"""info, classes and retained: every row is compared with the graph."""
import collections, re
from graph import STRONG
from told import clean, is_bytes, is_class, is_id, is_object, judge, shares, SIZE, UNITS

SMALL = 3000                     # up to this number of objects, everything is done by removal


# info --------------------------------------------------------------------------------------------

def summary(g):
    missing = [o for o in range(g.described, len(g.ids)) if o != g.left_out]
    refs = [r for rs in g.refs for r in rs]
    return {"objects": g.described, "classes": len(g.described_classes), "bytes": sum(g.sizes),
            "references": len(refs), "weak_references": sum(r.kind != STRONG for r in refs), "roots": len(g.roots),
            "weak_roots": sum(r.flags >> 1 & 1 for r in g.roots), "missing_objects": len(missing),
            "missing_references": sum(r.to >= g.described for r in refs),
            "missing_roots": sum(r.object >= g.described for r in g.roots),
            "missing_classes": len(g.classes) - 1 - len(g.described_classes)}


def counted(n, one, many=None):
    return f"{n} {one if n == 1 else many or one + 's'}"


def sized(n, exact):
    """A number of bytes in a sentence."""
    steps = 0
    while not exact and steps < 4 and n / 1024 ** steps >= 1023.95:
        steps += 1
    return counted(n, "byte") if exact else re.escape(f"{n / 1024 ** steps:.1f} {UNITS[steps]}" if steps else f"{n} B")


def not_strong(g):
    """References that keep no object alive, by kind."""
    kinds = {"key": "ephemeron key", "value": "ephemeron value", "page object": "from the engine to a page object"}
    n = collections.Counter(kinds.get(why, why) for why in g.loose_kinds())
    every = sum(n.values())
    if every == n["weak"]:
        return f"{every} of them weak"
    order = ["weak", "ephemeron key", "ephemeron value", "shortcut", "from the engine to a page object"]
    many = {"weak": "weak", order[-1]: "from the engine to page objects"}
    return f"{every} of them not strong: " + ", ".join(counted(n[k], k, many.get(k)) for k in order if n[k])


def info_text(a, lines, exact):
    """Figures of a graph in the order of printing."""
    for g in getattr(a.g, "domains", [a.g]):
        s = summary(g)
        want = [rf"\s*{counted(s['objects'], 'object')} of {counted(s['classes'], 'class', 'classes')}, {sized(s['bytes'], exact)}",
                rf"\s*{counted(s['references'], 'reference')}, {not_strong(g)}",
                rf"\s*{counted(s['roots'], 'root')}, {s['weak_roots']} of them weak"]
        if g.left_out is not None:
            want.append(rf"\s*{counted(s['missing_references'], 'reference')} to id 0 \(left out by the VM, or weak in a converted snapshot\)")
        elif s["missing_objects"]:
            want.append(rf"\s*{counted(s['missing_objects'], 'object')} that no record describes, from {counted(s['missing_references'], 'reference')} "
                        rf"and {counted(s['missing_roots'], 'root')}")
        if s["missing_classes"]:
            want.append(rf"\s*{counted(s['missing_classes'], 'class', 'classes')} that no record describes")
        if hasattr(a.g, "domains"):
            want.insert(0, re.escape(clean(f"application domain {g.domain}, version {g.version}, from {g.begin} to {g.end} ms after boot")))
        for w in want:
            judge(a.report, "info", w, [("line", any(re.fullmatch(w, l) for l in lines))], [l for l in lines][:8])


def dart_facts(g):
    live = [o for o in range(g.described) if g.live[o]]
    lib = collections.defaultdict(lambda: [0, 0, 0, 0, set()])
    for o in range(g.described):
        row = lib[g.libraries[g.cls[o]]]
        row[2] += g.sizes[o]
        row[3] += 1
        row[4].add(g.cls[o])
        if g.live[o]:
            row[0] += g.sizes[o]
            row[1] += 1
    lengths = collections.defaultdict(lambda: [0, 0, None])
    for o in range(g.described):
        if g.values[o].tag == 7:
            row = lengths[g.class_of(o), g.values[o].length]
            row[0] += 1
            row[1] += g.sizes[o]
            row[2] = row[2] or g.id_text(o)
    return {"live_objects": len(live), "live_bytes": sum(g.sizes[o] for o in live),
            "external_properties": len(g.externals), "isolate": g.isolate, "flags": g.flags,
            "shallow_size": g.told[0], "capacity": g.told[1], "external_size": g.told[2],
            "identities": None if g.identity is None else sum(i != 0 for i in g.identity),
            "tags": [sum(v.tag == t for v in g.values[:g.described]) for t in range(9)]}, lib, lengths


def hprof_facts(g):
    f = g.file
    return {"version": (f.version, None), "id size": (f.ids, "bytes"), "object header": (g.layout.header, "bytes"),
            "reference": (g.layout.ref, "bytes"), "heap dumps in the file": (f.dumps, None),
            "stack traces": (f.trace_records, None), "stack frames": (f.frame_records, None)}


def facts_json(a, told):
    told, want = {row["name"]: (row.get("text", row.get("value")), row["units"]) for row in told}, hprof_facts(a.g)
    judge(a.report, "json", told, [(k, told.get(k) == v) for k, v in want.items()], want)


def info(a):
    got = a.json(["info"])
    if got and "graph" in got:
        parts = [(d["graph"], p) for d, p in zip(got.get("domains", []), getattr(a.g, "domains", []))] \
            if hasattr(a.g, "domains") else []
        for told, g in [(got["graph"], a.g)] + parts:
            want = summary(g)
            judge(a.report, "json", told, [(k, told.get(k) == v) for k, v in want.items()], want)
        if a.g.format == "hprof":
            facts_json(a, got["facts"])
        if a.g.format == "dart":
            want, lib, lengths = dart_facts(a.g)
            d = got["dart"]
            facts = [(k, (list(d[k].values()) if k == "tags" else d[k]) == v) for k, v in want.items()]
            judge(a.report, "json dart", {k: d[k] for k in want}, facts, want)
            for row in d["libraries"]:
                right = lib[row["name"], row["uri"]]
                judge(a.report, "json library", row, list(zip(("live bytes", "live", "bytes", "objects", "classes"), (
                    row["live_bytes"] == right[0], row["live_objects"] == right[1], row["bytes"] == right[2],
                    row["objects"] == right[3], row["classes"] == len(right[4])))), right)
            judge(a.report, "json", d["libraries"], [("libraries", len(d["libraries"]) == len(lib))], len(lib))
            for row in d["lengths"]:
                right = lengths[(row["class"], row.get("scope", "")), row["length"]]
                judge(a.report, "json length", row, [("objects", row["objects"] == right[0]), ("bytes", row["bytes"] == right[1]),
                                                     ("first id", row["first_id"] == right[2])], right)
    for columns in (None, 80):
        lines = a.lines(["info"] if columns else ["info", "--bytes"], columns)
        if lines:
            info_text(a, lines, not columns)
            if a.g.format == "hprof":
                for name, (value, units) in hprof_facts(a.g).items():
                    w = f"{name}: {value}{' ' + units if units else ''}"
                    judge(a.report, "info", w, [("line", w in lines)], lines[-8:])
            if a.g.format == "dart":
                want = dart_facts(a.g)[0]
                for w in (rf"\s*{counted(want['live_objects'], 'object')} that the root holds, {sized(want['live_bytes'], not columns)}",
                          rf"\s*{counted(want['external_properties'], 'external property', 'external properties')}"):
                    judge(a.report, "info", w, [("line", any(re.fullmatch(w, l) for l in lines))], lines[:9])


# classes -----------------------------------------------------------------------------------------

def class_table(g):
    """{class: [retained, live bytes, live, bytes, objects]}; for large graphs, retained sizes of only a few
    classes."""
    if "classes" in g.cache:
        return g.cache["classes"]
    table = {}
    for o in range(g.described):
        row = table.setdefault(g.cls[o], [0, 0, 0, 0, 0])
        row[3] += g.sizes[o]
        row[4] += 1
        if g.live[o]:
            row[1] += g.sizes[o]
            row[2] += 1
    for i, (c, row) in enumerate(sorted(table.items())):
        known = len(g.ids) <= SMALL or i % 37 == 5
        row[0] = None if not known else g.removed([o for o in range(g.described) if g.cls[o] == c and g.live[o]])[1] if row[2] else 0
    g.cache["classes"] = table
    return table


CLASS = re.compile(rf"(?P<less>[ >])\s*(?P<retained>{SIZE})\s+(?P<share>> ?100%|[\d.]+%)\s+(?P<live_bytes>{SIZE})\s+(?P<live>\d+)"
                   rf"(?:\s+(?P<bytes>{SIZE})\s+(?P<objects>\d+))?  (?P<name>.*)")


def classes(a, columns, options=()):
    g, table = a.g, class_table(a.g)
    lines = a.lines(["classes", *options], columns)
    if lines is None:
        return
    rows, left, last = 0, None, None
    for raw in lines[1:]:
        m, more = CLASS.match(raw), re.fullmatch(r"(\d+) more classes(?: \(--all\))?", raw)
        if more:
            left = int(more[1])
            continue
        if not m:
            a.report.bad("unparsed", raw)
            continue
        rows += 1
        found = [c for c in table if is_class(m["name"], g, c, columns)]
        best = None
        for c in found:
            t = table[c]
            facts = [] if t[0] is None or m["less"] == ">" else [("retained", is_bytes(m["retained"], t[0])),
                                                                 ("share", shares(m["share"], t[0], g.bytes))]
            facts += [("live bytes", is_bytes(m["live_bytes"], t[1])), ("live objects", int(m["live"]) == t[2])]
            if m["objects"]:
                facts += [("bytes", is_bytes(m["bytes"], t[3])), ("objects", int(m["objects"]) == t[4])]
            wrong = sum(not good for _, good in facts)
            if best is None or wrong < best[0]:
                best = wrong, facts, t
        if not found:
            a.report.bad("class: an unknown name", raw)
            continue
        judge(a.report, "class", raw, best[1], best[2])
        if last is not None and "--bytes" in options:
            judge(a.report, "class", raw, [("order", int(m["retained"]) <= last)])
        last = int(m["retained"]) if "--bytes" in options else None
    judge(a.report, "classes", lines[-1], [("how many", rows + (left or 0) == len(table))], len(table))


def classes_json(a):
    got = a.json(["classes"])
    for row in (got or {}).get("classes", []):
        c = [c for c in class_table(a.g) if a.g.classes[c] == (row["class"], row.get("scope", ""))]
        want = [class_table(a.g)[k] for k in c]
        told = [row[k] for k in ("retained", "live_bytes", "live_objects", "bytes", "objects")]
        known = row["exact"] and all(w[0] is not None for w in want)
        judge(a.report, "json", row, [("a row", told in want if known else told[1:] in [w[1:] for w in want])], want)
    if got:
        judge(a.report, "json", "", [("how many", len(got["classes"]) == len(class_table(a.g)))], len(class_table(a.g)))


# retained ----------------------------------------------------------------------------------------

OBJECT = re.compile(rf"\s*(?P<retained>{SIZE})\s+(?P<share>> ?100%|[\d.]+%)\s+(?P<bytes>{SIZE})\s+(?P<id>[0-9a-f]+)  (?P<rest>.*)")


def largest(g):
    """Live objects, the largest retained size first."""
    if "largest" not in g.cache:
        r = g.dominators()[1]
        g.cache["largest"] = sorted((o for o in range(len(g.ids)) if g.live[o] and o != g.left_out), key=lambda o: (-r[o], o))
    return g.cache["largest"]


def object_row(a, what, raw, m, o, columns, value=False):
    g, r = a.g, a.g.dominators()[1]
    return judge(a.report, what, raw, [
        ("retained", is_bytes(m["retained"], r[o] if g.live[o] else 0)), ("share", shares(m["share"], r[o] if g.live[o] else 0, g.bytes)),
        ("shallow", is_bytes(m["bytes"], g.sizes[o])), ("id", is_id(g, m["id"], o))],
        (g.id_text(o), g.class_of(o), r[o], g.sizes[o]))


def retained(a, columns, options=()):
    g, order = a.g, largest(a.g)
    lines = a.lines(["retained", *options], columns)
    if lines is None:
        return
    most = len(order) if "--all" in options else 20
    shown = lines[1:]
    if not columns:
        judge(a.report, "retained", lines[-1], [("how many", len(shown) == min(most, len(order)))], len(order))
    for raw, o in zip(shown, order):
        m = OBJECT.match(raw)
        if not m:
            a.report.bad("unparsed", raw)
        elif object_row(a, "object", raw, m, o, columns):
            judge(a.report, "object", raw, [("name", is_object(m["rest"], g, o, columns))], (g.class_of(o), g.name_of(o)))


def retained_json(a):
    g, (up, r, _) = a.g, a.g.dominators()
    got = a.json(["retained", "--all"])
    far = g.devtools_distances() if g.format == "heapsnapshot" else None
    rows = (got or {}).get("objects", [])
    if got:
        judge(a.report, "json", got["live_bytes"], [("live bytes", got["live_bytes"] == g.bytes),
                                                    ("how many", len(rows) == len(largest(g)))], (g.bytes, len(largest(g))))
    for row, o in zip(rows, largest(g)):
        d = row.get("dominator")
        facts = [("id", row["id"] == g.id_text(o)), ("class", (row["class"], row.get("scope", "")) == g.class_of(o)),
                 ("retained", row["retained"] == r[o]), ("bytes", row["bytes"] == g.sizes[o]),
                 ("dominator", (d and d["id"]) == (None if up[o] is None else g.id_text(up[o])))]
        if far:
            facts.append(("distance", row.get("distance") == far[o]))
        judge(a.report, "json object", row, facts, (g.id_text(o), g.class_of(o), r[o], up[o] is not None and g.id_text(up[o]), far and far[o]))


def retained_class(a, name, columns):
    count, total = a.g.class_removed(name)
    for line in a.lines(["retained", "--class", name], columns) or ():
        m = re.match(rf"\s*({SIZE}) in (\d+) objects? would go with all of class ", line)
        judge(a.report, "--class", line, [("bytes", bool(m) and is_bytes(m[1], total)), ("objects", bool(m) and int(m[2]) == count)],
              (count, total))
    got = a.json(["retained", "--class", name])
    if got:
        judge(a.report, "--class json", got, [("bytes", got["retained"] == total), ("objects", got["objects"] == count)], (count, total))
