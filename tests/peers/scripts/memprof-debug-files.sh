#!/usr/bin/env bash
# heapdump --binary with debug information outside the program: next to it, by build id, from a debuginfod server, in
# split files. The answers equal the answers for the whole program. llvm-profdata checks its frames.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 binutils gcc
work=build/peers/memprof-debug-files
rm -rf $work && mkdir -p $work
source=$PWD/tests/peers/programs records=$PWD/tests/peers/lib/memprof_records.py
cd $work
server=
trap '[ -z "$server" ] || kill $server' EXIT

recorded() { "$tool" memprof --binary "$1" "$2" 2> err | sed -n '/Records:/,$p'; }
# Each distinct frame with its line, column and inline mark.
frames() { recorded "$@" | awk '/SymbolName:/ { f = $0; next } /LineOffset:|Column:|Inline:/ { f = f " " $0 } /Inline:/ { gsub(/ +/, " ", f); print f }' | sort -u; }
run() { MEMPROF_OPTIONS=log_path=$PWD/$1:print_text=0 ./$1 && mv $1.[0-9]* $1.raw; }
build() { # COMPILER SOURCE NAME OPTIONS...
  "$1" -O1 -fdebug-info-for-profiling -fno-omit-frame-pointer -fno-optimize-sibling-calls -fmemory-profile -pthread \
    "${@:4}" -c "$2" -o $3.o && "$1" -fmemory-profile -Wl,--build-id -no-pie -pthread $3.o -o $3
}

# packed AS PROGRAM RAW: a .dwp file when the .dwo files are gone; the expected frames are in the file want
packed() {
  local as=$1 p=$2 raw=$3
  frames $p $raw > got
  check "$as, .dwp next to the program" same "$(cmp want got && [ -s want ] && echo same)"
  rm -rf apart2 && mkdir apart2
  strip -o apart2/$p $p && objcopy --only-keep-debug $p apart2/$p.debug
  cp $p.dwp apart2/$p.dwp
  frames apart2/$p $raw > got
  check "$as, .dwp next to the stripped program and its .debug" same "$(cmp want got && echo same)"
  mv apart2/$p.dwp apart2/$p.debug.dwp
  frames apart2/$p $raw > got
  check "$as, .dwp named after the .debug" same "$(cmp want got && echo same)"
  rm apart2/$p.debug.dwp
  for gz in zlib zlib-gnu zstd; do
    objcopy --compress-debug-sections=$gz $p.dwp apart2/$p.dwp 2> err || { echo "SKIP: $as, .dwp compressed by $gz: $(head -n 1 err)"; continue; }
    frames apart2/$p $raw > got
    check "$as, .dwp compressed by $gz" same "$(cmp want got && echo same)"
  done
}

