#!/usr/bin/env bash
# heapdump answers requests and notices ended programs while it resolves names. A snapshot shows the moment of its
# request, without programs that had ended.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq python3
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/meanwhile
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -O1 -fno-builtin -s "$common_root/tests/peers/programs/meanwhile.c" -o stays
cp stays ends
cp stays short

# run REQUEST: prints the result of the request and leaves out.json
run() {
  rm -rf asked ran port cache
  mkfifo asked port
  python3 -u "$common_root/tests/peers/lib/slow_server.py" > port & server=$!
  DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 port) DEBUGINFOD_CACHE_PATH=$PWD/cache timeout -s KILL 100 \
    "$tool" record --min-bytes 1 -o out.json -- /usr/bin/python3 "$common_root/tests/peers/lib/meanwhile.py" "$1" 2> err < /dev/null
  kill $server
}
# heaps FILE KIND PROCESS: MiB of each heap, one per line
heaps() { "$tool" info --json "$1" | jq -r --arg kind "$2" --arg of "$3" '.files[0].heaps[] | select(.kind == $kind and .process == $of) | .bytes / 1048576 | floor'; }
# time FILE KIND PROCESS
time_of() { "$tool" info --json "$1" | jq -r --arg kind "$2" --arg of "$3" '[.files[0].heaps[] | select(.kind == $kind and .process == $of) | .time_us][0]'; }
before() { [ "$1" -lt "$2" ] && echo before || echo "$1 and $2"; }

check "a snapshot is taken while names are resolved" "served 1" "$(run snapshot)"
check "... it shows the moment of the request" 1 "$(heaps during.json live stays)"
check "... it does not contain the ended program" "" "$(heaps during.json live ends)"
asked=$(time_of during.json live stays)
check "... the ended program's heaps have the time of its end" before "$(before "$(time_of out.json total ends)" "$asked")"
check "... the running program's peak has its true time" before "$(before "$(time_of out.json peak stays)" "$asked")"
check "... later blocks are recorded" "3 11" "$(heaps out.json live stays) $(heaps out.json total stays)"
check "a recording stops while names are resolved" "served 1" "$(run stop)"
check "... it does not contain later blocks" "1 9" "$(heaps out.json live stays) $(heaps out.json total stays)"
exit $failed
