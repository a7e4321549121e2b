#!/usr/bin/env bash
# Answers about objects that reference each other: the sample of the format's document, and a small heap with known
# answers.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq
work=build/peers/objects
rm -rf $work && mkdir -p $work
cd $work

cat > sample.log <<'END'
a 2 bubblecs.exe 763f9d2
t 2 System.RuntimeType
o 7c79f 2 64
t 1 System.NullReferenceException
o 7cb42 2 64
o 1ce004 1 18
t 3 System.OutOfMemoryException
o 1ce056 1d 118 1ce11f 1ce14c 1ce079 1ce113 1ce116 1ce267 1ce26a 1ce26d
r 22c81b 5 0
o 22c81e 1b 24
r 22c81e 5 0
o 22c823 1b 28
r 22c823 5 0
c bubblecs.exe 763fbef
END
check "the sample: info" '{"objects":6,"classes":3,"bytes":580,"references":8,"weak_references":0,"roots":3,"weak_roots":0,"missing_objects":9,"missing_references":8,"missing_roots":1,"missing_classes":2}' \
  "$("$tool" info --json sample.log | jq -c '.files[0].graph')"
check "the sample: its domain" "application domain bubblecs.exe, version 2, from 123992530 to 123993071 ms after boot" \
  "$("$tool" info sample.log | sed -n 2p)"
check "the sample: written back, the bytes are the same" "$(sha256sum < sample.log)" "$("$tool" convert --to netcf sample.log | sha256sum)"

# A root holds a game, which holds two levels. These share a texture, and one has another. A cache has only a weak
# root.
cat > game.log <<'END'
a 2 game 10
t 1 Game
t 2 Level
t 3 Texture
t 4 Cache
o a1 1 10 b1 b2
o b1 2 20 c1
o b2 2 20 c1 c2
o c1 3 100
o c2 3 80
o d1 4 8 c3
o c3 3 40
r a1 1 1
r d1 3 2
c game 20
END
rows() { jq -r '.files[0].classes[] | "\(.class) \(.retained) \(.live_objects)/\(.objects)"' | paste -sd,; }
check "classes" "Game 464 1/1,Level 448 2/2,Texture 384 2/3,Cache 0 0/1" "$("$tool" classes --json game.log | rows)"
check "classes: the text form" "464 100.0% 16 1 16 1 Game (game)" "$("$tool" classes --bytes --top 1 game.log | sed -n 2p | tr -s ' ' | sed 's/^ //')"
check "classes --top counts the omitted classes" "3 more classes" "$("$tool" classes --top 1 game.log | tail -1)"
awk 'BEGIN { print "a 2 many 1"; for (i = 1; i <= 1100; i++) printf "t %x C%d\no %x %x %x 5000\nr %x 0 0\n", i, i, i, i, i, i
             print "t 5000 Shared\no 5000 5000 7\nc many 2" }' > many.log
check "classes: the largest have exact retained sizes, others are marked as lower bounds" "C1100 1100 true,C93 93 true,C92 92 false, > 92 B" \
  "$("$tool" classes --json many.log | jq -r '.files[0].classes | (.[0], .[1007], .[1008]) | "\(.class) \(.retained) \(.exact)"' | paste -sd,), $("$tool" classes many.log | sed -n 1010p | awk '{ print $1, $2, $3 }')"
check "retained: the largest objects" "a1 464,c1 256,b2 160" "$("$tool" retained --top 3 --json game.log | jq -r '.files[0].objects[] | "\(.id) \(.retained)"' | paste -sd,)"
check "retained: ids in the file's form" "a1 c1 b2" "$("$tool" retained --bytes --top 3 game.log | awk 'NR > 1 { print $4 }' | paste -sd' ')"
check "retained --class: nested objects count once" "448 in 4" "$("$tool" retained --bytes --class Level game.log | awk '{ print $1, $2, $3 }')"
printf 'a 2 x 1\nt 1 Used\nt 2 Unused\no 1 1 8\nr 1 1 0\nc x 2\n' > unused.log
for c in "Used 0 8 1" "Unused 0 0 0" "Neither 1 0 0"; do
  set -- $c
  check "retained --class --json: the same keys for class $1" "$2 [\"$1\",$3,$4] file,class,retained,objects" \
    "$(status "$tool" retained --json --class "$1" unused.log) $(jq -c '.files[0] | [.class, .retained, .objects]' out) $(jq -r '.files[0] | keys_unsorted | join(",")' out)"
done
check "retained of an unused class" "0 in 0 objects would go with all of class Unused" \
  "$("$tool" retained --bytes --class Unused unused.log | tr -s ' ' | sed 's/^ //')"
check "retained of an unknown class: status 1" 1 "$(status "$tool" retained --class Nothing game.log)"
check "path: from the root to the object" "root: local, pinned|Game (game) id a1, retains 464, by reference 1|Level (game) id b2, retains 160, by reference 1|Texture (game) id c2, retains 128" \
  "$("$tool" path --bytes --id c2 game.log | tr -s ' ' | sed 's/^ //' | paste -sd'|')"
