#!/usr/bin/env bash
# threads, and collections with their number of elements: exact answers about a small dump, and about a Java program
# whose threads jstack shows too.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
root=$PWD data=$PWD/tests/data work=$PWD/build/peers/jvm-threads pid=
rm -rf "$work" && mkdir -p "$work" && cd "$work"
export LC_ALL=C.UTF-8
ulimit -c 0
trap '[ -z "$pid" ] || kill -9 "$pid" 2> /dev/null || true' EXIT

check "the whole stack of a small dump" "1 thread; all local variables together retain 72 B
    retained          thread, #frame, local variable
        72 B    5.8%  main  id 3758096432, retains 16 B
        24 B    java.lang.String  \"main\"  id 3758096408, not in a frame
              #0 Shop.run (Shop.java:41)
        48 B    java.lang.Object[]  id 3758096600
              #1 java.lang.Thread.run (native)" "$("$tool" threads "$data/shop.hprof")"
check "JSON" '[72,72,3,["Shop.run",41,false],["java.lang.Thread.run",null,true],[null,24,"JNI local of thread main"],[0,48,"local variable of thread main, Shop.run (Shop.java:41)"]]' \
  "$("$tool" threads --json "$data/shop.hprof" | jq -c '.files[0] | .threads[0] as $t | [.locals_retained,
    $t.locals_retained, $t.locals_retained_objects] + [$t.frames[] | [.function, .line, .native]] +
    [$t.locals[] | [.frame, .retained, .root_name]]')"
check "a table of local variables" "file,thread,state,id,class,retained $data/shop.hprof,main,,3758096408,java.lang.String,24 $data/shop.hprof,main,,3758096600,java.lang.Object[],48" \
  "$("$tool" threads --csv "$data/shop.hprof" | cut -d, -f1-6 | paste -sd' ')"
check "a format without threads" "1 heapdump: $data/small.dartheap (dart): the file has no threads; heap dumps of Java VMs (hprof) have them" \
  "$("$tool" threads "$data/small.dartheap" 2> err && echo 0 || echo "$? $(cat err)")"

# 1,100 threads: thread i has arrays of 8 i and of 8 bytes as its locals
python3 - > many.hprof << 'EOF'
import struct, sys
dump = b""
for i in range(1, 1101):
    for k, n in enumerate((8 * i, 8)):
        dump += struct.pack(">BQIIB", 0x23, 0x100000 * (k + 1) + 0x10000000 * i, 0, n, 8) + bytes(n)
        dump += struct.pack(">BQII", 0x03, 0x100000 * (k + 1) + 0x10000000 * i, i, 0)
    dump += struct.pack(">BQII", 0x08, 0x300000 + 0x10000000 * i, i, 0)
sys.stdout.buffer.write(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 1) + struct.pack(">BII", 0x1c, 0, len(dump)) +
                        dump + struct.pack(">BII", 0x2c, 0, 0))
EOF
check "the 1,008 largest threads are exact, the others lower bounds" "[1100,1008,8808,752,736,8]" \
  "$("$tool" threads --layout file --json many.hprof | jq -c '.files[0].threads | [length, (map(select(.exact)) | length),
    .[0].locals_retained, .[1007].locals_retained, .[1008].locals_retained, .[1099].locals_retained]')"
check "lower bounds are marked" "92" "$("$tool" threads --layout file many.hprof | grep -c '^>')"

check "a merged path names the class of a static field" "      24 B   50.0%  1    JNI global: Shop\$Toy › name: java.lang.String › value: byte[]
      24 B   50.0%  1    system class: class Shop › Shop.next: byte[]" "$("$tool" path --class 'byte[]' "$data/shop.hprof" | tail -2)"
check "classes by package" "retained live bytes live count classes package
1.2 KiB 94.9% 1.1 KiB 7 5 java.lang
112 B 9.0% 64 B 2 1 (no package)
48 B 3.8% 48 B 2 1 (primitive arrays)
0 B 0.0% 0 B 0 1 java.lang.ref" "$("$tool" classes --by package "$data/shop.hprof" | sed 's/  */ /g; s/^ //')"
check "classes by loader" '["(bootstrap loader)",1248,1248,11,8]' \
  "$("$tool" classes --by loader --json "$data/shop.hprof" | jq -c '.files[0].groups[] | [.loader, .retained, .live_bytes, .live_objects, .classes]')"
check "another word after --by" "2 heapdump: classes --by takes package or loader, not 'x'; see heapdump help classes" \
  "$("$tool" classes --by x "$data/shop.hprof" 2> err && echo 0 || echo "$? $(cat err)")"
check "a format without class loaders" "1 heapdump: $data/small.dartheap: the file has no class loaders; heap dumps of Java VMs (hprof) have them" \
  "$("$tool" classes --by loader "$data/small.dartheap" 2> err && echo 0 || echo "$? $(cat err)")"
