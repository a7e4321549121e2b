#!/usr/bin/env bash
# Fragmentation: which functions keep nearly empty pages resident. First a program frees nine of ten blocks in a known
# pattern, checked by its own list of addresses. Then redis after random deletes, checked by a preloaded tally and
# /proc/PID/pagemap.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq
sources=$PWD/tests/peers work=$PWD/build/peers/pages
rm -rf "$work" && mkdir -p "$work" && cd "$work"
cat > planted.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { N = 50000, SIZE = 240, LARGE = 5000000 };
static void *kept[N];
static void say(const char *site, void *p, size_t size) {
    char line[80];
    if (write(3, line, (size_t)sprintf(line, "%s %p %zu\n", site, p, size)) < 0) _exit(9);
}
__attribute__((noipa)) static void *cache_entry(void) { return memset(malloc(SIZE), 1, SIZE); }
__attribute__((noipa)) static void *scratch(void) { return memset(malloc(SIZE), 1, SIZE); }
__attribute__((noipa)) static void *table(void) { return memset(malloc(LARGE), 1, LARGE); }
__attribute__((noipa)) static void *page_of_its_own(void) { return memset(aligned_alloc(4096, 4096), 1, 4096); }
__attribute__((noipa)) static void *nothing(void) { return malloc(0); }
int main(void) {
    char c;
    void *large, *small;
    for (int i = 0; i < N; i++) kept[i] = i % 10 ? scratch() : cache_entry();
    for (int i = 0; i < N; i++) if (i % 10 && i != 25001) free(kept[i]);
    for (int i = 0; i < N; i += 10) say("cache_entry", kept[i], SIZE);
    say("scratch", kept[25001], SIZE);
    say("table", large = table(), LARGE);
    for (int i = 0; i < 10; i++) say("page_of_its_own", page_of_its_own(), 4096);
    say("nothing", small = nothing(), 0);
    close(3);
    return read(0, &c, 1) != 0;
}
C
gcc -g -O1 planted.c -o planted
mkfifo stay list
# runs NAME OPTIONS...: records the program until `stay` is closed; its list of blocks is NAME.list
runs() {
  local name=$1
  shift
  "$tool" record "$@" --children no --keep "$name.region" -o "$name.json" -- sh -c 'exec ./planted 3> list' < stay > /dev/null 2> err & recording=$!
  exec 5> stay
  cat list > "$name.list"
}
ends() { exec 5>&-; wait $recording; }
told() { "$tool" pages --json "$@" | python3 "$sources/lib/pages.py" told; }
counted() { python3 "$sources/lib/pages.py" list "$@"; }

runs planted --blocks
pid=$(pgrep -P $recording -x planted)
check "nine of ten blocks freed, the running process: each site's pages equal the list" "$(counted planted.list 4096)" "$(told --page-size 4096 $pid)"
check "... from the recording's region file" "$(counted planted.list 4096)" "$(told --page-size 4096 planted.region)"
next() {                       # the command that a terminal proposes
  TERM=dumb HEAPDUMP_PAGER=cat PYTHONPATH="$sources/lib" python3 -c 'import sys, on_terminal
sys.stdout.write(on_terminal.run(sys.argv[1:], 140, 24)[0].decode())' "$tool" pages "$@" | tr -d '\r' | sed -n 's/^next: \(.*\)  # .*/\1/p'
}
check "a terminal proposes the call stacks" "heapdump pages --by stack planted.region --page-size 64" "$(next --page-size 64 planted.region)"
check "... once" "" "$(next --by stack planted.region)"
for size in 64 65536 2097152; do
  check "... with pages of $size bytes" "$(counted planted.list $size)" "$(told --page-size $size planted.region)"
done
check "... 5,000 survivors keep 3,125 pages, ten times their own size" "5000 1200000 true" \
  "$("$tool" pages --json --page-size 4096 $pid | jq -r '[.processes[0].sites[] | select(.function == "cache_entry")][0] | "\(.blocks) \(.bytes) \(.pages >= 3125 and .pages <= 3127)"')"
check "the columns are named after their contents" "pages own pages share live full function" \
  "$("$tool" pages --page-size 4096 $pid | sed -n 's/^  *\(pages .*function\)$/\1/p' | sed 's/  */ /g')"
check "... blocks that fill their page share it with no others" "10 10" \
  "$("$tool" pages --json --page-size 4096 $pid | jq -r '[.processes[0].sites[] | select(.function == "page_of_its_own")][0] | "\(.pages) \(.own_pages)"')"
ends
check "... after the end of the process, from the file of --keep" "$(counted planted.list 4096)" "$(told --page-size 4096 planted.region)"
check "the text lists the largest sites" "cache_entry table" "$("$tool" pages --page-size 4096 planted.region | awk '$NF ~ /cache_entry|table/ { print $NF }' | sort | paste -sd ' ')"
check "... and --csv writes rows" "6 function" "$("$tool" pages --csv planted.region | tee rows.csv | wc -l) $(head -n 1 rows.csv | cut -d, -f5)"
check "--by type: the program is one site" "planted" "$("$tool" pages --json --by type planted.region | jq -r '.processes[0].sites[].type')"
check "--by stack includes the callers" "main cache_entry" "$("$tool" pages --json --by stack --top 20 planted.region |
  jq -r '.processes[0].sites[].stack | select(.[-1] | startswith("cache_entry")) | map(split(" (")[0])[-2:] | join(" ")')"
check "--top limits the sites" 1 "$("$tool" pages --json --top 1 planted.region | jq '.processes[0].sites | length')"

