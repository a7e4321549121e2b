#!/usr/bin/env bash
# Programs that a wrapper starts without the recorder, or that allocate before any constructor, are recorded all the
# same; if not, one line names the program, the reason and the cure. A program for musl is refused before it runs.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must gcc libc6-dev jq dash coreutils
sources=$PWD/tests/peers work=$PWD/build/peers/wrappers
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$sources/wrappers.c" -o wrappers
rec() { status timeout -s KILL 60 "$tool" record --min-bytes 1 "$@"; }
said() { grep -c -- "$1" err || true; }
# blocks NAME: processes of NAME.json that allocated 100 blocks or more in `wrappers`, and how much each
blocks() { "$tool" info --json "$1.json" | jq -r '[.files[0].heaps[] | select(.kind == "total" and .process == "wrappers" and .blocks >= 100) | "\(.blocks) of \(.bytes)"] | group_by(.) | map("\(length): \(.[0])") | join(", ")'; }

check "every way to exec, without the recorder" "0 11: 100 of 100000" "$(rec -o ways.json -- "$work/wrappers") $(blocks ways)"
check "... not with --children no" "0 none" "$(rec --children no -o no.json -- "$work/wrappers") $(ls no.json 2> /dev/null || echo none)"
check "env -i" "0 1: 100 of 100000" "$(rec -o env.json -- env -i ./wrappers work) $(blocks env)"
check ".preinit_array" "0 1: 101 of 100010" "$(rec -o early.json -- ./wrappers early) $(blocks early)"
if need libjemalloc2 libgoogle-perftools4; then
  for l in jemalloc.so.2 tcmalloc.so.4; do
    printf '#!/bin/dash\nexport LD_PRELOAD=%s\nexec ./wrappers work\n' "$(ls /usr/lib/*/lib$l)" > wrapper && chmod +x wrapper
    check "a script that sets LD_PRELOAD to lib$l: recorded, and in it" "0 true" \
      "$(rec -o script.json -- ./wrapper) $("$tool" info --json script.json | jq '[.files[0].heaps[] | select(.process == "wrappers" and .kind == "total" and .blocks >= 100 and .bytes >= 100000)] | length == 1')"
  done
fi
rec -o raw.json -- ./wrappers raw /nowhere/libother.so /bin/sleep 1 > status
check "exec by a system call: the program, LD_PRELOAD and the cure" "0 1" \
  "$(cat status) $(said 'sleep ([0-9]*) was not recorded: it was started with LD_PRELOAD=/nowhere/libother.so, .*LD_PRELOAD=/nowhere/libother.so:\$LD_PRELOAD')"
if need musl-tools; then
  musl-gcc -w -O1 -fno-builtin "$sources/wrappers.c" -o for_musl
  check "a program for musl is not run" "1 1 0" "$(rec -o musl.json -- ./for_musl work) $(said 'for_musl is linked with musl, .*it was not run') $(said 'Error')"
  check "... one that a script starts runs" "0 0" "$(rec -o musl.json -- dash -c './for_musl work; exit $?') $(said 'Error')"
  for to in ./for_musl for_musl; do
    for how in execvp posix_spawnp; do
      check "... one that $how starts as $to runs" "0 0" \
        "$(PATH=$PWD:$PATH rec -o musl.json -- ./wrappers $how $to) $(said 'Error')"
    done
  done
fi
exit $failed
