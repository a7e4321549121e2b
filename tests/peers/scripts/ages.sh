#!/usr/bin/env bash
# record --ages and --threads: planted blocks have the ages and threads that they were planted with, before and after
# threads are renamed, seen from outside, and of what --keep left; sums are those without the axes; go tool pprof has the
# same as labels; a filter of system calls that kills who asks for a name kills nobody. FULL=1: what both cost, with sqlite3.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must gcc libc6-dev jq sqlite3
root=$PWD
work=$PWD/build/peers/ages
rm -rf "$work" && mkdir -p "$work" && cd "$work"

gcc -O1 -g -fno-inline -pthread "$root/tests/peers/programs/ages.c" -o ages

# of FILE AXIS [OPTIONS]: bytes and blocks of planted sites by the axis and the innermost function
of() {
  local file=$1 axis=$2
  shift 2
  "$tool" rows --json-lines "$file" 2> err | jq -rs --arg a "axis_$axis" --arg kind "${1-live}" '
    [.[] | select(.kind == $kind and .bytes and (.stack[-1] | test("^plant_")))] |
    group_by([.[$a], .stack[-1]])[] |
    "\(.[0][$a] | if type == "array" then join("/") else . end) \(.[0].stack[-1] | sub(" .*"; "")) \(map(.bytes) | add) \(map(.blocks) | add)"'
}
# span FILE SITE: which classes its blocks are in, the youngest and the oldest by their numbers, then bytes and blocks.
# Blocks that were planted one after the other may be in two.
span() {
  of "$1" age | awk -v site="$2" 'BEGIN { n = split("under 10 ms,10 ms to 100 ms,100 ms to 1 s,1 s to 10 s,10 s to 1 min,1 min to 10 min,10 min to 1 h", name, ",")
                                          for (i = 1; i <= n; i++) number[name[i]] = i - 1; least = 99; most = -1 }
    $(NF - 2) == site { class = $0; sub(" " site ".*", "", class); c = class in number ? number[class] : 98
                        if (c < least) least = c; if (c > most) most = c; bytes += $(NF - 1); blocks += $NF }
    END { print least, most, bytes + 0, blocks + 0 }'
}
# told FILE WHAT: when the program did what, in milliseconds
told() { awk -v name="$2" '$1 == name { print $2 }' "$1"; }

# However slow the machine is, what is old is a second older than what is young, by the clock that ages are told by.
"$tool" record --ages --threads --at exit -o rec.csv -- ./ages times 2> err || fail "the recording: $(cat err)"
check "the program told when it planted what" "2" "$(wc -l < times)"
old=$(told times old) young=$(told times young)
check "old blocks are a second older" 1 $((young - old >= 1000))
of rec.csv thread > threads
check "threads have what they planted, by the names that they had then" \
  "$(printf '%s\n' 'ages plant_before 3 1' 'at last plant_late 7 1' 'before plant_before 30 1' 'boss plant_young 70000 7' 'db worker plant_old 200000 2' 'named late plant_late 50 1' \
     'net plant_old 100000 1' | LC_ALL=C sort)" "$(LC_ALL=C sort threads)"
read -r least most bytes blocks <<< "$(span rec.csv plant_old)"
read -r _ young_most young_bytes young_blocks <<< "$(span rec.csv plant_young)"
check "all of what is old is older than a second" "1 300000 3" "$((least >= 3 && most < 98)) $bytes $blocks"
check "all of what is young is no older than that" "1 70000 7" "$((young_most <= least)) $young_bytes $young_blocks"

# Sums. What is not planted is in them, too.
for axis in backtrace type age thread; do
  check "by $axis: all bytes" "$("$tool" info --json rec.csv | jq '[.. | .heaps? // empty | .[] | select(.kind == "live")][0].bytes')" \
    "$("$tool" tree --by $axis --bytes --min-bytes 1 rec.csv 2> err | awk 'NR == 1 { print $1 }')"
done
check "kinds that have no age have the same blocks" "$(of rec.csv thread live | LC_ALL=C sort)" "$(of rec.csv thread total | LC_ALL=C sort)"
for axis in age thread; do
  check "$axis: parts add up to the whole" "$("$tool" tree --bytes rec.csv 2> err | awk 'NR == 1 { print $1 }')" \
    "$("$tool" top --by $axis --all --json rec.csv 2> err | jq '[.heaps[].rows[].bytes] | add')"
