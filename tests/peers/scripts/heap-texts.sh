#!/usr/bin/env bash
# One program under jemalloc, gperftools, tcmalloc's sampling and heaptrack: our figures equal those of the profilers'
# own tools.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must g++ libc6-dev python3 jq
need libjemalloc-dev libgoogle-perftools-dev google-perftools heaptrack zstd binutils || skip "no heap profilers here"
root=$PWD work=$PWD/build/peers/heap-texts
rm -rf "$work" && mkdir -p "$work" && cd "$work"
ulimit -c 0

# clean COMMAND...: runs it in an almost empty environment
clean() { env -i PATH="$PATH" HOME="$work" TMPDIR="$work" "$@"; }
# figures FILE KIND: blocks and bytes of the file's heap of that kind
figures() { "$tool" info --strict --json "$1" | jq -r --arg kind "$2" '.files[0].heaps[] | select(.kind == $kind) | "\(.blocks) \(.bytes)"'; }
# functions HOW FILE KIND THEIRS: compares the bytes of each function with the other tool's output
functions() {
  "$tool" tree --strict --json --min-bytes 0 --kind "$3" "$2" > ours.json
  "$root/tests/peers/lib/heaps.py" "$1" ours.json "$4"
}
# total FILE: the total that jeprof or google-pprof printed, in bytes
total() { sed -n 's/^Total: \([0-9]*\) B$/\1/p' "$1"; }

# jeprof and google-pprof name inlined code after the function that contains it, so these builds have no inlining.
g++ -O1 -fno-inline -g -DPLAIN "$root/tests/peers/programs/heaps.cc" -o heaps
g++ -O1 -fno-inline -g -DPLAIN -DSAMPLE "$root/tests/peers/programs/heaps.cc" -o heaps-sampled -ltcmalloc
g++ -O2 -g "$root/tests/peers/programs/heaps.cc" -o heaps-inlined

# jemalloc scales samples stack by stack. The sampling interval is so small that no function is missed by chance.
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2)
clean MALLOC_CONF=prof:true,prof_final:true,prof_accum:true,lg_prof_sample:12,prof_prefix:je LD_PRELOAD="$jemalloc" ./heaps 300 2> /dev/null
mv je.*.heap je.heap
jeprof --text --show_bytes heaps je.heap > je.live 2> /dev/null
jeprof --text --show_bytes --alloc_space heaps je.heap > je.total 2> /dev/null
near() { [ -n "$2" ] && [ $(($1 - $2)) -ge -1 ] && [ $(($1 - $2)) -le 1 ] && echo near || echo "$1 and $2"; }
for kind in live total; do
  check "jemalloc, $kind: the total equals jeprof's" near "$(near "$(figures je.heap $kind | cut -d' ' -f2)" "$(total je.$kind)")"
  check "jemalloc, $kind: functions equal jeprof's" "12 equal $([ $kind = live ] && echo 4 || echo 6)" "$(functions pprof je.heap $kind je.$kind)"
done
check "the allocator's frames are hidden, except with --keep-runtime" "0 1" \
  "$("$tool" top --kind live je.heap | grep -c libjemalloc) $("$tool" top --kind live --keep-runtime je.heap | grep -q libjemalloc && echo 1)"

# jeprof --raw puts names before the profile, as it does for a running process. Then the program's file is not needed.
{ jeprof --raw heaps je.heap 2> /dev/null || true; cat je.heap; } > je.raw
mkdir -p away && mv heaps away/
check "jeprof --raw: functions equal jeprof's" "" "$(functions pprof je.raw live je.live | grep 'with what it calls')"
check "... and so does the total" "$(figures je.heap live)" "$(figures je.raw live)"
mv away/heaps .

# gperftools records every block.
clean HEAPPROFILE="$work/gp" LD_PRELOAD="$(ls /usr/lib/*/libtcmalloc.so.4)" ./heaps 30 > /dev/null 2>&1
mv "$(ls gp.*.heap | tail -n 1)" gp.heap
google-pprof --text --show_bytes --inuse_space heaps gp.heap > gp.live 2> /dev/null
google-pprof --text --show_bytes --alloc_space heaps gp.heap > gp.total 2> /dev/null
for kind in live total; do
  check "gperftools, $kind: the total equals google-pprof's" "$(total gp.$kind)" "$(figures gp.heap $kind | cut -d' ' -f2)"
  check "gperftools, $kind: functions equal google-pprof's" "12 equal $([ $kind = live ] && echo 4 || echo 6)" "$(functions pprof gp.heap $kind gp.$kind)"
