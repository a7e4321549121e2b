#!/usr/bin/env bash
# heapdump merge of MemProf profiles, raw and indexed in any mix, against llvm-profdata-22 merge: neither may lose
# allocations. LLVM keeps everything of N inputs only with -j N, and does not add it up. Our sums are checked against
# that.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
[ "$(uname -m)" = x86_64 ] || skip "the runtime is for x86-64"
need clang-22 llvm-22 libclang-rt-22-dev clang-19 llvm-19 libclang-rt-19-dev python3-yaml || skip "clang-22 cannot be installed"
source=$PWD/tests/peers data=$PWD/tests/data
work=build/peers/memprof-merge
rm -rf $work && mkdir -p $work
cd $work

flags="-gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -O1 -no-pie -fmemory-profile -Wl,-build-id"
for r in 19 22; do
  clang++-$r $flags "$source/programs/memprof_inline.cc" -o program-$r
  for run in 1 2 3 4 5 6; do
    MEMPROF_OPTIONS=log_path=$PWD/run.$r.$run:print_text=0 ./program-$r > /dev/null
    mv run.$r.$run.* $r-$run.raw
  done
done
show() { llvm-profdata-22 show --memory "$1" > "$1.yaml" 2> err || { fail "LLVM refuses $1: $(tail -n 1 err)"; return 1; }; }
allocations() { show "$1" && python3 "$source/lib/memprof_merge.py" allocations "$1.yaml"; }
theirs() { llvm-profdata-22 merge --profiled-binary program-22 --memprof-version=4 "$@" > err 2>&1 || { echo error; return; }; allocations "${!#}"; }
# theirs_of JOBS INPUTS...
theirs_of() { theirs "${@:2}" ${1:+-j $1} -o theirs.out; }
ours_of() { "$tool" merge --to memprof-index --binary program-22 --binary program-19 --memprof-version 4 -o ours.out "$@" 2> err || { echo "error: $(tail -n 1 err)"; return; }; allocations ours.out; }

one=$(theirs_of 1 22-1.raw)
for v in 2 3 4; do
  llvm-profdata-22 merge --profiled-binary program-22 --memprof-version=$v 22-1.raw -o indexed-22.$v
done
for v in 0 1 2 3; do
  llvm-profdata-19 merge --profiled-binary program-19 --memprof-version=$v 19-1.raw -o indexed-19.$v
done
old=$("$tool" convert --to memprof-index --memprof-version 4 -o old.4 indexed-19.0 2> /dev/null && allocations old.4)

printf '%-44s %12s %12s %12s %12s %12s\n' "sum of AllocCount" inputs "LLVM" "LLVM -j 1" "LLVM -j N" heapdump
# row NAME EXPECTED INPUTS...
row() {
  local ours
  ours=$(ours_of "${@:3}")
  printf '%-44s %12s %12s %12s %12s %12s\n' "$1" "$2" "$(theirs_of "" "${@:3}")" "$(theirs_of 1 "${@:3}")" "$(theirs_of $(($# - 2)) "${@:3}")" "$ours"
  check "$1: all allocations are kept" "$2" "$ours"
}
row "1 raw" "$one" 22-1.raw
row "2 raw" $((2 * one)) 22-1.raw 22-2.raw
row "6 raw" $((6 * one)) 22-[1-6].raw
row "1 indexed of version 2" "$one" indexed-22.2
row "1 indexed of version 4" "$one" indexed-22.4
row "1 indexed + 1 raw" $((2 * one)) indexed-22.4 22-1.raw
row "1 raw + 1 indexed" $((2 * one)) 22-1.raw indexed-22.4
row "indexed of 19, versions 0 to 3" $((4 * old)) indexed-19.0 indexed-19.1 indexed-19.2 indexed-19.3
row "indexed of 19, version 0 + raw of 22" $((old + one)) indexed-19.0 22-1.raw
row "raw of 19 + raw of 22" $((old + one)) 19-1.raw 22-1.raw
llvm-profdata-22 show --memory indexed-22.4 > a.yaml
cp "$data/memprof-22-access.yaml" b.yaml
b=$(theirs_of 1 b.yaml)
row "2 YAML" $((one + b)) a.yaml b.yaml
row "exchanged" $((one + b)) b.yaml a.yaml
row "YAML + raw + indexed" $((b + 2 * one)) b.yaml 22-1.raw indexed-22.3

