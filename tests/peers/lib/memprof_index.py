#!/usr/bin/env python3
"""Compares clang's use of a MemProf profile with the prediction of `heapdump memprof --hints --json`.

    memprof_index.py hints HINTS.json IR.ll     every allocation that is marked in the IR has the predicted hints
    memprof_index.py marks IR.ll                counts the marks of each kind
    memprof_index.py final OUT PASS.ll IR.ll ...  compares the marks in the emitted IR (IR.ll) with those right after the
                                                pass that sets them (PASS.ll): counts calls of operator new with other marks
                                                by reason, and those without a reason; each of them goes to OUT
"""
import collections
import functools
import hashlib
import itertools
import json
import re
import struct
import sys


# single: the hint of a call with one hint; several: [(stack ids, hint)]; within: the function that now contains the
# call
Call = collections.namedtuple("Call", "places single several within kind")


class IR:
    """Calls with their marks and their places: [(function, line offset, column)], innermost first."""

    def __init__(self, path):
        self.nodes, self.attributes, self.calls, self.functions = {}, {}, [], []
        self.within = []  # by call: the function that contains it
        call = None
        for line in open(path):
            m = re.match(r'define .*?@("[^"]*"|[^("]+)\(', line)
            if m:
                self.functions.append(m[1].strip('"'))
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
            elif call and line.startswith("          "):  # an invoke continues on this line
                call += line
            else:
                call = None
            if call and "!dbg" in call:
                self.calls.append(call)
                self.within.append(self.functions[-1])
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
        """(places, "cold", None) or (places, None, [(stack ids, "cold"), ...]) for each call of operator new, or
        without either mark."""
        for c in self.marked():
            yield c.places, c.single, c.several

    def marked(self):
        for call, within in zip(self.calls, self.within):
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
                yield Call(places, None, contexts, within, "invoke" if re.search(r"\binvoke\b", call) else "call")
            elif single or re.search(r"@_Zn[wa]", call):
                yield Call(places, single[0] if single else None, None, within,
                           "invoke" if re.search(r"\binvoke\b", call) else "call")

    def callsites(self):
        return sum("!callsite" in call for call in self.calls)


def blake3(block):
    """The first 8 bytes of BLAKE3 over one block of up to 64 bytes, as a number."""
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


# inlined: frames that were inlined, innermost first; frames: the number that distinguishes the context, or None;
# hint: of a call with one hint for all contexts; mark: of this context among others
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
    """The contexts that the compiler takes for this call: those at the first of its places with any allocation. It
    reads only the record of the function that contains the call, which has contexts inlined that far."""
    leaves = {c.stack[0] for c in contexts}
    while places and places[0] not in leaves:
        places = places[1:]
    return [c for c in contexts if places and c.inlined >= len(places) - 1 and c.stack[:len(places)] == places]


def disagree(contexts, several):
    """The differences between the marks [(stack ids, hint)] of one call and our contexts."""
    wrong, used = [], set()
    for c in contexts:
        marks = [(ids, hint) for ids, hint in several if c.ids[:len(ids)] == ids]
        used.update(marks)
        if not c.marked:
            expected = []
        elif c.frames is None:  # nothing distinguishes it: one mark with any number of callers
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
        if single and not ours:  # after marking, inlined into a caller that did not allocate in the profiled run
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


def guid(name):
    name = re.sub(r"\.(llvm|part)\.\d+$", "", name)
    return "%#x" % struct.unpack("<Q", hashlib.md5(name.encode()).digest()[:8])[0]


def begins_alike(one, other):
    return all(x == y for x, y in zip(one, other))


# The effects of LLVM's passes on marks after they are set, by name.
SAME = "as predicted"
ATTRIBUTE = "as predicted, in a function it was inlined into"
NARROWED = "inlined: only the marks of that caller remain"
ONE_KIND = "inlined: all marks of that caller are equal and become an attribute"
NO_CALLER = "inlined into a caller that is in no context: marks are dropped"
NOT_PROFILED = "inlined at a call that is in no context: marks are dropped"
KEPT = "inlined at a call that is in no context: marks of a former invoke stay"
INVOKE = "inlined at an invoke, and became one: marks are dropped"
INVOKE_AGAIN = "an invoke without cleanup became a call, then was inlined at an invoke and became one again: marks are dropped"
UNMARKED = "unmarked, as before"
COPY = "copied (an unrolled loop, a specialized function, a duplicated tail)"
MERGED = "calls at several places became one, at line 0"
REMOVED = "removed: its function is not emitted and was never inlined"
DELETED = "removed: the call is dead code, or was merged with another"


