#!/usr/bin/env bash
# heapdump suspects on heaps whose answer is known: how trends are judged, series of several files, sampled dumps, graphs.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must jq gcc libstb-dev xz-utils
work=$PWD/build/peers/suspects-more
rm -rf "$work" && mkdir -p "$work"
${CC:-cc} -std=gnu11 -O2 -w $(pkg-config --cflags stb 2>/dev/null || echo -I/usr/include/stb) tests/peers/check_aa.c -o "$work/check_aa" -lpthread
data=$PWD/tests/data seeds=$PWD/fuzz/seeds
cd "$work"

# dumps LEAK CACHE SAW: hexadecimal self sizes of three sites, a triple a dump; below them allocators and containers.
dumps() {
  local n=0 pid=${PID-7}
  printf '[{"pid":%s,"ph":"M","name":"process_name","args":{"name":"app"}},{"pid":%s,"ph":"M","args":{"stackFrames":{' $pid $pid
  printf '"1":{"name":"_start"},"2":{"name":"main (a.c:9)","parent":"1"},"3":{"name":"leak (a.c:1)","parent":"2"},"4":{"name":"__GI___strdup (strdup.c:42)","parent":"3"},'
  printf '"5":{"name":"cache(int) (a.c:2)","parent":"2"},"6":{"name":"void std::vector<int, std::allocator<int> >::resize(int)","parent":"5"},"7":{"name":"operator new(unsigned long)","parent":"6"},"8":{"name":"saw (a.c:3)","parent":"2"}}}}'
  while [ $# -ge 3 ]; do
    n=$((n + 1))
    printf ',{"pid":%s,"ts":%s000000,"ph":"v","id":"%s","args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"%x","bt":""},{"size":"%x","bt":"2"},{"size":"%s","bt":"4"},{"size":"%s","bt":"7"},{"size":"%s","bt":"8"}]}}}}}' \
      $pid $n $n $((0x$1 + 0x$2 + 0x$3)) $((0x$1 + 0x$2 + 0x$3)) "$1" "$2" "$3"
    shift 3
  done
  printf ']'
}
first() { "$tool" suspects --json "$@" | jq -r '.series[0] | "\(.dumps): " + ([.suspects[] | .site] | join(","))'; }

dumps 1000 8000 9000  2000 f000 100  3000 f800 5000 > three.json
check "steady before levelling off; what went back is none" "3: leak,cache(int)" "$(first three.json)"
check "the site is who asked, with its place and callers" "leak a.c:1 main" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0] | "\(.site) \(.place) \(.callers | join(","))"')"
check "growth, a step, a second, steps" "8192 4096 4096 2" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0] | "\(.growth) \(.per_step) \(.per_second) \(.steps_grown)"')"
check "text" "1" "$("$tool" suspects three.json | grep -c '^      +8.0 KiB.*+4.0 KiB a step, +4.0 KiB/s; now 12.0 KiB; grew in 2 of 2 steps, steadily$')"
dumps 1000 8000 9000  2000 9000 100 > two.json
check "two dumps" "2: leak,cache(int)" "$(first two.json)"
dumps 1000 8000 9000 > one.json
check "one dump: what holds most" "1: saw,cache(int),leak" "$(first one.json)"
PID=8 dumps 2000 8000 9000 > other.json
check "two files, of processes of one name" "2: leak" "$(first one.json other.json)"
dumps 1000 8000 9000  2000 8800 9000  2f00 9000 9000  2e00 10 10 > end.json
check "the program clears up: what stays is the leak" "3: leak,cache(int) true" "$(first end.json) $("$tool" suspects --json end.json | jq -r '.series[0].suspects[0].there_at_end')"
dumps 1000 1000 f000  1000 1000 e000 > less.json
check "nothing grew" "2:  1" "$(first less.json) $("$tool" suspects less.json | grep -c '^  nothing grew')"
check "--top" "3: leak" "$(first --top 1 three.json)"
check "--json to a file" 0 "$(status "$tool" suspects --json -o out.json three.json)$(jq -e '.series | length' out.json > /dev/null || echo bad)"

