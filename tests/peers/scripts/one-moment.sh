#!/usr/bin/env bash
# `heapdump stop` writes all heaps and the summary as of one moment, while the program's threads keep allocating. The
# message of a snapshot has the figure of the file.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/one-moment
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$common_root/tests/peers/programs/one_moment.c" -o one_moment -lpthread

# begin OPTIONS...: records the program; its standard input is open until descriptor 7 is closed
begin() {
  rm -f go && mkfifo go
  exec 7<> go
  "$tool" record --bytes -o out.json "$@" -- ./one_moment $threads < go 2> err 7>&- & recording=$!
  until timeout 5 "$tool" snapshot -o first.json out.json 2> /dev/null; do kill -0 $recording; done
}
finish() {
  exec 7>&-
  kill -0 $recording 2> /dev/null && pkill -P $recording -x one_moment || :
  wait $recording 2> /dev/null || :
}
# wrong: lists the contradictions among the heaps of out.json and the summary in err
wrong() {
  "$tool" info --json out.json | jq -r --arg said "$(grep '^heapdump: one_moment' err)" '
    [.files[0].heaps[] | {(.kind): {bytes, blocks}}] | add
    | {bytes: 0, blocks: 0} as $none | (.live // $none) as $live | (.temporary // $none) as $short | .total as $all | .peak as $peak
    | ($said | capture("peak (?<peak>[0-9]+)( after [0-9.]+ s)?, at the end (?<live>[0-9]+) in (?<blocks>[0-9]+) blocks?; temporary: (?<short>[0-9]+) of (?<all>[0-9]+) block") // error("no summary: \($said)")) as $s
    | [ if $live.bytes > $peak.bytes then "live \($live.bytes) > peak \($peak.bytes)" else empty end,
        if $short.blocks + $live.blocks > $all.blocks then "live \($live.blocks) and temporary \($short.blocks) > total \($all.blocks)" else empty end,
        if $short.bytes + $live.bytes > $all.bytes then "live \($live.bytes) and temporary \($short.bytes) > total \($all.bytes) bytes" else empty end,
        if ($s.live | tonumber) != $live.bytes or ($s.blocks | tonumber) != $live.blocks then "the summary has \($s.live) in \($s.blocks), the file \($live)" else empty end,
        if ($s.peak | tonumber) != $peak.bytes then "the summary has a peak of \($s.peak), the file \($peak)" else empty end,
        if ($s.all | tonumber) != $all.blocks or ($s.short | tonumber) != $short.blocks then "the summary has \($s.short) of \($s.all), the file \($short) of \($all)" else empty end
      ] | join("; ")' 2>&1
}
stops=6; [ -z "${FULL-}" ] || stops=60
for threads in 1 4; do
  found=
  for i in $(seq $stops); do
    begin
    timeout 30 "$tool" stop out.json > stop.out 2>&1 || found="$found $(cat stop.out)"
    until grep -q 'next:' err; do kill -0 $recording; done
    found="$found$(wrong)"
    finish
  done
  check "$stops stops of $threads threads: heaps and summary show one moment" "" "$found"
done

threads=4 differs=
begin
cp out.json copy.json
check "a running recording without a dump: the message names snapshot" "heapdump: out.json (chrome): no heap dump in it yet: a recording writes it; heapdump snapshot out.json adds a dump" "$("$tool" tree out.json 2>&1)"
check "... but not for a copy" "heapdump: copy.json (chrome): no heap dump in it" "$("$tool" tree copy.json 2>&1)"
for i in $(seq 20); do
  said=$("$tool" snapshot -o now.json out.json 2>&1 | sed -n 's/.*: 1 process, \([0-9]*\) bytes live$/\1/p')
  is=$(live now.json | cut -d' ' -f1)
  [ -n "$said" ] && [ "$said" = "$is" ] || differs="$differs '$said' for '$is'"
done
for i in $(seq 10); do
  "$tool" snapshot out.json 2>&1 | sed -n 's/.* has dump \(0x[0-9a-f]*\): 1 process, \([0-9]*\) bytes live$/\1 \2/p'
done > said
"$tool" stop out.json 2> /dev/null
until grep -q 'next:' err; do kill -0 $recording; done
finish
check "20 snapshots to a file: the message has the bytes of the file" "" "$differs"
check "10 snapshots into the recording: the messages have the recorded bytes" "10 $(sort said | xargs)" "$(wc -l < said) $("$tool" info --json out.json |
  jq -r '.files[0].heaps[] | select(.kind == "live") | "\(.dump) \(.bytes)"' | grep -f <(cut -d' ' -f1 said | sed 's/$/ /') | sort | xargs)"
exit $failed
