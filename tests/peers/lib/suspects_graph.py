"""heapdump suspects on V8 snapshots that are built with known answers. suspects_graph.py TOOL"""
import json
import asked
from asked import check, run, screen
from dart_snapshot import Dart
from v8_snapshot import Heap


def suspects(*files):
    return asked.answer("suspects", *files)["graphs"][0]


def text(*files):
    return run("suspects", "--bytes", *files)


def terminal(*arguments):
    return screen(80, *arguments)


def answer(heap):
    return suspects(heap.write("one.heapsnapshot"))


def growth(*heaps):
    return suspects(*(h.write("g%d.heapsnapshot" % i) for i, h in enumerate(heaps)))


def path(suspect):
    return " › ".join(suspect["path"])


def first(heap):
    """The first suspect: path, retained, within."""
    s = answer(heap)["suspects"][0]
    return path(s), s["retained"], s["within"]


# One snapshot: the largest holder comes first, whatever its share
# ----------------------------------------------------

def items(heap, n, size=1000, name="Item"):
    return [heap.node("object", name, size) for _ in range(n)]

for share in (500, 800, 950, 995):
    h = Heap()
    store = h.variable("store", h.node("object", "Store", 100))
    for i, item in enumerate(items(h, 100)):
        h.edge(store, "element", i, item)
    h.variable("rest", h.node("object", "Rest", round(100100 * (1000 - share) / share)))
    check("a store of %.1f %%" % (share / 10), ("global › store: Store", 100100, []), first(h))

h = Heap()
h.variable("cache", h.map([(h.node("string", "k%d" % i, 24), h.node("object", "Entry", 1000)) for i in range(100)]))
h.variable("rest", h.node("object", "Rest", 3000))
s = answer(h)
check("a Map, not its table", ("global › cache: Map", 103432, []), first(h))
check("... the objects below it", [("Entry", 100), ("(string)", 100), ("(array)", 1)], [(b["class"], b["objects"]) for b in s["suspects"][0]["below"]])
check("... the holder of the entries", "global › cache: Map › [] Entry", path([c for c in s["classes"] if c["class"] == "Entry"][0]))

h = Heap()
store = h.variable("store", h.node("object", "Store", 40))
for name, n in (("byId", 60), ("byName", 40)):
    h.edge(store, "property", name, h.map([(x, x) for x in items(h, n)]))
check("two collections of one object, the larger first", [("global › store: Store › byId: Map", 61032), ("global › store: Store › byName: Map", 41032)],
      [(path(s), s["retained"]) for s in answer(h)["suspects"]])

h = Heap()
h.variable("blobs", h.map([(h.node("string", "k%d" % i, 24), h.buffer(1000000)) for i in range(4)]))
h.variable("rest", h.node("object", "Rest", 30000))
check("a Map of few large Buffers", ("global › blobs: Map", 4001864, []), first(h))

h = Heap()
h.variable("big", h.buffer(1000000))
h.variable("rest", h.node("object", "Rest", 30000))
check("an object with native bytes", ("global › big: Buffer › buffer: ArrayBuffer", 1000088), first(h)[:2])

h = Heap()
log = h.variable("logger", h.node("object", "Logger", 40))
h.edge(log, "property", "text", h.node("string", "x" * 100, 500000))
h.variable("rest", h.node("object", "Rest", 30000))
check("an object with a large text", ("global › logger: Logger", 500040, ["text: (string)"]), first(h))

# An object used as a dictionary: many large values by name; the first is of another class.
h = Heap()
cache = h.variable("cache", h.node("object", "Object", 40))
h.edge(cache, "property", "meta", h.node("object", "Meta", 32000))
for i, entry in enumerate(items(h, 30, 30000, "Entry")):
    h.edge(cache, "property", "user%d" % i, entry)
check("a dictionary whose first value is of another class", ("global › cache: Object", 932040, []), first(h))

h = Heap()
app = h.variable("app", h.node("object", "App", 40))
for i in range(24):
    h.edge(app, "property", "service%d" % i, h.node("object", "Service%d" % i, 30000))
check("an object of many services, each too small to be listed", ("global › app: App", 720040, []), first(h))

h = Heap()
tree = items(h, 1023, 32, "TreeNode")
h.variable("root", tree[0])
for i in range(511):
    h.edge(tree[i], "property", "left", tree[2 * i + 1])
    h.edge(tree[i], "property", "right", tree[2 * i + 2])
h.variable("rest", h.node("object", "Rest", 3000))
check("a balanced tree is not a list", ("global › root: TreeNode", 1023 * 32, []), first(h))

# Most objects of a class have one origin.
h = Heap()
cache = h.variable("cache", h.node("object", "Array", 40))
entries = items(h, 30, 30000, "Entry")
for i, entry in enumerate(entries):
    h.edge(cache, "element", i, entry)
with open(h.write("places.heapsnapshot")) as f:
    file = json.load(f)
fields = len(file["snapshot"]["meta"]["node_fields"])
file["locations"] = [x for i, e in enumerate(entries) for x in (e * fields, 7, 2 if i < 20 else 10 + i, 3)]
with open("places.heapsnapshot", "w") as f:
    json.dump(file, f)
