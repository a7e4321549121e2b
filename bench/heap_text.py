#!/usr/bin/env python3
"""Turns jemalloc's text of a program's heap into its largest functions: heapdump top against jeprof --text.

    make bench-heap-text

The program is heapdump itself, with debug information and without inlining, because jeprof merges inlined functions into
their caller. It runs under jemalloc, while it names the frames of another run of itself; every allocation is sampled.
Both tools start from the text and the program's files, and name all functions. Their figures are compared for every
function of the program; in libraries without debug information jeprof takes the nearest symbol.
"""

import argparse, glob, os, re, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build")
parser.add_argument("--rounds", type=int, default=3)
options = parser.parse_args()
build = os.path.abspath(options.build)
root = os.path.dirname(os.path.abspath(__file__)) + "/.."
tool, work = build + "/heapdump", build + "/heap_text"
sys.path.insert(0, root + "/tests/peers/lib")
import heaps


def compiled():
    """Builds with the libraries of the command, as in its Makefile."""
    link = re.search(r"^\$\(B\)/heapdump: .*\n\t(.*)", open(root + "/Makefile").read(), re.M)[1]
    stb = subprocess.run(["pkg-config", "--cflags", "stb"], capture_output=True, text=True).stdout.split()
    sources = glob.glob(root + "/examples/heapdump/**/*.c", recursive=True)
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-fno-inline", "-g", "-w",
                    *(stb or ["-I/usr/include/stb"]), *sources, "-o", work + "/program",
                    *re.findall(r"-l[a-z+]+", link)], check=True)


def recorded(name, *arguments):
    jemalloc = glob.glob("/usr/lib/*/libjemalloc.so.2")[0]
    where = dict(os.environ, LD_PRELOAD=jemalloc,
                 MALLOC_CONF=f"prof:true,prof_final:true,prof_accum:true,lg_prof_sample:0,prof_prefix:{work}/{name}")
    subprocess.run([work + "/program", *arguments], check=True, env=where, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return glob.glob(f"{work}/{name}.*.heap")[0]


def best(command, path):
    """Wall seconds and processor seconds."""
    seconds, cpu = [], []
    for _ in range(options.rounds):
        with open(path, "w") as out, open(work + "/said", "w") as said:
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=out, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            seconds.append(time.monotonic() - start)
            cpu.append(used.ru_utime + used.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command[0]} failed: " + open(work + "/said").read()[:300])
    return min(seconds), min(cpu)


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
compiled()
text = recorded("second", "top", recorded("first", "top", root + "/tests/data/heap-gperftools.txt"))
ours = best([tool, "top", "--self", "--kind", "total", "--top", "100000", "--bytes", text], work + "/ours")
theirs = best(["jeprof", "--text", "--show_bytes", "--alloc_space", work + "/program", text], work + "/theirs")
with open(work + "/tree.json", "w") as out:
    subprocess.run([tool, "tree", "--json", "--min-bytes", "0", "--kind", "total", text], check=True, stdout=out)
mine, jeprof = heaps.ours(work + "/tree.json"), heaps.pprof(work + "/theirs")
symbols = subprocess.run(["nm", "--defined-only", work + "/program"], check=True, capture_output=True, text=True)
own = {heaps.function(s.split()[-1]) for s in symbols.stdout.splitlines() if s.split()[-2] in "tT"}
equal, unlike = heaps.compare(mine, jeprof, sorted(n for n in mine if n in own))
total = open(work + "/ours").readline().split()[0]
said = re.search(r"^Total: (\d+) B", open(work + "/theirs").read(), re.M)[1]
stacks = open(text).read().count("\n@")
print(f"jemalloc's text of a program with debug information, {stacks} stacks, {os.path.getsize(text) / 1e3:.0f} KB")
print(f"  {'':16}{'seconds':>9}{'of CPU':>9}   times ours")
for name, (seconds, cpu) in (("heapdump top", ours), ("jeprof --text", theirs)):
    print(f"  {name:16}{seconds:9.3f}{cpu:9.3f}   {seconds / ours[0]:9.1f}")
print(f"  in all {total} bytes, jeprof's {said}; of the program's functions {equal} numbers equal, {len(unlike)} not")
for line in unlike:
    print("   ", line)
