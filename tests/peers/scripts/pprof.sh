#!/usr/bin/env bash
# pprof profiles: a Go program's own and those of tests/data are what go tool pprof says they are, and so are what we
# write of them; npm's pprof-format decodes these, speedscope's importer shows them; what we recorded, MemProf and
# .NET dumps become profiles and come back.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must jq gzip python3
need golang-go || skip "golang-go cannot be installed here"
root=$PWD
work=$PWD/build/peers/pprof
rm -rf "$work" && mkdir -p "$work" && cd "$work"
export GOCACHE=$work/cache GO111MODULE=off PPROF_TMPDIR=$work

# gotop FILE TYPE: flat, cumulative and name of all frames, lines being told apart
gotop() {
  go tool pprof -top -lines -nodecount=1000000 -nodefraction=0 -edgefraction=0 -unit=B -sample_index="$2" "$1" 2>/dev/null |
    awk 'listed && $4 + 0 { name = $6; for (i = 7; i <= NF; i++) name = name " " $i; sub(/ \((partial-)?inline\)$/, "", name)
                            print $1 + 0, $4 + 0, name }
         $1 == "flat" { listed = 1 }' OFMT=%d CONVFMT=%d | LC_ALL=C sort
}
# ourtop FILE TYPE: the same of ours
ourtop() {
  "$tool" top --all --frames all --json --allocator "$2" "$1" |
    jq -r '.heaps[].rows[] | select(.bytes > 0) | "\(.self_bytes) \(.bytes) \(.name | sub(" \\[[^ ]*\\]$"; "") | sub(":0\\)$"; ")") | sub(" \\((?<p>[^()]*)\\)$"; " \(.p)"))"' | LC_ALL=C sort
}
same_top() {                     # same_top NAME FILE TYPE [OURS]
  gotop "$2" "$3" > go.top
  ourtop "${4:-$2}" "$3" > our.top
  if [ -s go.top ] && cmp -s go.top our.top; then pass "$1: all $(wc -l < go.top) frames of $3"
  else fail "$1: $3 differs"; diff go.top our.top | head -n 5; fi
}
# rewrite FROM TO: of a file of its own format convert writes the bytes, a merge of one its heaps.
rewrite() { "$tool" merge --all --to pprof -o "$2" "$1" 2> err; }
tree() { "$tool" tree --frames all --bytes --min-bytes 1 "$@" | sed '1s/  [^ ]*,.*\| total$//'; }

# A Go program with frames that are inlined, recursion and blocks that are freed.
cat > main.go <<'GO'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

type pair struct{ a, b *pair }

var kept []interface{}

func table(n int) []byte { return make([]byte, n) }
func tree(depth int) *pair {
	if depth == 0 {
		return &pair{}
	}
	return &pair{tree(depth - 1), tree(depth - 1)}
}
func main() {
	runtime.MemProfileRate = 512
	kept = append(kept, tree(12))
	for i := 0; i < 2000; i++ {
		b := table(100 + i)
		if i%3 == 0 {
			kept = append(kept, b, strings.Repeat("x", 50+i%7))
		}
	}
	runtime.GC()
	runtime.GC()
	f, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	f, _ = os.Create(os.Args[2])
	pprof.StartCPUProfile(f)
	pprof.StopCPUProfile()
	f.Close()
	runtime.KeepAlive(kept)
}
GO
go build -o program main.go && ./program own.pb.gz cpu.pb.gz
check "info says what it is" "own.pb.gz: pprof, 2 heaps" "$("$tool" info own.pb.gz | head -n 1)"
check "go's raw listing has our sums" "$(go tool pprof -raw own.pb.gz 2>/dev/null | awk '/^Locations/ { exit } $1 ~ /^[0-9]+$/ { o += $1; s += $2; i += $3; u += $4 } END { print s, o, u, i }' CONVFMT=%d)" \
  "$("$tool" info --json own.pb.gz | jq -r '[.. | .heaps? // empty | .[] | .bytes, .blocks] | join(" ")')"
for type in inuse_space alloc_space; do same_top "a Go program" own.pb.gz $type; done
check "a profile of time is none of memory" 1 "$(status "$tool" info cpu.pb.gz)"
check "it says so" "expected a memory profile with sample types in bytes, found 'samples' in 'count'" "$(grep -o 'expected a memory profile.*' err)"

# What we write.
for name in go node; do
  file=$root/tests/data/pprof-$name.pb
  rewrite "$file" $name.pb
  same_top "pprof-$name.pb" "$file" inuse_space
  same_top "pprof-$name.pb, written by us" $name.pb inuse_space
  same_top "pprof-$name.pb, as it was and as we write it" $name.pb inuse_space "$file"
  check "$name: what is shown first" "Type: inuse_space" "$(go tool pprof -top $name.pb 2>/dev/null | grep '^Type')"
