#!/usr/bin/env bash
# The trace viewer itself (catapult: what chrome://tracing was until Chromium dropped it) imports the
# traces we write, entry by entry, without a warning, and its memory panel adds up to our numbers.
# Debian has the viewer in Go's sources, which embed all of it for `go tool trace`.
set -eu
cd "$(dirname "$0")/../.."

find_viewer() { find -L /usr/share/go-* -name trace_viewer_full.html 2>/dev/null | sort -V | tail -n 1; }

missing=
command -v chromium >/dev/null || missing="$missing chromium"
command -v node >/dev/null || missing="$missing nodejs"
command -v sqlite3 >/dev/null || missing="$missing sqlite3"
[ -n "$(find_viewer)" ] || missing="$missing golang-src"
if [ -n "$missing" ]; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  if ! { command -v apt-get && $sudo apt-get update -qq &&
         DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing; } >/dev/null; then
    echo "SKIP: the trace viewer needs$missing, which cannot be installed here"; exit 0
  fi
fi
viewer=$(find_viewer)
if [ -z "$viewer" ]; then echo "SKIP: golang-src has no trace_viewer_full.html any more"; exit 0; fi

work=$PWD/build/peers/trace-viewer
rm -rf "$work" && mkdir -p "$work/raw"

# A browser cannot import an HTML file into another any more, so the viewer goes into a page whole,
# after the stand-ins for what browsers had in its day.
{ echo '<!DOCTYPE html><html><head><meta charset="utf-8"><script>'
  cat "$(dirname "$viewer")/webcomponents.min.js"
  echo '</script></head><body>'
  cat "$viewer"
  echo '</body></html>'
} > "$work/viewer.html"

# Rows enough that the heap grows over several dumps.
sql() { echo "create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < $1)
              insert into t select n, hex(randomblob(20)) from c; select count(*) from t;"; }
build/heapdump record -o "$work/exit.json" -- sqlite3 :memory: "$(sql 1000)"
build/heapdump record --at every=0.2 -o "$work/every.json" -- sqlite3 :memory: "$(sql 200000)"
build/heapdump convert --to chrome --top 5 -o "$work/condensed.json" "$work/every.json"
HEAPDUMP_DIR=$work/raw HEAPDUMP_AT=peak LD_PRELOAD=$PWD/build/libheapdump_record.so sqlite3 :memory: "$(sql 20000)"
mv "$work"/raw/heapdump.sqlite3.*.json "$work/raw.json"

# node ends by itself in time; this is for the case that it does not.
timeout -k 5 100 node tests/peers/trace-viewer.mjs "$work"
