"""Reads heap dumps of the .NET Compact Framework: text, one record per line. Only well-formed files."""
import re
from graph import Graph, Ref, Root, STRONG, Unreadable


class NetCF(Graph):
    """Objects of one application domain, or of all domains of a file."""

    def __init__(self, name="", version=0, begin=0):
        super().__init__("netcf")
        self.hex, self.domain, self.version, self.begin, self.end = True, name, version, begin, 0
        self.records, self.types_of, self.root_records = {}, {}, []

    def class_of_type(self, t):
        return self.class_number(f"<type {t:x}>", self.domain, t)

    def finish(self):
        """Objects in the order of their records, then those that only references or roots name."""
        number = {i: n for n, i in enumerate(self.records)}
        for t, name in self.types_of.items():
            self.class_number(name, self.domain, t)
        self.described_classes = {self.known[t] for t in self.types_of}
        for i, (t, size, _) in self.records.items():
            self.ids.append(i)
            self.sizes.append(size)
            self.cls.append(self.class_of_type(t))
        self.described = len(self.ids)

        named = {i for _, _, refs in self.records.values() for i in refs} | {r[0] for r in self.root_records}
        for i in sorted(named - set(number)):
            number[i] = len(self.ids)
            self.ids.append(i)
            self.sizes.append(0)
            self.cls.append(0)
        self.refs = [[Ref(number[i], STRONG, "", None) for i in refs] for _, _, refs in self.records.values()]
        self.roots = [Root(number[i], kind, flags, self.class_of_type(c) if c is not None else None)
                      for i, kind, flags, c in self.root_records]
        self.refs += [[] for _ in self.ids[self.described:]]
        self.pair_up()


def number(text, base=16):
    if not re.fullmatch(r"[0-9a-fA-F]+", text):
        raise Unreadable(f"a number: {text!r}")
    return int(text, base)


def domains_of(text, base):
    found, now = [], None
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if not line.strip(" "):
            continue
        word = line.rstrip(" ").split(" ")
        kind = word[0]
        if kind == "a" and not now and len(word) > 3:
            now = NetCF(" ".join(word[2:-1]), number(word[1]), number(word[-1]))
        elif not now:
            raise Unreadable("a record outside any domain")
        elif kind == "t" and len(word) > 2 and number(word[1]) not in now.types_of:
            now.types_of[number(word[1])] = line.split(" ", 2)[2]
        elif kind == "o" and len(word) > 3 and number(word[1]) not in now.records:
            now.records[number(word[1])] = number(word[2]), number(word[3], base), [number(w) for w in word[4:]]
        elif kind == "r" and len(word) in (4, 5) and (len(word) == 5) == (word[2] == "4"):
            now.root_records.append((number(word[1]), number(word[2]), number(word[3]), number(word[4]) if word[4:] else None))
        elif kind == "c" and len(word) > 2 and " ".join(word[1:-1]) == now.domain:
            now.end = number(word[-1])
            found.append(now)
            now = None
        else:
            raise Unreadable(f"a line: {line[:60]!r}")
    if now or not found:
        raise Unreadable("a domain without an end" if now else "no domain")
    return found


def united(parts):
    """All domains as one graph. Objects are the same if id, class, size and references are equal. An object without a
    record in one domain is the first with a record in another."""
    g, made, first, numbers = NetCF(), [], {}, []
    for p in parts:
        mine, names = {}, {}
        for t, c in p.known.items():
            key = t, p.classes[c][0]
            if key in g.known and g.classes[g.known[key]][1] != p.domain:
                g.classes[g.known[key]] = key[1], ""
            names[c] = g.class_number(key[1], p.domain, key)
            if c in p.described_classes:
                g.described_classes.add(names[c])
        numbers.append((mine, names))
        own = len(made)
        for o in range(p.described):
            shape = p.ids[o], p.class_of(o)[0], p.sizes[o], tuple(p.ids[r.to] for r in p.refs[o])
            same = [n for n, (s, _, _) in enumerate(made[:own]) if s == shape]
            if same:
                mine[o] = same[0]
                continue
            mine[o] = len(made)
            first.setdefault(p.ids[o], len(made))
            made.append((shape, p, o))
            g.cls.append(names[p.cls[o]])
    g.ids, g.sizes, g.described = [s[0] for s, _, _ in made], [s[2] for s, _, _ in made], len(made)

    named = {p.ids[r.to] for _, p, o in made for r in p.refs[o] if r.to >= p.described} | \
        {p.ids[r.object] for p in parts for r in p.roots if r.object >= p.described}
    for i in sorted(named - set(first)):
        first[i] = len(g.ids)
        g.ids.append(i)
        g.sizes.append(0)
        g.cls.append(0)

    def target(p, o):
        return numbers[parts.index(p)][0][o] if o < p.described else first[p.ids[o]]
    g.refs = [[r._replace(to=target(p, r.to)) for r in p.refs[o]] for _, p, o in made]
    roots = [r._replace(object=target(p, r.object), container=r.container and numbers[k][1][r.container])
             for k, p in enumerate(parts) for r in p.roots]
    g.roots = list(dict.fromkeys(roots))
    g.refs += [[] for _ in g.ids[g.described:]]
    g.pair_up()
    return g


def read(data, decimal=False):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8")
    parts = domains_of(text, 10 if decimal else 16)
    for p in parts:
        p.finish()
    g = parts[0] if len(parts) == 1 else united(parts)
    g.domains = parts
    return g
