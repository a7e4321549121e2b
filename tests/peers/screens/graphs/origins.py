"""Origins of V8 objects: source locations, allocation stacks, detachedness; and their printed form.

Lines and columns count from 1. "locations" in the file count from 0; if an object has several, the last one
counts."""
import collections, re
from text import like
from told import clean, judge

Place = collections.namedtuple("Place", "function script script_id line column")
SCRIPT = "system / Script / "


class Origins:
    """places: by object. stacks: by object, innermost frame first, without V8's "(root)"; root: objects that had
    it."""

    def __init__(self):
        self.places, self.stacks = {}, {}

    def origin(self, o):
        """(whether it is the allocating function, place); None if unknown."""
        stack = self.stacks.get(o)
        return (True, stack[0]) if stack else (False, self.places[o]) if o in self.places else None


def columns_of(meta, member):
    return {name: i for i, name in enumerate(meta.get(member, []))}


def read(file, g):
    out, meta, strings = Origins(), file["snapshot"]["meta"], file["strings"]
    at, rows = columns_of(meta, "location_fields"), file.get("locations") or []
    width, names, located = len(meta["node_fields"]), {}, []
    for k in range(0, len(rows) - len(at) + 1, len(at) or 1) if at else ():
        row = rows[k:k + len(at)]
        o, id = row[at["object_index"]] // width, row[at["script_id"]]
        located.append((o, id, row[at["line"]] + 1, row[at["column"]] + 1))
        script = row[at["script_object_index"]] // width if "script_object_index" in at else script_of(g, o)
        if script:
            name_script(names, id, g.raw_names[script])
    at, rows, functions = columns_of(meta, "trace_function_info_fields"), file.get("trace_function_infos") or [], []
    for k in range(0, len(rows) - len(at) + 1, len(at) or 1) if at else ():
        row = rows[k:k + len(at)]
        name_script(names, row[at["script_id"]], strings[row[at["script_name"]]])
        functions.append((strings[row[at["name"]]], row[at["script_id"]], row[at["line"]], row[at["column"]]))
    for o, id, line, column in located:
        out.places[o] = Place("", names.get(id, ""), id, line, column)
    stacks = stacks_of(file, columns_of(meta, "trace_node_fields"), functions, names)
    own = meta["node_fields"].index("trace_node_id") if "trace_node_id" in meta["node_fields"] else None
    for o in range(g.count) if own is not None else ():
        stack = stacks.get(file["nodes"][o * width + own]) or []
        stack = stack[:-1] if stack and stack[-1].function == "(root)" else stack
        if stack:
            out.stacks[o] = stack
    return out


def name_script(names, id, name):
    name = name[len(SCRIPT):] if name.startswith(SCRIPT) and len(name) > len(SCRIPT) else name
    if name:
        names.setdefault(id, name)


def script_of(g, o):
    """The node of a closure's script, through its shared function."""
    def to(p, called):
        return next((r.to for r in g.refs[p][:64] if r.name in called), None) if p is not None else None
    if g.types[o] != "closure":
        return None
    script = to(to(o, ("shared",)), ("script", "script_or_debug_info"))
    return script if script is not None and g.types[script] == "code" else None


def stacks_of(file, at, functions, names):
    """For each node id of the tree its frames, innermost first."""
    out, waiting = {}, [(file.get("trace_tree") or [], ())]
    while waiting and at:
        rows, callers = waiting.pop()
        for k in range(0, len(rows), len(at)):
            name, script, line, column = functions[rows[k + at["function_info_index"]]]
            frames = (Place(name, names.get(script, ""), script, line, column),) + callers
            out.setdefault(rows[k + at["id"]], list(frames))
            waiting.append((rows[k + at["children"]], frames))
    return out


# Text and JSON ----------------------------------------------------------------------------------

def place_text(p):
    text = clean(p.script) or f"script {p.script_id}"
    return text + (f":{p.line}" + (f":{p.column}" if p.column else "") if p.line else "")


def frame_text(p):
    return (clean(p.function) or "(anonymous)") + (f" ({place_text(p)})" if p.script or p.script_id else "")