done
check "gperftools: the first line's figures" "$(sed -n 's/^heap profile: *\([0-9]*\): *\([0-9]*\) .*/\1 \2/p' gp.heap)" "$(figures gp.heap live)"

# google-pprof --raw writes a binary CPU profile.
google-pprof --raw heaps gp.heap > gp.raw 2> /dev/null || true
check "google-pprof --raw: refused, and the message names the CPU profile" "1 1" "$(status "$tool" info gp.raw) $(grep -c "a heap profile expected, found a CPU profile ('--- profile')" err)"

# tcmalloc: samples of live blocks, without a total.
clean TCMALLOC_SAMPLE_PARAMETER=16384 ./heaps-sampled 300 5 sample.heap
google-pprof --text --show_bytes heaps-sampled sample.heap > sample.live 2> /dev/null
blocks=$(grep -c '@ 0x' sample.heap)
near() { [ -n "$2" ] && [ $(($2 - $1)) -ge 0 ] && [ $(($2 - $1)) -le "$blocks" ] && echo near || echo "$1 and $2"; } # pprof rounds each sample down
check "tcmalloc: the total equals google-pprof's" near "$(near "$(figures sample.heap live | cut -d' ' -f2)" "$(total sample.live)")"
check "tcmalloc: only a heap of live blocks" live "$("$tool" info --json sample.heap | jq -r '[.files[0].heaps[].kind] | join(" ")')"

