#!/usr/bin/env bash
# heapdump record in difficult conditions: outputs that cannot be written, unusual install paths, signals, programs
# that execute others, programs that cannot be recorded.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 dash jq
work=$PWD/build/peers/record
rm -rf "$work" && mkdir -p "$work"
cd "$work"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
said() { grep -c "$1" err || true; }

# Outputs.
check "-o with a file that cannot be created: a message before the program runs" "1 no" \
  "$(status "$tool" record -o no/where.json -- touch ran) $([ -e ran ] && echo yes || echo no)"
check "-o - is refused: standard output belongs to the program" "2 no" \
  "$(status "$tool" record -o - -- touch ran) $([ -e ran ] && echo yes || echo no)"
mkdir directory
check "-o with a directory: refused" "1 no" "$(status "$tool" record -o directory -- touch ran) $([ -e ran ] && echo yes || echo no)"
mkdir gone
gone="import os, shutil
while os.path.exists('gone'): shutil.rmtree('gone', True)"
check "the directory of -o disappears meanwhile: status 1, and the recording is kept" "1 1" \
  "$(status "$tool" record -o gone/x.json -- /usr/bin/python3 -c "$gone") $(said 'the recording is in')"
check "... the kept recording is readable" 1 "$("$tool" info "$TMPDIR"/heapdump.*.json | grep -c ' malloc .*peak')"
rm -r "$TMPDIR"/*

# Install paths.
mkdir "a b"
cp "$tool" "$(dirname "$tool")/libheapdump_record.so" "a b"
check "an install path with a space: the status" 0 "$(status "a b/heapdump" record -o space.json -- dash -c :)"
check "an install path with a space: the program is recorded" yes "$([ "$(live space.json | cut -d' ' -f1)" -gt 0 ] && echo yes)"

# With --at signal, a signal to heapdump makes a dump. Other signals reach the program.
mkfifo ready go
"$tool" record --at signal=USR1 -o signal.json -- /usr/bin/python3 -c 'import os, signal
signal.signal(signal.SIGUSR2, lambda *a: os._exit(5))
keep = bytes(3000000)
open("ready", "w").write("ready")
open("go").read()' 2> err &
cat ready > out
kill -USR1 $!
until "$tool" info signal.json 2> info.err | grep -q ' malloc '; do sleep 0.05; done
check "--at signal: a dump, and the program continues" "yes 1" "$([ "$(live signal.json | cut -d' ' -f1)" -ge 3000000 ] && echo yes) $(said 'kill -10 [0-9]* makes a dump')"
kill -USR2 $!
s=0; wait $! || s=$?
check "another signal is forwarded" 5 $s

check "the caller ignores SIGCHLD: heapdump's status is the program's" 7 \
  "$(status python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$tool" record -o chld.json -- dash -c 'exit 7')"

# Peaks, exact to 2 percent and a page.
cat > peak.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile p;
static void up_and_down(size_t n) { p = malloc(n), free((void *)p); }
int main(int argc, char **argv) {
    (void)argv;
    up_and_down(16), up_and_down(60000);
    if (argc == 1) return 0;
    up_and_down(100000000);
    if (fork()) wait(NULL);
    else up_and_down(10000000);
    return 0;
}
C
gcc -w peak.c -o peak
"$tool" record --at peak -o peak.json -- ./peak 2> err
check "--at peak: a small heap" yes "$(set -- $(live peak.json --kind peak); [ "$1" -ge 58000 ] && [ "$1" -le 62000 ] && echo yes)"
"$tool" record --at peak -o peaks.json -- ./peak twice 2> err
pid=$("$tool" info --json peaks.json | jq '[.files[0].heaps[].pid] | min')
check "--at peak: a process" yes "$(set -- $(live peaks.json --kind peak --pid $pid); [ "$1" -ge 98000000 ] && echo yes)"
check "--at peak: its child" yes "$(set -- $(live peaks.json --kind peak --pid $("$tool" info --json peaks.json | jq '[.files[0].heaps[].pid] | max')); [ "$1" -ge 9800000 ] && [ "$1" -le 10300000 ] && echo yes)"

# A sampled recording states its sampling interval and its cost.
"$tool" record --sample 4k --stats -o sampled.json -- /usr/bin/python3 -c 'import os
keep = [bytes(100000) for _ in range(100)]
os._exit(0)' 2> err
check "--sample: the estimate is near the true size" yes "$(set -- $(live sampled.json); [ "$1" -ge 9500000 ] && [ "$1" -le 14000000 ] && echo yes)"
check "--sample: the dump has the sampling interval" "4096" "$("$tool" info --json sampled.json | grep -o '"sample_bytes":[0-9]*' | sort -u | cut -d: -f2)"
check "--sample: tree prints errors" yes "$("$tool" tree sampled.json | head -1 | grep -q '±.*sampled every 4.0 KiB' && echo yes)"
check "--stats: milliseconds of a short run have digits" 1 "$(grep -c '^  hooks  *[0-9]*\.[0-9]\{3\} ms of' err)"
check "--sample: temporary blocks are at most all blocks" yes "$(sed -n 's/.*temporary: about \([0-9]*\) of \([0-9]*\) blocks*$/\1 \2/p' err | awk '$1 <= $2 { print "yes" }')"
check "--stats prints five lines" 5 "$(grep -c '^  \(hooks\|sampled\|stacks\|contexts\|memory\) ' err)"

# The summary: sizes with units, one block in singular, the signal; it proposes the peak if that is more than twice
# the end.
cat > told.c <<'C'
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    void *volatile kept = malloc(3 << 20), *volatile freed = malloc(5 << 20);
    (void)kept;
    if (argc > 1) free(freed);
    if (argc > 2) free(kept);
    if (argc > 3) kill(getpid(), atoi(argv[3]));
    return 0;
}
C
gcc -w -include unistd.h told.c -o told
told() { "$tool" record -o told.json "${options[@]}" -- ./told "$@" 2> err || true; sed -n 's/^heapdump: told ([0-9]*): //p' err | sed 's/ after [0-9.]* s//; s/; temporary: \(about \)*[0-9]* of [0-9]* blocks*//'; }
next() { sed -n 's/.*next: //p' err; }
options=()
check "the summary: sizes with units, one block" "peak 8.0 MiB, at the end 3.0 MiB in 1 block" "$(told x)"
check "... it proposes the peak if that is more than twice the end" "heapdump tree --kind peak told.json" "$(next)"
check "... and otherwise does not" "peak 8.0 MiB, at the end 8.0 MiB in 2 blocks heapdump tree told.json" "$(told) $(next)"
check "... a program that freed everything" "peak 8.0 MiB, at the end 0 B in 0 blocks heapdump tree --kind peak told.json" "$(told x x) $(next)"
options=(--at exit)
check "... a file without the peak: no proposal" "peak 8.0 MiB, at the end 0 B in 0 blocks heapdump tree told.json" "$(told x x) $(next)"
# Names mean the same for record and for convert: the warning names the format that convert would write.
for name in x.folded:folded x.csv:rows x.csv.gz:rows x.jsonl.zst:rows-json x.pb.gz:pprof x.speedscope.json:speedscope x.profdata: \
  x.heapsnapshot:; do
  file=${name%%:*} to=${name#*:}
  "$tool" record -o "$file" -- ls > out 2> err
  check "a name of another format: a warning: $file" "1 chrome" "$(
    grep -cxF "heapdump: $file will be a trace (JSON), whatever its name${to:+; for this format: heapdump convert --to $to}" err) $(
    "$tool" info --json "$file" | jq -r '.files[0].format')"
