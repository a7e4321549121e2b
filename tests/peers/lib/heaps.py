#!/usr/bin/env python3
"""Functions of a heap, ours beside a peer's: heaps.py pprof|folded OURS.json THEIRS.txt

OURS is `heapdump tree --json --min-bytes 0` of one heap. THEIRS is what jeprof and google-pprof print with --text
--show_bytes (bytes of each function itself, and with what it calls) or folded stacks (each function with what it
calls). Prints what differs by more than rounding, else how many functions were compared.
"""
import json, re, sys


def function(name):
    """Without object, file and line, arguments, brackets of templates and what the compiler appends."""
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
    """How many numbers are equal, and the others in words; 0 where a side has no such function."""
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
