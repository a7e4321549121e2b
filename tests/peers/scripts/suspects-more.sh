#!/usr/bin/env bash
# heapdump suspects on heaps with known answers: judgement of trends, series of several files, sampled dumps, graphs.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq gcc libstb-dev xz-utils
work=$PWD/build/peers/suspects-more
rm -rf "$work" && mkdir -p "$work"
linked "$work/check_aa" tests/peers/programs/check_aa.c
data=$PWD/tests/data seeds=$PWD/fuzz/seeds
cd "$work"

# dumps LEAK CACHE SAW: hexadecimal self sizes of three sites, three for each dump; allocators and containers are
# below them
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
check "steady growth before growth that levelled off; a site that shrank back is no suspect" "3: leak,cache(int)" "$(first three.json)"
check "the site is the requesting function, with its place and callers" "leak a.c:1 main" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0] | "\(.site) \(.place) \(.callers | join(","))"')"
check "growth in total, per step, per second, and number of steps" "8192 4096 4096 2" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0] | "\(.growth) \(.per_step) \(.per_second) \(.steps_grown)"')"
check "the text form" "1" "$("$tool" suspects three.json | grep -c '^      +8.0 KiB.*+4.0 KiB a step, +4.0 KiB/s; now 12.0 KiB; grew in 2 of 2 steps, steadily$')"
dumps 1000 8000 9000  2000 9000 100 > two.json
check "two dumps: the largest growth first" "2: leak,cache(int)" "$(first two.json)"
dumps 1000 8000 9000 > one.json
check "one dump: the largest sites first" "1: saw,cache(int),leak" "$(first one.json)"
PID=8 dumps 2000 8000 9000 > other.json
check "two files of processes with one name" "2: leak" "$(first one.json other.json)"
dumps 1000 8000 9000  2000 8800 9000  2f00 9000 9000  2e00 10 10 > end.json
check "memory that the program frees at its end: only the leak remains" "3: leak,cache(int) true" "$(first end.json) $("$tool" suspects --json end.json | jq -r '.series[0].suspects[0].there_at_end')"
dumps 1000 1000 f000  1000 1000 e000 > less.json
check "no site grew" "2:  1" "$(first less.json) $("$tool" suspects less.json | grep -c '^  nothing grew')"
sed 's/"ts":1000000/"ts":9000000/' one.json > late.json
check "files in reverse order of time: no time between them" "app, malloc: 2 dumps, 72.0 KiB to 72.0 KiB" "$("$tool" suspects late.json one.json | head -1)"
printf 'main;f 100\n' > a.folded && printf 'main;f 200\n' > b.folded
check "files without process names: the heading has the first and the last" "a.folded to b.folded, -: 2 dumps, 100 B to 200 B" "$("$tool" suspects a.folded b.folded | head -1)"
check "--top limits the list" "3: leak" "$(first --top 1 three.json)"
check "--json -o writes a file" 0 "$(status "$tool" suspects --json -o out.json three.json)$(jq -e '.series | length' out.json > /dev/null || echo bad)"

