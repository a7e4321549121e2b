#!/usr/bin/env bash
# V8 heap snapshots that Node takes here, compared with programs that read them: Chrome DevTools' own worker,
# v8-heap-parser and memlab, all from npm, and an independent computation by the rules (v8_retained.mjs).
#
# Dominators, distances and retained sizes equal those of DevTools for every node, with the file's own shallow sizes.
# v8-heap-parser differs at WeakMaps, and memlab follows edges into objects that a page owns. They agree on most
# nodes, and the script prints how many. v8-heap-parser refuses files with allocation traces.
# Snapshots written from graphs of other runtimes load in all three, with the same retained sizes in DevTools.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must python3 jq
command -v node npm > /dev/null || need nodejs npm || skip "nodejs and npm cannot be installed here"
work=$PWD/build/peers/v8
npm=$PWD/build/peers/v8-npm
peers=$PWD/tests/peers/lib/v8_peers.mjs
mkdir -p "$npm" && rm -rf "$work" && mkdir -p "$work"
if [ ! -f "$npm/worker.mjs" ]; then
  (cd "$npm" && npm init -y && npm install --no-audit --no-fund --ignore-scripts chrome-devtools-frontend@1.0.1705227 \
    esbuild@0.25 @vscode/v8-heap-parser@0.1.0 @memlab/heap-analysis@2.0.5 @memlab/core@2.0.5) > "$work/npm.log" 2>&1 ||
    skip "the npm registry cannot be reached"
  node "$peers" build "$npm" || { fail "DevTools' worker is not bundled"; exit 1; }
fi

# ours FILE, theirs PROGRAM FILE: one line per node with its id, retained size, dominator and distance
ours() { "$tool" retained --top 1000000 --json "$1" | node -e '
  const { files: [{ objects }] } = JSON.parse(require("fs").readFileSync(0));
  process.stdout.write(objects.map(o => `${o.id} ${o.retained} ${(o.dominator ?? o).id} ${o.distance ?? -5}\n`).join(""))' | sort; }
theirs() { node "$peers" "$1" "$npm" "$2" 2> "$work/err" | grep -a '^[0-9]* [0-9 -]*$' | sort; }
agree() { comm -12 "$1" "$2" | wc -l; }

snapshot() {                     # snapshot NAME
  local file=$work/$1.heapsnapshot all
  ours "$file" > "$work/ours.all"
  cut -d' ' -f1,2 "$work/ours.all" | sort > "$work/ours"
  all=$(wc -l < "$work/ours")
  check "$1: all nodes" "$("$tool" info "$file" | awk 'NR == 2 { print $1 }')" "$all"
  node tests/peers/lib/v8_retained.mjs "$file" | sort > "$work/rules"
  theirs devtools "$file" > "$work/devtools.all"
  cut -d' ' -f1,2 "$work/devtools.all" | sort > "$work/devtools"
  theirs parser "$file" > "$work/parser"
  theirs memlab "$file" > "$work/memlab"
  check "$1: retained sizes equal the rules" "$all" "$(agree "$work/ours" "$work/rules")"
  check "$1: retained sizes equal DevTools'" "$all" "$(agree "$work/ours" "$work/devtools")"
  check "$1: dominators and distances equal DevTools'" "$all" "$(agree "$work/ours.all" "$work/devtools.all")"
  if grep -q '"trace_tree":\[\]' "$file"; then check "$1: v8-heap-parser has all nodes" "$all" "$(wc -l < "$work/parser")"; fi
  check "$1: memlab has all nodes" "$all" "$(wc -l < "$work/memlab")"
  echo "$1: of $all nodes v8-heap-parser agrees on $(agree "$work/ours" "$work/parser"), memlab on $(agree "$work/ours" "$work/memlab")"
}

# origins FILE NAME LEAST: detached nodes, classes of native nodes, source locations and allocation stacks of all
# nodes
origins() {
  node "$peers" origins "$npm" "$1" 2> "$work/err" | sort > "$work/origins.theirs"
  "$tool" objects --where 'size>=0' --garbage --json "$1" > "$work/origins.json"
  node "$peers" ours "$1" "$work/origins.json" | sort > "$work/origins.ours"
  check "$2: sources, stacks and detachedness equal DevTools'" "$(wc -l < "$work/origins.theirs")" \
    "$(agree "$work/origins.theirs" "$work/origins.ours")"
  check "... for at least so many nodes" "$3" "$(awk -v least="$3" '$0 ~ / < | 2 / { n++ } END { print (n >= least ? least : n) }' "$work/origins.ours")"
}

env -i PATH="$PATH" node "$peers" take "$work/node.heapsnapshot"
env -i PATH="$PATH" node "$peers" tracked "$work/tracked.heapsnapshot"
cp tests/data/node-small.heapsnapshot "$work/node-small.heapsnapshot"
cp tests/data/chromium-small.heapsnapshot "$work/chromium-small.heapsnapshot"
cp tests/data/v8-ids-2.heapsnapshot "$work/ids.heapsnapshot"
cp tests/data/v8-julia300.heapsnapshot "$work/julia300.heapsnapshot"
for name in node node-small chromium-small ids julia300; do
  snapshot $name
  check "$name: convert to heapsnapshot" 0 "$(cd "$work" && status "$tool" convert --to heapsnapshot -o "$work/back" "$work/$name.heapsnapshot")"
  cmp -s "$work/back" "$work/$name.heapsnapshot" && pass "$name: the same bytes" || fail "$name: other bytes"
done

snapshot tracked
origins "$work/tracked.heapsnapshot" tracked 100
origins "$work/node.heapsnapshot" node 5
origins "$work/chromium-small.heapsnapshot" chromium-small 0
python3 tests/peers/lib/v8_paths.py "$tool" "$work/node.heapsnapshot" "$work/tracked.heapsnapshot" || failed=1
if need chromium python3; then
  (cd "$work" && python3 "$OLDPWD/tests/peers/lib/v8_page.py" "$OLDPWD/tests/peers/lib" page.heapsnapshot)
  origins "$work/page.heapsnapshot" page 6
  snapshot page
  check "page: detached elements" "4 <li>, 1 <div>, 1 <span>" "$("$tool" classes --json "$work/page.heapsnapshot" |
    jq -r '.files[0].classes[] | select(.class | startswith("Detached <")) | "\(.live_objects) \(.class[9:])"' | sort -k1,1rn -k2 | paste -sd, | sed 's/,/, /g')"
