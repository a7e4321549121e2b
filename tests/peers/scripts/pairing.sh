#!/usr/bin/env bash
# Two files at a time: the heaps and functions that diff, check, merge and suspects pair, and the output format of
# merge and convert.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq python3
root=$PWD
work=build/peers/pairing
rm -rf $work && mkdir -p $work
cp tests/data/{doc-all.json,eq1.heap,eq2.heap,app-1.pb,app-3.pb,small.heaptrack,memprof-19.raw,memprof-19-v3.profdata} $work
cd $work
format() { "$tool" info --json "$1" | jq -r '.files[0].format'; }
bytes() { "$tool" info --json "$1" | jq -r --arg kind "$2" '[.files[0].heaps[] | select(.kind == $kind) | .bytes] | join(" ")'; }

# If each of two files has only one heap, they are a pair, whatever the processes are called. A message says so.
check "diff of two builds with different process names" "100 150" "$("$tool" diff --json app-1.pb app-3.pb 2> err | jq -r '[.diffs[].rows[0] | "\(.before) \(.after)"] | join(",")')"
check "... one message reports the pair" 1 "$(grep -c 'app (app-1.pb) is compared with app13 (app-3.pb)' err)"
check "--match process pairs only equal names" "100 0,0 150" "$("$tool" diff --match process --json app-1.pb app-3.pb 2> err | jq -r '[.diffs[].rows[0] | "\(.before) \(.after)"] | sort_by(-(split(" ")[0] | tonumber)) | join(",")')"
check "... without a message" 0 "$(wc -l < err)"
check "check of two builds: growth above the limit" 1 "$(status "$tool" check --max-growth 40 app-1.pb app-3.pb)"
check "... growth within the limit" 0 "$(status "$tool" check --max-growth 60 app-1.pb app-3.pb)"
check "another value of --match is refused" 2 "$(status "$tool" diff --match pid app-1.pb app-3.pb)"

