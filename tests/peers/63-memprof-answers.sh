#!/usr/bin/env bash
# What the tool says of MemProf profiles: versions, names of binaries, fields that are kept, whose hints these are, and
# what to do with texts that it does not read.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc jq gzip
work=build/peers/memprof-answers data=$PWD/tests/data source=$PWD/tests/peers
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
for v in 0 1 2 3 rfc; do
  "$tool" convert --to memprof-index --memprof-version $v -o all.$v all 2> err
  "$tool" convert --to memprof-index --memprof-version 0 -o back.$v all.$v 2> err
  check "version $v keeps the fields that an indexed profile has" "$([ $v = rfc ] && echo "$(fields all.rfc) $(fields all.rfc)" || echo 27 27)" "$(fields all.$v) $(fields back.$v)"
done
"$tool" convert --to memprof-index --memprof-version 3 --hot-cold-schema -o few all 2> err
check "or those that are asked for" 4 "$(fields few)"
for v in 2 3; do
  "$tool" index --memprof-version $v --binary small -o few small.raw 2> err
  check "version $v of a raw profile has four, and tells which" \
    "4 heapdump: fields kept: AllocCount, TotalSize, TotalLifetime, TotalLifetimeAccessDensity (--full-schema keeps all)" "$(fields few) $(grep 'fields kept' err)"
done

# In this one, some contexts have the call stack of others that are cold.
hints="$tool memprof --hints --json $data/memprof-22-v3.profdata"
check "frames of a context are as many as it has" 0 "$($hints | jq '[.allocations[].contexts[] | select(.frames > (.stack | length))] | length')"
check "... also of those that nothing tells apart" "cold 8 8" "$($hints | jq -r '[.allocations[].contexts[] | select(.told_apart == false and .heat == "cold")] | max_by(.frames) | "\(.heat) \(.frames) \(.stack | length)"')"
check "whose hints these are" "clang 19 true, clang 19 false" "$($hints | jq -r '"\(.compiler) \(.own_thresholds)"'), $($hints --hot-density 5 | jq -r '"\(.compiler) \(.own_thresholds)"')"
check "... in words" "what clang 19 makes of them, by its own thresholds" "$("$tool" memprof --hints "$data/memprof-22-v3.profdata" | head -n 1)"
check "... and in the help" 1 "$("$tool" memprof --help | grep -c 'With --hints, what clang 19 makes')"

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
told report 'MEMPROF_OPTIONS=print_text=0'
told yaml 'llvm-profdata merge --memprof-version=3'
told yaml.gz 'llvm-profdata merge --memprof-version=3'
told listing 'take the profile that it lists'
for command in tree "memprof --hints" "index --binary small -o none" "merge --to memprof-raw -o none"; do
  check "$command, too" "1 1" "$(status "$tool" $command report) $(grep -c print_text=0 err)"
done
exit $failed
