#!/usr/bin/env bash
# What people see on terminals of two sizes, of recordings of six real programs and two graphs, as a terminal emulator
# shows it: as tests/data/screens has it, within the screen, no line broken. `screens.sh update` writes these texts
# anew: look at them before you keep them.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 python3-pyte      # of Debian, which another python3 in the PATH does not see
work=$PWD/build/peers/screens
rm -rf "$work" && mkdir -p "$work"
for f in tests/data/screens/*.json.xz; do xz -dc "$f" > "$work/$(basename "$f" .xz)"; done
xz -dc tests/data/sass-small.dartheap.xz > "$work/sass.dartheap"
cp tests/data/node-small.heapsnapshot "$work/page.heapsnapshot"
/usr/bin/python3 tests/peers/lib/screens.py "$tool" "$work" tests/data/screens "${1:-}" || failed=1
exit $failed
