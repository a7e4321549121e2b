#!/usr/bin/env bash
# The heapdump command keeps the promises of its help: exit status, output streams, and JSON for a JSON reader.
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
check "an unknown command" 2 "$(status "$tool" trees engine.json)"
check "... the message suggests a similar one" "2 heapdump: no command 'trees' (did you mean tree?); see heapdump --help" "$(status "$tool" trees) $(cat err)"
for word in 'tre tree' 'clases classes' 'retaned retained' 'dif diff' 'conv convert' 'memproff memprof' 'paht path' 'strigns strings'; do
  check "... $word" 1 "$(status "$tool" ${word% *} > /dev/null; grep -c "(did you mean ${word#* }?)" err)"
done
check "... if there is a similar one" "2 heapdump: no command 'frobnicate'; see heapdump --help" "$(status "$tool" frobnicate) $(cat err)"
check "an empty command" "2 heapdump: no command ''; see heapdump --help" "$(status "$tool" "") $(cat err)"
check "an unknown option: the message suggests a similar one" "2 heapdump: tree does not know the option '--invrt=1' (did you mean --invert?); see heapdump help tree" \
  "$(status "$tool" tree --invrt=1 engine.json) $(cat err)"
check "... only options of the same command" "2 heapdump: info does not know the option '--min-byts'; see heapdump help info" "$(status "$tool" info --min-byts engine.json) $(cat err)"
check "... for an ambiguous prefix" "2 1" "$(status "$tool" tree --min engine.json) $(grep -c "(did you mean --min-bytes?)" err)"
check "... not for a single letter" "2 0" "$(status "$tool" tree --q engine.json) $(grep -c "did you mean" err)"
check "an option longer than all options" 2 "$(status "$tool" tree --$(printf 'min%.0s' {1..999}) engine.json)"
check "help for an unknown command" "2 1" "$(status "$tool" help trees) $(grep -c 'did you mean tree' err)"
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
check "help wraps at the width of the terminal" "" "$(sed '/^examples:/,$d' help | LC_ALL=C.UTF-8 sed 's/[^ -~]/?/g' | awk 'length > 60 && !/^usage: /')"
check "... of a wide one, too" yes "$(on_terminal 100 "$tool" help tree | awk 'length > 85 { found = "yes" } END { print found }')"
check "help COMMAND equals COMMAND --help" "$("$tool" tree --help)" "$("$tool" help tree)"
check "an unknown option" 2 "$(status "$tool" tree --deep engine.json)"
check "an unknown short option" "2 1" "$(status "$tool" tree engine.json -xyz) $(grep -c "option '-x'" err)"
check "a value for an option without value" "2 heapdump: --json takes no value; see heapdump help tree" "$(status "$tool" tree --json=1 engine.json) $(cat err)"
check "an option of another command" 2 "$(status "$tool" info --top 3 engine.json)"
for what in " 0.5" "0.5 " +0.5 -0 0x0 nan inf "" . % 1e400; do
  check "a share of '$what'" 2 "$(status "$tool" tree --min-share "$what" engine.json)"
  check "a growth of '$what'" 2 "$(status "$tool" check --max-growth "$what" engine.json engine.json)"
  check "a threshold of '$what'" 2 "$(status "$tool" memprof --hints --cold-density "$what" engine.json)"
  check "an --at of every='$what'" 2 "$(status "$tool" record --at "every=$what" -- true)"
done
for what in 0.5 .5 5e-1 50%; do check "a share of $what" 0 "$(status "$tool" tree --min-share $what engine.json)"; done
check "a share above 1" 2 "$(status "$tool" tree --min-share 1.5 engine.json)"
check "no file argument" 2 "$(status "$tool" tree)"
check "record without a program" 2 "$(status "$tool" record)"
check "--at with an unknown word" 2 "$(status "$tool" record --at noon -- true)"
check "--at with an infinite interval" 2 "$(status "$tool" record --at every=inf -- true)"
check "--sample 0 is refused" 2 "$(status "$tool" record --sample 0 -- true)"
check "a missing file" "1 heapdump: cannot open no.json: No such file or directory" "$(status "$tool" tree no.json) $(cat err)"

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
check "an invalid regular expression: the reason" "2 heapdump: --keep does not take 'load(': Unmatched ( or \\(; see heapdump help tree" "$(status "$tool" tree --keep 'load(' empty.json) $(cat err)"
printf '{"traceEvents":[]}' > none.json
check "a trace without heaps: info lists zero" "0 none.json: chrome, 0 heaps" "$(status "$tool" info none.json) $(cat out)"
check "a trace without heaps: tree fails" 1 "$(status "$tool" tree none.json)"

check "--format help lists names and titles" "chrome          a trace (JSON)" "$("$tool" info --format help | grep chrome)"
check "... and each format has a title" "" "$("$tool" info --format help | grep -v '^[a-z-]\+ \+[a-z]')"
for name in $("$tool" info --format help | cut -d' ' -f1 | grep -v chrome); do
  check "a trace is not read as $name" "1 1" \
    "$(status "$tool" info --strict --format $name engine.json) $(grep -c "^heapdump: engine.json ($name): " err)"
done
check "--format with the file's format" "$("$tool" info engine.json)" "$("$tool" info --format chrome engine.json)"
for value in "min-bytes x=a number of bytes, such as 64k, 10M or 1G" "min-share 2=0 to 1, or a percentage such as 5%" \
  "top 0=a whole number from 1" "kind alive=live, peak, total or temporary" "sort size=bytes, blocks, self or name" \
  "pid x=the number of a process" "frames no=all or hidden" "names-time 0=a number of seconds above 0" \
  "soft x=strong or weak" "layout x=compressed, wide or file"; do
  option=${value%%=*}
  check "--${option% *} with a wrong value: the expected one" "2 heapdump: --${option% *} does not take '${option#* }' (expected ${value#*=}); see heapdump help tree" \
    "$(status "$tool" tree --${option/ /=} engine.json) $(cat err)"
done
check "--format with an unknown name" "2 heapdump: --format does not take 'elf' (--format help lists what it takes); see heapdump help info" "$(status "$tool" info --format elf engine.json) $(cat err)"
printf 'a 2 x 0\no 1 1 8 1\nc x 1\n' > small.log
check "info names the format" "small.log: netcf netcf" "$("$tool" info small.log | head -1) $("$tool" info --json small.log | jq -r '.files[0].format')"

"$tool" tree --bytes engine.json > tree
check "tree" "4494304  100.0%  5  engine, engine, pid 1, dump 0x1" "$(head -1 tree)"
check "tree of standard input" "$(cat tree)" "$("$tool" tree --bytes - < engine.json)"
check "tree of a named pipe" "$(cat tree)" "$("$tool" tree --bytes <(cat engine.json))"
"$tool" tree --bytes -o tree.out engine.json
check "-o writes the same output" "$(cat tree)" "$(cat tree.out)"
# Commands that write a file: without -o a pipe gets the same bytes, and a terminal gets an error.
for c in report "convert --to chrome" "convert --to pprof" merge rows; do
  "$tool" $c -o written engine.json 2> err
  check "$c without -o: the bytes of the file go to a pipe, or with -o -" "$(sha256sum < written) same" \
    "$("$tool" $c engine.json 2> err | sha256sum) $("$tool" $c -o - engine.json 2> err | cmp - written && echo same)"
  check "... but not to a terminal" 1 "$(on_terminal 200 "$tool" $c engine.json 2>&1 | grep -cE '^heapdump: .*: use -o (FILE|report.html)')"
done
check "-o into a missing directory: status 1" 1 "$(status "$tool" tree -o no/where engine.json)"
check "a full device" 1 "$( ("$tool" tree engine.json > /dev/full) 2> err && echo 0 || echo $?)"
check "--by type" "Texture" "$("$tool" tree --by type engine.json | sed -n '2s/.*: //p')"
check "--min-bytes" 4 "$("$tool" tree --frames all --min-bytes 4M engine.json | grep -c -v other)"
check "two files, one bad: the good one is shown" "1 $(cat tree)" "$(status "$tool" tree --bytes no.json engine.json) $(cat out)"
check "--json begins with the common keys" "heapdump,command,files,heaps,left_out" "$("$tool" tree --json engine.json engine.json | jq -r 'keys_unsorted | join(",")')"
check "... version, command and files, and each heap names its file" "$("$tool" --version | cut -d' ' -f2) top engine.json,- engine.json,-" \
  "$("$tool" top --json engine.json - < engine.json | jq -r '"\(.heapdump) \(.command) \([.files[].file] | join(",")) \([.heaps[].file] | join(","))"')"
check "... for info, the files are the answer" "heapdump,command,files chrome" "$("$tool" info --json engine.json | jq -r '"\(keys_unsorted | join(",")) \(.files[0].format)"')"
check "... for a missing file, too" "1 tree no.json 0" "$(status "$tool" tree --json no.json) $(jq -r '"\(.command) \(.files[0].file) \(.heaps | length)"' out)"
printf '_start;main;work;malloc 8\n' > hidden.folded
check "--json counts hidden frames" "2" "$("$tool" tree --json hidden.folded | jq .left_out.hidden_frames)"
check "... 0 with --frames all" "0" "$("$tool" tree --json --frames all hidden.folded | jq .left_out.hidden_frames)"
# Only hidden frames of the shown heaps count: not those of earlier dumps, of other kinds, and of smaller heaps.
hidden_of() { "$tool" "$@" | sed -n 's/^hidden: \([0-9]*\) frame.*/\1/p'; }
heap_rows() {                    # heap_rows PID DUMP KIND STACKS: one heap with stacks "_start;f0;malloc" and so on
  jq -nc --arg pid "$1" --arg dump "$2" --arg kind "$3" --arg stacks "$4" 'range($stacks | tonumber) | { process: "app", pid: ($pid | tonumber),
    dump: $dump, time: "2026-01-01T00:00:0\($dump).000000Z", allocator: "malloc", kind: $kind, cumulative: "self", stack: ["_start", "f\(.)", "malloc"],
    type: null, bytes: 1000, blocks: 1 }'
}
{ heap_rows 7 1 live 20; heap_rows 7 2 live 2; heap_rows 7 2 total 30; } > dumps.jsonl
check "hidden frames of earlier dumps and other kinds are not counted" "3 3 3" \
  "$(hidden_of tree dumps.jsonl) $(hidden_of top dumps.jsonl) $("$tool" tree --json dumps.jsonl | jq .left_out.hidden_frames)"
check "... of one chosen dump" "21" "$(hidden_of tree --dump 1 dumps.jsonl)"
check "... of all dumps with --all" "24" "$(hidden_of tree --all --kind live dumps.jsonl)"
check "... diff: of both sides" "24 24" "$(hidden_of diff dumps.jsonl) $("$tool" diff --json dumps.jsonl | jq .left_out.hidden_frames)"
{ heap_rows 7 3 live 1; heap_rows 7 2 peak 1; heap_rows 7 1 live 1; heap_rows 5 4 live 1; heap_rows 7 3 total 1; } > unordered.jsonl
check "info lists the heaps of a process in the order of time" "5 4, 7 1, 7 2 peak, 7 3, 7 3 total" \
  "$("$tool" info --bytes unordered.jsonl | awk '$2 == "app" { printf "%s%s %s%s", n++ ? ", " : "", $1, $3, $11 == "" ? "" : " " $11 }')"
for i in $(seq 1 11); do heap_rows "$i" 1 live "$i"; done > heaps.jsonl
check "... not of smaller heaps that are not shown" "$((12 + 11 + 10 + 9 + 8 + 7 + 6 + 5 + 4 + 3)) $((12 * 13 / 2 - 1))" \
  "$(hidden_of tree heaps.jsonl) $(hidden_of tree --all heaps.jsonl)"
check "tree --json" '4494304 null "LoadLevel"' "$("$tool" tree --json engine.json | jq -r '.heaps[0].rows | "\(.[0].bytes) \(.[0].axis) \"\(.[1].name)\""')"
check "info --json" '[1,"engine","0x1","engine",4494304,5]' "$("$tool" info --json engine.json | jq -c '.files[0].heaps[0] | [.pid, .process, .dump, .allocator, .bytes, .blocks]')"
check "an unknown --pid: status 1" 1 "$(status "$tool" tree --pid 7 engine.json)"
check "--allocator, --pid and --dump select a heap" 0 "$(status "$tool" tree --allocator engine --pid 1 --dump 0x1 engine.json)"

"$tool" convert --to chrome -o again.json engine.json
check "convert to the same format writes the same bytes" "$(cat engine.json)" "$(cat again.json)"
"$tool" convert --to chrome --top 1 -o top.json engine.json
check "convert --top writes a condensed heap" "$("$tool" tree --bytes --top 1 engine.json)" "$("$tool" tree --bytes --min-bytes 0 top.json)"
# A thread writes files of several pieces.
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "main;work%d;a_function_with_a_long_name_%d %d\n", i % 300, i, i + 1 }' > many.folded
"$tool" convert --to chrome -o many.json many.folded
"$tool" convert --to chrome -o - many.folded > many.piped
check "a file of several pieces equals the output to a pipe" "yes same" "$([ "$(wc -c < many.json)" -gt 2000000 ] && echo yes) $(cmp many.json many.piped && echo same)"
for blocks in 1 600 1100 $(($(wc -c < many.json) / 1024)); do # in KiB: the disk is full in the first piece, a later one, the last one
  check "... a full disk at $blocks KiB: status, message, no file" "1 1 0" \
    "$(ulimit -f $blocks; status "$tool" convert --to chrome -o half.json many.folded) $(grep -c 'File too large' err) $(ls -A | grep -c half)"
