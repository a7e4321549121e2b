#!/usr/bin/env bash
# Dart snapshots that `convert` writes from V8 snapshots. An independent reader follows the format's document
# (heap_snapshot.md of the Dart SDK, with its known errors) and compares strings and numbers object by object.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

command -v python3 > /dev/null || need python3 || skip "python3 cannot be installed here"
work=$PWD/build/peers/dart-written
rm -rf "$work" && mkdir -p "$work"

# read_dart FILE: one line per object except the root: its data as JSON. The file must end where its parts end.
read_dart() { python3 - "$1" <<'END'
import json, struct, sys
data, at = open(sys.argv[1], 'rb').read(), 8
assert data[:8] == b'dartheap'
def number():
    global at
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128: return value
def take(n):
    global at
    at += n
    assert at <= len(data)
    return data[at - n:at]
def text(): return take(number()).decode()
def value():
    tag = number()
    if tag == 0: return None
    if tag == 1: return ['null']
    if tag == 2: return ['bool', number()]
    if tag == 3: return ['integer', struct.unpack('<q', struct.pack('<Q', number()))[0]]
    if tag == 4: return ['double', struct.unpack('<d', take(8))[0]]
    if tag in (5, 6):
        length, units = number(), number()
        assert units <= length
        return ['string', (take(units).decode('latin1') if tag == 5 else take(2 * units).decode('utf-16-le', 'surrogatepass'))]
    if tag == 7: return ['length', number()]
    assert tag == 8
    return ['name', text()]
number(), text()
shallow, capacity, external = number(), number(), number()
classes = number()
for _ in range(classes):
    number(), text(), text(), text(), text()
    for _ in range(number()): number(), number(), text(), text()
references, objects, sum, refer = number(), number(), 0, 0
for i in range(objects):
    assert 0 < number() <= classes
    sum += number()
    v = value()
    if i: print(json.dumps(v))
    for _ in range(number()): assert 0 <= number() <= objects; refer += 1
assert sum == shallow <= capacity and refer <= references
properties = [(number(), number(), text()) for _ in range(number())]
assert external == __builtins__.sum(p[1] for p in properties) and all(0 < p[0] <= objects for p in properties)
if at < len(data): [number() for _ in range(objects)]
assert at == len(data)
END
}

# read_v8 FILE: the same for strings and numbers of a V8 snapshot; null for other objects. The text of a number is the
# string at its edge "value".
read_v8() { python3 - "$1" <<'END'
import json, sys
s = json.load(open(sys.argv[1], encoding='utf-8', errors='surrogatepass'))
meta, nodes, edges, strings = s['snapshot']['meta'], s['nodes'], s['edges'], s['strings']
fields, types, kinds, at = meta['node_fields'], meta['node_types'][0], meta['edge_types'][0], 0
width, count = len(fields), fields.index('edge_count')
for n in range(0, len(nodes), width):
    mine, at = range(at, at + nodes[n + count]), at + nodes[n + count]
    kind, out = types[nodes[n]], None
    if kind == 'string': out = ['string', strings[nodes[n + 1]]]
    if kind == 'number':
        for e in mine:
            if kinds[edges[3 * e]] == 'internal' and strings[edges[3 * e + 1]] == 'value':
                spelled = strings[nodes[edges[3 * e + 2] + 1]]
                whole = spelled.lstrip('-').isdigit() and spelled != '-0' and abs(int(spelled)) < 1 << 63
                out = ['integer', int(spelled)] if whole else ['double', float(spelled)]
    print(json.dumps(out))
END
}

# same NAME FILE LEAST: compares the two readings. Objects other than strings and numbers may differ. At least LEAST
# of each must exist.
same() {
  "$tool" convert --to dart -o "$work/$1.dartheap" "$2" 2> "$work/$1.said"
  read_dart "$work/$1.dartheap" > "$work/$1.ours" || { fail "$1: the file breaks the document's rules"; return; }
  read_v8 "$2" > "$work/$1.theirs"
  check "$1: number of objects" "$(wc -l < "$work/$1.theirs")" "$(wc -l < "$work/$1.ours")"
  paste "$work/$1.theirs" "$work/$1.ours" | awk -F'\t' -v least="$3" '
    $1 == "null" { bad += $2 ~ /^\["(string|integer|double)/; next }
    { n[substr($1, 3, 6)]++; bad += $1 != $2 }
    END { print n["string"] + 0 " strings, " n["intege"] + n["double"] " numbers"; exit bad || n["string"] < least || n["intege"] + n["double"] < least }' \
    > "$work/$1.counts" && pass "$1: $(cat "$work/$1.counts") are equal" || fail "$1: other values: $(cat "$work/$1.counts")"
  check "$1: validate finds nothing wrong" "nothing wrong" "$("$tool" validate "$work/$1.dartheap" | sed 's/.*, //')"
}

same chromium-small tests/data/chromium-small.heapsnapshot 8
same node-small tests/data/node-small.heapsnapshot 0
if command -v node > /dev/null; then
  node -e '
    const texts = ["caf\u00e9", "\u20ac", "\ud83c\udf89", "\ud83c", "x".repeat(5000), "\u0000"].map(t => t + Math.sqrt(2));
    globalThis.kept = { texts, numbers: [0.1, -0, NaN, 1e300, 5e-324, 2 ** 53, -1 / 3] };
    const session = new (require("inspector").Session)(), parts = [];
    session.connect();
    session.on("HeapProfiler.addHeapSnapshotChunk", m => parts.push(m.params.chunk));
    session.post("HeapProfiler.takeHeapSnapshot", { captureNumericValue: true }, e => {
      require("fs").writeFileSync(process.argv[1], parts.join("")); });' "$work/node.heapsnapshot"
  same node "$work/node.heapsnapshot" 30
fi

# tests/test_dart_write.c checks that values of a real Dart VM are written back. For objects without values, convert
# invents none.
"$tool" convert --to dart -o "$work/netcf.dartheap" tests/data/garbage.netcf.txt
check "objects without values get none" "null null null" "$(read_dart "$work/netcf.dartheap" | paste -sd' ')"
exit $failed
