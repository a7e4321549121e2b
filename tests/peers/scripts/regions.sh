#!/usr/bin/env bash
# What is in a region costs time by its bytes, whatever it says: twice as many records, modules, names, call stacks,
# blocks or moments of a time line take twice as long to look at. FULL=1: 300 changed regions, with sanitizers, instead of 30.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 libstb-dev pkg-config
peers=$PWD/tests/peers work=$PWD/build/peers/regions
rm -rf "$work" && mkdir -p "$work"
linked "$work/regions" "$peers/programs/regions.c" -O1
gcc -w -O1 "$peers/programs/scribble.c" -o "$work/scribble"
n=30
if [ -n "${FULL-}" ]; then
  n=300
  made -j2 B=build/asan CFLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" build/asan/heapdump
  sanitized=$PWD/build/asan/heapdump
fi
cd "$work"

check "four times as much takes four times as long: recover, pages, watch" "" "$("$peers/lib/regions.py" "$tool" linear)"
check "a time line that is four times as long takes four times as long" "" "$("$peers/lib/regions.py" "$tool" line)"
check "records that are not there, at one place, or share their rows: at most 2 s" "" "$("$peers/lib/regions.py" "$tool" bounded 2)"
check "$n changed regions: at most 2 s each" "" "$("$peers/lib/regions.py" "${sanitized-$tool}" mutated $n 2)"

# Programs that write anything into their region while they are recorded.
wrong=
for ((seed = 0; seed < n / 3; seed++)); do
  rm -f ready
  HEAPDUMP_RECORDER=${tool%/*}/libheapdump_record.so "${sanitized-$tool}" record -o live.json -- ./scribble $seed > ready 2> err & recording=$!
  until grep -qs . ready || ! kill -0 $recording 2> /dev/null; do sleep 0.01; done
  program=$(pgrep -P $recording -x scribble) || :
  s=0; timeout 5 "${sanitized-$tool}" snapshot $program > out 2>&1 || s=$?
  [ $s -le 1 ] || wrong="$wrong $seed:snapshot:$s"
  s=0; timeout 5 "${sanitized-$tool}" stop $program > out 2>&1 || s=$?
  [ $s -le 1 ] || wrong="$wrong $seed:stop:$s"
  [ -z "$program" ] || kill $program 2> /dev/null || :
  s=0; wait $recording 2> /dev/null || s=$?
  [ $s = 143 ] || [ $s -le 1 ] || wrong="$wrong $seed:record:$s $(grep -m1 ERROR err || :)"
done
check "$((n / 3)) programs that write into their region: snapshot and stop answer" "" "$wrong"
exit $failed