check("the source location of most objects of a class", {"script": "", "script_id": 7, "line": 3, "column": 4, "objects": 20, "of": 30},
      [c for c in suspects("places.heapsnapshot")["classes"] if c["class"] == "Entry"][0].get("source"))

def linked(h, owner, type, name, n, size=100, **more):
    node = None
    for i in range(n):
        new = h.node("object", "Node", size, **more)
        h.edge(owner if node is None else node, type if node is None else "property", name if node is None else "next", new)
        node = new
    return node

h = Heap()
linked(h, h.globals, "property", "head", 100)
for i in "ABCD":
    h.variable("config" + i, h.node("object", "Config", 2500))
check("a linked list", ("global › head: list of 100 Node (next)", 10000, []), first(h))
check("... its length", 100, answer(h)["suspects"][0].get("list_of"))
check("... before smaller holders", ["Node", "Config", "Config", "Config", "Config"], [s["class"] for s in answer(h)["suspects"]])
check("... in text", 1, text("one.heapsnapshot").count("  1  list of 100 Node, id "))

h = Heap()
owner = h.variable("lru", h.node("object", "LruList", 32))
tail = linked(h, owner, "property", "head", 100)
h.edge(owner, "property", "tail", tail)
check("a list with a tail", ("global › lru: LruList › head: list of 100 Node (next)", 9900, []), first(h))

h = Heap()
owner = h.variable("queue", h.node("object", "Queue", 32))
nodes = items(h, 100, 100, "Node")
for a, b in zip(nodes, nodes[1:]):
    h.edge(a, "property", "next", b)
    h.edge(b, "property", "prev", a)
h.edge(owner, "property", "head", nodes[0])
h.edge(owner, "property", "tail", nodes[-1])
check("a list in both directions", ("global › queue: Queue", 10032, []), first(h))

h = Heap()
node = h.variable("head", h.node("object", "Node", 50))
for i in range(99):
    h.edge(node, "property", "value", h.node("string", "value %d" % i, 100 + 40 * i))
    node2 = h.node("object", "Node", 50)
    h.edge(node, "property", "next", node2)
    node = node2
check("a list whose elements grow", ("global › head: list of 100 Node (next)", 5000 + 9900 + 40 * 4851, []), first(h))

h = Heap()
thing = h.context(name=h.node("string", "first", 16))
for i in range(200):
    some = h.closure("someMethod", thing)
    obj = h.node("object", "Object", 60)
    h.edge(obj, "property", "longStr", h.node("string", "x", 900))
    h.edge(obj, "property", "someMethod", some)
    thing = h.context(originalThing=obj)
h.edge(h.globals, "property", "run", h.closure("run", thing))
h.variable("rest", h.node("object", "Rest", 9000))
p, retained, within = first(h)
check("a chain of closures", ("global › run: run() › originalThing: list of 200 Object (someMethod › originalThing)", True),
      (" › ".join([p] + within), retained >= 200 * 1056))

h = Heap()
promise = h.variable("pending", h.node("object", "Promise", 40))
for i in range(150):
    reaction = h.node("hidden", "system / PromiseReaction", 48)
    h.edge(promise, "internal", "reactions_or_result", reaction)
    promise = h.node("object", "Promise", 40)
    h.edge(reaction, "internal", "promise_or_capability", promise)
h.variable("rest", h.node("object", "Rest", 900))
check("a chain of promises", ("global › pending: list of 151 Promise", 151 * 40 + 150 * 48), (first(h)[0].split(" (")[0], first(h)[1]))

h = Heap()
node = h.variable("waiting", h.node("object", "Promise", 40))
for name, kind in [("owner", "Object"), ("task", "Task"), ("queue", "Promise")] + 60 * [("queue", "Promise")]:
    new = h.node("object", kind, 40)
    h.edge(node, "property", name, new)
    node = new
check("a list that starts at an object of its own class", "global › waiting: Promise › owner: Object › task: Task › queue: list of 61 Promise (queue)",
      path([c for c in answer(h)["classes"] if c["class"] == "Promise"][0]))

h = Heap()
text_node = h.node("string", "start", 16)
for i in range(300):
    s = h.node("concatenated string", "start...", 32)
    h.edge(s, "internal", "first", text_node)
    h.edge(s, "internal", "second", h.node("string", "part %d" % i, 24))
    text_node = s
report = h.variable("report", h.node("object", "Report", 24))
h.edge(report, "property", "body", text_node)
h.variable("rest", h.node("object", "Rest", 900))
check("a text built from pieces", ("global › report: Report", 24 + 300 * 56 + 16, ["body: list of 300 (concatenated string)"]), first(h))

h = Heap()
labels = []
for i in range(60):
    rope = h.node("concatenated string", "a b c d", 32)
    for side in ("first", "second"):
        part = h.node("concatenated string", "a b", 32)
        h.edge(rope, "internal", side, part)
        for end in ("first", "second"):
            h.edge(part, "internal", end, h.node("string", "a%d" % i, 24))
    labels.append(rope)
h.variable("labels", h.elements(h.array(), labels))
s = answer(h)["classes"]
check("parts of a text are not objects of their own", [("(string)", ["global", "labels: Array", "[] (concatenated string)", "(string)"], 240),
      ("(concatenated string)", ["global", "labels: Array", "[] (concatenated string)"], 120)], sorted((c["class"], c["path"], c["path_objects"]) for c in s if "string" in c["class"])[::-1])

