#!/usr/bin/env bash
# While binaries are read, each allocation fails in turn, including those in libdw. The tool gives its full answer, or
# ends with status 1 and a message, and leaves no file. It never crashes, and never mistakes the failure for missing
# debug information.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev
work=build/peers/memprof-memory source=$PWD/tests/peers/programs
rm -rf $work && mkdir -p $work
cd $work

gcc -O2 -shared -fPIC "$source/failing_malloc.c" -o failing.so
cat > program.c <<'END'
#include <stdlib.h>
static inline __attribute__((always_inline)) void *asked(size_t n) { return malloc(10 * n); }
static __attribute__((noinline)) void *made(size_t n) { return asked(n); }
int main(void) {
    for (size_t i = 1; i < 20; i++) free(made(i));
    return 0;
}
END
gcc -O1 -g -no-pie -fno-omit-frame-pointer -Wl,--build-id program.c -o program
"$tool" record --format memprof-raw -o program.raw -- ./program 2> err || fail "recording: $(cat err)"
"$tool" index --binary program -o program.memprof program.raw 2> err || fail "indexing: $(cat err)"

# swept HOW NAME COMMAND...: the output is `written` in its own directory. HOW is FAIL_ON=1 or empty
swept() {
  local on=$1 name=$2 n i s ended=0 went=0 wrong=
  shift 2
  mkdir -p made && rm -rf made/*
  FAIL_COUNT=count LD_PRELOAD=$PWD/failing.so "$tool" "$@" -o made/written 2> told
  mv made/written expected
  n=$(cat count)
  for i in $(seq 1 "$n"); do
    s=0
    env $on FAIL_AT=$i LD_PRELOAD=$PWD/failing.so "$tool" "$@" -o made/written > out 2> err || s=$?
    if [ $s = 0 ] && cmp -s made/written expected && cmp -s err told; then went=$((went + 1))
    elif [ $s = 1 ] && grep -qi 'out of memory\|cannot allocate memory' err; then ended=$((ended + 1))
    else wrong="$wrong $i:$s"; fi
    rm -f made/written
    [ -z "$(ls made)" ] || { wrong="$wrong $i:left" && rm -f made/*; }
  done
  [ "$n" -gt 50 ] && [ $ended -gt $((n / 2)) ] || wrong="$wrong only $ended of $n"
  check "$name, each of $n allocations failing${on:+ with all after it}: $ended times status 1, $went times the full answer" "" "$wrong"
}

swept "" memprof memprof --binary program program.raw
swept FAIL_ON=1 memprof memprof --binary program program.raw
swept "" index index --binary program program.raw
swept "" tree tree --binary program --min-bytes 1 program.raw
swept "" "memprof --hints" memprof --hints --binary program program.memprof
exit $failed
