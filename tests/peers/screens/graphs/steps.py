"""Checks whether the graph has a path from a root with the printed steps.

A step is "variable: Class", "[] Class", "Class", "list of N Class (a › b)" or "tree of Class"; "… N more" replaces
omitted steps. Objects of the engine between two steps are folded, and names may end in "…"."""
import collections, functools, re
from graph import ROOTS
from text import like
from told import clean

ENGINE = {"hidden", "code", "array", "synthetic", "object shape"}
LIST = re.compile(r"list of (\d+) (.*?)(?: \((.*)\))?")
MORE = re.compile(r"… (\d+)(?: more)?")
ROOT = re.compile(rf"({'|'.join(ROOTS)}|unknown) root(?:: (.*))?")
RANK = 1 << 16                   # above the bits of labels
TREE = re.compile(r"tree of(?: |(?=…))(.*)")
ANY = -1                         # the number of elements of a list that is shown only by name
MOST = 60000                     # limit of states in a search; beyond it, no verdict


def is_engine(g, o):
    """Whether an object is the engine's own, which steps omit."""
    return g.format == "heapsnapshot" and is_engine_name(g.types[o], g.names[o])


def is_rope(g, o):
    """Whether an object is a concatenated text; its parts are folded into it."""
    return g.format == "heapsnapshot" and g.types[o] == "concatenated string"


def parts_of_text(g, o):
    seen, stack = set(), [o]
    while stack:
        for r in g.refs[stack.pop()]:
            if r.to not in seen and is_rope(g, r.to):
                seen.add(r.to)
                stack.append(r.to)
    return seen


def split(text):
    """Steps of a chain; brackets contain the names of a list's references."""
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


@functools.lru_cache(1 << 16)
def is_engine_name(kind, name):
    return kind in ENGINE or re.match(r"system($| /)", name) is not None


@functools.lru_cache(1 << 18)
def shows(shown, name):
    """Whether this text shows a name, whole or with its end or beginning cut off."""
    name = clean(name)
    return shown in (name, name + "()") or shown.rstrip() == name.rstrip() or \
        ("…" in shown and (like(shown, name) or like(shown, name + "()")))


@functools.lru_cache(1 << 18)
def shows_names(shown, cls, scope, own):
    if shows(shown, cls) or (own is not None and shows(shown, own)):
        return True
    return bool(scope) and (shows(shown, f"{cls}  ({scope})") or shows(shown, f"{cls} ({scope})"))


def without_package(name):
    """"java.util.Map$Entry" -> "Map$Entry"."""
    return name[name.rfind(".", 0, -1) + 1:]


def shows_object(g, shown, o):
    if shown is None:
        return True
    cls, scope = g.class_of(o)
    if g.format == "hprof":
        if cls == "java.lang.Class" and g.names[o]:
            return shows(shown, f"class {g.names[o]}")
        count = ", " + g.values[o].text if g.values[o].tag == 7 else ""
        return any(shows_names(shown, c, scope, f"{c} {g.names[o]}" if g.names[o] else c + count)
                   for c in (cls, without_package(cls)))  # on a terminal without the package
    own = g.names[o] if g.names and g.names[o] and (g.types[o] == "closure" or is_engine(g, o)) else None
    return shows_names(shown, cls, scope, own)


@functools.lru_cache(1 << 16)
def label_of_name(name):
    if re.fullmatch(r"\d+", name):
        return "[]"
    return "as WeakMap key" if re.match(r"\d+ / part of key \(", name) else name


def label_of(g, p, i, o):
    """The name of a reference in a step; an ephemeron's key holds without a name."""
    if i is None:
        return "as key"
    r = g.refs[p][i]
    return "[]" if r.index is not None else label_of_name(r.name)


def rank_of(g, p, i, o):
    """The rank of a reference for a programmer: variable, property, element, the engine's own, unnamed. References to
    roots of the engine have the lowest rank."""
    if g.format != "heapsnapshot":
        return 3 if i is None or g.refs[p][i].name else 0
    if g.types[o] == "synthetic":
        return 0
    if i is None:
        return 3
    r, kind = g.refs[p][i], g.edge_types[p][i]
    if r.index is not None or r.name.isdigit():
        return 2
    return {"context": 4, "property": 3, "shortcut": 3}.get(kind, 3 if " / part of key (" in r.name else 1 if r.name else 0)


