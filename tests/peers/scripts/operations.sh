#!/usr/bin/env bash
# Operations of the tool on heaps: hand-made ones with known answers, and one of a real program.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq gzip python3 valgrind
work=build/peers/operations
rm -rf $work && mkdir -p $work
cd $work

# trace PID PROCESS DUMP SIZES...: a trace with these self sizes of main/load, main/load/parse, main/save
trace() {
  printf '{"traceEvents":['
  printf '{"pid":%s,"tid":1,"ts":0,"ph":"M","cat":"__metadata","name":"process_name","args":{"name":"%s"}},' "$1" "$2"
  printf '{"pid":%s,"tid":1,"ts":10,"ph":"v","cat":"disabled-by-default-memory-infra","name":"x","id":"%s","args":{"dumps":{' "$1" "$3"
  printf '"process_totals":{"resident_set_bytes":"1000"},'
  printf '"allocators":{"malloc":{"guid":"1","attrs":{"size":{"type":"scalar","units":"bytes","value":"20"}}},"malloc/arena":{"guid":"2","attrs":{"size":{"type":"scalar","units":"bytes","value":"10"}}}},'
  printf '"heaps_v2":{"version":1,"allocators":{"malloc":{"nodes":[2,3,4],"sizes":[%s,%s,%s],"counts":[1,2,3],"types":[1,1,2]}},' "$4" "$5" "$6"
  printf '"maps":{"nodes":[{"id":1,"name_sid":1},{"id":2,"name_sid":2,"parent":1},{"id":3,"name_sid":3,"parent":2},{"id":4,"name_sid":4,"parent":1}],'
  printf '"types":[{"id":1,"name_sid":5},{"id":2,"name_sid":6}],'
  printf '"strings":[{"id":1,"string":"main"},{"id":2,"string":"load"},{"id":3,"string":"parse"},{"id":4,"string":"save"},{"id":5,"string":"Node"},{"id":6,"string":"Buffer"}]}}}}}]}'
}
trace 1 app 0x1 100 200 50 > a.json
trace 2 app 0x9 100 500 10 > b.json
rows() { jq -r '.heaps[0].rows[] | "\(.name) \(.bytes)"' | paste -sd, ; }

check "top: cumulative and self sizes" "main 350 0,load 300 100,parse 200 200,save 50 50" \
  "$("$tool" top --json a.json | jq -r '.heaps[0].rows[] | "\(.name) \(.bytes) \(.self_bytes)"' | paste -sd,)"
check "top --self: the order" "parse,load,save,main" "$("$tool" top --self --json a.json | jq -r '.heaps[0].rows[].name' | paste -sd,)"
check "top --top 2 --by type" "Node 300,Buffer 50" "$("$tool" top --top 2 --by type --json a.json | rows)"
"$tool" convert --to chrome --min-bytes 150 -o cut.json a.json
check "top of a condensed heap: unlisted bytes are not self bytes" "main 350 0 50 false,load 300 0 100 false,parse 200 200 0 true" \
  "$("$tool" top --json cut.json | jq -r '.heaps[0].rows[] | "\(.name) \(.bytes) \(.self_bytes) \(.unlisted_bytes) \(.self_is_bound)"' | paste -sd,)"
check "... in the text form, too" "main (50 unlisted),load (100 unlisted),parse" "$("$tool" top --bytes cut.json | sed -n '2,$s/.*[0-9]  //p' | paste -sd,)"
check "... upper bounds are marked with ≤" "≤  200 parse" "$("$tool" top --bytes cut.json | sed -n "s/^.*\(≤ *[0-9]*\) .*  /\1 /p")"
check "... a complete heap has no such marks" 0 "$("$tool" top a.json | grep -c 'unlisted\|≤')"
printf '[{"pid":1,"ph":"M","args":{"stackFrames":{"1":{"name":"main"}}}},{"pid":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"1","bt":""},{"size":"fffff","bt":"1"}]}}}}}]' > more.json
for c in tree top; do
  check "$c of a heap whose parts exceed its total: a warning, and no percentages" "0 1 1 $([ $c = tree ]; echo $((!$?)))" \
    "$(status "$tool" $c more.json) $(grep -c 'warning: the heap of malloc has a total of 1 bytes, but lists 1 that hold more' err) $(grep -c '> 100%' out) $(grep -c '\.[0-9]%' out)"
  check "... with --json, too" 1 "$("$tool" $c --json more.json 2>&1 >/dev/null | grep -c warning)"