else
  echo "SKIP: chromium cannot be installed here"
fi

# Strings: their number, the number of different ones, bytes, and bytes without the largest of each.
check "node: strings" "$(node -e '
  const { snapshot: { meta }, nodes, strings } = JSON.parse(require("fs").readFileSync(process.argv[1]));
  const width = meta.node_fields.length, type = meta.node_types[0].indexOf("string"), sizes = new Map();
  let count = 0, bytes = 0, wasted = 0;
  for (let n = 0; n < nodes.length; n += width) {
    if (nodes[n] !== type) continue;
    const text = strings[nodes[n + 1]];
    sizes.set(text, [...(sizes.get(text) ?? []), nodes[n + 3]]), count++, bytes += nodes[n + 3];
  }
  for (const all of sizes.values()) wasted += all.reduce((a, b) => a + b) - Math.max(...all);
  console.log(count, sizes.size, bytes, wasted)' "$work/node.heapsnapshot")" \
  "$("$tool" strings --json "$work/node.heapsnapshot" | node -e '
  const { files: [f] } = JSON.parse(require("fs").readFileSync(0));
  console.log(f.objects, f.different, f.bytes, f.wasted + f.wasted_if_alike)')"

# Graphs of other runtimes: convert writes no garbage, so DevTools' retained sizes equal those of the source.
source_of() { case $1 in dart) echo tests/data/small.dartheap ;; netcf) echo fuzz/seeds/fuzz_netcf/sample.txt ;; *) echo tests/data/garbage.netcf.txt ;; esac; }
for name in dart netcf garbage; do
  "$tool" convert --to heapsnapshot -o "$work/$name.heapsnapshot" "$(source_of $name)" 2> "$work/$name.said"
  snapshot $name
  check "$name: retained sizes equal the source's" "$(ours "$(source_of $name)" | cut -d' ' -f2 | sort -n | paste -sd' ')" \
    "$(grep -Evx "($(jq -r '"\(.nodes[2])|\(.nodes[9])"' "$work/$name.heapsnapshot")) .*" "$work/devtools" | cut -d' ' -f2 | sort -n | paste -sd' ')"
done
check "a message counts the garbage that is left out" 1 "$(grep -c 'garbage is left out: 1 object unreachable from roots, 8 bytes$' "$work/garbage.said")"
exit $failed
