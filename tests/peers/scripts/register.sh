#!/usr/bin/env bash
# The register and a plain map give the same answers to the same operations: allocations of real programs, and random
# ones. FULL=1 runs a hundred million random operations and all programs of the register's benchmark, which takes
# minutes.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev libcmocka-dev libstb-dev pkg-config python3 sqlite3
work=$PWD/build/peers/register
rm -rf "$work" && mkdir -p "$work"
trap 'rm -rf "$work"/register_traces' EXIT
gcc -O2 -shared -fPIC bench/register_trace.c -o "$work/libregister_trace.so" -ldl
made build/tests/plain/test_register_random
if [ -n "${FULL:-}" ]; then
  need gcc redis-server redis-tools nodejs || true
  operations=100000000 only=
else
  operations=4000000 only=sqlite3
fi
bench/register_traces.py --build "$work" --only "$only" --record
HEAPDUMP_TRACES=$work/register_traces HEAPDUMP_OPERATIONS=$operations build/tests/plain/test_register_random > "$work/out" 2> "$work/err" || {
  fail "the register differs from the map: $work/err"; tail -20 "$work/err"; }
while IFS= read -r line; do pass "$line"; done < <(grep operations "$work/out")
check "replayed and random operations, each compared with a map" ok "$([ "$(grep -c operations "$work/out")" -ge 3 ] && echo ok)"
exit $failed
