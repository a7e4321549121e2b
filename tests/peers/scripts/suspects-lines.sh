#!/usr/bin/env bash
# Lines of heapdump suspects: on a narrow terminal a path keeps the variable's name. Equal class names in two
# libraries are distinguished. A list begins with an object of the program, and shows only its own growth.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/suspects-lines
rm -rf "$work" && mkdir -p "$work"
cp tests/data/garbage.netcf.txt "$work"
peers=$PWD/tests/peers/lib
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$peers/suspects_lines.py" "$tool" || failed=1
exit $failed