done
check "no age without asking for it" "1 heapdump: plain.json (chrome): --by takes backtrace, type here, not 'age'" \
  "$("$tool" record --at exit -o plain.json -- ./ages times 2> err; status "$tool" tree --by age plain.json) $(cat err)"

# From outside while it runs: the program plants, then asks for a snapshot, and lives on.
"$tool" record --ages --threads --at exit -o outer.csv -- ./ages times "$tool" snapshot -o inner.csv 2> err || fail "snapshot: $(cat err)"
check "a snapshot from outside has threads" "$(grep -v plant_young threads | LC_ALL=C sort)" \
  "$(of inner.csv thread | LC_ALL=C sort)"
check "... and ages" "300000 3" "$(span inner.csv plant_old | cut -d ' ' -f 3-)"

# As --keep left it, also when heapdump is not there; without --sample and with it.
HEAPDUMP_KEEP=$work/kept HEAPDUMP_AGES=1 HEAPDUMP_THREADS=1 LD_PRELOAD=$root/build/libheapdump_record.so ./ages times
"$tool" recover -o recovered.jsonl kept 2> err || fail "recover: $(cat err)"
check "what --keep left has threads" "$(LC_ALL=C sort threads)" "$(of recovered.jsonl thread | LC_ALL=C sort)"
read -r least most bytes blocks <<< "$(span recovered.jsonl plant_old)"
check "... and ages, as of the last block" "1 300000 3 0" \
  "$((least >= 3 && most < 98)) $bytes $blocks $(span recovered.jsonl plant_young | cut -d ' ' -f 1)"
check "JSON lines where the name says so" '{' "$(head -c 1 recovered.jsonl)"
"$tool" record --ages --threads --sample 1 --at exit -o sampled.csv -- ./ages times 2> err || fail "sampled: $(cat err)"
check "a sample of every byte has all that is large" "$(grep 000 threads | LC_ALL=C sort)" \
  "$(of sampled.csv thread | grep 000 | LC_ALL=C sort)"

# Threads without end: 300 names, of which as many are kept as there is room for; nothing is lost.
"$tool" record --threads --at exit -o many.csv -- ./ages many 2> err || fail "300 threads: $(cat err)"
check "300 names: 256 with the program's own, and one for the others" "256 300" \
  "$(of many.csv thread | awk '{ n++; b += $NF } END { print n, b }')"
check "the others are called so" "<other threads> plant_one 45000 45" "$(of many.csv thread | grep other)"

# A program that forbids itself to ask for names, on pain of death; and names that are no text.
"$tool" record --threads --at exit -o forbidden.csv -- ./ages forbidden 2> err || fail "a filter that kills: $(cat err)"
check "who asks for names is killed: nobody asks; who was told before keeps its name" \
  "$(printf '%s\n' '<unknown> plant_one 500 1' 'ages plant_before 300 1' 'ages plant_late 400 1' | LC_ALL=C sort)" \
  "$(of forbidden.csv thread | LC_ALL=C sort)"
"$tool" record --threads --at exit -o strange.csv -- ./ages strange 2> err || fail "strange names: $(cat err)"
check "names with control characters and bytes that are no UTF-8 do not reach the screen as such" "1 0" \
  "$("$tool" tree --by thread strange.csv 2> err | grep -c '[[]31m') $(
    "$tool" tree --by thread strange.csv | sed 's/[›…]//g' | LC_ALL=C tr -d '\12\40-\176' | wc -c)"

# MemProf has no place for them.
check "not of MemProf" "2 heapdump: a MemProf profile has neither ages nor threads; see heapdump help record" \
  "$(status "$tool" record --ages --format memprof-raw -- true) $(head -n 1 err)"

# pprof.
"$tool" convert --kind live --to pprof -o rec.pb rec.csv 2> err
check "labels are axes again" "$(of rec.csv age | LC_ALL=C sort)" "$(of rec.pb age | LC_ALL=C sort)"
if need golang-go; then
  export PPROF_TMPDIR=$work
  # tags KEY: name and bytes of each value, as go tool pprof has it
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

# What it costs.
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
