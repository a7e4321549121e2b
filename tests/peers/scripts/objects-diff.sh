#!/usr/bin/env bash
# diff of snapshots, object by object and class by class: all figures are those of brute force, on random snapshots.
# More than 1 % of the common ids with another class, type or name: by class, and one line says why. Then of real ones.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
root=$PWD work=$PWD/build/peers/objects-diff
rm -rf "$work" && mkdir -p "$work" && cd "$work"
check "random pairs of snapshots" "" "$(python3 "$root/tests/peers/lib/objects_diff.py" "$tool" ${FULL:+600} 2>&1 | tail -n 5)"

# Snapshots of one process that leaks: as many new objects as it says in its third line, none gone.
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
