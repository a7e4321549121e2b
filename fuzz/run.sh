#!/usr/bin/env bash
# Builds and runs harnesses, one after the other, each for FUZZ_SECONDS: run.sh BUILD HARNESS... Prints a line for each,
# and keeps its output in BUILD/fuzz/HARNESS.log. Runs all, and fails if any harness failed.
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1 root=$PWD failed=0
shift
cat fuzz/*.dict >"$build/fuzz/fuzz_all.dict"
printf '%-24s %8s %12s %8s  %s\n' harness seconds executions corpus result
for f in "$@"; do
  log=$build/fuzz/$f.log began=$SECONDS
  if ! make --no-print-directory "$build/fuzz/$f" >"$log" 2>&1; then
    cat "$log"
    printf '%-24s %8d %12s %8s  %s\n' "$f" $((SECONDS - began)) - - "not built"
    failed=1
    continue
  fi
  mkdir -p "$build/fuzz/corpus/$f"
  seeds=("$root/fuzz/seeds/$f") dict=$root/fuzz/$f.dict began=$SECONDS result=ok
  [ "$f" != fuzz_all ] || { seeds=("$root"/fuzz/seeds/*) dict=fuzz_all.dict; }
  (cd "$build/fuzz" && "./$f" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -dict="$dict" "corpus/$f" "${seeds[@]}") >"$log" 2>&1 </dev/null || {
    failed=1
    found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    result="FAIL ${found:+$build/fuzz/${found#./}}, see $log"
  }
  printf '%-24s %8d %12s %8s  %s\n' "$f" $((SECONDS - began)) \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$build/fuzz/corpus/$f" -type f | wc -l)" "$result"
done
exit $failed
