"""tree and diff: finds the node of each printed line, compares the figures, and checks that parts add up."""
import re
from model import View, less, with_axis
from text import approx, BYTES, CHAIN, INVISIBLE, is_error, is_share, is_size, names_it, parts, segments, TIMES

BAR = "[\u2588-\u258f \u2591-\u2593]{8}"
TREE = re.compile(rf"\s*(?P<bytes>{BYTES})(?P<error> ±\s*>?[\d.]+%)?\s+(?P<share>> ?100%|[\d.]+%)"
                  rf"(?:\s+(?P<blocks>\d+|-)(?= |$))?(?:  (?P<bar>{BAR}))?(?:  (?P<text>\S.*))?")
DIFF = re.compile(rf"\s*(?P<change>~?[+-]?{BYTES})(?:\s+±(?P<plus>{BYTES}))?\s+(?P<before>{BYTES})\s+(?P<after>{BYTES})"
                  rf"(?:\s+(?P<blocks>[+-]?\d+|-)(?= |$))?(?:  (?P<text>\S.*))?")
FOOT = re.compile(r"(hidden: |not shown: |next: |\(\+\.\.\.\?\)|\(\?, before|warning|not listed|left out|compared|"
                  r"paired|--frames|no line|sampled|[a-z][\w ]*: .*\(--\w+|the peak|for the peak)")
NOTE = re.compile(r" \((new|gone)?\??(,? ?(before|after)? ?\+[^()]*\??)*\)$")
LIMIT = 60000                  # limit of nodes tried for one line


def is_part(printed, n):
    return printed.isdigit() and int(printed) <= n or not printed.isdigit() and approx(printed) <= n * 1.06


class Line:
    def __init__(self, m, text, depth, raw):
        self.m, self.text, self.depth, self.raw = m, text, depth, raw
        self.states, self.kids, self.other, self.doubtful = [], [], None, False


def blocks_of(out, is_diff):
    """Heaps of a screen: lists of lines, each with a root first; and lines outside of heaps."""
    heaps, odd, pattern = [], [], DIFF if is_diff else TREE
    col, now = None, None
    for raw in out.split("\n"):
        raw = raw.rstrip()
        if not raw:
            now = None
            continue
        if FOOT.match(raw):
            continue
        m = pattern.fullmatch(raw)
        if now is None:
            if not m or not m["text"]:
                odd.append(raw)
                continue
            col = m.start("text")
            now = [Line(m, m["text"], 0, raw)]
            heaps.append(now)
            continue
        m = pattern.fullmatch(raw[:col].rstrip())
        rest = raw[col:]
        if not m:                              # a figure that is too wide shifts the rest
            m = pattern.fullmatch(raw)
            rest = raw[m.start("text"):] if m and m["text"] else ""
        text = rest.lstrip(" ")
        if not m or not text:
            odd.append(raw)
            continue
        depth = (len(rest) - len(text)) // 2
        deep = re.match(r"\[(\d+)\] ", text)
        now.append(Line(m, text[deep.end():] if deep else text, depth, raw))
    return heaps, odd


