#!/usr/bin/env bash
# heapdump under shortage: a small stack, few addresses, no memory, an overwritten region, a full disk. Each case has
# its exit status and one line with the reason, and leaves no partial file.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq util-linux
peers=$PWD/tests/peers/programs work=$PWD/build/peers/ends
rm -rf "$work" && mkdir -p "$work" && cd "$work"
ulimit -c 0
said() { grep -c -- "$1" err || true; }
# limited "ULIMIT OPTIONS" COMMAND...: runs it under the limit, and prints its status
limited() { local l=$1 s=0; shift; (ulimit $l; exec "$@") > out 2> err || s=$?; echo $s; }
# whole FILE: whether it is a complete dump with heaps
whole() { "$tool" info --strict --json "$1" 2> /dev/null | jq -r '.files[0].heaps | length > 0'; }

# A small stack.
check "record with a stack of 128 KiB: the program sees the same limit" "3 128 true" \
  "$(limited "-s 128" "$tool" record -o stack.json -- /bin/sh -c 'ulimit -s; ls / > ls; exit 3') $(cat out) $(whole stack.json)"
check "tree with a stack of 128 KiB" 0 "$(limited "-s 128" "$tool" tree stack.json)"

# A small address space: the region takes less than half of it. If no trace can be written, the recording is kept as a
# region.
program='x = [bytes(1000) for i in range(5000)]'
check "record with 150 MB of address space" "0 true" "$(limited "-v 150000" "$tool" record -o few.json -- /usr/bin/python3 -c "$program") $(whole few.json)"
wrong=
for k in 20 30 35 40 45 50 60 70; do
  rm -f least.json*
  s=$(limited "-v ${k}000" "$tool" record -o least.json -- /bin/ls /)
  if [ -e least.json.region ]; then
    "$tool" recover -o recovered.json least.json.region > recover.out 2>&1 && [ "$(whole recovered.json)" = true ] &&
      [ "$(said 'heapdump recover least.json.region')" = 1 ] || wrong="$wrong $k:region"
  fi
  case $s in
  0) [ "$(whole least.json)" = true ] || wrong="$wrong $k:$s" ;;
  1) [ "$(said '^heapdump: ')" -ge 1 ] && { [ ! -e least.json ] || [ "$(whole least.json)" = true ]; } || wrong="$wrong $k:$s" ;;
  127) [ ! -e least.json ] || wrong="$wrong $k:$s" ;; # the program, or heapdump itself, cannot be loaded
  *) wrong="$wrong $k:$s" ;;
  esac
done
check "record with 20 to 70 MB: a whole file, or a recoverable region, or none, with the right status" "" "$wrong"

# A region that the program overwrites.
cat > over.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    char line[4096], *from, *to;
    FILE *f = fopen("/proc/self/maps", "r");
    void *volatile block = malloc(1000);
    while (block && fgets(line, sizeof line, f))
        if (strstr(line, "memfd:heapdump") && sscanf(line, "%p-%p", (void **)&from, (void **)&to) == 2)
            memset(from, atoi(words[1]), 400000);
    _Exit(atoi(words[2]));
}
C
gcc -w -O1 over.c -o over
for byte in 0 255 1; do
  check "a program writes $byte over its region: status 1, no file" "1 1 no" \
    "$(status "$tool" record -o over.json -- ./over $byte 0) $(said 'wrote over\|cannot be read, so no file') $([ -e over.json ] && echo yes || echo no)"
done
check "... the program's own nonzero status takes precedence" 5 "$(status "$tool" record -o over.json -- ./over 0 5)"

# A full tmpfs: recover must not allocate pages that the recording does not have.
"$tool" record --keep kept -o kept.json -- /bin/ls / > /dev/null 2>&1
mkdir full
if mount -t tmpfs -o size=300k tmpfs full 2> /dev/null; then
  python3 - <<'P'
import os
data, to = open("kept", "rb").read(4 << 20), os.open("full/kept", os.O_RDWR | os.O_CREAT)
for at in range(0, len(data), 4096):
    if any(data[at:at + 4096]): os.pwrite(to, data[at:at + 4096], at)
os.ftruncate(to, 1 << 40)
P
  dd if=/dev/zero of=full/rest bs=4k 2> /dev/null || :
  check "recover on a full tmpfs" "0 true" "$(status "$tool" recover -o recovered.json full/kept) $(whole recovered.json)"
  check "pages on a full tmpfs: an answer, or one line and status 1" yes "$(s=$(status "$tool" pages full/kept); [ $s = 1 ] && [ "$(wc -l < err)" = 1 ] && echo yes)"
  umount full
else
  echo "SKIP: a full tmpfs: this machine cannot mount it"
fi

# Whichever allocation fails, report writes the whole page or none.
gcc -O2 -shared -fPIC "$peers/failing_malloc.c" -o failing.so
"$tool" report -o want.html stack.json
env LD_PRELOAD=./failing.so FAIL_COUNT=count "$tool" report -o page.html stack.json
count=$(cat count) wrong=
for ((at = 1; at <= count; at += count / ${FULL:+20}40 + 1)); do
  rm -f page.html
  s=$(status env LD_PRELOAD=./failing.so FAIL_AT=$at FAIL_ON=1 "$tool" report -o page.html stack.json)
  if [ $s = 0 ]; then cmp -s want.html page.html || wrong="$wrong $at:differs"
  elif [ $s != 1 ] || [ -e page.html ] || [ ! -s err ]; then wrong="$wrong $at:$s"; fi
done
check "report when allocations fail from one of $count on: the whole page, or none and status 1" "" "$wrong"
exit $failed
