"""The referee for objects: checks the figures, names and paths that the tool prints for V8, Dart, .NET CF and HPROF by
brute force.

graph_referee.py TOOL WORK [--random N] [--first SEED] [--data ROOT] [--leaks N] [--hprof N] [--files PATH...] [--series A,B,C...] [--full]"""
import argparse, collections, lzma, os, random, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(HERE, "../../lib")]
sys.dont_write_bytecode = True
import changes, dart, hprof_graph, hprof_random, lists, netcf, node_leaks, objects, random_graphs, suspects, v8, ways
from graph import Unreadable
from referee import Report, Tool
from told import Asked, judge



def read(path):
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".xz"):
        data = lzma.decompress(data)
    if data.startswith(b"JAVA PROFILE"):
        return hprof_graph.read(data)
    if data.startswith(b"dartheap"):
        return dart.read(data)
    return v8.read(data) if data.lstrip()[:1] == b"{" else netcf.read(data)


class Turns:
    """The screens and widths of a short run: random, but equal for equal seeds. In a fixed rotation, some kind of
    file would always get the same width."""

    def __init__(self, full, seed):
        self.full, self.r, self.turn = full, random.Random(seed), 0

    def widths(self):
        self.turn = self.r.randrange(12)
        return (None, 60, 80, 140) if self.full else ((None, 60, 80, 140)[self.turn % 4],)

    def take(self, one_of):
        self.turn = self.r.randrange(12)
        return self.full or self.r.randrange(one_of) == 0


def some_objects(g, r, most):
    """Objects to ask about: the largest retained sizes, garbage, objects without a record, and others."""
    order = [o for o in lists.largest(g)]
    picked = order[:2] + [o for o in range(len(g.ids)) if not g.live[o]][:1] + list(range(g.described, len(g.ids)))[:1]
    rest = [o for o in range(len(g.ids)) if o not in picked]
    picked += r.sample(rest, min(len(rest), most))
    return [o for o in dict.fromkeys(picked) if g.find(g.id_text(o))[0] == o]


def some_classes(g, r, most):
    names = sorted({g.class_of(o)[0] for o in range(g.described)} - {""})
    return [n for n in r.sample(names, min(len(names), most)) if not n.startswith("-")]