h = Heap()
boxes = items(h, 5, 16, "Box")
for a, b in zip(boxes[1:], boxes[2:]):
    h.edge(a, "property", "next", b)
h.variable("boxes", h.elements(h.array(), boxes[:2]))
for box, n in zip(boxes, (5, 1, 1, 1, 1)):
    holder, field = box, "game"
    for game in items(h, n, 1000, "Game"):
        h.edge(holder, "property", field, game)
        holder, field = game, "after"
for name in ("one", "other"):
    h.variable(name, h.node("object", "Game", 1000))
c = [c for c in answer(h)["classes"] if c["class"] == "Game"][0]
check("objects below list elements that the path leaves out", ("global › boxes: Array › [] Box › game: list of 5 Game (after)", 6, 11),
      (path(c), c["path_objects"], c["path_of"]))

h = Heap()
weak = h.variable("private", h.node("object", "WeakMap", 24))
table = h.node("array", "", 800)
h.edge(weak, "internal", "table", table)
users = h.variable("users", h.array())
keys = items(h, 50, 16, "User")
for i, key in enumerate(keys):
    value = h.node("object", "Secret", 1000)
    pair = "%d / part of key (User @%d) -> value (Secret @%d) pair in WeakMap (table @%d)" % (
        i, h.nodes[key][3], h.nodes[value][3], h.nodes[table][3])
    h.edge(key, "internal", pair, value)
    h.edge(table, "internal", pair, value)
h.elements(users, keys)
s = answer(h)
check("values of a WeakMap are below their keys", ("global › users: Array", 16 + 400 + 50 * 1016), (path(s["suspects"][0]), s["suspects"][0]["retained"]))
check("... and their holder", "global › users: Array › [] User › as WeakMap key: Secret", path([c for c in s["classes"] if c["class"] == "Secret"][0]))

h = Heap()
emitter = h.variable("server", h.node("object", "EventEmitter", 64))
events = h.node("object", "Object", 24)
h.edge(emitter, "property", "_events", events)
h.edge(events, "property", "close", h.elements(h.array(), [h.closure("onClose", h.context(socket=h.node("object", "Socket", 800))) for _ in range(60)]))
h.variable("rest", h.node("object", "Rest", 900))
s = answer(h)
check("listeners", ("global › server: EventEmitter › _events: Object › close: Array", 16 + 480 + 60 * 896), first(h)[:2])
check("... by their name", ("(closure)", 60, "onClose"), [(b["class"], b["objects"], b.get("name")) for b in s["suspects"][0]["below"] if b["class"] == "(closure)"][0])
check("... and variable", "global › server: EventEmitter › _events: Object › close: Array › [] onClose() › socket: Socket", path([c for c in s["classes"] if c["class"] == "Socket"][0]))

h = Heap()
shared = items(h, 100, 1000, "Session")
by_id, recent = h.variable("sessions", h.array()), h.variable("recent", h.map([(x, x) for x in shared]))
h.elements(by_id, shared)
s = answer(h)["suspects"][0]
check("objects with two holders count for the nearer one", ("global › sessions: Array", 816, 100000, [("Session", 100)]),
      (path(s), s["retained"], s.get("shared"), [(b["class"], b["objects"]) for b in s["shared_objects"]]))

h = Heap()
code = h.node("code", "(shared function info)", 70000)
h.edge(h.roots, "element", 1, code)
h.variable("list", h.elements(h.array(), items(h, 20)))
s = answer(h)["suspects"]
check("the engine's objects are not first", "global › list: Array", path(s[0]))

h = Heap()
stack = h.node("synthetic", "(Stack roots)", 0)
h.edge(h.roots, "element", 1, stack)
m = h.map([(x, x) for x in items(h, 100)])
scope = h.context(cache=m)
h.edge(stack, "internal", "1", m)
h.edge(stack, "internal", "2", scope)
check("a variable before a temporary of the stack", "(Stack roots) › cache: Map", first(h)[0])

h = Heap()
handles = h.node("synthetic", "(Global handles)", 0)
h.edge(h.roots, "element", 1, handles)
m = h.map([(x, x) for x in items(h, 100)])
h.edge(handles, "internal", "1", m)
outer = h.node("object", "Outer", 16)
h.variable("a", outer)
h.edge(outer, "property", "b", m)
check("roots of the program before those of the engine", "global › a: Outer › b: Map", first(h)[0])

h = Heap()
for i in range(200):
    h.variable("v%d" % i, h.node("object", "Value", 100))
check("even if all memory is spread out, some object is named", True, len(answer(h)["suspects"]) > 0)

# Classes: exact, and a majority is more than half ---------------------------------------------------------------------

def li(leaked, of):
    h = Heap()
    doc = h.variable("document", h.node("native", "HTMLDocument", 400))
    a = h.variable("leakedItems", h.array())
    for i in range(of):
        h.edge(a if i < leaked else doc, "element", i + 1, h.node("native", "<li>", 100))
    return [c for c in answer(h)["classes"] if c["class"] == "<li>"][0]

check("3 of 5 are most", (5, 3, "global › leakedItems: Array › [] <li>"), (li(3, 5)["objects"], li(3, 5)["path_objects"], path(li(3, 5))))
check("2 of 4 are not", [], li(2, 4)["path"])
check("a majority after 20 others", "global › leakedItems: Array › [] <li>", path(li(21, 41)))

