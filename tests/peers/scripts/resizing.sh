#!/usr/bin/env bash
# A block during realloc is in each heap exactly once, with its old or its new size. If blocks move faster than the
# snapshot can read them, its message has at least as many operations as it lacks or repeats blocks.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/resizing
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$common_root/tests/peers/programs/resizing.c" -o resizing -lpthread

# begin THREADS [still | sites | new]: records the program, and returns when each thread has its block. The program's
# standard input is open until descriptor 7 is closed.
begin() {
  rm -f go ready $out && mkfifo go && : > ready
  exec 7<> go
  "$tool" record --bytes -o $out $options -- ./resizing "$@" < go > ready 2> err 7>&- & recording=$!
  until grep -q ready ready; do kill -0 $recording; done
  program=$(pgrep -P $recording -x resizing)
}
finish() {
  exec 7>&-
  wait $recording 2> /dev/null || :
}
# heap FILE: bytes and blocks of its last live heap
heap() {
  "$tool" info --json "$1" | jq -r '[.files[0].heaps[] | select(.kind == "live")] | last | "\(.bytes) \(.blocks)"'
}
# wrong FILE [reported]: the faults of its live heap. Each block has its first size, or one and a half times that.
# reported: operations in the message of the snapshot are no faults.
wrong() {
  local under_way=$([ -z "${2-}" ] || sed -n 's/.*; \([0-9]*\) operations* w.*/\1/p' said)
  echo "$(heap "$1") $base" | awk -v threads=$threads -v under_way=${under_way:-0} '{
    off = $2 < $4 ? $4 - $2 : $2 - $4
    if (under_way && off <= under_way) exit
    small = int((threads + 0) / 2); large = threads - small; more = $1 - $3
    if ($2 != $4) printf " %d blocks for %d;", $2, $4
    if (more < 0 || more % 500 || int(more / 1500000) > large || more % 1500000 / 500 > small)
      printf " %d bytes, %d at first;", $1, $3 }'
}
each=5; [ -z "${FULL-}" ] || each=50
for options in "" "--ages"; do
  out=out.json; [ -z "$options" ] || out=out.csv
  for threads in 1 4; do
    begin $threads still
    until "$tool" snapshot -o still-$out $program > said 2>&1; do kill -0 $recording; done
    base=$(heap still-$out)
    finish
    found=
    for sites in "" sites new; do
      found= reported=
      [ -z "$options" -a "$sites" != new ] || reported=reported
      begin $threads $sites
      for i in $(seq $((each * 4))); do
        until "$tool" snapshot -o now-$out $program > said 2>&1; do kill -0 $recording; done
        found="$found$(wrong now-$out $reported)"
      done
      finish
      check "$((each * 4)) snapshots of $threads threads${options:+, $options}${sites:+, $sites}: each block is in the heap once${reported:+ or reported}" "" "$found"
    done
    found=
    for i in $(seq $each); do
      begin $threads
      until timeout 30 "$tool" stop $program > said 2>&1; do kill -0 $recording; done
      until grep -q 'next:' err; do kill -0 $recording; done
      found="$found$(wrong $out)"
      finish
    done
    check "$each stops of $threads threads${options:+, $options}: each block is in the heap once" "" "$found"
  done
done

# A process that is stopped or killed inside an operation may lack its block: the heap's line reports the operation.
# Ten snapshots of a stopped process, then ten kills; the heap has the block in all that report none.
options= out=out.json silent= reports=0
# lacks FILE TEXT: collects heaps without the block that report no operation, and counts reports
lacks() {
  local is=$(heap "$1")
  if grep -q '; 1 operation was under way' "$2"; then reports=$((reports + 1))
  elif [[ $is != 100[01]" 1" ]]; then silent="$silent $is"; fi
}
for how in STOP KILL; do
  for i in $(seq 100); do
    begin 0
    kill -$how $program
    if [ $how = STOP ]; then
      until grep -q '^State:.T' /proc/$program/status; do :; done
      "$tool" snapshot -o now.json out.json > said 2>&1
      lacks now.json said
      kill -KILL $program
    fi
    finish
    [ $how = STOP ] || lacks out.json err
    [ $i -lt 10 ] || [ $reports = 0 ] || break
  done
  check "SIG$how inside an operation: the line of the heap reports it" "some" "${silent:-$([ $reports -gt 0 ] && echo some)}"
  reports=0 silent=
done
exit $failed