# The sums per context equal those over LLVM's separate rows. The order of the inputs does not matter.
llvm-profdata-22 merge --profiled-binary program-22 --memprof-version=4 -j 6 22-[1-6].raw -o six && show six
"$tool" index --binary program-22 --memprof-version 4 -o ours.six 22-[1-6].raw 2> err || fail "index: $(tail -n 1 err)"
show ours.six
if told=$(python3 "$source/lib/memprof_merge.py" same ours.six.yaml six.yaml); then pass "6 raw, context by context: $told"; else fail "6 raw: $told"; fi
"$tool" index --binary program-22 --memprof-version 4 -o again.six 22-[456].raw 22-[123].raw 2> err || fail "index: $(tail -n 1 err)"
check "in another order: the same bytes" same "$(cmp -s ours.six again.six && echo same)"
for i in 1 2 3 4 5 6; do "$tool" index --binary program-22 --memprof-version 4 -o part.$i 22-$i.raw 2> /dev/null; done
"$tool" merge -o half.1 part.[123] 2> /dev/null && "$tool" merge -o half.2 part.[456] 2> /dev/null && "$tool" merge -o again.six half.2 half.1 2> err || fail "merge: $(tail -n 1 err)"
check "merged in two halves: the same bytes" same "$(cmp -s ours.six again.six && echo same)"
"$tool" convert --to memprof-index --memprof-version rfc -o rfc.1 part.1 2> /dev/null
"$tool" merge -o again.six rfc.1 part.[23456] 2> err || fail "merge: $(tail -n 1 err)"
check "one of them in the RFC's layout: the same bytes" same "$(cmp -s ours.six again.six && echo same)"

# Callees, accesses to data, counters.
access=$data/memprof-22-access.profdata
"$tool" merge --base "$data/counters-22.profdata" -o ours.all --binary program-22 22-1.raw "$access" 2> err || fail "merge: $(tail -n 1 err)"
show ours.all && check "callees are kept" "$(llvm-profdata-22 show --memory "$access" | grep -c CalleeGuids)" "$(grep -c CalleeGuids ours.all.yaml)"
# A sampled data symbol must not be listed as never accessed, even if a file says so.
check "data accesses are kept" "$(llvm-profdata-22 show --memory "$access" | sed -n '/DataAccessProfiles/,$p' | grep -v '    - _ZL4sink')" "$(sed -n '/DataAccessProfiles/,$p' ours.all.yaml)"
counts() { llvm-profdata-22 show --all-functions --counts "$1" 2>&1; }
check "the counters are those of --base" "" "$(counts ours.all | diff <(counts "$data/counters-22.profdata") - | head -n 3)"
"$tool" merge -o ours.out "$data/counters-22-memprof-v4.profdata" part.1 2> err || fail "merge: $(tail -n 1 err)"
check "a message reports counters that are left out" 1 "$(grep -c 'counters of .* are left out: --base' err)"
check "raw profiles without their program are refused" 2 "$(status "$tool" merge -o no part.1 22-1.raw)"
check "... and the message names the file" 1 "$(grep -c '^heapdump: 22-1.raw needs --binary' err)"
check "... and no file is written" "" "$(ls no 2> /dev/null)"
"$tool" index --full-schema --binary program-22 -o full 22-1.raw 2> err || fail "index: $(tail -n 1 err)"
check "--full-schema refuses a file without all fields, by name" "1 1" "$(status "$tool" merge --full-schema -o no full part.1) $(grep -c '^heapdump: part.1 lacks fields' err)"
for base in indexed-22.4 part.1 "$data/counters-22.profdata"; do
  "$tool" index --base "$base" -o of.base part.1 2> err || fail "index --base $base: $(tail -n 1 err)"
  case $base in indexed*) told=1 ;; *) told=0 ;; esac
  check "a message reports that the MemProf profile in ${base##*/} is replaced: $told" $told "$(grep -c "the MemProf profile in $base is left out" err)"
done
check "a file that is not a MemProf profile is reported by name" 1 "$("$tool" merge -o no part.1 "$data"/memprof-19.raw "$source/../data/README.md" 2>&1 | grep -c 'README.md')"

check "two --base are refused" "2 1" "$(status "$tool" merge --base "$data/counters-22.profdata" --base part.1 -o no part.1) $(grep -c -e "--base does not take 'part.1' (counters of one file)" err)"

