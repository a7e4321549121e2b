#!/usr/bin/env bash
# Requests to a recording: no other process can answer in its place, and a silent one blocks no requests to others.
# 400 false sockets of another user are in the way.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq util-linux procps
peers=$PWD/tests/peers work=$(mktemp -d)
trap 'for p in $(jobs -p); do kill -CONT $p && kill $p || :; done 2> /dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
linked "$work/joins" "$peers/programs/joins.c" -O1
cp "$tool" "$work/heapdump" # a place where other users may run it
cp "$peers/lib/false_sockets.py" "${tool%/*}/libheapdump_record.so" "$work"
chmod -R a+rX "$work"
tool=$work/heapdump
cd "$work"
gcc -shared -fPIC -x c /dev/null -o nothing.so && chmod a+r nothing.so # the programs contain their own recorder
export HEAPDUMP_RECORDER=$work/nothing.so

if [ "$(id -u)" = 0 ]; then
  owner="setpriv --reuid 54321 --regid 54321 --clear-groups" attacker="setpriv --reuid 65534 --regid 65534 --clear-groups"
else
  owner= attacker=
  echo "SKIP: requests of two users, and messages to root: needs root"
fi
mkdir own false && chmod 777 own false && cd own

# ask VERB...: status and all output; status 124 after ten seconds, or $most
ask() { local s=0; timeout ${most-10} $as "$tool" "$@" > ../said 2>&1 || s=$?; echo "$s $(cat ../said)"; }
# record NAME: records `joins`, which sleeps; sets $recording to heapdump's pid and $program to the program's
record() {
  rm -f ../$1.ready $1.json
  $owner "$tool" record -o $1.json -- "$work/joins" +5000 say=ready sleep=900 > ../$1.ready 2> ../$1.err & recording=$!
  until grep -qs ready ../$1.ready && [ -s $1.json ]; do sleep 0.02; done
  program=$(pgrep -P $recording -x joins)
}
# obstruct MODE FILE: opens 400 false sockets as another user, until `exec 9>&-`
obstruct() {
  rm -f ../false/in ../false/out && mkfifo ../false/in && chmod 666 ../false/in
  $attacker /usr/bin/python3 ../false_sockets.py 400 $1 "$2" < ../false/in > ../false/out 2>&1 & obstructing=$!
  exec 9> ../false/in
  until grep -qs listening ../false/out; do kill -0 $obstructing; sleep 0.02; done
}
clear_way() { exec 9>&-; wait $obstructing || :; }

record app
as=$owner
check "snapshot by the file's name" "0 heapdump: app.json has dump 0x1: 1 process, 5000 bytes live" "$(ask snapshot app.json)"
check "snapshot by the program's pid" "0 heapdump: app.json has dump 0x2: 1 process, 5000 bytes live" "$(ask snapshot $program)"
check "... and by heapdump's own pid" "0 heapdump: app.json has dump 0x3: 1 process, 5000 bytes live" "$(ask snapshot $recording)"
check "a process that is not recorded" "1 heapdump: 1: expected a running recording of this user (a compressed recording is named by its PID); start the program with: heapdump record -- COMMAND" "$(ask snapshot 1)"

# A recording that works longer than the wait for a sign of life.
mkfifo slow && chmod 666 slow
{ sleep 3.5; cat slow > /dev/null; } & reading=$!
check "a snapshot that takes longer than --wait" "0 heapdump: $PWD/slow has dump 0x4: 1 process, 5000 bytes live" "$(ask snapshot -o slow --wait 1 $program)"
wait $reading

# Names at the end take longer than --wait.
gcc -x c -g -O1 -fno-inline - -o names <<C
#include <stdlib.h>
#include <unistd.h>
void *volatile keep;
void work(void) __asm__("$(python3 "$peers/lib/hostile_objects.py" name 30)");
void work(void) { keep = malloc(1000); __asm__(""); }
int main(void) { work(); sleep(900); }
C
HEAPDUMP_RECORDER=$work/libheapdump_record.so $owner "$tool" record --names-time 1 -o names.json -- ./names 2> ../names.err & naming=$!
until [ -s names.json ]; do kill -0 $naming; sleep 0.02; done
check "stop, while names take longer than --wait" "0 heapdump: names.json is complete" "$(most=90 ask stop --wait 0.7 names.json)"
check "... resolving names did take that long" 1 "$(grep -c 'reading it takes too long (limit: 1 s' ../names.err)"
pkill -P $naming -x names
wait $naming || :

