"""Checks the tool's answers on instances, and its tables, against Python's reading of snapshots and JSON.
instances.py TOOL DATA, in a directory with sass.dartheap and game.log."""
import csv, io, json, re, struct, subprocess, sys

tool, data = sys.argv[1:]
failed = False

def check(name, want, got):
    global failed
    if want == got:
        print("PASS " + name)
        return
    failed = True
    print("FAIL %s: %.400r expected, %.400r found" % (name, want, got))

def run(*arguments):
    return subprocess.run([tool, *arguments], capture_output=True, stdin=subprocess.DEVNULL)

def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)

# Tables --------------------------------------------------------------------------------------------------------------

def table(*arguments):
    """Rows of --csv, by column; lines end as RFC 4180 requires."""
    done = run(*arguments, "--csv")
    text = done.stdout.decode()
    if text.count("\n") != text.count("\r\n"):
        check("lines of " + " ".join(arguments), "CRLF", "LF")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

def cell(value):
    if value is None or isinstance(value, list): return ""
    if isinstance(value, bool): return str(value).lower()
    text = "".join(c if c.isprintable() or c == "\u00ad" else "?" for c in str(value))
    formula = isinstance(value, str) and value[:1] in tuple("=+-@\t\r") and not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value)
    return "'" * formula + text

def flat(row, joined, prefix=""):
    cells = {}
    for key, value in row.items():
        if isinstance(value, dict): cells.update(flat(value, (), prefix + key + "."))
        elif key in joined: cells[key] = cell("; ".join(map(str, value))) if value else ""
        elif not isinstance(value, list): cells[prefix + key] = cell(value)
    return cells

def rows_at(value, names):
    """Each object of the lists at that path, with its enclosing object."""
    if not names: return [[value]]
    return [[value] + rest for inner in value.get(names[0], []) for rest in rows_at(inner, names[1:])]

def check_table(path, *arguments, joined=()):
    want = []
    for around in rows_at(answer(*arguments), path.split(".")):
        row = flat(around[-1], joined)
        want.append((row, around[-2]))
    got = table(*arguments)
    differ = [(w, g) for (w, _), g in zip(want, got) if any(g[k] != v for k, v in w.items()) or
              any(v for k, v in g.items() if k not in w and k not in ABOUT)]
    check("--csv of %s" % " ".join(a.rsplit("/", 1)[-1] for a in arguments), (len(want), []), (len(got), differ[:1]))
    return got

ABOUT = {"file", "format", "pid", "process", "dump", "allocator", "kind", "root", "list", "dumps", "snapshots"}
dart, node, chromium = "sass.dartheap", data + "/node-small.heapsnapshot", data + "/chromium-small.heapsnapshot"
profile, later = data + "/screens/templates.json.xz", data + "/screens/templates-later.json.xz"
for command in "tree", "top": check_table("heaps.rows", command, profile, data + "/heap-jemalloc.txt")
check_table("diffs.rows", "diff", profile, later)
check_table("classes", "diff", node, chromium)
check_table("files.heaps", "info", profile, data + "/heap-jemalloc.txt")
check_table("files", "info", dart, node, "game.log")
for file in dart, node, "game.log":
    check_table("files.classes", "classes", file)
    check_table("files.objects", "retained", file)
check_table("files", "retained", "--class", "Texture", "game.log")
check_table("series.suspects", "suspects", profile, later, joined=("callers", "bytes", "blocks"))
graph = answer("suspects", node)["graphs"][0]
check("--csv of suspects of objects", [(of, row.get("id", ""), str(row["retained"]), "; ".join(row["path"]))
                                       for of in ("suspects", "classes") for row in graph[of]],
      [(row["list"], row["id"], row["retained"], row["path"]) for row in table("suspects", node)])
check_table("checks", "check", "--max-growth", "5%", "--max-total", "200M", profile, profile)
check_table("files", "validate", profile, node)
with open("broken.json", "w") as f:
    f.write("x")
check("--csv of validate lists the findings", [("broken.json", "unreadable", "0")],
      [(row["file"], row["kind"], row["offset"]) for row in table("validate", profile, "broken.json")])
