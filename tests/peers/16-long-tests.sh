#!/usr/bin/env bash
# The tests that `make test` goes through a part of, in full: tests/long.h.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc libc6-dev libcmocka-dev libstb-dev pkg-config
mkdir -p build/peers/long
for source in $(grep -l '#include "long.h"' tests/test_*.c); do
  for variant in plain asan; do
    program=build/tests/$variant/$(basename "$source" .c)
    make --no-print-directory "$program" > build/peers/long/make.log 2>&1 || { cat build/peers/long/make.log; fail "$program"; continue; }
    if HEAPDUMP_LONG=1 ASAN_OPTIONS=detect_leaks=1 "$program" > build/peers/long/log 2>&1; then pass "$program"
    else tail -n 40 build/peers/long/log; fail "$program"; fi
  done
done
exit $failed
