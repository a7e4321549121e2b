#!/usr/bin/env bash
# Trees on a terminal add up, whatever is folded or nested in them; see trees.py.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
work=$PWD/build/peers/trees
rm -rf "$work" && mkdir -p "$work"
python3 tests/peers/lib/trees.py "$tool" "$work" || failed=1

# With many processes, the largest heaps are shown, and a line has the sum of the others.
python3 - "$work/many.json" <<'END'
import json, sys
events = [{"ph": "v", "pid": n, "tid": n, "ts": 1, "cat": "disabled-by-default-memory-infra", "id": "0x1", "name": "explicitly_triggered",
           "args": {"dumps": {"heaps": {"malloc": {"entries": [{"bt": "", "size": "%x" % (1000 * n), "count": "1"}]}}}}} for n in range(1, 31)]
json.dump({"traceEvents": events}, open(sys.argv[1], "w"))
END
for command in tree top; do
  "$tool" $command --bytes "$work/many.json" > "$work/many.txt"
  check "$command of 30 processes shows ten, the largest first" "30 29 28 27 26 25 24 23 22 21" "$(grep -o 'pid [0-9]*' "$work/many.txt" | cut -d ' ' -f 2 | xargs)"
  check "$command states the sum of the others" "not shown: 20 smaller heaps, of 20000 and less, 210000 together (--all)" "$(grep smaller "$work/many.txt")"
  check "$command --all shows all heaps" 30 "$("$tool" $command --all --bytes "$work/many.json" | grep -c pid)"
  check "$command --json lists all heaps" 30 "$("$tool" $command --json "$work/many.json" | jq '.heaps | length')"
done
sed 's/"size": "7530"/"size": "7534"/' "$work/many.json" > "$work/more.json"
"$tool" diff --bytes "$work/many.json" "$work/more.json" > "$work/many.txt"
check "diff of 30 processes shows ten, the largest change first" "+4 10" "$(awk '/pid/ { n++; if (n == 1) printf "%s ", $1 } END { print n }' "$work/many.txt")"
check "diff states the change of the others" "not shown: 20 smaller changes, of 0 (--all)" "$(grep smaller "$work/many.txt")"
check "diff --all shows all heaps" 30 "$("$tool" diff --all --bytes "$work/many.json" "$work/more.json" | grep -c pid)"

# --sort changes only the order of lines.
printf 'main;a;x 10\nmain;b 30\nmain;c;y 25\nmain;c 20\n' > "$work/order.folded"
printf 'main;a;x 40\nmain;b 35\nmain;c;y 25\nmain;c 20\n' > "$work/order-later.folded"
names() { "$tool" "$@" | awk 'NR > 1 { print $NF }' | xargs; }
check "tree by bytes" "main c y <self> b x" "$(names tree "$work/order.folded")"
check "... --sort self: bytes that no listed callee has" "main b c y <self> x" "$(names tree --sort self "$work/order.folded")"
check "... --sort name" "main x b c <self> y" "$(names tree --sort name "$work/order.folded")"
check "top --sort name" "function a b c main x y" "$(names top --sort name "$work/order.folded")"
check "top --sort self is top --self" "$("$tool" top --self "$work/order.folded")" "$("$tool" top --sort self "$work/order.folded")"
check "top --top 2 --sort name: the largest two" "function c main" "$(names top --top 2 --sort name "$work/order.folded")"
check "diff --json --sort name" "main a x b" "$("$tool" diff --json --sort name "$work/order.folded" "$work/order-later.folded" | jq -r '.diffs[0].rows[1:][].name' | xargs)"
printf 'profile,stack,bytes,blocks\n,main;big,1000,1\n,main;many,10,50\n,main;some,100,7\n' > "$work/order.csv"
check "--sort blocks" "main many some big / function main many some big" "$(names tree --sort blocks --min-bytes 1 "$work/order.csv") / $(names top --sort blocks "$work/order.csv")"
check "--sort refuses other words" 2 "$(cd "$work" && status "$tool" tree --sort size order.csv)"
# A tree by another axis than frames keeps that axis first, with a budget and on a terminal, and its parts add up.
sums() { # of JSON: the first rows are values of the axis, and add up to the total
  jq -r --arg axis "$1" '[.heaps[0].rows[]] as $r | ([$r[] | select(.depth == 1) | .bytes] | add) == $r[0].bytes and
    ([$r[] | select(.depth == 1 and .name != "<other>") | .axis] | unique) == [$axis]'
}
for n in 4 8 20 100; do
  check "tree --by age --entries $n begins with ages" true "$("$tool" tree --by age --entries $n --json tests/data/ages.csv | sums age)"
