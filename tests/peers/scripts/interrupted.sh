#!/usr/bin/env bash
# The progress lines of long commands on a terminal, and the files that remain when a signal ends a command.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3
work=$PWD/build/peers/interrupted source=$PWD/tests/peers
rm -rf "$work" && mkdir -p "$work"
cd "$work"
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "main;load_%d;parse_the_words_of_it %d\n", i, i + 1 }' > big.folded
gzip -k1 big.folded
zstd -q -1 big.folded 2> /dev/null || gzip -c big.folded > big.folded.zst
xz -k0 big.folded
${CC:-cc} -shared -fPIC -O1 "$source/programs/clock.c" -o clock.so

# shown STDIN COMMAND...: the terminal's standard error (and output, with OUTPUT=1), one state per line; STDIN may be
# -
shown() {
  LD_PRELOAD=$work/clock.so PYTHONPATH=$source/lib python3 -c '
import os, subprocess, sys
import on_terminal
os.environ["PAGER"] = "cat"
streams = {} if sys.argv[1] == "-" else {"stdin": open(sys.argv[1])}
if "OUTPUT" not in os.environ: streams["stdout"] = subprocess.DEVNULL
text, _ = on_terminal.run(sys.argv[2:], terminal=[s for s in ("stdin", "stdout", "stderr") if s not in streams], **streams)
print(text.replace(b"\r", b"\n").replace(b"\x1b[K", b"").decode())' "$@"
}
form='^reading [a-z .]*: [0-9]+%, [0-9.]+ MiB/s, [0-9]+ (s|min) left$'
for file in big.folded big.folded.gz big.folded.zst big.folded.xz; do
  shown - "$tool" top "$file" > progress
  check "$file: percentage, rate and time left" 1 "$(grep -Ec "$form" progress | awk '{ print ($1 > 0) }')"
  check "... percentages rise to the end" "" "$(sed -n 's/.*: \([0-9]*\)%.*/\1/p' progress | awk '$1 < last || $1 > 100 { print "from", last, "to", $1 } { last = $1 }')"
done
shown big.folded.gz "$tool" top - > progress
check "standard input from a file: percentage, rate and time left" 1 "$(grep -Ec "${form/'[a-z .]*'/standard input}" progress | awk '{ print ($1 > 0) }')"
shown <(cat big.folded) "$tool" top - > progress
check "a pipe: amount and rate" 1 "$(grep -Ec '^reading standard input: [0-9]+ MiB, [0-9.]+ MiB/s$' progress | awk '{ print ($1 > 0) }')"
for way in "convert --to chrome -o wrote.json" "convert --to folded -o wrote.gz" "tree --all --json -o wrote" "report -o wrote.html"; do
  shown - "$tool" $way big.folded > progress
  check "$way: amount written, and rate" 1 "$(grep -Ec '^writing wrote[.a-z]*: [0-9]+ MiB, [0-9.]+ MiB/s$' progress | awk '{ print ($1 > 0) }')"
done
{ head -n 100000 big.folded; echo broken line; tail -n 100000 big.folded; } > broken.folded
shown - "$tool" top broken.folded > progress
check "a warning gets its own line" "1 0" "$(grep -c '^heapdump: .*warning: ' progress) $(grep -c '.heapdump: ' progress || :)"
OUTPUT=1 shown - "$tool" validate big.folded > progress
check "... and so does the answer" 1 "$(grep -c '^big.folded: folded, nothing wrong' progress)"
shown - "$tool" merge --to folded -o merged.out big.folded big.folded big.folded big.folded > progress
check "merge: percentage and time left" 1 "$(grep -Ec '^merging: [0-9]+%, [0-9]+ (s|min) left$' progress | awk '{ print ($1 > 0) }')"
check "no progress lines outside a terminal" "0 0" \
  "$(LD_PRELOAD=$work/clock.so "$tool" top big.folded 2>&1 > /dev/null | wc -c) $(LD_PRELOAD=$work/clock.so "$tool" report -o wrote.html big.folded 2>&1 | wc -c)"

# A signal ends a command whose output has begun and whose input does not end. Checked: the signal, and the files.
cat > end.py <<'P'
import os, signal, subprocess, sys
number, before, command = getattr(signal, sys.argv[1]), sys.argv[2], sys.argv[3:]
os.makedirs("to", exist_ok=True)
for name in os.listdir("to"): os.unlink("to/" + name)
if before == "there":
    with open("to/out", "w") as f: f.write("old")
def reset():
    for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN if before == "ignored" else signal.SIG_DFL)
p = subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=reset, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not [n for n in os.listdir("to") if n != "out"] and p.poll() is None: pass
os.kill(p.pid, number)
if before == "ignored": p.stdin.write(b"main;load 64\n")
try: p.stdin.close()
except BrokenPipeError: pass
status = p.wait()
print(-status if status < 0 else "status %d" % status, ",".join(sorted(os.listdir("to"))), open("to/out").read().split()[0] if os.path.exists("to/out") else "")
P
for signal in SIGINT:2 SIGTERM:15 SIGHUP:1; do
  for way in "tree -o to/out -" "info --json -o to/out -" "top -o to/out.gz -"; do
    check "$way, ended by ${signal%:*}: no file" "${signal#*:}  " "$(python3 end.py ${signal%:*} none "$tool" $way)"
  done
  check "... an existing file stays unchanged" "${signal#*:} out old" "$(python3 end.py ${signal%:*} there "$tool" tree -o to/out -)"
  check "... a command that ignores the signal continues" "status 0 out 64" "$(python3 end.py ${signal%:*} ignored "$tool" tree -o to/out -)"
done
exit $failed
