#!/usr/bin/env bash
# Lines of diff, info, object, objects, retained and path: within the terminal, no name cut that has room, sizes in one
# style, one or many, the kind of each reference, and lists in a pipe as on a terminal.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/object-lines
rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 "$root/tests/peers/lib/object_lines.py" "$tool" "$root" || failed=1
exit $failed
