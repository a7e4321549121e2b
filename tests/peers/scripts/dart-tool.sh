#!/usr/bin/env bash
# Answers of the tool on Dart snapshots: the stored one, the small one cut from it, and a few made here with known
# answers.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 xz-utils
data=$PWD/tests/data
work=build/peers/dart-tool
rm -rf $work && mkdir -p $work
cd $work
xz -dc "$data/sass-small.dartheap.xz" > sass.dartheap
cp "$data/small.dartheap" .

# ask EXPRESSION ARGS...: runs the tool with --json and evaluates the Python expression on d, the first file (for
# diff: the whole JSON). The result is printed as JSON.
ask() {
  local expression=$1
  shift
  "$tool" "$@" --json | python3 -c 'import json, sys
all = json.load(sys.stdin)
d = all if all["command"] == "diff" else all["files"][0]
print(json.dumps(eval(sys.argv[1]), separators=(",", ":")))' "$expression"
}

squeezed() { tr -s ' ' | sed 's/^ //' | paste -sd'|'; }

check "info: totals of the graph" '[204485,1895,13912312,1072743,1,36]' \
  "$(ask '[d["graph"][k] for k in ("objects", "classes", "bytes", "references", "roots", "missing_references")]' info sass.dartheap)"
# References to id 0 lead to objects that the VM omitted: they count as no object, live or not.
check "info: references to omitted objects" '[0,36] 36 references to id 0 (left out by the VM, or weak in a converted snapshot)' \
  "$(ask '[d["graph"][k] for k in ("missing_objects", "missing_references")]' info sass.dartheap) $("$tool" info sass.dartheap | grep 'left out' | squeezed)"
check "info: counts them only once" 0 "$("$tool" info sass.dartheap | grep -c 'no record')"
check "retained: all live objects and no others" '[13,false] [143696,false]' \
  "$(ask '[len(d["objects"]), any(o["id"] == "0" for o in d["objects"])]' retained --all small.dartheap) $(ask '[len(d["objects"]), any(o["id"] == "0" for o in d["objects"])]' retained --all sass.dartheap)"
"$tool" report -o page.html small.dartheap
check "report: the number of live objects" '"live_objects":13' "$(grep -o '"live_objects":[0-9]*' page.html)"
check "object: an omitted object has no dominator" '[1,false]' \
  "$(ask '[d["dominated_count"], any(o["id"] == "0" for o in d["dominated"])]' object small.dartheap 73)"
check "info: the header" '["main",0,13914776,32,15376384]' \
  "$(ask '[d["dart"][k] for k in ("isolate", "flags", "shallow_size", "external_size", "capacity")]' info sass.dartheap)"
check "info: live objects and bytes" '[143696,11947576,2,79887]' \
  "$(ask '[d["dart"][k] for k in ("live_objects", "live_bytes", "external_properties", "identities")]' info sass.dartheap)"
check "info: objects by kind of data" '{"none":58277,"null":1,"bool":3,"integer":25719,"double":657,"latin1":33117,"utf16":37,"length":60508,"name":26166}' \
  "$(ask 'd["dart"]["tags"]' info sass.dartheap)"
check "info: libraries add up to all objects" '[84,204485,13912312,143696,11947576]' \
  "$(ask '[len(d["dart"]["libraries"])] + [sum(l[k] for l in d["dart"]["libraries"]) for k in ("objects", "bytes", "live_objects", "live_bytes")]' info sass.dartheap)"
check "info: lengths add up to all lists" '[713,60508]' \
  "$(ask '[len(d["dart"]["lengths"]), sum(l["objects"] for l in d["dart"]["lengths"])]' info sass.dartheap)"
check "info: the longest list" "6853832 1 16 B 59514 _ExternalUint8Array (dart.typed_data)" \
  "$("$tool" info sass.dartheap | sed -n '/^the longest/{n;p}' | squeezed)"
check "info: --all lists what the short list cuts" "2 0" \
  "$("$tool" info sass.dartheap | grep -c '^\.\.\. .* more') $("$tool" info --all sass.dartheap | grep -c '^\.\.\.')"
check "strings: all of the VM's class" '[3720608,33117]' \
  "$(ask '[[c["bytes"], c["objects"]] for c in d["classes"] if c["class"] == "_OneByteString"][0]' classes sass.dartheap)"
