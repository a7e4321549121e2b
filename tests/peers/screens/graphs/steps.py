"""Ways from a root as they are printed, in steps a programmer knows: whether the graph has such a way.

A step is "variable: Class", "[] Class", "Class" or "list of N Class (a › b)"; "… N more" stands for steps left out.
Objects of the engine between two steps are folded, and names may end in "…"."""
import collections, re
from graph import ROOTS
from text import like
from told import clean

ENGINE = {"hidden", "code", "array", "synthetic", "object shape"}
LIST = re.compile(r"list of (\d+) (.*?)(?: \((.*)\))?")
MORE = re.compile(r"… (\d+) more")
ROOT = re.compile(rf"({'|'.join(ROOTS)}|unknown) root(?:: (.*))?")
MOST = 60000                     # states that a search looks at


def is_engine(g, o):
    """Whether an object is the engine's own, which steps leave out."""
    return g.format == "heapsnapshot" and (g.types[o] in ENGINE or re.match(r"system($| /)", g.names[o]) is not None)


def split(text):
    """Steps of a chain; names of a list's references stand in brackets."""
    out, depth = [], 0
    for piece in text.split(" › "):
        if depth and out:
            out[-1] += " › " + piece
        else:
            out.append(piece)
        last = out[-1]
        m = re.fullmatch(r"(.*) ×(\d+)", last)
        if m:
            out[-1:] = [m[1]] * min(int(m[2]), 99)
        depth = 1 if re.search(r"list of \d+ ", last) and last.count("(") > last.count(")") else 0
    return out


def shows(shown, name):
    """Whether a name is shown by this text, whole or with its end or beginning cut off."""
    name = clean(name)
    return shown == name or shown == name + "()" or shown.rstrip() == name.rstrip() or \
        ("…" in shown and (like(shown, name) or like(shown, name + "()")))


def shows_object(g, shown, o):
    if shows(shown, g.class_of(o)[0]):
        return True
    scope = g.class_of(o)[1]
    if scope and (shows(shown, f"{g.class_of(o)[0]}  ({scope})") or shows(shown, f"{g.class_of(o)[0]} ({scope})")):
        return True
    return bool(g.names) and bool(g.names[o]) and (g.types[o] == "closure" or is_engine(g, o)) and shows(shown, g.names[o])


def label_of(g, p, i, o):
    """What a reference is called in a step; an ephemeron's key holds by none."""
    if i is None:
        return "as key"
    r = g.refs[p][i]
    if r.index is not None or re.fullmatch(r"\d+", r.name):
        return "[]"
    if re.match(r"\d+ / part of key \(", r.name):
        return "as WeakMap key"
    return r.name


class Step:
    """What a printed step asks for: readings as (label, text, elements)."""

    def __init__(self, text):
        self.text = text
        m, root = MORE.fullmatch(text), ROOT.fullmatch(text)
        self.more = int(m[1]) if m else 0
        self.root = root and root[1]
        if root:
            text = root[2] or ""
        self.readings = [("", text, 0)]
        if text.startswith("[] "):
            self.readings.append(("[]", text[3:], 0))
        for m in re.finditer(": ", text):
            self.readings.append((text[:m.start()], text[m.end():], 0))
        for label, what, _ in list(self.readings):
            m = LIST.fullmatch(what)
            if m:
                fields = m[3].split(" › ") if m[3] else []
                self.readings.append((label, m[2], int(m[1]), tuple(fields)))