done
mkfifo slow
(exec head -c 1000000 slow > /dev/null) &
check "... a pipe whose reader closes it" 1 "$([ "$(status "$tool" convert --to chrome -o slow many.folded)" -gt 0 ] && echo 1)"
wait
"$tool" convert --to chrome -o slow many.folded &
{ head -c 10 > /dev/null; kill $!; s=0; wait $! || s=$?; } < slow
check "... ended by a signal while it writes: the status, and no temporary file" "143 slow" "$s $(ls -A | grep slow | tr '\n' ' ' | sed 's/ $//')"

check "convert to an unknown format" 2 "$(status "$tool" convert --to elf engine.json)"
check "a failed convert leaves no file" "1 no" "$(status "$tool" convert --to chrome -o fail.json bad.json) $([ -e fail.json ] && echo yes || echo no)"

raw=../../../tests/data/memprof-19.raw old=../../../tests/data/memprof-14.raw
check "info lists a raw profile" "4 false $("$tool" top --bytes --json $raw | jq '[.heaps[0].rows[].self_bytes] | add')" \
  "$("$tool" info --json $raw | jq -r '.files[0].profiles[0] | "\(.version) \(.big_endian) \(.totals.TotalSize)"')"
"$tool" convert --to memprof-raw -o same.raw $raw
check "a raw profile is written back unchanged" 0 "$(status cmp same.raw $raw)"
"$tool" convert --to memprof-raw --memprof-version 3 -o 3.raw $raw
check "... or in another version" "3 25" \
  "$("$tool" info --json 3.raw | jq -r '.files[0].profiles[0] | "\(.version) \(.fields | length)"')"
