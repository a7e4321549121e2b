#!/usr/bin/env python3
"""Random MemProf profiles, in which many call stacks are prefixes of others. Compared with itself, a profile changes
nothing for the compiler. As its own later run, each context has the hint that --hints lists, and all contexts are
found again.

    memprof_itself.py TOOL COUNT
"""
import collections
import json
import random
import subprocess
import sys

tool, count = sys.argv[1], int(sys.argv[2])
frame = "{ Function: 0x%x, LineOffset: %d, Column: 1, IsInlineFrame: false }"


def profile(r):
    text = "---\nHeapProfileRecords:\n"
    for function in range(1, r.randint(2, 4)):
        text += "  - GUID: 0x%x\n    AllocSites:\n" % function
        for _ in range(r.randint(1, 8)):
            stack = [(function, r.randint(1, 2))] + [(r.randint(1, 2), r.randint(1, 2)) for _ in range(r.choice((0, 1, 1, 2, 3, 4)))]
            cold = r.random() < 0.5
            text += "      - Callstack: [ %s ]\n        MemInfoBlock: { AllocCount: 1, TotalSize: %d, TotalLifetime: %d, TotalLifetimeAccessDensity: %d }\n" % (
                ", ".join(frame % f for f in stack), r.randint(1, 99), 300000 * cold, 0 if cold else r.choice((500, 500000)))
    return text


def ask(*options):
    return json.loads(subprocess.run([tool, "memprof", "--json", *options], check=True, capture_output=True).stdout)


wrong = 0
for seed in range(count):
    with open("itself.yaml", "w") as f:
        f.write(profile(random.Random(seed)))
    for clang in "19", "22":
        of = ["--clang", clang, "itself.yaml"]
        changes = len(ask("--hints", "--diff", *of, "itself.yaml")["changes"])
        told = collections.Counter()
        for a in ask("--hints", *of)["allocations"]:
            for c in a["contexts"]:
                told[c["hint"]] += c["bytes"]
        effect = ask("--effect", "itself.yaml", *of)
        judged = {t["hint"]: t["bytes"] for t in effect["told"] if t["bytes"]}
        if changes or effect["gone"]["cold_contexts"] or judged != dict(told):
            wrong += 1
            print("seed %d, clang %s: %d changes, gone %s, told %s, was %s" % (seed, clang, changes, effect["gone"], judged, dict(told)))
sys.exit(bool(wrong))
