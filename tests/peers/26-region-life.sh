#!/usr/bin/env bash
# A program that is recorded keeps its region, or leaves it, and does not notice either.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc libc6-dev dash jq util-linux
sources=$PWD/tests/peers work=$PWD/build/peers/region-life
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
