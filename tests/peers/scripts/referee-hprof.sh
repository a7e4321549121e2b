#!/usr/bin/env bash
# As referee-objects.sh, for heap dumps of JVMs: random dumps with ids of 4 and 8 bytes, all layouts, versions, roots and
# kinds of references; and dumps of a Java program, if a JDK is installed. FULL=1: 200 seeds, all widths of terminals,
# and wide references. SEED=N starts the random dumps at N. HPROF=FOLDER: dumps of your own, too.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/referee-hprof
rm -rf "$work" && mkdir -p "$work"
ulimit -c 0

# dump NAME OPTIONS...: a dump of Shop.java by a JVM with these options
dump() {
  : > "$work/$1.out"
  java -Xmx24m "${@:2}" -cp "$work" Shop > "$work/$1.out" 2>&1 & local pid=$!
  for ((i = 0; i < 600; i++)); do ! grep -q ready "$work/$1.out" && kill -0 $pid 2> /dev/null || break; sleep 0.1; done
  jcmd $pid GC.heap_dump -all "$work/$1.hprof" > "$work/jcmd.out" 2>&1 || fail "$1: $(cat "$work/jcmd.out")"
  kill -9 $pid && wait $pid 2> /dev/null || true
}
if command -v javac > "$work/javac.out" && javac -d "$work" tests/peers/programs/Shop.java; then
  dump compressed -XX:+UseSerialGC
  if [ -n "${FULL-}" ]; then
    dump references -XX:+UseSerialGC -XX:-UseCompressedOops
    dump wide -XX:+UseSerialGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers
    dump g1 -XX:+UseG1GC
  fi
else
  echo "no JDK: random dumps only"
fi
files=$(find tests/data fuzz/seeds/fuzz_hprof "$work" ${HPROF:+"$HPROF"} -name '*.hprof' | sort)
if [ -n "${FULL-}" ]; then set -- --full --hprof 200; else set -- --hprof 60; fi
if python3 tests/peers/screens/graphs/graph_referee.py "$root/build/heapdump" "$work" --first "${SEED:-0}" "$@" --files $files; then
  pass "every printed figure of heap dumps of JVMs is right"
else
  fail "printed figures of heap dumps of JVMs are wrong: see above"
fi
exit $failed
