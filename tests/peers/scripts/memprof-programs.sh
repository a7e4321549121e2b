#!/usr/bin/env bash
# Real programs, compiled by clang 19 and 22 and run. From their raw profiles, heapdump index --like writes the same
# bytes as llvm-profdata of that release, in each version and schema. clang makes the same IR from our files and
# theirs, for every translation unit: with the newest version, and with versions whose files differ. That IR has the
# marks that memprof --hints predicts. If a call's marks differ in the finally emitted IR, a named reason explains
# each. Two programs; FULL=1: nine. The tables go to build/peers/memprof-programs/*.md, and each call to
# final.NAME.RELEASE there. The results are in ../programs/libraries/README.md.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
[ "$(uname -m)" = x86_64 ] || skip "the runtime is for x86-64"
must jq python3
need clang-19 llvm-19 libclang-rt-19-dev libstdc++-12-dev || skip "clang-19 cannot be installed"
need lld-19 || skip "lld-19 cannot be installed"
releases=19
if need clang-22 llvm-22 libclang-rt-22-dev lld-22; then releases="19 22"; else echo "SKIP: clang-22 and llvm-22 cannot be installed"; fi
source=$PWD/tests/peers/programs/libraries lib=$PWD/tests/peers/lib
cache=$PWD/build/peers/sources
work=build/peers/memprof-programs${TAG-}
rm -rf $work && mkdir -p $work "$cache"
cd $work

# Sources of the programs
# -----------------------------------------------------------------------------------------------

