#!/usr/bin/env bash
# heapdump suspects on V8 snapshots with known answers. suspects_graph.py makes each snapshot and checks figures and
# paths. suspects_spread.py has growth that is spread over many objects, and suspects_by_class.py has classes, lists
# and wording.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/suspects-graph
rm -rf "$work" && mkdir -p "$work"
root=$PWD peers=$PWD/tests/peers/lib
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_graph.py" "$tool" || failed=1
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_spread.py" "$tool" || failed=1
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_by_class.py" "$tool" "$root" || failed=1
exit $failed
