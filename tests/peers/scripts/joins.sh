#!/usr/bin/env bash
# Programs that start while `record` resolves names are answered at once and recorded. A message counts programs that
# did not get an answer in time.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev binutils jq dash python3
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/joins
rm -rf "$work" && mkdir -p "$work" && cd "$work"
said() { grep -c -- "$1" err || true; }

cat > short.c <<'C'
#include <stdlib.h>
void *volatile keep;
int main(void) {
    for (int i = 0; i < 100; i++) keep = malloc(1000);
    return 0;
}
C
gcc -w -O1 -fno-builtin -s short.c -o short

mkfifo asked
python3 -u "$common_root/tests/peers/lib/slow_server.py" > port & server=$!
trap 'kill $server 2> /dev/null' EXIT
until [ -s port ]; do kill -0 $server || exit 1; done
# The first program ends, and record resolves its names. Meanwhile five programs start one after the other, and ten at
# once. The last program's file is overwritten as soon as it has ended.
cat > many <<'SH'
./short
read -r _ < asked
began=$(date +%s%N)
for i in 1 2 3 4 5; do ./short; done
all=
for i in 1 2 3 4 5 6 7 8 9 10; do ./short & all="$all $!"; done
wait $all
./other
echo $((($(date +%s%N) - began) / 1000000)) > took
echo "#!/nowhere" > other
touch ran
SH
gcc -w -O1 -fno-builtin -g -Dmain=another_main -c short.c -o other.o
cat > entry.c <<'C'
int another_main(void);
int main(void) { return another_main(); }
C
gcc -w -O1 -g -Wl,--build-id=none entry.c other.o -o other
s=$(DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) DEBUGINFOD_CACHE_PATH=$PWD/cache status timeout -s KILL 100 "$tool" record --min-bytes 1 -o many.json -- dash ./many)
check "programs that start while names are resolved do not wait" "0 quick" "$s $([ "$(cat took)" -lt 5000 ] && echo quick || cat took)"
check "... all are recorded" "16 of 100 blocks, 1 of 100 blocks" \
  "$("$tool" info --json many.json | jq -r '[.files[0].heaps[] | select(.kind == "total" and (.process | IN("short", "other")))] | group_by(.process) | reverse | map("\(length) of \(.[0].blocks) blocks") | join(", ")')"
check "... no message about unrecorded programs" 0 "$(said 'not recorded')"
check "... the overwritten program has its names" 1 "$("$tool" tree --all --frames all --kind total many.json 2> /dev/null | grep -c -m 1 'another_main')"

# A recording accepts requests before the program's first instruction.
for i in 1 2 3 4 5 6 7 8; do
  rm -f first.json
  "$tool" record -o first.json -- dash -c '[ -e first.json ] && echo there || echo not yet' 2> /dev/null
done | sort | uniq -c > first
check "the recording's file exists before the program begins" "8 there" "$(sed 's/^ *//' first)"

# Programs that close their connection before the answer have waited for the longest allowed time, or have ended.
cat > late.py <<'PY'
import os, signal, socket, struct, sys, time
name, record = os.environ["HEAPDUMP_JOIN"], os.getppid()
os.kill(record, signal.SIGSTOP)
for program, waited in ("late", 10), ("later", 11), ("killed", 1):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\0" + name)
    s.send(struct.pack("=IIQ64s64s", 2, 144, int((time.monotonic() - waited) * 1e6), program.encode(), b""))
    s.close()
os.kill(record, signal.SIGCONT)
time.sleep(0.3)
PY
s=$(status timeout -s KILL 60 "$tool" record -o late.json -- /usr/bin/python3 late.py)
check "programs without an answer in time are counted" "0 1" "$s $(said '^heapdump: 2 programs were not recorded (such as late[r]*): heapdump did not answer in time (was it stopped?)$')"
# heapdump first sees a record when its process is exiting, or has executed a static program. No later snapshot names
# the process once it has ended.
gcc -w -O1 -fno-builtin "$common_root/tests/peers/programs/exiting.c" -o exiting -lpthread
gcc -w -O1 -static "$common_root/tests/peers/programs/exiting.c" -o static -lpthread
mkfifo go said
exec 7<> go 8<> said
processes() { "$tool" snapshot exiting.json 2>&1 | sed -n 's/.*: \([0-9]*\) process.*/\1/p'; }
for becomes in "" ./static; do
  "$tool" record -o exiting.json -- ./exiting $becomes < go > said 2> exiting.err 7>&- 8>&- & recording=$!
  read -r -t 30 line <&8 || :
  during=$(processes)
  echo >&7
  read -r -t 30 line <&8 || :
  after=$(processes)
  echo >&7
  wait $recording || :
  check "first seen when it $([ -n "$becomes" ] && echo had become a static program || echo was exiting): in snapshots until it has ended" \
    "over 2 1" "$line $during $after"
done
exec 7>&- 8>&-
exit $failed
