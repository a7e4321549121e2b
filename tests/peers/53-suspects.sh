#!/usr/bin/env bash
# heapdump suspects on planted leaks: 50 programs with one leak each among honest work, of which it has to name nine in ten
# first.
#
# 40 leaks were published, in bug reports or fixes of real programs (leaks/published.*, each with its report): 20 in C, 9 in
# C++ of which 2 are threaded servers, 11 in JavaScript through Node. 10 are by leaks/generate.py, seeds 1 to 10. Each dumps
# three or four times. 27 more, and seeds 1001 to 1020, are told apart and not counted: suspects was tuned on these
# (leaks/tuned.*, which dump twice or three times). What cannot be told from three dumps is work that waits in batches a little smaller than what is done
# between two of them: it is found larger each time, as a leak is.
#
# Named first: the leak's function is the site of the first suspect, or its nearest caller where the site is a function
# that allocates for many; of objects, the variable, property or class is on the way to the first suspect, or what is new
# below it. A line for each tells what heaptrack_print lists first among its leaks, where heaptrack is installed, and
# memlab with MEMLAB=1.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must jq gcc g++ python3
work=$PWD/build/peers/suspects leaks=$PWD/tests/peers/leaks
mkdir -p "$work" && find "$work" -mindepth 1 -maxdepth 1 ! -name memlab -exec rm -rf {} +
cd "$work"
${CC:-cc} -w -g -O0 "$leaks/published.c" -o published_c -lpthread
${CXX:-c++} -w -g -O0 "$leaks/published.cc" -o published_cc -lpthread
${CC:-cc} -w -g -O0 "$leaks/tuned.c" -o tuned_c
${CXX:-c++} -w -g -O0 "$leaks/tuned.cc" -o tuned_cc -lpthread

named=0 of=0 tuned_named=0 tuned_of=0 group=published ht_named=0 ht_of=0 ml_named=0 ml_of=0
# one NAME WANT FOUND LIST: FOUND is yes or no
one() {
  if [ $group = tuned ]; then
    tuned_of=$((tuned_of + 1))
    [ "$3" != yes ] || tuned_named=$((tuned_named + 1))
  else
    of=$((of + 1))
    [ "$3" != yes ] || named=$((named + 1))
  fi
  printf '%-24s %-18s %-4s %s\n' "$1" "$2" "$3" "$4"
}

