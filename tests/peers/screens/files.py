"""One file: its heaps by our reading, compared with JSON, with all frames and with hidden frames."""
import json, os, re
import gen, readers
from model import View, hiders, with_axis
from text import INVISIBLE


# JSON --------------------------------------------------------------------------------------------

def json_rows(view, rows):
    """[(row, state or None)] of a JSON tree; the name of an axis is looked up as it is."""
    path, out = [], []
    for r in rows:
        del path[r["depth"]:]
        above = path[-1] if path else None
        state = None
        if not r["depth"]:
            state = 0, ()
        elif above is not None and r["name"] == "<other>":
            state = None
        elif above is not None and r["name"] == "<self>" and not (
                r["axis"] == "backtrace" and above != "own" and above[0] >= 0 and view.child(above[0], "<self>")):
            state = (~above[0], above[1]) if r["axis"] == "backtrace" and above[0] >= 0 else "own"
        elif above is not None and above != "own" and r["axis"] == "backtrace":
            kid = view.child(above[0], r["name"]) if above[0] >= 0 else None
            state = (kid, above[1]) if kid is not None else None
        elif above is not None and above != "own":
            state = with_axis(above, r["axis"], r["name"])
        path.append(state if state != "own" else None)
        out.append((r, state))
    return out


def check_json(report, view, heap):
    """Compares a JSON tree with the view; returns whether all is right."""
    wrong = 0
    for r, state in json_rows(view, heap["rows"]):
        if r["name"] == "<other>" or state == "own" or (view.of_json and r["axis"] not in (None, "backtrace")):
            continue
        if state is None:
            wrong += 1
            report("unknown node", r)
            continue
        n = view.amount(state)
        if state[0] < 0 and view.condensed and r["bytes"] <= n[0]:
            continue                           # amounts of hidden callees; of the rest it is unknown whether it is self
        if (r["bytes"], r["blocks"]) != n[:2]:
            wrong += 1
            report("bytes" if r["bytes"] != n[0] else "blocks", f"{r} (right: {n})")
    return not wrong


def cells_of_json(heap):
    """A heap of another format, from the output of tree --json --all --frames all."""
    made = readers.Heap(heap["process"], heap["pid"], heap["dump"], heap["allocator"], heap["kind"], heap["sample_bytes"])
    cum, path = {}, []
    for r in heap["rows"]:
        del path[r["depth"]:]
        path.append(r)
        if any(p["name"] in ("<other>", "<self>") or p["axis"] not in (None, "backtrace", "type") for p in path):
            continue
        stack = tuple(p["name"] for p in path if p["axis"] == "backtrace")
        kinds = [p["name"] for p in path if p["axis"] == "type"]
        if len(kinds) > 1 or any(p["axis"] == "type" for p in path[:-1]):
            continue                           # a part of that type, which is already counted
        key = stack, kinds[0] if kinds else None
        cum[key] = readers.added(cum.get(key), (r["bytes"], r["blocks"], r.get("error", 0) ** 2))
    readers.own_of(made, cum)
    made.rough = 2 * max(r.get("error", 0) for r in heap["rows"])   # JSON rounds errors
    made.condensed = "more" if any("more_bytes" in r for r in heap["rows"]) else True
    if made.typed:                             # other axes may be between
        made.typed = False
        made.cells = [((), {}, 0, 0, 0)]
        own = {s: n for (s, k), n in cum.items() if k is None}
        for (s, k), n in cum.items():
            if k is None and s:
                own[s[:-1]] = readers.taken(own[s[:-1]], n)
        made.cells = [(s, {}, *n) for s, n in own.items() if n[0] or n[1]]
    return made


# One file ----------------------------------------------------------------------------------------

def selectors(h):
    return (["--pid", str(h.pid)] if h.pid else []) + (["--dump", h.dump] if h.dump else []) + \
        (["--allocator", h.allocator] if h.allocator else []) + ["--kind", h.kind]


class Shown:
    """A heap with the views that show it."""

    def __init__(self, heap, change):
        self.heap, self.change, self.made = heap, change, {}

    def view(self, all_frames=False, terminal=False, invert=False):
        key = all_frames, terminal, invert
        if key in self.made:
            return self.made[key]
        h, times = self.heap, 0
        change = (lambda s: s) if all_frames else self.change
        if not all_frames:
            times = 32 if terminal or invert or not h.condensed else 1
        cells = [(s, {} if terminal or (invert and h.condensed) else a, *n) for s, a, *n in h.cells]
        v = View(cells, change, times, invert)
        v.condensed, v.rough = h.condensed, getattr(h, "rough", 0)
        if not h.typed and not terminal:
            v.take_entries(h.cum, change, times, invert)
        self.made[key] = v
        return v


