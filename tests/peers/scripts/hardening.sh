#!/usr/bin/env bash
# Programs with habits that are hard on a recorder: they behave as without it. Their dumps are right, or a message
# explains why one is missing.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc g++ libc6-dev python3 dash jq util-linux libjemalloc-dev libgoogle-perftools-dev libmimalloc-dev
sources=$PWD/tests/peers/programs
work=$PWD/build/peers/hardening
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work"
export TMPDIR=$work/tmp
for s in "$sources"/hard_*.c; do
  name=$(basename "$s" .c); name=${name#hard_}
  [ $name = plugin ] || gcc -w -g -O1 -fno-builtin "$s" -o $name -lpthread # -fno-builtin: gcc would drop free(malloc(1))
done
g++ -w -g -O0 "$sources"/hard_new.cc -o new
ulimit -c 0

# rec ARGS... -- PROGRAM...: its status; after 900 s it and all that it started are killed, which is status 137
rec() { status timeout -s KILL 900 "$tool" record "$@"; }
said() { grep -c -- "$1" err || true; }
# processes FILE: number of processes in a well-formed dump
processes() { "$tool" info --strict --json "$1" | jq '[.files[0].heaps[].pid] | unique | length'; }
# asked FILE OBJECT: bytes and blocks that the object allocated, in the process with the largest amount
asked() { "$tool" tree --frames all --strict --by type --min-share 0 --json "$1" | grep "\"depth\":1,\"axis\":\"type\",\"name\":\"$2\"" |
          sed 's/.*"bytes":\([0-9]*\),"blocks":\([0-9]*\).*/\1 \2/' | sort -n | tail -1; }
# reads FILE...: number of well-formed files
reads() { local n=0 f; for f; do if "$tool" info --strict "$f" > info.out 2>&1; then n=$((n + 1)); fi; done; echo $n; }
left() { ls -A "$TMPDIR"; }

# Forks.
check "fork while threads allocate: nothing hangs" 0 "$(rec --min-bytes 1 -o fork.json -- ./fork)"
check "fork while threads allocate: the parent's live bytes" "1000003 1" "$(asked fork.json fork)"
check "fork while threads allocate: 600 children, most of them killed, in one file" 601 "$(processes fork.json)"
check "fork while threads allocate: a child has its own bytes, not its parent's" yes \
  "$("$tool" info --json fork.json | jq -r '[.files[0].heaps[] | select(.kind == "live")] | sort_by(.bytes) | .[:-1] | if all(.bytes >= 777 and .bytes < 10000) then "yes" else map(.bytes) end')"

check "forks while another thread holds the loader's lock" "5 1000003 1 60" \
  "$(rec --min-bytes 1 -o loader.json -- ./loader) $(asked loader.json loader) $(($(processes loader.json) - 1))"

# Programs that execute others.
gcc -w -static "$sources"/live_exit.c -o static -lpthread
check "exec from threads" 3 "$(rec -o exec.json -- ./exec /usr/bin/dash -c 'exit 3')"
check "exec from threads: the new program is recorded anew" "dash exec" "$("$tool" info --json exec.json | jq -r '[.files[0].heaps[].process] | unique | join(" ")')"
check "exec of a static program: it runs, and the recording before it is kept" "0 done exec" \
  "$(rec -o none.json -- ./exec ./static) $(cat out) $("$tool" info --json none.json | jq -r '[.files[0].heaps[].process] | unique | join(" ")')"
check "after a failed exec the recording continues" "5 1000003 1" "$(rec --min-bytes 1 -o failed.json -- ./exec ./no-such) $(asked failed.json exec)"

# Threads end while dumps are written. Their stacks are too small for a dump. A run with at most 5 dumps is repeated.
for i in $(seq 40); do
  threads=$(DUMPS=thread.json rec --min-bytes 1 --at exit,every=0.001 -o thread.json -- ./thread_exit)
  [ "$threads" = 0 ] && [ "$("$tool" info thread.json | grep -c ' malloc ')" -le 5 ] || break
done
check "short-lived threads: status 0" 0 "$threads"
check "short-lived threads: live bytes" "1000003 1" "$(asked thread.json thread_exit)"
check "short-lived threads: dumps are written" yes "$([ "$("$tool" info --strict thread.json | grep -c " malloc ")" -gt 3 ] && echo yes)"

# Code made at run time has no unwind tables; the recorder follows its frame pointers.
rec --min-bytes 1 -o jit.json -- ./jit > status.out
check "frames without unwind tables: the callers and callees around them" "3703701 3 main 0x below_jit" \
  "$(live jit.json) $("$tool" tree --frames all jit.json | grep -o 'main\|    0x\|below_jit' | tr -d ' ' | uniq | head -3 | tr '\n' ' ' | sed 's/ $//')"

check "a register that only resembles a frame pointer" "0 3703701 3" \
  "$(rec --min-bytes 1 -o trap.json -- ./jit trap) $(live trap.json)"

# Signals inside hooks.
check "many signals" "3 1000003 1" "$(rec --min-bytes 1 -o storm.json -- ./signal) $(asked storm.json signal)"
check "signal handlers that fork" "3 1000003 1" "$(rec --min-bytes 1 -o forks.json -- ./signal fork) $(asked forks.json signal)"
wrong=
for i in 1 2 3 4 5 6 7 8 9 10; do
  rm -f exits.json
  s=$(rec -o exits.json -- ./signal exit)
  [ $s = 7 ] && [ "$(reads exits.json)" = 1 ] || wrong="$wrong $i:$s"
done
check "signal handlers that end the process inside hooks: the recording is kept" "" "$wrong"

# Plugins.
gcc -w -g -O1 -fno-builtin -fPIC -shared -DNAME=from_a -DKEEP=10001 "$sources"/hard_plugin.c -o a.so
gcc -w -g -O1 -fno-builtin -fPIC -shared -DNAME=from_b -DKEEP=20002 "$sources"/hard_plugin.c -o b.so
check "dlopen and dlclose" 0 "$(rec --min-bytes 1 -o dl.json -- ./dl)"
check "closed plugins: bytes and blocks of each object" "500050 50 1000100 50" "$(asked dl.json a.so) $(asked dl.json b.so)"
check "closed plugins: their functions have names" "500050 1000100" \
  "$(for f in from_a from_b; do "$tool" tree --frames all --bytes --min-share 0 dl.json | awk -v f=$f '$4 == f { n += $1 } END { printf "%d ", n }'; done | sed 's/ $//')"

# Programs with their own allocator.
gcc -w -g -O1 "$sources"/live_calls.c -o calls
rec --min-bytes 1 -o calls.json -- ./calls > /dev/null
rec --min-bytes 1 -o new.json -- ./new > /dev/null
calls=$(asked calls.json calls)
# libstdc++ rounds sizes of aligned blocks up.
check "operator new" "$((4640085 + 60 + 121)) 8" "$(asked new.json new)"
for l in jemalloc tcmalloc tcmalloc_minimal mimalloc; do
  gcc -w -g -O1 "$sources"/live_calls.c -o calls_$l -Wl,--no-as-needed -l$l
  g++ -w -g -O0 "$sources"/hard_new.cc -o new_$l -Wl,--no-as-needed -l$l
  check "$l, dynamic: bytes and blocks" "3 $calls" "$(rec --min-bytes 1 -o $l.json -- ./calls_$l) $(asked $l.json calls_$l)"
  check "$l, dynamic: operator new" "0 4640085 8" "$(rec --min-bytes 1 -o $l.json -- ./new_$l) $(asked $l.json new_$l)"
done
for l in jemalloc tcmalloc_minimal; do
  g++ -w -x c "$sources"/live_calls.c -x none -o static_$l -Wl,-Bstatic -l$l -Wl,-Bdynamic -lpthread -ldl
  check "$l, static: the program runs, and a message says that its malloc is not recorded" "3 done 1" \
    "$(rec -o static.json -- ./static_$l) $(cat out) $(said 'has a malloc of its own linked in')"
done

# File descriptors.
check "a program closes every descriptor" "0 1000003 1" "$(rec --min-bytes 1 -o closed.json -- ./close) $(asked closed.json close)"
check "a program closes every descriptor, then opens a file: heapdump writes nothing into it" "0 1000003 1 0" \
  "$(DUMPS=own.json rec --min-bytes 1 --at exit,every=0.01 -o own.json -- ./close own) $(asked own.json close) $(stat -c %s own)"
check "a thread writes to closed descriptors: nothing gets into the dumps" "0 1000003 1 0" \
  "$(DUMPS=shout.json rec --min-bytes 1 --at exit,every=0.01 -o shout.json -- ./close shout) $(asked shout.json close) $(said warning)"

# Programs that cannot be recorded do not run.
no_run() { check "$1" "1 0 1" "$(rec -o no.json -- "$2") $(wc -c < out) $(said "$3.*not run")"; }
no_run "static program" ./static "is linked statically"
printf '#!%s\n' "$work/static" > script && chmod +x script
no_run "script for a static program" ./script "is linked statically"
gcc -w -static-pie "$sources"/live_exit.c -o static_pie
no_run "static program, position independent" ./static_pie "is linked statically"
check "the dynamic loader does not count as a static program" 0 "$(rec -o loader.json -- /lib64/ld-linux-x86-64.so.2 /usr/bin/dash -c :)"
if [ "$(id -u)" = 0 ] && mkdir bin && cp /usr/bin/id bin/whose && chown nobody bin/whose && chmod u+s bin/whose; then
  no_run "setuid program" bin/whose "runs with another user's"
  check "a setuid program found on PATH" "1 1" "$(PATH=$work/bin:$PATH rec -o no.json -- whose) $(said "$work/bin/whose runs with another")"
  chown nobody bin/whose && chmod g+s,u-s bin/whose && chgrp nogroup bin/whose && chmod g+s bin/whose
  no_run "setgid program" bin/whose "runs with another user's"
  chown root:root bin/whose && chmod 4755 bin/whose
  check "a setuid program of the same user is recorded" 0 "$(rec -o self.json -- bin/whose)"
  check "a setuid program is recorded if setuid is disabled" 0 "$(chown nobody bin/whose && chmod 4755 bin/whose
    status setpriv --no-new-privs "$tool" record -o self.json -- bin/whose)"