check_table("files.strings", "strings", "--all", "--garbage", dart)
check_table("files.paths.objects", "path", "--id", "c2", "game.log")
got = table("object", "--id", "b2", "game.log")
check("--csv of object names the list of each row", [("references", "c1"), ("references", "c2"), ("referrers", "a1"), ("dominated", "c2")],
      [(row["list"], row["id"]) for row in got])
check("without rows only the header is written", ["file\r\n"],
      run("strings", "--csv", data + "/small.dartheap").stdout.decode().splitlines(True))

# Names that a spreadsheet would evaluate, or that would end a cell.
NAMES = ["=1+2", "+cmd", "-2+3", "@sum", "a,b", 'say "x"', "-5", "+1.5e3", "plain", "'quoted", "=\u00e9"]
with open("names.log", "w") as f:
    f.write("a 2 x 1\n" + "".join("t %x %s\no %x %x 8\nr %x 1 0\n" % (i, n.replace(" ", "_"), i, i, i) for i, n in enumerate(NAMES, 1)) + "c x 2\n")
got = sorted(row["class"] for row in check_table("files.classes", "classes", "names.log"))
check("names that begin like formulas get an apostrophe in front", sorted(
    ["'=1+2", "'+cmd", "'-2+3", "'@sum", "a,b", 'say_"x"', "-5", "+1.5e3", "plain", "'quoted", "'=\u00e9"]), got)

# Snapshots, read here -------------------------------------------------------------------------------------------------

class Dart:
    """A snapshot, read as dart-heap-snapshot describes it; objects count from 0."""
    def __init__(self, path):
        self.data, self.at = open(path, "rb").read(), 8
        self.number(), self.text()                 # flags, name
        for _ in range(3): self.number()           # sizes
        self.classes, self.of, self.size, self.value, self.references = [None], [], [], [], []
        for _ in range(self.number()):
            self.number()
            name, library, uri = self.text(), self.text(), self.text()
            self.text()
            fields = {}
            for _ in range(self.number()):
                self.number()
                index = self.number()
                fields[index] = self.text()
                self.text()
            self.classes.append((name, library or uri, fields))
        self.number()
        for _ in range(self.number()):
            self.of.append(self.number())
            self.size.append(self.number())
            self.value.append(self.datum())
            self.references.append([self.number() - 1 for _ in range(self.number())])
        for _ in range(self.number()):             # external properties count in their objects' sizes
            of, size = self.number(), self.number()
            self.text()
            self.size[of - 1] += size

    def number(self):
        n = shift = 0
        while True:
            b = self.data[self.at]
            self.at += 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128: return n

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def text(self): return self.bytes(self.number()).decode()

    def datum(self):
        """Value, length."""
        tag = self.number()
        if tag in (2, 3): return self.number(), None
        if tag == 4: return struct.unpack("<d", self.bytes(8))[0], None
        if tag in (5, 6):
            length, kept = self.number(), self.number()
            text = self.bytes(kept * (tag - 4)).decode("latin-1" if tag == 5 else "utf-16-le", "surrogatepass")
            return text, length
        if tag == 7: return None, self.number()
        return (self.text() if tag == 8 else None), None

    def name(self, o): return self.classes[self.of[o]][0]
    def field(self, o, name):
        for index, field in self.classes[self.of[o]][2].items():
            if field == name and index < len(self.references[o]): return self.references[o][index]
        return -1

    def strong(self, o):
        """The objects that an object holds, without weak references. No ephemeron of this snapshot is alive."""
        name = self.name(o)
        if name == "WeakArray": return [r for r in [max(self.field(o, "length"), self.field(o, "length_"))] if r >= 0]
        weak = {"_WeakReference": ["target"], "FinalizerEntry": ["value", "detach", "finalizer"], "_WeakProperty": ["key", "value"]}.get(name, [])
        skipped = [i for i, f in self.classes[self.of[o]][2].items() if any(f.strip("_") == w for w in weak)]
        return [r for i, r in enumerate(self.references[o]) if r >= 0 and i not in skipped]

    def distances(self, without=frozenset()):
        distance, level = {0: 0}, [0]
        while level:
            following = []
            for o in level:
                for to in self.strong(o):
                    if to in distance or to in without: continue
                    distance[to] = distance[o] + 1
                    following.append(to)
            level = following
        return distance

