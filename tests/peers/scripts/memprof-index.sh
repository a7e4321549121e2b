#!/usr/bin/env bash
# heapdump index --like against llvm-profdata merge of LLVM 19 and 22: the same bytes in each version and schema, and
# the same IR from clang 19 and 22. Also checked: indexed files of llvm-profdata 16 and 19, and an instrumentation
# profile that gains a memprof section. Then position-independent programs with their libraries, programs whose code
# does not begin at a page, and heapdump memprof --hints against the marks in the IR.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
[ "$(uname -m)" = x86_64 ] || skip "the runtime is for x86-64"
need clang-19 llvm-19 libclang-rt-19-dev libstdc++-12-dev || skip "clang-19 cannot be installed"
source=$PWD/tests/peers
work=build/peers/memprof-index
rm -rf $work && mkdir -p $work
cd $work

flags="-gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -pthread"
profiled="-fmemory-profile -Wl,-build-id"
# No block here lives for 200 s. With these limits, rarely read blocks are cold and often read blocks are hot.
limits="-mllvm -memprof-ave-lifetime-cold-threshold=0 -mllvm -memprof-lifetime-access-density-cold-threshold=1000
  -mllvm -memprof-min-ave-lifetime-access-density-hot-threshold=50000"
same_limits="--cold-lifetime 0 --cold-density 1000 --hot-density 50000"

# run NAME [OUT]: writes NAME.raw
run() {
  rm -f "$1".run.*
  MEMPROF_OPTIONS=log_path=$PWD/$1.run:print_text=0 ./$1 > /dev/null
  mv "$1".run.* "${2:-$1}.raw"
}

# The IR right after the pass that reads profiles: later inlining loses marks.
after="-mllvm -print-after=memprof-use -mllvm -print-module-scope"

# ir PROFILE SOURCE OUT FLAGS...: compiles with the profile, always under the same file name
ir() {
  cp "$1" used.memprof
  clang++-19 -O1 $flags -fmemory-profile-use=used.memprof $limits "${@:4}" -S -emit-llvm "$source/programs/$2" -o "$3"
}

# same_ir NAME OURS THEIRS SOURCE FLAGS...: compares the IR with either profile; the IR of THEIRS is kept for later
# calls
same_ir() {
  local marks
  ir "$2" "$4" ours.ll "${@:5}"
  [ -f "$3.ll" ] || ir "$3" "$4" "$3.ll" "${@:5}"
  if ! marks=$(python3 "$source/lib/memprof_index.py" marks ours.ll); then fail "$1: no marks: $marks"
  elif cmp -s ours.ll "$3.ll"; then pass "$1: the same IR: $marks"
  else fail "$1: IR differs: $(diff ours.ll "$3.ll" | head -n 3)"; fi
}

# same_bytes NAME OURS THEIRS
same_bytes() {
  if cmp -s "$2" "$3"; then pass "$1: the same $(stat -c %s "$2") bytes"
  else fail "$1: $(cmp "$2" "$3" 2>&1 | head -n 1), $(stat -c %s "$2") bytes here, $(stat -c %s "$3") there"; fi
}

# make_index OUT ARGUMENTS...: reports a failure
make_index() { "$tool" index -o "$@" 2> err || { fail "index of $1: $(tail -n 1 err)"; return 1; }; }

# same_ways RELEASE VERSION RAW BINARY THEIRS: from a pipe, from a packed file, and by merge: the same bytes
same_ways() {
  local with="--like $1 --memprof-version $2 --binary $4 -o ours.way" how="like $1, version $2"
  shift
  "$tool" index $with - < "$2" 2> err && same_bytes "$3, $how, by a pipe" ours.way "$4" || fail "$3: $(tail -n 1 err)"
  gzip -c "$2" > packed.gz && "$tool" index $with packed.gz 2> err && same_bytes "... packed" ours.way "$4" || fail "$3: $(tail -n 1 err)"
  "$tool" convert --to memprof-index $with - < packed.gz 2> err && same_bytes "... packed, by a pipe" ours.way "$4" || fail "$3: $(tail -n 1 err)"
  "$tool" merge --to memprof-index $with "$2" 2> err && same_bytes "... by merge" ours.way "$4" || fail "$3: $(tail -n 1 err)"
}