done
check "tree --keep" " 200,main 200,load 200,parse 200,Node 200" "$("$tool" tree --keep parse --json a.json | rows)"
check "tree --keep type=" " 50,main 50,save 50,Buffer 50" "$("$tool" tree --keep type=Buf --json a.json | rows)"
check "tree --drop" " 150,main 150,load 100,Node 100,save 50,Buffer 50" "$("$tool" tree --drop parse --json a.json | rows)"
check "tree --root" " 300,load 300,parse 200,Node 200,<self> 100,Node 100" "$("$tool" tree --root load --json a.json | rows)"
check "tree --invert" " 350,parse 200,load 200,main 200,Node 200,load 100,main 100,Node 100,save 50,main 50,Buffer 50" \
  "$("$tool" tree --invert --json a.json | rows)"
check "no heap of the kind: the message has the kinds of the file" "1 heapdump: a.json (chrome): no heap dump of kind peak; the file has kinds: live (heapdump record --at peak,exit, the default, keeps the peak)" "$(status "$tool" tree --kind peak a.json) $(cat err)"
check "... and the other options" "1 heapdump: a.json (chrome): no heap dump with --dump 0x7 with --pid 9; the file has dumps: 0x1; the file has PIDs: 1" "$(status "$tool" tree --dump 0x7 --pid 9 a.json) $(cat err)"
check "... the footer names the kinds of the file" "total; peak, total or temporary" "$(for f in heap-go.txt small.heaptrack; do "$tool" tree "$common_root/tests/data/$f" | sed -n 's/.* of other kinds (--kind \(.*\))$/\1/p'; done | paste -sd';' | sed 's/;/; /')"
for option in keep drop root; do
  check "--$option that matches nothing: a message" "heapdump: no function matches 'make_itm'" "$("$tool" tree --$option make_itm a.json 2>&1 >/dev/null)"
done
check "... of types, and none if it matches" "heapdump: no type matches 'Nod_'" "$("$tool" tree --keep type=Nod_ a.json 2>&1 >/dev/null; "$tool" tree --keep pars --drop type=Buf --root load a.json 2>&1 >/dev/null)"
check "... nor if one of two files has the name" "" "$(sed 's/save/kept/g' a.json > kept.json; "$tool" diff --keep kept a.json kept.json 2>&1 >/dev/null)"
check "an invalid pattern: usage error" 2 "$(status "$tool" tree --keep '(' a.json)"
check "--entries limits the rows" 3 "$("$tool" tree --entries 3 --json a.json | jq '[.heaps[0].rows[] | select(.name != "<other>")] | length')"
check "diff takes the same options as tree" 0 "$(status "$tool" diff --keep load --entries 5 a.json b.json)"

check "diff of two files" " 350 610 grown,main 350 610 grown,load 300 600 grown,parse 200 500 grown,Node 200 500 grown,save 50 10 shrunk,Buffer 50 10 shrunk" \
  "$("$tool" diff --json a.json b.json | jq -r '.diffs[0].rows[] | "\(.name) \(.before) \(.after) \(.change)"' | paste -sd,)"
check "diff: the text form" "+260 350 610 0" "$("$tool" diff --bytes a.json b.json | awk 'NR == 1 { print $1, $2, $3, $4 }')"
check "diff --keep" " 200 500" "$("$tool" diff --json --keep parse a.json b.json | jq -r '.diffs[0].rows[0] | "\(.name) \(.before) \(.after)"')"
jq -c -n --slurpfile a a.json --slurpfile b b.json '{traceEvents: ($a[0].traceEvents + ($b[0].traceEvents | map(.pid = 1 | .ts += 10)))}' > two.json
check "diff of two dumps of one file" "350 610 0x1 0x9" \
  "$("$tool" diff --json two.json | jq -r '.diffs[0] | "\(.rows[0].before) \(.rows[0].after) \(.before.dump) \(.after.dump)"')"
