#!/usr/bin/env bash
# diff of snapshots, by object and by class: all figures equal a brute-force computation on random snapshots. If more
# than 1% of the common ids have another class, type or name, diff compares by class and says why. Then real
# snapshots.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/objects-diff
rm -rf "$work" && mkdir -p "$work" && cd "$work"
check "random pairs of snapshots: all figures are right" "" "$(python3 "$root/tests/peers/lib/objects_diff.py" "$tool" ${FULL:+600} 2>&1 | tail -n 5)"

# Snapshots of one leaking process: the number of new objects is in its third line, and none are gone.
command -v node > /dev/null || need nodejs || { echo "SKIP: nodejs cannot be installed here"; exit $failed; }
for leak in "$root"/tests/peers/programs/leaks/node/*.js; do
  name=$(basename "$leak" .js)
  [ -n "${FULL-}" ] || [ "$name" = cache ] || continue
  read -r number class _ < <(sed -n 's|^// each step: ||p' "$leak")
  mkdir "$name" && node "$leak" "$name"
  for step in 1 2; do
    check "$name, step $step: new and gone objects of $class" "$number 0" \
      "$("$tool" diff --json "$name/$step.heapsnapshot" "$name/$((step + 1)).heapsnapshot" | node -e '
        const { classes } = JSON.parse(require("fs").readFileSync(0)).identity, c = classes.find(c => c.class === process.argv[1]);
        console.log(c.new_objects, c.gone_objects)' "$class")"
  done
done
exit $failed
