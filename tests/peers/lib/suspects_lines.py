"""Paths and class names in lines of heapdump suspects. suspects_lines.py TOOL"""
import re
from asked import answer, check, end, run, screen
from v8_snapshot import Heap


def held(out, of):
    """The printed holder of the class or suspect `of`."""
    return re.search(rf"^ +\d+  {re.escape(of)}[:,].*\n(?: .*\n)*? +held by (.*)$", out, re.M)[1]


# A variable's name on a narrow terminal -------------------------------------------------------------------------------

h = Heap()
tokens = [h.node("object", "Token", 32) for _ in range(100)]
scope = h.context(tokens=h.map([(t, t) for t in tokens]))
h.variable("issueTokensOfAllCustomers", h.closure("issueTokensOfAllCustomers", scope))
for t in tokens:
    h.edge(t, "property", "bytes", h.buffer(50000))
h.write("tokens.heapsnapshot")
whole = "global › issueTokensOfAllCustomers: issueTokensOfAllCustomers() › tokens: Map › [] Token › bytes: Buffer"
check("a path is whole in a pipe", whole, held(run("suspects", "tokens.heapsnapshot"), "Buffer"))
check("a path is whole on a wide terminal", whole, held(screen(140, "suspects", "tokens.heapsnapshot"), "Buffer"))
for columns in 80, 60:
    out = held(screen(columns, "suspects", "tokens.heapsnapshot"), "ArrayBuffer")
    check("%d columns: the variable is shown" % columns, True, "tokens" in out)
    check("... and the end of the path", True, "buffer" in out)
check("55 columns: its class is dropped", "… 2 › tokens › … 2 › buffer: ArrayBuffer", held(screen(55, "suspects", "tokens.heapsnapshot"), "ArrayBuffer"))

h = Heap()
keys = [h.node("object", "KeyWithALongNameOfItsOwn", 100) for _ in range(30)]
h.variable("aRegistryOfAllTheKeys", h.elements(h.array(), keys))
weak = h.node("object", "WeakMap", 32)
h.variable("weak", weak)
table = h.node("array", "", 64)
h.edge(weak, "internal", "table", table)
for n, key in enumerate(keys):
    value = h.elements(h.array(), [h.node("object", "Item", 5000)])
    ids = h.nodes[key][3], h.nodes[value][3], h.nodes[table][3]
    for i, holder in enumerate((table, key)):
        h.edge(holder, "internal", "%d / part of key (Key @%d) -> value (V @%d) pair in WeakMap (table @%d)" % (2 * n + i + 2, *ids), value)
h.write("weak.heapsnapshot")
check("\"as WeakMap key\" is not a name", "global › aRegistryOfAllTheKeys: Array › … 2 more › [] Item", held(screen(80, "suspects", "weak.heapsnapshot"), "Item"))

# Classes with one name ---------------------------------------------------------------------------------------------

out = run("suspects", "garbage.netcf.txt"), screen(80, "suspects", "garbage.netcf.txt")
check("a class has its domain in a pipe and on a terminal", [1, 1], [o.count("  1  Image  (x), id 2\n") for o in out])

# A table that holds a list is not an element -----------------------------------------------------------------------

h = Heap()


def box(values):
    a, t = h.array(), h.node("array", "", 16)
    h.edge(a, "internal", "elements", t)
    for i, value in enumerate(values):
        h.edge(t, "element", i, value)
    return a


values = [h.closure("onDone", h.context(64)) for _ in range(4)]
inner = box([box([box(values[:1])]), *values[1:3]])
h.variable("sessions", h.map([(inner, values[3])]))
h.write("nested.heapsnapshot")
rows = [c for c in answer("suspects", "nested.heapsnapshot")["graphs"][0]["classes"] if c["class"] == "(closure)"]
check("three of four are in a list of arrays", [("global › sessions: Map › [] list of 3 Array › [] (closure)", 3, 4)],
      [(" › ".join(c["path"]), c["path_objects"], c["path_of"]) for c in rows])

# Figures on a narrow terminal: lines continue below ----------------------------------------------------------------

names = []
for step in range(3):
    h = Heap()
    pending = h.node("object", "Array", 16, 901)
    h.variable("pending", pending)
    for i in range(10 + 10 * step):
        h.edge(pending, "element", i, h.node("object", "Request", 1000000, 1001 + 2 * i))
    names.append(h.write("requests%d.heapsnapshot" % step))
is_command = lambda line: line.startswith("next: ") # it stays whole, to be copied
figures = re.compile(r"alive$|a step|, retain |retains ")
for files in names[2:], names:
    lines = [line for line in run("suspects", *files).splitlines() if figures.search(line)]
    check("lines with figures", 3, len(lines))
    for columns in 40, 60, 80:
        out = screen(columns, "suspects", *files)
        check("%d columns, %d files: figures are whole" % (columns, len(files)), lines,
              [line for line in re.sub(r"\n {8}(?=\S)", " ", out).splitlines() if figures.search(line) and not is_command(line)])
        check("... within the terminal", True, max(len(line) for line in out.splitlines() if not is_command(line)) <= columns)

# Names on a narrow terminal -------------------------------------------------------------------------------------------