check "diff --before and --after: in reverse order" "610 350" "$("$tool" diff --json --before 0x9 --after 0x1 two.json | jq -r '.diffs[0].rows[0] | "\(.before) \(.after)"')"
check "diff with an unknown dump: status 1" 1 "$(status "$tool" diff --before 0x7 --after 0x8 two.json)"
check "diff with an unknown dump of one file: status 1" 1 "$(status "$tool" diff --before 0x7 a.json b.json)"
trace 3 other 0x1 1 2 3 > c.json
check "diff: a process in only one file is gone or new" "350 0,0 6" \
  "$("$tool" diff --match process --json a.json c.json | jq -r '.diffs[] | "\(.rows[0].before) \(.rows[0].after)"' | paste -sd,)"
check "... and a message says so" "malloc, app, pid 1, dump 0x1 -> none in c.json,none in a.json -> malloc, other, pid 3, dump 0x1" \
  "$("$tool" diff --match process a.json c.json | sed -n 's/.*  \(.* -> .*\)/\1/p' | paste -sd,)"
check "... with --json, too" "app null,null other" \
  "$("$tool" diff --match process --json a.json c.json | jq -r '.diffs[] | "\(if .before then .before.process else null end) \(if .after then .after.process else null end)"' | paste -sd,)"

# Rows of an SQL engine: processes without a pid are distinguished by name. Parts with different sampling intervals
# are not earlier dumps.
printf 'process,stack,bytes\napp,f,100\nother,f,10\n' > processes.csv
check "rows: all processes without a pid are merged" 110 "$("$tool" merge --to rows-json processes.csv 2> /dev/null | jq .bytes)"
check "... and shown separately" "100,10" "$("$tool" tree --json processes.csv | jq -r '.heaps[].rows[0].bytes' | paste -sd,)"
printf 'sample_bytes,stack,bytes\n4096,f,100\n512,f,10\n' > distances.csv
check "rows: parts with different sampling intervals are merged" "110 4096" "$("$tool" merge --to rows-json distances.csv 2> /dev/null | jq -r '"\(.bytes) \(.sample_bytes)"')"

trace 1 app 0x2 1 2 3 | sed 's/"malloc":{"nodes"/"other":{"nodes"/' > d.json
jq -c -n --slurpfile a a.json --slurpfile d d.json '{traceEvents: ($a[0].traceEvents + $d[0].traceEvents)}' > ad.json
check "... of one file: the message names the dump" "malloc, app, pid 1, dump 0x1 -> none in ad.json, dump 0x2" \
  "$("$tool" diff --before 0x1 --after 0x2 ad.json | sed -n '1s/.*  \(.* -> .*\)/\1/p')"
check "diff of a file with one dump: status 1" "1 heapdump: a.json: expected two dumps to compare, found one" "$(status "$tool" diff a.json) $(cat err)"
check "... of a peak and an end: how to record several" "1 1" "$(status "$tool" diff ../../../tests/data/dhat-heap.json) $(grep -c 'its peak is not compared. Record several dumps: heapdump record --at exit,every=1 ' err)"
check "diff of three files: usage error" 2 "$(status "$tool" diff a.json b.json c.json)"

"$tool" merge -o m.json a.json b.json c.json 2> err
check "merge adds up heaps" " 966,main 966,load 903,parse 702,Node 702,<self> 201,Node 201,save 63,Buffer 63" "$("$tool" tree --json m.json | rows)"
check "merge reports the number of heaps" "heapdump: malloc: 3 heaps merged" "$(cat err)"
"$tool" merge -o ab.json a.json b.json 2> err && "$tool" merge -o abc.json ab.json c.json 2> err
check "merging in two steps gives the same heap" "$("$tool" tree --json m.json | rows)" "$("$tool" tree --json abc.json | rows)"
"$tool" merge --to heaps_v2 -o ab2.json b.json a.json 2> err && "$tool" merge --to heaps_v2 -o abc2.json c.json ab2.json 2> err
"$tool" merge --to heaps_v2 -o m2.json a.json b.json c.json 2> err
check "merging in any order gives the same bytes" "$(jq -c .traceEvents[-1].args.dumps.heaps_v2 m2.json)" "$(jq -c .traceEvents[-1].args.dumps.heaps_v2 abc2.json)"
check "merge takes the last of several dumps" 610 "$("$tool" merge two.json 2> err | "$tool" tree --json - | jq '.heaps[0].rows[0].bytes')"
check "merge --all takes all dumps" 960 "$("$tool" merge --all two.json 2> err | "$tool" tree --json - | jq '.heaps[0].rows[0].bytes')"
check "merge with a missing file: status 1" 1 "$(status "$tool" merge a.json no.json)"