# same_records NAME INDEXED SHOWN BINARY
same_records() {
  local told
  "$tool" memprof --binary "$4" "$2" > ours.records 2> err || { fail "$1: $(head -n 1 err)"; return; }
  if told=$(python3 "$source/lib/memprof_records.py" ours.records "$3"); then pass "$1: $told"; else fail "$1: $told"; fi
}

# The IR that clang makes with our files
# --------------------------------------------------------------------------------

# Calls from one place at several addresses, which LLVM keeps separate.
cat > unrolled.cc << 'EOF'
char *volatile kept;
int main() {
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++) kept = new char[10];
}
EOF
for release in 19 22; do
  need clang-$release llvm-$release libclang-rt-$release-dev || { echo "SKIP: clang-$release cannot be installed"; continue; }
  clang++-$release -O1 $flags $profiled -no-pie unrolled.cc -o unrolled
  run unrolled
  llvm-profdata-$release merge unrolled.raw --profiled-binary unrolled --memprof-version=3 -o theirs.unrolled
  same_ways $release 3 unrolled.raw unrolled theirs.unrolled
  for limit in "-v 150000" "-d 100000"; do
    (ulimit $limit; "$tool" index --like $release --binary unrolled --memprof-version 3 -o ours.way unrolled.raw 2> err) || fail "ulimit $limit: $(tail -n 1 err)"
    same_bytes "... where ulimit is $limit" ours.way theirs.unrolled
  done
  # Before version 3, frame tables are in the order of a hash of the stack ids.
  clang++-$release -O1 $flags $profiled -no-pie "$source/programs/memprof_templates.cc" -o several
  run several
  for v in 0 1 2; do
    [ "$release$v" = 220 ] || [ "$release$v" = 221 ] && continue
    llvm-profdata-$release merge several.raw --profiled-binary several --memprof-version=$v -o theirs.several
    same_ways $release $v several.raw several theirs.several
  done
  cat several.raw several.raw > twice.raw
  llvm-profdata-$release merge twice.raw --profiled-binary several --memprof-version=2 -o theirs.several
  make_index ours.way twice.raw --like $release --memprof-version 2 --binary several && same_bytes "two profiles in a file" ours.way theirs.several
done

for program in hints inline recursion templates threads; do
  clang++-19 -O1 $flags $profiled -no-pie "$source/programs/memprof_$program.cc" -o $program
  run $program
  for v in 0 1 2 3; do
    for schema in "" full; do
      name="$program, version $v${schema:+, full schema}"
      llvm-profdata-19 merge $program.raw --profiled-binary $program --memprof-version=$v ${schema:+--memprof-full-schema} -o theirs.$program.$v$schema
      make_index ours.$program.$v$schema $program.raw --like 19 --binary $program --memprof-version $v ${schema:+--full-schema} || continue
      [ "$schema" ] || same_ir "$name" ours.$program.$v theirs.$program.$v memprof_$program.cc
      same_bytes "$name" ours.$program.$v$schema theirs.$program.$v$schema
    done
  done
  cat $program.raw $program.raw > twice.raw
  llvm-profdata-19 merge twice.raw --profiled-binary $program --memprof-version=3 -o theirs.twice
  make_index ours.twice twice.raw --like 19 --memprof-version 3 --binary $program && same_bytes "$program, two dumps in a file" ours.twice theirs.twice
  cp $program.raw other.raw
  llvm-profdata-19 merge -j 1 $program.raw other.raw --profiled-binary $program --memprof-version=3 -o theirs.$program.two
  make_index ours.two $program.raw other.raw --like 19 --memprof-version 3 --binary $program && same_ir "$program, two files" ours.two theirs.$program.two memprof_$program.cc

  # The reverse direction.
  llvm-profdata-19 show --memory $program.raw --profiled-binary $program > shown 2> err
  for v in 0 1 2 3; do
    same_records "$program, llvm-profdata 19's version $v" theirs.$program.$v shown $program
    same_records "$program, version $v, full schema" theirs.$program.${v}full shown $program
    "$tool" index -o again theirs.$program.$v 2> err && same_bytes "$program, version $v written back" again theirs.$program.$v
  done
