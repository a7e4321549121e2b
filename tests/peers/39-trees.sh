#!/usr/bin/env bash
# What trees on a terminal say adds up, whatever is folded and nested in them; see trees.py.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3
work=$PWD/build/peers/trees
rm -rf "$work" && mkdir -p "$work"
python3 tests/peers/trees.py "$tool" "$work" || failed=1
exit $failed
