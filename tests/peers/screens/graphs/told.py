"""The printed form of names, values and figures of objects; and the comparison of a program's rows with the graph."""
import re
from text import INVISIBLE, is_share, is_size, like

SIZE = r"\d+(?:\.\d+)?(?: (?:B|KiB|MiB|GiB|TiB|PiB|EiB)\b)?"
UNITS = "B", "KiB", "MiB", "GiB", "TiB"
LISTS = "classes", "retained", "objects", "strings"
NEXT = re.compile(r"next: heapdump ")


def clean(text):
    return INVISIBLE.sub("?", text)


def judge(report, what, raw, facts, right=None):
    """facts: [(description, whether it is right)]."""
    report.count += len(facts)
    for label, good in facts:
        if not good:
            report.bad(f"{what}: {label}", str(raw) + (f"   (right: {str(right)[:300]})" if right is not None else ""))
    return all(good for _, good in facts)


def quoted(text):
    """Quotes like put_quoted."""
    out = ""
    for c in text:
        if c in '"\\':
            out += "\\" + c
        elif c == "\n":
            out += "\\n"
        elif c == "\t":
            out += "\\t"
        elif INVISIBLE.match(c):
            out += f"\\u{ord(c):04x}" if ord(c) < 0xd800 or ord(c) > 0xdfff else c
        else:
            out += c
    return f'"{out}"'


def is_quoted(shown, text):
    """Whether the text in quotes is the whole value or its beginning, which ends in "…" or "..."."""
    if not shown.startswith('"'):
        return False
    shown = clean(shown)                       # some characters without width are kept
    for whole in (quoted(text), '"' + clean(text) + '"'):
        if shown == whole or shown == whole + "...":
            return True
        body = re.sub(r'(\.\.\.|…|"\.\.\.|…"|"\.\.\.…|…"\.\.\.)$', "", shown)
        if body != shown and (whole.startswith(body) or whole.startswith(body[:-1])):
            return True
    return False


def spelled(number):
    """A double in the fewest of 15 to 17 digits that restore it."""
    for digits in 15, 16, 17:
        text = f"%.{digits}g" % number
        if float(text) == number or number != number:
            return text
    return text


def value_text(g, o, units=None):
    """The value of an object as text, or None."""
    if g.values is None:
        return g.name_of(o) or None
    v = g.values[o]
    if v.tag == 0:
        return None
    return {1: lambda: "null", 2: lambda: str(v.value).lower(), 3: lambda: str(v.value), 4: lambda: spelled(v.value),
            7: lambda: v.text or f"length {v.length}"}.get(v.tag, lambda: v.text)()


def is_value(g, shown, o):
    """Whether this is the printed value of an object, whole or shortened."""
    want = value_text(g, o)
    if want is None:
        return shown == ""
    if g.values is not None and g.values[o].tag not in (5, 6, 8):
        return shown == want or like(shown, want)
    return is_quoted(shown, want)


def is_class(shown, g, c, columns):
    """A class as printed in a list: whole, or shortened for a terminal."""
    name, scope = (clean(x) for x in g.classes[c])
    whole = name + (f"  ({scope})" if scope else "")
    if shown.rstrip() == whole.rstrip():
        return True
    if scope and shown.endswith(f"  ({scope})"):
        shown = shown[:-len(scope) - 4]
    return bool(columns) and like(shown.rstrip(), name.rstrip())


def is_object(shown, g, o, columns, value=False):
    """A class, followed by a name or value in quotes."""
    c = g.cls[o]
    count = value_text(g, o) if g.format == "hprof" and g.values[o].tag == 7 else None
    if count and not value:                    # "java.util.HashMap, 12 of 4,096 slots"; a narrow terminal omits the number
        return shown.endswith(", " + count) and is_class(shown[:-len(count) - 2], g, c, columns) or \
            bool(columns) and is_class(shown, g, c, columns)
    beside = value_text(g, o) if value else g.name_of(o)
    if is_class(shown, g, c, columns):
        return not beside or bool(columns)
    if columns and not value and g.types and g.types[o] == "synthetic" and beside and is_quoted(shown, beside):
        return True                            # all V8 roots have one class
    for at in [m.start() for m in re.finditer("  ", shown)]:
        if is_class(shown[:at], g, c, columns) and beside and \
                (is_value(g, shown[at + 2:], o) if value else is_quoted(shown[at + 2:], beside)):
            return True
    return False