done
for v in 0 1 2 3; do # conversions, from the first and the last version
  "$tool" convert --to memprof-index --memprof-version $v --full-schema -o again theirs.hints.0 2> err || fail "converting: $(tail -n 1 err)"
  same_ir "version 0 to $v" again theirs.hints.$v memprof_hints.cc
  "$tool" convert --to memprof-index --memprof-version $v -o again theirs.hints.3 2> err || fail "converting: $(tail -n 1 err)"
  same_ir "version 3 to $v" again theirs.hints.$v memprof_hints.cc
done

# LLVM 22 ---------------------------------------------------------------------------------------------------------------

# ir_22 PROFILE SOURCE OUT
ir_22() {
  cp "$1" used.memprof
  clang++-22 -O1 $flags -fmemory-profile-use=used.memprof $limits -S -emit-llvm "$source/programs/$2" -o "$3"
}

# same_ir_22 NAME OURS THEIRS SOURCE
same_ir_22() {
  ir_22 "$2" "$4" ours.ll && ir_22 "$3" "$4" theirs.ll || { fail "$1: clang 22 refuses the profile"; return; }
  if cmp -s ours.ll theirs.ll; then pass "$1: the same IR of clang 22: $(grep -c '"memprof"=' ours.ll) attributes"
  else fail "$1: IR of clang 22 differs: $(diff ours.ll theirs.ll | head -n 3)"; fi
}

if need clang-22 llvm-22 libclang-rt-22-dev; then
  for program in hints inline recursion templates threads; do
    clang++-22 -O1 $flags $profiled -no-pie "$source/programs/memprof_$program.cc" -o $program-22
    run $program-22
    for v in 2 3 4; do
      for schema in "" full; do
        name="$program, LLVM 22, version $v${schema:+, full schema}"
        llvm-profdata-22 merge $program-22.raw --profiled-binary $program-22 --memprof-version=$v ${schema:+--memprof-full-schema} -o theirs.22.$v$schema
        make_index ours.22.$v$schema $program-22.raw --like 22 --binary $program-22 --memprof-version $v ${schema:+--full-schema} || continue
        same_bytes "$name" ours.22.$v$schema theirs.22.$v$schema
      done
    done
    cp theirs.22.3 theirs.$program-22 && has_22=yes
    make_index ours.usual $program-22.raw --like 22 --binary $program-22 && same_bytes "$program: with --like 22, version 3 is the default" ours.usual theirs.22.3
    # Conversion is the only way to give files of LLVM 19 to clang 22.
    for v in 0 1; do
      "$tool" convert --to memprof-index --memprof-version 4 -o bridged theirs.$program.$v 2> err || fail "converting: $(tail -n 1 err)"
      same_ir_22 "$program: 19's version $v as version 4" bridged theirs.$program.3 memprof_$program.cc
    done
    # llvm-profdata 22 shows the same from every version, whichever version it was converted from.
    llvm-profdata-22 show --memory theirs.22.4 > shown.22
    for v in 0 1 2 3 rfc; do
      "$tool" convert --to memprof-index --memprof-version $v -o there theirs.22.4 2> err &&
        "$tool" convert --to memprof-index --memprof-version 4 --hot-cold-schema -o back there 2> err || fail "converting: $(tail -n 1 err)"
      if [ $v = rfc ]; then # its blocks are in another order, and its call sites are recomputed
        check "$program: version 4 to $v and back: the summary" "$(sed -n 2,8p shown.22)" "$(llvm-profdata-22 show --memory back | sed -n 2,8p)"
      else check "$program: version 4 to $v and back" "" "$(llvm-profdata-22 show --memory back | diff shown.22 - | head -n 3)"; fi
    done
  done
else
  echo "SKIP: clang-22 and llvm-22 cannot be installed"
fi

