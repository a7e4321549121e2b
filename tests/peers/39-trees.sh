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

# --sort changes the order of lines and nothing else.
printf 'main;a;x 10\nmain;b 30\nmain;c;y 25\nmain;c 20\n' > "$work/order.folded"
printf 'main;a;x 40\nmain;b 35\nmain;c;y 25\nmain;c 20\n' > "$work/order-later.folded"
names() { "$tool" "$@" | awk 'NR > 1 { print $NF }' | xargs; }
check "tree by bytes" "main c y <self> b x" "$(names tree "$work/order.folded")"
check "... --sort self: bytes beyond the listed callees" "main b c y <self> x" "$(names tree --sort self "$work/order.folded")"
check "... --sort name" "main x b c <self> y" "$(names tree --sort name "$work/order.folded")"
check "top --sort name" "function a b c main x y" "$(names top --sort name "$work/order.folded")"
check "top --sort self is top --self" "$("$tool" top --self "$work/order.folded")" "$("$tool" top --sort self "$work/order.folded")"
check "top --top 2 --sort name: the largest two" "function c main" "$(names top --top 2 --sort name "$work/order.folded")"
check "diff --json --sort name" "main a x b" "$("$tool" diff --json --sort name "$work/order.folded" "$work/order-later.folded" | jq -r '.diffs[0].rows[1:][].name' | xargs)"
printf 'profile,stack,bytes,blocks\n,main;big,1000,1\n,main;many,10,50\n,main;some,100,7\n' > "$work/order.csv"
check "--sort blocks" "main many some big / function main many some big" "$(names tree --sort blocks --min-bytes 1 "$work/order.csv") / $(names top --sort blocks "$work/order.csv")"
check "--sort takes no other word" 2 "$(cd "$work" && status "$tool" tree --sort size order.csv)"
exit $failed