done
on_terminal() { # COLUMNSxROWS COMMAND...
  TERM=dumb HEAPDUMP_PAGER=cat PYTHONPATH=tests/peers/lib python3 -c 'import sys, on_terminal
columns, rows = map(int, sys.argv[1].split("x"))
sys.stdout.buffer.write(on_terminal.run(sys.argv[2:], columns, rows)[0].replace(b"\r\n", b"\n"))' "$@"
}
# A folded line is sorted by its shown values: the bytes of its last frame, or the names from its first.
printf 'main;z;big 100\nmain;b 30\nmain;a;c 5\nmain;a;d 5\nmain;f (lib/z.c:1) 7\nmain;f (src/a.c:2) 6\n' > "$work/folds.folded"
printf 'main;z;big 200\nmain;b 60\nmain;a;c 9\nmain;a;d 8\nmain;f (lib/z.c:1) 12\nmain;f (src/a.c:2) 9\n' > "$work/folds-later.folded"
for size in pipe 80x24 140x50; do
  see() { if [ $size = pipe ]; then "$tool" "$@"; else on_terminal $size "$tool" "$@"; fi; }
  for command in "tree" "diff $work/folds.folded"; do
    check "$command --sort self, $size: by the self size of the last frame" "z › big,b,f" \
      "$(see $command --sort self "$work/folds-later.folded" | sed -n 's/.*  \(z › big\|[bf]\)\( .*\|$\)/\1/p' | head -3 | paste -sd ,)"
    check "$command --sort name, $size: by the names as shown" "a,b,a.c,z.c,z" \
      "$(see $command --sort name "$work/folds-later.folded" | grep -oE '  (a|b|f \([az].c:[12]\)|z › big)$' | sed 's/.*(//; s/:.*//; s/ ›.*//' | xargs | tr ' ' ,)"
  done
done
check "tree --by age --entries 20: values have their axis in front" "age: 10 ms to 100 ms age: 100 ms to 1 s age: 1 s to 10 s" \
  "$("$tool" tree --by age --entries 20 tests/data/ages.csv | grep -o 'age: [0-9]* [a-z]* to [0-9]* [a-z]*' | xargs)"
for size in 80x24 140x50; do
  on_terminal $size "$tool" tree --by age --bytes tests/data/ages.csv > "$work/by.txt"
  check "tree --by age on a terminal of $size: three ages, at most the total together" "3 yes" \
    "$(grep -c 'age: ' "$work/by.txt") $(awk 'NR == 1 { all = $1 } /age: / { sum += $1 } END { print (sum <= all && sum > 0.99 * all) ? "yes" : "no" }' "$work/by.txt")"
done

# A line has the figures of its last frame. So a frame does not fold with a callee that has nearly all its bytes but
# few of its blocks.
printf 'profile,stack,bytes,blocks\n,main;big,20000000,20\n,main;small,160000,20000\n' > "$work/few.csv"
printf 'profile,stack,bytes,blocks\n,main;big,30000000,30\n,main;small,160000,30000\n' > "$work/few-later.csv"
for size in pipe 80x24 140x50; do
  see() { if [ $size = pipe ]; then "$tool" "$@"; else on_terminal $size "$tool" "$@"; fi; }
  check "tree, $size: folding does not change a callee's number of blocks" "20020 main,20 big" \
    "$(see tree "$work/few.csv" | tr -d '█▏▎▍▌▋▊▉' | awk '/main$|big$/ { print $4, $NF }' | paste -sd ,)"
  check "diff, $size: nor does it in a diff" "+10010 main,+10 big" \
    "$(see diff "$work/few.csv" "$work/few-later.csv" | awk '/main$|big$/ { print $(NF - 1), $NF }' | paste -sd ,)"