# Pruning of a profile with cold contexts.
cp "$data/memprof-22-v4.profdata" cold
show cold && for what in min-bytes=100 min-bytes=9000 cold=50% cold=100%,min-bytes=1G min-bytes=1G; do
  "$tool" index --prune $what -o ours.pruned cold 2> err || fail "--prune $what: $(tail -n 1 err)"
  left=$(sed -n 's/heapdump: pruned: //p' err)
  show ours.pruned || continue
  if told=$(python3 "$source/lib/memprof_merge.py" protects cold.yaml ours.pruned.yaml); then pass "--prune $what: $left; $told"; else fail "--prune $what: $told"; fi
done
# Call sites and their callees stay unless pruning removes contexts below them. A message counts the removed ones.
sites() { "$tool" info --json "$1" 2> /dev/null | jq -r '.files[0] | "\(.call_sites) \(.callees)"'; }
for way in "index $access" "merge $data/memprof-22-access.yaml" "merge cold"; do
  "$tool" ${way%% *} --memprof-version 4 -o whole ${way#* } 2> err || fail "$way: $(tail -n 1 err)"
  "$tool" ${way%% *} --memprof-version 4 --prune min-bytes=1 -o ours.pruned ${way#* } 2> err || fail "$way: $(tail -n 1 err)"
  check "${way##*/}: pruning nothing keeps call sites and callees: $(sites whole)" "$(sites whole) 0" "$(sites ours.pruned) $(grep -c 'pruned too' err)"
done
"$tool" index --memprof-version 4 --prune cold=100%,min-bytes=1G -o ours.pruned cold 2> err || fail "--prune: $(tail -n 1 err)"
gone=$(sed -n 's/.*pruned too: \([0-9]*\) call sites .* \([0-9]*\) callees$/\1 \2/p' err)
check "pruning all contexts removes their call sites, and a message counts them: $gone" "$(sites whole)" "$(sites ours.pruned | while read -r s c; do echo $((s + ${gone% *})) $((c + ${gone#* })); done)"
# Two call sites: the first led to a pruned context, the second to no allocation of the profile.
printf '%s\n' --- 'HeapProfileRecords:' '  - GUID: 0x5' '    AllocSites:' '      - Callstack: [ { Function: 0x5, LineOffset: 1, Column: 1, IsInlineFrame: false }, { Function: 0x6, LineOffset: 2, Column: 1, IsInlineFrame: false } ]' \
  '        MemInfoBlock: { AllocCount: 1, TotalSize: 9 }' '  - GUID: 0x6' '    CallSites:' '      - Frames: [ { Function: 0x6, LineOffset: 2, Column: 1, IsInlineFrame: false } ]' '        CalleeGuids: [ 0x5, 0x7 ]' \
  '      - Frames: [ { Function: 0x6, LineOffset: 8, Column: 1, IsInlineFrame: false } ]' '        CalleeGuids: [ 0x8 ]' > calls.yaml
"$tool" merge --memprof-version 4 --prune min-bytes=10 -o ours.pruned calls.yaml 2> err || fail "calls: $(tail -n 1 err)"
check "one call site is removed with its two callees, the other stays" "1 1 pruned too: 1 call site that led only to pruned contexts, with 2 callees" \
  "$(sites ours.pruned) $(sed -n 's/^heapdump: \(pruned too.*\)/\1/p' err)"
# If a function is inlined twice where it allocates, the profile has each block twice. It counts once.
python3 - > twice.yaml << 'PY'
block = """      - Callstack:
          - { Function: f, LineOffset: 1, Column: 2, IsInlineFrame: true }
          - { Function: f, LineOffset: 3, Column: 4, IsInlineFrame: true }
          - { Function: g, LineOffset: 5, Column: 6, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 7, TotalSize: 70, TotalLifetime: 1, TotalLifetimeAccessDensity: 1 }
"""
print("---\nHeapProfileRecords:")
for name, times in ("f", 2), ("g", 1):
    print("  - GUID: %s\n    AllocSites:\n%s" % (name, block * times), end="")
print("...")
PY
llvm-profdata-22 merge --memprof-version=4 twice.yaml -o twice
"$tool" merge -o ours.twice twice twice 2> err || fail "twice: $(tail -n 1 err)"
check "a block that LLVM repeats is added once" 28 "$(allocations ours.twice)"
"$tool" index --prune min-bytes=1 -o ours.twice twice 2> err || fail "twice: $(tail -n 1 err)"
pruned=$(sed -n 's/heapdump: pruned: \(.* bytes\) (.*/\1/p' err)
check "... and pruned once" "14 0 of 1 contexts, 0 of 70 bytes" "$(allocations ours.twice) $pruned"
# The same allocation may be listed only in the function that the call was inlined into.
python3 - > caller.yaml << 'PY'
print("""---
HeapProfileRecords:
  - GUID: g
    AllocSites:
      - Callstack:
          - { Function: f, LineOffset: 1, Column: 2, IsInlineFrame: true }
          - { Function: g, LineOffset: 5, Column: 6, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 7, TotalSize: 70, TotalLifetime: 1, TotalLifetimeAccessDensity: 1 }
...""")
PY
"$tool" index --prune min-bytes=60 -o ours.caller caller.yaml 2> err || fail "caller: $(tail -n 1 err)"
pruned=$(sed -n 's/heapdump: pruned: \(.* bytes\) (.*/\1/p' err)
check "a block listed only in the caller is not pruned" "7 0 of 1 contexts, 0 of 70 bytes" "$(allocations ours.caller) $pruned"
# Lines 65536 apart are different places: a block at one that is not cold does not protect the other.
python3 - > far.yaml << 'PY'
print("---\nHeapProfileRecords:\n  - GUID: f\n    AllocSites:")
for line, caller, size, density in (3, "g", 700, 0), (65539, "h", 70, 900000):
    print("""      - Callstack:
          - { Function: f, LineOffset: %d, Column: 2, IsInlineFrame: false }
          - { Function: %s, LineOffset: 5, Column: 6, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 1, TotalSize: %d, TotalLifetime: 900000, TotalLifetimeAccessDensity: %d }""" % (line, caller, size, density))
print("...")
PY
sed 's/65539/3/' far.yaml > near.yaml
for place in "near 0" "far 1"; do
  "$tool" index --prune min-bytes=100 -o ours.place ${place% *}.yaml 2> err || fail "$place: $(tail -n 1 err)"
  check "a cold block ${place% *} a block that is not cold" "pruned: ${place#* } of 2 contexts" "$(grep -o 'pruned: .* contexts' err)"
done
for what in cold=1 "" , min-bytes=1, cold= cold=% "cold= 5%" "cold=5 %" " cold=5%" cold=+5% cold=-0% cold=0x5% cold=nan% cold=inf% cold=1e400% cold=100.1% \
  "min-bytes= 5" min-bytes=+5 min-bytes=5e1 min-bytes=99999999999999999999; do
  check "--prune refuses '$what'" "2 1" "$(status "$tool" index --prune "$what" -o no cold) $(grep -c "^heapdump: --prune does not take '$what' (cold=P%" err)"
done
for what in cold=50% cold=50.0% cold=5e1% cold=050%; do
  check "--prune $what equals cold=50%" "0 same" "$(status "$tool" index --prune $what -o ours.pruned cold) $(
    "$tool" index --prune cold=50% -o of.half cold 2> /dev/null; cmp -s of.half ours.pruned && echo same)"
done

# Options of indexed profiles are refused if the output is another format.
rm -f no
"$tool" convert --to chrome -o trace.json "$data/small.heaptrack" 2> err
for option in "--prune min-bytes=1" "--base cold" "--like 22" --full-schema --hot-cold-schema; do
  for way in "merge $data/memprof-19.raw" "merge trace.json" "merge --to memprof-raw $data/memprof-19.raw" "convert --to chrome cold" \
    "convert --to memprof-raw $data/memprof-19.raw" "convert --to heapsnapshot $data/node-small.heapsnapshot"; do
    check "$way $option is refused" "2 1 " "$(status "$tool" ${way%% *} $option -o no ${way#* }) $(grep -c -e "${option%% *} is for indexed profiles" err) $(ls no 2> /dev/null)"
  done
done
check "--memprof-version is refused, too, except for raw profiles" "2 2 0" "$(status "$tool" merge --memprof-version 3 -o no trace.json) $(
  status "$tool" convert --to chrome --memprof-version 3 -o no cold) $(status "$tool" merge --memprof-version 3 -o no "$data/memprof-19.raw")"
for option in "--prune min-bytes=1" "--base cold"; do
  check "YAML refuses $option" 2 "$(status "$tool" convert --to memprof-yaml $option -o no.yaml cold)"
done

# A pipe gives the same result as a file: packed, as the first or second input, in any format.
gzip -c "$data/memprof-19.raw" > raw.gz && gzip -c "$data/memprof-22-v4.profdata" > indexed.gz
for case in "raw $data/memprof-19.raw $data/memprof-19.raw" "raw_packed raw.gz $data/memprof-19.raw" \
  "indexed $data/memprof-22-v4.profdata indexed-22.4" "indexed_packed indexed.gz indexed-22.4" \
  "YAML $data/memprof-22-access.yaml indexed-22.4" "heaptrack $data/small.heaptrack $data/small.heaptrack" \
  "pprof $data/pprof-go.pb $data/pprof-go.pb" "trace trace.json trace.json"; do
  set -- $case
  for at in first second; do
    [ $at = first ] && from=$2 piped="PIPE $3" || from=$3 piped="$2 PIPE"
    want=$(status "$tool" merge -o of.files $2 $3)
    check "$1, standard input as the $at file" "$want same" "$(status "$tool" merge -o of.pipe ${piped/PIPE/-} < <(cat $from)) $(cmp -s of.files of.pipe && echo same)"
    rm -f fifo && mkfifo fifo
    cat $from > fifo & writer=$!
    check "... from a named pipe" "$want same" "$(status timeout 60 "$tool" merge -o of.pipe ${piped/PIPE/fifo}) $(cmp -s of.files of.pipe && echo same)"
    kill $writer 2> /dev/null || true; wait
    rm -f of.files of.pipe
  done
done
# heapdump looks only at the first of several pipes: waiting for another could block for ever.
"$tool" merge -o no <(cat "$data/memprof-19.raw") <(cat indexed-22.4) 2> err || true
check "a second pipe with an indexed profile: the message gives the right command" 1 "$(grep -c 'expected a raw MemProf profile; merge --to memprof-index' err)"

# Raw profiles that end within their header, or after their blocks but before their call stacks: nothing can be
# written. Together with other files they are left out.
for size in 47 1000; do
head -c $size "$data/memprof-19.raw" > cut.raw
for way in "index --binary program-19" "index --like 19 --binary program-19" "convert --to memprof-index --binary program-19" \
  merge "merge --to memprof-index --binary program-19" memprof "memprof --hints --binary program-19"; do
  rm -f no
  check "$way of a profile truncated at $size bytes" "1 1 " "$(status "$tool" $way -o no cut.raw) $(grep -c 'cut.raw: nothing could be read' err) $(ls no 2> /dev/null)"
done
check "... together with another file" "0 yes same" "$(status "$tool" merge --binary program-19 -o ours.out cut.raw part.1) $(grep -q 'cut.raw.*warning' err && echo yes) $(
  "$tool" merge -o of.one part.1 2> /dev/null; cmp -s of.one ours.out && echo same)"
