#!/usr/bin/env bash
# objects --class, path and CSV tables, on real snapshots of Dart and V8 and a small .NET dump. Python computes the
# expected answers from the references.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 xz-utils
sources=$PWD/tests/peers/lib
work=$PWD/build/peers/instances
data=$PWD/tests/data
rm -rf "$work" && mkdir -p "$work" && cd "$work"

xz -dc "$data/sass-small.dartheap.xz" > sass.dartheap
cat > game.log <<'END'
a 2 game 10
t 1 Game
t 2 Level
t 3 Texture
t 4 Cache
o a1 1 10 b1 b2
o b1 2 20 c1
o b2 2 20 c1 c2
o c1 3 100
o c2 3 80
o d1 4 8 c3
o c3 3 40
r a1 1 1
r d1 3 2
c game 20
END
python3 "$sources/instances.py" "$tool" "$data" || failed=1
exit $failed