any= clangs= dwps=
for v in 22 19; do
  need clang-$v llvm-$v libclang-rt-$v-dev || { echo "SKIP: clang-$v cannot be installed"; continue; }
  any=1 clangs="$clangs clang++-$v" dwps="$dwps llvm-dwp-$v"
  for dwarf in 4 5; do
    p=whole-$v-$dwarf as="clang $v, DWARF $dwarf"
    build clang++-$v $source/memprof_inline.cc $p -g -gdwarf-$dwarf
    run $p
    recorded $p $p.raw > want
    "$tool" memprof --binary $p $p.raw > ours 2> err
    llvm-profdata-$v show --memory $p.raw --profiled-binary $p > theirs 2> err || fail "$as: $(head -n 1 err)"
    if told=$(python3 "$records" ours theirs); then pass "$as, whole: $told"; else fail "$as: $told"; fi
    id=$(readelf -n $p | sed -n 's/.*Build ID: //p')
    rm -rf apart && mkdir -p apart/.debug served/buildid/$id
    strip -o apart/$p $p
    recorded apart/$p $p.raw > got
    check "$as, stripped: no frame has a name" 0 "$(grep -c 'Column: [1-9]' got || true)"
    objcopy --only-keep-debug $p apart/$p.debug
    recorded apart/$p $p.raw > got
    check "$as, .debug next to it" same "$(cmp want got && echo same)"
    (cd apart && cp $p linked && objcopy --add-gnu-debuglink=$p.debug linked)
    recorded apart/linked $p.raw > got
    check "$as, .gnu_debuglink to the same directory" same "$(cmp want got && echo same)"
    cp apart/$p.debug served/buildid/$id/debuginfo
    mv apart/$p.debug apart/.debug/
    recorded apart/linked $p.raw > got
    check "$as, .gnu_debuglink to .debug/" same "$(cmp want got && echo same)"
    rm -r apart/.debug
    dir=/usr/lib/debug/.build-id/${id:0:2}
    if mkdir -p $dir 2> err && cp served/buildid/$id/debuginfo $dir/${id:2}.debug 2> err; then
      recorded apart/$p $p.raw > got
      rm $dir/${id:2}.debug
      rmdir $dir 2> err || true
      check "$as, by build id" same "$(cmp want got && echo same)"
    else echo "SKIP: $as, by build id: /usr/lib/debug cannot be written to"; fi

    # Split debug information: the .dwo files are where the compiler wrote them.
    build clang++-$v $source/memprof_inline.cc split -g -gdwarf-$dwarf -gsplit-dwarf -fno-split-dwarf-inlining
    run split
    frames $p $p.raw > want
    frames split split.raw > got
    check "$as, split: the frames of the whole program" same "$(cmp want got && [ -s want ] && echo same)"
    llvm-dwp-$v -e split -o split.dwp
    mv split.dwo gone.dwo
    packed "$as" split split.raw
    mv split.dwp gone.dwp
    recorded split split.raw > got
    check "$as, split, without its .dwo: a message reports it" 1 "$(grep -c 'debug information is in .*split.dwo, which is not there$' err)"

    # The same, but the skeleton unit has a function for each inlined call. With DWARF 4, libdw does not treat that
    # unit as a skeleton.
    build clang++-$v $source/memprof_inline.cc inlining -g -gdwarf-$dwarf -gsplit-dwarf -fsplit-dwarf-inlining
    run inlining
    frames inlining inlining.raw > got
    check "$as, -fsplit-dwarf-inlining" same "$(cmp want got && echo same)"
    llvm-dwp-$v -e inlining -o inlining.dwp
    rm inlining.dwo
    frames inlining inlining.raw > got
    check "$as, -fsplit-dwarf-inlining, .dwp" same "$(cmp want got && echo same)"
    rm inlining.dwp
    frames inlining inlining.raw > got
    check "$as, -fsplit-dwarf-inlining, only the skeleton" same "$(cmp want got && echo same)"
    recorded inlining inlining.raw > got
    check "$as, -fsplit-dwarf-inlining, only the skeleton: a message reports the missing .dwo" 1 "$(grep -c 'inlining.dwo, which is not there$' err)"
  done
done
[ -n "$any" ] || skip "no clang with MemProf can be installed"

# heapdump asks a debuginfod server only if DEBUGINFOD_URLS names one.
python3 -u -c 'import functools, http.server as h
s = h.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(h.SimpleHTTPRequestHandler, directory="served"))
print(s.server_port)
s.serve_forever()' > port 2> asked & server=$!
until [ -s port ]; do kill -0 $server || { fail "no server: $(tail -n 1 asked)"; exit 1; }; done
for p in whole-*-[45]; do
  strip -o apart/$p $p
  recorded $p $p.raw > want
  before=$(wc -l < asked)
  env -u DEBUGINFOD_URLS "$tool" memprof --binary apart/$p $p.raw > got 2> err
  check "$p: without DEBUGINFOD_URLS no server is asked" "$before" "$(wc -l < asked)"
  DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) DEBUGINFOD_CACHE_PATH=$PWD/cache recorded apart/$p $p.raw > got
  check "$p, from a debuginfod server" same "$(cmp want got && echo same)"
