#!/usr/bin/env bash
# pprof profiles of a Go program and of tests/data: our reading equals that of go tool pprof, and so do the profiles
# that we write. npm's pprof-format decodes them, and speedscope's importer shows them. Recordings, MemProf profiles
# and .NET dumps are converted to pprof and back.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must jq gzip python3
need golang-go || skip "golang-go cannot be installed here"
root=$PWD
work=$PWD/build/peers/pprof
rm -rf "$work" && mkdir -p "$work" && cd "$work"
export GOCACHE=$work/cache GO111MODULE=off PPROF_TMPDIR=$work

# gotop FILE TYPE: flat, cumulative and name of all frames; lines are distinguished
gotop() {
  go tool pprof -top -lines -nodecount=1000000 -nodefraction=0 -edgefraction=0 -unit=B -sample_index="$2" "$1" 2>/dev/null |
    awk 'listed && $4 + 0 { name = $6; for (i = 7; i <= NF; i++) name = name " " $i; sub(/ \((partial-)?inline\)$/, "", name)
                            print $1 + 0, $4 + 0, name }
         $1 == "flat" { listed = 1 }' OFMT=%d CONVFMT=%d | LC_ALL=C sort
}
# ourtop FILE TYPE: the same by heapdump
ourtop() {
  "$tool" top --all --frames all --json --allocator "$2" "$1" |
    jq -r '.heaps[].rows[] | select(.bytes > 0) | "\(.self_bytes) \(.bytes) \(.name | sub(" \\[[^ ]*\\]$"; "") | sub(":0\\)$"; ")") | sub(" \\((?<p>[^()]*)\\)$"; " \(.p)"))"' | LC_ALL=C sort
}
same_top() {                     # same_top NAME FILE TYPE [OURS]
  gotop "$2" "$3" > go.top
  ourtop "${4:-$2}" "$3" > our.top
  if [ -s go.top ] && cmp -s go.top our.top; then pass "$1: all $(wc -l < go.top) frames of $3"
  else fail "$1: frames of $3 differ"; diff go.top our.top | head -n 5; fi
}
# rewrite FROM TO: writes the heaps anew by merge; convert would copy the bytes of its own format
rewrite() { "$tool" merge --all --to pprof -o "$2" "$1" 2> err; }
tree() { "$tool" tree --frames all --bytes --min-bytes 1 "$@" | sed '1s/  [^ ]*,.*\| total$//'; }

# A Go program with inlined frames, recursion and freed blocks.
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
check "info names the format" "own.pb.gz: pprof, 2 heaps" "$("$tool" info own.pb.gz | head -n 1)"
check "our sums equal those of go's raw listing" "$(go tool pprof -raw own.pb.gz 2>/dev/null | awk '/^Locations/ { exit } $1 ~ /^[0-9]+$/ { o += $1; s += $2; i += $3; u += $4 } END { print s, o, u, i }' CONVFMT=%d)" \
  "$("$tool" info --json own.pb.gz | jq -r '[.. | .heaps? // empty | .[] | .bytes, .blocks] | join(" ")')"
for type in inuse_space alloc_space; do same_top "a Go program" own.pb.gz $type; done
check "a CPU profile is refused" 1 "$(status "$tool" info cpu.pb.gz)"
check "... and the message says why" "expected a memory profile with sample types in bytes, found 'samples' in 'count'" "$(grep -o 'expected a memory profile.*' err)"

# Profiles that we write.
for name in go node; do
  file=$root/tests/data/pprof-$name.pb
  rewrite "$file" $name.pb
  same_top "pprof-$name.pb" "$file" inuse_space
  same_top "pprof-$name.pb, written by us" $name.pb inuse_space
  same_top "pprof-$name.pb, as it was and as we write it" $name.pb inuse_space "$file"
  check "$name: go tool pprof shows live bytes first" "Type: inuse_space" "$(go tool pprof -top $name.pb 2>/dev/null | grep '^Type')"
