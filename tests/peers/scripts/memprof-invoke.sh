#!/usr/bin/env bash
# memprof --hints where clang uses `invoke` for operator new because an exception must destroy an object: compared
# with the IR of clang 19 and 22.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
[ "$(uname -m)" = x86_64 ] || skip "the runtime is for x86-64"
need clang-22 llvm-22 libclang-rt-22-dev || skip "clang-22 cannot be installed"
work=build/peers/memprof-invoke source=$PWD/tests/peers
rm -rf $work && mkdir -p $work
cd $work
flags="-O2 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls"
cold="-mllvm -memprof-ave-lifetime-cold-threshold=0 -mllvm -memprof-lifetime-access-density-cold-threshold=1000"
clang++-22 $flags -fmemory-profile -no-pie -Wl,--build-id "$source/programs/memprof_invoke.cc" -o program

# Arguments: numbers of logs, tables and late blocks, then whether logs are read.
for run in "10 5 0" "40 50 30" "10 5 3 1" "0 5 0"; do
  MEMPROF_OPTIONS=log_path=$PWD/run:print_text=0 ./program $run > out
  mv run.* "$run.raw"
  for release in 19 22; do
    [ $release = 22 ] || need clang-19 || { echo "SKIP: clang-19 cannot be installed"; continue; }
    "$tool" index --like $release --memprof-version 3 --binary program -o used.memprof "$run.raw" 2> err || fail "index: $(tail -n 1 err)"
    clang++-$release $flags -fmemory-profile-use=used.memprof $cold "$source/programs/memprof_invoke.cc" -S -emit-llvm -o used.ll
    "$tool" memprof --hints --clang $release --cold-lifetime 0 --cold-density 1000 --json --binary program used.memprof > hints.json
    check "$run: clang $release uses invoke for operator new" yes "$(grep -q 'invoke.*@_Zn[aw]' used.ll && echo yes)"
    if told=$(python3 "$source/lib/memprof_index.py" hints hints.json used.ll); then pass "$run: --hints agrees with clang $release: $told"
    else fail "$run: --hints and clang $release: $told"; fi
  done
done
exit $failed
