#!/usr/bin/env bash
# Dumps go into the directory that heapdump record made for them, or to where it was started, and nowhere else:
# whatever a program does to its descriptors, and whoever makes directories and links of those names.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc libc6-dev util-linux
source=$PWD/tests/peers/spool.c
work=$(mktemp -d "${TMPDIR:-/tmp}/heapdump-peers-XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
mkdir -m 1777 tmp
mkdir -m 777 start
mkdir start/mine start/empty
export TMPDIR=$work/tmp
gcc -w -g -O1 "$source" -o spool
cd start
mkfifo go done

# Live bytes of the last dump in a file; a dump is whole, or it does not read.
bytes() { "$tool" tree --strict --bytes "$1" 2> /dev/null | awk '/ malloc, spool, / { n = $1 } END { print (n >= 1000003 ? "whole" : "none") }'; }

check "descriptors closed and their numbers used for a directory: a dump, and nothing in that" "0 whole " \
  "$(status "$tool" record --at signal -o closed.json -- ../spool go done close reuse dump) $(bytes closed.json) $(ls -A mine)"
check "descriptors closed: dumps go on" "0 2" "$(status "$tool" record --at signal -o closed.json -- ../spool go done dump close dump) $(
  "$tool" info --strict closed.json | grep -c ' malloc ')"
HEAPDUMP_AT=signal=$(kill -l USR2) LD_PRELOAD=$(dirname "$tool")/libheapdump_record.so ../spool go done root close dump
check "preloaded by hand: where the program was started, wherever it goes" whole "$(bytes heapdump.spool.*.json)"
rm heapdump.spool.*
check "one more descriptor is open, where it is not in the way" 512 \
  "$("$tool" record --at signal -o few.json -- ls -l /proc/self/fd 2> /dev/null | sed -n 's/.* \([0-9]*\) -> .*heapdump-.*/\1/p')"
check "nothing is left" "" "$(ls -A "$TMPDIR")"

[ "$(id -u)" = 0 ] || { echo "SKIP: directories taken over by another user: only root can be another user"; exit $failed; }

another() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }

check "a program that has gone into a chroot" "0 whole" \
  "$(status "$tool" record --at signal -o chroot.json -- ../spool go done chroot dump) $(bytes chroot.json)"

# A recorder whose path LD_PRELOAD cannot hold is linked to, and the link goes while its name is still preloaded.
mkdir "a b"
cp "$tool" "$(dirname "$tool")/libheapdump_record.so" "a b"
check "a recorder in a path with a space" 0 "$(status "a b/heapdump" record -o space.json -- dash -c 'echo $LD_PRELOAD')"
link=$(cat out)
check "... nobody else can put another in its place" "/ 1" "${link%"${link#/}"} $(status another ln -s "$work/spool" "$link")"

home=$(realpath ~)
another ln -s "$home" ../tmp/home
check "... nor lead a link on the way there elsewhere" "0 $home" \
  "$(TMPDIR=$work/tmp/home status "a b/heapdump" record -o space.json -- dash -c 'echo ${LD_PRELOAD%/*}') $(cat out)"
rm ../tmp/home

# A daemon goes on after heapdump record, which has removed the directory. Another user, who knows every name, makes it
# anew with links in it that lead to a file of root's; then links where heapdump record was started; then that directory.
again() { echo >&8; read -r -t 900 daemon <&9 || fail "the daemon has gone"; }
echo precious > ../victim
chmod 600 ../victim
"$tool" record --at signal -o first.json -- ../spool go done dump list daemon open tell wait dump tell wait dump tell \
  wait dump tell wait dump tell wait 2> /dev/null > listed
read -r spool dump < listed
exec 8> go 9< done
read -r -t 900 daemon <&9
check "the directory of the dumps is gone" no "$([ -e "$spool" ] && echo yes || echo no)"

another mkdir -m 777 "$spool"
number=${dump#*.} number=${number%%.*}
for i in 1 2 3 4 5 6; do another ln -s "$work/victim" "$spool/$daemon.$number.$i.spool.json"; done
again
again
check "the directory of the dumps, taken over: no file of root's is written" precious "$(cat ../victim)"
check "... nothing is put into it" 6 "$(ls -A "$spool" | wc -l)"
check "... and the dumps are where heapdump record was started, for nobody else to read" "whole whole 600 600" \
  "$(bytes "heapdump.spool.$daemon.json") $(bytes "heapdump.spool.$daemon.2.json") $(stat -c %a "heapdump.spool.$daemon".*json | paste -sd' ')"

another ln -s "$work/victim" "heapdump.spool.$daemon.3.json"
again
check "a link where a dump comes: it is neither followed nor replaced, and nothing else is there" "precious symbolic 3" \
  "$(cat ../victim) $(stat -c %F "heapdump.spool.$daemon.3.json" | cut -d' ' -f1) $(ls | grep -c "heapdump.spool.$daemon")"

cd ..
mv start moved
install -d -o nobody -m 777 start
another ln -s "$work/victim" "start/heapdump.spool.$daemon.4.json"
again
check "where heapdump record was started, taken over: nothing is put into it" "precious 1" "$(cat victim) $(ls -A start | wc -l)"
exec 8>&- 9<&-
exit $failed