check "strings: live ones" '[14866,14589,6224,67,["color",1320,56,"4187"]]' \
  "$(ask '[d["objects"], d["different"], d["wasted"], d["repeated"], [d["strings"][0][k] for k in ("text", "wasted", "objects", "id")]]' strings sass.dartheap)"
check "strings: all, dead ones included" '[33154,4907176,17158,373208,2512,2512]' \
  "$(ask '[d["objects"], d["bytes"], d["different"], d["wasted"], d["repeated"], len(d["strings"])]' strings --garbage --all sass.dartheap)"
check "strings: the text form" '1320 1344 56 4187 "color"|... 66 more (--all lists them)' \
  "$("$tool" strings --bytes --top 1 sass.dartheap | tail -n +3 | squeezed)"
check "retained: the largest objects" '[["1",11947576],["60384",328064],["17866",319728],["178771",311344],["178769",303264]]' \
  "$(ask '[[o["id"], o["retained"]] for o in d["objects"]]' retained --top 5 sass.dartheap)"
check "path: with names of fields" '["1","72904","61211","178772"] [null,"script_","source_",null]' \
  "$(ask '[o["id"] for o in d["paths"][0]["objects"]]' path --id 178772 sass.dartheap) $(ask '[o.get("field") for o in d["paths"][0]["objects"]]' path --id 178772 sass.dartheap)"
check "tree: the dominator tree" '[["",11947576],["Root",11947576],["Script",4606560]]' \
  "$(ask '[[r["name"], r["bytes"]] for r in all["heaps"][0]["rows"][:3]]' tree --min-share 0.3 sass.dartheap)"

check "object: a script" '["Script","name","package:sass/src/visitor/async_evaluate.dart",48,328064,6,594304416]' \
  "$(ask '[d["class"], d["data"]["tag"], d["data"]["text"], d["bytes"], d["retained"], d["retained_objects"], d["identity"]]' object sass.dartheap 60384)"
check "object: its outgoing references" '[["60381","url_"],["60380","resolved_url_"],["60383","line_starts_"],["60382","constant_coverage_"],["4","debug_positions_"],["59523","kernel_program_info_"],["178771","source_"]]' \
  "$(ask '[[r["id"], r["field"]] for r in d["references"]]' object sass.dartheap 60384)"
check "object: its incoming references" '[["2042",2,null],["59515",197,null],["69926",7,"script_"]]' \
  "$(ask '[[r["id"], r["reference"], r.get("field")] for r in d["referrers"][:3]]' object sass.dartheap 60384)"
check "object: its dominator and the objects it dominates" '["1",[["178771",311344],["60383",16552],["60380",96],["60382",24]]]' \
  "$(ask '[d["dominator"]["id"], [[r["id"], r["retained"]] for r in d["dominated"]]]' object sass.dartheap 60384)"
check "object: a string that the VM cut" '["_TwoByteString","utf16",151625,128,128]' \
  "$(ask '[d["class"], d["data"]["tag"], d["data"]["length"], d["data"]["truncated_length"], len(d["data"]["text"])]' object --id 178769 sass.dartheap)"
check "object: the root with --all" '[4138,4138,0,39045,39045,["internal"]]' \
  "$(ask '[d["reference_count"], len(d["references"]), d["referrer_count"], d["dominated_count"], len(d["dominated"]), [r["root"] for r in d["roots"]]]' object --all sass.dartheap 1)"
check "object: the root's lists are cut without --all" "... 4128 more (--all lists them)|... 39035 more (--all lists them)" \
  "$("$tool" object sass.dartheap 1 | grep '^\.\.\.' | squeezed)"
# Each outgoing reference is an incoming reference of its target, and the reverse. The same holds for dominators.
check "info, object and tree agree on the number of live objects" '[143696,143696]' \
  "$(ask 'd["retained_objects"]' object sass.dartheap 1 | sed 's/^/[/'),$(ask 'all["heaps"][0]["rows"][0]["blocks"]' tree sass.dartheap)]"
check "object: each id of its JSON leads to an object that leads back" 107 "$(
  for id in $(seq 107); do "$tool" object --all --json small.dartheap "$id"; done | python3 -c 'import json, sys
