#!/usr/bin/env bash
# A trace of Debian's chromium, with memory-infra on: read without an error; a heap of ours added to it, in
# either format, while all events of chromium's stay byte for byte; and the viewer's importer takes the result.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

need chromium python3 || skip "chromium or python3 cannot be installed here"

work=$PWD/build/peers/chromium
rm -rf "$work" && mkdir -p "$work" && cd "$work"
script=$OLDPWD/tests/peers/lib/chromium.py
trace=$work/trace.json

# The browser has limits of its own to the time that a dump may take: on a busy machine it is asked again.
for attempt in 1 2 3 4 5; do python3 "$script" record "$trace" && break; done
dumps=$(python3 "$script" allocators "$trace")
read -r pid time _ <<<"$(awk '$3 > 0' <<<"$dumps" | head -n 1)"
check "chromium's dumps have allocators" yes "$([ -n "$pid" ] && echo yes)"

check "heapdump info reads the trace" 0 "$(status "$tool" info "$trace")"
check "it warns of nothing" "" "$(cat err)"
check "a trace without heaps has none" "chrome, 0 heaps" "$(sed -n '1s/^[^:]*: //p' out)"

count=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["traceEvents"]))' "$trace")
for format in "heaps_v2 contexts" "heaps entries 1"; do
  read -r name unit min <<<"$format"
  added=$work/$name.json
  "$OLDPWD/build/examples/add_heap" "$trace" "$pid" $((time + 1)) $min > "$added" || fail "add_heap"
  check "$name: the heap is the one there is" "$pid 0xadded example_allocator 4000" \
    "$("$tool" info "$added" | awk -v unit="$unit" '$NF == unit { print $1, $(NF-7), $(NF-4), $(NF-3) }')"
  check "$name: all of chromium's events are as they were" "$count events" "$(python3 "$script" same "$trace" "$added" 0xadded)"
done
check "the same dump is not added twice" 1 "$(status "$OLDPWD/build/examples/add_heap" "$added" "$pid" "$time")"
check "it says why" "$added: duplicate dump: 0xadded of pid $pid is already in the trace" "$(sed 's/, at byte.*//' err)"

cd "$OLDPWD"
if need nodejs golang-src && viewer_page "$work/viewer.html"; then
  timeout -k 5 1860 node tests/peers/lib/trace-viewer.mjs "$work" added "$trace" example_allocator "$work"/heaps_v2.json "$work"/heaps.json || failed=1
else
  echo "SKIP: the trace viewer's nodejs or golang-src cannot be installed here"
fi
exit $failed
