"""Lines about objects: width, names, sizes, plurals, kinds of references, lists. object_lines.py TOOL ROOT, in an
empty directory."""
import os, re, sys
import v8_snapshot
from asked import answer, check, end, lines_of, lines_on

root = sys.argv[2]


def rows(lines, name):
    """Lines that end in a name or a shortened name."""
    return [" ".join(line.split()) for line in lines if line.endswith(name)]


# diff: two sizes of every class, ids of 10 and 19 digits.
LONG = "Namespace of the application / ArrayList of sessions that are kept until the end of the process"


def pair(first):
    for n in 1, 2:
        h = v8_snapshot.Heap()
        h.next_id = first
        store = h.variable("store", h.node("object", "Store", 32, first))
        for i in range(1 + n * n * 300):
            h.edge(store, "property", f"p{i}", h.node("object", LONG, 1000, first + 4 + 2 * i))
        h.edge(store, "property", "data", h.node("native", "system / JSArrayBufferData", n * 5000000000, first + 2))
        h.write(f"{n}.heapsnapshot")
    return ["1.heapsnapshot", "2.heapsnapshot"]


for first in 1001, 2 ** 63 - 100001:
    files = pair(first)
    for columns in 60, 80, 140:
        what = f"diff, {columns} columns, ids of {len(str(first))} digits"
        lines = lines_on(columns, "diff", *files)
        check(what + ": no line is wider", [], [line for line in lines if len(line) > columns])
        cut = [line for line in lines if re.search(r"\d…|…\d", line)]
        check(what + ": no figure is cut", [], cut)
        found = next(re.findall(r"\+?\d[\d.]* GiB|\b0\b", line) for line in lines if "JSArrayBufferData" in line)
        check(what + ": bytes of classes", ["+4.7 GiB", *["4.7 GiB"] * (columns > 60), "9.3 GiB", "0"], found)
        check(what + ": objects of classes", True, any(re.search(r"\+900 ", line) for line in lines))
        check(what + ": object by object", 1, len([line for line in lines if re.match(r"900 new objects", line)]))
    lines = lines_of("diff", *files)
    check("diff in a pipe: whole names", True, len([line for line in lines if line.endswith("  " + LONG)]) >= 2)
    lines = lines_of("diff", "--bytes", *files)
    check("diff --bytes", 3, len([line for line in lines if re.search(r"\+5000000000\b", line)]))
told = answer("diff", *files)
check("diff --json: bytes", [(5000000000, 10000000000)], [(c["before"], c["after"]) for c in told["classes"] if "Data" in c["class"]])


# A name is shortened only if its line has no room for it.
h = v8_snapshot.Heap()
NAMES = ["readTheFirstRecordOfTheArchiveThatTheUserHasOpenedAndKeepItUntilEnd", "system / JSArrayBufferData", "f"]
last = h.globals
for i, name in enumerate(NAMES):
    last = h.variable(f"v{i}", h.closure(name, h.node("object", "system / Context", 16)))
h.edge(last, "property", "value", h.node("object", NAMES[0], 100))
h.edge(h.globals, "property", "data", h.node("native", NAMES[1], 100))
target = h.node("string", "text", 32)
h.edge(last, "property", NAMES[0], target)
h.write("names.heapsnapshot")
for columns in 140, 180:
    for arguments in (["retained"], ["objects", "--class", "global"], ["classes"], ["path", "--class", NAMES[0]], ["path", "--id", "17"],
                      ["path", "--all", "--id", "17"], ["object", "1"], ["strings"]):
        lines = lines_on(columns, *arguments[:1], "names.heapsnapshot", *arguments[1:])
        check(f"{' '.join(arguments)[:20]}, {columns} columns: names are whole", [], [line for line in lines if re.search(r"…|\.\.\.", line) and (arguments[0] != "objects" or len(line) < columns - 1)])


# object on a narrow terminal: a long field is cut in its middle, and the class stays.
h = v8_snapshot.Heap()
table = h.node("array", "", 64, 4001)
h.variable("table", table)
h.edge(table, "internal", "3 / part of key (SomeKeyOfTheApplication @7) -> value (Value @9) pair in WeakMap (table @5)", h.node("object", "Value", 16))
h.edge(table, "internal", "4", h.node("object", LONG, 16))
h.write("narrow.heapsnapshot")
for columns in 60, 80:
    lines = lines_on(columns, "object", "narrow.heapsnapshot", "4001")
    check(f"object, {columns} columns: no line is too wide", [], [line for line in lines if len(line) > columns])
    check(f"object, {columns} columns: the class stays", True, any(re.search("part.*….*: Value$", line) for line in lines) or lines)
heap = root + "/tests/data/heap-jemalloc.txt"
lines = lines_on(60, "diff", heap, heap)
check("diff of heaps, 60 columns: names have priority over places", True, any(line.endswith("  main › leak") for line in lines_on(
    60, "diff", root + "/tests/data/app-1.pb", root + "/tests/data/app-3.pb")))