# stacks STACK BYTES/BLOCKS...: dumps of call stacks, "main;a;b", each with what it held in three dumps.
stacks() {
  python3 - "$@" << 'END'
import json, sys
frames, cells, at = {}, [], 0
for word in sys.argv[1:]:
    if "/" in word:
        cells[-1][1].append([int(x) for x in word.split("/")])
        continue
    parent = None
    for i, name in enumerate(word.split(";")):
        id = ";".join(word.split(";")[:i + 1])
        frames[id] = {"name": name, **({"parent": parent} if parent else {})}
        parent = id
    cells.append((parent, []))
all = [{"pid": 7, "ph": "M", "name": "process_name", "args": {"name": "app"}}, {"pid": 7, "ph": "M", "args": {"stackFrames": frames}}]
for t in range(3):
    own = [{"size": "%x" % c[1][t][0], "count": "%x" % c[1][t][1], "bt": c[0]} for c in cells]
    total = {"size": "%x" % sum(c[1][t][0] for c in cells), "count": "%x" % sum(c[1][t][1] for c in cells), "bt": ""}
    all.append({"pid": 7, "ts": (t + 1) * 1000000, "ph": "v", "id": str(t), "args": {"dumps": {"heaps": {"malloc": {"entries": [total] + own}}}}})
print(json.dumps(all))
END
}
stacks "main;few" 4096/2 8192/4 12288/6 "main;many" 1024/64 2048/128 3072/192 > many.json
check "many blocks before a few large ones" "3: many,few" "$(first many.json)"
stacks "main;buffer" 90000/1 180000/1 270000/1 "main;list" 4000/10 8000/20 12000/30 > buffer.json
check "one block that grows by pages" "3: buffer,list" "$(first buffer.json)"
still="4000/40 4000/40 4000/40"
stacks "main;a;need" $still "main;b;need" $still "main;c;need" 900/9 1800/18 2700/27 > need.json
check "what allocates for others is passed over" "3: c main" "$(first need.json) $("$tool" suspects --json need.json | jq -r '.series[0].suspects[0].callers | join(",")')"
stacks "main;a;text;need" $still "main;b;text;need" $still "main;c;text;need" 900/9 1800/18 2700/27 > need.json
check "... and what calls that for others" "3: c" "$(first need.json)"
stacks "main;a;eval" $still "main;b;eval" $still "main;c;eval" 900/9 1800/18 2700/27 "main;eval;c;eval" 900/9 1800/18 2700/27 > need.json
check "... not what is below itself" "3: eval" "$(first need.json)"
stacks "main;a;need" $still "main;b;need" $still "main;need" 900/9 1800/18 2700/27 > need.json
check "... not for the outermost function" "3: need" "$(first need.json)"
stacks "main;a;need" $still "main;c;need" 900/9 1800/18 2700/27 > need.json
check "... not what two call" "3: need" "$(first need.json)"
grew="900/9 1800/18 2700/27"
stacks "main;a;need" $grew "main;b;need" $grew "main;c;need" $grew "main;d;need" $grew > need.json
check "... nor what leaks for all" "3: need" "$(first need.json)"
stacks "main;put;entry" 640/10 1280/20 1920/30 "main;put;key" 600/10 1200/20 1800/30 "main;other" 1000/11 2000/22 3000/33 > parts.json
check "parts of one thing before a larger one" "3: entry,key,other key" "$(first parts.json) $("$tool" suspects --json parts.json | jq -r '.series[0].suspects[0].as_often_as')"
stacks "main;entry" 640/10 1280/20 1920/30 "main;key" 600/10 1200/20 1800/30 "main;other" 1000/11 2000/22 3000/33 > parts.json
check "... that has a caller of its own" "3: other,entry,key" "$(first parts.json)"

# What record --ages kept: the same leak, and how much of it is old; what grows by realloc stays as suspect as it is.
# aged DUMP SECONDS [SITE AGE BYTES BLOCKS]...
aged() {
  local dump=$1 at=$2
  shift 2
  while [ $# -ge 4 ]; do
    jq -nc --arg dump "$dump" --arg at "$at" --arg site "$1" --arg age "$2" --arg bytes "$3" --arg blocks "$4" '{ process: "app", pid: 7, dump: $dump,
      time: "2026-01-01T00:0\($at):00.000000Z", allocator: "malloc", kind: "live", cumulative: "self", stack: ["main", $site], type: null,
      axis_age: [$age], bytes: ($bytes | tonumber), blocks: ($blocks | tonumber) }'
    shift 4
  done
}
aged one 1 leak "1 s to 10 s" 1000 10 buffer "1 s to 10 s" 4000 1 > aged1.jsonl
aged two 3 leak "10 s to 1 min" 300 3 leak "1 min to 10 min" 1000 10 leak "1 day to 10 days" 700 7 buffer "1 s to 10 s" 4400 1 > aged2.jsonl
check "ages: what of each site is older than a minute" "leak 1000,2000 1700 buffer 4000,4400 0" \
  "$("$tool" suspects --json aged1.jsonl aged2.jsonl | jq -r '[.series[0].suspects[] | "\(.site) \(.bytes | map(tostring) | join(",")) \(.older_than_a_minute)"] | join(" ")')"
