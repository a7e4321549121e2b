#!/usr/bin/env bash
# heapdump rows for people and SQL engines: read by Python's csv and json and by sqlite3, written back, damaged.
set -u
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 sqlite3
data=$PWD/tests/data
work=build/peers/rows
rm -rf $work && mkdir -p $work
cd $work
status() { "$@" > out 2> err; echo $?; }

files=$(cd "$data" && ls pprof-* heap-* *.folded small.heaptrack memprof-19.raw)
for file in $files; do
  "$tool" rows --label host=a1 --label "note=a, \"b\";=1" -o "$file.csv" "$data/$file" 2> err || fail "$file: $(tail -n 1 err)"
  "$tool" rows --label host=a1 --label "note=a, \"b\";=1" -o "$file.jsonl.gz" "$data/$file" 2> err || fail "$file: $(tail -n 1 err)"
  "$tool" merge --to rows -o merged.csv "$data/$file" 2> err || fail "$file: merge: $(tail -n 1 err)"
  "$tool" merge --to rows -o again.csv merged.csv 2> err || fail "$file: merge of rows: $(tail -n 1 err)"
  check "$file: merging merged rows again changes no byte" "" "$(cmp merged.csv again.csv)"
  check "$file: JSON lines and CSV have the same heaps" "" "$(diff <("$tool" tree --json "$file.csv" | jq -S 'del(.. | .file?)') <("$tool" tree --json "$file.jsonl.gz" | jq -S 'del(.. | .file?)') | head -n 3)"
  # Bytes by allocator and kind, as an SQL engine sums them, and hashes of stacks, as documented.
  python3 - "$file" << 'PY' > sums || fail "$file: $(tail -n 1 sums)"
import collections, csv, gzip, hashlib, json, re, sys
csv.field_size_limit(1 << 30)
sums, found = collections.Counter(), collections.Counter()
for row in csv.DictReader(open(sys.argv[1] + ".csv", newline="", encoding="utf-8", errors="surrogateescape")):
    if not row["bytes"]: continue
    if row["cumulative"] == "self" or not row["stack"] + row["type"]:
        sums[row["allocator"], row["kind"], row["pid"], row["time"], row["dump"]] += int(row["bytes"])
    assert row["host"] == "a1" and row["note"] == 'a, "b";=1', row
    names = [re.sub(r"\\(.)", lambda m: "" if m[1] == "e" else m[1], n) for n in re.findall(r"(?:[^;\\]|\\.)+", row["stack"])]
    text = b"".join(b"%d:%s" % (len(n), n) for n in (n.encode("utf-8", "surrogateescape") for n in names))
    assert row["stack_hash"] in ("", hashlib.md5(text).hexdigest()[:16]), row
for line in gzip.open(sys.argv[1] + ".jsonl.gz", "rt", encoding="utf-8"):
    row = json.loads(line)
    if row["bytes"] is None: continue
    if row["cumulative"] == "self" or not (row["stack"] or row.get("type")):
        found[row["allocator"] or "", row["kind"], str(row["pid"] or ""), row["time"] or "", row["dump"] or ""] += row["bytes"]
assert sums == found, (sums, found)
print(sum(sums.values()))
PY
  printf '.mode csv\n.import %s.csv r\nselect sum(cast(bytes as integer)) from r where cumulative = "self" or stack || type = "";\n' "$file" | sqlite3 > engine 2> err
  check "$file: bytes equal sqlite3's sums" "$(cat sums)" "$(cat engine)"
done

# The queries of help and man page for condensed heaps: totals by the root row, own bytes by way of pprof.
"$tool" convert --to chrome --min-share 1% -o condensed.json "$data/pprof-cc.pb" 2> err
"$tool" rows -o condensed.csv condensed.json
"$tool" convert --to pprof -o condensed.pb condensed.json 2> err
"$tool" rows -o own.csv condensed.pb
total=$("$tool" info --json condensed.json | jq '[.files[0].heaps[].bytes] | add')
sum() { sqlite3 -cmd ".import --csv $1 r" :memory: "SELECT sum(bytes) FROM r $2"; }
check "totals of condensed heaps: the query of the help" "$total" "$(sum condensed.csv "WHERE stack = '' AND type = ''")"
check "... the query of the man page" "$total $total" \
  "$(for file in condensed.csv own.csv; do sum $file "WHERE cumulative = 'self' OR stack = '' AND type = ''"; done | paste -sd' ')"
check "own bytes of condensed heaps add up" "$total" "$(sum own.csv "")"