check("diff of heaps, 60 columns: no line is too wide", [], [line for line in lines if len(line) > 60])


h = v8_snapshot.Heap()
h.edge(h.roots, "element", 0, h.node("synthetic", "(Global handles)", 0))
h.write("roots.heapsnapshot")
lines = lines_on(60, "retained", "roots.heapsnapshot")
check("retained, 60 columns: roots have names", ['"(GC roots)"', '"(Global ha…"'], [line.split("  ")[-1] for line in lines if '"' in line])


# The reason why an edge does not hold its target.
h = v8_snapshot.Heap()
a, b, key, value = (h.node("object", n, 16) for n in ("A", "B", "Key", "Value"))
h.variable("a", a), h.variable("b", b), h.variable("key", key)
h.edge(a, "weak", "ref", b)
h.edge(a, "shortcut", "short", b)
h.edge(a, "property", "strong", b)
table = h.node("array", "", 64, 4001)
weak_map = h.variable("map", h.node("object", "WeakMap", 16))
h.edge(weak_map, "internal", "table", table)
pair_name = f"3 / part of key (Key @{h.nodes[key][3]}) -> value (Value @{h.nodes[value][3]}) pair in WeakMap (table @4001)"
h.edge(table, "internal", pair_name, value)
h.edge(key, "internal", pair_name, value)
engine = h.node("synthetic", "(Global handles)", 0)
h.edge(h.roots, "element", 3, engine)
h.edge(engine, "element", 0, a)
h.write("kinds.heapsnapshot")


def kinds(number):
    return [re.sub(r".*?B +", "", line.split("  ", 3)[-1]).strip() for line in lines_of("object", "kinds.heapsnapshot", str(number))]


def line_of(number, text):
    return next((line for line in lines_of("object", "kinds.heapsnapshot", str(number)) if text in line), "")


number = lambda n: h.nodes[n][3]
lines = [re.sub(r"^ *\d+ +\d+ B +", "", line) for line in lines_of("object", "kinds.heapsnapshot", str(number(a)))]
refers = lines[next(i for i, l in enumerate(lines) if l.startswith("refers to")) + 2:][:3]
check("object: a weak edge, a shortcut and a property", ["ref (weak): B", "short (shortcut, not followed): B", "strong: B"], refers)
check("... of a WeakMap: the table does not hold the value", True, "(ephemeron value): Value" in line_of(4001, "part of key"))
check("... but the key does", False, "(" in re.sub(r".*pair in WeakMap \(table @4001\)", "", line_of(number(key), "part of key")))
check("... an engine's reference to a page object", True, "[0] (page object, not followed): A" in line_of(number(engine), "[0]"))
told = {r.get("field", r.get("index")): r["kind"] for r in answer("object", "kinds.heapsnapshot", str(number(a)))["files"][0]["references"]}
check("... as JSON", {"ref": "weak", "short": "shortcut", "strong": "strong"}, told)
told = [r["kind"] for r in answer("object", "kinds.heapsnapshot", "4001")["files"][0]["references"]]
check("... of the table", ["value"], told)
told = [r["kind"] for r in answer("object", "kinds.heapsnapshot", str(number(engine)))["files"][0]["references"]]
check("... of the engine", ["page object"], told)
check("info counts references that are not strong", "14 references, 4 of them not strong: 1 weak, 1 ephemeron value, 1 shortcut, 1 from the engine to a page object".split(),
      next(line for line in lines_of("info", "kinds.heapsnapshot") if " references" in line).split())
check("references of node 0 have numbers", [True, True], ["  [2]: global" in line_of(1, "global"), any(
    line.endswith(", by [2]") for line in lines_of("path", "--id", str(number(b)), "kinds.heapsnapshot"))])


# Sizes in the style of other screens, exact with --bytes and in JSON; singular and plural.
check("info: bytes", True, any(re.search(r"objects of \d+ classes, 9\.3 GiB", line) for line in lines_of("info", "2.heapsnapshot")) or
      lines_of("info", "2.heapsnapshot"))
check("... --bytes", True, any(re.search(r"classes, 10001201064 bytes$", line) for line in lines_of("info", "--bytes", "2.heapsnapshot")) or lines_of("info", "--bytes", "2.heapsnapshot"))
small = root + "/tests/data/small.dartheap"
one = v8_snapshot.Heap()
one.write("one.heapsnapshot")
more = v8_snapshot.Heap()
more.variable("a", more.node("object", "A", 16))
more.write("more.heapsnapshot")
MANY = r"(?<![\d.,])\+?1 (roots|objects|references|classes|bytes|properties|steps|codes|heaps|strings|nodes|files)\b"
for arguments in (["info", "one.heapsnapshot"], ["info", "more.heapsnapshot"], ["info", small], ["diff", "one.heapsnapshot", "more.heapsnapshot"],
                  ["retained", "--class", "A", "more.heapsnapshot"], ["objects", "--class", "A", "more.heapsnapshot"], ["info", root + "/tests/data/garbage.netcf.txt"],
                  ["path", "--class", "A", "more.heapsnapshot"], ["object", "more.heapsnapshot", "5"], ["classes", "--top", "1", "one.heapsnapshot"]):
    lines = lines_of(*arguments) + lines_on(100, *arguments)
    check(f"{arguments[0]} {os.path.basename(arguments[-1])}: singular and plural", [], [line for line in lines if re.search(MANY, line)])