# heaptrack records every event. It counts more temporary allocations than we do: each repeated free of the first
# allocation (`- 0` twice in a row).
clean heaptrack -o track ./heaps-inlined 30 > /dev/null 2>&1
zstd -qdf track.zst -o track
heaptrack_print track.zst > track.text 2> /dev/null
said() { sed -n "s/^$1: \([0-9.]*[KMGB]*\).*/\1/p" track.text; }
human() { awk -v n="$1" 'BEGIN { if (n < 1000) printf "%dB", n; else if (n < 1e6) printf "%.2fK", n / 1e3; else printf "%.2fM", n / 1e6 }'; }
check "heaptrack: number of calls" "$(said 'calls to allocation functions')" "$(figures track total | cut -d' ' -f1)"
check "heaptrack: bytes at the peak" "$(said 'peak heap memory consumption')" "$(human "$(figures track peak | cut -d' ' -f2)")"
check "heaptrack: leaked bytes" "$(said 'total memory leaked')" "$(human "$(figures track live | cut -d' ' -f2)")"
twice=$(awk '/^[-+] / { if ($0 == "- 0" && last == "-") n++; last = $1 } END { print n + 0 }' track)
check "heaptrack: temporary allocations" "$(said 'temporary memory allocations')" "$(($(figures track temporary | cut -d' ' -f1) + twice))"
for cost in leaked:live peak:peak; do
  heaptrack_print -p 0 -a 0 -T 0 --flamegraph-cost-type "${cost%:*}" -F "$cost.folded" track.zst > /dev/null 2>&1
  check "heaptrack, ${cost#*:}: all bytes" "$(awk '{ n += $NF } END { print n }' "$cost.folded")" "$(figures track "${cost#*:}" | cut -d' ' -f2)"
  check "heaptrack, ${cost#*:}: functions equal heaptrack_print's" "6 equal" "$(functions folded track "${cost#*:}" "$cost.folded" | cut -d' ' -f1,2)"
done

# Older versions, and a recording without "I" lines: the same figures. In version 3 strings have their length in
# front.
sed -n '1,/^I /p' track | sed '/^I /d' > track.head
sed '1,/^I /d' track > track.rest
cat track.head track.rest > track.without
{ sed 's/^v .*/v 10100 2/' track.head; sed 's/^s [0-9a-f]* /s /' track.rest; } > track.2
sed 's/^v .*/v 10000 1/' track.2 > track.1
for file in track.without track.2 track.1; do
  heaptrack_print $file 2> /dev/null > track.text
  check "heaptrack, $file: calls and leaked bytes" "$(said 'calls to allocation functions') $(said 'total memory leaked')" \
    "$(figures $file total | cut -d' ' -f1) $(human "$(figures $file live | cut -d' ' -f2)")"
done

# We count suppressed leaks as leaks; heaptrack_print subtracts them and prints their sum. Version 1.4 lets each rule
# of a file match all leaks, and prints "invalid suppression line" for the rules that a program itself contains.
heaptrack_print track.zst --suppressions <(echo leak:keep) 2> /dev/null > track.text
check "heaptrack: our leaks are its leaked and suppressed leaks together" "$(human "$(figures track live | cut -d' ' -f2)")" \
  "$(awk -F': ' '/^(total memory leaked|suppressed leaks): / && $2 != "0B" { print $2 }' track.text)"

# These heaps are compared, merged and converted like all others.
for file in je.heap gp.heap sample.heap track; do
  check "$file: diff with itself finds nothing" 0 "$(status "$tool" diff "$file" "$file")"
  check "$file: converted to a trace, the live bytes stay" "0 $(figures $file live | cut -d' ' -f2)" \
    "$(status "$tool" convert --kind live --to heaps_v2 -o $file.json $file) $(figures $file.json live | cut -d' ' -f2)"
  check "$file: merged with itself, the live bytes double" "0 $((2 * $(figures $file live | cut -d' ' -f2)))" \
    "$(status "$tool" merge --kind live --to heaps_v2 -o $file.sum.json $file $file) $(figures $file.sum.json live | cut -d' ' -f2)"
done

# The program's file has moved.
mkdir -p moved && mv heaps moved/
check "a program that moved: frames are addresses" 1 "$("$tool" top --kind live gp.heap | grep -c ' heaps+0x' | sed 's/[0-9]*[1-9][0-9]*/1/')"
check "--binary names the moved program: functions equal google-pprof's" "12 equal 4" "$("$tool" tree --json --min-bytes 0 --kind live --binary moved/heaps gp.heap > ours.json; "$root/tests/peers/lib/heaps.py" pprof ours.json gp.live)"
mv moved/heaps moved/other
check "--binary with a name that no call stack has" "0 heapdump: $work/moved/other: no call stack has a frame in it" \
  "$(status "$tool" top --kind live --binary moved/other gp.heap) $(sed 's/ (its build id is [0-9a-f]*)$//' err)"

# Another file in the program's place: a newer one causes a warning. If the running program's file was replaced,
# heapdump takes no names from the new file.
cp -p moved/other heaps
check "the program back in its place: no warning" "0 " "$(status "$tool" top --kind live gp.heap) $(cat err)"
touch -d '+1 hour' heaps
check "a file that is newer than the profile causes a warning" "0 heapdump: warning: $work/heaps is newer than gp.heap, so names of functions may be wrong" \
  "$(status "$tool" top --kind live gp.heap) $(cat err)"
sed "s|$work/heaps\$|& (deleted)|" gp.heap > replaced.heap
check "a program that was replaced while it ran gives no names" "heaps 0 1" \
  "$("$tool" info --json replaced.heap | jq -r '.files[0].heaps[0].process') $("$tool" tree --kind live replaced.heap | grep -c 'heaps\.cc') $("$tool" top --kind live replaced.heap 2>&1 | grep -c ' heaps+0x' | sed 's/[0-9]*[1-9][0-9]*/1/')"
cp -p moved/other moved/heaps
check "... and --binary names the original: functions equal google-pprof's" "12 equal 4" "$("$tool" tree --json --min-bytes 0 --kind live --binary moved/heaps replaced.heap > ours.json; "$root/tests/peers/lib/heaps.py" pprof ours.json gp.live)"
rm heaps
mkfifo heaps
check "a named pipe in the program's place does not block" 0 "$(status timeout 20 "$tool" top gp.heap)"
exit $failed