# debian PACKAGE: unpacks a source package into build/peers/sources, which is kept
debian() {
  local name=$1 lists=$cache/lists
  [ ! -d "$cache/$name" ] || return 0
  need dpkg-dev || return 1
  mkdir -p "$lists/partial" "$cache/parts" "$cache/apt/archives/partial" "$cache/$name.made"
  if [ ! -f "$cache/parts/debian.sources" ]; then
    # The archive drops the older files of packages that were fixed later, so the original release is used.
    { sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources | awk -v RS= -v ORS='\n\n' '!/security/' ||
      sed -n '/security/d; s/^deb /deb-src /p' /etc/apt/sources.list; } > "$cache/parts/debian.sources" 2> /dev/null
    grep -q '^deb-src' "$cache/parts/debian.sources" && mv "$cache/parts/debian.sources" "$cache/parts/debian.list"
  fi
  set -- "$1" -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$cache/parts" -o Dir::State::Lists="$lists" \
    -o Dir::Cache="$cache/apt"
  [ -f "$cache/updated" ] || { apt-get "${@:2}" update && touch "$cache/updated"; } > apt.log 2>&1
  (cd "$cache/$name.made" && apt-get "${@:2}" source "$1") > apt.log 2>&1 &&
    mv "$cache/$name.made"/*/ "$cache/$name" && rm -r "$cache/$name.made"
}

# npm_package NAME@VERSION: the C sources in an npm package
npm_package() {
  local name=${1%@*}
  [ ! -d "$cache/$name" ] || return 0
  command -v npm > npm.log && mkdir -p "$cache/$name.made" &&
    (cd "$cache/$name.made" && npm pack --silent "$1" && tar xzf ./*.tgz) > npm.log 2>&1 &&
    mv "$cache/$name.made/package" "$cache/$name" && rm -r "$cache/$name.made"
}

# program NAME: sets `units` (sources), `flags` (compiler) and `linked` (linker). They differ so that each form of
# debug information and linking occurs. Returns false if the sources cannot be downloaded.
program() {
  flags="-gmlt" linked="-no-pie"
  case $1 in
    sqlite3) # one large unit
      npm_package better-sqlite3@12.11.1 && units="$cache/better-sqlite3/deps/sqlite3/sqlite3.c" || return 1
      flags="-gmlt -I$cache/better-sqlite3/deps/sqlite3 -DSQLITE_THREADSAFE=0" ;;
    leveldb) # threads, virtual functions
      debian leveldb && units=$(ls "$cache"/leveldb/{db,table,util}/*.cc | grep -v 'test\|testutil\|_bench\|windows\|leveldbutil') || return 1
      flags="-gmlt -std=c++17 -I$cache/leveldb -I$cache/leveldb/include -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_FDATASYNC=1
        -DHAVE_FULLFSYNC=0 -DHAVE_O_CLOEXEC=1 -DHAVE_CRC32C=0 -DHAVE_SNAPPY=0" ;;
    re2) # all debug information, position-independent
      npm_package re2@1.18.0 && units="$(ls "$cache"/re2/vendor/re2/*.cc) $cache/re2/vendor/util/rune.cc $cache/re2/vendor/util/strutil.cc" ||
        return 1
      flags="-g -fPIE -I$cache/re2/vendor" linked="-pie" ;;
    pcre2) # DWARF 4
      debian pcre2 || return 1
      cp "$cache/pcre2/src/config.h.generic" config.h && cp "$cache/pcre2/src/pcre2.h.generic" pcre2.h
      cp "$cache/pcre2/src/pcre2_chartables.c.dist" pcre2_chartables.c
      units="pcre2_chartables.c $(ls "$cache"/pcre2/src/pcre2_*.c | grep -v 'test\|dftables\|fuzz\|printint\|jit_m\|demo\|chartables\|ucptables')"
      flags="-g -gdwarf-4 -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DSUPPORT_UNICODE -DHEAP_LIMIT=20000000 -I$PWD -I$cache/pcre2/src" ;;
    yaml-cpp) # functions folded by the linker
      debian yaml-cpp && units=$(ls "$cache"/yaml-cpp/src/*.cpp) || return 1
      flags="-gmlt -ffunction-sections -fdata-sections -I$cache/yaml-cpp/include" linked="-no-pie -fuse-ld=lld -Wl,--icf=all,--gc-sections" ;;
    pugixml) # internal functions of a unit have unique names
      debian pugixml && units="$cache/pugixml/src/pugixml.cpp" || return 1
      flags="-gmlt -funique-internal-linkage-names -I$cache/pugixml/src" ;;
    lua) # ThinLTO
      debian lua5.4 && units=$(ls "$cache"/lua5.4/src/l*.c | grep -v '/lua.c\|/luac.c') || return 1
      echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' > lua5.4-deb-multiarch.h
      flags="-gmlt -flto=thin -fPIE -DLUA_COMPAT_5_3 -I$PWD -I$cache/lua5.4/src" linked="-pie -flto=thin -fuse-ld=lld" ;;
    lmdb) # debug information compressed by zstd
      debian lmdb && units="$cache/lmdb/libraries/liblmdb/mdb.c $cache/lmdb/libraries/liblmdb/midl.c" || return 1
      flags="-g -gz=zstd -I$cache/lmdb/libraries/liblmdb" ;;
    expat) # split debug information
      debian expat || return 1
      units="$cache/expat/expat/lib/xmlparse.c $cache/expat/expat/lib/xmlrole.c $cache/expat/expat/lib/xmltok.c"
      flags="-g -gsplit-dwarf -DHAVE_GETRANDOM -DXML_CONTEXT_BYTES=1024 -DXML_NS -DXML_DTD -DXML_GE=1 -I$cache/expat/expat/lib" ;;
  esac
  set -- "$source/$1".c*
  units="$1 $units"
}

# Profiles and IR of the programs
# ----------------------------------------------------------------------------------------

# The flags that LLVM's documents recommend.
common="-O2 -w -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -pthread"
# No block here lives for 200 s. With these limits, rarely read blocks are cold and often read blocks are hot.
limits="-mllvm -memprof-ave-lifetime-cold-threshold=0 -mllvm -memprof-lifetime-access-density-cold-threshold=1000
  -mllvm -memprof-min-ave-lifetime-access-density-hot-threshold=50000"

# clang RELEASE SOURCE ARGUMENTS...
clang() {
  case $2 in
    *.c) "clang-$1" $common $flags "${@:3}" "$2" ;;
    *) "clang++-$1" $common $flags "${@:3}" "$2" ;;
  esac
}

# built NAME RELEASE: builds the profiled program and runs it, which writes NAME.RELEASE.raw
built() {
  local unit objects= n=0
  for unit in $units; do
    n=$((n + 1)) objects="$objects $1.$2.$n.o"
    clang "$2" "$unit" -fmemory-profile -c -o "$1.$2.$n.o" 2> err || { fail "$1, clang $2: $(grep -m 1 error err || head -n 1 err)"; return 1; }
  done
  "clang++-$2" $objects -fmemory-profile -pthread -Wl,-build-id ${linked/fuse-ld=lld/fuse-ld=lld-$2} -o "$1.$2" 2> err || { fail "$1, linked: $(head -n 1 err)"; return 1; }
  MEMPROF_OPTIONS=log_path=$PWD/$1.$2.run:print_text=0 ./"$1.$2" > out 2> err || { fail "$1 ended with status $?: $(head -n 1 err)"; return 1; }
  mv "$1.$2".run.* "$1.$2.raw"
}

# ir_of RELEASE PROFILE UNIT OUT: compiles with the profile, always under the same file name. OUT.err is the IR right
# after the pass that reads profiles: later inlining loses marks.
ir_of() {
  cp "$2" used.memprof
  clang "$1" "$3" -fmemory-profile-use=used.memprof $limits -mllvm -print-after=memprof-use -mllvm -print-module-scope \
    -S -emit-llvm -o "$4" 2> "$4.err" && cmp -s "$2" used.memprof
}

# same_hints NAME RELEASE VERSION UNITS: each operator new of the IR has exactly the marks that --hints predicts.
# Writes a row with the reasons for other marks in the final IR.
same_hints() {
  local n told
  "$tool" memprof --hints --clang "$2" --cold-lifetime 0 --cold-density 1000 $([ "$2" != 19 ] || echo --hot-density 50000) --json \
    --binary "$1.$2" "ours.$1.$2.$3" > hints.json 2> err || { fail "$1: hints: $(tail -n 1 err)"; return; }
  if told=$(python3 "$lib/memprof_index.py" hints hints.json $(for n in $(seq "$4"); do echo "unit.$n.err"; done)); then
    pass "$1: --hints agrees with clang $2: $told"
  else fail "$1: --hints and clang $2: $told"; fi
  if told=$(python3 "$lib/memprof_index.py" final "final.$1.$2" $(for n in $(seq "$4"); do echo "unit.$n.err unit.$n.ll"; done)); then
    pass "$1: reasons for other marks in the IR that clang $2 emits: $told"
  else fail "$1: marks of the IR that clang $2 emits: $told: $(grep -m 2 UNEXPLAINED "final.$1.$2")"; fi
  echo "| $1 | $2 | ${told%% *} | ${told#*: } |" >> reasons.md
}

# same_ir NAME RELEASE VERSION: compares the IR of every unit
same_ir() {
  local unit n=0 wrong= attributes=0 contexts=0 calls=0
  for unit in $units; do
    n=$((n + 1))
    if ir_of "$2" "ours.$1.$2.$3" "$unit" ours.ll && ir_of "$2" "theirs.$1.$2.$3" "$unit" theirs.ll; then
      cmp -s ours.ll theirs.ll && cmp -s ours.ll.err theirs.ll.err || wrong="$wrong ${unit##*/}"
      mv ours.ll.err unit.$n.err && cp ours.ll unit.$n.ll
    else wrong="$wrong ${unit##*/} (no IR)"; fi
    attributes=$((attributes + $(grep -c '"memprof"="' ours.ll || true)))
    calls=$((calls + $(grep -c '!callsite' ours.ll || true)))
    contexts=$((contexts + $(grep -c '^![0-9]* = !{!.*, !"\(notcold\|cold\|hot\)"' ours.ll || true)))
  done
  check "$1: the same IR of clang $2, version $3: $n units, $calls call sites, $attributes attributes, $contexts contexts" "" "$wrong"
  [ $((attributes + contexts)) = 0 ] || same_hints "$1" "$2" "$3" $n
  [ -n "$wrong" ] && marked="differs:$wrong" || marked="$n units: same, $calls call sites, $attributes attributes, $contexts contexts"
}

