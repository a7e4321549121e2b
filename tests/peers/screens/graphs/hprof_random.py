"""Random HPROF files from seeds: three dumps of one process. The heap is laid out as a JVM does it; the writer knows the
size of each object."""
import os, random, struct
from hprof_file import WIDTHS
from hprof_sizes import INJECTED, Layout, NARROW, place, up

MACHINES = [(8, Layout(12, 4, 16, True)), (8, Layout(12, 4, 16, False)), (8, Layout(12, 8, 16, True)), (8, Layout(16, 8, 24, True)),
            (8, Layout(16, 8, 24, False)), (4, NARROW)]
NAMES = ["Shop", "Shop$Item", "org/app/Größe", "a/b/C", "Cache", "Node", "Call$$Lambda$14/0x0000000800c03000", "日本/型", "Cache"]
FIELDS = ["name", "value", "next", "referent", "count", "items", "größe", "a", "left", "right", "this$0"]
WORDS = ["main", "a longer text of some length, which is cut in a list of strings and objects", "größe", "tab\there", "line\nbreak",
         '"quoted"', "back\\slash", "", "日本", "worker-1", "π = 3.14", "x" * 300, "Ѐ" * 90, "smile \U0001f600"]
LETTERS = dict(zip(range(4, 12), "ZCFDBSIJ"))
BOXES = dict(zip(range(4, 12), ("Boolean", "Character", "Float", "Double", "Byte", "Short", "Integer", "Long")))
BOXES_OF = dict(zip("ZCFDBSIJ", ("boolean", "char", "float", "double", "byte", "short", "int", "long")))
ROOT_WORDS = {0xff: 0, 0x01: 0, 0x02: 2, 0x03: 2, 0x04: 1, 0x05: 0, 0x06: 1, 0x07: 0, 0x08: 2}
ANDROID = {0x89: 0, 0x8a: 0, 0x8b: 0, 0x8c: 0, 0x8d: 0, 0x8e: 2, 0x90: 0}


class Kind:
    """A class: fields are (name, type), its own ones. `id` is given with the address of its class object."""

    def __init__(self, name, super, fields=(), loader=None):
        self.name, self.super, self.fields, self.loader, self.statics, self.id = name, super, list(fields), loader, [], 0

    def line(self):
        out, k = [], self
        while k:
            out.append(k)
            k = k.super
        return out


class Thing:
    """An object: of a kind, with a value for each field of its line; or an array of a type."""

    def __init__(self, kind, values=(), type=None, data=None, length=0):
        self.kind, self.values, self.type, self.data, self.length, self.id = kind, list(values), type, data, length, 0