def explain(call, origin, sites, calmed):
    """The reason why a call of the emitted IR has these marks, if it was `origin` before; None if no reason fits. For
    each place, `sites` has whether calls, invokes, and calls or invokes with !callsite are there. `calmed` has the
    places of invokes that are calls in the end, unless they were inlined."""
    inlined = call.places[len(origin.places):]
    single = None if call.single == "ambiguous" else call.single
    if not inlined and (call.single, call.several) != (origin.single, origin.several):
        return None
    if not inlined:
        return SAME if single or call.several else UNMARKED
    if origin.several is None:
        before = None if origin.single == "ambiguous" else origin.single
        return None if call.several or single != before else ATTRIBUTE if single else UNMARKED
    steps = [sites.get(place, set()) for place in inlined]
    ids = [stack_id(guid(name), line, column) for name, line, column in call.places]
    reasons = [(len(ids), NARROWED)]
    unknown = next((n for n, kinds in enumerate(steps) if "callsite" not in kinds), None)
    if origin.kind == "invoke" and unknown is not None:
        reasons.append((len(origin.places) + unknown, KEPT))
    for n, why in reasons:
        left = [(mark, hint) for mark, hint in origin.several if begins_alike(mark, ids[:n])]
        if call.several:  # fewer callers may distinguish the remaining marks, and fewer of the marks that are not cold may remain
            of_left = all(any(hint == h and mark == m[:len(mark)] for m, h in left) for mark, hint in call.several)
            cold = all(any(h == hint and mark[:len(m)] == m for m, h in call.several) for mark, hint in left if hint == "cold")
            if of_left and cold:
                return why
        elif single and left and {hint for _, hint in left} <= {single}:
            return ONE_KIND
        elif not single and not left:
            return NO_CALLER
    if call.several or single:
        return None
    kinds = [{origin.kind}] + steps
    if any("call" in kinds[i] and "invoke" in kinds[k] for k in range(len(kinds)) for i in range(k)):
        return INVOKE
    if origin.places in calmed and call.kind == "invoke" and any("invoke" in step for step in steps):
        return INVOKE_AGAIN
    return None if unknown is None else NOT_PROFILED


def why_none(call, calls):
    """For a call at no place that the pass saw: compilers give merged calls line 0, which has no column."""
    some = [c for c in calls if c.within == call.within]
    marks = [(None, None)] + [(c.single, c.several) for c in some]
    return MERGED if any(not column for _, _, column in call.places) and (call.single, call.several) in marks else None


def marked_sites(ir):
    """By place: "call", "invoke", or "callsite" if one has !callsite."""
    sites = collections.defaultdict(set)
    for call in ir.calls:
        kinds = {"invoke" if re.search(r"\binvoke\b", call) else "call"} | ({"callsite"} if "!callsite" in call else set())
        for place in ir.places(int(re.search(r"!dbg !(\d+)", call)[1])):
            sites[place] |= kinds
    return sites


def final_of(before, after):
    """(reason or None, call) for each call of operator new in the emitted IR, and for each removed call."""
    ir, final = IR(before), IR(after)
    sites, calls, origins = marked_sites(ir), list(ir.marked()), collections.defaultdict(list)
    for call in calls:
        origins[call.places].append(call)
    calmed = {c.places for c in final.marked() if c.kind == "call" and "invoke" in {o.kind for o in origins.get(c.places, [])}}
    found, copies = set(), collections.Counter()
    for call in final.marked():
        depth = next((n for n in range(len(call.places), 0, -1) if call.places[:n] in origins), 0)
        origin = origins[call.places[:depth]] if depth else []
        found.add(call.places[:depth])
        copies[call.within, call.places] += 1
        why = next(filter(None, (explain(call, o, sites, calmed) for o in origin)), None) if depth else why_none(call, calls)
        yield COPY if why and depth and copies[call.within, call.places] > len(origin) else why, call
    for call in calls:
        if (call.several or call.single) and call.places not in found:
            yield DELETED if call.within in final.functions else REMOVED, call


def compare_final(out, pairs):
    reasons = collections.Counter()
    with open(out, "w") as to:
        for before, after in pairs:
            for why, call in final_of(before, after):
                reasons[why] += 1
                marks = " ".join(sorted({hint for _, hint in call.several})) if call.several else call.single
                print(why or "UNEXPLAINED", after, call.within, marks,
                      " < ".join("%s +%d:%d" % place for place in call.places), sep="\t", file=to)
    print("%d calls: %s" % (sum(reasons.values()), "; ".join(
        "%d %s" % (n, why or "UNEXPLAINED") for why, n in reasons.most_common())))
    return bool(reasons[None]) or not reasons[SAME]


def marks(path):
    ir = IR(path)
    kinds = collections.Counter("single" if single else "several" for _, single, several in ir.allocations() if single or several)
    print("%d of one kind, %d of several, %d call sites" % (kinds["single"], kinds["several"], ir.callsites()))
    return not (sum(kinds.values()) and ir.callsites())


if sys.argv[1] == "hints":
    sys.exit(compare_hints(sys.argv[2], sys.argv[3:]))
if sys.argv[1] == "final":
    sys.exit(compare_final(sys.argv[2], zip(sys.argv[3::2], sys.argv[4::2])))
sys.exit(marks(sys.argv[2]))
