#!/usr/bin/env bash
# The reasons why objects are alive, in a programmer's terms: variables, properties and classes on a terminal, all
# objects elsewhere. Paths begin at objects that the program holds. Also detached nodes, source locations and
# allocation stacks.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq xz-utils
command -v node > /dev/null || need nodejs || skip "nodejs cannot be installed here"
root=$PWD work=$PWD/build/peers/paths
rm -rf "$work" && mkdir -p "$work"
cp tests/data/detached.heapsnapshot tests/data/small.dartheap "$work"
cp fuzz/seeds/fuzz_v8/tracked.heapsnapshot "$work"
cd "$work"
env -i PATH="$PATH" node "$root/tests/peers/programs/v8_leak.js" leak.heapsnapshot

# screen COLUMNS ARGS...: the tool's output on a terminal, without its styles
screen() { PYTHONPATH=$root/tests/peers/lib python3 - "$tool" "$@" << 'P'
import os, re, sys, on_terminal
tool, columns, *arguments = sys.argv[1:]
out, _ = on_terminal.run([tool, *arguments], int(columns), 24, env={**os.environ, "HEAPDUMP_PAGER": "cat", "TERM": "xterm"})
print(re.sub("\033\\[[0-9;?]*[a-zA-Z=>]|\033[=>]|\r", "", out.decode()))
P
}
check "path --class names the variable" "put: put() › cache: Map › [] Session" \
  "$(screen 80 path --class Session leak.heapsnapshot | grep -o 'put: .*Session')"
check "... on a wider terminal, with the path from the root" "global › app: Object › sessions: Object › put: put() › cache: Map › [] Session" \
  "$(screen 140 path --class Session leak.heapsnapshot | grep -o 'global ›.*')"
check "... on a narrower terminal, still with the variable" "cache: Map › [] Session" \
  "$(screen 64 path --class Session leak.heapsnapshot | grep -o 'cache: .*')"
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
at = h.variable("application", h.node("object", "Application", 32))
def held(kind, name, node):
    global at
    h.edge(at, kind, name, node)
    at = node
for i in range(3): held("property", "subsystem%d" % i, h.node("object", "Subsystem", 32))
held("internal", "context", h.context())
held("context", "bus", h.node("object", "EventEmitter", 32))
held("property", "_events", h.node("object", "Object", 32))
held("property", "tick", h.array())
held("element", 0, h.closure("", h.context(widget=h.node("object", "Widget", 32))))
h.write("bus.heapsnapshot")'
for how in "66 … 5 › bus › … 3 › widget: Widget" "78 … 5 › bus: EventEmitter › … 3 › widget: Widget" \
           "88 … 5 more › bus: EventEmitter › … 3 more › widget: Widget"; do
  check "a variable within the path stays, at ${how%% *} columns" "${how#* }" \
    "$(screen "${how%% *}" path --class Widget bus.heapsnapshot | grep -o '… .*widget: .*')"
done
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
key = h.node("object", "Key", 32)
h.variable("key", key)
first = at = h.node("object", "Node", 32, 2001)
h.variable("head", first)
nodes = [first]
for i in range(60):
    nodes.append(h.node("object", "Node", 32, 2003 + 2 * i))
    h.edge(nodes[-2], "property", "next", nodes[-1])
value = h.node("object", "Value", 32)
h.edge(value, "property", "node", nodes[50])
far = h.node("object", "Holder", 32)
h.variable("far", far)
for i in range(6):
    deeper = h.node("object", "Holder%d" % i, 32)
    h.edge(far, "property", "inner", deeper)
    far = deeper
weak, table = h.node("object", "WeakMap", 32), h.node("array", "", 64)
h.edge(far, "property", "weak", weak)
h.edge(weak, "internal", "table", table)
ids = h.nodes[key][3], h.nodes[value][3], h.nodes[table][3]
for holder in table, key:
    h.edge(holder, "internal", "3 / part of key (Key @%d) -> value (Value @%d) pair in WeakMap (table @%d)" % ids, value)
h.write("farther.heapsnapshot")'
check "a path leads through the value of a WeakMap if that is shorter" "Key Value Node Node" \
  "$("$tool" path --json --id 2103 farther.heapsnapshot | jq -r '[.files[0].paths[0].objects[-4:][].class] | join(" ")')"
