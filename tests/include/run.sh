#!/usr/bin/env bash
# Compiles heapdump.h in every way that its manual promises, links and runs what comes out.
#
#   CC=cc CXX=c++ CLANG=clang STB=-I/usr/include/stb run.sh OUTDIR [PATTERN]
#
# PATTERN, a regular expression, selects cases by name; the C99 and C++11 cases always run, because others link their
# objects. --first as PATTERN selects the cases of `make test`: these two and the cases built on them, in seconds.
# FULL=1 runs more cases at more levels of optimisation. Prints a line per case, then "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:?usage: run.sh OUTDIR [PATTERN]} pattern=${2-}
[[ $pattern != --first ]] || pattern='^[^ ]+ (-xc\+\+ )?-std=[^ ]*: (quick start|hd_read_as links one reader|HD_SCOPE|HD_SCOPE takes literals|external symbols .*)$|extern "C"|^C(\+\+)? implementation'
cc=${CC:-cc} cxx=${CXX:-c++} clang=${CLANG:-clang}
clangxx=${clang/clang/clang++}
read -ra stb <<<"${STB--I/usr/include/stb}"
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
cwarn=("${warn[@]}" -Wstrict-prototypes)
rm -rf "$out"
mkdir -p "$out" && cd "$out" || exit 1
cp "$root/heapdump.h" . # all cases compile one version, even if it changes meanwhile
jobs=$(nproc 2>/dev/null || echo 2)
c99="$cc -std=c99" cxx11="$cxx -xc++ -std=c++11"

# Cases run in parallel, each in its own directory; report prints the results in order. --------------