class Walk:
    """A search for ways on which the steps are, over states (object, steps matched, names since the last one, in a list).

    In a list: (elements to come, its fields, which field comes next, class, names that led to the one before), else None;
    "more" within "… N more"."""

    def __init__(self, g, texts, loose, upto=False, wild=False):
        self.wild = wild                       # anything may be between two steps
        self.upto = upto                       # many ways as one: of a list any element, of "[]" any name
        self.g, self.steps, self.loose = g, [Step(t) for t in texts], loose
        self.queue, self.seen, self.ends = collections.deque(), set(), set()

    def put(self, o, at, names, mode):
        if mode and mode != "more" and not mode[0] and not mode[2]:
            at, names, mode = at + 1, (), None  # the list is whole
        while mode is None and at < len(self.steps) and self.steps[at].more:
            at, mode = at + 1, "more" if at + 1 == len(self.steps) or not self.steps[at + 1].more else None
        state = o, at, names[-5:], mode
        if state not in self.seen:
            self.seen.add(state)
            self.queue.append(state)

    def come(self, o, at, names, mode):
        """What standing on an object can mean, when these names led to it."""
        g = self.g
        if at == len(self.steps):
            if self.loose:
                self.ends.add(o)
            if is_engine(g, o):
                self.put(o, at, names, mode)
            return
        if mode and mode != "more":
            if not self.next_of_list(o, at, names, mode) and is_engine(g, o) and not shows_object(g, mode[3], o):
                self.put(o, at, names, mode)
            return
        for label, shown, *of in self.steps[at].readings:
            if (label and not any(self.called(label, n) for n in names)) or not shows_object(g, shown, o):
                continue
            if of[0]:
                self.element(o, at)
                self.put(o, at, (), (of[0] - 1, of[1], 0, shown, None))
            else:
                if at + 1 == len(self.steps) and not self.loose:
                    self.ends.add(o)
                self.put(o, at + 1, (), None)
        if is_engine(g, o) or mode or self.wild:
            self.put(o, at, names, mode)

    def called(self, label, name):
        """Whether a reference is called so; many objects' ways as one have "[]" where names differ."""
        return shows(label, name) or (self.upto and label == "[]")

    def element(self, o, at):
        """Of many ways as one the number of a list is that of the longest."""
        if self.upto and at + 1 == len(self.steps):
            self.ends.add(o)
        elif self.upto:
            self.put(o, at + 1, (), None)

    def next_of_list(self, o, at, names, mode):
        left, fields, k, shown, by = mode
        if not fields and by in (None, names) and shows_object(self.g, shown, o):
            self.element(o, at)
            self.put(o, at, (), (left - 1, fields, 0, shown, names))
            return True
        if fields and any(shows(fields[k], n) for n in names):
            last = k + 1 == len(fields)
            if not last or shows_object(self.g, shown, o):
                self.element(o, at)
                self.put(o, at, (), (left - last, fields, (k + 1) % len(fields), shown, None))
                return True
        return False

    def run(self, starts):
        for o, names in starts:
            skip = 0
            while skip < len(self.steps) and self.steps[skip].more:
                skip += 1
            self.come(o, skip, names, "more" if skip else None)
        looked = 0
        while self.queue and looked < MOST:
            looked += 1
            o, at, names, mode = self.queue.popleft()
            if at == len(self.steps) and not self.loose:
                if self.steps and self.steps[-1].readings[-1][2:3] != (0,):
                    self.ends.add(o)           # the last of a list
                continue
            for i, _, t in self.g.steps(o):
                self.come(t, at, names + (label_of(self.g, o, i, t),), mode)
        return self.ends


def starts(g, users):
    """Where ways begin: (object, names of what holds it)."""
    if users:
        if g.types[0] != "synthetic":
            yield 0, ("",)
        for o in g.users:
            if g.live[o]:
                yield o, tuple(r.name if r.index is None else "[]" for r in g.refs[0] if r.to == o) + ("",)
    else:
        for o in g.starts:
            yield o, ("",)


def ends_of(g, texts, loose=False, upto=False):
    """Objects to which a way with these steps leads; loose: one reference behind the last step. What a program's own
    roots reach is reached from these."""
    if upto and not Walk(g, texts, loose).run(starts(g, False)) and "[]" not in " ".join(texts):
        return set()                           # no list is that long
    all = Walk(g, texts, loose, upto).run(starts(g, False))
    if g.format != "heapsnapshot":
        return all
    far = g.user_far()
    return {o for o in all if o not in far} | {o for o in Walk(g, texts, loose, upto).run(starts(g, True)) if o in far}