done
same_top "pprof-go.pb, written by us" go.pb alloc_space
rewrite own.pb.gz own.pb
same_top "a Go program, written by us" own.pb inuse_space own.pb.gz
rewrite own.pb again.pb
check "written again it is the same" "" "$(cmp own.pb again.pb 2>&1)"
gzip -c own.pb > packed
"$tool" convert --to pprof -o same.pb own.pb
check "convert keeps what is a profile already" "" "$(cmp own.pb same.pb 2>&1)"
check "gzip or not" "$(ourtop own.pb inuse_space)" "$(ourtop packed inuse_space)"
"$tool" merge --to pprof -o merged.pb own.pb "$root"/tests/data/pprof-{go,node,cc}.pb 2> err
check "merged, also what lacks a type" "$("$tool" info "$root"/tests/data/pprof-{go,node,cc}.pb own.pb | awk '/inuse_space/ { b += $7 } END { print b }' CONVFMT=%d)" \
  "$(go tool pprof -raw merged.pb 2>/dev/null | awk '/^Locations/ { exit } $1 ~ /^[0-9]+$/ { u += $4 + 0 } END { print u }' CONVFMT=%d)"

# Where code is: mappings, and addresses, of which the library's own are for whoever has it to name.
places() { go tool pprof -raw "$1" 2>/dev/null | sed -n '/^Locations/,$p' | sed -n '/^Mappings/,$p; s/^ *[0-9]*: \(0x.*\)$/\1/p' | LC_ALL=C sort; }
rewrite "$root/tests/data/pprof-cc.pb" cc.pb
check "mappings, addresses, files and lines are kept" "$(places "$root/tests/data/pprof-cc.pb")" "$(places cc.pb)"
"$tool" convert --keep pair --to pprof -o pair.pb "$root/tests/data/pprof-go.pb" 2> err
check "... also of what is chosen" "$(go tool pprof -raw "$root/tests/data/pprof-go.pb" 2>/dev/null | sed -n '/^Mappings/,$p')" \
  "$(go tool pprof -raw pair.pb 2>/dev/null | sed -n '/^Mappings/,$p')"
check "info has them" "1: 0x55fa9ba12000/0x55fa9ba16000/0x1000 alloc" \
  "$("$tool" info --json "$root/tests/data/pprof-cc.pb" | jq -r '[.files[0].facts[] | select(.name == "mapping")][0].text' |
     sed 's|^\(.*\)-\(.*\) at \(.*\) of |1: \1/\2/\3 |')"

# What others make of that. Lines of one function are one frame to speedscope.
by_function() {
  sed 's/:[0-9]*$//' | awk '{ b = $1; $1 = ""; sum[$0] += b } END { for (n in sum) print sum[n] n }' CONVFMT=%d | sort -rn | head -n 3
}
if { command -v npm > /dev/null || need npm; } && npm install --silent --no-audit --no-fund --prefix "$work" pprof-format@2.3 speedscope@1.25 > npm.log 2>&1; then
  check "pprof-format decodes it" "alloc_objects count 29028,alloc_space bytes 8281602,inuse_objects count 15798,inuse_space bytes 2526692" \
    "$(node "$root/tests/peers/lib/pprof.mjs" format "$work" go.pb | paste -sd,)"
  for name in go own; do
    node "$root/tests/peers/lib/pprof.mjs" speedscope "$work" $name.pb > speedscope.txt
    "$tool" top --frames all --self --top 30 --json --allocator inuse_space $name.pb | jq -r '.heaps[].rows[] | select(.self_bytes > 0) | "\(.self_bytes) \(.name)"' |
      sed 's# \[[^ ]*\]$##; s# (\(.*\))$# \1#' > ours.txt
    check "speedscope shows $name.pb: its functions that hold most" "$(by_function < ours.txt)" "$(sed -n 's/^  //p' speedscope.txt | by_function)"
    check "speedscope shows $name.pb: its total" "$("$tool" info $name.pb | awk '/inuse_space/ && NF > 6 { print $7 }')" "$(awk '$(NF - 1) == "bytes" { n = $NF } END { print n }' speedscope.txt)"
  done
else
  echo "SKIP: npm's pprof-format and speedscope cannot be installed here"
fi