# Another recording, stopped by a signal, delays only requests to itself.
record other; stopped=$recording
kill -STOP $stopped
check "another recording is stopped: a request by pid is answered" 0 "$(ask snapshot $(pgrep -P $(jobs -p | head -1) -x joins) | head -c 1)"
began=$(date +%s%N)
check "a request to the stopped recording names it" "1 heapdump: other.json: its recording (process $stopped) gave no sign of life for 2 s: it is stopped by a signal; --wait SECONDS waits longer" "$(ask snapshot other.json)"
took=$((($(date +%s%N) - began) / 1000000))
check "... after two seconds ($took ms)" yes "$([ $took -ge 2000 ] && [ $took -lt 4000 ] && echo yes)"
check "... by pid, with --wait" "1 heapdump: $program: its recording (process $stopped) gave no sign of life for 0.2 s: it is stopped by a signal; --wait SECONDS waits longer" "$(ask stop --wait 0.2 $program)"
check "... watch and pages, too" "1 1" "$(ask watch --json --count 1 --wait 0.2 other.json | grep -c 'no sign of life') $(ask pages --wait 0.2 other.json | grep -c 'no sign of life')"
kill -CONT $stopped
check "... when it continues, it does not carry out the abandoned requests" "0 heapdump: other.json has dump 0x1: 1 process, 5000 bytes live" "$(ask snapshot other.json)"
ask stop other.json > /dev/null
kill $program

# Silent connections of the same user.
program=$(pgrep -P $(jobs -p | head -1) -x joins)
region=$(printf %x $(awk '/memfd:heapdump/ { print $5; exit }' /proc/$program/maps))
name=$(sed -n "s/.*@\(heapdump-[0-9]*-[0-9a-f]*-$region-[0-9a-f]*\)$/\1/p" /proc/net/unix)
as=
check "silent connections do not block" "0 heapdump: app.json has dump" "$($owner /usr/bin/python3 -c "
import socket, subprocess, sys
held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(10)]
for s in held: s.connect('\0$name')
p = subprocess.run([sys.argv[1], 'snapshot', 'app.json'], capture_output=True, text=True, timeout=10)
print(p.returncode, p.stderr[:27])" "$tool")"

if [ -n "$owner" ]; then
  chmod a+r app.json
  for mode in silent reply; do
    obstruct $mode app.json
    for as in "$owner" ""; do
      check "${as:+the owner}${as:-root}, 400 false sockets ($mode): snapshot by file and by pid" "0 0" "$(ask snapshot app.json | cut -c1-1) $(ask snapshot $program | cut -c1-1)"
      check "... watch reads the right region" "0 5000" "$(ask watch --json --count 1 app.json > /dev/null; s=$(cut -c1-1 ../said); jq -r .bytes ../said | sed 's/^/0 /')"
    done
    check "... no text of the false sockets is printed" "" "$(grep -a EVIL ../said || :)"
    clear_way
  done
  as=$attacker
  check "another user's requests are refused" "1 1" "$(ask snapshot $program | cut -c1-1) $(ask stop app.json | cut -c1-1)"
  # The file and the sockets belong to the attacker. root cannot know that, but prints only its own words.
  $attacker sh -c 'echo "[" > ../false/bait.json'
  obstruct reply ../false/bait.json
  as=
  check "root's request to a made-up recording prints no text of it" "" "$(for v in stop snapshot; do ask $v ../false/bait.json; ask $v $obstructing; done | tr -d '\n' | grep -a 'EVIL\|second' || :)"
  as=$owner
  check "the owner's request to it is refused" "1" "$(ask stop ../false/bait.json | cut -c1-1)"
  clear_way
fi
as=$owner
check "stop leaves a whole file" "0 heapdump: app.json is complete" "$(ask stop app.json)"
kill $program 2> /dev/null || :
exit $failed
