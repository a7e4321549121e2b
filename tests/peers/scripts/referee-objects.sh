#!/usr/bin/env bash
# Every figure, name and path on the screens of info, classes, retained, path, object, objects, strings, suspects and
# diff is recomputed by a program that shares no code with the tool. Inputs: V8, Dart and .NET CF files of tests/data
# and fuzz/seeds, random snapshots, and Node programs with a leak. FULL=1 takes all of them; SEED=N starts the random
# snapshots at N.
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