done
same_top "pprof-go.pb, written by us" go.pb alloc_space
rewrite own.pb.gz own.pb
same_top "a Go program, written by us" own.pb inuse_space own.pb.gz
rewrite own.pb again.pb
check "a profile written twice has the same bytes" "" "$(cmp own.pb again.pb 2>&1)"
gzip -c own.pb > packed
"$tool" convert --to pprof -o same.pb own.pb
check "convert copies a pprof file unchanged" "" "$(cmp own.pb same.pb 2>&1)"
check "with and without gzip: the same frames" "$(ourtop own.pb inuse_space)" "$(ourtop packed inuse_space)"
"$tool" merge --to pprof -o merged.pb own.pb "$root"/tests/data/pprof-{go,node,cc}.pb 2> err
check "merge also takes profiles without some types" "$("$tool" info --bytes "$root"/tests/data/pprof-{go,node,cc}.pb own.pb | awk '/inuse_space/ { b += $7 } END { print b }' CONVFMT=%d)" \
  "$(go tool pprof -raw merged.pb 2>/dev/null | awk '/^Locations/ { exit } $1 ~ /^[0-9]+$/ { u += $4 + 0 } END { print u }' CONVFMT=%d)"

# places FILE: mappings and addresses, as go tool pprof lists them
places() { go tool pprof -raw "$1" 2>/dev/null | sed -n '/^Locations/,$p' | sed -n '/^Mappings/,$p; s/^ *[0-9]*: \(0x.*\)$/\1/p' | LC_ALL=C sort; }
rewrite "$root/tests/data/pprof-cc.pb" cc.pb
check "merge keeps mappings, addresses, files and lines" "$(places "$root/tests/data/pprof-cc.pb")" "$(places cc.pb)"
"$tool" convert --keep pair --to pprof -o pair.pb "$root/tests/data/pprof-go.pb" 2> err
check "... with options that select frames, too" "$(go tool pprof -raw "$root/tests/data/pprof-go.pb" 2>/dev/null | sed -n '/^Mappings/,$p')" \
  "$(go tool pprof -raw pair.pb 2>/dev/null | sed -n '/^Mappings/,$p')"
check "info has mappings and addresses" "1: 0x55fa9ba12000/0x55fa9ba16000/0x1000 alloc" \
  "$("$tool" info --json "$root/tests/data/pprof-cc.pb" | jq -r '[.files[0].facts[] | select(.name == "mapping")][0].text' |
     sed 's|^\(.*\)-\(.*\) at \(.*\) of |1: \1/\2/\3 |')"

# Profiles in other tools. speedscope treats all lines of a function as one frame.
by_function() {
  sed 's/:[0-9]*$//' | awk '{ b = $1; $1 = ""; sum[$0] += b } END { for (n in sum) print sum[n] n }' CONVFMT=%d | sort -rn | head -n 3
}
if { command -v npm > /dev/null || need npm; } && npm install --silent --no-audit --no-fund --prefix "$work" pprof-format@2.3 speedscope@1.25 > npm.log 2>&1; then
  check "npm's pprof-format decodes our profile" "alloc_objects count 29028,alloc_space bytes 8281602,inuse_objects count 15798,inuse_space bytes 2526692" \
    "$(node "$root/tests/peers/lib/pprof.mjs" format "$work" go.pb | paste -sd,)"
  for name in go own; do
    node "$root/tests/peers/lib/pprof.mjs" speedscope "$work" $name.pb > speedscope.txt
    "$tool" top --frames all --self --top 30 --json --allocator inuse_space $name.pb | jq -r '.heaps[].rows[] | select(.self_bytes > 0) | "\(.self_bytes) \(.name)"' |
      sed 's# \[[^ ]*\]$##; s# (\(.*\))$# \1#' > ours.txt
    check "speedscope shows $name.pb: the largest functions" "$(by_function < ours.txt)" "$(sed -n 's/^  //p' speedscope.txt | by_function)"
    check "speedscope shows $name.pb: its total" "$("$tool" info --bytes $name.pb | awk '/inuse_space/ && NF > 6 { print $7 }')" "$(awk '$(NF - 1) == "bytes" { n = $NF } END { print n }' speedscope.txt)"
  done
else
  echo "SKIP: npm's pprof-format and speedscope cannot be installed here"
fi

