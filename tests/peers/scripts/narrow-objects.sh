#!/usr/bin/env bash
# Objects on narrow terminals: class names are shortened with "…", ids of any length fit, and adjacent omissions are
# merged into one. Also: indices in sparse arrays, the same class name in all lists of a diff, and no path twice.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/narrow-objects
rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 "$root/tests/peers/lib/narrow_objects.py" "$tool" "$root" || failed=1
exit $failed
