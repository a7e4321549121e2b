#!/usr/bin/env python3
"""Converts MemProf YAML, as printed by llvm-profdata, to the indexed format: heapdump index against llvm-profdata-22.

    make bench-yaml [YAML_ARGS="--megabytes 10"]

The profile is generated: functions with eight allocations of 5 to 24 frames, and four call sites. Both write version 3,
and the files are compared. Times are of the whole process, the best of the rounds; the two take turns.
"""

import argparse, os, random, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--megabytes", type=int, default=100)
options = parser.parse_args()
build = os.path.abspath(options.build)
work = build + "/memprof_yaml"
if not shutil.which("llvm-profdata-22"):
    print("SKIP: llvm-profdata-22 is not here (Debian: llvm-22)")
    sys.exit(0)
os.makedirs(work, exist_ok=True)


def frame(f):
    return f"          - {{ Function: 0x{f[0]:x}, LineOffset: {f[1]}, Column: {f[2]}, IsInlineFrame: {f[3]} }}\n"


def made(path, size):
    r = random.Random(7)
    functions = [r.getrandbits(64) for _ in range(20000)]
    place = lambda f: (f, r.randrange(300), r.randrange(1, 120), "true" if r.random() < 0.4 else "false")
    callers = [place(r.choice(functions)) for _ in range(60000)]
    lines = [frame(c) for c in callers]
    with open(path, "w") as out:
        at = out.write("---\nHeapProfileRecords:\n")
        while at < size:
            guid = r.getrandbits(64)
            text = [f"  - GUID:            0x{guid:x}\n    AllocSites:\n"]
            for _ in range(8):
                start = r.randrange(len(lines) - 40)
                text += ["      - Callstack:\n", frame((*place(guid)[:3], "false")), *lines[start:start + r.randrange(4, 24)],
                         f"        MemInfoBlock:\n          AllocCount:      {r.randrange(1, 10000)}\n          TotalSize:       {r.randrange(1 << 30)}\n"
                         f"          TotalLifetime:   {r.randrange(1 << 20)}\n          TotalLifetimeAccessDensity: {r.randrange(1 << 20)}\n"]
            text.append("    CallSites:\n")
            text += ["      - Frames:\n" + frame((*place(guid)[:3], "false")) for _ in range(4)]
            at += out.write("".join(text))
        out.write("...\n")


def run(command):
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} failed")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


yaml = f"{work}/{options.megabytes}.yaml"
if not os.path.exists(yaml):
    made(yaml + ".new", options.megabytes * 1000000)
    os.rename(yaml + ".new", yaml)
commands = {"heapdump index": [build + "/heapdump", "index", "--memprof-version", "3", "-o", work + "/ours", yaml],
            "llvm-profdata-22 merge": ["llvm-profdata-22", "merge", "--memprof-version=3", yaml, "-o", work + "/theirs"]}
best = {}
for _ in range(options.rounds):
    for name, command in commands.items():
        best[name] = [min(pair) for pair in zip(best.get(name, [9e9] * 3), run(command))]
same = open(work + "/ours", "rb").read() == open(work + "/theirs", "rb").read()
ours = best["heapdump index"]
print(f"MemProf YAML of {os.path.getsize(yaml) / 1e6:.0f} MB to an indexed profile, {'the same bytes' if same else 'OTHER BYTES'}")
print(f"  {'':24}{'seconds':>9}{'of CPU':>9}{'MiB':>8}   times ours: seconds, CPU, memory")
for name, row in best.items():
    print(f"  {name:24}{row[0]:9.2f}{row[1]:9.2f}{row[2]:8.0f}   " + "".join(f"{a / b:7.1f}" for a, b in zip(row, ours)))
sys.exit(not same)