text, objects, decode = sys.stdin.read(), {}, json.JSONDecoder().raw_decode
while text.strip():
    value, end = decode(text.strip())
    text = text.strip()[end:]
    objects[value["files"][0]["id"]] = value["files"][0]
there = {(o, r["id"], r["reference"]) for o, d in objects.items() for r in d["references"] if r["id"] != "0"}
back = {(r["id"], o, r["reference"]) for o, d in objects.items() for r in d["referrers"]}
down = {(o, r["id"], r["retained"]) for o, d in objects.items() for r in d["dominated"] if r["id"] != "0"}
up = {(d["dominator"]["id"], o, d["retained"]) for o, d in objects.items() if d["dominator"]}
sums = all(d["retained"] == d["bytes"] + sum(r["retained"] for r in d["dominated"]) for d in objects.values() if d["retained"] is not None)
print(len(objects) if there == back and down == up and sums and len(there) > 300 else (there ^ back, down ^ up, sums))')"
check "object: an omitted object" "id 0 <not described> no record describes it" \
  "$("$tool" object small.dartheap 0 | head -n 1 | squeezed)"
for id in '' 108 0xffff0000 1x abc 99999999999999999999 4294967295 18446744073709551615 ' 1' +1; do
  check "object: an unknown id '$id'" "1 0 heapdump: small.dartheap: no object has the id '$id'" \
    "$(status "$tool" object small.dartheap "$id") $(wc -c < out) $(cat err)"
done
check "object: no id, two ids, --top 0: usage errors" "2 2 2" "$(status "$tool" object small.dartheap) $(status "$tool" object small.dartheap 1 2) $(status "$tool" object --top 0 small.dartheap 1)"

check "dart to dart: the same bytes" "$(sha256sum < sass.dartheap)" "$("$tool" convert --to dart sass.dartheap | sha256sum)"
"$tool" convert --to netcf -o small.log small.dartheap
check "dart to netcf: counts of objects, classes, bytes and references" '[107,27,200160,1500]' \
  "$(ask '[d["graph"][k] for k in ("objects", "classes", "bytes", "references")]' info small.log)"
"$tool" convert --to dart -o back.dartheap small.log
check "and back: the same, with an added root" '[108,28,200160,1501]' \
  "$(ask '[d["graph"][k] for k in ("objects", "classes", "bytes", "references")]' info back.dartheap)"
check "--add-to a trace is refused for dart" 2 "$(status "$tool" convert --to dart --add-to back.dartheap small.dartheap)"

# Snapshots made here. The strings: names, cut to 4 code units; a terminal control character in a class name.
cat > make.py <<'END'
import struct, sys

def u(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])

def s(text):
    data = text.encode("utf-8", "surrogatepass")
    return u(len(data)) + data

def latin1(text, length=None): return u(5) + u(len(text) if length is None else length) + u(len(text)) + text.encode("latin1")
def utf16(text): return u(6) + u(len(text)) + u(len(text)) + text.encode("utf-16-le", "surrogatepass")

none = u(0)
CLASSES = [("Root", "", "", []), ("Node", "app", "package:app/a.dart", ["next", "label"]),
           ("String", "dart.core", "dart:core", []), ("Bad\033[31m\u202e", "", "", [])]

def write(path, objects, identities=None, external=()):
    out = b"dartheap" + u(0) + s("made") + u(1) + u(2) + u(3) + u(len(CLASSES))
    for name, library, uri, fields in CLASSES:
        out += u(0) + s(name) + s(library) + s(uri) + s("") + u(len(fields))
        for i, field in enumerate(fields):
            out += u(0) + u(i) + s(field) + s("")
    out += u(sum(len(o[3]) for o in objects)) + u(len(objects))
    for class_id, size, data, references in objects:
        out += u(class_id) + u(size) + data + u(len(references)) + b"".join(map(u, references))
    out += u(len(external)) + b"".join(u(i) + u(size) + s(name) for i, size, name in external)
    if identities:
        out += b"".join(map(u, identities))
    open(path, "wb").write(out)

