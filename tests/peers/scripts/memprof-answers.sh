#!/usr/bin/env bash
# What the tool says of MemProf profiles: versions, names of binaries, fields that are kept, whose hints these are, and
# what to do with texts that it does not read.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc jq gzip python3
work=build/peers/memprof-answers data=$PWD/tests/data source=$PWD/tests/peers/programs
rm -rf $work && mkdir -p $work
cd $work

gcc -O1 -g -no-pie -fno-omit-frame-pointer -pthread -Wl,--build-id "$source/memprof_small.c" -o small
mkdir -p other
gcc -O0 -g -no-pie -Wl,--build-id "$source/memprof_small.c" -pthread -o other/small
"$tool" record --format memprof-raw -o small.raw -- ./small 2> err || fail "recording: $(cat err)"

for v in 3 4 5; do
  "$tool" convert --to memprof-raw --memprof-version $v -o v$v.raw "$data/memprof-19.raw"
  check "the version of a raw profile of version $v" "$v $v" "$("$tool" memprof v$v.raw | sed -n 's/^    Version: //p') $("$tool" memprof --json v$v.raw | jq .Version)"
done
check "of several, the latest" 5 "$("$tool" memprof --json v4.raw v5.raw v4.raw | jq .Version)"

binaries() { "$tool" tree --json --by binary --min-bytes 1 "$@" 2> err | jq -r '[.heaps[0].rows[] | select(.axis == "binary").name] | unique | join(" ")'; }
check "--by binary names the file that is given" small "$(binaries --binary small small.raw)"
check "... by its path when another is called the same" "$PWD/small" "$(binaries --binary small --binary other/small small.raw)"
check "... and one that is not given by its build id" "$(readelf -n small | awk '/Build ID/ { print substr($3, 1, 16) }')" "$(binaries small.raw | tr ' ' '\n' | grep -x "$(readelf -n small | awk '/Build ID/ { print substr($3, 1, 16) }')")"

fields() { "$tool" info --json "$1" | jq '.files[0].fields | length'; }
"$tool" index --full-schema --memprof-version 0 --binary small -o all small.raw 2> err
for v in 0 1 2 3 4 rfc; do
  "$tool" convert --to memprof-index --memprof-version $v -o all.$v all 2> err
  "$tool" convert --to memprof-index --memprof-version 0 -o back.$v all.$v 2> err
  check "version $v keeps the fields that an indexed profile has" "$([ $v = rfc ] && echo "$(fields all.rfc) $(fields all.rfc)" || echo 27 27)" "$(fields all.$v) $(fields back.$v)"
done
"$tool" convert --to memprof-index --memprof-version 3 --hot-cold-schema -o few all 2> err
check "or those that are asked for" 4 "$(fields few)"
for v in 2 3 4; do
  "$tool" index --memprof-version $v --binary small -o few small.raw 2> err
  check "version $v of a raw profile has four, and tells which" \
    "4 heapdump: fields kept: AllocCount, TotalSize, TotalLifetime, TotalLifetimeAccessDensity (--full-schema keeps all)" "$(fields few) $(grep 'fields kept' err)"
done

