#!/usr/bin/env bash
# Programs that end at any moment and in any way keep their recording. It equals the program's own counts in shared
# memory, except for at most one operation per thread. FULL=1: each way 1,000 times.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
source=$PWD/tests/peers/programs tool=$PWD/build/heapdump work=$PWD/build/peers/killed
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -O1 -g "$source/killed.c" -o killed -lpthread
ulimit -c 0

# blocks KIND: number of 64-byte blocks that `counted` allocated
blocks() { "$tool" convert --to folded --kind $1 -o - killed.json 2> err | awk '/counted/ { n += $NF } END { print n / 64 }'; }
# compare NUMBER STATUS WANTED: compares the recording with the tally
compare() {
  local allocated freed live all off more d
  read -r allocated freed < <(od -An -v -tu8 -w64 tally | awk '{ a += $1; f += $2 } END { print a, f }')
  live=$(blocks live) all=$(blocks total)
  off=$((live - (allocated - freed))) more=$((all - allocated))
  for d in ${off#-} ${more#-}; do [ $d -le $furthest ] || furthest=$d; done
  [ $2 = $3 ] && [ ${off#-} -le 8 ] && [ $more -ge 0 ] && [ $more -le 8 ] ||
    wrong="$wrong $1: status $2, live $live and all $all recorded, $((allocated - freed)) and $allocated tallied;"
}
# record OPTIONS...: starts heapdump under `within`. Its pid is in `recording`, the program's pid in the file pid.
# Returns when the program has begun to allocate.
within=()
record() {
  rm -f killed.json
  head -c 512 /dev/zero > tally
  "${within[@]}" "$tool" record --depth 8 -o killed.json "$@" > out 2> err &
  recording=$!
  while [ $(od -An -tu8 -N8 tally) = 0 ] && kill -0 $recording 2> /dev/null; do sleep 0.01; done
}
# ended: waits for heapdump and sets `status`
ended() { status=0; { wait $recording; } 2> /dev/null || status=$?; }
moment() { sleep 0.0$((RANDOM % 100)); }
churn='echo $$ > pid; exec ./killed tally'

by_kill() { record -- sh -c "$churn"; moment; kill -KILL $(cat pid); ended; compare $1 $status 137; }
# After a kill, `heapdump pages` has the same number of blocks as the trace has live ones.
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
# In a new process group, which the terminal's interrupt reaches; background jobs of a script ignore SIGINT otherwise.
by_interrupt() {
  local within=(env --default-signal=INT setsid)
  record -- ./killed tally; moment; kill -INT -- -$recording; ended; compare $1 $status 130
}
by_oom() { record -- sh -c 'echo $$ > "$0"/cgroup.procs && exec ./killed tally oom $1' "$group" $((RANDOM * 3)); ended; compare $1 $status 137; }
# Kills heapdump itself: the growing file is a JSON array without its end, and the kept recording has the later
# events, too.
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

# make_group: a control group with little memory
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
  for i in $(seq $times); do by_$2 $i 2> said; done # bash reports killed jobs on stderr
  check "$3 $times times, eight threads: exact to one operation per thread (largest difference: $furthest)" "" "$wrong"
}
all 20 kill "killed"
all 5 kill_of_blocks "killed, with --blocks"
all 5 abort "abort"
all 5 segv "SIGSEGV"
all 5 interrupt "Ctrl-C to the group"
all 8 losing_heapdump "heapdump killed, --keep and recover; the time line so far reads"
if make_group; then all 5 oom "killed by the kernel for lack of memory"
else echo "SKIP: killed for lack of memory: this machine allows no control group with a memory limit"
fi

# The summary names the signal, also if only children of the program allocated, and says that a program is stopped.
cat > signalled.c <<'C'
#include <signal.h>
#include <stdlib.h>
int main(void) {
    int status = system("exec /bin/ls / > /dev/null");
    raise(SIGTERM);
    return status;
}
C
gcc -w signalled.c -o signalled
check "the summary names the signal that ended a program without allocations" "143 1" \
  "$(status "$tool" record -o killed.json -- ./signalled 2> /dev/null) $(grep -c '^heapdump: ./signalled was killed by SIGTERM$' err)"
record -- ./killed tally
kill -STOP $(pgrep -P $recording -x killed)
until grep -q '^State:.T' /proc/$(pgrep -P $recording -x killed)/status; do :; done
"$tool" stop killed.json > said 2>&1
check "the summary says that the program is stopped" 1 "$(grep -c '^heapdump: killed (.*; stopped by a signal$' err)"
kill -KILL $(pgrep -P $recording -x killed)
ended
exit $failed