done
for file in x.json x.json.gz x.trace x; do
  "$tool" record -o $file -- ls > out 2> err
  check "... not for $file" 0 "$(grep -c whatever err)"
done
check "... several dumps: suspects" "heapdump suspects several.json" \
  "$("$tool" record --at exit,every=0.1 -o several.json -- sleep 0.5 2> err; next)"
options=(--blocks --keep told.region)
check "... --blocks --keep: pages" "heapdump pages told.region" "$(told > told.out; next)"
options=(--bytes)
check "... with --bytes" "peak 8388608, at the end 3145728 in 1 block" "$(told x)"
options=()
for signal in SEGV KILL ABRT; do
  check "... the signal that ended the program: $signal" "peak 8.0 MiB, at the end 0 B in 0 blocks; killed by SIG$signal" "$(told x '' $(kill -l $signal) 2> /dev/null)"
done

# If a process executes another program, the file has two processes.
timeout 600 "$tool" record -o image.json -- /usr/bin/python3 -c "$until_dumps
until_dumps(1)
os.execv('/bin/dash', ['dash', '-c', ':'])" 2> err
check "both programs of a process are listed" "dash python3" "$("$tool" info --json image.json | jq -r '[.files[0].heaps[].process] | unique | join(" ")')"
check "... the last has the pid; the one before has a new number" 4194304 \
  "$("$tool" info --json image.json | jq '[.files[0].heaps[] | select(.process == "python3") | .pid][0] - [.files[0].heaps[] | select(.process == "dash") | .pid][0]')"

# Programs that --children excludes.
check "--children with another name: the main program is recorded anyway" 0 "$(status "$tool" record --children nosuch -o one.json -- dash -c :)"
check "--children none, meant as no: usage error" "2 heapdump: --children does not take 'none' (expected no, all or REGEX; ^NAME\$ matches a program with this name); see heapdump help record" \
  "$(status "$tool" record --children none -o one.json -- dash -c :) $(cat err)"
cp one.json data.txt && echo text > plain.txt
check "no such program: PATH was searched" "127 heapdump: cannot run nosuch: No such file or directory in PATH" "$(status "$tool" record -o two.json -- nosuch) $(cat err)"
check "... a file here" "127 heapdump: cannot run plain.txt: No such file or directory in PATH (for the file here, write ./plain.txt)" "$(status "$tool" record -o two.json -- plain.txt) $(cat err)"
check "... a heap dump: the command that reads it" "127 1 126 1" "$(for f in data.txt ./data.txt; do status "$tool" record $f; grep -c "It is a heap dump (.*); to read it: heapdump tree $f$" err; done | paste -sd' ')"
check "no temporary files remain" "" "$(ls "$TMPDIR")"
exit $failed
