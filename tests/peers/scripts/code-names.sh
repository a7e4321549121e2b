#!/usr/bin/env bash
# Names of functions that are compiled at run time: of a program whose perf map is right or wrong in several ways, and
# of JavaScript in node.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev
[ "$(uname -m)" = x86_64 ] || skip "the code is for x86-64"
sources=$PWD/tests/peers/programs work=$PWD/build/peers/code-names
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 "$sources"/hard_code_map.c -o code
trap 'rm -f /tmp/perf-elsewhere.map' EXIT

# named VARIANT: the caller of the 700,000 bytes in main; an address is printed as 0x
named() {
  "$tool" record --min-bytes 1 -o code.json -- ./code $1 > log 2>&1
  rm -f /tmp/perf-"$(grep -o 'code ([0-9]*)' log | tr -dc 0-9)".map
  "$tool" tree --frames all --min-bytes 1 --bytes code.json | sed -n '/^ *700000 .* main (/{n;s/^ *700000 *[0-9.]*% *1 *//;s/0x[0-9a-f]*/0x/;p;q}'
}
check "a name in the perf map" "right and proper" "$(named "")"
check "a name that the perf map gives anew" "right and proper" "$(named again)"
check "a name among malformed lines" "right and proper" "$(named junk)"
check "a perf map that is a symbolic link is ignored" "0x" "$(named link)"
if [ "$(id -u)" = 0 ]; then check "a perf map of another user is ignored" "0x" "$(named user)"; else echo "SKIP: another user's file: needs root"; fi
rm -f read
("$tool" record --min-bytes 1 -o code.json -- ./code gone > log 2>&1) &
until "$tool" snapshot code.json > /dev/null 2>&1; do :; done
touch read
wait
check "names stay if the perf map disappears before the end" 1 "$("$tool" tree --frames all --min-bytes 1 code.json | grep -c 'right and proper')"

command -v node > /dev/null || need nodejs || { echo "SKIP: nodejs cannot be installed here"; exit $failed; }
cat > "app file.js" <<'X'
function makeBuffers(n) { return Array.from({ length: n }, () => Buffer.allocUnsafeSlow(123456)); }
class Cache { get filled() { return makeBuffers(40); } }
globalThis.kept = [];
kept.push(new Cache().filled);
process.exit(0);
X
"$tool" record --min-bytes 1 -o node.json -- node --perf-basic-prof --interpreted-frames-native-stack "app file.js" > log 2>&1
rm -f /tmp/perf-"$(grep -o 'node ([0-9]*)' log | head -n 1 | tr -dc 0-9)".map
"$tool" tree --kind peak --frames all --min-share 0.02 --keep 'makeBuffers' node.json > tree
check "node: functions with files and lines" "get filled (app file.js:2)|makeBuffers (app file.js:1)" \
  "$(grep -o 'get filled (.*)\|makeBuffers (.*)' tree | sed 's|([^)]*/|(|' | sort -u | paste -sd'|')"
check "node: the functions have the bytes of their buffers" yes "$("$tool" tree --kind peak --frames all --bytes --keep 'makeBuffers' node.json | awk 'NR == 1 { print ($1 >= 40 * 123456 ? "yes" : $1) }')"
exit $failed