for how in "140 path --wide" "80 path --wide" "80 path --all"; do
  check "$how omits no step" "context: system / Context › cache: Map › table: (array) › []: Session" \
    "$(screen $how --class Session leak.heapsnapshot | grep -o 'context: .*')"
done
"$tool" path --class Session leak.heapsnapshot > out
check "a pipe omits no step" "context: system / Context › cache: Map › table: (array) › []: Session" "$(grep -o 'context: .*' out)"
check "... and has no "…"" 0 "$(grep -c '…' out || true)"
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
stack = h.node("synthetic", "(Stack roots)", 0)
h.edge(h.roots, "element", 7, stack)
h.edge(stack, "element", 0, h.node("object", "Held", 32))
h.write("stack.heapsnapshot")'
check "... and every root of the engine" "(GC roots) › []: (Stack roots) › []: Held" \
  "$("$tool" path --class Held stack.heapsnapshot | grep -o '(GC roots).*')"
check "a linked list is shown as one step" "global › queue: Object › head: list of 50 Item (next)" \
  "$(screen 100 path --class Item leak.heapsnapshot | grep -o 'global ›.*')"
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
last = h.variable("head", h.node("object", "A", 32))
for i in range(1, 1000):
    node = h.node("object", "AB"[i % 2], 32)
    h.edge(last, "property", "xy"[i % 2], node)
    last = node
h.write("twos.heapsnapshot")'
check "... also a list of two alternating classes" "global › head: list of 500 A (y › x)" "$(screen 100 path --class A twos.heapsnapshot | grep -o 'global ›.*')"
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
array = h.node("array", "(array)", 16)
h.edge(h.variable("rows", h.node("object", "Array", 16)), "internal", "elements", array)
at = h.node("object", "Row", 100)
h.edge(array, "element", 0, at)
for i in range(4):
    row = h.node("object", "Row", 100)
    h.edge(at, "property" if i else "element", "next" if i else 0, row)
    at = row
h.write("by_two.heapsnapshot")
'
check "a list whose head leads to it by another reference has no field" "[]: list of 5 Row" \
  "$("$tool" path --all --class Row by_two.heapsnapshot | grep -o '\[\]: list of .*')"
PYTHONPATH=$root/tests/peers/lib python3 -c '
import v8_snapshot
h = v8_snapshot.Heap()
table = h.variable("all", h.node("object", "Object", 32))
for i in range(100):
    session = h.node("object", "Session", 32)
    h.edge(table, "property", "id%d" % i, session)
    h.edge(session, "property", "key%d" % i, h.node("object", "Item", 40))
few = h.variable("few", h.node("object", "Pair", 32))
for side in "left", "right":
    h.edge(few, "property", side, h.node("object", "Item", 40))
h.write("table.heapsnapshot")'
check "an object used as a table: its keys are one step" "all: Object › [] Session › [] Item|few: Pair|left: Item|right: Item" \
  "$(screen 100 path --class Item table.heapsnapshot | grep -o '\(all\|few\|left\|right\): .*' | paste -sd'|')"
python3 -c '
import json
s = json.load(open("detached.heapsnapshot"))
n = s["snapshot"]["meta"]["node_fields"].index("detachedness")
width = len(s["snapshot"]["meta"]["node_fields"])
s["nodes"][n::width] = [1 if d == 2 else d for d in s["nodes"][n::width]]
json.dump(s, open("attached.heapsnapshot", "w"))'
check "diff: nodes that only became detached are not listed" "object by object: none is new, gone or of another size" \
  "$("$tool" diff attached.heapsnapshot detached.heapsnapshot | sed -n '/^object by object/,$p' | paste -sd'|' || true)"
last=$("$tool" objects --class Item --json leak.heapsnapshot | jq -r '.files[0].objects[-1].id')
check "path --id shows the same steps" "global,queue: Object,head: list of 50 Item (next)" \
  "$(screen 100 path --id "$last" leak.heapsnapshot | sed -n 's/^  \(.*\)  id .*/\1/p' | paste -sd,)"
check "... as JSON, together with every object" "global,queue: Object,head: list of 50 Item (next) 53" \
  "$("$tool" path --json --id "$last" leak.heapsnapshot | jq -r '.files[0].paths[0] | "\(.steps | join(",")) \(.objects | length)"')"