# condensed: three dumps of main, work, 40 small functions and one large. The first two leave out the small functions
# (their time line has few entries); the large one begins after the first dump.
condensed() {
  python3 - "$@" << 'END'
import json, sys
order = [int(x) for x in sys.argv[1:]]
names = ["main", "work", "leak"] + ["small%02d" % i for i in range(40)]
frames = {n: {"name": n} for n in names[:1]} | {n: {"name": n, "parent": "main"} for n in names[1:3]}
frames |= {n: {"name": n, "parent": "work"} for n in names[3:]}
def dump(t):
    small, leak = 100 * t, 50000 * (t - 1)
    sizes = {"": 40 * small + leak, "main": 40 * small + leak, "work": 40 * small} | ({"leak": leak} if leak else {})
    return sizes | ({n: small for n in names[3:]} if t == 3 else {})
out = [{"pid": 7, "ph": "M", "name": "process_name", "args": {"name": "app"}}, {"pid": 7, "ph": "M", "args": {"stackFrames": frames}}]
out += [{"pid": 7, "ts": (i + 1) * 1000000, "ph": "v", "id": str(i), "args": {"dumps": {"heaps": {"malloc": {"entries": [{"size": "%x" % v, "bt": k} for k, v in dump(t).items()]}}}}} for i, t in enumerate(order)]
print(json.dumps(out))
END
}
grown() { "$tool" suspects --json "$1" | jq -r '.series[0] | ([.suspects[] | "\(.site) \(.growth)"] | join(",")) + "; \(.left_out_functions)"'; }
condensed 1 2 3 > cut.json
check "functions that earlier dumps leave out: their caller grew" "leak 100000,work 8000; 40" "$(grown cut.json)"
check "... no function shrank, and one line explains it" "0 1" "$("$tool" suspects cut.json | grep -c shrank) $("$tool" suspects cut.json | grep -c '^small functions are not in all dumps.*record --min-share')"
condensed 3 2 1 > cut.json
check "... the last dump leaves them out: nothing grew, and two functions shrank" "; 40 -105.5 KiB in 2 functions that shrank" "$(grown cut.json) $("$tool" suspects cut.json | sed -n 's/.*not listed: //p')"
condensed 3 3 > cut.json
check "... all dumps list them: no line" "; 0 0" "$(grown cut.json) $("$tool" suspects cut.json | grep -c '^small')"

# stacks STACK BYTES/BLOCKS...: dumps with the call stacks "main;a;b", and three sizes for each stack
stacks() {
  python3 - "$@" << 'END'
import json, re, sys
frames, cells, at = {}, [], 0
for word in sys.argv[1:]:
    if re.fullmatch(r"\d+/\d+", word):
        cells[-1][1].append([int(x) for x in word.split("/")])
        continue
    parent = None
    for i, name in enumerate(word.split(";") if word else []): # "" is a stack without frames
        id = ";".join(word.split(";")[:i + 1])
        frames[id] = {"name": name, **({"parent": parent} if parent else {})}
        parent = id
    cells.append((parent, []))
all = [{"pid": 7, "ph": "M", "name": "process_name", "args": {"name": "app"}}, {"pid": 7, "ph": "M", "args": {"stackFrames": frames}}]
for t in range(3):
    own = [{"size": "%x" % c[1][t][0], "count": "%x" % c[1][t][1], "bt": c[0]} for c in cells if c[0]]
    total = {"size": "%x" % sum(c[1][t][0] for c in cells), "count": "%x" % sum(c[1][t][1] for c in cells), "bt": ""}
    all.append({"pid": 7, "ts": (t + 1) * 1000000, "ph": "v", "id": str(t), "args": {"dumps": {"heaps": {"malloc": {"entries": [total] + own}}}}})
print(json.dumps(all))
END
}
stacks "main;few" 4096/2 8192/4 12288/6 "main;many" 1024/64 2048/128 3072/192 > many.json
check "many blocks come before a few large ones" "3: many,few" "$(first many.json)"
stacks "main;buffer" 90000/1 180000/1 270000/1 "main;list" 4000/10 8000/20 12000/30 > buffer.json
check "one block that grows by pages" "3: buffer,list" "$(first buffer.json)"
still="4000/40 4000/40 4000/40"
stacks "main;a;need" $still "main;b;need" $still "main;c;need" 900/9 1800/18 2700/27 > need.json
check "a function that allocates for many callers is skipped" "3: c main" "$(first need.json) $("$tool" suspects --json need.json | jq -r '.series[0].suspects[0].callers | join(",")')"
stacks "main;a;text;need" $still "main;b;text;need" $still "main;c;text;need" 900/9 1800/18 2700/27 > need.json
check "... and so is its caller if that serves many" "3: c" "$(first need.json)"
stacks "main;a;eval" $still "main;b;eval" $still "main;c;eval" 900/9 1800/18 2700/27 "main;eval;c;eval" 900/9 1800/18 2700/27 > need.json
check "... but not a function below itself (recursion)" "3: eval" "$(first need.json)"
stacks "main;a;need" $still "main;b;need" $still "main;need" 900/9 1800/18 2700/27 > need.json
check "... not below the outermost function" "3: need" "$(first need.json)"
stacks "main;a;need" $still "main;c;need" 900/9 1800/18 2700/27 > need.json
check "... not a function with only two callers" "3: need" "$(first need.json)"
grew="900/9 1800/18 2700/27"
stacks "main;a;need" $grew "main;b;need" $grew "main;c;need" $grew "main;d;need" $grew > need.json
check "... nor a function that leaks for all callers" "3: need" "$(first need.json)"
stacks "main;put;entry" 640/10 1280/20 1920/30 "main;put;key" 600/10 1200/20 1800/30 "main;other" 1000/11 2000/22 3000/33 > parts.json
check "sites that grow together come before a larger single one" "3: entry,key,other key" "$(first parts.json) $("$tool" suspects --json parts.json | jq -r '.series[0].suspects[0].as_often_as')"
stacks "main;entry" 640/10 1280/20 1920/30 "main;key" 600/10 1200/20 1800/30 "main;other" 1000/11 2000/22 3000/33 > parts.json
check "... but not one with another caller" "3: other,entry,key" "$(first parts.json)"

