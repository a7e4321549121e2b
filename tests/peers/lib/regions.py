#!/usr/bin/env python3
"""Reads regions of any size and content: regions.py TOOL linear|line|bounded|mutated [N]. Prints the cases that took
too long or ended wrongly."""
import json, os, random, re, resource, struct, subprocess, sys

tool, what = sys.argv[1], sys.argv[2]
verbs = {"recover": ["recover", "-o", "recovered.json"], "pages": ["pages", "--json", "-o", "pages.out"],
         "watch": ["watch", "--json", "--count", "1"]}

def made(kind, n): subprocess.run(["./regions", "region", kind, str(n)], check=True)

def look(verb, region="region", timeout=60):
    """Processor time in seconds, and the status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try: status = subprocess.run([tool, *verbs[verb], region], stdout=subprocess.DEVNULL, stderr=open("err", "w"), timeout=timeout).returncode
    except subprocess.TimeoutExpired: status = "no end"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, status

def linear():
    """Four times the input may take about four times as long, not sixteen. The shortest of several runs counts."""
    sizes = {"records": 1000, "images": 1000, "children": 16000, "modules": 6000, "generations": 6000, "overlaps": 6000,
             "names": 6000, "frames": 16000, "blocks": 60000, "ages": 60000}
    for kind, n in sizes.items():
        made(kind, n), os.rename("region", "small")
        made(kind, 4 * n)
        for verb in verbs:
            least = [1e9, 1e9]
            for tries in range(5):
                for i, region in enumerate(("small", "region")):
                    took, status = look(verb, region)
                    if status: print(kind, verb, "status", status, open("err").read()[:200])
                    least[i] = min(least[i], took)
                if least[1] < 8 * max(least[0], 0.01): break
            else: print(f"{kind}, {verb}: {least[0]:.2f} s for {n}, {least[1]:.2f} s for {4 * n}")

def line():
    """The time line of a recording: the cost per dump does not grow in a run that is four times as long. That holds
    even beyond the limit of dumps that the file keeps. The shortest of several runs counts."""
    def run(seconds):
        p = subprocess.run([tool, "record", "--stats", "--at", "every=0.001,exit", "-o", "line.json", "--", "./regions", "/dev/null", "live",
                            str(1000 * seconds)], stderr=subprocess.PIPE, text=True, timeout=120)
        took = re.search(r"heapdump (\d+) ms of processor time of its own", p.stderr)
        moments = len({e["id"] for e in json.load(open("line.json"))["traceEvents"] if e["ph"] == "v"})
        return float(took[1]) if took else 1e9, moments
    for tries in range(3):
        none, short, long = run(0), run(1), run(4)
        each = [max(took - none[0], 1) / moments for took, moments in (short, long)]
        if each[1] < 2 * each[0]: break
    else: print(f"time line: {each[0]:.2f} ms for each of {short[1]} moments, {each[1]:.2f} ms for each of {long[1]}")

def bounded(seconds):
    for kind, n in {"count": 1, "same": 20000, "claims": 2000}.items():
        made(kind, n)
        for verb in verbs:
            took, status = look(verb)
            if status not in (0, 1) or took > seconds: print(f"{kind}, {verb}: {took:.2f} s, status {status}")

def mutated(n, seconds):
    made("frames", 300)
    data = open("region", "rb").read(1 << 21)
    used = len(data.rstrip(b"\0"))
    some = [0, 1, 8, 0xffff, 0x7fffffff, 0xffffffff, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    for seed in range(n):
        random.seed(seed)
        b = bytearray(data)
        for _ in range(1 << random.randrange(12)):
            at = random.randrange(8, min(used, random.choice((512, 16384, used)))) & ~7
            word = random.choice((random.choice(some), random.getrandbits(64), random.randrange(used) & ~7))
            struct.pack_into("<Q", b, at, word)
        with open("region", "wb") as f: f.write(b), f.truncate(random.choice((len(b), 1 << 36)))
        for verb in verbs:
            took, status = look(verb, timeout=20)
            if status not in (0, 1) or took > seconds: print(f"{seed}, {verb}: {took:.2f} s, status {status}", open("err").read()[:400])

if what == "linear": linear()
if what == "line": line()
if what == "bounded": bounded(float(sys.argv[3]))
if what == "mutated": mutated(int(sys.argv[3]), float(sys.argv[4]))
