"""Objects on narrow terminals, with all kinds of classes and ids, and names of classes in all lists.
narrow_objects.py TOOL ROOT, in an empty directory."""
import json, re, sys

root = sys.argv[2]
sys.path[:0] = [root + "/tests/peers/screens", root + "/tests/peers/screens/graphs"]
sys.dont_write_bytecode = True
import random_graphs
from asked import answer, check, end, lines_on, run

TYPES = ["hidden", "array", "string", "object", "code", "closure", "native", "synthetic"]
EDGES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]


def write(path, nodes):
    """nodes: [(type, name, id, size, [(edge type, name or index, node)])]"""
    strings, flat, edges = {"": 0}, [], []
    for kind, name, number, size, out in nodes:
        flat += [TYPES.index(kind), strings.setdefault(name, len(strings)), number, size, len(out)]
        for edge, called, to in out:
            named = called if edge in ("element", "hidden") else strings.setdefault(called, len(strings))
            edges += [EDGES.index(edge), named, 5 * to]
    meta = {"node_fields": ["type", "name", "id", "self_size", "edge_count"],
            "node_types": [TYPES, "string", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"], "edge_types": [EDGES, "string_or_number", "node"]}
    with open(path, "w") as f:
        json.dump({"snapshot": {"meta": meta, "node_count": len(nodes), "edge_count": len(edges) // 3},
                   "nodes": flat, "edges": edges, "strings": list(strings)}, f)


def like(shown, name):
    head, cut, tail = shown.partition("…")
    return shown == name or (bool(cut) and name.startswith(head) and name.endswith(tail))


# Classes are shortened with "…": no part of them is a return type, parameters or template arguments.
NAMES = ["ArrayList", "internal ArrayList", "Namespace of the application / ArrayList of sessions (kept)",
         "Map<string, Array<Promise<Session>>> of the application", "operator of a very long name::with::colons(int)",
         "Übergrößenträger mit sehr langem Namen von Weltraumbahnhöfen"]


def names_are_whole(first_id):
    nodes = [("synthetic", "", first_id, 0, [("element", i, i + 1) for i in range(len(NAMES))])]
    nodes += [("object", name, first_id + 2 + 2 * i, 100 - i, []) for i, name in enumerate(NAMES)]
    write("names.heapsnapshot", nodes)
    for columns in 80, 100:
        for arguments in ["objects", "--where", "size>0"], ["retained"], ["classes"]:
            lines = lines_on(columns, *arguments, "names.heapsnapshot")
            shown = [line for line in lines if re.match(r"[ >]*\d.*[a-z…]", line) and "(synthetic)" not in line and " retain " not in line]
            short = [line.split("  ")[-1] if arguments[0] == "classes" else re.split(r" \d+  ", line)[-1] for line in shown]
            what = f"{arguments[0]}, {columns} columns, ids of {len(str(first_id))} digits"
            check(what + ": names of classes", ([], len(NAMES)),
                  ([s for s, name in zip(short, NAMES) if not like(s, name)], len(short)))
            check(what + ": no line is wider", [], [line for line in lines if len(line) > columns])


for first in 1, 140000000000001, 2 ** 63 - 1001:
    names_are_whole(first)

# Three objects of each class, in the second snapshot only.
grown = [("synthetic", "", 1, 0, [("property", "store", 1)]), ("object", "Store", 3, 10, [("property", f"p{i}", 2 + i) for i in range(9)])]
grown += [("object", NAMES[i // 3], 5 + 2 * i, 100, []) for i in range(9)]
write("before.heapsnapshot", [grown[0], ("object", "Store", 3, 10, [])])
write("after.heapsnapshot", grown)
lines = lines_on(80, "suspects", "before.heapsnapshot", "after.heapsnapshot") + lines_on(80, "suspects", "after.heapsnapshot")
found = [part for line in lines for part in re.findall(r"\b3 (.*?)(?=, 3 |$)", line) if "new in it: " in line]
found += re.findall(r"^ +\d+  (.*): 3 objects", "\n".join(lines), re.M)
check("suspects: names of classes", (9, []), (len(found), [n for n in found if not any(like(n, name) for name in NAMES)]))


# Ids of any length are aligned below their title.
def ends(lines, title, pattern):
    """The columns where a title ends, and where the values below it end."""
    at = next(i for i, line in enumerate(lines) if re.search(rf"\b{title}\b", line))
    found = [re.match(pattern, line) for line in lines[at + 1:]]
    return {re.search(rf"\b{title}\b", lines[at]).end()}, {m.end(1) for m in found if m}


FAR = 2 ** 63 - 1001
text = "a text that is there twice, and long enough to be cut off at the edge of a terminal"
write("ids-1.heapsnapshot", [("synthetic", "", FAR, 0, [("property", "list", 1)]), ("object", "List", FAR + 2, 10, [("element", 0, 2), ("element", 1, 3)]),
                             ("string", text, FAR + 4, 50, []), ("string", text, FAR + 6, 50, [])])
write("ids-2.heapsnapshot", [("synthetic", "", FAR, 0, [("property", "list", 1)]), ("object", "List", FAR + 2, 10, [("element", 0, 2), ("element", 1, 3)]),
                             ("string", text, FAR + 4, 50, []), ("object", "New", FAR + 8, 60, [])])
for name, arguments, title, pattern in [
        ("retained", ["retained"], "id", r".*?(\d{19})"), ("objects", ["objects", "--class", "List"], "id", r".*? (\d{19})  List"),
        ("strings", ["strings"], "id", r".*?(\d{19})"), ("object", ["object", "--id", str(FAR + 2)], "id", r" *(\d{19}) ")]:
    lines = lines_on(80, *arguments, "ids-1.heapsnapshot")
    if name == "object":
        lines = lines[lines.index("refers to 2") + 1:]
    want, got = ends(lines, title, pattern)
    check(f"{name}: ids of 19 digits below their title", want, got)
    if name != "object":
        check(f"{name}: no line is too wide", [], [line for line in lines if len(line) > 80])
lines = run("diff", "ids-1.heapsnapshot", "ids-2.heapsnapshot").split("\n")
for title, pattern in ("id before", r".*?(\d{19}) +-"), ("id after", r".*? - +(\d{19})"):
    part = [i for i, line in enumerate(lines) if ("gone" if title == "id before" else "new object") in line and line[:1].isdigit()][0]
    check(f"diff: {title} of 19 digits", *ends(lines[part:], title, pattern))


# Indices in sparse arrays.
sparse = root + "/fuzz/seeds/fuzz_v8/node.heapsnapshot"
check("object: an element at a high index", ['[4294967294]: (array)  "list"'], re.findall(r"\[4294967294\].*", run("object", "--id", "7", sparse))[:1])
check("... as JSON", [0, 4294967294, None], [r.get("index") for r in answer("object", "--id", "7", sparse)["files"][0]["references"]])
write("sparse.heapsnapshot", [("synthetic", "", 1, 0, [("property", "list", 1)]), ("object", "List", 3, 10, [("element", 0, 2), ("element", 4294967294, 3)]),
                              ("object", "A", 5, 10, []), ("object", "B", 7, 10, [])])
check("path", True, "by [4294967294]" in run("path", "--id", "7", "sparse.heapsnapshot"))
check("... as JSON", 4294967294, answer("path", "--id", "7", "sparse.heapsnapshot")["files"][0]["paths"][0]["objects"][1].get("index"))
check("... as a step", ["list: List", "[] B"], answer("path", "--id", "7", "sparse.heapsnapshot")["files"][0]["paths"][0]["steps"])


# A class has the same name in all lists of a diff; a path is listed once, and adjacent omissions are merged.
def whole(row):
    return row["class"], row.get("scope") or row.get("library") or row.get("library_uri") or ""


names, twice, apart = [], [], []
for seed in 3, 8, 13, 0, 1, 6:
    files = random_graphs.write(".", seed)
    known = {whole(row) for file in files for row in answer("classes", file)["files"][0]["classes"]}
    shown = {f"{name}  ({scope})" if scope else name for name, scope in known}
    two = [files[0], files[2]]
    identity = answer("diff", "--all", *two)["identity"]
    names += [row for row in (identity or {}).get("classes", []) if whole(row) not in known]
    text = run("diff", *two).partition("object by object")[2].partition("\n\n")[0].split("\n")[2:]
    names += [line for line in text if re.match(r" *\d", line) and not any(line.endswith("  " + s) for s in shown)]
    if not files[0].endswith(".heapsnapshot"):
        continue
    nodes = json.load(open(files[0]))
    fields = len(nodes["snapshot"]["meta"]["node_fields"])
    for number in nodes["nodes"][2::fields][:300]:
        ways = [[o["id"] for o in p["objects"]] for p in answer("path", "--paths", "4", "--id", str(number), files[0])["files"][0]["paths"]]
        twice += [(files[0], number, w) for i, w in enumerate(ways) if w in ways[:i]]
    for name in sorted({c for c, _ in known if not c.startswith("-")})[:12]:
        for columns in 60, 80, 100:
            for line in lines_on(columns, "path", "--class", name, files[0])[1:]:
                if re.search(r"… \d+ more › … ", line) or len(line) > columns:
                    apart.append((name, columns, line))
check("diff, object by object: a class has the same name in all lists", [], names[:3])
check("path --paths: no path twice", [], twice[:3])
check("path --class: merged omissions, and no line is too wide", [], apart[:3])
end()