# same_bytes NAME RELEASE: compares each version and schema; writes a row of the table
same_bytes() {
  local v schema versions="2 3 4" row= told options
  differing=
  [ "$2" = 22 ] || versions="0 1 2 3"
  for v in $versions; do
    for schema in "" full; do
      options="--memprof-version=$v${schema:+ --memprof-full-schema}"
      "llvm-profdata-$2" merge "$1.$2.raw" --profiled-binary "$1.$2" $options -o "theirs.$1.$2.$v$schema" 2> err ||
        { fail "$1: llvm-profdata $2, version $v: $(head -n 1 err)"; row="$row theirs fails |"; continue; }
      "$tool" index --like "$2" --memprof-version $v ${schema:+--full-schema} --binary "$1.$2" -o "ours.$1.$2.$v$schema" "$1.$2.raw" 2> err ||
        { fail "$1: index, release $2, version $v: $(tail -n 1 err)"; row="$row ours fails |"; continue; }
      told="$1: release $2, version $v${schema:+, full schema}"
      if cmp -s "ours.$1.$2.$v$schema" "theirs.$1.$2.$v$schema"; then
        pass "$told: the same $(stat -c %s "ours.$1.$2.$v$schema") bytes"
        row="$row same |"
      else
        fail "$told: $(cmp "ours.$1.$2.$v$schema" "theirs.$1.$2.$v$schema" 2>&1 | head -n 1)"
        row="$row **differs** |"
        [ "$schema" ] || differing="$differing $v"
      fi
    done
  done
  [ "$2" = 19 ] && rows="$row - | - |" || rows=" - | - | - | - |$row"
}