snapshot = Dart(dart)
alive = snapshot.distances()
check("Python finds as many live objects as the tool", answer("info", dart)["files"][0]["dart"]["live_objects"], len(alive))

# objects -------------------------------------------------------------------------------------------------------------

def objects(*arguments):
    return answer("objects", *arguments)["files"][0]

def ids(found): return sorted(int(row["id"]) - 1 for row in found["objects"])

def of_class(*names): return [o for o in range(len(snapshot.of)) if snapshot.of[o] and snapshot.name(o) in names]

def held(objects): return [o for o in objects if o in alive]

for name in "_Map", "SassColor", "_List", "Class":
    found, want = objects("--class", name, dart), held(of_class(name))
    check("objects of class " + name, (want, len(want), sum(snapshot.size[o] for o in want), len(of_class(name)) - len(want)),
          (ids(found), found["count"], found["bytes"], found["unheld"]))
    gone = len(alive) - len(snapshot.distances(frozenset(want)))
    check("... and their retained sizes", sum(snapshot.size[o] for o in alive) - sum(snapshot.size[o] for o in snapshot.distances(frozenset(want))), found["retained"])
found = objects("--class", "_List", "--where", "length>=1000", "--where", "length<4000", "--where", "size<=12K", dart)
check("--where: length and size", held([o for o in of_class("_List") if 1000 <= snapshot.value[o][1] < 4000 and snapshot.size[o] <= 12288]), ids(found))
check("--where: rows have the length", {row["id"]: snapshot.value[int(row["id"]) - 1][1] for row in found["objects"]},
      {row["id"]: row["length"] for row in found["objects"]})
retained = {row["id"]: row["retained"] for row in answer("retained", "--top", "200000", dart)["files"][0]["objects"]}
found = objects("--where", "retained>100k", "--garbage", dart)
check("--where: retained size, in all classes", {i: r for i, r in retained.items() if r > 102400}, {row["id"]: row["retained"] for row in found["objects"]})
check("the largest retained size first", sorted(retained.values(), reverse=True)[:len(found["objects"])], [row["retained"] for row in found["objects"]])
want = held([o for o in of_class("Class") if re.search("^Sass", snapshot.value[snapshot.field(o, "name_")][0] or "")])
check("--where: the value of a field's target", (want, True), (ids(objects("--class", "Class", "--where", "name_=^Sass", dart)), len(want) > 5))
want = held([o for o in of_class("Class") if snapshot.name(snapshot.field(o, "super_type_")) == "Null"])
check("--where: the class of a field's target", want, ids(objects("--class", "Class", "--where", "super_type_=^Null$", dart)))
row = objects("--class", "Class", "--where", "name_=^SassColor$", dart)["objects"][0]
o = int(row["id"]) - 1
check("fields by name, with id, class and value", {f: (str(r + 1), snapshot.name(r)) for i, f in snapshot.classes[snapshot.of[o]][2].items()
      for r in snapshot.references[o][i:i + 1] if r >= 0}, {f: (v["id"], v["class"]) for f, v in row["fields"].items()})
check("... equal those in the file", "SassColor", row["fields"]["name_"]["value"])

# Superclasses, found in another way than the tool's: the type of a class's super class is that class's own type,
# unless either has parameters.
declared = {snapshot.field(c, "declaration_type_"): c for c in of_class("Class") if snapshot.name(snapshot.field(c, "declaration_type_")) == "_Type"}
above = {c: declared.get(snapshot.field(c, "super_type_")) for c in of_class("Class")}
def extends(c, name):
    for _ in range(50):
        if c is None: break
        if snapshot.value[c][0] == name: return True
        c = above.get(c)
    return False
for name in "Expression", "Value", "SassNumber":
    names = {snapshot.value[c][0] for c in of_class("Class") if extends(c, name)}
    check("--subclasses of " + name, (of_class(*names), True), (ids(objects("--class", name, "--subclasses", "--garbage", dart)), len(names) > 2))
names = {row["class"] for row in objects("--class", "Statement", "--subclasses", "--garbage", dart)["objects"]}
check("--subclasses of a class with type parameters", {"Declaration", "StyleRule", "Stylesheet"}, names)
for name in "Expression", "Value":
    of_ways, of_all = answer("path", "--class", name, "--subclasses", dart)["files"][0], answer("retained", "--class", name, "--subclasses", dart)["files"][0]
    check("retained --subclasses of " + name, (of_ways["retained"], True), (of_all["retained"], of_all["objects"] >= of_ways["objects"] > 0))
