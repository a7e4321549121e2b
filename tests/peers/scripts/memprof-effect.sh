#!/usr/bin/env bash
# heapdump memprof --effect and --hints --diff on two runs of a program that clang 22 instruments. They are checked
# against independent counts and llvm-profdata-22's list of the later run.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
source=$PWD/tests/peers
work=build/peers/memprof-effect
rm -rf $work && mkdir -p $work
cd $work
if told=$(python3 "$source/lib/memprof_itself.py" "$tool" 60); then pass "60 random profiles, each compared with itself: no changes, all contexts are found again"
else fail "a random profile compared with itself: $(head -n 3 <<< "$told")"; fi

[ "$(uname -m)" = x86_64 ] || { [ $failed = 0 ] && skip "the runtime is for x86-64"; exit $failed; }
need clang-22 llvm-22 libclang-rt-22-dev python3-yaml || { [ $failed = 0 ] && skip "clang-22 cannot be installed"; exit $failed; }

clang++-22 -O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls \
  -fmemory-profile -Wl,-build-id -no-pie "$source/programs/memprof_effect.cc" -o program
for run in a b; do
  MEMPROF_OPTIONS=log_path=$PWD/run:print_text=0 ./program $run
  mv run.* $run.raw
  "$tool" index --binary program -o $run.memprof $run.raw 2> err || fail "index: $(tail -n 1 err)"
  llvm-profdata-22 merge --profiled-binary program --memprof-version=4 $run.raw -o $run.llvm
  llvm-profdata-22 show --memory $run.llvm > $run.yaml
done

# No block here lives for 200 s. With these limits, rarely accessed blocks are cold.
limits="--cold-lifetime 0 --cold-density 100"
for release in 19 22; do
  for later in b.raw b.memprof a.raw; do
    "$tool" memprof --effect a.memprof $limits --clang $release --binary program --json $later > effect.json 2> err || { fail "effect: $(tail -n 1 err)"; continue; }
    "$tool" memprof --hints $limits --clang $release --binary program --json a.memprof > before.json 2> err
    "$tool" memprof --hints $limits --clang $release --binary program --json $later > later.json 2> err
    if told=$(python3 "$source/lib/memprof_effect.py" effect.json before.json later.json ${later%%.*}.yaml); then pass "clang $release, $later: $told"
    else fail "clang $release, $later: $told"; fi
  done
done
"$tool" memprof --effect a.memprof $limits --binary program b.raw > text 2> err
check "the first line is the verdict" "25000 bytes were hinted cold, of these 0 (0 %) were cold again; 18500 bytes were cold, of these 18500 (100 %) were not hinted cold" \
  "$(head -n 1 text)"
check "wrong hints are listed" 1 "$(sed -n '/hinted cold, but not cold/,$p' text | grep -c 'cache()')"
check "right hints are listed" "0 1" "$("$tool" memprof --effect a.memprof $limits --binary program a.raw 2> /dev/null | sed -n '/hinted cold, but not cold/,/^$/p' | wc -l) $("$tool" memprof --effect a.memprof $limits --binary program a.raw 2> /dev/null | sed -n '/hinted cold, and cold again/,$p' | grep -c 'cache()')"
check "... in JSON, too" "true 25000" "$("$tool" memprof --effect a.memprof $limits --json --binary program a.raw 2> /dev/null | jq -r '.told_cold[] | "\(.right) \(.bytes)"')"
check "compared with the same run, all hints are right" "25000 bytes were hinted cold, of these 25000 (100 %) were cold again" "$("$tool" memprof --effect a.memprof $limits --binary program a.raw 2> /dev/null | sed -n '1s/;.*//p')"

# Changes for the compiler between the two runs.
"$tool" memprof --hints --diff $limits --json --binary program a.memprof b.memprof > diff.json 2> err || fail "diff: $(tail -n 1 err)"
check "--diff counts contexts that become cold" "2 1" "$(jq -r '[.changes[] | .contexts_become_cold, .contexts_no_longer_cold] | @tsv' diff.json | tr '\t' ' ' | sort -u)"
check "--diff with the same run: no changes" 0 "$("$tool" memprof --hints --diff $limits --json a.memprof a.raw --binary program 2> /dev/null | jq '.changes | length')"

gone=$PWD/../../../tests/data/memprof-22-v4.profdata # of another program
# LLVM keeps a context of two runs as two rows. heapdump treats them as one context with the sum of both.
for runs in "a a" "b b" "a b"; do
  set -- $runs
  cp $1.raw first.raw && cp $2.raw second.raw
  llvm-profdata-22 merge -j 2 --profiled-binary program --memprof-version=4 first.raw second.raw -o rows
  "$tool" index --binary program -o summed first.raw second.raw 2> err || fail "index: $(tail -n 1 err)"
  check "runs $runs: LLVM has more rows than contexts" 1 "$(($("$tool" info --json summed | jq '.files[0].blocks') < $("$tool" info --json rows | jq '.files[0].blocks')))"
  judged() { "$tool" memprof $limits --json --effect "$@" 2> err | jq -c 'del(.files, .hints_file)'; }
  check "... as the later profile, they count as one context" "$(judged a.memprof summed)" "$(judged a.memprof rows)"
  [ "$runs" = "a b" ] || check "... as the earlier profile, too" "$(judged summed "$gone")" "$(judged rows "$gone")"
  differ() { "$tool" memprof --hints --diff $limits --json "$@" 2> err | jq -c '.before.cold_contexts, .after.cold_contexts, [.changes[] | [.before.contexts, .after.contexts, .contexts_become_cold, .contexts_no_longer_cold]]'; }
  [ "$runs" = "a b" ] || check "... and in --diff" "$(differ summed a.memprof; differ b.memprof summed)" "$(differ rows a.memprof; differ b.memprof rows)"
done
# The thresholds of the verdicts.
numbers='[.own_thresholds, .thresholds.cold_accesses_per_byte_and_second, .thresholds.cold_lifetime_seconds, .thresholds.uses_hot] | map(tostring) | join(" ")'
for way in "--hints a.memprof" "--hints --diff a.memprof b.memprof" "--effect a.memprof b.memprof"; do
  check "$way --json has the given thresholds" "false 100 0 false" "$("$tool" memprof $way $limits --json 2> err | jq -r "$numbers")"
  check "... and those of a release" "true 0.05 200 true" "$("$tool" memprof $way --clang 19 --json 2> err | jq -r "$numbers")"
done
check "--effect --json names the file of the hints" "b.memprof a.memprof" "$("$tool" memprof --effect a.memprof b.memprof --json 2> err | jq -r '.files[].file, .hints_file' | xargs)"
check "--effect and --hints together are refused" "2 1" "$(status "$tool" memprof --effect a.memprof --hints b.memprof) $(grep -c -e '--hints and --effect do not go together' err)"
check "--diff needs two files" 2 "$(status "$tool" memprof --hints --diff a.memprof)"
check "--diff needs --hints" 2 "$(status "$tool" memprof --diff a.memprof b.memprof)"
exit $failed
