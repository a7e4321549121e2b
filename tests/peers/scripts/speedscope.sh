#!/usr/bin/env bash
# Heaps written for speedscope, read by its own importer: totals, and the cumulative and self size of each frame.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq gcc libc6-dev python3
{ command -v node npm > /dev/null || need nodejs npm; } || skip "nodejs cannot be installed here"
work=build/peers/speedscope
rm -rf $work && mkdir -p $work
build/examples/record_engine > $work/engine.json
cp tests/data/memprof-19.raw $work
cp tests/peers/lib/speedscope.mjs $work
cd $work
npm pack --silent speedscope@1.25.0 > /dev/null 2>&1 && tar xzf speedscope-1.25.0.tgz || skip "the npm registry cannot be reached"

# Names that could break JSON or the format, recursive frames, bytes without a stack, several heaps.
cat > made.json <<'END'
{"traceEvents":[
{"pid":5,"ph":"M","name":"process_name","args":{"name":"made"}},
{"pid":5,"ph":"v","id":"0x1","ts":1,"args":{"dumps":{"heaps_v2":{"maps":{
 "strings":[{"id":1,"string":"main (a b.c:12)"},{"id":2,"string":"f<\"x\">(int) lib/x.cc:7"},{"id":3,"string":"operator new (x)"},{"id":4,"string":"half \u00e9 : 3"},{"id":5,"string":"Type"},{"id":6,"string":" "}],
 "nodes":[{"id":1,"name_sid":1},{"id":2,"name_sid":2,"parent":1},{"id":3,"name_sid":3,"parent":2},{"id":4,"name_sid":2,"parent":2},{"id":5,"name_sid":4},{"id":6,"name_sid":6,"parent":5}],
 "types":[{"id":0,"name_sid":6},{"id":1,"name_sid":5}]},
 "allocators":{"malloc":{"nodes":[3,4,4,5,6,0],"sizes":[100,20,3,4000,50000,600000],"counts":[1,1,1,1,1,1],"types":[0,0,1,0,0,0]},
               "other":{"nodes":[3],"sizes":[9007199254740991],"counts":[1],"types":[0]}}}}}}
]}
END

# told NAME INPUT: compares the importer's profiles with `top` for each heap. speedscope has no object files: frames
# with file and line are written without their object.
told() {
  local name=$1 input=$2
  "$tool" convert --to speedscope -o $name.speedscope.json $input 2> err
  node speedscope.mjs package $name.speedscope.json > $name.import
  "$tool" top --frames all --top 1000000 --json $input > $name.top
  check "$name: one profile per heap" "$(jq '.heaps | length' $name.top)" "$(jq '.profiles | length' $name.import)"
  check "$name: the unit is bytes" bytes "$(jq -r '[.profiles[].unit] | unique | join(" ")' $name.import)"
  check "$name: totals" "$("$tool" info --json $input | jq -c '[.files[0].heaps[].bytes]')" "$(jq -c '[.profiles[].total]' $name.import)"
  check "$name: cumulative sizes" \
    "$(jq -c '[.heaps[].rows | map(select(.name != "<self>") | [(.name | sub(" (?<p>lib/x.cc:7)$"; " (\(.p))") | sub(":(?<l>[0-9]+)\\) \\[[^]]*\\]$"; ":\(.l))")), .bytes]) | sort]' $name.top)" \
    "$(jq -c '[.profiles[].names | to_entries | map([.key, .value[0]]) | sort]' $name.import)"
}
self() {
  check "$1: self sizes" "$(jq -c '[.heaps[].rows | map([.name, .self_bytes]) | sort]' $1.top)" \
    "$(jq -c '[.profiles[].names | to_entries | map([.key, .value[1]]) | sort]' $1.import)"
}

told engine engine.json
told raw memprof-19.raw
self raw
told made made.json
check "the innermost frame of a stack is kept" "600000 4 0 1" "$(jq -r '[.profiles[] | .none, .stacks] | join(" ")' made.import)"
check "files and lines of frames" '[["main","a b.c",12],["f<\"x\">(int)","lib/x.cc",7]]' \
  "$(jq -c '[.shared.frames[] | select(.line) | [.name, .file, .line]]' made.speedscope.json)"

cat > app.c <<'END'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) static void leak(int n) { if (n) leak(n - 1), kept = malloc((size_t)n * 1000); }
int main(void) { leak(7); return 0; }
END
gcc -g -O0 app.c -o app
"$tool" record -o all.json -- ./app 2> err
"$tool" convert --to chrome --kind live -o app.json all.json 2> err
told app app.json
check "frames of a recorded program have file and line" 1 "$(jq -c '[.shared.frames[] | select(.name == "main" and (.file | endswith("/app.c")) and .line == 4)] | length' app.speedscope.json)"
"$tool" convert --to speedscope --top 2 --keep main -o cut.speedscope.json app.json 2> err
check "a condensed heap keeps its total" 28000 "$(node speedscope.mjs package cut.speedscope.json | jq '.profiles[0].total')"

"$tool" convert --to speedscope -o twice.json app.json
check "two runs write the same bytes" 0 "$(status cmp twice.json app.speedscope.json)"
check "all required fields are present" true \
  "$(jq '(.["$schema"] == "https://www.speedscope.app/file-format-schema.json") and ([.profiles[] | .type == "sampled" and .startValue == 0 and .endValue == (.weights | add) and (.samples | length) == (.weights | length)] | all)' made.speedscope.json)"
python3 - 14142 > deep.json <<'END'
import json, sys
n = int(sys.argv[1])
print(json.dumps({"traceEvents": [{"pid": 1, "ph": "v", "id": "0x1", "ts": 9, "args": {"dumps": {"heaps_v2": {"maps": {
    "strings": [{"id": 1, "string": "f"}], "types": [],
    "nodes": [{"id": i, "name_sid": 1, **({"parent": i - 1} if i > 1 else {})} for i in range(1, n + 1)]},
    "allocators": {"malloc": {"nodes": list(range(1, n + 1)), "sizes": [10] * n, "counts": [1] * n}}}}}}]}))
END
check "an output of more than half a gigabyte is refused before it is written" \
  "1 heapdump: deep.speedscope.json: speedscope holds at most 100000000 frames of samples, found $((14142 * 14143 / 2)): use --to pprof or heaps_v2" \
  "$(status "$tool" convert --to speedscope -o deep.speedscope.json deep.json) $(cat err)$(ls deep.speedscope.json 2> /dev/null)"
printf ' %.0s' {1..70} | cat - <(printf '{"exporter":"%0900d","$schema":"https://www.speedscope.app/file-format-schema.json"}' 1) > late.json
check "a speedscope file is recognised even if its schema comes late" "1 heapdump: late.json (speedscope): offset 0: speedscope files can be written but not read" \
  "$(status "$tool" info late.json) $(cat err)"
printf '{"traceEvents":[],"metadata":{"viewer":"https://www.speedscope.app/file-format-schema.json?"}}' > trace.json
check "... and a trace that mentions the schema is a trace" "trace.json: chrome, 0 heaps" "$("$tool" info trace.json)"
check "speedscope files are written, not read" "1 heapdump: app.speedscope.json (speedscope): offset 0: speedscope files can be written but not read" \
  "$(status "$tool" info app.speedscope.json) $(cat err)"
exit $failed
