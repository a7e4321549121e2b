#!/usr/bin/env bash
# V8 snapshots with large ids, many types or damage. Every command has exact figures. For a damaged file there is one
# message, no class that the whole file lacks, and the exit status of the man page. FULL=1 cuts the file at every
# byte.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq python3
data=$PWD/tests/data work=build/peers/v8-damaged
rm -rf $work && mkdir -p $work
cd $work

# Ids of 2^32 and more.
before=$data/v8-ids-1.heapsnapshot after=$data/v8-ids-2.heapsnapshot id=139637976731904
check "ids: read without a warning" 0 "$(status "$tool" info "$before"; cat err)"
check "ids: diff" "5 new, 0 gone, 5 kept" "$("$tool" diff --json "$before" "$after" |
  jq -r '.identity.classes[] | "\(.new_objects) new, \(.gone_objects) gone, \(.kept_objects) kept"')"
check "ids: objects of a class" "139637976731968 139637976732032 139637976732096 139637976732160 139637976732224" \
  "$("$tool" diff "$before" "$after" | grep -o ' 1396379767[0-9]*' | tr -d ' ' | paste -sd' ')"
check "ids: path" "$id" "$("$tool" path --json --id $id "$before" | jq -r '[.. | objects | .id? // empty | tostring] | last')"
check "ids: object" "id $id  Item" "$("$tool" object "$before" $id | head -1)"
check "ids: objects" "5 $id" "$("$tool" objects --json --class Item "$before" | jq -r '[.. | objects | .id? // empty | tostring | select(length > 10)] | "\(length) \(max)"')"
check "ids: report" 10 "$("$tool" report -o report.html "$after" > /dev/null; grep -o '1396379767[0-9]*' report.html | sort -u | wc -l)"
"$tool" convert --to heapsnapshot -o same.heapsnapshot "$before"
cmp -s same.heapsnapshot "$before" && pass "ids: written back" || fail "ids: other bytes"
"$tool" convert --to netcf -o ids.netcf "$before" 2> /dev/null
check "ids: to .NET CF" "Item" "$("$tool" object --json ids.netcf "$(printf %x $id)" | jq -r '[.. | objects | .class? // empty][0]')"
"$tool" convert --to heapsnapshot -o back.heapsnapshot ids.netcf 2> /dev/null
check "ids: and back, unchanged" "id $id  Item" "$("$tool" object back.heapsnapshot $id | head -1)"

# A lost string is not written as a text of its own.
size=$(grep -abo '"strings"' "$data/node-small.heapsnapshot" | cut -d: -f1)
head -c $((size + 200)) "$data/node-small.heapsnapshot" > lost.heapsnapshot
"$tool" convert --to dart -o lost.dart lost.heapsnapshot 2> /dev/null
check "lost strings are not written" 0 "$("$tool" strings --all --json lost.dart | grep -c 'name lost' || true)"

# More types than fit a byte.
julia=$data/v8-julia300.heapsnapshot
check "300 types: info" "86 objects of 44 classes, 46288 bytes" "$("$tool" info --bytes "$julia" | sed -n 2p | sed 's/^ *//')"
check "300 types: retained by node 0" 46288 "$("$tool" retained --json --top 1 "$julia" | jq .files[0].objects[0].retained)"
check "300 types: classes" "$(python3 - "$julia" <<'END'
import collections, json, sys
d = json.load(open(sys.argv[1])); n, m = d["nodes"], d["snapshot"]["meta"]
w = len(m["node_fields"]); types = m["node_types"][0]; count = collections.Counter()
for i in range(0, len(n), w): count["(" + types[n[i]] + ")"] += n[i + m["node_fields"].index("self_size")]
print(*sorted(f"{k} {v}" for k, v in count.items()), sep="\n")
END
)" "$("$tool" classes --json "$julia" | jq -r '.files[0].classes[] | "\(.class) \(.bytes)"' | LC_ALL=C sort)"
"$tool" convert --to heapsnapshot -o julia.heapsnapshot "$julia"
cmp -s julia.heapsnapshot "$julia" && pass "300 types: written back" || fail "300 types: other bytes"

# Damage: one message, and no invented data.
FULL=${FULL-} python3 - "$tool" "$after" <<'END' > damage.out || true
import json, os, subprocess, sys
tool, whole = sys.argv[1:]
data = open(whole, "rb").read().rstrip(b"\n")
commands = {"info": [], "classes": [], "retained": [], "strings": [], "suspects": [], "object": ["--id", "7"], "path": ["--id", "7"],
            "objects": ["--class", "Array"], "diff": [whole], "convert": ["--to", "heapsnapshot", "-o", "convert.out"], "validate": []}
right = {"(synthetic)", "global", "Array", "Item", "(name lost)"}
def run(command, file, *more):
    p = subprocess.run([tool, command, *commands[command], *more, file], capture_output=True, text=True)
    return p.returncode, p.stdout, [l for l in p.stderr.split("\n") if l]
def look(what, text):
    open("damaged.heapsnapshot", "wb").write(text)
    code, out, told = run("classes", "damaged.heapsnapshot", "--json")
    if not code:
        made_up = {c["class"] for c in json.loads(out)["files"][0]["classes"]} - right
        if made_up: print(what, "classes made up:", made_up)
    recovered = not code
    for command in commands:
        code, out, told = run(command, "damaged.heapsnapshot")
        if command == "validate":
            if code != 1 or told or len(out.split("\n")) != 3: print(what, command, code, told, out)
            continue
        if not told: print(what, command, "says nothing")
        about = [l for l in told if " warning: " in l or not recovered]
        if len(about) != 1: print(what, command, "lines:", told)
        asked = command in ("object", "path", "objects") # the requested object may be lost
        if code != (0 if recovered else 1) and not (asked and code == 1): print(what, command, "exit status", code, told)
        code, out, told = run(command, "damaged.heapsnapshot", "--strict")
        if code != 1 or len(told) != 1: print(what, command, "--strict", code, told)
begin, step = (data.index(b"{", 1) + 1, 1) if os.environ["FULL"] else (70, 97) # before this offset no format is recognised
for n in range(begin, len(data), step): look(f"cut at {n}:", data[:n])
d = json.loads(data)
def changed(what, f):
    e = json.loads(data); f(e); look(what, json.dumps(e, separators=(",", ":"), ensure_ascii=False).encode())
def fewer(e): e["nodes"] = e["nodes"][:-12]
def fewer_edges(e): e["edges"] = e["edges"][:-6]
def more_told(e): e["snapshot"]["node_count"] += 5
def edges_told(e): e["snapshot"]["edge_count"] += 5
def no_strings(e): e["strings"] = []
def half_strings(e): e["strings"] = e["strings"][:5]
def no_edges(e): del e["edges"]
for f in (fewer, fewer_edges, more_told, edges_told, no_strings, half_strings, no_edges): changed(f.__name__ + ":", f)
for node in range(14):
    def more_edges(e): e["nodes"][6 * node + 4] += 1
    changed(f"edges of node {node}:", more_edges) if node in (0, 3, 13) else None
print("end")
END
check "damage: one message, no invented class, the right exit status" end "$(cat damage.out)"
exit $failed
