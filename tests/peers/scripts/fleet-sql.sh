#!/usr/bin/env bash
# examples/fleet.sql in DuckDB and ClickHouse, on rows of 200 profiles (FULL=1: 10,000). Both give the answers of
# heapdump merge, diff, info and top, to the byte.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

must gcc zlib1g-dev libstb-dev pkg-config
command -v npm > /dev/null || need npm || skip "npm cannot be installed here"
root=$PWD
work=$PWD/build/peers/fleet-sql
rm -rf "$work" && mkdir -p "$work/in" && cd "$work"
npm install --silent --no-audit --no-fund --prefix "$work" @duckdb/node-api@1.5.6-r.1 chdb@3.4 > npm.log 2>&1 ||
  npm install --silent --no-audit --no-fund --prefix "$work" @duckdb/node-api@1.5.6-r.1 >> npm.log 2>&1 || skip "DuckDB cannot be installed here"
linked make_rows "$root/bench/fleet.c" -O2 -lz -lm
./make_rows in rows $([ "${FULL-}" ] && echo 10000 || echo 200) 100

answers() { node "$root/tests/peers/lib/fleet-sql.mjs" "$1" "$root/examples/fleet.sql" "$work" "$tool"; }
grep '^-- [A-Z].*: heapdump ' "$root/examples/fleet.sql" | sed 's/^-- //' > questions
answers ours
check "heapdump answers the five questions" 5 "$(find . -maxdepth 1 -name 'ours.[0-4]' -size +300c | wc -l)"
for engine in duckdb clickhouse; do
  [ $engine = duckdb ] || [ -d node_modules/chdb ] || { echo "SKIP: chdb cannot be installed here"; continue; }
  answers $engine > $engine.log 2>&1 || fail "$engine: $(tail -n 3 $engine.log)"
  n=0
  while IFS= read -r title; do
    check "$engine answers like heapdump: $title" "" "$(cmp ours.$n $engine.$n 2>&1)"
    n=$((n + 1))
  done < questions
done
exit $failed