check "missing fields are not invented" 1 "$(status "$tool" convert --to memprof-raw --memprof-version 4 -o 4.raw $old)"
check "an unknown version is refused" 2 "$(status "$tool" convert --to memprof-raw --memprof-version 9 $raw)"
check "merging raw profiles adds up their counts" "$("$tool" info --json $raw | jq '.files[0].profiles[0].totals | [.AllocCount, .TotalSize, .MaxSize, .MinLifetime] | [.[0] * 2, .[1] * 2, .[2], .[3]]' -c)" \
  "$("$tool" merge -o twice.raw $raw $raw && "$tool" info --json twice.raw | jq -c '.files[0].profiles[0].totals | [.AllocCount, .TotalSize, .MaxSize, .MinLifetime]')"
gzip -c $raw > packed.gz
"$tool" merge --to memprof-raw -o packed.raw packed.gz - < $raw 2> err
check "... also of packed files and standard input" 0 "$(status cmp packed.raw twice.raw)"
check "--metric" "AllocCount $("$tool" info --json $raw | jq '.files[0].profiles[0].totals.AllocCount')" \
  "$("$tool" tree --metric alloccount --json $raw | jq -r '.heaps[0] | "\(.allocator) \(.rows[0].bytes)"')"
check "--metric average" "average TotalSize" "$("$tool" top --metric average --json $raw | jq -r '.heaps[0].allocator')"
check "an unknown metric" 2 "$(status "$tool" tree --metric Bytes $raw)"
check "a metric without an average" 1 "$(status "$tool" tree --metric average:MaxSize $raw)"
check "--by size" size "$("$tool" tree --by size --json $raw | jq -r '.heaps[0].rows[1].axis')"
check "--by lifetime is refused for a trace" "1 heapdump: engine.json (chrome): not a MemProf profile; lifetime needs one" \
  "$(status "$tool" tree --by lifetime engine.json) $(cat err)"
