"""The figures of a heap's screen, computed independently: a tree of stacks, and amounts of each node by other
axes."""
import bisect, re

ZERO = (0, 0, 0)


def add(x, y):
    return x[0] + y[0], None if None in (x[1], y[1]) else x[1] + y[1], x[2] + y[2]


def less(x, y):
    return x[0] - y[0], None if None in (x[1], y[1]) else x[1] - y[1], x[2] - y[2]


def once(stack, most=32):
    """Frames without direct repetitions: a repeated group of frames occurs once."""
    out = []
    for f in stack:
        out.append(f)
        for n in range(1, min(most, len(out) // 2) + 1):
            if out[-1] == out[-1 - n] and out[-n:] == out[-2 * n:-n]:
                del out[-n:]
                break
    return tuple(out)


# Hiding ------------------------------------------------------------------------------------------

INNER = re.compile(r"(__GI_+|__libc_|_*int_)?(m|c|re|v|pv)alloc(array)?|reallocarray|memalign|aligned_alloc|"
                   r"(__)?posix_memalign|(__libc_|_int_|_mid_)memalign|operator new(\[\])?(\(.*\))?|_Zn[wa]m.*|sysmalloc|"
                   r"__cxa_allocate_exception|malloc_hook_ini|_int_(malloc|realloc)")
OUTER = re.compile(r"_start|__libc_start_\w+")


def plain(name):
    """A function without its file, line and object."""
    name = re.sub(r" \[[^\[\]]*\]$", "", name)
    return re.sub(r" \([^()]*:\d+\)$", "", name)


def cut_ends(stack, inner, outer):
    a, b = 0, len(stack)
    while b > a and inner(stack[b - 1]):
        b -= 1
    while a < b and outer(stack[a]):
        a += 1
    return stack[a:b]


def hidden_frames(cells, change):
    """The number of hidden frames in a tree of stacks; None if a stack is shown under another name, or a function is
    both hidden and shown."""
    hidden, shown = set(), set()
    for c in cells:
        stack, rest = tuple(c[0]), list(change(tuple(c[0])))
        if not set(rest) <= set(stack):
            return None
        for i in range(len(stack), 0, -1):
            if rest and rest[-1] == stack[i - 1]:
                rest.pop(), shown.add(stack[:i])
            else:
                hidden.add(stack[:i])
        if rest:
            return None
    both = {p[-1] for p in hidden} & {p[-1] for p in shown}
    return None if both else len(hidden)


def hiders(stacks, shown):
    """Rules of hiding that could explain the remaining names; the first that explains all of them is taken."""
    gone = {f for s in stacks for f in s} - shown
    ends = {f for f in {f for s in stacks for f in s} if INNER.fullmatch(plain(f)) or OUTER.fullmatch(plain(f))}
    both = gone | ends
    yield "names", lambda s: tuple(f for f in s if f not in gone)
    yield "ends", lambda s: cut_ends(tuple(f for f in s if f not in gone - ends),
                                     lambda f: f in both and not OUTER.fullmatch(plain(f)),
                                     lambda f: f in both and not INNER.fullmatch(plain(f)))
    yield "names, and others at ends", lambda s: cut_ends(
        tuple(f for f in s if f not in gone), lambda f: f in ends and not OUTER.fullmatch(plain(f)),
        lambda f: f in ends and not INNER.fullmatch(plain(f)))
    yield "both ends", lambda s: cut_ends(tuple(f for f in s if f not in gone - ends), both.__contains__,
                                          both.__contains__)
    yield "ends, kept when alone", lambda s: cut_ends(
        tuple(f for f in s if f not in gone - ends), lambda f: f in both and not OUTER.fullmatch(plain(f)),
        lambda f: f in both and not INNER.fullmatch(plain(f))) or s[:1]
    def under_object(s, at):
        m = re.search(r" (\[[^\[\]]*\])$", s[at])
        return (m[1],) if m and m[1] in shown else ()
    for at in (0, -1):                         # stacks of only helpers are shown under the object of one of them
        yield "names, helpers alone under their object", lambda s, at=at: \
            tuple(f for f in s if f not in gone) or (under_object(s, at) if s else ())
    yield "none", lambda s: s


# Views -------------------------------------------------------------------------------------------

class View:
    """Cells below a tree of stacks. A state is (node, axes): the cells at or below a node (~node: only at it, like
    <self>) that have the given path on each axis."""

    def __init__(self, cells, change=lambda s: s, times=0, invert=False):
        self.name, self.parent, self.kids, self.cells = [None], [0], [{}], []
        for stack, axes, *n in cells:
            whole, stack = stack, change(stack)
            moved = bool(whole) and (not stack or whole[-1] != stack[-1] or whole.count(whole[-1]) != stack.count(whole[-1]))
            if times:
                stack = once(stack, times)
            at = 0
            for f in reversed(stack) if invert else stack:
                at = self.child(at, f, True)
            self.cells.append((at, axes, tuple(n), moved))
        self.order()

    def child(self, at, name, make=False):
        if name not in self.kids[at] and make:
            self.kids[at][name] = len(self.name)
            self.name.append(name), self.parent.append(at), self.kids.append({})
        return self.kids[at].get(name)

    def order(self):
        self.begin, self.end, at, todo = [0] * len(self.name), [0] * len(self.name), 0, [0]
        while todo:
            n = todo.pop()
            if n < 0:
                self.end[~n] = at
                continue
            self.begin[n] = at
            at += 1
            todo += [~n] + list(self.kids[n].values())
        self.cells.sort(key=lambda c: self.begin[c[0]])
        self.at = [self.begin[c[0]] for c in self.cells]
        self.memo, self.axes, self.entries = {}, {}, None
        sums = [ZERO] * len(self.name)
        for node, axes, n, _ in self.cells:
            sums[node] = add(sums[node], n)
            for axis, path in axes.items():
                for k in range(len(path)):
                    self.axes.setdefault(axis, {}).setdefault(path[:k], set()).add(path[k])
        self.self = list(sums)
        for node in range(len(self.name) - 1, 0, -1):
            sums[self.parent[node]] = add(sums[self.parent[node]], sums[node])
        self.sum = sums

    @property
    def total(self):
        return self.sum[0]

    def take_entries(self, cum, change, times, invert):
        """Cumulative entries by stack and type, of a condensed heap. If several become one by hiding, the outermost
        entries contain the others."""
        found = {}
        for (stack, kind), n in cum.items():
            if kind is not None and not invert:
                to = change(stack)
                found.setdefault((once(to, times) if times else to, kind), []).append((stack, n))
        self.entries = {}
        for (to, kind), of in found.items():
            stacks, at = {s for s, _ in of}, 0
            for f in to:
                at = None if at is None else self.child(at, f)
            if at is None:
                continue
            n = ZERO
            for stack, more in of:
                if not any(stack[:k] in stacks for k in range(len(stack))):
                    n = add(n, more)
            self.entries[at, (("type", (kind,)),)] = n
            self.axes.setdefault("type", {}).setdefault((), set()).add(kind)

    def amount(self, state):
        node, axes = state
        if node < 0:
            return self.own((~node, axes))
        if not axes:
            return self.sum[node]
        if self.entries is not None:
            return self.entries.get(state, (-1, -1, 0))
        if state not in self.memo:
            lo, hi = bisect.bisect_left(self.at, self.begin[node]), bisect.bisect_left(self.at, self.end[node])
            self.memo[state] = self.summed(range(lo, hi), axes)
        return self.memo[state]

    def summed(self, cells, axes):
        n = ZERO
        for i in cells:
            of = self.cells[i][1]
            if all(of.get(a, ())[:len(p)] == p for a, p in axes):
                n = add(n, self.cells[i][2])
        return n

    def own(self, state):
        """The cells at a node, without those below it."""
        node, axes = state
        if axes and self.entries is not None:
            n = self.amount(state)
            for kid in self.kids[node].values():
                if (kid, axes) in self.entries:
                    n = less(n, self.entries[kid, axes])
            return n
        lo, hi = bisect.bisect_left(self.at, self.begin[node]), bisect.bisect_right(self.at, self.begin[node])
        return self.summed(range(lo, hi), axes)

    def own_moved(self, state):
        """The part of it in hidden callees: all that is known of <self> in a condensed heap."""
        lo, hi = (f(self.at, self.begin[state[0]]) for f in (bisect.bisect_left, bisect.bisect_right))
        return self.summed([i for i in range(lo, hi) if self.cells[i][3]], state[1])

    def axis_own(self, state, axis):
        """The cells with exactly this path on an axis, and no longer one."""
        node, axes = state
        path = dict(axes).get(axis, ())
        n = ZERO
        lo, hi = bisect.bisect_left(self.at, self.begin[node]), bisect.bisect_left(self.at, self.end[node])
        for i in range(lo, hi) if node >= 0 else ():
            of = self.cells[i][1]
            if of.get(axis, ()) == path and all(of.get(a, ())[:len(p)] == p for a, p in axes):
                n = add(n, self.cells[i][2])
        return n

    def stack(self, node):
        out = []
        while node:
            out.append(self.name[node])
            node = self.parent[node]
        return tuple(reversed(out))


def with_axis(state, axis, name):
    axes = dict(state[1])
    axes[axis] = axes.get(axis, ()) + (name,)
    return state[0], tuple(sorted(axes.items()))


def by_name(heap_cells, change, axis=None):
    """For each name its cumulative amount, counted once, and its self amount; and the part of the latter in hidden
    callees."""
    cum, own, moved = {}, {}, {}
    for stack, axes, *n in heap_cells:
        path = axes.get(axis, ()) if axis else change(stack)
        for f in set(path):
            cum[f] = add(cum.get(f, ZERO), tuple(n))
        if path[-1:] == ("<self>",):           # <self> is a frame in the file
            path = path[:-1]
        if path:
            own[path[-1]] = add(own.get(path[-1], ZERO), tuple(n))
        if path and len(path) < len(stack) and path[-1] != stack[-1]:
            moved[path[-1]] = add(moved.get(path[-1], ZERO), tuple(n))
    return {f: (n, own.get(f, ZERO), moved.get(f, ZERO)) for f, n in cum.items()}
