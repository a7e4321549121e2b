#!/usr/bin/env bash
# convert: from each format to each that is written, as the registry has them; what comes of it is read as that, with
# the sizes that it had, and what has no place in it is told.
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
# Bytes, and where no root of the format's own is added, objects and references that hold. The root of V8 holds all other
# roots, which takes references elsewhere. In V8 snapshots there is no garbage.
of_graph='.files[0] | (if .format == "heapsnapshot" then .graph.roots - .graph.weak_roots - 1 else 0 end) as $root |
  .graph | [.bytes] + if $to == "netcf" then [.objects, .references - .weak_references + $root] else [] end'
graph() {
  if [ "$2" = heapsnapshot ]; then "$tool" classes --all --json "$1" | jq -c '[[.. | objects | .live_bytes // empty] | add]'
  else "$tool" info --json "$1" | jq -c --arg to "$2" "$of_graph"; fi
}
# once COMMAND...: what it prints is $answer; the same is not asked twice.
declare -A known
once() {
  [ "${known[$*]+asked}" ] || known[$*]=$("$@")
  answer=${known[$*]}
}

# Each name with each input: it is written, or a message says why not.
for to in $names; do
  written=
  for from in $heaps $objects; do
    s=$(status "$tool" convert --to $to -o made.$to $from)
    case $s in
      0) written="$written $from" ;;
      *) if [ $s -gt 2 ] || ! grep -q '^heapdump: ' err; then fail "$to from $from: $s $(cat err)"; fi
         [ ! -e made.$to ] || fail "$to from $from: a file is left" ;;
    esac
    if [ $s = 0 ]; then
      case $to in heaps_v2) as=chrome ;; memprof-raw) as=memprof ;; *) as=$to ;; esac
      if echo "$readable" | grep -qx "$as"; then
        hint=                    # folded stacks of one frame each are known by their name alone
        if [ $to = folded ] && ! grep -q ';' made.$to; then hint="--format folded"; fi
        "$tool" info $hint --json made.$to > made.info 2> /dev/null || true
        found=$(jq -r '.files[0].format' made.info)
        [ "$found" = "$as" ] || fail "$to from $from is read as $found"
        case " $objects " in
          *" $from "*) case $as in
                         netcf|dart|heapsnapshot) once graph $from $as; made=$(jq -c --arg to $as "$of_graph" made.info)
                           [ "$answer" = "$made" ] || fail "$to from $from: $answer, $made" ;;
                       esac ;;
          *) kind=                 # folded stacks have one kind: what is live, where the file has that
             if [ $to = folded ]; then once bytes --kind live $from; [ "$answer" = null ] || kind="--kind live"; fi
             once bytes $kind $from; made=$(jq "$added" made.info)
             [ "$answer" = "$made" ] || fail "$to from $from: $answer bytes, $made" ;;
        esac
      fi
      "$tool" convert --to $to -o again.$to $from 2> /dev/null
      cmp -s made.$to again.$to || fail "$to from $from: other bytes the second time"
    fi
    rm -f made.$to made.info again.$to
  done
  check "$to is made of something" yes "$([ -n "$written" ] && echo yes)"
  echo "     $to of$written"
done > told
cat told
! grep -q ^FAIL told || failed=1

# What has no place.
said() { "$tool" convert --to $1 -o lost $2 2> err || true; cat err; }
check "all that there is has a place" "" "$(said chrome engine.json)"
check "a sentence about what has not" "heapdump: left out by --to speedscope: types, cumulative sizes (unlisted bytes count to the frame above), numbers of blocks" \
  "$(said speedscope engine.json)"