done

# Programs of gcc, recorded by our own recorder.
cat > gcc.c <<'C'
#include <stdlib.h>
static inline __attribute__((always_inline)) void *block(size_t n) { return malloc(n + 1); }
__attribute__((noinline)) void *twice(size_t n) {
    void *p = block(n);
    free(p);
    p = block(2 * n);
    return p;
}
int main(int argc, char **argv) {
    (void)argv;
    for (int i = 0; i < 3; i++) free(twice((size_t)(argc + i)));
    return 0;
}
C
for dwarf in 4 5; do
  gcc -O1 -g -gdwarf-$dwarf -fno-omit-frame-pointer -Wl,--build-id -no-pie gcc.c -o gcc-whole
  "$tool" record --format memprof-raw -o gcc.raw -- ./gcc-whole > out 2> err || fail "recording: $(tail -n 1 err)"
  frames gcc-whole gcc.raw > want
  gcc -O1 -g -gdwarf-$dwarf -gsplit-dwarf -fno-omit-frame-pointer -Wl,--build-id -no-pie -c gcc.c -o gcc-split.o
  gcc -Wl,--build-id -no-pie gcc-split.o -o gcc-split
  "$tool" record --format memprof-raw -o gcc-split.raw -- ./gcc-split > out 2> err || fail "recording: $(tail -n 1 err)"
  frames gcc-split gcc-split.raw > got
  check "gcc, DWARF $dwarf, split" same "$(cmp want got && [ -s want ] && echo same)"
  # binutils' dwp cannot write DWARF 5: a signal ends it.
  for dwp in dwp $dwps; do
    [ "$dwp-$dwarf" != dwp-5 ] || continue
    rm -f gcc-split.dwp
    $dwp -e gcc-split -o gcc-split.dwp
    mv gcc-split.dwo gone.dwo
    frames gcc-split gcc-split.raw > got
    check "gcc, DWARF $dwarf, .dwp by $dwp" same "$(cmp want got && echo same)"
    mv gone.dwo gcc-split.dwo
  done
done

# Several units whose addresses, ranges and strings follow each other: the functions at every ninth byte are checked.
cat > units.h <<'C'
#include <map>
#include <string>
#include <vector>
struct Node {
    std::map<int, std::string> names;
    std::vector<int> numbers;
    int work(int n), more(int n) const;
};
int other(Node &node, int n);
C
cat > units1.cc <<'C'
#include "units.h"
int Node::work(int n) {
    for (int i = 0; i < n; i++) names[i] = std::string(100, 'x'), numbers.push_back(i);
    return more(n);
}
int main(int argc, char **) {
    Node node;
    return node.work(argc) == other(node, argc);
}
C
cat > units2.cc <<'C'
#include "units.h"
namespace {
template <class T> struct Box {
    std::vector<T> all;
    T sum(int n) {
        for (int i = 0; i < n; i++) all.push_back(T(i));
        T s{};
        for (T x : all) s += x;
        return s;
    }
};
}
__attribute__((noinline)) static int once(int n) { return (int)Box<double>().sum(n); }
int Node::more(int n) const { return Box<int>().sum(n) + once(n) + (int)names.size(); }
int other(Node &node, int n) { return node.work(n); }
C
names() { # PROGRAM: the functions at every ninth byte
  nm --defined-only $1 | awk '$2 ~ /[tTwW]/ { print $1 }' | sort -u | python3 -c 'import sys
for line in sys.stdin:
    for k in range(0, 160, 9): print("%s+%#x 1" % (sys.argv[1], int(line, 16) + k))' $PWD/$1 | sort -u > addresses.folded
  "$tool" convert --to folded addresses.folded 2> err | sort
}
compiled() { # COMPILER OPTIONS...
  local f
  for f in 1 2; do "$@" -c units$f.cc -o units$f.o; done
  "$1" -Wl,--build-id units1.o units2.o -o units
}
for c in $clangs g++; do
  for options in -O1 "-O2 -ffunction-sections"; do
    for dwarf in 4 5; do
      [ "$c $options $dwarf" != "g++ -O2 -ffunction-sections 5" ] || continue # llvm-dwp does not terminate
      compiled $c $options -g -gdwarf-$dwarf -gsplit-dwarf
      names units > want
      $(echo $dwps | cut -d' ' -f1) -e units -o units.dwp
      rm units1.dwo units2.dwo
      names units > got
      check "$c $options, DWARF $dwarf, two units in a .dwp" "same, inlined ones too" \
        "$(cmp want got && echo same, $(grep -q 'units2.cc:.*;.*vector' got && echo inlined ones too))"
      mv units.dwp other.dwp
    done
  done
