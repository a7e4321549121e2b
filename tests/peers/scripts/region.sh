#!/usr/bin/env bash
# Recordings from outside: they are whole however the program ends, one file has all processes, the growing file can
# be read and extended, and it survives heapdump itself. The programs record only through the library (joins.c).
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq util-linux dash
source=$PWD/tests/peers/programs/joins.c
work=$PWD/build/peers/region
rm -rf "$work" && mkdir -p "$work"
linked "$work/joins" "$source" -g -O1
cd "$work"
joins=$work/joins
gcc -shared -fPIC -x c /dev/null -o nothing.so # the programs contain their own recorder
export HEAPDUMP_RECORDER=$work/nothing.so

# heaps FILE [FILTER]: kind, bytes and blocks of each heap of each process, ordered by name, kind and bytes
heaps() { "$tool" info --strict --json "$1" | jq -r '[.files[0].heaps[] | '"${2-.}"' | [.process, .kind, .bytes, .blocks]] | sort | map(map(tostring) | join(" ")) | join(", ")'; }
said() { grep -c "$1" err || true; }

# Ways to end.
want="joins live 5000 1, joins peak 7000 2, joins temporary 2000 1, joins total 7000 2"
check "exit with a status" "3 $want" "$(status "$tool" record -o exit.json -- "$joins" +5000 +2000 - exit=3) $(heaps exit.json)"
check "SIGKILL" "137 $want" "$(status "$tool" record -o kill.json -- "$joins" +5000 +2000 - signal=9) $(heaps kill.json)"
check "SIGSEGV" "139 $want" "$(status "$tool" record -o segv.json -- "$joins" +5000 +2000 - signal=11) $(heaps segv.json)"
check "abort" "134 $want" "$(status "$tool" record -o abort.json -- "$joins" +5000 +2000 - abort) $(heaps abort.json)"
cat > interrupt.py <<'P'
import os, signal, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, preexec_fn=lambda: (os.setsid(), signal.signal(signal.SIGINT, signal.SIG_DFL)))
p.stdout.readline()
os.killpg(p.pid, signal.SIGINT)
print(-p.wait())
P
check "Ctrl-C to the group" "2 $want" "$(python3 interrupt.py "$tool" record -o int.json -- "$joins" +5000 +2000 - say=ready sleep=900 2> err) $(heaps int.json)"
check "--at peak: only the peak" "joins peak 7000 2" "$(status "$tool" record --at peak -o peak.json -- "$joins" +5000 +2000 - > /dev/null; heaps peak.json)"
check "... --at exit: the heaps of the end" "joins live 5000 1, joins temporary 2000 1, joins total 7000 2" "$(status "$tool" record --at exit -o end.json -- "$joins" +5000 +2000 - > /dev/null; heaps end.json)"
check "... --at every: only the time line" live "$(status "$tool" record --at every=0.4 -o line.json -- "$joins" +5000 +2000 - sleep=0.6 > /dev/null; "$tool" info --json line.json | jq -r '[.files[0].heaps[].kind] | unique | join(" ")')"
check "... --at with moments that never come: the heaps of the end, and a message" "0 1 joins live 5000 1, joins temporary 2000 1, joins total 7000 2" \
  "$(status "$tool" record --at every=900 -o none.json -- "$joins" +5000 +2000 -) $(said 'the program ended before the first dump of --at every=900: none.json has its heaps at exit') $(heaps none.json)"
check "... with a signal that never comes" "0 1 joins live 5000 1, joins temporary 0 0, joins total 5000 1" \
  "$(status "$tool" record --at signal=USR1 -o none.json -- "$joins" +5000) $(said 'before the first dump of --at signal=USR1: none.json has') $(heaps none.json)"
check "... and children: each has its end" "0 2" "$(status "$tool" record --at every=900 -o none.json -- sh -c "$joins +5000; $joins +2000") $(
  "$tool" info --json none.json | jq '[.files[0].heaps[] | select(.kind == "live" and .process == "joins")] | length')"
check "... after a dump there is no end, and no message" "live 0" "$(status "$tool" record --at every=0.2 -o line.json -- "$joins" +5000 sleep=0.6 > /dev/null
  "$tool" info --json line.json | jq -r '[.files[0].heaps[].kind] | unique | join(" ")') $(said 'before the first dump')"
check "several --at add up" "$want" "$(status "$tool" record --at exit --at peak -o both.json -- "$joins" +5000 +2000 - > /dev/null; heaps both.json)"
check "--at with an unknown word: refused" "2 1" "$(status "$tool" record --at peak,never -o no.json -- "$joins") $(said "not 'never'")"

# Dumps continue while a program sleeps. Three seconds have six half seconds: at least three dumps, however slow the
# machine is, and never more than fit between the first and the last dump.
"$tool" record --at every=0.5 -o every.json -- "$joins" +300 sleep=3 +50 2> err
"$tool" info --json every.json | jq -c '[.files[0].heaps[] | select(.kind == "live") | .time_us] | sort | map(. / 1e6)' > times
check "--at every=0.5 of a program that sleeps for three seconds: dumps, after the first, at $(jq -r '.[0] as $t | .[1:] | map((. - $t) * 100 | round / 100) | join(", ")' times) s" \
  true "$(jq 'length >= 3 and length - 1 <= (.[-1] - .[0]) / 0.5 + 1' times)"

