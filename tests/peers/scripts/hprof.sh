#!/usr/bin/env bash
# Heap dumps of Java programs that wait, under each collector and layout of objects. Objects and bytes of each class
# equal the JVM's own class histogram. At most 0.1 % of the bytes may differ, and the script prints each such class.
# FULL=1: also a web server, the compiler, and many threads. Differences to VisualVM's library (VISUALVM: its folder) in
# instances, roots, shallow and retained sizes are printed, and all have a known reason.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
need openjdk-17-jdk-headless || skip "a Java VM cannot be installed here"
must python3 jq
root=$PWD work=$PWD/build/peers/hprof pid=
rm -rf "$work" && mkdir -p "$work" && cd "$work"
ulimit -c 0
trap '[ -z "$pid" ] || kill -9 "$pid" 2> /dev/null || true' EXIT

# run COMMAND...: starts a program and waits until it prints "ready"; $pid is its process
run() {
  : > program.out
  "$@" > program.out 2> program.err & pid=$!
  for ((i = 0; i < 1200; i++)); do
    ! grep -q ready program.out || return 0
    kill -0 "$pid" 2> /dev/null || break
    sleep 0.1
  done
  fail "$* did not start: $(head -3 program.err)"
  return 1
}
stop() { kill -9 "$pid" 2> /dev/null; wait "$pid" 2> /dev/null || true; pid=; }

# compared NAME "DUMP OPTIONS" "HISTOGRAM OPTIONS": the dump of $pid and its histogram, taken one after the other
compared() {
  rm -f app.hprof
  jcmd "$pid" GC.heap_dump $2 "$PWD/app.hprof" > jcmd.out 2>&1 || { fail "$1: $(cat jcmd.out)"; return 0; }
  jcmd "$pid" GC.class_histogram $3 > app.txt
  if python3 "$root/tests/peers/lib/hprof.py" "$tool" app.hprof app.txt > differences; then
    pass "$1: $(tail -1 differences)"
    sed '$d' differences
  else
    fail "$1: $(cat differences)"
  fi
}

# program NAME COMMAND...: one dump of all objects
program() {
  run "${@:2}" || return 0
  compared "$1" -all -all
  stop
}

javac -d . "$root/tests/peers/programs/Shop.java"
program "Serial" java -XX:+UseSerialGC -Xmx64m -cp . Shop
program "Parallel" java -XX:+UseParallelGC -Xmx64m -cp . Shop
program "G1" java -XX:+UseG1GC -Xshare:off -Xmx64m -cp . Shop
program "ZGC" java -XX:+UseZGC -Xmx128m -cp . Shop
program "wide references" java -XX:+UseSerialGC -XX:-UseCompressedOops -Xmx64m -cp . Shop
program "wide references and class pointers" \
  java -XX:+UseSerialGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers -Xmx64m -cp . Shop

if run java -XX:+UseSerialGC -Xmx64m -cp . Shop 40; then
  compared "gzip in blocks" "-all -gz=1" -all
  check "the file is gzip" 1f8b "$(head -c 2 app.hprof | od -An -tx1 | tr -d ' ')"
  compared "live objects" "" ""
  stop
  traces=$("$tool" info --strict app.hprof | sed -n 's/^stack traces: //p')
  check "each thread has a stack" yes "$([ "$traces" -ge 40 ] && echo yes || echo "$traces stacks")"
fi

# Class data sharing: the JVM counts archived class objects that a dump omits. All other classes are equal.
if run java -XX:+UseG1GC -Xmx64m -cp . Shop; then
  jcmd "$pid" GC.heap_dump -all "$PWD/shared.hprof" > jcmd.out
  jcmd "$pid" GC.class_histogram -all > shared.txt
  stop
  python3 "$root/tests/peers/lib/hprof.py" "$tool" shared.hprof shared.txt > differences || true
  check "G1 with class data sharing: classes that differ" java.lang.Class "$(sed -n 's/^  \([^:]*\): .*/\1/p' differences | paste -sd,)"
fi

# visualvm NAME OPTIONS...: a table of the differences to VisualVM's library, each with its reason
visualvm() {
  run java "${@:2}" -Xmx64m -cp . Shop || return 0
  rm -f app.hprof
  jcmd "$pid" GC.heap_dump $([ "${1#live}" != "$1" ] || echo -all) "$PWD/app.hprof" > jcmd.out 2>&1
  stop
  java -cp "$jars:." Visualvm app.hprof > visualvm.txt
  if python3 "$root/tests/peers/lib/hprof_visualvm.py" "$tool" app.hprof visualvm.txt > differences; then
    pass "VisualVM, $1: $(tail -1 differences)"
    sed '$d' differences
  else
    fail "VisualVM, $1: $(cat differences)"
  fi
}

if [ "${FULL-}" = 1 ]; then
  javac -d . "$root"/tests/peers/programs/{Server,Compiler}.java
  program "a web server" java -XX:+UseParallelGC -Xmx64m -cp . Server
  program "the compiler" java -XX:+UseSerialGC -Xmx128m -cp . Compiler "$root"/tests/peers/programs/{Shop,Server}.java
  program "the compiler under ZGC" java -XX:+UseZGC -Xmx256m -cp . Compiler "$root/tests/peers/programs/Shop.java"
  program "400 threads" java -XX:+UseParallelGC -Xmx128m -Xss256k -cp . Shop 400
  jars=$(find "${VISUALVM:-/usr/share/visualvm}" -name 'org-graalvm-visualvm-lib-jfluid-heap.jar' -o \
    -name 'org-graalvm-visualvm-lib-common.jar' 2> /dev/null | paste -sd:)
  if [ -z "$jars" ]; then
    echo "SKIP: VisualVM's library (Debian's visualvm) is not installed"
  else
    javac -nowarn -cp "$jars" -d . "$root/tests/peers/programs/Visualvm.java" 2> javac.err
    visualvm "compressed references" -XX:+UseSerialGC
    visualvm "live objects, G1" -XX:+UseG1GC
    visualvm "wide references" -XX:+UseSerialGC -XX:-UseCompressedOops
    visualvm "wide references and class pointers" -XX:+UseSerialGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers
  fi
fi
exit $failed
