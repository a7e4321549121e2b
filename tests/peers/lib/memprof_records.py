#!/usr/bin/env python3
"""Compares the listings of `heapdump memprof` and `llvm-profdata show --memory`: memprof_records.py OURS LLVM.

Splits both into records by function: allocation sites (a call stack and the fields of a block) and call sites. Our
listing of an indexed profile has fewer fields: only these are compared. Prints the number of sites; or the first
differences, with status 1."""
import collections
import sys


def records(path):
    """{function: [Counter of allocation sites, Counter of call sites]}"""
    found, names = {}, {}
    function, kind, frames, block = None, None, None, None
    sites = []

    def finish():
        nonlocal frames, block
        if frames:
            sites.append((function, kind, tuple(tuple(f) for f in frames), tuple(block)))
        frames, block = [], []

    guid = None
    frames, block = [], []
    started = False
    for line in open(path):
        indent, text = len(line) - len(line.lstrip()), line.strip()
        if text == "Records:":
            started = True
        if not started or not text:
            continue
        key, _, value = text.partition(": ")
        if indent == 4 and key in ("FunctionGUID", "Function"):
            finish()
            function = value
        elif indent == 4 and text.endswith(":"):
            finish()
            kind = text[:-1]
        elif indent == 4 and text == "-":
            # llvm-profdata writes this line before every frame of a call site; a call site ends with a frame that is
            # not inlined
            if kind == "AllocSites" or not frames or frames[-1][-1] == "0":
                finish()
        elif indent == 6 and text == "-":
            frames.append([])
        elif key == "Function":
            guid = value
        elif key == "SymbolName":
            frames[-1].append(value)
            if guid:
                names[guid] = value
            guid = None
        elif indent == 8 and block_of(key) and value:
            frames[-1].append(value)
        elif indent == 8:
            block.append((key, value))
    finish()
    for name, what, stack, fields in sites:
        # An address within a process: of the recording in our output, of llvm-profdata itself in LLVM's.
        fields = tuple(f for f in fields if f[0] != "AccessHistogram")
        record = found.setdefault(names.get(name, name), [collections.Counter(), collections.Counter()])
        record[what == "CallSites"][stack, fields] += 1
    return found


def block_of(key):
    return key in ("LineOffset", "Column", "Inline")


def only(found, names):
    """The same without other fields."""
    less = {}
    for function, kinds in found.items():
        less[function] = [collections.Counter(), collections.Counter()]
        for kind, sites in enumerate(kinds):
            for (stack, fields), n in sites.items():
                less[function][kind][stack, tuple(f for f in fields if f[0] in names)] += n
    return less


ours, llvm = records(sys.argv[1]), records(sys.argv[2])
llvm = only(llvm, {name for kinds in ours.values() for _, fields in kinds[0] for name, _ in fields})
differences = []
for name in sorted(set(ours) | set(llvm)):
    for i, kind in enumerate(("allocation", "call")):
        a = ours.get(name, [{}, {}])[i]
        b = llvm.get(name, [{}, {}])[i]
        for site in set(a) | set(b):
            if a.get(site, 0) != b.get(site, 0):
                differences.append("%s: %s site %d times here, %d there: %s" %
                                   (name, kind, a.get(site, 0), b.get(site, 0), site))
for d in differences[:5]:
    print(d)
allocations = [site for r in llvm.values() for site in r[0]]
print("%d records, %d allocation sites of %d fields, %d call sites: %s" %
      (len(llvm), len(allocations), len(allocations[0][1]) if allocations else 0,
       sum(sum(r[1].values()) for r in llvm.values()), "%d differ" % len(differences) if differences else "equal"))
sys.exit(bool(differences) or not allocations)
