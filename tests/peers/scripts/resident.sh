#!/usr/bin/env bash
# Composition of resident memory: programs with planted parts (memory cached by the allocator, fragmentation, stacks,
# a file, an own mapping), under several allocators. Each part equals what smaps and the program's own count give
# (resident.py), while it runs and in the last reading before it is killed. If the kernel refuses to show them, a
# message says so.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq util-linux
sources=$PWD/tests/peers work=$PWD/build/peers/resident
rm -rf "$work" && mkdir -p "$work" && cd "$work"
head -c $((16 << 20)) /dev/urandom > file
said() { grep -c -- "$1" err || true; }
planted() { /usr/bin/python3 "$sources/lib/resident.py" "$@"; }

# parts NAME LIBRARY: runs the planted program with an allocator
parts() {
  local name=$1 recording child s=0
  gcc -w -g -O1 -fno-builtin "$sources/programs/resident.c" ${2:+"$2"} -o "$name" -lpthread
  rm -f gate && mkfifo gate
  "$tool" record -o "$name.json" -- "./$name" file < gate > "$name.said" 2> err &
  recording=$!
  exec 8> gate
  until grep -q '^end$' "$name.said" || ! kill -0 $recording 2> /dev/null; do sleep 0.05; done
  child=$(pgrep -P $recording -x "${name:0:15}")
  planted count $child "$name.said" > "$name.count"
  "$tool" snapshot -o "$name.now.json" $child 2> /dev/null
  "$tool" info --strict --json "$name.now.json" > "$name.now"
  check "$name: each part within 2% of a count, and at most 5% unexplained" agrees "$(planted compare "$name.count" "$name.now")"
  "$tool" info "$name.now.json" | sed -n '/^resident memory (RSS) of/,$p'
  "$tool" snapshot "$name.json" 2> /dev/null
  kill -9 $child
  wait $recording 2> /dev/null || s=$?
  exec 8>&-
  "$tool" info --strict --json "$name.json" > "$name.end"
  check "... also in the last reading before it was killed" "137 agrees" "$s $(planted compare "$name.count" "$name.end")"
}

parts glibc ''
for allocator in jemalloc:libjemalloc2:libjemalloc.so.2 mimalloc:libmimalloc2.0:libmimalloc.so.2 mimalloc:libmimalloc3:libmimalloc.so.3; do
  IFS=: read -r name package library <<< "$allocator"
  [ ! -e "$name" ] || continue
  if need "$package" && path=$(ldconfig -p | sed -n "s|^\s*$library .*=> ||p" | head -n 1) && [ -n "$path" ]; then parts "$name" "$path"
  else echo "SKIP: $name: Debian has no $package here"; fi
done

# Conversion of traces.
"$tool" convert --to chrome -o again.json glibc.json 2> err
"$tool" info --strict --json again.json > again
check "convert --to chrome keeps these parts" "agrees 0" "$(planted compare glibc.count again) $(said 'left out')"
check "... other formats report that they omit them" 1 "$("$tool" convert --to folded -o again.folded glibc.now.json 2> err; said 'attributes of processes')"
check "the trace has Chromium's process_totals" yes "$(jq -r '[.. | .process_totals? | select(. != null) | .resident_set_bytes] | if length > 0 and all(type == "string") then "yes" else . end' glibc.now.json)"
"$tool" info glibc.json > glibc.info
check "info prints the parts" "1 1 1 1 1 1 1" "$(for line in 'live blocks: allocated by the program and not freed' \
    "allocator: freed blocks, and the allocator's own data" 'stacks: of threads' 'files: the program, its libraries and other mapped files' \
    'mmap: memory that the program mapped itself, and allocator memory without blocks' 'recorder: memory of heapdump in the program' \
    'unexplained: all other memory'; do grep -c "  $line\$" glibc.info; done | xargs)"
check "... with the time before the dump" 1 "$(grep -cE '^resident memory \(RSS\) of glibc \(PID [0-9]+\), [0-9.]+ s before dump 0x[0-9a-f]+:$' glibc.info)"

# Statistics that a program passes on from its allocator. joins.c records only through the library.
linked joins "$sources/programs/joins.c" -g -O1
gcc -shared -fPIC -x c /dev/null -o nothing.so
HEAPDUMP_RECORDER=$work/nothing.so "$tool" record -o stats.json -- ./joins +5000 stat=malloc/arenas/0:700 stat=malloc/arenas/0:900 stat=resident:1 signal=9 2> err || :
check "statistics of an allocator: the last value" "malloc/arenas/0 size bytes 900" \
  "$("$tool" info --strict --json stats.json | jq -r '.files[0].scalars[] | select(.allocator == "malloc/arenas/0") | "\(.allocator) \(.name) \(.units) \(.value)"')"

# A region of another version.
{ printf hdregio2; head -c 100000 /dev/zero; } > older
check "a kept region of another version is refused" "1 1" "$(status "$tool" recover older -o none.json) $(said 'another version of heapdump')"

# Without permission.
if [ "$(id -u)" = 0 ] && mkdir -m 777 nobody && chmod 755 "$work"; then
  cp glibc nobody/hidden && chmod 111 nobody/hidden
  s=0
  (cd nobody; exec setpriv --reuid nobody --regid nogroup --clear-groups "$tool" record -o hidden.json -- ./hidden ../file < /dev/null > said 2> ../err) || s=$?
  check "a program whose maps are unreadable: a message, and it is recorded" "0 1 1" \
    "$s $(said 'cannot read the resident memory of hidden') $("$tool" info nobody/hidden.json | grep -c 'could not be read: Permission denied')"
else
  echo "SKIP: a program whose maps are unreadable: needs root"
fi
exit $failed
