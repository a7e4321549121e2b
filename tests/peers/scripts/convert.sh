#!/usr/bin/env bash
# convert: from each format to each that the registry can write. The result is recognised as its format and has the
# same sizes. A message names all data that the format cannot hold.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq python3
work=build/peers/convert
rm -rf $work && mkdir -p $work
build/examples/record_engine > $work/engine.json
cp tests/data/{go-heap.folded,{node,chromium}-small.heapsnapshot,memprof-19.raw,memprof-19-v3.profdata,small.dartheap,small.heaptrack,heap-{gperftools,jemalloc,tcmalloc,go}.txt,pprof-{cc,go,node}.pb} $work
cd $work
printf 'a 2 x 0\nt 5 App.Form\no 10 5 64 14 18\no 14 5 32\no 18 5 16 10\nr 10 0 0\nc x 1\n' > small.log
"$tool" convert --to chrome -o raw.json memprof-19.raw 2> /dev/null
"$tool" convert --to heaps_v2 -o v2.json memprof-19.raw 2> /dev/null

names=$("$tool" convert engine.json 2>&1 | sed 's/.*(//; s/).*//; s/,//g')
readable=$("$tool" info --format help | cut -d' ' -f1)
heaps="engine.json raw.json v2.json memprof-19.raw memprof-19-v3.profdata small.heaptrack go-heap.folded $(ls heap-*.txt pprof-*.pb | tr '\n' ' ')"
objects="small.dartheap small.log node-small.heapsnapshot chromium-small.heapsnapshot"
added='[.files[0].heaps[].bytes] | add'
bytes() { "$tool" info --json "$@" 2> /dev/null | jq "$added"; }
# Bytes; and, for formats without an added root, objects and strong references. V8's own root holds all other roots,
# so references move there. V8 snapshots have no garbage.
of_graph='.files[0] | (if .format == "heapsnapshot" then .graph.roots - .graph.weak_roots - 1 else 0 end) as $root |
  .graph | [.bytes] + if $to == "netcf" then [.objects, .references - .weak_references + $root] else [] end'
graph() {
  if [ "$2" = heapsnapshot ]; then "$tool" classes --all --json "$1" | jq -c '[[.. | objects | .live_bytes // empty] | add]'
  else "$tool" info --json "$1" | jq -c --arg to "$2" "$of_graph"; fi
}
# once COMMAND...: runs it and sets $answer to its output; a repeated call uses the first answer
declare -A known
once() {
  [ "${known[$*]+asked}" ] || known[$*]=$("$@")
  answer=${known[$*]}
}

# Each target with each input: convert writes it, or a message gives the reason.
for to in $names; do
  written=
  for from in $heaps $objects; do
    s=$(status "$tool" convert --to $to -o made.$to $from)
    case $s in
      0) written="$written $from" ;;
      *) if [ $s -gt 2 ] || ! grep -q '^heapdump: ' err; then fail "$to from $from: $s $(cat err)"; fi
         [ ! -e made.$to ] || fail "$to from $from: a file remains after a failure" ;;
    esac
    if [ $s = 0 ]; then
      case $to in heaps_v2) as=chrome ;; memprof-raw) as=memprof ;; *) as=$to ;; esac
      if echo "$readable" | grep -qx "$as"; then
        hint=                    # one-frame folded stacks are recognised only by their file name
        if [ $to = folded ] && ! grep -q ';' made.$to; then hint="--format folded"; fi
        "$tool" info $hint --json made.$to > made.info 2> /dev/null || true
        found=$(jq -r '.files[0].format' made.info)
        [ "$found" = "$as" ] || fail "$to from $from is read as $found"
        case " $objects " in
          *" $from "*) case $as in
                         netcf|dart|heapsnapshot) once graph $from $as; made=$(jq -c --arg to $as "$of_graph" made.info)
                           [ "$answer" = "$made" ] || fail "$to from $from: $answer, $made" ;;
                       esac ;;
          *) kind=                 # folded stacks have one kind: live, if the file has that
             if [ $to = folded ]; then once bytes --kind live $from; [ "$answer" = null ] || kind="--kind live"; fi
             once bytes $kind $from; made=$(jq "$added" made.info)
             [ "$answer" = "$made" ] || fail "$to from $from: $answer bytes, $made" ;;
        esac
      fi
      "$tool" convert --to $to -o again.$to $from 2> /dev/null
      cmp -s made.$to again.$to || fail "$to from $from: a second conversion gives other bytes"
    fi
    rm -f made.$to made.info again.$to
  done
  check "some input converts to $to" yes "$([ -n "$written" ] && echo yes)"
  echo "     $to of$written"
