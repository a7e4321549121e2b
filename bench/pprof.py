#!/usr/bin/env python3
"""Compares heapdump merge with go tool pprof -proto on many heap profiles of one program: time, peak memory, sums.

    make bench-pprof                                      a few minutes, most of it go's
    make bench-pprof PPROF_ARGS='--files 50'              fewer profiles

The profiles are generated in the style of Go's runtime: a sample for each stack and size, four values, one label. Stacks
have up to 45 frames from one tree of calls, some of them inlined. A few profiles are used many times, under different
names. The two take turns, and the fastest round counts: wall time, and time of all threads together.
"""

import argparse, os, random, resource, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump is")
parser.add_argument("--files", type=int, default=500)
parser.add_argument("--distinct", type=int, default=10)
parser.add_argument("--bytes", type=int, default=1000000, help="of each profile, about")
parser.add_argument("--rounds", type=int, default=2)
options = parser.parse_args()
tool = os.path.abspath(options.build) + "/heapdump"
work = os.path.abspath(options.build) + "/bench-pprof"
SIZES = (16, 32, 48, 64, 96, 128, 256, 512, 1024, 8192)
TYPES = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"))


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Program:
    """The common part of all profiles: functions, locations, the tree of calls, and strings."""

    def __init__(self):
        rng = random.Random(7)
        self.strings = {"": 0}
        self.places = bytearray()
        packages = ["runtime", "net/http", "encoding/json", "example.com/server/internal/store", "main", "database/sql"]
        functions, locations = options.bytes // 600, options.bytes // 200
        for i in range(1, functions + 1):
            package = rng.choice(packages)
            name = self.string("%s.(*T%d).method%d" % (package, i % 97, i))
            file = self.string("/srv/build/%s/file%d.go" % (package, i % 211))
            self.places += message(5, number(1, i) + number(2, name) + number(3, name) + number(4, file))
        self.places += message(3, number(1, 1) + number(2, 0x400000) + number(3, 0x900000) + number(5, self.string("/srv/app/server")))
        for i in range(1, locations + 1):
            lines = b"".join(message(4, number(1, rng.randint(1, functions)) + number(2, rng.randint(1, 2000)))
                             for _ in range(1 if rng.random() < 0.8 else 2))
            self.places += message(4, number(1, i) + number(2, 1) + number(3, 0x400000 + i * 16) + lines)
        tree = [[]]
        for _ in range(options.bytes // 110):
            caller = rng.choice(tree[-2000:]) if rng.random() < 0.7 else rng.choice(tree)
            if len(caller) < 45:
                tree.append(caller + [rng.randint(1, locations)])
        self.stacks = [message(1, b"".join(varint(x) for x in reversed(t))) for t in tree if len(t) > 6]
        self.types = b"".join(message(1, number(1, self.string(a)) + number(2, self.string(b))) for a, b in TYPES)
        self.label = self.string("bytes")
        self.period = message(11, number(1, self.string("inuse_space")) + number(2, self.label)) + number(12, 524288)

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def profile(self, seed, path):
        rng = random.Random(seed)
        strings = b"".join(message(6, text.encode()) for text in self.strings)
        out = bytearray(self.types + self.places)
        while len(out) + len(strings) < options.bytes:
            size, total = rng.choice(SIZES), rng.randint(1, 5000)
            live = rng.randint(0, total)
            values = b"".join(varint(v) for v in (total, total * size, live, live * size))
            out += message(2, rng.choice(self.stacks) + message(2, values) +
                           message(3, number(1, self.label) + number(3, size)))
        with open(path, "wb") as f:
            f.write(out + strings + self.period)
        return os.path.getsize(path)


def run(command):
    """Wall seconds, processor seconds, peak kilobytes."""
    before = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("failed: " + " ".join(command[:6]))
    return time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def sums(path):
    """The totals of a profile's types, printed by go tool pprof."""
    raw = subprocess.run(["go", "tool", "pprof", "-raw", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    totals, samples = {}, False
    names = []
    for line in raw.splitlines():
        if line.startswith("Locations"):
            break
        if samples and not names:
            names = [word.split("/")[0] for word in line.split()]
            totals = dict.fromkeys(names, 0)
        elif samples and ":" in line and line.split(":")[0].split() and line.split()[0].isdigit():
            for name, value in zip(names, line.split(":")[0].split()):
                totals[name] += int(value)
        samples |= line.startswith("Samples:")
    return totals


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
program = Program()
total = sum(program.profile(i, "%s/made%d.pb" % (work, i)) for i in range(options.distinct))
files = []
for i in range(options.files):
    files.append("%s/%03d.pb" % (work, i))
    os.link("%s/made%d.pb" % (work, i % options.distinct), files[-1])
print("%d profiles of %.2f MB each" % (options.files, total / options.distinct / 1e6))
ours, theirs = work + "/ours.pb", work + "/go.pb"
commands = {"heapdump merge": [tool, "merge", "--to", "pprof", "-o", ours] + files,
            "go tool pprof -proto": ["go", "tool", "pprof", "-proto", "-output=" + theirs] + files}
best = {}
for _ in range(options.rounds):
    for name, command in commands.items():
        took = run(command)
        best[name] = tuple(map(min, took, best.get(name, took)))
for name, (wall, cpu, memory) in best.items():
    print("%-22s %8.2f s  %8.2f s of processors  %8.1f MB  %7.1f MB/s" %
          (name, wall, cpu, memory / 1024, options.files * total / options.distinct / 1e6 / wall))
a, b = best.values()
print("%-22s %8.1fx          %8.1fx                 %8.1fx" % ("go / heapdump", b[0] / a[0], b[1] / a[1], b[2] / a[2]))
same = sums(ours) == sums(theirs)
print("sums are equal" if same else "sums differ: %s, %s" % (sums(ours), sums(theirs)))
sys.exit(not same)
