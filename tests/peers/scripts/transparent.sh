#!/usr/bin/env bash
# A recorded program has the same output and status as unrecorded, and leaves a readable dump.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 git gcc libc6-dev sqlite3 dash
work=$PWD/build/peers/transparent
rm -rf "$work" && mkdir -p "$work" && cd "$work"
printf 'int twice(int x) { return 2 * x; }\n' > unit.c
git init -q repo && (cd repo && for i in 1 2 3; do
  GIT_AUTHOR_DATE="2020-01-0$i 00:00" GIT_COMMITTER_DATE="2020-01-0$i 00:00" \
  git -c user.name=a -c user.email=a@b commit -q --allow-empty -m "commit $i"; done)

# try NAME EXPECTED_STATUS COMMAND...: compares stdout, stderr and status with an unrecorded run, and reads the dump
try() {
  local name=$1 want=$2 plain=0 recorded=0; shift 2
  "$@" > plain.out 2> plain.err || plain=$?
  "$tool" record -o "$name.json" -- "$@" > recorded.out 2> recorded.err || recorded=$?
  grep -v '^heapdump: ' recorded.err > recorded.program.err || true
  if [ $plain != "$want" ] || [ $recorded != "$want" ]; then
    fail "$name: status $want expected, $plain unrecorded, $recorded recorded"
  elif ! cmp -s plain.out recorded.out || ! cmp -s plain.err recorded.program.err; then
    fail "$name: output differs"; diff plain.out recorded.out | head -5; diff plain.err recorded.program.err | head -5
  elif ! "$tool" tree --strict --bytes "$name.json" > tree.out || ! grep -q '100.0%' tree.out; then
    fail "$name: no readable dump"
  else
    pass "$name: $(head -1 tree.out)"
  fi
}

try python3 0 /usr/bin/python3 -c 'import json; print(json.dumps({str(i): [i] * 9 for i in range(2000)}))'
try python3-exit 3 /usr/bin/python3 -c 'import sys; sys.stderr.write("bye\n"); sys.exit(3)'
try git-log 0 git -C repo log --stat
try gcc 0 gcc -O2 -c unit.c -o unit.o
try gcc-error 1 gcc -c missing.c
try sqlite3 0 sqlite3 :memory: 'create table t(a); insert into t values(1),(2); select sum(a) from t;'
try sh 7 dash -c 'echo one; (echo two); exit 7'
try fork 0 /usr/bin/python3 -c 'import os
pid = os.fork()
keep = [bytes(100000) for _ in range(10)]
if pid == 0: os._exit(0)
print(os.waitpid(pid, 0)[1])'
try threads 0 /usr/bin/python3 -c 'import threading
t = [threading.Thread(target=lambda: [bytearray(i) for i in range(3000)]) for _ in range(8)]
[x.start() for x in t]; [x.join() for x in t]; print("done")'

# heapdump ends by the same signal as the program; bash reports 128 plus the signal.
for s in TERM KILL ABRT; do
  status=0
  ( exec "$tool" record -o "sig$s.json" -- dash -c "kill -$s \$\$" ) > /dev/null 2>&1 || status=$?
  want=$((128 + $(kill -l $s)))
  check "killed by $s" $want $status
done
check "a missing program: status 127" 127 "$(status "$tool" record -- ./no-such-program)"

# Child processes are in the file, too.
if "$tool" info gcc.json | grep -q ' cc1 '; then pass "children of gcc"
else fail "children of gcc are not recorded"; fi

# Moments other than the exit.
"$tool" record -o peak.json --at peak -- /usr/bin/python3 -c 'x = [bytes(1000000) for _ in range(20)]; del x; print()' > /dev/null 2>&1
bytes=$("$tool" tree --bytes --kind peak peak.json | awk 'NR == 1 { print $1 }')
if [ "$bytes" -ge 20000000 ]; then pass "peak: $bytes bytes"; else fail "peak: $bytes bytes"; fi
timeout 600 "$tool" record -o every.json --at every=0.05 -- /usr/bin/python3 -c "$until_dumps
until_dumps(3)" 2> /dev/null
dumps=$("$tool" info every.json | grep -c ' malloc ')
if [ "$dumps" -ge 3 ]; then pass "every: $dumps dumps in one trace"; else fail "every: $dumps dumps"; fi
# The file so far is whole after a KILL.
timeout 600 "$tool" record -o killed.json --at every=0.02 -- /usr/bin/python3 -c "$until_dumps
until_dumps(2)
os.kill(os.getpid(), 9)" > /dev/null 2>&1 || true
if "$tool" tree --strict killed.json > /dev/null; then pass "killed while dumping: the trace is whole"
else fail "killed while dumping: the trace is damaged"; fi
exit $failed