check "kinds have a place" "" "$(said heaps_v2 memprof-19.raw)"
check "names of references" "heapdump: left out by --to netcf: names of references" "$(said netcf small.dartheap)"
check "what a profile says of itself" "heapdump: left out by --to heaps_v2: other facts about the file that info prints (9)" "$(said heaps_v2 pprof-go.pb)"
check "what a snapshot says of itself" 1 "$(said netcf node-small.heapsnapshot | grep -c 'left out by --to netcf: .*other facts about the file that info prints')"
check "a format that is none" "heapdump: cannot write format 'elf': --to takes $("$tool" convert --help | sed -n '/^  --to /,/^  --m/{s/^  --to FORMAT//; /^  --/d; p}' | xargs)" "$(said elf pprof-go.pb | sed "s,; see .*,,")"
check "its own format" "" "$(said netcf small.log)"
printf '{"traceEvents":[{"pid":1,"ph":"v","id":"0x1","ts":9,"args":{"dumps":{"process_totals":{"resident_set_bytes":"1000"},"heaps_v2":{"maps":{"strings":[{"id":1,"string":"f"}],"nodes":[{"id":1,"name_sid":1}],"types":[]},"allocators":{"malloc":{"nodes":[1],"sizes":[10],"counts":[1]}}}}}}]}' > totals.json
check "attributes, and times" "heapdump: left out by --to speedscope: numbers of blocks, times, attributes of processes and allocators (1)" "$(said speedscope totals.json)"
"$tool" merge --to chrome -o kinds.json engine.json memprof-19.raw 2> err
check "heaps of two kinds" "engine live malloc total" "$("$tool" info --json kinds.json | jq -r '[.files[0].heaps[] | .allocator, .kind] | join(" ")')"
check "... with the sizes that they had" "$(bytes engine.json) $(bytes memprof-19.raw)" "$(bytes --kind live kinds.json) $(bytes --kind total kinds.json)"
check "one kind of a file that has two, in its own format" "live" \
  "$("$tool" convert --kind live --to pprof -o live.pb pprof-go.pb 2> err && "$tool" info --json live.pb | jq -r '[.files[0].heaps[].kind] | join(" ")')"

# The last dump of each process: of those without a pid, by name, and of those with one pid, by their start.
printf '%s\n' process,dump,time,allocator,stack,bytes 'A,d1,2026-01-01T00:00:01Z,malloc,main;f,100' \
  'A,d2,2026-01-01T00:00:03Z,malloc,main;f,200' 'B,d1,2026-01-01T00:00:02Z,malloc,main;f,300' > names.csv
printf '%s\n' process,pid,start_us,dump,time,allocator,stack,bytes 'A,7,1,d1,2026-01-01T00:00:01Z,malloc,main;f,100' \
  'A,7,1,d2,2026-01-01T00:00:03Z,malloc,main;f,200' 'A,7,2,d3,2026-01-01T00:00:05Z,malloc,main;f,300' > starts.csv
for file in names.csv starts.csv; do
  check "two processes of $file" "500 1" "$("$tool" convert --to folded -o - $file 2> err | awk '{ n += $NF } END { print n }') $(grep -c 'heaps of earlier dumps (1;' err)"
  check "no profile of both" "1 1" "$(status "$tool" convert --to pprof -o both.pb $file) $(grep -c 'one dump of one process: choose dump' err)"
done

# Binary formats are not written to a terminal; text is.
terminal() { # COMMAND...: its status, and how many lines say why
  PYTHONPATH=$common_root/tests/peers/lib python3 -B -c '
import sys, on_terminal
text, status = on_terminal.run(sys.argv[1:], terminal=("stdout", "stderr"))
print(status, text.count(b"is binary, and not for a terminal"), text.count(b"\0"))' "$tool" "$@"
}
for way in "merge -o - memprof-19.raw" "merge -o - memprof-19-v3.profdata" "merge --to memprof-index -o - memprof-19.raw" \
  "merge --to memprof-index -o - memprof-19-v3.profdata" "merge -o - pprof-cc.pb" "merge --to pprof -o - engine.json" "convert --to pprof -o - pprof-cc.pb" \
  "convert --to pprof -o - engine.json" "convert --to memprof-raw -o - memprof-19.raw" "convert --to memprof-index -o - memprof-19.raw" \
  "convert --to dart -o - small.dartheap" "index -o - memprof-19.raw"; do
  check "on a terminal: $way" "2 1 0" "$(terminal $way)"
done
for way in "convert --to chrome -o - pprof-cc.pb" "convert --to folded -o - pprof-cc.pb" "merge --to memprof-yaml -o - memprof-19-v3.profdata"; do
  check "on a terminal: $way" "0 0 0" "$(terminal $way)"
done
check "and not a word when it fails" "1" "$("$tool" convert --to speedscope -o no/where engine.json 2>&1 | wc -l)"
exit $failed
