#!/usr/bin/env python3
"""What clang makes of a MemProf profile, against what `heapdump memprof --hints --json` says it would.

    memprof_index.py hints HINTS.json IR.ll     every allocation that is marked in the IR has the hints that ours says
    memprof_index.py marks IR.ll                how many marks of each kind there are
"""
import collections
import json
import re
import sys


class IR:
    """Calls with their marks, and the places these stand at: [(function, line offset, column)], innermost first."""

    def __init__(self, path):
        self.nodes, self.attributes, self.calls = {}, {}, []
        call = None
        for line in open(path):
            m = re.match(r"!(\d+) = (?:distinct )?(.*)", line)
            if m:
                self.nodes[int(m[1])] = m[2]
                continue
            m = re.match(r"attributes #(\d+) = \{(.*)\}", line)
            if m:
                found = re.search(r'"memprof"="(\w+)"', m[2])
                self.attributes[int(m[1])] = found and found[1]
                continue
            if re.search(r"\b(call|invoke)\b.*@", line) and line.startswith("  "):
                call = line
            elif call and line.startswith("          "):  # where an invoke goes on
                call += line
            else:
                call = None
            if call and "!dbg" in call:
                self.calls.append(call)
                call = None

    def number(self, text, key):
        m = re.search(key + r": !?(\d+)", text)
        return int(m[1]) if m else None

    def subprogram(self, node):
        while "DISubprogram" not in self.nodes[node]:
            node = self.number(self.nodes[node], "scope")
        text = self.nodes[node]
        name = re.search(r'linkageName: "([^"]*)"', text) or re.search(r'name: "([^"]*)"', text)
        return name[1], self.number(text, "line") or 0

    def places(self, node):
        found = []
        while node is not None:
            text = self.nodes[node]
            name, start = self.subprogram(self.number(text, "scope"))
            line = self.number(text, r"\bline") or 0
            found.append((name, line - start & 0xffff, self.number(text, "column") or 0))
            node = self.number(text, "inlinedAt")
        return tuple(found)

    def operands(self, node):
        return [int(n) for n in re.findall(r"!(\d+)", self.nodes[node])]

    def marked(self):
        """(places, "cold", None) or (places, None, [(frames, "cold"), ...]) of each marked allocation"""
        for call in self.calls:
            places = self.places(int(re.search(r"!dbg !(\d+)", call)[1]))
            single = [self.attributes.get(int(n)) for n in re.findall(r" #(\d+)", call)]
            single = [s for s in single if s]
            several = re.search(r"!memprof !(\d+)", call)
            if single:
                yield places, single[0], None
            elif several:
                contexts = []
                for mib in self.operands(int(several[1])):
                    kind = re.search(r'!"(\w+)"', self.nodes[mib])[1]
                    contexts.append((self.nodes[self.operands(mib)[0]].count("i64"), kind))
                yield places, None, contexts

    def callsites(self):
        return sum("!callsite" in call for call in self.calls)


def hints_of(path):
    """[(stack, frames that tell it apart, hint)]"""
    found = []
    for allocation in json.load(open(path))["allocations"]:
        for c in allocation["contexts"]:
            stack = tuple((f["function"], f["line_offset"] & 0xffff, f["column"]) for f in c["stack"])
            frames = c["frames"] if c["told_apart"] else len(stack) + 1
            found.append((stack, frames, c["hint"].replace(" ", "")))
    return found


def matching(contexts, places):
    """Those that the compiler takes for this call: from the first place on at which any allocates."""
    leaves = {stack[0] for stack, _, _ in contexts}
    while places and places[0] not in leaves:
        places = places[1:]
    return [c for c in contexts if places and c[0][:len(places)] == places]


def compare_hints(hints, ir):
    contexts = hints_of(hints)
    wrong, kinds, covered = [], collections.Counter(), 0
    for places, single, several in IR(ir).marked():
        ours = matching(contexts, places)
        covered += len(ours)
        hints_here = {hint for _, _, hint in ours}
        if single:
            kinds[single] += 1
            if hints_here != {single}:
                wrong.append("%s: %s in the IR, here %s" % (places, single, sorted(hints_here)))
            continue
        kinds["ambiguous"] += 1
        apart = {(stack[:n], hint) for stack, n, hint in ours if n <= len(stack)}
        expected = collections.Counter((len(prefix), hint) for prefix, hint in apart)
        got = collections.Counter(several)
        rest = got - expected
        if expected - got or any(kind != "notcold" for _, kind in rest):
            wrong.append("%s: in the IR %s, here %s" % (places, sorted(got.items()), sorted(expected.items())))
    for w in wrong[:5]:
        print(w)
    print("%d allocations (%s) of %d contexts, %d differ" % (sum(kinds.values()), ", ".join(
        "%d %s" % (n, kind) for kind, n in sorted(kinds.items())), covered, len(wrong)))
    return bool(wrong) or not kinds


def marks(path):
    ir = IR(path)
    kinds = collections.Counter("single" if single else "several" for _, single, _ in ir.marked())
    print("%d of one kind, %d of several, %d call sites" % (kinds["single"], kinds["several"], ir.callsites()))
    return not (sum(kinds.values()) and ir.callsites())


if sys.argv[1] == "hints":
    sys.exit(compare_hints(sys.argv[2], sys.argv[3]))
sys.exit(marks(sys.argv[2]))
