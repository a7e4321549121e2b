#!/usr/bin/env bash
# At the end of a recording, all processes together send few questions to the process that resolves names, and wait
# once. While the programs run, each question may take long. The test counts questions, because their time depends on
# the machine.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/stop-many
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$common_root/tests/peers/programs/many_hot.c" -o many_hot
processes=40; [ -z "${FULL-}" ] || processes=150

# begin N: records N processes until descriptor 7 is closed
begin() {
  rm -f go ready
  mkfifo go ready
  exec 7<> go
  "$tool" record --bytes -o out.json -- ./many_hot $1 < go > ready 2> said 7>&- & recording=$!
  head -c 1 ready > /dev/null
}
trap 'exec 7>&-; kill $recording 2> /dev/null || :' EXIT

begin $processes
names=$(pgrep -P $recording -f names-of-frames)
# The name process yields the processor each time it waits for a question.
questions() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' /proc/$names/status; }
before=$(questions)
s=$(status "$tool" stop --wait 60 out.json)
check "a recording of $processes busy processes stops" "0 heapdump: out.json is complete" "$s $(cat err)"
took=$(($(questions) - before))
exec 7>&-
wait $recording || :
check "... it sends fewer questions than there are processes" yes "$([ $took -lt $processes ] && echo yes || echo "$took questions")"
check "... all processes have their heaps" $processes "$("$tool" info --json out.json | jq '[.files[0].heaps[] | select(.kind == "total")] | length')"

begin 100
kill -STOP $(pgrep -P "$(pgrep -P $recording -x many_hot)")
began=$(date +%s%N)
s=$(status "$tool" stop --wait 60 out.json)
took=$((($(date +%s%N) - began) / 1000000))
exec 7>&-
wait $recording || :
check "100 processes, stopped by a signal and often inside the recorder, share one time limit" "0 yes" \
  "$s $([ $took -lt 4000 ] && echo yes || echo "$took ms")"
exit $failed