# beside_heaptrack WANT PROGRAM [CASE]: the program is not recorded by us, so its signals say nothing to anyone.
beside_heaptrack() {
  [ -n "${BESIDE-}" ] && [ $group != tuned ] && command -v heaptrack > /dev/null || return 0
  rm -f ht.*
  (trap '' USR2; heaptrack -o ht "$2" ${3-} > /dev/null 2>&1) || true
  heaptrack_print --print-leaks 1 --print-peaks 0 --print-allocators 0 --print-temporary 0 -f ht.* > ht.txt 2> err || return 0
  ht_of=$((ht_of + 1))
  awk '/leaked over/ && !seen { getline; print; seen = 1; next } !seen || /^ *(at|in) / { next }
    /^[^ ].*leaked over.*from:$/ && !stack { stack = 1; next } stack && /^($|[^ ])/ { exit }
    stack { sub(/^ */, ""); if (!/^([a-z]+ )?(std::|__gnu_cxx::|__GI_)/ && ++n <= 3) print }' ht.txt | sed 's/(.*//' > ht.first
  ! grep -qxE "$1" ht.first || ht_named=$((ht_named + 1))
}

# beside_memlab WANT NAME
beside_memlab() {
  local id
  [ -n "${BESIDE-}" ] && [ $group != tuned ] || return 0
  if [ ! -x memlab/node_modules/.bin/memlab ]; then
    mkdir -p memlab
    (cd memlab && PUPPETEER_SKIP_DOWNLOAD=1 PUPPETEER_SKIP_CHROMIUM_DOWNLOAD=1 npm install --silent --no-audit --no-fund \
      @memlab/cli@2.0.5 > npm.log 2>&1) || true
  fi
  [ -x memlab/node_modules/.bin/memlab ] || return 0
  ml_of=$((ml_of + 1))
  rm -rf shots && mkdir shots && for i in 1 2 3; do cp "$2.$i.heapsnapshot" shots/s$i.heapsnapshot; done
  memlab/node_modules/.bin/memlab analyze unbound-object --snapshot-dir shots 2>&1 | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' > ml.txt || true
  id=$(grep -a -m 1 -o '(@[0-9]*):' ml.txt | tr -dc 0-9) || return 0
  memlab/node_modules/.bin/memlab trace --snapshot shots/s3.heapsnapshot --node-id=@"$id" 2>&1 | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' > ml.trace || true
  if { grep -a -m 1 '(@' ml.txt; cat ml.trace; } | grep -aqE "(^|[^A-Za-z_])($1)([^A-Za-z_]|\$)"; then ml_named=$((ml_named + 1)); fi
}

# native NAME FUNCTION PROGRAM [CASE]
native() {
  "$tool" record --at signal -o "$1.json" -- "$3" ${4-} 2> err || { fail "$1: not recorded"; return; }
  "$tool" suspects --json "$1.json" > "$1.suspects" 2>> err || fail "$1: $(cat err)"
  "$tool" suspects "$1.json" > "$1.txt"
  [ "$(wc -c < "$1.txt")" -le 8192 ] || fail "$1: more than 8 KB"
  one "$1" "$2" "$(jq -r --arg want "$2" 'def plain: sub("\\(.*"; "");
    .series[0].suspects[0] | if [.site, .callers[0] // ""] | map(plain) | any(IN($want | split("|")[])) then "yes" else "no" end' "$1.suspects")" \
    "$(jq -r '[.series[0].suspects[0:2][] | "\(.site) < \(.callers[0])"] | join("; ")' "$1.suspects" | cut -c 1-120)"
  beside_heaptrack "$2" "$3" ${4-}
}

# objects NAME WANT CASE
objects() {
  node "$leaks/$group.cjs" "$3" "$1" 2> err || { fail "$1: no snapshots"; return; }
  "$tool" suspects --json "$1".?.heapsnapshot > "$1.suspects" 2> err || fail "$1: $(cat err)"
  "$tool" suspects "$1".?.heapsnapshot > "$1.txt"
  [ "$(wc -c < "$1.txt")" -le 8192 ] || fail "$1: more than 8 KB"
  one "$1" "$2" "$(jq -r --arg want "$2" '.graphs[0].suspects[0] |
    if [.path[], .within[], .class, .name, (.below[] | .class, .name // "")] | any(test("(^|[^A-Za-z_])" + $want + "($|[^A-Za-z_])")) then "yes" else "no" end' "$1.suspects")" \
    "$(jq -r '.graphs[0].suspects[0] | "\(.path[-3:] | join(" > ")); \([.below[].class] | join(", "))"' "$1.suspects" | cut -c 1-120)"
  beside_memlab "$2" "$1"
}

# cases: all of a group
cases() {
  local c=c-
  [ $group != tuned ] || c=tuned-c-
  while read -r _ _ case function _; do native "$c${case%:}" "$function" ./${group}_c "${case%:}"; done < <(grep '^   leak [a-z]*: ' "$leaks/$group.c" | sed 's/^/x /')
  while read -r _ _ case function _; do native "${c%c-}cc-${case%:}" "$function" ./${group}_cc "${case%:}"; done < <(grep '^   leak [a-z]*: ' "$leaks/$group.cc" | sed 's/^/x /')
  command -v node > /dev/null || need nodejs || return 0
  while read -r _ _ case name _; do objects "${c%c-}js-${case%:}" "$name" "${case%:}"; done < <(grep '^// leak [a-z]*: ' "$leaks/$group.cjs")
}
# generated FIRST LAST
generated() {
  for seed in $(seq "$1" "$2"); do
    python3 "$leaks/generate.py" "$seed" > "g$seed.c"
    ${CC:-cc} -w -g -O0 "g$seed.c" -o "g$seed"
    native "seed-$seed" "$(sed -n '1s/.*leak: \([a-z_]*\).*/\1/p' "g$seed.c")" "./g$seed"
  done
}
cases
generated 1 10
group=tuned
cases
generated 1001 1020
if [ $((named * 10)) -ge $((of * 9)) ]; then pass "$named of $of leaks are named first"
else fail "$named of $of leaks are named first"; fi
echo "of those it was tuned on: $tuned_named of $tuned_of"
[ -z "${BESIDE-}" ] || echo "beside that: heaptrack_print $ht_named of $ht_of, memlab $ml_named of $ml_of"
exit $failed