# Damaged files are reported by name, the rest is written, and the exit status is 1.
head -c 1000 pprof-cc.pb.csv > cut.csv
check "truncated rows: a warning" "0 1" "$(status "$tool" info cut.csv) $(grep -c 'a whole row' err)"
echo nothing > bad.pb
check "one bad file among others: status 1 and its name" "1 1" "$(status "$tool" rows -o all.csv "$data/pprof-cc.pb" bad.pb "$data/pprof-go.pb") $(grep -c 'bad.pb' err)"
check "... the other files are written" "2" "$(tail -n +2 all.csv | cut -d, -f1 | sort -u | wc -l)"
check "... with --strict nothing is written" "1 " "$(status "$tool" rows --strict -o none.csv "$data/pprof-cc.pb" bad.pb) $(ls none.csv 2> /dev/null)"
check "merge with a bad file: status 1 and its name" "1 1" "$(status "$tool" merge --to rows -o some.csv "$data/pprof-cc.pb" bad.pb) $(grep -c 'bad.pb' err)"
"$tool" merge --to rows -o one.csv "$data/pprof-cc.pb" 2> err
check "... the result equals a merge without it" "" "$(cmp some.csv one.csv)"
# A heap that is readable but cannot be added (too large, or too many axes) counts as a bad file, too.
printf 'allocator,stack,bytes\nq,a,18446744073709551614\n' > huge.csv
printf 'allocator,stack,bytes\nq,main,1\n' > small.csv
printf 'allocator,bytes,axis_1,axis_2,axis_3,axis_4,axis_5,axis_6,axis_7,axis_8\nq,1,x,x,x,x,x,x,x,x\n' > wide.csv
"$tool" merge --to rows -o two.csv small.csv small.csv 2> err
check "heaps that cannot be added are reported by name" "1 1 1" \
  "$(status "$tool" merge --to rows -o rest.csv small.csv huge.csv wide.csv small.csv) $(grep -c 'huge.csv: a heap of q is left out: .*2^64' err) $(grep -c 'wide.csv: a heap of q is left out: .*axes' err)"
check "... the result equals a merge without them" "" "$(cmp rest.csv two.csv)"
check "... with --strict nothing is written" "1 " "$(status "$tool" merge --strict --to rows -o none.csv small.csv huge.csv) $(ls none.csv 2> /dev/null)"
check "merge --strict with a bad file writes nothing" "1 " "$(status "$tool" merge --strict --to rows -o none.csv "$data/pprof-cc.pb" bad.pb) $(ls none.csv 2> /dev/null)"

# One thread per processor reads files. The bytes and messages equal those of a single thread.
mkfifo pipe
seq 400000 | sed 's/.*/main;f& 1/' > large.folded
{ head -n 1000 large.folded; echo "no number"; } > warned.folded
set -- "$data/pprof-cc.pb" warned.folded "$data/pprof-go.pb" bad.pb cut.csv gone.pb pipe large.folded pprof-cc.pb.jsonl.gz \
  warned.folded bad.pb "$data/pprof-cc.pb"
for options in --all "--all --strict"; do
  for by in all one; do
    processors=$(taskset -pc $$ | sed 's/.*: //')
    [ $by = all ] || processors=${processors%%[,-]*}
    cat "$data/pprof-go.pb" > pipe & writer=$!
    status taskset -c $processors "$tool" merge $options --to rows -o by-$by "$@" > by-$by.told
    cat err >> by-$by.told
    { kill $writer; wait $writer; } 2> /dev/null || true
  done
  check "merge $options with threads: the same bytes" "$(cat by-one 2> /dev/null | md5sum)" "$(cat by-all 2> /dev/null | md5sum)"
  check "merge $options with threads: the same status and messages" "$(cat by-one.told)" "$(cat by-all.told)"
  [ "$options" = --all ] || continue
  check "... the messages report all faults" "1 3 6" "$(head -n 1 by-all.told) $(grep -c 'warned\|cut' by-all.told) $(grep -c 'bad\|gone\|merged' by-all.told)"
  rm by-all by-one
done
check "... with --strict nothing is written" "" "$(ls by-all by-one 2> /dev/null)"
for label in pid=1 bytes=2 axis_x=3 nothing =x; do
  check "--label $label is refused" "2 " "$(status "$tool" rows --label "$label" -o none.csv "$data/pprof-cc.pb") $(ls none.csv 2> /dev/null)"
