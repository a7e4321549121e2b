#!/usr/bin/env python3
"""Checks `heapdump memprof --effect --json` against a count over all pairs of contexts that --hints --json lists for
both runs. Its sums are checked against `llvm-profdata show --memory` of the later run.

    memprof_effect.py EFFECT.json BEFORE-HINTS.json LATER-HINTS.json [LATER.yaml]
"""
import collections
import json
import sys

effect, before, later = (json.load(open(p)) for p in sys.argv[1:4])
place = lambda f: (f["GUID"], f["line_offset"], f["column"])
contexts = lambda d: [c for a in d["allocations"] for c in a["contexts"]]
hints = []
for c in contexts(before):
    n = c["frames"] if c["told_apart"] else len(c["stack"])
    hints.append((tuple(map(place, c["stack"][:n])), c["hint"]))
sums = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
for c in contexts(later):
    stack = tuple(map(place, c["stack"]))
    told = "nothing"
    for n in range(len(stack), 0, -1):
        found = {hint for prefix, hint in hints if prefix == stack[:n]}
        if found:
            told = "not cold" if "not cold" in found else found.pop()
            break
    cold = c["heat"] == "cold"
    for s in (sums[told], sums["all"]):
        for i, v in enumerate((1, c["bytes"], c["blocks"], cold, c["bytes"] * cold)):
            s[i] += v
keys = ("contexts", "bytes", "blocks", "cold_contexts", "cold_bytes")
wrong = []
for name, told in [(t["hint"], t) for t in effect["told"]] + [("all", effect["all"])]:
    if [told[k] for k in keys] != sums[name]:
        wrong.append("%s: %s here, %s counted" % (name, [told[k] for k in keys], sums[name]))
if len(sys.argv) > 4:
    import yaml
    total = 0
    for d in yaml.load_all(open(sys.argv[4]).read(), Loader=yaml.SafeLoader):
        for r in (d or {}).get("HeapProfileRecords") or []:
            guid = int(r["GUID"], 16) if isinstance(r["GUID"], str) else r["GUID"]
            for a in r.get("AllocSites") or []:
                f = a["Callstack"][0]["Function"]
                if (int(f, 16) if isinstance(f, str) else f) == guid:
                    total += a["MemInfoBlock"].get("TotalSize", 0)
    if total != effect["all"]["bytes"]:
        wrong.append("%d bytes here, %d there" % (effect["all"]["bytes"], total))
print("\n".join(wrong) if wrong else ", ".join("%s: %d contexts, %d bytes, %d cold" % (k, v[0], v[1], v[4]) for k, v in sorted(sums.items())))
sys.exit(bool(wrong))