check "diff of raw profiles" "$("$tool" info --json $raw | jq '.files[0].profiles[0].totals.TotalSize | "\(.) \(. * 2)"' -r)" \
  "$("$tool" diff --json $raw twice.raw | jq -r '.diffs[0].rows[0] | "\(.before) \(.after)"')"
check "memprof has as many blocks and bytes as info" "$("$tool" info --json $raw | jq -r '.files[0].profiles[0] | "\(.blocks) \(.totals.TotalSize)"')" \
  "$("$tool" memprof --json $raw | jq -r '[.Records[].AllocSites[].MemInfoBlock.TotalSize] | "\(length) \(add)"')"
check "memprof is refused for a trace" 1 "$(status "$tool" memprof engine.json)"
check "--binary with a file that is not a program" 1 "$(status "$tool" tree --binary engine.json $raw)"
check "a raw profile converts to a trace" "$("$tool" tree --bytes --min-bytes 1 $raw | cut -d, -f1)" \
  "$("$tool" convert --to chrome $raw | "$tool" tree --bytes --min-bytes 1 - | cut -d, -f1)"
check "a trace does not convert to a raw profile" 1 "$(status "$tool" convert --to memprof-raw engine.json)"
check "no temporary files remain" "" "$(ls | grep tmp || true)"
exit $failed
