#!/usr/bin/env bash
# heapdump record where things are not as it would like: outputs that cannot be, odd install paths,
# signals, programs that become others, programs that cannot be recorded.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3 dash
work=$PWD/build/peers/record
rm -rf "$work" && mkdir -p "$work"
cd "$work"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
said() { grep -c "$1" err || true; }

# Outputs.
check "-o that cannot be created: said before the program runs" "1 no" \
  "$(status "$tool" record -o no/where.json -- touch ran) $([ -e ran ] && echo yes || echo no)"
check "-o -: the program's output is its own" "2 no" \
  "$(status "$tool" record -o - -- touch ran) $([ -e ran ] && echo yes || echo no)"
mkdir gone
check "the directory of -o goes while the program runs: status 1, the recording is kept" "1 1" \
  "$(status "$tool" record -o gone/x.json -- rmdir gone) $(said 'what was recorded is left in')"
check "what was kept reads" 1 "$("$tool" info "$TMPDIR"/heapdump-*/*.json | grep -c ' malloc ')"
rm -r "$TMPDIR"/*

# Where it is installed.
mkdir "a b"
cp "$tool" "$(dirname "$tool")/libheapdump_record.so" "a b"
check "installed under a path with a space" 0 "$(status "a b/heapdump" record -o space.json -- dash -c :)"
check "installed under a path with a space: recorded" yes "$([ "$(live space.json | cut -d' ' -f1)" -gt 0 ] && echo yes)"

# A signal sent to heapdump reaches the program, which dumps and goes on.
mkfifo ready
"$tool" record --at signal=USR1 -o signal.json -- /usr/bin/python3 -c 'import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
keep = bytes(3000000)
open("ready", "w").write("ready")
while signal.SIGUSR1 not in signal.sigpending(): time.sleep(0.01)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
raise SystemExit(5)' 2> err &
cat ready > out
kill -USR1 $!
s=0; wait $! || s=$?
check "--at signal: forwarded, the program goes on" "5 1" "$s $(said 'recording process [0-9]*; kill -10 [0-9]* makes it dump')"
check "--at signal: dumped" yes "$([ "$(live signal.json | cut -d' ' -f1)" -ge 3000000 ] && echo yes)"

# A process that executes another program: the last has FILE, those before a number behind the pid.
"$tool" record --at every=0.01 -o image.json -- /usr/bin/python3 -c 'import os, time
keep, end = [], time.monotonic() + 0.2
while time.monotonic() < end: keep.append(bytes(100))
os.execv("/bin/dash", ["dash", "-c", "echo $PPID > /dev/null"])' 2> err
check "images of a process: the last" dash "$("$tool" info --json image.json | grep -o '"process":"[^"]*"' | sort -u | cut -d'"' -f4)"
check "images of a process: the first" python3 "$("$tool" info --json image.python3.*.1.json | grep -o '"process":"[^"]*"' | sort -u | cut -d'"' -f4)"

# Nothing recorded, and why.
check "a signal that never came" "0 1" \
  "$(status "$tool" record --at signal -o never.json -- dash -c :) $(said 'left no dump: it never got the signal')"
check "no spool is left" "" "$(ls "$TMPDIR")"
exit $failed