h = Heap()
h.variable("lib", h.closure("readRawBytes", h.context(100)))
h.variable("queue", h.elements(h.array(), [h.closure("onDone", h.context(100, big=h.node("string", "x%d" % i, 1000))) for i in range(9)]))
s = answer(h)
check("the holder's name is on the path to the class", "global › queue: Array › [] onDone() › context: system / Context",
      path([c for c in s["classes"] if c["class"] == "system / Context"][0]))
check("... and its variable", "global › queue: Array › [] onDone() › big: (string)", path([c for c in s["classes"] if c["class"] == "(string)"][0]))

h = Heap()
h.variable("queue", h.elements(h.array(), [h.closure("on%d" % i, h.context(100, big=h.node("string", "x%d" % i, 1000))) for i in range(9)]))
check("closures with many names", "global › queue: Array › [] (closure) › big: (string)", path([c for c in answer(h)["classes"] if c["class"] == "(string)"][0]))

h = Heap()
by_name = h.variable("byName", h.node("object", "Object", 24))
for i in range(50):
    h.edge(by_name, "property", "user %d" % i, h.node("object", "User", 500))
check("entries with names are shown as []", "global › byName: Object › [] User", path([c for c in answer(h)["classes"] if c["class"] == "User"][0]))

h = Heap()
config = h.node("object", "Config", 6000)
sessions = items(h, 4, 300, "Session")
for x in sessions:
    h.edge(x, "property", "config", config)
h.variable("sessions", h.elements(h.array(), sessions))
h.variable("rest", h.node("object", "Rest", 3000))
c = [c for c in answer(h)["classes"] if c["class"] == "Session"][0]
rows = asked.answer("classes", "one.heapsnapshot")
rows = [r for f in rows["files"] for r in f["classes"] if r["class"] == "Session"]
check("a class retains as many bytes as in `classes`", (7200, 7200), (c["retained"], rows[0]["retained"]))

# Several snapshots ----------------------------------------------------------------------------------------------------

def buffers(n):
    h = Heap()
    a = h.variable("pending", h.array(id=7))
    h.elements(a, [h.buffer(20000, 100 + 10 * i) for i in range(n)], id=9)
    return h

s = growth(buffers(10), buffers(20), buffers(30))["suspects"]
check("Buffers count in every snapshot", [("global › pending: Array", 2 * 10 * (20184 + 8), 10 * (20184 + 8), 2)], [(path(x), x["growth"], x["per_step"], x["steps_grown"]) for x in s])
check("... the new objects", [("Buffer", 20), ("ArrayBuffer", 20), ("system / JSArrayBufferData", 20)], [(b["class"], b["objects"]) for b in s[0]["new"][:3]])

def replaced(n):
    """The newest scope holds the previous one, which was the outermost in the previous snapshot."""
    h = Heap()
    stack = h.node("synthetic", "(Stack roots)", 0)
    h.edge(h.roots, "element", 1, stack)
    outer = h.context(50, id=9)
    h.edge(stack, "internal", "1", outer)
    last = None
    for i in range(n):
        c = h.context(40, id=100 + 4 * i)
        if last is not None:
            h.edge(c, "context", "original", last)
        last = c
    h.edge(outer, "context", "thing", last)
    return h

s = growth(replaced(400), replaced(800), replaced(1200))["suspects"]
check("old objects below new ones", ([32000], "(Stack roots) › thing: list of 1200 system / Context (original)", []), ([x["growth"] for x in s], path(s[0]), s[0]["within"]))

def lru(t, way):
    """A list of 200 that drops as many elements as it gets, at either end; and a leak of 1,000 bytes per step."""
    h = Heap()
    owner = h.variable("lru", h.node("object", "LruList", 32, 7))
    ids = [1000 + 2 * i for i in range(50 * t, 50 * t + 200)]
    node = None
    for id in (reversed(ids) if way == "head" else ids):
        new = h.node("object", "Node", 100, id)
        h.edge(owner if node is None else node, "property", "head" if node is None else "next", new)
        node = new
    requests = h.variable("requests", h.array(id=9))
    for i in range(10 * (t + 1)):
        h.edge(requests, "element", i, h.node("object", "Request", 100, 5000 + 2 * i))
    return h

for way in ("head", "tail"):
    s = growth(*(lru(t, way) for t in range(3)))["suspects"]
    check("a list that drops as much as it gets, with new elements at the " + way, [("global › requests: Array", 2000, 1000)], [(path(x), x["growth"], x["per_step"]) for x in s])

def grows(t, way):
    h = Heap()
    n = 100 * (t + 1)
    node = None
    for i in (reversed(range(n)) if way == "head" else range(n)):
        new = h.node("object", "Node", 100, 1000 + 2 * i)
        h.edge(h.globals if node is None else node, "property", "head" if node is None else "next", new)
        node = new
    return h

for way in ("head", "tail"):
    s = growth(*(grows(t, way) for t in range(3)))
    check("the class of a list that grows at the " + way, "global › head: list of 300 Node (next)", path(s["classes"][0]))
    s = s["suspects"]
    check("a list that grows at the " + way, [([], 20000)], [(x["within"], x["growth"]) for x in s])
    check("... its path", "global › head: list of 300 Node (next)", path(s[0]))

