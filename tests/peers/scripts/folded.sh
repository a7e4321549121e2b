#!/usr/bin/env bash
# Folded stacks: flamegraph.pl (in Debian's Devel::NYTProf) draws our files with our bytes for each frame, and we read
# the files of heaptrack_print.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq sqlite3 perl
need heaptrack libdevel-nytprof-perl || skip "heaptrack or libdevel-nytprof-perl, which has flamegraph.pl, cannot be installed here"
flamegraph=$(dpkg -L libdevel-nytprof-perl | grep /flamegraph.pl) || skip "libdevel-nytprof-perl does not contain flamegraph.pl"
root=$PWD
work=build/peers/folded
rm -rf $work && mkdir -p $work
cd $work

how=                             # options of our reader
# Bytes of each name in flamegraph.pl's picture and in our list; equal names are added up. flamegraph.pl replaces "<"
# by "(".
drawn() {
  perl "$flamegraph" --countname bytes --minwidth 0 "$1" 2>"$2.err" > "$2.svg"
  sed -n 's/^<title>\(.*\) (\([0-9,]*\) bytes, [0-9.]*%)<\/title>.*/\2 \1/p' "$2.svg" | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g' |
    awk '{ bytes = $1; gsub(",", "", bytes); sub(/^[^ ]* /, ""); sum[$0] += bytes } END { for (name in sum) if (sum[name]) print sum[name], name }' | LC_ALL=C sort
}
listed() {
  "$tool" tree --all --frames all --json --min-share 0 $how "$1" | jq -r '.heaps[].rows[] | select(.name != "<self>" and .bytes > 0) | "\(.bytes) \(if .name == "" then "all" else .name end)"' | tr '<>' '()' |
    awk '{ bytes = $1; sub(/^[^ ]* /, ""); sum[$0] += bytes } END { for (name in sum) print sum[name], name }' | LC_ALL=C sort
}
same_as_drawn() {                # same_as_drawn NAME FOLDED
  drawn "$2" "$2" > "$2.drawn"
  listed "$2" > "$2.listed"
  check "$1: flamegraph.pl ignores no line" "" "$(cat "$2.err")"
  if [ -s "$2.drawn" ] && cmp -s "$2.drawn" "$2.listed"; then pass "$1: flamegraph.pl draws the same bytes for all $(wc -l < "$2.drawn") names"
  else fail "$1: flamegraph.pl draws other bytes"; diff "$2.drawn" "$2.listed" | head -n 6; fi
}
# Tabs, decimals whose sums are whole numbers, and comments.
printf '# austin: 3.0.0\n# mode: memory\nmain;a\t10.5\nmain;b 12.\nmain;a 3.5\nmain;a;c\t7\n' > odd.folded
drawn odd.folded odd > odd.drawn
check "tabs, decimals and comments: equal to flamegraph.pl's drawing" "$(cat odd.drawn)" "$(listed odd.folded)"
check "... which shows all five names" 5 "$(wc -l < odd.drawn)"
total() { "$tool" tree --all --json $how "$1" | jq '[.heaps[].rows[0].bytes] | add'; }

same_as_drawn "a Go program" "$(cp "$root/tests/data/go-heap.folded" go.folded && echo go.folded)"

# Files that heapdump writes: a recording, its condensed heap, traces with several heaps, MemProf, objects.
"$tool" record -o kinds.json -- sqlite3 :memory: "create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000)
  insert into t select n, hex(randomblob(20)) from c; select count(*) from t;" > /dev/null
"$tool" convert --kind live --to chrome -o sql.json kinds.json
"$tool" convert --to chrome --top 2 -o cut.json sql.json
# Two allocators in one dump. A trace with several dumps: the last is written.
jq -c '.traceEvents |= map(if .ph == "v" and .id == "0x2" then .id = "0x1" | .ts = 10 | .args.dumps.heaps |= { blink_gc: .malloc } else . end)' \
  "$root/tests/data/trace-viewer/two-dumps.json" > two.json
cp "$root/tests/data/memprof-19.raw" memprof.raw
cp "$root/fuzz/seeds/fuzz_netcf/sample.txt" netcf.txt
cp "$root/tests/data/small.dartheap" small.dartheap
for file in sql.json cut.json two.json memprof.raw netcf.txt small.dartheap; do
  "$tool" convert --to folded -o $file.folded $file
  all=$(total $file)
  check "$file: the sum of all lines is the sum of its heaps" "$all" "$(awk '{ sum += $NF } END { print sum + 0 }' $file.folded)"
  if [ $file = netcf.txt ]; then how="--format folded"; fi # a line without ";" could be any text
  check "$file: the file reads back with the same bytes" "$all" "$(total $file.folded)"
  "$tool" convert $how --to folded -o again $file.folded
  check "$file: written again, the bytes are the same" same "$(cmp -s again $file.folded && echo same)"
  same_as_drawn $file $file.folded
  how=
done
check "one heap gets no label" 0 "$(grep -c '^(' sql.json.folded)"
check "with several heaps, each stack begins with its heap's label" "(blink_gc, pid 1, dump 0x1) (malloc, pid 1, dump 0x1)" "$(grep -o '^([^)]*)' two.json.folded | LC_ALL=C sort -u | paste -sd' ')"
check "of two dumps the last is written" "32 1" \
  "$("$tool" convert --to folded "$root/tests/data/trace-viewer/two-dumps.json" 2> err | awk '{ sum += $NF } END { print sum }') $(grep -c 'leaves them out.*dumps' err)"
for kind in live peak total temporary; do
  "$tool" convert --to folded $([ $kind = live ] || echo --kind $kind) "$root/tests/data/small.heaptrack" > kind.folded 2> err
  check "a file of one kind: $kind" "$("$tool" tree --kind $kind --json "$root/tests/data/small.heaptrack" | jq '.heaps[0].rows[0].bytes')" \
    "$(awk '{ sum += $NF } END { print sum }' kind.folded)"
  check "... other kinds are reported as left out only with live" $([ $kind = live ] && echo 1 || echo 0) "$(grep -c 'heaps of other kinds' err)"
done

# Files of heaptrack, whose stacks end in "; ".
heaptrack -o live sqlite3 :memory: "create table t(a, b); insert into t values(1, 2);" > heaptrack.log 2>&1
for cost in peak leaked; do
  heaptrack_print -f live.* -F $cost.folded --flamegraph-cost-type $cost > $cost.log 2>&1
  check "heaptrack_print -F, $cost: all bytes are read" "$(awk '{ sum += $NF } END { print sum }' $cost.folded)" "$(total $cost.folded)"
  check "... and no frame has an empty name" 0 "$(listed $cost.folded | grep -c '^[0-9]* *$')"
  "$tool" convert --to folded -o $cost.ours.folded $cost.folded
  same_as_drawn "heaptrack_print -F, $cost, written again" $cost.ours.folded
done

# A difference of two profiles, in the form of difffolded.pl.
printf 'main;f 3 7\nmain;g 0 5\n' > difference.folded
check "a difference of two profiles is refused" 1 "$(status "$tool" tree --strict difference.folded)"
check "... and the message gives the reason" "heapdump: difference.folded (folded): offset 7: line 1, column 8: a single number (two are a difference of profiles) expected, found '3 7'" "$(cat err)"
gzip -c go.folded > go.folded.gz
check "a .gz file is read" 2526692 "$(total go.folded.gz)"
exit $failed