class Step:
    """The requirements of a printed step: readings as (label, text, elements, fields)."""

    def __init__(self, text, brief=False):
        self.text = text = clean(text)         # brief: on a terminal a name may be without its class
        m, root = MORE.fullmatch(text), ROOT.fullmatch(text)
        self.more = int(m[1]) if m else 0
        if root:
            text = root[2] or ""
        self.readings = [("", text)]
        if text.startswith("[] "):
            self.readings.append(("[]", text[3:]))
        for m in re.finditer(": ", text):
            self.readings.append((text[:m.start()], text[m.end():]))
        if brief and not self.more:
            self.readings.append((text, None))
        self.readings = [r + (0, ()) for r in self.readings]
        for label, what, _, _ in list(self.readings):
            m = LIST.fullmatch(what or "")
            if m:
                self.readings.append((label, m[2], int(m[1]), tuple(m[3].split(" › ")) if m[3] else ()))
            m = TREE.fullmatch(what or "")
            if m:
                self.readings.append((label, m[1], ANY, ()))
        self.is_list = any(r[2] for r in self.readings)
        self.is_tree = any(TREE.fullmatch(r[1] or "") for r in self.readings)
        if "…" in text and not self.more:      # the end of a path, cut in the middle
            self.readings.append((text.split("…")[0].rstrip(":") + ("" if ":…" in text else "…"), None, 0, ()))
        if brief:                              # a list or tree without its beginning
            self.readings += [(r[0], None, 0, ()) for r in self.readings if r[1] and re.match("(l(i(s(t( .*)?)?)?)?|t(r(e(e( .*)?)?)?)?)…", r[1])]
            if not self.more and ": " not in text:
                self.readings.append((text, None, ANY, ()))
        m = re.match(r"(?:(.*): |(\[\]) )?list of (?:\d+ )?(.*?)(?: (?:\([^()]*)?)?…$", text)
        self.cut = bool(m) or brief and "…" in text and not self.more  # a list without its end: its fields are unknown
        if m:
            shown = None if m[3].isdigit() else m[3] + ("" if re.search(re.escape(m[3]) + r" \([^()]*…$", text) else "…")
            self.readings = [(m[1] or m[2] or "", shown, 0, ())]