def copied(t):
    """An array that is rebuilt for every entry."""
    h = Heap()
    scope = h.context(40, id=7)
    h.variable("serve", h.closure("serve", scope, id=9))
    h.edge(scope, "context", "log", h.elements(h.array(id=11 + 10 * t), [h.node("string", "line %d" % i, 200, 1000 + 2 * i) for i in range(40 * (t + 1))], id=13 + 10 * t))
    h.edge(scope, "context", "state", h.node("object", "State", 500, 901 + 2 * t))
    return h

s = growth(*(copied(t) for t in range(3)))["suspects"]
check("a variable with a rebuilt array", [("global › serve: serve() › log: Array", "log", [], 80 * 208)],
      [(path(x), x["variable"], x["within"], x["growth"]) for x in s])

check("... it retains as much as its array, not as its scope", (16 + 120 * 208, {"class": "system / Context", "id": "7"}),
      (s[0]["retained"], s[0].get("variable_of")))
check("... which the head names first", 1, text("g0.heapsnapshot", "g1.heapsnapshot", "g2.heapsnapshot").count("  1  variable log of system / Context: Array, id 31\n"))

def resumed(t):
    """A list in a variable with a rebuilt array, which holds the newest element. One element loses an object."""
    h = Heap()
    scope = h.context(40, id=7)
    h.variable("serve", h.closure("serve", scope, id=9))
    node = h.array(id=11 + 10 * t)
    h.edge(scope, "context", "resume", node)
    for i in reversed(range(50 * (t + 1))):
        new = h.node("object", "Trace", 100, 1001 + 2 * i)
        h.edge(node, "property", "outer", new) if i < 50 * (t + 1) - 1 else h.edge(node, "element", 0, new)
        node = new
    if not t:
        h.edge(node, "property", "once", h.node("object", "Once", 700, 901))
    return h

s = growth(*(resumed(t) for t in range(3)))["suspects"]
check("a list in a variable with a rebuilt array", [("global › serve: serve() › resume: Array", "resume", 100 * 100 - 700)],
      [(path(x), x.get("variable"), x["growth"]) for x in s])

def both(t):
    """Two objects hold the same new objects, so neither dominates them."""
    h = Heap()
    new = [h.node("object", "Session", 100, 1000 + 2 * i) for i in range(20 * (t + 1))]
    a = h.variable("sessions", h.array(id=7))
    m = h.node("object", "Registry", 24, 9)
    h.edge(h.variable("app", h.node("object", "App", 24, 11)), "property", "registry", m)
    for i, x in enumerate(new):
        h.edge(a, "element", i, x)
        h.edge(m, "element", i, x)
    return h

s = growth(*(both(t) for t in range(3)))["suspects"]
check("new objects with two holders", [("global › sessions: Array", 4000, 4000)], [(path(x), x["growth"], x.get("shared")) for x in s])
check("... in text", 1, text("g0.heapsnapshot", "g1.heapsnapshot", "g2.heapsnapshot").count(
    "retains 16, 0.3% of all; 4000 of the growth in objects that others hold too\n"))

def tooltips(t):
    """A Map keeps all tooltips. The newest are also in the page's document, and count for the document."""
    h = Heap()
    trees = h.node("synthetic", "(Document DOM trees)", 0, 13)
    h.edge(h.root, "element", 2, trees)
    last = h.dom("HTMLDocument", 200, 7)
    h.edge(trees, "element", 1, last)
    entries = []
    for i in range(10 * (t + 1)):
        tip = h.node("object", "Tooltip", 100, 1001 + 10 * i)
        box = h.dom("<aside>", 104, 1003 + 10 * i, i >= 10 * t)
        h.edge(tip, "property", "box", box)
        entries.append((h.node("string", "k", 24, 1005 + 10 * i), tip))
        if i < 10 * t:
            continue
        h.edge(last, "element", 1, box)
        h.edge(box, "element", 2, h.node("native", "blink::LayoutBlockFlow", 144, 100001 + 1000 * t + 2 * i))
        last = box
    h.variable("tooltipOf", h.map(entries, id=9, table_id=11))
    return h

s = growth(*(tooltips(t) for t in range(3)))["suspects"]
check("nodes in a document count for the document", ("global › tooltipOf: Map", 20 * 124 + 10 * 104), (path(s[0]), s[0]["growth"]))

def cards(t):
    """Listeners on the window keep the cards that a page removed. All retain the same size, so kind decides the
    order."""
    h = Heap()
    handles = h.node("synthetic", "(Global handles)", 0, 13)
    h.edge(h.roots, "element", 1, handles)
    window = h.dom("Window / file://", 40, 7)
    h.edge(handles, "internal", "global_proxy_object", window)
    data = h.node("native", "blink::EventTargetData", 56, 9)
    h.edge(window, "element", 1, data)
    vector = h.node("native", "blink::HeapVectorBacking<cppgc::internal::BasicMember<blink::RegisteredEventListener>>", 400, 11)
    h.edge(data, "element", 1, vector)
    for i in range(10 * (t + 1)):
        registered = h.node("native", "blink::RegisteredEventListener", 16, 1001 + 20 * i)
        listener = h.node("native", "EventListener", 24, 1003 + 20 * i)
        card = h.node("object", "BoardCard", 1000, 1005 + 20 * i)
        h.edge(vector, "element", i + 1, registered)
        h.edge(registered, "element", 1, listener)
        h.edge(listener, "internal", "1", h.closure("", h.context(40, 1007 + 20 * i, card=card), id=1009 + 20 * i))
        h.edge(card, "property", "box", h.dom("<div>", 104, 1011 + 20 * i, False))
    return h

