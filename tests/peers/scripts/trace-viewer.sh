#!/usr/bin/env bash
# The trace viewer of catapult (chrome://tracing in former versions of Chromium) imports our traces entry by entry,
# without a warning. Its memory panel adds up to our figures. Debian has the viewer in Go's sources, which embed it
# for `go tool trace`.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

need chromium nodejs sqlite3 golang-src || skip "the trace viewer's chromium, nodejs, sqlite3 or golang-src cannot be installed here"
work=$PWD/build/peers/trace-viewer
rm -rf "$work" && mkdir -p "$work/raw"
viewer_page "$work/viewer.html" || skip "golang-src does not contain trace_viewer_full.html"

# A heap that grows over several dumps.
sql() { echo "create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < $1)
              insert into t select n, hex(randomblob(20)) from c; select count(*) from t;"; }
"$tool" record -o "$work/exit.json" -- sqlite3 :memory: "$(sql 1000)" > /dev/null
dump=".shell env -u LD_PRELOAD $tool snapshot \$PPID 2> /dev/null"
insert='insert into t select n, hex(randomblob(20)) from (with recursive c(n) as (select 1 union all select n + 1 from c where n < 5000) select n from c);'
"$tool" record -o "$work/every.json" -- sqlite3 :memory: "$(sql 1000)" "$dump" "$insert" "$dump" "$insert" "$dump" > /dev/null
"$tool" convert --to chrome --top 2 -o "$work/condensed.json" "$work/every.json"
HEAPDUMP_KEEP=$work/region LD_PRELOAD=$PWD/build/libheapdump_record.so sqlite3 :memory: "$(sql 20000)" > /dev/null
"$tool" recover -o "$work/raw.json" "$work/region" 2> /dev/null

# Traces written with the library: two processes with growing dumps (in heaps_v2 a later dump omits names of earlier
# ones), two allocators, awkward names and sizes; as profiles and as breakdowns.
cat > "$work/write.c" <<'C'
#include <string.h>
#define HEAPDUMP_IMPLEMENTATION
#include "heapdump.h"
static hd_recorder *rec;
static uintptr_t next = 4096;
static void add(size_t size, const char *type) { hd_record_alloc(rec, (void *)(next += 16), size, type); }
static void deep(int n) {
    HD_SCOPE("test", "recursive <T> & \"quoted\" \\ \n \xe2\x82\xac </script>");
    add((size_t)n, n % 2 ? "odd" : "std::map<K, \"V\">");
    if (n) deep(n - 1);
}
static hd_heap snapshot(uint64_t pid, const char *dump, uint64_t time_us, const char *allocator, bool condense) {
    hd_heap heap = { .pid = pid, .process = "proc \"1\"", .dump = dump, .time_us = time_us, .allocator = allocator };
    hd_profile *profile = NULL;
    hd_breakdown *breakdown = NULL;
    hd_recorder_snapshot(rec, NULL, &profile, NULL);
    if (condense) hd_export(profile, NULL, NULL, &breakdown, NULL);
    heap.profile = condense ? NULL : profile;
    heap.breakdown = breakdown;
    return heap;
}
int main(int argc, char **argv) {
    bool condense = argc > 1 && !strcmp(argv[1], "heaps");
    hd_heap heaps[5];
    hd_error err;
    rec = hd_recorder_create(NULL, NULL);
    add(7, "outside of every scope");
    deep(5);
    heaps[0] = snapshot(1, "0x1", 1000000, "malloc", condense);
    { HD_SCOPE("test", "Second"); add(3, "second"); } /* ids of two processes do not come in one order */
    heaps[1] = snapshot(2, "0x1", 1000000, "malloc", condense);
    { HD_SCOPE("test", "Later"); add((size_t)5 << 40, "huge"); add(0, "empty"); }
    heaps[2] = snapshot(1, "0x2", 2000000, "malloc", condense);
    deep(9);
    heaps[3] = snapshot(1, "0x2", 2000000, "engine/textures", condense);
    heaps[4] = snapshot(2, "0x3", 3000000, "malloc", condense);
    return hd_chrome_write(heaps, 5, NULL, hd_out_file(stdout), &err) != HD_OK;
}
C
linked "$work/write" "$work/write.c" -I.
"$work/write" heaps > "$work/library.json"
"$work/write" heaps_v2 > "$work/library_v2.json"

# node normally ends by itself; this is a time limit in case it does not.
timeout -k 5 1860 node tests/peers/lib/trace-viewer.mjs "$work"