def list_screens(a, turns, r):
    g = a.g
    lists.info(a)
    for columns in turns.widths():
        lists.classes(a, columns, ["--bytes"] if not columns else [])
    lists.classes_json(a)
    for columns in turns.widths():
        lists.retained(a, columns, [["--bytes"], ["--all"]][turns.turn % 2] if not columns else [])
    lists.retained_json(a)
    for name in some_classes(g, r, 8 if turns.full else 2):
        for columns in turns.widths():
            lists.retained_class(a, name, columns)
        if len(g.ids) <= lists.SMALL:
            for columns in turns.widths():
                ways.class_screen(a, name, columns)
            ways.class_ways(a, name)
        members = g.members(name)
        for options in (["--class", name], ["--class", name, "--garbage"]):
            for columns in turns.widths():
                objects.objects(a, members, options + ([] if columns else ["--bytes"]), columns)
            if turns.take(2):
                objects.objects_json(a, members, options)
    size = sorted(g.sizes)[len(g.sizes) * 2 // 3] if g.sizes else 0
    if g.described:
        for columns in turns.widths():
            objects.objects(a, [o for o in range(g.described) if g.sizes[o] > size and g.cls[o]], ["--where", f"size>{size}"], columns)
    if g.format != "netcf":
        for columns in turns.widths():
            objects.strings(a, ["--garbage"] if columns == 80 else [], columns)
        objects.strings_json(a)
    for o in some_objects(g, r, 12 if turns.full else 2):
        for columns in turns.widths():
            objects.object_screen(a, o, ["--all"] if not columns else [], columns)
            ways.path_screen(a, o, columns, ["--all"] if columns and turns.take(3) else [])
        if turns.take(2):
            objects.object_json(a, o)
        ways.path_json(a, o, turns.turn % 3 + 1)


def file_screens(tool, report, path, turns, g=None):
    g = g or read(path)
    r = random.Random(os.path.basename(path))
    report.by, report.command = "referee", path
    some = range(len(g.ids)) if len(g.ids) < 400 else r.sample(range(len(g.ids)), 60 if len(g.ids) < 20000 else 3)
    for o, removed in g.check_dominators(some):
        report.bad("our own dominators differ from removal", (g.id_text(o), removed))
    list_screens(Asked(report, tool, g, path), turns, r)
    suspect_screens(tool, report, [path], [g], turns)
    return g


def suspect_screens(tool, report, paths, graphs, turns):
    s = suspects.Series(graphs)
    got = suspects.suspects_json(tool, report, paths, s)
    for columns in turns.widths():
        suspects.suspects_text(tool, report, paths, s, got, columns)
    return got


def series_screens(tool, report, paths, graphs, turns):
    """Several files of one process."""
    pairs = [(0, 1), (0, len(paths) - 1)] if turns.full else [(0, len(paths) - 1)]
    for i, k in pairs:
        two, a, b = [paths[i], paths[k]], graphs[i], graphs[k]
        for columns in turns.widths():
            changes.diff(tool, report, two, a, b, False, columns)
        if turns.take(2):
            changes.diff(tool, report, two, a, b, True, None)
        changes.diff_json(tool, report, two, a, b)
    return suspect_screens(tool, report, paths, graphs, turns)


def hprof_screens(tool, report, work, seed, turns):
    names, truths = hprof_random.write(work, seed)
    graphs = [read(n) for n in names]
    for path, g, truth in zip(names, graphs, truths):
        report.by, report.command = "referee", path
        wrong = [(g.id_text(o), g.sizes[o], truth[g.ids[o]]) for o in range(g.described) if truth.get(g.ids[o], g.sizes[o]) != g.sizes[o]]
        judge(report, "referee", wrong[:5], [("our own sizes are not those of the program", not wrong)])
    for path, g in list(zip(names, graphs))[slice(None) if turns.full else slice(seed % 3, seed % 3 + 1)]:
        file_screens(tool, report, path, turns, g)
    series_screens(tool, report, names, graphs, turns)


def leak_screens(tool, report, program, work, turns):
    names, leak = node_leaks.snapshots(program, work)
    graphs = [read(n) for n in names]
    node_leaks.check_named(report, series_screens(tool, report, names, graphs, turns), leak, names)
    file_screens(tool, report, names[-1], turns, graphs[-1])


def inputs(root):
    out = []
    for folder in ("tests/data", "fuzz/seeds/fuzz_v8", "fuzz/seeds/fuzz_dart", "fuzz/seeds/fuzz_netcf", "fuzz/seeds/fuzz_hprof"):
        folder = os.path.join(root, folder)
        out += [os.path.join(folder, n) for n in sorted(os.listdir(folder))
                if "seeds" in folder or n.endswith((".heapsnapshot", ".dartheap", ".netcf.txt", ".hprof"))]
    return out


def print_report(report, read_, most):
    print("inputs: " + ", ".join(f"{n} {c}" for c, n in sorted(read_.items())))
    print("screens: " + ", ".join(f"{n} {c}" for c, n in sorted(report.screens.items())))
    print(f"figures compared: {report.count}")
    for kinds, word in (report.notes, "note"), (report.kinds, "VIOLATION"):
        for kind, found in sorted(kinds.items()):
            print(f"{word}: {kind}: {len(found)}")
            for command, raw in sorted(found, key=lambda x: len(x[0]) + len(x[1]))[:most]:
                print(f"    {command}\n      {raw[:600]}")
    print("no violation" if not report.kinds else f"{sum(map(len, report.kinds.values()))} violations of {len(report.kinds)} kinds")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tool"), p.add_argument("work")
    p.add_argument("--random", type=int, default=0), p.add_argument("--first", type=int, default=0)
    p.add_argument("--hprof", type=int, default=0, help="number of random programs in HPROF, from --first on")
    p.add_argument("--leaks", type=int, default=0, help="number of Node programs; -1: all")
    p.add_argument("--series", action="append", default=[], help="files of one process, separated by commas")
    p.add_argument("--files", nargs="*", default=[]), p.add_argument("--data")
    p.add_argument("--full", action="store_true"), p.add_argument("--most", type=int, default=3)
    a = p.parse_args()
    report, seen = Report(), collections.Counter()
    tool, turns = Tool(a.tool, report), Turns(a.full, a.first)
    os.makedirs(a.work, exist_ok=True)
    for seed in list(random_graphs.NAMED) * bool(a.random) + list(range(a.first, a.first + a.random)):
        names = random_graphs.write(a.work, seed)
        graphs = [read(n) for n in names]
        turn = seed % 3 if isinstance(seed, int) else 2
        for path, g in list(zip(names, graphs))[slice(None) if a.full else slice(turn, turn + 1)]:
            file_screens(tool, report, path, turns, g)
        series_screens(tool, report, names, graphs, turns)
        seen["random"] += 3
    for seed in range(a.first, a.first + a.hprof):
        hprof_screens(tool, report, a.work, seed, turns)
        seen["random HPROF"] += 3
    for path in a.files + (inputs(a.data) if a.data else []):
        begun = time.time()
        try:
            file_screens(tool, report, path, turns)
            seen["files"] += 1
        except Unreadable as why:
            seen["not well-formed"] += 1
        if os.environ.get("TIMES"):
            print(f"{time.time() - begun:.1f} s {path}")
    for names in a.series:
        names = names.split(",")
        series_screens(tool, report, names, [read(n) for n in names], turns)
        seen["series"] += 1
    for program in node_leaks.programs(a.data or ".", None if a.leaks < 0 else a.leaks, a.first + int(time.time()) // 86400):
        leak_screens(tool, report, program, a.work, turns)
        seen["leaks"] += 1
    print_report(report, seen, a.most)
    return 1 if report.kinds or not sum(seen.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
