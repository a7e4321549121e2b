#!/usr/bin/env bash
# How long the header takes to compile: whole, and with groups of rooms left out. Seconds of processor time, the least
# of three.
#
#   CC=cc STB=-I/usr/include/stb compile.sh BUILD
set -u
build=${1:?usage: compile.sh BUILD}
root=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-cc}
read -ra stb <<<"${STB--I/usr/include/stb}"
TIMEFORMAT=%U

compiled() {                     # compiled LEVEL FLAGS...
  local best='' seconds
  for _ in 1 2 3; do
    seconds=$({ time "$cc" -std=c99 "${stb[@]}" -DHEAPDUMP_IMPLEMENTATION "$@" -x c -c "$root/heapdump.h" \
      -o "$build/compiled.o"; } 2>&1) || { echo "$seconds" >&2; exit 1; }
    best=$(printf '%s\n' $best "$seconds" | sort -g | head -n 1)
  done
  echo "$best"
}
row() {                          # row NAME SWITCHES...
  local name=$1 level own
  shift
  printf '%-44s' "$name"
  for level in 0 2; do
    own=$(compiled -O$level "$@")
    [[ $# == 0 ]] && whole[level]=$own
    awk -v a="$own" -v b="${whole[level]}" 'BEGIN { printf "%8.2f s %4.0f %%", a, 100 * a / b }'
  done
  echo
}
mkdir -p "$build"
printf '%-44s%17s%17s\n' "" -O0 -O2
row whole
row 'recorder alone' -DHEAPDUMP_NO_{GRAPH,CHROME,MEMPROF}
row 'recorder and Chromium traces' -DHEAPDUMP_NO_{GRAPH,MEMPROF}
row 'readers and writers, no recorder' -DHEAPDUMP_NO_RECORDER