def origin_text(known):
    return ("allocated by " + frame_text(known[1]) if known[0] else "source " + place_text(known[1])) if known else ""


def short_text(g, o):
    """On one line, as in objects and suspects."""
    if g.format != "heapsnapshot":
        return ""
    place, stack = g.origins.places.get(o), g.origins.stacks.get(o)
    parts = (["source " + place_text(place)] if place else []) + (["allocated by " + frame_text(stack[0])] if stack else [])
    return "  ".join(parts)


def shows(shown, whole):
    """Whether a text is shown whole, or on a terminal with its end or a long path cut off."""
    return shown == whole or shown.endswith("…") and whole.startswith(shown[:-1]) or "…" in shown and like(shown, whole)


def lines_of(g, o, most):
    """The expected lines on the screen of an object."""
    out, place, stack = [], g.origins.places.get(o), g.origins.stacks.get(o, [])
    link = {1: "attached: in the document of a page", 2: "detached: not in the document of a page"}.get(g.detached[o])
    out += [link] if link else []
    out += ["source " + place_text(place)] if place else []
    out += [("" if i else "allocated by ") + frame_text(f) for i, f in enumerate(stack[:most])]
    return out


def object_screen(report, g, o, lines, most):
    """Lines before the lists of an object: each is present, and no others of their kind."""
    want = lines_of(g, o, most)
    have = [l.strip() for l in lines]
    judge(report, "origin", [l for l in have if l.startswith(("source", "allocated by", "detached", "attached"))],
          [(w.split(" ")[0], any(shows(l, w) for l in have)) for w in want] +
          [("unexpected lines", sum(l.startswith(("source ", "allocated by ", "detached:", "attached:")) for l in have) ==
            sum(w.startswith(("source ", "allocated by ", "detached:", "attached:")) for w in want))], want)


def json(report, what, g, o, row):
    """Members of a JSON row that state the origin of an object."""
    if g.format != "heapsnapshot":
        return
    place, stack = g.origins.places.get(o), g.origins.stacks.get(o)
    source = place and {"script": place.script, "script_id": place.script_id, "line": place.line, "column": place.column}
    told = {k: v for k, v in row.items() if k in ("source", "stack", "detached")}
    judge(report, what, told, [
        ("source", row.get("source") == source), ("stack", row.get("stack") == ([frame_text(f) for f in stack] if stack else None)),
        ("detached", row.get("detached") == {1: False, 2: True}.get(g.detached[o]))],
        (source, stack and [frame_text(f) for f in stack], g.detached[o]))


def common(g, objects):
    """The origin of more than half of these and the number of objects with it, or None."""
    counts = collections.Counter(g.origins.origin(o) for o in objects)
    best = max(((n, k) for k, n in counts.items() if k), key=lambda x: x[0], default=None)
    return (best[1], best[0]) if best and 2 * best[0] > len(objects) else None


def class_json(report, g, objects, row):
    """The common origin of most objects of a class."""
    if g.format != "heapsnapshot":
        return
    best = common(g, objects)
    told = row.get("allocated_by") or row.get("source")
    want = None
    if best:
        (allocated, p), n = best
        want = {"function": p.function} if allocated else {}
        want.update(script=p.script, script_id=p.script_id, line=p.line, column=p.column, objects=n, of=len(objects))
    judge(report, "class", (row["class"], told), [("origin of most", told == want), (
        "its key", not told or ("allocated_by" in row) == ("function" in told))], want)


def line(report, g, kind, raw, row, object_of):
    """A line of suspects with the origin of an object, or of most objects of a class."""
    if kind == "suspect":
        o = object_of(g, row)
        want = short_text(g, o) if o is not None else ""
    else:
        told = row.get("allocated_by") or row.get("source")
        want = ""
        if told:
            p = Place(told.get("function", ""), told["script"], told["script_id"], told["line"], told["column"])
            want = origin_text(("allocated_by" in row, p))
            want += f"  ({told['objects']} of" if told["objects"] < told["of"] else ""
    shown = raw.strip()
    judge(report, kind, raw, [("source or allocating function", bool(want) and (shown.startswith(want) or shows(*(re.sub(r"  \(\d+ of.*", "", t) for t in (shown, want)))))], want)
