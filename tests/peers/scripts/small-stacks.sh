#!/usr/bin/env bash
# Code on a small stack, or in a thread that is about to be cancelled, runs the same while it is recorded.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev libstdc++6
[ "$(uname -m)" = x86_64 ] || skip "on other machines libunwind walks stacks, and needs more stack itself"
sources=$PWD/tests/peers/programs
work=$PWD/build/peers/small-stacks
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work"
export TMPDIR=$work/tmp
ulimit -c 0
rec() { status timeout -s KILL 60 "$tool" record "$@"; }

# Without lazy binding: the dynamic linker would need more stack than everything else.
gcc -w -g -O1 -fno-builtin "$sources"/stack_added.c -o added -Wl,-z,now -lpthread
gcc -w -g -O1 -fno-builtin "$sources"/stack_small.c -o small
gcc -w -g -O1 -fno-builtin "$sources"/cancel.c -o cancel -lpthread

# used: depth of the used stack of a thread, from its start, where the thread-local variables are
used() { set -- $(./added scan stack.bin); echo $(($1 + $2)); }
# added WHAT ARGS...: recording WHAT with ARGS needs at most 1 KiB more stack than running it unrecorded
added() {
  local what=$1 plain more; shift
  ./added $what stack.bin
  plain=$(used)
  if [ "$(rec "$@" -o added.json -- ./added $what stack.bin)" != 0 ]; then fail "$what, recorded $*"; cat err; return; fi
  more=$(($(used) - plain))
  if [ $more -le 1024 ]; then pass "$what, recorded $*: $more bytes of stack"
  else fail "$what, recorded $*: $more bytes of stack, at most 1024 expected"; fi
}
for mode in "--at exit" "--sample 1" "--format memprof-raw" "--format memprof-rfc" "--at peak" "--at signal" "--stats"; do
  for what in first once many foreign exit; do added $what $mode; done
done
added due --at every=0.001
added peak --at peak
added peak --format memprof-raw
added signal --at signal
added _exit --at exit
added new --at exit
rec --min-bytes 1 -o foreign.json -- ./added foreign stack.bin > /dev/null
check "a stack that our own unwind rules do not cover is complete" "run call foreign leave" \
  "$("$tool" tree --frames all --min-share 0.9 --bytes foreign.json | awk '{ print $4 }' | grep -x 'run\|call\|foreign\|leave' | xargs)"

for at in exit peak every=0.01 signal; do
  check "a signal handler on an alternate stack of 8 KiB, --at $at" 3 "$(rec --at $at -o small.json -- ./small)"
done
check "a cancelled thread first finishes its dump" 3 "$(rec --at exit,every=0.001 -o due.json -- ./cancel due)"
check "... the dump is whole" yes "$("$tool" info --strict due.json | grep -q ' malloc ' && echo yes)"
check "a cancelled thread leaves whole raw profiles" 3 \
  "$(rec --format memprof-raw -o due.memprofraw -- ./cancel due)"
check "cancelling the last thread ends the process" 3 "$(rec -o exit.json -- ./cancel exit)"
check "... the recording is whole" yes "$("$tool" info --strict exit.json | grep -q ' malloc ' && echo yes)"
exit $failed
