#!/usr/bin/env bash
# The whole tests of which `make test` runs only a part: see tests/long.h.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev libcmocka-dev libstb-dev pkg-config
mkdir -p build/peers/long
long=$(grep -l '#include "long.h"' tests/test_*.c)
programs=$(echo "$long" | sed 's|tests/\(.*\)\.c|build/tests/plain/\1 build/tests/asan/\1|')
programs+=" $(grep -l '^/\* threads' $long | sed 's|tests/\(.*\)\.c|build/tests/tsan/\1|')"
made -k $programs > build/peers/long/make.log 2>&1 || { cat build/peers/long/make.log; fail "a test does not compile"; }
for program in $programs; do
  if HEAPDUMP_LONG=1 ASAN_OPTIONS=detect_leaks=1 "$program" > build/peers/long/log 2>&1; then pass "$program"
  else tail -n 40 build/peers/long/log; fail "$program"; fi
done
exit $failed
