#!/usr/bin/env bash
# Runs the commands in tests/examples.txt at the root of the checkout, and shows where the programs of examples/ print
# anything else than this file expects. Also compiles the C code in README.md.
#
#   CC=cc CXX=c++ CLANG=clang STB=-I/usr/include/stb examples.sh BUILD     # BUILD/examples/ has the programs
#   examples.sh --print BUILD >tests/examples.txt                          # their present output
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

# Each line "$ COMMAND" with the command's output, and its status if that is not 0. $T is a directory for files.
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
  grep -q '^#include <mpi.h>' "$source" && continue # run by tests/peers/scripts/mpi.sh
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

# The blocks of C in README.md are pieces of one program, in which p is the address of n bytes.
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$T/readme"
{ grep '^#' "$T/readme"; printf 'int main(void) {\nvoid *p = 0;\nsize_t n = 0;\n'; grep -v '^#' "$T/readme"; printf 'return 0;\n}\n'; } >"$T/readme.c"
grep -q HD_SCOPE "$T/readme.c" && quiet "$cc" -std=c99 -Wno-unused -I. "${warn[@]}" "${stb[@]}" "$T/readme.c" || fail "README.md"

transcript >"$T/transcript"
diff -u --label expected --label found tests/examples.txt "$T/transcript" || fail "tests/examples.txt"
((failed)) || echo "$(grep -c '^\$ ' tests/examples.txt) commands as expected"
exit $failed
