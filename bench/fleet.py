#!/usr/bin/env python3
"""Measures adding up the profiles of a fleet: time, peak memory of a process, and bytes written.

    make bench-fleet                                       some ten minutes and 6 GB of disk
    make bench-fleet FLEET_ARGS='--profiles 100 1000'      two minutes

Compares heapdump merge, examples/merge_mpi on 1, 2 and 4 ranks, and go tool pprof -proto on as many profiles as --go
says, and prints how their figures grow with the number of profiles. bench/fleet.c generates the profiles, and explains
their parameters. Each figure is the best of --rounds.
"""

import argparse, glob, math, os, shutil, subprocess, sys

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump, bench_fleet and merge_mpi are")
parser.add_argument("--profiles", type=int, nargs="+", default=[100, 1000, 10000])
parser.add_argument("--formats", nargs="+", default=["pprof", "pprof.gz", "chrome", "rows"])
parser.add_argument("--most", type=int, default=4000, help="MB of one format: fewer profiles are made, of rows")
parser.add_argument("--contexts", type=int, default=1000)
parser.add_argument("--stacks", type=int, default=0, help="contexts of the program [4 times those of a profile]")
parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
parser.add_argument("--go", type=int, default=1000, help="the most profiles for go tool pprof; 0: none")
parser.add_argument("--rounds", type=int, default=2)
options = parser.parse_args()
build = os.path.abspath(options.build)
work = build + "/bench-fleet"


def run(command):
    """Wall seconds, processor seconds, peak MB of a process: measured by `time`, since our child begins with our memory."""
    done = subprocess.run(["/usr/bin/time", "-o", work + "/time", "-f", "%e %U %S %M"] + command,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("failed: %s: %s" % (" ".join(command[:8]), done.stderr[-500:].decode(errors="replace")))
    wall, user, system, most = map(float, open(work + "/time").read().split())
    return wall, user + system, most / 1024


def best(command):
    return tuple(map(min, zip(*(run(command) for _ in range(options.rounds)))))


def exponent(points):
    """The exponent of N with which figures grow: least squares over logarithms."""
    if len(points) < 2:
        return "-"
    xs, ys = [math.log(n) for n, _ in points], [math.log(max(v, 1e-3)) for _, v in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return "N^%.2f" % (sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs))


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        if f.read() != g.read():
            sys.exit("%s and %s differ" % (a, b))


print("%-9s %6s  %-14s %9s %9s %8s %11s %12s" % ("format", "N", "by", "s", "s of CPUs", "MB", "ms/profile", "KB/profile"))
one = {}                         # by format and N: seconds of one process
for format in options.formats:
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work + "/in")
    grown = {}
    for n in sorted(options.profiles):
        made = len(glob.glob(work + "/in/*"))
        size = sum(os.path.getsize(f) for f in glob.glob(work + "/in/*"))
        if made and size / made * n > options.most * 1e6:
            print("%-9s %6d  would be %.1f GB" % (format, n, size / made * n / 1e9))
            continue
        subprocess.run([build + "/bench_fleet", work + "/in", format, str(n), str(options.contexts)] +
                       ([str(options.stacks)] if options.stacks else []), check=True)
        files = sorted(glob.glob(work + "/in/*"))
        size = sum(map(os.path.getsize, files)) / n
        with open(work + "/list", "w") as list:
            list.write("\n".join(files) + "\n")
        commands = {"one process": [build + "/heapdump", "merge", "--to", "rows", "-o", work + "/one.rows"] + files}
        for ranks in options.ranks:
            commands["%d rank%s" % (ranks, "s" if ranks > 1 else "")] = [
                "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), build + "/merge_mpi",
                work + "/ranks.rows", work + "/list"]
        for name, command in commands.items():
            took = best(command)
            if name != "one process":
                same(work + "/one.rows", work + "/ranks.rows")
            for what, figure in zip(("time", "memory"), (took[0], took[2])):
                grown.setdefault((name, what), []).append((n, figure))
            print("%-9s %6d  %-14s %9.2f %9.2f %8.1f %11.2f %12.1f" %
                  (format, n, name, took[0], took[1], took[2], took[0] / n * 1000, size / 1000), flush=True)
        one[format, n] = grown["one process", "time"][-1][1]
        if format.startswith("pprof") and n <= options.go:
            ours = best([build + "/heapdump", "merge", "--to", "pprof", "-o", work + "/ours.pb"] + files)
            theirs = best(["go", "tool", "pprof", "-proto", "-output=" + work + "/go.pb"] + files)
            for name, took in (("to pprof", ours), ("go tool pprof", theirs)):
                print("%-9s %6d  %-14s %9.2f %9.2f %8.1f %11.2f" % ((format, n, name) + took + (took[0] / n * 1000,)))
            print("%-9s %6d  %-14s %8.1fx %8.1fx %7.1fx" % (format, n, "go / ours", theirs[0] / ours[0],
                                                           theirs[1] / ours[1], theirs[2] / ours[2]), flush=True)
    print("%-9s grows  %s; contexts of the sum: %d; %.1f KB of it" %
          (format, ", ".join("%s: time %s, memory %s" % (name, exponent(grown[name, "time"]), exponent(grown[name, "memory"]))
                             for name, what in grown if what == "time"),
           sum(1 for _ in open(work + "/one.rows")) - 1, os.path.getsize(work + "/one.rows") / 1000))
    if 2 in options.ranks and 1 in options.ranks:
        n = grown["1 rank", "time"][-1][0]
        print("%-9s two ranks are %.2f times as fast as one, of %d" %
              (format, grown["1 rank", "time"][-1][1] / grown["2 ranks", "time"][-1][1], n))
shutil.rmtree(work, ignore_errors=True)
