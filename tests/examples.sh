#!/usr/bin/env bash
# Runs the programs of examples/ as tests/examples.txt says, at the root of the checkout, and shows where they print
# something else than stands there; compiles what README.md shows.
#
#   CC=cc CXX=c++ CLANG=clang STB=-I/usr/include/stb examples.sh BUILD     # BUILD/examples/ has the programs
#   examples.sh --print BUILD >tests/examples.txt                          # what they print now
set -u
export LC_ALL=C
print=
[[ ${1-} != --print ]] || { print=1; shift; }
build=$(cd "${1:?usage: examples.sh [--print] BUILD}" && pwd) && cd "$(dirname "$0")/.." || exit 1
cc=${CC:-cc} cxx=${CXX:-c++} clang=${CLANG:-clang} failed=0
read -ra stb <<<"${STB--I/usr/include/stb}"
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -DHD__IMPLEMENTED -fsyntax-only)
PATH=$build/examples:$PATH
T=$(mktemp -d) || exit 1
export T
trap 'rm -rf "$T"' EXIT

# Each line "$ COMMAND" with what the command prints, and its status when that is not 0; $T is a directory for files.
transcript() {
  local line status
  while IFS= read -r line; do
    [[ $line == '$ '* ]] || continue
    printf '%s\n' "$line"
    bash -o pipefail -c "${line#\$ }" 2>&1 </dev/null
    status=$?
    ((!status)) || echo "=> $status"
  done <tests/examples.txt
}
[[ ! $print ]] || { transcript; exit; }

fail() { echo "FAIL  $*"; failed=1; }
quiet() { "$@" 2>&1 | head -n 20; return "${PIPESTATUS[0]}"; }
for source in examples/*.c examples/*.cc; do
  name=${source##*/} name=${name%.*}
  (($(wc -l <"$source") < 80)) || fail "$source has 80 lines or more"
  grep -q '^#include <mpi.h>' "$source" && continue # tests/peers/scripts/mpi.sh
  grep -Eq "^\\$ (.*[ (|;])?$name( |\$)" tests/examples.txt || fail "$name is not run by tests/examples.txt"
  for compiler in "$cc" "$clang"; do
    command -v "$compiler" >/dev/null || continue
    case $source in
      *.c) quiet "$compiler" -std=c99 -Wstrict-prototypes "${warn[@]}" "${stb[@]}" "$source" ;;
      *) [[ $compiler == "$clang" ]] && compiler=${clang/clang/clang++} || compiler=$cxx
         quiet "$compiler" -std=c++11 "${warn[@]}" "${stb[@]}" "$source" ;;
    esac || fail "$compiler: $source"
  done
done

# The blocks of C in README.md are pieces of one program, which has an address p of n bytes.
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$T/readme"
{ grep '^#' "$T/readme"; printf 'int main(void) {\nvoid *p = 0;\nsize_t n = 0;\n'; grep -v '^#' "$T/readme"; printf 'return 0;\n}\n'; } >"$T/readme.c"
grep -q HD_SCOPE "$T/readme.c" && quiet "$cc" -std=c99 -Wno-unused -I. "${warn[@]}" "${stb[@]}" "$T/readme.c" || fail "README.md"

transcript >"$T/transcript"
diff -u --label expected --label found tests/examples.txt "$T/transcript" || fail "tests/examples.txt"
((failed)) || echo "$(grep -c '^\$ ' tests/examples.txt) commands as expected"
exit $failed
