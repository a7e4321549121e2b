#!/usr/bin/env bash
# The heapdump command as its help promises: statuses, streams, JSON that a JSON reader reads.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq python3
work=build/peers/tool data=$PWD/tests/data
rm -rf $work && mkdir -p $work
build/examples/record_engine > $work/engine.json
cd $work

check "no arguments: usage on stderr" "2 0" "$(status "$tool") $(wc -c < out)"
check "--help: status 0, on stdout" "0 0" "$(status "$tool" --help) $(wc -c < err)"
for c in record tree top diff merge info memprof convert; do check "$c --help" 0 "$(status "$tool" $c --help)"; done
check "no such command" 2 "$(status "$tool" trees engine.json)"
check "... tells one that is near" "2 heapdump: no command 'trees' (did you mean tree?); see heapdump --help" "$(status "$tool" trees) $(cat err)"
for word in 'tre tree' 'clases classes' 'retaned retained' 'dif diff' 'conv convert' 'memproff memprof' 'paht path' 'strigns strings'; do
  check "... $word" 1 "$(status "$tool" ${word% *} > /dev/null; grep -c "(did you mean ${word#* }?)" err)"
done
check "... or none" "2 heapdump: no command 'frobnicate'; see heapdump --help" "$(status "$tool" frobnicate) $(cat err)"
check "an empty command" "2 heapdump: no command ''; see heapdump --help" "$(status "$tool" "") $(cat err)"
check "no such option tells one that is near" "2 heapdump: tree does not know the option '--invrt=1' (did you mean --invert?); see heapdump help tree" \
  "$(status "$tool" tree --invrt=1 engine.json) $(cat err)"
check "... of this command alone" "2 heapdump: info does not know the option '--min-byts'; see heapdump help info" "$(status "$tool" info --min-byts engine.json) $(cat err)"
check "... of an ambiguous beginning" "2 1" "$(status "$tool" tree --min engine.json) $(grep -c "(did you mean --min-bytes?)" err)"
check "... but of a single letter" "2 0" "$(status "$tool" tree --q engine.json) $(grep -c "did you mean" err)"
check "a word longer than all" 2 "$(status "$tool" tree --$(printf 'min%.0s' {1..999}) engine.json)"
check "no such command to help with" "2 1" "$(status "$tool" help trees) $(grep -c 'did you mean tree' err)"
for word in version -v; do check "$word: the version" "0 $("$tool" --version)" "$(status "$tool" $word) $(cat out)"; done
check "an option before the command" "2 heapdump: expected a command, found the option '--json' (options follow the command); see heapdump --help" \
  "$(status "$tool" --json) $(cat err)"
check "a file without a command" "2 heapdump: expected a command, found the file engine.json (a trace (JSON)); try: heapdump tree engine.json" \
  "$(status "$tool" engine.json) $(cat err)"
check "a snapshot without a command" 1 "$(status "$tool" $data/small.dartheap > /dev/null; grep -c '(a Dart snapshot); try: heapdump suspects ' err)"
check "a program without a command" 1 "$(status "$tool" "$tool" > /dev/null; grep -c 'which is a program or library (ELF); heapdump record -- PROGRAM' err)"
check "capture without a port" "2 1" "$(status "$tool" capture) $(grep -c 'capture needs a port: 9229 for node --inspect' err)"
check "watch without a recording" "2 1" "$(status "$tool" watch) $(grep -c 'watch needs the file of a recording, or the PID of a process' err)"

# Help is made for reading: the list fits a small terminal, summaries and options have one line each.
"$tool" --help > help
check "the list of commands fits 80x24, with a line for the prompt" "yes" "$(awk 'length > 80 { bad = 1 } END { print (bad || NR > 23) ? "no" : "yes" }' help)"
check "... and begins with five commands" "record suspects tree diff path" "$(sed -n 's/^  \([a-z]\+\)  .*/\1/p' help | xargs)"
"$tool" help all > all
check "... and has all others" "" "$(for c in $(sed -n 's/^  \([a-z]\+\)  .*/\1/p' all); do grep -qw $c help || echo $c; done)"
check "a summary has at most 60 characters" "" "$(sed -n 's/^  [a-z]\+  \+//p' all | awk 'length > 60')"
for c in $(sed -n 's/^  \([a-z]\+\)  .*/\1/p' all); do
  "$tool" help $c > help
  check "help $c: at most 80 columns" "" "$(LC_ALL=C.UTF-8 awk 'length > 80 && !/^usage: /' help)"
  check "help $c: one line for each option" "" "$(sed '/^examples:/,$d' help | grep -v '^  *\[' | sed '/^  --to /,/^  -/{/^  -/!d}' | grep '^   ' || true)"
done
on_terminal() { # COLUMNS COMMAND...
  PYTHONPATH=$common_root/tests/peers/lib python3 -c 'import sys, on_terminal
sys.stdout.buffer.write(on_terminal.run(sys.argv[2:], int(sys.argv[1]))[0].replace(b"\r\n", b"\n"))' "$@"
}
on_terminal 60 "$tool" help tree > help
check "help wraps at the width of the terminal" "" "$(sed '/^examples:/,$d' help | LC_ALL=C.UTF-8 awk 'length > 60 && !/^usage: /')"
check "... of a wide one too" yes "$(on_terminal 100 "$tool" help tree | awk 'length > 85 { found = "yes" } END { print found }')"
check "help of a command" "$("$tool" tree --help)" "$("$tool" help tree)"
check "no such option" 2 "$(status "$tool" tree --deep engine.json)"
check "no such short option" "2 1" "$(status "$tool" tree engine.json -xyz) $(grep -c "option '-x'" err)"
check "a value for an option that has none" "2 heapdump: --json takes no value; see heapdump help tree" "$(status "$tool" tree --json=1 engine.json) $(cat err)"
check "an option of another command" 2 "$(status "$tool" info --top 3 engine.json)"
for what in " 0.5" "0.5 " +0.5 -0 0x0 nan inf "" . % 1e400; do
  check "a share of '$what'" 2 "$(status "$tool" tree --min-share "$what" engine.json)"
  check "a growth of '$what'" 2 "$(status "$tool" check --max-growth "$what" engine.json engine.json)"
  check "a threshold of '$what'" 2 "$(status "$tool" memprof --hints --cold-density "$what" engine.json)"
  check "an --at of every='$what'" 2 "$(status "$tool" record --at "every=$what" -- true)"
done
for what in 0.5 .5 5e-1 50%; do check "a share of $what" 0 "$(status "$tool" tree --min-share $what engine.json)"; done
check "a share above 1" 2 "$(status "$tool" tree --min-share 1.5 engine.json)"
check "no file" 2 "$(status "$tool" tree)"
check "record without a program" 2 "$(status "$tool" record)"
check "an --at that is none" 2 "$(status "$tool" record --at noon -- true)"
check "an --at that never comes" 2 "$(status "$tool" record --at every=inf -- true)"
check "a sample of nothing" 2 "$(status "$tool" record --sample 0 -- true)"
check "a missing file" "1 heapdump: no.json: cannot open no.json: No such file or directory" "$(status "$tool" tree no.json) $(cat err)"

printf '{"traceEvents":[\n{"pid":1,]}' > bad.json
check "a bad file, strict" "1 heapdump: bad.json (chrome): offset 26: event 0, pid 1: a key expected, ']' found (line 2)" "$(status "$tool" tree --strict bad.json) $(cat err)"
check "... lenient: warnings name the format as well" "1 1" "$(status "$tool" info bad.json) $(grep -c '^heapdump: bad.json (chrome): offset 26: warning: event 0' err)"
printf 'ELF' > not.json
check "no heap dump" 1 "$(status "$tool" tree not.json)"
check "... is reported as text" "heapdump: not.json: offset 0: expected a heap dump, found text of an unknown format" "$(cat err)"
printf '\377\330\377\340\0\020JFIF' > photo.jpg
check "an image" "1 heapdump: photo.jpg: offset 0: expected a heap dump, found a JPEG image" "$(status "$tool" tree photo.jpg) $(cat err)"
check "a program" "1 heapdump: $tool: offset 0: expected a heap dump, found a program or library (ELF); heapdump record -- PROGRAM records its heap" \
  "$(status "$tool" tree "$tool") $(cat err)"
check "a compressed file of another format" "1 heapdump: -: offset 0: expected a heap dump, found compressed data (gzip) of an unknown format" \
  "$(echo words | gzip > words.gz; status "$tool" tree - < words.gz | cat) $(sed 's/standard input/-/' err)"
: > empty.json
check "an empty file" "1 heapdump: empty.json: offset 0: the input is empty" "$(status "$tool" tree empty.json) $(cat err)"
check "what is wrong with a regular expression" "2 heapdump: --keep does not take 'load(': Unmatched ( or \\(; see heapdump help tree" "$(status "$tool" tree --keep 'load(' empty.json) $(cat err)"
printf '{"traceEvents":[]}' > none.json
check "a trace without heaps: info lists none" "0 none.json: chrome, 0 heaps" "$(status "$tool" info none.json) $(cat out)"
check "a trace without heaps: no tree" 1 "$(status "$tool" tree none.json)"

check "--format help lists names and titles" "chrome          a trace (JSON)" "$("$tool" info --format help | grep chrome)"
for name in $("$tool" info --format help | cut -d' ' -f1 | grep -v chrome); do
  check "a trace is no $name, and is not read as one" "1 1" \
    "$(status "$tool" info --strict --format $name engine.json) $(grep -c "^heapdump: engine.json ($name): " err)"
done
check "--format of what it is" "$("$tool" info engine.json)" "$("$tool" info --format chrome engine.json)"
check "--format of a name that is none" "2 heapdump: --format does not take 'elf' (--format help lists what it takes); see heapdump help info" "$(status "$tool" info --format elf engine.json) $(cat err)"
printf 'a 2 x 0\no 1 1 8 1\nc x 1\n' > small.log
check "info names the format" "small.log: netcf netcf" "$("$tool" info small.log | head -1) $("$tool" info --json small.log | jq -r '.files[0].format')"

"$tool" tree --bytes engine.json > tree
check "tree" "4494304  100.0%  5  engine, engine, pid 1, dump 0x1" "$(head -1 tree)"
check "standard input" "$(cat tree)" "$("$tool" tree --bytes - < engine.json)"
check "a pipe by name" "$(cat tree)" "$("$tool" tree --bytes <(cat engine.json))"
"$tool" tree --bytes -o tree.out engine.json
check "-o" "$(cat tree)" "$(cat tree.out)"
check "-o into nothing" 1 "$(status "$tool" tree -o no/where engine.json)"
check "a full device" 1 "$( ("$tool" tree engine.json > /dev/full) 2> err && echo 0 || echo $?)"
check "--by type" "Texture" "$("$tool" tree --by type engine.json | sed -n '2s/.*: //p')"
check "--min-bytes" 4 "$("$tool" tree --frames all --min-bytes 4M engine.json | grep -c -v other)"
check "two files, one bad: the good one is shown" "1 $(cat tree)" "$(status "$tool" tree --bytes no.json engine.json) $(cat out)"
check "what all JSON begins with" "heapdump,command,files,heaps,left_out" "$("$tool" tree --json engine.json engine.json | jq -r 'keys_unsorted | join(",")')"
check "... the version, the command, the files, and which of them a heap is of" "$("$tool" --version | cut -d' ' -f2) top engine.json,- engine.json,-" \
  "$("$tool" top --json engine.json - < engine.json | jq -r '"\(.heapdump) \(.command) \([.files[].file] | join(",")) \([.heaps[].file] | join(","))"')"
check "... where files are what is listed, once" "heapdump,command,files chrome" "$("$tool" info --json engine.json | jq -r '"\(keys_unsorted | join(",")) \(.files[0].format)"')"
check "... of a file that is none, too" "1 tree no.json 0" "$(status "$tool" tree --json no.json) $(jq -r '"\(.command) \(.files[0].file) \(.heaps | length)"' out)"
printf '_start;main;work;malloc 8\n' > hidden.folded
check "what is left out is told" "2" "$("$tool" tree --json hidden.folded | jq .left_out.hidden_frames)"
check "... or nothing is" "0" "$("$tool" tree --json --frames all hidden.folded | jq .left_out.hidden_frames)"
check "tree --json" '4494304 null "LoadLevel"' "$("$tool" tree --json engine.json | jq -r '.heaps[0].rows | "\(.[0].bytes) \(.[0].axis) \"\(.[1].name)\""')"
check "info --json" '[1,"engine","0x1","engine",4494304,5]' "$("$tool" info --json engine.json | jq -c '.files[0].heaps[0] | [.pid, .process, .dump, .allocator, .bytes, .blocks]')"
check "selecting" 1 "$(status "$tool" tree --pid 7 engine.json)"
check "selecting an allocator" 0 "$(status "$tool" tree --allocator engine --pid 1 --dump 0x1 engine.json)"

"$tool" convert --to chrome -o again.json engine.json
check "convert gives back what it reads" "$(cat engine.json)" "$(cat again.json)"
"$tool" convert --to chrome --top 1 -o top.json engine.json
check "convert condenses" "$("$tool" tree --bytes --top 1 engine.json)" "$("$tool" tree --bytes --min-bytes 0 top.json)"
# Files of several pieces are written by a thread.
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "main;work%d;a_function_with_a_long_name_%d %d\n", i % 300, i, i + 1 }' > many.folded
"$tool" convert --to chrome -o many.json many.folded
"$tool" convert --to chrome -o - many.folded > many.piped
check "a file of several pieces is what a pipe gets" "yes same" "$([ "$(wc -c < many.json)" -gt 2000000 ] && echo yes) $(cmp many.json many.piped && echo same)"
for blocks in 1 600 1100 $(($(wc -c < many.json) / 1024)); do # of 1 KB: the disk is full in the first piece, a later one, the last one
  check "... a disk that is full at $blocks KB: status, message, nothing left" "1 1 0" \
    "$(ulimit -f $blocks; status "$tool" convert --to chrome -o half.json many.folded) $(grep -c 'File too large' err) $(ls -A | grep -c half)"
done
mkfifo slow
(exec head -c 1000000 slow > /dev/null) &
check "... a pipe whose reader goes" 1 "$([ "$(status "$tool" convert --to chrome -o slow many.folded)" -gt 0 ] && echo 1)"
wait
"$tool" convert --to chrome -o slow many.folded &
{ head -c 10 > /dev/null; kill $!; s=0; wait $! || s=$?; } < slow
check "... ended by a signal in the middle: status, nothing beside it" "143 slow" "$s $(ls -A | grep slow | tr '\n' ' ' | sed 's/ $//')"

check "convert to nothing known" 2 "$(status "$tool" convert --to elf engine.json)"
check "a convert that fails leaves no file" "1 no" "$(status "$tool" convert --to chrome -o fail.json bad.json) $([ -e fail.json ] && echo yes || echo no)"

raw=../../../tests/data/memprof-19.raw old=../../../tests/data/memprof-14.raw
check "info tells of a raw profile" "4 false $("$tool" top --bytes --json $raw | jq '[.heaps[0].rows[].self_bytes] | add')" \
  "$("$tool" info --json $raw | jq -r '.files[0].profiles[0] | "\(.version) \(.big_endian) \(.totals.TotalSize)"')"
"$tool" convert --to memprof-raw -o same.raw $raw
check "a raw profile is written as it was" 0 "$(status cmp same.raw $raw)"
"$tool" convert --to memprof-raw --memprof-version 3 -o 3.raw $raw
check "... or as another version" "3 25" \
  "$("$tool" info --json 3.raw | jq -r '.files[0].profiles[0] | "\(.version) \(.fields | length)"')"
check "fields that are not there are not made up" 1 "$(status "$tool" convert --to memprof-raw --memprof-version 4 -o 4.raw $old)"
check "no such version" 2 "$(status "$tool" convert --to memprof-raw --memprof-version 9 $raw)"
check "merging raw profiles adds counts up" "$("$tool" info --json $raw | jq '.files[0].profiles[0].totals | [.AllocCount, .TotalSize, .MaxSize, .MinLifetime] | [.[0] * 2, .[1] * 2, .[2], .[3]]' -c)" \
  "$("$tool" merge -o twice.raw $raw $raw && "$tool" info --json twice.raw | jq -c '.files[0].profiles[0].totals | [.AllocCount, .TotalSize, .MaxSize, .MinLifetime]')"
gzip -c $raw > packed.gz
"$tool" merge --to memprof-raw -o packed.raw packed.gz - < $raw 2> err
check "... packed ones and standard input too" 0 "$(status cmp packed.raw twice.raw)"
check "a metric" "AllocCount $("$tool" info --json $raw | jq '.files[0].profiles[0].totals.AllocCount')" \
  "$("$tool" tree --metric alloccount --json $raw | jq -r '.heaps[0] | "\(.allocator) \(.rows[0].bytes)"')"
check "... on average" "average TotalSize" "$("$tool" top --metric average --json $raw | jq -r '.heaps[0].allocator')"
check "no such metric" 2 "$(status "$tool" tree --metric Bytes $raw)"
check "a metric that can have no average" 1 "$(status "$tool" tree --metric average:MaxSize $raw)"
check "by size" size "$("$tool" tree --by size --json $raw | jq -r '.heaps[0].rows[1].axis')"
check "by lifetime of a trace" "1 heapdump: engine.json (chrome): not a MemProf profile; lifetime needs one" \
  "$(status "$tool" tree --by lifetime engine.json) $(cat err)"
check "growth between raw profiles" "$("$tool" info --json $raw | jq '.files[0].profiles[0].totals.TotalSize | "\(.) \(. * 2)"' -r)" \
  "$("$tool" diff --json $raw twice.raw | jq -r '.diffs[0].rows[0] | "\(.before) \(.after)"')"
check "records, and the frames of a profile" "$("$tool" info --json $raw | jq -r '.files[0].profiles[0] | "\(.blocks) \(.totals.TotalSize)"')" \
  "$("$tool" memprof --json $raw | jq -r '[.Records[].AllocSites[].MemInfoBlock.TotalSize] | "\(length) \(add)"')"
check "records of a trace" 1 "$(status "$tool" memprof engine.json)"
check "a binary that is none" 1 "$(status "$tool" tree --binary engine.json $raw)"
check "raw profiles go into a trace" "$("$tool" tree --bytes --min-bytes 1 $raw | cut -d, -f1)" \
  "$("$tool" convert --to chrome $raw | "$tool" tree --bytes --min-bytes 1 - | cut -d, -f1)"
check "nothing else is made raw" 1 "$(status "$tool" convert --to memprof-raw engine.json)"
check "nothing temporary is left" "" "$(ls | grep tmp || true)"
exit $failed