# The root holds two nodes. Each has its own label, with the same text. A third node is garbage.
before = [(1, 0, none, [2, 3]), (2, 100, none, [3, 4]), (2, 50, none, [0, 5]), (3, 24, latin1("a\n\"\x9b"), []),
          (3, 32, latin1("a\n\"\x9b"), []), (2, 7, u(3) + u(2**64 - 5), []), (4, 1, u(4) + struct.pack("<d", 0.1), []),
          (3, 40, utf16("x\ud800"), []), (3, 1000, latin1("long", 900), []), (3, 1000, latin1("long", 900), [])]
write("before.dartheap", before, [0, 11, 12, 0, 14, 15, 0, 0, 18, 19], [(2, 1000, "buffer"), (2, 24, "more")])
# Compared with that, the node of hash code 12 is gone, node 11 has grown, and node 21 is new.
after = [(1, 0, none, [2, 3]), (2, 300, none, [3, 4]), (2, 70, none, [0, 5])] + before[3:]
write("after.dartheap", after, [0, 11, 21, 0, 14, 15, 0, 0, 18, 19])
write("old.dartheap", before)
# The same, but no root holds the two nodes that differ.
for name, size, rest, code in (("dead.dartheap", 100, before[2:], 12), ("dead-later.dartheap", 300, after[2:], 21)):
    write(name, [(1, 0, none, [2]), (2, size, none, [0, 4])] + rest, [0, 11, code, 0, 14, 15, 0, 0, 18, 19])
# Enough objects to show that the two files share no hash code.
crowd = [(1, 0, none, list(range(2, 302)))] + [(2, 8, none, [])] * 400
write("crowd.dartheap", crowd, range(401))
write("stranger.dartheap", crowd, [0] + [400] + list(range(5000, 5399)))
# The root holds a Foo in three ways, none of them strong, and a key whose ephemeron has a value.
CLASSES = [("Root", "", "", []), ("_WeakReference", "dart.core", "dart:core", []), ("Foo", "app", "package:app/a.dart", []),
           ("_WeakProperty", "dart.core", "dart:core", ["key_", "value_"]), ("Key", "app", "package:app/a.dart", []),
           ("FinalizerEntry", "dart._internal", "dart:_internal", [])]
write("weak.dartheap", [(1, 0, none, [2, 4, 7, 9, 10]), (2, 16, none, [3]), (3, 1000, none, []), (4, 24, none, [5, 6]),
                        (5, 16, none, []), (3, 2000, none, []), (6, 32, none, [8]), (3, 3000, none, []),
                        (4, 24, none, [10, 11]), (5, 16, none, []), (3, 4000, none, [])])
END
python3 make.py

check "weak references do not retain" '[["Root",4112],["_WeakProperty",4048],["Key",4016],["Foo",4000],["FinalizerEntry",32],["_WeakReference",16]]' \
  "$(ask '[[c["class"], c["retained"]] for c in d["classes"]]' classes weak.dartheap)"
for class in _List Function Class _WeakProperty; do
  file=$([ $class = _WeakProperty ] && echo weak.dartheap || echo sass.dartheap)
  check "classes: the bytes of $class equal those of retained --class" "[$(ask 'd["retained"]' retained --class $class $file),true]" \
    "$(ask '[[c["retained"], c["exact"]] for c in d["classes"] if c["class"] == "'$class'"][0]' classes $file)"
done
check "object and path show weak references (JSON)" '[["3","weak",null]] [["5","key","key_"],["6","value","value_"]] [["4","value"]]' \
  "$(ask '[[r["id"], r["kind"], r["retained"]] for r in d["references"]]' object weak.dartheap 2) $(ask '[[r["id"], r["kind"], r["field"]] for r in d["references"]]' object weak.dartheap 4) $(ask '[[r["id"], r["kind"]] for r in d["referrers"]]' object weak.dartheap 6)"
check "object shows weak references (text)" "3 garbage [0] (weak): Foo (app)|10 3.9 KiB key_ (ephemeron key): Key (app)|11 3.9 KiB value_ (ephemeron value): Foo (app)" \
  "$({ "$tool" object weak.dartheap 2 | grep weak; "$tool" object weak.dartheap 9 | grep 'ephemeron'; } | squeezed)"
check "path leads through the ephemeron's key" "root: internal|Root id 1, retains 4112, by reference 4|Key (app) id 10, retains 4016, as key of ephemeron _WeakProperty (dart.core) id 9|Foo (app) id 11, retains 4000" \
  "$("$tool" path --bytes --id 11 weak.dartheap | squeezed)"
