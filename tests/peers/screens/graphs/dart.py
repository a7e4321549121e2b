"""Reads heap snapshots of the Dart VM. Only well-formed files."""
import collections, struct
from graph import Graph, KEY, Ref, Root, STRONG, Unreadable, VALUE, WEAK

TAGS = ["none", "null", "bool", "integer", "double", "latin1", "utf16", "length", "name"]
Value = collections.namedtuple("Value", "tag value length units text")  # units: of a string, as far as the file has them
WEAK_FIELDS = {("_WeakReference", "dart:core", "dart.core"): {"target": (0, WEAK)},
               ("_WeakProperty", "dart:core", "dart.core"): {"key": (0, KEY), "value": (1, VALUE)},
               ("FinalizerEntry", "dart:_internal", "dart._internal"):
                   {"value": (0, WEAK), "detach": (1, WEAK), "finalizer": (3, WEAK)}}


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 70:
                raise Unreadable("the end of the file")
            b = self.data[self.at]
            self.at += 1
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def take(self, n):
        if self.at + n > len(self.data):
            raise Unreadable("the end of the file")
        self.at += n
        return self.data[self.at - n:self.at]

    def text(self):
        return self.take(self.number()).decode(errors="replace")


def value_of(b):
    tag, value, length, units, text = b.number(), None, None, None, None
    if tag > 8:
        raise Unreadable("a tag")
    if tag == 2:
        value = bool(b.number())
    elif tag == 3:
        value = b.number() & (1 << 64) - 1
        value -= (value >> 63) << 64
    elif tag == 4:
        value = struct.unpack("<d", b.take(8))[0]
    elif tag in (5, 6):
        length, units = b.number(), b.number()
        raw = b.take(units * (tag - 4))
        text = raw.decode("latin-1") if tag == 5 else raw.decode("utf-16-le", errors="surrogatepass")
    elif tag == 7:
        length = b.number()
    elif tag == 8:
        text = b.text()
    return Value(tag, value, length, units, text)


class Dart(Graph):
    def load(self, data):
        b = Bytes(data)
        if b.take(8) != b"dartheap":
            raise Unreadable("not a Dart snapshot")
        self.flags, self.isolate = b.number(), b.text()
        self.told = b.number(), b.number(), b.number()     # shallow size, capacity, external size
        weak = [{}]
        self.libraries, field_names = [("", "")], [{}]
        for _ in range(b.number()):
            b.number()
            name, library, uri, _ = (b.text() for _ in range(4))
            fields = {}
            for _ in range(b.number()):
                b.number()
                index, field, _ = b.number(), b.text(), b.text()
                fields[index] = field
            self.known[len(self.classes)] = len(self.classes)
            self.classes.append((name, library or uri))
            self.libraries.append((library, uri))
            field_names.append(fields)
            weak.append(self.weak_places(name, library, uri, fields))
        self.described_classes, described = set(range(1, len(self.classes))), len(self.classes)
        b.number()
        count = b.number()
        self.described, self.values, rows = count, [], []
        for o in range(count):
            c, size = b.number(), b.number()
            if c >= described:
                raise Unreadable("a class")
            self.ids.append(o + 1)
            self.cls.append(c or self.class_number("<no class>", "", "none"))
            self.sizes.append(size)
            self.values.append(value_of(b))
            rows.append([b.number() for _ in range(b.number())])
        self.shallow = list(self.sizes)
        self.externals = []
        for _ in range(b.number()):
            o, size, name = b.number(), b.number(), b.text()
            self.externals.append((o - 1 if o else None, size, name))
            if o:
                self.sizes[o - 1] += size
        self.identity = [b.number() for _ in range(count)] if b.at < len(data) else None
        if b.at != len(data):
            raise Unreadable("bytes after the end")
        missing = any(t == 0 for r in rows for t in r)
        if missing:
            self.left_out = count
            self.ids.append(0)
            self.sizes.append(0)
            self.cls.append(0)
            self.values.append(Value(0, None, None, None, None))
        field_names.append({}), weak.append({}), self.libraries.append(("", ""))
        for o, row in enumerate(rows):
            if any(t > count for t in row):
                raise Unreadable("an object")
            names, places = field_names[self.cls[o]], weak[self.cls[o]]
            kinds = [places.get(i, places.get("rest", STRONG)) for i in range(len(row))]
            if KEY in kinds and row[kinds.index(KEY)] == 0:
                kinds = [STRONG] * len(kinds)  # an omitted key counts as alive
            self.refs.append([Ref(t - 1 if t else count, k, names.get(i, ""), None)
                              for i, (t, k) in enumerate(zip(row, kinds))])
        self.refs += [[]] * missing
        self.roots = [Root(0, 0, 0, None)] if count else []
        self.pair_up()

    def weak_places(self, name, library, uri, fields):
        """Kinds of references by position, for classes that the VM treats specially; "rest" is for all other
        positions."""
        if name == "WeakArray" and not (uri or library):
            at = [i for i, f in fields.items() if f.rstrip("_") == "length"]
            return {**{i: STRONG for i in at or ([] if fields else [0])}, "rest": WEAK}
        for (n, u, lib), places in WEAK_FIELDS.items():
            if n == name and (u == uri if uri else lib == library):
                out = {}
                for field, (place, kind) in places.items():
                    at = [i for i, f in fields.items() if (f[:-1] if f.endswith("_") else f) == field]
                    if at or not fields:
                        out[at[-1] if at else place] = kind
                return out
        return {}


def read(data):
    g = Dart("dart")
    g.load(data)
    return g