check "two paths that share their start and root are merged into one" 1 "$("$tool" path --paths 5 --json --id c1 game.log | jq '.files[0].paths | length')"
check "an object that only a weak root holds is garbage" "no root holds it: garbage, or held weakly alone" "$("$tool" path --id c3 game.log)"
check "path --class: paths to all objects of the class" "Texture 384 2,local root: Game 384 2,Level 384 2,Texture 384 2" \
  "$("$tool" path --class Texture --json game.log | jq -r '.files[0] | .class as $c | .rows[] | "\(if .depth == 0 then $c else .name end) \(.bytes) \(.objects)"' | paste -sd,)"
check "path --class refuses --paths" 2 "$(status "$tool" path --class Texture --paths 2 game.log)"
check "path to an unknown id: status 1" 1 "$(status "$tool" path --id 77 game.log)"
check "path without --id or --class: usage error" 2 "$(status "$tool" path game.log)"
check "tree: the dominator tree" " 464 5,Game 464 5,Texture 256 1,Level 192 3,Texture 128 1,<self> 64 2,<self> 16 1" \
  "$("$tool" tree --json game.log | jq -r '.heaps[0].rows[] | "\(.name) \(.bytes) \(.blocks)"' | paste -sd,)"
check "tree --min-share: a short tree" 3 "$("$tool" tree --min-share 0.5 --json game.log | jq '[.heaps[0].rows[] | select(.name != "<other>")] | length')"
"$tool" convert --to chrome -o game.json game.log
check "the dominator tree converted to a trace" "$("$tool" tree --json game.log | jq -c '[.heaps[0].rows[] | .bytes]')" "$("$tool" tree --json game.json | jq -c '[.heaps[0].rows[] | .bytes]')"

printf 'a 2 x 1\nt 1 Big\nt 2 Small\no 1 1 10000 2\no 2 2 1\nr 1 1 0\nc x 2\n' > small.log
check "a trace lists all objects" 1 "$("$tool" convert --to chrome small.log | grep -c Small)"
check "... unless --min-bytes cuts it" 0 "$("$tool" convert --to chrome --min-bytes 2 small.log | grep -c Small)"

sed -e 's/^o c3.*/o c3 3 41\no c4 3 100/' -e '/^o d1/d' game.log > later.log
check "diff by class" "Texture 448 705 3 4,Cache 8 0 1 0" \
  "$("$tool" diff --json game.log later.log | jq -r '.classes[] | "\(.class) \(.before) \(.after) \(.objects_before) \(.objects_after)"' | paste -sd,)"
check "diff: the text form" "+257 B 448 B 705 B +1 Texture" "$("$tool" diff game.log later.log | sed -n 2p | tr -s ' ' | sed 's/^ //; s/ (game)//')"
check "diff refuses objects against allocations" \
  "1 heapdump: game.json (chrome) is a profile, not a snapshot of objects: a snapshot is compared with a snapshot" \
  "$(status "$tool" diff game.log game.json) $(cat err)"
check "diff of a single file of objects: status 1" 1 "$(status "$tool" diff game.log)"
check "retained refuses a heap profile" 1 "$(status "$tool" retained game.json)"

cat > two.log <<'END'
a 2 one 10
t 1 T
o a1 1 10 b1
o b1 1 20
r a1 1 0
c one 20
a 2 two 10
t 7 T
o d1 7 40
r d1 1 0
c two 20
END
check "info lists the domains" "one 2 48,two 1 64" "$("$tool" info --json two.log | jq -r '.files[0].domains[] | "\(.name) \(.graph.objects) \(.graph.bytes)"' | paste -sd,)"
check "a class in two domains counts as one" "112 in 3" "$("$tool" retained --bytes --class T two.log | awk '{ print $1, $2, $3 }')"
check "path --class: the objects of all domains" "3, local root: T 3,<self> 2,T 1" "$("$tool" path --class T --json two.log | jq -r ".files[0] | \"\\(.objects), \\([.rows[1:][] | \"\\(.name) \\(.objects)\"] | join(\",\"))\"")"
check "objects: those of all domains, the largest retained size first" "d1,a1,b1" "$("$tool" objects --class T --json two.log | jq -r '[.files[0].objects[].id] | join(",")')"
check "--decimal reads decimal sizes" 70 "$("$tool" info --decimal --json two.log | jq .files[0].graph.bytes)"
check "... and writes them back" "$(sha256sum < two.log)" "$("$tool" convert --decimal --to netcf two.log | sha256sum)"
check "diff by class refuses --min-bytes" 2 "$(status "$tool" diff --min-bytes 9 two.log two.log)"

printf 'a 2 x 1\no 1 1 10\nz 7\nt 1 T\nc x 2\n' > odd.log
check "a bad line, lenient: left out with a warning" "0 1" "$(status "$tool" classes odd.log) $(grep -c warning err)"
check "a bad line, strict: the message has its number" "1 1" "$(status "$tool" classes --strict odd.log) $(grep -c 'line 3' err)"
head -c 60 game.log > cut.log
check "a truncated file, strict: status 1" 1 "$(status "$tool" info --strict cut.log)"
check "a truncated file, lenient: status 0" 0 "$(status "$tool" info cut.log)"
exit $failed