# Other formats to pprof and back.
"$tool" record --min-bytes 1 -o kinds.json -- /usr/bin/python3 -c 'import json; x = [json.loads("[1, 2, {\"a\": 3}]") for i in range(2000)]; import os; os._exit(0)' 2> record.log
"$tool" convert --kind live --to chrome -o recorded.json kinds.json
"$tool" convert --to pprof -o recorded.pb recorded.json
check "a recording has the same tree as a pprof profile" "$(tree recorded.json)" "$(tree recorded.pb)"
check "... and the same labels" "$("$tool" info --bytes recorded.json | awk 'NR == 3 { print $1, $2, $3, $4, $6, $7, $8 }')" "$("$tool" info --bytes recorded.pb | awk 'NR == 3 { print $1, $2, $3, $4, $6, $7, $8 }')"
"$tool" convert --to chrome -o back.json recorded.pb
check "... and the same tree as a trace again" "$(tree recorded.json)" "$(tree back.json)"
"$tool" convert --to pprof -o memprof.pb "$root/tests/data/memprof-16.profdata"
check "an indexed MemProf profile has the same tree" "$(tree "$root/tests/data/memprof-16.profdata")" "$(tree memprof.pb)"
check "... and go tool pprof shows its names" "$(gotop memprof.pb alloc_space)" "$(ourtop "$root/tests/data/memprof-16.profdata" malloc)"
# Omitted frames are named <other> in go tool pprof, too.
"$tool" convert --to pprof --min-share 0.2 -o cut.pb "$root/tests/data/pprof-go.pb" 2> err
check "go tool pprof shows <other>" 1 "$(go tool pprof -top -sample_index=inuse_space cut.pb 2>/dev/null | grep -c '%  *<other>$')"

# Labels: --by accepts each label by its key.
labels=$root/fuzz/seeds/fuzz_pprof/labels
check "--by a label" "user ann" "$("$tool" top --by user "$labels" | awk 'NR == 2 { print $NF }') $("$tool" top --json --by user "$labels" |
  jq -r '.heaps[].rows[].name | select(. != "<self>")')"
check "--by a label with the name of a MemProf axis" size "$("$tool" tree --json --by size "$labels" | jq -r '.heaps[0].rows[1].axis')"
check "--by an unknown label is refused" "1 heapdump: $labels (pprof): --by takes backtrace, type, size, user here, not 'host'" "$(status "$tool" tree --by host "$labels") $(cat err)"
"$tool" merge --to pprof -o other.pb "$labels" "$labels" 2> err
check "diff --by a label" user "$("$tool" diff --json --by user other.pb "$labels" | jq -r '.diffs[0].rows[1].axis')"
check "diff of profiles prints no dump" 0 "$("$tool" diff "$labels" "$labels" | grep -c 'dump')"
# Labels are separate axes, outside the call stacks.
data=$root/tests/data
check "the tree has no labels among its frames" "main Server::run Buf::grow Cache::put Log::open" \
  "$("$tool" tree --json --allocator space "$data/pprof-case-tcmalloc.pb" 2> err | jq -r '[.heaps[].rows[1:][].name | select(startswith("_") | not)] | join(" ")')"
check "--by puts labels above the stacks" "access_hint 128 backtrace main" \
  "$("$tool" tree --json --by access_hint --allocator space "$data/pprof-case-tcmalloc.pb" 2> err | jq -r '[.heaps[].rows[1:3][] | .axis, .name] | join(" ")')"
check "rows write seven labels and read them back" "1 1 100" "$("$tool" rows "$data/pprof-case-lab7.pb" > lab7.csv; head -n 1 lab7.csv | grep -c axis_k6) $(
  "$tool" rows lab7.csv | cmp - lab7.csv && "$tool" info --json lab7.csv | jq -r '[.. | .heaps? // empty | .[] | 1, .bytes] | join(" ")')"
check "convert --to rows writes the same" "$(cat lab7.csv)" "$("$tool" convert --to rows "$data/pprof-case-lab7.pb" | sed "s|^,|$data/pprof-case-lab7.pb,|")"

