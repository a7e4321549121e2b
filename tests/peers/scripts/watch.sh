#!/usr/bin/env bash
# `heapdump watch` in a terminal (tmux, 80x24) on redis under load: the table, each key, other sizes, quitting and
# returning. Also a program that ends or executes another, JSON lines, and truncated or forged regions. FULL=1
# measures the cost for the watched program.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq dash tmux util-linux time sqlite3
root=$PWD work=$PWD/build/peers/watch
rm -rf "$work" && mkdir -p "$work" && cd "$work"
export LC_ALL=C.UTF-8 TERM=xterm
unset TMUX
terminal() { tmux -S "$work/tmux" -f /dev/null "$@"; }
started=
trap 'terminal kill-server 2> /dev/null || :; for p in $started; do kill $p 2> /dev/null || :; done' EXIT

# until_true COMMAND...: waits until it is true, at most two minutes
until_true() { for _ in $(seq ${PATIENCE:-1200}); do if "$@"; then return 0; fi; sleep 0.1; done; return 1; }
picture() { terminal capture-pane -p -t 0; }
shows() { picture | grep -qE -- "$1"; }
hides() { ! picture | grep -qE -- "$1"; }
# seen NAME REGEX: passes when the screen shows it
seen() { if until_true shows "$2"; then pass "$1"; else fail "$1: no '$2' in: $(picture)"; fi; }
gone() { if until_true hides "$2"; then pass "$1"; else fail "$1: '$2' is in: $(picture)"; fi; }
press() { terminal send-keys -t 0 "$@"; }
# The shown sites: the lines below the heading.
sites() { picture | sed '1,/^ *live *blocks/d' | sed '$d' | grep . || true; }

terminal new-session -d -x 80 -y 24 "env PS1='ready> ' bash --norc --noprofile"
seen "a shell in a terminal" 'ready>'