class Heap:
    def __init__(self, r, seed):
        self.r, self.things, self.kinds, self.android = r, [], [], False
        self.ids, self.machine = MACHINES[seed % len(MACHINES)]
        self.version = ("1.0.1", "1.0.2", "1.0.3")[seed // 6 % 3]
        self.android = self.version == "1.0.3"
        self.single = self.version == "1.0.1" and r.random() < .5
        self.old = r.random() < .3             # strings of char[], as before JDK 9
        self.order = r.choice(("first", "first", "last", "mixed"))
        self.loose = r.random() < .2           # gaps between objects, as ZGC's
        self.base = 0x10000000 if self.ids == 4 else r.choice((0xe0000000, (1 << 35) - 2000, 0x7f0000000000))
        self.library()
        for _ in range(r.randint(3, 8)):
            self.program_class()
        self.loaders = [self.instance(self.loader) for _ in range(2)]
        for k in self.kinds[-6:]:
            k.loader = r.choice(self.loaders + [None])
        self.grow(r.randint(10, 50))

    # Classes -------------------------------------------------------------------------------------

    def kind(self, name, super=None, fields=()):
        self.kinds.append(Kind(name, super, fields))
        return self.kinds[-1]

    def library(self):
        o = self.object = self.kind("java/lang/Object")
        if self.r.random() < .7:
            self.kind("java/lang/Class", o, [("name", 2), ("classLoader", 2)])
        self.string = self.kind("java/lang/String", o, [("value", 2), ("hash", 10)] + [("coder", 8)] * (not self.old))
        self.thread = self.kind("java/lang/Thread", o, [("name", 2), ("priority", 10), ("target", 2)])
        self.worker = self.kind("Worker", self.thread, [("name", 2)] * self.r.randint(0, 1))
        enum = self.kind("java/lang/Enum", o, [("name", 2), ("ordinal", 10)])
        self.color = self.kind("Color", enum, [("name", 2)] * self.r.randint(0, 1) + [("rgb", 10)])
        ref = self.kind("java/lang/ref/Reference", o, [("referent", 2), ("queue", 2), ("next", 2), ("discovered", 2)])
        soft, weak, phantom, final = (self.kind(f"java/lang/ref/{n}Reference", ref, [("timestamp", 11)] * (n == "Soft"))
                                      for n in ("Soft", "Weak", "Phantom", "Final"))
        self.refs = [soft, weak, phantom, self.kind("java/lang/ref/Finalizer", final, [("prev", 2)]),
                     self.kind("java/util/WeakHashMap$Entry", weak, [("value", 2), ("hash", 10), ("next", 2)]),
                     self.kind("Key", weak, [("referent", 2)])]
        number = self.kind("java/lang/Number", o)
        self.boxes = {t: self.kind("java/lang/" + n, o if t < 6 else number, [("value", t)]) for t, n in BOXES.items()}
        self.loader = self.kind("java/lang/ClassLoader", o, [("parent", 2), ("classes", 2)])
        self.collections(o)
        self.node = self.kind("java/util/LinkedList$Node", o, [("item", 2), ("next", 2), ("prev", 2)])
        self.arrays = {t: self.kind("[" + l, o) for t, l in LETTERS.items()}
        self.arrays[2] = self.kind("[Ljava/lang/Object;", o)
        self.grid = self.kind("[[I", o)

    def collections(self, o):
        """Maps, lists and sets; a program's class may have a field of the same name as the collection."""
        own = self.r.randint(0, 1)
        map_ = self.kind("java/util/AbstractMap", o, [("keySet", 2)])
        self.map = self.kind("java/util/HashMap", map_, [("table", 2), ("size", 10), ("threshold", 10)])
        self.set = self.kind("java/util/HashSet", o, [("map", 2)])
        self.concurrent = self.kind("java/util/concurrent/ConcurrentHashMap", map_, [("table", 2), ("baseCount", 11), ("counterCells", 2)])
        self.counter_cell = self.kind("java/util/concurrent/ConcurrentHashMap$CounterCell", o, [("value", 11)])
        self.deque = self.kind("java/util/ArrayDeque", o, [("elements", 2), ("head", 10), ("tail", 10)])
        self.kinds_of_map = [self.map, self.kind("MyMap", self.map, [("table", 2), ("size", 10)] * own),
                             self.kind("java/util/IdentityHashMap", map_, [("table", 2), ("size", 10)])]
        self.sets = [self.set, self.kind("MySet", self.set, [("map", 2)] * own)]

    def collection(self):
        r, n = self.r, self.r.choice((0, 1, 3, 12))
        table = self.thing(self.arrays[2], [self.some(.6) for _ in range(r.choice((1, 16, 64)))], type=2) if r.random() < .8 else None
        what = r.randint(0, 3)
        if what == 0:
            m = self.instance(self.concurrent, ConcurrentHashMap_baseCount=n, ConcurrentHashMap_table=table, ConcurrentHashMap_counterCells=None)
            if r.random() < .5:
                cells = [self.instance(self.counter_cell, **{"ConcurrentHashMap$CounterCell_value": r.choice((0, 2, 2 ** 64 - 1))}) for _ in range(2)]
                m.values[2] = self.thing(self.arrays[2], cells + [None], type=2)
        elif what == 1:
            size = len(table.values) if table else 1
            self.instance(self.deque, ArrayDeque_elements=table, ArrayDeque_head=r.randrange(size), ArrayDeque_tail=r.randrange(size))
        else:
            k = r.choice(self.kinds_of_map)
            m = self.instance(k, HashMap_table=table, HashMap_size=n, IdentityHashMap_table=table, IdentityHashMap_size=n)
            if k in (self.map, self.kinds_of_map[1]) and r.random() < .6:
                self.instance(r.choice(self.sets), HashSet_map=m)

    def program_class(self):
        r = self.r
        plain = [k for k in self.kinds if not k.name.startswith(("[", "My")) and "/" not in k.name] or [self.object]
        fields = [(r.choice(FIELDS), r.choice((2, 2, 2, 4, 5, 6, 7, 8, 9, 10, 11))) for _ in range(r.randint(0, 5))]
        fields = list(dict(fields).items())    # one of each name
        self.kind(r.choice(NAMES), r.choice([self.object] * 3 + [k for k in plain if k.line()[-2:-1] != [self.thread]]), fields)

    # Objects -------------------------------------------------------------------------------------

    def thing(self, *a, **k):
        self.things.append(Thing(*a, **k))
        return self.things[-1]

    def some(self, null=.2):
        return None if not self.things or self.r.random() < null else self.r.choice(self.things[-25:] if self.r.random() < .7 else self.things)

    def number(self, type):
        bits = 8 * WIDTHS[type]
        if type == 4:
            return self.r.randint(0, 1)
        if type in (6, 7):
            return int.from_bytes(struct.pack(">f" if type == 6 else ">d", self.r.choice((0.1, -1.5, 1e30, 7.0))), "big")
        return self.r.choice((0, 1, (1 << bits) - 1, 1 << bits - 1, self.r.getrandbits(bits)))

    def instance(self, kind, **told):
        """An instance; told: values of fields, by the class that declares them."""
        values = []
        for k in kind.line():
            for name, type in k.fields:
                key = k.name.rpartition("/")[2] + "_" + name
                values.append(told[key] if key in told else self.some() if type == 2 else self.number(type))
        return self.thing(kind, values)

    def text(self, word=None):
        r = self.r
        word = r.choice(WORDS) if word is None else word
        wide = self.old or any(ord(c) > 255 for c in word)
        data = word.encode("utf-16-be" if self.old else "utf-16-le" if wide else "latin-1")
        same = [t for t in self.things if t.data == data and t.type == (5 if self.old else 8)]
        array = r.choice(same) if same and r.random() < .5 else self.thing(None, type=5 if self.old else 8, data=data,
                                                                         length=len(data) // (2 if self.old else 1))
        return self.instance(self.string, String_value=array, String_coder=int(wide))

    def grow(self, n):
        r = self.r
        for _ in range(n):
            what = r.random()
            if what < .2:
                self.text()
            elif what < .3:
                self.instance(r.choice(list(self.boxes.values())))
            elif what < .36:
                k = r.choice((self.thread, self.worker))
                self.instance(k, Thread_name=self.text(r.choice([w for w in WORDS if len(w) < 32])), Worker_name=self.text("not its name"))
            elif what < .41:
                self.instance(self.color, Enum_name=self.text(r.choice(("RED", "GRÜN", "синий"))), Color_name=self.text("a label"))
            elif what < .52:
                self.instance(r.choice(self.refs))
            elif what < .6:
                type = r.choice(list(WIDTHS))
                m = r.choice((0, 1, 3, 40))
                self.thing(None, type=type, length=m, data=None if self.android and r.random() < .3 else r.randbytes(m * WIDTHS[type]))
            elif what < .7:
                self.thing(r.choice((self.arrays[2], self.grid)), [self.some(.3) for _ in range(r.choice((0, 1, 5, 30)))], type=2)
            elif what < .74:
                self.collection()
            elif what < .8:
                self.chain(r.randint(2, 9))
            else:
                self.instance(r.choice([k for k in self.kinds[-8:] if k.name[0] != "["]))
        for k in self.kinds:
            if r.random() < .2 and k.name[0] != "[":
                k.statics = [(r.choice(FIELDS) + str(i), type, self.some() if type == 2 else self.number(type))
                             for i, type in enumerate(r.choice((2, 2, 2, 4, 7, 10, 11)) for _ in range(r.randint(1, 4)))]

    def chain(self, n):
        before, two_way = None, self.r.random() < .5
        for _ in range(n):
            node = self.instance(self.node, **{"LinkedList$Node_item": self.text(), "LinkedList$Node_next": before, "LinkedList$Node_prev": None})
            if before and two_way:
                before.values[2] = node
            before = node

    def drop(self):
        """Some objects are gone: references to them are null."""
        keep = set(self.loaders)
        gone = {t for t in self.things if t not in keep and t.type != (5 if self.old else 8) and self.r.random() < .1}
        self.things = [t for t in self.things if t not in gone]
        for t in self.things:
            t.values = [None if isinstance(v, Thing) and v in gone else v for v in t.values]
        for k in self.kinds:
            k.statics = [(n, t, None if isinstance(v, Thing) and v in gone else v) for n, t, v in k.statics]

    # Sizes and addresses --------------------------------------------------------------------------

    def end_of(self, kind):
        m, holes, end = self.machine, [], self.machine.header
        for k in reversed(kind.line()):
            sizes = [WIDTHS.get(t, 0) for _, t in k.fields] + (INJECTED.get(k.name, []) if not self.android or self.ids == 8 else [])
            if not m.fills:
                holes, end = [], up(end, m.ref)
            holes, end = place(sorted((s for s in sizes if s), reverse=True) + [m.ref] * sizes.count(0), holes, end)
        return end

    def size(self, x):
        m = self.machine
        if isinstance(x, Kind):
            mirror = next((k for k in self.kinds if k.name == "java/lang/Class"), None)
            return up((self.end_of(mirror) if mirror else m.header) + sum(WIDTHS.get(t, m.ref) for _, t, _ in x.statics), 8)
        if x.type:
            width = WIDTHS.get(x.type, m.ref)
            return up((up(m.base, 8) if width == 8 else m.base) + (len(x.values) if x.type == 2 else x.length) * width, 8)
        return up(self.end_of(x.kind), 8)

    def place(self):
        all, at = self.things + self.kinds, self.base
        self.r.shuffle(all)
        for x in all:
            x.id, at = at, at + self.size(x) + (self.r.choice((0, 8, 64, 5000)) if self.loose else 0)
        self.missing = [at + 16, at + 4096]
        self.truth = {} if self.loose else {x.id: self.size(x) for x in all[:-1]}

    # Writing -------------------------------------------------------------------------------------

    def word(self, n):
        return n.to_bytes(self.ids, "big")

    def record(self, tag, body):
        return struct.pack(">BII", tag, 1, len(body)) + body

    def at(self, v, whole=False):
        """The id of a value; unless `whole`, sometimes of an object without a record."""
        return self.word(0 if v is None else self.r.choice(self.missing) if not whole and self.r.random() < .01 else v.id)

    def cell(self, type, v, whole=False):
        return self.at(v, whole) if type == 2 else v.to_bytes(WIDTHS[type], "big")

    def name(self, k):
        """The name of a class; Android writes it as in Java."""
        plain = k.name[1:] in LETTERS.values() and BOXES_OF[k.name[1:]] + "[]"
        return k.name if not self.android or self.ids == 8 else plain or k.name.replace("/", ".")

    def string_id(self, text):
        if text not in self.strings:
            self.strings[text] = self.word(0x100 + 8 * len(self.strings))
            self.head += self.record(1, self.strings[text] + text.encode())
        return self.strings[text]

    def part(self, x):
        stack = struct.pack(">I", 1)
        if isinstance(x, Kind):
            out = b"\x20" + self.word(x.id) + stack + self.word(x.super.id if x.super else 0) + self.at(x.loader) + self.word(0) * 4 + struct.pack(">IHH", self.end_of(x), 0, len(x.statics))
            out += b"".join(self.string_id(n) + bytes([t]) + self.cell(t, v) for n, t, v in x.statics) + struct.pack(">H", len(x.fields))
            return out + b"".join(self.string_id(n) + bytes([t]) for n, t in x.fields)
        if x.type == 2:
            return b"\x22" + self.word(x.id) + stack + struct.pack(">I", len(x.values)) + self.word(x.kind.id) + b"".join(map(self.at, x.values))
        if x.type:
            return (b"\xc3" if x.data is None else b"\x23") + self.word(x.id) + stack + struct.pack(">IB", x.length, x.type) + (x.data or b"")
        types = [t for k in x.kind.line() for _, t in k.fields]
        data = b"".join(self.cell(t, v, x.kind is self.node) for t, v in zip(types, x.values))
        return b"\x21" + self.word(x.id) + stack + self.word(x.kind.id) + struct.pack(">I", len(data)) + data

    def roots(self):
        r, out = self.r, []
        threads = [t for t in self.things if t.kind in (self.thread, self.worker)]
        tags = {**ROOT_WORDS, **(ANDROID if self.android else {})}
        for k, t in enumerate(threads):
            out.append(b"\x08" + self.word(t.id) + struct.pack(">II", k + 1, k + 1))
        for _ in range(r.randint(4, 14)):
            tag = r.choice([t for t in tags if t != 8])
            x = r.choice(self.kinds) if tag == 5 else r.choice(self.things)
            id = r.choice(self.missing) if r.random() < .03 else 0 if r.random() < .03 else x.id
            out.append(bytes([tag]) + self.word(id) + self.word(id) * (tag == 1) + struct.pack(
                f">{tags[tag]}I", *((r.randint(1, len(threads) + 1), r.choice((0, 1, 2, 9, 0xffffffff)))[:tags[tag]])))
        return out

    def write(self):
        self.place()
        self.strings, self.head, r = {}, b"", self.r
        loads = [struct.pack(">I", i + 1) + self.word(k.id) + struct.pack(">I", 1) + self.string_id(self.name(k)) for i, k in enumerate(self.kinds)]
        for n, line in enumerate((41, -1, -2, -3, 0)):
            frame = [self.string_id(s) for s in ("run", "()V", "Shop.java" if n % 2 == 0 or line == -3 else "")]
            self.head += self.record(4, self.word(0x900 + n) + b"".join(frame) + struct.pack(">Ii", r.randint(1, len(loads) + 1), line))
        for k in range(1, 4):
            frames = [self.word(0x900 + r.randint(0, 5)) for _ in range(r.randint(0, 3))]
            self.head += self.record(5, struct.pack(">III", k, k, len(frames)) + b"".join(frames))
        self.head += b"".join(self.record(2, l) for l in loads)
        kinds, things = list(map(self.part, self.kinds)), list(map(self.part, self.things))
        parts = {"first": kinds + things, "last": things + kinds, "mixed": r.sample(kinds + things, len(kinds + things))}[self.order]
        roots = self.roots()
        parts = roots + parts if r.random() < .5 else parts + roots
        if self.android:
            heap = b"\xfe" + struct.pack(">I", ord("A")) + self.string_id("app")
            parts.insert(r.randint(0, len(parts)), heap)
        out = b"JAVA PROFILE " + self.version.encode() + b"\0" + struct.pack(">IQ", self.ids, 1700000000000) + self.head
        if self.single:
            body = b"".join(parts)
            return out + (self.record(0x0c, body) if r.random() < .7 else struct.pack(">BII", 0x0c, 1, 0) + body)
        while parts:
            n = r.choice((1, 7, len(parts)))
            out += self.record(0x1c, b"".join(parts[:n]))
            parts = parts[n:]
        return out + self.record(0x2c, b"")


def write(folder, seed):
    """Three files of one process, and for each the size of each object whose next neighbour is known."""
    r = random.Random(f"hprof {seed}")
    heap, names, truths = Heap(r, seed), [], []
    for k in range(3):
        names.append(os.path.join(folder, f"random-{seed}{'abc'[k]}.hprof"))
        with open(names[-1], "wb") as f:
            f.write(heap.write())
        truths.append(heap.truth)
        heap.drop()
        heap.grow(r.randint(5, 25))
    return names, truths
