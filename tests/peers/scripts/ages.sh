#!/usr/bin/env bash
# record --ages and --threads: planted blocks keep the age and thread of their allocation. The script looks before and
# after threads are renamed, at a snapshot from outside, and at a recovered recording. Sums equal those without these
# axes, and go tool pprof reads both axes as labels. A seccomp filter that kills any caller that asks for a thread
# name kills nobody. FULL=1 measures the cost of both axes with sqlite3.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must gcc libc6-dev jq sqlite3
root=$PWD
work=$PWD/build/peers/ages
rm -rf "$work" && mkdir -p "$work" && cd "$work"

gcc -O1 -g -fno-inline -pthread "$root/tests/peers/programs/ages.c" -o ages

# of FILE AXIS [OPTIONS]: bytes and blocks of the planted sites, by the axis and the innermost function
of() {
  local file=$1 axis=$2
  shift 2
  "$tool" rows --json-lines "$file" 2> err | jq -rs --arg a "axis_$axis" --arg kind "${1-live}" '
    [.[] | select(.kind == $kind and .bytes and (.stack[-1] | test("^plant_")))] |
    group_by([.[$a], .stack[-1]])[] |
    "\(.[0][$a] | if type == "array" then join("/") else . end) \(.[0].stack[-1] | sub(" .*"; "")) \(map(.bytes) | add) \(map(.blocks) | add)"'
}
# span FILE SITE: the youngest and the oldest age class of the site's blocks (as numbers), then bytes and blocks.
# Blocks that were planted one after the other may be in two classes.
span() {
  of "$1" age | awk -v site="$2" 'BEGIN { n = split("under 10 ms,10 ms to 100 ms,100 ms to 1 s,1 s to 10 s,10 s to 1 min,1 min to 10 min,10 min to 1 h", name, ",")
                                          for (i = 1; i <= n; i++) number[name[i]] = i - 1; least = 99; most = -1 }
    $(NF - 2) == site { class = $0; sub(" " site ".*", "", class); c = class in number ? number[class] : 98
                        if (c < least) least = c; if (c > most) most = c; bytes += $(NF - 1); blocks += $NF }
    END { print least, most, bytes + 0, blocks + 0 }'
}
# told FILE EVENT: the program's own time of an event, in milliseconds
told() { awk -v name="$2" '$1 == name { print $2 }' "$1"; }

# On a slow machine, too, old blocks are a second older than young ones, by the clock of the ages.
"$tool" record --ages --threads --at exit -o rec.csv -- ./ages times 2> err || fail "the recording: $(cat err)"
check "the program wrote down both planting times" "2" "$(wc -l < times)"
old=$(told times old) young=$(told times young)
check "old blocks are a second older" 1 $((young - old >= 1000))
of rec.csv thread > threads
check "each thread has its planted blocks, under its name at the allocation" \
  "$(printf '%s\n' 'ages plant_before 3 1' 'at last plant_late 7 1' 'before plant_before 30 1' 'boss plant_young 70000 7' 'db worker plant_old 200000 2' 'named late plant_late 50 1' \
     'net plant_old 100000 1' | LC_ALL=C sort)" "$(LC_ALL=C sort threads)"
read -r least most bytes blocks <<< "$(span rec.csv plant_old)"
read -r _ young_most young_bytes young_blocks <<< "$(span rec.csv plant_young)"
check "all old blocks are older than a second" "1 300000 3" "$((least >= 3 && most < 98)) $bytes $blocks"
check "all young blocks are in no older class than that" "1 70000 7" "$((young_most <= least)) $young_bytes $young_blocks"

# Sums. They include the blocks that were not planted.
for axis in backtrace type age thread; do
  check "by $axis: the tree has the bytes of info" "$("$tool" info --json rec.csv | jq '[.. | .heaps? // empty | .[] | select(.kind == "live")][0].bytes')" \
    "$("$tool" tree --by $axis --bytes --min-bytes 1 rec.csv 2> err | awk 'NR == 1 { print $1 }')"
done
check "live and total, which has no ages, have the same blocks by thread" "$(of rec.csv thread live | LC_ALL=C sort)" "$(of rec.csv thread total | LC_ALL=C sort)"
for axis in age thread; do
  check "$axis: rows add up to the total" "$("$tool" tree --bytes rec.csv 2> err | awk 'NR == 1 { print $1 }')" \
    "$("$tool" top --by $axis --all --json rec.csv 2> err | jq '[.heaps[].rows[].bytes] | add')"
done
check "a recording without --ages has no age axis" "1 heapdump: plain.json (chrome): --by takes backtrace, type here, not 'age'" \
  "$("$tool" record --at exit -o plain.json -- ./ages times 2> err; status "$tool" tree --by age plain.json) $(cat err)"

# A snapshot from outside: the program plants, then requests a snapshot, and runs on.
"$tool" record --ages --threads --at exit -o outer.csv -- ./ages times "$tool" snapshot -o inner.csv 2> err || fail "snapshot: $(cat err)"
check "a snapshot from outside has threads" "$(grep -v plant_young threads | LC_ALL=C sort)" \
  "$(of inner.csv thread | LC_ALL=C sort)"
