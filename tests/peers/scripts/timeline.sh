#!/usr/bin/env bash
# A time line is readable at any moment, even after heapdump was killed. When it grows, old dumps are thinned out more
# than new ones. The trace viewer reads it before and after that. hour.c simulates an hour with a dump each second;
# only a tenth of it runs unless FULL=1.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc jq sqlite3 python3
source=$PWD/tests/peers work=$PWD/build/peers/timeline
rm -rf "$work" && mkdir -p "$work" && cd "$work"
dumps=360
[ -z "${FULL:-}" ] || dumps=3600
gcc -shared -fPIC -O1 "$source/programs/hour.c" -o hour.so
lease="import fcntl, os; fcntl.fcntl(os.open('lease', os.O_RDWR | os.O_CREAT), fcntl.F_SETLEASE, fcntl.F_WRLCK)"
if python3 -c "$lease" 2> /dev/null; then export HALVES=1; else echo "SKIP: writes in two halves: this file system has no leases, by which readers wait"; fi
{ echo 'create table t(a integer primary key, b, c); create index i on t(b);'
  for i in $(seq 10); do
    echo "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
      insert into t(b, c) select 'name ' || (i * 7919 % 5000), randomblob(20) from n;
      select count(*) from (select b from t order by c limit 100);"
  done
  echo 'delete from t where a % 3;'
} > load.sql

# start FILE [OPTIONS]: records SQLite, which works until it is killed
start() {
  mkfifo load && { while cat load.sql; do :; done > load 2> feeder.err & }
  LD_PRELOAD=$PWD/hour.so timeout -k 1 1800 "$tool" record --children no --at every=1 -o "$@" -- \
    sqlite3 :memory: < load > /dev/null 2> err &
  recording=$!
  until program=$(pgrep -x sqlite3 -P "$(pgrep -x heapdump -P $recording || echo 0)"); do
    kill -0 $recording 2> /dev/null || { cat err; exit 1; }
    sleep 0.01
  done
}
# ended: kills the program, and waits for its feeder and for heapdump
ended() { kill -KILL $program; { wait; } 2> /dev/null || :; rm load; }

# has FILE: number of dumps so far; 0 if the file does not exist yet
has() { grep -ac '"ph":"v"' "$1" 2> /dev/null || :; }
# whole FILE: the faults of the file at this moment. A copy must be JSON except for the last bracket, valid under
# --strict, and tree must show the last dump.
whole() {
  cp "$1" copy.json
  { cat copy.json; printf ']'; } | jq -e length > /dev/null 2> jq.err || { echo "jq: $(cat jq.err)"; return; }
  "$tool" info --json --strict copy.json > info.json 2> info.err || { echo "info: $(cat info.err)"; return; }
  [ "$(live copy.json --kind live)" = "$(jq -r '.files[0].heaps | map(select(.kind == "live")) | last | "\(.bytes) \(.blocks)"' info.json)" ] || echo "tree: another dump than the last"
}
# times FILE FILTER: applies FILTER to the times of the live dumps, in seconds
times() { "$tool" info --json "$1" | jq -c "[.files[0].heaps[] | select(.kind == \"live\") | .time_us / 1000000] | $2"; }

# While the file grows.
start hour.json
wrong= looks=0
until n=$(has hour.json); [ "${n:-0}" -ge $dumps ]; do
  [ ${n:-0} = 0 ] || { wrong="$wrong$(whole hour.json)"; looks=$((looks + 1)); }
  sleep 0.01
done
check "a copy made at any moment is whole ($looks of them)" "" "$wrong"
cp hour.json growing.json
"$tool" stop hour.json 2> /dev/null
n=$(times hour.json length)
check "$((n - 1)) dumps, at least a second apart" "true true" "$([ $n -gt $dumps ] && echo true) $(times hour.json '. as $t | [range(1; length) | $t[.] - $t[. - 1]] | .[:-1] | all(. >= 1)')"
check "an hour takes less than 50 MB ($(stat -c %s hour.json) bytes for $n dumps)" 1 $(($(stat -c %s hour.json) / n * 3600 < 50000000))
ended

# Commands on the file.
check "validate" 0 "$(status "$tool" validate hour.json)"
check "tree, top and check use the last dump" "$(times hour.json last) $(live hour.json)" \
  "$("$tool" tree --json hour.json | jq -r '.heaps[0] | "\(.time_us / 1000000) \(.rows[0].bytes) \(.rows[0].blocks)"')"
check "... top, too" "$("$tool" tree --json hour.json | jq .heaps[0].dump)" "$("$tool" top --json hour.json | jq .heaps[0].dump)"
check "diff compares the first dump with the last" "$(times hour.json '[first, last]')" "$("$tool" diff --json hour.json | jq -c '.diffs | map(select(.before.kind == "live")) | first | [.before.time_us / 1000000, .after.time_us / 1000000]')"
check "check of a file with itself finds no growth" 0 "$(status "$tool" check hour.json hour.json --max-growth 0)"
"$tool" suspects --json hour.json > suspects.json
check "suspects uses all dumps" "$n" "$(jq '.series[0].dumps' suspects.json)"
check "report" 0 "$(status "$tool" report -o hour.html hour.json)"

# Thinning, with all entries in each dump. Writes are not split here: SIGKILL rarely interrupts the kernel within a
# write.
unset HALVES
start thin.json --min-bytes 1
first= thinned=0 before= wrong=
until [ $thinned -ge 2 ]; do
  inode=$(stat -c %i thin.json 2> /dev/null || :)
  [ "$inode" = "$before" ] || [ -z "$before" ] || { thinned=$((thinned + 1)); wrong="$wrong$(whole thin.json)"; }
  before=$inode
  sleep 0.01
done
check "rewritten under another name and renamed: whole, and the time line thinned to 32 MiB" "" "$wrong$([ $(stat -c %s thin.json) -lt 50000000 ] || stat -c %s thin.json)"
check "most of the oldest dumps are gone, and none of the latest" "true 1" \
  "$(times copy.json '[. as $t | range(1; length) | $t[.] - $t[. - 1] | round] | [(.[0] >= 4), .[-1]] | map(tostring) | join(" ")' | tr -d '"')"

# heapdump is killed, too.
kill -KILL $(pgrep -P $recording)
{ wait $recording; } 2> /dev/null || :
check "SIGKILL of heapdump leaves a whole file" "" "$(whole thin.json)"
ended

if ! need chromium golang-src || ! viewer_page viewer.html; then
  echo "SKIP: the trace viewer's chromium or golang-src cannot be installed here"
else
  PYTHONPATH=$source/lib python3 "$source/lib/timeline.py" hour.json growing.json || failed=1
fi
exit $failed
