#!/usr/bin/env bash
# What trees on a terminal say adds up, whatever is folded and nested in them; see trees.py.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must python3 jq
work=$PWD/build/peers/trees
rm -rf "$work" && mkdir -p "$work"
python3 tests/peers/trees.py "$tool" "$work" || failed=1

# Of a file of many processes the largest heaps are shown, and what the others hold is told.
python3 - "$work/many.json" <<'END'
import json, sys
events = [{"ph": "v", "pid": n, "tid": n, "ts": 1, "cat": "disabled-by-default-memory-infra", "id": "0x1", "name": "explicitly_triggered",
           "args": {"dumps": {"heaps": {"malloc": {"entries": [{"bt": "", "size": "%x" % (1000 * n), "count": "1"}]}}}}} for n in range(1, 31)]
json.dump({"traceEvents": events}, open(sys.argv[1], "w"))
END
for command in tree top; do
  "$tool" $command --bytes "$work/many.json" > "$work/many.txt"
  check "$command of 30 processes shows ten, the largest first" "30 29 28 27 26 25 24 23 22 21" "$(grep -o 'pid [0-9]*' "$work/many.txt" | cut -d ' ' -f 2 | xargs)"
  check "$command says what the others hold" "not shown: 20 smaller heaps, of 20000 and less, 210000 together (--all)" "$(grep smaller "$work/many.txt")"
  check "$command --all shows all" 30 "$("$tool" $command --all --bytes "$work/many.json" | grep -c pid)"
  check "$command --json lists all" 30 "$("$tool" $command --json "$work/many.json" | jq '.heaps | length')"
done
sed 's/"size": "7530"/"size": "7534"/' "$work/many.json" > "$work/more.json"
"$tool" diff --bytes "$work/many.json" "$work/more.json" > "$work/many.txt"
check "diff of 30 processes shows ten, what changed most first" "+4 10" "$(awk '/pid/ { n++; if (n == 1) printf "%s ", $1 } END { print n }' "$work/many.txt")"
check "diff says what the others changed" "not shown: 20 smaller changes, of 0 (--all)" "$(grep smaller "$work/many.txt")"
check "diff --all shows all" 30 "$("$tool" diff --all --bytes "$work/many.json" "$work/more.json" | grep -c pid)"
exit $failed
