"""Shallow sizes of the objects of an HPROF file, which has neither headers nor the width of references.

Ids are addresses. In a heap without gaps, the distance to the next object is the size. The layout that agrees with most
distances is that of the JVM. Android's sizes are those of the file: texts are inside strings. A class whose instances are smaller than its layout, or in a dense heap larger by less
than 1 KiB, has the smallest distance as its size."""
import collections
from hprof_file import Class, Instance, Objects, WIDTHS

Layout = collections.namedtuple("Layout", "header ref base fills")     # fills: fields go into holes of super classes (JDK 15)
LAYOUTS = [Layout(*l) for l in ((12, 4, 16, True), (12, 4, 16, False), (12, 8, 16, True), (12, 8, 16, False),
           (16, 8, 24, True), (16, 8, 24, False), (16, 8, 20, True), (16, 4, 24, True), (16, 4, 24, False),
           (16, 4, 20, True), (8, 4, 12, True), (8, 8, 12, True))]
NARROW = Layout(8, 4, 12, False)
FAR, PADDING, MOST = 1 << 20, 1024, 65536
# Fields that HotSpot adds, by their sizes; 0 is a reference.
INJECTED = {"java/lang/Class": [8, 8, 4, 4, 0, 0, 0], "java/lang/ClassLoader": [8], "java/lang/Module": [8],
            "java/lang/invoke/MemberName": [8], "java/lang/invoke/ResolvedMethodName": [8, 0],
            "java/lang/invoke/MethodHandleNatives$CallSiteContext": [8, 8], "java/lang/StackFrameInfo": [2]}
CONTENDED = {"java/lang/Thread", "java/util/concurrent/ForkJoinPool", "java/util/concurrent/ForkJoinPool$WorkQueue",
             "java/util/concurrent/Exchanger$Node", "java/util/concurrent/ConcurrentHashMap$CounterCell",
             "java/util/concurrent/atomic/Striped64$Cell", "java/util/concurrent/SubmissionPublisher$BufferedSubscription"}


def up(n, to):
    return -(-n // to) * to


def place(sizes, holes, end):
    """HotSpot's FieldLayoutBuilder: each field into the smallest hole that fits, the last one among equals, or to the
    end. Returns holes and end."""
    holes = list(holes)
    for size in sizes:
        fits = [h for h in holes if up(h[0], size) + size <= h[1]]
        if fits:
            least = min(b - a for a, b in fits)
            a, b = max(h for h in fits if h[1] - h[0] == least)
            holes.remove((a, b))
        else:
            a, b = end, up(end, size) + size
            end = b
        at = up(a, size)
        holes += [h for h in ((a, at), (at + size, b)) if h[0] < h[1]]
    return holes, end


class Sizes:
    def __init__(self, f):
        self.f, self.ends = f, {}
        addresses = not f.android and all(x.id % 8 == 0 for x in f.items)
        items = sorted(f.items, key=lambda x: x.id) if addresses else []
        self.gap, self.object_gap, self.arrays = {}, {}, []
        for x, after in zip(items, items[1:]):
            gap = after.id - x.id
            if not 0 < gap < FAR:
                continue
            if isinstance(x, Instance):
                self.gap[x.of] = min(gap, self.gap.get(x.of, gap))
            elif isinstance(x, Class):
                self.object_gap[x.id] = gap
            elif len(self.arrays) < MOST:
                type, n = (2, len(x.elements)) if isinstance(x, Objects) else (x.type, x.length)
                if n < FAR:
                    self.arrays.append((type, n, gap))
        self.layout = NARROW if f.ids == 4 else max(LAYOUTS, key=self.agreement)
        self.lay_out(self.layout)
        equal = sum(self.array(*a[:2]) == a[2] for a in self.arrays)
        self.dense = equal >= len(self.arrays) - len(self.arrays) // 100
        mirror = [of for of in f.loads if f.name(of) == "java/lang/Class" and of in self.ends]
        self.plain = self.ends[mirror[-1]] if mirror else self.layout.header
        self.known = {}

    def agreement(self, layout):
        """Distances that agree, minus twice those that are too small."""
        self.lay_out(layout)
        told = [(up(self.ends[of], 8), gap) for of, gap in self.gap.items() if of in self.ends]
        told += [(self.array(type, n), gap) for type, n, gap in self.arrays]
        return sum((size == gap) - 2 * (size > gap) for size, gap in told)

    def lay_out(self, layout):
        """The end of the last field of each class whose super classes are known."""
        self.layout, self.ends, shapes = layout, {}, {0: ([], layout.header)}
        for of in self.f.dumped:
            line = self.f.line(of)
            if not self.f.is_ready(of):
                continue
            for c in reversed(line):
                if c.id not in shapes:
                    holes, end = shapes[c.super]
                    if not layout.fills:
                        holes, end = [], up(end, layout.ref)
                    shapes[c.id] = place(self.own(c), holes, end)
        self.ends = {of: s[1] for of, s in shapes.items() if of}

    def own(self, c):
        sizes = [WIDTHS.get(type, 0) for _, type in c.fields] + ([] if self.f.android else INJECTED.get(self.f.name(c.id), []))
        return sorted((s for s in sizes if s), reverse=True) + [self.layout.ref] * sizes.count(0)

    def array(self, type, n):
        width = WIDTHS.get(type, self.layout.ref)
        return up((up(self.layout.base, 8) if width == 8 else self.layout.base) + n * width, 8)

    def of_class(self, of):
        if of not in self.known:
            end = self.ends.get(of, 0)
            if self.f.android and of in self.f.dumped:
                end = self.f.dumped[of].size or end
            size, gap = up(end, 8), self.gap.get(of, 0)
            loose = self.dense or not size or any(self.f.name(c.id) in CONTENDED for c in self.f.line(of))
            if gap and (gap < size or gap - size < PADDING and loose):
                size = gap
            self.known[of] = size or up(self.layout.header, 8)
        return self.known[of]

    def of(self, x):
        if isinstance(x, Instance):
            return self.of_class(x.of)
        if not isinstance(x, Class):
            return self.array(2, len(x.elements)) if isinstance(x, Objects) else self.array(x.type, x.length)
        statics = [(self.f.string(name), WIDTHS.get(type, self.layout.ref)) for name, type, _ in x.statics]
        apart = [i for i, s in enumerate(statics) if self.f.android and s[0] in ("$classOverhead", "$staticOverhead")]
        statics = sum(size for i, (name, size) in enumerate(statics) if not name.startswith("<") and i not in apart and
                      (not apart or i < apart[0] or name.startswith("$class$")))
        size, gap = up(self.plain + statics, 8), self.object_gap.get(x.id, 0)
        return gap if gap and gap < size + PADDING and (self.dense or gap < size) else size
