"""Builds small Dart heap snapshots: a heap has a Root; node() adds objects, and edge() adds references."""


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def text(s):
    return number(len(s.encode())) + s.encode()


class Dart:
    def __init__(self):
        self.classes, self.nodes = [], []
        self.root = self.node("Root", 0, library="")

    def class_of(self, name, library):
        if (name, library) not in self.classes:
            self.classes.append((name, library))
        return self.classes.index((name, library)) + 1

    def node(self, name, size, code=0, library="package:app/app.dart"):
        """code: identity hash code; 0 means none, as for lists and closures of the virtual machine."""
        self.nodes.append((self.class_of(name, library), size, code, []))
        return len(self.nodes) - 1

    def edge(self, holder, to):
        self.nodes[holder][3].append(to + 1)
        return to

    def write(self, path):
        out = b"dartheap" + number(0) + text("main") + number(1000) + number(2000) + number(0) + number(len(self.classes))
        for name, library in self.classes:
            out += number(0) + text(name) + text(library) + text(library) + text("") + number(0)
        out += number(sum(len(n[3]) for n in self.nodes)) + number(len(self.nodes))
        for c, size, _, to in self.nodes:
            out += number(c) + number(size) + b"\0" + number(len(to)) + b"".join(map(number, to))
        with open(path, "wb") as f:
            f.write(out + number(0))
            if any(n[2] for n in self.nodes):  # old virtual machines write no hash codes
                f.write(b"".join(number(n[2]) for n in self.nodes))
        return path
