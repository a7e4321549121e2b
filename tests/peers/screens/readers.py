"""Independent readers for three formats: Chromium trace, rows as CSV, folded stacks. They share no code with the
tool.

A heap is a list of cells with their self bytes: (stack, axes, bytes, blocks, variance). stack is a tuple of names,
outermost first; axes is a dict from the name of an axis to a tuple of names; blocks is None if unknown. A Chromium
trace has cumulative entries: the self bytes of an entry are its bytes beyond the entries listed below it. `typed`
is false if types do not add up because entries were cut off: cells are then only along the stack."""
import collections, csv, gzip, json, lzma, re, sys

csv.field_size_limit(1 << 30)
sys.setrecursionlimit(20000)


class Unreadable(Exception):
    pass


class Heap:
    def __init__(self, process=None, pid=0, dump=None, allocator=None, kind="live", sample=0, time=0):
        self.process, self.pid, self.dump, self.allocator = process, pid, dump, allocator
        self.kind, self.sample, self.time = kind, sample, time
        self.cells, self.typed, self.condensed, self.rows, self.labels = [], True, False, 0, ()

    def key(self):
        return self.process, self.pid, self.allocator, self.kind


def read(path):
    """Heaps of a file; raises Unreadable for another format, or a file that a strict reader refuses."""
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:6] == b"\xfd7zXZ\0":
        data = lzma.decompress(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8")
    head = text.lstrip("\ufeff \t\r\n")[:1]
    if head in ("{", "["):
        return "chrome", chromium(text)
    first = text.split("\n", 1)[0]
    if "bytes" in first.split(",") and "stack" in first.split(","):
        return "rows", rows(text)
    return "folded", folded(text)


# Folded ------------------------------------------------------------------------------------------

def folded(text):
    heap, sums = Heap(), collections.OrderedDict()
    lines = text.lstrip("\ufeff").splitlines()
    if not any(";" in line for line in lines):
        raise Unreadable("no stacks")
    for line in lines:
        m = re.fullmatch(r"([^ \t].*?)[ \t]+(\d+)[ \t]*", line)
        if not m:
            if line.strip() and not line.startswith("#"):
                raise Unreadable("no folded stacks")
            continue
        stack = tuple(m[1].split(";"))
        if any(not f or f != f.strip() for f in stack):
            raise Unreadable("empty names, or names with blanks at their ends")
        sums[stack] = sums.get(stack, 0) + int(m[2])
    if not sums:
        raise Unreadable("empty")
    heap.cells = [(s, {}, n, None, 0) for s, n in sums.items()]
    heap.rows = len(heap.cells)
    return [heap]


# Rows --------------------------------------------------------------------------------------------

def names(cell):
    """Splits a path at ";". Within names, a backslash precedes ";" and backslash; \\e is an empty name."""
    out, name, i = [], "", 0
    if not cell:
        return ()
    while i < len(cell):
        c = cell[i]
        if c == "\\" and i + 1 < len(cell):
            i += 1
            name += "" if cell[i] == "e" else cell[i]
        elif c == ";":
            out.append(name)
            name = ""
        else:
            name += c
        i += 1
    return tuple(out + [name])


def rows(text):
    heaps = collections.OrderedDict()
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    known = {"profile", "time", "process", "pid", "start_us", "dump", "allocator", "kind", "sample_bytes", "cumulative",
             "stack", "type", "bytes", "blocks", "variance", "unlisted", "slack", "stack_hash"}
    fields = reader.fieldnames
    labels = [f for f in fields if f not in known and not f.startswith("axis_")]
    condensed = collections.defaultdict(set)
    listed = list(reader)
    for r in listed:
        if r.get("cumulative") == "cumulative":
            condensed[tuple(r.get(f) for f in fields[:fields.index("cumulative")])].add(names(r.get("stack") or ""))
    if any(s[:k] not in stacks for stacks in condensed.values() for s in stacks for k in range(len(s))):
        raise Unreadable("entries without their ancestors")
    for r in listed:
        if r.get("cumulative") == "cumulative" or r.get("unlisted"):
            raise Unreadable("condensed rows")
        label = tuple((f, r[f]) for f in labels if r.get(f))
        key = tuple(r.get(f) or "" for f in ("time", "process", "pid", "start_us", "dump", "allocator", "kind",
                                             "sample_bytes")) + label
        try:
            if key not in heaps:
                heaps[key] = h = Heap(r.get("process") or None, int(r.get("pid") or 0), r.get("dump") or None,
                                      r.get("allocator") or None, r.get("kind") or "live",
                                      int(r.get("sample_bytes") or 0))
                h.time, h.labels, h.sums = r.get("time") or "", label, collections.OrderedDict()
            if not r["bytes"]:
                continue
            axes = {"type": names(r.get("type") or "")}
            axes.update((f[5:], names(r[f] or "")) for f in fields if f.startswith("axis_"))
            cell = names(r.get("stack") or ""), tuple(axes.items())
            n = int(r["bytes"]), int(r["blocks"]) if r.get("blocks") else None, int(r.get("variance") or 0)
        except (ValueError, KeyError, TypeError):
            raise Unreadable("malformed rows")
        heaps[key].sums[cell] = added(heaps[key].sums.get(cell), n)
    for h in heaps.values():
        h.cells = [(s, dict(a), *n) for (s, a), n in h.sums.items()]
        h.rows = len(h.cells)
    return list(heaps.values())


def added(x, y):
    if x is None:
        return y
    return x[0] + y[0], None if None in (x[1], y[1]) else x[1] + y[1], x[2] + y[2]


# Chromium traces ---------------------------------------------------------------------------------

def no_twice(pairs):
    out = {}
    for k, v in pairs:
        if k in out:
            raise Unreadable("a duplicate member")
        out[k] = v
    return out


def events_of(text):
    text = text.lstrip("\ufeff").rstrip()
    try:
        doc = json.loads(text, object_pairs_hook=no_twice)
    except ValueError:
        try:                                   # an array of events without its end
            doc = json.loads(text.rstrip(",") + "]", object_pairs_hook=no_twice)
        except ValueError:
            raise Unreadable("malformed JSON")
    frames = doc.get("stackFrames") if isinstance(doc, dict) else None
    events = doc.get("traceEvents") if isinstance(doc, dict) else doc
    if not isinstance(events, list):
        raise Unreadable("no trace")
    return events, frames


def merged(tables, pid, key):
    return tables.setdefault((pid, key), {})


def chromium(text):
    events, whole = events_of(text)
    tables, process, heaps = {}, {}, []
    try:
        for e in events:
            pid, args = e.get("pid", 0), e.get("args", {})
            if e.get("ph") == "M" and e.get("name") == "process_name":
                process[pid] = args["name"]
            for key in ("stackFrames", "typeNames"):
                if e.get("ph") == "M" and e.get("name") == key:
                    merged(tables, pid, key).update(args[key])
        for e in events:
            dumps = e.get("args", {}).get("dumps", {}) if e.get("ph") == "v" else {}
            pid = e.get("pid", 0)
            frames = dict(whole or {}) | tables.get((pid, "stackFrames"), {})
            types = tables.get((pid, "typeNames"), {})
            for allocator, h in dumps.get("heaps", {}).items():
                heap = labelled(e, process.get(pid), allocator, h)
                entries(heap, h["entries"], frames, types)
                heaps.append(heap)
            v2 = dumps.get("heaps_v2", {})
            maps = merged(tables, pid, "v2")
            for kind in ("nodes", "types", "strings"):
                maps.setdefault(kind, {}).update((x["id"], x) for x in v2.get("maps", {}).get(kind, []))
            for allocator, h in v2.get("allocators", {}).items():
                heap = labelled(e, process.get(pid), allocator, h)
                heap.late = (h, maps)          # names may come with a later dump
                heaps.append(heap)
        for heap in heaps:
            if hasattr(heap, "late"):
                columns(heap, *heap.late)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as why:
        raise Unreadable(f"malformed trace: {why!r}")
    if not heaps:
        raise Unreadable("no heap")
    return heaps


def number(v):
    return int(v, 16) if isinstance(v, str) else int(v)


def labelled(event, process, allocator, h):
    allocator, _, kind = allocator.partition("/")
    if kind and kind not in ("peak", "total", "temporary"):
        allocator, kind = allocator + "/" + kind, ""
    return Heap(process, event.get("pid", 0), event.get("id"), allocator, h.get("kind") or kind or "live",
                number(h.get("sample_bytes", 0)), event.get("ts", 0))


def frame_name(f):
    """The model's form of a name: function (file:line) [object]."""
    if f.get("category"):
        return f["name"] + " [" + f["category"] + "]"
    return f["name"]


def entries(heap, listed, frames, types):
    stacks, cum = {"": ()}, {}

    def stack(bt):
        todo = []
        while bt not in stacks:
            todo.append(bt)
            bt = str(frames[bt].get("parent", ""))
        for i in reversed(todo):
            stacks[i] = stacks[bt] + (frame_name(frames[i]),)
            bt = i
        return stacks[todo[0]] if todo else stacks[bt]

    if any("bt" not in e for e in listed):
        known = {stack(str(e.get("bt", ""))) for e in listed}
        if any(s[:k] not in known for s in known for k in range(len(s))):
            raise Unreadable("entries without their ancestors")
        raise Unreadable("the format before 2016: self sizes")
    for e in listed:
        key = stack(str(e.get("bt", ""))), types[str(e["type"])] if "type" in e else None
        n = number(e["size"]), number(e["count"]) if "count" in e else None, number(e["error"]) ** 2 if "error" in e else 0
        if key in cum:
            raise Unreadable("a duplicate entry")
        cum[key] = n
    if any((s[:k], None) not in cum for s, _ in cum for k in range(len(s) + 1)):
        raise Unreadable("entries without their ancestors")
    heap.rows, heap.condensed = len(cum), True
    own_of(heap, cum)


def own_of(heap, cum):
    """Self bytes of cumulative entries: by type if types add up, else only along the stack."""
    if ((), None) not in cum:
        raise Unreadable("a heap without its total")
    heap.cum = cum
    own = dict(cum)
    for (stack, kind), n in cum.items():
        if stack:
            up = len(stack) - 1
            while up and (stack[:up], kind) not in cum:
                up -= 1
            key = stack[:up], kind
            if key in own:
                own[key] = taken(own[key], n)
    whole = {}
    for (stack, kind), n in own.items():
        if kind is not None:
            whole[stack] = added(whole.get(stack), n)
    heap.typed = bool(whole) and all(whole.get(s, (0, 0, 0)) == n for (s, k), n in own.items() if k is None) and \
        all((s, None) in own for s in whole)
    for (stack, kind), n in own.items():
        if n[0] < 0 or (n[1] or 0) < 0:
            raise Unreadable("parts exceed their total")
        if (kind is not None) == heap.typed:
            heap.cells.append((stack, {"type": (kind,)} if heap.typed else {}, *n))
    if not heap.cells:
        heap.cells = [((), {}, 0, 0, 0)]


def taken(x, y):
    return x[0] - y[0], None if None in (x[1], y[1]) else x[1] - y[1], x[2] - y[2]


def columns(heap, h, maps):
    def name(i):
        return maps["strings"][i]["string"]
    stacks = {0: ()}

    def stack(node):
        path = []
        while node:
            f = maps["nodes"][node]
            path.append(name(f["name_sid"]))
            node = f.get("parent", 0)
        return tuple(reversed(path))
    sums = {}
    for i, node in enumerate(h["nodes"]):
        if node not in stacks:
            stacks[node] = stack(node)
        kind = h["types"][i] if "types" in h else 0
        key = stacks[node], name(maps["types"][kind]["name_sid"]) if kind in maps["types"] else None
        n = number(h["sizes"][i]), number(h["counts"][i]) if "counts" in h else None, \
            number(h["errors"][i]) ** 2 if "errors" in h else 0
        sums[key] = added(sums.get(key), n)
    heap.cells = [(s, {"type": (k,) if k is not None else ()}, *n) for (s, k), n in sums.items()]
    heap.rows = len(heap.cells)