# The map in the report.
if "$tool" report --pages planted.region -o planted.html planted.json 2> err; then
  sed -n '/<script type="application\/json"/,$p' planted.html | sed '1s/.*<script[^>]*>//; $s/<\/script>$//' > page.json
  "$tool" pages --json planted.region > pages.json
  check "the report's map: few cells contain all pages and their bytes" "true true true" \
    "$(jq -r --slurpfile p pages.json '.pages[0] | "\((.count | add) == $p[0].processes[0].pages) \((.filled | add) == $p[0].processes[0].used_bytes) \(.count | length | . > 2000 and . <= 4096)"' page.json)"
  if need chromium; then
    PYTHONPATH=$sources/lib python3 - > shown << 'P'
import os
from browser import Browser
with Browser(os.getcwd()) as b:
    b.open('file://' + os.path.abspath('planted.html'))
    print(b.run("""(() => {
        const map = document.getElementById("pages-map"), cells = [...map.children].reduce((n, e) => n + +e.getAttribute("width"), 0);
        map.scrollIntoView();
        const box = map.getBoundingClientRect();
        map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 3, clientY: box.top + 3 }));
        const data = JSON.parse(document.getElementById("data").textContent).pages[0];
        return [cells === data.count.length, document.getElementById("pages-detail").textContent.startsWith("from " + data.at[0] + ": "),
                document.querySelectorAll("#keepers tbody tr").length, document.querySelectorAll("#pages-legend li").length].join(" ");
    })()"""), len(b.said), len(b.asked))
P
    check "... in a browser: cells with tooltips, sites, a legend; no error, no network requests" "true true 5 10 0 1" "$(cat shown)"
  else
    echo "SKIP: chromium cannot be installed here"
  fi
else
  check "a report without its library says so" 1 "$(grep -c node-d3 err)"
fi
check "report --pages is refused for objects" "2 1" "$(status "$tool" report --pages planted.region -o no.html "$sources/../data/node-small.heapsnapshot") $(grep -c 'pages is for profiles' err)"

# Inputs without addresses of blocks.
check "a trace is refused: the message says how to record" "1 1" "$(status "$tool" pages planted.json) $(grep -c 'other formats do not contain the addresses of blocks; record again with --blocks --keep FILE' err)"
check "record --keep does not write over a file" "1 1" "$(status "$tool" record --keep planted.json -- true) $(grep -c 'remove it, or choose another name' err)"
runs bare
check "a recording without --blocks: the message names the option" "1 1" "$(status "$tool" pages bare.region) $(grep -c 'record it with --blocks' err)"
ends
runs raw --format memprof-raw
check "a MemProf recording has the addresses, too" "$(counted raw.list 4096)" "$(told --page-size 4096 $(pgrep -P $recording -x planted))"
ends
"$tool" record --blocks --keep many.region -o many.json -- bash -c 'for i in {1..11}; do bash -c :; done; true' > /dev/null 2> err
check "many processes: the largest first, ten of them in the text" "true 10 1" \
  "$("$tool" pages --json many.region | jq '[.processes[].bytes] | length > 10 and . == (sort | reverse)') $(
     "$tool" pages many.region | tee many.txt | grep -c ' live in ') $(grep -c 'more processes with fewer live bytes: .* (--all)' many.txt)"
check "... no empty first column of figures" 0 "$(grep -c 'full they are:,' many.txt)"
check "a process that is not recorded: status 1" "1 1" "$(status "$tool" pages 1) $(grep -c 'no recording of this user.*start the program with: heapdump record -- COMMAND' err)"
check "record refuses --blocks with --sample" "2 1" "$(status "$tool" record --blocks --sample 1k -- true) $(grep -c 'which misses blocks' err)"
check "an invalid page size: usage error" "2" "$(status "$tool" pages --page-size 5000 planted.region)"
check "a truncated region: status 1" 1 "$(head -c 100000 planted.region > cut.region; status "$tool" pages cut.region)"

# redis after random deletes.
if need redis-server redis-tools; then
  gcc -w -O1 -fPIC -shared "$sources/programs/tally.c" -o tally.so -ldl -lpthread
  head -c $((4096 * 64)) /dev/zero > redis.tally
  truncate -s $((16 << 22)) redis.blocks
  TALLY="$work/redis.tally" TALLY_BLOCKS="$work/redis.blocks" LD_PRELOAD="$work/tally.so" "$tool" record --blocks -o redis.json -- \
    /usr/bin/redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save '' --activedefrag no > out 2> err & recording=$!
  cli() { redis-cli -s "$work/redis" "$@"; }
  until [ "$(cli ping 2> /dev/null)" = PONG ]; do sleep 0.05; done
  python3 -c 'import random
r = random.Random(3)
n = '"${FULL:+500000}"' 0 or 40000
for i in range(n): print(f"SET key:{i} {chr(97 + i % 26) * r.randrange(20, 300)}")
for i in range(n):
    if r.random() < 0.9: print(f"DEL key:{i}")' > commands
  cli < commands > replies
  pid=$(pgrep -P $recording redis-server)
  python3 "$sources/lib/pages.py" redis "$tool" $pid redis.blocks > found || true
  read -r missing there all < <(sed -n 2p found)
  check "redis after nine of ten keys were deleted: its pages equal those of the tally's list of blocks" same "$(head -n 1 found)"
  check "... pagemap: every page with a block smaller than a page is resident ($there resident of $all pages with blocks)" 0 "$missing"
  "$tool" pages $pid > redis.txt
  check "... the text names the functions that keep the pages" 1 "$(grep -c '^redis-server ([0-9]*): .* live in [0-9]* blocks keep ' redis.txt)"
  head -n 6 redis.txt
  cli shutdown nosave
  wait $recording
else
  echo "SKIP: redis: Debian's redis-server cannot be installed"
fi
exit $failed