done

# A file that cannot be read is reported and left out at any position, and the exit status is 1. With --strict nothing
# is written.
head -c 600 part.2 > cut.memprof
printf '%s\n' --- 'HeapProfileRecords: 5' > wrong.yaml
echo hello > garbage
for way in "merge part.1 part.3" "index part.1 part.3" "index --binary program-22 22-1.raw 22-2.raw" "merge 22-1.raw 22-2.raw" \
  "merge --to memprof-yaml part.1 part.3" "merge --to memprof-index --binary program-22 22-1.raw part.2"; do
  set -- $way
  files=("${@: -2}") options=("${@:1:$#-2}")
  "$tool" "${options[@]}" -o of.two "${files[@]}" 2> err || fail "$way: $(tail -n 1 err)"
  bads="missing garbage cut.memprof wrong.yaml"
  [ "$way" != "merge 22-1.raw 22-2.raw" ] || bads=missing # another known or unknown format would change the format of the output
  for bad in $bads; do
    for order in "$bad ${files[*]}" "${files[0]} $bad ${files[1]}" "${files[*]} $bad"; do
      rm -f no
      check "$way, $bad is reported and left out: $order" "1 yes same" "$(status "$tool" "${options[@]}" -o no $order) $(grep -q "^heapdump: \(cannot open \)\?$bad" err && echo yes) $(cmp -s of.two no && echo same)"
    done
    rm -f no
    check "... --strict writes no file" "1 " "$(status "$tool" "${options[@]}" --strict -o no "${files[@]}" $bad) $(ls no 2> /dev/null)"
  done
  check "... the message counts the files left out" 1 "$("$tool" "${options[@]}" -o no "${files[@]}" missing 2>&1 | sed -n 's/.*2 files merged, \([0-9]*\) left out.*/\1/p')"
  rm -f no
  check "... if none can be read, no file is written" "1 " "$(status "$tool" "${options[@]}" -o no missing cut.memprof) $(ls no 2> /dev/null)"