s = growth(*(cards(t) for t in range(3)))["suspects"]
check("listeners of a window", [("(Global handles) › Window / file://", 20 * 1240, "[] blink::EventTargetData")],
      [(path(x), x["growth"], x["within"][0]) for x in s])
check("... the program's classes before the browser's", ["BoardCard", "Detached <div>", "EventListener"], [b["class"] for b in s[0]["new"]][:3])
check("... with one snapshot", ("(Global handles) › Window / file://", 496 + 30 * 1240), first(cards(2))[:2])

def rows(t):
    """A page keeps the rows that it removes. V8 gives a removed row a new id, but its parts keep theirs: they are not
    growth."""
    h = Heap()
    trees = h.node("synthetic", "(Document DOM trees)", 0, 13)
    h.edge(h.root, "element", 2, trees)
    document = h.dom("HTMLDocument", 200, 7)
    h.edge(trees, "element", 1, document)
    removed = h.variable("removedRows", h.array(id=9))
    for i in range(10 * (t + 1) + 5):
        visible = i >= 10 * (t + 1)
        row = h.dom("<tr>", 104, (100001 if visible else 200001) + 10 * i, visible)
        cell = h.dom("<td>", 96, 300001 + 10 * i, visible)
        h.edge(document if visible else removed, "element", i + 1, row)
        h.edge(row, "element", 1, cell)
        h.edge(cell, "element", 1, h.node("native", "blink::UniqueElementData", 112, 400001 + 10 * i))
    return h

s = growth(*(rows(t) for t in range(3)))["suspects"]
check("parts of a moved row are old", ("global › removedRows: Array", 20 * 104 + 15 * (96 + 112)), (path(s[0]), s[0]["growth"]))

h = tooltips(2)
h.write("one.heapsnapshot")
check("most detached nodes by their common path", ("global › tooltipOf: Map › [] Tooltip", 20, 20),
      (lambda d: (path(d), d["path_nodes"], d["path_of"]))(suspects("one.heapsnapshot")["detached"]))

def engine(t):
    h = Heap()
    for i in range(100 * (t + 1)):
        h.edge(h.roots, "internal", "%d" % i, h.node("code", "(code)", 500, 5000 + 2 * i))
    a = h.variable("leak", h.array(id=7))
    for i in range(10 * (t + 1)):
        h.edge(a, "element", i, h.node("object", "Leak", 100, 1001 + 2 * i))
    return h

s = growth(*(engine(t) for t in range(3)))
check("compiled code is not first", [("global › leak: Array", 2000)], [(path(x), x["growth"]) for x in s["suspects"]])
check("... and its class after the program's", ["Leak", "(compiled code)"], [c["class"] for c in s["classes"]])

same = buffers(10)
check("nothing grew", ([], []), (lambda g: (g["suspects"], g["classes"]))(growth(same, same, same)))

# The list of classes: by retained size, with the class that got most of the bytes; a line counts the rest
# ------------

def sessions(t, kinds=0):
    """A Map of Sessions with a Buffer each, and small classes of the program that also grow."""
    h = Heap()
    entries = []
    for i in range(20 * (t + 1)):
        x = h.node("object", "Session", 100, 100001 + 10 * i)
        h.edge(x, "property", "data", h.buffer(20000, 100003 + 10 * i))
        entries.append((h.node("string", "k", 24, 100009 + 10 * i), x))
    h.variable("cache", h.map(entries, id=7, table_id=9))
    h.variable("still", h.node("object", "Still", 10000, 11))
    for i in range(t + 1 if kinds else 0):
        h.edge(h.roots, "internal", "%d" % i, h.node("code", "(code)", 2000000, 300001 + 2 * i))
    for k in range(kinds):
        a = h.variable("v%d" % k, h.array(id=1001 + 2 * k))
        for i in range(t + 1):
            h.edge(a, "element", i, h.node("object", "Kind%d" % k, 3000 + 10 * k, 200001 + 20 * i + 2 * k))
    return h

s = growth(*(sessions(t) for t in range(3)))
check("classes in the order of the growth of their retained size", ["Session", "Buffer", "ArrayBuffer", "system / JSArrayBufferData"], [c["class"] for c in s["classes"]][:4])
check("... with their growth", [40 * 20284, 40 * 20184, 40 * 20088, 40 * 20000], [c.get("retained_growth") for c in s["classes"]][:4])
check("... in text", 1, text("g0.heapsnapshot", "g1.heapsnapshot", "g2.heapsnapshot").count("; +4000, +40 objects, steadily; retain 811360 more"))
s = growth(*(sessions(t, 10) for t in range(3)))
listed = [c["class"] for c in s["classes"]]
check("the class with the most new bytes is listed, the engine's last", [True, "(compiled code)"], ["Session" in listed, listed[-1]])
left = {**{"Kind%d" % k: 2 * (3000 + 10 * k) for k in range(10)}, "(string)": 40 * 24, "ArrayBuffer": 40 * 88, "Buffer": 40 * 96,
        "system / JSArrayBufferData": 40 * 20000}