# Growth is judged by time, so that a short first or last step does not change the verdict. timed SECONDS:BYTES...: one
# site in dumps at these times; words: the verdict on it.
timed() {
  local n=0 point
  for point; do
    n=$((n + 1))
    jq -nc --arg dump $n --arg at "${point%:*}" --arg bytes "${point#*:}" --arg pid "${PID-7}" '($at | split(".")) as $t | {
      process: "app", pid: ($pid | tonumber), dump: $dump, allocator: "malloc", kind: "live", cumulative: "self",
      time: ("2026-01-01T00:\($t[0] | tonumber / 60 | floor + 100 | tostring[1:]):\($t[0] | tonumber % 60 + 100 | tostring[1:]).\($t[1] // "" | . + "000000" | .[:6])Z"),
      stack: ["main", "leak"], type: null, bytes: ($bytes | tonumber), blocks: (($bytes | tonumber) / 10) }'
  done > timed.jsonl
}
words() { "$tool" suspects timed.jsonl | sed -nE 's/.*(grew in .*)/\1/p'; }
verdict() { timed "${@:3}"; check "by time: $1" "$2" "$(words)"; }
verdict "equal steps" "grew in 3 of 3 steps, steadily" 1:1000 2:2000 3:3000 4:4000
verdict "a short last step" "grew in 3 of 3 steps, steadily" 1:1000 2:2000 3:3000 3.1:3100
verdict "... with twice the rate or half of it by chance" "grew in 3 of 3 steps, steadily" 1:1000 2:2000 3:3000 3.1:3050
verdict "... without any growth, which comes block by block" "grew in 2 of 3 steps, steadily" 1:1000 2:2000 3:3000 3.1:3000
verdict "... of three dumps" "grew in 1 of 2 steps, steadily" 1:1000 2:2000 2.05:2000
verdict "... of seven" "grew in 5 of 6 steps, steadily" 1:1000 2:2000 3:3000 4:4000 5:5000 6:6000 6.1:6000
verdict "... in less than a second" "grew in 4 of 4 steps, steadily" 0.2:2000 0.4:4000 0.6:6000 0.8:8000 0.861:8610
verdict "a short first step" "grew in 3 of 3 steps, steadily" 1:1000 1.05:1200 2:2000 3:3000
verdict "... without any growth" "grew in 2 of 3 steps, steadily" 1:1000 1.05:1000 2:2000 3:3000
verdict "a short step in the middle" "grew in 3 of 4 steps, steadily" 1:1000 2:2000 2.1:2000 3:3000 4:4000
verdict "a long last step" "grew in 2 of 2 steps, steadily" 1:1000 2:2000 20:20000
verdict "growth that ends is levelling off" "grew in 2 of 4 steps, levelling off" 1:1000 2:2000 3:3000 4:3000 5:3000
verdict "... also before a short last step" "grew in 3 of 5 steps, levelling off" 1:1000 2:2000 3:3000 4:3000 5:3000 5.1:3010
verdict "... with ever longer steps of the same growth" "grew in 3 of 3 steps, levelling off" 1:1000 2:2000 10:3000 50:4000
verdict "... after a short first step with most growth" "grew in 2 of 2 steps, levelling off" 1:0 2:90000 50:91000
verdict "a step of ordinary length without growth is uneven" "grew in 3 of 4 steps, unevenly" 1:1000 2:2000 3:2000 4:3000 5:4000
verdict "by step, if the program takes a dump after each piece of work" "grew in 3 of 3 steps, steadily" 0.1:1000 0.2:2000 0.21:3000 0.29:4000
for i in 1 2 3; do PID=$i timed $((i * i)):$((i * 1000)); mv timed.jsonl run$i.jsonl; done
check "by step, for runs of a program: times between runs mean nothing" "grew in 2 of 2 steps, steadily" \
  "$("$tool" suspects run1.jsonl run2.jsonl run3.jsonl | sed -nE 's/.*(grew in .*)/\1/p')"
