"""The referee for screens: recomputes every figure that the tool prints from the file. See README.md.

referee.py TOOL WORK [--random N] [--first SEED] [--programs N] [--data ROOT] [--files PATH...] [--most N] [--every] [--full]"""
import argparse, collections, os, re, shlex, subprocess, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
sys.dont_write_bytecode = True
import gen, on_terminal, parse_lists, parse_tree, programs, readers
from files import File, pair_views, selectors
from model import ZERO, add, by_name, hidden_frames
from text import names_it

MOST = 32 << 20                # limit of bytes per screen
ENV = {"PATH": os.environ["PATH"], "TERM": "dumb", "HEAPDUMP_PAGER": "cat", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


class Report:
    def __init__(self):
        self.kinds, self.notes = collections.OrderedDict(), collections.OrderedDict()
        self.left_out = collections.Counter()
        self.screens, self.count, self.relations, self.command, self.by = collections.Counter(), 0, 0, "", ""

    def figures(self, m, bad, what, raw, want=None):
        self.count += sum(1 for k, v in m.groupdict().items() if v and k not in ("text", "bar", "bound")) or len(m.groups())
        if (m.groupdict().get("share") or "").startswith(">"):
            self.bad("a share over 100 %", raw)
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


class Some:
    """Every third item, in rotation: the screens of a short run."""
    def __init__(self, full):
        self.full, self.turn = full, 0

    def take(self):
        self.turn += 1
        return self.full or self.turn % 3 == 0


class Tool:
    def __init__(self, path, report):
        self.path, self.report, self.extra = path, report, []
        self.helps = {c: self.run([c, "--help"], None)[0] for c in ("tree", "top", "diff", "suspects", "check")}

    def has(self, command, option):
        return option in self.helps[command]

    def run(self, arguments, columns=None):
        """Output and status, on a terminal with the given columns or in a pipe."""
        if self.extra and arguments[0] in ("tree", "top"):
            arguments = [arguments[0], *self.extra, *arguments[1:]]
        self.report.command = " ".join(shlex.quote(a) for a in ["heapdump", *arguments]) + \
            (f"   # {columns} columns" if columns else "")
        if columns:
            out, status = on_terminal.run([self.path, *arguments], columns, 50, stdin=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, env=ENV)
            return re.sub(r"\033\[[0-9;]*[mK]", "", out.decode(errors="replace")).replace("\r", ""), status
        with subprocess.Popen([self.path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=ENV) as p:
            out = p.stdout.read(MOST + 1)
            if len(out) > MOST:                # --every-route with eight axes has ten million lines
                p.kill()
                self.report.left_out["screens of more than 32 MiB"] += 1
        return out.decode(errors="replace"), p.returncode


# Screens -----------------------------------------------------------------------------------------

WIDTHS = (None, 80, 140)


def hidden_line(report, out, shown, options):
    """The foot counts the hidden frames of exactly the heap that is shown."""
    want = 0 if "--frames" in options else hidden_frames(shown.heap.cells, shown.change)
    m = re.search(r"^hidden: (\d+) frames? ", out, re.M)
    if want is None or shown.heap.condensed:
        return
    if m:
        report.figures(m, [] if int(m[1]) == want else ["frames"], "hidden", m[0], want)
    elif want:
        report.bad("hidden: no line for hidden frames", f"{want} are hidden")


def tree_screen(tool, report, file, shown, options, columns):
    arguments = ["tree", *options, *selectors(shown.heap), file.path]
    report.by = "tree"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["tree"] += 1
    hidden_line(report, out, shown, options)
    cut = any(o in options for o in ("--entries", "--by", "--min-share", "--all", "--top", "--every-route", "--min-bytes"))
    view = shown.view("all" in options[options.index("--frames") + 1:] if "--frames" in options else False,
                      bool(columns) and not cut, "--invert" in options)
    heaps, odd = parse_tree.blocks_of(out, False)
    for raw in odd:
        report.bad("unparsed", raw)
    if "--entries" in options and shown.heap.condensed and not any(o in options for o in ("--by", "--invert")):
        trial = Report()                       # a budget may be spent only along the stack
        for lines in parse_tree.blocks_of(out, False)[0]:
            parse_tree.Checker(trial, [view], lines, columns, True, False).run()
        view = shown.view(terminal=True) if trial.kinds else view
    for lines in heaps:
        by = options[options.index("--sort") + 1] if "--sort" in options else None
        parse_tree.Checker(report, [view], lines, columns, "--bytes" in options,
                           not columns and "--entries" not in options and "--every-route" not in options, sort=by,
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
    if "--entries" in options and x.heap.condensed and not any(o in options for o in ("--by", "--invert")):
        trial = Report()
        parse_tree.Checker(trial, views, parse_tree.blocks_of(out, True)[0][0], columns, True, False).run()
        views = pair_views(x, y, terminal=True) if trial.kinds else views
    parse_tree.Checker(report, views, heaps[0], columns, True, not columns and "--entries" not in options).run()


def top_screen(tool, report, file, shown, options, columns):
    arguments = ["top", *options, *selectors(shown.heap), file.path]
    report.by = "top"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["top"] += 1
    hidden_line(report, out, shown, options)
    change = (lambda s: s) if "--frames" in options else shown.change
    axis = "type" if "--by" in options else None
    table = by_name(shown.heap.cells, change, axis)
    if not axis:                               # stacks with only hidden frames
        for s, _, *n in shown.heap.cells:
            if not change(s):
                both = add(table.get("<self>", (ZERO,))[0], tuple(n))
                table["<self>"] = both, both, both
    sort = options[options.index("--sort") + 1] if "--sort" in options else None
    parse_lists.top(report, out, [(shown.view().total, table)], shown.heap.condensed, sort,
                    getattr(shown.heap, "rough", 0))


def suspects_screen(tool, report, files, series, options, columns):
    """series: lists of cells of a process's dumps, in order."""
    arguments = ["suspects", *options, *(f.path for f in files)]
    report.by = "suspects"
    out, status = tool.run(arguments, columns)
    if status:
        return
    report.screens["suspects"] += 1
    if len(files) == 1 and not sum(c[2] for c in series[-1]) and re.search(r"\(peak\): one dump", out):
        peak = [h for h in files[0].of_kind("peak") if sum(c[2] for c in h.cells)]
        series = [h.cells for h in peak[:1]] or series

    def bounds(name, t):
        short = name if not columns else name.split(" (")[0]
        short = re.sub(r" \([^()]*:\d+\)$", "", short)
        cells, least = series[t], None
        for f in {f for c in cells for f in c[0] if names_it(short, f)}:
            own = ZERO
            for s, _, *n in cells:
                own = add(own, tuple(n)) if s and s[-1] == f else own
            least = own if least is None else tuple(min((n for n in x if n is not None), default=None) for x in zip(own, least))
        if least is None:
            return None
        if "(library code only)" in name:      # only stacks without other frames
            least = 0, 0
        most = ZERO
        for s, _, *n in cells:
            most = add(most, tuple(n)) if any(names_it(short, g) for g in s) else most
        return (0, 0 if most[1] is not None else None) if len(series) > 1 else least, most
    parse_lists.suspects(report, out, series, bounds, options[options.index("--sort") + 1] if "--sort" in options else None)


def sorts(tool, command):
    return ["bytes", "blocks", "self", "name"] if tool.has(command, "--sort") else []


def file_screens(tool, report, file, full, some):
    if file.own and file.all:
        report.by = "info"
        for options in [], ["--bytes"]:
            out, status = tool.run(["info", *options, file.path])
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
                if (not columns or full or options[1:2] in ([], ["--entries"], ["--by"], ["--invert"])) and some.take():
                    tree_screen(tool, report, file, shown, options, columns)
        for options in [["--bytes"], ["--bytes", "--self"], ["--bytes", "--frames", "all"], []] + \
                [["--bytes", "--by", a] for a in axes if a == "type"] + [["--bytes", "--sort", s] for s in sorts(tool, "top")]:
            for columns in WIDTHS if not options[1:] else (None, 80):
                if some.take():
                    top_screen(tool, report, file, shown, options, columns)
    if len(file.heaps) and len({h.heap.key()[:3] for h in file.heaps}) == 1 and \
            len({h.heap.kind for h in file.heaps}) == 1 and len(file.heaps) == len(file.all):
        for command in ("tree", "top") if file.heaps[-1].heap.kind == "live" else ():
            report.by = command                # without selectors, only the last dump is shown
            out, status = tool.run([command, "--bytes", file.path])
            if not status:
                hidden_line(report, out, file.heaps[-1], [])
        for columns in WIDTHS:
            for options in [["--bytes"], []] + [["--bytes", "--sort", s] for s in sorts(tool, "suspects") if not columns]:
                if some.take():
                    suspects_screen(tool, report, [file], [h.heap.cells for h in file.heaps], options, columns)


def pair_screens(tool, report, a, b, some):
    if len(a.heaps) != 1 or len(b.heaps) != 1 or len(a.all) != 1 or len(b.all) != 1:
        return
    pair = a.heaps[0], b.heaps[0]
    modes = [["--bytes"], ["--bytes", "--entries", "12"], ["--bytes", "--frames", "all"], ["--bytes", "--invert"], [],
             ["--bytes", "--by", "type"]] + [["--bytes", "--sort", s] for s in sorts(tool, "diff")]
    for options in modes:
        if "--by" in options and not (pair[0].heap.typed and pair[0].view().axes):
            continue
        for columns in WIDTHS if options[1:2] != ["--sort"] else (None,):
            if some.take():
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
    """Files of the repository, at most the given number from each folder of seeds."""
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
    p.add_argument("--full", action="store_true"), p.add_argument("--every", action="store_true"), p.add_argument("--most", type=int, default=3)
    a = p.parse_args()
    report = Report()
    tool = Tool(a.tool, report)
    os.makedirs(a.work, exist_ok=True)
    read, some = collections.Counter(), Some(a.full or a.every)
    for seed in range(a.first, a.first + a.random):
        files = [File(tool, report, f) for f in gen.write(a.work, seed)]
        for f in files:
            read["random"] += bool(f.heaps)
            if a.full or f is not files[1]:    # the first file is the one compared with
                file_screens(tool, report, f, a.full, some)
        pair_screens(tool, report, *files[:2], some)
    files = a.files or (inputs(a.data, 1 << 30 if a.full else 3) if a.data else [])
    if a.programs:
        files = files + programs.record(tool, report, a.work, a.programs, read)
    for path in files:
        begun = time.time()
        f = File(tool, report, path)
        read["files"] += bool(f.heaps)
        file_screens(tool, report, f, a.full, some)
        for metric in ("AllocCount", "TotalAccessCount") if f.heaps and "memprof" in path else ():
            tool.extra = ["--metric", metric]
            if not tool.run(["tree", path])[1]:
                read["metrics"] += 1
                file_screens(tool, report, File(tool, report, path), a.full, some)
            tool.extra = []
        if os.environ.get("TIMES"):
            print(f"{time.time() - begun:.1f} s {path}")
    print(f"inputs: {read['random']} random files, {read['files']} others, {read['programs']} recordings of programs, "
          f"{read['metrics']} metrics")
    print("screens: " + ", ".join(f"{n} {c}" for c, n in sorted(report.screens.items())))
    print(f"figures compared: {report.count}; relations checked: {report.relations}")
    for why, n in sorted(report.left_out.items()):
        print(f"left out: {n} {why}")
    for kinds, word in (report.notes, "note"), (report.kinds, "VIOLATION"):
        for kind, found in sorted(kinds.items()):
            print(f"{word}: {kind}: {len(found)}")
            for command, raw in sorted(found, key=lambda x: len(x[0]) + len(x[1]))[:a.most]:
                print(f"    {command}\n      {raw[:500]}")
    print("no violation" if not report.kinds else f"{sum(map(len, report.kinds.values()))} violations of {len(report.kinds)} kinds")
    return 1 if report.kinds or not read["random"] + read["files"] else 0


if __name__ == "__main__":
    sys.exit(main())