else
  echo "SKIP: setuid: needs root"
fi

# A full disk.
program='import sys; keep = [bytes(1000 + i) for i in range(300)]; sys.exit(int(sys.argv[1]))'
mkdir full
if mount -t tmpfs -o size=64k full full 2> err; then
  trap 'umount "$work/full"' EXIT
  dd if=/dev/zero of=full/filler bs=1k 2> /dev/null || true
  check "a full temporary directory does not matter" "0 1" \
    "$(TMPDIR=$work/full rec -o full1.json -- /usr/bin/python3 -c "$program" 0) $(reads full1.json)"
  check "a full output directory: a message, and the dump goes to another directory" "1 2 1" \
    "$(rec -o full/x.json -- /usr/bin/python3 -c "$program" 0) $(said 'full/x.json: No space left') $(said 'the recording is in')"
  check "a full output directory: the program's own status" 3 "$(rec -o full/x.json -- /usr/bin/python3 -c "$program" 3)"
  check "a full output directory: no partial file" filler "$(ls full)"
  check "a full output directory: the recordings are kept" 2 "$(reads "$TMPDIR"/heapdump.*.json)"
  rm -r "$TMPDIR"/*
else
  echo "SKIP: full disk: cannot mount"
fi
check "a limit on file sizes does not affect the program" "1 1" \
  "$(ulimit -S -f 1; rec --depth 128 -o limit.json -- /usr/bin/python3 -c "$program" 0) $(said 'limit.json: .*File too large')"
check "a hard limit on file sizes: a message, and nothing is run" "1 1 no" \
  "$(ulimit -f 1; rec -o limit.json -- touch ran) $(said 'cannot create the region of the recording: File too large') $(test -e ran && echo ran || echo no)"
rm -f "$TMPDIR"/heapdump.*.json

# 60 processes at once, but fewer files may be open: processes that cannot be recorded run all the same. Each runs
# until all have begun, and then for one more second, so that it can join the recording.
many='i=0; while [ $i -lt 60 ]; do sleep 1000 & all="$all $!"; i=$((i + 1)); done
  for p in $all; do until read -r name < /proc/$p/comm && [ "$name" = sleep ]; do :; done; done
  sleep 1; kill $all; wait; ulimit -n > limit'
s=$(ulimit -n 40; rec -o files.json -- sh -c "$many")
recorded=$("$tool" info --json files.json | jq '[.files[0].heaps[] | select(.process == "sleep" and .kind == "total")] | length')
left_out=$(grep -o '[0-9]* programs* could not be recorded: too many ran at once' err | cut -d' ' -f1)
check "a limit on open files: all processes end, and those not recorded are counted" "0 yes 40 61" \
  "$s $([ $(processes files.json) -gt 5 ] && echo yes) $(cat limit) $((recorded + ${left_out:-0}))"
check "a soft limit on open files: all processes are recorded, and keep their own limit" "0 yes 30" \
  "$(ulimit -S -n 30; rec -o files.json -- sh -c "$many") $([ $(processes files.json) -ge 61 ] && echo yes) $(cat limit)"

# busy.c makes heapdump's own calls slow and its own page faults numerous. Pages that the program writes meanwhile still
# count as the program's.
gcc -w -O1 -shared -fPIC "$sources"/busy.c -o busy.so
check "a busy machine: memory that grew meanwhile is recorded" "0 1" \
  "$(LD_PRELOAD=$PWD/busy.so rec --children no -o busy.json -- /usr/bin/python3 -c "$program" 0) $(reads busy.json)"

# Killed at any moment.
wrong=
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
  s=0; (DUMPS=kill.json exec timeout -s KILL 900 "$tool" record --at exit,every=0.001 -o kill.json -- ./kill $((i * 777))) > out 2> err || s=$?
  [ $s = 137 ] && [ -z "$(left)" ] && [ "$(reads kill.json)" = 1 ] || wrong="$wrong $i:$s"
  rm -f kill.json
done 2> /dev/null
check "killed at any moment: status, no leftovers, a whole file" "" "$wrong"

# All ways to end.
ends() { check "ends by $1" "$2 1000003 1" "$(rec --min-bytes 1 -o ends.json -- ./ends $1) $(asked ends.json ends)"; rm -f ends.json; }
ends exit 0
check "ends by stack overflow" "4 1000003 1" "$(rec --min-bytes 1 -o ends.json -- ./ends overflow) $(asked ends.json ends)"
rm -f ends.json
ends pthread_exit 0
ends quick_exit 6
ends thread 5
{ s=0; (exec "$tool" record --min-bytes 1 -o abort.json -- ./ends abort) > out 2> err || s=$?; } 2> /dev/null
check "ends by abort" "134 1000003 1" "$s $(asked abort.json ends)"
# The second process waits until every writer of `go` has closed it.
mkfifo go alive
exec 6<> go 8<> alive
exec 9< alive
(exec 6>&- 8>&- 9>&-; rec --min-bytes 1 -o ends.json -- ./ends daemon 5< go 7> alive > daemon.status) &
until "$tool" info ends.json 2> info.err | grep -q ' malloc '; do sleep 0.05; done
exec 6>&- 8>&-
cat <&9 > /dev/null
wait $!
check "ends as a daemon: one file has both processes" "0 1000003 2000003" \
  "$(cat daemon.status) $("$tool" tree --frames all --by type --min-share 0 --json ends.json | jq -r '[.heaps[].rows[] | select(.depth == 1 and .axis == "type" and .name == "ends") | .bytes] | sort | map(tostring) | join(" ")')"
check "no temporary files remain" "" "$(left)"
exit $failed