timed 1:1000 5:2000 30:3000; jq -c '.time = null' timed.jsonl > untimed.jsonl
check "... and for dumps without times" "grew in 2 of 2 steps, steadily" \
  "$("$tool" suspects untimed.jsonl | sed -nE 's/.*(grew in .*)/\1/p')"

# With record --ages: the same leak, and how much of it is old. A block that grows by realloc keeps its rank.
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
check "ages: bytes of each site that are older than a minute" "leak 1000,2000 1700 buffer 4000,4400 0" \
  "$("$tool" suspects --json aged1.jsonl aged2.jsonl | jq -r '[.series[0].suspects[] | "\(.site) \(.bytes | map(tostring) | join(",")) \(.older_than_a_minute)"] | join(" ")')"
check "... in the text form" 1 "$("$tool" suspects --bytes aged1.jsonl aged2.jsonl | grep -cE '; now +2000, +1700 of it older than 1 min')"
check "... for one dump" 1 "$("$tool" suspects --bytes aged2.jsonl | grep -cE '20 blocks, +1700 of it older than 1 min')"
check "... not shown if a dump has no ages" "null 0" "$("$tool" suspects --json three.json | jq -r '.series[0].suspects[0].older_than_a_minute') $(
  "$tool" suspects three.json | grep -c 'older than')"

# In sampled dumps, only growth beyond twice its error counts. Nothing grew here: among 20 pairs with 10 sites each,
# few are suspects by chance.
mkdir aa
./check_aa aa 20 2000 65536 > out
n=0
for i in $(seq 0 19); do n=$((n + $("$tool" suspects --json aa/$i.a.json aa/$i.b.json | jq '[.series[0].suspects[]] | length'))); done
check "sampled: at most 10 of 200 sites without growth are suspects" yes "$([ $n -le 10 ] && echo yes || echo $n)"
mkdir more
./check_aa more 1 4000 65536 > out
check "sampled: the sites with most growth are suspects" yes "$("$tool" suspects --json aa/0.a.json more/0.a.json | jq -r 'if [.series[0].suspects[].site] | index("site 9") != null and index("site 8") != null then "yes" else . end')"