done
printf 'profile,stack,bytes,blocks\n,main;run;big,30,3\n' > "$work/chain.csv"
check "a chain with equal figures is folded" "main › run › big" "$("$tool" tree "$work/chain.csv" | sed -n 's/.*  \(main.*\)/\1/p')"
# Unlisted memory is always stated: below every line the children and <other> add up, in bytes and in blocks.
check "<other> has the unlisted blocks" "20 big,20000 <other>" \
  "$("$tool" tree "$work/few.csv" | awk '/big$|<other>$/ { print $4, $NF }' | paste -sd ,)"

# A line shows the values of all axes that restrict its figures.
printf 'profile,stack,type,axis_age,bytes,blocks\n,main,U,old,30,1\n,main,T,old,40,1\n,main;a;c,T,old,30,1\n,main,T,new,1,1\n' > "$work/three.csv"
check "--every-route: values of two other axes" "70 main › type: T › age: old,41 main › <self> › type: T" \
  "$("$tool" tree --bytes --every-route --entries 3 "$work/three.csv" | awk '/^ *[0-9].*›/ { sub(/^ */, ""); sub(/ .*%.*  /, " "); print }' | paste -sd ,)"
# ... with the axis in front, however narrow the terminal is; a NUL does not end a value.
cells() { # COLUMN: deep stacks with one or two types
  python3 -c 'import sys
print("profile,stack,%s,bytes,blocks" % sys.argv[1])
for n in range(1, 13):
    for kind in ("[unknown]", "app")[n % 2:]:
        print(",%s,%s,%d,1" % (";".join("function%d" % i for i in range(n)), kind, n * 1000 + len(kind)))' "$1"
}
for axis in type axis_guarded_status; do
  cells $axis > "$work/deep-$axis.csv"
  for columns in 40 60 80; do
    for options in --all "--all --by ${axis#axis_}" "--by ${axis#axis_}" "--every-route --entries 30"; do
      on_terminal ${columns}x24 "$tool" tree --bytes $options "$work/deep-$axis.csv" > "$work/keys.txt"
      check "tree $options on $columns columns: values have their axis in front" "0 some" \
        "$(awk -v key="${axis#axis_}: " -v options="$options" '/(n\]|p)$/ { if (index($0, key)) some = 1; else bad++ } END { print bad + 0, some || options == "--all" ? "some" : "none" }' "$work/keys.txt")"
    done
  done
done
printf '{"traceEvents":[{"ph":"v","pid":1,"ts":1,"id":"0x1","args":{"dumps":{"heaps_v2":{"maps":{"nodes":[{"id":1,"name_sid":1}],"types":[{"id":1,"name_sid":2},{"id":2,"name_sid":3}],"strings":[{"id":1,"string":"main"},{"id":2,"string":"T\\u0000x"},{"id":3,"string":"T\\u0000y"}]},"allocators":{"m":{"nodes":[1,1],"types":[1,2],"sizes":[50,40],"counts":[1,1]}}}}}}]}' > "$work/nul.json"
for options in "--by type" "--by type --entries 9" --all; do
  check "tree $options: a NUL does not end a value" "type: T?x,type: T?y" "$("$tool" tree $options "$work/nul.json" | grep -o 'type: .*' | paste -sd ,)"
done

# Paths are shortened to their base name, unless two functions would look the same. Then the distinguishing part is
# kept.
cat > "$work/same.folded" <<'END'
main (src/main.c:3) [app];util (lib/a/util.c:7) [app] 100
main (src/main.c:3) [app];util (lib/b/util.c:7) [app] 50
main (src/main.c:3) [app];run (src/run.c:9) [libx.so] 70
main (src/main.c:3) [app];run (src/run.c:9) [liby.so] 30
END
for command in tree top "diff $work/order.folded"; do
  check "$command: the distinguishing parts of paths, and the objects of equal paths" \
    "main (main.c:3),run (run.c:9) [libx.so],run (run.c:9) [liby.so],util (a/util.c:7),util (b/util.c:7)" \
    "$("$tool" $command "$work/same.folded" | grep -o '[a-z]* ([a-z/]*\.c:[0-9]*)\( \[[^]]*\]\)\?' | sort -u | paste -sd ,)"
done
check "--json has whole paths and objects" "main (src/main.c:3) [app]" "$("$tool" top --json "$work/same.folded" | jq -r '.heaps[0].rows[0].name')"

# On a narrow terminal, names are shortened before the line number of the last frame.
printf 'main;%s;%s 100\nmain;other 9\n' "ns::Reader<int>::read_everything_that_is_there(char const*, int) (src/reader.cc:1234)" \
  "ns::Buffer<char>::reserve_more_room_than_before(unsigned long) (src/buffer.cc:567)" > "$work/long.folded"
for columns in 50 60 80 100; do
  check "a terminal of $columns columns keeps the line of the last frame" 1 "$(on_terminal ${columns}x24 "$tool" tree "$work/long.folded" | grep -c ':567)$')"
done
check "top: 1 block is singular" "30 B in 1 block: total" "$(printf 'profile,stack,bytes,blocks\n,main;a,30,1\n' > "$work/one.csv"; "$tool" top "$work/one.csv" | head -1 | xargs)"
check "a budget for a heap with types: the parts are at most the total" yes "$(printf 'profile,stack,type,bytes,blocks\n,main;a,T,50,1\n,main;b,T,40,1\n,main;a,U,30,1\n,main;c,U,20,1\n' > "$work/types.csv"
  for n in 3 4 5 6; do "$tool" tree --bytes --entries $n "$work/types.csv" | awk '{ sub(/^ */, "") } NR == 1 { all = $1; next } NR > 1 && match($0, /  +[^ ]+$/) { n = RLENGTH; if (NR == 2) top = n; if (n == top) sum += $1 } END { if (sum > all) print "no" }'; done; echo yes)"
