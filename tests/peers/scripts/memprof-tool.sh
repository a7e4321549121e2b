#!/usr/bin/env bash
# heapdump memprof against llvm-profdata: records of programs compiled with -fmemory-profile, field by field.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq gcc g++
work=build/peers/memprof-tool
rm -rf $work && mkdir -p $work
records=$PWD/tests/peers/lib/memprof_records.py source=$PWD/tests/peers
cd $work

# compile COMPILER SOURCE NAME OPTIONS...
compile() {
  "$1" -O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
    -fno-optimize-sibling-calls -fmemory-profile -Wl,-build-id -no-pie -pthread "${@:4}" "$2" -o "$3"
}

# compare VERSION NAME: compares the records of that program
compare() {
  local told
  if ! MEMPROF_OPTIONS=log_path=$PWD/$2.raw:print_text=0 ./$2 ||
     ! "llvm-profdata-$1" show --memory $2.raw.* --profiled-binary $2 > $2.llvm 2> err; then
    fail "clang $1, $2: $(head -n 1 err)"
    return
  fi
  "$tool" memprof --binary $2 $2.raw.* > $2.ours 2> $2.err || fail "$2: $(head -n 1 $2.err)"
  if told=$(python3 "$records" $2.ours $2.llvm); then pass "clang $1, $2: $told"; else fail "clang $1, $2: $told"; fi
}

any=
for v in 22 19 16; do
  if ! need clang-$v llvm-$v libclang-rt-$v-dev; then
    echo "SKIP: clang-$v cannot be installed"
    continue
  fi
  any=1
  compile clang-$v $source/programs/memprof_small.c small-$v
  compare $v small-$v
  compile clang++-$v $source/programs/memprof_inline.cc inline-$v
  compare $v inline-$v
  compile clang++-$v $source/programs/memprof_inline.cc inline-$v-full -g -O2
  compare $v inline-$v-full
done
[ "$any" ] || skip "no clang with MemProf can be installed"
if [ -x inline-19 ]; then
  compile clang++-19 $source/programs/memprof_inline.cc histogram-19 -mllvm -memprof-histogram
  compare 19 histogram-19
  compile clang++-19 $source/programs/memprof_inline.cc packed-19 -gz=zstd
  compare 19 packed-19
  # Several profiles in one file, and a separate debug file.
  cat small-19.raw.* small-19.raw.* > twice.raw
  check "two profiles in one file add up" "$("$tool" info --json small-19.raw.* | jq '.files[0].profiles[0].totals.AllocCount * 2')" \
    "$("$tool" merge -o sum.raw twice.raw 2> err && "$tool" info --json sum.raw | jq '.files[0].profiles[0].totals.AllocCount')"
  "$tool" convert --to memprof-raw --memprof-version 3 -o three.raw small-19.raw.* 2> err
  "$tool" merge -o sum.raw small-19.raw.* three.raw 2> err
  check "fields that one profile lacks are left out, and a message says so" "AccessHistogramSize, AccessHistogram, 3" \
    "$(sed -n 's/.*missing in some profiles are left out: \(.*\)/\1/p' err), $("$tool" info --json sum.raw | jq '.files[0].profiles[0].version')"
  check "raw profiles before version 3 cannot be merged with later ones" "1 1" \
    "$(status "$tool" merge -o none.raw ../../../tests/data/memprof-16.raw small-19.raw.*) $(grep -c 'version 4 to profiles of versions 1 and 2' err)"
  check "... and the message gives the command that can merge both" 1 "$(grep -c '^heapdump: try merge --to memprof-index --binary FILE' err)"
  gzip -c ../../../tests/data/memprof-16.raw > older.raw.gz
  check "... for a packed file, too" "1 1" "$(status "$tool" merge -o none.raw small-19.raw.* older.raw.gz) $(grep -c '^heapdump: try merge --to memprof-index' err)"
  if [ -x small-16 ]; then
    check "... and that command works" 0 "$(status "$tool" merge --to memprof-index --binary small-16 --binary small-19 -o both.memprof small-16.raw.* small-19.raw.*)"
  fi
  if need binutils; then
    objcopy --only-keep-debug inline-19 inline-19.debug
    cp inline-19 stripped
    objcopy --strip-debug --add-gnu-debuglink=inline-19.debug stripped
    "$tool" memprof --binary stripped inline-19.raw.* > stripped.ours 2> err
    check "a separate debug file" "" "$(diff stripped.ours inline-19.ours | head -n 3)"
  fi
  "$tool" memprof inline-19.raw.* > plain
  check "without --binary, frames are module and offset" 0 "$(grep -c 'SymbolName: [^+]*$' plain || true)"
  check "a binary of another build gives no names" "0 1" \
    "$("$tool" memprof --binary small-19 inline-19.raw.* 2> err | grep -c SymbolName || true) $(grep -c 'no call stack has a frame in it' err)"
  check "tree names inlined functions" 1 \
    "$("$tool" tree --frames all --binary inline-19 --min-bytes 1 inline-19.raw.* | grep -c 'Ring<double, 7>::fill() (.*memprof_inline.cc:17)')"
  check "memprof --json has the same number of frames" "$(grep -c SymbolName inline-19.ours)" \
    "$("$tool" memprof --binary inline-19 --json inline-19.raw.* 2> err | jq '[.. | .SymbolName? // empty] | length')"