# Processes.
"$tool" record -o forks.json -- "$joins" +100 fork +70 fork +5 2> err
check "forked children have only their own blocks" "joins live 5 1, joins live 70 1, joins live 100 1" "$(heaps forks.json 'select(.kind == "live")')"
check "... a message has the bytes of the blocks that were their parent's" 1 "$(said '; 170 B inherited from its parent')"
"$tool" record -o image.json -- "$joins" +100 exec +70 2> err
check "a process that executes another program counts as another process" "2 exe live 70 1, joins live 100 1" \
  "$("$tool" info --json image.json | jq '[.files[0].heaps[].pid] | unique | length') $(heaps image.json 'select(.kind == "live")')"
"$tool" record -o shell.json -- dash -c 'for i in $(seq 130); do "$0" +1000 +$i -; done' "$joins" 2> err
check "130 children of a shell script: one file, one line" "130 130000 1 1" \
  "$("$tool" info --json shell.json | jq '[.files[0].heaps[] | select(.process == "joins" and .kind == "live")] | length, (map(.bytes) | add)' | paste -sd' ') $(said '^heapdump: and [0-9]* more processes') $(ls *shell* | wc -l)"
check "--children no" "joins live 100 1" "$("$tool" record --children no -o no.json -- "$joins" +100 2> err; heaps no.json 'select(.kind == "live")')"
check "--children REGEX" "other live 7 1" "$(cp joins other; "$tool" record --children '^oth' -o some.json -- dash -c './joins +100; ./other +7' 2> err; heaps some.json 'select(.kind == "live" and .process != "dash")')"
check "... a message counts the programs left out" 1 "$(said 'children excludes [0-9]* programs* (.*joins)')"

# Processes that outlive the program.
"$tool" record -o daemon.json -- "$joins" +100 daemon +70 say=ready sleep=900 > daemon.ready 2> err &
recording=$!
until grep -qs ready daemon.ready && grep -q 'processes that it started are recorded' err; do kill -0 $recording; sleep 0.05; done
check "a growing file is readable" "joins live 100 1" "$(heaps daemon.json 'select(.kind == "live")')"
check "snapshot by the file's name" "0 joins live 70 1, joins live 100 1" "$(s=0; "$tool" snapshot daemon.json 2> /dev/null || s=$?; echo $s) $(heaps daemon.json 'select(.kind == "live")')"
daemon=$("$tool" info --json daemon.json | jq '[.files[0].heaps[] | select(.bytes == 70) | .pid][0]')
check "... by pid, into another file" "0 joins live 70 1" "$(s=0; "$tool" snapshot -o other.json $daemon 2> /dev/null || s=$?; echo $s) $(heaps other.json)"
[ "$(id -u)" != 0 ] || check "... refused for another user" 1 "$(s=0; setpriv --reuid nobody --regid nogroup --clear-groups "$tool" snapshot $daemon 2> /dev/null || s=$?; echo $s)"
s=0; "$tool" stop daemon.json 2> /dev/null || s=$?
ended=0; wait $recording || ended=$?
check "stop: the file is whole when it returns, and the process continues" "0 0 alive 4" \
  "$s $ended $(kill -0 $daemon && echo alive) $("$tool" info --strict --json daemon.json | jq '[.files[0].heaps[] | select(.bytes == 70)] | length')"
kill $daemon
check "... afterwards the recording accepts no requests" 1 "$(s=0; "$tool" snapshot daemon.json 2> /dev/null || s=$?; echo $s)"

# heapdump is killed, too.
"$tool" record --keep kept -o kept.json -- "$joins" +5000 +2000 - say=ready sleep=900 > kept.ready 2> err &
recording=$!
until grep -qs ready kept.ready; do sleep 0.05; done
child=$(pgrep -P $recording -x joins)
kill -9 $recording; wait $recording 2> /dev/null || :
kill -9 $child
check "SIGKILL of heapdump: recover reads the file of --keep" "0 $want" "$(status "$tool" recover kept -o recovered.json) $(heaps recovered.json)"
check "... recover refuses another file" "1 1" "$(status "$tool" recover exit.json -o no.json) $(said 'record --keep')"
check "... record does not overwrite an existing file of --keep" "1 1" "$(status "$tool" record --keep kept -o no.json -- "$joins" +1) $(said 'cannot create kept')"

# A full disk: the file stays as it is, and is readable.
s=0; prlimit --fsize=12000:unlimited "$tool" record --at every=0.1 -o full.json -- "$joins" +300:Thing +9 - sleep=3 2> err || s=$?
check "a full disk: status, one message, and the dumps so far" "1 1 yes" "$s $(said 'full.json: .* kept in memory') $([ "$("$tool" info --json full.json 2> /dev/null | jq '.files[0].heaps | length')" -gt 3 ] && echo yes)"

# Privileges.
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$work"
  check "a child that drops its privileges" "joins live 70 1, joins live 100 1" "$("$tool" record -o nobody.json -- "$joins" +100 fork nobody +70 2> err; heaps nobody.json 'select(.kind == "live")')"
  check "a chroot" "joins live 170 2" "$("$tool" record -o chroot.json -- "$joins" +100 chroot=/var/empty chroot=/tmp +70 2> err; heaps chroot.json 'select(.kind == "live")')"
  check "--same-user: a process that changes its user and executes a program is left out" "0" \
    "$("$tool" record --same-user -o same.json -- setpriv --reuid nobody --regid nogroup --clear-groups "$joins" +70 2> err; said 'joins (')"
else
  echo "SKIP: other users, chroot: needs root"
fi
"$tool" record -o vandal.json -- dash -c '"$0" +100 fork nobody vandal; "$0" +5000; exit 4' "$joins" 2> err || s=$?
check "a process overwrites the region at random: heapdump and the other processes continue" 4 "$s"
exit $failed