done
# Names of frames equal those of listings.
for file in memprof-22-report.txt memprof-22-report-terse.txt; do
  "$tool" rows -o "$file.csv" "$data/$file" 2> err
  check "$file: rows have the names of the tree" "" "$(diff <("$tool" tree --json --frames all --min-bytes 1 "$data/$file" | jq -c '.. | .rows? // empty | .[]') <("$tool" tree --json --frames all --min-bytes 1 "$file.csv" | jq -c '.. | .rows? // empty | .[]') | head -n 3)"
done

# Heaps of a fleet are paired by the labels that have values in both files, and named by them.
fold() { printf "$3" > part.folded; "$tool" rows --format folded --label "host=$1" --label "day=$2" part.folded 2> /dev/null; }
{ fold a 1 'main;run 12\n'; fold b 1 'main;run 20\n' | tail -n +2; fold 'c,"x' 1 'main 5\n' | tail -n +2; } > monday.csv
{ fold 'c,"x' 2 'main 6\n'; fold b 2 'main;run 20\n' | tail -n +2; fold d 2 'main 9\n' | tail -n +2; } > tuesday.csv
check "diff of rows: pairs by labels" "-12 B 12 B 0 B total, profile=part.folded, day=1, host=a -> none in tuesday.csv
0 B 20 B 20 B total, profile=part.folded, day=1, host=b -> day=2
+1 B 5 B 6 B total, profile=part.folded, day=1, host=c,\"x -> day=2
+9 B 0 B 9 B none in monday.csv -> total, profile=part.folded, day=2, host=d" "$("$tool" diff monday.csv tuesday.csv | grep -E 'total|none' | sed 's/^ *//; s/  */ /g')"
check "info shows labels" "3" "$("$tool" info monday.csv | grep -c ', profile=part.folded, day=1, host=')"

# Merged condensed heaps have upper bounds for entries that some inputs did not list. All commands keep and show them.
for i in 1 2 3 4; do
  for k in 1 2 3 4 5 6 7 8; do echo "main;f$((k * i % 5));g$((k % 3)) $((k * k * i * 100))"; done > "cut$i.folded"
  "$tool" convert --to chrome --min-share 0.1 -o "cut$i.json" "cut$i.folded" 2> /dev/null
done
"$tool" merge --to rows -o sum1.csv cut1.json cut2.json 2> /dev/null
"$tool" merge --to rows -o sum2.csv cut3.json cut4.json 2> /dev/null
check "tree shows bounds" yes "$("$tool" tree sum1.csv | grep -q '(+[0-9.]* .*?)$' && echo yes)"
check "tree --min-share shows bounds" yes "$("$tool" tree --min-share 0.05 sum1.csv | grep -q '(+[0-9.]* .*?)$' && echo yes)"
check "diff shows bounds of both sides" yes "$("$tool" diff sum1.csv sum2.csv | grep -q '(.*?, before +[0-9.]* [KB].*, after +[0-9.]* [KB].*)$' && echo yes)"
check "... with --json, too" yes "$("$tool" diff --json sum1.csv sum2.csv | jq -r '[.. | .more_before? // empty] | if length > 0 then "yes" else "no" end')"
check "report shows bounds" yes "$("$tool" report -o sum.html sum1.csv 2> err && grep -q '"more":[1-9]' sum.html && echo yes || cat err)"
check "a message reports when an option drops the bounds" 1 "$("$tool" tree --drop g1 sum1.csv 2>&1 > out | grep -c 'sum1.csv: this view loses the bounds of unlisted bytes in merged heaps')"
"$tool" rows -o sampled.csv "$data/heap-tcmalloc.txt" 2> /dev/null
check "info shows standard errors" "$("$tool" tree --json "$data/heap-tcmalloc.txt" | jq '[.. | .rows? // empty | .[] | select(.depth == 0) | .error][0]')" "$("$tool" info --json sampled.csv | jq '[.. | .heaps? // empty | .[] | .error][0]')"
check "... in the text form, too" yes "$("$tool" info --bytes sampled.csv | grep -q ', ±[1-9][0-9]* bytes' && echo yes)"
# A row as long as the whole input takes time in proportion to its bytes.
endless() { ( ulimit -t 4; { printf 'stack,bytes\n"'; head -c 200000000 /dev/zero | tr '\0' a; } | "$tool" info --format rows - > out 2> err; echo $?; ); }
check "an unterminated cell of 200 MB, from a pipe" "1 1" "$(endless) $(grep -c 'a whole row' err)"
check "a repeated --label is refused" 2 "$(status "$tool" rows --label a=1 --label a=2 -o none.csv "$data/pprof-cc.pb")"
check "a full disk: status 1" 1 "$(status "$tool" rows -o /dev/full "$data/pprof-cc.pb")"
exit $failed