old() {
  printf '[{"pid":1,"ph":"M","name":"stackFrames","args":{"stackFrames":{"1":{"name":"main"},"2":{"name":"load","parent":"1"}}}},'
  printf '{"pid":1,"ts":1,"ph":"v","id":"0x1","args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"%s"},{"size":"3","bt":"1"},{"size":"5","bt":"2"}]}}}}}]' "$1"
}
old 8 > old.json
old 9 > gap.json
check "the old format with consistent totals converts to heaps_v2 and back" "0 $("$tool" tree --json old.json | sed s/old.json/old2.json/g) 0" \
  "$(status "$tool" convert --to heaps_v2 -o old2.json old.json) $("$tool" tree --json old2.json) $(wc -c < err)"
check "the old format with inconsistent totals: a warning" "0 1 9 1" \
  "$(status "$tool" tree --strict --bytes gap.json) $(grep -c 'total of 9 bytes, but its self sizes add up to 8' err) $(awk 'NR == 1 { print $1 }' out) $(grep -c other out)"
check "... and it does not convert to heaps_v2" 1 "$(status "$tool" convert --to heaps_v2 -o gap2.json gap.json)"
check "conversion to heaps_v2 and back" "$("$tool" tree --json - < a.json)" "$("$tool" convert --to heaps_v2 a.json | "$tool" tree --json -)"
"$tool" convert --to chrome -o a1.json a.json
"$tool" convert --to chrome -o b1.json b.json
check "merging cumulative sizes uses no memory of a closed file" 0 \
  "$(status valgrind -q --error-exitcode=99 "$tool" merge -o ab1.json a1.json b1.json a1.json c.json)"
check "merging cumulative sizes with self sizes" " 1316,main 1316,load 1203,parse 902,Node 902,<self> 301,Node 301,save 113,Buffer 113" \
  "$("$tool" tree --json ab1.json | rows)"
check "cumulative sizes do not convert to self sizes" 1 "$(status "$tool" convert --to heaps_v2 a1.json)"
check "conversion to heaps_v2 refuses --top" 2 "$(status "$tool" convert --to heaps_v2 --top 3 a.json)"
check "tree --invert of a breakdown" " 350,parse 200,load 200,main 200,load 100,main 100,save 50,main 50" "$("$tool" tree --invert --json a1.json | rows)"

check "tree --invert --by type of a breakdown" " 350,Node 300,Buffer 50" "$("$tool" tree --invert --by type --json a1.json | rows)"
check "... in a diff" " 350 610,Node 300 600,Buffer 50 10" \
  "$("$tool" diff --invert --by type --json a1.json b1.json | jq -r '.diffs[0].rows[] | "\(.name) \(.before) \(.after)"' | paste -sd,)"

check "info: attributes of processes and allocators" "app resident_set_bytes 4096 -,app size 32 malloc" \
  "$("$tool" info --bytes a.json | awk '/resident|malloc size/ { print $2, $NF, $4, ($6 == "process" ? "-" : $6) }' | paste -sd,)"
check "info: counts the omitted attributes" "1 more attributes of allocators (--all lists them)" "$("$tool" info a.json | tail -1)"
check "info --all lists them" "malloc/arena" "$("$tool" info --bytes --all a.json | awk 'END { print $6 }')"
check "info --json" '[["resident_set_bytes",4096],["size",32],["size",16]]' "$("$tool" info --json a.json | jq -c '[.files[0].scalars[] | [.name, .value]]')"

gzip -k a.json
check "a .gz file" "$("$tool" tree a.json)" "$("$tool" tree a.json.gz)"
check "gzip from standard input" "$("$tool" tree a.json)" "$("$tool" tree - < a.json.gz)"
head -c 150 a.json.gz > cut.json.gz
check "a truncated .gz file: status 1" 1 "$(status "$tool" tree --strict cut.json.gz)"