done > told
cat told
! grep -q ^FAIL told || failed=1

# Without --to, the name after -o gives the format.
for to in "app.folded folded" "app.pb pprof" "app.pb.gz pprof" "app.json chrome" "app.csv rows"; do
  "$tool" convert -o ${to% *} go-heap.folded 2> /dev/null || fail "convert -o ${to% *}"
  check "convert -o ${to% *} without --to" ${to#* } "$("$tool" info --json ${to% *} | jq -r '.files[0].format')"
done
"$tool" convert -o app.heapsnapshot small.dartheap 2> /dev/null || fail "convert -o app.heapsnapshot"
check "... of a snapshot" heapsnapshot "$("$tool" info --json app.heapsnapshot | jq -r '.files[0].format')"
check "merge of snapshots: the message says what is added up" "no objects: it has the retained sizes by class (dominator trees) of 2 snapshots, added up" "$("$tool" merge -o sum.json {node,chromium}-small.heapsnapshot 2>&1 | sed -n 's/^heapdump: the result has \(no objects.*\)/\1/p')"
check "convert without --to and a known ending: usage error" 2 "$(status "$tool" convert -o app.bin go-heap.folded)"

# Data that the target format cannot hold.
said() { "$tool" convert --to $1 -o lost $2 2> err || true; cat err; }
check "a file that fits wholly: no message" "" "$(said chrome engine.json)"
check "a file that does not fit: one sentence lists the losses" "heapdump: speedscope cannot store these, and leaves them out: types, cumulative sizes (unlisted bytes count to the frame above), numbers of blocks" \
  "$(said speedscope engine.json)"
check "heaps_v2 holds all kinds: no message" "" "$(said heaps_v2 memprof-19.raw)"
check "netcf loses names of references" "heapdump: netcf cannot store these, and leaves them out: names of references" "$(said netcf small.dartheap)"
check "heaps_v2 loses a pprof file's own notes" "heapdump: heaps_v2 cannot store these, and leaves them out: other facts about the file that info prints (9)" "$(said heaps_v2 pprof-go.pb)"
check "netcf loses a V8 snapshot's own notes" 1 "$(said netcf node-small.heapsnapshot | grep -c 'netcf cannot store these, and leaves them out: .*other facts about the file that info prints')"
check "an unknown target lists the formats that exist" "heapdump: cannot write format 'elf': --to takes $("$tool" convert --help | sed -n '/^  --to /,/^  --m/{s/^  --to FORMAT//; /^  --/d; p}' | xargs)" "$(said elf pprof-go.pb | sed "s,; see .*,,")"
check "to the file's own format: no message" "" "$(said netcf small.log)"
printf '{"traceEvents":[{"pid":1,"ph":"v","id":"0x1","ts":9,"args":{"dumps":{"process_totals":{"resident_set_bytes":"1000"},"heaps_v2":{"maps":{"strings":[{"id":1,"string":"f"}],"nodes":[{"id":1,"name_sid":1}],"types":[]},"allocators":{"malloc":{"nodes":[1],"sizes":[10],"counts":[1]}}}}}}]}' > totals.json
check "speedscope loses attributes and times" "heapdump: speedscope cannot store these, and leaves them out: numbers of blocks, times, attributes of processes and allocators (1)" "$(said speedscope totals.json)"
"$tool" merge --to chrome -o kinds.json engine.json memprof-19.raw 2> err
check "a trace with heaps of two kinds keeps both kinds" "engine live malloc total" "$("$tool" info --json kinds.json | jq -r '[.files[0].heaps[] | .allocator, .kind] | join(" ")')"
check "... and their sizes" "$(bytes engine.json) $(bytes memprof-19.raw)" "$(bytes --kind live kinds.json) $(bytes --kind total kinds.json)"
check "--kind keeps one of two kinds, in the file's own format" "live" \
  "$("$tool" convert --kind live --to pprof -o live.pb pprof-go.pb 2> err && "$tool" info --json live.pb | jq -r '[.files[0].heaps[].kind] | join(" ")')"

# The last dump of each process is written. Processes without a pid differ by name, those with one pid by start time.
printf '%s\n' process,dump,time,allocator,stack,bytes 'A,d1,2026-01-01T00:00:01Z,malloc,main;f,100' \
  'A,d2,2026-01-01T00:00:03Z,malloc,main;f,200' 'B,d1,2026-01-01T00:00:02Z,malloc,main;f,300' > names.csv
printf '%s\n' process,pid,start_us,dump,time,allocator,stack,bytes 'A,7,1,d1,2026-01-01T00:00:01Z,malloc,main;f,100' \
  'A,7,1,d2,2026-01-01T00:00:03Z,malloc,main;f,200' 'A,7,2,d3,2026-01-01T00:00:05Z,malloc,main;f,300' > starts.csv
for file in names.csv starts.csv; do
  check "two processes of $file" "500 1" "$("$tool" convert --to folded -o - $file 2> err | awk '{ n += $NF } END { print n }') $(grep -c 'heaps of earlier dumps (1;' err)"
  check "pprof cannot hold both: the message asks for one" "1 1" "$(status "$tool" convert --to pprof -o both.pb $file) $(grep -c 'one dump of one process: choose dump' err)"
done

printf '%s\n' process,pid,dump,time,allocator,kind,stack,bytes 'A,7,d1,2026-01-01T00:00:01Z,malloc,peak,main;f,100' \
  'A,7,d2,2026-01-01T00:00:03Z,malloc,live,main;f,50' > peak.csv
check "to pprof: the peak of an earlier dump is named, with its option" 1 "$("$tool" convert --to pprof -o peak.pb peak.csv 2>&1 | grep -c 'leaves them out: heaps at the peak (1; select with --kind peak)')"

# Binary formats are not written to a terminal; text is.
terminal() { # COMMAND...: its status, number of messages, and bytes on the terminal
  PYTHONPATH=$common_root/tests/peers/lib python3 -B -c '
import sys, on_terminal
text, status = on_terminal.run(sys.argv[1:], terminal=("stdout", "stderr"))
print(status, text.count(b"is binary, and not for a terminal"), text.count(b"\0"))' "$tool" "$@"
}
for way in "merge -o - memprof-19.raw" "merge -o - memprof-19-v3.profdata" "merge --to memprof-index -o - memprof-19.raw" \
  "merge --to memprof-index -o - memprof-19-v3.profdata" "merge -o - pprof-cc.pb" "merge --to pprof -o - engine.json" "convert --to pprof -o - pprof-cc.pb" \
  "convert --to pprof -o - engine.json" "convert --to memprof-raw -o - memprof-19.raw" "convert --to memprof-index -o - memprof-19.raw" \
  "convert --to dart -o - small.dartheap" "index -o - memprof-19.raw"; do
  check "a binary format to a terminal is refused: $way" "2 1 0" "$(terminal $way)"
done
for way in "convert --to chrome -o - pprof-cc.pb" "convert --to folded -o - pprof-cc.pb" "merge --to memprof-yaml -o - memprof-19-v3.profdata"; do
  check "text to a terminal: $way" "0 0 0" "$(terminal $way)"
done
check "a failed conversion prints only one line" "1" "$("$tool" convert --to speedscope -o no/where engine.json 2>&1 | wc -l)"
exit $failed
