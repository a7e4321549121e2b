#!/usr/bin/env bash
# A program that is recorded keeps its region, or leaves it, and does not notice either.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev dash jq util-linux
sources=$PWD/tests/peers/programs work=$PWD/build/peers/region-life
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$sources"/hard_region.c -o life -lpthread
rec() { status timeout -s KILL 60 "$tool" record -o life.json "$@"; }
# has BYTES: how many lines of the tree are main's blocks of so many bytes
has() { "$tool" tree --kind live --bytes --min-share 0 --min-bytes 1 life.json | grep -c "^ *$1 .*main" || true; }

for what in "" vfork limit same; do
  check "${what:-nothing}: the status" 3 "$(rec -- ./life $what)"
  check "${what:-nothing}: first and last are recorded" "1 1" "$(has 1000) $(has 222222)"
done
check "a child that no handler of fork's knows of: the status" 3 "$(rec -- ./life clone)"
check "... its parent's blocks are as they were" "1 1 0" "$(has 1000) $(has 222222) $(has 77777)"
check "limited from the start" 3 "$(ulimit -v 4000000; rec -- ./life)"
check "... and recorded" "1 1" "$(has 1000) $(has 222222)"
if findmnt -n -t tmpfs /dev/shm > /dev/null 2>&1; then
  kept=/dev/shm/heapdump-$$
  check "--keep in a file system of memory, whose files cannot be sealed: the status" 3 "$(rec --keep $kept -- ./life)"
  check "... is recorded" "1 1" "$(has 1000) $(has 222222)"
  rm -f $kept
else
  echo "SKIP: --keep in memory: /dev/shm is none"
fi
check "limited, and more call stacks than a tenth of it holds: the status" 3 "$(rec -- dash -c 'ulimit -v 300000; exec ./life many')"
check "... all of them are recorded" "true 0" \
  "$("$tool" info --json life.json | jq '[.files[0].heaps[] | select(.process == "life" and .kind == "total") | .blocks] | add >= 950000') $(grep -c 'could not be recorded' err || true)"
# One path, two programs one after the other: each is named by its own.
for n in first second; do
  printf '#include <stdlib.h>\nvoid *kept;\n__attribute__((noinline)) void %s_version(void) { kept = malloc(%d); }\nint main(void) { %s_version(); return 0; }\n' \
    $n $((${#n} * 10000)) $n > $n.c
  gcc -g -O0 $n.c -o built-$n
done
check "a program that is built again: the status" 0 "$(rec --min-bytes 1 -- sh -c 'cp built-first t; ./t; cp built-second t; ./t')"
check "... names are of each" "50000 first_version 60000 second_version" \
  "$("$tool" top --self --all --bytes life.json | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /_version$/) print $1, $i }' | sort | xargs)"
check "a child of vfork's limits itself, its parent does not: nothing is lost" "3 0" "$(rec -- ./life vfork-limit) $(grep -c 'could not be recorded' err || true)"
check "memory that may not be paged out: what the region does not need is not taken" 3 "$(ulimit -v 4000000; rec -- ./life mlockall)"
check "--keep of a program that is not there: no file" "127 no" "$(rec --keep kept -- ./no-such) $(test -e kept && echo yes || echo no)"
if [ "$(id -u)" = 0 ]; then
  check "another user: the status" 3 "$(rec -- ./life user)"
  check "... is recorded" "1 1" "$(has 1000) $(has 222222)"
  check "another user, --same-user: the status" 3 "$(rec --same-user -- ./life user)"
  check "... is not, from there on" "1 0" "$(has 1000) $(has 222222)"
  check "the user it was, --same-user: the status" 3 "$(rec --same-user -- ./life same)"
  check "... is recorded" "1 1" "$(has 1000) $(has 222222)"
else
  echo "SKIP: another user: needs root"
fi
exit $failed