# In this one, some contexts have the call stack of others that are cold, which for clang 19 nothing tells apart.
hints="$tool memprof --hints --json $data/memprof-22-v3.profdata"
check "frames of a context are as many as it has" 0 "$($hints | jq '[.allocations[].contexts[] | select(.frames > (.stack | length))] | length')"
check "... also of those that nothing tells apart" "cold 8 8" "$($hints --clang 19 | jq -r '[.allocations[].contexts[] | select(.told_apart == false and .heat == "cold")] | max_by(.frames) | "\(.heat) \(.frames) \(.stack | length)"')"
check "whose hints these are" "clang 22 true, clang 22 false" "$($hints | jq -r '"\(.compiler) \(.own_thresholds)"'), $($hints --hot-density 5 | jq -r '"\(.compiler) \(.own_thresholds)"')"
check "... in words" "hints of clang 22, by its own thresholds" "$("$tool" memprof --hints "$data/memprof-22-v3.profdata" | head -n 1)"
# On the screen, contexts that the compiler is told alike are one row; nothing is lost by that.
for file in memprof-22-v3.profdata memprof-19-v3.profdata memprof-22-empty.profdata; do
  for options in "--clang 19" "--clang 22" "--clang 22 --hot-density 5" "--clang 19 --all"; do
    "$tool" memprof --hints $options "$data/$file" > rows 2> err || fail "--hints $options: $(tail -n 1 err)"
    "$tool" memprof --hints $options --json "$data/$file" > rows.json
    check "$file, $options: no row comes twice" "" "$(awk '/^  line/ { split("", seen) } /^ *[0-9]+ +[0-9]+ +[0-9]+ / { $1 = $2 = $3 = $4 = $5 = ""; if (seen[$0]++) print }' rows | head -n 2)"
    check "... bytes and blocks add up" "$(jq -r '[.allocations[].contexts[]] | "\(map(.bytes) | add // 0) \(map(.blocks) | add // 0)"' rows.json)" \
      "$(awk '/^ *[0-9]+ +[0-9]+ +[0-9]+ / { bytes += $1; blocks += $2 } END { print bytes + 0, blocks + 0 }' rows)"
    check "... and hint by hint those at the top" "$(sed -n 's/^ *\([0-9]*\) bytes in [0-9]* contexts*: \(.*\)/\2 \1/p' rows | sort)" \
      "$(sed -n 's/^ *\([0-9]*\) *[0-9]* *[0-9]* *[0-9.]* *[0-9.]*  \(not cold\|cold\|hot\|none\).*/\2 \1/p' rows | awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (k in sum) print k sum[k] }' | sort)"
  done
done
check "... with --all each context has its own, of each heat" "$($hints | jq '[.allocations[].contexts[] | [.stack, .heat]] | unique | length')" "$("$tool" memprof --hints --all "$data/memprof-22-v3.profdata" | grep -Ec '^ *[0-9]+ +[0-9]+ +1 ')"
check "... and repeated callers are told once" 1 "$("$tool" memprof --hints --all "$data/memprof-22-v3.profdata" | grep -c ' (28 times)')"
check "... and in the help" 1 "$("$tool" memprof --help | grep -c -- '--hints shows how clang')"

# Callers that part one by one, call after call, and call stacks of 100,000 calls: neither needs the stack of the tool.
python3 - << 'PY'
def text(contexts):
    yield "---\nHeapProfileRecords:\n  - GUID: f\n    AllocSites:\n"
    for i, (calls, last) in enumerate(contexts):
        yield "      - Callstack:\n"
        for place in [("f", 1)] + [("c", k) for k in range(calls)] + [(last, 7)]:
            yield "        - {Function: %s, LineOffset: %d, Column: 1, IsInlineFrame: false}\n" % place
        yield "        MemInfoBlock: {AllocCount: 1, TotalSize: 8, TotalLifetime: 900000, TotalLifetimeAccessDensity: %d}\n" % (i % 2 * 900000)
    yield "...\n"
open("comb.yaml", "w").writelines(text([(i, "x%d" % i) for i in range(800)]))
open("long.yaml", "w").writelines(text([(100000, "x"), (100000, "y")]))
PY
for shape in "comb 400" "long 1"; do
  "$tool" index -o indexed ${shape% *}.yaml 2> err || fail "$shape: $(tail -n 1 err)"
  check "hints for a ${shape% *}" "${shape#* } cold, ${shape#* } not cold, all told apart" \
    "$( (ulimit -s 96; "$tool" memprof --hints --json indexed) 2> err | jq -r '[.allocations[].contexts[]] | "\(map(select(.hint == "cold")) | length) cold, \(map(select(.hint == "not cold")) | length) not cold, \(if all(.[]; .told_apart) then "all" else "not all" end) told apart"')"
done

# Blocks of one call stack: clang 22 looks at the largest, of equally large ones at what is not cold, or the first. Checked
# on the IR of clang 22, and by memprof-programs.sh; clang 19 looks at all.
blocks() {                       # blocks RELEASE DENSITY:BYTES...: the hints of a call stack with such blocks
  local release=$1 block
  shift
  { printf -- '---\nHeapProfileRecords:\n  - GUID: f\n    AllocSites:\n'
    for block in "$@"; do
      printf '      - Callstack:\n          - { Function: f, LineOffset: 0, Column: 4, IsInlineFrame: false }\n'
      printf '          - { Function: main, LineOffset: 1, Column: 5, IsInlineFrame: false }\n'
      printf '        MemInfoBlock: { AllocCount: 1, TotalSize: %s, TotalLifetime: 1000000, TotalLifetimeAccessDensity: %s }\n' \
        "${block#*:}" "${block%:*}"
    done
    echo ...
  } > blocks.yaml
  "$tool" memprof --hints --clang $release --hot-density 1000 --json blocks.yaml | jq -r '[.allocations[].contexts[].hint] | unique | join(",")'
}
check "the largest block of a call stack is cold" cold "$(blocks 22 10000:50 1:100)"
check "... is not" "not cold" "$(blocks 22 1:50 10000:100)"
check "... is hot" hot "$(blocks 22 10000:50 1:99 9999999:100)"
check "one of the largest is not cold" "not cold not cold" "$(blocks 22 1:50 10000:50) $(blocks 22 10000:50 1:50)"
check "the largest are hot and cold: the first" "hot cold" "$(blocks 22 9999999:50 1:50) $(blocks 22 1:50 9999999:50)"
check "clang 19 takes all" "not cold" "$(blocks 19 10000:50 1:100)"

# Files of LLVM 22.
check "an indexed profile of LLVM 22" "LLVM 3 13 26 97 87" "$("$tool" info --json "$data/memprof-22-v3.profdata" | jq -r '.files[0] | "\(.layout) \(.version) \(.functions) \(.blocks) \(.call_sites)"')"
"$tool" index --base "$data/counters-22.profdata" -o both "$data/memprof-22-v3.profdata" 2> err
check "put beside counters of LLVM 22" same "$(cmp both "$data/counters-22-memprof-v3.profdata" && echo same)"
"$tool" index --base "$data/counters-22-memprof-v3.profdata" --binary small -o replaced small.raw 2> err
check "... or in another's place" "13 true" "$("$tool" info --json replaced | jq -r '.files[0] | "\(.version) \(.instrumented_functions > 5)"')"

# told FILE WORDS: that it is refused, with these words
told() { check "$1: $2" "1 1" "$(status "$tool" info "$1") $(grep -c -- "$2" err)"; }
printf 'Recorded MIBs (incl. live on exit):\nMemory allocation stack id = 1\n\talloc_count 19, size (ave/min/max) 100.00 / 10 / 190\n' > report
printf -- '---\nHeapProfileRecords:\n  - GUID:            0x342bf10f4c56a8b1\n    AllocSites:\n' > yaml
gzip -c yaml > yaml.gz
"$tool" memprof --binary small -o listing small.raw 2> err
check "a text report of the runtime is a heap" "memprof-report 1900" "$("$tool" info --json report | jq -r '.files[0] | "\(.format) \(.heaps[0].bytes)"')"
for f in yaml yaml.gz; do
  check "$f is read as far as it goes" "memprof-yaml 1" "$("$tool" info --json $f | jq -r '.files[0] | "\(.format) \(.functions)"')"
done
check "a listing of ours says what it lists" same "$("$tool" memprof --yaml listing > of-listing 2> err
  "$tool" memprof --yaml --full-schema --binary small small.raw > of-raw 2> err; diff <(sort of-raw) <(sort of-listing) | head -n 3 && echo same)"
for command in memprof "memprof --hints" "index --binary small -o none" "merge --to memprof-raw -o none"; do
  check "$command is not for a report" "1 1" "$(status "$tool" $command report) $(grep -c 'expected a MemProf profile\|not a MemProf profile' err)"
done
exit $failed
