#!/usr/bin/env bash
# Every figure on the screens of tree, top, diff, suspects, info, pages and check, computed again by a program that
# shares no code with the tool: of files of tests and of fuzzing, random profiles, and recordings of real programs.
# FULL=1: all of them; SEED=N: random profiles from that one on.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3
work=$PWD/build/peers/referee
rm -rf "$work" && mkdir -p "$work"
if [ -n "${FULL-}" ]; then set -- --full --random 300 --programs 6; else set -- --random 60 --programs 3; fi
if python3 tests/peers/screens/referee.py "$tool" "$work" --data . --first "${SEED:-0}" "$@"; then
  pass "every printed figure is right"
else
  fail "printed figures are wrong: see above"
fi
exit $failed