check "sampled: growth has its error" yes "$("$tool" suspects aa/0.a.json more/0.a.json | grep -qE '^ +\+[0-9.]+ [KM]iB ±[0-9.]+ [KMG]?i?B' && echo yes)"
check "sampled: one dump has the same error as in top" "$("$tool" top --self --frames all --top 1 --json "$data/pprof-go.pb" | jq -r '.heaps[] | select(.allocator == "inuse_space").rows[0] | 100 * .self_error / .self_bytes' | awk '{ printf "±%5.1f%%\n", $1 }')" \
  "$("$tool" suspects "$data/pprof-go.pb" | grep -o '±[ 0-9.]*%' | head -n 1)"
check "sampled: one dump has the same bytes and error as in top" "$("$tool" top --self --frames all --top 1 --json "$data/pprof-go.pb" | jq -r '.heaps[] | select(.allocator == "inuse_space").rows[0] | "\(.self_bytes) \(.self_error)"')" \
  "$("$tool" suspects --json "$data/pprof-go.pb" | jq -r '.series[0].suspects[0] | "\(.bytes[0]) \(.errors[0])"')"
check "exact dumps have no errors" "0 null" "$("$tool" suspects three.json | grep -c '±') $("$tool" suspects --json three.json | jq -r '.series[0].suspects[0].errors')"