left = {c: n for c, n in left.items() if c not in listed}
lines = text("g0.heapsnapshot", "g1.heapsnapshot", "g2.heapsnapshot").splitlines()
check("a line counts the classes that are not listed", ["     not listed: %d more classes grew, by %d" % (len(left), sum(left.values()))], [x for x in lines if "not listed" in x])
check("... in JSON", {"classes": len(left), "growth": sum(left.values())}, s.get("classes_not_listed"))

# Most of a growing suspect is in the part that grew
# ------------------------------------------------------------------

def moved(t, growing, wrapper=64):
    """An old object moves below a new one."""
    h = Heap()
    holder = h.globals
    if t == 2:
        holder = h.variable("wrapper", h.node("object", "Wrapper", wrapper, 5001))
    h.edge(holder, "property", "big", h.node("object", "Big", 100000, 11))
    a = h.variable("list", h.array(id=7))
    for i in range(growing * (t + 1)):
        h.edge(a, "element", i, h.node("object", "Request", 100, 6001 + 2 * i))
    return h

s = growth(*(moved(t, 0) for t in range(3)))["suspects"]
check("an old object that moved below a new one", [("global", ["wrapper: Wrapper"], 64)], [(path(x), x["within"], x["growth"]) for x in s])
s = growth(*(moved(t, 5) for t in range(3)))["suspects"]
check("tiny growth in one step is not listed next to others", [("global › list: Array", 1000)], [(path(x), x["growth"]) for x in s])
def timers(t):
    h = moved(t, 5000)
    h.variable("timers", h.elements(h.node("object", "TimersList", 40, 13), [h.node("object", "Timeout", 100, 900001 + 2 * i) for i in range(t)], 15))
    return h

s = growth(*(timers(t) for t in range(3)))["suspects"]
check("... nor 0.1 % of the largest growth, though in every step", [("global › list: Array", 1000000)], [(path(x), x["growth"]) for x in s])
s = growth(*(moved(t, 5, 5000) for t in range(3)))["suspects"]
check("... but larger growth is", ["global", "global › list: Array"], sorted(path(x) for x in s))

# Ids that name other objects in the next snapshot -----------------------------------------------------------------------------

a, b = Heap(), Heap()
for h, order in ((a, range(50)), (b, reversed(range(60)))):
    h.variable("all", h.elements(h.array(), [h.node("object", "Class%d" % i, 100, 1001 + 2 * k) for k, i in enumerate(order)]))
growth(a, b)
check("ids that name other objects", 1, text("g0.heapsnapshot", "g1.heapsnapshot").count(
    "\n  not known: object ids differ between these snapshots (see the warning); compared by class\n"))

# Names are whole in pipes, and with --wide and --all ------------------------------------------------------------------

h = Heap()
long = "AbstractSingletonProxyFactoryBean" * 4
cache = h.variable("theCacheOfAllProxies" * 4, h.node("object", long, 40))
for i in range(30):
    e = h.node("object", long + "Entry", 1000)
    h.edge(cache, "element", i, e)
    h.edge(e, "internal", "buffer", h.node("native", "system / JSArrayBufferData" + "x" * 40, 2000))
h.write("one.heapsnapshot")
check("names are whole in a pipe", 0, text("one.heapsnapshot").count("…"))
check("... also of the objects below", 1, text("one.heapsnapshot").count("below it: 30 " + long + "Entry"))
check("... in JSON", False, "…" in json.dumps(suspects("one.heapsnapshot"), ensure_ascii=False))
for option in ("--wide", "--all"):
    out = terminal("suspects", option, "one.heapsnapshot")
    check("... with %s on a terminal" % option, (0, 1), (out.count("…"), out.count("below it: 30 " + long + "Entry")))
out = terminal("suspects", "one.heapsnapshot")
check("... but cut to the width of a terminal", True, "…" in out and max(map(len, out.splitlines())) <= 80)

# "[]" is an entry of a table or array ----------------------------------------------------------------------------------

h = Heap()
for name in ("leaked", "other", "third"):
    h.variable(name, h.node("object", "Config", 1000))
check("several variables are not a table", "global › Config", path([c for c in answer(h)["classes"] if c["class"] == "Config"][0]))
h = Heap()
scope = h.context(**{name: h.elements(h.array(), items(h, 3, 1000, "Config")) for name in ("routes", "audit")})
h.variable("add", h.closure("add", scope))
check("... nor those of a closure", "global › add: add() › Array › [] Config", path([c for c in answer(h)["classes"] if c["class"] == "Config"][0]))
h = Heap()
pairs = items(h, 20, 40, "Pair")
h.variable("pairs", h.elements(h.array(), pairs))
for x in pairs:
    h.edge(x, "property", "left", h.node("object", "Leaf", 100))
    h.edge(x, "property", "right", h.node("object", "Leaf", 100))
check("a few properties of each object are not a table", "global › pairs: Array › [] Pair › Leaf", path([c for c in answer(h)["classes"] if c["class"] == "Leaf"][0]))