check "an id as jstack prints it" "$("$tool" object "$data/shop.hprof" 3758096432)" \
  "$("$tool" object "$data/shop.hprof" 0x00000000e0000030 | sed 's/0x00000000e0000030/3758096432/')"
check "an id that the file does not have" "1 heapdump: $data/shop.hprof: no object has the id '0x30'" \
  "$("$tool" path --id 0x30 "$data/shop.hprof" 2> err && echo 0 || echo "$? $(cat err)")"
check "--soft and --layout" "32 40 24" "$(for l in compressed wide file; do "$tool" object --json --layout $l --soft weak "$data/shop.hprof" 3758096600 | jq '.files[0].bytes'; done | paste -sd' ')"
check "super classes are no list" "     512 B   50.0%  1      <super>: class java.lang.Object" \
  "$("$tool" path --class java.lang.Class "$data/shop.hprof" | tail -1)"

need openjdk-17-jdk-headless || skip "a Java VM cannot be installed here"

# screen ROWS WORDS...: a command on a terminal of 80 columns
screen() {
  TERM=dumb HEAPDUMP_PAGER=cat PYTHONPATH="$root/tests/peers/lib" python3 -c 'import re, sys, on_terminal
text, _ = on_terminal.run(sys.argv[2:], rows=int(sys.argv[1]))
print(re.sub("\x1b\\[[0-9;]*m", "", text.decode()).replace("\r", ""), end="")' "$1" "$tool" "${@:2}"
}

javac -d . "$root/tests/peers/programs/Threads.java"
for options in "-XX:+UseSerialGC" "-XX:+UseG1GC -XX:-UseCompressedOops"; do
  : > program.out
  java $options -Xmx512m -cp . Threads > program.out 2> program.err & pid=$!
  for ((i = 0; i < 600; i++)); do grep -q ready program.out && break; kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
  rm -f app.hprof
  jcmd "$pid" GC.heap_dump -all "$PWD/app.hprof" > jcmd.out
  jstack "$pid" > jstack.out
  kill -9 "$pid"; wait "$pid" 2> /dev/null || true; pid=
  if python3 "$root/tests/peers/lib/jvm_threads.py" "$tool" app.hprof jstack.out > equal 2> differs; then
    pass "$options: as jstack: $(cat equal)"
  else
    fail "$options: $(cat differs)"
  fi
  "$tool" threads --json app.hprof > threads.json
  check "$options: an array that two frames have counts once" "5 $((10000 + 20000 + 30000 + 40000)) true" \
    "$(jq -r '.files[0].threads[] | select(.thread == "sleeps") | [.locals[] | select(.class == "byte[]")] as $b |
       ($b | unique_by(.id) | map(.retained) | add) as $sum | (.locals_retained - .retained) as $rest |
       "\($b | unique_by(.id) | length) \($sum / 1000 | floor * 1000) \($sum == $rest)"' threads.json)"
  check "$options: collections in Threads.all" "HashMap, 12 of 4,096 slots
ArrayList, 7 of 100 slots
ArrayDeque, 20 of 31 slots
concurrent.ConcurrentHashMap, 50 of 256 slots
HashSet, 3 of 16 slots
LinkedHashMap, 1 of 16 slots
LinkedHashSet, 2 of 16 slots
Vector, 1 of 33 slots
Hashtable, 2 of 17 slots
TreeMap, 9 elements
TreeSet, 2 elements
PriorityQueue, 1 of 40 slots
IdentityHashMap, 1 of 32 slots
WeakHashMap, 1 of 16 slots
LinkedList, 4 elements
Stack, 1 of 10 slots
Properties, 1 of 16 slots
EnumMap, 1 of 3 slots
concurrent.ConcurrentHashMap, 400,000 of N slots" \
    "$("$tool" object --all app.hprof "$("$tool" objects --json --class java.util.ArrayList --where 'length=19' \
       --where 'elementData=Object' app.hprof | jq -r '.files[0].objects[0].fields.elementData.id')" |
       sed -n 's/.*  \[[0-9]*\]: java\.util\.//p' | sed 's/of [15][0-9,]*,[0-9,]* slots\|of 262,144 slots/of N slots/')"
  screen 24 threads app.hprof > screen.out
  check "$options: a screen has 24 lines of 80 columns" "yes yes" \
    "$([ "$(wc -l < screen.out)" -le 23 ] && echo yes) $([ "$(wc -L < screen.out)" -le 80 ] && echo yes)"
  check "$options: the largest thread comes first" "main, TIMED_WAITING" "$(sed -n '3s/.*%  \(.*\)  id .*/\1/p' screen.out)"
done
exit $failed