check "... in JSON, too" '[[4,null],[null,"9"],[null,null]]' \
  "$(ask '[[o.get("reference"), o.get("key_of", {}).get("id")] for o in d["paths"][0]["objects"]]' path --id 11 weak.dartheap)"
check "path finds no way to a weakly held object" "no root holds it: garbage, or held weakly alone" "$("$tool" path --id 3 weak.dartheap)"
check "info counts weak references" 6 "$(ask 'd["graph"]["weak_references"]' info weak.dartheap)"
check "dart to dart keeps weak references: the same bytes" "$(sha256sum < weak.dartheap)" "$("$tool" convert --to dart weak.dartheap | sha256sum)"
check "dart to netcf warns about weak references" "0 heapdump: weak.dartheap: warning: 6 weak references are left out; values of ephemerons become references of their keys
heapdump: netcf cannot store these, and leaves them out: names of references" "$(status "$tool" convert --to netcf -o weak.log weak.dartheap) $(cat err)"
check "... and the same objects stay alive" "$("$tool" tree --bytes weak.dartheap | awk '{ print $1 }' | paste -sd' ')" "$("$tool" tree --bytes weak.log | awk '{ print $1 }' | paste -sd' ')"

check "object lists external sizes separately" '[1124,100,[["buffer",1000],["more",24]],1230]' \
  "$(ask '[d["bytes"], d["own_bytes"], [[x["name"], x["bytes"]] for x in d["external"]], d["retained"] + d["references"][0]["retained"]]' object before.dartheap 2)"
check "object: the text form" 'id 2 Node (app) package:app/a.dart|hash code 11|own bytes 100|external 1000 buffer|external 24 more|shallow 1124|retained 1148 in 2 objects|refers to 2|id retained class|3 82 next: Node (app)|4 24 label: String (dart.core) "a\n\"\u009b"|referred to by 1|id retained class|1 1230 [0]: Root|dominated by 1|id retained class|1 1230 Root|dominates 1|id retained class|4 24 String (dart.core) "a\n\"\u009b"' \
  "$("$tool" object --bytes before.dartheap 2 | squeezed)"
check "a control character of a class name does not reach the terminal" "id 7 Bad?[31m?|double 0.1" "$("$tool" object before.dartheap 7 | head -2 | squeezed)"
check "--top cuts external sizes, too" '[2,[["buffer",1000]]] ... 1 more (--all lists them)' \
  "$(ask '[d["external_count"], [[x["name"], x["bytes"]] for x in d["external"]]]' object --top 1 before.dartheap 2) $("$tool" object --top 1 before.dartheap 2 | sed -n '/external/{n;p}' | squeezed)"
check "object: values" '[-5,"0.1","x\ud800"]' \
  "$(for id in 6 7 8; do ask 'd["data"].get("value", d["data"].get("text"))' object before.dartheap $id; done | paste -sd, | sed 's/.*/[&]/')"
check "object: garbage has no retained size and no dominator" '[null,0,null]' "$(ask '[d["retained"], d["retained_objects"], d["dominator"]]' object before.dartheap 6)"
check "strings: a lone surrogate, and a string that the VM cut" 'utf16 "x\ud800"|latin1 "long"...|length 900, 4 of them in the file' \
  "$({ "$tool" object before.dartheap 8 | sed -n 2p; "$tool" object before.dartheap 9 | sed -n '2,3p'; } | squeezed)"
check "strings whose cut text is equal do not count as duplicates" '[24,1000,[["long",true],["a\n\"\u009b",false]]]' \
  "$(ask '[d["wasted"], d["wasted_if_alike"], [[r["text"], r["cut"]] for r in d["strings"]]]' strings --garbage before.dartheap)"
check "strings: garbage is left out" '[2,24,0]' "$(ask '[d["objects"], d["wasted"], d["wasted_if_alike"]]' strings before.dartheap)"

check "diff: by class" '[["Node",1181,377]]' "$(ask '[[c["class"], c["before"], c["after"]] for c in d["classes"]]' diff before.dartheap after.dartheap)"
check "diff: by object" '[["Node",1,70,1,50,2,1131,307]]' \
  "$(ask '[[c[k] for k in ("class", "new_objects", "new_bytes", "gone_objects", "gone_bytes", "kept_objects", "kept_bytes_before", "kept_bytes_after")] for c in d["identity"]["classes"]]' diff before.dartheap after.dartheap)"