programs="pugixml lmdb"
[ "${FULL-}" = "" ] || programs="sqlite3 leveldb re2 pcre2 yaml-cpp pugixml lua lmdb expat"
{ echo "| program | clang | contexts | 0 | 0 full | 1 | 1 full | 2 | 2 full | 3 | 3 full | 4 | 4 full | IR |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"; } > table.md
{ echo "| program | clang | calls of operator new | of these |"; echo "|---|---|---:|---|"; } > reasons.md
for name in ${PROGRAMS-$programs}; do
  program $name || { echo "SKIP: the sources of $name cannot be downloaded: $(cat apt.log npm.log 2> /dev/null | tail -n 1)"; continue; }
  for release in $releases; do
    built $name $release || continue
    same_bytes $name $release
    marked=-
    for v in $differing; do same_ir $name $release $v; done
    same_ir $name $release $([ $release = 19 ] && echo 3 || echo 4)
    echo "| $name | $release | $("$tool" info --json "ours.$name.$release.3" | jq '.files[0].blocks') |$rows $marked |" >> table.md
  done
done
cat table.md reasons.md

# Files of clang 14 and 16: against the runtime's own text of another run, and converted for clang 22
# -------------------

# The runtime follows frame pointers, which libstdc++ and libc do not keep. The callers behind them are random words
# of the stack, which differ in each run. With this option it uses the unwind tables, which give true callers.
true_stacks=fast_unwind_on_malloc=0

# in_text REPORT: blocks, allocations, smallest and largest size
in_text() {
  awk '/alloc_count/ { n++; count += $2; if (n == 1 || $7 < least) least = $7 + 0; if ($9 > most) most = $9 + 0 }
    END { print n, count, least, most }' "$1"
}

in_raw() { "$tool" info --json "$1" | jq -r '.files[0].profiles[0] | "\(.blocks) \(.totals.AllocCount) \(.totals.MinSize) \(.totals.MaxSize)"'; }

need llvm-22 python3-yaml || skip "llvm-22 cannot be installed"
program pugixml || skip "the sources of pugixml cannot be downloaded"
for release in 14 16 $releases; do
  need clang-$release llvm-$release libclang-rt-$release-dev || { echo "SKIP: clang-$release cannot be installed"; continue; }
  [ -f pugixml.$release.raw ] || built pugixml $release || continue
  MEMPROF_OPTIONS=log_path=$PWD/pugixml.$release.text:print_text=1:$true_stacks ./pugixml.$release > out 2> err
  MEMPROF_OPTIONS=log_path=$PWD/pugixml.$release.true:print_text=0:$true_stacks ./pugixml.$release > out 2> err
  check "pugixml, clang $release: blocks, allocations, smallest and largest size equal the runtime's text" \
    "$(in_text pugixml.$release.text.*)" "$(in_raw pugixml.$release.true.*)"
  "$tool" index --memprof-version 4 --binary pugixml.$release -o bridged pugixml.$release.raw 2> err || { fail "index: $(tail -n 1 err)"; continue; }
  "$tool" memprof --json bridged > ours.json 2> err && "$tool" info --json bridged > info.json 2> err
  llvm-profdata-22 show --memory bridged > theirs.yaml 2> err || { fail "llvm-profdata 22: $(head -n 1 err)"; continue; }
  if told=$(python3 "$lib/memprof_show.py" ours.json info.json theirs.yaml); then pass "... as version 4, read by llvm-profdata 22: $told"
  else fail "... as version 4, read by llvm-profdata 22: $told"; fi
done
exit $failed
