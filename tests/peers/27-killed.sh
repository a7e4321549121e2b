#!/usr/bin/env bash
# Programs that are killed at any moment leave their recording: what it says is what they did themselves count in
# shared memory, but for one operation per thread. FULL=1: a thousand times.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc jq
source=$PWD/tests/peers tool=$PWD/build/heapdump work=$PWD/build/peers/killed
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -O1 -g "$source/killed.c" -o killed -lpthread
times=30
[ -z "${FULL:-}" ] || times=1000
# blocks KIND: blocks of 64 bytes that `counted` allocated
blocks() { "$tool" convert --to folded --kind $1 -o - killed.json 2> err | awk '/counted/ { n += $NF } END { print n / 64 }'; }
wrong= furthest=0
for i in $(seq $times); do
  head -c 512 /dev/zero > tally
  status=0
  (exec timeout -s KILL 60 "$tool" record --depth 8 -o killed.json -- sh -c 'echo $$ > pid; exec ./killed tally') > out 2> err &
  recording=$!
  until [ "$(od -An -tu8 -N8 tally)" -gt 0 ]; do sleep 0.01; done
  sleep 0.0$((RANDOM % 100))
  kill -KILL $(cat pid)
  { wait $recording; } 2> /dev/null || status=$?
  read -r allocated freed < <(od -An -v -tu8 -w64 tally | awk '{ a += $1; f += $2 } END { print a, f }')
  live=$(blocks live) all=$(blocks total)
  off=$((live - (allocated - freed))) more=$((all - allocated))
  for d in ${off#-} ${more#-}; do [ $d -le $furthest ] || furthest=$d; done
  [ $status = 137 ] && [ ${off#-} -le 8 ] && [ $more -ge 0 ] && [ $more -le 8 ] ||
    wrong="$wrong $i: status $status, live $live and all $all recorded, $((allocated - freed)) and $allocated tallied;"
done
check "killed $times times, eight threads: all within an operation per thread (furthest: $furthest)" "" "$wrong"
exit $failed
