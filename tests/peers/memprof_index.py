#!/usr/bin/env python3
"""What clang makes of a MemProf profile, against what `heapdump memprof --hints --json` says it would.

    memprof_index.py hints HINTS.json IR.ll     every allocation that is marked in the IR has the hints that ours says
    memprof_index.py marks IR.ll                how many marks of each kind there are
"""
import collections
import functools
import itertools
import json
import re
import struct
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

    def allocations(self):
        """(places, "cold", None) or (places, None, [(stack ids, "cold"), ...]) of each call of operator new, or with
        neither"""
        for call in self.calls:
            places = self.places(int(re.search(r"!dbg !(\d+)", call)[1]))
            single = [self.attributes.get(int(n)) for n in re.findall(r" #(\d+)", call)]
            single = [s for s in single if s]
            several = re.search(r"!memprof !(\d+)", call)
            if several:
                contexts = []
                for mib in self.operands(int(several[1])):
                    kind = re.search(r'!"(\w+)"', self.nodes[mib])[1]
                    ids = re.findall(r"i64 (-?\d+)", self.nodes[self.operands(mib)[0]])
                    contexts.append((tuple(int(n) & (1 << 64) - 1 for n in ids), kind))
                yield places, None, contexts
            elif single or re.search(r"@_Zn[wa]", call):
                yield places, single[0] if single else None, None

    def callsites(self):
        return sum("!callsite" in call for call in self.calls)


def blake3(block):
    """The first 8 bytes of BLAKE3 over one block of up to 64 bytes, as a number"""
    h = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]
    m, v = list(struct.unpack("<16I", block.ljust(64, b"\0"))), h + h[:4] + [0, 0, len(block), 11]

    def rotate(x, n):
        return x >> n | x << 32 - n & 0xffffffff

    def mix(a, b, c, d, x, y):
        for word, n, k in (x, 16, 12), (y, 8, 7):
            v[a] = v[a] + v[b] + word & 0xffffffff
            v[d] = rotate(v[d] ^ v[a], n)
            v[c] = v[c] + v[d] & 0xffffffff
            v[b] = rotate(v[b] ^ v[c], k)

    for _ in range(7):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)]
    return struct.unpack("<Q", struct.pack("<2I", v[0] ^ v[8], v[1] ^ v[9]))[0]


@functools.lru_cache(None)
def stack_id(guid, line_offset, column):
    return blake3(struct.pack("<QII", int(guid, 16), line_offset, column))


# inlined: frames that were, from the innermost on; frames: that tell it apart, or None; hint: of a call that has one for
# all contexts; mark: of this one among others
Context = collections.namedtuple("Context", "stack ids inlined frames hint mark marked")


def hints_of(told):
    found = []
    for allocation in told["allocations"]:
        for c in allocation["contexts"]:
            hint = c["hint"].replace(" ", "")
            found.append(Context(tuple((f["function"], f["line_offset"] & 0xffff, f["column"]) for f in c["stack"]),
                                 tuple(stack_id(f["GUID"], f["line_offset"], f["column"]) for f in c["stack"]),
                                 len(list(itertools.takewhile(lambda f: f["inlined"], c["stack"]))),
                                 c["frames"] if c["told_apart"] else None, hint,
                                 "notcold" if told["release"] >= 22 and hint == "hot" else hint, c["marked"]))
    return found


def matching(contexts, places):
    """Those that the compiler takes for this call: from the first place on at which any allocates. It looks into the
    record of the function alone that has the call: of contexts that were inlined that far."""
    leaves = {c.stack[0] for c in contexts}
    while places and places[0] not in leaves:
        places = places[1:]
    return [c for c in contexts if places and c.inlined >= len(places) - 1 and c.stack[:len(places)] == places]


def disagree(contexts, several):
    """What the marks [(stack ids, hint)] of one call and our contexts say of each other that is not the same"""
    wrong, used = [], set()
    for c in contexts:
        marks = [(ids, hint) for ids, hint in several if c.ids[:len(ids)] == ids]
        used.update(marks)
        if not c.marked:
            expected = []
        elif c.frames is None:  # nothing tells it apart: one mark of as many callers as it pleases
            expected = [(ids, "notcold") for ids, _ in marks[:1]] or ["a mark"]
        else:
            expected = [(c.ids[:c.frames], c.mark)]
        if marks != expected:
            wrong.append("%s: in the IR %s, here %s" % (c.stack, marks, expected))
    return wrong + ["%s %s: of no context here" % mark for mark in several if mark not in used]


def compare_hints(hints, paths):
    told = json.load(open(hints))
    contexts = hints_of(told)
    wrong, kinds, covered, marked, copies, found, called = [], collections.Counter(), 0, 0, 0, set(), set()
    for places, single, several in itertools.chain.from_iterable(IR(path).allocations() for path in paths):
        ours = matching(contexts, places)
        if single and not ours:  # inlined, after it was marked, into a caller that did not allocate in the profiled run
            copies += 1
            for n in range(len(places), 0, -1):
                ours = ours or matching(contexts, places[:n])
        hints_here = {c.hint for c in ours}
        if several:
            wrong += disagree(ours, several)
            marked += len(several)
        elif len(hints_here) < 2 if single == "ambiguous" else hints_here != ({single} if single else set()):
            wrong.append("%s: %s in the IR, here %s" % (places, single, sorted(hints_here)))  # ambiguous copies have no marks
        if single or several:
            kinds[single or "ambiguous"] += 1
        covered += len(ours)
        found |= {c.stack[0] for c in ours}
        called |= set(places)
    others = {c.stack[0] for c in contexts} - found
    wrong += ["%s: contexts here, and none in the IR" % (place,) for place in sorted(others & called)]
    for w in wrong[:5]:
        print(w)
    print("%d allocations (%s%s) of %d contexts, %d marks, %d differ%s" % (sum(kinds.values()), ", ".join(
        "%d %s" % (n, kind) for kind, n in sorted(kinds.items())), ", %d of them copies" % copies if copies else "",
        covered, marked, len(wrong), "; of %d places, no operator new is called at %d" % (len(others) + len(found),
                                                                                       len(others)) if others else ""))
    return bool(wrong) or not kinds


def marks(path):
    ir = IR(path)
    kinds = collections.Counter("single" if single else "several" for _, single, several in ir.allocations() if single or several)
    print("%d of one kind, %d of several, %d call sites" % (kinds["single"], kinds["several"], ir.callsites()))
    return not (sum(kinds.values()) and ir.callsites())


if sys.argv[1] == "hints":
    sys.exit(compare_hints(sys.argv[2], sys.argv[3:]))
sys.exit(marks(sys.argv[2]))
