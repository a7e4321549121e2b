#!/usr/bin/env bash
# Compiles heapdump.h in every way that its manual promises, links and runs what comes out.
#
#   CC=cc CXX=c++ CLANG=clang STB=-I/usr/include/stb run.sh OUTDIR
#
# A line per case, then "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:?usage: run.sh OUTDIR}
cc=${CC:-cc} cxx=${CXX:-c++} clang=${CLANG:-clang}
clangxx=${clang/clang/clang++}
read -ra stb <<<"${STB--I/usr/include/stb}"
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
cwarn=("${warn[@]}" -Wstrict-prototypes)
rm -rf "$out"
mkdir -p "$out" && cd "$out" || exit 1
jobs=$(nproc 2>/dev/null || echo 2)

# Cases run side by side, each in a directory of its own, and are told in their order. ----------------

cases=()
check() {                        # check NAME FUNCTION ARGUMENTS...
  local name=$1 dir
  shift
  dir=$(printf %03d ${#cases[@]})
  cases+=("$name")
  mkdir "$dir"
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
  (cd "$dir" && if "$@" >log 2>&1; then echo ok; else echo FAIL; fi >result) &
}
skip() {                         # skip NAME WHY
  local dir
  dir=$(printf %03d ${#cases[@]})
  cases+=("$1")
  mkdir "$dir"
  echo "$2" >"$dir/log"
  echo SKIP >"$dir/result"
}
report() {
  local i dir result passed=0 failed=0
  wait
  for i in "${!cases[@]}"; do
    dir=$(printf %03d "$i")
    result=$(cat "$dir/result")
    case $result in
      ok) passed=$((passed + 1)); echo "ok    ${cases[i]}" ;;
      SKIP) echo "SKIP  ${cases[i]}: $(cat "$dir/log")" ;;
      *) failed=$((failed + 1)); echo "FAIL  ${cases[i]}"; head -n 20 "$dir/log" | cut -c 1-200 | sed 's/^/      /' ;;
    esac
  done
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

# What a case does. $1 is the compiler with its standard, in words. -----------------------------------

printf '#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\n' >implementation.c
printf '#include "heapdump.h"\n#include "heapdump.h"\nint only_declared(void);\nint only_declared(void) { return hd_cstr("").len != 0; }\n' >header.c
printf 'extern "C" {\n#include "heapdump.h"\n}\n' >nested.c

compile() {                      # compile "COMPILER" SOURCE FLAGS...: SOURCE becomes its.o
  local compiler source=$2
  read -ra compiler <<<"$1"
  shift 2
  local w=("${cwarn[@]}")
  [[ ${compiler[*]} == *-xc++* ]] && w=("${warn[@]}")
  "${compiler[@]}" "${w[@]}" -I"$root" "${stb[@]}" "$@" -c "$source" -o "$(basename "${source%.c}").o"
}
object() { compile "$1" ../implementation.c -O0 "${@:2}"; }
defined() { nm -g --defined-only "$1" | awk '{ print $NF }'; }
needed() { nm -u "$1" | awk '{ print $NF }'; }
none() {                         # none WHAT PATTERN: no line of the input matches
  local found
  found=$(grep -E "$2" | sort -u | head -n 20)
  [[ -z $found ]] || { printf '%s:\n%s\n' "$1" "$found"; return 1; }
}

both() { compile "$1" ../header.c && object "$@"; }
optimized() { compile "$1" ../implementation.c -O2; }

only_our_symbols() {
  object "$1" && defined implementation.o >symbols && grep -qx hd_read_file symbols &&
    none "external, but neither hd_ nor hd__scopes_off" . < <(grep -Evx 'hd_[a-z0-9][a-z0-9_]*|hd__scopes_off' symbols)
}
static_copy() {
  compile "$1" ../implementation.c -O0 -DHEAPDUMP_STATIC &&
    none "external in spite of HEAPDUMP_STATIC" . < <(defined implementation.o)
}
no_stdio() {
  local compiler
  read -ra compiler <<<"$1"
  compile "$1" ../header.c -DHEAPDUMP_NO_STDIO && object "$1" -DHEAPDUMP_NO_STDIO &&
    none "still included" '^# [0-9]+ ".*/(stdio\.h|cstdio)"' < <("${compiler[@]}" -E -DHEAPDUMP_NO_STDIO -I"$root" "${stb[@]}" ../implementation.c) &&
    none "still used" '^(f?write_?unlocked|fwrite|fread|fopen(64)?|fclose|fflush|fputs|fputc|putc|puts|v?[sn]*printf|v?fprintf|__.*printf_chk|std(in|out|err)|perror)$' < <(needed implementation.o) &&
    none "left in" '^hd_out_file$' < <(defined implementation.o)
}
no_threads() {
  object "$1" -DHEAPDUMP_NO_THREADS &&
    none "still used" '^(pthread_|__tls_get_addr|__emutls)' < <(needed implementation.o) &&
    none "thread-local" ' TLS ' < <(readelf -sW implementation.o)
}
hidden_api() {
  object "$1" '-DHEAPDUMP_API=__attribute__((visibility("hidden"))) extern' &&
    readelf -sW implementation.o | grep -Eq 'GLOBAL +HIDDEN .* hd_read_file$' &&
    none "visible" 'GLOBAL +DEFAULT +[0-9]+ hd_' < <(readelf -sW implementation.o)
}
other_stb_path() {
  local stb_ds
  stb_ds=$(echo '#include "stb_ds.h"' | "$cc" -E "${stb[@]}" -x c - | sed -n 's/^# 1 "\(.*stb_ds\.h\)".*/\1/p' | head -n 1)
  mkdir -p own && cp "$stb_ds" own/ds.h &&
    stb=(-I.) && object "$1" '-DHEAPDUMP_STB_DS_H="own/ds.h"'
}
asserting() {
  compile "$1" ../implementation.c -O0 -include assert.h '-DHEAPDUMP_ASSERT(x)=assert(x)' &&
    compile "$1" "$here/use.c" -DMAIN && compile_other "$1" &&
    link "$1" implementation.o use.o other.o && ./program
}
compile_other() { cp "$here/use.c" other.c && compile "$1" other.c "${@:2}"; }
link() {                         # link "COMPILER" OBJECTS...: makes ./program
  local compiler words=() w
  read -ra compiler <<<"$1"
  for w in "${compiler[@]}"; do [[ $w == -xc++ || $w == -std=* ]] || words+=("$w"); done
  "${words[@]}" "${@:2}" -o program -lpthread
}
two_files() {                    # two_files "IMPLEMENTATION'S" "MAIN'S" "OTHER'S" "LINKER": compilers
  object "$1" && compile "$2" "$here/use.c" -DMAIN && compile_other "$3" &&
    link "$4" implementation.o use.o other.o && ./program
}
two_copies() {                   # each file with a private copy
  compile "$1" "$here/use.c" -DMAIN -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION &&
    compile_other "$2" -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION && link "$3" use.o other.o && ./program
}
# The warnings of -Wextra in stb_ds as its own users include it are not ours to judge.
own_stb() {                      # own_stb "COMPILER" ORDER
  local compiler
  read -ra compiler <<<"$1"
  "${compiler[@]}" -Wall -Werror -DORDER="$2" -I"$root" "${stb[@]}" -c "$here/own_stb.c" -o own_stb.o &&
    link "$1" own_stb.o && ./program
}
own_stb_elsewhere() {            # own_stb_elsewhere "HEAPDUMP'S COMPILER" "STB_DS'S"
  local a b
  read -ra a <<<"$1"
  read -ra b <<<"$2"
  "${a[@]}" -Wall -Werror -DORDER=4 -I"$root" "${stb[@]}" -c "$here/own_stb.c" -o heapdump.o &&
    "${b[@]}" -Wall -Werror -DORDER=5 -I"$root" "${stb[@]}" -c "$here/own_stb.c" -o stb.o &&
    link "$cxx" heapdump.o stb.o && ./program
}
scopes() {
  local code
  object "$1" && compile "$1" "$here/scope.c" -O2 && link "$1" implementation.o scope.o || return 1
  ./program
  code=$?
  ((code == 0)) || echo "scope.c:$code: not as expected"
  return $code
}
static_scopes() { compile "$1" "$here/scope.c" -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION && link "$1" scope.o && ./program; }

# The cases ------------------------------------------------------------------------------------------

has() { command -v "$1" >/dev/null; }
c_compilers=("$cc") cxx_compilers=("$cxx")
has "$clang" && c_compilers+=("$clang")
has "$clangxx" && cxx_compilers+=("$clangxx")

check "$cc -O2: no warnings" optimized "$cc -std=c99"
check "$cxx -O2: no warnings" optimized "$cxx -xc++ -std=c++17"
for c in "${c_compilers[@]}"; do
  for std in c99 c11 c17; do check "$c -std=$std" both "$c -std=$std"; done
done
for c in "${cxx_compilers[@]}"; do
  for std in c++11 c++17 c++20; do check "$c -std=$std" both "$c -xc++ -std=$std"; done
done
has "$clang" || skip "clang" "no $clang here"
has "$clangxx" || skip "clang++" "no $clangxx here"
for c in "$cc -std=c99" "$cxx -xc++ -std=c++11"; do
  check "$c: external symbols are hd_* and hd__scopes_off" only_our_symbols "$c"
  check "$c: HEAPDUMP_STATIC has none" static_copy "$c"
  check "$c: HEAPDUMP_NO_STDIO needs no <stdio.h>" no_stdio "$c"
  check "$c: HEAPDUMP_NO_THREADS needs no threads" no_threads "$c"
  check "$c: HEAPDUMP_API hides the functions" hidden_api "$c"
  check "$c: HEAPDUMP_STB_DS_H elsewhere" other_stb_path "$c"
  check "$c: HEAPDUMP_ASSERT holds, HD_MAX_AXES=2" asserting "$c -DHD_MAX_AXES=2"
  check "$c: HD_SCOPE" scopes "$c"
  check "$c: HD_SCOPE of a static copy" static_scopes "$c"
done
if has "$clang"; then
  check "$clang: HD_SCOPE" scopes "$clang -std=c99"
  check "$clang: HEAPDUMP_STATIC has no external symbols" static_copy "$clang -std=c99"
fi
check "$cxx: the header inside extern \"C\"" compile "$cxx -xc++ -std=c++11" ../nested.c
check "C implementation, C main, C++ file" two_files "$cc -std=c99" "$cc -std=c99" "$cxx -xc++ -std=c++11" "$cxx"
check "C++ implementation, C main, C++ file" two_files "$cxx -xc++ -std=c++11" "$cc -std=c99" "$cxx -xc++ -std=c++11" "$cxx"
check "a static copy in a C file and one in a C++ file" two_copies "$cc -std=c99" "$cxx -xc++ -std=c++11" "$cxx"
order=("" "before" "after" "declared before, implemented after")
for n in 1 2 3; do
  check "own stb_ds in the same file, ${order[n]}: C" own_stb "$cc -std=gnu11" $n
  check "own stb_ds in the same file, ${order[n]}: C++" own_stb "$cxx -xc++ -std=c++11" $n
done
check "own stb_ds in another file: C" own_stb_elsewhere "$cc -std=gnu11" "$cc -std=gnu11"
check "own stb_ds in another file: C++" own_stb_elsewhere "$cxx -xc++ -std=c++11" "$cxx -xc++ -std=c++11"
check "own stb_ds in another file: C beside C++" own_stb_elsewhere "$cc -std=gnu11" "$cxx -xc++ -std=c++11"

if echo 'int main(void) { return 0; }' | "$cc" -m32 -x c - -o m32 -lpthread 2>/dev/null && ./m32 2>/dev/null; then
  check "-m32: compiles, links, runs" two_files "$cc -m32 -std=c99" "$cc -m32 -std=c99" "$cc -m32 -std=c11" "$cc -m32"
else
  skip "-m32" "$cc -m32 makes no programs that run here; gcc-multilib brings it"
fi
mingw=x86_64-w64-mingw32
windows() { object "$1" && compile "$1" "$here/use.c" -DMAIN && compile_other "$1" && link "$1" implementation.o use.o other.o; }
if has $mingw-gcc; then check "$mingw-gcc: compiles and links" windows "$mingw-gcc -std=c99"
else skip "$mingw-gcc" "not here; gcc-mingw-w64-x86-64 brings it"; fi
if has $mingw-g++; then check "$mingw-g++: compiles and links" windows "$mingw-g++ -xc++ -std=c++11"
else skip "$mingw-g++" "not here; g++-mingw-w64-x86-64 brings it"; fi

report