h = Heap()
at = h.variable("requestsOfCustomers", h.node("object", "Session", 32))
data = h.node("object", "Record", 32)
h.edge(at, "property", "data", data)
h.edge(data, "internal", "buffer", h.node("object", "PayloadOfOneRequestOfOneCustomer", 90000))
h.write("data.heapsnapshot")
check("of two names the one that fits is shown", "global › … 1 › data › buffer: Payload…estOfOneCustomer",
      held(screen(68, "suspects", "data.heapsnapshot"), "PayloadOfOneRequestOfOneCustomer"))
h = Heap()
first = before = h.node("object", "Node", 100)
for i in range(299):
    node = h.node("object", "Node", 100)
    h.edge(before, "property", "next", node)
    before = node
h.variable("aListOfAllSessionsThatWereOpenedAndNeverClosed", first)
h.write("list.heapsnapshot")
for command in ("path", "--id", str(h.nodes[before][3])), ("path", "--class", "Node"):
    for columns in 60, 70, 80:
        check("%s, %d columns: the number of elements of a list is shown" % (command[1], columns), 1,
              screen(columns, *command, "list.heapsnapshot").count(": list of 300 N"))

# A list of the engine's objects starts at the first of them ---------------------------------------------------------

h = Heap()
at, name = h.variable("shutdown", h.node("object", "Promise", 32)), "reactions_or_result"
for i in range(30):
    reaction = h.node("hidden", "system / PromiseReaction", 40)
    h.edge(reaction, "property", "job", h.node("object", "Job", 1000))
    h.edge(at, "internal", name, reaction)
    at, name = reaction, "next"
h.write("promise.heapsnapshot")
check("thirty reactions are a list of 30", "reactions_or_result: list of 30 system / PromiseReaction",
      re.search("most of it is in (.*)", run("suspects", "promise.heapsnapshot"))[1])

# Roots of the engine are distinguished by their names ---------------------------------------------------------------

h = Heap()
for name, objects in ("(Internalized strings)", 3), ("(Eternal handles)", 1):
    root = h.node("synthetic", name, 0)
    h.edge(h.roots, "element", len(h.nodes[h.roots][4]) + 1, root)
    for i in range(objects):
        h.edge(root, "element", i + 1, h.node("string", "text", 1000))
h.write("roots.heapsnapshot")
check("three of four strings are under the named root", ("(Internalized strings) › (string)", 3, 4), next(
    (" › ".join(c["path"]), c["path_objects"], c["path_of"])
    for c in answer("suspects", "roots.heapsnapshot")["graphs"][0]["classes"] if c["class"] == "(string)"))

# Classes below a suspect -------------------------------------------------------------------------------------------

for last in "Texture", "Object":
    h = Heap()
    classes = ("Mesh", 400), ("Bone", 300), ("Light", 200), (last, 100)
    h.variable("scene", h.elements(h.array(), [h.node("object", name, size) for name, size in classes for _ in range(10)]))
    check("the fourth class may be %s" % last, "10 Mesh, 10 Bone, 10 Light, 10 " + last,
          re.search("below it: (.*)", run("suspects", h.write("below.heapsnapshot")))[1])

# The order of classes: Array has most bytes because one Array holds the entries

h = Heap()
h.variable("settings", h.elements(h.array(), [h.array() for _ in range(200)]))
h.variable("cache", h.elements(h.array(), [h.node("object", "Entry", 1000) for _ in range(100)]))
classes = answer("suspects", h.write("common.heapsnapshot"))["graphs"][0]["classes"]
check("a class of the program comes before Array", ["Entry", "Array"], [c["class"] for c in classes if c["class"] in ("Entry", "Array")])
check("... though Array retains more", True, classes[0]["retained"] < max(c["retained"] for c in classes))
h.variable("lists", h.elements(h.array(), [h.elements(h.array(), [h.node("string", "text", 2000)]) for _ in range(101)]))
classes = answer("suspects", h.write("common.heapsnapshot"))["graphs"][0]["classes"]
check("... unless Array retains more than twice as much", "Array", classes[0]["class"])

# The growth of a list is its own, whatever the object above it lost -------------------------------------------------

names = []
for step in range(3):
    h = Heap()
    before = h.variable("tail", h.node("object", "Node", 100, 1001))
    for i in range(1, 10 + 5 * step):
        node = h.node("object", "Node", 100, 1001 + 2 * i)
        h.edge(before, "property", "next", node)
        before = node
    if not step:
        h.variable("gone", h.node("object", "Gone", 240, 901))
    names.append(h.write("grown%d.heapsnapshot" % step))
s = answer("suspects", *names)["graphs"][0]["suspects"][0]
check("ten elements of 100 bytes", ("Node", 20, 1000, 2), tuple(s[k] for k in ("class", "list_of", "growth", "steps_grown")))
# A snapshot may have no name for its root: the root is then not a step.
h = Heap()
h.nodes = [(kind, "" if not k else name, size, id, edges) for k, (kind, name, size, id, edges) in enumerate(h.nodes)]
h.nodes[0] = ("object", *h.nodes[0][1:])
h.edge(0, "property", "list", h.node("object", "List", 1000))
text = run("suspects", h.write("nameless.heapsnapshot"))
check("a root without a name is not a step", [], re.findall(r"held by *\n|held by  ›", text))

end()