fi

# Programs without instrumentation, recorded by heapdump: the sizes equal those that MemProf records of the same
# programs.
plain() { "$1" -O1 -g -no-pie -fno-omit-frame-pointer -pthread -Wl,--build-id "$source/programs/$2" -o "$3"; }
plain gcc memprof_small.c small
plain g++ memprof_inline.cc inline
for p in small inline; do
  "$tool" record --format memprof-raw -o $p.memprofraw -- ./$p 2> err || fail "recording $p: $(cat err)"
  "$tool" memprof --binary $p $p.memprofraw > $p.ours 2> err
  if command -v llvm-profdata-19 > /dev/null; then
    check "llvm-profdata reads our recording of $p" 0 "$(status llvm-profdata-19 show --memory $p.memprofraw --profiled-binary $p)"
    cp out $p.llvm
    if told=$(python3 "$records" $p.ours $p.llvm); then pass "... and shows the same records: $told"; else fail "$p: $told"; fi
  fi
done
# Sizes between 200 and 999 bytes are libc's own allocations for a thread.
check "sizes of freed and live blocks" "[3,168,56,56] [19,1900,10,190] [1,1000,1000,1000]" "$("$tool" memprof --json --binary small small.memprofraw 2> err |
  jq -rc '[.Records[] | select(.Function == "make" or .Function == "main" or .Function == "work")] |
    map([.AllocSites[].MemInfoBlock | select(.MaxSize < 200 or .MaxSize > 999) | [.AllocCount, .TotalSize, .MinSize, .MaxSize]] |
      [(map(.[0]) | add), (map(.[1]) | add), (map(.[2]) | min), (map(.[3]) | max)]) | [.[1], .[0], .[2]] | map(tostring) | join(" ")')"
if [ -x inline-19 ]; then
  plain clang++-19 memprof_inline.cc inline
  "$tool" record --format memprof-raw -o inline.memprofraw -- ./inline 2> err
  # MemProf follows frame pointers and loses stacks through libraries without them: only our recording has these.
  asked() {
    "$tool" memprof --json --binary "$@" 2> err | jq -r '[.Records[].AllocSites[] |
      [.Callstack[].SymbolName, (.MemInfoBlock | .AllocCount, .TotalSize, .MinSize, .MaxSize)]] | .[] | tostring' | sort
  }
  asked inline-19 inline-19.raw.* > theirs
  asked inline inline.memprofraw > all
  check "MemProf's $(wc -l < theirs) allocation sites are all in our recording" "" "$(comm -13 all theirs | head -n 3)"
