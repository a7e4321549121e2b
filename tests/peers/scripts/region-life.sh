#!/usr/bin/env bash
# A recorded program keeps its region or loses it, and runs on as without it.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev dash jq util-linux
sources=$PWD/tests/peers/programs work=$PWD/build/peers/region-life
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$sources"/hard_region.c -o life -lpthread
rec() { status timeout -s KILL 60 "$tool" record -o life.json "$@"; }
# has BYTES: number of lines in the tree with main's blocks of that many bytes
has() { "$tool" tree --kind live --bytes --min-share 0 --min-bytes 1 life.json | grep -c "^ *$1 .*main" || true; }

for what in "" vfork limit same; do
  check "${what:-nothing}: the status" 3 "$(rec -- ./life $what)"
  check "${what:-nothing}: blocks before and after are recorded" "1 1" "$(has 1000) $(has 222222)"
done
check "a child that fork handlers do not see: the status" 3 "$(rec -- ./life clone)"
check "... its parent's blocks are unchanged" "1 1 0" "$(has 1000) $(has 222222) $(has 77777)"
check "a limit on addresses from the start: the status" 3 "$(ulimit -v 4000000; rec -- ./life)"
check "... the blocks are recorded" "1 1" "$(has 1000) $(has 222222)"
if findmnt -n -t tmpfs /dev/shm > /dev/null 2>&1; then
  kept=/dev/shm/heapdump-$$
  check "--keep on a memory file system, whose files cannot be sealed: the status" 3 "$(rec --keep $kept -- ./life)"
  check "... the blocks are recorded" "1 1" "$(has 1000) $(has 222222)"
  rm -f $kept
else
  echo "SKIP: --keep in memory: /dev/shm is not a memory file system"
fi
check "a limit on addresses, and more call stacks than a tenth of it can hold: the status" 3 "$(rec -- dash -c 'ulimit -v 300000; exec ./life many')"
check "... all call stacks are recorded" "true 0" \
  "$("$tool" info --json life.json | jq '[.files[0].heaps[] | select(.process == "life" and .kind == "total") | .blocks] | add >= 950000') $(grep -c 'could not be recorded' err || true)"
# Two programs under one path, one after the other: each gets the names of its own file.
for n in first second; do
  printf '#include <stdlib.h>\nvoid *kept;\n__attribute__((noinline)) void %s_version(void) { kept = malloc(%d); }\nint main(void) { %s_version(); return 0; }\n' \
    $n $((${#n} * 10000)) $n > $n.c
  gcc -g -O0 $n.c -o built-$n
done
check "a program is rebuilt while it is recorded: the status" 0 "$(rec --min-bytes 1 -- sh -c 'cp built-first t; ./t; cp built-second t; ./t')"
check "... each build has its own names" "50000 first_version 60000 second_version" \
  "$("$tool" top --self --all --bytes life.json | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /_version$/) print $1, $i }' | sort | xargs)"
check "a vfork child limits its addresses, its parent does not: no recording is lost" "3 0" "$(rec -- ./life vfork-limit) $(grep -c 'could not be recorded' err || true)"
check "locked memory: the region uses only the pages that it needs" 3 "$(ulimit -v 4000000; rec -- ./life mlockall)"
check "--keep with a missing program: no file" "127 no" "$(rec --keep kept -- ./no-such) $(test -e kept && echo yes || echo no)"
if [ "$(id -u)" = 0 ]; then
  check "the program changes its user: the status" 3 "$(rec -- ./life user)"
  check "... the blocks are recorded" "1 1" "$(has 1000) $(has 222222)"
  check "the program changes its user, --same-user: the status" 3 "$(rec --same-user -- ./life user)"
  check "... blocks after the change are not recorded" "1 0" "$(has 1000) $(has 222222)"
  check "the program keeps its user, --same-user: the status" 3 "$(rec --same-user -- ./life same)"
  check "... the blocks are recorded" "1 1" "$(has 1000) $(has 222222)"
else
  echo "SKIP: another user: needs root"
fi
exit $failed
