#!/usr/bin/env bash
# What a terminal shows of a command that takes long, and what is left of one that is ended by a signal.
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

# What a terminal gets as standard error, and OUTPUT, a state a line. $1: standard input, or -
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
  check "$file: percent, rate and time left" 1 "$(grep -Ec "$form" progress | awk '{ print ($1 > 0) }')"
  check "... percents go up to the end" "" "$(sed -n 's/.*: \([0-9]*\)%.*/\1/p' progress | awk '$1 < last || $1 > 100 { print "from", last, "to", $1 } { last = $1 }')"
done
shown big.folded.gz "$tool" top - > progress
check "standard input that is a file" 1 "$(grep -Ec "${form/'[a-z .]*'/standard input}" progress | awk '{ print ($1 > 0) }')"
shown <(cat big.folded) "$tool" top - > progress
check "a pipe: how much, and the rate" 1 "$(grep -Ec '^reading standard input: [0-9]+ MiB, [0-9.]+ MiB/s$' progress | awk '{ print ($1 > 0) }')"
for way in "convert --to chrome -o wrote.json" "convert --to folded -o wrote.gz" "tree --all --json -o wrote" "report -o wrote.html"; do
  shown - "$tool" $way big.folded > progress
  check "$way: how much is written, and the rate" 1 "$(grep -Ec '^writing wrote[.a-z]*: [0-9]+ MiB, [0-9.]+ MiB/s$' progress | awk '{ print ($1 > 0) }')"
done
{ head -n 100000 big.folded; echo broken line; tail -n 100000 big.folded; } > broken.folded
shown - "$tool" top broken.folded > progress
check "a warning has a line of its own" "1 0" "$(grep -c '^heapdump: .*warning: ' progress) $(grep -c '.heapdump: ' progress || :)"
OUTPUT=1 shown - "$tool" validate big.folded > progress
check "so has the answer" 1 "$(grep -c '^big.folded: folded, nothing wrong' progress)"
shown - "$tool" merge --to folded -o merged.out big.folded big.folded big.folded big.folded > progress
check "merging: percent and time left" 1 "$(grep -Ec '^merging: [0-9]+%, [0-9]+ (s|min) left$' progress | awk '{ print ($1 > 0) }')"
check "nothing of it where it is no terminal" "0 0" \
  "$(LD_PRELOAD=$work/clock.so "$tool" top big.folded 2>&1 > /dev/null | wc -c) $(LD_PRELOAD=$work/clock.so "$tool" report -o wrote.html big.folded 2>&1 | wc -c)"

# A command whose output has begun, and whose input does not end, gets a signal: what it ended by, what is there.
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
  check "... a file that was there stays" "${signal#*:} out old" "$(python3 end.py ${signal%:*} there "$tool" tree -o to/out -)"
  check "... who ignores it is not ended" "status 0 out 64" "$(python3 end.py ${signal%:*} ignored "$tool" tree -o to/out -)"
done
exit $failed
