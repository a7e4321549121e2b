#!/usr/bin/env bash
# heapdump validate: it finds the faults of faulty files, and none in files of real programs.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq xz-utils
work=$PWD/build/peers/validate
rm -rf "$work" && mkdir -p "$work"
seeds=$PWD/fuzz/seeds data=$PWD/tests/data
cd "$work"

# If a strict reader refuses a file, validate reports it; otherwise it reports no such fault.
missed= more=
for d in "$seeds"/* "$data/trace-viewer"; do
  for f in $(ls "$d" | head -n 40); do
    strict=$(status "$tool" info --strict "$d/$f")
    found=$(status "$tool" validate --json "$d/$f")
    read -r refused findings < <(jq -r '.files[0] | "\(.refused) \([1, .findings] | min)"' out)
    [ "$strict" = 0 ] || [ "$found" = 1 ] || missed="$missed $f"
    [ "$strict" != 0 ] || [ "$refused" = 0 ] || more="$more $f"
    [ "$found" = "$findings" ] || fail "status of $f"
  done
done
check "validate reports all files that --strict refuses" "" "$missed"
check "... and no others as refused" "" "$more"
printf '[{"ph":"v"' > cut.json && printf 'no heap dump\n' > text.txt
head -c -9 "$data/trace-viewer/two-dumps.json" > end.json
check "a file that no reading accepts: not readable, with or without --strict" "cut.json: chrome, 1 finding, not readable; text.txt: unknown format, 1 finding, not readable" \
  "$(for f in cut.json text.txt; do "$tool" validate $f | head -1; done | paste -sd';' | sed 's/;/; /')"
check "... a file that only --strict refuses" "end.json: chrome, 1 finding, refused when read with --strict" "$("$tool" validate end.json | head -1)"

xz -dc "$data/sass-small.dartheap.xz" > sass.dartheap
check "no findings in files of real programs" "0 0" "$(status "$tool" validate sass.dartheap "$data"/*.heapsnapshot \
  "$data"/pprof-{cc,go,node}.pb "$data"/heap-*.txt "$data"/*.raw "$data"/memprof-1*.profdata "$data"/memprof-22-[ev]*.profdata "$data"/*.folded "$data/small.heaptrack") $(grep -vc 'nothing wrong$' out)"

# Frames, types and allocators that are smaller than their children.
trace() { printf '[{"pid":1,"ph":"M","args":{"stackFrames":{"1":{"name":"main"},"2":{"name":"f","parent":"1"},"3":{"name":"g","parent":"1"}}}},{"pid":1,"ph":"v","id":"7","args":{"dumps":{"allocators":{"malloc":{"attrs":{"size":{"type":"scalar","units":"bytes","value":"%s"}}},"malloc/a/b":{"attrs":{"size":{"type":"scalar","units":"bytes","value":"10"}}},"malloc/c":{"attrs":{"size":{"type":"scalar","units":"bytes","value":"10"}}}},"heaps":{"malloc":{"entries":[{"size":"64","bt":""},{"size":"64","bt":"1"},{"size":"%s","bt":"2"},{"size":"%s","bt":"3"}]}}}}}]' "$@"; }
found() { "$tool" validate --json "$1" | jq -r '.files[0].list[] | "\(.kind) \(.message)"'; }
trace 20 30 30 > good.json
check "a consistent trace" "0" "$(status "$tool" validate good.json)"
trace 20 65 1 > child.json
check "a child larger than its parent" "inconsistent main/f holds 101 bytes, more than the 100 of main" "$(found child.json)"
check "... in which heap" "1 7 malloc" "$("$tool" validate --json child.json | jq -r '.files[0].list[0].heap | "\(.pid) \(.dump) \(.allocator)"')"
trace 20 33 32 > sum.json
check "children that exceed their parent together" "inconsistent main holds 100 bytes, but entries below it (by backtrace) add up to 101" "$(found sum.json)"
trace 1f 30 30 > parts.json
check "an allocator smaller than its parts" "inconsistent malloc of process 1, dump 7, has 31 bytes, but its parts add up to 32" "$(found parts.json)"

# The place of each finding; the first hundred, or all.
head -c 700 "$data/small.dartheap" > cut.dartheap
check "the offset where a truncated file ends" yes "$("$tool" validate --json cut.dartheap | jq -r 'if .files[0].list[0].offset <= 700 and .files[0].list[0].offset > 600 then "yes" else .files[0].list[0].offset end')"
{ cat "$data/go-heap.folded"; for i in $(seq 150); do echo "main;f x$i"; done; } > many.folded
check "a hundred findings, or all with --all" "150 100 150 1" "$("$tool" validate --json --format folded many.folded | jq -r '"\(.files[0].findings) \(.files[0].list | length)"') $("$tool" validate --all --json --format folded many.folded | jq '.files[0].list | length') $("$tool" validate --format folded many.folded | grep -c '50 more (--all')"
check "standard input" "standard input: netcf, nothing wrong" "$("$tool" validate - < "$seeds/fuzz_netcf/domains.txt")"
check "a missing file: status 1" "1 1" "$(status "$tool" validate gone) $(grep -c 'cannot open' out)"
check "no file argument: usage error" 2 "$(status "$tool" validate)"
check "several files, one of them faulty: status 1" 1 "$(status "$tool" validate good.json child.json good.json)"
exit $failed
