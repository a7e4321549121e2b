#!/usr/bin/env bash
# Objects on narrow terminals: classes are cut with "…", ids of any length have room, and omissions side by side are one.
# Places in sparse arrays. One name of a class in all lists of a diff, and no way twice.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/narrow-objects
rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 "$root/tests/peers/lib/narrow_objects.py" "$tool" "$root" || failed=1
exit $failed
