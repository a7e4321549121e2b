#!/usr/bin/env bash
# Raw profiles of programs compiled by clang 14, 16, 19 and 22, against llvm-profdata of the same version. All
# allocation sites of all functions are compared, frame by frame and block field by block field. Our side resolves
# names with llvm-symbolizer, through the library's hook. llvm-profdata 14 shows no blocks.
#
# Also the reverse: writing a profile back gives the same bytes. Merging two dumps of one process equals
# llvm-profdata's reading of a file with both. llvm-profdata 19 reads our merge of several processes as we do.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must gcc libstb-dev python3 binutils
work=$PWD/build/peers/memprof
rm -rf "$work" && mkdir -p "$work"
tool=$work/memprof_tool
linked "$tool" tests/peers/programs/memprof_tool.c -O2

for f in tests/data/memprof-*.raw; do check "$f: written back, the bytes are the same" identical "$("$tool" same "$f")"; done

# A big-endian machine reads, byte-swaps and merges the files to the same bytes. The compiler is clang, because gcc
# for s390x and gcc-multilib exclude each other.
if need clang binutils-s390x-linux-gnu libc6-dev-s390x-cross libgcc-12-dev-s390x-cross qemu-user; then
  clang --target=s390x-linux-gnu -isystem /usr/s390x-linux-gnu/include -std=gnu11 -O1 -w -static \
    $(pkg-config --cflags stb 2>/dev/null || echo -I/usr/include/stb) tests/peers/programs/memprof_tool.c -o "$tool-s390x" -lpthread
  for f in tests/data/memprof-*.raw; do
    "$tool" swap "$work/swapped" "$f"
    qemu-s390x "$tool-s390x" swap "$work/swapped-s390x" "$f"
    check "$f on s390x: written back and byte-swapped" "identical identical same" \
      "$(qemu-s390x "$tool-s390x" same "$f") $(qemu-s390x "$tool-s390x" same "$work/swapped") $(cmp -s "$work/swapped" "$work/swapped-s390x" && echo same)"
    "$tool" merge "$work/merged" "$f" "$work/swapped"
    qemu-s390x "$tool-s390x" merge "$work/merged-s390x" "$f" "$work/swapped"
    check "$f on s390x: merged with itself" same "$(cmp -s "$work/merged" "$work/merged-s390x" && echo same)"
  done
else
  echo "SKIP: no compiler for s390x, or qemu, can be installed here"
fi

[ "$(uname -m)" = x86_64 ] || skip "the runtime is for x86-64"

flags="-g -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
  -fmemory-profile -Wl,-build-id -no-pie"

# run NAME VERSION: writes NAME.raw
run() {
  rm -f "$work/$1".raw.*
  MEMPROF_OPTIONS=log_path="$work/$1".raw:print_text=0:${3:-} "$work/$1" > /dev/null
  mv "$work/$1".raw.* "$work/${4:-$1}.raw"
}

# records FILE BINARY VERSION OUT: writes our reading
records() {
  "$tool" addresses "$1" > "$4.addresses"
  python3 tests/peers/lib/memprof.py table "$4.addresses" "$2" llvm-symbolizer-"$3" > "$4.table"
  "$tool" records "$1" "$4.table" > "$4.records"
}

# shown NAME FILE BINARY VERSION [RECORDS OF]: compares our reading with llvm-profdata's
shown() {
  local of=${5:-$2} out=$work/$1.shown
  records "$of" "$3" "$4" "$out"
  llvm-profdata-"$4" show --memory "$2" --profiled-binary "$3" > "$out.yaml" 2> "$out.err" ||
    { fail "$1: llvm-profdata: $(head -n 1 "$out.err")"; return; }
  python3 tests/peers/lib/memprof.py compare "$out.records" "$out.yaml" > "$out.result" && pass "$1: $(cat "$out.result")" ||
    fail "$1: $(cat "$out.result")"
}

for version in 14 16 19 22; do
  need clang-$version llvm-$version libclang-rt-$version-dev libstdc++-12-dev || { echo "SKIP: clang $version cannot be installed here"; continue; }
  for program in small threads recursion templates; do
    source=tests/peers/programs/memprof_$program.cc
    [ -f "$source" ] || source=tests/peers/programs/memprof_$program.c
    for optimise in -O0 -O2; do
      name=$program$optimise-$version
      clang-$version $flags $optimise "$source" -o "$work/$name" -lstdc++ -lpthread
      run "$name" $version
      check "$name: written back, the bytes are the same" identical "$("$tool" same "$work/$name.raw")"
      case $version in
        14) echo "     $("$tool" facts "$work/$name.raw")" ;;
        *) shown "$name" "$work/$name.raw" "$work/$name" $version ;;
      esac
    done
  done
done

if command -v clang-19 llvm-profdata-19 > /dev/null; then
  name=histogram-19
  clang-19 $flags -O1 -mllvm -memprof-histogram -mllvm -memprof-use-callbacks=true tests/peers/programs/memprof_threads.cc -o "$work/$name" -lstdc++ -lpthread
  run $name 19 histogram=1
  check "$name: written back, the bytes are the same" identical "$("$tool" same "$work/$name.raw")"
  shown $name "$work/$name.raw" "$work/$name" 19

  # Merging two dumps of one process, with and without histograms.
  for name in histogram-19 threads-O2-19 recursion-O2-19; do
    cat "$work/$name.raw" "$work/$name.raw" > "$work/$name.twice"
    check "$name twice: written back, the bytes are the same" identical "$("$tool" same "$work/$name.twice")"
    "$tool" merge "$work/$name.merged" "$work/$name.twice"
    [ $name = histogram-19 ] || # llvm-profdata 19 frees histograms twice when it merges them, and aborts
      shown "$name twice, merged" "$work/$name.twice" "$work/$name" 19 "$work/$name.merged"
    shown "$name twice, merged and shown" "$work/$name.merged" "$work/$name" 19
  done

  # Several processes whose libraries have different addresses.
  name=templates-O2-19
  for i in 1 2 3 4 5; do run $name 19 "" "$name.$i"; done
  "$tool" merge "$work/$name.merged" "$work/$name".[1-5].raw
  echo "     $("$tool" facts "$work/$name.1.raw"), of five: $("$tool" facts "$work/$name.merged")"
  shown "five processes, merged" "$work/$name.merged" "$work/$name" 19

  "$tool" convert "$work/$name.3" 3 "$work/$name.raw" # the version of clang 17 and 18
  shown "as version 3" "$work/$name.3" "$work/$name" 19
  "$tool" swap "$work/$name.big" "$work/$name.raw"
  check "in the other byte order: written back, the bytes are the same" identical "$("$tool" same "$work/$name.big")"
  "$tool" swap "$work/$name.little" "$work/$name.big"
  check "... and swapped back" same "$(cmp -s "$work/$name.little" "$work/$name.raw" && echo same)"
fi
exit $failed
