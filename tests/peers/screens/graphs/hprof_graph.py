"""The graph of an HPROF file: class objects with static fields, instances with field names, arrays; names of roots;
values of strings, boxes, enum constants, threads and classes."""
import re, struct
from dart import Value
from graph import Graph, Ref, Root, STRONG, Unreadable, WEAK
from hprof_file import Class, File, Instance, Objects, Primitives, ROOTS
from hprof_sizes import Sizes

KEPT, PART = 65536, 64           # bytes that the tool keeps of a text, and of a thread's name in the name of a root
LETTERS = {"Z": "boolean", "C": "char", "F": "float", "D": "double", "B": "byte", "S": "short", "I": "int", "J": "long"}
TYPES = dict(zip(range(4, 12), "ZCFDBSIJ"))
PARTS = "<super>", "<class loader>", "<signers>", "<protection domain>"
HOLDS = {"java/lang/ref/SoftReference": STRONG, "java/lang/ref/WeakReference": WEAK, "java/lang/ref/PhantomReference": WEAK}
CELL = "java/util/concurrent/ConcurrentHashMap$CounterCell"
BOXES = {CELL} | {"java/lang/" + n for n in ("Boolean", "Character", "Float", "Double", "Byte", "Short", "Integer", "Long")}
NAMED = "java/lang/Enum", "java/lang/Thread"
# Collections: the fields with the number of elements and the array, and elements of the array for each slot.
COUNTED = {"java/util/" + n: rule for n, rule in {
    "ArrayList": ("size", "elementData", 1), "EnumMap": ("size", "vals", 1), "HashMap": ("size", "table", 1),
    "Hashtable": ("count", "table", 1), "IdentityHashMap": ("size", "table", 2), "LinkedList": ("size", None, 1),
    "PriorityQueue": ("size", "queue", 1), "TreeMap": ("size", None, 1), "Vector": ("elementCount", "elementData", 1),
    "WeakHashMap": ("size", "table", 1), "concurrent/ConcurrentHashMap": ("baseCount", "table", 1)}.items()}
DEQUE = "java/util/ArrayDeque"
WRAPPED = {"java/util/HashSet": "map", "java/util/TreeSet": "m", "java/util/Properties": "map"}
NONE = Value(0, None, None, None, None)
SIGNED = {8: 8, 9: 16, 10: 32, 11: 64}


def java_name(name):
    """"[[I" -> "int[][]", "java/lang/String" -> "java.lang.String"."""
    ranks = len(name) - len(name.lstrip("["))
    if ranks:
        name = name[ranks:]
        name = LETTERS.get(name) or re.sub("^L(.*);$", r"\1", name)
    return name.replace("/", ".") + "[]" * ranks


def fill(count, slots):
    """"12 of 4,096 slots", "1 element"."""
    return f"{count:,}" + (f" of {slots:,} slot{'s' * (slots != 1)}" if slots else f" element{'s' * (count != 1)}")


