#!/usr/bin/env bash
# Peaks of programs with 1 to 8 threads: the heap adds up to the printed peak. That equals the true peak, from a list
# of all calls, to within 64 KiB per thread. FULL=1: 200 random programs, else 12.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev libstb-dev jq
sources=$PWD/tests/peers/programs work=$PWD/build/peers/peaks
rm -rf "$work" && mkdir -p "$work" && cd "$work"
programs=12
[ "${FULL-}" != 1 ] || programs=200

gcc -g -O1 -w -DLINKED -I/usr/include/stb "$sources/peaks.c" -o peaks_linked -lpthread
s=0; ./peaks_linked 0 $programs > linked || s=$?
sed 's/^/  /' linked
check "$programs programs in every capture mode, with their own recorder" 0 $s

# printed FILE: bytes of the heap of the peak
printed() { "$tool" info --json "$1" | jq '[.files[0].heaps[] | select(.kind == "peak")][0].bytes'; }
gcc -g -O1 -w -fno-builtin "$sources/peaks.c" -o peaks -lpthread
options=("" --ages --threads "--ages --threads" --blocks "--depth 2")
worst=0 wrong=
for ((i = 0; i < programs; i++)); do
  threads=$((1 + i % 8)) mutex=$((i / 8 % 2)) with=${options[i % 6]}
  [ "$(status timeout -s KILL 60 "$tool" record --min-bytes 1 $with -o p.json -- ./peaks $i $threads $mutex)" = 0 ] ||
    { wrong="$wrong $i: $(head -1 err);"; continue; }
  read -r least most < out
  at=$(printed p.json)
  off=$((at < least ? least - at : at > most ? at - most : 0))
  [ $((off / threads)) -le $worst ] || worst=$((off / threads))
  [ $off -le $((65536 * threads)) ] || wrong="$wrong $i ($threads threads, mutex $mutex, $with): $at, true $least to $most;"
done
check "$programs programs, heapdump record: at most $worst bytes of error per thread" "" "$wrong"
exit $failed