done
# YAML output.
"$tool" merge --memprof-version 4 --to memprof-index -o of.index cold "$data/memprof-22-access.yaml" 2> err || fail "merge: $(tail -n 1 err)"
"$tool" merge --to memprof-yaml -o of.yaml cold "$data/memprof-22-access.yaml" 2> err || fail "merge: $(tail -n 1 err)"
check "merging to YAML equals the YAML of the merged index" "" "$("$tool" memprof --yaml of.index 2> /dev/null | diff - of.yaml | head -n 3)"
check "merging to YAML refuses --prune" "2 1" "$(status "$tool" merge --to memprof-yaml --prune min-bytes=1 -o no cold cold) $(grep -c 'not for YAML' err)"
"$tool" merge --to memprof-yaml -o of.yaml "$data/counters-22-memprof-v4.profdata" part.1 2> err || fail "merge: $(tail -n 1 err)"
check "... and reports counters that are left out" 1 "$(grep -c 'counters of .* are left out$' err)"

# Sums of more than 64 bits, or more than the 32 bits of their field, are reported with their place. --strict refuses
# them.
record() { printf '%s\n' --- 'HeapProfileRecords:' '  - GUID: 0x5' '    AllocSites:' '      - Callstack: [ { Function: 0x5, LineOffset: 1, Column: 2, IsInlineFrame: false } ]' "        MemInfoBlock: { $1 }"; }
record "AllocCount: 1, TotalSize: 18446744073709551615, TotalLifetime: 18446744073709551615" > over.yaml
record "AllocCount: 4000000000" > many.yaml
printf '%s\n' --- 'DataAccessProfiles:' '  SampledRecords:' '    - { Symbol: s, AccessCount: 18446744073709551615 }' > sampled.yaml
for case in "over TotalSize allocations at 0x5 +1:2: the sum of" "over TotalLifetime allocations at 0x5 +1:2: the sum of" "many AllocCount block 0, of allocations at 0x5 +1:2:" \
  "sampled AccessCount accesses to s: the sum of"; do
  set -- $case
  check "$1: $2 is reported with its place" "0 1" "$(status "$tool" merge --memprof-version 4 -o ours.out $1.yaml $1.yaml $1.yaml) $(grep -c "${*:3} $2" err)"
  rm -f no
  check "... --strict refuses it" "1 1 " "$(status "$tool" merge --strict --memprof-version 4 -o no $1.yaml $1.yaml) $(grep -c 'does not fit in' err) $(ls no 2> /dev/null)"
