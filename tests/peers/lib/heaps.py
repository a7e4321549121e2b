#!/usr/bin/env python3
"""Compares the functions of a heap with another tool's output: heaps.py pprof|folded OURS.json THEIRS.txt

OURS is `heapdump tree --json --min-bytes 0` of one heap. THEIRS is the --text --show_bytes output of jeprof or
google-pprof (self and cumulative bytes of each function), or folded stacks (cumulative bytes). Prints differences
beyond rounding, or the number of functions compared.
"""
import json, re, sys


def function(name):
    """The name without object, file, line, arguments, template brackets and compiler suffixes."""
    name = re.sub(r" \[[^][]*\]$", "", name)
    name = re.sub(r" \([^()]*(:\d+)?\)$", "", name)
    name = re.sub(r"<(?!>).*>", "<>", name)
    return re.sub(r"\(.*|\[clone.*|\..*$", "", name).strip()


def ours(path):
    own, within, above = {}, {}, []
    for row in json.load(open(path))["heaps"][0]["rows"]:
        del above[row["depth"]:]
        if above:
            above[-1][1] -= row["bytes"]
        name = function(row["name"]) if row["depth"] else ""
        if name == "<self>":
            name = above[-1][0]
        elif name not in (a[0] for a in above):
            within[name] = within.get(name, 0) + row["bytes"]
        above.append([name, row["bytes"]])
        own.setdefault(name, []).append(above[-1])
    return {n: (sum(a[1] for a in own.get(n, [])), within[n]) for n in within if n}


def pprof(path):
    found = {}
    for line in open(path):
        m = re.match(r"\s*(-?\d+)\s+[\d.-]+%\s+[\d.-]+%\s+(-?\d+)\s+[\d.-]+%\s*(.*)", line)
        if m:
            old = found.get(function(m[3]), (0, 0))
            found[function(m[3])] = (old[0] + int(m[1]), old[1] + int(m[2]))
    return found


def folded(path):
    found = {}
    for line in open(path):
        stack, cost = line.rstrip("\n").rsplit(" ", 1)
        for name in {function(f.strip()) for f in stack.split(";") if f.strip()}:
            found[name] = (None, found.get(name, (None, 0))[1] + int(cost))
    return found


def compare(mine, theirs, wanted):
    """The number of equal figures, and the others in words; a missing function counts as 0."""
    equal, unlike = 0, []
    for name in wanted:
        for i, what in enumerate(("itself", "with what it calls")):
            a, b = mine.get(name, (0, 0))[i], theirs.get(name, (0, 0))[i]
            if b is None:
                continue
            if abs(a - b) > 3:
                unlike.append(f"{name} {what}: {a}, theirs {b}")
            else:
                equal += 1
    return equal, unlike


if __name__ == "__main__":
    wanted = ("made", "keep", "descend", "fill", "pass", "main")
    mine, theirs = ours(sys.argv[2]), {"pprof": pprof, "folded": folded}[sys.argv[1]](sys.argv[3])
    equal, unlike = compare(mine, theirs, wanted)
    for line in unlike:
        print(line)
    if not unlike:
        print(equal, "equal", sum(b[1] > 0 for n, b in mine.items() if n in wanted))
