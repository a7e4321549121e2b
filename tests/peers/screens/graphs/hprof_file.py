"""Reads the records of HPROF files. Only well-formed files; a file with a second dump gives the first one."""
import collections, struct
from graph import Unreadable

WIDTHS = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
# Roots by tag: kind of the graph's model, flags, words behind the id, ids behind it, name.
INTERNAL, LOCAL, FINALIZER, HANDLE, STATIC, COLLECTOR = range(6)
ROOTS = {0xff: (INTERNAL, 0, 0, 0, "unknown root"), 0x01: (HANDLE, 0, 0, 1, "JNI global"),
         0x02: (LOCAL, 0, 2, 0, "JNI local"), 0x03: (LOCAL, 0, 2, 0, "local variable"),
         0x04: (LOCAL, 0, 1, 0, "native stack"), 0x05: (COLLECTOR, 0, 0, 0, "system class"),
         0x06: (INTERNAL, 0, 1, 0, "thread block"), 0x07: (HANDLE, 0, 0, 0, "monitor"),
         0x08: (INTERNAL, 0, 2, 0, "thread"), 0x89: (COLLECTOR, 0, 0, 0, "interned string"),
         0x8a: (FINALIZER, 0, 0, 0, "object to be finalized"), 0x8b: (INTERNAL, 0, 0, 0, "debugger"),
         0x8c: (INTERNAL, 0, 0, 0, "reference cleanup"), 0x8d: (INTERNAL, 0, 0, 0, "VM internal"),
         0x8e: (HANDLE, 0, 2, 0, "JNI monitor"), 0x90: (INTERNAL, 2, 0, 0, "unreachable object")}

PRETTY = {n + "[]": "[" + l for n, l in zip(("boolean", "char", "float", "double", "byte", "short", "int", "long"), "ZCFDBSIJ")}
Class = collections.namedtuple("Class", "id super loader signers domain size statics fields")
Instance = collections.namedtuple("Instance", "id of data late")       # late: its class or a super class comes later
Objects = collections.namedtuple("Objects", "id of elements")
Primitives = collections.namedtuple("Primitives", "id type length data")
RootRecord = collections.namedtuple("RootRecord", "id tag thread frame stack")


class Bytes:
    def __init__(self, data, ids=0):
        self.data, self.at, self.ids = data, 0, ids

    def take(self, n):
        if self.at + n > len(self.data):
            raise Unreadable("the end of the file")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "big")

    def id(self):
        return self.number(self.ids)

    def value(self, type):
        return self.number(self.width(type))

    def width(self, type):
        if type != 2 and type not in WIDTHS:
            raise Unreadable(f"a type: {type}")
        return self.ids if type == 2 else WIDTHS[type]


