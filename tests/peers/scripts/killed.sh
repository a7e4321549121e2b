#!/usr/bin/env bash
# Programs that end at any moment in any way leave their recording: what it says is what they did themselves count in
# shared memory, but for one operation per thread. FULL=1: a thousand times each.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
source=$PWD/tests/peers/programs tool=$PWD/build/heapdump work=$PWD/build/peers/killed
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -O1 -g "$source/killed.c" -o killed -lpthread
ulimit -c 0

# blocks KIND: blocks of 64 bytes that `counted` allocated
blocks() { "$tool" convert --to folded --kind $1 -o - killed.json 2> err | awk '/counted/ { n += $NF } END { print n / 64 }'; }
# compare NUMBER STATUS WANTED: what the recording says with the tally
compare() {
  local allocated freed live all off more d
  read -r allocated freed < <(od -An -v -tu8 -w64 tally | awk '{ a += $1; f += $2 } END { print a, f }')
  live=$(blocks live) all=$(blocks total)
  off=$((live - (allocated - freed))) more=$((all - allocated))
  for d in ${off#-} ${more#-}; do [ $d -le $furthest ] || furthest=$d; done
  [ $2 = $3 ] && [ ${off#-} -le 8 ] && [ $more -ge 0 ] && [ $more -le 8 ] ||
    wrong="$wrong $1: status $2, live $live and all $all recorded, $((allocated - freed)) and $allocated tallied;"
}
# record OPTIONS...: heapdump, by `within`, whose pid is in `recording`; the program's is in the file pid. Returns when
# that allocates.
within=()
record() {
  rm -f killed.json
  head -c 512 /dev/zero > tally
  "${within[@]}" "$tool" record --depth 8 -o killed.json "$@" > out 2> err &
  recording=$!
  while [ $(od -An -tu8 -N8 tally) = 0 ] && kill -0 $recording 2> /dev/null; do sleep 0.01; done
}
# ended: waits for heapdump, and says how it ended
ended() { status=0; { wait $recording; } 2> /dev/null || status=$?; }
moment() { sleep 0.0$((RANDOM % 100)); }
churn='echo $$ > pid; exec ./killed tally'

by_kill() { record -- sh -c "$churn"; moment; kill -KILL $(cat pid); ended; compare $1 $status 137; }
# Of a program that was killed, `heapdump pages` tells as many blocks as the trace has live ones.
by_kill_of_blocks() {
  local pages off
  rm -f kept
  record --blocks --keep kept -- sh -c "$churn"; moment; kill -KILL $(cat pid); ended; compare $1 $status 137
  pages=$("$tool" pages --all --json kept 2> err | jq '[.processes[0].sites[] | select(.function == "counted").blocks] | add // 0') || pages=0
  off=$((pages - $(blocks live)))
  [ ${off#-} -le 8 ] || wrong="$wrong $1: $pages blocks on pages, $off more than the live blocks of the trace;"
}
by_abort() { record -- ./killed tally abort $((RANDOM * 3)); ended; compare $1 $status 134; }
by_segv() { record -- ./killed tally segv $((RANDOM * 3)); ended; compare $1 $status 139; }
# In a process group of their own, whom the terminal's interrupt reaches; what a script starts else ignores that.
by_interrupt() {
  local within=(env --default-signal=INT setsid)
  record -- ./killed tally; moment; kill -INT -- -$recording; ended; compare $1 $status 130
}
by_oom() { record -- sh -c 'echo $$ > "$0"/cgroup.procs && exec ./killed tally oom $1' "$group" $((RANDOM * 3)); ended; compare $1 $status 137; }
# heapdump itself: the file that grows is an array that lacks its end, and what was kept has what came later, too.
by_losing_heapdump() {
  local told
  rm -f kept killed.json
  record --keep kept --at every=0.001 -- sh -c "$churn"
  moment
  kill -KILL $recording
  ended
  moment
  kill -KILL $(cat pid)
  while grep -qs '^State:.[^XZ]' /proc/$(cat pid)/status; do sleep 0.01; done
  told=$(status "$tool" info --strict killed.json)
  [ "$told" = 0 ] && { cat killed.json; echo ']'; } | jq -e 'type == "array"' > out 2>&1 || wrong="$wrong $1: status $told, $(head -1 err out);"
  rm -f killed.json
  told=$(status "$tool" recover kept -o killed.json)
  [ "$told" = 0 ] || wrong="$wrong $1: recover ends with $told;"
  compare $1 $status 137
}

# A group of processes in which there is little memory.
make_group() {
  local at
  for at in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$at/heapdump-killed-$$
    mkdir "$group" 2> /dev/null || continue
    trap 'rmdir "$group"' EXIT
    for limit in memory.limit_in_bytes memory.max; do
      [ -e "$group/$limit" ] && echo 64M > "$group/$limit" || continue
      for swap in memory.memsw.limit_in_bytes:64M memory.swap.max:0; do
        [ ! -e "$group/${swap%:*}" ] || echo ${swap#*:} > "$group/${swap%:*}" || true
      done
      return 0
    done
    rmdir "$group"
    trap - EXIT
  done 2> /dev/null
  return 1
}

# all TIMES HOW NAME
all() {
  local i times=$1
  [ -z "${FULL:-}" ] || times=1000
  wrong= furthest=0
  for i in $(seq $times); do by_$2 $i 2> said; done # by bash, of who was killed
  check "$3 $times times, eight threads: all within an operation per thread (furthest: $furthest)" "" "$wrong"
}
all 20 kill "killed"
all 5 kill_of_blocks "killed, with blocks where they lie"
all 5 abort "abort"
all 5 segv "SIGSEGV"
all 5 interrupt "Ctrl-C to the group"
all 8 losing_heapdump "heapdump killed, --keep and recover; the time line so far reads"
if make_group; then all 5 oom "killed for want of memory in a group"
else echo "SKIP: killed for want of memory: no group of processes with a limit on memory can be made here"
fi
exit $failed