cases=()
check() {                        # check NAME FUNCTION ARGUMENTS...
  local name=$1 dir
  [[ $name == "$c99" || $name == "$cxx11" || $name =~ $pattern ]] || return 0
  shift
  dir=$(printf %03d ${#cases[@]})
  cases+=("$name")
  mkdir "$dir"
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
  (cd "$dir" && if "$@" >log 2>&1; then echo ok; else echo FAIL; fi >result) &
}
skip() {                         # skip NAME WHY
  local dir
  [[ $1 =~ $pattern ]] || return 0
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

# The functions of the cases. $1 is the compiler with its -std option, in one word. ------------------

top=$PWD
printf '#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\n' >implementation.c
printf '#include "heapdump.h"\n#include "heapdump.h"\nint only_declared(void);\nint only_declared(void) { return hd_cstr("").len != 0; }\n' >header.c
printf 'extern "C" {\n#include "heapdump.h"\n}\n' >nested.c

compile() {                      # compile "COMPILER" SOURCE FLAGS...: SOURCE becomes its .o
  local compiler w=("${cwarn[@]}") source=$2
  read -ra compiler <<<"$1"
  shift 2
  [[ ${compiler[*]} == *-xc++* ]] && w=("${warn[@]}")
  "${compiler[@]}" "${w[@]}" -I"$top" "${stb[@]}" "$@" -c "$source" -o "$(basename "${source%.c}").o"
}
implementation() { compile "$1" ../implementation.c "${@:2}"; }
link() {                         # link "COMPILER" OBJECTS...: makes ./program
  local compiler=() word
  for word in $1; do [[ $word == -xc++ || $word == -std=* ]] || compiler+=("$word"); done
  "${compiler[@]}" "${@:2}" -o program -lpthread
}
other_file() { cp "$here/use.c" other.c && compile "$1" other.c "${@:2}"; }
defined() { nm -g --defined-only "$1" | awk '{ print $NF }'; }
named() { nm --defined-only "$1" | awk '{ print $NF }'; } # static symbols too
needed() { nm -u "$1" | awk '{ print $NF }'; }
none() {                         # none TITLE PATTERN: no line of the input matches; else prints TITLE and the lines
  local found
  found=$(grep -E "$2" | sort -u | head -n 20)
  [[ -z $found ]] || { printf '%s:\n%s\n' "$1" "$found"; return 1; }
}

accepts() { compile "$1" ../header.c -fsyntax-only && implementation "$1" -fsyntax-only; }
kept() { compile "$1" ../header.c && implementation "$1" && mv implementation.o "../$2"; }
only_our_symbols() {             # only_our_symbols OBJECT
  defined "../$1" >symbols && grep -qx hd_read_file symbols &&
    none "external, but neither hd_ nor hd__scopes_off" . < <(grep -Evx 'hd_[a-z0-9][a-z0-9_]*|hd__scopes_off' symbols)
}
static_copy() {                  # optimised, so the compiler drops unused functions
  compile "$1" "$here/scope.c" -O1 -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION &&
    none "external in spite of HEAPDUMP_STATIC" '(^|[^_])hd_' < <(defined scope.o) && link "$1" scope.o && ./program
}
no_stdio() {
  local compiler
  read -ra compiler <<<"$1"
  compile "$1" ../header.c -DHEAPDUMP_NO_STDIO && implementation "$1" -DHEAPDUMP_NO_STDIO &&
    none "still included" '^# [0-9]+ ".*/(stdio\.h|cstdio)"' < <("${compiler[@]}" -E -DHEAPDUMP_NO_STDIO -I"$top" "${stb[@]}" ../implementation.c) &&
    none "still used" '^(f?write_?unlocked|fwrite|fread|fopen(64)?|fclose|fflush|fputs|fputc|putc|puts|v?[sn]*printf|v?fprintf|__.*printf_chk|std(in|out|err)|perror)$' < <(needed implementation.o) &&
    none "left in" '^hd_out_file$' < <(defined implementation.o)
}
no_threads() {
  implementation "$1" -DHEAPDUMP_NO_THREADS &&
    none "still used" '^(pthread_|__tls_get_addr|__emutls)' < <(needed implementation.o) &&
    none "thread-local" ' TLS ' < <(readelf -sW implementation.o)
}
hidden_api() {
  implementation "$1" '-DHEAPDUMP_API=__attribute__((visibility("hidden"))) extern' &&
    readelf -sW implementation.o | grep -Eq 'GLOBAL +HIDDEN .* hd_read_file$' &&
    none "visible" 'GLOBAL +DEFAULT +[0-9]+ hd_' < <(readelf -sW implementation.o)
}
other_stb_path() {
  local stb_ds
  stb_ds=$(echo '#include "stb_ds.h"' | "$cc" -E "${stb[@]}" -x c - | sed -n 's/^# 1 "\(.*stb_ds\.h\)".*/\1/p' | head -n 1)
  mkdir -p own && cp "$stb_ds" own/ds.h &&
    stb=(-I.) && implementation "$1" -fsyntax-only '-DHEAPDUMP_STB_DS_H="own/ds.h"'
}
asserting() {
  implementation "$1" -include assert.h '-DHEAPDUMP_ASSERT(x)=assert(x)' &&
    compile "$1" "$here/use.c" -DMAIN && other_file "$1" && link "$1" implementation.o use.o other.o && ./program
}
two_files() {                    # two_files OBJECT "MAIN'S" "OTHER'S" "LINKER'S": compilers
  compile "$2" "$here/use.c" -DMAIN && other_file "$3" && link "$4" "$1" use.o other.o && ./program
}
across_files() {                 # across_files "COMPILER" "LINKER'S FLAGS" FLAGS...: optimised when linked
  local compiler linker
  read -ra compiler <<<"$1"
  read -ra linker <<<"$2"
  shift 2
  "${compiler[@]}" "${cwarn[@]}" -I"$top" "${stb[@]}" "$@" -DMAIN -DHEAPDUMP_IMPLEMENTATION "$here/use.c" -c -o main.o &&
    "${compiler[@]}" "${cwarn[@]}" -I"$top" "${stb[@]}" "$@" "$here/use.c" -c -o other.o &&
    "${compiler[@]}" "${cwarn[@]}" "$@" "${linker[@]}" main.o other.o -o program -lpthread && ./program
}
alone() {                        # alone "COMPILER" FLAGS...: one file with a static copy
  compile "$1" "$here/use.c" -DALONE -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION "${@:2}" && link "$1" use.o && ./program
}
plain_c() {                      # plain_c COMPILER FLAGS...: for a compiler without gcc's options for warnings and standards
  "$1" "${@:2}" -I"$top" "${stb[@]}" -DALONE -DHEAPDUMP_IMPLEMENTATION "$here/use.c" -o program -lpthread && ./program
}
on_wasi() {                      # on_wasi SOURCE ARGUMENTS...: as WebAssembly; node runs it with access to this directory
  "$clang" --target=wasm32-wasi -O1 -std=c99 "${cwarn[@]}" -I"$top" "${stb[@]}" -DALONE -DHEAPDUMP_IMPLEMENTATION "$1" -o program.wasm &&
    node --no-warnings "$here/wasi.mjs" program.wasm "${@:2}"
}
read_on_wasi() {
  sed 's|"../heapdump.h"|"heapdump.h"|; /define HEAPDUMP_IMPLEMENTATION/d' "$root/examples/read_dump.c" >read.c
  cp "$root/fuzz/seeds/fuzz_chrome/two-dumps.json" . && on_wasi read.c two-dumps.json >tree && grep -q '100.0%  b, pid 1, dump 0x1' tree
}
without_stb() {
  stb=()
  ! implementation "$1" -fsyntax-only '-DHEAPDUMP_STB_DS_H="no/stb_ds.h"' 2>messages && grep -q 'error.*install libstb-dev' messages
}
two_copies() {                   # each file with a private copy
  compile "$1" "$here/use.c" -DMAIN -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION &&
    other_file "$2" -DHEAPDUMP_STATIC -DHEAPDUMP_IMPLEMENTATION && link "$3" use.o other.o && ./program
}
on_32_bits() { implementation "$1" && two_files implementation.o "$1" "$1" "$1"; }
for_windows() {
  implementation "$1" && compile "$1" "$here/use.c" -DMAIN && other_file "$1" && link "$1" implementation.o use.o other.o
}
# Without -Wextra: the program includes stb_ds itself, and stb_ds has warnings of -Wextra.
own_stb() {                      # own_stb "COMPILER" ORDER
  local compiler
  read -ra compiler <<<"$1"
  "${compiler[@]}" -Wall -Werror -DORDER="$2" -I"$top" "${stb[@]}" -c "$here/own_stb.c" -o own_stb.o &&
    link "$1" own_stb.o && ./program
}
own_stb_elsewhere() {            # own_stb_elsewhere "HEAPDUMP'S COMPILER" "STB_DS'S"
  local a b
  read -ra a <<<"$1"
  read -ra b <<<"$2"
  "${a[@]}" -Wall -Werror -DORDER=4 -I"$top" "${stb[@]}" -c "$here/own_stb.c" -o heapdump.o &&
    "${b[@]}" -Wall -Werror -DORDER=5 -I"$top" "${stb[@]}" -c "$here/own_stb.c" -o stb.o &&
    link "$cxx" heapdump.o stb.o && ./program
}
scopes() {                       # scopes "COMPILER" OBJECT
  local line
  compile "$1" "$here/scope.c" -O2 && link "$1" "../$2" scope.o || return 1
  ./program && return
  line=$?
  echo "scope.c:$line: not as expected"
  return 1
}

# Compiles the quick start of the header's manual, and runs it in a directory with the file that it reads.
quick_start() {                  # quick_start "COMPILER"
  { printf '#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\n\nint main(void) {\n'
    sed -n '/^   QUICK START$/,/^   The library stores memory use in three kinds/p' ../heapdump.h | sed '1d; $d'
    printf '       return 0;\n}\n'; } >quick.c
  cp "$root/fuzz/seeds/fuzz_chrome/two-dumps.json" app.json
  compile "$1" quick.c && link "$1" quick.o && ./program >tree && grep -q '100.0%  b, pid 1, dump 0x1' tree &&
    grep -q '"heaps_v2"' live.json && grep -q Texture live.json
}
# Leaves out rooms: there are no warnings, and no symbol of these rooms remains.
leaves_out() {                   # leaves_out "COMPILER" PATTERN ROOMS...: PATTERN matches their symbols
  local flags=() room
  for room in "${@:3}"; do flags+=("-DHEAPDUMP_NO_$room"); done
  compile "$1" ../header.c "${flags[@]}" && implementation "$1" "${flags[@]}" &&
    none "left in" "$2" < <(named implementation.o) && defined implementation.o | grep -qx hd_read_file
}
# hd_read_as with one row: the linker leaves out the registry and the code of all other formats.
one_reader() {                   # one_reader "COMPILER"
  printf '#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\nint main(void) {
    hd_dump *dump = NULL;
    return hd_read_as(&hd_format_netcf, hd_in_memory("a 2 x 0\\nc x 0\\n", 14), NULL, &dump, NULL) || !hd_dump_netcf(dump);\n}\n' >one.c
  compile "$1" one.c -ffunction-sections -fdata-sections && link "$1" one.o -Wl,--gc-sections && ./program &&
    named program | grep -q hd_format_netcf &&
    none "left in" 'hd__?(v8|dart|memprof|index|rfc|pprof|trace|chrome|folded|format_at|dump_formats|dump_find)' < <(named program)
}
# A name that is not a literal compiles only in HD_SCOPE_NAMED.
literals_only() {                # literals_only "COMPILER"
  local compiler
  read -ra compiler <<<"$1"
  printf '#include "heapdump.h"\nvoid f(const char *name);\nvoid f(const char *name) { SCOPE("test", name); }\n' >literal.c
  compile "$1" literal.c -fsyntax-only -DSCOPE=HD_SCOPE_NAMED && ! compile "$1" literal.c -fsyntax-only -DSCOPE=HD_SCOPE
}

# The cases ------------------------------------------------------------------------------------------

has() { command -v "$1" >/dev/null; }

check "$c99" kept "$c99" c.o
check "$cxx11" kept "$cxx11" cxx.o
has "$clang" && check "$clang -std=c99" kept "$clang -std=c99" clang.o
wait # other cases link the objects of these cases
for compiler in "$c99" "$cxx11"; do
  check "$compiler: quick start" quick_start "$compiler"
  check "$compiler: HD_SCOPE takes literals" literals_only "$compiler"
done
# Leaves out single rooms at -O0: it warns of unused and undeclared names too, in a third of the time of -O1. FULL=1
# uses -O1.
each=${FULL:+-O1}
each=${each:--O0}
rooms=(RECORDER GRAPH CHROME NETCF DART MEMPROF FOLDED PPROF V8 ROWS)
symbols=('^hd_(tracker|register|record|recorder|contexts)_' '^hd_(graph|netcf|dart|v8|dominators)_' '^hd_(chrome|memory_dump|deduplicator)_' \
  '^hd_netcf_' '^hd_dart_' '^hd_memprof_' '^hd__folded_' '^hd_pprof_' '^hd_v8_' '^hd_rows_')
for compiler in "$c99" "$cxx11"; do
  for i in "${!rooms[@]}"; do
    check "$compiler: HEAPDUMP_NO_${rooms[i]}" leaves_out "$compiler $each" "${symbols[i]}" "${rooms[i]}"
  done
  check "$compiler: a recorder alone" leaves_out "$compiler -O1" '^hd_(graph|netcf|dart|v8|chrome|memory_dump|memprof|pprof)_' GRAPH CHROME MEMPROF PPROF
  check "$compiler: readers alone" leaves_out "$compiler -O1" '^hd_(tracker|register|record|recorder|contexts)_' RECORDER
  check "$compiler: all rooms left out that can be" leaves_out "$compiler -O1" '^hd_(tracker|register|record|graph|netcf|dart|v8|chrome|memory_dump|memprof|_folded|pprof|rows)_' "${rooms[@]}"
done
has "$clang" && check "$clang: all rooms left out that can be" leaves_out "$clang -std=c99 -O1" '^hd_(tracker|register|record|graph|netcf|dart|v8|chrome|memory_dump|memprof|_folded|pprof|rows)_' "${rooms[@]}"
levels=(-O0 -O1 -O2 -O3 -Os -Og)
for compiler in "$c99" "$cxx11"; do check "$compiler: hd_read_as links one reader" one_reader "$compiler $each"; done
check "$cc -O2: hd_read_as links one reader" one_reader "$c99 -O2"
check "$cc -O1 -DHEAPDUMP_STATIC: hd_read_as links one reader" one_reader "$c99 -O1 -DHEAPDUMP_STATIC"
check "$cxx -O1 -DHEAPDUMP_STATIC: hd_read_as links one reader" one_reader "$cxx11 -O1 -DHEAPDUMP_STATIC"
for level in "${levels[@]}"; do check "$cc $level: no warnings" implementation "$c99" $level; done
for level in -O2 -O3 -Os; do check "$cxx $level: no warnings" implementation "$cxx -xc++ -std=c++17" $level; done
check "$cc -O2 -flto: no warnings, runs" across_files "$c99" "" -O2 -flto
switches=(-DHEAPDUMP_NO_STDIO -DHEAPDUMP_NO_SIMD -DHEAPDUMP_NO_THREADS -DHD_MAX_AXES=2 -DHEAPDUMP_LARGE_BLOCK=SIZE_MAX)
for switch in "${switches[@]}"; do check "$cc -O2 $switch: no warnings" implementation "$c99" -O2 $switch; done
check "$cc -O2 -DHEAPDUMP_STATIC: no warnings, runs" alone "$c99" -O2
check "$cc -O2 ${switches[*]}: no warnings" implementation "$c99" -O2 "${switches[@]}"
check "$cc: no stb_ds.h: says what to install" without_stb "$c99"
for std in c11 c17; do check "$cc -std=$std" accepts "$cc -std=$std"; done
for std in c++17 c++20; do check "$cxx -std=$std" accepts "$cxx -xc++ -std=$std"; done
if has "$clang"; then
  # Clang's parser gives its warnings at any level, so one level is enough; FULL=1 compiles at each.
  for level in "${levels[@]}"; do
    only=()
    [[ ${FULL-} || $level == -O[023] ]] || only=(-fsyntax-only)
    check "$clang $level: no warnings" implementation "$clang -std=c99" $level "${only[@]}"
  done
  if "$clang" -flto -fuse-ld=lld -x c - -o lld <<<'int main(void) { return 0; }' 2>/dev/null; then
    check "$clang -O2 -flto: no warnings, runs" across_files "$clang -std=c99" -fuse-ld=lld -O2 -flto
  else
    skip "$clang -O2 -flto" "it cannot link without lld"
  fi
  check "$clang -O2 -DHEAPDUMP_STATIC: no warnings, runs" alone "$clang -std=c99" -O2
  check "$clang -O2 ${switches[*]}: no warnings" implementation "$clang -std=c99" -O2 "${switches[@]}"
  for std in c11 c17; do check "$clang -std=$std" accepts "$clang -std=$std"; done
  check "$clang: HD_SCOPE" scopes "$clang -std=c99" clang.o
  check "$clang: HEAPDUMP_STATIC, HD_SCOPE" static_copy "$clang -std=c99"
  newest=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -u -t- -k2n | tail -n 1)
  if [[ $newest ]]; then
    check "$newest -std=c99: HD_SCOPE" scopes "$newest -std=c99" c.o
    check "$newest -xc++ -std=c++11: HD_SCOPE" compile "$newest -xc++ -std=c++11" "$here/scope.c"
    check "$newest: no warnings" implementation "$newest -std=c99" -O0
  fi
else
  skip "$clang" "not here"
fi
if has "$clangxx"; then
  for std in c++11 c++17 c++20; do check "$clangxx -std=$std" accepts "$clangxx -xc++ -std=$std"; done
else
  skip "$clangxx" "not here"
fi
for kind in c cxx; do
  compiler=$c99
  [[ $kind == cxx ]] && compiler=$cxx11
  check "$compiler: external symbols are hd_* and hd__scopes_off" only_our_symbols $kind.o
  check "$compiler: HD_SCOPE" scopes "$compiler" $kind.o
  check "$compiler: HEAPDUMP_STATIC, HD_SCOPE" static_copy "$compiler"
  check "$compiler: HEAPDUMP_NO_STDIO needs no <stdio.h>" no_stdio "$compiler"
  check "$compiler: HEAPDUMP_NO_THREADS needs no threads" no_threads "$compiler"
  check "$compiler: HEAPDUMP_API hides the functions" hidden_api "$compiler"
  check "$compiler: HEAPDUMP_STB_DS_H elsewhere" other_stb_path "$compiler"
done
check "$c99: HEAPDUMP_ASSERT holds, HD_MAX_AXES=2" asserting "$c99 -DHD_MAX_AXES=2"
check "$c99: HEAPDUMP_NO_SIMD" asserting "$c99 -DHEAPDUMP_NO_SIMD"
check "$cxx: the header inside extern \"C\"" compile "$cxx11" ../nested.c
check "C implementation, C main, C++ file" two_files ../c.o "$c99" "$cxx11" "$cxx"
check "C++ implementation, C main, C++ file" two_files ../cxx.o "$c99" "$cxx11" "$cxx"
check "C implementation, C main with HD_MAX_AXES=2, C++ file with 16" \
  two_files ../c.o "$c99 -DHD_MAX_AXES=2" "$cxx11 -DHD_MAX_AXES=16" "$cxx"
check "a static copy in a C file and one in a C++ file" two_copies "$c99" "$cxx11" "$cxx"
order=("" "before" "after" "declared before, implemented after")
for n in 1 2 3; do
  check "own stb_ds in the same file, ${order[n]}: C" own_stb "$cc -std=gnu11" $n
  check "own stb_ds in the same file, ${order[n]}: C++" own_stb "$cxx11" $n
done
check "own stb_ds in the same file, after, static: C" own_stb "$cc -std=gnu11" 6
check "own stb_ds in another file: C" own_stb_elsewhere "$cc -std=gnu11" "$cc -std=gnu11"
check "own stb_ds in another file: C++" own_stb_elsewhere "$cxx11" "$cxx11"
check "own stb_ds in another file: C beside C++" own_stb_elsewhere "$cc -std=gnu11" "$cxx11"

if echo 'int main(void) { return 0; }' | "$cc" -m32 -x c - -o m32 -lpthread 2>/dev/null && ./m32 2>/dev/null; then
  check "-m32: compiles, links, runs" on_32_bits "$cc -m32 -std=c99"
else
  skip "-m32" "$cc -m32 makes no programs that run here; gcc-multilib brings it"
fi
if has tcc; then
  check "tcc -DHEAPDUMP_NO_THREADS: compiles, links, runs" plain_c tcc -DHEAPDUMP_NO_THREADS
else
  skip tcc "not here; tcc brings it"
fi
if [[ ! -e /usr/include/wasm32-wasi/stdio.h ]] || ! ls /usr/lib/llvm-*/lib/clang/*/lib/wasi/*.a >/dev/null 2>&1; then
  skip wasm32-wasi "not here; clang, lld, wasi-libc, libclang-rt-14-dev-wasm32 bring it"
elif ! has node || (($(node -p 'parseInt(process.versions.node)') < 20)); then
  skip wasm32-wasi "node 20 or later is to run it, and is not here"
else
  check "wasm32-wasi: compiles, runs" on_wasi "$here/use.c"
  check "wasm32-wasi: reads a file" read_on_wasi
fi
mingw=x86_64-w64-mingw32
if has $mingw-gcc; then check "$mingw-gcc: compiles and links" for_windows "$mingw-gcc -std=c99"
else skip "$mingw-gcc" "not here; gcc-mingw-w64-x86-64 brings it"; fi
if has $mingw-g++; then check "$mingw-g++: compiles and links" for_windows "$mingw-g++ -xc++ -std=c++11"
else skip "$mingw-g++" "not here; g++-mingw-w64-x86-64 brings it"; fi

report