class File:
    """strings: id -> bytes. names: class -> id of its name. loads: classes in the order of first mention. dumped: class ->
    its dump. items: classes, instances and arrays in order. frames: id -> (method, source, class serial, line)."""

    def __init__(self, data):
        b = Bytes(data)
        end = data.find(b"\0", 0, 32)
        if not data.startswith(b"JAVA PROFILE 1.0.") or end < 0:
            raise Unreadable("no HPROF file")
        self.version = b.take(end + 1)[:-1].decode()
        b.ids = self.ids = b.number(4)
        b.number(8)
        if self.ids not in (4, 8):
            raise Unreadable("ids")
        self.android = self.version.endswith("1.0.3") and self.ids == 4
        self.strings, self.names, self.serials, self.loads, self.dumped = {}, {}, {}, {}, {}
        self.items, self.roots, self.frames, self.traces, self.dumps = [], [], {}, {}, 0
        self.frame_records = self.trace_records = 0
        self.ready, open_ = set(), False
        while b.at < len(data):
            open_ = self.record(b, open_)
        if open_ or not self.dumps:
            raise Unreadable("no end of the dump")

    def record(self, b, open_):
        tag, _, length = b.number(1), b.number(4), b.number(4)
        end = b.at + length
        if tag == 0x0c:
            return self.single(b, end, length) or open_
        body = Bytes(b.take(length), self.ids)
        if tag == 0x01:
            self.strings[body.id()] = body.data[self.ids:]
        elif tag == 0x02:
            serial, of, _, name = body.number(4), body.id(), body.number(4), body.id()
            self.serials[serial] = of
            self.loads.setdefault(of, None)
            self.names.setdefault(of, name)
        elif tag == 0x04:
            id, method, _, source = (body.id() for _ in range(4))
            self.frames[id] = method, source, body.number(4), struct.unpack(">i", body.take(4))[0]
            self.frame_records += 1
        elif tag == 0x05:
            serial, _, n = body.number(4), body.number(4), body.number(4)
            self.traces[serial] = [body.id() for _ in range(n)]
            self.trace_records += 1
        elif tag == 0x1c:
            while not self.dumps and body.at < length:
                self.part(body)
            return True
        elif tag == 0x2c:
            self.dumps += open_
            return False
        elif tag not in (0x03, 0x06, 0x07, 0x0a, 0x0b, 0x0d, 0x0e):
            raise Unreadable(f"a tag: {tag}")
        return open_

    def single(self, b, end, length):
        """A dump with a length, which is 0 in some files: then the dump goes on to the end of the file."""
        end = end if length else len(b.data)
        if self.dumps:
            b.take(end - b.at)
        while b.at < end:
            self.part(b)
        if b.at != end:
            raise Unreadable("a part beyond its dump")
        self.dumps += 1
        return False

    def part(self, b):
        tag = b.number(1)
        if tag == 0x20:
            self.class_dump(b)
        elif tag == 0x21:
            id, _, of, n = b.id(), b.number(4), b.id(), b.number(4)
            self.items.append(Instance(id, of, b.take(n), not self.is_ready(of)))
        elif tag == 0x22:
            id, _, n, of = b.id(), b.number(4), b.number(4), b.id()
            self.loads.setdefault(of, None)
            self.items.append(Objects(id, of, [b.id() for _ in range(n)]))
        elif tag in (0x23, 0xc3):
            id, _, n, type = b.id(), b.number(4), b.number(4), b.number(1)
            if type not in WIDTHS:
                raise Unreadable("a type of an array")
            self.items.append(Primitives(id, type, n, b.take(n * WIDTHS[type]) if tag == 0x23 else None))
        elif tag == 0xfe:
            b.number(4), b.id()
        elif tag in ROOTS:
            _, _, words, ids, _ = ROOTS[tag]
            id, _, numbers = b.id(), [b.id() for _ in range(ids)], [b.number(4) for _ in range(words)]
            if id:
                frame = numbers[1] if words == 2 and tag != 8 and numbers[1] != 0xffffffff else None
                self.roots.append(RootRecord(id, tag, numbers[0] if words else None, frame, numbers[1] if tag == 8 else None))
        else:
            raise Unreadable(f"a part: {tag}")

    def class_dump(self, b):
        id, _ = b.id(), b.number(4)
        ids = [b.id() for _ in range(6)]
        size = b.number(4)
        for _ in range(b.number(2)):
            b.number(2), b.value(b.number(1))
        statics = []
        for _ in range(b.number(2)):
            name, type = b.id(), b.number(1)
            statics.append((name, type, b.value(type)))
        fields = [(b.id(), b.number(1)) for _ in range(b.number(2))]
        for _, type in fields:
            b.width(type)
        if id in self.dumped:
            raise Unreadable("a class twice")
        self.loads.setdefault(id, None)
        self.dumped[id] = Class(id, *ids[:4], size, statics, fields)
        self.items.append(self.dumped[id])

    def is_ready(self, of):
        """Whether all dumps of a class and its super classes were read so far."""
        chain = []
        while of and of not in self.ready:
            if of not in self.dumped or of in chain:
                return False
            chain.append(of)
            of = self.dumped[of].super
        self.ready.update(chain)
        return True

    def string(self, id):
        return self.strings.get(id, b"").decode(errors="replace")

    def name(self, of):
        """"java/lang/String"; empty if no record names the class. Android writes "java.lang.String" and "byte[]"."""
        name = self.string(self.names.get(of, 0))
        return PRETTY.get(name) or name.replace(".", "/")

    def line(self, of):
        """The dumps of a class and its super classes, its own first."""
        out = []
        while of in self.dumped and self.dumped[of] not in out:
            out.append(self.dumped[of])
            of = out[-1].super
        return out
