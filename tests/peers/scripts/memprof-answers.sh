#!/usr/bin/env bash
# Answers about MemProf profiles: versions, names of binaries, fields that are kept, which compiler the hints are for,
# and the advice for texts that heapdump does not read.
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
  check "the version of a raw profile, version $v" "$v $v" "$("$tool" memprof v$v.raw | sed -n 's/^    Version: //p') $("$tool" memprof --json v$v.raw | jq .Version)"
done
check "with several profiles, the latest version" 5 "$("$tool" memprof --json v4.raw v5.raw v4.raw | jq .Version)"

# The first frame of the first stack gets an address before all modules.
python3 -c 'import struct, sys
data = bytearray(sys.stdin.buffer.read())
stacks = struct.unpack_from("=Q", data, 40)[0]
data[stacks + 24:stacks + 32] = struct.pack("=Q", 16)
sys.stdout.buffer.write(data)' < "$data/memprof-19.raw" > outside.raw
check "an address outside all modules is reported once" "no name for 13 of 13 addresses: 12 without --binary, 1 outside all modules" \
  "$("$tool" index --binary small -o none outside.raw 2>&1 | sed -n 's/^heapdump: \(no name .*\)/\1/p')"

binaries() { "$tool" tree --json --by binary --min-bytes 1 "$@" 2> err | jq -r '[.heaps[0].rows[] | select(.axis == "binary").name] | unique | join(" ")'; }
check "--by binary names the given file" small "$(binaries --binary small small.raw)"
check "... by its path if another given file has the same name" "$PWD/small" "$(binaries --binary small --binary other/small small.raw)"
check "... and a file that is not given by its build id" "$(readelf -n small | awk '/Build ID/ { print substr($3, 1, 16) }')" "$(binaries small.raw | tr ' ' '\n' | grep -x "$(readelf -n small | awk '/Build ID/ { print substr($3, 1, 16) }')")"

fields() { "$tool" info --json "$1" | jq '.files[0].fields | length'; }
"$tool" index --full-schema --memprof-version 0 --binary small -o all small.raw 2> err
for v in 0 1 2 3 4 rfc; do
  "$tool" convert --to memprof-index --memprof-version $v -o all.$v all 2> err
  "$tool" convert --to memprof-index --memprof-version 0 -o back.$v all.$v 2> err
  check "version $v keeps all fields that an indexed profile can have" "$([ $v = rfc ] && echo "$(fields all.rfc) $(fields all.rfc)" || echo 27 27)" "$(fields all.$v) $(fields back.$v)"
done
"$tool" convert --to memprof-index --memprof-version 3 --hot-cold-schema -o few all 2> err
check "--hot-cold-schema keeps four fields" 4 "$(fields few)"
for v in 2 3 4; do
  "$tool" index --memprof-version $v --binary small -o few small.raw 2> err
  check "a raw profile of version $v has four of these fields and says which" \
    "4 heapdump: fields kept: AllocCount, TotalSize, TotalLifetime, TotalLifetimeAccessDensity (--full-schema keeps all)" "$(fields few) $(grep 'fields kept' err)"
done