fi
cat > lives.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>
char *volatile p, *volatile q;
static __attribute__((noinline)) void *keep(int n) { return malloc(n); }
int main(void) {
  p = keep(100);
  for (int i = 0; i < 2; i++) { q = malloc(10); usleep(60000); free(q); }
  return 0;
}
EOF
gcc -O0 -g -no-pie lives.c -o lives
"$tool" record --format memprof-raw -o lives.raw -- ./lives 2> err
check "lifetimes of freed and live blocks" "true true true" "$("$tool" memprof --json --binary lives lives.raw 2> err | jq -r '
  [.Records[].AllocSites[].MemInfoBlock] | (map(select(.MaxSize == 10))[0]) as $freed | (map(select(.MaxSize == 100))[0]) as $live |
  "\($freed.AllocCount == 2 and $freed.MinLifetime >= 59 and $freed.TotalLifetime >= $freed.MinLifetime + $freed.MaxLifetime)" +
  " \($live.TotalLifetime >= $freed.TotalLifetime)" + " \($live.DeallocTimestamp - $live.AllocTimestamp == $live.TotalLifetime)"')"
"$tool" record --format memprof-raw -o both.raw -- sh -c './small; ./small; :' 2> err
check "child processes are in the file and add up" "6" \
  "$("$tool" merge both.raw -o sum.raw 2> err && "$tool" memprof --binary small --json sum.raw 2> err | jq '[.Records[] | select(.Function == "make").AllocSites[].MemInfoBlock.AllocCount] | add')"
cat > forks.c <<'EOF'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
char *volatile p;
int main(void) {
  for (int i = 0; i < 5; i++) { p = malloc(3001); free(p); }
  if (!fork()) { p = malloc(3002); free(p); exit(0); }
  wait(NULL);
  return 0;
}
EOF
gcc -O0 -g -no-pie forks.c -o forks
"$tool" record --format memprof-raw -o forks.raw -- ./forks 2> err
sizes() { "$tool" memprof --json --binary forks "$1" 2> err | jq -rc '[.Records[].AllocSites[].MemInfoBlock | select(.MaxSize > 3000 and .MaxSize < 3010) | [.AllocCount, .MaxSize]]'; }
check "blocks freed before a fork count only in the parent's profile" "[[5,3001],[1,3002]]" "$(sizes forks.raw)"
cat > late.c <<'EOF'
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  if (!fork()) {
    void *plugin = dlopen("./late.so", RTLD_NOW), *(*make)(void);
    if (!plugin || !(make = (void *(*)(void))dlsym(plugin, "late_make"))) exit(1);
    make();
    exit(0);
  }
  wait(NULL);
  return 0;
}
EOF
gcc -O1 -g -shared -fPIC -Wl,--build-id -DNAME=late_make -DKEEP=4321 $source/programs/hard_plugin.c -o late.so
gcc -O0 -g late.c -o late
"$tool" record --format memprof-raw -o late.raw -- ./late 2> err
check "a library loaded in a forked child has its segment" "[1,4321]" "$("$tool" memprof --json --binary late.so late.raw 2> err |
  jq -c '.Records[] | select(.Function == "late_make").AllocSites[].MemInfoBlock | select(.MaxSize == 4321) | [.AllocCount, .TotalSize]')"
cat > killed.c <<'EOF'
#include <signal.h>
#include <stdlib.h>
char *volatile p;
int main(void) {
  for (int i = 1; i <= 4; i++) { p = malloc(5000 + i); free(p); }
  return raise(SIGKILL);
}
EOF
gcc -O0 -g -no-pie killed.c -o killed
check "a killed program's recording is complete" "137 1 [[4,5001,5004]]" "$(status "$tool" record --format memprof-raw -o killed.raw -- ./killed) $("$tool" info --json killed.raw | jq '.files[0].profiles | length') $(
  "$tool" memprof --json --binary killed killed.raw 2> err | jq -c '[.Records[].AllocSites[].MemInfoBlock | select(.MaxSize > 5000 and .MaxSize < 5010) | [.AllocCount, .MinSize, .MaxSize]]')"
check "--sample is refused for MemProf" 2 "$(status "$tool" record --format memprof-raw --sample 512k -- true)"
check "--at is refused for MemProf" 2 "$(status "$tool" record --format memprof-raw --at signal -- true)"
check "an unknown --format is refused" 2 "$(status "$tool" record --format pprof -- true)"
gcc -O1 -g -pthread $source/programs/hard_fork.c -o hard_fork 2> err &&
  check "forks while threads allocate: status 0" 0 "$(status timeout 900 "$tool" record --format memprof-raw -o fork.raw -- ./hard_fork)"
exit $failed