# The format of merge: from --to, else from the suffix of -o, else the common format of all files, else a trace.
for name in x.pb:pprof x.pb.gz:pprof x.json:chrome x.folded:folded x.csv:rows x.csv.zst:rows x.other:pprof; do
  "$tool" merge -o ${name%:*} app-1.pb app-3.pb 2> /dev/null
  check "merge -o ${name%:*}" ${name#*:} "$(format ${name%:*})"
  check "... the bytes of both files are in ${name%:*}" 250 "$(bytes ${name%:*} live)"
done
"$tool" merge app-1.pb app-3.pb > piped 2> /dev/null
check "merge into a pipe: the common format" pprof "$(format piped)"
"$tool" merge -o mixed app-1.pb eq1.heap 2> /dev/null
check "merge of two formats: a trace" chrome "$(format mixed)"
"$tool" merge --to folded -o to.pb app-1.pb 2> /dev/null
check "--to takes precedence over the suffix" folded "$(format to.pb)"
for name in x.speedscope.json x.speedscope x.speedscope.json.gz; do
  "$tool" merge -o $name app-1.pb app-3.pb 2> /dev/null
  check "merge -o $name" speedscope "$(gzip -dcf $name | jq -r '."$schema" // "another" | capture("(?<name>speedscope)").name')"
done
for name in x.heapsnapshot:heapsnapshot x.dartheap:dart x.profdata:- x.memprofraw:-; do
  check "merge refuses to write heaps into ${name%:*}" "$([ ${name#*:} = - ] && echo no || echo 2 no)" \
    "$(s=$(status "$tool" merge -o ${name%:*} app-1.pb app-3.pb); [ ${name#*:} = - ] || echo "$s ")$([ -e ${name%:*} ] && echo yes || echo no)"
done
"$tool" merge -o x.memprofraw memprof-19.raw 2> /dev/null
"$tool" merge -o x.profdata memprof-19-v3.profdata 2> /dev/null
check "MemProf profiles as x.memprofraw and x.profdata" "memprof memprof-index" "$(format x.memprofraw) $(format x.profdata)"
check "an index of a raw profile needs --binary" "2 1" "$(status "$tool" merge -o y.profdata memprof-19.raw) $(grep -c 'needs --binary' err)"
for to in - /dev/tty /dev/stdout; do
  for command in "merge -o $to app-1.pb app-3.pb" "convert --to pprof -o $to app-1.pb" "convert --to memprof-raw -o $to memprof-19.raw" \
    "index -o $to memprof-19-v3.profdata" "record --format memprof-raw -o $to -- /bin/true" "record --format memprof-rfc -o $to -- /bin/true"; do
    check "no binary output on a terminal: $command" "2 0" "$(status script -qec "'$tool' $command" typescript < /dev/null) $(grep -c "$(printf '\001')" typescript)"
  done
done
check "text on a terminal is allowed" 0 "$(status script -qec "'$tool' convert --to folded -o /dev/tty app-1.pb" /dev/null < /dev/null)"

# If a pprof file has no total, its live heap counts as its total, in any order of the files.
for files in "eq1.heap eq2.heap" "eq2.heap eq1.heap"; do
  "$tool" merge --to pprof -o sum.pb $files 2> /dev/null
  check "total and live bytes of $files" "400 200" "$(bytes sum.pb total) $(bytes sum.pb live)"
done

# This holds only if all files are of a format that omits an equal total. With other formats only the existing totals
# count.
total() { "$tool" merge --to rows -o total.csv "$@" 2> err; echo "$(bytes total.csv total) $(grep -c 'total: .* a total$' err)"; }
printf '%s\n' allocator,kind,stack,bytes tcmalloc,live,f,100 > live.csv
printf '%s\n' allocator,kind,stack,bytes tcmalloc,live,f,100 tcmalloc,total,f,300 > both.csv
for files in "live.csv both.csv" "both.csv live.csv" "eq1.heap both.csv" "both.csv eq1.heap" "live.csv eq2.heap" "eq2.heap live.csv"; do
  check "total of $files" "300 1" "$(total $files)"
  check "... one message says so" 1 "$(grep -c '^heapdump: tcmalloc, total: 1 heap merged, 1 of 2 files has a total$' err)"
done
check "two files with totals" "600 0" "$(total both.csv both.csv)"
check "eq1.heap and eq2.heap as rows" "400 0" "$(total eq1.heap eq2.heap)"
check "files without a total" " 0" "$(total eq1.heap live.csv)"

# Totals of many processes are found quickly, each for its own process.
awk 'BEGIN { print "process,pid,allocator,kind,stack,bytes"
  for (i = 1; i <= 40000; i++) printf "p,%d,malloc,live,f,1\np,%d,malloc,total,f,2\n", i, i }' > many.csv
check "totals of 40,000 processes" "80000 0" "$(total many.csv)"
check "... as fast as without totals" yes "$(
  grep -v total many.csv > fewer.csv
  took() { local s=$(date +%s%N); "$tool" merge --to rows -o took.csv "$1" 2> /dev/null; echo $((($(date +%s%N) - s) / 1000000)); }
  a=$(took fewer.csv) b=$(took many.csv); [ $b -lt $((4 * a + 300)) ] && echo yes || echo "$a ms, $b ms")"

# A format with one kind gets the live heap, and a message names the others.
"$tool" convert --to folded -o live.folded small.heaptrack 2> err
check "to folded: the live heap" "$(bytes small.heaptrack live)" "$(bytes live.folded live)"
check "... a message counts the other kinds" 1 "$(grep -c 'heaps of other kinds (3' err)"
"$tool" convert --to folded --kind peak -o peak.folded small.heaptrack 2> /dev/null
check "... --kind selects another kind" "$(bytes small.heaptrack peak)" "$(bytes peak.folded live)"

# A budget that is large enough lists all entries.
"$tool" convert --to chrome --output-bytes 100000 -o all.json doc-all.json
check "the table of the format's document: all 59 entries" 59 "$("$tool" info --json all.json | jq '.files[0].heaps[0].entries')"

