"""The referee for screens: every figure that the tool prints is computed again from the file. See README.

referee.py TOOL WORK [--random N] [--from SEED] [--programs N] [--files PATH...] [--full]"""
import argparse, collections, json, os, re, shlex, subprocess, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import gen, on_terminal, parse_lists, parse_tree, programs, readers
from model import View, ZERO, add, by_name, hiders, once, with_axis
from text import is_size, names_it

ENV = {"PATH": os.environ["PATH"], "TERM": "dumb", "HEAPDUMP_PAGER": "cat", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


class Report:
    def __init__(self):
        self.kinds, self.notes = collections.OrderedDict(), collections.OrderedDict()
        self.screens, self.count, self.relations, self.command, self.by = collections.Counter(), 0, 0, "", ""

    def figures(self, m, bad, what, raw, want=None):
        self.count += sum(1 for k, v in m.groupdict().items() if v and k not in ("text", "bar", "bound")) or len(m.groups())
        for b in bad:
            self.bad(f"{self.by}: {b} of a {what}" if what in ("line", "root") else f"{what}: {b}",
                     f"{raw}" + (f"   (right: {str(want)[:200]})" if want is not None else ""))

    def relation(self):
        self.relations += 1

    def bad(self, kind, raw):
        kind = kind if kind.startswith(self.by) else f"{self.by}: {kind}"
        self.kinds.setdefault(kind, []).append((self.command, str(raw)))

    def note(self, kind, raw):
        self.notes.setdefault(kind, []).append((self.command, str(raw)))


class Tool:
    def __init__(self, path, report):
        self.path, self.report = path, report
        self.helps = {c: self.run([c, "--help"], None)[0] for c in ("tree", "top", "diff", "suspects", "check")}

    def has(self, command, option):
        return option in self.helps[command]

    def run(self, arguments, columns=None):
        """Text and status; on a terminal of so many columns, or into a pipe."""
        self.report.command = " ".join(shlex.quote(a) for a in ["heapdump", *arguments]) + \
            (f"   # {columns} columns" if columns else "")
        if columns:
            out, status = on_terminal.run([self.path, *arguments], columns, 50, stdin=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, env=ENV)
            return re.sub(r"\033\[[0-9;]*[mK]", "", out.decode(errors="replace")).replace("\r", ""), status
        p = subprocess.run([self.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=ENV)
        return p.stdout.decode(errors="replace"), p.returncode


# JSON --------------------------------------------------------------------------------------------

def json_rows(view, rows):
    """[(row, state or None)] of a tree in JSON; an axis's name is looked for as it is."""
    path, out = [], []
    for r in rows:
        del path[r["depth"]:]
        above = path[-1] if path else None
        state = None
        if not r["depth"]:
            state = 0, ()
        elif above is not None and r["name"] == "<other>":
            state = None
        elif above is not None and r["name"] == "<self>":
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
    """What a JSON tree says, against the view; returns whether all is right."""
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
            continue                           # what hidden callees have; the rest is not known to be its own
        if (r["bytes"], r["blocks"]) != n[:2]:
            wrong += 1
            report("bytes" if r["bytes"] != n[0] else "blocks", f"{r} (right: {n})")
    return not wrong


def cells_of_json(heap):
    """A heap of another format, of what tree --json --all --frames all says of it."""
    made = readers.Heap(heap["process"], heap["pid"], heap["dump"], heap["allocator"], heap["kind"], heap["sample_bytes"])
    cum, path = {}, []
    for r in heap["rows"]:
        del path[r["depth"]:]
        path.append(r)
        if any(p["name"] in ("<other>", "<self>") or p["axis"] not in (None, "backtrace", "type") for p in path):
            continue
        stack = tuple(p["name"] for p in path if p["axis"] == "backtrace")
        kinds = [p["name"] for p in path if p["axis"] == "type"]
        if len(kinds) < 2 and all(p["axis"] != "type" for p in path[:-1]):
            cum[stack, kinds[0] if kinds else None] = r["bytes"], r["blocks"], r.get("error", 0) ** 2
    readers.own_of(made, cum)
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
    """A heap with the ways in which it is shown."""

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
        v.condensed = h.condensed
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
        rows = [r for t in told for r in t["rows"]]
        if not told or any(r["axis"] == "dominator" or r["bytes"] >> 62 or (r["depth"] and not r["name"].strip()) for r in rows) or \
                sum((t["pid"], t["dump"], t["allocator"], t["kind"]) == (u["pid"], u["dump"], u["allocator"], u["kind"])
                    for t in told for u in told) > len(told):
            return                             # of objects, or sums that overflow, or heaps that options do not tell apart
        if not self.own:
            heaps = []
            for t in told[:6]:
                try:
                    heaps.append(cells_of_json(t))
                except readers.Unreadable:
                    pass
            self.all = heaps
        for h in heaps[-4:]:
            mine = [t for t in told if (t["pid"] or 0, t["dump"], t["allocator"], t["kind"]) == (h.pid, h.dump, h.allocator, h.kind)]
            if len(mine) == 1 and all(n[0] >= 0 for *_, n in ((0, c[2:]) for c in h.cells)):
                self.judge(h, mine[0])

    def judge(self, h, told):
        """Takes a heap whose JSON is right, with every frame and with frames hidden."""
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


# Screens -----------------------------------------------------------------------------------------

WIDTHS = (None, 80, 140)


def tree_screen(tool, report, file, shown, options, columns):
    arguments = ["tree", *options, *selectors(shown.heap), file.path]
    report.by = "tree"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["tree"] += 1
    cut = any(o in options for o in ("--entries", "--by", "--min-share", "--all", "--top", "--every-route", "--min-bytes"))
    view = shown.view("all" in options[options.index("--frames") + 1:] if "--frames" in options else False,
                      bool(columns) and not cut, "--invert" in options)
    heaps, odd = parse_tree.blocks_of(out, False)
    for raw in odd:
        report.bad("unparsed", raw)
    for lines in heaps:
        by = options[options.index("--sort") + 1] if "--sort" in options else None
        parse_tree.Checker(report, [view], lines, columns, "--bytes" in options,
                           not columns and "--entries" not in options, sort=by,
                           every_route="--every-route" in options).run()


def diff_screen(tool, report, files, pair, options, columns):
    x, y = pair
    arguments = ["diff", *options, *selectors(y.heap)[-2:], *(f.path for f in files)]
    report.by = "diff"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["diff"] += 1
    cut = any(o in options for o in ("--entries", "--by", "--min-share", "--all", "--top", "--min-bytes"))
    views = pair_views(x, y, all_frames="--frames" in options, terminal=bool(columns) and not cut,
                       invert="--invert" in options)
    heaps, odd = parse_tree.blocks_of(out, True)
    for raw in odd:
        report.bad("unparsed", raw)
    if len(heaps) != 1:
        report.bad("one pair expected", str([h[0].raw for h in heaps])[:200])
        return
    parse_tree.Checker(report, views, heaps[0], columns, True, not columns and "--entries" not in options).run()


def top_screen(tool, report, file, shown, options, columns):
    arguments = ["top", *options, *selectors(shown.heap), file.path]
    report.by = "top"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["top"] += 1
    change = (lambda s: s) if "--frames" in options else shown.change
    axis = "type" if "--by" in options else None
    table = by_name(shown.heap.cells, change, axis)
    if not axis:                               # stacks of hidden frames alone
        for s, _, *n in shown.heap.cells:
            if not change(s):
                both = add(table.get("<self>", (ZERO,))[0], tuple(n))
                table["<self>"] = both, both, both
    sort = options[options.index("--sort") + 1] if "--sort" in options else None
    parse_lists.top(report, out, [(shown.view().total, table)], shown.heap.condensed, sort)


def suspects_screen(tool, report, files, series, options, columns):
    """series: lists of cells of a process's dumps, in turn."""
    arguments = ["suspects", *options, *(f.path for f in files)]
    report.by = "suspects"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["suspects"] += 1

    def bounds(name, t):
        short = name if not columns else name.split(" (")[0]
        short = re.sub(r" \([^()]*:\d+\)$", "", short)
        cells, least = series[t], None
        for f in {f for c in cells for f in c[0] if names_it(short, f)}:
            own = ZERO
            for s, _, *n in cells:
                own = add(own, tuple(n)) if s and s[-1] == f else own
            least = own if least is None or own[0] < least[0] else least
        if least is None:
            return None
        most = ZERO
        for s, _, *n in cells:
            most = add(most, tuple(n)) if any(names_it(short, g) for g in s) else most
        return (0, 0 if most[1] is not None else None) if len(series) > 1 else least, most
    parse_lists.suspects(report, out, series, bounds)


def sorts(tool, command):
    return ["bytes", "blocks", "self", "name"] if tool.has(command, "--sort") else []


def file_screens(tool, report, file, full):
    if file.own and file.all:
        report.by = "info"
        out, status = tool.run(["info", file.path])
        if not status and len(file.all) == len(readers.read(file.path)[1]):
            report.screens["info"] += 1
            parse_lists.info(report, out, file.all)
    for shown in file.heaps if full else file.heaps[-1:]:
        modes = [["--bytes"], ["--bytes", "--entries", "12"], ["--bytes", "--frames", "all"], ["--bytes", "--invert"], []]
        axes = sorted(shown.view().axes) if shown.heap.typed else []
        modes += [["--bytes", "--by", a] for a in axes] + [["--bytes", "--by", a, "--entries", "9"] for a in axes]
        modes += [["--bytes", "--sort", s] for s in sorts(tool, "tree")] + [["--bytes", "--all"], ["--bytes", "--every-route"]]
        if file.own:
            modes += [["--bytes", "--min-bytes", "1k"], ["--bytes", "--top", "3"]]
        for options in modes:
            for columns in WIDTHS:
                if not columns or full or options[1:2] in ([], ["--entries"], ["--by"], ["--invert"]):
                    tree_screen(tool, report, file, shown, options, columns)
        for options in [["--bytes"], ["--bytes", "--self"], ["--bytes", "--frames", "all"], []] + \
                [["--bytes", "--by", a] for a in axes if a == "type"] + [["--bytes", "--sort", s] for s in sorts(tool, "top")]:
            for columns in WIDTHS if not options[1:] else (None, 80):
                top_screen(tool, report, file, shown, options, columns)
    if len(file.heaps) and len({h.heap.key()[:3] for h in file.heaps}) == 1 and \
            len({h.heap.kind for h in file.heaps}) == 1 and len(file.heaps) == len(file.all):
        for columns in WIDTHS:
            for options in ["--bytes"], []:
                suspects_screen(tool, report, [file], [h.heap.cells for h in file.heaps], options, columns)


def pair_screens(tool, report, a, b):
    if len(a.heaps) != 1 or len(b.heaps) != 1 or len(a.all) != 1 or len(b.all) != 1:
        return
    pair = a.heaps[0], b.heaps[0]
    gone = [set(f for c in h.heap.cells for f in c[0]) - set(f for c in h.heap.cells for f in h.change(c[0])) for h in pair]
    modes = [["--bytes"], ["--bytes", "--entries", "12"], ["--bytes", "--frames", "all"], ["--bytes", "--invert"], [],
             ["--bytes", "--by", "type"]] + [["--bytes", "--sort", s] for s in sorts(tool, "diff")]
    for options in modes:
        if "--by" in options and not (pair[0].heap.typed and pair[0].view().axes):
            continue
        for columns in WIDTHS if options[1:2] != ["--sort"] else (None,):
            diff_screen(tool, report, (a, b), pair, options, columns)
    site = max(pair[1].heap.cells, key=lambda c: c[2])[0]
    word = re.sub(r"[^\w].*", "", site[-1]) if site else ""
    limits = {"growth": 0.05, "total": 1 << 20, "site": (word, 4096)}
    report.by = "check"
    out, status = tool.run(["check", "--bytes", "--max-growth", "5%", "--max-total", "1M", "--site", word + "=4k", a.path, b.path]
                           if tool.has("check", "--bytes") else
                           ["check", "--max-growth", "5%", "--max-total", "1M", "--site", word + "=4k", a.path, b.path])
    if status in (0, 1) and word and out and not pair[1].heap.sample:
        report.screens["check"] += 1
        parse_lists.check(report, out, pair[0].heap.cells, pair[1].heap.cells, limits)
    elif word and not pair[1].heap.sample:
        report.bad("no answer", report.command)


# All ---------------------------------------------------------------------------------------------

def inputs(root, seeds):
    """Files of the repository, of each folder of seeds so many."""
    out = []
    for folder in ("tests/data", "fuzz/seeds"):
        for at, folders, names in os.walk(os.path.join(root, folder)):
            names = [os.path.join(at, n) for n in sorted(names) if "seeds" in at or not re.search(r"\d\.txt$|\.md$|-viewer", n)]
            out += names[:seeds] if "seeds" in at else names
    return sorted(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tool"), p.add_argument("work")
    p.add_argument("--random", type=int, default=60), p.add_argument("--first", type=int, default=0)
    p.add_argument("--programs", type=int, default=3), p.add_argument("--files", nargs="*"), p.add_argument("--data")
    p.add_argument("--full", action="store_true"), p.add_argument("--most", type=int, default=3)
    a = p.parse_args()
    report = Report()
    tool = Tool(a.tool, report)
    os.makedirs(a.work, exist_ok=True)
    read = collections.Counter()
    for seed in range(a.first, a.first + a.random):
        files = [File(tool, report, f) for f in gen.write(a.work, seed)]
        for f in files:
            read["random"] += bool(f.heaps)
            file_screens(tool, report, f, a.full)
        pair_screens(tool, report, *files[:2])
    files = a.files or (inputs(a.data, 1 << 30 if a.full else 4) if a.data else [])
    if a.programs:
        files = files + programs.record(tool, report, a.work, a.programs, read)
    for path in files:
        begun = time.time()
        f = File(tool, report, path)
        read["files"] += bool(f.heaps)
        file_screens(tool, report, f, a.full)
        if os.environ.get("TIMES"):
            print(f"{time.time() - begun:.1f} s {path}")
    print(f"inputs: {read['random']} random files, {read['files']} others, {read['programs']} recordings of programs")
    print("screens: " + ", ".join(f"{n} {c}" for c, n in sorted(report.screens.items())))
    print(f"figures compared: {report.count}; relations checked: {report.relations}")
    for kinds, word in (report.notes, "note"), (report.kinds, "VIOLATION"):
        for kind, found in sorted(kinds.items()):
            print(f"{word}: {kind}: {len(found)}")
            for command, raw in sorted(found, key=lambda x: len(x[0]) + len(x[1]))[:a.most]:
                print(f"    {command}\n      {raw[:500]}")
    print("no violation" if not report.kinds else f"{sum(map(len, report.kinds.values()))} violations of {len(report.kinds)} kinds")
    return 1 if report.kinds or not read["random"] + read["files"] else 0


if __name__ == "__main__":
    sys.exit(main())
