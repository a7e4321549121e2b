#!/usr/bin/env bash
# A trace of Debian's chromium with memory-infra: heapdump reads it without an error and adds a heap to it, in either
# format. All of chromium's events stay the same bytes, and the trace viewer's importer accepts the result.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

need chromium python3 || skip "chromium or python3 cannot be installed here"

work=$PWD/build/peers/chromium
rm -rf "$work" && mkdir -p "$work" && cd "$work"
script=$OLDPWD/tests/peers/lib/chromium.py
trace=$work/trace.json

# The browser limits the time of a dump itself: on a busy machine the script asks again.
for attempt in 1 2 3 4 5; do python3 "$script" record "$trace" && break; done
dumps=$(python3 "$script" allocators "$trace")
read -r pid time _ <<<"$(awk '$3 > 0' <<<"$dumps" | head -n 1)"
check "chromium's dumps have allocators" yes "$([ -n "$pid" ] && echo yes)"

check "heapdump info reads the trace" 0 "$(status "$tool" info "$trace")"
check "info gives no warning" "" "$(cat err)"
check "the trace itself has no heaps" "chrome, 0 heaps" "$(sed -n '1s/^[^:]*: //p' out)"

count=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["traceEvents"]))' "$trace")
for format in "heaps_v2 contexts" "heaps entries 1"; do
  read -r name unit min <<<"$format"
  added=$work/$name.json
  "$OLDPWD/build/examples/add_heap" "$trace" "$pid" $((time + 1)) $min > "$added" || fail "add_heap"
  check "$name: the trace has exactly the added heap" "$pid 0xadded example_allocator 4000" \
    "$("$tool" info --bytes "$added" | awk -v unit="$unit" '$NF == unit { print $1, $(NF-7), $(NF-4), $(NF-3) }')"
  check "$name: all of chromium's events are unchanged" "$count events" "$(python3 "$script" same "$trace" "$added" 0xadded)"
done
check "adding the same dump twice fails" 1 "$(status "$OLDPWD/build/examples/add_heap" "$added" "$pid" "$time")"
check "... and the message gives the reason" "$added: duplicate dump: 0xadded of pid $pid is already in the trace" "$(sed 's/, at byte.*//' err)"

cd "$OLDPWD"
if need nodejs golang-src && viewer_page "$work/viewer.html"; then
  timeout -k 5 1860 node tests/peers/lib/trace-viewer.mjs "$work" added "$trace" example_allocator "$work"/heaps_v2.json "$work"/heaps.json || failed=1
else
  echo "SKIP: the trace viewer's nodejs or golang-src cannot be installed here"
fi
exit $failed