# Functions of two builds are paired: objects by base name or as main programs, and paths after their differing
# prefix. changes FILES...: the rows of a diff as "function before after".
changes() { "$tool" diff --json --min-share 0 "$@" 2> /dev/null | jq -r '[.diffs[].rows[] | select(.depth > 0 and .name != "<self>" and .axis == "backtrace")
  | "\(.name | sub(" .*"; "")) \(.before) \(.after)"] | join(", ")'; }
names() { "$tool" tree --json "$1" 2> /dev/null | jq -r '[.heaps[0].rows[] | select(.depth > 0 and .name != "<self>" and .axis == "backtrace") | "\(.name) \(.bytes)"] | join(", ")'; }
grown() { "$tool" suspects --json "$@" 2> /dev/null | jq -r '.series | map((.suspects | map("\(.site) \(.growth)") | sort | join(" ")) + " rest \(.not_listed.growth // 0)") | join(", ")'; }
check "diff of two process names" "main 100 150, leak 100 150" "$(changes app-1.pb app-3.pb)"
check "suspects of two process names" "leak 50 rest 0" "$(grown app-1.pb app-3.pb)"
check "suspects of three dumps" "leak 50 rest 0" "$(grown app-1.pb app-1.pb app-3.pb)"
"$tool" merge -o two.pb app-1.pb app-3.pb 2> /dev/null
check "merge of two process names" "main (m.c:3) [app] 250, leak (m.c:7) [app] 250" "$(names two.pb)"

# Recordings of one program, built in two directories.
for v in 1 2; do
  mkdir -p tree$v/src/a tree$v/src/b
  printf '%s\n' '#include <stdlib.h>' 'void *fa(int), *fb(int);' \
    "int main(void) { void *volatile p[3]; p[0] = fa($v); p[1] = fb($v); p[2] = malloc(1000); return p[0] == p[1]; }" > tree$v/src/main.c
  for d in a b; do
    printf '%s\n' '#include <stdlib.h>' "static __attribute__((noinline)) void *util(int n) { void *volatile p = malloc(10000u * (unsigned)n); return p; }" \
      "void *f$d(int n) { void *volatile p = util(n); return p; }" > tree$v/src/$d/util.c
  done
  ${CC:-cc} -g -O0 -o tree$v/app$v "$PWD"/tree$v/src/{main.c,a/util.c,b/util.c}
  "$tool" record -o rec$v.json tree$v/app$v 2> /dev/null
done
check "diff of two builds' recordings" "main 21000 41000, fa 10000 20000, util 10000 20000, fb 10000 20000, util 10000 20000" "$(changes rec1.json rec2.json)"
check "suspects of two builds' recordings" "util 10000 util 10000 rest 0" "$(grown rec1.json rec2.json)"
"$tool" merge --to chrome -o rec.json rec1.json rec2.json 2> /dev/null
here=$PWD/tree1/src
check "merge of two builds' recordings" "main ($here/main.c:3) [app1] 62000, fa ($here/a/util.c:3) [app1] 30000, util ($here/a/util.c:2) [app1] 30000, fb ($here/b/util.c:3) [app1] 30000, util ($here/b/util.c:2) [app1] 30000" "$(names rec.json)"
check "the objects of the blocks are paired" 1 "$("$tool" diff --json --by type rec1.json rec2.json 2> /dev/null | jq '[.diffs[].rows[] | select(.depth == 1)] | length')"
check "check of two builds' recordings" 0 "$(status "$tool" check --max-growth 100 rec1.json rec2.json)"
check "diff of the peaks" "main 21000 41000, fa 10000 20000, util 10000 20000, fb 10000 20000, util 10000 20000" "$(changes --kind peak rec1.json rec2.json)"
check "diff --invert" "util 10000 20000" "$(changes --invert rec1.json rec2.json | grep -o '^util [0-9 ]*[0-9]')"