printf '{"other":[1,2],"traceEvents":[{"ph":"X","pid":5,"name":"e","ts":1e3 , "dur":2}\n],"z":"]"}' > trace.json
"$tool" convert --to chrome --add-to trace.json -o added.json a.json
check "--add-to keeps the trace's other events" ok "$(python3 -c '
whole, before = open("added.json").read(), open("trace.json").read()
at = before.index("\n]") + (whole[before.index("\n]")] == "\n")
head = next(i for i in range(len(before)) if whole[i] != before[i])
tail = before[head:]
print("ok" if whole.endswith(tail) and whole.startswith(before[:head]) else "changed")')"
check "--add-to adds the heap" "$("$tool" convert --to chrome a.json | "$tool" tree --json - | rows)" "$("$tool" tree --json added.json | rows)"
check "--add-to writes valid JSON" 4 "$(jq '.traceEvents | length' added.json | sed 's/^[4-9]$/4/')"
check "--add-to refuses a heap that the trace already has" 1 "$(status "$tool" convert --to chrome --add-to added.json a.json)"

"$tool" record -o real.json -- /usr/bin/python3 -c 'import json, os; x = [json.dumps([i] * 20) for i in range(3000)]; os._exit(0)' 2> err
total=$("$tool" tree --json real.json | jq '.heaps[0].rows[0].bytes')
check "a real program: self and unlisted bytes add up to the total" "$total" "$("$tool" top --top 1000000 --json real.json | jq '[.heaps[0].rows[] | .self_bytes + .unlisted_bytes] | add')"
keep=$("$tool" tree --json --keep PyEval real.json | jq '.heaps[0].rows[0].bytes')
drop=$("$tool" tree --json --drop PyEval real.json | jq '.heaps[0].rows[0].bytes')
check "a real program: --keep and --drop add up to the total" "$total" $((keep + drop))
# convert and merge --output-bytes: the whole file has at most so many bytes, whatever its format and number of heaps.
"$tool" record --at exit,peak,every=0.1 --min-bytes 1 -o dumps.json -- /usr/bin/python3 -c '
import email, json, time
x = []
for i in range(6): x.append([str(k) for k in range(1000)]); time.sleep(0.1)' 2> err
for of in real dumps; do
  for to in chrome folded rows rows-json speedscope pprof; do
    for most in 12k 100k 900k; do
      check "convert --to $to --output-bytes $most of $of.json: its size" yes "$("$tool" convert --to $to --output-bytes $most -o small $of.json 2> err &&
        [ "$(wc -c < small)" -le $((${most%k} * 1024)) ] && echo yes || { wc -c small; cat err; })"
    done
  done
done
"$tool" merge --output-bytes 9000 -o small.json real.json dumps.json 2> err
check "merge --output-bytes: its size" yes "$([ "$(wc -c < small.json)" -le 9000 ] && echo yes || wc -c small.json)"
"$tool" convert --kind live --to chrome --output-bytes 20k -o small.json real.json
check "... which is used" yes "$([ "$(wc -c < small.json)" -ge 15000 ] && echo yes || wc -c small.json)"
check "... and the total stays" "$total" "$("$tool" tree --json small.json | jq '.heaps[0].rows[0].bytes')"
"$tool" convert --to chrome --output-bytes 100k -o small.json dumps.json
check "... of several heaps: used, and all totals stay" "yes yes" "$([ "$(wc -c < small.json)" -ge 75000 ] && echo yes || wc -c small.json) $(
  [ "$("$tool" info --json small.json | jq -c '[.files[0].heaps[].bytes]')" = "$("$tool" info --json dumps.json | jq -c '[.files[0].heaps[].bytes]')" ] && echo yes)"
rm -f small.json
check "a file cannot be that small: an error with the least size, and no file" "1 1 no" \
  "$(status "$tool" convert --to chrome --output-bytes 600 -o small.json dumps.json) $(grep -cE "^heapdump: [0-9]+ heaps need at least [0-9]+ bytes, even without call stacks; --output-bytes is 600$" err) $(
  [ -e small.json ] && echo yes || echo no)"
exit $failed