if need clang-16 llvm-16 libclang-rt-16-dev; then
  for program in hints templates; do
    clang++-16 -O1 $flags $profiled -no-pie "$source/programs/memprof_$program.cc" -o $program-16
    run $program-16
    llvm-profdata-16 merge $program-16.raw --profiled-binary $program-16 -o theirs.16
    llvm-profdata-16 show --memory $program-16.raw --profiled-binary $program-16 > shown 2> err
    same_records "$program, llvm-profdata 16's" theirs.16 shown $program-16
    check "$program, llvm-profdata 16: the layout and version of the file" "LLVM 0" "$("$tool" info --json theirs.16 | jq -r '.files[0].layout')"
  done
  # Raw profiles of versions 2 and 4: in either order, in one file, and together with an indexed one.
  cat hints-16.raw hints.raw > mixed.raw
  make_index hints.indexed hints.raw --binary hints
  make_index sum.indexed hints-16.raw hints.indexed --binary hints-16
  for mix in "hints-16.raw hints.raw" "hints.raw hints-16.raw" mixed.raw; do
    make_index sum.mix $mix --binary hints --binary hints-16 || continue
    same_bytes "raw profiles of versions 2 and 4, as $mix" sum.mix sum.indexed
  done
  "$tool" merge --to memprof-index --binary hints --binary hints-16 -o sum.merged hints.raw hints-16.raw 2> err || fail "merge: $(tail -n 1 err)"
  same_bytes "... merged" sum.merged sum.indexed
else
  echo "SKIP: clang-16 cannot be installed"
fi

# Counters in the same file ------------------------------------------------------------------------------------------

clang++-19 -O1 $flags -fprofile-generate "$source/programs/memprof_hints.cc" -o counted
rm -f *.profraw && LLVM_PROFILE_FILE=$PWD/counted.profraw ./counted
llvm-profdata-19 merge counted.profraw -o counted.profdata
llvm-profdata-19 show --all-functions --counts counted.profdata > counts.before
for v in 0 1 2 3; do
  make_index both.$v hints.raw --binary hints --base counted.profdata --memprof-version $v || continue
  llvm-profdata-19 show --all-functions --counts both.$v > counts.after 2> err
  check "counters of $(grep -c 'Hash:' counts.before) functions are unchanged, version $v" "" "$(diff counts.before counts.after | head -n 3)"
  llvm-profdata-19 merge counted.profraw hints.raw --profiled-binary hints --memprof-version=$v -o both.llvm.$v
  same_ir "counters and memprof version $v" both.$v both.llvm.$v memprof_hints.cc -fprofile-use=used.memprof
done
check "info reports the counters" "LLVM 3 true" "$("$tool" info --json both.3 | jq -r '.files[0] | "\(.layout) \(.instrumented_functions > 5)"')"
gzip -c both.2 > both.2.gz
make_index replaced inline.raw --binary inline --base both.2.gz &&
  same_records "a section is replaced" replaced <(llvm-profdata-19 show --memory inline.raw --profiled-binary inline 2> err) inline &&
  check "... and the counters are unchanged" "" "$(llvm-profdata-19 show --all-functions --counts replaced 2> err | diff counts.before - | head -n 3)"

# Addresses of programs and libraries --------------------------------------------------------------------------------

sites() { "$tool" memprof --json "$@" 2> err | jq -r '.Records[] | .Function as $f | .AllocSites[] | "\($f) \(.MemInfoBlock.AllocCount) \(.MemInfoBlock.TotalSize):" + ([.Callstack[].SymbolName] | map(" " + .) | join(""))' | LC_ALL=C sort; }
clang++-19 -O1 $flags $profiled -fPIC -shared -DLIBRARY "$source/programs/memprof_pie.cc" -o libpie.so
clang++-19 -O1 $flags $profiled -fPIE -pie "$source/programs/memprof_pie.cc" -L. -lpie -Wl,-rpath,'$ORIGIN' -o pie
run pie
second=_ZL14program_secondi
cat > expected <<END
_Z15library_inlinedv 4 888: _Z15library_inlinedv library_work main
$second 1 555: $second $second $second $second main
_ZL6blocksim 3 333: _ZL6blocksim _ZL13library_firstv library_work main
_ZL6blocksim 5 2220: _ZL6blocksim _ZL13program_firstv main
library_work 1 333: library_work main
library_work 4 888: _Z15library_inlinedv library_work main
END
make_index pie.memprof pie.raw --like 19 --memprof-version 3 --binary pie --binary libpie.so &&
  check "a position-independent program and its library: all allocations of both" "" "$(sites --binary pie --binary libpie.so pie.memprof | diff expected - | head -n 5)"