for file, name in (node, "global"), ("game.log", "Level"):
    done = run("objects", "--class", name, "--subclasses", file)
    check("--subclasses without known superclasses: one message, and the class itself", (0, 1, True),
          (done.returncode, done.stderr.count(b"\n"), b"does not say which class extends which" in done.stderr))

# V8: fields of the nodes, as in the file.
nodes = json.load(open(node))
meta = nodes["snapshot"]["meta"]
width = len(meta["node_fields"])
want = sorted(nodes["strings"][nodes["nodes"][i + 1]] for i in range(0, len(nodes["nodes"]), width)
              if meta["node_types"][0][nodes["nodes"][i]] == "string" and len(nodes["strings"][nodes["nodes"][i + 1]]) > 25)
found = objects("--class", "(string)", "--garbage", "--where", "length>25", node)
check("V8: strings by length", (want, True), (sorted(row["value"] for row in found["objects"]), len(want) > 1))
check("V8: by a property", ["set Headers"], [row["fields"]["name"]["value"] for row in objects("--class", "(closure)", "--where", "name=^set H", node)["objects"]])
found = objects("--class", "Texture", "--garbage", "game.log")
check(".NET: ids in the file's form; garbage retains nothing", [("c1", 256), ("c2", 128), ("c3", None)], [(row["id"], row["retained"]) for row in found["objects"]])
check_table("files.objects", "objects", "--class", "SassColor", "--top", "30", "--garbage", dart)
check_table("files.objects", "objects", "--class", "(closure)", node)
check_table("files.objects", "objects", "--class", "Level", "game.log")
text = run("objects", "--class", "_List", dart).stdout.decode().splitlines()
check("text: 20 objects, and a line that counts the rest", (23, "... %d more (--all lists them)" % (len(held(of_class("_List"))) - 20)), (len(text), text[-1]))
for arguments, why in (["--class", "Level", "--where", "lenght=5", "game.log"], b"no such object has a field 'lenght'"), \
                      (["--class", "Level", "--where", "length>5", "game.log"], b"no length of any of these"), \
                      (["--class", "Nothing", "game.log"], b"no object has a class named 'Nothing'"):
    done = run("objects", *arguments)
    check("objects %s" % " ".join(arguments), (1, True), (done.returncode, why in done.stderr))
for where in "length", "length>x", ">5", "field>5", "field=(", "retained=":
    check("--where " + where, 2, run("objects", "--class", "Level", "--where", where, "game.log").returncode)
for where, want in ("<128", []), ("<=128", ["c2"]), ("=128", ["c2"]), (">=256", ["c1"]), (">256", []), (">128", ["c1"]):
    check("--where size%s" % where, want, [row["id"] for row in objects("--class", "Texture", "--where", "size" + where, "game.log")["objects"]])
done = run("strings", "game.log")
check(".NET dumps have no texts of strings, and strings says so", (1, True), (done.returncode, b"a netcf file has no strings" in done.stderr))
check("objects without a class or condition: usage error", 2, run("objects", "game.log").returncode)

# path --class --------------------------------------------------------------------------------------------------------

def merged(name, file):
    """Objects and bytes at the end of each chain of names."""
    rows, chain, ends = answer("path", "--class", name, "--all", file)["files"][0]["rows"], [], {}
    for i, row in enumerate(rows):
        del chain[row["depth"]:]
        chain.append(row["name"])
        if i + 1 == len(rows) or rows[i + 1]["depth"] <= row["depth"]:
            ends[tuple(chain[1:])] = (row["objects"], row["bytes"])
    return rows, ends

for name in "_Map", "SassColor", "_Type", "Function", "_OneByteString":
    rows, ends = merged(name, dart)
    want = held(of_class(name))
    check("path --class %s: each object once" % name, (len(want), sum(snapshot.size[o] for o in want)),
          (sum(n for n, _ in ends.values()), sum(b for _, b in ends.values())))
    # A step of a chain is one object, or several similar ones in a row.
    far, deepest = max(alive[o] for o in want), max(len([n for n in c if n != "<self>"]) for c in ends)
    check("... no path is longer than the greatest distance", True, deepest <= far + 1)
    check("... every step names a class of the snapshot", set(),
          {n.rsplit(": ", 1)[-1] for c in ends for n in c if n != "<self>"} - {c[0] for c in snapshot.classes[1:]})