class Walk:
    """A search for paths with the given steps, over states (object, steps matched, labels met, in a list).

    Labels met: one bit for each reading of the next step whose label was met since the last step. In a list:
    (remaining elements, its fields, next field, class, label that led to the previous element), else None; "more"
    within "… N more". upto: treats many paths as one. Then any element of a list may be the end, the numbers of
    several lists are those of one path, and "[]" stands for any label. wild: any objects may be between steps."""

    def __init__(self, g, texts, upto=False, wild=False, brief=False, any_element=False):
        brief = brief or any(MORE.fullmatch(t) for t in texts)
        self.g, self.steps, self.upto, self.wild = g, [Step(t, brief) for t in texts], upto, wild
        self.queue, self.seen, self.ends, self.known = collections.deque(), set(), set(), {}
        for s in self.steps if any_element else ():
            s.readings = [(a, b, n and ANY, f) for a, b, n, f in s.readings]
        for s in [s for s in self.steps if s.is_list][:-1] if upto else ():
            s.readings = [(a, b, MOST if n > 0 else n, f) for a, b, n, f in s.readings]

    def bits(self, at, mode, label):
        """Labels that a reference with this name matches."""
        if mode and mode != "more":
            if at < len(self.steps) and self.steps[at].is_tree:
                return 1
            if mode[1]:
                return int(shows(mode[1][mode[2]], label))
            return int(not label or mode[4] in (None, "", label))  # a reference without a name may be by any field
        if at == len(self.steps):
            return 0
        if (at, label) not in self.known:
            self.known[at, label] = sum(1 << k for k, r in enumerate(self.steps[at].readings)
                                        if not r[0] or shows(r[0], label) or (self.upto and r[0] == "[]"))
        return self.known[at, label]

    def put(self, o, at, met, mode):
        if mode and mode != "more" and not mode[0] and not mode[2]:
            at, met, mode = at + 1, 0, None    # the list is complete
            self.step_ends(o, at)
        while mode in (None, "more") and at < len(self.steps) and self.steps[at].more:
            at, mode = at + 1, "more"
        if (o, at, met, mode) not in self.seen:
            self.seen.add((o, at, met, mode))
            self.queue.append((o, at, met, mode))

    def step_ends(self, o, at):
        if at == len(self.steps):
            self.ends.add(o)
            if self.upto and is_rope(self.g, o):
                self.ends |= parts_of_text(self.g, o)

    def come(self, o, at, met, mode, label):
        """The possible continuations at an object when these labels led to it."""
        g = self.g
        if mode and mode != "more":
            if met and self.next_of_list(o, at, mode, label):
                return
            branch = self.steps[at].is_tree and label == "[]"
            if (branch or is_engine(g, o)) and not shows_object(g, mode[3], o):
                self.put(o, at, met, mode)
            return
        if at == len(self.steps):
            return
        for k, (_, shown, elements, fields) in enumerate(self.steps[at].readings):
            if not met >> k & 1 or not shows_object(g, shown, o):
                continue
            if elements:
                self.element(o, at, elements)
                self.put(o, at, 0, (elements - (elements > 0), fields, 0, shown or g.class_of(o)[0], None))
            else:
                self.step_ends(o, at + 1)
                self.put(o, at + 1, 0, "more" if self.steps[at].cut else None)
                if self.steps[at].cut:
                    self.put(o, at, met, "more")
        named = met // RANK >= 3 and not self.upto and g.types and g.types[o] != "synthetic"
        if mode or self.wild or (is_engine(g, o) or is_rope(g, o)) and not named: # what a name leads to is a step
            self.put(o, at, met, mode)

    def element(self, o, at, left):
        """For several paths as one, the number of a list is that of the longest."""
        if self.upto or left == ANY:
            self.step_ends(o, at + 1)
            self.put(o, at + 1, 0, None)

    def is_before(self, o, next_one, mode):
        """Whether an object precedes another one in a two-way list, which the path enters in its middle."""
        _, fields, _, shown, _ = mode
        return len(fields) == 1 and shows_object(self.g, shown, o) and any(
            t == next_one and shows(fields[0], label_of(self.g, o, i, t)) for i, _, t in self.g.steps(o))

    def next_of_list(self, o, at, mode, label):
        left, fields, k, shown, _ = mode
        if left == ANY and self.steps[at].is_tree:  # by any fields, and through other objects
            if shows_object(self.g, shown, o):
                self.element(o, at, left)
            self.put(o, at, 0, mode)
            return True
        last, counts = not fields or k + 1 == len(fields), shows_object(self.g, shown, o)
        if not fields and not counts and self.g.format != "heapsnapshot":
            self.put(o, at, 0, mode)           # without names: through objects of other classes
            return True
        if last and not counts or counts and not left:
            return False
        left -= counts and left > 0            # objects of the class between two elements count, too
        k = 0 if last or not left else k + 1   # the list may end between two elements
        if last or counts:
            self.element(o, at, left)
        self.put(o, at, 0, (left, fields, k, shown, None if fields else label))
        return True

    def run(self, starts, want=None):
        """Objects at the end of such paths; the search stops when all wanted objects are found."""
        skip = 0
        while skip < len(self.steps) and self.steps[skip].more:
            skip += 1
        for o, names in starts:
            met = functools.reduce(int.__or__, (self.bits(skip, None, n) for n in names), 0)
            self.come(o, skip, met, "more" if skip else None, names[0])
        looked = 0
        while self.queue and looked < MOST and not (want and looked % 256 == 0 and want <= self.ends):
            looked += 1
            o, at, met, mode = self.queue.popleft()
            if at < len(self.steps):
                for i, _, t in self.g.steps(o):
                    label, rank, bits = label_of(self.g, o, i, t), rank_of(self.g, o, i, t), met & RANK - 1
                    if self.upto and mode and mode != "more" and self.is_before(t, o, mode):
                        self.element(t, at, mode[0])
                        self.put(t, at, 0, (max(0, mode[0] - 1), *mode[1:4], None))
                    if mode or self.wild or self.upto:
                        self.come(t, at, bits | self.bits(at, mode, label), mode, label)
                    elif rank >= met // RANK:  # the best rank since the last step; among equals the last
                        self.come(t, at, rank * RANK + self.bits(at, mode, label), mode, label)
                    else:
                        self.come(t, at, met, mode, label)
        self.tired = looked == MOST
        if self.tired and want:
            self.ends |= want
        return self.ends