# The program's objects come first, by retained size, then the engine's ----------------------------------------------

h = Heap()
h.edge(h.roots, "element", 1, h.node("code", "(instruction stream)", 90000))
h.edge(h.roots, "element", 2, h.node("hidden", "system / FeedbackCell", 40000))
for name, n in (("small", 15), ("store", 30)):
    h.variable(name, h.elements(h.node("object", "Store", 100), items(h, n)))
s = answer(h)["suspects"]
check("the program's objects come first, in order of size", ["global › store: Store", "global › small: Store"], [path(x) for x in s][:2])
check("... then the engine's", ["(compiled code)", "(system)"], [x["class"] for x in s][2:])
check("... which the text says", 1, text("one.heapsnapshot").count(
    "large holders, the likeliest leak first, the engine's last:\n"))
h = Heap()
h.variable("store", h.elements(h.node("object", "Store", 100), items(h, 30)))
answer(h)
check("... and only then", 0, text("one.heapsnapshot").count("the engine's last"))

# Roots hold everything and explain nothing --------------------------------------------------------------------------

d = Dart()
isolate = d.edge(d.root, d.node("Isolate", 200, library=""))
for holder in (d.root, isolate):
    for _ in range(300):
        d.edge(holder, d.node("Function", 100, library=""))
cache = d.edge(isolate, d.node("Cache", 32))
for _ in range(40):
    d.edge(cache, d.node("Entry", 100))
s = suspects(d.write("roots.dartheap"))["suspects"]
check("no Dart root is a suspect", [("Cache", 4032)], [(x["class"], x["retained"]) for x in s])

# Node's own objects are in every program, even if the leak is small -------------------------------------------------

h = Heap()
process = h.variable("process", h.node("object", "process", 1000))
main = h.variable("main", h.node("object", "Module", 100))
for _ in range(30):
    x = h.node("object", "Setting", 500)
    h.edge(process, "property", "a", x)
    h.edge(main, "property", "b", x)
h.variable("keep", h.elements(h.array(), items(h, 10)))
check("Node's process object comes after the program's objects", "global › keep: Array", first(h)[0])

# Dart: objects with identity hash codes are matched -------------------------------------------------------------------

def messages(t, codes=True):
    """A queue that gains 20 messages and drops 5 per step, below a list of the virtual machine without a hash
    code."""
    d = Dart()
    code = (lambda n: n) if codes else (lambda n: 0)
    library = d.edge(d.root, d.node("Library", 100, code(1), ""))
    bus = d.edge(library, d.node("MessageBus", 40, code(2)))
    rest = d.edge(library, d.node("Settings", 9000, code(3)))
    table = d.edge(bus, d.node("_List", 8 * 60, 0, "dart:core"))
    for i in range(5 * t, 20 * (t + 1)):
        d.edge(table, d.node("Message", 100, code(100 + i)))
    d.edge(rest, d.node("_List", 16, 0, "dart:core"))
    return d

def dart_growth(*dumps):
    return suspects(*(d.write("d%d.dartheap" % i) for i, d in enumerate(dumps)))

s = dart_growth(*(messages(t) for t in range(3)))["suspects"]
check("growth of Dart objects", [("MessageBus", 3000, 1500, 40 + 480 + 5000)], [(x["class"], x["growth"], x["per_step"], x["retained"]) for x in s])
check("... the new objects, without lists that may be old", [("Message", 40)], [(b["class"], b["objects"]) for b in s[0]["new"]])
def static_list(t):
    d = messages(0)
    table = d.edge(d.root, d.node("_List", 4000, 0, "dart:core"))
    for i in range(30 * t):
        d.edge(table, d.node("_Closure", 100, 0, "dart:core"))
    return d

check("growth without a holder that has a hash code", ([], 1), (dart_growth(*(static_list(t) for t in range(3)))["suspects"],
      text("d0.dartheap", "d1.dartheap", "d2.dartheap").count("  not known: no object with an identity hash code holds more than before\n")))
s = dart_growth(*(messages(t, False) for t in range(3)))
check("Dart snapshots without hash codes are compared by class", ([], ["Message"]), (s["suspects"], [c["class"] for c in s["classes"]]))
check("... which the text says", 1, text("d0.dartheap", "d1.dartheap", "d2.dartheap").count(
    "  not known: objects have no identity hash codes that match (see the warning); compared by class\n"))

# A path of one step is no help -------------------------------------------------------------------------------------

h = Heap()
target = h.node("object", "Target", 90000)
h.edge(h.variable("ref", h.node("object", "WeakRef", 40)), "weak", "target", target)
answer(h)
check("an object with only a weak reference", ["      held by no path from a root"],
      [x for x in text("one.heapsnapshot").splitlines() if "held by" in x])
h = Heap()
for i in range(200):
    h.variable("v%d" % i, h.node("object", "Kind%d" % i, 100))
answer(h)
check("the global object is a root itself", ([["global"]], 0), ([x["path"] for x in suspects("one.heapsnapshot")["suspects"][:1]], text("one.heapsnapshot").count("held by global\n")))

# A long list is walked in one pass, with any kind of holder.
h = Heap()
linked(h, h.globals, "property", "head", 200000)
check("a list of 200,000", ("global › head: list of 200000 Node (next)", 20000000, []), first(h))
asked.end()