class Checker:
    """One heap of a screen. views: one for tree, two for diff, with the same order of nodes."""

    def __init__(self, report, views, lines, columns, exact, strict_fold, by=None, every_route=False, sort=None):
        self.report, self.views, self.lines, self.by, self.sort = report, views, lines, by, sort
        self.exact, self.strict_fold, self.every_route = exact, strict_fold, every_route
        self.columns, self.v = columns, views[0]

    def amounts(self, state):
        return [v.amount(state) for v in self.views]

    def wrong(self, x, n, total):
        """Names of the wrong figures of a line."""
        m, out = x.m, []
        if n is None:                          # in a condensed heap, a part of the known amounts
            return out
        if len(n) == 1:
            (size, blocks, variance), = n
            if not is_size(m["bytes"], size):
                out.append("bytes")
            elif not is_share(m["share"], size, total):
                out.append("share")
            if m["blocks"] and (None if m["blocks"] == "-" else int(m["blocks"])) != blocks:
                out.append("blocks")
            if "bytes" not in out and not is_error(m["error"], variance, size, getattr(self.v, "rough", 0)):
                out.append("error")
            return out
        a, b = n
        sign = re.match(r"~?([+-]?)", m["change"])[1]
        if not is_size(m["change"].lstrip("~+-"), abs(b[0] - a[0])) or \
                (sign != ("+" if b[0] > a[0] else "-" if b[0] < a[0] else "")):
            out.append("change")
        out += [k for k, i in (("before", a[0]), ("after", b[0])) if not is_size(m[k], i)]
        if m["blocks"]:
            known = None if None in (a[1], b[1]) else b[1] - a[1]
            if (None if m["blocks"] == "-" else int(m["blocks"])) != known:
                out.append("blocks")
        if m["plus"] and not is_size(m["plus"], round((a[2] + b[2]) ** 0.5)) and \
                not is_size(m["plus"], int((a[2] + b[2]) ** 0.5)):
            out.append("error")
        return out

    def run(self):
        root = self.lines[0]
        root.states = [(0, ())]
        total = self.views[0].total[0]
        bad = self.wrong(root, [v.total for v in self.views], total)
        self.report.figures(root.m, bad, "root", root.raw)
        path = [root]
        cap = self.columns // 3 // 2 if self.columns else 1 << 30
        for x in self.lines[1:]:
            x.capped = x.depth >= cap          # and may be deeper than its indentation
            del path[len(path) if x.capped else max(1, x.depth):]
            x.parent = path[-1]
            parents = path[cap - 1:][-40:] if x.capped and path[cap - 1:] else path[-1:]
            path.append(x)
            x.parent.kids.append(x)
            self.place(x, parents, total)
        for x in self.lines:
            if x.kids and not self.every_route and not any(k.capped for k in x.kids):
                self.sums(x)

    # Names ---------------------------------------------------------------------------------------

    def place(self, x, parents, total):
        text = x.text
        if self.views[1:]:
            text = NOTE.sub("", text)
        if text == "<other>":
            x.parent.other = x
            return
        found = []
        for what in dict.fromkeys((text, NOTE.sub("", text))):
            for self.prune in True, False:     # first only among nodes with at least this amount
                for s in (s for p in parents for s in p.states[:50]):
                    found += self.find(s, what, x) if not found or self.prune else []
        if not found:
            if self.v.entries is not None and ("<self>" in x.text or ": " in x.text):
                self.report.note("types of <self> in a condensed heap", x.raw)
            elif x.parent.states and not any(p.doubtful for p in parents):
                self.report.bad("a name of no node", x.raw)
            return
        good, least = [], None
        for s, chain, n in found:
            bad = self.wrong(x, n, total)
            if not bad:
                good.append((s, chain, n))
            elif least is None or len(bad) < len(least[0]):
                least = bad, n, chain
        self.report.figures(x.m, [] if good else least[0], "line", x.raw, least and least[1])
        if not good and any(n and not self.wrong(x, [v.amount((c, s[1])) for v in self.views], total)
                            for s, chain, n in found for c in chain):
            self.report.bad("the figures are not those of the last frame on the line", x.raw)
        x.doubtful = not good
        x.states = [s for s, _, _ in good or found]
        if good and CHAIN in x.text and good[0][2] and not any(self.level(*g) for g in good):
            kind = "fold over different figures" if self.strict_fold else None
            if kind:
                self.report.bad(kind, x.raw)
            else:
                self.report.note("a chain of different figures, with a budget", x.raw)

    def level(self, s, chain, n):
        def same(c, axes):
            return [v.amount((c, axes))[:2] for v in self.views] == [k[:2] for k in n]
        # In a condensed heap, a frame before "axis: value" may have no entry for that value: then its own figures
        # count.
        return all(same(c, s[1]) or (self.v.entries is not None and (c, s[1]) not in self.v.entries and same(c, ()))
                   for c in chain)

    def find(self, state, text, x):
        """[(state, nodes passed, amounts)] that a text can name below a state; amounts is None if all known figures
        are right."""
        out, self.looked = [], 0
        for way in self.readings(text):
            for s, passed in self.walk(state, way, 0, (), x):
                if s == state:
                    continue
                n = self.amounts(s)
                if n[0][0] < 0:                # an entry that was cut off: unknown
                    out.append((s, (), None))
                    continue
                out.append((s, tuple(p for p in passed if p != s[0]), n))
                if s[0] < 0 and self.v.condensed and all(is_part(x.m[k], a[0]) for k, a in zip(
                        ("bytes",) if len(n) == 1 else ("before", "after"), n)):
                    out.append((s, (), None))  # in a condensed heap: amounts of hidden callees
        if text == "<self>" and self.v.entries is None:
            out += [(state, (), [w.axis_own(state, a) for w in self.views]) for a in self.v.axes]
        return out

    def readings(self, text):
        """The possible readings of a text as steps down: frames, "axis: value", <self>; ": value" may be of any
        axis."""
        axes = "|".join(map(re.escape, self.v.axes)) or "no axis"
        ways = [text.split(CHAIN)]
        if self.v.axes and ": " in text:
            at = -1
            while (at := text.find(": ", at + 1)) >= 0:
                if at and not re.search(rf"(^|{CHAIN})({axes})$", text[:at]):
                    ways.append(text[:at].split(CHAIN) + [text[at:]])
            if text.startswith(": "):
                ways += [[text[:k]] + text[k + n:].split(CHAIN) for sign, n in ((": ", 2), (CHAIN, 3))
                         for k in range(2, len(text)) if text.startswith(sign, k)] + [[text]]
        for way in ways:
            steps = []
            for s in way:
                m = re.fullmatch(rf"({axes}): ?(.*)", s)
                steps += [("value", m[2], m[1])] if m else [("value", s[2:], None)] if s.startswith(": ") else \
                    [("self", s)] if s == "<self>" else segments(s)
            yield steps

    def values(self, state, text, axis=None):
        for a in [axis] if axis else self.v.axes:
            for f in self.v.axes[a].get(dict(state[1]).get(a, ()), ()):
                if names_it(text, f) or (text == "" and not INVISIBLE.sub("", f).strip()):
                    yield with_axis(state, a, f)

    def walk(self, state, chain, i, passed, x):
        """The states that steps can reach."""
        v, node = self.v, state[0]
        self.looked += 1
        if self.looked > LIMIT:
            return
        if i == len(chain):
            yield state, passed
            return
        kind, what, *more = chain[i]
        if kind == "value":
            for s in self.values(state, what, more[0]):
                yield from self.walk(s, chain, i + 1, passed, x)
            return
        if kind == "self":
            if node >= 0:
                yield from self.walk((~node, state[1]), chain, i + 1, passed, x)
            kind, what = "name", what
        for f, kid in v.kids[node].items() if node >= 0 else ():
            if self.prune and len(self.views) == 1 and x.m["bytes"].isdigit() and v.sum[kid][0] < int(x.m["bytes"]):
                continue
            at, go = (kid, state[1]), passed + (kid,)
            if kind == "more":
                yield from self.walk(at, chain, i + 1, go, x)
                yield from self.walk(at, chain, i, go, x)
            elif kind == "name":
                if names_it(what, f):
                    yield from self.walk(at, chain, i + 1, go, x)
            else:
                module = re.sub(r"\+0x[0-9a-f]+$", "", parts(f)[0])
                if names_it(what, f) or (kind == "stripped" and names_it(re.sub(r"\+0x[0-9a-f]+$", "", what), module)):
                    yield from self.walk(at, chain, i + 1, go, x)
                    yield from self.walk(at, chain, i, go, x)

    # Relations -----------------------------------------------------------------------------------

    def value(self, x, what):
        """A figure of a line as a number: as printed if exact, else from the node that it names."""
        p = x.m[what]
        if p is None or p == "-":
            return None
        if what == "blocks" or p.lstrip("+-~").isdigit():
            return int(p.lstrip("~"))
        return None

    def sums(self, x):
        for what in ("change", "before", "after", "blocks") if self.views[1:] else ("bytes", "blocks"):
            whole, kids = self.value(x, what), [self.value(k, what) for k in x.kids]
            if whole is None or None in kids:
                continue
            self.report.relation()
            rest = whole - sum(kids)
            if len(self.views) > 1 and what in ("before", "after") and not x.other:
                continue                       # a list of changes
            if rest < 0 and not self.views[1:]:
                self.report.bad(f"parts exceed their total, in {what}", x.raw)
            elif rest:
                if x.other:
                    kind = f"parts and <other> do not add up, in {what}"
                elif what == "blocks" or 100 * abs(rest) < self.views[0].total[0] or self.views[1:]:
                    kind = f"a remainder is not stated, in {what}"
                else:
                    kind = f"a large remainder is not stated, in {what}"
                self.report.bad(kind, f"{x.raw}   (rest {rest})")
        if self.sort:
            self.sorted(x)

    def sorted(self, x):
        kids = [k for k in x.kids if k is not x.other]
        if len(self.views) > 1 or any(k.capped for k in kids):
            return
        self.report.relation()
        if self.sort == "name":
            names = [TIMES.sub(r"\1", k.text.split(CHAIN)[0]).encode() for k in kids]
            wrong = not self.columns and any(a > b and not re.search(b"\\?|\xe2\x80\xa6", a + b) for a, b in zip(names, names[1:]))
        else:
            keys = [self.own_bytes(k) if self.sort == "self" else self.value(k, self.sort) for k in kids]
            wrong = None not in keys and any(a < b for a, b in zip(keys, keys[1:]))
        if wrong:
            self.report.bad(f"not sorted by {self.sort}", x.raw)

    def own_bytes(self, x):
        """The bytes beyond the callees listed below a line; for a value, the bytes beyond the values of its axis."""
        axes = "|".join(map(re.escape, self.v.axes)) or "no axis"
        along = re.compile(rf"({axes}): ")
        def is_callee(k):
            frames = [s for s in k.text.split(CHAIN) if not along.match(s)]
            return frames[-1:] != ["<self>"] and (along.match(k.text) or [""])[0] == (along.match(x.text) or [""])[0]
        parts = [self.value(k, "bytes") for k in x.kids if k is not x.other and is_callee(k)]
        return None if None in parts or any(k.capped for k in x.kids) else self.value(x, "bytes") - sum(parts)
