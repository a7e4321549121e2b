#!/usr/bin/env bash
# heapdump suspects on V8 snapshots whose answer is known: suspects_graph.py
# makes each, and checks figures and paths; suspects_spread.py those whose growth is spread over many objects.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3
work=$PWD/build/peers/suspects-graph
rm -rf "$work" && mkdir -p "$work"
peers=$PWD/tests/peers
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_graph.py" "$tool" || failed=1
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_spread.py" "$tool" || failed=1
exit $failed