# In this profile some contexts share their call stack with cold contexts. clang 19 cannot distinguish them.
hints="$tool memprof --hints --json $data/memprof-22-v3.profdata"
check "a context needs at most as many frames as it has" 0 "$($hints | jq '[.allocations[].contexts[] | select(.frames > (.stack | length))] | length')"
check "... even if its frames cannot distinguish it from others" "cold 8 8" "$($hints --clang 19 | jq -r '[.allocations[].contexts[] | select(.told_apart == false and .heat == "cold")] | max_by(.frames) | "\(.heat) \(.frames) \(.stack | length)"')"
check "hints name their compiler and whether its own thresholds apply" "clang 22 true, clang 22 false" "$($hints | jq -r '"\(.compiler) \(.own_thresholds)"'), $($hints --hot-density 5 | jq -r '"\(.compiler) \(.own_thresholds)"')"
check "... as text, too" "hints of clang 22, by its own thresholds" "$("$tool" memprof --hints "$data/memprof-22-v3.profdata" | head -n 1)"
# On the screen, contexts that look alike to the compiler share one row. Their bytes and blocks are added up.
for file in memprof-22-v3.profdata memprof-19-v3.profdata memprof-22-empty.profdata; do
  for options in "--clang 19" "--clang 22" "--clang 22 --hot-density 5" "--clang 19 --all"; do
    "$tool" memprof --hints $options "$data/$file" > rows 2> err || fail "--hints $options: $(tail -n 1 err)"
    "$tool" memprof --hints $options --json "$data/$file" > rows.json
    check "$file, $options: no duplicate rows" "" "$(awk '/^  line/ { split("", seen) } /^ *[0-9]+ +[0-9]+ +[0-9]+ / { $1 = $2 = $3 = $4 = $5 = ""; if (seen[$0]++) print }' rows | head -n 2)"
    check "... bytes and blocks add up" "$(jq -r '[.allocations[].contexts[]] | "\(map(.bytes) | add // 0) \(map(.blocks) | add // 0)"' rows.json)" \
      "$(awk '/^ *[0-9]+ +[0-9]+ +[0-9]+ / { bytes += $1; blocks += $2 } END { print bytes + 0, blocks + 0 }' rows)"
    check "... and so do the sums per hint" "$(sed -n 's/^ *\([0-9]*\) bytes in [0-9]* contexts*: \(.*\)/\2 \1/p' rows | sort)" \
      "$(sed -n 's/^ *\([0-9]*\) *[0-9]* *[0-9]* *[0-9.]* *[0-9.]*  \(not cold\|cold\|hot\|none\).*/\2 \1/p' rows | awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (k in sum) print k sum[k] }' | sort)"
  done
done
check "... with --all each context and heat has its own row" "$($hints | jq '[.allocations[].contexts[] | [.stack, .heat]] | unique | length')" "$("$tool" memprof --hints --all "$data/memprof-22-v3.profdata" | grep -Ec '^ *[0-9]+ +[0-9]+ +1 ')"
check "... and repeated callers are printed once, with their number" 1 "$("$tool" memprof --hints --all "$data/memprof-22-v3.profdata" | grep -c ' (28 times)')"
check "... and --help explains hints" 1 "$("$tool" memprof --help | grep -c -- '--hints shows how clang')"

# Call stacks of 100,000 calls, and callers that part one by one at each call: the tool's own stack does not grow.
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

# Blocks of one call stack: clang 22 takes the hint of the largest block. Among equally large blocks it takes one that
# is not cold, or the first. clang 19 considers all blocks. Checked with clang 22's IR, and by memprof-programs.sh.
blocks() {                       # blocks RELEASE DENSITY:BYTES...: the hints for a call stack with these blocks
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
check "the largest block is not cold" "not cold" "$(blocks 22 1:50 10000:100)"
check "the largest block is hot" hot "$(blocks 22 10000:50 1:99 9999999:100)"
check "one of the two largest blocks is not cold" "not cold not cold" "$(blocks 22 1:50 10000:50) $(blocks 22 10000:50 1:50)"
check "the two largest blocks are hot and cold: the first decides" "hot cold" "$(blocks 22 9999999:50 1:50) $(blocks 22 1:50 9999999:50)"
check "clang 19: one block is not cold" "not cold" "$(blocks 19 10000:50 1:100)"

# Files of LLVM 22.
check "an indexed profile of LLVM 22" "LLVM 3 13 26 97 87" "$("$tool" info --json "$data/memprof-22-v3.profdata" | jq -r '.files[0] | "\(.layout) \(.version) \(.functions) \(.blocks) \(.call_sites)"')"
"$tool" index --base "$data/counters-22.profdata" -o both "$data/memprof-22-v3.profdata" 2> err
check "indexed next to counters of LLVM 22: the expected bytes" same "$(cmp both "$data/counters-22-memprof-v3.profdata" && echo same)"
"$tool" index --base "$data/counters-22-memprof-v3.profdata" --binary small -o replaced small.raw 2> err
check "... replacing another profile" "13 true" "$("$tool" info --json replaced | jq -r '.files[0] | "\(.version) \(.instrumented_functions > 5)"')"

# told FILE WORDS: FILE is refused with these words
told() { check "$1: $2" "1 1" "$(status "$tool" info "$1") $(grep -c -- "$2" err)"; }
printf 'Recorded MIBs (incl. live on exit):\nMemory allocation stack id = 1\n\talloc_count 19, size (ave/min/max) 100.00 / 10 / 190\n' > report
printf -- '---\nHeapProfileRecords:\n  - GUID:            0x342bf10f4c56a8b1\n    AllocSites:\n' > yaml
gzip -c yaml > yaml.gz
"$tool" memprof --binary small -o listing small.raw 2> err
check "a text report of the runtime is read as a heap" "memprof-report 1900" "$("$tool" info --json report | jq -r '.files[0] | "\(.format) \(.heaps[0].bytes)"')"
for f in yaml yaml.gz; do
  check "$f is read up to its damage" "memprof-yaml 1" "$("$tool" info --json $f | jq -r '.files[0] | "\(.format) \(.functions)"')"
done
check "our own YAML listing gives the same listing again" same "$("$tool" memprof --yaml listing > of-listing 2> err
  "$tool" memprof --yaml --full-schema --binary small small.raw > of-raw 2> err; diff <(sort of-raw) <(sort of-listing) | head -n 3 && echo same)"
for command in memprof "memprof --hints" "index --binary small -o none" "merge --to memprof-raw -o none"; do
  check "$command refuses a text report" "1 1" "$(status "$tool" $command report) $(grep -c 'expected a MemProf profile\|not a MemProf profile' err)"
done
exit $failed