# A class with one object: its path equals that of path --id.
for name, file in ("ArgParser", dart), ("Node / IsolateData", node), ("Isolate", dart):
    found = objects("--class", name, file)["objects"]
    way = answer("path", "--id", found[0]["id"], file)["files"][0]["paths"][0]["objects"]
    classes = [step.get("name", "(synthetic)") if step["class"] == "(synthetic)" else step["class"] for step in way]
    ends = merged(name, file)[1]
    check("path --class of one object, %s, is its path" % name, [classes], [[n.rsplit(": ", 1)[-1] for n in c] for c in ends])
for file in node, chromium, data + "/small.dartheap":
    live = {}
    for row in answer("classes", file)["files"][0]["classes"]: live[row["class"]] = live.get(row["class"], 0) + row["live_objects"]
    check("path --class of every class counts as many objects as classes, ephemerons included", live,
          {name: answer("path", "--class", name, file)["files"][0]["objects"] for name in live})
# Ephemerons with a key that is reached before, a key that is reached later, and a key that is garbage.
def leb(n): return bytes([n & 127 | (n > 127) << 7]) + (leb(n >> 7) if n > 127 else b"")
def text(t): return leb(len(t)) + t.encode()
CLASSES = [("Root", "", []), ("_WeakProperty", "dart.core", ["key", "value"]), ("Key", "", []), ("Value", "", []), ("Step", "", [])]
# Class, references; ids from 1: keys 2, 6, 7, values 8, 9, 10.
OBJECTS = [(1, [2, 3, 4, 5, 11]), (3, []), (2, [2, 8]), (2, [6, 9]), (5, [6]), (3, []), (3, []), (4, []), (4, []), (4, []), (2, [7, 10])]
with open("ephemerons.dartheap", "wb") as f:
    f.write(b"dartheap" + leb(0) + text("x") + leb(8 * len(OBJECTS)) + leb(1000) + leb(0) + leb(len(CLASSES)))
    for name, library, fields in CLASSES:
        f.write(leb(0) + text(name) + text(library) + text(library.replace(".", ":")) + text("") + leb(len(fields)))
        for i, field in enumerate(fields): f.write(leb(0) + leb(i) + text(field) + text(""))
    f.write(leb(sum(len(r) for _, r in OBJECTS)) + leb(len(OBJECTS)))
    for c, references in OBJECTS: f.write(leb(c) + leb(8) + leb(0) + leb(len(references)) + b"".join(map(leb, references)))
    f.write(leb(0) + b"".join(leb(0) for _ in OBJECTS))
check("path --class: values of ephemerons are below their keys", {("internal root: Root", "Key", "as key: Value"): (1, 8),
      ("internal root: Root", "Step", "Key", "as key: Value"): (1, 8)}, merged("Value", "ephemerons.dartheap")[1])
check("... and is garbage when the key is", 1, answer("path", "--class", "Value", "ephemerons.dartheap")["files"][0]["unheld"])
check("path --class: by field and class", {("local root: Game", "Level", "Texture"): (2, 384)}, merged("Texture", "game.log")[1])
with open("list.log", "w") as f:
    f.write("a 2 x 1\nt 1 List\nt 2 Node\nt 3 Other\no 1 1 8 100\nr 1 1 0\n" +
            "".join("o %x 2 10 %x\n" % (0x100 + i, 0x101 + i) for i in range(20000)) + "o %x 3 8 100\nc x 2\n" % (0x100 + 20000))
check("a list of 20,000 is one step", {("local root: List", "list of 20000 Node"): (20000, 320000)}, merged("Node", "list.log")[1])
check("... and the object behind it is the next", {("local root: List", "list of 20000 Node", "Other"): (1, 8)}, merged("Other", "list.log")[1])
check("path --class of a class with only garbage", (0, 1, []), (lambda f: (f["objects"], f["unheld"], f["rows"]))(answer("path", "--class", "Cache", "game.log")["files"][0]))
check_table("files.rows", "path", "--class", "_Map", dart)
sys.exit(failed)
