#!/usr/bin/env bash
# Reading a region takes time in proportion to its bytes, whatever it claims: twice as many records, modules, names,
# call stacks, blocks or time-line dumps take twice as long. FULL=1: 300 modified regions with sanitizers, instead of
# 30.
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

check "four times as many entries take at most about four times as long: recover, pages, watch" "" "$("$peers/lib/regions.py" "$tool" linear)"
check "... and so does a time line" "" "$("$peers/lib/regions.py" "$tool" line)"
check "records that are missing, share a place, or share their rows: at most 2 s" "" "$("$peers/lib/regions.py" "$tool" bounded 2)"
check "$n modified regions: at most 2 s each" "" "$("$peers/lib/regions.py" "${sanitized-$tool}" mutated $n 2)"

# Programs that overwrite their region while they are recorded.
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
check "$((n / 3)) programs that overwrite their region: snapshot and stop answer" "" "$wrong"
exit $failed
