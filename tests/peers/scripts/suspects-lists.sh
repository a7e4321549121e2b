#!/usr/bin/env bash
# heapdump suspects and path on lists with alternating classes, and on snapshots with missing references. FULL=1:
# lists of a million objects.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
need valgrind || true
work=$PWD/build/peers/suspects-lists
rm -rf "$work" && mkdir -p "$work"
peers=$PWD/tests/peers/lib
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_lists.py" "$tool" ${FULL:+1000000} || failed=1
exit $failed