def starts(g, users):
    """The start of paths: (object, names of its holders)."""
    if users:
        if g.types[0] != "synthetic":
            yield 0, ("",)
        for o in dict.fromkeys(g.users):
            if g.live[o]:
                yield o, tuple(label_of(g, 0, i, o) for i, r in enumerate(g.refs[0]) if r.to == o) + ("",)
    else:
        for x in g.roots:
            if not x.flags & 2:
                yield x.object, (x.name,)


def ends_of(g, texts, upto=False, want=None, brief=False, whole=False):
    """Objects to which a way with these steps leads. What a program's own roots reach is reached from these. whole: the
    way may leave a list at any element, and the list is as long as it says."""
    key = "ends", tuple(texts), upto, frozenset(want or ()), brief, whole
    if key not in g.cache:
        g.cache[key] = find_ends(g, texts, upto, want, brief, whole)
    return g.cache[key]


def are_so_long(g, texts, brief):
    """Whether each list of a path is at least as long as stated. The path may leave a list before its end."""
    lists = [k for k, s in enumerate(Walk(g, texts, brief=brief).steps) if s.is_list]
    for n, k in enumerate(lists):
        walk = Walk(g, texts[:k + 1], brief=brief)
        for before in lists[:n]:
            s = walk.steps[before]
            s.readings = [(a, b, c and ANY, f) for a, b, c, f in s.readings]
        if not walk.run(starts(g, False)) and not is_two_way(g, texts[:k + 1], brief):
            return False
    return True


def is_two_way(g, texts, brief):
    """Whether the last step is a two-way list with as many elements, which the path enters in its middle."""
    for label, shown, elements, fields in Walk(g, texts, brief=brief).steps[-1].readings:
        if elements > 1 and len(fields) == 1:
            heads = Walk(g, texts[:-1] + [f"{label}: {shown}" if label not in ("", "[]") else f"{label} {shown}".strip()], brief=brief)
            for s in heads.steps[:-1]:
                s.readings = [(a, b, c and ANY, f) for a, b, c, f in s.readings]
            if any(two_way(g, h, fields[0]) == elements for h in heads.run(starts(g, False))):
                return True
    return False


def two_way(g, head, forward):
    """The number of list elements from an object on: by one field, and backwards by the field that refers back."""
    def by(o, field, to=None):
        return [t for i, _, t in g.steps(o) if shows(field, label_of(g, o, i, t)) and g.class_of(t) == g.class_of(head) and to in (None, t)]
    seen, at = {head}, head
    while next_ones := [t for t in by(at, forward) if t not in seen]:
        at = next_ones[0]
        seen.add(at)
    first = by(head, forward)
    back = {label_of(g, first[0], i, t) for i, _, t in g.steps(first[0]) if t == head} - {forward} if first else set()
    at = head
    while before := [t for b in back for t in by(at, b) if t not in seen and by(t, forward, at)]:
        at = before[0]
        seen.add(at)
    return len(seen)


def find_ends(g, texts, upto, want, brief, whole):
    if whole and not are_so_long(g, texts, brief):
        return set()
    if upto and "[]" not in " ".join(texts) and not are_so_long(g, texts, brief):
        return set()
    if g.format != "heapsnapshot":
        return Walk(g, texts, upto, brief=brief, any_element=whole).run(starts(g, False), want)
    far, out = g.user_far(), set()
    if not want or any(o in far for o in want):
        mine = {o for o in want if o in far} if want else None
        out |= {o for o in Walk(g, texts, upto, brief=brief, any_element=whole).run(starts(g, True), mine) if o in far}
    if not want or any(o not in far for o in want):
        mine = {o for o in want if o not in far} if want else None
        out |= {o for o in Walk(g, texts, upto, brief=brief, any_element=whole).run(starts(g, False), mine) if o not in far}
    return out