# The difference of two Go profiles: live bytes decrease, and no allocations decrease.
check "a negative value only excludes its heap" "$(go tool pprof -top -unit=B -sample_index=alloc_space "$data/pprof-case-neg.pb" 2>&1 | sed -n 's/.*of \([0-9]*\)B total.*/\1/p')" \
  "$("$tool" tree --bytes --kind total "$data/pprof-case-neg.pb" 2> err | awk 'NR == 1 { print $1 }')"

# Without block counts, sampling errors are unknown.
counted=$data/pprof-case-blocks without=$data/pprof-case-noblocks
check "no unknown error is shown" "0 1" "$("$tool" tree "${without}1.pb" | grep -c '±') $("$tool" tree "${without}1.pb" | grep -c 'error unknown (no block counts)')"
check "check assumes the largest possible error and says so" "0 noise 1" \
  "$(status "$tool" check "${without}1.pb" "${without}2.pb") $("$tool" check "${without}1.pb" "${without}2.pb" | awk 'NR == 2 { print $1 }') $(
    "$tool" check "${without}1.pb" "${without}2.pb" | grep -c 'cannot test inuse_space for noise exactly')"
check "with block counts there is no such message" "0 noise 0" "$(status "$tool" check "${counted}1.pb" "${counted}2.pb") $(
  "$tool" check "${counted}1.pb" "${counted}2.pb" | awk 'NR == 2 { print $1 }') $("$tool" check "${counted}1.pb" "${counted}2.pb" | grep -c 'cannot test')"
check "bytes after the gzip stream are reported" "1 1" "$(status "$tool" validate "$data/pprof-case-trailing.pb.gz") $(
  "$tool" validate "$data/pprof-case-trailing.pb.gz" | grep -c 'or other data follows it')"

# A profile of addresses: a program with the right build id gives the names, as in pprof.
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
    check "$pie: tree $by names them, too" "main › work › wrapper › leak" "$("$tool" tree $by $pie.pb 2> err | tail -n 1 | sed 's/.*%  *[0-9]*  *//; s/ ([^)]*)//g; s/ \[[^]]*\]//g')"
    check "$pie: ... without a message" "" "$(cat err)"
  done
done
check "another program gives no names, and a message says so" "1 1" "$("$tool" tree --binary pie.bin other.pb 2> err | grep -c '+0x') $(grep -c 'its build id differs' err)"
check "a given program names addresses of a mapping without a build id" 1 "$("$tool" tree --binary pie.bin without.pb 2> err | grep -c 'leak')"

# The cost per mapping is constant. A file that is replaced by a pipe just before it is opened does not block.
for n in 10000 40000; do python3 "$root/tests/peers/lib/pprof.py" mappings $n '/nonexistent/lib%d.so'; done
took() { local TIMEFORMAT=%U; { time "$tool" tree "$1" > /dev/null 2>&1; } 2>&1; }
check "four times as many mappings take at most about four times as long" 1 \
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
check "a program replaced by a pipe just before it is opened" "0 1" \
  "$(status timeout 10 env LD_PRELOAD="$PWD/exchanged.so" "$tool" tree mappings1.pb) $(grep -c -m 1 exchanged1.so out)"

# drop_frames and keep_frames: the tree shows the same frames as go tool pprof.
python3 "$root/tests/peers/lib/pprof.py" drops "$work" > drops.txt
while read -r file; do
  check "$file: the frames that go tool pprof drops" "$(go tool pprof -raw "$file" 2>/dev/null | python3 "$root/tests/peers/lib/pprof.py" stacks)" \
    "$("$tool" tree --json --all "$file" 2> err | python3 "$root/tests/peers/lib/pprof.py" rows)"
  check "$file: ... without a message" "" "$(cat err)"
done < drops.txt
check "--frames all shows the dropped frames" 1 "$("$tool" tree --frames all --all "$(head -n 1 drops.txt)" | grep -c -m 1 ' dropped$')"

for file in "$root"/fuzz/seeds/fuzz_netcf/*; do
  [ "$(status "$tool" info --strict "$file")" = 0 ] && "$tool" convert --to pprof -o netcf.pb "$file" 2> err || continue
  check "a .NET dump's dominator tree: $(basename "$file")" "$(tree "$file" | awk 'NR == 1 { print $1, $3 }')" "$(tree netcf.pb | awk 'NR == 1 { print $1, $3 }')"
done
exit $failed
