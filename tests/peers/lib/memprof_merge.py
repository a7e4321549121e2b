#!/usr/bin/env python3
"""Reads indexed MemProf profiles as `llvm-profdata show --memory` prints them, context by context.

    memprof_merge.py allocations SHOWN...       AllocCount over all entries of each file, as LLVM counts
    memprof_merge.py contexts SHOWN             number of (function, call stack) pairs, and of entries
    memprof_merge.py same OURS THEIRS           compares sums of each (function, call stack), call sites and callees
    memprof_merge.py protects BEFORE AFTER      no place is cold AFTER that was not cold before
"""
import collections
import sys

import yaml


def number(v):
    return int(v, 16) if isinstance(v, str) else v


def frames(s):
    return tuple((number(f["Function"]), f["LineOffset"], f["Column"], f["IsInlineFrame"]) for f in s or [])


def records(path):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    docs = [d for d in yaml.load_all(open(path).read(), Loader=loader) if d]
    return (docs[0].get("HeapProfileRecords") or []) if docs else []


def entries(path):
    for r in records(path):
        for a in r.get("AllocSites") or []:
            yield number(r["GUID"]), frames(a["Callstack"]), a["MemInfoBlock"] or {}


def contexts(path):
    """Sums. LLVM repeats an entry for each inlined frame of its own function."""
    told, sums = collections.Counter(), {}
    for guid, stack, block in entries(path):
        end = next((i for i, f in enumerate(stack) if not f[3]), len(stack) - 1) + 1
        copies = max(1, sum(f[0] == guid for f in stack[:end]))
        key = (guid, stack)
        told[key] += 1
        if (told[key] - 1) % copies and not path.startswith("ours"):
            continue
        total = sums.setdefault(key, collections.Counter())
        for name, value in block.items():
            total[name] += value
    return sums


def sites(path):
    found = collections.defaultdict(set)
    for r in records(path):
        for s in r.get("CallSites") or []:
            found[number(r["GUID"]), frames(s["Frames"])] |= {number(g) for g in s.get("CalleeGuids") or []}
    return found


def cold(path):
    """Places where all contexts are cold."""
    kinds = collections.defaultdict(set)
    for guid, stack, b in entries(path):
        if stack[0][0] != guid:
            continue
        n = b.get("AllocCount", 0) or 1
        kinds[stack[0][:3]].add(b.get("TotalLifetimeAccessDensity", 0) / n / 100 < 0.05 and b.get("TotalLifetime", 0) / n >= 200000)
    return {place for place, k in kinds.items() if k == {True}}


what, paths = sys.argv[1], sys.argv[2:]
if what == "allocations":
    print(" ".join(str(sum(b.get("AllocCount", 0) for _, _, b in entries(p))) for p in paths))
elif what == "contexts":
    print("%d contexts, %d entries" % (len(contexts(paths[0])), sum(1 for _ in entries(paths[0]))))
elif what == "protects":
    new = cold(paths[1]) - cold(paths[0])
    print("something became cold: %s" % sorted(new)[:3] if new else "%d of %d places cold" % (len(cold(paths[1])), len(cold(paths[0]))))
    sys.exit(bool(new))
else:
    ours, theirs, wrong = contexts(paths[0]), contexts(paths[1]), []
    if sum(1 for _ in entries(paths[0])) != len(ours):
        wrong.append("a context occurs twice")
    if ours.keys() != theirs.keys():
        wrong.append("%d contexts here, %d there" % (len(ours), len(theirs)))
    wrong += ["%s: %s here, %s there" % (k, dict(ours[k]), dict(theirs[k])) for k in ours.keys() & theirs.keys() if ours[k] != theirs[k]]
    a, b = sites(paths[0]), sites(paths[1])
    if {k: v for k, v in a.items()} != {k: a[k] if k in a and b[k] <= a[k] else v for k, v in b.items()}:
        wrong.append("call sites differ: %d here, %d there" % (len(a), len(b)))
    print("\n".join(w[:300] for w in wrong[:3]) if wrong else "%d contexts, %d call sites" % (len(ours), len(a)))
    sys.exit(bool(wrong))
