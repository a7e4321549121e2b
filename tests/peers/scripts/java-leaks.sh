#!/usr/bin/env bash
# Leaks planted in Java programs, two sets of twelve. `capture --jvm` dumps each, and the first suspect is the leak in 11
# of 12: the field or class on its path, the leaked class, and its bytes (up to 60 % more for entries and capacity).
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
need openjdk-17-jdk-headless || skip "a Java VM cannot be installed here"
must jq python3
lib=$PWD/tests/peers/lib
programs=$PWD/tests/peers/programs/java-leaks work=$PWD/build/peers/java-leaks pid=
rm -rf "$work" && mkdir -p "$work" && cd "$work"
ulimit -c 0
trap '[ -z "$pid" ] || kill -9 "$pid" 2> /dev/null || true' EXIT
javac -d . "$programs"/{,second/}*.java 2> javac.err || fail "the programs do not compile: $(head -3 javac.err)"

# dumped NAME: runs a program until it prints "ready", and dumps it
dumped() {
  local i ok=1
  : > program.out
  java -Xmx96m -XX:+UseSerialGC -cp . "$1" > program.out 2> program.err & pid=$!
  for ((i = 0; i < 1200; i++)); do
    ! grep -q ready program.out || break
    kill -0 "$pid" 2> /dev/null || break
    sleep 0.1
  done
  "$tool" capture --jvm "$pid" -o "$1.hprof" > capture.out 2>&1 && ok=0
  kill -9 "$pid" 2> /dev/null && wait "$pid" 2> /dev/null || true
  pid=
  return $ok
}

# first SOURCE NAME: whether the first suspect has the place, the class and the bytes of the program's truth
first() {
  local truth place class bytes
  truth=$(sed -n 's/^\/\/ truth: //p' "$1")
  place=${truth%% | *} bytes=${truth##* | } class=${truth#* | } class=${class% | *}
  "$tool" suspects --json "$2.hprof" | jq -e --arg place "$place" --arg class "$class" --argjson bytes "$bytes" '
    .graphs[0].suspects[0] | (.path | join(" › ") | contains($place)) and
    ((.class == $class) or any(.below[]; .class == $class) or any(.path[]; endswith($class))) and
    .retained >= $bytes and .retained <= 1.6 * $bytes' > answer 2>&1
}

# On a terminal, classes of a path have no package.
shown() {
  PYTHONPATH=$lib python3 -c 'import on_terminal, sys; sys.stdout.buffer.write(on_terminal.run(sys.argv[1:])[0])' \
    env PAGER= "$tool" suspects "$1.hprof" | tr -d '\r' | sed -n 's/^ *held by //p' | head -1
}

for set in "$programs" "$programs/second"; do
  found=0 all=0
  for program in $(grep -l '^// truth: ' "$set"/*.java); do
    name=$(basename "$program" .java)
    all=$((all + 1))
    dumped "$name" || { fail "$name: no dump: $(cat capture.out program.err)"; continue; }
    if first "$program" "$name"; then
      found=$((found + 1)) && pass "$name"
    else
      echo "not first: $name: $("$tool" suspects --json "$name.hprof" |
        jq -c '.graphs[0].suspects[0] | [.class, .retained, (.path | join(" > "))]')"
    fi
    [ "$name" != StaticMap ] || check "80 columns" "… 2 › StaticMap.OPEN: HashMap, 20,000 of 32,768 slots" "$(shown StaticMap)"
    rm "$name.hprof"
  done
  check "all programs ran" 12 "$all"
  check "the leak is the first suspect in at least 11" yes "$([ "$found" -ge 11 ] && echo yes || echo "no: $found")"
done
exit $failed