done
compiled g++ -O1 -g -gdwarf-5 -gsplit-dwarf
$(echo $dwps | cut -d' ' -f1) -e units -o whole.dwp
rm units1.dwo units2.dwo
cp other.dwp units.dwp
names units > got
check "a .dwp of another program: a message reports it" 1 "$(grep -c 'is not there; .*units.dwp lacks it, too$' err)"

# Damaged .dwp files: the index claims more units than it has bytes for, or points outside the sections, or the file
# is truncated.
at=$(readelf -SW whole.dwp | sed -n 's/.*\.debug_cu_index *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
damaged() { # WHAT OFFSET HEX MESSAGE
  cp whole.dwp units.dwp
  printf "$3" | dd of=units.dwp bs=1 seek=$((0x$at + $2)) conv=notrunc 2> dd.err
  names units > got || fail "a .dwp $1: status $?"
  check "a .dwp $1: a message reports it, and functions have names from the symbol table" "1 named" \
    "$(grep -c "units.dwp:* *$4" err) $(grep -q once got && echo named)"
}
damaged "of 2^32 slots" 12 '\377\377\377\377' 'has a .debug_cu_index that claims more units than it has bytes for: it is ignored'
damaged "of 2^32 units" 8 '\377\377\377\377' 'has a .debug_cu_index that claims more units than it has bytes for: it is ignored'
damaged "of 2^30 columns" 4 '\0\0\0\100' 'has a .debug_cu_index that claims more units than it has bytes for: it is ignored'
damaged "of version 9" 0 '\11' 'has a .debug_cu_index of a version that is neither 2 nor 5: it is ignored'
damaged "of one unit" 8 '\1' 'has a .debug_cu_index that names more units than it has: it is ignored'
slots=$(od -An -tu4 -j$((0x$at + 12)) -N4 whole.dwp) columns=$(od -An -tu4 -j$((0x$at + 4)) -N4 whole.dwp)
damaged "with a unit outside" $((16 + 12 * slots + 4 * columns + 3)) '\177' \
  'the unit with id .* is damaged: it is ignored'
head -c 100 whole.dwp > units.dwp
names units > got
check "a truncated .dwp: a message reports it" 1 "$(grep -c 'units.dwp .*: it is ignored' err)"

# dwz moves the parts that programs share into another file. It refuses DWARF 5 of clang.
if need dwz; then
  for dwarf in 4 5; do
    compiled g++ -O1 -g -gdwarf-$dwarf
    names units > want
    dwz units -o units-dwz && mv units units-whole && cp units-dwz units
    names units > got
    check "dwz, DWARF $dwarf" same "$(cmp want got && echo same)"
    cp units-whole units && cp units-whole units-other
    dwz -m units.shared units units-other
    names units > got
    check "dwz -m, DWARF $dwarf" same "$(cmp want got && echo same)"
    rm units.shared
    names units > got
    check "dwz -m, DWARF $dwarf, without the shared file: a message reports it" 1 "$(grep -c 'debug information is in units.shared, which is not there$' err)"
  done
else echo "SKIP: dwz cannot be installed"; fi
exit $failed
