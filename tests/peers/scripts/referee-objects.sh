#!/usr/bin/env bash
# Every figure, name and path on the screens of info, classes, retained, path, object, objects, strings, suspects and diff,
# computed again by a program that shares no code with the tool: of V8, Dart and .NET CF in tests/data and fuzz/seeds, of
# random snapshots, and of Node programs with a leak. FULL=1: all of them; SEED=N: random snapshots from that one on.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/referee-objects
rm -rf "$work" && mkdir -p "$work"
if [ -n "${FULL-}" ]; then set -- --full --random 200 --leaks -1; else set -- --random 40 --leaks 1; fi
if python3 tests/peers/screens/graphs/graph_referee.py "$tool" "$work" --data . --first "${SEED:-0}" "$@"; then
  pass "every printed figure of objects is right"
else
  fail "printed figures of objects are wrong: see above"
fi
exit $failed
