#!/usr/bin/env bash
# diff of snapshots, object by object and class by class: all figures are those of brute force, on random snapshots.
# More than 1 % of the common ids with another class, type or name: by class, and one line says why.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3
root=$PWD work=$PWD/build/peers/objects-diff
rm -rf "$work" && mkdir -p "$work" && cd "$work"
check "random pairs of snapshots" "" "$(python3 "$root/tests/peers/objects_diff.py" "$tool" ${FULL:+600} 2>&1 | tail -n 5)"
exit $failed