check("objects: the verb is singular for one object", True, " retains 16 B" in lines_of("objects", "--class", "A", "more.heapsnapshot")[0])
check("path --class: the verb is singular for one object", True, "which retains 16 B" in lines_of("path", "--class", "A", "more.heapsnapshot")[0])
check("diff: 1 new object", True, "1 new object" in lines_of("diff", "one.heapsnapshot", "more.heapsnapshot"))


# A list is one step with its length on every screen.
h = v8_snapshot.Heap()
last = h.variable("queue", h.node("object", "Queue", 32))
for i in range(50):
    item = h.node("object", "Item", 100)
    h.edge(last, "property", "next" if i else "head", item)
    last = item
h.write("list.heapsnapshot")
step = "head: list of 50 Item (next)"
check("path --class: a list on a terminal", True, any(line.endswith("queue: Queue › " + step) for line in lines_on(140, "path", "--class", "Item", "list.heapsnapshot")))
check("... in a pipe", True, any(line.endswith("queue: Queue › " + step) for line in lines_of("path", "--class", "Item", "list.heapsnapshot")))
check("... as JSON", [(step, 50)], [(r["name"], r["objects"]) for r in answer("path", "--class", "Item", "list.heapsnapshot")["files"][0]["rows"] if "list" in r["name"]])
with open("nameless.log", "w") as f:      # .NET CF has no field names
    f.write("a 2 x 1\nt 1 T\no 1 1 8 1 100\nr 1 1 0\nr 100 1 0\n" + "".join("o %x 1 10 %x\n" % (0x100 + i, 0x101 + i) for i in range(4)) + "o 104 1 10\nc x 2\n")
rows = [r["name"] for r in answer("path", "--class", "T", "nameless.log")["files"][0]["rows"]]
check("a list without names of fields", True, any("list of 5 T" in r for r in rows) and not any("list of 5 local" in r for r in rows) or rows)

# The last element of one list may be the first of another: neither counts the other's elements.
h = v8_snapshot.Heap()
holder = h.variable("sessions", h.array())
for i in range(2):
    inner = h.array()
    h.elements(holder, [inner])
    holder = inner
maps = [h.node("object", "Map", 32) for _ in range(3)]
h.elements(holder, [maps[0]])
for i, m in enumerate(maps):
    table = h.node("array", "(object elements)", 64)
    h.edge(m, "internal", "table", table)
    h.edge(table, "internal", "0", maps[i + 1] if i < 2 else h.node("object", "Leaf", 24))
h.nodes = [(kind, name, size, id, [e for e in edges if e[0] != "element" or name != "Array"]) for kind, name, size, id, edges in h.nodes]
h.write("lists.heapsnapshot")
rows = [r["name"] for r in answer("path", "--class", "Leaf", "lists.heapsnapshot")["files"][0]["rows"] if r["depth"] > 2]
check("path --class: adjacent lists", ["sessions: list of 3 Array (elements › [])", "elements: (array)", "[]: list of 3 Map (table › [])", "table: (array)", "[]: Leaf"], rows)
h = v8_snapshot.Heap()
holder = h.variable("top", h.node("object", "Item", 32))
for name in ["next"] * 4 + ["prev"] * 4:
    item = h.node("object", "Item", 32)
    h.edge(holder, "property", name, item)
    holder = item
h.edge(holder, "property", "value", h.node("object", "Leaf", 24))
h.write("turn.heapsnapshot")
rows = [r["name"] for r in answer("path", "--class", "Leaf", "turn.heapsnapshot")["files"][0]["rows"] if r["depth"] > 2]
check("... of one class, by two fields", ["top: list of 5 Item (next)", "prev: list of 4 Item (prev)", "value: Leaf"], rows)

# A line of diff that is too wide for any terminal continues below.
from dart_snapshot import Dart
d = Dart()
d.edge(d.root, d.node("Store", 100, 7))
d.write("same.dartheap")
for columns in 60, 80, 140:
    lines = lines_on(columns, "diff", "same.dartheap", "same.dartheap")
    check(f"diff of equal Dart snapshots, {columns} columns", ([], 1), (
        [line for line in lines if len(line) > columns], " ".join(lines).count("code: none is new, gone or of another size")))
end()