def pair_views(x, y, **how):
    """Two views over the same nodes."""
    out = []
    for k, (a, b) in enumerate(((x, y), (y, x))):
        h, o = a.heap, b.heap
        frames = how.get("all_frames")
        flat = how.get("terminal") or (how.get("invert") and (h.condensed or o.condensed))
        times = 0 if frames else 32 if how.get("terminal") or how.get("invert") or not h.condensed else 1
        def made(s, which):
            return which.change(s) if not frames else s
        mine = [(made(s, a), {} if flat else ax, *n) for s, ax, *n in h.cells]
        zero = [(made(s, b), {} if flat else ax, 0, 0, 0) for s, ax, *n in o.cells]
        v = View(mine + zero if k == 0 else zero + mine, lambda s: s, times, how.get("invert", False))
        v.condensed = h.condensed
        if not flat and not (h.typed and o.typed):
            v.take_entries(getattr(h, "cum", {}), lambda s: made(s, a), times, how.get("invert", False))
        out.append(v)
    return out


class File:
    def __init__(self, tool, report, path):
        self.tool, self.report, self.path = tool, report, path
        report.by = "json"
        self.own, self.heaps = False, []
        try:
            self.format, heaps = readers.read(path)
            self.own = True
        except (readers.Unreadable, OSError) as why:
            self.format, heaps = str(why), []
        if self.own:
            heaps = [h for h in heaps if sum(k.key() == h.key() and k.dump == h.dump for k in heaps) == 1]
        out, status = tool.run(["tree", "--json", "--all", "--frames", "all", path])
        try:
            told = json.loads(out)["heaps"] if status == 0 else []
        except ValueError:
            told = []
        self.all = heaps
        if self.format.startswith("entries without"):
            report.left_out["files: entries without their ancestors"] += 1
            return                             # JSON joins such paths into one name
        rows = [r for t in told for r in t["rows"]]
        if not told or any(r["axis"] == "dominator" or r["bytes"] >> 62 or
                           (r["depth"] and not INVISIBLE.sub("", r["name"]).strip()) for r in rows) or \
                sum((t["pid"], t["dump"], t["allocator"], t["kind"]) == (u["pid"], u["dump"], u["allocator"], u["kind"])
                    for t in told for u in told) > len(told):
            return                             # files of objects, sums that overflow, or heaps that no options distinguish
        if not self.own:
            heaps = []
            for t in told[:6]:
                try:
                    heaps.append(cells_of_json(t))
                except readers.Unreadable:
                    pass
            whole = '"entries":' not in tool.run(["info", "--json", path])[0]
            for h in heaps:
                h.condensed = h.condensed and not whole
            self.all = heaps
        for h in heaps[-4:]:
            mine = [t for t in told if (t["pid"] or 0, t["dump"], t["allocator"], t["kind"]) == (h.pid, h.dump, h.allocator, h.kind)]
            if len(mine) == 1 and all(n[0] >= 0 for *_, n in ((0, c[2:]) for c in h.cells)):
                self.judge(h, mine[0])

    def of_kind(self, kind):
        """Heaps of another kind, from JSON."""
        out, status = self.tool.run(["tree", "--json", "--all", "--frames", "all", "--kind", kind, self.path])
        return [cells_of_json(t) for t in json.loads(out)["heaps"]] if not status else []

    def judge(self, h, told):
        """Accepts a heap whose JSON is right, with all frames and with hidden frames."""
        report, tool = self.report, self.tool
        shown = Shown(h, lambda s: s)
        if self.own:
            view = shown.view(all_frames=True)
            view.of_json = False
            if not check_json(lambda k, r: None, view, told):
                if any(re.search(r" \[[^]]*\]$", f) for c in h.cells for f in c[0]) and self.format == "chrome" and \
                        not any(str(r["name"]).endswith("]") and r["axis"] == "backtrace" for r in told["rows"]):
                    report.bad("the category of a stack frame (its object) is lost", self.path)
                    for i, c in enumerate(h.cells):
                        h.cells[i] = (tuple(re.sub(r" \[[^]]*\]$", "", f) for f in c[0]), *c[1:])
                    shown = Shown(h, lambda s: s)
                    view = shown.view(all_frames=True)
                    view.of_json = False
                if not check_json(lambda k, r: report.bad(f"{k} of a row, all frames", r), view, told):
                    return
            report.count += 2 * len(told["rows"])
        out, status = tool.run(["tree", "--json", "--all", *selectors(h), self.path])
        if status:
            return
        heaps = json.loads(out)["heaps"]
        if len(heaps) != 1:
            return
        left = {r["name"] for r in heaps[0]["rows"] if r["axis"] == "backtrace"} - {"<self>", "<other>"}
        stacks, first = [c[0] for c in h.cells], None
        for name, change in hiders(stacks, left):
            view = View(h.cells, change)
            view.condensed, view.of_json = h.condensed, not self.own
            if not h.typed:
                view.take_entries(h.cum, change, 0, False)
            wrong = []
            if check_json(lambda k, r: wrong.append((k, r)), view, heaps[0]):
                shown.change, shown.hidden = change, name
                break
            first = first if first and len(first) <= len(wrong) else wrong
        else:
            for k, r in first[:3]:
                report.bad(f"{k} of a row with frames hidden", r)
            return
        report.count += 2 * len(heaps[0]["rows"])
        gone = {f for s in stacks for f in s} - left
        if os.path.basename(self.path).startswith("random-"):
            for f in sorted(gone):
                if any(f.startswith(o) for o in gen.OWN):
                    if any(f in change(s) for s in stacks):
                        continue
                    report.bad("a program's own function is hidden", f)
        self.heaps.append(shown)