# pair NAME BEFORE AFTER CHANGES: diff of two files of stacks
pair() { printf '%s\n' "$2" > x.folded; printf '%s\n' "$3" > y.folded; check "$1" "$4" "$(changes --format folded x.folded y.folded)"; }
pair "headers of two compilers" $'main (/b/v1/s/main.c:1) [app];get (/usr/include/c++/12/vector:9) [app] 5\nmain (/b/v1/s/main.c:1) [app];f (/b/v1/s/f.c:2) [app] 6' \
  $'main (/b/v2/s/main.c:1) [app];get (/usr/include/c++/13/vector:9) [app] 7\nmain (/b/v2/s/main.c:1) [app];f (/b/v2/s/f.c:2) [app] 8' \
  "main 11 15, f 6 8, get 5 7"
pair "relative and absolute" 'main (src/main.c:1);f (src/a/f.c:2) 5' 'main (/w/src/main.c:1);f (/w/src/a/f.c:2) 6' "main 5 6, f 5 6"
pair "two files with one name, one in each build" 'main (/v1/main.c:1);init (/v1/a/util.c:2) 5' 'main (/v2/main.c:1);init (/v2/b/util.c:2) 6' \
  "main 5 6, init 0 6, init 5 0"
pair "a path that matches two others" 'f (/v1/util.c:2) 5' $'f (/v2/a/util.c:2) 6\nf (/v2/b/util.c:2) 7' "f 0 7, f 0 6, f 5 0"
pair "two files with one name stay separate" $'f (/v1/a/util.c:2) 5\nf (/v1/b/util.c:2) 3' $'f (/v2/a/util.c:2) 6\nf (/v2/b/util.c:2) 7' "f 3 7, f 5 6"
pair "only whole path components match" 'f (/v1/xutil.c:2) 5' 'f (/v2/util.c:2) 6' "f 0 6, f 5 0"
pair "main programs" 'main [app-1];f [app-1];g [libz.so.1] 5' 'main [app-2];f [app-2];g [libz.so.1] 6' "main 5 6, f 5 6, g 5 6"
pair "other objects are not paired" 'main [app-1];f [libold.so] 5' 'main [app-2];f [libnew.so] 6' "main 5 6, f 0 6, f 5 0"
pair "a library with the other program's name" 'main [app-1];f [app-2] 5' 'main [app-2];f [app-2] 6' "main 0 6, f 0 6, main 5 0, f 5 0"
pair "different directories within one source tree" $'main (/s/main.c:1);init (/s/a/util.c:2) 5' $'main (/s/main.c:1);init (/s/b/util.c:2) 6' \
  "main 5 6, init 0 6, init 5 0"
pair "... deeper in the tree" $'main (/s/c/main.c:1);init (/s/a/util.c:2) 5' $'main (/s/c/main.c:1);init (/s/b/util.c:2) 6' \
  "main 5 6, init 0 6, init 5 0"
pair "two checkouts, and sources of dependencies" $'main (/h/v1/main.c:1);init (/h/cache/x/y/util.c:2) 5' $'main (/h/v2/main.c:1);init (/h/cache/x/y/util.c:2) 6' \
  "main 5 6, init 5 6"
pair "paths in objects that are not paired" $'main [app];init (/v1/init.c:2) [libone.so] 5' $'main [app];init (/v2/init.c:2) [libtwo.so] 6' "main 5 6, init 0 6, init 5 0"
# both NAME FILE1 FILE2 WANT: merge of two files of stacks. Programs stay separate unless their sources are the same.
both() { printf '%s\n' "$2" > x.folded; printf '%s\n' "$3" > y.folded; "$tool" merge --format folded --to folded -o both.folded x.folded y.folded 2> /dev/null; check "merge: $1" "$4" "$(sort both.folded | paste -sd,)"; }
both "two programs" 'main [server];init [server] 5' 'main [client];init [client] 6' 'main [client];init [client] 6,main [server];init [server] 5'
both "two programs with sources" 'main (/w/server/main.c:3) [server];init (/w/server/util.c:2) [server] 5' 'main (/w/client/main.c:3) [client] 6' \
  'main (/w/client/main.c:3) [client] 6,main (/w/server/main.c:3) [server];init (/w/server/util.c:2) [server] 5'