def is_id(g, text, o):
    return g.id_text(o) == text.strip()


def is_bytes(shown, n):
    """Whether this is a number of bytes, in the largest unit that is at least one."""
    number, _, unit = shown.strip().partition(" ")
    steps = UNITS.index(unit) if unit in UNITS else 0
    return is_size(shown.strip(), n) and (not steps or n >= 1023.95 * 1024 ** (steps - 1) and (float(number) < 1024 or unit == UNITS[-1]))


def shares(shown, part, whole):
    return is_share(shown, part, whole)


def whole_lines(report, out, columns):
    """Lines of a screen, joined with their continuation lines: no figure may be cut."""
    lines = []
    for raw in out.split("\n"):
        m = re.match(r" {8}(\S.*)", raw) if columns and lines else None
        numbered = bool(m) and bool(re.match(r"\s*\d+  ", lines[-1]))
        if m and (lines[-1][:8].strip() or numbered) and (lines[-1][-1:] in (",", ";", ":") or not m[1][0].isdigit()):
            apart = re.match(r"\(\d+ of", m[1]) or numbered and m[1][0] in '("'
            lines[-1] += ("  " if apart else " ") + m[1]
        else:
            lines.append(raw)
        if columns and len(raw) > columns and not NEXT.match(raw):
            report.bad("a line wider than the terminal", raw)
    return lines


class Asked:
    """A file whose graph we have, and the tool to run on it."""

    def __init__(self, report, tool, g, path):
        self.report, self.tool, self.g, self.path = report, tool, g, path

    def lines(self, arguments, columns=None, fails=False):
        """The output of a command without the proposed next command; None if it failed."""
        self.report.by = arguments[0]
        out, status = self.tool.run([*arguments, self.path], columns)
        self.report.screens[arguments[0]] += 1
        if status:
            if not fails:
                self.report.bad("no answer", f"status {status}")
            return None
        rows = out.split("\n")
        if columns and re.match(r"\d+ objects?\b", rows[0]):
            n = 1
            while n < len(rows) and len(whole_lines(self.report, "\n".join(rows[:n + 1]), columns)) == 1:
                n += 1
            rows[:n] = whole_lines(self.report, "\n".join(rows[:n]), columns)
            judge(self.report, "head", rows[0], [("a figure is cut", not rows[0].endswith("…"))])
        if columns:
            for r in rows[1:]:
                if len(r) > columns >= 80 and not NEXT.match(r) and arguments[0] in LISTS and not re.search("would go with all|strings with garbage|live strings", r):
                    self.report.bad("a line wider than the terminal", r)
        for r in rows:
            if NEXT.match(r):
                self.check_next(r)
        return [r for r in rows if r.strip() and not NEXT.match(r)]

    def check_next(self, raw):
        m = re.match(r"next: heapdump (?:path .*--id|object \S+) (\S+)", raw)
        if m and not m[1].startswith("-"):
            judge(self.report, "next", raw, [("id", bool(self.g.find(m[1].strip("'"))))])

    def json(self, arguments):
        """The answer about the file, as a Python object."""
        import json
        self.report.by = arguments[0]
        out, status = self.tool.run([*arguments, "--json", self.path])
        self.report.screens[arguments[0]] += 1
        if status:
            self.report.bad("no answer", f"status {status}")
            return None
        try:
            return json.loads(out)["files"][0]
        except (ValueError, LookupError) as why:
            self.report.bad("JSON", f"{why!r} {out[:200]}")
            return None