class Hprof(Graph):
    def load(self, data):
        self.file = f = File(data)
        self.items = [x for x in f.items if not (isinstance(x, Instance) and x.late)]
        self.items += [x for x in f.items if isinstance(x, Instance) and x.late]
        self.number = {x.id: o for o, x in enumerate(self.items)}
        if len(self.number) < len(self.items) or any(isinstance(x, Instance) and not f.is_ready(x.of) for x in self.items):
            raise Unreadable("an id twice, or a class without a record")
        self.described, self.number_of_class, self.fields, self.threads = len(self.items), {}, {}, {}
        self.name_classes()
        self.system_loader = next((id for c in f.items if isinstance(c, Class) and f.name(c.id) == "java/lang/ClassLoader"
                                   for field, type, id in c.statics if type == 2 and f.string(field) == "scl"), 0)
        sizes = Sizes(f)
        self.layout = sizes.layout
        raw = [self.references(x) for x in self.items]
        self.add_missing({id for refs in raw for id, *_ in refs} | {r.id for r in f.roots})
        for x, refs in zip(self.items, raw):
            self.ids.append(x.id)
            self.sizes.append(sizes.of(x))
            self.cls.append(self.class_of_item(x))
            self.refs.append([Ref(self.number[id], *rest) for id, *rest in refs])
        self.ids += self.missing
        for column, value in (self.sizes, 0), (self.cls, 0):
            column += [value] * len(self.missing)
        self.refs += [[] for _ in self.missing]
        self.values = [self.value(x) for x in self.items] + [NONE] * len(self.missing)
        self.names = [v.text if v.tag == 8 else "" for v in self.values]
        self.roots = [Root(self.number[r.id], *ROOTS[r.tag][:2], None, self.root_name(r)) for r in f.roots]
        self.pair_up()

    def add_missing(self, ids):
        self.missing = sorted(ids - set(self.number))
        self.number.update((id, len(self.items) + k) for k, id in enumerate(self.missing))

    def name_of(self, o):
        return self.names[o]

    # Classes -------------------------------------------------------------------------------------

    def name_classes(self):
        """Of several classes with one name, all but the first have their loader as scope."""
        f, seen = self.file, set()
        for of in f.loads:
            name = f.name(of)
            if len(name) == 2 and name[0] == "[" and name[1] in LETTERS:
                self.number_of_class[of] = self.primitive(name[1])
                continue
            dump = f.dumped.get(of)
            scope = f"loader 0x{dump.loader if dump else 0:x}" if name and name in seen else ""
            seen.add(name)
            self.number_of_class[of] = self.class_number(java_name(name) or "<unknown class>", scope, of)
        for x in f.items:
            if isinstance(x, Primitives):
                self.primitive(TYPES[x.type])
        mirror = [of for of in f.loads if f.name(of) == "java/lang/Class"]
        if f.dumped and not mirror:
            self.class_number("java.lang.Class", "", "mirror")
        self.mirror = self.number_of_class[mirror[0]] if mirror else self.known.get("mirror")
        self.described_classes = set(range(1, len(self.classes)))

    def primitive(self, letter):
        return self.class_number(java_name("[" + letter), "", "[" + letter)

    def class_of_item(self, x):
        if isinstance(x, Class):
            return self.mirror
        return self.primitive(TYPES[x.type]) if isinstance(x, Primitives) else self.number_of_class[x.of]

    # References ----------------------------------------------------------------------------------

    def fields_of(self, of):
        """(declaring class, name, type, offset) of all fields, and the bytes of an instance."""
        if of not in self.fields:
            out, at = [], 0
            for c in self.file.line(of):
                for name, type in c.fields:
                    out.append((self.file.name(c.id), self.file.string(name), type, at))
                    at += self.width(type)
            self.fields[of] = out, at
        return self.fields[of]

    def width(self, type):
        return self.file.ids if type == 2 else {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}[type]

    def values_of(self, x):
        """(declaring class, name, type, number)"""
        fields, size = self.fields_of(x.of)
        if len(x.data) != size:
            raise Unreadable("an instance of another size than its class")
        return [(of, name, type, int.from_bytes(x.data[at:at + self.width(type)], "big")) for of, name, type, at in fields]

    def references(self, x):
        """(id, kind, name, index); null references are omitted."""
        if isinstance(x, Class):
            name = java_name(self.file.name(x.id))
            refs = [(id, STRONG, part, None) for part, id in zip(PARTS, (x.super, x.loader, x.signers, x.domain))]
            refs += [(id, STRONG, f"{name}.{self.file.string(field)}" if name else self.file.string(field), None)
                     for field, type, id in x.statics if type == 2]
        elif isinstance(x, Objects):
            refs = [(id, STRONG, "", i) for i, id in enumerate(x.elements)]
        elif isinstance(x, Instance):
            holds = next((HOLDS[n] for n in map(self.file.name, (c.id for c in self.file.line(x.of))) if n in HOLDS), STRONG)
            refs = [(id, holds if (of, name) == ("java/lang/ref/Reference", "referent") else STRONG, name, None)
                    for of, name, type, id in self.values_of(x) if type == 2]
            loader = self.file.dumped[x.of].loader
            if loader not in (0, self.system_loader):  # the JVM and the system's loader keep their own classes
                refs.append((x.of, STRONG, "<class>", None))
        else:
            refs = []
        return [r for r in refs if r[0]]

    # Values --------------------------------------------------------------------------------------

    def is_a(self, x, names):
        return next((n for n in map(self.file.name, (c.id for c in self.file.line(x.of))) if n in names), None)

    def item(self, id):
        o = self.number.get(id)
        return self.items[o] if o is not None and o < len(self.items) else None

    def text(self, x):
        """The value of a java.lang.String, or none."""
        if not isinstance(x, Instance) or not self.is_a(x, ("java/lang/String",)):
            return NONE
        got = {name: number for of, name, _, number in self.values_of(x) if of == "java/lang/String"}
        array = self.item(got.get("value"))
        if not isinstance(array, Primitives) or array.type not in (5, 8) or array.data is None:
            return NONE
        wide = array.type == 5 or got.get("coder") == 1
        kept, step = array.data[:KEPT], 2 if wide else 1
        code = "latin-1" if not wide else "utf-16-be" if array.type == 5 else "utf-16-le"
        kept = kept[:len(kept) // step * step]
        return Value(6 if wide else 5, None, len(array.data) // step, len(kept) // step, kept.decode(code, errors="surrogatepass"))

    def own(self, x, of):
        """Values of the fields that one class declares: {name: number}; a reference is an id."""
        return {name: n - (n >> SIGNED[t] - 1 << SIGNED[t]) if t in SIGNED else n for c, name, t, n in self.values_of(x) if c == of}

    def slots(self, id, each=1):
        array = self.item(id)
        return len(array.elements) // each if isinstance(array, Objects) else 0

    def count(self, x):
        """The number of elements of a collection and of slots for them; None: no collection."""
        kind = self.is_a(x, [*COUNTED, *WRAPPED, DEQUE])
        if kind in WRAPPED:
            inner = self.item(self.own(x, kind).get(WRAPPED[kind]))
            if isinstance(inner, Instance):
                return self.count(inner)
            kind = self.is_a(x, COUNTED)       # Properties before JDK 9
        if kind is None:
            return None
        own = self.own(x, kind)
        if kind == DEQUE:
            slots = self.slots(own.get("elements"))
            n = own["tail"] - own["head"]
            return n + slots * (n < 0), slots
        size, array, each = COUNTED[kind]
        cells = self.item(own.get("counterCells"))
        if isinstance(cells, Objects):
            own[size] += sum(self.own(c, CELL)["value"] for c in map(self.item, cells.elements) if isinstance(c, Instance))
        return None if own[size] < 0 else (own[size], self.slots(own.get(array), each))

    def value(self, x):
        if isinstance(x, Class):
            return Value(8, None, None, None, self.classes[self.number_of_class[x.id]][0])
        if not isinstance(x, Instance):
            return NONE
        named, box = self.is_a(x, NAMED), self.is_a(x, BOXES)
        if named:
            name = self.text(self.item(next((n for of, field, _, n in self.values_of(x) if (of, field) == (named, "name")), 0)))
            return Value(8, None, None, None, name.text) if name.tag else NONE
        if box:
            _, _, type, n = next(v for v in self.values_of(x) if v[1] == "value")
            if type in (6, 7):
                return Value(4, struct.unpack(">f" if type == 6 else ">d", n.to_bytes(self.width(type), "big"))[0], None, None, None)
            bits = SIGNED.get(type)
            return Value(2, n != 0, None, None, None) if type == 4 else \
                Value(3, n - (n >> bits - 1 << bits) if bits else n, None, None, None)
        count = self.count(x)
        return Value(7, None, count[0], None, fill(*count)) if count else self.text(x)

    # Roots ---------------------------------------------------------------------------------------

    def thread_name(self, serial):
        objects = [r.id for r in self.file.roots if r.tag == 0x08 and r.thread == serial]
        x = self.item(objects[0]) if objects else None
        name = self.value(x).text or "" if isinstance(x, Instance) and self.is_a(x, NAMED[1:]) else ""
        raw = name.encode(errors="surrogatepass")
        return name if len(raw) <= PART else raw[:PART].decode(errors="ignore") + "…"

    def frame_text(self, thread, frame):
        """A stack belongs to the first thread whose root names it."""
        f, taken = self.file, {}
        for r in f.roots:
            if r.tag == 0x08 and r.thread not in taken:
                taken[r.thread] = None if r.stack in taken.values() else r.stack
        trace = f.traces.get(taken.get(thread), [])
        if frame is None or frame >= len(trace) or trace[frame] not in f.frames:
            return ""
        method, source, serial, line = f.frames[trace[frame]]
        name, source = java_name(f.name(f.serials.get(serial, 0))), f.string(source)
        where = "" if not source else f" ({source}:{line})" if line > 0 else " (native)" if line == -3 else f" ({source})"
        return f"{name}.{f.string(method)}{where}" if name else f.string(method) + where

    def root_name(self, r):
        """"local variable of thread main, Shop.run (Shop.java:41)"."""
        if r.thread not in self.threads:
            self.threads[r.thread] = self.thread_name(r.thread)
        thread = self.threads[r.thread]
        frame = self.frame_text(r.thread, r.frame)
        return ROOTS[r.tag][4] + (f"{'' if r.tag == 0x08 else ' of thread'} {thread}" if thread else "") + (f", {frame}" if frame else "")


def read(data):
    g = Hprof("hprof")
    g.load(data)
    return g