ir pie.memprof memprof_pie.cc pie.ll && check "... the program's allocations are marked" "2 of one kind, 0 of several, 4 call sites" "$(python3 "$source/lib/memprof_index.py" marks pie.ll)"
ir pie.memprof memprof_pie.cc lib.ll -fPIC -DLIBRARY && check "... and so are the library's" "3 of one kind, 0 of several, 2 call sites" "$(python3 "$source/lib/memprof_index.py" marks lib.ll)"
status=0; "$tool" index -o none pie.raw 2> err || status=$?
check "without --binary, the message has the build ids" "2 2" "$status $(grep -c "build id \($(readelf -n pie | awk '/Build ID/ { print $3 }')\|$(readelf -n libpie.so | awk '/Build ID/ { print $3 }')\)" err)"
"$tool" index -o one pie.raw --binary pie 2> err
check "a library that is not given is reported" 1 "$(grep -c "has build id $(readelf -n libpie.so | awk '/Build ID/ { print $3 }')" err)"
check "... one line counts all addresses without names, and one more line per missing file" "1 same" "$(grep -c 'no name for' err) $(
  [ "$(grep -c '^heapdump: no --binary has build id [0-9a-f]* ([0-9]* address' err)" = $(($(wc -l < err) - 3)) ] && echo same || cat err)"