check "a type that resembles an object's name is not shortened" "type: [unknown]" "$(printf 'profile,stack,type,bytes,blocks\n,main;a,[unknown],50,1\n,main;b,[unknown],40,1\n' > "$work/unknown.csv"
  on_terminal 80x24 "$tool" tree --by type "$work/unknown.csv" | grep -o 'type:.*' | xargs)"
# If an option is as wide as its column, its text begins on a new line, in the help of every command.
check "help: options and their texts are separated" "" "$(for command in tree top diff suspects check convert merge record watch; do
  "$tool" $command --help | grep -E '^  -.{21}[^ ]' | grep -E '^  (-o, )?--[^ ]+ [^ ]+ ' || true; done)"
# Shortened names keep whole templates, lambdas and objects.
printf '%s\n' 'main;<core::iter::Map<I,F> as core::iter::Iterator>::fold::<(), call<fn(u8) -> u8>>(u8) 30' \
  'main;setup(int)::{lambda(int)#1} 20' 'main;<lambda(int, char const*)> 10' > "$work/rust.folded"
check "Rust names and lambdas on a narrow terminal" \
  '…fold::<…>,…{lambda(int)#1},…t, char const*)>' \
  "$(on_terminal 60x24 "$tool" top "$work/rust.folded" | grep -E '%.*[>}1]$' | sed 's/.*%  *//' | paste -sd ,)"
printf '%s\n' 'main;operator() [libone.so] 30' 'main;operator() [libtwo.so] 20' > "$work/objects.folded"
check "on a narrow terminal an object does not look like a file and line" 0 "$(for columns in 30 32 34 36 38 40 50; do
  on_terminal ${columns}x24 "$tool" tree "$work/objects.folded"; done | grep -c '(….*\]')"
printf 'main;grows 100\nmain;shrinks 9000\n' > "$work/before.folded"
printf 'main;grows 900\nmain;shrinks 1000\n' > "$work/after.folded"
check "suspects: a site that shrinks has no share of the growth" 0 \
  "$("$tool" suspects "$work/before.folded" "$work/after.folded" | grep -c '(-[0-9]*%')"
exit $failed