both "two programs with one library" 'main (/w/server/main.c:3) [server];get (/b1/lib/get.c:2) [libget.so] 5' 'main (/w/client/main.c:3) [client];get (/b2/lib/get.c:2) [libget.so] 6' \
  'main (/w/client/main.c:3) [client];get (/b1/lib/get.c:2) [libget.so] 6,main (/w/server/main.c:3) [server];get (/b1/lib/get.c:2) [libget.so] 5'
both "two builds of one program" 'main (/w/main.c:3) [app];init [app] 5' 'main (/w/main.c:3) [app.new];init [app.new] 6' 'main (/w/main.c:3) [app];init [app] 11'
check "merge: 60 random pairs of programs keep every function" "" "$(python3 - "$tool" <<'PY'
import random, subprocess, sys
for seed in range(60):
    r, files, want = random.Random(seed), [], {}
    for program in ('server', 'client'):
        lines = []
        for i in range(r.randrange(1, 6)):
            frames = ['main (/%s/%s/main.c:1) [%s]' % (program[0], program, program)]
            frames += ['f%d (/%s/%s/%s.c:%d) [%s]' % (r.randrange(2), program[0], r.choice('ab'), r.choice('xyz'), r.randrange(1, 3), program)
                       for _ in range(r.randrange(3))]
            lines.append((';'.join(frames), r.randrange(1, 9)))
        for stack, size in lines:
            want[stack] = want.get(stack, 0) + size
        files.append('chance-%s.folded' % program)
        open(files[-1], 'w').write(''.join('%s %d\n' % line for line in lines))
    out = subprocess.run([sys.argv[1], 'merge', '--format', 'folded', '--to', 'folded', '-o', '-', *files], capture_output=True, text=True).stdout
    if sorted(out.splitlines()) != sorted('%s %d' % line for line in want.items()):
        print('seed', seed, out)
        break
PY
)"
printf 'main (/v1/m.c:1) [app];walk (/v1/m.c:2) [app];walk (/v1/m.c:2) [app];walk (/v1/m.c:2) [app];gone (/v1/m.c:3) [app] 9\n' > x.folded
printf 'main (/v2/m.c:1) [app2];walk (/v2/m.c:2) [app2] 2\n' > y.folded
check "diff shows recursion of the other build" 1 "$("$tool" diff x.folded y.folded 2> /dev/null | grep -c -- '-7 B.*main (m.c:1) › walk (m.c:2) ×3$')"

# Libraries with equal and different build ids and names. Each argument is NAME:BUILD_ID; the program is the first.
library() { PYTHONPATH=$root/tests/peers/lib python3 -B - "$@" <<'PY'
import sys
from pprof import Profile, number, message
p = Profile()
for i, (name, build_id) in enumerate((arg.split(':') for arg in sys.argv[3:]), 1):
    p.data += message(3, number(1, i), number(2, 0x1000 * i), number(3, 0x1000 * i + 0x1000), number(5, p.string('/lib/' + name)), number(6, p.string(build_id)))
    p.data += message(4, number(1, i), number(2, i), number(3, 0x1000 * i + 16), message(4, number(1, i), number(2, 7)))
    p.data += message(5, number(1, i), number(2, p.string('f%d' % i)), number(4, p.string('f.c')))
p.sample(range(len(sys.argv) - 3, 0, -1), int(sys.argv[2]))
p.write(sys.argv[1])
PY
}
library x.pb 5 app:a1 libz.so.1.2:b1 libq.so:c1
library y.pb 7 app:a2 libz.so.1:b1 libq.so:c2
check "diff: libraries with equal build ids are paired" "f1 5 7, f2 5 7, f3 5 7" "$(changes x.pb y.pb)"
"$tool" merge -o z.pb y.pb x.pb 2> /dev/null
check "merge: libraries with equal build ids are paired" "f1 (f.c:7) [app] 12, f2 (f.c:7) [libz.so.1] 12, f3 (f.c:7) [libq.so] 12" "$(names z.pb)"
library x.pb 5 app:a1 libz.so.1.2:b1
check "diff: libraries with different build ids and names are not paired" "f1 5 7, f2 0 7, f2 5 0" "$(library y.pb 7 app:a2 libz.so.1:b2; changes x.pb y.pb)"
exit $failed
