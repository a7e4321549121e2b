#!/usr/bin/env bash
# Lines of diff, info, object, objects, retained and path: they fit the terminal, and no name is cut without need.
# Sizes have one style, plurals are right, each reference has its kind, and a pipe gets the same lists as a terminal.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/object-lines
rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 "$root/tests/peers/lib/object_lines.py" "$tool" "$root" || failed=1
exit $failed