libc=$(ldd pie | awk '/libc.so/ { print $3 }')
check "... with its file name if it is a library of this machine" 1 "$(grep -c "has build id $(readelf -n "$libc" | awk '/Build ID/ { print $3 }') (.*: .*/libc.so" err)"
"$tool" index -o one inline.raw --binary inline 2> err
cxx=$(ldd inline | awk '/libstdc/ { print $3 }')
check "... also the C++ library" 1 "$(grep -c "has build id $(readelf -n "$cxx" | awk '/Build ID/ { print $3 }') (.*: .*/libstdc++.so" err)"
status "$tool" memprof --binary pie pie.raw > /dev/null
check "memprof reports the same missing files" 1 "$(grep -c "has build id $(readelf -n libpie.so | awk '/Build ID/ { print $3 }') (" err)"
check "a binary of another build is reported with its build id" 1 "$(
  "$tool" memprof --binary "$tool" pie.raw 2>&1 > out | grep -c "no call stack has a frame in it (its build id is $(readelf -n "$tool" | awk '/Build ID/ { print $3 }'))")"

need lld-19 || echo "SKIP: lld-19 cannot be installed"
sites --binary hints ours.hints.3 > expected
for variant in "-no-pie -Wl,-z,noseparate-code" "-pie -fPIE" "-no-pie -fuse-ld=lld-19" "-pie -fPIE -fuse-ld=lld-19" \
  "-no-pie -fuse-ld=lld-19 -Wl,--no-rosegment"; do
  clang++-19 -O1 $flags $profiled $variant "$source/programs/memprof_hints.cc" -o variant 2> err || { echo "SKIP: $variant: $(head -n 1 err)"; continue; }
  run variant
  make_index variant.memprof variant.raw --binary variant &&
    check "linked with $variant, code at $(readelf -lW variant | awk '/R E/ { print $3; exit }'): the same allocations" "" "$(sites --binary variant variant.memprof | diff expected - | head -n 3)"
done

# The compiler's own marks
# ---------------------------------------------------------------------------------------------

for program in hints inline recursion templates threads; do
  ir ours.$program.3 memprof_$program.cc used.s $after 2> used.ll
  for from in ours.$program.3 ours.$program.0 $program.raw; do
    "$tool" memprof --hints --clang 19 $same_limits --json --binary $program $from > hints.json 2> err || { fail "hints: $(tail -n 1 err)"; continue; }
    if told=$(python3 "$source/lib/memprof_index.py" hints hints.json used.ll); then pass "$from: --hints agrees with the compiler: $told"
    else fail "$from: --hints: $told"; fi
  done
done
if [ "${has_22:-}" ]; then
  for program in hints inline recursion templates threads; do
    for hot in "" yes; do
      cp theirs.$program-22 used.memprof
      clang++-22 -O1 $flags -fmemory-profile-use=used.memprof $limits ${hot:+-mllvm -memprof-use-hot-hints} "$source/programs/memprof_$program.cc" $after -S -emit-llvm -o used.s 2> used.ll
      set -- --cold-lifetime 0 --cold-density 1000 ${hot:+--hot-density 50000}
      "$tool" memprof --hints --clang 22 "$@" --json --binary $program-22 theirs.$program-22 > hints.json 2> err || { fail "hints: $(tail -n 1 err)"; continue; }
      if told=$(python3 "$source/lib/memprof_index.py" hints hints.json used.ll); then pass "$program, clang 22${hot:+ with hot hints}: --hints agrees with the compiler: $told"
      else fail "$program, clang 22${hot:+ with hot hints}: --hints: $told"; fi
    done
  done
fi
check "with default limits no context is cold" 0 "$("$tool" memprof --hints --json --binary hints ours.hints.3 | jq '[.. | select(.hint? == "cold")] | length')"

# Heaps of indexed files --------------------------------------------------------------------------------------------------------

heap() { "$tool" tree --json --min-bytes 1 "$@" 2> err | jq -c '.heaps[0].rows | map([.depth, .bytes, .blocks]) | sort'; }
check "tree of the indexed and of the raw profile: the same total" "$(heap --binary hints hints.raw | jq -c '.[0]')" "$(heap ours.hints.3 | jq -c '.[0]')"
check "top has names with --binary" 1 "$("$tool" top --binary hints ours.hints.3 | grep -c 'always_cold()')"
check "... and GUIDs without" 0 "$("$tool" top --json ours.hints.3 | jq '[.heaps[0].rows[].name | select(startswith("0x") | not)] | length')"
check "tree by heat" not\ cold "$("$tool" tree --by heat --json --min-bytes 1 ours.hints.3 | jq -r '[.heaps[0].rows[] | select(.axis == "heat").name] | unique - ["hot"] | .[]')"
check "diff with itself finds no changes" 0 "$("$tool" diff --json ours.hints.3 ours.hints.0 | jq '[.heaps[]?.rows[]? | select(.change != "same")] | length')"

# Recorded by heapdump, with names
# ---------------------------------------------------------------------------------------

clang++-19 -O1 -g -pthread "$source/programs/memprof_hints.cc" -o plain
"$tool" record --format memprof-rfc -o plain.memprof -- ./plain 2> err || fail "recording: $(tail -n 1 err)"
check "record writes the RFC's layout" RFC "$("$tool" info --json plain.memprof | jq -r '.files[0].layout')"
check "... with names of the program" "20 18000" "$(sites plain.memprof | sed -n 's/^_ZL11always_coldv \(20 18000\): _ZL11always_coldv main.*/\1/p')"
check "... with files and lines" "memprof_hints.cc:$(grep -n 'new char\[900\]' "$source/programs/memprof_hints.cc" | cut -d : -f 1)" \
  "$("$tool" memprof --json plain.memprof | jq -r '.Records[] | select(.Function == "_ZL11always_coldv").AllocSites[0].Callstack[0] | "\(.File | sub(".*/"; "")):\(.Line)"')"
check "... in LLVM's version 3" "20 18000" "$("$tool" convert --to memprof-index --memprof-version 3 -o plain.3 plain.memprof 2> err &&
  sites --binary plain plain.3 | sed -n 's/^_ZL11always_coldv \(20 18000\): _ZL11always_coldv main.*/\1/p')"
exit $failed
