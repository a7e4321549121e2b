"""Random profiles from seeds: Chromium traces (both forms of a heap), rows as CSV, folded stacks."""
import csv, io, json, os, random

OWN = ["main", "load(int)", "core::Engine::load_textures()", "clone", "mi_load_textures", "new_arena", "alloc::Arena::grow",
       "std_like", "operator()", "größe", "λ›x", "a b c", "list[int]", "T<a, b>::at<c>(d const&)", "xmalloc_stats",
       "void run<int>(int)", "libapp.so+0x12", "libapp.so+0x34", "<lambda(int)>", "je_compile"]
INNER = ["malloc", "operator new(unsigned long)", "realloc", "calloc"]
OUTER = ["_start", "__libc_start_main"]
TYPES = ["Texture", "std::string", "app", "libc.so.6", "[unknown]", "größe: 2"]
PLACES = ["src/a/u.c:3", "src/b/u.c:3", "src/a/u.c:30", "lib/u.c:3"]
OBJECTS = ["libx.so", "liby.so", "app"]
AGES = ["under 10 ms", "10 ms to 100 ms", "1 s to 10 s"]


def profile(r, objects, plain=False):
    """[(stack of (name, object), type, age, bytes, blocks)] of one heap, and whether block counts are known."""
    pool = []
    for f in r.sample(OWN, r.randint(3, 12)):
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            place = " (" + r.choice(PLACES) + ")" if r.random() < .5 and "+0x" not in f else ""
            pool.append((f + place, r.choice(OBJECTS) if objects else None))
    stacks, known = [()], r.random() < .8
    for _ in range(r.randint(3, 40)):
        stack = r.choice(stacks)
        for _ in range(r.randint(1, 4)):
            stack += (stack[-1] if stack and r.random() < .15 else stack[-2] if len(stack) > 1 and r.random() < .1
                      else r.choice(pool),)
            stacks.append(stack)
    cells, seen = [], set()
    for stack in r.sample(stacks[1:], r.randint(2, min(40, len(stacks) - 1))):
        outer = [(f, "libc.so.6" if objects else None) for f in OUTER] if r.random() < .3 else []
        inner = [(r.choice(INNER), "libc.so.6" if objects else None)] if r.random() < .6 else []
        for _ in range(r.choice((1, 1, 2))):
            n = r.choice((0, r.randint(1, 99), r.randint(100, 5000), r.randint(5000, 200000), r.randint(1, 9) << 20))
            cell = tuple(outer) + stack + tuple(inner), r.choice(TYPES), r.choice(AGES)
            if cell not in seen:
                seen.add(cell)
                cells.append((*cell, n, r.choice((0, 1, r.randint(1, 30), n // 8 + 1)) if known else None))
    return cells


def changed(r, cells):
    """The same heap later: some cells are gone, and some have grown."""
    out = []
    for stack, kind, age, n, blocks in cells:
        if r.random() < .15:
            continue
        if r.random() < .5:
            more = r.randint(1, 100)
            n, blocks = n + more * r.choice((1, 16, 1000)), None if blocks is None else blocks + more
        out.append((stack, kind, age, n, blocks))
    return out or cells[:1]


def text(frame):
    return frame[0] + (f" [{frame[1]}]" if frame[1] else "")


def folded(cells):
    return "".join(";".join(text(f).replace(";", ",") for f in s) + f" {n}\n" for s, _, _, n, _ in cells)


def escaped(path):
    return ";".join("\\e" if f == "" else f.replace("\\", "\\\\").replace(";", "\\;") for f in path)


def rows(r, dumps, aged, sampled):
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(["profile", "time", "process", "pid", "dump", "allocator", "kind", "sample_bytes", "cumulative", "stack",
                "type"] + ["axis_age"] * aged + ["bytes", "blocks", "variance"])
    for i, cells in enumerate(dumps):
        for s, kind, age, n, blocks in cells:
            w.writerow(["", f"2026-01-01T00:00:0{i}Z", "app", 7, f"0x{i + 1}", "malloc", "live", 4096 * sampled, "self",
                        escaped([text(f) for f in s]), escaped([kind])] + [age] * aged +
                       [n, "" if blocks is None else blocks, n * 4096 if sampled else 0])
    return out.getvalue()


def trace(dumps, v2):
    frames, types, events = {(): ""}, {}, []

    def number(stack):
        if stack not in frames:
            number(stack[:-1])
            frames[stack] = str(len(frames))
        return frames[stack]
    for i, cells in enumerate(dumps):
        sums = {}
        for s, kind, _, n, blocks in cells:
            number(s), types.setdefault(kind, str(len(types) + 1))
            for path in [s] if v2 else [s[:k] for k in range(len(s) + 1)]:
                for t in [kind] if v2 else [kind, None]:
                    a, b = sums.get((path, t), (0, 0))
                    sums[path, t] = a + n, None if blocks is None else b + blocks
        if not cells:
            sums[(), None] = 0, 0
        known = all(b is not None for _, b in sums.values())
        if v2:
            heap = {"heaps_v2": {"version": 1, "allocators": {"malloc": {
                "nodes": [int(number(s)) for s, _ in sums], "types": [int(types[t]) for _, t in sums],
                "sizes": [n for n, _ in sums.values()], **({"counts": [b for _, b in sums.values()]} if known else {})}}}}
        else:
            heap = {"heaps": {"malloc": {"entries": [
                {"size": f"{n:x}", "bt": number(s), **({"type": types[t]} if t else {}), **({"count": f"{b:x}"} if known else {})}
                for (s, t), (n, b) in sums.items()]}}}
        events.append({"pid": 7, "ts": 1000000 * (i + 1), "ph": "v", "cat": "c", "name": "n", "id": f"0x{i + 1}",
                       "args": {"dumps": heap}})
    meta = [{"pid": 7, "ts": 0, "ph": "M", "name": "process_name", "args": {"name": "app"}}]
    if v2:
        strings = {}
        def sid(name):
            return strings.setdefault(name, len(strings) + 1)
        maps = {"nodes": [{"id": int(i), "name_sid": sid(text(s[-1])), **({"parent": int(frames[s[:-1]])} if s[1:] else {})}
                          for s, i in frames.items() if s],
                "types": [{"id": int(i), "name_sid": sid(t)} for t, i in types.items()]}
        maps["strings"] = [{"id": i, "string": s} for s, i in strings.items()]
        events[0]["args"]["dumps"]["heaps_v2"]["maps"] = maps
    else:
        table = {i: {"name": s[-1][0], **({"category": s[-1][1]} if s[-1][1] else {}),
                     **({"parent": frames[s[:-1]]} if s[1:] else {})} for s, i in frames.items() if s}
        meta += [{"pid": 7, "ts": 0, "ph": "M", "name": "stackFrames", "args": {"stackFrames": table}},
                 {"pid": 7, "ts": 0, "ph": "M", "name": "typeNames", "args": {"typeNames": {i: t for t, i in types.items()}}}]
    return json.dumps({"traceEvents": meta + events})


def write(folder, seed):
    """Two files of one program, the second taken later; it may have more dumps."""
    r = random.Random(seed)
    kind = ("chrome", "v2", "rows", "folded")[seed % 4]
    objects = r.random() < .5
    first = profile(r, objects)
    later = changed(r, first)
    if kind == "rows" and r.random() < .4:     # only some cells have unknown block counts
        first = [(*c[:4], None if r.random() < .3 else c[4]) for c in first]
    sampled, aged = r.random() < .3, r.random() < .5
    make = {"chrome": lambda d: trace(d, False), "v2": lambda d: trace(d, True), "folded": lambda d: folded(d[0]),
            "rows": lambda d: rows(r, d, aged, sampled)}[kind]
    names = []
    for part, dumps in ("a", [first]), ("b", [later]), ("c", [first, later, changed(r, later)]):
        if part == "c" and kind == "folded":
            continue
        ext = {"chrome": "json", "v2": "v2.json", "rows": "csv", "folded": "folded"}[kind]
        names.append(os.path.join(folder, f"random-{seed}{part}.{ext}"))
        with open(names[-1], "w") as f:
            f.write(make(dumps))
    return names