# Every byte of the heap is listed or reported as omitted. sum FILE...: compares the listed and omitted bytes with the
# total; for several dumps, with the growth.
sum() {
  "$tool" suspects --json "$@" | jq -r '.series[0] | if .dumps > 1
    then [([.suspects[].growth] | add // 0), .not_listed.growth, .total[-1] - .total[0]]
    else [([.suspects[].bytes[0]] | add // 0), .not_listed.bytes, .total[0]] end | if .[0] + .[1] == .[2] then "adds up" else tostring end'
}
for f in one three end less many need parts; do check "listed and omitted bytes: $f" "adds up" "$(sum $f.json --top 1)"; done
for f in "$data"/*.pb "$data"/heap-*.txt "$data"/*.folded "$data"/*.heaptrack; do
  ! "$tool" suspects --json "$f" 2> /dev/null | jq -e '.series[0]' > /dev/null || [ "$(sum "$f" 2> /dev/null)" = "adds up" ] || fail "listed and omitted bytes: $f: $(sum "$f")"
done
stacks "main;a" 900/9 1800/18 2700/27 "main;b" 10/1 20/2 30/3 "main;c" 5/1 5/1 4/1 "malloc" 64/1 64/1 96/2 "" 7/1 8/1 9/1 > rest.json
check "... the omitted part in the text form" "     not listed: +52 in 2 functions that grew, -1 in 1 function that shrank, +2 without a known function" \
  "$("$tool" suspects --bytes --top 2 rest.json | grep 'not listed')"
check "... if it is the largest part, the text says so" "     most of the growth is not listed: +1822 in 3 functions that grew, -1 in 1 function that shrank, +2 without a known function" \
  "$(stacks "main;a" 900/9 1800/18 2700/27 "main;b" 1/1 2/2 3/3 "main;d" 900/9 1800/18 2620/27 "malloc" 64/1 64/1 164/2 "main;c" 5/1 5/1 4/1 "" 7/1 8/1 9/1 > most.json; "$tool" suspects --bytes --top 1 most.json | grep 'not listed')"
jq -nc 'range(3) | { process: "app", pid: 7, dump: "1", time: "2026-01-01T00:00:01.000000Z", allocator: "malloc", kind: "live", cumulative: "self", stack: ["main", "f\(.)"], type: null, bytes: 4000, blocks: 1 }' > one-more.jsonl
check "... for one dump" "     most is not listed: 8000 in 2 functions (66.7% of all)" "$("$tool" suspects --bytes --top 1 one-more.jsonl | grep 'not listed')"
stacks "main;a" 900/9 1800/18 2700/27 "_start;malloc" 900/9 1700/18 2500/27 "_start;malloc [libc.so.6]" 900/9 1600/18 2300/27 > helpers.json
check "a stack with only library frames is named by its object, or its innermost function" "a|malloc (library code only)|libc.so.6 (library code only)" \
  "$("$tool" suspects helpers.json | sed -n 's/^ *[0-9]  //p' | paste -sd '|')"
check "no share of the growth exceeds 100%" "33 67" "$(stacks "main;a" 0/0 50/5 100/10 "main;b" 0/0 100/10 200/20 "main;c" 250/9 100/9 0/0 > net.json
  "$tool" suspects net.json | sed -n 's/.*(\([0-9]*\)% of all growth.*/\1/p' | sort -n | paste -sd ' ')"
jq -nc 'range(2) as $p | range(2) as $t | { process: "p\($p)", pid: ($p + 1), dump: "\($t)", time: "2026-01-01T00:00:0\($t).000000Z", allocator: "malloc",
  kind: "live", cumulative: "self", stack: ["main", "f"], type: null, bytes: (4000 + 4000 * $t * (2 - $p)), blocks: 1 }' > two-processes.jsonl
check "omitted heaps are counted, with their bytes" "1 more heap grew less, or not: 8000, +4000" "$("$tool" suspects --bytes --top 1 two-processes.jsonl | tail -n 1)"

# Unknown numbers of blocks are not shown.
uncounted() { jq -nc --arg dump "$1" --arg bytes "$2" '{ process: "app", pid: 7, dump: $dump, time: "2026-01-01T00:00:0\($dump).000000Z",
  allocator: "malloc", kind: "live", cumulative: "self", stack: ["main", "leak"], type: null, bytes: ($bytes | tonumber), blocks: null }'; }
uncounted 1 100 > u1.jsonl; uncounted 2 150 > u2.jsonl
check "unknown numbers of blocks are not printed" "      +50 (100% of all growth); +50/s; now 150" "$("$tool" suspects --bytes u1.jsonl u2.jsonl | grep '+50')"
check "... and are null in JSON" "null,null" "$("$tool" suspects --json u1.jsonl u2.jsonl | jq -r '[.series[0].suspects[0].blocks[] | tostring] | join(",")')"
check "one block is singular" "      100, 100.0% of all, 1 block" "$(uncounted 1 100 | sed 's/"blocks":null/"blocks":1/' > u3.jsonl; "$tool" suspects --bytes u3.jsonl | grep 'of all')"

# Functions are equal if name, file with directory, and object are equal.
stacks "main (m.c:1);add (src/a/util.c:3) [app]" 900/9 1800/18 2700/27 "main (m.c:1);add (src/b/util.c:4) [app]" 90/9 180/18 270/27 > same.json
check "functions with one name in two files" "add (a/util.c:3)|add (b/util.c:4)" "$("$tool" suspects same.json | sed -n 's/^ *[0-9]  //p' | paste -sd '|')"
check "... with whole paths in JSON" "add src/a/util.c:3 app|add src/b/util.c:4 app" "$("$tool" suspects --json same.json | jq -r '.series[0].suspects[] | "\(.site) \(.place) \(.object)"' | paste -sd '|')"
stacks "main (m.c:1);add (util.c:3) [one.so]" 900/9 1800/18 2700/27 "main (m.c:1);add (util.c:3) [two.so]" 90/9 180/18 270/27 > same.json
check "... in two objects" "add (util.c:3) [one.so]|add (util.c:3) [two.so]" "$("$tool" suspects same.json | sed -n 's/^ *[0-9]  //p' | paste -sd '|')"
stacks "main;operator() (a.cc:5)" 900/9 1800/18 2700/27 "main;operator() (a.cc:6)" 90/9 180/18 270/27 > same.json
check "... lambdas at two lines are two functions" "operator() (a.cc:5)|operator() (a.cc:6)" "$("$tool" suspects same.json | sed -n 's/^ *[0-9]  //p' | paste -sd '|')"
stacks "main;add (/x/y/util.c:5)" 900/9 1800/18 2700/27 "main;add (/x/y/util.c:6)" 90/9 180/18 270/27 > same.json
check "... other functions at two lines are one, shown with the largest line" "add (util.c:5)" "$("$tool" suspects same.json | sed -n 's/^ *[0-9]  //p' | paste -sd '|')"

# If each of two files has only one heap, they are one series, whatever the processes are called.
renamed() { uncounted "$1" "$2" | sed "s/app/$3/; s/\"pid\":7/\"pid\":$1/"; }
renamed 1 100 app-1 > r1.jsonl; renamed 2 150 app-2 > r2.jsonl
check "single heaps of differently named processes are a series" "2: leak app-1 and app-2, malloc: 2 dumps" "$(first r1.jsonl r2.jsonl) $("$tool" suspects r1.jsonl r2.jsonl | sed -n '1s/ in.*//p')"
{ renamed 2 150 app-2; renamed 3 100 app-3; } > r3.jsonl
check "... not if one file has two heaps" "1: leak" "$(first r1.jsonl r3.jsonl)"
{ renamed 3 150 worker; renamed 4 1000 worker; } > w1.jsonl; { renamed 5 170 worker; renamed 6 9000 worker; } > w2.jsonl
check "alternating processes with one name stay separate" "1000,9000 150,170" "$("$tool" suspects --json w1.jsonl w2.jsonl | jq -r '[.series[].suspects[0].bytes | map(tostring) | join(",")] | sort | join(" ")')"

# A program that freed everything has no leak; its peak shows its need.
cat > freed.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *load(void) { return malloc(5000000); }
int main(void) { void *volatile p = load(); free(p); return 0; }
C
${CC:-cc} -g -O0 freed.c -o freed
"$tool" record -o freed.json -- ./freed 2> err
check "a program that freed everything" "the program freed all its memory: no bytes are live; the heap at its peak:" "$("$tool" suspects freed.json | head -n 1)"
check "... the largest site at the peak" "load (freed.c:2)" "$("$tool" suspects freed.json | sed -n 's/^ *1  //p')"
check "... in JSON" "peak load" "$("$tool" suspects --json freed.json | jq -r '.series[0] | "\(.heap.kind) \(.suspects[0].site)"')"
check "... with --kind live" 0 "$("$tool" suspects --kind live freed.json | grep -c 'at its peak')"
"$tool" record --at exit -o freed-live.json -- ./freed 2> err
check "... a file without the peak: the message names the option" "the program freed all its memory: no bytes are live
the file has no peak: heapdump record --at peak,exit keeps one" \
  "$("$tool" suspects freed-live.json)"
check "... two such files" 2 "$("$tool" suspects freed-live.json freed-live.json | grep -c '')"

# --sort.
check "--sort name" "entry,key,other" "$(stacks "main;put;entry" 640/10 1280/20 1920/30 "main;put;key" 600/10 1200/20 1800/30 "main;other" 1000/11 2000/22 3000/33 > parts.json; "$tool" suspects --json --sort name parts.json | jq -r '[.series[0].suspects[].site] | join(",")')"
check "--sort bytes" "other,entry,key" "$("$tool" suspects --json --sort bytes parts.json | jq -r '[.series[0].suspects[].site] | join(",")')"
check "--sort blocks" "other,entry,key" "$("$tool" suspects --json --sort blocks parts.json | jq -r '[.series[0].suspects[].site] | join(",")')"

# The answer fits one screen, however long the names are.
jq -c 'walk(if type == "string" and startswith("leak ") then "leak<" + ("x, " * 3000) + ">(int) (a.c:1)" else . end)' three.json > wide.json
check "one screen, at most 8 KiB" yes "$([ "$("$tool" suspects wide.json | wc -c)" -le 8192 ] && echo yes)"

# Objects.
xz -dc "$data/sass-small.dartheap.xz" > sass.dartheap
check "classes that hold a tenth, with the share on their path" "Script 779 94" "$("$tool" suspects --json sass.dartheap | jq -r '.graphs[0].classes[] | select(.class == "Script") | "\(.class) \(.objects) \(.path_percent)"')"
check "one screen for objects" yes "$([ "$("$tool" suspects sass.dartheap | wc -c)" -le 8192 ] && echo yes)"
check "the object where memory accumulates" "global" "$("$tool" suspects --json "$data/node-small.heapsnapshot" | jq -r '.graphs[0].suspects[0].class')"
check "equal snapshots: no suspects" "0 0" "$("$tool" suspects --json "$data/node-small.heapsnapshot" "$data/node-small.heapsnapshot" | jq -r '.graphs[0] | "\(.suspects | length) \(.classes | length)"')"
top() { "$tool" suspects "$@" | sed -nE 's/^ +([0-9]+)  .*/\1/p' | xargs; }
check "--top limits objects and classes of a snapshot" "1 2 1 2" "$(top "$data/detached.heapsnapshot")"
check "... each list" "1 1" "$(top --top 1 "$data/detached.heapsnapshot")"
check "... in JSON too" "1 1" "$("$tool" suspects --json --top 1 "$data/detached.heapsnapshot" | jq -r '.graphs[0] | "\(.suspects | length) \(.classes | length)"')"
for option in "--keep x" "--drop x" "--root x" "--kind live" "--pid 7" "--dump 1" "--allocator x" "--frames all"; do
  for command in suspects diff; do
    check "$command ${option% *}: for profiles, not for snapshots" "2 heapdump: ${option% *} is for profiles, not for snapshots of objects; see heapdump help $command" \
      "$(status "$tool" $command $option "$data/v8-ids-1.heapsnapshot" "$data/v8-ids-2.heapsnapshot") $(cat err)"
  done
done
for option in "suspects --sort name" "diff --by type" "diff --invert" "diff --every-route" "diff --match process" "diff --before 1" "diff --after 1" "diff --metric AllocCount" "diff --binary $tool"; do
  read -r command option value <<< "$option"
  check "$command $option: for profiles, not for snapshots" "2 heapdump: $option is for profiles, not for snapshots of objects; see heapdump help $command" \
    "$(status "$tool" $command $option $value "$data/v8-ids-1.heapsnapshot" "$data/v8-ids-2.heapsnapshot") $(cat err)"
done
check "report --keep: for profiles, not for snapshots" 2 "$(status "$tool" report -o x.html --keep x "$data/v8-ids-1.heapsnapshot")"
check "convert --keep to a format of snapshots: the same" 2 "$(status "$tool" convert -o x.heapsnapshot --keep x "$data/v8-ids-1.heapsnapshot")"
check "... but a tree of dominators is a heap" 0 "$(status "$tool" convert -o x.folded --keep Item "$data/v8-ids-1.heapsnapshot")"
check ".NET dumps are compared by class" 1 "$("$tool" suspects "$data/garbage.netcf.txt" "$data/garbage.netcf.txt" | grep -c 'not known: only snapshots of V8 and Dart are compared by object')"
check "equal Dart snapshots, compared by identity hash codes: no suspects" 1 "$("$tool" suspects sass.dartheap sass.dartheap | grep -cx '  nothing')"
check "every format: an answer or one message" "" "$(for f in "$data"/*.* "$seeds"/*/v* "$seeds"/*/sample*; do "$tool" suspects "$f" > out 2> err; s=$?; [ $s -le 1 ] || echo "$f: $s"; "$tool" suspects --json "$f" > out 2> err && { jq -e . out > /dev/null || echo "$f: JSON"; }; done)"
check "heaps together with objects are refused" "1 1" "$(status "$tool" suspects three.json sass.dartheap) $(grep -c 'expected one kind' err)"
check "a missing file: status 1" 1 "$(status "$tool" suspects gone)"
check "no file, an unknown axis: usage errors" "2 2" "$(status "$tool" suspects) $(status "$tool" suspects --by type three.json)"
exit $failed