check "... and ages" "300000 3" "$(span inner.csv plant_old | cut -d ' ' -f 3-)"

# A recording that --keep left, recovered later, here without a heapdump process; without --sample and with it.
HEAPDUMP_KEEP=$work/kept HEAPDUMP_AGES=1 HEAPDUMP_THREADS=1 LD_PRELOAD=$root/build/libheapdump_record.so ./ages times
"$tool" recover -o recovered.jsonl kept 2> err || fail "recover: $(cat err)"
check "a recovered recording has threads" "$(LC_ALL=C sort threads)" "$(of recovered.jsonl thread | LC_ALL=C sort)"
read -r least most bytes blocks <<< "$(span recovered.jsonl plant_old)"
check "... and ages, relative to the last recorded block" "1 300000 3 0" \
  "$((least >= 3 && most < 98)) $bytes $blocks $(span recovered.jsonl plant_young | cut -d ' ' -f 1)"
check "the suffix .jsonl writes JSON lines" '{' "$(head -c 1 recovered.jsonl)"
"$tool" record --ages --threads --sample 1 --at exit -o sampled.csv -- ./ages times 2> err || fail "sampled: $(cat err)"
check "sampling every byte keeps all large blocks" "$(grep 000 threads | LC_ALL=C sort)" \
  "$(of sampled.csv thread | grep 000 | LC_ALL=C sort)"

# Unlimited threads: 300 names, more than the table has room for. No blocks are lost.
"$tool" record --threads --at exit -o many.csv -- ./ages many 2> err || fail "300 threads: $(cat err)"
check "300 names: 256 are kept, the program's own included; <other threads> has the rest" "256 300" \
  "$(of many.csv thread | awk '{ n++; b += $NF } END { print n, b }')"
check "the other threads share one row" "<other threads> plant_one 45000 45" "$(of many.csv thread | grep other)"

# A program whose seccomp filter kills any caller that asks for thread names; and names that are not text.
"$tool" record --threads --at exit -o forbidden.csv -- ./ages forbidden 2> err || fail "a filter that kills: $(cat err)"
check "under a filter that kills, the recorder asks for no names and keeps those that it has" \
  "$(printf '%s\n' '<unknown> plant_one 500 1' 'ages plant_before 300 1' 'ages plant_late 400 1' | LC_ALL=C sort)" \
  "$(of forbidden.csv thread | LC_ALL=C sort)"
"$tool" record --threads --at exit -o strange.csv -- ./ages strange 2> err || fail "strange names: $(cat err)"
check "control characters and invalid UTF-8 in names do not reach the terminal" "1 0" \
  "$("$tool" tree --by thread strange.csv 2> err | grep -c '[[]31m') $(
    "$tool" tree --by thread strange.csv | sed 's/[›…]//g' | LC_ALL=C tr -d '\12\40-\176' | wc -c)"

# MemProf files have no place for ages and threads.
check "record refuses MemProf with ages or threads" "2 heapdump: MemProf formats take neither --ages nor --threads; see heapdump help record" \
  "$(status "$tool" record --ages --format memprof-raw -- true) $(head -n 1 err)"

# pprof.
"$tool" convert --kind live --to pprof -o rec.pb rec.csv 2> err
check "pprof labels are read back as axes" "$(of rec.csv age | LC_ALL=C sort)" "$(of rec.pb age | LC_ALL=C sort)"
if need golang-go; then
  export PPROF_TMPDIR=$work
  # tags KEY: name and bytes of each value, as go tool pprof prints them
  tags() { go tool pprof -tags -unit=B "$1" 2>/dev/null |
    awk -v key="$2:" '$2 == "Total" { on = $1 == key } on && /%\):/ { b = $1; sub(/(\.0)?B$/, "", b); name = $0; sub(/^[^%]*%\): /, "", name); print name, b }' | LC_ALL=C sort; }
  top_of() { "$tool" top --by "$2" --all --json "$1" 2> err | jq -r '.heaps[].rows[] | "\(.name) \(.bytes)"' | LC_ALL=C sort; }
  for axis in age thread; do
    tags rec.pb $axis > go.tags
    [ -s go.tags ] || fail "go tool pprof shows no $axis"
    check "go tool pprof -tags: $axis" "$(top_of rec.csv $axis)" "$(cat go.tags)"
  done
else
  echo "SKIP: go tool pprof: golang-go cannot be installed here"
fi

# The cost of both axes.
if [ "${FULL-}" = 1 ]; then
  cat > work.sql <<'SQL'
create table t(a integer primary key, b text, c real);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) select i, 'row ' || i || hex(i * 7919), i * 1.5 from n;
create index tb on t(b);
select count(*), sum(c), max(b) from t where b like '%7%';
SQL
  for try in 1 2 3; do
    for options in "" "--ages" "--threads" "--ages --threads"; do
      "$tool" record --stats $options -o cost.csv.zst -- sqlite3 -init work.sql :memory: .exit > /dev/null 2> err
      echo "sqlite3, record $options: $(grep -o 'calls of [0-9]* ns' err), $(grep -o '[0-9]* KiB of the region' err)"
    done
  done
fi
exit $failed
