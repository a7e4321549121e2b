#!/usr/bin/env bash
# heapdump suspects and path on lists, trees and other graphs of known shape: each has the right word, and one length in all
# commands. FULL=1: trees of 200,000 objects.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/suspects-shapes
rm -rf "$work" && mkdir -p "$work"
peers=$PWD/tests/peers/lib
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_shapes.py" "$tool" ${FULL:+200000} || failed=1
exit $failed
