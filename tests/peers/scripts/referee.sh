#!/usr/bin/env bash
# Every figure on the screens of tree, top, diff, suspects, info, pages and check is recomputed by a program that
# shares no code with the tool. Inputs: files of the tests and fuzzers, random profiles, and recordings of real
# programs. FULL=1 takes all of them; SEED=N starts the random profiles at N.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/referee
rm -rf "$work" && mkdir -p "$work"
if [ -n "${FULL-}" ]; then set -- --full --random 300 --programs 6; else set -- --random 60 --programs 3; fi
if python3 tests/peers/screens/referee.py "$tool" "$work" --data . --first "${SEED:-0}" "$@"; then
  pass "every printed figure is right"
else
  fail "printed figures are wrong: see above"
fi

# All screens of files that once had a wrong figure: order on a terminal, values within values, a NUL in a name,
# rounded errors, hidden frames of dumps that are not shown. Also: a peak shown for an empty heap, entries without
# their ancestors, and stacks only of helpers.
seeds=fuzz/seeds/fuzz_pprof
if python3 tests/peers/screens/referee.py "$tool" "$work" --random 0 --programs 0 --full --files \
  tests/data/screens/python3.json.xz fuzz/seeds/fuzz_rows/{parts,dumps}.csv fuzz/seeds/fuzz_chrome/old.json \
  fuzz/seeds/fuzz_heap_text/442b18dca3bf98803be16f744edc2212709eaf75 \
  $seeds/{230a9ccd341f71061e066c6729971d5ca6114118,204a468d0cf1e27494fa8634e2e3f27c643add1c} \
  $seeds/{5137cb03bae698d13e816ff5de4b6ddb13c5be3a,0c56f5936a493f4437997e4c39c6a19e0cf2fe95} \
  $seeds/{f8d07a7291e7db5fac5d6c0a67848eb565249c06,054b6a353a4f84afab1c75857854e48868cd333c}; then
  pass "all screens of files that once had a wrong figure"
else
  fail "screens of files that once had a wrong figure: see above"
fi
exit $failed
