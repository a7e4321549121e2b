#!/usr/bin/env bash
# Programs under valgrind --tool=dhat, in each of its modes. Our totals equal those that DHAT prints. Our call stacks
# equal those that jq extracts from DHAT's file.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc g++ libc6-dev jq
need valgrind || skip "valgrind, which has DHAT, cannot be installed here"
root=$PWD work=$PWD/build/peers/dhat
rm -rf "$work" && mkdir -p "$work" && cd "$work"
ulimit -c 0

# dhat NAME MODE COMMAND...: DHAT writes NAME.json and prints to NAME.text
dhat() { valgrind --tool=dhat --mode="$2" --dhat-out-file="$1.json" "${@:3}" > out 2> "$1.text" || true; }
# said NAME LABEL: the two numbers of a line that DHAT printed: bytes and blocks, or units and events
said() { sed -n "s/^==[0-9]*== $2: *\([0-9,]*\) [a-z]* in \([0-9,]*\) [a-z]*$/\1 \2/p" "$1.text" | tr -d ,; }
# figures NAME KIND ALLOCATOR
figures() {
  "$tool" info --strict --json "$1.json" |
    jq -r --arg kind "$2" --arg allocator "$3" '.files[0].heaps[] | select(.kind == $kind and .allocator == $allocator) | "\(.bytes) \(.blocks)"'
}
# theirs NAME KEY: one line per stack, outermost function first, with objects but without lines and code addresses
theirs() {
  jq -r --arg key "$2" '.ftbl as $f | .pps[] | select(.[$key] > 0) | "\(.fs | reverse | map($f[.]) | join(";")) \(.[$key])"' "$1.json" |
    sed -E 's/(^|;)0x([0-9A-F]+): \?\?\?/\10x\2/g; s/(^|;)0x[0-9A-F]+: /\1/g; s/ \([^() ]*:[0-9]+\)//g; s/ \(in [^;]*\/([^;\/]*)\)/ [\1]/g' | summed
}
ours() {
  "$tool" convert --to folded --kind "$2" --allocator "$3" --keep-runtime -o "$1.folded" "$1.json" 2> err
  sed -E 's/ \([^() ]*:[0-9]+\)//g' "$1.folded" | summed
}
summed() { awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (s in sum) print s sum[s] }' | sort; }

gcc -g -O0 -w "$root/tests/peers/programs/dhat.c" -o dhat
gcc -O0 -w "$root/tests/peers/programs/dhat.c" -o bare
g++ -g -O2 -w "$root/tests/peers/programs/heaps.cc" -o heaps
dhat program heap ./dhat
dhat freed heap ./dhat freed
dhat bare heap ./bare
dhat heaps heap ./heaps 30
for name in program freed bare heaps; do
  check "$name: total bytes and blocks" "$(said $name Total)" "$(figures $name total malloc)"
  check "$name: bytes and blocks at the peak (t-gmax)" "$(said $name 'At t-gmax')" "$(figures $name peak malloc)"
  check "$name: bytes and blocks at the end (t-end)" "$(said $name 'At t-end')" "$(figures $name live malloc)"
  check "$name: bytes read and written" "$(sed -n 's/^==[0-9]*== \(Reads\|Writes\): *\([0-9,]*\) bytes$/\2/p' $name.text | tr -d , | xargs)" \
    "$("$tool" info --json $name.json | jq -r '.files[0].scalars[] | select(.name == "reads" or .name == "writes") | .value' | xargs)"
  check "$name: total by call stack" "$(theirs $name tb)" "$(ours $name total malloc)"
  check "$name: peak by call stack" "$(theirs $name gb)" "$(ours $name peak malloc)"
  check "$name: each stack's own maximum" "$(theirs $name mb)" "$(ours $name peak 'malloc maxima')"
  check "$name: the command" "$(sed -n 's/^==[0-9]*== Command: //p' $name.text)" \
    "$("$tool" info --json $name.json | jq -r '.files[0].scalars[] | select(.name == "command") | .value')"
done
check "names of functions without debug information" "main › table › grow" "$("$tool" tree bare.json | sed -n 's/.*  \(main .*\)/\1/p' | sed 's/ \[bare\]//g')"

for mode in copy ad-hoc; do
  dhat $mode $mode ./dhat
  check "$mode: the total" "$(said $mode Total)" "$(figures $mode total $mode)"
  check "$mode: by call stack" "$(theirs $mode tb)" "$(ours $mode total $mode)"
done
check "ad-hoc: the unit is units" "units" "$("$tool" info --json ad-hoc.json | jq -r '.files[0].heaps[0].labels.unit')"

# DHAT's heaps are compared and converted like all others.
check "diff of a file with itself finds nothing" 0 "$(status "$tool" diff heaps.json heaps.json)"
for to in pprof chrome rows; do
  check "--to $to: live bytes and blocks" "0 $(said program 'At t-end')" \
    "$(status "$tool" convert --to $to -o program.$to program.json) $("$tool" info --json program.$to | jq -r '.files[0].heaps[] | select(.kind == "live") | "\(.bytes) \(.blocks)"')"
done
check "suspects uses the peak if all blocks were freed" "0 grow" "$(status "$tool" suspects --json freed.json) $(jq -r '[.. | strings | select(startswith("grow"))][0]' out | sed 's/ .*//')"
head -c 500 program.json > cut.json
check "a truncated file is refused" "1 heapdump: cut.json" "$(status "$tool" info cut.json) $(head -n 1 err | cut -c1-18)"
sed 's/"dhatFileVersion":2/"dhatFileVersion":3/' program.json > later.json
check "a later version of the format is refused" 1 "$("$tool" info later.json 2>&1 | grep -c "version 2 of DHAT's files expected, found '3")"
check "info: one context is singular" "1 context" "$("$tool" info --bytes "$common_root/tests/data/dhat-heap.json" | awk '$6 == "malloc" && $7 == 600 { print $9, $10 }')"
exit $failed
