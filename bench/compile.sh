#!/usr/bin/env bash
# Measures the time to compile the header, and the size of its code: complete, without groups of rooms, and stb_image.h for
# comparison. Seconds of processor time, the least of three; KiB of code and constants.
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
    seconds=$({ time "$cc" -std=c99 "${stb[@]}" "$@" -x c -c "$header" -o "$build/compiled.o"; } 2>&1) ||
      { echo "$seconds" >&2; exit 1; }
    best=$(printf '%s\n' $best "$seconds" | sort -g | head -n 1)
  done
  echo "$best"
}
row() {                          # row NAME SWITCHES...
  local name=$1 level own size
  shift
  printf '%-44s' "$name"
  for level in 0 2; do
    own=$(compiled -O$level "$@")
    [[ $name == whole ]] && whole[level]=$own
    size=$(size "$build/compiled.o" | awk 'NR == 2 { print $1 }')
    awk -v a="$own" -v b="${whole[level]}" -v size="$size" \
      'BEGIN { printf "%8.2f s %4.0f %% %6.0f KiB", a, 100 * a / b, size / 1024 }'
  done
  echo
}
mkdir -p "$build"
printf '%-44s%28s%28s\n' "" -O0 -O2
header=$root/heapdump.h
row whole -DHEAPDUMP_IMPLEMENTATION
row 'recorder alone' -DHEAPDUMP_IMPLEMENTATION -DHEAPDUMP_NO_{GRAPH,CHROME,MEMPROF,PPROF,ROWS,FOLDED}
row 'recorder and Chromium traces' -DHEAPDUMP_IMPLEMENTATION -DHEAPDUMP_NO_{GRAPH,MEMPROF,PPROF,ROWS,FOLDED}
row 'one reader: Dart' -DHEAPDUMP_IMPLEMENTATION -DHEAPDUMP_NO_{RECORDER,CHROME,NETCF,V8,MEMPROF,PPROF,ROWS,FOLDED}
row 'readers and writers, no recorder' -DHEAPDUMP_IMPLEMENTATION -DHEAPDUMP_NO_RECORDER
row 'declarations alone'
header=$(for dir in "${stb[@]#-I}"; do ls "$dir/stb_image.h"; done 2>/dev/null | head -n 1)
[[ ! $header ]] || row stb_image.h -DSTB_IMAGE_IMPLEMENTATION