# From other formats, and back.
"$tool" record --min-bytes 1 -o kinds.json -- /usr/bin/python3 -c 'import json; x = [json.loads("[1, 2, {\"a\": 3}]") for i in range(2000)]; import os; os._exit(0)' 2> record.log
"$tool" convert --kind live --to chrome -o recorded.json kinds.json
"$tool" convert --to pprof -o recorded.pb recorded.json
check "a recording's tree is the same as a profile" "$(tree recorded.json)" "$(tree recorded.pb)"
check "and so are its labels" "$("$tool" info recorded.json | awk 'NR == 3 { print $1, $2, $3, $4, $6, $7, $8 }')" "$("$tool" info recorded.pb | awk 'NR == 3 { print $1, $2, $3, $4, $6, $7, $8 }')"
"$tool" convert --to chrome -o back.json recorded.pb
check "and back as a trace" "$(tree recorded.json)" "$(tree back.json)"
"$tool" convert --to pprof -o memprof.pb "$root/tests/data/memprof-16.profdata"
check "an indexed MemProf profile's tree" "$(tree "$root/tests/data/memprof-16.profdata")" "$(tree memprof.pb)"
check "and go tool pprof has its names" "$(gotop memprof.pb alloc_space)" "$(ourtop "$root/tests/data/memprof-16.profdata" malloc)"
# What is not listed has its name there, too.
"$tool" convert --to pprof --min-share 0.2 -o cut.pb "$root/tests/data/pprof-go.pb" 2> err
check "go tool pprof names what is cut off" 1 "$(go tool pprof -top -sample_index=inuse_space cut.pb 2>/dev/null | grep -c '%  *<other>$')"

# Labels: --by takes each, by its key.
labels=$root/fuzz/seeds/fuzz_pprof/labels
check "--by takes a label" "user ann" "$("$tool" top --by user "$labels" | awk 'NR == 2 { print $NF }') $("$tool" top --json --by user "$labels" |
  jq -r '.heaps[].rows[].name | select(. != "<self>")')"
check "--by takes one that is called as MemProf's are" size "$("$tool" tree --json --by size "$labels" | jq -r '.heaps[0].rows[1].axis')"
check "--by of no label" "1 heapdump: $labels (pprof): --by takes backtrace, type, size, user here, not 'host'" "$(status "$tool" tree --by host "$labels") $(cat err)"
"$tool" merge --to pprof -o other.pb "$labels" "$labels" 2> err
check "diff --by takes a label" user "$("$tool" diff --json --by user other.pb "$labels" | jq -r '.diffs[0].rows[1].axis')"
check "diff of profiles names no dump" 0 "$("$tool" diff "$labels" "$labels" | grep -c 'dump')"
# What a label says is beside the stacks, and not among them.
data=$root/tests/data
check "labels stay out of the tree" "main Server::run Buf::grow Cache::put Log::open" \
  "$("$tool" tree --json --allocator space "$data/pprof-case-tcmalloc.pb" 2> err | jq -r '[.heaps[].rows[1:][].name | select(startswith("_") | not)] | join(" ")')"
check "--by takes them, and stacks are below" "access_hint 128 backtrace main" \
  "$("$tool" tree --json --by access_hint --allocator space "$data/pprof-case-tcmalloc.pb" 2> err | jq -r '[.heaps[].rows[1:3][] | .axis, .name] | join(" ")')"
check "rows have seven of them, and are read" "1 1 100" "$("$tool" rows "$data/pprof-case-lab7.pb" > lab7.csv; head -n 1 lab7.csv | grep -c axis_k6) $(
  "$tool" rows lab7.csv | cmp - lab7.csv && "$tool" info --json lab7.csv | jq -r '[.. | .heaps? // empty | .[] | 1, .bytes] | join(" ")')"
check "convert writes them" "$(cat lab7.csv)" "$("$tool" convert --to rows "$data/pprof-case-lab7.pb" | sed "s|^,|$data/pprof-case-lab7.pb,|")"

# The difference of two Go profiles: less is live, and nothing was allocated less.
check "a negative value costs its heap alone" "$(go tool pprof -top -unit=B -sample_index=alloc_space "$data/pprof-case-neg.pb" 2>&1 | sed -n 's/.*of \([0-9]*\)B total.*/\1/p')" \
  "$("$tool" tree --bytes --kind total "$data/pprof-case-neg.pb" 2> err | awk 'NR == 1 { print $1 }')"

# Without counts of blocks errors are not known.
counted=$data/pprof-case-blocks without=$data/pprof-case-noblocks
check "no error is shown that is not known" "0 1" "$("$tool" tree "${without}1.pb" | grep -c '±') $("$tool" tree "${without}1.pb" | grep -c 'error unknown (no block counts)')"
check "check takes the largest that there can be, and says so" "0 noise 1" \
  "$(status "$tool" check "${without}1.pb" "${without}2.pb") $("$tool" check "${without}1.pb" "${without}2.pb" | awk 'NR == 2 { print $1 }') $(
    "$tool" check "${without}1.pb" "${without}2.pb" | grep -c 'cannot test inuse_space for noise exactly')"