check "... --wide lists every object" 53 "$(screen 80 path --wide --id "$last" leak.heapsnapshot | grep -c '  id ')"
check "... --all, too" 53 "$(screen 80 path --all --id "$last" leak.heapsnapshot | grep -c '  id ')"

# Distances; and roots of the program before roots of the engine.
python3 "$root/tests/peers/lib/v8_paths.py" "$tool" leak.heapsnapshot "$root/tests/data/chromium-small.heapsnapshot" || failed=1

# Detached nodes.
check "classes of detached nodes" "Detached <li> 3,<li> 2" \
  "$("$tool" classes --json detached.heapsnapshot | jq -r '.files[0].classes[] | select(.class | endswith("<li>")) | "\(.class) \(.live_objects)"' | paste -sd,)"
"$tool" objects --where detached --json detached.heapsnapshot > out
check "objects --where detached" "3 300 true true true" "$(jq -r '.files[0] | "\(.count) \(.retained) \([.objects[].detached | tostring] | join(" "))"' out)"
check "... with a condition that no detached node meets" 3 "$("$tool" objects --where detached --where 'size>=100' --json detached.heapsnapshot | jq '.files[0].count')"
check "... refused for Dart" 0 "$("$tool" objects --where detached --where 'size>100' --json detached.heapsnapshot | jq '.files[0].count')"
check "... with the reason" 1 "$(status "$tool" objects --where detached small.dartheap)"
check "object shows that a node is detached" "heapdump: small.dartheap: only V8 snapshots mark detached objects" "$(cat err)"
check "... and that a node is attached" 1 "$("$tool" object detached.heapsnapshot 15 | grep -c 'detached: not in the document')"
check "suspects counts detached nodes" false "$("$tool" object --json detached.heapsnapshot 11 | jq '.files[0].detached')"
check "suspects count them" "  3 nodes (3 <li>), retain 300 B|      held by global › leakedItems: Array" \
  "$("$tool" suspects detached.heapsnapshot | grep -A2 '^detached DOM nodes' | tail -n 2 | paste -sd'|')"
check "... in two snapshots" '3 300 3 global,leakedItems: Array' \
  "$("$tool" suspects --json detached.heapsnapshot | jq -r '.graphs[0].detached | "\(.nodes) \(.retained) \(.classes["Detached <li>"]) \(.path | join(","))"')"
check "... in two snapshots" 1 "$("$tool" suspects detached.heapsnapshot detached.heapsnapshot | grep -c '3 nodes (3 <li>), retain 300 B; 3 in the first snapshot')"
check "suspects has no such section if no node is detached" 0 "$("$tool" suspects leak.heapsnapshot | grep -c '^detached' || true)"

# Source locations and allocation stacks.
check "object: source and stack" "      source script 5:2:2|allocated by Widget (b.js)|             make (a.js:3:4)" \
  "$("$tool" object tracked.heapsnapshot 3 | grep -A2 ' source ' | paste -sd'|')"
check "... as JSON" '{"script":"","script_id":5,"line":2,"column":2} ["Widget (b.js)","make (a.js:3:4)"]' \
  "$("$tool" object --json tracked.heapsnapshot 3 | jq -c '.files[0] | .source, .stack' | paste -sd' ')"
check "objects --csv: one column each" "5 2 2" "$("$tool" objects --csv --class 'Detached Widget' tracked.heapsnapshot | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin): print(r["source.script_id"], r["source.line"], r["source.column"])')"
check "suspects: source location and allocating function" "source script 5:2:2  allocated by Widget (b.js)" \
  "$("$tool" suspects tracked.heapsnapshot | grep -m1 -o 'source .*')"
sed 's/"trace_tree":\[1,0/"trace_tree":[1,9/' tracked.heapsnapshot > bad.heapsnapshot
check "a damaged trace tree: a warning" "heapdump: bad.heapsnapshot: offset 739: warning: trace_tree: expected the number of a function" \
  "$("$tool" object bad.heapsnapshot 3 2>&1 > /dev/null)"
check "... validate reports it" "  offset 739: trace_tree: expected the number of a function" "$("$tool" validate bad.heapsnapshot | tail -n 1)"
check "... and --strict refuses it" 1 "$(status "$tool" object --strict bad.heapsnapshot 3)"
exit $failed