# redis. ------------------------------------------------------------------------------------------------------
if need redis-server redis-tools; then
  cli() { redis-cli -s "$work/redis" "$@"; }
  answers() { [ "$(cli ping 2> /dev/null)" = PONG ]; }
  nice "$tool" record -o redis.json -- /usr/bin/redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save '' > redis.out 2>&1 &
  recording=$!
  started="$started $recording"
  until_true answers
  while answers; do redis-benchmark -s "$work/redis" -q -n 5000 -r 100000 -c 4 -t set,lpush > /dev/null 2>&1 || :; done &
  load=$!
  until_true [ -s redis.json ]
  press "'$tool' watch --every 0.2 redis.json; echo status \$?" Enter
  seen "the process, its sums and resident bytes" '^redis-server \([0-9]+\)'
  seen "... rates of allocation and RSS" '^allocates [0-9.]+ [kM]/s, .*RSS [0-9.]+ M '
  seen "... the composition of its resident bytes" '^live [0-9.]+[kM]  alloc [0-9.]+[kM]  .*files [0-9.]+M .* recorder [0-9.]+M'
  seen "... names of sites" '[0-9]%? +dictAddRaw'
  check "... on 24 lines of 80 columns, the last of which lists keys" "24 yes yes" \
    "$(picture | wc -l) $(picture | awk 'length($0) > 80 { bad = 1 } END { print bad ? "no" : "yes" }') $(picture | tail -n 1 | grep -q '^? help  q quit' && echo yes)"
  pid=$(picture | sed -n '1s/.*(\([0-9]*\)).*/\1/p')
  check "... for that process" redis-server "$(cat /proc/$pid/comm)"
  watching=$(pgrep -P $(terminal display-message -p -t 0 '#{pane_pid}') -x heapdump)
  check "the region is mapped read-only" r--s "$(awk '/memfd:heapdump/ { print $2 }' /proc/$watching/maps | sort -u)"
  for order in 'b blocks' 'g growth' 'a rate' 't temporary' 'n name' 'l live' 's blocks' 'S live'; do
    press "${order% *}"
    seen "key ${order% *} sorts by ${order#* }" "sort: ${order#* } "
  done
  press n
  seen "key n sorts by name" 'sort: name'
  check "... sorted by name" yes "$(sites | awk '{ print $NF }' | head -n 5 | LC_ALL=C sort -c 2> /dev/null && echo yes)"
  press l / 'dict.*Raw' Enter
  seen "/ sets a filter" '/ filter: dict'
  check "... only matching sites remain" "dictAddRaw" "$(sites | awk '{ print $NF }' | sort -u)"
  press / C-u '(' Enter
  seen "an invalid filter: the reason, and the previous filter stays" '^\(: [A-Z]'
  check "... the filter stays" "dictAddRaw" "$(sites | awk '{ print $NF }' | sort -u)"
  press / C-u Enter
  gone "an empty filter" 'filter: dict'
  seen "... shows all sites" 'aeCreateEventLoop'
  press Space
  seen "Space freezes the screen" '^redis-server .*FROZEN'
  before=$(picture | sed -n '2,22p')
  total() { "$tool" watch --json --count 1 $pid | jq .bytes; }
  first=$(total)
  until_true eval '[ "$(total)" != $first ]'
  check "... the screen stays unchanged while redis works" "$before" "$(picture | sed -n '2,22p')"
  top=$(sites | sed -n 1p) below=$(sites | sed -n 2p)
  begins() { [ "$(sites | head -n 1)" = "$1" ]; }
  press Down
  if until_true begins "$below"; then pass "... Down scrolls by one line"; else fail "Down: $(picture)"; fi
  press Up
  if until_true begins "$top"; then pass "... Up scrolls back"; else fail "Up: $(picture)"; fi
  press Space
  gone "Space unfreezes it" FROZEN
  press d
  seen "d shows changes" '^redis-server .*CHANGES'
  seen "... with their signs" '^ +[+-][0-9.]+ [ kM] '
  press d
  gone "... and back to amounts" CHANGES
  press w
  seen "w takes a snapshot" 'saved: heapdump\.redis-server\.[0-9]+\.1\.json'
  check "... info reads the snapshot" "redis-server live" \
    "$("$tool" info --strict --json heapdump.redis-server.$pid.1.json | jq -r '.files[0].heaps[] | [.process, .kind] | join(" ")')"
  check "... and tree does, too" yes "$("$tool" tree heapdump.redis-server.$pid.1.json | grep -q 'main' && echo yes)"
  press '?'
  seen "? shows the help" 'any key goes back'
  press x
  gone "... any key closes it" 'any key goes back'
  press Tab
  seen "there is no other process to switch to" 'no other process'
  press Down Down Up
  for size in '120 40' '60 12' '30 5' '80 24'; do
    terminal resize-window -t 0 -x ${size% *} -y ${size#* }
    [ "$size" = '30 5' ] && { seen "resized to $size" 'too small: 30 x 5'; continue; }
    fills() { [ "$(picture | wc -l)" = ${size#* } ] && picture | tail -n 1 | grep -q 'q quit' && picture | grep -q ' live .*site' && hides 'too small'; }
    if until_true fills; then pass "resized to $size"; else fail "resized to $size: $(picture)"; fi
  done
  press C-z
  seen "Ctrl-Z gives the terminal back to the shell" 'Stopped'
  press 'fg; echo after $?' Enter
  seen "... fg shows the table again" '\? help  q quit'
  press q
  seen "q ends it with status 0" '^after 0'
  check "... redis continues" PONG "$(cli ping)"
  press clear Enter
  gone "the shell's screen is cleared" 'after'
  press "'$tool' watch --every 0.2 $pid; echo status \$?" Enter
  seen "watch by pid" "^redis-server \($pid\)"
  check "... refused for another user" "$([ "$(id -u)" = 0 ] && echo 1)" \
    "$([ "$(id -u)" != 0 ] || status setpriv --reuid nobody --regid nogroup --clear-groups "$tool" watch --json --count 1 $pid)"
  terminal new-session -d -s closed -x 80 -y 24 "exec '$tool' watch --every 0.2 $pid"
  until_true eval 'terminal capture-pane -p -t closed | grep -q "^redis-server"'
  watcher=$(terminal display-message -p -t closed '#{pane_pid}')
  check "in another terminal" heapdump "$(cat /proc/$watcher/comm)"
  terminal kill-session -t closed
  ended() { ! kill -0 $watcher 2> /dev/null; }
  if until_true ended; then pass "... closing it ends heapdump"; else fail "... closing it: $(cat /proc/$watcher/stat)"; kill -9 $watcher; fi
  "$tool" watch --json --every 0.2 $pid > ends.jsonl &
  lines=$!
  until_true [ -s ends.jsonl ]
  cli shutdown nosave > /dev/null 2>&1 || :
  wait $load $recording
  seen "the program ends: a message" "redis-server \($pid\) ended at [0-9:]+"
  seen "... and the last table stays" '^redis-server .*ENDED'
  wait $lines
  check "... the JSON lines end, too, and the last says so" "ended true" "$(tail -n 1 ends.jsonl | jq -r '[.state, (.told | test("ended"))] | join(" ")')"
  press q
  seen "q after the end: status 0" '^status 0'
else
  echo "SKIP: redis: Debian's redis-server cannot be installed"
fi

# A program with known figures, as JSON lines ------------------------------------------------------------------
cat > app.c <<'C'
#include <stdio.h>
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void grows(void) { kept = malloc(1000003); }
__attribute__((noinline)) void passes(void) { for (int i = 0; i < 100; i++) free(kept = malloc(500)); }
int main(void) {
    for (int c; (c = getchar()) != 'q';) if (c == 'g') grows(); else if (c == 'p') passes();
    return 3;
}
C
gcc -g -O1 -fno-builtin app.c -o app
mkfifo go && exec 7<> go
"$tool" record --keep kept -o app.json -- ./app < go 2> err &
recording=$!
echo g >&7
until_true [ -s app.json ]
"$tool" watch --json --every 0.05 app.json > app.jsonl &
lines=$!
has() { jq -s -e "$1" app.jsonl > /dev/null 2>&1; } # whole lines only
site='def site($n): [.sites[] | select(.site | startswith($n))][0];'
if until_true has "$site any(.[]; site(\"grows\").bytes == 1000003)"; then pass "JSON lines: bytes of a site"; else fail "JSON lines: bytes of a site: $(tail -n 1 app.jsonl)"; fi
echo ggp >&7
if until_true has "$site any(.[]; site(\"grows\").bytes == 3000009 and site(\"grows\").blocks == 3)"; then pass "... and after two more blocks"
else fail "... $(tail -n 1 app.jsonl)"; fi
if until_true has "$site any(.[]; site(\"passes\").temporary_per_second > 0)"; then pass "... temporary allocations per second"; else fail "... $(grep passes app.jsonl | tail -n 1)"; fi
check "... for this site all allocations are temporary" true "$(jq -s "$site all(.[]; site(\"passes\") | . == null or .temporary_per_second == .allocated_per_second)" app.jsonl)"
if until_true has "$site any(.[]; .growth_seconds > 0 and (site(\"grows\") | .growth_per_minute > 0 and .bytes == 3000009))"; then pass "... growth per minute"
else fail "... growth: $(tail -n 1 app.jsonl)"; fi
check "... state and RSS of the running process" "runs true" "$(jq -s -r '.[-1] | [.state, .rss_bytes > 1000000] | join(" ")' app.jsonl)"
if until_true has 'any(.[]; .resident.live_blocks > 0)'; then pass "... composition of its resident bytes"; else fail "... $(tail -n 1 app.jsonl | jq -c .resident)"; fi
check "... the parts add up to RSS" true "$(jq -s 'map(.resident | select(.bytes)) | length > 0 and all(.[]; .bytes == .live_blocks + .allocator + .stacks + .files + .anonymous + .recorder + .unexplained and .age_ms >= 0 and .unread == null)' app.jsonl)"
check "... --top, --sort and --filter select sites" "passes" "$("$tool" watch --json --count 1 --sort name --top 1 --filter '^(grows|passes)' app.json | jq -r '.sites[].site' | sed 's/grows.*/passes/; s/ .*//')"
check "... from the file of --keep" 3000009 "$("$tool" watch --json --count 1 kept | jq '.bytes | if . > 3000009 and . < 3200000 then 3000009 else . end')"
head -c 1 < <("$tool" watch --json --every 0.05 app.json) > first; check "the reader closes the pipe" "{" "$(cat first)"

# Usage errors.
check "a process that is not recorded: how to record it" "1 1" "$(status "$tool" watch $$) $(grep -c 'start the program with: heapdump record -- COMMAND' err)"
check "without a terminal and --json: refused" "2 1" "$(status "$tool" watch app.json) $(grep -c 'needs a terminal, or --json' err)"
check "a missing recording: status 1" 1 "$(status "$tool" watch --json no.json)"
check "an unknown --sort word: refused" "2 1" "$(status "$tool" watch --json --sort size app.json) $(grep -c 'live, blocks' err)"
check "an invalid --filter: refused" 2 "$(status "$tool" watch --json --filter '(' app.json)"

# The file of --keep is truncated while it is shown.
head -c 3000000 kept > copy
press clear Enter
press "'$tool' watch --every 0.1 copy; echo status \$?" Enter
seen "the file of --keep" '^app \([0-9]+\)'
: > copy
seen "... truncated: a message, and the terminal is given back" 'the file of --keep was truncated'
seen "... status 1" '^status 1'

# Forged regions.
cat > hostile.py <<'P'
import random, subprocess, sys
tool, data = sys.argv[1], open("kept", "rb").read(3000000)
random.seed(7)
bad = []
def look(what, bytes_):
    open("hostile", "wb").write(bytes_)
    try: status = subprocess.run([tool, "watch", "--json", "--count", "2", "--every", "0.01", "hostile"], timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired: status = "no end"
    if status not in (0, 1): bad.append((what, status))
for size in (0, 1, 4095, 65535, 65536, 70000, 100000, 131072, 200000, 400000): look(f"cut off at {size}", data[:size])
used = len(data.rstrip(b"\0"))
for i in range(50):
    b = bytearray(data)
    for _ in range(1 << random.randrange(12)):
        at = random.randrange(8, used)
        b[at] = random.choice((0, 255, b[at] ^ 1 << random.randrange(8), random.randrange(256)))
    look(f"flipped {i}", bytes(b))
print(bad)
P
check "60 truncated or modified regions: read or refused" "[]" "$(python3 hostile.py "$tool")"
echo q >&7
wait $recording || :
wait $lines

# The process executes another program, first with the recorder and then without it ------------------------------
mkfifo next && exec 8<> next
press clear Enter
"$tool" record -o turns.json -- dash -c 'read x; exec /usr/bin/python3 -c "import os, sys
sys.stdin.readline()
os.execve(\"/bin/sleep\", [\"sleep\", \"900\"], {\"HEAPDUMP_JOIN\": \"\"})"' < next 2> err &
recording=$!
until_true [ -s turns.json ]
press "'$tool' watch --every 0.1 turns.json; echo status \$?" Enter
seen "before the exec" '^dash \([0-9]+\)'
child=$(picture | sed -n '1s/.*(\([0-9]*\)).*/\1/p')
echo >&8
seen "after the exec a message, and the new program is shown" "dash \($child\) became python3"
seen "... with its name" "^python3[.0-9]* \($child\)"
check "... it counts as one process" 1 "$("$tool" watch --json --count 1 turns.json | jq '.processes | length')"
echo >&8
seen "exec without the recorder: a message" "became sleep at [0-9:]+, which does not"
kill $child
seen "... and its end is reported" 'ended at'
press q
wait $recording || :

# Cost for the watched program -------------------------------------------------------------------------------------
if [ "${FULL-}" ]; then
  cat > cost.py <<'P'
import os, statistics, subprocess, sys, time
tool, sql = sys.argv[1], "with recursive n(i) as (select 1 union all select i + 1 from n where i < 700000) select count(*) from (select i, 'name ' || (i * 7919 % 5000) c from n order by c);"
def run(watched):
    if os.path.exists("cost.json"): os.remove("cost.json")
    p = subprocess.Popen([tool, "record", "-o", "cost.json", "--", "/usr/bin/time", "-o", "cost.time", "-f", "%U %S", "sqlite3", ":memory:", sql], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    w = None
    while watched and not os.path.exists("cost.json"): time.sleep(0.005)
    if watched: w = subprocess.Popen([tool, "watch", "--json", "--every", watched, "cost.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.wait()
    if w: w.wait()
    return sum(map(float, open("cost.time").read().split()[-2:]))
for every in ("1", "0.1"):
    ratios = []
    for i in range(20):
        a, b = (run(every), run(None)) if i % 2 else tuple(reversed((run(None), run(every))))
        ratios.append(a / b - 1)
    q = statistics.quantiles(ratios, n=4)
    print(f"processor time of sqlite3 with watch --every {every} beside it, 20 pairs: median {100 * q[1]:+.2f} %, quartiles {100 * q[0]:+.2f} to {100 * q[2]:+.2f} %")
P
  python3 cost.py "$tool"
fi
exit $failed