done
check "the message has the value that is written instead" 1 "$("$tool" merge --memprof-version 4 -o ours.out many.yaml many.yaml 2>&1 | grep -c 'AllocCount is 8000000000, .*: written as 4294967295')"

# Many files.
n=200; [ -z "${FULL:-}" ] || n=5000
for i in $(seq $n); do echo "part.$((i % 6 + 1))"; done > many # short names, so that xargs runs one command
/usr/bin/env time -f %M -o rss.few "$tool" merge -o few part.[1-6] 2> /dev/null
/usr/bin/env time -f %M -o rss.many xargs "$tool" merge -o many.out < many 2> err || fail "merge of $n files: $(tail -n 1 err)"
show few && show many.out
check "$n files: all allocations are kept" $((n / 6 * $(allocations few) + $(head -n $((n % 6)) many | while read -r f; do "$tool" convert --to memprof-index --memprof-version 4 -o one "$f" 2> /dev/null; allocations one; done | paste -sd+ | sed 's/^$/0/'))) "$(allocations many.out)"
pass "$n files take $(cat rss.many) KB, 6 of them $(cat rss.few) KB"
[ "$(cat rss.many)" -lt $((2 * $(cat rss.few) + 4000)) ] || fail "memory grows with the files: $(cat rss.many) KB"
exit $failed