check "with counts it says nothing" "0 noise 0" "$(status "$tool" check "${counted}1.pb" "${counted}2.pb") $(
  "$tool" check "${counted}1.pb" "${counted}2.pb" | awk 'NR == 2 { print $1 }') $("$tool" check "${counted}1.pb" "${counted}2.pb" | grep -c 'cannot test')"
check "bytes behind a gzip stream are told" "1 1" "$(status "$tool" validate "$data/pprof-case-trailing.pb.gz") $(
  "$tool" validate "$data/pprof-case-trailing.pb.gz" | grep -c 'or other data follows it')"

# A profile of addresses: a program of that build id names them, as it does for pprof.
cat > named.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void *leak(void) { return malloc(100); }
static inline __attribute__((always_inline)) void *wrapper(void) { return leak(); }
__attribute__((noinline)) void *work(void) { void *p = wrapper(); __asm__ volatile("" ::: "memory"); return p; }
int main(void) { void *p = work(); __asm__ volatile("" ::: "memory"); return p == 0; }
C
python3 "$root/tests/peers/lib/pprof.py" addresses named.c "$work"
for pie in pie no-pie moved; do
  check "$pie: go names the addresses" "leak main work" "$(go tool pprof -top $pie.pb 2>/dev/null | awk 'listed { print $6 } $1 == "flat" { listed = 1 }' | sort | paste -sd' ')"
  for by in "" "--binary $pie.bin"; do
    check "$pie: and so does tree $by" "main › work › wrapper › leak" "$("$tool" tree $by $pie.pb 2> err | tail -n 1 | sed 's/.*%  *[0-9]*  *//; s/ ([^)]*)//g; s/ \[[^]]*\]//g')"
    check "$pie: ... without a word of complaint" "" "$(cat err)"
  done
done
check "another program names nothing, and says so" "1 1" "$("$tool" tree --binary pie.bin other.pb 2> err | grep -c '+0x') $(grep -c 'its build id differs' err)"
check "where no build id is told, one that is given does" 1 "$("$tool" tree --binary pie.bin without.pb 2> err | grep -c 'leak')"

# Mappings cost the same each, however many there are; a file that becomes a pipe before it is opened holds nothing up.
for n in 10000 40000; do python3 "$root/tests/peers/lib/pprof.py" mappings $n '/nonexistent/lib%d.so'; done
took() { local TIMEFORMAT=%U; { time "$tool" tree "$1" > /dev/null 2>&1; } 2>&1; }
check "four times as many mappings take four times as long" 1 \
  "$(echo "$(took mappings10000.pb) $(took mappings40000.pb)" | awk '{ print $2 < 7 * $1 + .3 ? 1 : $0 }')"
mkfifo exchanged1.so
python3 "$root/tests/peers/lib/pprof.py" mappings 1 "$work/exchanged%d.so"
cat > exchanged.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
int stat(const char *path, struct stat *st) {
    int (*next)(const char *, struct stat *) = (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat");
    int status = next(path, st);
    if (!status && strstr(path, "exchanged")) st->st_mode = S_IFREG | 0600;
    return status;
}
C
cc -shared -fPIC -w -o exchanged.so exchanged.c -ldl
check "a binary that becomes a pipe before it is opened" "0 1" \
  "$(status timeout 10 env LD_PRELOAD="$PWD/exchanged.so" "$tool" tree mappings1.pb) $(grep -c -m 1 exchanged1.so out)"

# drop_frames and keep_frames: what of a stack go shows is what the tree shows.
python3 "$root/tests/peers/lib/pprof.py" drops "$work" > drops.txt
while read -r file; do
  check "$file: frames that go drops" "$(go tool pprof -raw "$file" 2>/dev/null | python3 "$root/tests/peers/lib/pprof.py" stacks)" \
    "$("$tool" tree --json --all "$file" 2> err | python3 "$root/tests/peers/lib/pprof.py" rows)"
  check "$file: ... without a word of complaint" "" "$(cat err)"
done < drops.txt
check "--frames all has them" 1 "$("$tool" tree --frames all --all "$(head -n 1 drops.txt)" | grep -c -m 1 ' dropped$')"

for file in "$root"/fuzz/seeds/fuzz_netcf/*; do
  [ "$(status "$tool" info --strict "$file")" = 0 ] && "$tool" convert --to pprof -o netcf.pb "$file" 2> err || continue
  check "a .NET dump's dominators: $(basename "$file")" "$(tree "$file" | awk 'NR == 1 { print $1, $3 }')" "$(tree netcf.pb | awk 'NR == 1 { print $1, $3 }')"
done
exit $failed
