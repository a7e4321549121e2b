#!/usr/bin/env bash
# At the end of a recording all recorded processes make a few questions to the process that finds names, and one wait.
# While they run, each question may take long. The test counts questions, since their time depends on the machine.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/stop-many
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$common_root/tests/peers/programs/many_hot.c" -o many_hot
processes=40; [ -z "${FULL-}" ] || processes=150

# begin N: records N processes, until the descriptor 7 is closed
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
# The process that finds names gives up the processor when it waits for a question.
questions() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' /proc/$names/status; }
before=$(questions)
s=$(status "$tool" stop --wait 60 out.json)
check "a recording of $processes busy processes stops" "0 heapdump: out.json is complete" "$s $(cat err)"
took=$(($(questions) - before))
exec 7>&-
wait $recording || :
check "... it asks for names less than once a process" yes "$([ $took -lt $processes ] && echo yes || echo "$took questions")"
check "... all have their heaps" $processes "$("$tool" info --json out.json | jq '[.files[0].heaps[] | select(.kind == "total")] | length')"

begin 100
kill -STOP $(pgrep -P "$(pgrep -P $recording -x many_hot)")
began=$(date +%s%N)
s=$(status "$tool" stop --wait 60 out.json)
took=$((($(date +%s%N) - began) / 1000000))
exec 7>&-
wait $recording || :
check "100 processes that are stopped by a signal, many inside the recorder, have one time limit" "0 yes" \
  "$s $([ $took -lt 4000 ] && echo yes || echo "$took ms")"
exit $failed