check "... in words" 1 "$("$tool" suspects --bytes aged1.jsonl aged2.jsonl | grep -cE '; now +2000, +1700 of it older than 1 min')"
check "... of one dump" 1 "$("$tool" suspects --bytes aged2.jsonl | grep -cE '20 blocks, +1700 of it older than 1 min')"
check "... not told where a dump has none" "null 0" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0].older_than_a_minute') $(
  "$tool" suspects three.json | grep -c 'older than')"

# Of sampled dumps only what is beyond twice its error. Nothing grew in these: of 20 pairs and 10 sites each, few seem to.
mkdir aa
./check_aa aa 20 2000 65536 > out
n=0
for i in $(seq 0 19); do n=$((n + $("$tool" suspects --json aa/$i.a.json aa/$i.b.json | jq '[.series[0].suspects[]] | length'))); done
check "sampled: few of 200 sites that did not grow are suspects" yes "$([ $n -le 10 ] && echo yes || echo $n)"
mkdir more
./check_aa more 1 4000 65536 > out
check "sampled: those that grew most are" yes "$("$tool" suspects --json aa/0.a.json more/0.a.json | jq -r 'if [.series[0].suspects[].site] | index("site 9") != null and index("site 8") != null then "yes" else . end')"

check "sampled: how sure that is" yes "$("$tool" suspects aa/0.a.json more/0.a.json | grep -qE '^ +\+[0-9.]+ [KM]iB ±[0-9.]+ [KMG]?i?B' && echo yes)"
check "sampled: of one dump, too, as top has it" "$("$tool" top --self --frames all --top 1 --json "$data/pprof-go.pb" | jq -r '.heaps[] | select(.allocator == "inuse_space").rows[0] | 100 * .self_error / .self_bytes' | awk '{ printf "±%5.1f%%\n", $1 }')" \
  "$("$tool" suspects "$data/pprof-go.pb" | grep -o '±[ 0-9.]*%' | head -n 1)"
check "sampled: the same as top says, in bytes" "$("$tool" top --self --frames all --top 1 --json "$data/pprof-go.pb" | jq -r '.heaps[] | select(.allocator == "inuse_space").rows[0] | "\(.self_bytes) \(.self_error)"')" \
  "$("$tool" suspects --json "$data/pprof-go.pb" | jq -r '.series[0].suspects[0] | "\(.bytes[0]) \(.errors[0])"')"
check "exact: nothing of that" "0 null" "$("$tool" suspects three.json | grep -c '±') $("$tool" suspects --json three.json | jq -r '.series[0].suspects[0].errors')"

# One screen, whatever the names are.
jq -c 'walk(if type == "string" and startswith("leak ") then "leak<" + ("x, " * 3000) + ">(int) (a.c:1)" else . end)' three.json > wide.json
check "one screen of 8 KB" yes "$([ "$("$tool" suspects wide.json | wc -c)" -le 8192 ] && echo yes)"

# Objects.
xz -dc "$data/sass-small.dartheap.xz" > sass.dartheap
check "classes that hold a tenth, and what holds them" "Script 779 94" "$("$tool" suspects --json sass.dartheap | jq -r '.graphs[0].classes[0] | "\(.class) \(.objects) \(.path_percent)"')"
check "one screen of objects" yes "$([ "$("$tool" suspects sass.dartheap | wc -c)" -le 8192 ] && echo yes)"
check "where it piles up" "global" "$("$tool" suspects --json "$data/node-small.heapsnapshot" | jq -r '.graphs[0].suspects[0].class')"
check "snapshots alike: nothing grew" "0 0" "$("$tool" suspects --json "$data/node-small.heapsnapshot" "$data/node-small.heapsnapshot" | jq -r '.graphs[0] | "\(.suspects | length) \(.classes | length)"')"
check "snapshots that do not tell who is who" 1 "$("$tool" suspects sass.dartheap sass.dartheap | grep -c 'not known: these are no snapshots')"
check "every format" "" "$(for f in "$data"/*.* "$seeds"/*/v* "$seeds"/*/sample*; do "$tool" suspects "$f" > out 2> err; s=$?; [ $s -le 1 ] || echo "$f: $s"; "$tool" suspects --json "$f" > out 2> err && { jq -e . out > /dev/null || echo "$f: JSON"; }; done)"
check "heaps and objects are looked at apart" "1 1" "$(status "$tool" suspects three.json sass.dartheap) $(grep -c 'looked at apart' err)"
check "a file that is not there" 1 "$(status "$tool" suspects gone)"
check "wrong usage" "2 2" "$(status "$tool" suspects) $(status "$tool" suspects --by type three.json)"
exit $failed
