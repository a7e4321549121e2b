#!/usr/bin/env bash
# Adds up the results of test programs and prints them in one line: totals.sh LOG... A missing log counts as a program
# that was not built, which is a failure. Fails if a test failed.
set -u
for log in "$@"; do
  printf '== LOG\n'
  if [ -e "$log" ]; then cat "$log"; else echo "== ended with status none"; fi
  printf '\n'
done | awk '
  function program_ends() {
    if (began && began > ok_here + skipped_here + failed_here) failed_here = began - ok_here - skipped_here
    if (bad && !failed_here) failed_here = 1
    ok += ok_here; skipped += skipped_here; failed += failed_here
    began = ok_here = skipped_here = failed_here = bad = listing = 0
  }
  /^== LOG$/ { program_ends(); programs++; next }
  /^== ended with status / { bad = 1 }
  /^\[==========\] .*test\(s\) run/ { listing = 1 }             # cmocka repeats the failures
  listing { next }
  /^\[ RUN      \]/ { began++ }
  /^\[       OK \]/ || /^ok    / { ok_here++ }
  /^\[  SKIPPED \]/ || /^SKIP  / { skipped_here++ }
  /^FAIL  / { failed_here++ }
  /^rooms.sh: [0-9]+ passed, [0-9]+ failed/ { ok_here += $2; failed_here += $4 }
  /^[0-9]+ commands as expected/ { ok_here += $1 }
  END {
    program_ends()
    printf "total: %d programs, %d tests run, %d passed, %d failed, %d skipped\n", programs, ok + failed, ok, failed, skipped
    exit failed > 0
  }'
