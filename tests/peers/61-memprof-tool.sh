#!/usr/bin/env bash
# heapdump memprof against llvm-profdata: programs compiled with -fmemory-profile, their records field by field.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3 jq
work=build/peers/memprof-tool
rm -rf $work && mkdir -p $work
records=$PWD/tests/peers/memprof_records.py source=$PWD/tests/peers
cd $work

# compile COMPILER SOURCE NAME OPTIONS...
compile() {
  "$1" -O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
    -fno-optimize-sibling-calls -fmemory-profile -Wl,-build-id -no-pie -pthread "${@:4}" "$2" -o "$3"
}

# compare VERSION NAME: what the program of that name recorded
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
for v in 19 16; do
  if ! need clang-$v llvm-$v libclang-rt-$v-dev; then
    echo "SKIP: clang-$v cannot be had"
    continue
  fi
  any=1
  compile clang-$v $source/memprof_small.c small-$v
  compare $v small-$v
  compile clang++-$v $source/memprof_inline.cc inline-$v
  compare $v inline-$v
  compile clang++-$v $source/memprof_inline.cc inline-$v-full -g -O2
  compare $v inline-$v-full
done
[ "$any" ] || skip "no clang that writes MemProf profiles"
if [ -x inline-19 ]; then
  compile clang++-19 $source/memprof_inline.cc histogram-19 -mllvm -memprof-histogram
  compare 19 histogram-19
  # several profiles in one file, and a debug file apart
  cat small-19.raw.* small-19.raw.* > twice.raw
  check "two profiles in a file add up" "$("$tool" info --json small-19.raw.* | jq '.files[0].profiles[0].totals.AllocCount * 2')" \
    "$("$tool" merge -o sum.raw twice.raw 2> err && "$tool" info --json sum.raw | jq '.files[0].profiles[0].totals.AllocCount')"
  if need binutils; then
    objcopy --only-keep-debug inline-19 inline-19.debug
    cp inline-19 stripped
    objcopy --strip-debug --add-gnu-debuglink=inline-19.debug stripped
    "$tool" memprof --binary stripped inline-19.raw.* > stripped.ours 2> err
    check "debug information in a file of its own" "" "$(diff stripped.ours inline-19.ours | head -n 3)"
  fi
  "$tool" memprof inline-19.raw.* > plain
  check "without a binary, frames are places in modules" 0 "$(grep -c 'SymbolName: [^+]*$' plain || true)"
  check "a binary of another build names nothing" "0 1" \
    "$("$tool" memprof --binary small-19 inline-19.raw.* 2> err | grep -c SymbolName || true) $(grep -c 'no call stack leads through' err)"
  check "tree names inlined functions" 1 \
    "$("$tool" tree --binary inline-19 --min-bytes 1 inline-19.raw.* | grep -c 'Ring<double, 7>::fill() (memprof_inline.cc:17)')"
  check "--json has the same" "$(grep -c SymbolName inline-19.ours)" \
    "$("$tool" memprof --binary inline-19 --json inline-19.raw.* 2> err | jq '[.. | .SymbolName? // empty] | length')"
fi
exit $failed
