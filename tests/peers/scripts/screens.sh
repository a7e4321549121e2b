#!/usr/bin/env bash
# The output on terminals of two sizes, as a terminal emulator shows it: recordings of six real programs, and two
# graphs. It equals the texts in tests/data/screens and fits the screen without broken lines. `screens.sh update`
# writes these texts anew: read them before you commit them.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 python3-pyte      # Debian's package: another python3 in PATH cannot import it
work=$PWD/build/peers/screens
rm -rf "$work" && mkdir -p "$work"
for f in tests/data/screens/*.json.xz; do xz -dc "$f" > "$work/$(basename "$f" .xz)"; done
xz -dc tests/data/sass-small.dartheap.xz > "$work/sass.dartheap"
cp tests/data/node-small.heapsnapshot "$work/page.heapsnapshot"
/usr/bin/python3 tests/peers/lib/screens.py "$tool" "$work" tests/data/screens "${1:-}" || failed=1
exit $failed