check "diff: new, gone and changed objects" '[[1,[{"id_after":"3","after":70,"class":"Node","scope":"app"}]],[1,[{"id_before":"3","before":50,"class":"Node","scope":"app"}]],[1,[{"id_before":"2","before":1124,"id_after":"2","after":300,"class":"Node","scope":"app"}]]]' \
  "$(ask '[[d["identity"][k]["count"], d["identity"][k]["objects"]] for k in ("new", "gone", "changed")]' diff before.dartheap after.dartheap)"
check "diff: the text form" "-824 B 2 2 Node (app)" "$("$tool" diff before.dartheap after.dartheap | tail -n 1 | squeezed)"
for live in '' --live; do
  check "diff ${live:-without --live}: compares garbage only without --live" "$([ $live ] && echo '[[["Node",100,300]],0,0,1]' || echo '[[["Node",157,377]],1,1,1]')" \
    "$(ask '[[[c["class"], c["before"], c["after"]] for c in d["classes"]]] + [d["identity"][k]["count"] for k in ("gone", "new", "changed")]' diff $live dead.dartheap dead-later.dartheap)"
done
check "diff --live is refused for a heap profile" "1 heapdump: heaps.json (chrome) is a profile, not a snapshot of objects: --live needs snapshots" \
  "$(printf '{"traceEvents":[{"pid":1,"ts":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"a","bt":""}]}}}}}]}' > heaps.json; status "$tool" diff --live heaps.json heaps.json) $(cat err)"
check "diff of snapshots of two processes: by class" "0 null heapdump: crowd.dartheap and stranger.dartheap are of different processes, by their identity hash codes: compared by class" \
  "$(status "$tool" diff crowd.dartheap stranger.dartheap) $(ask 'd["identity"]' diff crowd.dartheap stranger.dartheap 2> /dev/null) $(cat err)"
check "diff without hash codes: by class" "0 null heapdump: old.dartheap has no identity hash codes: compared by class" \
  "$(status "$tool" diff old.dartheap after.dartheap) $(ask 'd["identity"]' diff old.dartheap after.dartheap 2> /dev/null) $(cat err)"
check "diff of equal snapshots is empty" '[[],[],0,0,0]' \
  "$(ask '[d["classes"], d["identity"]["classes"]] + [d["identity"][k]["count"] for k in ("new", "gone", "changed")]' diff sass.dartheap sass.dartheap)"
check "strings refuses a .NET dump" "1 heapdump: small.log: a netcf file has no strings" "$(status "$tool" strings small.log) $(cat err)"

head -c 6000 small.dartheap > cut.dartheap
check "a truncated file, strict: the message gives the offset" "1 1" "$(status "$tool" info --strict cut.dartheap) $(grep -c 'offset [0-9]*: .*object' err)"
check "a truncated file, lenient: the objects so far, and a warning" "0 1" "$(status "$tool" object cut.dartheap 1) $(grep -c 'warning: ' err)"
"$tool" convert --to dart -o mended.dartheap cut.dartheap 2> /dev/null
check "a truncated file is written back well-formed" 0 "$(status "$tool" info --strict mended.dartheap)"
gzip -c sass.dartheap | head -c 100000 > cut.gz
check "a truncated .gz file, lenient: the objects so far, and warnings" "0 1 1" "$(status "$tool" info cut.gz) $(grep -c 'warning: the gzip stream' err) $(grep -c 'warning: object' err)"
check "a truncated .gz file, strict: refused" "1 1" "$(status "$tool" info --strict cut.gz) $(grep -c 'the gzip stream' err)"
check "a closed pipe: status 1 and a message" "1 1" "$( (trap '' PIPE; "$tool" object --all --json sass.dartheap 1 2> err; echo $? > rc) | head -c 10 > out; cat rc) $(grep -c 'standard output: writing failed' err)"
check "standard input" '107' "$("$tool" info --json - < small.dartheap | python3 -c 'import json, sys; print(json.load(sys.stdin)["files"][0]["graph"]["objects"])')"
exit $failed
